//! Every operation on f32 lanes, and those that softmax adds, against plain arithmetic.

#![allow(clippy::needless_range_loop, reason = "lanes are counted")]

use super::{Float, FloatKernel, Real};
use crate::simd::Isa;
use crate::{bf16, f16};

const BF16: [bf16; 32] = {
    let mut all = [bf16::ZERO; 32];
    let mut i = 0;
    while i < 32 {
        all[i] = bf16::from_bits(0x3f80 + 0x0123 * i as u16);
        i += 1;
    }
    all
};
const F16: [f16; 16] = {
    let mut all = [f16::ZERO; 16];
    let mut i = 0;
    while i < 16 {
        // From the smallest number there is to some thousand.
        all[i] = f16::from_bits(1 + 0x0711 * i as u16);
        i += 1;
    }
    all
};

/// Which lanes are chosen.
const BITS: u32 = 0b1011_0010_0110_1101;

/// What each operation gave, lane by lane.
struct Given {
    lanes: usize,
    max: Vec<f64>,
    min: Vec<f64>,
    quotient: Vec<f64>,
    chosen: Vec<f64>,
    set: Vec<f64>,
    rounded: Vec<f64>,
    floor: Vec<f64>,
    scaled: Vec<f64>,
    split: [Vec<f64>; 2],
    nothing: Vec<f64>,
    halves: [Vec<f64>; 2],
    first_halves: Vec<[Vec<f64>; 2]>,
    two_vectors: Vec<f64>,
    fused: Vec<f64>,
    negative: Vec<f64>,
    sum: f64,
    greater: u32,
    first: Vec<Vec<f64>>,
    stored: Vec<Vec<f64>>,
    transposed: Vec<f64>,
    row_sums: Vec<f64>,
}

struct Operations<'a, A> {
    a: &'a [A],
    b: &'a [A],
}

impl<A: Real> FloatKernel<A> for Operations<'_, A> {
    type Output = Given;

    #[inline(always)]
    fn run<S: Float<A>>(self, isa: S) -> Given {
        let lanes = S::LANES;
        let out = |v: S::Vector| {
            let mut to = vec![A::from_f64(-7.0); lanes];
            isa.store(v, &mut to);
            to.iter().map(|x| x.to_f64()).collect::<Vec<f64>>()
        };
        let (a, b) = (isa.load(self.a), isa.load(self.b));
        let number = |x: f64| isa.splat(A::from_f64(x));
        let mut square = isa.square(a);
        for (i, row) in square.as_mut().iter_mut().enumerate() {
            *row = isa.load(&self.a[i * lanes..]);
        }
        Given {
            lanes,
            max: out(isa.max(a, b)),
            min: out(isa.min(a, b)),
            quotient: out(isa.div(a, b)),
            chosen: out(isa.where_greater(a, b, number(1.0), number(2.0))),
            set: out(isa.where_set(BITS, number(1.0), number(2.0))),
            rounded: out(isa.round(isa.mul(a, number(10.0)))),
            floor: out(isa.floor(isa.mul(a, number(10.0)))),
            scaled: out(isa.scale(number(1.25), isa.round(isa.mul(a, number(10.0))))),
            split: {
                let (n, r) = isa.split(isa.mul(a, number(10.0)));
                [out(isa.scale(number(1.25), n)), out(r)]
            },
            nothing: {
                let (n, r) = isa.split(number(f64::NEG_INFINITY));
                out(isa.scale(isa.add(r, number(1.0)), n))
            },
            // SAFETY: both lists hold as many numbers as the widest vector, the first twice as many.
            halves: unsafe { [out(isa.load_bf16_at(BF16.as_ptr())), out(isa.load_f16_at(F16.as_ptr()))] },
            first_halves: (0..=lanes)
                .map(|k| [out(isa.load_first_bf16(&BF16[..k])), out(isa.load_first_f16(&F16[..k]))])
                .collect(),
            two_vectors: {
                // SAFETY: the same.
                let two = unsafe { isa.load_two_bf16_at(BF16.as_ptr()) }.map(out);
                let place = |at: usize| {
                    if S::BF16_IN_HALVES { (at % 2, at / 2) } else { (at / lanes, at % lanes) }
                };
                let in_order = |at: usize| two[place(at).0][place(at).1];
                (0..2 * lanes).map(in_order).collect()
            },
            fused: out(isa.fused_mul_sub(a, b, isa.fused_mul_add(a, b, a))),
            negative: out(isa.neg_mul_add(a, b, isa.sub(isa.add(a, b), isa.mul_add(a, b, a)))),
            sum: isa.sum(a).to_f64(),
            greater: isa.greater(a, b),
            first: (0..=lanes).map(|k| out(isa.load_first(&self.a[..k]))).collect(),
            stored: (0..=lanes)
                .map(|k| {
                    let mut to = vec![A::from_f64(-7.0); lanes];
                    isa.store_first(a, &mut to[..k]);
                    to.iter().map(|x| x.to_f64()).collect()
                })
                .collect(),
            transposed: isa.transpose(square).as_ref().iter().flat_map(|&v| out(v)).collect(),
            row_sums: out(isa.row_sums(square)),
        }
    }
}

