//! Plays a clip: poses at any time, and the memory of one place in it.

use super::blend;
use super::layer::LayerCursor;
use super::opened::{Clip, ClipForm};
use super::pose::{self, JointPose, Pose};
use super::query::{Query, Repeats};
use super::root_motion::{RootMotion, delta};
use crate::{Error, error};
use meshreel_codec::clip::curve::Playhead;
use meshreel_codec::clip::layer::LayerTable;
use meshreel_codec::clip::streamed::{Scratch, StreamedClip};
use meshreel_codec::transform::Transform;

/// A place in a clip, with the memory that playing it needs. It keeps what was decoded last, so forward and
/// reverse playback decode everything once. Threads share a [`Clip`] and have a cursor each.
#[derive(Debug)]
#[must_use]
pub struct ClipCursor {
    clip: Clip,
    state: CursorState,
    pose: [Vec<Transform>; 2],
    sample: [Option<usize>; 2],
}

/// The part of a clip that was decoded last.
#[derive(Debug)]
enum CursorState {
    /// A segment, and its samples that were decoded.
    Segment(Option<usize>, Box<Scratch>),
    /// The last keys of each sub-track.
    Playhead(Playhead),
    /// The place in each layer, for a clip in layers.
    Layers(Vec<LayerCursor>),
    /// Nothing, for the random-access form.
    Stateless,
}

impl Clip {
    /// Allocates everything that playing the clip needs.
    pub fn cursor(&self) -> ClipCursor {
        ClipCursor::new(self)
    }
}

impl ClipCursor {
    fn new(clip: &Clip) -> ClipCursor {
        let state = match &clip.shared.form {
            ClipForm::Sampled(stored, _) => {
                CursorState::Segment(None, Box::new(Scratch::new(&stored.layout)))
            }
            ClipForm::Curve(curves) => CursorState::Playhead(Playhead::new(curves)),
            ClipForm::Layers(layers) => CursorState::Layers(layers.set.cursors()),
            ClipForm::RandomAccess(_) => CursorState::Stateless,
        };
        let joints = match state {
            CursorState::Segment(..) | CursorState::Playhead(_) => clip.joints(),
            CursorState::Layers(_) | CursorState::Stateless => 0,
        };
        let pose = vec![Transform::IDENTITY; joints];
        ClipCursor { clip: clip.clone(), state, pose: [pose.clone(), pose], sample: [None; 2] }
    }

    /// Returns the clip that it plays.
    #[must_use]
    pub fn clip(&self) -> &Clip {
        &self.clip
    }

    /// Limits what is played to `tiers[l]` tiers of each layer `l`, as [`Clip::with_tiers`] does. Allocates
    /// the list.
    pub fn set_tiers(&mut self, tiers: &[usize]) {
        self.clip.tiers = tiers.into();
    }

    /// Writes the local transforms of the joints that `query` selects. A layer or tier that is not in memory
    /// is left out: its joints are in the bind pose, or less exact. Damage is an error of the first pose that
    /// needs the damaged bytes. Does not allocate.
    #[inline]
    pub fn pose(&mut self, query: &Query<'_>, pose: &mut (impl Pose + ?Sized)) -> Result<(), Error> {
        pose::check_capacity(pose, self.clip.joints())?;
        if let ClipForm::RandomAccess(form) = &self.clip.shared.form {
            form.pose(&self.clip.tiers, query, pose);
            return Ok(());
        }
        if let (ClipForm::Layers(layers), CursorState::Layers(cursors)) =
            (&self.clip.shared.form, &mut self.state)
        {
            return layers.pose(&self.clip.tiers, cursors, query, pose).map_err(|c| self.clip.damaged(c));
        }
        self.decoded_pose(query, pose)
    }

