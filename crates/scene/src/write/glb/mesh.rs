//! Meshes: frames of equal topology make a *run*, which is one glTF mesh: its first frame as vertices, every
//! other distinct frame as a morph target, and weights that are 1 for one target at a time.

use super::bound::{Bound, is_rig};
use super::buffer::{Document, Use};
use crate::read::identity;
use crate::sample::{Faces, faces_at, follow, positions_at, topology_identity};
use crate::write::corners::{Distinct, PerCorner, set_of_faces};
use crate::write::polygon::{Usable, triangulate, usable};
use crate::{Channel, Error, Identity, Mesh, Remark, Skin, Topology, Winding};
use gltf_json::accessor::Accessor;
use gltf_json::material::{Material, PbrBaseColorFactor, PbrMetallicRoughness, StrengthFactor};
use gltf_json::mesh::{Mode, MorphTarget, Primitive, Semantic};
use gltf_json::validation::Checked::{self, Valid};
use gltf_json::{Index, material};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Frames `first..end`, in which the faces are the same.
pub(super) struct Run {
    pub first: usize,
    pub end: usize,
    /// `None` where there is nothing to draw.
    pub mesh: Option<Index<gltf_json::Mesh>>,
    /// Times and weights, where it moves.
    pub weights: Option<(Index<Accessor>, Index<Accessor>)>,
    /// The skin that moves it instead of weights, and whether its first joint is one for points that stay.
    pub skin: Option<(Arc<Skin>, bool)>,
}

/// Numbers of the different pairs of class and value.
type Classes = HashMap<(u32, u128), u32>;

/// Facts about a run of frames that must be known before it is written.
struct Plan {
    first: usize,
    end: usize,
    moves: bool,
    normals_move: bool,
    /// For each corner a number that differs where corners of one point have different normals in any frame.
    corners: Option<Vec<u32>>,
}

/// Writes meshes into a document.
pub(super) struct Meshes<'a> {
    pub document: Document,
    pub times: &'a [f64],
    /// `times` as the file has them.
    pub keys: &'a [f32],
    pub remarks: BTreeSet<Remark>,
    materials: HashMap<String, Index<material::Material>>,
    inputs: HashMap<(usize, usize), Index<Accessor>>,
    weights: HashMap<Vec<Option<u32>>, Index<Accessor>>,
}

