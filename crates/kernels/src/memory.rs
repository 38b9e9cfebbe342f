//! Memory for large results.
//!
//! A page that is touched for the first time costs a fault of half a microsecond or more, and a matrix of 2,000 × 2,000 has 8,000
//! pages of the usual size: a tenth of the time of some fits. Where the system has large pages for those who ask, we ask.

#![allow(unsafe_code)] // advice to the system about memory that is ours

/// From this many bytes on large pages are worth asking for.
#[cfg(any(target_os = "linux", test))]
const LARGE: usize = 2 << 20;

/// So many zeros.
pub(crate) fn zeros(len: usize) -> Vec<f64> {
    let memory = vec![0.0; len];
    ask_for_large_pages(&memory);
    memory
}

/// Room for so many numbers.
pub(crate) fn room(len: usize) -> Vec<f64> {
    let memory = Vec::with_capacity(len);
    ask_for_large_pages(&memory);
    memory
}

/// Before the memory is touched. Where it cannot be done nothing is lost, so nothing is said.
fn ask_for_large_pages(memory: &Vec<f64>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes = memory.capacity() * size_of::<f64>();
        if bytes < LARGE {
            return;
        }
        let before = memory.as_ptr().addr().wrapping_neg() % PAGE;
        let whole = (bytes - before) / PAGE * PAGE;
        // SAFETY: the pages lie inside memory that is ours, and the advice changes nothing that can be read there.
        unsafe {
            let first = memory.as_ptr().cast::<u8>().add(before);
            libc::madvise(first.cast_mut().cast(), whole, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_size_is_zero_or_empty() {
        for len in [0, 1, 1000, LARGE / 8, LARGE / 8 + 513, LARGE] {
            let zeros = zeros(len);
            assert!(zeros.len() == len && zeros.iter().all(|&x| x.to_bits() == 0));
            let room = room(len);
            assert!(room.is_empty() && room.capacity() >= len);
        }
    }
}
