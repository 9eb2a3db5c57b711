//! Texture coordinates that do not change, predicted from the points of the first frame: if a vertex and a
//! known edge form a triangle, the triangle has nearly the same shape in texture space. Lossless.
//!
//! ```text
//! around     the triangles of a vertex are its first 24 in the order of indices, each from the vertex on: vertex, a, b. Known vertices are those before v
//! edges      of the triangles of v, in order, all whose a and b are known, a ≠ b, and whose points differ
//! e, w       b − a, v − a between their points in the first frame, as integers; s = e·w / e·e; h = √(max(w·w − s·s·e·e, 0) / e·e)
//! turn       twice the area of a triangle in codes: (u₁ − u₀)·(v₂ − v₀) − (v₁ − v₀)·(u₂ − u₀)
//! left       if a triangle around a has b and another known vertex o ≠ a, the first such one with turn(a, b, o) ≠ 0: is that below 0? Else: was the last
//!            turn(a, b, v) ≠ 0 of a vertex of kind 0, with the last of its edges, above 0? true at first. If it is false, h is negative
//! place      of an edge: u(a) + s·du − h·(dv·ρ), v(a) + s·dv + h·(du / ρ), with du = u(b) − u(a), dv = v(b) − v(a), ρ = step of v / step of u; ρ = 1 if that is no normal number
//! kind       0 there are edges: ⌊mean of their places + ½⌋, at least 0 and at most the axis' codes − 1
//!            1 else, a vertex of a triangle of v is known: the value of the last one, in the order a, b · 2 else, a vertex at the same point: of the last one · 3 else of the vertex before, or 0
//! context    kind, component, the bit length of |residual| of the same component of the vertex before (0 at first), and for the second component that of the first; each at most 8
//! value      prediction + residual, wrapped to the width
//! ```
//!
//! All arithmetic is in f64, without fused operations, so it is the same on every machine. Points are
//! integers, in units of the mesh.
//!
//! Credit: L. Váša, G. Brunnett, "Efficient encoding of texture coordinates guided by mesh geometry", 2014.

use crate::Corrupt;
#[cfg(feature = "encode")]
use crate::bytes::put_length_prefixed;
use crate::bytes::take_length_prefixed;
use crate::entropy::range::{self, BitCoder, Chance, NumberModel};
use crate::quantize::code::Code;

/// The mesh that texture coordinates lie on.
#[derive(Clone, Copy)]
pub struct UvSurface<'a> {
    /// Three vertices per triangle; each is below the number of vertices.
    pub indices: &'a [u32],
    /// Per vertex its point.
    pub vertex_points: &'a [u32],
    /// Per point its position in the first frame, in units.
    pub positions: &'a [[i32; 3]],
    /// The steps of u and v.
    pub steps: [f32; 2],
    /// The numbers of codes of u and v.
    pub codes: [u32; 2],
}

/// The predictor by which a stream names this form, see [`crate::values::stream`]. Part of the format.
pub const PREDICTOR: u8 = 3;
/// The largest number of triangles of a vertex that are looked at. Part of the format.
const MAX_TRIANGLES: usize = 24;
/// The largest bit length of residuals that contexts tell apart. Part of the format.
const MAX_LENGTH: usize = 8;
const KINDS: usize = 4;
const NO_VERTEX: u32 = u32::MAX;

