//! Threads that share the work of a pass, and sleep in between.
//!
//! A thread of `rayon` that finds nothing to do looks again thirty times before it sleeps, and each time gives its turn to whoever
//! else wants the core. Beside a thread that never rests (the linear algebra under `NumPy` and `SciPy` leaves one spinning for a tenth
//! of a second after each call) Linux counts every such gift against the giver, and the next piece of work waits until whole turns
//! of the other have made up for it: fits of several passes took half as long again. A thread that sleeps keeps what is due to it. But
//! who sleeps gives the core away, and beside such a thread has it back after one of its turns, some milliseconds: so the caller, who
//! is waited for, does not sleep while others end the last pieces of a pass, unless that takes long.
//!
//! ```text
//!  each ──► this thread ──┐  takes the next item until none is left
//!       ──► sleepers ─────┘  those that wake too late find the call closed, and sleep on
//! ```
//!
//! Which thread takes which item changes no result: items are cut at fixed boundaries, and what comes of them goes where they say.

#![allow(unsafe_code)] // one block: borrowed work is lent to threads that outlive it

use crate::stop;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, LocalKey};
use std::time::{Duration, Instant};
use std::{hint, mem, process};

/// Multiplications that are worth waking a thread: about a tenth of a millisecond.
const WORTH_A_THREAD: usize = 2_000_000;

/// Calls `work` with each of the items, begun in their order, on as many threads as [`with_threads`] said, else as the current pool
/// of `rayon` has; on fewer where all together take no more than a few million `multiplications`.
pub fn each<I>(multiplications: usize, items: I, work: impl Fn(I::Item) + Sync)
where
    I: ExactSizeIterator + Send,
{
    let worth = (multiplications / WORTH.get()).min(items.len());
    if worth <= 1 || SHARING.get() {
        return items.for_each(work);
    }
    let threads = THREADS.get().unwrap_or_else(rayon::current_num_threads);
    let items = Mutex::new(items);
    run(worth.min(threads), &|| {
        loop {
            let item = locked(&items).next();
            let Some(item) = item else { return };
            work(item);
        }
    });
}

/// The same, with what comes of each item, in their order.
pub fn map<I, R>(multiplications: usize, items: I, work: impl Fn(I::Item) -> R + Sync) -> Vec<R>
where
    I: ExactSizeIterator + Send,
    R: Send,
{
    let mut found: Vec<Option<R>> = (0..items.len()).map(|_| None).collect();
    each(multiplications, items.zip(&mut found), |(item, found)| *found = Some(work(item)));
    found.into_iter().map(|found| found.expect("every item was worked on")).collect()
}

/// What `work` shares, it shares among so many threads.
pub fn with_threads<R>(threads: usize, work: impl FnOnce() -> R) -> R {
    let _before = Restored::new(&THREADS, Some(threads));
    work()
}

/// The same, exactly so many however little there is to do: to show that the number of threads changes no result.
pub fn with_exactly<R>(threads: usize, work: impl FnOnce() -> R) -> R {
    let _before = Restored::new(&WORTH, 1);
    with_threads(threads, work)
}

/// How long the caller waits for the others before it sleeps: the last pieces of most passes take less.
const AWAKE: Duration = Duration::from_micros(300);

type Work<'w> = dyn Fn() + Sync + 'w;

thread_local! {
    /// Whether this thread is at work that is shared already: what it shares in turn it does alone.
    static SHARING: Cell<bool> = const { Cell::new(false) };
    /// How many threads this one shares its work among at most, if somebody has said so.
    static THREADS: Cell<Option<usize>> = const { Cell::new(None) };
    /// Multiplications for each of them, at least.
    static WORTH: Cell<usize> = const { Cell::new(WORTH_A_THREAD) };
}

/// The threads of the last call, unless they are at work. Where they are, somebody else's call is under way, and this one gets its own.
static SPARE: Mutex<Option<Crew>> = Mutex::new(None);

