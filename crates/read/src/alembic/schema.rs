//! Builds a [`Scene`] from Alembic's core model: walks the objects and reads each by its schema. Unreadable
//! or unsupported content becomes a remark and a plain node; only a broken container is an error.

use super::channel::{ArchiveObject, i32s, numbers, read_bytes, size_of};
use super::core::{Archive, MetaData, ObjectHeader, PropertyHeader, PropertyKind};
use super::{camera, instance, mesh, particles, xform};
use meshreel_scene::{CustomAttribute, Error, FaceSet, Node, NodeId, NodeKind, Remark, Scene};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Upper limit for the depth of the tree; deeper objects are cut off.
const MAX_DEPTH: usize = 512;
/// Upper limit for the bytes of all paths together; a few long names can make many long paths.
const MAX_PATH_BYTES: usize = 256 << 20;

/// The kind of an object, determined by its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchemaKind {
    Node(NodeKind),
    FaceSet,
}

/// Name of the schema without its version, its kind, and the name of its compound.
const SCHEMAS: [(&str, SchemaKind, &str); 10] = [
    ("AbcGeom_Xform", SchemaKind::Node(NodeKind::Xform), ".xform"),
    ("AbcGeom_PolyMesh", SchemaKind::Node(NodeKind::PolyMesh), ".geom"),
    ("AbcGeom_SubD", SchemaKind::Node(NodeKind::SubD), ".geom"),
    ("AbcGeom_FaceSet", SchemaKind::FaceSet, ".faceset"),
    ("AbcGeom_Curve", SchemaKind::Node(NodeKind::Curves), ".geom"),
    ("AbcGeom_Points", SchemaKind::Node(NodeKind::Points), ".geom"),
    ("AbcGeom_NuPatch", SchemaKind::Node(NodeKind::NuPatch), ".geom"),
    ("AbcGeom_Camera", SchemaKind::Node(NodeKind::Camera), ".geom"),
    ("AbcGeom_Light", SchemaKind::Node(NodeKind::Light), ".geom"),
    ("AbcMaterial_Material", SchemaKind::Node(NodeKind::Material), ".material"),
];

/// Reads everything except samples.
pub fn read(archive: Arc<dyn Archive>) -> Result<(Scene, Vec<Remark>), Error> {
    let mut walk = ArchiveReader {
        scene: Scene {
            format: archive.format(),
            fps: fps(&*archive),
            metadata: metadata(&*archive),
            ..Scene::default()
        },
        archive,
        remarks: Vec::new(),
        instances: Vec::new(),
        seen: HashSet::new(),
        path_bytes: 0,
        custom_attributes: HashMap::new(),
    };
    walk.read_objects()?;
    let ArchiveReader { mut scene, mut remarks, instances, .. } = walk;
    instance::resolve(&mut scene.nodes, instances, &mut remarks);
    match scene.count() {
        Ok(counts) => scene.counts = counts,
        Err(error) => remarks.push(Remark::new("/", format!("not counted: {error}"))),
    }
    for mesh in &mut scene.meshes {
        if let Err(error) = mesh::materials_to_face_sets(mesh) {
            let what = format!("names of materials left out: {}", tolerate(error)?);
            remarks.push(Remark::new(&mesh.path, what));
        }
    }
    Ok((scene, remarks))
}

fn metadata(archive: &dyn Archive) -> Vec<(String, String)> {
    let pairs = archive.meta().0.split(';');
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    pairs.map(|(k, v)| (k.into(), v.into())).collect()
}

fn fps(archive: &dyn Archive) -> Option<f64> {
    let fps: f64 = archive.meta().get("FramesPerTimeUnit")?.trim().parse().ok()?;
    (fps.is_finite() && fps > 0.0).then_some(fps)
}

/// Sorts an error of reading one object: malformed or unsupported content becomes the text of a remark, other
/// errors stop the reader.
fn tolerate(error: Error) -> Result<String, Error> {
    match error {
        Error::Malformed { what, at, .. } => Ok(format!("{what}, at {at}")),
        Error::Unsupported { what, .. } => Ok(what),
        error => Err(error),
    }
}