impl<'a> Meshes<'a> {
    pub fn new(document: Document, times: &'a [f64], keys: &'a [f32]) -> Meshes<'a> {
        let remarks = BTreeSet::new();
        Meshes {
            document,
            times,
            keys,
            remarks,
            materials: HashMap::new(),
            inputs: HashMap::new(),
            weights: HashMap::new(),
        }
    }

    /// Key times of the frames `first..end`.
    pub fn input(&mut self, first: usize, end: usize) -> Result<Index<Accessor>, Error> {
        if let Some(input) = self.inputs.get(&(first, end)) {
            return Ok(*input);
        }
        let keys: Vec<[f32; 1]> = self.keys[first..end].iter().map(|&k| [k]).collect();
        let input = self.document.floats(&keys, Use::Animation, true)?;
        self.inputs.insert((first, end), input);
        Ok(input)
    }

    /// Writes all runs of a mesh; `done` is called once per frame.
    pub fn runs(&mut self, mesh: &Mesh, done: &mut dyn FnMut()) -> Result<Vec<Run>, Error> {
        let plans = plan(mesh, self.times)?;
        if plans.len() > 1 {
            self.remark(mesh, "its faces change: each run of frames with equal faces is a node of its own, shown by its scale");
        }
        let mut out = Vec::with_capacity(plans.len());
        for plan in plans {
            out.push(self.run(mesh, &plan)?);
            (plan.first..plan.end).for_each(|_| done());
        }
        Ok(out)
    }

    fn remark(&mut self, mesh: &Mesh, what: &str) {
        self.remarks.insert(Remark::new(&mesh.path, what));
    }

    /// True where a channel has more than one value within a run.
    fn moves<T>(&self, channel: &Channel<T>, mesh: &Mesh, plan: &Plan) -> bool
    where
        T: Clone + Send + Sync + 'static,
    {
        let channel = follow(channel, mesh);
        let at = |f: usize| channel.identity(channel.locate(self.times[f]).0);
        !channel.is_empty() && (plan.first..plan.end).any(|f| at(f) != at(plan.first))
    }

    /// Writes a run: vertices, what moves them, triangles.
    fn run(&mut self, mesh: &Mesh, plan: &Plan) -> Result<Run, Error> {
        let time = self.times[plan.first];
        let mut first = FirstFrame::read(mesh, time)?;
        self.remark_moving(mesh, plan);
        if first.usable.broken > 0 {
            self.remark(mesh, "faces that refer to points that are not there were left out");
        }
        let mut vertices = first.vertices(plan);
        let parts = first.triangles(mesh, time, &vertices)?;
        // A cloud of points is drawn as such.
        if parts.is_empty() && vertices.of_corner.is_some() {
            vertices.list = (0..first.frame.positions.len() as u32).map(Corner::of_point).collect();
        }
        let list = vertices.list;
        let mut run = Run { first: plan.first, end: plan.end, mesh: None, weights: None, skin: None };
        if list.is_empty() {
            return Ok(run);
        }

        let mut attributes = Attributes::new();
        let mut cleaned = false;
        let mut normals = first.frame.vertex_normals(&list);
        if let Some(skin) = self.own_skin(mesh, first.frame.positions.len()) {
            // How they were bound is not known where no pose is.
            normals = normals.filter(|_| !is_rig(&skin) || skin.pose.len() == 1);
            let points: Vec<u32> = list.iter().map(|c| c.point).collect();
            let bound = Bound::new(mesh, &skin, time, &points, normals.as_deref_mut())?;
            self.influences(&bound, &mut attributes)?;
            first.frame.positions = skin.bind_positions.to_vec();
            run.skin = Some((skin, bound.has_fixed_joint));
        }
        let positions = first.frame.vertices(&list, &mut cleaned);
        attributes.insert(Valid(Semantic::Positions), self.document.floats(&positions, Use::Vertices, true)?);
        if let Some(normals) = &normals {
            attributes.insert(Valid(Semantic::Normals), self.document.floats(normals, Use::Vertices, false)?);
        }
        self.uvs_and_colours(&first, &list, &mut attributes)?;
        self.own_attributes(mesh, plan, &list, &mut attributes)?;

        let mut targets = Vec::new();
        if run.skin.is_none() && (plan.moves || plan.normals_move) {
            let base = Base { frame: &first.frame, positions: &positions, normals: normals.as_deref() };
            let rows = self.morph_targets(mesh, plan, &list, &base, &mut targets, &mut cleaned)?;
            let output = self.morph_weights(rows, targets.len())?;
            run.weights = Some((self.input(plan.first, plan.end)?, output));
        }
        if cleaned {
            self.remark(mesh, "positions that are no finite numbers were replaced");
        }
        run.mesh = Some(self.primitives(mesh, &parts, list.len(), attributes, targets)?);
        Ok(run)
    }

    /// Says which uvs and colours move within a run.
    fn remark_moving(&mut self, mesh: &Mesh, plan: &Plan) {
        let uvs = mesh.uvs.iter().map(|a| (&a.name, self.moves(&a.values, mesh, plan)));
        let colours = mesh.colours.iter().map(|a| (&a.name, self.moves(&a.values, mesh, plan)));
        let moving: Vec<_> = uvs.chain(colours).filter(|t| t.1).collect();
        for (name, _) in moving {
            let what = format!("'{name}' moves, which glTF cannot hold: its first frame was taken");
            self.remarks.insert(Remark::new(&mesh.path, what));
        }
    }

    fn influences(&mut self, bound: &Bound, attributes: &mut Attributes) -> Result<(), Error> {
        for (set, (joints, weights)) in bound.sets.iter().enumerate() {
            let joints = self.document.words(joints)?;
            let weights = self.document.floats(weights, Use::Vertices, false)?;
            attributes.insert(Valid(Semantic::Joints(set as u32)), joints);
            attributes.insert(Valid(Semantic::Weights(set as u32)), weights);
        }
        Ok(())
    }

    fn uvs_and_colours(
        &mut self,
        first: &FirstFrame,
        list: &[Corner],
        attributes: &mut Attributes,
    ) -> Result<(), Error> {
        for (set, uvs) in first.uvs.iter().enumerate() {
            // glTF's images have their origin at the top.
            let value = |c: &Corner| {
                uvs.at(c.point as usize, c.face as usize, c.corner as usize)
                    .map_or([0.0; 2], |[u, v]| [finite(u), finite(1.0 - v)])
            };
            let values: Vec<_> = list.iter().map(value).collect();
            attributes.insert(
                Valid(Semantic::TexCoords(set as u32)),
                self.document.floats(&values, Use::Vertices, false)?,
            );
        }
        for (set, colours) in first.colours.iter().enumerate() {
            let value = |c: &Corner| {
                let colour =
                    colours.at(c.point as usize, c.face as usize, c.corner as usize).unwrap_or([1.0; 4]);
                colour.map(|v| if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) })
            };
            let values: Vec<_> = list.iter().map(value).collect();
            attributes.insert(
                Valid(Semantic::Colors(set as u32)),
                self.document.floats(&values, Use::Vertices, false)?,
            );
        }
        Ok(())
    }

    /// Attributes that the application named, at the first frame; those of faces and corners are left out.
    fn own_attributes(
        &mut self,
        mesh: &Mesh,
        plan: &Plan,
        list: &[Corner],
        attributes: &mut Attributes,
    ) -> Result<(), Error> {
        if mesh.velocities.is_some() {
            self.remark(mesh, "glTF holds no velocities; they were left out");
        }
        for numbers in &mesh.custom_attributes {
            let values = PerCorner::read(&numbers.attribute, mesh, self.times[plan.first])?;
            let name = &numbers.attribute.name;
            if values.splits() {
                let what =
                    format!("'{name}' is of faces or corners, which glTF cannot hold: it was left out");
                self.remarks.insert(Remark::new(&mesh.path, what));
                continue;
            }
            if self.moves(&numbers.attribute.values, mesh, plan) {
                let what = format!("'{name}' moves, which glTF cannot hold: its first frame was taken");
                self.remarks.insert(Remark::new(&mesh.path, what));
            }
            let of = |c: &Corner| values.at(c.point as usize, 0, 0).unwrap_or_default().map(finite);
            let values: Vec<[f32; 4]> = list.iter().map(of).collect();
            let accessor = self.document.numbers(&values, numbers.components)?;
            let name = name.trim_start_matches('_').to_owned();
            attributes.insert(Valid(Semantic::Extras(name)), accessor);
        }
        Ok(())
    }

    /// Writes each distinct frame of a run but the first as a morph target. Gives for each frame the number
    /// of its target, or none where it is like the first.
    fn morph_targets(
        &mut self,
        mesh: &Mesh,
        plan: &Plan,
        list: &[Corner],
        base: &Base<'_>,
        targets: &mut Vec<MorphTarget>,
        cleaned: &mut bool,
    ) -> Result<Vec<Option<u32>>, Error> {
        let mut rows = vec![None];
        let mut known: HashMap<(Identity, Identity), Option<u32>> =
            HashMap::from([(base.frame.identity(), None)]);
        for f in plan.first + 1..plan.end {
            let frame = Frame::read(mesh, self.times[f])?;
            let row = match known.get(&frame.identity()) {
                Some(row) => *row,
                None => {
                    let deltas = difference(&frame.vertices(list, cleaned), base.positions);
                    let mut target = MorphTarget {
                        positions: Some(self.document.deltas(&deltas)?),
                        normals: None,
                        tangents: None,
                    };
                    if plan.normals_move
                        && let (Some(now), Some(base)) = (frame.vertex_normals(list), base.normals)
                    {
                        target.normals = Some(self.document.deltas(&difference(&now, base))?);
                    }
                    targets.push(target);
                    let row = Some(targets.len() as u32 - 1);
                    known.insert(frame.identity(), row);
                    row
                }
            };
            rows.push(row);
        }
        Ok(rows)
    }

    /// Weights of `targets` morph targets, 1 for the one of each row; equal ones are written once.
    fn morph_weights(&mut self, rows: Vec<Option<u32>>, targets: usize) -> Result<Index<Accessor>, Error> {
        if let Some(output) = self.weights.get(&rows) {
            return Ok(*output);
        }
        let output = self.document.one_hot(&rows, targets)?;
        self.weights.insert(rows, output);
        Ok(output)
    }

    /// Writes the mesh itself: a primitive per material, or one of points where there are no triangles.
    fn primitives(
        &mut self,
        mesh: &Mesh,
        parts: &Parts,
        vertices: usize,
        attributes: Attributes,
        targets: Vec<MorphTarget>,
    ) -> Result<Index<gltf_json::Mesh>, Error> {
        let weights = (!targets.is_empty()).then(|| vec![0.0; targets.len()]);
        let targets = (!targets.is_empty()).then_some(targets);
        let mut primitives = Vec::new();
        let primitive = |indices, material, mode| Primitive {
            attributes: attributes.clone(),
            extensions: None,
            extras: Default::default(),
            indices,
            material,
            mode: Valid(mode),
            targets: targets.clone(),
        };
        for (set, indices) in parts {
            let material = set.map(|s| self.material(&mesh.face_sets[s as usize].name));
            let indices = self.document.indices(indices, vertices)?;
            primitives.push(primitive(Some(indices), material, Mode::Triangles));
        }
        if primitives.is_empty() {
            primitives.push(primitive(None, None, Mode::Points));
        }
        let name = mesh.path.rsplit('/').next().map(String::from);
        let mesh =
            gltf_json::Mesh { extensions: None, extras: Default::default(), name, primitives, weights };
        Ok(Index::push(&mut self.document.root.meshes, mesh))
    }

    /// The skin that moves all of a mesh of so many points: of joints of its own, or on a skeleton.
    fn own_skin(&self, mesh: &Mesh, points: usize) -> Option<Arc<Skin>> {
        let skin = mesh.skin.as_ref()?;
        let moved = skin.skeleton.is_none() && skin.pose.len() == mesh.positions.len();
        let own = (moved || is_rig(skin))
            && mesh.topology != Topology::Heterogeneous
            && skin.bind_positions.len() == points
            && skin.joints.len() < usize::from(u16::MAX);
        own.then(|| skin.clone())
    }

    /// A plain grey material of this name.
    fn material(&mut self, name: &str) -> Index<material::Material> {
        if let Some(material) = self.materials.get(name) {
            return *material;
        }
        let material = Material {
            name: Some(name.into()),
            double_sided: true,
            pbr_metallic_roughness: PbrMetallicRoughness {
                base_color_factor: PbrBaseColorFactor([0.8, 0.8, 0.8, 1.0]),
                metallic_factor: StrengthFactor(0.0),
                roughness_factor: StrengthFactor(0.8),
                ..Default::default()
            },
            ..Default::default()
        };
        let index = Index::push(&mut self.document.root.materials, material);
        self.materials.insert(name.into(), index);
        index
    }
}

