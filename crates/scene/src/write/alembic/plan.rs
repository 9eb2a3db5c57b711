//! What will be written: objects, their properties, time samplings, metadata.

use super::mesh::add_mesh;
use super::property::{Content, Fill, Leaf, Property, Same, Written};
use crate::read::alembic::core::Pod;
use crate::{Channel, Identity, MeshId, NodeId, NodeKind, Scene, TimeSampling, Transform};
use glam::DMat4;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Alembic's mark for "these times are all there are", in place of the time per cycle.
const ACYCLIC: f64 = f64::MAX / 32.0;
/// Times this close to evenly spaced ones (in seconds) are taken to be them.
const EVEN: f64 = 1e-9;

pub(super) struct Plan<'a> {
    /// Parents before children; the first is the top object.
    pub objects: Vec<Object>,
    pub leaves: Vec<Leaf<'a>>,
    pub samplings: Samplings,
    /// The archive's.
    pub meta: String,
    pub scene: &'a Scene,
}

#[derive(Default)]
pub(super) struct Object {
    pub name: String,
    parent: usize,
    pub meta: String,
    pub children: Vec<usize>,
    pub properties: Vec<Property>,
    names: HashSet<String>,
}

impl<'a> Plan<'a> {
    pub fn new(scene: &'a Scene) -> Plan<'a> {
        let mut plan = Plan {
            objects: vec![Object { name: "ABC".into(), ..Object::default() }],
            leaves: Vec::new(),
            samplings: Samplings::new(),
            meta: archive_meta(scene),
            scene,
        };
        let written = written(scene);
        // The object that stands for a node, and the one its children go below.
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
        plan.clips();
        plan
    }

    /// Names from the top down to an object.
    fn path(&self, object: usize) -> String {
        let above = |&at: &usize| (at > 0).then(|| self.objects[at].parent);
        let mut names: Vec<&str> = std::iter::successors(Some(object), above)
            .filter(|&at| at > 0)
            .map(|at| self.objects[at].name.as_str())
            .collect();
        names.reverse();
        format!("/{}", names.join("/"))
    }

    /// A new child of `parent`, under `name` or one like it that is free.
    pub fn add_object(&mut self, parent: usize, name: &str, meta: &str) -> usize {
        let base = match name.replace('/', "_") {
            empty if empty.is_empty() => "unnamed".into(),
            base => base,
        };
        let mut name = base.clone();
        let mut number = 1;
        while !self.objects[parent].names.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        let index = self.objects.len();
        self.objects.push(Object { name, parent, meta: meta.into(), ..Object::default() });
        self.objects[parent].children.push(index);
        index
    }

    fn add_node(&mut self, id: NodeId, parent: usize) -> (usize, usize) {
        let node = &self.scene.nodes[id];
        if node.instance_of.is_some() {
            let object = self.add_object(parent, &node.name, "isInstance=1");
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
        (object, object)
    }

    /// A transform with what its schema says.
    pub fn add_xform(&mut self, parent: usize, name: &str, properties: Vec<Property>) -> usize {
        let meta = "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform";
        let object = self.add_object(parent, name, meta);
        self.objects[object].properties.push(Property {
            name: ".xform".into(),
            meta: "schema=AbcGeom_Xform_v3".into(),
            content: Content::Compound(properties),
        });
        object
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

    /// The content of `.xform`: one matrix. All its properties have the schema's number of samples.
    fn transform(&mut self, transform: &'a Transform) -> Vec<Property> {
        let inherits = transform.inherits.as_ref().filter(|c| !c.is_empty());
        let matrix = &transform.matrix;
        if matrix.is_empty() {
            return Vec::new();
        }
        // Where the two are sampled at different times, those of the matrix count, unless it has but one.
        let by_inherits = inherits.filter(|c| matrix.len() == 1 && c.len() > 1);
        let (samples, sampling) = match by_inherits {
            Some(c) => (c.len(), c.sampling()),
            None => (matrix.len(), matrix.sampling()),
        };
        let time = move |i: usize| by_inherits.map_or_else(|| matrix.time(i), |c| c.time(i));
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
            same: Box::new(move |i| flags(i).map_or(Some(0), |(c, at)| Some(c.identity(at)))),
            ..blank(true, Pod::Bool, 1, sampling, samples)
        };
        let inherits = self.leaf(".inherits", "", leaf);
        let at = move |i: usize| by_inherits.map_or(i, |_| 0);
        let mut values = Vec::new();
        let read = move |i: usize| {
            matrix.read(at(i), &mut values)?;
            Ok(values.first().copied().unwrap_or_default())
        };
        let same = move |i: usize| matrix.identity(at(i));
        let mut properties = vec![inherits];
        properties.extend(self.matrices((sampling, samples), read, same));
        properties
    }

    /// What `.xform` has beside `.inherits`, of so many samples of a time sampling: their matrices, and what
    /// is equal for equal ones.
    pub fn matrices(
        &mut self,
        (sampling, samples): (usize, usize),
        mut read: impl FnMut(usize) -> Result<DMat4, crate::Error> + 'a,
        same: impl Fn(usize) -> Identity + 'a,
    ) -> Vec<Property> {
        let ops = self.constant(".ops", "", Pod::U8, 1, vec![0x30]);

        // Elements that change, one bit each, and whether any matrix is not the identity.
        let changing = Rc::new(Cell::new(0u16));
        let moved = changing.clone();
        let mut first = None;
        let leaf = Leaf {
            fill: Box::new(move |i, out| {
                let matrix = read(i)?.to_cols_array();
                let first = first.get_or_insert(matrix);
                for (bit, (a, b)) in matrix.iter().zip(first).enumerate() {
                    moved.set(moved.get() | u16::from(a.to_bits() != b.to_bits()) << bit);
                }
                out.extend(matrix.iter().flat_map(|v| v.to_le_bytes()));
                Ok(())
            }),
            same: Box::new(move |i| Some(same(i))),
            ..blank(true, Pod::F64, 16, sampling, samples)
        };
        let vals = self.leaf(".vals", "", leaf);
        let flag = self.constant("isNotConstantIdentity", "", Pod::Bool, 1, vec![1]);
        let mut properties = vec![ops, vals, flag];
        if samples > 1 {
            let leaf = Leaf {
                fill: Box::new(move |_, out| {
                    let bits = changing.get();
                    let channels = (0..16u32).filter(|bit| bits >> bit & 1 != 0);
                    out.extend(channels.flat_map(|bit| bit.to_le_bytes()));
                    Ok(())
                }),
                at_the_end: true,
                ..blank(false, Pod::U32, 1, 0, 1)
            };
            properties.push(self.leaf(".animChans", "", leaf));
        }
        properties
    }

    /// A scalar that never changes.
    pub fn constant(
        &mut self,
        name: &str,
        meta: &str,
        pod: Pod,
        extent: usize,
        payload: Vec<u8>,
    ) -> Property {
        let leaf = Leaf {
            fill: Box::new(move |_, out| {
                out.extend_from_slice(&payload);
                Ok(())
            }),
            ..blank(true, pod, extent, 0, 1)
        };
        self.leaf(name, meta, leaf)
    }

    /// A property with a channel's samples, which `fill` turns into payloads.
    pub fn channel<T: Clone + Send + Sync + 'static>(
        &mut self,
        name: &str,
        meta: &str,
        channel: &'a Channel<T>,
        (scalar, pod, extent): (bool, Pod, usize),
        fill: impl FnMut(usize, &mut Vec<u8>) -> Result<(), crate::Error> + 'a,
    ) -> Property {
        let sampling = self.samplings.index(channel.sampling(), channel.len());
        let leaf = Leaf {
            fill: Box::new(fill),
            same: Box::new(|i| Some(channel.identity(i))),
            ..blank(scalar, pod, extent, sampling, channel.len())
        };
        self.leaf(name, meta, leaf)
    }

    pub fn leaf(&mut self, name: &str, meta: &str, leaf: Leaf<'a>) -> Property {
        self.leaves.push(leaf);
        Property { name: name.into(), meta: meta.into(), content: Content::Leaf(self.leaves.len() - 1) }
    }
}

/// A leaf without content yet.
pub(super) fn blank<'a>(scalar: bool, pod: Pod, extent: usize, sampling: usize, samples: usize) -> Leaf<'a> {
    let (fill, same): (Fill, Same) = (Box::new(|_, _| Ok(())), Box::new(|_| None));
    Leaf {
        scalar,
        pod,
        extent,
        sampling,
        samples,
        at_the_end: false,
        fill,
        same,
        written: Written::default(),
    }
}

/// Which nodes are written.
fn written(scene: &Scene) -> Vec<bool> {
    let nodes = &scene.nodes;
    let is_content =
        |id: NodeId| matches!(nodes[id].kind, NodeKind::Xform | NodeKind::PolyMesh | NodeKind::SubD);
    let mut written: Vec<bool> =
        (0..nodes.len()).map(|id| nodes[id].instance_of.is_none() && is_content(id)).collect();
    // First what lies above content, then instances of it and what lies above those.
    for instances in [false, true] {
        for id in (0..nodes.len()).rev() {
            if instances && nodes[id].instance_of.is_some() {
                let mut target = id;
                for _ in 0..nodes.len() {
                    match nodes[target].instance_of {
                        Some(next) => target = next,
                        None => break,
                    }
                }
                written[id] = written[target];
            }
            if let (true, Some(parent)) = (written[id], nodes[id].parent) {
                written[parent] = true;
            }
        }
    }
    written
}

/// The archive's metadata: what the source said, and who wrote this.
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

/// The archive's time samplings; number 0 is one second per sample from 0.
pub(super) struct Samplings {
    list: Vec<TimeSampling>,
    numbers: HashMap<Vec<u64>, usize>,
}

impl Samplings {
    fn new() -> Samplings {
        let mut samplings = Samplings { list: Vec::new(), numbers: HashMap::new() };
        samplings.insert(TimeSampling::Uniform { start: 0.0, step: 1.0 });
        samplings
    }

