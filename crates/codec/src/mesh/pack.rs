//! Residuals packed in plain bits, for access units that must decode at the speed of memory: no tables, no
//! entropy coder states, no contexts.
//!
//! The layout behind the head of a unit of kind 2; blocks are in the order of bundles, levels, blocks and
//! frames (`mesh/decode/bundle.rs`):
//!
//! | size | name | meaning |
//! |---|---|---|
//! | varint | `filled` | number of blocks that are not all zero |
//! | varint | `sparse` | number of those that have a mask |
//! | ⌈blocks / 8⌉ | `flags` | a bit per block of each frame, lowest first: 1 = not all zero |
//! | ⌈filled / 2⌉ | `codes` | four bits per filled block, lowest first |
//! | 2 × sparse | `masks` | u16 per sparse block: bit v = its vertex v is not zero |
//! | rest | `fields` | bits, lowest first, padded with zeros to a byte |
//!
//! ```text
//! code 0 … 6    sparse, w = code + 1     the vertices in the mask
//! code 7 … 14   dense, w = code − 6      all vertices of the block
//! code 15       whole                    all vertices of the block
//! fields, vertex by vertex:
//!     1 bit parity p, then for x, y, z the low w bits of (v − p) >> 1, in two's complement
//!     whole: x, y, z with all bits of a fixed-point position (16 or 32)
//! ```

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod narrow;

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};
use crate::mesh::blocks::BLOCK;
use crate::mesh::token::BitReader;
#[cfg(feature = "encode")]
use crate::mesh::token::BitWriter;

// Part of the format.
pub(super) const DENSE: u32 = 7;
pub(super) const WHOLE: u32 = 15;
/// The widest fields of sparse and of dense blocks, in bits.
#[cfg(feature = "encode")]
const MAX_SPARSE_BITS: u32 = 7;
#[cfg(feature = "encode")]
const MAX_DENSE_BITS: u32 = 8;

/// The residuals of a block; missing ones are zero.
pub type ResidualBlock = [[i32; 3]; BLOCK];

/// The sections of an access unit that is being packed.
#[cfg(feature = "encode")]
#[derive(Debug, Default)]
pub struct Packer {
    flags: BitWriter,
    codes: BitWriter,
    masks: Vec<u16>,
    fields: BitWriter,
    filled: u32,
}

#[cfg(feature = "encode")]
impl Packer {
    /// Appends a block of at most 16 residuals. A residual of mixed parity makes the block whole, with
    /// `width` bits (16 or 32) per component.
    pub fn push_block(&mut self, block: &[[i32; 3]], width: u32) {
        let mask = (block.iter().enumerate()).fold(0u16, |m, (v, q)| m | u16::from(*q != [0; 3]) << v);
        self.flags.write(u128::from(mask != 0), 1);
        if mask == 0 {
            return;
        }
        self.filled += 1;
        match choose_packing(block, mask) {
            Packing::Sparse(w) => {
                self.codes.write(u128::from(w - 1), 4);
                self.masks.push(mask);
                self.fields(block, mask, w);
            }
            Packing::Dense(w) => {
                self.codes.write(u128::from(w + DENSE - 1), 4);
                self.fields(block, u16::MAX, w);
            }
            Packing::Whole => {
                self.codes.write(u128::from(WHOLE), 4);
                for &v in block.iter().flatten() {
                    self.field(v, width);
                }
            }
        }
    }

    fn fields(&mut self, block: &[[i32; 3]], mask: u16, w: u32) {
        let low = u32::MAX >> (32 - w);
        for (v, q) in block.iter().enumerate() {
            if mask >> v & 1 == 1 {
                let [x, y, z] = q.map(|v| u128::from((v >> 1) as u32 & low));
                let parity = u128::from(q[0] as u32 & 1);
                let all = parity | x << 1 | y << (1 + w) | z << (1 + 2 * w);
                self.fields.write(all, 1 + 3 * w);
            }
        }
    }

    fn field(&mut self, v: i32, w: u32) {
        self.fields.write(u128::from(v as u32 & (u32::MAX >> (32 - w))), w);
    }

    /// Appends the finished sections to a unit.
    pub fn finish(self, out: &mut Vec<u8>) {
        put_varint(self.filled, out);
        put_varint(self.masks.len() as u32, out);
        out.extend(self.flags.finish());
        out.extend(self.codes.finish());
        out.extend(self.masks.iter().flat_map(|m| m.to_le_bytes()));
        out.extend(self.fields.finish());
    }
}

