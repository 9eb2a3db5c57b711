//! Residuals of moving nodes as bit fields, for files that must be decoded at the speed of memory. No states,
//! no contexts; a few lookups for eight nodes.
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 1 | `kind` | 0: all residuals are 0, and nothing follows · 1: the fields below follow |
//! | ⌈blocks · frames / 8⌉ | `flags` | a bit per block and frame, lowest first: 1 if some residual is not 0 |
//! | varint + … | `codes` | per flag that is 1: a width code of four bits per node, lowest first, for each of translation, rotation, scale that moves, or once if nothing moves: 4 bytes each |
//! | varint + … | `apart` | for each node whose first width code is 15: class, then its residuals as varints in zigzag, or for class 7 its transform, 10 × f32 |
//! | rest | `fields` | per flag that is 1, beginning at a new byte: node by node the residuals of all other nodes, each with as many bits as the width code of its part says, lowest first, in two's complement |
//!
//! Bits by code:
//!
//! ```numbers widths
//! 0 2 3 4 5 6 7 8 9 10 11 12 14 16 19 0
//! ```

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
use crate::clip::nodes::blocks::{
    BlockContexts, MAX_COMPONENTS, NodeBlock, NodeResiduals, RAW_CLASS, ResidualSource, ResidualSummary,
};
use crate::quantize::code::Code;
use crate::simd::doubles::{self, Doubles, LANES, WIDEST, WINDOW};
use crate::transform::Transform;
use fearless_simd::f64x8;
use fearless_simd::prelude::*;

/// Bits by code. Part of the format, like everything in this file.
const WIDTHS: [u8; 16] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 19, 0];
/// The code of a node whose residuals are stored apart.
const APART: u8 = 15;

// The fields of eight nodes end within the window, and the code `APART` is four bits that are all set.
const _: () = assert!(LANES * MAX_COMPONENTS * WIDEST / 8 < 256 && APART == 15);

/// Returns the code of the narrowest fields that hold all of these residuals.
#[cfg(feature = "encode")]
pub(super) fn width_code(residuals: &[i32]) -> Option<u8> {
    let width = |k: &i32| if *k == 0 { 0 } else { 33 - (k ^ (k >> 31)).leading_zeros() };
    let most = residuals.iter().map(width).max().unwrap_or(0);
    (0..APART).find(|&code| u32::from(WIDTHS[usize::from(code)]) >= most)
}

/// Returns the bits that a part with these residuals takes, besides its code.
#[cfg(feature = "encode")]
pub(super) fn field_bits(residuals: &[i32]) -> u32 {
    let own = |k: &i32| 8 * (1 + (33 - (k ^ (k >> 31)).leading_zeros()) / 7);
    match width_code(residuals) {
        Some(code) => 3 * u32::from(WIDTHS[usize::from(code)]),
        None => residuals.iter().map(own).sum(),
    }
}

/// The sections of an access unit while it is packed.
#[cfg(feature = "encode")]
#[derive(Default)]
pub(super) struct Packer {
    flags: Vec<bool>,
    codes: Vec<u8>,
    apart: Vec<u8>,
    fields: Vec<u8>,
}

#[cfg(feature = "encode")]
impl Packer {
    /// Appends the choices of a block in a frame, by lane.
    pub fn push_block(&mut self, block: &NodeBlock, choices: &[NodeResiduals]) {
        let filled = choices.iter().any(|c| c.class == RAW_CLASS || c.k != [0; MAX_COMPONENTS]);
        self.flags.push(filled);
        if !filled {
            return;
        }
        let parts = block.moves.iter().filter(|moves| **moves).count();
        let mut codes = [[0u8; LANES]; 3];
        let (mut bits, mut count) = (0u128, 0);
        for (lane, choice) in choices.iter().enumerate() {
            let own: Vec<&[i32]> = choice.k.chunks(3).take(parts).collect();
            let of_parts: Option<Vec<u8>> = own.iter().map(|k| width_code(k)).collect();
            let Some(of_parts) = of_parts.filter(|_| choice.class <= 1) else {
                codes.iter_mut().for_each(|codes| codes[lane] = APART);
                self.push_apart(choice, 3 * parts);
                continue;
            };
            for (p, (k, code)) in own.iter().zip(of_parts).enumerate() {
                codes[p][lane] = code;
                let width = u32::from(WIDTHS[usize::from(code)]);
                for k in *k {
                    bits |= u128::from(*k as u32 & ((1 << width) - 1)) << count;
                    count += width;
                    while count >= 8 {
                        self.fields.push(bits as u8);
                        (bits, count) = (bits >> 8, count - 8);
                    }
                }
            }
        }
        if count > 0 {
            self.fields.push(bits as u8);
        }
        for codes in &codes[..parts.max(1)] {
            self.codes.extend(codes.chunks(2).map(|two| two[0] | two[1] << 4));
        }
    }