    /// Writes the pose of a clip whose samples are decoded whole.
    #[inline(never)]
    fn decoded_pose(&mut self, query: &Query<'_>, pose: &mut (impl Pose + ?Sized)) -> Result<(), Error> {
        let (left, right, each) = query.locate(self.clip.samples(), self.clip.fps());
        // In forward playback the right sample often becomes the left one, in reverse the left one the right.
        if self.sample[0] != Some(left) && self.sample[1] == Some(left)
            || left != right && self.sample[1] != Some(right) && self.sample[0] == Some(right)
        {
            self.pose.swap(0, 1);
            self.sample.swap(0, 1);
        }
        self.decode_sample(0, left)?;
        if left != right {
            self.decode_sample(1, right)?;
        }
        if let Some(table) = self.interleaved() {
            for j in (0..self.clip.joints()).filter(|&j| query.wants(j)) {
                if pose.wants(j) {
                    let part = if left == right { 0.0 } else { each.weight(j) };
                    pose.set(j, &self.layer_joint(table, j, part));
                }
            }
            return Ok(());
        }
        if left == right {
            pose::write_selected(&self.pose[0], query, pose);
            return Ok(());
        }
        let [a, b] = &self.pose;
        for (j, (a, b)) in a.iter().zip(b).enumerate() {
            if query.wants(j) && pose.wants(j) {
                pose.set(j, &blend::interpolate(a, b, each.weight(j)));
            }
        }
        Ok(())
    }

    /// Writes the local transforms of all joints at a sample; the tolerance is guaranteed for these. Does not
    /// allocate.
    pub fn sample(&mut self, sample: usize, pose: &mut [Transform]) -> Result<(), Error> {
        let joints = self.clip.joints();
        if pose.len() != joints {
            return Err(Error::misuse(format!("a pose of {} transforms for {joints} joints", pose.len())));
        }
        let sample = sample.min(self.clip.samples() - 1);
        match (&self.clip.shared.form, &mut self.state) {
            (ClipForm::Layers(layers), CursorState::Layers(cursors)) => {
                let done = layers.sample(&self.clip.tiers, cursors, sample, pose);
                return done.map_err(|c| self.clip.damaged(c));
            }
            (ClipForm::RandomAccess(form), _) => {
                form.sample(&self.clip.tiers, sample, pose);
                return Ok(());
            }
            _ => {}
        }
        let slot = usize::from(self.sample[1] == Some(sample));
        self.decode_sample(slot, sample)?;
        pose.copy_from_slice(&self.pose[slot]);
        if let Some(table) = self.interleaved() {
            let joints = pose.iter_mut().zip(&self.clip.shared.skeleton.rest).zip(&table.joint_layers);
            joints.filter(|(_, of)| !self.plays_layer(**of)).for_each(|((pose, rest), _)| *pose = *rest);
        }
        Ok(())
    }

    /// Returns the local transform of one joint, and whether its layer is in memory; if not, it is the bind
    /// pose. Of a clip in layers only the joint's layer is decoded; otherwise the other joints of the sample
    /// may be decoded too and are kept for later queries. Does not allocate.
    #[inline]
    pub fn joint(&mut self, joint: usize, query: &Query<'_>) -> Result<JointPose, Error> {
        if let ClipForm::RandomAccess(form) = &self.clip.shared.form {
            return form.joint(&self.clip.tiers, joint, query);
        }
        self.decoded_joint(joint, query)
    }

    #[inline(never)]
    fn decoded_joint(&mut self, joint: usize, query: &Query<'_>) -> Result<JointPose, Error> {
        let joints = self.clip.joints();
        if joint >= joints {
            return Err(Error::misuse(format!("joint {joint} of {joints}")));
        }
        if let (ClipForm::Layers(layers), CursorState::Layers(cursors)) =
            (&self.clip.shared.form, &mut self.state)
        {
            let done = layers.joint(&self.clip.tiers, cursors, query, joint);
            return done.map_err(|c| self.clip.damaged(c));
        }
        let mut out = pose::SingleJoint { joint, value: Transform::IDENTITY };
        self.decoded_pose(query, &mut out)?;
        let bind = self.interleaved().is_some_and(|table| !self.plays_layer(table.joint_layers[joint]));
        Ok(JointPose { local: out.value, bind })
    }

    /// Returns the motion of joint `joint` from `from` to `to`, in seconds after the first sample; `to` may
    /// be smaller than `from` and, with [`Repeats::Wrap`], any number of loops away. The scale of the result
    /// is 1. The product of the deltas of consecutive steps is the delta of all of them. Does not allocate.
    ///
    /// ```no_run
    /// # use meshreel::clip::ClipCursor;
    /// # fn tick(walk: &mut ClipCursor, from: f64, to: f64) -> Result<(), meshreel::Error> {
    /// use meshreel::clip::{Repeats, RootMotion};
    ///
    /// let ground = RootMotion::Planar { up: [0.0, 1.0, 0.0] };
    /// let step = walk.root_motion(0, (from, to), Repeats::Wrap, ground)?;
    /// // character = character · step
    /// # let _ = step;
    /// # Ok(())
    /// # }
    /// ```
    pub fn root_motion(
        &mut self,
        joint: usize,
        (from, to): (f64, f64),
        repeats: Repeats,
        extract: RootMotion,
    ) -> Result<Transform, Error> {
        let clip = (self.clip.samples(), self.clip.fps());
        delta(clip, (from, to), repeats, extract, |seconds| {
            self.joint(joint, &Query::new(seconds)).map(|j| j.local)
        })
    }

