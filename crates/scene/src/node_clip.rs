//! Transforms of a scene's nodes as a skeleton and a clip: fracture pieces, rigs that were baked, moving
//! props.

use crate::clip::{Clip, Joint, MAX_JOINTS, Skeleton, Track};
use crate::model::BEFORE_STEP;
use crate::sample::{World, transform_at};
use crate::transform::Qvv;
use crate::uniform_times::UniformTimes;
use crate::{Channel, Error, LocalTransform, NodeKind, PlacedObject, Remark, Scene, Transform, trs};
use glam::DMat4;
use std::path::Path;

/// The largest number of transforms of a clip: moving joints times samples.
const MAX_CLIP_TRANSFORMS: usize = 1 << 24;
/// The rate of scenes that name none and whose samples have none.
const DEFAULT_FPS: f64 = 30.0;

/// [`Scene::format`] of a scene whose clip was made from transforms.
pub const TRANSFORMS_FORMAT: &str = "transforms";

/// Returns a scene of the clips alone: those of `scene`, or else one made from its transforms. The compiler
/// and the check both call this, so that they agree.
///
/// The joints are the transforms that `selected` accepts (by path, instances expanded) and that move, stand
/// below one that does, or above: parents before children, with as many roots as the scene has. The clip has
/// the uniform times on which their samples lie. A joint that ignores its parents' transforms at any time is
/// a root. Shear, which a clip cannot hold, is dropped with a remark.
///
/// # Errors
/// `Unsupported` if there are no clips and nothing moves; `Limit` beyond [`MAX_JOINTS`].
pub fn clips_only(
    scene: &Scene,
    selected: &dyn Fn(&str) -> bool,
    remarks: &mut Vec<Remark>,
) -> Result<Scene, Error> {
    let mut out = Scene {
        skeletons: scene.skeletons.clone(),
        clips: scene.clips.clone(),
        unit: scene.unit,
        fps: scene.fps,
        metadata: scene.metadata.clone(),
        format: scene.format,
        ..Scene::default()
    };
    if out.clips.is_empty() {
        let (skeleton, clip) = transform_clip(scene, selected, remarks)?;
        out.skeletons = vec![skeleton];
        out.clips = vec![clip];
        out.format = TRANSFORMS_FORMAT;
    }
    Ok(out)
}

/// Returns a matrix as translation, rotation and scale: its own if it is no more than that, else the nearest
/// ones.
pub fn without_shear(matrix: &DMat4) -> DMat4 {
    let near = trs::decompose(matrix).unwrap_or_else(|| trs::nearest_without_shear(matrix));
    DMat4::from_scale_rotation_translation(near.scale, near.rotation, near.translation)
}

fn transform_clip(
    scene: &Scene,
    selected: &dyn Fn(&str) -> bool,
    remarks: &mut Vec<Remark>,
) -> Result<(Skeleton, Clip), Error> {
    let placed = scene.expand()?;
    let joints = joints(scene, &placed, selected)?;
    if joints.is_empty() {
        return Err(Error::unsupported(
            Path::new("--clips-only"),
            "there is neither a clip nor a transform that moves in the input (or none that --include and --exclude leave)",
        ));
    }
    let grid = common_grid(scene, &placed, &joints, remarks)?;
    let world = DetachedWorlds::new(scene, &placed, &joints, &grid)?;
    let mut tracks = Vec::with_capacity(joints.len());
    let mut list = Vec::with_capacity(joints.len());
    for joint in &joints {
        let place = &placed[joint.placed];
        let transform = scene.nodes[place.node].transform.as_ref();
        let values = local_samples(joint, &place.path, transform, &grid, &world, remarks)?;
        list.push(Joint {
            name: node_name(place),
            parent: joint.parent,
            rest: values[0],
            ..Joint::default()
        });
        tracks.push(Track::from_samples(&values));
    }
    remarks.dedup();
    let has_visibility = |place: &PlacedObject| {
        let visibility = scene.nodes[place.node].visibility.as_ref();
        visibility.is_some_and(|channel| !channel.is_constant())
    };
    if joints.iter().any(|joint| has_visibility(&placed[joint.placed])) {
        remarks.push(Remark::new("/", "a clip has no visibility; it was left out"));
    }
    let skeleton = Skeleton { name: "transforms".into(), joints: list };
    let clip = grid.clip_of_tracks("transforms".into(), tracks);
    Ok((skeleton, clip))
}

