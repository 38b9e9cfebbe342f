//! Samples have the findings they were made to have, and well-behaved tables none.

use super::*;
use crate::explain::Severity;
use crate::explain::sample::{SAMPLES, SampleColumn, SampleData};

fn facts(target: &str, names: Vec<String>, rows: usize) -> FitFacts {
    FitFacts {
        target: target.to_owned(),
        names,
        weights: None,
        intercept: true,
        confidence: 0.95,
        encodings: Vec::new(),
        rows_read: rows as u64,
        rows_dropped: 0,
        values_filled: 0,
        streamed: false,
    }
}

/// Explains columns given by name, the target among them.
fn explained(columns: &[(&str, SampleColumn)], target: &str) -> Explanation {
    let numbers: Vec<(&str, &Vec<f64>)> = columns
        .iter()
        .filter(|(name, _)| *name != target)
        .filter_map(|(name, column)| match column {
            SampleColumn::Numbers(values) => Some((*name, values)),
            SampleColumn::Words(_) => None,
        })
        .collect();
    let n = numbers[0].1.len();
    let x = Matrix::from_fn(n, numbers.len(), |i, j| numbers[j].1[i]);
    let facts = facts(target, numbers.iter().map(|(name, _)| (*name).to_owned()).collect(), n);
    let labels: Vec<Label>;
    let y = match &columns.iter().find(|(name, _)| *name == target).unwrap().1 {
        SampleColumn::Numbers(values) => Values::Numbers(values),
        SampleColumn::Words(words) => {
            labels = words.iter().map(|word| Label((*word).to_owned())).collect();
            Values::Classes(&labels)
        }
    };
    let input = TableInput {
        source: "sample",
        x: x.view(),
        y,
        weights: None,
        index: None,
        facts: &facts,
        command: "",
    };
    explain_table(&input, &mut |_| ()).unwrap()
}

fn alarms(explanation: &Explanation) -> Vec<(&'static str, Severity)> {
    explanation.alarms().map(|finding| (finding.name, finding.severity)).collect()
}

#[test]
fn each_sample_has_the_findings_it_was_made_to_have_and_no_other() {
    for sample in SAMPLES.into_iter().filter(|sample| !sample.is_attention()) {
        let SampleData::Table { columns, target } = sample.data() else { continue };
        let found = explained(&columns, target);
        assert_eq!(alarms(&found), sample.findings, "{}: {:#?}", sample.name, found.findings);
        for finding in &found.findings {
            assert!(finding.figure.is_none_or(|id| found.figure(id).is_some()), "{finding:?}");
            assert!(!finding.name.is_empty(), "{finding:?}");
        }
    }
}

#[test]
fn well_behaved_tables_raise_no_alarm() {
    let mut alarmed = Vec::new();
    for seed in 0..200 {
        let mut random = Random::new(1000 + seed);
        let (n, d) = (40 + random.below(260), 2 + random.below(7));
        let mut columns: Vec<(String, Vec<f64>)> =
            (0..d).map(|j| (format!("x{j}"), (0..n).map(|_| random.normal()).collect())).collect();
        let weights: Vec<f64> = (0..d).map(|_| random.normal()).collect();
        let noise = random.between(0.1, 2.0);
        let y = (0..n)
            .map(|i| {
                columns.iter().zip(&weights).map(|(c, w)| w * c.1[i]).sum::<f64>() + noise * random.normal()
            })
            .collect();
        columns.push(("y".to_owned(), y));
        let columns: Vec<(&str, SampleColumn)> = columns
            .iter()
            .map(|(name, values)| (name.as_str(), SampleColumn::Numbers(values.clone())))
            .collect();
        let found = explained(&columns, "y");
        if found.alarms().next().is_some() {
            alarmed.push((seed, alarms(&found)));
        }
    }
    assert!(alarmed.len() <= 10, "{alarmed:?}");
}

#[test]
fn a_quadratic_truth_is_reached_within_a_fiftieth_of_its_ceiling_on_rows_left_out() {
    let sample = crate::explain::sample::sample("quadratic").unwrap();
    let SampleData::Table { columns, target } = sample.data() else { panic!("a table") };
    let found = explained(&columns, target);
    let finding = found.findings.iter().find(|finding| finding.name == "structure-beyond-span").unwrap();
    assert!(finding.sentence.contains("`dose²`"), "{}", finding.sentence);
    let evidence = |name: &str| finding.evidence.iter().find(|e| e.name == name).unwrap().value;
    let SampleColumn::Numbers(y) = &columns.iter().find(|(name, _)| *name == target).unwrap().1 else {
        panic!()
    };
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64;
    let ceiling = 1.0 - 1.5 * 1.5 / variance;
    assert!(evidence("held-out R² of the columns") < 0.3);
    assert!((evidence("held-out R² with the terms") - ceiling).abs() < 0.02, "{ceiling} {finding:?}");
}

#[test]
fn columns_of_every_odd_kind_are_named() {
    let mut random = Random::new(9);
    let mut normals = |n: usize| (0..n).map(|_| random.normal()).collect::<Vec<f64>>();
    let (a, b, y) = (normals(50), normals(50), normals(50));
    let columns = [
        ("a", SampleColumn::Numbers(a.clone())),
        ("again", SampleColumn::Numbers(a.clone())),
        ("five", SampleColumn::Numbers(vec![5.0; 50])),
        ("b", SampleColumn::Numbers(b)),
        ("y", SampleColumn::Numbers(y)),
    ];
    let found = alarms(&explained(&columns, "y"));
    assert_eq!(found, [("duplicated-column", Severity::Serious), ("constant-column", Severity::Caution)]);
}

#[test]
fn constant_targets_exact_targets_and_few_rows_are_said() {
    let column =
        |f: &dyn Fn(f64) -> f64, n: u32| SampleColumn::Numbers((0..n).map(|i| f(f64::from(i))).collect());
    let wave = |x: f64| (x * 1.7).sin();
    let flat = explained(&[("x", column(&wave, 30)), ("y", column(&|_| 2.0, 30))], "y");
    assert_eq!(alarms(&flat), [("constant-target", Severity::Serious)]);
    let exact = explained(&[("x", column(&wave, 30)), ("y", column(&|x| 2.0 * wave(x) + 1.0, 30))], "y");
    assert_eq!(alarms(&exact), [("target-in-span", Severity::Caution)]);
    let few = explained(&[("x", column(&wave, 2)), ("y", column(&|x| x, 2))], "y");
    assert_eq!(alarms(&few), [("no-freedom", Severity::Serious)]);
}
