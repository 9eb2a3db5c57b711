//! Normals of a decoded surface, the same bits on every machine: what stored normals are predicted from. No
//! error of its own.
//!
//! Every corner of a polygon adds the polygon's unit normal, weighted with its interior angle (G. Thürmer, C.
//! Wüthrich, *Computing vertex normals from polygonal facets*, 1998). Corners that share a normal form a
//! *group*. The polygons are the source's, not the triangles: on bent quads the two differ by many degrees.
//!
//! ```text
//! for each polygon p₀ … p₋₁   n = unit(Σ (pᵢ − p₀) × (pᵢ₊₁ − p₀)), zero where there is no direction
//!     for each corner i       e = pᵢ₊₁ − pᵢ, f = pᵢ₋₁ − pᵢ, c = (e · f) / (|e| |f|), a = arc_cosine(c)
//!                             a = 2π − a where c < 0.999 and (e × f) · n < 0
//!                             sum[group of i] += a · n
//! for each group              unit(sum), or +z
//! ```
//!
//! Order: triangles, quads, and so on up to 16 corners, eight polygons at a time: their first corners, their
//! second ones …; then the others, one by one; all in the order of their first triangle. Everything is f32 +
//! − × ÷ √ in the order of the code; points are whole numbers, so edges are exact. The arc cosine is formula
//! 4.4.45 of M. Abramowitz and I. Stegun, *Handbook of mathematical functions*, 1964, off by at most 7·10⁻⁵
//! rad.

use crate::Corrupt;
use crate::simd::lanes::{
    LANES, Lanes, Number, Row, Vector, cross, difference, dot, minus, plus, select, times,
};
pub use crate::simd::lanes::{Place, Points};
use std::f32::consts::{PI, TAU};

/// Where a group without faces looks.
pub const UP: [f32; 3] = [0.0, 0.0, 1.0];

/// The triangles and groups of a mesh, arranged for computing normals; the same in all frames.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    /// Polygons of up to [`SIDES`] corners, eight at a time: a row of points for each corner, then a row of
    /// groups for each.
    rows: Vec<Row>,
    /// Per number of corners, from 3 on, where its rows end.
    ends: Vec<usize>,
    /// Points and groups of the corners of the other polygons, and where each polygon ends.
    large: Vec<[u32; 2]>,
    large_ends: Vec<usize>,
    /// Per group its point, and another one from which its frame takes its direction.
    anchors: Vec<[u32; 2]>,
    points: usize,
}

/// Most corners of polygons that are computed side by side. Part of the format, as it says in which order
/// they are added.
const SIDES: usize = 16;

impl Surface {
    /// `polygons` are vertices, `ends` where each polygon ends; `point` and `group` say what each vertex
    /// belongs to, both numbered without gaps.
    pub fn new(polygons: &[u32], ends: &[usize], point: &[u32], group: &[u32]) -> Result<Surface, Corrupt> {
        let count = |list: &[u32]| list.iter().max().map_or(0, |m| *m as usize + 1);
        let (points, groups) = (count(point), count(group));
        if point.len() != group.len() || points > point.len() || groups > group.len() {
            return Err(Corrupt("normals: points or groups that do not fit the vertices"));
        }
        if polygons.iter().any(|v| *v as usize >= point.len()) {
            return Err(Corrupt("normals: a polygon of vertices that are not there"));
        }
        let mut out = Surface { anchors: vec![[0; 2]; groups], points, ..Surface::default() };
        for (g, p) in group.iter().zip(point) {
            out.anchors[*g as usize] = [*p; 2];
        }
        let mut sorted: Vec<Vec<&[u32]>> = vec![Vec::new(); SIDES + 1];
        let corner = |v: &u32| [point[*v as usize], group[*v as usize]];
        let mut start = 0;
        for &end in ends {
            let vertices =
                polygons.get(start..end).ok_or(Corrupt("normals: ends of polygons out of order"))?;
            start = end;
            match vertices.len() {
                0..3 => {}
                3..=SIDES => sorted[vertices.len()].push(vertices),
                _ => {
                    out.large.extend(vertices.iter().map(corner));
                    out.large_ends.push(out.large.len());
                }
            }
            for (i, v) in vertices.iter().enumerate() {
                let next = corner(&vertices[(i + 1) % vertices.len()])[0];
                let [p, g] = corner(v);
                let anchor = &mut out.anchors[g as usize];
                if anchor[0] == anchor[1] && p != next {
                    *anchor = [p, next];
                }
            }
        }
        // Lanes without a polygon are one point, which adds nothing, to a sum that nobody reads.
        let none = [0, groups as u32];
        for (sides, list) in sorted.iter().enumerate().skip(3) {
            for block in list.chunks(LANES) {
                for part in 0..2 {
                    out.rows.extend((0..sides).map(|i| -> Row {
                        std::array::from_fn(|l| block.get(l).map_or(none, |p| corner(&p[i]))[part])
                    }));
                }
            }
            out.ends.push(out.rows.len());
        }
        Ok(out)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.anchors.len()
    }