    fn push_apart(&mut self, choice: &NodeResiduals, components: usize) {
        self.apart.push(choice.class);
        if choice.class == RAW_CLASS {
            let raw = &choice.raw;
            let all = raw.rotation.iter().chain(&raw.translation).chain(&raw.scale);
            self.apart.extend(all.flat_map(|v| v.to_le_bytes()));
            return;
        }
        for k in &choice.k[..components] {
            put_varint((*k as u32).zigzag(), &mut self.apart);
        }
    }

    /// Appends the sections to an access unit.
    pub fn finish(self, out: &mut Vec<u8>) {
        let some = self.flags.contains(&true);
        out.push(u8::from(some));
        if !some {
            return;
        }
        let bits = |eight: &[bool]| (0..).zip(eight).fold(0u8, |bits, (k, &flag)| bits | u8::from(flag) << k);
        out.extend(self.flags.chunks(8).map(bits));
        put_length_prefixed(&self.codes, out);
        put_length_prefixed(&self.apart, out);
        out.extend(self.fields);
    }
}

/// The sections of an access unit while it is unpacked.
pub(super) struct Unpacker<'a> {
    flags: &'a [u8],
    /// The number of the next flag.
    flag: usize,
    codes: &'a [[u8; 4]],
    apart: Cursor<'a>,
    fields: &'a [u8],
}

impl<'a> Unpacker<'a> {
    /// Splits the bytes of an access unit; `eights` is the number of blocks in all frames together.
    pub fn new(bytes: &'a [u8], eights: usize) -> Result<Unpacker<'a>, Corrupt> {
        let mut c = Cursor::new(bytes);
        let (flags, codes, apart) = match c.u8()? {
            0 => (&[][..], &[][..], &[][..]),
            1 => (c.bytes(eights.div_ceil(8))?, c.length_prefixed()?, c.length_prefixed()?),
            _ => return Err(Corrupt("nodes: unknown kind of unit")),
        };
        let (codes, left) = codes.as_chunks();
        if !left.is_empty() {
            return Err(Corrupt("nodes: codes that are cut short"));
        }
        // Bits after the last flag must be 0.
        if flags.last().is_some_and(|last| !eights.is_multiple_of(8) && last >> (eights % 8) != 0) {
            return Err(Corrupt("nodes: flags of no nodes"));
        }
        Ok(Unpacker { flags, flag: 0, codes, apart: Cursor::new(apart), fields: c.bytes(c.left())? })
    }

    /// Refuses bytes that were not used.
    pub fn finish(&self) -> Result<(), Corrupt> {
        match self.codes.is_empty() && self.apart.left() == 0 && self.fields.is_empty() {
            true => Ok(()),
            false => Err(Corrupt("nodes: bytes left over")),
        }
    }

    /// Reads the separately stored κ of a node, or its transform, for which it returns `None`.
    fn read_apart(
        &mut self,
        components: usize,
        raw: &mut Transform,
    ) -> Result<Option<[i32; MAX_COMPONENTS]>, Corrupt> {
        let class = self.apart.u8()?;
        match class {
            1..RAW_CLASS => {
                let mut kappas = [0; MAX_COMPONENTS];
                for kappa in &mut kappas[..components] {
                    let k = i64::from(self.apart.varint()?.unzigzag() as i32);
                    *kappa = (k * (32 >> (class - 1))).clamp(-(1 << 28), 1 << 28) as i32;
                }
                Ok(Some(kappas))
            }
            RAW_CLASS => {
                let all = raw.rotation.iter_mut().chain(&mut raw.translation).chain(&mut raw.scale);
                for v in all {
                    *v = self.apart.f32()?;
                    if !v.is_finite() {
                        return Err(Corrupt("nodes: a transform that is not finite"));
                    }
                }
                Ok(None)
            }
            _ => Err(Corrupt("nodes: unknown class")),
        }
    }
}

impl ResidualSource for Unpacker<'_> {
    const HAS_CONTEXTS: bool = false;

