//! PolyMesh and SubD: points, faces and their attributes.

use super::attributes::{ElementCounts, Param, custom_attributes, describe};
use super::channel::{ArchiveObject, floats, i32s, size_of};
use super::core::{PropertyHeader, PropertyKind};
use meshreel_scene::{
    Attribute, Channel, CustomAttribute, Error, FaceSet, Identity, Mesh, Remark, Scope, Source, TimeSampling,
    Topology, Winding,
};
use std::collections::HashSet;
use std::sync::Arc;

/// The reason why a mesh cannot be read at all.
pub type MeshFault = String;

/// The properties whose samples count as samples of the schema.
const SCHEMA_PROPERTIES: [&str; 8] =
    ["P", ".faceCounts", ".faceIndices", "nVertices", ".pointIds", ".velocities", ".widths", "width"];

/// Reads the mesh in the compound with `properties`, without its face sets (these are child objects).
pub fn read(
    object: &ArchiveObject,
    properties: &[PropertyHeader],
    is_subd: bool,
    remarks: &mut Vec<Remark>,
) -> Result<Result<Mesh, MeshFault>, Error> {
    let simple = |name: &str| find_sampled(properties, name);
    let (points, counts, indices) = (simple("P"), simple(".faceCounts"), simple(".faceIndices"));
    let positions = match points {
        None => Channel::constant(Vec::new()),
        Some(p) => match floats::<3, 3>(p.pod, false, 0.0).filter(|_| p.extent == 3) {
            Some(decode) => object.channel(p, decode),
            None => return Ok(Err("its positions are not three floats each".into())),
        },
    };
    let whole = |p: Option<&PropertyHeader>| match p {
        None => Some(Channel::constant(Vec::new())),
        Some(p) => i32s(p.pod).map(|decode| object.channel(p, decode)),
    };
    let (Some(face_counts), Some(face_indices)) = (whole(counts), whole(indices)) else {
        return Ok(Err("its faces are not whole numbers".into()));
    };
    let missing = match (points, counts, indices) {
        (None, None, None) => Some("has no samples; taken as an empty mesh"),
        (None, _, _) => Some("has no positions; none of its faces can be shown"),
        (_, None, _) | (_, _, None) => Some("has no faces; its points alone are not shown"),
        _ => None,
    };
    if let Some(what) = missing {
        remarks.push(Remark::new(&*object.path, what));
    }

    let point_sizes = lengths(object, points, &positions)?;
    let count_sizes = lengths(object, counts, &face_counts)?;
    let index_sizes = lengths(object, indices, &face_indices)?;
    let topology = if !face_counts.is_constant() || !face_indices.is_constant() || point_sizes.vary {
        Topology::Heterogeneous
    } else if positions.is_constant() {
        Topology::Constant
    } else {
        Topology::Homogeneous
    };
    let sizes = |of: fn(&PropertyLengths) -> usize| ElementCounts {
        points: of(&point_sizes),
        faces: of(&count_sizes),
        corners: of(&index_sizes),
    };

    let mut mesh = Mesh {
        path: object.path.to_string(),
        positions,
        face_counts,
        face_indices,
        winding: Winding::Clockwise,
        topology,
        normals: None,
        uvs: Vec::new(),
        colours: Vec::new(),
        velocities: None,
        face_sets: Vec::new(),
        other_attributes: Vec::new(),
        is_subd,
        integers: Vec::new(),
        custom_attributes: Vec::new(),
        names: Vec::new(),
        skin: None,
        particles: None,
    };
    let (first, last) = (sizes(|l| l.first), sizes(|l| l.last));
    let attributes = AttributeReader { object, first, last, mesh: &mut mesh, remarks };
    read_attributes(attributes, properties)?;
    if let Some(points) = points {
        correct_sparse_times(object, points, &mut mesh)?;
    }
    Ok(Ok(mesh))
}

