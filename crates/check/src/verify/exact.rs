//! Compares a mesh with a source map: every vertex knows its point and every triangle its face, so everything
//! is compared one to one.

use crate::verify::polygons::{NO_INDEX, Polygon, Polygons};
use crate::verify::report::Failures;
use crate::verify::rings::{Rings, ring};
use meshreel::SourceMap;
use meshreel::raw::record::MeshRecord;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// The correspondence of vertices and source that follows from source map and faces alone; the same in all
/// frames.
pub(crate) struct MapCorrespondence {
    /// Point of the source for each vertex.
    pub vertex_point: Vec<u32>,
    pub polygons: Polygons,
    /// Smoothing group of each corner, and their number, if normals are computed.
    pub groups: (Vec<u32>, usize),
    /// Vertices with the corners and faces whose attributes they must have.
    pub pairs: Vec<CornerPair>,
    /// A subset of `pairs` for computed normals, one for each vertex and smoothing group: corners of one
    /// group have one normal.
    pub smooth_pairs: Vec<CornerPair>,
    /// Possible pairs of each vertex whose face names a point twice, so that it may stand for either corner.
    pub alternative_pairs: Vec<Vec<CornerPair>>,
    /// Vertices whose position must be bit-equal to an earlier one's.
    pub weld: Vec<(u32, u32)>,
}

/// A vertex and the corner of a face that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CornerPair {
    pub vertex: u32,
    pub corner: u32,
    pub face: u32,
}

/// The source's side of a source map.
pub(crate) struct SourceFaces<'a> {
    pub polygons: Polygons,
    /// Corners of all faces, usable or not.
    pub corners: usize,
    /// Points that are bit-equal to an earlier one in all frames, and that one.
    pub weld: &'a [(u32, u32)],
    /// Triangles must have the opposite orientation: vertices are in mirrored world space.
    pub flip: bool,
    /// Named sets of faces.
    pub sets: &'a [(String, Vec<i32>)],
}

/// Checks the map against the source's faces. `indices`: the file's triangles. `None` if the map is so wrong
/// that nothing more can be compared.
pub(crate) fn build(
    map: SourceMap,
    indices: &[u32],
    source: SourceFaces<'_>,
    fail: &mut dyn FnMut(String),
) -> Option<MapCorrespondence> {
    let SourceFaces { polygons, corners, weld, flip, sets } = source;
    let sizes = [
        ("points", map.points as usize, polygons.points),
        ("corners", map.corners as usize, corners),
        ("faces", map.faces as usize, polygons.total),
    ];
    for (what, stored, source) in sizes {
        if stored != source {
            fail(format!("the file is made from {stored} {what}, the source has {source}"));
            return None;
        }
    }
    if map.vertex_point.iter().any(|&p| p as usize >= polygons.points)
        || indices.iter().any(|&v| v as usize >= map.vertex_point.len())
        || indices.len() != 3 * map.triangle_face.len()
    {
        fail("its source map does not fit its vertices and triangles".into());
        return None;
    }
    let mut missing = vec![true; polygons.points];
    map.vertex_point.iter().for_each(|&p| missing[p as usize] = false);
    let count = missing.iter().filter(|m| **m).count();
    if count > 0 {
        let first = missing.iter().position(|m| *m).unwrap_or(0);
        fail(format!("{count} points of the source have no vertex, point {first} first"));
    }
    let (pairs, either) = check_faces(&map, indices, &polygons, flip, sets, fail);
    Some(MapCorrespondence {
        weld: vertex_weld(&map.vertex_point, weld),
        vertex_point: map.vertex_point,
        polygons,
        groups: (Vec::new(), 0),
        pairs,
        smooth_pairs: Vec::new(),
        alternative_pairs: either,
    })
}

/// The largest number of groups of one vertex that are searched for that of another corner.
const MAX_GROUPS: usize = 16;

impl MapCorrespondence {
    /// Sets the smoothing group of each corner, and the number of groups.
    pub fn set_groups(&mut self, groups: (Vec<u32>, usize)) {
        self.groups = groups;
        let group = |pair: &CornerPair| self.groups.0[pair.corner as usize];
        for pair in &self.pairs {
            let own = self.smooth_pairs.iter().rev().take_while(|other| other.vertex == pair.vertex);
            if !own.take(MAX_GROUPS).any(|other| group(other) == group(pair)) {
                self.smooth_pairs.push(*pair);
            }
        }
    }
}

