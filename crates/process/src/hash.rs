//! A fast hash of a few `u32`, for tables that compare the values themselves: it affects nothing but speed.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Folded multiplication, with a key per process, so that no file can provoke collisions.
#[derive(Clone, Copy)]
pub struct FoldedHash(u64);

impl FoldedHash {
    /// Creates a hash with a fresh key.
    pub fn new() -> FoldedHash {
        FoldedHash(RandomState::new().hash_one(0u8))
    }

    /// Returns the hash of some words.
    #[inline]
    pub fn hash<const K: usize>(&self, words: [u32; K]) -> u64 {
        let mut state = *self;
        for pair in words.chunks(2) {
            let high = pair.get(1).map_or(1, |&w| u64::from(w));
            state.write_u64(high << 32 | u64::from(pair[0]));
        }
        state.finish()
    }
}

impl Default for FoldedHash {
    fn default() -> FoldedHash {
        FoldedHash::new()
    }
}

impl BuildHasher for FoldedHash {
    type Hasher = FoldedHash;
    fn build_hasher(&self) -> FoldedHash {
        *self
    }
}

impl Hasher for FoldedHash {
    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    #[inline]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0x9E37_79B9_7F4A_7C15;
        let product = (product >> 64) as u64 ^ product as u64;
        self.0 = product.rotate_left(23) ^ value.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }
    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value) | 1 << 32);
    }
    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn small_numbers_spread() {
        let hash = FoldedHash::new();
        let low: HashSet<u64> = (0..4096u32).map(|i| hash.hash([i, 0, i / 7]) & 0xFFFF).collect();
        // 4096 random picks of 65536 give about 3970 different ones.
        assert!(low.len() > 3700, "{}", low.len());
    }
}
