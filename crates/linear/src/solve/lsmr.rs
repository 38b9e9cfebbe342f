//! LSMR: least squares for large sparse matrices known by their products alone.
//!
//! Golub and Kahan's bidiagonalisation builds orthonormal `u` and `v` from products with A and Aᵀ; the method of Fong and
//! Saunders updates the solution so that `‖Aᵀr‖` falls at every step.
//!
//! ```text
//! β u = A v − α u,   α v = Aᵀ u − β v          one step of the bidiagonalisation
//! two plane rotations turn it into the upper triangular form that minimises ‖Aᵀr‖
//! x += (ζ / ρρ̄) h̄;   h̄, h: short recurrences, so memory does not grow with the steps
//! ```
//!
//! From zero the iteration stays in the span of Aᵀ, so of all least-squares solutions it finds the shortest.

use super::Operator;
use super::answer::{B, Facts, Method, Sizes, Solution, measured};
use crate::check::argument;
use crate::dense::{axpy, extreme_unit, load_vector, norm};
use crate::{Extent, LinearError};
use spanwise_kernels::View;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LsmrOptions {
    /// Stops where the relative backward error is at most this: `‖r‖ ≤ tolerance·(‖A‖‖x‖ + ‖b‖)` for systems that have a
    /// solution, `‖Aᵀr‖ ≤ tolerance·‖A‖‖r‖` for least squares.
    pub tolerance: f64,
    /// Steps at most; ten times the smaller side where `None`.
    pub max_iterations: Option<usize>,
    /// λ ≥ 0: minimises `‖A x − b‖² + λ²‖x‖²`.
    pub damping: f64,
}

impl Default for LsmrOptions {
    fn default() -> Self {
        LsmrOptions { tolerance: 1e-12, max_iterations: None, damping: 0.0 }
    }
}

/// Of all `x` (p) that make `‖A x − b‖` smallest the shortest, for any operator `a` (n × p) and `b` (n).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::CsrMatrix;
/// use spanwise_linear::solve::{LsmrOptions, lsmr};
///
/// // x = 1, y = 2, and x + y = 3.3, which the other two contradict.
/// let a = CsrMatrix::new(3, 2, vec![0, 1, 2, 4], vec![0, 1, 0, 1], vec![1.0; 4])?;
/// let answer = lsmr(&a, View::new(&[1.0, 2.0, 3.3], &[3])?, LsmrOptions::default())?;
/// assert!((answer.x[0] - 1.1).abs() < 1e-10 && (answer.x[1] - 2.1).abs() < 1e-10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lsmr(a: &impl Operator, b: View<'_, f64>, options: LsmrOptions) -> Result<Solution, LinearError> {
    let mut b = load_vector(B, &b)?;
    B.fits(Extent::Length(b.len()), "A", Extent::Rows(a.rows()))?;
    let LsmrOptions { tolerance, max_iterations, damping } = options;
    argument("solve", "tolerance").in_range(
        tolerance,
        tolerance > 0.0 && tolerance < 1.0,
        "above 0 and below 1",
    )?;
    argument("solve", "damping").in_range(damping, damping >= 0.0 && damping.is_finite(), "at least 0")?;
    // Squares of b are formed; what answers b answers its multiples.
    let unit = extreme_unit(&b);
    for b in &mut b {
        *b /= unit;
    }
    let most = max_iterations.unwrap_or(10 * a.rows().min(a.cols()).max(10));
    let mut state = State::new(a, &b, damping);
    let mut done = state.gradient == 0.0;
    while !done && state.iterations < most {
        state.step(a);
        if !(state.residual.is_finite() && state.a_norm.is_finite()) {
            return Err(LinearError::Overflow { operation: "solve", argument: "A" });
        }
        done = state.backward_error() <= tolerance.max(f64::EPSILON) || state.gradient == 0.0;
    }
    if !done {
        return Err(LinearError::NoConvergence {
            operation: "solve",
            iterations: state.iterations,
            residual: state.backward_error(),
            tolerance,
        });
    }
    // What is reported is computed anew, not taken from the recurrences.
    let (mut image, mut gradient) = (vec![0.0; a.rows()], vec![0.0; a.cols()]);
    a.apply(&state.x, &mut image);
    let left: Vec<f64> = b.iter().zip(&image).map(|(b, image)| b - image).collect();
    a.apply_transposed(&left, &mut gradient);
    axpy(&mut gradient, -damping * damping, &state.x);
    let facts = Facts {
        method: Method::Lsmr,
        condition: state.condition(),
        iterations: state.iterations,
        rank: a.rows().min(a.cols()),
        jitter: 0.0,
    };
    let [b, residual, gradient] = [&b, &left, &gradient].map(|v| unit * norm(v));
    let sizes = Sizes { a: state.a_norm, b, residual, gradient };
    measured(&sizes, state.x.iter().map(|x| unit * x).collect(), &facts)
}

/// The rotation that maps (a, b) onto (r, 0): cosine, sine, r.
fn rotation(a: f64, b: f64) -> (f64, f64, f64) {
    let r = a.hypot(b);
    if r == 0.0 { (1.0, 0.0, 0.0) } else { (a / r, b / r, r) }
}

/// Scales `x` to length 1 and returns the length it had.
fn normalise(x: &mut [f64]) -> f64 {
    let size = norm(x);
    if size > 0.0 {
        for x in x.iter_mut() {
            *x /= size;
        }
    }
    size
}

