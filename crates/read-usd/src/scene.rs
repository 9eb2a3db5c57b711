//! Builds a [`Scene`] from a composed stage: walks the prims and reads each by its type. Unsupported content
//! becomes a remark.

use super::binding::{SkinBinding, SkinBindings};
use super::compose::{InstanceKey, Prim, Specifier, Stage};
use super::inherited::InheritedPrimvars;
use super::instancer::Instancer;
use super::mesh::{self, UnassignedFaces};
use super::samples::Timeline;
use super::site::is_within;
use super::skel::{self, MeshBinding, SkeletonCache};
use super::spline_samples::CodeRange;
use super::stack::{abbreviated, layer_field};
use super::value::Value;
use super::{camera, particles, primitives, xform};
use meshreel_scene::{Channel, Error, FaceSet, LengthUnit, Node, NodeId, NodeKind, Remark, Scene};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the depth of the tree; deeper prims are cut off.
const MAX_DEPTH: usize = 512;
/// Upper limit for the bytes of all paths.
const MAX_PATH_BYTES: usize = 256 << 20;
/// Upper limit for the nodes.
const MAX_NODES: usize = 1 << 22;
/// The approximate memory of a channel in bytes, without parts shared by all channels of the same times.
const CHANNEL_BYTES: usize = 256;

/// Opens a USD file of any form. What goes on beyond its samples, as splines that are extrapolated do, is
/// read up to the ends of everything else. These are known once the file is read; where it matters, it is
/// read again. [`Scene::files`] are those that it names, without itself.
pub fn open(path: &Path) -> Result<(Scene, Vec<Remark>), Error> {
    let opened = read(path, None)?;
    let Some(range) = opened.uncovered else {
        return Ok((opened.scene, opened.remarks));
    };
    drop(opened);
    match read(path, Some(range)) {
        Err(Error::Limit { what, .. }) => {
            let mut opened = read(path, None)?;
            let CodeRange { first, last } = range;
            let what = format!(
                "what goes on beyond its samples is held before time code {first} or after {last}: {what}"
            );
            opened.remarks.push(Remark::new("/", what));
            Ok((opened.scene, opened.remarks))
        }
        again => again.map(|again| (again.scene, again.remarks)),
    }
}

/// A scene with its remarks.
struct OpenedScene {
    scene: Scene,
    remarks: Vec<Remark>,
    /// The range of all samples, if something that goes on beyond its own was not read for all of it.
    uncovered: Option<CodeRange>,
}

fn read(path: &Path, range: Option<CodeRange>) -> Result<OpenedScene, Error> {
    let stage = Stage::open(path, range)?;
    let rate = stage.root_stack().rate()?;
    let mut walk = StageReader {
        stage,
        timeline: Timeline::new(rate),
        scene: Scene { format: "usd", ..Scene::default() },
        z_up: false,
        path_bytes: 0,
        rigs: SkeletonCache::default(),
        bindings: SkinBindings::default(),
        primvars: InheritedPrimvars::default(),
        shared: HashMap::new(),
    };
    walk.head(rate)?;
    walk.read_prims()?;
    let StageReader { mut scene, stage, rigs, timeline, .. } = walk;
    let uncovered = Some(timeline.range()).filter(|range| !stage.covers(*range));
    scene.skeletons = rigs.skeletons;
    scene.clips = rigs.clips;
    let (mut remarks, mut files) = stage.finish();
    files.retain(|file| file != path);
    scene.files = files;
    match scene.count() {
        Ok(counts) => scene.counts = counts,
        Err(error) => remarks.push(Remark::new("/", format!("not counted: {error}"))),
    }
    Ok(OpenedScene { scene, remarks, uncovered })
}

/// The state that a prim passes on to prims below it.
#[derive(Clone)]
struct InheritedState {
    /// The name of the material, the last part of its path.
    material: Option<Arc<str>>,
    /// The skin binding.
    binding: Arc<SkinBinding>,
    /// The number of the list of inherited primvars.
    primvars: usize,
}

