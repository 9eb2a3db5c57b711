//! The map from vertices back to the source (PROMISE.md §1): can be stripped, and is counted separately.
//! Lossless; decoded only on demand.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `points` | varint, points of the source mesh |
//! | … | 1 … 5 | `corners` | varint, sum of its face counts |
//! | … | 1 … 5 | `faces` | varint |
//! | … | 1 … 5 | `vertices` | varint, length of the first array |
//! | … | 1 … 5 | `triangles` | varint, length of the second array |
//! | … | array | `vertex_point` | source point of each vertex |
//! | … | array | `triangle_face` | source face of each triangle |
//! | … | 1 or 0 | `flags` | omitted if 0: bit 0 `computed_normals`, the source had no normals · bit 1, `face_starts` and `other_faces` follow · bit 3, `run_maps` and `frame_runs` follow |
//! | … | list or 0 | `face_starts` | for each face that is found from the triangles, the number of its corners before the source's first corner: varint count; if not 0 a byte `width` and planes as below, of the values themselves |
//! | … | list or 0 | `other_faces` | faces of the source that are not found in this way, ascending: varints source face, material (its index in the mesh's list), corners, then the vertex of each corner |
//! | … | list or 0 | `run_maps` | for a mesh whose faces change: varint size and that many bytes each, a map without `run_maps` |
//! | … | list or 0 | `frame_runs` | varint per frame: 0, the frame has no map; else one more than the number of its run |
//!
//! An array of n values is one byte `width` (1 … 4; an empty array has none) and `width` planes of n bytes,
//! the lowest byte first, of zigzag(value − value before), wrapping 32 bits, the value before the first being
//! 0.

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
use crate::quantize::code::Code;

/// The source map of one mesh with fixed topology.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    /// The number of points of the source mesh.
    pub points: u32,
    /// The number of corners of the source mesh: the sum of its face counts.
    pub corners: u32,
    /// The number of faces of the source mesh.
    pub faces: u32,
    /// The source point of each vertex.
    pub vertex_point: Vec<u32>,
    /// The source face of each triangle.
    pub triangle_face: Vec<u32>,
    /// `true` if the source had no normals, and those in the file were computed.
    pub computed_normals: bool,
    /// For each face that [`crate::record::source_faces::trace_faces`] finds, the place of the source's first
    /// corner in it. Empty: 0 for all.
    pub face_starts: Vec<u32>,
    /// The faces that are stored explicitly, in order.
    pub other_faces: Vec<OtherFace>,
    /// For a mesh whose faces change: maps of frames, which have no `run_maps` themselves …
    pub run_maps: Vec<SourceMap>,
    /// … and for each frame the number of its map plus 1, or 0.
    pub frame_runs: Vec<u32>,
}

impl SourceMap {
    /// Returns the map of a frame of a mesh whose faces change.
    pub fn frame_map(&self, frame: usize) -> Option<&SourceMap> {
        let run = self.frame_runs.get(frame)?.checked_sub(1)?;
        self.run_maps.get(run as usize)
    }
}

/// A face of the source that cannot be reconstructed from its triangles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherFace {
    /// Its number in the source.
    pub face: u32,
    /// Its index in the list of the mesh's materials.
    pub material: u32,
    /// A vertex for each corner, counter-clockwise, starting with the source's first corner.
    pub vertices: Vec<u32>,
}

/// Appends the map to `out` (delta + byte planes; the caller compresses the chunk).
#[cfg(feature = "encode")]
pub fn encode(map: &SourceMap, out: &mut Vec<u8>) {
    let count = |a: &[u32]| u32::try_from(a.len()).expect("fewer than 2^32 vertices and triangles");
    for number in [map.points, map.corners, map.faces, count(&map.vertex_point), count(&map.triangle_face)] {
        put_varint(number, out);
    }
    for array in [&map.vertex_point, &map.triangle_face] {
        encode_array(array, out);
    }
    let faces = map.face_starts.iter().any(|s| *s > 0) || !map.other_faces.is_empty();
    let runs = !map.run_maps.is_empty();
    let flags = u8::from(map.computed_normals) | u8::from(faces) << 1 | u8::from(runs) << 3;
    if flags == 0 {
        return;
    }
    out.push(flags);
    if faces {
        put_varint(count(&map.face_starts), out);
        encode_planes(&map.face_starts, out);
        put_varint(map.other_faces.len() as u32, out);
        for other in &map.other_faces {
            put_varint(other.face, out);
            put_varint(other.material, out);
            put_varint(count(&other.vertices), out);
            other.vertices.iter().for_each(|&v| put_varint(v, out));
        }
    }
    if runs {
        put_varint(map.run_maps.len() as u32, out);
        let mut bytes = Vec::new();
        for run in &map.run_maps {
            bytes.clear();
            encode(run, &mut bytes);
            put_length_prefixed(&bytes, out);
        }
        put_varint(count(&map.frame_runs), out);
        map.frame_runs.iter().for_each(|&run| put_varint(run, out));
    }
}

