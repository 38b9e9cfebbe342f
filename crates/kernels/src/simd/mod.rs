//! One text per algorithm, one instruction set per run.
//!
//! A kernel is written once, over a token `S: Simd`, and runs with whatever vectors the token stands for:
//!
//! ```text
//!  struct Dot<'a> { a: &'a [f64], b: &'a [f64] }            its fields are its arguments
//!  impl Kernel for Dot<'_> {
//!      type Output = f64;
//!      fn run<S: Simd>(self, isa: S) -> f64 { … isa.mul_add(…) … }      all #[inline(always)]
//!  }
//!  dispatch(Isa::detected(), Dot { a, b })                   one match, one #[target_feature] function
//! ```
//!
//! * A token (`Scalar`, `Avx2`, `Avx512`, `Neon`) is zero-sized and can only be made by asking the processor, so
//!   holding one *is* the proof that its instructions exist; every operation on it is therefore safe to call.
//! * [`dispatch`] enters exactly one `#[target_feature]` function per instruction set. Everything below it must be
//!   `#[inline(always)]`: a helper that is not inlined is compiled for the baseline and silently loses its vectors.
//! * Detection happens once. `SPANWISE_ISA=scalar|scalar-bf16|scalar-amx|scalar-amx-f16|neon|avx2|avx512|avx512-bf16|amx|amx-f16`
//!   lowers it, so that one machine tests every path (`scalar-bf16`, `scalar-amx` and `scalar-amx-f16` form in plain arithmetic what
//!   others have instructions for); a name that is unknown or that the machine lacks is an [`IsaError`] from [`Isa::from_environment`],
//!   which the surfaces call first. The library itself falls back to what the machine has.
//!
//! What a machine lacks, an emulator runs: NEON with `qemu-aarch64` as the runner of the target `aarch64-unknown-linux-gnu`, AVX-512
//! in a system that an emulator of whole machines boots. The tests of this crate and of `attention` go through every instruction
//! set they find.
//!
//! To add an element type, implement [`Lanes`] for it on each token and add it to [`Simd`]'s bounds.

#![allow(unsafe_code)] // the intrinsics; the token is the reason each call is sound

mod detect;
mod float;
mod pairs;
mod scalar;
mod tiles;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(test)]
mod tests;

pub use detect::{Isa, IsaError, fetches_across_pages};
pub(crate) use float::MOST_LANES;
pub use float::{Float, FloatKernel, Real, Registers};
pub use pairs::{PairDots, PairKernel, dispatch_pairs};
pub use tiles::{
    TILE_DEPTH, TILE_ROWS, TileDots, TileKernel, TileNumbers, TileProduct, TilesOfF16, dispatch_tiles,
};

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub use scalar::Scalar;

/// What one instruction set does with a vector of numbers of type `T`.
///
/// Every operation is lane by lane unless it says otherwise.
pub trait Lanes<T: Copy>: Copy + Send + Sync + 'static {
    /// [`Lanes::LANES`] numbers.
    type Vector: Copy;
    /// [`Lanes::LANES`] vectors: a square of numbers that can be transposed. An array.
    type Square: Copy + AsRef<[Self::Vector]> + AsMut<[Self::Vector]>;
    /// How many numbers one vector holds.
    const LANES: usize;

    /// `x` in every lane.
    fn splat(self, x: T) -> Self::Vector;
    /// `v` in every row of a square.
    fn square(self, v: Self::Vector) -> Self::Square;
    /// The first [`Lanes::LANES`] numbers of `from`; panics where there are fewer.
    fn load(self, from: &[T]) -> Self::Vector;
    /// The numbers of `from`, at most [`Lanes::LANES`] of them, and zeros after them.
    fn load_first(self, from: &[T]) -> Self::Vector;
    /// Into the first [`Lanes::LANES`] numbers of `to`; panics where there are fewer.
    fn store(self, v: Self::Vector, to: &mut [T]);
    /// Into `to`, as many as it holds and at most [`Lanes::LANES`].
    fn store_first(self, v: Self::Vector, to: &mut [T]);
    /// [`Lanes::load`] without the check.
    ///
    /// # Safety
    /// `from` must be valid for reading [`Lanes::LANES`] numbers.
    unsafe fn load_at(self, from: *const T) -> Self::Vector;
    /// [`Lanes::store`] without the check.
    ///
    /// # Safety
    /// `to` must be valid for writing [`Lanes::LANES`] numbers.
    unsafe fn store_at(self, v: Self::Vector, to: *mut T);

    /// `a + b`.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a − b`.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a · b`.
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a · b + c`, rounded once or twice: whatever is fast.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `c − a · b`, rounded once or twice: whatever is fast.
    fn neg_mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `a · b + c`, rounded once: what compensated sums are made of.
    fn fused_mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `a · b − c`, rounded once.
    fn fused_mul_sub(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// The sum of the lanes, pairwise.
    fn sum(self, v: Self::Vector) -> T;
    /// Lane `i` of row `j` becomes lane `j` of row `i`.
    fn transpose(self, rows: Self::Square) -> Self::Square;

    /// All lanes zero.
    #[inline(always)]
    fn zero(self) -> Self::Vector
    where
        T: Default,
    {
        self.splat(T::default())
    }
}

/// One instruction set: a token that only detection can make.
pub trait Simd: Lanes<f64> {
    /// How many vectors of f64 wide a tile of lanes × GROUP sums may be so that it stays in the registers, with room
    /// for its operands: 3 of 32 registers, 2 of 16 (a third would be spilled in every round of the loop).
    const GROUP: usize;
    /// Its lanes of f32: the token itself, under a name that says so.
    type Single: Float<f32>;
    /// Its lanes of f64.
    type Double: Float<f64>;

    /// The token as lanes of f32.
    fn single(self) -> Self::Single;
    /// The token as lanes of f64.
    fn double(self) -> Self::Double;
}

/// A computation that runs on any instruction set. A struct whose fields are the arguments.
pub trait Kernel {
    /// What it computes.
    type Output;

    /// Must be `#[inline(always)]`, like everything it calls.
    fn run<S: Simd>(self, isa: S) -> Self::Output;
}

/// Runs `kernel` with the instructions of `isa`, or with the best the machine has below it.
#[inline]
pub fn dispatch<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Bf16 | Isa::Amx | Isa::AmxF16 => {
            if let Some(token) = Avx512::detect() {
                // SAFETY: the token proves that the machine has AVX-512.
                return unsafe { avx512::enter(token, kernel) };
            }
            dispatch(Isa::Avx2, kernel)
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            if let Some(token) = Avx2::detect() {
                // SAFETY: the token proves that the machine has AVX2 and FMA.
                return unsafe { avx2::enter(token, kernel) };
            }
            kernel.run(Scalar::new())
        }
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => {
            if let Some(token) = Neon::detect() {
                // SAFETY: the token proves that the machine has NEON.
                return unsafe { neon::enter(token, kernel) };
            }
            kernel.run(Scalar::new())
        }
        _ => kernel.run(Scalar::new()),
    }
}

/// Asks for the cache line at `at` to be brought into the second cache (the first one is full of tiles). It may be any
/// address: nothing is read, and nothing happens where there is no memory.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86_64 has the instruction, and it never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// As [`prefetch`], into the first cache: for numbers that are read once and soon.
#[inline(always)]
pub(crate) fn prefetch_near<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86_64 has the instruction, and it never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
