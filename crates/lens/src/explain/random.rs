//! Pseudo-random numbers that are the same on every machine: samples of rows, and data made by formula.

use spanwise_linear::Seeded;

/// The library's generator, and what samples need of it.
#[derive(Clone, Debug)]
pub(crate) struct Random(Seeded);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(Seeded::new(seed))
    }

    /// Below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    /// Uniform on [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Uniform between two numbers.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Nearly standard normal: twelve uniform numbers added up, so that no library function decides the last bit. Never
    /// beyond ±6.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// `count` different rows of `n`, rising; all of them where there are no more.
    pub(crate) fn rows(&mut self, n: usize, count: usize) -> Vec<usize> {
        if count >= n {
            return (0..n).collect();
        }
        // One row out of each of `count` equal stretches.
        (0..count)
            .map(|i| {
                let (start, end) = (i * n / count, (i + 1) * n / count);
                start + self.below(end - start)
            })
            .collect()
    }

    /// `0..n` in random order.
    pub(crate) fn permutation(&mut self, n: usize) -> Vec<usize> {
        self.0.permutation(n)
    }
}
