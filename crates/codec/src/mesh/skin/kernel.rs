//! The points of a skin with their bones, and the kernel that moves them: points are sorted by bones, and
//! eight with the same ones are moved side by side; points that share theirs with few others are moved one by
//! one.

use crate::clip::nodes::Node;
use crate::mesh::decode::DecodedPoint;
use crate::mesh::skin::weights::{self, SkinWeights};
use crate::quantize::fixed_point::FixedPoint;
use crate::simd::doubles::{Doubles, LANES};
use crate::simd::isa::Isa;
use crate::simd::{Kernel, run_kernel};
use crate::sort;
use crate::transform::Transform;
use fearless_simd::prelude::*;
use fearless_simd::{f32x4, f32x8, i32x4, i32x8};

/// The box of the points that a bone moves, at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The middle of the box.
    pub middle: [f64; 3],
    /// Half the size of the box along each axis, with a lower limit.
    pub half: [f64; 3],
    /// The box itself.
    pub bounds: [f32; 6],
}

/// A bone and its weight for a point.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BoneInfluence {
    bone: u32,
    weight: f32,
}

/// Points with `N` bones that are the same for several points, eight side by side.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// For each run of points with the same bones: these bones, `N` each, and in `run_lengths` the number of
    /// points.
    bones: Vec<u32>,
    run_lengths: Vec<u32>,
    point_indices: Vec<u32>,
    /// x, y, z of eight points at rest; each run starts a new entry.
    rest: Vec<[[f32; LANES]; 3]>,
    /// The weights of eight points, for each of the `N` bones in turn.
    weights: Vec<[f32; LANES]>,
}

/// Points with `N` bones that too few others share.
#[derive(Clone, Debug, Default)]
struct Loners {
    point_indices: Vec<u32>,
    rest: Vec<[f32; 3]>,
    influences: Vec<BoneInfluence>,
}

/// The number of points that must have the same bones to be moved eight at a time.
const MIN_GROUP_POINTS: usize = 3;

/// Rest positions, bones and weights: positions follow from these and the matrices of bones.
#[derive(Clone, Debug, Default)]
pub struct SkinRig {
    /// The rest position of each point, in the order of the hierarchy or as [`SkinRig::number_by_bones`]
    /// numbers them.
    pub rest: Vec<[f32; 3]>,
    /// The points with a residual.
    pub coded: Vec<u32>,
    /// The region of each bone.
    pub regions: Vec<Region>,
    /// The start of each point's bones in `influences`, and the end of the last.
    starts: Vec<u32>,
    influences: Vec<BoneInfluence>,
    /// Points that share their bones, by number of bones, from one on.
    groups: [Groups; weights::MAX_INFLUENCES],
    /// Points that do not share their bones, by number of bones, from two on.
    loners: [Loners; weights::MAX_INFLUENCES - 1],
    /// `true` if the points of both are numbered consecutively.
    numbered: bool,
}

