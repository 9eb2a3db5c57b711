//! Opened clips, which are decoded while they are played: segment by segment, from the keys of curves, or
//! sample by sample.

use super::blend;
use super::layer::{self, LayerCursor, LayerInfo, LayeredClip};
use super::pose::{self, JointPose, Pose};
use super::pose_source::{PoseSource, check_joint};
use super::query::Query;
use super::random_access::{LayeredForm, RandomAccessClip};
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::clip::ClipHeader;
use meshreel_codec::clip::curve::{CurveClip, Playhead};
use meshreel_codec::clip::layer::LayerTable;
use meshreel_codec::clip::random_access::InterpolationWeights;
use meshreel_codec::clip::record::{ClipRecord, SkeletonRecord};
use meshreel_codec::clip::scalars::ScalarsRecord;
use meshreel_codec::clip::streamed::{Scratch, StreamedClip};
use meshreel_codec::transform::Transform;
use std::path::PathBuf;
use std::sync::Arc;

/// An opened clip. Clones share its data.
#[derive(Clone)]
pub struct Clip {
    pub(super) shared: Arc<ClipData>,
    /// The number of tiers of each layer that are played; layers beyond the end of the list are played whole.
    pub(super) tiers: Arc<[usize]>,
}

pub(super) struct ClipData {
    pub path: PathBuf,
    pub record: ClipRecord,
    pub skeleton: Arc<SkeletonRecord>,
    pub form: ClipForm,
    pub bytes: usize,
    pub file_bytes: usize,
    pub scalars: ScalarsRecord,
}

/// The form that a clip has in the file.
#[allow(clippy::large_enum_variant)]
pub(super) enum ClipForm {
    /// A clip in one piece, or with layers that are interleaved.
    Sampled(StreamedClip, Option<Box<LayerTable>>),
    Curve(CurveClip),
    Layers(Box<LayeredClip>),
    RandomAccess(LayeredForm),
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

impl Clip {
    /// Makes a clip in memory from raw local transforms, sample by sample all joints of `skeleton`. It uses
    /// 48 bits per rotation and three times 16 per vector, without a search, so it is fast enough for
    /// loading. Rotations are exact to 10⁻⁴ rad, vectors to a 2¹⁷th of the clip's range. A misuse error if
    /// the poses are no whole samples, more than 65,536, or not finite.
    #[cfg(feature = "encode")]
    pub fn from_poses(
        skeleton: &Arc<SkeletonRecord>,
        name: &str,
        poses: &[Transform],
        fps: f64,
    ) -> Result<Clip, Error> {
        let wrong = |c: Corrupt| Error::misuse(format!("clip {name}: {}", c.0));
        skeleton.skeleton().check().map_err(wrong)?;
        let curves =
            meshreel_codec::clip::curve::from_poses(&skeleton.skeleton(), poses, fps, 0.0).map_err(wrong)?;
        let bytes = curves.memory_bytes();
        Ok(Clip {
            shared: Arc::new(ClipData {
                path: "(memory)".into(),
                record: ClipRecord {
                    name: name.into(),
                    codec: meshreel_codec::clip::record::ClipCodec::Curve,
                    per_sub_track: true,
                    ..ClipRecord::default()
                },
                skeleton: skeleton.clone(),
                form: ClipForm::Curve(curves),
                bytes,
                file_bytes: 0,
                scalars: ScalarsRecord::default(),
            }),
            tiers: Arc::new([]),
        })
    }

    /// Returns the clip's record in the file: its name, codec and guaranteed tolerance.
    pub fn record(&self) -> &ClipRecord {
        &self.shared.record
    }

    /// Returns the time of sample 0 in seconds; the times of [`Clip::sample`] are relative to it.
    pub fn start(&self) -> f64 {
        self.timing().2
    }

    /// Returns the bytes of the streamed form, or of the curves, in memory.
    pub fn form_bytes(&self) -> usize {
        self.shared.bytes
    }

    /// Returns the bytes that it takes in the file, where its chunk may be compressed, with its streamed
    /// pieces and without tables of layers.
    pub fn file_bytes(&self) -> usize {
        self.shared.file_bytes
    }

    /// Returns the side information and residuals of codec `sampled`, for tools that print the content of a
    /// clip; of the base for a clip in layers.
    pub fn streamed(&self) -> Option<&StreamedClip> {
        match &self.shared.form {
            ClipForm::Sampled(stored, _) => Some(stored),
            ClipForm::Layers(layers) => Some(layers.base()),
            ClipForm::Curve(_) | ClipForm::RandomAccess(_) => None,
        }
    }

