//! One point of a skin: the place in the rest pose and the weights that reproduce its trajectory best, for given bones.

use super::linear::{add_scaled, dot, solve};

/// Weights of a point while bones are sought, at most.
pub const MOST: usize = 8;

/// A point of the skin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vertex {
    /// In the rest pose; 1 behind it.
    pub rest: [f64; 4],
    /// How many bones move it.
    pub count: usize,
    /// Which, and how much; weights are ≥ 0 and their sum is 1.
    pub bones: [usize; MOST],
    /// See `bones`.
    pub weights: [f64; MOST],
}

impl Vertex {
    /// Bones and weights.
    pub fn influences(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let pairs = self.bones.iter().zip(&self.weights).take(self.count);
        pairs.map(|(&b, &w)| (b, w))
    }

    pub fn set(&mut self, influences: &[(usize, f64)]) {
        self.count = influences.len().min(MOST);
        for (i, &(bone, weight)) in influences.iter().take(MOST).enumerate() {
            (self.bones[i], self.weights[i]) = (bone, weight);
        }
    }
}

/// Motions of all bones: of each four rows (of x, y, z and 1), each as long as the space has dimensions.
#[derive(Clone, Debug)]
pub struct Bones {
    pub count: usize,
    pub dimensions: usize,
    pub rows: Vec<f64>,
}

impl Bones {
    /// Row `i` of a bone.
    pub fn row(&self, bone: usize, i: usize) -> &[f64] {
        &self.rows[(bone * 4 + i) * self.dimensions..][..self.dimensions]
    }

    /// Where a bone alone would put a point.
    pub fn place(&self, bone: usize, rest: &[f64; 4], out: &mut [f64]) {
        out.fill(0.0);
        for (i, &v) in rest.iter().enumerate() {
            add_scaled(out, v, self.row(bone, i));
        }
    }

    /// What is left of a trajectory.
    pub fn residual(&self, vertex: &Vertex, target: &[f64], out: &mut [f64]) {
        out.copy_from_slice(target);
        for (bone, weight) in vertex.influences() {
            for (i, &v) in vertex.rest.iter().enumerate() {
                add_scaled(out, -weight * v, self.row(bone, i));
            }
        }
    }
}

/// Buffers of one thread.
#[derive(Default)]
pub struct Scratch {
    places: Vec<f64>,
    gram: Vec<f64>,
    columns: Vec<f64>,
    residual: Vec<f64>,
}

/// The weights of at most `most` of the bones in `candidates` that come nearest to `target`, for a fixed place in the rest pose.
pub fn weigh(
    bones: &Bones,
    vertex: &mut Vertex,
    target: &[f64],
    candidates: &[usize],
    most: usize,
    scratch: &mut Scratch,
) {
    let (n, d) = (candidates.len(), bones.dimensions);
    scratch.places.resize(n * d, 0.0);
    for (place, &bone) in scratch.places.chunks_exact_mut(d).zip(candidates) {
        bones.place(bone, &vertex.rest, place);
        for (v, x) in place.iter_mut().zip(target) {
            *v -= x;
        }
    }
    scratch.gram.resize(n * n, 0.0);
    for i in 0..n {
        for j in 0..=i {
            let s = dot(&scratch.places[i * d..][..d], &scratch.places[j * d..][..d]);
            scratch.gram[i * n + j] = s;
            scratch.gram[j * n + i] = s;
        }
    }
    let chosen = nearest_in_hull(&scratch.gram[..n * n], n, most);
    let list: Vec<(usize, f64)> = chosen.iter().map(|&(i, w)| (candidates[i], w)).collect();
    vertex.set(&list);
}

