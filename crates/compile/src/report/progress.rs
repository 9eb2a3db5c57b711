//! Progress reports of a compile to its caller.

use meshreel_process::Cancellation;
use meshreel_scene::Remark;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Phases that a progress display shows, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// First pass over all frames: bounds, topology, static values, vertex splitting.
    Analyse,
    /// Methods, settings, parts and bones are sought: most of the work, if bones are sought. Reported as
    /// expected work, together with that of the passes that follow.
    Search,
    /// Second pass: quantize, predict, compress, write.
    Encode,
    /// The caller opens, decodes and verifies the finished file, and may report the progress of that.
    Inspect,
}

/// Receives progress, and can cancel the work; called from several threads.
pub trait Progress: Sync {
    /// Reports `done` of `total` of a phase, in meshes, expected nanoseconds, or frames.
    fn update(&self, phase: Phase, done: u64, total: u64);
    /// Shows a remark before the work that it is about. Returns `false` if the report shall have it instead.
    fn announce(&self, _remark: &Remark) -> bool {
        false
    }
    /// Reports the trial under way, and its mesh.
    fn trying(&self, _what: &str) {}
    /// Returns the token that cancels the compile. Cancelled, it ends within a second or so with
    /// [`crate::Error::Cancelled`]: no new file is left, and an existing target stays as it is.
    fn cancellation(&self) -> Cancellation {
        Cancellation::never()
    }
}

