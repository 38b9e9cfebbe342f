//! The machine's FMA peak: as many fused products a second as all threads can do on registers.

use spanwise_kernels::simd::{Float, FloatKernel, Isa, Real};
use std::hint::black_box;
use std::time::Instant;

/// Twelve independent chains, `steps` long.
struct Chains {
    steps: usize,
}

impl<A: Real> FloatKernel<A> for Chains {
    /// Floating-point operations, and a number that depends on all of them.
    type Output = (usize, A);

    #[inline(always)]
    fn run<S: Float<A>>(self, isa: S) -> (usize, A) {
        let (x, y) = (isa.splat(black_box(A::from_f64(0.999))), isa.splat(black_box(A::from_f64(0.001))));
        let mut sums = [isa.splat(A::ONE); 12];
        for _ in 0..self.steps {
            for sum in &mut sums {
                *sum = isa.mul_add(*sum, x, y);
            }
        }
        let total = sums.into_iter().fold(isa.splat(A::ZERO), |total, sum| isa.add(total, sum));
        (self.steps * 12 * S::LANES * 2, isa.sum(total))
    }
}

/// Best of several runs on two threads; `None` for a type that is neither `f32` nor `f64`.
pub(crate) fn gigaflops(dtype: &str) -> Option<f64> {
    match dtype {
        "f32" => Some(best::<f32>()),
        "f64" => Some(best::<f64>()),
        _ => None,
    }
}

fn best<A: Real>() -> f64 {
    let isa = Isa::detected();
    let mut best: f64 = 0.0;
    for _ in 0..20 {
        let start = Instant::now();
        let chains = || black_box(A::dispatch(isa, Chains { steps: 1_000_000 })).0;
        let operations = std::thread::scope(|scope| {
            let other = scope.spawn(chains);
            chains() + other.join().unwrap_or(0)
        });
        best = best.max(operations as f64 / start.elapsed().as_secs_f64() / 1e9);
    }
    best
}
