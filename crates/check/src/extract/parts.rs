//! A mesh of rigid parts taken apart: each part a still mesh below a node that moves it.

use super::shared::Shared;
use glam::DMat4;
use meshreel::BoneMatrix;
use meshreel_scene::{
    Attribute, Channel, Error, FaceSet, Identity, Mesh, Node, NodeKind, Remark, Scene, Scope, Source,
    Topology, Transform,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Matrices of all frames together, at most.
const MOST_MATRICES: usize = 1 << 22;

/// What no part has: points that have a residual, or several bones, and faces between parts.
const LEFT: u32 = u32::MAX;

/// Takes apart all meshes of `scene` that are nothing but rigid parts and points; others are remarked upon
/// and stay.
pub(super) fn take_apart(
    shared: &Shared,
    scene: &mut Scene,
    orders: &[Option<Arc<Vec<u32>>>],
) -> Result<Vec<Remark>, Error> {
    let mut remarks = Vec::new();
    let mut apart: BTreeMap<usize, Apart> = BTreeMap::new();
    for (m, mesh) in scene.meshes.iter().enumerate() {
        let order = orders[m].as_deref().map(Vec::as_slice);
        match Apart::new(shared, m, mesh, order)? {
            Ok(Some(found)) => {
                apart.insert(m, found);
            }
            Ok(None) => {}
            Err(what) => remarks.push(Remark::new(
                &mesh.path,
                format!("{what}, so it cannot be taken apart; it comes back as points"),
            )),
        }
    }
    let mut nodes: Vec<Node> = Vec::new();
    let mut number = vec![0; scene.nodes.len()];
    for (old, mut node) in std::mem::take(&mut scene.nodes).into_iter().enumerate() {
        node.parent = node.parent.map(|p| number[p]);
        number[old] = nodes.len();
        let found = node.mesh.and_then(|m| apart.get(&m));
        let Some(found) = found else {
            nodes.push(node);
            continue;
        };
        // The node becomes a group of all that it was.
        node.kind = NodeKind::Xform;
        node.mesh = None;
        let (group, path) = (nodes.len(), node.path.clone());
        nodes.push(node);
        if let Some(left) = &found.left {
            let own = scene.meshes.len();
            let path = format!("{path}/points");
            scene.meshes.push(Mesh { path: path.clone(), ..left.clone() });
            nodes.push(leaf(group, path, own, left.positions.len()));
        }
        for (part, mesh) in &found.parts {
            let source = Part { matrices: found.matrices.clone(), part: *part as usize };
            let above = nodes.len();
            let path = format!("{path}/part {part}");
            nodes.push(Node {
                name: format!("part {part}"),
                path: path.clone(),
                parent: Some(group),
                kind: NodeKind::Xform,
                transform: Some(Transform { matrix: shared.channel(true, source), inherits: None }),
                visibility: None,
                mesh: None,
                instance_of: None,
                samples: shared.samples(true),
                user_properties: Vec::new(),
            });
            let path = format!("{path}/piece");
            let own = scene.meshes.len();
            scene.meshes.push(Mesh { path: path.clone(), ..mesh.clone() });
            nodes.push(leaf(above, path, own, 1));
        }
    }
    scene.nodes = nodes;
    scene.counts = scene.count()?;
    Ok(remarks)
}

fn leaf(parent: usize, path: String, mesh: usize, samples: usize) -> Node {
    Node {
        name: path.rsplit('/').next().unwrap_or_default().into(),
        path,
        parent: Some(parent),
        kind: NodeKind::PolyMesh,
        transform: None,
        visibility: None,
        mesh: Some(mesh),
        instance_of: None,
        samples,
        user_properties: Vec::new(),
    }
}

/// A mesh in parts.
struct Apart {
    parts: Vec<(u32, Mesh)>,
    left: Option<Mesh>,
    /// By frame and part.
    matrices: Arc<Vec<Vec<BoneMatrix>>>,
}

/// Attributes of one kind, of all corners at first.
type Values<const N: usize> = Vec<(String, Vec<[f32; N]>)>;

impl Apart {
    /// `None` for a mesh that has no bones, and what is wrong with one that cannot be taken apart.
    fn new(
        shared: &Shared,
        number: usize,
        mesh: &Mesh,
        order: Option<&[u32]>,
    ) -> Result<Result<Option<Apart>, String>, Error> {
        let (mut points, mut counts, mut corners) = (Vec::new(), Vec::new(), Vec::new());
        mesh.positions.read(0, &mut points)?;
        mesh.face_counts.read(0, &mut counts)?;
        mesh.face_indices.read(0, &mut corners)?;
        let vertex = |p: usize| order.map_or(p, |o| o[p] as usize);
        let looked = shared.frames.rig(number, |rig| {
            if rig.rigid() < rig.count() {
                return Err("bones blend it".to_owned());
            }
            let coded = rig.with_residual();
            let of = |p: usize| -> (u32, [f32; 3]) {
                let Some(&residual) = coded.get(vertex(p)) else {
                    return (LEFT, [0.0; 3]);
                };
                let mut own = rig.influences(vertex(p));
                let part = match (own.next(), own.next()) {
                    (Some((bone, _)), None) if !residual => bone as u32,
                    _ => LEFT,
                };
                (part, rig.rest(vertex(p)))
            };
            Ok((0..points.len()).map(of).collect::<Vec<_>>())
        });
        let of = match looked {
            None => return Ok(Ok(None)),
            Some(Err(what)) => return Ok(Err(what)),
            Some(Ok(of)) => of,
        };
        let still =
            mesh.uvs.iter().all(|a| a.values.len() < 2) && mesh.colours.iter().all(|a| a.values.len() < 2);
        if !still {
            return Ok(Err("its uvs or colours move".into()));
        }
        // Faces by part.
        let mut faces: BTreeMap<u32, Vec<(usize, usize, usize)>> = BTreeMap::new();
        let mut first = 0;
        for (face, &count) in counts.iter().enumerate() {
            let end = first + count.max(0) as usize;
            let mut parts = corners[first..end].iter().map(|&c| of[c as usize].0);
            let part = parts.next().unwrap_or(LEFT);
            let part = if parts.all(|p| p == part) { part } else { LEFT };
            faces.entry(part).or_default().push((face, first, end));
            first = end;
        }
        let whole = Whole {
            corners: &corners,
            normals: mesh.normals.as_ref().map(|a| all(a, &corners)).transpose()?,
            uvs: (mesh.uvs.iter()).map(|a| all(a, &corners)).collect::<Result<_, _>>()?,
            colours: (mesh.colours.iter()).map(|a| all(a, &corners)).collect::<Result<_, _>>()?,
            sets: sets(mesh)?,
            mesh,
        };
        let frames = shared.samples(true);
        let parts = faces.keys().filter(|p| **p != LEFT).count();
        if parts * frames > MOST_MATRICES {
            return Ok(Err(format!("it has {parts} parts in {frames} frames")));
        }
        let matrices = (0..frames).map(|f| shared.frames.bones(f, number));
        let mut out =
            Apart { parts: Vec::new(), left: None, matrices: Arc::new(matrices.collect::<Result<_, _>>()?) };
        for (part, list) in faces {
            let (mut some, chosen) = whole.some(&list);
            match part {
                LEFT => {
                    let source = Chosen { all: mesh.positions.clone(), chosen };
                    let times = mesh.positions.sampling().clone();
                    some.positions = Channel::new(times, Arc::new(source));
                    some.topology = mesh.topology;
                    // Of frame 0: no bone says how they turn.
                    some.normals = None;
                    out.left = Some(some);
                }
                part => {
                    let rest = chosen.iter().map(|&p| of[p as usize].1).collect();
                    some.positions = Channel::constant(rest);
                    out.parts.push((part, some));
                }
            }
        }
        Ok(Ok(Some(out)))
    }
}

/// Values of an attribute in its first sample, of all corners.
fn all<const N: usize>(
    attribute: &Attribute<[f32; N]>,
    corners: &[i32],
) -> Result<(String, Vec<[f32; N]>), Error> {
    let mut values = Vec::new();
    attribute.values.read(0, &mut values)?;
    let mut indices = Vec::new();
    match &attribute.indices {
        Some(list) => list.read(0, &mut indices)?,
        None => indices.extend(corners.iter().map(|&c| c as u32)),
    }
    let of = |i: &u32| values.get(*i as usize).copied().unwrap_or([0.0; N]);
    Ok((attribute.name.clone(), indices.iter().map(of).collect()))
}

/// Set of each face, by number.
fn sets(mesh: &Mesh) -> Result<BTreeMap<i32, usize>, Error> {
    let mut out = BTreeMap::new();
    let mut list = Vec::new();
    for (number, set) in mesh.face_sets.iter().enumerate() {
        set.faces.read(0, &mut list)?;
        list.iter().for_each(|&face| {
            out.insert(face, number);
        });
    }
    Ok(out)
}

struct Whole<'a> {
    mesh: &'a Mesh,
    corners: &'a [i32],
    normals: Option<(String, Vec<[f32; 3]>)>,
    uvs: Values<2>,
    colours: Values<4>,
    sets: BTreeMap<i32, usize>,
}

