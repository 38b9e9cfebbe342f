//! Findings about the columns: rank, dependencies, conditioning, and what coefficients are worth.

use super::factor::Factor;
use crate::explain::Formula;
use crate::finding::{Finding, Severity};
use crate::linear::near::{near_findings, near_text};
use crate::linear::{FitFacts, common, counted, short};
use spanwise_linear::LinearFit;
use spanwise_linear::measure::NearDependency;

/// Inflation from which a coefficient that may be 0 says nothing by itself.
const SHARED: f64 = 30.0;

/// What is known of the columns.
pub(super) struct Columns<'a> {
    pub(super) facts: &'a FitFacts,
    pub(super) fit: &'a LinearFit,
    pub(super) factor: &'a Factor,
    /// Columns that do not depend on others.
    pub(super) kept: &'a [usize],
    pub(super) near: &'a [NearDependency],
    /// Variance inflation of each kept column among the kept ones, which their errors have; infinite for the others.
    pub(super) inflation: &'a [f64],
    /// Variance inflation of each column among all; infinite also where a kept one gives, with others, one that is not.
    pub(super) inflation_of_all: &'a [f64],
    /// Condition numbers of the terms: as they are, and scaled.
    pub(super) condition: (f64, f64),
}

impl Columns<'_> {
    fn name(&self, j: usize) -> &str {
        &self.facts.names[j]
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
            text: found.short_formula(&names, common::FEW_TERMS),
        });
        let near = self.near.iter().map(|found| Formula {
            left: self.name(found.column).to_owned(),
            terms: named(&found.terms),
            constant: found.constant,
            size: found.size,
            exact: false,
            text: near_text(found, &names),
        });
        exact.chain(near).collect()
    }

    /// Why the coefficient of column `j` says nothing by itself; `None` where it does.
    pub(super) fn meaningless(&self, j: usize) -> Option<String> {
        let coefficient = &self.fit.target().coefficients[j];
        if self.fit.target().out_of_range().contains(&j) {
            return Some("outside what f64 can hold".to_owned());
        }
        if let Some(found) = self.fit.dependencies().iter().find(|found| found.column == j) {
            let others = common::some_names(found.terms.iter().map(|&(j, _)| self.name(j)));
            return Some(match found.terms.len() {
                0 => "the column is constant".to_owned(),
                _ => format!("given by {others}"),
            });
        }
        if self.fit.dependencies().iter().any(|found| found.terms.iter().any(|&(i, _)| i == j)) {
            return Some("shared with a column it gives".to_owned());
        }
        if common::digits(coefficient).is_some_and(|digits| digits < 1.0) {
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
        let names: Vec<&str> = self.facts.names.iter().map(String::as_str).collect();
        let mut all: Vec<Finding> = common::out_of_range(self.fit, &names, &self.facts.target)
            .map(|found| found.shown("coefficients"))
            .into_iter()
            .collect();
        all.extend(self.exact());
        all.extend(self.shape());
        all.extend(self.rank());
        all.extend(self.near());
        all.extend(self.digits());
        all.extend(self.undetermined());
        all.extend(self.units());
        all
    }

    fn exact(&self) -> Vec<Finding> {
        let names: Vec<&str> = self.facts.names.iter().map(String::as_str).collect();
        let kept: Vec<String> = self.kept.iter().map(|&j| format!("`{}`", self.name(j))).collect();
        let set = if kept.len() <= 12 {
            format!("; the same span: {}", kept.join(", "))
        } else {
            format!("; {} have the same span", counted(kept.len(), "column", "columns"))
        };
        let finding = |told: Finding| {
            let advice = told.advice.clone().map(|advice| advice + &set);
            Finding { advice, ..told.shown("dependencies") }
        };
        common::dependent_columns(self.fit, &names).into_iter().map(finding).collect()
    }

    /// Too few rows, a target that does not vary or that the columns give exactly.
    fn shape(&self) -> Vec<Finding> {
        let shown = |finding: Finding| match finding.name {
            "target-in-span" => finding.shown("coefficients"),
            _ => finding,
        };
        common::shape(self.fit, &self.facts.target).into_iter().map(shown).collect()
    }

    fn rank(&self) -> Option<Finding> {
        Some(common::uncertain_rank(self.fit.rank())?.shown("spectrum"))
    }

    fn near(&self) -> Vec<Finding> {
        let names: Vec<&str> = self.facts.names.iter().map(String::as_str).collect();
        let told = near_findings(self.near, &names, self.facts.intercept);
        told.into_iter().map(|finding| finding.shown("dependencies")).collect()
    }

    fn digits(&self) -> Option<Finding> {
        let names: Vec<&str> = self.facts.names.iter().map(String::as_str).collect();
        Some(common::few_digits(self.fit, &names, self.condition.1)?.shown("coefficients"))
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
                .advised("leave out one column of each dependency; predictions are hardly affected")
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
