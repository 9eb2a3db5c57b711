//! Tangents of a decoded surface, from which stored tangents are predicted; the same bits on every machine.
//! Adds no error of its own.
//!
//! M. Mikkelsen's tangent space (*Simulation of wrinkled surfaces revisited*, 2008) from decoded points,
//! normals and uvs: each corner of a triangle adds the direction in which u grows there. The original
//! recomputes the connectivity in every frame; here it is static: a *class* consists of the vertices of one
//! point with one normal, one uv and one sign, and its corners are those of its vertices. Where the original
//! splits or joins vertices differently, bases and corrections compensate.
//!
//! ```text
//! triangle p₀ p₁ p₂           e = p₁ − p₀, f = p₂ − p₀, A = u(p₁)·v(p₂) − v(p₁)·u(p₂)          u, v: differences from those of p₀
//!                             g = ±(e · v(p₂) − f · v(p₁)), − where A is negative; it counts at corners where the sign of A is that of the class
//! weights 0                   sum += s · g, s = angle(e · f / (|e| |f|)) / |g| of frame 0: for each class this is Σ c_j · (q_j − p) over the
//!                             points around it, in the order in which vertices first use them, whose c_j are static
//! weights 1                   e, f minus their parts along the normal: sum += angle(e · f / (|e| |f|)) · g / |g|; corners in the order of
//!                             mesh/normals/fans.rs, classes of more than sixteen corners as with weights 0
//! for each class              t = unit(sum minus its part along the normal), or the first axis of the normal's frame
//! ```

use crate::Corrupt;
use crate::mesh::byte_budget::ByteBudget;
use crate::mesh::normals::arranged_points::{
    ArrangedPoints, DifferenceUnit, PointOrder, PointRow, PointRows,
};
use crate::mesh::normals::fans::{Corner as FanCorner, MAX_FAN_CORNERS, chain, find_pattern, spokes};
use crate::mesh::normals::gather::ItemLists;
use crate::mesh::normals::lists::{JaggedArray, TangentLists, TangentSums};
use crate::mesh::normals::roots::{angle, inverse_length, inverse_root, rough_inverse_root};
use crate::simd::lanes::{BLOCK, Number, Part, Vector, difference, dot, minus, plus, times};
use crate::sort;

/// The weight of a triangle in the tangents of its corners. Part of the format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TangentWeights {
    /// Its angle in frame 0: needs no root, and is known before the frame.
    #[default]
    Constant,
    /// Its interior angle as seen along the normal, as is the direction: the weights of most tools. The most
    /// accurate on surfaces that stretch, and the slowest.
    Projected,
}

impl TangentWeights {
    /// All weights, by their numbers in a file.
    pub const ALL: [TangentWeights; 2] = [TangentWeights::Constant, TangentWeights::Projected];
}

/// The static part: classes, numbered in the order of vertices, and the terms of their sums.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tangents {
    /// The class of each vertex.
    class: Vec<u32>,
    /// The group of each class.
    group: Vec<u32>,
    /// Sixteen vertices each: the bits of those whose bitangents have the sign −1.
    signs: Vec<u16>,
    pub(super) rows: PointRows,
    blocks: Vec<ClassBlock>,
    around: Vec<PointRow>,
    /// Per row of points around the factor of its vectors, or per corner those of its two vectors.
    factors: Vec<[f32; BLOCK]>,
    projected: bool,
    long: LongClasses,
}

/// Sixteen classes.
#[derive(Debug, Clone, PartialEq)]
struct ClassBlock {
    own: PointRow,
    /// The ends of its rows and factors.
    rows: u32,
    factors: u32,
    /// The numbers of the sums of classes with many corners, 0 for others.
    long: Option<Box<[u32; BLOCK]>>,
}

/// The classes with many points around them, which are summed one by one before all others.
#[derive(Debug, Clone, Default, PartialEq)]
struct LongClasses {
    /// The place of each class, and the end of its list.
    classes: Vec<(u32, u32)>,
    list: Vec<(u32, f32)>,
    /// The number of the vector that receives the first of their sums.
    first: usize,
}

