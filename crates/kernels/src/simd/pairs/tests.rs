//! Every operation on pairs against plain arithmetic, on everything that has them.

use super::{PairDots, PairKernel, dispatch_pairs};
use crate::bf16;
use crate::simd::Isa;

/// What each operation gave.
struct Given {
    lanes: usize,
    dots: Vec<f32>,
    splat: Vec<f32>,
    zipped: Vec<bf16>,
    zipped_two: [Vec<bf16>; 2],
    narrowed: Vec<bf16>,
    first: Vec<Vec<bf16>>,
    moved: Vec<bf16>,
}

struct Operations<'a> {
    a: &'a [bf16],
    b: &'a [bf16],
    sums: &'a [f32],
}

impl PairKernel for Operations<'_> {
    type Output = Given;

    #[inline(always)]
    fn run<S: PairDots>(self, isa: S) -> Given {
        let lanes = S::LANES;
        let numbers = |v: S::Vector| {
            let mut to = vec![0.0; lanes];
            isa.store(v, &mut to);
            to
        };
        let pairs = |p: S::Pairs| {
            let mut to = vec![bf16::ONE; 2 * lanes];
            isa.store_pairs(p, &mut to);
            to
        };
        let (a, b, sums) = (isa.load_pairs(self.a), isa.load_pairs(self.b), isa.load(self.sums));
        // SAFETY: the slice holds two numbers behind its first, which lie at an odd place.
        let one = unsafe { isa.splat_pair_at(self.a[1..3].as_ptr()) };
        // SAFETY: both slices hold two vectors.
        let zipped_two =
            unsafe { isa.zip_two_at(self.a[..2 * lanes].as_ptr(), self.b[..2 * lanes].as_ptr()) };
        Given {
            zipped_two: zipped_two.map(pairs),
            lanes,
            dots: numbers(isa.dot_pairs(a, b, sums)),
            splat: numbers(isa.dot_pairs(one, b, sums)),
            zipped: pairs(isa.zip_pairs(&self.a[..lanes], &self.b[..lanes - 1])),
            narrowed: pairs(isa.narrow_pairs(sums, isa.load(&self.sums[lanes..]))),
            first: (0..=2 * lanes).map(|k| pairs(isa.load_pairs(&self.a[..k]))).collect(),
            moved: pairs(isa.as_pairs(isa.as_vector(a))),
        }
    }
}

fn numbers(seed: usize, count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 1009) as f32 / 252.0 - 2.0).collect()
}

fn everywhere(a: &[bf16], b: &[bf16], sums: &[f32], check: impl Fn(Isa, Given)) {
    let mut some = false;
    for isa in Isa::available() {
        if let Ok(given) = dispatch_pairs(isa, Operations { a, b, sums }) {
            check(isa, given);
            some = true;
        }
    }
    assert!(some, "at least the emulation has pairs");
}

#[test]
fn pairs_are_multiplied_zipped_and_narrowed() {
    let halves = |seed| numbers(seed, 32).into_iter().map(bf16::from_f32).collect::<Vec<bf16>>();
    let (a, b, sums) = (halves(1), halves(2), numbers(3, 32));
    everywhere(&a, &b, &sums, |isa, given| {
        let n = given.lanes;
        for i in 0..n {
            let dot = |x: [bf16; 2]| {
                let second = x[1].to_f32().mul_add(b[2 * i + 1].to_f32(), sums[i]);
                x[0].to_f32().mul_add(b[2 * i].to_f32(), second)
            };
            assert_eq!(given.dots[i], dot([a[2 * i], a[2 * i + 1]]), "{isa}");
            assert_eq!(given.splat[i], dot([a[1], a[2]]), "{isa}");
            assert_eq!(given.zipped[2 * i], a[i], "{isa}");
            assert_eq!(given.zipped[2 * i + 1], if i + 1 < n { b[i] } else { bf16::ZERO }, "{isa}");
            for (half, zipped) in given.zipped_two.iter().enumerate() {
                assert_eq!(zipped[2 * i..2 * i + 2], [a[half * n + i], b[half * n + i]], "{isa}");
            }
            assert_eq!(given.narrowed[2 * i], bf16::from_f32(sums[i]), "{isa}");
            assert_eq!(given.narrowed[2 * i + 1], bf16::from_f32(sums[n + i]), "{isa}");
        }
        for k in 0..=2 * n {
            for i in 0..2 * n {
                assert_eq!(given.first[k][i], if i < k { a[i] } else { bf16::ZERO }, "{isa}: {k} numbers");
            }
        }
        assert_eq!(given.moved, a[..2 * n], "{isa}");
    });
}

#[test]
fn what_is_no_normal_number_counts_as_zero_and_what_is_not_finite_stays_so() {
    let tiny = bf16::from_bits(0x0040);
    let (one, infinite) = (bf16::ONE, bf16::INFINITY);
    let mut a = vec![one; 32];
    let mut b = vec![one; 32];
    // Lane 0: tiny·1 + 0·1. Lane 1: 1·∞. Lane 2: 0·∞. Lane 3: 2⁻⁷⁰·2⁻⁷⁰, too small for any sum.
    (a[0], a[1]) = (tiny, bf16::ZERO);
    (a[2], b[2]) = (one, infinite);
    (a[5], b[5]) = (bf16::ZERO, infinite);
    let small = bf16::from_f32(2f32.powi(-70));
    (a[6], b[6], a[7]) = (small, small, bf16::ZERO);
    everywhere(&a, &b, &[0.0; 32], |isa, given| {
        assert_eq!(given.dots[0], 0.0, "{isa}");
        assert_eq!(given.dots[1], f32::INFINITY, "{isa}");
        assert!(given.dots[2].is_nan(), "{isa}");
        assert_eq!(given.dots[3], 0.0, "{isa}");
    });
}
