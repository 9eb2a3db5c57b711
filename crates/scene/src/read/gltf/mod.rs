//! glTF 2.0, text and binary: nodes, meshes with morph targets and skins, animations.
//!
//! * Nodes are transforms; a mesh hangs below its node under its own name. Nodes that are joints and carry
//!   nothing are in skeletons only.
//! * Skins are skeletons, each animation is a clip of each skeleton that it moves. A file without meshes and
//!   skins is one skeleton of all its nodes.
//! * A skinned mesh is in world space, as the format has it: its points are blended at the uniform times of
//!   the animation.
//! * Meshes and nodes follow the animation that was asked for, else the first that moves something, and what
//!   that leaves alone the first that moves it; or all animations, one after the other, as named ranges.
//!   Clips have them all.
//! * Where a LINEAR rotation turns far from one key to the next, there are samples between: keys alone do not
//!   say which way round.
//! * Node extras `layer`, `bias` and `shell` are a joint's; animation extras `events` are markers, `scalars`
//!   scalar tracks. Skins with the extra `clip`: false have no clips: their joints are of a mesh alone.

mod accessor;
mod animation;
mod camera;
mod deform;
mod document;
mod mesh;
mod meshopt;
mod primitives;
mod rig;
mod skeleton;
mod takes;
mod tree;

use super::{ReadOptions, shape};
use crate::{
    Channel, Error, Identity, Mesh, Node, NodeKind, Remark, Scene, Source, TimeSampling, Transform, Unit,
};
use animation::{Animation, Curves};
use deform::{Binding, Placement};
use document::Document;
use glam::{DAffine3, DMat4};
use primitives::Shape;
use rig::{Rig, identity_of};
use skeleton::Skeletons;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use takes::Takes;
use tree::Tree;

/// Most bytes of paths: nodes that nest deep have long ones.
const MAX_PATHS: usize = 1 << 28;
/// Most numbers of all skins together.
const MAX_SKIN_NUMBERS: usize = 1 << 28;

/// Opens a `.gltf` or `.glb` file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let fps = options.source_fps;
    if !(fps.is_finite() && fps > 0.0) {
        return Err(Error::misuse(format!("{fps} frames per second: must be above 0")));
    }
    let document = Arc::new(Document::open(path)?);
    let mut remarks = Vec::new();
    let tree = Tree::new(&document, &mut remarks)?;
    let root = &document.root;
    let file = path.display().to_string();
    check_references(&document)?;
    let targets = |node: usize| {
        let mesh = root.nodes[node].mesh;
        let first = mesh.and_then(|m| root.meshes[m].primitives.first());
        first.map_or(0, |primitive| primitive.targets.len())
    };
    let animations = animation::read(&document, targets, &mut remarks)?;
    let played = played(&document, &animations, options.animation.as_deref())?;
    let chosen = chosen(&document, &tree)?;
    let bare = root.skins.is_empty() && !root.nodes.iter().any(|node| node.mesh.is_some());
    let all = bare && animations.iter().any(|a| !a.nodes.is_empty());
    let skeletons = Skeletons::new(&document, &tree, &animations, all, &mut remarks)?;
    let (clips, of_clip) = skeletons.clips(&document, &tree, &animations, fps, &mut remarks)?;
    let (takes, disputed) = takes(&animations, played, &skeletons, fps, &document)?;
    let ranges = match played {
        Played::All => takes.ranges(),
        _ => Vec::new(),
    };
    let tree = Arc::new(tree);
    let rig = Arc::new(Rig { tree: tree.clone(), takes });
    let alone: Vec<Arc<Rig>> = (of_clip.iter())
        .map(|&a| Arc::new(Rig { tree: tree.clone(), takes: Takes::any_time(&animations[a]) }))
        .collect();
    let drivers = clips.iter().map(|clip| clip.skeleton).zip(alone).collect();
    let mut builder = Builder {
        document: &document,
        rig: &rig,
        skeletons: &skeletons,
        drivers,
        shapes: HashMap::new(),
        meshes: HashMap::new(),
        scene: Scene {
            unit: Some(Unit::Metre),
            fps: rig.takes.fps(),
            ranges,
            format: "gltf",
            files: document.buffer_files(),
            ..Scene::default()
        },
        remarks,
        path_bytes: 0,
        skin_numbers: 0,
        sampled: false,
    };
    builder.nodes(&chosen)?;
    let (mut scene, mut remarks, sampled) = (builder.scene, builder.remarks, builder.sampled);
    let moved = sampled || scene.nodes.iter().any(|n| n.samples > 1);
    if let (Some(fps), true) = (rig.takes.guessed(), sampled) {
        let what = format!("the keys are not at even times; meshes were sampled at {fps} frames per second");
        remarks.push(Remark::new(&file, what));
    }
    if let (true, true, Played::First(first)) = (moved, disputed, played) {
        remarks.push(Remark::new(&file, disputed_animations(&animations, first)));
    }
    remark_left_out(&document, &file, &mut remarks);
    let asset = &root.asset;
    for (key, value) in [("generator", &asset.generator), ("copyright", &asset.copyright)] {
        if let Some(value) = value {
            scene.metadata.push((key.into(), value.clone()));
        }
    }
    // Whoever compares must know how fine its numbers are.
    if root.extensions_used.iter().any(|e| e == "KHR_mesh_quantization") {
        scene.metadata.push(("extensions".into(), root.extensions_used.join(" ")));
    }
    scene.skeletons = skeletons.list;
    scene.clips = clips;
    scene.counts = scene.count()?;
    scene.counts.cameras = root.cameras.len();
    Ok((scene, remarks))
}

