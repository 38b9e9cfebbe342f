//! Why a problem cannot be built.

use spanwise_kernels::Shape;

/// What does not fit between q, k, v and the options.
///
/// `Display` is one line: operation, argument, what was found, what was expected. [`AttentionError::hint`] says
/// what probably happened, where that can be told.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AttentionError {
    /// q, k or v is a vector or a scalar.
    #[error("attention: `{argument}` has shape {found}; expected 2 to 4 dimensions (…, rows, width)")]
    Rank {
        /// `q`, `k` or `v`.
        argument: &'static str,
        /// Its shape.
        found: Shape,
    },

    /// q and k differ in width.
    #[error("attention: `k` has width {k_width}, `q` has width {q_width}; they must be equal")]
    KeyWidth {
        /// `D` of q.
        q_width: usize,
        /// `D` of k.
        k_width: usize,
        /// The shape of k.
        k: Shape,
    },

    /// q and k have no columns, so that there is nothing to compare and no `1/√D`.
    #[error("attention: `q` has width 0; expected at least 1")]
    NoWidth,

    /// k and v differ in rows.
    #[error("attention: `v` has {}, `k` has {k_rows}; they must be equal, one value per key", counted(*v_rows, "row", "rows"))]
    ValueRows {
        /// `M` of k.
        k_rows: usize,
        /// `M` of v.
        v_rows: usize,
        /// The shape of v.
        v: Shape,
    },

    /// k and v differ in heads.
    #[error("attention: `v` has {}, `k` has {k_heads}; they must be equal or one of them 1", counted(*v_heads, "head", "heads"))]
    ValueHeads {
        /// `G` of k.
        k_heads: usize,
        /// `G` of v.
        v_heads: usize,
    },

    /// The query heads do not divide into groups.
    #[error(
        "attention: `q` has {}, `k` has {k_heads}; the first must be a multiple of the second", counted(*q_heads, "head", "heads")
    )]
    Heads {
        /// `H`.
        q_heads: usize,
        /// `G`.
        k_heads: usize,
    },

    /// Batch sizes that are neither equal nor 1.
    #[error("attention: `{argument}` has batch size {found}, expected {expected} or 1")]
    Batch {
        /// `q`, `k` or `v`.
        argument: &'static str,
        /// Its batch size.
        found: usize,
        /// The batch size of the arguments before it.
        expected: usize,
    },

    /// A mask, bias or block pattern that does not broadcast.
    #[error("attention: `{argument}` has shape {found}, which does not broadcast to {expected} ({letters})")]
    Broadcast {
        /// `mask`, `bias` or `blocks`.
        argument: &'static str,
        /// Its shape.
        found: Shape,
        /// The shape it must broadcast to.
        expected: Shape,
        /// That shape in letters.
        letters: &'static str,
    },

    /// The diagonal is ambiguous where queries and keys differ in number.
    #[error(
        "attention: `{argument}` with {} and {} is ambiguous; say `top-left` or `bottom-right`", counted(*queries, "query", "queries"), counted(*keys, "key", "keys")
    )]
    Alignment {
        /// `causal` or `window`.
        argument: &'static str,
        /// `N`.
        queries: usize,
        /// `M`.
        keys: usize,
    },

    /// Causal and window name different diagonals.
    #[error("attention: `causal` is {causal} and `window` is {window}; they must follow the same diagonal")]
    Diagonals {
        /// The diagonal of causal.
        causal: crate::Alignment,
        /// The diagonal of the window.
        window: crate::Alignment,
    },

    /// A number outside its range.
    #[error("attention: `{argument}` is {found}; expected {expected}")]
    Number {
        /// `scale` or `softcap`.
        argument: &'static str,
        /// The number.
        found: f64,
        /// What it must be.
        expected: &'static str,
    },

    /// A list that is not as long as it must be.
    #[error("attention: `{argument}` has {}; expected {expected}, one per {per}", counted(*found, "entry", "entries"))]
    Count {
        /// `alibi`, `sinks` or `lengths`.
        argument: &'static str,
        /// Its length.
        found: usize,
        /// `H` or `B`.
        expected: usize,
        /// What each entry belongs to.
        per: &'static str,
    },

    /// A ragged length beyond the keys there are.
    #[error("attention: `lengths` is {found} for batch entry {batch}; there {} only {}", if *keys == 1 { "is" } else { "are" }, counted(*keys, "key", "keys"))]
    Length {
        /// Which batch entry.
        batch: usize,
        /// Its length.
        found: usize,
        /// `M`.
        keys: usize,
    },

    /// An output of the wrong length.
    #[error("attention: `out` has {}; expected {expected}, B·H·N·E", counted(*found, "element", "elements"))]
    OutputLength {
        /// Its length.
        found: usize,
        /// `B·H·N·E`.
        expected: usize,
    },

    /// An array whose shape must be exactly one.
    #[error("attention: `{argument}` has shape {found}; expected {expected} ({letters})")]
    Shape {
        /// `output` or `grad`.
        argument: &'static str,
        /// Its shape.
        found: Shape,
        /// What it must be.
        expected: Shape,
        /// That shape in letters.
        letters: &'static str,
    },

    /// Memory for a gradient that has the wrong length.
    #[error("attention: the gradient of `{argument}` has {}; expected {expected}, {letters}", counted(*found, "element", "elements"))]
    GradientLength {
        /// `q`, `k`, `v`, `bias` or `sinks`.
        argument: &'static str,
        /// Its length.
        found: usize,
        /// What it must be.
        expected: usize,
        /// Where that number comes from.
        letters: &'static str,
    },

    /// A gradient of something the problem does not have.
    #[error("attention: the gradient of `{argument}` is asked for; the problem has no `{argument}`")]
    NoGradient {
        /// `bias` or `sinks`.
        argument: &'static str,
    },

    /// A bounded cache that would hold too much.
    #[error("attention: the cache holds {} and {added} more {} appended; its limit is {limit}", counted(*held, "row", "rows"), if *added == 1 { "is" } else { "are" })]
    Full {
        /// Rows it holds.
        held: usize,
        /// Rows to append.
        added: usize,
        /// Rows it may hold.
        limit: usize,
    },

    /// Pages that hold nothing.
    #[error("attention: a page of a cache has 0 rows; expected at least 1")]
    PageRows,

    /// A packed array with a batch axis, or without rows.
    #[error("attention: `{argument}` has shape {found}; expected 2 or 3 dimensions (heads, all rows, width)")]
    PackedRank {
        /// `q`, `k` or `v`.
        argument: &'static str,
        /// Its shape.
        found: Shape,
    },

    /// An option that names single scores.
    #[error("attention: `{argument}` cannot be given for packed sequences, whose lengths differ")]
    PackedOption {
        /// `bias`, `mask`, `blocks` or `lengths`.
        argument: &'static str,
    },

    /// Lists of offsets that do not belong together.
    #[error(
        "attention: `query_offsets` has {}, `key_offsets` has {keys}; they must be equal, one more than there are sequences", counted(*queries, "entry", "entries")
    )]
    OffsetCount {
        /// Entries for the queries.
        queries: usize,
        /// Entries for the keys.
        keys: usize,
    },

    /// Offsets that do not begin at 0, fall, or do not end at the number of rows.
    #[error("attention: `{argument}`[{at}] is {found}; expected {lowest} to {highest}")]
    Offset {
        /// `query_offsets` or `key_offsets`.
        argument: &'static str,
        /// Which entry.
        at: usize,
        /// The entry.
        found: usize,
        /// The least it may be.
        lowest: usize,
        /// The most it may be.
        highest: usize,
    },

    /// A range that reaches beyond what there is.
    #[error("attention: `{argument}` is {start}..{end}; expected a range within 0..{expected}")]
    Range {
        /// `batch`, `head`, `rows` or `cols`.
        argument: &'static str,
        /// Where it starts.
        start: usize,
        /// Where it ends.
        end: usize,
        /// How many there are.
        expected: usize,
    },

    /// A block pattern whose blocks have no rows or no columns.
    #[error("attention: `blocks` are {rows} × {cols}; expected at least 1 × 1")]
    BlockSize {
        /// Queries per block.
        rows: usize,
        /// Keys per block.
        cols: usize,
    },
}

