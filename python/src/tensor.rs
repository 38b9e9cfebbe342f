//! Plain attention on torch's tensors, read and made through `DLPack`'s C functions.
//!
//! A tensor that becomes a `NumPy` array and back costs some microseconds in Python, more than attention on small tensors
//! itself. Torch lends a table of C functions for this (`Tensor.__dlpack_c_exchange_api__`): where a tensor lies costs tens of
//! nanoseconds. Whatever is not plain (another device, storage types that differ, shapes that do not fit) gives `None`, and
//! the caller goes the long way, which has the words for it.

#![allow(unsafe_code, reason = "torch tells through C functions where a tensor lies")]

use crate::array::{Kind, Stored, reached};
use crate::attention::{causal_of, lasts, on_team};
use crate::errors::OrRaise;
use crate::work;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use spanwise::View;
use spanwise::attend::{Causal, Options, Problem, Request, Storage, forward_into};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
struct Type {
    code: u8,
    bits: u8,
    lanes: u16,
}

impl Type {
    fn kind(self) -> Option<Kind> {
        match (self.code, self.bits, self.lanes) {
            (2, 64, 1) => Some(Kind::F64),
            (2, 32, 1) => Some(Kind::F32),
            (2, 16, 1) => Some(Kind::F16),
            (4, 16, 1) => Some(Kind::Bf16),
            _ => None,
        }
    }
}

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    kind: i32,
    id: i32,
}

/// `kDLCPU`.
const CPU: Device = Device { kind: 1, id: 0 };

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    rank: i32,
    kind: Type,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

impl Tensor {
    const NONE: Tensor = Tensor {
        data: ptr::null_mut(),
        device: CPU,
        rank: 0,
        kind: Type { code: 0, bits: 0, lanes: 0 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Managed {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    tensor: Tensor,
}

/// What a failing allocation tells: context, kind, message.
type Told = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI`, of version 1.
#[repr(C)]
struct Functions {
    version: [u32; 2],
    older: *const c_void,
    allocate: Option<unsafe extern "C" fn(*mut Tensor, *mut *mut Managed, *mut c_void, Told) -> c_int>,
    managed: *const c_void,
    object: Option<unsafe extern "C" fn(*mut Managed, *mut *mut c_void) -> c_int>,
    look: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
}

/// Those that are called here.
struct Torch {
    allocate: unsafe extern "C" fn(*mut Tensor, *mut *mut Managed, *mut c_void, Told) -> c_int,
    object: unsafe extern "C" fn(*mut Managed, *mut *mut c_void) -> c_int,
    look: unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int,
}

static TORCH: OnceLock<Torch> = OnceLock::new();

/// Takes torch's functions; those of another version are left alone.
#[pyfunction]
pub(crate) fn use_tensors(capsule: &Bound<'_, PyCapsule>) -> PyResult<()> {
    let table = capsule.pointer_checked(Some(c"dlpack_exchange_api"))?.cast::<Functions>();
    // SAFETY: a capsule of this name points to such a table, which stays as long as torch is loaded. Its beginning, the
    // version, is the same in all versions; the rest is looked at only in version 1.
    let found = unsafe {
        let table = table.as_ptr();
        if (*table).version[0] != 1 {
            return Ok(());
        }
        ((*table).allocate, (*table).object, (*table).look)
    };
    if let (Some(allocate), Some(object), Some(look)) = found {
        // Where two threads import torch at once, the first one's answer is as good.
        TORCH.set(Torch { allocate, object, look }).ok();
    }
    Ok(())
}

/// Shape and place of a tensor, copied.
struct Placed {
    data: *const c_void,
    kind: Kind,
    rank: usize,
    dims: [usize; 4],
    strides: [isize; 4],
}

impl Placed {
    /// `None` where it is not a tensor of numbers on the CPU with two to four dimensions, none of them 0.
    fn new(torch: &Torch, object: &Bound<'_, PyAny>) -> Option<Self> {
        let mut found = Tensor::NONE;
        // SAFETY: the object is alive and the interpreter is held; the answer is written to `found`.
        if unsafe { (torch.look)(object.as_ptr().cast(), &raw mut found) } != 0 {
            // What torch has to say against it, the long way says again.
            drop(PyErr::take(object.py()));
            return None;
        }
        let (kind, rank) = (found.kind.kind()?, usize::try_from(found.rank).ok()?);
        if found.device.kind != CPU.kind
            || !(2..=4).contains(&rank)
            // Tensors that stand for others, or for zeros, have no memory.
            || found.data.is_null()
            || found.shape.is_null()
            || found.strides.is_null()
        {
            return None;
        }
        let mut placed = Placed {
            data: found.data.cast_const().wrapping_byte_add(usize::try_from(found.byte_offset).ok()?),
            kind,
            rank,
            dims: [0; 4],
            strides: [0; 4],
        };
        for i in 0..rank {
            // SAFETY: shape and strides have `rank` entries and live as long as the tensor, which is alive.
            let (dim, stride) = unsafe { (*found.shape.add(i), *found.strides.add(i)) };
            placed.dims[i] = usize::try_from(dim).ok().filter(|&dim| dim > 0)?;
            placed.strides[i] = isize::try_from(stride).ok()?;
        }
        Some(placed)
    }

    fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }

    /// The leading dimensions.
    fn lead(&self) -> &[usize] {
        &self.dims[..self.rank - 2]
    }

    /// The tensor's numbers; `None` where they are of another type or not aligned.
    ///
    /// # Safety
    /// The tensor must outlive `'a`.
    unsafe fn view<'a, T: Stored>(&self) -> Option<View<'a, T>> {
        let data = self.data.cast::<T>();
        if T::KIND != self.kind || !data.is_aligned() {
            return None;
        }
        let strides = &self.strides[..self.rank];
        // SAFETY: torch guarantees that all that shape and strides reach lies in the tensor's memory, which the caller
        // keeps; no dimension is 0, and every bit pattern is a number.
        let (numbers, start) = unsafe { reached(data, self.dims(), strides) };
        View::strided(numbers, start, self.dims(), strides).ok()
    }
}

/// Attention of three plain tensors, without options but these; `None` where they are not, or where the work would last.
/// With `alike`, leading dimensions must be the same.
#[pyfunction]
#[pyo3(signature = (q, k, v, scale=None, causal=None, alike=false))]
pub(crate) fn tensors_attention<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    scale: Option<f64>,
    causal: Option<&str>,
    alike: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = q.py();
    let Some(torch) = TORCH.get() else { return Ok(None) };
    let placed = (Placed::new(torch, q), Placed::new(torch, k), Placed::new(torch, v));
    let (Some(q), Some(k), Some(v)) = placed else { return Ok(None) };
    if alike && (q.lead() != k.lead() || k.lead() != v.lead()) {
        return Ok(None);
    }
    let causal = causal.map(|word| causal_of(py, word)).transpose()?;
    let of = [&q, &k, &v];
    match q.kind {
        Kind::F64 => attended::<f64>(py, torch, of, scale, causal),
        Kind::F32 => attended::<f32>(py, torch, of, scale, causal),
        Kind::F16 => attended::<spanwise::f16>(py, torch, of, scale, causal),
        Kind::Bf16 => attended::<spanwise::bf16>(py, torch, of, scale, causal),
        Kind::Bool => Ok(None),
    }
}

fn attended<'py, T: Stored + Storage>(
    py: Python<'py>,
    torch: &Torch,
    [q, k, v]: [&Placed; 3],
    scale: Option<f64>,
    causal: Option<Causal>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    // SAFETY: the caller's arguments keep the tensors until this returns. That nobody takes their memory away meanwhile (`set_`,
    // `resize_` on another thread) is asked of the user, as torch's own operators ask it.
    let (Some(q), Some(k), Some(v)) = (unsafe { (q.view::<T>(), k.view::<T>(), v.view::<T>()) }) else {
        return Ok(None);
    };
    let Ok(problem) = Problem::new(q, k, v, Options { scale, causal, ..Options::default() }) else {
        return Ok(None);
    };
    if lasts(&problem) {
        return Ok(None);
    }
    let dims = problem.output_dims();
    let made = Made::new::<T>(torch, &dims)?;
    // SAFETY: the memory holds as many numbers as the shape says, is aligned, and nobody else has seen it yet.
    let out = unsafe { std::slice::from_raw_parts_mut(made.first.cast::<T>(), dims.iter().product()) };
    let problem = on_team(&problem);
    work::run(py, || forward_into(&problem, &Request::default(), out)).or_raise(py)?;
    made.object(py, torch).map(Some)
}

