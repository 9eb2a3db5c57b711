//! Normals of a decoded surface, from which stored normals are predicted; the same bits on every machine.
//! Adds no error of its own.
//!
//! Every corner of a polygon adds the polygon's normal, weighted as the mesh specifies: the unit normal times
//! the interior angle (G. Thürmer, C. Wüthrich, *Computing vertex normals from polygonal facets*, 1998), the
//! unit normal alone, or a vector as long as the polygon's area. Corners that share a normal form a *group*.
//! The polygons are the source's, not the triangles: on bent quads the two differ by many degrees.
//!
//! ```text
//! for each triangle and quad      mesh/normals/fans.rs
//! for each polygon p₀ … p₋₁ of    m = Σ (pᵢ − p₀) × (pᵢ₊₁ − p₀)
//! five corners and more           weights 2: m; weights 1: m / |m|; weights 0, 3, corner i: a · m / |m| with
//!                                 e = pᵢ₊₁ − pᵢ, f = pᵢ − pᵢ₋₁, c = −(f · e) / (|f| |e|), a = angle(c);
//!                                 c < 0.999 and (f × e) · m < 0: a = 2π − a
//! for each group                  unit(0 + the vector of each corner in a triangle or quad, those around each
//!                                 point in their order + the vectors of other corners in turn), or +z
//! ```
//!
//! Corners of triangles and quads are computed separately for each group they belong to, so that no two lanes
//! add to the same sum. All arithmetic is f32 + − × ÷ in the order of the code; points are integers, so edges
//! are exact. Weights may be rough: an error of a thousandth in a weight is a negligible angle.

use crate::Corrupt;
use crate::mesh::byte_budget::ByteBudget;
use crate::mesh::normals::arranged_points::{
    ArrangedPoints, DifferenceUnit, PointOrder, PointRow, PointRows,
};
pub use crate::mesh::normals::fans::NormalWeights;
use crate::mesh::normals::fans::{Corner, Fans};
use crate::mesh::normals::gather::{Gather, ItemLists, MAX_SHORT_LIST};
use crate::mesh::normals::lists::JaggedArray;
use crate::mesh::normals::roots::{
    angle, interior, inverse_root, normalized, project_to_plane, rough_inverse_root,
};
use crate::simd::lanes::{
    BLOCK, BlockRow, Number, Part, Vector, cross, difference, dot, plus, select, times,
};
pub use crate::simd::lanes::{IntegerPoint, Points};
use crate::topology::grid;

/// Bytes per corner of polygons with five or more: its place, its vector, its entries in lists.
const LARGE_CORNER_BYTES: u64 = 48;
/// Bytes per group where corners are gathered: at most as many rows as the longest list of sixteen.
const GATHER_BYTES: u64 = 4 * MAX_SHORT_LIST as u64 + 4;

/// The polygons and groups of a mesh, arranged for computing normals; the same in all frames.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    weights: NormalWeights,
    pub(super) order: PointOrder,
    pub(super) rows: PointRows,
    fans: Fans,
    /// The places of the corners of polygons with five or more, the end of each polygon, and the number of
    /// the first vector of these.
    large: Vec<u32>,
    large_ends: Vec<u32>,
    large_first: usize,
    /// Per group, the vectors of its corners in these, and the sums computed before.
    corners: Gather,
    /// Per sixteen groups, the rows of their places, and of others that give their frames a direction.
    anchor_rows: Vec<[PointRow; 2]>,
    groups: usize,
    points: usize,
    /// The number of vectors stored while a frame is computed.
    vectors: usize,
}

