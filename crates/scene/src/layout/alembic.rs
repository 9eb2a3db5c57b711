//! Alembic: types of numbers, and keys of samples.
//!
//! A key is MurmurHash3, the x64 variant with 128 bits and seed 0. The same data has the same key in files of
//! any writer, so it serves as identity when reading and finds blocks to share when writing.
//!
//! Algorithm: Austin Appleby, 2011, public domain. There are two lanes of 64 bits; each 16-byte block is
//! multiplied, rotated and mixed into them crosswise; the tail is padded with zeros; the length is mixed in
//! last.

/// The type of one number ("plain old data"), in the order of the codes in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Pod {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    String,
    WString,
}

/// Returns the key of `bytes`; the first eight bytes of the key on disk are the low half.
pub fn murmur3(bytes: &[u8]) -> u128 {
    let (mut h1, mut h2) = (0u64, 0u64);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = lanes(block);
        h1 = (h1 ^ scramble_1(k1)).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ scramble_2(k2)).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    if !tail.is_empty() {
        let mut block = [0u8; 16];
        block[..tail.len()].copy_from_slice(tail);
        let (k1, k2) = lanes(&block);
        h2 ^= scramble_2(k2);
        h1 ^= scramble_1(k1);
    }
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    u128::from(h1) | u128::from(h2) << 64
}

fn lanes(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

fn scramble_1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble_2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish(mut k: u64) -> u64 {
    k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}

#[cfg(test)]
mod tests {
    use super::murmur3;

    /// Key and payload as stored in files: an Alembic bool `true` block begins with `16 fe 74 83 … 88 77`.
    #[test]
    fn known_values() {
        assert_eq!(murmur3(b""), 0);
        assert_eq!(murmur3(&[1]).to_le_bytes()[..4], [0x16, 0xfe, 0x74, 0x83]);
        assert_eq!(murmur3(&[1]).to_le_bytes()[14..], [0x88, 0x77]);
        // The usual test sentence of this hash.
        let key = murmur3(b"The quick brown fox jumps over the lazy dog");
        assert_eq!(key as u64, 0xe34b_bc7b_bc07_1b6c);
        assert_eq!((key >> 64) as u64, 0x7a43_3ca9_c49a_9347);
    }
}