    /// Returns the side information of the codecs of uniform samples, `sampled` and `random-access`: kinds of
    /// sub-tracks and quantization steps; of the base for a clip in layers.
    pub fn sampled_header(&self) -> Option<&ClipHeader> {
        match &self.shared.form {
            ClipForm::RandomAccess(form) => Some(&form.base().layout.header),
            _ => self.streamed().map(|stored| &stored.layout.header),
        }
    }

    /// Returns the clip as one that needs no cursor, sharing its data; `None` for other codecs than
    /// `random-access`.
    pub fn random_access(&self) -> Option<RandomAccessClip> {
        match &self.shared.form {
            ClipForm::RandomAccess(form) => Some(RandomAccessClip::from_form(self.name(), form.clone())),
            _ => None,
        }
    }

    /// Returns the keys of codec `curve`; `None` for other codecs.
    pub fn curves(&self) -> Option<&CurveClip> {
        match &self.shared.form {
            ClipForm::Curve(curves) => Some(curves),
            _ => None,
        }
    }

    /// Writes the local transforms of all joints at a sample; the tolerance is guaranteed for these.
    pub fn sample_at(
        &self,
        cursor: &mut ClipCursor,
        sample: usize,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        self.check(pose)?;
        if let ClipForm::Layers(layers) = &self.shared.form {
            return self
                .with_layer_cursors(cursor, |tiers, cursors| layers.sample(tiers, cursors, sample, pose));
        }
        if let ClipForm::RandomAccess(form) = &self.shared.form {
            form.sample(&self.tiers, sample.min(self.samples() - 1), pose);
            return Ok(());
        }
        let slot = usize::from(cursor.sample[1] == Some(sample));
        self.decode_sample(cursor, slot, sample.min(self.samples() - 1))?;
        pose.copy_from_slice(&cursor.pose[slot]);
        if let Some(table) = self.interleaved() {
            let joints = pose.iter_mut().zip(&self.shared.skeleton.rest).zip(&table.joint_layers);
            joints.filter(|(_, of)| !self.plays_layer(**of)).for_each(|((pose, rest), _)| *pose = *rest);
        }
        Ok(())
    }

    /// Returns the table of layers that are interleaved.
    fn interleaved(&self) -> Option<&LayerTable> {
        match &self.shared.form {
            ClipForm::Sampled(_, table) => table.as_deref(),
            _ => None,
        }
    }

    /// `true` if any tier of a layer is played.
    fn plays_layer(&self, layer: u8) -> bool {
        self.tiers.get(usize::from(layer)).is_none_or(|tiers| *tiers > 0)
    }

    /// Returns a joint of interleaved layers, interpolated between two poses with weight `part`; the bind
    /// pose if its layer is not played.
    fn layer_joint(
        &self,
        table: &LayerTable,
        joint: usize,
        poses: &[Vec<Transform>; 2],
        part: f32,
    ) -> Transform {
        let [a, b] = poses;
        match (self.plays_layer(table.joint_layers[joint]), part) {
            (false, _) => self.shared.skeleton.rest[joint],
            (true, part) if part == 0.0 || part < 1.0 && table.stepped[joint] => a[joint],
            (true, part) => blend::interpolate(&a[joint], &b[joint], part),
        }
    }

    /// Returns the joints, samples and sizes of each layer; empty if there are none.
    pub fn layers(&self) -> Vec<LayerInfo> {
        match &self.shared.form {
            ClipForm::Layers(layers) => layers.infos(),
            ClipForm::RandomAccess(form) => form.infos(),
            ClipForm::Sampled(stored, Some(table)) => layer::interleaved_infos(table, stored),
            _ => Vec::new(),
        }
    }

    /// Returns the clip limited to `tiers[l]` tiers of each layer `l`. With 0 the layer is not played, so
    /// that its joints are in the bind pose. Layers beyond the list are played whole. The clips can share
    /// cursors.
    pub fn with_tiers(&self, tiers: &[usize]) -> Clip {
        Clip { shared: self.shared.clone(), tiers: tiers.into() }
    }

    /// Returns all layers as one clip of codec `sampled`, in the streamed form: the same poses, but no longer
    /// separable while it plays. `None` if there are no layers, and for other codecs.
    #[cfg(feature = "encode")]
    pub fn merged(&self) -> Option<Result<Vec<u8>, Error>> {
        let merged = match &self.shared.form {
            ClipForm::Layers(layers) => layers.merged(&self.shared.skeleton.skeleton()),
            ClipForm::Sampled(stored, Some(_)) => Ok(stored.to_bytes()),
            _ => return None,
        };
        Some(merged.map_err(|c| layer::damaged_layers(&self.shared.path, self.name(), c)))
    }

