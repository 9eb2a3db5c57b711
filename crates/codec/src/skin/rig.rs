//! Points and the bones they hang on, and the kernel that moves them: sorted by bone, eight points of one bone side by side; points of several bones one by one.

use super::Matrix;
use super::weights::{self, Weights};
use crate::clip::nodes::Node;
use crate::isa::Isa;
use crate::lanes::{self, LANES, Lanes, Task};
use crate::soft::cell::Cell;
use crate::soft::decode::Vector;
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

/// Points of one bone that follow each other in [`Singles`].
#[derive(Clone, Copy, Debug)]
struct Run {
    bone: u32,
    points: u32,
}

/// Points of one bone each, by bone.
#[derive(Clone, Debug, Default)]
struct Singles {
    runs: Vec<Run>,
    cells: Vec<u32>,
    /// x, y, z of eight points; each run begins anew.
    rest: Vec<[[f32; LANES]; 3]>,
}

/// Points of as many bones each.
#[derive(Clone, Debug, Default)]
struct Blends {
    cells: Vec<u32>,
    rest: Vec<[f32; 3]>,
    pulls: Vec<Pull>,
}

/// Rest positions, bones and weights: all that says where points are once bones are known.
#[derive(Clone, Debug, Default)]
pub struct Rig {
    /// By point, in the order of levels of detail.
    pub rest: Vec<[f32; 3]>,
    /// Points that have a residual.
    pub coded: Vec<u32>,
    /// By bone.
    pub regions: Vec<Region>,
    /// Where a point's bones begin in `pulls`; one more than points.
    starts: Vec<u32>,
    pulls: Vec<Pull>,
    singles: Singles,
    /// By number of bones, from two on.
    blends: [Blends; weights::MOST - 1],
}

impl Rig {
    /// From its parts; `bones` of them.
    pub fn new(rest: Vec<[f32; 3]>, weights: &Weights, bones: u32) -> Rig {
        let mut rig = Rig {
            starts: vec![0],
            rest,
            ..Rig::default()
        };
        let unit = 1.0 / (1u32 << weights.depth) as f32;
        let (low, high) = (f32::INFINITY, f32::NEG_INFINITY);
        let mut boxes = vec![[low, low, low, high, high, high]; bones as usize];
        for v in 0..weights.points() {
            let own = weights.of(v);
            for &(bone, weight) in own {
                rig.pulls.push(Pull {
                    bone: bone.into(),
                    weight: f32::from(weight) * unit,
                });
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
                rig.pulls.push(Pull {
                    bone: bones,
                    weight: 1.0,
                });
            }
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
        // A bone of a few points that lie together pulls at others far away, which handles too near to each other would throw anywhere.
        let least = largest(halves(whole)) / 64.0;
        rig.regions = boxes.into_iter().map(|b| region(b, least)).collect();
        rig.sort();
        rig
    }

    /// Puts points where [`Rig::pose`] reads them.
    fn sort(&mut self) {
        let points = 0..self.rest.len() as u32;
        let mut alone: Vec<(u32, u32)> = Vec::new();
        for cell in points {
            let pulls = self.pulls_of(cell as usize);
            let many = pulls.len();
            if many == 1 {
                alone.push((pulls[0].bone, cell));
                continue;
            }
            let blends = &mut self.blends[many - 2];
            blends.cells.push(cell);
            blends.rest.push(self.rest[cell as usize]);
            let at = self.starts[cell as usize] as usize;
            blends.pulls.extend(&self.pulls[at..at + many]);
        }
        alone.sort_unstable();
        let singles = &mut self.singles;
        for run in alone.chunk_by(|a, b| a.0 == b.0) {
            singles.runs.push(Run {
                bone: run[0].0,
                points: run.len() as u32,
            });
            singles.cells.extend(run.iter().map(|&(_, cell)| cell));
            for eight in run.chunks(LANES) {
                let mut rest = [[0.0; LANES]; 3];
                for (l, &(_, cell)) in eight.iter().enumerate() {
                    for (row, x) in rest.iter_mut().zip(self.rest[cell as usize]) {
                        row[l] = x;
                    }
                }
                singles.rest.push(rest);
            }
        }
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

    /// Whether bones move the same points in the same way, to the bit.
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
    pub fn places(&self, matrices: &[Matrix], mut each: impl FnMut(usize, [i32; 3])) {
        for v in 0..self.rest.len() {
            let at = self.place(v, matrices);
            each(v, at.map(|x| x.round_ties_even() as i32));
        }
    }

    /// The same as cells.
    pub fn pose<W: Cell>(&self, isa: Isa, matrices: &[Matrix], out: &mut [Vector<W>]) {
        let task = Pose {
            rig: self,
            matrices,
            out,
        };
        lanes::run(isa, task);
    }
}

/// Matrix of a point; numbers beyond the last are the last.
#[inline(always)]
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

impl<W: Cell> Task for Pose<'_, W> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        self.singles::<L>();
        self.blends::<2>();
        self.blends::<3>();
        self.blends::<4>();
        self.blends::<5>();
        self.blends::<6>();
        self.blends::<7>();
        self.blends::<8>();
    }
}

