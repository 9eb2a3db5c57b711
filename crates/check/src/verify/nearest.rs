//! Compares a mesh without a source map, or with changing faces: vertices are matched with the nearest
//! points, both ways, frame by frame. If several points are within the tolerance, any of them will do: ties
//! never fail.

use crate::verify::kd_tree::KdTree;
use crate::verify::polygons::{NO_INDEX, Polygons};
use crate::verify::report::beyond;
use crate::verify::rings::Rings;
use std::collections::HashMap;

/// The largest number of points tried for one vertex. If more are within the tolerance, the match is
/// undecided.
const MAX_CANDIDATES: usize = 256;

/// The largest number of points tried for each of the three vertices of a triangle.
const MAX_FACE_CANDIDATES: usize = 32;

/// The largest number of corners tried for one vertex or triangle; beyond that the match is undecided, or the
/// search result is cached.
const MAX_CORNERS: usize = 4096;

/// The points and corners of the source that a decoded vertex can stand for.
#[derive(Default)]
struct Candidates {
    /// The only point that it can stand for, if there is only one.
    point: Option<u32>,
    /// Face and corner of all possible points, sorted, if several are possible.
    corners: Vec<(u32, u32)>,
    points: usize,
    /// There are more points or corners than are tried.
    undecided: bool,
}

/// Face and corner of everything that a vertex can stand for, sorted.
type FaceCornerList<'a> = &'a [(u32, u32)];

/// The source and decoded mesh of one placement in one frame, in world space.
pub(crate) struct NearestMatching<'a> {
    pub source: &'a [[f64; 3]],
    pub decoded: &'a [[f64; 3]],
    source_tree: KdTree,
    decoded_tree: KdTree,
    polygons: &'a Polygons,
    /// For each decoded vertex, whether a triangle uses it; others have no corner to agree with. `false` for
    /// all if some points of the source are unusable, since their vertices are unknown.
    used: Vec<bool>,
    /// Corners of each point: `corners[first[p]..first[p + 1]]`.
    first: Vec<u32>,
    corners: Vec<u32>,
    tolerance: f64,
}

/// Nearest distances in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Distances {
    pub max: f64,
    /// The vertex or point it belongs to.
    pub worst: u32,
    pub squares: f64,
    pub count: u64,
    /// The number of vertices or points with nothing to compare to.
    pub unmatched: u64,
}

