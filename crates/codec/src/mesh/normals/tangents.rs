//! Tangents of a decoded surface, the same bits on every machine: what stored tangents are predicted from. No
//! error of its own.
//!
//! M. Mikkelsen's tangent space (*Simulation of wrinkled surfaces revisited*, 2008) from decoded points,
//! normals and uvs: each corner of a triangle adds the direction in which u grows there. What the original
//! finds again in every frame is static here: a *class* are the vertices of one point with one normal, one uv
//! and one sign, and its corners are those of its vertices. Where the original parts or joins them otherwise,
//! the coder's bases and corrections make up for it.
//!
//! ```text
//! triangle p₀ p₁ p₂           e = p₁ − p₀, f = p₂ − p₀, A = u(p₁)·v(p₂) − v(p₁)·u(p₂)          u, v: differences from those of p₀
//!                             g = ±(e · v(p₂) − f · v(p₁)), − where A is negative; it counts at corners where the sign of A is that of the class
//! weights 0                   sum += g; for each class this is Σ c_j · (q_j − p) over the points around it, whose c_j are static
//! weights 1                   sum += angle at the corner · unit(g)                             angle: as of normals
//! weights 2                   the same, of e and f less their parts along the normal; classes of more than sixteen corners as with
//!                             weights 0
//! for each class              t = unit(sum less its part along the normal), or the first axis of the normal's frame
//! ```

use crate::Corrupt;
use crate::mesh::normals::gather::{Gather, Lists, MOST};
use crate::mesh::normals::surface::{Place, angle, inverse_length};
use crate::simd::lanes::{BLOCK, BlockRow, Number, Part, Vector, difference, dot, minus, plus, times};

/// How much a triangle adds to the tangents of its corners. Part of the format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TangentWeights {
    /// Its area on the uv map: no root, nothing that is not known before the frame.
    #[default]
    Plain,
    /// Its interior angle.
    Angle,
    /// Its interior angle as it looks along the normal, as does the direction: what most tools write. The
    /// nearest where surfaces stretch, and the dearest.
    Projected,
}

impl TangentWeights {
    /// All of them, by their numbers in a file.
    pub const ALL: [TangentWeights; 3] =
        [TangentWeights::Plain, TangentWeights::Angle, TangentWeights::Projected];
}

/// Static part: classes, numbered as vertices come, and what they are summed from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tangents {
    /// Class of each vertex.
    class: Vec<u32>,
    /// Group of each class.
    group: Vec<u32>,
    /// Per vertex +1 or −1.
    signs: Vec<f32>,
    sums: Sums,
}

#[derive(Debug, Clone, PartialEq)]
enum Sums {
    Plain(Neighbours),
    Angle(Triangles),
    Projected(Corners),
}

impl Default for Sums {
    fn default() -> Sums {
        Sums::Plain(Neighbours::default())
    }
}

impl Tangents {
    /// `triangles` are vertices; per vertex its point, normal group, uv (of the first frame) and sign. Where
    /// vectors are kept while a frame is computed, those from `next` on, which is set to what is free behind
    /// them.
    pub fn new(
        triangles: &[[u32; 3]],
        [point, group]: [&[u32]; 2],
        uvs: &[[f32; 2]],
        signs: Vec<f32>,
        weights: TangentWeights,
        next: &mut usize,
    ) -> Result<Tangents, Corrupt> {
        let count = point.len();
        if [group.len(), uvs.len(), signs.len()] != [count; 3] {
            return Err(Corrupt("normals: tangents without uvs"));
        }
        let (class, first) = classes(point, group, uvs, &signs);
        let own: Vec<u32> = first.iter().map(|&v| point[v as usize]).collect();
        let corners = triangles.iter().flat_map(|t| Corner::of(t, uvs)).filter(|c| c.counts(&signs));
        let sums = match weights {
            TangentWeights::Plain => Sums::Plain(Neighbours::new(corners, point, &class, &own, next)),
            TangentWeights::Angle => {
                let usable: Vec<[u32; 3]> = triangles
                    .iter()
                    .filter(|t| Corner::of(t, uvs).any(|c| c.counts(&signs)))
                    .copied()
                    .collect();
                Sums::Angle(Triangles::new(&usable, point, &class, own.len(), (uvs, &signs), next))
            }
            TangentWeights::Projected => Sums::Projected(Corners::new(corners, point, &class, &own, next)),
        };
        let group = first.iter().map(|&v| group[v as usize]).collect();
        Ok(Tangents { class, group, signs, sums })
    }