/// A prim still to be read.
struct PendingPrim {
    prim: Prim,
    /// Its path in the scene; below an instance, it begins with the path of the instance.
    path: String,
    parent: Option<NodeId>,
    depth: usize,
    inherited: InheritedState,
    /// The key by which prims with the same children find it.
    key: Option<SharedKey>,
}

/// An instance of an instancer, still to be made.
struct PendingInstance {
    instancer: Arc<Instancer>,
    instance: usize,
    parent: NodeId,
    depth: usize,
    inherited: InheritedState,
}

enum Pending {
    Prim(Box<PendingPrim>),
    Instance(PendingInstance),
}

/// The key of nodes that share their children: the specs of a prim or the path of a prototype, and the
/// inherited state.
#[derive(Clone, PartialEq, Eq, Hash)]
enum SharedKey {
    Specs(InstanceKey, InheritedKey),
    Prototype(Arc<str>, InheritedKey),
}

/// Material, the numbers of the primvar list and the skin binding, and the path of the prim if a skeleton
/// outside of it moves it.
type InheritedKey = (Option<Arc<str>>, [usize; 2], Option<Arc<str>>);

impl InheritedState {
    /// Returns the inherited state that prims with shared children must have in common. If a skeleton outside
    /// the prim at `path` moves it, the path is part of it.
    fn key(&self, path: &str) -> InheritedKey {
        let outside = |skeleton: &&Arc<str>| !is_within(skeleton, path);
        let place = self.binding.skeleton.as_ref().filter(outside).map(|_| path.into());
        (self.material.clone(), [self.primvars, self.binding.number], place)
    }
}

struct StageReader {
    stage: Stage,
    timeline: Timeline,
    scene: Scene,
    z_up: bool,
    path_bytes: usize,
    rigs: SkeletonCache,
    bindings: SkinBindings,
    primvars: InheritedPrimvars,
    /// The first node for each key, and its children once they are needed.
    shared: HashMap<SharedKey, (NodeId, Option<Vec<NodeId>>)>,
}

impl StageReader {
    /// Reads the metadata of the file.
    fn head(&mut self, rate: f64) -> Result<(), Error> {
        let root = self.stage.root_stack().root_layer();
        let number = |name: &str| -> Result<Option<f64>, Error> {
            Ok(layer_field(root, name)?.and_then(|value| value.number()))
        };
        let text = |name: &str| -> Result<Option<Arc<str>>, Error> {
            Ok(layer_field(root, name)?.and_then(|value| value.text().cloned()))
        };
        let usable = |value: &f64| value.is_finite() && *value > 0.0;
        let fps = number("framesPerSecond")?.filter(usable).unwrap_or(rate);
        // A centimetre is the format's default.
        let metres = number("metersPerUnit")?.filter(usable).unwrap_or(0.01);
        let axis = text("upAxis")?;
        let mut metadata: Vec<(String, String)> = Vec::new();
        for name in ["comment", "documentation", "defaultPrim", "upAxis"] {
            if let Some(text) = text(name)?.filter(|text| !text.is_empty()) {
                metadata.push((name.into(), text.to_string()));
            }
        }
        for name in ["startTimeCode", "endTimeCode"] {
            if let Some(code) = number(name)? {
                metadata.push((name.into(), code.to_string()));
            }
        }
        let units = [LengthUnit::Metre, LengthUnit::Centimetre, LengthUnit::Millimetre, LengthUnit::Inch];
        let near = |unit: &LengthUnit| (unit.metres() / metres - 1.0).abs() < 1e-6;
        let unit = units.into_iter().find(near);
        if unit.is_none() {
            let what = format!(
                "its unit of length is {metres} m, which has no name here; say --unit where it matters"
            );
            self.stage.remark("/", what);
        }
        self.scene.unit = unit;
        self.scene.fps = Some(fps);
        self.scene.metadata = metadata;
        self.z_up = axis.as_deref() == Some("Z");
        Ok(())
    }

