//! Coefficients with their intervals: how far a standard deviation of each column moves the target, and the coefficient
//! itself with its certain digits.

use super::pen::{Anchor, Pen};
use super::rows::{ROW, Rows, RowsOf};
use super::scale::range;
use super::words::{certified, width};
use super::{Frame, empty};
use spanwise_lens::explain::{CoefficientRow, Coefficients};

/// More would not be read.
const MOST: usize = 40;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, coefficients: &Coefficients) -> f64 {
    let shown = largest(&coefficients.rows);
    if shown.is_empty() {
        return empty(pen, "there is no coefficient to draw");
    }
    let ends = shown.iter().flat_map(|row| {
        let (low, high) = interval(row).unwrap_or((f64::NAN, f64::NAN));
        [row.effect.unwrap_or(f64::NAN), low, high, 0.0]
    });
    let digits = if frame.is_narrow() { 7 } else { 10 };
    let numbers: Vec<_> = shown.iter().map(|row| certified(row.value, row.digits, digits)).collect();
    let room = numbers.iter().map(|(sure, unsure)| width(sure) + width(unsure)).fold(60.0, f64::max);
    let axis = if coefficients.unit.is_empty() {
        "effect of one standard deviation".to_owned()
    } else if frame.is_narrow() {
        format!("{} per standard deviation", coefficients.unit)
    } else {
        format!("effect of one standard deviation of the column, in {}", coefficients.unit)
    };
    let of = RowsOf {
        names: shown.iter().map(|row| row.name.as_str()).collect(),
        range: range(ends).unwrap_or((0.0, 1.0)),
        axis: &axis,
        right: (room, "coefficient"),
    };
    let rows = Rows::new(pen, frame, &of);
    let zero = rows.axis.at(0.0);
    pen.line("rule", (zero, rows.top), (zero, rows.bottom()));
    let confidence = format!("{} %", coefficients.confidence * 100.0);
    let (low, high) = (format!("{confidence} from"), format!("{confidence} to"));
    pen.fields(&["term"], &["coefficient", &low, &high, "certain digits", "effect"]);
    for (i, row) in shown.iter().enumerate() {
        one(pen, &rows, i, row);
        let (sure, unsure) = &numbers[i];
        pen.number((rows.right, rows.middle(i) + 4.0), Anchor::End, (sure, unsure));
    }
    notes(pen, frame, coefficients, shown.len(), rows.height())
}

fn one(pen: &mut Pen, rows: &Rows, i: usize, row: &CoefficientRow) {
    let middle = rows.middle(i);
    pen.line("rule", (0.0, middle + ROW / 2.0), (rows.right, middle + ROW / 2.0));
    let doubtful = row.meaningless.is_some();
    if let Some((low, high)) = interval(row) {
        let (low, high) = (rows.axis.at(low), rows.axis.at(high));
        let class = if doubtful { "whisker-w" } else { "whisker" };
        pen.line(class, (low, middle), (high, middle));
        for end in [low, high] {
            pen.line(class, (end, middle - 4.0), (end, middle + 4.0));
        }
    }
    let at = match row.effect.filter(|effect| effect.is_finite()) {
        Some(effect) => {
            let at = (rows.axis.at(effect), middle);
            if doubtful {
                pen.circle("ring-w", at, 4.0);
            } else {
                pen.circle("dot", at, 4.0);
            }
            at
        }
        None => (rows.axis.start, middle),
    };
    let some = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let digits = row.digits.map_or(String::new(), |digits| format!("{:.1}", digits.max(0.0)));
    pen.mark(
        at,
        vec![
            row.name.clone(),
            row.value.to_string(),
            some(row.low),
            some(row.high),
            digits,
            some(row.effect),
        ],
    );
}

fn interval(row: &CoefficientRow) -> Option<(f64, f64)> {
    let scale = row.effect_scale?;
    let (low, high) = (row.low? * scale, row.high? * scale);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// All, or those that move the target most, in the order they came.
fn largest(rows: &[CoefficientRow]) -> Vec<&CoefficientRow> {
    let size = |row: &CoefficientRow| row.effect.map_or(0.0, f64::abs);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| size(&rows[b]).total_cmp(&size(&rows[a])).then(a.cmp(&b)));
    order.truncate(MOST);
    order.sort_unstable();
    order.into_iter().map(|i| &rows[i]).collect()
}

fn notes(pen: &mut Pen, frame: Frame, coefficients: &Coefficients, shown: usize, height: f64) -> f64 {
    let mut notes = Vec::new();
    if coefficients.rows.iter().any(|row| row.digits.is_some()) {
        notes.push("Digits that are not certain are grey.".to_owned());
    }
    if coefficients.rows.iter().any(|row| row.meaningless.is_some()) {
        notes.push("Hollow, dashed: means nothing by itself.".to_owned());
    }
    if coefficients.rows.iter().any(|row| row.effect.is_none()) {
        notes.push("The intercept has no standard deviation and no mark.".to_owned());
    }
    if shown < coefficients.rows.len() {
        notes.push(format!("The {shown} largest of {}.", coefficients.rows.len()));
    }
    if notes.is_empty() { height } else { frame.note(pen, height, &notes.join(" ")) }
}
