//! Findings about attention.

use super::Run;
use super::heads::Head;
use crate::explain::SATURATED;
use crate::finding::{Finding, Severity};
use crate::linear::{counted, percent, short};
use spanwise_kernels::attention::Storage;

/// Heads named in a sentence at most.
const NAMED: usize = 4;

/// `head 3`, or `batch 0, head 3`.
pub(super) fn label(head: &Head, batches: usize) -> String {
    if batches > 1 {
        format!("batch {}, head {}", head.batch, head.index)
    } else {
        format!("head {}", head.index)
    }
}

/// Such heads in words; `None` where there are none.
fn named(heads: &[&Head], batches: usize) -> Option<String> {
    let names: Vec<String> = heads.iter().take(NAMED).map(|head| label(head, batches)).collect();
    let more = if heads.len() > NAMED { format!(" and {} more", heads.len() - NAMED) } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}

pub(super) fn findings<T: Storage>(run: &Run<'_, T>, heads: &[Head], moved: Option<f64>) -> Vec<Finding> {
    let mut all = Vec::new();
    all.extend(outputs(run, heads));
    all.extend(saturated(run, heads));
    all.extend(sinks(run, heads));
    all.extend(collinear(run, heads));
    all.extend(alike(run, heads));
    all.extend(even(run, heads));
    all.extend(unattended(run, heads));
    all.extend(empty(run));
    all.extend(moved.map(|moved| permuted(run, moved)));
    all
}

fn saturated<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let found: Vec<&Head> = heads.iter().filter(|head| head.saturated > 0.5).collect();
    let variance = found.iter().map(|head| head.variance).fold(0.0, f64::max);
    let Some(names) = named(&found, run.sizes.b) else { return large_scores(run, heads) };
    let share = found.iter().map(|head| head.saturated).fold(0.0, f64::max);
    let slope = found.iter().map(|head| head.slope).fold(f64::INFINITY, f64::min);
    // Scores that vary little leave it to a bias, or to few keys, to make one weight large.
    let (varies, advice) = if variance > 1.0 {
        (
            format!("; scores vary by {}, where 1/√D is meant to keep them near 1", short(variance)),
            format!(
                "scale q or k down ({} would bring the variance to 1), normalise them, or cap the scores",
                short(1.0 / variance.sqrt())
            ),
        )
    } else if run.problem.options().bias.is_some() || run.problem.options().alibi.is_some() {
        let varies = format!("; q and k are not the reason, their scores vary by {}", short(variance));
        (varies, "look at the bias: it decides which key is taken".to_owned())
    } else {
        let varies = format!("; scores vary by {} in all, so it is few keys that stand out", short(variance));
        (varies, "look at the keys that receive most, or cap the scores".to_owned())
    };
    let sentence = format!(
        "the softmax of {names} is saturated: in up to {} of the rows one key takes more than {SATURATED}{varies}",
        percent(share),
    );
    Some(
        Finding::new(Severity::Serious, sentence)
            .named("saturated-softmax")
            .advised(advice)
            .certified(format!(
                "the largest weight of every row that sees several keys; in the median row the softmax has a slope of {} at most, of 0.25 that it \
                 can have, so little gradient passes",
                short(slope)
            ))
            .evident(format!("rows with one weight above {SATURATED}, share"), share)
            .evident("variance of the scores", variance)
            .evident("median slope of the softmax", slope)
            .shown("entropy"),
    )
}

fn large_scores<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let found: Vec<&Head> = heads.iter().filter(|head| head.variance > 25.0).collect();
    let names = named(&found, run.sizes.b)?;
    let variance = found.iter().map(|head| head.variance).fold(0.0, f64::max);
    let sentence = format!(
        "scores of {names} vary by up to {}, where 1/√D is meant to keep them near 1",
        short(variance)
    );
    Some(
        Finding::new(Severity::Caution, sentence)
            .named("large-scores")
            .advised("scale q or k down, or normalise them")
            .certified("a sample of queries and keys")
            .evident("variance of the scores", variance)
            .shown("entropy"),
    )
}

fn sinks<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let even = 1.0 / run.sizes.m.max(1) as f64;
    let found: Vec<&Head> =
        heads.iter().filter(|head| head.top_share > 0.2 && head.top_share > 10.0 * even).collect();
    let names = named(&found, run.sizes.b)?;
    let worst = found.iter().max_by(|a, b| a.top_share.total_cmp(&b.top_share))?;
    let severity = if worst.top_share > 0.5 { Severity::Caution } else { Severity::Note };
    let sentence = format!(
        "{names}: one key collects much of the mass, key {} up to {} of it ({} times an even share)",
        worst.top_key,
        percent(worst.top_share),
        short(worst.top_share / even)
    );
    Some(
        Finding::new(severity, sentence)
            .named("attention-sink")
            .advised("a sink is often where a head rests; read the other keys on a logarithmic scale")
            .certified("mass received by every key from all queries")
            .evident("key", worst.top_key as f64)
            .evident("share of all mass", worst.top_share)
            .shown("received"),
    )
}

