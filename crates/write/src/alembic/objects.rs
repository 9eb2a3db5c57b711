//! The objects of an archive: the nodes of the scene, parents before children.

use super::camera::add_camera;
use super::mesh::add_mesh;
use super::plan::{ArchivePlan, Object, Samplings, empty_leaf};
use super::property::{Leaf, Property};
use crate::nodes::written_nodes;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Channel, LocalTransform, MeshId, NodeId, Scene, Transform};

impl<'a> ArchivePlan<'a> {
    pub fn new(scene: &'a Scene) -> ArchivePlan<'a> {
        let mut plan = ArchivePlan {
            objects: vec![Object { name: "ABC".into(), ..Object::default() }],
            leaves: Vec::new(),
            samplings: Samplings::new(),
            meta: archive_meta(scene),
            scene,
        };
        let written = written_nodes(scene);
        // The object that stands for a node, and the one that its children are added below.
        let mut places: Vec<Option<(usize, usize)>> = vec![None; scene.nodes.len()];
        for id in 0..scene.nodes.len() {
            if written[id] {
                let parent = scene.nodes[id].parent.and_then(|p| places[p]).map_or(0, |p| p.1);
                places[id] = Some(plan.add_node(id, parent));
            }
        }
        for (id, node) in scene.nodes.iter().enumerate() {
            if let (Some(target), Some((object, _))) = (node.instance_of, places[id]) {
                let path = places[target].map_or("/".into(), |t| plan.path(t.0));
                let text = [path.as_bytes(), &[0]].concat();
                let leaf = plan.constant(".instanceSource", "", Pod::String, 1, text);
                plan.objects[object].properties.push(leaf);
            }
        }
        plan.add_clips();
        plan
    }

    /// Returns the names from the root down to an object.
    fn path(&self, object: usize) -> String {
        let above = |&at: &usize| (at > 0).then(|| self.objects[at].parent);
        let mut names: Vec<&str> = std::iter::successors(Some(object), above)
            .filter(|&at| at > 0)
            .map(|at| self.objects[at].name.as_str())
            .collect();
        names.reverse();
        format!("/{}", names.join("/"))
    }

    fn add_node(&mut self, id: NodeId, parent: usize) -> (usize, usize) {
        let node = &self.scene.nodes[id];
        if node.instance_of.is_some() {
            let object = self.add_object(parent, &node.name, "isInstance=1");
            return (object, object);
        }
        if let (Some(camera), None) = (&node.camera, &node.transform) {
            let object = add_camera(self, camera, parent, &node.name);
            self.visibility(object, node.visibility.as_ref());
            return (object, object);
        }
        let mesh: Option<MeshId> = node.mesh;
        let object = match (mesh, &node.transform) {
            (Some(mesh), None) => {
                let object = add_mesh(self, &self.scene.meshes[mesh], parent, &node.name);
                self.visibility(object, node.visibility.as_ref());
                return (object, object);
            }
            (_, transform) => {
                let properties = transform.as_ref().map_or(Vec::new(), |t| self.transform(t));
                self.add_xform(parent, &node.name, properties)
            }
        };
        self.visibility(object, node.visibility.as_ref());
        if let Some(mesh) = mesh {
            let name = format!("{}Shape", node.name);
            add_mesh(self, &self.scene.meshes[mesh], object, &name);
        }
        if let Some(camera) = &node.camera {
            add_camera(self, camera, object, &format!("{}Shape", node.name));
        }
        (object, object)
    }

    fn visibility(&mut self, object: usize, visibility: Option<&'a Channel<i8>>) {
        let Some(channel) = visibility.filter(|c| !c.is_empty()) else {
            return;
        };
        let mut values = Vec::new();
        let property = self.channel("visible", "", channel, (true, Pod::I8, 1), move |i, out| {
            channel.read(i, &mut values)?;
            out.push(values.first().map_or(-1, |v| *v) as u8);
            Ok(())
        });
        self.objects[object].properties.push(property);
    }

    /// Returns the content of `.xform`: one matrix. All its properties have the schema's number of samples.
    fn transform(&mut self, transform: &'a Transform) -> Vec<Property> {
        let inherits = transform.inherits.as_ref().filter(|c| !c.is_empty());
        let local = &transform.local;
        if local.is_empty() {
            return Vec::new();
        }
        // If the two are sampled at different times, the transform's count, unless it has only one sample.
        let by_inherits = inherits.filter(|c| local.len() == 1 && c.len() > 1);
        let (samples, sampling) = match by_inherits {
            Some(c) => (c.len(), c.sampling()),
            None => (local.len(), local.sampling()),
        };
        let time = move |i: usize| by_inherits.map_or_else(|| local.time(i), |c| c.time(i));
        let sampling = self.samplings.index(sampling, samples);

        let flags = move |i: usize| inherits.map(|c| (c, c.locate(time(i)).0));
        let mut values = Vec::new();
        let leaf = Leaf {
            fill: Box::new(move |i, out| {
                values.clear();
                if let Some((c, at)) = flags(i) {
                    c.read(at, &mut values)?;
                }
                out.push(u8::from(values.first().is_none_or(|v| *v)));
                Ok(())
            }),
            identity: Box::new(move |i| flags(i).map_or(Some(0), |(c, at)| Some(c.identity(at)))),
            ..empty_leaf(true, Pod::Bool, 1, sampling, samples)
        };
        let inherits = self.leaf(".inherits", "", leaf);
        let at = move |i: usize| by_inherits.map_or(i, |_| 0);
        let mut values = Vec::new();
        let read = move |i: usize| {
            local.read(at(i), &mut values)?;
            Ok(values.first().map(LocalTransform::matrix).unwrap_or_default())
        };
        let same = move |i: usize| local.identity(at(i));
        let mut properties = vec![inherits];
        properties.extend(self.matrices((sampling, samples), read, same));
        properties
    }
}

/// Returns the archive's metadata: that of the source, and the writing program.
fn archive_meta(scene: &Scene) -> String {
    let clean = |text: &str| text.replace([';', '=', '\0', '\n', '\r'], " ");
    let mut pairs: Vec<(String, String)> = scene
        .metadata
        .iter()
        .map(|(key, value)| (clean(key), clean(value)))
        .filter(|(key, _)| !key.is_empty())
        .collect();
    let mut set = |key: &str, value: String| {
        pairs.retain(|(k, _)| k != key);
        pairs.push((key.into(), value));
    };
    set("_ai_Application", concat!("meshreel ", env!("CARGO_PKG_VERSION")).into());
    set("_ai_AlembicVersion", "Alembic 1.8.0 (Ogawa layout 0)".into());
    if let Some(fps) = scene.fps.filter(|f| f.is_finite() && *f > 0.0) {
        set("FramesPerTimeUnit", format!("{fps:.6}"));
    }
    pairs.sort();
    pairs.dedup_by(|a, b| a.0 == b.0);
    let pairs: Vec<String> = pairs.into_iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join(";")
}
