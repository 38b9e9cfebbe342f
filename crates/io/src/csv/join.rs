//! Chunks, parsed in any order, joined in the file's order.
//!
//! What comes out is the same for any number of threads: chunks are cut at places that depend on the file alone, and
//! are appended by their position. So are errors: of several, the first in the file is reported.

use super::parse::{Parsed, Part, Want, parse};
use crate::levels::Levels;
use crate::table::Categories;
use crate::{IoError, Place};
use hashbrown::DefaultHashBuilder;
use rayon::iter::{ParallelBridge, ParallelIterator};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Columns of all chunks so far.
pub(super) struct Joined {
    pub(super) rows: u64,
    pub(super) columns: Vec<JoinedColumn>,
    /// Number columns in which text was met.
    pub(super) misfits: Vec<usize>,
}

/// A column of all chunks so far.
pub(super) enum JoinedColumn {
    Skip,
    Numbers(Vec<f64>),
    Text { codes: Vec<u32>, levels: Levels },
}

/// Whether values are kept, or only the levels of text and the fitness of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Values,
    LevelsOnly,
}

impl Joined {
    pub(super) fn new(plan: &Plan) -> Self {
        let column = |want: &Want| match want {
            Want::Skip => JoinedColumn::Skip,
            Want::Numbers => JoinedColumn::Numbers(Vec::new()),
            Want::Text => JoinedColumn::Text { codes: Vec::new(), levels: Levels::new(plan.hasher.clone()) },
        };
        Joined { rows: 0, columns: plan.wants.iter().map(column).collect(), misfits: Vec::new() }
    }

    /// Forgets the first `rows` rows.
    pub(super) fn drop_rows(&mut self, rows: usize) {
        for column in &mut self.columns {
            match column {
                JoinedColumn::Skip => {}
                JoinedColumn::Numbers(numbers) => drop(numbers.drain(..rows)),
                JoinedColumn::Text { codes, .. } => drop(codes.drain(..rows)),
            }
        }
    }

    /// Which of the file's columns are read, from 0.
    pub(super) fn positions(&self) -> Vec<usize> {
        let read = |column: &JoinedColumn| !matches!(column, JoinedColumn::Skip);
        (0..self.columns.len()).filter(|&index| read(&self.columns[index])).collect()
    }

    /// Levels of all columns together.
    pub(super) fn level_count(&self) -> usize {
        let count = |column: &JoinedColumn| match column {
            JoinedColumn::Text { levels, .. } => levels.texts.len(),
            _ => 0,
        };
        self.columns.iter().map(count).sum()
    }

    /// Makes room for as many rows as there would be if all of the `total` bytes were like the `first` ones.
    pub(super) fn reserve(&mut self, first: &[u8], total: u64) {
        let lines = memchr::memchr_iter(b'\n', first).count() as u64;
        // 1 % more than expected. Lines may be blank, so never more than the bytes can hold: a field and a delimiter
        // or line end take a byte at least, and a record of a single field takes two.
        let rows = lines.saturating_mul(total) / (first.len() as u64).max(1);
        let least = self.columns.len().max(2) as u64;
        let rows = (rows + rows / 100).min(total / least + 1) as usize;
        for column in &mut self.columns {
            match column {
                JoinedColumn::Skip => {}
                JoinedColumn::Numbers(numbers) => numbers.reserve(rows),
                JoinedColumn::Text { codes, .. } => codes.reserve(rows),
            }
        }
    }

    /// Appends the next chunk.
    pub(super) fn append(&mut self, parsed: Parsed, keep: Keep) {
        self.rows += parsed.rows as u64;
        for column in parsed.misfits {
            if !self.misfits.contains(&column) {
                self.misfits.push(column);
            }
        }
        for (column, part) in self.columns.iter_mut().zip(parsed.parts) {
            match (column, part) {
                (JoinedColumn::Numbers(all), Part::Numbers(part)) if keep == Keep::Values => {
                    all.extend_from_slice(&part);
                }
                (JoinedColumn::Text { codes, levels }, Part::Text(part)) => {
                    let map: Vec<u32> =
                        part.levels().map(|(hash, text)| levels.code_of_hash(hash, text)).collect();
                    if keep == Keep::Values {
                        // A code that is none of the chunk's levels is the missing one.
                        let joined = |code: &u32| *map.get(*code as usize).unwrap_or(&Categories::MISSING);
                        codes.extend(part.codes.iter().map(joined));
                    }
                }
                _ => {}
            }
        }
    }
}

/// What every pass over a file needs to know.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) file: Place,
    pub(super) delimiter: u8,
    pub(super) wants: Vec<Want>,
    /// The file's row that the first record behind the header is, from 1.
    pub(super) first_row: u64,
    /// Shared, so that a text hashed in a chunk need not be hashed again where chunks are joined.
    pub(super) hasher: DefaultHashBuilder,
}

/// Parses `chunks` with as many threads as there are and appends them to `joined`.
pub(super) fn join(
    chunks: impl Iterator<Item = Result<Vec<u8>, IoError>> + Send,
    plan: &Plan,
    joined: &mut Joined,
    keep: Keep,
) -> Result<(), IoError> {
    let stopped = AtomicBool::new(false);
    let state = Mutex::new(State { plan, keep, next: 0, waiting: BTreeMap::new(), joined, error: None });
    // The bridge takes chunks from the iterator one at a time, whichever thread is free: reading is in order and by
    // one thread at a time, parsing is not.
    chunks.take_while(|_| !stopped.load(Ordering::Relaxed)).enumerate().par_bridge().for_each(
        |(position, chunk)| {
            let parsed = chunk.map(|bytes| parse(&bytes, plan));
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.take(position, parsed);
            if state.error.is_some() {
                stopped.store(true, Ordering::Relaxed);
            }
        },
    );
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.error.map_or(Ok(()), Err)
}

/// What threads share while chunks are joined.
struct State<'a> {
    plan: &'a Plan,
    keep: Keep,
    /// The position of the chunk to be appended next.
    next: usize,
    /// Chunks that were parsed before their turn.
    waiting: BTreeMap<usize, Result<Parsed, IoError>>,
    joined: &'a mut Joined,
    error: Option<IoError>,
}

impl State<'_> {
    fn take(&mut self, position: usize, parsed: Result<Parsed, IoError>) {
        self.waiting.insert(position, parsed);
        while self.error.is_none()
            && let Some(turn) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            match turn {
                Ok(mut parsed) => {
                    let error = parsed.error.take();
                    self.joined.append(parsed, self.keep);
                    let row = self.plan.first_row + self.joined.rows;
                    self.error = error.map(|error| error.located(self.plan.file.clone(), row));
                }
                Err(error) => self.error = Some(error),
            }
        }
    }
}
