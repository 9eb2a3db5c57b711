//! Values of all vertices of a mesh in any frame: the source read at its time and laid out as in
//! [`crate::mesh::prepared::Prepared`].

use crate::Error;
use crate::mesh::prepared::{FixedLayout, NormalOrigin, Prepared};
use crate::mesh::source::{MeshSource, velocities};
use crate::mesh::streams::VertexValues;
use glam::{DMat3, DVec3};
use meshreel_codec::simd;
use meshreel_process::attributes::ExpandedAttribute;
use meshreel_process::extent::Extent;
use meshreel_process::faces::Faces;
use meshreel_process::normals;
use meshreel_process::tangents::{Tangents, Vertices};
use meshreel_scene::sample::Lerp;
use meshreel_scene::{Attribute, Winding, sample};

/// The values that are wanted besides positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedValues {
    /// Normals.
    pub normals: bool,
    /// Tangents, if they are kept; needs normals.
    pub tangents: bool,
    /// UVs (tangents need the first set anyway).
    pub uvs: bool,
    /// Colours of all sets.
    pub colours: bool,
    /// Velocities, if they are kept.
    pub velocities: bool,
}

impl RequestedValues {
    /// Wants all channels that are compiled.
    pub fn all() -> RequestedValues {
        RequestedValues { normals: true, tangents: true, uvs: true, colours: true, velocities: true }
    }
}

/// Buffers reused from frame to frame.
#[derive(Default)]
pub struct Scratch {
    object: Vec<[f32; 3]>,
    points: Vec<[f32; 3]>,
}

impl Scratch {
    /// Reads the points of a frame; `fallback` has as many points, or none.
    pub fn read(&mut self, source: &MeshSource, frame: usize, fallback: &[[f32; 3]]) -> Result<(), Error> {
        source.object_points(frame, fallback, &mut self.object)?;
        if !fallback.is_empty() && self.object.len() != fallback.len() {
            let what = format!("{}: its points become more or fewer (frame {frame})", source.mesh.path);
            return Err(Error::Malformed { what });
        }
        source.to_file_space(frame, &self.object, &mut self.points);
        Ok(())
    }
    /// Returns the points in object space.
    pub fn object(&self) -> &[[f32; 3]] {
        &self.object
    }
    /// Returns the points in the space of the file.
    pub fn points(&self) -> &[[f32; 3]] {
        &self.points
    }
}

/// The origin of each vertex in the source: its point, one corner, and that corner's face (u32::MAX: none).
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct VertexOrigins<'a> {
    pub point: &'a [u32],
    pub corner: &'a [u32],
    pub face: &'a [u32],
    /// The usable faces, and their smoothing groups if normals are generated.
    pub faces: &'a Faces,
    pub groups: &'a normals::SmoothingGroups,
}

const UP: [f32; 3] = [0.0, 0.0, 1.0];

/// Returns a normal scaled to length 1.
fn unit(n: [f32; 3]) -> DVec3 {
    let up = DVec3::from_array(UP.map(f64::from));
    DVec3::from_array(n.map(f64::from)).normalize_or(up)
}

fn rounded(n: DVec3) -> [f32; 3] {
    n.to_array().map(|v| v as f32)
}

impl VertexOrigins<'_> {
    /// Returns an attribute at `time`, one value per vertex; `default` for points without faces if the scope
    /// needs faces. Values that replace missing ones stay within `extent`, if it is given.
    fn attribute<const N: usize>(
        &self,
        source: &MeshSource,
        attribute: &Attribute<[f32; N]>,
        time: f64,
        default: [f32; N],
        extent: Option<&Extent<N>>,
        out: &mut Vec<[f32; N]>,
    ) -> Result<(), Error>
    where
        [f32; N]: Lerp + Default,
    {
        let mut values = sample::AttributeValues::default();
        sample::attribute_at(attribute, &source.mesh, time, &mut values)?;
        let expand = ExpandedAttribute::new(attribute.scope, &values.values, values.indices.as_deref());
        let (low, high) = match extent {
            Some(extent) => {
                let sides: [(f32, f32); N] = std::array::from_fn(|k| extent.component(k));
                (sides.map(|s| s.0), sides.map(|s| s.1))
            }
            None => ([f32::MIN; N], [f32::MAX; N]),
        };
        out.clear();
        out.extend(self.point.iter().zip(self.corner).zip(self.face).map(|((&point, &corner), &face)| {
            let value = match face {
                u32::MAX => expand.point_value(point).unwrap_or(default),
                _ => expand.corner_value(corner, face, point),
            };
            std::array::from_fn(|k| match value[k].is_finite() {
                true => value[k].clamp(low[k], high[k]),
                false => 0.0f32.clamp(low[k], high[k]),
            })
        }));
        Ok(())
    }

    /// Returns the normals in the space of the file.
    fn normals(
        &self,
        source: &MeshSource,
        prepared: &Prepared,
        object: &[[f32; 3]],
        frame: usize,
        out: &mut Vec<[f32; 3]>,
    ) -> Result<(), Error> {
        // In f64 until they are transformed: a flat matrix magnifies rounding errors.
        let mut values: Vec<DVec3>;
        match (prepared.channels.normals, &source.mesh.normals) {
            (NormalOrigin::Source, Some(attribute)) => {
                self.attribute(source, attribute, source.times[frame], UP, None, out)?;
                values = out.iter().map(|n| unit(*n)).collect();
            }
            _ => {
                let mut made = Vec::new();
                let (faces, groups) = (self.faces, self.groups);
                simd::run(MakeNormals {
                    object,
                    faces,
                    groups,
                    winding: source.mesh.winding,
                    out: &mut made,
                });
                let of = |&c: &u32| {
                    let group = self.groups.corner.get(c as usize);
                    group.and_then(|&g| made.get(g as usize)).copied()
                };
                let up = UP.map(f64::from);
                let corners = self.corner.iter();
                values = corners.map(|c| of(c).unwrap_or(up).into()).collect();
            }
        }
        if let Some(matrices) = &source.matrices {
            // Cofactors instead of the inverse transpose: they exist for flat matrices too.
            let m = DMat3::from_mat4(matrices[frame]);
            let sign = if m.determinant() < 0.0 { -1.0 } else { 1.0 };
            let cofactor = DMat3::from_cols(
                m.y_axis.cross(m.z_axis),
                m.z_axis.cross(m.x_axis),
                m.x_axis.cross(m.y_axis),
            );
            for n in &mut values {
                *n = (cofactor * *n * sign).normalize_or(*n);
            }
        }
        out.clear();
        out.extend(values.into_iter().map(rounded));
        Ok(())
    }
}