/// The point, place, group and uv of each vertex.
#[derive(Clone, Copy)]
pub(super) struct VertexTables<'a> {
    /// The point of each vertex.
    pub point: &'a [u32],
    pub place: &'a [u32],
    pub group: &'a [u32],
    pub uvs: &'a [[f32; 2]],
    /// The position of each place in frame 0.
    pub first: &'a [[f32; 3]],
}

impl Tangents {
    /// `triangles` are vertices. Sums of classes with many points are stored among the vectors from `next`
    /// on, which is moved behind them. Fails if the lists exceed the budget.
    pub(super) fn new(
        triangles: &[[u32; 3]],
        of: VertexTables<'_>,
        signs: &[f32],
        weights: TangentWeights,
        (next, budget): (&mut usize, &mut ByteBudget),
    ) -> Result<Tangents, Corrupt> {
        let count = of.point.len();
        if [of.group.len(), of.uvs.len(), signs.len()] != [count; 3] {
            return Err(Corrupt("normals: tangents without uvs"));
        }
        let (class, first) = classes(of.point, of.group, of.uvs, signs);
        let own: Vec<u32> = first.iter().map(|&v| of.place[v as usize]).collect();
        // Three corners a triangle, made again when they are needed: they are larger than their numbers.
        let corner =
            |number: u32| UvCorner::new(&triangles[number as usize / 3], number as usize % 3, of.uvs);
        let class_of = |number: u32| {
            let corner = corner(number);
            if corner.counts(signs) { class[corner.vertices[0] as usize] } else { NO_CLASS }
        };
        let class_of: Vec<u32> = (0..3 * triangles.len() as u32).map(class_of).collect();
        let counting = (0..).zip(&class_of).filter(|(_, class)| **class != NO_CLASS);
        let group = first.iter().map(|&v| of.group[v as usize]).collect();
        let projected = weights == TangentWeights::Projected;
        let lists = ItemLists::new(own.len(), counting.map(|(number, class)| (*class, number)));
        drop(class_of);
        let negative = |signs: &[f32]| (0..).zip(signs).map(|(l, s)| u16::from(*s < 0.0) << l).sum();
        let signs = signs.chunks(BLOCK).map(negative).collect();
        let mut out = Tangents { class, group, signs, projected, ..Tangents::default() };
        out.long.first = *next;
        let mut lanes: [ClassCorners; BLOCK] = Default::default();
        for (block, own) in own.chunks(BLOCK).enumerate() {
            for (l, lane) in lanes[..own.len()].iter_mut().enumerate() {
                lane.corners.clear();
                lane.corners.extend(lists.list(BLOCK * block + l).iter().map(|&number| corner(number)));
            }
            let before = out.bytes();
            out.push(own, &mut lanes[..own.len()], of);
            budget.add_growing(out.bytes() - before)?;
        }
        *next += out.long.classes.len();
        out.rows.shrink_to_fit();
        out.around.shrink_to_fit();
        out.factors.shrink_to_fit();
        Ok(out)
    }

    /// Returns the bytes of all lists.
    fn bytes(&self) -> u64 {
        let rows = size_of_val(&self.around[..]) + size_of_val(&self.factors[..]);
        let blocks = size_of_val(&self.blocks[..]) + size_of_val(&self.long.list[..]);
        self.rows.bytes() + (rows + blocks + 2 * size_of_val(&self.long.classes[..])) as u64
    }

    /// Arranges the corners of sixteen classes.
    fn push(&mut self, own: &[u32], lanes: &mut [ClassCorners], of: VertexTables<'_>) {
        let mut long = [0u32; BLOCK];
        for (l, lane) in lanes.iter_mut().enumerate() {
            lane.fan.clear();
            lane.around.clear();
            if self.projected && lane.corners.len() <= MAX_FAN_CORNERS {
                lane.fan.extend(lane.corners.iter().map(|c| c.fan_corner(of.place)));
                chain(&mut lane.fan);
                continue;
            }
            lane.add_constant_factors(of);
            if lane.around.len() > MAX_FAN_CORNERS {
                self.long.list.append(&mut lane.around);
                self.long.classes.push((own[l], self.long.list.len() as u32));
                long[l] = (self.long.first + self.long.classes.len() - 1) as u32;
            } else if self.projected {
                lane.around.clear();
            }
        }
        let row = match self.projected {
            true => self.push_corners(own, lanes, of.first.len()),
            false => self.push_constant(own, lanes, of.first.len()),
        };
        self.blocks.push(ClassBlock {
            own: row,
            rows: self.around.len() as u32,
            factors: self.factors.len() as u32,
            long: (long != [0; BLOCK]).then(|| Box::new(long)),
        });
    }

