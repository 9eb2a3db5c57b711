//! Point caches: files that hold only the positions of all points, frame by frame, for a mesh from another
//! file.

pub use super::point_cache::PointCache;
use super::{mdd, pc2};
use meshreel_files::PositionedFile;
use meshreel_scene::{Error, Remark};
use std::path::Path;

/// Opens a PC2 or MDD file; the first bytes decide which of the two it is.
pub fn open(path: &Path, source_fps: f64, remarks: &mut Vec<Remark>) -> Result<PointCache, Error> {
    if !(source_fps.is_finite() && source_fps > 0.0) {
        return Err(Error::misuse(format!("{source_fps} frames per second: must be above 0")));
    }
    let file = PositionedFile::open(path)?;
    let mut magic = [0; 12];
    let length = file.length().min(12) as usize;
    file.read_exact(0, &mut magic[..length])?;
    if &magic == pc2::MAGIC {
        pc2::open(file, source_fps, remarks)
    } else if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("pc2")) {
        let what = "not a PC2 file: it must start with POINTCACHE2";
        Err(Error::malformed(path, what, "byte 0"))
    } else {
        mdd::open(file, source_fps, remarks)
    }
}
