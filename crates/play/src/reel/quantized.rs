//! Buffers of quantized components in the width that a stream has.

use meshreel_codec::word::Word;

/// Component-major levels of one stream: `components × vertices` words of 1, 2 or 4 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Words {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Read-only levels of one stream, component-major: all of component 0, then all of component 1 …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Levels<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
}

impl<'a> Levels<'a> {
    /// The first `len`, or fewer where there are fewer.
    pub(crate) fn first(self, len: usize) -> Levels<'a> {
        match self {
            Levels::U8(words) => Levels::U8(&words[..len.min(words.len())]),
            Levels::U16(words) => Levels::U16(&words[..len.min(words.len())]),
            Levels::U32(words) => Levels::U32(&words[..len.min(words.len())]),
        }
    }
    /// Number of components in all, `components × vertices`.
    pub fn len(&self) -> usize {
        match self {
            Levels::U8(words) => words.len(),
            Levels::U16(words) => words.len(),
            Levels::U32(words) => words.len(),
        }
    }
    /// True for a mesh without vertices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// One component, widened.
    pub fn get(&self, i: usize) -> Option<u32> {
        match self {
            Levels::U8(words) => words.get(i).copied().map(u32::from),
            Levels::U16(words) => words.get(i).copied().map(u32::from),
            Levels::U32(words) => words.get(i).copied(),
        }
    }
}

impl Words {
    /// `len` zeros of `bytes` (1, 2 or 4) each.
    pub fn zeroed(bytes: u8, len: usize) -> Words {
        match bytes {
            1 => Words::U8(vec![0; len]),
            2 => Words::U16(vec![0; len]),
            _ => Words::U32(vec![0; len]),
        }
    }
    /// All of them.
    pub fn all(&self) -> Levels<'_> {
        match self {
            Words::U8(words) => Levels::U8(words),
            Words::U16(words) => Levels::U16(words),
            Words::U32(words) => Levels::U32(words),
        }
    }
}

/// A word that [`Words`] can hold. The slices are empty where the width is another; widths are fixed when a
/// decoder is made, so that does not happen.
pub(crate) trait Held: Word {
    fn of(words: &Words) -> &[Self];
    fn of_mut(words: &mut Words) -> &mut [Self];
}

macro_rules! held {
    ($($t:ty: $variant:ident),*) => {$(
        impl Held for $t {
            fn of(words: &Words) -> &[Self] {
                match words {
                    Words::$variant(words) => words,
                    _ => &[],
                }
            }
            fn of_mut(words: &mut Words) -> &mut [Self] {
                match words {
                    Words::$variant(words) => words,
                    _ => &mut [],
                }
            }
        }
    )*};
}
held!(u8: U8, u16: U16, u32: U32);
