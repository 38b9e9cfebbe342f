//! Figures and the table of a model's layers.

use super::{Head, Layer};
use crate::explain::attention::{drawn_of, pooled};
use crate::explain::{Entropy, Figure, FigureKind, HeadMap, Heads, Received, ReceivedHead, Table, TableCell};
use crate::linear::{counted, short};

/// Small maps at most, and cells along a side of one.
const DRAWN: usize = 144;
const SMALL: usize = 24;
/// Heads whose received mass is drawn, and cells of it.
const LISTED: usize = 32;
const BARS: usize = 256;

pub(super) fn figures(layers: &[Layer<'_>], heads: &[Head<'_>]) -> Vec<Figure> {
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
fn entropy(layers: &[Layer<'_>], heads: &[Head<'_>]) -> Figure {
    let most = layers.iter().map(|layer| layer.tally.heads()).max().unwrap_or(0);
    let mut values = vec![f64::NAN; layers.len() * most];
    for head in heads {
        values[head.layer * most + head.index] = head.numbers.entropy_share;
    }
    let layers = layers.iter().enumerate().map(|(at, layer)| format!("{at} {}", layer.name)).collect();
    let caption =
        "Mean entropy of each head's rows, a share of what uniform weights have: 0 is all on one key."
            .to_owned();
    let kind = FigureKind::Entropy(Entropy { layers, heads: most, values });
    figure("entropy", "Entropy by layer and head", caption, kind)
}

/// So many heads that every layer is among them, in the order of layers: of each layer those that come first by `order`.
fn spread<'h, 'a>(
    heads: &'h [Head<'a>],
    most: usize,
    order: impl Fn(&Head<'a>, &Head<'a>) -> std::cmp::Ordering,
) -> Vec<&'h Head<'a>> {
    let mut ranked: Vec<(usize, &Head<'a>)> = Vec::with_capacity(heads.len());
    for layer in heads.chunk_by(|a, b| a.layer == b.layer) {
        let mut own: Vec<&Head<'a>> = layer.iter().collect();
        own.sort_by(|a, b| order(a, b));
        ranked.extend(own.into_iter().enumerate());
    }
    // Sorting keeps the layers in order where ranks are equal: first the best of each layer, then the second best.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(most);
    ranked.sort_by_key(|(rank, head)| (head.layer, *rank));
    ranked.into_iter().map(|(_, head)| head).collect()
}

/// What is said under maps of which rows are lost.
const LEFT_OUT: &str = " Where a row of a cell is lost to a NaN, its batch entry is left out of the cell; a cell with no \
                        other entry is empty.";

fn left_out(layers: &[Layer<'_>], layer: usize, head: usize) -> Option<&'static str> {
    layers[layer].tally.map().filter(|map| map.is_partly_lost(head)).map(|_| LEFT_OUT)
}

/// Each at the shape of its own layer.
fn small_maps(layers: &[Layer<'_>], heads: &[Head<'_>]) -> Option<Figure> {
    let mapped: Vec<Head<'_>> = heads.iter().filter(|head| head.map.is_some()).cloned().collect();
    let drawn: Vec<HeadMap> = spread(&mapped, DRAWN, |a, b| a.index.cmp(&b.index))
        .into_iter()
        .filter_map(|head| {
            let ((mean, max), map) = (head.map.as_ref()?, layers[head.layer].tally.map()?);
            let (rows, cols) = (map.rows.min(SMALL), map.cols.min(SMALL));
            Some(HeadMap {
                label: head.label(),
                batch: head.layer,
                head: head.index,
                rows,
                cols,
                queries: map.queries,
                keys: map.keys,
                entries: map.batch,
                mean: pooled(mean, (map.rows, map.cols), (rows, cols), false),
                max: pooled(max, (map.rows, map.cols), (rows, cols), true),
                entropy: head.numbers.entropy_share,
            })
        })
        .collect();
    let first = drawn.first()?;
    let alike = drawn.iter().all(|map| (map.queries, map.keys) == (first.queries, first.keys));
    let shapes = if alike {
        String::new()
    } else {
        " Layers differ in queries or keys: each map has the shape of its own, and an even weight is larger where there are \
         fewer keys."
            .to_owned()
    };
    let is_lost = |map: &HeadMap| left_out(layers, map.batch, map.head).is_some();
    let lost = if drawn.iter().any(is_lost) { LEFT_OUT } else { "" };
    let caption = format!(
        "Where each head looks, named by layer and head: queries down, keys across. {}{shapes}{lost}",
        drawn_of(drawn.len(), heads.len())
    );
    let kind = FigureKind::Heads(Heads { heads: drawn, of: heads.len() });
    Some(figure("heads", "All heads", caption, kind))
}

/// Of every layer the heads whose mass is most concentrated; layers with as many keys stand together.
fn received(heads: &[Head<'_>]) -> Option<Figure> {
    let received: Vec<Head<'_>> = heads.iter().filter(|head| !head.received.is_empty()).cloned().collect();
    let layers = received.chunk_by(|a, b| a.layer == b.layer).count();
    let narrowest = |a: &Head<'_>, b: &Head<'_>| b.concentration().total_cmp(&a.concentration());
    let mut listed = spread(&received, LISTED.max(layers), narrowest);
    let mut counts: Vec<usize> = Vec::new();
    for head in &listed {
        if !counts.contains(&head.received.len()) {
            counts.push(head.received.len());
        }
    }
    // Sorting keeps the order of those with as many keys.
    listed.sort_by_key(|head| counts.iter().position(|count| *count == head.received.len()));
    let drawn: Vec<ReceivedHead> =
        listed.iter().map(|head| ReceivedHead::new(head.label(), head.received, BARS)).collect();
    let first = drawn.first()?;
    let shares = if counts.len() > 1 {
        format!(
            " Layers have {} of keys: each has an axis of its own, and multiples are of an even share of its own keys, so \
             they compare within an axis.",
            counted(counts.len(), "number", "different numbers")
        )
    } else if first.pooled_by() > 1.0 {
        format!(" A cell is {} keys.", short(first.pooled_by()))
    } else {
        String::new()
    };
    let caption = format!(
        "The mass each key receives from all queries, in multiples of an even share. Of each layer the heads whose mass is \
         most concentrated, the most first.{shares}"
    );
    let kind = FigureKind::Received(Received { heads: drawn, of: heads.len() });
    Some(figure("received", "Mass received by keys", caption, kind))
}

/// The map of the head that looks most narrowly.
fn large_map(layers: &[Layer<'_>], heads: &[Head<'_>]) -> Option<Figure> {
    let mapped = heads.iter().filter(|head| head.map.is_some());
    let head = mapped.min_by(|a, b| a.numbers.entropy_share.total_cmp(&b.numbers.entropy_share))?;
    let ((mean, max), map) = (head.map.as_ref()?, layers[head.layer].tally.map()?);
    let chosen = HeadMap {
        label: head.label(),
        batch: head.layer,
        head: head.index,
        rows: map.rows,
        cols: map.cols,
        queries: map.queries,
        keys: map.keys,
        entries: map.batch,
        mean: mean.clone(),
        max: max.clone(),
        entropy: head.numbers.entropy_share,
    };
    let by = chosen.pooled_by();
    let entries = if map.batch > 1 { format!(" of {} batch entries", map.batch) } else { String::new() };
    let caption = format!(
        "The head with the lowest entropy, of {}: queries down, keys across, {} × {} weights{entries} to a cell, by their mean \
         and by their largest.{}",
        head.name,
        short(by.0),
        short(by.1),
        left_out(layers, head.layer, head.index).unwrap_or_default()
    );
    Some(figure("map", "Weights", caption, FigureKind::Map(chosen)))
}

/// One row per head.
pub(super) fn table(heads: &[Head<'_>]) -> Table {
    let columns = [
        "head",
        "entropy share",
        "largest weight",
        "saturated rows",
        "top key",
        "its share",
        "sink mass",
        "rows",
        "keys",
        "layer",
    ];
    let mut table = Table::new("heads", "Heads", &columns);
    table.columns[columns.len() - 1].numeric = false;
    table.columns[1].unit = Some("1 is uniform".to_owned());
    for head in heads {
        table.rows.push(vec![
            TableCell::Text(format!("{}.{}", head.layer, head.index)),
            head.numbers.entropy_share.into(),
            head.numbers.largest.into(),
            head.numbers.saturated.into(),
            (head.numbers.top_key as f64).into(),
            head.numbers.top_share.into(),
            head.numbers.sink_mass.into(),
            (head.numbers.rows as f64).into(),
            (head.received.len() as f64).into(),
            head.name.into(),
        ]);
    }
    table
}
