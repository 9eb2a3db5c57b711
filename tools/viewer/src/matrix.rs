//! Converts matrices of files.

use glam::DMat4;

/// Returns the matrix with these rows.
pub fn matrix(rows: [[f64; 4]; 3]) -> DMat4 {
    let [x, y, z] = rows;
    DMat4::from_cols_array_2d(&[
        [x[0], y[0], z[0], 0.0],
        [x[1], y[1], z[1], 0.0],
        [x[2], y[2], z[2], 0.0],
        [x[3], y[3], z[3], 1.0],
    ])
}