    fn push_constant(&mut self, own: &[u32], lanes: &[ClassCorners], places: usize) -> PointRow {
        let start = self.rows.push_row(|l| own[l], own.len(), places);
        let lanes: [&[(u32, f32)]; BLOCK] =
            std::array::from_fn(|l| lanes.get(l).map_or(&[][..], |lane| &lane.around));
        let off = |l: usize, place: u32| i64::from(place) - i64::from(own[l]);
        // Mostly one class has the neighbours of all; its list is sorted.
        let widest = (0..own.len()).max_by_key(|l| lanes[*l].len()).unwrap_or(0);
        let mut offs: Vec<i64> = lanes[widest].iter().map(|a| off(widest, a.0)).collect();
        let is_known = |(l, list): (usize, &&[(u32, f32)])| {
            let mut at = offs.iter();
            list.iter().all(|a| at.any(|known| *known == off(l, a.0)))
        };
        if !lanes.iter().enumerate().all(is_known) {
            offs.clear();
            offs.extend(lanes.iter().enumerate().flat_map(|(l, list)| list.iter().map(move |a| off(l, a.0))));
            sort::unstable(&mut offs);
            offs.dedup();
        }
        let most = lanes[widest].len();
        let follow = own.iter().zip(own[0]..).all(|(own, wanted)| *own == wanted);
        let runs: Option<Vec<PointRow>> = match follow && offs.len() <= most + 2 {
            true => offs.iter().map(|off| self.rows.push_run(i64::from(own[0]) + off, places)).collect(),
            false => None,
        };
        if let Some(runs) = runs {
            self.around.extend(runs);
            for &wanted in &offs {
                let factor = |l: usize| lanes[l].iter().find(|a| off(l, a.0) == wanted).map_or(0.0, |a| a.1);
                self.factors.push(std::array::from_fn(factor));
            }
            return start;
        }
        for i in 0..most {
            let row = self.rows.push_row(|l| lanes[l].get(i).map_or(own[l], |a| a.0), own.len(), places);
            self.around.push(row);
            self.factors.push(std::array::from_fn(|l| lanes[l].get(i).map_or(0.0, |a| a.1)));
        }
        start
    }

    fn push_corners(&mut self, own: &[u32], lanes: &[ClassCorners], places: usize) -> PointRow {
        let lanes: Vec<&[FanCorner<[f32; 2]>]> = lanes.iter().map(|lane| &lane.fan[..]).collect();
        let start = self.rows.push_row(|l| own[l], own.len(), places);
        let put = |row: &[Option<[f32; 2]>; BLOCK]| {
            let factors = row.map(|f| f.unwrap_or([0.0; 2]));
            [0, 1].map(|k| factors.map(|f| f[k]))
        };
        let runs = find_pattern(own, &lanes).and_then(|alike| {
            let mut runs = vec![self.rows.push_run(alike.first, places)?];
            for [_, before] in alike.runs {
                runs.push(self.rows.push_run(before, places)?);
            }
            Some((runs, alike.values))
        });
        if let Some((runs, values)) = runs {
            self.around.extend(runs);
            self.factors.extend(values.iter().flat_map(put));
            return start;
        }
        let lists: Vec<_> = own.iter().zip(&lanes).map(|(own, list)| spokes(*own, list, true)).collect();
        for i in 0..lists.iter().map(Vec::len).max().unwrap_or(0) {
            let spoke = |l: usize| lists[l].get(i);
            self.around.push(self.rows.push_row(|l| spoke(l).map_or(own[l], |s| s.0[1]), own.len(), places));
            if i > 0 {
                let factors = |l: usize| lists.get(l)?.get(i)?.1;
                self.factors.extend(put(&std::array::from_fn(factors)));
            }
        }
        start
    }