    #[inline(always)]
    fn next_residuals<S: Doubles>(
        &mut self,
        block: &NodeBlock,
        _level: usize,
        _contexts: &mut BlockContexts,
        kappas: &mut [f64x8<S>; MAX_COMPONENTS],
        raw: &mut [Transform; LANES],
    ) -> Result<ResidualSummary, Corrupt> {
        let flag = self.flags.get(self.flag / 8).is_some_and(|byte| byte >> (self.flag % 8) & 1 != 0);
        self.flag += 1;
        if !flag {
            return Ok(ResidualSummary { all_zero: true, raw: 0 });
        }
        let parts = block.moves.iter().filter(|moves| **moves).count();
        let (codes, rest) =
            self.codes.split_at_checked(parts.max(1)).ok_or(Corrupt("nodes: codes that end early"))?;
        self.codes = rest;
        let code = |p: usize| codes.get(p).map_or(0, |codes| u32::from_le_bytes(*codes));
        let simd = kappas[0].token();
        let width = |p: usize| doubles::look_up(simd, code(p), &WIDTHS);
        let widths = [width(0), width(1), width(2)];
        let one = widths[0] + widths[1] + widths[2];
        let (mut first, bits) = doubles::sums_before(one + one + one);
        let size = bits.div_ceil(8) as usize;
        let mut end = [0; WINDOW];
        let window = match self.fields.first_chunk::<WINDOW>() {
            Some(window) => window,
            None => {
                let left = self.fields.get(..size).ok_or(Corrupt("nodes: fields that end early"))?;
                end[..size].copy_from_slice(left);
                &end
            }
        };
        for (p, width) in widths.into_iter().enumerate().take(parts) {
            let [x, y, z] = doubles::fields(window, first, width);
            (kappas[3 * p], kappas[3 * p + 1], kappas[3 * p + 2]) = (x * 32.0, y * 32.0, z * 32.0);
            first = first + width + width + width;
        }
        self.fields = &self.fields[size..];
        // In a code of four set bits exactly this bit remains set.
        let four = code(0);
        let apart = four & four >> 1 & four >> 2 & four >> 3 & 0x1111_1111;
        match apart {
            0 => Ok(ResidualSummary { all_zero: false, raw: 0 }),
            _ => self.fill_apart_lanes(block, apart, kappas, raw),
        }
    }
}

impl Unpacker<'_> {
    /// Reads the separately stored nodes into their lanes; `lanes` has four bits per lane, the lowest set for
    /// such a node.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn fill_apart_lanes<S: Doubles>(
        &mut self,
        block: &NodeBlock,
        lanes: u32,
        kappas: &mut [f64x8<S>; MAX_COMPONENTS],
        raw: &mut [Transform; LANES],
    ) -> Result<ResidualSummary, Corrupt> {
        let simd = kappas[0].token();
        let components = 3 * block.moves.iter().filter(|moves| **moves).count();
        let mut rows = [[0.0; LANES]; MAX_COMPONENTS];
        for (row, kappa) in rows.iter_mut().zip(kappas.iter()) {
            *row = kappa.to_array();
        }
        let mut out = ResidualSummary { all_zero: false, raw: 0 };
        for lane in (0..block.count).filter(|lane| lanes >> (4 * lane) & 1 != 0) {
            match self.read_apart(components, &mut raw[lane])? {
                None => out.raw |= 1 << lane,
                Some(own) => {
                    for (row, k) in rows.iter_mut().zip(own) {
                        row[lane] = f64::from(k);
                    }
                }
            }
        }
        for (kappa, row) in kappas.iter_mut().zip(&rows) {
            *kappa = f64x8::simd_from(simd, *row);
        }
        Ok(out)
    }
}
