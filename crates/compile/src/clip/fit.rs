//! One sub-track into keys.
//!
//! *Insertion*: the first and the last sample are keys; where the spline is farthest off, beyond the
//! tolerance, that sample becomes one, until it is nowhere. *Leaving out*: a key goes where the keys around
//! it can be moved so that all still holds. They need not lie on samples: their values are those of least
//! squares, in which each sample counts the more the farther it was off (Lawson's way to the smallest largest
//! error). Again and again, until none can go.
//!
//! Credit: C. L. Lawson, *Contributions to the theory of linear least maximum approximation*, 1961.

use meshreel_codec::clip::curve::{Knots, Window, unit};

/// A sub-track, and what may be done with it.
pub struct Track<'a> {
    /// By sample its value; rotations with neighbours on one side, see [`align`].
    pub values: &'a [[f32; 4]],
    pub rotation: bool,
    pub knots: Knots,
    /// Gives a value as it is decoded after it was stored.
    pub stored: &'a dyn Fn([f32; 4]) -> [f32; 4],
    /// Gives the error of a value at a sample, as a part of what is allowed.
    pub off: &'a dyn Fn(usize, [f32; 4]) -> f64,
    /// Gives up with more keys than this.
    pub most: usize,
}

/// Sample and value.
pub type Keys = Vec<(u16, [f32; 4])>;

/// Keys on either side of one that goes which may move.
const REACH: usize = 3;
/// As far on either side it matters for other keys when one has gone: what moves, what they move, and
/// tangents.
const NEAR: usize = 2 * REACH + 4;
/// Rounds of least squares around one key.
const ROUNDS: usize = 5;
/// Times that all keys are tried.
const PASSES: usize = 4;

/// Gives every quaternion the sign that is nearer to the one before.
pub fn align(values: &mut [[f32; 4]]) {
    for i in 1..values.len() {
        let dot: f32 = (0..4).map(|k| values[i - 1][k] * values[i][k]).sum();
        if dot < 0.0 {
            values[i] = values[i].map(|v| -v);
        }
    }
}