/// Opens a finished file as a player would and decodes all of it, before it gets its name: a refused file
/// replaces nothing. This crate does not depend on the runtime, so the caller provides the function.
pub type Inspect<'a> = &'a (dyn Fn(&Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Sync);

/// Progress that is not shown.
pub struct Silent;

impl Progress for Silent {
    fn update(&self, _: Phase, _: u64, _: u64) {}
}

/// Estimates the time left of a compile, phase by phase, from the time that the completed work took. Steps
/// may be long and few, so the last one alone says little. A search reports the nanoseconds that it expects,
/// those of the following phases included: these are used until enough has been measured.
#[derive(Clone)]
pub struct TimeLeft(Arc<Mutex<Estimate>>);

struct Estimate {
    since: Instant,
    /// The time of the last progress, and the seconds that a unit of work took until then; 0 if unknown.
    reported_at: Instant,
    pace: f64,
    end: Option<Instant>,
    from: u64,
    done: u64,
    /// The expected speed: seconds, and the work done in them.
    expected: (f64, f64),
    /// The expected duration of the phase in seconds, if the phase before reported it.
    foreseen: Option<f64>,
    /// The expected time of later phases, as a fraction of the time of this one.
    behind: f64,
    searches: bool,
}

/// Seconds of a search after which its measured speed weighs as much as the expected one.
const LEARNING_SECONDS: f64 = 2.0;
/// The fraction of the frames after which their measured speed weighs as much as the expected one.
const LEARNING_FRAME_FRACTION: f64 = 0.1;
/// Time of verifying a file relative to that of coding its frames.
pub(crate) const VERIFY_TIME_RATIO: f64 = 0.3;

impl TimeLeft {
    /// Starts an estimate for a phase that counts things, with nothing known of later phases.
    pub fn counting() -> TimeLeft {
        TimeLeft::starting_at(Instant::now(), 0, (0.0, 0.0))
    }

    fn starting_at(since: Instant, from: u64, expected: (f64, f64)) -> TimeLeft {
        let (at, searches) = (since, expected.1 > 0.0);
        let told = Estimate {
            since,
            reported_at: at,
            pace: 0.0,
            end: None,
            from,
            done: from,
            expected,
            foreseen: None,
            behind: 0.0,
            searches,
        };
        TimeLeft(Arc::new(Mutex::new(told)))
    }

    /// Starts the next phase of a compile, with `done` of it done.
    pub fn next_phase(&self, phase: Phase, done: u64) -> TimeLeft {
        let told = self.lock();
        match phase {
            Phase::Analyse => TimeLeft::counting(),
            // A resumed search has earlier work that took no time.
            Phase::Search => {
                TimeLeft::starting_at(Instant::now(), done, (LEARNING_SECONDS, 1e9 * LEARNING_SECONDS))
            }
            // Frames done at the first report took a part of the time that the search expected for them.
            Phase::Encode => {
                let now = Instant::now();
                let next = TimeLeft::starting_at(now, done, (0.0, 0.0));
                let left = told.end.filter(|_| told.searches).map(|end| end.saturating_duration_since(now));
                let left = left.filter(|left| !left.is_zero()).map(|left| left.as_secs_f64());
                let mut of_frames = next.lock();
                (of_frames.foreseen, of_frames.behind) =
                    (left.map(|left| left / (1.0 + VERIFY_TIME_RATIO)), VERIFY_TIME_RATIO);
                drop(of_frames);
                next
            }
            // The search expected it together with the frames.
            Phase::Inspect => {
                let now = Instant::now();
                let next = TimeLeft::starting_at(now, done, (0.0, 0.0));
                let left = told.end.map(|end| end.saturating_duration_since(now));
                next.lock().foreseen = left.filter(|left| !left.is_zero()).map(|left| left.as_secs_f64());
                next
            }
        }
    }

    /// Records that `done` is done; a value smaller than the last one is ignored. The total may change.
    pub fn report(&self, done: u64, total: u64) {
        let told = &mut *self.lock();
        if let Some(seconds) = told.foreseen {
            told.expected = (LEARNING_FRAME_FRACTION * seconds, LEARNING_FRAME_FRACTION * total as f64);
        }
        let all = total as f64 * (1.0 + told.behind);
        let (seconds, work) = told.expected;
        let first = told.end.is_none() && work > 0.0;
        if (done > told.done || first) && done <= total {
            told.done = done;
            told.reported_at = Instant::now();
            let elapsed = (told.reported_at - told.since).as_secs_f64() + seconds;
            told.pace = elapsed / ((done - told.from) as f64 + work);
        }
        if told.pace > 0.0 {
            let left = ((all - told.done as f64) * told.pace).clamp(0.0, 1e9);
            told.end = told.reported_at.checked_add(Duration::from_secs_f64(left));
        }
    }

    /// Returns the estimated time from now to the end; `None` while nothing is known.
    pub fn time_left(&self) -> Option<Duration> {
        self.lock().end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    fn lock(&self) -> MutexGuard<'_, Estimate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_on_with_what_the_search_expected_of_them() {
        let search = TimeLeft::counting().next_phase(Phase::Search, 0);
        assert_eq!(search.time_left(), None);
        search.report(0, 100_000_000_000);
        let seconds = |left: &TimeLeft| left.time_left().unwrap().as_secs();
        assert!(seconds(&search) >= 50);
        let frames = search.next_phase(Phase::Encode, 1);
        // Without the expectation, a first frame that took no time would leave no time at all.
        frames.report(1, 100);
        assert!(seconds(&frames) >= 50);
        let inspect = frames.next_phase(Phase::Inspect, 0);
        inspect.report(0, 1);
        assert!(seconds(&inspect) >= 50);
    }

    #[test]
    fn work_that_falls_away_takes_no_time() {
        let search = TimeLeft::counting().next_phase(Phase::Search, 0);
        search.report(0, 100_000_000_000);
        search.report(0, 10_000_000_000);
        let left = search.time_left().unwrap().as_secs();
        assert!((5..=10).contains(&left), "{left} s");
    }

    #[test]
    fn frames_without_a_search_are_counted() {
        let frames = TimeLeft::counting().next_phase(Phase::Encode, 0);
        frames.report(0, 4);
        assert_eq!(frames.time_left(), None);
        frames.report(1, 4);
        assert!(frames.time_left().is_some());
    }
}
