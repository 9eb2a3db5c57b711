//! Cameras of a file.

use crate::failure::Failure;
use meshreel::Reel;
use meshreel::time::FramePair;
use serde::Serialize;

/// A camera of a file.
#[derive(Serialize)]
pub struct CameraInfo {
    /// Path of the object in the source.
    pub path: String,
    /// Path of the node that it stands at.
    pub node: String,
    /// The lens changes over time.
    pub animated: bool,
    /// Focal length in millimetres, in the first frame.
    pub focal_length: f32,
    /// Width and height of the film back in millimetres, in the first frame.
    pub aperture: [f32; 2],
    /// Near and far clipping distances, in the first frame.
    pub clipping: [f32; 2],
    /// F-stop in the first frame; 0: everything is in focus.
    pub f_stop: f32,
    /// Distance of the focus plane, in the first frame.
    pub focus_distance: f32,
    /// Shutter opening and closing times in the first frame, in seconds from the frame's time.
    pub shutter: [f32; 2],
}

/// Returns all cameras of a file.
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
