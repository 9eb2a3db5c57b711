//! Decoding of a bundle with AVX2: the same bits as [`crate::mesh::decode::bundle::decode_scalar`], five to six times as
//! fast.
//!
//! * **Prediction**: innovations of a bundle lie side by side, so one 32-byte load is a neighbour in four
//!   frames; weights are multiplied in pairs (`vpmaddwd`), and the magnitudes, fourth in each vector, are
//!   summed by weights of 1.
//! * **Context**: the class of a sum is in the leading bits of the sum as a float; table and shift come from
//!   one gather.
//! * **Range coding**: 16 lanes in two registers; slots are gathered, words dealt to the lanes that take one
//!   by a permutation that the mask of these lanes looks up.
//! * **Raw bits**: their numbers follow from the tokens, positions are a prefix sum, a gather fetches all. A
//!   block with an escape or with large shifts is decoded vertex by vertex; one whose tokens are all zero has
//!   none.
//!
//! * **Packed residuals**: a gather fetches the fields of eight vertices, shifts take them apart.
//!
//! Vertices stand in registers in the order 0 1 4 5 2 3 6 7 ([`ORDER`]), as shuffles of 4-vectors within
//! halves give them.

#![allow(unsafe_code)]

use super::bundle::{Bundle, Reference};
use super::first::Static;
use super::plan::{LINE, Plan};
use super::unit::{Source, Tokens, Vector};
use crate::mesh::blocks::{self, BLOCK, BUNDLE, scratch_len};
use crate::mesh::contexts::QUARTER;
use crate::mesh::pack::avx2::Fields;
use crate::mesh::registers::avx2::{ORDER, Padded, Residual, TAKES, TOKEN_BITS, place, sixteen};
use crate::mesh::token::{self, BitReader, ESCAPE, RAW_BITS};
use crate::schedule::REFERENCES;
use crate::simd::isa::Avx2;
use std::arch::x86_64::*;

