//! Numbers out of bytes: what all generators of this folder are driven by.

/// Takes numbers off the front of an input, zeros where it has ended.
pub struct Numbers<'a>(pub &'a [u8]);

impl<'a> Numbers<'a> {
    /// One byte.
    pub fn u8(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }
    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }
    /// Four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }
    /// One byte with its sign.
    pub fn i8(&mut self) -> i8 {
        self.u8() as i8
    }
    /// True or false, false where the input has ended.
    pub fn bit(&mut self) -> bool {
        self.u8() & 1 == 1
    }
    /// A number below `n`, which is 1 to 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.u8()) % n
    }
    /// What is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}
