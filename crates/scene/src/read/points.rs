//! Point caches: files that hold nothing but the positions of all points, frame after frame, for a mesh from elsewhere.

use super::{mdd, pc2};
use crate::{Channel, Error, Identity, Remark, Source, TimeSampling};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An opened point cache.
pub struct PointCache {
    /// The file.
    pub path: PathBuf,
    /// Points in each frame.
    pub points: u64,
    /// Their positions.
    pub positions: Channel<[f32; 3]>,
}

/// Opens a PC2 or MDD file; which of the two, its first bytes say.
pub fn open(path: &Path, source_fps: f64, remarks: &mut Vec<Remark>) -> Result<PointCache, Error> {
    if !(source_fps.is_finite() && source_fps > 0.0) {
        return Err(Error::misuse(format!(
            "{source_fps} frames per second: must be above 0"
        )));
    }
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut magic = [0; 12];
    match read_at(&file, 0, &mut magic) {
        Ok(()) if &magic == pc2::MAGIC => pc2::open(path, file, source_fps, remarks),
        Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => Err(Error::io(path, e)),
        _ if path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("pc2")) =>
        {
            Err(Error::malformed(
                path,
                "not a PC2 file: it must start with POINTCACHE2",
                "byte 0",
            ))
        }
        _ => mdd::open(path, file, source_fps, remarks),
    }
}

/// Checks that `frames` frames of `points` points fit between `offset` and the file's end, and makes them a channel.
pub(super) fn channel(
    path: &Path,
    file: File,
    layout: Layout,
    sampling: TimeSampling,
    remarks: &mut Vec<Remark>,
) -> Result<PointCache, Error> {
    let Layout {
        offset,
        points,
        frames,
        ..
    } = layout;
    if frames == 0 {
        return Err(Error::malformed(path, "no frames", "header"));
    }
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let frame_bytes = points * 12; // both below 2^31: no overflow
    let needed = frame_bytes
        .checked_mul(frames)
        .and_then(|n| n.checked_add(offset));
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
    let samples = Samples {
        path: path.into(),
        file,
        layout,
    };
    Ok(PointCache {
        path: path.into(),
        points,
        positions: Channel::new(Arc::new(sampling), Arc::new(samples)),
    })
}

/// Where the positions are.
pub(super) struct Layout {
    pub offset: u64,
    pub points: u64,
    pub frames: u64,
    pub big_endian: bool,
}

struct Samples {
    path: PathBuf,
    file: File,
    layout: Layout,
}

impl Source<[f32; 3]> for Samples {
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
        let mut block = vec![0; (points * 12).min(BLOCK)];
        let mut done = 0;
        while done < points {
            let n = (points - done).min(BLOCK / 12);
            let bytes = &mut block[..n * 12];
            read_at(&self.file, start + done as u64 * 12, bytes)
                .map_err(|e| Error::io(&self.path, e))?;
            let value = |b: &[u8]| {
                let b = [b[0], b[1], b[2], b[3]];
                if self.layout.big_endian {
                    f32::from_be_bytes(b)
                } else {
                    f32::from_le_bytes(b)
                }
            };
            out.extend(
                bytes
                    .chunks_exact(12)
                    .map(|p| [value(&p[..4]), value(&p[4..8]), value(&p[8..])]),
            );
            done += n;
        }
        Ok(())
    }
}

/// Bytes read at once; a multiple of a point's 12, small enough for the cache.
const BLOCK: usize = 12 << 14;

/// Fills `out` from `offset`, without moving a file position that others share.
#[cfg(unix)]
pub(super) fn read_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

/// Fills `out` from `offset`.
#[cfg(windows)]
pub(super) fn read_at(file: &File, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => {
                out = &mut out[n..];
                offset += n as u64;
            }
        }
    }
    Ok(())
}