/// The packing of a block that is not all zero, with the width of its fields.
#[cfg(feature = "encode")]
enum Packing {
    Sparse(u32),
    Dense(u32),
    Whole,
}

#[cfg(feature = "encode")]
fn choose_packing(block: &[[i32; 3]], mask: u16) -> Packing {
    let one_parity = block.iter().all(|q| (q[0] ^ q[1] | q[0] ^ q[2]) & 1 == 0);
    let w = block.iter().fold(0, |w, &q| w.max(width(q)));
    match one_parity {
        true if is_sparse(mask.count_ones(), block.len() as u32, w) => Packing::Sparse(w),
        true if w <= MAX_DENSE_BITS => Packing::Dense(w),
        _ => Packing::Whole,
    }
}

/// Returns the width of the fields of a residual, in bits.
#[cfg(feature = "encode")]
#[inline(always)]
pub fn width(q: [i32; 3]) -> u32 {
    // The bitwise or of all three is as wide as the widest.
    bits_of(q.iter().fold(0, |all, &v| all | (v >> 1) ^ (v >> 31)))
}

/// `true` if a block of `count` vertices, `n` of them nonzero, is smaller with a mask; `w` is its field
/// width.
#[cfg(feature = "encode")]
#[inline(always)]
pub fn is_sparse(n: u32, count: u32, w: u32) -> bool {
    w <= MAX_SPARSE_BITS && BLOCK as u32 + n * (1 + 3 * w) < count * (1 + 3 * w)
}

/// Returns the bits that a block takes in all sections together.
#[cfg(feature = "encode")]
pub fn bits(block: &[[i32; 3]], width: u32) -> usize {
    let mask = (block.iter().enumerate()).fold(0u16, |m, (v, q)| m | u16::from(*q != [0; 3]) << v);
    if mask == 0 {
        return 1;
    }
    let (n, count) = (mask.count_ones(), block.len() as u32);
    let fields = match choose_packing(block, mask) {
        Packing::Sparse(w) => BLOCK as u32 + n * (1 + 3 * w),
        Packing::Dense(w) => count * (1 + 3 * w),
        Packing::Whole => count * 3 * width,
    };
    5 + fields as usize
}

/// Returns the bits of a number in two's complement, including one sign bit.
#[cfg(feature = "encode")]
fn bits_of(v: i32) -> u32 {
    33 - (v ^ (v >> 31)).leading_zeros()
}

/// The sections of an access unit, with the read position in each.
#[derive(Debug, Clone)]
pub struct Unpacker<'a> {
    pub(super) flags: BitReader<'a>,
    pub(super) codes: BitReader<'a>,
    pub(super) masks: &'a [u8],
    pub(super) mask: usize,
    pub(super) fields: BitReader<'a>,
    blocks: usize,
    filled: usize,
}

impl<'a> Unpacker<'a> {
    /// Splits the bytes behind the head of a unit of `blocks` blocks into sections.
    pub fn new(bytes: &'a [u8], blocks: usize) -> Result<Self, Corrupt> {
        let mut c = Cursor::new(bytes);
        let (filled, sparse) = (c.varint()? as usize, c.varint()? as usize);
        let flags = c.bytes(blocks.div_ceil(8))?;
        let set: usize = flags.iter().map(|b| b.count_ones() as usize).sum();
        if set != filled {
            return Err(Corrupt("unit: another number of blocks"));
        }
        let codes = c.bytes(filled.div_ceil(2))?;
        let size = sparse.checked_mul(2).ok_or(Corrupt("unit: too many masks"))?;
        Ok(Unpacker {
            flags: BitReader::new(flags),
            codes: BitReader::new(codes),
            masks: c.bytes(size)?,
            mask: 0,
            fields: BitReader::new(c.bytes(c.left())?),
            blocks,
            filled,
        })
    }

    /// Returns the next block, of `count` vertices with components of `width` bits; `None` if it is all zero.
    pub fn block(&mut self, count: usize, width: u32) -> Option<ResidualBlock> {
        if self.flags.read(1) == 0 {
            return None;
        }
        let code = self.codes.read(4);
        let all = (1u32 << count) - 1;
        let mut out = [[0; 3]; BLOCK];
        if code == WHOLE {
            for v in out[..count].as_flattened_mut() {
                *v = self.field(width);
            }
            return Some(out);
        }
        let (mask, w) = match code.checked_sub(DENSE) {
            None => {
                let at = 2 * self.mask;
                self.mask += 1;
                let bytes = self.masks.get(at..at + 2);
                let mask = bytes.map_or(0, |m| u16::from_le_bytes([m[0], m[1]]));
                (u32::from(mask), code + 1)
            }
            Some(w) => (all, w + 1),
        };
        for (v, q) in out.iter_mut().enumerate() {
            if mask >> v & 1 == 1 {
                let parity = self.fields.read(1) as i32;
                for axis in q {
                    *axis = 2 * self.field(w) + parity;
                }
            }
        }
        Some(out)
    }

