//! NIST's certified sets: digits of the worst coefficient and of the worst standard error.

use super::nist_data::{FILIP, LONGLEY, NORRIS, PONTIUS, WAMPLER_NOISE};
use crate::fit::least_squares::{Coefficient, LeastSquares, LinearFit};
use spanwise_kernels::Matrix;

/// Decimal digits that `found` and `certified` share.
fn digits(found: f64, certified: f64) -> f64 {
    if found == certified {
        return 16.0;
    }
    let error = if certified == 0.0 { found.abs() } else { ((found - certified) / certified).abs() };
    -error.log10()
}

struct Certified {
    name: &'static str,
    x: Matrix,
    y: Vec<f64>,
    /// The intercept first, where there is one.
    coefficients: Vec<f64>,
    standard_errors: Vec<f64>,
}

fn terms(model: &LinearFit) -> Vec<Coefficient> {
    let target = model.target();
    target.intercept.into_iter().chain(target.coefficients.iter().copied()).collect()
}

/// Checks both figures against `least`, and that no more digits are claimed than there are.
fn check(set: &Certified, least: f64) -> LinearFit {
    let name = set.name;
    let intercept = set.coefficients.len() > set.x.cols();
    let model = LeastSquares::new().intercept(intercept).fit(&set.x.view(), &set.y[..]).unwrap();
    for (j, c) in terms(&model).iter().enumerate() {
        let had = digits(c.value, set.coefficients[j]);
        assert!(had >= least, "{name}: coefficient {j} has {had:.2} digits");
        assert!(c.digits() <= had, "{name}: coefficient {j} claims {} of {had:.2}", c.digits());
        let certified = set.standard_errors[j];
        if certified == 0.0 {
            // An exact polynomial: what is left is the rounding of the data.
            assert!(c.standard_error <= 1e-13 * c.value.abs().max(1e-3), "{name}: {}", c.standard_error);
        } else {
            let had = digits(c.standard_error, certified);
            assert!(had >= least, "{name}: standard error {j} has {had:.2} digits");
        }
    }
    model
}

fn powers(x: impl IntoIterator<Item = f64>, degree: i32) -> Matrix {
    let x: Vec<f64> = x.into_iter().collect();
    Matrix::from_fn(x.len(), degree as usize, |i, j| x[i].powi(j as i32 + 1))
}

fn wampler(name: &'static str, ratio: f64, noise: f64) -> Certified {
    let x: Vec<f64> = (0..21).map(f64::from).collect();
    // Certified for noise 1; the standard errors grow with it.
    let deviations = [
        2_152.326_246_781_70,
        2_363.551_734_696_81,
        779.343_524_331_583,
        101.475_507_550_350,
        5.645_665_121_707_52,
        0.112_324_854_679_312,
    ];
    let y = |x: f64| (0..6).map(|k| (x * ratio).powi(k)).sum::<f64>();
    // The sums of Wampler2 are decimals with five places: form them so that each is the nearest f64.
    let rounded = |y: f64| if ratio == 1.0 { y } else { (y * 1e5).round() / 1e5 };
    Certified {
        name,
        y: x.iter().zip(WAMPLER_NOISE).map(|(&x, e)| rounded(y(x)) + noise * e).collect(),
        x: powers(x, 5),
        coefficients: (0..6)
            .map(|k| if ratio == 1.0 { 1.0 } else { [1.0, 0.1, 0.01, 0.001, 1e-4, 1e-5][k] })
            .collect(),
        standard_errors: deviations.iter().map(|d| d * noise).collect(),
    }
}

#[test]
fn wampler_1_to_5_have_all_the_digits_of_their_data() {
    check(&wampler("Wampler1", 1.0, 0.0), 14.0);
    check(&wampler("Wampler2", 0.1, 0.0), 13.0);
    check(&wampler("Wampler3", 1.0, 1.0), 14.0);
    check(&wampler("Wampler4", 1.0, 100.0), 14.0);
    check(&wampler("Wampler5", 1.0, 10_000.0), 14.0);
}

