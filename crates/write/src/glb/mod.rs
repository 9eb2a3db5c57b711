//! Writes binary glTF 2.0: the node tree with its transforms as animations, meshes as vertices and morph
//! targets, materials by the names of face sets. Skeletons are nodes and a skin; each clip is an animation of
//! its own, and so is each named range of the timeline.
//!
//! A mesh with a skin whose joints are its own gets these joints as nodes below it; one on a skeleton gets
//! the skeleton's nodes as its joints, and the clips move both.
//!
//! glTF has neither visibility nor changing faces: both are written as nodes whose scale steps between zero
//! and one. It has no shear either: such a transform becomes two nodes. Deviations from the scene are
//! reported as remarks.

pub(crate) mod buffer;
mod camera;
mod clip;
mod influences;
mod mesh;
mod meshopt;
mod packed;
mod ranges;
mod rig;
mod skin;
mod tree;

use buffer::Document;
use glam::DMat4;
use gltf_json::{Index, Node};
pub(crate) use mesh::plain_material;
use mesh::{MeshWriter, Run};
pub use meshopt::Extension;
use meshreel_scene::sample::World;
use meshreel_scene::{Error, LocalTransform, MeshId, PlacedObject, Remark, Scene};
pub use packed::Compression;
use std::collections::HashMap;
use std::path::Path;
use tree::Tree;
pub use tree::WriteOutcome;
pub(crate) use tree::metres;

