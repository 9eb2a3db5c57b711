//! Static triangles to one or two bits each, as the preset small keeps them: their [corners](super::corners),
//! in the order in which they are coded; the order in which they are drawn is derived. Gives the points of
//! vertices as well. Lossless but for the order, which the encoder returns.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 5 | `marker` | `FE FF FF FF 0F` |
//! | 5 | 1 … 5 | `points` | varint, at most the number of vertices |
//! | … | rest | `corners` | triangles of points, as many materials as the mesh has; all chances are even at first |
//!
//! ```text
//! triangles  of one material after the other; each material's are put from coding order into the order of a vertex cache
//! vertices   numbered in the order in which these triangles use them; then those without triangles, in coding order
//! points     numbered by their first vertices
//! ```

use crate::Corrupt;
use crate::bytes::Cursor;
#[cfg(feature = "encode")]
use crate::bytes::put_varint;
use crate::entropy::range;
use crate::topology::cache_order::CacheOrder;
use crate::topology::connectivity::TriangleCounts;
#[cfg(feature = "encode")]
use crate::topology::corners::InputTopology;
use crate::topology::corners::{CornerBuffers, CornerCoder, CornerContexts, CornerCounts, NO_VERTEX};

/// The bytes that mark compact triangles. Part of the format.
pub const MARKER: [u8; 5] = [0xFE, 0xFF, 0xFF, 0xFF, 0x0F];

/// Returns the bytes of memory for decoding this many vertices and indices, besides the results.
pub fn memory(vertices: u64, indices: u64) -> u64 {
    // Per vertex, besides the coder and the order: its point, its old and new number, the number of its
    // point.
    let vertex = CornerBuffers::BYTES_PER_VERTEX + CacheOrder::BYTES_PER_VERTEX + 4 * 4;
    // Per index: as coded and as ordered, and a third of the old and new number of a triangle.
    let index = CornerBuffers::BYTES_PER_INDEX + CacheOrder::BYTES_PER_INDEX + 2 * 4 + 3;
    vertices.saturating_mul(vertex).saturating_add(indices.saturating_mul(index))
}

/// Triangles and vertices in their final order.
struct DrawOrder {
    indices: Vec<u32>,
    /// By new triangle, its number in coding order.
    #[cfg_attr(not(feature = "encode"), expect(dead_code, reason = "decoders need only vertices"))]
    triangles: Vec<u32>,
    /// By new vertex, its number in coding order.
    vertices: Vec<u32>,
}

impl DrawOrder {
    /// Orders the coded triangles. Sets the first index and the number of indices of each material.
    fn new(coded: &CornerBuffers, vertices: usize, ranges: &mut [[u32; 2]]) -> DrawOrder {
        let count = coded.triangle_count();
        let (mut triangles, mut number) = (vec![[0; 3]; count], vec![0; count]);
        coded.order_by_material(ranges, |from, to, triangle| {
            (triangles[to], number[to]) = (triangle, from as u32)
        });
        let mut order = Vec::with_capacity(count);
        let mut cache = CacheOrder::new(&triangles, vertices);
        for &[first, indices] in ranges.iter() {
            cache.order(first as usize / 3..(first + indices) as usize / 3, &mut order);
        }
        drop(cache);
        let mut out = DrawOrder {
            indices: Vec::with_capacity(3 * count),
            triangles: order.iter().map(|&t| number[t as usize]).collect(),
            vertices: Vec::with_capacity(vertices),
        };
        let mut number = vec![NO_VERTEX; vertices];
        for v in order.iter().flat_map(|&t| triangles[t as usize]) {
            let slot = &mut number[v as usize];
            if *slot == NO_VERTEX {
                *slot = out.vertices.len() as u32;
                out.vertices.push(v);
            }
            out.indices.push(*slot);
        }
        let unused = (0..vertices as u32).filter(|&v| number[v as usize] == NO_VERTEX);
        out.vertices.extend(unused);
        out
    }
}

/// Triangles in the order in which a decoder has them, and their bytes.
#[cfg(feature = "encode")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactTriangles {
    /// What [`decode`] reads.
    pub bytes: Vec<u8>,
    /// Three new vertices per triangle.
    pub indices: Vec<u32>,
    /// By new triangle, the old one.
    pub triangle_order: Vec<u32>,
    /// By new vertex, the old one.
    pub vertex_order: Vec<u32>,
    /// The first index and the number of indices of each material.
    pub ranges: Vec<[u32; 2]>,
}

