//! Counts allocations of this process on request, since playback must not allocate. Includes all allocations
//! of Rust code, except on threads that opt out.
#![allow(unsafe_code)] // for the allocator

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The system's allocator with a counter.
pub struct CountingAllocator;

static ON: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IGNORED: Cell<bool> = const { Cell::new(false) };
}

/// Starts counting from 0.
pub fn start() {
    COUNT.store(0, Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
}

/// Stops counting and returns the number of allocations since the start.
pub fn stop() -> u64 {
    ON.store(false, Ordering::Relaxed);
    COUNT.load(Ordering::Relaxed)
}

/// Runs `work` on this thread without counting.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let was = IGNORED.replace(true);
    let result = work();
    IGNORED.set(was);
    result
}

fn count() {
    // A thread that is ending no longer has this variable.
    if ON.load(Ordering::Relaxed) && !IGNORED.try_with(Cell::get).unwrap_or(true) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is forwarded to the system's allocator unchanged; counting neither allocates nor
// unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; `pointer` came from the system's allocator, as all of this one's do.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_counted() {
        start();
        let kept = std::hint::black_box(vec![1u8; 100]);
        uncounted(|| drop(std::hint::black_box(vec![1u8; 100])));
        drop(kept);
        // Other tests allocate at the same time.
        assert!(stop() >= 1);
        // A thread may test the flag just before the end and count just after it, but not a hundred times.
        let uncounted_now = (0..100).any(|_| {
            let before = COUNT.load(Ordering::Relaxed);
            drop(std::hint::black_box(vec![1u8; 100]));
            COUNT.load(Ordering::Relaxed) == before
        });
        assert!(uncounted_now, "not while it is off");
    }
}
