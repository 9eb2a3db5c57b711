//! Normals of a decoded surface, the same bits on every machine: what stored normals are predicted from. No error of its own.
//!
//! Every corner of a polygon adds the polygon's unit normal, weighted with its interior angle (G. Thürmer, C. Wüthrich,
//! *Computing vertex normals from polygonal facets*, 1998). Corners that share a normal form a *group*. The polygons are the
//! source's, not the triangles: on bent quads the two differ by many degrees.
//!
//! ```text
//! for each polygon p₀ … p₋₁   n = unit(Σ (pᵢ − p₀) × (pᵢ₊₁ − p₀)), zero where there is no direction
//!     for each corner i       e = pᵢ₊₁ − pᵢ, f = pᵢ₋₁ − pᵢ, c = (e · f) / (|e| |f|), a = arc_cosine(c)
//!                             a = 2π − a where c < 0.999 and (e × f) · n < 0
//!                             sum[group of i] += a · n
//! for each group              unit(sum), or +z
//! ```
//!
//! Order: triangles, then quads, then the others, each in the order of their first triangle. Everything is f32 + − × ÷ √ in the
//! order of the code; points are whole numbers, so edges are exact. The arc cosine is formula 4.4.45 of M. Abramowitz and
//! I. Stegun, *Handbook of mathematical functions*, 1964, off by at most 7·10⁻⁵ rad.

use crate::Corrupt;
use std::f32::consts::{PI, TAU};

/// A decoded point: whole numbers, in units that are the same for all points of the mesh.
pub trait Place: Copy {
    /// The vector from `other` to `self`, at most 2¹⁷ long in each component.
    fn minus(self, other: Self) -> [f32; 3];
}

impl Place for [i16; 4] {
    #[inline(always)]
    fn minus(self, other: Self) -> [f32; 3] {
        std::array::from_fn(|k| (i32::from(self[k]) - i32::from(other[k])) as f32)
    }
}

impl Place for [i32; 4] {
    #[inline(always)]
    fn minus(self, other: Self) -> [f32; 3] {
        // In units of 2⁻¹⁶, so that squares of areas stay finite.
        std::array::from_fn(|k| (i64::from(self[k]) - i64::from(other[k])) as f32 * (1.0 / 65536.0))
    }
}

/// Where a group without faces looks.
pub const UP: [f32; 3] = [0.0, 0.0, 1.0];

/// A corner of a polygon: its point and its group.
type Corner = [u32; 2];

/// What stays the same in all frames.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    triangles: Vec<[Corner; 3]>,
    quads: Vec<[Corner; 4]>,
    /// Corners of the other polygons, one after the other, and where each ends.
    others: Vec<Corner>,
    ends: Vec<usize>,
    /// Per group its point, and another one from which its frame takes its direction.
    anchors: Vec<[u32; 2]>,
    points: usize,
}

/// Polygons, or corners, that are computed side by side.
pub(super) const LANES: usize = 8;
pub(super) type Lanes = [f32; LANES];

