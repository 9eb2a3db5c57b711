//! Distances of re-meshed meshes, whose promise is the distance from the other surface, both ways. It is
//! measured at the vertices and at the centres of triangles, so that nothing bridges a gap.
//!
//! Faces are in a tree of boxes over the order of their centres on a space-filling curve (G. Morton, 1966):
//! finding the nearest takes a few dozen tests. Triangles are exact. A quad counts with either diagonal; a
//! larger face counts as its plane, and the distance of its corners from that plane is allowed.

use crate::verify::polygons::{Polygons, is_usable};
use glam::{DMat4, DVec3};
use meshreel_extract::convert;
use meshreel_scene::{Error, Mesh, sample};

/// Number of faces in a leaf.
const LEAF: usize = 4;

/// Faces in a bounding volume hierarchy, for distances.
pub(crate) struct FaceTree<'a> {
    points: &'a [DVec3],
    /// Corners of all faces, one after the other.
    corners: Vec<u32>,
    /// First corner of each face in the order of the curve, and the end.
    faces: Vec<[u32; 2]>,
    /// Boxes of a complete binary tree, the root at 1; leaves are the second half.
    boxes: Vec<[DVec3; 2]>,
}

impl<'a> FaceTree<'a> {
    /// Builds the tree from the number of corners of each face in turn. Corners must have finite positions.
    pub fn new(points: &'a [DVec3], corners: Vec<u32>, counts: impl Iterator<Item = u32>) -> Self {
        let mut faces = Vec::new();
        let mut first = 0;
        for count in counts {
            faces.push([first, first + count]);
            first += count;
        }
        let place = |c: &u32| points[*c as usize];
        let boxed = |f: &[u32; 2]| {
            let own = corners[f[0] as usize..f[1] as usize].iter().map(place);
            own.fold(EMPTY_BOX, |[low, high], p| [low.min(p), high.max(p)])
        };
        let [low, high] = faces.iter().map(boxed).fold(EMPTY_BOX, join);
        let unit = (high - low).max(DVec3::splat(f64::MIN_POSITIVE));
        let curve = |f: &[u32; 2]| {
            let [a, b] = boxed(f);
            let at = ((a + b) / 2.0 - low) / unit * f64::from(1 << 20);
            spread(at.x as u64) | spread(at.y as u64) << 1 | spread(at.z as u64) << 2
        };
        faces.sort_by_cached_key(|f| (curve(f), f[0]));
        let leaves = faces.len().div_ceil(LEAF).next_power_of_two();
        let mut boxes = vec![EMPTY_BOX; 2 * leaves];
        for (leaf, own) in faces.chunks(LEAF).enumerate() {
            boxes[leaves + leaf] = own.iter().map(boxed).fold(EMPTY_BOX, join);
        }
        for n in (1..leaves).rev() {
            boxes[n] = join(boxes[2 * n], boxes[2 * n + 1]);
        }
        FaceTree { points, corners, faces, boxes }
    }

    /// Returns the distance of `p` from the nearest face; infinite without faces.
    pub fn distance(&self, p: DVec3) -> f64 {
        self.within(p, f64::INFINITY)
    }

    /// Returns the distance from `p` to the nearest face, or `best` if that is less; faster with a small
    /// `best`.
    pub fn within(&self, p: DVec3, mut best: f64) -> f64 {
        self.descend(1, p, &mut best);
        best
    }

    fn descend(&self, node: usize, p: DVec3, best: &mut f64) {
        let leaves = self.boxes.len() / 2;
        if node >= leaves {
            let first = (node - leaves) * LEAF;
            for face in self.faces.iter().skip(first).take(LEAF) {
                *best = best.min(self.face_distance(face, p));
            }
            return;
        }
        let away = |n: usize| match self.boxes[n] {
            [low, high] if low.x <= high.x => p.distance(p.clamp(low, high)),
            _ => f64::INFINITY,
        };
        let [mut near, mut far] = [2 * node, 2 * node + 1].map(|n| (away(n), n));
        if far.0 < near.0 {
            std::mem::swap(&mut near, &mut far);
        }
        for (distance, child) in [near, far] {
            if distance < *best {
                self.descend(child, p, best);
            }
        }
    }

