//! Cameras: what their lenses say, frame by frame and between.

use crate::reel::open_file::Reel;
use crate::time::demand::FramePair;
use crate::{Error, error};
use meshreel_codec::clip::scalars::ScalarTrack;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::record::cameras;
use meshreel_codec::record::cameras::CameraRecord;
use meshreel_format::kind;
use std::sync::Arc;

/// A camera of a file. Clones share it. Where it is, its node says ([`crate::FrameView::world`]): it looks along
/// −z of that, with y upwards.
#[derive(Clone, Debug)]
pub struct Camera {
    record: Arc<CameraRecord>,
    /// By value of a lens its track, where there is one.
    tracks: [Option<usize>; NAMES.len()],
}

/// What a lens says at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Millimetres.
    pub focal_length: f32,
    /// Width and height of the picture plane, millimetres.
    pub aperture: [f32; 2],
    /// Where its middle is beside the axis, millimetres.
    pub aperture_offset: [f32; 2],
    /// How much wider a lens that squeezes shows the picture; 1 for none.
    pub squeeze: f32,
    /// How much more is drawn on the left, right, top and bottom, as parts of the picture.
    pub overscan: [f32; 4],
    /// Focal length over the diameter of the opening; 0: all is sharp.
    pub f_stop: f32,
    /// Where all is sharp, in the file's unit.
    pub focus_distance: f32,
    /// When the shutter opens and closes, seconds from the frame's time.
    pub shutter: [f32; 2],
    /// The nearest and the farthest distance that is drawn, in the file's unit.
    pub clipping: [f32; 2],
    /// Without perspective; the aperture is then the size of what is seen, in tenths of the file's unit.
    pub orthographic: bool,
}

/// Names of the tracks of a lens.
const NAMES: [&str; 10] = [
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
    /// Path of the object in the source.
    pub fn path(&self) -> &str {
        &self.record.path
    }

    /// Number of the node that it stands at.
    pub fn node(&self) -> usize {
        self.record.node as usize
    }

    /// What its lens says; between two frames each number goes straight. Of a file with named ranges, and one
    /// that loops, the pair says which frames are between. Allocates nothing.
    pub fn lens(&self, pair: FramePair) -> Lens {
        let at = |i: usize| -> [f32; 4] {
            let Some(track) = self.tracks[i].map(|t| &self.record.lens.tracks[t]) else {
                return [0.0; 4];
            };
            let (a, b) = (track.at(pair.first as usize), track.at(pair.second as usize));
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

    /// Whether anything of the lens changes.
    pub fn is_animated(&self) -> bool {
        use meshreel_codec::clip::scalars::Component;
        let moves = |c: &Component| matches!(c, Component::Animated { .. });
        self.record.lens.tracks.iter().any(|track| track.components.iter().any(moves))
    }
}

impl Lens {
    /// The angle of view upwards, radians; of an orthographic camera 0.
    pub fn vertical_angle(&self) -> f32 {
        match self.orthographic || self.focal_length <= 0.0 {
            true => 0.0,
            false => 2.0 * (self.aperture[1] / (2.0 * self.focal_length)).atan(),
        }
    }
}

impl Reel {
    /// The cameras of the file, in the order of the source. They are read when this is called.
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
            let tracks = NAMES.map(find);
            out.push(Camera { record: Arc::new(record), tracks });
        }
        Ok(out)
    }
}