fn operations_agree<A: Real>() {
    let number = |i: usize| A::from_f64((i * 7919 % 1009) as f64 / 1008.0 - 0.5);
    let a: Vec<A> = (0..256).map(number).collect();
    let b: Vec<A> = (0..16).map(|i| number(i * 5 + 3)).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = (to_f64(&a), to_f64(&b));
    for isa in Isa::available() {
        let given = A::dispatch(isa, Operations { a: &a, b: &b });
        let n = given.lanes;
        for i in 0..n {
            assert_eq!(given.max[i], x[i].max(y[i]), "{isa}");
            assert_eq!(given.min[i], x[i].min(y[i]), "{isa}");
            assert_eq!(given.quotient[i], A::from_f64(x[i] / y[i]).to_f64(), "{isa}");
            assert_eq!(given.chosen[i], if x[i] > y[i] { 1.0 } else { 2.0 }, "{isa}");
            assert_eq!(given.set[i], if BITS >> i & 1 == 1 { 1.0 } else { 2.0 }, "{isa}");
            let round = (A::from_f64(x[i] * 10.0)).to_f64().round_ties_even();
            assert_eq!(given.rounded[i], round, "{isa}");
            assert_eq!(given.scaled[i], 1.25 * round.exp2(), "{isa}");
            let ten = A::from_f64(x[i] * 10.0).to_f64();
            let below = ten.floor();
            assert_eq!(given.floor[i], below, "{isa}");
            assert_eq!(given.split[0][i], 1.25 * below.exp2(), "{isa}");
            // Between −½ and 0 there is no room for all of it.
            let epsilon = if size_of::<A>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            assert!((given.split[1][i] - (ten - below)).abs() <= epsilon / 2.0, "{isa}");
            assert_eq!(given.nothing[i], 0.0, "{isa}: 2^−∞");
            for (k, [bf16s, f16s]) in given.first_halves.iter().enumerate() {
                assert_eq!(bf16s[i], if i < k { BF16[i].to_f64() } else { 0.0 }, "{isa}");
                assert_eq!(f16s[i], if i < k { F16[i].to_f64() } else { 0.0 }, "{isa}");
            }
            assert_eq!(given.halves[0][i], BF16[i].to_f64(), "{isa}");
            assert_eq!(given.halves[1][i], F16[i].to_f64(), "{isa}");
            assert_eq!(given.two_vectors[i], BF16[i].to_f64(), "{isa}");
            assert_eq!(given.two_vectors[n + i], BF16[n + i].to_f64(), "{isa}");
            assert!((given.fused[i] + x[i]).abs() < 1e-7, "{isa}");
            let expected = (x[i] + y[i] - (x[i] * y[i] + x[i])) - x[i] * y[i];
            assert!((given.negative[i] - expected).abs() < 1e-6, "{isa}");
            for j in 0..n {
                assert_eq!(given.transposed[i * n + j], x[j * n + i], "{isa}: ({i}, {j})");
            }
            let (sum, size) =
                x[i * n..][..n].iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            assert!((given.row_sums[i] - sum).abs() < 1e-6 * size, "{isa}: row {i}");
        }
        assert!((given.sum - x[..n].iter().sum::<f64>()).abs() < 1e-6, "{isa}");
        let greater: u32 = (0..n).map(|i| u32::from(x[i] > y[i]) << i).sum();
        assert_eq!(given.greater, greater, "{isa}");
        for k in 0..=n {
            for i in 0..n {
                assert_eq!(given.first[k][i], if i < k { x[i] } else { 0.0 }, "{isa}: {k} numbers");
                assert_eq!(given.stored[k][i], if i < k { x[i] } else { -7.0 }, "{isa}: {k} numbers");
            }
        }
    }
}

fn to_f64<A: Real>(numbers: &[A]) -> Vec<f64> {
    numbers.iter().map(|x| x.to_f64()).collect()
}

#[test]
fn every_operation_agrees_with_plain_arithmetic_in_f32() {
    operations_agree::<f32>();
}

#[test]
fn every_operation_agrees_with_plain_arithmetic_in_f64() {
    operations_agree::<f64>();
}
