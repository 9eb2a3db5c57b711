//! Fits keys to one sub-track.
//!
//! *Insertion*: the first and the last sample are keys; where the error of the spline is largest and beyond
//! the tolerance, that sample becomes a key, until no error is. *Removal*: a key is removed if the keys
//! around it can be moved so that the tolerance still holds. They need not lie on samples: their values are
//! those of least squares, in which the weight of a sample grows with its error (Lawson's way to the smallest
//! largest error). This is repeated until no key can be removed.
//!
//! Credit: C. L. Lawson, *Contributions to the theory of linear least maximum approximation*, 1961.

use meshreel_codec::clip::curve::{KeyWindow, KnotSpacing, normalize};

/// A sub-track, with the functions that store and measure its values.
pub struct TrackFitter<'a> {
    /// By sample, its value; rotations are aligned with their neighbours, see [`align`].
    pub values: &'a [[f32; 4]],
    pub rotation: bool,
    pub knots: KnotSpacing,
    /// Returns a value as decoded after it was stored.
    pub round_trip: &'a dyn Fn([f32; 4]) -> [f32; 4],
    /// Returns the error of a value at a sample, as a fraction of the allowed error.
    pub error: &'a dyn Fn(usize, [f32; 4]) -> f64,
    /// The number of keys beyond which the fit gives up.
    pub max_keys: usize,
}

/// Keys: sample and value.
pub type TrackKeys = Vec<(u16, [f32; 4])>;

/// The number of keys on either side of a removed one that may move.
const MOVABLE_KEYS: usize = 3;
/// The number of keys on either side that are affected by a removed key: those that move, those that they
/// affect, and tangents.
const AFFECTED_KEYS: usize = 2 * MOVABLE_KEYS + 4;
/// The number of rounds of least squares around one key.
const ROUNDS: usize = 5;
/// The number of passes over all keys.
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

