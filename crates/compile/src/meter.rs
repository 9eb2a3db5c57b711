//! Progress of the search for methods: the work expected of each mesh, and how much of it is done.

use crate::report::{Phase, Progress};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The expected work on a mesh, in nanoseconds of one core; empty for a mesh that stands still.
#[derive(Default)]
pub struct ExpectedWork {
    /// Work that is done one after the other: trials of the precision of positions, then each set of options.
    pub sets: Vec<ExpectedSet>,
    /// Work that follows: the final coding of all frames, and their verification.
    pub frames: u64,
}

/// The expected work for one set of options.
#[derive(Default)]
pub struct ExpectedSet {
    /// Work for everything except skins.
    pub settings: u64,
    /// Work to seek and to code skins.
    pub skins: u64,
    /// The completed part of `skins`.
    pub sought: u64,
}

/// Adds up the work of all meshes; [`Meter::watch`] reports the progress. A copy shares it.
#[derive(Clone, Default)]
pub struct Meter(Arc<Totals>);

/// The totals of all meshes.
#[derive(Default)]
struct Totals {
    news: Mutex<News>,
    /// Notified of each change of `news`.
    changed: Condvar,
}

/// The work of all meshes, and the state of the reports.
#[derive(Default)]
struct News {
    done: u64,
    total: u64,
    /// The trial under way, and its mesh; `None` if nothing has changed since the last report.
    trying: Option<String>,
    /// `true` while a report is under way.
    reporting: bool,
    /// `true` while there is somebody who reports.
    watched: bool,
    ended: bool,
}

/// The work on one mesh; by default, on one that stands still.
#[derive(Default)]
pub struct MeshWork {
    totals: Arc<Totals>,
    path: String,
    now: Mutex<MeshProgress>,
}

/// The trial under way, and the sets of options that are not done.
#[derive(Default)]
struct MeshProgress {
    name: String,
    sets: VecDeque<ExpectedSet>,
}

impl Meter {
    /// Adds the work of a mesh.
    pub fn add_mesh(&self, path: &str, expected: ExpectedWork) -> MeshWork {
        let now = MeshProgress { name: String::new(), sets: expected.sets.into() };
        self.0.news().total += now.left() + expected.frames;
        MeshWork { totals: self.0.clone(), path: path.into(), now: now.into() }
    }

