//! Values of all vertices of a mesh in any frame, read from the source at its time and laid out as in
//! [`crate::mesh::prepared::Prepared`]; their quantization, and the measurement of its error.

use crate::Error;
use crate::mesh::prepared::{FixedLayout, NormalOrigin, Prepared};
use crate::mesh::source::{MeshSource, velocities};
use glam::{DMat3, DVec3};
use meshreel_codec::classic::stream::SpatialPrediction;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::quantize::{Axis, octahedral, qtangent};
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::simd;
use meshreel_process::attributes::ExpandedAttribute;
use meshreel_process::extent::Extent;
use meshreel_process::faces::Faces;
use meshreel_process::normals;
use meshreel_process::tangents::{Tangents, Vertices};
use meshreel_scene::sample::Lerp;
use meshreel_scene::{Attribute, Winding, sample};
use serde::{Deserialize, Serialize};

/// Values of all vertices in one frame.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct VertexValues {
    pub positions: Vec<[f32; 3]>,
    pub normals: Vec<[f32; 3]>,
    /// xyz and the sign of the bitangent.
    pub tangents: Vec<[f32; 4]>,
    pub uvs: Vec<Vec<[f32; 2]>>,
    pub colours: Vec<Vec<[f32; 4]>>,
    /// In units per second, for meshes whose vertices come with each frame.
    pub velocities: Vec<[f32; 3]>,
    /// The widths of particles and curves.
    pub widths: Vec<[f32; 1]>,
    /// Attached numbers of particles, by the set of their streams; only the first components are used.
    pub custom: Vec<Vec<[f32; 4]>>,
}

impl VertexValues {
    /// Returns the values from which tangents are made.
    pub fn vertices(&self) -> Vertices<'_> {
        Vertices {
            positions: &self.positions,
            normals: &self.normals,
            uvs: self.uvs.first().map_or(&[], Vec::as_slice),
        }
    }
}

/// Quantized values of one stream in one frame, component-major.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Quantized {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Runs `$body` with `$v` bound to the vector inside, whatever its integer type.
#[macro_export]
macro_rules! with_quantized {
    ($quantized:expr, $v:ident => $body:expr) => {
        match $quantized {
            $crate::mesh::streams::Quantized::U8($v) => $body,
            $crate::mesh::streams::Quantized::U16($v) => $body,
            $crate::mesh::streams::Quantized::U32($v) => $body,
        }
    };
}

/// Access to the vector of an integer type that is known from elsewhere.
pub trait QuantizedCode: Code {
    /// Returns the quantized values if they are of this type, else `None`.
    fn values(quantized: &Quantized) -> Option<&[Self]>;
}

macro_rules! impl_quantized_code {
    ($($t:ty, $variant:ident);*) => {$(
        impl QuantizedCode for $t {
            fn values(quantized: &Quantized) -> Option<&[Self]> {
                match quantized { Quantized::$variant(v) => Some(v), _ => None }
            }
        }
    )*};
}
impl_quantized_code!(u8, U8; u16, U16; u32, U32);

