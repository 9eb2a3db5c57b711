//! Identities of values by their content.

use crate::Identity;
use xxhash_rust::xxh3::Xxh3;

/// A value that can be written as bytes, for hashing.
pub trait ToBytes: Copy + Send + Sync + 'static {
    /// The size of one value in bytes.
    const SIZE: usize;
    /// Writes the value's bytes to `out`, which is `SIZE` long.
    fn write_bytes(self, out: &mut [u8]);
}

macro_rules! plain {
    ($($t:ty),*) => {$(
        impl ToBytes for $t {
            const SIZE: usize = size_of::<$t>();
            fn write_bytes(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
plain!(i32, u32, f32);

impl<T: ToBytes, const N: usize> ToBytes for [T; N] {
    const SIZE: usize = N * T::SIZE;
    fn write_bytes(self, out: &mut [u8]) {
        for (value, out) in self.into_iter().zip(out.chunks_exact_mut(T::SIZE)) {
            value.write_bytes(out);
        }
    }
}

/// Returns an identity by content. It is a 128-bit hash, and an adversary has nothing to gain: a collision
/// only keeps an old value too long.
pub fn content_identity<T: ToBytes>(values: &[T]) -> Identity {
    let mut hash = Xxh3::new();
    let mut block = [0u8; 4096];
    for chunk in values.chunks(4096 / T::SIZE) {
        for (&value, out) in chunk.iter().zip(block.chunks_exact_mut(T::SIZE)) {
            value.write_bytes(out);
        }
        hash.update(&block[..chunk.len() * T::SIZE]);
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_sees_content_and_length() {
        let a = vec![[1f32, 2.0, 3.0]; 1000];
        let mut b = a.clone();
        assert_eq!(content_identity(&a), content_identity(&b));
        b[999][2] = -0.0;
        assert_ne!(content_identity(&a), content_identity(&b));
        assert_ne!(content_identity(&a), content_identity(&a[..999]));
    }
}
