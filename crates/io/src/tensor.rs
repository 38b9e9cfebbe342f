//! One array as a file holds it.

use half::{bf16, f16};
use spanwise_kernels::{Dtype, Element, MAX_RANK, MappedFile, Matrix, Shape, ShapeError, View};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What the elements of a [`Tensor`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Truth values, as masks are kept.
    Bool,
    /// [`Dtype::F16`].
    F16,
    /// [`Dtype::Bf16`].
    Bf16,
    /// [`Dtype::F32`].
    F32,
    /// [`Dtype::F64`].
    F64,
}

impl Kind {
    /// The storage type of numbers; `None` for truth values.
    pub const fn dtype(self) -> Option<Dtype> {
        match self {
            Kind::Bool => None,
            Kind::F16 => Some(Dtype::F16),
            Kind::Bf16 => Some(Dtype::Bf16),
            Kind::F32 => Some(Dtype::F32),
            Kind::F64 => Some(Dtype::F64),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.dtype().map_or("bool", Dtype::name))
    }
}

/// An array of up to four dimensions: numbers (f16, bf16, f32, f64) or truth values, in memory or mapped from a file.
///
/// Integers in a file become f64, and are refused where f64 does not hold them exactly. Cloning shares the memory.
///
/// ```
/// use spanwise_io::{Tensor, TensorView};
///
/// let x = Tensor::new(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let TensorView::F32(view) = x.view() else { panic!("made of f32") };
/// assert_eq!(view.get(&[1, 0]), Some(3.0));
/// assert_eq!(x.to_f64_vec(), [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), spanwise_kernels::ShapeError>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    storage: Storage,
    shape: Shape,
    /// In elements; only the first `shape.rank()` count.
    strides: [isize; MAX_RANK],
}

/// The memory under a tensor.
#[derive(Clone)]
pub(crate) enum Storage {
    Bool(Arc<Vec<bool>>),
    F16(Arc<Vec<f16>>),
    Bf16(Arc<Vec<bf16>>),
    F32(Arc<Vec<f32>>),
    F64(Arc<Vec<f64>>),
    /// Numbers in the machine's byte order, at an aligned place of a mapped file.
    Mapped {
        file: Arc<MappedFile>,
        bytes: Range<usize>,
        dtype: Dtype,
    },
}