/// The meshes and skins of nodes are there.
fn check_references(document: &Document) -> Result<(), Error> {
    let root = &document.root;
    for (n, node) in root.nodes.iter().enumerate() {
        let missing = |what: &str, number: Option<usize>, there: usize| match number {
            Some(i) if i >= there => {
                Err(document.wrong(format!("{what} {i} is not there"), format!("node {n}")))
            }
            _ => Ok(()),
        };
        missing("mesh", node.mesh, root.meshes.len())?;
        missing("skin", node.skin, root.skins.len())?;
        missing("camera", node.camera, root.cameras.len())?;
    }
    Ok(())
}

/// Says that several animations move a node, and which one it follows.
fn disputed_animations(animations: &[Animation], first: usize) -> String {
    format!(
        "{} animations: {}; what several of them move follows '{}' (--animation NAME or number takes another, --animation all has them one after the other)",
        animations.len(),
        listed(animations),
        animations[first].name
    )
}

/// Remarks on lights, extensions and extras that nothing is taken from.
fn remark_left_out(document: &Document, file: &str, remarks: &mut Vec<Remark>) {
    let root = &document.root;
    if root.extensions_used.iter().any(|e| e == "KHR_lights_punctual") {
        let what = "lights: their transforms are kept as nodes, colours and intensities are left out";
        remarks.push(Remark::new(file, what));
    }
    for extension in root.extensions_used.iter().filter(|e| !document::is_known(e)) {
        let what = format!("what extension {} adds was left out", document::shown(extension));
        remarks.push(Remark::new(file, what));
    }
    remarks.extend(extras(document));
}

/// Remarks on extras that nothing is taken from, by what they belong to.
fn extras(document: &Document) -> Vec<Remark> {
    /// Most keys that are named.
    const SHOWN: usize = 12;
    let root = &document.root;
    let of = |whose: &str, all: &mut dyn Iterator<Item = &serde_json::Value>, known: &[&str]| {
        let (mut keys, mut count) = (std::collections::BTreeSet::new(), 0usize);
        for extras in all {
            let unknown: Vec<&str> = match extras {
                serde_json::Value::Null => Vec::new(),
                serde_json::Value::Object(map) => {
                    let keys = map.keys().map(String::as_str);
                    keys.filter(|key| !known.contains(key)).collect()
                }
                _ => vec!["(no name)"],
            };
            count += usize::from(!unknown.is_empty());
            keys.extend(unknown);
        }
        let more = match keys.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown: Vec<String> = keys.iter().take(SHOWN).map(|key| document::shown(key)).collect();
        let what = format!("extras of {count} {whose} are not kept: {}{more}; left out", shown.join(", "));
        (count > 0).then(|| Remark::new(document.path.display().to_string(), what))
    };
    let nodes = of("nodes", &mut root.nodes.iter().map(|n| &n.extras), &["layer", "bias", "shell"]);
    let meshes = of("meshes", &mut root.meshes.iter().map(|m| &m.extras), &["targetNames"]);
    let skins = of("skins", &mut root.skins.iter().map(|s| &s.extras), &["clip"]);
    let animations = of("animations", &mut root.animations.iter().map(|a| &a.extras), &["events", "scalars"]);
    [nodes, meshes, skins, animations].into_iter().flatten().collect()
}

