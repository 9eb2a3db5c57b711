//! The reconstruction of 16-bit words with all components of a vertex side by side.
//!
//! Only one vertex can be computed at a time: most are predicted from the one before. So the component planes
//! are interleaved into vectors of four, in a ring buffer that reaches as far back as a table can; there one
//! load reads a neighbour and one store writes the result. The ring is filled with residuals and
//! deinterleaved block by block.
//!
//! ```text
//! weighted   (edge·(B + C) + apex·A + 64) >> 7 = two sums of pairs of products: (B, C)·(edge, edge) + (A, 0)·(apex, 0)
//!            unsigned words are moved into the signed range first, and a constant puts that right
//! ```

use super::rule::{Average, Combine, MAX_LOOK_BACK, NO_TRIANGLE, Parallelogram, TriangleWeights};
use crate::simd::Kernel;
use crate::simd::doubles::Doubles;
use fearless_simd::prelude::*;
use fearless_simd::{i16x8, i32x4, u8x16, u16x8, u64x2};

/// The number of vertices in the ring: the reach of a table, and a block.
const RING: usize = 2 * MAX_LOOK_BACK as usize;
/// The number of vertices that are interleaved at a time; it divides the ring.
const BLOCK: usize = 512;

/// The words of one vertex.
type Vector = [u16; 4];

/// A rule for the words of a vertex at once, in the low half of a vector.
pub(super) trait CombineVectors: Combine {
    /// The numbers that all vertices are multiplied by.
    type Factors<S: Simd>: Copy;
    fn factors<S: Simd>(self, simd: S, signed: bool) -> Self::Factors<S>;
    fn combine_vectors<S: Simd, const SIGNED: bool>(
        factors: Self::Factors<S>,
        a: i16x8<S>,
        b: i16x8<S>,
        c: i16x8<S>,
    ) -> i16x8<S>;
}

impl CombineVectors for Parallelogram {
    type Factors<S: Simd> = ();

    #[inline(always)]
    fn factors<S: Simd>(self, _: S, _: bool) {}

    #[inline(always)]
    fn combine_vectors<S: Simd, const SIGNED: bool>(
        _: (),
        a: i16x8<S>,
        b: i16x8<S>,
        c: i16x8<S>,
    ) -> i16x8<S> {
        b - a + c
    }
}

impl CombineVectors for Average {
    type Factors<S: Simd> = ();

    #[inline(always)]
    fn factors<S: Simd>(self, _: S, _: bool) {}

    #[inline(always)]
    fn combine_vectors<S: Simd, const SIGNED: bool>(
        _: (),
        _: i16x8<S>,
        b: i16x8<S>,
        c: i16x8<S>,
    ) -> i16x8<S> {
        // The common bits, plus half of the differing ones.
        let differing = b ^ c;
        let half = if SIGNED { differing >> 1 } else { (differing.bitcast::<u16x8<S>>() >> 1).bitcast() };
        (b & c) + half
    }
}

impl CombineVectors for TriangleWeights {
    /// The factors of (B, C) and of (A, 0), and what is added.
    type Factors<S: Simd> = (i16x8<S>, i16x8<S>, i32x4<S>);

    #[inline(always)]
    fn factors<S: Simd>(self, simd: S, signed: bool) -> Self::Factors<S> {
        let (edge, apex) = (i16::from(self.edge), i16::from(self.apex));
        let moved = if signed { 0 } else { (2 * i32::from(edge) + i32::from(apex)) << 15 };
        let apex = i16x8::simd_from(simd, [apex, 0, apex, 0, apex, 0, apex, 0]);
        (i16x8::splat(simd, edge), apex, i32x4::splat(simd, moved + 64))
    }

    #[inline(always)]
    fn combine_vectors<S: Simd, const SIGNED: bool>(
        (edge, apex, add): Self::Factors<S>,
        a: i16x8<S>,
        b: i16x8<S>,
        c: i16x8<S>,
    ) -> i16x8<S> {
        let flip = if SIGNED { 0 } else { i16::MIN };
        let (a, b, c) = (a ^ flip, b ^ flip, c ^ flip);
        let edge = b.zip_low(c).pairwise_dot_product(edge);
        let sum = (a.zip_low(a).pairwise_dot_product(apex) + add + edge) >> 7;
        // The low half of each sum.
        const LOW_HALVES: [u8; 16] = [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13];
        let low = u8x16::simd_from(a.token(), LOW_HALVES);
        sum.bitcast::<u8x16<S>>().swizzle_dyn_within_blocks(low).bitcast()
    }
}

