//! The integer types of quantized components: u8 (colours), u16 (up to 16 bits), u32 (up to 24 bits and
//! more).

/// The blend factors of one stream in one frame: motion a/128, interpolation b/256, blend c/128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct BlendFactors {
    pub a: u8,
    pub b: u8,
    pub c: u8,
}

impl BlendFactors {
    /// The frame before, unchanged.
    pub const DELTA: BlendFactors = BlendFactors { a: 0, b: 0, c: 128 };
    /// Linear extrapolation of the motion.
    pub const LINEAR: BlendFactors = BlendFactors { a: 128, b: 0, c: 128 };
}

/// A quantized component. Predictions are computed in a wider signed integer (`i32` suffices for 8- and
/// 16-bit words, `i64` for 32-bit ones) and wrapped to the word, so that every residual is reversible.
/// Prediction from other frames is the exception: with 16-bit words every stage of it is wrapped, so that
/// kernels need no wider ones.
pub trait Code:
    Copy + Default + Eq + Ord + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static
{
    /// Size in bytes, in memory and, unpredicted, on disk.
    const BYTES: usize;
    /// Returns the value as a signed integer.
    fn to_i64(self) -> i64;
    /// Returns the value as an unsigned integer.
    fn to_u32(self) -> u32;
    /// Returns the low bits of `value`.
    fn wrap(value: i64) -> Self;
    /// Returns the low bits of `value`; cheaper than [`Code::wrap`] in loops that should vectorise.
    fn wrap32(value: u32) -> Self;
    /// Adds modulo 2^bits.
    fn wrapping_add(self, other: Self) -> Self;
    /// Subtracts modulo 2^bits.
    fn wrapping_sub(self, other: Self) -> Self;
    /// Returns the word read as two's complement.
    fn signed(self) -> i32;
    /// Maps two's complement to small numbers: 0, −1, 1, −2 … become 0, 1, 2, 3 …
    fn zigzag(self) -> Self;
    /// Inverts [`Code::zigzag`].
    fn unzigzag(self) -> Self;
    /// Returns the floor of the mean of two words read as two's complement (`signed`) or as unsigned numbers.
    fn mean(self, other: Self, signed: bool) -> Self;
    /// Returns `(edge·(b + c) + apex·a + 64) >> 7` of words read as two's complement (`signed`) or as
    /// unsigned numbers.
    fn weighted(a: Self, b: Self, c: Self, edge: u8, apex: i8, signed: bool) -> Self;
    /// Returns the words as 16-bit ones, if they have 16 bits: for kernels that are written for these.
    fn codes16(words: &[Self]) -> Option<&[u16]>;
    /// Mutable variant of [`Code::codes16`].
    fn codes16_mut(words: &mut [Self]) -> Option<&mut [u16]>;
    /// Returns the prediction of a B-frame, see [`crate::classic::motion`].
    fn predict_b_frame(
        previous: Self,
        before: Self,
        index_before: Self,
        index_after: Self,
        by: BlendFactors,
    ) -> Self;
}