/// Checks that each face has its n − 2 triangles, and that their edges add up to the face's own, in the right
/// orientation. A face that repeats an earlier one of its set may have none; then the vertices of that one
/// stand for its corners, too.
fn check_faces(
    map: &SourceMap,
    indices: &[u32],
    polygons: &Polygons,
    flip: bool,
    sets: &[(String, Vec<i32>)],
    fail: &mut dyn FnMut(String),
) -> (Vec<CornerPair>, Vec<Vec<CornerPair>>) {
    let mut by_face: Vec<u32> = (0..map.triangle_face.len() as u32).collect();
    by_face.sort_by_key(|&t| map.triangle_face[t as usize]);
    let face_of = |t: u32| map.triangle_face[t as usize];
    let turn = if flip { -polygons.turn } else { polygons.turn };
    let (mut wrong, mut first) = (0u64, None);
    let mut pairs = Vec::with_capacity(indices.len());
    let mut either: BTreeSet<Vec<CornerPair>> = BTreeSet::new();
    let mut at = 0;
    let mut known = 0;
    let mut repeats = RepeatedFaces::new(polygons, sets);
    let mut edges: Vec<(u32, u32, i32)> = Vec::new();
    for (place, face) in polygons.faces.iter().enumerate() {
        // Skips triangles of faces that are unusable or do not exist.
        while by_face.get(at).is_some_and(|&t| face_of(t) < face.number) {
            at += 1;
        }
        let begin = at;
        while by_face.get(at).is_some_and(|&t| face_of(t) == face.number) {
            at += 1;
        }
        let triangles = &by_face[begin..at];
        known += triangles.len();
        if triangles.is_empty() && repeats.stand_in(place, &mut pairs) {
            continue;
        }
        let first_pair = pairs.len();
        let corner = CornerFinder::new(polygons, face);
        let mut good = triangles.len() == face.count as usize - 2;
        edges.clear();
        for &t in triangles {
            let v: [u32; 3] = std::array::from_fn(|k| indices[3 * t as usize + k]);
            let p = v.map(|v| map.vertex_point[v as usize]);
            for k in 0..3 {
                edges.push(directed(p[k], p[(k + 1) % 3], 1));
                let pair = |corner| CornerPair { vertex: v[k], corner, face: face.number };
                match corner.find(p[k]) {
                    CornerMatch::One(corner) => pairs.push(pair(corner)),
                    CornerMatch::Several(corners) => {
                        either.insert(corners.iter().map(|&c| pair(c)).collect());
                    }
                    CornerMatch::None => good = false,
                }
            }
        }
        let points = &polygons.point[face.corners()];
        for (k, &p) in points.iter().enumerate() {
            edges.push(directed(p, points[(k + 1) % points.len()], -i32::from(turn)));
        }
        edges.sort_unstable();
        good &= edges
            .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
            .all(|same| same[0].0 == same[0].1 || same.iter().map(|e| e.2).sum::<i32>() == 0);
        if good {
            repeats.record_present(place, first_pair..pairs.len());
        } else {
            wrong += 1;
            first = first.or(Some((face.number, triangles.len(), face.count)));
        }
    }
    if let Some((number, triangles, count)) = first {
        fail(format!(
            "{wrong} faces are not what the source has; first face {number} with {count} corners, which has {triangles} triangles"
        ));
    }
    if known < map.triangle_face.len() {
        let extra = map.triangle_face.len() - known;
        fail(format!("{extra} triangles belong to no usable face of the source"));
    }
    pairs.sort_unstable();
    pairs.dedup();
    (pairs, either.into_iter().collect())
}

/// Number of a usable face, and the range of its pairs.
type FacePairs = (usize, Range<usize>);

/// The faces that the file contains, to find those that others repeat.
struct RepeatedFaces<'a> {
    polygons: &'a Polygons,
    rings: Rings,
    /// Name of the set of each face that is in one, if any face repeats another.
    set: HashMap<u32, &'a str>,
    /// For each ring and set, the first face, if it is in the file.
    first: HashMap<(u32, &'a str), Option<FacePairs>>,
}

