//! Decodes the mode `ATTRIBUTES`: blocks of up to 256 values. A block has all first bytes of its values, then
//! all second ones, and so on, each as differences in groups of sixteen.
//!
//! ```text
//! head     1 byte    0xa0 | version
//! blocks             version 1: two bits for each byte of a value, which say how its differences are stored
//! tail     32 bytes of version 0, 24 of version 1, or more: zeros, the value before the first; version 1: a byte for
//!          each four of a value: what its differences are of (bytes, 16 bits, 32 bits turned)
//! ```

use super::bytes::{ByteReader, TOO_SHORT};

/// Upper limits for the bytes and the values of a block.
const MAX_BLOCK_BYTES: usize = 8192;
const MAX_BLOCK_VALUES: usize = 256;
/// The number of values in a group.
const GROUP: usize = 16;
/// The bits per value of a group, selected by its two header bits: for version 0, and for both modes of
/// version 1.
const WIDTHS: [[u32; 4]; 3] = [[0, 2, 4, 8], [0, 1, 2, 4], [1, 2, 4, 8]];

/// Fills `out` with values of `stride` bytes, a multiple of 4 up to 256.
pub fn decode(bytes: &[u8], stride: usize, out: &mut [u8]) -> Result<(), &'static str> {
    let mut bytes = ByteReader(bytes);
    let head = bytes.byte()?;
    let version = head & 15;
    if head & 0xf0 != 0xa0 || version > 1 {
        return Err("it does not begin as compressed attributes do");
    }
    let (channels, least) = if version == 0 { (0, 32) } else { (stride / 4, 24) };
    let (tail, padded) = (stride + channels, (stride + channels).max(least));
    let body = bytes.0.len().checked_sub(padded).ok_or(TOO_SHORT)?;
    let (first, channels) = bytes.0[bytes.0.len() - tail..].split_at(stride);
    let mut before = [0; 256];
    before[..stride].copy_from_slice(first);
    bytes.0 = &bytes.0[..body];
    let values = ((MAX_BLOCK_BYTES / stride) & !(GROUP - 1)).min(MAX_BLOCK_VALUES);
    // The values of a block, one plane per byte of a value.
    let mut planes = vec![0u8; stride * MAX_BLOCK_VALUES];
    for block in out.chunks_mut(values * stride) {
        let count = block.len() / stride;
        let control = if version == 0 { &[][..] } else { bytes.take(stride / 4)? };
        for (k, plane) in planes.chunks_exact_mut(MAX_BLOCK_VALUES).enumerate() {
            let way = control.get(k / 4).map_or(0, |control| control >> (2 * (k % 4)) & 3);
            match (version, way) {
                (0, _) => groups(&mut bytes, &WIDTHS[0], &mut plane[..count])?,
                (_, 2) => plane[..count].fill(0),
                (_, 3) => plane[..count].copy_from_slice(bytes.take(count)?),
                (_, way) => groups(&mut bytes, &WIDTHS[1 + way as usize], &mut plane[..count])?,
            }
        }
        for four in 0..stride / 4 {
            let planes = &planes[4 * four * MAX_BLOCK_VALUES..4 * (four + 1) * MAX_BLOCK_VALUES];
            let before = &mut before[4 * four..4 * four + 4];
            apply_differences(
                planes,
                channels.get(four).copied().unwrap_or(0),
                before,
                (block, stride, 4 * four),
            )?;
        }
    }
    if !bytes.0.is_empty() {
        return Err("it has bytes that belong to nothing");
    }
    Ok(())
}

/// Reads one byte of each value: two header bits per group, then the groups.
fn groups(bytes: &mut ByteReader<'_>, widths: &[u32; 4], out: &mut [u8]) -> Result<(), &'static str> {
    let head = bytes.take(out.len().div_ceil(GROUP).div_ceil(4))?;
    for (i, out) in out.chunks_mut(GROUP).enumerate() {
        let mut group = [0u8; GROUP];
        match widths[usize::from(head[i / 4] >> (2 * (i % 4)) & 3)] {
            0 => {}
            8 => group.copy_from_slice(bytes.take(GROUP)?),
            bits => narrow(bytes, bits, &mut group)?,
        }
        out.copy_from_slice(&group[..out.len()]);
    }
    Ok(())
}

/// Reads a group of values of 1, 2 or 4 bits; the largest value stands for a full byte that follows the
/// group.
fn narrow(bytes: &mut ByteReader<'_>, bits: u32, out: &mut [u8; GROUP]) -> Result<(), &'static str> {
    let packed = bytes.take(GROUP * bits as usize / 8)?;
    let largest = (1 << bits) - 1;
    for (i, out) in out.iter_mut().enumerate() {
        let at = i as u32 * bits;
        // Within a byte the highest bits come first; for single bits the lowest come first.
        let shift = if bits == 1 { at % 8 } else { 8 - bits - at % 8 };
        let value = packed[(at / 8) as usize] >> shift & largest;
        *out = if value == largest { bytes.byte()? } else { value };
    }
    Ok(())
}

/// Adds up differences for four bytes of each value, and writes them to their places in the block.
fn apply_differences(
    planes: &[u8],
    channel: u8,
    before: &mut [u8],
    (block, stride, at): (&mut [u8], usize, usize),
) -> Result<(), &'static str> {
    let undo = |byte: u8| byte >> 1 ^ (byte & 1).wrapping_neg();
    for (i, value) in block.chunks_exact_mut(stride).enumerate() {
        let new: [u8; 4] = std::array::from_fn(|k| planes[k * MAX_BLOCK_VALUES + i]);
        match channel & 3 {
            0 => {
                for (own, new) in before.iter_mut().zip(new) {
                    *own = own.wrapping_add(undo(new));
                }
            }
            1 => {
                for (own, new) in before.chunks_exact_mut(2).zip(new.chunks_exact(2)) {
                    let new = u16::from_le_bytes([new[0], new[1]]);
                    let difference = new >> 1 ^ (new & 1).wrapping_neg();
                    let sum = u16::from_le_bytes([own[0], own[1]]).wrapping_add(difference);
                    own.copy_from_slice(&sum.to_le_bytes());
                }
            }
            2 => {
                let turned = u32::from_le_bytes(new).rotate_right(u32::from(channel >> 4));
                let own = u32::from_le_bytes([before[0], before[1], before[2], before[3]]);
                before.copy_from_slice(&(own ^ turned).to_le_bytes());
            }
            _ => return Err("its differences are of a kind that there is not"),
        }
        value[at..at + 4].copy_from_slice(before);
    }
    Ok(())
}