/// The roots of the scene that is shown.
fn chosen(document: &Document, tree: &Tree) -> Result<Vec<usize>, Error> {
    let root = &document.root;
    let Some(scene) = root.scenes.get(root.scene.unwrap_or(0)) else {
        if root.scene.is_some() {
            return Err(document.wrong("the scene is not there", "the scenes"));
        }
        let is_root = |node: &usize| tree.parents[*node].is_none();
        return Ok((0..root.nodes.len()).filter(is_root).collect());
    };
    let mut seen = vec![false; root.nodes.len()];
    for &node in &scene.nodes {
        match seen.get_mut(node) {
            Some(seen) if !*seen && tree.parents[node].is_none() => *seen = true,
            _ => {
                let what = format!("node {node} is no root, or is one twice");
                return Err(document.wrong(what, "the scene"));
            }
        }
    }
    Ok(scene.nodes.clone())
}

/// The animations that meshes and nodes follow.
#[derive(Clone, Copy)]
enum Played {
    /// This animation, and where it does nothing the first that does.
    First(usize),
    /// This one alone.
    Only(usize),
    /// All, one after the other.
    All,
}

/// The animation that is `wanted` by name or number, else the first in which anything changes: many files
/// begin with a pose.
fn played(document: &Document, animations: &[Animation], wanted: Option<&str>) -> Result<Played, Error> {
    let Some(wanted) = wanted else {
        let moving = animations.iter().position(Animation::moves);
        return Ok(Played::First(moving.unwrap_or(0)));
    };
    if wanted == ReadOptions::ALL_ANIMATIONS {
        return Ok(Played::All);
    }
    let named = animations.iter().position(|a| a.name == wanted);
    let number = || wanted.parse().ok().filter(|n| *n < animations.len());
    named.or_else(number).map(Played::Only).ok_or_else(|| {
        let there = match animations {
            [] => "it has none".into(),
            _ => format!("there are {}", listed(animations)),
        };
        let path = document.path.display();
        Error::misuse(format!("{path}: no animation is called '{wanted}': {there}"))
    })
}

/// Numbers and names, of many the first ones.
fn listed(animations: &[Animation]) -> String {
    const SHOWN: usize = 24;
    let one = |(a, animation): (usize, &Animation)| format!("{a} '{}'", animation.name);
    let mut list: Vec<String> = animations.iter().enumerate().take(SHOWN).map(one).collect();
    if animations.len() > SHOWN {
        list.push(format!("and {} more", animations.len() - SHOWN));
    }
    list.join(", ")
}

/// The animation that moves meshes and nodes; and whether several animations would have moved one of them.
fn takes(
    animations: &[Animation],
    played: Played,
    skeletons: &Skeletons,
    fps: f64,
    document: &Arc<Document>,
) -> Result<(Takes, bool), Error> {
    if let Played::All = played
        && let Some(takes) = Takes::all(animations, fps, document)?
    {
        return Ok((takes, false));
    }
    let (take, disputed) = take(animations, played, skeletons);
    Ok((Takes::one(take, fps, document)?, disputed))
}

/// For each skeleton, and each other node, what moves it; and whether something else would have moved one of
/// them.
fn take(animations: &[Animation], played: Played, skeletons: &Skeletons) -> (Animation, bool) {
    let mut disputed = false;
    let mut out = Animation::default();
    let mut of_skeleton: Vec<Option<usize>> = vec![None; skeletons.nodes.len()];
    let (first, others) = match played {
        Played::First(first) => (first, animations.len()),
        Played::Only(only) => (only, 0),
        Played::All => (0, 0),
    };
    let order = [first].into_iter().chain((0..others).filter(|a| *a != first));
    for (a, animation) in order.filter_map(|a| Some((a, animations.get(a)?))) {
        for (&node, curves) in &animation.nodes {
            if let Some((s, _)) = skeletons.of_node[node]
                && *of_skeleton[s].get_or_insert(a) != a
            {
                disputed = true;
                continue;
            }
            disputed |= out.nodes.contains_key(&node);
            out.nodes.entry(node).or_insert_with(|| curves.clone());
        }
    }
    (out, disputed)
}