/// A corner of a face, from which a vertex takes its values.
#[derive(Clone, Copy)]
struct Corner {
    point: u32,
    face: u32,
    corner: u32,
}

impl Corner {
    fn of_point(point: u32) -> Corner {
        Corner { point, face: 0, corner: 0 }
    }
}

/// Accessors of the vertices of a run.
type Attributes = BTreeMap<Checked<Semantic>, Index<Accessor>>;

/// Triangles of each face set, as vertices; those of faces in none come first.
type Parts = BTreeMap<Option<u32>, Vec<u32>>;

/// Vertices of a run.
struct Vertices {
    /// The corner that each vertex takes its values from.
    list: Vec<Corner>,
    /// The vertex of each corner; none where points are the vertices.
    of_corner: Option<Vec<u32>>,
}

/// The values that morph targets are relative to.
struct Base<'a> {
    frame: &'a Frame,
    positions: &'a [[f32; 3]],
    normals: Option<&'a [[f32; 3]]>,
}

/// The first frame of a run, with all that does not move in it.
struct FirstFrame {
    frame: Frame,
    faces: Faces,
    usable: Usable,
    uvs: Vec<PerCorner<[f32; 2]>>,
    colours: Vec<PerCorner<[f32; 4]>>,
}

impl FirstFrame {
    fn read(mesh: &Mesh, time: f64) -> Result<FirstFrame, Error> {
        let frame = Frame::read(mesh, time)?;
        let mut faces = Faces::default();
        faces_at(mesh, time, &mut faces)?;
        let uvs = mesh.uvs.iter().map(|a| PerCorner::read(a, mesh, time)).collect::<Result<_, _>>()?;
        let colours =
            mesh.colours.iter().map(|a| PerCorner::read(a, mesh, time)).collect::<Result<_, _>>()?;
        let usable = usable(&faces, frame.positions.len());
        Ok(FirstFrame { frame, faces, usable, uvs, colours })
    }