    /// Does some of the work on a thread of its own, and reports its progress from this one meanwhile.
    pub fn watch<T: Send>(&self, progress: &dyn Progress, work: impl FnOnce() -> T + Send) -> T {
        let totals = &*self.0;
        totals.change(|news| {
            *news = News { watched: true, done: news.done, total: news.total, ..News::default() };
        });
        std::thread::scope(|threads| {
            let _unwatched = OnDrop(totals, |news| news.watched = false);
            let worker = threads.spawn(|| {
                let _ended = OnDrop(totals, |news| news.ended = true);
                work()
            });
            while let Some((trying, done, total)) = totals.wait() {
                progress.trying(&trying);
                progress.update(Phase::Search, done, total);
                totals.change(|news| news.reporting = false);
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
        self.0.change(self.1);
    }
}

impl Totals {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.news());
        self.changed.notify_all();
    }

    /// Waits for something to report, with the work that is done and the total; `None` if the work has ended.
    fn wait(&self) -> Option<(String, u64, u64)> {
        let mut news = self.news();
        loop {
            if let Some(trying) = news.trying.take() {
                news.reporting = true;
                return Some((trying, news.done, news.total));
            }
            if news.ended {
                return None;
            }
            news = self.changed.wait(news).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl MeshProgress {
    fn left(&self) -> u64 {
        self.sets.iter().map(|set| set.settings + set.skins - set.sought).sum()
    }
}

impl MeshWork {
    /// Reports what is being tried from now on.
    pub fn trying(&self, what: &str) {
        self.change(true, |now| {
            if !now.sets.is_empty() {
                now.name = format!("{what}, {}", self.path);
            }
        });
    }

    /// Sets the completed fraction of the search for bones, for the first set that expects skins: bones take
    /// most of the time of skins.
    pub fn set_search_progress(&self, part: f64) {
        self.change(true, |now| {
            if let Some(set) = now.sets.iter_mut().find(|set| set.skins > 0) {
                set.sought = ((set.skins as f64 * part) as u64).clamp(set.sought, set.skins);
            }
        });
    }

    /// Removes the remaining work of skins: they are not sought.
    pub fn without_skins(&self) {
        self.change(false, |now| now.sets.iter_mut().for_each(|set| set.skins = set.sought));
    }

    /// Counts the first set as done.
    pub fn count_set(&self) {
        self.change(true, |now| {
            now.sets.pop_front();
        });
    }

    /// Removes the first set, which is not needed.
    pub fn skip_set(&self) {
        self.change(false, |now| {
            now.sets.pop_front();
        });
    }

    /// Removes all remaining sets.
    pub fn finish(&self) {
        self.change(false, |now| now.sets.clear());
    }

    /// Reduces the work left, and reports it: the difference is done, or else not needed.
    fn change(&self, is_done: bool, reduce: impl FnOnce(&mut MeshProgress)) {
        let Ok(mut now) = self.now.lock() else { return };
        let before = now.left();
        reduce(&mut now);
        let less = before - now.left();
        self.totals.change(|news| {
            match is_done {
                true => news.done += less,
                false => news.total -= less,
            }
            if !now.name.is_empty() {
                news.trying = Some(now.name.clone());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns trials of the precision, and three sets of options, of which the last two seek bones with the
    /// same effort.
    fn expected() -> ExpectedWork {
        let set = |settings, skins| ExpectedSet { settings, skins, sought: 0 };
        ExpectedWork { sets: vec![set(14, 0), set(15, 930), set(15, 530), set(15, 30)], frames: 40 }
    }

    /// Returns the work that is done, and the total.
    fn work_of_all(meter: &Meter) -> [u64; 2] {
        let news = meter.0.news();
        [news.done, news.total]
    }

    #[test]
    fn a_set_that_ends_counts_wholly() {
        let meter = Meter::default();
        let work = meter.add_mesh("/a", expected());
        assert_eq!(work_of_all(&meter), [0, 1589]);
        // Bones may be sought during the trials of the precision.
        work.set_search_progress(0.5);
        work.set_search_progress(0.25);
        assert_eq!(work_of_all(&meter), [465, 1589]);
        work.count_set();
        work.set_search_progress(2.0);
        assert_eq!(work_of_all(&meter), [14 + 930, 1589]);
        for done in [959, 1504, 1549, 1549] {
            work.count_set();
            assert_eq!(work_of_all(&meter), [done, 1589]);
        }
    }

    #[test]
    fn skins_that_are_not_sought_fall_away() {
        let meter = Meter::default();
        let work = meter.add_mesh("/a", expected());
        work.skip_set();
        work.set_search_progress(0.1);
        assert_eq!(work_of_all(&meter), [93, 1575]);
        work.without_skins();
        assert_eq!(work_of_all(&meter), [93, 93 + 3 * 15 + 40]);
        work.count_set();
        work.set_search_progress(1.0);
        assert_eq!(work_of_all(&meter), [93 + 15, 93 + 3 * 15 + 40]);
    }

    #[test]
    fn a_finished_mesh_leaves_its_frames() {
        let meter = Meter::default();
        let [one, other] = ["/a", "/b"].map(|path| meter.add_mesh(path, expected()));
        one.count_set();
        one.set_search_progress(0.5);
        one.finish();
        // The work of other meshes stays.
        assert_eq!(work_of_all(&meter), [479, 479 + 40 + 1589]);
        one.count_set();
        other.without_skins();
        other.finish();
        assert_eq!(work_of_all(&meter), [479, 479 + 2 * 40]);
    }

    #[test]
    fn a_mesh_that_stands_still_says_nothing() {
        let meter = Meter::default();
        let work = meter.add_mesh("/a", ExpectedWork::default());
        work.trying("settings");
        work.set_search_progress(1.0);
        work.without_skins();
        work.skip_set();
        work.count_set();
        work.finish();
        assert_eq!(work_of_all(&meter), [0, 0]);
        assert!(meter.0.news().trying.is_none());
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
                let work = meter.add_mesh("/a", expected());
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
                meter.add_mesh("/a", expected()).trying("settings");
                meter.flush();
            });
        });
        assert!(std::panic::catch_unwind(work).is_err());
    }
}
