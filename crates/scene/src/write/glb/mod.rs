//! Binary glTF 2.0: the node tree with its transforms as animations, meshes as vertices and morph targets,
//! materials by the names of face sets. Skeletons are nodes and a skin, each clip is an animation of its own,
//! and so is each named range of the timeline.
//!
//! A mesh with a skin whose joints are its own becomes one with these joints as nodes below it; one on a
//! skeleton gets the skeleton's nodes as its joints, and the clips move both.
//!
//! glTF has no visibility and no changing faces. Both are done by nodes whose scale steps between 0 and 1. It
//! has no shear either: such a transform becomes two nodes. Deviations from the scene are said in remarks.

mod buffer;
mod clip;
mod mesh;
mod ranges;
mod rig;
mod skin;

use crate::sample::World;
use crate::{Error, Mesh, MeshId, Placed, Remark, Scene, Unit, trs};
use buffer::{Document, Use};
use glam::{DMat3, DMat4, DQuat};
use gltf_json::accessor::Accessor;
use gltf_json::animation::{Channel, Interpolation, Property, Sampler, Target};
use gltf_json::scene::UnitQuaternion;
use gltf_json::validation::Checked::Valid;
use gltf_json::{Animation, Index, Node};
use mesh::{Meshes, Run};
use std::collections::HashMap;
use std::path::Path;