struct Crew {
    shared: Arc<Shared>,
    threads: usize,
    /// A forked process has a copy of this, but no threads.
    process: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// How many are at work; changed under the lock, so that who waits for `idle` misses nothing.
    busy: AtomicUsize,
    /// There is a call, or all is over.
    called: Condvar,
    /// Nobody is busy any more.
    idle: Condvar,
}

#[derive(Default)]
struct State {
    call: Option<Call>,
    /// What one of them panicked with.
    panic: Option<Box<dyn Any + Send>>,
    /// Whether the threads are to end.
    over: bool,
}

struct Call {
    work: &'static Work<'static>,
    /// What the caller heeds.
    heeded: Option<Arc<AtomicBool>>,
    /// How many may still join.
    open: usize,
}

/// Calls `work` on this thread and at the same time on up to `threads − 1` others, and returns when all of them have.
fn run(threads: usize, work: &Work<'_>) {
    if threads <= 1 {
        return work();
    }
    // A process may be forked while somebody holds the lock; waiting for it could then last for ever.
    let spare = SPARE.try_lock().ok().and_then(|mut spare| spare.take());
    let mut crew = match spare {
        Some(crew) if crew.process == process::id() => crew,
        foreign => {
            // Nothing of another process's threads may be waited for, or woken.
            mem::forget(foreign);
            Crew { shared: Arc::default(), threads: 0, process: process::id() }
        }
    };
    crew.grow(threads - 1);
    crew.call(threads - 1, work);
    if let Ok(mut spare) = SPARE.try_lock()
        && spare.is_none()
    {
        *spare = Some(crew);
    }
}

impl Crew {
    /// Starts threads until there are so many, or no more can be started.
    fn grow(&mut self, threads: usize) {
        while self.threads < threads {
            let shared = Arc::clone(&self.shared);
            let started = thread::Builder::new().name("spanwise".to_owned()).spawn(move || shared.serve());
            if started.is_err() {
                return;
            }
            self.threads += 1;
        }
    }

    /// Calls `work` here and on up to `others` of the threads.
    fn call(&self, others: usize, work: &Work<'_>) {
        // SAFETY: the work is lent until `closing` is dropped, which no path leaves out: from then on no thread is at it, and none begins.
        let lent = unsafe { mem::transmute::<&Work<'_>, &'static Work<'static>>(work) };
        let closing = Closing(&self.shared);
        locked(&self.shared.state).call = Some(Call { work: lent, heeded: stop::heeded(), open: others });
        // All at once, those too for whom the call is not open: the first one to be woken may take this thread's core, and keep it for
        // milliseconds, before a second call of the system has woken another.
        self.shared.called.notify_all();
        sharing(work);
        drop(closing);
        let panic = locked(&self.shared.state).panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        locked(&self.shared.state).over = true;
        self.shared.called.notify_all();
    }
}

/// Ends a call when dropped: nobody joins any more, and those who have are waited for.
struct Closing<'c>(&'c Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Shared { state, busy, idle, .. } = self.0;
        locked(state).call = None;
        let start = Instant::now();
        while busy.load(Ordering::Acquire) > 0 && start.elapsed() < AWAKE {
            hint::spin_loop();
        }
        let mut state = locked(state);
        while busy.load(Ordering::Acquire) > 0 {
            state = idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Shared {
    /// What a thread does: it joins each call that is open to it, and sleeps in between.
    fn serve(&self) {
        let mut state = locked(&self.state);
        while !state.over {
            let open = state.call.as_mut().filter(|call| call.open > 0);
            let Some(call) = open else {
                state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            call.open -= 1;
            let (work, heeded) = (call.work, call.heeded.clone());
            self.busy.fetch_add(1, Ordering::AcqRel);
            drop(state);
            let panic = catch_unwind(AssertUnwindSafe(|| stop::heeding(heeded, || sharing(work)))).err();
            state = locked(&self.state);
            state.panic = panic.or(state.panic.take());
            if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.idle.notify_one();
            }
        }
    }
}

/// Does work that others share.
fn sharing(work: &Work<'_>) {
    let _before = Restored::new(&SHARING, true);
    work();
}

/// Something of this thread that has another value until this is dropped.
struct Restored<T: Copy + 'static> {
    of: &'static LocalKey<Cell<T>>,
    before: T,
}

impl<T: Copy> Restored<T> {
    fn new(of: &'static LocalKey<Cell<T>>, value: T) -> Self {
        Restored { of, before: of.replace(value) }
    }
}

impl<T: Copy> Drop for Restored<T> {
    fn drop(&mut self) {
        self.of.set(self.before);
    }
}

/// What was locked when a thread panicked is whole all the same: it is never left half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Enough that every item is worth a thread.
    const MUCH: usize = usize::MAX;

