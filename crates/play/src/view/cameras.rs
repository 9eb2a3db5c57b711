//! Cameras: the values of their lenses in each frame, and between frames.

use crate::reel::open_file::Reel;
use crate::time::demand::FramePair;
use crate::{Error, error};
use meshreel_codec::clip::scalars::ScalarTrack;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::record::cameras;
use meshreel_codec::record::cameras::CameraRecord;
use meshreel_format::kind;
use std::sync::Arc;

/// A camera of a file. Clones share it. Its place is that of its node ([`crate::FrameView::world`]): it looks
/// along the node's −z axis, with y up.
#[derive(Clone, Debug)]
pub struct Camera {
    record: Arc<CameraRecord>,
    /// The track of each value of the lens, if there is one.
    tracks: [Option<usize>; TRACK_NAMES.len()],
}

/// The values of a lens at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lens {
    /// Focal length in millimetres.
    pub focal_length: f32,
    /// Width and height of the picture plane in millimetres.
    pub aperture: [f32; 2],
    /// Offset of the picture's centre from the optical axis in millimetres.
    pub aperture_offset: [f32; 2],
    /// The factor by which an anamorphic lens widens the picture; 1 for none.
    pub squeeze: f32,
    /// The additional area on the left, right, top and bottom, as fractions of the picture.
    pub overscan: [f32; 4],
    /// Focal length over the diameter of the aperture; 0 if everything is in focus.
    pub f_stop: f32,
    /// Distance that is in focus, in the file's unit.
    pub focus_distance: f32,
    /// Opening and closing of the shutter, in seconds from the frame's time.
    pub shutter: [f32; 2],
    /// The near and far clipping distances, in the file's unit.
    pub clipping: [f32; 2],
    /// `true` for an orthographic camera; the aperture is then the size of the visible area in tenths of the
    /// file's unit.
    pub orthographic: bool,
}

/// The names of a lens's tracks.
const TRACK_NAMES: [&str; 10] = [
    "focal_length",
    "aperture",
    "aperture_offset",
    "squeeze",
    "overscan",
    "f_stop",
    "focus_distance",
    "shutter",
    "clipping",
    "orthographic",
];

impl Camera {
    /// Returns the path of the object in the source.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.record.path
    }

    /// Returns the number of the node that the camera stands at.
    #[must_use]
    pub fn node(&self) -> usize {
        self.record.node as usize
    }

    /// Returns the values of its lens; between two frames they are interpolated linearly. In a file with
    /// named ranges, and in one that loops, the pair determines which two frames these are. Does not
    /// allocate.
    #[must_use]
    pub fn lens(&self, pair: FramePair) -> Lens {
        let at = |i: usize| -> [f32; 4] {
            let Some(track) = self.tracks[i].map(|t| &self.record.lens.tracks[t]) else {
                return [0.0; 4];
            };
            let (a, b) = (track.values(pair.first as usize), track.values(pair.second as usize));
            match pair.blend {
                0.0 => a,
                blend => std::array::from_fn(|k| a[k] + (b[k] - a[k]) * blend),
            }
        };
        let two = |i: usize| [at(i)[0], at(i)[1]];
        Lens {
            focal_length: at(0)[0],
            aperture: two(1),
            aperture_offset: two(2),
            squeeze: at(3)[0],
            overscan: at(4),
            f_stop: at(5)[0],
            focus_distance: at(6)[0],
            shutter: two(7),
            clipping: two(8),
            orthographic: at(9)[0] >= 0.5,
        }
    }

    /// `true` if any value of the lens changes.
    #[must_use]
    pub fn is_animated(&self) -> bool {
        use meshreel_codec::clip::scalars::ScalarComponent;
        let moves = |c: &ScalarComponent| matches!(c, ScalarComponent::Animated { .. });
        self.record.lens.tracks.iter().any(|track| track.components.iter().any(moves))
    }
}

impl Default for Lens {
    /// Returns the lens of a camera of USD of which nothing is set.
    fn default() -> Lens {
        Lens {
            focal_length: 50.0,
            aperture: [20.955, 15.2908],
            aperture_offset: [0.0; 2],
            squeeze: 1.0,
            overscan: [0.0; 4],
            f_stop: 0.0,
            focus_distance: 0.0,
            shutter: [0.0; 2],
            clipping: [1.0, 1e6],
            orthographic: false,
        }
    }
}

impl Lens {
    /// Returns the vertical angle of view in radians; 0 for an orthographic camera.
    #[must_use]
    pub fn vertical_angle(&self) -> f32 {
        match self.orthographic || self.focal_length <= 0.0 {
            true => 0.0,
            false => 2.0 * (self.aperture[1] / (2.0 * self.focal_length)).atan(),
        }
    }
}

impl Reel {
    /// Reads the cameras of the file, in the order of the source.
    pub fn cameras(&self) -> Result<Vec<Camera>, Error> {
        let mut out = Vec::new();
        let (nodes, frames) = (self.description().nodes.len() as u32, self.frame_count() as u32);
        let mut decompressor = Decompressor::new();
        for chunk in self.chunks_of(kind::CAMERAS) {
            let content = self.chunk(chunk, &mut decompressor)?;
            let damaged = |what| error::corrupt(self.path(), what, format!("camera in chunk {chunk}"));
            let record = cameras::decode(&content, nodes, frames).map_err(damaged)?;
            let find =
                |name: &str| record.lens.tracks.iter().position(|track: &ScalarTrack| track.name == name);
            let tracks = TRACK_NAMES.map(find);
            out.push(Camera { record: Arc::new(record), tracks });
        }
        Ok(out)
    }
}
