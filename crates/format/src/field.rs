//! The place of each number in a fixed-size structure. The lists of fields are the only place where offsets
//! are written down: reading, writing and the comparison with the document all use them.

/// One field of a fixed-size structure. All numbers are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name in the document.
    pub name: &'static str,
    /// Offset in bytes from the start of the structure.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

impl Field {
    pub(crate) const fn new(name: &'static str, offset: usize, size: usize) -> Field {
        Field { name, offset, size }
    }

    /// Returns the bytes of the field. `N` must be its size; both are constants of the format, and every
    /// structure is a fixed-size array.
    fn bytes<const N: usize>(self, from: &[u8]) -> [u8; N] {
        debug_assert_eq!(N, self.size);
        let mut out = [0; N];
        out.copy_from_slice(&from[self.offset..self.offset + N]);
        out
    }

    pub(crate) fn u16(self, from: &[u8]) -> u16 {
        u16::from_le_bytes(self.bytes(from))
    }
    pub(crate) fn u32(self, from: &[u8]) -> u32 {
        u32::from_le_bytes(self.bytes(from))
    }
    pub(crate) fn u64(self, from: &[u8]) -> u64 {
        u64::from_le_bytes(self.bytes(from))
    }
    /// Reads six `f32`: smallest x, y, z, largest x, y, z.
    pub(crate) fn bounds(self, from: &[u8]) -> [f32; 6] {
        let bytes: [u8; 24] = self.bytes(from);
        let mut out = [0.0; 6];
        for (value, four) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *value = f32::from_le_bytes(*four);
        }
        out
    }
    pub(crate) fn is_zero(self, from: &[u8]) -> bool {
        from[self.offset..self.offset + self.size].iter().all(|&b| b == 0)
    }

    pub(crate) fn write(self, to: &mut [u8], bytes: &[u8]) {
        debug_assert_eq!(bytes.len(), self.size);
        to[self.offset..self.offset + self.size].copy_from_slice(bytes);
    }
    pub(crate) fn put_bounds(self, to: &mut [u8], bounds: &[f32; 6]) {
        let mut bytes = [0; 24];
        for (four, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(bounds) {
            *four = value.to_le_bytes();
        }
        self.write(to, &bytes);
    }
}
