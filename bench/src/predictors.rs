//! `predictors`: estimated savings of predictors that the soft codec does not have. A closed-loop model of
//! the codec in f32: hierarchy order, spatial weights, schedule and references are the codec's own, weights
//! are fitted the same way, residuals are cubic with a ball of zeros, and bits are those of adaptive
//! arithmetic coding. Only differences between the rows are meaningful.

use crate::soft::{Sequence, find};
use anyhow::Context;
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::{hierarchy, weights};
use meshreel_codec::schedule::{MAX_REFERENCES, Schedule};
use meshreel_process::parts::Trajectories;
use meshreel_process::{Cancellation, bones};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders with sequences, or paths of single ones (NAME.obj beside NAME.pc2).
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only these sequences.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Tolerances, as fractions of the diagonal of the whole sequence's box.
    #[arg(long, value_delimiter = ',', default_values_t = [1e-3, 1e-4])]
    tolerance: Vec<f64>,
    /// Predict the motion minus that of bones found in it.
    #[arg(long)]
    bones: bool,
    /// Only these predictors, by column name, besides the codec alone.
    #[arg(long, value_delimiter = ',')]
    with: Vec<String>,
}

/// An addition to the codec's predictors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExtraPredictor {
    Nothing,
    /// Keys: the detail of a vertex turns with its ring since the last key, by a fraction chosen for each
    /// level.
    Turn,
    /// Keys: one more reference, the earlier key that helps most.
    Cycle,
    /// All frames: one more reference, the frame one period earlier; the period that helps most.
    Period,
    /// Frames between keys: all keys of the file so far and the next two, as a basis that costs nothing.
    Basis,
    /// All frames: one more reference, the best of up to this many keys, which are coded first and kept
    /// decoded.
    Library(usize),
    /// The same in place of the third or fourth reference, if there are four, so that the decoder's work
    /// stays the same.
    Instead(usize),
    /// All frames: one more reference, the best of this many frames at the start, which are kept decoded.
    Beginning(u32),
    /// No neighbouring frames: each frame is a combination of this many frames spread over the file.
    Rank(usize),
}

const EXTRAS: [ExtraPredictor; 11] = [
    ExtraPredictor::Nothing,
    ExtraPredictor::Turn,
    ExtraPredictor::Cycle,
    ExtraPredictor::Period,
    ExtraPredictor::Library(4),
    ExtraPredictor::Library(16),
    ExtraPredictor::Instead(16),
    ExtraPredictor::Beginning(16),
    ExtraPredictor::Basis,
    ExtraPredictor::Rank(8),
    ExtraPredictor::Rank(24),
];

/// Returns `true`: there is no limit.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    print!("{:<16} {:>6}", "bits a vertex", "eps");
    let asked = |e: &ExtraPredictor| arguments.with.is_empty() || arguments.with.contains(&format!("{e:?}"));
    let extras: Vec<ExtraPredictor> =
        EXTRAS.into_iter().filter(|e| *e == ExtraPredictor::Nothing || asked(e)).collect();
    extras.iter().for_each(|e| print!(" {:>18}", format!("{e:?}")));
    println!("   in brackets: of keys");
    for path in find(&arguments.paths, &arguments.only)? {
        let sequence = Sequence::read(&path).with_context(|| path.display().to_string())?;
        for &tolerance in &arguments.tolerance {
            print!("{:<16} {tolerance:>6.0e}", sequence.name);
            let model = match arguments.bones {
                false => Model::new(&sequence, tolerance),
                true => match Model::new(&sequence, tolerance).without_bone_motion(&sequence, tolerance) {
                    Some(model) => model,
                    None => {
                        println!(" no bones move it");
                        continue;
                    }
                },
            };
            let mut first = 0.0;
            for &extra in &extras {
                let [keys, all] = model.bits(extra);
                if extra == ExtraPredictor::Nothing {
                    first = all;
                }
                let change = 100.0 * (all / first - 1.0);
                print!(" {:>18}", format!("{all:.3} {change:+.1}% [{keys:.3}]"));
            }
            println!();
        }
    }
    Ok(true)
}

