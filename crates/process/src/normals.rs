//! Smooth normals where the source has none.
//!
//! Every corner adds the unit normal of its face, weighted by the interior angle there (G. Thürmer, C.
//! Wüthrich, *Computing vertex normals from polygonal facets*, 1998), so that the result does not depend on
//! the triangulation: it is computed on the source's polygons. Face normals are M. Newell's; concave corners
//! count with their angle above 180°. Sums are in f64 and in corner order, hence the same on every run.
//!
//! Corners that share a normal form a *group*: all corners of a point, or with a crease angle the corners of
//! a point that are connected over edges that are less sharp. Without a crease angle, the corners of a point
//! are still separated if faces have their other side on the same points: two faces stay together if they
//! traverse an edge in opposite directions and are not each other's other side.
//!
//! Where the weighted normals of a group cancel each other, down to `CANCELLED_FRACTION` of the sum of the
//! weights, no normal is defined (`docs/PROMISE.md`); the group then has that of its first face.

use super::faces::{Faces, NO_GROUP};
use crate::angle::angle_of;
use crate::repeats::CoincidentFaces;
use meshreel_scene::Winding;

/// Length of a sum of weighted unit normals, as a fraction of the sum of their weights, below which it is
/// only rounding error. Well below the 1e-6 below which no guarantee is given, so that two ways to compute a
/// sum cannot disagree where one is.
const CANCELLED_FRACTION: f64 = 1e-9;

/// The groups of corners that share a normal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmoothingGroups {
    /// By corner, its group; [`NO_GROUP`] if it has none.
    pub corner: Vec<u32>,
    /// The number of groups.
    pub count: usize,
    /// `true` if some corners of one point are in different groups.
    pub splits_points: bool,
}

/// Returns smoothing groups. `angle` in degrees: edges at which the normals of the two faces differ by more
/// are hard; `None` or ≥ 180: the groups are the points, except for the two sides of faces on the same
/// points. Boundary edges, edges of more than two faces and edges whose faces are wound in different ways are
/// hard.
pub fn smooth_groups(positions: &[[f32; 3]], faces: &Faces, angle: Option<f64>) -> SmoothingGroups {
    let Some(angle) = angle.filter(|a| *a < 180.0) else {
        return two_sided_groups(faces);
    };
    let limit = angle.max(0.0).to_radians().cos();
    // Rounding must not make the edges between two coplanar faces hard.
    let limit = limit.min(1.0 - 1e-12);
    let corners = faces.corner_point.len();
    let mut next = vec![NO_GROUP; corners];
    let mut normal_of_corner_face = vec![NO_GROUP; corners];
    let mut face_normals = Vec::with_capacity(faces.list.len());
    // Undirected edges: both points, and the corner at which the edge begins.
    let mut edges: Vec<(u32, u32, u32)> = Vec::with_capacity(corners);
    for (number, face) in faces.list.iter().enumerate() {
        let range = face.range();
        face_normals.push(unit(face_normal(positions, &faces.corner_point[range.clone()])));
        for c in range.clone() {
            let after = if c + 1 == range.end { range.start } else { c + 1 };
            next[c] = after as u32;
            normal_of_corner_face[c] = number as u32;
            let (a, b) = (faces.corner_point[c], faces.corner_point[after]);
            edges.push((a.min(b), a.max(b), c as u32));
        }
    }
    edges.sort_unstable();
    let mut sets = UnionFind((0..corners as u32).collect());
    for same in edges.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        let &[(a, b, c), (_, _, d)] = same else {
            continue;
        };
        let point = |c: u32| faces.corner_point[c as usize];
        if a == b || point(c) == point(d) {
            continue;
        }
        let [n, m] = [c, d].map(|c| face_normals[normal_of_corner_face[c as usize] as usize]);
        let soft = match (n, m) {
            (Some(n), Some(m)) => dot(n, m) >= limit,
            // A face without area has no normal to compare.
            _ => true,
        };
        if soft {
            sets.join(c, next[d as usize]);
            sets.join(next[c as usize], d);
        }
    }
    sets.groups(&faces.corner_point)
}

