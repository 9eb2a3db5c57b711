//! Points in the order in which vertices first use them, or row by row for a regular grid: their *places*;
//! and rows of sixteen places. Points that are near on the surface are then near in memory, and where sixteen
//! neighbours have consecutive places, as on grids, tubes and spheres, a row is read at once.

use crate::simd::lanes::{BLOCK, BlockRow, BlockTask, IntegerPoint, Part};
use crate::topology::grid;
use crate::{Corrupt, Points, each_width};

/// The point of each place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PointOrder {
    points: Vec<u32>,
}

impl PointOrder {
    /// Creates the order, and returns the place of each vertex. `grid` is given if the vertices form a
    /// regular one.
    pub fn new(point: &[u32], points: usize, grid: Option<grid::GridShape>) -> (PointOrder, Vec<u32>) {
        if let Some(grid) = grid.filter(|_| points == point.len())
            && u64::from(grid.width) * u64::from(grid.height) == points as u64
        {
            let of: Vec<u32> = grid.columns_and_rows().iter().map(|[i, j]| j * grid.width + i).collect();
            let mut out = PointOrder { points: vec![0; points] };
            for (&place, &p) in of.iter().zip(point) {
                out.points[place as usize] = p;
            }
            return (out, of);
        }
        let mut place = vec![u32::MAX; points];
        let mut out = PointOrder::default();
        let of = point.iter().map(|&p| {
            let known = &mut place[p as usize];
            if *known == u32::MAX {
                *known = out.points.len() as u32;
                out.points.push(p);
            }
            *known
        });
        let of = of.collect();
        (out, of)
    }

    /// Returns the points of frame 0 in the order of places. Fails if there are too few.
    pub fn first(&self, points: Points<'_>) -> Result<Vec<[f32; 3]>, Corrupt> {
        each_width!(points, points => {
            let at = |p: &u32| points.get(*p as usize).map(|p| p.minus(IntegerPoint::ZERO));
            self.points.iter().map(at).collect::<Option<_>>()
        })
        .ok_or(Corrupt("normals: fewer points than vertices name"))
    }

    /// Returns the point of a place.
    pub fn point(&self, place: u32) -> u32 {
        self.points[place as usize]
    }

    /// Returns the number of places.
    pub fn len(&self) -> usize {
        self.points.len()
    }
}

/// A row: the number of a list, or the offset of a run of sixteen places from its block's first item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PointRow(u32);

/// The flag of rows that are runs; others are numbers of lists.
const RUN: u32 = 1 << 31;
/// Added to the starts of runs, which can be negative.
const BIAS: i64 = 1 << 30;
/// The largest distance of a run before the first place or beyond the last; that much padding may be
/// allocated.
const MARGIN: usize = 1 << 12;

/// The rows of a mesh.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PointRows {
    lists: Vec<BlockRow>,
    /// The distance that runs reach before the first place and beyond the last.
    margin: usize,
    runs: bool,
}

impl PointRows {
    /// Adds a row of any places.
    fn push_list(&mut self, at: BlockRow) -> PointRow {
        self.lists.push(at);
        PointRow(self.lists.len() as u32 - 1)
    }

    /// Returns the bytes of the rows.
    pub fn bytes(&self) -> u64 {
        size_of_val(&self.lists[..]) as u64
    }

    /// Frees the memory of rows that could still be added.
    pub fn shrink_to_fit(&mut self) {
        self.lists.shrink_to_fit();
    }

    /// Returns the number of rows that are lists.
    #[cfg(test)]
    pub fn lists(&self) -> usize {
        self.lists.len()
    }

    /// Adds a run of sixteen places from `start` on, among `places`; `None` if it is too far outside.
    pub fn push_run(&mut self, start: i64, places: usize) -> Option<PointRow> {
        let outside = (-start).max(start + BLOCK as i64 - places as i64).max(0) as usize;
        if outside > MARGIN.min(places + BLOCK) {
            return None;
        }
        self.margin = self.margin.max(outside);
        self.runs = true;
        Some(PointRow(RUN | (start + BIAS) as u32))
    }

    /// Adds a row whose first `count` places matter, as a run if possible. The others repeat the first.
    pub fn push_row(&mut self, at: impl Fn(usize) -> u32, count: usize, places: usize) -> PointRow {
        let list: BlockRow = std::array::from_fn(|l| at(if l < count { l } else { 0 }));
        let follows = |(l, place): (usize, &u32)| u64::from(*place) == u64::from(list[0]) + l as u64;
        if list[..count].iter().enumerate().all(follows)
            && let Some(run) = self.push_run(i64::from(list[0]), places)
        {
            return run;
        }
        self.push_list(list)
    }

    /// Returns the place of one item of a row; for runs that reach beyond all places, possibly an invalid
    /// number.
    pub fn place(&self, row: PointRow, lane: usize) -> u32 {
        match row.0 & RUN {
            0 => self.lists[row.0 as usize][lane],
            _ => (i64::from(row.0 & !RUN) - BIAS + lane as i64) as u32,
        }
    }

