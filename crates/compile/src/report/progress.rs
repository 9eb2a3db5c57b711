//! How far a compilation is: what whoever calls is told on the way.

use meshreel_process::Cancellation;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// The finished file is opened, decoded and verified by whoever called, who may tell how far that is.
    Inspect,
}

/// Receives progress, and ends the work; called from several threads.
pub trait Progress: Sync {
    /// `done` of `total` of a phase, in meshes, expected nanoseconds, or frames.
    fn update(&self, phase: Phase, done: u64, total: u64);
    /// Names what is being tried, and for which mesh.
    fn trying(&self, _what: &str) {}
    /// Cancelled, it ends the compile within a second or so with [`crate::Error::Cancelled`]: no file is
    /// left, and one of that name stays as it is.
    fn cancellation(&self) -> Cancellation {
        Cancellation::never()
    }
}

/// Opens a finished file as a player would and decodes all of it, before it gets its name: nothing that is
/// refused here replaces anything. This crate does not know the runtime, so whoever calls brings it along.
pub type Inspect<'a> = &'a (dyn Fn(&Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Sync);

/// Progress that is not shown.
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: Phase, _: u64, _: u64) {}
}

/// The time left of a compile, phase by phase: what has been done took so long, and what is left goes on as
/// fast. Steps may be long and few, so that what the last of them took says little. A search tells
/// nanoseconds that it expects, those of the phases behind it included: these are shown until there is more
/// to go by.
#[derive(Clone)]
pub struct TimeLeft(Arc<Mutex<Told>>);

struct Told {
    since: Instant,
    /// When there was something new, and about when all will be done then.
    at: Instant,
    end: Option<Instant>,
    from: u64,
    done: u64,
    /// What is expected, as seconds that were seen and work that was told.
    expected: (f64, f64),
    /// What the phase is expected to take, in seconds, where the phase before told it.
    foreseen: Option<f64>,
    /// The part of its time that the phases behind it take.
    behind: f64,
    searches: bool,
}

/// After so many seconds of a search what it took tells as much as what was expected.
const LEARNED: f64 = 2.0;
/// After this part of the frames what they took tells as much as what was expected.
const LEARNED_OF_FRAMES: f64 = 0.1;
/// The part that verifying a file takes of what coding its frames takes.
pub(crate) const VERIFIED: f64 = 0.3;

impl TimeLeft {
    /// A phase begins now that counts things, and nothing is known of what is behind it.
    pub fn counting() -> TimeLeft {
        TimeLeft::with(Instant::now(), 0, (0.0, 0.0))
    }

    fn with(since: Instant, from: u64, expected: (f64, f64)) -> TimeLeft {
        let (at, searches) = (since, expected.1 > 0.0);
        let told =
            Told { since, at, end: None, from, done: from, expected, foreseen: None, behind: 0.0, searches };
        TimeLeft(Arc::new(Mutex::new(told)))
    }

    /// The next phase of a compile begins, with so much of it done.
    pub fn next(&self, phase: Phase, done: u64) -> TimeLeft {
        let told = self.lock();
        match phase {
            Phase::Analyse => TimeLeft::counting(),
            // A search that goes on has something behind it that was done before.
            Phase::Search => TimeLeft::with(Instant::now(), done, (LEARNED, 1e9 * LEARNED)),
            // Frames that are done when the first is told of took part of what the search expected of them.
            Phase::Encode => {
                let now = Instant::now();
                let next = TimeLeft::with(now, done, (0.0, 0.0));
                let left = told.end.filter(|_| told.searches).map(|end| end.saturating_duration_since(now));
                let left = left.filter(|left| !left.is_zero()).map(|left| left.as_secs_f64());
                let mut of_frames = next.lock();
                (of_frames.foreseen, of_frames.behind) = (left.map(|left| left / (1.0 + VERIFIED)), VERIFIED);
                drop(of_frames);
                next
            }
            // It was expected with the frames.
            Phase::Inspect => {
                let now = Instant::now();
                let next = TimeLeft::with(now, done, (0.0, 0.0));
                let left = told.end.map(|end| end.saturating_duration_since(now));
                next.lock().foreseen = left.filter(|left| !left.is_zero()).map(|left| left.as_secs_f64());
                next
            }
        }
    }

    /// So much is done now; less than before is ignored.
    pub fn tell(&self, done: u64, total: u64) {
        let told = &mut *self.lock();
        if let Some(seconds) = told.foreseen {
            told.expected = (LEARNED_OF_FRAMES * seconds, LEARNED_OF_FRAMES * total as f64);
        }
        let all = total as f64 * (1.0 + told.behind);
        let (seconds, work) = told.expected;
        let first = told.end.is_none() && work > 0.0;
        if (done > told.done || first) && done <= total {
            told.done = done;
            told.at = Instant::now();
            let pace = (told.at - told.since).as_secs_f64() + seconds;
            let pace = pace / ((done - told.from) as f64 + work);
            let left = ((all - done as f64) * pace).min(1e9);
            told.end = told.at.checked_add(Duration::from_secs_f64(left));
        }
    }

    /// About the time from now to the end; nothing is known at first.
    pub fn now(&self) -> Option<Duration> {
        self.lock().end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_on_with_what_the_search_expected_of_them() {
        let search = TimeLeft::counting().next(Phase::Search, 0);
        assert_eq!(search.now(), None);
        search.tell(0, 100_000_000_000);
        let seconds = |left: &TimeLeft| left.now().unwrap().as_secs();
        assert!(seconds(&search) >= 50);
        let frames = search.next(Phase::Encode, 1);
        // Without it a first frame that took no time would leave none.
        frames.tell(1, 100);
        assert!(seconds(&frames) >= 50);
        let inspect = frames.next(Phase::Inspect, 0);
        inspect.tell(0, 1);
        assert!(seconds(&inspect) >= 50);
    }

    #[test]
    fn frames_without_a_search_are_counted() {
        let frames = TimeLeft::counting().next(Phase::Encode, 0);
        frames.tell(0, 4);
        assert_eq!(frames.now(), None);
        frames.tell(1, 4);
        assert!(frames.now().is_some());
    }
}
