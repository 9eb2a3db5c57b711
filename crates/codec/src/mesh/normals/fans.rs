//! Normals of groups from the triangles and quads around each, sixteen groups side by side. Successive
//! corners around a group share the edge between them.
//!
//! ```text
//! corner     e, f to the points after and before it, d to the one across (in a triangle d = e)
//!            m = d × (f − e): twice the area of the polygon, along its normal
//!            weights 0: m · (rough_angle(e · f / √(e² f²)) / |m|); weights 1: m / |m|; weights 2: m; weights 3:
//!            m · (a / |m|) with a = angle(e · f / (|e| |f|)), or 2π − a where (e × f) · m < 0 and that cosine is below 0.999
//! order      of the corners of a group: those at its first point, then at the next one, points as vertices first use them; at a point: of those that are left, the first one whose next point precedes none of them, or else the first one; then,
//!            as long as there is one, the first whose next point is the point before the last one
//! ```

use crate::Corrupt;
use crate::mesh::byte_budget::ByteBudget;
use crate::mesh::normals::arranged_points::{ArrangedPoints, DifferenceUnit, PointRow, PointRows};
use crate::mesh::normals::roots::{angle, interior, inverse_root, rough_angle, rough_inverse_root};
use crate::simd::lanes::{BLOCK, Number, Part, Vector, cross, difference, dot, minus, plus, times};
use crate::sort;

/// The weight of a polygon in the normals of its corners. Part of the format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NormalWeights {
    /// Its approximate angle.
    #[default]
    Angle,
    /// The same for all polygons.
    Equal,
    /// Its area.
    Area,
    /// Its interior angle.
    Interior,
}

impl NormalWeights {
    /// All weights, by their numbers in a file.
    pub const ALL: [NormalWeights; 4] =
        [NormalWeights::Angle, NormalWeights::Equal, NormalWeights::Area, NormalWeights::Interior];

    /// `true` if the corners of a polygon have different vectors.
    pub(super) fn vary_by_corner(self) -> bool {
        matches!(self, NormalWeights::Angle | NormalWeights::Interior)
    }
}

/// The largest number of corners that are summed side by side; groups with more are summed corner by corner.
pub(super) const MAX_FAN_CORNERS: usize = 16;

/// A corner: its place, the places after, across and before it, and its own value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Corner<T> {
    pub at: u32,
    pub after: u32,
    pub across: u32,
    pub before: u32,
    pub own: T,
}

/// Orders corners around their points.
pub(super) fn chain<T: Copy>(corners: &mut [Corner<T>]) {
    sort::by_key(corners, |c| c.at);
    for done in 0..corners.len() {
        let (before, left) = corners.split_at_mut(done);
        let at = left[0].at;
        let here = left.iter().take_while(|c| c.at == at).count();
        let here = &left[..here];
        let follows = |last: &Corner<T>| here.iter().position(|c| last.at == at && c.after == last.before);
        let begins = || here.iter().position(|c| here.iter().all(|o| o.before != c.after));
        let next = before.last().and_then(follows).or_else(begins).unwrap_or(0);
        left[..=next].rotate_right(1);
    }
}

/// The corners of sixteen items in the same arrangement: each item has some of these, in this order.
pub(super) struct CornerPattern<T> {
    /// The starts of runs: of the items themselves, of the point after the first corner, then of the points
    /// across and before each corner.
    pub own: i64,
    pub first: i64,
    pub runs: Vec<[i64; 2]>,
    /// For each corner, the values of the items that have it.
    pub values: Vec<[Option<T>; BLOCK]>,
}

