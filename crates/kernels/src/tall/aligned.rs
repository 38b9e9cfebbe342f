//! Zeros that begin at a cache line: a vector that straddles two lines costs two loads.

use super::pack::PANEL;
use crate::memory;
use std::ops::{Deref, DerefMut};

/// As many zeros as asked for, the first at a multiple of 64 bytes.
pub(crate) struct Aligned {
    memory: Vec<f64>,
    first: usize,
    len: usize,
}

impl Aligned {
    pub(crate) fn zeros(len: usize) -> Self {
        let memory = memory::zeros(len + PANEL - 1);
        // Where the machine cannot say, the memory is used as it is.
        let first = memory.as_ptr().align_offset(PANEL * size_of::<f64>());
        Aligned { first: if first < PANEL { first } else { 0 }, memory, len }
    }
}

impl Deref for Aligned {
    type Target = [f64];

    #[inline(always)]
    fn deref(&self) -> &[f64] {
        &self.memory[self.first..][..self.len]
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.memory[self.first..][..self.len]
    }
}
