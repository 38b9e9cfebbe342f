//! Numbers with a shape, owned, as findings carry them.

use serde::ser::{Serialize, SerializeSeq, Serializer};
use spanwise_kernels::{Shape, ShapeError, View};

/// f64 numbers with a shape of up to four dimensions, row after row.
///
/// Serialises as nested lists that follow the shape; see [`number`] for numbers that are not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    data: Vec<f64>,
    shape: Shape,
}

impl Array {
    /// Takes `data` row after row; it must hold as many numbers as `dims` says.
    pub fn new(data: Vec<f64>, dims: &[usize]) -> Result<Self, ShapeError> {
        let shape = View::new(&data, dims)?.shape();
        Ok(Array { data, shape })
    }

    /// One number, of shape `()`.
    pub fn scalar(value: f64) -> Self {
        Array { data: vec![value], shape: Shape::new(&[]).expect("no dimensions are few enough") }
    }

    /// A vector of shape `(n,)`.
    pub fn vector(data: Vec<f64>) -> Self {
        let shape = Shape::new(&[data.len()]).expect("a vector that exists can be addressed");
        Array { data, shape }
    }

    /// The dimensions.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The dimensions as a slice, outermost first.
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The numbers, row after row.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// The array as a view.
    pub fn view(&self) -> View<'_, f64> {
        View::new(&self.data, self.dims()).expect("an array holds as many numbers as its shape says")
    }

    /// How many numbers one row has: the last dimension, or 1 for a scalar.
    pub fn row_len(&self) -> usize {
        self.dims().last().copied().unwrap_or(1)
    }

    /// The rows along the last axis, in order; none where the rows are empty.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &[f64]> + ExactSizeIterator {
        self.data.chunks_exact(self.row_len().max(1))
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Nested { data: &self.data, dims: self.dims() }.serialize(serializer)
    }
}

/// The part of an array below some leading indices.
struct Nested<'a> {
    data: &'a [f64],
    dims: &'a [usize],
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((&n, dims)) = self.dims.split_first() else {
            return number(&self.data[0], serializer);
        };
        let step = dims.iter().product::<usize>();
        let mut list = serializer.serialize_seq(Some(n))?;
        for i in 0..n {
            list.serialize_element(&Nested { data: &self.data[i * step..(i + 1) * step], dims })?;
        }
        list.end()
    }
}

/// A number as JSON can carry it: finite ones as they are, others as `"NaN"`, `"Infinity"` and `"-Infinity"`.
///
/// For `#[serde(serialize_with = "…")]`.
pub fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match *value {
        finite if finite.is_finite() => serializer.serialize_f64(finite),
        nan if nan.is_nan() => serializer.serialize_str("NaN"),
        infinite if infinite > 0.0 => serializer.serialize_str("Infinity"),
        _ => serializer.serialize_str("-Infinity"),
    }
}

/// A list of numbers, each as [`number`] writes it.
pub(crate) fn numbers<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    Nested { data: values, dims: &[values.len()] }.serialize(serializer)
}