#[cfg(feature = "encode")]
fn encode_array(array: &[u32], out: &mut Vec<u8>) {
    let mut before = 0;
    let deltas: Vec<u32> =
        array.iter().map(|&v| v.wrapping_sub(std::mem::replace(&mut before, v)).zigzag()).collect();
    encode_planes(&deltas, out);
}

#[cfg(feature = "encode")]
fn encode_planes(values: &[u32], out: &mut Vec<u8>) {
    let Some(largest) = values.iter().max() else {
        return;
    };
    let width = (u32::BITS - largest.leading_zeros()).div_ceil(8).max(1);
    out.push(width as u8);
    for plane in 0..width {
        out.extend(values.iter().map(|d| (d >> (8 * plane)) as u8));
    }
}

/// Decodes the map at the start of `bytes`; returns the number of bytes used, which for a complete map are
/// all. Allocates at most 40 bytes per byte of the input: it is decoded once, so it returns owned arrays
/// instead of filling the caller's.
pub fn decode(bytes: &[u8]) -> Result<(SourceMap, usize), Corrupt> {
    decode_map(bytes, true)
}

/// Decodes one map; `whole`: it may have runs.
fn decode_map(bytes: &[u8], whole: bool) -> Result<(SourceMap, usize), Corrupt> {
    let mut c = Cursor::new(bytes);
    let (points, corners, faces) = (c.varint()?, c.varint()?, c.varint()?);
    let (vertices, triangles) = (c.varint()? as usize, c.varint()? as usize);
    let mut map = SourceMap {
        points,
        corners,
        faces,
        vertex_point: decode_array(&mut c, vertices, |v| v < points)?,
        triangle_face: decode_array(&mut c, triangles, |v| v < faces)?,
        ..SourceMap::default()
    };
    if c.left() == 0 {
        return Ok((map, c.used()));
    }
    let flags = c.u8()?;
    if flags == 0 || flags & !0b1011 != 0 {
        return Err(Corrupt("source map: unknown flags"));
    }
    map.computed_normals = flags & 1 != 0;
    if flags & 2 != 0 {
        let starts = c.varint()? as usize;
        if starts > triangles {
            return Err(Corrupt("source map: more faces than triangles"));
        }
        map.face_starts = decode_planes(&mut c, starts)?;
        map.other_faces = decode_others(&mut c, faces, vertices)?;
    }
    if flags & 8 != 0 {
        if !whole {
            return Err(Corrupt("source map: runs of a run"));
        }
        for _ in 0..c.varint()? {
            let size = c.varint()? as usize;
            let bytes = c.bytes(size)?;
            let (run, used) = decode_map(bytes, false)?;
            if used != size {
                return Err(Corrupt("source map: bytes behind a run"));
            }
            map.run_maps.push(run);
        }
        let frames = c.varint()? as usize;
        if frames > c.left() {
            return Err(crate::bytes::UNEXPECTED_END);
        }
        for _ in 0..frames {
            let run = c.varint()?;
            if run as usize > map.run_maps.len() {
                return Err(Corrupt("source map: a frame of a run that is not there"));
            }
            map.frame_runs.push(run);
        }
    }
    Ok((map, c.used()))
}

fn decode_others(c: &mut Cursor<'_>, faces: u32, vertices: usize) -> Result<Vec<OtherFace>, Corrupt> {
    let count = c.varint()? as usize;
    let mut others: Vec<OtherFace> = Vec::new();
    for _ in 0..count {
        let (face, material, corners) = (c.varint()?, c.varint()?, c.varint()? as usize);
        let ascends = others.last().is_none_or(|last| face > last.face);
        if face >= faces || !ascends || corners > c.left() {
            return Err(Corrupt(
                "source map: a face that is not there or out of order, or corners that end early",
            ));
        }
        let corners = (0..corners).map(|_| match c.varint()? {
            v if (v as usize) < vertices => Ok(v),
            _ => Err(Corrupt("source map: number out of range")),
        });
        others.push(OtherFace { face, material, vertices: corners.collect::<Result<_, _>>()? });
    }
    Ok(others)
}

