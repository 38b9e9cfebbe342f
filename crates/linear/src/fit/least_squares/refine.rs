//! Refinement on the data as given, and how many digits it leaves.
//!
//! ```text
//!  w ← from the triangle
//!  repeat:  r = y − Xw and g = XᵀWr with twice the precision;  δ = (RᵀR)⁻¹ g;  w ← w + δ      (w with a low part, too)
//! ```
//!
//! Each step shrinks the error by ρ: about 4uκ where R comes from reflections, 4uκ² where it comes from the Gram matrix. After a
//! step with correction δ, the error left in coefficient j is at most
//!
//! ```text
//!  |eⱼ| ≤ ‖row j of A⁺‖ · (ρ ‖Aδ‖ + n u² κ (‖r‖ + Σ ‖aᵢ‖|wᵢ|)) + u |wⱼ|
//! ```
//!
//! ρ is taken no smaller than the shrinking that was seen. What the rounding of the *data* does to the coefficients is another
//! question, answered beside it: `‖row j‖ (ε Σ ‖aᵢ‖|wᵢ| + ε κ ‖r‖ …) + ε |wⱼ|`.

use super::U;
use super::reduced::Reduced;
use super::solver::Solver;
use spanwise_kernels::tall::{
    Bounds, Compensated, Tall, Twofold, residual_and_gradient, residual_and_gradient_within,
};

/// No more digits than this are ever claimed of a computation.
pub(super) const MOST_DIGITS: f64 = 15.5;
/// No more digits than this are ever claimed of data: decimals are rounded when they are stored.
pub(super) const MOST_DATA_DIGITS: f64 = 14.0;
/// Tables of at most this many numbers are refined until nothing changes; larger ones until the bound is met.
const SMALL: usize = 1 << 20;

/// The coefficients of one target, refined.
#[derive(Clone, Debug)]
pub(super) struct Refined {
    /// Of the kept terms as given.
    pub coefficients: Vec<f64>,
    /// Σ w r² at the solution.
    pub residual_squares: f64,
    /// How far each coefficient is from the solution of the data as stored, at most.
    pub errors: Vec<f64>,
    /// How much the rounding of the data changes it, at most.
    pub data_errors: Vec<f64>,
    /// Passes over the data.
    pub steps: usize,
}

/// What refinement works with.
pub(super) struct Refinement<'a> {
    pub tall: &'a Tall<'a>,
    pub solver: &'a Solver,
    pub most_steps: usize,
    /// Column norms and residual norms that the first pass may rely on: then it costs half.
    pub known: Option<Known>,
}

/// What the reduction says about the sums of the first pass.
pub(super) struct Known {
    /// `d`, each at least its column's norm.
    columns: Vec<f64>,
    /// `t`, each probably above the norm of the residual.
    residuals: Vec<f64>,
}

impl Known {
    /// Of a large table without weights whose Gram matrix was good enough.
    pub(super) fn of(tall: &Tall<'_>, reduced: &Reduced) -> Option<Known> {
        let large = tall.rows().saturating_mul(tall.width()) > SMALL;
        if !(large && reduced.squared && tall.weights.is_none()) {
            return None;
        }
        let (root, first) = ((tall.rows() as f64).sqrt(), usize::from(reduced.intercept));
        // ‖x‖ ≤ ‖x − c‖ + |c| √n, a little more for rounding.
        let norm = |j: usize| 1.01 * (reduced.scales[first + j] + tall.shift[j].abs() * root);
        let residual = |(rss, total): (&f64, &f64)| 2.0 * (rss + 1e-4 * total).sqrt();
        Some(Known {
            columns: (0..tall.x.cols()).map(norm).collect(),
            residuals: reduced.residual_squares.iter().zip(&reduced.total_squares).map(residual).collect(),
        })
    }
}

/// One target on its way.
struct Progress {
    /// Of the kept terms as given.
    coefficients: Vec<Twofold>,
    /// ‖A δ‖ of the last step and of the one before.
    last: f64,
    before: f64,
    residual_squares: f64,
    steps: usize,
    done: bool,
}

/// Coefficients of the terms as given from those of the shifted terms.
pub(super) fn unshifted(solver: &Solver, shifted: &[f64], target_shift: f64) -> Vec<Twofold> {
    let mut all: Vec<Twofold> = shifted.iter().map(|&w| Twofold::from(w)).collect();
    if solver.intercept {
        all[0] += Twofold::from(target_shift);
        for i in 1..all.len() {
            let part = Twofold::product(shifted[i], solver.shift[i]);
            all[0] = all[0] - part;
        }
    }
    all
}