    /// Corners that differ in anything are different vertices. Each takes its values from its first corner.
    fn vertices(&self, plan: &Plan) -> Vertices {
        let splits = plan.corners.is_some()
            || self.uvs.iter().any(PerCorner::splits)
            || self.colours.iter().any(PerCorner::splits);
        if !splits {
            let list = (0..self.frame.positions.len() as u32).map(Corner::of_point).collect();
            return Vertices { list, of_corner: None };
        }
        let mut distinct: Distinct<Corner, (u32, u32)> = Distinct::new();
        let mut vertices = vec![u32::MAX; self.faces.indices.len()];
        let mut wide: Vec<Classes> = vec![Classes::new(); self.uvs.len() + self.colours.len()];
        for &(face, first, count) in &self.usable.list {
            for corner in first..first + count {
                let point = self.faces.indices[corner as usize] as u32;
                let mut class = plan.corners.as_ref().map_or(point, |c| c[corner as usize]);
                // Each attribute divides the classes of those before it.
                let uv = self
                    .uvs
                    .iter()
                    .map(|a| pack(a.at(point as usize, face as usize, corner as usize).unwrap_or_default()));
                let colour = self
                    .colours
                    .iter()
                    .map(|a| pack(a.at(point as usize, face as usize, corner as usize).unwrap_or([1.0; 4])));
                for (value, classes) in uv.chain(colour).zip(&mut wide) {
                    let next = classes.len() as u32;
                    class = *classes.entry((class, value)).or_insert(next);
                }
                vertices[corner as usize] = distinct.number((point, class), Corner { point, face, corner });
            }
        }
        Vertices { list: distinct.list, of_corner: Some(vertices) }
    }

