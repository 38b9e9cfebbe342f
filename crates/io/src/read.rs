//! From what the user named to arrays and tables.

use crate::bytes::Bytes;
use crate::csv::{Header, Text};
use crate::npz::Npz;
use crate::options::ReadOptions;
use crate::safetensors::Safetensors;
use crate::source::{Named, Opened};
use crate::write::DEFAULT_NAME;
use crate::{Format, IoError, Place, Table, Tensor, npy, records};
use spanwise_kernels::Dtype;
use std::path::{Path, PathBuf};

/// Reads one array.
///
/// An `.npy` file is one array; in an `.npz` or `.safetensors` file that holds several, one is named behind a colon
/// (`model.safetensors:layer.0.q`; a file of exactly that name wins). A table whose columns are all numbers is an
/// array of shape `(rows, columns)`; in a `.csv` or `.tsv` a first row of numbers is data, any other is a header.
/// `-` is standard input. `.npy` and `.safetensors` arrays stay in the file until they are touched.
pub fn read_tensor(path: impl AsRef<Path>) -> Result<Tensor, IoError> {
    one_tensor(path.as_ref(), None)
}

/// Reads one array from a file of the given format, whatever its name.
pub fn read_tensor_as(path: impl AsRef<Path>, format: Format) -> Result<Tensor, IoError> {
    one_tensor(path.as_ref(), Some(format))
}

/// Reads all arrays of an `.npz` or `.safetensors` file with their names; an `.npy` file is one array called `data`.
pub fn read_tensors(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>, IoError> {
    let path = path.as_ref();
    let opened = Opened::new(path, None)?;
    Container::open(path, &opened)?.read_all()
}

/// Reads a table: `.csv`, `.tsv`, `.parquet`, `.arrow`, or an array of one or two dimensions; `-` is standard input.
pub fn read_table(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table, IoError> {
    let named = Named::of(path.as_ref());
    let opened = Opened::new(&named.path, options.format)?;
    match opened.format {
        Format::Csv | Format::Tsv => {
            no_member(&named, opened.format)?;
            crate::reader::text(&named.path, &opened, options)?.read(options)
        }
        Format::Parquet | Format::Arrow => {
            no_member(&named, opened.format)?;
            records::read(&named.path, &opened, options)
        }
        _ => Ok(array_table(&named, &opened, options)?.0),
    }
}

fn one_tensor(path: &Path, format: Option<Format>) -> Result<Tensor, IoError> {
    let named = Named::of(path);
    let opened = Opened::new(&named.path, format)?;
    match opened.format {
        Format::Csv | Format::Tsv => {
            no_member(&named, opened.format)?;
            let text = match &opened.bytes {
                Some(bytes) => Text::of_bytes(&named.path, bytes.clone(), opened.format, Header::Guess)?,
                None => Text::open(&named.path, opened.format, Header::Guess)?,
            };
            let table = text.read(&ReadOptions::default())?;
            if table.rows() == 0 {
                // A file of one line of text looks like a header; as an array it is a mistake.
                return Err(IoError::NoRows { at: table.source().clone() });
            }
            table.to_tensor()
        }
        Format::Parquet | Format::Arrow => {
            no_member(&named, opened.format)?;
            records::read(&named.path, &opened, &ReadOptions::default())?.to_tensor()
        }
        _ => Container::open(&named.path, &opened)?.read_one(named.member.as_deref()),
    }
}

/// A file that holds arrays.
enum Container {
    Npy(PathBuf, Bytes),
    Npz(PathBuf, Npz),
    Safetensors(PathBuf, Safetensors),
}

impl Container {
    fn open(path: &Path, opened: &Opened) -> Result<Self, IoError> {
        let (owned, bytes) = (path.to_owned(), opened.bytes(path)?);
        Ok(match opened.format {
            Format::Npy => Container::Npy(owned, bytes),
            Format::Npz => Container::Npz(owned, Npz::open(path, bytes)?),
            Format::Safetensors => Container::Safetensors(owned, Safetensors::open(path, bytes)?),
            format => {
                let wanted = "read as named arrays";
                return Err(IoError::Unsupported { at: Place::file(path), format, wanted });
            }
        })
    }

    fn path(&self) -> &Path {
        match self {
            Container::Npy(path, _) | Container::Npz(path, _) | Container::Safetensors(path, _) => path,
        }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Container::Npy(..) => vec![DEFAULT_NAME.to_owned()],
            Container::Npz(_, file) => file.names(),
            Container::Safetensors(_, file) => file.names(),
        }
    }

    /// The array at position `member` among the names.
    fn read(&mut self, member: usize) -> Result<Tensor, IoError> {
        match self {
            Container::Npy(path, bytes) => npy::decode(bytes, &Place::file(&*path), Format::Npy),
            Container::Npz(_, file) => file.read(member),
            Container::Safetensors(_, file) => file.read(member),
        }
    }

    fn read_all(mut self) -> Result<Vec<(String, Tensor)>, IoError> {
        let names = self.names();
        names.into_iter().enumerate().map(|(member, name)| Ok((name, self.read(member)?))).collect()
    }

    /// The array of that name, or the only one.
    fn read_one(mut self, name: Option<&str>) -> Result<Tensor, IoError> {
        let at = Place::file(self.path());
        let known = self.names();
        match name {
            None if known.len() == 1 => self.read(0),
            None => Err(IoError::SeveralTensors { at, known }),
            Some(name) => match known.iter().position(|other| other == name) {
                Some(member) => self.read(member),
                None => Err(IoError::NoSuchName { at, what: "array", name: name.to_owned(), known }),
            },
        }
    }
}

/// An array as a table, of the columns that are wanted.
pub(crate) fn array_table(
    named: &Named,
    opened: &Opened,
    options: &ReadOptions,
) -> Result<(Table, u32), IoError> {
    let mut place = Place::file(&named.path);
    if let Some(member) = &named.member {
        place = place.tensor(member);
    }
    let tensor = Container::open(&named.path, opened)?.read_one(named.member.as_deref())?;
    let table = Table::from_tensor_at(&tensor, place.clone())?;
    let bits = tensor.kind().dtype().unwrap_or(Dtype::F64).bits();
    let names: Vec<String> = table.names().map(str::to_owned).collect();
    options.check_names(&names, &place)?;
    if names.iter().all(|name| options.wants(name)) {
        return Ok((table, bits));
    }
    let positions = (0..names.len()).filter(|&index| options.wants(&names[index])).collect();
    let columns = table.into_columns().into_iter().filter(|column| options.wants(&column.name));
    Ok((Table::at(columns.collect(), place, 1)?.chosen(positions), bits))
}

/// Refuses a name behind the colon where there are no names.
pub(crate) fn no_member(named: &Named, format: Format) -> Result<(), IoError> {
    match &named.member {
        None => Ok(()),
        Some(member) => Err(IoError::Unsupported {
            at: Place::file(&named.path).tensor(member),
            format,
            wanted: "asked for an array by name",
        }),
    }
}
