//! A `.reel` against its source, read again.

use crate::failure::Failure;
use crate::stopping::{outcome, stopping};
use crate::{Progress, reels};
use meshreel::{Limits, Reel};
use meshreel_check::Report;
use meshreel_compile::Cancellation;
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::Rate;
use meshreel_scene::Remark;
use std::path::{Path, PathBuf};

/// Reads the source again, decodes `reel`, and measures: whether all that was promised holds says the report. Once it is
/// cancelled it ends with the next frame that it would read.
pub fn verify(
    inputs: &[PathBuf],
    reel: &Path,
    options: &InputOptions,
    progress: Progress<'_>,
    cancellation: &Cancellation,
) -> Result<(Report, Vec<Remark>), Failure> {
    if !reels::is_reel(reel) {
        return Err(Failure::usage(format!(
            "{}: the last file must be the .reel, the ones before it the source",
            reel.display()
        )));
    }
    if inputs.is_empty() {
        return Err(Failure::usage("name the source files before the .reel"));
    }
    let reel = Reel::open(reel, &Limits::default())?;
    compare(inputs, &reel, options, progress, cancellation)
}

/// The same of a file that is open.
pub(crate) fn compare(
    inputs: &[PathBuf],
    reel: &Reel,
    options: &InputOptions,
    progress: Progress<'_>,
    cancellation: &Cancellation,
) -> Result<(Report, Vec<Remark>), Failure> {
    // What the user said when compiling is in the file.
    let said = reels::options(reel)?;
    let source_fps = options.source_fps.or(said.source_fps.map(Rate));
    let options = InputOptions { source_fps, animation: said.animation, ..options.clone() };
    progress("open", 0, 0);
    let (scene, remarks) = inputs::open(inputs, &options)?;
    let scene = stopping(scene, cancellation);
    progress("survey", 0, 0);
    let step = |done: u64, total: u64| progress("verify frames", done, total);
    let report = outcome(meshreel_check::verify(&scene, reel, &step), cancellation)?;
    Ok((report, remarks))
}
