//! Matrices of packed transforms, as docs/FORMAT/mesh.md defines them in f64, in numbers that are sums of two
//! f32. Line for line as `shaders/packed.wgsl`, so that a card without f64 has the runtime's matrices.

use std::ops::{Add, Mul, Neg};

/// The sum of two f32, of which the second is at most half an ulp of the first: 48 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Double(pub f32, pub f32);

/// Returns the upper 12 of 24 bits.
fn upper(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xFFFF_F000)
}

impl Double {
    /// Returns the nearest sum of two f32.
    #[must_use]
    pub const fn new(x: f64) -> Double {
        let high = x as f32;
        Double(high, (x - high as f64) as f32)
    }

    /// Returns a + b.
    fn sum(a: f32, b: f32) -> Double {
        let s = a + b;
        let t = s - a;
        Double(s, (a - (s - t)) + (b - t))
    }

    /// Returns a · b.
    fn product(a: f32, b: f32) -> Double {
        let (s, u, v) = (a * b, upper(a), upper(b));
        let rest = (u * v - s) + u * (b - v);
        Double(s, (rest + (a - u) * v) + (a - u) * (b - v))
    }

    fn inverse(self) -> Double {
        let r = 1.0 / self.0;
        let s = Double::product(r, self.0);
        Double::sum(r, r * ((1.0 - s.0) - (s.1 + r * self.1)))
    }
}

impl Add for Double {
    type Output = Double;
    fn add(self, other: Double) -> Double {
        let s = Double::sum(self.0, other.0);
        Double::sum(s.0, s.1 + (self.1 + other.1))
    }
}

