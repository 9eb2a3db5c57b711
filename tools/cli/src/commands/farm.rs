//! `meshreel plan`, `part` and `join`: compile one file on many machines.

use super::compile_report::verified_line;
use crate::cli::{JoinArgs, PartArgs, PlanArgs};
use crate::output::{Failure, Output, RemarkJson, one_line, remarks_json};
use crate::progress::Progress;
use crate::units;
use meshreel_commands::compile::{Inputs, VerificationSummary};
use meshreel_commands::farm::{self, PlanRequest};
use meshreel_inputs::{self as inputs, InputOptions};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// The output of `--json` for a plan.
#[derive(Serialize)]
struct PlanResult {
    output: String,
    written: bool,
    bytes: u64,
    frames: usize,
    units: usize,
    seconds: f64,
    remarks: Vec<RemarkJson>,
}

/// The output of `--json` for a part.
#[derive(Serialize)]
struct PartResult {
    output: String,
    /// `true` if the part existed before.
    was_there: bool,
    part: u32,
    parts: u32,
    bytes: u64,
    units: usize,
    seconds: f64,
}

/// The output of `--json` for a joined file.
#[derive(Serialize)]
struct JoinResult {
    output: String,
    parts: u32,
    bytes: u64,
    frames: usize,
    seconds: f64,
    /// The verification, if the source was given.
    verify: Option<VerificationSummary>,
    remarks: Vec<RemarkJson>,
}

/// Runs `plan`: makes all decisions.
pub fn plan(arguments: PlanArgs, output: Output) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let target = &arguments.output;
    let wanted = PlanRequest {
        inputs: inputs::expand(&arguments.inputs)?,
        points: arguments.points,
        options: arguments.options.as_deref().map(inputs::read_options_text).transpose()?,
        said: arguments.content.given,
    };
    let progress = Progress::new(output, &name(target));
    progress.start_phase("open");
    let made =
        farm::plan(wanted, target, &progress).inspect_err(|failure| output.remarks(&failure.remarks))?;
    drop(progress);
    output.remarks(&made.remarks);
    let result = PlanResult {
        output: target.display().to_string(),
        written: !made.dry_run,
        bytes: made.bytes,
        frames: made.frames,
        units: made.units,
        seconds: start.elapsed().as_secs_f64(),
        remarks: remarks_json(&made.remarks),
    };
    output.result(&result, true, || {
        let shared = match result.units {
            0 => "nothing to share out: one part will do".into(),
            units => format!("{units} units to share out"),
        };
        let verb = if made.dry_run { "would be planned" } else { "is planned" };
        let PlanResult { output, frames, bytes, seconds, .. } = &result;
        let output = one_line(output);
        format!(
            "{output}: {} frames, {shared}; {verb} in {}, {seconds:.2} s",
            units::count(*frames as u64),
            units::bytes(*bytes)
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `part`: does a share of the work.
pub fn part(arguments: PartArgs, output: Output) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let (target, share) = (&arguments.output, arguments.share);
    let elsewhere = match arguments.source.is_empty() {
        true => None,
        false => Some((inputs::expand(&arguments.source)?, arguments.points)),
    };
    let progress = Progress::new(output, &name(target));
    progress.start_phase("open");
    let jobs = arguments.jobs.unwrap_or(0) as usize;
    let made = farm::part(&arguments.plan, share, target, elsewhere, jobs, &progress)?;
    drop(progress);
    let result = PartResult {
        output: target.display().to_string(),
        was_there: made.was_there,
        part: share.number(),
        parts: share.count(),
        bytes: made.bytes,
        units: made.units,
        seconds: start.elapsed().as_secs_f64(),
    };
    output.result(&result, true, || {
        let PartResult { output, units, bytes, seconds, .. } = &result;
        let output = one_line(output);
        let what = format!("part {share}, {units} units, {}", units::bytes(*bytes));
        match made.was_there {
            true => format!("{output} is there already: {what}"),
            false => format!("{output}: {what}, {seconds:.2} s"),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `join`: writes the file.
pub fn join(arguments: &JoinArgs, output: Output) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let target = &arguments.output;
    let progress = Progress::new(output, &name(target));
    progress.start_phase("check parts");
    let paths = inputs::expand(&arguments.source)?;
    let options = InputOptions { points: arguments.points.clone(), ..InputOptions::default() };
    let source = (!paths.is_empty()).then_some(Inputs { paths: &paths, options: &options });
    let jobs = arguments.jobs.unwrap_or(0) as usize;
    let made = farm::join(&arguments.parts, target, source, jobs, &progress)?;
    drop(progress);
    output.remarks(&made.remarks);
    let result = JoinResult {
        output: target.display().to_string(),
        parts: made.parts,
        bytes: made.bytes,
        frames: made.frames,
        seconds: start.elapsed().as_secs_f64(),
        verify: made.verified,
        remarks: remarks_json(&made.remarks),
    };
    output.result(&result, true, || {
        let JoinResult { output, parts, bytes, frames, seconds, verify, .. } = &result;
        let output = one_line(output);
        let (bytes, frames) = (units::bytes(*bytes), units::count(*frames as u64));
        let verified = verify.as_ref().map_or("not verified (--source verifies it)\n".into(), verified_line);
        format!("{output} is {bytes} of {parts} parts: {frames} frames, {seconds:.2} s\n{verified}")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn name(target: &Path) -> String {
    target.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
