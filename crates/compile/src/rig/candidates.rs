//! Rigs that are kept: a mesh that the source skins keeps its bind pose, its joints and its weights, so that
//! any clip of the skeleton, and any blend of them, can move it.
//!
//! ```text
//! points     vertices of one bind position, and of the same joints and weights
//! bind       one frame of the soft codec; its part of the tolerance is counted where joints enlarge it most
//! weights    as coarse as leaves their part of the tolerance, in poses of all clips
//! clips      as they are, if that does; else they get finer, and their metric is measured as far out as vertices lie, until …
//! measure    … all vertices are within the tolerance of the source's, in all samples of all clips, as decoded
//! ```
//!
//! A rig that cannot reach the tolerance is left out with a remark: a mesh with morph targets, or with joints
//! that are sheared.

use crate::Error;
use crate::clip::Joints;
use crate::clip::choice::ChosenClip;
use crate::clip::decoded::decode_poses;
use crate::mesh::plan::Plans;
use crate::method::skin::{BoneModel, encode_single_frame, encode_weights};
use crate::nodes::budget::Budget;
use crate::report::RigReport;
use glam::{DAffine3, DMat4, DVec3};
use meshreel_codec::clip::space::{AffineMatrix, object_space};
use meshreel_codec::mesh::rig::{Rig, RigContents};
use meshreel_codec::mesh::skin::weights::{MAX_INFLUENCES, SkinWeights};
use meshreel_codec::mesh::{hierarchy, rig};
use meshreel_codec::transform::Transform;
use meshreel_options::{Options, RigChoice};
use meshreel_scene::{Clip, DrivenMesh, Qvv, Remark, Scene, Skeleton, Skin, sample};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Fractions of the tolerance for the bind pose and the weights: errors rarely add up, so the larger ones are
/// tried first.
pub const BUDGETS: [[f64; 2]; 2] = [[0.5, 0.25], [0.2, 0.1]];
/// Initial ratio of the tolerance of clips to that of the mesh; and the limits of the factor by which it
/// shrinks.
const INITIAL_CLIP_RATIO: f64 = 0.35;
const SHRINK_LIMITS: [f64; 2] = [0.2, 0.7];
/// The number of rounds in which the tolerance of clips may shrink.
pub const ROUNDS: usize = 6;
/// The factor of the tolerance if the metric's points are farther out than requested: errors at the requested
/// distance can be √3 times as large.
const INNER_DISTANCE_FACTOR: f64 = 0.57;
/// The number of poses, of all clips together, in which rounded weights are measured.
const POSES: usize = 48;

/// An encoded rig.
pub struct EncodedRig {
    /// Index of its mesh in the file.
    pub mesh: usize,
    /// Its entry in the chunk of rigs.
    pub bytes: Vec<u8>,
    /// The report, without the bytes in the file, which are set later.
    pub report: RigReport,
}

/// A mesh whose rig is to be kept.
pub struct RigCandidate<'a> {
    mesh: usize,
    path: String,
    skin: Arc<Skin>,
    skeleton: usize,
    /// Points of the first frame in the source.
    first: Vec<[f32; 3]>,
    tolerance: f64,
    indices: &'a [u32],
    /// By vertex, its point in the source.
    source_of: &'a [u32],
    /// By vertex, its point, and by point, that of the source.
    point_of: Vec<u32>,
    points: Vec<usize>,
}

/// The tolerance and shell distances that a rig needs of the clips of its skeleton.
#[derive(Clone, Debug)]
pub struct ClipDemand {
    /// The largest allowed tolerance, in units of length.
    pub tolerance: f64,
    /// Least shell distances, by joint.
    pub shells: Vec<f64>,
}

