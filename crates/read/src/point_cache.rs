//! Point caches: the positions of all points of a mesh, frame by frame.

use meshreel_files::PositionedFile;
use meshreel_scene::{Channel, Error, Identity, Remark, Source, TimeSampling};
use std::path::PathBuf;
use std::sync::Arc;

/// An opened point cache.
pub struct PointCache {
    /// The file.
    pub path: PathBuf,
    /// The number of points in each frame.
    pub points: u64,
    /// The positions of all points, one sample per frame.
    pub positions: Channel<[f32; 3]>,
}

/// Checks that the frames in `layout` fit between its offset and the file's end, and makes a channel that
/// reads them.
pub(super) fn channel(
    file: PositionedFile,
    layout: CacheLayout,
    sampling: TimeSampling,
    remarks: &mut Vec<Remark>,
) -> Result<PointCache, Error> {
    let CacheLayout { offset, points, frames, .. } = layout;
    let path = file.path().to_path_buf();
    let path = path.as_path();
    if frames == 0 {
        return Err(Error::malformed(path, "no frames", "header"));
    }
    let size = file.length();
    let frame_bytes = points * 12; // both below 2^31: no overflow
    let needed = frame_bytes.checked_mul(frames).and_then(|n| n.checked_add(offset));
    if needed.is_none_or(|needed| needed > size) {
        let present = size.saturating_sub(offset) / frame_bytes.max(1);
        return Err(Error::malformed(
            path,
            format!(
                "cut short: the header says {frames} frames of {points} points, only {present} are in the file"
            ),
            format!("byte {size}"),
        ));
    }
    if needed.is_some_and(|needed| needed < size) {
        remarks.push(Remark::new(
            path.display().to_string(),
            "there are bytes after the last frame; they were left out",
        ));
    }
    let samples = CacheSamples { file, layout };
    Ok(PointCache {
        path: path.into(),
        points,
        positions: Channel::new(Arc::new(sampling), Arc::new(samples)),
    })
}

/// Location and size of the positions in the file.
pub(super) struct CacheLayout {
    pub offset: u64,
    pub points: u64,
    pub frames: u64,
    pub big_endian: bool,
}

struct CacheSamples {
    file: PositionedFile,
    layout: CacheLayout,
}

impl Source<[f32; 3]> for CacheSamples {
    fn len(&self) -> usize {
        self.layout.frames as usize
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        if i >= self.len() {
            return Err(Error::misuse(format!("frame {i} of {}", self.len())));
        }
        let points = self.layout.points as usize;
        out.reserve_exact(points);
        let start = self.layout.offset + i as u64 * points as u64 * 12;
        let mut block = vec![0; (points * 12).min(BLOCK_BYTES)];
        let mut done = 0;
        while done < points {
            let n = (points - done).min(BLOCK_BYTES / 12);
            let bytes = &mut block[..n * 12];
            self.file.read_exact(start + done as u64 * 12, bytes)?;
            let value = |b: &[u8]| {
                let b = [b[0], b[1], b[2], b[3]];
                if self.layout.big_endian { f32::from_be_bytes(b) } else { f32::from_le_bytes(b) }
            };
            out.extend(bytes.chunks_exact(12).map(|p| [value(&p[..4]), value(&p[4..8]), value(&p[8..])]));
            done += n;
        }
        Ok(())
    }
}

/// Bytes read at once; a multiple of a point's 12 bytes, small enough for the processor cache.
const BLOCK_BYTES: usize = 12 << 14;
