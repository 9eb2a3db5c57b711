//! Codes transforms of rigid bones with the clip codec, each as coarsely as its points allow.

use super::model::BoneModel;
use super::positions::{FrameBlock, Positions};
use crate::Error;
use crate::nodes::matrix::{IDENTITY, Matrix, apply, outermost};
use crate::nodes::transform_search::{CodedTransform, GoalPoint, TransformGoal, Workspace, find_transform};
use glam::DVec3;
use meshreel_codec::clip::nodes::{
    self as codec, NodeResiduals, NodeSetup, NodeTracks, SurroundingCodes, TrackCodes,
};
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::skin::packed::PackedSetup;
use meshreel_codec::mesh::skin::{Skin, SkinRig};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::Transform;
use meshreel_process::parts::{FitSums, Similarity, TransformModel as Freedom};
use meshreel_process::trs::Trs;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Step of a translation, as a fraction of the allowed error of points.
const STEP: f64 = 0.9;
/// A part that moves by less than this fraction of the tolerance counts as static.
pub const STATIC_FRACTION: f64 = 0.01;
/// The largest number of a bone's points that are checked one by one; of more, only outer ones are.
const MAX_CHECKED_POINTS: usize = 96;

/// Coded rigid bones.
pub struct RigidBones {
    pub nodes: NodeTracks,
    /// Used instead of `nodes`.
    pub packed: Option<PackedSetup>,
    pub setup: Vec<u8>,
    /// By frame, the decoded transforms.
    pub transforms: Arc<Vec<Vec<Transform>>>,
    /// By number of the unit, its bytes.
    units: BTreeMap<u32, Vec<u8>>,
    /// By bone, the approximate bits of its residuals.
    pub bits: Vec<u64>,
}

/// The coded transforms of one bone.
#[derive(Default)]
struct BoneTrack {
    frames: BTreeMap<u32, CodedTransform>,
}

fn mismatch_error(what: &str) -> Error {
    Error::Promise { what: format!("bones: {what}"), target: Default::default() }
}

impl RigidBones {
    /// Codes the rigid bones of a model, whose points may be `room` off, in packed or unpacked units.
    pub fn new(
        model: &BoneModel,
        rig: &SkinRig,
        hierarchy: &Hierarchy,
        all: &Positions,
        schedule: Schedule,
        (room, packed_units): (f64, bool),
    ) -> Result<RigidBones, Error> {
        let count = model.rigid.len();
        let members = bone_points(model, hierarchy);
        let base = (room * STEP) as f32;
        let setups: Vec<NodeSetup> = (0..count)
            .map(|b| NodeSetup {
                moves: moving_components(model, rig, b, room),
                pivot: true,
                step_code: codec::BASE_STEP_CODE,
            })
            .collect();
        let mut setup = Vec::new();
        codec::encode_setup(base, packed_units, &setups, &mut setup);
        let given = rig.nodes(count);
        let nodes = NodeTracks::new(&given, &setup).map_err(|c| mismatch_error(c.0))?;
        let bones: Vec<RigidBone<'_>> = (0..count)
            .map(|b| {
                let bone = RigidBone {
                    track: nodes.tracks[b],
                    packed: nodes.packed,
                    scaled: setups[b].moves[2],
                    model,
                    rig,
                    hierarchy,
                    bone: b,
                    members: &members[b],
                    rest: Vec::new(),
                    chosen: Vec::new(),
                    room,
                };
                bone.with_checked_points()
            })
            .collect();
        let mut tracks: Vec<BoneTrack> = (0..count).map(|_| BoneTrack::default()).collect();
        // As many units at once as there is memory for their frames.
        let mut units = schedule.units_in_file_order().peekable();
        while units.peek().is_some() {
            let (mut some, mut frames) = (Vec::new(), Vec::new());
            while let Some(&unit) = units.peek() {
                let own = schedule.frames_of(unit);
                if !some.is_empty() && frames.len() + own.len() > all.block() {
                    break;
                }
                frames.extend(own.iter().copied());
                some.push(unit);
                units.next();
            }
            let block = all.read_block(frames)?;
            (tracks.par_iter_mut().zip(&bones))
                .try_for_each_init(Workspace::default, |space, (track, bone)| {
                    bone.code(schedule, &some, &block, track, space)
                })?;
        }
        RigidBones::gather(nodes, setup, &tracks, schedule)
    }

