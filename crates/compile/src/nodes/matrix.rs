//! Matrices of nodes, and the points that represent everything below them.

use glam::DMat4;
use meshreel_process::trs::rows;

/// A 3×4 matrix by rows.
pub type Matrix = [[f64; 4]; 3];

/// The identity.
pub const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

/// Transforms a point.
pub fn apply(m: &Matrix, p: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|r| m[r][0] * p[0] + m[r][1] * p[1] + m[r][2] * p[2] + m[r][3])
}

/// Returns the 4×4 matrix, with its last row.
pub fn to_dmat4(m: &Matrix) -> DMat4 {
    let column = |c: usize, last: f64| [m[0][c], m[1][c], m[2][c], last];
    DMat4::from_cols_array_2d(&[column(0, 0.0), column(1, 0.0), column(2, 0.0), column(3, 1.0)])
}

/// Returns the inverse of a matrix; `None` if it is singular.
pub fn inverse(m: &Matrix) -> Option<Matrix> {
    if *m == IDENTITY {
        return Some(IDENTITY);
    }
    let inverse = rows(&to_dmat4(m).inverse());
    inverse.as_flattened().iter().all(|v| v.abs() < 1e30).then_some(inverse)
}

/// Returns the square of the largest distance between the images of the points under two matrices.
pub fn max_distance_squared(a: &Matrix, b: &Matrix, points: &[[f64; 3]]) -> f64 {
    let d: Matrix = std::array::from_fn(|r| std::array::from_fn(|c| a[r][c] - b[r][c]));
    let mut most = 0.0;
    for &p in points {
        let [x, y, z] = apply(&d, p);
        let square = x * x + y * y + z * z;
        // A NaN is kept.
        most = if square <= most { most } else { square };
    }
    most
}

/// Returns the corners of a box.
pub fn corners(low: [f64; 3], high: [f64; 3]) -> Vec<[f64; 3]> {
    let corner = |i: usize| [0, 1, 2].map(|k| if i >> k & 1 == 0 { low[k] } else { high[k] });
    (0..8).map(corner).collect()
}

/// Reduces many points to those that lie farthest along the axes, edges or diagonals of a cube.
pub fn outermost(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    if points.len() <= 8 {
        return points.to_vec();
    }
    let mut chosen: Vec<usize> = Vec::new();
    for x in -1..=1 {
        for y in -1..=1 {
            for z in -1..=1 {
                let along = |p: &[f64; 3]| f64::from(x) * p[0] + f64::from(y) * p[1] + f64::from(z) * p[2];
                let most = (0..points.len())
                    .fold(0, |best, i| if along(&points[i]) > along(&points[best]) { i } else { best });
                if (x, y, z) != (0, 0, 0) && !chosen.contains(&most) {
                    chosen.push(most);
                }
            }
        }
    }
    chosen.into_iter().map(|i| points[i]).collect()
}

/// Returns `a · b`, matrices by rows of 3×4.
pub fn product(a: &[[f64; 4]; 3], b: &[[f64; 4]; 3]) -> [[f64; 4]; 3] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let last = if j == 3 { a[i][3] } else { 0.0 };
            a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] + last
        })
    })
}

/// Returns the bounds of a transformed box (min xyz, max xyz).
pub fn transform_box(m: &[[f64; 4]; 3], b: &[f32; 6]) -> [f64; 6] {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for corner in 0..8 {
        let p: [f64; 3] = std::array::from_fn(|k| f64::from(b[if corner >> k & 1 == 0 { k } else { k + 3 }]));
        for k in 0..3 {
            let x = m[k][0] * p[0] + m[k][1] * p[1] + m[k][2] * p[2] + m[k][3];
            (low[k], high[k]) = (low[k].min(x), high[k].max(x));
        }
    }
    [low[0], low[1], low[2], high[0], high[1], high[2]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_codec::transform::Transform;

    #[test]
    fn boxes_turn() {
        let m = Transform {
            rotation: [0.0, 0.0, (0.5f32).sqrt(), (0.5f32).sqrt()],
            translation: [10.0, 0.0, 0.0],
            scale: [1.0, 2.0, 1.0],
        }
        .matrix();
        let b = transform_box(&m, &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        for (got, want) in b.iter().zip([8.0, 0.0, 0.0, 10.0, 1.0, 1.0]) {
            assert!((got - want).abs() < 1e-6, "{b:?}");
        }
        let twice = product(&m, &m);
        let b = transform_box(&twice, &[0.0; 6]);
        assert!((b[0] - 10.0).abs() < 1e-6 && (b[1] - 10.0).abs() < 1e-6, "{b:?}");
    }
}