impl SkinRig {
    /// Builds a rig with `bones` bones. `order` has the mesh's point for each; points with the same bones are
    /// sorted by it.
    pub fn new(rest: Vec<[f32; 3]>, weights: &SkinWeights, bones: u32, order: &[u32]) -> SkinRig {
        let mut rig = SkinRig { starts: vec![0], rest, ..SkinRig::default() };
        let unit = 1.0 / (1u32 << weights.depth) as f32;
        let (low, high) = (f32::INFINITY, f32::NEG_INFINITY);
        let mut boxes = vec![[low, low, low, high, high, high]; bones as usize];
        for v in 0..weights.points() {
            let own = weights.influences(v);
            for &(bone, weight) in own {
                rig.influences.push(BoneInfluence { bone: bone.into(), weight: f32::from(weight) * unit });
                if u32::from(weight) << 5 >= 1 << weights.depth {
                    let space = &mut boxes[usize::from(bone)];
                    for (k, &x) in rig.rest[v].iter().enumerate() {
                        space[k] = space[k].min(x);
                        space[k + 3] = space[k + 3].max(x);
                    }
                }
            }
            if own.is_empty() {
                // Number `bones` stands for the matrix of points that do not move.
                rig.influences.push(BoneInfluence { bone: bones, weight: 1.0 });
            }
            // Sorted, in whatever order they are coded, so that more points have the same bones.
            let first = rig.starts[v] as usize;
            sort::by_key(&mut rig.influences[first..], |p| p.bone);
            rig.starts.push(rig.influences.len() as u32);
            if weights.coded[v] {
                rig.coded.push(v as u32);
            }
        }
        let mut whole = [low, low, low, high, high, high];
        for p in &rig.rest {
            for (k, &x) in p.iter().enumerate() {
                whole[k] = whole[k].min(x);
                whole[k + 3] = whole[k + 3].max(x);
            }
        }
        // A bone with a few points close together may also pull distant ones, which handles too close to each
        // other would move to arbitrary places.
        let least = largest(halves(whole)) / 64.0;
        rig.regions = boxes.into_iter().map(|b| region(b, least)).collect();
        rig.sort(order);
        rig
    }

    /// Arranges points as [`SkinRig::pose`] reads them.
    fn sort(&mut self, order: &[u32]) {
        let bones = |&cell: &u32| self.point_influences(cell as usize).iter().map(|p| p.bone);
        let mut points: Vec<u32> = (0..self.rest.len() as u32).collect();
        let place = |&cell: &u32| order.get(cell as usize);
        sort::unstable_by(&mut points, |a, b| bones(a).cmp(bones(b)).then(place(a).cmp(&place(b))));
        let (mut groups, mut loners) = (self.groups.clone(), self.loners.clone());
        for run in points.chunk_by(|a, b| bones(a).eq(bones(b))) {
            let many = bones(&run[0]).len();
            if many > 1 && run.len() < MIN_GROUP_POINTS {
                let own = &mut loners[many - 2];
                for &cell in run {
                    own.point_indices.push(cell);
                    own.rest.push(self.rest[cell as usize]);
                    own.influences.extend(self.point_influences(cell as usize));
                }
                continue;
            }
            let own = &mut groups[many - 1];
            own.bones.extend(bones(&run[0]));
            own.run_lengths.push(run.len() as u32);
            own.point_indices.extend(run);
            for eight in run.chunks(LANES) {
                let mut rest = [[0.0; LANES]; 3];
                let mut weights = [[0.0; LANES]; weights::MAX_INFLUENCES];
                for (l, &cell) in eight.iter().enumerate() {
                    for (row, x) in rest.iter_mut().zip(self.rest[cell as usize]) {
                        row[l] = x;
                    }
                    for (row, pull) in weights.iter_mut().zip(self.point_influences(cell as usize)) {
                        row[l] = pull.weight;
                    }
                }
                own.rest.push(rest);
                own.weights.extend(&weights[..many]);
            }
        }
        (self.groups, self.loners) = (groups, loners);
    }

    /// Renumbers points so that those with the same bones are consecutive and [`SkinRig::pose`] writes eight
    /// at once. Returns the new number of each.
    pub fn number_by_bones(&mut self) -> Vec<u32> {
        let groups = self.groups.iter_mut().map(|g| &mut g.point_indices);
        let loners = self.loners.iter_mut().map(|l| &mut l.point_indices);
        let mut numbers = vec![0; self.rest.len()];
        let (mut rest, mut starts, mut pulls) = (Vec::new(), vec![0], Vec::new());
        for cell in groups.chain(loners).flatten() {
            let old = *cell as usize;
            *cell = rest.len() as u32;
            numbers[old] = *cell;
            rest.push(self.rest[old]);
            let own = self.starts[old] as usize..self.starts[old + 1] as usize;
            pulls.extend_from_slice(&self.influences[own]);
            starts.push(pulls.len() as u32);
        }
        (self.rest, self.starts, self.influences) = (rest, starts, pulls);
        self.numbered = true;
        for point in &mut self.coded {
            *point = numbers[*point as usize];
        }
        numbers
    }