fn collinear<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let room = run.sizes.e.min(run.sizes.m.saturating_sub(1));
    let narrow = |head: &&Head| {
        head.looked.as_ref().is_some_and(|looked| !looked.directions.is_empty() && 8 * looked.span() <= room)
    };
    let found: Vec<&Head> = heads.iter().filter(narrow).collect();
    let names = named(&found, run.sizes.b)?;
    let looked = found.first()?.looked.as_ref()?;
    let span = looked.span();
    let first = looked.directions.first().copied().unwrap_or(0.0);
    let sentence = format!(
        "the values of {names} are nearly collinear: {} of {room} {} 99 % of their variation, so outputs can hardly \
         differ in any other",
        span,
        if span == 1 { "directions holds" } else { "directions hold" },
    );
    Some(
        Finding::new(Severity::Caution, sentence)
            .named("collinear-values")
            .advised("the head could be narrower, or its value projection has collapsed")
            .certified("principal directions of all values")
            .evident("directions that hold 99 %", span as f64)
            .evident("share of the first direction", first)
            .shown("hull"),
    )
}

/// Pairs of heads whose maps agree.
fn alike<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let map = run.done.statistics.map.as_ref()?;
    let size = map.rows * map.cols;
    // Uniform heads are alike without saying anything.
    let telling: Vec<usize> = (0..heads.len()).filter(|&h| heads[h].entropy < 0.95).take(64).collect();
    let of = |h: usize| &map.mean[h * size..(h + 1) * size];
    let gap = |a: usize, b: usize| {
        let total: f64 = of(a).iter().sum();
        0.5 * of(a).iter().zip(of(b)).map(|(x, y)| (x - y).abs()).sum::<f64>() / total.max(f64::MIN_POSITIVE)
    };
    let mut closest: Option<(usize, usize, f64)> = None;
    let mut pairs = 0;
    for (i, &a) in telling.iter().enumerate() {
        for &b in telling[..i].iter().filter(|&&b| heads[b].batch == heads[a].batch) {
            let gap = gap(a, b);
            pairs += usize::from(gap < 0.02);
            if closest.is_none_or(|(_, _, least)| gap < least) {
                closest = Some((b, a, gap));
            }
        }
    }
    let (a, b, gap) = closest.filter(|_| pairs > 0)?;
    let severity = if gap < 1e-6 { Severity::Caution } else { Severity::Note };
    let sentence = format!(
        "{} of heads look at nearly the same keys: {} and {} differ in {} of their mass",
        counted(pairs, "pair", "pairs"),
        label(&heads[a], run.sizes.b),
        label(&heads[b], run.sizes.b),
        percent(gap)
    );
    Some(
        Finding::new(severity, sentence)
            .named("similar-heads")
            .advised("one of them can probably be pruned")
            .certified(format!("pooled maps of {} × {} cells", map.rows, map.cols))
            .evident("share of the mass that differs", gap)
            .shown("heads"),
    )
}

fn even<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let found: Vec<&Head> = heads.iter().filter(|head| head.entropy > 0.99 && head.several > 0).collect();
    let names = named(&found, run.sizes.b)?;
    let sentence =
        format!("{names}: all keys get nearly the same weight, so outputs are close to the mean value");
    Some(
        Finding::new(Severity::Note, sentence)
            .named("uniform-heads")
            .certified("entropy above 99 % of a uniform row's")
            .evident("heads", found.len() as f64)
            .shown("entropy"),
    )
}

fn unattended<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let found: Vec<&Head> = heads.iter().filter(|head| head.unattended > 0).collect();
    let names = named(&found, run.sizes.b)?;
    let most = found.iter().map(|head| head.unattended).max()?;
    let sentence = format!(
        "{names}: up to {most} of {} {} never attended to (less than a ten-thousandth of an even share)",
        counted(run.sizes.m, "key", "keys"),
        if most == 1 { "is" } else { "are" }
    );
    Some(
        Finding::new(Severity::Note, sentence)
            .named("unattended-keys")
            .certified("mass received by every key from all queries")
            .evident("keys", most as f64)
            .shown("received"),
    )
}

fn empty<T: Storage>(run: &Run<'_, T>) -> Option<Finding> {
    let rows = run.done.statistics.empty_rows;
    (rows > 0).then(|| {
        let sentence = format!(
            "{} no key left after masking; the output is zeros",
            counted(rows, "row has", "rows have")
        );
        Finding::new(Severity::Caution, sentence).named("empty-rows").evident("rows", rows as f64)
    })
}

