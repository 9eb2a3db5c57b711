//! Normals of a decoded surface, the same bits on every machine: what stored normals are predicted from. No
//! error of its own.
//!
//! Every corner of a polygon adds the polygon's normal, weighted as the mesh says: the unit normal with the
//! interior angle (G. Thürmer, C. Wüthrich, *Computing vertex normals from polygonal facets*, 1998), the unit
//! normal alone, or one as long as the polygon is large. Corners that share a normal form a *group*. The
//! polygons are the source's, not the triangles: on bent quads the two differ by many degrees.
//!
//! ```text
//! for each polygon p₀ … p₋₁   m = Σ (pᵢ − p₀) × (pᵢ₊₁ − p₀)
//!     weights 2               each corner's vector is m
//!     weights 1               each corner's vector is n = unit(m), zero where there is no direction
//!     weights 0, corner i     e = pᵢ₊₁ − pᵢ, f = pᵢ − pᵢ₋₁, c = −(f · e) / (|f| |e|), a = angle(c)
//!                             more than three corners, c < 0.999 and (f × e) · n < 0: a = 2π − a
//!                             vector a · n
//! for each group              unit(0 + the vector of each of its corners in turn), or +z
//! ```
//!
//! Two passes, so that nothing is added to what another lane adds to: the first one writes the vectors of
//! sixteen polygons of the same number of corners, the second one fetches those of sixteen groups. The order
//! of a sum is that of the polygons. Everything is f32 + − × ÷ √ in the order of the code; points are whole
//! numbers, so edges are exact. The angle takes a root: polynomials alone are off where edges nearly lie
//! on each other, and there are sources that have many of these.

use crate::Corrupt;
use crate::mesh::normals::gather::{Gather, Lists};
use crate::simd::lanes::{
    BLOCK, BlockRow, Number, Part, Vector, cross, difference, dot, minus, plus, select, times,
};
pub use crate::simd::lanes::{Place, Points};
use std::f32::consts::{PI, TAU};

/// Where a group without faces looks.
pub const UP: [f32; 3] = [0.0, 0.0, 1.0];

/// How much a polygon adds to the normals of its corners. Part of the format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Weights {
    /// Its interior angle.
    #[default]
    Angle,
    /// All the same.
    Equal,
    /// Its area.
    Area,
}

impl Weights {
    /// All of them, by their numbers in a file.
    pub const ALL: [Weights; 3] = [Weights::Angle, Weights::Equal, Weights::Area];
}

/// The polygons and groups of a mesh, arranged for computing normals; the same in all frames.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    weights: Weights,
    /// Polygons of up to [`SIDES`] corners, sixteen at a time: a row of points for each corner.
    rows: Vec<BlockRow>,
    /// Per number of corners, from 3 on, where its rows end.
    ends: Vec<usize>,
    /// Points of the corners of the other polygons, and where each polygon ends.
    large: Vec<u32>,
    large_ends: Vec<usize>,
    /// Number of the first vector of these.
    large_first: usize,
    /// Per group the vectors of its corners.
    corners: Gather,
    /// Per sixteen groups their points, and others from which their frames take their directions.
    anchors: Vec<[BlockRow; 2]>,
    groups: usize,
    points: usize,
    /// Vectors that are kept while a frame is computed.
    vectors: usize,
}

/// Most corners of polygons that are computed side by side.
const SIDES: usize = 16;