/// Returns the uniform sample times of all transforms that move.
fn common_grid(
    scene: &Scene,
    placed: &[PlacedObject],
    joints: &[JointObject],
    remarks: &mut Vec<Remark>,
) -> Result<UniformTimes, Error> {
    let mut keys = Vec::new();
    let mut moving = 0;
    for joint in joints.iter().filter(|joint| joint.moves) {
        moving += 1;
        let node = &scene.nodes[placed[joint.placed].node];
        if let Some(transform) = &node.transform {
            collect_times(&transform.local, &mut keys);
            transform.inherits.iter().for_each(|c| collect_times(c, &mut keys));
        }
    }
    let usual = scene.fps.filter(|fps| fps.is_finite() && *fps > 0.0);
    let usual = usual.unwrap_or(DEFAULT_FPS);
    let nothing = || Error::misuse("transforms that move have no samples");
    let (grid, exact) =
        UniformTimes::from_keys(keys, usual, Path::new(""), "of the transforms")?.ok_or_else(nothing)?;
    if !exact {
        let what = format!(
            "its transforms have samples at no uniform rate; they were taken at {} frames per second",
            grid.fps
        );
        remarks.push(Remark::new("/", what));
    }
    if grid.samples.saturating_mul(moving) > MAX_CLIP_TRANSFORMS {
        return Err(Error::Limit {
            path: Path::new("--clips-only").into(),
            what: "transforms times samples; use --include for a part of them".into(),
            asked: grid.samples.saturating_mul(moving) as u64,
            allowed: MAX_CLIP_TRANSFORMS as u64,
        });
    }
    Ok(grid)
}

/// Returns the transform of a joint relative to its parent at every sample, or one if it does not move. Shear
/// and non-finite matrices are dropped with a remark.
fn local_samples(
    joint: &JointObject,
    path: &str,
    transform: Option<&Transform>,
    grid: &UniformTimes,
    world: &DetachedWorlds,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<Qvv>, Error> {
    let samples = if joint.moves { grid.samples } else { 1 };
    let mut values = Vec::with_capacity(samples);
    let mut shear = 0usize;
    for i in 0..samples {
        let local = match (joint.detached, transform) {
            (true, _) => world.matrix(joint.placed, i).into(),
            (false, Some(transform)) => transform_at(transform, grid.time(i))?.0,
            (false, None) => LocalTransform::IDENTITY,
        };
        let matrix = local.matrix();
        if !matrix.is_finite() {
            let what = "a transform that is no finite numbers was left out";
            remarks.push(Remark::new(path, what));
            values.push(values.last().copied().unwrap_or(Qvv::IDENTITY));
            continue;
        }
        values.push(match local {
            LocalTransform::Components(parts) => parts,
            LocalTransform::Matrix(_) => trs::decompose(&matrix).unwrap_or_else(|| {
                shear += 1;
                trs::nearest_without_shear(&matrix)
            }),
        });
    }
    if shear > 0 {
        let what = "its transform is sheared, which a clip cannot hold; that was left out";
        remarks.push(Remark::new(path, what));
    }
    Ok(values)
}

/// Returns the last part of the path, since instances have names of their own.
fn node_name(place: &PlacedObject) -> String {
    let name = place.path.rsplit('/').next();
    name.unwrap_or_default().to_owned()
}

fn collect_times<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, keys: &mut Vec<f64>) {
    if channel.len() > 1 && !channel.is_constant() {
        let n = channel.len();
        // A sample right before another one marks a step and says nothing of the rate.
        let step = |i: usize| i + 1 < n && channel.time(i + 1) - channel.time(i) <= 1.5 * BEFORE_STEP;
        keys.extend((0..n).filter(|&i| !step(i)).map(|i| channel.time(i)).filter(|t| t.is_finite()));
        if keys.len() > 1 << 22 {
            crate::uniform_times::sort_and_merge(keys);
        }
    }
}

