//! The files `spanwise attend` writes: checked before the work, written after it.

use crate::args::Attend;
use crate::failure::Usage;
use crate::out::{check_not_read, check_regular};
use anyhow::Context;
use spanwise::{Element, ShapeError, bf16, f16};
use spanwise_io::{Format, Kind, Table, Tensor, all_or_none, write_table, write_tensor};
use std::collections::TryReserveError;
use std::path::{Path, PathBuf};

/// Where each result goes, if anywhere.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) out: Option<Target>,
    pub(super) weights: Option<Target>,
    pub(super) lse: Option<Target>,
}

/// A file to be.
#[derive(Debug)]
pub(super) struct Target {
    argument: &'static str,
    path: PathBuf,
    format: Format,
}

/// The results in the type they are written in, those that are wanted.
pub(super) struct Columns {
    pub(super) output: Option<Tensor>,
    pub(super) lse: Option<Tensor>,
    pub(super) weights: Option<Tensor>,
}

impl Files {
    /// Each name must end in a format that can be written, and lie where a file can be; no two are the same.
    pub(super) fn new(args: &Attend) -> Result<Self, Usage> {
        let target = |argument, path: &Option<PathBuf>| {
            path.as_deref().map(|path| Target::new(argument, path)).transpose()
        };
        let files = Files {
            out: target("--out", &args.out)?,
            weights: target("--weights", &args.weights)?,
            lse: target("--lse", &args.lse)?,
        };
        let targets: Vec<&Target> = files.targets().collect();
        for (at, target) in targets.iter().enumerate() {
            if let Some(other) = targets[..at].iter().find(|other| other.place() == target.place()) {
                let (first, second) = (other.argument, target.argument);
                let path = target.path.display();
                return Err(Usage::new(format!("`{first}` and `{second}` are the same file, {path}")));
            }
        }
        let outputs: Vec<_> =
            targets.iter().map(|target| (target.argument, Some(target.path.as_path()))).collect();
        let optional = [&args.bias, &args.mask].map(|text| text.as_deref());
        let inputs = [&args.q, &args.k, &args.v].map(|text| Some(text.as_str()));
        check_not_read(&outputs, inputs.into_iter().chain(optional))?;
        Ok(files)
    }

    fn targets(&self) -> impl Iterator<Item = &Target> {
        [&self.out, &self.weights, &self.lse].into_iter().flatten()
    }

    /// Whether each format can hold as many dimensions as there will be.
    pub(super) fn check(&self, output: &[usize], weights: &[usize]) -> Result<(), Usage> {
        let lse = &output[..output.len() - 1];
        for (target, dims) in [(&self.out, output), (&self.weights, weights), (&self.lse, lse)] {
            if let Some(target) = target {
                target.check_rank(dims)?;
            }
        }
        Ok(())
    }

    /// Writes all of them, or none where one fails.
    pub(super) fn write(&self, columns: Columns) -> anyhow::Result<Vec<(String, String)>> {
        let results = [
            ("output", &self.out, columns.output),
            ("weights", &self.weights, columns.weights),
            ("lse", &self.lse, columns.lse),
        ];
        all_or_none(|| {
            let mut written = Vec::new();
            for (what, target, tensor) in results {
                let (Some(target), Some(tensor)) = (target, tensor) else { continue };
                target.write(&tensor)?;
                written.push((what.to_owned(), target.path.display().to_string()));
            }
            Ok(written)
        })
    }
}

impl Target {
    fn new(argument: &'static str, path: &Path) -> Result<Self, Usage> {
        let extension = path.extension().map(|end| end.to_string_lossy().into_owned()).unwrap_or_default();
        let format = Format::of_extension(&extension);
        let format = match format {
            Some(Format::Arrow | Format::Tsv) | None => {
                return Err(Usage::new(format!(
                    "`{argument}`: {}: cannot write this kind of file; expected .npy, .npz, .csv, .parquet or .safetensors",
                    path.display()
                )));
            }
            Some(format) => format,
        };
        check_regular(argument, path)?;
        Ok(Target { argument, path: path.to_owned(), format })
    }

    /// Where the file will be, however it is spelled: links are followed where there is a file already, and in the
    /// directory's name where there is none yet.
    fn place(&self) -> PathBuf {
        let new = || {
            let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(directory.join(self.path.file_name()?))
        };
        self.path.canonicalize().ok().or_else(new).unwrap_or_else(|| self.path.clone())
    }

    fn is_table(&self) -> bool {
        matches!(self.format, Format::Csv | Format::Parquet)
    }

    fn check_rank(&self, dims: &[usize]) -> Result<(), Usage> {
        if self.is_table() && dims.len() > 2 {
            let (argument, path, format) = (self.argument, self.path.display(), self.format);
            let message = format!(
                "`{argument}`: {path}: a {format} file holds at most 2 dimensions, this array has {}",
                dims.len()
            );
            return Err(Usage::with_hint(message, "use .npy, .npz or .safetensors"));
        }
        Ok(())
    }

    fn write(&self, tensor: &Tensor) -> anyhow::Result<()> {
        let argument = || format!("`{}`", self.argument);
        if self.format == Format::Parquet {
            let table = Table::from_tensor(tensor).with_context(argument)?;
            return write_table(&self.path, &table).with_context(argument);
        }
        write_tensor(&self.path, tensor).with_context(argument)
    }
}

/// Numbers gathered in the type they will be written in.
pub(super) enum Column {
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// The same for whichever vector it is.
macro_rules! each_kind {
    ($column:expr, $numbers:ident => $then:expr) => {
        match $column {
            Column::F16($numbers) => $then,
            Column::Bf16($numbers) => $then,
            Column::F32($numbers) => $then,
            Column::F64($numbers) => $then,
        }
    };
}

impl Column {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::F16 => Column::F16(Vec::new()),
            Kind::Bf16 => Column::Bf16(Vec::new()),
            Kind::F32 => Column::F32(Vec::new()),
            _ => Column::F64(Vec::new()),
        }
    }

    pub(super) fn reserve(&mut self, size: usize) -> Result<(), TryReserveError> {
        each_kind!(self, numbers => numbers.try_reserve_exact(size))
    }

    /// Rounds to nearest.
    pub(super) fn extend(&mut self, numbers: &[f64]) {
        fn push<T: Element>(to: &mut Vec<T>, from: &[f64]) {
            to.extend(from.iter().map(|&x| T::from_f64(x)));
        }
        each_kind!(self, to => push(to, numbers));
    }

    pub(super) fn finish(self, dims: &[usize]) -> Result<Tensor, ShapeError> {
        each_kind!(self, numbers => Tensor::new(numbers, dims))
    }
}