struct ArchiveReader {
    archive: Arc<dyn Archive>,
    scene: Scene,
    remarks: Vec<Remark>,
    /// The nodes that are instances, with the path of their target.
    instances: Vec<(NodeId, String)>,
    /// The handles of the objects read so far; meeting one again is a fault of the file.
    seen: HashSet<u64>,
    path_bytes: usize,
    /// Numeric user properties of transforms.
    custom_attributes: HashMap<NodeId, Vec<CustomAttribute>>,
}

/// An object still to be read.
struct PendingObject {
    header: ObjectHeader,
    parent: Option<NodeId>,
    depth: usize,
}

impl ArchiveReader {
    fn remark(&mut self, path: &str, what: impl Into<String>) {
        self.remarks.push(Remark::new(path, what));
    }

    fn read_objects(&mut self) -> Result<(), Error> {
        let mut stack = Vec::new();
        let top = self.archive.children(self.archive.top())?;
        self.push(&mut stack, top, None, 1);
        while let Some(object) = stack.pop() {
            self.read_object(object, &mut stack)?;
        }
        Ok(())
    }

    /// Pushes children onto the stack so that the first one is taken first.
    fn push(
        &mut self,
        stack: &mut Vec<PendingObject>,
        children: Vec<ObjectHeader>,
        parent: Option<NodeId>,
        depth: usize,
    ) {
        let mut names = HashSet::with_capacity(children.len());
        let twice: Vec<String> = children
            .iter()
            .filter(|child| !names.insert(child.name.as_str()))
            .map(|child| format!("{}/{}", self.path(parent), child.name))
            .collect();
        for path in twice {
            self.remark(&path, "its parent has several children of this name");
        }
        stack.extend(children.into_iter().rev().map(|header| PendingObject { header, parent, depth }));
    }

    fn path(&self, node: Option<NodeId>) -> &str {
        node.map_or("", |id| &self.scene.nodes[id].path)
    }

    fn read_object(&mut self, object: PendingObject, stack: &mut Vec<PendingObject>) -> Result<(), Error> {
        let PendingObject { header, parent, depth } = object;
        let path: Arc<str> = format!("{}/{}", self.path(parent), header.name).into();
        self.path_bytes += path.len();
        if self.path_bytes > MAX_PATH_BYTES {
            let (asked, allowed) = (self.path_bytes as u64, MAX_PATH_BYTES as u64);
            let what = "bytes of object paths";
            return Err(Error::limit(self.archive.path(), what, asked, allowed));
        }
        if header.id != 0 && !self.seen.insert(header.id) {
            self.remark(&path, "is the same object as another one; left out");
            return Ok(());
        }
        let archive_object = ArchiveObject { archive: self.archive.clone(), path: path.clone() };
        let read = self.archive.properties_of(header.id);
        let properties = match read.and_then(|compound| self.archive.properties(compound)) {
            Ok(properties) => properties,
            Err(error) => {
                let what = format!("properties unreadable ({}); a plain node now", tolerate(error)?);
                self.remark(&path, what);
                Vec::new()
            }
        };
        let schema = find_schema(&header.meta, &properties);
        if let Some((SchemaKind::FaceSet, compound)) = schema {
            return self.add_face_set(&archive_object, header.name, parent, &properties, compound);
        }

        let mut node = Node {
            name: header.name,
            path: path.to_string(),
            parent,
            kind: NodeKind::Other,
            transform: None,
            visibility: visibility(&archive_object, &properties),
            mesh: None,
            instance_of: None,
            samples: 1,
            camera: None,
            user_properties: Vec::new(),
        };
        let id = self.scene.nodes.len();
        match self.instance_target(&properties)? {
            Some(source) => {
                node.visibility = None;
                self.instances.push((id, source));
                self.scene.nodes.push(node);
                // Everything else belongs to the instance's target.
                return Ok(());
            }
            None if header.meta.get("isInstance") == Some("1") => {
                self.remark(&path, "is an instance of nothing; an empty node now");
            }
            None => {}
        }
        if let Some((SchemaKind::Node(kind), compound)) = schema {
            self.read_schema(&archive_object, &mut node, kind, &properties, compound)?;
        }
        self.scene.nodes.push(node);

        let children = match self.archive.children(header.id) {
            Ok(children) => children,
            Err(error) => {
                let what = format!("children unreadable ({}); left out", tolerate(error)?);
                self.remark(&path, what);
                Vec::new()
            }
        };
        if depth >= MAX_DEPTH && !children.is_empty() {
            let what = format!("has children deeper than {MAX_DEPTH} levels; left out");
            self.remark(&path, what);
        } else {
            self.push(stack, children, Some(id), depth + 1);
        }
        Ok(())
    }

