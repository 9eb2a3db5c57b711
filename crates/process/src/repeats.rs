//! Faces on the same points: repeats, which add nothing, and opposites, the two sides of a leaf card or of a
//! sheet whose sides share their points.
//!
//! A face *repeats* another if it lists the same points in the same cyclic order, and is *opposite* to it if
//! it lists them in the reverse order. A face that lists a point twice does neither. Meshes without such
//! faces, nearly all, cost one sort of a number per face.

use super::faces::{Face, Faces};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The faces of a mesh that share their set of points with another face.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoincidentFaces {
    /// Such faces, grouped by their points, repeats next to each other, each in the order of the source.
    list: Vec<CoincidentFace>,
    /// Sizes of the groups, in the order of the list.
    sizes: Vec<usize>,
}

/// A face of [`CoincidentFaces`]. Its canonical order begins at its smallest point and continues with that
/// point's smaller neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoincidentFace {
    /// Its index among the usable faces.
    pub face: u32,
    /// The corner of its smallest point, counted from its first corner.
    start: u32,
    /// `true` if the source lists its points against the canonical order.
    pub backward: bool,
}

impl CoincidentFace {
    /// Returns the source's corner at position `k` of the canonical order.
    pub fn corner(&self, face: &Face, k: u32) -> u32 {
        let n = face.count;
        let at = match self.backward {
            false => self.start + k,
            true => self.start + n - k,
        };
        face.first + at % n
    }
}

impl CoincidentFaces {
    /// Finds the faces that share their points.
    pub fn new(faces: &Faces) -> CoincidentFaces {
        let mut by_sum: Vec<(u64, u32)> = (0..)
            .zip(&faces.list)
            .map(|(at, face)| (point_set_hash(&faces.corner_point[face.range()]), at))
            .collect();
        by_sum.sort_unstable();
        let mut list: Vec<CoincidentFace> = Vec::new();
        for same in by_sum.chunk_by(|a, b| a.0 == b.0).filter(|c| c.len() > 1) {
            list.extend(same.iter().filter_map(|&(_, face)| coincident_face(faces, face)));
        }
        list.sort_unstable_by(|a, b| {
            let order = canonical_points(faces, a).cmp(canonical_points(faces, b));
            let order = order.then(a.backward.cmp(&b.backward));
            order.then(a.face.cmp(&b.face))
        });
        let mut out = CoincidentFaces::default();
        let alike = |a: &CoincidentFace, b: &CoincidentFace| {
            canonical_points(faces, a).cmp(canonical_points(faces, b)) == Ordering::Equal
        };
        for same in list.chunk_by(alike).filter(|c| c.len() > 1) {
            out.list.extend(same);
            out.sizes.push(same.len());
        }
        out
    }

    /// Returns the groups of faces on the same points.
    pub fn groups(&self) -> impl Iterator<Item = &[CoincidentFace]> {
        let mut rest = &self.list[..];
        self.sizes.iter().map(move |&size| {
            let (set, after) = rest.split_at(size);
            rest = after;
            set
        })
    }
}

/// Returns the source's numbers of redundant faces: each repeats the first face of its material on its
/// points, with the same vertices at its corners. Ascending.
pub fn repeats(faces: &Faces, corner_vertex: &[u32], face_material: &[u32]) -> Vec<u32> {
    let doubles = CoincidentFaces::new(faces);
    let mut out = Vec::new();
    let mut first: HashMap<(bool, u32), &CoincidentFace> = HashMap::new();
    for set in doubles.groups() {
        first.clear();
        for double in set {
            let own = &faces.list[double.face as usize];
            let material = face_material[own.number as usize];
            let earlier = *first.entry((double.backward, material)).or_insert(double);
            let other = &faces.list[earlier.face as usize];
            let vertex =
                |double: &CoincidentFace, face: &Face, k| corner_vertex[double.corner(face, k) as usize];
            let same = |k: u32| vertex(double, own, k) == vertex(earlier, other, k);
            if earlier.face != double.face && (0..own.count).all(same) {
                out.push(own.number);
            }
        }
    }
    out.sort_unstable();
    out
}