impl Surface {
    /// `polygons` are vertices, `ends` where each polygon ends; `point` and `group` say what each vertex belongs to, both
    /// numbered without gaps.
    pub fn new(
        polygons: &[u32],
        ends: &[usize],
        point: &[u32],
        group: &[u32],
    ) -> Result<Surface, Corrupt> {
        let count = |list: &[u32]| list.iter().max().map_or(0, |m| *m as usize + 1);
        let (points, groups) = (count(point), count(group));
        if point.len() != group.len() || points > point.len() || groups > group.len() {
            return Err(Corrupt("points or groups that do not fit the vertices"));
        }
        if polygons.iter().any(|v| *v as usize >= point.len()) {
            return Err(Corrupt("a polygon of vertices that are not there"));
        }
        let mut out = Surface {
            anchors: vec![[0; 2]; groups],
            points,
            ..Surface::default()
        };
        for (g, p) in group.iter().zip(point) {
            out.anchors[*g as usize] = [*p; 2];
        }
        let mut start = 0;
        for &end in ends {
            let vertices = polygons.get(start..end).ok_or(Corrupt("polygon ends"))?;
            start = end;
            let corner = |v: &u32| [point[*v as usize], group[*v as usize]];
            match *vertices {
                [_, _, _] => out
                    .triangles
                    .push(std::array::from_fn(|k| corner(&vertices[k]))),
                [_, _, _, _] => out
                    .quads
                    .push(std::array::from_fn(|k| corner(&vertices[k]))),
                _ => {
                    out.others.extend(vertices.iter().map(corner));
                    out.ends.push(out.others.len());
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
        Ok(out)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.anchors.len()
    }

    /// Number of points that a frame must have.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Unit normal of each group. Panics where `points` are too few, or `out` is not one for each group.
    pub fn normals<P: Place>(&self, points: &[P], out: &mut [[f32; 4]]) {
        assert!(points.len() >= self.points, "all points");
        assert_eq!(out.len(), self.anchors.len(), "a normal per group");
        out.fill([0.0; 4]);
        for block in self.triangles.chunks(LANES) {
            add_block(block, points, out);
        }
        for block in self.quads.chunks(LANES) {
            add_block(block, points, out);
        }
        let mut start = 0;
        for &end in &self.ends {
            add_polygon(&self.others[start..end], points, out);
            start = end;
        }
        for sum in out {
            let [x, y, z] = unit([sum[0], sum[1], sum[2]]).unwrap_or(UP);
            *sum = [x, y, z, 0.0];
        }
    }

    /// Two unit vectors that make a right-handed frame with the normal `n` of group `g` and turn with the surface.
    #[inline]
    pub fn frame<P: Place>(&self, points: &[P], g: usize, n: [f32; 3]) -> [[f32; 3]; 2] {
        let [own, other] = self.anchors[g];
        let ahead = points[other as usize].minus(points[own as usize]);
        let x = flat(ahead, n).unwrap_or_else(|| perpendicular(n));
        [x, cross3(n, x)]
    }
}

/// Polygons of `N` corners, side by side; lanes beyond the block are zero and add nothing.
#[inline]
fn add_block<P: Place, const N: usize>(block: &[[Corner; N]], points: &[P], sums: &mut [[f32; 4]]) {
    // From each corner to the next.
    let mut edges = [[[0.0; LANES]; 3]; N];
    for (lane, corners) in block.iter().enumerate() {
        let p = corners.map(|c| points[c[0] as usize]);
        for i in 0..N {
            let e = p[(i + 1) % N].minus(p[i]);
            for k in 0..3 {
                edges[i][k][lane] = e[k];
            }
        }
    }
    let mut normal = cross(&edges[0], &edges[1]);
    let mut from_first: [Lanes; 3] = std::array::from_fn(|k| add(&edges[0][k], &edges[1][k]));
    for i in 2..N - 1 {
        let more = cross(&from_first, &edges[i]);
        normal = std::array::from_fn(|k| add(&normal[k], &more[k]));
        from_first = std::array::from_fn(|k| add(&from_first[k], &edges[i][k]));
    }
    let square = dots(&normal, &normal);
    let scale = lanes(|l| inverse_length(square[l]));
    normal = std::array::from_fn(|k| lanes(|l| normal[k][l] * scale[l]));
    let inverse: [Lanes; N] = std::array::from_fn(|i| {
        let square = dots(&edges[i], &edges[i]);
        lanes(|l| inverse_length(square[l]))
    });
    for i in 0..N {
        let before = (i + N - 1) % N;
        let product = dots(&edges[before], &edges[i]);
        let turn = cross(&edges[before], &edges[i]);
        let side = dots(&turn, &normal);
        let angle =
            lanes(|l| interior_angle(-product[l] * (inverse[before][l] * inverse[i][l]), side[l]));
        for (lane, corners) in block.iter().enumerate() {
            let sum = &mut sums[corners[i][1] as usize];
            let n = [normal[0][lane], normal[1][lane], normal[2][lane], 0.0];
            *sum = std::array::from_fn(|k| sum[k] + angle[lane] * n[k]);
        }
    }
}

/// A polygon of any number of corners.
fn add_polygon<P: Place>(corners: &[Corner], points: &[P], sums: &mut [[f32; 4]]) {
    let count = corners.len();
    let edge = |i: usize| {
        let next = corners[if i + 1 == count { 0 } else { i + 1 }];
        points[next[0] as usize].minus(points[corners[i][0] as usize])
    };
    let (mut normal, mut from_first) = ([0.0; 3], [0.0; 3]);
    for i in 0..count {
        let e = edge(i);
        let more = cross3(from_first, e);
        normal = std::array::from_fn(|k| normal[k] + more[k]);
        from_first = std::array::from_fn(|k| from_first[k] + e[k]);
    }
    let Some(normal) = unit(normal) else { return };
    let mut before = edge(count - 1);
    for i in 0..count {
        let e = edge(i);
        let inverse = inverse_length(dot3(before, before)) * inverse_length(dot3(e, e));
        let side = dot3(cross3(before, e), normal);
        let angle = interior_angle(-dot3(before, e) * inverse, side);
        let sum = &mut sums[corners[i][1] as usize];
        for k in 0..3 {
            sum[k] += angle * normal[k];
        }
        before = e;
    }
}

/// From the cosine, and on which side of the polygon's plane the turn is.
#[inline(always)]
fn interior_angle(cosine: f32, side: f32) -> f32 {
    let angle = arc_cosine(cosine);
    if side < 0.0 && cosine < 0.999 {
        TAU - angle
    } else {
        angle
    }
}

#[inline(always)]
pub(super) fn lanes(f: impl Fn(usize) -> f32) -> Lanes {
    std::array::from_fn(f)
}

#[inline(always)]
fn add(a: &Lanes, b: &Lanes) -> Lanes {
    lanes(|l| a[l] + b[l])
}

#[inline(always)]
fn cross(u: &[Lanes; 3], v: &[Lanes; 3]) -> [Lanes; 3] {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| lanes(|l| u[i][l] * v[j][l] - u[j][l] * v[i][l]))
}

#[inline(always)]
pub(super) fn dots(u: &[Lanes; 3], v: &[Lanes; 3]) -> Lanes {
    lanes(|l| u[0][l] * v[0][l] + u[1][l] * v[1][l] + u[2][l] * v[2][l])
}

// Part of the format: squares of lengths that are not between these have no direction.
const SMALLEST: f32 = 1e-30;
const LARGEST: f32 = 1e30;

/// One over the length; zero where there is no direction.
#[inline(always)]
pub(super) fn inverse_length(square: f32) -> f32 {
    if square > SMALLEST && square < LARGEST {
        1.0 / square.sqrt()
    } else {
        0.0
    }
}

/// In radians, within 7·10⁻⁵; beyond ±1 as at ±1. Part of the format.
#[inline(always)]
pub(super) fn arc_cosine(x: f32) -> f32 {
    let a = x.abs().min(1.0);
    let root = (1.0 - a).sqrt();
    let arc = root * (1.570_728_8 + a * (-0.212_114_4 + a * (0.074_261 + a * -0.018_729_3)));
    if x < 0.0 { PI - arc } else { arc }
}

/// Cosine and sine of an angle between −π and π, as one unit vector; beyond that as at the end. Part of the format.
#[inline]
pub(super) fn turn(angle: f32) -> [f32; 2] {
    // Polynomials of the half angle; the division makes up for what they are off.
    let x = (angle * 0.5).clamp(-PI / 2.0, PI / 2.0);
    let y = x * x;
    let c = 1.0
        + y * (-0.5
            + y * (4.166_666_8e-2
                + y * (-1.388_888_9e-3 + y * (2.480_158_7e-5 + y * -2.755_732e-7))));
    let s = x
        * (1.0
            + y * (-1.666_666_7e-1
                + y * (8.333_333e-3
                    + y * (-1.984_127e-4 + y * (2.755_731_9e-6 + y * -2.505_21e-8)))));
    let scale = 1.0 / (c * c + s * s);
    [(c * c - s * s) * scale, 2.0 * (c * s) * scale]
}

/// The direction of `v`, if it has one.
#[inline]
pub(super) fn unit(v: [f32; 3]) -> Option<[f32; 3]> {
    let scale = inverse_length(dot3(v, v));
    (scale > 0.0).then(|| v.map(|x| x * scale))
}

/// The direction of what `v` has at right angles to the unit vector `n`; none where that is only rounding.
#[inline]
pub(super) fn flat(v: [f32; 3], n: [f32; 3]) -> Option<[f32; 3]> {
    let v = unit(v)?;
    let along = dot3(v, n);
    let rest: [f32; 3] = std::array::from_fn(|k| v[k] - n[k] * along);
    if dot3(rest, rest) > 1e-8 {
        unit(rest)
    } else {
        None
    }
}

/// A unit vector at right angles to the unit vector `n`.
#[inline]
pub(super) fn perpendicular(n: [f32; 3]) -> [f32; 3] {
    let axis = if n[0].abs() < 0.9 {
        [1.0, 0.0, 0.0]
    } else {
        [0.0, 1.0, 0.0]
    };
    flat(axis, n).unwrap_or([1.0, 0.0, 0.0])
}

#[inline(always)]
pub(super) fn dot3(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(super) fn cross3(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            [
                a[1] * b[2] - a[2] * b[1],
                a[2] * b[0] - a[0] * b[2],
                a[0] * b[1] - a[1] * b[0],
            ]
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
                let angle = if dot(c, n) < 0.0 {
                    std::f64::consts::TAU - angle
                } else {
                    angle
                };
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
        let mut out = vec![[0.0; 4]; 8];
        surface(&polygons, &group).normals(&points, &mut out);
        for (n, sum) in out.iter().zip(reference(&polygons, &group, &points)) {
            let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((0..3).all(|k| (f64::from(n[k]) - sum[k] / length).abs() < 1e-4));
        }
        // The same points as i32 give the same directions.
        let wide = points.map(|p| p.map(|x: i16| i32::from(x) << 8));
        let mut again = vec![[0.0; 4]; 8];
        surface(&polygons, &group).normals(&wide, &mut again);
        for (a, b) in out.iter().zip(&again) {
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-6));
        }
    }

    #[test]
    fn nothing_to_go_by_looks_up() {
        let mut out = vec![[0.0; 4]; 4];
        let polygons = [vec![0, 1, 2], vec![0, 0, 1, 2], vec![], vec![1]];
        surface(&polygons, &[0, 1, 2, 3]).normals(&[[7i16; 4]; 4], &mut out);
        assert_eq!(out, [[0.0, 0.0, 1.0, 0.0]; 4]);
        Surface::default().normals::<[i16; 4]>(&[], &mut []);
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
                let mut out = vec![[0.0; 4]; 7];
                s.normals(points, &mut out);
                for (g, [x, y, z, _]) in out.into_iter().enumerate() {
                    let n = [x, y, z];
                    let [a, b] = s.frame(points, g, n);
                    for v in [n, a, b] {
                        assert!((dot3(v, v) - 1.0).abs() < 1e-5, "{v:?}");
                    }
                    assert!(dot3(n, a).abs() < 1e-3 && dot3(n, b).abs() < 1e-3 && dot3(a, b).abs() < 1e-3);
                }
            }
            let s = surface(&polygons, &[0, 1, 2, 3, 4, 5, 6]);
            check(&s, &points);
            check(&s, &wide);
        }
    }
}
