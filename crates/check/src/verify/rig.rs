//! Compares rigs with their source: each clip of the skeleton is decoded, the runtime applies its pose to the
//! rig, and every vertex is compared, at every sample, with the position that the source's own animation
//! gives it. For the report alone, also poses blended from two clips.

use super::clip::source_clips;
use super::report::{Failures, RigReport, beyond};
use crate::requested::{RequestedOptions, RigMode};
use crate::verify::plan::Verification;
use glam::{DMat4, DQuat};
use meshreel::clip::{Clip, SkeletonRecord, blend};
use meshreel::raw::format::kind;
use meshreel::{MeshRig, Transform};
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_extract::skinning::rig_matrices;
use meshreel_scene::rig::is_driven;
use meshreel_scene::{DrivenMesh, Error, Qvv, Skeleton, Skin};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// Compares all rigs of the file.
pub(super) fn check(
    plan: &Verification<'_>,
    asked: &RequestedOptions,
    failures: &mut Failures,
) -> Result<Vec<RigReport>, Error> {
    let reel = plan.reel;
    let rigs = match reel.chunk_bytes(kind::RIGS) {
        0 => Vec::new(),
        _ => reel.rigs().map_err(error)?,
    };
    if asked.rig == RigMode::Only {
        for unit in &plan.mesh_pairs {
            let mesh = &plan.survey.scene.meshes[unit.mesh];
            if is_driven(mesh) && !rigs.iter().any(|rig| rig.mesh() == unit.record) {
                failures.add(&mesh.path, None, || "clips of the source move it, but it has no rig".into());
            }
        }
    }
    if rigs.is_empty() {
        return Ok(Vec::new());
    }
    if asked.rig == RigMode::None {
        failures.add("", None, || "has rigs of meshes, which was not asked for".into());
    }
    let clips = reel.clips().map_err(error)?;
    let skeletons = reel.skeletons().map_err(error)?;
    let mut out = Vec::new();
    for rig in &rigs {
        let path = reel.description().meshes[rig.mesh()].path.clone();
        let mut report = RigReport { path: path.clone(), joints: rig.joints().len(), ..RigReport::default() };
        let found = RigComparison::new(plan, rig, &skeletons, &clips, asked);
        let broken = match found.map_err(error) {
            Ok(Ok(pair)) => pair.compare(&mut report)?,
            Ok(Err(what)) => Some(what),
            Err(error) => Some(error.to_string()),
        };
        report.ok = broken.is_none();
        if let Some(what) = broken {
            failures.add(&path, None, || format!("its rig: {what}"));
        }
        out.push(report);
    }
    Ok(out)
}

/// A rig, and the skin of the source that it was made from.
struct RigComparison<'a> {
    rig: &'a MeshRig,
    skeleton: &'a SkeletonRecord,
    /// Clips of the file, and the animation of the source that moves its mesh likewise.
    clips: Vec<(&'a Clip, Cow<'a, meshreel_scene::Clip>, &'a Arc<dyn DrivenMesh>)>,
    source_skeleton: &'a Skeleton,
    skin: &'a Skin,
    /// The source's point of each vertex.
    points: Vec<u32>,
    /// Allowed distance by the options, in the file's length unit.
    tolerance: f64,
}

