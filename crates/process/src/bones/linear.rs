//! Linear algebra over slices, and sums over many points that do not depend on the number of threads.

use rayon::prelude::*;
use std::ops::{Add, AddAssign, Mul};

/// f64, or f32 for steps that are only proposed.
pub trait Real: Copy + Default + Send + Sync + AddAssign + Add<Output = Self> + Mul<Output = Self> {}
impl Real for f64 {}
impl Real for f32 {}

/// Returns Σ a·b.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    // Eight sums side by side: the compiler may not reorder additions itself.
    let mut sums = [T::default(); 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a8.remainder().iter().zip(b8.remainder());
    for (x, y) in a8.zip(b8) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    for (sum, (x, y)) in sums.iter_mut().zip(rest) {
        *sum += *x * *y;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// Adds s·x to `out`.
pub fn add_scaled<T: Real>(out: &mut [T], s: T, x: &[T]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += s * *x;
    }
}

/// The number of points in a chunk of work. A constant: sums of chunks are added in order, so that they do
/// not depend on the number of threads.
const CHUNK: usize = 256;

/// Returns the sum over points of what `add` adds to a slice of `length` zeros.
pub fn sum_over<T: Real + Into<f64>>(
    count: usize,
    length: usize,
    add: impl Fn(usize, &mut [T]) + Sync,
) -> Vec<f64> {
    let chunks = count.div_ceil(CHUNK);
    let mut total = vec![0.0; length];
    // A few chunks at a time keep memory small.
    let at_once = 64;
    for first in (0..chunks).step_by(at_once) {
        let last = (first + at_once).min(chunks);
        let sums: Vec<Vec<T>> = (first..last)
            .into_par_iter()
            .map(|c| {
                let mut sum = vec![T::default(); length];
                for i in c * CHUNK..((c + 1) * CHUNK).min(count) {
                    add(i, &mut sum);
                }
                sum
            })
            .collect();
        for sum in sums {
            for (total, part) in total.iter_mut().zip(sum) {
                *total += part.into();
            }
        }
    }
    total
}

/// Solves a · x = b in place for a symmetric positive matrix of `n` rows, of which only the lower half is
/// read; returns `false` if it is not positive.
pub fn solve(a: &mut [f64], n: usize, b: &mut [f64]) -> bool {
    let (a, b) = (&mut a[..n * n], &mut b[..n]);
    for i in 0..n {
        let (before, row) = a.split_at_mut(i * n);
        let row = &mut row[..n];
        for (j, other) in before.chunks_exact(n).enumerate() {
            let known = row[..j].iter().zip(&other[..j]);
            let s: f64 = known.map(|(x, y)| x * y).sum();
            row[j] = (row[j] - s) / other[j];
        }
        let s: f64 = row[..i].iter().map(|x| x * x).sum();
        let s = row[i] - s;
        if s <= 0.0 || s.is_nan() {
            return false;
        }
        row[i] = s.sqrt();
        let known = row[..i].iter().zip(&b[..i]);
        let s: f64 = known.map(|(x, y)| x * y).sum();
        b[i] = (b[i] - s) / row[i];
    }
    for i in (0..n).rev() {
        b[i] /= a[i * n + i];
        let (own, row) = (b[i], &a[i * n..i * n + i]);
        add_scaled(&mut b[..i], -own, row);
    }
    true
}