/// Finds a property that is no compound and has samples.
pub(super) fn find_sampled<'p>(properties: &'p [PropertyHeader], name: &str) -> Option<&'p PropertyHeader> {
    let named = properties.iter().find(|p| p.name == name);
    named.filter(|p| p.kind != PropertyKind::Compound && p.samples > 0)
}

/// Reads uvs, normals and velocities of the schema, and all attributes in `.arbGeomParams`.
pub(super) fn read_attributes(
    mut reader: AttributeReader<'_>,
    properties: &[PropertyHeader],
) -> Result<(), Error> {
    let named = |name: &str| properties.iter().find(|p| p.name == name);
    for name in ["uv", "N"] {
        if let Some(p) = named(name) {
            reader.param(p, true)?;
        }
    }
    if let Some(p) = find_sampled(properties, ".velocities") {
        reader.velocities(p)?;
    }
    if let Some(more) = named(".arbGeomParams").filter(|p| p.kind == PropertyKind::Compound) {
        match reader.object.archive.properties(more.id) {
            Ok(list) => {
                for p in &list {
                    reader.param(p, false)?;
                }
            }
            Err(error) => reader.remark(".arbGeomParams", &fault_message(error)?),
        }
    }
    Ok(())
}

/// Given a channel's number of samples and their times, returns other times, or `None` if the times are
/// right.
type SamplingCorrection<'a> = dyn FnMut(usize, &Arc<TimeSampling>) -> Option<Arc<TimeSampling>> + 'a;

/// Corrects the times of attributes whose samples an exporter left out where the mesh has no points, and
/// whose remaining samples it numbered in seconds (time sampling 0): they get the times of the samples that
/// have points.
fn correct_sparse_times(
    object: &ArchiveObject,
    points: &PropertyHeader,
    mesh: &mut Mesh,
) -> Result<(), Error> {
    let identity = TimeSampling::Uniform { start: 0.0, step: 1.0 };
    let count = mesh.positions.len();
    let apart =
        |sampling: &TimeSampling, samples: usize| *sampling == identity && (2..count).contains(&samples);
    fn channels<T>(list: &mut [Attribute<T>], change: &mut SamplingCorrection<'_>)
    where
        T: Clone + Send + Sync + 'static,
    {
        for attribute in list {
            if let Some(own) = change(attribute.values.len(), attribute.values.sampling()) {
                attribute.values = attribute.values.with_sampling(own);
            }
            if let Some(indices) = &mut attribute.indices
                && let Some(own) = change(indices.len(), indices.sampling())
            {
                *indices = indices.with_sampling(own);
            }
        }
    }
    // The sizes of all samples are looked up only if some attribute needs this.
    let mut any = false;
    let mut look = |samples: usize, sampling: &Arc<TimeSampling>| {
        any |= apart(sampling, samples);
        None
    };
    channels(&mut mesh.uvs, &mut look);
    channels(&mut mesh.colours, &mut look);
    channels(mesh.normals.as_mut_slice(), &mut look);
    if !any || **mesh.positions.sampling() == identity || count > meshreel_scene::sample::MAX_FRAMES {
        return Ok(());
    }
    let mut times = Vec::new();
    for i in 0..count {
        if object.archive.size(points.id, i)? > 0 {
            times.push(mesh.positions.time(i));
        }
    }
    let shown = times.len();
    let own = Arc::new(TimeSampling::Acyclic { times });
    let mut change = |samples: usize, sampling: &Arc<TimeSampling>| {
        (samples == shown && apart(sampling, samples)).then(|| own.clone())
    };
    channels(&mut mesh.uvs, &mut change);
    channels(&mut mesh.colours, &mut change);
    channels(mesh.normals.as_mut_slice(), &mut change);
    Ok(())
}

/// The number of elements of a property at its first and last sample.
pub(super) struct PropertyLengths {
    pub first: usize,
    pub last: usize,
    /// `true` if samples have different lengths.
    pub vary: bool,
}

/// Checks every sample that differs from the first, so that broken samples are found at once.
pub(super) fn lengths<T: Clone + Send + Sync + 'static>(
    object: &ArchiveObject,
    header: Option<&PropertyHeader>,
    channel: &Channel<T>,
) -> Result<PropertyLengths, Error> {
    let Some(header) = header else {
        return Ok(PropertyLengths { first: 0, last: 0, vary: false });
    };
    let width = size_of(header.pod).unwrap_or(1) * header.extent;
    let length = |i: usize| Ok::<_, Error>(object.archive.size(header.id, i)? / width);
    let first = length(0)?;
    let mut lengths = PropertyLengths { first, last: first, vary: false };
    if !channel.is_constant() {
        // Nothing changes before and after these samples.
        let (first_change, last_change) = header.changed;
        for i in first_change..=last_change {
            lengths.last = length(i)?;
            lengths.vary |= lengths.last != first;
        }
    }
    Ok(lengths)
}