    /// Triangles of all usable faces, counter-clockwise.
    fn triangles(&self, mesh: &Mesh, time: f64, vertices: &Vertices) -> Result<Parts, Error> {
        let sets = set_of_faces(mesh, &self.faces, time)?;
        let mut parts = Parts::new();
        let mut polygon = Vec::new();
        for &(face, first, count) in &self.usable.list {
            let part = parts.entry(sets[face as usize]).or_default();
            let corners = first as usize..(first + count) as usize;
            polygon.clear();
            let points = self.faces.indices[corners.clone()].iter();
            polygon.extend(points.map(|&i| self.frame.positions[i as usize]));
            let vertex = |k: u32| {
                let corner = corners.start + k as usize;
                match &vertices.of_corner {
                    Some(vertices) => vertices[corner],
                    None => self.faces.indices[corner] as u32,
                }
            };
            triangulate(&polygon, |[a, b, c]| match mesh.winding {
                Winding::CounterClockwise => part.extend([a, b, c].map(vertex)),
                Winding::Clockwise => part.extend([a, c, b].map(vertex)),
            });
        }
        Ok(parts)
    }
}

/// Positions and normals at one time.
struct Frame {
    positions: Vec<[f32; 3]>,
    normals: Option<PerCorner<[f32; 3]>>,
}

impl Frame {
    fn read(mesh: &Mesh, time: f64) -> Result<Frame, Error> {
        let mut positions = Vec::new();
        positions_at(mesh, time, &mut positions)?;
        let normals = mesh.normals.as_ref().map(|a| PerCorner::read(a, mesh, time)).transpose()?;
        Ok(Frame { positions, normals })
    }

    fn identity(&self) -> (Identity, Identity) {
        (identity(&self.positions), self.normals.as_ref().map_or(0, PerCorner::identity))
    }