/// Decodes a bundle; the same as [`crate::mesh::decode::bundle::decode_scalar`].
///
/// False, and nothing done, if the arguments are not what the kernel is for.
pub(super) fn decode(
    _: Avx2,
    plan: &Plan,
    s: &Static,
    bundle: &Bundle<i16>,
    source: &mut Source,
    out: &mut [&mut [Vector<i16>]],
    scratch: &mut [Vector<i16>],
) -> bool {
    let n = plan.points;
    let fits = s.points() == n
        && n > 0
        && scratch.len() >= scratch_len(n)
        && (1..=BUNDLE).contains(&out.len())
        && bundle.heads.len() == out.len()
        && out.iter().all(|o| o.len() == n)
        && bundle.fits(n)
        && !matches!(source, Source::Tokens(_) if s.tables.ready().is_none());
    if !fits {
        return false;
    }
    // SAFETY: AVX2 is there (the first argument says so), and all slices have the lengths that the kernel
    // relies on.
    unsafe { run(plan, s, bundle, source, out, scratch) };
    true
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn run(
    plan: &Plan,
    s: &Static,
    bundle: &Bundle<i16>,
    source: &mut Source,
    out: &mut [&mut [Vector<i16>]],
    scratch: &mut [Vector<i16>],
) {
    let wide = out.len() > 4;
    let kernel = Kernel::new(plan, s, bundle, wide, scratch);
    let mut input = match source {
        Source::Zero => Input::Zero,
        Source::Tokens(t) => Input::Tokens(Stream::new(t)),
        Source::Packed(p) => Input::Packed(Fields::new(p)),
    };
    let frames = out.len();
    let mut tail = [[[[0i16; 4]; BLOCK]; REFERENCES + 1]; BUNDLE];
    for level in 0..s.hierarchy.levels() {
        let rho = |f: usize| bundle.heads.get(f).map_or(0, |h| 4 * i32::from(h.rho[level]));
        let both = |a: i32, b: i32| eight([a, a, a, a, b, b, b, b]);
        let rho =
            [[both(rho(0), rho(2)), both(rho(1), rho(3))], [both(rho(4), rho(6)), both(rho(5), rho(7))]];
        let range = s.hierarchy.level(level);
        for vertices in blocks::blocks(range.clone()) {
            let start = vertices.start;
            let inside = start + BLOCK <= plan.points;
            let mut block = Block {
                references: [[std::ptr::null(); REFERENCES]; BUNDLE],
                out: [std::ptr::null_mut(); BUNDLE],
                frames,
                active: active(vertices.len()),
                count: vertices.len(),
            };
            for f in 0..frames {
                for k in 0..REFERENCES {
                    let from = match bundle.references[f][k] {
                        Reference::Known(frame) => &frame[start..],
                        Reference::Inside(frame) => {
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
                let to = if inside { &mut out[f][start..] } else { &mut tail[f][REFERENCES][..] };
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
                kernel.keep(start, &predicted);
            }
            if !inside {
                for (out, tail) in out.iter_mut().zip(&tail) {
                    let rest = &mut out[start..];
                    rest.copy_from_slice(&tail[REFERENCES][..rest.len()]);
                }
            }
        }
    }
    match (&input, source) {
        (Input::Tokens(stream), Source::Tokens(t)) => stream.put_back(t),
        (Input::Packed(fields), Source::Packed(p)) => fields.put_back(p),
        _ => {}
    }
}

/// Masks of the first `count` of 16 vertices.
#[inline]
#[target_feature(enable = "avx2")]
fn active(count: usize) -> [__m256i; 2] {
    let count = _mm256_set1_epi32(count.min(BLOCK) as i32);
    let first = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    let second = _mm256_add_epi32(first, _mm256_set1_epi32(8));
    [_mm256_cmpgt_epi32(count, first), _mm256_cmpgt_epi32(count, second)]
}

struct Kernel<'a> {
    plan: &'a Plan,
    /// By frame.
    directory: [*const i32; BUNDLE],
    slots: *const i32,
    step: [__m256i; BUNDLE],
    coefficients: [[__m256i; 2]; BUNDLE],
    /// Whether there are more than four frames: 64 bytes for each vertex, else 32.
    wide: bool,
    innovation: *mut u8,
}

/// A block: its frames and place.
#[derive(Clone, Copy)]
struct Block {
    /// By frame: references and output, from its first vertex on.
    references: [[*const __m256i; REFERENCES]; BUNDLE],
    out: [*mut __m256i; BUNDLE],
    frames: usize,
    active: [__m256i; 2],
    count: usize,
}

/// 16 vectors of i16.
const QUADS: usize = BLOCK / 4;

struct Stream<'a> {
    /// Of the first lanes: up to eight, in the order of `ORDER`, and eight more.
    a: __m256i,
    b: __m256i,
    lanes: usize,
    words: Padded<'a>,
    next: usize,
    raw: Padded<'a>,
    bit: usize,
}

const ALL: i32 = -1;

impl<'a> Stream<'a> {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn new(t: &Tokens<'a>) -> Stream<'a> {
        let lanes = |first: usize| ORDER.map(|k| t.rans.states[(first + k) & (t.lanes - 1)] as i32);
        Stream {
            a: eight(lanes(0)),
            b: eight(lanes(8)),
            lanes: t.lanes,
            words: Padded::new(t.rans.words),
            next: t.rans.next,
            raw: Padded::new(t.raw.bytes()),
            bit: t.raw.position(),
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn put_back(&self, t: &mut Tokens<'a>) {
        for (first, half) in [(0, self.a), (8, self.b)] {
            let values = values(half);
            for k in 0..8 {
                let lane = first + ORDER[k];
                if lane < t.lanes {
                    t.rans.states[lane] = values[k] as u32;
                }
            }
        }
        t.rans.next = self.next;
        t.raw = BitReader::at(t.raw.bytes(), self.bit);
    }

    /// Tokens of eight lanes, and their new states.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn step(
        &mut self,
        slots: *const i32,
        x: __m256i,
        table: __m256i,
        active: __m256i,
    ) -> (__m256i, __m256i) {
        let low = _mm256_and_si256(x, _mm256_set1_epi32(4095));
        let index = _mm256_or_si256(_mm256_and_si256(table, _mm256_set1_epi32(0xFF_F000)), low);
        // SAFETY: the table is one of the part's, and a table has 4096 slots.
        let entry = unsafe { _mm256_i32gather_epi32::<4>(slots, index) };
        let token = _mm256_and_si256(entry, _mm256_and_si256(active, _mm256_set1_epi32(255)));
        let high = _mm256_srli_epi32::<12>(x);
        let frequency = _mm256_and_si256(_mm256_srli_epi32::<8>(entry), _mm256_set1_epi32(4095));
        let product = _mm256_add_epi32(_mm256_mullo_epi32(frequency, high), high);
        let new = _mm256_add_epi32(product, _mm256_srli_epi32::<20>(entry));
        let takes = _mm256_cmpeq_epi32(_mm256_srli_epi32::<16>(new), _mm256_setzero_si256());
        let takes = _mm256_and_si256(takes, active);
        let mask = _mm256_movemask_ps(_mm256_castsi256_ps(takes)) as u32;
        // SAFETY: 128 bytes can be read.
        let words = unsafe { _mm_loadu_si128(self.words.at(2 * self.next).cast()) };
        let words = _mm256_cvtepu16_epi32(words);
        // SAFETY: eight bytes of a table.
        let order = unsafe { _mm_loadl_epi64(TAKES[mask as usize].as_ptr().cast()) };
        let words = _mm256_permutevar8x32_epi32(words, _mm256_cvtepu8_epi32(order));
        let refilled = _mm256_or_si256(_mm256_slli_epi32::<16>(new), words);
        let new = _mm256_blendv_epi8(new, refilled, takes);
        self.next += mask.count_ones() as usize;
        (token, _mm256_blendv_epi8(x, new, active))
    }

    /// Tokens of 16 vertices.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn tokens(
        &mut self,
        slots: *const i32,
        context: [__m256i; 2],
        active: [__m256i; 2],
    ) -> (__m256i, __m256i) {
        // SAFETY: as here.
        unsafe {
            if self.lanes < 8 {
                return self.few(slots, context, active);
            }
            let (first, a) = self.step(slots, self.a, context[0], active[0]);
            self.a = a;
            let sixteen = self.lanes == 16;
            let x = if sixteen { self.b } else { self.a };
            let (second, b) = self.step(slots, x, context[1], active[1]);
            if sixteen {
                self.b = b;
            } else {
                self.a = b;
            }
            (first, second)
        }
    }

    /// The same where there are fewer lanes than a register has: one by one.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn few(
        &mut self,
        slots: *const i32,
        context: [__m256i; 2],
        active: [__m256i; 2],
    ) -> (__m256i, __m256i) {
        let (context, active) = (context.map(|x| values(x)), active.map(|x| values(x)));
        let mut states = values(self.a);
        let mut tokens = [[0; 8]; 2];
        // A block takes at most 16 words.
        let words = self.words.at(2 * self.next).cast::<u16>();
        let mut taken = 0;
        for v in 0..16 {
            let (half, lane) = (v / 8, ORDER[v % 8]);
            if active[half][lane] == 0 {
                break;
            }
            let state = &mut states[ORDER[v & (self.lanes - 1)]];
            let x = *state as u32;
            let index = context[half][lane] as u32 & 0xFF_F000 | x & 4095;
            // SAFETY: the table is one of the part's, and a table has 4096 slots; 128 bytes of words can be
            // read.
            let (entry, word) =
                unsafe { (*slots.add(index as usize) as u32, words.add(taken).read_unaligned()) };
            tokens[half][lane] = (entry & 255) as i32;
            let new = ((entry >> 8 & 4095) + 1).wrapping_mul(x >> 12).wrapping_add(entry >> 20);
            let takes = new < 1 << 16;
            *state = if takes { new << 16 | u32::from(word) } else { new } as i32;
            taken += usize::from(takes);
        }
        self.next += taken;
        self.a = eight(states);
        (eight(tokens[0]), eight(tokens[1]))
    }

    /// Residuals of 16 vertices; None if all are zero.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn block(
        &mut self,
        slots: *const i32,
        context: [__m256i; 2],
        active: [__m256i; 2],
    ) -> Option<Residual> {
        // SAFETY: as here.
        let (first, second) = unsafe { self.tokens(slots, context, active) };
        let shift = |n: usize| _mm256_and_si256(_mm256_srli_epi32::<24>(context[n]), active[n]);
        let shifts = [shift(0), shift(1)];
        let shifted = _mm256_or_si256(shifts[0], shifts[1]);
        let any = _mm256_or_si256(first, second);
        if _mm256_testz_si256(shifted, shifted) == 1 {
            if _mm256_testz_si256(any, any) == 1 {
                return None;
            }
            // SAFETY: as here.
            Some(unsafe { self.plain([first, second]) })
        } else {
            // SAFETY: as here.
            Some(unsafe { self.shifted([first, second], shifts, active) })
        }
    }

    /// Bit positions of the vertices from the present one on, and the sum, from their numbers of bits.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn positions(counts: [__m256i; 2]) -> ([__m256i; 2], u32) {
        let sum = |x: __m256i| {
            // To the order of vertices.
            let x = _mm256_permute4x64_epi64::<0xD8>(x);
            let s = _mm256_add_epi32(x, _mm256_slli_si256::<4>(x));
            let s = _mm256_add_epi32(s, _mm256_slli_si256::<8>(s));
            let carry = _mm256_permutevar8x32_epi32(s, _mm256_set1_epi32(3));
            let s = _mm256_add_epi32(s, _mm256_blend_epi32::<0xF0>(_mm256_setzero_si256(), carry));
            (_mm256_sub_epi32(s, x), s)
        };
        let (a, total_a) = sum(counts[0]);
        let (b, total_b) = sum(counts[1]);
        let total = _mm256_permutevar8x32_epi32(total_a, _mm256_set1_epi32(7));
        let b = _mm256_add_epi32(b, total);
        let end = _mm256_extract_epi32::<7>(total_b) + _mm256_extract_epi32::<7>(total_a);
        let back = |x| _mm256_permute4x64_epi64::<0xD8>(x);
        ([back(a), back(b)], end as u32)
    }

    /// At least 25 bits at the positions.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn windows(&self, positions: [__m256i; 2]) -> [__m256i; 2] {
        let from = self.raw.at(self.bit >> 3);
        let bit = _mm256_set1_epi32((self.bit & 7) as i32);
        let window = |p: __m256i| {
            let at = _mm256_add_epi32(p, bit);
            // SAFETY: 16 vertices of at most 25 bits lie within 128 bytes.
            let words = unsafe { _mm256_i32gather_epi32::<1>(from.cast(), _mm256_srli_epi32::<3>(at)) };
            _mm256_srlv_epi32(words, _mm256_and_si256(at, _mm256_set1_epi32(7)))
        };
        [window(positions[0]), window(positions[1])]
    }

    /// Residuals where nothing is shifted.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn plain(&mut self, tokens: [__m256i; 2]) -> Residual {
        let escape = _mm256_set1_epi32(i32::from(ESCAPE));
        let escapes =
            _mm256_or_si256(_mm256_cmpeq_epi32(tokens[0], escape), _mm256_cmpeq_epi32(tokens[1], escape));
        if _mm256_testz_si256(escapes, escapes) == 0 {
            return self.slowly(tokens, [_mm256_setzero_si256(); 2], [_mm256_set1_epi32(ALL); 2]);
        }
        let entry = |t: __m256i| {
            // SAFETY: tokens are below 256.
            unsafe { _mm256_i32gather_epi32::<4>(TOKEN_BITS[0].as_ptr().cast(), t) }
        };
        let entries = [entry(tokens[0]), entry(tokens[1])];
        let bits = |n: usize| _mm256_srli_epi32::<19>(entries[n]);
        let (positions, total) = Self::positions([bits(0), bits(1)]);
        // SAFETY: at most 9 bits per vertex.
        let windows = unsafe { self.windows(positions) };
        self.bit += total as usize;
        let one = _mm256_set1_epi32(1);
        let each = |e: __m256i, mut bits: __m256i| {
            let parity = _mm256_and_si256(_mm256_srli_epi32::<18>(e), one);
            let mut axis = |sign: __m256i, extra: __m256i, base: __m256i| {
                let negative = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_and_si256(bits, sign));
                bits = _mm256_srlv_epi32(bits, sign);
                let low = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(ALL), extra), bits);
                bits = _mm256_srlv_epi32(bits, extra);
                let a = _mm256_add_epi32(base, low);
                let v = _mm256_add_epi32(_mm256_add_epi32(a, a), parity);
                _mm256_sub_epi32(_mm256_xor_si256(v, negative), negative)
            };
            let three = _mm256_set1_epi32(3);
            let seven = _mm256_set1_epi32(7);
            let x = axis(
                _mm256_and_si256(e, one),
                _mm256_and_si256(_mm256_srli_epi32::<3>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<9>(e), seven),
            );
            let y = axis(
                _mm256_and_si256(_mm256_srli_epi32::<1>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<5>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<12>(e), seven),
            );
            let z = axis(
                _mm256_and_si256(_mm256_srli_epi32::<2>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<7>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<15>(e), seven),
            );
            [x, y, z]
        };
        let a = each(entries[0], windows[0]);
        let b = each(entries[1], windows[1]);
        Residual {
            x: _mm256_packs_epi32(a[0], b[0]),
            y: _mm256_packs_epi32(a[1], b[1]),
            z: _mm256_packs_epi32(a[2], b[2]),
        }
    }

    /// Residuals where something is shifted.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn shifted(
        &mut self,
        tokens: [__m256i; 2],
        shifts: [__m256i; 2],
        active: [__m256i; 2],
    ) -> Residual {
        let escape = _mm256_set1_epi32(i32::from(ESCAPE));
        let zero = _mm256_setzero_si256();
        let slow = |n: usize| {
            _mm256_or_si256(
                _mm256_cmpeq_epi32(tokens[n], escape),
                _mm256_cmpgt_epi32(shifts[n], _mm256_set1_epi32(5)),
            )
        };
        let slow = _mm256_or_si256(slow(0), slow(1));
        if _mm256_testz_si256(slow, slow) == 0 {
            return self.slowly(tokens, shifts, active);
        }
        let entry = |n: usize| {
            let shifted = _mm256_cmpgt_epi32(shifts[n], zero);
            let index = _mm256_or_si256(tokens[n], _mm256_and_si256(shifted, _mm256_set1_epi32(256)));
            // SAFETY: tokens are below 256.
            unsafe { _mm256_i32gather_epi32::<4>(TOKEN_BITS.as_ptr().cast(), index) }
        };
        let entries = [entry(0), entry(1)];
        let bits = |n: usize| {
            let thrice = _mm256_add_epi32(shifts[n], _mm256_add_epi32(shifts[n], shifts[n]));
            _mm256_add_epi32(_mm256_srli_epi32::<19>(entries[n]), thrice)
        };
        let (positions, total) = Self::positions([bits(0), bits(1)]);
        // SAFETY: at most 3 + 15 + 6 bits per vertex.
        let windows = unsafe { self.windows(positions) };
        self.bit += total as usize;
        let one = _mm256_set1_epi32(1);
        let each = |n: usize| {
            let (e, k, mut bits) = (entries[n], shifts[n], windows[n]);
            let parity = _mm256_and_si256(_mm256_srli_epi32::<18>(e), one);
            // What −(2a + p) lacks of a negative value: 0 without shift, else 2p − 2.
            let turn = _mm256_and_si256(
                _mm256_cmpgt_epi32(k, zero),
                _mm256_sub_epi32(_mm256_add_epi32(parity, parity), _mm256_set1_epi32(2)),
            );
            let mut axis = |sign: __m256i, extra: __m256i, base: __m256i| {
                let negative = _mm256_sub_epi32(zero, _mm256_and_si256(bits, sign));
                bits = _mm256_srlv_epi32(bits, sign);
                let width = _mm256_add_epi32(extra, k);
                let low = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(ALL), width), bits);
                bits = _mm256_srlv_epi32(bits, width);
                let a = _mm256_add_epi32(_mm256_sllv_epi32(base, k), low);
                let v = _mm256_add_epi32(_mm256_add_epi32(a, a), parity);
                let v = _mm256_sub_epi32(_mm256_xor_si256(v, negative), negative);
                _mm256_add_epi32(v, _mm256_and_si256(negative, turn))
            };
            let three = _mm256_set1_epi32(3);
            let seven = _mm256_set1_epi32(7);
            let x = axis(
                _mm256_and_si256(e, one),
                _mm256_and_si256(_mm256_srli_epi32::<3>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<9>(e), seven),
            );
            let y = axis(
                _mm256_and_si256(_mm256_srli_epi32::<1>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<5>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<12>(e), seven),
            );
            let z = axis(
                _mm256_and_si256(_mm256_srli_epi32::<2>(e), one),
                _mm256_and_si256(_mm256_srli_epi32::<7>(e), three),
                _mm256_and_si256(_mm256_srli_epi32::<15>(e), seven),
            );
            [x, y, z]
        };
        let (a, b) = (each(0), each(1));
        Residual {
            x: _mm256_packs_epi32(a[0], b[0]),
            y: _mm256_packs_epi32(a[1], b[1]),
            z: _mm256_packs_epi32(a[2], b[2]),
        }
    }

    /// Residuals of any kind, one by one.
    #[cold]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn slowly(&mut self, tokens: [__m256i; 2], shifts: [__m256i; 2], active: [__m256i; 2]) -> Residual {
        let tokens = tokens.map(|x| values(x));
        let shifts = shifts.map(|x| values(x));
        let active = active.map(|x| values(x));
        let mut raw = BitReader::at(self.raw.bytes, self.bit);
        let mut out = [[0i16; 16]; 3];
        for v in 0..16 {
            let (half, lane) = (v / 8, ORDER[v % 8]);
            if active[half][lane] == 0 {
                continue;
            }
            let (token, k) = (tokens[half][lane] as u8, shifts[half][lane] as u32);
            let q = if token == ESCAPE {
                [0; 3].map(|_| i32::from(raw.take(16) as u16 as i16))
            } else {
                let q = token::join(token, raw.peek(), k);
                raw.skip(u32::from(RAW_BITS[k as usize][usize::from(token)]));
                q
            };
            for axis in 0..3 {
                out[axis][place(v)] = q[axis] as i16;
            }
        }
        self.bit = raw.position();
        let [x, y, z] = out.map(|v| sixteen(v));
        Residual { x, y, z }
    }
}