/// Returns the meshes whose rigs are to be kept, and adds remarks on rigs that cannot be kept.
pub fn rig_candidates<'a>(
    scene: &Scene,
    plans: &'a Plans,
    budgets: &[Budget],
    time: f64,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<RigCandidate<'a>>, Error> {
    let mut out = Vec::new();
    if options.rig == RigChoice::Bake {
        return Ok(out);
    }
    for (mesh, (plan, placements)) in plans.iter().enumerate() {
        let source = &*plan.source.mesh;
        let Some(skin) = source.skin.as_ref() else {
            continue;
        };
        let mut left_out = |why: &str| {
            let what = format!("its rig is left out: {why}");
            remarks.push(Remark::new(&plan.path, what));
        };
        let Some(skeleton) = skin.skeleton.filter(|s| *s < scene.skeletons.len()) else {
            left_out("its joints are no skeleton's");
            continue;
        };
        if skin.driven.is_empty() {
            left_out("no clip moves its skeleton, or not its skeleton alone moves it");
            continue;
        }
        let fixed = plan.prepared.fixed.as_ref();
        let (Some(fixed), &[placement], None) = (fixed, &placements[..], &plan.source.remeshed) else {
            left_out("its faces change, or it is shown more than once");
            continue;
        };
        let budget = &budgets[placement];
        let influences = |p: usize| {
            let own = p * skin.influences..(p + 1) * skin.influences;
            let joints = skin.joint.get(own.clone()).unwrap_or_default();
            let weights = skin.weight.get(own).unwrap_or_default();
            let pairs = joints.iter().zip(weights).filter(|(_, w)| **w > 0.0);
            pairs.map(|(j, w)| (*j, w.to_bits())).collect::<Vec<_>>()
        };
        let mut known = HashMap::new();
        let (mut point_of, mut points) = (Vec::new(), Vec::new());
        for &p in &fixed.vertex_point {
            let p = p as usize;
            let Some(at) = skin.bind_positions.get(p) else {
                break;
            };
            let next = points.len() as u32;
            let dual = skin.dual_fraction.get(p).map(|part| part.to_bits());
            let key = (at.map(f32::to_bits), influences(p), dual);
            let point = *known.entry(key).or_insert(next);
            if point == next {
                points.push(p);
            }
            point_of.push(point);
        }
        if point_of.len() < fixed.vertex_point.len() || point_of.is_empty() {
            left_out("it has other points than the mesh");
            continue;
        }
        let mut first = Vec::new();
        sample::positions_at(source, time, &mut first)?;
        out.push(RigCandidate {
            mesh,
            path: plan.path.clone(),
            skin: skin.clone(),
            skeleton,
            first,
            tolerance: budget.tolerance + budget.spent,
            indices: &fixed.indices,
            source_of: &fixed.vertex_point,
            point_of,
            points,
        });
    }
    Ok(out)
}

/// Returns an error if a rig is missing in a file in which only rigs move meshes.
pub fn none_missing(plans: &Plans, made: &[EncodedRig], remarks: &[Remark]) -> Result<(), Error> {
    for (mesh, (plan, _)) in plans.iter().enumerate() {
        let driven = meshreel_scene::rig::is_driven(&plan.source.mesh);
        if driven && !made.iter().any(|made| made.mesh == mesh) {
            let own = remarks.iter().find(|remark| remark.to_string().contains("its rig is left out"));
            let why = own.map_or(String::new(), |remark| format!(" ({remark})"));
            return Err(Error::Unsupported {
                what: format!(
                    "{}: --rig only, but its rig cannot be kept{why}; --rig keep has its frames as well",
                    plan.path
                ),
            });
        }
    }
    Ok(())
}

