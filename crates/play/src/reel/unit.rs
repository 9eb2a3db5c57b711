//! Access units: the parts of a file that are stored, read, checked and decoded as a whole. The frames of a
//! unit, the frames that must be decoded before it, and its bytes.

use crate::Error;
use crate::reel::chunk_content::take_bytes;
use crate::reel::open_file::Reel;
pub(crate) use crate::reel::order::FrameList;
use meshreel_format::ChunkEntry;

/// The units of a file: `0..count`.
impl Reel {
    pub(crate) fn unit_count(&self) -> usize {
        self.unit_chunks().len()
    }

    /// Returns the unit that brings `frame`.
    pub(crate) fn unit_of(&self, frame: usize) -> usize {
        self.order().unit_of(frame)
    }

    /// Returns the frames of a unit, in the order in which they are decoded.
    pub(crate) fn unit_frames(&self, unit: usize) -> FrameList {
        self.order().frames(unit)
    }

    /// Returns the frames of other units that must be decoded before a unit.
    pub(crate) fn unit_dependencies(&self, unit: usize) -> FrameList {
        self.order().dependencies(unit)
    }

    /// Returns the chunk of unit `unit`: its place in the file, its sizes and its checksum.
    pub(crate) fn unit_chunk(&self, unit: usize) -> &ChunkEntry {
        &self.chunks()[self.unit_chunks()[unit] as usize]
    }

    /// Returns the chunk behind a unit that has its vertex attributes; `None` if that is not read.
    pub(crate) fn attributes_chunk(&self, unit: usize) -> Option<&ChunkEntry> {
        let (_, read) = self.attributes_apart();
        read.then(|| &self.chunks()[self.unit_chunks()[unit] as usize + 1])
    }

    /// Returns the bytes of the file that a unit consists of, from the start of its chunk on.
    pub(crate) fn unit_size(&self, unit: usize) -> usize {
        let behind = self.attributes_chunk(unit).map_or(0, |c| c.size);
        self.unit_chunk(unit).size as usize + behind as usize
    }

    /// Returns the file offset of the byte after a unit.
    pub(crate) fn unit_end(&self, unit: usize) -> u64 {
        self.unit_chunk(unit).offset + self.unit_size(unit) as u64
    }

    /// Reads the stored bytes of a unit and verifies their checksums. `out` is replaced; its memory is
    /// reused.
    pub(crate) fn read_unit(&self, unit: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let chunk = self.unit_chunk(unit);
        out.clear();
        out.resize(self.unit_size(unit), 0);
        let read = self.reader().source().read_at(chunk.offset, out);
        read.map_err(|source| Error::Io {
            path: self.path().into(),
            what: "could not be read".into(),
            source,
        })?;
        if self.is_intact(unit, out) {
            return Ok(());
        }
        let frame = self.unit_frames(unit).first().copied().unwrap_or(0);
        let what = "the checksum does not match";
        Err(Error::malformed(self.path(), what, format!("frame {frame}")))
    }

    /// `true` if the checksums of a unit's bytes are right.
    pub(crate) fn is_intact(&self, unit: usize, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        let mut next = |chunk: &ChunkEntry| {
            let own = take_bytes(&mut rest, chunk.size as usize);
            own.is_ok_and(|own| meshreel_format::checksum(own) == chunk.checksum)
        };
        next(self.unit_chunk(unit)) && self.attributes_chunk(unit).is_none_or(next)
    }

    /// Returns the 64-bit words of one decoded frame.
    pub(crate) fn frame_words(&self) -> usize {
        self.layout().words
    }

    /// Returns the 64-bit words that decoding a unit needs temporarily.
    pub(crate) fn scratch_words(&self, unit: usize) -> usize {
        self.raw_words(unit) + self.layout().scratch_words
    }

    /// Returns the 64-bit words of the largest of its chunks, decompressed.
    pub(crate) fn raw_words(&self, unit: usize) -> usize {
        let behind = self.attributes_chunk(unit).map_or(0, |c| c.raw_size);
        let raw = self.unit_chunk(unit).raw_size.max(behind);
        (raw as usize).div_ceil(8)
    }
}
