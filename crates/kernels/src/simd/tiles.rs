//! Products of tiles of bf16, or of f16, added up in f32.
//!
//! ```text
//! a   two blocks of (16 rows, 32 numbers)              rows at any distance
//! b   two panels of (16 pairs, LANES, 2)               a pair is two numbers of the left operand's row
//! c   (2·16 rows, 2 panels of LANES)  = or +=  a·b     over some steps of 32 numbers
//! ```
//!
//! AMX multiplies 16 × 32 by 32 × 16 numbers in one instruction: sixteen times the products of a fused multiply-add in the same time.
//! All that has it does so with bf16, newer processors with f16 too. Elsewhere tiles are multiplied pair by pair. Numbers of f16 are moved
//! as what they are in memory, sixteen bits, under the name of the others: only products and rounding tell them apart.
//!
//! **Numbers wider than bf16 are sums of such.** A number of f32 has 24 significant bits, three bf16 have 8 each: the nearest bf16, the
//! nearest to what is left, and what is left then add up to the number, exactly. The product of two numbers is nine products of
//! parts; the three smallest lie below 2⁻²⁴ of the whole, what a product rounded to f32 loses, and are left out. A number of f16 has 11
//! bits and two parts, whose four products are all formed where f16 cannot be multiplied as it is:
//!
//! ```text
//! x·y ≈ x₂y₀ + x₁y₀ + x₁y₁ + x₀y₁ + x₀y₀ + x₀y₂        f32: |x₁| ≤ 2⁻⁸|x|, |x₂| ≤ 2⁻¹⁷|x|
//! x·y = x₁y₁ + x₀y₁ + x₀y₀ + x₁y₀                      f16
//! ```
//!
//! In this order each product shares an operand with the one before. Weights, which are positive, are cut off and not rounded: in
//! three parts what is left out is multiplied with parts of either sign, and does not add up; in two it is at most 2⁻¹⁵ of a weight, a
//! sixteenth of what f16 keeps. Parts below 2⁻¹²⁶ count as 0, as with pairs. Whoever takes numbers apart looks that they are finite
//! (∞ − ∞ is no part), and neither so large that products overflow nor all so small that this is seen.

use super::{Isa, PairDots, Scalar};
use crate::{bf16, f16};

#[cfg(target_arch = "x86_64")]
pub(super) mod amx;
#[cfg(test)]
mod tests;

/// Rows of a tile of the left operand.
pub const TILE_ROWS: usize = 16;
/// Numbers to each of them.
pub const TILE_DEPTH: usize = 32;

/// Which parts of the left and the right operand are multiplied, by the number of parts, less one.
const TERMS: [&[[usize; 2]]; 3] =
    [&[[0, 0]], &[[1, 1], [0, 1], [0, 0], [1, 0]], &[[2, 0], [1, 0], [1, 1], [0, 1], [0, 0], [0, 2]]];

/// Proof that tiles of f16 can be multiplied: by the machine's own instructions, or in plain arithmetic only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TilesOfF16 {
    by_machine: bool,
}

impl TilesOfF16 {
    /// The proof, if `isa` multiplies them and the machine has it. That of an emulated set is none of the instructions.
    pub fn of(isa: Isa) -> Option<Self> {
        match isa {
            Isa::ScalarAmxF16 => Some(TilesOfF16 { by_machine: false }),
            #[cfg(target_arch = "x86_64")]
            Isa::AmxF16 if super::Avx512::detect_amx().is_some() && amx::has_f16() => {
                Some(TilesOfF16 { by_machine: true })
            }
            _ => None,
        }
    }
}

/// What the numbers of tiles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileNumbers {
    /// Parts in bf16, so many to a number: 1, 2 or 3.
    Parts(usize),
    /// f16.
    F16(TilesOfF16),
}

/// Two blocks of rows times two panels: what is multiplied, and where it goes. Distances are in numbers.
#[derive(Clone, Copy, Debug)]
pub struct TileProduct {
    /// What is multiplied; numbers of f16 under the name of bf16.
    pub numbers: TileNumbers,
    /// The first row of each block.
    pub a: [*const bf16; 2],
    /// From a row to the next, from a step to the next, from a part to the next.
    pub a_row: isize,
    /// The same of steps.
    pub a_step: usize,
    /// The same of parts.
    pub a_part: usize,
    /// The first pair of each panel; a step is `TILE_DEPTH·LANES` numbers.
    pub b: [*const bf16; 2],
    /// From a part to the next.
    pub b_part: usize,
    /// Where the first row of each block goes, for each panel; rows are a vector apart.
    pub c: [[*mut f32; 2]; 2],
    /// Steps of [`TILE_DEPTH`] numbers.
    pub steps: usize,
    /// Whether the products are added to what is there.
    pub adds: bool,
}

