//! The bytes of a surface in Godot's vertex buffers, version 4.2 and later, without compression.
//!
//! ```text
//! vertex buffer      f32×3 position, of all vertices          12 bytes each
//!                    then of all vertices                     4 bytes each, 8 with tangents
//!                      u16×2 normal, octahedral
//!                      u16×2 tangent, octahedral with sign
//! attribute buffer   u8×4 colour, f32×2 uv, f32×2 second uv   of each vertex those that it has
//!
//! octahedral         n / (|x|+|y|+|z|); for z < 0: (1 − |y|, 1 − |x|) with the signs of x and y; from −1…1 to
//!                    0…65,535
//! sign               the upper half of the tangent's second number for +, the lower half, mirrored, for −
//! ```
//!
//! The positions of all vertices come first, so that a renderer of shadows reads these alone.

use super::vertices::Vertices;
use std::ops::Range;

/// The bytes of a position.
pub const POSITION_BYTES: usize = 12;

/// The attributes of a surface beside its positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurfaceFormat {
    /// Normals.
    pub normals: bool,
    /// Tangents; only with normals.
    pub tangents: bool,
    /// Colours.
    pub colours: bool,
    /// The first and the second set of uvs.
    pub uvs: [bool; 2],
}

impl SurfaceFormat {
    /// Returns the format of surfaces with these vertices.
    pub fn new(vertices: &Vertices) -> SurfaceFormat {
        SurfaceFormat {
            normals: !vertices.normals.is_empty(),
            tangents: !vertices.tangents.is_empty(),
            colours: !vertices.colours.is_empty(),
            uvs: [!vertices.uvs[0].is_empty(), !vertices.uvs[1].is_empty()],
        }
    }

    /// Returns the bytes of the normal and tangent of a vertex.
    pub fn direction_bytes(&self) -> usize {
        4 * usize::from(self.normals) + 4 * usize::from(self.tangents)
    }

    /// Returns the bytes of the vertex buffer.
    pub fn vertex_bytes(&self, vertices: usize) -> usize {
        vertices * (POSITION_BYTES + self.direction_bytes())
    }

    /// Returns the bytes of a vertex in the attribute buffer.
    pub fn attribute_stride(&self) -> usize {
        let uvs = self.uvs.iter().filter(|there| **there).count();
        4 * usize::from(self.colours) + 8 * uvs
    }

    /// Writes the vertex buffer of a range of vertices, [`SurfaceFormat::vertex_bytes`] in all; does nothing
    /// if `out` has another size.
    pub fn write_vertices(&self, vertices: &Vertices, range: Range<usize>, out: &mut [u8]) {
        let Some(positions) = vertices.positions.get(range.clone()) else { return };
        if out.len() != self.vertex_bytes(range.len()) {
            return;
        }
        let (first, second) = out.split_at_mut(POSITION_BYTES * range.len());
        write_floats(positions.as_flattened(), first);
        if !self.normals {
            return;
        }
        for (vertex, out) in range.zip(second.chunks_exact_mut(self.direction_bytes())) {
            let normal = vertices.normals.get(vertex).copied().unwrap_or([0.0, 1.0, 0.0]);
            write_u16(octahedral(normal).map(unorm16), out);
            if self.tangents {
                let tangent = vertices.tangents.get(vertex).copied().unwrap_or([1.0, 0.0, 0.0, 1.0]);
                write_u16(octahedral_tangent(tangent), &mut out[4..]);
            }
        }
    }

    /// Writes the attribute buffer of a range of vertices, [`SurfaceFormat::attribute_stride`] bytes each;
    /// does nothing if `out` has another size.
    pub fn write_attributes(&self, vertices: &Vertices, range: Range<usize>, out: &mut [u8]) {
        let stride = self.attribute_stride();
        if stride == 0 || out.len() != stride * range.len() {
            return;
        }
        for (vertex, mut out) in range.zip(out.chunks_exact_mut(stride)) {
            if self.colours {
                let colour = vertices.colours.get(vertex).copied().unwrap_or([1.0; 4]);
                let bytes = colour.map(|value| (value.clamp(0.0, 1.0) * 255.0).round() as u8);
                out[..4].copy_from_slice(&bytes);
                out = &mut out[4..];
            }
            for set in (0..2).filter(|set| self.uvs[*set]) {
                let uv = vertices.uvs[set].get(vertex).copied().unwrap_or([0.0; 2]);
                write_floats(&uv, out);
                out = &mut out[8..];
            }
        }
    }
}

