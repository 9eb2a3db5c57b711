//! Decodes a bundle with AVX2, with the same results as [`crate::mesh::decode::bundle::decode_scalar`] but
//! five to six times as fast.
//!
//! * **Prediction**: the innovations of a bundle lie side by side, so one 32-byte load is a neighbour in four
//!   frames; weights are multiplied in pairs (`vpmaddwd`), and the magnitudes, fourth in each vector, are
//!   summed with weights of 1.
//! * **Context**: the class of a sum is given by the leading bits of the sum as a float; one gather returns
//!   table and shift.
//! * **Tokens and raw bits**: [`crate::mesh::decode::tokens`].
//! * **Packed residuals**: a gather loads the fields of eight vertices, shifts separate them.
//!
//! The order of vertices in registers is 0 1 4 5 2 3 6 7 ([`VERTEX_ORDER`]), which results from shuffling
//! 4-vectors within register halves.

#![allow(unsafe_code)]

use super::bundle::{Bundle, ReferenceFrame};
use super::neighbour_plan::{LINE, NeighbourPlan};
use super::static_part::StaticPart;
use super::tokens::avx2::{TokenStream, load_i32x8};
use super::unit::{DecodedPoint, UnitResiduals};
use crate::mesh::blocks::{self, BLOCK, BUNDLE, scratch_len};
use crate::mesh::contexts::QUARTER_BITS;
use crate::mesh::pack::avx2::PackedStream;
use crate::schedule::MAX_REFERENCES;
use crate::simd::isa::Avx2;
use std::arch::x86_64::*;

/// Decodes a bundle, with the same results as [`crate::mesh::decode::bundle::decode_scalar`].
///
/// Returns `false` and does nothing if the arguments do not fit this decoder.
pub(super) fn decode(
    _: Avx2,
    plan: &NeighbourPlan,
    s: &StaticPart,
    bundle: &Bundle<i16>,
    source: &mut UnitResiduals,
    out: &mut [&mut [DecodedPoint<i16>]],
    scratch: &mut [DecodedPoint<i16>],
) -> bool {
    let n = plan.points;
    let fits = s.points() == n
        && n > 0
        && scratch.len() >= scratch_len(n)
        && (1..=BUNDLE).contains(&out.len())
        && bundle.heads.len() == out.len()
        && out.iter().all(|o| o.len() == n)
        && bundle.fits(n)
        && !matches!(source, UnitResiduals::Tokens(_) if s.tables.slot_tables().is_none());
    if !fits {
        return false;
    }
    // SAFETY: the first argument proves that AVX2 is available, and all slices have the lengths that the
    // kernel relies on.
    unsafe { decode_bundle(plan, s, bundle, source, out, scratch) };
    true
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn decode_bundle(
    plan: &NeighbourPlan,
    s: &StaticPart,
    bundle: &Bundle<i16>,
    source: &mut UnitResiduals,
    out: &mut [&mut [DecodedPoint<i16>]],
    scratch: &mut [DecodedPoint<i16>],
) {
    let wide = out.len() > 4;
    let kernel = Kernel::new(plan, s, bundle, wide, scratch);
    let mut input = match source {
        UnitResiduals::Zero => Input::Zero,
        UnitResiduals::Tokens(t) => Input::Tokens(TokenStream::new(t)),
        UnitResiduals::Packed(p) => Input::Packed(PackedStream::new(p)),
    };
    let frames = out.len();
    let mut tail = [[[[0i16; 4]; BLOCK]; MAX_REFERENCES + 1]; BUNDLE];
    for level in 0..s.hierarchy.level_count() {
        let rho = |f: usize| bundle.heads.get(f).map_or(0, |h| 4 * i32::from(h.rho[level]));
        let both = |a: i32, b: i32| load_i32x8([a, a, a, a, b, b, b, b]);
        let rho =
            [[both(rho(0), rho(2)), both(rho(1), rho(3))], [both(rho(4), rho(6)), both(rho(5), rho(7))]];
        let range = s.hierarchy.level(level);
        for vertices in blocks::blocks(range.clone()) {
            let start = vertices.start;
            let inside = start + BLOCK <= plan.points;
            let mut block = BlockPointers {
                references: [[std::ptr::null(); MAX_REFERENCES]; BUNDLE],
                out: [std::ptr::null_mut(); BUNDLE],
                frames,
                active: active(vertices.len()),
                count: vertices.len(),
            };
            for f in 0..frames {
                for k in 0..MAX_REFERENCES {
                    let from = match bundle.references[f][k] {
                        ReferenceFrame::Known(frame) => &frame[start..],
                        ReferenceFrame::Inside(frame) => {
                            block.references[f][k] = block.out[frame].cast_const();
                            continue;
                        }
                    };
                    if !inside {
                        tail[f][k][..from.len()].copy_from_slice(from);
                    }
                    let from = if inside { from } else { &tail[f][k][..] };
                    block.references[f][k] = from.as_ptr().cast();
                }
                let to = if inside { &mut out[f][start..] } else { &mut tail[f][MAX_REFERENCES][..] };
                block.out[f] = to.as_mut_ptr().cast();
            }
            let mut predicted = [[_mm256_setzero_si256(); QUADS]; BUNDLE];
            // SAFETY: the block's pointers lead to 16 vertices each; the plan's numbers are in range.
            unsafe {
                match (level, wide) {
                    (0, _) => {}
                    (_, false) => kernel.predict::<1>(start, rho, &mut predicted),
                    (_, true) => kernel.predict::<2>(start, rho, &mut predicted),
                }
                kernel.finish(&block, level == 0, &mut input, &mut predicted);
                kernel.store_innovations(start, &predicted);
            }
            if !inside {
                for (out, tail) in out.iter_mut().zip(&tail) {
                    let rest = &mut out[start..];
                    rest.copy_from_slice(&tail[MAX_REFERENCES][..rest.len()]);
                }
            }
        }
    }
    match (&input, source) {
        (Input::Tokens(stream), UnitResiduals::Tokens(t)) => stream.put_back(t),
        (Input::Packed(fields), UnitResiduals::Packed(p)) => fields.put_back(p),
        _ => {}
    }
}

/// Returns masks of the first `count` of 16 vertices.
#[inline]
#[target_feature(enable = "avx2")]
fn active(count: usize) -> [__m256i; 2] {
    let count = _mm256_set1_epi32(count.min(BLOCK) as i32);
    let first = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    let second = _mm256_add_epi32(first, _mm256_set1_epi32(8));
    [_mm256_cmpgt_epi32(count, first), _mm256_cmpgt_epi32(count, second)]
}

struct Kernel<'a> {
    plan: &'a NeighbourPlan,
    /// The directory of contexts, by frame.
    directory: [*const i32; BUNDLE],
    slots: *const i32,
    step: [__m256i; BUNDLE],
    coefficients: [[__m256i; 2]; BUNDLE],
    /// `true` if there are more than four frames: 64 bytes for each vertex, else 32.
    wide: bool,
    innovation: *mut u8,
}