    /// Loads the points of a part of a row.
    #[inline(always)]
    pub fn fetch<L: Part>(&self, row: PointRow, frame: &ArrangedPoints, part: usize) -> [L::Whole; 3] {
        match row.0 & RUN {
            0 => L::points(&frame.points, &self.lists[row.0 as usize], part),
            _ => {
                let at = i64::from(row.0 & !RUN) - BIAS + frame.margin as i64;
                let [x, y, z] = &frame.planes;
                L::run([x, y, z], at as usize, part)
            }
        }
    }
}

/// The points of a frame in the order of places, in the layouts that rows need.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrangedPoints {
    /// The points one by one, for lists.
    points: Vec<[i32; 4]>,
    /// Separate coordinates, for runs, padded with zeros at both ends.
    planes: [Vec<i32>; 3],
    margin: usize,
    /// The factor of differences between points, for kernels that are not compiled for a type of points.
    #[cfg(target_arch = "wasm32")]
    pub unit: f32,
}

/// A source of the factor of differences between points.
pub(super) trait DifferenceUnit {
    /// Returns the factor.
    fn unit(laid: &ArrangedPoints) -> f32;
}

/// The type of the points determines it, for kernels compiled for each type.
impl<P: IntegerPoint> DifferenceUnit for P {
    #[inline(always)]
    fn unit(_: &ArrangedPoints) -> f32 {
        P::UNIT
    }
}

/// The points themselves carry it: one kernel for both types, as WebAssembly programs should be small.
#[cfg(target_arch = "wasm32")]
pub(super) struct RuntimeUnit;

#[cfg(target_arch = "wasm32")]
impl DifferenceUnit for RuntimeUnit {
    #[inline(always)]
    fn unit(laid: &ArrangedPoints) -> f32 {
        laid.unit
    }
}

impl ArrangedPoints {
    /// Returns the point of a place.
    #[inline(always)]
    pub fn point(&self, place: u32) -> [i32; 3] {
        let at = place as usize;
        match self.points.get(at) {
            Some([x, y, z, _]) => [*x, *y, *z],
            None => [0, 1, 2].map(|k| self.planes[k][self.margin + at]),
        }
    }

    /// Loads the points of any places; slower, for rare cases.
    #[inline(always)]
    pub fn load_places<L: Part>(&self, places: &BlockRow, part: usize) -> [L::Whole; 3] {
        let mut points = [[0; 4]; BLOCK];
        for (out, place) in points.iter_mut().zip(places) {
            let [x, y, z] = self.point(*place);
            *out = [x, y, z, 0];
        }
        L::points(&points[..], &std::array::from_fn(|l| l as u32), part)
    }

    /// Allocates the layouts that these rows read.
    pub fn new(order: &PointOrder, rows: &[&PointRows]) -> ArrangedPoints {
        let count = order.len();
        let any = |f: fn(&PointRows) -> bool| rows.iter().any(|rows| f(rows));
        let margin = rows.iter().map(|rows| rows.margin).max().unwrap_or(0);
        let length = count.next_multiple_of(BLOCK) + 2 * margin;
        ArrangedPoints {
            points: vec![[0; 4]; if any(|rows| !rows.lists.is_empty()) { count } else { 0 }],
            planes: std::array::from_fn(|_| vec![0; if any(|rows| rows.runs) { length } else { 0 }]),
            margin,
            #[cfg(target_arch = "wasm32")]
            unit: 1.0,
        }
    }
}

/// Lays out the points of a frame, or of a moment between two.
pub(super) struct ArrangePoints<'a> {
    pub order: &'a PointOrder,
    pub from: Points<'a>,
    pub to: Option<(Points<'a>, f32)>,
    pub out: &'a mut ArrangedPoints,
}

/// The steps between two frames, and the parts of a unit for narrow points: the difference of two points,
/// times this, stays within 32 bits.
const INTERPOLATION_STEPS: i32 = 1 << 14;
/// The same for 32-bit points, of which 25 bits are used: edges of a few units keep their direction.
const WIDE_INTERPOLATION_STEPS: i32 = 1 << 6;

impl BlockTask for ArrangePoints<'_> {
    #[inline(always)]
    fn run<L: Part>(self) {
        let ArrangePoints { order, from, to, out } = self;
        match (from, to) {
            (Points::Narrow(from), None) => each::<L>(order, out, |p| widen(from[p])),
            (Points::Wide(from), None) => each::<L>(order, out, |p| from[p]),
            (Points::Narrow(from), Some((Points::Narrow(to), t))) => {
                let t = steps(t);
                each::<L>(order, out, |p| {
                    let (a, b) = (widen(from[p]), widen(to[p]));
                    std::array::from_fn(|k| a[k] * INTERPOLATION_STEPS + (b[k] - a[k]) * t)
                })
            }
            (Points::Wide(from), Some((Points::Wide(to), t))) => {
                let t = i64::from(steps(t));
                each::<L>(order, out, |p| {
                    let (a, b) = (from[p], to[p]);
                    std::array::from_fn(|k| {
                        let off = i64::from(b[k].wrapping_sub(a[k])) * t;
                        let more = (off / i64::from(INTERPOLATION_STEPS / WIDE_INTERPOLATION_STEPS)) as i32;
                        a[k].wrapping_mul(WIDE_INTERPOLATION_STEPS).wrapping_add(more)
                    })
                })
            }
            _ => panic!("frames of one mesh"),
        }
    }
}

