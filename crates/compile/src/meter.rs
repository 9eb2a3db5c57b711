//! How far the search for methods is: what each mesh is expected to take, and what of it is done.

use crate::report::{Phase, Progress};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

// Tuning: expected work in units that are about microseconds of a core; only their ratios matter.
/// Expected work of a point in a frame: for one set of options, for a trial of how fine positions are, to
/// code it in the end.
const SETTINGS: u64 = 11;
const TRIAL: u64 = 8;
const CODED: u64 = 8;
/// Expected work of a point for a search for bones; most of its starts look at `LOOKED_AT` points only.
const BONES: u64 = 30_000;
const LOOKED_AT: u64 = 1_500;

/// Adds up the work of all meshes, and tells how far it is.
pub struct Meter<'a> {
    progress: &'a dyn Progress,
    total: AtomicU64,
    done: AtomicU64,
}

/// The work on one mesh: what is expected, and what is left.
pub struct MeshWork<'a> {
    meter: &'a Meter<'a>,
    path: String,
    /// Points × frames.
    values: u64,
    left: AtomicU64,
    /// Expected work of one search for bones, and how much of the one under way is done.
    bones: u64,
    sought: AtomicU64,
    now: Mutex<String>,
}

/// The work that is expected of a mesh.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpectedWork {
    /// Points, and frames in which they move.
    pub points: u64,
    #[allow(missing_docs)]
    pub frames: u64,
    /// Sets of options that are compared.
    pub options: u64,
    /// Trials of how fine positions are kept.
    pub trials: u64,
    /// Bones may be sought.
    pub bones: bool,
}

impl<'a> Meter<'a> {
    /// A meter without any work yet.
    pub fn new(progress: &'a dyn Progress) -> Meter<'a> {
        Meter { progress, total: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// Adds the work of a mesh; frames are coded after all of it.
    pub fn add_mesh(&'a self, path: &str, ahead: ExpectedWork) -> MeshWork<'a> {
        let values = ahead.points * ahead.frames;
        let bones = BONES * ahead.points.min(LOOKED_AT);
        let settings = values * (SETTINGS * ahead.options + TRIAL * ahead.trials);
        let own = settings + if ahead.bones { bones } else { 0 };
        self.total.fetch_add(own + CODED * values, Relaxed);
        MeshWork {
            meter: self,
            path: path.into(),
            values,
            left: AtomicU64::new(own),
            bones,
            sought: AtomicU64::new(0),
            now: Mutex::default(),
        }
    }
}

impl MeshWork<'_> {
    /// Says what is tried from now on.
    pub fn trying(&self, what: &str) {
        if self.values == 0 {
            return;
        }
        if let Ok(mut now) = self.now.lock() {
            *now = format!("{what}, {}", self.path);
        }
        self.tell();
    }

    /// Settings were found with one set of options.
    pub fn settled(&self) {
        self.spend(SETTINGS * self.values);
    }

    /// It was tried how fine positions are kept.
    pub fn weighed(&self) {
        self.spend(TRIAL * self.values);
    }

    /// This part of the search for bones is done.
    pub fn sought(&self, part: f64) {
        let now = (self.bones as f64 * part) as u64;
        let before = self.sought.fetch_max(now, Relaxed);
        self.spend(now.saturating_sub(before));
    }

    /// Bones are sought once more.
    pub fn seek_again(&self) {
        self.sought.store(0, Relaxed);
        self.left.fetch_add(self.bones, Relaxed);
        self.meter.total.fetch_add(self.bones, Relaxed);
    }

    /// All of it is done, or need not be.
    pub fn finish(&self) {
        self.spend(u64::MAX);
    }

    fn spend(&self, work: u64) {
        if self.values == 0 {
            return;
        }
        let take = |left: u64| Some(left.saturating_sub(work));
        let before = self.left.fetch_update(Relaxed, Relaxed, take).unwrap_or(0);
        self.meter.done.fetch_add(before.min(work), Relaxed);
        self.tell();
    }

    fn tell(&self) {
        let meter = self.meter;
        if let Ok(now) = self.now.lock() {
            let (done, total) = (meter.done.load(Relaxed), meter.total.load(Relaxed));
            meter.progress.trying(&now);
            meter.progress.update(Phase::Search, done, total);
        }
    }
}
