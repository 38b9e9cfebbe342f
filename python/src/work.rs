//! Work runs without the interpreter's lock, in a forked process on threads of its own, and ends when the user says so.
//!
//! A fork copies the memory of the thread pool but not its threads: work given to it in the child would wait for
//! ever. So the child is told (by `os.register_at_fork`), and makes itself a pool on first use; so do its own children.
//!
//! Python notes Ctrl-C and waits for its main thread to look. Work that lasts is therefore given to the pool while
//! the calling thread looks every [`EVERY`]; a flag tells the work to end, and its caller gets `KeyboardInterrupt`.

use pyo3::prelude::*;
use rayon::{Scope, ThreadPool};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often the caller of long work looks for signals.
const EVERY: Duration = Duration::from_millis(50);

/// How many forks lie between the process that loaded this module and this one, as far as they are counted.
static FORKS: AtomicUsize = AtomicUsize::new(0);
const MOST_FORKS: usize = 256;
/// The pool of each generation of forked processes: a process inherits the older ones without their threads.
static OWN_POOLS: [OnceLock<Option<ThreadPool>>; MOST_FORKS] = [const { OnceLock::new() }; MOST_FORKS];

/// Called in the child after a fork.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Whether this is a process that was forked from one with threads.
pub(crate) fn is_forked() -> bool {
    FORKS.load(Ordering::Relaxed) > 0
}

/// The pool of a forked process. Where no thread can be started there is none.
fn own_pool() -> Option<&'static ThreadPool> {
    let generation = FORKS.load(Ordering::Relaxed).checked_sub(1)?;
    OWN_POOLS[generation.min(MOST_FORKS - 1)]
        .get_or_init(|| rayon::ThreadPoolBuilder::new().build().ok())
        .as_ref()
}

/// Runs `work` with the interpreter free for other threads.
pub(crate) fn run<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    py.detach(|| run_detached(work))
}

/// The same of a thread that has let the interpreter go already.
pub(crate) fn run_detached<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match own_pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// The same for work that may last: a signal whose handler raises sets `stop`, and once the work has seen it, what was raised
/// is given back instead of a result.
pub(crate) fn watch<R: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    py.detach(|| watch_detached(stop, work))
}

/// The same of a thread that has let the interpreter go already. What that thread holds, the work may use; it must not
/// wait for locks itself, since a thread of the pool may begin other work before it goes on.
pub(crate) fn watch_detached<R: Send>(stop: &AtomicBool, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let (result, done, mut raised) = (Mutex::new(None), AtomicBool::new(false), None);
    let caller = Wake { caller: thread::current(), done: &done };
    let to = &result;
    scoped(|scope| {
        scope.spawn(move |_| {
            let _told_even_after_a_panic = caller;
            let found = work();
            *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        });
        while !done.load(Ordering::Acquire) {
            thread::park_timeout(EVERY);
            if raised.is_none() {
                raised = Python::attach(|py| py.check_signals().err());
                stop.fetch_or(raised.is_some(), Ordering::Relaxed);
            }
        }
    });
    match (raised, result.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        (None, Some(found)) => Ok(found),
        (Some(raised), _) => Err(raised),
        // Only a panic leaves nothing, and it has been carried on above.
        (None, None) => unreachable!("work that ends gives a result"),
    }
}

/// Runs `op` on this thread, and what it spawns in the pool.
fn scoped<'s>(op: impl FnOnce(&Scope<'s>)) {
    match own_pool() {
        Some(pool) => pool.in_place_scope(op),
        None => rayon::in_place_scope(op),
    }
}

/// Tells a waiting thread that there is nothing left to wait for, when dropped.
struct Wake<'d> {
    caller: Thread,
    done: &'d AtomicBool,
}

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.caller.unpark();
    }
}