    /// Sums, see `Surface::sums`: one for each group, and some that mean nothing.
    pub fn slots(&self) -> usize {
        (self.groups() + 1).next_multiple_of(LANES)
    }

    /// Number of points that a frame must have.
    #[cfg(feature = "encode")]
    pub fn points(&self) -> usize {
        self.points
    }

    /// Sums of the normals around each group, not of unit length. Panics where `points` are too few, or
    /// `sums` is not of [`Surface::slots`].
    #[inline(always)]
    pub(in crate::mesh) fn sums<L: Lanes, P: Place>(&self, points: &[P], sums: &mut [[f32; 4]]) {
        assert!(points.len() >= self.points, "all points");
        assert_eq!(sums.len(), self.slots(), "a normal per group");
        sums.fill([0.0; 4]);
        let mut start = 0;
        for (i, &end) in self.ends.iter().enumerate() {
            let rows = &self.rows[start..end];
            start = end;
            // What is known of the number when this is compiled stays in registers.
            match i + 3 {
                3 => add_polygons::<L, P, 3>(3, rows, points, sums),
                4 => add_polygons::<L, P, 4>(4, rows, points, sums),
                sides => add_polygons::<L, P, SIDES>(sides, rows, points, sums),
            }
        }
        let mut start = 0;
        for &end in &self.large_ends {
            add_large(&self.large[start..end], points, sums);
            start = end;
        }
    }

    /// Two unit vectors that make a right-handed frame with the normal `n` of group `g` and turn with the
    /// surface.
    #[cfg(feature = "encode")]
    #[inline]
    pub fn frame<P: Place>(&self, points: &[P], g: usize, n: [f32; 3]) -> [[f32; 3]; 2] {
        let [own, other] = self.anchors[g];
        frame(points[other as usize].minus(points[own as usize]), n)
    }

    /// Tangent frames of eight groups; numbers beyond the last group count as the last.
    #[inline(always)]
    pub(in crate::mesh) fn frames<L: Lanes, P: Place>(
        &self,
        points: &[P],
        groups: &Row,
        n: Vector<L>,
    ) -> [Vector<L>; 2] {
        let last = self.anchors.len() - 1;
        let anchors = groups.map(|g| self.anchors[(g as usize).min(last)]);
        let own = L::points(points, &anchors.map(|a| a[0]));
        let other = L::points(points, &anchors.map(|a| a[1]));
        frame(difference::<L, P>(other, own), n)
    }
}

/// Unit vectors; up where there is no direction.
#[inline(always)]
pub(in crate::mesh) fn directions<N: Number>(v: Vector<N>) -> Vector<N> {
    let scale = inverse_length(dot(v, v));
    select(N::splat(0.0).less(scale), times(v, scale), UP.map(N::splat))
}

