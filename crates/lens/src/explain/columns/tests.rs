//! Samples have the findings they were made to have, and well-behaved tables none.

use super::*;
use crate::explain::sample::{SAMPLES, SampleColumn, SampleData};
use crate::explain::{FigureKind, Severity};
use rayon::prelude::*;

fn facts(target: &str, names: Vec<String>, rows: usize) -> FitFacts {
    FitFacts { names, ..FitFacts::new(target, &[], rows) }
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

/// Truly normal, tails and all: those of [`Random::normal`] end too early to raise false alarms.
fn normal(random: &mut Random) -> f64 {
    let (radius, angle) = ((1.0 - random.uniform()).ln(), std::f64::consts::TAU * random.uniform());
    (-2.0 * radius).sqrt() * angle.cos()
}

/// Normal columns of any size and place, linear truth, normal noise.
fn well_behaved(seed: u64) -> Explanation {
    let mut random = Random::new(1000 + seed);
    // 30 to 2000 rows, as many tables below 250 as above.
    let n = random.between(30_f64.ln(), 2001_f64.ln()).exp() as usize;
    let d = 1 + random.below(12);
    let mut columns: Vec<(String, Vec<f64>)> = (0..d)
        .map(|j| {
            let (middle, size) = (random.between(-20.0, 20.0), random.between(-2.0, 3.0).exp());
            (format!("x{j}"), (0..n).map(|_| middle + size * normal(&mut random)).collect())
        })
        .collect();
    let weights: Vec<f64> = (0..d).map(|_| normal(&mut random)).collect();
    let noise = random.between(-3.0, 2.0).exp();
    let truth = |i: usize| columns.iter().zip(&weights).map(|(c, w)| w * c.1[i]).sum::<f64>();
    let y = (0..n).map(|i| truth(i) + noise * normal(&mut random)).collect();
    columns.push(("y".to_owned(), y));
    let columns: Vec<(&str, SampleColumn)> =
        columns.iter().map(|(name, values)| (name.as_str(), SampleColumn::Numbers(values.clone()))).collect();
    explained(&columns, "y")
}

#[test]
fn of_two_hundred_well_behaved_tables_at_least_a_hundred_and_ninety_raise_no_alarm() {
    let found: Vec<(u64, Explanation)> =
        (0..200).into_par_iter().map(|seed| (seed, well_behaved(seed))).collect();
    let alarmed: Vec<_> = found
        .iter()
        .filter(|(_, e)| e.alarms().next().is_some())
        .map(|(seed, e)| (seed, alarms(e)))
        .collect();
    println!("{} of {} raise an alarm: {alarmed:?}", alarmed.len(), found.len());
    assert!(alarmed.len() <= 10, "{alarmed:?}");
}

/// What a finding of structure says of rows left out: the columns alone, and with the terms.
fn held_out(found: &Explanation) -> (f64, f64, String) {
    let finding = found.findings.iter().find(|finding| finding.name == "structure-beyond-span").unwrap();
    let evidence = |name: &str| finding.evidence.iter().find(|e| e.name == name).unwrap().value;
    (evidence("held-out R² of the columns"), evidence("held-out R² with the terms"), finding.sentence.clone())
}

#[test]
fn quadratic_and_interaction_truths_are_reached_within_a_fiftieth_of_their_ceiling_on_rows_left_out() {
    for (name, term, noise) in [("quadratic", "`dose²`", 1.5), ("interaction", "`water·light`", 0.9)] {
        let sample = crate::explain::sample::sample(name).unwrap();
        let SampleData::Table { columns, target } = sample.data() else { panic!("a table") };
        let found = explained(&columns, target);
        let SampleColumn::Numbers(y) = &columns.iter().find(|(name, _)| *name == target).unwrap().1 else {
            panic!("numbers")
        };
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64;
        let ceiling = 1.0 - noise * noise / variance;
        let (alone, with_terms, sentence) = held_out(&found);
        assert!(sentence.contains(term), "{sentence}");
        assert!(alone < 0.3, "{name}: {alone}");
        assert!((with_terms - ceiling).abs() < 0.02, "{name}: {with_terms} {ceiling}");
    }
}

#[test]
fn squares_and_products_together_are_named_and_reach_the_ceiling() {
    for seed in 0..8 {
        let mut random = Random::new(40 + seed);
        let n = 600 + 200 * seed as usize;
        let x: Vec<Vec<f64>> = (0..6).map(|_| (0..n).map(|_| normal(&mut random)).collect()).collect();
        let noise: Vec<f64> = (0..n).map(|_| 0.7 * normal(&mut random)).collect();
        let truth = |i: usize| 0.4 * x[0][i] + 1.2 * x[1][i].powi(2) + 1.5 * x[2][i] * x[3][i];
        let y: Vec<f64> = (0..n).map(|i| truth(i) + noise[i]).collect();
        let mean = y.iter().sum::<f64>() / n as f64;
        let total: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
        // The best any model can do on these rows: what is left is the noise they have.
        let ceiling = 1.0 - noise.iter().map(|e| e * e).sum::<f64>() / total;
        let names = ["a", "b", "c", "d", "e", "f"];
        let mut columns: Vec<(&str, SampleColumn)> =
            names.iter().zip(&x).map(|(name, x)| (*name, SampleColumn::Numbers(x.clone()))).collect();
        columns.push(("y", SampleColumn::Numbers(y)));
        let (alone, with_terms, sentence) = held_out(&explained(&columns, "y"));
        assert!(sentence.contains("`b²`") && sentence.contains("`c·d`"), "{sentence}");
        assert!(alone < 0.2, "seed {seed}: {alone}");
        assert!((with_terms - ceiling).abs() < 0.02, "seed {seed}: {with_terms} {ceiling}");
    }
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

/// What a column makes of two random numbers.
type Made<'a> = &'a dyn Fn(f64, f64) -> f64;

/// Columns by name in which `again` is `a` once more, with a target that `a` gives but for noise.
fn with_a_repeated(others: &[(&'static str, Made<'_>)]) -> Explanation {
    let mut random = Random::new(21);
    let pairs: Vec<(f64, f64)> = (0..80).map(|_| (random.normal(), random.normal())).collect();
    let column = |f: Made<'_>| SampleColumn::Numbers(pairs.iter().map(|p| f(p.0, p.1)).collect());
    let mut columns = vec![("a", column(&|a, _| a)), ("again", column(&|a, _| a))];
    columns.extend(others.iter().map(|&(name, f)| (name, column(f))));
    let noise: Vec<f64> = (0..80).map(|_| random.normal()).collect();
    columns.push(("y", SampleColumn::Numbers(pairs.iter().zip(noise).map(|(p, e)| p.0 + e).collect())));
    explained(&columns, "y")
}

#[test]
fn a_near_dependency_beside_an_exact_one_has_the_inflation_of_the_errors_shown() {
    let found = with_a_repeated(&[("b", &|a, e| a + 0.01 * e)]);
    let near = found.findings.iter().find(|finding| finding.name == "near-dependency").unwrap();
    let inflation = near.evidence.iter().find(|e| e.name == "variance inflation").unwrap().value;
    assert!(inflation > 1e3 && inflation < 1e5, "{near:?}");
    assert!(!near.sentence.contains('∞') && !near.certificate.as_ref().unwrap().contains('∞'), "{near:?}");
    assert!(found.findings.iter().any(|finding| finding.name == "ridge"), "{:#?}", found.findings);
}

#[test]
fn ridge_is_not_tried_for_an_exact_dependency_alone() {
    let found = with_a_repeated(&[("b", &|_, e| e)]);
    assert!(
        found.findings.iter().any(|finding| finding.name == "duplicated-column"),
        "{:#?}",
        found.findings
    );
    assert!(found.findings.iter().all(|finding| finding.name != "ridge"), "{:#?}", found.findings);
}

/// Thirty rows of a column and noise, in these units.
fn in_units(column: f64, target: f64) -> Explanation {
    let mut random = Random::new(21);
    let x: Vec<f64> = (1..=30).map(|i| f64::from(i) * column).collect();
    let y: Vec<f64> = (0..30).map(|_| random.normal() * target).collect();
    explained(&[("x", SampleColumn::Numbers(x)), ("y", SampleColumn::Numbers(y))], "y")
}

#[test]
fn a_target_whose_squares_vanish_or_overflow_is_explained_as_any_other() {
    let plain = in_units(1.0, 1.0);
    for target in [1e-290, 1e-200, 1e200] {
        let found = in_units(1.0, target);
        assert_eq!(found.verdict, plain.verdict, "{target}");
        assert_eq!(alarms(&found), alarms(&plain), "{target}");
        let written = format!("{:?} {:?}", found.findings, found.computation.settings);
        assert!(!written.contains("NaN"), "{target}: {written}");
    }
}

#[test]
fn a_coefficient_that_cannot_be_stored_is_a_serious_finding() {
    for (column, target) in [(1e-310, 1.0), (1e-250, 1e200), (1e299, 1e-290)] {
        let found = in_units(column, target);
        assert_eq!(alarms(&found), [("coefficient-range", Severity::Serious)], "{column}");
        let sentence = &found.findings[0].sentence;
        assert!(sentence.contains("the coefficient of `x` lies outside what f64 can hold"), "{sentence}");
        // What the rows say does not need the coefficient.
        assert_eq!(found.verdict[0], in_units(1.0, 1.0).verdict[0], "{column}");
    }
}

#[test]
fn more_columns_than_rows_are_one_finding() {
    let mut random = Random::new(8);
    let mut column = || SampleColumn::Numbers((0..20).map(|_| random.normal()).collect());
    let names: Vec<String> = (0..60).map(|j| format!("f{j}")).collect();
    let mut columns: Vec<(&str, SampleColumn)> = names.iter().map(|name| (name.as_str(), column())).collect();
    columns.push(("y", column()));
    // What is constant is so with any number of rows.
    columns[3].1 = SampleColumn::Numbers(vec![2.0; 20]);
    let found = explained(&columns, "y");
    let mut names: Vec<&str> = alarms(&found).into_iter().map(|(name, _)| name).collect();
    names.retain(|name| *name != "uncertain-rank");
    assert_eq!(names, ["more-columns-than-rows", "no-freedom", "constant-column"]);
    let sentence = &found.findings[0].sentence;
    assert!(sentence.starts_with("40 columns more than 20 rows can tell apart: `f20`, `f21`"), "{sentence}");
    assert!(sentence.contains(" and 32 more are"), "{sentence}");
    let Some(FigureKind::Dependencies(drawn)) = found.figure("dependencies").map(|figure| &figure.kind)
    else {
        panic!("no dependencies are drawn")
    };
    let longest = drawn.formulas.iter().max_by_key(|formula| formula.terms.len()).unwrap();
    assert!(longest.terms.len() > 15 && longest.text.ends_with(" more"), "{}", longest.text);
}
