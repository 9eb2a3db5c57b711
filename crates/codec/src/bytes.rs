//! Reads and writes little-endian bytes and variable-length numbers; shared by all codecs that store records.
//!
//! A *varint* has 7 bits per byte, the lowest first; the top bit says that another byte follows. At most 5
//! bytes for 32 bits; bits beyond the 32nd and superfluous final zero bytes are refused, so a number has
//! exactly one encoding.

/// The error of decoders: the bytes are not what the encoder writes. Holds what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Corrupt(pub &'static str);

/// Appends `value` as a varint.
pub(crate) fn put_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number of 64 bits as a varint of at most 10 bytes.
#[cfg(feature = "encode")]
pub(crate) fn put_long_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes after their number, as a varint.
pub fn put_length_prefixed(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(u32::try_from(bytes.len()).expect("parts of less than 4 GiB"), out);
    out.extend_from_slice(bytes);
}

/// Reads the bytes of [`put_length_prefixed`] from the start of `bytes`; also returns the total number of
/// bytes used.
pub fn take_length_prefixed(bytes: &[u8]) -> Result<(&[u8], usize), Corrupt> {
    let mut c = Cursor::new(bytes);
    let part = c.length_prefixed()?;
    Ok((part, c.used()))
}

/// Reads values from the front of a byte slice; every method fails at the end of the input instead of
/// panicking.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    length: usize,
}

/// The error of every read beyond the end of the input.
pub(crate) const UNEXPECTED_END: Corrupt = Corrupt("payload ends early");

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes, length: bytes.len() }
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn used(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Returns the number of bytes left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Corrupt> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(UNEXPECTED_END)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads bytes after their number, as [`put_length_prefixed`] writes them.
    pub(crate) fn length_prefixed(&mut self) -> Result<&'a [u8], Corrupt> {
        let size = self.varint()?;
        self.bytes(size as usize)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Corrupt> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(UNEXPECTED_END)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Corrupt> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn f32(&mut self) -> Result<f32, Corrupt> {
        Ok(f32::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Corrupt> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    pub(crate) fn varint(&mut self) -> Result<u32, Corrupt> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            if shift == 28 && byte > 0x0F {
                return Err(Corrupt("number beyond 32 bits"));
            }
            value |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    return Err(Corrupt("number with superfluous bytes"));
                }
                return Ok(value);
            }
        }
        Err(Corrupt("number beyond 32 bits"))
    }

    /// Reads what [`put_long_varint`] writes.
    pub(crate) fn long_varint(&mut self) -> Result<u64, Corrupt> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 || byte == 0 && shift > 0 {
                break;
            }
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Corrupt("number beyond 64 bits, or with superfluous bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 1 << 28, u32::MAX] {
            let mut bytes = Vec::new();
            put_varint(value, &mut bytes);
            let mut c = Cursor::new(&bytes);
            assert_eq!(c.varint(), Ok(value));
            assert_eq!(c.left(), 0);
            for cut in 0..bytes.len() {
                assert_eq!(Cursor::new(&bytes[..cut]).varint(), Err(UNEXPECTED_END));
            }
        }
        assert!(Cursor::new(&[0x80, 0]).varint().is_err());
        assert!(Cursor::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0x10]).varint().is_err());
        assert!(Cursor::new(&[0x80; 6]).varint().is_err());
    }
}
