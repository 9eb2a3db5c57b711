//! Small pieces of linear algebra over slices, and sums over many points that do not depend on the number of threads.

use rayon::prelude::*;

/// Σ a·b
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums side by side: the compiler may not reorder additions by itself.
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = a4.remainder().iter().zip(b4.remainder());
    let rest: f64 = rest.map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// out += s·x
pub fn add_scaled(out: &mut [f64], s: f64, x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += s * x;
    }
}

/// Points of a chunk of work. A constant: sums of chunks are added in order, so they come out alike on any number of threads.
const CHUNK: usize = 256;

/// Σ over points of what `add` adds to a slice of `length` zeros.
pub fn sum_over(count: usize, length: usize, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
    let chunks = count.div_ceil(CHUNK);
    let mut total = vec![0.0; length];
    // A few chunks at a time keep memory small.
    let at_once = 64;
    for first in (0..chunks).step_by(at_once) {
        let last = (first + at_once).min(chunks);
        let sums: Vec<Vec<f64>> = (first..last)
            .into_par_iter()
            .map(|c| {
                let mut sum = vec![0.0; length];
                for i in c * CHUNK..((c + 1) * CHUNK).min(count) {
                    add(i, &mut sum);
                }
                sum
            })
            .collect();
        for sum in sums {
            add_scaled(&mut total, 1.0, &sum);
        }
    }
    total
}

/// Solves a · x = b for a symmetric positive a of `n` rows in place; false if it is not positive.
pub fn solve(a: &mut [f64], n: usize, b: &mut [f64]) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let mut s = a[i * n + j];
            for k in 0..j {
                s -= a[i * n + k] * a[j * n + k];
            }
            if i == j {
                if s <= 0.0 || s.is_nan() {
                    return false;
                }
                a[i * n + i] = s.sqrt();
            } else {
                a[i * n + j] = s / a[j * n + j];
            }
        }
    }
    for i in 0..n {
        let mut s = b[i];
        for k in 0..i {
            s -= a[i * n + k] * b[k];
        }
        b[i] = s / a[i * n + i];
    }
    for i in (0..n).rev() {
        let mut s = b[i];
        for k in i + 1..n {
            s -= a[k * n + i] * b[k];
        }
        b[i] = s / a[i * n + i];
    }
    true
}