/// A [`Tensor`] seen as what it is made of.
#[derive(Clone, Copy, Debug)]
pub enum TensorView<'a> {
    /// Truth values.
    Bool(View<'a, bool>),
    /// f16 numbers.
    F16(View<'a, f16>),
    /// bf16 numbers.
    Bf16(View<'a, bf16>),
    /// f32 numbers.
    F32(View<'a, f32>),
    /// f64 numbers.
    F64(View<'a, f64>),
}

mod sealed {
    pub trait Sealed {}
}

/// What a [`Tensor`] can be made of: bool, f16, bf16, f32 and f64.
pub trait Scalar: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The type's name as data.
    const KIND: Kind;

    /// Exact; truth values become 0 and 1.
    fn widened(self) -> f64;

    #[doc(hidden)]
    #[expect(private_interfaces, reason = "sealed: only this crate's types are scalars")]
    fn into_storage(data: Vec<Self>) -> Storage;

    #[doc(hidden)]
    #[expect(private_interfaces, reason = "sealed: only this crate's types are scalars")]
    fn from_storage(storage: &Storage) -> Option<&[Self]>;
}

macro_rules! scalar {
    ($type:ty, $kind:ident) => {
        impl sealed::Sealed for $type {}

        impl Scalar for $type {
            const KIND: Kind = Kind::$kind;

            fn widened(self) -> f64 {
                self.to_f64()
            }

            #[expect(private_interfaces, reason = "sealed: only this crate's types are scalars")]
            fn into_storage(data: Vec<Self>) -> Storage {
                Storage::$kind(Arc::new(data))
            }

            #[expect(private_interfaces, reason = "sealed: only this crate's types are scalars")]
            fn from_storage(storage: &Storage) -> Option<&[Self]> {
                match storage {
                    Storage::$kind(data) => Some(data),
                    Storage::Mapped { file, bytes, dtype } if *dtype == <$type as Element>::DTYPE => {
                        // Aligned and whole: `Storage::Mapped` is only made after this cast has succeeded once.
                        bytemuck::try_cast_slice(&file[bytes.clone()]).ok()
                    }
                    _ => None,
                }
            }
        }
    };
}

scalar!(f16, F16);
scalar!(bf16, Bf16);
scalar!(f32, F32);
scalar!(f64, F64);

impl sealed::Sealed for bool {}

impl Scalar for bool {
    const KIND: Kind = Kind::Bool;

    fn widened(self) -> f64 {
        f64::from(u8::from(self))
    }

    #[expect(private_interfaces, reason = "sealed: only this crate's types are scalars")]
    fn into_storage(data: Vec<Self>) -> Storage {
        Storage::Bool(Arc::new(data))
    }

    #[expect(private_interfaces, reason = "sealed: only this crate's types are scalars")]
    fn from_storage(storage: &Storage) -> Option<&[Self]> {
        match storage {
            Storage::Bool(data) => Some(data),
            _ => None,
        }
    }
}

impl Storage {
    fn kind(&self) -> Kind {
        match self {
            Storage::Bool(_) => Kind::Bool,
            Storage::F16(_) | Storage::Mapped { dtype: Dtype::F16, .. } => Kind::F16,
            Storage::Bf16(_) | Storage::Mapped { dtype: Dtype::Bf16, .. } => Kind::Bf16,
            Storage::F32(_) | Storage::Mapped { dtype: Dtype::F32, .. } => Kind::F32,
            Storage::F64(_) | Storage::Mapped { dtype: Dtype::F64, .. } => Kind::F64,
        }
    }
}

/// In which order the elements of an array lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Last axis fastest.
    RowMajor,
    /// First axis fastest.
    ColumnMajor,
}

impl Tensor {
    /// Takes `data` as an array of shape `dims`, last axis fastest.
    pub fn new<T: Scalar>(data: Vec<T>, dims: &[usize]) -> Result<Self, ShapeError> {
        View::new(&data, dims)?;
        Tensor::from_storage(T::into_storage(data), Shape::new(dims)?, Order::RowMajor)
    }

    /// The elements of `storage` as an array; refused where it does not hold exactly as many.
    pub(crate) fn from_storage(storage: Storage, shape: Shape, order: Order) -> Result<Self, ShapeError> {
        let mut strides = [0; MAX_RANK];
        let mut step = 1_isize;
        for i in 0..shape.rank() {
            let axis = if order == Order::RowMajor { shape.rank() - 1 - i } else { i };
            strides[axis] = step;
            // Fits: the shape has been checked to multiply without overflow, zeros counted as ones.
            step *= shape.dims()[axis].max(1) as isize;
        }
        let tensor = Tensor { storage, shape, strides };
        let found = tensor.stored();
        if found != shape.len() {
            return Err(ShapeError::Length { shape, found, expected: shape.len() });
        }
        Ok(tensor)
    }

    fn stored(&self) -> usize {
        match &self.storage {
            Storage::Bool(data) => data.len(),
            Storage::F16(data) => data.len(),
            Storage::Bf16(data) => data.len(),
            Storage::F32(data) => data.len(),
            Storage::F64(data) => data.len(),
            Storage::Mapped { bytes, dtype, .. } => bytes.len() / dtype.size(),
        }
    }

    /// What the elements are.
    pub fn kind(&self) -> Kind {
        self.storage.kind()
    }

    /// The dimensions, outermost first; none for a scalar.
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The dimensions as a shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.shape.len()
    }

    /// Whether some dimension is 0.
    pub fn is_empty(&self) -> bool {
        self.shape.is_empty()
    }

    /// Whether the elements stay in their file until they are touched.
    pub fn is_mapped(&self) -> bool {
        matches!(self.storage, Storage::Mapped { .. })
    }

    /// The elements as `T`; `None` where they are something else.
    pub fn view_as<T: Scalar>(&self) -> Option<View<'_, T>> {
        let data = T::from_storage(&self.storage)?;
        View::strided(data, 0, self.dims(), &self.strides[..self.shape.rank()]).ok()
    }

    /// The elements as what they are.
    pub fn view(&self) -> TensorView<'_> {
        let view = match self.kind() {
            Kind::Bool => self.view_as().map(TensorView::Bool),
            Kind::F16 => self.view_as().map(TensorView::F16),
            Kind::Bf16 => self.view_as().map(TensorView::Bf16),
            Kind::F32 => self.view_as().map(TensorView::F32),
            Kind::F64 => self.view_as().map(TensorView::F64),
        };
        view.expect("size, alignment and strides were checked when the tensor was made")
    }

    /// A copy in f64, last axis fastest; truth values become 0 and 1.
    pub fn to_f64_vec(&self) -> Vec<f64> {
        fn widened<T: Scalar>(view: View<'_, T>) -> Vec<f64> {
            match view.as_slice() {
                Some(slice) => slice.iter().map(|x| x.widened()).collect(),
                None => view.iter().map(Scalar::widened).collect(),
            }
        }
        match self.view() {
            TensorView::Bool(view) => widened(view),
            TensorView::F16(view) => widened(view),
            TensorView::Bf16(view) => widened(view),
            TensorView::F32(view) => widened(view),
            TensorView::F64(view) => widened(view),
        }
    }

    /// The same array in f64; an array that is f64 already is shared, not copied.
    #[must_use]
    pub fn to_f64(&self) -> Tensor {
        if self.kind() == Kind::F64 {
            return self.clone();
        }
        Tensor::new(self.to_f64_vec(), self.dims()).expect("the shape stays")
    }
}

