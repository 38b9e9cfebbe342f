//! From how numbers lie in memory to what sums are formed in, and back.

use super::block::Forward;
use super::dots::{self, OnPairs};
use super::narrow::{AsF16, Cut, InParts};
use super::scratch::Kept;
use super::tiles::{self, OnTiles};
use crate::simd::{Float, Isa, Real, TilesOfF16, dispatch_pairs, dispatch_tiles};
use crate::{Element, View, bf16, f16};
use half::slice::HalfFloatSliceExt;

/// A storage type and the float its sums are formed in, a slice at a time.
pub trait Storage: Element<Accumulator = <Self as Storage>::Real> {
    /// What sums are formed in; it is stored as it is.
    type Real: Real + Kept + Storage<Real = Self::Real>;

    /// The numbers themselves, where they are stored in the type sums are formed in.
    fn as_reals(from: &[Self]) -> Option<&[Self::Real]>;
    /// The same, to be written to; otherwise what was given.
    fn as_reals_mut(of: &mut [Self]) -> Result<&mut [Self::Real], &mut [Self]>;
    /// Exact; both slices are equally long.
    fn widen(from: &[Self], to: &mut [Self::Real]);
    /// Rounds to nearest, ties to even; both slices are equally long.
    fn narrow(from: &[Self::Real], to: &mut [Self]);
    /// One number, exactly.
    fn widen_one(self) -> Self::Real;
    /// A vector of numbers, widened exactly.
    ///
    /// # Safety
    /// `from` must be valid for reading as many numbers as there are lanes.
    unsafe fn load_at<S: Float<Self::Real>>(isa: S, from: *const Self) -> S::Vector;
    /// Fewer numbers than a vector has, widened exactly, and zeros after them.
    fn load_first<S: Float<Self::Real>>(isa: S, from: &[Self]) -> S::Vector;

    /// Whether [`Storage::load_two_at`] gives the numbers at even places and those at odd ones.
    #[inline(always)]
    fn in_halves<S: Float<Self::Real>>() -> bool {
        false
    }
    /// Two vectors of numbers, widened exactly: in order, or in halves.
    ///
    /// # Safety
    /// `from` must be valid for reading twice as many numbers as there are lanes.
    #[inline(always)]
    unsafe fn load_two_at<S: Float<Self::Real>>(isa: S, from: *const Self) -> [S::Vector; 2] {
        // SAFETY: the caller's promise.
        unsafe { [Self::load_at(isa, from), Self::load_at(isa, from.add(S::LANES))] }
    }

    /// The numbers as they are in memory, where they have sixteen bits: to be moved, under the name of bf16.
    #[inline(always)]
    fn as_words(_: &[Self]) -> Option<&[bf16]> {
        None
    }
    /// The same, to be written to.
    #[inline(always)]
    fn of_words_mut(_: &mut [bf16]) -> Option<&mut [Self]> {
        None
    }

    /// Attention of a block with the instructions of `isa`: products of tiles or pairs where the type and the machine have them.
    fn attend(isa: Isa, kernel: Forward<'_, '_, Self>);
}

/// By products of tiles of numbers that are `cut`, or as given back.
#[inline]
fn attend_by_tiles<'a, 'b, T: Storage<Real = f32>, C: Cut>(
    isa: Isa,
    cut: C,
    of: Forward<'a, 'b, T>,
) -> Option<Forward<'a, 'b, T>> {
    if !tiles::suit::<T, C>(isa, &of) {
        return Some(of);
    }
    match dispatch_tiles(isa, OnTiles { of, cut }) {
        Ok(left) => left,
        Err(OnTiles { of, .. }) => Some(of),
    }
}

impl Storage for f32 {
    type Real = f32;

    #[inline(always)]
    fn as_reals(from: &[f32]) -> Option<&[f32]> {
        Some(from)
    }

    #[inline(always)]
    fn as_reals_mut(of: &mut [f32]) -> Result<&mut [f32], &mut [f32]> {
        Ok(of)
    }

    #[inline(always)]
    fn widen(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }

    #[inline(always)]
    fn narrow(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }

    #[inline(always)]
    fn widen_one(self) -> f32 {
        self
    }

    #[inline(always)]
    unsafe fn load_at<S: Float<f32>>(isa: S, from: *const f32) -> S::Vector {
        // SAFETY: the caller's promise.
        unsafe { isa.load_at(from) }
    }

    #[inline(always)]
    fn load_first<S: Float<f32>>(isa: S, from: &[f32]) -> S::Vector {
        isa.load_first(from)
    }

    #[inline]
    fn attend(isa: Isa, kernel: Forward<'_, '_, f32>) {
        if let Some(kernel) = attend_by_tiles(isa, InParts::<3>, kernel) {
            f32::dispatch(isa, kernel);
        }
    }
}

impl Storage for f64 {
    type Real = f64;

    #[inline(always)]
    fn as_reals(from: &[f64]) -> Option<&[f64]> {
        Some(from)
    }

