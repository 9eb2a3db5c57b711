//! PC2, the point cache of 3ds Max and Blender. Little-endian:
//!
//! ```text
//! 0   12  "POINTCACHE2\0"
//! 12   4  i32 version, 1
//! 16   4  i32 points
//! 20   4  f32 start, in frames
//! 24   4  f32 sample rate, frames from one sample to the next
//! 28   4  i32 samples
//! 32      per sample and point: f32 x, y, z
//! ```

use super::point_cache::{self, CacheLayout, PointCache};
use meshreel_files::PositionedFile;
use meshreel_scene::{Error, Remark, TimeSampling};

/// The first bytes of the file.
pub(super) const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const HEADER_BYTES: usize = 32;

/// Opens a PC2 file; sample i is at (start + i·rate) / `source_fps` seconds.
pub(super) fn open(
    file: PositionedFile,
    source_fps: f64,
    remarks: &mut Vec<Remark>,
) -> Result<PointCache, Error> {
    let path = file.path().to_path_buf();
    if file.length() < HEADER_BYTES as u64 {
        let what = "cut short within the header";
        return Err(Error::malformed(&path, what, "byte 32"));
    }
    let mut header = [0u8; HEADER_BYTES];
    file.read_exact(0, &mut header)?;
    let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
    let int = |at| i32::from_le_bytes(word(at));
    let float = |at| f64::from(f32::from_le_bytes(word(at)));
    let mut remark = |what: String| remarks.push(Remark::new(path.display().to_string(), what));
    if int(12) != 1 {
        remark(format!("version {} instead of 1; read as version 1", int(12)));
    }
    let count = |at: usize, what: &str| {
        u64::try_from(int(at))
            .map_err(|_| Error::malformed(&path, format!("{} {what}", int(at)), format!("byte {at}")))
    };
    let (points, frames) = (count(16, "points")?, count(28, "samples")?);
    let (mut start, mut rate) = (float(20), float(24));
    if !start.is_finite() {
        remark(format!("start frame {start}; 0 was taken"));
        start = 0.0;
    }
    if !(rate.is_finite() && rate > 0.0) {
        remark(format!("sample rate {rate}; 1 was taken"));
        rate = 1.0;
    }
    let sampling = TimeSampling::Uniform { start: start / source_fps, step: rate / source_fps };
    point_cache::channel(
        file,
        CacheLayout { offset: HEADER_BYTES as u64, points, frames, big_endian: false },
        sampling,
        remarks,
    )
}