/// Groups the corners of each point, with the two sides of a face separated.
fn two_sided_groups(faces: &Faces) -> SmoothingGroups {
    let doubles = CoincidentFaces::new(faces);
    let two_sided = || (doubles.groups()).filter(|set| set[0].backward != set[set.len() - 1].backward);
    if two_sided().next().is_none() {
        return SmoothingGroups {
            corner: faces.corner_point.clone(),
            count: faces.points,
            splits_points: false,
        };
    }
    let mut marked = vec![false; faces.points];
    // Faces on the same points have the same number.
    let mut shape: Vec<u32> = (0..faces.list.len() as u32).collect();
    let mut sets = UnionFind((0..faces.corner_point.len() as u32).collect());
    for set in two_sided() {
        let first = faces.list[set[0].face as usize];
        for &p in &faces.corner_point[first.range()] {
            marked[p as usize] = true;
        }
    }
    for set in doubles.groups() {
        for pair in set.windows(2).filter(|p| p[0].backward == p[1].backward) {
            let [a, b] = [0, 1].map(|i| (&pair[i], &faces.list[pair[i].face as usize]));
            for k in 0..a.1.count {
                sets.join(a.0.corner(a.1, k), b.0.corner(b.1, k));
            }
        }
        for double in set {
            shape[double.face as usize] = set[0].face;
        }
    }
    // Edges at such points: both points, whether the edge runs from the smaller one, the face's number, and
    // its corners at both points.
    let mut edges: Vec<(u32, u32, bool, u32, [u32; 2])> = Vec::new();
    let mut first_corner = vec![NO_GROUP; faces.points];
    for (face, &shape) in faces.list.iter().zip(&shape) {
        let range = face.range();
        for c in range.clone() {
            let d = if c + 1 == range.end { range.start } else { c + 1 };
            let [a, b] = [c, d].map(|c| faces.corner_point[c]);
            if !marked[a as usize] {
                let first = &mut first_corner[a as usize];
                *first = (*first).min(c as u32);
                sets.join(*first, c as u32);
            }
            if a != b && (marked[a as usize] || marked[b as usize]) {
                let (c, d) = (c as u32, d as u32);
                edges.push(match a < b {
                    true => (a, b, true, shape, [c, d]),
                    false => (b, a, false, shape, [d, c]),
                });
            }
        }
    }
    edges.sort_unstable();
    for same in edges.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        let (back, forth) = same.split_at(same.partition_point(|e| !e.2));
        // Every face is joined with those that run the other way and are not its other side: two of those
        // reach all that can be reached.
        for (one, others) in [(back, forth), (forth, back)] {
            let Some(first) = others.first() else {
                continue;
            };
            let second = others.iter().find(|e| e.3 != first.3);
            for edge in one {
                for other in [Some(first), second].into_iter().flatten() {
                    if edge.3 == other.3 {
                        continue;
                    }
                    for (k, point) in [edge.0, edge.1].into_iter().enumerate() {
                        if marked[point as usize] {
                            sets.join(edge.4[k], other.4[k]);
                        }
                    }
                }
            }
        }
    }
    sets.groups(&faces.corner_point)
}

/// Returns the unit normal of each group, pointing outside. Groups without faces of any area get +z.
pub fn normals(
    positions: &[[f32; 3]],
    faces: &Faces,
    winding: Winding,
    groups: &SmoothingGroups,
) -> Vec<[f64; 3]> {
    let mut sums = vec![[0f64; 3]; groups.count];
    let mut weights = vec![0f64; groups.count];
    let mut local: Vec<[f64; 3]> = Vec::new();
    for face in &faces.list {
        let range = face.range();
        let points = &faces.corner_point[range.clone()];
        let Some(n) = unit(face_normal(positions, points)) else {
            continue;
        };
        local.clear();
        local.extend(points.iter().map(|&p| position(positions, p)));
        let count = local.len();
        for i in 0..count {
            let before = local[if i == 0 { count - 1 } else { i - 1 }];
            let after = local[if i + 1 == count { 0 } else { i + 1 }];
            let w = interior_angle(before, local[i], after, n);
            let group = groups.corner[range.start + i] as usize;
            weights[group] += w;
            let sum = &mut sums[group];
            for k in 0..3 {
                sum[k] += w * n[k];
            }
        }
    }
    let sign = match winding {
        Winding::CounterClockwise => 1.0,
        Winding::Clockwise => -1.0,
    };
    let mut cancelled = vec![false; groups.count];
    for ((cancelled, sum), weight) in cancelled.iter_mut().zip(&sums).zip(&weights) {
        *cancelled = *weight > 0.0 && dot(*sum, *sum).sqrt() <= CANCELLED_FRACTION * weight;
    }
    if cancelled.contains(&true) {
        for face in &faces.list {
            let range = face.range();
            let hit = |&group: &u32| cancelled[group as usize];
            if !groups.corner[range.clone()].iter().any(hit) {
                continue;
            }
            if let Some(n) = unit(face_normal(positions, &faces.corner_point[range.clone()])) {
                for &group in &groups.corner[range] {
                    if std::mem::take(&mut cancelled[group as usize]) {
                        sums[group as usize] = n;
                    }
                }
            }
        }
    }
    sums.iter().map(|&s| unit(s).map_or([0.0, 0.0, 1.0], |n| n.map(|v| sign * v))).collect()
}

