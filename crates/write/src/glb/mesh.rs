//! Meshes: frames of equal topology make a *run*, which is one glTF mesh: its first frame as vertices, every
//! other distinct frame as a morph target, and weights that are 1 for one target at a time.

use super::buffer::{AccessorUse, Document};
use super::influences::VertexInfluences;
use super::packed::{self, Compression, Lattice, PositionBounds};
use crate::corners::PerCorner;
use crate::skins::is_rig;
use crate::vertices::{
    Corner, FirstFrame, MeshFrame, RunPlan, TrianglesBySet, finite_or_zero, plan_runs, sort_by_first_use,
};
use gltf_json::accessor::Accessor;
use gltf_json::material::{Material, PbrBaseColorFactor, PbrMetallicRoughness, StrengthFactor};
use gltf_json::mesh::{Mode, MorphTarget, Primitive, Semantic};
use gltf_json::validation::Checked::{self, Valid};
use gltf_json::{Index, material};
use meshreel_scene::sample::with_position_times;
use meshreel_scene::{Channel, Error, Identity, Mesh, MeshId, Remark, Skin, Topology};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Frames `first..end`, in which the faces are the same.
pub(super) struct Run {
    pub first: usize,
    pub end: usize,
    /// The glTF mesh; `None` if there is nothing to draw.
    pub mesh: Option<Index<gltf_json::Mesh>>,
    /// Times and weights of the morph targets, if it moves.
    pub weights: Option<(Index<Accessor>, Index<Accessor>)>,
    /// The skin that moves it instead of weights, and whether its first joint is added for points that stay.
    pub skin: Option<(Arc<Skin>, bool)>,
    /// The lattice of its positions, if they are integers.
    pub lattice: Option<Lattice>,
}

/// Largest number of morph targets of a mesh in a compressed file: WebGL 2 guarantees 256 layers of a
/// texture, in which three.js and others keep a mesh's targets.
const MAX_MORPH_TARGETS: usize = 256;

/// Writes meshes into a document.
pub(super) struct MeshWriter<'a> {
    pub document: Document,
    pub times: &'a [f64],
    /// Frame `times` as key times of the file.
    pub keys: &'a [f32],
    pub remarks: BTreeSet<Remark>,
    /// The requested compression, if any.
    pub compression: Option<&'a Compression>,
    /// By compressed mesh: the largest position error, in the mesh's own space.
    pub errors: Vec<(MeshId, f64)>,
    materials: HashMap<String, Index<material::Material>>,
    inputs: HashMap<(usize, usize), Index<Accessor>>,
    weights: HashMap<Vec<Option<u32>>, Index<Accessor>>,
    /// `true` if animations use parts of what is written for all frames.
    has_ranges: bool,
}