impl Mul for Double {
    type Output = Double;
    fn mul(self, other: Double) -> Double {
        let s = Double::product(self.0, other.0);
        Double::sum(s.0, s.1 + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Neg for Double {
    type Output = Double;
    fn neg(self) -> Double {
        Double(-self.0, -self.1)
    }
}

/// The step of rotation components, 1 / (511 √2); `FRACTION` is that of positions and scales.
pub const ROTATION_STEP: Double = Double::new(std::f64::consts::FRAC_1_SQRT_2 / 511.0);
/// The step of positions and scales.
pub const FRACTION: Double = Double::new(1.0 / 65535.0);

/// Returns three components, and the largest one, which is positive and not stored; each as the nearest f32.
#[must_use]
pub fn rotation(word: u32) -> [f32; 4] {
    let steps = [0, 10, 20].map(|shift| (word >> shift & 1023) as f32 - 511.0);
    let square = (522_242.0 - steps.iter().map(|v| v * v).sum::<f32>()).max(0.0);
    let root = square.sqrt();
    let rough = Double::product(root, root);
    let off = if root > 0.0 { ((square - rough.0) - rough.1) / (2.0 * root) } else { 0.0 };
    let w = (Double(root, off) * ROTATION_STEP).0;
    let [x, y, z] = steps.map(|v| (Double(v, 0.0) * ROTATION_STEP).0);
    match word >> 30 {
        0 => [w, x, y, z],
        1 => [x, w, y, z],
        2 => [x, y, w, z],
        _ => [x, y, z, w],
    }
}

/// Returns the columns of the matrix of a rotation, which need not have unit length.
fn rotation_matrix([x, y, z, w]: [f32; 4]) -> [[Double; 3]; 3] {
    let of = Double::product;
    let (xx, yy, zz, ww) = (of(x, x), of(y, y), of(z, z), of(w, w));
    let (xy, xz, yz) = (of(x, y), of(x, z), of(y, z));
    let (wx, wy, wz) = (of(w, x), of(w, y), of(w, z));
    let inverse = ((xx + yy) + (zz + ww)).inverse();
    let (twice, one) = (Double(2.0 * inverse.0, 2.0 * inverse.1), Double(1.0, 0.0));
    [
        [one + -(twice * (yy + zz)), twice * (xy + wz), twice * (xz + -wy)],
        [twice * (xy + -wz), one + -(twice * (xx + zz)), twice * (yz + wx)],
        [twice * (xz + wy), twice * (yz + -wx), one + -(twice * (xx + yy))],
    ]
}

/// The values of a mesh and a part at rest.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct PartAtRest {
    /// One divided by the unit of the grid; `centre` is the position of zero.
    pub per_unit: Double,
    pub centre: [f32; 3],
    /// The largest scale.
    pub scale: f32,
    pub middle: [Double; 3],
}

/// Returns the four columns, in units of the grid, of a packed transform whose position is a fraction of a
/// box, low and size; without one, of a part at rest.
#[must_use]
pub fn matrix(of: &PartAtRest, transform: Option<([u32; 3], [[f32; 3]; 2])>) -> [[f32; 3]; 4] {
    let rounded = |v: [Double; 3]| v.map(|v| v.0);
    let from_centre = |k: usize, at: f32| (Double(at, 0.0) + Double(-of.centre[k], 0.0)) * of.per_unit;
    let Some(([rotated, xy, zs], [low, size])) = transform else {
        let x = of.per_unit.0;
        let last = [0, 1, 2].map(|k| from_centre(k, 0.0));
        return [[x, 0.0, 0.0], [0.0, x, 0.0], [0.0, 0.0, x], rounded(last)];
    };
    let codes = [xy & 0xFFFF, xy >> 16, zs & 0xFFFF, zs >> 16].map(|v| v as f32);
    let scale = Double((Double::product(of.scale, codes[3]) * FRACTION).0, 0.0);
    let columns = rotation_matrix(rotation(rotated)).map(|column| column.map(|v| v * scale));
    let last = [0, 1, 2].map(|k| {
        let [a, b, c] = [0, 1, 2].map(|c| columns[c][k] * of.middle[c]);
        let place = Double(low[k], 0.0) + Double::product(size[k], codes[k]) * FRACTION;
        from_centre(k, (place + -((a + b) + c)).0)
    });
    let [a, b, c] = columns.map(|column| rounded(column.map(|v| v * of.per_unit)));
    [a, b, c, rounded(last)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotation_in_f64(word: u32) -> [f64; 4] {
        let v = [0, 10, 20].map(|s| (f64::from(word >> s & 1023) - 511.0) * (0.5f64.sqrt() / 511.0));
        let w = (1.0 - v.iter().map(|v| v * v).sum::<f64>()).max(0.0).sqrt();
        let at = (word >> 30) as usize;
        std::array::from_fn(|k| if k == at { w } else { v[if k < at { k } else { k - 1 }] })
    }

    /// The matrix as defined by docs/FORMAT/mesh.md.
    fn matrix_in_f64(of: &PartAtRest, transform: ([u32; 3], [[f32; 3]; 2])) -> [[f32; 3]; 4] {
        let ([word, xy, zs], [low, size]) = transform;
        let whole = |v: Double| f64::from(v.0) + f64::from(v.1);
        let q = rotation_in_f64(word).map(|v| f64::from(v as f32));
        let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
        let [x, y, z, w] = q.map(|v| v / length);
        let scale = f64::from((f64::from(of.scale) * f64::from(zs >> 16) / 65535.0) as f32);
        let columns = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
            [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
            [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
        .map(|column| column.map(|v| v * scale));
        let per_unit = whole(of.per_unit);
        let codes = [xy & 0xFFFF, xy >> 16, zs & 0xFFFF].map(f64::from);
        let last = [0, 1, 2].map(|k| {
            let arm: f64 = (0..3).map(|c| columns[c][k] * whole(of.middle[c])).sum();
            let at = f64::from(low[k]) + f64::from(size[k]) * codes[k] / 65535.0 - arm;
            ((f64::from(at as f32) - f64::from(of.centre[k])) * per_unit) as f32
        });
        let [a, b, c] = columns.map(|column| column.map(|v| (v * per_unit) as f32));
        [a, b, c, last]
    }

    /// Returns numbers below 2^bits, always the same.
    fn noise(seed: &mut u32, bits: u32) -> u32 {
        *seed = seed.wrapping_mul(0x915F_77F5).wrapping_add(0x9E37_79B9);
        let mixed = *seed ^ *seed >> 15;
        mixed.wrapping_mul(0x2C1B_3C6D) >> (32 - bits)
    }

    #[test]
    fn e17_every_component_of_a_packed_rotation_is_the_nearest_f32() {
        for x in 0..1024 {
            assert_eq!(
                rotation(x | 511 << 10 | 511 << 20 | 3 << 30)[0],
                rotation_in_f64(x | 3 << 30)[0] as f32
            );
        }
        let mut seed = 7;
        for _ in 0..1 << 20 {
            let word = noise(&mut seed, 32);
            assert_eq!(rotation(word), rotation_in_f64(word).map(|v| v as f32), "{word:#x}");
        }
    }

    #[test]
    fn e17_matrices_of_packed_transforms_are_those_of_f64() {
        let mut seed = 1;
        let (mut all, mut off) = (0, 0);
        for _ in 0..1 << 15 {
            let mut small = || (noise(&mut seed, 24) as f32 / (1 << 23) as f32 - 1.0) * 10.0;
            let three = |f: &mut dyn FnMut() -> f32| [0; 3].map(|_| f());
            let (centre, low) = (three(&mut small), three(&mut small));
            let middle = three(&mut small).map(|v| Double::new(f64::from(v) / 3.0));
            let unit = f64::from(2.0f32.powf(small() - 10.0));
            let of =
                PartAtRest { per_unit: Double::new(1.0 / unit), centre, scale: small().abs() + 0.1, middle };
            let size = three(&mut small).map(f32::abs);
            let words = [0; 3].map(|_| noise(&mut seed, 32));
            let wanted = matrix_in_f64(&of, (words, [low, size]));
            let got = matrix(&of, Some((words, [low, size])));
            for (got, wanted) in got.as_flattened().iter().zip(wanted.as_flattened()) {
                all += 1;
                off += usize::from(got != wanted);
                // Differences of large numbers leave this error.
                assert!(
                    (got - wanted).abs() <= 1e-6 * wanted.abs().max(1e-5 / unit as f32),
                    "{got} {wanted}"
                );
            }
        }
        println!("{off} of {all}");
        assert!(off * 100_000 <= all, "{off} of {all}");
    }
}