    /// Returns the table of layers that are interleaved.
    fn interleaved(&self) -> Option<&LayerTable> {
        match &self.clip.shared.form {
            ClipForm::Sampled(_, table) => table.as_deref(),
            _ => None,
        }
    }

    /// `true` if any tier of a layer is played.
    fn plays_layer(&self, layer: u8) -> bool {
        self.clip.tiers.get(usize::from(layer)).is_none_or(|tiers| *tiers > 0)
    }

    /// Returns a joint of interleaved layers, interpolated between both poses with weight `part`; the bind
    /// pose if its layer is not played.
    fn layer_joint(&self, table: &LayerTable, joint: usize, part: f32) -> Transform {
        let [a, b] = &self.pose;
        match (self.plays_layer(table.joint_layers[joint]), part) {
            (false, _) => self.clip.shared.skeleton.rest[joint],
            (true, part) if part == 0.0 || part < 1.0 && table.stepped[joint] => a[joint],
            (true, part) => blend::interpolate(&a[joint], &b[joint], part),
        }
    }

    /// Brings the pose of `slot` to that of `sample`.
    fn decode_sample(&mut self, slot: usize, sample: usize) -> Result<(), Error> {
        if self.sample[slot] == Some(sample) {
            return Ok(());
        }
        self.sample[slot] = None;
        let pose = &mut self.pose[slot];
        match (&self.clip.shared.form, &mut self.state) {
            (ClipForm::Sampled(stored, _), CursorState::Segment(segment, scratch)) => {
                decode_streamed(&self.clip, stored, sample, segment, scratch, pose)?;
            }
            (ClipForm::Curve(curves), CursorState::Playhead(playhead)) => {
                let skeleton = self.clip.shared.skeleton.skeleton();
                playhead.pose(curves, &skeleton, sample as f32, pose);
            }
            // The state is made for the form.
            _ => {}
        }
        self.sample[slot] = Some(sample);
        Ok(())
    }
}

/// Decodes a sample of the streamed form; `decoded` is the segment that the scratch holds.
fn decode_streamed(
    clip: &Clip,
    stored: &StreamedClip,
    sample: usize,
    decoded: &mut Option<usize>,
    scratch: &mut Scratch,
    pose: &mut [Transform],
) -> Result<(), Error> {
    let plan = &stored.layout;
    let length = 1usize << plan.header.segment_log2;
    if sample.is_multiple_of(length) || sample + 1 == clip.samples() {
        plan.pose(stored.key_values(sample.div_ceil(length)), pose);
        return Ok(());
    }
    let segment = sample / length;
    let damaged = |c| {
        let at = format!("clip {}, segment {segment}", clip.name());
        error::corrupt(&clip.shared.path, c, at)
    };
    let held = decoded.take();
    if held != Some(segment) {
        stored.begin_segment(segment, scratch).map_err(damaged)?;
    }
    let codes = stored.decode_sample((segment, sample - segment * length), scratch).map_err(damaged)?;
    *decoded = Some(segment);
    plan.pose(codes, pose);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_codec::clip::record::SkeletonRecord;
    use std::sync::Arc;

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
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; 2];
        // Forward, in reverse, and jumping.
        for i in (0..200).chain((0..200).rev()).chain((0..200).map(|i| i * 77 % 200)) {
            cursor.sample(i, &mut pose).unwrap();
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
                let mut cursor = clip.cursor();
                for seconds in order {
                    let query = Query { repeats, ..Query::new(*seconds) };
                    let mut poses = [[Transform::IDENTITY; 2]; 2];
                    cursor.pose(&query, &mut poses[0][..]).unwrap();
                    clip.cursor().pose(&query, &mut poses[1][..]).unwrap();
                    assert_eq!(poses[0], poses[1], "{seconds}");
                }
            }
        }
    }
}