/// The local matrix of a node.
struct Local {
    rig: Arc<Rig>,
    node: usize,
    sampling: Arc<TimeSampling>,
    samples: usize,
}

impl Local {
    fn cubic(&self) -> bool {
        let mut curves = (self.rig.takes.of_node(self.node)).flat_map(Curves::of_transform);
        curves.any(animation::Curve::bends)
    }

    fn at(&self, i: usize) -> DAffine3 {
        let (animation, time) = self.rig.takes.at(self.sampling.time(i));
        self.rig.tree.matrix(self.node, animation, time)
    }
}

impl Source<DMat4> for Local {
    fn len(&self) -> usize {
        self.samples
    }
    fn identity(&self, i: usize) -> Identity {
        identity_of(&self.at(i).to_cols_array())
    }
    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        out.clear();
        out.push(self.at(i).into());
        Ok(())
    }
    // Players turn nodes on the chord, not evenly.
    fn bends(&self) -> bool {
        let turns = |curves: &Curves| {
            let rotation = curves.rotation.as_ref();
            rotation.is_some_and(|curve| !curve.is_constant() && !curve.is_step())
        };
        self.samples > 1 && (self.cubic() || self.rig.takes.of_node(self.node).any(turns))
    }
    fn between(&self, time: f64, out: &mut Vec<DMat4>) -> Result<bool, Error> {
        // Lines and slerp between keys are the usual way.
        if !self.cubic() {
            return Ok(false);
        }
        let (animation, time) = self.rig.takes.at(time);
        let matrix = self.rig.tree.matrix(self.node, animation, time);
        out.clear();
        out.push(matrix.into());
        Ok(true)
    }
}

struct Builder<'a> {
    document: &'a Arc<Document>,
    rig: &'a Arc<Rig>,
    skeletons: &'a Skeletons,
    /// For each clip its skeleton, and what plays its animation.
    drivers: Vec<(usize, Arc<Rig>)>,
    /// Meshes of the file; `None` for one without faces.
    shapes: HashMap<usize, Option<Arc<Shape>>>,
    /// Meshes of the scene that nothing moves, by number in the file.
    meshes: HashMap<usize, usize>,
    scene: Scene,
    remarks: Vec<Remark>,
    path_bytes: usize,
    skin_numbers: usize,
    /// Whether something was sampled at the uniform times.
    sampled: bool,
}

impl<'a> Builder<'a> {
    /// All nodes below `roots`, but joints that carry nothing.
    fn nodes(&mut self, roots: &[usize]) -> Result<(), Error> {
        let root = &self.document.root;
        let tree = &self.rig.tree;
        // Not a joint, or something of it or below is shown.
        let mut shown: Vec<bool> = (root.nodes.iter().zip(&self.skeletons.of_node))
            .map(|(node, joint)| joint.is_none() || node.mesh.is_some() || node.camera.is_some())
            .collect();
        for &node in tree.order.iter().rev() {
            if let (true, Some(parent)) = (shown[node], tree.parents[node]) {
                shown[parent] = true;
            }
        }
        // Nodes whose siblings' names are known: node, name, parent in the scene, whether its world transform
        // is one.
        let mut stack = Vec::new();
        self.siblings(roots, &shown, None, None, false, &mut stack);
        while let Some((node, name, parent, moved)) = stack.pop() {
            let path = self.path(parent, &name)?;
            let transform = self.transform(node);
            let moved = moved || transform.is_some();
            let id = self.scene.nodes.len();
            let camera = root.nodes[node].camera.map(|number| camera::lens(&root.cameras[number]));
            if camera == Some(None) {
                self.remarks
                    .push(Remark::new(&path, "its camera shows nothing with the numbers it has; left out"));
            }
            self.scene.nodes.push(Node {
                name,
                path,
                parent,
                kind: NodeKind::Xform,
                samples: transform.as_ref().map_or(1, |t| t.matrix.len()),
                transform,
                visibility: None,
                mesh: None,
                instance_of: None,
                camera: camera.flatten().map(|lens| Channel::constant(vec![lens])),
                user_properties: Vec::new(),
            });
            let mesh = root.nodes[node].mesh;
            let name = self.siblings(&root.nodes[node].children, &shown, mesh, Some(id), moved, &mut stack);
            if let (Some(mesh), Some(name)) = (mesh, name) {
                self.mesh(node, mesh, name, id, moved)?;
            }
        }
        Ok(())
    }

