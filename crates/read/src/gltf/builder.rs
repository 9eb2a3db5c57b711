//! Builds the scene: nodes with transforms and visibility, meshes, instances and cameras.

use super::animation::{self, Animation, Curve, NodeCurves};
use super::camera;
use super::deform::{FileSkin, Placement};
use super::document::{CameraJson, Document};
use super::instances::InstanceReader;
use super::mesh;
use super::primitives::MeshAccessors;
use super::rig::{Rig, numbers_identity};
use super::skeleton::Skeletons;
use super::takes::CurveRelation;
use crate::parsed_mesh;
use glam::{DAffine3, DMat4};
use meshreel_scene::{
    Channel, Error, Identity, LengthUnit, Lens, LocalTransform, Mesh, Node, NodeKind, Qvv, Remark, Scene,
    Source, TimeSampling, Transform, Winding,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Upper limit for the bytes of all paths; deeply nested nodes have long ones.
const MAX_PATH_BYTES: usize = 1 << 28;
/// Upper limit for the numbers of all skins together.
const MAX_SKIN_NUMBERS: usize = 1 << 28;

/// The local transform of a node over time.
struct NodeTransform {
    rig: Arc<Rig>,
    node: usize,
    sampling: Arc<TimeSampling>,
    samples: usize,
}

impl NodeTransform {
    fn cubic(&self) -> bool {
        let mut curves = (self.rig.takes.node_curves(self.node)).flat_map(NodeCurves::transform_curves);
        curves.any(Curve::bends)
    }

    fn transform_at(&self, time: f64) -> LocalTransform {
        let (animation, time) = self.rig.takes.animation_at(time);
        self.rig.tree.transform(self.node, animation, time)
    }
}

impl Source<LocalTransform> for NodeTransform {
    fn len(&self) -> usize {
        self.samples
    }
    fn identity(&self, i: usize) -> Identity {
        match self.transform_at(self.sampling.time(i)) {
            LocalTransform::Matrix(matrix) => numbers_identity(&matrix.to_cols_array()),
            LocalTransform::Components(Qvv { rotation, translation, scale }) => {
                let [[x, y, z], [a, b, c]] = [translation, scale].map(|v| v.to_array());
                let [i, j, k, w] = rotation.to_array();
                numbers_identity(&[x, y, z, i, j, k, w, a, b, c])
            }
        }
    }
    fn read(&self, i: usize, out: &mut Vec<LocalTransform>) -> Result<(), Error> {
        out.clear();
        out.push(self.transform_at(self.sampling.time(i)));
        Ok(())
    }
    // Players interpolate rotations along the chord, not evenly.
    fn has_own_interpolation(&self) -> bool {
        let turns = |curves: &NodeCurves| {
            let rotation = curves.rotation.as_ref();
            rotation.is_some_and(|curve| !curve.is_constant() && !curve.is_step())
        };
        self.samples > 1 && (self.cubic() || self.rig.takes.node_curves(self.node).any(turns))
    }
    fn read_between(&self, time: f64, out: &mut Vec<LocalTransform>) -> Result<bool, Error> {
        out.clear();
        out.push(self.transform_at(time));
        Ok(true)
    }
}

/// The visibility of a node over time; a node below a hidden one is hidden regardless.
struct NodeVisibility {
    rig: Arc<Rig>,
    node: usize,
    visible_at_rest: bool,
    sampling: Arc<TimeSampling>,
    samples: usize,
}

impl NodeVisibility {
    fn is_visible(&self, i: usize) -> bool {
        self.rig.takes.is_shown(self.node, self.sampling.time(i), self.visible_at_rest)
    }
}

impl Source<i8> for NodeVisibility {
    fn len(&self) -> usize {
        self.samples
    }
    fn identity(&self, i: usize) -> Identity {
        self.is_visible(i).into()
    }
    fn read(&self, i: usize, out: &mut Vec<i8>) -> Result<(), Error> {
        out.clear();
        out.push(if self.is_visible(i) { INHERITED } else { 0 });
        Ok(())
    }
}

/// The visibility value of a node that inherits from its parent.
const INHERITED: i8 = -1;

pub(super) struct SceneBuilder<'a> {
    document: &'a Arc<Document>,
    rig: &'a Arc<Rig>,
    skeletons: &'a Skeletons,
    /// For each clip its skeleton, and the rig that plays its animation.
    drivers: Vec<(usize, Arc<Rig>)>,
    /// Meshes of the file; `None` for one without faces.
    shapes: HashMap<usize, Option<Arc<MeshAccessors>>>,
    /// Scene meshes that nothing moves, by their number in the file.
    meshes: HashMap<usize, usize>,
    pub scene: Scene,
    pub remarks: Vec<Remark>,
    path_bytes: usize,
    skin_numbers: usize,
    instances: InstanceReader,
    /// `true` if something was sampled at the uniform times.
    pub sampled: bool,
}