fn decode_array(
    c: &mut Cursor<'_>,
    count: usize,
    allowed: impl Fn(u32) -> bool,
) -> Result<Vec<u32>, Corrupt> {
    let mut array = decode_planes(c, count)?;
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

fn decode_planes(c: &mut Cursor<'_>, count: usize) -> Result<Vec<u32>, Corrupt> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let width = usize::from(c.u8()?);
    if !(1..=4).contains(&width) {
        return Err(Corrupt("source map: width out of range"));
    }
    let planes = c.bytes(count.checked_mul(width).ok_or(crate::bytes::UNEXPECTED_END)?)?;
    let mut array = vec![0u32; count];
    for (p, plane) in planes.chunks_exact(count).enumerate() {
        for (value, &byte) in array.iter_mut().zip(plane) {
            *value |= u32::from(byte) << (8 * p);
        }
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
        let (back, used) = decode(&bytes).unwrap();
        assert_eq!((&back, used), (map, bytes.len()));
        let plain = SourceMap {
            computed_normals: false,
            face_starts: Vec::new(),
            other_faces: Vec::new(),
            run_maps: Vec::new(),
            frame_runs: Vec::new(),
            ..map.clone()
        };
        let mut short = Vec::new();
        encode(&plain, &mut short);
        for cut in 0..bytes.len() {
            // Without its optional parts it is a valid map as well.
            assert_eq!(decode(&bytes[..cut]).is_ok(), cut == short.len(), "{cut}");
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
            triangle_face: vec![0],
            ..SourceMap::default()
        };
        let golden = [3, 0xAC, 2, 1, 3, 1, 1, 0, 4, 1, 1, 0];
        assert_eq!(round_trip(&map), golden);
        // Parts without information are left out.
        let silent = SourceMap { face_starts: vec![0], ..map.clone() };
        let mut bytes = Vec::new();
        encode(&silent, &mut bytes);
        assert_eq!(bytes, golden);
        let more = SourceMap {
            computed_normals: true,
            face_starts: vec![2],
            other_faces: vec![OtherFace { face: 0, material: 1, vertices: vec![2, 0] }],
            ..map
        };
        let tail = [3, 1, 1, 2, 1, 0, 1, 2, 2, 0];
        assert_eq!(round_trip(&more)[golden.len()..], tail);
        let changing = SourceMap {
            run_maps: vec![SourceMap::default(), more.clone()],
            frame_runs: vec![0, 2, 2, 1],
            ..SourceMap::default()
        };
        let bytes = round_trip(&changing);
        assert_eq!(bytes[..13], [0, 0, 0, 0, 0, 8, 2, 5, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[bytes.len() - 5..], [4, 0, 2, 2, 1]);
        assert_eq!(changing.frame_map(1), Some(&more));
        assert_eq!(changing.frame_map(0), None);
        // Bit 2 is unused, and runs have no runs.
        assert!(decode(&[0, 0, 0, 0, 0, 4]).is_err());
        let deep = SourceMap { run_maps: vec![changing], frame_runs: vec![1], ..SourceMap::default() };
        let mut bytes = Vec::new();
        encode(&deep, &mut bytes);
        assert!(decode(&bytes).is_err());
    }

    #[test]
    fn damage() {
        let map = SourceMap {
            points: 40,
            corners: 60,
            faces: 20,
            vertex_point: (0..40).collect(),
            triangle_face: (0..20).collect(),
            computed_normals: true,
            face_starts: (0..20).map(|f| f % 3).collect(),
            other_faces: vec![OtherFace { face: 7, material: 0, vertices: vec![1, 39] }],
            ..SourceMap::default()
        };
        let bytes = round_trip(&map);
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut bad = bytes.clone();
                bad[at] = value;
                if let Ok((map, _)) = decode(&bad) {
                    assert!(map.vertex_point.iter().all(|&p| p < map.points));
                    let mut vertices = map.other_faces.iter().flat_map(|o| &o.vertices);
                    assert!(vertices.all(|&v| (v as usize) < map.vertex_point.len()));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_map_comes_back(points in proptest::collection::vec(0u32..1 << 30, 0..40), faces in proptest::collection::vec(0u32..u32::MAX, 0..40)) {
            round_trip(&SourceMap {
                points: 1 << 30,
                corners: u32::MAX,
                faces: u32::MAX,
                vertex_point: points,
                triangle_face: faces,
                ..SourceMap::default()
            });
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }
}
