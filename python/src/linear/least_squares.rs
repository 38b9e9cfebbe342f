//! Least squares.

use super::{Table, columns_of, products};
use crate::array::{Answer, vector, with_real};
use crate::errors::{Class, OrRaise, raise, with_hint};
use crate::work;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::linear::fit::least_squares::{Coefficient, Method, TargetFit};
use spanwise::linear::{Deficiency, LeastSquares, LinearFit};

/// Intercept, whether dependent columns are dropped, tolerance, passes of refinement, binary digits of the numbers where fewer than
/// their arrays have.
pub(super) type Settings = (bool, bool, Option<f64>, usize, u32);

pub(super) fn settings((intercept, drop, tolerance, refinement, bits): Settings) -> LeastSquares {
    let deficiency = if drop { Deficiency::Drop } else { Deficiency::MinimumNorm };
    let settings = LeastSquares::new().intercept(intercept).deficiency(deficiency);
    let settings = settings.refinement(refinement).stored_bits(bits);
    match tolerance {
        Some(tolerance) => settings.tolerance(tolerance),
        None => settings,
    }
}

/// `x` (n × d) and `y` (n, or n × t), f64 or f32 with any strides; `weights` (n) without gaps.
#[pyfunction]
pub(crate) fn lstsq<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    asked: Settings,
    names: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    let table = Table::new("fit", x, y, weights)?;
    let (weights, settings) = (table.weights()?, settings(asked));
    let fit = with_real!(table.x, |x| with_real!(table.y, |y| work::fit(
        py,
        products(&table.x, columns_of(&table.y)),
        || match weights {
            Some(weights) => settings.fit_weighted(&x, &y, weights),
            None => settings.fit(&x, &y),
        }
    )));
    parts(&fit?.or_raise(py)?, names)
}

/// Everything a fit says: coefficients and what is known of each as `d × t`, what is known of a target as `t`.
pub(super) fn parts<'py>(fit: &LinearFit, names: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let (py, targets) = (names.py(), fit.targets());
    let (d, t) = (fit.columns(), targets.len());
    let each = |of: &dyn Fn(&Coefficient) -> f64| {
        let numbers = (0..d).flat_map(|j| targets.iter().map(move |target| of(&target.coefficients[j])));
        vector(py, numbers.collect()).reshape([d, t])
    };
    let constant = |of: &dyn Fn(&Coefficient) -> f64, without: f64| -> Vec<f64> {
        targets.iter().map(|target| target.intercept.as_ref().map_or(without, of)).collect()
    };
    let of_target = |of: &dyn Fn(&TargetFit) -> f64| -> Vec<f64> { targets.iter().map(of).collect() };
    let statistics: Vec<_> = (0..t).filter_map(|q| fit.statistics(q)).collect();
    let rank = fit.rank();
    let names: Vec<String> = names.extract()?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    refuse_infinite(py, fit, &names)?;
    let dependencies: Vec<_> = fit
        .dependencies()
        .iter()
        .map(|found| {
            let formula = found.formula(&names);
            (found.column, found.terms.clone(), found.constant, found.relative_residual, formula)
        })
        .collect();
    let method = match fit.method() {
        Method::Gram => "gram",
        Method::Householder => "householder",
        Method::Dual => "dual",
        Method::UnitColumns => "unit-columns",
        _ => "other",
    };
    let answer = Answer::new(py)
        .with("coefficients", each(&|c| c.value)?)?
        .with("standard_errors", each(&|c| c.standard_error)?)?
        .with("digits", each(&Coefficient::digits)?)?
        .with("p_values", each(&|c| fit.p_value(c))?)?
        .vector("intercept", constant(&|c| c.value, 0.0))?
        .vector("intercept_standard_error", constant(&|c| c.standard_error, f64::NAN))?
        .vector("intercept_digits", constant(&Coefficient::digits, f64::NAN))?
        .vector("residual_squares", of_target(&|target| target.residual_squares))?
        .vector("total_squares", of_target(&|target| target.total_squares))?
        .with(
            "out_of_range",
            targets.iter().map(|target| target.out_of_range().to_vec()).collect::<Vec<_>>(),
        )?
        .with("dependencies", dependencies)?
        .with("rank", rank.rank)?
        .with("terms", rank.terms)?
        .with("tolerance", rank.tolerance)?
        .with("rank_gap", rank.gap())?
        .with("rank_sure", !rank.would_change())?
        .with("condition", fit.condition())?
        .with("condition_bound", fit.condition_bound())?
        .with("rows", fit.rows())?
        .with("degrees_of_freedom", fit.degrees_of_freedom())?
        .with("method", method)?
        .with("refinement_steps", fit.refinement_steps())?;
    let statistic = |of: fn(&spanwise::linear::fit::least_squares::Statistics) -> f64| {
        statistics.iter().map(of).collect::<Vec<f64>>()
    };
    let answer = answer
        .vector("residual_deviation", statistic(|s| s.residual_deviation))?
        .vector("r_squared", statistic(|s| s.r_squared))?
        .vector("adjusted_r_squared", statistic(|s| s.adjusted_r_squared))?
        .vector("f", statistic(|s| s.f))?
        .vector("f_p_value", statistic(|s| s.f_p_value))?
        .vector("log_likelihood", statistic(|s| s.log_likelihood))?
        .vector("aic", statistic(|s| s.aic))?
        .vector("bic", statistic(|s| s.bic))?;
    Ok(answer.done())
}

/// Predictions are made of the coefficients as Python has them: none can be made of one that f64 cannot hold.
fn refuse_infinite(py: Python<'_>, fit: &LinearFit, names: &[&str]) -> PyResult<()> {
    let name = |j: usize| names.get(j).map_or_else(|| format!("x[{j}]"), |name| (*name).to_owned());
    let infinite = fit.targets().iter().find_map(|target| {
        let column = target.coefficients.iter().position(|c| c.value.is_infinite());
        let constant = target.intercept.filter(|c| c.value.is_infinite()).map(|_| "the intercept".to_owned());
        column.map(|j| format!("the coefficient of `{}`", name(j))).or(constant)
    });
    let Some(infinite) = infinite else { return Ok(()) };
    let message = format!("fit: {infinite} is beyond 1.8e308; expected numbers that float64 can hold");
    let hint = "write that column or `y` in other units, with values nearer to 1, and fit again";
    Err(raise(py, Class::Number, with_hint(message, Some(hint.to_owned()))))
}