/// The names of the fields are those of the paper: a bar or a tilde is written out.
struct State {
    damping: f64,
    b_norm: f64,
    x: Vec<f64>,
    u: Vec<f64>,
    v: Vec<f64>,
    h: Vec<f64>,
    h_bar: Vec<f64>,
    alpha: f64,
    alpha_bar: f64,
    zeta: f64,
    zeta_bar: f64,
    rho: f64,
    rho_bar: f64,
    c_bar: f64,
    s_bar: f64,
    // For the norm of the residual.
    beta_dd: f64,
    beta_d: f64,
    rho_d: f64,
    tau_tilde: f64,
    theta_tilde: f64,
    damped: f64,
    // For the condition number.
    rho_bar_range: (f64, f64),
    last_diagonal: f64,
    a_squares: f64,
    // What the stopping rules read.
    a_norm: f64,
    residual: f64,
    gradient: f64,
    iterations: usize,
}

impl State {
    fn new(a: &impl Operator, b: &[f64], damping: f64) -> Self {
        let mut u = b.to_vec();
        let beta = normalise(&mut u);
        let mut v = vec![0.0; a.cols()];
        a.apply_transposed(&u, &mut v);
        let alpha = normalise(&mut v);
        State {
            damping,
            b_norm: beta,
            x: vec![0.0; v.len()],
            h: v.clone(),
            h_bar: vec![0.0; v.len()],
            u,
            v,
            alpha,
            alpha_bar: alpha,
            zeta: 0.0,
            zeta_bar: alpha * beta,
            rho: 1.0,
            rho_bar: 1.0,
            c_bar: 1.0,
            s_bar: 0.0,
            beta_dd: beta,
            beta_d: 0.0,
            rho_d: 1.0,
            tau_tilde: 0.0,
            theta_tilde: 0.0,
            damped: 0.0,
            rho_bar_range: (f64::INFINITY, 0.0),
            last_diagonal: 1.0,
            a_squares: alpha * alpha,
            a_norm: alpha,
            residual: beta,
            gradient: alpha * beta,
            iterations: 0,
        }
    }

    fn step(&mut self, a: &impl Operator) {
        // Bidiagonalisation.
        let mut next = vec![0.0; self.u.len()];
        a.apply(&self.v, &mut next);
        axpy(&mut next, -self.alpha, &self.u);
        self.u = next;
        let beta = normalise(&mut self.u);
        let mut next = vec![0.0; self.v.len()];
        a.apply_transposed(&self.u, &mut next);
        axpy(&mut next, -beta, &self.v);
        self.v = next;
        self.alpha = normalise(&mut self.v);
        self.iterations += 1;

        // Rotations.
        let (c_hat, s_hat, alpha_hat) = rotation(self.alpha_bar, self.damping);
        let rho_old = self.rho;
        let (c, s, rho) = rotation(alpha_hat, beta);
        self.rho = rho;
        let theta = s * self.alpha;
        self.alpha_bar = c * self.alpha;
        let rho_bar_old = self.rho_bar;
        let zeta_old = self.zeta;
        let theta_bar = self.s_bar * rho;
        self.last_diagonal = self.c_bar * rho;
        (self.c_bar, self.s_bar, self.rho_bar) = rotation(self.last_diagonal, theta);
        self.zeta = self.c_bar * self.zeta_bar;
        self.zeta_bar *= -self.s_bar;

        // The solution and its directions.
        let back = theta_bar * rho / (rho_old * rho_bar_old);
        self.h_bar.iter_mut().zip(&self.h).for_each(|(h_bar, h)| *h_bar = h - back * *h_bar);
        axpy(&mut self.x, self.zeta / (rho * self.rho_bar), &self.h_bar);
        let forth = theta / rho;
        self.h.iter_mut().zip(&self.v).for_each(|(h, v)| *h = v - forth * *h);

        // The norm of the residual.
        let beta_acute = c_hat * self.beta_dd;
        let beta_check = -s_hat * self.beta_dd;
        let beta_hat = c * beta_acute;
        self.beta_dd = -s * beta_acute;
        let theta_tilde_old = self.theta_tilde;
        let (c_tilde, s_tilde, rho_tilde) = rotation(self.rho_d, theta_bar);
        self.theta_tilde = s_tilde * self.rho_bar;
        self.rho_d = c_tilde * self.rho_bar;
        self.beta_d = -s_tilde * self.beta_d + c_tilde * beta_hat;
        self.tau_tilde = (zeta_old - theta_tilde_old * self.tau_tilde) / rho_tilde;
        let tau_d = (self.zeta - self.theta_tilde * self.tau_tilde) / self.rho_d;
        self.damped += beta_check * beta_check;
        self.residual = (self.damped + (self.beta_d - tau_d).powi(2) + self.beta_dd.powi(2)).sqrt();
        self.gradient = self.zeta_bar.abs();

        // The norm and the condition number of A.
        self.a_squares += beta * beta;
        self.a_norm = self.a_squares.sqrt();
        self.a_squares += self.alpha * self.alpha;
        if self.iterations > 1 {
            let (low, high) = self.rho_bar_range;
            self.rho_bar_range = (low.min(rho_bar_old), high.max(rho_bar_old));
        }
    }

    fn backward_error(&self) -> f64 {
        let of_system = self.residual / (self.a_norm * norm(&self.x) + self.b_norm);
        let of_least_squares =
            if self.residual > 0.0 { self.gradient / (self.a_norm * self.residual) } else { 0.0 };
        of_system.min(of_least_squares)
    }

    fn condition(&self) -> f64 {
        let (low, high) = self.rho_bar_range;
        let (low, high) = (low.min(self.last_diagonal), high.max(self.last_diagonal));
        if low > 0.0 { high / low } else { f64::INFINITY }
    }
}
