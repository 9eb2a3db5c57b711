//! Part attributes: custom attributes of any scope that are equal all over a group of vertices. A group is a
//! rigid part, if each such part has equal values; else all vertices whose values are equal in every frame.
//! Attributes that differ from point to point are left out.

use crate::Error;
use crate::clip::scalars;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::FixedLayout;
use crate::method::mesh_coder::MeshCoder;
use crate::report::PartAttributeReport;
use crate::write::job::Job;
use meshreel_codec::clip::scalars::{MAX_VALUES, ScalarTrack};
use meshreel_codec::record::attributes::{AttributeGroups, PartAttributeRecord, encode};
use meshreel_options::{PartsChoice, Tolerance};
use meshreel_process::parts::NO_PART;
use meshreel_scene::{CustomAttribute, Mesh, MeshId, Remark, Scope, sample};
use std::collections::{BTreeMap, HashMap};

/// The largest number of groups of an attribute, and the least average number of points per group if there
/// are more than a few groups.
const MAX_GROUPS: usize = 65_535;
const UNCHECKED_GROUPS: usize = 64;
const MIN_POINTS_PER_GROUP: usize = 2;

/// The part attributes of some nodes that show the same mesh.
#[derive(Default)]
pub struct PartAttributes {
    /// Nodes of the file, ascending.
    pub nodes: Vec<u32>,
    /// Index of the mesh in the file.
    pub mesh: usize,
    /// Their bytes in the chunk.
    pub bytes: Vec<u8>,
    /// A report of each attribute.
    pub attributes: Vec<PartAttributeReport>,
    /// Remarks on attributes that are left out.
    pub remarks: Vec<Remark>,
}

/// Returns the part attributes of all nodes, in their order.
pub fn collect_part_attributes(job: &Job, coders: &[MeshCoder]) -> Result<Vec<PartAttributes>, Error> {
    if !job.content.options.channels.attributes {
        return Ok(Vec::new());
    }
    let mut of_plan = vec![None; job.content.placed.len()];
    for (m, (_, placements)) in job.plans.iter().enumerate() {
        placements.iter().for_each(|&i| of_plan[i] = Some(m));
    }
    // Identical meshes, stored once, may still have different attributes.
    let mut groups: BTreeMap<(usize, MeshId), Vec<u32>> = BTreeMap::new();
    for (n, node) in (0..).zip(&job.nodes) {
        let Some(placed) = node.mesh else { continue };
        let mesh = job.content.scene.nodes[job.content.placed[placed].node].mesh;
        if let (Some(plan), Some(mesh)) = (of_plan[placed], mesh) {
            groups.entry((plan, mesh)).or_default().push(n);
        }
    }
    let mut all = Vec::new();
    for ((m, mesh), nodes) in groups {
        let mesh = &job.content.scene.meshes[mesh];
        let kept = mesh_part_attributes(job, m, coders.get(m), mesh, nodes)?;
        if !(kept.bytes.is_empty() && kept.remarks.is_empty()) {
            all.push(kept);
        }
    }
    all.sort_by_key(|kept| kept.nodes.first().copied());
    Ok(all)
}

fn mesh_part_attributes(
    job: &Job,
    m: usize,
    coder: Option<&MeshCoder>,
    mesh: &Mesh,
    nodes: Vec<u32>,
) -> Result<PartAttributes, Error> {
    let plan = &job.plans[m].0;
    let mut kept = PartAttributes { nodes, mesh: m, ..PartAttributes::default() };
    let mut out = Vec::new();
    for numbers in sample::custom_attributes(mesh) {
        // Values of each particle are a stream of its own.
        if mesh.particles.is_some() && numbers.attribute.scope != Scope::Constant {
            continue;
        }
        match attribute(job, plan, coder, mesh, &numbers)? {
            Ok(attribute) => {
                let groups = attribute.tracks.len();
                let name = attribute.name.clone();
                let components = attribute.components;
                kept.attributes.push(PartAttributeReport { name, components, groups });
                out.push(attribute);
            }
            // An attribute that separates the parts is not needed otherwise.
            Err(_) if separates_parts(plan, coder, &numbers.attribute.name) => {}
            Err(what) => {
                let what = format!("attribute {}: {what}; left out", numbers.attribute.name);
                kept.remarks.push(Remark::new(&mesh.path, what));
            }
        }
    }
    if !out.is_empty() {
        encode(&kept.nodes, &out, job.content.times.len() as u32, &mut kept.bytes);
    }
    Ok(kept)
}