    /// Reads the next number of `w` bits in two's complement.
    fn field(&mut self, w: u32) -> i32 {
        (self.fields.read(w) << (32 - w)) as i32 >> (32 - w)
    }

    /// `true` if everything was read, and nothing beyond the end.
    pub fn finished(&self) -> bool {
        self.flags.position() == self.blocks
            && self.flags.finished()
            && self.codes.position() == 4 * self.filled
            && self.codes.finished()
            && 2 * self.mask == self.masks.len()
            && self.fields.finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(blocks: &[Vec<[i32; 3]>], width: u32) -> Vec<u8> {
        let mut packer = Packer::default();
        blocks.iter().for_each(|b| packer.push_block(b, width));
        let sections = [&packer.flags, &packer.codes, &packer.fields].map(BitWriter::len);
        let written = sections.iter().sum::<usize>() + 16 * packer.masks.len();
        assert_eq!(blocks.iter().map(|b| bits(b, width)).sum::<usize>(), written);
        let mut bytes = Vec::new();
        packer.finish(&mut bytes);
        let mut unpacker = Unpacker::new(&bytes, blocks.len()).unwrap();
        for block in blocks {
            let zero = block.iter().all(|q| *q == [0; 3]);
            match unpacker.block(block.len(), width) {
                None => assert!(zero),
                Some(got) => {
                    assert_eq!(&got[..block.len()], &block[..]);
                    assert!(got[block.len()..].iter().all(|q| *q == [0; 3]));
                }
            }
        }
        assert!(unpacker.finished());
        for cut in 0..bytes.len() {
            if let Ok(mut u) = Unpacker::new(&bytes[..cut], blocks.len()) {
                for b in blocks {
                    let _ = u.block(b.len(), width);
                }
                assert!(!u.finished());
            }
        }
        bytes
    }

    #[test]
    fn golden() {
        assert_eq!(round_trip(&[], 16), [0, 0]);
        assert_eq!(round_trip(&vec![vec![[0; 3]; 16]; 9], 16), [0, 0, 0, 0]);
        // One vertex of 16, w = 2: parity 1, then 1, −1, 0.
        let mut block = vec![[0; 3]; 16];
        block[5] = [3, -1, 1];
        assert_eq!(round_trip(&[block], 16), [1, 1, 1, 1, 32, 0, 0b001_1011]);
        // One vertex of one, dense: parity 0, then 1, 0, −1.
        assert_eq!(round_trip(&[vec![[2, 0, -2]]], 16), [1, 0, 1, 8, 0b0110_0010]);
        // Mixed parity is kept whole.
        assert_eq!(round_trip(&[vec![[1, 2, 3]]], 16).len(), 4 + 6);
    }

    #[test]
    fn widths() {
        assert_eq!([0, -1, 1, -2, 2, 3, -4, i32::MIN].map(bits_of), [1, 1, 2, 2, 3, 3, 3, 32]);
    }

    proptest! {
        #[test]
        fn any_blocks(seed in proptest::collection::vec((1usize..17, 0u32..32, any::<u64>()), 0..8), wide: bool) {
            let blocks: Vec<Vec<[i32; 3]>> = seed.iter().map(|&(count, shift, seed)| {
                let mut s = seed | 1;
                (0..count).map(|_| {
                    s = s.wrapping_mul(6364136223846793005).wrapping_add(1);
                    let p = (s >> 60) as i32 & 1;
                    let keep = i32::from(s >> 61 & 1 == 0);
                    let axis = |k: u32| keep * ((((s << (8 * k)) as i64 >> 32) as i32) >> shift & !1 | p);
                    let q = [axis(0), axis(1), axis(2)];
                    if wide { q } else { q.map(|v| i32::from(v as i16)) }
                }).collect()
            }).collect();
            round_trip(&blocks, if wide { 32 } else { 16 });
        }

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..100), blocks in 0usize..40) {
            if let Ok(mut u) = Unpacker::new(&bytes, blocks) {
                for b in 0..blocks {
                    let _ = u.block(1 + b % 16, 16);
                }
            }
        }
    }
}