/// A tensor that Python has not seen yet.
struct Made {
    managed: *mut Managed,
    first: *mut c_void,
}

unsafe extern "C" fn say_nothing(_: *mut c_void, _: *const c_char, _: *const c_char) {}

impl Made {
    /// Of numbers that may be anything.
    fn new<T: Stored>(torch: &Torch, dims: &[usize]) -> PyResult<Self> {
        let (code, bits) = match T::KIND {
            Kind::Bf16 => (4, 16),
            _ => (2, 8 * size_of::<T>() as u8),
        };
        let mut shape: Vec<i64> = dims.iter().map(|&n| n as i64).collect();
        let mut like = Tensor {
            kind: Type { code, bits, lanes: 1 },
            rank: dims.len() as i32,
            shape: shape.as_mut_ptr(),
            ..Tensor::NONE
        };
        let mut managed = ptr::null_mut();
        // SAFETY: the prototype is a tensor on the CPU without strides or data, and lives until the call returns.
        let failed =
            unsafe { (torch.allocate)(&raw mut like, &raw mut managed, ptr::null_mut(), say_nothing) };
        if failed != 0 || managed.is_null() {
            let bytes = dims.iter().product::<usize>().saturating_mul(size_of::<T>());
            return Err(PyMemoryError::new_err(format!("there is no memory for an answer of {bytes} bytes")));
        }
        // SAFETY: a successful call gives a tensor.
        let tensor = unsafe { &(*managed).tensor };
        let first = tensor.data.wrapping_byte_add(tensor.byte_offset as usize);
        Ok(Made { managed, first })
    }

    /// As an object of torch's.
    fn object<'py>(self, py: Python<'py>, torch: &Torch) -> PyResult<Bound<'py, PyAny>> {
        let mut object = ptr::null_mut();
        let managed = self.managed;
        std::mem::forget(self);
        // SAFETY: the tensor is given away, to whom allocated it; the interpreter is held.
        let failed = unsafe { (torch.object)(managed, &raw mut object) };
        if failed != 0 || object.is_null() {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: a successful call gives a new reference to an object.
        Ok(unsafe { Bound::from_owned_ptr(py, object.cast()) })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: nobody else has the tensor; its deleter is called once.
        unsafe {
            if let Some(deleter) = (*self.managed).deleter {
                deleter(self.managed);
            }
        }
    }
}