    #[test]
    fn every_item_is_worked_on_once_and_answers_come_in_order() {
        for threads in [1, 2, 3, 8] {
            with_threads(threads, || {
                for count in [0, 1, 2, 7, 100] {
                    let calls = AtomicUsize::new(0);
                    let squares = map(MUCH, 0..count, |i| {
                        calls.fetch_add(1, Ordering::Relaxed);
                        i * i
                    });
                    assert_eq!(squares, (0..count).map(|i| i * i).collect::<Vec<_>>(), "{threads} threads");
                    assert_eq!(calls.into_inner(), count);
                }
            });
        }
    }

    #[test]
    fn as_many_threads_as_asked_for_work_at_the_same_time() {
        // Each waits until all three are there.
        let there = std::sync::Barrier::new(3);
        with_threads(3, || {
            each(MUCH, 0..3, |_| {
                there.wait();
            });
        });
    }

    #[test]
    fn little_work_and_work_that_is_shared_already_stay_on_their_thread() {
        let here = thread::current().id();
        each(WORTH_A_THREAD, 0..9, |_| assert_eq!(thread::current().id(), here));
        with_threads(4, || {
            each(MUCH, 0..4, |_| {
                let outer = thread::current().id();
                each(MUCH, 0..4, |_| assert_eq!(thread::current().id(), outer));
            });
        });
    }

    #[test]
    fn calls_at_the_same_time_do_not_wait_for_each_other() {
        let both = std::sync::Barrier::new(2);
        let call = || {
            with_threads(2, || {
                each(MUCH, 0..2, |i| {
                    if i == 0 {
                        both.wait();
                    }
                });
            });
        };
        thread::scope(|scope| {
            scope.spawn(call);
            call();
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_next_call_works() {
        for _ in 0..3 {
            let all = std::sync::Barrier::new(3);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                with_threads(3, || {
                    each(MUCH, 0..3, |i| {
                        all.wait();
                        if i == 1 {
                            resume_unwind(Box::new("what went wrong"));
                        }
                    });
                });
            }));
            assert_eq!(caught.expect_err("the panic").downcast_ref(), Some(&"what went wrong"));
            assert_eq!(with_threads(3, || map(MUCH, 0..3, |i| i)), [0, 1, 2]);
        }
    }

    #[test]
    fn everybody_heeds_what_the_caller_heeds() {
        let flag = Arc::new(AtomicBool::new(false));
        let given = Arc::clone(&flag);
        let caller = thread::spawn(move || {
            let all = std::sync::Barrier::new(2);
            let told = || {
                each(MUCH, 0..2, |_| {
                    all.wait();
                    flag.store(true, Ordering::Relaxed);
                    stop::check();
                    unreachable!("told to end");
                });
            };
            catch_unwind(AssertUnwindSafe(|| stop::heeding(Some(given), || with_threads(2, told))))
        });
        let carried = caller.join().expect("caught").expect_err("told to end");
        assert_eq!(carried.downcast_ref(), Some(&stop::Stopped));
        // Nobody does any more.
        with_threads(2, || each(MUCH, 0..2, |_| stop::check()));
    }
}