/// The triangles of each vertex.
struct VertexTriangles<'a> {
    triangles: &'a [[u32; 3]],
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl<'a> VertexTriangles<'a> {
    fn new(indices: &'a [u32], vertices: usize) -> VertexTriangles<'a> {
        let triangles = indices.as_chunks::<3>().0;
        let mut starts = vec![0u32; vertices + 1];
        triangles.as_flattened().iter().for_each(|&v| starts[v as usize + 1] += 1);
        for v in 0..vertices {
            starts[v + 1] += starts[v];
        }
        let (mut next, mut list) = (starts.clone(), vec![0; 3 * triangles.len()]);
        for (t, triangle) in (0..).zip(triangles) {
            for &v in triangle {
                list[next[v as usize] as usize] = t;
                next[v as usize] += 1;
            }
        }
        VertexTriangles { triangles, starts, list }
    }

    /// Returns the other two vertices of the first triangles of a vertex, in their direction.
    fn around(&self, v: u32) -> impl Iterator<Item = [u32; 2]> {
        let range = self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize;
        self.list[range].iter().take(MAX_TRIANGLES).map(move |&t| match self.triangles[t as usize] {
            [first, a, b] if first == v => [a, b],
            [b, first, a] if first == v => [a, b],
            [a, b, _] => [a, b],
        })
    }
}

/// Predicts texture coordinates, in the order of vertices.
struct Predictor<'a> {
    surface: UvSurface<'a>,
    around: VertexTriangles<'a>,
    /// Per point the last vertex at it, or [`NO_VERTEX`].
    last_at_point: Vec<u32>,
    /// The step of v over that of u.
    ratio: f64,
    /// `true` if the last triangle turned left.
    left: bool,
}

/// A predicted value, its kind, and the last known edge.
struct Prediction {
    kind: usize,
    value: [i64; 2],
    edge: Option<[u32; 2]>,
}

