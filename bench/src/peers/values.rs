//! The numbers that peers code: frames, positions on a grid, directions as octahedral bytes, their decoding
//! to f32, and the measure of errors. All loops of the decoder are compiled for each instruction set.
//!
//! Octahedral directions: Meyer et al., "On floating-point normal vectors", 2010.

use fearless_simd::{Level, dispatch};

/// A frame: vectors of each vertex, and triangles.
#[derive(Clone, Default)]
pub struct Frame {
    pub positions: Vec<[f32; 3]>,
    /// Empty if only positions are compared.
    pub normals: Vec<[f32; 3]>,
    /// Empty without uvs.
    pub tangents: Vec<[f32; 3]>,
    /// Empty if they are those of the frame before.
    pub triangles: Vec<u32>,
    /// The source's point of each vertex.
    pub points: Vec<u32>,
}

impl Frame {
    /// Returns the frame with vertices in this order, and triangles that refer to it.
    pub fn reordered(&self, old_of_new: &[u32], triangles: &[u32]) -> Frame {
        let mut new_of_old = vec![0; old_of_new.len()];
        for (new, &old) in (0..).zip(old_of_new) {
            new_of_old[old as usize] = new;
        }
        let pick = |values: &[[f32; 3]]| match values.is_empty() {
            true => Vec::new(),
            false => old_of_new.iter().map(|&old| values[old as usize]).collect(),
        };
        Frame {
            positions: pick(&self.positions),
            normals: pick(&self.normals),
            tangents: pick(&self.tangents),
            triangles: triangles.iter().map(|&v| new_of_old[v as usize]).collect(),
            points: old_of_new.iter().map(|&old| self.points[old as usize]).collect(),
        }
    }
}

/// Quantized positions of a vertex; the fourth number is 0.
pub type Position = [u16; 4];
/// Octahedral normal and tangent of a vertex; 0 where there is no tangent.
pub type Directions = [u8; 4];

/// The grid of positions, which is the same in all frames.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    pub origin: [f32; 3],
    pub step: f32,
    /// Bits per component.
    pub bits: u32,
}

/// Part of the allowed error that the grid uses: the rest is for rounding of f32.
const GRID_PART: f64 = 0.999;

impl Grid {
    /// Returns the coarsest grid that moves no point farther than `tolerance`: half the diagonal of its cube.
    /// `None` if that takes more than 16 bits.
    pub fn new(frames: &[Frame], tolerance: f64) -> Option<Grid> {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for point in frames.iter().flat_map(|frame| &frame.positions) {
            for k in 0..3 {
                (low[k], high[k]) = (low[k].min(point[k]), high[k].max(point[k]));
            }
        }
        let step = (GRID_PART * 2.0 * tolerance / 3f64.sqrt()) as f32;
        let extent = (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max);
        let most = f64::from(extent / step).ceil() as u32;
        let bits = 32 - most.leading_zeros();
        (low[0].is_finite() && bits <= 16).then_some(Grid { origin: low, step, bits })
    }

    pub fn quantize(&self, points: &[[f32; 3]]) -> Vec<Position> {
        let one = |point: &[f32; 3]| {
            let code = |k: usize| {
                let steps = (f64::from(point[k]) - f64::from(self.origin[k])) / f64::from(self.step);
                steps.round().clamp(0.0, 65_535.0) as u16
            };
            [code(0), code(1), code(2), 0]
        };
        points.iter().map(one).collect()
    }
}

/// Shader inputs of a frame, each vector in four floats: the fourth of a tangent is its sign.
#[derive(Default)]
pub struct Floats {
    pub positions: Vec<[f32; 4]>,
    pub normals: Vec<[f32; 4]>,
    pub tangents: Vec<[f32; 4]>,
}

/// Writes positions as floats.
pub fn restore_positions(level: Level, grid: &Grid, from: &[Position], out: &mut Vec<[f32; 4]>) {
    #[inline(always)]
    fn restore(origin: [f32; 4], step: f32, from: &[Position], out: &mut [[f32; 4]]) {
        for (from, out) in from.iter().zip(out) {
            for k in 0..4 {
                out[k] = origin[k] + step * f32::from(from[k]);
            }
        }
    }
    let [x, y, z] = grid.origin;
    out.resize(from.len(), [0.0; 4]);
    dispatch!(level, _simd => restore([x, y, z, 0.0], grid.step, from, out));
}

