//! Where the segments of a tier lie: a size each, as varints, then the segments. Lossless.

use crate::Corrupt;
use crate::bytes::Cursor;

/// Where the segments of a tier lie: their ends, after their sizes.
#[derive(Clone, Debug, Default)]
pub struct SegmentEnds(Vec<usize>);

impl SegmentEnds {
    /// Reads the sizes of `segments` segments; `bytes` are those of a tier from its start on, all of them.
    pub fn read(segments: usize, bytes: &[u8]) -> Result<SegmentEnds, Corrupt> {
        let mut cursor = Cursor::new(bytes);
        // A size takes a byte.
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

    /// The bytes of segment `s` among those of the tier.
    pub fn of<'a>(&self, s: usize, bytes: &'a [u8]) -> Option<&'a [u8]> {
        bytes.get(*self.0.get(s)?..*self.0.get(s + 1)?)
    }

    /// Bytes before the first segment.
    pub(super) fn head(&self) -> usize {
        self.0.first().copied().unwrap_or(0)
    }
}