    #[inline(always)]
    fn as_reals_mut(of: &mut [f64]) -> Result<&mut [f64], &mut [f64]> {
        Ok(of)
    }

    #[inline(always)]
    fn widen(from: &[f64], to: &mut [f64]) {
        to.copy_from_slice(from);
    }

    #[inline(always)]
    fn narrow(from: &[f64], to: &mut [f64]) {
        to.copy_from_slice(from);
    }

    #[inline(always)]
    fn widen_one(self) -> f64 {
        self
    }

    #[inline(always)]
    unsafe fn load_at<S: Float<f64>>(isa: S, from: *const f64) -> S::Vector {
        // SAFETY: the caller's promise.
        unsafe { isa.load_at(from) }
    }

    #[inline(always)]
    fn load_first<S: Float<f64>>(isa: S, from: &[f64]) -> S::Vector {
        isa.load_first(from)
    }

    #[inline]
    fn attend(isa: Isa, kernel: Forward<'_, '_, f64>) {
        f64::dispatch(isa, kernel);
    }
}

impl Storage for bf16 {
    type Real = f32;

    #[inline(always)]
    fn as_reals(_: &[bf16]) -> Option<&[f32]> {
        None
    }

    #[inline(always)]
    fn as_reals_mut(of: &mut [bf16]) -> Result<&mut [f32], &mut [bf16]> {
        Err(of)
    }

    // Both directions are integer arithmetic without a branch, which the compiler turns into vectors.
    #[inline(always)]
    fn widen(from: &[bf16], to: &mut [f32]) {
        let to = &mut to[..from.len()];
        for i in 0..from.len() {
            to[i] = from[i].widen_one();
        }
    }

    #[inline(always)]
    fn narrow(from: &[f32], to: &mut [bf16]) {
        let to = &mut to[..from.len()];
        for i in 0..from.len() {
            let x = from[i];
            let bits = x.to_bits();
            // Half of the last place that stays, less one where that place is even: ties go to even.
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
            // Rounding must not turn a NaN into an infinity.
            let bits = if x.is_nan() { bits | 0x0040_0000 } else { rounded };
            to[i] = bf16::from_bits((bits >> 16) as u16);
        }
    }

    #[inline(always)]
    fn widen_one(self) -> f32 {
        f32::of_bf16(self)
    }

    #[inline(always)]
    unsafe fn load_at<S: Float<f32>>(isa: S, from: *const bf16) -> S::Vector {
        // SAFETY: the caller's promise.
        unsafe { isa.load_bf16_at(from) }
    }

    #[inline(always)]
    fn load_first<S: Float<f32>>(isa: S, from: &[bf16]) -> S::Vector {
        isa.load_first_bf16(from)
    }

    #[inline(always)]
    fn in_halves<S: Float<f32>>() -> bool {
        S::BF16_IN_HALVES
    }

    #[inline(always)]
    unsafe fn load_two_at<S: Float<f32>>(isa: S, from: *const bf16) -> [S::Vector; 2] {
        // SAFETY: the caller's promise.
        unsafe { isa.load_two_bf16_at(from) }
    }

    #[inline(always)]
    fn as_words(from: &[bf16]) -> Option<&[bf16]> {
        Some(from)
    }

    #[inline(always)]
    fn of_words_mut(to: &mut [bf16]) -> Option<&mut [bf16]> {
        Some(to)
    }

    #[inline]
    fn attend(isa: Isa, kernel: Forward<'_, '_, bf16>) {
        let suits = dots::suit(&kernel.block);
        let kernel = match if suits { attend_by_tiles(isa, InParts::<1>, kernel) } else { Some(kernel) } {
            Some(kernel) => OnPairs(kernel),
            None => return,
        };
        let given = if suits { dispatch_pairs(isa, kernel) } else { Err(kernel) };
        if let Err(OnPairs(kernel)) = given {
            f32::dispatch(isa, kernel);
        }
    }
}

impl Storage for f16 {
    type Real = f32;

    #[inline(always)]
    fn as_reals(_: &[f16]) -> Option<&[f32]> {
        None
    }

    #[inline(always)]
    fn as_reals_mut(of: &mut [f16]) -> Result<&mut [f32], &mut [f16]> {
        Err(of)
    }

    #[inline(always)]
    fn widen(from: &[f16], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }

    #[inline(always)]
    fn narrow(from: &[f32], to: &mut [f16]) {
        to.convert_from_f32_slice(from);
    }

    #[inline(always)]
    fn widen_one(self) -> f32 {
        self.to_f32()
    }

    #[inline(always)]
    unsafe fn load_at<S: Float<f32>>(isa: S, from: *const f16) -> S::Vector {
        // SAFETY: the caller's promise.
        unsafe { isa.load_f16_at(from) }
    }

    #[inline(always)]
    fn load_first<S: Float<f32>>(isa: S, from: &[f16]) -> S::Vector {
        isa.load_first_f16(from)
    }

