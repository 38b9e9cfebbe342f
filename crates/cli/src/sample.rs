//! `spanwise sample`: small data sets with known answers.

use crate::Outcome;
use crate::args::SampleArgs;
use crate::artifact::{Holds, check, numbers, write_arrays, write_columns};
use crate::failure::Usage;
use crate::out::{Screen, to_stdout};
use spanwise::example::Array;
use spanwise::explain::sample::{SAMPLES, Sample, SampleColumn, SampleData, sample};
use spanwise_io::{Categories, Column, Values};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &SampleArgs, screen: Screen) -> anyhow::Result<Outcome> {
    let Some(name) = &args.name else {
        if !screen.quiet {
            to_stdout(&catalogue())?;
        }
        return Ok(Outcome::Done);
    };
    let Some(found) = sample(name) else {
        let known: Vec<&str> = SAMPLES.iter().map(|sample| sample.name).collect();
        let message = format!("sample: there is no sample {name:?}; there are {}", known.join(", "));
        return Err(Usage::new(message).into());
    };
    let (ending, holds) = if found.is_attention() { ("npz", Holds::Arrays) } else { ("csv", Holds::Columns) };
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.{ending}")));
    check("--out", &path, holds)?;
    // As everywhere, a file that was named is replaced; one that was not is somebody's own.
    if args.out.is_none() && path.exists() && !holds_already(&found, &path)? {
        let file = path.display();
        let message = format!("sample: {file}: the file exists already");
        return Err(Usage::with_hint(
            message,
            format!("`--out {file}` replaces it, another name keeps both"),
        )
        .into());
    }
    let again = write(&found, &path)?;
    if !screen.quiet {
        let findings: Vec<&str> = found.findings.iter().map(|finding| finding.0).collect();
        to_stdout(&format!(
            "wrote {}: {}\nmade to have: {}\ntry: {again}\n",
            path.display(),
            found.about,
            findings.join(", ")
        ))?;
    }
    Ok(Outcome::Done)
}

/// Whether the file is the sample already, written before.
fn holds_already(found: &Sample, path: &Path) -> anyhow::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = std::env::temp_dir().join(format!("spanwise-{}-{name}", std::process::id()));
    write(found, &aside)?;
    let same = fs::read(&aside).ok() == fs::read(path).ok();
    // What cannot be removed here is the system's to tidy up.
    fs::remove_file(&aside).ok();
    Ok(same)
}

fn catalogue() -> String {
    let line = |sample: &Sample| format!("{:20} {}\n", sample.name, sample.about);
    SAMPLES.iter().map(line).collect()
}

/// Writes the data and says how to have it explained.
fn write(found: &Sample, path: &Path) -> anyhow::Result<String> {
    let file = path.display();
    match found.data() {
        SampleData::Table { columns, target } => {
            let columns =
                columns.into_iter().map(|(name, values)| column(name, values)).collect::<Result<_, _>>()?;
            write_columns("--out", path, columns)?;
            Ok(format!("spanwise explain {file} --target {target}"))
        }
        SampleData::Attention { shape, q, k, v } => {
            let array = |data: Vec<f64>| Array::new(data, &shape);
            let (q, k, v) = (array(q)?, array(k)?, array(v)?);
            write_arrays("--out", path, &[("q", &q), ("k", &k), ("v", &v)])?;
            Ok(format!("spanwise explain {file}"))
        }
    }
}

fn column(name: &str, values: SampleColumn) -> anyhow::Result<Column> {
    let words = match values {
        SampleColumn::Numbers(values) => return Ok(numbers(name, values)),
        SampleColumn::Words(words) => words,
    };
    let mut levels: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    levels.sort_unstable();
    levels.dedup();
    let code = |word: &&str| levels.iter().position(|level| level == word).unwrap_or(0) as u32;
    let codes = words.iter().map(code).collect();
    let categories = Categories::new(codes, levels).ok_or_else(|| Usage::new("a word has no level"))?;
    Ok(Column { name: name.to_owned(), values: Values::Categories(categories) })
}
