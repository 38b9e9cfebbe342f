//! Literals from mpmath at 40 digits: `betainc`, `gammainc` (regularised) and `erfc`; quantiles by `findroot` on them.

use super::*;

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let error = (found - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
    assert!(error <= tolerance, "{what}: {found:e} against {expected:e}, relative error {error:e}");
}

#[test]
fn student_tails_have_fourteen_digits() {
    for (nu, t, upper) in [
        (1.0, 1.0, 0.25),
        (1.0, 1e8, 3.183_098_861_837_906_6e-09),
        (2.0, 3.5, 0.036_413_675_027_234_665),
        (3.5, 0.001, 0.499_628_227_735_933_4),
        (5.0, 2.5, 0.027_245_049_671_188_12),
        (10.0, 40.0, 1.140_428_871_542_877_4e-12),
        (30.0, 0.5, 0.310_361_502_442_563_66),
        (30.0, 8.0, 3.132_911_237_850_379_5e-09),
        (100.0, 1.98, 0.025_225_803_416_547_69),
        (1e6, 2.0, 0.022_750_266_925_659_603),
        (1e6, 6.0, 9.869_249_061_772_174e-10),
    ] {
        let student = StudentT::new(nu).unwrap();
        close(student.upper(t), upper, 1e-14, &format!("t({nu}) at {t}"));
        close(student.lower(-t), upper, 1e-14, &format!("t({nu}) at -{t}"));
        close(student.two_sided(-t), 2.0 * upper, 1e-14, "both sides");
    }
    // So many degrees that it is the normal distribution to twelve digits.
    let nearly_normal = StudentT::new(1e12).unwrap();
    close(nearly_normal.upper(2.0), Normal.upper(2.0), 1e-11, "t(1e12) at 2");
    close(nearly_normal.upper(0.01), Normal.upper(0.01), 1e-11, "t(1e12) at 0.01");
    let far = StudentT::new(1000.0).unwrap().upper(37.0);
    close(far, 8.650_394_404_956_531e-190, 2e-13, "t(1000) at 37");
}

#[test]
fn normal_tails_have_fourteen_digits() {
    for (x, upper) in [
        (0.0, 0.5),
        (0.1, 0.460_172_162_722_971),
        (1.0, 0.158_655_253_931_457_05),
        (1.96, 0.024_997_895_148_220_435),
        (5.0, 2.866_515_718_791_939e-07),
        (10.0, 7.619_853_024_160_525e-24),
        (20.0, 2.753_624_118_606_233_7e-89),
        (37.0, 5.725_571_222_524_577e-300),
    ] {
        close(Normal.upper(x), upper, 1e-14, &format!("normal at {x}"));
        close(Normal.lower(-x), upper, 1e-14, &format!("normal at -{x}"));
    }
}

#[test]
fn fisher_tails_have_fourteen_digits() {
    for (a, b, x, lower, upper) in [
        (1.0, 1.0, 1.0, 0.5, 0.5),
        (2.0, 10.0, 4.0, 0.947_077_850_598_655_3, 0.052_922_149_401_344_65),
        (3.0, 7.0, 0.01, 0.001_504_752_959_888_3, 0.998_495_247_040_111_7),
        (5.0, 100.0, 30.0, 1.0, 1.658_076_255_484_712e-18),
        (50.0, 50.0, 1.1, 0.631_273_722_768_982_5, 0.368_726_277_231_017_5),
        (1000.0, 2000.0, 1.3, 0.999_999_412_299_017_6, 5.877_009_823_632_722e-07),
        (0.5, 0.5, 2.0, 0.565_440_115_157_574_5, 0.434_559_884_842_425_47),
    ] {
        let fisher = FisherF::new(a, b).unwrap();
        close(fisher.lower(x), lower, 1e-14, &format!("F({a}, {b}) below {x}"));
        close(fisher.upper(x), upper, 2e-14, &format!("F({a}, {b}) above {x}"));
    }
}

