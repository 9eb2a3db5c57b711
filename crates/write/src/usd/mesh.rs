//! Meshes, points and curves, with their attributes.

use super::layer::{Layer, PrimId, vectors};
use super::value::{Element, Value};
use meshreel_scene::{
    Attribute, Channel, CurveBasis, CurveEnds, Curves, Error, Mesh, Particles, Scope, Skin, Winding,
};

/// The family of face sets: faces with a material.
const FAMILY: &str = "materialBind";

impl<'a> Layer<'a> {
    /// Adds a mesh, in the bind pose of its skin if it has one, or points or curves.
    pub fn add_mesh(
        &mut self,
        parent: Option<PrimId>,
        name: &str,
        mesh: &'a Mesh,
        skin: Option<&Skin>,
    ) -> Result<PrimId, Error> {
        let prim = match &mesh.particles {
            Some(particles) => self.particles(parent, name, particles),
            None => self.faces(parent, name, mesh)?,
        };
        match skin {
            Some(skin) => self.bind_pose(prim, mesh, skin)?,
            None => {
                self.channel(prim, ("points", "point3f[]"), &mesh.positions, |values| vectors(3, values));
                if let Some(own) = &mesh.velocities {
                    self.channel(prim, ("velocities", "vector3f[]"), own, |values| vectors(3, values));
                }
                if let Some(normals) = &mesh.normals {
                    self.primvar(prim, normals, "normals", ("normal3f[]", 3));
                }
            }
        }
        for (number, uvs) in mesh.uvs.iter().enumerate() {
            // Materials read the set of this name unless they are told another.
            let name = if number == 0 { "st" } else { &uvs.name };
            self.primvar(prim, uvs, name, ("texCoord2f[]", 2));
        }
        for (number, colours) in mesh.colours.iter().enumerate() {
            match number == 0 && is_opaque(colours) {
                // Programs show it without a material.
                true => self.primvar(prim, colours, "displayColor", ("color3f[]", 3)),
                false => self.primvar(prim, colours, &colours.name, ("color4f[]", 4)),
            }
        }
        for own in &mesh.custom_attributes {
            let type_name = ["float[]", "float2[]", "float3[]", "float4[]"][own.components.clamp(1, 4) - 1];
            self.primvar(prim, &own.attribute, &own.attribute.name, (type_name, own.components));
        }
        Ok(prim)
    }

    fn faces(&mut self, parent: Option<PrimId>, name: &str, mesh: &'a Mesh) -> Result<PrimId, Error> {
        let prim = self.prim(parent, name, "Mesh");
        let scheme = if mesh.is_subd { "catmullClark" } else { "none" };
        self.uniform(prim, "subdivisionScheme", "token", Value::token(scheme));
        let orientation = match mesh.winding {
            Winding::CounterClockwise => "rightHanded",
            Winding::Clockwise => "leftHanded",
        };
        self.uniform(prim, "orientation", "token", Value::token(orientation));
        self.whole(prim, "faceVertexCounts", &mesh.face_counts);
        self.whole(prim, "faceVertexIndices", &mesh.face_indices);
        for set in &mesh.face_sets {
            if !has_values(&set.faces)? {
                continue;
            }
            let subset = self.prim(Some(prim), &set.name, "GeomSubset");
            self.uniform(subset, "elementType", "token", Value::token("face"));
            self.uniform(subset, "familyName", "token", Value::token(FAMILY));
            self.whole(subset, "indices", &set.faces);
        }
        if !self.prims[prim].children.is_empty() {
            let name = format!("subsetFamily:{FAMILY}:familyType");
            self.uniform(prim, &name, "token", Value::token("nonOverlapping"));
        }
        Ok(prim)
    }

