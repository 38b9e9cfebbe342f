//! Tests of everything `unsafe` under Valgrind: no read or write outside what was allocated. Scratch memory starts as zeros and is used
//! again, so what an earlier piece of work left there is not seen by it.
//!
//! Miri does not know the vector instructions. Valgrind does (AVX2 and FMA, not AVX-512), and checks the very code that ships.

use crate::{cargo, run};
use anyhow::{Context, Result};
use std::process::Command;

/// What runs instead of each test binary.
const RUNNER: &str = "target.'cfg(unix)'.runner = ['valgrind', '--quiet', '--error-exitcode=3']";

/// Tests of the kernels: all but those of tall products, which take many minutes.
const KERNELS: [&str; 3] = ["attention::", "simd::", "view::"];

/// Tests of the attention crate that reach packing, odd strides and the ends of tiles, in about two minutes together.
const ATTENTION: [&str; 3] =
    ["forward::tests::special", "forward::tests::properties", "forward::tests::threads"];

pub(crate) fn test() -> Result<()> {
    run(Command::new("valgrind").arg("--version")).context("these tests run under Valgrind")?;
    // On every instruction set there is: the tests go through them all.
    let kernels = ["--config", RUNNER, "test", "--quiet", "-p", "spanwise-kernels", "--lib", "--"];
    cargo(&[&kernels[..], &KERNELS].concat())?;
    let attention = ["--config", RUNNER, "test", "--quiet", "-p", "spanwise-attention", "--lib", "--"];
    cargo(&[&attention[..], &ATTENTION].concat())
}