impl Surface {
    /// Takes the vertices of all `polygons` and their `ends`; `point` and `group` are those of each vertex,
    /// both numbered without gaps. Also returns the place of each vertex. Fails if the lists exceed the
    /// budget.
    pub fn new(
        polygons: &[u32],
        ends: &[usize],
        (point, grid): (&[u32], Option<grid::GridShape>),
        group: &[u32],
        weights: NormalWeights,
        budget: &mut ByteBudget,
    ) -> Result<(Surface, Vec<u32>), Corrupt> {
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
        let (order, place) = PointOrder::new(point, points, grid);
        let mut out = Surface { weights, order, groups, points, ..Surface::default() };
        let starts = std::iter::once(&0).chain(ends);
        let list: Vec<&[u32]> = starts.zip(ends).map(|(start, end)| &polygons[*start..*end]).collect();
        out.anchor(&list, &place, group);
        budget.add_growing(out.rows.bytes())?;
        out.arrange(&list, &place, group, budget)?;
        out.rows.shrink_to_fit();
        Ok((out, place))
    }

    /// Finds two places for each group: its own, and one that gives its frame a direction.
    fn anchor(&mut self, polygons: &[&[u32]], place: &[u32], group: &[u32]) {
        let mut anchors = vec![[0; 2]; self.groups];
        for (g, p) in group.iter().zip(place).rev() {
            anchors[*g as usize] = [*p; 2];
        }
        let mut found = vec![false; self.groups];
        for polygon in polygons {
            for (i, v) in polygon.iter().enumerate() {
                let [own, next] = [*v, polygon[(i + 1) % polygon.len()]].map(|v| place[v as usize]);
                let g = group[*v as usize] as usize;
                if !found[g] && own != next {
                    (anchors[g], found[g]) = ([own, next], true);
                }
            }
        }
        self.push_anchors(&anchors);
    }

    fn push_anchors(&mut self, anchors: &[[u32; 2]]) {
        let places = self.order.len();
        self.anchor_rows.reserve_exact(anchors.len().div_ceil(BLOCK));
        for block in anchors.chunks(BLOCK) {
            let row = [0, 1].map(|k| self.rows.push_row(|l| block[l][k], block.len(), places));
            self.anchor_rows.push(row);
        }
    }

    /// Returns a group's place, and another one that gives its frame a direction.
    #[inline(always)]
    fn anchors_of(&self, group: usize) -> [u32; 2] {
        self.anchor_rows[group / BLOCK].map(|row| self.rows.place(row, group % BLOCK))
    }