/// Writes numbers one after the other.
fn write_floats(values: &[f32], out: &mut [u8]) {
    for (value, out) in values.iter().zip(out.as_chunks_mut::<4>().0) {
        *out = value.to_le_bytes();
    }
}

fn write_u16(values: [u16; 2], out: &mut [u8]) {
    for (value, out) in values.iter().zip(out.as_chunks_mut::<2>().0) {
        *out = value.to_le_bytes();
    }
}

/// Returns a number of 0 … 1 in 16 bits.
fn unorm16(value: f32) -> u16 {
    (value.clamp(0.0, 1.0) * 65535.0).round() as u16
}

/// Returns the octahedral form of a direction, 0 … 1.
fn octahedral([x, y, z]: [f32; 3]) -> [f32; 2] {
    let sum = x.abs() + y.abs() + z.abs();
    if sum == 0.0 || !sum.is_finite() {
        // No direction: that of z, so that every vertex has one.
        return [0.5; 2];
    }
    let (x, y, z) = (x / sum, y / sum, z / sum);
    let signed = |value: f32, sign: f32| if sign >= 0.0 { value } else { -value };
    let folded = match z >= 0.0 {
        true => [x, y],
        false => [signed(1.0 - y.abs(), x), signed(1.0 - x.abs(), y)],
    };
    folded.map(|value| value * 0.5 + 0.5)
}

