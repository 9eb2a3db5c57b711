//! The integer types that quantized components are kept in: u8 (colours), u16 (up to 16 bits), u32 (up to 24 bits and more).

/// A quantized component. Predictions are made in `i64` and wrapped to the word, so that every residual is reversible.
pub trait Word:
    Copy + Default + Eq + Ord + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static
{
    /// Bytes in memory and, unpredicted, on disk.
    const BYTES: usize;
    /// Value as a signed integer.
    fn to_i64(self) -> i64;
    /// Low bits of `value`.
    fn wrap(value: i64) -> Self;
    /// Addition modulo 2^bits.
    fn wrapping_add(self, other: Self) -> Self;
    /// Subtraction modulo 2^bits.
    fn wrapping_sub(self, other: Self) -> Self;
}

macro_rules! word {
    ($($t:ty)*) => {$(
        impl Word for $t {
            const BYTES: usize = std::mem::size_of::<$t>();
            #[inline(always)]
            fn to_i64(self) -> i64 { i64::from(self) }
            #[inline(always)]
            fn wrap(value: i64) -> Self { value as $t }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { <$t>::wrapping_add(self, other) }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self { <$t>::wrapping_sub(self, other) }
        }
    )*};
}
word!(u8 u16 u32);
