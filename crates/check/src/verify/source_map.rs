//! Checks the part of a source map that only extraction needs: the first corners of faces, faces without
//! triangles, and whether there were normals; for a mesh whose faces change, all of it, frame by frame.
//! Drawing does not depend on it, the output of `extract` does.

use crate::verify::channels::Normals;
use crate::verify::plan::MeshPair;
use meshreel::SourceMap;
use meshreel::raw::record::source_faces::source_faces;
use meshreel_scene::Winding;
use meshreel_scene::sample::Faces;

/// Faces of the source without triangles may be left out (PROMISE.md) if they take more than this number of
/// bytes per vertex and index; then the number of bytes of each face and corner.
const MAX_FACE_BYTES_PER_INDEX: usize = 4;
const FACE_BYTES: usize = 15;
const CORNER_BYTES: usize = 5;

/// Compares the faces that `extract` returns with the source's. `flip`: triangles have the opposite
/// orientation. Returns what is wrong, if anything.
pub(crate) fn faces(
    map: &SourceMap,
    indices: &[u32],
    source: &Faces,
    winding: Winding,
    flip: bool,
) -> Option<String> {
    let found = source_faces(indices, map);
    let turned = (winding == Winding::Clockwise) != flip;
    // Start of each entry's corners; entries are sorted by face number.
    let mut at = 0;
    let entries: Vec<(u32, usize, usize)> = (found.faces.iter().zip(&found.counts))
        .map(|(&face, &count)| {
            at += count as usize;
            (face, at - count as usize, at)
        })
        .collect();
    let point = |v: u32| map.vertex_point.get(v as usize).map(|p| i64::from(*p));
    let mut entries = entries.iter().peekable();
    let (mut first, mut wrong, mut bytes, mut worst) = (0usize, 0usize, 0usize, None);
    for (number, &count) in (0u32..).zip(&source.counts) {
        let count = usize::try_from(count).unwrap_or(0);
        let Some(points) = source.indices.get(first..first.saturating_add(count)) else {
            break;
        };
        first += count;
        let mut own = Vec::new();
        while let Some((_, begin, end)) = entries.next_if(|entry| entry.0 == number) {
            own.push(&found.vertices[*begin..*end]);
        }
        let there = |p: &i32| usize::try_from(*p).is_ok_and(|p| p < map.points as usize);
        // Faces at points that have no vertex, or do not exist, are lost.
        if !points.iter().all(there) {
            continue;
        }
        let wanted = |k: usize| match turned {
            true => points[(count - k) % count.max(1)],
            false => points[k],
        };
        let is = |vertices: &[u32]| {
            vertices.len() == count && (0..count).all(|k| point(vertices[k]) == Some(i64::from(wanted(k))))
        };
        if !matches!(&own[..], [one] if is(one)) {
            wrong += 1;
            bytes += FACE_BYTES + CORNER_BYTES * count;
            worst.get_or_insert(number);
        }
    }
    let room = MAX_FACE_BYTES_PER_INDEX * (map.vertex_point.len() + indices.len());
    let too_many = map.other_faces.is_empty() && bytes > room;
    (wrong > 0 && !too_many).then(|| {
        let number = worst.unwrap_or_default();
        format!("{wrong} faces do not come back as they are in the source, face {number} first")
    })
}

/// Compares what the map records about the source's normals with the source. Returns what is wrong, if
/// anything.
pub(crate) fn normals(map: &SourceMap, unit: &MeshPair) -> Option<String> {
    let made = unit.channels.normals == Some(Normals::Computed);
    (map.computed_normals != made)
        .then(|| "says of the source's normals what is not so: they would come back wrongly".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pentagon and a triangle on six points, and optionally a face of two corners between them.
    fn check(starts: &[u32], line: Option<[u32; 2]>, winding: Winding) -> Option<String> {
        let mut map = SourceMap {
            points: 6,
            corners: 10,
            faces: 3,
            vertex_point: (0..6).collect(),
            triangle_face: vec![0, 0, 0, 2],
            face_starts: starts.to_vec(),
            ..SourceMap::default()
        };
        if let Some(vertices) = line {
            map.other_faces.resize(1, Default::default());
            map.other_faces[0].face = 1;
            map.other_faces[0].vertices = vertices.to_vec();
        }
        let indices = [0, 1, 2, 0, 2, 3, 0, 3, 4, 3, 4, 5];
        let source = Faces { counts: vec![5, 2, 3], indices: vec![2, 3, 4, 0, 1, 0, 5, 4, 5, 3] };
        faces(&map, &indices, &source, winding, false)
    }

    #[test]
    fn first_corners_and_faces_without_triangles() {
        let file = Winding::CounterClockwise;
        assert_eq!(check(&[2, 1], Some([0, 5]), file), None);
        for (starts, line) in
            [([0, 1], Some([0, 5])), ([2, 0], Some([0, 5])), ([2, 1], Some([5, 0])), ([2, 1], None)]
        {
            let said = check(&starts, line, file);
            assert!(said.is_some_and(|s| s.starts_with("1 faces")));
        }
        // Turned over, nothing fits.
        assert!(check(&[2, 1], Some([0, 5]), Winding::Clockwise).is_some());
    }
}
