//! The words of a buffer, filled section by section.

/// A buffer that grows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WordBuffer(pub Vec<u32>);

impl WordBuffer {
    /// Returns the offset of the next section.
    pub fn next_offset(&self) -> u32 {
        self.0.len() as u32
    }

    /// Appends a section, and returns its offset.
    pub fn append(&mut self, words: impl IntoIterator<Item = u32>) -> u32 {
        let at = self.next_offset();
        self.0.extend(words);
        at
    }

    /// Appends a section of floats, and returns its offset.
    pub fn append_floats(&mut self, values: impl IntoIterator<Item = f32>) -> u32 {
        self.append(values.into_iter().map(f32::to_bits))
    }
}

/// Packs two 16-bit integers into a word, the first one low.
pub(crate) fn pair(low: i16, high: i16) -> u32 {
    u32::from(low as u16) | u32::from(high as u16) << 16
}