    #[inline(always)]
    fn as_words(from: &[f16]) -> Option<&[bf16]> {
        // SAFETY: both types are any sixteen bits.
        Some(unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), from.len()) })
    }

    #[inline(always)]
    fn of_words_mut(to: &mut [bf16]) -> Option<&mut [f16]> {
        // SAFETY: both types are any sixteen bits.
        Some(unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) })
    }

    #[inline]
    fn attend(isa: Isa, kernel: Forward<'_, '_, f16>) {
        let left = match TilesOfF16::of(isa) {
            Some(proof) => attend_by_tiles(isa, AsF16(proof), kernel),
            None => attend_by_tiles(isa, InParts::<2>, kernel),
        };
        if let Some(kernel) = left {
            f32::dispatch(isa, kernel);
        }
    }
}

/// Widens a slice, a vector at a time; both are equally long.
#[inline(always)]
pub(super) fn widen<T: Storage, S: Float<T::Real>>(isa: S, from: &[T], to: &mut [T::Real]) {
    let to = &mut to[..from.len()];
    let whole = from.len() - from.len() % S::LANES;
    for at in (0..whole).step_by(S::LANES) {
        // SAFETY: both slices hold a vector from `at` on.
        unsafe { isa.store_at(T::load_at(isa, from.as_ptr().add(at)), to.as_mut_ptr().add(at)) };
    }
    for at in whole..from.len() {
        to[at] = from[at].widen_one();
    }
}

/// Row `row` of the matrix `from`, beginning at column `first`, widened into `to`.
#[inline(always)]
pub(super) fn widen_row<T: Storage>(from: &View<'_, T>, row: usize, first: usize, to: &mut [T::Real]) {
    if to.is_empty() {
        return;
    }
    let (data, start) = from.memory();
    let (row_stride, stride) = (from.strides()[0], from.strides()[1]);
    let start = start as isize + row as isize * row_stride + first as isize * stride;
    if stride == 1 {
        T::widen(&data[start as usize..][..to.len()], to);
    } else {
        for (c, to) in to.iter_mut().enumerate() {
            *to = data[(start + c as isize * stride) as usize].widen_one();
        }
    }
}

/// Row `row` of the matrix `from` as it lies; `None` where its numbers have gaps between them.
#[inline(always)]
pub(super) fn lying_row<'a, T: Copy>(from: &View<'a, T>, row: usize) -> Option<&'a [T]> {
    let ((data, start), width) = (from.memory(), from.dims()[1]);
    let start = start as isize + row as isize * from.strides()[0];
    (width > 0 && from.strides()[1] == 1).then(|| &data[start as usize..][..width])
}

/// Row `row` of the matrix `from`, as it is stored.
#[inline(always)]
pub(super) fn copy_row<T: Copy>(from: &View<'_, T>, row: usize, to: &mut [T]) {
    if to.is_empty() {
        return;
    }
    let (data, start) = from.memory();
    let (row_stride, stride) = (from.strides()[0], from.strides()[1]);
    let start = start as isize + row as isize * row_stride;
    if stride == 1 {
        to.copy_from_slice(&data[start as usize..][..to.len()]);
    } else {
        for c in 0..to.len() {
            to[c] = data[(start + c as isize * stride) as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_is_exact_and_narrowing_is_its_inverse_for_every_half() {
        let bits: Vec<u16> = (0..=u16::MAX).collect();
        let mut wide = vec![0.0f32; bits.len()];
        let from: Vec<bf16> = bits.iter().map(|&b| bf16::from_bits(b)).collect();
        let mut back = vec![bf16::ZERO; bits.len()];
        Storage::widen(&from, &mut wide);
        Storage::narrow(&wide, &mut back);
        for i in 0..bits.len() {
            // A NaN stays one; which of its bits survive is nobody's business.
            let exact = wide[i].to_bits() == from[i].to_f32().to_bits();
            assert!(exact || (wide[i].is_nan() && from[i].is_nan()), "{i:#x}");
            assert!(back[i] == from[i] || (back[i].is_nan() && from[i].is_nan()), "{i:#x}");
        }
        let from: Vec<f16> = bits.iter().map(|&b| f16::from_bits(b)).collect();
        let mut back = vec![f16::ZERO; bits.len()];
        Storage::widen(&from, &mut wide);
        Storage::narrow(&wide, &mut back);
        for i in 0..bits.len() {
            assert!(back[i] == from[i] || (back[i].is_nan() && from[i].is_nan()), "{i:#x}");
        }
    }

    #[test]
    fn narrowing_rounds_to_nearest_even() {
        let wide: Vec<f32> =
            (0..4000).map(|i| 1.0 + i as f32 * 0.000_73).chain([257.0, 259.0, -3e38]).collect();
        let mut narrow = vec![bf16::ZERO; wide.len()];
        Storage::narrow(&wide, &mut narrow);
        for (x, y) in wide.iter().zip(&narrow) {
            assert_eq!(*y, bf16::from_f32(*x), "{x}");
        }
    }
}