    /// Drops everything but classes and signs.
    pub(super) fn forget_sums(&mut self) {
        let Tangents { class, group, signs, .. } = std::mem::take(self);
        *self = Tangents { class, group, signs, ..Tangents::default() };
    }

    /// Returns the tangents as plain lists, with points instead of places; `anchors` are those of groups.
    pub(super) fn lists(&self, order: &PointOrder, anchors: &[[u32; 2]]) -> TangentLists {
        let count = order.len() as u32;
        let mut point: Vec<u32> = self.group.iter().map(|&group| anchors[group as usize][0]).collect();
        let (mut still, mut corners, mut long) = (Vec::new(), Vec::new(), Vec::new());
        let (mut rows, mut factors) = (0, 0);
        for (class, point) in point.iter_mut().enumerate() {
            let (block, lane) = (class / BLOCK, class % BLOCK);
            let Some(this) = self.blocks.get(block) else { break };
            if lane == 0 && block > 0 {
                (rows, factors) =
                    (self.blocks[block - 1].rows as usize, self.blocks[block - 1].factors as usize);
            }
            let place = |row: &PointRow| self.rows.place(*row, lane);
            let own = place(&this.own);
            *point = order.point(own);
            let around = &self.around[rows..this.rows as usize];
            let factors = &self.factors[factors..this.factors as usize];
            let there = |place: u32| place < count && place != own;
            let (mut single, mut pairs) = (Vec::new(), Vec::new());
            if self.projected {
                for (two, factors) in around.windows(2).zip(factors.as_chunks::<2>().0) {
                    let two = [place(&two[0]), place(&two[1])];
                    let factors = factors.map(|factor| factor[lane]);
                    if factors != [0.0; 2] && two.iter().all(|p| there(*p)) {
                        pairs.push((two.map(|p| order.point(p)), factors));
                    }
                }
            } else {
                for (row, factor) in around.iter().zip(factors) {
                    let place = place(row);
                    if factor[lane] != 0.0 && there(place) {
                        single.push((order.point(place), factor[lane]));
                    }
                }
            }
            let many = this.long.as_ref().map_or(0, |long| long[lane] as usize);
            let mut list = Vec::new();
            if let Some(number) = many.checked_sub(self.long.first).filter(|_| many > 0) {
                let start = number.checked_sub(1).map_or(0, |before| self.long.classes[before].1);
                let all = &self.long.list[start as usize..self.long.classes[number].1 as usize];
                list.extend(all.iter().map(|&(place, factor)| (order.point(place), factor)));
            }
            still.push(single);
            corners.push(pairs);
            long.push(list);
        }
        let sums = match self.projected {
            true => TangentSums::Projected(JaggedArray::new(corners.into_iter())),
            false => TangentSums::Constant(JaggedArray::new(still.into_iter())),
        };
        let signs = (0..self.class.len()).map(|v| self.sign(v)).collect();
        let (class, group) = (self.class.clone(), self.group.clone());
        TangentLists { class, group, point, signs, sums, long: JaggedArray::new(long.into_iter()) }
    }

    /// Returns the class of each vertex.
    pub fn classes(&self) -> &[u32] {
        &self.class
    }

    /// Returns the group of each class.
    pub fn groups(&self) -> &[u32] {
        &self.group
    }

    /// Returns the sign of a vertex's bitangent, +1 or −1.
    pub fn sign(&self, vertex: usize) -> f32 {
        if self.signs[vertex / BLOCK] >> (vertex % BLOCK) & 1 == 1 { -1.0 } else { 1.0 }
    }

    /// Returns the signs of a part of a block of vertices, which are mostly equal.
    #[inline(always)]
    pub(super) fn signs_of<L: Part>(&self, (block, part): (usize, usize)) -> L {
        match self.signs[block] {
            0 => L::splat(1.0),
            u16::MAX => L::splat(-1.0),
            bits => L::load(&std::array::from_fn(|l| if bits >> l & 1 == 1 { -1.0 } else { 1.0 }), part),
        }
    }