impl<W: Cell> Pose<'_, W> {
    #[inline(always)]
    fn singles<L: Lanes>(&mut self) {
        let Singles { runs, cells, rest } = &self.rig.singles;
        let (mut cells, mut rest) = (&cells[..], &rest[..]);
        let last = self.matrices.len() - 1;
        for run in runs {
            let matrix = &self.matrices[(run.bone as usize).min(last)];
            let mut columns = [[L::splat(0.0); 3]; 4];
            for (column, from) in columns.iter_mut().zip(matrix) {
                for (to, &x) in column.iter_mut().zip(from) {
                    *to = L::splat(x);
                }
            }
            let [a, b, c, d] = columns;
            let (own, others) = cells.split_at(run.points as usize);
            let (places, more) = rest.split_at(own.len().div_ceil(LANES));
            for (cells, [x, y, z]) in own.chunks(LANES).zip(places) {
                let (x, y, z) = (L::load(x), L::load(y), L::load(z));
                // No closures: these must end up in one function.
                let whole = L::whole_vectors([
                    a[0] * x + b[0] * y + c[0] * z + d[0],
                    a[1] * x + b[1] * y + c[1] * z + d[1],
                    a[2] * x + b[2] * y + c[2] * z + d[2],
                ]);
                for (&cell, whole) in cells.iter().zip(whole) {
                    self.put(cell, whole);
                }
            }
            (cells, rest) = (others, more);
        }
    }

    /// Points of `N` bones.
    #[inline(always)]
    fn blends<const N: usize>(&mut self) {
        let blends = &self.rig.blends[N - 2];
        let (pulls, _) = blends.pulls.as_chunks::<N>();
        let points = blends.cells.iter().zip(&blends.rest);
        for ((&cell, &[x, y, z]), pulls) in points.zip(pulls) {
            let [a, b, c, d] = blend(pulls, self.matrices);
            let mut whole = [0; 4];
            for (k, whole) in whole.iter_mut().enumerate() {
                // The fourth numbers are zeros.
                let at = a[k] * x + b[k] * y + c[k] * z + d[k];
                *whole = at.round_ties_even() as i32;
            }
            self.put(cell, whole);
        }
    }

    #[inline(always)]
    fn put(&mut self, cell: u32, whole: [i32; 4]) {
        let [x, y, z, zero] = whole;
        self.out[cell as usize] = [W::wrap(x), W::wrap(y), W::wrap(z), W::wrap(zero)];
    }
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
    Region {
        middle: [0, 1, 2].map(|k| (b[k] + b[k + 3]) * 0.5),
        half: half.map(|h| h.max(least)),
        bounds,
    }
}
