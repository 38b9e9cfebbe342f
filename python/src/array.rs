//! `NumPy` arrays as the library's views, and results as `NumPy` arrays.
//!
//! A view borrows the array's memory whatever its strides; only memory that Rust cannot look at (misaligned numbers,
//! booleans that are neither 0 nor 1) is copied. The array is kept alive by the [`Array`] that lends the view.
#![allow(unsafe_code, reason = "NumPy hands out pointers; each use says why it holds")]

use crate::errors::{Class, raise, shape_error};
use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_TYPES};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::Matrix;
use spanwise_kernels::{View, bf16, f16};

/// Which argument of which operation an array is, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    pub(crate) operation: &'static str,
    pub(crate) argument: &'static str,
}

/// The storage types that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F64,
    F32,
    F16,
    Bf16,
    Bool,
}

impl Kind {
    /// What `NumPy` and torch call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::F64 => "float64",
            Kind::F32 => "float32",
            Kind::F16 => "float16",
            Kind::Bf16 => "bfloat16",
            Kind::Bool => "bool",
        }
    }
}

/// How a number of a [`Kind`] lies in memory.
pub(crate) trait Stored: Copy + Send + Sync {
    const KIND: Kind;
    /// What an array holds it as: itself, or a word of as many bits.
    type Held: Element + Default;
}

impl Stored for f64 {
    const KIND: Kind = Kind::F64;
    type Held = f64;
}
impl Stored for f32 {
    const KIND: Kind = Kind::F32;
    type Held = f32;
}
impl Stored for f16 {
    const KIND: Kind = Kind::F16;
    type Held = u16;
}
impl Stored for bf16 {
    const KIND: Kind = Kind::Bf16;
    type Held = u16;
}
impl Stored for bool {
    const KIND: Kind = Kind::Bool;
    type Held = bool;
}

/// A `NumPy` array that is being looked at.
pub(crate) struct Array<'py> {
    held: Bound<'py, PyUntypedArray>,
    kind: Kind,
    name: Name,
}

impl<'py> Array<'py> {
    /// Takes an array of f64, f32, f16, bf16 or bool in native byte order. Misaligned ones are copied.
    pub(crate) fn new(object: &Bound<'py, PyAny>, name: Name) -> PyResult<Self> {
        let Ok(array) = object.cast::<PyUntypedArray>() else {
            let found = object.get_type().name()?;
            let message =
                format!("{}: `{}` is a {found}; expected a NumPy array", name.operation, name.argument);
            return Err(raise(object.py(), Class::Dtype, message));
        };
        let mut array = array.clone();
        let dtype = array.dtype();
        let Some(kind) = kind_of(&dtype)? else {
            let message = format!(
                "{}: `{}` has dtype {dtype}; expected float64, float32, float16 or bfloat16",
                name.operation, name.argument
            );
            return Err(raise(object.py(), Class::Dtype, message));
        };
        if !is_aligned(&array, dtype.itemsize()) {
            array = array.call_method0("copy")?.cast_into::<PyUntypedArray>()?;
        }
        if kind == Kind::Bool && !holds_booleans(&array) {
            let bytes = array.call_method1("view", ("uint8",))?;
            array = bytes.call_method1("__ne__", (0,))?.cast_into::<PyUntypedArray>()?;
        }
        Ok(Array { held: array, kind, name })
    }

    /// The same, where words of 16 bits are bit patterns of bf16, as tensors of that type lend their memory.
    pub(crate) fn of_bits(object: &Bound<'py, PyAny>, name: Name) -> PyResult<Self> {
        const I16: i32 = NPY_TYPES::NPY_SHORT as i32;
        if let Ok(array) = object.cast::<PyUntypedArray>()
            && array.dtype().num() == I16
            && is_aligned(array, 2)
        {
            return Ok(Array { held: array.clone(), kind: Kind::Bf16, name });
        }
        Array::new(object, name)
    }

