//! Figures and tables of a table with a target.

use super::reach::Reached;
use super::rows::RowFacts;
use super::smooth::KernelGain;
use super::trust::Columns;
use crate::explain::{
    CoefficientRow, Coefficients, Dependencies, Figure, FigureKind, Point, Reach, ReachTerm, Rule, Scatter,
    ShareRow, Shares, Spectrum, Table, TableCell,
};
use crate::linear::{common, percent, short};
use spanwise_linear::LinearError;
use spanwise_linear::fit::least_squares::Coefficient;
use spanwise_linear::fit::{Distribution, Normal};

/// Points in a scatter at most.
const MOST_POINTS: usize = 2000;
/// Rows worth a label, of each kind.
const MARKED: usize = 3;

pub(super) fn figure(id: &'static str, title: &str, caption: impl Into<String>, kind: FigureKind) -> Figure {
    Figure { id, title: title.to_owned(), caption: caption.into(), kind }
}

pub(super) fn spectrum(columns: &Columns<'_>) -> Result<Figure, LinearError> {
    let intercept = columns.facts.intercept;
    let (values, shares) = columns.factor.spectrum(intercept)?;
    let first = usize::from(intercept);
    let name = |j: usize| if j < first { "intercept" } else { columns.facts.names[j - first].as_str() };
    let largest = values.first().copied().unwrap_or(1.0);
    let names = (0..values.len())
        .map(|k| {
            // Only directions that are small enough to matter are worth a name.
            if values[k] > largest / 30.0 || k >= shares.proportions.rows() {
                return String::new();
            }
            let taking = (0..shares.proportions.cols()).filter(|&j| shares.proportions[(k, j)] > 0.5);
            taking.map(name).collect::<Vec<_>>().join(", ")
        })
        .collect();
    let tolerance = columns.fit.rank().tolerance;
    let kind = FigureKind::Spectrum(Spectrum {
        singular_values: values,
        names,
        tolerance,
        band: columns.fit.rank().band(),
        rank: columns.fit.rank().rank,
    });
    let caption = format!(
        "Each value is the strength of one direction of the columns, scaled to length 1. The ratio of the first to the \
         last is the condition number, {}; values inside the band would make the rank doubtful. Beside small ones: the \
         columns whose coefficients get most of their uncertainty there.",
        short(columns.condition.1)
    );
    Ok(figure("spectrum", "Singular values", caption, kind))
}

pub(super) fn coefficients(columns: &Columns<'_>) -> Result<Figure, LinearError> {
    let (fit, facts) = (columns.fit, columns.facts);
    let row = |name: &str, c: &Coefficient, scale: Option<f64>, meaningless: Option<String>| {
        let interval = fit.confidence_interval(c, facts.confidence)?;
        let known = c.standard_error.is_finite() && common::has_errors(fit);
        Ok::<_, LinearError>(CoefficientRow {
            name: name.to_owned(),
            value: c.value,
            low: known.then_some(interval.lower),
            high: known.then_some(interval.upper),
            effect: scale.map(|scale| scale * c.value).filter(|effect| effect.is_finite()),
            effect_scale: scale,
            digits: common::digits(c),
            meaningless,
        })
    };
    let mut rows = Vec::new();
    if let Some(intercept) = &fit.target().intercept {
        rows.push(row("intercept", intercept, None, None)?);
    }
    for (j, coefficient) in fit.target().coefficients.iter().enumerate() {
        let scale = columns.factor.deviation(j);
        rows.push(row(&facts.names[j], coefficient, Some(scale), columns.meaningless(j))?);
    }
    let kind = FigureKind::Coefficients(Coefficients {
        rows,
        confidence: facts.confidence,
        unit: facts.target.clone(),
    });
    let caption = format!(
        "What one standard deviation of each column does to `{}`, with {} intervals. Those that say nothing by themselves \
         are marked, with the reason.",
        facts.target,
        percent(facts.confidence)
    );
    Ok(figure("coefficients", "Coefficients", caption, kind))
}

pub(super) fn dependencies(columns: &Columns<'_>) -> Option<Figure> {
    let formulas = columns.formulas();
    if formulas.is_empty() {
        return None;
    }
    let occurs = |name: &String| {
        formulas.iter().any(|f| f.left == *name || f.terms.iter().any(|(_, other)| other == name))
    };
    let kind = FigureKind::Dependencies(Dependencies {
        columns: columns.facts.names.iter().filter(|name| occurs(name)).cloned().collect(),
        formulas,
    });
    let caption = "Each line joins a column to those that give it. Exact formulas hold to rounding; near ones leave the \
                   share that is written beside them.";
    Some(figure("dependencies", "Which columns give which", caption, kind))
}