    fn read_prims(&mut self) -> Result<(), Error> {
        let root = self.stage.pseudo_root();
        let inherited = InheritedState { material: None, binding: Arc::default(), primvars: 0 };
        let mut stack = Vec::new();
        let children = self.stage.children(&root)?;
        push(&mut stack, children, (None, ""), 1, &inherited);
        while let Some(pending) = stack.pop() {
            match pending {
                Pending::Prim(pending) => self.prim(*pending, &mut stack)?,
                Pending::Instance(pending) => self.instance(pending, &mut stack)?,
            }
        }
        Ok(())
    }

    fn node(&mut self, node: Node) -> Result<NodeId, Error> {
        let id = self.scene.nodes.len();
        self.path_bytes += node.path.len();
        self.stage.charge_memory(node_bytes(&node))?;
        let name = &self.stage.root_stack().root_layer().name;
        if self.path_bytes > MAX_PATH_BYTES {
            let (asked, allowed) = (self.path_bytes as u64, MAX_PATH_BYTES as u64);
            return Err(Error::limit(name, "bytes of paths; export it in parts", asked, allowed));
        }
        if id >= MAX_NODES {
            let (asked, allowed) = (id as u64 + 1, MAX_NODES as u64);
            return Err(Error::limit(name, "nodes; export it in parts", asked, allowed));
        }
        self.scene.nodes.push(node);
        Ok(id)
    }

    fn prim(&mut self, pending: PendingPrim, stack: &mut Vec<Pending>) -> Result<(), Error> {
        let PendingPrim { prim, path, parent, depth, mut inherited, key } = pending;
        self.stage.release_memory(&prim);
        let is_prototype = matches!(key, Some(SharedKey::Prototype(..)));
        if !self.is_shown(&prim, is_prototype)? {
            return Ok(());
        }
        let type_name = self.stage.text(&prim, "typeName")?.unwrap_or_default();
        let Some(kind) = self.kind(&prim, &type_name) else {
            return Ok(());
        };
        self.inherit(&prim, &type_name, &mut inherited)?;
        let turn = self.z_up.then_some(xform::Y_UP);
        let transform = match kind {
            NodeKind::Material => None,
            _ => xform::read(&mut self.stage, &prim, &mut self.timeline, turn, parent.is_none())?,
        };
        let mut node = Node { parent, transform, ..Node::new(path.as_str(), kind) };
        node.visibility = self.visibility(&prim)?;
        node.user_properties = self.user_properties(&prim)?;
        let specs = match self.stage.flag(&prim, "instanceable")? {
            Some(true) => self.stage.shared_key(&prim),
            _ => None,
        };
        if let Some(specs) = &specs {
            self.stage.charge_memory(size_of_val(&**specs))?;
        }
        let own = specs.map(|specs| SharedKey::Specs(specs, inherited.key(&prim.path)));
        let first = own.as_ref().and_then(|own| self.first_with_key(own, parent));
        let children = match first {
            None => self.stage.children(&prim)?,
            Some(_) => Vec::new(),
        };
        if &*type_name == "Skeleton" {
            let (skeleton, fps) = (prim.path.as_str().into(), self.scene.fps.unwrap_or(24.0));
            self.rigs.clip(&mut self.stage, &skeleton, &mut self.timeline, fps)?;
        }
        self.content(&prim, &type_name, (&children, &inherited), &mut node)?;
        if !children.is_empty() || &*type_name == "PointInstancer" {
            inherited.primvars = self.primvars.child_list(&mut self.stage, &prim, inherited.primvars)?;
        }
        if let Some(transform) = &node.transform {
            node.samples = node.samples.max(transform.local.len());
        }
        let id = self.node(node)?;
        for key in [key, own.clone()].into_iter().flatten() {
            self.shared.entry(key).or_insert((id, None));
        }
        if kind == NodeKind::Material || depth >= MAX_DEPTH {
            children.iter().for_each(|child| self.stage.release_memory(child));
        }
        if kind == NodeKind::Material {
            return Ok(());
        }
        if depth >= MAX_DEPTH {
            if !children.is_empty() {
                let what = format!("has children deeper than {MAX_DEPTH} levels; left out");
                self.stage.remark(&prim.path, what);
            }
            return Ok(());
        }
        match (first, own) {
            (Some(first), Some(own)) => self.copy_children(&own, first, id),
            _ if &*type_name == "PointInstancer" => self.instancer(&prim, id, depth, &inherited, stack),
            _ => {
                push(stack, children, (Some(id), &path), depth + 1, &inherited);
                Ok(())
            }
        }
    }