    /// One of f64 or f32.
    pub(crate) fn real(object: &Bound<'py, PyAny>, name: Name) -> PyResult<Self> {
        let array = Array::new(object, name)?;
        if matches!(array.kind, Kind::F64 | Kind::F32) {
            return Ok(array);
        }
        let message = format!(
            "{}: `{}` has dtype {}; expected float64 or float32",
            name.operation,
            name.argument,
            array.held.dtype()
        );
        Err(raise(object.py(), Class::Dtype, message))
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.held.shape()
    }

    /// The memory with its shape and strides.
    pub(crate) fn view<T: Stored>(&self) -> PyResult<View<'_, T>> {
        let Name { operation, argument } = self.name;
        let py = self.held.py();
        if T::KIND != self.kind {
            let message = format!(
                "{operation}: `{argument}` has dtype {}; expected {}, as the arguments before it have",
                self.held.dtype(),
                T::KIND.word()
            );
            return Err(raise(py, Class::Dtype, message));
        }
        let dims = self.held.shape();
        let size = size_of::<T>() as isize;
        let strides: Vec<isize> = self.held.strides().iter().map(|stride| stride / size).collect();
        let (data, start) = if dims.contains(&0) {
            (&[][..], 0)
        } else {
            // SAFETY: NumPy guarantees that every element that shape and strides reach lies in one allocation, which
            // the array keeps alive as long as `self`. The pointer is aligned and strides are whole elements
            // (`is_aligned`), every bit pattern is a number, and booleans were looked at. Another Python thread that
            // writes the array at the same time gets numbers that are partly old and partly new, as it does from NumPy
            // itself.
            unsafe { reached(data_of(&self.held).cast::<T>(), dims, &strides) }
        };
        View::strided(data, start, dims, &strides)
            .map_err(|error| shape_error(py, operation, argument, &error))
    }

    /// A vector of f64 without gaps.
    pub(crate) fn slice(&self) -> PyResult<&[f64]> {
        let view = self.view::<f64>()?;
        view.as_slice().filter(|_| view.rank() == 1).ok_or_else(|| {
            let message = format!(
                "{}: `{}` has shape {}; expected one dimension without gaps",
                self.name.operation,
                self.name.argument,
                view.shape()
            );
            raise(self.held.py(), Class::Shape, message)
        })
    }
}

/// The storage type of a dtype in native byte order.
fn kind_of(dtype: &Bound<'_, numpy::PyArrayDescr>) -> PyResult<Option<Kind>> {
    const BOOL: i32 = NPY_TYPES::NPY_BOOL as i32;
    const F16: i32 = NPY_TYPES::NPY_HALF as i32;
    const F32: i32 = NPY_TYPES::NPY_FLOAT as i32;
    const F64: i32 = NPY_TYPES::NPY_DOUBLE as i32;
    if dtype.is_native_byteorder() == Some(false) {
        return Ok(None);
    }
    Ok(match dtype.num() {
        BOOL => Some(Kind::Bool),
        F16 => Some(Kind::F16),
        F32 => Some(Kind::F32),
        F64 => Some(Kind::F64),
        // A type that another package registered: `ml_dtypes` has a bfloat16.
        other if other >= NPY_TYPES::NPY_USERDEF as i32 => {
            let name: String = dtype.getattr("name")?.extract()?;
            (name == "bfloat16").then_some(Kind::Bf16)
        }
        _ => None,
    })
}

/// Where the first element lies.
fn data_of(array: &Bound<'_, PyUntypedArray>) -> *const u8 {
    // SAFETY: reads a field of a live array object.
    unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).data.cast_const().cast() }
}

fn is_aligned(array: &Bound<'_, PyUntypedArray>, size: usize) -> bool {
    (data_of(array) as usize).is_multiple_of(size)
        && array.strides().iter().all(|stride| stride % size as isize == 0)
}

