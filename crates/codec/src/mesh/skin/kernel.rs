//! Points and the bones they hang on, and the kernel that moves them: sorted by bones, eight points of the
//! same ones side by side; points that share theirs with few others one by one.

use crate::clip::nodes::Node;
use crate::mesh::decode::Vector;
use crate::mesh::skin::weights::{self, Weights};
use crate::quantize::fixed::FixedPoint;
use crate::simd::isa::Isa;
use crate::simd::lanes::{self, LANES, Lanes, Task};
use crate::sort;
use crate::transform::Transform;

/// Where most of what a bone moves is at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Of the box.
    pub middle: [f64; 3],
    /// Half the box along each axis.
    pub half: [f64; 3],
    /// The box itself.
    pub bounds: [f32; 6],
}

/// A bone and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pull {
    bone: u32,
    weight: f32,
}

/// Points of the same `N` bones, eight side by side.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// Of each run of points with the same bones: these, `N` each, and how many points.
    bones: Vec<u32>,
    points: Vec<u32>,
    cells: Vec<u32>,
    /// x, y, z of eight points; each run begins anew.
    rest: Vec<[[f32; LANES]; 3]>,
    /// Of each of the `N` bones in turn.
    weights: Vec<[f32; LANES]>,
}

/// Points of `N` bones each that too few others have too.
#[derive(Clone, Debug, Default)]
struct Loners {
    cells: Vec<u32>,
    rest: Vec<[f32; 3]>,
    pulls: Vec<Pull>,
}

/// Points that must have the same bones for these to be read once for eight of them.
const FEW: usize = 3;

/// Rest positions, bones and weights: all that says where points are once bones are known.
#[derive(Clone, Debug, Default)]
pub struct Rig {
    /// By point, in the order of levels of detail, or as [`Rig::number_by_bones`] numbers them.
    pub rest: Vec<[f32; 3]>,
    /// Points that have a residual.
    pub coded: Vec<u32>,
    /// By bone.
    pub regions: Vec<Region>,
    /// Where a point's bones begin in `pulls`; one more than points.
    starts: Vec<u32>,
    pulls: Vec<Pull>,
    /// By number of bones, from one on.
    groups: [Groups; weights::MOST],
    /// Points that have their bones for themselves, by the number of bones from two on.
    loners: [Loners; weights::MOST - 1],
    /// Points of both are numbered one after the other.
    numbered: bool,
}