impl RigCandidate<'_> {
    /// Returns the remark that the rig is not kept, with the reason.
    pub fn left_out_remark(&self, why: &str) -> Remark {
        Remark::new(&self.path, format!("its rig is left out: {why}"))
    }

    /// Returns the index of its skeleton.
    pub fn skeleton(&self) -> usize {
        self.skeleton
    }

    /// Returns the initial demand of the rig on the clips of its skeleton. `shells`: by joint, the requested
    /// distance; `tolerance`: the largest allowed.
    pub fn demand(&self, shells: &[f64], tolerance: f64) -> ClipDemand {
        let mut out = ClipDemand {
            tolerance: tolerance.min(INITIAL_CLIP_RATIO * self.tolerance),
            shells: shells.to_vec(),
        };
        for &p in &self.points {
            let bind = vector(self.skin.bind_positions[p]);
            for (joint, _) in self.influences(p) {
                let (Some(inverse), Some(&own)) =
                    (self.skin.inverse_bind.get(joint), self.skin.joints.get(joint))
                else {
                    continue;
                };
                let away = inverse.transform_point3(bind).length();
                if let Some(shell) = out.shells.get_mut(own).filter(|shell| away > **shell) {
                    *shell = away.min(1e14);
                    out.tolerance = out.tolerance.min(INNER_DISTANCE_FACTOR * tolerance);
                }
            }
        }
        out
    }

    /// Returns the largest distance of any point from its position by joints alone, in some poses of all
    /// clips (number in the source, and clip): the motion that other causes add.
    pub fn unexplained(&self, skeleton: &Skeleton, clips: &[(usize, &Clip)]) -> Result<f64, Error> {
        let all: usize = clips.iter().map(|(_, clip)| clip.samples).sum();
        let step = all.div_ceil(POSES).max(1);
        let (mut pose, mut object, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        let mut worst = 0.0f64;
        for (number, clip) in clips {
            let mut driven = self.skin.driven.iter();
            let Some((_, driver)) = driven.find(|(n, _)| n == number) else {
                return Ok(f64::INFINITY);
            };
            for i in (0..clip.samples).step_by(step) {
                driver.points(clip.start + i as f64 / clip.fps, &mut wanted)?;
                clip.pose(i, &mut pose);
                object_space_joints(skeleton, &pose, &mut object);
                let joints = self.skin.joints.iter().zip(&self.skin.inverse_bind);
                let matrix = |(joint, inverse): (&usize, &DMat4)| {
                    let at = object.get(*joint).copied().unwrap_or(DAffine3::IDENTITY);
                    DMat4::from(at * DAffine3::from_mat4(*inverse))
                };
                let matrices: Vec<DMat4> = joints.map(matrix).collect();
                let posed = self.skin.posed(&matrices);
                for &p in &self.points {
                    let at = posed.point(p);
                    let off = match wanted.get(p) {
                        Some(want) => at.distance(vector(*want)),
                        None => f64::INFINITY,
                    };
                    worst = if off <= worst { worst } else { off };
                }
            }
        }
        Ok(worst)
    }

    /// Returns the remark that the rig is not kept, if that distance exceeds the tolerance.
    pub fn unexplained_remark(&self, error: f64) -> Option<Remark> {
        let beyond = error.is_nan() || error > self.tolerance;
        beyond.then(|| {
            self.left_out_remark(&format!(
                "joints alone put it up to {error:.3e} away from the source in some sample of a clip, {:.3e} is allowed (morph targets besides, or sheared joints)",
                self.tolerance
            ))
        })
    }

    /// Returns the joints of the skin that move a point, and their weights.
    fn influences(&self, p: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let k = self.skin.influences;
        let joints = self.skin.joint[p * k..(p + 1) * k].iter();
        let pairs = joints.zip(&self.skin.weight[p * k..(p + 1) * k]);
        pairs.filter(|(_, w)| **w > 0.0).map(|(j, w)| (usize::from(*j), *w))
    }

    /// Codes bind pose and weights. `clips` are those of the skeleton. `None` if they cannot be coded finely
    /// enough.
    pub fn build(
        &self,
        skeleton: &Skeleton,
        clips: &[&Clip],
        [bind_share, weight_share]: [f64; 2],
        options: &Options,
    ) -> Result<Option<BuiltRig<'_>>, Error> {
        let joints = self.skin.joints.len();
        let motions = self.motions(skeleton, clips);
        let frames: Vec<usize> = (0..motions.first().map_or(0, Vec::len)).collect();
        let largest = |m: &DAffine3| sample::largest_scale(&DMat4::from(*m));
        let scale = motions.iter().flatten().map(largest).fold(0.0, f64::max);
        if !scale.is_normal() {
            return Ok(None);
        }
        let bind: Vec<[f32; 3]> = (self.points.iter()).map(|p| self.skin.bind_positions[*p]).collect();
        let corners = rig::triangles(self.indices, &self.point_of);
        let levels = hierarchy::build(bind.len() as u32, &corners);
        let radius = bind_share * self.tolerance / scale;
        let Some((bind_bytes, _)) = encode_single_frame(&bind, radius, &levels, options)? else {
            return Ok(None);
        };
        let influences = self.points.iter().map(|&p| {
            let mut own: Vec<(u32, f64)> = self
                .influences(p)
                .filter(|(joint, _)| *joint < joints)
                .map(|(joint, w)| (joint as u32, f64::from(w)))
                .collect();
            // Several entries may refer to one joint.
            own.sort_by_key(|(joint, _)| *joint);
            own.dedup_by(|b, a| {
                let same = a.0 == b.0;
                a.1 += if same { b.1 } else { 0.0 };
                same
            });
            own.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            own.truncate(MAX_INFLUENCES);
            let sum: f64 = own.iter().map(|(_, w)| w).sum();
            own.iter_mut().for_each(|(_, w)| *w /= sum);
            own
        });
        let model =
            BoneModel { rest: bind, influences: influences.collect(), rigid: Vec::new(), affine: motions };
        let weights: SkinWeights = model.weights(&levels, &frames, weight_share * self.tolerance);
        let mut built = BuiltRig {
            candidate: self,
            joints: self.skin.joints.iter().map(|j| *j as u32).collect(),
            inverse: self.skin.inverse_bind.iter().map(rows).collect(),
            bind: bind_bytes,
            depth: weights.depth,
            weights: encode_weights(&weights, &levels, joints as u32)?,
            dual: self
                .points
                .iter()
                .filter_map(|p| self.skin.dual_fraction.get(*p))
                .map(|part| in_steps(*part))
                .collect(),
            rig: Rig::default(),
        };
        let bytes = built.bytes(None, 0.0, 0.0);
        built.rig = rig::decode(&bytes, self.point_of.len() as u32, self.indices).map_err(|c| {
            Error::Promise { what: format!("a rig does not read back: {}", c.0), target: Default::default() }
        })?;
        Ok(Some(built))
    }

    /// Returns, by joint of the skin, the transforms from the bind pose to some poses of all clips.
    fn motions(&self, skeleton: &Skeleton, clips: &[&Clip]) -> Vec<Vec<DAffine3>> {
        let all: usize = clips.iter().map(|clip| clip.samples).sum();
        let step = all.div_ceil(POSES).max(1);
        let mut out = vec![Vec::new(); self.skin.joints.len()];
        let (mut pose, mut object) = (Vec::new(), Vec::new());
        for clip in clips {
            for i in (0..clip.samples).step_by(step) {
                clip.pose(i, &mut pose);
                object_space_joints(skeleton, &pose, &mut object);
                let joints = self.skin.joints.iter().zip(&self.skin.inverse_bind);
                for ((joint, inverse), out) in joints.zip(&mut out) {
                    let at = object.get(*joint).copied().unwrap_or(DAffine3::IDENTITY);
                    out.push(at * DAffine3::from_mat4(*inverse));
                }
            }
        }
        out
    }
}