impl Refinement<'_> {
    /// Refines the coefficients `starts` (one list a target) of the kept terms as given.
    pub(super) fn run(&self, starts: Vec<Vec<Twofold>>) -> Vec<Refined> {
        // The first pass needs no low parts: it computes what is wrong with the rounded coefficients.
        let mut all: Vec<Progress> = starts
            .into_iter()
            .map(|start| Progress {
                coefficients: start.into_iter().map(|w| Twofold::from(w.high)).collect(),
                last: f64::INFINITY,
                before: f64::INFINITY,
                residual_squares: 0.0,
                steps: 0,
                done: false,
            })
            .collect();
        let small = self.tall.rows().saturating_mul(self.tall.width()) <= SMALL;
        let rows = self.solver.row_norms();
        for _ in 0..self.most_steps {
            self.step(&mut all);
            for progress in &mut all {
                progress.done = self.is_done(progress, &rows, small);
            }
            if all.iter().all(|progress| progress.done) {
                break;
            }
        }
        all.iter().map(|progress| self.finish(progress, &rows)).collect()
    }

    /// One pass over the data, one correction for every target.
    fn step(&self, all: &mut [Progress]) {
        let (d, solver) = (self.tall.x.cols(), self.solver);
        let mut given = vec![Twofold::ZERO; all.len() * (d + 1)];
        for (progress, given) in all.iter().zip(given.chunks_exact_mut(d + 1)) {
            for (i, &w) in progress.coefficients.iter().enumerate() {
                given[place(solver, i, d)] = w;
            }
        }
        let pass = self.pass(&given, all);
        for (q, progress) in all.iter_mut().enumerate() {
            let gradient: Vec<Twofold> =
                (0..solver.len()).map(|i| pass.gradient[q * (d + 1) + place(solver, i, d)]).collect();
            let (delta, length) = solver.correction(&gradient);
            for (i, w) in unshifted(solver, &delta, 0.0).into_iter().enumerate() {
                progress.coefficients[i] += w;
            }
            progress.before = progress.last;
            progress.last = length;
            progress.residual_squares = (pass.squares[q] - length * length).max(0.0);
            progress.steps += 1;
        }
    }

    /// Residuals and gradients at `given`, `t × (d + 1)`.
    fn pass(&self, given: &[Twofold], all: &[Progress]) -> Compensated {
        let bounded = self.known.as_ref().filter(|_| all.iter().all(|progress| progress.steps == 0));
        bounded
            .and_then(|known| {
                let rounded: Vec<f64> = given.iter().map(|w| w.high).collect();
                let bounds = Bounds { columns: &known.columns, residuals: &known.residuals };
                residual_and_gradient_within(self.tall, &rounded, bounds)
            })
            .unwrap_or_else(|| residual_and_gradient(self.tall, given))
    }

    /// How much a step shrinks the error, by theory.
    fn shrink(&self) -> f64 {
        let kappa = self.solver.condition_bound;
        if self.solver.squared { 4.0 * U * kappa * kappa } else { 4.0 * U * kappa }
    }

    fn is_done(&self, progress: &Progress, rows: &[f64], small: bool) -> bool {
        // No step shrinks any more: what is left is rounding.
        if progress.last > 0.5 * progress.before || progress.last == 0.0 {
            return true;
        }
        let shrink = self.shrink().min(1.0);
        let next_is_small = progress
            .coefficients
            .iter()
            .zip(rows)
            .all(|(w, row)| row * shrink * progress.last <= 0.25 * U * w.high.abs());
        // One more pass costs nothing there, and shows that the steps do shrink.
        next_is_small && (!small || progress.steps >= 2)
    }

    fn finish(&self, progress: &Progress, rows: &[f64]) -> Refined {
        let solver = self.solver;
        let n = self.tall.rows() as f64;
        let kappa = solver.condition_bound;
        let residual = progress.residual_squares.sqrt();
        let seen = if progress.before.is_finite() && progress.before > 0.0 {
            (progress.last / progress.before).min(1.0)
        } else {
            0.0
        };
        // A correction at the level of rounding says nothing about the shrinking.
        let reach: f64 =
            progress.coefficients.iter().zip(&solver.norms).map(|(w, norm)| w.high.abs() * norm).sum();
        let floor = n * U * U * kappa * (residual + reach);
        let shrink = if progress.last <= floor { self.shrink() } else { self.shrink().max(seen) }.min(1.0);
        let precision = self.tall.x.precision().max(self.tall.y.precision());
        let (mut errors, mut data_errors) = (Vec::new(), Vec::new());
        for (w, &row) in progress.coefficients.iter().zip(rows) {
            let w = w.high;
            errors.push(row * (shrink * progress.last + floor) + U * w.abs());
            data_errors.push(precision * data_error(solver, w, row, reach, residual));
        }
        Refined {
            coefficients: progress.coefficients.iter().map(|w| w.high).collect(),
            residual_squares: progress.residual_squares,
            errors,
            data_errors,
            steps: progress.steps,
        }
    }
}

/// What changing every number of the data by a relative ε changes a coefficient by, in units of ε, at most; `row` is the
/// norm of its row of A⁺.
pub(super) fn data_error(solver: &Solver, w: f64, row: f64, reach: f64, residual: f64) -> f64 {
    let largest_offset =
        solver.norms.iter().zip(&solver.scales).map(|(norm, scale)| norm / scale).fold(1.0, f64::max);
    4.0 * (row * (reach + residual * solver.condition_bound * largest_offset) + w.abs())
}

/// Where kept term `i` lies among a table's `d` columns and the intercept after them.
fn place(solver: &Solver, i: usize, d: usize) -> usize {
    match (solver.intercept, solver.kept[i]) {
        (true, 0) => d,
        (true, term) => term - 1,
        (false, term) => term,
    }
}
