//! What the machine can do at most: multiply-adds a second, and bytes read a second.

use rayon::prelude::*;
use spanwise_kernels::simd::{Isa, Kernel, Simd, dispatch};
use std::hint::black_box;
use std::time::Instant;

/// Independent chains of multiply-adds that never leave the registers.
struct MultiplyAdds {
    rounds: usize,
}

impl Kernel for MultiplyAdds {
    /// Multiply-adds done.
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> f64 {
        let (a, b) = (isa.splat(black_box(0.999_999)), isa.splat(black_box(1e-9)));
        let mut sums = [isa.splat(1.0); 12];
        for _ in 0..self.rounds {
            for sum in &mut sums {
                *sum = isa.mul_add(*sum, a, b);
            }
        }
        let total = sums.iter().fold(isa.zero(), |total, &v| isa.add(total, v));
        black_box(isa.sum(total));
        (self.rounds * 12 * S::LANES) as f64
    }
}

/// GFLOP a second of all threads together (a multiply-add is two), the best of five.
pub(crate) fn peak() -> f64 {
    (0..5)
        .map(|_| {
            let start = Instant::now();
            let done = multiply_adds();
            2.0 * done / start.elapsed().as_secs_f64() / 1e9
        })
        .fold(0.0, f64::max)
}

/// Does many multiply-adds on every thread, and says how many.
pub(crate) fn multiply_adds() -> f64 {
    (0..rayon::current_num_threads())
        .into_par_iter()
        .map(|_| dispatch(Isa::detected(), MultiplyAdds { rounds: 4_000_000 }))
        .sum()
}

/// Milliseconds that the threads of this process have run so far, together; 0 where the system does not say.
pub(crate) fn cpu_time() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    threads
        .filter_map(|thread| {
            let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<f64>().ok()
        })
        .sum::<f64>()
        / 1e6
}

struct Sum<'a>(&'a [f64]);

impl Kernel for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> f64 {
        let mut sums = [isa.zero(); 8];
        for chunk in self.0.chunks_exact(8 * S::LANES) {
            for (q, sum) in sums.iter_mut().enumerate() {
                *sum = isa.add(*sum, isa.load(&chunk[q * S::LANES..]));
            }
        }
        isa.sum(sums.iter().fold(isa.zero(), |total, &v| isa.add(total, v)))
    }
}

/// Reads every number once, with all threads.
pub(crate) fn read_all(data: &[f64]) -> f64 {
    data.par_chunks(1 << 17).map(|chunk| dispatch(Isa::detected(), Sum(chunk))).sum()
}
