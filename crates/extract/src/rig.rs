//! Converts rigs of a decoded file to skins on its skeletons.

use super::shared::{BoneForm, ExtractedRig, Extraction};
use crate::convert;
use crate::convert::error;
use crate::convert::ulp;
use crate::skinning::{Influences, rig_matrices};
use meshreel::clip::{Clip, SkeletonRecord};
use meshreel::{FrameDecoder, MeshRig, Reel, Transform};
use meshreel_options::{Options, RigChoice};
use meshreel_scene::{Channel, Error, Skin};
use std::sync::Arc;

/// Returns all rigs of a file.
pub(super) fn extracted_rigs(reel: &Reel, bones: BoneForm) -> Result<Vec<ExtractedRig>, Error> {
    let rigs = reel.rigs().map_err(error)?;
    if rigs.is_empty() {
        return Ok(Vec::new());
    }
    let clips = reel.clips().map_err(error)?;
    let skeletons = reel.skeletons().map_err(error)?;
    let mut out = Vec::with_capacity(rigs.len());
    for rig in rigs {
        let clip = rig.first_frame().and_then(|(c, i)| Some((clips.get(c)?, i)));
        let clip = clip.filter(|(clip, sample)| {
            *sample < clip.samples() && clip.record().skeleton as usize == rig.skeleton()
        });
        let first = match clip {
            None => None,
            Some((clip, sample)) => {
                let mut pose = vec![Transform::IDENTITY; clip.joints()];
                let mut cursor = clip.cursor();
                cursor.sample(sample, &mut pose).map_err(error)?;
                let matrices = rig_matrices(&rig, &skeletons[rig.skeleton()], &pose);
                Some(matrices.iter().map(convert::matrix).collect())
            }
        };
        let own = |clip: &&Clip| clip.record().skeleton as usize == rig.skeleton();
        let shows_frames = match clip.map(|(clip, _)| clip).or_else(|| clips.iter().find(own)) {
            Some(clip) if bones != BoneForm::Skins => {
                shows_frames(reel, &rig, &skeletons[rig.skeleton()], clip)?
            }
            _ => true,
        };
        out.push(ExtractedRig { rig, shows_frames, first_pose: first });
    }
    Ok(out)
}

/// `true` if the clip of a rig moves the mesh as the file's frames do: both are within the mesh's tolerance
/// of the source. Also `true` if frames cannot tell: if only rigs move the file's meshes, or if it has
/// several ranges.
fn shows_frames(reel: &Reel, rig: &MeshRig, skeleton: &SkeletonRecord, clip: &Clip) -> Result<bool, Error> {
    let description = reel.description();
    let record = &description.meshes[rig.mesh()];
    let asked = Options::from_text(&description.options).map(|options| options.rig);
    if !matches!(asked, Ok(RigChoice::Keep)) || !reel.ranges().is_empty() {
        return Ok(true);
    }
    let placements: Vec<usize> = (0..description.nodes.len())
        .filter(|&n| description.nodes[n].mesh == Some(rig.mesh() as u32))
        .collect();
    let tolerance = placements.iter().map(|&n| description.nodes[n].tolerance).fold(0.0, f64::max);
    let vertices = record.vertices as usize;
    let mut decoder = FrameDecoder::new(reel).map_err(error)?;
    let mut cursor = clip.cursor();
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    let mut next = pose.clone();
    let (mut decoded, mut posed) = (vec![0.0; 3 * vertices], vec![[0.0; 3]; rig.vertex_count()]);
    for frame in 0..reel.frame_count() {
        decoder.decode(frame).map_err(error)?;
        if !placements.iter().any(|&n| decoder.visible(n)) {
            continue;
        }
        decoder.mesh(rig.mesh()).positions_into(&mut decoded).map_err(error)?;
        let sample = ((reel.time(frame) - clip.start()) * clip.fps()).clamp(0.0, (clip.samples() - 1) as f64);
        cursor.sample(sample as usize, &mut pose).map_err(error)?;
        let after = (sample as usize + 1).min(clip.samples() - 1);
        cursor.sample(after, &mut next).map_err(error)?;
        pose.iter_mut().zip(&next).for_each(|(a, b)| *a = interpolate(a, b, sample.fract()));
        rig.positions(&rig_matrices(rig, skeleton, &pose), &mut posed);
        let pairs = decoded.as_chunks::<3>().0.iter().zip(&posed);
        let near = |(a, b): (&[f32; 3], &[f32; 3])| {
            let size = a.iter().fold(0.0f32, |most, v| most.max(v.abs()));
            let off = convert::vector(*a).distance(convert::vector(*b));
            off <= 2.0 * tolerance + 8.0 * ulp(f64::from(size))
        };
        if !pairs.into_iter().all(near) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Interpolates between two keys as glTF does; `part` is 0 at `a` and 1 at `b`.
fn interpolate(a: &Transform, b: &Transform, part: f64) -> Transform {
    let [from, to] = [a, b].map(convert::qvv);
    Transform {
        rotation: from.rotation.slerp(to.rotation, part).normalize().to_array().map(|v| v as f32),
        translation: from.translation.lerp(to.translation, part).to_array().map(|v| v as f32),
        scale: from.scale.lerp(to.scale, part).to_array().map(|v| v as f32),
    }
}

/// Returns the skin of a mesh that has a rig, unless frames are asked for. `points`: the vertex of each
/// point.
pub(super) fn skin(shared: &Extraction, mesh: usize, points: &[usize]) -> Option<Arc<Skin>> {
    let rigged = shared.rigs.iter().find(|own| own.rig.mesh() == mesh);
    let has_skins = matches!(shared.bones, BoneForm::Auto | BoneForm::Rigs | BoneForm::Skins);
    let rigged = rigged.filter(|own| own.shows_frames && has_skins)?;
    let rig = &rigged.rig;
    if points.iter().any(|&v| v >= rig.vertex_count()) {
        return None;
    }
    let influences = Influences::new(points, |v| rig.influences(v))?;
    Some(Arc::new(Skin {
        skeleton: Some(rig.skeleton()),
        joints: rig.joints().iter().map(|j| *j as usize).collect(),
        inverse_bind: rig.inverse_bind().iter().map(convert::matrix).collect(),
        bind_positions: points.iter().map(|&v| rig.bind_position(v)).collect(),
        influences: influences.count,
        joint: influences.joint.into(),
        weight: influences.weight.into(),
        dual_fraction: if rig.uses_dual_quaternions() {
            points.iter().map(|&v| rig.dual_quaternion_weight(v)).collect()
        } else {
            Arc::new([])
        },
        pose: match &rigged.first_pose {
            Some(first) => Channel::constant(first.clone()),
            None => Channel::in_memory((*shared.constant).clone(), Vec::new()),
        },
        driven: Vec::new(),
    }))
}