type Frame = Vec<[f32; 3]>;

struct Model {
    hierarchy: Hierarchy,
    weights: weights::SpatialWeights,
    /// Positions in units of the radius, in the hierarchy's order.
    source: Vec<Frame>,
    schedule: Schedule,
    /// Vertices by which weights are fitted.
    sample: Vec<usize>,
}

/// Half a quantization step of the residuals: the farthest point of a cube is on the ball.
const HALF: f32 = 0.577;
const RING: std::ops::Range<usize> = 0..4;

impl Model {
    fn new(sequence: &Sequence, tolerance: f64) -> Model {
        let hierarchy = hierarchy::build(sequence.points as u32, &sequence.triangles);
        let radius = sequence.extent(tolerance).tolerance as f32;
        let frame = |f: u32| -> Frame {
            let all = sequence.frame(f);
            let at = |&p: &u32| all[p as usize].map(|x| x / radius);
            hierarchy.order.iter().map(at).collect()
        };
        let source: Vec<Frame> = (0..sequence.frames).map(frame).collect();
        let first: Vec<[i32; 3]> = source[0].iter().map(|p| p.map(|x| (8.0 * x).round() as i32)).collect();
        let weights = weights::solve(&hierarchy, &first);
        let start = hierarchy.starts.get(2).map_or(0, |&s| s as usize);
        let stride = ((sequence.points - start) / 1500).max(1);
        Model {
            weights,
            schedule: Schedule::new(sequence.frames, 4),
            sample: (start..sequence.points).step_by(stride).collect(),
            hierarchy,
            source,
        }
    }

    /// Subtracts the motion of bones found in it; `None` if no bones would be used.
    fn without_bone_motion(mut self, sequence: &Sequence, tolerance: f64) -> Option<Model> {
        let radius = sequence.extent(tolerance).tolerance;
        let frames = (0..sequence.frames).flat_map(|f| sequence.frame(f).to_vec());
        let all = Trajectories::new(sequence.points, frames.collect());
        let found = bones::choose_skin(&all, radius, 4, 5, f64::INFINITY, &|_| {}, &Cancellation::never());
        let found = found.ok().flatten()?;
        for (f, frame) in self.source.iter_mut().enumerate() {
            for (at, &point) in frame.iter_mut().zip(&self.hierarchy.order) {
                let placed = found.skin.position(f, point as usize) / radius;
                for (x, placed) in at.iter_mut().zip(placed.to_array()) {
                    *x -= placed as f32;
                }
            }
        }
        Some(self)
    }