    fn timing(&self) -> (u32, f64, f64) {
        match &self.shared.form {
            ClipForm::Sampled(StreamedClip { layout: plan, .. }, _) => {
                (plan.header.samples, plan.header.fps, plan.header.start)
            }
            ClipForm::RandomAccess(form) => {
                let header = &form.base().layout.header;
                (header.samples, header.fps, header.start)
            }
            ClipForm::Curve(curves) => (curves.head.samples, curves.head.fps, curves.head.start),
            ClipForm::Layers(layers) => (layers.set.samples() as u32, layers.set.fps, layers.set.start),
        }
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

    fn with_layer_cursors<T>(
        &self,
        cursor: &mut ClipCursor,
        run: impl FnOnce(&[usize], &mut [LayerCursor]) -> Result<T, Corrupt>,
    ) -> Result<T, Error> {
        if !Arc::ptr_eq(&cursor.clip.shared, &self.shared) {
            return Err(Error::misuse("a cursor of another clip; make one with ClipCursor::new"));
        }
        match &mut cursor.state {
            CursorState::Layers(cursors) => run(&self.tiers, cursors)
                .map_err(|c| layer::damaged_layers(&self.shared.path, self.name(), c)),
            _ => Err(Error::misuse("a cursor of another kind of clip")),
        }
    }

    /// Brings the pose of `slot` to that of `sample`.
    fn decode_sample(&self, cursor: &mut ClipCursor, slot: usize, sample: usize) -> Result<(), Error> {
        if !Arc::ptr_eq(&cursor.clip.shared, &self.shared) {
            return Err(Error::misuse("a cursor of another clip; make one with ClipCursor::new"));
        }
        if cursor.sample[slot] == Some(sample) {
            return Ok(());
        }
        cursor.sample[slot] = None;
        let pose = &mut cursor.pose[slot];
        match (&self.shared.form, &mut cursor.state) {
            (ClipForm::Sampled(stored, _), CursorState::Segment(segment, scratch)) => {
                self.decode_streamed(stored, sample, segment, scratch, pose)?;
            }
            (ClipForm::Curve(curves), CursorState::Playhead(playhead)) => {
                let skeleton = self.shared.skeleton.skeleton();
                playhead.pose(curves, &skeleton, sample as f32, pose);
            }
            _ => return Err(Error::misuse("a cursor of another kind of clip")),
        }
        cursor.sample[slot] = Some(sample);
        Ok(())
    }

    /// Decodes a sample of the streamed form; `decoded` is the segment that the scratch holds.
    fn decode_streamed(
        &self,
        stored: &StreamedClip,
        sample: usize,
        decoded: &mut Option<usize>,
        scratch: &mut Scratch,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let plan = &stored.layout;
        let length = 1usize << plan.header.segment_log2;
        if sample.is_multiple_of(length) || sample + 1 == self.samples() {
            plan.pose(stored.key_values(sample.div_ceil(length)), pose);
            return Ok(());
        }
        let segment = sample / length;
        if *decoded != Some(segment) {
            *decoded = None;
            stored.decode(segment, scratch).map_err(|c| {
                let at = format!("clip {}, segment {segment}", self.name());
                error::corrupt(&self.shared.path, c, at)
            })?;
            *decoded = Some(segment);
        }
        plan.pose(scratch.sample(plan, sample - segment * length), pose);
        Ok(())
    }
}

impl PoseSource for Clip {
    type Cursor = ClipCursor;

    fn name(&self) -> &str {
        &self.shared.record.name
    }

    fn skeleton(&self) -> &SkeletonRecord {
        &self.shared.skeleton
    }

    fn samples(&self) -> usize {
        self.timing().0 as usize
    }

    fn fps(&self) -> f64 {
        self.timing().1
    }

    fn joint_layer(&self, joint: usize) -> Option<u8> {
        match &self.shared.form {
            ClipForm::Layers(layers) => layers.set.table.joint_layers.get(joint).copied(),
            ClipForm::Sampled(_, Some(table)) => table.joint_layers.get(joint).copied(),
            ClipForm::RandomAccess(form) => form.joint_layer(joint),
            _ => (joint < self.joints()).then_some(0),
        }
    }

    fn cursor(&self) -> ClipCursor {
        ClipCursor::new(self)
    }

