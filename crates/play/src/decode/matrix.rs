//! Affine matrices in f64, row-major 3×4, acting on column vectors.

/// The identity.
pub(crate) const IDENTITY: [[f64; 4]; 3] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

/// Returns `a · b`, which applies `b` first.
pub(crate) fn product(a: &[[f64; 4]; 3], b: &[[f64; 4]; 3]) -> [[f64; 4]; 3] {
    std::array::from_fn(|row| {
        let [x, y, z, w] = a[row];
        std::array::from_fn(|column| {
            let linear = x * b[0][column] + y * b[1][column] + z * b[2][column];
            if column == 3 { linear + w } else { linear }
        })
    })
}