    /// Returns the number of bones.
    pub fn bones(&self) -> usize {
        self.regions.len()
    }

    /// Returns the bones of a point and their weights; none if it does not move.
    pub fn influences(&self, v: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let pulls = self.point_influences(v).iter();
        pulls
            .map(|pull| (pull.bone as usize, pull.weight))
            .filter(|&(bone, weight)| bone < self.bones() && weight > 0.0)
    }

    /// Returns the matrix numbers of a point and their weights in the order of summation, including that of
    /// points that do not move.
    pub fn matrix_weights(&self, v: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.point_influences(v).iter().map(|pull| (pull.bone, pull.weight))
    }

    /// `true` if bones move the same points in the same way, to the bit.
    #[cfg(feature = "encode")]
    pub fn moves_as(&self, other: &SkinRig) -> bool {
        self.rest == other.rest
            && self.regions == other.regions
            && self.starts == other.starts
            && self.influences == other.influences
    }

    /// Returns the first `count` bones in the form of the clip codec.
    pub fn nodes(&self, count: usize) -> Vec<Node> {
        let of = |region: &Region| Node {
            parent: None,
            rest: Transform::IDENTITY,
            moves: true,
            bounds: Some(region.bounds),
        };
        self.regions.iter().take(count).map(of).collect()
    }

    fn point_influences(&self, v: usize) -> &[BoneInfluence] {
        &self.influences[self.starts[v] as usize..self.starts[v + 1] as usize]
    }

    /// Returns the position of a point, in units.
    pub fn position(&self, v: usize, matrices: &[Matrix]) -> [f32; 3] {
        let [a, b, c, d] = blend(self.point_influences(v), matrices);
        let [x, y, z] = self.rest[v];
        [0, 1, 2].map(|k| a[k] * x + b[k] * y + c[k] * z + d[k])
    }

    /// Computes the positions of all points, rounded to units: the reference of [`SkinRig::pose`].
    #[cfg(feature = "encode")]
    pub fn for_each_position(&self, matrices: &[Matrix], mut each: impl FnMut(usize, [i32; 3])) {
        for v in 0..self.rest.len() {
            let at = self.position(v, matrices);
            each(v, at.map(|x| x.round_ties_even() as i32));
        }
    }

    /// Computes the fixed-point positions of all points.
    pub fn pose<W: FixedPoint>(&self, isa: Isa, matrices: &[Matrix], out: &mut [DecodedPoint<W>]) {
        let task = PoseTask { rig: self, matrices, out };
        run_kernel(isa, task);
    }
}

/// Returns the blended matrix of a point; numbers beyond the last stand for the last.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn blend(pulls: &[BoneInfluence], matrices: &[Matrix]) -> Matrix {
    let last = matrices.len() - 1;
    let Some((first, others)) = pulls.split_first() else {
        return matrices[last];
    };
    let mut sum = matrices[(first.bone as usize).min(last)];
    if others.is_empty() {
        return sum;
    }
    for x in sum.as_flattened_mut() {
        *x *= first.weight;
    }
    for pull in others {
        let from = matrices[(pull.bone as usize).min(last)].as_flattened();
        for (to, x) in sum.as_flattened_mut().iter_mut().zip(from) {
            *to += x * pull.weight;
        }
    }
    sum
}

/// The task of [`SkinRig::pose`].
struct PoseTask<'a, W> {
    rig: &'a SkinRig,
    matrices: &'a [Matrix],
    out: &'a mut [DecodedPoint<W>],
}

