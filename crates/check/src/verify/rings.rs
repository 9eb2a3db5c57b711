//! Faces on the same points (PROMISE.md §1, §3): those that repeat an earlier one, and the two sides of a
//! sheet. Written a second time from the definitions, as everything in this folder.
//!
//! The *ring* of a face is its points in cyclic order. Faces repeat each other if their rings are equal, and
//! are opposite if one ring is the reverse of the other. A face that names a point twice has no ring.

use crate::verify::polygons::{NO_INDEX, Polygon, Polygons};
use std::collections::HashMap;

/// Rings that several faces have, or that exist in both directions.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    /// For each usable face, in order, the number of its ring; [`NO_INDEX`] for faces that are alone on their
    /// points.
    pub ring_of_face: Vec<u32>,
    /// For each ring, its opposite, or [`NO_INDEX`].
    pub opposite: Vec<u32>,
    /// For each ring, its usable faces, in order.
    pub faces: Vec<Vec<u32>>,
}

impl Rings {
    pub fn new(polygons: &Polygons) -> Rings {
        // Faces on different points nearly always have different keys.
        let key = |face: &Polygon| {
            let points = &polygons.point[face.corners()];
            points.iter().fold(u64::from(face.count), |sum, &p| {
                let x = (u64::from(p) + 1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
                sum.wrapping_add((x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93))
            })
        };
        let mut keys: Vec<(u64, u32)> =
            (polygons.faces.iter().zip(0..)).map(|(face, number)| (key(face), number)).collect();
        keys.sort_unstable();
        let mut out = Rings { ring_of_face: vec![NO_INDEX; polygons.faces.len()], ..Rings::default() };
        let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
        for alike in keys.chunk_by(|a, b| a.0 == b.0).filter(|c| c.len() > 1) {
            for &(_, face) in alike {
                let Some((ring, _)) = ring(polygons, &polygons.faces[face as usize]) else {
                    continue;
                };
                let number = *numbers.entry(ring).or_insert_with(|| {
                    out.faces.push(Vec::new());
                    out.faces.len() as u32 - 1
                });
                out.ring_of_face[face as usize] = number;
                out.faces[number as usize].push(face);
            }
        }
        out.opposite = vec![NO_INDEX; out.faces.len()];
        for (ring, &number) in &numbers {
            let backwards: Vec<u32> = ring[..1].iter().chain(ring[1..].iter().rev()).copied().collect();
            if let Some(&other) = numbers.get(&backwards) {
                out.opposite[number as usize] = other;
            }
        }
        out
    }

    /// Returns the number of triangles of faces that repeat an earlier one.
    pub fn repeated(&self, polygons: &Polygons) -> usize {
        let triangles = |&face: &u32| polygons.faces[face as usize].count as usize - 2;
        (self.faces.iter()).flat_map(|faces| faces[1..].iter().map(triangles)).sum()
    }
}

/// Returns the points of a face, starting at the smallest, and the corner of that point, counted from the
/// face's first.
pub(crate) fn ring(polygons: &Polygons, face: &Polygon) -> Option<(Vec<u32>, usize)> {
    let points = &polygons.point[face.corners()];
    let start = (0..points.len()).min_by_key(|&k| points[k])?;
    let ring = [&points[start..], &points[..start]].concat();
    let mut sorted = ring.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == ring.len()).then_some((ring, start))
}

/// Joins corners that share a normal at points where some face has both its sides: repeats of a face share
/// all of theirs, and two faces share those at an edge that they walk in opposite directions, unless they are
/// each other's opposite. Elsewhere, all corners of a point share one. `join` is called with corners that
/// belong together. Returns `false`, without joining anything, if no face has both sides.
pub(crate) fn join_by_side(polygons: &Polygons, join: &mut dyn FnMut(u32, u32)) -> bool {
    let rings = Rings::new(polygons);
    if rings.opposite.iter().all(|&other| other == NO_INDEX) {
        return false;
    }
    let between = rings.points_between_sides(polygons);
    rings.join_repeats(polygons, join);
    join_outside(polygons, &between, join);
    for ((a, b), walkers) in rings.edges(polygons, &between) {
        let mut meet = |x: &EdgeWalk, y: &EdgeWalk| {
            for (k, point) in [a, b].into_iter().enumerate() {
                if between[point as usize] {
                    join(x.1[k], y.1[k]);
                }
            }
        };
        meet_walkers(&walkers, &mut meet);
    }
    true
}

/// A face that walks an edge: its ring, by the smaller number of its two sides (or a unique number beyond
/// those of rings), and its corners at both points, that of the lower point first.
type EdgeWalk = (u32, [u32; 2]);

impl Rings {
    /// For each point, whether a face at it has both its sides.
    fn points_between_sides(&self, polygons: &Polygons) -> Vec<bool> {
        let two_sided = |ring: u32| ring != NO_INDEX && self.opposite[ring as usize] != NO_INDEX;
        let mut between = vec![false; polygons.points];
        for (face, &ring) in polygons.faces.iter().zip(&self.ring_of_face) {
            if two_sided(ring) {
                let points = &polygons.point[face.corners()];
                points.iter().for_each(|&p| between[p as usize] = true);
            }
        }
        between
    }