/// The reach as it is drawn: shares that add up to 1.
pub(super) fn reach(
    reached: Option<&Reached>,
    kernel: Option<KernelGain>,
    r_squared: f64,
    columns: &Columns<'_>,
) -> Figure {
    let names = &columns.facts.names;
    let of = format!("variation of {}", columns.facts.target);
    let (part, caption) = if let Some(reached) = reached {
        let mut left = 1.0;
        let mut take = |share: f64| {
            let share = share.clamp(0.0, left);
            left -= share;
            share
        };
        let part = Reach {
            inside: take(reached.inside),
            squares: Some(take(reached.powers)),
            interactions: Some(take(reached.products)),
            kernel: kernel.map(|kernel| take(if kernel.sure { kernel.gain } else { 0.0 })),
            beyond: left,
            held_out: true,
            rows: reached.rows,
            terms: reached
                .terms
                .iter()
                .map(|&(term, gain)| ReachTerm { name: term.name(names), gain })
                .collect(),
            of,
        };
        let caption = format!(
            "Shares of the variation of `{}` that are predicted on rows left out of the fit, each beyond those before \
                 it, over {} rows in five parts. What is beyond may be noise, or columns that are not in the table.",
            columns.facts.target, reached.rows
        );
        (part, caption)
    } else {
        let inside = if r_squared.is_finite() { r_squared.clamp(0.0, 1.0) } else { 0.0 };
        let part =
            Reach { inside, beyond: 1.0 - inside, rows: columns.fit.rows() as usize, of, ..Reach::default() };
        let caption = "Measured on the rows of the fit itself: there are too few to leave any out.";
        (part, caption.to_owned())
    };
    figure("reach", "How far the columns reach", caption, FigureKind::Reach(part))
}

pub(super) fn shares(columns: &Columns<'_>, r_squared: f64) -> Figure {
    let target = columns.fit.target();
    let freedom = columns.fit.degrees_of_freedom() as f64;
    let row = |j: usize| {
        let t = target.coefficients[j].t();
        let lost = t * t * target.unexplained() / freedom;
        let inflation = columns.inflation_of_all[j];
        ShareRow {
            column: columns.facts.names[j].clone(),
            alone: columns.factor.alone(j),
            beyond: if lost.is_finite() { lost } else { 0.0 },
            own: if inflation.is_finite() { 1.0 / inflation } else { 0.0 },
        }
    };
    let rows = (0..columns.facts.names.len()).map(row).collect();
    let caption = "What each column explains alone, what is lost without it, and how much of it lies outside the span of \
                   the others.";
    figure("shares", "Each column's share", caption, FigureKind::Shares(Shares { rows, together: r_squared }))
}

/// The four residual plots, leverage, and predicted against actual.
pub(super) fn rows(
    facts: &RowFacts,
    y: &dyn Fn(usize) -> f64,
    columns: &Columns<'_>,
    row_number: &dyn Fn(usize) -> u64,
) -> Vec<Figure> {
    let plot = RowPlot::new(facts, columns, row_number);
    let influence = &facts.influence;
    let target = &columns.facts.target;
    let zero = || vec![Rule { name: "no error".to_owned(), ..Rule::default() }];
    let fitted_axis = format!("fitted {target}");
    let residuals =
        plot.scatter([&fitted_axis, "residual"], |i| (facts.fitted[i], influence.residuals[i]), zero());
    let spread = |i: usize| (facts.fitted[i], influence.studentised[i].abs().sqrt());
    let spread = plot.scatter([&fitted_axis, "√|studentised residual|"], spread, Vec::new());
    let mut influence_plot = plot.scatter(
        ["leverage", "studentised residual"],
        |i| (influence.leverage[i], influence.studentised[i]),
        zero(),
    );
    influence_plot.cook = vec![0.5, 1.0];
    let actual = plot.scatter(
        [&format!("predicted {target}"), &format!("actual {target}")],
        |i| (facts.fitted[i], y(facts.which[i])),
        vec![Rule { name: "actual = predicted".to_owned(), offset: 0.0, slope: 1.0 }],
    );
    let mean = columns.fit.rank().rank as f64 / columns.fit.rows() as f64;
    let mut leverage = plot.scatter(
        ["row", "leverage"],
        |i| (row_number(facts.which[i]) as f64, influence.leverage[i]),
        vec![Rule { name: "mean".to_owned(), offset: mean, slope: 0.0 }],
    );
    leverage.smooth.clear();
    let sampled = if plot.shown.len() < facts.residuals.len() {
        format!(
            " {} of {} rows are drawn, the extreme ones among them.",
            plot.shown.len(),
            facts.residuals.len()
        )
    } else {
        String::new()
    };
    let said = |text: &str| format!("{text}{sampled}");
    vec![
        figure(
            "residuals-fitted",
            "Residuals",
            said(
                "A level cloud is what noise looks like; a curve is structure that the columns do not reach.",
            ),
            FigureKind::ResidualsFitted(residuals),
        ),
        figure(
            "quantile-quantile",
            "Residuals against a normal distribution",
            said("Normal errors lie on the line; ends that leave it are outliers or heavy tails."),
            FigureKind::QuantileQuantile(plot.quantiles()),
        ),
        figure(
            "scale-location",
            "Spread of the residuals",
            said("A rising line means that errors grow with the prediction."),
            FigureKind::ScaleLocation(spread),
        ),
        figure(
            "residuals-leverage",
            "Influence of rows",
            said("Rows beyond a curve move the coefficients by that Cook's distance."),
            FigureKind::ResidualsLeverage(influence_plot),
        ),
        figure(
            "predicted-actual",
            "Predicted and actual",
            said("Points on the line are predicted exactly."),
            FigureKind::PredictedActual(actual),
        ),
        figure(
            "leverage",
            "Leverage of rows",
            said("How much of its own prediction each row decides; a row at 1 decides it alone."),
            FigureKind::Leverage(leverage),
        ),
    ]
}