    fn pose(
        &self,
        cursor: &mut ClipCursor,
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Error> {
        pose::check_capacity(pose, self.joints())?;
        if let ClipForm::RandomAccess(form) = &self.shared.form {
            form.pose(&self.tiers, query, pose);
            return Ok(());
        }
        if let ClipForm::Layers(layers) = &self.shared.form {
            return self
                .with_layer_cursors(cursor, |tiers, cursors| layers.pose(tiers, cursors, query, pose));
        }
        let (left, right, each) = query.locate(self.samples(), self.fps());
        // In forward playback the right sample often becomes the left one, in reverse the left one the right.
        if cursor.sample[0] != Some(left) && cursor.sample[1] == Some(left)
            || left != right && cursor.sample[1] != Some(right) && cursor.sample[0] == Some(right)
        {
            cursor.swap();
        }
        self.decode_sample(cursor, 0, left)?;
        if let Some(table) = self.interleaved() {
            if left != right {
                self.decode_sample(cursor, 1, right)?;
            }
            for j in (0..self.joints()).filter(|&j| query.wants(j)) {
                if pose.wants(j) {
                    let part = if left == right { 0.0 } else { each.weight(j) };
                    pose.set(j, &self.layer_joint(table, j, &cursor.pose, part));
                }
            }
            return Ok(());
        }
        if left == right {
            pose::write_selected(&cursor.pose[0], query, pose);
            return Ok(());
        }
        self.decode_sample(cursor, 1, right)?;
        let [a, b] = &cursor.pose;
        for (j, (a, b)) in a.iter().zip(b).enumerate() {
            if query.wants(j) && pose.wants(j) {
                pose.set(j, &blend::interpolate(a, b, each.weight(j)));
            }
        }
        Ok(())
    }

    fn joint(&self, cursor: &mut ClipCursor, joint: usize, query: &Query<'_>) -> Result<JointPose, Error> {
        if let ClipForm::RandomAccess(form) = &self.shared.form {
            return form.joint(&self.tiers, joint, query);
        }
        check_joint(joint, self.joints())?;
        if let ClipForm::Layers(layers) = &self.shared.form {
            return self
                .with_layer_cursors(cursor, |tiers, cursors| layers.joint(tiers, cursors, query, joint));
        }
        let mut out = pose::SingleJoint { joint, value: Transform::IDENTITY };
        self.pose(cursor, query, &mut out)?;
        let bind = self.interleaved().is_some_and(|table| !self.plays_layer(table.joint_layers[joint]));
        Ok(JointPose { local: out.value, bind })
    }
}

/// A place in a clip, with the memory that playing it needs.
#[derive(Debug)]
pub struct ClipCursor {
    clip: Clip,
    state: CursorState,
    pose: [Vec<Transform>; 2],
    sample: [Option<usize>; 2],
}

/// The part of a clip that was decoded last.
#[derive(Debug)]
enum CursorState {
    /// A segment, and its decoded values.
    Segment(Option<usize>, Scratch),
    /// The last keys of each sub-track.
    Playhead(Playhead),
    /// The place in each layer, for a clip in layers.
    Layers(Vec<LayerCursor>),
    /// Nothing, for the random-access form.
    Stateless,
}

impl ClipCursor {
    /// Allocates all that playing `clip` needs.
    pub fn new(clip: &Clip) -> ClipCursor {
        let joints = match &clip.shared.form {
            ClipForm::RandomAccess(_) => 0,
            _ => clip.joints(),
        };
        let pose = vec![Transform::IDENTITY; joints];
        ClipCursor {
            state: match &clip.shared.form {
                ClipForm::Sampled(stored, _) => CursorState::Segment(None, Scratch::new(&stored.layout)),
                ClipForm::Curve(curves) => CursorState::Playhead(Playhead::new(curves)),
                ClipForm::Layers(layers) => CursorState::Layers(layers.set.cursors()),
                ClipForm::RandomAccess(_) => CursorState::Stateless,
            },
            clip: clip.clone(),
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
    use crate::clip::{Repeats, Rounding};

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
            end_sites: vec![Vec::new(); 2],
            ..SkeletonRecord::default()
        })
    }

    #[test]
    fn d03_quantized_when_it_is_loaded() {
        let poses = poses(200);
        let clip = Clip::from_poses(&skeleton(), "walk", &poses, 30.0).unwrap();
        // Animated: two rotations and two translations; with 16 bytes for a rotation and 12 for a vector
        // these took 2 · 28 · 200.
        assert!(clip.form_bytes() < 2 * 28 * 200 * 10 / 13, "{}", clip.form_bytes());
        let mut cursor = ClipCursor::new(&clip);
        let mut pose = vec![Transform::IDENTITY; 2];
        // Forward, in reverse, and jumping.
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
        let refused = |poses: &[Transform], fps| Clip::from_poses(&skeleton(), "x", poses, fps).is_err();
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
        let clip = Clip::from_poses(&skeleton(), "walk", &poses(90), 30.0).unwrap();
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
