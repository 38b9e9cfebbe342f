//! Every operation, on every instruction set of this machine, against plain arithmetic.

use super::{Isa, IsaError, Kernel, Simd, dispatch};

/// Numbers with nothing in common but that their products need more than 53 bits.
fn numbers(seed: usize, count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729 + 13) % 1_000_003) as f64 / 999_983.0 - 0.5).collect()
}

/// What each operation gave, lane by lane.
struct Operations<'a> {
    a: &'a [f64],
    b: &'a [f64],
    c: &'a [f64],
}

#[derive(Debug)]
struct Given {
    lanes: usize,
    add: Vec<f64>,
    sub: Vec<f64>,
    mul: Vec<f64>,
    fast: Vec<f64>,
    negative: Vec<f64>,
    fused: Vec<f64>,
    fused_sub: Vec<f64>,
    sum: f64,
    first: Vec<Vec<f64>>,
    stored_first: Vec<Vec<f64>>,
    transposed: Vec<f64>,
}

impl Kernel for Operations<'_> {
    type Output = Given;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Given {
        let lanes = S::LANES;
        let out = |v: S::Vector| {
            let mut to = vec![f64::NAN; lanes];
            isa.store(v, &mut to);
            to
        };
        let (a, b, c) = (isa.load(self.a), isa.load(self.b), isa.load(self.c));
        let mut square = isa.square(isa.zero());
        for (i, row) in square.as_mut().iter_mut().enumerate() {
            *row = isa.load(&self.a[i * lanes..]);
        }
        Given {
            lanes,
            add: out(isa.add(a, b)),
            sub: out(isa.sub(a, b)),
            mul: out(isa.mul(a, b)),
            fast: out(isa.mul_add(a, b, c)),
            negative: out(isa.neg_mul_add(a, b, c)),
            fused: out(isa.fused_mul_add(a, b, c)),
            fused_sub: out(isa.fused_mul_sub(a, b, c)),
            sum: isa.sum(a),
            first: (0..=lanes).map(|k| out(isa.load_first(&self.a[..k]))).collect(),
            stored_first: (0..=lanes)
                .map(|k| {
                    let mut to = vec![-7.0; lanes];
                    isa.store_first(a, &mut to[..k]);
                    to
                })
                .collect(),
            transposed: isa.transpose(square).as_ref().iter().flat_map(|&v| out(v)).collect(),
        }
    }
}

#[test]
fn every_operation_agrees_with_plain_arithmetic_on_every_instruction_set() {
    let (a, b, c) = (numbers(1, 64), numbers(2, 8), numbers(3, 8));
    for isa in Isa::available() {
        let given = dispatch(isa, Operations { a: &a, b: &b, c: &c });
        let n = given.lanes;
        for i in 0..n {
            assert_eq!(given.add[i], a[i] + b[i], "{isa}");
            assert_eq!(given.sub[i], a[i] - b[i], "{isa}");
            assert_eq!(given.mul[i], a[i] * b[i], "{isa}");
            let exact = a[i].mul_add(b[i], c[i]);
            assert_eq!(given.fused[i], exact, "{isa}");
            assert!((given.fast[i] - exact).abs() <= 1e-16, "{isa}");
            assert!((given.negative[i] - (c[i] - a[i] * b[i])).abs() <= 1e-16, "{isa}");
            assert_eq!(given.fused_sub[i], a[i].mul_add(b[i], -c[i]), "{isa}");
            for j in 0..n {
                assert_eq!(given.transposed[i * n + j], a[j * n + i], "{isa}: ({i}, {j})");
            }
        }
        assert!((given.sum - a[..n].iter().sum::<f64>()).abs() <= 1e-15, "{isa}");
        for k in 0..=n {
            for i in 0..n {
                assert_eq!(given.first[k][i], if i < k { a[i] } else { 0.0 }, "{isa}: {k} numbers");
                assert_eq!(given.stored_first[k][i], if i < k { a[i] } else { -7.0 }, "{isa}: {k} numbers");
            }
        }
    }
}

#[test]
fn a_name_that_is_unknown_or_unavailable_is_an_error_that_says_what_there_is() {
    let error = Isa::asked("sse9").unwrap_err();
    assert_eq!(
        error.to_string(),
        "SPANWISE_ISA is `sse9`; expected one of scalar, scalar-bf16, scalar-amx, scalar-amx-f16, neon, avx2, avx512, avx512-bf16, amx, amx-f16"
    );
    assert_eq!(Isa::asked("scalar"), Ok(Isa::Scalar));
    let missing = Isa::ALL.into_iter().find(|isa| !isa.is_available());
    if let Some(missing) = missing {
        let error = Isa::asked(missing.name()).unwrap_err();
        assert!(matches!(error, IsaError::Unavailable { .. }));
        assert!(error.to_string().contains("it has scalar"), "{error}");
    }
}

#[test]
fn asking_for_more_than_the_machine_has_still_computes() {
    let (a, b, c) = (numbers(4, 64), numbers(5, 8), numbers(6, 8));
    for isa in Isa::ALL {
        let given = dispatch(isa, Operations { a: &a, b: &b, c: &c });
        assert_eq!(given.add[0], a[0] + b[0], "{isa}");
    }
}