    fn face_distance(&self, face: &[u32; 2], p: DVec3) -> f64 {
        let corners = &self.corners[face[0] as usize..face[1] as usize];
        let place = |k: usize| self.points[corners[k] as usize];
        if corners.len() == 4 {
            let ways = [[0, 1, 2], [0, 2, 3], [1, 2, 3], [1, 3, 0]];
            let one = |way: [usize; 3]| polygon_distance(p, &way.map(place));
            return ways.into_iter().map(one).fold(f64::INFINITY, f64::min);
        }
        if corners.len() == 3 {
            return polygon_distance(p, &[place(0), place(1), place(2)]);
        }
        let places: Vec<DVec3> = (0..corners.len()).map(place).collect();
        polygon_distance(p, &places)
    }
}

const EMPTY_BOX: [DVec3; 2] = [DVec3::INFINITY, DVec3::NEG_INFINITY];

fn join(a: [DVec3; 2], b: [DVec3; 2]) -> [DVec3; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// Spreads 21 bits, with two zeros between neighbours.
fn spread(x: u64) -> u64 {
    (0..21).fold(0, |all, bit| all | (x >> bit & 1) << (3 * bit))
}

/// Returns the distance from a polygon: from its plane if `p` is over its inside, else from its edges.
fn polygon_distance(p: DVec3, corners: &[DVec3]) -> f64 {
    let n = corners.len();
    let origin = corners[0];
    let mut normal = DVec3::ZERO;
    let mut best = f64::INFINITY;
    for k in 0..n {
        let (a, b) = (corners[k], corners[(k + 1) % n]);
        normal += (a - origin).cross(b - origin);
        let (way, to) = (b - a, p - a);
        let length = way.length_squared();
        let part = if length > 0.0 { (to.dot(way) / length).clamp(0.0, 1.0) } else { 0.0 };
        best = best.min(to.distance(way * part));
    }
    let Some(normal) = normal.try_normalize() else {
        return best;
    };
    // Seen along the polygon's dominant axis, the number of edges on one side of `p`.
    let size = normal.abs();
    let drop = if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    };
    let (u, v) = ((drop + 1) % 3, (drop + 2) % 3);
    let middle = corners.iter().sum::<DVec3>() / n as f64;
    let height = (p - middle).dot(normal);
    let on = p - normal * height;
    let mut inside = false;
    for k in 0..n {
        let (a, b) = (corners[k], corners[(k + 1) % n]);
        if (a[v] > on[v]) != (b[v] > on[v]) {
            let cross = a[u] + (on[v] - a[v]) / (b[v] - a[v]) * (b[u] - a[u]);
            inside ^= on[u] < cross;
        }
    }
    if inside {
        let off = |c: &DVec3| (*c - middle).dot(normal).abs();
        let bent = match n {
            3 => 0.0,
            _ => corners.iter().map(off).fold(0.0, f64::max),
        };
        best = best.min((height.abs() - bent).max(0.0));
    }
    best
}

/// Returns the faces of the source whose corners are all at usable points, and the places on them that are
/// compared: those points, and the centres of triangles.
pub(crate) fn source_faces<'a>(
    polygons: &Polygons,
    raw: &[[f32; 3]],
    points: &'a [DVec3],
) -> (FaceTree<'a>, Vec<DVec3>) {
    let (mut corners, mut counts) = (Vec::new(), Vec::new());
    let mut used = vec![false; points.len()];
    let mut middles = Vec::new();
    for face in &polygons.faces {
        let own = &polygons.point[face.corners()];
        if !own.iter().all(|&p| is_usable(raw[p as usize])) {
            continue;
        }
        own.iter().for_each(|&p| used[p as usize] = true);
        if let &[a, b, c] = own {
            middles.push([a, b, c].map(|p| points[p as usize]).iter().sum::<DVec3>() / 3.0);
        }
        corners.extend_from_slice(own);
        counts.push(own.len() as u32);
    }
    let used = points.iter().zip(used).filter(|(_, used)| *used);
    let places = used.map(|(p, _)| *p).chain(middles).collect();
    (FaceTree::new(points, corners, counts.into_iter()), places)
}