impl<'a> RepeatedFaces<'a> {
    fn new(polygons: &'a Polygons, sets: &'a [(String, Vec<i32>)]) -> RepeatedFaces<'a> {
        let rings = Rings::new(polygons);
        let mut set: HashMap<u32, &str> = HashMap::new();
        if rings.faces.iter().any(|faces| faces.len() > 1) {
            for (name, members) in sets {
                for &face in members.iter().filter(|face| **face >= 0) {
                    set.entry(face as u32).or_insert(name);
                }
            }
        }
        RepeatedFaces { polygons, rings, set, first: HashMap::new() }
    }

    /// Returns ring and set of a face that shares its points with another face.
    fn key(&self, place: usize) -> Option<(u32, &'a str)> {
        let ring = self.rings.ring_of_face[place];
        let number = self.polygons.faces[place].number;
        let set = self.set.get(&number).copied().unwrap_or("");
        (ring != NO_INDEX).then_some((ring, set))
    }

    /// Records that a face has its triangles.
    fn record_present(&mut self, place: usize, pairs: Range<usize>) {
        if let Some(key) = self.key(place) {
            self.first.entry(key).or_insert(Some((place, pairs)));
        }
    }

    /// Adds pairs for a face without triangles: those of the first face of its set on the same points in the
    /// same order. `false` if it is that face itself, or that one has no triangles either.
    fn stand_in(&mut self, place: usize, pairs: &mut Vec<CornerPair>) -> bool {
        let Some(key) = self.key(place) else {
            return false;
        };
        let Some((first, range)) = self.first.entry(key).or_insert(None).clone() else {
            return false;
        };
        let face = &self.polygons.faces[place];
        let first = &self.polygons.faces[first];
        let start = |face| ring(self.polygons, face).map_or(0, |(_, start)| start as u32);
        let turn = start(face) + face.count - start(first);
        for at in range {
            let CornerPair { vertex, corner, .. } = pairs[at];
            pairs.push(CornerPair {
                vertex,
                corner: face.first + (corner - first.first + turn) % face.count,
                face: face.number,
            });
        }
        true
    }
}

fn directed(a: u32, b: u32, sign: i32) -> (u32, u32, i32) {
    if a <= b { (a, b, sign) } else { (b, a, -sign) }
}

/// The largest number of corners of one face at one point that are tried.
const MAX_SEARCHED_CORNERS: usize = 64;

/// Finds the corner of a face at a point.
struct CornerFinder<'a> {
    polygons: &'a Polygons,
    face: &'a Polygon,
    /// Corners by their points, for faces that are too large to search, or that name a point twice.
    by_point: Option<HashMap<u32, Vec<u32>>>,
}

/// The corners of a face at a point.
enum CornerMatch<'f> {
    None,
    One(u32),
    Several(&'f [u32]),
}

impl<'a> CornerFinder<'a> {
    fn new(polygons: &'a Polygons, face: &'a Polygon) -> CornerFinder<'a> {
        let points = &polygons.point[face.corners()];
        let twice = || (1..points.len()).any(|k| points[..k].contains(&points[k]));
        let by_point = (face.count > 32 || twice()).then(|| {
            let mut corners: HashMap<u32, Vec<u32>> = HashMap::new();
            for (c, &p) in face.corners().zip(points) {
                corners.entry(p).or_default().push(c as u32);
            }
            corners
        });
        CornerFinder { polygons, face, by_point }
    }

    /// Finds the corner at `point`; several if the face names the point more than once.
    fn find(&self, point: u32) -> CornerMatch<'_> {
        let range = self.face.corners();
        match &self.by_point {
            Some(corners) => match corners.get(&point).map(Vec::as_slice) {
                None | Some([]) => CornerMatch::None,
                Some(&[corner]) => CornerMatch::One(corner),
                // With this many any may be right, so nothing is compared.
                Some(several) if several.len() > MAX_SEARCHED_CORNERS => CornerMatch::Several(&[]),
                Some(several) => CornerMatch::Several(several),
            },
            None => range
                .into_iter()
                .find(|&c| self.polygons.point[c] == point)
                .map_or(CornerMatch::None, |c| CornerMatch::One(c as u32)),
        }
    }
}

/// Returns pairs of vertices of one point, or of points that are bit-equal in all frames.
fn vertex_weld(vertex_point: &[u32], weld: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let points = vertex_point.iter().max().map_or(0, |&p| p as usize + 1);
    let mut class: Vec<u32> = (0..points as u32).collect();
    for &(point, earlier) in weld.iter().filter(|(point, _)| (*point as usize) < points) {
        class[point as usize] = earlier;
    }
    let mut first = vec![NO_INDEX; points];
    let mut out = Vec::new();
    for (v, &point) in vertex_point.iter().enumerate() {
        let slot = &mut first[class[point as usize] as usize];
        match *slot {
            NO_INDEX => *slot = v as u32,
            earlier => out.push((v as u32, earlier)),
        }
    }
    out
}

