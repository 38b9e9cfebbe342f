//! What each column explains alone, and what it adds beyond the others.

use super::pen::{Anchor, Pen};
use super::rows::{Rows, RowsOf};
use super::words::percent;
use super::{Frame, empty};
use spanwise_lens::explain::{ShareRow, Shares};

/// More would not be read.
const MOST: usize = 40;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, shares: &Shares) -> f64 {
    let size = |row: &ShareRow| row.beyond.max(row.alone);
    let mut order: Vec<usize> = (0..shares.rows.len()).collect();
    order.sort_by(|&a, &b| size(&shares.rows[b]).total_cmp(&size(&shares.rows[a])).then(a.cmp(&b)));
    order.truncate(MOST);
    order.sort_unstable();
    let shown: Vec<&ShareRow> = order.into_iter().map(|i| &shares.rows[i]).collect();
    if shown.is_empty() {
        return empty(pen, "there is no column to draw");
    }
    let of = RowsOf {
        names: shown.iter().map(|row| row.column.as_str()).collect(),
        range: (0.0, 1.0),
        axis: "share of the target’s variation",
        right: (
            if frame.is_narrow() { 62.0 } else { 110.0 },
            if frame.is_narrow() { "adds" } else { "adds to the others" },
        ),
    };
    let rows = Rows::new(pen, frame, &of);
    let together = rows.axis.at(shares.together.clamp(0.0, 1.0));
    pen.line("compare", (together, rows.top), (together, rows.bottom() + 4.0));
    pen.fields(&["column"], &["alone", "beyond the others", "own direction"]);
    for (i, row) in shown.iter().enumerate() {
        let middle = rows.middle(i);
        let place =
            |share: f64| (rows.axis.at(if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }), middle);
        pen.line("rule", place(row.beyond), place(row.alone));
        pen.circle("ring", place(row.alone), 4.0);
        pen.circle("dot-a", place(row.beyond), 4.0);
        pen.text("t", (rows.right, middle + 4.0), Anchor::End, &percent(row.beyond));
        let values =
            vec![row.column.clone(), row.alone.to_string(), row.beyond.to_string(), row.own.to_string()];
        pen.mark(place(row.beyond), values);
    }
    let key = format!(
        "Filled: what the column adds beyond the others. Hollow: what it explains alone. Dashed: all together, {}.",
        percent(shares.together)
    );
    let mut height = frame.note(pen, rows.height(), &key);
    if shown.len() < shares.rows.len() {
        let note = format!("The {} largest of {} columns.", shown.len(), shares.rows.len());
        height = frame.note(pen, height - 4.0, &note);
    }
    height
}