    /// Returns the bits per vertex and frame of keys, and of all frames except frame 0.
    fn bits(&self, extra: ExtraPredictor) -> [f64; 2] {
        let s = &self.schedule;
        let mut done: Vec<Frame> = vec![Vec::new(); self.source.len()];
        // Frame 0 is the same for all predictors.
        let round = |x: f32| (x / (2.0 * HALF)).round() * 2.0 * HALF;
        done[0] = self.source[0].iter().map(|p| p.map(round)).collect();
        let mut frames: Vec<u32> = (0..s.keys()).map(|k| s.key_frame(k)).collect();
        for group in 0..s.groups() {
            let inside = s.key_frame(group) + 1..s.key_frame(group + 1);
            let mut inside: Vec<u32> = inside.collect();
            inside.sort_by_key(|&f| (s.depth(f), f));
            frames.extend(inside);
        }
        let basis = match extra {
            ExtraPredictor::Rank(rank) => self.spread(rank),
            ExtraPredictor::Library(most) | ExtraPredictor::Instead(most) => self.library(most),
            _ => Vec::new(),
        };
        if !basis.is_empty() {
            frames.retain(|f| !basis.contains(f));
            frames.splice(0..0, basis.iter().copied());
        }
        let mut coder = Coder::default();
        let mut bits = [0.0; 2];
        for f in frames {
            if f == 0 {
                continue;
            }
            let key = s.key_of(f).is_some();
            let mut references = s.references(f).to_vec();
            let first = matches!(extra, ExtraPredictor::Library(_) | ExtraPredictor::Instead(_))
                && basis.contains(&f);
            if first || matches!(extra, ExtraPredictor::Rank(_)) {
                let known = |r: &u32| !done[*r as usize].is_empty();
                references = basis.iter().copied().filter(known).collect();
            }
            let more: Vec<u32> = match extra {
                ExtraPredictor::Cycle if key => (0..f).filter(|&o| s.key_of(o).is_some()).collect(),
                ExtraPredictor::Library(_) | ExtraPredictor::Instead(_) if !first => basis.clone(),
                ExtraPredictor::Beginning(count) => {
                    (0..count.min(f)).filter(|&o| !done[o as usize].is_empty()).collect()
                }
                ExtraPredictor::Period => (0..f).rev().filter(|&o| !done[o as usize].is_empty()).collect(),
                _ => Vec::new(),
            };
            let full = matches!(extra, ExtraPredictor::Instead(_)) && references.len() == MAX_REFERENCES;
            if full && !first {
                references = self.replace_reference(f, &references, &more, &done);
            } else if let Some(best) = self.best_extra_reference(f, &references, &more, &done) {
                references.push(best);
            }
            if extra == ExtraPredictor::Basis && !key {
                let next = s.group_of(f) + 2;
                let keys = (0..=next.min(s.keys() - 1)).map(|k| s.key_frame(k));
                let other: Vec<u32> = keys.filter(|k| !references.contains(k)).collect();
                references.extend(other);
            }
            let (used, prediction) = self.temporal_prediction(f, &references, &done);
            let turned = extra == ExtraPredictor::Turn && key;
            let before = turned.then(|| &done[s.references(f)[0] as usize]);
            let (spent, frame) = coder.frame(self, f, prediction, before);
            // Each weight takes a byte.
            let spent = spent + 8.0 * used as f64;
            bits[1] += spent;
            if key {
                bits[0] += spent;
            }
            done[f as usize] = frame;
        }
        bits.map(|b| b / (self.source.len() * self.hierarchy.order.len()) as f64)
    }

    /// Returns evenly spread frames, in an order in which each is far from those before.
    fn spread(&self, count: usize) -> Vec<u32> {
        let frames = self.source.len();
        let mut all: Vec<u32> = (0..count).map(|n| (n * (frames - 1) / (count - 1)) as u32).collect();
        all.dedup();
        let mut out = vec![0];
        while out.len() < all.len() {
            let far = |f: &&u32| out.iter().map(|o: &u32| o.abs_diff(**f)).min();
            let next = all.iter().max_by_key(far).copied().unwrap_or(0);
            out.push(next);
        }
        out
    }