/// Returns `true` if parts are separated by an attribute of this name, or were requested to be.
fn separates_parts(plan: &MeshPlan, coder: Option<&MeshCoder>, name: &str) -> bool {
    let from = format!("attribute '{name}'");
    matches!(&plan.parts, PartsChoice::Attribute(asked) if asked == name)
        || coder.is_some_and(|coder| coder.tried.iter().any(|tried| tried.from == from))
}

const DIFFERS_BETWEEN_POINTS: &str =
    "differs from point to point, and only what is the same all over a part is kept";
const DIFFERS_BETWEEN_FACES: &str = "differs between the faces or corners of a point";

/// Returns a part attribute, or the reason why an attribute cannot be kept.
fn attribute(
    job: &Job,
    plan: &MeshPlan,
    coder: Option<&MeshCoder>,
    mesh: &Mesh,
    numbers: &CustomAttribute,
) -> Result<Result<PartAttributeRecord, String>, Error> {
    let components = numbers.components.clamp(1, 4);
    let mut reader = AttributeReader::new(mesh, numbers);
    let (of, first) = match (numbers.attribute.scope, &plan.prepared.fixed) {
        (Scope::Constant, _) => (AttributeGroups::Mesh, vec![0]),
        // If the faces change, the vertices of a value are not known.
        (_, None) => {
            let what = "is not one value of the whole mesh, and its faces change";
            return Ok(Err(what.into()));
        }
        _ if plan.source.remeshed.is_some() => {
            let what = "is not one value of the whole mesh, which has other faces now";
            return Ok(Err(what.into()));
        }
        (_, Some(fixed)) => match point_groups(&job.content.times, plan.prepared.scan.points, &mut reader)? {
            Err(what) => return Ok(Err(what.into())),
            Ok(groups) => vertex_groups(fixed, coder, groups),
        },
    };
    if first.len() * components * job.content.times.len() > MAX_VALUES {
        return Ok(Err(format!("more than {MAX_VALUES} numbers in all frames")));
    }
    // By group and component, the values of all frames.
    let mut values = vec![Vec::with_capacity(job.content.times.len()); first.len() * components];
    for &time in job.content.times.iter() {
        let now = match reader.read_values(time)? {
            Err(what) => return Ok(Err(what.into())),
            Ok(now) => now,
        };
        for (own, &point) in values.chunks_mut(components).zip(&first) {
            for (component, list) in own.iter_mut().enumerate() {
                list.push(f64::from(now[point][component]));
            }
        }
    }
    let whole = mesh.integers.iter().any(|a| a.name == numbers.attribute.name);
    let mut tolerance = [Tolerance::Absolute(0.0); 4];
    for (component, tolerance) in tolerance.iter_mut().enumerate().take(components) {
        let all = values.iter().skip(component).step_by(components).flatten();
        let (low, high) =
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
        *tolerance = Tolerance::Absolute(match job.content.options.scalar_tolerance {
            _ if whole => 0.0,
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(part) => part * (high - low),
        });
    }
    let mut tracks = Vec::with_capacity(first.len());
    for own in values.chunks(components) {
        let mut track = ScalarTrack { name: String::new(), components: Vec::new() };
        for (values, &tolerance) in own.iter().zip(&tolerance) {
            match scalars::encode_component(values, tolerance) {
                Some((component, _)) => track.components.push(component),
                None => return Ok(Err("has a number beyond those of f32, or none".into())),
            }
        }
        tracks.push(track);
    }
    Ok(Ok(PartAttributeRecord { name: numbers.attribute.name.clone(), components, groups: of, tracks }))
}

/// By point, four values.
type PointValues<'a> = &'a [[f32; 4]];
/// Topology, and samples of values and indices.
type SampleIdentity = ((u128, u128), [(usize, f64); 2]);

/// Reads an attribute by point; an attribute of the whole mesh as one of a single point.
struct AttributeReader<'a> {
    mesh: &'a Mesh,
    custom: &'a CustomAttribute,
    last_read: Option<SampleIdentity>,
    faces: sample::Faces,
    positions: usize,
    values: sample::AttributeValues<[f32; 4]>,
    now: Vec<[f32; 4]>,
}