/// Lanes of f32 that tiles of bf16 are multiplied into.
pub trait TileDots: PairDots {
    /// Before the first product.
    fn begin_tiles(self);
    /// After the last.
    fn end_tiles(self);
    /// `c = a·b`, or `c += a·b`; both blocks may be the same, and both panels. May panic where the numbers are f16 by a proof that
    /// is of another instruction set.
    ///
    /// # Safety
    /// [`TileDots::begin_tiles`] must have been called on this thread, and no [`TileDots::end_tiles`] since; all that [`TileProduct`] names must be valid for reading, and `c` for writing.
    unsafe fn multiply_tiles(self, of: &TileProduct);
}

/// A computation on tiles of bf16. A struct whose fields are the arguments.
pub trait TileKernel {
    /// What it computes.
    type Output;

    /// Must be `#[inline(always)]`, like everything it calls.
    fn run<S: TileDots>(self, isa: S) -> Self::Output;
}

/// Runs `kernel` with the instructions of `isa`, or gives it back where that has no products of tiles.
#[inline]
pub fn dispatch_tiles<K: TileKernel>(isa: Isa, kernel: K) -> Result<K::Output, K> {
    match isa {
        Isa::ScalarAmx | Isa::ScalarAmxF16 => Ok(kernel.run(Scalar::new())),
        #[cfg(target_arch = "x86_64")]
        Isa::Amx | Isa::AmxF16 => match super::Avx512::detect_amx() {
            // SAFETY: the token proves that the machine has the instructions.
            Some(token) => Ok(unsafe { super::avx512::enter_tiles(token, kernel) }),
            None => Err(kernel),
        },
        _ => Err(kernel),
    }
}

impl TileDots for Scalar {
    #[inline(always)]
    fn begin_tiles(self) {}

    #[inline(always)]
    fn end_tiles(self) {}

    #[inline(always)]
    unsafe fn multiply_tiles(self, of: &TileProduct) {
        // SAFETY: the caller's promise.
        unsafe { by_pairs(self, of) }
    }
}

/// `sum + a.0·b.0 + a.1·b.1` of pairs of f16, of which one is in every lane.
///
/// # Safety
/// `a` must be valid for reading a pair, and `b` one for each lane.
#[inline(always)]
unsafe fn dot_pairs_f16<S: PairDots>(isa: S, a: *const f16, b: *const f16, mut sum: S::Vector) -> S::Vector {
    for i in 0..2 {
        let mut line = [0.0; super::MOST_LANES];
        for lane in 0..S::LANES {
            // SAFETY: the caller's promise.
            line[lane] = unsafe { b.add(2 * lane + i).read() }.to_f32();
        }
        // SAFETY: the caller's promise.
        let one = isa.splat(unsafe { a.add(i).read() }.to_f32());
        sum = isa.mul_add(one, isa.load(&line), sum);
    }
    sum
}

/// The product, pair by pair.
///
/// # Safety
/// As [`TileDots::multiply_tiles`].
#[inline(always)]
unsafe fn by_pairs<S: PairDots>(isa: S, of: &TileProduct) {
    let lanes = S::LANES;
    let terms = match of.numbers {
        TileNumbers::Parts(parts) => TERMS[parts - 1],
        TileNumbers::F16(_) => TERMS[0],
    };
    for block in 0..2 {
        for panel in 0..2 {
            for row in 0..TILE_ROWS {
                // SAFETY: the caller promises all that the product names.
                unsafe {
                    let to = of.c[block][panel].add(row * lanes);
                    let mut sum = if of.adds { isa.load_at(to) } else { isa.splat(0.0) };
                    for step in 0..of.steps {
                        for &[left, right] in terms {
                            let a = of.a[block].offset(row as isize * of.a_row);
                            let a = a.add(step * of.a_step + left * of.a_part);
                            let b = of.b[panel].add(step * TILE_DEPTH * lanes + right * of.b_part);
                            // A tile adds its own products up first, as the instruction does (which keeps even and odd places apart).
                            let mut own = isa.splat(0.0);
                            for pair in 0..TILE_DEPTH / 2 {
                                let (a, b) = (a.add(2 * pair), b.add(2 * pair * lanes));
                                own = match of.numbers {
                                    TileNumbers::Parts(_) => {
                                        isa.dot_pairs(isa.splat_pair_at(a), isa.load_pairs_at(b), own)
                                    }
                                    TileNumbers::F16(_) => dot_pairs_f16(isa, a.cast(), b.cast(), own),
                                };
                            }
                            sum = isa.add(sum, own);
                        }
                    }
                    // Where both blocks are one it is written twice, and must not be added twice.
                    let again = (block == 1 && of.c[0][panel] == of.c[1][panel])
                        || (panel == 1 && of.c[block][0] == of.c[block][1]);
                    if !again {
                        isa.store_at(sum, to);
                    }
                }
            }
        }
    }
}
