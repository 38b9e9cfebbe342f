//! Products of tiles against sums in f64, on every instruction set that has them.

use super::*;
use crate::simd::Lanes;

const STEPS: usize = 2;
/// Rows lie further apart than they are long.
const ROW: usize = STEPS * TILE_DEPTH + 5;

/// Two blocks of rows and two panels: from numbers to the products of all rows with all columns of both
/// panels, and what was there before where it is added to.
struct Multiply<'a> {
    numbers: TileNumbers,
    /// `(2·16, STEPS·32)`.
    left: &'a [f32],
    /// `(2·16, STEPS·32)`: as many columns as any instruction set has, of which the first lanes of each sixteen are used.
    right: &'a [f32],
    adds: bool,
    /// The second panel is the first.
    same: bool,
}

/// Part `part` of a number: the nearest bf16, the nearest to what is left, and so on; or the nearest f16, moved as bf16.
fn part_of(numbers: TileNumbers, mut x: f32, part: usize) -> bf16 {
    if let TileNumbers::F16(_) = numbers {
        return bf16::from_bits(f16::from_f32(x).to_bits());
    }
    for _ in 0..part {
        x -= bf16::from_f32(x).to_f32();
    }
    bf16::from_f32(x)
}

impl TileKernel for Multiply<'_> {
    /// `(rows, panels, lanes)` and the lanes.
    type Output = (Vec<f32>, usize);

    #[inline(always)]
    fn run<S: TileDots>(self, isa: S) -> (Vec<f32>, usize) {
        let lanes = <S as Lanes<f32>>::LANES;
        let parts = match self.numbers {
            TileNumbers::Parts(parts) => parts,
            TileNumbers::F16(_) => 1,
        };
        let (a_part, b_part) = (2 * TILE_ROWS * ROW, 2 * STEPS * TILE_DEPTH * lanes);
        let mut a = vec![bf16::NAN; parts * a_part];
        let mut b = vec![bf16::ZERO; parts * b_part];
        for part in 0..parts {
            for row in 0..2 * TILE_ROWS {
                for i in 0..STEPS * TILE_DEPTH {
                    let x = self.left[row * STEPS * TILE_DEPTH + i];
                    a[part * a_part + row * ROW + i] = part_of(self.numbers, x, part);
                }
            }
            for panel in 0..2 {
                for lane in 0..lanes {
                    for i in 0..STEPS * TILE_DEPTH {
                        let x = self.right[(panel * 16 + lane) * STEPS * TILE_DEPTH + i];
                        let at = panel * STEPS * TILE_DEPTH * lanes + i / 2 * 2 * lanes + 2 * lane + i % 2;
                        b[part * b_part + at] = part_of(self.numbers, x, part);
                    }
                }
            }
        }
        let mut c = vec![1.5; 4 * TILE_ROWS * lanes];
        let second = usize::from(!self.same);
        let tile = TILE_ROWS * lanes;
        isa.begin_tiles();
        // SAFETY: operands and products hold what the distances say.
        unsafe {
            let to = c.as_mut_ptr();
            isa.multiply_tiles(&TileProduct {
                numbers: self.numbers,
                a: [a.as_ptr(), a.as_ptr().add(TILE_ROWS * ROW)],
                a_row: ROW as isize,
                a_step: TILE_DEPTH,
                a_part,
                b: [b.as_ptr(), b.as_ptr().add(second * STEPS * TILE_DEPTH * lanes)],
                b_part,
                c: [[to, to.add(second * tile)], [to.add(2 * tile), to.add((2 + second) * tile)]],
                steps: STEPS,
                adds: self.adds,
            });
        }
        isa.end_tiles();
        (c, lanes)
    }
}

fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from_bits((state >> 9) | 0x3f80_0000) * 2.0 - 3.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn a_product_of_tiles_has_the_digits_of_its_parts() {
    let (left, right) = (numbers(1, 32 * STEPS * TILE_DEPTH), numbers(2, 32 * STEPS * TILE_DEPTH));
    let has_tiles = |isa: &Isa| !matches!(dispatch_tiles(*isa, Nothing), Err(Nothing));
    let isas: Vec<Isa> = Isa::available().into_iter().filter(has_tiles).collect();
    assert!(isas.contains(&Isa::ScalarAmx) && isas.contains(&Isa::ScalarAmxF16));
    for isa in isas {
        let in_parts = [(1, 7), (2, 15), (3, 22)].map(|(parts, bits)| (TileNumbers::Parts(parts), bits));
        let as_f16 = TilesOfF16::of(isa).map(|proof| (TileNumbers::F16(proof), 10));
        for (numbers, bits) in in_parts.into_iter().chain(as_f16) {
            for (adds, same) in [(false, false), (true, false), (true, true), (false, true)] {
                let kernel = Multiply { numbers, left: &left, right: &right, adds, same };
                let Ok((found, lanes)) = dispatch_tiles(isa, kernel) else { panic!("{isa} has tiles") };
                let mut worst = 0.0f64;
                for row in 0..2 * TILE_ROWS {
                    for panel in 0..2 {
                        for lane in 0..lanes {
                            let at = (row / TILE_ROWS * 2 + panel) * TILE_ROWS * lanes;
                            let got = f64::from(found[at + row % TILE_ROWS * lanes + lane]);
                            if same && panel == 1 {
                                assert_eq!(got, 1.5, "{isa}: nobody writes there");
                                continue;
                            }
                            let (mut sum, mut size) = (if adds { 1.5 } else { 0.0 }, 0.0);
                            for i in 0..STEPS * TILE_DEPTH {
                                let x = f64::from(left[row * STEPS * TILE_DEPTH + i]);
                                let y = f64::from(right[(panel * 16 + lane) * STEPS * TILE_DEPTH + i]);
                                sum += x * y;
                                size += (x * y).abs();
                            }
                            worst = worst.max((got - sum).abs() / size);
                        }
                    }
                }
                assert!(worst < 0.5f64.powi(bits), "{isa} {numbers:?}: {worst:e}");
                assert!(
                    numbers == TileNumbers::Parts(3) || worst > 0.5f64.powi(bits + 8),
                    "{isa} {numbers:?} were not all: {worst:e}"
                );
            }
        }
    }
}

/// What tells whether there are tiles.
struct Nothing;

impl TileKernel for Nothing {
    type Output = ();

    fn run<S: TileDots>(self, _: S) {}
}

#[test]
fn small_numbers_of_f16_are_multiplied_as_they_are() {
    // The smallest f16 there is, 2⁻²⁴, times 1 in every place.
    let (left, right) = (vec![0.5f32.powi(24); 32 * STEPS * TILE_DEPTH], vec![1.0; 32 * STEPS * TILE_DEPTH]);
    for isa in Isa::available() {
        let Some(proof) = TilesOfF16::of(isa) else { continue };
        let kernel = Multiply {
            numbers: TileNumbers::F16(proof),
            left: &left,
            right: &right,
            adds: false,
            same: false,
        };
        let Ok((found, _)) = dispatch_tiles(isa, kernel) else { panic!("{isa} has tiles") };
        assert_eq!(found[0], (STEPS * TILE_DEPTH) as f32 * 0.5f32.powi(24), "{isa}");
    }
}

#[test]
fn instruction_sets_without_tiles_give_the_kernel_back() {
    let kernel = Multiply { numbers: TileNumbers::Parts(1), left: &[], right: &[], adds: false, same: false };
    assert!(dispatch_tiles(Isa::Scalar, kernel).is_err());
}
