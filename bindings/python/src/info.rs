//! What is in a file, without decoding it.

use crate::errors::raised;
use crate::reel::unit;
use meshreel::clip::PoseSource;
use meshreel::record::Method;
use meshreel::{Limits, Reel};
use meshreel_commands::failure::Failure;
use meshreel_commands::reels::is_reel;
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_scene::sample::{FrameOptions, frame_times};
use meshreel_scene::{Scene, Unit};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A report on a .reel or on an input, as JSON.
#[pyfunction]
pub fn info(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let report = py.detach(|| match is_reel(&path) {
        true => Ok(of_reel(&Reel::open(&path, &Limits::default())?)?),
        false => of_input(&path),
    });
    report.map(|report| report.to_string()).map_err(|failure: Failure| raised(py, &failure))
}

/// First time and length of a timeline.
fn span(times: &[f64]) -> (f64, f64) {
    let (first, last) = (times.first().copied(), times.last().copied());
    let first = first.unwrap_or(0.0);
    (first, last.unwrap_or(first) - first)
}

fn of_reel(reel: &Reel) -> Result<Value, meshreel::Error> {
    let description = reel.description();
    let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    let (start, duration) = span(&times);
    let method = |method: Method| match method {
        Method::Static => "static",
        Method::Soft => "soft",
        Method::Rigid => "rigid",
        Method::Skinned => "skinned",
        Method::Fluid => "fluid",
    };
    let meshes = description.meshes.iter().map(|mesh| {
        json!({
            "path": mesh.path,
            "method": method(mesh.method),
            "vertices": mesh.vertices,
            "triangles": mesh.indices / 3,
            "points": mesh.source_points,
            "materials": mesh.materials.iter().map(|material| &material.name).collect::<Vec<_>>(),
        })
    });
    let clips = reel.clips()?;
    let clips = clips.iter().map(|clip| {
        json!({
            "name": clip.name(),
            "codec": clip.record().codec.name(),
            "joints": clip.joints(),
            "samples": clip.samples(),
            "fps": clip.fps(),
            "tolerance": clip.record().tolerance,
        })
    });
    let options = description.options.lines().filter_map(|line| line.split_once(" = "));
    Ok(json!({
        "kind": "reel",
        "file": reel.path().display().to_string(),
        "file_bytes": reel.file_bytes(),
        "generator": description.generator,
        "options": options.map(|(key, value)| json!([key, value])).collect::<Vec<_>>(),
        "unit": unit(description.unit),
        "fps": (description.fps > 0.0).then_some(description.fps),
        "frames": times.len(),
        "start": start,
        "duration": duration,
        "nodes": description.nodes.iter().map(|node| &node.path).collect::<Vec<_>>(),
        "meshes": meshes.collect::<Vec<_>>(),
        "clips": clips.collect::<Vec<_>>(),
        "remarks": [],
    }))
}

fn of_input(path: &Path) -> Result<Value, Failure> {
    let paths = [path.to_path_buf()];
    let (scene, remarks) = inputs::open(&paths, &InputOptions::default())?;
    let times = times(&scene).map_err(|failure| failure.or_at(path))?;
    let (start, duration) = span(&times);
    let unit = scene.unit.map(|unit| match unit {
        Unit::Metre => "m",
        Unit::Centimetre => "cm",
        Unit::Millimetre => "mm",
        Unit::Inch => "in",
    });
    let clips = scene.clips.iter().map(|clip| json!({ "name": clip.name }));
    Ok(json!({
        "kind": scene.format,
        "file": path.display().to_string(),
        "file_bytes": inputs::file_bytes(&paths),
        "unit": unit,
        "fps": scene.fps,
        "frames": times.len(),
        "start": start,
        "duration": duration,
        "nodes": scene.nodes.iter().map(|node| &node.path).collect::<Vec<_>>(),
        "meshes": scene.meshes.iter().map(|mesh| json!({ "path": mesh.path })).collect::<Vec<_>>(),
        "clips": clips.collect::<Vec<_>>(),
        "remarks": remarks,
    }))
}

/// Times at which something changes.
fn times(scene: &Scene) -> Result<Vec<f64>, Failure> {
    let placed = scene.expand()?;
    let selected = vec![true; placed.len()];
    Ok(frame_times(scene, &placed, &selected, &FrameOptions::default())?)
}
