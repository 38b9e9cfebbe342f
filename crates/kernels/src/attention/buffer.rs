//! Scratch memory that begins at a cache line, so that no vector straddles two.

use crate::Element;

/// Numbers that begin at a cache line. Grows, never shrinks.
pub(super) struct Buffer<A> {
    /// Eight bytes each, and seven more than needed: the first line may begin anywhere in eight of them.
    words: Vec<u64>,
    numbers: std::marker::PhantomData<A>,
}

impl<A: Element> Buffer<A> {
    pub(super) const fn new() -> Self {
        Buffer { words: Vec::new(), numbers: std::marker::PhantomData }
    }

    /// How many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    /// Room for at least `len` numbers, whatever they are.
    #[inline]
    pub(super) fn reserve(&mut self, len: usize) -> &mut [A] {
        let words = (len * size_of::<A>()).div_ceil(8) + 7;
        if self.words.len() < words {
            self.words = Vec::new();
            // Zeros of integers come from the system as they are: what a small problem does not touch costs nothing.
            self.words = vec![0; words];
        }
        let skipped = (self.words.as_ptr() as usize).wrapping_neg() % 64 / 8;
        // SAFETY: the words are initialised bytes, from the skipped ones on aligned for every number; f32, f64,
        // bf16 and f16, the only elements, may be any bytes; `len` numbers fit into the words behind at most seven.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().add(skipped).cast::<A>(), len) }
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
