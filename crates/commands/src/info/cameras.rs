//! Cameras of a file.

use crate::failure::Failure;
use meshreel::{FramePair, Reel};
use serde::Serialize;

/// A camera of a file.
#[derive(Serialize)]
pub struct CameraInfo {
    /// Path of the object in the source.
    pub path: String,
    /// Path of the node that it stands at.
    pub node: String,
    /// Whether its lens changes.
    pub animated: bool,
    /// Millimetres, in the first frame.
    pub focal_length: f32,
    /// Width and height of the picture plane, millimetres, in the first frame.
    pub aperture: [f32; 2],
    /// The nearest and the farthest distance that is drawn, in the first frame.
    pub clipping: [f32; 2],
    /// In the first frame; 0: all is sharp.
    pub f_stop: f32,
    /// Where all is sharp, in the first frame.
    pub focus_distance: f32,
    /// When the shutter opens and closes, seconds from the frame's time, in the first frame.
    pub shutter: [f32; 2],
}

/// All cameras of a file.
pub fn infos(reel: &Reel) -> Result<Vec<CameraInfo>, Failure> {
    let mut out = Vec::new();
    for camera in reel.cameras()? {
        let lens = camera.lens(FramePair::single(0));
        out.push(CameraInfo {
            path: camera.path().to_owned(),
            node: reel.description().nodes[camera.node()].path.clone(),
            animated: camera.is_animated(),
            focal_length: lens.focal_length,
            aperture: lens.aperture,
            clipping: lens.clipping,
            f_stop: lens.f_stop,
            focus_distance: lens.focus_distance,
            shutter: lens.shutter,
        });
    }
    Ok(out)
}