/// Checks materials against the source's face sets: the first set that contains a face wins; other faces have
/// no name.
pub(crate) fn check_materials(
    record: &MeshRecord,
    triangle_face: &[u32],
    sets: &[(String, Vec<i32>)],
    faces: usize,
    path: &str,
    failures: &mut Failures,
) {
    let mut set_of = vec![NO_INDEX; faces];
    for (number, (_, members)) in sets.iter().enumerate() {
        for &face in members {
            if let Some(slot) = usize::try_from(face).ok().and_then(|f| set_of.get_mut(f))
                && *slot == NO_INDEX
            {
                *slot = number as u32;
            }
        }
    }
    let (mut wrong, mut seen) = (0u64, 0usize);
    let mut example = None;
    for material in &record.materials {
        let (first, count) = (material.first as usize / 3, material.count as usize / 3);
        for t in first..first + count {
            seen += 1;
            let set = triangle_face.get(t).and_then(|&f| set_of.get(f as usize)).copied();
            let name = set.and_then(|s| sets.get(s as usize)).map_or("", |s| s.0.as_str());
            if name != material.name {
                wrong += 1;
                example = example.or(Some((material.name.clone(), name.to_owned())));
            }
        }
        // Sets may share a name; the unnamed rest may have any id.
        let mut ids = sets
            .iter()
            .enumerate()
            .filter(|(_, set)| set.0 == material.name)
            .map(|(number, set)| first_number(&set.0).unwrap_or(number as u32))
            .peekable();
        if !material.name.is_empty()
            && let Some(id) = ids.peek().copied()
            && ids.all(|id| id != material.id)
        {
            failures.add(path, None, || {
                format!("material {:?} has id {}, {id} is right", material.name, material.id)
            });
        }
    }
    if let Some((has, right)) = example {
        failures.add(path, None, || {
            format!("{wrong} triangles have the wrong material, such as {has:?} instead of {right:?}")
        });
    }
    if seen != triangle_face.len() {
        failures
            .add(path, None, || format!("its materials cover {seen} triangles of {}", triangle_face.len()));
    }
}