impl<'a> AttributeReader<'a> {
    fn new(mesh: &'a Mesh, numbers: &'a CustomAttribute) -> AttributeReader<'a> {
        AttributeReader {
            mesh,
            custom: numbers,
            last_read: None,
            faces: sample::Faces::default(),
            positions: 0,
            values: sample::AttributeValues::default(),
            now: Vec::new(),
        }
    }

    fn read_values(&mut self, time: f64) -> Result<Result<PointValues<'_>, &'static str>, Error> {
        let attribute = &self.custom.attribute;
        let values = sample::with_position_times(&attribute.values, self.mesh);
        let indices = attribute.indices.as_ref().filter(|i| !i.is_empty());
        let indices = indices.map_or((0, 0.0), |i| sample::with_position_times(i, self.mesh).locate(time));
        let constant = attribute.values.is_constant();
        let of_values = if constant { (0, 0.0) } else { values.locate(time) };
        let at = (sample::topology_identity(self.mesh, time), [of_values, indices]);
        if self.last_read == Some(at) {
            return Ok(Ok(&self.now));
        }
        self.last_read = None;
        sample::attribute_at(attribute, self.mesh, time, &mut self.values)?;
        if attribute.scope == Scope::Constant {
            let i = (self.values.indices.as_ref()).map_or(Some(0), |list| list.first().copied());
            let value = i.and_then(|i| self.values.values.get(i as usize));
            self.now.clear();
            self.now.extend(value);
            self.last_read = value.map(|_| at);
            return Ok(match value {
                Some(_) => Ok(&self.now),
                None => Err("has no value in some frames"),
            });
        }
        sample::faces_at(self.mesh, time, &mut self.faces)?;
        if self.positions == 0 {
            let mut points = Vec::new();
            sample::positions_at(self.mesh, time, &mut points)?;
            self.positions = points.len();
        }
        let scope = attribute.scope;
        let now = sample::values_by_point(scope, &self.faces, self.positions, &self.values);
        Ok(now.and_then(|now| {
            self.now = now.ok_or(DIFFERS_BETWEEN_FACES)?;
            self.last_read = Some(at);
            Ok(&self.now[..])
        }))
    }
}

/// Returns, by point, its group: the points of a group have equal values in all frames.
fn point_groups(
    times: &[f64],
    points: usize,
    reader: &mut AttributeReader<'_>,
) -> Result<Result<Vec<u32>, &'static str>, Error> {
    let mut group = vec![0u32; points];
    let mut last: Vec<[u32; 4]> = Vec::new();
    for &time in times {
        let now = match reader.read_values(time)? {
            Err(what) => return Ok(Err(what)),
            Ok(now) if now.len() != points => {
                return Ok(Err("has other points than its mesh"));
            }
            Ok(now) => now,
        };
        let bits = || now.iter().map(|v| v.map(f32::to_bits));
        if bits().eq(last.iter().copied()) {
            continue;
        }
        last.clear();
        last.extend(bits());
        // The groups so far are divided by the current values of their points.
        let mut numbers: HashMap<(u32, [u32; 4]), u32> = HashMap::new();
        for (group, bits) in group.iter_mut().zip(&last) {
            let next = numbers.len() as u32;
            *group = *numbers.entry((*group, *bits)).or_insert(next);
        }
        let count = numbers.len();
        let many = count > UNCHECKED_GROUPS && count * MIN_POINTS_PER_GROUP > points;
        if count > MAX_GROUPS || many {
            return Ok(Err(DIFFERS_BETWEEN_POINTS));
        }
    }
    Ok(Ok(group))
}

/// Returns groups of vertices from those of points, or of parts if each has one group, and a point of each
/// group.
fn vertex_groups(
    fixed: &FixedLayout,
    coder: Option<&MeshCoder>,
    group: Vec<u32>,
) -> (AttributeGroups, Vec<usize>) {
    // Only groups that have a vertex, in the order of their first ones.
    let mut number = BTreeMap::new();
    let mut first = Vec::new();
    let mut of_vertex = Vec::with_capacity(fixed.vertex_point.len());
    for &point in &fixed.vertex_point {
        let own = *number.entry(group[point as usize]).or_insert_with(|| {
            first.push(point as usize);
            first.len() as u32 - 1
        });
        of_vertex.push(own);
    }
    let parts = coder.map_or(Vec::new(), MeshCoder::parts);
    let count = parts.iter().filter(|&&p| p != NO_PART).max();
    let count = coder.map_or(0, |c| c.bones()[0]).max(count.map_or(0, |p| *p as usize + 1));
    let mut of_part = vec![NO_PART; count];
    let one_each = parts.len() == of_vertex.len()
        && parts.iter().zip(&of_vertex).all(|(&part, &group)| {
            of_part.get_mut(part as usize).is_some_and(|own| {
                let same = *own == NO_PART || *own == group;
                *own = group;
                same
            })
        });
    match one_each && count > 0 {
        true => {
            let of_part = of_part.iter().map(|&g| if g == NO_PART { 0 } else { g });
            (AttributeGroups::Parts(of_part.collect()), first)
        }
        false => (AttributeGroups::Vertices(of_vertex), first),
    }
}