fn steps(t: f32) -> i32 {
    (t * INTERPOLATION_STEPS as f32).round_ties_even() as i32
}

#[inline(always)]
fn widen(p: [i16; 4]) -> [i32; 4] {
    [i32::from(p[0]), i32::from(p[1]), i32::from(p[2]), i32::from(p[3])]
}

#[inline(always)]
fn each<L: Part>(order: &PointOrder, out: &mut ArrangedPoints, of: impl Fn(usize) -> [i32; 4]) {
    let ArrangedPoints { points, planes, margin, .. } = out;
    if planes[0].is_empty() {
        for (out, &p) in points.iter_mut().zip(&order.points) {
            *out = of(p as usize);
        }
        return;
    }
    let mut own = [[0; 4]; BLOCK];
    let all: BlockRow = std::array::from_fn(|l| l as u32);
    for (block, list) in order.points.chunks(BLOCK).enumerate() {
        for (own, &p) in own.iter_mut().zip(list) {
            *own = of(p as usize);
        }
        if !points.is_empty() {
            points[BLOCK * block..][..list.len()].copy_from_slice(&own[..list.len()]);
        }
        let at = *margin + BLOCK * block;
        let [x, y, z] = &mut *planes;
        let planes = [x, y, z].map(|plane| {
            let (_, rest) = plane.split_at_mut(at);
            rest.first_chunk_mut().expect("room for whole blocks")
        });
        let [x, y, z] = planes;
        for part in 0..L::PARTS {
            L::store_run(L::points(&own[..], &all, part), [&mut *x, &mut *y, &mut *z], part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::isa::Isa;
    use crate::simd::lanes;
    use proptest::prelude::*;

    struct Read<'a>(&'a PointRows, &'a [PointRow], &'a ArrangedPoints, &'a mut Vec<f32>);

    impl BlockTask for Read<'_> {
        #[inline(always)]
        fn run<L: Part>(self) {
            let Read(rows, list, laid, out) = self;
            for row in list {
                let mut block = [[0.0; 4]; BLOCK];
                for part in 0..L::PARTS {
                    let zero = rows.fetch::<L>(*row, laid, part);
                    let all = rows.fetch::<L>(list[0], laid, part);
                    let v = [0, 1, 2].map(|k| L::difference(zero[k], all[k]));
                    L::store_vectors(v, &mut block, part);
                }
                out.extend(block.as_flattened());
            }
        }
    }

    proptest! {
        #[test]
        fn runs_and_lists_read_the_same_everywhere(
            point in prop::collection::vec(0u32..40, 1..90),
            points in prop::collection::vec(prop::array::uniform4(-9_000i16..9_000), 40),
            start in -20i64..40,
            t in 0f32..1.0,
        ) {
            let (order, place) = PointOrder::new(&point, 40, None);
            for (v, p) in point.iter().enumerate() {
                prop_assert_eq!(order.points[place[v] as usize], *p);
            }
            let count = order.len();
            let mut rows = PointRows::default();
            let at = std::array::from_fn(|l| (start + l as i64).clamp(0, count as i64 - 1) as u32);
            let mut list = vec![rows.push_list([0; BLOCK]), rows.push_list(at)];
            list.extend(rows.push_run(start, count));
            let other: Vec<_> = points.iter().rev().copied().collect();
            let wide = [&points, &other].map(|l| l.iter().map(|p| p.map(|x| i32::from(x) << 9)).collect::<Vec<_>>());
            for (from, to) in [
                (Points::Narrow(&points), None),
                (Points::Narrow(&points), Some((Points::Narrow(&other), t))),
                (Points::Wide(&wide[0]), None),
                (Points::Wide(&wide[0]), Some((Points::Wide(&wide[1]), t))),
            ] {
                let mut all = Vec::new();
                for isa in Isa::all() {
                    let mut laid = ArrangedPoints::new(&order, &[&rows]);
                    lanes::run(isa, ArrangePoints { order: &order, from, to, out: &mut laid });
                    let mut out = Vec::new();
                    lanes::run(isa, Read(&rows, &list, &laid, &mut out));
                    all.push(out);
                }
                prop_assert!(all.windows(2).all(|w| w[0] == w[1]));
                if let [_, _, _] = list[..] {
                    for (l, k) in at.iter().zip(0..) {
                        if i64::from(*l) == start + k {
                            let [a, b] = [1, 2].map(|row| &all[0][4 * (BLOCK * row + k as usize)..][..4]);
                            prop_assert_eq!(a, b);
                        }
                    }
                }
            }
        }
    }
}