    /// Reads the mesh, the particles or the camera of a prim.
    fn content(
        &mut self,
        prim: &Prim,
        type_name: &str,
        (children, inherited): (&[Prim], &InheritedState),
        node: &mut Node,
    ) -> Result<(), Error> {
        let mesh = match type_name {
            "Mesh" | "TetMesh" => {
                let mesh = self.mesh((prim, type_name), children, inherited)?;
                node.kind = if mesh.is_subd { NodeKind::SubD } else { NodeKind::PolyMesh };
                Some(mesh)
            }
            "Camera" => {
                let rate = self.scene.fps.unwrap_or(24.0);
                let lens = camera::read(&mut self.stage, prim, &mut self.timeline, rate)?;
                node.samples = lens.len();
                node.camera = Some(lens);
                None
            }
            _ => {
                let primvars = self.primvars.list(inherited.primvars);
                let (stage, timeline) = (&mut self.stage, &mut self.timeline);
                let is_shape = !particles::is_type(type_name);
                let mut mesh = match is_shape {
                    true => primitives::read(stage, prim, type_name, timeline, primvars)?,
                    false => particles::read(stage, prim, type_name, timeline, primvars)?,
                };
                if let Some(mesh) = &mut mesh {
                    self.bind(prim, &inherited.binding, mesh, true)?;
                }
                mesh.map(|mesh| if is_shape { with_material(mesh, inherited) } else { mesh })
            }
        };
        if let Some(mut mesh) = mesh {
            mesh.path.clone_from(&node.path);
            self.stage.charge_memory(mesh_bytes(&mesh))?;
            node.samples = mesh.positions.len().max(mesh.face_indices.len());
            node.mesh = Some(self.scene.meshes.len());
            self.scene.meshes.push(mesh);
        }
        Ok(())
    }

    /// Adds the opinions of a prim that apply to itself and all below it.
    fn inherit(&mut self, prim: &Prim, type_name: &str, inherited: &mut InheritedState) -> Result<(), Error> {
        if let Some(material) = self.material(prim)? {
            inherited.material = Some(material);
        }
        inherited.binding = self.bindings.inherit(&mut self.stage, (prim, type_name), &inherited.binding)?;
        Ok(())
    }

    /// Returns the first node with this key, unless it is an ancestor: that one is not complete yet.
    fn first_with_key(&self, key: &SharedKey, parent: Option<NodeId>) -> Option<NodeId> {
        let (first, _) = self.shared.get(key)?;
        let mut above = parent;
        while let Some(id) = above {
            if id == *first {
                return None;
            }
            above = self.scene.nodes[id].parent;
        }
        Some(*first)
    }

    /// Adds a node below `parent` that is an instance of another one.
    fn add_instance_node(&mut self, parent: NodeId, of: NodeId) -> Result<(), Error> {
        let target = &self.scene.nodes[of];
        let of = target.instance_of.unwrap_or(of);
        let path = format!("{}/{}", self.scene.nodes[parent].path, target.name);
        let node = Node { parent: Some(parent), instance_of: Some(of), ..Node::new(path, target.kind) };
        self.node(node).map(drop)
    }

    /// Gives a node the children of the first one with this key.
    fn copy_children(&mut self, key: &SharedKey, first: NodeId, id: NodeId) -> Result<(), Error> {
        let known = self.shared.get(key).and_then(|(_, children)| children.clone());
        let children = match known {
            Some(children) => children,
            None => {
                let below = (first + 1..id).filter(|node| self.scene.nodes[*node].parent == Some(first));
                let children: Vec<NodeId> = below.collect();
                self.shared.insert(key.clone(), (first, Some(children.clone())));
                children
            }
        };
        children.into_iter().try_for_each(|child| self.add_instance_node(id, child))
    }