/// Encodes `triangles` of vertices. `point`: the point of each vertex, below `points`, all of them used;
/// `material`: that of each triangle, below `materials`, which is at least 1.
#[cfg(feature = "encode")]
pub fn encode(
    triangles: &[[u32; 3]],
    (point, points): (&[u32], usize),
    (material, materials): (&[u32], usize),
) -> CompactTriangles {
    let by_point: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|v| point[v as usize])).collect();
    let mut given = InputTopology::new(triangles, &by_point, point, points, material);
    let mut work = CornerBuffers::default();
    let mut bytes = MARKER.to_vec();
    put_varint(points as u32, &mut bytes);
    let counts = CornerCounts {
        vertices: point.len() as u32,
        triangles: TriangleCounts {
            points: points as u32,
            triangles: triangles.len() as u32,
            materials: materials as u32,
        },
    };
    let mut coded_point = vec![0; if points < point.len() { point.len() } else { 0 }];
    let (mut bits, mut contexts) = (range::Encoder::new(&mut bytes), CornerContexts::default());
    CornerCoder { bits: &mut bits, contexts: &mut contexts, work: &mut work }
        .code(counts, &mut coded_point, Some(&mut given))
        .expect("points, vertices and materials in range");
    bits.finish();
    let mut ranges = vec![[0; 2]; materials];
    let order = DrawOrder::new(&work, point.len(), &mut ranges);
    CompactTriangles {
        bytes,
        indices: order.indices,
        triangle_order: order.triangles.iter().map(|&t| given.given.order[t as usize].0).collect(),
        vertex_order: order.vertices.iter().map(|&v| given.order[v as usize]).collect(),
        ranges,
    }
}