impl Whole<'_> {
    /// Some faces with all but their points, and which points these are.
    fn some(&self, faces: &[(usize, usize, usize)]) -> (Mesh, Vec<u32>) {
        let mut number = BTreeMap::new();
        let mut chosen = Vec::new();
        let (mut counts, mut corners) = (Vec::new(), Vec::new());
        let mut sets: BTreeMap<usize, Vec<i32>> = BTreeMap::new();
        for &(face, first, end) in faces {
            if let Some(&set) = self.sets.get(&(face as i32)) {
                sets.entry(set).or_default().push(counts.len() as i32);
            }
            counts.push((end - first) as i32);
            for &point in &self.corners[first..end] {
                let next = chosen.len() as i32;
                corners.push(*number.entry(point).or_insert_with(|| {
                    chosen.push(point as u32);
                    next
                }));
            }
        }
        fn part<const N: usize>(
            all: &(String, Vec<[f32; N]>),
            faces: &[(usize, usize, usize)],
        ) -> Attribute<[f32; N]> {
            let values = faces.iter().flat_map(|&(_, first, end)| &all.1[first..end]).copied();
            Attribute {
                name: all.0.clone(),
                scope: Scope::FaceVarying,
                values: Channel::constant(values.collect()),
                indices: None,
            }
        }
        let mesh = Mesh {
            positions: Channel::constant(Vec::new()),
            face_counts: Channel::constant(counts),
            face_indices: Channel::constant(corners),
            topology: Topology::Constant,
            normals: self.normals.as_ref().map(|a| part(a, faces)),
            uvs: self.uvs.iter().map(|a| part(a, faces)).collect(),
            colours: self.colours.iter().map(|a| part(a, faces)).collect(),
            face_sets: (sets.into_iter())
                .map(|(set, faces)| FaceSet {
                    name: self.mesh.face_sets[set].name.clone(),
                    faces: Channel::constant(faces),
                })
                .collect(),
            ..self.mesh.clone()
        };
        (mesh, chosen)
    }
}

/// Where a part is.
struct Part {
    matrices: Arc<Vec<Vec<BoneMatrix>>>,
    part: usize,
}

impl Source<DMat4> for Part {
    fn len(&self) -> usize {
        self.matrices.len()
    }
    fn identity(&self, i: usize) -> Identity {
        let first = |i: usize| self.matrices[i].get(self.part);
        // The first of those that are the same in a row.
        (0..=i).rev().find(|&k| k == 0 || first(k - 1) != first(i)).unwrap_or(i) as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        out.clear();
        out.extend(self.matrices[i].get(self.part).map(super::shared::columns));
        Ok(())
    }
}

/// Some points of a mesh.
struct Chosen {
    all: Channel<[f32; 3]>,
    chosen: Vec<u32>,
}

impl Source<[f32; 3]> for Chosen {
    fn len(&self) -> usize {
        self.all.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.all.identity(i)
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        let mut points = Vec::new();
        self.all.read(i, &mut points)?;
        out.clear();
        out.extend(self.chosen.iter().map(|&p| points[p as usize]));
        Ok(())
    }
}