/// A coded rig.
pub struct BuiltRig<'a> {
    candidate: &'a RigCandidate<'a>,
    joints: Vec<u32>,
    inverse: Vec<AffineMatrix>,
    bind: Vec<u8>,
    depth: u32,
    weights: Vec<u8>,
    /// By point, the fraction blended by dual quaternions, as coded.
    dual: Vec<u16>,
    /// The decoded rig.
    rig: Rig,
}

impl<'a> BuiltRig<'a> {
    /// Returns its mesh.
    pub fn candidate(&self) -> &'a RigCandidate<'a> {
        self.candidate
    }

    fn bytes(&self, first: Option<(u32, u32)>, tolerance: f64, error: f64) -> Vec<u8> {
        let parts = RigContents {
            skeleton: self.candidate.skeleton as u32,
            joints: &self.joints,
            inverse: &self.inverse,
            point_of: &self.candidate.point_of,
            bind: &self.bind,
            depth: self.depth,
            weights: &self.weights,
            dual: &self.dual,
            first_sample: first,
            tolerance,
            error,
        };
        let mut out = Vec::new();
        rig::encode(&parts, &mut out);
        out
    }

    /// Returns the source's motion of the mesh by the clip of that number in the source.
    fn driver(&self, clip: usize) -> Option<&Arc<dyn DrivenMesh>> {
        let mut own = self.candidate.skin.driven.iter();
        own.find(|(number, _)| *number == clip).map(|(_, d)| d)
    }