impl Track<'_> {
    /// Keys, and whether they hold everywhere.
    pub fn fit(&self, plain: bool) -> (Keys, bool) {
        let mut keys = self.inserted();
        if !plain && keys.len() <= self.most {
            let mut open = vec![true; keys.len()];
            for _ in 0..PASSES {
                let before = keys.len();
                self.leave_out(&mut keys, &mut open);
                if keys.len() == before {
                    break;
                }
            }
        }
        let holds =
            (self.decode(&keys).into_iter().enumerate()).all(|(i, value)| (self.off)(i, value) <= 1.0);
        (keys, holds)
    }

    /// Value at each sample.
    pub fn decode(&self, keys: &Keys) -> Vec<[f32; 4]> {
        let mut out = Vec::with_capacity(self.values.len());
        let kept = self.kept(keys);
        for span in 0..keys.len() - 1 {
            let window = window(keys, &kept, 0, span);
            out.extend((keys[span].0..keys[span + 1].0).map(|time| self.at(&window, time)));
        }
        let last = keys.len() - 2;
        out.push(self.at(&window(keys, &kept, 0, last), keys[last + 1].0));
        out
    }

    /// Values of keys as they are decoded.
    fn kept(&self, keys: &[(u16, [f32; 4])]) -> Vec<[f32; 4]> {
        keys.iter().map(|key| (self.stored)(key.1)).collect()
    }

    fn at(&self, window: &Window, time: u16) -> [f32; 4] {
        window.at(f32::from(time), self.knots, self.rotation)
    }

    /// The sample of a span that is farthest off, and how far; the first of the span counts to it, the last
    /// one too.
    fn worst(&self, keys: &Keys, kept: &[[f32; 4]], span: usize) -> (f64, u16) {
        let window = window(keys, kept, 0, span);
        let off = |time: u16| ((self.off)(usize::from(time), self.at(&window, time)), time);
        (keys[span].0..=keys[span + 1].0)
            .map(off)
            .fold((0.0, 0), |worst, one| if one.0 > worst.0 { one } else { worst })
    }

    fn key(&self, time: u16) -> (u16, [f32; 4]) {
        (time, self.values[usize::from(time)])
    }

    /// The worst sample of all that is not a key, again and again.
    fn inserted(&self) -> Keys {
        let last = (self.values.len() - 1) as u16;
        let mut keys = vec![self.key(0), self.key(last)];
        let mut kept = self.kept(&keys);
        // Per span; those of which all samples are keys count as good, there is nothing to add.
        let worst = |keys: &Keys, kept: &[[f32; 4]], span: usize| {
            let (off, time) = self.worst(keys, kept, span);
            let inside = keys[span].0 < time && time < keys[span + 1].0;
            match (inside, keys[span + 1].0 - keys[span].0) {
                (true, _) => (off, time),
                (_, 0 | 1) => (0.0, 0),
                // A key is the worst: its bits are too few, which a key beside it does not change.
                (false, _) => self.worst_inside(keys, kept, span),
            }
        };
        let mut errors = vec![worst(&keys, &kept, 0)];
        loop {
            let most = (0..errors.len()).fold(0, |best, i| match errors[i].0 > errors[best].0 {
                true => i,
                false => best,
            });
            let (off, time) = errors[most];
            if off <= 1.0 || keys.len() > self.most {
                return keys;
            }
            let key = self.key(time);
            keys.insert(most + 1, key);
            kept.insert(most + 1, (self.stored)(key.1));
            errors.insert(most + 1, (0.0, 0));
            // Tangents reach one span farther.
            let spans = most.saturating_sub(1)..(most + 3).min(errors.len());
            spans.for_each(|span| errors[span] = worst(&keys, &kept, span));
        }
    }

    fn worst_inside(&self, keys: &Keys, kept: &[[f32; 4]], span: usize) -> (f64, u16) {
        let window = window(keys, kept, 0, span);
        (keys[span].0 + 1..keys[span + 1].0)
            .map(|time| ((self.off)(usize::from(time), self.at(&window, time)), time))
            .fold((0.0, 0), |worst, one| if one.0 > worst.0 { one } else { worst })
    }

    /// Leaves out keys as long as all holds. `open`: those for which nothing around has been the same before.
    fn leave_out(&self, keys: &mut Keys, open: &mut Vec<bool>) {
        let mut i = 1;
        while i + 1 < keys.len() {
            if !open[i] {
                i += 1;
                continue;
            }
            let from = i.saturating_sub(REACH);
            let to = (i + REACH).min(keys.len() - 1);
            let around: Vec<(u16, [f32; 4])> = keys[from..=to].to_vec();
            keys.remove(i);
            if self.refit(keys, from, to) {
                open.remove(i);
                let near = i.saturating_sub(NEAR)..(i + NEAR).min(open.len());
                open[near].fill(true);
                continue;
            }
            keys.splice(from..to, around);
            open[i] = false;
            i += 1;
        }
    }

    /// Moves the keys `from .. to` so that all holds that depends on them; false where that does not come
    /// about.
    fn refit(&self, keys: &mut Keys, from: usize, to: usize) -> bool {
        let spans = from.saturating_sub(2)..(to + 1).min(keys.len() - 1);
        let first = usize::from(keys[spans.start].0);
        let last = usize::from(keys[spans.end].0);
        let mut counts = vec![1.0f64; last + 1 - first];
        for round in 0..=ROUNDS {
            let mut worst = 0.0f64;
            let mut offs = vec![0.0f64; counts.len()];
            // Those that the windows of these spans have.
            let around = spans.start.saturating_sub(1);
            let kept = self.kept(&keys[around..(spans.end + 2).min(keys.len())]);
            for span in spans.clone() {
                let window = window(keys, &kept, around, span);
                for time in keys[span].0..=keys[span + 1].0 {
                    let off = (self.off)(usize::from(time), self.at(&window, time));
                    let slot = &mut offs[usize::from(time) - first];
                    *slot = slot.max(off);
                    worst = worst.max(off);
                }
            }
            if worst <= 1.0 {
                return true;
            }
            // What is far from holding will not.
            if round == ROUNDS || worst > HOPELESS || worst.is_nan() {
                return false;
            }
            if round > 0 {
                for (count, off) in counts.iter_mut().zip(&offs) {
                    *count *= (off / worst).max(0.02);
                }
            }
            let solved = self.solve(keys, (from, to), spans.clone(), &counts);
            let Some(values) = solved else { return false };
            for (key, value) in keys[from..to].iter_mut().zip(values) {
                key.1 = value;
            }
        }
        false
    }

    /// Values of the keys `from .. to` by least squares over some spans, those around them as they are.
    fn solve(
        &self,
        keys: &Keys,
        (from, to): (usize, usize),
        spans: std::ops::Range<usize>,
        counts: &[f64],
    ) -> Option<Vec<[f32; 4]>> {
        let mut system = Banded::new(to - from);
        let first = usize::from(keys[spans.start].0);
        for span in spans {
            let shape = self.shape(keys, span);
            for time in keys[span].0..keys[span + 1].0 {
                let weights = shape.at(f32::from(time), self.knots, false).map(f64::from);
                let i = usize::from(time);
                let mut rest = self.values[i].map(f64::from);
                let mut free = [0.0; 4];
                let mut start = None;
                for (k, weight) in weights.into_iter().enumerate() {
                    let Some(at) = (span + k).checked_sub(1).filter(|at| *at < keys.len()) else {
                        continue;
                    };
                    if (from..to).contains(&at) {
                        free[at - from - *start.get_or_insert(at - from)] = weight;
                    } else {
                        let value = (self.stored)(keys[at].1);
                        let sign = self.side(value, i);
                        (rest.iter_mut().zip(value))
                            .for_each(|(rest, v)| *rest -= weight * sign * f64::from(v));
                    }
                }
                if let Some(start) = start {
                    system.add(start, &free, &rest, counts[i - first]);
                }
            }
        }
        let values = system.solve()?;
        Some(values.into_iter().map(|v| if self.rotation { unit(v) } else { v }).collect())
    }

    /// Stored rotations have any sign: that of the sample's side.
    fn side(&self, value: [f32; 4], sample: usize) -> f64 {
        let dot: f32 = (0..4).map(|k| value[k] * self.values[sample][k]).sum();
        if self.rotation && dot < 0.0 { -1.0 } else { 1.0 }
    }

    /// A window whose value at a time is what its four keys count for: the spline is linear in their values.
    fn shape(&self, keys: &Keys, span: usize) -> Window {
        let mut window = Window { ends: [span > 0, span + 2 < keys.len()], ..Window::default() };
        for k in 0..4 {
            window.times[k] = keys[(span + k).saturating_sub(1).min(keys.len() - 1)].0;
            window.values[k][k] = 1.0;
        }
        window
    }
}

