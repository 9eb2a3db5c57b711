//! The machine on which figures are measured, its memory use, and the record of runs.

use anyhow::Context;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the current anonymous memory in bytes; `None` on systems other than Linux.
pub fn anonymous_now() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Samples the anonymous memory every few milliseconds until the peak is requested.
pub struct PeakMemory {
    stop: Arc<AtomicBool>,
    peak: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl PeakMemory {
    pub fn start() -> PeakMemory {
        let stop = Arc::new(AtomicBool::new(false));
        let peak = Arc::new(AtomicU64::new(0));
        let (stopped, highest) = (stop.clone(), peak.clone());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Relaxed) {
                let Some(now) = anonymous_now() else { break };
                highest.fetch_max(now, Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        PeakMemory { stop, peak, thread: Some(thread) }
    }

    /// Returns the peak in bytes; `None` if the system does not provide it.
    pub fn finish(mut self) -> Option<u64> {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only reads and sleeps.
            let _ = thread.join();
        }
        let last = anonymous_now()?;
        Some(self.peak.load(Relaxed).max(last))
    }
}

/// Returns processor and number of cores, as a folder's name.
pub fn name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|l| l.strip_prefix("model name").map(|rest| rest.trim_start_matches([' ', '\t', ':'])));
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let text = format!("{}-{cores}-cores", model.unwrap_or(std::env::consts::ARCH).to_lowercase());
    let plain = text.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let parts: Vec<&str> = plain.split('-').filter(|p| !p.is_empty()).collect();
    parts.join("-")
}

/// Returns today's date in UTC, as `2026-08-21`.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = since.map_or(0, |d| d.as_secs() / 86_400);
    date(days)
}

/// Returns the date `days` days after 1970-01-01.
fn date(days: u64) -> String {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let (mut year, mut left) = (1970, days);
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

/// Appends lines to `bench/record/MACHINE/DATE.csv`, below a header if that has changed.
pub fn record(header: &str, lines: &[String]) -> anyhow::Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("record").join(name());
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join(format!("{}.csv", today()));
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .with_context(|| format!("writing {}", path.display()))?;
    let is_header = |l: &&str| l.starts_with("bench,");
    if before.lines().rev().find(is_header) != Some(header) {
        writeln!(file, "{header}")?;
    }
    for line in lines {
        writeln!(file, "{line}")?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let known = [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ];
        for (days, want) in known {
            assert_eq!(date(days), want);
        }
    }

    #[test]
    fn names_are_folders() {
        let name = name();
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(!name.is_empty() && name.chars().all(allowed), "{name}");
    }
}