    /// `true` if each group has one class, of the same number.
    pub(super) fn follow_groups(&self, groups: usize) -> bool {
        // Both are numbered in the order of vertices.
        self.group.len() == groups
    }

    /// `true` if each vertex is a class, of the same number.
    pub(super) fn follow_vertices(&self) -> bool {
        self.group.len() == self.class.len()
    }

    /// The first pass: computes the sums of classes with many points around them.
    #[inline(always)]
    pub(super) fn write_vectors<U: DifferenceUnit>(&self, laid: &ArrangedPoints, vectors: &mut [[f32; 4]]) {
        let unit = U::unit(laid);
        let mut start = 0;
        for (i, &(own, end)) in self.long.classes.iter().enumerate() {
            let mut sum = [0.0f32; 3];
            for &(place, factor) in &self.long.list[start..end as usize] {
                let away = difference::<f32>(laid.point(place), laid.point(own), unit);
                sum = plus(sum, times(away, factor));
            }
            start = end as usize;
            vectors[self.long.first + i] = [sum[0], sum[1], sum[2], 0.0];
        }
    }

    /// The second pass: returns the sums, not normalized, of a part of a block of classes with the normals
    /// `n`.
    #[inline(always)]
    pub(super) fn sums<L: Part, U: DifferenceUnit>(
        &self,
        (block, part): (usize, usize),
        laid: &ArrangedPoints,
        n: Vector<L>,
        vectors: &[[f32; 4]],
    ) -> Vector<L> {
        let unit = U::unit(laid);
        let (rows, factors) = match block.checked_sub(1) {
            None => (0, 0),
            Some(before) => (self.blocks[before].rows, self.blocks[before].factors),
        };
        let block = &self.blocks[block];
        let rows = &self.around[rows as usize..block.rows as usize];
        let factors = &self.factors[factors as usize..block.factors as usize];
        let own = self.rows.fetch::<L>(block.own, laid, part);
        let mut sum = [L::splat(0.0); 3];
        match (self.projected, rows) {
            (false, _) => {
                for (row, factor) in rows.iter().zip(factors) {
                    let away = difference::<L>(self.rows.fetch::<L>(*row, laid, part), own, unit);
                    sum = plus(sum, times(away, L::load(factor, part)));
                }
            }
            (true, [first, rest @ ..]) => {
                let away = difference::<L>(self.rows.fetch::<L>(*first, laid, part), own, unit);
                let (mut e, mut inverse) = projected(away, n);
                for (row, factors) in rest.iter().zip(factors.as_chunks::<2>().0) {
                    let away = difference::<L>(self.rows.fetch::<L>(*row, laid, part), own, unit);
                    let (f, next) = projected(away, n);
                    let factors = [L::load(&factors[0], part), L::load(&factors[1], part)];
                    sum = plus(sum, direction([e, f], [inverse, next], factors));
                    (e, inverse) = (f, next);
                }
            }
            (true, []) => {}
        }
        match &block.long {
            Some(long) => plus(sum, L::vectors(vectors, long, part)),
            None => sum,
        }
    }
}

/// Returns the component of a vector perpendicular to the normal, and one over its length.
#[inline(always)]
fn projected<N: Number>(e: Vector<N>, n: Vector<N>) -> (Vector<N>, N) {
    let e = minus(e, times(n, dot(e, n)));
    (e, inverse_root(dot(e, e)))
}

/// Returns the vector that a corner adds with projected weights.
#[inline(always)]
fn direction<N: Number>([e, f]: [Vector<N>; 2], inverse: [N; 2], factors: [N; 2]) -> Vector<N> {
    let g = plus(times(e, factors[0]), times(f, factors[1]));
    let cosine = (dot(e, f) * inverse[0]) * inverse[1];
    times(g, angle(cosine) * rough_inverse_root(dot(g, g)))
}