#[test]
fn longley_has_thirteen_digits() {
    let set = Certified {
        name: "Longley",
        x: Matrix::from_fn(16, 6, |i, j| LONGLEY[i][j + 1]),
        y: LONGLEY.iter().map(|row| row[0]).collect(),
        coefficients: vec![
            -3_482_258.634_595_82,
            15.061_872_271_373_3,
            -0.358_191_792_925_910e-1,
            -2.020_229_803_816_83,
            -1.033_226_867_173_59,
            -0.511_041_056_535_807e-1,
            1_829.151_464_613_55,
        ],
        standard_errors: vec![
            890_420.383_607_373,
            84.914_925_774_766_9,
            0.334_910_077_722_432e-1,
            0.488_399_681_651_699,
            0.214_274_163_161_675,
            0.226_073_200_069_370,
            455.478_499_142_212,
        ],
    };
    let model = check(&set, 13.0);
    let statistics = model.statistics(0).unwrap();
    assert!(digits(statistics.residual_deviation, 304.854_073_561_965) > 13.0);
    assert!(digits(statistics.r_squared, 0.995_479_004_577_296) > 13.0);
    assert!(digits(statistics.f, 330.285_339_234_588) > 12.0);
}

#[test]
fn norris_has_thirteen_digits() {
    let set = Certified {
        name: "Norris",
        x: Matrix::from_fn(36, 1, |i, _| NORRIS[i][1]),
        y: NORRIS.iter().map(|row| row[0]).collect(),
        coefficients: vec![-0.262_323_073_774_029, 1.002_116_818_020_45],
        standard_errors: vec![0.232_818_234_301_152, 0.429_796_848_199_937e-3],
    };
    let model = check(&set, 13.0);
    let statistics = model.statistics(0).unwrap();
    assert!(digits(statistics.residual_deviation, 0.884_796_396_144_373) > 13.0);
    assert!(digits(statistics.f, 5_436_385.540_797_85) > 12.0);
}

#[test]
fn pontius_has_thirteen_digits() {
    let set = Certified {
        name: "Pontius",
        x: powers((0..40).map(|i| 150_000.0 * f64::from(i % 20 + 1)), 2),
        y: PONTIUS.to_vec(),
        coefficients: vec![0.673_565_789_473_684e-3, 0.732_059_160_401_003e-6, -0.316_081_871_345_029e-14],
        standard_errors: vec![0.107_938_612_033_077e-3, 0.157_817_399_981_659e-9, 0.486_652_849_992_036e-16],
    };
    let model = check(&set, 13.0);
    let statistics = model.statistics(0).unwrap();
    assert!(digits(statistics.residual_deviation, 0.205_177_424_076_185e-3) > 13.0);
}

#[test]
fn lines_through_the_origin_have_fourteen_digits() {
    let line = |name, x: std::ops::Range<u32>, y: &[u32], coefficient, standard_error| Certified {
        name,
        x: powers(x.map(f64::from), 1),
        y: y.iter().copied().map(f64::from).collect(),
        coefficients: vec![coefficient],
        standard_errors: vec![standard_error],
    };
    let ys: Vec<u32> = (130..141).collect();
    check(&line("NoInt1", 60..71, &ys, 2.074_380_165_289_26, 0.165_289_256_198_347e-1), 14.0);
    check(&line("NoInt2", 4..7, &[3, 4, 4], 0.727_272_727_272_727, 0.420_827_318_078_432e-1), 14.0);
}

#[test]
fn filip_keeps_full_rank_and_what_rounding_the_powers_leaves() {
    // Powers of x rounded to f64 leave some eight digits, whoever computes.
    let set = Certified {
        name: "Filip",
        x: powers(FILIP.iter().map(|row| row[1]), 10),
        y: FILIP.iter().map(|row| row[0]).collect(),
        coefficients: vec![
            -1_467.489_614_229_80,
            -2_772.179_591_933_42,
            -2_316.371_081_608_93,
            -1_127.973_940_983_72,
            -354.478_233_703_349,
            -75.124_201_739_375_7,
            -10.875_318_035_534_3,
            -1.062_214_985_889_47,
            -0.670_191_154_593_408e-1,
            -0.246_781_078_275_479e-2,
            -0.402_962_525_080_404e-4,
        ],
        standard_errors: vec![
            298.084_530_995_537,
            559.779_865_474_950,
            466.477_572_127_796,
            227.204_274_477_751,
            71.647_866_087_592_7,
            15.289_717_874_740_0,
            2.236_911_598_160_33,
            0.221_624_321_934_227,
            0.142_363_763_154_724e-1,
            0.535_617_408_889_821e-3,
            0.896_632_837_373_868e-5,
        ],
    };
    let model = check(&set, 7.0);
    assert!(model.rank().is_full(), "{:?}", model.rank());
}