/// Returns the octahedral form of a tangent, whose fourth number is the sign of the bitangent.
fn octahedral_tangent([x, y, z, sign]: [f32; 4]) -> [u16; 2] {
    let [first, second] = octahedral([x, y, z]);
    // In the middle between the halves, the sign would be lost.
    let second = second.max(1.0 / 32767.0) * 0.5 + 0.5;
    let out = [first, if sign >= 0.0 { second } else { 1.0 - second }].map(unorm16);
    // This is the mark by which Godot recognizes compressed surfaces. Both ends of the edge are the same
    // direction.
    if out == [0, u16::MAX] { [u16::MAX; 2] } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads octahedral numbers as a shader does, by folding the square back.
    fn direction(octahedral: [f32; 2]) -> [f32; 3] {
        let [u, v] = octahedral.map(|value| value * 2.0 - 1.0);
        let z = 1.0 - u.abs() - v.abs();
        let fold = (-z).max(0.0);
        let unfold = |value: f32| if value >= 0.0 { value - fold } else { value + fold };
        let out = [unfold(u), unfold(v), z];
        let length = out.iter().map(|value| value * value).sum::<f32>().sqrt();
        out.map(|value| value / length)
    }

    fn read_u16(bytes: &[u8]) -> [f32; 2] {
        let value = |k: usize| f32::from(u16::from_le_bytes([bytes[2 * k], bytes[2 * k + 1]])) / 65535.0;
        [value(0), value(1)]
    }

    fn read_f32(bytes: &[u8]) -> f32 {
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Returns directions all over the sphere, its axes and diagonals among them.
    fn directions() -> Vec<[f32; 3]> {
        let mut out = Vec::new();
        for x in -4..=4 {
            for y in -4..=4 {
                for z in -4..=4 {
                    let at: [f32; 3] = [x, y, z].map(|v| v as f32);
                    let length = at.iter().map(|value| value * value).sum::<f32>().sqrt();
                    if length > 0.0 {
                        out.push(at.map(|value| value / length));
                    }
                }
            }
        }
        out
    }

    fn angle(a: [f32; 3], b: [f32; 3]) -> f32 {
        let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        let sine = cross.iter().map(|value| value * value).sum::<f32>().sqrt();
        let cosine: f32 = (0..3).map(|k| a[k] * b[k]).sum();
        sine.atan2(cosine)
    }

    #[test]
    fn an_independent_reader_finds_all_values_again() {
        let normals = directions();
        let count = normals.len();
        let vertices = Vertices {
            positions: (0..count).map(|k| [k as f32, -0.25 * k as f32, 1e-3 * k as f32]).collect(),
            tangents: (0..count)
                .map(|k| {
                    let [x, y, z] = normals[(k * 7 + 3) % count];
                    [x, y, z, if k % 2 == 0 { 1.0 } else { -1.0 }]
                })
                .collect(),
            colours: (0..count).map(|k| [0.0, 1.0, (k % 256) as f32 / 255.0, 0.5]).collect(),
            uvs: [
                (0..count).map(|k| [0.5 * k as f32, 0.125]).collect(),
                (0..count).map(|k| [-1.0, k as f32]).collect(),
            ],
            normals,
        };
        let format = SurfaceFormat { normals: true, tangents: true, colours: true, uvs: [true; 2] };
        let range = 5..count - 7;
        let (mut buffer, mut attributes) = (vec![0; range.len() * 20], vec![0; range.len() * 20]);
        format.write_vertices(&vertices, range.clone(), &mut buffer);
        format.write_attributes(&vertices, range.clone(), &mut attributes);
        for (k, vertex) in range.clone().enumerate() {
            let position: Vec<f32> = (0..3).map(|axis| read_f32(&buffer[12 * k + 4 * axis..])).collect();
            assert_eq!(position, vertices.positions[vertex]);
            let directions = &buffer[12 * range.len() + 8 * k..];
            assert!(angle(direction(read_u16(directions)), vertices.normals[vertex]) < 1e-4);
            let [first, second] = read_u16(&directions[4..]);
            let sign = if second >= 0.5 { 1.0 } else { -1.0 };
            let tangent = direction([first, (2.0 * second - 1.0).abs()]);
            let [x, y, z, wanted] = vertices.tangents[vertex];
            assert_eq!(sign, wanted);
            assert!(angle(tangent, [x, y, z]) < 3e-4, "{tangent:?} {:?}", vertices.tangents[vertex]);
            let own = &attributes[20 * k..];
            let colour = vertices.colours[vertex].map(|value| (value * 255.0).round() as u8);
            assert_eq!(own[..4], colour);
            let numbers: Vec<f32> = (0..4).map(|n| read_f32(&own[4 + 4 * n..])).collect();
            assert_eq!(numbers, [vertices.uvs[0][vertex], vertices.uvs[1][vertex]].concat());
        }
    }

    #[test]
    fn buffers_have_only_what_the_format_says() {
        let vertices = Vertices { positions: vec![[1.0, 2.0, 3.0]; 4], ..Vertices::default() };
        let format = SurfaceFormat::new(&vertices);
        assert_eq!(format, SurfaceFormat::default());
        assert_eq!((format.vertex_bytes(4), format.attribute_stride()), (48, 0));
        let mut buffer = [0; 48];
        format.write_vertices(&vertices, 0..4, &mut buffer);
        assert_eq!(read_f32(&buffer[44..]), 3.0);
        let format = SurfaceFormat { normals: true, uvs: [false, true], ..format };
        assert_eq!((format.vertex_bytes(4), format.attribute_stride()), (64, 8));
    }

    #[test]
    fn buffers_of_another_size_are_not_written() {
        let vertices = Vertices { positions: vec![[1.0; 3]; 4], ..Vertices::default() };
        let format = SurfaceFormat::default();
        for (range, size) in [(0..4, 47), (0..5, 60), (3..5, 24), (0..3, 48)] {
            let mut buffer = vec![7; size];
            format.write_vertices(&vertices, range.clone(), &mut buffer);
            format.write_attributes(&vertices, range, &mut buffer);
            assert!(buffer.iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn no_direction_is_a_direction_and_never_the_mark_of_compression() {
        for bad in [[0.0; 3], [f32::NAN, 0.0, 1.0], [f32::INFINITY, 1.0, 1.0]] {
            assert!(octahedral(bad).iter().all(|value| (0.0..=1.0).contains(value)), "{bad:?}");
        }
        for sign in [1.0, -1.0] {
            for [x, y, z] in directions() {
                assert_ne!(octahedral_tangent([x, y, z, sign]), [0, u16::MAX]);
            }
        }
    }
}
