//! A reader for compressed data.

/// A slice that is read from the front.
pub struct ByteReader<'a>(pub &'a [u8]);

/// The error message for data that ends too early.
pub const TOO_SHORT: &str = "it is cut short";

impl<'a> ByteReader<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, &'static str> {
        Ok(self.take(1)?[0])
    }

    /// Reads a variable-length number: seven bits per byte, lowest first.
    pub fn varint(&mut self) -> Result<u32, &'static str> {
        let mut out = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            out |= u32::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        Ok(out)
    }
}

/// Decodes a zigzag-coded difference: 0, −1, 1, −2, …
pub fn decode_zigzag(number: u32) -> u32 {
    number >> 1 ^ (number & 1).wrapping_neg()
}
