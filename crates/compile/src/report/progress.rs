//! How far a compilation is: what whoever calls is told on the way.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Phases that a progress display shows, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// First pass over all frames: bounds, topology, what is static, vertex splitting.
    Analyse,
    /// Methods, settings, parts and bones are sought: most of the work where bones are. Told in expected
    /// work, with that of the passes behind it.
    Search,
    /// Second pass: quantize, predict, compress, write.
    Encode,
    /// The finished file is opened and decoded.
    Inspect,
}

/// Receives progress; called from several threads.
pub trait Progress: Sync {
    /// `done` of `total` of a phase, in meshes, expected nanoseconds, or frames.
    fn update(&self, phase: Phase, done: u64, total: u64);
    /// Names what is being tried, and for which mesh.
    fn trying(&self, _what: &str) {}
}

/// Opens a finished file as a player would and decodes all of it, before it gets its name: nothing that is
/// refused here replaces anything. This crate does not know the runtime, so whoever calls brings it along.
pub type Inspect<'a> = &'a (dyn Fn(&Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Sync);

/// Progress that is not shown.
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: Phase, _: u64, _: u64) {}
}

/// The time left of a phase: what has been done took so long, and what is left goes on as fast. Steps may be
/// long and few, so that what the last of them took says little. A search tells nanoseconds that it expects:
/// these are shown until there is more to go by.
#[derive(Clone)]
pub struct TimeLeft(Arc<Mutex<Told>>);

struct Told {
    since: Instant,
    /// When there was something new, and about when all will be done.
    end: Option<Instant>,
    from: u64,
    done: u64,
    /// What is expected of the phase, as seconds that were seen and nanoseconds that were told.
    expected: (f64, f64),
}

/// After so many seconds of a search what it took tells as much as what was expected.
const LEARNED: f64 = 2.0;

impl TimeLeft {
    /// A phase begins now that counts things.
    pub fn counting() -> TimeLeft {
        TimeLeft::with(0, (0.0, 0.0))
    }

    /// A search begins, or goes on with so much behind it.
    pub fn searching(done: u64) -> TimeLeft {
        TimeLeft::with(done, (LEARNED, 1e9 * LEARNED))
    }

    fn with(from: u64, expected: (f64, f64)) -> TimeLeft {
        let since = Instant::now();
        TimeLeft(Arc::new(Mutex::new(Told { since, end: None, from, done: from, expected })))
    }

    /// So much is done now; less than before is ignored.
    pub fn tell(&self, done: u64, total: u64) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (seconds, work) = told.expected;
        let first = told.end.is_none() && work > 0.0;
        if (done > told.done || first) && done <= total {
            told.done = done;
            let pace = (told.since.elapsed().as_secs_f64() + seconds) / ((done - told.from) as f64 + work);
            let left = ((total - done) as f64 * pace).min(1e9);
            told.end = Instant::now().checked_add(Duration::from_secs_f64(left));
        }
    }

    /// About the time from now to the end; nothing is known at first.
    pub fn now(&self) -> Option<Duration> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.end.map(|end| end.saturating_duration_since(Instant::now()))
    }
}
