//! Clips at run time: poses at any time, from the stored form.
//!
//! [`Clip`] is an opened clip, [`ClipCursor`] the memory of one place in it: it keeps the segment that was decoded last, so forward playback decodes each once,
//! and after the first sample nothing is allocated. Local transforms, one per joint; [`object_space`] multiplies them up.
//!
//! ```no_run
//! use meshreel::clip::{ClipCursor, Repeats, Rounding};
//! use meshreel::{Limits, Reel, Transform};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let clips = Reel::open("walk.reel", &Limits::default())?.clips()?;
//! let clip = &clips[0];
//! let mut cursor = ClipCursor::new(clip);
//! let mut pose = vec![Transform::IDENTITY; clip.joints()];
//! clip.sample(&mut cursor, 0.25, Repeats::Wrap, Rounding::None, &mut pose)?;
//! # Ok(())
//! # }
//! ```

mod blend;
mod resident;

pub use blend::{blend, object_space};
pub use resident::{ResidentClip, Spare};

use crate::open::kind;
use crate::{Error, Reel};
use meshreel_codec::Corrupt;
use meshreel_codec::block::Decompressor;
pub use meshreel_codec::clip::record::{ClipRecord, SkeletonRecord};
use meshreel_codec::clip::record::{decode_clip, decode_skeleton};
use meshreel_codec::clip::stored::{Scratch, Stored};
use meshreel_codec::transform::Transform;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What happens at times outside the clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// The first or last sample stands.
    Clamp,
    /// The clip starts over; its last sample is followed by its first.
    Wrap,
}

/// What happens between samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Normalised linear interpolation of rotations, linear of the rest.
    None,
    /// The sample before.
    Floor,
    /// The sample after.
    Ceil,
    /// The nearer one.
    Nearest,
}

/// An opened clip. Clones share its data.
#[derive(Clone)]
pub struct Clip {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    record: ClipRecord,
    skeleton: Arc<SkeletonRecord>,
    stored: Stored,
    bytes: usize,
}

impl std::fmt::Debug for Clip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clip")
            .field("name", &self.name())
            .field("joints", &self.joints())
            .field("samples", &self.samples())
            .finish_non_exhaustive()
    }
}

impl Reel {
    /// All skeletons of the file, in order.
    pub fn skeletons(&self) -> Result<Vec<Arc<SkeletonRecord>>, Error> {
        let mut decompressor = Decompressor::new();
        self.chunks_of(kind::SKELETON)
            .map(|chunk| {
                let bytes = self.chunk(chunk, &mut decompressor)?;
                let skeleton = decode_skeleton(&bytes);
                let at = || format!("skeleton in chunk {chunk}");
                skeleton
                    .map(Arc::new)
                    .map_err(|c| Error::corrupt(self.path(), c, at()))
            })
            .collect()
    }

    /// All clips of the file, in order. Their segments are decoded when they are played.
    pub fn clips(&self) -> Result<Vec<Clip>, Error> {
        if self.chunks_of(kind::CLIP).next().is_none() {
            return Ok(Vec::new());
        }
        let skeletons = self.skeletons()?;
        let mut decompressor = Decompressor::new();
        self.chunks_of(kind::CLIP)
            .map(|chunk| {
                let bytes = self.chunk(chunk, &mut decompressor)?;
                Clip::open(self.path(), &bytes, &skeletons)
                    .map_err(|c| Error::corrupt(self.path(), c, format!("clip in chunk {chunk}")))
            })
            .collect()
    }

    fn chunks_of(&self, kind: u16) -> impl Iterator<Item = u32> + '_ {
        let chunks = (0..).zip(self.chunks());
        chunks.filter(move |(_, c)| c.kind == kind).map(|(i, _)| i)
    }
}

impl Clip {
    /// From the bytes of a clip chunk.
    fn open(path: &Path, bytes: &[u8], skeletons: &[Arc<SkeletonRecord>]) -> Result<Clip, Corrupt> {
        let (record, bytes) = decode_clip(bytes)?;
        let Some(skeleton) = skeletons.get(record.skeleton as usize) else {
            return Err(Corrupt("a clip of a skeleton that is not there"));
        };
        let stored = Stored::open(&skeleton.skeleton(), bytes)?;
        Ok(Clip {
            shared: Arc::new(Shared {
                path: path.into(),
                record,
                skeleton: skeleton.clone(),
                stored,
                bytes: bytes.len(),
            }),
        })
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.shared.record.name
    }
    /// Its skeleton: names, parents, default pose.
    pub fn skeleton(&self) -> &SkeletonRecord {
        &self.shared.skeleton
    }
    /// What its chunk says: promised tolerance and so on.
    pub fn record(&self) -> &ClipRecord {
        &self.shared.record
    }
    /// Number of joints: the length of a pose.
    pub fn joints(&self) -> usize {
        self.shared.skeleton.parents.len()
    }
    /// Number of samples, at least 1.
    pub fn samples(&self) -> usize {
        self.shared.stored.plan.header.samples as usize
    }
    /// Samples per second.
    pub fn fps(&self) -> f64 {
        self.shared.stored.plan.header.fps
    }
    /// Time of sample 0 in seconds; times of [`Clip::sample`] count from it.
    pub fn start(&self) -> f64 {
        self.shared.stored.plan.header.start
    }
    /// Seconds from first to last sample.
    pub fn duration(&self) -> f64 {
        (self.samples() - 1) as f64 / self.fps()
    }
    /// Bytes of the stored form.
    pub fn stored_bytes(&self) -> usize {
        self.shared.bytes
    }
    /// Side information and residuals, for tools that print what is in a clip.
    pub fn stored(&self) -> &Stored {
        &self.shared.stored
    }