/// Decodes `indices`, three for each triangle, of `vertices` vertices; `ranges` must be the first index and
/// the number of indices of each material. Returns the point of each vertex.
pub fn decode(
    bytes: &[u8],
    vertices: u32,
    ranges: &[[u32; 2]],
    indices: &mut [u32],
) -> Result<Vec<u32>, Corrupt> {
    let mut c = Cursor::new(bytes);
    if c.array()? != MARKER || !indices.len().is_multiple_of(3) {
        return Err(Corrupt("triangles: not compact ones"));
    }
    let points = c.varint()?;
    if points > vertices {
        return Err(Corrupt("triangles: more points than vertices"));
    }
    let triangles =
        TriangleCounts { points, triangles: (indices.len() / 3) as u32, materials: ranges.len() as u32 };
    let count = vertices as usize;
    let mut coded_point = vec![0; if points < vertices { count } else { 0 }];
    let mut work = CornerBuffers::default();
    work.reserve(count, indices.len());
    let (mut bits, mut contexts) = (range::Decoder::new(c.bytes(c.left())?), CornerContexts::default());
    CornerCoder { bits: &mut bits, contexts: &mut contexts, work: &mut work }.code(
        CornerCounts { vertices, triangles },
        &mut coded_point,
        None,
    )?;
    bits.finish()?;
    let mut found = vec![[0; 2]; ranges.len()];
    let order = DrawOrder::new(&work, count, &mut found);
    if found != ranges {
        return Err(Corrupt("triangles: other numbers of a material"));
    }
    indices.copy_from_slice(&order.indices);
    let mut number = vec![NO_VERTEX; points as usize];
    let mut next = 0;
    let point = |&v: &u32| {
        let slot = &mut number[coded_point.get(v as usize).map_or(v, |p| *p) as usize];
        if *slot == NO_VERTEX {
            *slot = next;
            next += 1;
        }
        *slot
    };
    Ok(order.vertices.iter().map(point).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes what was encoded and compares it.
    fn round_trip(triangles: &[[u32; 3]], point: &[u32], material: &[u32]) -> CompactTriangles {
        let points = point.iter().max().map_or(0, |p| *p as usize + 1);
        let materials = material.iter().max().map_or(1, |m| *m as usize + 1);
        let coded = encode(triangles, (point, points), (material, materials));
        let mut indices = vec![7; 3 * triangles.len()];
        let decoded = decode(&coded.bytes, point.len() as u32, &coded.ranges, &mut indices).unwrap();
        assert_eq!(indices, coded.indices);
        // The same triangles, each rotated, of vertices that have the same points.
        for (new, &old) in indices.as_chunks::<3>().0.iter().zip(&coded.triangle_order) {
            let new = new.map(|v| coded.vertex_order[v as usize]);
            let turns = [0, 1, 2].map(|k| [0, 1, 2].map(|i| triangles[old as usize][(i + k) % 3]));
            assert!(turns.contains(&new), "{new:?} of {turns:?}");
        }
        for (&[first, count], m) in coded.ranges.iter().zip(0..) {
            let of = &coded.triangle_order[first as usize / 3..(first + count) as usize / 3];
            assert!(of.iter().all(|&t| material.get(t as usize).is_none_or(|own| *own == m)));
        }
        let mut first = std::collections::HashMap::new();
        for (v, &new) in decoded.iter().enumerate() {
            let next = first.len() as u32;
            assert_eq!(*first.entry(point[coded.vertex_order[v] as usize]).or_insert(next), new);
        }
        coded
    }

    /// Returns a tube of `n` times `n` quads whose seam has two vertices per point, in two materials.
    fn tube(n: u32) -> (Vec<[u32; 3]>, Vec<u32>, Vec<u32>) {
        let vertex = |i: u32, j: u32| j * (n + 1) + i;
        let quad = |q: u32| {
            let (i, j) = (q % n, q / n);
            let [a, b, c, d] = [vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)];
            [[a, b, c], [a, c, d]]
        };
        let triangles: Vec<_> = (0..n * n).flat_map(quad).collect();
        let point = (0..=n).flat_map(|j| (0..=n).map(move |i| j * n + i % n)).collect();
        let material = (0..2 * n * n).map(|t| u32::from(t > n * n)).collect();
        (triangles, point, material)
    }

    #[test]
    fn a_surface_takes_about_a_bit_per_triangle() {
        let (triangles, point, material) = tube(40);
        let coded = round_trip(&triangles, &point, &material);
        assert!(coded.bytes.len() * 8 < triangles.len() * 3 / 2, "{} bytes", coded.bytes.len());
        round_trip(&[], &[], &[]);
        round_trip(&[], &[0, 1, 1], &[]);
    }

    #[test]
    fn golden() {
        let coded = round_trip(&[[0, 1, 2], [2, 1, 3]], &[0, 1, 2, 0], &[0, 1]);
        assert_eq!(coded.bytes[..6], [0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 3]);
        assert_eq!(coded.indices, [0, 1, 2, 2, 1, 3]);
        assert_eq!(coded.bytes[6..], [118, 64]);
    }

    #[test]
    fn damage() {
        let (triangles, point, material) = tube(6);
        let coded = encode(&triangles, (&point, 42), (&material, 2));
        let vertices = point.len() as u32;
        let mut indices = vec![0; 3 * triangles.len()];
        for cut in 0..coded.bytes.len() {
            assert!(decode(&coded.bytes[..cut], vertices, &coded.ranges, &mut indices).is_err(), "{cut}");
        }
        let mut bad = coded.bytes.clone();
        for at in 0..bad.len() {
            for bit in 0..8 {
                bad[at] ^= 1 << bit;
                if let Ok(points) = decode(&bad, vertices, &coded.ranges, &mut indices) {
                    assert!(indices.iter().all(|&v| v < vertices) && points.len() == point.len());
                }
                bad[at] ^= 1 << bit;
            }
        }
        assert!(decode(&coded.bytes, vertices, &[[0, 0]; 2], &mut indices).is_err());
        assert!(decode(&coded.bytes, vertices - 1, &coded.ranges, &mut indices).is_err());
        assert!(decode(&coded.bytes, vertices, &coded.ranges, &mut [0; 4]).is_err());
    }

    proptest! {
        #[test]
        fn any_triangles_come_back(
            t in proptest::collection::vec([0u32..14, 0u32..14, 0u32..14], 0..50),
            picks in proptest::collection::vec(any::<u32>(), 14), materials in proptest::collection::vec(0u32..3, 50),
        ) {
            let mut next = 0;
            let point: Vec<u32> = picks.iter().map(|pick| {
                let point = pick % (next + 1);
                next += u32::from(point == next);
                point
            }).collect();
            round_trip(&t, &point, &materials[..t.len()]);
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200), n in 0usize..30, vertices in 0u32..50) {
            let mut out = vec![0; n * 3];
            let bytes = [&MARKER[..], &bytes].concat();
            if let Ok(points) = decode(&bytes, vertices, &[[0, 3 * n as u32]], &mut out) {
                prop_assert!(out.iter().all(|&v| v < vertices) && points.len() == vertices as usize);
            }
        }
    }
}