/// Finds an arrangement in which the corners can be read in runs.
pub(super) fn find_pattern<T: Copy>(own: &[u32], corners: &[&[Corner<T>]]) -> Option<CornerPattern<T>> {
    let start = i64::from(*own.first()?);
    if !own.iter().zip(start..).all(|(own, wanted)| i64::from(*own) == wanted) {
        return None;
    }
    let off =
        |l: usize, c: &Corner<T>| [c.after, c.across, c.before].map(|p| i64::from(p) - i64::from(own[l]));
    let most = (0..corners.len()).max_by_key(|&l| (corners[l].len(), std::cmp::Reverse(l)))?;
    let pattern: Vec<[i64; 3]> = corners[most].iter().map(|c| off(most, c)).collect();
    let elsewhere = |(own, list): (&u32, &&[Corner<T>])| list.iter().any(|c| c.at != *own);
    if own.iter().zip(corners).any(elsewhere) {
        return None;
    }
    if pattern.is_empty() || pattern.windows(2).any(|w| w[0][2] != w[1][0]) {
        return None;
    }
    let mut values = vec![[None; BLOCK]; pattern.len()];
    for (l, list) in corners.iter().enumerate() {
        let mut at = 0;
        // The sum of two does not depend on their order.
        let place = |c: &Corner<T>| pattern.iter().position(|p| *p == off(l, c));
        let is_turned = list.len() == 2 && place(&list[0]) > place(&list[1]);
        for i in 0..list.len() {
            let corner = &list[if is_turned { 1 - i } else { i }];
            at += pattern.get(at..)?.iter().position(|p| *p == off(l, corner))?;
            values[at][l] = Some(corner.own);
            at += 1;
        }
    }
    Some(CornerPattern {
        own: start,
        first: start + pattern[0][0],
        runs: pattern.iter().map(|p| [start + p[1], start + p[2]]).collect(),
        values,
    })
}

/// Returns the points around an item in turn, each with the point across the corner before it.
pub(super) fn spokes<T: Copy>(own: u32, corners: &[Corner<T>], across: bool) -> Vec<([u32; 2], Option<T>)> {
    let mut out = Vec::new();
    let mut last = None;
    for c in corners {
        match last {
            None => out.push(([own, c.after], None)),
            // A gap is stepped over by the point itself, towards which no polygon has an area.
            Some(last) if last != c.after => {
                if !across {
                    out.push(([own, own], None));
                }
                out.push(([own, c.after], None));
            }
            Some(_) => {}
        }
        out.push(([c.across, c.before], Some(c.own)));
        last = Some(c.before);
    }
    out
}

/// The corners of sixteen groups.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FanBlock {
    own: PointRow,
    /// The end of its rows, and the first factors of its corners, if it has any.
    end: u32,
    factors: Option<u32>,
    kind: FanKind,
}

/// The rows that are stored per corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FanKind {
    /// The point before it; the point after it is in the row before.
    Triangles,
    /// The points across and before it.
    Quads,
    /// Its own point and those after, across and before it, for corners at several points.
    Apart,
}

/// The triangles and quads around each group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Fans {
    blocks: Vec<FanBlock>,
    rows: Vec<PointRow>,
    /// Per corner and item: 1 if the item has the corner, else 0.
    factors: Vec<[f32; BLOCK]>,
    /// The corners of groups that have very many, and the end of each list.
    long: Vec<Corner<()>>,
    long_ends: Vec<u32>,
    /// The number of the vector that receives the first of their sums.
    sums: usize,
}

impl Fans {
    /// Takes the first place of each group, with rows of these; `corners` adds those of a group to a list, in
    /// the order of polygons.
    /// The sums of groups with very many corners are stored from `next` on, which is moved behind them; the
    /// groups and the numbers of their sums are returned as well. Fails if the lists exceed the budget.
    pub fn new(
        (own, own_rows): (&[u32], &[PointRow]),
        corners: impl Fn(usize, &mut Vec<Corner<()>>),
        (places, rows, budget): (usize, &mut PointRows, &mut ByteBudget),
        next: &mut usize,
    ) -> Result<(Fans, Vec<(u32, u32)>), Corrupt> {
        let mut out = Fans { sums: *next, ..Fans::default() };
        let mut sums = Vec::new();
        let mut lanes: [Vec<Corner<()>>; BLOCK] = Default::default();
        for (block, (own, own_row)) in own.chunks(BLOCK).zip(own_rows).enumerate() {
            let before = out.bytes() + rows.bytes();
            for (lane, list) in lanes[..own.len()].iter_mut().enumerate() {
                list.clear();
                corners(BLOCK * block + lane, list);
                if list.len() > MAX_FAN_CORNERS {
                    out.long.append(list);
                    out.long_ends.push(out.long.len() as u32);
                    sums.push(((BLOCK * block + lane) as u32, *next as u32));
                    *next += 1;
                }
                chain(list);
            }
            let lanes: [&[Corner<()>]; BLOCK] = std::array::from_fn(|l| &lanes[l][..]);
            out.push((own, *own_row), &lanes[..own.len()], (places, rows));
            budget.add_growing(out.bytes() + rows.bytes() - before)?;
        }
        out.blocks.shrink_to_fit();
        out.rows.shrink_to_fit();
        out.factors.shrink_to_fit();
        Ok((out, sums))
    }

