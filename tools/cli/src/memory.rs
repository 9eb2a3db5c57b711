//! Measures the peak anonymous memory (heap and stacks, not mapped files) of this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two measurements.
const INTERVAL: Duration = Duration::from_millis(10);

/// A measurement that runs until it is stopped.
pub struct PeakMemory {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    peak: AtomicU64,
}

impl PeakMemory {
    /// Starts measuring on a thread of its own; does nothing on systems that do not report memory.
    pub fn start() -> PeakMemory {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            peak: AtomicU64::new(anonymous_bytes().unwrap_or(0)),
        });
        let thread = anonymous_bytes().and_then(|_| {
            let shared = shared.clone();
            let watch = move || {
                crate::counting::uncounted(|| {
                    while !shared.stop.load(Ordering::Relaxed) {
                        shared.peak.fetch_max(anonymous_bytes().unwrap_or(0), Ordering::Relaxed);
                        std::thread::park_timeout(INTERVAL);
                    }
                })
            };
            std::thread::Builder::new().spawn(watch).ok()
        });
        PeakMemory { shared, thread }
    }

    /// Returns the peak in bytes; `None` if the system does not report it.
    pub fn stop(mut self) -> Option<u64> {
        self.end();
        let last = anonymous_bytes()?;
        Some(self.shared.peak.fetch_max(last, Ordering::Relaxed).max(last))
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for PeakMemory {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the anonymous bytes resident now (Linux: `RssAnon`).
fn anonymous_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_large_allocation_is_seen() {
        let watch = PeakMemory::start();
        let bytes = std::hint::black_box(vec![1u8; 64 << 20]);
        std::thread::sleep(INTERVAL * 5);
        drop(bytes);
        assert!(watch.stop().is_some_and(|peak| peak >= 64 << 20));
    }
}
