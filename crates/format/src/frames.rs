//! The table of frames: one entry per frame, in the order of time, so that any frame is found without reading another.
//!
//! Layout of an entry: `docs/FORMAT.md`, "Frame entry".

use crate::field::Field;

// Part of the format. Changing any of these needs a new version.

/// Bytes of one entry.
pub const FRAME_ENTRY_SIZE: usize = 64;
const TIME: Field = Field::new("time", 0, 8);
const OFFSET: Field = Field::new("offset", 8, 8);
const CHECKSUM: Field = Field::new("checksum", 16, 8);
const SIZE: Field = Field::new("size", 24, 4);
const RAW_SIZE: Field = Field::new("raw_size", 28, 4);
const BOUNDS: Field = Field::new("bounds", 32, 24);
const KIND: Field = Field::new("kind", 56, 1);
const RESERVED: Field = Field::new("reserved", 57, 7);

/// The fields of an entry in order.
pub const FRAME_ENTRY_FIELDS: &[Field] = &[
    TIME, OFFSET, CHECKSUM, SIZE, RAW_SIZE, BOUNDS, KIND, RESERVED,
];

/// The box of nothing: what a frame has in which nothing is shown.
pub const EMPTY_BOUNDS: [f32; 6] = [
    f32::INFINITY,
    f32::INFINITY,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NEG_INFINITY,
    f32::NEG_INFINITY,
];

/// How a frame is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FrameKind {
    /// By itself.
    Index = 0,
    /// With the help of frames around it.
    Between = 1,
}

/// When one frame is shown, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameEntry {
    /// Seconds; finite, and larger than that of the frame before.
    pub time: f64,
    /// How it is decoded. The first and the last frame are index frames.
    pub kind: FrameKind,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Bytes in the file.
    pub size: u32,
    /// Bytes when decompressed.
    pub raw_size: u32,
    /// XXH3-64 of the bytes in the file.
    pub checksum: u64,
    /// World-space box of all that is shown: smallest x, y, z, largest x, y, z; or [`EMPTY_BOUNDS`].
    pub bounds: [f32; 6],
}

impl FrameEntry {
    pub(crate) fn encode(&self) -> [u8; FRAME_ENTRY_SIZE] {
        let mut out = [0; FRAME_ENTRY_SIZE];
        TIME.put(&mut out, &self.time.to_le_bytes());
        OFFSET.put(&mut out, &self.offset.to_le_bytes());
        CHECKSUM.put(&mut out, &self.checksum.to_le_bytes());
        SIZE.put(&mut out, &self.size.to_le_bytes());
        RAW_SIZE.put(&mut out, &self.raw_size.to_le_bytes());
        BOUNDS.put_bounds(&mut out, &self.bounds);
        KIND.put(&mut out, &[self.kind as u8]);
        out
    }

    /// The entry, or what is wrong with it. Bounds in the file and the order of times are checked by the reader.
    pub(crate) fn decode(bytes: &[u8; FRAME_ENTRY_SIZE]) -> Result<FrameEntry, &'static str> {
        if !RESERVED.is_zero(bytes) {
            return Err("a reserved byte is not zero");
        }
        let kind = match KIND.u8(bytes) {
            0 => FrameKind::Index,
            1 => FrameKind::Between,
            _ => return Err("an unknown kind of frame"),
        };
        let bounds = BOUNDS.bounds(bytes);
        if !is_box(&bounds) {
            return Err("a box that is neither empty nor ordered");
        }
        Ok(FrameEntry {
            time: TIME.f64(bytes),
            kind,
            offset: OFFSET.u64(bytes),
            size: SIZE.u32(bytes),
            raw_size: RAW_SIZE.u32(bytes),
            checksum: CHECKSUM.u64(bytes),
            bounds,
        })
    }
}

/// A box is [`EMPTY_BOUNDS`], or on each axis smallest ≤ largest (never NaN; infinite where a coordinate leaves the range of `f32`).
pub(crate) fn is_box(bounds: &[f32; 6]) -> bool {
    let [x, y, z, to_x, to_y, to_z] = *bounds;
    *bounds == EMPTY_BOUNDS || (x <= to_x && y <= to_y && z <= to_z)
}

/// A frame's time is finite and after the one before.
pub(crate) fn is_after(time: f64, before: Option<f64>) -> bool {
    time.is_finite() && before.is_none_or(|before| time > before)
}