impl Rig {
    /// From its parts; `bones` of them. `order`: which point of the mesh each is; what follows each other
    /// there does so among points of the same bones.
    pub fn new(rest: Vec<[f32; 3]>, weights: &Weights, bones: u32, order: &[u32]) -> Rig {
        let mut rig = Rig { starts: vec![0], rest, ..Rig::default() };
        let unit = 1.0 / (1u32 << weights.depth) as f32;
        let (low, high) = (f32::INFINITY, f32::NEG_INFINITY);
        let mut boxes = vec![[low, low, low, high, high, high]; bones as usize];
        for v in 0..weights.points() {
            let own = weights.of(v);
            for &(bone, weight) in own {
                rig.pulls.push(Pull { bone: bone.into(), weight: f32::from(weight) * unit });
                if u32::from(weight) << 5 >= 1 << weights.depth {
                    let space = &mut boxes[usize::from(bone)];
                    for (k, &x) in rig.rest[v].iter().enumerate() {
                        space[k] = space[k].min(x);
                        space[k + 3] = space[k + 3].max(x);
                    }
                }
            }
            if own.is_empty() {
                // Number `bones` is that of what does not move.
                rig.pulls.push(Pull { bone: bones, weight: 1.0 });
            }
            // However they are coded: more points have the same ones then.
            let first = rig.starts[v] as usize;
            sort::by_key(&mut rig.pulls[first..], |p| p.bone);
            rig.starts.push(rig.pulls.len() as u32);
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
        // A bone of a few points that lie together pulls at others far away, which handles too near to each
        // other would throw anywhere.
        let least = largest(halves(whole)) / 64.0;
        rig.regions = boxes.into_iter().map(|b| region(b, least)).collect();
        rig.sort(order);
        rig
    }

    /// Puts points where [`Rig::pose`] reads them.
    fn sort(&mut self, order: &[u32]) {
        let bones = |&cell: &u32| self.pulls_of(cell as usize).iter().map(|p| p.bone);
        let mut points: Vec<u32> = (0..self.rest.len() as u32).collect();
        let place = |&cell: &u32| order.get(cell as usize);
        sort::by(&mut points, |a, b| bones(a).cmp(bones(b)).then(place(a).cmp(&place(b))));
        let (mut groups, mut loners) = (self.groups.clone(), self.loners.clone());
        for run in points.chunk_by(|a, b| bones(a).eq(bones(b))) {
            let many = bones(&run[0]).len();
            if many > 1 && run.len() < FEW {
                let own = &mut loners[many - 2];
                for &cell in run {
                    own.cells.push(cell);
                    own.rest.push(self.rest[cell as usize]);
                    own.pulls.extend(self.pulls_of(cell as usize));
                }
                continue;
            }
            let own = &mut groups[many - 1];
            own.bones.extend(bones(&run[0]));
            own.points.push(run.len() as u32);
            own.cells.extend(run);
            for eight in run.chunks(LANES) {
                let mut rest = [[0.0; LANES]; 3];
                let mut weights = [[0.0; LANES]; weights::MOST];
                for (l, &cell) in eight.iter().enumerate() {
                    for (row, x) in rest.iter_mut().zip(self.rest[cell as usize]) {
                        row[l] = x;
                    }
                    for (row, pull) in weights.iter_mut().zip(self.pulls_of(cell as usize)) {
                        row[l] = pull.weight;
                    }
                }
                own.rest.push(rest);
                own.weights.extend(&weights[..many]);
            }
        }
        (self.groups, self.loners) = (groups, loners);
    }

    /// Numbers points anew, so that those of the same bones follow each other and [`Rig::pose`] writes eight
    /// at once. Returns the new number of each.
    pub fn number_by_bones(&mut self) -> Vec<u32> {
        let groups = self.groups.iter_mut().map(|g| &mut g.cells);
        let loners = self.loners.iter_mut().map(|l| &mut l.cells);
        let mut numbers = vec![0; self.rest.len()];
        let (mut rest, mut starts, mut pulls) = (Vec::new(), vec![0], Vec::new());
        for cell in groups.chain(loners).flatten() {
            let old = *cell as usize;
            *cell = rest.len() as u32;
            numbers[old] = *cell;
            rest.push(self.rest[old]);
            let own = self.starts[old] as usize..self.starts[old + 1] as usize;
            pulls.extend_from_slice(&self.pulls[own]);
            starts.push(pulls.len() as u32);
        }
        (self.rest, self.starts, self.pulls) = (rest, starts, pulls);
        self.numbered = true;
        for point in &mut self.coded {
            *point = numbers[*point as usize];
        }
        numbers
    }

    /// Number of bones.
    pub fn bones(&self) -> usize {
        self.regions.len()
    }

    /// Bones of a point and their weights; none: it does not move.
    pub fn influences(&self, v: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let pulls = self.pulls_of(v).iter();
        pulls
            .map(|pull| (pull.bone as usize, pull.weight))
            .filter(|&(bone, weight)| bone < self.bones() && weight > 0.0)
    }

    /// Matrices of a point and their weights as they are added up, that of what does not move among them.
    pub fn pulls(&self, v: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.pulls_of(v).iter().map(|pull| (pull.bone, pull.weight))
    }

    /// Whether bones move the same points in the same way, to the bit.
    #[cfg(feature = "encode")]
    pub fn moves_as(&self, other: &Rig) -> bool {
        self.rest == other.rest
            && self.regions == other.regions
            && self.starts == other.starts
            && self.pulls == other.pulls
    }

    /// Bones as the clip codec knows them, the first `count`.
    pub fn nodes(&self, count: usize) -> Vec<Node> {
        let of = |region: &Region| Node {
            parent: None,
            rest: Transform::IDENTITY,
            moves: true,
            bounds: Some(region.bounds),
        };
        self.regions.iter().take(count).map(of).collect()
    }

    fn pulls_of(&self, v: usize) -> &[Pull] {
        &self.pulls[self.starts[v] as usize..self.starts[v + 1] as usize]
    }

    /// Where a point is, in units.
    pub fn place(&self, v: usize, matrices: &[Matrix]) -> [f32; 3] {
        let [a, b, c, d] = blend(self.pulls_of(v), matrices);
        let [x, y, z] = self.rest[v];
        [0, 1, 2].map(|k| a[k] * x + b[k] * y + c[k] * z + d[k])
    }

    /// Whole units of where all points are: the reference of [`Rig::pose`].
    #[cfg(feature = "encode")]
    pub fn places(&self, matrices: &[Matrix], mut each: impl FnMut(usize, [i32; 3])) {
        for v in 0..self.rest.len() {
            let at = self.place(v, matrices);
            each(v, at.map(|x| x.round_ties_even() as i32));
        }
    }

    /// Points as fixed-point positions.
    pub fn pose<W: FixedPoint>(&self, isa: Isa, matrices: &[Matrix], out: &mut [Vector<W>]) {
        let task = Pose { rig: self, matrices, out };
        lanes::run(isa, task);
    }
}

/// Matrix of a point; numbers beyond the last are the last.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn blend(pulls: &[Pull], matrices: &[Matrix]) -> Matrix {
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

/// See [`Rig::pose`].
struct Pose<'a, W> {
    rig: &'a Rig,
    matrices: &'a [Matrix],
    out: &'a mut [Vector<W>],
}

