//! Rest pose and bones as decoded: everything except the residual.

use super::handles::AffineBones;
use super::model::BoneModel;
use super::positions::Positions;
use super::rigid::RigidBones;
use super::single_frame::encode_single_frame;
use super::{handles, rest, rigid};
use crate::Error;
use crate::method::points;
use crate::method::points::PointFrames;
use crate::report::RestingParts;
use meshreel_codec::mesh::decode::FirstFrame;
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::skin::{Matrix, Skin, SkinRig, weights};
use meshreel_codec::mesh::tables::LAYERS;
use meshreel_codec::quantize::lattice::{Extent, FixedPointGrid};
use meshreel_codec::record::BoneCounts;
use meshreel_codec::schedule::Schedule;
use meshreel_codec::{Points, each_width};
use meshreel_options::{Options, Preset, TransformForm};
use rayon::prelude::*;
use std::sync::Arc;

// Tuning.
/// The number of frames in which weights are tried.
const FRAMES: usize = 16;

/// Unit of the lattice if no residual is needed, as a fraction of the tolerance at most.
const MAX_UNIT_FRACTION: f64 = 0.12;

/// The largest distance from the middle, in units, to which bones may move a point: beyond, the encoder's
/// fractions of units would not fit 32 bits.
const MAX_DISTANCE_UNITS: f32 = 16_777_216.0;

/// Fractions of the tolerance for each of the things that place a point. Errors rarely add up, and points
/// where they do get a residual: the sum may well exceed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBudget {
    /// The rest pose.
    pub rest: f64,
    /// The weights of points.
    pub weights: f64,
    /// Handles of affine bones.
    pub handles: f64,
}

/// A mesh posed by bones, as decoded without the residual.
pub struct PosedMesh {
    pub frames: Arc<PointFrames>,
    pub schedule: Schedule,
    pub extent: Extent,
    pub hierarchy: Hierarchy,
    /// Three points per triangle.
    pub triangles: Vec<u32>,
    pub rest_bytes: Vec<u8>,
    pub weights: weights::SkinWeights,
    pub skin: Skin,
    pub rigid: Option<RigidBones>,
    pub affine: Option<AffineBones>,
    /// Rigid bones that come to rest.
    pub rest: Option<RestingParts>,
}

impl PosedMesh {
    /// Encodes the rest pose, weights and bones of a model; `None` if a tolerance cannot be held.
    pub fn new(
        model: &BoneModel,
        frames: &Arc<PointFrames>,
        all: &Positions,
        schedule: Schedule,
        budget: ErrorBudget,
        options: &Options,
    ) -> Result<Option<PosedMesh>, Error> {
        let Some(extent) = points::extent(frames) else {
            return Ok(None);
        };
        let (hierarchy, triangles) = points::build_hierarchy(frames);
        let radius = extent.tolerance;
        let Some((rest_bytes, rest)) =
            encode_single_frame(&model.rest, radius * budget.rest, &hierarchy, options)?
        else {
            return Ok(None);
        };
        let count = all.frame_count();
        let stride = count.div_ceil(FRAMES).max(1);
        let looked: Vec<usize> = (0..count).step_by(stride).collect();
        let weights = model.weights(&hierarchy, &looked, radius * budget.weights);
        let count = model.bones() as u32;
        let rig = SkinRig::new(rest, &weights, count, &hierarchy.order);
        let rigid = match model.rigid.len() {
            0 => None,
            _ if options.transforms == TransformForm::Packed => {
                let near = radius * rigid::STATIC_FRACTION;
                Some(RigidBones::new_packed(model, &rig, &hierarchy, all, schedule, near)?)
            }
            _ => {
                let room = radius * (1.0 - MAX_UNIT_FRACTION);
                let packed = options.preset == Preset::Fast;
                Some(RigidBones::new(model, &rig, &hierarchy, all, schedule, (room, packed))?)
            }
        };
        let rest = rest::find_rest(model, &rig, radius);
        let affine = match model.affine.len() {
            0 => None,
            _ => match handles::code_affine_bones(model, &rig, schedule, radius * budget.handles, options)? {
                Some(affine) => Some(affine),
                None => return Ok(None),
            },
        };
        let bones = BoneCounts {
            rigid: model.rigid.len() as u32,
            affine: model.affine.len() as u32,
            wide: affine.as_ref().is_some_and(|a| a.frames.is_wide()),
            codes_per_frame: rigid.as_ref().map_or(0, |r| r.nodes.codes_per_frame as u32),
            coded: 0,
        };
        let skin = Skin {
            bones,
            grid: FixedPointGrid { unit: 1.0, centre: [0.0; 3], steps: [1; LAYERS] },
            rig,
            nodes: rigid.as_ref().map(|r| r.nodes.clone()).unwrap_or_default(),
            packed: rigid.as_ref().and_then(|r| r.packed.clone()),
            handles: affine.as_ref().map(|a| a.coded.clone()),
            residual: None,
            first: FirstFrame::Narrow(Vec::new()),
        };
        Ok(Some(PosedMesh {
            frames: frames.clone(),
            schedule,
            extent,
            hierarchy,
            triangles,
            rest_bytes,
            weights,
            skin,
            rigid,
            affine,
            rest,
        }))
    }