impl Surface {
    /// `polygons` are vertices, `ends` where each polygon ends; `point` and `group` say what each vertex
    /// belongs to, both numbered without gaps.
    pub fn new(
        polygons: &[u32],
        ends: &[usize],
        point: &[u32],
        group: &[u32],
        weights: Weights,
    ) -> Result<Surface, Corrupt> {
        let count = |list: &[u32]| list.iter().max().map_or(0, |m| *m as usize + 1);
        let (points, groups) = (count(point), count(group));
        if point.len() != group.len() || points > point.len() || groups > group.len() {
            return Err(Corrupt("normals: points or groups that do not fit the vertices"));
        }
        if polygons.iter().any(|v| *v as usize >= point.len()) {
            return Err(Corrupt("normals: a polygon of vertices that are not there"));
        }
        if ends.windows(2).any(|e| e[1] < e[0]) || ends.last().is_some_and(|e| *e > polygons.len()) {
            return Err(Corrupt("normals: ends of polygons out of order"));
        }
        let mut out = Surface { weights, groups, points, ..Surface::default() };
        let starts = std::iter::once(&0).chain(ends);
        let list: Vec<&[u32]> = starts.zip(ends).map(|(start, end)| &polygons[*start..*end]).collect();
        out.anchor(&list, point, group);
        // Number of the vector of each corner, as polygons come.
        let slots = out.arrange(&list, point);
        let corner_groups =
            list.iter().filter(|p| p.len() >= 3).copied().flatten().map(|v| group[*v as usize]);
        let lists = Lists::new(groups, corner_groups.zip(slots.iter().copied()));
        out.corners = Gather::new(&lists, &mut out.vectors);
        out.vectors = out.vectors.next_multiple_of(BLOCK);
        Ok(out)
    }

    /// Finds for each group a point and another one.
    fn anchor(&mut self, polygons: &[&[u32]], point: &[u32], group: &[u32]) {
        self.anchors = vec![[[0; BLOCK]; 2]; self.groups.div_ceil(BLOCK)];
        for (g, p) in group.iter().zip(point) {
            let (block, lane) = (*g as usize / BLOCK, *g as usize % BLOCK);
            for row in &mut self.anchors[block] {
                row[lane] = *p;
            }
        }
        for polygon in polygons {
            for (i, v) in polygon.iter().enumerate() {
                let [own, next] = [*v, polygon[(i + 1) % polygon.len()]].map(|v| point[v as usize]);
                let g = group[*v as usize] as usize;
                let [first, other] = &mut self.anchors[g / BLOCK];
                let lane = g % BLOCK;
                if first[lane] == other[lane] && own != next {
                    (first[lane], other[lane]) = (own, next);
                }
            }
        }
    }

    /// Puts polygons of the same number of corners side by side; the number of the vector of each corner of
    /// all that have three or more.
    fn arrange(&mut self, polygons: &[&[u32]], point: &[u32]) -> Vec<u32> {
        let mut sorted: Vec<Vec<usize>> = vec![Vec::new(); SIDES + 1];
        for (i, polygon) in polygons.iter().enumerate() {
            if (3..=SIDES).contains(&polygon.len()) {
                sorted[polygon.len()].push(i);
            }
        }
        let apart = usize::from(self.weights == Weights::Angle);
        // Of each polygon the vector of its first corner, and how far the next one is.
        let mut first = vec![[0usize; 2]; polygons.len()];
        // The first block stays zero.
        let mut blocks = 1;
        for (sides, list) in sorted.iter().enumerate().skip(3) {
            for block in list.chunks(BLOCK) {
                for corner in 0..sides {
                    let mut row = [0; BLOCK];
                    for (place, &polygon) in row.iter_mut().zip(block) {
                        *place = point[polygons[polygon][corner] as usize];
                    }
                    self.rows.push(row);
                }
                for (lane, &polygon) in block.iter().enumerate() {
                    first[polygon] = [BLOCK * blocks + lane, BLOCK * apart];
                }
                blocks += if apart == 1 { sides } else { 1 };
            }
            self.ends.push(self.rows.len());
        }
        self.large_first = BLOCK * blocks;
        self.vectors = self.large_first;
        for (i, polygon) in polygons.iter().enumerate().filter(|(_, p)| p.len() > SIDES) {
            self.large.extend(polygon.iter().map(|v| point[*v as usize]));
            self.large_ends.push(self.large.len());
            first[i] = [self.vectors, apart];
            self.vectors += if apart == 1 { polygon.len() } else { 1 };
        }
        let mut slots = Vec::new();
        for (polygon, [first, apart]) in polygons.iter().zip(first).filter(|(p, _)| p.len() >= 3) {
            slots.extend((0..polygon.len()).map(|i| (first + i * apart) as u32));
        }
        slots
    }

