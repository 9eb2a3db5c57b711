//! Residuals in blocks of 16 numbers, each as wide as its largest one: bits in planes, so that vectors of any
//! width unpack them.
//!
//! ```text
//! fields    of a block and component, by its code n (four bits):
//! 0 … 13    n planes
//! 14        a byte: the planes, 14 to 32; then these
//! 15        a byte: the planes, 0 to 13, and 16 × c; c 0: exceptions have 8 bits, 1: 16, 2: 32 · a byte: the exceptions, 1 to 15 · their indices
//!           in the block, ascending, four bits each, the lowest first · their values, little-endian, instead of those of the planes · the planes
//! plane b   16 bits, little-endian: bit b of number 0 is the lowest; the last plane is the sign, numbers are in two's complement
//! ```

use crate::Corrupt;
use crate::bytes::Cursor;

/// The numbers of a block.
pub(super) const BLOCK: usize = 16;
/// The widest fields whose width is the code itself.
const MAX_PLAIN_WIDTH: u8 = 13;
const WIDE: u8 = 14;
const EXCEPTIONS: u8 = 15;

/// Reads the fields of a block.
#[inline(always)]
pub(super) fn unpack(code: u8, fields: &mut Cursor<'_>, out: &mut [i32; BLOCK]) -> Result<(), Corrupt> {
    match code {
        WIDE => {
            let width = fields.u8()?;
            if !(WIDE..=32).contains(&width) {
                return Err(Corrupt("particles: fields of another width"));
            }
            unpack_planes(fields.bytes(2 * usize::from(width))?, out);
        }
        EXCEPTIONS => return unpack_exceptions(fields, out),
        width => unpack_planes(fields.bytes(2 * usize::from(width))?, out),
    }
    Ok(())
}

#[inline(always)]
fn unpack_planes(planes: &[u8], out: &mut [i32; BLOCK]) {
    let mut all = [0u32; BLOCK];
    let (planes, _) = planes.as_chunks::<2>();
    for (b, plane) in planes.iter().enumerate() {
        let bits = u32::from(u16::from_le_bytes(*plane));
        for (v, all) in all.iter_mut().enumerate() {
            *all |= (bits << (31 - v) & 1 << 31) >> (31 - b);
        }
    }
    // The highest bit is the sign.
    let unused = if planes.is_empty() { 0 } else { 32 - planes.len() };
    for (out, all) in out.iter_mut().zip(all) {
        *out = (all << unused) as i32 >> unused;
    }
}

