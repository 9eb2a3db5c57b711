//! Clips at run time: poses at any time, from the stored form or from curves.
//!
//! [`Clip`] is an opened clip, [`ClipCursor`] the memory of one place in it: it keeps the segment that was
//! decoded last (of curves the last keys of each sub-track), so forward playback decodes each once, and after
//! the first sample nothing is allocated. Local transforms, one per joint; [`object_space`] multiplies them
//! up.
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

mod additive;
mod blend;
mod database;
mod events;
mod layer;
mod pose;
mod query;
mod resident;
mod root_motion;
mod scalars;

pub use additive::Additive;
pub use blend::{blend, blend_masked, object_joint, object_space, object_space_of};
pub use database::{Database, DatabaseClip, DatabaseCursor, DatabaseOptions, Part, PartState, Ticked};
pub use events::{Events, Passed, passed};
pub use layer::{JointPose, LayerInfo};
use layer::{LayerCursor, Layered};
pub use pose::{Planes, Pose, Soa};
pub use query::{Mask, Query, importance};
pub use resident::ResidentClip;
pub use root_motion::Extract;

use crate::open::kind;
use crate::{Error, Reel};
use meshreel_codec::Corrupt;
use meshreel_codec::block::Decompressor;
use meshreel_codec::clip::curve::{self, Curves, Playhead};
use meshreel_codec::clip::extras::{self, Extras};
pub use meshreel_codec::clip::extras::{Component, Marker, ScalarTrack};
use meshreel_codec::clip::layer::{LayerTable, decode as decode_layers};
pub use meshreel_codec::clip::record::{ClipRecord, Codec, SkeletonRecord};
use meshreel_codec::clip::record::{decode_clip, decode_skeleton};
use meshreel_codec::clip::resident::Parts;
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
    /// Of layers: how many tiers of each are played. Empty: all.
    tiers: Arc<[usize]>,
}

struct Shared {
    path: PathBuf,
    record: ClipRecord,
    skeleton: Arc<SkeletonRecord>,
    form: Form,
    bytes: usize,
    file_bytes: usize,
    extras: Extras,
}

/// What the bytes of a clip are. There is one per clip.
#[allow(clippy::large_enum_variant)]
enum Form {
    Sampled(Stored),
    Curve(Curves),
    Layers(Box<Layered>),
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
                skeleton.map(Arc::new).map_err(|c| Error::corrupt(self.path(), c, at()))
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
        let mut layers = self.all_layers()?;
        let mut riding = self.extras(&mut decompressor)?;
        let clips: Vec<Clip> = (0..)
            .zip(self.chunks_of(kind::CLIP))
            .map(|(i, chunk)| {
                let bytes = self.chunk(chunk, &mut decompressor)?;
                let packed = self.chunks()[chunk as usize].size as usize;
                let extras = riding.iter().position(|e| e.clip == i);
                let extras = extras.map(|at| riding.swap_remove(at)).unwrap_or_default();
                Clip::open(self.path(), &bytes, packed, &skeletons, layers.of(i), extras)
                    .map_err(|c| Error::corrupt(self.path(), c, format!("clip in chunk {chunk}")))
            })
            .collect::<Result<_, _>>()?;
        if let Some(extras) = riding.first() {
            return Err(Error::corrupt(
                self.path(),
                Corrupt("scalar tracks of a clip that is not there, or has others"),
                format!("clip {}", extras.clip),
            ));
        }
        match layers.tables.is_empty() {
            true => Ok(clips),
            false => Err(Error::corrupt(
                self.path(),
                Corrupt("layers of a clip that is not there, or of one twice"),
                "layers of clips",
            )),
        }
    }

    /// What rides along in clips.
    fn extras(&self, decompressor: &mut Decompressor) -> Result<Vec<Extras>, Error> {
        self.chunks_of(kind::EXTRAS)
            .map(|chunk| {
                let bytes = self.chunk(chunk, decompressor)?;
                let at = || format!("scalar tracks in chunk {chunk}");
                extras::decode(&bytes).map_err(|c| Error::corrupt(self.path(), c, at()))
            })
            .collect()
    }

    /// Tables of layers, and all chunks of pieces.
    fn all_layers(&self) -> Result<AllLayers, Error> {
        let tables = self.layer_tables()?;
        let mut chunks = Vec::new();
        for chunk in self.chunks_of(kind::PIECES) {
            let mut bytes = Vec::new();
            self.reader().read_chunk(chunk as usize, &mut bytes)?;
            chunks.push(Arc::new(bytes));
        }
        let size = |c: &Arc<Vec<u8>>| (c.len() as u32, c.len() as u32);
        Ok(AllLayers { room: chunks.iter().map(size).collect(), tables, chunks })
    }

    /// All tables of layers.
    pub(crate) fn layer_tables(&self) -> Result<Vec<LayerTable>, Error> {
        let mut decompressor = Decompressor::new();
        self.chunks_of(kind::LAYERS)
            .map(|chunk| {
                let bytes = self.chunk(chunk, &mut decompressor)?;
                let at = || format!("layers in chunk {chunk}");
                decode_layers(&bytes).map_err(|c| Error::corrupt(self.path(), c, at()))
            })
            .collect()
    }

    pub(crate) fn chunks_of(&self, kind: u16) -> impl Iterator<Item = u32> + '_ {
        let chunks = (0..).zip(self.chunks());
        chunks.filter(move |(_, c)| c.kind == kind).map(|(i, _)| i)
    }
}

