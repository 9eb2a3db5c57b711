//! Interpolation between two frames: positions, texture coordinates and colours linearly; normals and
//! rotations linearly and then normalized, rotations by the shorter way. Works in planes of a few vertices on
//! the stack.
//!
//! ```text
//! value    = a + (b − a) · blend                      positions, texture coordinates, colours; in f32
//! normal   = unit(a + (b − a) · blend)                where that vanishes: a
//! rotation = unit(a + (±b − a) · blend)               the sign that makes a · b positive; where that vanishes: a
//! predicted  normals and tangents of the surface in between, see [`meshreel_codec::mesh::normals`]
//! velocity = (b − a) / seconds between them · seconds of animation per second
//! ```
//!
//! At blend 0 the result is the first frame exactly as it was decoded, bit by bit.

use crate::decode::mesh::MeshView;
use crate::reel::fixed_point::{BLOCK_VERTICES, VertexBlock};
use crate::reel::quantized::{QuantizedValues, for_quantized};
use meshreel_codec::mesh::normals::ComputedNormals;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::quantize::{blend, octahedral, qtangent};
use meshreel_codec::transform::Transform;
use std::ops::Range;

/// A block of zeros.
pub(crate) const ZERO_BLOCK: VertexBlock = [[0.0; BLOCK_VERTICES]; 4];

/// A stream of a mesh, in one frame or between two.
#[derive(Clone, Copy)]
pub(crate) struct StreamBlend<'a> {
    pub first: &'a MeshView<'a>,
    /// The mesh at blend 1, of equal topology.
    pub second: Option<&'a MeshView<'a>>,
    pub stream: usize,
    pub blend: f32,
    /// Normals that are computed from the positions.
    pub built: Option<ComputedNormals<'a>>,
}

impl StreamBlend<'_> {
    /// Returns the second frame if it has an influence; static streams are the same in it.
    fn blended_second(&self) -> Option<&MeshView<'_>> {
        let animated = self.first.record().streams[self.stream].animated;
        self.second.filter(|_| self.blend > 0.0 && animated)
    }

    /// Writes positions, texture coordinates or colours.
    pub fn values_into(&self, vertices: Range<usize>, out: &mut VertexBlock) {
        load(self.first, self.stream, vertices.clone(), out);
        let Some(second) = self.blended_second() else { return };
        let mut to = ZERO_BLOCK;
        if self.first.particles_change() {
            // Particles that the second frame does not have stay.
            to = *out;
            load_matching((self.first, second), self.stream, vertices, &mut to);
        } else {
            load(second, self.stream, vertices, &mut to);
        }
        lerp(out, &to, self.blend);
    }

    /// Writes the difference to the values of the second frame; zeros without one.
    pub fn difference_into(&self, vertices: Range<usize>, out: &mut VertexBlock) {
        let animated = self.first.record().streams[self.stream].animated;
        let Some(second) = self.second.filter(|_| animated) else {
            *out = ZERO_BLOCK;
            return;
        };
        let mut from = ZERO_BLOCK;
        load(self.first, self.stream, vertices.clone(), &mut from);
        if self.first.particles_change() {
            *out = from;
            load_matching((self.first, second), self.stream, vertices, out);
        } else {
            load(second, self.stream, vertices, out);
        }
        for (out, from) in out.iter_mut().zip(&from) {
            for (out, from) in out.iter_mut().zip(from) {
                *out -= from;
            }
        }
    }

    /// Writes unit normals of a stream of normals.
    pub fn normals_into(&self, vertices: Range<usize>, out: &mut VertexBlock) {
        let bits = self.bits();
        let mut put = |i: usize, n: [f32; 3]| (out[0][i], out[1][i], out[2][i]) = n.into();
        if let Some(built) = self.built {
            vertices.enumerate().for_each(|(i, v)| put(i, built.normal(v)));
            return;
        }
        let Some(second) = self.blended_second() else {
            for_each_vertex(self.first, self.stream, vertices, |i, levels| {
                put(i, octahedral::decode(levels, bits));
            });
            return;
        };
        let mut held = [[0; 2]; BLOCK_VERTICES];
        for_each_vertex(self.first, self.stream, vertices.clone(), |i, levels| held[i] = levels);
        for_each_vertex(second, self.stream, vertices, |i, levels| {
            put(i, blend::direction(bits, self.blend, held[i], levels));
        });
    }

    /// Calls `each_frame(vertex of the block, frame)` with the tangent frames.
    pub fn for_each_frame(&self, vertices: Range<usize>, each_frame: &mut dyn FnMut(usize, DecodedTangents)) {
        if let Some(built) = self.built {
            for (i, v) in vertices.enumerate() {
                let (normal, [x, y, z, sign]) = (built.normal(v), built.tangent(v));
                let frame = qtangent::TangentFrame { normal, tangent: [x, y, z], sign };
                each_frame(i, DecodedTangents { rotation: None, frame });
            }
            return;
        }
        let bits = self.bits();
        let Some(second) = self.blended_second() else {
            for_each_vertex(self.first, self.stream, vertices, |i, levels: [u16; 4]| {
                each_frame(i, DecodedTangents::decode(levels, bits));
            });
            return;
        };
        let mut held = [[0; 4]; BLOCK_VERTICES];
        for_each_vertex(self.first, self.stream, vertices.clone(), |i, levels| held[i] = levels);
        for_each_vertex(second, self.stream, vertices, |i, levels: [u16; 4]| {
            let (rotation, sign) = blend::rotation(bits, self.blend, held[i], levels);
            let frame = qtangent::frame(rotation, sign);
            each_frame(i, DecodedTangents { rotation: Some(rotation), frame });
        });
    }

    fn bits(&self) -> u32 {
        u32::from(self.first.record().streams[self.stream].bits)
    }
}