    /// Fills in the node according to its schema; a broken one leaves a plain node.
    fn read_schema(
        &mut self,
        object: &ArchiveObject,
        node: &mut Node,
        kind: NodeKind,
        properties: &[PropertyHeader],
        compound: &str,
    ) -> Result<(), Error> {
        let Some(compound) = find_compound(properties, compound) else {
            // An object may have a schema in its metadata only; its kind still counts.
            self.remark_kind(&object.path, kind);
            let is_mesh = matches!(kind, NodeKind::PolyMesh | NodeKind::SubD);
            if is_mesh {
                self.remark(&object.path, "has no geometry; a plain node now");
            }
            node.kind = if is_mesh { NodeKind::Other } else { kind };
            node.samples = 0;
            return Ok(());
        };
        let result = self.read_compound(object, node, kind, compound.id);
        if let Err(error) = result {
            let what = format!("unreadable ({}); a plain node now", tolerate(error)?);
            self.remark(&object.path, what);
        }
        Ok(())
    }

    fn read_compound(
        &mut self,
        object: &ArchiveObject,
        node: &mut Node,
        kind: NodeKind,
        compound: u64,
    ) -> Result<(), Error> {
        let properties = self.archive.properties(compound)?;
        match kind {
            NodeKind::Xform => {
                let (transform, fault) = xform::read(object, &properties)?;
                if let Some(fault) = fault {
                    self.remark(&object.path, format!("{fault}; taken as the identity"));
                }
                node.transform = transform;
                node.samples = xform::samples(&properties);
            }
            NodeKind::PolyMesh | NodeKind::SubD => {
                let is_subd = kind == NodeKind::SubD;
                match mesh::read(object, &properties, is_subd, &mut self.remarks)? {
                    Ok(mesh) => {
                        node.mesh = Some(self.scene.meshes.len());
                        self.scene.meshes.push(mesh);
                        node.samples = mesh::samples(&properties);
                    }
                    Err(fault) => {
                        self.remark(&object.path, format!("{fault}; a plain node now"));
                        return Ok(());
                    }
                }
            }
            NodeKind::Points | NodeKind::Curves => {
                match particles::read(object, &properties, kind, &mut self.remarks)? {
                    Ok(mesh) => {
                        node.mesh = Some(self.scene.meshes.len());
                        self.scene.meshes.push(mesh);
                    }
                    Err(fault) => self.remark(&object.path, format!("{fault}; left out")),
                }
                node.samples = mesh::samples(&properties);
            }
            _ => {
                let simple = properties.iter().map(|p| p.samples);
                node.samples = simple.max().unwrap_or(0);
                if kind == NodeKind::Camera {
                    node.camera = camera::read(object, &properties);
                    if node.camera.is_none() {
                        self.remark(&object.path, "is a camera whose lens values cannot be read; left out");
                    }
                }
            }
        }
        node.kind = kind;
        self.remark_kind(&object.path, kind);
        node.user_properties = mesh::user_properties(object, &properties, &mut self.remarks)?;
        let mut numbers = mesh::user_custom_attributes(object, &properties)?;
        match node.mesh {
            // The transform above a mesh supplies attributes that the mesh itself lacks.
            Some(mesh) => {
                let above = node.parent.and_then(|parent| self.custom_attributes.get(&parent));
                let numbers_of = &mut self.scene.meshes[mesh].custom_attributes;
                for more in numbers.drain(..).chain(above.into_iter().flatten().cloned()) {
                    let name = &more.attribute.name;
                    if !numbers_of.iter().any(|n| n.attribute.name == *name) {
                        numbers_of.push(more);
                    }
                }
            }
            None if kind == NodeKind::Xform && !numbers.is_empty() => {
                self.custom_attributes.insert(self.scene.nodes.len(), numbers);
            }
            None => {}
        }
        Ok(())
    }