impl<W: FixedPoint> Kernel for PoseTask<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(mut self, simd: S) {
        if S::ONE_BY_ONE {
            for (v, out) in self.out.iter_mut().enumerate().take(self.rig.rest.len()) {
                let [x, y, z] = self.rig.position(v, self.matrices).map(|x| x.round_ties_even() as i32);
                *out = [W::wrap(x), W::wrap(y), W::wrap(z), W::default()];
            }
            return;
        }
        self.pose_groups::<S, 1>(simd);
        self.pose_groups::<S, 2>(simd);
        self.pose_groups::<S, 3>(simd);
        self.pose_groups::<S, 4>(simd);
        self.pose_groups::<S, 5>(simd);
        self.pose_groups::<S, 6>(simd);
        self.pose_groups::<S, 7>(simd);
        self.pose_groups::<S, 8>(simd);
        self.pose_loners::<S, 2>(simd);
        self.pose_loners::<S, 3>(simd);
        self.pose_loners::<S, 4>(simd);
        self.pose_loners::<S, 5>(simd);
        self.pose_loners::<S, 6>(simd);
        self.pose_loners::<S, 7>(simd);
        self.pose_loners::<S, 8>(simd);
    }
}

// A WebAssembly program is compiled for one instruction set, so a function used in several places need not be
// duplicated.
impl<W: FixedPoint> PoseTask<'_, W> {
    /// Moves points with `N` bones that others share. No closures: all of it must end up in one function.
    #[inline(always)]
    fn pose_groups<S: Doubles, const N: usize>(&mut self, simd: S) {
        let own = &self.rig.groups[N - 1];
        let (bones, _) = own.bones.as_chunks::<N>();
        let (weights, _) = own.weights.as_chunks::<N>();
        let (mut cells, mut eights) = (&own.point_indices[..], own.rest.iter().zip(weights));
        let last = self.matrices.len() - 1;
        for (bones, &points) in bones.iter().zip(&own.run_lengths) {
            let mut from = [&self.matrices[last]; N];
            for (from, &bone) in from.iter_mut().zip(bones) {
                *from = &self.matrices[(bone as usize).min(last)];
            }
            let (run, others) = cells.split_at(points as usize);
            cells = others;
            for (cells, ([x, y, z], weights)) in run.chunks(LANES).zip(&mut eights) {
                let load = |x: &[f32; LANES]| f32x8::simd_from(simd, *x);
                let rest = [load(x), load(y), load(z)];
                let at = [
                    row(&from, weights, rest, 0),
                    row(&from, weights, rest, 1),
                    row(&from, weights, rest, 2),
                ];
                self.store_points(cells, at);
            }
        }
    }

    /// Moves points with `N` bones that others do not share.
    #[inline(always)]
    fn pose_loners<S: Doubles, const N: usize>(&mut self, simd: S) {
        let own = &self.rig.loners[N - 2];
        let (pulls, _) = own.influences.as_chunks::<N>();
        let points = own.rest.chunks(LANES).zip(pulls.chunks(LANES));
        for (cells, (rest, pulls)) in own.point_indices.chunks(LANES).zip(points) {
            let mut places = [[0.0; 4]; LANES];
            for (place, (&[x, y, z], pulls)) in places.iter_mut().zip(rest.iter().zip(pulls)) {
                let [a, b, c, d] = blend(pulls, self.matrices);
                for (k, at) in place.iter_mut().enumerate() {
                    // The fourth components are zero.
                    *at = a[k] * x + b[k] * y + c[k] * z + d[k];
                }
            }
            let (low, high) = places.as_flattened().split_at(16);
            let [x, y, z, _] = f32x4::load_four_interleaved(simd, low);
            let [x2, y2, z2, _] = f32x4::load_four_interleaved(simd, high);
            self.store_points(cells, [x.combine(x2), y.combine(y2), z.combine(z2)]);
        }
    }

    /// Stores the positions of up to eight points, by number.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn store_points<S: Doubles>(&mut self, cells: &[u32], at: [f32x8<S>; 3]) {
        let [x, y, z] = [whole(at[0]), whole(at[1]), whole(at[2])];
        let mut all = [[W::default(); 4]; LANES];
        if W::BITS == i16::BITS {
            let ((xy, xy2), (z, z2)) = (((x & 0xFFFF) | (y << 16)).split(), (z & 0xFFFF).split());
            let rows = [xy.zip_low(z), xy.zip_high(z), xy2.zip_low(z2), xy2.zip_high(z2)];
            for (to, row) in all.as_chunks_mut::<2>().0.iter_mut().zip(rows) {
                let [a, b]: [[i16; 4]; 2] = bytemuck::cast(row.to_array());
                *to = [W::from_i16(a), W::from_i16(b)];
            }
        } else {
            let ((x, x2), (y, y2), (z, z2)) = (x.split(), y.split(), z.split());
            let zero = i32x4::splat(x.token(), 0);
            let mut rows = [[0; 4]; LANES];
            let (low, high) = rows.as_flattened_mut().split_at_mut(16);
            i32x4::store_four_interleaved([x, y, z, zero], low);
            i32x4::store_four_interleaved([x2, y2, z2, zero], high);
            for (to, [x, y, z, zero]) in all.iter_mut().zip(rows) {
                *to = [W::wrap(x), W::wrap(y), W::wrap(z), W::wrap(zero)];
            }
        }
        let first = cells[0] as usize;
        let together = self.rig.numbered && cells.len() == LANES;
        match self.out[first..].first_chunk_mut() {
            Some(out) if together => *out = all,
            _ => {
                for (&cell, at) in cells.iter().zip(all) {
                    self.out[cell as usize] = at;
                }
            }
        }
    }
}

