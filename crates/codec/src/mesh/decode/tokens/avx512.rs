//! Decodes the tokens and raw bits of sixteen vertices with AVX-512.
//!
//! * **Context**: byte permutations (`vpermi2b`) map sums to classes, and classes to tables.
//! * **Entropy coding**: 16 lanes fill one register. Whether a token is 0 is known without its table: tables
//!   do not fit into the first-level cache, and are read for other tokens only. `vpexpandd` distributes words
//!   to the lanes that take one.
//! * **Raw bits**: numbers of bits follow from the tokens, positions are a prefix sum, and a permutation of
//!   bytes brings each vertex the four bytes that it needs.

#![allow(unsafe_code)]

use super::Input;
use crate::entropy::rans::LANES;
use crate::mesh::blocks::{BLOCK, PointBlock};
use crate::mesh::contexts::{ByteLookup, QUARTER_BITS, REFERENCE_CLASS_LIMIT};
use crate::mesh::decode::kernel::{self, Arguments, BlockContext, ResidualBlocks};
use crate::mesh::decode::unit::{CodedTokens, UnitResiduals};
use crate::mesh::pack::avx512::PackedStream;
use crate::mesh::registers::Register;
use crate::mesh::registers::avx2::{Padded, TOKEN_BITS};
use crate::mesh::registers::avx512::{Vectors, kernel, wide_transposed};
use crate::mesh::table_sets::DecodingTables;
use crate::mesh::token::{self, BitReader, ESCAPE};
use crate::simd::isa;
use fearless_simd::prelude::*;
use fearless_simd::x86::Avx512;
use fearless_simd::{i16x32, i32x16};
use std::arch::x86_64::*;

/// The tables of tokens, in the layouts that this decoder needs.
#[derive(Clone, Copy)]
pub(in crate::mesh::decode) struct TokenTables<'a> {
    lookup: &'a ByteLookup,
    slots: *const i32,
}