impl AttentionError {
    /// What probably happened, where that can be told.
    pub fn hint(&self) -> Option<String> {
        match self {
            AttentionError::KeyWidth { q_width, k, .. } if rows_of(k) == Some(*q_width) => {
                Some(format!("`k` looks transposed; its shape is {k}"))
            }
            AttentionError::ValueRows { k_rows, v, .. } if v.dims().last() == Some(k_rows) => {
                Some(format!("`v` looks transposed; its shape is {v}"))
            }
            AttentionError::Alignment { argument: "window", .. } => {
                Some("a window takes it as its third part, behind left and right".to_owned())
            }
            AttentionError::Rank { found, .. } if found.rank() == 1 => {
                Some(format!("a single row is a matrix of shape (1, {})", found.len()))
            }
            AttentionError::Broadcast { found, expected, .. } => {
                let (f, e) = (found.dims(), expected.dims());
                let swapped = f.len() >= 2
                    && e.len() >= 2
                    && f[f.len() - 1] == e[e.len() - 2]
                    && f[f.len() - 2] == e[e.len() - 1];
                swapped.then(|| {
                    "its last two axes look exchanged: rows are queries, columns are keys".to_owned()
                })
            }
            _ => None,
        }
    }
}

/// The second-last dimension.
fn rows_of(shape: &Shape) -> Option<usize> {
    shape.rank().checked_sub(2).map(|axis| shape.dims()[axis])
}

/// `1 row`, `2 rows`.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