    /// Local transforms of all joints `seconds` after the first sample, into `pose`, one per joint. Allocates nothing.
    pub fn sample(
        &self,
        cursor: &mut ClipCursor,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let (left, right, part) = locate(self.samples(), self.fps(), seconds, repeats, rounding);
        if part == 0.0 {
            return self.sample_at(cursor, left, pose);
        }
        self.check(pose)?;
        // What was the right sample is often the left one now.
        if cursor.sample[0] != Some(left) && cursor.sample[1] == Some(left) {
            cursor.swap();
        }
        self.keep(cursor, 0, left)?;
        self.keep(cursor, 1, right)?;
        let [a, b] = &cursor.pose;
        blend(a, b, part as f32, pose);
        Ok(())
    }

    /// Local transforms of all joints at a sample: those that the tolerance is promised for.
    pub fn sample_at(
        &self,
        cursor: &mut ClipCursor,
        sample: usize,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        self.check(pose)?;
        let slot = usize::from(cursor.sample[1] == Some(sample));
        self.keep(cursor, slot, sample.min(self.samples() - 1))?;
        pose.copy_from_slice(&cursor.pose[slot]);
        Ok(())
    }

    fn check(&self, pose: &[Transform]) -> Result<(), Error> {
        match pose.len() == self.joints() {
            true => Ok(()),
            false => Err(Error::misuse(format!(
                "a pose of {} transforms for {} joints",
                pose.len(),
                self.joints()
            ))),
        }
    }

    /// Sees to it that the pose of `slot` is that of `sample`.
    fn keep(&self, cursor: &mut ClipCursor, slot: usize, sample: usize) -> Result<(), Error> {
        if !Arc::ptr_eq(&cursor.clip.shared, &self.shared) {
            return Err(Error::misuse(
                "a cursor of another clip; make one with ClipCursor::new",
            ));
        }
        if cursor.sample[slot] == Some(sample) {
            return Ok(());
        }
        let stored = &self.shared.stored;
        let plan = &stored.plan;
        let length = 1usize << plan.header.log;
        cursor.sample[slot] = None;
        let pose = &mut cursor.pose[slot];
        if sample.is_multiple_of(length) || sample + 1 == self.samples() {
            plan.pose(stored.key_words(sample.div_ceil(length)), pose);
        } else {
            let segment = sample / length;
            if cursor.segment != Some(segment) {
                cursor.segment = None;
                stored.decode(segment, &mut cursor.scratch).map_err(|c| {
                    let at = format!("clip {}, segment {segment}", self.name());
                    Error::corrupt(&self.shared.path, c, at)
                })?;
                cursor.segment = Some(segment);
            }
            plan.pose(cursor.scratch.sample(plan, sample - segment * length), pose);
        }
        cursor.sample[slot] = Some(sample);
        Ok(())
    }
}

/// Samples around a time, and how far it is from the first to the second.
fn locate(
    samples: usize,
    fps: f64,
    seconds: f64,
    repeats: Repeats,
    rounding: Rounding,
) -> (usize, usize, f64) {
    let last = samples.saturating_sub(1);
    let at = seconds * fps;
    let at = if at.is_finite() { at } else { 0.0 };
    // What is a sample but for rounding is that sample.
    let snapped = if (at - at.round()).abs() < 1e-6 {
        at.round()
    } else {
        at
    };
    let (at, next) = match repeats {
        Repeats::Clamp => (snapped.clamp(0.0, last as f64), last),
        Repeats::Wrap => {
            let count = last as f64 + 1.0;
            let at = snapped - (snapped / count).floor() * count;
            (if at < count { at } else { 0.0 }, 0)
        }
    };
    let left = (at as usize).min(last);
    let right = if left < last { left + 1 } else { next };
    let part = at - left as f64;
    match rounding {
        Rounding::None => (left, right, part),
        Rounding::Floor => (left, left, 0.0),
        Rounding::Ceil if part > 0.0 => (right, right, 0.0),
        Rounding::Nearest if part >= 0.5 => (right, right, 0.0),
        Rounding::Ceil | Rounding::Nearest => (left, left, 0.0),
    }
}

/// A place in a clip, with the memory that playing it needs.
#[derive(Debug)]
pub struct ClipCursor {
    clip: Clip,
    scratch: Scratch,
    /// What the scratch holds.
    segment: Option<usize>,
    pose: [Vec<Transform>; 2],
    sample: [Option<usize>; 2],
}

impl ClipCursor {
    /// Allocates all that playing `clip` needs.
    pub fn new(clip: &Clip) -> ClipCursor {
        let pose = vec![Transform::IDENTITY; clip.joints()];
        ClipCursor {
            scratch: Scratch::new(&clip.shared.stored.plan),
            clip: clip.clone(),
            segment: None,
            pose: [pose.clone(), pose],
            sample: [None; 2],
        }
    }

    fn swap(&mut self) {
        self.pose.swap(0, 1);
        self.sample.swap(0, 1);
    }
}