/// Returns the class of each vertex, and the first vertex of each class.
fn classes(point: &[u32], group: &[u32], uvs: &[[f32; 2]], signs: &[f32]) -> (Vec<u32>, Vec<u32>) {
    let key = |v: u32| {
        let v = v as usize;
        let uv = uvs[v].map(|x| (x + 0.0).to_bits());
        (point[v], group[v], uv, signs[v] < 0.0)
    };
    let count = point.len() as u32;
    let points = point.iter().max().map_or(0, |last| *last as usize + 1);
    let vertices = ItemLists::new(points, point.iter().copied().zip(0..));
    let mut first = vec![0; point.len()];
    let mut of_point = Vec::new();
    for point in 0..points {
        of_point.clear();
        of_point.extend_from_slice(vertices.list(point));
        if of_point.len() > 1 {
            sort::unstable_by_key(&mut of_point, |&v| (key(v), v));
        }
        for class in of_point.chunk_by(|a, b| key(*a) == key(*b)) {
            for v in class {
                first[*v as usize] = class[0];
            }
        }
    }
    let mut firsts = Vec::new();
    let mut class = vec![0u32; point.len()];
    for v in 0..count {
        let own = first[v as usize];
        class[v as usize] = match own == v {
            true => {
                firsts.push(v);
                firsts.len() as u32 - 1
            }
            false => class[own as usize],
        };
    }
    (class, firsts)
}

/// The number in place of a class, for corners that do not count.
const NO_CLASS: u32 = u32::MAX;

/// A corner of a triangle: its vertex, those after and before it, and the factors and uv area of its
/// gradient.
#[derive(Clone, Copy)]
struct UvCorner {
    vertices: [u32; 3],
    /// The factors of the vectors to the vertices after and before.
    factors: [f32; 2],
    area: f32,
}

impl UvCorner {
    /// Returns corner `k` of a triangle.
    fn new(t: &[u32; 3], k: usize, uvs: &[[f32; 2]]) -> UvCorner {
        let vertices = [t[k], t[(k + 1) % 3], t[(k + 2) % 3]];
        let [p, a, b] = vertices.map(|v| uvs[v as usize]);
        let (ua, va, ub, vb) = (a[0] - p[0], a[1] - p[1], b[0] - p[0], b[1] - p[1]);
        let area = ua * vb - va * ub;
        let factors = if area < 0.0 { [-vb, va] } else { [vb, -va] };
        UvCorner { vertices, factors, area }
    }

    /// Returns the corner in terms of places.
    fn fan_corner(&self, place: &[u32]) -> FanCorner<[f32; 2]> {
        let [at, after, before] = self.vertices.map(|v| place[v as usize]);
        FanCorner { at, after, across: after, before, own: self.factors }
    }

    fn counts(&self, signs: &[f32]) -> bool {
        let sign = signs[self.vertices[0] as usize];
        self.area * sign > 0.0 && self.area.abs() < f32::INFINITY
    }
}

/// The corners of a class, in lists that are reused.
#[derive(Default)]
struct ClassCorners {
    corners: Vec<UvCorner>,
    /// Those with projected weights.
    fan: Vec<FanCorner<[f32; 2]>>,
    /// The places around it, in order, and their static factors, with constant weights.
    around: Vec<(u32, f32)>,
}

impl ClassCorners {
    /// Fills the empty list of the places around the class.
    fn add_constant_factors(&mut self, of: VertexTables<'_>) {
        let list = &mut self.around;
        for corner in &self.corners {
            let places = corner.vertices.map(|v| of.place[v as usize]);
            let [p, a, b] = places.map(|place| of.first[place as usize]);
            let (e, f) = (minus(a, p), minus(b, p));
            let g = plus(times(e, corner.factors[0]), times(f, corner.factors[1]));
            let cosine = (dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f));
            let scale = angle(cosine) * inverse_length(dot(g, g));
            list.extend([0, 1].map(|side| (places[1 + side], corner.factors[side] * scale)));
        }
        // The factors of one place are added in turn.
        sort::by_key(list, |(place, _)| *place);
        list.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            if same {
                sum.1 += next.1;
            }
            same
        });
    }
}
