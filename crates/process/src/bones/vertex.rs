//! One point of a skin: the rest position and the weights that reproduce its trajectory best, for given
//! bones.

use super::linear::{add_scaled, dot, solve};
use super::space::MAX_DIMENSIONS;

/// The largest number of weights of a point while bones are sought.
pub const MAX_INFLUENCES: usize = 8;

/// The number of bones that are tried in an exchange.
const EXCHANGED_BONES: usize = 3;
/// The largest number of bones that are considered together.
const MAX_HULL_BONES: usize = MAX_INFLUENCES + 4;
/// The number of bones that are considered for a point, besides its own.
const NEAREST: usize = 14;
/// Another bone joins if the error falls by more than about this fraction.
const MIN_ERROR_GAIN: f64 = 1e-7;
/// Unknowns of a point: three coordinates and all weights but one.
const UNKNOWNS: usize = 3 + MAX_INFLUENCES - 1;

/// A point of the skin.
#[derive(Clone, Copy, Debug, Default)]
pub struct SkinVertex {
    /// Its rest position, followed by 1.
    pub rest: [f64; 4],
    /// Number of bones that move it.
    pub count: usize,
    /// The bones that move it, the first `count` of these; their weights are ≥ 0 and sum to 1.
    pub bones: [usize; MAX_INFLUENCES],
    /// The weights of `bones`.
    pub weights: [f64; MAX_INFLUENCES],
}

impl SkinVertex {
    /// Returns bones and weights.
    pub fn influences(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let pairs = self.bones.iter().zip(&self.weights).take(self.count);
        pairs.map(|(&b, &w)| (b, w))
    }

    /// Scales weights whose sum is not 1: where bones move all points alike, changes of weights are so large
    /// that they do not cancel.
    fn normalize(&mut self) {
        let weights = &mut self.weights[..self.count];
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > 1e-9 && sum > 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
    }

    /// Removes a bone; the others share its weight.
    fn remove(&mut self, i: usize) {
        let last = self.count - 1;
        self.bones.copy_within(i + 1..self.count, i);
        self.weights.copy_within(i + 1..self.count, i);
        self.count = last;
        let sum: f64 = self.weights[..last].iter().sum();
        match sum > 0.0 {
            true => self.weights[..last].iter_mut().for_each(|w| *w /= sum),
            false => self.weights[..last].fill(1.0 / last.max(1) as f64),
        }
    }

    pub fn set(&mut self, influences: &[(usize, f64)]) {
        self.count = influences.len().min(MAX_INFLUENCES);
        for (i, &(bone, weight)) in influences.iter().take(MAX_INFLUENCES).enumerate() {
            (self.bones[i], self.weights[i]) = (bone, weight);
        }
    }
}

/// Motions of all bones: four rows of each (of x, y, z and 1), each as long as the space has dimensions.
#[derive(Clone, Debug)]
pub struct BoneMotions {
    pub count: usize,
    pub dimensions: usize,
    pub rows: Vec<f64>,
}

impl BoneMotions {
    /// Creates bones that move everything to the origin.
    pub fn new(count: usize, dimensions: usize) -> BoneMotions {
        BoneMotions { count, dimensions, rows: vec![0.0; count * 4 * dimensions] }
    }

    /// Changes the number of bones.
    pub fn resize(&mut self, count: usize) {
        self.count = count;
        self.rows.resize(count * 4 * self.dimensions, 0.0);
    }

    /// Returns row `i` of a bone.
    pub fn row(&self, bone: usize, i: usize) -> &[f64] {
        &self.rows[(bone * 4 + i) * self.dimensions..][..self.dimensions]
    }

    /// Computes the position that a bone alone gives a point.
    pub fn move_point(&self, bone: usize, rest: &[f64; 4], out: &mut [f64]) {
        let ([x, y, z, one], rows) = (*rest, self.rows_of(bone, out.len()));
        for (k, out) in out.iter_mut().enumerate() {
            *out = x * rows[0][k] + y * rows[1][k] + z * rows[2][k] + one * rows[3][k];
        }
    }

    /// Returns the four rows of a bone.
    fn rows_of(&self, bone: usize, length: usize) -> [&[f64]; 4] {
        std::array::from_fn(|i| &self.row(bone, i)[..length])
    }

    /// Returns the squared distance of a point from its target.
    pub fn error(&self, vertex: &SkinVertex, target: &[f64]) -> f64 {
        let mut residual = [0.0; MAX_DIMENSIONS];
        let residual = &mut residual[..self.dimensions];
        self.residual(vertex, target, residual);
        dot(residual, residual)
    }