/// Returns the interior angle of a face with normal `n` at `p`, in radians, 0 … 2π.
fn interior_angle(before: [f64; 3], p: [f64; 3], after: [f64; 3], n: [f64; 3]) -> f64 {
    let (u, v) = (sub(after, p), sub(before, p));
    let c = cross(u, v);
    let (sine, cosine) = (dot(c, c).sqrt(), dot(u, v));
    let angle = angle_of(sine, cosine);
    // If the edges coincide, the sign of the sine is noise; such a spike has the angle 0. The same holds if
    // the corner stands upright on its face.
    let straight = sine * sine <= 1e-18 * (dot(u, u) * dot(v, v));
    if !straight && dot(c, n) < -1e-9 * sine { std::f64::consts::TAU - angle } else { angle }
}

/// Returns twice the vector area, following the source's winding.
fn face_normal(positions: &[[f32; 3]], points: &[u32]) -> [f64; 3] {
    let origin = position(positions, points[0]);
    let mut last = sub(position(positions, points[1]), origin);
    let mut sum = [0.0; 3];
    for &p in &points[2..] {
        let d = sub(position(positions, p), origin);
        let c = cross(last, d);
        sum = [sum[0] + c[0], sum[1] + c[1], sum[2] + c[2]];
        last = d;
    }
    sum
}

/// Returns a unit vector; `None` if the vector is zero or not finite.
fn unit(v: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot(v, v).sqrt();
    (length > 1e-150 && length.is_finite()).then(|| v.map(|x| x / length))
}