impl<'a> Predictor<'a> {
    fn new(surface: UvSurface<'a>) -> Result<Predictor<'a>, Corrupt> {
        if surface.vertex_points.iter().any(|&p| p as usize >= surface.positions.len()) {
            return Err(Corrupt("uvs: a vertex of no point"));
        }
        let ratio = f64::from(surface.steps[1]) / f64::from(surface.steps[0]);
        Ok(Predictor {
            around: VertexTriangles::new(surface.indices, surface.vertex_points.len()),
            last_at_point: vec![NO_VERTEX; surface.positions.len()],
            ratio: if ratio.is_normal() { ratio } else { 1.0 },
            left: true,
            surface,
        })
    }

    /// Predicts vertex `v` from the values of those before it.
    fn predict(&self, v: u32, values: &[[i64; 2]]) -> Prediction {
        let (mut near, mut edge) = (None, None);
        let (mut sum, mut count) = ([0.0; 2], 0.0);
        for [a, b] in self.around.around(v) {
            near = [a, b].into_iter().rfind(|&other| other < v).or(near);
            if a >= v || b >= v || a == b {
                continue;
            }
            if let Some(at) = self.of_edge([a, b], v, values) {
                (sum, count) = ([sum[0] + at[0], sum[1] + at[1]], count + 1.0);
                edge = Some([a, b]);
            }
        }
        if count > 0.0 {
            let most = self.surface.codes.map(|codes| f64::from(codes.saturating_sub(1)));
            let value = [0, 1].map(|k| (sum[k] / count + 0.5).floor().clamp(0.0, most[k]) as i64);
            return Prediction { kind: 0, value, edge };
        }
        let same = Some(self.last_at_point[self.surface.vertex_points[v as usize] as usize]);
        let (kind, from) = match (near, same.filter(|&same| same != NO_VERTEX)) {
            (Some(near), _) => (1, Some(near)),
            (None, Some(same)) => (2, Some(same)),
            (None, None) => (3, v.checked_sub(1)),
        };
        Prediction { kind, value: from.map_or([0; 2], |from| values[from as usize]), edge: None }
    }

    /// Returns the place of `v` if its triangle with the edge has the same shape in texture space; `None` if
    /// the edge has no length.
    fn of_edge(&self, [a, b]: [u32; 2], v: u32, values: &[[i64; 2]]) -> Option<[f64; 2]> {
        let position = |v: u32| self.surface.positions[self.surface.vertex_points[v as usize] as usize];
        let [pa, pb, pv] = [a, b, v].map(|v| position(v).map(f64::from));
        let between = |from: [f64; 3], to: [f64; 3]| [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let (e, w) = (between(pa, pb), between(pa, pv));
        let square = dot(e, e);
        if square <= 0.0 {
            return None;
        }
        let along = dot(e, w) / square;
        let height = ((dot(w, w) - along * along * square).max(0.0) / square).sqrt();
        let behind = self.around.around(a).filter_map(|[c, d]| match (c == b, d == b) {
            (true, false) => Some(d),
            (false, true) => Some(c),
            _ => None,
        });
        let known = behind.filter(|&o| o < v && o != a);
        let turn = known.map(|o| area([a, b, o].map(|v| values[v as usize]))).find(|turn| *turn != 0);
        let height = if turn.map_or(self.left, |turn| turn < 0) { height } else { -height };
        let [ua, ub] = [a, b].map(|v| values[v as usize].map(|value| value as f64));
        let d = [ub[0] - ua[0], ub[1] - ua[1]];
        Some([
            ua[0] + along * d[0] - height * (d[1] * self.ratio),
            ua[1] + along * d[1] + height * (d[0] / self.ratio),
        ])
    }

    /// Takes the value of vertex `v`, which was predicted like this.
    fn add(&mut self, v: u32, predicted: &Prediction, values: &[[i64; 2]]) {
        self.last_at_point[self.surface.vertex_points[v as usize] as usize] = v;
        let turn = predicted.edge.map_or(0, |[a, b]| area([a, b, v].map(|v| values[v as usize])));
        if turn != 0 {
            self.left = turn > 0;
        }
    }
}

/// Returns twice the area of a triangle in texture space, above 0 if it turns left.
fn area([a, b, c]: [[i64; 2]; 3]) -> i64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Codes the values of all vertices in order; a decoder replaces them by what it reads.
fn code<W: Code, B: BitCoder<Context = Chance>>(
    bits: &mut B,
    surface: UvSurface<'_>,
    values: &mut [[i64; 2]],
) -> Result<(), Corrupt> {
    let mut predictor = Predictor::new(surface)?;
    let lengths = MAX_LENGTH + 1;
    let mut models = vec![NumberModel::default(); KINDS * 2 * lengths * lengths];
    let mut before = [0; 2];
    for v in 0..values.len() {
        let predicted = predictor.predict(v as u32, values);
        let mut own = [0; 2];
        for k in 0..2 {
            let other = if k == 1 { own[0] } else { 0 };
            let model = ((predicted.kind * 2 + k) * lengths + before[k]) * lengths + other;
            let residual = (values[v][k] - predicted.value[k]) as i32;
            let residual = models[model].signed(bits, residual);
            own[k] = (i32::BITS - residual.unsigned_abs().leading_zeros()).min(MAX_LENGTH as u32) as usize;
            let value = predicted.value[k].wrapping_add(i64::from(residual));
            values[v][k] = i64::from(W::wrap32(value as u32).to_u32());
        }
        before = own;
        predictor.add(v as u32, &predicted, values);
    }
    Ok(())
}

/// Appends codes of texture coordinates, component-major. Words have one or two bytes.
#[cfg(feature = "encode")]
pub fn encode<W: Code>(codes: &[W], surface: UvSurface<'_>, out: &mut Vec<u8>) -> Result<(), Corrupt> {
    let count = surface.vertex_points.len();
    let at = |v: usize, k: usize| i64::from(codes[k * count + v].to_u32());
    let mut values: Vec<[i64; 2]> = (0..count).map(|v| [at(v, 0), at(v, 1)]).collect();
    let mut own = Vec::new();
    let mut bits = range::Encoder::new(&mut own);
    code::<W, _>(&mut bits, surface, &mut values)?;
    bits.finish();
    put_length_prefixed(&own, out);
    Ok(())
}

/// Decodes codes from the start of `bytes` into `out`, component-major; returns the bytes used.
pub fn decode<W: Code>(bytes: &[u8], surface: UvSurface<'_>, out: &mut [W]) -> Result<usize, Corrupt> {
    let (own, used) = take_length_prefixed(bytes)?;
    let count = surface.vertex_points.len();
    if out.len() != 2 * count || size_of::<W>() > 2 {
        return Err(Corrupt("uvs: values of another number or width"));
    }
    let mut bits = range::Decoder::new(own);
    let mut values = vec![[0; 2]; count];
    code::<W, _>(&mut bits, surface, &mut values)?;
    bits.finish()?;
    for (v, value) in values.iter().enumerate() {
        (0..2).for_each(|k| out[k * count + v] = W::wrap32(value[k] as u32));
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn surface<'a>(indices: &'a [u32], vertex_points: &'a [u32], positions: &'a [[i32; 3]]) -> UvSurface<'a> {
        UvSurface { indices, vertex_points, positions, steps: [0.5, 0.25], codes: [1 << 12, 1 << 12] }
    }

    /// A sheet of `side` × `side` vertices that is rolled up, and its texture coordinates without the roll.
    fn rolled(side: u32) -> (Vec<u32>, Vec<[i32; 3]>, Vec<u16>) {
        let at = |v: u32| (v % side, v / side);
        let positions = (0..side * side).map(|v| {
            let (x, y) = at(v);
            let (sin, cos) = (f64::from(x) * 0.2).sin_cos();
            [(1000.0 * cos) as i32, (1000.0 * sin) as i32, 200 * y as i32]
        });
        let quads = (0..(side - 1) * (side - 1)).map(|q| q / (side - 1) * side + q % (side - 1));
        let indices = quads.flat_map(|v| [v, v + 1, v + side, v + side, v + 1, v + side + 1]);
        let codes = (0..2).flat_map(|k| (0..side * side).map(move |v| (v, k)));
        let codes = codes.map(|(v, k)| if k == 0 { at(v).0 * 40 } else { at(v).1 * 80 } as u16);
        (indices.collect(), positions.collect(), codes.collect())
    }

    #[test]
    fn what_keeps_its_shape_takes_few_bits_and_truncated_bytes_are_refused() {
        let (indices, positions, codes) = rolled(24);
        let points: Vec<u32> = (0..positions.len() as u32).collect();
        let of = surface(&indices, &points, &positions);
        let mut bytes = Vec::new();
        encode(&codes, of, &mut bytes).unwrap();
        // The first row and column, and roundings.
        assert!(bytes.len() < 200, "{}", bytes.len());
        let mut back = vec![0u16; codes.len()];
        assert_eq!(decode(&bytes, of, &mut back), Ok(bytes.len()));
        assert_eq!(back, codes);
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], of, &mut back).is_err());
        }
        assert!(decode(&bytes, of, &mut vec![0u32; codes.len()]).is_err());
        assert!(decode(&bytes, of, &mut [0u16; 2]).is_err());
    }

    proptest! {
        #[test]
        fn any_values_on_any_triangles_come_back(
            positions in prop::collection::vec(any::<[i32; 3]>(), 1..20),
            vertices in prop::collection::vec(any::<(u32, [u16; 2])>(), 0..60),
            corners in prop::collection::vec(any::<u32>(), 0..300),
            steps in any::<[f32; 2]>(),
            codes in any::<[u32; 2]>(),
        ) {
            let count = vertices.len();
            let points: Vec<u32> = vertices.iter().map(|v| v.0 % positions.len() as u32).collect();
            let corners = if count == 0 { Vec::new() } else { corners };
            let indices: Vec<u32> = corners.iter().map(|c| c % count as u32).collect();
            let values: Vec<u16> = (0..2).flat_map(|k| vertices.iter().map(move |v| v.1[k])).collect();
            let of = UvSurface { steps, codes, ..surface(&indices[..indices.len() / 3 * 3], &points, &positions) };
            let mut bytes = Vec::new();
            encode(&values, of, &mut bytes).unwrap();
            let mut back = vec![0u16; values.len()];
            prop_assert_eq!(decode(&bytes, of, &mut back), Ok(bytes.len()));
            prop_assert_eq!(back, values);
        }

        #[test]
        fn any_bytes_give_values_or_are_refused(bytes: Vec<u8>, point in 0u32..40) {
            let (indices, positions, codes) = rolled(6);
            let points: Vec<u32> = (0..positions.len() as u32).map(|v| v.min(point)).collect();
            let _ = decode(&bytes, surface(&indices, &points, &positions), &mut vec![0u8; codes.len()]);
            let far = surface(&indices, &points, &positions[..20]);
            prop_assert!(point < 20 || decode(&bytes, far, &mut vec![0u8; codes.len()]).is_err());
        }
    }
}
