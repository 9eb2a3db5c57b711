//! Compile, verify and extract: what the command line does between parsing its arguments and printing the
//! result.

use crate::errors::{exception, misuse};
use crate::waiting::{ProgressSender, wait_for};
use meshreel_commands::failure::{Class, Failure};
use meshreel_commands::{compile as to_reel, extract as back, verify as against};
use meshreel_compile::{Cancellation, Phase, Progress, Report};
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::{OptionSet, PartialOptions, TABLE, ValueCount};
use meshreel_scene::{LengthUnit, Remark};
use pyo3::prelude::*;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Returns a report as JSON.
fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|e| Failure::new(Class::Defect, e.to_string(), None))
}

/// Merges options given key by key with those of an options file; the former have priority.
fn merged_options(said: &[(String, String)], file: Option<&Path>) -> Result<OptionSet, Failure> {
    let mut general = PartialOptions::default();
    for (key, text) in said {
        let Some(option) = TABLE.iter().find(|option| option.key == key) else {
            return Err(Failure::usage(format!(
                "'{key}' is no option; they are those of 'meshreel compile --help', with _ for -"
            )));
        };
        if option.takes != ValueCount::Many && said.iter().filter(|(other, _)| other == key).count() > 1 {
            return Err(Failure::usage(format!("{key} takes one value, not several")));
        }
        if let Some((other, _)) = said.iter().find(|(other, _)| option.without.contains(&&other[..])) {
            return Err(Failure::usage(format!("{key} cannot be used with {other}")));
        }
        general.set(key, text).map_err(|what| Failure::usage(format!("{key} = '{text}': {what}")))?;
    }
    let mut wanted = file.map_or(Ok(OptionSet::default()), inputs::read_options)?;
    wanted.general = general.over(wanted.general);
    Ok(wanted)
}

/// Forwards the compiler's progress to a [`ProgressSender`].
struct CompileProgress<'a> {
    teller: &'a ProgressSender,
    cancellation: &'a Cancellation,
}

impl Progress for CompileProgress<'_> {
    fn update(&self, phase: Phase, done: u64, total: u64) {
        let name = match phase {
            Phase::Analyse => "analyse",
            Phase::Search => "search",
            Phase::Encode => "encode",
            Phase::Inspect => "verify",
        };
        self.teller.step(name, done, total);
    }
    fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }
}

/// The report of `compile`.
#[derive(Serialize)]
struct CompileOutput {
    output: String,
    written: bool,
    source_bytes: u64,
    seconds: f64,
    verify: Option<to_reel::VerificationSummary>,
    #[serde(flatten)]
    report: Report,
}

/// Compiles inputs into one file; returns a report as JSON.
#[pyfunction]
pub fn compile(
    py: Python<'_>,
    given: Vec<PathBuf>,
    output: PathBuf,
    said: Vec<(String, String)>,
    points: Option<PathBuf>,
    options_file: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let cancellation = Cancellation::new();
    wait_for(py, progress.as_ref(), &cancellation, |teller| {
        let start = Instant::now();
        let wanted = merged_options(&said, options_file.as_deref())?;
        // Finds options that are wrong for any input, before an input is opened.
        wanted.resolve(Some(LengthUnit::Metre))?.check()?;
        if given.is_empty() {
            return Err(Failure::usage("name at least one input"));
        }
        let paths = inputs::expand(&given)?;
        to_reel::check_target(&output, &paths)?;
        let input = InputOptions::new(points, &wanted.general);
        teller.step("open", 0, 0);
        let (scene, remarks) = inputs::open(&paths, &input)?;
        let source_bytes = inputs::source_bytes(&scene);
        let options = wanted.resolve(wanted.general.unit.map(LengthUnit::from).or(scene.unit))?;
        let told = CompileProgress { teller, cancellation: &cancellation };
        let again = to_reel::Inputs { paths: &paths, options: &input };
        let to_reel::Compiled { report, verified } =
            to_reel::compile((scene, remarks), again, &output, &options, &told)
                .map_err(|failure| failure.or_at(&paths[0]))?;
        json(&CompileOutput {
            output: output.display().to_string(),
            written: !options.dry_run,
            source_bytes,
            seconds: start.elapsed().as_secs_f64(),
            verify: verified,
            report,
        })
    })
}

/// The report of `verify`.
#[derive(Serialize)]
struct VerifyOutput {
    #[serde(flatten)]
    report: meshreel_check::Report,
    remarks: Vec<Remark>,
    seconds: f64,
}

/// Reads the source again and measures the errors; returns a report as JSON.
#[pyfunction]
pub fn verify(
    py: Python<'_>,
    given: Vec<PathBuf>,
    reel: PathBuf,
    points: Option<PathBuf>,
    source_fps: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let rate = source_fps.map(|text| text.parse()).transpose();
    let source_fps = rate.map_err(|what: String| misuse(py, format!("source_fps: {what}")))?;
    let cancellation = Cancellation::new();
    wait_for(py, progress.as_ref(), &cancellation, |teller| {
        let start = Instant::now();
        let paths = inputs::expand(&given)?;
        let options = InputOptions { points, source_fps, ..InputOptions::default() };
        let step = |phase: &str, done, total| teller.step_or_unwind(phase, done, total);
        let (report, remarks) = against::verify(&paths, &reel, &options, &step, &cancellation)?;
        json(&VerifyOutput { report, remarks, seconds: start.elapsed().as_secs_f64() })
    })
}

/// Writes the content of a file as another file type; returns a report as JSON. Options are texts by key, as
/// on the command line.
#[pyfunction]
pub fn extract(
    py: Python<'_>,
    reel: PathBuf,
    output: PathBuf,
    said: Vec<(String, String)>,
    level: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut options = back::Options { level, ..back::Options::default() };
    for (key, text) in &said {
        options.set(key, text).map_err(|failure| exception(py, &failure))?;
    }
    let cancellation = Cancellation::new();
    wait_for(py, progress.as_ref(), &cancellation, |teller| {
        let step = |phase: &str, done, total| teller.step_or_unwind(phase, done, total);
        json(&back::extract(&reel, &output, &options, &step, &cancellation)?)
    })
}

/// Runs a command line of the program, whose name is the first argument; returns the exit code.
#[pyfunction]
pub fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| meshreel_cli::run(arguments));
    // `ExitCode` does not tell its number, so each number is compared with it.
    (0..u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(u8::MAX)
}