    fn instancer(
        &mut self,
        prim: &Prim,
        id: NodeId,
        depth: usize,
        inherited: &InheritedState,
        stack: &mut Vec<Pending>,
    ) -> Result<(), Error> {
        let Some(instancer) = Instancer::read(&mut self.stage, prim, &mut self.timeline)? else {
            return Ok(());
        };
        if instancer.prototypes.iter().any(|path| is_within(&prim.path, path)) {
            self.stage.remark(&prim.path, "has a prototype that contains it; left out");
            return Ok(());
        }
        let of = Arc::new(instancer);
        let pending = |instance| {
            let (of, inherited) = (of.clone(), inherited.clone());
            Pending::Instance(PendingInstance {
                instancer: of,
                instance,
                parent: id,
                depth: depth + 1,
                inherited,
            })
        };
        stack.extend((0..of.instances.len()).rev().map(pending));
        Ok(())
    }

    /// Makes an instance of an instancer: a node with its transform, and below it the prototype, or an
    /// instance of the prototype's node if that exists.
    fn instance(&mut self, pending: PendingInstance, stack: &mut Vec<Pending>) -> Result<(), Error> {
        let PendingInstance { instancer: of, instance, parent, depth, inherited } = pending;
        let own = &of.instances[instance];
        let prototype = of.prototypes[own.prototype].clone();
        let path = format!("{}/{}", self.scene.nodes[parent].path, own.name);
        let mut node = Node { parent: Some(parent), ..Node::new(path.as_str(), NodeKind::Xform) };
        let transform = of.transform(instance);
        node.samples = transform.local.len();
        node.transform = Some(transform);
        node.visibility = of.visibility(instance);
        let id = self.node(node)?;
        let key = SharedKey::Prototype(prototype.clone(), inherited.key(&prototype));
        if self.shared.contains_key(&key) {
            return match self.first_with_key(&key, Some(id)) {
                Some(first) => self.add_instance_node(id, first),
                None => {
                    self.stage.remark(&path, "is an instance of something that contains it; left out");
                    Ok(())
                }
            };
        }
        let Some(prim) = self.stage.prim_at(&prototype)?.filter(|_| depth < MAX_DEPTH) else {
            let what =
                format!("has the prototype '{}', which is not there; left out", abbreviated(&prototype));
            self.stage.remark(&path, what);
            return Ok(());
        };
        let (path, parent) = (format!("{path}/{}", prim.name), Some(id));
        let pending = PendingPrim { prim, path, parent, depth: depth + 1, inherited, key: Some(key) };
        stack.push(Pending::Prim(pending.into()));
        Ok(())
    }

