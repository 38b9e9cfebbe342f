//! Findings about the columns: rank, dependencies, conditioning, and what coefficients are worth.

use super::factor::Factor;
use super::near::NearDependency;
use crate::explain::Formula;
use crate::finding::{Finding, Severity};
use crate::linear::{FitFacts, counted, percent, short};
use spanwise_linear::LinearFit;

/// Fewer certain digits than this must not be relied on.
const FEW_DIGITS: f64 = 4.0;
/// Inflation from which a coefficient that may be 0 says nothing by itself.
const SHARED: f64 = 30.0;
/// A near-dependency that leaves less than this share makes coefficients useless, not only uncertain.
const ALMOST_EXACT: f64 = 1e-5;
/// Numbers that differ by less than this share are the same, written twice.
const SAME: f64 = 1e-12;

/// What is known of the columns.
pub(super) struct Columns<'a> {
    pub(super) facts: &'a FitFacts,
    pub(super) fit: &'a LinearFit,
    pub(super) factor: &'a Factor,
    /// Columns that do not depend on others.
    pub(super) kept: &'a [usize],
    pub(super) near: &'a [NearDependency],
    /// Variance inflation of each column; infinite where it depends on others.
    pub(super) inflation: &'a [f64],
    /// Condition numbers of the terms: as they are, and scaled.
    pub(super) condition: (f64, f64),
}

