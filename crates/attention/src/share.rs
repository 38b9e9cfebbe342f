//! Pieces of work, taken by whoever is free.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads of another library, which run the work instead of the global pool.
///
/// Libraries that compute with several threads often let them spin between calls, so as to start at once. Work that follows on
/// other threads shares the cores with them; work on these very threads does not. See [`Problem::on`](crate::Problem::on).
pub trait Team: fmt::Debug + Sync {
    /// How many there are, the calling one included.
    fn threads(&self) -> usize;
    /// Calls `work` once on each of them, the calling one included, and returns when all have returned. Should one of them
    /// panic, so does this.
    fn run(&self, work: &(dyn Fn() + Sync));
}

/// Who takes which task.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Turns {
    /// Whoever is free takes the next one.
    Next,
    /// Each thread begins with a run of its own, and helps with the others' when it is through: tasks that follow each other in memory are
    /// then read by one thread from front to back, which the processor foresees.
    Runs,
}

/// How tasks are run.
pub(crate) struct Sharing<'t, S> {
    /// Who runs them; the global pool where there is nobody else.
    pub(crate) team: Option<&'t dyn Team>,
    /// By all threads, or by this one alone.
    pub(crate) shared: bool,
    pub(crate) turns: Turns,
    /// Once this is true no further task is begun.
    pub(crate) stopped: S,
}

/// Runs all tasks, begun in their order or in that of each run, and gives their results in that order, without those of tasks that were not begun.
/// `scratch` is made once per thread.
pub(crate) fn share<T: Send, S, R: Send>(
    tasks: Vec<T>,
    Sharing { team, shared, turns, stopped }: Sharing<'_, impl Fn() -> bool + Sync>,
    scratch: impl Fn() -> S + Sync,
    run: impl Fn(T, &mut S) -> R + Sync,
) -> Vec<R> {
    let all = || team.map_or_else(rayon::current_num_threads, Team::threads);
    let threads = if shared { all().min(tasks.len()) } else { 1 };
    if threads <= 1 {
        let mut scratch = scratch();
        return tasks.into_iter().take_while(|_| !stopped()).map(|task| run(task, &mut scratch)).collect();
    }
    let both: Vec<_> = tasks.into_iter().map(|task| (Mutex::new(Some(task)), Mutex::new(None))).collect();
    let runs = if turns == Turns::Runs { threads } else { 1 };
    let border = |run: usize| run * both.len() / runs;
    let next: Vec<AtomicUsize> = (0..runs).map(|run| AtomicUsize::new(border(run))).collect();
    let begun = AtomicUsize::new(0);
    let work = || {
        let mut scratch = scratch();
        let own = begun.fetch_add(1, Ordering::Relaxed);
        for run_of in (0..runs).map(|i| (own + i) % runs) {
            let end = border(run_of + 1);
            loop {
                let at = next[run_of].fetch_add(1, Ordering::Relaxed);
                if at >= end {
                    break;
                }
                if stopped() {
                    return;
                }
                // Each is taken once, so the locks are never waited for.
                let (task, result) = &both[at];
                let task = task.lock().ok().and_then(|mut task| task.take());
                if let (Some(task), Ok(mut result)) = (task, result.lock()) {
                    *result = Some(run(task, &mut scratch));
                }
            }
        }
    };
    match team {
        Some(team) => team.run(&work),
        None => rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| work()))),
    }
    both.into_iter().filter_map(|(_, result)| result.into_inner().ok().flatten()).collect()
}

/// Results that are to be used in the order of their numbers, whoever is ready first: so that sums do not depend on threads.
pub(crate) struct InOrder<R> {
    /// Whose turn it is.
    next: usize,
    /// Those that are ready too early.
    early: Vec<Option<R>>,
}

impl<R> InOrder<R> {
    /// For so many.
    pub(crate) fn new(count: usize) -> Self {
        InOrder { next: 0, early: (0..count).map(|_| None).collect() }
    }

    /// Takes result number `at`, and calls `used` with each one whose turn has come.
    pub(crate) fn put(&mut self, at: usize, result: R, mut used: impl FnMut(R)) {
        self.early[at] = Some(result);
        while let Some(result) = self.early.get_mut(self.next).and_then(Option::take) {
            self.next += 1;
            used(result);
        }
    }

    /// Whether all have been used.
    pub(crate) fn is_done(&self) -> bool {
        self.next == self.early.len()
    }
}

/// The first `count` of `rest`, which loses them.
#[allow(clippy::mut_mut, reason = "what is left has to be left in place")]
pub(crate) fn take<'o, U>(rest: &mut &'o mut [U], count: usize) -> &'o mut [U] {
    let (first, behind) = std::mem::take(rest).split_at_mut(count);
    *rest = behind;
    first
}
