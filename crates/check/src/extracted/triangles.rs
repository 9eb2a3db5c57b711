//! Compares faces of an extracted file with the triangles of the `.reel`, at one time. A face may be a
//! triangle or a polygon, and its corners may be points that several vertices share or that coincide with
//! others: only the positions of corners and their orientation count.
//!
//! Every decoded triangle must lie in a face that has its corners in their order, and every edge of a face
//! must be an edge of a decoded triangle. Faces with two corners in one place are invisible, and both sides
//! may leave them out. If there are none, faces must contain exactly as many triangles as there are; of a
//! face that is there several times, only one must be.

use super::faces::IndexLists;
use super::geometry::FrameGeometry;
use std::collections::HashSet;

/// The owner, in the `.reel` or in the extracted file, and a description of the difference.
pub(super) enum FaceDifference {
    Decoded(usize, String),
    Extracted(usize, String),
}

/// A set of list numbers that is cleared in constant time.
struct MarkedSets {
    generations: Vec<u32>,
    generation: u32,
}

impl MarkedSets {
    fn new(count: usize) -> MarkedSets {
        MarkedSets { generations: vec![0; count], generation: 0 }
    }

    /// Replaces the content by these numbers.
    fn set_to(&mut self, numbers: &[u32]) {
        self.generation += 1;
        numbers.iter().for_each(|&number| self.generations[number as usize] = self.generation);
    }

    fn contains(&self, number: u32) -> bool {
        self.generations[number as usize] == self.generation
    }

    /// Adds a number; `false` if it was already there.
    fn insert(&mut self, number: u32) -> bool {
        let new = !self.contains(number);
        self.generations[number as usize] = self.generation;
        new
    }
}

/// Compares faces. `near`: for each decoded vertex, the points of the extracted file that it may stand for.
pub(super) fn compare(
    decoded: &FrameGeometry,
    extracted: &FrameGeometry,
    near: &IndexLists,
) -> Option<FaceDifference> {
    let triangles = FaceComparison::new(decoded, extracted, near);
    let (whole, difference) = triangles.lie_in_faces();
    difference.or_else(|| triangles.have_edges_of_faces(whole))
}

struct FaceComparison<'a> {
    decoded: &'a FrameGeometry,
    extracted: &'a FrameGeometry,
    near: &'a IndexLists,
    /// For each point, the vertices that may stand for it.
    point_vertices: IndexLists,
}

