//! Tiles on AMX: eight registers of 16 rows of 64 bytes. Four hold sums, two each an operand.
//!
//! The compiler of stable Rust does not know the instructions, so they are written as such; it never uses these registers itself.
//! The system gives them to a process that asks, once.

use super::{TERMS, TILE_DEPTH, TileDots, TileNumbers, TileProduct};
use crate::bf16;
use crate::simd::Avx512;
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::OnceLock;

/// Whether the processor has tiles with products of bf16, and the system lets this process use them.
pub(in crate::simd) fn is_permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(|| has_tiles() && ask())
}

/// AMX-TILE and AMX-BF16.
fn has_tiles() -> bool {
    const BOTH: u32 = 1 << 24 | 1 << 22;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & BOTH == BOTH
}

/// AMX-FP16, of a processor that has tiles.
pub(in crate::simd) fn has_f16() -> bool {
    __cpuid_count(7, 0).eax >= 1 && __cpuid_count(7, 1).eax & 1 << 21 != 0
}

/// Asks for the tiles' registers, for all threads of the process. A system that does not know of them, or whose signal
/// stacks have no room for them, says no.
#[cfg(all(target_os = "linux", not(miri)))]
fn ask() -> bool {
    /// `ARCH_REQ_XCOMP_PERM`, and the tiles' data among the parts of a thread's state.
    const PERMISSION: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the call takes two numbers and touches no memory.
    unsafe { libc::syscall(libc::SYS_arch_prctl, PERMISSION, TILE_DATA) == 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn ask() -> bool {
    false
}

/// How the registers are divided: all eight of 16 rows and 64 bytes.
#[repr(C, align(64))]
struct Palette([u8; 64]);

static PALETTE: Palette = {
    let mut bytes = [0; 64];
    bytes[0] = 1;
    let mut tile = 0;
    while tile < 8 {
        bytes[16 + 2 * tile] = 64;
        bytes[48 + tile] = 16;
        tile += 1;
    }
    Palette(bytes)
};

/// An instruction on registers alone.
macro_rules! on_tiles {
    ($instruction:literal) => {
        asm!($instruction, options(nomem, nostack, preserves_flags))
    };
}

/// An instruction on a register and rows in memory, `stride` bytes apart.
macro_rules! on_rows {
    ($instruction:literal, $at:expr, $stride:expr) => {
        asm!($instruction, at = in(reg) $at, stride = in(reg) $stride, options(nostack, preserves_flags))
    };
}

/// Bytes from a row of sums to the next, and from a pair of a right operand to the next: a vector.
const VECTOR: usize = 64;

/// Left operands to registers 4 and 5.
macro_rules! load_left {
    ($of:expr, $from:expr) => {
        on_rows!("tileloadd tmm4, [{at} + {stride}]", $of.a[0].add($from), row_bytes($of));
        on_rows!("tileloadd tmm5, [{at} + {stride}]", $of.a[1].add($from), row_bytes($of));
    };
}

/// Right operands to registers 6 and 7.
macro_rules! load_right {
    ($of:expr, $from:expr) => {
        on_rows!("tileloadd tmm6, [{at} + {stride}]", $of.b[0].add($from), VECTOR);
        on_rows!("tileloadd tmm7, [{at} + {stride}]", $of.b[1].add($from), VECTOR);
    };
}

/// The four products of both operands, added to registers 0 to 3.
macro_rules! add_products {
    (bf16) => {
        on_tiles!("tdpbf16ps tmm0, tmm4, tmm6");
        on_tiles!("tdpbf16ps tmm1, tmm4, tmm7");
        on_tiles!("tdpbf16ps tmm2, tmm5, tmm6");
        on_tiles!("tdpbf16ps tmm3, tmm5, tmm7");
    };
    (f16) => {
        on_tiles!("tdpfp16ps tmm0, tmm4, tmm6");
        on_tiles!("tdpfp16ps tmm1, tmm4, tmm7");
        on_tiles!("tdpfp16ps tmm2, tmm5, tmm6");
        on_tiles!("tdpfp16ps tmm3, tmm5, tmm7");
    };
}

/// Bytes from a row of the left operand to the next.
#[inline(always)]
fn row_bytes(of: &TileProduct) -> isize {
    of.a_row * size_of::<bf16>() as isize
}

impl TileDots for Avx512<true, true> {
    #[inline(always)]
    fn begin_tiles(self) {
        // SAFETY: the token proves that the process may use tiles; the palette is 64 bytes.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const PALETTE, options(nostack, preserves_flags, readonly));
        };
    }

    #[inline(always)]
    fn end_tiles(self) {
        // SAFETY: the token. Registers that are given back cost a change of threads nothing.
        unsafe { on_tiles!("tilerelease") };
    }

    #[inline(always)]
    unsafe fn multiply_tiles(self, of: &TileProduct) {
        if let TileNumbers::F16(proof) = of.numbers {
            assert!(proof.by_machine, "the machine multiplies tiles of f16");
        }
        // SAFETY: the token; where the numbers are f16 the proof that has been looked at; and the caller's promise about all rows. The order
        // of what follows is kept, since each may touch memory or is volatile.
        unsafe {
            if of.adds {
                on_rows!("tileloadd tmm0, [{at} + {stride}]", of.c[0][0], VECTOR);
                on_rows!("tileloadd tmm1, [{at} + {stride}]", of.c[0][1], VECTOR);
                on_rows!("tileloadd tmm2, [{at} + {stride}]", of.c[1][0], VECTOR);
                on_rows!("tileloadd tmm3, [{at} + {stride}]", of.c[1][1], VECTOR);
            } else {
                on_tiles!("tilezero tmm0");
                on_tiles!("tilezero tmm1");
                on_tiles!("tilezero tmm2");
                on_tiles!("tilezero tmm3");
            }
            for step in 0..of.steps {
                let (a, b) = (step * of.a_step, step * TILE_DEPTH * 16);
                match of.numbers {
                    TileNumbers::Parts(1) => {
                        load_left!(of, a);
                        load_right!(of, b);
                        add_products!(bf16);
                    }
                    TileNumbers::F16(_) => {
                        load_left!(of, a);
                        load_right!(of, b);
                        add_products!(f16);
                    }
                    TileNumbers::Parts(parts) => {
                        let mut held = [usize::MAX; 2];
                        for &[left, right] in TERMS[parts - 1] {
                            if held[0] != left {
                                load_left!(of, a + left * of.a_part);
                            }
                            if held[1] != right {
                                load_right!(of, b + right * of.b_part);
                            }
                            held = [left, right];
                            add_products!(bf16);
                        }
                    }
                }
            }
            on_rows!("tilestored [{at} + {stride}], tmm0", of.c[0][0], VECTOR);
            on_rows!("tilestored [{at} + {stride}], tmm1", of.c[0][1], VECTOR);
            on_rows!("tilestored [{at} + {stride}], tmm2", of.c[1][0], VECTOR);
            on_rows!("tilestored [{at} + {stride}], tmm3", of.c[1][1], VECTOR);
        }
    }
}
