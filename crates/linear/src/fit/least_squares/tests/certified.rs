//! The digits claimed are never more than the digits had: random designs against the normal equations in twice the precision.
//!
//! In twofold arithmetic the normal equations lose 2·log₁₀ κ of 32 digits, where the claim loses at least log₁₀ κ of 16; so the
//! reference is ahead of every claim up to the κ at which f64 has no digit left.

use crate::fit::least_squares::{Coefficient, Deficiency, LeastSquares, LinearFit};
use crate::{Seeded, Summary};
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::Twofold;

/// A random design with what it is made to have.
struct Design {
    what: String,
    x: Matrix,
    y: Vec<f64>,
    weights: Option<Vec<f64>>,
    intercept: bool,
    /// `(column, of, by, constant)`: `x[column] = by·x[of] + constant` to the last bit.
    dependent: Option<(usize, usize, f64, f64)>,
}

fn design(case: usize) -> Design {
    let mut random = Seeded::new(1_000 + case as u64);
    let d = 1 + random.below(7);
    let large = case % 50 == 49;
    let n = if large { (1 << 17) / (d + 1) } else { d + 2 + random.below(50) };
    let intercept = random.below(3) > 0;
    // Twelve bits: sums and small multiples of columns are exact.
    let dyadic = |value: f64| (value * 256.0).round() / 256.0;
    let mut x = Matrix::from_fn(n, d, |_, _| dyadic(random.normal()));
    let kind = ["plain", "near", "powers", "offset", "scales", "dependent"][case % 6];
    let mut dependent = None;
    let mut what = kind.to_owned();
    match kind {
        "near" if d > 1 => {
            let distance = 10f64.powi(-1 - random.below(10) as i32);
            what = format!("near, {distance:e}");
            for i in 0..n {
                x[(i, d - 1)] = x[(i, 0)] + distance * x[(i, d - 1)];
            }
        }
        "powers" => {
            let top = 1.0 + random.uniform() * 9.0;
            for i in 0..n {
                let t = top * i as f64 / n as f64;
                (0..d).for_each(|j| x[(i, j)] = t.powi(j as i32 + 1));
            }
        }
        "offset" => {
            let offset = 10f64.powi(random.below(9) as i32);
            what = format!("offset {offset:e}");
            x.as_mut_slice().iter_mut().for_each(|value| *value += offset);
        }
        "scales" => {
            for j in 0..d {
                let scale = 10f64.powi(random.below(25) as i32 - 12);
                (0..n).for_each(|i| x[(i, j)] *= scale);
            }
        }
        "dependent" if d > 1 => {
            let (by, constant) = (random.below(5) as f64 - 2.0, random.below(3) as f64);
            let constant = if intercept { constant } else { 0.0 };
            (0..n).for_each(|i| x[(i, d - 1)] = by * x[(i, 0)] + constant);
            dependent = Some((d - 1, 0, by, constant));
        }
        _ => {}
    }
    let noise = [0.0, 1e-9, 1e-3, 1.0, 1e6][random.below(5)];
    let size = (0..d).map(|j| (0..n).fold(0.0_f64, |m, i| m.max(x[(i, j)].abs()))).collect::<Vec<_>>();
    let y = (0..n)
        .map(|i| {
            let fitted: f64 = (0..d).map(|j| (1.0 + j as f64) * x[(i, j)] / size[j].max(1e-300)).sum();
            fitted + 3.0 + noise * random.normal()
        })
        .collect();
    let weights = (random.below(3) == 0).then(|| {
        let weight = |i: usize| if i > d + 4 && i.is_multiple_of(9) { 0.0 } else { 0.01 + random.uniform() };
        (0..n).map(weight).collect()
    });
    what = format!("case {case} ({what}), {n} × {d}, noise {noise:e}, intercept {intercept}");
    Design { what, x, y, weights, intercept, dependent }
}

/// Coefficients, the intercept first where there is one, and standard errors.
struct Solution {
    coefficients: Vec<Twofold>,
    standard_errors: Vec<f64>,
    /// The smallest pivot as a share of its diagonal: 1/κ², about.
    smallest: f64,
}

