//! Pseudo-random numbers that are the same on every machine: folds, landmarks, sampled rows, data made by formula.

/// A generator by Steele, Lea and Flood (`SplitMix64`): a counter, well mixed.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// Numbers that follow from a seed.
    pub fn new(seed: u64) -> Self {
        Seeded(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`, which is at least 1. The bias of at most n / 2⁶⁴ is of no consequence here.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// `0..n` in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_names_every_index_once_and_depends_on_the_seed_alone() {
        let mut order = Seeded::new(3).permutation(100);
        assert_eq!(order, Seeded::new(3).permutation(100));
        assert_ne!(order, Seeded::new(4).permutation(100));
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn the_numbers_look_normal_and_repeat() {
        let draw = |seed| {
            let mut random = Seeded::new(seed);
            (0..10_000).map(|_| random.normal()).collect::<Vec<f64>>()
        };
        let numbers = draw(1);
        assert_eq!(numbers, draw(1));
        assert_ne!(numbers, draw(2));
        let mean = numbers.iter().sum::<f64>() / 1e4;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
