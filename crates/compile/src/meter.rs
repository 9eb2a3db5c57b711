//! How far the search for methods is: what each mesh is expected to take, and what of it is done.

use crate::report::{Phase, Progress};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

// Tuning: expected work in nanoseconds of a core; how long each kind of work takes is then learned.
/// Expected work of a point in a frame for one set of options: of its position, its normal, its tangent.
const SETTINGS: [u64; 3] = [400, 300, 2000];
/// The part of that which a trial of how fine positions are takes, in percent: the first finds what later ones
/// know.
const TRIALS: [u64; 2] = [100, 50];
/// Expected work of a point in a frame to code it in the end.
const CODED: u64 = 300;
/// Expected work of a point for a search for bones, which is given up early as often as not; most of its starts
/// look at `LOOKED_AT` points only.
const BONES: u64 = 1_500_000;
const LOOKED_AT: u64 = 1_500;
/// After so much work of a kind, what it took tells as much as what was expected of it.
const LEARNED: f64 = 3e8;

/// Kinds of work.
#[derive(Clone, Copy)]
enum Kind {
    Settings,
    Trial,
    Bones,
}

/// Work of one kind, in all meshes: done and left, and the nanoseconds that what is done took.
#[derive(Default)]
struct Tally {
    done: AtomicU64,
    left: AtomicU64,
    took: AtomicU64,
}

/// Adds up the work of all meshes, and tells how far it is.
pub struct Meter<'a> {
    progress: &'a dyn Progress,
    tallies: [Tally; 3],
    /// Work of coding all frames in the end.
    coded: AtomicU64,
}

/// The work on one mesh: what is expected, and what is left.
pub struct MeshWork<'a> {
    meter: &'a Meter<'a>,
    path: String,
    /// Expected work for one set of options; 0 for a mesh that stands still.
    settings: u64,
    /// By kind.
    left: [AtomicU64; 3],
    /// Expected work of one search for bones, and how much of the one under way is done.
    bones: u64,
    sought: AtomicU64,
    /// Trials that are done.
    trials: AtomicU64,
    now: Mutex<Activity>,
}

/// What is being done for a mesh.
#[derive(Default)]
struct Activity {
    name: String,
    since: Option<Instant>,
    /// Time that belongs to what ends next, if it is no search for bones.
    carried: Duration,
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
    /// Normals, and tangents, are predicted.
    pub normals: bool,
    #[allow(missing_docs)]
    pub tangents: bool,
}

/// Expected work of a trial by its number, where one set of options takes `settings`.
fn part_of(settings: u64, trial: u64) -> u64 {
    settings * TRIALS[usize::from(trial > 0)] / 100
}