impl<'a> NearestMatching<'a> {
    /// Prepares a comparison. Unusable points of the source are NaN.
    pub fn new(
        source: &'a [[f64; 3]],
        decoded: &'a [[f64; 3]],
        indices: &[u32],
        polygons: &'a Polygons,
        tolerance: f64,
    ) -> NearestMatching<'a> {
        let mut used_vertices = vec![false; decoded.len()];
        indices.iter().for_each(|&v| used_vertices[v as usize] = true);
        let mut first = vec![0u32; polygons.points + 1];
        let used = |p: &&u32| **p != NO_INDEX;
        for &p in polygons.point.iter().filter(used) {
            first[p as usize + 1] += 1;
        }
        for p in 0..polygons.points {
            first[p + 1] += first[p];
        }
        let mut next = first.clone();
        let mut corners = vec![0; first[polygons.points] as usize];
        for (c, &p) in polygons.point.iter().enumerate().filter(|(_, p)| used(p)) {
            corners[next[p as usize] as usize] = c as u32;
            next[p as usize] += 1;
        }
        NearestMatching {
            source,
            decoded,
            source_tree: KdTree::new(source),
            decoded_tree: KdTree::new(decoded),
            polygons,
            used: used_vertices,
            first,
            corners,
            tolerance,
        }
    }

    /// Measures from each decoded vertex to the source, and from each point of the source to the decoded
    /// mesh.
    pub fn distances(&self) -> [Distances; 2] {
        let one_way = |from: &[[f64; 3]], to: &KdTree| {
            let mut out = Distances::default();
            for (i, p) in from.iter().enumerate().filter(|(_, p)| p.iter().all(|v| v.is_finite())) {
                match to.nearest(*p) {
                    None => out.unmatched += 1,
                    Some((distance, _)) => {
                        out.count += 1;
                        out.squares += distance * distance;
                        if distance > out.max {
                            (out.max, out.worst) = (distance, i as u32);
                        }
                    }
                }
            }
            out
        };
        [one_way(self.decoded, &self.source_tree), one_way(self.source, &self.decoded_tree)]
    }

    /// Finds, for each vertex with a corner of the source within the tolerance, the least `difference(vertex,
    /// corner)`, or the first within `limit`, and likewise for each corner. Returns the largest of these, and
    /// its vertex.
    pub fn largest_difference(
        &self,
        limit: f64,
        difference: impl Fn(u32, u32) -> Option<f64>,
    ) -> Option<(f64, u32)> {
        let mut worst: Option<(f64, u32)> = None;
        let mut note = |best: Option<f64>, undecided: bool, vertex: u32| {
            if let Some(best) = best.filter(|b| !undecided || *b <= limit)
                && worst.is_none_or(|(w, _)| beyond(best, w))
            {
                worst = Some((best, vertex));
            }
        };
        // Vertices of unusable points may be anywhere, so they have no corners to compare with.
        let known = self.source.iter().flatten().all(|v| v.is_finite());
        let of_corners = |(v, _): &(usize, _)| known && self.used[*v];
        for (v, p) in self.decoded.iter().enumerate().filter(of_corners) {
            let (mut best, mut left) = (None, MAX_CORNERS);
            let (found, cut) = self.source_tree.within(*p, self.tolerance, MAX_CANDIDATES, |point| {
                let corners = self.corners_of(point);
                let near = &corners[..corners.len().min(left)];
                let good = |&c: &u32| keep_least(&mut best, difference(v as u32, c), limit);
                let found = near.iter().any(good);
                // The extra one shows that something was left out.
                left = (left + 1).saturating_sub(corners.len() + 1);
                found
            });
            note(best, cut || !found && left == 0, v as u32);
        }
        for &c in &self.corners {
            let p = self.source[self.polygons.point[c as usize] as usize];
            if !p.iter().all(|v| v.is_finite()) {
                continue;
            }
            let (mut best, mut nearest) = (None, 0);
            let (_, undecided) = self.decoded_tree.within(p, self.tolerance, MAX_CANDIDATES, |v| {
                nearest = v;
                keep_least(&mut best, difference(v, c), limit)
            });
            note(best, undecided, nearest);
        }
        worst
    }

    /// Compares triangles with faces: each triangle must have its corners in one face of the source, in the
    /// right orientation, and each face of n corners n − 2 triangles; faces that repeat others may have none.
    /// `Err` is a sentence.
    pub fn compare_faces(&self, indices: &[u32], flip: bool) -> Result<(), String> {
        let expected = self.polygons.triangles();
        let found = indices.len() / 3;
        let fewest = || expected - Rings::new(self.polygons).repeated(self.polygons);
        if found > expected || found < expected && found < fewest() {
            return Err(format!("{found} triangles where the faces of the source give {expected}"));
        }
        // Point after point; within one point they are sorted already.
        let face = |&c: &u32| (self.polygons.face[c as usize], c);
        let sides: Vec<(u32, u32)> = self.corners.iter().map(face).collect();
        let mut near: Vec<Option<Candidates>> = Vec::new();
        near.resize_with(self.decoded.len(), || None);
        for &v in indices {
            near[v as usize].get_or_insert_with(|| self.candidates(v));
        }
        // Triangles with certain corners choose their faces first, and among them those with a single choice.
        let mut order: Vec<u32> = (0..found as u32).collect();
        let corners = |t: u32| {
            let first = 3 * t as usize;
            [0, 1, 2].map(|k| near[indices[first + k] as usize].as_ref())
        };
        let certain = |t: &u32| corners(*t).iter().flatten().all(|n| n.points == 1);
        order.sort_by_key(|t| !certain(t));
        let turn = if flip { -self.polygons.turn } else { self.polygons.turn };
        let mut rooms = MissingTriangles::new(self.polygons, turn > 0);
        let (mut wrong, mut example) = (0u64, u32::MAX);
        let mut passes = [order, Vec::new()];
        for pass in 0..2 {
            for t in std::mem::take(&mut passes[pass]) {
                let [Some(a), Some(b), Some(c)] = corners(t) else {
                    continue;
                };
                if a.undecided || b.undecided || c.undecided {
                    continue;
                }
                let vertices = std::array::from_fn(|k| indices[3 * t as usize + k]);
                let lists = [a, b, c].map(|near| self.face_corners(near, &sides));
                match rooms.place_triangle(vertices, lists, certain(&t), pass == 0) {
                    FacePlacement::Fits => {}
                    FacePlacement::Deferred => passes[1].push(t),
                    FacePlacement::NoFace => {
                        wrong += 1;
                        example = example.min(t);
                    }
                }
            }
        }
        match wrong {
            0 => Ok(()),
            _ => Err(format!("{wrong} triangles match no face of the source, triangle {example} first")),
        }
    }

    /// Returns face and corner of everything that a vertex can stand for. `sides`: those of all points.
    fn face_corners<'s>(&self, near: &'s Candidates, sides: FaceCornerList<'s>) -> FaceCornerList<'s> {
        match near.point {
            Some(p) => &sides[self.first[p as usize] as usize..self.first[p as usize + 1] as usize],
            None => &near.corners,
        }
    }

    /// Returns the corners that a decoded vertex can stand for.
    fn candidates(&self, v: u32) -> Candidates {
        let mut near = Candidates::default();
        let p = self.decoded[v as usize];
        let mut points = Vec::new();
        let (_, cut) = self.source_tree.within(p, self.tolerance, MAX_FACE_CANDIDATES, |point| {
            points.push(point);
            false
        });
        near.points = points.len();
        let all: usize = points.iter().map(|&p| self.corners_of(p).len()).sum();
        near.undecided = cut || points.len() > 1 && all > MAX_CORNERS;
        match &points[..] {
            _ if near.undecided => {}
            &[point] => near.point = Some(point),
            several => {
                let corners = several.iter().flat_map(|&p| self.corners_of(p));
                near.corners = corners.map(|&c| (self.polygons.face[c as usize], c)).collect();
            }
        }
        near.corners.sort_unstable();
        near
    }

    fn corners_of(&self, point: u32) -> &[u32] {
        let p = point as usize;
        &self.corners[self.first[p] as usize..self.first[p + 1] as usize]
    }
}

