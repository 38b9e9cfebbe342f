//! Pieces of one large memory, lent to the leaves of a tree and given back where two become one.
//!
//! A leaf's sums of five hundred columns are a megabyte, too small for a large page of their own, and memory that was just freed may have
//! gone back to the system, whose pages every leaf then touches anew.

use super::aligned::Aligned;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that are lent at most; who comes later gets memory of its own.
const MOST: usize = 32 << 20;

/// Memory for up to `count` pieces of `len` numbers.
pub(super) fn memory(count: usize, len: usize) -> Aligned {
    Aligned::zeros(count.min(MOST / (len * size_of::<f64>()).max(1)) * len)
}

/// Pieces of a memory that nobody has at the moment.
pub(super) struct Slots<'m> {
    len: usize,
    /// Each with whether somebody has had it.
    spare: Mutex<Vec<(&'m mut [f64], bool)>>,
}

/// A piece of `len` numbers.
pub(super) enum Slot<'m> {
    Lent(&'m mut [f64]),
    Own(Aligned),
}

impl<'m> Slots<'m> {
    pub(super) fn new(memory: &'m mut [f64], len: usize) -> Self {
        let spare = memory.chunks_exact_mut(len.max(1)).map(|slot| (slot, false)).collect();
        Slots { len, spare: Mutex::new(spare) }
    }

    /// Zeros.
    pub(super) fn take(&self) -> Slot<'m> {
        let spare = self.spare().pop();
        match spare {
            Some((slot, used)) => {
                if used {
                    slot.fill(0.0);
                }
                Slot::Lent(slot)
            }
            None => Slot::Own(Aligned::zeros(self.len)),
        }
    }

    pub(super) fn give_back(&self, slot: Slot<'m>) {
        if let Slot::Lent(slot) = slot {
            self.spare().push((slot, true));
        }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<(&'m mut [f64], bool)>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Slot<'_> {
    type Target = [f64];

    #[inline(always)]
    fn deref(&self) -> &[f64] {
        match self {
            Slot::Lent(slot) => slot,
            Slot::Own(slot) => slot,
        }
    }
}

impl DerefMut for Slot<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        match self {
            Slot::Lent(slot) => slot,
            Slot::Own(slot) => slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_zero_whoever_had_them_and_there_is_always_one_more() {
        let mut memory = memory(2, 24);
        let slots = Slots::new(&mut memory, 24);
        let mut taken: Vec<Slot<'_>> = (0..3).map(|_| slots.take()).collect();
        assert!(matches!(taken[2], Slot::Own(_)));
        for slot in &mut taken {
            assert!(slot.len() == 24 && slot.iter().all(|&x| x == 0.0));
            slot.fill(1.0);
        }
        for slot in taken {
            slots.give_back(slot);
        }
        for lent in [true, true, false] {
            let slot = slots.take();
            assert_eq!(matches!(slot, Slot::Lent(_)), lent);
            assert!(slot.iter().all(|&x| x == 0.0));
        }
        assert!(MOST / 8 >= super::memory(1000, MOST / 64).len());
    }
}
