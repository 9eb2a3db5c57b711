//! Verifies a `.reel` against its source, which is read again.

use crate::cancellable::{cancellable_scene, unless_cancelled};
use crate::failure::Failure;
use crate::{Progress, reels};
use meshreel::Reel;
use meshreel_check::Report;
use meshreel_check::extracted::{self, Expectations, ExtractedReport};
use meshreel_check::machine_limits;
use meshreel_compile::Cancellation;
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::{Distance, Tolerance};
use meshreel_read::openvat::{self, VertexTextures};
use meshreel_scene::{LengthUnit, Remark};
use std::path::{Path, PathBuf};

/// Compares the output of `extract` with the decoded `reel`. `inputs`: the output file, or the folder of a
/// sequence or of vertex animation textures, whose points may be off by the rounding of their bits.
/// `tolerance` replaces the precision of such a file; `level`: the LOD level that was extracted.
pub fn verify_extracted(
    inputs: &[PathBuf],
    reel: &Path,
    (tolerance, level): (Option<Distance>, usize),
    progress: Progress<'_>,
    cancellation: &Cancellation,
) -> Result<(ExtractedReport, Vec<Remark>), Failure> {
    let reel = open_reel(reel)?;
    let [input] = inputs else {
        return Err(Failure::usage(
            "--extracted: name one file or folder that was extracted, then the .reel",
        ));
    };
    progress("open", 0, 0);
    // Named ranges were extracted as animations, one after the other.
    let all = (!reel.ranges().is_empty()).then(|| "all".to_owned());
    let options = InputOptions { animation: all, ..InputOptions::default() };
    let unit = meshreel_extract::convert::unit(&reel);
    let (scene, remarks, rounding) = match openvat::is_folder(input) {
        true => {
            let VertexTextures { scene, rounding } = openvat::open(input)?;
            // A quarter more for the rounding of floats.
            (scene, Vec::new(), Some(1.25 * rounding / unit.map_or(1.0, LengthUnit::metres)))
        }
        false => {
            let (scene, remarks) = inputs::open(&[sequence_pattern(input)?], &options)?;
            (scene, remarks, None)
        }
    };
    let scene = cancellable_scene(scene, cancellation);
    let tolerance = match tolerance.map(|tolerance| tolerance.in_unit(unit)).transpose() {
        Err(error) => return Err(Failure::usage(error.to_string())),
        Ok(Some(Tolerance::Relative(_))) => {
            let what = "--tolerance: with --extracted it is a length, in the file's unit (0.5) or with its own (0.5mm)";
            return Err(Failure::usage(what));
        }
        Ok(Some(Tolerance::Absolute(length))) => Some(length),
        Ok(None) => rounding,
    };
    let expected = Expectations { tolerance, lod_level: level };
    let step = |done: u64, total: u64| progress("compare frames", done, total);
    let report = unless_cancelled(extracted::compare(&scene, &reel, &expected, &step), cancellation)?;
    Ok((report, remarks))
}

/// Returns the sequence of .obj files in a folder; any other path as it is.
fn sequence_pattern(input: &Path) -> Result<PathBuf, Failure> {
    if !input.is_dir() {
        return Ok(input.to_path_buf());
    }
    let names = meshreel_files::names(input).map_err(|error| Failure::io(input, &error))?;
    let mut names: Vec<String> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    let numbered = names.iter().find_map(|name| {
        let stem = name.strip_suffix(".obj")?;
        let text = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        (text.len() < stem.len()).then(|| format!("{text}{}.obj", "#".repeat(stem.len() - text.len())))
    });
    match numbered {
        Some(pattern) => Ok(input.join(pattern)),
        None => Err(Failure::usage(format!(
            "{}: there is no sequence of .obj files and no vertex animation textures in it",
            input.display()
        ))),
    }
}

fn open_reel(reel: &Path) -> Result<Reel, Failure> {
    if !reels::is_reel(reel) {
        return Err(Failure::usage(format!(
            "{}: the last file must be the .reel, the ones before it the source",
            reel.display()
        )));
    }
    Ok(Reel::open(reel, &machine_limits())?)
}

/// Reads the source again, decodes `reel` and measures the errors; the report says whether all promises hold.
/// After a cancellation it stops before the next frame is read.
pub fn verify(
    inputs: &[PathBuf],
    reel: &Path,
    options: &InputOptions,
    progress: Progress<'_>,
    cancellation: &Cancellation,
) -> Result<(Report, Vec<Remark>), Failure> {
    if inputs.is_empty() {
        return Err(Failure::usage("name the source files before the .reel"));
    }
    verify_open(inputs, &open_reel(reel)?, options, progress, cancellation)
}

/// Verifies an open file, as [`verify`] does.
pub(crate) fn verify_open(
    inputs: &[PathBuf],
    reel: &Reel,
    options: &InputOptions,
    progress: Progress<'_>,
    cancellation: &Cancellation,
) -> Result<(Report, Vec<Remark>), Failure> {
    // The file contains the options with which it was compiled.
    let options = options.clone().with_compiled_options(&reels::options(reel)?);
    progress("open", 0, 0);
    let (scene, remarks) = inputs::open(inputs, &options)?;
    let scene = cancellable_scene(scene, cancellation);
    progress("survey", 0, 0);
    let step = |done: u64, total: u64| progress("verify frames", done, total);
    let report = unless_cancelled(meshreel_check::verify(&scene, reel, &step), cancellation)?;
    Ok((report, remarks))
}