    /// Returns the largest distance of any vertex from the source's at any sample of a clip: `number` in the
    /// source, `clip` as requested, `done` as coded.
    pub fn largest_error(
        &self,
        joints: &Joints,
        (number, clip): (usize, &Clip),
        done: &ChosenClip,
    ) -> Result<f64, Error> {
        let (Some(driver), Some(poses)) = (self.driver(number), decode_poses(joints, done)) else {
            return Ok(f64::INFINITY);
        };
        let scratch = || (Vec::new(), vec![AffineMatrix::default(); joints.parents.len()]);
        let errors = poses.par_iter().enumerate().map_init(
            scratch,
            |(wanted, object), (i, pose): (usize, &Vec<Transform>)| {
                driver.points(clip.start + i as f64 / clip.fps, wanted)?;
                Ok(self.distance(&joints.parents, pose, object, wanted))
            },
        );
        // A NaN counts as an error, too.
        let worse = |a: f64, b: f64| if b <= a { a } else { b };
        errors.try_reduce(|| 0.0, |a, b| Ok(worse(a, b)))
    }

    /// The same for one pose.
    fn distance(
        &self,
        parents: &[u32],
        pose: &[Transform],
        object: &mut [AffineMatrix],
        wanted: &[[f32; 3]],
    ) -> f64 {
        let mut matrices = vec![AffineMatrix::default(); self.joints.len()];
        let mut out = vec![[0.0; 3]; self.rig.point_of.len()];
        object_space(parents, pose, object);
        self.rig.matrices(object, &mut matrices);
        self.rig.positions(&matrices, &mut out);
        let mut worst = 0.0f64;
        for (&p, got) in self.candidate.source_of.iter().zip(&out) {
            let Some(want) = wanted.get(p as usize) else {
                return f64::INFINITY;
            };
            let off = vector(*got).distance(vector(*want));
            worst = if off <= worst { worst } else { off };
        }
        worst
    }

    /// Returns `true` if an error is within the tolerance.
    pub fn holds(&self, error: f64) -> bool {
        error <= self.candidate.tolerance
    }

    /// Returns the tolerance that clips need, given the error that the current tolerance leaves.
    pub fn needed_tolerance(&self, tolerance: f64, error: f64) -> f64 {
        let [least, most] = SHRINK_LIMITS;
        tolerance * (0.8 * self.candidate.tolerance / error).clamp(least, most)
    }

    /// Returns the entry for the file. `clips` are those of the skeleton: number in the file, number in the
    /// source, and the clip.
    pub fn finish(self, clips: &[(usize, usize, &Clip)], error: f64) -> Result<EncodedRig, Error> {
        let mut first = None;
        let mut points = Vec::new();
        for (own, number, clip) in clips {
            if let Some(driver) = self.driver(*number) {
                driver.points(clip.start, &mut points)?;
                let pairs = points.iter().zip(&self.candidate.first);
                let mut off = pairs.map(|(a, b)| vector(*a).distance(vector(*b)));
                if points.len() == self.candidate.first.len()
                    && off.all(|off| off <= self.candidate.tolerance)
                {
                    first = Some((*own as u32, 0));
                    break;
                }
            }
        }
        Ok(EncodedRig {
            mesh: self.candidate.mesh,
            bytes: self.bytes(first, self.candidate.tolerance, error),
            report: RigReport {
                path: self.candidate.path.clone(),
                joints: self.joints.len(),
                points: self.candidate.points.len(),
                clips: clips.len(),
                bytes: 0,
                tolerance: self.candidate.tolerance,
                max_error: error,
            },
        })
    }

    /// Returns the remark that the rig is not kept.
    pub fn tolerance_remark(&self, error: f64) -> Remark {
        self.candidate.left_out_remark(&format!(
            "it puts a vertex up to {error:.3e} away from the source in some sample of a clip, {:.3e} is allowed, and clips cannot be finer",
            self.candidate.tolerance
        ))
    }
}

/// Computes the joints in object space.
fn object_space_joints(skeleton: &Skeleton, pose: &[Qvv], out: &mut Vec<DAffine3>) {
    out.clear();
    for (joint, local) in skeleton.joints.iter().zip(pose) {
        let above = joint.parent.and_then(|p| out.get(p)).copied();
        out.push(above.unwrap_or(DAffine3::IDENTITY) * local.matrix());
    }
}

fn rows(m: &DMat4) -> AffineMatrix {
    let rows = m.transpose().to_cols_array_2d();
    [0, 1, 2].map(|r| rows[r].map(|v| v as f32))
}

/// Quantizes a fraction from 0 to 1.
fn in_steps(part: f32) -> u16 {
    (part.clamp(0.0, 1.0) * f32::from(u16::MAX)).round() as u16
}

fn vector(p: [f32; 3]) -> DVec3 {
    DVec3::from_array(p.map(f64::from))
}
