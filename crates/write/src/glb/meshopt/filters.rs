//! Filters: lossy encodings of numbers that compress better.

/// Encodes a unit vector on an octahedron with numbers of `bits`, for storage in 16 bits, or in 8 if `bits`
/// is at most 8: x, y, 1 as an integer, 0.
pub fn encode_octahedral(vector: [f32; 3], bits: u32) -> [i16; 4] {
    let [x, y, z] = vector.map(f64::from);
    let sum = x.abs() + y.abs() + z.abs();
    let one = f64::from((1i32 << (bits - 1)) - 1);
    if sum <= 0.0 || !sum.is_finite() {
        return [0, 0, one as i16, 0];
    }
    let (x, y) = (x / sum, y / sum);
    let (x, y) = match z < 0.0 {
        true => ((1.0 - y.abs()).copysign(x), (1.0 - x.abs()).copysign(y)),
        false => (x, y),
    };
    [(x * one).round() as i16, (y * one).round() as i16, one as i16, 0]
}

/// Decodes an octahedral vector to integers of 8 or 16 bits; `largest`, 127 or 32767, stands for 1.
pub fn decode_octahedral(stored: [i16; 4], largest: f32) -> [i16; 3] {
    let [x, y, one] = [0, 1, 2].map(|k| f32::from(stored[k]));
    let z = one - x.abs() - y.abs();
    let fold = z.min(0.0);
    let folded = |v: f32| v + if v >= 0.0 { fold } else { -fold };
    let vector = [folded(x), folded(y), z];
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    vector.map(|v| {
        let v = v * (largest / length);
        (v + if v >= 0.0 { 0.5 } else { -0.5 }) as i16
    })
}

/// Encodes a number as a multiple of a power of two, both in one word; `None` if it is too large for 24 bits.
pub fn encode_exponential(value: f32, power: i32) -> Option<u32> {
    let steps = (f64::from(value) * f64::from(-power).exp2()).round();
    let fits = steps.abs() < f64::from(1 << 23) && (-128..128).contains(&power);
    fits.then_some((power as u32) << 24 | (steps as i32 as u32 & 0x00ff_ffff))
}

/// Decodes a word of [`encode_exponential`].
pub fn decode_exponential(word: u32) -> f32 {
    let (power, steps) = ((word as i32) >> 24, ((word << 8) as i32) >> 8);
    (f64::from(steps) * f64::from(power).exp2()) as f32
}

/// Returns the exponent of the largest power of two whose half is at most `error`.
pub fn power_for(error: f64) -> i32 {
    (2.0 * error).log2().floor().clamp(-126.0, 127.0) as i32
}