    /// `true` if a prim is drawn. A prototype of an instancer may be a class or an override, which is not
    /// drawn in its own place.
    fn is_shown(&mut self, prim: &Prim, is_prototype: bool) -> Result<bool, Error> {
        match self.stage.specifier(prim)? {
            _ if is_prototype => {}
            Specifier::Def => {}
            Specifier::Class => return Ok(false),
            Specifier::Over => {
                self.stage.remark(&prim.path, "changes a prim that is not there; left out");
                return Ok(false);
            }
        }
        if self.stage.flag(prim, "active")? == Some(false) {
            return Ok(false);
        }
        let purpose = self.stage.attribute_text(prim, "purpose")?;
        if let Some(purpose) = purpose.filter(|purpose| matches!(&**purpose, "guide" | "proxy")) {
            let what = format!("is of the purpose '{purpose}'; it and all below is left out");
            self.stage.remark(&prim.path, what);
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns the kind of node for a type name; `None` for types that belong to another prim. Remarks on
    /// unsupported types.
    fn kind(&mut self, prim: &Prim, type_name: &str) -> Option<NodeKind> {
        let (kind, what) = match type_name {
            "Xform" | "SkelRoot" | "PointInstancer" => return Some(NodeKind::Xform),
            // Only the name is kept, as for glTF.
            "Material" => return Some(NodeKind::Material),
            "" | "Scope" | "Mesh" | "TetMesh" | "Skeleton" => return Some(NodeKind::Other),
            shape if primitives::is_type(shape) => return Some(NodeKind::PolyMesh),
            // Read with the mesh they belong to.
            "GeomSubset" | "SkelAnimation" | "BlendShape" => return None,
            "BasisCurves" | "HermiteCurves" | "NurbsCurves" => return Some(NodeKind::Curves),
            "Points" => return Some(NodeKind::Points),
            "Camera" => return Some(NodeKind::Camera),
            "NurbsPatch" => (NodeKind::NuPatch, "NURBS are not supported; left out"),
            light if light.ends_with("Light") || light.ends_with("Light_1") => {
                (NodeKind::Light, "light: its transform is kept as a node, colour and intensity are left out")
            }
            other => {
                let what = format!("prims of the type {} are not supported; left out", abbreviated(other));
                self.stage.remark(&prim.path, what);
                return Some(NodeKind::Other);
            }
        };
        self.stage.remark(&prim.path, what);
        Some(kind)
    }

    fn visibility(&mut self, prim: &Prim) -> Result<Option<Channel<i8>>, Error> {
        let attribute = self.stage.attribute(prim, "visibility")?;
        Ok(attribute.map(|attribute| {
            let decode = Box::new(|value: Value, out: &mut Vec<i8>| {
                let hidden = value.text().map(|text| &**text == "invisible");
                out.push(if hidden == Some(true) { 0 } else { -1 });
                hidden.is_some()
            });
            self.timeline.channel(&attribute, decode)
        }))
    }

    /// Returns name and type of each user property.
    fn user_properties(&mut self, prim: &Prim) -> Result<Vec<(String, String)>, Error> {
        let mut out = Vec::new();
        for name in self.stage.property_names(prim)? {
            if let Some(short) = name.strip_prefix("userProperties:")
                && let Some(attribute) = self.stage.attribute(prim, &name)?
            {
                out.push((short.to_owned(), attribute.type_name.to_string()));
            }
        }
        Ok(out)
    }

    /// Returns the name of the material bound to a prim.
    fn material(&mut self, prim: &Prim) -> Result<Option<Arc<str>>, Error> {
        for name in ["material:binding", "material:binding:full", "material:binding:preview"] {
            if let Some(path) = self.stage.targets(prim, name)?.into_iter().next() {
                return Ok(path.rsplit('/').next().map(Arc::from));
            }
        }
        Ok(None)
    }

    fn mesh(
        &mut self,
        (prim, type_name): (&Prim, &str),
        children: &[Prim],
        inherited: &InheritedState,
    ) -> Result<meshreel_scene::Mesh, Error> {
        let primvars = self.primvars.list(inherited.primvars);
        let (stage, timeline) = (&mut self.stage, &mut self.timeline);
        let mut mesh = match type_name {
            "TetMesh" => mesh::read_surface(stage, prim, timeline, primvars)?,
            _ => mesh::read(stage, prim, timeline, primvars)?,
        };
        self.bind(prim, &inherited.binding, &mut mesh, false)?;
        for child in children {
            let type_name = self.stage.text(child, "typeName")?.unwrap_or_default();
            if &*type_name == "GeomSubset" {
                self.subset(child, &mut mesh)?;
            }
        }
        Ok(with_material(mesh, inherited))
    }

    /// Binds a mesh to its skeleton, if there is one. Prims other than meshes may be below a skeleton that
    /// does not move them (`may_be_unbound`).
    fn bind(
        &mut self,
        prim: &Prim,
        binding: &SkinBinding,
        mesh: &mut meshreel_scene::Mesh,
        may_be_unbound: bool,
    ) -> Result<(), Error> {
        let fault = match (&binding.skeleton, binding.in_skel_root) {
            (None, _) => None,
            (Some(skeleton), true) => self.skin(prim, (binding, skeleton, may_be_unbound), mesh)?,
            (Some(_), false) => (!may_be_unbound).then(|| "it is not below a SkelRoot".into()),
        };
        if let Some(what) = fault {
            self.stage.remark(&prim.path, format!("{what}: it is shown as it was bound"));
        }
        Ok(())
    }

    /// Binds a mesh to its skeleton. The returned sentence says why the skin is left out.
    fn skin(
        &mut self,
        prim: &Prim,
        (binding, skeleton, may_be_unbound): (&SkinBinding, &Arc<str>, bool),
        mesh: &mut meshreel_scene::Mesh,
    ) -> Result<Option<String>, Error> {
        let fps = self.scene.fps.unwrap_or(24.0);
        let rig = self.rigs.clip(&mut self.stage, skeleton, &mut self.timeline, fps)?;
        let animation = self.rigs.animation(&mut self.stage, skeleton)?;
        let bound = MeshBinding { binding, skeleton, animation: animation.as_ref(), may_be_unbound };
        skel::deform(&mut self.stage, prim, bound, &mut self.timeline, (mesh, rig))
    }

    /// Adds a subset of a mesh's faces as a face set, if it is one of materials.
    fn subset(&mut self, prim: &Prim, mesh: &mut meshreel_scene::Mesh) -> Result<(), Error> {
        let family = self.stage.attribute_text(prim, "familyName")?;
        let element = self.stage.attribute_text(prim, "elementType")?;
        let material = self.material(prim)?;
        if element.is_some_and(|element| *element != *"face") {
            self.stage.remark(&prim.path, "is a subset of something else than faces; left out");
            return Ok(());
        }
        if family.is_some_and(|family| *family != *"materialBind") && material.is_none() {
            self.stage.remark(&prim.path, "is a set of faces without a material; left out");
            return Ok(());
        }
        let Some(faces) = self.stage.attribute(prim, "indices")? else {
            self.stage.remark(&prim.path, "is a set of faces without faces; left out");
            return Ok(());
        };
        let name = material.unwrap_or_else(|| prim.name.clone()).to_string();
        let faces = self.timeline.channel(&faces, super::samples::i32s());
        mesh.face_sets.push(FaceSet { name, faces });
        Ok(())
    }
}

/// Adds the inherited material to all faces that have none.
fn with_material(mut mesh: meshreel_scene::Mesh, inherited: &InheritedState) -> meshreel_scene::Mesh {
    if let Some(material) = &inherited.material {
        let taken = mesh.face_sets.iter().map(|set| set.faces.clone()).collect();
        let faces = UnassignedFaces { counts: mesh.face_counts.clone(), assigned: taken }.channel();
        mesh.face_sets.push(FaceSet { name: material.to_string(), faces });
    }
    mesh
}

/// Returns the approximate memory of a node in bytes.
fn node_bytes(node: &Node) -> usize {
    let channels = [node.transform.is_some(), node.visibility.is_some(), node.camera.is_some()];
    let channels = channels.into_iter().filter(|is| *is).count();
    let texts = node
        .user_properties
        .iter()
        .map(|(name, kind)| size_of::<(String, String)>() + name.len() + kind.len());
    size_of::<Node>()
        + node.name.len()
        + 2 * node.path.len()
        + channels * CHANNEL_BYTES
        + texts.sum::<usize>()
}

/// Returns the approximate memory of a mesh in bytes, without its values, which are read on demand.
fn mesh_bytes(mesh: &meshreel_scene::Mesh) -> usize {
    let attributes = mesh.uvs.len() + mesh.colours.len() + mesh.integers.len() + mesh.names.len();
    let channels = 4 + mesh.face_sets.len() + 2 * attributes + mesh.custom_attributes.len();
    let texts = mesh.other_attributes.iter();
    let texts = texts.map(|(name, what)| size_of::<(String, String)>() + name.len() + what.len());
    let channel = CHANNEL_BYTES + mesh.path.len();
    size_of::<meshreel_scene::Mesh>() + mesh.path.len() + channels * channel + texts.sum::<usize>()
}

/// Pushes children onto the stack so that the first one is taken first. `above`: their parent and its path.
fn push(
    stack: &mut Vec<Pending>,
    children: Vec<Prim>,
    above: (Option<NodeId>, &str),
    depth: usize,
    inherited: &InheritedState,
) {
    let (parent, path) = above;
    let pending = |prim: Prim| {
        let (path, inherited) = ([path, &*prim.name].join("/"), inherited.clone());
        Pending::Prim(PendingPrim { prim, path, parent, depth, inherited, key: None }.into())
    };
    stack.extend(children.into_iter().rev().map(pending));
}