impl<W: FixedPoint> Task for Pose<'_, W> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        self.group::<L, 1>();
        self.group::<L, 2>();
        self.group::<L, 3>();
        self.group::<L, 4>();
        self.group::<L, 5>();
        self.group::<L, 6>();
        self.group::<L, 7>();
        self.group::<L, 8>();
        self.alone::<L, 2>();
        self.alone::<L, 3>();
        self.alone::<L, 4>();
        self.alone::<L, 5>();
        self.alone::<L, 6>();
        self.alone::<L, 7>();
        self.alone::<L, 8>();
    }
}

// In WebAssembly, where all of the program is compiled for one instruction set, what is used in several places need not be
// there more than once.
impl<W: FixedPoint> Pose<'_, W> {
    /// Points that have `N` bones, the same as others. No closures: these must end up in one function.
    #[inline(always)]
    fn group<L: Lanes, const N: usize>(&mut self) {
        let own = &self.rig.groups[N - 1];
        let (bones, _) = own.bones.as_chunks::<N>();
        let (weights, _) = own.weights.as_chunks::<N>();
        let (mut cells, mut eights) = (&own.cells[..], own.rest.iter().zip(weights));
        let last = self.matrices.len() - 1;
        for (bones, &points) in bones.iter().zip(&own.points) {
            let mut from = [&self.matrices[last]; N];
            for (from, &bone) in from.iter_mut().zip(bones) {
                *from = &self.matrices[(bone as usize).min(last)];
            }
            let (run, others) = cells.split_at(points as usize);
            cells = others;
            for (cells, ([x, y, z], weights)) in run.chunks(LANES).zip(&mut eights) {
                let rest = [L::load(x), L::load(y), L::load(z)];
                let at = [
                    row::<L, N>(&from, weights, rest, 0),
                    row::<L, N>(&from, weights, rest, 1),
                    row::<L, N>(&from, weights, rest, 2),
                ];
                self.put::<L>(cells, at);
            }
        }
    }

    /// Points that have `N` bones, unlike others.
    #[inline(always)]
    fn alone<L: Lanes, const N: usize>(&mut self) {
        let own = &self.rig.loners[N - 2];
        let (pulls, _) = own.pulls.as_chunks::<N>();
        let points = own.rest.chunks(LANES).zip(pulls.chunks(LANES));
        for (cells, (rest, pulls)) in own.cells.chunks(LANES).zip(points) {
            let mut places = [[0.0; 4]; LANES];
            for (place, (&[x, y, z], pulls)) in places.iter_mut().zip(rest.iter().zip(pulls)) {
                let [a, b, c, d] = blend(pulls, self.matrices);
                for (k, at) in place.iter_mut().enumerate() {
                    // The fourth numbers are zeros.
                    *at = a[k] * x + b[k] * y + c[k] * z + d[k];
                }
            }
            self.put::<L>(cells, L::load_vectors(&places));
        }
    }

    /// Of up to eight points, by number.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn put<L: Lanes>(&mut self, cells: &[u32], at: [L; 3]) {
        let mut all = [[W::default(); 4]; LANES];
        if W::BITS == i16::BITS {
            for (to, at) in all.iter_mut().zip(L::short_vectors(at)) {
                *to = W::of_short(at);
            }
        } else {
            for (to, [x, y, z, zero]) in all.iter_mut().zip(L::whole_vectors(at)) {
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

/// A coordinate of eight points.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn row<L: Lanes, const N: usize>(
    from: &[&Matrix; N],
    weights: &[[f32; LANES]; N],
    [x, y, z]: [L; 3],
    row: usize,
) -> L {
    blended::<L, N>(from, weights, 0, row) * x
        + blended::<L, N>(from, weights, 1, row) * y
        + blended::<L, N>(from, weights, 2, row) * z
        + blended::<L, N>(from, weights, 3, row)
}

/// A number of the matrices of eight points; one bone's is taken as it is.
#[inline(always)]
fn blended<L: Lanes, const N: usize>(
    from: &[&Matrix; N],
    weights: &[[f32; LANES]; N],
    column: usize,
    row: usize,
) -> L {
    let first = L::splat(from[0][column][row]);
    if N == 1 {
        return first;
    }
    let mut sum = first * L::load(&weights[0]);
    // By number, so that it is unrolled.
    for n in 1..N {
        sum = sum + L::splat(from[n][column][row]) * L::load(&weights[n]);
    }
    sum
}

/// Half the sides of a box.
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

/// Columns: what a step along x, y, z adds, and where the origin goes; in units of the grid. The fourth
/// numbers are 0.
pub type Matrix = [[f32; 4]; 4];
