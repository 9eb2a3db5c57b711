//! Blocks of sixteen items, for kernels over many vertices that benefit from sixteen side by side. An
//! instruction set processes a block in parts, of one, four, eight or all items.

use super::traits::{IntegerPoint, Number};

/// The number of items of a block.
pub(crate) const BLOCK: usize = 16;

/// The indices of the items of a block.
pub(crate) type BlockRow = [u32; BLOCK];

/// The numbers of a part of a block, with their loads and stores.
pub(crate) trait Part: Number {
    /// The number of parts of a block.
    const PARTS: usize;
    /// Integers of 32 bits.
    type Whole: Copy;

    fn load(from: &[f32; BLOCK], part: usize) -> Self;
    fn load_i16(from: &[i16; BLOCK], part: usize) -> Self;
    fn points<P: IntegerPoint>(points: &[P], at: &BlockRow, part: usize) -> [Self::Whole; 3];
    /// Returns `a − b`, wrapping.
    fn difference(a: Self::Whole, b: Self::Whole) -> Self;
    fn vectors(list: &[[f32; 4]], at: &BlockRow, part: usize) -> [Self; 3];
    /// Loads numbers of each plane, for the block that begins at `at`. Panics if the planes are too short.
    fn run(planes: [&[i32]; 3], at: usize, part: usize) -> [Self::Whole; 3];
    /// Stores numbers to each plane.
    fn store_run(v: [Self::Whole; 3], planes: [&mut [i32; BLOCK]; 3], part: usize);
    /// Stores vectors; the fourth component becomes zero.
    #[inline(always)]
    fn store_vectors([x, y, z]: [Self; 3], out: &mut [[f32; 4]; BLOCK], part: usize) {
        Self::store_fours([x, y, z, Self::splat(0.0)], out, part);
    }
    /// Stores vectors of four.
    fn store_fours(v: [Self; 4], out: &mut [[f32; 4]; BLOCK], part: usize);
    /// Stores vectors of three.
    #[inline(always)]
    fn store_threes(v: [Self; 3], out: &mut [[f32; 3]; BLOCK], part: usize) {
        let mut rows = [[0.0; 4]; BLOCK];
        Self::store_vectors(v, &mut rows, part);
        let own = part * (BLOCK / Self::PARTS)..(part + 1) * (BLOCK / Self::PARTS);
        for (out, row) in out[own.clone()].iter_mut().zip(&rows[own]) {
            *out = [row[0], row[1], row[2]];
        }
    }
}

/// A kernel and its arguments. `run` must be `#[inline(always)]`, like everything that it calls; closures in
/// it would not be compiled for the instruction set.
pub(crate) trait BlockTask {
    fn run<L: Part>(self);
}

/// One item at a time, for rare cases, and for encoders that inspect single items.
impl Part for f32 {
    const PARTS: usize = BLOCK;
    type Whole = i32;

    #[inline(always)]
    fn load(from: &[f32; BLOCK], part: usize) -> f32 {
        from[part]
    }
    #[inline(always)]
    fn load_i16(from: &[i16; BLOCK], part: usize) -> f32 {
        f32::from(from[part])
    }
    #[inline(always)]
    fn points<P: IntegerPoint>(points: &[P], at: &BlockRow, part: usize) -> [i32; 3] {
        let [x, y, z, ..] = points[at[part] as usize].wide();
        [x, y, z]
    }
    #[inline(always)]
    fn difference(a: i32, b: i32) -> f32 {
        a.wrapping_sub(b) as f32
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &BlockRow, part: usize) -> [f32; 3] {
        let [x, y, z, _] = list[at[part] as usize];
        [x, y, z]
    }
    #[inline(always)]
    fn run(planes: [&[i32]; 3], at: usize, part: usize) -> [i32; 3] {
        planes.map(|plane| plane[at + part])
    }
    #[inline(always)]
    fn store_run(v: [i32; 3], planes: [&mut [i32; BLOCK]; 3], part: usize) {
        for (plane, v) in planes.into_iter().zip(v) {
            plane[part] = v;
        }
    }
    #[inline(always)]
    fn store_fours(v: [f32; 4], out: &mut [[f32; 4]; BLOCK], part: usize) {
        out[part] = v;
    }
}
