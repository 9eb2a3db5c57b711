//! Reports a lack of memory: the module cannot go on without it, but the page can say how much was missing.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size in bytes of the last allocation that failed; 0 if none did.
static MISSING_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns the size in bytes of the allocation that failed.
pub(crate) fn missing_bytes() -> usize {
    MISSING_BYTES.load(Ordering::Relaxed)
}

// On other targets the crate is only tested, with the test's allocator.
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
struct ReportingAllocator;

#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
impl ReportingAllocator {
    fn record_failure(at: *mut u8, size: usize) -> *mut u8 {
        if at.is_null() {
            MISSING_BYTES.store(size, Ordering::Relaxed);
        }
        at
    }
}

// SAFETY: each call is forwarded to the system's allocator, with the same arguments and result.
unsafe impl GlobalAlloc for ReportingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        ReportingAllocator::record_failure(unsafe { System.alloc(layout) }, layout.size())
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        ReportingAllocator::record_failure(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        ReportingAllocator::record_failure(unsafe { System.realloc(at, layout, size) }, size)
    }
}

#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: ReportingAllocator = ReportingAllocator;
