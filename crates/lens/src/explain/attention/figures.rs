//! Figures and the table of attention.

use super::Run;
use super::heads::Head;
use super::words::label;
use crate::explain::{
    Entropy, Figure, FigureKind, HeadMap, Heads, Hull, Received, ReceivedHead, Table, TableCell,
};
use crate::hull::corners;
use crate::linear::{counted, short};
use spanwise_kernels::Element;
use spanwise_kernels::attention::Storage;

/// Heads drawn at most.
const DRAWN: usize = 32;
/// Cells that the small maps have in all, and how many along the side of one: the page zooms into them.
const SMALL_CELLS: usize = 1 << 16;
const SMALL: (f64, f64) = (32.0, 128.0);
/// Cells of the received mass.
const BARS: usize = 256;
/// Values and outputs in the plane at most.
const POINTS: usize = 1000;

pub(super) fn figures<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Vec<Figure> {
    let mut all = Vec::new();
    all.extend(small_maps(run, heads));
    all.push(entropy(run, heads));
    all.extend(received(run, heads));
    all.extend(large_map(run, heads));
    all.extend(hull(run, heads));
    all
}

fn figure(id: &'static str, title: &str, caption: String, kind: FigureKind) -> Figure {
    Figure { id, title: title.to_owned(), caption, kind }
}

fn small_maps<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Figure> {
    let map = run.done.statistics.map.as_ref()?;
    let share = SMALL_CELLS / heads.len().clamp(1, DRAWN);
    let side = (share as f64).sqrt().clamp(SMALL.0, SMALL.1) as usize;
    let (rows, cols) = (map.rows.min(side), map.cols.min(side));
    let size = map.rows * map.cols;
    let small = |(at, head): (usize, &Head)| {
        let part = at * size..(at + 1) * size;
        let full = (map.rows, map.cols);
        HeadMap {
            label: label(head, run.sizes.b),
            batch: head.batch,
            head: head.index,
            rows,
            cols,
            queries: run.sizes.n,
            keys: run.sizes.m,
            entries: 1,
            mean: pooled(&map.mean[part.clone()], full, (rows, cols), false),
            max: pooled(&map.max[part], full, (rows, cols), true),
            entropy: head.entropy,
        }
    };
    let by = (run.sizes.n as f64 / rows as f64, run.sizes.m as f64 / cols as f64);
    let caption = format!(
        "Where each head looks: queries down, keys across, {} × {} weights pooled to a cell. {}",
        short(by.0),
        short(by.1),
        drawn_of(heads.len().min(DRAWN), heads.len())
    );
    let drawn = heads.iter().enumerate().take(DRAWN).map(small).collect();
    let kind = FigureKind::Heads(Heads { heads: drawn, of: heads.len() });
    Some(figure("heads", "All heads", caption, kind))
}

/// How many heads are drawn, in a sentence.
pub(in crate::explain) fn drawn_of(drawn: usize, of: usize) -> String {
    format!("{drawn} of {} {} drawn.", counted(of, "head", "heads"), if drawn == 1 { "is" } else { "are" })
}

/// A map with fewer cells: means of cells, or their largest. Cells that are NaN are left out; where there are no others, so is the
/// answer.
pub(in crate::explain) fn pooled(
    map: &[f64],
    (rows, cols): (usize, usize),
    (to_rows, to_cols): (usize, usize),
    largest: bool,
) -> Vec<f64> {
    let mut all = Vec::with_capacity(to_rows * to_cols);
    for r in 0..to_rows {
        for c in 0..to_cols {
            let (top, bottom) = (r * rows / to_rows, (r + 1) * rows / to_rows);
            let (left, right) = (c * cols / to_cols, (c + 1) * cols / to_cols);
            let (mut sum, mut most, mut count) = (0.0, f64::NAN, 0_usize);
            for i in top..bottom {
                for &cell in map[i * cols + left..i * cols + right].iter().filter(|cell| !cell.is_nan()) {
                    (sum, most, count) = (sum + cell, f64::max(most, cell), count + 1);
                }
            }
            all.push(if largest { most } else { sum / count as f64 });
        }
    }
    all
}

fn entropy<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Figure {
    let caption =
        "Mean entropy of each head's rows, a share of what uniform weights have: 0 is all on one key."
            .to_owned();
    let kind = FigureKind::Entropy(Entropy {
        layers: (0..run.sizes.b).map(|b| format!("batch {b}")).collect(),
        heads: run.sizes.h,
        values: heads.iter().map(|head| head.entropy).collect(),
    });
    figure("entropy", "Entropy of the heads", caption, kind)
}

fn received<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Figure> {
    let all = run.done.statistics.received.as_ref()?;
    let m = run.sizes.m;
    if m == 0 {
        return None;
    }
    let one = |(at, head): (usize, &Head)| {
        ReceivedHead::new(label(head, run.sizes.b), &all[at * m..(at + 1) * m], BARS)
    };
    let by = m as f64 / m.min(BARS) as f64;
    let caption = format!(
        "The mass each key receives from all queries, in multiples of an even share; {} to a cell.",
        if m <= BARS { "one key".to_owned() } else { format!("{} keys", short(by)) }
    );
    let drawn = heads.iter().enumerate().take(DRAWN).map(one).collect();
    let kind = FigureKind::Received(Received { heads: drawn, of: heads.len() });
    Some(figure("received", "Mass received by keys", caption, kind))
}

