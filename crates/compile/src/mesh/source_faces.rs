//! The starts of the source's faces in the source map, and the faces that their triangles do not determine:
//! `extract` needs both to restore the exact polygons.

use meshreel_codec::record::source_faces::trace_faces;
use meshreel_codec::record::source_map::{OtherFace, SourceMap};
use meshreel_process::faces::Faces;

/// Limit for the bytes of such faces, per vertex and index: beyond it, polygons are restored only as far as
/// triangles determine them.
const MAX_BYTES_PER_ELEMENT: usize = 4;

/// The vertices at the corners of the source's faces.
pub struct FaceCorners<'a> {
    /// By corner of a usable face, its vertex before triangles were put into order.
    pub vertex: &'a [u32],
    /// By vertex of the file, the one that it was before ordering.
    pub unordered_vertex: &'a [u32],
    /// By face, its material.
    pub material: &'a [u32],
}

/// Returns `starts` and `others` for the source map of a mesh whose vertices and triangles are known.
/// Parameters: the map and its triangles, the usable faces, counts and points of all faces; `flip`: `true` if
/// the faces are wound opposite to the triangles.
pub fn find_source_faces(
    (map, indices_now): (&SourceMap, &[u32]),
    faces: &Faces,
    (counts, indices): (&[i32], &[i32]),
    flip: bool,
    corners: FaceCorners<'_>,
) -> (Vec<u32>, Vec<OtherFace>) {
    let found = trace_faces(indices_now, map);
    let mut of_point = vec![u32::MAX; faces.points];
    for (v, &point) in (0..).zip(&map.vertex_point) {
        of_point[point as usize] = v;
    }
    let splits = corners.unordered_vertex.iter().max().map_or(0, |v| *v as usize + 1);
    let mut now = vec![0; splits];
    for (v, &before) in (0..).zip(corners.unordered_vertex) {
        now[before as usize] = v;
    }
    let mut usable = faces.list.iter().peekable();
    let (mut starts, mut others) = (Vec::with_capacity(found.counts.len()), Vec::new());
    let (mut next, mut at, mut first) = (0, 0, 0usize);
    let mut bytes = 0;
    for (number, &count) in (0u32..).zip(counts) {
        let count = count.max(0) as usize;
        let range = first..first.saturating_add(count);
        let Some(points) = indices.get(range.clone()) else {
            break;
        };
        first = range.end;
        let is_usable = usable.next_if(|face| face.number == number).is_some();
        // The polygons that its triangles form: a single one, if they match this face.
        let own = next;
        let begin = at;
        while found.faces.get(next) == Some(&number) {
            at += found.counts[next] as usize;
            next += 1;
        }
        let order = |k: usize| match flip {
            true => (count - k) % count.max(1),
            false => k,
        };
        let wanted = |k: usize| points[order(k)];
        let traced = &found.vertices[begin..at];
        let point = |v: u32| map.vertex_point[v as usize] as i32;
        if is_usable && next == own + 1 && traced.len() == count {
            let start = traced.iter().position(|&v| point(v) == wanted(0));
            let same = |&s: &usize| (0..count).all(|k| point(traced[(s + k) % count]) == wanted(k));
            if let Some(start) = start.filter(same) {
                starts.push(start as u32);
                continue;
            }
        }
        starts.extend((own..next).map(|_| 0));
        let of_corner = |k: usize| match is_usable {
            true => now.get(corners.vertex[range.start + order(k)] as usize).copied(),
            false => (of_point.get(usize::try_from(wanted(k)).ok()?).copied()).filter(|v| *v != u32::MAX),
        };
        let vertices: Option<Vec<u32>> = (0..count).map(of_corner).collect();
        // Faces that refer to missing points cannot be restored.
        if let Some(vertices) = vertices {
            bytes += 15 + 5 * count;
            others.push(OtherFace {
                face: number,
                material: corners.material.get(number as usize).copied().unwrap_or(0),
                vertices,
            });
        }
    }
    if bytes > MAX_BYTES_PER_ELEMENT * (map.vertex_point.len() + indices_now.len()) {
        others.clear();
    }
    (starts, others)
}
