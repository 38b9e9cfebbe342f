//! Work runs without the interpreter's lock, and in a forked process on threads of its own.
//!
//! A fork copies the memory of the thread pool but not its threads: work given to it in the child would wait for
//! ever. So the child is told (by `os.register_at_fork`), and makes itself a pool on first use.

use pyo3::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static FORKED: AtomicBool = AtomicBool::new(false);
static OWN_POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();

/// Called in the child after a fork.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Runs `work` with the interpreter free for other threads.
pub(crate) fn run<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    py.detach(|| {
        if FORKED.load(Ordering::Relaxed) {
            // Where no thread can be started, the work runs on this one, and so do its parts.
            let pool = OWN_POOL.get_or_init(|| rayon::ThreadPoolBuilder::new().build().ok());
            if let Some(pool) = pool {
                return pool.install(work);
            }
        }
        work()
    })
}
