//! Progress of the search for methods: the work expected of each mesh, and how much of it is done.

use crate::report::{Phase, Progress, VERIFY_TIME_RATIO};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Amount of work of one kind, in nanoseconds, after which its measured speed weighs as much as the expected
/// one.
const LEARNING_NANOSECONDS: f64 = 3e8;
/// The same for all kinds of work together, for kinds that were not measured yet. It is larger, since the
/// speed of one kind says little about another.
const LEARNING_NANOSECONDS_OF_ALL: f64 = 3e9;

/// Kinds of work.
#[derive(Clone, Copy)]
enum WorkKind {
    /// Comparison of sets of options, and trials of position resolutions, each of which is such a set.
    Settings,
    /// Trial coding of skins, to find their size.
    Skins,
    /// Searches for bones.
    Bones,
}

/// Expected work by kind, in nanoseconds of one core.
type WorkByKind = [u64; 3];

/// Work of one kind in all meshes: done and left, and the measured nanoseconds of what is done.
#[derive(Default)]
struct Tally {
    done: AtomicU64,
    left: AtomicU64,
    took: AtomicU64,
}

/// Adds up the work of all meshes; [`Meter::watch`] reports the progress. A copy shares it.
#[derive(Clone, Default)]
pub struct Meter(Arc<Totals>);

/// The work of all meshes.
#[derive(Default)]
struct Totals {
    tallies: [Tally; 3],
    /// Expected work of the final coding of all frames.
    coded: AtomicU64,
    news: Mutex<News>,
    /// Notified of each change of `news`.
    changed: Condvar,
}

/// The state that is reported next.
#[derive(Default)]
struct News {
    /// The trial under way, and its mesh; `None` if nothing has changed since the last report.
    trying: Option<String>,
    /// `true` while a report is under way.
    reporting: bool,
    /// `true` while there is somebody who reports.
    watched: bool,
    ended: bool,
}

/// The work on one mesh: expected, and left.
pub struct MeshWork {
    totals: Arc<Totals>,
    path: String,
    now: Mutex<MeshProgress>,
}

/// The work ahead of a mesh, and the work under way.
#[derive(Default)]
struct MeshProgress {
    ahead: ExpectedWork,
    /// The work that the tallies count as left for this mesh.
    left: WorkByKind,
    /// Completed work of the current set.
    done: WorkByKind,
    /// The current search as a fraction of a search for the bones of all points, and how much of it is done.
    fraction: f64,
    sought: u64,
    name: String,
    since: Option<Instant>,
    /// Time that is counted for the set that ends next: all but that of skins and bones.
    carried: Duration,
}

/// The expected work on a mesh, in nanoseconds; empty for a mesh that stands still.
#[derive(Clone, Debug, Default)]
pub struct ExpectedWork {
    /// The number of trials of position resolutions, and the work of each.
    pub trials: u64,
    #[allow(missing_docs)]
    pub trial: u64,
    /// Sets of options that are compared, in this order.
    pub sets: Vec<ExpectedSet>,
    /// The number of skins that are sought and coded with each set; a search for some of the points counts as
    /// a fraction.
    pub sought: f64,
    #[allow(missing_docs)]
    pub coded: u64,
    /// Work of the final coding of all frames.
    pub frames: u64,
}

/// The expected work for one set of options.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedSet {
    /// Work to find settings of positions without skins, and of everything else except skins.
    pub positions: u64,
    #[allow(missing_docs)]
    pub channels: u64,
    /// Work to code one skin.
    pub skin: u64,
    /// Work to seek one skin, and the effort of the search: skins that were sought with the same effort
    /// before are known.
    pub bones: u64,
    #[allow(missing_docs)]
    pub effort: u32,
}

impl ExpectedWork {
    /// Removes the first set of options, which is done; what was sought with its effort is known from then
    /// on.
    fn remove_first_set(&mut self) {
        let first = self.sets.remove(0);
        let same = self.sets.iter_mut().filter(|set| set.effort == first.effort);
        same.for_each(|set| set.bones = 0);
    }

    /// Returns the work left, where `done` of the first set is done.
    fn remaining(&self, done: WorkByKind) -> WorkByKind {
        let mut left = [self.trials * self.trial, 0, 0];
        for (i, set) in self.sets.iter().enumerate() {
            let known = self.sets[..i].iter().any(|before| before.effort == set.effort);
            let bones = if known { 0 } else { (self.sought * set.bones as f64) as u64 };
            let of_set = [set.positions + set.channels, self.coded * set.skin, bones];
            for ((left, work), done) in left.iter_mut().zip(of_set).zip(done) {
                *left += work - if i == 0 { work.min(done) } else { 0 };
            }
        }
        left
    }
}