/// Computes a coordinate of eight points.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn row<S: Doubles, const N: usize>(
    from: &[&Matrix; N],
    weights: &[[f32; LANES]; N],
    [x, y, z]: [f32x8<S>; 3],
    row: usize,
) -> f32x8<S> {
    let simd = x.token();
    blended(simd, from, weights, 0, row) * x
        + blended(simd, from, weights, 1, row) * y
        + blended(simd, from, weights, 2, row) * z
        + blended(simd, from, weights, 3, row)
}

/// Computes an entry of the matrices of eight points; that of a single bone is used as it is.
#[inline(always)]
fn blended<S: Doubles, const N: usize>(
    simd: S,
    from: &[&Matrix; N],
    weights: &[[f32; LANES]; N],
    column: usize,
    row: usize,
) -> f32x8<S> {
    let first = f32x8::splat(simd, from[0][column][row]);
    if N == 1 {
        return first;
    }
    let mut sum = first * f32x8::simd_from(simd, weights[0]);
    // By index, so that the loop is unrolled.
    for n in 1..N {
        sum += f32x8::simd_from(simd, weights[n]) * from[n][column][row];
    }
    sum
}

/// Rounds to the nearest integers, ties to even, saturated to i32; NaN gives 0.
#[inline(always)]
fn whole<S: Doubles>(x: f32x8<S>) -> i32x8<S> {
    x.round_ties_even().to_int_precise()
}

/// Returns half the size of a box along each axis.
fn halves(bounds: [f32; 6]) -> [f64; 3] {
    let b = bounds.map(f64::from);
    [0, 1, 2].map(|k| (b[k + 3] - b[k]) * 0.5)
}

fn largest([x, y, z]: [f64; 3]) -> f64 {
    x.max(y).max(z)
}

fn region(bounds: [f32; 6], least: f64) -> Region {
    if !(0..3).all(|k| bounds[k] <= bounds[k + 3]) {
        return region([0.0; 6], least);
    }
    let b = bounds.map(f64::from);
    let half = halves(bounds);
    let least = least.max(largest(half) / 16.0).max(1e-30);
    Region { middle: [0, 1, 2].map(|k| (b[k] + b[k + 3]) * 0.5), half: half.map(|h| h.max(least)), bounds }
}

/// The columns of a matrix: the images of the unit steps along x, y, z, and of the origin; in units of the
/// grid. The fourth components are 0.
pub type Matrix = [[f32; 4]; 4];