impl<'a> MeshWriter<'a> {
    pub fn new(
        document: Document,
        times: &'a [f64],
        keys: &'a [f32],
        compression: Option<&'a Compression>,
        has_ranges: bool,
    ) -> MeshWriter<'a> {
        let remarks = BTreeSet::new();
        MeshWriter {
            document,
            times,
            keys,
            remarks,
            compression,
            errors: Vec::new(),
            materials: HashMap::new(),
            inputs: HashMap::new(),
            weights: HashMap::new(),
            has_ranges,
        }
    }

    /// Returns the key times of the frames `first..end`.
    pub fn key_time_accessor(&mut self, first: usize, end: usize) -> Result<Index<Accessor>, Error> {
        if let Some(input) = self.inputs.get(&(first, end)) {
            return Ok(*input);
        }
        let keys: Vec<[f32; 1]> = self.keys[first..end].iter().map(|&k| [k]).collect();
        let input = self.document.floats(&keys, AccessorUse::Animation, true)?;
        self.inputs.insert((first, end), input);
        Ok(input)
    }

    /// Writes all runs of mesh `id`; `done` is called once per frame.
    pub fn runs(&mut self, id: MeshId, mesh: &Mesh, done: &mut dyn FnMut()) -> Result<Vec<Run>, Error> {
        if self.compression.is_some() {
            self.errors.push((id, 0.0));
        }
        let plans = plan_runs(mesh, self.times)?;
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

    /// `true` if a channel has more than one value within a run.
    fn moves<T>(&self, channel: &Channel<T>, mesh: &Mesh, plan: &RunPlan) -> bool
    where
        T: Clone + Send + Sync + 'static,
    {
        let channel = with_position_times(channel, mesh);
        let at = |f: usize| channel.identity(channel.locate(self.times[f]).0);
        !channel.is_empty() && (plan.first..plan.end).any(|f| at(f) != at(plan.first))
    }

    /// Writes a run: vertices, their animation, triangles.
    fn run(&mut self, mesh: &Mesh, plan: &RunPlan) -> Result<Run, Error> {
        let time = self.times[plan.first];
        let mut first = FirstFrame::read(mesh, time)?;
        self.remark_moving(mesh, plan);
        if first.usable.broken > 0 {
            self.remark(mesh, "faces that refer to points that are not there were left out");
        }
        let mut vertices = first.vertices(plan);
        let mut parts = first.triangles(mesh, time, &vertices)?;
        // A mesh without triangles is drawn as points.
        if parts.is_empty() && vertices.of_corner.is_some() {
            vertices.list = (0..first.frame.positions.len() as u32).map(Corner::from_point).collect();
        }
        let mut list = vertices.list;
        if self.compression.is_some() {
            sort_by_first_use(&mut list, &mut parts);
        }
        let mut run =
            Run { first: plan.first, end: plan.end, mesh: None, weights: None, skin: None, lattice: None };
        if list.is_empty() {
            return Ok(run);
        }

        let mut attributes = Attributes::new();
        let mut cleaned = false;
        let mut normals = first.frame.vertex_normals(&list);
        if let Some(skin) = self.own_skin(mesh, first.frame.positions.len()) {
            // Without a pose, normals of the bind pose are unknown.
            normals = normals.filter(|_| !is_rig(&skin) || skin.pose.len() == 1);
            let points: Vec<u32> = list.iter().map(|c| c.point).collect();
            let bound = VertexInfluences::new(mesh, &skin, time, &points, normals.as_deref_mut())?;
            self.influences(&bound, &mut attributes)?;
            first.frame.positions = skin.bind_positions.to_vec();
            run.skin = Some((skin, bound.has_fixed_joint));
        }
        let positions = first.frame.vertices(&list, &mut cleaned);
        if run.skin.is_none() {
            run.lattice = self.position_lattice(mesh, plan, &list, &positions)?;
        }
        let (accessor, numbers) = self.positions(&positions, run.lattice)?;
        attributes.insert(Valid(Semantic::Positions), accessor);
        if let Some(own) = &mut normals {
            let accessor = self.normals(own)?;
            attributes.insert(Valid(Semantic::Normals), accessor);
        }
        self.uvs_and_colours(&first, &list, &mut attributes)?;
        self.own_attributes(mesh, plan, &list, &mut attributes)?;

        let mut targets = Vec::new();
        if run.skin.is_none() && (plan.moves || plan.normals_move) {
            let grid = run.lattice.zip(numbers.as_deref());
            let base = MorphBase {
                frame: &first.frame,
                positions: &positions,
                normals: normals.as_deref(),
                lattice: grid,
            };
            let rows = self.morph_targets(mesh, plan, &list, &base, &mut targets, &mut cleaned)?;
            let output = self.morph_weights(rows, targets.len())?;
            run.weights = Some((self.key_time_accessor(plan.first, plan.end)?, output));
        }
        if cleaned {
            self.remark(mesh, "positions that are no finite numbers were replaced");
        }
        run.mesh = Some(self.primitives(mesh, &parts, list.len(), attributes, targets)?);
        Ok(run)
    }

    /// Returns the lattice for positions of a run, if the file is compressed and 16 bits suffice.
    fn position_lattice(
        &self,
        mesh: &Mesh,
        plan: &RunPlan,
        list: &[Corner],
        first: &[[f32; 3]],
    ) -> Result<Option<Lattice>, Error> {
        let Some(tolerance) = self.tolerance() else {
            return Ok(None);
        };
        let mut reach = PositionBounds::from_first_frame(first);
        for f in (plan.first + 1..plan.end).filter(|_| plan.moves) {
            reach.add(&MeshFrame::read(mesh, self.times[f])?.vertices(list, &mut false), first);
        }
        Ok(reach.lattice(tolerance))
    }

    /// Returns the tolerance for positions of the mesh that is written; `None` if they are not compressed.
    fn tolerance(&self) -> Option<f64> {
        let (id, _) = self.errors.last()?;
        self.compression?.position_tolerances.get(*id).copied()
    }

    /// Records a position error of the mesh that is written.
    fn record_error(&mut self, error: f64) {
        if let Some((_, most)) = self.errors.last_mut() {
            *most = most.max(error);
        }
    }

    /// Writes positions of vertices; returns their integers, if they are on a lattice.
    fn positions(
        &mut self,
        positions: &[[f32; 3]],
        grid: Option<Lattice>,
    ) -> Result<(Index<Accessor>, Option<FixedPointPositions>), Error> {
        if let Some(grid) = grid {
            let numbers: Vec<[i32; 3]> = positions.iter().map(|p| grid.quantize(*p)).collect();
            let off = positions.iter().zip(&numbers).map(|(p, n)| grid.quantization_error(*p, *n));
            let most = off.fold(0.0, f64::max);
            self.record_error(most);
            return Ok((self.document.fixed_point_positions(&numbers, false)?, Some(numbers)));
        }
        let Some(tolerance) = self.tolerance() else {
            return Ok((self.document.floats(positions, AccessorUse::Vertices, true)?, None));
        };
        let (accessor, error) = packed::rounded(&mut self.document, positions, tolerance)?;
        self.record_error(error);
        Ok((accessor, None))
    }

    /// Writes normals of vertices, and replaces them by the values that will be read back.
    fn normals(&mut self, normals: &mut Vec<[f32; 3]>) -> Result<Index<Accessor>, Error> {
        let Some(compression) = self.compression else {
            return self.document.floats(normals, AccessorUse::Vertices, false);
        };
        let (accessor, back) =
            packed::normals(&mut self.document, normals, compression.normal_tolerance_degrees)?;
        *normals = back;
        Ok(accessor)
    }

    /// Adds a remark on uvs and colours that change within a run.
    fn remark_moving(&mut self, mesh: &Mesh, plan: &RunPlan) {
        let uvs = mesh.uvs.iter().map(|a| (&a.name, self.moves(&a.values, mesh, plan)));
        let colours = mesh.colours.iter().map(|a| (&a.name, self.moves(&a.values, mesh, plan)));
        let moving: Vec<_> = uvs.chain(colours).filter(|t| t.1).collect();
        for (name, _) in moving {
            let what = format!("'{name}' moves, which glTF cannot hold: its first frame was taken");
            self.remarks.insert(Remark::new(&mesh.path, what));
        }
    }

    fn influences(&mut self, bound: &VertexInfluences, attributes: &mut Attributes) -> Result<(), Error> {
        for (set, (joints, weights)) in bound.sets.iter().enumerate() {
            let joints = self.document.u16_vectors(joints)?;
            let weights = self.document.floats(weights, AccessorUse::Vertices, false)?;
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
            // The origin of glTF's images is at the top.
            let value = |c: &Corner| {
                uvs.value(c.point as usize, c.face as usize, c.corner as usize)
                    .map_or([0.0; 2], |[u, v]| [finite_or_zero(u), finite_or_zero(1.0 - v)])
            };
            let values: Vec<_> = list.iter().map(value).collect();
            let accessor = match self.compression {
                Some(_) => packed::uvs(&mut self.document, &values)?,
                None => self.document.floats(&values, AccessorUse::Vertices, false)?,
            };
            attributes.insert(Valid(Semantic::TexCoords(set as u32)), accessor);
        }
        for (set, colours) in first.colours.iter().enumerate() {
            let value = |c: &Corner| {
                let colour =
                    colours.value(c.point as usize, c.face as usize, c.corner as usize).unwrap_or([1.0; 4]);
                colour.map(|v| if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) })
            };
            let values: Vec<_> = list.iter().map(value).collect();
            let accessor = match self.compression {
                Some(_) => self.document.normalized_integers(&values)?,
                None => self.document.floats(&values, AccessorUse::Vertices, false)?,
            };
            attributes.insert(Valid(Semantic::Colors(set as u32)), accessor);
        }
        Ok(())
    }

    /// Writes custom attributes, as of the first frame; those of faces and corners are left out.
    fn own_attributes(
        &mut self,
        mesh: &Mesh,
        plan: &RunPlan,
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
            let of =
                |c: &Corner| values.value(c.point as usize, 0, 0).unwrap_or_default().map(finite_or_zero);
            let values: Vec<[f32; 4]> = list.iter().map(of).collect();
            let accessor = self.document.leading_components(&values, numbers.components)?;
            let name = name.trim_start_matches('_').to_owned();
            attributes.insert(Valid(Semantic::Extras(name)), accessor);
        }
        Ok(())
    }

    /// Writes each distinct frame of a run but the first as a morph target. Returns for each frame the index
    /// of its target, or `None` if it equals the first frame.
    fn morph_targets(
        &mut self,
        mesh: &Mesh,
        plan: &RunPlan,
        list: &[Corner],
        base: &MorphBase<'_>,
        targets: &mut Vec<MorphTarget>,
        cleaned: &mut bool,
    ) -> Result<Vec<Option<u32>>, Error> {
        let mut rows = vec![None];
        let mut known: HashMap<(Identity, Identity), Option<u32>> =
            HashMap::from([(base.frame.identity(), None)]);
        for f in plan.first + 1..plan.end {
            let frame = MeshFrame::read(mesh, self.times[f])?;
            let row = match known.get(&frame.identity()) {
                Some(row) => *row,
                None => {
                    self.check_targets(mesh, targets.len())?;
                    let target = self.target(plan, list, &frame, base, cleaned)?;
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

    /// Returns one frame as a morph target.
    fn target(
        &mut self,
        plan: &RunPlan,
        list: &[Corner],
        frame: &MeshFrame,
        base: &MorphBase<'_>,
        cleaned: &mut bool,
    ) -> Result<MorphTarget, Error> {
        let positions = match base.lattice {
            Some((grid, first)) => {
                let (numbers, error) = packed::quantized_positions(&grid, frame, list, cleaned);
                self.record_error(error);
                let deltas = numbers.iter().zip(first).map(|(n, b)| std::array::from_fn(|i| n[i] - b[i]));
                self.document.fixed_point_positions(&deltas.collect::<Vec<_>>(), true)?
            }
            None => {
                let deltas = difference(&frame.vertices(list, cleaned), base.positions);
                self.document.deltas(&deltas)?
            }
        };
        let mut target = MorphTarget { positions: Some(positions), normals: None, tangents: None };
        if plan.normals_move
            && let (Some(now), Some(first)) = (frame.vertex_normals(list), base.normals)
        {
            let deltas = difference(&now, first);
            target.normals = Some(match self.compression {
                Some(c) => {
                    packed::normal_differences(&mut self.document, &deltas, c.normal_tolerance_degrees)?
                }
                None => self.document.deltas(&deltas)?,
            });
        }
        Ok(target)
    }

    /// Refuses more morph targets than loaders are sure to support; without compression it adds a remark
    /// only.
    fn check_targets(&mut self, mesh: &Mesh, targets: usize) -> Result<(), Error> {
        if targets < MAX_MORPH_TARGETS {
            return Ok(());
        }
        if self.compression.is_none() {
            let what = "it is more than 256 morph targets, which many programs do not load (textures of WebGL 2 have so many layers): fewer frames (compile --range, --fps), .abc, or --format openvat";
            self.remark(mesh, what);
            return Ok(());
        }
        let what = format!(
            "morph targets of {}, one for each frame in which it is another: more are not sure to load (textures of WebGL 2 have 256 layers); give fewer frames (compile --range, --fps), .abc, or --format openvat",
            mesh.path
        );
        Err(Error::limit(self.document.target(), what, targets as u64 + 1, MAX_MORPH_TARGETS as u64))
    }

    /// Writes the weights of `targets` morph targets, 1 for the one of each row; equal ones are written once.
    fn morph_weights(&mut self, rows: Vec<Option<u32>>, targets: usize) -> Result<Index<Accessor>, Error> {
        if let Some(output) = self.weights.get(&rows) {
            return Ok(*output);
        }
        let output = self.document.one_hot(&rows, targets, self.has_ranges)?;
        self.weights.insert(rows, output);
        Ok(output)
    }

    /// Writes the mesh itself: one primitive per material, or one of points if there are no triangles.
    fn primitives(
        &mut self,
        mesh: &Mesh,
        parts: &TrianglesBySet,
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

    /// Returns the skin that moves all of a mesh with this number of points: with joints of its own, or on a
    /// skeleton.
    fn own_skin(&mut self, mesh: &Mesh, points: usize) -> Option<Arc<Skin>> {
        let skin = mesh.skin.as_ref()?;
        if !skin.dual_fraction.is_empty() {
            self.remark(
                mesh,
                "its skin blends dual quaternions, which those of glTF do not; it comes as points",
            );
            return None;
        }
        let moved = skin.skeleton.is_none() && skin.pose.len() == mesh.positions.len();
        let own = (moved || is_rig(skin))
            && mesh.topology != Topology::Heterogeneous
            && skin.bind_positions.len() == points
            && skin.joints.len() < usize::from(u16::MAX);
        own.then(|| skin.clone())
    }

    /// Returns the index of a plain grey material with this name.
    fn material(&mut self, name: &str) -> Index<material::Material> {
        if let Some(material) = self.materials.get(name) {
            return *material;
        }
        let index = Index::push(&mut self.document.root.materials, plain_material(name));
        self.materials.insert(name.into(), index);
        index
    }
}

/// Returns a plain grey material with this name.
pub(crate) fn plain_material(name: &str) -> Material {
    Material {
        name: Some(name.into()),
        double_sided: true,
        pbr_metallic_roughness: PbrMetallicRoughness {
            base_color_factor: PbrBaseColorFactor([0.8, 0.8, 0.8, 1.0]),
            metallic_factor: StrengthFactor(0.0),
            roughness_factor: StrengthFactor(0.8),
            ..Default::default()
        },
        ..Default::default()
    }
}

/// Integer positions of vertices.
type FixedPointPositions = Vec<[i32; 3]>;

/// Accessors of the vertices of a run.
type Attributes = BTreeMap<Checked<Semantic>, Index<Accessor>>;

/// The values that morph targets are relative to.
struct MorphBase<'a> {
    frame: &'a MeshFrame,
    positions: &'a [[f32; 3]],
    normals: Option<&'a [[f32; 3]]>,
    /// Its integer positions, if it has them.
    lattice: Option<(Lattice, &'a [[i32; 3]])>,
}

fn difference(a: &[[f32; 3]], b: &[[f32; 3]]) -> Vec<[f32; 3]> {
    a.iter().zip(b).map(|(a, b)| std::array::from_fn(|i| finite_or_zero(a[i] - b[i]))).collect()
}
