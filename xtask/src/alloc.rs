//! An allocator that counts, so that a benchmark can say what a turn allocates.
//!
//! It counts what is asked for, on all threads; what is freed again is not
//! taken off, since a turn pays for each allocation whether it keeps it or not.

// `GlobalAlloc` is an unsafe trait, and there is no other way to see every
// allocation. Each call is handed on to the system's allocator as it came.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, with a count of what is asked of it.
pub(crate) struct CountingAllocator;

/// What was allocated up to a moment, or between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllocationCount {
    /// Bytes that were asked for, whether given back or not.
    pub(crate) bytes: u64,
    /// How often something was asked for.
    pub(crate) count: u64,
}

static BYTES: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);

/// What was allocated since the program began.
pub(crate) fn so_far() -> AllocationCount {
    AllocationCount { bytes: BYTES.load(Ordering::Relaxed), count: COUNT.load(Ordering::Relaxed) }
}

impl Sub for AllocationCount {
    type Output = AllocationCount;

    fn sub(self, earlier: AllocationCount) -> AllocationCount {
        AllocationCount { bytes: self.bytes - earlier.bytes, count: self.count - earlier.count }
    }
}

fn count(bytes: usize) {
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every method hands its arguments on to `System`, which upholds the
// trait's contract; the counters don't allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Only the growth: a vector that doubles ten times has not allocated
        // each of its former sizes anew.
        count(size.saturating_sub(layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_counted() {
        let before = so_far();
        let block = std::hint::black_box(vec![1_u8; 4_096]);
        let spent = so_far() - before;
        assert!(spent.bytes >= block.len() as u64 && spent.count >= 1, "{spent:?}");
    }
}
