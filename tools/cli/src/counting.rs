//! How often this process allocates while it is asked to count: playing must not. Counts what Rust code
//! allocates, on every thread but those that say otherwise.
#![allow(unsafe_code)] // An allocator is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The system's allocator, and a count.
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IGNORED: Cell<bool> = const { Cell::new(false) };
}

/// Begins to count from 0.
pub fn start() {
    COUNT.store(0, Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
}

/// Stops; how often was allocated since it started.
pub fn stop() -> u64 {
    ON.store(false, Ordering::Relaxed);
    COUNT.load(Ordering::Relaxed)
}

/// Does something on this thread that does not count.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let was = IGNORED.replace(true);
    let result = work();
    IGNORED.set(was);
    result
}

fn count() {
    // A thread that is ending has no such variable any more.
    if ON.load(Ordering::Relaxed) && !IGNORED.try_with(Cell::get).unwrap_or(true) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator unchanged; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the ones that the system's allocator asks for.
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
        // One of them may have looked just before the end and count just after it, but not a hundred times.
        let uncounted_now = (0..100).any(|_| {
            let before = COUNT.load(Ordering::Relaxed);
            drop(std::hint::black_box(vec![1u8; 100]));
            COUNT.load(Ordering::Relaxed) == before
        });
        assert!(uncounted_now, "not while it is off");
    }
}
