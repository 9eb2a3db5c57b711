//! AVX2: all components of a vertex in one register, as 16-bit words. Two to three times as fast as the
//! reference.
//!
//! Only one vertex can be computed at a time: most are predicted from the one before. So the component planes
//! are interleaved into vectors of four, in a ring buffer that reaches as far back as a table can; there one
//! load reads a neighbour and one store writes the result. The ring is filled with residuals and
//! deinterleaved block by block.
//!
//! ```text
//! weighted   (edge·(B + C) + apex·A + 64) >> 7 = two multiply-and-add of pairs: (B, C)·(edge, edge) + (A, ·)·(apex, ·)
//!            unsigned words are moved into the signed range first, and a constant puts that right
//! ```

#![allow(unsafe_code)]

use super::rule::{MAX_LOOK_BACK, NO_TRIANGLE, PredictionRule, SpatialPrediction, TriangleWeights};
use crate::simd::isa::Avx2;
use std::arch::x86_64::*;

/// The number of vertices in the ring: the reach of a table, and a block.
const RING: usize = 2 * MAX_LOOK_BACK as usize;
/// The number of vertices that are interleaved at a time; it divides the ring.
const BLOCK: usize = 512;

/// The words of one vertex.
type Vector = [u16; 4];

/// Computes `values = residuals + prediction`, component-major, `N` components per vertex, for as many
/// vertices as `table` has. Every entry must point to a vertex before its own, at most `MAX_LOOK_BACK` back;
/// otherwise the result is meaningless.
pub(super) fn reconstruct<const N: usize>(
    _: Avx2,
    rule: PredictionRule,
    signed: bool,
    table: &[[u16; 3]],
    values: &mut [u16],
) {
    let planes = planes::<N>(values, table.len());
    // SAFETY: the argument proves that the machine has AVX2.
    unsafe {
        match (rule, signed) {
            (PredictionRule::Usual(SpatialPrediction::Parallelogram), _) => {
                reconstruct_ring(table, planes, Parallelogram)
            }
            (PredictionRule::Usual(SpatialPrediction::Average), true) => {
                reconstruct_ring(table, planes, Average::<true>)
            }
            (PredictionRule::Usual(SpatialPrediction::Average), false) => {
                reconstruct_ring(table, planes, Average::<false>)
            }
            (PredictionRule::Weighted(weights), true) => {
                reconstruct_ring(table, planes, Weighted::<true>::new(weights))
            }
            (PredictionRule::Weighted(weights), false) => {
                reconstruct_ring(table, planes, Weighted::<false>::new(weights))
            }
        }
    }
}

fn planes<const N: usize>(values: &mut [u16], count: usize) -> [&mut [u16]; N] {
    assert_eq!(values.len(), N * count);
    let mut rest = values;
    std::array::from_fn(|_| {
        let (plane, others) = std::mem::take(&mut rest).split_at_mut(count);
        rest = others;
        plane
    })
}