impl<'a> SceneBuilder<'a> {
    pub fn new(
        document: &'a Arc<Document>,
        rig: &'a Arc<Rig>,
        skeletons: &'a Skeletons,
        drivers: Vec<(usize, Arc<Rig>)>,
        remarks: Vec<Remark>,
    ) -> SceneBuilder<'a> {
        SceneBuilder {
            document,
            rig,
            skeletons,
            drivers,
            shapes: HashMap::new(),
            meshes: HashMap::new(),
            scene: Scene { unit: Some(LengthUnit::Metre), format: "gltf", ..Scene::default() },
            remarks,
            path_bytes: 0,
            skin_numbers: 0,
            instances: InstanceReader::new(),
            sampled: false,
        }
    }

    /// Adds all nodes below `roots` except joints that carry nothing.
    pub fn nodes(&mut self, roots: &[usize]) -> Result<(), Error> {
        let root = &self.document.root;
        let tree = &self.rig.tree;
        // Not a joint, or a joint that itself or below it shows something.
        let mut shown: Vec<bool> = (root.nodes.iter().zip(&self.skeletons.node_joints))
            .map(|(node, joint)| joint.is_none() || node.mesh.is_some() || node.camera.is_some())
            .collect();
        for &node in tree.order.iter().rev() {
            if let (true, Some(parent)) = (shown[node], tree.parents[node]) {
                shown[parent] = true;
            }
        }
        // Nodes whose sibling names are known: node, name, parent in the scene, and whether its world
        // transform may differ from the identity.
        let mut stack = Vec::new();
        self.push_children(roots, &shown, (None, 0), None, false, &mut stack);
        while let Some((node, name, parent, moved)) = stack.pop() {
            let path = self.path(parent, &name)?;
            let transform = self.transform(node);
            let moved = moved || transform.is_some();
            let id = self.scene.nodes.len();
            let camera = self.camera(node, &path);
            let visibility = self.visibility(node);
            let samples = [
                transform.as_ref().map_or(1, |t| t.local.len()),
                camera.as_ref().map_or(1, Channel::len),
                visibility.as_ref().map_or(1, Channel::len),
            ];
            let samples = samples.into_iter().fold(1, usize::max);
            let own = Node::new(path, NodeKind::Xform);
            self.scene.nodes.push(Node { name, parent, samples, transform, visibility, camera, ..own });
            let mesh = root.nodes[node].mesh;
            let places = self.instances.transforms(self.document, node, &mut self.remarks)?;
            let count = places.as_ref().map_or(usize::from(mesh.is_some()), Vec::len);
            let children = &root.nodes[node].children;
            let names = self.push_children(children, &shown, (mesh, count), Some(id), moved, &mut stack);
            if let Some(mesh) = mesh {
                self.mesh(node, mesh, (names, places), id, moved)?;
            }
        }
        Ok(())
    }

    /// Returns the lens of a node's camera over time.
    fn camera(&mut self, node: usize, path: &str) -> Option<Channel<Lens>> {
        let number = self.document.root.nodes[node].camera?;
        let json: &CameraJson = &self.document.root.cameras[number];
        let takes = &self.rig.takes;
        let lens = |time: f64| {
            let mut json = json.clone();
            let (animation, time) = takes.animation_at(time);
            for (part, curve) in animation.cameras.get(&number).into_iter().flatten() {
                let [value] = curve.value(time);
                part.set(&mut json, value);
            }
            camera::lens(&json)
        };
        let channel = match takes.may_change(takes.camera_curves(number).map(|(_, curve)| curve)) {
            false => lens(0.0).map(|lens| Channel::constant(vec![lens])),
            true => {
                let curves = |animation: &'a Animation| {
                    animation.cameras.get(&number).into_iter().flatten().map(|(_, c)| c).collect()
                };
                let (times, sampled) = takes.times(CurveRelation::Nonlinear, curves);
                self.sampled |= sampled;
                let all: Option<Vec<Vec<Lens>>> = times.iter().map(|t| Some(vec![lens(*t)?])).collect();
                all.map(|all| Channel::in_memory(TimeSampling::Acyclic { times }, all))
            }
        };
        if channel.is_none() {
            let what = "its camera shows nothing with the numbers it has; left out";
            self.remarks.push(Remark::new(path, what));
        }
        channel
    }

    /// Returns the visibility of a node and all below it; `None` if the file states none.
    fn visibility(&mut self, node: usize) -> Option<Channel<i8>> {
        let takes = &self.rig.takes;
        let rest =
            (self.document.root.nodes[node].extensions.visibility.as_ref()).is_none_or(|own| own.visible);
        if !takes.may_change(takes.node_curves(node).filter_map(|curves| curves.visible.as_ref())) {
            // Constant over time.
            let hidden = !takes.is_shown(node, 0.0, rest);
            return hidden.then(|| Channel::constant(vec![0]));
        }
        let curve = |animation: &'a Animation| {
            animation.nodes.get(&node).and_then(|curves| curves.visible.as_ref()).into_iter().collect()
        };
        let (times, _) = takes.times(CurveRelation::Held, curve);
        let samples = times.len();
        let sampling = Arc::new(TimeSampling::Acyclic { times });
        let source = NodeVisibility {
            rig: self.rig.clone(),
            node,
            visible_at_rest: rest,
            sampling: sampling.clone(),
            samples,
        };
        Some(Channel::new(sampling, Arc::new(source)))
    }

    /// Pushes those `children` that are shown, with unique names; returns `count` names among them for the
    /// mesh.
    fn push_children(
        &self,
        children: &[usize],
        shown: &[bool],
        (mesh, count): (Option<usize>, usize),
        parent: Option<usize>,
        moved: bool,
        stack: &mut Vec<(usize, String, Option<usize>, bool)>,
    ) -> Vec<String> {
        let root = &self.document.root;
        let children: Vec<usize> = children.iter().copied().filter(|&n| shown[n]).collect();
        let mesh_name = mesh.and_then(|m| root.meshes[m].name.as_deref());
        let names = std::iter::repeat_n(mesh_name, count)
            .chain(children.iter().map(|&n| root.nodes[n].name.as_deref()));
        let mut names = parsed_mesh::node_names(names, "node").into_iter();
        let own = names.by_ref().take(count).collect();
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
        if self.path_bytes > MAX_PATH_BYTES {
            return Err(Error::limit(
                &self.document.path,
                "bytes of node paths; the nodes nest too deep",
                self.path_bytes as u64,
                MAX_PATH_BYTES as u64,
            ));
        }
        Ok(format!("{above}/{name}"))
    }

    /// Returns the node's transform; `None` if it is always the identity.
    fn transform(&mut self, node: usize) -> Option<Transform> {
        let tree = &self.rig.tree;
        let takes = &self.rig.takes;
        let curves = takes.node_curves(node).flat_map(NodeCurves::transform_curves);
        if curves.count() == 0 && tree.is_identity(node) {
            return None;
        }
        let (sampling, samples) = match takes.moves(node) {
            true => {
                self.times(node, CurveRelation::Transform(node), |curves| curves.transform_curves().collect())
            }
            false => (CONSTANT_SAMPLING, 1),
        };
        let sampling = Arc::new(sampling);
        let source = NodeTransform { rig: self.rig.clone(), node, sampling: sampling.clone(), samples };
        Some(Transform { local: Channel::new(sampling, Arc::new(source)), inherits: None })
    }

    /// Returns the times at which curves of a node are sampled, and their number.
    fn times(
        &mut self,
        node: usize,
        way: CurveRelation,
        part: fn(&'a NodeCurves) -> Vec<&'a Curve>,
    ) -> (TimeSampling, usize) {
        let curves = |animation: &'a Animation| animation.nodes.get(&node).map_or(Vec::new(), part);
        let (times, sampled) = self.rig.takes.times(way, curves);
        self.sampled |= sampled;
        let samples = times.len();
        (TimeSampling::Acyclic { times }, samples)
    }

    fn shape(&mut self, mesh: usize) -> Result<Option<Arc<MeshAccessors>>, Error> {
        if let Some(shape) = self.shapes.get(&mesh) {
            return Ok(shape.clone());
        }
        let shape = MeshAccessors::new(self.document, mesh, &mut self.remarks)?.map(Arc::new);
        self.shapes.insert(mesh, shape.clone());
        Ok(shape)
    }

    /// Adds mesh number `number` of the file below the scene's node `parent`, which is `node` in the file:
    /// once, or at each of its places.
    fn mesh(
        &mut self,
        node: usize,
        number: usize,
        (names, places): (Vec<String>, Option<Vec<Qvv>>),
        parent: usize,
        moved: bool,
    ) -> Result<(), Error> {
        let Some(shape) = self.shape(number)? else {
            return Ok(());
        };
        let Some(path) = names.first().map(|name| self.path(Some(parent), name)).transpose()? else {
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
                let mut mesh: Mesh = mesh::mesh(&shape, &path, placement, &mut self.remarks)?;
                // The mesh is in world space, but its node determines which side of the faces is the front
                // (glTF 2.0, 3.7.2.1).
                if skin.is_some() && self.rig.tree.is_mirrored(node) {
                    mesh.winding = Winding::Clockwise;
                }
                self.scene.meshes.push(mesh);
                let id = self.scene.meshes.len() - 1;
                if !deforms {
                    self.meshes.insert(number, id);
                }
                id
            }
        };
        let samples = self.scene.meshes[id].positions.len();
        for (i, name) in names.into_iter().enumerate() {
            let path = if i == 0 { path.clone() } else { self.path(Some(parent), &name)? };
            let transform = match &places {
                Some(places) => Some((places[i].into(), None)),
                // A skinned mesh is already in world space.
                None if skin.is_some() && moved => Some((LocalTransform::IDENTITY, Some(false))),
                None => None,
            };
            let transform = transform.map(|(local, inherits)| Transform {
                local: Channel::constant(vec![local]),
                inherits: inherits.map(|inherits| Channel::constant(vec![inherits])),
            });
            let (parent, mesh) = (Some(parent), Some(id));
            let own = Node::new(path, NodeKind::PolyMesh);
            self.scene.nodes.push(Node { name, parent, transform, mesh, samples, ..own });
        }
        Ok(())
    }

    /// Returns how mesh number `number` of the file is moved on `node`.
    fn placement(
        &mut self,
        node: usize,
        number: usize,
        shape: &MeshAccessors,
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
        if out.weights.iter().any(|w| animation::is_unusable(*w)) {
            return Err(document.malformed("weights that are no numbers", format!("node {node}")));
        }
        let Some(skin) = skin else {
            if rig.takes.node_curves(node).any(|c| c.weight_curves().next().is_some()) {
                out.sampling =
                    Some(self.times(node, CurveRelation::AsKeyed, |c| c.weight_curves().collect()));
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
                let wild = |v: &f32| animation::is_unusable(f64::from(*v));
                if values.len() < joints.len() || values.iter().flatten().any(wild) {
                    let what = "too few inverse bind matrices, or such that are no numbers";
                    return Err(document.malformed(what, format!("skin {skin}")));
                }
                let matrix = |m: &[f32; 16]| DMat4::from_cols_array(&m.map(f64::from));
                let affine = |m: &[f32; 16]| DAffine3::from_mat4(matrix(m));
                values[..joints.len()].iter().map(affine).collect()
            }
        };
        let skeleton = skeletons.skin_skeletons[skin];
        let nodes = skeletons.nodes[skeleton].iter();
        let place: HashMap<usize, usize> = nodes.enumerate().map(|(j, &node)| (node, j)).collect();
        let numbers = joints.iter().map(|node| place[node]).collect();
        out.skin = Some(FileSkin {
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

const CONSTANT_SAMPLING: TimeSampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