    /// Returns the matrices of a frame in units of a lattice.
    pub fn matrices(&self, frame: u32, grid: &FixedPointGrid) -> Vec<Matrix> {
        let at = frame as usize;
        let transforms = self.rigid.as_ref().map(|r| &r.transforms[at][..]);
        let affine = self.affine.as_ref();
        let handles = affine.map(|a| each_width!(&a.frames, frames => Points::from(&frames[at][..])));
        let mut out = vec![Matrix::default(); self.skin.rig.bones() + 1];
        let transforms = transforms.unwrap_or_default();
        self.skin.matrices(grid, transforms, handles, &mut out);
        out
    }

    /// Marks points that exceed the tolerance without a residual. `both`: measured as fixed-point positions,
    /// and as bones alone give them, so that a mesh without residuals may be replaced by its bones. `None` if
    /// bones move points beyond what a residual of any width can correct.
    pub fn mark_residual_points(
        &self,
        grid: &FixedPointGrid,
        all: &Positions,
        both: bool,
    ) -> Option<Vec<bool>> {
        let points = self.hierarchy.order.len();
        let limit = self.extent.tolerance * self.extent.tolerance;
        let of = |room: &mut Vec<[f32; 3]>, far: &mut [bool], frame: u32| {
            let matrices = self.matrices(frame, grid);
            let source = all.frame(frame, room);
            for (v, far) in far.iter_mut().enumerate() {
                let at = self.skin.rig.position(v, &matrices);
                let source = source[self.hierarchy.order[v] as usize].map(f64::from);
                let off = |place: [f64; 3]| -> f64 { (0..3).map(|k| (place[k] - source[k]).powi(2)).sum() };
                if !at.iter().all(|x| x.abs() < MAX_DISTANCE_UNITS) {
                    return false;
                }
                let cell = grid.position(at.map(|x| x.round_ties_even() as i32));
                let square = off(cell.map(f64::from));
                *far |= square > limit || square.is_nan();
                if both {
                    let bones = [0, 1, 2]
                        .map(|k| f64::from(at[k]) * f64::from(grid.unit) + f64::from(grid.centre[k]));
                    *far |= off(bones) > limit;
                }
            }
            true
        };
        let none = || Some(vec![false; points]);
        let or = |a: Option<Vec<bool>>, b: Option<Vec<bool>>| {
            let (mut a, b) = (a?, b?);
            a.iter_mut().zip(&b).for_each(|(a, b)| *a |= b);
            Some(a)
        };
        (0..all.frame_count() as u32)
            .into_par_iter()
            .fold(
                || (Vec::new(), none()),
                |(mut room, far), frame| {
                    let far = far.and_then(|mut far| of(&mut room, &mut far, frame).then_some(far));
                    (room, far)
                },
            )
            .map(|(_, far)| far)
            .reduce(none, or)
    }

    /// Returns the lattice of a mesh without residuals.
    pub fn grid_without_residual(&self, reach: i32) -> Option<FixedPointGrid> {
        let extent = &self.extent;
        let smallest = extent.reach() / f64::from(reach);
        let unit = (extent.tolerance * MAX_UNIT_FRACTION) as f32;
        (f64::from(unit) > smallest && unit.is_normal()).then_some(FixedPointGrid {
            unit,
            centre: extent.centre(),
            steps: [1; LAYERS],
        })
    }
}
