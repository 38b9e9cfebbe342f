//! Which columns depend on which: a row per column, and for each formula a line through the columns that take part. The one
//! it expresses is a filled diamond, the others carry their coefficients.

use super::pen::{Anchor, At, Pen};
use super::words::{fitted, percent, short, width};
use super::{Frame, empty};
use spanwise_lens::explain::{Dependencies, Formula};

const ROW: f64 = 26.0;
const TOP: f64 = 46.0;
const MOST_ROWS: usize = 40;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, dependencies: &Dependencies) -> f64 {
    if dependencies.formulas.is_empty() {
        return empty(pen, "no column depends on the others");
    }
    let room = |names: f64| frame.width - names - 24.0;
    let most = frame.width * 0.3;
    let count = dependencies.formulas.len().min((room(most) / 96.0) as usize).max(1);
    let formulas = &dependencies.formulas[..count];
    let takes_part = |column: &&str| {
        formulas.iter().any(|f| f.left == *column || f.terms.iter().any(|(_, name)| name == column))
    };
    let columns: Vec<&str> =
        dependencies.columns.iter().map(String::as_str).filter(takes_part).take(MOST_ROWS).collect();
    let widest = columns.iter().map(|name| width(name)).fold(0.0, f64::max);
    let names = 6.0 + widest.min(most);
    let step = (room(names) / count as f64).min(150.0);
    let middle = |row: usize| TOP + ROW * (row as f64 + 0.5);

    for (row, name) in columns.iter().enumerate() {
        pen.text("t", (names, middle(row) + 4.0), Anchor::End, &fitted(name, names - 4.0));
        pen.line("rule", (names + 10.0, middle(row)), (names + 24.0 + step * count as f64, middle(row)));
    }
    pen.fields(&["formula"], &["constant", "what it leaves"]);
    for (j, formula) in formulas.iter().enumerate() {
        let x = names + 34.0 + step * j as f64;
        one(pen, (x, step), formula, &columns, &middle);
    }
    let mut height = TOP + ROW * columns.len() as f64 + 8.0;
    height = frame.note(
        pen,
        height,
        "◆ is the sum of ● times the numbers beside them, plus the number beside ◆ itself.",
    );
    if count < dependencies.formulas.len() {
        let note = format!("The first {count} of {} formulas.", dependencies.formulas.len());
        height = frame.note(pen, height - 4.0, &note);
    }
    height
}

fn one(
    pen: &mut Pen,
    (x, step): (f64, f64),
    formula: &Formula,
    columns: &[&str],
    middle: &impl Fn(usize) -> f64,
) {
    let row = |name: &str| columns.iter().position(|column| *column == name);
    let left = row(&formula.left);
    let terms: Vec<(usize, f64)> =
        formula.terms.iter().filter_map(|(c, name)| Some((row(name)?, *c))).collect();
    let rows = terms.iter().map(|term| term.0).chain(left);
    let (Some(first), Some(last)) = (rows.clone().min(), rows.max()) else {
        return;
    };
    let (head, kind) = if formula.exact { ("exact", "a") } else { ("nearly", "t") };
    pen.text(kind, (x - 6.0, 14.0), Anchor::Start, head);
    let size =
        if formula.exact { "to rounding".to_owned() } else { format!("within {}", percent(formula.size)) };
    pen.text("f", (x - 6.0, 30.0), Anchor::Start, &fitted(&size, step - 4.0));
    pen.line("line", (x, middle(first)), (x, middle(last)));
    for (row, coefficient) in terms {
        pen.circle("dot", (x, middle(row)), 4.0);
        let text = fitted(&format!("× {}", short(coefficient)), step - 18.0);
        pen.text("t", (x + 10.0, middle(row) - 3.0), Anchor::Start, &text);
    }
    let mut at: At = (x, middle(first));
    if let Some(row) = left {
        at.1 = middle(row);
        pen.diamond("dot-a", at, 6.0);
        if formula.constant != 0.0 {
            let text = fitted(&Signed(formula.constant).to_string(), step - 18.0);
            pen.text("f", (x + 10.0, at.1 - 3.0), Anchor::Start, &text);
        }
    }
    pen.mark(at, vec![formula.text.clone(), formula.constant.to_string(), formula.size.to_string()]);
}

/// A number that always shows its sign.
struct Signed(f64);

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.0 > 0.0 { "+ " } else { "" }, short(self.0).replace('−', "− "))
    }
}