/// A placed object that becomes a joint.
struct JointObject {
    placed: usize,
    parent: Option<usize>,
    moves: bool,
    /// `true` if it ignores its parents' transforms at any time.
    detached: bool,
}

fn joints(
    scene: &Scene,
    placed: &[PlacedObject],
    selected: &dyn Fn(&str) -> bool,
) -> Result<Vec<JointObject>, Error> {
    let is_joint = |i: usize| scene.nodes[placed[i].node].kind == NodeKind::Xform;
    let changes = |i: usize| {
        let transform = scene.nodes[placed[i].node].transform.as_ref();
        transform
            .is_some_and(|t| !t.local.is_constant() || t.inherits.as_ref().is_some_and(|c| !c.is_constant()))
    };
    let asked: Vec<bool> =
        (placed.iter().enumerate()).map(|(i, place)| is_joint(i) && selected(&place.path)).collect();
    // Parents stand before their children: one pass down and one up reach every object.
    let mut below: Vec<bool> = (0..placed.len()).map(|i| asked[i] && changes(i)).collect();
    for i in 0..placed.len() {
        below[i] |= asked[i] && placed[i].parent.is_some_and(|parent| below[parent]);
    }
    let mut wanted = below;
    for i in (0..placed.len()).rev() {
        if let (true, Some(parent)) = (wanted[i], placed[i].parent) {
            wanted[parent] = true;
        }
    }
    // For each object, the joint that its children are attached to.
    let mut holder: Vec<Option<usize>> = vec![None; placed.len()];
    let mut out = Vec::new();
    let mut flags = Vec::new();
    for (i, place) in placed.iter().enumerate() {
        let above = place.parent.and_then(|parent| holder[parent]);
        holder[i] = above;
        if !(wanted[i] && is_joint(i)) {
            continue;
        }
        let mut detached = false;
        let transform = scene.nodes[place.node].transform.as_ref();
        if let Some(inherits) = transform.and_then(|t| t.inherits.as_ref()) {
            for sample in 0..inherits.len() {
                inherits.read(sample, &mut flags)?;
                detached |= flags.first() == Some(&false);
            }
        }
        if out.len() >= MAX_JOINTS {
            return Err(Error::Limit {
                path: Path::new("--clips-only").into(),
                what: "transforms of a clip; use --include for a part of them".into(),
                asked: out.len() as u64 + 1,
                allowed: MAX_JOINTS as u64,
            });
        }
        holder[i] = Some(out.len());
        out.push(JointObject {
            placed: i,
            parent: above.filter(|_| !detached),
            // While a detached joint does inherit, its parents move it.
            moves: changes(i) || detached,
            detached,
        });
    }
    Ok(out)
}

/// World matrices of the detached objects, at all samples.
struct DetachedWorlds(std::collections::HashMap<usize, Vec<DMat4>>);

impl DetachedWorlds {
    fn new(
        scene: &Scene,
        placed: &[PlacedObject],
        joints: &[JointObject],
        grid: &UniformTimes,
    ) -> Result<DetachedWorlds, Error> {
        let detached = joints.iter().filter(|joint| joint.detached);
        let mut out: std::collections::HashMap<usize, Vec<DMat4>> =
            detached.map(|joint| (joint.placed, Vec::new())).collect();
        if !out.is_empty() {
            let mut world = World::new(scene, placed)?;
            for i in 0..grid.samples {
                world.evaluate(grid.time(i))?;
                for (&object, matrices) in &mut out {
                    matrices.push(world.matrix[object]);
                }
            }
        }
        Ok(DetachedWorlds(out))
    }

    fn matrix(&self, object: usize, sample: usize) -> DMat4 {
        let matrices = self.0.get(&object);
        let matrix = matrices.and_then(|matrices| matrices.get(sample));
        matrix.copied().unwrap_or(DMat4::IDENTITY)
    }
}
