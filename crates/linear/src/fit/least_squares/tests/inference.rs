//! Standard errors, tests, intervals and influence against another program's figures.

use crate::fit::least_squares::LeastSquares;
use crate::{Extent, LinearError};
use spanwise_kernels::{Matrix, View};

const X: [f64; 16] = [1.0, 2.0, 2.0, 1.0, 3.0, 5.0, 4.0, 3.0, 5.0, 8.0, 6.0, 2.0, 7.0, 9.0, 8.0, 4.0];
const Y: [f64; 8] = [1.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0, 9.0];
const WEIGHTS: [f64; 8] = [1.0, 2.0, 1.0, 0.5, 1.0, 3.0, 1.0, 2.0];

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-11 * expected.abs(), "{found} {expected}");
}

#[test]
fn ordinary_fits_have_the_standard_statistics() {
    let x = View::new(&X, &[8, 2]).unwrap();
    let model = LeastSquares::new().fit(&x, &Y[..]).unwrap();
    let (b, [w0, w1]) =
        (model.target().intercept.unwrap(), model.target().coefficients[..].try_into().unwrap());
    for (c, value, error, p) in [
        (b, 0.654_215_581_643_544_1, 0.311_455_374_079_858_6, 0.089_695_017_370_500_15),
        (w0, 1.232_657_417_289_221_3, 0.068_183_760_481_308_39, 9.514_015_159_854_321e-6),
        (w1, -0.370_864_461_045_891_55, 0.057_285_817_113_667_33, 0.001_310_359_664_968_931_8),
    ] {
        close(c.value, value);
        close(c.standard_error, error);
        close(model.p_value(&c), p);
    }
    let interval = model.confidence_interval(&w0, 0.95).unwrap();
    close(interval.lower, 1.057_385_481_110_592_7);
    close(interval.upper, 1.407_929_353_467_849_9);
    let s = model.statistics(0).unwrap();
    close(s.residual_deviation, 0.382_654_883_507_23);
    close(s.r_squared, 0.985_320_826_078_001_9);
    close(s.adjusted_r_squared, 0.979_449_156_509_202_6);
    close(s.f, 167.809_311_224_489_73);
    close(s.f_p_value, 2.610_682_393_640_812e-5);
    close(s.log_likelihood, -1.786_519_480_867_891_5);
    close(s.aic, 9.573_038_961_735_783);
    close(s.bic, 9.811_363_586_775_29);
    assert!(model.statistics(1).is_none());
}

#[test]
fn weighted_fits_have_the_standard_statistics() {
    let x = View::new(&X, &[8, 2]).unwrap();
    let model = LeastSquares::new().fit_weighted(&x, &Y[..], &WEIGHTS).unwrap();
    close(model.target().coefficients[0].value, 1.204_851_485_148_515_5);
    close(model.target().coefficients[1].standard_error, 0.049_512_483_475_272_345);
    close(model.target().intercept.unwrap().value, 0.671_221_122_112_209_7);
    let s = model.statistics(0).unwrap();
    close(s.r_squared, 0.990_216_401_851_413_6);
    close(s.f, 253.029_710_238_682_98);
    close(s.log_likelihood, -1.067_638_621_414_093_6);
    close(s.aic, 8.135_277_242_828_188);
    // Leverages of the fitted rows add up to the rank.
    let leverage = model.leverage(&x, Some(&WEIGHTS)).unwrap();
    close(leverage.iter().sum(), 3.0);
}

#[test]
fn influence_is_that_of_leaving_rows_out() {
    let x = View::new(&X, &[8, 2]).unwrap();
    let model = LeastSquares::new().fit(&x, &Y[..]).unwrap();
    let influence = model.influence(&x, &Y[..], None, 0).unwrap();
    close(influence.leverage[0], 0.417_289_220_917_822_56);
    close(influence.leverage[7], 0.538_687_299_893_276_5);
    close(influence.studentised[2], -1.491_522_562_779_770_6);
    close(influence.externally_studentised[3], 1.802_623_082_906_964_3);
    close(influence.cooks_distance[5], 0.240_548_710_271_905_22);
    let fitted = model.predict(&x).unwrap();
    for i in 0..8 {
        assert!((influence.residuals[i] - (Y[i] - fitted[(i, 0)])).abs() < 1e-14);
    }
}

#[test]
fn intervals_of_predictions_hold_mean_and_observation() {
    let x = View::new(&X, &[8, 2]).unwrap();
    let model = LeastSquares::new().fit(&x, &Y[..]).unwrap();
    let new = View::new(&[2.5, 3.0, 9.0, 1.0], &[2, 2]).unwrap();
    let mean = model.mean_intervals(&new, 0, 0.9).unwrap();
    close(mean[0].lower, 2.261_341_863_820_495_4);
    close(mean[1].upper, 12.287_937_257_483_565);
    let single = model.prediction_intervals(&new, 0, 0.9).unwrap();
    close(single[0].upper, 3.475_049_111_547_926_7);
    close(single[1].lower, 10.184_009_841_362_345);
    assert!(matches!(
        model.mean_intervals(&new, 0, 1.0),
        Err(LinearError::OutOfRange { argument: "confidence", .. })
    ));
    assert!(matches!(model.mean_intervals(&new, 1, 0.9), Err(LinearError::OutOfRange { .. })));
}

#[test]
fn arguments_of_another_shape_are_refused() {
    let x = View::new(&X, &[8, 2]).unwrap();
    let model = LeastSquares::new().fit(&x, &Y[..]).unwrap();
    let narrow = Matrix::zeros(3, 1);
    assert!(matches!(
        model.predict(&narrow.view()),
        Err(LinearError::Mismatch { found: Extent::Columns(1), expected: Extent::Columns(2), .. })
    ));
    assert!(matches!(
        model.influence(&x, &Y[..7], None, 0),
        Err(LinearError::Mismatch { argument: "y", .. })
    ));
    assert!(matches!(model.influence(&x, &Y[..], None, 1), Err(LinearError::OutOfRange { .. })));
    let spoiled = Matrix::from_fn(2, 2, |_, _| f64::NAN);
    assert!(matches!(model.predict(&spoiled.view()), Err(LinearError::NotFinite { .. })));
    assert_eq!(model.predict(&Matrix::zeros(0, 2).view()).unwrap().rows(), 0);
}
