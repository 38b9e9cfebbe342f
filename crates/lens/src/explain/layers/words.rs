//! Findings about the layers of a model.

use super::{Head, Layer};
use crate::explain::SATURATED;
use crate::finding::{Finding, Severity};
use crate::linear::{counted, percent, short};

/// Heads named in a sentence at most.
const NAMED: usize = 4;

/// Such heads in words; `None` where there are none.
fn named(heads: &[&Head<'_>]) -> Option<String> {
    let names: Vec<String> = heads.iter().take(NAMED).map(|head| head.label()).collect();
    let more = if heads.len() > NAMED { format!(" and {} more", heads.len() - NAMED) } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", names.join("; ")))
}

/// Of the others nothing is known: all their rows are empty, padding or lost.
fn with_rows<'a, 'b>(heads: &'a [Head<'b>]) -> impl Iterator<Item = &'a Head<'b>> {
    heads.iter().filter(|head| head.numbers.rows > 0)
}

pub(super) fn findings(layers: &[Layer<'_>], heads: &[Head<'_>]) -> Vec<Finding> {
    let found = [lost(layers), narrow(heads), sinks(heads), alike(layers, heads), even(heads), empty(layers)];
    found.into_iter().flatten().collect()
}

/// Rows that a NaN reaches. Everything after the first such layer follows from it.
fn lost(layers: &[Layer<'_>]) -> Option<Finding> {
    let found: Vec<&Layer<'_>> = layers.iter().filter(|layer| layer.tally.lost_rows() > 0).collect();
    let first = found.first()?;
    let rows = first.tally.lost_rows();
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!("; so are rows in {}", counted(more, "other layer", "other layers")),
    };
    let sentence = format!(
        "{} of weights in layer `{}` {} NaN: a NaN or an infinity reaches it, or its scores overflow{more}",
        counted(rows as usize, "row", "rows"),
        first.name,
        if rows == 1 { "is" } else { "are" }
    );
    Some(
        Finding::new(Severity::Serious, sentence)
            .named("lost-rows")
            .advised("look at what enters this layer, the first of them: padding, a mask, or numbers too large for their type")
            .certified("every row's largest weight; such rows are left out of means and of what keys receive")
            .evident("rows", rows as f64)
            .evident("layers", found.len() as f64),
    )
}

