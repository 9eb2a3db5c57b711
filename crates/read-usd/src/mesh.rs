//! Meshes: points, faces, normals and primvars.

use super::attribute::UsdAttribute;
use super::compose::{Prim, Stage};
use super::inherited::InheritedPrimvar;
use super::samples::{AttributeLengths, Decode, Timeline, floats, i32s, i64s, lengths, texts, u32s};
use super::stack::abbreviated;
use super::tetrahedra::Surface;
use meshreel_scene::{self as scene, Channel, CustomAttribute, Error, Mesh, Scope, Topology, Winding};
use std::sync::Arc;

/// The names of the uv set that comes first.
const FIRST_UVS: [&str; 2] = ["st", "UVMap"];

/// Reads a mesh without its face sets.
pub fn read(
    stage: &mut Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    inherited: &[InheritedPrimvar],
) -> Result<Mesh, Error> {
    let attribute = |stage: &Stage, name: &str| stage.attribute(prim, name);
    let points = read_points(stage, prim)?;
    let counts = attribute(stage, "faceVertexCounts")?;
    let indices = attribute(stage, "faceVertexIndices")?;
    missing(stage, prim, [points.is_some(), counts.is_some(), indices.is_some()]);
    fn or_none<T: Clone + Send + Sync + 'static>(channel: Option<Channel<T>>) -> Channel<T> {
        channel.unwrap_or_else(|| Channel::constant(Vec::new()))
    }
    let positions = points.as_ref().map(|a| timeline.channel(a, floats::<3>(0.0)));
    let face_counts = counts.as_ref().map(|a| timeline.channel(a, i32s()));
    let face_indices = indices.as_ref().map(|a| timeline.channel(a, i32s()));
    let mut mesh =
        Mesh::new(prim.path.as_str(), or_none(positions), or_none(face_counts), or_none(face_indices));
    let sizes = ElementLengths {
        points: lengths(points.as_ref())?,
        faces: lengths(counts.as_ref())?,
        corners: lengths(indices.as_ref())?,
    };
    subdivision(stage, prim, &mut mesh)?;
    finish(stage, prim, timeline, (&mut mesh, sizes), inherited)?;
    Ok(mesh)
}

/// Reads the surface of a tetrahedral mesh.
pub fn read_surface(
    stage: &mut Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    inherited: &[InheritedPrimvar],
) -> Result<Mesh, Error> {
    let points = read_points(stage, prim)?;
    let surface = Surface::read(stage, prim, timeline)?;
    missing(stage, prim, [points.is_some(), surface.is_some(), surface.is_some()]);
    let none = || Channel::constant(Vec::new());
    let positions = points.as_ref().map(|own| timeline.channel(own, floats::<3>(0.0)));
    let positions = positions.unwrap_or_else(|| Channel::constant(Vec::new()));
    let empty = AttributeLengths { first: 0, last: 0, vary: false };
    let (counts, indices, faces) = match surface {
        Some(Surface { counts, corners, faces }) => (counts, corners, faces),
        None => (none(), none(), empty),
    };
    let corners = AttributeLengths { first: 3 * faces.first, last: 3 * faces.last, vary: faces.vary };
    let mut mesh = Mesh::new(prim.path.as_str(), positions, counts, indices);
    let sizes = ElementLengths { points: lengths(points.as_ref())?, faces, corners };
    finish(stage, prim, timeline, (&mut mesh, sizes), inherited)?;
    Ok(mesh)
}

/// Remarks on missing parts of a mesh; `there`: points, corner counts, corners.
fn missing(stage: &mut Stage, prim: &Prim, there: [bool; 3]) {
    let what = match there {
        [false, false, false] => "has no geometry; taken as an empty mesh",
        [false, ..] => "has no points; none of its faces can be shown",
        [_, false, _] | [_, _, false] => "has no faces; its points alone are not shown",
        _ => return,
    };
    stage.remark(&prim.path, what);
}