    /// Returns the bytes of all lists.
    fn bytes(&self) -> u64 {
        let lists = size_of_val(&self.rows[..]) + size_of_val(&self.factors[..]);
        (lists + size_of_val(&self.blocks[..]) + size_of_val(&self.long[..])) as u64
    }

    fn push(
        &mut self,
        (own, own_row): (&[u32], PointRow),
        lanes: &[&[Corner<()>]],
        (places, rows): (usize, &mut PointRows),
    ) {
        let across = lanes.iter().copied().flatten().any(|c| c.across != c.after);
        let kind = if across { FanKind::Quads } else { FanKind::Triangles };
        if let Some(block) = find_pattern(own, lanes).and_then(|a| self.push_pattern(a, kind, (places, rows)))
        {
            return self.blocks.push(block);
        }
        let block = |end: usize, kind| FanBlock { own: own_row, end: end as u32, factors: None, kind };
        if own.iter().zip(lanes).any(|(own, list)| list.iter().any(|c| c.at != *own)) {
            for i in 0..lanes.iter().map(|list| list.len()).max().unwrap_or(0) {
                let places_of = |c: &Corner<()>| [c.at, c.after, c.across, c.before];
                let all: Vec<[u32; 4]> =
                    own.iter().zip(lanes).map(|(own, l)| l.get(i).map_or([*own; 4], places_of)).collect();
                self.rows.extend((0..4).map(|k| rows.push_row(|l| all[l][k], own.len(), places)));
            }
            return self.blocks.push(block(self.rows.len(), FanKind::Apart));
        }
        let lists: Vec<_> = own.iter().zip(lanes).map(|(own, list)| spokes(*own, list, across)).collect();
        let count = lists.iter().map(Vec::len).max().unwrap_or(0);
        let mut row = |i: usize, k: usize| {
            rows.push_row(|l| lists[l].get(i).map_or(own[l], |spoke| spoke.0[k]), own.len(), places)
        };
        for i in 0..count {
            if across && i > 0 {
                self.rows.push(row(i, 0));
            }
            self.rows.push(row(i, 1));
        }
        self.blocks.push(block(self.rows.len(), kind));
    }

    fn push_pattern(
        &mut self,
        alike: CornerPattern<()>,
        kind: FanKind,
        (places, rows): (usize, &mut PointRows),
    ) -> Option<FanBlock> {
        let own = rows.push_run(alike.own, places)?;
        let mut list = vec![rows.push_run(alike.first, places)?];
        for [side, before] in &alike.runs {
            if kind == FanKind::Quads {
                list.push(rows.push_run(*side, places)?);
            }
            list.push(rows.push_run(*before, places)?);
        }
        self.rows.extend(list);
        let all = alike.values.iter().flatten().all(Option::is_some);
        let factors = (!all).then_some(self.factors.len() as u32);
        if !all {
            let there = |row: &[Option<()>; BLOCK]| row.map(|v| if v.is_some() { 1.0 } else { 0.0 });
            self.factors.extend(alike.values.iter().map(there));
        }
        Some(FanBlock { own, end: self.rows.len() as u32, factors, kind })
    }