    /// Pushes the shown ones of `children` with names of their own; gives the name of the mesh among them.
    fn siblings(
        &self,
        children: &[usize],
        shown: &[bool],
        mesh: Option<usize>,
        parent: Option<usize>,
        moved: bool,
        stack: &mut Vec<(usize, String, Option<usize>, bool)>,
    ) -> Option<String> {
        let root = &self.document.root;
        let children: Vec<usize> = children.iter().copied().filter(|&n| shown[n]).collect();
        let mesh_name = mesh.map(|m| root.meshes[m].name.as_deref());
        let names = mesh_name.into_iter().chain(children.iter().map(|&n| root.nodes[n].name.as_deref()));
        let mut names = shape::node_names(names, "node").into_iter();
        let own = mesh.and_then(|_| names.next());
        let first = stack.len();
        for (&child, name) in children.iter().zip(names) {
            stack.push((child, name, parent, moved));
        }
        stack[first..].reverse();
        own
    }

    fn path(&mut self, parent: Option<usize>, name: &str) -> Result<String, Error> {
        let above = parent.map_or("", |p| &self.scene.nodes[p].path);
        self.path_bytes += above.len() + name.len() + 1;
        if self.path_bytes > MAX_PATHS {
            return Err(Error::limit(
                &self.document.path,
                "bytes of node paths; the nodes nest too deep",
                self.path_bytes as u64,
                MAX_PATHS as u64,
            ));
        }
        Ok(format!("{above}/{name}"))
    }

    /// The node's transform; `None` where it is none.
    fn transform(&mut self, node: usize) -> Option<Transform> {
        let tree = &self.rig.tree;
        let takes = &self.rig.takes;
        let curves = takes.of_node(node).flat_map(Curves::of_transform);
        if curves.count() == 0 && tree.is_identity(node) {
            return None;
        }
        let (sampling, samples) = match takes.moves(node) {
            true => self.times(node, |curves| curves.of_transform().collect()),
            false => (AT_ONCE, 1),
        };
        let sampling = Arc::new(sampling);
        let source = Local { rig: self.rig.clone(), node, sampling: sampling.clone(), samples };
        Some(Transform { matrix: Channel::new(sampling, Arc::new(source)), inherits: None })
    }