/// Reads everything but points and faces.
fn finish(
    stage: &mut Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    (mesh, sizes): (&mut Mesh, ElementLengths),
    inherited: &[InheritedPrimvar],
) -> Result<(), Error> {
    if sizes.points.vary {
        mesh.topology = Topology::Heterogeneous;
    }
    if stage.attribute_text(prim, "orientation")?.as_deref() == Some("leftHanded") {
        mesh.winding = Winding::Clockwise;
    }
    let mut reader = PrimvarReader { stage, prim, timeline, sizes, mesh };
    reader.normals()?;
    reader.primvars(inherited)?;
    reader.velocities()?;
    let first = |name: &str| FIRST_UVS.iter().position(|first| *first == name).unwrap_or(FIRST_UVS.len());
    mesh.uvs.sort_by_key(|uv| first(&uv.name));
    Ok(())
}

/// Returns the points of a mesh, of particles or of curves. Points that are no 3-vectors are left out, with a
/// remark.
pub fn read_points(stage: &mut Stage, prim: &Prim) -> Result<Option<UsdAttribute>, Error> {
    let Some(points) = stage.attribute(prim, "points")? else {
        return Ok(None);
    };
    let element = points.type_name.trim_end_matches("[]");
    let vectors = ["3f", "3d", "3h", "float3", "double3", "half3"];
    if element.is_empty() || vectors.iter().any(|vector| element.ends_with(vector)) {
        return Ok(Some(points));
    }
    let what =
        format!("its points are {}, not vectors of three numbers; left out", abbreviated(&points.type_name));
    stage.remark(&prim.path, what);
    Ok(None)
}

/// Marks the mesh as a subdivision cage, which is the default if the file does not state it.
fn subdivision(stage: &mut Stage, prim: &Prim, mesh: &mut Mesh) -> Result<(), Error> {
    let scheme = stage.attribute_text(prim, "subdivisionScheme")?;
    mesh.is_subd = scheme.as_deref() != Some("none");
    if mesh.is_subd {
        let what = match scheme {
            Some(_) => "subdivision surface: its control cage is used, not subdivided",
            None => {
                "subdivision surface, as all meshes without `subdivisionScheme` = none are: its control cage is used, not subdivided"
            }
        };
        stage.remark(&prim.path, what);
    }
    if let Some(holes) = stage.attribute(prim, "holeIndices")?
        && lengths(Some(&holes))?.first > 0
    {
        stage.remark(&prim.path, "faces that are holes are shown like the others");
    }
    Ok(())
}

/// The numbers of elements of the mesh.
pub struct ElementLengths {
    pub points: AttributeLengths,
    pub faces: AttributeLengths,
    pub corners: AttributeLengths,
}

impl ElementLengths {
    /// `true` if an attribute of a scope has a value for each element, in its first or its last sample.
    fn fit(&self, scope: Scope, own: &AttributeLengths) -> bool {
        let elements = match scope {
            Scope::Constant => return own.first >= 1 || own.last >= 1,
            Scope::Uniform => &self.faces,
            Scope::Varying | Scope::Vertex => &self.points,
            Scope::FaceVarying => &self.corners,
        };
        own.first == elements.first || own.last == elements.last
    }
}

/// Reads attributes of points and faces into a mesh.
pub struct PrimvarReader<'a> {
    pub stage: &'a mut Stage,
    pub prim: &'a Prim,
    pub timeline: &'a mut Timeline,
    pub sizes: ElementLengths,
    pub mesh: &'a mut Mesh,
}

/// A primvar, with its declared scope and its list of indices.
pub struct Primvar {
    /// The name without `primvars:`.
    name: String,
    scope: Scope,
    values: UsdAttribute,
    indices: Option<UsdAttribute>,
}

impl Primvar {
    /// Returns the type of one element.
    fn element(&self) -> &str {
        self.values.type_name.trim_end_matches("[]")
    }

    fn describe(&self) -> String {
        let indexed = if self.indices.is_some() { ", indexed" } else { "" };
        format!("{}, {:?}{indexed}", self.values.type_name, self.scope).to_lowercase()
    }
}

/// Returns the number of floats per element, by the type's name.
fn components(element: &str) -> Option<usize> {
    Some(match element {
        "half" | "float" | "double" => 1,
        "half2" | "float2" | "double2" | "texCoord2h" | "texCoord2f" | "texCoord2d" => 2,
        "half4" | "float4" | "double4" | "color4h" | "color4f" | "color4d" => 4,
        "half3" | "float3" | "double3" => 3,
        _ => {
            let role = ["color3", "point3", "vector3", "normal3", "texCoord3"];
            let one = role.iter().any(|role| element.strip_prefix(role).is_some_and(|rest| rest.len() == 1));
            return one.then_some(3);
        }
    })
}