macro_rules! word {
    ($($t:ty, $signed:ty, $wide:ty { $($own:tt)* })*) => {$(
        impl Code for $t {
            const BYTES: usize = std::mem::size_of::<$t>();
            #[inline(always)]
            fn to_i64(self) -> i64 { i64::from(self) }
            #[inline(always)]
            fn to_u32(self) -> u32 { u32::from(self) }
            #[inline(always)]
            fn wrap(value: i64) -> Self { value as $t }
            #[inline(always)]
            fn wrap32(value: u32) -> Self { value as $t }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self { <$t>::wrapping_add(self, other) }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self { <$t>::wrapping_sub(self, other) }
            #[inline(always)]
            fn signed(self) -> i32 { i32::from(self as $signed) }
            #[inline(always)]
            fn zigzag(self) -> Self { (self << 1) ^ ((self as $signed) >> (<$t>::BITS - 1)) as $t }
            #[inline(always)]
            fn unzigzag(self) -> Self { (self >> 1) ^ (self & 1).wrapping_neg() }
            #[inline(always)]
            fn mean(self, other: Self, signed: bool) -> Self {
                if signed {
                    ((<$wide>::from(self as $signed) + <$wide>::from(other as $signed)) >> 1) as $t
                } else {
                    ((<$wide>::from(self) + <$wide>::from(other)) >> 1) as $t
                }
            }
            #[inline(always)]
            fn weighted(a: Self, b: Self, c: Self, edge: u8, apex: i8, signed: bool) -> Self {
                let wide = |w: Self| if signed { <$wide>::from(w as $signed) } else { <$wide>::from(w) };
                ((<$wide>::from(edge) * (wide(b) + wide(c)) + <$wide>::from(apex) * wide(a) + 64) >> 7) as $t
            }
            $($own)*
        }
    )*};
}
word! {
    u8, i8, i32 {
        fn codes16(_: &[Self]) -> Option<&[u16]> {
            None
        }
        fn codes16_mut(_: &mut [Self]) -> Option<&mut [u16]> {
            None
        }
        #[inline(always)]
        fn predict_b_frame(previous: Self, before: Self, index_before: Self, index_after: Self, by: BlendFactors) -> Self {
            let (f1, f2) = (i32::from(previous), i32::from(before));
            let (i0, i1) = (i32::from(index_before), i32::from(index_after));
            let (a, b, c) = (i32::from(by.a), i32::from(by.b), i32::from(by.c));
            let motion = f1 + ((a * (f1 - f2) + 64) >> 7);
            let inside = i0 + ((b * (i1 - i0) + 128) >> 8);
            (inside + ((c * (motion - inside) + 64) >> 7)) as u8
        }
    }
    u16, i16, i32 {
        fn codes16(words: &[Self]) -> Option<&[u16]> {
            Some(words)
        }
        fn codes16_mut(words: &mut [Self]) -> Option<&mut [u16]> {
            Some(words)
        }
        #[inline(always)]
        fn predict_b_frame(previous: Self, before: Self, index_before: Self, index_after: Self, by: BlendFactors) -> Self {
            // `factor` of the way from `from` to `to`, modulo 2^16: the shorter way.
            let part = |to: u16, from: u16, factor: u8, half: i32, shift: u32| {
                let way = i32::from(to.wrapping_sub(from) as i16);
                ((i32::from(factor) * way + half) >> shift) as u16
            };
            let motion = previous.wrapping_add(part(previous, before, by.a, 64, 7));
            let inside = index_before.wrapping_add(part(index_after, index_before, by.b, 128, 8));
            inside.wrapping_add(part(motion, inside, by.c, 64, 7))
        }
    }
    u32, i32, i64 {
        fn codes16(_: &[Self]) -> Option<&[u16]> {
            None
        }
        fn codes16_mut(_: &mut [Self]) -> Option<&mut [u16]> {
            None
        }
        #[inline(always)]
        fn predict_b_frame(previous: Self, before: Self, index_before: Self, index_after: Self, by: BlendFactors) -> Self {
            let (f1, f2) = (i64::from(previous), i64::from(before));
            let (i0, i1) = (i64::from(index_before), i64::from(index_after));
            let (a, b, c) = (i64::from(by.a), i64::from(by.b), i64::from(by.c));
            let motion = f1 + ((a * (f1 - f2) + 64) >> 7);
            let inside = i0 + ((b * (i1 - i0) + 128) >> 8);
            (inside + ((c * (motion - inside) + 64) >> 7)) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_is_a_bijection() {
        for v in 0..=u16::MAX {
            assert_eq!(v.zigzag().unzigzag(), v);
        }
        for (k, v) in [0i16, -1, 1, -2, 2].into_iter().enumerate() {
            assert_eq!((v as u16).zigzag(), k as u16);
        }
        assert_eq!(0x80u8.zigzag(), 255);
        assert_eq!(0x8000_0000u32.zigzag(), u32::MAX);
        assert_eq!(u32::MAX.unzigzag(), 0x8000_0000);
    }

    #[test]
    fn weights_round_to_nearest() {
        assert_eq!(u16::weighted(10, 12, 20, 128, -128, false), 22);
        assert_eq!(u16::weighted(0, 1, 2, 64, 0, true), 2);
        assert_eq!(u16::weighted(0, u16::MAX, 0, 64, 0, true), 0);
        assert_eq!(u16::weighted(0, u16::MAX - 1, 0, 64, 0, true), u16::MAX);
        assert_eq!(
            u32::weighted(u32::MAX, u32::MAX, u32::MAX, 255, -128, false),
            4_294_967_295u64.wrapping_mul(382).wrapping_add(64).wrapping_shr(7) as u32
        );
    }

    #[test]
    fn means_round_down() {
        assert_eq!(3u8.mean(4, false), 3);
        assert_eq!(255u8.mean(255, false), 255);
        assert_eq!(255u8.mean(254, true), (-2i8) as u8);
        assert_eq!(u32::MAX.mean(1, false), 0x8000_0000);
        assert_eq!(u32::MAX.mean(2, true), 0);
    }
}