impl Meter {
    /// Adds the work of a mesh; frames are coded after all of it.
    pub fn add_mesh(&self, path: &str, ahead: ExpectedWork) -> MeshWork {
        self.0.coded.fetch_add(ahead.frames, Relaxed);
        let work = MeshWork { totals: self.0.clone(), path: path.into(), now: Mutex::default() };
        work.change(|now| now.ahead = ahead);
        work
    }

    /// Does some of the work on a thread of its own, and reports its progress from this one meanwhile.
    pub fn watch<T: Send>(&self, progress: &dyn Progress, work: impl FnOnce() -> T + Send) -> T {
        let totals = &*self.0;
        *totals.news() = News { watched: true, ..News::default() };
        std::thread::scope(|threads| {
            let _unwatched = OnDrop(totals, |news| news.watched = false);
            let worker = threads.spawn(|| {
                let _ended = OnDrop(totals, |news| news.ended = true);
                work()
            });
            while let Some(trying) = totals.wait() {
                let [done, total] = totals.nanoseconds();
                progress.trying(&trying);
                progress.update(Phase::Search, done, total);
                totals.news().reporting = false;
                totals.changed.notify_all();
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Waits, within [`Meter::watch`], until all is reported: the next phase may report its own progress.
    pub fn flush(&self) {
        let mut news = self.0.news();
        while news.watched && (news.reporting || news.trying.is_some()) {
            news = self.0.changed.wait(news).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Changes the news when it is dropped, also by a panic, so that nobody waits for ever.
struct OnDrop<'t>(&'t Totals, fn(&mut News));

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        (self.1)(&mut self.0.news());
        self.0.changed.notify_all();
    }
}

impl Totals {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to report; `None` if the work has ended.
    fn wait(&self) -> Option<String> {
        let mut news = self.news();
        loop {
            if let Some(trying) = news.trying.take() {
                news.reporting = true;
                return Some(trying);
            }
            if news.ended {
                return None;
            }
            news = self.changed.wait(news).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the nanoseconds that are done, and the total.
    fn nanoseconds(&self) -> [u64; 2] {
        let of = |number: &AtomicU64| number.load(Relaxed) as f64;
        let sum = |of: &dyn Fn(&Tally) -> f64| self.tallies.iter().map(of).sum::<f64>();
        let took = sum(&|tally| of(&tally.took));
        // Kinds without measurements are taken to run at the average speed.
        let speed = (took + LEARNING_NANOSECONDS_OF_ALL)
            / (sum(&|tally| of(&tally.done)) + LEARNING_NANOSECONDS_OF_ALL);
        let rate = |tally: &Tally| {
            (of(&tally.took) + speed * LEARNING_NANOSECONDS) / (of(&tally.done) + LEARNING_NANOSECONDS)
        };
        let left = sum(&|tally| rate(tally) * of(&tally.left));
        // The final coding is as fast as settings are tried, and verification is added.
        let settings = &self.tallies[WorkKind::Settings as usize];
        let coded = rate(settings) * of(&self.coded) * (1.0 + VERIFY_TIME_RATIO);
        [took as u64, (took + left + coded) as u64]
    }
}

impl MeshWork {
    /// Reports what is being tried from now on.
    pub fn trying(&self, what: &str) {
        self.change(|now| {
            if now.ahead.sets.is_empty() {
                return;
            }
            now.name = format!("{what}, {}", self.path);
            let since = now.since.replace(Instant::now());
            now.carried += since.map_or(Duration::ZERO, |since| since.elapsed());
        });
        self.report();
    }

    /// Counts a trial of a position resolution as done.
    pub fn count_trial(&self) {
        self.count_work(WorkKind::Settings, |now| {
            now.ahead.trials = now.ahead.trials.saturating_sub(1);
            [now.ahead.trial, 0, 0]
        });
    }

    /// Sets the number of trials of position resolutions that are left.
    pub fn set_trials(&self, left: u64) {
        self.change(|now| now.ahead.trials = left);
        self.report();
    }

    /// Adds another trial of the first set of options.
    pub fn add_trial(&self) {
        self.change(|now| {
            if let Some(&first) = now.ahead.sets.first() {
                now.ahead.sets.insert(0, first);
            }
        });
    }

    /// Counts the first set of options as done; skins that were expected and did not come took no time.
    pub fn count_set(&self) {
        self.count_work(WorkKind::Settings, |now| {
            let before = now.left;
            now.ahead.remove_first_set();
            (now.done, now.sought) = ([0; 3], 0);
            let after = now.ahead.remaining(now.done);
            [0, 1, 2].map(|kind| before[kind].saturating_sub(after[kind]))
        });
    }

    /// Sets the number of skins that are sought and coded with each set of options.
    pub fn set_skins(&self, sought: f64, coded: u64) {
        self.change(|now| (now.ahead.sought, now.ahead.coded) = (sought, coded));
        self.report();
    }

    /// Counts the search for settings of positions without skins as done.
    pub fn count_settings(&self) {
        self.count_work(WorkKind::Settings, |now| {
            let work = now.ahead.sets.first().map_or(0, |set| set.positions);
            now.done[WorkKind::Settings as usize] += work;
            [work, 0, 0]
        });
    }

    /// Counts a skin as coded with one of `divisions` divisions of the tolerance.
    pub fn count_skin(&self, divisions: usize) {
        self.count_work(WorkKind::Skins, |now| {
            let skin = now.ahead.sets.first().map_or(0, |set| set.skin);
            let work = skin / divisions.max(1) as u64;
            now.done[WorkKind::Skins as usize] += work;
            [0, work, 0]
        });
    }

    /// Sets the completed fraction of the search for bones.
    pub fn set_search_progress(&self, part: f64) {
        self.count_work(WorkKind::Bones, |now| {
            let bones = now.ahead.sets.first().map_or(0, |set| set.bones);
            let before = now.sought;
            now.sought = before.max((bones as f64 * now.fraction * part) as u64);
            now.done[WorkKind::Bones as usize] += now.sought - before;
            [0, 0, now.sought - before]
        });
    }

    /// Starts a search for bones, which is `share` of the work for all points.
    pub fn start_search(&self, share: f64) {
        self.change(|now| (now.fraction, now.sought) = (share, 0));
        self.trying("bones");
    }

    /// Counts all remaining work of the mesh as done or not needed.
    pub fn finish(&self) {
        self.change(|now| {
            *now = MeshProgress {
                name: std::mem::take(&mut now.name),
                left: now.left,
                ..MeshProgress::default()
            };
        });
        self.report();
    }

    /// Changes the work ahead, and the tallies with it.
    fn change(&self, change: impl FnOnce(&mut MeshProgress)) {
        let Ok(mut now) = self.now.lock() else { return };
        change(&mut now);
        let left = now.ahead.remaining(now.done);
        for (tally, (left, before)) in self.totals.tallies.iter().zip(left.into_iter().zip(now.left)) {
            tally.left.fetch_add(left, Relaxed);
            tally.left.fetch_sub(before, Relaxed);
        }
        now.left = left;
    }

    /// Counts the `work` of each kind as done; the time since the last report is counted for `kind`.
    fn count_work(&self, kind: WorkKind, work: impl FnOnce(&mut MeshProgress) -> WorkByKind) {
        self.change(|now| {
            if now.ahead.sets.is_empty() {
                return;
            }
            for (tally, work) in self.totals.tallies.iter().zip(work(now)) {
                tally.done.fetch_add(work, Relaxed);
            }
            let since = now.since.replace(Instant::now());
            let mut took = since.map_or(Duration::ZERO, |since| since.elapsed());
            if let WorkKind::Settings = kind {
                took += std::mem::take(&mut now.carried);
            }
            self.totals.tallies[kind as usize].took.fetch_add(took.as_nanos() as u64, Relaxed);
        });
        self.report();
    }

    fn report(&self) {
        let Ok(now) = self.now.lock() else { return };
        if !now.name.is_empty() {
            self.totals.news().trying = Some(now.name.clone());
            self.totals.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns three sets of options, of which the last two seek bones with the same effort.
    fn ahead() -> ExpectedWork {
        let set = |effort, bones| ExpectedSet { positions: 10, channels: 5, skin: 30, bones, effort };
        ExpectedWork {
            trials: 2,
            trial: 7,
            sets: vec![set(9, 900), set(5, 500), set(5, 500)],
            sought: 1.0,
            coded: 1,
            frames: 40,
        }
    }

    fn left(meter: &Meter) -> WorkByKind {
        [0, 1, 2].map(|kind| meter.0.tallies[kind].left.load(Relaxed))
    }

    fn done(meter: &Meter) -> WorkByKind {
        [0, 1, 2].map(|kind| meter.0.tallies[kind].done.load(Relaxed))
    }

    #[test]
    fn bones_are_sought_once_for_each_effort() {
        let meter = Meter::default();
        let work = meter.add_mesh("/a", ahead());
        assert_eq!(left(&meter), [3 * 15 + 2 * 7, 90, 1400]);
        work.count_set();
        assert_eq!(left(&meter), [2 * 15 + 2 * 7, 60, 500]);
        work.count_set();
        assert_eq!(left(&meter), [15 + 2 * 7, 30, 0]);
        work.add_trial();
        assert_eq!(left(&meter), [2 * 15 + 2 * 7, 60, 0]);
        work.set_trials(0);
        work.count_set();
        assert_eq!(left(&meter), [15, 30, 0]);
        work.finish();
        assert_eq!(left(&meter), [0; 3]);
    }

    #[test]
    fn what_was_expected_of_a_set_and_did_not_come_is_done() {
        let meter = Meter::default();
        let work = meter.add_mesh("/a", ahead());
        work.count_settings();
        work.start_search(1.0);
        work.set_search_progress(0.5);
        work.set_search_progress(0.25);
        work.count_skin(3);
        assert_eq!(done(&meter), [10, 10, 450]);
        assert_eq!(left(&meter), [2 * 7 + 5 + 2 * 15, 80, 950]);
        work.count_set();
        assert_eq!(done(&meter), [15, 30, 900]);
        assert_eq!(left(&meter), [2 * 7 + 2 * 15, 60, 500]);
    }

    #[test]
    fn skins_are_as_many_as_was_found_out() {
        let meter = Meter::default();
        let work = meter.add_mesh("/a", ahead());
        work.set_skins(1.5, 2);
        assert_eq!(left(&meter), [59, 180, 2100]);
        // Both searches of the set count.
        for share in [0.5, 1.0] {
            work.start_search(share);
            work.set_search_progress(1.0);
        }
        assert_eq!((left(&meter), done(&meter)), ([59, 180, 750], [0, 0, 1350]));
        work.set_skins(0.0, 1);
        assert_eq!(left(&meter), [59, 90, 0]);
        work.set_skins(0.0, 0);
        assert_eq!(left(&meter), [59, 0, 0]);
        // The work of other meshes stays.
        let other = meter.add_mesh("/b", ahead());
        work.finish();
        assert_eq!(left(&meter), [59, 90, 1400]);
        other.finish();
        assert_eq!(left(&meter), [0; 3]);
    }

    #[test]
    fn a_mesh_that_stands_still_says_nothing() {
        let meter = Meter::default();
        let work = meter.add_mesh("/a", ExpectedWork::default());
        work.trying("settings");
        work.count_set();
        work.count_skin(1);
        work.set_search_progress(1.0);
        assert_eq!((left(&meter), done(&meter)), ([0; 3], [0; 3]));
        assert!(work.now.lock().unwrap().name.is_empty());
    }

    /// Counts the reports, and the threads that make them.
    #[derive(Default)]
    struct Reports(Mutex<Vec<std::thread::ThreadId>>);

    impl Progress for Reports {
        fn update(&self, phase: Phase, _: u64, _: u64) {
            assert_eq!(phase, Phase::Search);
            self.0.lock().unwrap().push(std::thread::current().id());
        }
    }

    #[test]
    fn progress_is_reported_by_the_thread_that_waits_and_before_the_next_phase() {
        let (meter, reports) = (Meter::default(), Reports::default());
        let count = || reports.0.lock().unwrap().len();
        for round in 1..=20 {
            let before = count();
            let done = meter.watch(&reports, || {
                let work = meter.add_mesh("/a", ahead());
                work.trying("settings");
                meter.flush();
                assert!(count() > before, "all is reported");
                work.finish();
                round
            });
            assert_eq!(done, round);
            assert!(count() >= before + 2);
        }
        let own = std::thread::current().id();
        assert!(reports.0.lock().unwrap().iter().all(|thread| *thread == own));
        // Nothing to report: nothing to wait for.
        meter.watch(&reports, || meter.flush());
    }

    #[test]
    fn a_panic_ends_the_watch() {
        let (meter, reports) = (Meter::default(), Reports::default());
        let work = std::panic::AssertUnwindSafe(|| meter.watch(&reports, || panic!("work")));
        assert!(std::panic::catch_unwind(work).is_err());
        assert_eq!(meter.watch(&reports, || 3), 3);
        // Nor does the work wait for somebody who has panicked.
        struct Panics;
        impl Progress for Panics {
            fn update(&self, _: Phase, _: u64, _: u64) {
                panic!("report");
            }
        }
        let work = std::panic::AssertUnwindSafe(|| {
            meter.watch(&Panics, || {
                meter.add_mesh("/a", ahead()).trying("settings");
                meter.flush();
            });
        });
        assert!(std::panic::catch_unwind(work).is_err());
    }
}
