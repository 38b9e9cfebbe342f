//! `spanwise.KVCache`: the library's cache of one storage type, shared by threads.
//!
//! The lock is only ever waited for, held and let go without the interpreter's lock, and by the calling thread: a thread of
//! the pool that waited for it could have begun, further down, the very work that it waits for.

use super::asked::{Asked, name, request_of, take};
use super::{Attended, lasts, no_numbers, on_team, told};
use crate::array::{Array, Kind, Stored, numbers_of, zeros};
use crate::errors::{Class, OrRaise, raise};
use crate::work;
use numpy::PyArrayMethods;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::attend::{AttentionError, Cache, CacheSizes, Request, forward_into};
use spanwise::{bf16, f16};
use spanwise_kernels::attention::Storage;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// From so many bytes on it is asked first whether there is so much memory.
const WORTH_ASKING: usize = 1 << 28;

enum Held {
    F64(Cache<f64>),
    F32(Cache<f32>),
    F16(Cache<f16>),
    Bf16(Cache<bf16>),
}

/// A storage type, with its kind of cache.
trait Cached: Stored + Storage {
    fn of(held: &Held) -> Option<&Cache<Self>>;
    fn of_mut(held: &mut Held) -> Option<&mut Cache<Self>>;
}

macro_rules! cached {
    ($($number:ty => $variant:ident),*) => {$(
        impl Cached for $number {
            fn of(held: &Held) -> Option<&Cache<Self>> {
                if let Held::$variant(cache) = held { Some(cache) } else { None }
            }
            fn of_mut(held: &mut Held) -> Option<&mut Cache<Self>> {
                if let Held::$variant(cache) = held { Some(cache) } else { None }
            }
        }
    )*};
}
cached!(f64 => F64, f32 => F32, f16 => F16, bf16 => Bf16);

#[pyclass(frozen, module = "spanwise._spanwise")]
pub(crate) struct KVCache {
    kind: Kind,
    sizes: CacheSizes,
    rows_per_page: Option<usize>,
    held: RwLock<Held>,
}

#[pymethods]
impl KVCache {
    /// `sizes` are batch, heads, key width and value width.
    #[new]
    fn new(
        py: Python<'_>,
        dtype: &str,
        sizes: [usize; 4],
        limit: Option<usize>,
        rows_per_page: Option<usize>,
    ) -> PyResult<Self> {
        let [batch, heads, key_width, value_width] = sizes;
        let sizes = CacheSizes { batch, heads, key_width, value_width };
        // One row of all heads, in bytes; more than memory can have is refused before anything is computed with it.
        let row = key_width.checked_add(value_width).and_then(|width| width.checked_mul(8));
        let row = row.and_then(|row| row.checked_mul(batch)).and_then(|row| row.checked_mul(heads));
        if row.is_none_or(|row| row > isize::MAX as usize) {
            let message = format!(
                "attention: a row of the cache has {batch} × {heads} × ({key_width} + {value_width}) numbers; \
                 expected fewer than memory can hold"
            );
            return Err(raise(py, Class::Number, message));
        }
        let shape = Shape { sizes, limit, rows_per_page };
        let (kind, held) = match dtype {
            "float64" => (Kind::F64, shape.cache().map(Held::F64)),
            "float32" => (Kind::F32, shape.cache().map(Held::F32)),
            "float16" => (Kind::F16, shape.cache().map(Held::F16)),
            "bfloat16" => (Kind::Bf16, shape.cache().map(Held::Bf16)),
            other => {
                let message =
                    format!("attention: `dtype` is {other}; expected float64, float32, float16 or bfloat16");
                return Err(raise(py, Class::Dtype, message));
            }
        };
        Ok(KVCache { kind, sizes, rows_per_page, held: RwLock::new(held.or_raise(py)?) })
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| match &*self.read() {
            Held::F64(cache) => cache.len(),
            Held::F32(cache) => cache.len(),
            Held::F16(cache) => cache.len(),
            Held::Bf16(cache) => cache.len(),
        })
    }

    fn truncate(&self, py: Python<'_>, len: usize) {
        py.detach(|| match &mut *self.write() {
            Held::F64(cache) => cache.truncate(len),
            Held::F32(cache) => cache.truncate(len),
            Held::F16(cache) => cache.truncate(len),
            Held::Bf16(cache) => cache.truncate(len),
        });
    }

    fn append<'py>(&self, k: &Bound<'py, PyAny>, v: &Bound<'py, PyAny>, bits: bool) -> PyResult<()> {
        let py = k.py();
        let (k, v) = (self.take(py, k, "k", bits)?, self.take(py, v, "v", bits)?);
        match self.kind {
            Kind::F64 => self.append_as::<f64>(py, &k, &v),
            Kind::F32 => self.append_as::<f32>(py, &k, &v),
            Kind::F16 => self.append_as::<f16>(py, &k, &v),
            Kind::Bf16 => self.append_as::<bf16>(py, &k, &v),
            Kind::Bool => Err(no_numbers(py)),
        }
    }

    #[pyo3(signature = (q, asked=None, wanted=None, bits=false))]
    fn attention<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        asked: Option<&Bound<'py, PyDict>>,
        wanted: Option<&Bound<'py, PyDict>>,
        bits: bool,
    ) -> PyResult<Attended<'py>> {
        let py = q.py();
        let (q, asked) = (self.take(py, q, "q", bits)?, Asked::new(asked, bits)?);
        let wanted = wanted.map(request_of).transpose()?;
        match self.kind {
            Kind::F64 => self.attend::<f64>(py, &q, &asked, wanted),
            Kind::F32 => self.attend::<f32>(py, &q, &asked, wanted),
            Kind::F16 => self.attend::<f16>(py, &q, &asked, wanted),
            Kind::Bf16 => self.attend::<bf16>(py, &q, &asked, wanted),
            Kind::Bool => Err(no_numbers(py)),
        }
    }
}