impl<'a> TokenTables<'a> {
    /// Returns `None` if there are too many tables.
    pub(in crate::mesh::decode) fn new(tables: &'a DecodingTables) -> Option<TokenTables<'a>> {
        let ready = tables.slot_tables()?;
        Some(TokenTables { lookup: ready.contexts.lookup.as_deref()?, slots: ready.slots.as_ptr().cast() })
    }
}

/// Decodes a bundle of 16-bit positions. Tokens need tables.
pub(in crate::mesh::decode) fn decode(
    isa: isa::Avx512,
    arguments: Arguments<i16>,
    source: &mut UnitResiduals,
) {
    let simd = isa.token();
    let tables = TokenTables::new(&arguments.s.tables);
    simd.vectorize(
        #[inline(always)]
        || {
            let mut residuals = Residuals::new(source, tables);
            kernel::decode::<i16x32<Avx512>, _>(simd, arguments, &mut residuals);
            residuals.put_back(source);
        },
    );
}

/// Decodes a bundle of 32-bit positions. Tokens need tables.
pub(in crate::mesh::decode) fn decode_wide(
    isa: isa::Avx512,
    arguments: Arguments<i32>,
    source: &mut UnitResiduals,
) {
    let simd = isa.token();
    let tables = TokenTables::new(&arguments.s.tables);
    simd.vectorize(
        #[inline(always)]
        || {
            let mut residuals = Residuals::new(source, tables);
            kernel::decode::<i32x16<Avx512>, _>(simd, arguments, &mut residuals);
            residuals.put_back(source);
        },
    );
}

/// Created in [`decode`] and [`decode_wide`] only, where AVX-512 is available.
struct Residuals<'a, 't>(Input<(TokenStream<'a>, TokenTables<'t>), PackedStream<'a>>);

impl<'a, 't> Residuals<'a, 't> {
    #[inline(always)]
    fn new(source: &UnitResiduals<'a>, tables: Option<TokenTables<'t>>) -> Residuals<'a, 't> {
        Residuals(match (source, tables) {
            (UnitResiduals::Tokens(t), Some(tables)) => {
                // SAFETY: AVX-512 is available.
                Input::Tokens((unsafe { TokenStream::new(t) }, tables))
            }
            (UnitResiduals::Packed(p), _) => Input::Packed(PackedStream::new(p)),
            _ => Input::Zero,
        })
    }

    /// Moves the unit to where these have been read.
    #[inline(always)]
    fn put_back(&self, source: &mut UnitResiduals<'a>) {
        match (&self.0, source) {
            // SAFETY: AVX-512 is available.
            (Input::Tokens((stream, _)), UnitResiduals::Tokens(t)) => unsafe { stream.put_back(t) },
            (Input::Packed(fields), UnitResiduals::Packed(p)) => fields.put_back(p),
            _ => {}
        }
    }
}

impl ResidualBlocks<i16x32<Avx512>> for Residuals<'_, '_> {
    #[inline(always)]
    fn next_block(&mut self, block: &BlockContext<i16x32<Avx512>>) -> Option<[i16x32<Avx512>; 2]> {
        let simd = block.predicted[0].token();
        let active = ((1u32 << block.count) - 1) as u16;
        // SAFETY: AVX-512 is available, and contexts are those of the tables.
        let [low, high] = unsafe {
            match &mut self.0 {
                Input::Zero => return None,
                Input::Packed(fields) => match fields.next() {
                    true => fields.block(active),
                    false => return None,
                },
                Input::Tokens((stream, tables)) => {
                    let [near, past] = magnitudes(block.root, *block.predicted, block.references);
                    let context = TablesAndShifts::new(tables.lookup, block.layer, near, past);
                    stream.block(tables.lookup, tables.slots, context, active)?
                }
            }
        };
        Some([low.simd_into(simd), high.simd_into(simd)])
    }
}

kernel! {
/// Returns the sums of the neighbours' magnitudes, and the larger magnitude of two references.
fn magnitudes(root: bool, [p, q]: [i16x32<Avx512>; 2], [a, b]: [&PointBlock<i16>; 2]) -> [__m512i; 2] {
    let simd = p.token();
    let larger = |h: usize| {
        let (a, b) = (i16x32::load(simd, &a[8 * h..]), i16x32::load(simd, &b[8 * h..]));
        _mm512_max_epi16(a.into(), b.into())
    };
    let past = _mm512_max_epi32(fourths([larger(0), larger(1)]), _mm512_setzero_si512());
    let near = match root {
        true => _mm512_slli_epi32::<2>(past),
        false => fourths([p.into(), q.into()]),
    };
    [near, past]
}
}

kernel! {
/// Returns the fourth components of 16 vectors.
fn fourths([a, b]: Vectors) -> __m512i {
    let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    _mm512_srai_epi32::<16>(_mm512_permutex2var_epi32(a, odd, b))
}
}

impl ResidualBlocks<i32x16<Avx512>> for Residuals<'_, '_> {
    #[inline(always)]
    fn next_block(&mut self, block: &BlockContext<i32x16<Avx512>>) -> Option<[i32x16<Avx512>; 4]> {
        let simd = block.predicted[0].token();
        let active = ((1u32 << block.count) - 1) as u16;
        // SAFETY: AVX-512 is available, and contexts are those of the tables.
        let vectors = unsafe {
            match &mut self.0 {
                Input::Zero => return None,
                Input::Packed(fields) => match fields.next() {
                    true => fields.wide_block(active),
                    false => return None,
                },
                Input::Tokens((stream, tables)) => {
                    let [near, past] = kernel::magnitudes(block);
                    let (near, past) = (i32x16::simd_from(simd, near), i32x16::simd_from(simd, past));
                    // A damaged file may give any value here, so negative ones are set to 0.
                    let (near, past) = (near.max(0).into(), past.max(0).into());
                    let context = TablesAndShifts::new(tables.lookup, block.layer, near, past);
                    wide_vectors(stream.axes_block(tables.lookup, tables.slots, context, active)?)
                }
            }
        };
        let [a, b, c, d] = vectors;
        Some([a.simd_into(simd), b.simd_into(simd), c.simd_into(simd), d.simd_into(simd)])
    }
}

kernel! {
/// Returns vectors with their magnitudes.
fn wide_vectors([x, y, z]: [__m512i; 3]) -> [__m512i; 4] {
    // Sums that overflow are negative as signed numbers, and large as unsigned ones.
    let size = _mm512_add_epi32(_mm512_abs_epi32(x), _mm512_abs_epi32(y));
    let size = _mm512_min_epu32(size, _mm512_set1_epi32(1 << 30));
    let size = _mm512_add_epi32(size, _mm512_min_epu32(_mm512_abs_epi32(z), _mm512_set1_epi32(1 << 30)));
    let w = _mm512_min_epu32(size, _mm512_set1_epi32(4095));
    let (xy, zw) = (_mm512_unpacklo_epi32(x, y), _mm512_unpacklo_epi32(z, w));
    let (xy2, zw2) = (_mm512_unpackhi_epi32(x, y), _mm512_unpackhi_epi32(z, w));
    // Row i has the vectors i, i + 4, i + 8, i + 12.
    wide_transposed([
        _mm512_unpacklo_epi64(xy, zw),
        _mm512_unpackhi_epi64(xy, zw),
        _mm512_unpacklo_epi64(xy2, zw2),
        _mm512_unpackhi_epi64(xy2, zw2),
    ])
}
}

/// The mask of the low bytes of double words.
const LOW_BYTES: __mmask64 = 0x1111_1111_1111_1111;

/// The tables and shifts of 16 vertices.
pub(in crate::mesh::decode) struct TablesAndShifts {
    table: __m512i,
    shift: __m512i,
}

impl TablesAndShifts {
    kernel! {
    pub(in crate::mesh::decode) unsafe fn new(lookup: &ByteLookup, layer: usize, near: __m512i, past: __m512i) -> TablesAndShifts {
        // SAFETY: 128 bytes each.
        let find = |bytes: &[u8; 128], index: __m512i| unsafe {
            let low = _mm512_loadu_si512(bytes.as_ptr().cast());
            let high = _mm512_loadu_si512(bytes.as_ptr().add(64).cast());
            _mm512_maskz_permutex2var_epi8(LOW_BYTES, low, index, high)
        };
        let classes = _mm512_broadcast_i32x4(_mm_setr_epi8(
            0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4,
        ));
        let past = _mm512_min_epi32(past, _mm512_set1_epi32(REFERENCE_CLASS_LIMIT as i32 - 1));
        let past = _mm512_shuffle_epi8(classes, past);
        let near = _mm512_sub_ps(_mm512_cvtepi32_ps(near), _mm512_set1_ps(0.5));
        let near = _mm512_castps_si512(_mm512_max_ps(near, _mm512_set1_ps(0.25)));
        let near = _mm512_srli_epi32::<21>(_mm512_sub_epi32(near, _mm512_set1_epi32(QUARTER_BITS)));
        let context = _mm512_add_epi32(find(&lookup.near, near), past);
        TablesAndShifts {
            table: find(&lookup.tables[layer], context),
            shift: find(&lookup.shift, near),
        }
    }
    }
}

pub(in crate::mesh::decode) struct TokenStream<'a> {
    /// The states of the lanes; up to eight lanes are in the lower half.
    states: __m512i,
    lanes: usize,
    words: Padded<'a>,
    next: usize,
    raw: Padded<'a>,
    bit: usize,
}

impl<'a> TokenStream<'a> {
    kernel! {
    pub(in crate::mesh::decode) fn new(t: &CodedTokens<'a>) -> TokenStream<'a> {
        TokenStream {
            // SAFETY: 16 states.
            states: unsafe { _mm512_loadu_si512(t.rans.states.as_ptr().cast()) },
            lanes: t.lanes,
            words: Padded::new(t.rans.words),
            next: t.rans.next,
            raw: Padded::new(t.raw.bytes()),
            bit: t.raw.position(),
        }
    }
    }

    kernel! {
    pub(in crate::mesh::decode) fn put_back(&self, t: &mut CodedTokens<'a>) {
        let states = values(self.states).map(|x| x as u32);
        t.rans.states[..t.lanes].copy_from_slice(&states[..t.lanes]);
        t.rans.next = self.next;
        t.raw = BitReader::at_bit(t.raw.bytes(), self.bit);
    }
    }

    kernel! {
    /// Returns the tokens of the active lanes; 0 for others.
    unsafe fn tokens(
        &mut self,
        lookup: &ByteLookup,
        slots: *const i32,
        table: __m512i,
        active: __mmask16,
    ) -> __m512i {
        let x = self.states;
        let low = _mm512_and_si512(x, _mm512_set1_epi32(4095));
        let high = _mm512_srli_epi32::<12>(x);
        // SAFETY: 32 words.
        let zeros = unsafe { _mm512_loadu_si512(lookup.zeros.as_ptr().cast()) };
        let zeros = _mm512_maskz_permutexvar_epi16(0x5555_5555, table, zeros);
        let others = _mm512_mask_cmpge_epu32_mask(active, low, zeros);
        let (mut frequency, mut offset, mut token) = (zeros, low, _mm512_setzero_si512());
        if others != 0 {
            let index = _mm512_or_si512(_mm512_slli_epi32::<12>(table), low);
            // SAFETY: the table is one of the part's, and each table has 4096 slots.
            let entry = unsafe { _mm512_mask_i32gather_epi32::<4>(token, others, index, slots) };
            token = _mm512_and_si512(entry, _mm512_set1_epi32(255));
            let f = _mm512_and_si512(_mm512_srli_epi32::<8>(entry), _mm512_set1_epi32(4095));
            frequency = _mm512_mask_add_epi32(frequency, others, f, _mm512_set1_epi32(1));
            offset = _mm512_mask_srli_epi32::<20>(offset, others, entry);
        }
        let new = _mm512_add_epi32(_mm512_mullo_epi32(frequency, high), offset);
        let takes = _mm512_mask_cmplt_epu32_mask(active, new, _mm512_set1_epi32(1 << 16));
        // SAFETY: 128 bytes can be read.
        let words = unsafe { _mm256_loadu_si256(self.words.pointer(2 * self.next).cast()) };
        let words = _mm512_maskz_expand_epi32(takes, _mm512_cvtepu16_epi32(words));
        let refilled = _mm512_or_si512(_mm512_slli_epi32::<16>(new), words);
        let new = _mm512_mask_mov_epi32(new, takes, refilled);
        self.states = _mm512_mask_mov_epi32(x, active, new);
        self.next += takes.count_ones() as usize;
        token
    }
    }

    kernel! {
    /// Decodes the tokens of the active vertices, which are the first ones, one by one, if there are fewer
    /// lanes than half a register holds.
    unsafe fn tokens_one_by_one(&mut self, slots: *const i32, table: __m512i, active: __mmask16) -> __m512i {
        let (tables, mut states) = (values(table), values(self.states));
        let mut tokens = [0; BLOCK];
        // A block takes at most 16 words.
        let words = self.words.pointer(2 * self.next).cast::<u16>();
        let mut taken = 0;
        for v in 0..active.count_ones() as usize {
            let state = &mut states[v & (self.lanes - 1)];
            let x = *state as u32;
            let low = x & 4095;
            // SAFETY: the table is one of the part's, and each table has 4096 slots; 128 bytes of words can
            // be read.
            let (entry, word) = unsafe {
                let entry = *slots.add((tables[v] as usize) << 12 | low as usize) as u32;
                (entry, words.add(taken).read_unaligned())
            };
            tokens[v] = (entry & 255) as i32;
            let new = ((entry >> 8 & 4095) + 1).wrapping_mul(x >> 12).wrapping_add(entry >> 20);
            let takes = new < 1 << 16;
            *state = if takes { new << 16 | u32::from(word) } else { new } as i32;
            taken += usize::from(takes);
        }
        self.next += taken;
        // SAFETY: 64 bytes each.
        unsafe {
            self.states = _mm512_loadu_si512(states.as_ptr().cast());
            _mm512_loadu_si512(tokens.as_ptr().cast())
        }
    }
    }

    /// Decodes the tokens of a block from its contexts.
    #[inline(always)]
    unsafe fn block_tokens(
        &mut self,
        lookup: &ByteLookup,
        slots: *const i32,
        table: __m512i,
        active: __mmask16,
    ) -> __m512i {
        // SAFETY: the conditions are those of the enclosing function.
        unsafe {
            if self.lanes == LANES {
                self.tokens(lookup, slots, table, active)
            } else if self.lanes < LANES / 2 {
                self.tokens_one_by_one(slots, table, active)
            } else {
                let first = self.tokens(lookup, slots, table, active & 0xFF);
                let table = _mm512_shuffle_i64x2::<0x4E>(table, table);
                let second = self.tokens(lookup, slots, table, active >> 8);
                _mm512_shuffle_i64x2::<0x44>(first, second)
            }
        }
    }

    /// Decodes the residuals of a block; `None` if all are zero.
    #[inline(always)]
    pub(in crate::mesh::decode) unsafe fn block(
        &mut self,
        lookup: &ByteLookup,
        slots: *const i32,
        context: TablesAndShifts,
        active: __mmask16,
    ) -> Option<Vectors> {
        // SAFETY: the conditions are those of the enclosing function.
        unsafe {
            let tokens = self.block_tokens(lookup, slots, context.table, active);
            let shifts = context.shift;
            match self.raw_bits_kind(tokens, shifts, active) {
                RawBitsKind::Zero => None,
                RawBitsKind::Long => Some(self.long_residuals(tokens, shifts, active)),
                RawBitsKind::Plain => Some(packed_axes(self.axes::<false>(tokens, shifts, active))),
                RawBitsKind::Shifted => Some(packed_axes(self.axes::<true>(tokens, shifts, active))),
            }
        }
    }

    /// Decodes the residuals of a block by axis, with up to 32 bits; `None` if all are zero.
    #[inline(always)]
    pub(in crate::mesh::decode) unsafe fn axes_block(
        &mut self,
        lookup: &ByteLookup,
        slots: *const i32,
        context: TablesAndShifts,
        active: __mmask16,
    ) -> Option<[__m512i; 3]> {
        // SAFETY: the conditions are those of the enclosing function.
        unsafe {
            let tokens = self.block_tokens(lookup, slots, context.table, active);
            let shifts = context.shift;
            match self.raw_bits_kind(tokens, shifts, active) {
                RawBitsKind::Zero => None,
                RawBitsKind::Long => Some(self.long_axes(tokens, shifts, active)),
                RawBitsKind::Plain => Some(self.axes::<false>(tokens, shifts, active)),
                RawBitsKind::Shifted => Some(self.axes::<true>(tokens, shifts, active)),
            }
        }
    }

    kernel! {
    /// Returns the way in which the raw bits of the tokens are read.
    fn raw_bits_kind(&self, tokens: __m512i, shifts: __m512i, active: __mmask16) -> RawBitsKind {
        let escapes = _mm512_cmpeq_epi32_mask(tokens, _mm512_set1_epi32(i32::from(ESCAPE)));
        let wide = _mm512_mask_cmpgt_epi32_mask(active, shifts, _mm512_set1_epi32(5));
        let shifted = _mm512_mask_test_epi32_mask(active, shifts, shifts) != 0;
        if escapes != 0 || wide != 0 {
            RawBitsKind::Long
        } else if shifted {
            RawBitsKind::Shifted
        } else if _mm512_test_epi32_mask(tokens, tokens) == 0 {
            RawBitsKind::Zero
        } else {
            RawBitsKind::Plain
        }
    }
    }

    kernel! {
    /// Decodes residuals of up to 32 bits one by one.
    #[cold]
    unsafe fn long_axes(&mut self, tokens: __m512i, shifts: __m512i, active: __mmask16) -> [__m512i; 3] {
        let (tokens, shifts) = (values(tokens), values(shifts));
        let mut bits = BitReader::at_bit(self.raw.bytes, self.bit);
        let mut out = [[0; BLOCK]; 3];
        for v in 0..active.count_ones() as usize {
            let q = token::residual::<i32>(tokens[v] as u8, shifts[v] as u32, &mut bits);
            (out[0][v], out[1][v], out[2][v]) = (q[0], q[1], q[2]);
        }
        self.bit = bits.position();
        // SAFETY: 64 bytes each.
        out.map(|axis| unsafe { _mm512_loadu_si512(axis.as_ptr().cast()) })
    }
    }

    kernel! {
    /// Decodes residuals by axis, of tokens without escapes and with shifts of at most 5.
    unsafe fn axes<const SHIFTED: bool>(
        &mut self,
        tokens: __m512i,
        shifts: __m512i,
        active: __mmask16,
    ) -> [__m512i; 3] {
        let zero = _mm512_setzero_si512();
        let one = _mm512_set1_epi32(1);
        let entries = if SHIFTED {
            let shifted = _mm512_test_epi32_mask(shifts, shifts);
            let index = _mm512_mask_add_epi32(tokens, shifted, tokens, _mm512_set1_epi32(256));
            // SAFETY: tokens are below 256.
            unsafe {
                _mm512_mask_i32gather_epi32::<4>(zero, active, index, TOKEN_BITS.as_ptr().cast())
            }
        } else {
            let some = _mm512_test_epi32_mask(tokens, tokens);
            // SAFETY: tokens are below 256. Token 0 has no bits.
            unsafe {
                _mm512_mask_i32gather_epi32::<4>(zero, some, tokens, TOKEN_BITS.as_ptr().cast())
            }
        };
        let k = if SHIFTED { _mm512_maskz_mov_epi32(active, shifts) } else { zero };
        let mut counts = _mm512_srli_epi32::<19>(entries);
        if SHIFTED {
            let thrice = _mm512_add_epi32(k, _mm512_add_epi32(k, k));
            counts = _mm512_add_epi32(counts, thrice);
        }
        // SAFETY: at most 3 + 15 + 6 bits per vertex.
        let mut bits = unsafe { self.windows(counts) };
        let parity = _mm512_and_si512(_mm512_srli_epi32::<18>(entries), one);
        // The difference of a negative value from −(2a + p): 0 without a shift, else 2p − 2.
        let turn = _mm512_maskz_sub_epi32(
            _mm512_test_epi32_mask(k, k),
            _mm512_add_epi32(parity, parity),
            _mm512_set1_epi32(2),
        );
        let mut axis = |sign: __m512i, extra: __m512i, base: __m512i| {
            let negative = _mm512_test_epi32_mask(bits, sign);
            bits = _mm512_srlv_epi32(bits, sign);
            let width = if SHIFTED { _mm512_add_epi32(extra, k) } else { extra };
            let all = _mm512_set1_epi32(-1);
            let low = _mm512_andnot_si512(_mm512_sllv_epi32(all, width), bits);
            bits = _mm512_srlv_epi32(bits, width);
            let base = if SHIFTED { _mm512_sllv_epi32(base, k) } else { base };
            let a = _mm512_add_epi32(base, low);
            let v = _mm512_or_si512(_mm512_add_epi32(a, a), parity);
            let minus = if SHIFTED { turn } else { zero };
            _mm512_mask_sub_epi32(v, negative, minus, v)
        };
        let part = |shift: u32, mask: i32| {
            let shift = _mm_cvtsi32_si128(shift as i32);
            _mm512_and_si512(_mm512_srl_epi32(entries, shift), _mm512_set1_epi32(mask))
        };
        let x = axis(part(0, 1), part(3, 3), part(9, 7));
        let y = axis(part(1, 1), part(5, 3), part(12, 7));
        let z = axis(part(2, 1), part(7, 3), part(15, 7));
        [x, y, z]
    }
    }

    kernel! {
    /// Returns the first bit of each vertex, relative to the byte of the current bit, from their numbers of
    /// bits, and moves behind them.
    fn positions(&mut self, counts: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let sum = _mm512_add_epi32(counts, _mm512_alignr_epi32::<15>(counts, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<14>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<12>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<8>(sum, zero));
        let first = _mm512_set1_epi32((self.bit & 7) as i32);
        let at = _mm512_add_epi32(_mm512_sub_epi32(sum, counts), first);
        let last = _mm_extract_epi32::<3>(_mm512_extracti32x4_epi32::<3>(sum));
        self.bit += last as usize;
        at
    }
    }

    kernel! {
    /// Returns at least 25 bits of each vertex, from their numbers of bits, and moves behind them.
    unsafe fn windows(&mut self, counts: __m512i) -> __m512i {
        // SAFETY: 128 bytes can be read.
        let bytes = unsafe { _mm512_loadu_si512(self.raw.pointer(self.bit >> 3).cast()) };
        let at = self.positions(counts);
        // All lie within 7 + 16 · 24 bits, and four bytes from there within 64.
        let from = _mm512_mullo_epi16(_mm512_srli_epi32::<3>(at), _mm512_set1_epi32(0x0101));
        let from = _mm512_or_si512(from, _mm512_slli_epi32::<16>(from));
        let from = _mm512_add_epi32(from, _mm512_set1_epi32(0x0302_0100));
        let words = _mm512_permutexvar_epi8(from, bytes);
        _mm512_srlv_epi32(words, _mm512_and_si512(at, _mm512_set1_epi32(7)))
    }
    }

    kernel! {
    /// Decodes residuals of any kind: escapes, and more bits than fit into 32-bit windows.
    #[cold]
    unsafe fn long_residuals(
        &mut self,
        tokens: __m512i,
        shifts: __m512i,
        active: __mmask16,
    ) -> Vectors {
        let escapes = _mm512_cmpeq_epi32_mask(tokens, _mm512_set1_epi32(i32::from(ESCAPE)));
        let shifted = _mm512_test_epi32_mask(shifts, shifts);
        let index = _mm512_mask_add_epi32(tokens, shifted, tokens, _mm512_set1_epi32(256));
        // SAFETY: tokens are below 256.
        let entries = unsafe {
            let zero = _mm512_setzero_si512();
            _mm512_mask_i32gather_epi32::<4>(zero, active, index, TOKEN_BITS.as_ptr().cast())
        };
        let k = _mm512_maskz_mov_epi32(active, shifts);
        let thrice = _mm512_add_epi32(k, _mm512_add_epi32(k, k));
        let counts = _mm512_add_epi32(_mm512_srli_epi32::<19>(entries), thrice);
        let counts = _mm512_mask_mov_epi32(counts, escapes, _mm512_set1_epi32(48));
        let bytes = self.raw.pointer(self.bit >> 3);
        let at = self.positions(counts);
        let halves = |x: __m512i| [_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x)];
        let (at, entries, k) = (halves(at), halves(entries), halves(k));
        let [low, high] = [0, 1].map(|h| {
            // SAFETY: all lie within 7 + 16 · 48 bits, and eight bytes from there within 128.
            let window = unsafe {
                _mm512_i32gather_epi64::<1>(_mm256_srli_epi32::<3>(at[h]), bytes.cast())
            };
            let first = _mm256_and_si256(at[h], _mm256_set1_epi32(7));
            let window = _mm512_srlv_epi64(window, _mm512_cvtepu32_epi64(first));
            long_axes(entries[h], k[h], (escapes >> (8 * h)) as u8, window)
        });
        let [x, y, z] = [0, 1, 2].map(|axis| {
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low[axis]), high[axis])
        });
        packed_axes([x, y, z])
    }
    }
}

