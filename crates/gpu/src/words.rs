//! Words of a buffer, filled section by section.

/// A buffer that grows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Words(pub Vec<u32>);

impl Words {
    /// Where the next section begins.
    pub fn at(&self) -> u32 {
        self.0.len() as u32
    }

    /// Puts a section there, and tells where.
    pub fn put(&mut self, words: impl IntoIterator<Item = u32>) -> u32 {
        let at = self.at();
        self.0.extend(words);
        at
    }

    /// The same of floats.
    pub fn put_floats(&mut self, values: impl IntoIterator<Item = f32>) -> u32 {
        self.put(values.into_iter().map(f32::to_bits))
    }
}

/// Two numbers of 16 bits in a word, the first one low.
pub(crate) fn pair(low: i16, high: i16) -> u32 {
    u32::from(low as u16) | u32::from(high as u16) << 16
}
