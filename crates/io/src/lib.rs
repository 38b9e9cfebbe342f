//! Files to arrays and tables, with errors that say where.
//!
//! | format | one array | named arrays | table | written |
//! |---|---|---|---|---|
//! | `.npy` | mapped | | one or two dimensions | ✓ |
//! | `.npz` | copied | ✓ | one array of it | ✓ |
//! | `.safetensors` | mapped | ✓ | one array of it | ✓ |
//! | `.csv`, `.tsv` | wholly numeric | | ✓, in batches too | `.csv` |
//! | `.parquet` | wholly numeric | | ✓, in batches too | ✓ |
//! | `.arrow`, `.feather` | wholly numeric | | ✓, in batches too | |
//!
//! ```no_run
//! use spanwise_io::{ReadOptions, read_table, read_tensor};
//!
//! let q = read_tensor("model.safetensors:layer.0.q")?;
//! println!("{} {}", q.kind(), q.shape());
//! let table = read_table("people.csv", &ReadOptions::default())?;
//! println!("{} rows of {:?}", table.rows(), table.names().collect::<Vec<_>>());
//! # Ok::<(), spanwise_io::IoError>(())
//! ```
//!
//! Nothing a file holds makes this crate panic. Sizes that a file claims are compared with its bytes before memory is
//! asked for. What is packed still unpacks, and a few run-length-encoded bytes of a Parquet file can hold any number of
//! rows: the memory of a table grows with the rows decoded, and where the system refuses more, that is an error.
//! [`TableReader`] holds one batch at a time.

mod bytes;
mod commas;
mod csv;
mod error;
mod format;
mod inline;
mod levels;
mod npy;
mod npz;
mod options;
mod place;
mod read;
mod reader;
mod records;
mod safetensors;
mod source;
mod sparse;
mod suggest;
mod table;
mod tensor;
mod write;

pub use commas::{COMMA_HINT, has_comma};
pub use error::{IoError, Malformed, QuoteProblem};
pub use format::Format;
pub use inline::{parse_array, parse_matrix};
pub use options::ReadOptions;
pub use place::{Location, Place, quoted};
pub use read::{read_table, read_tensor, read_tensor_as, read_tensors};
pub use reader::{Field, Progress, ProgressUnit, TableReader};
pub use records::is_decoding;
pub use sparse::{Sparse, read_sparse};
pub use table::{Categories, Column, Table, Values};
pub use tensor::{Kind, Scalar, Tensor, TensorView};
pub use write::{all_or_none, write_bytes, write_table, write_tensor, write_tensors};
