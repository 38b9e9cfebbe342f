//! What reading alone takes: a sum over keys and values, head by head and 16 KiB of each in turn. Threads share it as they share decode:
//! each has heads that follow each other.

use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::{Float, FloatKernel, Isa, Real};
use std::hint::black_box;
use std::time::Instant;

/// Bytes of keys, then of values.
const TURN: usize = 16 << 10;

/// Seconds for all keys and values, on `threads` threads.
pub(crate) fn seconds<T: Storage>(keys: &[T], values: &[T], threads: usize) -> f64 {
    let (run, turn) = (keys.len().div_ceil(threads).max(1), TURN / size_of::<T>());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (keys, values) in keys.chunks(run).zip(values.chunks(run)) {
            scope.spawn(move || {
                for (keys, values) in keys.chunks(turn).zip(values.chunks(turn)) {
                    black_box([keys, values].map(|numbers| T::Real::dispatch(Isa::detected(), Sum(numbers))));
                }
            });
        }
    });
    start.elapsed().as_secs_f64()
}

/// The sum of all vectors that numbers fill.
struct Sum<'a, T>(&'a [T]);

impl<T: Storage> FloatKernel<T::Real> for Sum<'_, T> {
    type Output = T::Real;

    #[inline(always)]
    fn run<S: Float<T::Real>>(self, isa: S) -> T::Real {
        let mut sums = [isa.splat(T::Real::ZERO); 8];
        for chunk in self.0.chunks_exact(8 * S::LANES) {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = isa.add(*sum, T::load_first(isa, &chunk[i * S::LANES..][..S::LANES]));
            }
        }
        isa.sum(sums.into_iter().fold(isa.splat(T::Real::ZERO), |total, sum| isa.add(total, sum)))
    }
}