impl TrackFitter<'_> {
    /// Returns keys, and whether they hold the tolerance at all samples.
    pub fn fit(&self, plain: bool) -> (TrackKeys, bool) {
        let mut keys = self.inserted();
        if !plain && keys.len() <= self.max_keys {
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
            (self.decode(&keys).into_iter().enumerate()).all(|(i, value)| (self.error)(i, value) <= 1.0);
        (keys, holds)
    }

    /// Returns the value at each sample.
    pub fn decode(&self, keys: &TrackKeys) -> Vec<[f32; 4]> {
        let mut out = Vec::with_capacity(self.values.len());
        let kept = self.decoded_values(keys);
        for span in 0..keys.len() - 1 {
            let window = window(keys, &kept, 0, span);
            out.extend((keys[span].0..keys[span + 1].0).map(|time| self.value(&window, time)));
        }
        let last = keys.len() - 2;
        out.push(self.value(&window(keys, &kept, 0, last), keys[last + 1].0));
        out
    }

    /// Returns the values of keys as decoded.
    fn decoded_values(&self, keys: &[(u16, [f32; 4])]) -> Vec<[f32; 4]> {
        keys.iter().map(|key| (self.round_trip)(key.1)).collect()
    }

    fn value(&self, window: &KeyWindow, time: u16) -> [f32; 4] {
        window.value(f32::from(time), self.knots, self.rotation)
    }

    /// Returns the largest error in a span and its sample; the first sample of the span is included, and the
    /// last one too.
    fn span_error(&self, keys: &TrackKeys, kept: &[[f32; 4]], span: usize) -> (f64, u16) {
        let window = window(keys, kept, 0, span);
        let off = |time: u16| ((self.error)(usize::from(time), self.value(&window, time)), time);
        (keys[span].0..=keys[span + 1].0)
            .map(off)
            .fold((0.0, 0), |worst, one| if one.0 > worst.0 { one } else { worst })
    }

    fn sample_key(&self, time: u16) -> (u16, [f32; 4]) {
        (time, self.values[usize::from(time)])
    }

    /// Inserts the sample with the largest error, repeatedly.
    fn inserted(&self) -> TrackKeys {
        let last = (self.values.len() - 1) as u16;
        let mut keys = vec![self.sample_key(0), self.sample_key(last)];
        let mut kept = self.decoded_values(&keys);
        // By span; a span whose samples are all keys counts as good, since nothing can be added.
        let worst = |keys: &TrackKeys, kept: &[[f32; 4]], span: usize| {
            let (off, time) = self.span_error(keys, kept, span);
            let inside = keys[span].0 < time && time < keys[span + 1].0;
            match (inside, keys[span + 1].0 - keys[span].0) {
                (true, _) => (off, time),
                (_, 0 | 1) => (0.0, 0),
                // A key is the worst: its bits are too few, which another key beside it does not change.
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
            if off <= 1.0 || keys.len() > self.max_keys {
                return keys;
            }
            let key = self.sample_key(time);
            keys.insert(most + 1, key);
            kept.insert(most + 1, (self.round_trip)(key.1));
            errors.insert(most + 1, (0.0, 0));
            // Tangents affect one span more.
            let spans = most.saturating_sub(1)..(most + 3).min(errors.len());
            spans.for_each(|span| errors[span] = worst(&keys, &kept, span));
        }
    }

    fn worst_inside(&self, keys: &TrackKeys, kept: &[[f32; 4]], span: usize) -> (f64, u16) {
        let window = window(keys, kept, 0, span);
        (keys[span].0 + 1..keys[span + 1].0)
            .map(|time| ((self.error)(usize::from(time), self.value(&window, time)), time))
            .fold((0.0, 0), |worst, one| if one.0 > worst.0 { one } else { worst })
    }

    /// Removes keys as long as the tolerance holds. `open`: keys whose neighbourhood has changed since the
    /// last attempt.
    fn leave_out(&self, keys: &mut TrackKeys, open: &mut Vec<bool>) {
        let mut i = 1;
        while i + 1 < keys.len() {
            if !open[i] {
                i += 1;
                continue;
            }
            let from = i.saturating_sub(MOVABLE_KEYS);
            let to = (i + MOVABLE_KEYS).min(keys.len() - 1);
            let around: Vec<(u16, [f32; 4])> = keys[from..=to].to_vec();
            keys.remove(i);
            if self.refit(keys, from, to) {
                open.remove(i);
                let near = i.saturating_sub(AFFECTED_KEYS)..(i + AFFECTED_KEYS).min(open.len());
                open[near].fill(true);
                continue;
            }
            keys.splice(from..to, around);
            open[i] = false;
            i += 1;
        }
    }

    /// Moves the keys `from .. to` so that everything that depends on them holds; returns `false` if that
    /// fails.
    fn refit(&self, keys: &mut TrackKeys, from: usize, to: usize) -> bool {
        let spans = from.saturating_sub(2)..(to + 1).min(keys.len() - 1);
        let first = usize::from(keys[spans.start].0);
        let last = usize::from(keys[spans.end].0);
        let mut counts = vec![1.0f64; last + 1 - first];
        for round in 0..=ROUNDS {
            let mut worst = 0.0f64;
            let mut offs = vec![0.0f64; counts.len()];
            // The keys in the windows of these spans.
            let around = spans.start.saturating_sub(1);
            let kept = self.decoded_values(&keys[around..(spans.end + 2).min(keys.len())]);
            for span in spans.clone() {
                let window = window(keys, &kept, around, span);
                for time in keys[span].0..=keys[span + 1].0 {
                    let off = (self.error)(usize::from(time), self.value(&window, time));
                    let slot = &mut offs[usize::from(time) - first];
                    *slot = slot.max(off);
                    worst = worst.max(off);
                }
            }
            if worst <= 1.0 {
                return true;
            }
            // An error far beyond the tolerance will not be corrected.
            if round == ROUNDS || worst > MAX_CORRECTED_ERROR || worst.is_nan() {
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

    /// Returns the values of the keys `from .. to` by least squares over some spans; the keys around them are
    /// fixed.
    fn solve(
        &self,
        keys: &TrackKeys,
        (from, to): (usize, usize),
        spans: std::ops::Range<usize>,
        counts: &[f64],
    ) -> Option<Vec<[f32; 4]>> {
        let mut system = Banded::new(to - from);
        let first = usize::from(keys[spans.start].0);
        for span in spans {
            let shape = self.basis_weights(keys, span);
            for time in keys[span].0..keys[span + 1].0 {
                let weights = shape.value(f32::from(time), self.knots, false).map(f64::from);
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
                        let value = (self.round_trip)(keys[at].1);
                        let sign = self.matching_sign(value, i);
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
        Some(values.into_iter().map(|v| if self.rotation { normalize(v) } else { v }).collect())
    }

    /// Decoded rotations may have either sign: returns the sign that matches the sample.
    fn matching_sign(&self, value: [f32; 4], sample: usize) -> f64 {
        let dot: f32 = (0..4).map(|k| value[k] * self.values[sample][k]).sum();
        if self.rotation && dot < 0.0 { -1.0 } else { 1.0 }
    }

    /// Returns the weights of a window's four keys at a time: the spline is linear in their values.
    fn basis_weights(&self, keys: &TrackKeys, span: usize) -> KeyWindow {
        let mut window = KeyWindow { has_outer: [span > 0, span + 2 < keys.len()], ..KeyWindow::default() };
        for k in 0..4 {
            window.times[k] = keys[(span + k).saturating_sub(1).min(keys.len() - 1)].0;
            window.values[k][k] = 1.0;
        }
        window
    }
}

/// Returns the keys around a span; `kept`: decoded values of the keys from number `from` on.
fn window(keys: &TrackKeys, kept: &[[f32; 4]], from: usize, span: usize) -> KeyWindow {
    let mut window = KeyWindow { has_outer: [span > 0, span + 2 < keys.len()], ..KeyWindow::default() };
    for k in 0..4 {
        let at = (span + k).saturating_sub(1).min(keys.len() - 1);
        (window.times[k], window.values[k]) = (keys[at].0, kept[at - from]);
    }
    window
}

/// Multiple of the tolerance beyond which an error is not corrected.
const MAX_CORRECTED_ERROR: f64 = 6.0;

/// Normal equations in which coupled unknowns are at most three apart.
struct Banded {
    /// Row i: its products with i … i + 3.
    rows: Vec<[f64; 4]>,
    right: Vec<[f64; 4]>,
}

impl Banded {
    fn new(n: usize) -> Banded {
        Banded { rows: vec![[0.0; 4]; n], right: vec![[0.0; 4]; n] }
    }

    /// Adds the equation Σ weightₖ · unknown(first + k) = `value`, with the weight `count`.
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

    /// Solves by Cholesky's method; `None` if keys have no samples.
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