    /// Joins the corners of faces that repeat each other.
    fn join_repeats(&self, polygons: &Polygons, join: &mut dyn FnMut(u32, u32)) {
        for faces in self.faces.iter().filter(|faces| faces.len() > 1) {
            let first = &polygons.faces[faces[0] as usize];
            let start = |face| ring(polygons, face).map_or(0, |(_, start)| start as u32);
            let corner = |face: &Polygon, start: u32, k: u32| face.first + (start + k) % face.count;
            let first_start = start(first);
            for &other in &faces[1..] {
                let other = &polygons.faces[other as usize];
                let other_start = start(other);
                for k in 0..first.count {
                    join(corner(first, first_start, k), corner(other, other_start, k));
                }
            }
        }
    }

    /// For each edge at points between two sides (lower point first), the faces that walk it upwards and
    /// those that walk it downwards.
    fn edges(&self, polygons: &Polygons, between: &[bool]) -> HashMap<(u32, u32), [Vec<EdgeWalk>; 2]> {
        let mut edges: HashMap<(u32, u32), [Vec<EdgeWalk>; 2]> = HashMap::new();
        for (number, face) in polygons.faces.iter().enumerate() {
            let shape = match self.ring_of_face[number] {
                NO_INDEX => self.faces.len() as u32 + number as u32,
                // The smaller number of the two sides stands for both.
                ring => ring.min(self.opposite[ring as usize]),
            };
            for k in 0..face.count {
                let (c, d) = (face.first + k, face.first + (k + 1) % face.count);
                let (a, b) = (polygons.point[c as usize], polygons.point[d as usize]);
                if a != b && (between[a as usize] || between[b as usize]) {
                    let walkers = edges.entry((a.min(b), a.max(b))).or_default();
                    match a < b {
                        true => walkers[0].push((shape, [c, d])),
                        false => walkers[1].push((shape, [d, c])),
                    }
                }
            }
        }
        edges
    }
}

/// Joins all corners of each point that is not between two sides.
fn join_outside(polygons: &Polygons, between: &[bool], join: &mut dyn FnMut(u32, u32)) {
    let mut corner_at = vec![NO_INDEX; polygons.points];
    for face in &polygons.faces {
        for c in face.first..face.first + face.count {
            let a = polygons.point[c as usize] as usize;
            if !between[a] {
                if corner_at[a] == NO_INDEX {
                    corner_at[a] = c;
                }
                join(corner_at[a], c);
            }
        }
    }
}

/// Calls `meet` for pairs of different shapes that walk an edge in opposite directions, often enough to join
/// all that belong together: each one meets the first in the other direction, and the first there of another
/// shape than that.
fn meet_walkers([up, down]: &[Vec<EdgeWalk>; 2], meet: &mut dyn FnMut(&EdgeWalk, &EdgeWalk)) {
    for (all, others) in [(up, down), (down, up)] {
        let Some(first) = others.first() else { continue };
        let second = others.iter().find(|other| other.0 != first.0);
        for one in all {
            for other in [Some(first), second].into_iter().flatten().filter(|other| other.0 != one.0) {
                meet(one, other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::Winding;
    use meshreel_scene::sample::Faces;

    #[test]
    fn repeats_and_opposites() {
        let raw = Faces {
            counts: vec![4, 3, 4, 4, 4, 4, 4],
            indices: vec![0, 1, 2, 3, 0, 1, 2, 2, 3, 0, 1, 3, 2, 1, 0, 0, 2, 1, 3, 0, 1, 0, 2, 0, 1, 0, 2],
        };
        let polygons = Polygons::new(&raw, 4, Winding::Clockwise);
        let rings = Rings::new(&polygons);
        let [a, b] = [rings.ring_of_face[0], rings.ring_of_face[3]];
        assert_eq!(rings.ring_of_face[2], a);
        assert_eq!([rings.opposite[a as usize], rings.opposite[b as usize]], [b, a]);
        assert_eq!([rings.ring_of_face[1], rings.ring_of_face[5], rings.ring_of_face[6]], [NO_INDEX; 3]);
        assert_eq!(rings.faces[a as usize], [0, 2]);
        assert_eq!(rings.repeated(&polygons), 2);
    }

    #[test]
    fn a_face_that_walks_an_edge_twice_is_joined_twice() {
        // Both sides of a triangle, and a face that goes from 0 to 1 twice, against the back.
        let raw = Faces { counts: vec![3, 3, 6], indices: vec![0, 1, 2, 0, 2, 1, 0, 1, 3, 0, 1, 4] };
        let polygons = Polygons::new(&raw, 5, Winding::CounterClockwise);
        let (group, _) = polygons.groups(&[[0.0; 3]; 5], None);
        assert_eq!([group[6], group[9]], [group[3]; 2]);
        assert_eq!([group[7], group[10]], [group[5]; 2]);
        assert_ne!(group[0], group[3]);
    }

    #[test]
    fn the_two_sides_of_an_edge() {
        // A front and a back of two triangles on points 0 to 3, and a third sheet of one triangle at the edge
        // 2–3, which goes on from the back.
        let raw = Faces { counts: vec![3; 5], indices: vec![0, 1, 2, 2, 1, 3, 0, 2, 1, 2, 3, 1, 3, 2, 4] };
        let polygons = Polygons::new(&raw, 5, Winding::CounterClockwise);
        let (group, count) = polygons.groups(&[[0.0; 3]; 5], None);
        let together = [&[0][..], &[6], &[1, 4], &[8, 11], &[2, 3], &[7, 9, 13], &[5], &[10, 12], &[14]];
        assert_eq!(count, together.len());
        for corners in together {
            assert!(corners.iter().all(|&c| group[c] == group[corners[0]]), "{corners:?}");
        }
    }
}