    fn vertices(&self, list: &[Corner], cleaned: &mut bool) -> Vec<[f32; 3]> {
        let vertex = |c: &Corner| {
            let p = self.positions.get(c.point as usize).copied().unwrap_or_default();
            *cleaned |= !p.iter().all(|v| v.is_finite());
            p.map(finite)
        };
        list.iter().map(vertex).collect()
    }

    /// Normals of vertices, of length 1, as glTF wants them.
    fn vertex_normals(&self, list: &[Corner]) -> Option<Vec<[f32; 3]>> {
        let normals = self.normals.as_ref()?;
        let normal = |c: &Corner| {
            let n = normals.at(c.point as usize, c.face as usize, c.corner as usize).unwrap_or_default();
            let n = glam::DVec3::from_array(n.map(f64::from)).try_normalize().unwrap_or(glam::DVec3::Z);
            [n.x as f32, n.y as f32, n.z as f32]
        };
        Some(list.iter().map(normal).collect())
    }
}

/// Divides the frames into runs and finds out what moves in each.
fn plan(mesh: &Mesh, times: &[f64]) -> Result<Vec<Plan>, Error> {
    let mut plans: Vec<Plan> = Vec::new();
    let mut faces = Faces::default();
    let mut other = Faces::default();
    let mut last_topology = None;
    let mut points = usize::MAX;
    let mut first_identity = (0, 0);
    let constant = mesh.positions.is_constant()
        && mesh
            .normals
            .as_ref()
            .is_none_or(|n| n.values.is_constant() && n.indices.as_ref().is_none_or(|i| i.is_constant()));
    for (f, &time) in times.iter().enumerate() {
        let topology = topology_identity(mesh, time);
        let mut same = last_topology == Some(topology);
        if same
            && constant
            && let Some(plan) = plans.last_mut()
        {
            plan.end = f + 1;
            continue;
        }
        if !same {
            faces_at(mesh, time, &mut other)?;
            same = other == faces && last_topology.is_some();
            std::mem::swap(&mut faces, &mut other);
            last_topology = Some(topology);
        }
        let frame = Frame::read(mesh, time)?;
        let now = frame.identity();
        if !same || frame.positions.len() != points {
            points = frame.positions.len();
            first_identity = now;
            plans.push(Plan { first: f, end: f, moves: false, normals_move: false, corners: None });
        }
        let Some(plan) = plans.last_mut() else {
            continue;
        };
        plan.end = f + 1;
        plan.moves |= now.0 != first_identity.0;
        let normals_moved = now.1 != first_identity.1;
        plan.normals_move |= normals_moved;
        if let Some(normals) = frame.normals.filter(|n| n.splits() && (normals_moved || plan.first == f)) {
            plan.corners = Some(divide(plan.corners.take(), &faces, points, &normals));
        }
    }
    Ok(plans)
}

/// Corner classes, divided further where normals differ.
fn divide(before: Option<Vec<u32>>, faces: &Faces, points: usize, normals: &PerCorner<[f32; 3]>) -> Vec<u32> {
    let mut out = before.unwrap_or_else(|| faces.indices.iter().map(|&i| i as u32).collect());
    let mut numbers = Classes::with_capacity(points);
    for &(face, first, count) in &usable(faces, points).list {
        let corners = first as usize..(first + count) as usize;
        for (corner, class) in corners.clone().zip(&mut out[corners]) {
            let point = faces.indices[corner] as usize;
            let value = pack(normals.at(point, face as usize, corner).unwrap_or_default());
            let next = numbers.len() as u32;
            *class = *numbers.entry((*class, value)).or_insert(next);
        }
    }
    out
}

fn pack<const N: usize>(values: [f32; N]) -> u128 {
    values.iter().fold(0, |all, v| all << 32 | u128::from(v.to_bits()))
}

fn difference(a: &[[f32; 3]], b: &[[f32; 3]]) -> Vec<[f32; 3]> {
    a.iter().zip(b).map(|(a, b)| std::array::from_fn(|i| finite(a[i] - b[i]))).collect()
}

fn finite(v: f32) -> f32 {
    if v.is_nan() { 0.0 } else { v.clamp(f32::MIN, f32::MAX) }
}
