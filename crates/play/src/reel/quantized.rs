//! Buffers of quantized components in the width that a stream has.

use meshreel_codec::quantize::code::Code;

/// Component-major levels of one stream: `components × vertices` words of 1, 2 or 4 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum QuantizedBuffer {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Read-only levels of one stream, component-major: all of component 0, then all of component 1 …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum QuantizedValues<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
}

/// The same of values of any width.
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
    /// The first `len`, or fewer where there are fewer.
    pub(crate) fn first(self, len: usize) -> QuantizedValues<'a> {
        match self {
            QuantizedValues::U8(words) => QuantizedValues::U8(&words[..len.min(words.len())]),
            QuantizedValues::U16(words) => QuantizedValues::U16(&words[..len.min(words.len())]),
            QuantizedValues::U32(words) => QuantizedValues::U32(&words[..len.min(words.len())]),
        }
    }
    /// Number of components in all, `components × vertices`.
    pub fn len(&self) -> usize {
        for_quantized!(self, words => words.len())
    }
    /// True for a mesh without vertices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// One component, widened.
    pub fn get(&self, i: usize) -> Option<u32> {
        match self {
            QuantizedValues::U8(words) => words.get(i).copied().map(u32::from),
            QuantizedValues::U16(words) => words.get(i).copied().map(u32::from),
            QuantizedValues::U32(words) => words.get(i).copied(),
        }
    }
}

impl QuantizedBuffer {
    /// `len` zeros of `bytes` (1, 2 or 4) each.
    pub fn zeroed(bytes: u8, len: usize) -> QuantizedBuffer {
        match bytes {
            1 => QuantizedBuffer::U8(vec![0; len]),
            2 => QuantizedBuffer::U16(vec![0; len]),
            _ => QuantizedBuffer::U32(vec![0; len]),
        }
    }
    /// All of them.
    pub fn all(&self) -> QuantizedValues<'_> {
        match self {
            QuantizedBuffer::U8(words) => QuantizedValues::U8(words),
            QuantizedBuffer::U16(words) => QuantizedValues::U16(words),
            QuantizedBuffer::U32(words) => QuantizedValues::U32(words),
        }
    }
}

/// A word that [`QuantizedBuffer`] can hold. The slices are empty where the width is another; widths are fixed when a
/// decoder is made, so that does not happen.
pub(crate) trait Held: Code {
    fn of(words: &QuantizedBuffer) -> &[Self];
    fn of_mut(words: &mut QuantizedBuffer) -> &mut [Self];
}

macro_rules! held {
    ($($t:ty: $variant:ident),*) => {$(
        impl Held for $t {
            fn of(words: &QuantizedBuffer) -> &[Self] {
                match words {
                    QuantizedBuffer::$variant(words) => words,
                    _ => &[],
                }
            }
            fn of_mut(words: &mut QuantizedBuffer) -> &mut [Self] {
                match words {
                    QuantizedBuffer::$variant(words) => words,
                    _ => &mut [],
                }
            }
        }
    )*};
}
held!(u8: U8, u16: U16, u32: U32);