    fn gather(
        nodes: NodeTracks,
        setup: Vec<u8>,
        tracks: &[BoneTrack],
        schedule: Schedule,
    ) -> Result<RigidBones, Error> {
        let frames = schedule.frames();
        let mut words = vec![vec![TrackCodes::default(); tracks.len()]; frames as usize];
        let mut transforms = vec![vec![Transform::IDENTITY; tracks.len()]; frames as usize];
        for (b, track) in tracks.iter().enumerate() {
            for (&frame, found) in &track.frames {
                words[frame as usize][b] = found.codes;
                transforms[frame as usize][b] = found.local;
            }
        }
        let find = |frame: u32| words.get(frame as usize).map(|w| &w[..]);
        let units: Vec<Unit> = schedule.units_in_file_order().collect();
        let coded: Vec<(u32, Vec<u8>)> = (units.par_iter())
            .map(|&unit| {
                let frames = schedule.frames_of(unit);
                let choices: Vec<Vec<NodeResiduals>> = (frames.iter())
                    .map(|frame| tracks.iter().map(|t| t.frames[frame].choice).collect())
                    .collect();
                let choices: Vec<&[NodeResiduals]> = choices.iter().map(|c| &c[..]).collect();
                let mut bytes = Vec::new();
                codec::encode_unit(&nodes, schedule, unit, &find, &choices, &mut bytes)
                    .map_err(|c| mismatch_error(c.0))?;
                Ok((schedule.unit_number(unit), bytes))
            })
            .collect::<Result<_, Error>>()?;
        let size = |k: &i32| u64::from(2 * (32 - k.unsigned_abs().leading_zeros()));
        let of = |track: &BoneTrack| {
            let all = track.frames.values().flat_map(|found| &found.choice.k);
            all.map(size).sum()
        };
        Ok(RigidBones {
            nodes,
            packed: None,
            setup,
            transforms: Arc::new(transforms),
            units: coded.into_iter().collect(),
            bits: tracks.iter().map(of).collect(),
        })
    }

    /// Codes transforms in 12 bytes each, whatever error that leaves: points outside the tolerance get a
    /// residual.
    pub fn new_packed(
        model: &BoneModel,
        rig: &SkinRig,
        hierarchy: &Hierarchy,
        all: &Positions,
        schedule: Schedule,
        still: f64,
    ) -> Result<RigidBones, Error> {
        let count = model.rigid.len();
        let members = bone_points(model, hierarchy);
        let fit = |frame: usize, points: &[[f32; 3]], b: usize| {
            let mut sums = FitSums::default();
            for &cell in &members[b] {
                let goal = points[hierarchy.order[cell] as usize].map(f64::from);
                let rest = rig.rest[cell].map(f64::from);
                sums.add(DVec3::from_array(rest), DVec3::from_array(goal));
            }
            let known = &model.rigid[b][frame];
            match (frame, members[b].len()) {
                (0, _) => Transform::IDENTITY,
                // Too few points to determine a rotation.
                (_, 0..3) => to_transform(known),
                _ => to_transform(&sums.fit(Freedom::Scaled, known.rotation)),
            }
        };
        let frames: Vec<Vec<Transform>> = (0..schedule.frames() as usize)
            .into_par_iter()
            .map_init(Vec::new, |room, frame| {
                let points = all.frame(frame as u32, room);
                (0..count).map(|b| fit(frame, points, b)).collect()
            })
            .collect();
        all.check()?;
        let live = model.active_frames(still);
        let packed = PackedSetup::new(&frames, &live[..count], &rig.regions[..count]);
        let mut setup = Vec::new();
        packed.encode(&mut setup);
        let (mut units, mut transforms) = (BTreeMap::new(), frames.clone());
        for unit in schedule.units_in_file_order() {
            let mut bytes = Vec::new();
            for &frame in schedule.frames_of(unit).iter() {
                let at = bytes.len();
                let own = &mut transforms[frame as usize];
                packed.encode_frame(frame, own, &live, &mut bytes);
                let read = packed.read(&mut &bytes[at..], &mut [], own);
                read.map_err(|c| mismatch_error(c.0))?;
            }
            units.insert(schedule.unit_number(unit), bytes);
        }
        Ok(RigidBones {
            nodes: NodeTracks::default(),
            packed: Some(packed),
            setup,
            transforms: Arc::new(transforms),
            units,
            bits: Vec::new(),
        })
    }

