//! Work runs without the interpreter's lock, in a forked process on threads of its own, and ends when the user says so.
//!
//! A fork copies the memory of the thread pool but not its threads: work given to it in the child would wait for
//! ever. So the child is told (by `os.register_at_fork`), and makes itself a pool on first use; so do its own children.
//!
//! Python notes Ctrl-C and waits for its main thread to look. Work that lasts is therefore given to another thread while
//! the calling thread looks every [`EVERY`]; a flag tells the work to end, and its caller gets `KeyboardInterrupt`.
//! Attention takes the flag as an argument ([`watch`]). A fit, many calls deep, heeds one ([`fit`]; see
//! `spanwise_kernels::stop`).

use pyo3::prelude::*;
use rayon::ThreadPool;
use spanwise_kernels::crew;
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
/// wait for locks itself, since it may run in a pool whose threads begin other work before they go on.
pub(crate) fn watch_detached<R: Send>(stop: &AtomicBool, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let (found, raised) = watched(stop, || run_detached(work));
    match (found, raised) {
        (Err(panic), _) if !panic.is::<Stopped>() => resume_unwind(panic),
        (_, Some(raised)) => Err(raised),
        (Ok(found), None) => Ok(found),
        (Err(_), None) => unreachable!("work ends with a result, or because something was raised"),
    }
}

/// Runs `work` on a thread of its own while this one looks for signals; what was raised sets `stop`.
fn watched<R: Send>(
    stop: &AtomicBool,
    work: impl FnOnce() -> R + Send,
) -> (thread::Result<R>, Option<PyErr>) {
    // Two can reach it: where no thread can be started, this one does the work, and nobody looks.
    let work = Mutex::new(Some(work));
    let begin = || work.lock().unwrap_or_else(PoisonError::into_inner).take().expect("begun once")();
    let done = AtomicBool::new(false);
    let caller = Wake { caller: thread::current(), done: &done };
    let mut raised = None;
    thread::scope(|scope| {
        let run = || {
            let _told_even_after_a_panic = caller;
            begin()
        };
        let Ok(worker) = thread::Builder::new().name("spanwise-fit".to_owned()).spawn_scoped(scope, run)
        else {
            return (catch_unwind(AssertUnwindSafe(begin)), None);
        };
        while !done.load(Ordering::Acquire) {
            thread::park_timeout(EVERY);
            if raised.is_none() {
                raised = Python::attach(|py| py.check_signals().err());
                stop.fetch_or(raised.is_some(), Ordering::Relaxed);
            }
        }
        (worker.join(), raised)
    })
}

/// Multiplications from which on a fit is worth watching: about a hundredth of a second.
const LASTING: f64 = 2e8;

/// Runs a fit of about `products` multiplications with the interpreter free for other threads. One that lasts ends when a
/// signal says so, and what was raised is given back.
pub(crate) fn fit<R: Send>(py: Python<'_>, products: f64, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    // Signals reach the main thread alone.
    if products < LASTING || !is_main_thread(py)? {
        return Ok(run(py, work));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let heeded = Arc::clone(&stop);
    watch(py, &stop, move || {
        stop::heeding(Some(heeded), || match threads_of_fits() {
            Some(threads) => crew::with_threads(threads, work),
            None => work(),
        })
    })
}

/// Threads of a fit for each that the machine runs at once, where those are few.
const TO_A_CORE: usize = 12;

/// How many threads share a fit: as many as `RAYON_NUM_THREADS` says, else several for each that the machine runs at once.
///
/// The threads of `NumPy`'s and `SciPy`'s linear algebra go on spinning for up to a tenth of a second after each of their calls, one of
/// each for each core, and each takes the share of one thread: beside two of them twelve of ours have six sevenths of a core, four
/// would have two thirds. Without them more threads are no slower: the work is cut into more parts than there are threads either way.
/// A machine of many cores has enough of them with four to each.
fn threads_of_fits() -> Option<usize> {
    let said = std::env::var_os("RAYON_NUM_THREADS").is_some(); // rayon reads it
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    (!said).then(|| (TO_A_CORE * cores()).min(48.max(4 * cores())))
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