/// Writes the scene at `times` to `path`, which appears only when it is complete. `progress` is told how many
/// meshes times frames of how many are done. A file that would reach 4 GiB is a limit error.
pub fn write(
    path: &Path,
    scene: &Scene,
    times: &[f64],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Remark>, Error> {
    let file = path.display().to_string();
    let mut remarks = Vec::new();
    let (times, keys) = match (times, scene.clips.is_empty()) {
        ([], false) => Default::default(),
        (times, _) => key_times(times, &file, &mut remarks)?,
    };
    let placed = scene.expand()?;
    let facts = Facts::gather(scene, &placed, &times)?;

    let mut meshes = Meshes::new(Document::create(path)?, &times, &keys);
    let mut used: Vec<MeshId> = placed.iter().filter_map(|p| scene.nodes[p.node].mesh).collect();
    used.sort_unstable();
    used.dedup();
    let (total, mut done) = (used.len() * times.len(), 0);
    let mut runs: HashMap<MeshId, Vec<Run>> = HashMap::new();
    for id in used {
        let mut step = || {
            done += 1;
            progress(done, total);
        };
        runs.insert(id, meshes.runs(&scene.meshes[id], &mut step)?);
    }

    let mut tree = Tree {
        meshes,
        channels: Vec::new(),
        samplers: Vec::new(),
        animations: Vec::new(),
        whole: None,
        waiting: Vec::new(),
    };
    let mut roots = Vec::new();
    let parent_of_roots = match placed.is_empty() {
        true => None,
        false => tree.unit_node(scene.unit, &mut roots),
    };
    let world = World::new(scene, &placed)?;
    // For each placed object the node that its children hang on.
    let mut holders: Vec<Index<Node>> = Vec::with_capacity(placed.len());
    let mut bearing = vec![false; placed.len()];
    for parent in placed.iter().filter_map(|object| object.parent) {
        bearing[parent] = true;
    }
    // Those that have got the mesh of an object below them.
    let mut taken = vec![false; placed.len()];
    for (i, object) in placed.iter().enumerate() {
        let node = &scene.nodes[object.node];
        let parent = object.parent.filter(|_| !facts.detached.contains_key(&i));
        // A mesh is read back below its node: where the node above can have it, it has the same path again.
        let above = parent.filter(|&p| {
            let above = &scene.nodes[placed[p].node];
            let named = |m: MeshId| scene.meshes[m].path.rsplit('/').next() == Some(&node.name);
            node.transform.is_none()
                && node.mesh.is_some_and(named)
                && above.mesh.is_none()
                && !bearing[i]
                && !taken[p]
                && facts.shown[&i] == [(0, true)]
                && runs[&node.mesh.unwrap_or_default()].len() == 1
        });
        let holder = match above {
            Some(p) => {
                taken[p] = true;
                holders[p]
            }
            None => {
                let own = tree.node(&node.name);
                tree.attach(parent.map(|p| holders[p]).or(parent_of_roots), own, &mut roots);
                match facts.detached.get(&i) {
                    Some(matrices) => tree.transform(own, matrices, &object.path)?,
                    None if world.is_constant(i) => {
                        tree.transform(own, &[world.local_at(i, times[0])?.0], &object.path)?
                    }
                    None => {
                        let local = |&t: &f64| Ok(world.local_at(i, t)?.0);
                        let matrices = times.iter().map(local).collect::<Result<Vec<_>, Error>>()?;
                        tree.transform(own, &matrices, &object.path)?
                    }
                }
            }
        };
        holders.push(holder);
        if let Some(runs) = node.mesh.and_then(|m| runs.get(&m)) {
            let mesh = node.mesh.map(|m| &scene.meshes[m]);
            tree.place(holder, &node.name, runs, &facts.shown[&i], mesh)?;
        }
    }
    if parent_of_roots.is_some() {
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
    tree.rigs(scene, &skeletons, &mut roots)?;
    for clip in &scene.clips {
        tree.clip(scene, clip, &skeletons[clip.skeleton])?;
    }
    tree.finish(roots, remarks)
}

/// Frame times as f32, not below 0 and ascending as glTF demands, and the times they stand for.
fn key_times(times: &[f64], file: &str, remarks: &mut Vec<Remark>) -> Result<(Vec<f64>, Vec<f32>), Error> {
    let Some(&first) = times.first() else {
        return Err(Error::misuse("no frames to write"));
    };
    let shift = first.min(0.0);
    if shift < 0.0 {
        remarks.push(Remark::new(
            file,
            format!("glTF's time begins at 0: everything was moved by {} seconds", -shift),
        ));
    }
    let (mut kept, mut keys) = (Vec::new(), Vec::<f32>::new());
    for &time in times {
        let key = (time - shift) as f32;
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

/// What must be known of all frames before nodes can be written.
struct Facts {
    /// World matrices of the objects that ignore their parents' transforms at some time.
    detached: HashMap<usize, Vec<DMat4>>,
    /// For each object with a mesh: frames at which its visibility changes, and to what; the first one is
    /// frame 0.
    shown: HashMap<usize, Vec<(usize, bool)>>,
}

impl Facts {
    fn gather(scene: &Scene, placed: &[Placed], times: &[f64]) -> Result<Facts, Error> {
        let mut facts = Facts { detached: HashMap::new(), shown: HashMap::new() };
        let mut flags = Vec::new();
        for (i, object) in placed.iter().enumerate() {
            let node = &scene.nodes[object.node];
            if node.mesh.is_some() {
                facts.shown.insert(i, vec![(0, true)]);
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
            for (i, changes) in &mut facts.shown {
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

/// The node tree in the making.
struct Tree<'a> {
    meshes: Meshes<'a>,
    channels: Vec<Channel>,
    samplers: Vec<Sampler>,
    animations: Vec<Animation>,
    /// Key times of all frames.
    whole: Option<Index<Accessor>>,
    /// Meshes on skeletons, whose nodes come later.
    waiting: Vec<rig::Waiting>,
}

impl Tree<'_> {
    fn node(&mut self, name: &str) -> Index<Node> {
        let node = Node { name: Some(name.into()), ..Node::default() };
        Index::push(&mut self.meshes.document.root.nodes, node)
    }

    fn get(&mut self, node: Index<Node>) -> &mut Node {
        &mut self.meshes.document.root.nodes[node.value()]
    }

    fn attach(&mut self, parent: Option<Index<Node>>, child: Index<Node>, roots: &mut Vec<Index<Node>>) {
        match parent {
            Some(parent) => self.get(parent).children.get_or_insert_default().push(child),
            None => roots.push(child),
        }
    }

    /// Above everything, where the unit is not glTF's.
    fn unit_node(&mut self, unit: Option<Unit>, roots: &mut Vec<Index<Node>>) -> Option<Index<Node>> {
        let (name, scale) = match unit? {
            Unit::Metre => return None,
            Unit::Centimetre => ("centimetres", 0.01),
            Unit::Millimetre => ("millimetres", 0.001),
            Unit::Inch => ("inches", 0.0254),
        };
        let node = self.node(name);
        self.get(node).scale = Some([scale; 3]);
        roots.push(node);
        Some(node)
    }

    /// Gives `node` its transform, one matrix per frame or one for all; returns the node to hang children on.
    fn transform(&mut self, node: Index<Node>, matrices: &[DMat4], path: &str) -> Result<Index<Node>, Error> {
        let mut clean = Vec::with_capacity(matrices.len());
        for m in matrices {
            if m.is_finite() {
                clean.push(*m);
            } else {
                self.meshes
                    .remarks
                    .insert(Remark::new(path, "a transform that is no finite numbers was left out"));
                clean.push(clean.last().copied().unwrap_or(DMat4::IDENTITY));
            }
        }
        let plain: Option<Vec<_>> = clean.iter().map(trs::plain).collect();
        let (outer, inner) = match plain {
            Some(outer) => (outer, None),
            None => {
                let mut near = DMat3::IDENTITY;
                let both = clean.iter().map(|m| {
                    let (outer, inner, v) = trs::sheared(m, near);
                    near = v;
                    (outer, inner)
                });
                let (outer, inner): (Vec<_>, Vec<_>) = both.unzip();
                (outer, Some(inner))
            }
        };
        let vector = |v: glam::DVec3| [v.x as f32, v.y as f32, v.z as f32];
        let translations: Vec<_> = outer.iter().map(|t| vector(t.translation)).collect();
        let scales: Vec<_> = outer.iter().map(|t| vector(t.scale)).collect();
        if translations[0] != [0.0; 3] || translations.len() > 1 {
            self.get(node).translation = Some(translations[0]);
        }
        if scales[0] != [1.0; 3] || scales.len() > 1 {
            self.get(node).scale = Some(scales[0]);
        }
        self.animate(node, Property::Translation, &translations)?;
        self.animate(node, Property::Scale, &scales)?;
        self.rotate(node, outer.iter().map(|t| t.rotation))?;
        let Some(inner) = inner else { return Ok(node) };
        self.meshes
            .remarks
            .insert(Remark::new(path, "its transform is sheared, which glTF holds only as two nodes"));
        let holder = self.node("shear");
        self.attach(Some(node), holder, &mut Vec::new());
        self.rotate(holder, inner.into_iter())?;
        Ok(holder)
    }

    fn rotate(&mut self, node: Index<Node>, rotations: impl Iterator<Item = DQuat>) -> Result<(), Error> {
        let mut last = DQuat::IDENTITY;
        let aligned: Vec<[f32; 4]> = rotations
            .map(|r| {
                last = if last.dot(r) < 0.0 { -r } else { r };
                last.to_array().map(|v| v as f32)
            })
            .collect();
        if aligned[0] != [0.0, 0.0, 0.0, 1.0] || aligned.len() > 1 {
            self.get(node).rotation = Some(UnitQuaternion(aligned[0]));
        }
        self.animate(node, Property::Rotation, &aligned)
    }

    /// One value per frame, unless they are all the same.
    fn animate<const N: usize>(
        &mut self,
        node: Index<Node>,
        property: Property,
        values: &[[f32; N]],
    ) -> Result<(), Error> {
        if values.iter().all(|v| *v == values[0]) {
            return Ok(());
        }
        let output = self.meshes.document.floats(values, Use::Animation, false)?;
        let input = match self.whole {
            Some(input) => input,
            None => self.meshes.input(0, self.meshes.keys.len())?,
        };
        self.whole = Some(input);
        self.channel(node, property, Interpolation::Linear, input, output);
        Ok(())
    }

    fn channel(
        &mut self,
        node: Index<Node>,
        property: Property,
        how: Interpolation,
        input: Index<Accessor>,
        output: Index<Accessor>,
    ) {
        let sampler = Sampler {
            extensions: None,
            extras: Default::default(),
            input,
            interpolation: Valid(how),
            output,
        };
        let sampler = Index::push(&mut self.samplers, sampler);
        let target = Target { extensions: None, extras: Default::default(), node, path: Valid(property) };
        self.channels.push(Channel { sampler, target, extensions: None, extras: Default::default() });
    }

    /// Hangs a mesh on `holder`: on the node itself where it is one run and always shown, else on a node per
    /// run.
    fn place(
        &mut self,
        holder: Index<Node>,
        name: &str,
        runs: &[Run],
        shown: &[(usize, bool)],
        source: Option<&Mesh>,
    ) -> Result<(), Error> {
        let direct = runs.len() == 1 && *shown == [(0, true)];
        for run in runs {
            let Some(mesh) = run.mesh else { continue };
            let node = if direct {
                holder
            } else {
                let name =
                    if runs.len() == 1 { name.to_string() } else { format!("{name}.{:04}", run.first + 1) };
                let node = self.node(&name);
                self.attach(Some(holder), node, &mut Vec::new());
                self.show(node, run, shown)?;
                node
            };
            self.get(node).mesh = Some(mesh);
            if let (Some((skin, still)), Some(source)) = (&run.skin, source) {
                match rig::is_rig(skin) {
                    true => self.waiting.push(rig::Waiting {
                        node,
                        skin: skin.clone(),
                        still: *still,
                        name: name.to_string(),
                    }),
                    false => self.own_joints(source, node, skin, *still)?,
                }
            }
            if let Some((input, output)) = run.weights {
                self.channel(node, Property::MorphTargetWeights, Interpolation::Linear, input, output);
            }
        }
        Ok(())
    }

    /// Scale 1 in the frames of the run in which the object is visible, else 0.
    fn show(&mut self, node: Index<Node>, run: &Run, shown: &[(usize, bool)]) -> Result<(), Error> {
        let frames = self.meshes.keys.len();
        let visible = |frame: usize| {
            let i = shown.partition_point(|s| s.0 <= frame);
            i > 0 && shown[i - 1].1 && (run.first..run.end).contains(&frame)
        };
        let mut at: Vec<usize> =
            shown.iter().map(|s| s.0).chain([0, run.first, run.end]).filter(|f| *f < frames).collect();
        at.sort_unstable();
        at.dedup();
        at.dedup_by(|b, a| visible(*b) == visible(*a));
        let scale = |frame: usize| [if visible(frame) { 1.0 } else { 0.0 }; 3];
        if scale(0) != [1.0; 3] || at.len() > 1 {
            self.get(node).scale = Some(scale(0));
        }
        if at.len() > 1 {
            let keys: Vec<[f32; 1]> = at.iter().map(|&f| [self.meshes.keys[f]]).collect();
            let values: Vec<_> = at.iter().map(|&f| scale(f)).collect();
            let input = self.meshes.document.floats(&keys, Use::Animation, true)?;
            let output = self.meshes.document.floats(&values, Use::Animation, false)?;
            self.channel(node, Property::Scale, Interpolation::Step, input, output);
        }
        Ok(())
    }

    /// What was animated since the last one becomes an animation.
    fn close_animation(&mut self, name: &str, extras: gltf_json::Extras) {
        if !self.channels.is_empty() {
            self.animations.push(Animation {
                extensions: None,
                extras,
                channels: std::mem::take(&mut self.channels),
                name: Some(name.into()),
                samplers: std::mem::take(&mut self.samplers),
            });
        }
    }

    fn finish(mut self, roots: Vec<Index<Node>>, mut remarks: Vec<Remark>) -> Result<Vec<Remark>, Error> {
        let root = &mut self.meshes.document.root;
        root.asset.generator = Some(format!("meshreel {}", env!("CARGO_PKG_VERSION")));
        root.animations = self.animations;
        let scene =
            gltf_json::Scene { extensions: None, extras: Default::default(), name: None, nodes: roots };
        root.scene = Some(Index::push(&mut root.scenes, scene));
        remarks.extend(self.meshes.remarks);
        self.meshes.document.finish()?;
        Ok(remarks)
    }
}
