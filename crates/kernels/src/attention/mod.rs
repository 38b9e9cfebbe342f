//! Attention for a block of query rows: scores, softmax and weighted sum, a tile of keys at a time.
//!
//! ```text
//! Qᵀ of the block, packed:  qt (panels, D, LANES)                     a panel is LANES query rows
//! for each tile of keys that some row of the block sees:
//!     s (panels, keys, LANES) = qt · Kᵀ                               product.rs
//!     soft cap, bias, ALiBi, masks                                    adjust.rs, dense.rs
//!     m' = max(m, max s);  a = 2^(s − m');  l = l·2^(m − m') + Σa     block.rs, sweep.rs
//!     o (rows, E) = o·2^(m − m') + a·V                                product.rs
//! o / l
//! ```
//!
//! The two products multiply numbers in the type sums are formed in (wide.rs), or pairs of bf16 (dots.rs), with the same
//! register tiles and the same loops around them (products.rs); or whole tiles of bf16, of which f16 and f32 are sums (tiles.rs).
//! Biases and masks of later rows are asked for meanwhile (ahead.rs).
//!
//! Scores are in units of log₂: `scale·log₂e` is folded into Qᵀ, or into the sums of pairs, so that the exponential is a
//! plain power of two. Lanes are queries, so that no step of the softmax crosses lanes. Where statistics are
//! asked for, what they need is noted tile by tile, while scores and weights lie in cache (notes.rs, pools.rs, largest.rs, top.rs), and put
//! together when the last maximum is known (statistics.rs).
//!
//! A row that sees nothing has `l = 0`: its output is zeros and its log-sum-exp −∞. A hidden key has the score −∞ and weighs
//! exactly 0; where a tile hides keys *and* its values hold something that is not finite, `0·∞` must not happen, and that
//! tile's weighted sum is formed one visible key after another.
//!
//! Few rows with many keys take another way ([`Rowwise`]): lanes along the width, each key and value read once. So do rows
//! with few keys ([`FewKeys`]).

#![allow(unsafe_code)] // the register tiles read and write through pointers, with the bounds checked before the loops

mod accumulate;
mod add;
mod adjust;
mod ahead;
mod backward;
mod block;
mod buffer;
mod careful;
mod denominator;
mod dense;
mod dots;
mod dropout;
mod exp;
mod few;
mod largest;
mod load;
mod multiply;
mod narrow;
mod notes;
mod pair;
mod part;
mod pools;
mod product;
mod products;
mod rows;
mod rowwise;
mod run;
mod scratch;
mod statistics;
mod storage;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod tiles;
mod top;
mod wide;

pub use backward::{Backward, BackwardScratch, BiasSums, GradientRows, query_sums};
pub use block::Forward;
pub use dropout::Dropping;
pub use exp::{exp2, tanh};
pub use few::{FEW_KEYS, FewKeys};
pub use part::{Alibi, Block, Part, Pattern, Span, Tile};
pub use rowwise::Rowwise;
pub use run::Run;
pub use scratch::{Kept, Lent, Scratch};
pub use statistics::{MapSums, Peak, TopWeights, Wanted};
pub use storage::Storage;
pub use table::{Paged, Table};

/// Keys to a tile. Tiles begin at multiples of it.
pub const TILE_KEYS: usize = 256;
