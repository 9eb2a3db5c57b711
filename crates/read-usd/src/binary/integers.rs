//! Compressed blocks of the binary form: LZ4 in chunks, and on top of it integers as differences of few
//! bytes.

/// Upper limit for the values of one list; larger counts are refused before memory is reserved.
pub const MAX_VALUES: u64 = 1 << 27;
/// Upper limit for the bytes that one byte of LZ4 decodes to.
const LZ4_RATIO: u64 = 255;

/// The error for a damaged compressed block, with a message.
#[derive(Debug, PartialEq, Eq)]
pub struct DamagedBlock(pub &'static str);

/// Unpacks a block of at most `most` bytes. Its first byte is the number of chunks; 0 means that the rest is
/// a single chunk.
pub fn unpack(block: &[u8], most: u64) -> Result<Vec<u8>, DamagedBlock> {
    let Some((&chunks, mut rest)) = block.split_first() else {
        return Err(DamagedBlock("a compressed block is empty"));
    };
    // A block cannot expand further, whatever it claims.
    let most = most.min((rest.len() as u64).saturating_mul(LZ4_RATIO)) as usize;
    let mut out = vec![0; most];
    if chunks == 0 {
        let length = decompress(rest, &mut out)?;
        out.truncate(length);
        return Ok(out);
    }
    let mut filled = 0;
    for _ in 0..chunks {
        let Some((length, after)) = rest.split_first_chunk::<4>() else {
            return Err(DamagedBlock("a chunk of a compressed block is cut short"));
        };
        let length = usize::try_from(i32::from_le_bytes(*length)).ok();
        let Some((chunk, after)) = length.and_then(|length| after.split_at_checked(length)) else {
            return Err(DamagedBlock("a chunk of a compressed block is cut short"));
        };
        filled += decompress(chunk, &mut out[filled..])?;
        rest = after;
    }
    out.truncate(filled);
    Ok(out)
}

fn decompress(chunk: &[u8], out: &mut [u8]) -> Result<usize, DamagedBlock> {
    lz4_flex::block::decompress_into(chunk, out).map_err(|_| DamagedBlock("a compressed block is damaged"))
}

/// An integer type of one width, with the widths of its stored differences.
pub trait Integer: Copy + Default {
    /// The size in bytes.
    const SIZE: usize;
    /// The bytes of a difference for the codes 1 to 3; code 0 is the common difference.
    const WIDTHS: [usize; 3];
    fn plus(self, difference: i64) -> Self;
}

impl Integer for u32 {
    const SIZE: usize = 4;
    const WIDTHS: [usize; 3] = [1, 2, 4];
    fn plus(self, difference: i64) -> u32 {
        self.wrapping_add(difference as u32)
    }
}

impl Integer for u64 {
    const SIZE: usize = 8;
    const WIDTHS: [usize; 3] = [2, 4, 8];
    fn plus(self, difference: i64) -> u64 {
        self.wrapping_add(difference as u64)
    }
}

/// Returns the largest size in bytes of `count` encoded numbers before compression.
fn encoded<T: Integer>(count: u64) -> u64 {
    T::SIZE as u64 + count.div_ceil(4) + count * T::SIZE as u64
}

/// Decodes the `count` numbers of a compressed block: the common difference, two bits for each number, and
/// the differences that are not the common one.
pub fn integers<T: Integer>(block: &[u8], count: u64) -> Result<Vec<T>, DamagedBlock> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > MAX_VALUES {
        return Err(DamagedBlock("a list is larger than any that is read"));
    }
    let bytes = unpack(block, encoded::<T>(count))?;
    let short = || DamagedBlock("a list of numbers is cut short");
    let count = count as usize;
    let (common, rest) = bytes.split_at_checked(T::SIZE).ok_or_else(short)?;
    let (codes, mut rest) = rest.split_at_checked(count.div_ceil(4)).ok_or_else(short)?;
    let common = signed(common);
    let mut value = T::default();
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        let difference = match codes[i / 4] >> (i % 4 * 2) & 3 {
            0 => common,
            code => {
                let (own, after) =
                    rest.split_at_checked(T::WIDTHS[usize::from(code) - 1]).ok_or_else(short)?;
                rest = after;
                signed(own)
            }
        };
        value = value.plus(difference);
        out.push(value);
    }
    Ok(out)
}

/// Decodes a little-endian signed number of 1 to 8 bytes.
fn signed(bytes: &[u8]) -> i64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let unused = 64 - 8 * bytes.len() as u32;
    i64::from_le_bytes(wide) << unused >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes numbers the plain way: a single chunk, and each difference at full width.
    fn stored(numbers: &[i64], size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        bytes.resize(size + numbers.len().div_ceil(4), 0xFF);
        let mut last = 0i64;
        for number in numbers {
            bytes.extend_from_slice(&number.wrapping_sub(last).to_le_bytes()[..size]);
            last = *number;
        }
        let mut block = vec![0];
        block.extend(lz4_flex::block::compress(&bytes));
        block
    }

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 7, -3, 1 << 30, -(1 << 31), (1 << 31) - 1, 5];
        let out: Vec<u32> = integers(&stored(&numbers, 4), 7).unwrap();
        assert_eq!(out.iter().map(|v| i64::from(*v as i32)).collect::<Vec<_>>(), numbers);
        let numbers = [i64::MIN, i64::MAX, 0, -1];
        let out: Vec<u64> = integers(&stored(&numbers, 8), 4).unwrap();
        assert_eq!(out.iter().map(|v| *v as i64).collect::<Vec<_>>(), numbers);
    }

    #[test]
    fn common_and_short_differences() {
        // Common difference 1; codes 0, 1 (one byte, −1), 2 (two bytes, 300), 0.
        let mut bytes = 1i32.to_le_bytes().to_vec();
        bytes.extend([0b00_10_01_00, 0xFF, 0x2C, 0x01]);
        let mut block = vec![0];
        block.extend(lz4_flex::block::compress(&bytes));
        assert_eq!(integers::<u32>(&block, 4).unwrap(), [1, 0, 300, 301]);
        // The same in two chunks.
        let parts = [&bytes[..3], &bytes[3..]].map(lz4_flex::block::compress);
        let mut block = vec![2];
        for part in parts {
            block.extend((part.len() as i32).to_le_bytes());
            block.extend(part);
        }
        assert_eq!(integers::<u32>(&block, 4).unwrap(), [1, 0, 300, 301]);
        assert!(integers::<u32>(&block, 60).is_err(), "more than there are");
        for end in 0..block.len() {
            assert!(integers::<u32>(&block[..end], 4).is_err(), "{end}");
        }
    }

    #[test]
    fn wild_claims_reserve_nothing() {
        assert!(integers::<u64>(&[0, 0], u64::MAX).is_err());
        assert!(unpack(&[0, 0x10, 1], u64::MAX).unwrap().len() <= 2 * 255);
        assert!(unpack(&[], 5).is_err() && unpack(&[3, 255, 255, 255, 255], 9).is_err());
    }
}