    /// Returns the corners of a group as places: the point itself and those after, across and before it.
    /// Corners that cannot have an area are left out.
    pub fn corners_of(&self, rows: &PointRows, group: usize) -> Vec<[u32; 4]> {
        let (number, lane) = (group / BLOCK, group % BLOCK);
        let start = if number == 0 { 0 } else { self.blocks[number - 1].end };
        let block = &self.blocks[number];
        let place = |row: &PointRow| rows.place(*row, lane);
        let list = &self.rows[start as usize..block.end as usize];
        if block.kind == FanKind::Apart {
            let corners = list.as_chunks::<4>().0.iter().map(|c| [0, 1, 2, 3].map(|k| place(&c[k])));
            return corners.filter(has_area).collect();
        }
        let [first, list @ ..] = list else { return Vec::new() };
        let own = place(&block.own);
        let mut after = place(first);
        let mut out = Vec::new();
        let quads = block.kind == FanKind::Quads;
        for (i, row) in list.chunks_exact(1 + usize::from(quads)).enumerate() {
            let before = place(&row[row.len() - 1]);
            let across = if quads { place(&row[0]) } else { after };
            let there = block.factors.is_none_or(|first| self.factors[first as usize + i][lane] != 0.0);
            out.extend(there.then_some([own, after, across, before]).filter(has_area));
            after = before;
        }
        out
    }

    /// Returns the corners of each group with very many, as places.
    pub fn long_corners(&self) -> impl Iterator<Item = Vec<[u32; 4]>> + '_ {
        let mut start = 0;
        self.long_ends.iter().map(move |&end| {
            let list = &self.long[start..end as usize];
            start = end as usize;
            list.iter().map(|c| [c.at, c.after, c.across, c.before]).collect()
        })
    }

    /// Returns the number of the first vector that holds the sum of such a group.
    pub fn first_sum(&self) -> usize {
        self.sums
    }

    /// Computes the sums of groups with very many corners, in order.
    #[inline(always)]
    pub fn sum_long(
        &self,
        weights: NormalWeights,
        unit: f32,
        point: impl Fn(u32) -> [i32; 3],
        vectors: &mut [[f32; 4]],
    ) {
        let mut start = 0;
        for (i, &end) in self.long_ends.iter().enumerate() {
            let mut sum = [0.0f32; 3];
            for corner in &self.long[start..end as usize] {
                let own = point(corner.at);
                let away = |p: u32| difference::<f32>(point(p), own, unit);
                let [e, d, f] = [corner.after, corner.across, corner.before].map(away);
                sum = plus(sum, vector(weights, [e, d, f], [edge(weights, e), edge(weights, f)]));
            }
            start = end as usize;
            vectors[self.sums + i] = [sum[0], sum[1], sum[2], 0.0];
        }
    }

    /// Sums the corners of a part of a block.
    #[inline(always)]
    pub fn sum<L: Part, U: DifferenceUnit>(
        &self,
        weights: NormalWeights,
        (block, part): (usize, usize),
        (rows, laid): (&PointRows, &ArrangedPoints),
    ) -> Vector<L> {
        match weights {
            // Weights known at compile time allow values to stay in registers.
            NormalWeights::Angle => self.sum_of::<L, U>(NormalWeights::Angle, (block, part), (rows, laid)),
            NormalWeights::Area => self.sum_of::<L, U>(NormalWeights::Area, (block, part), (rows, laid)),
            other => self.sum_of::<L, U>(other, (block, part), (rows, laid)),
        }
    }

    #[inline(always)]
    fn sum_of<L: Part, U: DifferenceUnit>(
        &self,
        weights: NormalWeights,
        (block, part): (usize, usize),
        (rows, laid): (&PointRows, &ArrangedPoints),
    ) -> Vector<L> {
        let unit = U::unit(laid);
        let start = if block == 0 { 0 } else { self.blocks[block - 1].end };
        let block = &self.blocks[block];
        let list = &self.rows[start as usize..block.end as usize];
        let mut sum = [L::splat(0.0); 3];
        if block.kind == FanKind::Apart {
            for [at, after, across, before] in list.as_chunks().0 {
                let at = rows.fetch::<L>(*at, laid, part);
                let e = difference::<L>(rows.fetch::<L>(*after, laid, part), at, unit);
                let d = difference::<L>(rows.fetch::<L>(*across, laid, part), at, unit);
                let f = difference::<L>(rows.fetch::<L>(*before, laid, part), at, unit);
                sum = plus(sum, vector(weights, [e, d, f], [edge(weights, e), edge(weights, f)]));
            }
            return sum;
        }
        let [first, list @ ..] = list else { return sum };
        let own = rows.fetch::<L>(block.own, laid, part);
        let mut e = difference::<L>(rows.fetch::<L>(*first, laid, part), own, unit);
        let mut known = edge(weights, e);
        let quads = block.kind == FanKind::Quads;
        for (i, row) in list.chunks_exact(1 + usize::from(quads)).enumerate() {
            let f = difference::<L>(rows.fetch::<L>(row[row.len() - 1], laid, part), own, unit);
            let d = match quads {
                true => difference::<L>(rows.fetch::<L>(row[0], laid, part), own, unit),
                false => e,
            };
            let next = edge(weights, f);
            let mut own = vector(weights, [e, d, f], [known, next]);
            if let Some(factors) = block.factors {
                own = times(own, L::load(&self.factors[factors as usize + i], part));
            }
            sum = plus(sum, own);
            (e, known) = (f, next);
        }
        sum
    }
}

