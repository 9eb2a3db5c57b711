//! States and turns of a frame in packed blocks: the changes among 64 items are a mask and bit fields, whose
//! positions do not depend on decoded values. Larger than range coded, and many times faster. Lossless.
//!
//! ```text
//! frame      u8 reference; section of groups (two numbers each); with tangents section of vertices (one number each)
//! section    u8: 0 nothing changes, 1: a bit for each 256 items, lowest first, padded to whole bytes; then for each 256 items whose bit is 1:
//!            u8, low 4 bits: which of the four 64 items change; high 4 bits: in which of these all do; then for each 64 items that change:
//!            u8 widths: low 4 bits of the first number, high 4 bits of the second one, 15 meaning 16; unless all change 8 bytes, a bit for
//!            each item; then the first numbers of those that change as signed fields, lowest bits first, padded to a byte; then the second ones
//! number     state or turn = that of the reference + 3 · field, wrapping 16 bits
//! ```
//!
//! Zero bytes at the end of an access unit are omitted.

use crate::Corrupt;
use crate::mesh::normals::contexts::add_strides;
#[cfg(feature = "encode")]
use crate::mesh::normals::contexts::strides;

/// The number of items per mask, and per flag bit above it. Part of the format.
const ITEMS: usize = 64;
const GROUP: usize = 4 * ITEMS;

/// Bytes, followed by zeros.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    pub fn u8(&mut self) -> u8 {
        self.at += 1;
        self.bytes.get(self.at - 1).copied().unwrap_or(0)
    }

    fn u64(&mut self) -> u64 {
        self.at += 8;
        u64::from_le_bytes(window(self.bytes, self.at - 8))
    }

    pub fn finish(self) -> Result<(), Corrupt> {
        if self.at < self.bytes.len() { Err(Corrupt("normals: bytes behind the last frame")) } else { Ok(()) }
    }

    /// Adds the differences of a section to items that hold the values of the reference.
    pub fn section<const NUMBERS: usize>(&mut self, items: &mut [[i16; NUMBERS]]) -> Result<(), Corrupt> {
        match self.u8() {
            0 => return Ok(()),
            1 => {}
            _ => return Err(Corrupt("normals: a section of another kind")),
        }
        let flags = self.at;
        self.at += items.len().div_ceil(GROUP).div_ceil(8);
        for (i, group) in items.chunks_mut(GROUP).enumerate() {
            if self.bytes.get(flags + i / 8).copied().unwrap_or(0) >> (i % 8) & 1 == 0 {
                continue;
            }
            let which = self.u8();
            for (k, block) in group.chunks_mut(ITEMS).enumerate() {
                if which >> k & 1 != 0 {
                    self.block(block, which >> (4 + k) & 1 != 0);
                }
            }
        }
        Ok(())
    }

    fn block<const NUMBERS: usize>(&mut self, items: &mut [[i16; NUMBERS]], all: bool) {
        let widths = self.u8();
        let within = u64::MAX >> (ITEMS - items.len());
        let mask = if all { within } else { self.u64() & within };
        for number in 0..NUMBERS {
            let width = width_of(widths >> (4 * number) & 15);
            let mut bit = 8 * self.at;
            let mut left = if width == 0 { 0 } else { mask };
            while left != 0 {
                let item = left.trailing_zeros() as usize;
                left &= left - 1;
                let field = u32::from_le_bytes(window(self.bytes, bit / 8)) >> (bit % 8);
                // Sign-extended from its highest bit.
                let field = ((field << (32 - width)) as i32 >> (32 - width)) as i16;
                items[item][number] = add_strides(items[item][number], field);
                bit += width as usize;
            }
            self.at += (mask.count_ones() as usize * width as usize).div_ceil(8);
        }
    }
}

fn width_of(code: u8) -> u32 {
    u32::from(code) + u32::from(code == 15)
}

#[inline(always)]
fn window<const BYTES: usize>(bytes: &[u8], at: usize) -> [u8; BYTES] {
    let rest = bytes.get(at..).unwrap_or(&[]);
    match rest.first_chunk() {
        Some(window) => *window,
        None => {
            let mut window = [0; BYTES];
            window[..rest.len()].copy_from_slice(rest);
            window
        }
    }
}