    /// Finds the corners of each group.
    fn arrange(
        &mut self,
        polygons: &[&[u32]],
        place: &[u32],
        group: &[u32],
        budget: &mut ByteBudget,
    ) -> Result<(), Corrupt> {
        let groups = self.groups;
        let all = |sides: std::ops::RangeInclusive<usize>| {
            let own = polygons.iter().enumerate().filter(move |(_, p)| sides.contains(&p.len()));
            own.flat_map(|(i, p)| (0..p.len()).map(move |k| (i, k)))
        };
        // The normal of a group within one polygon is that of the polygon, so one corner is enough.
        let mut first_corner = vec![None; groups];
        let mut several = vec![false; groups];
        let group_of = |i: usize, k: usize| group[polygons[i][k] as usize];
        for (i, k) in all(3..=usize::MAX) {
            let g = group_of(i, k) as usize;
            let (first, _) = *first_corner[g].get_or_insert((i as u32, k as u32));
            several[g] |= first != i as u32;
        }
        let counts = |&(i, k): &(usize, usize)| {
            let g = group_of(i, k) as usize;
            several[g] || first_corner[g] == Some((i as u32, k as u32))
        };
        // A corner's number combines its polygon and its index in it.
        let number = |(i, k): (usize, usize)| (group_of(i, k), (4 * i + k) as u32);
        let lists = ItemLists::new(groups, all(3..=4).filter(counts).map(number));
        let corners = |g: usize, out: &mut Vec<Corner<()>>| {
            let corner = |number: &u32| {
                let (polygon, k) = (polygons[*number as usize / 4], *number as usize % 4);
                let at = |i: usize| place[polygon[(k + i) % polygon.len()] as usize];
                let across = if polygon.len() == 4 { at(2) } else { at(1) };
                Corner { at: at(0), after: at(1), across, before: at(polygon.len() - 1), own: () }
            };
            out.extend(lists.list(g).iter().map(corner));
        };
        // The first block of vectors stays zero.
        let mut next = BLOCK;
        let own: Vec<u32> = (0..groups).map(|g| self.anchors_of(g)[0]).collect();
        let own_rows: Vec<PointRow> = self.anchor_rows.iter().map(|[own, _]| *own).collect();
        let own = (&own[..], &own_rows[..]);
        let all = (self.order.len(), &mut self.rows, &mut *budget);
        let (fans, sums) = Fans::new(own, corners, all, &mut next)?;
        self.fans = fans;
        let large: usize = polygons.iter().map(|p| p.len()).filter(|len| *len > 4).sum();
        if large + sums.len() > 0 {
            budget.add(LARGE_CORNER_BYTES * (large + sums.len()) as u64 + GATHER_BYTES * groups as u64)?;
        }
        self.large_first = next;
        let apart = usize::from(self.weights.vary_by_corner());
        let mut vectors: Vec<(u32, u32)> = sums;
        for (i, polygon) in polygons.iter().enumerate().filter(|(_, p)| p.len() > 4) {
            self.large.extend(polygon.iter().map(|v| place[*v as usize]));
            self.large_ends.push(self.large.len() as u32);
            let corners = (0..polygon.len()).map(|k| (i, k)).filter(counts);
            vectors.extend(corners.map(|(_, k)| (group_of(i, k), (next + k * apart) as u32)));
            next += if apart == 1 { polygon.len() } else { 1 };
        }
        self.corners = Gather::new(&ItemLists::new(groups, vectors.iter().copied()), &mut next);
        self.vectors = next.next_multiple_of(BLOCK);
        Ok(())
    }

    /// Returns the weights of polygons.
    pub(super) fn weights(&self) -> NormalWeights {
        self.weights
    }

    /// Returns, per group, its point, and another one that gives its frame a direction.
    pub(super) fn anchor_points(&self) -> Vec<[u32; 2]> {
        (0..self.groups).map(|g| self.anchors_of(g).map(|place| self.order.point(place))).collect()
    }

    /// Returns a group's corners in triangles and quads: its point and those after, across and before it.
    pub(super) fn fan_of(&self, group: usize) -> Vec<[u32; 4]> {
        let mut places = self.fans.corners_of(&self.rows, group);
        let first = self.fans.first_sum();
        for number in
            self.corners.list(group).into_iter().map(|n| n as usize).filter(|n| *n < self.large_first)
        {
            places.extend(self.fans.long_corners().nth(number - first).into_iter().flatten());
        }
        places.into_iter().map(|corner| corner.map(|place| self.order.point(place))).collect()
    }

    /// Returns, per group, its corners in larger polygons, and the points of these polygons.
    pub(super) fn large_polygons(&self) -> (JaggedArray<[u32; 2]>, JaggedArray<u32>) {
        let points = self.large.iter().map(|place| self.order.point(*place)).collect();
        let polygons = JaggedArray { end_offsets: self.large_ends.clone(), items: points };
        let corner = |number: u32| {
            let number = number - self.large_first as u32;
            if !self.weights.vary_by_corner() {
                return [number, 0];
            }
            let polygon = self.large_ends.partition_point(|end| *end <= number) as u32;
            let start = polygon.checked_sub(1).map_or(0, |before| self.large_ends[before as usize]);
            [polygon, number - start]
        };
        let of = |group: usize| {
            let numbers = self.corners.list(group).into_iter();
            numbers.filter(|n| *n as usize >= self.large_first).map(corner).collect()
        };
        (JaggedArray::new((0..self.groups()).map(of)), polygons)
    }