    /// Returns up to `most` keys that save most if others are predicted from one of them, too, minus the cost
    /// of coding them before their neighbours; and frame 0, which the codec keeps anyway.
    fn library(&self, most: usize) -> Vec<u32> {
        let s = &self.schedule;
        let keys: Vec<u32> = (1..s.keys()).map(|k| s.key_frame(k)).collect();
        let with =
            |f: u32, more: &[u32]| self.fit_error(f, &[&s.references(f)[..], more].concat(), &self.source);
        let by_candidate: Vec<Vec<f64>> = std::iter::once(0)
            .chain(keys.iter().copied())
            .map(|c| {
                let refers = |f: u32| f != c && !s.references(f).contains(&c);
                let left = |&f: &u32| if refers(f) { with(f, &[c]) } else { f64::INFINITY };
                keys.iter().map(left).collect()
            })
            .collect();
        let alone = keys.iter().map(|&f| with(f, &[]));
        let mut least: Vec<f64> = alone.zip(&by_candidate[0]).map(|(own, &first)| own.min(first)).collect();
        let mut out = vec![0];
        while out.len() <= most {
            let gain = |i: usize| {
                let saved = least.iter().zip(&by_candidate[i + 1]).map(|(now, then)| (now - then).max(0.0));
                saved.sum::<f64>() + least[i] - self.fit_error(keys[i], &out, &self.source)
            };
            let open = (0..keys.len()).filter(|&i| !out.contains(&keys[i])).map(|i| (gain(i), i));
            let Some((_, best)) = open.filter(|(gain, _)| *gain > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
            else {
                break;
            };
            for (now, then) in least.iter_mut().zip(&by_candidate[best + 1]) {
                *now = now.min(*then);
            }
            // It has been coded by now.
            least[best] = 0.0;
            out.push(keys[best]);
        }
        out
    }

    /// Returns the one of `more` with which the fit leaves the least error.
    fn best_extra_reference(&self, f: u32, references: &[u32], more: &[u32], done: &[Frame]) -> Option<u32> {
        let mut best = (self.fit_error(f, references, done), None);
        for &other in more {
            if references.contains(&other) {
                continue;
            }
            let left = self.fit_error(f, &[references, &[other]].concat(), done);
            if left < best.0 {
                best = (left, Some(other));
            }
        }
        best.1
    }

    /// Returns these references, or with one of `more` in place of the third or a later one if that leaves
    /// less error.
    fn replace_reference(&self, f: u32, references: &[u32], more: &[u32], done: &[Frame]) -> Vec<u32> {
        let others = more.iter().filter(|o| !references.contains(o));
        let with = |&other: &u32| {
            (2..references.len()).map(move |at| {
                let mut list = references.to_vec();
                list[at] = other;
                list
            })
        };
        let all = std::iter::once(references.to_vec()).chain(others.flat_map(with));
        let left = |list: Vec<u32>| (self.fit_error(f, &list, done), list);
        all.map(left).min_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(Vec::new, |(_, list)| list)
    }

    fn fit_error(&self, f: u32, references: &[u32], done: &[Frame]) -> f64 {
        self.fit(f, references, done, 1).1
    }

    /// Returns a vertex minus the weighted mean of its ring.
    fn ring_difference(&self, frame: &Frame, v: usize) -> [f32; 3] {
        let mut out = frame[v];
        for n in RING {
            let w = f32::from(self.weights.weights[v][n]) / 4096.0;
            let near = frame[self.weights.neighbours[v][n] as usize];
            (0..3).for_each(|k| out[k] -= w * near[k]);
        }
        out
    }

    /// Returns weights of references that sum to 1 and leave little detail, and approximately the bits that
    /// remain.
    fn fit(&self, f: u32, references: &[u32], done: &[Frame], rounds: u32) -> (Vec<f64>, f64) {
        let free = references.len() - 1;
        let mut w = vec![0.0; references.len()];
        w[0] = 1.0;
        let rows: Vec<Vec<[f32; 3]>> = self
            .sample
            .iter()
            .map(|&v| {
                let own = self.ring_difference(&self.source[f as usize], v);
                let of = |&r: &u32| self.ring_difference(&done[r as usize], v);
                std::iter::once(own).chain(references.iter().map(of)).collect()
            })
            .collect();
        let square = |row: &[[f32; 3]], w: &[f64]| -> f64 {
            let axis = |k: usize| {
                let sum: f64 = (0..w.len()).map(|r| w[r] * f64::from(row[r + 1][k])).sum();
                (f64::from(row[0][k]) - sum).powi(2)
            };
            axis(0) + axis(1) + axis(2)
        };
        for _ in 0..rounds {
            let mut m = vec![vec![0.0f64; free + 1]; free];
            for row in &rows {
                let x = square(row, &w).max(1e-9);
                let weight = x.min(1.0 / x);
                for k in 0..3 {
                    let d = |r: usize| f64::from(row[r][k]) - f64::from(row[1][k]);
                    for a in 0..free {
                        for b in 0..free {
                            m[a][b] += weight * d(a + 2) * d(b + 2);
                        }
                        m[a][free] += weight * d(a + 2) * d(0);
                    }
                }
            }
            for a in 0..free {
                let ridge = 1e-5 * m[a][a] + 1e-3;
                m[a][a] += ridge;
                m[a][free] += ridge * w[a + 1];
            }
            let solved = solve(m);
            w[1..].copy_from_slice(&solved);
            w[0] = 1.0 - solved.iter().sum::<f64>();
        }
        // The same estimate of an error's bits as [`meshreel_codec`].
        let bits = |row: &Vec<[f32; 3]>| {
            let x = square(row, &w);
            (1.0 + 8.0 * x * x.min(1.0).powi(5)).log2()
        };
        let left = rows.iter().map(bits).sum::<f64>();
        let scale = self.source[0].len() as f64 / self.sample.len() as f64;
        (w, left * scale + 8.0 * free as f64)
    }

    /// Returns the better of the linear and the fitted prediction in time, and its number of weights.
    fn temporal_prediction(&self, f: u32, references: &[u32], done: &[Frame]) -> (usize, Frame) {
        let (mut w, left) = self.fit(f, references, done, 4);
        let (alone, of_first) = self.fit(f, &references[..1], done, 1);
        if of_first < left {
            w = alone;
        }
        let blend = |v: usize| {
            let mut out = [0.0; 3];
            for (r, w) in references.iter().zip(&w) {
                let at = done[*r as usize][v];
                (0..3).for_each(|k| out[k] += *w as f32 * at[k]);
            }
            out
        };
        (w.len() - 1, (0..self.source[0].len()).map(blend).collect())
    }
}

fn solve(mut m: Vec<Vec<f64>>) -> Vec<f64> {
    let n = m.len();
    for p in 0..n {
        let row = m[p].clone();
        for other in m.iter_mut().skip(p + 1) {
            let f = other[p] / row[p];
            (p..=n).for_each(|c| other[c] -= f * row[c]);
        }
    }
    let mut x = vec![0.0; n];
    for p in (0..n).rev() {
        let sum: f64 = (p + 1..n).map(|c| m[p][c] * x[c]).sum();
        x[p] = (m[p][n] - sum) / m[p][p];
    }
    x
}

/// Adaptive counts of symbols by context.
#[derive(Default)]
struct Coder {
    zero: Vec<[f64; 2]>,
    axis: Vec<[f64; 18]>,
}

const NEIGHBOURS: usize = 8;

impl Coder {
    fn symbol(counts: &mut [f64], symbol: usize) -> f64 {
        let all: f64 = counts.iter().sum();
        let bits = (all / counts[symbol]).log2();
        counts[symbol] += 1.0;
        bits
    }