/// Computes `values = residuals + prediction` for as many vertices as `table` has. Every entry must point to
/// a vertex before its own, at most `MAX_LOOK_BACK` back; otherwise the result is meaningless.
pub(super) struct Reconstruction<'a, R, const N: usize> {
    pub(super) rule: R,
    pub(super) signed: bool,
    pub(super) table: &'a [[u16; 3]],
    pub(super) planes: [&'a mut [u16]; N],
}

impl<R: CombineVectors, const N: usize> Kernel for Reconstruction<'_, R, N> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(mut self, simd: S) {
        // Compiled for each, so that no vertex asks.
        if self.signed { self.reconstruct::<S, true>(simd) } else { self.reconstruct::<S, false>(simd) }
    }
}

impl<R: CombineVectors, const N: usize> Reconstruction<'_, R, N> {
    #[inline(always)]
    fn reconstruct<S: Simd, const SIGNED: bool>(&mut self, simd: S) {
        let factors = self.rule.factors(simd, SIGNED);
        let mut ring = [[0u16; 4]; RING];
        for (block, table) in self.table.chunks(BLOCK).enumerate() {
            let first = block * BLOCK;
            let slots = first % RING..first % RING + table.len();
            interleave(simd, &self.planes, first, &mut ring[slots.clone()]);
            for (v, &[a, b, c]) in (first..).zip(table) {
                let (b, c) = if a == NO_TRIANGLE { (1, 1) } else { (b, c) };
                let a = if a == NO_TRIANGLE { 1 } else { a };
                let at = |back: u16| load(simd, ring[v.wrapping_sub(usize::from(back)) % RING]);
                let predicted = R::combine_vectors::<S, SIGNED>(factors, at(a), at(b), at(c));
                ring[v % RING] = bytemuck::cast((at(0) + predicted).bitcast::<u64x2<S>>().to_array()[0]);
            }
            deinterleave(simd, &ring[slots], first, &mut self.planes);
        }
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, words: Vector) -> i16x8<S> {
    u64x2::simd_from(simd, [bytemuck::cast(words), 0]).bitcast()
}

/// Interleaves the vertices from `first` on into vectors; components beyond `N` are zero.
#[inline(always)]
fn interleave<S: Simd, const N: usize>(simd: S, planes: &[&mut [u16]; N], first: usize, out: &mut [Vector]) {
    let planes: [&[u16]; N] = std::array::from_fn(|k| &planes[k][first..first + out.len()]);
    let (eights, rest) = out.as_chunks_mut::<8>();
    for (v, out) in (0..).step_by(8).zip(eights.iter_mut()) {
        let mut vectors = [u16x8::splat(simd, 0); 4];
        for (vector, plane) in vectors.iter_mut().zip(planes) {
            *vector = u16x8::from_slice(simd, &plane[v..][..8]);
        }
        u16x8::store_four_interleaved(vectors, out.as_flattened_mut());
    }
    for (v, out) in (8 * eights.len()..).zip(rest) {
        for (out, plane) in out.iter_mut().zip(planes) {
            *out = plane[v];
        }
    }
}

/// Deinterleaves vectors into the planes, from vertex `first` on.
#[inline(always)]
fn deinterleave<S: Simd, const N: usize>(
    simd: S,
    vectors: &[Vector],
    first: usize,
    planes: &mut [&mut [u16]; N],
) {
    let (eights, rest) = vectors.as_chunks::<8>();
    for (v, eight) in (first..).step_by(8).zip(eights) {
        let components = u16x8::load_four_interleaved(simd, eight.as_flattened());
        for (plane, component) in planes.iter_mut().zip(components) {
            component.store_slice(&mut plane[v..][..8]);
        }
    }
    for (v, vector) in (first + 8 * eights.len()..).zip(rest) {
        for (plane, &word) in planes.iter_mut().zip(vector) {
            plane[v] = word;
        }
    }
}