    /// Leaves classes alone.
    pub(super) fn forget_sums(&mut self) {
        self.sums = Sums::default();
    }

    /// Class of each vertex.
    pub fn classes(&self) -> &[u32] {
        &self.class
    }

    /// Group of each class.
    pub fn groups(&self) -> &[u32] {
        &self.group
    }

    /// Sign of each vertex.
    pub fn signs(&self) -> &[f32] {
        &self.signs
    }

    /// Whether each group has one class, of the same number.
    pub(super) fn follow_groups(&self, groups: usize) -> bool {
        // Both are numbered as vertices come.
        self.group.len() == groups
    }

    /// Whether each vertex is a class, of the same number.
    pub(super) fn follow_vertices(&self) -> bool {
        self.group.len() == self.class.len()
    }

    /// The first pass: what of sums is computed apart.
    #[inline(always)]
    pub(super) fn write_vectors<L: Part, P: Place>(&self, points: &[P], vectors: &mut [[f32; 4]]) {
        match &self.sums {
            Sums::Plain(neighbours) => neighbours.long.sum(points, vectors),
            Sums::Angle(triangles) => triangles.write::<L, P>(points, vectors),
            Sums::Projected(corners) => corners.long.sum(points, vectors),
        }
    }

    /// The second pass: sums of a part of a block of classes, of any length, whose normals are `n`.
    #[inline(always)]
    pub(super) fn sums<L: Part, P: Place>(
        &self,
        (block, part): (usize, usize),
        points: &[P],
        n: Vector<L>,
        vectors: &[[f32; 4]],
    ) -> Vector<L> {
        match &self.sums {
            Sums::Plain(neighbours) => neighbours.sums::<L, P>((block, part), points, vectors),
            Sums::Angle(triangles) => triangles.corners.sum::<L>(block, part, vectors),
            Sums::Projected(corners) => corners.sums::<L, P>((block, part), points, n, vectors),
        }
    }
}

/// The class of each vertex, and the first vertex of each.
fn classes(point: &[u32], group: &[u32], uvs: &[[f32; 2]], signs: &[f32]) -> (Vec<u32>, Vec<u32>) {
    let key = |v: u32| {
        let v = v as usize;
        let uv = uvs[v].map(|x| (x + 0.0).to_bits());
        (point[v], group[v], uv, signs[v] < 0.0)
    };
    let count = point.len() as u32;
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by_key(|&v| (key(v), v));
    let mut first = vec![0; point.len()];
    for class in order.chunk_by(|a, b| key(*a) == key(*b)) {
        for v in class {
            first[*v as usize] = class[0];
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

/// A corner of a triangle: its vertex, those after and before it, and what g is made of there.
#[derive(Clone, Copy)]
struct Corner {
    vertices: [u32; 3],
    /// By what the vectors to the vertices after and before are multiplied.
    factors: [f32; 2],
    area: f32,
}

impl Corner {
    /// Corners of a triangle in order.
    fn of<'a>(t: &[u32; 3], uvs: &'a [[f32; 2]]) -> impl Iterator<Item = Corner> + use<'a> {
        let t = *t;
        (0..3).map(move |k| {
            let vertices = [t[k], t[(k + 1) % 3], t[(k + 2) % 3]];
            let [p, a, b] = vertices.map(|v| uvs[v as usize]);
            let (ua, va, ub, vb) = (a[0] - p[0], a[1] - p[1], b[0] - p[0], b[1] - p[1]);
            let area = ua * vb - va * ub;
            let factors = if area < 0.0 { [-vb, va] } else { [vb, -va] };
            Corner { vertices, factors, area }
        })
    }

    fn counts(&self, signs: &[f32]) -> bool {
        let sign = signs[self.vertices[0] as usize];
        self.area * sign > 0.0 && self.area.abs() < f32::INFINITY
    }
}

/// The points around a class and their static factors: of each corner the vertex after it, then the one
/// before.
struct Around<'a> {
    corners: &'a [Corner],
    point: &'a [u32],
    /// Per point the class that has met it, and its place around that.
    met: Vec<(u32, usize)>,
    list: Vec<(u32, f32)>,
}

