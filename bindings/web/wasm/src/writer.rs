//! The output for the page: little-endian numbers one after the other. `src/reader.js` reads them.

use meshreel::Transform;

/// Appends numbers and texts to a list of bytes.
#[derive(Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u32(&mut self, value: usize) {
        self.0.extend_from_slice(&(value as u32).to_le_bytes());
    }

    pub fn f32(&mut self, value: f32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn f64(&mut self, value: f64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn floats(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.f32(*value));
    }

    /// Writes the length of a text in bytes, then its UTF-8.
    pub fn text(&mut self, text: &str) {
        self.u32(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Writes the number of items, then each item.
    pub fn list<T>(&mut self, items: &[T], mut put: impl FnMut(&mut Writer, &T)) {
        self.u32(items.len());
        items.iter().for_each(|item| put(self, item));
    }

    /// Writes a quaternion x y z w, a translation and a scale.
    pub fn transform(&mut self, value: &Transform) {
        self.floats(&value.rotation);
        self.floats(&value.translation);
        self.floats(&value.scale);
    }

    /// Pads with zeros to a multiple of eight bytes.
    pub fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }
}