/// Returns a number that is equal for all faces on the same points, whatever their order.
fn point_set_hash(points: &[u32]) -> u64 {
    let mix = |&p: &u32| {
        let mut x = u64::from(p).wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    points.iter().map(mix).fold(0, u64::wrapping_add)
}

/// Returns the canonical order of a face; `None` if a point is listed twice.
fn coincident_face(faces: &Faces, face: u32) -> Option<CoincidentFace> {
    let own = &faces.corner_point[faces.list[face as usize].range()];
    let mut sorted = own.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|w| w[0] == w[1]) {
        return None;
    }
    let n = own.len();
    let start = own.iter().position(|&p| p == sorted[0])?;
    Some(CoincidentFace {
        face,
        start: start as u32,
        backward: own[(start + n - 1) % n] < own[(start + 1) % n],
    })
}

/// Returns the number of points of a face, then the points in canonical order.
fn canonical_points<'a>(faces: &'a Faces, double: &'a CoincidentFace) -> impl Iterator<Item = u32> + 'a {
    let face = &faces.list[double.face as usize];
    let point = |k| faces.corner_point[double.corner(face, k) as usize];
    std::iter::once(face.count).chain((0..face.count).map(point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_and_opposites_are_found() {
        // A quad, a triangle, the quad rotated, the quad's other side, other quads on its points, a face with
        // a repeated point, and the same again.
        let quads = [[0, 1, 2, 3], [2, 3, 0, 1], [3, 2, 1, 0], [0, 2, 1, 3], [0, 1, 0, 2], [0, 1, 0, 2]];
        let mut counts = vec![4; 6];
        counts.insert(1, 3);
        let mut indices = quads.concat();
        indices.splice(4..4, [0, 1, 2]);
        let faces = Faces::new(&counts, &indices, 4);
        let doubles = CoincidentFaces::new(&faces);
        let sets: Vec<_> = doubles.groups().collect();
        assert_eq!(sets.len(), 1);
        let found: Vec<(u32, bool)> = sets[0].iter().map(|d| (d.face, d.backward)).collect();
        assert_eq!(found, [(0, false), (2, false), (3, true)]);
        // Corners in canonical order have the same points.
        for k in 0..4 {
            let of =
                |d: &CoincidentFace| faces.corner_point[d.corner(&faces.list[d.face as usize], k) as usize];
            assert!(sets[0].iter().all(|d| of(d) == k), "{k}");
        }
    }

    #[test]
    fn a_repeat_has_the_vertices_and_the_material_of_the_first() {
        // Repeats: rotated, with a vertex of its own, of another material, of the other side.
        let indices = [0, 1, 2, 1, 2, 0, 0, 1, 2, 0, 1, 2, 2, 1, 0, 0, 2, 1, 0, 1, 2];
        let faces = Faces::new(&[3; 7], &indices, 3);
        let mut vertex: Vec<u32> = faces.corner_point.clone();
        vertex[6] = 3;
        assert_eq!(repeats(&faces, &vertex, &[0, 0, 0, 1, 0, 0, 0]), [1, 5, 6]);
        assert_eq!(repeats(&faces, &vertex, &[0, 0, 0, 1, 0, 1, 1]), [1, 6]);
    }

    #[test]
    fn a_hundred_thousand_equal_faces_and_large_ones() {
        let mut counts = vec![3; 100_000];
        let mut indices = [0, 1, 2].repeat(100_000);
        for turn in 0..3 {
            counts.push(50_000);
            indices.extend((0..50_000).map(|k| (k + turn * 20_000) % 50_000));
        }
        let doubles = CoincidentFaces::new(&Faces::new(&counts, &indices, 50_000));
        let sizes: Vec<usize> = doubles.groups().map(<[CoincidentFace]>::len).collect();
        assert_eq!(sizes, [100_000, 3]);
    }
}