impl Columns<'_> {
    fn name(&self, j: usize) -> &str {
        &self.facts.names[j]
    }

    /// The standard deviation of a column by name.
    fn spread(&self, name: &str) -> f64 {
        self.facts.names.iter().position(|other| other == name).map_or(0.0, |j| self.factor.deviation(j))
    }

    /// Formulas, exact ones first.
    pub(super) fn formulas(&self) -> Vec<Formula> {
        let names: Vec<&str> = self.facts.names.iter().map(String::as_str).collect();
        let named = |terms: &[(usize, f64)]| {
            terms.iter().map(|&(j, a)| (a, self.name(j).to_owned())).collect::<Vec<_>>()
        };
        let exact = self.fit.dependencies().iter().map(|found| Formula {
            left: self.name(found.column).to_owned(),
            terms: named(&found.terms),
            constant: found.constant,
            size: found.relative_residual,
            exact: true,
            text: found.formula(&names),
        });
        let near = self.near.iter().map(|found| Formula {
            left: self.name(found.column).to_owned(),
            terms: named(&found.terms),
            constant: found.constant,
            size: found.size,
            exact: false,
            text: self.near_text(found),
        });
        exact.chain(near).collect()
    }

    /// `` `b` ≈ 1.8·`a` + 32 ``.
    fn near_text(&self, found: &NearDependency) -> String {
        let mut text = format!("`{}` ≈", self.name(found.column));
        let terms = found.terms.iter().map(|&(j, a)| (a, format!("·`{}`", self.name(j))));
        let constant = (found.constant != 0.0).then(|| (found.constant, String::new()));
        for (at, (a, factor)) in terms.chain(constant).enumerate() {
            let sign = match (at, a < 0.0) {
                (0, false) => " ",
                (0, true) => " −",
                (_, false) => " + ",
                (_, true) => " − ",
            };
            text.push_str(sign);
            text.push_str(&short(a.abs()));
            text.push_str(&factor);
        }
        text
    }

    /// Why the coefficient of column `j` says nothing by itself; `None` where it does.
    pub(super) fn meaningless(&self, j: usize) -> Option<String> {
        let coefficient = &self.fit.target().coefficients[j];
        if let Some(found) = self.fit.dependencies().iter().find(|found| found.column == j) {
            let others: Vec<String> =
                found.terms.iter().map(|&(j, _)| format!("`{}`", self.name(j))).collect();
            return Some(match others.len() {
                0 => "the column is constant".to_owned(),
                _ => format!("given by {}", others.join(", ")),
            });
        }
        if self.fit.dependencies().iter().any(|found| found.terms.iter().any(|&(i, _)| i == j)) {
            return Some("shared with a column it gives".to_owned());
        }
        if coefficient.digits() < 1.0 {
            return Some("not one digit is certain".to_owned());
        }
        let p = self.fit.p_value(coefficient);
        let inflated = self.inflation[j] > SHARED && p > 0.05;
        inflated.then(|| {
            let times = self.inflation[j].sqrt();
            format!("its sign is not determined: its error is {} times larger than alone", short(times))
        })
    }

    /// All findings about columns and coefficients.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut all = self.exact();
        all.extend(self.shape());
        all.extend(self.rank());
        all.extend(self.near.iter().map(|found| self.near_finding(found)));
        all.extend(self.digits());
        all.extend(self.undetermined());
        all.extend(self.units());
        all
    }

    fn exact(&self) -> Vec<Finding> {
        let formulas = self.formulas();
        let finding = |formula: &Formula| {
            let column = &formula.left;
            let (name, severity, sentence) = match formula.terms[..] {
                [] => (
                    "constant-column",
                    Severity::Caution,
                    format!(
                        "`{column}` is constant ({}): it adds nothing to the intercept",
                        short(formula.constant)
                    ),
                ),
                [(a, ref other)]
                    if (a - 1.0).abs() < SAME && formula.constant.abs() < SAME * self.spread(column) =>
                {
                    ("duplicated-column", Severity::Serious, format!("`{column}` repeats `{other}`"))
                }
                _ => (
                    "exact-dependency",
                    Severity::Serious,
                    format!("`{column}` adds nothing: {}", formula.text),
                ),
            };
            let kept: Vec<String> = self.kept.iter().map(|&j| format!("`{}`", self.name(j))).collect();
            let set = if kept.len() <= 12 {
                format!("; the same span: {}", kept.join(", "))
            } else {
                format!("; {} columns have the same span", kept.len())
            };
            Finding::new(severity, sentence)
                .named(name)
                .advised(format!("leave `{column}` out: the same predictions, and one solution{set}"))
                .certified(format!("the formula leaves {} of the column", short(formula.size)))
                .evident("left by the formula, share of the column", formula.size)
                .shown("dependencies")
        };
        formulas.iter().filter(|formula| formula.exact).map(finding).collect()
    }

    /// Too few rows, a target that does not vary or that the columns give exactly.
    fn shape(&self) -> Vec<Finding> {
        let (fit, target) = (self.fit, &self.facts.target);
        let (rows, rank) = (fit.rows(), fit.rank().rank as u64);
        let mut all = Vec::new();
        if fit.degrees_of_freedom() == 0 {
            let sentence = format!(
                "the model passes through every row: {} for {} leave nothing to estimate errors from",
                counted(rows as usize, "row", "rows"),
                counted(rank as usize, "independent term", "independent terms")
            );
            all.push(
                Finding::new(Severity::Serious, sentence)
                    .named("no-freedom")
                    .advised("use fewer columns, more rows, or ridge"),
            );
        } else if rows < 2 * rank {
            let sentence = format!("{rows} rows for {rank} terms: less than two rows a term");
            all.push(
                Finding::new(Severity::Caution, sentence)
                    .named("few-rows")
                    .advised("use fewer columns, more rows, or ridge"),
            );
        }
        let fitted = fit.target();
        if fitted.total_squares <= 0.0 {
            let sentence =
                format!("`{target}` is constant: there is nothing to explain, and R² has no meaning");
            all.push(Finding::new(Severity::Serious, sentence).named("constant-target"));
        } else if fit.degrees_of_freedom() > 0 && fitted.residual_squares <= 1e-20 * fitted.total_squares {
            let sentence = format!("`{target}` is a formula in the columns, to rounding: R² is 1");
            all.push(
                Finding::new(Severity::Caution, sentence)
                    .named("target-in-span")
                    .advised("was it computed from them? then there is nothing to learn from the fit")
                    .evident(
                        "residual, share of the target's variation",
                        fitted.residual_squares / fitted.total_squares,
                    )
                    .shown("coefficients"),
            );
        }
        all
    }

    fn rank(&self) -> Option<Finding> {
        let rank = self.fit.rank();
        if !rank.would_change() {
            return None;
        }
        let sentence = format!(
            "the rank is not certain: {} to {} for tolerances a hundred times larger or smaller than {}",
            rank.rank_if_looser,
            rank.rank_if_tighter,
            short(rank.tolerance)
        );
        Some(
            Finding::new(Severity::Caution, sentence)
                .named("uncertain-rank")
                .advised("look at the near-dependencies: the data are as precise as the dependency is small")
                .certified(format!("kept and dropped differ by a factor of {}", short(rank.gap())))
                .evident("tolerance", rank.tolerance)
                .evident("rank", rank.rank as f64)
                .shown("spectrum"),
        )
    }

    fn near_finding(&self, found: &NearDependency) -> Finding {
        let severity = if found.size < ALMOST_EXACT { Severity::Serious } else { Severity::Caution };
        let of = if self.facts.intercept { "standard deviation" } else { "length" };
        let sentence = format!(
            "{} to within {} of its {of}; its standard error is {} times what it would be alone",
            self.near_text(found),
            percent(found.size),
            short(found.inflation.sqrt())
        );
        Finding::new(severity, sentence)
            .named("near-dependency")
            .advised(format!(
                "drop `{}`, combine the columns, or use ridge; predictions are not affected",
                self.name(found.column)
            ))
            .certified(format!(
                "regressed on the others: R² {}, variance inflation {}",
                percent(1.0 - 1.0 / found.inflation),
                short(found.inflation)
            ))
            .evident("left by the formula, share", found.size)
            .evident("variance inflation", found.inflation)
            .shown("dependencies")
    }

    fn digits(&self) -> Option<Finding> {
        let dependent = &self.fit.rank().dependent;
        let worst = (0..self.facts.names.len())
            .filter(|j| !dependent.contains(j))
            .map(|j| (j, self.fit.target().coefficients[j].digits()))
            .filter(|(_, digits)| !digits.is_nan())
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        // A coefficient of zero has no digits to be certain of.
        if worst.1 >= FEW_DIGITS || self.condition.1 < 1e4 {
            return None;
        }
        let sentence = format!(
            "the coefficient of `{}` has {} certain digits: the scaled condition number is {}",
            self.name(worst.0),
            worst.1.floor().max(0.0),
            short(self.condition.1)
        );
        Some(
            Finding::new(Severity::Serious, sentence)
                .named("few-digits")
                .advised("drop a column of the near-dependency, or record the columns with more digits")
                .certified("double-double residuals, and what rounding of the data alone would change")
                .evident("digits", worst.1)
                .evident("scaled condition number", self.condition.1)
                .shown("coefficients"),
        )
    }

    fn undetermined(&self) -> Option<Finding> {
        let inflated = |j: &usize| {
            self.inflation[*j].is_finite()
                && self.inflation[*j] > SHARED
                && self.fit.p_value(&self.fit.target().coefficients[*j]) > 0.05
        };
        let found: Vec<usize> = self.kept.iter().copied().filter(inflated).collect();
        let worst = found.iter().map(|&j| self.inflation[j]).fold(0.0, f64::max);
        if found.is_empty() {
            return None;
        }
        let names: Vec<String> = found.iter().take(6).map(|&j| format!("`{}`", self.name(j))).collect();
        let more = if found.len() > 6 { format!(" and {} more", found.len() - 6) } else { String::new() };
        let sentence = format!(
            "the {} of {}{more} {} nothing by {}: not even the sign is determined, because columns share what \
             they explain",
            if found.len() == 1 { "coefficient" } else { "coefficients" },
            names.join(", "),
            if found.len() == 1 { "says" } else { "say" },
            if found.len() == 1 { "itself" } else { "themselves" },
        );
        Some(
            Finding::new(Severity::Caution, sentence)
                .named("undetermined-coefficients")
                .advised("read their sum or drop one of them; predictions are not affected")
                .certified(format!("intervals that hold 0 at variance inflation of up to {}", short(worst)))
                .evident("largest variance inflation", worst)
                .shown("coefficients"),
        )
    }

    /// Units that differ widely: harmless here, not everywhere.
    fn units(&self) -> Option<Finding> {
        let (raw, scaled) = self.condition;
        if !(raw > 1e7 && raw / scaled > 1e3 && raw.is_finite()) {
            return None;
        }
        let sentence = format!(
            "scaling helps: the condition number is {} as the columns are and {} with columns of length 1",
            short(raw),
            short(scaled)
        );
        Some(
            Finding::new(Severity::Note, sentence)
                .named("scaling")
                .advised("Spanwise scales by itself; programs that do not lose digits here")
                .evident("condition number as it is", raw)
                .evident("scaled condition number", scaled)
                .shown("spectrum"),
        )
    }
}
