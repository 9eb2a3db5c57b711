//! The motions of all bones at once: with the points fixed, and with the points following.

use super::linear::{add_scaled, dot, sum_over};
use super::space::MAX_DIMENSIONS;
use super::vertex::{BoneMotions, MAX_INFLUENCES, SkinVertex, directions};
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rayon::prelude::*;

/// The largest number of conjugate-gradient steps, and the fraction of the first gain at which they end. A
/// step of the bones is tested before it is taken, and there are many, so that a few inexact ones do no harm.
const GRADIENTS: usize = 10;
const MIN_GAIN_FRACTION: f64 = 1e-4;

/// Points and their targets.
pub struct FitPoints<'a> {
    pub vertices: &'a [SkinVertex],
    /// Coordinates of point 0, then of point 1, …
    pub targets: &'a [f64],
    pub dimensions: usize,
}

impl FitPoints<'_> {
    fn target(&self, i: usize) -> &[f64] {
        &self.targets[i * self.dimensions..][..self.dimensions]
    }

    /// Returns the sum of squared distances.
    pub fn error(&self, bones: &BoneMotions) -> f64 {
        let add = |i: usize, sum: &mut [f64]| {
            sum[0] += bones.error(&self.vertices[i], self.target(i));
        };
        sum_over(self.vertices.len(), 1, add)[0]
    }
}

/// Returns row of the unknowns and factor, for each product of weight and rest position.
fn factors(vertex: &SkinVertex) -> impl Iterator<Item = (usize, f64)> + '_ {
    let rows =
        move |(bone, weight): (usize, f64)| (0..4).map(move |i| (bone * 4 + i, weight * vertex.rest[i]));
    vertex.influences().flat_map(rows)
}

/// Returns the normal matrix, with a small weight on the diagonal so that bones without points do not move.
pub fn normal_matrix(points: &FitPoints<'_>, bones: usize) -> Option<NormalMatrix> {
    let n = 4 * bones;
    let sums = sum_over(points.vertices.len(), n * n, |i, sum: &mut [f64]| {
        let mut list = [(0, 0.0); 4 * MAX_INFLUENCES];
        let mut count = 0;
        for factor in factors(&points.vertices[i]) {
            list[count] = factor;
            count += 1;
        }
        for &(r, a) in &list[..count] {
            for &(c, b) in &list[..count] {
                sum[r * n + c] += a * b;
            }
        }
    });
    let mut matrix = DMatrix::from_row_slice(n, n, &sums);
    let most = (0..n).map(|i| matrix[(i, i)]).fold(0.0, f64::max);
    for i in 0..n {
        matrix[(i, i)] += matrix[(i, i)] * 1e-9 + most * 1e-13 + f64::MIN_POSITIVE;
    }
    let factor = Cholesky::new(matrix.clone())?;
    Some(NormalMatrix { matrix, factor })
}

/// The normal matrix, see [`normal_matrix`].
pub struct NormalMatrix {
    matrix: DMatrix<f64>,
    factor: Cholesky<f64, Dyn>,
}

impl NormalMatrix {
    /// Solves for all columns at once; rows of `right` as in [`BoneMotions::rows`].
    pub fn solve(&self, right: &[f64], dimensions: usize) -> Vec<f64> {
        let n = self.matrix.nrows();
        let columns: Vec<Vec<f64>> = (0..dimensions)
            .into_par_iter()
            .map(|c| {
                let mut column = DVector::from_fn(n, |r, _| right[r * dimensions + c]);
                self.factor.solve_mut(&mut column);
                column.as_slice().to_vec()
            })
            .collect();
        let mut out = vec![0.0; n * dimensions];
        for (c, column) in columns.iter().enumerate() {
            for (r, &v) in column.iter().enumerate() {
                out[r * dimensions + c] = v;
            }
        }
        out
    }

    /// Adds `s` times the matrix times `x`.
    fn add_product(&self, s: f64, x: &[f32], dimensions: usize, out: &mut [f64]) {
        let n = self.matrix.nrows();
        out.par_chunks_exact_mut(dimensions).enumerate().for_each(|(r, out)| {
            for c in 0..n {
                let v = self.matrix[(r, c)];
                if v != 0.0 {
                    let x = &x[c * dimensions..][..dimensions];
                    out.iter_mut().zip(x).for_each(|(out, &x)| *out += s * v * f64::from(x));
                }
            }
        });
    }
}

/// Fits all bones by least squares to the present points, starting from their present motions.
pub fn fit_bones(points: &FitPoints<'_>, bones: &mut BoneMotions) -> Option<()> {
    let normal = normal_matrix(points, bones.count)?;
    correct_bones(points, bones, &normal);
    Some(())
}