/// Appends the section of items that have the values `old` in the reference and become `new`.
#[cfg(feature = "encode")]
pub(super) fn put_section<const NUMBERS: usize>(
    old: &[[i16; NUMBERS]],
    new: &[[i16; NUMBERS]],
    out: &mut Vec<u8>,
) {
    if old == new {
        out.push(0);
        return;
    }
    out.push(1);
    let flags = out.len();
    out.resize(flags + old.len().div_ceil(GROUP).div_ceil(8), 0);
    for (i, (old, new)) in old.chunks(GROUP).zip(new.chunks(GROUP)).enumerate() {
        if old == new {
            continue;
        }
        out[flags + i / 8] |= 1 << (i % 8);
        let which = out.len();
        out.push(0);
        for (k, (old, new)) in old.chunks(ITEMS).zip(new.chunks(ITEMS)).enumerate() {
            if old != new {
                let all = put_block(old, new, out);
                out[which] |= 1 << k | u8::from(all) << (4 + k);
            }
        }
    }
}

/// Appends a block of items; returns `true` if it has no mask.
#[cfg(feature = "encode")]
fn put_block<const NUMBERS: usize>(
    old: &[[i16; NUMBERS]],
    new: &[[i16; NUMBERS]],
    out: &mut Vec<u8>,
) -> bool {
    let mut mask = 0u64;
    let mut widths = [0u32; NUMBERS];
    for (item, (old, new)) in old.iter().zip(new).enumerate() {
        mask |= u64::from(old != new) << item;
        for number in 0..NUMBERS {
            let field = i32::from(strides(old[number], new[number]));
            let bits = 32 - if field < 0 { !field } else { field }.leading_zeros();
            let width = if field == 0 { 0 } else { bits + 1 };
            widths[number] = widths[number].max(width + u32::from(width == 15));
        }
    }
    let sum = widths.iter().sum::<u32>();
    let some = 64 + mask.count_ones() * sum;
    let all = old.len() as u32 * sum <= some;
    let code = |number: usize| widths.get(number).map_or(0, |w| (*w).min(15) as u8);
    out.push(code(0) | code(1) << 4);
    if all {
        mask = u64::MAX >> (ITEMS - old.len());
    } else {
        out.extend(mask.to_le_bytes());
    }
    for (number, &width) in widths.iter().enumerate() {
        let (mut bits, mut count) = (0u64, 0);
        for item in (0..old.len()).filter(|item| mask >> item & 1 != 0) {
            let field = strides(old[item][number], new[item][number]) as u16;
            bits |= (u64::from(field) & ((1 << width) - 1)) << count;
            count += width;
            while count >= 8 {
                out.push(bits as u8);
                (bits, count) = (bits >> 8, count - 8);
            }
        }
        if count > 0 {
            out.push(bits as u8);
        }
    }
    all
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip<const NUMBERS: usize>(old: &[[i16; NUMBERS]], new: &[[i16; NUMBERS]]) -> usize {
        let mut bytes = Vec::new();
        put_section(old, new, &mut bytes);
        let mut again = old.to_vec();
        let mut reader = Reader::new(&bytes);
        reader.section(&mut again).unwrap();
        assert_eq!(again, new);
        reader.finish().unwrap();
        // Cut bytes read as zeros, and damaged bytes do not panic.
        for cut in 0..bytes.len() {
            let _ = Reader::new(&bytes[..cut]).section(&mut again);
        }
        for i in 0..bytes.len() {
            for bit in 0..8 {
                bytes[i] ^= 1 << bit;
                let mut reader = Reader::new(&bytes);
                let _ = reader.section(&mut again);
                bytes[i] ^= 1 << bit;
            }
        }
        bytes.len()
    }

    #[test]
    fn sizes_about_a_block_and_values_of_all_widths() {
        for count in [0, 1, 63, 64, 65, 255, 256, 257, 600] {
            let old = vec![[5i16, -7]; count];
            assert_eq!(round_trip(&old, &old), 1);
            for width in 0..16 {
                // Strides that keep values within 16 bits.
                let off = |i: usize| if i.is_multiple_of(3) { ((1 << width) - 1).min(10_000) } else { 0 };
                let new: Vec<[i16; 2]> = (0..count).map(|i| [add_strides(5, off(i) as i16), -7]).collect();
                round_trip(&old, &new);
                let all: Vec<[i16; 1]> =
                    (0..count).map(|i| [add_strides(1, -(width as i16) - i as i16)]).collect();
                round_trip(&vec![[1i16]; count], &all);
            }
            let (least, most) = (vec![[i16::MIN]; count], vec![[i16::MAX]; count]);
            round_trip(&least, &most);
            round_trip(&most, &least);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            count in 0usize..300,
        ) {
            let mut items = vec![[1i16, 2]; count];
            let mut reader = Reader::new(&bytes);
            let _ = reader.section(&mut items);
            let mut items = vec![[1i16]; count];
            let _ = reader.section(&mut items);
        }
    }
}