/// Polygons of the same number of corners.
#[inline(always)]
fn add_polygons<L: Lanes, P: Place, const MOST: usize>(
    sides: usize,
    rows: &[Row],
    points: &[P],
    sums: &mut [[f32; 4]],
) {
    for rows in rows.chunks_exact(2 * sides) {
        let (places, groups) = rows.split_at(sides);
        // From each corner to the next.
        let mut edges = [[L::splat(0.0); 3]; MOST];
        let first = L::points(points, &places[0]);
        let mut own = first;
        for i in 0..sides {
            let next = match places.get(i + 1) {
                Some(row) => L::points(points, row),
                None => first,
            };
            edges[i] = difference::<L, P>(next, own);
            own = next;
        }
        let mut normal = cross(edges[0], edges[1]);
        let mut from_first = plus(edges[0], edges[1]);
        for i in 2..sides - 1 {
            normal = plus(normal, cross(from_first, edges[i]));
            from_first = plus(from_first, edges[i]);
        }
        let normal = times(normal, inverse_length(dot(normal, normal)));
        let mut inverse = [L::splat(0.0); MOST];
        for i in 0..sides {
            inverse[i] = inverse_length(dot(edges[i], edges[i]));
        }
        for i in 0..sides {
            let before = if i == 0 { sides - 1 } else { i - 1 };
            let cosine = -dot(edges[before], edges[i]) * (inverse[before] * inverse[i]);
            let side = dot(cross(edges[before], edges[i]), normal);
            let angle = interior_angle(cosine, side);
            L::add_to(times(normal, angle), sums, &groups[i]);
        }
    }
}

/// A polygon of any number of corners.
fn add_large<P: Place>(corners: &[[u32; 2]], points: &[P], sums: &mut [[f32; 4]]) {
    let count = corners.len();
    let edge = |i: usize| {
        let next = corners[if i + 1 == count { 0 } else { i + 1 }];
        points[next[0] as usize].minus(points[corners[i][0] as usize])
    };
    let (mut normal, mut from_first) = ([0.0; 3], [0.0; 3]);
    for i in 0..count {
        let e = edge(i);
        normal = plus(normal, cross(from_first, e));
        from_first = plus(from_first, e);
    }
    let normal = times(normal, inverse_length(dot(normal, normal)));
    let mut before = edge(count - 1);
    for i in 0..count {
        let e = edge(i);
        let inverse = inverse_length(dot(before, before)) * inverse_length(dot(e, e));
        let side = dot(cross(before, e), normal);
        let angle = interior_angle(-dot(before, e) * inverse, side);
        let sum = &mut sums[corners[i][1] as usize];
        for k in 0..3 {
            sum[k] += normal[k] * angle;
        }
        before = e;
    }
}

/// From the cosine, and on which side of the polygon's plane the turn is.
#[inline(always)]
fn interior_angle<N: Number>(cosine: N, side: N) -> N {
    let angle = arc_cosine(cosine);
    let reflex = N::both(side.less(N::splat(0.0)), cosine.less(N::splat(0.999)));
    N::select(reflex, N::splat(TAU) - angle, angle)
}

// Part of the format: squares of lengths that are not between these have no direction.
const SMALLEST: f32 = 1e-30;
const LARGEST: f32 = 1e30;

/// One over the length; zero where there is no direction.
#[inline(always)]
pub(in crate::mesh) fn inverse_length<N: Number>(square: N) -> N {
    let usable = N::both(N::splat(SMALLEST).less(square), square.less(N::splat(LARGEST)));
    N::select(usable, N::splat(1.0) / square.sqrt(), N::splat(0.0))
}

/// `a + y·(b + y·(c + …))`.
#[inline(always)]
fn polynomial<N: Number, const COUNT: usize>(y: N, factors: [f32; COUNT]) -> N {
    let mut sum = N::splat(factors[COUNT - 1]);
    for k in (0..COUNT - 1).rev() {
        sum = N::splat(factors[k]) + y * sum;
    }
    sum
}

/// In radians, within 7·10⁻⁵; beyond ±1 as at ±1. Part of the format.
#[inline(always)]
pub(in crate::mesh) fn arc_cosine<N: Number>(x: N) -> N {
    let a = x.abs().min(N::splat(1.0));
    let root = (N::splat(1.0) - a).sqrt();
    let arc = root * polynomial(a, [1.570_728_8, -0.212_114_4, 0.074_261, -0.018_729_3]);
    N::select(x.less(N::splat(0.0)), N::splat(PI) - arc, arc)
}

/// Cosine and sine of an angle between −π and π, as one unit vector; beyond that as at the end. Part of the
/// format.
#[inline(always)]
pub(in crate::mesh) fn turn<N: Number>(angle: N) -> [N; 2] {
    // Polynomials of the half angle; the division makes up for what they are off.
    let end = N::splat(PI / 2.0);
    let x = (angle * N::splat(0.5)).max(-end).min(end);
    let y = x * x;
    let c = polynomial(y, [1.0, -0.5, 4.166_666_8e-2, -1.388_888_9e-3, 2.480_158_7e-5, -2.755_732e-7]);
    let s =
        x * polynomial(y, [1.0, -1.666_666_7e-1, 8.333_333e-3, -1.984_127e-4, 2.755_731_9e-6, -2.505_21e-8]);
    let scale = N::splat(1.0) / (c * c + s * s);
    [(c * c - s * s) * scale, N::splat(2.0) * (c * s) * scale]
}