/// Solves for the terms of `columns` by the normal equations, `G = LDLᵀ`.
fn reference(design: &Design, columns: &[usize]) -> Solution {
    let (n, first) = (design.x.rows(), usize::from(design.intercept));
    let k = columns.len() + first;
    let term = |i: usize, t: usize| if t < first { 1.0 } else { design.x[(i, columns[t - first])] };
    let weight = |i: usize| design.weights.as_ref().map_or(1.0, |w| w[i]);
    let mut g = vec![vec![Twofold::ZERO; k]; k];
    let mut right = vec![Twofold::ZERO; k];
    for i in (0..n).filter(|&i| weight(i) > 0.0) {
        for p in 0..k {
            (0..=p).for_each(|q| g[p][q] += Twofold::product(term(i, p), term(i, q)) * weight(i));
            right[p] += Twofold::product(term(i, p), design.y[i]) * weight(i);
        }
    }
    let whole: Vec<f64> = (0..k).map(|p| g[p][p].high).collect();
    for p in 0..k {
        for q in 0..p {
            let done = (0..q).fold(Twofold::ZERO, |sum, l| sum + g[p][l] * g[q][l] * g[l][l]);
            g[p][q] = (g[p][q] - done) / g[q][q];
        }
        let done = (0..p).fold(Twofold::ZERO, |sum, l| sum + g[p][l] * g[p][l] * g[l][l]);
        g[p][p] = g[p][p] - done;
    }
    let solve = |right: &[Twofold]| {
        let mut z = right.to_vec();
        for p in 0..k {
            z[p] = (0..p).fold(z[p], |sum, q| sum - g[p][q] * z[q]);
        }
        (0..k).for_each(|p| z[p] = z[p] / g[p][p]);
        for p in (0..k).rev() {
            z[p] = (p + 1..k).fold(z[p], |sum, q| sum - g[q][p] * z[q]);
        }
        z
    };
    let mut coefficients = solve(&right);
    let residual =
        |w: &[Twofold], i: usize| (0..k).fold(Twofold::from(design.y[i]), |sum, t| sum - w[t] * term(i, t));
    // Once more from the residual, whose rounding is beside the residual's own size.
    let mut gradient = vec![Twofold::ZERO; k];
    for i in (0..n).filter(|&i| weight(i) > 0.0) {
        let r = residual(&coefficients, i) * weight(i);
        (0..k).for_each(|t| gradient[t] += r * term(i, t));
    }
    solve(&gradient).into_iter().enumerate().for_each(|(t, step)| coefficients[t] += step);
    let counted = (0..n).filter(|&i| weight(i) > 0.0);
    let squares = counted.clone().fold(Twofold::ZERO, |sum, i| {
        let r = residual(&coefficients, i);
        sum + r * r * weight(i)
    });
    let variance = squares.high / (counted.count() as f64 - k as f64);
    let standard_errors = (0..k)
        .map(|t| {
            let unit: Vec<Twofold> = (0..k).map(|p| Twofold::from(f64::from(u8::from(p == t)))).collect();
            (solve(&unit)[t].high * variance).sqrt()
        })
        .collect();
    let smallest = (0..k).map(|p| g[p][p].high / whole[p]).fold(1.0, f64::min);
    Solution { coefficients, standard_errors, smallest }
}

fn fitted(design: &Design, deficiency: Deficiency) -> LinearFit {
    let settings = LeastSquares::new().intercept(design.intercept).deficiency(deficiency);
    let (x, y) = (design.x.view(), &design.y[..]);
    match &design.weights {
        Some(weights) => settings.fit_weighted(&x, y, weights).unwrap(),
        None => settings.fit(&x, y).unwrap(),
    }
}

fn streamed(design: &Design) -> LinearFit {
    let summary = Summary::of(&design.x.view(), &design.y[..], design.weights.as_deref()).unwrap();
    let settings = LeastSquares::new().intercept(design.intercept).deficiency(Deficiency::Drop);
    settings.fit_summary(&summary).unwrap()
}