    /// Drops everything but groups and the directions of their frames.
    pub(super) fn forget_polygons(&mut self) {
        let anchors: Vec<[u32; 2]> = (0..self.groups).map(|g| self.anchors_of(g)).collect();
        let Surface { order, groups, points, .. } = std::mem::take(self);
        *self = Surface { order, groups, points, ..Surface::default() };
        self.push_anchors(&anchors);
        self.rows.shrink_to_fit();
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Returns the number of vectors stored while a frame is computed: a multiple of sixteen.
    pub(super) fn vectors(&self) -> usize {
        self.vectors
    }

    /// Returns the number of points that a frame must have.
    pub fn points(&self) -> usize {
        self.points
    }

    /// The first pass: computes vectors of the corners of large polygons, and sums of groups with very many
    /// corners. `vectors` has as many entries as [`Surface::vectors`], the first of which are zero.
    #[inline(always)]
    pub(super) fn write_vectors<U: DifferenceUnit>(&self, laid: &ArrangedPoints, vectors: &mut [[f32; 4]]) {
        self.fans.sum_long(self.weights, U::unit(laid), |place| laid.point(place), vectors);
        let (mut start, mut at) = (0, self.large_first);
        for &end in &self.large_ends {
            let corners = &self.large[start..end as usize];
            at += large_polygon::<U>(self.weights, corners, laid, &mut vectors[at..]);
            start = end as usize;
        }
        self.corners.sum_long(vectors);
    }

    /// The second pass: returns the unit normals of a part of a block of groups.
    #[inline(always)]
    pub(super) fn directions<L: Part, U: DifferenceUnit>(
        &self,
        block: (usize, usize),
        laid: &ArrangedPoints,
        vectors: &[[f32; 4]],
    ) -> Vector<L> {
        let sum = self.fans.sum::<L, U>(self.weights, block, (&self.rows, laid));
        normalized(self.corners.add::<L>(sum, block, vectors))
    }

    /// Returns two unit vectors that form a right-handed frame with the normal `n` of group `g` and turn with
    /// the surface.
    #[cfg(feature = "encode")]
    #[inline]
    pub(super) fn frame<U: DifferenceUnit>(
        &self,
        laid: &ArrangedPoints,
        g: usize,
        n: [f32; 3],
    ) -> [[f32; 3]; 2] {
        let [own, other] = self.anchors_of(g).map(|place| laid.point(place));
        frame(difference::<f32>(other, own, U::unit(laid)), n)
    }

    /// Returns the tangent frames of a part of a block of groups.
    #[inline(always)]
    pub(super) fn frames<L: Part, U: DifferenceUnit>(
        &self,
        laid: &ArrangedPoints,
        (block, part): (usize, usize),
        n: Vector<L>,
    ) -> [Vector<L>; 2] {
        let [own, other] = self.anchor_rows[block];
        let own = self.rows.fetch::<L>(own, laid, part);
        let other = self.rows.fetch::<L>(other, laid, part);
        frame(difference::<L>(other, own, U::unit(laid)), n)
    }

    /// Returns the tangent frames of any groups.
    #[inline(always)]
    pub(super) fn frames_of<L: Part, U: DifferenceUnit>(
        &self,
        laid: &ArrangedPoints,
        groups: &BlockRow,
        part: usize,
        n: Vector<L>,
    ) -> [Vector<L>; 2] {
        let mut rows = [[0; BLOCK]; 2];
        for (l, g) in groups.iter().enumerate() {
            [rows[0][l], rows[1][l]] = self.anchors_of(*g as usize);
        }
        let [own, other] = [laid.load_places::<L>(&rows[0], part), laid.load_places::<L>(&rows[1], part)];
        frame(difference::<L>(other, own, U::unit(laid)), n)
    }
}

/// Computes the vectors of a polygon with five or more corners; returns their number.
fn large_polygon<U: DifferenceUnit>(
    weights: NormalWeights,
    corners: &[u32],
    laid: &ArrangedPoints,
    out: &mut [[f32; 4]],
) -> usize {
    let (count, unit) = (corners.len(), U::unit(laid));
    let edge = |i: usize| {
        let next = corners[if i + 1 == count { 0 } else { i + 1 }];
        difference::<f32>(laid.point(next), laid.point(corners[i]), unit)
    };
    let mut normal = cross(edge(0), edge(1));
    let mut from_first = plus(edge(0), edge(1));
    for i in 2..count - 1 {
        let e = edge(i);
        normal = plus(normal, cross(from_first, e));
        from_first = plus(from_first, e);
    }
    if weights != NormalWeights::Area {
        normal = times(normal, rough_inverse_root(dot(normal, normal)));
    }
    if !weights.vary_by_corner() {
        out[0] = [normal[0], normal[1], normal[2], 0.0];
        return 1;
    }
    let mut before = edge(count - 1);
    for (i, out) in out.iter_mut().enumerate().take(count) {
        let e = edge(i);
        let cosine = -dot(before, e) * inverse_root(dot(before, before)) * inverse_root(dot(e, e));
        let angle = interior(angle(cosine), cosine, dot(cross(before, e), normal));
        *out = [normal[0] * angle, normal[1] * angle, normal[2] * angle, 0.0];
        before = e;
    }
    count
}

/// Returns a unit vector perpendicular to the unit vector `n`.
#[inline(always)]
fn perpendicular<N: Number>(n: Vector<N>) -> Vector<N> {
    let (one, zero) = (N::splat(1.0), N::splat(0.0));
    let x = n[0].abs().less(N::splat(0.9));
    let (v, there) = project_to_plane(select(x, [one, zero, zero], [zero, one, zero]), n);
    select(there, v, [one, zero, zero])
}

/// Returns two unit vectors that form a right-handed frame with the unit vector `n`, the first towards
/// `ahead`.
#[inline(always)]
fn frame<N: Number>(ahead: Vector<N>, n: Vector<N>) -> [Vector<N>; 2] {
    let (mut x, there) = project_to_plane(ahead, n);
    if !N::all(there) {
        x = select(there, x, perpendicular(n));
    }
    [x, cross(n, x)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::normals::arranged_points::ArrangePoints;
    use crate::simd::isa::Isa;
    use crate::simd::lanes::{self, BlockTask};
    use proptest::prelude::*;
    use std::marker::PhantomData;

    struct NormalsTask<'a, P>(&'a Surface, &'a ArrangedPoints, &'a mut [[f32; 4]], PhantomData<P>);

    impl<P: IntegerPoint> BlockTask for NormalsTask<'_, P> {
        #[inline(always)]
        fn run<L: Part>(self) {
            let NormalsTask(surface, laid, out, _) = self;
            let mut vectors = vec![[0.0; 4]; surface.vectors()];
            surface.write_vectors::<P>(laid, &mut vectors);
            for (block, out) in out.as_chunks_mut().0.iter_mut().enumerate().take(surface.anchor_rows.len()) {
                for part in 0..L::PARTS {
                    L::store_vectors(surface.directions::<L, P>((block, part), laid, &vectors), out, part);
                }
            }
        }
    }