/// A tangent frame, also as a unit quaternion if it is stored as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DecodedTangents {
    pub rotation: Option<[f32; 4]>,
    pub frame: qtangent::TangentFrame,
}

impl DecodedTangents {
    fn decode(codes: [u16; 4], bits: u32) -> DecodedTangents {
        let rotation = Some(qtangent::rotation(codes, bits));
        DecodedTangents { rotation, frame: qtangent::decode(codes, bits) }
    }
}

/// Loads the positions, texture coordinates or colours of a range of vertices.
fn load(view: &MeshView<'_>, stream: usize, vertices: Range<usize>, out: &mut VertexBlock) {
    fn planes<W: Code>(
        view: &MeshView<'_>,
        stream: usize,
        codes: &[W],
        vertices: Range<usize>,
        out: &mut VertexBlock,
    ) {
        let count = view.vertex_count();
        let axes = &view.record().streams[stream].axes;
        for (k, (axis, out)) in axes.iter().zip(out).enumerate() {
            let plane = &codes[k * count..][vertices.clone()];
            for (level, out) in plane.iter().zip(out) {
                *out = axis.value(level.to_u32());
            }
        }
    }
    if view.fixed_point_into(stream, vertices.clone(), out) {
        return;
    }
    for_quantized!(view.quantized(stream), levels => planes(view, stream, levels, vertices, out));
}

/// Loads the values that the same particles have in the second of two frames; `out` is not changed for
/// particles that it does not have.
fn load_matching(
    (first, second): (&MeshView<'_>, &MeshView<'_>),
    stream: usize,
    vertices: Range<usize>,
    out: &mut VertexBlock,
) {
    let axes = &second.record().streams[stream].axes;
    let count = second.vertex_count();
    let mut put = |v: usize, same: usize| {
        for ((k, axis), plane) in axes.iter().enumerate().zip(&mut *out) {
            if let Some(code) = second.quantized(stream).get(k * count + same) {
                plane[v - vertices.start] = axis.value(code);
            }
        }
    };
    let (ids, others) = (first.ids(), second.ids());
    if ids.is_empty() {
        vertices.clone().filter(|&v| v < count).for_each(|v| put(v, v));
        return;
    }
    // Both are ascending.
    let least = ids.get(vertices.start).copied().unwrap_or(u64::MAX);
    let mut next = others.partition_point(|other| *other < least);
    for v in vertices.clone() {
        let Some(id) = ids.get(v) else { return };
        while others.get(next).is_some_and(|other| other < id) {
            next += 1;
        }
        if others.get(next) == Some(id) {
            put(v, next);
        }
    }
}

/// Calls `put(vertex of the block, quantized values)` for a range of vertices of a stream with `N` components
/// of at most 16 bits.
fn for_each_vertex<const N: usize>(
    view: &MeshView<'_>,
    stream: usize,
    vertices: Range<usize>,
    mut put: impl FnMut(usize, [u16; N]),
) {
    fn planes<W: Copy, const N: usize>(
        codes: &[W],
        count: usize,
        vertices: Range<usize>,
        widen: impl Fn(W) -> u16,
        put: &mut dyn FnMut(usize, [u16; N]),
    ) {
        let planes: [&[W]; N] = std::array::from_fn(|k| &codes[k * count..][vertices.clone()]);
        for i in 0..vertices.len() {
            put(i, planes.map(|plane| widen(plane[i])));
        }
    }
    let count = view.vertex_count();
    match view.quantized(stream) {
        QuantizedValues::U8(levels) => planes(levels, count, vertices, u16::from, &mut put),
        QuantizedValues::U16(levels) => planes(levels, count, vertices, |w| w, &mut put),
        // The description allows at most 16 bits here, but the words of a damaged frame can hold anything.
        QuantizedValues::U32(levels) => planes(levels, count, vertices, |w| w as u16, &mut put),
    }
}