/// Returns the first decimal number in a name.
fn first_number(name: &str) -> Option<u32> {
    let digits = name.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty())?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::Winding;
    use meshreel_scene::sample::Faces;

    /// A pentagon and a triangle that share points 1 and 2, clockwise.
    fn pentagon(flip: bool) -> SourceFaces<'static> {
        let raw = Faces { counts: vec![5, 3], indices: vec![0, 1, 2, 3, 4, 2, 1, 5] };
        let polygons = Polygons::new(&raw, 6, Winding::Clockwise);
        SourceFaces { polygons, corners: 8, weld: &[(4, 0)], flip, sets: &[] }
    }

    fn map() -> (SourceMap, Vec<u32>) {
        let map = SourceMap {
            points: 6,
            corners: 8,
            faces: 2,
            vertex_point: vec![0, 1, 2, 3, 4, 5, 1],
            triangle_face: vec![0, 0, 0, 1],
            ..SourceMap::default()
        };
        (map, vec![0, 2, 1, 0, 3, 2, 0, 4, 3, 6, 2, 5])
    }

    fn problems(map: SourceMap, indices: &[u32], flip: bool) -> Vec<String> {
        let mut list = Vec::new();
        let mut fail = |what| list.push(what);
        build(map, indices, pentagon(flip), &mut fail);
        list
    }

    #[test]
    fn a_right_mesh_passes() {
        let (good, indices) = map();
        let mut fail = |what| panic!("{what}");
        let exact = build(good, &indices, pentagon(false), &mut fail).unwrap();
        // Vertex 2 stands for two corners; points 4 and 0 are welded, and so are the two vertices of point 1.
        assert_eq!(exact.pairs.len(), 8);
        assert_eq!(exact.weld, [(4, 0), (6, 1)]);
    }

    #[test]
    fn a_vertex_stands_for_any_of_two_corners_at_its_point() {
        // The second face names point 0 twice, and its vertex there is one of the first.
        let raw = Faces { counts: vec![3, 3], indices: vec![0, 1, 2, 0, 0, 1] };
        let map = SourceMap {
            points: 3,
            corners: 6,
            faces: 2,
            vertex_point: vec![0, 1, 2],
            triangle_face: vec![0, 1],
            ..SourceMap::default()
        };
        let polygons = Polygons::new(&raw, 3, Winding::CounterClockwise);
        let mut fail = |what: String| panic!("{what}");
        let indices = [0, 1, 2, 0, 0, 1];
        let exact = build(
            map,
            &indices,
            SourceFaces { polygons, corners: 6, weld: &[], flip: false, sets: &[] },
            &mut fail,
        )
        .unwrap();
        let corners: Vec<Vec<u32>> =
            (exact.alternative_pairs.iter()).map(|list| list.iter().map(|p| p.corner).collect()).collect();
        assert_eq!(corners, [[3, 4]]);
        assert_eq!(exact.pairs.len(), 4);
    }

    #[test]
    fn a_face_that_repeats_another_may_be_left_out() {
        // A triangle, its other side, the triangle turned in another set, the triangle turned in its own.
        let raw = Faces { counts: vec![3; 4], indices: vec![0, 1, 2, 2, 1, 0, 1, 2, 0, 2, 0, 1] };
        let polygons = || Polygons::new(&raw, 3, Winding::CounterClockwise);
        let sets = [("a".to_string(), vec![0, 1, 3]), ("b".to_string(), vec![2])];
        let run = |faces: &[u32]| {
            let map = SourceMap {
                points: 3,
                corners: 12,
                faces: 4,
                vertex_point: vec![0, 1, 2],
                triangle_face: faces.to_vec(),
                ..SourceMap::default()
            };
            let of = |f: &u32| raw.indices[3 * *f as usize..][..3].iter().map(|&p| p as u32);
            let indices: Vec<u32> = faces.iter().flat_map(of).collect();
            let mut list = Vec::new();
            let mut fail = |what: String| list.push(what);
            let source =
                SourceFaces { polygons: polygons(), corners: 12, weld: &[], flip: false, sets: &sets };
            let exact = build(map, &indices, source, &mut fail);
            (list, exact.unwrap().pairs)
        };
        let (list, pairs) = run(&[0, 1, 2]);
        assert!(list.is_empty(), "{list:?}");
        let of_last = |p: &&CornerPair| p.face == 3;
        let last: Vec<(u32, u32)> = pairs.iter().filter(of_last).map(|p| (p.vertex, p.corner)).collect();
        assert_eq!(last, [(0, 10), (1, 11), (2, 9)]);
        // All may be there. The other side, the face of another set and the first of a set must be.
        assert!(run(&[0, 1, 2, 3]).0.is_empty());
        for (faces, first) in [(&[0, 2, 3], 1), (&[0, 1, 3], 2), (&[1, 2, 3], 0)] {
            let (list, _) = run(faces);
            assert!(list[0].contains(&format!("first face {first}")), "{list:?}");
        }
    }

    #[test]
    fn wrong_faces_are_found() {
        let (good, indices) = map();
        assert!(problems(good.clone(), &indices, true)[0].contains("2 faces"));
        let mut turned = indices.clone();
        turned.swap(9, 10);
        assert!(problems(good.clone(), &turned, false)[0].contains("first face 1"));
        let mut other = indices.clone();
        other[1] = 3;
        assert!(problems(good.clone(), &other, false)[0].contains("first face 0"));
        let mut missing = good.clone();
        missing.triangle_face.remove(2);
        let mut fewer = indices.clone();
        fewer.drain(6..9);
        assert!(problems(missing, &fewer, false)[0].contains("has 2 triangles"));
        let mut strange = good.clone();
        strange.triangle_face[3] = 9;
        assert!(problems(strange, &indices, false)[1].contains("no usable face"));
        let mut fewer_points = good.clone();
        fewer_points.vertex_point[5] = 4;
        assert!(problems(fewer_points, &indices, false)[0].contains("point 5"));
        let mut wild = good.clone();
        wild.vertex_point[5] = 400;
        assert_eq!(problems(wild, &indices, false).len(), 1);
        let mut sizes = good;
        sizes.faces = 3;
        assert!(problems(sizes, &indices, false)[0].contains("3 faces, the source has 2"));
    }
}