impl<'a> RigComparison<'a> {
    /// Returns the pair, or a sentence if there is nothing to compare with.
    fn new(
        plan: &'a Verification<'_>,
        rig: &'a MeshRig,
        skeletons: &'a [Arc<SkeletonRecord>],
        clips: &'a [Clip],
        asked: &RequestedOptions,
    ) -> Result<Result<RigComparison<'a>, String>, meshreel::Error> {
        let survey = plan.survey;
        let scene = survey.scene;
        let Some(unit) = plan.mesh_pairs.iter().find(|unit| unit.record == rig.mesh()) else {
            return Ok(Err("it is of no mesh of the source".into()));
        };
        let skin = scene.meshes[unit.mesh].skin.as_deref();
        let skin = skin.filter(|skin| skin.skeleton == Some(rig.skeleton()));
        let Some(skin) = skin else {
            return Ok(Err("the source's mesh has none on this skeleton".into()));
        };
        let Some(map) = plan.reel.source_map(rig.mesh())? else {
            return Ok(Err("there is no source map to compare it by".into()));
        };
        let mut own = Vec::new();
        for (clip, (number, source)) in clips.iter().zip(source_clips(scene, asked)) {
            if clip.record().skeleton as usize != rig.skeleton() {
                continue;
            }
            let Some((_, driver)) = skin.driven.iter().find(|(n, _)| *n == number) else {
                let what = format!("the source's mesh is not moved by clip {}", source.name);
                return Ok(Err(what));
            };
            match source.portion(asked.frames.fps, asked.frames.range) {
                Ok(source) => own.push((clip, source, driver)),
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        let placement = &survey.placements[unit.placements[0]];
        Ok(Ok(RigComparison {
            rig,
            skeleton: &skeletons[rig.skeleton()],
            clips: own,
            source_skeleton: &scene.skeletons[rig.skeleton()],
            skin,
            points: map.vertex_point,
            tolerance: placement.tolerance,
        }))
    }

    /// Compares all clips; returns sentences about broken promises.
    fn compare(&self, report: &mut RigReport) -> Result<Option<String>, Error> {
        report.clips = self.clips.len();
        report.tolerance = self.rig.tolerance().min(self.tolerance);
        let (mut count, mut squares) = (0u64, 0.0);
        for (clip, _, driver) in &self.clips {
            let poses = poses(clip).map_err(error)?;
            report.samples += poses.len();
            let found = poses.par_iter().enumerate().map(|(i, pose)| {
                let mut wanted = Vec::new();
                driver.points(clip.start() + i as f64 / clip.fps(), &mut wanted)?;
                Ok(self.distances(pose, &wanted))
            });
            let found: Vec<(f64, f64)> = found.collect::<Result<_, Error>>()?;
            for (most, sum) in found {
                if beyond(most, report.max_error) {
                    report.max_error = most;
                }
                squares += sum;
                count += self.points.len() as u64;
            }
        }
        report.rms_error = (squares / count.max(1) as f64).sqrt();
        report.blend_error = self.blend_error()?;
        if beyond(self.rig.tolerance(), self.tolerance * (1.0 + 1e-9)) {
            return Ok(Some(format!(
                "the file promises {:e} only, {:e} follows from what was asked for",
                self.rig.tolerance(),
                self.tolerance
            )));
        }
        if beyond(report.max_error, report.tolerance) {
            return Ok(Some(format!("an error of {:e}, {:e} allowed", report.max_error, report.tolerance)));
        }
        Ok(None)
    }

    /// Returns the largest distance of vertices from points, and the sum of squares.
    fn distances(&self, pose: &[Transform], wanted: &[[f32; 3]]) -> (f64, f64) {
        let matrices = rig_matrices(self.rig, self.skeleton, pose);
        let mut out = vec![[0.0; 3]; self.rig.vertex_count()];
        self.rig.positions(&matrices, &mut out);
        let (mut most, mut sum) = (0.0, 0.0);
        for (&point, got) in self.points.iter().zip(&out) {
            let off = match wanted.get(point as usize) {
                Some(want) => convert::vector(*got).distance(convert::vector(*want)),
                None => f64::NAN,
            };
            if beyond(off, most) {
                most = off;
            }
            sum += off * off;
        }
        (most, sum)
    }

    /// Returns the largest distance in poses half-way between the middles of each two clips, or between
    /// middle and start of the only one, with the source's poses blended as the runtime blends.
    fn blend_error(&self) -> Result<f64, Error> {
        let mut ends = Vec::new();
        for (clip, source, _) in &self.clips {
            let mut cursor = clip.cursor();
            for i in [clip.samples() / 2, 0] {
                let mut pose = vec![Transform::IDENTITY; clip.joints()];
                cursor.sample(i, &mut pose).map_err(error)?;
                let mut reference = Vec::new();
                source.pose(i, &mut reference);
                ends.push((pose, reference));
            }
        }
        let mut worst = 0.0;
        let steps = if self.clips.len() > 1 { 2 } else { 1 };
        for (a, b) in ends.iter().zip(ends.iter().skip(steps)).step_by(steps) {
            let mut pose = vec![Transform::IDENTITY; a.0.len()];
            blend(&a.0, &b.0, 0.5, &mut pose);
            let reference: Vec<Qvv> = a.1.iter().zip(&b.1).map(|(a, b)| blend_half_way(a, b)).collect();
            let (most, _) = self.distances(&pose, &self.skinned_points(&reference));
            if beyond(most, worst) {
                worst = most;
            }
        }
        Ok(worst)
    }

    /// Returns the source's points as its skin moves them in a pose.
    fn skinned_points(&self, pose: &[Qvv]) -> Vec<[f32; 3]> {
        let mut object = Vec::with_capacity(pose.len());
        let parents = self.source_skeleton.joints.iter().map(|joint| joint.parent);
        convert::object_space(parents, pose.iter().copied(), &mut object);
        let joints = self.skin.joints.iter().zip(&self.skin.inverse_bind);
        let matrices: Vec<DMat4> =
            joints.map(|(&joint, inverse)| DMat4::from(object[joint]) * *inverse).collect();
        let posed = self.skin.posed(&matrices);
        let point = |p| posed.point(p).to_array().map(|v| v as f32);
        (0..self.skin.bind_positions.len()).map(point).collect()
    }
}

/// Blends half-way as the runtime does: linearly, rotations by the shorter way and normalized.
fn blend_half_way(a: &Qvv, b: &Qvv) -> Qvv {
    let far = if a.rotation.dot(b.rotation) < 0.0 { -b.rotation } else { b.rotation };
    let sum: DQuat = a.rotation + far;
    Qvv {
        rotation: if sum.length_squared() > 1e-12 { sum.normalize() } else { a.rotation },
        translation: (a.translation + b.translation) * 0.5,
        scale: (a.scale + b.scale) * 0.5,
    }
}

/// Returns all poses of a clip.
fn poses(clip: &Clip) -> Result<Vec<Vec<Transform>>, meshreel::Error> {
    let mut cursor = clip.cursor();
    (0..clip.samples())
        .map(|i| {
            let mut pose = vec![Transform::IDENTITY; clip.joints()];
            cursor.sample(i, &mut pose)?;
            Ok(pose)
        })
        .collect()
}