    impl Surface {
        fn normals<P: IntegerPoint>(&self, points: &[P], out: &mut [[f32; 4]]) -> ArrangedPoints {
            let mut laid = ArrangedPoints::new(&self.order, &[&self.rows]);
            let from = P::kind(points);
            lanes::run(Isa::get(), ArrangePoints { order: &self.order, from, to: None, out: &mut laid });
            lanes::run(Isa::get(), NormalsTask(self, &laid, out, PhantomData::<P>));
            laid
        }
    }

    /// The definition in f64, for any polygons.
    fn reference(
        polygons: &[Vec<u32>],
        group: &[u32],
        points: &[[i16; 4]],
        weights: NormalWeights,
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
                let exact = count > 4 || weights == NormalWeights::Interior;
                let angle = if exact && dot(c, n) < 0.0 { std::f64::consts::TAU - angle } else { angle };
                let weight = match weights {
                    NormalWeights::Angle | NormalWeights::Interior => angle,
                    NormalWeights::Equal => 1.0,
                    NormalWeights::Area => length,
                };
                let sum = &mut sums[group[polygon[i] as usize] as usize];
                *sum = std::array::from_fn(|k| sum[k] + weight * n[k] / length);
            }
        }
        sums
    }

    fn surface(polygons: &[Vec<u32>], group: &[u32], weights: NormalWeights) -> Surface {
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
        Surface::new(&vertices, &ends, (&point, None), group, weights, &mut ByteBudget::unlimited())
            .unwrap()
            .0
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
        for weights in NormalWeights::ALL {
            let mut out = vec![[0.0; 4]; 16];
            surface(&polygons, &group, weights).normals(&points, &mut out);
            for (n, sum) in out.iter().zip(reference(&polygons, &group, &points, weights)) {
                let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
                let limit = match weights {
                    NormalWeights::Area => 1e-5,
                    NormalWeights::Angle => 0.1,
                    NormalWeights::Equal | NormalWeights::Interior => 1e-3,
                };
                assert!((0..3).all(|k| (f64::from(n[k]) - sum[k] / length).abs() < limit));
            }
            // The same points as i32 give the same directions.
            let wide = points.map(|p| p.map(|x: i16| i32::from(x) << 8));
            let mut again = vec![[0.0; 4]; 16];
            surface(&polygons, &group, weights).normals(&wide, &mut again);
            for (a, b) in out.iter().zip(&again) {
                assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-5));
            }
        }
    }

    #[test]
    fn nothing_to_go_by_looks_up() {
        for weights in NormalWeights::ALL {
            let mut out = vec![[0.0; 4]; 16];
            let polygons = [vec![0, 1, 2], vec![0, 0, 1, 2], vec![], vec![1]];
            surface(&polygons, &[0, 1, 2, 3], weights).normals(&[[7i16; 4]; 4], &mut out);
            assert_eq!(out, [[0.0, 0.0, 1.0, 0.0]; 16]);
        }
        surface(&[], &[], NormalWeights::Angle).normals::<[i16; 4]>(&[], &mut []);
        for (polygons, point, group) in [
            (&[0u32, 1, 9][..], &[0u32, 1][..], &[0u32, 1][..]),
            (&[], &[0, 2], &[0, 1]),
            (&[], &[0, 1], &[0, 2]),
            (&[], &[0], &[0, 1]),
        ] {
            assert!(
                Surface::new(
                    polygons,
                    &[polygons.len()],
                    (point, None),
                    group,
                    NormalWeights::Equal,
                    &mut ByteBudget::unlimited()
                )
                .is_err()
            );
        }
    }

    proptest! {
        #[test]
        fn any_points_give_unit_vectors_and_frames(
            points in prop::collection::vec(prop::array::uniform4(any::<i16>()), 7),
            wide in prop::collection::vec(prop::array::uniform4(any::<i32>()), 7),
            polygons in prop::collection::vec(prop::collection::vec(0u32..7, 1..6), 0..20),
        ) {
            fn check<P: IntegerPoint>(s: &Surface, points: &[P]) {
                let mut out = vec![[0.0; 4]; 16];
                let laid = s.normals(points, &mut out);
                for (g, [x, y, z, _]) in out.into_iter().enumerate().take(7) {
                    let n = [x, y, z];
                    let [a, b] = s.frame::<P>(&laid, g, n);
                    for v in [n, a, b] {
                        assert!((dot(v, v) - 1.0).abs() < 1e-5, "{v:?}");
                    }
                    assert!(dot(n, a).abs() < 1e-3 && dot(n, b).abs() < 1e-3 && dot(a, b).abs() < 1e-3);
                }
            }
            for weights in NormalWeights::ALL {
                let s = surface(&polygons, &[0, 1, 2, 3, 4, 5, 6], weights);
                check(&s, &points);
                check(&s, &wide);
            }
        }
    }
}