impl<'a> Around<'a> {
    fn new(corners: &'a [Corner], point: &'a [u32]) -> Around<'a> {
        Around { corners, point, met: vec![(u32::MAX, 0); point.len()], list: Vec::new() }
    }

    /// Of a class that has these corners.
    fn of(&mut self, class: usize, corners: &[u32]) -> &[(u32, f32)] {
        self.list.clear();
        for &at in corners {
            let corner = self.corners[at as usize];
            for side in 0..2 {
                let place = self.point[corner.vertices[1 + side] as usize];
                let known = &mut self.met[place as usize];
                if known.0 != class as u32 {
                    *known = (class as u32, self.list.len());
                    self.list.push((place, 0.0));
                }
                self.list[known.1].1 += corner.factors[side];
            }
        }
        &self.list
    }
}

/// Classes that have many points around them: these are summed one by one, before all others.
#[derive(Debug, Clone, Default, PartialEq)]
struct Long {
    /// The point of each class, and where its list ends.
    classes: Vec<(u32, u32)>,
    list: Vec<(u32, f32)>,
    /// Where the sum of the first of these is put.
    first: usize,
}

impl Long {
    /// Where the sum will be.
    fn push(&mut self, own: u32, around: &[(u32, f32)]) -> u32 {
        self.list.extend(around);
        self.classes.push((own, self.list.len() as u32));
        (self.first + self.classes.len() - 1) as u32
    }

    fn sum<P: Place>(&self, points: &[P], vectors: &mut [[f32; 4]]) {
        let mut start = 0;
        for (i, &(own, end)) in self.classes.iter().enumerate() {
            let mut sum = [0.0f32; 3];
            for &(place, factor) in &self.list[start..end as usize] {
                sum = plus(sum, times(points[place as usize].minus(points[own as usize]), factor));
            }
            start = end as usize;
            vectors[self.first + i] = [sum[0], sum[1], sum[2], 0.0];
        }
    }
}

/// The points of sixteen classes, where their rows end, and where the sums are of those that have many.
#[derive(Debug, Clone, PartialEq)]
struct ClassBlock {
    own: BlockRow,
    end: usize,
    long: Option<Box<BlockRow>>,
}

impl ClassBlock {
    fn new(own: &[u32], end: usize, long: BlockRow) -> ClassBlock {
        ClassBlock { own: padded(own), end, long: (long != [0; BLOCK]).then(|| Box::new(long)) }
    }

    /// Adds the sums of those that have many.
    #[inline(always)]
    fn with_long<L: Part>(&self, sum: Vector<L>, part: usize, vectors: &[[f32; 4]]) -> Vector<L> {
        match &self.long {
            Some(long) => plus(sum, L::vectors(vectors, long, part)),
            None => sum,
        }
    }
}

/// Where the rows of a block begin.
#[inline(always)]
fn start_of(blocks: &[ClassBlock], block: usize) -> usize {
    if block == 0 { 0 } else { blocks[block - 1].end }
}

fn padded(own: &[u32]) -> BlockRow {
    let mut places = [0; BLOCK];
    places[..own.len()].copy_from_slice(own);
    places
}

/// The points around each class, and their static factors.
#[derive(Debug, Clone, Default, PartialEq)]
struct Neighbours {
    blocks: Vec<ClassBlock>,
    rows: Vec<(BlockRow, [f32; BLOCK])>,
    long: Long,
}