kernel! {
/// Returns vectors with their magnitudes, from 32-bit axes.
fn packed_axes([x, y, z]: [__m512i; 3]) -> Vectors {
    let size = _mm512_add_epi32(_mm512_abs_epi32(x), _mm512_abs_epi32(y));
    let size = _mm512_add_epi32(size, _mm512_abs_epi32(z));
    joined(x, y, z, _mm512_min_epi32(size, _mm512_set1_epi32(4095)))
}
}

/// The way in which the raw bits of a block's tokens are read.
enum RawBitsKind {
    /// There are no raw bits, and all residuals are zero.
    Zero,
    /// Without shifts.
    Plain,
    /// With shifts of at most 5.
    Shifted,
    /// With escapes or larger shifts.
    Long,
}

kernel! {
/// Decodes the axes of eight vertices, each with an entry of `TOKEN_BITS` and a shift; escapes take their
/// components from the bits directly.
fn long_axes(entries: __m256i, k: __m256i, escapes: __mmask8, window: __m512i) -> [__m256i; 3] {
    let (e, k) = (_mm512_cvtepu32_epi64(entries), _mm512_cvtepu32_epi64(k));
    let one = _mm512_set1_epi64(1);
    let parity = _mm512_and_si512(_mm512_srli_epi64::<18>(e), one);
    // The difference of a negative value from −(2a + p): 0 without a shift, else 2p − 2.
    let turn = _mm512_maskz_sub_epi64(
        _mm512_test_epi64_mask(k, k),
        _mm512_add_epi64(parity, parity),
        _mm512_set1_epi64(2),
    );
    let mut bits = window;
    [(0, 3, 9), (1, 5, 12), (2, 7, 15)].map(|(sign, extra, base)| {
        let part = |shift: i64, mask: i64| {
            let part = _mm512_srl_epi64(e, _mm_cvtsi64_si128(shift));
            _mm512_and_si512(part, _mm512_set1_epi64(mask))
        };
        let place = _mm512_srl_epi64(window, _mm_cvtsi64_si128(16 * sign));
        let sign = part(sign, 1);
        let negative = _mm512_test_epi64_mask(bits, sign);
        bits = _mm512_srlv_epi64(bits, sign);
        let width = _mm512_add_epi64(part(extra, 3), k);
        let low = _mm512_andnot_si512(_mm512_sllv_epi64(_mm512_set1_epi64(-1), width), bits);
        bits = _mm512_srlv_epi64(bits, width);
        let a = _mm512_add_epi64(_mm512_sllv_epi64(part(base, 7), k), low);
        let v = _mm512_or_si512(_mm512_add_epi64(a, a), parity);
        let v = _mm512_mask_sub_epi64(v, negative, turn, v);
        let escaped = _mm512_srai_epi64::<48>(_mm512_slli_epi64::<48>(place));
        _mm512_cvtepi64_epi32(_mm512_mask_mov_epi64(v, escapes, escaped))
    })
}
}

kernel! {
/// Returns vectors from their 16-bit components.
fn joined(x: __m512i, y: __m512i, z: __m512i, size: __m512i) -> Vectors {
    let low = 0x5555_5555;
    let xy = _mm512_mask_mov_epi16(_mm512_slli_epi32::<16>(y), low, x);
    let zs = _mm512_mask_mov_epi16(_mm512_slli_epi32::<16>(size), low, z);
    let first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    [
        _mm512_permutex2var_epi32(xy, first, zs),
        _mm512_permutex2var_epi32(xy, second, zs),
    ]
}
}

kernel! {
fn values(v: __m512i) -> [i32; 16] {
    let mut out = [0; 16];
    // SAFETY: 64 bytes.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), v) };
    out
}
}