fn lerp(from: &mut VertexBlock, to: &VertexBlock, blend: f32) {
    for (from, to) in from.iter_mut().zip(to) {
        for (from, to) in from.iter_mut().zip(to) {
            *from += (to - *from) * blend;
        }
    }
}

/// Interpolates two directions and normalizes the result.
pub(crate) fn nlerp<const N: usize>(from: [f32; N], to: [f32; N], blend: f32) -> [f32; N] {
    let mut between = from;
    for (between, to) in between.iter_mut().zip(to) {
        *between += (to - *between) * blend;
    }
    let square = dot(between, between);
    if square > 1e-12 && square.is_finite() {
        let length = square.sqrt();
        between.map(|v| v / length)
    } else {
        from
    }
}

/// Interpolates two rotations by the shorter way.
pub(crate) fn nlerp_rotation(from: [f32; 4], to: [f32; 4], blend: f32) -> [f32; 4] {
    let near = if dot(from, to) < 0.0 { to.map(|v| -v) } else { to };
    nlerp(from, near, blend)
}

fn dot<const N: usize>(a: [f32; N], b: [f32; N]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Interpolates two transforms; returns the first itself at blend 0.
pub(crate) fn transform(from: &Transform, to: &Transform, blend: f32) -> Transform {
    if blend == 0.0 {
        return *from;
    }
    let between = |from: [f32; 3], to: [f32; 3]| {
        let [x, y, z]: [f32; 3] = std::array::from_fn(|k| from[k] + (to[k] - from[k]) * blend);
        [x, y, z]
    };
    let unit = |q: [f32; 4]| nlerp(q, q, 0.0);
    Transform {
        rotation: nlerp_rotation(unit(from.rotation), unit(to.rotation), blend),
        translation: between(from.translation, to.translation),
        scale: between(from.scale, to.scale),
    }
}

/// `true` for a part that is deleted by a scale of zero: it is there in one frame and not in the other, so
/// nothing is interpolated.
pub(crate) fn has_zero_scale(transform: &Transform) -> bool {
    transform.scale == [0.0; 3]
}

/// Returns the change of a matrix per second.
pub(crate) fn matrix_velocity(from: &[[f64; 4]; 3], to: &[[f64; 4]; 3], per_second: f64) -> [[f64; 4]; 3] {
    std::array::from_fn(|r| std::array::from_fn(|c| (to[r][c] - from[r][c]) * per_second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turned(degrees: f32) -> Transform {
        let half = degrees.to_radians() / 2.0;
        Transform { rotation: [0.0, 0.0, half.sin(), half.cos()], ..Transform::IDENTITY }
    }

    #[test]
    fn the_shorter_way_round() {
        let (from, to) = (turned(170.0), turned(190.0));
        for sign in [1.0, -1.0] {
            let to = Transform { rotation: to.rotation.map(|v| v * sign), ..to };
            let half = transform(&from, &to, 0.5).matrix();
            let want = turned(180.0).matrix();
            for (row, want) in half.iter().flatten().zip(want.iter().flatten()) {
                assert!((row - want).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn transforms_at_the_ends() {
        let mut to = turned(40.0);
        to.translation = [1.0, 2.0, 3.0];
        to.scale = [2.0, 1.0, 0.5];
        assert_eq!(transform(&to, &Transform::IDENTITY, 0.0), to);
        let half = transform(&Transform::IDENTITY, &to, 0.5);
        assert_eq!((half.translation, half.scale), ([0.5, 1.0, 1.5], [1.5, 1.0, 0.75]));
        let broken = Transform { rotation: [0.0; 4], ..to };
        assert!(transform(&broken, &broken, 0.5).rotation.iter().all(|v| v.is_finite()));
        assert!(has_zero_scale(&Transform { scale: [0.0; 3], ..to }) && !has_zero_scale(&to));
    }

    #[test]
    fn opposite_directions_give_the_first() {
        assert_eq!(nlerp([0.0, 0.0, 1.0], [0.0, 0.0, -1.0], 0.5), [0.0, 0.0, 1.0]);
    }

    proptest! {
        #[test]
        fn directions_stay_unit(
            from in prop::array::uniform4(-1.0f32..1.0),
            to in prop::array::uniform4(-1.0f32..1.0),
            blend in 0.0f32..1.0,
        ) {
            let unit = |v: [f32; 4]| nlerp(v, v, 0.0);
            prop_assume!(dot(from, from) > 1e-3 && dot(to, to) > 1e-3);
            let between = nlerp_rotation(unit(from), unit(to), blend);
            prop_assert!((dot(between, between) - 1.0).abs() < 1e-5);
            prop_assert!(dot(between, unit(from)) > 0.0);
        }
    }
}
