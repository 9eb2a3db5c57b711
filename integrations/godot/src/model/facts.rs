//! What a file says about itself: its frames, meshes, materials and clips.

use super::source::ReelSource;
use super::tree::unit_metres;
use meshreel::raw::format::ReadAt;
use meshreel::{Error, Limits, Reel};
use std::sync::Arc;

/// A clip of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipFacts {
    /// Its name; empty if it has none.
    pub name: String,
    /// The seconds from its first to its last sample.
    pub duration: f64,
    /// The number of joints of its skeleton.
    pub joints: usize,
}

/// A named range of a file's frames.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeFacts {
    /// Its name.
    pub name: String,
    /// The seconds from the file's first frame to the range's first and last one.
    pub seconds: [f64; 2],
}

/// What a file says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReelFacts {
    /// The number of frames; 0 for a file of clips.
    pub frames: usize,
    /// The seconds from the first to the last frame.
    pub duration: f64,
    /// The frames per second that the source states, or else the mean; 0 for fewer than two frames.
    pub frame_rate: f64,
    /// The metres of the unit of lengths.
    pub unit_metres: f32,
    /// The paths of the meshes in the source.
    pub meshes: Vec<String>,
    /// The names of the materials, without repetitions.
    pub materials: Vec<String>,
    /// The paths of the cameras in the source.
    pub cameras: Vec<String>,
    /// The clips.
    pub clips: Vec<ClipFacts>,
    /// The named ranges.
    pub ranges: Vec<RangeFacts>,
    /// The bytes of the file.
    pub bytes: u64,
}

/// Opens a file for its tables: its frames are not read.
pub fn open(source: &ReelSource, limits: &Limits) -> Result<Reel, Error> {
    match source {
        ReelSource::Path(path) => Reel::open(path, limits),
        ReelSource::Bytes { name, bytes } => {
            let bytes: Arc<dyn ReadAt> = Arc::new(bytes.clone());
            Reel::from_named_source(bytes, name, limits)
        }
    }
}

impl ReelFacts {
    /// Reads the facts of an open file.
    pub fn read(reel: &Reel) -> Result<ReelFacts, Error> {
        let (description, frames) = (reel.description(), reel.frame_count());
        let seconds = |frame: usize| if frames > 0 { reel.time(frame) - reel.time(0) } else { 0.0 };
        let duration = seconds(frames.saturating_sub(1));
        let frame_rate = match description.fps {
            stated if stated > 0.0 => stated,
            _ if duration > 0.0 => (frames - 1) as f64 / duration,
            _ => 0.0,
        };
        let mut materials: Vec<String> = Vec::new();
        for material in description.meshes.iter().flat_map(|mesh| &mesh.materials) {
            if !materials.contains(&material.name) {
                materials.push(material.name.clone());
            }
        }
        let clip = |clip: &meshreel::clip::Clip| ClipFacts {
            name: clip.name().to_owned(),
            duration: clip.duration(),
            joints: clip.joints(),
        };
        Ok(ReelFacts {
            frames,
            duration,
            frame_rate,
            unit_metres: unit_metres(description.unit),
            meshes: description.meshes.iter().map(|mesh| mesh.path.clone()).collect(),
            materials,
            cameras: reel.cameras()?.iter().map(|camera| camera.path().to_owned()).collect(),
            clips: reel.clips()?.iter().map(clip).collect(),
            ranges: (reel.ranges().iter())
                .map(|range| RangeFacts {
                    name: range.name.clone(),
                    seconds: [seconds(range.first as usize), seconds(range.last_frame() as usize)],
                })
                .collect(),
            bytes: reel.file_bytes(),
        })
    }
}