fn is_whole(element: &str) -> bool {
    matches!(element, "bool" | "uchar" | "int" | "uint" | "int64" | "uint64")
}

impl PrimvarReader<'_> {
    fn remark(&mut self, name: &str, what: &str) {
        let what = format!("attribute {}: {what}", abbreviated(name));
        self.stage.remark(&self.prim.path, what);
    }

    fn scope(&mut self, name: &str, attribute: &UsdAttribute, fallback: Scope) -> Option<Scope> {
        match attribute.interpolation.as_deref() {
            None => Some(fallback),
            Some("constant") => Some(Scope::Constant),
            Some("uniform") => Some(Scope::Uniform),
            Some("varying") => Some(Scope::Varying),
            Some("vertex") => Some(Scope::Vertex),
            Some("faceVarying") => Some(Scope::FaceVarying),
            Some(other) => {
                let what = format!("its interpolation '{}' is unknown; left out", abbreviated(other));
                self.remark(name, &what);
                None
            }
        }
    }

    /// Returns the attribute of a primvar, or adds a remark with the reason why it is unusable.
    pub fn attribute_or_remark<T: Clone + Send + Sync + 'static>(
        &mut self,
        primvar: &Primvar,
        decode: Decode<T>,
    ) -> Result<Option<scene::Attribute<T>>, Error> {
        match self.fitting(primvar, decode)? {
            Ok(attribute) => Ok(Some(attribute)),
            Err(what) => {
                self.remark(&primvar.name, &what);
                Ok(None)
            }
        }
    }

    fn fitting<T: Clone + Send + Sync + 'static>(
        &mut self,
        primvar: &Primvar,
        decode: Decode<T>,
    ) -> Result<Result<scene::Attribute<T>, String>, Error> {
        let own = lengths(Some(primvar.indices.as_ref().unwrap_or(&primvar.values)))?;
        if !self.sizes.fit(primvar.scope, &own) {
            let scope = format!("{:?}", primvar.scope).to_lowercase();
            return Ok(Err(format!("{} values do not fit its scope ({scope}); left out", own.first)));
        }
        Ok(Ok(scene::Attribute {
            name: primvar.name.clone(),
            scope: primvar.scope,
            values: self.timeline.channel(&primvar.values, decode),
            indices: primvar.indices.as_ref().map(|indices| self.timeline.channel(indices, u32s())),
        }))
    }

    /// Returns a primvar, or a plain attribute, of this name.
    pub fn primvar(&mut self, name: &str, fallback: Scope) -> Result<Option<Primvar>, Error> {
        let Some(values) = self.stage.attribute(self.prim, name)? else {
            return Ok(None);
        };
        let short = name.strip_prefix("primvars:").unwrap_or(name);
        let Some(scope) = self.scope(short, &values, fallback) else {
            return Ok(None);
        };
        let indices = match name == short {
            true => None,
            false => self.stage.attribute(self.prim, &format!("{name}:indices"))?,
        };
        Ok(Some(Primvar { name: short.into(), scope, values, indices }))
    }

    /// Reads the normals; the primvar takes precedence over the attribute.
    pub fn normals(&mut self) -> Result<(), Error> {
        for name in ["primvars:normals", "normals"] {
            if let Some(primvar) = self.primvar(name, Scope::Vertex)?
                && let Some(normals) = self.attribute_or_remark(&primvar, floats::<3>(0.0))?
            {
                self.mesh.normals = Some(normals);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads all primvars that are not read by name, and those inherited ones that the prim does not define
    /// itself.
    pub fn primvars(&mut self, inherited: &[InheritedPrimvar]) -> Result<(), Error> {
        let names = self.stage.property_names(self.prim)?;
        let has = |name: &str| names.iter().any(|own| **own == *name);
        for name in &names {
            let Some(short) =
                name.strip_prefix("primvars:").filter(|short| !matches!(*short, "normals" | "widths"))
            else {
                continue;
            };
            // Lists of indices belong to the primvar they are named after.
            let of_indices = name.strip_suffix(":indices").is_some_and(has);
            if of_indices || short.starts_with("skel:") {
                continue;
            }
            if let Some(primvar) = self.primvar(name, Scope::Constant)? {
                self.add_primvar(primvar)?;
            }
        }
        for own in
            inherited.iter().filter(|own| !matches!(&*own.name, "primvars:normals" | "primvars:widths"))
        {
            if self.stage.attribute(self.prim, &own.name)?.is_some() {
                continue;
            }
            let name = own.name.strip_prefix("primvars:").unwrap_or(&own.name).to_owned();
            let (values, indices) = (own.values.clone(), own.indices.clone());
            self.add_primvar(Primvar { name, scope: Scope::Constant, values, indices })?;
        }
        Ok(())
    }

    /// Adds a primvar to the matching attributes of the mesh.
    fn add_primvar(&mut self, primvar: Primvar) -> Result<(), Error> {
        let element = primvar.element().to_owned();
        let components = components(&element);
        let per_element = !matches!(primvar.scope, Scope::Constant | Scope::Uniform);
        if primvar.name == "displayOpacity" && primvar.scope != Scope::Constant {
            self.remark(&primvar.name, "opacity is not taken over into colours; it is a number of its own");
        }
        if components == Some(2) && per_element {
            let uvs = self.attribute_or_remark(&primvar, floats::<2>(0.0))?;
            self.mesh.uvs.extend(uvs);
        } else if element.starts_with("texCoord3") && per_element {
            self.remark(&primvar.name, "the third coordinate is left out");
            let uvs = self.attribute_or_remark(&primvar, floats::<2>(0.0))?;
            self.mesh.uvs.extend(uvs);
        } else if element.starts_with("color") && components.is_some() {
            let colours = self.attribute_or_remark(&primvar, floats::<4>(1.0))?;
            self.mesh.colours.extend(colours);
        } else {
            let mut kept = false;
            if is_whole(&element)
                && let Ok(attribute) = self.fitting(&primvar, i64s())?
            {
                self.mesh.integers.push(attribute);
                kept = true;
            }
            if matches!(&*element, "token" | "string")
                && let Ok(attribute) = self.fitting(&primvar, texts())?
            {
                self.mesh.names.push(attribute);
                kept = true;
            }
            if let Some(components) = components
                && let Ok(attribute) = self.fitting(&primvar, floats::<4>(0.0))?
            {
                self.mesh.custom_attributes.push(CustomAttribute { components, attribute });
                kept = true;
            }
            if !kept {
                self.remark(
                    &primvar.name,
                    "is of a type that is not kept, or does not fit the mesh; left out",
                );
            }
            self.mesh.other_attributes.push((primvar.name.clone(), primvar.describe()));
        }
        Ok(())
    }

    /// Reads the velocities of points.
    pub fn velocities(&mut self) -> Result<(), Error> {
        let Some(velocities) = self.stage.attribute(self.prim, "velocities")? else {
            return Ok(());
        };
        let own = lengths(Some(&velocities))?;
        if own.first == 0 && own.last == 0 {
            return Ok(());
        }
        match self.sizes.fit(Scope::Vertex, &own) {
            true => self.mesh.velocities = Some(self.timeline.channel(&velocities, floats::<3>(0.0))),
            false => self.remark("velocities", "are not one for each point; left out"),
        }
        Ok(())
    }
}

/// The faces of a mesh that no other face set contains.
pub struct UnassignedFaces {
    pub counts: Channel<i32>,
    pub assigned: Vec<Channel<i32>>,
}

impl scene::Source<i32> for UnassignedFaces {
    fn len(&self) -> usize {
        self.counts.len()
    }

    fn identity(&self, i: usize) -> scene::Identity {
        self.counts.identity(i)
    }

    fn read(&self, i: usize, out: &mut Vec<i32>) -> Result<(), Error> {
        let mut list = Vec::new();
        self.counts.read(i, &mut list)?;
        let mut free = vec![true; list.len()];
        for taken in &self.assigned {
            taken.read(taken.locate(self.counts.time(i)).0, &mut list)?;
            for face in &list {
                if let Some(free) = usize::try_from(*face).ok().and_then(|face| free.get_mut(face)) {
                    *free = false;
                }
            }
        }
        out.clear();
        out.extend((0i32..).zip(free).filter_map(|(face, free)| free.then_some(face)));
        Ok(())
    }
}

impl UnassignedFaces {
    pub fn channel(self) -> Channel<i32> {
        let sampling = self.counts.sampling().clone();
        Channel::new(sampling, Arc::new(self))
    }
}