    /// Writes to `out` the difference between a trajectory and the vertex as moved by its bones.
    pub fn residual(&self, vertex: &SkinVertex, target: &[f64], out: &mut [f64]) {
        out.copy_from_slice(target);
        for (bone, weight) in vertex.influences() {
            let ([x, y, z, one], rows) = (vertex.rest.map(|v| -weight * v), self.rows_of(bone, out.len()));
            for (k, out) in out.iter_mut().enumerate() {
                *out += x * rows[0][k] + y * rows[1][k] + z * rows[2][k] + one * rows[3][k];
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
    /// Bones that may take part, and their distances alone.
    considered: Vec<usize>,
    far: Vec<(f64, usize)>,
}

/// Keeps, of the bones in `candidates` (whose places are in `scratch`), the [`NEAREST`] that alone come
/// nearest, and those of `vertex`: others could add next to nothing, and most of the time is proportional to
/// the square of their number.
fn keep_nearest(candidates: &[usize], vertex: &SkinVertex, d: usize, scratch: &mut Scratch) {
    let Scratch { places, considered: kept, far, .. } = scratch;
    kept.clear();
    if candidates.len() <= NEAREST + MAX_INFLUENCES {
        kept.extend_from_slice(candidates);
        return;
    }
    far.clear();
    far.extend(places.chunks_exact(d).map(|place| dot(place, place)).zip(0..));
    far.select_nth_unstable_by(NEAREST - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let rest = &mut far[NEAREST..];
    let mut all = NEAREST;
    for i in 0..rest.len() {
        if vertex.influences().any(|(bone, _)| bone == candidates[rest[i].1]) {
            rest.swap(i, all - NEAREST);
            all += 1;
        }
    }
    let chosen = &mut far[..all];
    chosen.sort_unstable_by_key(|f| f.1);
    for (to, &(_, from)) in chosen.iter().enumerate() {
        places.copy_within(from * d..(from + 1) * d, to * d);
        kept.push(candidates[from]);
    }
}

/// Finds the weights of at most `most` of the bones in `candidates` that come nearest to `target`, for a
/// fixed rest position.
pub fn choose_weights(
    bones: &BoneMotions,
    vertex: &mut SkinVertex,
    target: &[f64],
    candidates: &[usize],
    most: usize,
    scratch: &mut Scratch,
) {
    let d = bones.dimensions;
    scratch.places.resize(candidates.len() * d, 0.0);
    for (place, &bone) in scratch.places.chunks_exact_mut(d).zip(candidates) {
        bones.move_point(bone, &vertex.rest, place);
        for (v, x) in place.iter_mut().zip(target) {
            *v -= x;
        }
    }
    keep_nearest(candidates, vertex, d, scratch);
    let candidates = &scratch.considered[..];
    let n = candidates.len();
    scratch.gram.resize(n * n, 0.0);
    for i in 0..n {
        for j in 0..=i {
            let s = dot(&scratch.places[i * d..][..d], &scratch.places[j * d..][..d]);
            scratch.gram[i * n + j] = s;
            scratch.gram[j * n + i] = s;
        }
    }
    let gram = &scratch.gram[..n * n];
    // Starts from its present bones, if all of them may be kept.
    let own = |(bone, weight): (usize, f64)| {
        let at = candidates.iter().position(|&c| c == bone)?;
        Some((at, weight))
    };
    let mut start: Vec<(usize, f64)> = vertex.influences().filter_map(own).collect();
    if start.len() < vertex.count {
        start.clear();
    }
    let mut chosen = start.clone();
    nearest_in_hull(gram, n, most, &mut chosen);
    let mut error = norm(gram, n, &chosen);
    if !start.is_empty() && start.len() <= most {
        shrink(gram, n, &mut start);
        let own = norm(gram, n, &start);
        if own < error {
            (chosen, error) = (start, own);
        }
    }
    exchange(gram, n, most, &mut chosen, error);
    let list: Vec<(usize, f64)> = chosen.iter().map(|&(i, w)| (candidates[i], w)).collect();
    let mut found = *vertex;
    found.set(&list);
    let keep = vertex.count > 0 && vertex.count <= most;
    if !keep || bones.error(&found, target) < bones.error(vertex, target) {
        *vertex = found;
    }
}

/// Returns the squared length of a point of the hull.
fn norm(gram: &[f64], n: usize, chosen: &[(usize, f64)]) -> f64 {
    let along = |j: usize| -> f64 { chosen.iter().map(|&(i, w)| w * gram[j * n + i]).sum() };
    chosen.iter().map(|&(i, w)| w * along(i)).sum()
}

/// Exchanges one bone for another, among those that pull most, if that comes nearer.
fn exchange(gram: &[f64], n: usize, most: usize, chosen: &mut Vec<(usize, f64)>, error: f64) {
    let along = |j: usize| -> f64 { chosen.iter().map(|&(i, w)| w * gram[j * n + i]).sum() };
    let open = (0..n).filter(|j| !chosen.iter().any(|c| c.0 == *j));
    // The gain of a mix with this bone alone.
    let pull = |j: usize| {
        let along = along(j);
        let (gain, square) = (error - along, error - 2.0 * along + gram[j * n + j]);
        match gain > 0.0 && square > 0.0 {
            true => gain * gain / square,
            false => 0.0,
        }
    };
    let mut pulls = [(0.0, 0); EXCHANGED_BONES];
    for j in open {
        let pull = pull(j);
        let at = pulls.partition_point(|p| p.0 >= pull);
        if at < EXCHANGED_BONES {
            pulls[at..].rotate_right(1);
            pulls[at] = (pull, j);
        }
    }
    let mut best = error * (1.0 - 1e-6);
    let mut found = None;
    for (_, j) in pulls.into_iter().filter(|p| p.0 > 0.0) {
        let mut trial = chosen.clone();
        trial.push((j, 0.0));
        shrink(gram, n, &mut trial);
        prune(gram, n, most, &mut trial);
        let after = norm(gram, n, &trial);
        if after < best {
            (found, best) = (Some(trial), after);
        }
    }
    if let Some(found) = found {
        *chosen = found;
    }
}

/// Removes the smallest weights until only `most` are left.
fn prune(gram: &[f64], n: usize, most: usize, chosen: &mut Vec<(usize, f64)>) {
    while chosen.len() > most.max(1) {
        let least = (1..chosen.len()).fold(0, |best, i| if chosen[i].1 < chosen[best].1 { i } else { best });
        chosen.remove(least);
        let sum: f64 = chosen.iter().map(|c| c.1).sum();
        chosen.iter_mut().for_each(|c| c.1 /= sum);
        shrink(gram, n, chosen);
    }
}

/// Finds the point of the convex hull of n points that is nearest to the origin, from their products: at most
/// `most` points and their weights.
///
/// Credit: P. Wolfe, Finding the nearest point in a polytope, 1976.
fn nearest_in_hull(gram: &[f64], n: usize, most: usize, chosen: &mut Vec<(usize, f64)>) {
    if chosen.is_empty() {
        let own = |i: usize| gram[i * n + i];
        let first = (1..n).fold(0, |best, i| if own(i) < own(best) { i } else { best });
        chosen.push((first, 1.0));
    } else {
        shrink(gram, n, chosen);
    }
    for _ in 0..3 * n {
        let along = |j: usize| chosen.iter().map(|&(i, w)| w * gram[j * n + i]).sum::<f64>();
        let value: f64 = chosen.iter().map(|&(i, w)| w * along(i)).sum();
        let open = (0..n).filter(|j| !chosen.iter().any(|c| c.0 == *j));
        let best = open.map(|j| (along(j), j)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((gain, j)) = best else { break };
        if gain >= value * (1.0 - MIN_ERROR_GAIN) || chosen.len() >= MAX_HULL_BONES {
            break;
        }
        chosen.push((j, 0.0));
        shrink(gram, n, chosen);
    }
    prune(gram, n, most, chosen);
}

/// Moves to the nearest point of the affine hull of the chosen points, and removes those that would get a
/// negative weight on the way.
fn shrink(gram: &[f64], n: usize, chosen: &mut Vec<(usize, f64)>) {
    while chosen.len() > 1 {
        let k = chosen.len();
        let (mut a, mut w) = ([0.0; MAX_HULL_BONES * MAX_HULL_BONES], [1.0; MAX_HULL_BONES]);
        let mut trace = 0.0;
        for (r, &(i, _)) in chosen.iter().enumerate() {
            for (c, &(j, _)) in chosen.iter().enumerate() {
                a[r * k + c] = gram[i * n + j];
            }
            trace += gram[i * n + i];
        }
        (0..k).for_each(|r| a[r * k + r] += trace * 1e-14 + f64::MIN_POSITIVE);
        let solved = solve(&mut a, k, &mut w);
        let w = &mut w[..k];
        let sum: f64 = match solved {
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
            chosen.iter_mut().zip(&*w).for_each(|(c, &w)| c.1 = w);
            return;
        }
        // Until the first weight reaches zero; that one is removed.
        let mut step = (1.0, 0);
        for (i, (c, &w)) in chosen.iter().zip(&*w).enumerate() {
            if w <= 1e-6 {
                let part = c.1 / (c.1 - w).max(f64::MIN_POSITIVE);
                if part <= step.0 {
                    step = (part, i);
                }
            }
        }
        for (c, &w) in chosen.iter_mut().zip(&*w) {
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

/// Writes to `out` the directions in which the position of a point changes with its rest position and
/// weights; returns their number. Bones without weight are ignored.
pub fn directions(bones: &BoneMotions, vertex: &SkinVertex, out: &mut Vec<f64>) -> usize {
    let d = bones.dimensions;
    out.clear();
    out.resize((vertex.count + 2) * d, 0.0);
    let (turns, places) = out.split_at_mut(3 * d);
    for (bone, weight) in vertex.influences() {
        for (i, turn) in turns.chunks_exact_mut(d).enumerate() {
            add_scaled(turn, weight, bones.row(bone, i));
        }
    }
    // Weight moves from the first bone to another one: x_b − x_0, linear in the difference of their rows.
    for (place, &bone) in places.chunks_exact_mut(d).zip(&vertex.bones[1..]) {
        for (i, &v) in vertex.rest.iter().enumerate() {
            let (own, first) = (bones.row(bone, i), bones.row(vertex.bones[0], i));
            for ((place, own), first) in place.iter_mut().zip(own).zip(first) {
                *place += v * (own - first);
            }
        }
    }
    vertex.count + 2
}

/// Makes Gauss–Newton steps for rest position and weights together, at most `rounds`, as long as weights stay
/// positive and each brings the point nearer to `target`. Bones whose weight falls to zero are removed.
pub fn settle(
    bones: &BoneMotions,
    vertex: &mut SkinVertex,
    target: &[f64],
    rounds: usize,
    scratch: &mut Scratch,
) {
    let d = bones.dimensions;
    scratch.residual.resize(d, 0.0);
    bones.residual(vertex, target, &mut scratch.residual);
    let mut error = dot(&scratch.residual, &scratch.residual);
    let mut left = rounds;
    while left > 0 {
        let m = directions(bones, vertex, &mut scratch.columns);
        let (mut a, mut b) = ([0.0; UNKNOWNS * UNKNOWNS], [0.0; UNKNOWNS]);
        for i in 0..m {
            let column = &scratch.columns[i * d..][..d];
            b[i] = dot(column, &scratch.residual);
            for j in 0..=i {
                a[i * m + j] = dot(column, &scratch.columns[j * d..][..d]);
            }
        }
        for i in 0..m {
            a[i * m + i] = a[i * m + i] * (1.0 + 1e-7) + f64::MIN_POSITIVE;
        }
        if !solve(&mut a[..m * m], m, &mut b[..m]) {
            return;
        }
        // The first bone gives the weight that the others take.
        let mut change = [0.0; MAX_INFLUENCES];
        change[1..vertex.count].copy_from_slice(&b[3..m]);
        change[0] = -b[3..m].iter().sum::<f64>();
        let mut step = 1.0f64;
        let mut out = None;
        for i in 0..vertex.count {
            let (w, c) = (vertex.weights[i], change[i]);
            if w + c < 0.0 && -w / c < step {
                (step, out) = (-w / c, Some(i));
            }
        }
        let mut moved = *vertex;
        (0..3).for_each(|i| moved.rest[i] += step * b[i]);
        (0..vertex.count).for_each(|i| moved.weights[i] = (moved.weights[i] + step * change[i]).max(0.0));
        moved.normalize();
        if let Some(i) = out {
            moved.remove(i);
        }
        bones.residual(&moved, target, &mut scratch.residual);
        let after = dot(&scratch.residual, &scratch.residual);
        if after > error || after.is_nan() {
            return;
        }
        let little = after > error * (1.0 - 1e-3);
        (*vertex, error) = (moved, after);
        match out {
            // The rest of the step, without that bone.
            Some(_) => {}
            None if little => return,
            None => left -= 1,
        }
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
            let mut found = Vec::new();
            nearest_in_hull(&gram, n, n, &mut found);
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