    /// Leaves groups and the directions of their frames alone.
    pub(super) fn forget_polygons(&mut self) {
        let kept = std::mem::take(self);
        let Surface { anchors, groups, points, .. } = kept;
        *self = Surface { anchors, groups, points, ..Surface::default() };
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Vectors that are kept while a frame is computed: a multiple of sixteen.
    pub(super) fn vectors(&self) -> usize {
        self.vectors
    }

    /// Number of points that a frame must have.
    pub fn points(&self) -> usize {
        self.points
    }

    /// The first pass: vectors of all corners. Panics where `points` are too few, or `vectors` are not as
    /// many as [`Surface::vectors`], of which the first ones are zero.
    #[inline(always)]
    pub(super) fn write_vectors<L: Part, P: Place>(&self, points: &[P], vectors: &mut [[f32; 4]]) {
        assert!(points.len() >= self.points, "all points");
        assert!(vectors.len() >= self.vectors, "room for all vectors");
        let apart = self.weights == Weights::Angle;
        let (_, mut out) = vectors.as_chunks_mut::<BLOCK>().0.split_at_mut(1);
        let mut start = 0;
        for (i, &end) in self.ends.iter().enumerate() {
            let sides = i + 3;
            for places in self.rows[start..end].chunks_exact(sides) {
                let (own, rest) = out.split_at_mut(if apart { sides } else { 1 });
                // What is known of the number when this is compiled stays in registers.
                match sides {
                    3 => polygons::<L, P, 3>(self.weights, places, points, own),
                    4 => polygons::<L, P, 4>(self.weights, places, points, own),
                    _ => polygons::<L, P, SIDES>(self.weights, places, points, own),
                }
                out = rest;
            }
            start = end;
        }
        let (mut start, mut at) = (0, self.large_first);
        for &end in &self.large_ends {
            at += large_polygon(self.weights, &self.large[start..end], points, &mut vectors[at..]);
            start = end;
        }
        self.corners.sum_long(vectors);
    }

    /// The second pass: unit normals of a part of a block of groups.
    #[inline(always)]
    pub(super) fn directions<L: Part>(&self, block: usize, part: usize, vectors: &[[f32; 4]]) -> Vector<L> {
        directions(self.corners.sum::<L>(block, part, vectors))
    }

    /// Two unit vectors that make a right-handed frame with the normal `n` of group `g` and turn with the
    /// surface.
    #[cfg(feature = "encode")]
    #[inline]
    pub fn frame<P: Place>(&self, points: &[P], g: usize, n: [f32; 3]) -> [[f32; 3]; 2] {
        let [own, other] = self.anchors[g / BLOCK].map(|row| row[g % BLOCK]);
        frame(points[other as usize].minus(points[own as usize]), n)
    }

    /// Tangent frames of a part of a block of groups.
    #[inline(always)]
    pub(super) fn frames<L: Part, P: Place>(
        &self,
        points: &[P],
        (block, part): (usize, usize),
        n: Vector<L>,
    ) -> [Vector<L>; 2] {
        let [own, other] = &self.anchors[block];
        ahead::<L, P>(points, [own, other], part, n)
    }

    /// The same of any groups.
    #[inline(always)]
    pub(super) fn frames_of<L: Part, P: Place>(
        &self,
        points: &[P],
        groups: &BlockRow,
        part: usize,
        n: Vector<L>,
    ) -> [Vector<L>; 2] {
        let mut rows = [[0; BLOCK]; 2];
        for (l, g) in groups.iter().enumerate() {
            let [own, other] = &self.anchors[*g as usize / BLOCK];
            (rows[0][l], rows[1][l]) = (own[*g as usize % BLOCK], other[*g as usize % BLOCK]);
        }
        ahead::<L, P>(points, [&rows[0], &rows[1]], part, n)
    }
}

#[inline(always)]
fn ahead<L: Part, P: Place>(
    points: &[P],
    [own, other]: [&BlockRow; 2],
    part: usize,
    n: Vector<L>,
) -> [Vector<L>; 2] {
    let (own, other) = (L::points(points, own, part), L::points(points, other, part));
    frame(difference::<L, P>(other, own), n)
}

/// Unit vectors; up where there is no direction.
#[inline(always)]
pub(in crate::mesh) fn directions<N: Number>(v: Vector<N>) -> Vector<N> {
    let scale = inverse_length(dot(v, v));
    select(N::splat(0.0).less(scale), times(v, scale), [N::splat(UP[0]), N::splat(UP[1]), N::splat(UP[2])])
}

/// Vectors of sixteen polygons of the same number of corners: of each corner, or one for all.
#[inline(always)]
fn polygons<L: Part, P: Place, const MOST: usize>(
    weights: Weights,
    places: &[BlockRow],
    points: &[P],
    out: &mut [[[f32; 4]; BLOCK]],
) {
    let sides = if MOST < SIDES { MOST } else { places.len() };
    assert!(sides <= places.len() && (3..=MOST).contains(&sides));
    for part in 0..L::PARTS {
        // From each corner to the next.
        let mut edges = [[L::splat(0.0); 3]; MOST];
        let first = L::points(points, &places[0], part);
        let mut own = first;
        for i in 1..sides {
            let next = L::points(points, &places[i], part);
            edges[i - 1] = difference::<L, P>(next, own);
            own = next;
        }
        edges[sides - 1] = difference::<L, P>(first, own);
        let mut normal = cross(edges[0], edges[1]);
        let mut from_first = plus(edges[0], edges[1]);
        for i in 2..sides - 1 {
            normal = plus(normal, cross(from_first, edges[i]));
            from_first = plus(from_first, edges[i]);
        }
        if weights != Weights::Area {
            normal = times(normal, inverse_length(dot(normal, normal)));
        }
        if weights != Weights::Angle {
            L::store_vectors(normal, &mut out[0], part);
            continue;
        }
        let mut inverse = [L::splat(0.0); MOST];
        for i in 0..sides {
            inverse[i] = inverse_length(dot(edges[i], edges[i]));
        }
        for i in 0..sides {
            let before = if i == 0 { sides - 1 } else { i - 1 };
            let cosine = -dot(edges[before], edges[i]) * (inverse[before] * inverse[i]);
            let mut angle = angle(cosine);
            if sides > 3 {
                angle = interior(angle, cosine, dot(cross(edges[before], edges[i]), normal));
            }
            L::store_vectors(times(normal, angle), &mut out[i], part);
        }
    }
}

/// A polygon of any number of corners; how many vectors it has.
fn large_polygon<P: Place>(weights: Weights, corners: &[u32], points: &[P], out: &mut [[f32; 4]]) -> usize {
    let count = corners.len();
    let edge = |i: usize| {
        let next = corners[if i + 1 == count { 0 } else { i + 1 }];
        points[next as usize].minus(points[corners[i] as usize])
    };
    let mut normal = cross(edge(0), edge(1));
    let mut from_first = plus(edge(0), edge(1));
    for i in 2..count - 1 {
        let e = edge(i);
        normal = plus(normal, cross(from_first, e));
        from_first = plus(from_first, e);
    }
    if weights != Weights::Area {
        normal = times(normal, inverse_length(dot(normal, normal)));
    }
    if weights != Weights::Angle {
        out[0] = [normal[0], normal[1], normal[2], 0.0];
        return 1;
    }
    let mut before = edge(count - 1);
    for (i, out) in out.iter_mut().enumerate().take(count) {
        let e = edge(i);
        let cosine = -dot(before, e) * (inverse_length(dot(before, before)) * inverse_length(dot(e, e)));
        let angle = interior(angle(cosine), cosine, dot(cross(before, e), normal));
        *out = [normal[0] * angle, normal[1] * angle, normal[2] * angle, 0.0];
        before = e;
    }
    count
}

/// The angle on the side of the polygon's plane that the turn shows.
#[inline(always)]
fn interior<N: Number>(angle: N, cosine: N, side: N) -> N {
    let reflex = N::both(side.less(N::splat(0.0)), cosine.less(N::splat(0.999)));
    N::select(reflex, N::splat(TAU) - angle, angle)
}

/// The arc cosine within 7·10⁻⁵; beyond ±1 as at ±1: formula 4.4.45 of M. Abramowitz and I. Stegun, *Handbook of
/// mathematical functions*, 1964. Part of the format.
#[inline(always)]
pub(super) fn angle<N: Number>(cosine: N) -> N {
    let a = cosine.abs().min(N::splat(1.0));
    let inner = N::splat(-0.212_114_4) + a * (N::splat(0.074_261) + a * N::splat(-0.018_729_3));
    let arc = (N::splat(1.0) - a).sqrt() * (N::splat(1.570_728_8) + a * inner);
    N::select(cosine.less(N::splat(0.0)), N::splat(PI) - arc, arc)
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

/// What a half angle h with the square `v` turns by: its cosine, and by what h is to be multiplied to give its
/// sine. About exact for small h; h = π/2 is nearly a half turn, and what is beyond goes on from there. Part of
/// the format.
#[inline(always)]
pub(in crate::mesh) fn rotation<N: Number>(v: N) -> [N; 2] {
    // tan h = h · (15 − v) / (15 − 6 v), as numerator and denominator.
    let above = N::splat(1.0) - v * N::splat(1.0 / 15.0);
    let below = N::splat(1.0) - v * N::splat(0.4);
    let (sine, cosine) = (above * above * v, below * below);
    let scale = N::splat(1.0) / (cosine + sine);
    [(cosine - sine) * scale, (above * below) * (scale + scale)]
}

/// Cosine and sine of about an angle between −π and π. Part of the format.
#[inline(always)]
pub(in crate::mesh) fn turn<N: Number>(angle: N) -> [N; 2] {
    let half = angle * N::splat(0.5);
    let [c, s] = rotation(half * half);
    [c, half * s]
}

/// The direction of what `v` has at right angles to the unit vector `n`; a mask of where that is more than
/// rounding.
#[inline(always)]
pub(in crate::mesh) fn flat<N: Number>(v: Vector<N>, n: Vector<N>) -> (Vector<N>, N::Mask) {
    let rest = minus(v, times(n, dot(v, n)));
    let square = dot(rest, rest);
    let scale = inverse_length(square);
    let there = N::both((dot(v, v) * N::splat(1e-8)).less(square), N::splat(0.0).less(scale));
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
    use crate::simd::lanes::{self, BlockTask};
    use proptest::prelude::*;

    struct Unit<'a, P>(&'a Surface, &'a [P], &'a mut [[f32; 4]]);

    impl<P: Place> BlockTask for Unit<'_, P> {
        #[inline(always)]
        fn run<L: Part>(self) {
            let Unit(surface, points, out) = self;
            let mut vectors = vec![[0.0; 4]; surface.vectors()];
            surface.write_vectors::<L, P>(points, &mut vectors);
            for (block, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
                for part in 0..L::PARTS {
                    L::store_vectors(surface.directions::<L>(block, part, &vectors), out, part);
                }
            }
        }
    }