/// Which rows are drawn and which are labelled.
struct RowPlot<'a> {
    facts: &'a RowFacts,
    row_number: &'a dyn Fn(usize) -> u64,
    /// Indices into the facts, rising.
    shown: Vec<usize>,
    marked: Vec<usize>,
    terms: usize,
}

impl<'a> RowPlot<'a> {
    fn new(facts: &'a RowFacts, columns: &Columns<'_>, row_number: &'a dyn Fn(usize) -> u64) -> Self {
        let influence = &facts.influence;
        let n = facts.which.len();
        let top = |values: &[f64], count: usize| {
            let mut order: Vec<usize> = (0..n).filter(|&i| !values[i].is_nan()).collect();
            order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
            order.truncate(count);
            order
        };
        let kinds = [&influence.studentised, &influence.leverage, &influence.cooks_distance];
        let mut marked: Vec<usize> = kinds.iter().flat_map(|values| top(values, MARKED)).collect();
        marked.sort_unstable();
        marked.dedup();
        let mut shown: Vec<usize> = kinds.iter().flat_map(|values| top(values, 30)).collect();
        let room = MOST_POINTS - shown.len().min(MOST_POINTS);
        shown.extend((0..room.min(n)).map(|i| if n > room { i * n / room } else { i }));
        shown.sort_unstable();
        shown.dedup();
        RowPlot { facts, row_number, shown, marked, terms: columns.fit.rank().rank }
    }

    fn scatter(&self, [x, y]: [&str; 2], at: impl Fn(usize) -> (f64, f64), lines: Vec<Rule>) -> Scatter {
        let point = |&i: &usize| {
            let (x, y) = at(i);
            let row = (self.row_number)(self.facts.which[i]);
            Point { x, y, row, marked: self.marked.binary_search(&i).is_ok() }
        };
        let points: Vec<Point> =
            self.shown.iter().map(point).filter(|p| p.x.is_finite() && p.y.is_finite()).collect();
        let smooth = smooth((0..self.facts.which.len()).map(&at).collect());
        Scatter {
            x: x.to_owned(),
            y: y.to_owned(),
            points,
            of: self.facts.residuals.len(),
            smooth,
            lines,
            cook: Vec::new(),
            terms: self.terms,
        }
    }