    /// Restores coded bones: by frame their decoded transforms, and by number of a unit its bytes.
    pub fn from_coded(
        skin: &Skin,
        transforms: Vec<Vec<Transform>>,
        units: BTreeMap<u32, Vec<u8>>,
    ) -> RigidBones {
        RigidBones {
            nodes: skin.nodes.clone(),
            packed: skin.packed.clone(),
            setup: Vec::new(),
            transforms: Arc::new(transforms),
            units,
            bits: Vec::new(),
        }
    }

    /// Returns the bytes of all units, by number.
    pub fn units(&self) -> &BTreeMap<u32, Vec<u8>> {
        &self.units
    }

    /// Returns the bytes of a unit.
    pub fn unit(&self, number: u32) -> &[u8] {
        self.units.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// Returns the points of each rigid bone.
fn bone_points(model: &BoneModel, hierarchy: &Hierarchy) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); model.rigid.len()];
    for (cell, &point) in hierarchy.order.iter().enumerate() {
        if let [(bone, _)] = model.influences[point as usize][..]
            && let Some(list) = out.get_mut(bone as usize)
        {
            list.push(cell);
        }
    }
    out
}

fn to_transform(fitted: &Similarity) -> Transform {
    Transform {
        rotation: fitted.rotation.to_array().map(|v| v as f32),
        translation: fitted.translation.to_array().map(|v| v as f32),
        scale: [fitted.scale as f32; 3],
    }
}

/// Returns whether translation, rotation and scale of a bone move its points noticeably.
fn moving_components(model: &BoneModel, rig: &SkinRig, bone: usize, room: f64) -> [bool; 3] {
    let region = &rig.regions[bone];
    let middle = DVec3::from_array(region.middle);
    let [x, y, z, far @ ..] = region.bounds.map(f64::from);
    let radius = (DVec3::from_array(far) - DVec3::new(x, y, z)).length() * 0.5;
    let still = room * STATIC_FRACTION;
    let mut most = [0.0f64; 3];
    for s in &model.rigid[bone] {
        let (turn, shift) = s.matrix();
        let moved = turn * middle + shift - middle;
        let angle = 2.0 * s.rotation.xyz().length();
        let by = [moved.length(), angle * radius, (s.scale - 1.0).abs() * radius];
        most.iter_mut().zip(by).for_each(|(m, v)| *m = m.max(v));
    }
    // The translation depends on the pivot.
    let [t, r, s] = most.map(|m| m > still);
    [t || r || s, r, s]
}

/// A rigid bone that is coded.
struct RigidBone<'a> {
    track: codec::NodeTrack,
    packed: bool,
    scaled: bool,
    model: &'a BoneModel,
    rig: &'a SkinRig,
    hierarchy: &'a Hierarchy,
    bone: usize,
    members: &'a [usize],
    /// Rest positions of its points.
    rest: Vec<[f64; 3]>,
    /// The points that are checked one by one.
    chosen: Vec<usize>,
    room: f64,
}

