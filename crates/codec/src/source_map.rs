//! From vertices back to the source (PROMISE.md §1): strippable, counted apart. Lossless; read once, when somebody asks.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `points` | varint, points of the source mesh |
//! | … | 1 … 5 | `corners` | varint, sum of its face counts |
//! | … | 1 … 5 | `faces` | varint |
//! | … | 1 … 5 | `vertices` | varint, values of each of the next two arrays |
//! | … | 1 … 5 | `triangles` | varint, values of the third array |
//! | … | array | `vertex_point` | source point of each vertex |
//! | … | array | `vertex_corner` | one source corner of each vertex; 2^32 − 1 = none |
//! | … | array | `triangle_face` | source face of each triangle |
//!
//! An array of n values is one byte `width` (1 … 4; an empty array has none) and `width` planes of n bytes, the lowest
//! byte first, of zigzag(value − value before), wrapping 32 bits, the value before the first being 0.

use crate::{
    Corrupt,
    bytes::{Cursor, put_varint},
    word::Word,
};

/// Of one mesh with fixed topology.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    /// Points, corners and faces of the source mesh.
    pub points: u32,
    /// Sum of the face counts.
    pub corners: u32,
    /// Faces.
    pub faces: u32,
    /// Per vertex its source point.
    pub vertex_point: Vec<u32>,
    /// Per vertex one source corner (in the file's own order) whose attributes it has; u32::MAX for a point without face.
    pub vertex_corner: Vec<u32>,
    /// Per triangle its source face.
    pub triangle_face: Vec<u32>,
}

/// Appends the map to `out` (delta + byte planes; the chunk is block-compressed by the caller).
///
/// Panics if the two vertex arrays differ in length.
pub fn encode(map: &SourceMap, out: &mut Vec<u8>) {
    assert_eq!(
        map.vertex_point.len(),
        map.vertex_corner.len(),
        "both are per vertex"
    );
    let count = |a: &[u32]| u32::try_from(a.len()).expect("fewer than 2^32 vertices and triangles");
    for number in [
        map.points,
        map.corners,
        map.faces,
        count(&map.vertex_point),
        count(&map.triangle_face),
    ] {
        put_varint(number, out);
    }
    for array in [&map.vertex_point, &map.vertex_corner, &map.triangle_face] {
        encode_array(array, out);
    }
}

fn encode_array(array: &[u32], out: &mut Vec<u8>) {
    let mut before = 0;
    let deltas: Vec<u32> = array
        .iter()
        .map(|&v| v.wrapping_sub(std::mem::replace(&mut before, v)).zigzag())
        .collect();
    let Some(largest) = deltas.iter().max() else {
        return;
    };
    let width = (u32::BITS - largest.leading_zeros()).div_ceil(8).max(1);
    out.push(width as u8);
    for plane in 0..width {
        out.extend(deltas.iter().map(|d| (d >> (8 * plane)) as u8));
    }
}

/// Reads a map from the start of `bytes`; returns the bytes used. Allocates at most four bytes per byte of the input:
/// it is read once, so it gives owned arrays instead of filling the caller's.
pub fn decode(bytes: &[u8]) -> Result<(SourceMap, usize), Corrupt> {
    let mut c = Cursor::new(bytes);
    let (points, corners, faces) = (c.varint()?, c.varint()?, c.varint()?);
    let (vertices, triangles) = (c.varint()? as usize, c.varint()? as usize);
    let map = SourceMap {
        points,
        corners,
        faces,
        vertex_point: decode_array(&mut c, vertices, |v| v < points)?,
        vertex_corner: decode_array(&mut c, vertices, |v| v < corners || v == u32::MAX)?,
        triangle_face: decode_array(&mut c, triangles, |v| v < faces)?,
    };
    Ok((map, c.used()))
}

fn decode_array(
    c: &mut Cursor<'_>,
    count: usize,
    allowed: impl Fn(u32) -> bool,
) -> Result<Vec<u32>, Corrupt> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let width = usize::from(c.u8()?);
    if !(1..=4).contains(&width) {
        return Err(Corrupt("source map: width out of range"));
    }
    let planes = c.take(count.checked_mul(width).ok_or(crate::bytes::SHORT)?)?;
    let mut array = vec![0u32; count];
    for (p, plane) in planes.chunks_exact(count).enumerate() {
        for (value, &byte) in array.iter_mut().zip(plane) {
            *value |= u32::from(byte) << (8 * p);
        }
    }
    let mut before = 0u32;
    for value in &mut array {
        before = before.wrapping_add(value.unzigzag());
        if !allowed(before) {
            return Err(Corrupt("source map: number out of range"));
        }
        *value = before;
    }
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(map: &SourceMap) -> Vec<u8> {
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        encode(map, &mut bytes);
        encode(map, &mut again);
        assert_eq!(bytes, again);
        bytes.push(3);
        let (back, used) = decode(&bytes).unwrap();
        bytes.pop();
        assert_eq!((&back, used), (map, bytes.len()));
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err());
        }
        bytes
    }

    #[test]
    fn golden() {
        assert_eq!(round_trip(&SourceMap::default()), [0; 5]);
        let map = SourceMap {
            points: 3,
            corners: 300,
            faces: 1,
            vertex_point: vec![0, 2, 1],
            vertex_corner: vec![0, 299, u32::MAX],
            triangle_face: vec![0],
        };
        assert_eq!(
            round_trip(&map),
            [
                3, 0xAC, 2, 1, 3, 1, 1, 0, 4, 1, 2, 0, 0x56, 0x57, 0, 2, 2, 1, 0
            ]
        );
    }

    #[test]
    fn damage() {
        let map = SourceMap {
            points: 40,
            corners: 60,
            faces: 20,
            vertex_point: (0..40).collect(),
            vertex_corner: (0..40).map(|v| v * 3 % 60).collect(),
            triangle_face: (0..20).collect(),
        };
        let bytes = round_trip(&map);
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut bad = bytes.clone();
                bad[at] = value;
                if let Ok((map, _)) = decode(&bad) {
                    assert!(map.vertex_point.iter().all(|&p| p < map.points));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_map_comes_back(pairs in proptest::collection::vec((0u32..1 << 30, any::<u32>()), 0..40), faces in proptest::collection::vec(0u32..u32::MAX, 0..40)) {
            round_trip(&SourceMap {
                points: 1 << 30,
                corners: u32::MAX,
                faces: u32::MAX,
                vertex_point: pairs.iter().map(|p| p.0).collect(),
                vertex_corner: pairs.iter().map(|p| p.1).collect(),
                triangle_face: faces,
            });
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