fn unrefined(design: &Design) -> LinearFit {
    let settings = LeastSquares::new().intercept(design.intercept).deficiency(Deficiency::Drop).refinement(0);
    let (x, y) = (design.x.view(), &design.y[..]);
    match &design.weights {
        Some(weights) => settings.fit_weighted(&x, y, weights).unwrap(),
        None => settings.fit(&x, y).unwrap(),
    }
}

/// Digits that `found` shares with `exact`; −1 for a number that should be 0.
fn shared(found: f64, exact: Twofold) -> f64 {
    let error = (Twofold::from(found) - exact).high.abs();
    if error == 0.0 { 16.0 } else { -(error / exact.high.abs().max(f64::MIN_POSITIVE)).log10() }
}

fn claims_hold(what: &str, found: &[Coefficient], exact: &[Twofold]) {
    for (j, (c, &exact)) in found.iter().zip(exact).enumerate() {
        let had = shared(c.value, exact);
        assert!(
            c.computed_digits <= had.max(0.0),
            "{what}: term {j} claims {:.2} of {had:.2} digits: {:e}, is {:e}",
            c.computed_digits,
            c.value,
            exact.high
        );
    }
}

fn terms(model: &LinearFit) -> Vec<Coefficient> {
    let target = model.target();
    target.intercept.into_iter().chain(target.coefficients.iter().copied()).collect()
}

#[test]
fn no_design_has_fewer_digits_than_are_claimed() {
    let (mut compared, mut certain) = (0, 0);
    for case in 0..504 {
        let design = design(case);
        let model = fitted(&design, Deficiency::Drop);
        let dropped = &model.rank().dependent;
        let expected: Vec<usize> = design.dependent.iter().map(|found| found.0).collect();
        let kept: Vec<usize> = (0..design.x.cols()).filter(|j| !dropped.contains(j)).collect();
        if design.dependent.is_some() {
            assert_eq!(*dropped, expected, "{}", design.what);
        }
        let solution = reference(&design, &kept);
        if solution.smallest < 1e-24 {
            continue; // beyond twice the precision
        }
        compared += 1;
        let first = usize::from(design.intercept);
        let all = terms(&model);
        let kept_terms: Vec<Coefficient> =
            (0..first).chain(kept.iter().map(|j| j + first)).map(|t| all[t]).collect();
        claims_hold(&design.what, &kept_terms, &solution.coefficients);
        // What a summary or an unrefined fit claims, too.
        for unrefined in [streamed(&design), unrefined(&design)] {
            let all = terms(&unrefined);
            let kept: Vec<Coefficient> =
                (0..first).chain(kept.iter().map(|j| j + first)).map(|t| all[t]).collect();
            claims_hold(&format!("{}, not refined", design.what), &kept, &solution.coefficients);
        }
        certain += usize::from(kept_terms.iter().all(|c| c.digits() > 6.0));
        for (j, (c, &exact)) in kept_terms.iter().zip(&solution.standard_errors).enumerate() {
            // Five digits are shown. Of residuals that are rounding nothing is: is_exact says so.
            let had = shared(c.standard_error, Twofold::from(exact));
            let shown = !model.target().is_exact() && solution.smallest > 1e-20;
            assert!(!shown || had > 5.0, "{}: standard error {j} has {had:.2} digits", design.what);
        }
        if let Some((column, of, by, constant)) = design.dependent {
            // From the solution without the column along (1, −by) to the smallest norm; the intercept takes up the constant.
            let mut exact = solution.coefficients.clone();
            let place = kept.iter().position(|&j| j == of).map(|at| at + first);
            let along = place.map_or(Twofold::ZERO, |at| -(exact[at] * by));
            let step = along / Twofold::from(1.0 + by * by);
            exact.insert(column + first, -step);
            if let Some(at) = place {
                exact[at] += step * by;
            }
            if design.intercept {
                exact[0] += step * constant;
            }
            let smallest = fitted(&design, Deficiency::MinimumNorm);
            claims_hold(&format!("{}, smallest norm", design.what), &terms(&smallest), &exact);
        }
    }
    // The claims say something: most designs are compared, and most of those have digits to show.
    assert!(compared > 450 && certain > 300, "{compared} compared, {certain} with digits");
}