/// The memory from the first to the last element that shape and strides reach, and where the one at `first` lies in it.
///
/// # Safety
/// That memory must be readable as `T` for as long as the slice lives, and no dimension may be 0.
pub(crate) unsafe fn reached<'a, T>(first: *const T, dims: &[usize], strides: &[isize]) -> (&'a [T], usize) {
    let (mut lowest, mut highest) = (0, 0);
    for (&n, &stride) in dims.iter().zip(strides) {
        let reach = (n as isize - 1) * stride;
        lowest += reach.min(0);
        highest += reach.max(0);
    }
    // SAFETY: the caller's promise.
    let all = unsafe { std::slice::from_raw_parts(first.offset(lowest), (highest - lowest + 1) as usize) };
    (all, -lowest as usize)
}

/// Whether every byte between the first and the last element is 0 or 1, which Rust asks of a `bool`.
fn holds_booleans(array: &Bound<'_, PyUntypedArray>) -> bool {
    let dims = array.shape();
    if dims.contains(&0) {
        return true;
    }
    // SAFETY: as for `Array::view`; a byte is any bit pattern.
    let (bytes, _) = unsafe { reached(data_of(array), dims, array.strides()) };
    bytes.iter().fold(0, |all, byte| all | byte) <= 1
}

/// `$body` with `$view` as the view of `$array` as f64 or f32.
macro_rules! with_real {
    ($array:expr, |$view:ident| $body:expr) => {
        match $array.kind() {
            $crate::array::Kind::F32 => {
                let $view = $array.view::<f32>()?;
                $body
            }
            _ => {
                let $view = $array.view::<f64>()?;
                $body
            }
        }
    };
}
pub(crate) use with_real;

/// The memory of a new array as numbers to be written.
pub(crate) fn numbers_of<T: Stored>(held: &mut [T::Held]) -> &mut [T] {
    const { assert!(size_of::<T>() == size_of::<T::Held>() && align_of::<T>() == align_of::<T::Held>()) };
    // SAFETY: both types have the same size and alignment, and every bit pattern of the one is one of the other:
    // a type is held as itself, or a 16-bit float as a 16-bit word.
    unsafe { std::slice::from_raw_parts_mut(held.as_mut_ptr().cast::<T>(), held.len()) }
}

/// A new vector of zeros, if there is memory for it.
pub(crate) fn zeros<T: Stored>(py: Python<'_>, len: usize) -> PyResult<Bound<'_, PyArray1<T::Held>>> {
    let bytes = len.saturating_mul(size_of::<T>());
    // Asking costs a little, and small pieces are always there.
    if bytes >= 1 << 30 && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(PyMemoryError::new_err(format!("there is no memory for an answer of {bytes} bytes")));
    }
    Ok(PyArray1::zeros(py, len, false))
}

/// A vector.
pub(crate) fn vector<T: Element>(py: Python<'_>, numbers: Vec<T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, numbers)
}

/// Numbers row after row as a matrix.
pub(crate) fn rows_of<T: Element>(
    py: Python<'_>,
    numbers: Vec<T>,
    rows: usize,
    cols: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    vector(py, numbers).reshape([rows, cols])
}

/// A matrix.
pub(crate) fn matrix<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    rows_of(py, matrix.as_slice().to_vec(), matrix.rows(), matrix.cols())
}

/// Named parts of an answer.
pub(crate) struct Answer<'py>(Bound<'py, PyDict>);

impl<'py> Answer<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Answer(PyDict::new(py))
    }

    pub(crate) fn with(self, key: &str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        self.0.set_item(key, value)?;
        Ok(self)
    }

    /// A vector of numbers.
    pub(crate) fn vector(self, key: &str, numbers: Vec<f64>) -> PyResult<Self> {
        let array = vector(self.0.py(), numbers);
        self.with(key, array)
    }

    /// A matrix of numbers.
    pub(crate) fn matrix(self, key: &str, of: &Matrix) -> PyResult<Self> {
        let array = matrix(self.0.py(), of)?;
        self.with(key, array)
    }

    pub(crate) fn done(self) -> Bound<'py, PyDict> {
        self.0
    }
}