/// A rule for four words at once, in the low half of a register. Only called if the machine has AVX2.
trait Combine: Copy {
    /// # Safety
    /// The machine has AVX2.
    unsafe fn combine(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i;
}

#[derive(Clone, Copy)]
struct Parallelogram;

impl Combine for Parallelogram {
    #[inline(always)]
    unsafe fn combine(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        // SAFETY: the caller's.
        unsafe { _mm_add_epi16(_mm_sub_epi16(b, a), c) }
    }
}

#[derive(Clone, Copy)]
struct Average<const SIGNED: bool>;

impl<const SIGNED: bool> Combine for Average<SIGNED> {
    #[inline(always)]
    unsafe fn combine(self, _: __m128i, b: __m128i, c: __m128i) -> __m128i {
        // SAFETY: the caller's.
        unsafe {
            // The common bits, plus half of the differing ones.
            let one = _mm_xor_si128(b, c);
            let half = if SIGNED { _mm_srai_epi16::<1>(one) } else { _mm_srli_epi16::<1>(one) };
            _mm_add_epi16(_mm_and_si128(b, c), half)
        }
    }
}

#[derive(Clone, Copy)]
struct Weighted<const SIGNED: bool> {
    edge: __m128i,
    apex: __m128i,
    add: __m128i,
}

impl<const SIGNED: bool> Weighted<SIGNED> {
    #[target_feature(enable = "avx2")]
    fn new(weights: TriangleWeights) -> Self {
        let (edge, apex) = (i16::from(weights.edge), i16::from(weights.apex));
        let moved = if SIGNED { 0 } else { (2 * i32::from(edge) + i32::from(apex)) << 15 };
        Weighted {
            edge: _mm_set1_epi16(edge),
            // The other word of each pair is multiplied by zero.
            apex: _mm_set1_epi32(i32::from(apex) & 0xFFFF),
            add: _mm_set1_epi32(moved + 64),
        }
    }
}

impl<const SIGNED: bool> Combine for Weighted<SIGNED> {
    #[inline(always)]
    unsafe fn combine(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        // SAFETY: the caller's.
        unsafe {
            let signed = |v| match SIGNED {
                true => v,
                false => _mm_xor_si128(v, _mm_set1_epi16(i16::MIN)),
            };
            let edge = _mm_madd_epi16(_mm_unpacklo_epi16(signed(b), signed(c)), self.edge);
            let apex = _mm_madd_epi16(_mm_unpacklo_epi16(signed(a), signed(a)), self.apex);
            let sum = _mm_add_epi32(_mm_add_epi32(apex, self.add), edge);
            // The low half of each sum.
            let low = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
            _mm_shuffle_epi8(_mm_srai_epi32::<7>(sum), low)
        }
    }
}

#[target_feature(enable = "avx2")]
fn reconstruct_ring<R: Combine, const N: usize>(table: &[[u16; 3]], mut planes: [&mut [u16]; N], rule: R) {
    let mut ring = [[0u16; 4]; RING];
    for (block, table) in table.chunks(BLOCK).enumerate() {
        let first = block * BLOCK;
        let slots = first % RING..first % RING + table.len();
        weave(&planes, first, &mut ring[slots.clone()]);
        for (v, &[a, b, c]) in (first..).zip(table) {
            let (b, c) = if a == NO_TRIANGLE { (1, 1) } else { (b, c) };
            let a = if a == NO_TRIANGLE { 1 } else { a };
            // SAFETY: a remainder of the ring's length is inside it; 8 bytes of 8 are read and written.
            unsafe {
                let at = |back: u16| v.wrapping_sub(usize::from(back)) % RING;
                let load = |at: usize| _mm_loadl_epi64(ring.as_ptr().add(at).cast());
                let predicted = rule.combine(load(at(a)), load(at(b)), load(at(c)));
                let value = _mm_add_epi16(load(v % RING), predicted);
                _mm_storel_epi64(ring.as_mut_ptr().add(v % RING).cast(), value);
            }
        }
        unweave(&ring[slots], first, &mut planes);
    }
}

/// Interleaves the vertices from `first` on into vectors; components beyond `N` are zero.
#[target_feature(enable = "avx2")]
fn weave<const N: usize>(planes: &[&mut [u16]; N], first: usize, out: &mut [Vector]) {
    let planes: [&[u16]; N] = std::array::from_fn(|k| &planes[k][first..first + out.len()]);
    let whole = out.len() / 8 * 8;
    for at in (0..whole).step_by(8) {
        let plane = |k: usize| match planes.get(k) {
            // SAFETY: 8 words from `at` on are inside.
            Some(plane) => unsafe { _mm_loadu_si128(plane.as_ptr().add(at).cast()) },
            None => _mm_setzero_si128(),
        };
        let [x, y, z, w] = [plane(0), plane(1), plane(2), plane(3)];
        for (half, xy, zw) in [
            (0, _mm_unpacklo_epi16(x, y), _mm_unpacklo_epi16(z, w)),
            (4, _mm_unpackhi_epi16(x, y), _mm_unpackhi_epi16(z, w)),
        ] {
            // SAFETY: 8 vectors from `at` on are inside.
            unsafe {
                let out = out.as_mut_ptr().add(at + half);
                _mm_storeu_si128(out.cast(), _mm_unpacklo_epi32(xy, zw));
                _mm_storeu_si128(out.add(2).cast(), _mm_unpackhi_epi32(xy, zw));
            }
        }
    }
    for at in whole..out.len() {
        out[at] = std::array::from_fn(|k| planes.get(k).map_or(0, |plane| plane[at]));
    }
}

/// Deinterleaves vectors into the planes, from vertex `first` on.
#[target_feature(enable = "avx2")]
fn unweave<const N: usize>(vectors: &[Vector], first: usize, planes: &mut [&mut [u16]; N]) {
    let whole = vectors.len() / 8 * 8;
    for at in (0..whole).step_by(8) {
        let load = |k: usize| {
            // SAFETY: 8 vectors from `at` on are inside.
            unsafe { _mm_loadu_si128(vectors.as_ptr().add(at + 2 * k).cast()) }
        };
        let pair = |k: usize| {
            let (low, high) = (load(k), load(k + 1));
            let (even, odd) = (_mm_unpacklo_epi16(low, high), _mm_unpackhi_epi16(low, high));
            (_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd))
        };
        let ((xy, zw), (xy4, zw4)) = (pair(0), pair(2));
        let found = [
            _mm_unpacklo_epi64(xy, xy4),
            _mm_unpackhi_epi64(xy, xy4),
            _mm_unpacklo_epi64(zw, zw4),
            _mm_unpackhi_epi64(zw, zw4),
        ];
        for (plane, found) in planes.iter_mut().zip(found) {
            let out = &mut plane[first + at..][..8];
            // SAFETY: 8 words of 8.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), found) };
        }
    }
    for at in whole..vectors.len() {
        for (plane, &word) in planes.iter_mut().zip(&vectors[at]) {
            plane[first + at] = word;
        }
    }
}