/// In a trained model heads of one key are often meant; gradients hardly pass through them all the same.
fn narrow(heads: &[Head<'_>]) -> Option<Finding> {
    let mut found: Vec<&Head<'_>> = heads.iter().filter(|head| head.numbers.saturated > 0.5).collect();
    found.sort_by(|a, b| b.numbers.saturated.total_cmp(&a.numbers.saturated));
    let names = named(&found)?;
    let share = found.first()?.numbers.saturated;
    let severity = if 2 * found.len() > heads.len() { Severity::Caution } else { Severity::Note };
    let sentence = format!(
        "{} one key more than {SATURATED} of the weight in most rows, up to {} of them: {names}",
        counted(found.len(), "head gives", "heads give"),
        percent(share)
    );
    Some(
        Finding::new(severity, sentence)
            .named("narrow-heads")
            .advised(
                "the softmax is flat there, and little gradient passes; such a head may be a fixed pattern",
            )
            .certified("the largest weight of every row")
            .evident("heads", found.len() as f64)
            .evident(format!("rows with one weight above {SATURATED}, share"), share)
            .shown("entropy"),
    )
}

fn sinks(heads: &[Head<'_>]) -> Option<Finding> {
    let even = |head: &Head<'_>| 1.0 / head.received.len().max(1) as f64;
    let is_sink =
        |head: &&Head<'_>| head.numbers.top_share > 0.2 && head.numbers.top_share > 10.0 * even(head);
    let mut found: Vec<&Head<'_>> = heads.iter().filter(is_sink).collect();
    found.sort_by(|a, b| b.numbers.top_share.total_cmp(&a.numbers.top_share));
    let names = named(&found)?;
    let worst = found.first()?;
    let severity = if 2 * found.len() > heads.len() { Severity::Caution } else { Severity::Note };
    let sentence = format!(
        "in {} one key collects much of the mass, key {} up to {} of it ({} times an even share): {names}",
        counted(found.len(), "head", "heads"),
        worst.numbers.top_key,
        percent(worst.numbers.top_share),
        short(worst.numbers.top_share / even(worst))
    );
    Some(
        Finding::new(severity, sentence)
            .named("attention-sink")
            .advised("a sink is often where a head rests; read the other keys on a logarithmic scale")
            .certified("mass received by every key from all queries")
            .evident("key", worst.numbers.top_key as f64)
            .evident("share of all mass", worst.numbers.top_share)
            .evident("heads", found.len() as f64)
            .shown("received"),
    )
}

/// Pairs of heads of one layer whose maps agree.
fn alike(layers: &[Layer<'_>], heads: &[Head<'_>]) -> Option<Finding> {
    let gap = |a: &[f64], b: &[f64]| {
        let total: f64 = a.iter().sum();
        0.5 * a.iter().zip(b).map(|(x, y)| (x - y).abs()).sum::<f64>() / total.max(f64::MIN_POSITIVE)
    };
    let mut closest: Option<(&Head<'_>, &Head<'_>, f64)> = None;
    let mut pairs = 0;
    for at in 0..layers.len() {
        // Uniform heads are alike without saying anything.
        let telling: Vec<&Head<'_>> =
            heads.iter().filter(|head| head.layer == at && head.numbers.entropy_share < 0.95).collect();
        for (i, a) in telling.iter().enumerate() {
            for b in &telling[..i] {
                let (Some((one, _)), Some((other, _))) = (&a.map, &b.map) else { continue };
                let gap = gap(one, other);
                // Cells of rows that are lost are NaN.
                if gap.is_nan() {
                    continue;
                }
                pairs += usize::from(gap < 0.02);
                if closest.is_none_or(|(_, _, least)| gap < least) {
                    closest = Some((b, a, gap));
                }
            }
        }
    }
    let (a, b, gap) = closest.filter(|_| pairs > 0)?;
    let sentence = format!(
        "{} of heads in a layer look at nearly the same keys: {} and head {} differ in {} of their mass",
        counted(pairs, "pair", "pairs"),
        a.label(),
        b.index,
        percent(gap)
    );
    Some(
        Finding::new(Severity::Note, sentence)
            .named("similar-heads")
            .advised("one of them can probably be pruned")
            .certified("pooled maps")
            .evident("share of the mass that differs", gap)
            .evident("pairs", f64::from(u32::try_from(pairs).unwrap_or(u32::MAX)))
            .shown("heads"),
    )
}

fn even(heads: &[Head<'_>]) -> Option<Finding> {
    let found: Vec<&Head<'_>> = with_rows(heads)
        .filter(|head| head.numbers.entropy_share > 0.99 && head.received.len() > 1)
        .collect();
    let names = named(&found)?;
    let sentence = format!(
        "{} all keys nearly the same weight, so outputs are close to the mean value: {names}",
        counted(found.len(), "head gives", "heads give")
    );
    Some(
        Finding::new(Severity::Note, sentence)
            .named("uniform-heads")
            .certified("entropy above 99 % of a uniform row's")
            .evident("heads", found.len() as f64)
            .shown("entropy"),
    )
}

fn empty(layers: &[Layer<'_>]) -> Option<Finding> {
    let rows: u64 = layers.iter().map(|layer| layer.tally.empty_rows()).sum();
    (rows > 0).then(|| {
        let sentence = format!(
            "{} no key left after masking; the output is zeros",
            counted(rows as usize, "row has", "rows have")
        );
        Finding::new(Severity::Note, sentence)
            .named("empty-rows")
            .advised("a mask hides every key there; queries that are known as padding are not counted here")
            .evident("rows", rows as f64)
    })
}

pub(super) fn verdict(heads: &[Head<'_>], findings: &[Finding]) -> Vec<String> {
    let shares = || with_rows(heads).map(|head| head.numbers.entropy_share);
    let mean = shares().sum::<f64>() / shares().count() as f64;
    let layers = heads.last().map_or(0, |head| head.layer + 1);
    let counts =
        format!("{} in {}", counted(heads.len(), "head", "heads"), counted(layers, "layer", "layers"));
    let low = with_rows(heads).min_by(|a, b| a.numbers.entropy_share.total_cmp(&b.numbers.entropy_share));
    let spread = match low {
        Some(low) => format!(
            "{counts} {} keys to {} of what uniform weights would; the narrowest, {}, to {}.",
            if heads.len() == 1 { "spreads over its" } else { "spread over their" },
            percent(mean),
            low.label(),
            percent(low.numbers.entropy_share)
        ),
        None => format!("{counts}, and no row of weights to speak of."),
    };
    vec![spread, crate::explain::acting(findings)]
}

pub(super) fn settings(layers: &[Layer<'_>]) -> Vec<(String, String)> {
    let rows: u64 = layers.iter().map(|layer| layer.tally.rows()).sum();
    let mut settings = vec![("rows of weights".to_owned(), format!("{rows}, of which none was stored"))];
    let padding: u64 = layers.iter().map(|layer| layer.tally.padding_rows()).sum();
    if padding > 0 {
        let rows = counted(padding as usize, "row of a query that is", "rows of queries that are");
        settings.push(("left out of means".to_owned(), format!("{rows} padding; maps show them")));
    }
    let maps = || layers.iter().filter_map(|layer| layer.tally.map());
    if let (Some(rows), Some(cols)) = (maps().map(|map| map.rows).max(), maps().map(|map| map.cols).max()) {
        settings.push(("maps".to_owned(), format!("up to {rows} × {cols} cells, of the longest call")));
    }
    settings
}