/// All layers of a file that no clip has yet.
struct AllLayers {
    tables: Vec<LayerTable>,
    chunks: Vec<Arc<Vec<u8>>>,
    /// Of each chunk its size, and what is left of it.
    room: Vec<(u32, u32)>,
}

/// Those of a clip.
struct OwnLayers<'a> {
    table: LayerTable,
    chunks: &'a [Arc<Vec<u8>>],
    room: &'a mut [(u32, u32)],
}

impl AllLayers {
    fn of(&mut self, clip: u32) -> Option<OwnLayers<'_>> {
        let i = self.tables.iter().position(|t| t.clip == clip)?;
        Some(OwnLayers { table: self.tables.swap_remove(i), chunks: &self.chunks, room: &mut self.room })
    }
}

impl Clip {
    /// From the bytes of a clip chunk, which takes so many in the file.
    fn open(
        path: &Path,
        bytes: &[u8],
        packed: usize,
        skeletons: &[Arc<SkeletonRecord>],
        layers: Option<OwnLayers<'_>>,
        extras: Extras,
    ) -> Result<Clip, Corrupt> {
        let all = bytes.len();
        let (record, bytes) = decode_clip(bytes)?;
        let Some(skeleton) = skeletons.get(record.skeleton as usize) else {
            return Err(Corrupt("a clip of a skeleton that is not there"));
        };
        let (mut size, mut pieces) = (bytes.len(), 0);
        let form = match record.codec {
            Codec::Sampled => {
                let stored = Stored::open(&skeleton.skeleton(), bytes)?;
                match layers {
                    None if stored.plan.tiers() > 1 => {
                        return Err(Corrupt("a clip whose other tiers are not there"));
                    }
                    None => Form::Sampled(stored),
                    Some(OwnLayers { table, chunks, room }) => {
                        let skeleton = skeleton.skeleton();
                        let layers = Layered::new(&skeleton, table, stored, chunks, room)?;
                        size += layers.upper_bytes();
                        pieces = layers.piece_bytes();
                        Form::Layers(Box::new(layers))
                    }
                }
            }
            Codec::Curve if layers.is_some() => return Err(Corrupt("layers of curves")),
            Codec::Curve => Form::Curve(Curves::read(bytes, &skeleton.skeleton())?),
        };
        let samples = match &form {
            Form::Sampled(stored) => stored.plan.header.samples,
            Form::Curve(curves) => curves.head.samples,
            Form::Layers(layers) => layers.set.samples() as u32,
        };
        if !extras.tracks.is_empty() && extras.samples != samples {
            return Err(Corrupt("scalar tracks of another number of samples"));
        }
        Ok(Clip {
            shared: Arc::new(Shared {
                path: path.into(),
                record,
                skeleton: skeleton.clone(),
                form,
                bytes: size,
                // What is stored as it is has a few bytes around it, which are not the clip's.
                file_bytes: (packed + bytes.len()).saturating_sub(all).min(bytes.len()) + pieces,
                extras,
            }),
            tiers: Arc::new([]),
        })
    }