    /// The times at which curves of a node are sampled.
    fn times(
        &mut self,
        node: usize,
        part: fn(&'a Curves) -> Vec<&'a animation::Curve>,
    ) -> (TimeSampling, usize) {
        let (times, sampled) = self.rig.takes.times(node, part);
        self.sampled |= sampled;
        let samples = times.len();
        (TimeSampling::Acyclic { times }, samples)
    }

    fn shape(&mut self, mesh: usize) -> Result<Option<Arc<Shape>>, Error> {
        if let Some(shape) = self.shapes.get(&mesh) {
            return Ok(shape.clone());
        }
        let shape = Shape::new(self.document, mesh, &mut self.remarks)?.map(Arc::new);
        self.shapes.insert(mesh, shape.clone());
        Ok(shape)
    }

    /// Hangs mesh number `number` of the file below the scene's node `parent`, which is `node` of the file.
    fn mesh(
        &mut self,
        node: usize,
        number: usize,
        name: String,
        parent: usize,
        moved: bool,
    ) -> Result<(), Error> {
        let path = self.path(Some(parent), &name)?;
        let Some(shape) = self.shape(number)? else {
            return Ok(());
        };
        let skin = self.document.root.nodes[node].skin;
        let skin = skin.filter(|_| shape.is_bound());
        let deforms = skin.is_some() || shape.targets > 0;
        let id = match self.meshes.get(&number).filter(|_| !deforms) {
            Some(id) => *id,
            None => {
                let placement = match deforms {
                    true => Some(self.placement(node, number, &shape, skin)?),
                    false => None,
                };
                let mesh: Mesh = mesh::mesh(&shape, &path, placement, &mut self.remarks)?;
                self.scene.meshes.push(mesh);
                let id = self.scene.meshes.len() - 1;
                if !deforms {
                    self.meshes.insert(number, id);
                }
                id
            }
        };
        // A skinned mesh stands in the world already.
        let transform = (skin.is_some() && moved).then(|| Transform {
            matrix: Channel::constant(vec![DMat4::IDENTITY]),
            inherits: Some(Channel::constant(vec![false])),
        });
        self.scene.nodes.push(Node {
            name,
            path,
            parent: Some(parent),
            kind: NodeKind::PolyMesh,
            transform,
            visibility: None,
            mesh: Some(id),
            instance_of: None,
            samples: self.scene.meshes[id].positions.len(),
            camera: None,
            user_properties: Vec::new(),
        });
        Ok(())
    }

    /// How mesh number `number` of the file is moved on `node`.
    fn placement(
        &mut self,
        node: usize,
        number: usize,
        shape: &Shape,
        skin: Option<usize>,
    ) -> Result<Placement<'a>, Error> {
        let (document, rig, skeletons) = (self.document, self.rig, self.skeletons);
        let root = &document.root;
        let own = root.nodes[node].weights.as_ref();
        let mut out = Placement {
            rig,
            node,
            skin: None,
            weights: own.unwrap_or(&root.meshes[number].weights).clone(),
            sampling: None,
        };
        if out.weights.iter().any(|w| animation::is_wild(*w)) {
            return Err(document.wrong("weights that are no numbers", format!("node {node}")));
        }
        let Some(skin) = skin else {
            if rig.takes.of_node(node).any(|c| c.weights.is_some()) {
                out.sampling = Some(self.times(node, |c| c.weights.iter().collect()));
            }
            return Ok(out);
        };
        self.skin_numbers = self.skin_numbers.saturating_add(shape.skin_numbers());
        if self.skin_numbers > MAX_SKIN_NUMBERS {
            return Err(Error::limit(
                &document.path,
                "points and weights of skins",
                self.skin_numbers as u64,
                MAX_SKIN_NUMBERS as u64,
            ));
        }
        let joints = &root.skins[skin].joints;
        let inverse_bind = match root.skins[skin].inverse_bind_matrices {
            None => vec![DAffine3::IDENTITY; joints.len()],
            Some(accessor) => {
                let values = document.values(accessor, 16)?.floats::<16>()?;
                let wild = |v: &f32| animation::is_wild(f64::from(*v));
                if values.len() < joints.len() || values.iter().flatten().any(wild) {
                    let what = "too few inverse bind matrices, or such that are no numbers";
                    return Err(document.wrong(what, format!("skin {skin}")));
                }
                let matrix = |m: &[f32; 16]| DMat4::from_cols_array(&m.map(f64::from));
                let affine = |m: &[f32; 16]| DAffine3::from_mat4(matrix(m));
                values[..joints.len()].iter().map(affine).collect()
            }
        };
        let skeleton = skeletons.of_skin[skin];
        let nodes = skeletons.nodes[skeleton].iter();
        let place: HashMap<usize, usize> = nodes.enumerate().map(|(j, &node)| (node, j)).collect();
        let numbers = joints.iter().map(|node| place[node]).collect();
        out.skin = Some(Binding {
            nodes: joints,
            inverse_bind,
            skeleton,
            joints: numbers,
            clips: (self.drivers.iter().enumerate())
                .filter(|(_, (own, _))| *own == skeleton)
                .map(|(clip, (_, rig))| (clip, rig.clone()))
                .collect(),
        });
        if let Some(sampling) = rig.takes.sampling() {
            self.sampled = true;
            out.sampling = Some(sampling);
        }
        Ok(out)
    }
}

const AT_ONCE: TimeSampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