    /// Codes a frame from its prediction in time; returns the bits and the decoded frame. `before`: the frame
    /// from which the details of this frame may turn.
    fn frame(&mut self, model: &Model, f: u32, prediction: Frame, before: Option<&Frame>) -> (f64, Frame) {
        let contexts = 5 * NEIGHBOURS;
        self.zero.resize(contexts, [0.5; 2]);
        self.axis.resize(contexts, [0.2; 18]);
        let layer = model.schedule.depth(f) as usize;
        let target = &model.source[f as usize];
        let mut out = prediction.clone();
        let mut sizes = vec![0u32; out.len()];
        let mut bits = 0.0;
        for level in 0..model.hierarchy.level_count() {
            let range = model.hierarchy.level(level);
            // Fractions of the innovation and of the turn with the fewest bits; they take 3 bits.
            let mut best = (f64::MAX, 0.0, 0.0);
            let turns: &[f32] = if before.is_some() { &[0.0, 0.5, 1.0] } else { &[0.0] };
            for turn in turns {
                for rho in [0.25, 0.5, 0.75, 1.0] {
                    let stride = (range.len() / 200).max(1);
                    let of = |v: usize| {
                        let p = model.spatial(&prediction, &out, before, v, rho, *turn);
                        let x: f32 = (0..3).map(|k| (target[v][k] - p[k]).powi(2)).sum();
                        f64::from((1.0 + 8.0 * x * x.min(1.0).powi(3)).log2())
                    };
                    let cost = range.clone().step_by(stride).map(of).sum::<f64>();
                    if cost < best.0 {
                        best = (cost, rho, *turn);
                    }
                }
            }
            bits += if before.is_some() { 4.0 } else { 3.0 };
            for v in range {
                let p = match level {
                    0 => prediction[v],
                    _ => model.spatial(&prediction, &out, before, v, best.1, best.2),
                };
                let e = [0, 1, 2].map(|k| target[v][k] - p[k]);
                let inside = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] <= 1.0;
                let q = match inside {
                    true => [0; 3],
                    false => e.map(|e| (e / (2.0 * HALF)).round() as i32),
                };
                let near: u32 = RING.map(|n| sizes[model.weights.neighbours[v][n] as usize]).sum();
                let class = [1, 2, 4, 8, 16, 48, 160].iter().filter(|&&b| near >= b).count();
                let context = layer * NEIGHBOURS + class;
                bits += Self::symbol(&mut self.zero[context], usize::from(q != [0; 3]));
                if q != [0; 3] {
                    for a in q {
                        let size = a.unsigned_abs() as usize;
                        // From 12 on, the class sizes double.
                        let extra = (size / 12).checked_ilog2().unwrap_or(0);
                        let class = if size < 12 { size } else { 12 + extra.min(5) as usize };
                        bits += Self::symbol(&mut self.axis[context], class);
                        bits += f64::from(size > 0) + if size < 12 { 0.0 } else { f64::from(extra) + 3.6 };
                    }
                }
                sizes[v] = q.iter().map(|a| a.unsigned_abs()).sum();
                out[v] = [0, 1, 2].map(|k| p[k] + 2.0 * HALF * q[k] as f32);
            }
        }
        (bits, out)
    }
}

