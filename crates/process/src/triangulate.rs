//! Triangulates polygons. Every usable face with n corners gives exactly n − 2 triangles that use only its
//! corners, whatever its points are; only their quality depends on the points.
//!
//! * Quads: the diagonal that flips no triangle, of two such the shorter one (order-independent, so that
//!   mirrored meshes get mirrored triangles; M. Mikkelsen advises the same for tangent spaces).
//! * Larger faces: ear clipping (G. Meisters, *Polygons have ears*, 1975; the reflex list as in D. Eberly,
//!   *Triangulation by ear clipping*) in the plane of the Newell normal. Points are projected along that
//!   normal onto the coordinate plane that it faces most, which keeps the signs of areas, and keeps
//!   axis-aligned input exact.
//! * Faces without a plane (zero area, not finite) become fans. If no ear is left (self-intersection), the
//!   flattest corner is cut. Work is bounded by a budget over the whole mesh; a face that exceeds it ends as
//!   a fan.

use super::faces::{DroppedFaces, Face, Faces};
use meshreel_scene::Winding;
use std::collections::VecDeque;

/// Triangles of a mesh.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Triangles {
    /// By triangle, three corners: indices into the source's corner list, counter-clockwise seen from
    /// outside.
    pub corners: Vec<[u32; 3]>,
    /// By triangle, its face's number in the source.
    pub faces: Vec<u32>,
    /// Faces without triangles.
    pub dropped: DroppedFaces,
}

impl Triangles {
    /// Removes the triangles of these faces, given in ascending order.
    pub fn leave_out(&mut self, faces: &[u32]) {
        let stays = |face: &u32| faces.binary_search(face).is_err();
        let kept: Vec<bool> = self.faces.iter().map(stays).collect();
        let mut at = kept.iter();
        self.corners.retain(|_| at.next() == Some(&true));
        let mut at = kept.iter();
        self.faces.retain(|_| at.next() == Some(&true));
    }
}

/// Triangulates faces given as corners per face and point per corner.
pub fn triangulate(positions: &[[f32; 3]], counts: &[i32], indices: &[i32], winding: Winding) -> Triangles {
    triangulate_faces(positions, &Faces::new(counts, indices, positions.len()), winding)
}

/// Triangulates faces that have been read already. `positions` must be those that the faces were checked
/// against.
pub fn triangulate_faces(positions: &[[f32; 3]], faces: &Faces, winding: Winding) -> Triangles {
    let total = faces.triangles();
    let mut out = Triangles {
        corners: Vec::with_capacity(total),
        faces: Vec::with_capacity(total),
        dropped: faces.dropped,
    };
    let mut clipper = Clipper {
        // Ear tests are quadratic in the corners of one face. The budget allows a few faces of ten thousand
        // corners and keeps hostile ones (a million corners, all of them reflex) from taking minutes.
        budget: 400_000_000 + 256 * faces.corner_point.len() as u64,
        ..Clipper::default()
    };
    for face in &faces.list {
        let points = &faces.corner_point[face.range()];
        let begin = out.corners.len();
        match face.count {
            3 => push(&mut out.corners, face, [0, 1, 2]),
            4 => {
                for t in quad(std::array::from_fn(|i| position(positions, points[i]))) {
                    push(&mut out.corners, face, t);
                }
            }
            _ => clipper.clip(positions, points, |t| push(&mut out.corners, face, t)),
        }
        debug_assert_eq!(out.corners.len() - begin, face.count as usize - 2);
        out.faces.resize(out.corners.len(), face.number);
    }
    if winding == Winding::Clockwise {
        for t in &mut out.corners {
            t.swap(1, 2);
        }
    }
    out
}

fn push(out: &mut Vec<[u32; 3]>, face: &Face, local: [u32; 3]) {
    out.push(local.map(|k| face.first + k));
}

fn position(positions: &[[f32; 3]], point: u32) -> [f64; 3] {
    positions[point as usize].map(f64::from)
}

