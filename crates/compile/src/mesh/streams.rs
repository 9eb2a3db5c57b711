//! Quantizes vertex values, and measures the error.

use meshreel_codec::classic::stream::SpatialPrediction;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::quantize::{Axis, octahedral, qtangent};
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_process::tangents::Vertices;
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