#[test]
fn chi_squared_tails_have_fourteen_digits() {
    for (k, x, lower, upper) in [
        (1.0, 3.84, 0.949_956_478_751_294_9, 0.050_043_521_248_705_106),
        (1.0, 300.0, 1.0, 3.294_362_383_314_041e-67),
        (2.0, 2.0, 0.632_120_558_828_557_7, 0.367_879_441_171_442_33),
        (5.0, 0.1, 0.000_162_316_611_922_615_03, 0.999_837_683_388_077_4),
        (10.0, 18.3, 0.949_890_938_588_537_5, 0.050_109_061_411_462_45),
        (100.0, 40.0, 1.245_892_607_971_938e-08, 0.999_999_987_541_073_9),
        (100.0, 300.0, 1.0, 7.412_100_857_322_877e-22),
        (1e5, 1e5, 0.500_594_708_104_793_3, 0.499_405_291_895_206_7),
        (0.5, 0.01, 0.293_080_894_721_019_6, 0.706_919_105_278_980_4),
    ] {
        let chi = ChiSquared::new(k).unwrap();
        close(chi.lower(x), lower, 1e-14, &format!("chi²({k}) below {x}"));
        close(chi.upper(x), upper, 1e-14, &format!("chi²({k}) above {x}"));
    }
}

#[test]
fn quantiles_agree_with_known_values() {
    let student = |nu| StudentT::new(nu).unwrap();
    close(student(5.0).quantile(0.975).unwrap(), 2.570_581_835_636_315_5, 1e-14, "t(5)");
    close(student(5.0).quantile(0.025).unwrap(), -2.570_581_835_636_315_5, 1e-14, "t(5) low");
    close(student(1e6).upper_quantile(1e-10).unwrap(), 6.361_406_848_876_743, 1e-14, "t(1e6)");
    close(student(2.5).upper_quantile(1e-30).unwrap(), 876_543_788_227.999_1, 1e-13, "t(2.5)");
    let chi = ChiSquared::new(7.0).unwrap();
    close(chi.quantile(0.95).unwrap(), 14.067_140_449_340_169, 1e-14, "chi²(7)");
    close(chi.quantile(1e-6).unwrap(), 0.078_523_600_990_369_92, 1e-14, "chi²(7) low");
    let fisher = FisherF::new(3.0, 20.0).unwrap();
    close(fisher.upper_quantile(0.01).unwrap(), 4.938_193_382_310_539, 1e-14, "F(3, 20)");
    close(fisher.quantile(0.01).unwrap(), 0.037_467_510_268_430_77, 1e-14, "F(3, 20) low");
    close(Normal.upper_quantile(1e-100).unwrap(), 21.273_453_560_965_326, 1e-14, "normal");
    close(Normal.quantile(0.7).unwrap(), 0.524_400_512_708_040_8, 1e-14, "normal");
    assert_eq!(Normal.quantile(0.5).unwrap(), 0.0);
    assert_eq!(Normal.quantile(1.0).unwrap(), f64::INFINITY);
    assert_eq!(Normal.quantile(0.0).unwrap(), f64::NEG_INFINITY);
    assert_eq!(chi.quantile(0.0).unwrap(), 0.0);
}

#[test]
fn degrees_and_probabilities_out_of_range_are_refused_and_nan_stays_nan() {
    assert!(StudentT::new(0.0).is_err());
    assert!(FisherF::new(1.0, f64::NAN).is_err());
    assert!(ChiSquared::new(f64::INFINITY).is_err());
    let error = Normal.quantile(1.5).unwrap_err().to_string();
    assert_eq!(error, "distribution: `p` is 1.5; expected a probability from 0 to 1");
    assert!(Normal.upper(f64::NAN).is_nan());
    assert!(StudentT::new(3.0).unwrap().upper(f64::NAN).is_nan());
    assert!(FisherF::new(3.0, 2.0).unwrap().upper(f64::NAN).is_nan());
    assert_eq!(StudentT::new(3.0).unwrap().upper(f64::INFINITY), 0.0);
    // t^(−ν) beyond where t² overflows: P(|t| > 1e200) = 2e-200/π for one degree of freedom.
    let far = StudentT::new(1.0).unwrap().two_sided(1e200);
    close(far, 2e-200 / std::f64::consts::PI, 1e-13, "Cauchy far out");
}