impl Neighbours {
    /// `own` is the point of each class.
    fn new(
        corners: impl Iterator<Item = Corner>,
        point: &[u32],
        class: &[u32],
        own: &[u32],
        next: &mut usize,
    ) -> Neighbours {
        let all: Vec<Corner> = corners.collect();
        let lists = lists_of(&all, class, own.len());
        let mut around = Around::new(&all, point);
        let mut out = Neighbours::default();
        out.long.first = *next;
        for (block, own) in own.chunks(BLOCK).enumerate() {
            let mut lanes: [Vec<(u32, f32)>; BLOCK] = Default::default();
            let mut long = [0u32; BLOCK];
            for (lane, place) in own.iter().enumerate() {
                let item = BLOCK * block + lane;
                let around = around.of(item, lists.of(item));
                if around.len() <= MOST {
                    lanes[lane] = around.to_vec();
                } else {
                    long[lane] = out.long.push(*place, around);
                }
            }
            for i in 0..lanes.iter().map(Vec::len).max().unwrap_or(0) {
                let mut row = (padded(own), [0.0; BLOCK]);
                for (lane, list) in lanes.iter().enumerate() {
                    if let Some(&(place, factor)) = list.get(i) {
                        (row.0[lane], row.1[lane]) = (place, factor);
                    }
                }
                out.rows.push(row);
            }
            out.blocks.push(ClassBlock::new(own, out.rows.len(), long));
        }
        *next += out.long.classes.len();
        out
    }

    #[inline(always)]
    fn sums<L: Part, P: Place>(
        &self,
        (block, part): (usize, usize),
        points: &[P],
        vectors: &[[f32; 4]],
    ) -> Vector<L> {
        let own = &self.blocks[block];
        let at = L::points(points, &own.own, part);
        let mut sum = [L::splat(0.0); 3];
        for (places, factors) in &self.rows[start_of(&self.blocks, block)..own.end] {
            let away = difference::<L, P>(L::points(points, places, part), at);
            sum = plus(sum, times(away, L::load(factors, part)));
        }
        own.with_long(sum, part, vectors)
    }
}

/// The corners of each class, whose directions are found in the plane at right angles to its normal.
#[derive(Debug, Clone, Default, PartialEq)]
struct Corners {
    blocks: Vec<ClassBlock>,
    rows: Vec<CornerRow>,
    long: Long,
}

/// A corner of each of sixteen classes: the points after and before it, and what these are multiplied by.
type CornerRow = ([BlockRow; 2], [[f32; BLOCK]; 2]);

impl Corners {
    /// As of [`Neighbours`].
    fn new(
        corners: impl Iterator<Item = Corner>,
        point: &[u32],
        class: &[u32],
        own: &[u32],
        next: &mut usize,
    ) -> Corners {
        let all: Vec<Corner> = corners.collect();
        let lists = lists_of(&all, class, own.len());
        let mut around = Around::new(&all, point);
        let mut out = Corners::default();
        out.long.first = *next;
        for (block, own) in own.chunks(BLOCK).enumerate() {
            let mut long = [0u32; BLOCK];
            let mut rows = [([padded(own); 2], [[0.0; BLOCK]; 2]); MOST];
            let mut most = 0;
            for (lane, place) in own.iter().enumerate() {
                let item = BLOCK * block + lane;
                let list = lists.of(item);
                if list.len() > MOST {
                    long[lane] = out.long.push(*place, around.of(item, list));
                    continue;
                }
                most = most.max(list.len());
                for (row, &at) in rows.iter_mut().zip(list) {
                    let corner = all[at as usize];
                    for side in 0..2 {
                        row.0[side][lane] = point[corner.vertices[1 + side] as usize];
                        row.1[side][lane] = corner.factors[side];
                    }
                }
            }
            out.rows.extend(&rows[..most]);
            out.blocks.push(ClassBlock::new(own, out.rows.len(), long));
        }
        *next += out.long.classes.len();
        out
    }

    #[inline(always)]
    fn sums<L: Part, P: Place>(
        &self,
        (block, part): (usize, usize),
        points: &[P],
        n: Vector<L>,
        vectors: &[[f32; 4]],
    ) -> Vector<L> {
        let own = &self.blocks[block];
        let at = L::points(points, &own.own, part);
        let mut sum = [L::splat(0.0); 3];
        for ([after, before], factors) in &self.rows[start_of(&self.blocks, block)..own.end] {
            let e = difference::<L, P>(L::points(points, after, part), at);
            let f = difference::<L, P>(L::points(points, before, part), at);
            let factors = [L::load(&factors[0], part), L::load(&factors[1], part)];
            sum = plus(sum, direction([e, f], factors, n));
        }
        own.with_long(sum, part, vectors)
    }
}

