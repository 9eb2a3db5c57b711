//! Memory that runs out says so: the module cannot go on without it, but the page can say what was missing.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the last allocation that could not be had, 0 where all could.
static MISSING_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes that could not be had.
pub(crate) fn missing_bytes() -> usize {
    MISSING_BYTES.load(Ordering::Relaxed)
}

// Elsewhere the crate is only tested, with the memory of whoever does.
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

// SAFETY: each call is the system's, with the same arguments and result.
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