/// The keys around a span; `kept`: values as they are decoded of the keys from number `from` on.
fn window(keys: &Keys, kept: &[[f32; 4]], from: usize, span: usize) -> Window {
    let mut window = Window { ends: [span > 0, span + 2 < keys.len()], ..Window::default() };
    for k in 0..4 {
        let at = (span + k).saturating_sub(1).min(keys.len() - 1);
        (window.times[k], window.values[k]) = (keys[at].0, kept[at - from]);
    }
    window
}

/// Off by more than this many tolerances.
const HOPELESS: f64 = 6.0;

/// Normal equations in which unknowns are at most three apart.
struct Banded {
    /// Row i: its products with i … i + 3.
    rows: Vec<[f64; 4]>,
    right: Vec<[f64; 4]>,
}

impl Banded {
    fn new(n: usize) -> Banded {
        Banded { rows: vec![[0.0; 4]; n], right: vec![[0.0; 4]; n] }
    }

    /// Σ weightₖ · unknown(first + k) should be `value`; it counts `count`.
    fn add(&mut self, first: usize, weights: &[f64; 4], value: &[f64; 4], count: f64) {
        for (i, a) in weights.iter().enumerate() {
            let Some(row) = self.rows.get_mut(first + i) else {
                return;
            };
            for (k, b) in weights[i..].iter().enumerate() {
                row[k] += count * a * b;
            }
            for (sum, v) in self.right[first + i].iter_mut().zip(value) {
                *sum += count * a * v;
            }
        }
    }

    /// By Cholesky's method; none where keys are left without samples.
    fn solve(mut self) -> Option<Vec<[f32; 4]>> {
        let n = self.rows.len();
        for i in 0..n {
            let pivot = self.rows[i][0];
            if pivot.is_nan() || pivot <= 1e-12 {
                return None;
            }
            for k in 1..4.min(n - i) {
                let factor = self.rows[i][k] / pivot;
                for m in k..4 {
                    let product = factor * self.rows[i][m];
                    self.rows[i + k][m - k] -= product;
                }
                for c in 0..4 {
                    let product = factor * self.right[i][c];
                    self.right[i + k][c] -= product;
                }
            }
        }
        let mut out = vec![[0.0f64; 4]; n];
        for i in (0..n).rev() {
            for c in 0..4 {
                let known: f64 = (1..4.min(n - i)).map(|k| self.rows[i][k] * out[i + k][c]).sum();
                out[i][c] = (self.right[i][c] - known) / self.rows[i][0];
            }
        }
        Some(out.into_iter().map(|v| v.map(|v| v as f32)).collect())
    }
}
