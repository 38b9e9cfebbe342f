//! Samples of attention have the findings they were made to have.

use super::*;
use crate::explain::sample::{SAMPLES, Sample, SampleData};
use crate::explain::{FigureKind, Severity};
use spanwise_attention::Causal;

fn alarms(found: &Explanation) -> Vec<(&'static str, Severity)> {
    found.alarms().map(|finding| (finding.name, finding.severity)).collect()
}

fn explained(q: &[f64], k: &[f64], v: &[f64], shape: &[usize; 4], options: &Options<'_, f64>) -> Explanation {
    let view = |data| View::new(data, shape).unwrap();
    let input = AttentionInput {
        source: "sample",
        q: view(q),
        k: view(k),
        v: view(v),
        options: *options,
        command: "",
    };
    explain_attention(&input, &mut |_| ()).unwrap()
}

#[test]
fn each_sample_has_the_findings_it_was_made_to_have_and_no_other() {
    for sample in SAMPLES.into_iter().filter(Sample::is_attention) {
        let SampleData::Attention { shape, q, k, v } = sample.data() else { continue };
        let found = explained(&q, &k, &v, &shape, &Options::default());
        assert_eq!(alarms(&found), sample.findings, "{}: {:#?}", sample.name, found.findings);
        for finding in &found.findings {
            assert!(finding.figure.is_none_or(|id| found.figure(id).is_some()), "{finding:?}");
        }
        let names: Vec<_> = found.findings.iter().map(|finding| finding.name).collect();
        assert!(names.contains(&"outputs-in-hull") && names.contains(&"equivariance"), "{names:?}");
    }
}

#[test]
fn fifty_plain_normal_attentions_raise_no_alarm_with_and_without_a_causal_mask() {
    for seed in 0..50 {
        let mut random = crate::explain::random::Random::new(500 + seed);
        let shape = [1 + random.below(2), 1 + random.below(4), 16 + random.below(64), 4 + random.below(29)];
        let mut normals = || (0..shape.iter().product()).map(|_| random.normal()).collect::<Vec<f64>>();
        let (q, k, v) = (normals(), normals(), normals());
        for causal in [None, Some(Causal::Square)] {
            let found = explained(&q, &k, &v, &shape, &Options { causal, ..Options::default() });
            assert_eq!(alarms(&found), [], "seed {seed}, {shape:?}: {:#?}", found.findings);
            let Some(FigureKind::Entropy(entropy)) = found.figure("entropy").map(|figure| &figure.kind)
            else {
                panic!("no entropy")
            };
            assert!(entropy.values.iter().all(|&e| e > 0.5 && e <= 1.0), "{entropy:?}");
        }
    }
}

#[test]
fn one_query_one_key_and_no_rows_are_explained_too() {
    for shape in [[1, 1, 1, 1], [2, 1, 1, 3], [1, 1, 0, 2]] {
        let data = vec![0.5; shape.iter().product()];
        let found = explained(&data, &data, &data, &shape, &Options::default());
        assert!(!found.verdict.is_empty());
    }
}

#[test]
fn equal_heads_and_a_sink_are_found() {
    let mut random = crate::explain::random::Random::new(77);
    let one: Vec<f64> = (0..64 * 8).map(|_| random.normal()).collect();
    let mut k: Vec<f64> = (0..64 * 8).map(|_| 0.3 * random.normal()).collect();
    // Every query has a first coordinate of 2, and so has key 5, times many.
    let q: Vec<f64> = one.iter().enumerate().map(|(i, x)| if i % 8 == 0 { 2.0 } else { *x }).collect();
    k[5 * 8] = 9.0;
    let twice = |x: &[f64]| [x, x].concat();
    let found = explained(&twice(&q), &twice(&k), &twice(&one), &[1, 2, 64, 8], &Options::default());
    let names = alarms(&found);
    assert!(names.contains(&("attention-sink", Severity::Caution)), "{names:?}");
    assert!(names.contains(&("similar-heads", Severity::Caution)), "{names:?}");
}