/// Parameters of [`normals::normals`].
struct MakeNormals<'a> {
    object: &'a [[f32; 3]],
    faces: &'a Faces,
    groups: &'a normals::SmoothingGroups,
    winding: Winding,
    out: &'a mut Vec<[f64; 3]>,
}

impl simd::VectorizedLoop for MakeNormals<'_> {
    #[inline(always)]
    fn run(self) {
        *self.out = normals::normals(self.object, self.faces, self.winding, self.groups);
    }
}

/// Parameters of [`Tangents::vertices`].
struct MakeTangents<'a> {
    tangents: &'a Tangents,
    frame: Vertices<'a>,
    signs: &'a [f32],
    out: &'a mut Vec<[f32; 4]>,
}

impl simd::VectorizedLoop for MakeTangents<'_> {
    #[inline(always)]
    fn run(self) {
        *self.out = self.tangents.vertices(self.frame, self.signs);
    }
}

impl FixedLayout {
    fn vertex_origins(&self) -> VertexOrigins<'_> {
        VertexOrigins {
            point: &self.vertex_point,
            corner: &self.vertex_corner,
            face: &self.vertex_face,
            faces: &self.faces,
            groups: &self.groups,
        }
    }

    /// Fills `out` with the values of `frame`.
    pub fn evaluate(
        &self,
        source: &MeshSource,
        prepared: &Prepared,
        frame: usize,
        want: RequestedValues,
        scratch: &mut Scratch,
        out: &mut VertexValues,
    ) -> Result<(), Error> {
        scratch.read(source, frame, &self.first_points)?;
        fill_channels(source, prepared, frame, want, scratch, self.vertex_origins(), out)?;
        if let (true, Some(tangents)) = (want.normals && want.tangents, &self.tangents) {
            let mut made = Vec::new();
            let frame = out.vertices();
            simd::run(MakeTangents { tangents, frame, signs: &self.vertex_sign, out: &mut made });
            out.tangents = made;
        }
        Ok(())
    }

    /// Returns positions, normals and uvs of the first frame, for finding tangent groups.
    pub fn first_values(&self, source: &MeshSource, prepared: &Prepared) -> Result<VertexValues, Error> {
        let (mut values, mut scratch) = (VertexValues::default(), Scratch::default());
        scratch.read(source, 0, &self.first_points)?;
        let want = RequestedValues { normals: true, uvs: true, ..RequestedValues::default() };
        fill_channels(source, prepared, 0, want, &scratch, self.vertex_origins(), &mut values)?;
        Ok(values)
    }
}

/// Fills in everything but tangents, for points that have been read.
pub fn fill_channels(
    source: &MeshSource,
    prepared: &Prepared,
    frame: usize,
    want: RequestedValues,
    scratch: &Scratch,
    origin: VertexOrigins<'_>,
    out: &mut VertexValues,
) -> Result<(), Error> {
    out.positions.clear();
    out.positions.extend(origin.point.iter().map(|&p| scratch.points[p as usize]));
    let time = source.times[frame];
    let sets = match (want.uvs, want.normals && want.tangents && prepared.channels.tangents) {
        (true, _) => prepared.channels.uvs.len(),
        (false, true) => 1,
        (false, false) => 0,
    };
    out.uvs.resize(prepared.channels.uvs.len(), Vec::new());
    for (set, list) in prepared.channels.uvs.iter().zip(&mut out.uvs).take(sets) {
        origin.attribute(source, &source.mesh.uvs[set.source], time, [0.0; 2], Some(&set.extent), list)?;
    }
    if want.colours {
        out.colours.resize(prepared.channels.colours.len(), Vec::new());
        for (set, list) in prepared.channels.colours.iter().zip(&mut out.colours) {
            origin.attribute(
                source,
                &source.mesh.colours[set.source],
                time,
                [1.0; 4],
                Some(&set.extent),
                list,
            )?;
        }
    }
    if want.normals && prepared.channels.normals != NormalOrigin::None {
        origin.normals(source, prepared, &scratch.object, frame, &mut out.normals)?;
    }
    if let (true, Some(set), Some(velocities)) =
        (want.velocities, &prepared.channels.velocities, velocities(&source.mesh))
    {
        let extent = source.matrices.is_none().then_some(&set.extent);
        origin.attribute(source, &velocities, time, [0.0; 3], extent, &mut out.velocities)?;
        let points: Vec<[f32; 3]> = origin.point.iter().map(|&p| scratch.object[p as usize]).collect();
        source.velocities_to_file_space(frame, &points, &mut out.velocities);
    }
    Ok(())
}