/// The point of the convex hull of n points nearest to the origin, of their products: which points, and their weights; at most `most`.
///
/// Credit: P. Wolfe, Finding the nearest point in a polytope, 1976.
fn nearest_in_hull(gram: &[f64], n: usize, most: usize) -> Vec<(usize, f64)> {
    let first = (1..n).fold(0, |best, i| {
        if gram[i * n + i] < gram[best * n + best] {
            i
        } else {
            best
        }
    });
    let mut chosen = vec![(first, 1.0)];
    for _ in 0..3 * n {
        let along = |j: usize| {
            chosen
                .iter()
                .map(|&(i, w)| w * gram[j * n + i])
                .sum::<f64>()
        };
        let value: f64 = chosen.iter().map(|&(i, w)| w * along(i)).sum();
        let open = (0..n).filter(|j| !chosen.iter().any(|c| c.0 == *j));
        let best = open
            .map(|j| (along(j), j))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((gain, j)) = best else { break };
        if gain >= value * (1.0 - 1e-7) || chosen.len() >= MOST + 4 {
            break;
        }
        chosen.push((j, 0.0));
        shrink(gram, n, &mut chosen);
    }
    while chosen.len() > most.max(1) {
        let least = (1..chosen.len()).fold(0, |best, i| {
            if chosen[i].1 < chosen[best].1 {
                i
            } else {
                best
            }
        });
        chosen.remove(least);
        let sum: f64 = chosen.iter().map(|c| c.1).sum();
        chosen.iter_mut().for_each(|c| c.1 /= sum);
        shrink(gram, n, &mut chosen);
    }
    chosen
}

/// Moves to the nearest point of the affine hull of those chosen, and on the way leaves those out that would get a negative weight.
fn shrink(gram: &[f64], n: usize, chosen: &mut Vec<(usize, f64)>) {
    while chosen.len() > 1 {
        let k = chosen.len();
        let mut a = vec![0.0; k * k];
        let mut trace = 0.0;
        for (r, &(i, _)) in chosen.iter().enumerate() {
            for (c, &(j, _)) in chosen.iter().enumerate() {
                a[r * k + c] = gram[i * n + j];
            }
            trace += gram[i * n + i];
        }
        (0..k).for_each(|r| a[r * k + r] += trace * 1e-10 + f64::MIN_POSITIVE);
        let mut w = vec![1.0; k];
        let sum: f64 = match solve(&mut a, k, &mut w) {
            true => w.iter().sum(),
            false => 0.0,
        };
        if sum.is_nan() || sum <= 0.0 {
            // All in one place: any of them will do.
            chosen.truncate(k - 1);
            let sum: f64 = chosen.iter().map(|c| c.1).sum();
            match sum > 0.0 {
                true => chosen.iter_mut().for_each(|c| c.1 /= sum),
                false => chosen[0].1 = 1.0,
            }
            continue;
        }
        w.iter_mut().for_each(|w| *w /= sum);
        if w.iter().all(|&w| w > 1e-6) {
            chosen.iter_mut().zip(&w).for_each(|(c, &w)| c.1 = w);
            return;
        }
        // As far as all stay above zero; the first that does not goes.
        let mut step = (1.0, 0);
        for (i, (c, &w)) in chosen.iter().zip(&w).enumerate() {
            if w <= 1e-6 {
                let part = c.1 / (c.1 - w).max(f64::MIN_POSITIVE);
                if part <= step.0 {
                    step = (part, i);
                }
            }
        }
        for (c, &w) in chosen.iter_mut().zip(&w) {
            c.1 += (w - c.1) * step.0;
        }
        chosen.remove(step.1);
        let sum: f64 = chosen.iter().map(|c| c.1.max(0.0)).sum();
        match sum > 0.0 {
            true => chosen.iter_mut().for_each(|c| c.1 = c.1.max(0.0) / sum),
            false => {
                chosen.iter_mut().for_each(|c| c.1 = 0.0);
                chosen[0].1 = 1.0;
            }
        }
    }
    if let [only] = &mut chosen[..] {
        only.1 = 1.0;
    }
}