impl RigidBone<'_> {
    fn with_checked_points(mut self) -> Self {
        let rest: Vec<[f64; 3]> =
            (self.members.iter()).map(|&cell| self.rig.rest[cell].map(f64::from)).collect();
        self.chosen = match rest.len() > MAX_CHECKED_POINTS {
            false => (0..rest.len()).collect(),
            true => {
                let far = outermost(&rest);
                let stride = rest.len() / (MAX_CHECKED_POINTS - far.len().min(MAX_CHECKED_POINTS / 2));
                let is_far = |i: &usize| i.is_multiple_of(stride.max(1)) || far.contains(&rest[*i]);
                (0..rest.len()).filter(is_far).collect()
            }
        };
        self.rest = rest;
        self
    }

    /// Codes some units, whose frames are in `block`, after all earlier ones.
    fn code(
        &self,
        schedule: Schedule,
        units: &[Unit],
        block: &FrameBlock<'_>,
        track: &mut BoneTrack,
        space: &mut Workspace,
    ) -> Result<(), Error> {
        for &unit in units {
            let frames = schedule.frames_of(unit);
            for (i, &frame) in frames.iter().enumerate() {
                let find = |wanted: u32| track.frames.get(&wanted).map(|found| &found.codes);
                let around = SurroundingCodes::new(&self.track.rest_codes, schedule, &frames, i, find);
                let around = around.map_err(|c| mismatch_error(c.0))?;
                let found = match frame {
                    0 => self.rest_transform(&around),
                    _ => self.code_frame(frame as usize, block.frame(frame), &around, space),
                };
                track.frames.insert(frame, found);
            }
        }
        Ok(())
    }

    /// Returns the transform of frame 0, the rest pose.
    fn rest_transform(&self, around: &SurroundingCodes<'_>) -> CodedTransform {
        let choice = NodeResiduals::default();
        let (words, local) = self.track.reconstruct(around, &choice);
        CodedTransform { choice, codes: words, local, world: IDENTITY }
    }

    fn code_frame(
        &self,
        frame: usize,
        points: &[[f32; 3]],
        around: &SurroundingCodes<'_>,
        space: &mut Workspace,
    ) -> CodedTransform {
        let goal = |i: usize| {
            let point = self.hierarchy.order[self.members[i]];
            points[point as usize].map(f64::from)
        };
        let rest = &self.rest;
        // Fitted again, to compensate for the rounding of the rest pose.
        let freedom = if self.scaled { Freedom::Scaled } else { Freedom::Rigid };
        let mut sums = FitSums::default();
        let known = &self.model.rigid[self.bone][frame];
        for (i, &from) in rest.iter().enumerate() {
            sums.add(DVec3::from_array(from), DVec3::from_array(goal(i)));
        }
        let fitted = sums.fit(freedom, known.rotation);
        let target = Trs {
            rotation: fitted.rotation,
            translation: fitted.translation,
            scale: DVec3::splat(fitted.scale),
        };
        let exact = to_transform(&fitted);
        let points: Vec<GoalPoint> = (self.chosen.iter())
            .map(|&i| GoalPoint { position: rest[i], goal: goal(i), limit: self.room })
            .collect();
        let measure = |world: &Matrix| {
            let off = |p: &GoalPoint| {
                let at = DVec3::from_array(apply(world, p.position));
                (at - DVec3::from_array(p.goal)).length() / p.limit
            };
            points.iter().map(off).fold(0.0, f64::max)
        };
        let goal = TransformGoal {
            packed: self.packed,
            track: &self.track,
            around,
            parent_world: &IDENTITY,
            exact: &exact,
            target,
            points: &points,
            neighbours: &[],
            measure: &measure,
            hidden: false,
        };
        find_transform(&goal, space)
    }
}