/// Where residuals come from.
#[allow(clippy::large_enum_variant)] // One per unit, on the stack.
enum Input<'a> {
    Zero,
    Tokens(Stream<'a>),
    Packed(Fields<'a>),
}

#[inline]
#[target_feature(enable = "avx2")]
fn eight(v: [i32; 8]) -> __m256i {
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(v.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn values(v: __m256i) -> [i32; 8] {
    let mut out = [0; 8];
    // SAFETY: 32 bytes.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), v) };
    out
}

/// The low 16 bits of each, sign-extended, of `v >> shift`, where `left` = 16 − shift.
macro_rules! wrapped {
    ($v:expr, $left:literal) => {
        _mm256_srai_epi32::<16>(_mm256_slli_epi32::<$left>($v))
    };
}

impl<'a> Kernel<'a> {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn new(
        plan: &'a Plan,
        s: &'a Static,
        bundle: &'a Bundle<'a, i16>,
        wide: bool,
        scratch: &mut [Vector<i16>],
    ) -> Kernel<'a> {
        // Tables are there if there are tokens.
        let ready = s.tables.ready();
        // In whole cache lines; there is one vector's worth of them to spare.
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

    /// Spatial prediction of a block: x, y, z and the sum of the neighbours' magnitudes, by frame.
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
                // SAFETY: there are zeros for a whole block behind the last point.
                let near = |k: usize| unsafe { *self.plan.near[k].get_unchecked(point) };
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
                    // SAFETY: neighbours are points, which have a line or, where there is one half, half a
                    // line.
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

    /// Adds residuals and the temporal prediction: from `predicted` becomes the innovation.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn finish(
        &self,
        block: &Block,
        root: bool,
        input: &mut Input,
        predicted: &mut [[__m256i; QUADS]; BUNDLE],
    ) {
        let space = _mm256_set1_epi64x(0x0000_FFFF_FFFF_FFFF);
        for f in 0..block.frames {
            let p = &mut predicted[f];
            let refs = block.references[f];
            // SAFETY: 16 vertices are there.
            let load = |k: usize, quad: usize| unsafe { _mm256_loadu_si256(refs[k].add(quad)) };
            let residual = match input {
                Input::Zero => None,
                // SAFETY: as here.
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
                    // SAFETY: as here.
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
                // SAFETY: 16 vertices are there.
                unsafe { _mm256_storeu_si256(block.out[f].add(quad), rec) };
            }
        }
    }

    /// Table and shift of eight vertices.
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
        let near = _mm256_srli_epi32::<18>(_mm256_sub_epi32(near, _mm256_set1_epi32(QUARTER)));
        let index = _mm256_or_si256(_mm256_and_si256(near, _mm256_set1_epi32(!7)), past);
        // SAFETY: sums are below 2^17, so the index is below 80 · 8.
        unsafe { _mm256_i32gather_epi32::<4>(directory, index) }
    }

    /// Innovations side by side.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn keep(&self, start: usize, innovation: &[[__m256i; QUADS]; BUNDLE]) {
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

/// Rows of four 64-bit values become columns.
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

/// The fourth of eight vectors, in the order of `ORDER`.
#[inline]
#[target_feature(enable = "avx2")]
fn fourths(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    let both = _mm256_castps_si256(_mm256_shuffle_ps::<0xDD>(a, b));
    _mm256_srli_epi32::<16>(both)
}