/// Directions in which the place of a point changes with its rest position and weights, side by side in `out`; how many.
pub fn directions(bones: &Bones, vertex: &Vertex, out: &mut Vec<f64>) -> usize {
    let d = bones.dimensions;
    out.clear();
    for i in 0..3 {
        let start = out.len();
        out.resize(start + d, 0.0);
        for (bone, weight) in vertex.influences() {
            add_scaled(&mut out[start..], weight, bones.row(bone, i));
        }
    }
    if vertex.count > 1 {
        let mut first = vec![0.0; d];
        bones.place(vertex.bones[0], &vertex.rest, &mut first);
        for &bone in &vertex.bones[1..vertex.count] {
            let start = out.len();
            out.resize(start + d, 0.0);
            bones.place(bone, &vertex.rest, &mut out[start..]);
            add_scaled(&mut out[start..], -1.0, &first);
        }
    }
    out.len() / d.max(1)
}

/// One step of Gauss and Newton for rest position and weights together, if it brings the point nearer to `target`.
pub fn refine(bones: &Bones, vertex: &mut Vertex, target: &[f64], scratch: &mut Scratch) {
    let d = bones.dimensions;
    let m = directions(bones, vertex, &mut scratch.columns);
    scratch.residual.resize(d, 0.0);
    bones.residual(vertex, target, &mut scratch.residual);
    let before = dot(&scratch.residual, &scratch.residual);
    let mut a = vec![0.0; m * m];
    let mut b = vec![0.0; m];
    for i in 0..m {
        let column = &scratch.columns[i * d..][..d];
        b[i] = dot(column, &scratch.residual);
        for j in 0..=i {
            let s = dot(column, &scratch.columns[j * d..][..d]);
            a[i * m + j] = s;
            a[j * m + i] = s;
        }
    }
    for i in 0..m {
        a[i * m + i] = a[i * m + i] * (1.0 + 1e-6) + f64::MIN_POSITIVE;
    }
    if !solve(&mut a, m, &mut b) {
        return;
    }
    let mut moved = *vertex;
    let mut first = vertex.weights[0];
    for (i, &step) in b.iter().enumerate() {
        match i {
            0..3 => moved.rest[i] += step,
            _ => {
                moved.weights[i - 2] += step;
                first -= step;
            }
        }
    }
    moved.weights[0] = first;
    let used = &mut moved.weights[..vertex.count];
    used.iter_mut().for_each(|w| *w = w.max(0.0));
    let sum: f64 = used.iter().sum();
    if sum.is_nan() || sum <= 0.0 {
        return;
    }
    used.iter_mut().for_each(|w| *w /= sum);
    bones.residual(&moved, target, &mut scratch.residual);
    if dot(&scratch.residual, &scratch.residual) < before {
        *vertex = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// No other point of the hull, of many tried, is nearer.
        #[test]
        fn the_nearest_in_the_hull_is_the_nearest(points in proptest::collection::vec(any::<[i8; 3]>(), 1..9), tries in any::<[u8; 9]>()) {
            let n = points.len();
            let points: Vec<[f64; 3]> = points.iter().map(|p| p.map(|v| f64::from(v) / 16.0)).collect();
            let gram: Vec<f64> = (0..n * n).map(|i| dot(&points[i / n], &points[i % n])).collect();
            let found = nearest_in_hull(&gram, n, n);
            let at = |weights: &[(usize, f64)]| {
                let mut at = [0.0; 3];
                weights.iter().for_each(|&(i, w)| add_scaled(&mut at, w, &points[i]));
                dot(&at, &at)
            };
            let sum: f64 = found.iter().map(|f| f.1).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9 && found.iter().all(|f| f.1 >= 0.0));
            let total: f64 = tries[..n].iter().map(|&t| f64::from(t)).sum::<f64>() + 1e-9;
            let other: Vec<(usize, f64)> = (0..n).map(|i| (i, (f64::from(tries[i]) + 1e-9 / n as f64) / total)).collect();
            prop_assert!(at(&found) <= at(&other) + 1e-4, "{} {}", at(&found), at(&other));
        }
    }
}