    /// A clip in memory from raw local transforms, sample by sample all joints of `skeleton`: 48 bits a
    /// rotation, three times 16 a vector, nothing searched for, so that it can be done when a game loads.
    /// Rotations are within 10⁻⁴ rad, vectors within a 2¹⁷th of the clip's range. Misuse where the poses are
    /// no whole samples, more than 65,536, or not finite.
    pub fn quantized(
        skeleton: &Arc<SkeletonRecord>,
        name: &str,
        poses: &[Transform],
        fps: f64,
    ) -> Result<Clip, Error> {
        let wrong = |c: Corrupt| Error::misuse(format!("clip {name}: {}", c.0));
        skeleton.skeleton().check().map_err(wrong)?;
        let curves = curve::quantized(&skeleton.skeleton(), poses, fps, 0.0).map_err(wrong)?;
        let bytes = curves.memory();
        Ok(Clip {
            shared: Arc::new(Shared {
                path: "(memory)".into(),
                record: ClipRecord {
                    name: name.into(),
                    codec: Codec::Curve,
                    local: true,
                    ..ClipRecord::default()
                },
                skeleton: skeleton.clone(),
                form: Form::Curve(curves),
                bytes,
                file_bytes: 0,
                extras: Extras::default(),
            }),
            tiers: Arc::new([]),
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
        self.timing().0 as usize
    }
    /// Samples per second.
    pub fn fps(&self) -> f64 {
        self.timing().1
    }
    /// Time of sample 0 in seconds; times of [`Clip::sample`] count from it.
    pub fn start(&self) -> f64 {
        self.timing().2
    }
    /// Seconds from first to last sample.
    pub fn duration(&self) -> f64 {
        (self.samples() - 1) as f64 / self.fps()
    }
    fn timing(&self) -> (u32, f64, f64) {
        match &self.shared.form {
            Form::Sampled(stored) => {
                let header = &stored.plan.header;
                (header.samples, header.fps, header.start)
            }
            Form::Curve(curves) => (curves.head.samples, curves.head.fps, curves.head.start),
            Form::Layers(layers) => (layers.set.samples() as u32, layers.set.fps, layers.set.start),
        }
    }
    /// Bytes of the stored form, or of the curves.
    pub fn stored_bytes(&self) -> usize {
        self.shared.bytes
    }
    /// The same as it is in the file, where its chunk may be compressed, with its streamed pieces, and
    /// without tables of layers.
    pub fn file_bytes(&self) -> usize {
        self.shared.file_bytes
    }
    /// Side information and residuals of codec `sampled`, for tools that print what is in a clip; of a clip
    /// in layers its base.
    pub fn stored(&self) -> Option<&Stored> {
        match &self.shared.form {
            Form::Sampled(stored) => Some(stored),
            Form::Layers(layers) => Some(layers.base()),
            Form::Curve(_) => None,
        }
    }
    /// The keys of codec `curve`.
    pub fn curves(&self) -> Option<&Curves> {
        match &self.shared.form {
            Form::Sampled(_) | Form::Layers(_) => None,
            Form::Curve(curves) => Some(curves),
        }
    }

    /// Local transforms of all joints `seconds` after the first sample, into `pose`, one per joint. Allocates
    /// nothing.
    pub fn sample(
        &self,
        cursor: &mut ClipCursor,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let query = Query { repeats, ..Query::at(seconds).rounded(rounding) };
        self.pose(cursor, &query, pose)
    }

    /// Local transforms of the joints that `query` wants. Allocates nothing.
    pub fn pose(
        &self,
        cursor: &mut ClipCursor,
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Error> {
        pose::check(pose, self.joints())?;
        if let Form::Layers(layers) = &self.shared.form {
            let spot = layers.set.spot(query.seconds, query.repeats);
            // Layers have samples of their own: joints that are rounded in one way are taken together.
            let mut spare = std::mem::take(&mut cursor.spare);
            let done = query.all_roundings().try_for_each(|rounding| {
                self.layered(cursor, |tiers, cursors| {
                    layers.pose(tiers, cursors, spot, rounding, &mut spare)
                })?;
                for (j, value) in spare.iter().enumerate() {
                    if query.rounding_of(j) == rounding && query.wants(j) && pose.wants(j) {
                        pose.put(j, value);
                    }
                }
                Ok(())
            });
            cursor.spare = spare;
            return done;
        }
        let (left, right, each) = query.locate(self.samples(), self.fps());
        // What was the right sample is often the left one now, and in reverse the other way round.
        if cursor.sample[0] != Some(left) && cursor.sample[1] == Some(left)
            || left != right && cursor.sample[1] != Some(right) && cursor.sample[0] == Some(right)
        {
            cursor.swap();
        }
        self.keep(cursor, 0, left)?;
        if left == right {
            pose::put_all(&cursor.pose[0], query, pose);
            return Ok(());
        }
        self.keep(cursor, 1, right)?;
        let [a, b] = &cursor.pose;
        for (j, (a, b)) in a.iter().zip(b).enumerate() {
            if query.wants(j) && pose.wants(j) {
                pose.put(j, &blend::between(a, b, each.of(j)));
            }
        }
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
        if let Form::Layers(layers) = &self.shared.form {
            let spot = layers.set.at(sample);
            return self
                .layered(cursor, |tiers, cursors| layers.pose(tiers, cursors, spot, Rounding::None, pose));
        }
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

    /// The layer of a joint: 0 the base, others cosmetic; 0 where there are no layers. `None`: there is no
    /// such joint.
    pub fn cosmetic_level(&self, joint: usize) -> Option<u8> {
        match &self.shared.form {
            Form::Layers(layers) => layers.set.table.layer_of.get(joint).copied(),
            _ => (joint < self.joints()).then_some(0),
        }
    }

    /// What is in each layer; nothing where there are none.
    pub fn layers(&self) -> Vec<LayerInfo> {
        match &self.shared.form {
            Form::Layers(layers) => layers.infos(),
            _ => Vec::new(),
        }
    }

    /// The same clip, of whose layers only so many tiers are played: of layer 0, of layer 1 …; 0: none of it,
    /// so that its joints stand in the bind pose. Layers beyond the list are played whole. Cursors of one
    /// play the other.
    pub fn with_tiers(&self, tiers: &[usize]) -> Clip {
        Clip { shared: self.shared.clone(), tiers: tiers.into() }
    }

    /// The local transform of one joint, and whether its layer is there: where it is not, this is the bind
    /// pose. Of layers only its own is decoded; elsewhere the others of its sample are too, and are there
    /// when they are asked for. Allocates nothing.
    pub fn joint(
        &self,
        cursor: &mut ClipCursor,
        joint: usize,
        query: &Query<'_>,
    ) -> Result<JointPose, Error> {
        if joint >= self.joints() {
            return Err(Error::misuse(format!("joint {joint} of {}", self.joints())));
        }
        if let Form::Layers(layers) = &self.shared.form {
            let spot = layers.set.spot(query.seconds, query.repeats);
            return self.layered(cursor, |tiers, cursors| {
                layers.joint(tiers, cursors, spot, query.rounding_of(joint), joint)
            });
        }
        let mut out = pose::One { joint, value: Transform::IDENTITY };
        self.pose(cursor, query, &mut out)?;
        Ok(JointPose { local: out.value, bind: false })
    }

    /// All layers as one clip of codec `sampled`, in the stored form: the same poses, in one piece that
    /// cannot be taken apart while it plays. `None` where there are no layers.
    pub fn merged(&self) -> Option<Result<Vec<u8>, Error>> {
        let Form::Layers(layers) = &self.shared.form else {
            return None;
        };
        let merged = layers.merged(&self.shared.skeleton.skeleton());
        Some(merged.map_err(|c| layer::broken(&self.shared.path, self.name(), c)))
    }

    fn layered<T>(
        &self,
        cursor: &mut ClipCursor,
        run: impl FnOnce(&[usize], &mut [LayerCursor]) -> Result<T, Corrupt>,
    ) -> Result<T, Error> {
        if !Arc::ptr_eq(&cursor.clip.shared, &self.shared) {
            return Err(Error::misuse("a cursor of another clip; make one with ClipCursor::new"));
        }
        match &mut cursor.place {
            Place::Layers(cursors) => {
                run(&self.tiers, cursors).map_err(|c| layer::broken(&self.shared.path, self.name(), c))
            }
            _ => Err(Error::misuse("a cursor of another kind of clip")),
        }
    }

    /// Sees to it that the pose of `slot` is that of `sample`.
    fn keep(&self, cursor: &mut ClipCursor, slot: usize, sample: usize) -> Result<(), Error> {
        if !Arc::ptr_eq(&cursor.clip.shared, &self.shared) {
            return Err(Error::misuse("a cursor of another clip; make one with ClipCursor::new"));
        }
        if cursor.sample[slot] == Some(sample) {
            return Ok(());
        }
        cursor.sample[slot] = None;
        let pose = &mut cursor.pose[slot];
        match (&self.shared.form, &mut cursor.place) {
            (Form::Sampled(stored), Place::Segment(segment, scratch)) => {
                self.decode(stored, sample, segment, scratch, pose)?;
            }
            (Form::Curve(curves), Place::Playhead(playhead)) => {
                let skeleton = self.shared.skeleton.skeleton();
                playhead.pose(curves, &skeleton, sample as f32, pose);
            }
            _ => return Err(Error::misuse("a cursor of another kind of clip")),
        }
        cursor.sample[slot] = Some(sample);
        Ok(())
    }

    /// A sample of the stored form; `decoded` is the segment that the scratch holds.
    fn decode(
        &self,
        stored: &Stored,
        sample: usize,
        decoded: &mut Option<usize>,
        scratch: &mut Scratch,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let plan = &stored.plan;
        let length = 1usize << plan.header.log;
        if sample.is_multiple_of(length) || sample + 1 == self.samples() {
            plan.pose(stored.key_words(sample.div_ceil(length)), pose);
            return Ok(());
        }
        let segment = sample / length;
        if *decoded != Some(segment) {
            *decoded = None;
            stored.decode(segment, scratch).map_err(|c| {
                let at = format!("clip {}, segment {segment}", self.name());
                Error::corrupt(&self.shared.path, c, at)
            })?;
            *decoded = Some(segment);
        }
        plan.pose(scratch.sample(plan, sample - segment * length), pose);
        Ok(())
    }
}

/// Samples around a time, and how far it is from the first to the second.
#[inline]
fn locate(samples: usize, fps: f64, seconds: f64, repeats: Repeats) -> (usize, usize, f64) {
    let last = samples.saturating_sub(1);
    let at = seconds * fps;
    let at = if at.is_finite() { at } else { 0.0 };
    let (at, next) = match repeats {
        Repeats::Clamp => (at.clamp(0.0, last as f64), last),
        Repeats::Wrap => {
            let count = last as f64 + 1.0;
            let at = if (0.0..count).contains(&at) { at } else { at - (at / count).floor() * count };
            (at.clamp(0.0, count), 0)
        }
    };
    let left = at as usize;
    let part = at - left as f64;
    let after = |sample: usize| if sample < last { sample + 1 } else { next };
    // What is a sample but for rounding is that sample.
    if part > 1.0 - 1e-6 {
        let sample = after(left);
        return (sample, after(sample), 0.0);
    }
    // As long as the clip to the bit: its start.
    let left = if left > last { next } else { left };
    (left, after(left), if part < 1e-6 { 0.0 } else { part })
}

/// A place in a clip, with the memory that playing it needs.
#[derive(Debug)]
pub struct ClipCursor {
    clip: Clip,
    place: Place,
    pose: [Vec<Transform>; 2],
    sample: [Option<usize>; 2],
    /// For single joints.
    spare: Vec<Transform>,
}

/// What was decoded last.
#[derive(Debug)]
enum Place {
    /// A segment, and what it decoded to.
    Segment(Option<usize>, Scratch),
    /// The last keys of each sub-track.
    Playhead(Playhead),
    /// The same as the first, of each layer.
    Layers(Vec<LayerCursor>),
}

impl ClipCursor {
    /// Allocates all that playing `clip` needs.
    pub fn new(clip: &Clip) -> ClipCursor {
        let pose = vec![Transform::IDENTITY; clip.joints()];
        ClipCursor {
            place: match &clip.shared.form {
                Form::Sampled(stored) => Place::Segment(None, Scratch::new(&stored.plan)),
                Form::Curve(curves) => Place::Playhead(Playhead::new(curves)),
                Form::Layers(layers) => Place::Layers(layers.set.cursors()),
            },
            clip: clip.clone(),
            spare: pose.clone(),
            pose: [pose.clone(), pose],
            sample: [None; 2],
        }
    }

    fn swap(&mut self) {
        self.pose.swap(0, 1);
        self.sample.swap(0, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two joints that turn and move.
    fn poses(samples: usize) -> Vec<Transform> {
        let at = |i: usize, joint: usize| {
            let angle = (i as f32 * 0.37 + joint as f32).sin() * 1.4;
            Transform {
                rotation: [angle.sin() * 0.6, 0.0, angle.sin() * 0.8, angle.cos()],
                translation: [joint as f32 * i as f32, 2.0, -(i as f32)],
                scale: [1.0; 3],
            }
        };
        (0..samples).flat_map(|i| [at(i, 0), at(i, 1)]).collect()
    }

    fn skeleton() -> Arc<SkeletonRecord> {
        Arc::new(SkeletonRecord {
            parents: vec![u32::MAX, 0],
            names: vec!["hips".into(), "knee".into()],
            rest: vec![Transform::IDENTITY; 2],
            shell: vec![3.0; 2],
            ends: vec![Vec::new(); 2],
            ..SkeletonRecord::default()
        })
    }

    #[test]
    fn d03_quantized_when_it_is_loaded() {
        let poses = poses(200);
        let clip = Clip::quantized(&skeleton(), "walk", &poses, 30.0).unwrap();
        // Animated: two rotations and two translations; with 16 bytes for a rotation and 12 for a vector they
        // were 2 · 28 · 200.
        assert!(clip.stored_bytes() < 2 * 28 * 200 * 10 / 13, "{}", clip.stored_bytes());
        let mut cursor = ClipCursor::new(&clip);
        let mut pose = vec![Transform::IDENTITY; 2];
        // Forward, back, and jumping.
        for i in (0..200).chain((0..200).rev()).chain((0..200).map(|i| i * 77 % 200)) {
            clip.sample_at(&mut cursor, i, &mut pose).unwrap();
            for (got, want) in pose.iter().zip(&poses[2 * i..]) {
                let near = |sign: f32| {
                    let pairs = got.rotation.iter().zip(want.rotation);
                    pairs.map(|(a, b)| (a - sign * b).abs()).fold(0.0, f32::max) < 5e-5
                };
                assert!(near(1.0) || near(-1.0), "{i}");
                for k in 0..3 {
                    assert!((got.translation[k] - want.translation[k]).abs() < 200.0 / 65535.0);
                }
            }
        }
        let refused = |poses: &[Transform], fps| Clip::quantized(&skeleton(), "x", poses, fps).is_err();
        assert!(refused(&poses[..3], 30.0) && refused(&[], 30.0) && refused(&poses, 0.0));
        let mut bad = poses.clone();
        bad[3].rotation = [0.0; 4];
        assert!(refused(&bad, 30.0));
        bad[3] = poses[3];
        bad[4].translation[1] = f32::NAN;
        assert!(refused(&bad, 30.0));
    }

    #[test]
    fn poses_between_samples_do_not_depend_on_the_way_there() {
        let clip = Clip::quantized(&skeleton(), "walk", &poses(90), 30.0).unwrap();
        let times: Vec<f64> = (0..400).map(|i| f64::from(i * 7919 % 400) * 0.0078 - 0.05).collect();
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        let back: Vec<f64> = sorted.iter().rev().copied().collect();
        for repeats in [Repeats::Clamp, Repeats::Wrap] {
            for order in [&times, &sorted, &back] {
                let mut cursor = ClipCursor::new(&clip);
                for seconds in order {
                    let mut poses = [[Transform::IDENTITY; 2]; 2];
                    clip.sample(&mut cursor, *seconds, repeats, Rounding::None, &mut poses[0]).unwrap();
                    let mut fresh = ClipCursor::new(&clip);
                    clip.sample(&mut fresh, *seconds, repeats, Rounding::None, &mut poses[1]).unwrap();
                    assert_eq!(poses[0], poses[1], "{seconds}");
                }
            }
        }
    }
}
