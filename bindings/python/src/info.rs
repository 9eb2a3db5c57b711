//! The content of a file, without decoding it.

use crate::errors::exception;
use meshreel::Reel;
use meshreel_check::machine_limits;
use meshreel_commands::failure::{Class, Failure};
use meshreel_commands::info::{InfoOptions, ReelInfo, SceneInfo};
use meshreel_commands::reels::is_reel;
use meshreel_inputs::{self as inputs, InputOptions};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Returns a report on a .reel file or an input, as JSON.
#[pyfunction]
pub fn info(py: Python<'_>, path: PathBuf, streams: bool, frames: bool) -> PyResult<String> {
    let wanted = InfoOptions { streams, frames };
    let report = py.detach(|| match is_reel(&path) {
        true => reel_json(&path, wanted),
        false => input_json(&path, wanted),
    });
    report.map_err(|failure| exception(py, &failure))
}

fn reel_json(path: &Path, wanted: InfoOptions) -> Result<String, Failure> {
    let reel = Reel::open(path, &machine_limits())?;
    json(&ReelInfo::new(&reel, wanted)?)
}

fn input_json(path: &Path, wanted: InfoOptions) -> Result<String, Failure> {
    let paths = [path.to_path_buf()];
    let (scene, remarks) = inputs::open(&paths, &InputOptions::default())?;
    let info = SceneInfo::new(&scene, &remarks, path, inputs::source_bytes(&scene), wanted);
    json(&info.map_err(|failure| failure.or_at(path))?)
}

fn json(info: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(info).map_err(|e| Failure::new(Class::Defect, e.to_string(), None))
}
