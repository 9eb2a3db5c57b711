//! Named ranges of frames: animations that were put on one timeline, one after the other. Lossless.
//!
//! *text*, *list* as in [`crate::record`]. A chunk is a list of ranges, in order of time and without
//! overlaps:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `name` | |
//! | … | 1 … 5 | `gap` | varint, frames between the end of the range before (for the first range: the first frame) and its first frame |
//! | … | 1 … 5 | `frames` | varint, number of frames, at least 1 |

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};

/// A named range of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameRange {
    /// The name of the animation in the source; need not be unique.
    pub name: String,
    /// The first frame.
    pub first: u32,
    /// The number of frames, at least one.
    pub frames: u32,
}

impl FrameRange {
    /// Returns the last frame.
    pub fn last_frame(&self) -> u32 {
        self.first + (self.frames - 1)
    }

    /// Returns the number of the frame after it, which may not exist.
    pub fn end(&self) -> u32 {
        self.first + self.frames
    }
}

/// Appends ranges in order. None may be empty or overlap the one before.
#[cfg(feature = "encode")]
pub fn encode(ranges: &[FrameRange], out: &mut Vec<u8>) {
    put_varint(ranges.len() as u32, out);
    let mut end = 0;
    for range in ranges {
        put_length_prefixed(range.name.as_bytes(), out);
        put_varint(range.first - end, out);
        put_varint(range.frames, out);
        end = range.end();
    }
}

/// Decodes all of `bytes`, for a file of `frames` frames.
pub fn decode(bytes: &[u8], frames: u32) -> Result<Vec<FrameRange>, Corrupt> {
    let mut cursor = Cursor::new(bytes);
    // Each range takes at least three bytes, so no more memory is allocated than the input justifies.
    let mut ranges = Vec::new();
    let mut end = 0u32;
    for _ in 0..cursor.varint()? {
        let size = cursor.varint()? as usize;
        let name = String::from_utf8(cursor.bytes(size)?.to_vec())
            .map_err(|_| Corrupt("ranges: a name is not UTF-8"))?;
        let (gap, own) = (cursor.varint()?, cursor.varint()?);
        let first = end.checked_add(gap);
        let behind = first.and_then(|first| first.checked_add(own));
        let (Some(first), Some(behind)) = (first, behind.filter(|b| own > 0 && *b <= frames)) else {
            return Err(Corrupt("ranges: one without frames, or of frames that are not there"));
        };
        end = behind;
        ranges.push(FrameRange { name, first, frames: own });
    }
    match cursor.left() {
        0 => Ok(ranges),
        _ => Err(Corrupt("ranges: bytes left over")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some() -> Vec<FrameRange> {
        let range = |name: &str, first, frames| FrameRange { name: name.into(), first, frames };
        vec![range("walk", 0, 5), range("läuft", 5, 1), range("", 400, 600)]
    }

    #[test]
    fn ranges_come_back_and_damage_is_refused() {
        let mut bytes = Vec::new();
        encode(&some(), &mut bytes);
        assert_eq!(decode(&bytes, 1000), Ok(some()));
        assert_eq!(some()[2].last_frame(), 999);
        assert!(decode(&bytes, 999).is_err());
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], 1000).is_err());
        }
        let mut more = bytes.clone();
        more.push(0);
        assert!(decode(&more, 1000).is_err());
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bytes, 1000);
        }
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        // No frames; beyond the file; a sum beyond 32 bits.
        let big = [0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
        let huge: Vec<u8> = [&[1, 0][..], &big, &big].concat();
        for bytes in [&[1, 0, 0, 0][..], &[1, 0, 0, 4], &[1, 0, 1, 3], &huge] {
            assert!(decode(bytes, 3).is_err(), "{bytes:?}");
        }
        assert_eq!(decode(&[0], 0), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..60), frames in any::<u32>()) {
            if let Ok(ranges) = decode(&bytes, frames) {
                let mut again = Vec::new();
                encode(&ranges, &mut again);
                prop_assert_eq!(again, bytes);
                prop_assert!(ranges.iter().all(|r| r.end() <= frames));
            }
        }
    }
}
