//! `meshreel plot --frame N`: draws a frame without any graphics card, and reports its camera.

use super::lod::{file_name, surfaces};
use crate::cli::PictureSize;
use crate::output::{Failure, Output, display_path};
use crate::picture::particles;
use crate::picture::render::{Camera, Light, Up, draw as render};
use crate::picture::sheet::clay;
use meshreel::{FrameDecoder, Reel};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// The output of `--json` for a picture.
#[derive(Serialize)]
struct FramePlot {
    output: String,
    frame: usize,
    size: [usize; 2],
    /// Position of the camera, and the point that it looks at, in the file's unit.
    eye: [f64; 3],
    target: [f64; 3],
    /// Vertical angle of view in degrees.
    angle: f64,
}

/// Draws a decoded frame.
pub fn draw(
    reel: &Reel,
    frame: usize,
    size: PictureSize,
    target: &Path,
    output: Output,
) -> Result<ExitCode, Failure> {
    let count = reel.frame_count();
    if frame >= count {
        return Err(Failure::usage(match count {
            0 => "--frame: the file has no meshes".to_string(),
            _ => format!("--frame {frame}: frames are 0 to {}", count - 1),
        }));
    }
    let mut decoder = FrameDecoder::new(reel)?;
    decoder.decode(frame)?;
    let mut surfaces = surfaces(reel, &decoder, 0, |_| clay())?;
    surfaces.extend(particles::solids(reel, &decoder)?);
    let points: Vec<glam::DVec3> =
        surfaces.iter().flat_map(|surface| surface.positions.iter().copied()).collect();
    let PictureSize([width, height]) = size;
    let camera = Camera::framing(&points, Up::Y, width as f64 / height as f64);
    render(&surfaces, &camera, Light::Studio, width, height).write_png(target)?;
    let [eye, at] = camera.line_of_sight();
    let drawn = FramePlot {
        output: target.display().to_string(),
        frame,
        size: [width, height],
        eye: eye.to_array(),
        target: at.to_array(),
        angle: Camera::angle().to_degrees(),
    };
    output
        .result(&drawn, true, || format!("{}: frame {frame} of {}", display_path(target), file_name(reel)))?;
    Ok(ExitCode::SUCCESS)
}