impl Quantized {
    /// Returns the number of values of all components.
    pub fn len(&self) -> usize {
        with_quantized!(self, v => v.len())
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes of a value.
    pub fn value_bytes(&self) -> u8 {
        match self {
            Quantized::U8(_) => 1,
            Quantized::U16(_) => 2,
            Quantized::U32(_) => 4,
        }
    }

    /// Creates an empty vector whose values have `word` bytes each.
    pub fn new(word: u8) -> Quantized {
        match word {
            1 => Quantized::U8(Vec::new()),
            2 => Quantized::U16(Vec::new()),
            _ => Quantized::U32(Vec::new()),
        }
    }
}

/// Returns the size in bytes of the smallest integer type that holds `bits`.
pub fn bytes_for_bits(bits: u32) -> u8 {
    match bits {
        0..=8 => 1,
        9..=16 => 2,
        _ => 4,
    }
}

/// Returns the prediction of a stream inside a frame.
pub fn spatial(semantic: Semantic) -> SpatialPrediction {
    match semantic {
        Semantic::Position | Semantic::Uv => SpatialPrediction::Parallelogram,
        _ => SpatialPrediction::Average,
    }
}

/// Quantizes the values of the stream `record`.
pub fn quantize(record: &StreamRecord, values: &VertexValues, out: &mut Quantized) {
    with_quantized!(out, v => quantize_into(record, values, v));
}

fn quantize_into<W: QuantizedCode>(record: &StreamRecord, values: &VertexValues, out: &mut Vec<W>) {
    let set = usize::from(record.set);
    let bits = u32::from(record.bits);
    match record.semantic {
        Semantic::Position => quantize_lattice(&record.axes, &values.positions, out),
        Semantic::Uv => quantize_lattice(&record.axes, &values.uvs[set], out),
        Semantic::Colour => quantize_lattice(&record.axes, &values.colours[set], out),
        Semantic::Velocity => quantize_lattice(&record.axes, &values.velocities, out),
        Semantic::Width => quantize_lattice(&record.axes, &values.widths, out),
        Semantic::Custom1 | Semantic::Custom2 | Semantic::Custom3 | Semantic::Custom4 => {
            quantize_lattice(&record.axes, &values.custom[set], out);
        }
        Semantic::Normal => {
            write_planes(values.normals.len(), out, |v| octahedral::encode(values.normals[v], bits))
        }
        Semantic::QTangent => {
            write_planes(values.normals.len(), out, |v| qtangent::encode(tangent_frame(values, v), bits));
        }
    }
}

/// Returns the tangent frame of a vertex.
pub fn tangent_frame(values: &VertexValues, v: usize) -> qtangent::TangentFrame {
    let [x, y, z, sign] = values.tangents[v];
    qtangent::TangentFrame { normal: values.normals[v], tangent: [x, y, z], sign }
}

fn quantize_lattice<const N: usize, W: QuantizedCode>(axes: &[Axis], values: &[[f32; N]], out: &mut Vec<W>) {
    out.clear();
    out.reserve(N * values.len());
    for (k, axis) in axes.iter().enumerate() {
        // `Axis::code` without its last ulp: the margin of the step covers that, and everything is measured.
        // Equal values give equal quantized values, so no cracks open.
        let (min, scale) =
            (f64::from(axis.min), if axis.step > 0.0 { 1.0 / f64::from(axis.step) } else { 0.0 });
        let last = f64::from(axis.codes.saturating_sub(1));
        out.extend(values.iter().map(|value| {
            let level = ((f64::from(value[k]) - min) * scale + 0.5).clamp(0.0, last);
            W::wrap32(level as u32)
        }));
    }
}

/// Returns each position minus its quantized value, in steps, component-major.
pub fn offsets<W: QuantizedCode>(record: &StreamRecord, positions: &[[f32; 3]], quantized: &[W]) -> Vec<f32> {
    let count = positions.len();
    let mut out = Vec::with_capacity(quantized.len());
    for (k, axis) in record.axes.iter().enumerate() {
        let (min, scale) =
            (f64::from(axis.min), if axis.step > 0.0 { 1.0 / f64::from(axis.step) } else { 0.0 });
        let plane = &quantized[k * count..(k + 1) * count];
        out.extend(positions.iter().zip(plane).map(|(position, level)| {
            ((f64::from(position[k]) - min) * scale - f64::from(level.to_u32())) as f32
        }));
    }
    out
}

fn write_planes<const N: usize, W: QuantizedCode>(
    count: usize,
    out: &mut Vec<W>,
    value: impl Fn(usize) -> [u16; N],
) {
    out.clear();
    out.resize(N * count, W::default());
    for v in 0..count {
        for (k, level) in value(v).into_iter().enumerate() {
            out[k * count + v] = W::wrap32(u32::from(level));
        }
    }
}

/// Returns the largest error of `quantized` against `values`, in the unit of the stream's tolerance: distance
/// for positions, uvs, velocities and widths, degrees for normals, largest component for the others.
pub fn max_error(record: &StreamRecord, quantized: &Quantized, values: &VertexValues) -> f64 {
    with_quantized!(quantized, v => max_error_of_codes(record, v, values))
}

fn max_error_of_codes<W: QuantizedCode>(
    record: &StreamRecord,
    quantized: &[W],
    values: &VertexValues,
) -> f64 {
    let set = usize::from(record.set);
    let bits = u32::from(record.bits);
    match record.semantic {
        Semantic::Position => max_distance(&record.axes, quantized, &values.positions),
        Semantic::Uv => max_distance(&record.axes, quantized, &values.uvs[set]),
        Semantic::Velocity => max_distance(&record.axes, quantized, &values.velocities),
        Semantic::Width => max_distance(&record.axes, quantized, &values.widths),
        Semantic::Colour => max_component_error(&record.axes, quantized, &values.colours[set]),
        Semantic::Custom1 | Semantic::Custom2 | Semantic::Custom3 | Semantic::Custom4 => {
            max_component_error(&record.axes, quantized, &values.custom[set])
        }
        Semantic::Normal => {
            let count = values.normals.len();
            let at = |v: usize, k: usize| quantized[k * count + v].to_u32() as u16;
            degrees((0..count).fold(0.0, |most, v| {
                chord(octahedral::decode([at(v, 0), at(v, 1)], bits), values.normals[v]).max(most)
            }))
        }
        Semantic::QTangent => {
            let count = values.normals.len();
            let at = |v: usize, k: usize| quantized[k * count + v].to_u32() as u16;
            degrees((0..count).fold(0.0, |most: f64, v| {
                let back = qtangent::decode([at(v, 0), at(v, 1), at(v, 2), at(v, 3)], bits);
                let [x, y, z, _] = values.tangents[v];
                most.max(chord(back.normal, values.normals[v])).max(chord(back.tangent, [x, y, z]))
            }))
        }
    }
}

/// Returns the largest difference of a component.
fn max_component_error<W: QuantizedCode>(axes: &[Axis], quantized: &[W], values: &[[f32; 4]]) -> f64 {
    let count = values.len();
    let mut most = 0.0f64;
    for (k, axis) in axes.iter().enumerate() {
        for (v, value) in values.iter().enumerate() {
            let back = axis.value(quantized[k * count + v].to_u32());
            most = most.max((f64::from(back) - f64::from(value[k])).abs());
        }
    }
    most
}

/// Returns the largest angle in degrees between unit vectors; components after the first three are ignored.
pub fn max_angle<const N: usize>(decoded: &[[f32; N]], values: &[[f32; N]]) -> f64 {
    let three = |v: &[f32; N]| [v[0], v[1], v[2]];
    let chords = decoded.iter().zip(values).map(|(a, b)| chord(three(a), three(b)));
    degrees(chords.fold(0.0, f64::max))
}

/// Returns the square of the distance of two unit vectors.
fn chord(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum()
}

/// Returns the angle in degrees of a chord given by its square.
fn degrees(chord: f64) -> f64 {
    2.0 * (chord.sqrt() / 2.0).min(1.0).asin().to_degrees()
}

fn max_distance<const N: usize, W: QuantizedCode>(
    axes: &[Axis],
    quantized: &[W],
    values: &[[f32; N]],
) -> f64 {
    let count = values.len();
    let planes: [&[W]; N] = std::array::from_fn(|k| &quantized[k * count..(k + 1) * count]);
    let mut most = 0.0f64;
    for (v, value) in values.iter().enumerate() {
        let mut square = 0.0;
        for k in 0..N {
            let d = f64::from(axes[k].value(planes[k][v].to_u32())) - f64::from(value[k]);
            square += d * d;
        }
        most = most.max(square);
    }
    most.sqrt()
}

/// Returns the decoded bounds of a position stream: min xyz, max xyz; inverted infinities without vertices.
pub fn bounds(record: &StreamRecord, quantized: &Quantized) -> [f32; 6] {
    with_quantized!(quantized, v => {
        let mut out = [f32::INFINITY, f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
        let count = v.len() / 3;
        if count > 0 {
            for (k, axis) in record.axes.iter().enumerate() {
                let plane = &v[k * count..(k + 1) * count];
                let (low, high) = plane.iter().fold((u32::MAX, 0), |(l, h), &x| (l.min(x.to_u32()), h.max(x.to_u32())));
                (out[k], out[k + 3]) = (axis.value(low), axis.value(high));
            }
        }
        out
    })
}

/// Bounds of an empty set.
pub const EMPTY_BOUNDS: [f32; 6] =
    [f32::INFINITY, f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];

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