/// Returns the message of an error about the file's content; other errors are passed on.
fn fault_message(error: Error) -> Result<String, Error> {
    match error {
        Error::Malformed { what, .. } | Error::Unsupported { what, .. } => Ok(what),
        error => Err(error),
    }
}

/// Adds geometry parameters to the matching attributes of a mesh.
pub(super) struct AttributeReader<'a> {
    pub object: &'a ArchiveObject,
    pub first: ElementCounts,
    pub last: ElementCounts,
    pub mesh: &'a mut Mesh,
    pub remarks: &'a mut Vec<Remark>,
}

impl AttributeReader<'_> {
    fn remark(&mut self, name: &str, what: &str) {
        let what = format!("attribute {name}: {what}");
        self.remarks.push(Remark::new(&*self.object.path, what));
    }

    /// `true` if the compound contains a compound or a property with samples.
    fn has_samples(&self, header: &PropertyHeader) -> Result<bool, Error> {
        let parts = self.object.archive.properties(header.id)?;
        Ok(parts.iter().any(|p| p.kind == PropertyKind::Compound || p.samples > 0))
    }

    /// Adds a parameter. `own`: a property of the schema itself (`uv`, `N`), identified by its name; others
    /// are identified by type and interpretation.
    fn param(&mut self, header: &PropertyHeader, own: bool) -> Result<(), Error> {
        let param = match Param::open(self.object, header) {
            Ok(Some(param)) => param,
            Ok(None) => {
                if header.kind == PropertyKind::Compound && self.has_samples(header)? {
                    self.remark(&header.name, "is no geometry parameter; left out");
                }
                return Ok(());
            }
            Err(error) => {
                let what = format!("{}; left out", fault_message(error)?);
                self.remark(&header.name, &what);
                return Ok(());
            }
        };
        let (extent, single) = (param.extent(), param.is_single());
        let per_element =
            !matches!(param.scope(), Some(meshreel_scene::Scope::Constant | meshreel_scene::Scope::Uniform));
        if own && param.name == "uv" && (extent == 2 || extent == 3) {
            if let Some(uv) = self.attribute_or_remark(&param, Param::floats::<2>)? {
                self.mesh.uvs.insert(0, uv);
            }
        } else if param.name == "N"
            && extent == 3
            && (own || self.mesh.normals.is_none() && param.interpretation() == "normal")
        {
            if let Some(normals) = self.attribute_or_remark(&param, Param::floats::<3>)? {
                self.mesh.normals = Some(normals);
            }
        } else if single && extent == 2 && param.is_float() && per_element {
            if let Some(uv) = self.attribute_or_remark(&param, Param::floats::<2>)? {
                self.mesh.uvs.push(uv);
            }
        } else if single
            && matches!((param.interpretation(), extent), ("rgb", 3) | ("rgba", 4))
            && param.floats::<4>().is_some()
        {
            if let Some(colours) = self.attribute_or_remark(&param, Param::floats::<4>)? {
                self.mesh.colours.push(colours);
            }
        } else {
            // Extra attributes that do not fit the mesh are dropped without a remark.
            if let Some(decode) = param.integers()
                && let Ok(Ok((attribute, None))) = param.attribute(self.object, decode, self.first, self.last)
            {
                self.mesh.integers.push(attribute);
            }
            if let Some(decode) = param.padded_floats()
                && let Ok(Ok((attribute, None))) = param.attribute(self.object, decode, self.first, self.last)
            {
                let components = extent;
                self.mesh.custom_attributes.push(CustomAttribute { components, attribute });
            }
            if let Some(decode) = param.texts()
                && let Ok(Ok((attribute, None))) = param.attribute(self.object, decode, self.first, self.last)
            {
                self.mesh.names.push(attribute);
            }
            let description = param.describe();
            self.mesh.other_attributes.push((param.name, description));
        }
        Ok(())
    }

    /// Returns the attribute, or adds a remark with the reason why it is unusable.
    pub fn attribute_or_remark<const N: usize>(
        &mut self,
        param: &Param,
        decode: fn(&Param) -> Option<super::channel::Decode<[f32; N]>>,
    ) -> Result<Option<Attribute<[f32; N]>>, Error> {
        let what = match decode(param) {
            None => "its values are of an unusable type".to_string(),
            Some(decode) => match param.attribute(self.object, decode, self.first, self.last) {
                Ok(Ok((attribute, fault))) => {
                    if let Some(what) = fault {
                        self.remark(&param.name, &what);
                    }
                    return Ok(Some(attribute));
                }
                Ok(Err(what)) => what,
                Err(error) => fault_message(error)?,
            },
        };
        self.remark(&param.name, &format!("{what}; left out"));
        Ok(None)
    }

    fn velocities(&mut self, header: &PropertyHeader) -> Result<(), Error> {
        let decode = floats::<3, 3>(header.pod, false, 0.0).filter(|_| header.extent == 3);
        let count = match self.object.archive.size(header.id, 0) {
            Ok(size) => size / (size_of(header.pod).unwrap_or(1) * header.extent),
            Err(error) => {
                let what = format!("{}; left out", fault_message(error)?);
                self.remark(".velocities", &what);
                return Ok(());
            }
        };
        match decode {
            Some(decode) if count == self.first.points => {
                self.mesh.velocities = Some(self.object.channel(header, decode));
            }
            // Some writers keep an empty property if the mesh does not move.
            Some(_) if count == 0 => {}
            Some(_) => {
                let points = self.first.points;
                let what = format!("{count} values for {points} points; left out");
                self.remark(".velocities", &what);
            }
            None => self.remark(".velocities", "not three floats each; left out"),
        }
        Ok(())
    }
}