    /// Number of `sampling` for a property with so many samples.
    pub fn index(&mut self, sampling: &TimeSampling, samples: usize) -> usize {
        let simple = match sampling {
            TimeSampling::Acyclic { times } if samples > times.len() => {
                // Alembic knows no time for what is beyond the list.
                let last = times.last().copied().unwrap_or(0.0);
                let beyond = std::iter::repeat_n(last, samples - times.len());
                TimeSampling::Acyclic { times: times.iter().copied().chain(beyond).collect() }
            }
            TimeSampling::Acyclic { times } => match even(&times[..samples]) {
                Some(uniform) => uniform,
                None => sampling.clone(),
            },
            TimeSampling::Cyclic { times, period } if times.len() <= 1 => {
                TimeSampling::Uniform { start: times.first().copied().unwrap_or(0.0), step: *period }
            }
            _ => sampling.clone(),
        };
        self.insert(simple)
    }

    fn insert(&mut self, sampling: TimeSampling) -> usize {
        let (cycle, times) = parts(&sampling);
        let key = std::iter::once(&cycle).chain(times.iter()).map(|t| t.to_bits()).collect();
        *self.numbers.entry(key).or_insert_with(|| {
            self.list.push(sampling);
            self.list.len() - 1
        })
    }

    /// The table as it stands in the file: largest number of samples, time per cycle, times.
    pub fn bytes(&self, leaves: &[Leaf]) -> Vec<u8> {
        let mut most = vec![1; self.list.len()];
        for leaf in leaves {
            most[leaf.sampling] = most[leaf.sampling].max(leaf.samples as u32);
        }
        let mut out = Vec::new();
        for (sampling, most) in self.list.iter().zip(most) {
            let (cycle, times) = parts(sampling);
            out.extend_from_slice(&most.to_le_bytes());
            out.extend_from_slice(&cycle.to_le_bytes());
            out.extend_from_slice(&(times.len() as u32).to_le_bytes());
            out.extend(times.iter().flat_map(|t| t.to_le_bytes()));
        }
        out
    }
}

/// Time per cycle and times of the cycle.
fn parts(sampling: &TimeSampling) -> (f64, &[f64]) {
    match sampling {
        TimeSampling::Uniform { start, step } => (*step, std::slice::from_ref(start)),
        TimeSampling::Cyclic { times, period } => (*period, times),
        TimeSampling::Acyclic { times } => (ACYCLIC, times),
    }
}

/// Evenly spaced times as what they are.
fn even(times: &[f64]) -> Option<TimeSampling> {
    let (&start, &last) = (times.first()?, times.last()?);
    if times.len() == 1 {
        return Some(TimeSampling::Uniform { start, step: 1.0 });
    }
    let step = (last - start) / (times.len() - 1) as f64;
    let fits = |(i, t): (usize, &f64)| (start + i as f64 * step - t).abs() <= EVEN;
    (step > 0.0 && step.is_finite() && times.iter().enumerate().all(fits))
        .then_some(TimeSampling::Uniform { start, step })
}