/// Moves all bones to the best fit of the present points.
pub fn correct_bones(points: &FitPoints<'_>, bones: &mut BoneMotions, normal: &NormalMatrix) {
    let d = points.dimensions;
    let right = sum_over(points.vertices.len(), bones.rows.len(), |i, sum: &mut [f64]| {
        let mut residual = [0.0; MAX_DIMENSIONS];
        let residual = &mut residual[..d];
        bones.residual(&points.vertices[i], points.target(i), residual);
        for (row, factor) in factors(&points.vertices[i]) {
            add_scaled(&mut sum[row * d..][..d], factor, residual);
        }
    });
    add_scaled(&mut bones.rows, 1.0, &normal.solve(&right, d));
}

/// Returns a step of all bones that anticipates the following of the points: for the part of the residuals
/// that no change of rest positions and weights can remove, by conjugate gradients. Damped by the normal
/// matrix.
///
/// Credit: G. Golub, V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems
/// whose variables separate, 1973.
pub fn bone_step(
    points: &FitPoints<'_>,
    bones: &BoneMotions,
    normal: &NormalMatrix,
    damping: f64,
) -> Vec<f64> {
    let d = points.dimensions;
    let count = points.vertices.len();
    // The directions in which the points can follow, orthonormal. All of this in f32: a step is tested before
    // it is taken.
    let follow: Vec<Vec<f32>> = (points.vertices.par_iter())
        .map_init(Vec::new, |columns, vertex| {
            directions(bones, vertex, columns);
            orthonormal(columns, d)
        })
        .collect();
    let finish = |i: usize, v: &mut [f32], sum: &mut [f32]| {
        for q in follow[i].chunks_exact(d) {
            let along = dot(q, v);
            add_scaled(v, -along, q);
        }
        for (row, factor) in factors(&points.vertices[i]) {
            add_scaled(&mut sum[row * d..][..d], factor as f32, v);
        }
    };
    let size = bones.rows.len();
    let apply = |x: &[f64]| -> Vec<f64> {
        let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let mut out = sum_over(count, size, |i, sum: &mut [f32]| {
            let mut v = [0.0; MAX_DIMENSIONS];
            let v = &mut v[..d];
            for (row, factor) in factors(&points.vertices[i]) {
                add_scaled(v, factor as f32, &x[row * d..][..d]);
            }
            finish(i, v, sum);
        });
        normal.add_product(damping, x.as_slice(), d, &mut out);
        out
    };
    let mut residual = sum_over(count, size, |i, sum: &mut [f32]| {
        let mut v = [0.0; MAX_DIMENSIONS];
        bones.residual(&points.vertices[i], points.target(i), &mut v[..d]);
        finish(i, &mut v.map(|v| v as f32)[..d], sum);
    });
    let mut x = vec![0.0; size];
    let mut z = normal.solve(&residual, d);
    let mut direction = z.clone();
    let mut gain = dot(&residual, &z);
    let first = gain;
    for _ in 0..GRADIENTS {
        if gain.is_nan() || gain <= first * MIN_GAIN_FRACTION {
            break;
        }
        let along = apply(&direction);
        let curve = dot(&direction, &along);
        if curve.is_nan() || curve <= 0.0 {
            break;
        }
        let step = gain / curve;
        add_scaled(&mut x, step, &direction);
        add_scaled(&mut residual, -step, &along);
        z = normal.solve(&residual, d);
        let next = dot(&residual, &z);
        let keep = next / gain;
        gain = next;
        for (direction, z) in direction.iter_mut().zip(&z) {
            *direction = z + keep * *direction;
        }
    }
    x
}

/// Gram–Schmidt, twice for each column; columns that depend on others are left out.
fn orthonormal(columns: &mut [f64], d: usize) -> Vec<f32> {
    let mut kept = 0;
    for at in (0..columns.len()).step_by(d) {
        let (before, column) = columns.split_at_mut(at);
        let column = &mut column[..d];
        let size = dot(column, column).sqrt();
        for _ in 0..2 {
            for q in before[..kept].chunks_exact(d) {
                let along = dot(q, column);
                add_scaled(column, -along, q);
            }
        }
        let left = dot(column, column).sqrt();
        if left > size * 1e-6 && left > f64::MIN_POSITIVE {
            column.iter_mut().for_each(|v| *v /= left);
            columns.copy_within(at..at + d, kept);
            kept += d;
        }
    }
    columns[..kept].iter().map(|&v| v as f32).collect()
}