/// Names of face attributes that name materials, in lower case: those of Houdini and of exporters.
const MATERIAL_ATTRIBUTES: [&str; 5] =
    ["shop_materialpath", "materialpath", "material", "material_name", "shadinggroup"];

/// Converts material names on faces to face sets, for a mesh that has no face sets. Names that first occur
/// after the first sample are ignored.
pub fn materials_to_face_sets(mesh: &mut Mesh) -> Result<(), Error> {
    let is = |a: &&Attribute<Arc<str>>| {
        a.scope == Scope::Uniform && MATERIAL_ATTRIBUTES.contains(&&*a.name.to_lowercase())
    };
    let Some(attribute) = mesh.names.iter().find(is).filter(|_| mesh.face_sets.is_empty()) else {
        return Ok(());
    };
    let by_face = Arc::new(FaceNames(attribute.clone()));
    let mut names = Vec::new();
    by_face.names(0, &mut names)?;
    let mut seen = HashSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
    let set = |name: Arc<str>| FaceSet {
        name: name.to_string(),
        faces: Channel::new(
            by_face.sampling().clone(),
            Arc::new(NamedFaces { name, face_names: by_face.clone() }),
        ),
    };
    mesh.face_sets = names.into_iter().take(MAX_NAMED_MATERIALS).map(set).collect();
    Ok(())
}