    fn particles(&mut self, parent: Option<PrimId>, name: &str, particles: &'a Particles) -> PrimId {
        let prim = match &particles.curves {
            Some(curves) => self.curves(parent, name, curves),
            None => self.prim(parent, name, "Points"),
        };
        if let Some(ids) = &particles.ids {
            self.channel(prim, ("ids", "int64[]"), ids, |values| {
                Value::array(Element::I64, values.iter().map(|id| id.to_le_bytes()))
            });
        }
        if let Some(widths) = &particles.widths {
            self.primvar(prim, widths, "widths", ("float[]", 1));
        }
        prim
    }

    fn curves(&mut self, parent: Option<PrimId>, name: &str, curves: &'a Curves) -> PrimId {
        let prim = self.prim(parent, name, "BasisCurves");
        let basis = match curves.basis {
            CurveBasis::Linear => None,
            CurveBasis::Bezier => Some("bezier"),
            CurveBasis::BSpline => Some("bspline"),
            CurveBasis::CatmullRom => Some("catmullRom"),
        };
        let ends = match curves.curve_ends {
            CurveEnds::Open => "nonperiodic",
            CurveEnds::Closed => "periodic",
            CurveEnds::Pinned => "pinned",
        };
        let form = if basis.is_some() { "cubic" } else { "linear" };
        self.uniform(prim, "type", "token", Value::token(form));
        if let Some(basis) = basis {
            self.uniform(prim, "basis", "token", Value::token(basis));
        }
        self.uniform(prim, "wrap", "token", Value::token(ends));
        self.whole(prim, "curveVertexCounts", &curves.counts);
        prim
    }

    fn whole(&mut self, prim: PrimId, name: &str, channel: &'a Channel<i32>) {
        let value = |values: &[i32]| Value::array(Element::I32, values.iter().map(|v| v.to_le_bytes()));
        if self.channel(prim, (name, "int[]"), channel, value).is_none() {
            self.constant(prim, name, "int[]", value(&[]));
        }
    }

    /// Adds values per element: an attribute of the schema for normals and widths without indices, which all
    /// programs read, else a primvar.
    fn primvar<const N: usize>(
        &mut self,
        prim: PrimId,
        attribute: &'a Attribute<[f32; N]>,
        name: &str,
        (type_name, components): (&'static str, usize),
    ) {
        let indices = attribute.indices.as_ref().filter(|indices| !indices.is_empty());
        let is_schema = matches!(name, "normals" | "widths") && indices.is_none();
        let name = if is_schema { name.to_owned() } else { self.primvar_name(prim, name) };
        let value = move |values: &[[f32; N]]| vectors(components, values);
        let Some(own) = self.channel(prim, (&name, type_name), &attribute.values, value) else { return };
        let interpolation = match attribute.scope {
            Scope::Constant => "constant",
            Scope::Uniform => "uniform",
            Scope::Varying => "varying",
            Scope::Vertex => "vertex",
            Scope::FaceVarying => "faceVarying",
        };
        own.fields.push(("interpolation", Value::token(interpolation)));
        if let Some(indices) = indices {
            self.channel(prim, (&format!("{name}:indices"), "int[]"), indices, |values| {
                Value::array(Element::I32, values.iter().map(|v| v.to_le_bytes()))
            });
        }
    }

    /// Returns the name of a primvar that the prim has not.
    fn primvar_name(&mut self, prim: PrimId, name: &str) -> String {
        let own = self.primvar_names.entry(prim).or_default();
        format!("primvars:{}", own.insert(name))
    }
}

/// `true` if a sample is not empty.
fn has_values(channel: &Channel<i32>) -> Result<bool, Error> {
    let mut values = Vec::new();
    let samples = if channel.is_constant() { channel.len().min(1) } else { channel.len() };
    for i in 0..samples {
        channel.read(i, &mut values)?;
        if !values.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `true` if no colour of the first sample has an alpha, or if they cannot be read yet.
fn is_opaque(colours: &Attribute<[f32; 4]>) -> bool {
    let mut values = Vec::new();
    let read = (!colours.values.is_empty()).then(|| colours.values.read(0, &mut values));
    read.is_none_or(|read| read.is_err()) || values.iter().all(|colour| colour[3] == 1.0)
}
