//! The machine's FMA peak: as many fused products a second as all threads can do on registers.

use spanwise_kernels::bf16;
use spanwise_kernels::simd::{Float, FloatKernel, Isa, PairDots, PairKernel, Real, dispatch_pairs};
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

impl PairKernel for Chains {
    type Output = (usize, f32);

    #[inline(always)]
    fn run<S: PairDots>(self, isa: S) -> (usize, f32) {
        let (x, y) = black_box(([bf16::from_f32(0.5); 32], [bf16::from_f32(-0.25); 32]));
        let (x, y) = (isa.load_pairs(&x), isa.load_pairs(&y));
        let mut sums = [isa.splat(1.0); 12];
        for _ in 0..self.steps {
            for sum in &mut sums {
                *sum = isa.dot_pairs(x, y, *sum);
            }
        }
        let total = sums.into_iter().fold(isa.splat(0.0), |total, sum| isa.add(total, sum));
        (self.steps * 12 * S::LANES * 4, isa.sum(total))
    }
}

/// Best of several runs on two threads; that of f32 for bf16 where there are no products of pairs, and `None` for other types.
pub(crate) fn gigaflops(dtype: &str) -> Option<f64> {
    let isa = Isa::detected();
    let single = || black_box(f32::dispatch(isa, Chains { steps: 1_000_000 })).0;
    match dtype {
        "f32" => Some(best(single)),
        "f64" => Some(best(|| black_box(f64::dispatch(isa, Chains { steps: 1_000_000 })).0)),
        "bf16" => Some(best(|| match dispatch_pairs(isa, Chains { steps: 1_000_000 }) {
            Ok(given) => black_box(given).0,
            Err(_) => single(),
        })),
        _ => None,
    }
}

fn best(chains: impl Fn() -> usize + Sync) -> f64 {
    let mut best: f64 = 0.0;
    for _ in 0..20 {
        let start = Instant::now();
        let operations = std::thread::scope(|scope| {
            let other = scope.spawn(&chains);
            chains() + other.join().unwrap_or(0)
        });
        best = best.max(operations as f64 / start.elapsed().as_secs_f64() / 1e9);
    }
    best
}