/// Upper limit for the materials that face attributes can name.
const MAX_NAMED_MATERIALS: usize = 4096;

/// A face attribute that gives a name per face.
struct FaceNames(Attribute<Arc<str>>);

impl FaceNames {
    /// Returns the sampling of the indices if they have more than one sample, otherwise that of the names.
    fn sampling(&self) -> &Arc<TimeSampling> {
        match &self.0.indices {
            Some(indices) if indices.len() > 1 => indices.sampling(),
            _ => self.0.values.sampling(),
        }
    }

    fn samples(&self) -> usize {
        let indices = self.0.indices.as_ref().map_or(1, |i| i.len());
        self.0.values.len().max(indices)
    }

    fn names(&self, i: usize, out: &mut Vec<Arc<str>>) -> Result<(), Error> {
        let values = &self.0.values;
        values.read(i.min(values.len() - 1), out)?;
        if let Some(indices) = self.0.indices.as_ref().filter(|i| !i.is_empty()) {
            let mut list = Vec::new();
            indices.read(i.min(indices.len() - 1), &mut list)?;
            let of = |&i: &u32| out.get(i as usize).cloned().unwrap_or_default();
            *out = list.iter().map(of).collect();
        }
        Ok(())
    }
}

/// The faces that have one name.
struct NamedFaces {
    name: Arc<str>,
    face_names: Arc<FaceNames>,
}

impl Source<i32> for NamedFaces {
    fn len(&self) -> usize {
        self.face_names.samples()
    }

    fn identity(&self, i: usize) -> Identity {
        let Attribute { values, indices, .. } = &self.face_names.0;
        let indices = indices.as_ref().filter(|c| !c.is_empty());
        let of = indices.map_or(0, |c| c.identity(i.min(c.len() - 1)));
        values.identity(i.min(values.len() - 1)) ^ of.rotate_left(64)
    }

    fn read(&self, i: usize, out: &mut Vec<i32>) -> Result<(), Error> {
        let mut names = Vec::new();
        self.face_names.names(i, &mut names)?;
        out.clear();
        let own = (0..).zip(&names).filter(|(_, name)| **name == self.name);
        out.extend(own.map(|(face, _): (i32, _)| face));
        Ok(())
    }
}

/// Returns the number of samples of the schema.
pub fn samples(properties: &[PropertyHeader]) -> usize {
    let own = properties.iter().filter(|p| SCHEMA_PROPERTIES.contains(&p.name.as_str()));
    own.map(|p| p.samples).max().unwrap_or(0)
}

/// Returns the user properties of a schema's compound as text.
pub fn user_properties(
    object: &ArchiveObject,
    properties: &[PropertyHeader],
    remarks: &mut Vec<Remark>,
) -> Result<Vec<(String, String)>, Error> {
    let user = properties.iter().find(|p| p.name == ".userProperties" && p.kind == PropertyKind::Compound);
    let Some(user) = user else {
        return Ok(Vec::new());
    };
    describe(object, user.id).or_else(|error| {
        let what = format!("user properties left out: {}", fault_message(error)?);
        remarks.push(Remark::new(&*object.path, what));
        Ok(Vec::new())
    })
}

/// Returns the numeric user properties of an object as a whole. [`user_properties`] has already remarked on
/// unreadable ones.
pub fn user_custom_attributes(
    object: &ArchiveObject,
    properties: &[PropertyHeader],
) -> Result<Vec<CustomAttribute>, Error> {
    let user = (properties.iter()).find(|p| p.name == ".userProperties" && p.kind == PropertyKind::Compound);
    let Some(user) = user else {
        return Ok(Vec::new());
    };
    custom_attributes(object, user.id).or_else(|error| fault_message(error).map(|_| Vec::new()))
}
