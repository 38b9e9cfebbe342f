//! How one number lies in memory.

use half::{bf16, f16};
use std::fmt;

/// The storage types that arrays of numbers come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Dtype {
    /// Binary digits of its numbers.
    pub const fn bits(self) -> u32 {
        match self {
            Dtype::Bf16 => 8,
            Dtype::F16 => 11,
            Dtype::F32 => 24,
            Dtype::F64 => 53,
        }
    }

    /// The name users see: `f16`, `bf16`, `f32` or `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::F32 => 4,
            Dtype::F64 => 8,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A storage type: f32, f64, [`bf16`] or [`struct@f16`].
///
/// `Accumulator` is the type sums are formed in: f32 for everything up to 32 bits, f64 for f64.
pub trait Element: Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The type sums of these are formed in.
    type Accumulator: Element;

    /// The storage type's name as data.
    const DTYPE: Dtype;

    /// Exact: every storage type fits f64.
    fn to_f64(self) -> f64;

    /// Rounds to nearest, ties to even.
    fn from_f64(value: f64) -> Self;
}

macro_rules! element {
    ($type:ty, $accumulator:ty, $dtype:ident, $to:expr, $from:expr) => {
        impl Element for $type {
            type Accumulator = $accumulator;
            const DTYPE: Dtype = Dtype::$dtype;

            #[inline(always)]
            fn to_f64(self) -> f64 {
                $to(self)
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $from(value)
            }
        }
    };
}

element!(f64, f64, F64, |x| x, |x| x);
element!(f32, f32, F32, f64::from, |x| x as f32);
element!(bf16, f32, Bf16, f64::from, bf16::from_f64);
element!(f16, f32, F16, f64::from, f16::from_f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips<T: Element>(value: f64) {
        assert_eq!(T::from_f64(value).to_f64(), value, "{}", T::DTYPE);
    }

    #[test]
    fn small_integers_and_infinities_survive_every_storage_type() {
        for value in [0.0, -1.0, 2.0, 96.0, f64::INFINITY, f64::NEG_INFINITY] {
            round_trips::<f64>(value);
            round_trips::<f32>(value);
            round_trips::<bf16>(value);
            round_trips::<f16>(value);
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        // bf16 keeps 8 significant bits: 257 lies half-way between 256 and 258.
        assert_eq!(bf16::from_f64(257.0).to_f64(), 256.0);
        assert_eq!(bf16::from_f64(259.0).to_f64(), 260.0);
        // f16 keeps 11: 2049 lies half-way between 2048 and 2050.
        assert_eq!(f16::from_f64(2049.0).to_f64(), 2048.0);
    }

    #[test]
    fn sizes_agree_with_the_types() {
        assert_eq!(f16::DTYPE.size(), size_of::<f16>());
        assert_eq!(bf16::DTYPE.size(), size_of::<bf16>());
        assert_eq!(f32::DTYPE.size(), size_of::<f32>());
        assert_eq!(f64::DTYPE.size(), size_of::<f64>());
    }
}
