//! Decodes filters, which transform values before compression. Numbers are rounded with ties away from zero,
//! in `f32`, as the extension specifies.

/// Decodes octahedral vectors: x, y, the value that stands for 1, and a component that is kept. Components
/// have one or two bytes.
pub fn octahedral(out: &mut [u8], size: usize) {
    for value in out.chunks_exact_mut(4 * size) {
        let [x, y, one] = [0, 1, 2].map(|k| component(value, size, k) as f32);
        let z = one - x.abs() - y.abs();
        let fold = z.min(0.0);
        let folded = |v: f32| v + if v >= 0.0 { fold } else { -fold };
        let vector = [folded(x), folded(y), z];
        let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        let scale = largest(size) / length;
        for (k, v) in vector.into_iter().enumerate() {
            write_component(value, size, k, rounded(v * scale));
        }
    }
}

/// Decodes rotations without their largest component: three components of 16 bits, and a fourth with the
/// scale and the index of the missing one.
pub fn quaternion(out: &mut [u8]) {
    for value in out.chunks_exact_mut(8) {
        let parts = [0, 1, 2, 3].map(|k| component(value, 2, k));
        let scale = std::f32::consts::FRAC_1_SQRT_2 / (parts[3] | 3) as f32;
        let [x, y, z] = [parts[0], parts[1], parts[2]].map(|v| v as f32 * scale);
        let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
        let missing = (parts[3] & 3) as usize;
        for (k, v) in [w, x, y, z].into_iter().enumerate() {
            write_component(value, 2, (missing + k) % 4, rounded(v * 32767.0));
        }
    }
}

/// Decodes numbers of 24 bits times a power of two with an 8-bit exponent, to `f32`.
pub fn exponential(out: &mut [u8]) {
    for value in out.as_chunks_mut::<4>().0 {
        let word = i32::from_le_bytes(*value);
        let (power, number) = (word >> 24, word << 8 >> 8);
        // Exact, since f64 represents the number, the power of two and their product.
        let number = f64::from(number) * f64::from(power).exp2();
        *value = (number as f32).to_le_bytes();
    }
}

/// Decodes colours stored as luma, two differences, and alpha, whose highest set bit gives the number of
/// bits.
pub fn colour(out: &mut [u8], size: usize) {
    for value in out.chunks_exact_mut(4 * size) {
        let unsigned = |k: usize| component(value, size, k) & largest_unsigned(size);
        let (bright, alpha) = (unsigned(0), unsigned(3));
        let (orange, green) = (component(value, size, 1), component(value, size, 2));
        let all = match alpha {
            0 => 0,
            alpha => (1 << (32 - alpha.leading_zeros())) - 1,
        };
        let colours = [bright + orange - green, bright + green, bright - orange - green];
        let alpha = alpha << 1 & all | alpha & 1;
        let scale = largest_unsigned(size) as f32 / all as f32;
        for (k, v) in colours.into_iter().chain([alpha]).enumerate() {
            write_component(value, size, k, (v as f32 * scale + 0.5) as i32);
        }
    }
}

fn component(value: &[u8], size: usize, k: usize) -> i32 {
    match size {
        1 => i32::from(value[k] as i8),
        _ => i32::from(i16::from_le_bytes([value[2 * k], value[2 * k + 1]])),
    }
}

fn write_component(value: &mut [u8], size: usize, k: usize, number: i32) {
    value[size * k..size * (k + 1)].copy_from_slice(&number.to_le_bytes()[..size]);
}

fn largest(size: usize) -> f32 {
    if size == 1 { 127.0 } else { 32767.0 }
}

fn largest_unsigned(size: usize) -> i32 {
    if size == 1 { 255 } else { 65535 }
}

fn rounded(v: f32) -> i32 {
    (v + if v >= 0.0 { 0.5 } else { -0.5 }) as i32
}
