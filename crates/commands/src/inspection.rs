//! Inspection of a finished file before it gets its name: it is opened, decoded, and verified against its
//! source, which is read again.

use crate::failure::{Class, Failure};
use crate::verify::verify_open;
use meshreel::Reel;
use meshreel_check::verify::Failure as Broken;
use meshreel_check::{Refusal, Report, decode_static, machine_limits, reopen_while};
use meshreel_compile::{Phase, Progress};
use meshreel_inputs::InputOptions;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Input files, and the options for opening them.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Paths of the files.
    pub paths: &'a [PathBuf],
    /// Options for opening them.
    pub options: &'a InputOptions,
}

/// The verification of a file that got its name.
#[derive(Clone, Debug, Serialize)]
pub struct VerificationSummary {
    /// Every promise holds.
    pub ok: bool,
    /// No frame shows a mesh, so none was compared.
    pub nothing_visible: bool,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// The promises that the first compile broke and the second keeps; empty if there was only one.
    pub cured: Vec<Broken>,
    /// The largest error of a position, in tolerances.
    pub worst: f64,
    /// The largest distance of players from the source between frames, in tolerances; `None` if nothing
    /// bends.
    pub between_worst: Option<f64>,
    /// The largest angle between normals, in degrees.
    pub normal_max_deg: Option<f64>,
    /// The largest distance of texture coordinates.
    pub uv_max_error: Option<f64>,
    /// The largest difference of a colour component.
    pub colour_max_error: Option<f64>,
}

impl VerificationSummary {
    fn new(report: &Report, seconds: f64) -> VerificationSummary {
        let meshes = &report.meshes;
        let most = |of: &dyn Fn(&meshreel_check::MeshReport) -> Option<f64>| {
            meshes.iter().filter_map(of).max_by(f64::total_cmp)
        };
        let part = |error: f64, tolerance: f64| if tolerance > 0.0 { error / tolerance } else { error };
        let positions = (meshes.iter().map(|m| part(m.max_error, m.tolerance)))
            .chain(report.locators.iter().map(|l| part(l.max_error, l.tolerance)))
            .chain(report.rigs.iter().map(|r| part(r.max_error, r.tolerance)))
            .chain(report.clips.iter().map(|c| c.worst));
        VerificationSummary {
            ok: report.ok,
            nothing_visible: report.nothing_visible,
            seconds,
            cured: Vec::new(),
            worst: positions.fold(0.0, f64::max),
            between_worst: most(&|m| m.between_worst),
            normal_max_deg: most(&|m| m.normal_max_deg),
            uv_max_error: most(&|m| m.uv_max_error),
            colour_max_error: most(&|m| m.colour_max_error),
        }
    }
}

/// Inspects a finished file. Without inputs it is only opened and decoded.
pub(crate) struct Inspection<'a> {
    inputs: Option<Inputs<'a>>,
    progress: &'a dyn Progress,
    result: Mutex<Option<InspectionResult>>,
}

/// The report of a verification and its wall time in seconds, or the reason for which there is none.
type InspectionResult = Result<(Report, f64), Failure>;

/// The outcome of an inspection.
pub(crate) enum InspectionOutcome {
    /// The file was only opened and decoded, or it was refused before it was compared.
    NotVerified,
    /// Every promise holds.
    Holds(VerificationSummary),
    /// Some promise does not hold, and the file did not get its name.
    Broken(Report),
}

impl<'a> Inspection<'a> {
    pub fn new(inputs: Option<Inputs<'a>>, progress: &'a dyn Progress) -> Inspection<'a> {
        Inspection { inputs, progress, result: Mutex::default() }
    }

    /// Inspects the file; an error if it is refused: the runtime's, or one whose reason
    /// [`Inspection::outcome`] returns.
    pub fn inspect(&self, path: &Path) -> Result<(), Refusal> {
        let cancellation = self.progress.cancellation();
        let wanted = || !cancellation.is_cancelled();
        let Some(inputs) = self.inputs else {
            return reopen_while(path, &wanted);
        };
        let start = Instant::now();
        let reel = Reel::open(path, &machine_limits())?;
        decode_static(&reel, &wanted)?;
        let step = |_: &str, done: u64, total: u64| {
            if total > 0 {
                self.progress.update(Phase::Inspect, done, total);
            }
        };
        let report = verify_open(inputs.paths, &reel, inputs.options, &step, &cancellation);
        let ok = report.as_ref().is_ok_and(|(report, _)| report.ok);
        let found = report.map(|(report, _)| (report, start.elapsed().as_secs_f64()));
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        if ok { Ok(()) } else { Err("it is not what its source is".into()) }
    }

    /// Returns the outcome of the last [`Inspection::inspect`].
    pub fn outcome(self) -> Result<InspectionOutcome, Failure> {
        match self.result.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(InspectionOutcome::NotVerified),
            Some(Ok((report, seconds))) if report.ok => {
                Ok(InspectionOutcome::Holds(VerificationSummary::new(&report, seconds)))
            }
            Some(Ok((report, _))) => Ok(InspectionOutcome::Broken(report)),
            Some(Err(failure)) if failure.class == Class::Cancelled => Err(failure),
            Some(Err(failure)) => {
                let what = format!("the finished file could not be verified: {}", failure.what);
                Err(Failure { what, ..failure })
            }
        }
    }
}

/// Returns the failure for a file that breaks its promise: the first breach, the number of others, and
/// `advice`.
pub(crate) fn broken_promise(report: &Report, target: &Path, advice: &str) -> Failure {
    let more = report.failures.len().saturating_sub(1) as u64 + report.more_failures;
    let first = match report.failures.first() {
        Some(first) => first.to_string(),
        None => "a promise does not hold".into(),
    };
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let what = format!("the file breaks its promise and was not written: {first}{more}; {advice}");
    Failure::new(Class::Check, what, Some(target.display().to_string()))
}
