//! One call of an attention layer: its output, and the statistics that a tally takes from it.
//!
//! ```text
//! forward   ──► output, entropy and largest weight of every row, mass received, pooled map      all queries
//! padding?  ──► mass received again, from the queries that are tokens alone
//! NaN?      ──► the same, without the rows that are lost to it
//! ```
//!
//! Queries that are padding give keys mass like any other, and a row that a NaN reaches takes every sum along; the library's
//! sum over queries cannot leave them out afterwards. So where some of them see a key, the mass is formed once more with those
//! rows hidden, and with values of width 1, which is less than half the work.

use crate::LessonError;
use crate::explain::seen::seen;
use spanwise_attention::{
    AttentionError, Blocks, MapSize, Options, Problem, Request, Sizes, Statistics, Team, forward_into,
};
use spanwise_kernels::View;
use spanwise_kernels::attention::Storage;
use std::sync::atomic::Ordering;

/// A call of an attention layer.
#[derive(Clone, Copy)]
pub struct LayerCall<'a, T> {
    /// Queries `(B, H, N, D)`.
    pub q: View<'a, T>,
    /// Keys `(B, G, M, D)`.
    pub k: View<'a, T>,
    /// Values `(B, G, M, E)`.
    pub v: View<'a, T>,
    /// Scale, masks and biases.
    pub options: Options<'a, T>,
    /// Whose threads evaluate it; the global pool's where there is nobody.
    pub team: Option<&'a dyn Team>,
    /// Which queries are tokens and which padding, `B × N`; all are tokens where nothing is said.
    pub tokens: Option<&'a [bool]>,
    /// The place of the first key among all tokens of the sequence.
    pub first_key: usize,
    /// Cells along each side of the pooled map, at most.
    pub cells: usize,
}

/// What was seen of a call.
pub(super) struct Seen {
    pub(super) sizes: Sizes,
    pub(super) statistics: Statistics,
    /// How many keys each row sees, `B × H × N`.
    pub(super) keys: Vec<usize>,
}

impl<'a, T: Storage> LayerCall<'a, T> {
    /// Computes the output into `out`, `(B, H, N, E)`; `None` where the work was stopped.
    pub(super) fn run(&self, out: &mut [T]) -> Result<Option<Seen>, LessonError> {
        let problem = self.problem(self.v, &self.options)?;
        let sizes = problem.sizes();
        let Sizes { b, n, m, .. } = sizes;
        if let Some(tokens) = self.tokens.filter(|tokens| tokens.len() != b * n) {
            return Err(LessonError::Tokens { found: tokens.len(), batch: b, queries: n });
        }
        let cells = |count: usize| self.cells.clamp(1, count.max(1));
        let request = Request {
            entropy: true,
            largest: true,
            received: true,
            map: (n > 0 && m > 0).then(|| MapSize { rows: cells(n), cols: cells(m) }),
            ..Request::default()
        };
        let mut statistics = forward_into(&problem, &request, out)?;
        if let Some(rows) = self.rows_alone(sizes, &statistics) {
            statistics.received = Some(self.received_from(&rows, sizes)?);
        }
        let stopped = self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        Ok((!stopped).then(|| Seen { sizes, statistics, keys: seen(&problem) }))
    }

    fn problem<'p>(&self, v: View<'p, T>, options: &Options<'p, T>) -> Result<Problem<'p, T>, AttentionError>
    where
        'a: 'p,
    {
        let problem = Problem::new(self.q, self.k, v, *options)?;
        Ok(self.team.map_or(problem, |team| problem.on(team)))
    }

    /// The rows that mass counts from, `B × N` or `B × H × N`, where some must not: padding that sees a key, and rows that are lost.
    fn rows_alone(&self, Sizes { b, h, n, .. }: Sizes, statistics: &Statistics) -> Option<Vec<bool>> {
        let largest = statistics.largest.as_deref().unwrap_or_default();
        let is_token = |row: usize| self.tokens.is_none_or(|tokens| tokens[row / (h * n) * n + row % n]);
        if largest.iter().any(|peak| peak.weight.is_nan()) {
            return Some((0..b * h * n).map(|row| is_token(row) && !largest[row].weight.is_nan()).collect());
        }
        let padding_looks = (0..largest.len()).any(|row| largest[row].weight != 0.0 && !is_token(row));
        self.tokens.filter(|_| padding_looks).map(<[bool]>::to_vec)
    }

    /// What each key receives from such rows, `B × H × M`.
    fn received_from(&self, rows: &[bool], sizes: Sizes) -> Result<Vec<f64>, LessonError> {
        let Sizes { b, h, n, m, e, .. } = sizes;
        let heads = rows.len() / (b * n);
        let rows = View::new(rows, &[b, heads, n, 1])?;
        let both: Vec<bool>;
        let mut options = self.options;
        // Whichever of mask and blocks is free hides rows without an entry for each of their keys: never an N × M mask.
        match (self.options.mask, self.options.blocks) {
            (None, _) => options.mask = Some(rows),
            (Some(_), None) => options.blocks = Some(Blocks { rows: 1, cols: m.max(1), keep: rows }),
            (Some(_), Some(blocks)) => {
                let keep = blocks.keep.with_leading_axes(4);
                let (down, across) = (n.div_ceil(blocks.rows), keep.dims()[3]);
                let dims = [b, keep.dims()[1].max(heads), n, across];
                let keep = keep.broadcast_to(&[b, dims[1], down, across])?;
                let rows = rows.broadcast_to(&dims)?;
                let kept = |(at, row): (usize, bool)| {
                    let (line, j) = (at / across, at % across);
                    let place = [line / (dims[1] * n), line / n % dims[1], line % n / blocks.rows, j];
                    row && keep.get(&place) == Some(true)
                };
                both = rows.iter().enumerate().map(kept).collect();
                options.blocks = Some(Blocks { rows: 1, cols: blocks.cols, keep: View::new(&both, &dims)? });
            }
        }
        let narrow = self.v.narrowed(self.v.rank().saturating_sub(1), 0..e.min(1)).unwrap_or(self.v);
        let problem = self.problem(narrow, &options)?;
        let mut unused = vec![T::default(); b * h * n * problem.sizes().e];
        let request = Request { received: true, ..Request::default() };
        let statistics = forward_into(&problem, &request, &mut unused)?;
        Ok(statistics.received.unwrap_or_default())
    }
}
