//! MDD, LightWave's motion designer cache. Big-endian, without any signature:
//!
//! ```text
//! 0   4  i32 frames
//! 4   4  i32 points
//! 8      per frame: f32 time in seconds
//!        per frame and point: f32 x, y, z
//! ```

use super::point_cache::{self, CacheLayout, PointCache};
use meshreel_files::PositionedFile;
use meshreel_scene::{Error, Remark, TimeSampling};

/// Opens an MDD file. Its own times are used if they ascend; otherwise frame i is at i / `source_fps`
/// seconds.
pub(super) fn open(
    file: PositionedFile,
    source_fps: f64,
    remarks: &mut Vec<Remark>,
) -> Result<PointCache, Error> {
    let path = file.path().to_path_buf();
    let size = file.length();
    if size < 8 {
        let what = "cut short within the header";
        return Err(Error::malformed(&path, what, "byte 8"));
    }
    let mut header = [0u8; 8];
    file.read_exact(0, &mut header)?;
    let count = |at: usize, what: &str| {
        let value = i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        u64::try_from(value).map_err(|_| {
            Error::malformed(&path, format!("not an MDD file: {value} {what}"), format!("byte {at}"))
        })
    };
    let (frames, points) = (count(0, "frames")?, count(4, "points")?);
    if 8 + frames * 4 > size {
        return Err(Error::malformed(
            &path,
            format!(
                "cut short, or not an MDD file: the header says {frames} frames, {size} bytes do not even hold their times"
            ),
            "byte 8",
        ));
    }
    let mut bytes = vec![0; frames as usize * 4];
    file.read_exact(8, &mut bytes)?;
    let mut times: Vec<f64> =
        bytes.chunks_exact(4).map(|b| f64::from(f32::from_be_bytes([b[0], b[1], b[2], b[3]]))).collect();
    if !times.iter().all(|t| t.is_finite()) || times.windows(2).any(|t| t[1] <= t[0]) {
        remarks.push(Remark::new(
            path.display().to_string(),
            format!("its frame times do not ascend; {source_fps} frames per second were taken"),
        ));
        times = (0..frames).map(|i| i as f64 / source_fps).collect();
    }
    let layout = CacheLayout { offset: 8 + frames * 4, points, frames, big_endian: true };
    point_cache::channel(file, layout, TimeSampling::Acyclic { times }, remarks)
}