    /// Studentised residuals of the rows drawn against normal quantiles of their ranks among all that were looked at.
    fn quantiles(&self) -> Scatter {
        let values = &self.facts.influence.studentised;
        let mut order: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_finite()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut rank = vec![0; values.len()];
        order.iter().enumerate().for_each(|(k, &i)| rank[i] = k);
        let n = order.len() as f64;
        let quantile = |k: usize| Normal.quantile((k as f64 + 0.5) / n).unwrap_or(0.0);
        let mut points: Vec<Point> = self
            .shown
            .iter()
            .filter(|&&i| values[i].is_finite())
            .map(|&i| Point {
                x: quantile(rank[i]),
                y: values[i],
                row: (self.row_number)(self.facts.which[i]),
                marked: self.marked.binary_search(&i).is_ok(),
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Scatter {
            x: "quantile of the normal distribution".to_owned(),
            y: "studentised residual".to_owned(),
            points,
            of: self.facts.residuals.len(),
            lines: vec![Rule { name: "normal".to_owned(), offset: 0.0, slope: 1.0 }],
            terms: self.terms,
            ..Scatter::default()
        }
    }
}

/// Means over equally many points from left to right.
fn smooth(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.retain(|(x, y)| x.is_finite() && y.is_finite());
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let parts = (points.len() / 8).clamp(1, 15);
    if points.len() < 16 {
        return Vec::new();
    }
    (0..parts)
        .map(|k| {
            let part = &points[k * points.len() / parts..(k + 1) * points.len() / parts];
            let n = part.len() as f64;
            (part.iter().map(|p| p.0).sum::<f64>() / n, part.iter().map(|p| p.1).sum::<f64>() / n)
        })
        .collect()
}

/// Coefficients, columns and rank as tables.
pub(super) fn tables(columns: &Columns<'_>, shares: &Figure) -> Result<Vec<Table>, LinearError> {
    let (fit, facts) = (columns.fit, columns.facts);
    let percent = percent(facts.confidence);
    let (low, high) = (format!("{percent} from"), format!("{percent} to"));
    let head = ["term", "estimate", "standard error", "t", "p", &low, &high, "digits", "VIF"];
    let mut terms = Table::new("coefficients", "Coefficients", &head);
    let mut push = |name: &str, c: &Coefficient, inflation: Option<f64>, stored: bool| {
        let interval = fit.confidence_interval(c, facts.confidence)?;
        // Of a number that cannot be stored nothing else is known either.
        let shown = stored && common::has_errors(fit);
        let known = |value: f64| Some(value).filter(|value| value.is_finite() && shown);
        let digits = common::digits(c).filter(|_| stored);
        terms.rows.push(vec![
            TableCell::from(name),
            TableCell::Number { value: c.value, digits },
            known(c.standard_error).into(),
            known(c.t()).into(),
            known(fit.p_value(c)).into(),
            known(interval.lower).into(),
            known(interval.upper).into(),
            digits.map(f64::floor).into(),
            inflation.map_or(TableCell::Nothing, TableCell::from),
        ]);
        Ok::<(), LinearError>(())
    };
    if let Some(intercept) = &fit.target().intercept {
        push("intercept", intercept, None, true)?;
    }
    for (j, coefficient) in fit.target().coefficients.iter().enumerate() {
        let stored = !fit.target().out_of_range().contains(&j);
        push(&facts.names[j], coefficient, Some(columns.inflation_of_all[j]), stored)?;
    }
    let head = ["column", "mean", "standard deviation", "R² alone", "R² lost without", "outside the others"];
    let mut list = Table::new("columns", "Columns", &head);
    if let FigureKind::Shares(shares) = &shares.kind {
        for (j, share) in shares.rows.iter().enumerate() {
            let numbers =
                [columns.factor.mean(j), columns.factor.deviation(j), share.alone, share.beyond, share.own];
            let cells = numbers.map(TableCell::from);
            list.rows.push([TableCell::from(share.column.as_str())].into_iter().chain(cells).collect());
        }
    }
    let found = fit.rank();
    let (low, high) = found.band();
    let mut rank = Table::new("rank", "Rank by tolerance", &["tolerance", "rank"]);
    rank.columns[0].numeric = true;
    for (tolerance, rank_there) in
        [(low, found.rank_if_tighter), (found.tolerance, found.rank), (high, found.rank_if_looser)]
    {
        rank.rows.push(vec![tolerance.into(), (rank_there as f64).into()]);
    }
    Ok(vec![terms, list, rank])
}

/// The rows that do most.
pub(super) fn row_table(
    facts: &RowFacts,
    y: &dyn Fn(usize) -> f64,
    row_number: &dyn Fn(usize) -> u64,
) -> Table {
    let head = ["row", "actual", "predicted", "residual", "studentised", "leverage", "Cook's distance"];
    let mut table = Table::new("rows", "Rows that move the fit most", &head);
    table.columns[0].numeric = true;
    let influence = &facts.influence;
    let mut order: Vec<usize> =
        (0..facts.which.len()).filter(|&i| influence.cooks_distance[i].is_finite()).collect();
    order.sort_by(|&a, &b| influence.cooks_distance[b].total_cmp(&influence.cooks_distance[a]));
    for &i in order.iter().take(10) {
        let numbers = [
            row_number(facts.which[i]) as f64,
            y(facts.which[i]),
            facts.fitted[i],
            influence.residuals[i],
            influence.externally_studentised[i],
            influence.leverage[i],
            influence.cooks_distance[i],
        ];
        table.rows.push(numbers.map(TableCell::from).to_vec());
    }
    table
}