/// Writes the scene at `times` to `path`, which appears only when it is complete. `progress` is called with
/// the frames of all meshes done and their number in all. A file that would reach 4 GiB is a limit error.
pub fn write(
    path: &Path,
    scene: &Scene,
    times: &[f64],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Remark>, Error> {
    Ok(write_as(path, scene, times, None, progress)?.0)
}

/// Like [`write()`], but compressed: vertices with fewer bits, and views as the extension specifies, which a
/// reader must support. Also returns the largest position error of each mesh, in its own space. More than 256
/// morph targets of a mesh are a limit error. Weights, joints, and animations of nodes stay lossless.
pub fn write_compressed(
    path: &Path,
    scene: &Scene,
    times: &[f64],
    compression: &Compression,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<WriteOutcome, Error> {
    write_as(path, scene, times, Some(compression), progress)
}

fn write_as(
    path: &Path,
    scene: &Scene,
    times: &[f64],
    compression: Option<&Compression>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<WriteOutcome, Error> {
    let file = path.display().to_string();
    let mut remarks = Vec::new();
    let start = frames_start(scene, times);
    let (times, keys) = match (times, scene.clips.is_empty()) {
        ([], false) => Default::default(),
        (times, _) => key_times(times, start.unwrap_or_default(), &file, &mut remarks)?,
    };
    let placed = scene.expand()?;
    let facts = FrameFacts::gather(scene, &placed, &times)?;

    let document = Document::create(path, compression.map(|c| c.extension))?;
    let mut meshes = MeshWriter::new(document, &times, &keys, compression, !scene.ranges.is_empty());
    let runs = write_meshes(&mut meshes, scene, &placed, progress)?;
    let mut tree = Tree {
        meshes,
        channels: Vec::new(),
        samplers: Vec::new(),
        animations: Vec::new(),
        all_key_times: None,
        pending_skins: Vec::new(),
    };
    let mut roots = Vec::new();
    let has_unit_node = tree.objects(scene, &placed, &facts, &runs, &mut roots)?;
    if has_unit_node {
        remarks.push(Remark::new(
            &file,
            "glTF's unit is the metre: everything hangs on a node that scales it so",
        ));
    }
    match &scene.ranges[..] {
        [] => tree.close_animation("animation", None),
        ranges => tree.close_ranges(ranges)?,
    }
    let skeletons = tree.skeletons(scene, &mut roots);
    tree.attach_skins(scene, &skeletons, &mut roots)?;
    let animated = clip::animated_parts(scene);
    for clip in &scene.clips {
        let own = clip.start.min(0.0);
        let start = start.filter(|_| scene.ranges.is_empty()).unwrap_or(own);
        tree.clip(scene, clip, start, &skeletons[clip.skeleton], &animated[clip.skeleton])?;
    }
    tree.finish(roots, remarks)
}

/// Writes all placed meshes; `progress` is called with the frames of all meshes done and their number in all.
fn write_meshes(
    meshes: &mut MeshWriter<'_>,
    scene: &Scene,
    placed: &[PlacedObject],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<HashMap<MeshId, Vec<Run>>, Error> {
    let mut used: Vec<MeshId> = placed.iter().filter_map(|p| scene.nodes[p.node].mesh).collect();
    used.sort_unstable();
    used.dedup();
    let (total, mut done) = (used.len() * meshes.times.len(), 0);
    let mut runs: HashMap<MeshId, Vec<Run>> = HashMap::new();
    for id in used {
        let mut step = || {
            done += 1;
            progress(done, total);
        };
        runs.insert(id, meshes.runs(id, &scene.meshes[id], &mut step)?);
    }
    Ok(runs)
}

impl Tree<'_> {
    /// Writes a node for each placed object, with its transforms and its mesh; adds root nodes to `roots`.
    /// Returns `true` if they hang on a node that scales the scene's unit to metres.
    fn objects(
        &mut self,
        scene: &Scene,
        placed: &[PlacedObject],
        facts: &FrameFacts,
        runs: &HashMap<MeshId, Vec<Run>>,
        roots: &mut Vec<Index<Node>>,
    ) -> Result<bool, Error> {
        let parent_of_roots = match placed.is_empty() {
            true => None,
            false => self.unit_node(scene.unit, roots),
        };
        let world = World::new(scene, placed)?;
        // For each placed object, the node that its children are attached to.
        let mut holders: Vec<Index<Node>> = Vec::with_capacity(placed.len());
        let mut bearing = vec![false; placed.len()];
        for parent in placed.iter().filter_map(|object| object.parent) {
            bearing[parent] = true;
        }
        // The objects that already carry the mesh of an object below them.
        let mut taken = vec![false; placed.len()];
        for (i, object) in placed.iter().enumerate() {
            let node = &scene.nodes[object.node];
            let parent = object.parent.filter(|_| !facts.detached.contains_key(&i));
            // A reader puts a mesh below its node: if the parent's node can carry it, its path is preserved.
            let above = parent.filter(|&p| {
                let above = &scene.nodes[placed[p].node];
                let named = |m: MeshId| scene.meshes[m].path.rsplit('/').next() == Some(&node.name);
                node.transform.is_none()
                    && node.mesh.is_some_and(named)
                    && above.mesh.is_none()
                    && !bearing[i]
                    && !taken[p]
                    && facts.visibility_changes[&i] == [(0, true)]
                    && runs[&node.mesh.unwrap_or_default()].len() == 1
            });
            let holder = match above {
                Some(p) => {
                    taken[p] = true;
                    holders[p]
                }
                None => {
                    let own = self.node(&node.name);
                    self.attach(parent.map(|p| holders[p]).or(parent_of_roots), own, roots);
                    self.transform(own, &self.locals(i, facts, &world)?, &object.path)?
                }
            };
            holders.push(holder);
            if let Some(camera) = &node.camera {
                self.camera(holder, camera, (&object.path, scene.unit))?;
            }
            if let Some(runs) = node.mesh.and_then(|m| runs.get(&m)) {
                let mesh = node.mesh.map(|m| &scene.meshes[m]);
                self.attach_runs(holder, &node.name, runs, &facts.visibility_changes[&i], mesh)?;
            }
        }
        Ok(parent_of_roots.is_some())
    }

    /// Returns the transform of placed object `i` at all times, or one if it does not move: in the world for
    /// a root or detached object, else relative to its parent.
    fn locals(&self, i: usize, facts: &FrameFacts, world: &World<'_>) -> Result<Vec<LocalTransform>, Error> {
        let times = self.meshes.times;
        if let Some(matrices) = facts.detached.get(&i) {
            return Ok(matrices.iter().map(|matrix| LocalTransform::from(*matrix)).collect());
        }
        let times = if world.is_constant(i) { &times[..1] } else { times };
        times.iter().map(|&t| Ok(world.local_at(i, t)?.0)).collect()
    }
}

/// Returns the time that becomes 0 for frames, at most 0. Clips share it, so that a mesh on a skeleton moves
/// with its frames; but with ranges, these become animations that start at 0 themselves, as do clips beside
/// them. `None` without frames.
fn frames_start(scene: &Scene, times: &[f64]) -> Option<f64> {
    let first = times.first()?.min(0.0);
    let clips = scene.clips.iter().filter(|_| scene.ranges.is_empty());
    Some(clips.map(|clip| clip.start).fold(first, f64::min))
}

/// Returns frame times as f32, ascending as glTF demands and counted from `start`, and the times that they
/// stand for.
fn key_times(
    times: &[f64],
    start: f64,
    file: &str,
    remarks: &mut Vec<Remark>,
) -> Result<(Vec<f64>, Vec<f32>), Error> {
    if times.is_empty() {
        return Err(Error::misuse("no frames to write"));
    }
    if start < 0.0 {
        remarks.push(Remark::new(
            file,
            format!("glTF's time begins at 0: everything was moved by {} seconds", -start),
        ));
    }
    let (mut kept, mut keys) = (Vec::new(), Vec::<f32>::new());
    for &time in times {
        let key = (time - start) as f32;
        if keys.last().is_none_or(|last| key > *last) {
            kept.push(time);
            keys.push(key);
        }
    }
    if kept.len() < times.len() {
        remarks.push(Remark::new(
            file,
            format!("{} frames were left out: their times are equal in 32 bits", times.len() - kept.len()),
        ));
    }
    Ok((kept, keys))
}

/// Facts about all frames that are needed before nodes can be written.
struct FrameFacts {
    /// World matrices of the objects that ignore their parents' transforms at some time.
    detached: HashMap<usize, Vec<DMat4>>,
    /// For each object with a mesh: the frames at which its visibility changes, and the new value; the first
    /// one is frame 0.
    visibility_changes: HashMap<usize, Vec<(usize, bool)>>,
}

impl FrameFacts {
    fn gather(scene: &Scene, placed: &[PlacedObject], times: &[f64]) -> Result<FrameFacts, Error> {
        let mut facts = FrameFacts { detached: HashMap::new(), visibility_changes: HashMap::new() };
        let mut flags = Vec::new();
        for (i, object) in placed.iter().enumerate() {
            let node = &scene.nodes[object.node];
            if node.mesh.is_some() {
                facts.visibility_changes.insert(i, vec![(0, true)]);
            }
            if let Some(inherits) = node.transform.as_ref().and_then(|t| t.inherits.as_ref()) {
                for sample in 0..inherits.len() {
                    inherits.read(sample, &mut flags)?;
                    if flags.first() == Some(&false) {
                        facts.detached.insert(i, Vec::new());
                        break;
                    }
                }
            }
        }
        if facts.detached.is_empty() && scene.nodes.iter().all(|n| n.visibility.is_none()) {
            return Ok(facts);
        }
        let mut world = World::new(scene, placed)?;
        for (frame, &time) in times.iter().enumerate() {
            world.evaluate(time)?;
            for (i, matrices) in &mut facts.detached {
                matrices.push(world.matrix[*i]);
            }
            for (i, changes) in &mut facts.visibility_changes {
                match changes.last_mut() {
                    Some(last) if frame == 0 => last.1 = world.visible[*i],
                    Some(last) if last.1 == world.visible[*i] => {}
                    _ => changes.push((frame, world.visible[*i])),
                }
            }
        }
        Ok(facts)
    }
}
