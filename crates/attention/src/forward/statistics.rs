//! What can be asked about the weights, and the answers.

pub use spanwise_kernels::attention::Peak;

/// Which statistics to take. The default asks for none.
#[allow(clippy::struct_excessive_bools, reason = "a list of independent wishes")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The logarithm of each row's denominator.
    pub lse: bool,
    /// `−Σ a·ln a` of each row.
    pub entropy: bool,
    /// The largest weight of each row, and its key.
    pub largest: bool,
    /// The so many largest weights of each row, and their keys.
    pub top_k: usize,
    /// What each key receives from all queries of a head.
    pub received: bool,
    /// How far each row's weights are from adding up to 1.
    pub row_sum_error: bool,
    /// A picture of the weights: their mean and maximum over cells.
    pub map: Option<MapSize>,
}

impl Request {
    /// Whether all weights of a row are needed at once.
    pub(super) fn needs_weights(&self) -> bool {
        self.entropy
            || self.largest
            || self.top_k > 0
            || self.received
            || self.row_sum_error
            || self.map.is_some()
    }
}

/// How many cells a map has: at least 1 × 1, at most one for each weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapSize {
    /// Cells along the queries.
    pub rows: usize,
    /// Cells along the keys.
    pub cols: usize,
}

/// Statistics of the weights; `None` where they were not asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How many rows saw no key at all.
    pub empty_rows: usize,
    /// `(B, H, N)`: the logarithm of each row's denominator, sink included; −∞ for an empty row.
    pub lse: Option<Vec<f64>>,
    /// `(B, H, N)`: `−Σ a·ln a`; 0 for an empty row.
    pub entropy: Option<Vec<f64>>,
    /// `(B, H, N)`: the largest weight and its key.
    pub largest: Option<Vec<Peak>>,
    /// The largest weights of each row.
    pub top: Option<Top>,
    /// `(B, H, M)`: what each key receives from all queries.
    pub received: Option<Vec<f64>>,
    /// `(B, H, N)`: `|Σ a + sink's share − 1|`, with the weights as the output was formed with them. A call that asks for this forms
    /// its sums more exactly than one that does not.
    pub row_sum_error: Option<Vec<f64>>,
    /// The map.
    pub map: Option<Map>,
}

/// The `k` largest weights of each row, largest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    /// How many to a row: what was asked for, or `M` where that is less.
    pub k: usize,
    /// `(B, H, N, k)`. A row with fewer keys of positive weight ends in weights of 0 without a key.
    pub peaks: Vec<Peak>,
}

/// Weights pooled over cells of `N/rows × M/cols` weights.
///
/// Cell `(r, c)` holds the queries from `r·N/rows` to `(r + 1)·N/rows` and the keys from `c·M/cols` to
/// `(c + 1)·M/cols`, bounds rounded down. Hidden weights count as 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Cells along the queries.
    pub rows: usize,
    /// Cells along the keys.
    pub cols: usize,
    /// `(B, H, rows, cols)`.
    pub mean: Vec<f64>,
    /// `(B, H, rows, cols)`.
    pub max: Vec<f64>,
}
