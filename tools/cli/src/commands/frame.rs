//! `meshreel plot --frame N` and `--animate`: draw one frame or all without any graphics card, and report the
//! camera.

use super::lod::{file_name, surfaces};
use crate::cli::PictureSize;
use crate::output::{Failure, Output, display_path};
use crate::picture::animation::{self, PALETTE_PICTURES};
use crate::picture::image::Image;
use crate::picture::particles;
use crate::picture::render::{self, Camera, Light, Surface, Up, draw as render};
use crate::picture::sheet::clay;
use crate::progress::Progress;
use crate::units;
use glam::DVec3;
use meshreel::{FrameDecoder, Reel};
use meshreel_check::machine_limits;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Duration of a picture of a file with one frame, in seconds.
const SINGLE_FRAME_SECONDS: f64 = 1.0;

/// The output of `--json` for a picture.
#[derive(Serialize)]
struct FramePlot {
    output: String,
    frame: usize,
    size: [usize; 2],
    #[serde(flatten)]
    camera: CameraJson,
}

/// The output of `--json` for an animation.
#[derive(Serialize)]
struct AnimationPlot {
    output: String,
    frames: usize,
    size: [usize; 2],
    bytes: usize,
    #[serde(flatten)]
    camera: CameraJson,
}

/// The camera of a picture.
#[derive(Serialize)]
struct CameraJson {
    /// Position of the camera, and the point that it looks at, in the file's unit.
    eye: [f64; 3],
    target: [f64; 3],
    /// Vertical angle of view in degrees.
    angle: f64,
}

impl CameraJson {
    fn new(camera: &Camera) -> CameraJson {
        let [eye, target] = camera.line_of_sight().map(|point| point.to_array());
        CameraJson { eye, target, angle: Camera::angle().to_degrees() }
    }
}

/// Returns a decoded frame as surfaces in world space.
pub fn decoded_surfaces(
    reel: &Reel,
    decoder: &mut FrameDecoder,
    frame: usize,
) -> Result<Vec<Surface>, Failure> {
    decoder.decode(frame)?;
    let mut surfaces = surfaces(reel, decoder, 0, |_| clay())?;
    surfaces.extend(particles::solids(reel, decoder)?);
    Ok(surfaces)
}

/// Returns the points of some frames from the first to the last, for a camera that shows all frames.
pub fn points_over_time(reel: &Reel, decoder: &mut FrameDecoder) -> Result<Vec<DVec3>, Failure> {
    let count = reel.frame_count();
    let mut points = Vec::new();
    for frame in (0..count).step_by(count.div_ceil(PALETTE_PICTURES).max(1)).chain(count.checked_sub(1)) {
        let surfaces = decoded_surfaces(reel, decoder, frame)?;
        points.extend(surfaces.into_iter().flat_map(|surface| surface.positions));
    }
    Ok(render::main_part(&points))
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
    let surfaces = decoded_surfaces(reel, &mut decoder, frame)?;
    let points: Vec<DVec3> = surfaces.iter().flat_map(|surface| surface.positions.iter().copied()).collect();
    let PictureSize([width, height]) = size;
    let camera = Camera::framing(&points, Up::Y, width as f64 / height as f64);
    render(&surfaces, &camera, Light::Studio, width, height).write_png(target)?;
    let drawn = FramePlot {
        output: target.display().to_string(),
        frame,
        size: [width, height],
        camera: CameraJson::new(&camera),
    };
    output
        .result(&drawn, true, || format!("{}: frame {frame} of {}", display_path(target), file_name(reel)))?;
    Ok(ExitCode::SUCCESS)
}

/// Draws `count` pictures of a file, evenly spaced over its frames.
pub fn draw_tile(path: &Path, [width, height]: [usize; 2], count: usize) -> Result<Vec<Image>, Failure> {
    let reel = Reel::open(path, &machine_limits())?;
    let mut decoder = FrameDecoder::new(&reel)?;
    let points = points_over_time(&reel, &mut decoder)?;
    let up = render::guess_up("", &points);
    let camera = Camera::framing(&points, up, width as f64 / height as f64);
    let frames = reel.frame_count();
    (0..count)
        .map(|i| {
            let surfaces = decoded_surfaces(&reel, &mut decoder, i * frames / count)?;
            Ok(render(&surfaces, &camera, Light::Studio, width, height))
        })
        .collect()
}

/// Draws all frames as an animation in their own time.
pub fn animate(reel: &Reel, size: PictureSize, target: &Path, output: Output) -> Result<ExitCode, Failure> {
    let count = reel.frame_count();
    if count == 0 {
        return Err(Failure::usage("--animate: the file has no meshes"));
    }
    let mut decoder = FrameDecoder::new(reel)?;
    let points = points_over_time(reel, &mut decoder)?;
    let PictureSize([width, height]) = size;
    let up = render::guess_up("", &points);
    let camera = Camera::framing(&points, up, width as f64 / height as f64);
    drop(points);
    let mut seconds: Vec<f64> = (1..count).map(|frame| reel.time(frame) - reel.time(frame - 1)).collect();
    seconds.push(seconds.last().copied().unwrap_or(SINGLE_FRAME_SECONDS));
    let progress = Progress::new(output, &file_name(reel));
    let bytes = animation::write(
        target,
        [width, height],
        &seconds,
        |frame| {
            let surfaces = decoded_surfaces(reel, &mut decoder, frame)?;
            Ok(render(&surfaces, &camera, Light::Studio, width, height))
        },
        |done| progress.step("draw", done as u64, count as u64),
    )?;
    drop(progress);
    let drawn = AnimationPlot {
        output: target.display().to_string(),
        frames: count,
        size: [width, height],
        bytes,
        camera: CameraJson::new(&camera),
    };
    output.result(&drawn, true, || {
        let size = units::bytes(bytes as u64);
        format!("{}: {count} frames of {}, {size}", display_path(target), file_name(reel))
    })?;
    Ok(ExitCode::SUCCESS)
}
