//! Scratch memory that begins at a cache line, so that no vector straddles two.

use crate::Element;

/// 64 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Numbers that begin at a cache line. Grows, never shrinks.
pub(super) struct Buffer<A> {
    lines: Vec<Line>,
    numbers: std::marker::PhantomData<A>,
}

impl<A: Element> Buffer<A> {
    pub(super) const fn new() -> Self {
        Buffer { lines: Vec::new(), numbers: std::marker::PhantomData }
    }

    /// Room for at least `len` numbers, whatever they are.
    #[inline]
    pub(super) fn reserve(&mut self, len: usize) -> &mut [A] {
        let lines = (len * size_of::<A>()).div_ceil(64);
        if self.lines.len() < lines {
            self.lines = Vec::new();
            self.lines = vec![Line([0; 64]); lines];
        }
        // SAFETY: the lines are initialised bytes, aligned for every number; f32, f64, bf16 and f16, the only elements, may
        // be any bytes; `len` numbers fit into `lines` lines.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<A>(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_and_begins_at_a_line() {
        let mut buffer = Buffer::<f64>::new();
        for len in [0, 1, 9, 100, 7] {
            let numbers = buffer.reserve(len);
            assert_eq!(numbers.len(), len);
            assert_eq!(numbers.as_ptr() as usize % 64, 0);
            numbers.fill(1.5);
        }
    }
}