/// What a corner adds with projected weights, its edges being `e` and `f`.
#[inline(always)]
fn direction<N: Number>([e, f]: [Vector<N>; 2], factors: [N; 2], n: Vector<N>) -> Vector<N> {
    let (e, f) = (minus(e, times(n, dot(e, n))), minus(f, times(n, dot(f, n))));
    let g = plus(times(e, factors[0]), times(f, factors[1]));
    let cosine = dot(e, f) * (inverse_length(dot(e, e)) * inverse_length(dot(f, f)));
    times(g, angle(cosine) * inverse_length(dot(g, g)))
}

/// Per class its corners, in order.
fn lists_of(corners: &[Corner], class: &[u32], classes: usize) -> Lists {
    Lists::new(classes, (0..).zip(corners).map(|(i, c)| (class[c.vertices[0] as usize], i)))
}

/// Triangles whose directions are found in each frame.
#[derive(Debug, Clone, Default, PartialEq)]
struct Triangles {
    /// Points of the corners of sixteen triangles, and by what the edges from the first corner are
    /// multiplied.
    blocks: Vec<([BlockRow; 3], [[f32; BLOCK]; 2])>,
    corners: Gather,
    /// Where their vectors begin, a multiple of sixteen.
    first: usize,
}

impl Triangles {
    fn new(
        triangles: &[[u32; 3]],
        point: &[u32],
        class: &[u32],
        classes: usize,
        (uvs, signs): (&[[f32; 2]], &[f32]),
        next: &mut usize,
    ) -> Triangles {
        let first = next.next_multiple_of(BLOCK);
        let mut out = Triangles { first, ..Triangles::default() };
        for some in triangles.chunks(BLOCK) {
            let mut block = ([[0; BLOCK]; 3], [[0.0; BLOCK]; 2]);
            for (lane, t) in some.iter().enumerate() {
                for k in 0..3 {
                    block.0[k][lane] = point[t[k] as usize];
                }
                if let Some(corner) = Corner::of(t, uvs).next() {
                    (block.1[0][lane], block.1[1][lane]) = (corner.factors[0], corner.factors[1]);
                }
            }
            out.blocks.push(block);
        }
        *next = first + 3 * BLOCK * out.blocks.len();
        let corners = triangles.iter().enumerate().flat_map(|(i, t)| {
            let slot = first + i / BLOCK * 3 * BLOCK + i % BLOCK;
            let corners = Corner::of(t, uvs).enumerate().filter(|(_, c)| c.counts(signs));
            corners.map(move |(k, c)| (class[c.vertices[0] as usize], (slot + k * BLOCK) as u32))
        });
        out.corners = Gather::new(&Lists::new(classes, corners), next);
        out
    }

    #[inline(always)]
    fn write<L: Part, P: Place>(&self, points: &[P], vectors: &mut [[f32; 4]]) {
        let out = vectors[self.first..].as_chunks_mut::<BLOCK>().0.as_chunks_mut::<3>().0;
        for ((places, factors), out) in self.blocks.iter().zip(out) {
            for part in 0..L::PARTS {
                let first = L::points(points, &places[0], part);
                let second = L::points(points, &places[1], part);
                let third = L::points(points, &places[2], part);
                let e = difference::<L, P>(second, first);
                let across = difference::<L, P>(third, second);
                let f = difference::<L, P>(third, first);
                let g = plus(times(e, L::load(&factors[0], part)), times(f, L::load(&factors[1], part)));
                let g = times(g, inverse_length(dot(g, g)));
                let i = [
                    inverse_length(dot(e, e)),
                    inverse_length(dot(across, across)),
                    inverse_length(dot(f, f)),
                ];
                let back = minus([L::splat(0.0); 3], e);
                let cosines = [
                    dot(e, f) * (i[0] * i[2]),
                    dot(across, back) * (i[1] * i[0]),
                    dot(f, across) * (i[2] * i[1]),
                ];
                L::store_vectors(times(g, angle(cosines[0])), &mut out[0], part);
                L::store_vectors(times(g, angle(cosines[1])), &mut out[1], part);
                L::store_vectors(times(g, angle(cosines[2])), &mut out[2], part);
            }
        }
        self.corners.sum_long(vectors);
    }
}