/// The references, output and size of a block.
#[derive(Clone, Copy)]
struct BlockPointers {
    /// By frame: references and output, from the block's first vertex on.
    references: [[*const __m256i; MAX_REFERENCES]; BUNDLE],
    out: [*mut __m256i; BUNDLE],
    frames: usize,
    active: [__m256i; 2],
    count: usize,
}

/// The number of registers that hold a block: four vectors of i16 each.
const QUADS: usize = BLOCK / 4;

/// The source of the residuals.
#[allow(clippy::large_enum_variant)] // One per unit, on the stack.
enum Input<'a> {
    Zero,
    Tokens(TokenStream<'a>),
    Packed(PackedStream<'a>),
}

/// The low 16 bits of `v >> shift` in each lane, sign-extended, where `left` = 16 − shift.
macro_rules! wrapped {
    ($v:expr, $left:literal) => {
        _mm256_srai_epi32::<16>(_mm256_slli_epi32::<$left>($v))
    };
}

impl<'a> Kernel<'a> {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn new(
        plan: &'a NeighbourPlan,
        s: &'a StaticPart,
        bundle: &'a Bundle<'a, i16>,
        wide: bool,
        scratch: &mut [DecodedPoint<i16>],
    ) -> Kernel<'a> {
        // The tables exist if there are tokens.
        let ready = s.tables.slot_tables();
        // Aligned to cache lines; the scratch memory has room for that.
        let start = scratch.as_mut_ptr().cast::<u8>();
        let innovation = start.wrapping_add(start.addr().wrapping_neg() % LINE);
        let mut coefficients = [[_mm256_setzero_si256(); 2]; BUNDLE];
        for (pairs, head) in coefficients.iter_mut().zip(bundle.heads) {
            let c = head.coefficients.map(|c| c as u16 as u32);
            pairs[0] = _mm256_set1_epi32((c[0] | c[1] << 16) as i32);
            pairs[1] = _mm256_set1_epi32((c[2] | c[3] << 16) as i32);
        }
        Kernel {
            plan,
            directory: (bundle.layers).map(|l| match ready {
                Some(ready) => ready.contexts.directory[l].as_ptr().cast(),
                None => std::ptr::null(),
            }),
            slots: ready.map_or(std::ptr::null(), |ready| ready.slots.as_ptr().cast()),
            step: bundle.layers.map(|l| _mm256_set1_epi16(s.grid.steps[l] as i16)),
            coefficients,
            wide,
            innovation,
        }
    }

    /// Predicts a block over the surface, by frame: x, y, z and the sum of the neighbours' magnitudes.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn predict<const HALVES: usize>(
        &self,
        start: usize,
        rho: [[__m256i; 2]; 2],
        out: &mut [[__m256i; QUADS]; BUNDLE],
    ) {
        let ones = _mm256_set1_epi32(0x0001_0001);
        let half = _mm256_set1_epi32(512);
        for quad in 0..QUADS {
            let mut rows = [[half; 4]; HALVES];
            for v in 0..4 {
                let point = start + 4 * quad + v;
                // SAFETY: the list is padded for a whole block behind the last point.
                let near = |k: usize| unsafe { *self.plan.neighbour_offsets[k].get_unchecked(point) };
                let [o0, o1, o2, o3] = [near(0), near(1), near(2), near(3)];
                let pair = |k: usize| {
                    // SAFETY: two pairs of weights.
                    let pair = unsafe {
                        let weights = self.plan.weights.as_ptr().add(point).cast::<i32>();
                        weights.add(k).read_unaligned()
                    };
                    _mm256_blend_epi32::<0x88>(_mm256_set1_epi32(pair), ones)
                };
                let (w0, w1) = (pair(0), pair(1));
                for h in 0..HALVES {
                    // SAFETY: neighbours are valid points, each with a line, or with half a line if `HALVES`
                    // is 1.
                    let load = |offset: u32| unsafe {
                        let at = offset as usize * HALVES / 2 + 32 * h;
                        _mm256_load_si256(self.innovation.add(at).cast())
                    };
                    let (a, b, c, d) = (load(o0), load(o1), load(o2), load(o3));
                    let low = _mm256_add_epi32(
                        _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w0),
                        _mm256_madd_epi16(_mm256_unpacklo_epi16(c, d), w1),
                    );
                    let high = _mm256_add_epi32(
                        _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w0),
                        _mm256_madd_epi16(_mm256_unpackhi_epi16(c, d), w1),
                    );
                    let scale = |sum: __m256i, rho: __m256i| {
                        let p = _mm256_mullo_epi32(_mm256_srai_epi32::<6>(sum), rho);
                        let p = wrapped!(_mm256_add_epi32(p, half), 6);
                        _mm256_blend_epi32::<0x88>(p, sum)
                    };
                    rows[h][v] = _mm256_packs_epi32(scale(low, rho[h][0]), scale(high, rho[h][1]));
                }
            }
            for h in 0..HALVES {
                let t = transposed(rows[h]);
                for f in 0..4 {
                    out[4 * h + f][quad] = t[f];
                }
            }
        }
    }

    /// Adds residuals and the temporal prediction; turns `predicted` into the innovation.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn finish(
        &self,
        block: &BlockPointers,
        root: bool,
        input: &mut Input,
        predicted: &mut [[__m256i; QUADS]; BUNDLE],
    ) {
        let space = _mm256_set1_epi64x(0x0000_FFFF_FFFF_FFFF);
        for f in 0..block.frames {
            let p = &mut predicted[f];
            let refs = block.references[f];
            // SAFETY: the pointers lead to 16 vertices.
            let load = |k: usize, quad: usize| unsafe { _mm256_loadu_si256(refs[k].add(quad)) };
            let residual = match input {
                Input::Zero => None,
                // SAFETY: the conditions are those of the enclosing function.
                Input::Packed(fields) => unsafe { fields.block(block.count) },
                Input::Tokens(stream) => {
                    let past = |quad: usize| {
                        let max = _mm256_max_epi16(load(0, quad), load(1, quad));
                        _mm256_max_epi16(max, _mm256_setzero_si256())
                    };
                    let past = [fourths(past(0), past(1)), fourths(past(2), past(3))];
                    let near = match root {
                        false => [fourths(p[0], p[1]), fourths(p[2], p[3])],
                        true => [_mm256_slli_epi32::<2>(past[0]), _mm256_slli_epi32::<2>(past[1])],
                    };
                    // SAFETY: the conditions are those of the enclosing function.
                    unsafe {
                        let a = Self::context(self.directory[f], near[0], past[0]);
                        let b = Self::context(self.directory[f], near[1], past[1]);
                        stream.block(self.slots, [a, b], block.active)
                    }
                }
            };
            for quad in 0..QUADS {
                p[quad] = _mm256_and_si256(p[quad], space);
            }
            if let Some(r) = residual {
                let scaled = |v: __m256i| _mm256_mullo_epi16(v, self.step[f]);
                let [x, y, z] = [scaled(r.x), scaled(r.y), scaled(r.z)];
                let size = _mm256_adds_epu16(
                    _mm256_adds_epu16(_mm256_abs_epi16(r.x), _mm256_abs_epi16(r.y)),
                    _mm256_abs_epi16(r.z),
                );
                let size = _mm256_min_epu16(size, _mm256_set1_epi16(4095));
                let xy = [_mm256_unpacklo_epi16(x, y), _mm256_unpackhi_epi16(x, y)];
                let zm = [_mm256_unpacklo_epi16(z, size), _mm256_unpackhi_epi16(z, size)];
                let d = [
                    _mm256_unpacklo_epi32(xy[0], zm[0]),
                    _mm256_unpackhi_epi32(xy[0], zm[0]),
                    _mm256_unpacklo_epi32(xy[1], zm[1]),
                    _mm256_unpackhi_epi32(xy[1], zm[1]),
                ];
                for quad in 0..QUADS {
                    p[quad] = _mm256_add_epi16(p[quad], d[quad]);
                }
            }
            let [ab, cd] = self.coefficients[f];
            for quad in 0..QUADS {
                let [a, b, c, d] = [load(0, quad), load(1, quad), load(2, quad), load(3, quad)];
                let blend = |ab_: __m256i, cd_: __m256i| {
                    let sum = _mm256_add_epi32(_mm256_madd_epi16(ab_, ab), _mm256_madd_epi16(cd_, cd));
                    wrapped!(_mm256_add_epi32(sum, _mm256_set1_epi32(128)), 8)
                };
                let t = _mm256_packs_epi32(
                    blend(_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(c, d)),
                    blend(_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(c, d)),
                );
                let rec = _mm256_add_epi16(_mm256_and_si256(t, space), p[quad]);
                // SAFETY: the pointers lead to 16 vertices.
                unsafe { _mm256_storeu_si256(block.out[f].add(quad), rec) };
            }
        }
    }

    /// Returns the directory entries, table and shift, of eight vertices.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn context(directory: *const i32, near: __m256i, past: __m256i) -> __m256i {
        let classes = _mm256_setr_epi8(
            0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, //
            0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4,
        );
        let past = _mm256_min_epi32(past, _mm256_set1_epi32(15));
        let past = _mm256_shuffle_epi8(classes, past);
        let near = _mm256_sub_ps(_mm256_cvtepi32_ps(near), _mm256_set1_ps(0.5));
        let near = _mm256_castps_si256(_mm256_max_ps(near, _mm256_set1_ps(0.25)));
        let near = _mm256_srli_epi32::<18>(_mm256_sub_epi32(near, _mm256_set1_epi32(QUARTER_BITS)));
        let index = _mm256_or_si256(_mm256_and_si256(near, _mm256_set1_epi32(!7)), past);
        // SAFETY: sums are below 2^17, so the index is below 80 · 8.
        unsafe { _mm256_i32gather_epi32::<4>(directory, index) }
    }

    /// Stores the innovations of all frames side by side.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn store_innovations(&self, start: usize, innovation: &[[__m256i; QUADS]; BUNDLE]) {
        let size = if self.wide { LINE } else { LINE / 2 };
        for quad in 0..QUADS {
            for h in 0..size / 32 {
                let row = |f: usize| innovation[4 * h + f][quad];
                let t = transposed([row(0), row(1), row(2), row(3)]);
                for v in 0..4 {
                    // SAFETY: there is room for a whole block behind the last point.
                    unsafe {
                        let to = self.innovation.add((start + 4 * quad + v) * size + 32 * h);
                        _mm256_store_si256(to.cast(), t[v]);
                    }
                }
            }
        }
    }
}

/// Transposes four rows of four 64-bit values.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab, ba) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (cd, dc) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
    [
        _mm256_permute2x128_si256::<0x20>(ab, cd),
        _mm256_permute2x128_si256::<0x20>(ba, dc),
        _mm256_permute2x128_si256::<0x31>(ab, cd),
        _mm256_permute2x128_si256::<0x31>(ba, dc),
    ]
}

/// Returns the fourth components of eight vectors, in the order of `VERTEX_ORDER`.
#[inline]
#[target_feature(enable = "avx2")]
fn fourths(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    let both = _mm256_castps_si256(_mm256_shuffle_ps::<0xDD>(a, b));
    _mm256_srli_epi32::<16>(both)
}
