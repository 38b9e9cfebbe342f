//! Explanations of data: Longley's, and the samples that are tables of numbers.

use spanwise_kernels::View;
use spanwise_lens::explain::sample::{SAMPLES, SampleColumn, SampleData};
use spanwise_lens::explain::{Explanation, TableInput, Values, explain_table};
use spanwise_lens::linear::FitFacts;
use std::error::Error;

const LONGLEY: &str = include_str!("../../../../examples/longley.csv");

/// Columns by name, one of them the target.
struct Columns {
    columns: Vec<(String, Vec<f64>)>,
    target: String,
}

pub(crate) fn all() -> Result<Vec<(String, Explanation)>, Box<dyn Error>> {
    let mut explained = vec![("longley".to_owned(), explain("longley.csv", &longley()?)?)];
    for sample in SAMPLES.iter().filter(|sample| !sample.is_attention()) {
        if let Some(columns) = numbers(sample.data()) {
            let source = format!("{}.csv", sample.name);
            explained.push((format!("sample-{}", sample.name), explain(&source, &columns)?));
        }
    }
    Ok(explained)
}

fn longley() -> Result<Columns, Box<dyn Error>> {
    let mut lines = LONGLEY.lines();
    let names = lines.next().ok_or("longley.csv is empty")?.split(',');
    let mut columns: Vec<(String, Vec<f64>)> = names.map(|name| (name.to_owned(), Vec::new())).collect();
    for line in lines {
        for (cell, column) in line.split(',').zip(&mut columns) {
            column.1.push(cell.parse()?);
        }
    }
    Ok(Columns { target: columns[0].0.clone(), columns })
}

fn numbers(data: SampleData) -> Option<Columns> {
    let SampleData::Table { columns, target } = data else { return None };
    let column = |(name, column): (&str, SampleColumn)| match column {
        SampleColumn::Numbers(values) => Some((name.to_owned(), values)),
        SampleColumn::Words(_) => None,
    };
    Some(Columns {
        columns: columns.into_iter().map(column).collect::<Option<_>>()?,
        target: target.to_owned(),
    })
}

fn explain(source: &str, Columns { columns, target }: &Columns) -> Result<Explanation, Box<dyn Error>> {
    let (of_target, others): (Vec<_>, Vec<_>) = columns.iter().partition(|column| column.0 == *target);
    let y = &of_target.first().ok_or("the target is not among the columns")?.1;
    let (rows, width) = (y.len(), others.len());
    let x: Vec<f64> = (0..rows).flat_map(|i| others.iter().map(move |column| column.1[i])).collect();
    let names: Vec<&str> = others.iter().map(|column| column.0.as_str()).collect();
    let facts = FitFacts::new(target, &names, rows);
    let command = format!("spanwise explain {source} --target {target} --html page.html");
    let input = TableInput {
        source,
        x: View::new(&x, &[rows, width])?,
        y: Values::Numbers(y),
        weights: None,
        index: None,
        facts: &facts,
        command: &command,
    };
    Ok(explain_table(&input, &mut |_| {})?)
}