/// What a new cache is to be.
struct Shape {
    sizes: CacheSizes,
    limit: Option<usize>,
    rows_per_page: Option<usize>,
}

impl Shape {
    fn cache<T: Storage>(&self) -> Result<Cache<T>, AttentionError> {
        let cache = match self.rows_per_page {
            Some(rows) => Cache::paged(self.sizes, rows)?,
            None => Cache::contiguous(self.sizes)?,
        };
        Ok(match self.limit {
            Some(limit) => cache.bounded(limit),
            None => cache,
        })
    }
}

impl KVCache {
    // A thread that panicked has at most appended nothing: the length is written last.
    fn read(&self) -> RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Held> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// An array of the cache's own storage type.
    fn take<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        argument: &'static str,
        bits: bool,
    ) -> PyResult<Array<'py>> {
        let array = take(object, argument, bits)?;
        if array.kind() == self.kind {
            return Ok(array);
        }
        let operation = name(argument).operation;
        let (found, expected) = (array.kind().word(), self.kind.word());
        let message =
            format!("{operation}: `{argument}` has dtype {found}; expected {expected}, as the cache has");
        Err(raise(py, Class::Dtype, message))
    }

    fn append_as<T: Cached>(&self, py: Python<'_>, k: &Array<'_>, v: &Array<'_>) -> PyResult<()> {
        let (k, v) = (k.view::<T>()?, v.view::<T>()?);
        let rows = k.rank().checked_sub(2).map_or(0, |axis| k.dims()[axis]);
        let appended = py.detach(|| {
            let mut held = self.write();
            let Some(cache) = T::of_mut(&mut held) else { return Ok(Ok(())) };
            if !self.has_room::<T>(cache.len(), rows) {
                return Err(());
            }
            Ok(cache.append(k, v))
        });
        match appended {
            Ok(appended) => appended.or_raise(py),
            Err(()) => Err(PyMemoryError::new_err("attention: there is no memory for the cache to grow")),
        }
    }

    /// Whether there is memory for `rows` more. Only what is large is asked for: small pieces are there or nothing is.
    fn has_room<T>(&self, len: usize, rows: usize) -> bool {
        let CacheSizes { batch, heads, key_width, value_width } = self.sizes;
        let rows = match self.rows_per_page {
            Some(page) => rows.next_multiple_of(page.max(1)),
            None => len.saturating_add(rows).saturating_mul(2),
        };
        let width = key_width.saturating_add(value_width).saturating_mul(size_of::<T>());
        let bytes = batch.saturating_mul(heads).saturating_mul(rows).saturating_mul(width);
        bytes < WORTH_ASKING || Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
    }

    fn attend<'py, T: Cached>(
        &self,
        py: Python<'py>,
        q: &Array<'py>,
        asked: &Asked<'py>,
        request: Option<Request>,
    ) -> PyResult<Attended<'py>> {
        let (q, options) = (q.view::<T>()?, asked.options::<T>(py)?);
        // (B, H, N, E); where q does not fit, the problem says so below.
        let mut dims = [1; 4];
        dims[4 - q.rank()..].copy_from_slice(q.dims());
        dims[3] = self.sizes.value_width;
        dims[0] = if dims[0] == 1 { self.sizes.batch } else { dims[0] };
        let out = zeros::<T>(py, dims.iter().fold(1, |all, &n| all.saturating_mul(n)))?;
        let found: Result<_, AttentionError> = {
            let mut writable = out.readwrite();
            let out = numbers_of::<T>(writable.as_slice_mut()?);
            let (request, stop) = (request.unwrap_or_default(), &asked.stop);
            py.detach(|| -> PyResult<_> {
                let held = self.read();
                let Some(cache) = T::of(&held) else { return Ok(Ok(Default::default())) };
                let problem = match cache.problem(q, options) {
                    Ok(problem) => problem,
                    Err(error) => return Ok(Err(error)),
                };
                let keys = problem.sizes().m;
                let found = if lasts(&problem) {
                    work::watch_detached(stop, || forward_into(&problem, &request, out))?
                } else {
                    let problem = on_team(&problem);
                    work::run_detached(|| forward_into(&problem, &request, out))
                };
                Ok(found.map(|statistics| (keys, statistics)))
            })?
        };
        let (keys, statistics) = found.or_raise(py)?;
        let values = out.reshape(dims)?.into_any();
        let statistics = request.map(|_| told(py, &dims[..3], keys, statistics)).transpose()?;
        Ok((values, statistics))
    }
}