/// The map of the head that looks most narrowly.
fn large_map<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Figure> {
    let map = run.done.statistics.map.as_ref()?;
    let at = (0..heads.len()).min_by(|&a, &b| heads[a].entropy.total_cmp(&heads[b].entropy))?;
    let size = map.rows * map.cols;
    let chosen = HeadMap {
        label: label(&heads[at], run.sizes.b),
        batch: heads[at].batch,
        head: heads[at].index,
        rows: map.rows,
        cols: map.cols,
        queries: run.sizes.n,
        keys: run.sizes.m,
        entries: 1,
        mean: map.mean[at * size..(at + 1) * size].to_vec(),
        max: map.max[at * size..(at + 1) * size].to_vec(),
        entropy: heads[at].entropy,
    };
    let by = chosen.pooled_by();
    let caption = format!(
        "The head with the lowest entropy: queries down, keys across, {} × {} weights to a cell, by their mean and by \
         their largest.",
        short(by.0),
        short(by.1)
    );
    Some(figure("map", "Weights", caption, FigureKind::Map(chosen)))
}

/// The head whose values span least.
fn hull<T: Storage>(run: &Run<'_, T>, heads: &[Head]) -> Option<Figure> {
    let s = run.sizes;
    let planes = heads.iter().filter_map(|head| Some((head, head.looked.as_ref()?)));
    let (head, looked) =
        planes.filter(|(_, looked)| looked.plane.is_some()).min_by_key(|(_, looked)| looked.span())?;
    let (plane, mean) = looked.plane.as_ref()?;
    let values = run.arrays.v.at(head.batch)?.at(s.group(head.index))?;
    let along = |row: &dyn Fn(usize) -> f64, k: usize| {
        if k >= plane.rows() { 0.0 } else { (0..s.e).map(|c| (row(c) - mean[c]) * plane[(k, c)]).sum() }
    };
    let place = |row: &dyn Fn(usize) -> f64| (along(row, 0), along(row, 1));
    let all: Vec<(f64, f64)> = (0..s.m)
        .map(|j| place(&|c| values.get(&[j, c]).map_or(0.0, Element::to_f64)))
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let outputs = &run.done.values[(head.batch * s.h + head.index) * s.n * s.e..];
    let step = |count: usize| count.div_ceil(POINTS).max(1);
    let drawn = (0..s.n).step_by(step(s.n)).map(|i| place(&|c| outputs[i * s.e + c].to_f64()));
    // What the finding about outputs says of some of them, the figure must not deny.
    let mixed = heads.iter().filter_map(|head| head.looked.as_ref()).all(|l| l.distance <= run.tolerance());
    let sentence = if mixed { " Every output is a mixture, so none leaves the hull." } else { "" };
    let caption = format!(
        "Values (points), their hull, and outputs (diamonds) of {} in the first two principal directions of the \
         values.{sentence}",
        label(head, s.b)
    );
    let share = |k: usize| looked.directions.get(k).copied().unwrap_or(0.0);
    let kind = FigureKind::Hull(Hull {
        label: label(head, s.b),
        polygon: corners(&all).into_iter().map(|i| all[i]).collect(),
        outputs: drawn.collect(),
        values: all.iter().copied().step_by(step(all.len())).collect(),
        explained: (share(0), share(1)),
        of_values: all.len(),
        of_outputs: s.n,
    });
    Some(figure("hull", "Values and outputs", caption, kind))
}

/// One row per head.
pub(super) fn table(heads: &[Head]) -> Table {
    let head = [
        "head",
        "entropy share",
        "saturated rows",
        "score variance",
        "top key",
        "its share",
        "rank of rows",
        "value directions",
    ];
    let mut table = Table::new("heads", "Heads", &head);
    table.columns[1].unit = Some("1 is uniform".to_owned());
    for head in heads {
        let looked = head.looked.as_ref();
        table.rows.push(vec![
            TableCell::Text(format!("{}.{}", head.batch, head.index)),
            head.entropy.into(),
            head.saturated.into(),
            head.variance.into(),
            (head.top_key as f64).into(),
            head.top_share.into(),
            looked.and_then(|looked| looked.rank).into(),
            looked.map(|looked| looked.span() as f64).into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::pooled;

    #[test]
    fn maps_are_pooled_by_mean_and_by_their_largest() {
        let map = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(pooled(&map, (2, 4), (1, 2), false), [3.5, 5.5]);
        assert_eq!(pooled(&map, (2, 4), (1, 2), true), [6.0, 8.0]);
        assert_eq!(pooled(&map, (2, 4), (2, 4), false), map);
        let lost = [1.0, f64::NAN, 3.0, 4.0, 5.0, 6.0, f64::NAN, f64::NAN];
        assert_eq!(pooled(&lost, (2, 4), (1, 2), false), [4.0, 3.5]);
        assert_eq!(pooled(&lost, (2, 4), (1, 2), true), [6.0, 4.0]);
        assert!(pooled(&lost, (2, 4), (2, 2), true)[3].is_nan());
    }
}
