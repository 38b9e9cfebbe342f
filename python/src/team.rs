//! `PyTorch`'s threads, which attention borrows where `PyTorch` is loaded.
//!
//! `PyTorch` computes with `OpenMP`, whose threads spin for some milliseconds after every operation. Attention between two of
//! them would share the cores with those threads; instead it asks `OpenMP` to run its work on them. How many there are,
//! `torch.set_num_threads` decides.

#![allow(unsafe_code, reason = "another library's threads are asked for through its C functions")]

use crate::work;
use pyo3::prelude::*;
use spanwise::attend::Team;
use std::any::Any;
use std::ffi::{c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

/// `GOMP_parallel(fn, data, threads, flags)`: calls `fn(data)` on every thread of a team; with 0 threads, as many as are usual.
type Parallel = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);
/// `omp_get_max_threads()`.
type Threads = unsafe extern "C" fn() -> c_int;

/// The `OpenMP` that `PyTorch` has loaded.
#[derive(Debug)]
struct OpenMp {
    parallel: Parallel,
    threads: Threads,
}

static OPEN_MP: OnceLock<OpenMp> = OnceLock::new();

/// The team of the calling thread, if there is one; a forked process has lost its threads.
pub(crate) fn team() -> Option<&'static dyn Team> {
    if work::is_forked() {
        return None;
    }
    OPEN_MP.get().map(|found| found as &dyn Team)
}

/// Takes the addresses of the functions `GOMP_parallel` and `omp_get_max_threads` of a library that stays loaded. Only
/// `spanwise._team` calls this.
#[pyfunction]
pub(crate) fn use_openmp(parallel: usize, threads: usize) {
    if parallel == 0 || threads == 0 {
        return;
    }
    // SAFETY: the caller vouches that these are the two functions, of the types above, and that they stay where they are.
    let found = unsafe {
        OpenMp {
            parallel: std::mem::transmute::<usize, Parallel>(parallel),
            threads: std::mem::transmute::<usize, Threads>(threads),
        }
    };
    // Where two threads import torch at once, the first one's answer is as good.
    OPEN_MP.set(found).ok();
}

/// What all threads of a team do, and what the first of them that panicked said.
struct Job<'w> {
    work: &'w (dyn Fn() + Sync),
    panicked: Mutex<Option<Box<dyn Any + Send>>>,
}

/// One thread's part.
extern "C" fn enter(job: *mut c_void) {
    // SAFETY: `run` passes a job that lives until all threads have returned, and whose parts may be shared.
    let job = unsafe { &*job.cast_const().cast::<Job<'_>>() };
    // Unwinding must not pass through `OpenMP`.
    if let Err(said) = catch_unwind(AssertUnwindSafe(job.work)) {
        job.panicked.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(said);
    }
}

impl Team for OpenMp {
    fn threads(&self) -> usize {
        // SAFETY: `OpenMP`'s function has no preconditions.
        usize::try_from(unsafe { (self.threads)() }).unwrap_or(1).max(1)
    }

    fn run(&self, work: &(dyn Fn() + Sync)) {
        let job = Job { work, panicked: Mutex::new(None) };
        // SAFETY: the call returns when every thread has left `enter`, so the job outlives all uses of it.
        unsafe { (self.parallel)(enter, (&raw const job).cast_mut().cast(), 0, 0) };
        if let Some(said) = job.panicked.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(said);
        }
    }
}