    impl Surface {
        fn normals<P: Place>(&self, points: &[P], out: &mut [[f32; 4]]) {
            lanes::run_blocks(Isa::get(), Unit(self, points, out));
        }
    }

    #[test]
    fn angles_are_weights_and_turns_are_exact_where_they_are_small() {
        for i in -100_000..=100_000 {
            let x = i as f32 / 100_000.0;
            let exact = f64::from(x).acos();
            let off = (f64::from(angle(x)) - exact).abs();
            assert!(off < 7e-5, "{x} {off}");
            let a = f64::from(x) * std::f64::consts::PI;
            let [c, s] = turn(a as f32);
            let off = (f64::from(c) - a.cos()).abs().max((f64::from(s) - a.sin()).abs());
            assert!(off < 5e-7 + 1.3e-3 * (a / 2.0).powi(7).abs(), "{a} {off}");
            assert!((c * c + s * s - 1.0).abs() < 5e-7);
        }
        assert_eq!([angle(2.0f32), angle(f32::MAX)], [angle(1.0); 2]);
        assert_eq!(turn(0.0), [1.0, 0.0]);
    }

    /// The definition in f64, on any polygons.
    fn reference(
        polygons: &[Vec<u32>],
        group: &[u32],
        points: &[[i16; 4]],
        weights: Weights,
    ) -> Vec<[f64; 3]> {
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
                let weight = match weights {
                    Weights::Angle => angle,
                    Weights::Equal => 1.0,
                    Weights::Area => length,
                };
                let sum = &mut sums[group[polygon[i] as usize] as usize];
                *sum = std::array::from_fn(|k| sum[k] + weight * n[k] / length);
            }
        }
        sums
    }

    fn surface(polygons: &[Vec<u32>], group: &[u32], weights: Weights) -> Surface {
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
        Surface::new(&vertices, &ends, &point, group, weights).unwrap()
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
        for weights in Weights::ALL {
            let mut out = vec![[0.0; 4]; 16];
            surface(&polygons, &group, weights).normals(&points, &mut out);
            for (n, sum) in out.iter().zip(reference(&polygons, &group, &points, weights)) {
                let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
                let limit = if weights == Weights::Angle { 1e-4 } else { 1e-6 };
                assert!((0..3).all(|k| (f64::from(n[k]) - sum[k] / length).abs() < limit));
            }
            // The same points as i32 give the same directions.
            let wide = points.map(|p| p.map(|x: i16| i32::from(x) << 8));
            let mut again = vec![[0.0; 4]; 16];
            surface(&polygons, &group, weights).normals(&wide, &mut again);
            for (a, b) in out.iter().zip(&again) {
                assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-6));
            }
        }
    }

    #[test]
    fn nothing_to_go_by_looks_up() {
        for weights in Weights::ALL {
            let mut out = vec![[0.0; 4]; 16];
            let polygons = [vec![0, 1, 2], vec![0, 0, 1, 2], vec![], vec![1]];
            surface(&polygons, &[0, 1, 2, 3], weights).normals(&[[7i16; 4]; 4], &mut out);
            assert_eq!(out, [[0.0, 0.0, 1.0, 0.0]; 16]);
        }
        surface(&[], &[], Weights::Angle).normals::<[i16; 4]>(&[], &mut []);
        for (polygons, point, group) in [
            (&[0u32, 1, 9][..], &[0u32, 1][..], &[0u32, 1][..]),
            (&[], &[0, 2], &[0, 1]),
            (&[], &[0, 1], &[0, 2]),
            (&[], &[0], &[0, 1]),
        ] {
            assert!(Surface::new(polygons, &[polygons.len()], point, group, Weights::Equal).is_err());
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
                let mut out = vec![[0.0; 4]; 16];
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
            for weights in Weights::ALL {
                let s = surface(&polygons, &[0, 1, 2, 3, 4, 5, 6], weights);
                check(&s, &points);
                check(&s, &wide);
            }
        }
    }
}
