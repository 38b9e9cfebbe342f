//! Which instruction sets this machine has, asked once.

use std::fmt;
use std::sync::OnceLock;

/// The instruction sets kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// Whatever the compiler's baseline gives.
    Scalar,
    /// The same, with products of bf16 pairs formed in plain arithmetic: what [`Isa::Avx512Bf16`] computes, on any machine.
    ScalarBf16,
    /// The same with products of whole tiles of bf16: what [`Isa::Amx`] computes, but for the order of sums, on any machine.
    ScalarAmx,
    /// The same with products of whole tiles of f16: what [`Isa::AmxF16`] computes, but for the order of sums, on any machine.
    ScalarAmxF16,
    /// AVX2 with FMA (`x86_64`).
    Avx2,
    /// AVX-512 F, BW, DQ and VL (`x86_64`).
    Avx512,
    /// The same with products of bf16 pairs.
    Avx512Bf16,
    /// The same with products of whole tiles of bf16 (AMX).
    Amx,
    /// The same with products of whole tiles of f16.
    AmxF16,
    /// NEON (`aarch64`).
    Neon,
}

/// Why `SPANWISE_ISA` cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IsaError {
    /// No instruction set of that name.
    #[error("SPANWISE_ISA is `{found}`; expected one of {}", names(&Isa::ALL))]
    Unknown {
        /// The value of the variable.
        found: String,
    },
    /// The machine does not have it.
    #[error("SPANWISE_ISA is `{asked}`, which this machine does not have; it has {}", names(available))]
    Unavailable {
        /// What was asked for.
        asked: Isa,
        /// What there is.
        available: Vec<Isa>,
    },
}

impl Isa {
    /// All of them, weakest first.
    pub const ALL: [Isa; 10] = [
        Isa::Scalar,
        Isa::ScalarBf16,
        Isa::ScalarAmx,
        Isa::ScalarAmxF16,
        Isa::Neon,
        Isa::Avx2,
        Isa::Avx512,
        Isa::Avx512Bf16,
        Isa::Amx,
        Isa::AmxF16,
    ];

    /// The name users see and `SPANWISE_ISA` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::ScalarBf16 => "scalar-bf16",
            Isa::ScalarAmx => "scalar-amx",
            Isa::ScalarAmxF16 => "scalar-amx-f16",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Avx512Bf16 => "avx512-bf16",
            Isa::Amx => "amx",
            Isa::AmxF16 => "amx-f16",
            Isa::Neon => "neon",
        }
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Scalar | Isa::ScalarBf16 | Isa::ScalarAmx | Isa::ScalarAmxF16 => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => super::Avx2::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => super::Avx512::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 => super::Avx512::detect_bf16().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::Amx => super::Avx512::detect_amx().is_some(),
            #[cfg(target_arch = "x86_64")]
            Isa::AmxF16 => super::TilesOfF16::of(self).is_some(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => super::Neon::detect().is_some(),
            #[allow(unreachable_patterns, reason = "which names are left depends on the target")]
            _ => false,
        }
    }

    /// Whether it forms in plain arithmetic what others have instructions for.
    fn is_emulated(self) -> bool {
        matches!(self, Isa::ScalarBf16 | Isa::ScalarAmx | Isa::ScalarAmxF16)
    }

    /// Whether it has AVX-512, with whatever besides.
    pub fn has_avx512(self) -> bool {
        matches!(self, Isa::Avx512 | Isa::Avx512Bf16 | Isa::Amx | Isa::AmxF16)
    }

    /// Every instruction set of this machine, weakest first.
    pub fn available() -> Vec<Isa> {
        Isa::ALL.into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// What kernels run with: the best the machine has, lowered by `SPANWISE_ISA` where that names one it has.
    ///
    /// Asked once per process. A value that cannot be followed is ignored here; call
    /// [`Isa::from_environment`] first to turn it into an error.
    pub fn detected() -> Isa {
        static DETECTED: OnceLock<Isa> = OnceLock::new();
        *DETECTED.get_or_init(|| Isa::from_environment().unwrap_or_else(|_| Isa::best()))
    }

    /// What `SPANWISE_ISA` asks for, or the best the machine has where it is not set or empty.
    pub fn from_environment() -> Result<Isa, IsaError> {
        match std::env::var_os("SPANWISE_ISA") {
            Some(asked) if !asked.is_empty() => Isa::asked(&asked.to_string_lossy()),
            _ => Ok(Isa::best()),
        }
    }

    /// The instruction set called `name`, if this machine has it.
    pub fn asked(name: &str) -> Result<Isa, IsaError> {
        let asked = Isa::ALL
            .into_iter()
            .find(|isa| isa.name() == name)
            .ok_or_else(|| IsaError::Unknown { found: name.to_owned() })?;
        if asked.is_available() {
            Ok(asked)
        } else {
            Err(IsaError::Unavailable { asked, available: Isa::available() })
        }
    }

    /// Emulations are for tests alone: nobody gets one without asking. Nor does anybody get pairs from a processor that multiplies
    /// them at half the rate of single numbers, as those of Intel were seen to: they have tiles for it, or had better widen.
    fn best() -> Isa {
        let is_slow = |isa| isa == Isa::Avx512Bf16 && is_by_intel();
        let is_best = |&isa: &Isa| !isa.is_emulated() && !is_slow(isa);
        Isa::available().into_iter().rfind(is_best).unwrap_or(Isa::Scalar)
    }
}

#[cfg(target_arch = "x86_64")]
fn is_by_intel() -> bool {
    maker() == *b"GenuineIntel"
}

#[cfg(not(target_arch = "x86_64"))]
fn is_by_intel() -> bool {
    false
}

/// Whether this processor fetches memory ahead of what is read by itself, in a dozen places and from page to page; found out once. Others
/// do so in few places, each until its page ends, and have to be asked for more. AMD's from Zen 5 (family 1Ah) on were seen to.
pub fn fetches_across_pages() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        if maker() == *b"AuthenticAMD" && family() >= 0x1A {
            return true;
        }
        false
    })
}

#[cfg(target_arch = "x86_64")]
fn maker() -> [u8; 12] {
    let id = std::arch::x86_64::__cpuid(0);
    let mut name = [0; 12];
    name.copy_from_slice([id.ebx, id.edx, id.ecx].map(u32::to_le_bytes).as_flattened());
    name
}

/// The family as AMD counts it: a field of four bits, and one of eight that is added where the first is full.
#[cfg(target_arch = "x86_64")]
fn family() -> u32 {
    let id = std::arch::x86_64::__cpuid(1).eax;
    let (base, more) = (id >> 8 & 0xF, id >> 20 & 0xFF);
    if base == 0xF { base + more } else { base }
}

fn names(of: &[Isa]) -> String {
    of.iter().map(|isa| isa.name()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