/// Outputs are in the hull of the values, as they must be.
fn outputs<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Finding> {
    let looked: Vec<_> = heads.iter().filter_map(|head| head.looked.as_ref()).collect();
    let rows: usize = looked.iter().map(|looked| looked.rows).sum();
    if rows == 0 {
        return None;
    }
    let distance = looked.iter().map(|looked| looked.distance).fold(0.0, f64::max);
    let moved = looked.iter().map(|looked| looked.moved).sum::<f64>() / looked.len() as f64;
    let tolerance = run.tolerance();
    let sinks = if run.problem.options().sinks.is_some() { " and the origin" } else { "" };
    let (severity, sentence) = if distance <= tolerance {
        let sentence = format!(
            "outputs lie in the hull of the values{sinks}, on average {} of the values' spread away from their mean",
            short(moved)
        );
        (Severity::Note, sentence)
    } else {
        let sentence = format!(
            "an output is not a mixture of the values: it is {} of the largest value away",
            short(distance)
        );
        (Severity::Serious, sentence)
    };
    Some(
        Finding::new(severity, sentence)
            .named(if severity == Severity::Note { "outputs-in-hull" } else { "output-outside-hull" })
            .certified(format!(
                "{} recomputed in f64: weights not negative, adding up to 1, and Σ a·v within {} of the largest value",
                counted(rows, "row", "rows"),
                short(distance)
            ))
            .evident("largest distance, share of the largest value", distance)
            .evident("tolerance", tolerance)
            .shown(if severity == Severity::Note { "hull" } else { "map" }),
    )
}

fn permuted<T: Storage>(run: &Run<'_, T>, moved: f64) -> Finding {
    let tolerance = run.tolerance();
    let without = if run.is_positional() { ", masks and biases aside" } else { "" };
    let (severity, sentence) = if moved <= tolerance {
        (
            Severity::Note,
            format!(
                "the order of the keys does not matter{without}: turning keys and values around leaves outputs as they were"
            ),
        )
    } else {
        (
            Severity::Serious,
            format!("outputs change by {} when keys and values are turned around", short(moved)),
        )
    };
    Finding::new(severity, sentence)
        .named("equivariance")
        .certified(format!(
            "queries of the first head; the largest change is {} of the largest value",
            short(moved)
        ))
        .evident("largest change, share of the largest value", moved)
        .evident("tolerance", tolerance)
}

pub(super) fn verdict<T: Storage>(run: &Run<'_, T>, heads: &[Head], findings: &[Finding]) -> Vec<String> {
    // Where no query sees two keys there is nothing to spread.
    let spread = || heads.iter().filter(|head| head.several > 0);
    let mean = spread().map(|head| head.entropy).sum::<f64>() / spread().count().max(1) as f64;
    let low = spread().min_by(|a, b| a.entropy.total_cmp(&b.entropy));
    let narrowest = low.filter(|_| spread().count() > 1).map_or_else(String::new, |head| {
        format!("; the narrowest, {}, to {}", label(head, run.sizes.b), percent(head.entropy))
    });
    let mut said = vec![if spread().next().is_some() {
        format!(
            "{} to {} of what uniform weights would{narrowest}.",
            counted(spread().count(), "head spreads over its keys", "heads spread over their keys"),
            percent(mean)
        )
    } else {
        "No query sees more than one key, so there is no weight to spread.".to_owned()
    }];
    let looked: Vec<_> = heads.iter().filter_map(|head| head.looked.as_ref()).collect();
    let ranks: Vec<f64> = looked.iter().filter_map(|looked| looked.rank).collect();
    if let Some(first) = looked.first().filter(|_| !ranks.is_empty()) {
        let span = looked.iter().map(|looked| looked.span()).min().unwrap_or(0);
        said.push(format!(
            "Of {} of weights looked at the effective rank is {}; values span at least {span} of {}.",
            counted(first.rows, "row", "rows"),
            short(super::heads::median(ranks)),
            counted(run.sizes.e, "direction", "directions")
        ));
    }
    said.push(crate::explain::acting(findings));
    said
}

pub(super) fn settings<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Vec<(String, String)> {
    let error = heads.iter().map(|head| head.row_sum_error).fold(0.0, f64::max);
    let mut settings = vec![
        ("scale".to_owned(), short(run.problem.scale())),
        ("rows of weights".to_owned(), format!("add up to 1 within {}", short(error))),
    ];
    if let Some(map) = &run.done.statistics.map {
        settings.push((
            "maps".to_owned(),
            format!(
                "{} × {} cells of {} × {} weights",
                map.rows,
                map.cols,
                short(run.sizes.n as f64 / map.rows as f64),
                short(run.sizes.m as f64 / map.cols as f64)
            ),
        ));
    }
    let looked =
        heads.iter().filter_map(|head| head.looked.as_ref()).map(|looked| looked.rows).sum::<usize>();
    settings.push(("recomputed in f64".to_owned(), counted(looked, "row of weights", "rows of weights")));
    let left_out = heads.iter().filter_map(|head| head.looked.as_ref()).map(|looked| looked.left_out).max();
    if let Some(keys) = left_out.filter(|keys| *keys > 0) {
        let keys =
            counted(keys, "hidden key of a head whose value is", "hidden keys of a head whose values are");
        settings.push(("left out of the hull".to_owned(), format!("up to {keys} not finite")));
    }
    settings
}