/// Returns the direction of two octahedral bytes.
#[inline(always)]
fn unfold(x: u8, y: u8) -> [f32; 3] {
    let (x, y) = (f32::from(x as i8), f32::from(y as i8));
    let z = 127.0 - x.abs() - y.abs();
    let folded = (-z).max(0.0);
    let (x, y) = (x - folded.copysign(x), y - folded.copysign(y));
    let scale = 1.0 / (x * x + y * y + z * z).sqrt();
    [x * scale, y * scale, z * scale]
}

/// Writes normals, and tangents with the signs given, as floats of length 1.
pub fn restore_directions(level: Level, from: &[Directions], signs: &[f32], out: &mut Floats) {
    #[inline(always)]
    fn normals(from: &[Directions], out: &mut [[f32; 4]]) {
        for (from, out) in from.iter().zip(out) {
            let [x, y, z] = unfold(from[0], from[1]);
            *out = [x, y, z, 0.0];
        }
    }
    #[inline(always)]
    fn tangents(from: &[Directions], signs: &[f32], out: &mut [[f32; 4]]) {
        for ((from, sign), out) in from.iter().zip(signs).zip(out) {
            let [x, y, z] = unfold(from[2], from[3]);
            *out = [x, y, z, *sign];
        }
    }
    out.normals.resize(from.len(), [0.0; 4]);
    dispatch!(level, _simd => normals(from, &mut out.normals));
    if !signs.is_empty() {
        out.tangents.resize(from.len(), [0.0; 4]);
        dispatch!(level, _simd => tangents(from, signs, &mut out.tangents));
    }
}

/// Returns the octahedral bytes of a direction: of the four around it, the nearest.
pub fn octahedral(direction: [f32; 3]) -> [u8; 2] {
    let v = direction.map(f64::from);
    let sum = v.iter().map(|c| c.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
    let [mut x, mut y] = [v[0] / sum, v[1] / sum];
    if v[2] < 0.0 {
        let turn = |a: f64, b: f64| (1.0 - b.abs()).copysign(a);
        (x, y) = (turn(x, y), turn(y, x));
    }
    let (x, y) = (x * 127.0, y * 127.0);
    let mut best = (f64::NEG_INFINITY, [0; 2]);
    for code in [(x.floor(), y.floor()), (x.ceil(), y.floor()), (x.floor(), y.ceil()), (x.ceil(), y.ceil())] {
        let code = [code.0 as i8 as u8, code.1 as i8 as u8];
        let unfolded = unfold(code[0], code[1]);
        let near = (0..3).map(|k| v[k] * f64::from(unfolded[k])).sum::<f64>();
        if near > best.0 {
            best = (near, code);
        }
    }
    best.1
}

/// Adds differences to the values before, byte by byte or in 16 bits.
pub trait Code: Copy + Default + PartialEq + 'static {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// Maps small numbers of either sign to small numbers, and back.
    fn zigzag(self) -> Self;
    fn unzigzag(self) -> Self;
    /// Its bytes, the lower one first; a byte has no second one.
    fn to_planes(self) -> [u8; 2];
    fn from_planes(bytes: [u8; 2]) -> Self;
    const BYTES: usize;
}

macro_rules! code {
    ($type:ty, $signed:ty, $bytes:literal) => {
        impl Code for $type {
            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: $type) -> $type {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn zigzag(self) -> $type {
                (self << 1) ^ ((self as $signed) >> (<$type>::BITS - 1)) as $type
            }
            #[inline(always)]
            fn unzigzag(self) -> $type {
                (self >> 1) ^ (self & 1).wrapping_neg()
            }
            #[inline(always)]
            fn to_planes(self) -> [u8; 2] {
                u16::from(self).to_le_bytes()
            }
            #[inline(always)]
            fn from_planes(bytes: [u8; 2]) -> $type {
                u16::from_le_bytes(bytes) as $type
            }
            const BYTES: usize = $bytes;
        }
    };
}
code!(u8, i8, 1);
code!(u16, i16, 2);

/// Adds `change` to `values`.
pub fn add<T: Code>(level: Level, values: &mut [[T; 4]], change: &[[T; 4]]) {
    #[inline(always)]
    fn sum<T: Code>(values: &mut [[T; 4]], change: &[[T; 4]]) {
        for (value, change) in values.iter_mut().zip(change) {
            for k in 0..4 {
                value[k] = value[k].plus(change[k]);
            }
        }
    }
    dispatch!(level, _simd => sum(values, change));
}

