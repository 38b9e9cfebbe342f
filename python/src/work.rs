//! Work runs without the interpreter's lock, in a forked process on threads of its own, and ends when the user says so.
//!
//! A fork copies the memory of the thread pool but not its threads: work given to it in the child would wait for
//! ever. So the child is told (by `os.register_at_fork`), and makes itself a pool on first use; so do its own children.
//!
//! Python notes Ctrl-C and waits for its main thread to look. Work that lasts is therefore given to the pool while
//! the calling thread looks every [`EVERY`]; a flag tells the work to end, and its caller gets `KeyboardInterrupt`.
//! Attention takes the flag as an argument ([`watch`]). A fit, many calls deep, runs in a pool whose threads heed one
//! ([`fit`]; see `spanwise_kernels::stop`).

use pyo3::prelude::*;
use rayon::{Scope, ThreadPool};
use spanwise_kernels::stop::{self, Stopped};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
    let (found, raised) = watched(own_pool(), stop, work);
    match (raised, found) {
        (None, Some(found)) => Ok(found),
        (Some(raised), _) => Err(raised),
        // Only a panic leaves nothing, and it has been carried on.
        (None, None) => unreachable!("work that ends gives a result"),
    }
}

/// Runs `work` in `pool`, or in everybody's, while this thread looks for signals; what was raised sets `stop`.
fn watched<R: Send>(
    pool: Option<&ThreadPool>,
    stop: &AtomicBool,
    work: impl FnOnce() -> R + Send,
) -> (Option<R>, Option<PyErr>) {
    let (result, done, mut raised) = (Mutex::new(None), AtomicBool::new(false), None);
    let caller = Wake { caller: thread::current(), done: &done };
    let to = &result;
    scoped(pool, |scope| {
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
    (result.into_inner().unwrap_or_else(PoisonError::into_inner), raised)
}

/// Runs `op` on this thread, and what it spawns in the pool.
fn scoped<'s>(pool: Option<&ThreadPool>, op: impl FnOnce(&Scope<'s>)) {
    match pool {
        Some(pool) => pool.in_place_scope(op),
        None => rayon::in_place_scope(op),
    }
}

/// Multiplications from which on a fit is worth watching: about a hundredth of a second.
const LASTING: f64 = 2e8;

/// A pool whose threads heed a flag, and the generation of forked processes it was made in.
struct Heeding {
    pool: ThreadPool,
    stop: Arc<AtomicBool>,
    forks: usize,
}

impl Heeding {
    fn new() -> Option<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let heeded = Arc::clone(&stop);
        let threads = rayon::ThreadPoolBuilder::new().start_handler(move |_| stop::heed(Arc::clone(&heeded)));
        let pool = threads.num_threads(threads_of_fits()).build().ok()?;
        Some(Heeding { pool, stop, forks: FORKS.load(Ordering::Relaxed) })
    }

    /// The one that was made before, unless it is in use.
    fn kept() -> Option<Self> {
        let kept = HEEDING.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        if kept.forks == FORKS.load(Ordering::Relaxed) {
            return Some(kept);
        }
        // Its threads are in another process; nothing of it may be waited for.
        std::mem::forget(kept);
        None
    }
}

/// How many threads share a fit: as many as `RAYON_NUM_THREADS` says, else four for each that the machine runs at once.
///
/// The threads of `NumPy`'s and `SciPy`'s linear algebra go on spinning for up to a tenth of a second after each of their calls, one of
/// each for each core, and each takes the share of one thread. With four of ours to a core a fit that follows is some 10 % faster than
/// with two, and without them no slower: the work is cut into more parts than there are threads either way.
fn threads_of_fits() -> usize {
    if std::env::var_os("RAYON_NUM_THREADS").is_some() {
        return 0; // rayon reads it
    }
    4 * thread::available_parallelism().map_or(1, usize::from)
}

/// Signals reach the main thread alone, so one pool is enough. It is taken out while in use.
static HEEDING: Mutex<Option<Heeding>> = Mutex::new(None);

/// Runs a fit of about `products` multiplications with the interpreter free for other threads. One that lasts ends when a
/// signal says so, and what was raised is given back.
pub(crate) fn fit<R: Send>(py: Python<'_>, products: f64, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    if products < LASTING || !is_main_thread(py)? {
        return Ok(run(py, work));
    }
    let Some(heeding) = Heeding::kept().or_else(Heeding::new) else {
        return Ok(run(py, work));
    };
    let caught = || catch_unwind(AssertUnwindSafe(work));
    let (found, raised) = py.detach(|| watched(Some(&heeding.pool), &heeding.stop, caught));
    heeding.stop.store(false, Ordering::Relaxed);
    *HEEDING.lock().unwrap_or_else(PoisonError::into_inner) = Some(heeding);
    match (raised, found) {
        (_, Some(Err(panic))) if !panic.is::<Stopped>() => resume_unwind(panic),
        (Some(raised), _) => Err(raised),
        (None, Some(Ok(found))) => Ok(found),
        (None, _) => unreachable!("work ends with a result, or because something was raised"),
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
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