/// `true` if the places of a corner can enclose an area.
fn has_area([own, after, across, before]: &[u32; 4]) -> bool {
    across != own && after != before && (across != before || after != own)
}

/// Returns the value of an edge that both its corners use: its square, or one over its length.
#[inline(always)]
fn edge<N: Number>(weights: NormalWeights, e: Vector<N>) -> N {
    match weights {
        NormalWeights::Angle => dot(e, e),
        NormalWeights::Interior => inverse_root(dot(e, e)),
        NormalWeights::Equal | NormalWeights::Area => e[0],
    }
}

/// Returns the vector that a corner adds; in a triangle `d` is `e`.
#[inline(always)]
fn vector<N: Number>(weights: NormalWeights, [e, d, f]: [Vector<N>; 3], edges: [N; 2]) -> Vector<N> {
    let m = cross(d, minus(f, e));
    let weight = match weights {
        NormalWeights::Area => return m,
        NormalWeights::Equal => rough_inverse_root(dot(m, m)),
        NormalWeights::Angle => {
            let cosine = dot(e, f) * rough_inverse_root(edges[0] * edges[1]);
            rough_angle(cosine) * rough_inverse_root(dot(m, m))
        }
        NormalWeights::Interior => {
            let cosine = (dot(e, f) * edges[0]) * edges[1];
            let angle = interior(angle(cosine), cosine, dot(cross(e, f), m));
            angle * rough_inverse_root(dot(m, m))
        }
    };
    times(m, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corners of a grid of quads, row by row.
    fn grid(width: u32, height: u32) -> Vec<Vec<Corner<()>>> {
        let mut out = vec![Vec::new(); (width * height) as usize];
        for y in 1..height {
            for x in 1..width {
                let at = y * width + x;
                let quad = [at - width - 1, at - width, at, at - 1];
                for k in 0..4 {
                    let [at, after, across, before] = [0, 1, 2, 3].map(|i| quad[(k + i) % 4]);
                    out[at as usize].push(Corner { at, after, across, before, own: () });
                }
            }
        }
        out
    }

    #[test]
    fn grids_are_read_in_runs() {
        for (width, height) in [(41, 31), (3, 40), (16, 2)] {
            let corners = grid(width, height);
            let own: Vec<u32> = (0..width * height).collect();
            let mut rows = PointRows::default();
            let own_rows: Vec<_> =
                own.chunks(BLOCK).map(|own| rows.push_run(own[0].into(), corners.len()).unwrap()).collect();
            let all = (own.len(), &mut rows, &mut ByteBudget::unlimited());
            let of_group = |g: usize, out: &mut Vec<_>| out.extend_from_slice(&corners[g]);
            let (fans, _) = Fans::new((&own, &own_rows), of_group, all, &mut 16).unwrap();
            assert!(fans.blocks.iter().all(|b| b.kind == FanKind::Quads));
            assert_eq!(rows.lists(), 0, "{width} {height}");
        }
    }
}