impl<'a> Meter<'a> {
    /// A meter without any work yet.
    pub fn new(progress: &'a dyn Progress) -> Meter<'a> {
        Meter { progress, tallies: Default::default(), coded: AtomicU64::new(0) }
    }

    /// Adds the work of a mesh; frames are coded after all of it.
    pub fn add_mesh(&'a self, path: &str, ahead: ExpectedWork) -> MeshWork<'a> {
        let values = ahead.points * ahead.frames;
        let bones = BONES * ahead.points.min(LOOKED_AT);
        let channels = [true, ahead.normals, ahead.tangents];
        let one: u64 = channels.iter().zip(SETTINGS).map(|(there, work)| u64::from(*there) * work).sum();
        let settings = values * one;
        let left = [
            settings * ahead.options,
            (0..ahead.trials).map(|trial| part_of(settings, trial)).sum(),
            if ahead.bones { bones } else { 0 },
        ];
        for (tally, work) in self.tallies.iter().zip(left) {
            tally.left.fetch_add(work, Relaxed);
        }
        self.coded.fetch_add(CODED * values, Relaxed);
        MeshWork {
            meter: self,
            path: path.into(),
            settings,
            left: left.map(AtomicU64::new),
            bones,
            sought: AtomicU64::new(0),
            trials: AtomicU64::new(0),
            now: Mutex::default(),
        }
    }

    /// Nanoseconds of what is done, and of all.
    fn nanoseconds(&self) -> [u64; 2] {
        let of = |number: &AtomicU64| number.load(Relaxed) as f64;
        let sum = |of: &dyn Fn(&Tally) -> f64| self.tallies.iter().map(of).sum::<f64>();
        let took = sum(&|tally| of(&tally.took));
        // As slow as all that was done, until there is more to tell.
        let speed = (took + LEARNED) / (sum(&|tally| of(&tally.done)) + LEARNED);
        let left = sum(&|tally| {
            let rate = (of(&tally.took) + speed * LEARNED) / (of(&tally.done) + LEARNED);
            rate * of(&tally.left)
        });
        [took as u64, (took + left + speed * of(&self.coded)) as u64]
    }
}

impl MeshWork<'_> {
    /// Says what is tried from now on.
    pub fn trying(&self, what: &str) {
        if self.settings == 0 {
            return;
        }
        if let Ok(mut now) = self.now.lock() {
            now.name = format!("{what}, {}", self.path);
            let since = now.since.replace(Instant::now());
            now.carried += since.map_or(Duration::ZERO, |since| since.elapsed());
        }
        self.tell();
    }

    /// Settings were found with one set of options.
    pub fn settled(&self) {
        self.spend(Kind::Settings, self.settings);
    }

    /// It was tried how fine positions are kept.
    pub fn weighed(&self) {
        let trial = self.trials.fetch_add(1, Relaxed);
        self.spend(Kind::Trial, part_of(self.settings, trial));
    }

    /// This part of the search for bones is done.
    pub fn sought(&self, part: f64) {
        let now = (self.bones as f64 * part) as u64;
        let before = self.sought.fetch_max(now, Relaxed);
        self.spend(Kind::Bones, now.saturating_sub(before));
    }

    /// Bones are not sought after all.
    pub fn without_bones(&self) {
        let work = self.left[Kind::Bones as usize].swap(0, Relaxed);
        self.meter.tallies[Kind::Bones as usize].left.fetch_sub(work, Relaxed);
        self.tell();
    }

    /// Bones are sought once more.
    pub fn seek_again(&self) {
        self.sought.store(0, Relaxed);
        self.left[Kind::Bones as usize].fetch_add(self.bones, Relaxed);
        self.meter.tallies[Kind::Bones as usize].left.fetch_add(self.bones, Relaxed);
    }

    /// All of it is done, or need not be.
    pub fn finish(&self) {
        for (tally, left) in self.meter.tallies.iter().zip(&self.left) {
            tally.left.fetch_sub(left.swap(0, Relaxed), Relaxed);
        }
        if let Ok(mut now) = self.now.lock() {
            *now = Activity { name: std::mem::take(&mut now.name), ..Activity::default() };
        }
        self.tell();
    }

    fn spend(&self, kind: Kind, work: u64) {
        if self.settings == 0 {
            return;
        }
        let (tally, own) = (&self.meter.tallies[kind as usize], &self.left[kind as usize]);
        let take = |left: u64| Some(left.saturating_sub(work));
        let before = own.fetch_update(Relaxed, Relaxed, take).unwrap_or(0);
        tally.left.fetch_sub(before.min(work), Relaxed);
        tally.done.fetch_add(work, Relaxed);
        if let Ok(mut now) = self.now.lock() {
            let since = now.since.replace(Instant::now());
            let mut took = since.map_or(Duration::ZERO, |since| since.elapsed());
            if !matches!(kind, Kind::Bones) {
                took += std::mem::take(&mut now.carried);
            }
            tally.took.fetch_add(took.as_nanos() as u64, Relaxed);
        }
        self.tell();
    }

    fn tell(&self) {
        let meter = self.meter;
        if let Ok(now) = self.now.lock() {
            let [done, total] = meter.nanoseconds();
            meter.progress.trying(&now.name);
            meter.progress.update(Phase::Search, done, total);
        }
    }
}
