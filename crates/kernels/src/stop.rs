//! Work that can be told to end.
//!
//! A fit is many calls deep, and a flag among the arguments of each of them would be seen everywhere and used in a few
//! places. Instead a thread is told which flag its work heeds ([`heeding`]), and so are those that share the work
//! (`crew`). Wherever a piece of work begins (a leaf of rows, a panel of columns, a step of an iteration) it looks at
//! the flag ([`check`]) and leaves by unwinding, with [`Stopped`] as what is carried: no panic, no message, every
//! buffer freed on the way. Whoever gave the flag catches it there. Work that heeds nothing never leaves.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

thread_local! {
    static HEEDED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// How often work that cannot look itself has somebody look for it.
const EVERY: Duration = Duration::from_millis(50);

/// What work that was told to end carries out of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Runs `work`, which ends at its next [`check`] once `flag` is set; without one it always goes on.
pub fn heeding<R>(flag: Option<Arc<AtomicBool>>, work: impl FnOnce() -> R) -> R {
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            HEEDED.set(self.0.take());
        }
    }
    let _before = Before(HEEDED.replace(flag));
    work()
}

/// The flag that work on this thread heeds.
pub fn heeded() -> Option<Arc<AtomicBool>> {
    HEEDED.with_borrow(Clone::clone)
}

/// Leaves by unwinding if the flag that this thread heeds is set.
#[inline]
pub fn check() {
    let told = HEEDED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
    if told {
        resume_unwind(Box::new(Stopped));
    }
}

/// Runs `work` that has no place to look at a flag, such as a factorisation of another library. On a thread that heeds
/// one, it runs beside it and is left behind when told to end: it then works to its end and its result is dropped.
pub fn beside<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    check();
    if HEEDED.with_borrow(Option::is_none) {
        return work();
    }
    // In a box that two can reach: where no thread can be started, the work is done here.
    let work = Arc::new(Mutex::new(Some(work)));
    let theirs = Arc::clone(&work);
    let (done, result) = sync_channel(1);
    let run = move || {
        if let Some(work) = taken(&theirs) {
            // Nobody receives what was left behind.
            let _ = done.send(work());
        }
    };
    let Ok(handle) = thread::Builder::new().name("spanwise-beside".to_owned()).spawn(run) else {
        return taken(&work).expect("nobody else has begun it")();
    };
    loop {
        match result.recv_timeout(EVERY) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) => check(),
            Err(RecvTimeoutError::Disconnected) => match handle.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("work that ends sends its result"),
            },
        }
    }
}

/// The work, for whoever comes first.
fn taken<W>(work: &Mutex<Option<W>>) -> Option<W> {
    work.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// What comes of `work` on a thread of its own that heeds a flag.
    fn heeding<R: Send + 'static>(
        set: bool,
        work: impl FnOnce(&AtomicBool) -> R + Send + 'static,
    ) -> Result<R, Stopped> {
        let flag = Arc::new(AtomicBool::new(set));
        let thread = thread::spawn(move || {
            catch_unwind(AssertUnwindSafe(|| super::heeding(Some(Arc::clone(&flag)), || work(&flag))))
        });
        thread.join().expect("caught").map_err(|carried| *carried.downcast().expect("only told to end"))
    }

    #[test]
    fn only_work_that_heeds_a_set_flag_ends() {
        check();
        assert_eq!(heeding(false, |_| check()), Ok(()));
        assert_eq!(heeding(true, |_| check()), Err(Stopped));
    }

    #[test]
    fn work_beside_gives_its_result_or_is_left_behind() {
        assert_eq!(beside(|| 7), 7);
        assert_eq!(heeding(false, |_| beside(|| 7)), Ok(7));
        assert_eq!(heeding(true, |_| beside(|| 7)), Err(Stopped));
        let (begun, told) = sync_channel::<()>(0);
        let ended = heeding(false, move |flag| {
            thread::scope(|scope| {
                scope.spawn(move || {
                    told.recv().expect("the work begins");
                    flag.store(true, Ordering::Relaxed);
                });
                // It would never end by itself.
                beside(move || {
                    begun.send(()).expect("somebody listens");
                    loop {
                        thread::park();
                    }
                });
            });
        });
        assert_eq!(ended, Err::<(), _>(Stopped));
    }

    #[test]
    fn a_panic_beside_is_carried_on() {
        let flag = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn(move || {
            super::heeding(Some(flag), || beside(|| resume_unwind(Box::new("what went wrong"))))
        });
        let carried = thread.join().expect_err("the panic");
        assert_eq!(carried.downcast_ref(), Some(&"what went wrong"));
    }
}