    /// Remarks on kinds of nodes that are not carried over.
    fn remark_kind(&mut self, path: &str, kind: NodeKind) {
        let what = match kind {
            NodeKind::SubD => "subdivision surface: its control cage is used, not subdivided",
            NodeKind::NuPatch => "NURBS are not supported; left out",
            NodeKind::Light => {
                "light: the transform above it is kept as a node, colour and intensity are left out"
            }
            NodeKind::Material => "materials are not supported; left out",
            NodeKind::Xform
            | NodeKind::PolyMesh
            | NodeKind::Points
            | NodeKind::Curves
            | NodeKind::Camera
            | NodeKind::Other => return,
        };
        self.remark(path, what);
    }

    /// Adds a face set to the mesh that is its parent.
    fn add_face_set(
        &mut self,
        object: &ArchiveObject,
        name: String,
        parent: Option<NodeId>,
        properties: &[PropertyHeader],
        compound: &str,
    ) -> Result<(), Error> {
        let Some(mesh) = parent.and_then(|id| self.scene.nodes[id].mesh) else {
            self.remark(&object.path, "is a face set without a mesh; left out");
            return Ok(());
        };
        let Some(compound) = find_compound(properties, compound) else {
            self.remark(&object.path, "is a face set without faces; left out");
            return Ok(());
        };
        let faces = self.archive.properties(compound.id).and_then(|list| {
            let faces =
                list.iter().find(|p| p.name == ".faces" && p.kind != PropertyKind::Compound && p.samples > 0);
            let Some(faces) = faces else {
                return Ok(None);
            };
            self.archive.size(faces.id, 0)?;
            Ok(i32s(faces.pod).map(|decode| object.channel(faces, decode)))
        });
        match faces {
            Ok(Some(faces)) => self.scene.meshes[mesh].face_sets.push(FaceSet { name, faces }),
            Ok(None) => self.remark(&object.path, "is a face set without faces; left out"),
            Err(error) => {
                let what = format!("face set unreadable ({}); left out", tolerate(error)?);
                self.remark(&object.path, what);
            }
        }
        Ok(())
    }

    /// Returns the path of an instance's target.
    fn instance_target(&self, properties: &[PropertyHeader]) -> Result<Option<String>, Error> {
        use meshreel_scene::layout::alembic::Pod;
        let Some(source) = properties.iter().find(|p| {
            p.name == ".instanceSource"
                && p.kind != PropertyKind::Compound
                && p.pod == Pod::String
                && p.samples > 0
        }) else {
            return Ok(None);
        };
        let path = read_bytes(&*self.archive, source.id, 0, |bytes| {
            let text = bytes.split(|b| *b == 0).next().unwrap_or(&[]);
            String::from_utf8_lossy(text).into_owned()
        });
        match path {
            Ok(path) => Ok(Some(path)),
            // Resolving this text as a path will fail with a remark.
            Err(error) => tolerate(error).map(Some),
        }
    }
}

/// Returns the object's schema, from its own metadata or that of its compound, and the name of that compound.
fn find_schema<'a>(meta: &'a MetaData, properties: &'a [PropertyHeader]) -> Option<(SchemaKind, &'a str)> {
    let own = std::iter::once(meta);
    let metas = own.chain(properties.iter().map(|p| &p.meta));
    metas.into_iter().find_map(|meta| {
        let title = meta.get("schemaObjTitle").and_then(|t| t.split_once(':'));
        let schema = meta.get("schema").or(title.map(|(schema, _)| schema))?;
        let (stem, _version) = schema.rsplit_once("_v")?;
        let (_, kind, compound) = SCHEMAS.iter().find(|(name, _, _)| *name == stem)?;
        Some((*kind, title.map_or(*compound, |(_, compound)| compound)))
    })
}

fn find_compound<'a>(properties: &'a [PropertyHeader], name: &str) -> Option<&'a PropertyHeader> {
    let is = |p: &&PropertyHeader| p.kind == PropertyKind::Compound && p.name == name;
    properties.iter().find(is)
}

/// Returns the visibility channel: −1 inherits from the parent, 0 hidden, 1 visible.
fn visibility(object: &ArchiveObject, properties: &[PropertyHeader]) -> Option<meshreel_scene::Channel<i8>> {
    let visible = properties.iter().find(|p| {
        p.name == "visible" && p.kind != PropertyKind::Compound && p.samples > 0 && size_of(p.pod) == Some(1)
    })?;
    Some(object.channel(visible, numbers(|[b]| (b as i8).signum())))
}