/// The direction of what `v` has at right angles to the unit vector `n`; a mask of where that is more than
/// rounding.
#[inline(always)]
pub(in crate::mesh) fn flat<N: Number>(v: Vector<N>, n: Vector<N>) -> (Vector<N>, N::Mask) {
    let v = times(v, inverse_length(dot(v, v)));
    let rest = minus(v, times(n, dot(v, n)));
    let square = dot(rest, rest);
    let scale = inverse_length(square);
    let there = N::both(N::splat(1e-8).less(square), N::splat(0.0).less(scale));
    (times(rest, scale), there)
}

/// A unit vector at right angles to the unit vector `n`.
#[inline(always)]
fn perpendicular<N: Number>(n: Vector<N>) -> Vector<N> {
    let (one, zero) = (N::splat(1.0), N::splat(0.0));
    let x = n[0].abs().less(N::splat(0.9));
    let (v, there) = flat(select(x, [one, zero, zero], [zero, one, zero]), n);
    select(there, v, [one, zero, zero])
}

/// Two unit vectors that make a right-handed frame with the unit vector `n`, the first one towards `ahead`.
#[inline(always)]
fn frame<N: Number>(ahead: Vector<N>, n: Vector<N>) -> [Vector<N>; 2] {
    let (mut x, there) = flat(ahead, n);
    if !N::all(there) {
        x = select(there, x, perpendicular(n));
    }
    [x, cross(n, x)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::isa::Isa;
    use crate::simd::lanes::{self, Task};
    use proptest::prelude::*;

    struct Unit<'a, P>(&'a Surface, &'a [P], &'a mut [[f32; 4]]);

    impl<P: Place> Task for Unit<'_, P> {
        #[inline(always)]
        fn run<L: Lanes>(self) {
            let Unit(surface, points, out) = self;
            surface.sums::<L, P>(points, out);
            for eight in out.as_chunks_mut::<LANES>().0 {
                L::store_vectors(directions(L::load_vectors(eight)), eight);
            }
        }
    }

    impl Surface {
        fn normals<P: Place>(&self, points: &[P], out: &mut [[f32; 4]]) {
            lanes::run(Isa::get(), Unit(self, points, out));
        }
    }

    #[test]
    fn angles_are_close_and_turns_are_closer() {
        for i in -100_000..=100_000 {
            let x = i as f32 / 100_000.0;
            assert!((f64::from(arc_cosine(x)) - f64::from(x).acos()).abs() < 7e-5);
            let a = f64::from(x) * std::f64::consts::PI;
            let [c, s] = turn(a as f32);
            assert!((f64::from(c) - a.cos()).abs() < 6e-6 && (f64::from(s) - a.sin()).abs() < 6e-6);
            assert!((c * c + s * s - 1.0).abs() < 5e-7);
        }
        assert_eq!([arc_cosine(2.0), arc_cosine(-2.0)], [0.0, PI]);
        assert_eq!(turn(0.0), [1.0, 0.0]);
    }

    /// The definition in f64, on any polygons.
    fn reference(polygons: &[Vec<u32>], group: &[u32], points: &[[i16; 4]]) -> Vec<[f64; 3]> {
        let at = |v: u32| -> [f64; 3] { std::array::from_fn(|k| f64::from(points[v as usize][k])) };
        let sub = |a: [f64; 3], b: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| a[k] - b[k]) };
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let cross = |a: [f64; 3], b: [f64; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let groups = group.iter().max().map_or(0, |m| *m as usize + 1);
        let mut sums = vec![[0.0; 3]; groups];
        for polygon in polygons {
            let count = polygon.len();
            let mut n = [0.0; 3];
            for i in 0..count {
                let c = cross(at(polygon[i]), at(polygon[(i + 1) % count]));
                n = std::array::from_fn(|k| n[k] + c[k]);
            }
            let length = dot(n, n).sqrt();
            if length == 0.0 {
                continue;
            }
            for i in 0..count {
                let p = at(polygon[i]);
                let e = sub(at(polygon[(i + 1) % count]), p);
                let f = sub(at(polygon[(i + count - 1) % count]), p);
                let c = cross(e, f);
                let angle = dot(c, c).sqrt().atan2(dot(e, f));
                let angle = if dot(c, n) < 0.0 { std::f64::consts::TAU - angle } else { angle };
                let sum = &mut sums[group[polygon[i] as usize] as usize];
                *sum = std::array::from_fn(|k| sum[k] + angle * n[k] / length);
            }
        }
        sums
    }

    fn surface(polygons: &[Vec<u32>], group: &[u32]) -> Surface {
        let vertices = polygons.concat();
        let mut end = 0;
        let ends: Vec<usize> = polygons
            .iter()
            .map(|p| {
                end += p.len();
                end
            })
            .collect();
        let point: Vec<u32> = (0..group.len() as u32).collect();
        Surface::new(&vertices, &ends, &point, group).unwrap()
    }

    #[test]
    fn a_bent_concave_quad_and_a_pentagon() {
        let polygons = vec![vec![0, 1, 2, 3], vec![1, 4, 5, 6, 2], vec![0, 3, 7]];
        let points = [
            [0, 0, 0, 0],
            [900, 0, 40, 0],
            [300, 250, -60, 0],
            [0, 1000, 90, 0],
            [1900, -80, 0, 0],
            [2000, 700, 310, 0],
            [1100, 1000, -20, 0],
            [-700, 200, 77, 0],
        ];
        let group = [0, 1, 2, 3, 4, 5, 6, 7];
        let mut out = vec![[0.0; 4]; 16];
        surface(&polygons, &group).normals(&points, &mut out);
        for (n, sum) in out.iter().zip(reference(&polygons, &group, &points)) {
            let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((0..3).all(|k| (f64::from(n[k]) - sum[k] / length).abs() < 1e-4));
        }
        // The same points as i32 give the same directions.
        let wide = points.map(|p| p.map(|x: i16| i32::from(x) << 8));
        let mut again = vec![[0.0; 4]; 16];
        surface(&polygons, &group).normals(&wide, &mut again);
        for (a, b) in out.iter().zip(&again) {
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-6));
        }
    }

    #[test]
    fn nothing_to_go_by_looks_up() {
        let mut out = vec![[0.0; 4]; 8];
        let polygons = [vec![0, 1, 2], vec![0, 0, 1, 2], vec![], vec![1]];
        surface(&polygons, &[0, 1, 2, 3]).normals(&[[7i16; 4]; 4], &mut out);
        assert_eq!(out, [[0.0, 0.0, 1.0, 0.0]; 8]);
        Surface::default().normals::<[i16; 4]>(&[], &mut [[0.0; 4]; 8]);
        for (polygons, point, group) in [
            (&[0u32, 1, 9][..], &[0u32, 1][..], &[0u32, 1][..]),
            (&[], &[0, 2], &[0, 1]),
            (&[], &[0, 1], &[0, 2]),
            (&[], &[0], &[0, 1]),
        ] {
            assert!(Surface::new(polygons, &[polygons.len()], point, group).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_points_give_unit_vectors_and_frames(
            points in prop::collection::vec(prop::array::uniform4(any::<i16>()), 7),
            wide in prop::collection::vec(prop::array::uniform4(any::<i32>()), 7),
            polygons in prop::collection::vec(prop::collection::vec(0u32..7, 1..6), 0..20),
        ) {
            fn check<P: Place>(s: &Surface, points: &[P]) {
                let mut out = vec![[0.0; 4]; s.slots()];
                s.normals(points, &mut out);
                for (g, [x, y, z, _]) in out.into_iter().enumerate().take(7) {
                    let n = [x, y, z];
                    let [a, b] = s.frame(points, g, n);
                    for v in [n, a, b] {
                        assert!((dot(v, v) - 1.0).abs() < 1e-5, "{v:?}");
                    }
                    assert!(dot(n, a).abs() < 1e-3 && dot(n, b).abs() < 1e-3 && dot(a, b).abs() < 1e-3);
                }
            }
            let s = surface(&polygons, &[0, 1, 2, 3, 4, 5, 6]);
            check(&s, &points);
            check(&s, &wide);
        }
    }
}
