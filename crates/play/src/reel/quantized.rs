//! Buffers of quantized values in the width of their stream.

use meshreel_codec::quantize::code::Code;

/// Quantized values of one stream, component-major: `components × vertices` values of 1, 2 or 4 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum QuantizedBuffer {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Borrowed quantized values of one stream, component-major: all of component 0, then all of component 1 …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
#[must_use]
pub enum QuantizedValues<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
}

/// Evaluates the same expression for values of any width.
macro_rules! for_quantized {
    ($values:expr, $codes:ident => $body:expr) => {
        match $values {
            $crate::reel::quantized::QuantizedValues::U8($codes) => $body,
            $crate::reel::quantized::QuantizedValues::U16($codes) => $body,
            $crate::reel::quantized::QuantizedValues::U32($codes) => $body,
        }
    };
}
pub(crate) use for_quantized;

impl<'a> QuantizedValues<'a> {
    /// Returns the first `len` values, or all if there are fewer.
    pub(crate) fn first(self, len: usize) -> QuantizedValues<'a> {
        match self {
            QuantizedValues::U8(words) => QuantizedValues::U8(&words[..len.min(words.len())]),
            QuantizedValues::U16(words) => QuantizedValues::U16(&words[..len.min(words.len())]),
            QuantizedValues::U32(words) => QuantizedValues::U32(&words[..len.min(words.len())]),
        }
    }
    /// Returns the number of values, `components × vertices`.
    #[must_use]
    pub fn len(&self) -> usize {
        for_quantized!(self, words => words.len())
    }
    /// `true` for a mesh without vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns value `i`, widened; `None` if there is no such value.
    pub fn get(&self, i: usize) -> Option<u32> {
        match self {
            QuantizedValues::U8(words) => words.get(i).copied().map(u32::from),
            QuantizedValues::U16(words) => words.get(i).copied().map(u32::from),
            QuantizedValues::U32(words) => words.get(i).copied(),
        }
    }
}

impl QuantizedBuffer {
    /// Returns a buffer of `len` zeros of `bytes` (1, 2 or 4) each.
    pub fn zeroed(bytes: u8, len: usize) -> QuantizedBuffer {
        match bytes {
            1 => QuantizedBuffer::U8(vec![0; len]),
            2 => QuantizedBuffer::U16(vec![0; len]),
            _ => QuantizedBuffer::U32(vec![0; len]),
        }
    }
    /// Returns all values.
    pub fn values(&self) -> QuantizedValues<'_> {
        match self {
            QuantizedBuffer::U8(words) => QuantizedValues::U8(words),
            QuantizedBuffer::U16(words) => QuantizedValues::U16(words),
            QuantizedBuffer::U32(words) => QuantizedValues::U32(words),
        }
    }
}

/// An integer type that [`QuantizedBuffer`] can hold. The slices are empty if the buffer's width is another
/// one, which does not happen: widths are fixed when a decoder is made.
pub(crate) trait QuantizedInteger: Code {
    fn slice(words: &QuantizedBuffer) -> &[Self];
    fn slice_mut(words: &mut QuantizedBuffer) -> &mut [Self];
}

macro_rules! impl_quantized_integer {
    ($($t:ty: $variant:ident),*) => {$(
        impl QuantizedInteger for $t {
            fn slice(words: &QuantizedBuffer) -> &[Self] {
                match words {
                    QuantizedBuffer::$variant(words) => words,
                    _ => &[],
                }
            }
            fn slice_mut(words: &mut QuantizedBuffer) -> &mut [Self] {
                match words {
                    QuantizedBuffer::$variant(words) => words,
                    _ => &mut [],
                }
            }
        }
    )*};
}
impl_quantized_integer!(u8: U8, u16: U16, u32: U32);
