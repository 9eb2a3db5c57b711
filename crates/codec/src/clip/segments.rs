//! The places of the segments of a tier: the sizes of all segments as varints, then the segments. Lossless.

use crate::Corrupt;
use crate::bytes::Cursor;

/// The end of each segment of a tier, as offsets from the tier's start.
#[derive(Clone, Debug, Default)]
pub struct SegmentEnds(Vec<usize>);

impl SegmentEnds {
    /// Reads the sizes of `segments` segments; `bytes` must be all bytes of a tier.
    pub fn read(segments: usize, bytes: &[u8]) -> Result<SegmentEnds, Corrupt> {
        let mut cursor = Cursor::new(bytes);
        // The size of a segment takes at least a byte.
        if segments > cursor.left() {
            return Err(Corrupt("sizes of a clip's segments end early"));
        }
        let mut ends = Vec::with_capacity(segments + 1);
        let mut end = 0usize;
        ends.push(0);
        for _ in 0..segments {
            end += cursor.varint()? as usize;
            ends.push(end);
        }
        if cursor.left() != end {
            return Err(Corrupt("sizes of a clip's segments do not sum up"));
        }
        let start = cursor.used();
        ends.iter_mut().for_each(|end| *end += start);
        Ok(SegmentEnds(ends))
    }

    /// Returns the bytes of segment `s`; `bytes` are those of the tier.
    pub fn segment<'a>(&self, s: usize, bytes: &'a [u8]) -> Option<&'a [u8]> {
        bytes.get(*self.0.get(s)?..*self.0.get(s + 1)?)
    }

    /// Returns the number of bytes before the first segment.
    pub(super) fn head_bytes(&self) -> usize {
        self.0.first().copied().unwrap_or(0)
    }
}