impl From<&Matrix> for Tensor {
    fn from(matrix: &Matrix) -> Self {
        Tensor::new(matrix.as_slice().to_vec(), &[matrix.rows(), matrix.cols()])
            .expect("a matrix holds rows × cols entries")
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.is_mapped() { ", mapped" } else { "" };
        write!(f, "Tensor<{}> {}{place}", self.kind(), self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_major_memory_is_seen_without_moving_it() {
        // Columns (1, 2, 3) and (4, 5, 6) one after another.
        let storage = f64::into_storage(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let x = Tensor::from_storage(storage, Shape::new(&[3, 2]).unwrap(), Order::ColumnMajor).unwrap();
        let view = x.view_as::<f64>().unwrap();
        assert_eq!(view.get(&[2, 0]), Some(3.0));
        assert_eq!(x.to_f64_vec(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert!(x.view_as::<f32>().is_none());
    }

    #[test]
    fn every_kind_widens_exactly() {
        let same = |t: Tensor| assert_eq!(t.to_f64().to_f64_vec(), [0.0, 1.0]);
        same(Tensor::new(vec![false, true], &[2]).unwrap());
        same(Tensor::new(vec![f16::ZERO, f16::ONE], &[2]).unwrap());
        same(Tensor::new(vec![bf16::ZERO, bf16::ONE], &[2]).unwrap());
        same(Tensor::new(vec![0.0_f32, 1.0], &[2]).unwrap());
        same(Tensor::new(vec![0.0_f64, 1.0], &[2]).unwrap());
    }

    #[test]
    fn a_wrong_count_of_elements_is_refused() {
        let error = Tensor::new(vec![1.0_f32; 3], &[2, 2]).unwrap_err();
        assert_eq!(error.to_string(), "found 3 elements; shape (2, 2) needs 4");
    }
}