impl<'a> FaceComparison<'a> {
    fn new(
        decoded: &'a FrameGeometry,
        extracted: &'a FrameGeometry,
        near: &'a IndexLists,
    ) -> FaceComparison<'a> {
        let count = decoded.points.len() as u32;
        let pairs = (0..count).flat_map(|v| near.get(v).iter().map(move |&p| (p, v)));
        let back = IndexLists::new(extracted.points.len(), pairs);
        FaceComparison { decoded, extracted, near, point_vertices: back }
    }

    /// Returns whether all triangles have corners in three places, and the first one that lies in no face.
    fn lie_in_faces(&self) -> (bool, Option<FaceDifference>) {
        let (triangles, faces) = (&self.decoded.faces, &self.extracted.faces);
        let of_points = faces.by_point(self.extracted.points.len());
        let mut places = [(); 3].map(|()| MarkedSets::new(self.extracted.points.len()));
        let mut seen = MarkedSets::new(faces.len());
        let mut whole = true;
        for triangle in 0..triangles.len() {
            let &[a, b, c] = triangles.corners(triangle) else { continue };
            let near = [a, b, c].map(|v| self.near.get(v));
            places.iter_mut().zip(near).for_each(|(marks, near)| marks.set_to(near));
            let at = [a, b, c].map(|v| self.decoded.points[v as usize]);
            let one_place =
                |i: usize, k: usize| at[i] == at[k] || near[i].iter().any(|&p| places[k].contains(p));
            if one_place(0, 1) || one_place(1, 2) || one_place(2, 0) {
                whole = false;
                continue;
            }
            seen.set_to(&[]);
            let mut candidates = near[0].iter().flat_map(|&p| of_points.get(p));
            let there = candidates.any(|&face| {
                let turn = triangles.orientation[triangle] * faces.orientation[face as usize];
                seen.insert(face) && goes_through(faces.corners(face as usize), turn, &places)
            });
            if !there {
                let [a, b, c] = [a, b, c].map(|v| self.decoded.owners[v as usize].number);
                let what = format!("the triangle of vertices {a}, {b}, {c} was not extracted");
                return (whole, Some(FaceDifference::Decoded(triangles.owner[triangle] as usize, what)));
            }
        }
        (whole, None)
    }

    /// Returns a vertex at each corner of a face, the same for all faces in the same places that go round the
    /// same way.
    fn representative_vertices(&self, corners: &[u32]) -> Vec<u32> {
        let place = |p: &u32| self.point_vertices.get(*p).iter().min().copied().unwrap_or(u32::MAX);
        let mut places: Vec<u32> = corners.iter().map(place).collect();
        let least = (0..places.len()).min_by_key(|k| places[*k]).unwrap_or(0);
        places.rotate_left(least);
        places
    }

    /// Returns the first face with an edge that no triangle has. If triangles and faces are all `whole`,
    /// their numbers must agree, too.
    fn have_edges_of_faces(&self, mut whole: bool) -> Option<FaceDifference> {
        let (triangles, faces) = (&self.decoded.faces, &self.extracted.faces);
        let of_vertices = triangles.by_point(self.decoded.points.len());
        let mut marks = MarkedSets::new(self.decoded.points.len());
        let (mut enclosed, mut distinct, mut known) = (0, 0, HashSet::new());
        for face in 0..faces.len() {
            let corners = faces.corners(face);
            enclosed += corners.len() - 2;
            if known.insert(self.representative_vertices(corners)) {
                distinct += corners.len() - 2;
            }
            whole &= !faces.may_be_hidden[face];
            marks.set_to(&[]);
            let mut vertices = corners.iter().map(|&p| self.point_vertices.get(p));
            if vertices
                .any(|own| own.iter().any(|&v| marks.contains(v)) || own.iter().any(|&v| !marks.insert(v)))
            {
                whole = false;
                continue;
            }
            let edges = corners.iter().zip(corners.iter().cycle().skip(1));
            for (&p, &q) in edges {
                marks.set_to(self.point_vertices.get(q));
                let is_edge = |&v: &u32| {
                    of_vertices.get(v).iter().any(|&triangle| {
                        let turn = faces.orientation[face] * triangles.orientation[triangle as usize];
                        let corners = triangles.corners(triangle as usize);
                        let leads = |k: usize, by: usize| marks.contains(corners[(k + by) % corners.len()]);
                        let from = (0..corners.len()).filter(|&k| corners[k] == v);
                        from.into_iter().any(|k| turn >= 0 && leads(k, 1) || turn <= 0 && leads(k, 2))
                    })
                };
                if !self.point_vertices.get(p).iter().any(is_edge) && !faces.may_be_hidden[face] {
                    let what = format!("an edge of face {face} is none of a decoded triangle");
                    return Some(FaceDifference::Extracted(faces.owner[face] as usize, what));
                }
            }
        }
        // A face that the source has twice may be there once.
        if whole && !(distinct..=enclosed).contains(&triangles.len()) {
            let owner = triangles.owner.first().map_or(0, |owner| *owner as usize);
            let what = format!("{} triangles are decoded, {enclosed} were extracted", triangles.len());
            return Some(FaceDifference::Decoded(owner, what));
        }
        None
    }
}

/// `true` if these corners visit three places one after the other, forwards, or backwards if `turn` is below
/// 0.
fn goes_through(corners: &[u32], turn: i8, places: &[MarkedSets; 3]) -> bool {
    let n = corners.len();
    let goes = |start: usize, backwards: bool| {
        let at = |k: usize| corners[(if backwards { start + n - k } else { start + k }) % n];
        let second = (1..n).find(|&k| places[1].contains(at(k)));
        second.is_some_and(|second| (second + 1..n).any(|k| places[2].contains(at(k))))
    };
    let mut starts = (0..n).filter(|&k| places[0].contains(corners[k]));
    starts.any(|k| turn >= 0 && goes(k, false) || turn <= 0 && goes(k, true))
}
