//! Measures the duration of jobs. If the system has no clock, as in WebAssembly without one, it is 0.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant;

/// Started with the job.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) struct Stopwatch(Instant);

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }
    /// Returns the nanoseconds since the start.
    pub fn elapsed(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// The stopwatch of a system without a clock.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) struct Stopwatch;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch
    }
    /// Returns 0.
    pub fn elapsed(&self) -> u64 {
        0
    }
}