/// Returns the distance of each of `points`, in world space, from the surface of `mesh` at `time` under
/// `matrix`; infinite if it has no faces.
pub fn distances(mesh: &Mesh, time: f64, matrix: &DMat4, points: &[DVec3]) -> Result<Vec<f64>, Error> {
    let (mut faces, mut raw) = (sample::Faces::default(), Vec::new());
    sample::faces_at(mesh, time, &mut faces)?;
    sample::positions_at(mesh, time, &mut raw)?;
    let polygons = Polygons::new(&faces, raw.len(), mesh.winding);
    let world = raw.iter();
    let world: Vec<DVec3> = world.map(|p| matrix.transform_point3(convert::vector(*p))).collect();
    let (faces, _) = source_faces(&polygons, &raw, &world);
    Ok(points.iter().map(|p| faces.distance(*p)).collect())
}

/// Returns the triangles of the file, and the places on them that are compared: the vertices that they use,
/// and their centres.
pub(crate) fn file_faces<'a>(indices: &[u32], points: &'a [DVec3]) -> (FaceTree<'a>, Vec<DVec3>) {
    let mut used = vec![false; points.len()];
    indices.iter().for_each(|&v| used[v as usize] = true);
    let middle = |t: &[u32; 3]| t.iter().map(|&v| points[v as usize]).sum::<DVec3>() / 3.0;
    let middles = indices.as_chunks().0.iter().map(middle);
    let used = points.iter().zip(used).filter(|(_, used)| *used);
    let places = used.map(|(p, _)| *p).chain(middles).collect();
    let counts = std::iter::repeat_n(3, indices.len() / 3);
    (FaceTree::new(points, indices.to_vec(), counts), places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*seed >> 33) as f64 / f64::from(1u32 << 31)
    }

    #[test]
    fn the_tree_finds_what_looking_at_all_finds() {
        let mut seed = 5;
        let points: Vec<DVec3> =
            (0..900).map(|_| DVec3::from_array([(); 3].map(|()| random(&mut seed)))).collect();
        let corners: Vec<u32> = (0..900).collect();
        let counts = || std::iter::repeat_n(3, 100).chain(std::iter::repeat_n(4, 150));
        let faces = FaceTree::new(&points, corners.clone(), counts());
        for _ in 0..200 {
            let p = DVec3::from_array([(); 3].map(|()| random(&mut seed) * 3.0 - 1.0));
            let all = faces.faces.iter().map(|f| faces.face_distance(f, p));
            assert_eq!(faces.distance(p), all.fold(f64::INFINITY, f64::min));
        }
        assert_eq!(
            FaceTree::new(&points, Vec::new(), std::iter::empty()).distance(DVec3::ZERO),
            f64::INFINITY
        );
    }

    #[test]
    fn distances_from_polygons() {
        let [x, y, z] = [DVec3::X, DVec3::Y, DVec3::Z];
        let triangle = [DVec3::ZERO, x, y];
        for (p, distance) in
            [(x * 0.2 + y * 0.2 + z * 3.0, 3.0), (x * -2.0, 2.0), (x + y, 0.5f64.sqrt()), (x * 0.3, 0.0)]
        {
            assert!((polygon_distance(p, &triangle) - distance).abs() < 1e-12, "{p}");
        }
        // An L: points between its arms are outside.
        let l = [DVec3::ZERO, x * 3.0, x * 3.0 + y, x + y, x + y * 3.0, y * 3.0];
        assert!((polygon_distance(x * 2.0 + y * 2.0, &l) - 1.0).abs() < 1e-12);
        assert!(polygon_distance(x * 0.5 + y * 2.0, &l).abs() < 1e-12);
        // Without area: the remaining segment.
        assert!((polygon_distance(y, &[DVec3::ZERO, x, x * 0.5]) - 1.0).abs() < 1e-12);
        // Over a bent quad, either diagonal counts.
        let points = [DVec3::ZERO, x, x + y + z, y];
        let faces = FaceTree::new(&points, vec![0, 1, 2, 3], std::iter::once(4));
        let half = (x + y) / 2.0;
        assert!(faces.distance(half) < 1e-12 && faces.distance(half + z / 2.0) < 1e-12);
    }
}
