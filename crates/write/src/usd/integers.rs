//! Compressed blocks of the binary form: LZ4, and on top of it integers as differences of few bytes. The
//! reader's counterpart is `binary/integers` of the crate `meshreel-read-usd`.

use std::collections::HashMap;

/// Compresses a block: a zero for a single chunk, and the chunk.
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend(lz4_flex::block::compress(bytes));
    out
}

/// Compresses integers: the commonest difference, two bits for each difference, and the differences that are
/// not the commonest, in 1, 2 or 4 bytes.
pub(super) fn pack_integers(numbers: &[i32]) -> Vec<u8> {
    let before = std::iter::once(&0).chain(numbers);
    let differences: Vec<i32> =
        numbers.iter().zip(before).map(|(own, last)| own.wrapping_sub(*last)).collect();
    let mut counts: HashMap<i32, usize> = HashMap::new();
    differences.iter().for_each(|d| *counts.entry(*d).or_default() += 1);
    // The larger of two equally common ones, so that the bytes do not depend on the map's order.
    let common = counts.into_iter().max_by_key(|(d, count)| (*count, *d)).map_or(0, |(d, _)| d);
    let mut out = common.to_le_bytes().to_vec();
    let codes = out.len();
    out.resize(codes + numbers.len().div_ceil(4), 0);
    for (i, difference) in differences.into_iter().enumerate() {
        let bytes = difference.to_le_bytes();
        let (code, width) = match difference {
            _ if difference == common => (0, 0),
            -0x80..=0x7f => (1, 1),
            -0x8000..=0x7fff => (2, 2),
            _ => (3, 4),
        };
        out[codes + i / 4] |= code << (i % 4 * 2);
        out.extend_from_slice(&bytes[..width]);
    }
    pack(&out)
}