/// The number of triangles that faces of the source still lack.
struct MissingTriangles {
    /// First corner and number of corners of each face.
    face_corners: Vec<(u32, u32)>,
    /// Triangles that each face still lacks.
    missing: Vec<u32>,
    /// For triangles whose vertices all have many candidates: their common faces, and how many of these are
    /// known to be full. Cached, since there may be many such triangles.
    cached_faces: HashMap<[u32; 3], (Vec<u32>, usize)>,
    /// Corners of triangles follow each other in the order of the face.
    ascending: bool,
}

/// The outcome of placing a triangle in a face.
enum FacePlacement {
    /// There is a face for it, or there may be one.
    Fits,
    /// The triangle has several choices and waits until triangles with one choice are placed.
    Deferred,
    NoFace,
}

impl MissingTriangles {
    fn new(polygons: &Polygons, ascending: bool) -> MissingTriangles {
        let mut of_face = vec![(0u32, 0u32); polygons.total];
        let mut room = vec![0u32; polygons.total];
        for face in &polygons.faces {
            of_face[face.number as usize] = (face.first, face.count);
            room[face.number as usize] = face.count - 2;
        }
        MissingTriangles { face_corners: of_face, missing: room, cached_faces: HashMap::new(), ascending }
    }

    /// Finds a face for a triangle. `lists`: the candidates of its vertices. `certain`: each vertex has one
    /// point only.
    fn place_triangle(
        &mut self,
        vertices: [u32; 3],
        lists: [FaceCornerList<'_>; 3],
        certain: bool,
        first_pass: bool,
    ) -> FacePlacement {
        let MissingTriangles { face_corners: of_face, missing: room, cached_faces: many, ascending } = self;
        let fewest = lists.map(<[_]>::len);
        let own;
        let (faces, full) = match fewest.iter().min() {
            Some(&fewest) if fewest > MAX_FACE_CANDIDATES => {
                let list = || (common_faces(lists, *ascending, of_face), 0);
                let (faces, full) = many.entry(vertices).or_insert_with(list);
                while faces.get(*full).is_some_and(|f| room[*f as usize] == 0) {
                    *full += 1;
                }
                (&*faces, *full)
            }
            _ => {
                own = common_faces(lists, *ascending, of_face);
                (&own, 0)
            }
        };
        if first_pass && (faces.len() > 1 || !certain) {
            return FacePlacement::Deferred;
        }
        match faces[full..].iter().find(|f| room[**f as usize] > 0) {
            Some(&face) => {
                room[face as usize] -= 1;
                FacePlacement::Fits
            }
            // Full, but earlier triangles may have taken the wrong one of several possible faces.
            None if faces.len() > 1 || !faces.is_empty() && !certain => FacePlacement::Fits,
            None => FacePlacement::NoFace,
        }
    }
}

/// Returns the faces with three corners for a triangle, in the right orientation. `of_face`: first corner and
/// number of corners.
fn common_faces(lists: [FaceCornerList<'_>; 3], ascending: bool, of_face: &[(u32, u32)]) -> Vec<u32> {
    // Starts at the vertex with the fewest candidates: another may belong to a whole fan.
    let least = (0..3).min_by_key(|&k| lists[k].len()).unwrap_or(0);
    let [a, b, c] = [0, 1, 2].map(|k| lists[(least + k) % 3]);
    let of = |near: FaceCornerList<'_>, face: u32| {
        let begin = near.partition_point(|x| x.0 < face);
        let length = near[begin..].partition_point(|x| x.0 == face);
        begin..begin + length
    };
    let mut faces = Vec::new();
    for own in a.chunk_by(|x, y| x.0 == y.0) {
        let face = own[0].0;
        let (in_b, in_c) = (&b[of(b, face)], &c[of(c, face)]);
        let (first, count) = of_face[face as usize];
        let fits = own.iter().any(|&(_, ca)| {
            let from_a = |x: u32| (x - first + count - (ca - first)) % count;
            in_b.iter().filter(|(_, cb)| *cb != ca).any(|&(_, cb)| {
                let others = in_c.iter().filter(|(_, cc)| *cc != ca && *cc != cb);
                others.into_iter().any(|&(_, cc)| (from_a(cb) < from_a(cc)) == ascending)
            })
        });
        if fits {
            faces.push(face);
        }
    }
    faces
}

/// Keeps the least difference; `true` if it is within `limit`. A corner whose value is not finite may be the
/// vertex's own, so then nothing is known of the vertex.
fn keep_least(best: &mut Option<f64>, difference: Option<f64>, limit: f64) -> bool {
    let Some(d) = difference else {
        *best = None;
        return true;
    };
    if best.is_none_or(|b| d < b) {
        *best = Some(d);
    }
    d <= limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::Winding;
    use meshreel_scene::sample::Faces;

    /// A pentagon and a triangle, counter-clockwise.
    fn polygons() -> Polygons {
        let raw = Faces { counts: vec![5, 3], indices: vec![0, 1, 2, 3, 4, 2, 1, 5] };
        Polygons::new(&raw, 6, Winding::CounterClockwise)
    }

    const POINTS: [[f64; 3]; 6] = [
        [0.0, 0.0, 0.0],
        [2.0, 0.0, 0.0],
        [3.0, 2.0, 0.0],
        [1.0, 3.0, 0.0],
        [-1.0, 2.0, 0.0],
        [4.0, 0.0, 0.0],
    ];
    // Vertices in another order than the points, slightly off.
    const ORDER: [u32; 6] = [3, 5, 0, 2, 1, 4];

    fn decoded() -> Vec<[f64; 3]> {
        ORDER.iter().map(|&p| POINTS[p as usize].map(|v| v + 1e-4)).collect()
    }

    fn vertices(points: &[u32]) -> Vec<u32> {
        let of = |p: &u32| ORDER.iter().position(|q| q == p).unwrap() as u32;
        points.iter().map(of).collect()
    }

    #[test]
    fn right_and_wrong_faces() {
        let (polygons, decoded) = (polygons(), decoded());
        let pairing = NearestMatching::new(&POINTS, &decoded, &[0, 1, 2, 3, 4, 5], &polygons, 1e-3);
        let good = vertices(&[0, 1, 2, 0, 2, 3, 0, 3, 4, 2, 1, 5]);
        assert_eq!(pairing.compare_faces(&good, false), Ok(()));
        assert!(pairing.compare_faces(&good, true).unwrap_err().contains("4 triangles"));
        assert!(pairing.compare_faces(&good[..9], false).unwrap_err().contains("3 triangles where"));
        let twice = vertices(&[0, 1, 2, 0, 1, 2, 0, 3, 4, 2, 1, 5, 0, 2, 3]);
        assert!(pairing.compare_faces(&twice[..12], false).is_ok(), "three triangles of the same face");
        let strange = vertices(&[0, 1, 5, 0, 2, 3, 0, 3, 4, 2, 1, 5]);
        assert!(pairing.compare_faces(&strange, false).unwrap_err().contains("triangle 0"));
        // With a tolerance larger than the mesh, nothing can be told apart.
        let blurred = NearestMatching::new(&POINTS, &decoded, &[0, 1, 2, 3, 4, 5], &polygons, 100.0);
        assert_eq!(blurred.compare_faces(&good, false), Ok(()));
    }

    /// Visiting all faces of a vertex for each of its triangles would take hours.
    #[test]
    fn two_hundred_thousand_triangles_around_a_vertex_and_on_three() {
        let count = 200_000;
        let same = [0, 1, 2].repeat(count as usize);
        let fan = (0..count).flat_map(|i| [0, i + 1, i + 2]).collect();
        for (indices, points) in [(same, 3), (fan, count + 2)] {
            let raw = Faces { counts: vec![3; count as usize], indices };
            let polygons = Polygons::new(&raw, points as usize, Winding::CounterClockwise);
            let place = |i: i32| [f64::from(i), f64::from(i % 7), 0.0];
            let points: Vec<[f64; 3]> = (0..points).map(place).collect();
            let indices: Vec<u32> = raw.indices.iter().map(|&p| p as u32).collect();
            let pairing = NearestMatching::new(&points, &points, &indices, &polygons, 1e-3);
            assert_eq!(pairing.compare_faces(&indices, false), Ok(()));
            assert!(pairing.compare_faces(&indices, true).is_err());
            // Nothing agrees, so everything is visited.
            assert!(pairing.largest_difference(0.1, |_, _| Some(1.0)).is_some());
        }
    }

    #[test]
    fn distances_and_attributes_both_ways() {
        let (polygons, mut decoded) = (polygons(), decoded());
        decoded[2][2] = 0.5;
        let pairing = NearestMatching::new(&POINTS, &decoded, &[0, 1, 2, 3, 4, 5], &polygons, 1e-3);
        let [there, back] = pairing.distances();
        assert!((there.max - 0.5).abs() < 1e-3 && there.worst == 2);
        assert!((back.max - 0.5).abs() < 1e-3 && back.worst == 0);
        // Corners 2 and 5 are of one point with different values; either may be the vertex's.
        let value = |c: u32| f64::from(c);
        let of = |v: u32| [3.0, 7.0, 0.0, 5.0, 1.0, 4.0][v as usize];
        let (worst, vertex) = pairing.largest_difference(0.1, |v, c| Some((of(v) - value(c)).abs())).unwrap();
        // Corner 2 has only the vertex that took the value of corner 5; corner 6 likewise.
        assert!(worst == 5.0 && vertex == 4 || worst == 3.0, "{worst} {vertex}");
    }
}