fn unpack_exceptions(fields: &mut Cursor<'_>, out: &mut [i32; BLOCK]) -> Result<(), Corrupt> {
    const WRONG: Corrupt = Corrupt("particles: exceptions that a block cannot have");
    let ([head, count], mut before) = (fields.array()?, None);
    let (width, size) = (head & 15, head >> 4);
    if width > MAX_PLAIN_WIDTH || size > 2 || !(1..BLOCK as u8).contains(&count) {
        return Err(WRONG);
    }
    let count = usize::from(count);
    let at = fields.bytes(count.div_ceil(2))?;
    let values = fields.bytes(count << size)?;
    unpack_planes(fields.bytes(2 * usize::from(width))?, out);
    for (i, value) in values.chunks_exact(1 << size).enumerate() {
        let at = usize::from(at[i / 2] >> (4 * (i % 2)) & 15);
        if before.is_some_and(|before| at <= before) {
            return Err(WRONG);
        }
        before = Some(at);
        out[at] = match *value {
            [a] => i32::from(a as i8),
            [a, b] => i32::from(i16::from_le_bytes([a, b])),
            [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
            _ => return Err(WRONG),
        };
    }
    match count % 2 == 1 && at[count / 2] >> 4 != 0 {
        true => Err(WRONG),
        false => Ok(()),
    }
}

/// Returns the planes that a number takes.
#[cfg(feature = "encode")]
pub(super) fn width(value: i32) -> u8 {
    match value {
        0 => 0,
        _ => 33 - (value ^ (value >> 31)).leading_zeros() as u8,
    }
}

/// Appends the fields of a block in as few bytes as possible; returns their code.
#[cfg(feature = "encode")]
pub(super) fn pack(block: &[i32; BLOCK], out: &mut Vec<u8>) -> u8 {
    let widths = block.map(width);
    let widest = widths.into_iter().max().unwrap_or(0);
    let size: u8 = match widest {
        0..=8 => 0,
        9..=16 => 1,
        _ => 2,
    };
    let whole = 2 * usize::from(widest) + usize::from(widest > MAX_PLAIN_WIDTH);
    let with_exceptions = |width: u8| {
        let count = widths.into_iter().filter(|own| *own > width).count();
        let bytes = 2 + count.div_ceil(2) + (count << size) + 2 * usize::from(width);
        (count < BLOCK).then_some((bytes, width))
    };
    let best = (0..widest.min(MAX_PLAIN_WIDTH + 1)).filter_map(with_exceptions).min();
    match best.filter(|(bytes, _)| *bytes < whole) {
        Some((_, width)) => {
            let others: Vec<usize> = (0..BLOCK).filter(|v| widths[*v] > width).collect();
            out.extend([width | size << 4, others.len() as u8]);
            for pair in others.chunks(2) {
                out.push(pair[0] as u8 | pair.get(1).map_or(0, |v| (*v as u8) << 4));
            }
            others.iter().for_each(|v| out.extend_from_slice(&block[*v].to_le_bytes()[..1 << size]));
            pack_planes(block, width, out);
            EXCEPTIONS
        }
        None if widest > MAX_PLAIN_WIDTH => {
            out.push(widest);
            pack_planes(block, widest, out);
            WIDE
        }
        None => {
            pack_planes(block, widest, out);
            widest
        }
    }
}

#[cfg(feature = "encode")]
fn pack_planes(block: &[i32; BLOCK], width: u8, out: &mut Vec<u8>) {
    for b in 0..width {
        let plane = (0..).zip(block).fold(0u16, |plane, (v, value)| plane | ((value >> b & 1) as u16) << v);
        out.extend(plane.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(block: [i32; BLOCK]) -> usize {
        let mut bytes = Vec::new();
        let code = pack(&block, &mut bytes);
        let (mut cursor, mut out) = (Cursor::new(&bytes), [7; BLOCK]);
        unpack(code, &mut cursor, &mut out).unwrap();
        assert_eq!((out, cursor.left()), (block, 0), "{code}");
        for short in 0..bytes.len() {
            assert!(unpack(code, &mut Cursor::new(&bytes[..short]), &mut out).is_err());
        }
        bytes.len()
    }

    #[test]
    fn one_large_number_does_not_widen_its_block() {
        let mut block = [1; BLOCK];
        assert_eq!(round_trip(block), 4);
        block[3] = i32::MIN;
        assert_eq!(round_trip(block), 2 + 1 + 4 + 4);
        block[11] = 100;
        assert_eq!(round_trip(block), 2 + 1 + 8 + 4);
        assert_eq!(round_trip([i32::MAX; BLOCK]), 65);
    }

    proptest! {
        #[test]
        fn blocks_come_back(small in any::<[i8; BLOCK]>(), large in any::<[i32; BLOCK]>(),
            which in any::<[u8; BLOCK]>(), shift in 0u32..32)
        {
            round_trip(std::array::from_fn(|v| match which[v] {
                0..200 => i32::from(small[v]) >> (shift % 8),
                _ => large[v] >> shift,
            }));
        }

        #[test]
        fn any_bytes_unpack_or_are_refused(code in 0u8..16, bytes in any::<Vec<u8>>()) {
            let _ = unpack(code, &mut Cursor::new(&bytes), &mut [0; BLOCK]);
        }
    }
}
