//! What all targets share: an input may take a bounded amount of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::abort;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use libfuzzer_sys;

/// The most bytes that are held at once while an input is tried: far more than any of them
/// needs, as they have a few kilobytes.
const MOST_BYTES: usize = 256 * 1024 * 1024;

#[global_allocator]
static ALLOCATOR: BoundedAllocator = BoundedAllocator;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which ends the process when too much is held.
struct BoundedAllocator;

// SAFETY: all is done by the system's allocator; only numbers are kept beside it.
unsafe impl GlobalAlloc for BoundedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}

fn take(bytes: usize) {
    let before = HELD.fetch_add(bytes, Ordering::Relaxed);
    if before.saturating_add(bytes) > MOST_BYTES {
        // libFuzzer takes an abort for a finding, and keeps the input.
        abort();
    }
}

/// A target: what is tried with the bytes that libFuzzer makes up.
#[macro_export]
macro_rules! target {
    ($check:expr) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            let check: fn(&[u8]) = $check;
            check(data);
        });
    };
}
