#![expect(unsafe_code, reason = "an allocator that counts is an allocator")]
//! Counts the bytes that the process has allocated, in all threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static COUNTING: Counting = Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every request goes to the system's allocator unchanged; the counters are atomics, which
// neither allocate nor unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the pointer came from `System.alloc` with this layout, as the caller keeps.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Starts a new peak.
pub fn reset() {
    PEAK.store(NOW.load(Relaxed), Relaxed);
}

/// The most bytes allocated at one time since [`reset`].
pub fn peak_bytes() -> usize {
    PEAK.load(Relaxed)
}