impl Model {
    /// Returns the prediction of a vertex: in time, by the innovation around it, and by the turn of its ring.
    fn spatial(
        &self,
        time: &Frame,
        now: &Frame,
        before: Option<&Frame>,
        v: usize,
        rho: f32,
        turn: f32,
    ) -> [f32; 3] {
        let mut p = time[v];
        let (near, w) = (self.weights.neighbours[v], self.weights.weights[v]);
        for n in RING {
            let (i, w) = (near[n] as usize, f32::from(w[n]) / 4096.0);
            (0..3).for_each(|k| p[k] += rho * w * (now[i][k] - time[i][k]));
        }
        if let (Some(before), true) = (before, turn > 0.0) {
            let detail = self.ring_difference(before, v);
            let turned = self.rotate_with_ring(before, now, v, detail);
            (0..3).for_each(|k| p[k] += turn * (turned[k] - detail[k]));
        }
        p
    }

    /// Turns a vector as the ring of a vertex has turned between two frames: Kabsch by a few rounds of
    /// Newton's iteration towards the polar factor.
    fn rotate_with_ring(&self, from: &Frame, to: &Frame, v: usize, d: [f32; 3]) -> [f32; 3] {
        let near = self.weights.neighbours[v].map(|n| n as usize);
        let used = RING.filter(|&n| self.weights.weights[v][n] != 0).count();
        if used < 3 {
            return d;
        }
        let mean = |f: &Frame| [0, 1, 2].map(|k| RING.map(|n| f[near[n]][k]).sum::<f32>() / 4.0);
        let (a, b) = (mean(from), mean(to));
        let mut m = [[0.0f32; 3]; 3];
        for n in near {
            for r in 0..3 {
                for c in 0..3 {
                    m[r][c] += (to[n][r] - b[r]) * (from[n][c] - a[c]);
                }
            }
        }
        // The rotation as a quaternion: the dominant eigenvector of Horn's matrix, by power iteration.
        let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = m;
        let horn = [
            [xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, yy - xx - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, zz - xx - yy],
        ];
        let shift: f32 = m.iter().flatten().map(|x| x.abs()).sum();
        if shift < 1e-6 {
            return d;
        }
        let mut q = [1.0f32, 0.0, 0.0, 0.0];
        for _ in 0..24 {
            let next: [f32; 4] =
                std::array::from_fn(|r| (0..4).map(|c| horn[r][c] * q[c]).sum::<f32>() + shift * q[r]);
            let length = next.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-20);
            q = next.map(|x| x / length);
        }
        let [w, u] = [[q[0]; 3], [q[1], q[2], q[3]]];
        let cross = |a: [f32; 3], b: [f32; 3]| {
            [0, 1, 2].map(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
        };
        let t = cross(u, d).map(|x| 2.0 * x);
        let s = cross(u, t);
        [0, 1, 2].map(|k| d[k] + w[k] * t[k] + s[k])
    }
}