fn position(positions: &[[f32; 3]], point: u32) -> [f64; 3] {
    positions[point as usize].map(f64::from)
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Union–find; the smallest member is the root.
struct UnionFind(Vec<u32>);

impl UnionFind {
    fn find(&mut self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            let up = self.0[self.0[x as usize] as usize];
            self.0[x as usize] = up;
            x = up;
        }
        x
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// Numbers the sets of those corners that have a point.
    fn groups(mut self, corner_point: &[u32]) -> SmoothingGroups {
        let mut groups =
            SmoothingGroups { corner: vec![NO_GROUP; corner_point.len()], count: 0, splits_points: true };
        for c in 0..corner_point.len() {
            if corner_point[c] == NO_GROUP {
                continue;
            }
            // Roots are the smallest members, so a root has its number before the others need it.
            let root = self.find(c as u32) as usize;
            if root == c {
                groups.corner[c] = groups.count as u32;
                groups.count += 1;
            } else {
                groups.corner[c] = groups.corner[root];
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBE: [[f32; 3]; 8] = [
        [-1., -1., -1.],
        [1., -1., -1.],
        [1., 1., -1.],
        [-1., 1., -1.],
        [-1., -1., 1.],
        [1., -1., 1.],
        [1., 1., 1.],
        [-1., 1., 1.],
    ];
    /// Counter-clockwise from outside.
    const CUBE_FACES: [i32; 24] = [0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4, 2, 3, 7, 6, 1, 2, 6, 5, 0, 4, 7, 3];

    fn close(a: [f64; 3], b: [f64; 3]) -> bool {
        (0..3).all(|k| (a[k] - b[k]).abs() < 1e-6)
    }

    #[test]
    fn a_cube_is_smooth_or_hard() {
        let faces = Faces::new(&[4; 6], &CUBE_FACES, 8);
        let d = 1.0 / 3f64.sqrt();
        let all = smooth_groups(&CUBE, &faces, None);
        assert_eq!(all.count, 8);
        let n = normals(&CUBE, &faces, Winding::CounterClockwise, &all);
        for (n, p) in n.iter().zip(&CUBE) {
            assert!(close(*n, p.map(|v| f64::from(v) * d)));
        }
        let clockwise = normals(&CUBE, &faces, Winding::Clockwise, &all);
        assert!(close(clockwise[6], [-d; 3]));

        let hard = smooth_groups(&CUBE, &faces, Some(60.0));
        assert_eq!(hard.count, 24);
        let n = normals(&CUBE, &faces, Winding::CounterClockwise, &hard);
        assert!((0..4).all(|c| close(n[hard.corner[c] as usize], [0., 0., -1.])));
        assert_eq!(smooth_groups(&CUBE, &faces, Some(91.0)).count, 8);
    }

    #[test]
    fn cutting_faces_changes_nothing() {
        let quads = Faces::new(&[4; 6], &CUBE_FACES, 8);
        let mut triangles = Vec::new();
        for (i, q) in CUBE_FACES.chunks(4).enumerate() {
            // Alternating diagonals: an unweighted sum would lean towards the faces cut at a point.
            let k = i % 2;
            triangles.extend([q[k], q[k + 1], q[k + 2], q[k], q[k + 2], q[(k + 3) % 4]]);
        }
        let triangles = Faces::new(&[3; 12], &triangles, 8);
        let all = smooth_groups(&CUBE, &quads, None);
        let a = normals(&CUBE, &quads, Winding::CounterClockwise, &all);
        let all = smooth_groups(&CUBE, &triangles, None);
        let b = normals(&CUBE, &triangles, Winding::CounterClockwise, &all);
        assert!(a.iter().zip(&b).all(|(a, b)| close(*a, *b)));
    }

    #[test]
    fn concave_corners_weigh_more_than_half_a_turn() {
        // An L in the plane: six interior angles, 90° five times and 270° once.
        let p: [[f64; 3]; 6] =
            [[0., 0., 0.], [2., 0., 0.], [2., 1., 0.], [1., 1., 0.], [1., 2., 0.], [0., 2., 0.]];
        let angles: Vec<f64> = (0..6)
            .map(|i| interior_angle(p[(i + 5) % 6], p[i], p[(i + 1) % 6], [0., 0., 1.]).to_degrees())
            .collect();
        for (angle, expected) in angles.iter().zip([90., 90., 90., 270., 90., 90.]) {
            assert!((angle - expected).abs() < 1e-9, "{angles:?}");
        }
    }

    #[test]
    fn a_crease_parts_only_the_corners_along_it() {
        // A 2×2 sheet folded by 90° along the middle column, points 1, 4, 7.
        let mut points = Vec::new();
        for y in 0..3 {
            for x in 0..3 {
                points.push(if x < 2 { [x as f32, y as f32, 0.] } else { [1., y as f32, 1.] });
            }
        }
        let quads = [0, 1, 4, 3, 1, 2, 5, 4, 3, 4, 7, 6, 4, 5, 8, 7];
        let faces = Faces::new(&[4; 4], &quads, 9);
        let groups = smooth_groups(&points, &faces, Some(30.0));
        assert_eq!(groups.count, 9 + 3);
        let n = normals(&points, &faces, Winding::CounterClockwise, &groups);
        assert!(close(n[groups.corner[2] as usize], [0., 0., 1.]));
        assert!(close(n[groups.corner[7] as usize], [-1., 0., 0.]));
        assert_eq!(groups.corner[2], groups.corner[9]);
        assert_ne!(groups.corner[2], groups.corner[7]);
    }

    #[test]
    fn messy_input_gives_unit_normals() {
        let points = [
            [0., 0., 0.],
            [1., 0., 0.],
            [1., 1., 0.],
            [f32::NAN, 0., 0.],
            [5., 5., 5.],
            [f32::MAX, f32::MAX, f32::MIN],
        ];
        // Zero area, repeated point, NaN, an edge of three faces, faces that turn both ways, a loose point.
        let indices = [0, 0, 0, 0, 1, 1, 0, 1, 3, 0, 1, 2, 0, 1, 2, 1, 0, 2, 0, 1, 5];
        let faces = Faces::new(&[3; 7], &indices, 6);
        for angle in [None, Some(0.0), Some(30.0), Some(180.0), Some(f64::NAN)] {
            let groups = smooth_groups(&points, &faces, angle);
            assert!(groups.corner.iter().all(|&g| (g as usize) < groups.count));
            for n in normals(&points, &faces, Winding::Clockwise, &groups) {
                let length = n.iter().map(|v| v * v).sum::<f64>();
                assert!((length - 1.0).abs() < 1e-5, "{n:?}");
            }
        }
        let one = Faces::new(&[3], &indices[..3], 6);
        let all = smooth_groups(&points, &one, None);
        assert_eq!(normals(&points, &one, Winding::Clockwise, &all)[4], [0., 0., 1.]);
    }

    /// A sheet of n×n quads on (n+1)² points, in the plane z = 0.
    fn sheet(n: i32) -> (Vec<[f32; 3]>, Vec<i32>) {
        let points = (0..(n + 1) * (n + 1)).map(|p| [(p % (n + 1)) as f32, (p / (n + 1)) as f32, 0.]);
        let quad = |q: i32| {
            let a = q / n * (n + 1) + q % n;
            [a, a + 1, a + n + 2, a + n + 1]
        };
        (points.collect(), (0..n * n).flat_map(quad).collect())
    }

    #[test]
    fn the_sides_of_a_leaf_card_have_their_own_normals() {
        let (points, front) = sheet(3);
        let mut both = front.clone();
        both.extend(front.chunks(4).flat_map(|q| [q[3], q[2], q[1], q[0]]));
        let faces = Faces::new(&[4; 18], &both, 16);
        for angle in [None, Some(180.0)] {
            let groups = smooth_groups(&points, &faces, angle);
            assert!(groups.splits_points);
            assert_eq!(groups.count, 32, "one per point and side");
            let n = normals(&points, &faces, Winding::CounterClockwise, &groups);
            for c in 0..both.len() {
                let up = if c < front.len() { 1. } else { -1. };
                assert!(close(n[groups.corner[c] as usize], [0., 0., up]), "{c}");
            }
        }
        // The front again, and a wing at one corner that has only one side and belongs to the front.
        let mut more = both.clone();
        more.extend(&front);
        more.extend([1, 0, 16, 17]);
        let mut points = points.clone();
        points.extend([[0., -1., 0.], [1., -1., 0.]]);
        let faces = Faces::new(&[4; 28], &more, 18);
        let groups = smooth_groups(&points, &faces, None);
        assert_eq!(groups.count, 34);
        assert_eq!(groups.corner[both.len()..][..front.len()], groups.corner[..front.len()]);
        assert_eq!(groups.corner[more.len() - 4..][..2], [groups.corner[1], groups.corner[0]]);
        // A sheet with one side is unchanged.
        let faces = Faces::new(&[4; 9], &front, 16);
        let groups = smooth_groups(&points, &faces, None);
        assert!(!groups.splits_points && groups.corner == faces.corner_point);
    }

    #[test]
    fn what_cancels_has_the_normal_of_its_first_face() {
        // A folded sheet whose halves coincide and share only the points of the fold, 0 and 1.
        let points =
            [[0., 0., 0.], [0., 1., 0.], [0.3, 0.9, 0.1], [0.3, 0.1, 0.1], [0.3, 0.9, 0.1], [0.3, 0.1, 0.1]];
        let faces = Faces::new(&[4; 2], &[0, 1, 2, 3, 1, 0, 5, 4], 6);
        let groups = smooth_groups(&points, &faces, None);
        let n = normals(&points, &faces, Winding::CounterClockwise, &groups);
        assert!(close(n[0], n[2]) && close(n[1], n[2]), "{n:?}");
        assert!(close(n[2], n[4].map(|v| -v)));
    }

    #[test]
    fn two_hundred_thousand_faces_on_one_edge() {
        // Triangles of both sides around the edge 0–1, each with a point of its own.
        let count = 100_000;
        let indices: Vec<i32> = (0..count).flat_map(|i| [0, 1, i + 2, 1, 0, i + 2]).collect();
        let faces = Faces::new(&vec![3; 2 * count as usize], &indices, count as usize + 2);
        let groups = two_sided_groups(&faces);
        // The points of the edge have one group, since all other triangles lie between the two sides of one;
        // the other points have two.
        assert_eq!(groups.count, 2 + 2 * count as usize);
    }

    #[test]
    fn a_corner_that_stands_upright_has_its_angle_on_either_side() {
        // The component of its sine along the normal is noise.
        for noise in [1e-17, 0.0, -1e-17] {
            let angle = interior_angle([0.0, 1.0, 0.0], [0.0; 3], [1.0, 0.0, 0.0], [1.0, 0.0, noise]);
            assert!((angle - std::f64::consts::FRAC_PI_2).abs() < 1e-12, "{angle}");
        }
    }

    #[test]
    fn a_spike_has_no_angle() {
        let n = [0., 0., 1.];
        let a = interior_angle([1., 1e-17, 0.], [0.; 3], [1., 0., 0.], n);
        let b = interior_angle([1., -1e-17, 0.], [0.; 3], [1., 0., 0.], n);
        assert!(a < 1e-9 && b < 1e-9);
    }
}