/// Adds the changes in planes of bytes, each as long as `values`: of the first number the lower bytes, then
/// the higher ones; and so on.
pub fn add_planes<T: Code>(level: Level, values: &mut [[T; 4]], planes: &[u8]) {
    #[inline(always)]
    fn sum<T: Code>(values: &mut [[T; 4]], low: [&[u8]; 4], high: [&[u8]; 4]) {
        let count = values.len();
        let [low, high] = [low, high].map(|planes| planes.map(|plane| &plane[..count]));
        for v in 0..count {
            for k in 0..4 {
                let change = T::from_planes([low[k][v], high[k][v]]).unzigzag();
                values[v][k] = values[v][k].plus(change);
            }
        }
    }
    let count = values.len();
    let plane = |number: usize| &planes[number * count..(number + 1) * count];
    let low = [0, 1, 2, 3].map(|k| plane(k * T::BYTES));
    let high = [0, 1, 2, 3].map(|k| plane((k + 1) * T::BYTES - 1));
    dispatch!(level, _simd => sum(values, low, high));
}

/// The largest errors of a peer's decoded output.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// Largest distance of a position.
    pub position: f64,
    /// Largest angle of a normal in degrees; `None` without normals.
    pub normal: Option<f64>,
}

impl Errors {
    /// Compares the floats of a frame, `stride` numbers per vector, with their source. A missing value is an
    /// infinite error.
    pub fn add(&mut self, source: &Frame, positions: &[f32], normals: &[f32], stride: usize) {
        let distance = |(a, b): (&[f32; 3], &[f32])| {
            (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum::<f64>().sqrt()
        };
        // A NaN is larger than everything.
        let larger = |a: f64, b: f64| if b.is_nan() || b > a { b } else { a };
        let whole = positions.len() == stride * source.positions.len();
        let worst = source.positions.iter().zip(positions.chunks_exact(stride)).map(distance);
        let worst = worst.fold(if whole { 0.0 } else { f64::INFINITY }, larger);
        self.position = larger(self.position, worst);
        if source.normals.is_empty() {
            return;
        }
        let angle = |(a, b): (&[f32; 3], &[f32])| {
            let (a, b) = (a.map(f64::from), [b[0], b[1], b[2]].map(f64::from));
            let [a, b] = [a, b].map(glam::DVec3::from_array);
            a.cross(b).length().atan2(a.dot(b)).to_degrees()
        };
        let whole = normals.len() == stride * source.normals.len();
        // Where a face has no area its normal points nowhere.
        let pairs = source.normals.iter().zip(normals.chunks_exact(stride));
        let worst = pairs.filter(|(a, _)| a.iter().any(|c| *c != 0.0)).map(angle);
        let worst = worst.fold(if whole { 0.0 } else { f64::INFINITY }, larger);
        self.normal = Some(larger(self.normal.unwrap_or(0.0), worst));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octahedral_bytes_are_within_a_degree() {
        let mut dice = crate::dice::Dice::new(3);
        let mut worst = 0.0f64;
        for _ in 0..4000 {
            let v = dice.vector().normalize().as_vec3();
            let [x, y] = octahedral(v.to_array());
            let mut out = Floats::default();
            restore_directions(Level::new(), &[[x, y, 0, 0]], &[], &mut out);
            let back = glam::Vec4::from_array(out.normals[0]).truncate();
            assert!((back.length() - 1.0).abs() < 1e-6);
            worst = worst.max(f64::from(v.cross(back).length().atan2(v.dot(back))).to_degrees());
        }
        assert!(worst > 0.3 && worst < 1.0, "{worst}");
    }

    #[test]
    fn codes_come_back() {
        for value in 0..=255u8 {
            assert_eq!(value.zigzag().unzigzag(), value);
            assert_eq!(u8::from_planes(value.to_planes()), value);
        }
        for value in [0, 1, 255, 256, 32_767, 32_768, 65_535u16] {
            assert_eq!(value.zigzag().unzigzag(), value);
            assert_eq!(u16::from_planes(value.to_planes()), value);
        }
        assert_eq!((u16::MAX.zigzag(), 1u16.zigzag()), (1, 2));
    }
}