/// Returns the two triangles of a quad.
fn quad(p: [[f64; 3]; 4]) -> [[u32; 3]; 2] {
    let normal = newell(p.iter().copied());
    let turn = |a: usize, b: usize, c: usize| dot(cross(sub(p[b], p[a]), sub(p[c], p[a])), normal);
    let first = turn(0, 1, 2).min(turn(0, 2, 3));
    let second = turn(1, 2, 3).min(turn(1, 3, 0));
    let length = |a: usize, b: usize| {
        let d = sub(p[a], p[b]);
        dot(d, d)
    };
    let use_second = if first > 0.0 && second > 0.0 {
        length(1, 3) < length(0, 2)
    } else {
        // NaN compares false and keeps the first diagonal.
        second > first
    };
    if use_second { [[1, 2, 3], [1, 3, 0]] } else { [[0, 1, 2], [0, 2, 3]] }
}

/// Returns twice the vector area of a polygon: M. Newell's normal. Differences from the first point keep
/// far-away faces exact.
fn newell(points: impl Iterator<Item = [f64; 3]> + Clone) -> [f64; 3] {
    let mut rest = points.clone();
    let Some(origin) = rest.next() else {
        return [0.0; 3];
    };
    let mut sum = [0.0; 3];
    let mut last: Option<[f64; 3]> = None;
    for p in rest {
        let d = sub(p, origin);
        if let Some(last) = last {
            let c = cross(last, d);
            sum = [sum[0] + c[0], sum[1] + c[1], sum[2] + c[2]];
        }
        last = Some(d);
    }
    sum
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

const ABSENT: u32 = u32::MAX;

/// Ear clipping with buffers that are reused for each face. Corners are numbered from 0 within the face.
#[derive(Default)]
struct Clipper {
    /// Corners in the plane; the polygon is counter-clockwise there.
    xy: Vec<[f64; 2]>,
    /// The remaining polygon, as a ring.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// Corners with an interior angle of 180° or more: only these can lie inside an ear.
    reflex: Vec<u32>,
    /// By corner, its index in `reflex`.
    reflex_index: Vec<u32>,
    /// Corners that may be ears, and whether a corner is among them.
    queue: VecDeque<u32>,
    queued: Vec<bool>,
    gone: Vec<bool>,
    /// Remaining point-in-triangle tests for the whole mesh.
    budget: u64,
}

impl Clipper {
    fn clip(&mut self, positions: &[[f32; 3]], points: &[u32], mut emit: impl FnMut([u32; 3])) {
        let n = points.len() as u32;
        if !self.project(positions, points) {
            (1..n - 1).for_each(|i| emit([0, i, i + 1]));
            return;
        }
        self.start_ring(n);
        let mut left = n;
        let mut any = 0;
        while left > 3 {
            let mut stuck = false;
            let ear = match self.queue.pop_front() {
                Some(v) => {
                    self.queued[v as usize] = false;
                    if self.gone[v as usize] || !self.is_ear(v) {
                        continue;
                    }
                    v
                }
                None => {
                    // Not a simple polygon. Cuts the least harmful corner, then tests all corners again.
                    if self.budget == 0 {
                        break;
                    }
                    stuck = true;
                    self.budget = self.budget.saturating_sub(u64::from(left));
                    self.flattest(any)
                }
            };
            emit([self.previous[ear as usize], ear, self.next[ear as usize]]);
            any = self.next[ear as usize];
            self.cut(ear);
            left -= 1;
            if stuck && left > 3 {
                self.enqueue_ring(any);
            }
        }
        // The last triangle, or a fan if the budget is used up.
        let first = any;
        let mut b = self.next[first as usize];
        while self.next[b as usize] != first {
            let c = self.next[b as usize];
            emit([first, b, c]);
            b = c;
        }
    }

    /// Projects the corners into the plane. Returns `false` if there is none.
    fn project(&mut self, positions: &[[f32; 3]], points: &[u32]) -> bool {
        let normal = newell(points.iter().map(|&p| position(positions, p)));
        let size = normal.map(f64::abs);
        let k = if size[2] >= size[0] && size[2] >= size[1] {
            2
        } else if size[1] >= size[0] {
            1
        } else {
            0
        };
        if !(size[k] > 0.0 && size.iter().all(|s| s.is_finite())) {
            return false;
        }
        // Cyclic order of the axes keeps orientation; a normal that looks down the axis swaps them.
        let (mut i, mut j) = ((k + 1) % 3, (k + 2) % 3);
        if normal[k] < 0.0 {
            std::mem::swap(&mut i, &mut j);
        }
        let (slope_i, slope_j) = (normal[i] / normal[k], normal[j] / normal[k]);
        let origin = position(positions, points[0]);
        self.xy.clear();
        self.xy.extend(points.iter().map(|&p| {
            let d = sub(position(positions, p), origin);
            [d[i] - d[k] * slope_i, d[j] - d[k] * slope_j]
        }));
        self.xy.iter().flatten().all(|v| v.is_finite())
    }

    fn start_ring(&mut self, n: u32) {
        let size = n as usize;
        self.next.clear();
        self.next.extend((0..n).map(|i| if i + 1 == n { 0 } else { i + 1 }));
        self.previous.clear();
        self.previous.extend((0..n).map(|i| if i == 0 { n - 1 } else { i - 1 }));
        self.reflex.clear();
        self.reflex_index.clear();
        self.reflex_index.resize(size, ABSENT);
        self.gone.clear();
        self.gone.resize(size, false);
        self.queued.clear();
        self.queued.resize(size, false);
        self.queue.clear();
        for v in 0..n {
            self.classify(v);
        }
    }

    /// Returns twice the signed area of a triangle.
    fn turn(&self, a: u32, b: u32, c: u32) -> f64 {
        let [p, q, r] = [a, b, c].map(|v| self.xy[v as usize]);
        (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    }

    fn turn_at(&self, v: u32) -> f64 {
        self.turn(self.previous[v as usize], v, self.next[v as usize])
    }

    /// Updates the reflex list for `v`, and queues it if it may be an ear.
    fn classify(&mut self, v: u32) {
        let convex = self.turn_at(v) > 0.0;
        let at = self.reflex_index[v as usize];
        if convex && at != ABSENT {
            self.forget_reflex(v);
        } else if !convex && at == ABSENT {
            self.reflex_index[v as usize] = self.reflex.len() as u32;
            self.reflex.push(v);
        }
        if convex && !self.queued[v as usize] {
            self.queued[v as usize] = true;
            self.queue.push_back(v);
        }
    }

    fn forget_reflex(&mut self, v: u32) {
        let at = std::mem::replace(&mut self.reflex_index[v as usize], ABSENT);
        self.reflex.swap_remove(at as usize);
        if let Some(&moved) = self.reflex.get(at as usize) {
            self.reflex_index[moved as usize] = at;
        }
    }

    fn is_ear(&mut self, v: u32) -> bool {
        let (a, c) = (self.previous[v as usize], self.next[v as usize]);
        if self.turn(a, v, c) <= 0.0 {
            return false;
        }
        let [p, q, r] = [a, v, c].map(|v| self.xy[v as usize]);
        let (low, high): ([f64; 2], [f64; 2]) = (
            std::array::from_fn(|k| p[k].min(q[k]).min(r[k])),
            std::array::from_fn(|k| p[k].max(q[k]).max(r[k])),
        );
        if self.budget < self.reflex.len() as u64 {
            self.budget = 0;
            return false;
        }
        self.budget -= self.reflex.len() as u64;
        !self.reflex.iter().any(|&w| {
            let s = self.xy[w as usize];
            // Another corner at the same place (a bridge to a hole) touches the ear but is not inside it.
            (low[0] <= s[0] && s[0] <= high[0] && low[1] <= s[1] && s[1] <= high[1])
                && s != p
                && s != q
                && s != r
                && self.turn(a, v, w) >= 0.0
                && self.turn(v, c, w) >= 0.0
                && self.turn(c, a, w) >= 0.0
        })
    }

    fn cut(&mut self, v: u32) {
        let (a, c) = (self.previous[v as usize], self.next[v as usize]);
        self.next[a as usize] = c;
        self.previous[c as usize] = a;
        self.gone[v as usize] = true;
        if self.reflex_index[v as usize] != ABSENT {
            self.forget_reflex(v);
        }
        self.classify(a);
        self.classify(c);
    }

    /// Returns the corner whose triangle has the least area, convex ones first among equals.
    fn flattest(&self, start: u32) -> u32 {
        let (mut best, mut least) = (start, f64::INFINITY);
        let mut v = start;
        loop {
            let turn = self.turn_at(v);
            // A corner that turns the wrong way costs its area twice: once covered twice, once missing.
            let cost = if turn >= 0.0 { turn } else { -2.0 * turn };
            if cost < least {
                (best, least) = (v, cost);
            }
            v = self.next[v as usize];
            if v == start {
                return best;
            }
        }
    }

    fn enqueue_ring(&mut self, start: u32) {
        let mut v = start;
        loop {
            self.classify(v);
            v = self.next[v as usize];
            if v == start {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn polygon(points: &[[f32; 3]]) -> Triangles {
        let indices: Vec<i32> = (0..points.len() as i32).collect();
        triangulate(points, &[points.len() as i32], &indices, Winding::CounterClockwise)
    }

    fn flat(points: &[[f32; 2]]) -> Vec<[f32; 3]> {
        points.iter().map(|p| [p[0], p[1], 0.0]).collect()
    }

    fn area(a: [f32; 3], b: [f32; 3], c: [f32; 3]) -> f64 {
        let [a, b, c] = [a, b, c].map(|p| p.map(f64::from));
        cross(sub(b, a), sub(c, a))[2] / 2.0
    }

    /// Returns `true` if the directed edges of the triangles, with opposite ones cancelled, are the polygon's
    /// own.
    fn boundary_holds(n: u32, triangles: &[[u32; 3]]) -> bool {
        let mut sum: BTreeMap<(u32, u32), i32> = BTreeMap::new();
        for t in triangles {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                let (key, sign) = if a < b { ((a, b), 1) } else { ((b, a), -1) };
                *sum.entry(key).or_default() += sign;
            }
        }
        sum.retain(|_, v| *v != 0);
        sum.len() == n as usize
            && (0..n).all(|a| {
                let b = (a + 1) % n;
                let (key, sign) = if a < b { ((a, b), 1) } else { ((b, a), -1) };
                sum.get(&key) == Some(&sign)
            })
    }

    /// Checks a simple counter-clockwise polygon in z = 0: no triangle is flipped, areas add up.
    fn check_simple(points: &[[f32; 3]]) {
        let result = polygon(points);
        assert_eq!(result.corners.len(), points.len() - 2);
        assert!(boundary_holds(points.len() as u32, &result.corners));
        let whole = newell(points.iter().map(|p| p.map(f64::from)))[2] / 2.0;
        let mut sum = 0.0;
        for t in &result.corners {
            let a = area(points[t[0] as usize], points[t[1] as usize], points[t[2] as usize]);
            assert!(a >= -1e-9 * whole, "turned over: {t:?} {a}");
            sum += a;
        }
        assert!((sum - whole).abs() <= 1e-9 * whole, "{sum} {whole}");
    }

    #[test]
    fn quads_take_the_shorter_diagonal() {
        let square = flat(&[[0., 0.], [2., 0.], [3., 2.], [0., 1.]]);
        assert_eq!(polygon(&square).corners, [[1, 2, 3], [1, 3, 0]]);
        let square = flat(&[[0., 0.], [1., 0.], [1., 1.], [0., 1.]]);
        assert_eq!(polygon(&square).corners, [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn concave_quads_turn_no_triangle_over() {
        let mut points = flat(&[[0.5, 0.5], [0., 3.], [0., 0.], [3., 0.]]);
        for _ in 0..4 {
            check_simple(&points);
            points.rotate_left(1);
        }
    }

    #[test]
    fn clockwise_files_come_out_counter_clockwise() {
        let points = flat(&[[0., 0.], [0., 1.], [1., 1.], [1., 0.], [0.5, -1.]]);
        let result = triangulate(&points, &[5], &[0, 1, 2, 3, 4], Winding::Clockwise);
        for t in &result.corners {
            assert!(area(points[t[0] as usize], points[t[1] as usize], points[t[2] as usize]) > 0.0);
        }
    }

    #[test]
    fn combs_spirals_and_bridged_holes() {
        let mut comb = vec![[0.0, -1.0, 0.0]];
        let teeth = 2500;
        comb.push([2.0 * teeth as f32, -1.0, 0.0]);
        for i in (0..teeth).rev() {
            comb.push([2.0 * i as f32 + 1.0, 5.0, 0.0]);
            comb.push([2.0 * i as f32, 0.0, 0.0]);
        }
        check_simple(&comb);

        let mut spiral = Vec::new();
        let turns = 400;
        for i in 0..turns {
            let t = i as f32 * 0.1;
            spiral.push([(1.0 + t) * t.cos(), (1.0 + t) * t.sin(), 0.0]);
        }
        for i in (0..turns).rev() {
            let t = i as f32 * 0.1;
            spiral.push([(0.5 + t) * t.cos(), (0.5 + t) * t.sin(), 0.0]);
        }
        spiral.reverse();
        let sign = newell(spiral.iter().map(|p| p.map(f64::from)))[2];
        if sign < 0.0 {
            spiral.reverse();
        }
        check_simple(&spiral);

        // A square with a square hole, joined by a bridge that is traversed twice.
        let hole = flat(&[
            [0., 0.],
            [4., 0.],
            [4., 4.],
            [0., 4.],
            [0., 0.],
            [1., 1.],
            [1., 3.],
            [3., 3.],
            [3., 1.],
            [1., 1.],
        ]);
        check_simple(&hole);
    }

    #[test]
    fn corners_on_straight_edges() {
        check_simple(&flat(&[
            [0., 0.],
            [1., 0.],
            [2., 0.],
            [2., 1.],
            [2., 2.],
            [1., 2.],
            [0., 2.],
            [0., 1.],
        ]));
        let mut fan = vec![[0.0, 5.0]];
        fan.extend((0..50).map(|i| [i as f32, 0.0]));
        check_simple(&flat(&fan));
    }

    #[test]
    fn any_plane_gives_the_same_triangles() {
        let flat = flat(&[[0., 0.], [4., 0.], [4., 4.], [2., 1.], [0., 4.]]);
        let expected = polygon(&flat).corners;
        for (x, y) in [
            ([0., 1., 0.], [0., 0., 1.]),
            ([0., 0., 1.], [1., 0., 0.]),
            ([0., 1., 0.], [1., 0., 0.]),
            ([0.6, 0.8, 0.], [0., 0., -1.]),
            ([1., 1., 0.], [-1., 1., 1.]),
        ] {
            let turned: Vec<[f32; 3]> =
                flat.iter().map(|p| std::array::from_fn(|k| p[0] * x[k] + p[1] * y[k] + 10.0)).collect();
            assert_eq!(polygon(&turned).corners, expected);
        }
    }

    #[test]
    fn points_without_a_plane_still_give_every_triangle() {
        let nan = f32::NAN;
        for points in [
            vec![[0.0; 3]; 7],
            (0..6).map(|i| [i as f32; 3]).collect(),
            vec![[nan; 3]; 5],
            vec![[0., 0., 0.], [1., 0., 0.], [1., nan, 0.], [0., 1., 0.], [0., 0.5, 0.]],
            vec![[f32::INFINITY; 3]; 6],
            vec![[f32::MAX; 3], [f32::MIN; 3], [f32::MAX, f32::MIN, 0.], [1.; 3], [0.; 3]],
            flat(&[[0., 0.], [2., 2.], [2., 0.], [0., 2.]]),
            flat(&[[0., 0.], [2., 2.], [4., 0.], [4., 2.], [2., 0.], [0., 2.]]),
        ] {
            let result = polygon(&points);
            assert_eq!(result.corners.len(), points.len() - 2);
            assert!(boundary_holds(points.len() as u32, &result.corners));
        }
    }

    #[test]
    fn a_huge_hostile_face_ends_in_bounded_time() {
        let n = 200_000;
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32
        };
        let points: Vec<[f32; 3]> = (0..n).map(|_| [random(), random(), random()]).collect();
        assert_eq!(polygon(&points).corners.len(), n - 2);
    }

    proptest! {
        #[test]
        fn every_polygon_gives_its_triangles(points in prop::collection::vec([-4i8..4, -4i8..4, -1i8..1], 3..40)) {
            let points: Vec<[f32; 3]> = points.iter().map(|p| p.map(f32::from)).collect();
            let result = polygon(&points);
            prop_assert_eq!(result.corners.len(), points.len() - 2);
            prop_assert!(boundary_holds(points.len() as u32, &result.corners));
        }

        #[test]
        fn star_shaped_polygons_are_covered_exactly(radii in prop::collection::vec(1u16..1000, 5..200)) {
            let n = radii.len() as f32;
            let points: Vec<[f32; 3]> = radii.iter().enumerate().map(|(i, &r)| {
                let t = i as f32 / n * std::f32::consts::TAU;
                [f32::from(r) * t.cos(), f32::from(r) * t.sin(), 0.0]
            }).collect();
            check_simple(&points);
        }
    }
}
