//! Figures and the table of a model's layers.

use super::{Head, LayerInput};
use crate::explain::attention::pooled;
use crate::explain::{
    Entropy, Figure, FigureKind, HeadMap, Heads, Map, Received, ReceivedHead, Table, TableCell,
};
use crate::linear::short;

/// Small maps at most, and cells along a side of one.
const DRAWN: usize = 144;
const SMALL: usize = 24;
/// Heads whose received mass is drawn, and cells of it.
const LISTED: usize = 32;
const BARS: usize = 256;

pub(super) fn figures(layers: &[LayerInput<'_>], heads: &[Head<'_>]) -> Vec<Figure> {
    let mut all = vec![entropy(layers, heads)];
    all.extend(small_maps(layers, heads));
    all.extend(received(heads));
    all.extend(large_map(layers, heads));
    all
}

fn figure(id: &'static str, title: &str, caption: String, kind: FigureKind) -> Figure {
    Figure { id, title: title.to_owned(), caption, kind }
}

/// A layer with fewer heads than another has empty cells.
fn entropy(layers: &[LayerInput<'_>], heads: &[Head<'_>]) -> Figure {
    let most = layers.iter().map(|layer| layer.entropy.len()).max().unwrap_or(0);
    let mut values = vec![f64::NAN; layers.len() * most];
    for head in heads {
        values[head.layer * most + head.index] = head.entropy;
    }
    let layers = layers.iter().enumerate().map(|(at, layer)| format!("{at} {}", layer.name)).collect();
    let caption = "Mean entropy of each head's rows: 0 is all on one key, 1 as even as it can be.".to_owned();
    let kind = FigureKind::Entropy(Entropy { layers, heads: most, values });
    figure("entropy", "Entropy by layer and head", caption, kind)
}

fn small_maps(layers: &[LayerInput<'_>], heads: &[Head<'_>]) -> Option<Figure> {
    let sizes = || layers.iter().filter_map(|layer| layer.map);
    let rows = sizes().map(|map| map.rows).min()?.min(SMALL);
    let cols = sizes().map(|map| map.cols).min()?.min(SMALL);
    let drawn = heads.iter().filter_map(|head| {
        let (mean, max) = head.map?;
        let full = layers[head.layer].map.map(|map| (map.rows, map.cols))?;
        Some(HeadMap {
            label: head.label(),
            batch: head.layer,
            head: head.index,
            mean: pooled(mean, full, (rows, cols), false),
            max: pooled(max, full, (rows, cols), true),
            entropy: head.entropy,
        })
    });
    let drawn: Vec<HeadMap> = drawn.take(DRAWN).collect();
    let first = layers.iter().find(|layer| layer.map.is_some())?;
    let by = (first.queries as f64 / rows as f64, first.keys as f64 / cols as f64);
    let caption = format!(
        "Where each head looks, named by layer and head: queries down, keys across. {} of {} heads are drawn.",
        drawn.len(),
        heads.len()
    );
    let kind = FigureKind::Heads(Heads { rows, cols, heads: drawn, of: heads.len(), pooled_by: by });
    Some(figure("heads", "All heads", caption, kind))
}

/// The heads whose mass is most concentrated, among those with as many keys as the first.
fn received(heads: &[Head<'_>]) -> Option<Figure> {
    let keys = heads.first()?.received.len();
    if keys == 0 {
        return None;
    }
    let mut listed: Vec<&Head<'_>> = heads.iter().filter(|head| head.received.len() == keys).collect();
    listed.sort_by(|a, b| b.top_share.total_cmp(&a.top_share));
    let bars = keys.min(BARS);
    let one = |head: &&Head<'_>| {
        let even = head.received.iter().sum::<f64>() / keys as f64;
        let unit = if even > 0.0 { 1.0 / even } else { 0.0 };
        let parts = |of: &dyn Fn(&[f64]) -> f64| {
            let part = |c: usize| unit * of(&head.received[c * keys / bars..(c + 1) * keys / bars]);
            (0..bars).map(part).collect::<Vec<f64>>()
        };
        ReceivedHead {
            label: head.label(),
            mean: parts(&|part| part.iter().sum::<f64>() / part.len().max(1) as f64),
            max: parts(&|part| part.iter().copied().fold(0.0, f64::max)),
        }
    };
    let by = keys as f64 / bars as f64;
    let caption = format!(
        "The mass each key receives from all queries, in multiples of an even share; {} to a cell. The heads whose mass is \
         most concentrated come first.",
        if bars == keys { "one key".to_owned() } else { format!("{} keys", short(by)) }
    );
    let heads = listed.iter().take(LISTED).map(one).collect();
    let kind = FigureKind::Received(Received { heads, of: listed.len(), keys, pooled_by: by });
    Some(figure("received", "Mass received by keys", caption, kind))
}

/// The map of the head that looks most narrowly.
fn large_map(layers: &[LayerInput<'_>], heads: &[Head<'_>]) -> Option<Figure> {
    let mapped = heads.iter().filter(|head| head.map.is_some());
    let head = mapped.min_by(|a, b| a.entropy.total_cmp(&b.entropy))?;
    let layer = &layers[head.layer];
    let ((mean, max), map) = (head.map?, layer.map?);
    let by = (layer.queries as f64 / map.rows as f64, layer.keys as f64 / map.cols as f64);
    let caption = format!(
        "The head with the lowest entropy, of {}: queries down, keys across, {} × {} weights to a cell, by their mean and by \
         their largest.",
        head.name,
        short(by.0),
        short(by.1)
    );
    let kind = FigureKind::Map(Map {
        label: head.label(),
        batch: head.layer,
        head: head.index,
        rows: map.rows,
        cols: map.cols,
        queries: layer.queries,
        keys: layer.keys,
        mean: mean.to_vec(),
        max: max.to_vec(),
        pooled_by: by,
    });
    Some(figure("map", "Weights", caption, kind))
}

/// One row per head.
pub(super) fn table(heads: &[Head<'_>]) -> Table {
    let columns =
        ["head", "entropy", "largest weight", "saturated rows", "top key", "its share", "sink mass", "layer"];
    let mut table = Table::new("heads", "Heads", &columns);
    table.columns[columns.len() - 1].numeric = false;
    for head in heads {
        table.rows.push(vec![
            TableCell::Text(format!("{}.{}", head.layer, head.index)),
            head.entropy.into(),
            head.largest.into(),
            head.saturated.into(),
            (head.top_key as f64).into(),
            head.top_share.into(),
            head.sink_mass.into(),
            head.name.into(),
        ]);
    }
    table
}
