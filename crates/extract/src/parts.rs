//! Takes a mesh of rigid parts apart: each part becomes a constant mesh below a node that moves it.

use super::shared::Extraction;
use crate::convert;
use glam::DMat4;
use meshreel::view::BoneMatrix;
use meshreel_scene::{
    Attribute, Channel, Error, FaceSet, Identity, Mesh, Node, NodeKind, Remark, Scene, Scope, Source,
    Topology, Transform,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of part matrices, for all parts and frames together.
const MAX_MATRICES: usize = 1 << 22;

/// Stands for points and faces that are in no part: points with a residual or several bones, and faces
/// between parts.
const NO_PART: u32 = u32::MAX;

/// Takes apart all meshes of `scene` that consist of rigid parts and single points; others stay, with a
/// remark.
pub(super) fn take_apart(
    shared: &Extraction,
    scene: &mut Scene,
    orders: &[Option<Arc<Vec<u32>>>],
) -> Result<Vec<Remark>, Error> {
    let mut remarks = Vec::new();
    let mut apart: BTreeMap<usize, SplitMesh> = BTreeMap::new();
    for (m, mesh) in scene.meshes.iter().enumerate() {
        let order = orders[m].as_deref().map(Vec::as_slice);
        match SplitMesh::new(shared, m, mesh, order)? {
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
        // The node becomes a group of the pieces.
        node.kind = NodeKind::Xform;
        node.mesh = None;
        let (group, path) = (nodes.len(), node.path.clone());
        nodes.push(node);
        if let Some(left) = &found.loose_points {
            let own = scene.meshes.len();
            let path = format!("{path}/points");
            scene.meshes.push(Mesh { path: path.clone(), ..left.clone() });
            nodes.push(part_node(group, path, own, left.positions.len()));
        }
        for (part, mesh) in &found.parts {
            let source = PartTransforms { matrices: found.matrices.clone(), part: *part as usize };
            let above = nodes.len();
            let path = format!("{path}/part {part}");
            nodes.push(Node {
                name: format!("part {part}"),
                path: path.clone(),
                parent: Some(group),
                kind: NodeKind::Xform,
                transform: Some(Transform {
                    local: shared.channel::<DMat4, _>(true, source).into(),
                    inherits: None,
                }),
                visibility: None,
                mesh: None,
                instance_of: None,
                samples: shared.samples(true),
                camera: None,
                user_properties: Vec::new(),
            });
            let path = format!("{path}/piece");
            let own = scene.meshes.len();
            scene.meshes.push(Mesh { path: path.clone(), ..mesh.clone() });
            nodes.push(part_node(above, path, own, 1));
        }
    }
    scene.nodes = nodes;
    scene.counts = scene.count()?;
    Ok(remarks)
}

fn part_node(parent: usize, path: String, mesh: usize, samples: usize) -> Node {
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
        camera: None,
        user_properties: Vec::new(),
    }
}

/// A mesh taken apart.
struct SplitMesh {
    parts: Vec<(u32, Mesh)>,
    loose_points: Option<Mesh>,
    /// By frame and part, the matrix from rest to object space.
    matrices: Arc<Vec<Vec<BoneMatrix>>>,
}

/// Attributes of one kind: names, and the values of all corners.
type CornerAttributes<const N: usize> = Vec<(String, Vec<[f32; N]>)>;

impl SplitMesh {
    /// Returns `None` for a mesh without bones, and an error text for one that cannot be taken apart.
    fn new(
        shared: &Extraction,
        number: usize,
        mesh: &Mesh,
        order: Option<&[u32]>,
    ) -> Result<Result<Option<SplitMesh>, String>, Error> {
        let (mut points, mut counts, mut corners) = (Vec::new(), Vec::new(), Vec::new());
        mesh.positions.read(0, &mut points)?;
        mesh.face_counts.read(0, &mut counts)?;
        mesh.face_indices.read(0, &mut corners)?;
        let rest = match rest_points(shared, number, points.len(), order) {
            None => return Ok(Ok(None)),
            Some(Err(what)) => return Ok(Err(what)),
            Some(Ok(rest)) => rest,
        };
        let constant =
            mesh.uvs.iter().all(|a| a.values.len() < 2) && mesh.colours.iter().all(|a| a.values.len() < 2);
        if !constant {
            return Ok(Err("its uvs or colours move".into()));
        }
        let faces = faces_by_part(&counts, &corners, &rest);
        let whole = WholeMesh::new(mesh, &corners)?;
        let frames = shared.samples(true);
        let parts = faces.keys().filter(|p| **p != NO_PART).count();
        if parts * frames > MAX_MATRICES {
            return Ok(Err(format!("it has {parts} parts in {frames} frames")));
        }
        let matrices = (0..frames).map(|f| shared.frames.bones(f, number));
        let matrices = Arc::new(matrices.collect::<Result<_, _>>()?);
        let mut out = SplitMesh { parts: Vec::new(), loose_points: None, matrices };
        for (part, faces) in faces {
            let (some, chosen) = whole.submesh(&faces);
            match part {
                NO_PART => out.loose_points = Some(loose_points_mesh(mesh, some, chosen)),
                part => {
                    let positions = chosen.iter().map(|&p| rest[p as usize].1).collect();
                    out.parts.push((part, Mesh { positions: Channel::constant(positions), ..some }));
                }
            }
        }
        Ok(Ok(Some(out)))
    }
}

/// Returns part and rest position of each point; points with a residual or several bones belong to
/// [`NO_PART`]. `None` for a mesh without bones.
fn rest_points(
    shared: &Extraction,
    number: usize,
    points: usize,
    order: Option<&[u32]>,
) -> Option<Result<Vec<RestPoint>, String>> {
    let vertex = |p: usize| order.map_or(p, |o| o[p] as usize);
    shared.frames.with_bones(number, |rig| {
        if rig.rigid_count() < rig.count() {
            return Err("bones blend it".to_owned());
        }
        let coded = rig.vertices_with_residual();
        let of = |p: usize| -> RestPoint {
            let Some(&residual) = coded.get(vertex(p)) else {
                return (NO_PART, [0.0; 3]);
            };
            let mut own = rig.influences(vertex(p));
            let part = match (own.next(), own.next()) {
                (Some((bone, _)), None) if !residual => bone as u32,
                _ => NO_PART,
            };
            (part, rig.rest_position(vertex(p)))
        };
        Ok((0..points).map(of).collect::<Vec<_>>())
    })
}

/// The part of a point, and its position at rest in the part's space.
type RestPoint = (u32, [f32; 3]);

/// A face: its number, its first corner, and the end of its corners.
type FaceCorners = (usize, usize, usize);

/// Returns the faces of each part; faces between parts belong to [`NO_PART`].
fn faces_by_part(counts: &[i32], corners: &[i32], rest: &[RestPoint]) -> BTreeMap<u32, Vec<FaceCorners>> {
    let mut faces: BTreeMap<u32, Vec<FaceCorners>> = BTreeMap::new();
    let mut first = 0;
    for (face, &count) in counts.iter().enumerate() {
        let end = first + count.max(0) as usize;
        let mut parts = corners[first..end].iter().map(|&c| rest[c as usize].0);
        let part = parts.next().unwrap_or(NO_PART);
        let part = if parts.all(|p| p == part) { part } else { NO_PART };
        faces.entry(part).or_default().push((face, first, end));
        first = end;
    }
    faces
}

/// Returns the mesh of all points that are in no part, which move one by one. It has no normals: those
/// available are of frame 0, and no bone turns them.
fn loose_points_mesh(mesh: &Mesh, some: Mesh, chosen: Vec<u32>) -> Mesh {
    let source = PointSubset { all: mesh.positions.clone(), chosen };
    let times = mesh.positions.sampling().clone();
    Mesh { positions: Channel::new(times, Arc::new(source)), topology: mesh.topology, normals: None, ..some }
}

/// Returns the values of an attribute in its first sample, for all corners.
fn corner_values<const N: usize>(
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

/// Returns the set of each face that is in one.
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

/// The first sample of a mesh, its attributes spread to all corners.
struct WholeMesh<'a> {
    mesh: &'a Mesh,
    corners: &'a [i32],
    normals: Option<(String, Vec<[f32; 3]>)>,
    uvs: CornerAttributes<2>,
    colours: CornerAttributes<4>,
    sets: BTreeMap<i32, usize>,
}

impl<'a> WholeMesh<'a> {
    fn new(mesh: &'a Mesh, corners: &'a [i32]) -> Result<WholeMesh<'a>, Error> {
        Ok(WholeMesh {
            corners,
            normals: mesh.normals.as_ref().map(|a| corner_values(a, corners)).transpose()?,
            uvs: (mesh.uvs.iter()).map(|a| corner_values(a, corners)).collect::<Result<_, _>>()?,
            colours: (mesh.colours.iter()).map(|a| corner_values(a, corners)).collect::<Result<_, _>>()?,
            sets: sets(mesh)?,
            mesh,
        })
    }

    /// Returns a mesh of some of the faces, without positions, and the numbers of its points in the whole
    /// mesh.
    fn submesh(&self, faces: &[FaceCorners]) -> (Mesh, Vec<u32>) {
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
        fn part<const N: usize>(all: &(String, Vec<[f32; N]>), faces: &[FaceCorners]) -> Attribute<[f32; N]> {
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

/// The transform of a part in each frame.
struct PartTransforms {
    matrices: Arc<Vec<Vec<BoneMatrix>>>,
    part: usize,
}

impl Source<DMat4> for PartTransforms {
    fn len(&self) -> usize {
        self.matrices.len()
    }
    fn identity(&self, i: usize) -> Identity {
        let first = |i: usize| self.matrices[i].get(self.part);
        // The first of a run of equal samples.
        (0..=i).rev().find(|&k| k == 0 || first(k - 1) != first(i)).unwrap_or(i) as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        out.clear();
        out.extend(self.matrices[i].get(self.part).map(convert::matrix));
        Ok(())
    }
}

/// The moving positions of some points of a mesh.
struct PointSubset {
    all: Channel<[f32; 3]>,
    chosen: Vec<u32>,
}

impl Source<[f32; 3]> for PointSubset {
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
