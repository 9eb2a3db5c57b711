//! What jobs take. Where the system has no clock, as in WebAssembly without one, nothing is measured.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant;

/// Begun with the job.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) struct Stopwatch(Instant);

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }
    /// Nanoseconds since then.
    pub fn elapsed(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// Without a clock.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) struct Stopwatch;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch
    }
    /// None pass.
    pub fn elapsed(&self) -> u64 {
        0
    }
}
