//! `meshreel verify`: compares a `.reel` with its source, which is read again.

use crate::cli::VerifyArgs;
use crate::output::{
    Class, Failure, FailureJson, Output, RemarkJson, display_path, length_text, one_line, remarks_json, table,
};
use crate::progress::Progress;
use crate::units;
use meshreel_check::MeshReport;
use meshreel_check::extracted::ExtractedReport;
use meshreel_check::verify::{CameraReport, ClipPromise, ClipReport, LocatorReport, RigReport};
use meshreel_commands::input_changes::report_input_changes;
use meshreel_compile::Cancellation;
use meshreel_inputs::InputOptions;
use meshreel_scene::Remark;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Largest number of rows of the table of meshes without `--verbose`.
const MAX_SHOWN_MESHES: usize = 24;

/// Runs the verb.
pub fn run(arguments: &VerifyArgs, output: Output) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let Some((reel, inputs)) = arguments.files.split_last() else {
        return Err(Failure::usage("name the source files, then the .reel"));
    };
    if arguments.extracted {
        return verify_extracted(inputs, reel, arguments, output);
    }
    let options = InputOptions {
        points: arguments.points.clone(),
        source_fps: arguments.source_fps,
        ..InputOptions::default()
    };
    let name = reel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let progress = Progress::new(output, &name);
    let verified = check(inputs, reel, &options, &progress)?;
    drop(progress);
    output.remarks(&verified.remarks);
    let seconds = start.elapsed().as_secs_f64();
    output.result(&verified.json(seconds), true, || verified.text(reel, output.flags.verbose, seconds))?;
    match verified.ok() {
        true => Ok(ExitCode::SUCCESS),
        // If the text that says so is not printed.
        false if output.flags.quiet && !output.flags.json => Err(verified.failure().or_at(reel)),
        false => Ok(ExitCode::FAILURE),
    }
}

/// The output of `--json` with `--extracted`.
#[derive(Serialize)]
struct ExtractedJson {
    #[serde(flatten)]
    report: ExtractedReport,
    seconds: f64,
    remarks: Vec<RemarkJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureJson>,
}

/// Compares an extracted file with the decoded `.reel`.
fn verify_extracted(
    inputs: &[PathBuf],
    reel: &Path,
    arguments: &VerifyArgs,
    output: Output,
) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let progress = Progress::new(output, &display_path(reel));
    let step = |phase: &str, done, total| progress.step(phase, done, total);
    let asked = (arguments.tolerance, usize::from(arguments.lod));
    let (report, remarks) = report_input_changes(inputs, || {
        meshreel_commands::verify::verify_extracted(inputs, reel, asked, &step, &Cancellation::never())
    })?;
    drop(progress);
    output.remarks(&remarks);
    let seconds = start.elapsed().as_secs_f64();
    let failure = report.failures.first().map(|first| Failure::new(Class::Check, first.to_string(), None));
    let json = ExtractedJson {
        report,
        seconds,
        remarks: remarks_json(&remarks),
        error: failure.as_ref().map(Failure::json),
    };
    let ok = json.report.ok;
    output.result(&json, true, || extracted_text(&json.report, reel, seconds))?;
    match failure {
        Some(failure) if output.flags.quiet && !output.flags.json => Err(failure.or_at(reel)),
        _ if ok => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::FAILURE),
    }
}

fn extracted_text(report: &ExtractedReport, reel: &Path, seconds: f64) -> String {
    let mut out = String::new();
    for failure in report.failures.iter().take(10) {
        out += &format!("broken: {}\n", one_line(&failure.to_string()));
    }
    let rest = report.failures.len().saturating_sub(10) as u64 + report.more_failures;
    if rest > 0 {
        out += &format!("broken: {rest} more\n");
    }
    out += &format!(
        "points: {} compared, at most {} away, {:.0} % of what they may be",
        units::count(report.vertices),
        units::short(report.max_error),
        100.0 * report.limit_fraction
    );
    if !report.worst.is_empty() {
        out += &format!(" ({}, frame {})", one_line(&report.worst), report.worst_frame);
    }
    for (name, value, unit) in [
        ("normals", report.normal_max_deg, " degrees"),
        ("uvs", report.uv_max_error, ""),
        ("colours", report.colour_max_error, ""),
        ("velocities", report.velocity_max_error, ""),
        ("widths", report.width_max_error, ""),
    ] {
        if let Some(value) = value {
            out += &format!(", {name} {}{unit}", units::short(value));
        }
    }
    if report.locators > 0 {
        let most = units::short(report.locator_max_error);
        out += &format!("\nlocators: {} compared, at most {most} away", report.locators);
    }
    for clip in &report.clips {
        let (name, most) = (one_line(&clip.name), units::short(clip.max_error));
        out += &format!(
            "\nclip {name}: joints at most {most} away, {:.0} % of what they may be",
            100.0 * clip.limit_fraction
        );
    }
    let verdict = if report.ok { "as it decodes" } else { "NOT as it decodes" };
    out + &format!("\n{}: {verdict} ({} frames, {seconds:.2} s)\n", display_path(reel), report.frames)
}

/// The output of `--json`.
#[derive(Serialize)]
struct VerifiedJson<'a> {
    #[serde(flatten)]
    report: &'a meshreel_check::Report,
    seconds: f64,
    remarks: Vec<RemarkJson>,
    /// The first failure, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureJson>,
}

/// The result of a check.
pub struct Verification {
    report: meshreel_check::Report,
    remarks: Vec<Remark>,
}

/// Reads the source again and compares.
pub fn check(
    inputs: &[PathBuf],
    reel: &Path,
    options: &InputOptions,
    progress: &Progress,
) -> Result<Verification, Failure> {
    let step = |phase: &str, done, total| progress.step(phase, done, total);
    let (report, remarks) = report_input_changes(inputs, || {
        meshreel_commands::verify::verify(inputs, reel, options, &step, &Cancellation::never())
    })?;
    Ok(Verification { report, remarks })
}

impl Verification {
    /// `true` if every tolerance is kept.
    pub fn ok(&self) -> bool {
        self.report.ok
    }

    /// Returns tolerance and largest error of the mesh nearest to its tolerance, or furthest beyond it.
    pub fn worst(&self) -> (f64, f64) {
        let part = |tolerance: f64, error: f64| match tolerance > 0.0 {
            true => error / tolerance,
            false => error,
        };
        let meshes = self.report.meshes.iter().map(|m| (m.tolerance, m.max_error));
        let clips = (self.report.clips.iter()).map(|c| (c.tolerance, c.worst * c.tolerance));
        let locators = (self.report.locators.iter()).map(|l| (l.tolerance, l.max_error));
        meshes
            .chain(clips)
            .chain(locators)
            .max_by(|a, b| part(a.0, a.1).total_cmp(&part(b.0, b.1)))
            .unwrap_or((0.0, 0.0))
    }

    /// Returns the object of PROMISE.md §5.
    fn json(&self, seconds: f64) -> VerifiedJson<'_> {
        VerifiedJson {
            report: &self.report,
            seconds,
            remarks: remarks_json(&self.remarks),
            error: (!self.report.ok).then(|| self.failure().json()),
        }
    }

    /// Returns the first violation as an error.
    fn failure(&self) -> Failure {
        let what = match self.report.failures.first() {
            Some(first) => {
                let more = self.report.failures.len() as u64 - 1 + self.report.more_failures;
                match more {
                    0 => first.to_string(),
                    more => format!("{first} (and {more} more)"),
                }
            }
            None => "the promise does not hold".into(),
        };
        Failure::new(Class::Check, what, None)
    }

    fn text(&self, reel: &Path, verbose: bool, seconds: f64) -> String {
        let report = &self.report;
        let most = if verbose { usize::MAX } else { MAX_SHOWN_MESHES };
        // Failed ones first, then those nearest to their tolerance.
        let mut meshes: Vec<_> = report.meshes.iter().collect();
        let part = |error: f64, tolerance: f64| {
            if tolerance > 0.0 { error / tolerance } else { error }
        };
        meshes.sort_by(|a, b| {
            let key = |mesh: &MeshReport| part(mesh.max_error, mesh.tolerance);
            a.ok.cmp(&b.ok).then(key(b).total_cmp(&key(a)))
        });
        let mut out = clip_table(&report.clips, most);
        out.push_str(&mesh_table(&meshes, most));
        out.push_str(&locator_table(&report.locators, most));
        out.push_str(&camera_table(&report.cameras, most));
        out.push_str(&rig_table(&report.rigs));
        out.push_str(&level_table(meshes.iter().copied().take(most)));
        out.push_str(&layer_table(&report.clips));
        if report.clips.iter().any(|clip| clip.promise == ClipPromise::Local) {
            out.push_str("tolerances per sub-track: each rotation, translation and scale by itself; nothing is promised of points in object space\n");
        }
        let listed = if verbose { usize::MAX } else { 10 };
        for failure in report.failures.iter().take(listed) {
            out.push_str(&format!("broken: {}\n", one_line(&failure.to_string())));
        }
        let rest = report.failures.len().saturating_sub(listed) as u64 + report.more_failures;
        if rest > 0 {
            out.push_str(&format!("broken: {rest} more\n"));
        }
        out.push_str(&format!(
            "{}: {} ({}, {seconds:.2} s)\n",
            display_path(reel),
            match (report.ok, report.nothing_visible) {
                (false, _) => "NOT as promised",
                (true, true) => "nothing was visible: no frame shows a mesh, so none was compared",
                (true, false) => "every promise holds",
            },
            length_text(report.frames, report.clips.iter().map(|clip| clip.samples)),
        ));
        out
    }
}

/// Returns a table of the first `most` meshes.
fn mesh_table(meshes: &[&MeshReport], most: usize) -> String {
    let optional = |value: Option<f64>| value.map_or("–".to_string(), units::short);
    let row = |mesh: &&MeshReport| {
        vec![
            one_line(&mesh.path),
            mesh.method.to_string(),
            units::count(mesh.vertices as u64),
            match mesh.blended {
                0 => mesh.frames.to_string(),
                blended => format!("{} ({blended} blended)", mesh.frames),
            },
            units::short(mesh.tolerance),
            units::short(mesh.max_error),
            units::short(mesh.rms_error),
            between_text(mesh),
            optional(mesh.normal_max_deg),
            optional(mesh.uv_max_error),
            mesh.matched.name().to_string(),
            if mesh.ok { "ok" } else { "BROKEN" }.to_string(),
        ]
    };
    let mut rows: Vec<Vec<String>> = meshes.iter().take(most).map(row).collect();
    if meshes.len() > most {
        rows.push(vec![format!("… and {} more; --verbose shows all", meshes.len() - most)]);
    }
    let head = [
        "mesh",
        "<method",
        "vertices",
        "frames",
        "tolerance",
        "max error",
        "rms error",
        "between",
        "normal deg",
        "uv",
        "<matched",
        "<check",
    ];
    match rows.is_empty() {
        true => String::new(),
        false => table(&head, &rows),
    }
}

/// Returns a table of the clips.
fn clip_table(clips: &[ClipReport], most: usize) -> String {
    let row = |clip: &ClipReport| {
        vec![
            one_line(&clip.name),
            clip.joints.to_string(),
            units::count(clip.samples as u64),
            clip.codec.to_string(),
            match clip.promise {
                ClipPromise::Local => format!("{} per sub-track", units::short(clip.tolerance)),
                ClipPromise::Guaranteed => units::short(clip.tolerance),
            },
            units::short(clip.max_error),
            format!("{:.1} %", 100.0 * clip.worst),
            units::short(clip.mid_error),
            clip.ambiguous_pairs.to_string(),
            if clip.ok { "ok" } else { "BROKEN" }.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = clips.iter().take(most).map(row).collect();
    let head = [
        "clip",
        "joints",
        "samples",
        "<codec",
        "tolerance",
        "max error",
        "of tolerance",
        "between",
        "unclear pairs",
        "<check",
    ];
    match rows.is_empty() {
        true => String::new(),
        false => table(&head, &rows),
    }
}

/// Returns a table of locators, failed ones first, then those nearest to their tolerance.
fn locator_table(locators: &[LocatorReport], most: usize) -> String {
    if locators.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&LocatorReport> = locators.iter().collect();
    let part = |l: &LocatorReport| l.max_error / l.tolerance.max(f64::MIN_POSITIVE);
    sorted.sort_by(|a, b| a.ok.cmp(&b.ok).then(part(b).total_cmp(&part(a))));
    let mut rows: Vec<Vec<String>> = (sorted.iter().take(most))
        .map(|l| {
            vec![
                one_line(&l.path),
                l.frames.to_string(),
                units::short(l.tolerance),
                units::short(l.max_error),
                if l.ok { "ok" } else { "BROKEN" }.to_string(),
            ]
        })
        .collect();
    if sorted.len() > most {
        rows.push(vec![format!("… and {} more; --verbose shows all", sorted.len() - most)]);
    }
    table(&["locator", "frames", "tolerance", "max error", "<check"], &rows)
}

/// Returns a table of camera lenses, failed ones first.
fn camera_table(cameras: &[CameraReport], most: usize) -> String {
    if cameras.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&CameraReport> = cameras.iter().collect();
    sorted.sort_by(|a, b| a.ok.cmp(&b.ok).then(b.max_error.total_cmp(&a.max_error)));
    let mut rows: Vec<Vec<String>> = (sorted.iter().take(most))
        .map(|camera| {
            vec![
                one_line(&camera.path),
                camera.frames.to_string(),
                units::short(camera.max_error),
                if camera.ok { "ok" } else { "BROKEN" }.to_string(),
            ]
        })
        .collect();
    if sorted.len() > most {
        rows.push(vec![format!("… and {} more; --verbose shows all", sorted.len() - most)]);
    }
    table(&["camera", "frames", "max error of the lens", "<check"], &rows)
}

/// Returns the largest distance of playback from the source between frames: as a length, and in tolerances.
fn between_text(mesh: &MeshReport) -> String {
    match mesh.between_error.zip(mesh.between_worst) {
        Some((error, worst)) => format!("{} ({worst:.1} T)", units::short(error)),
        None => "–".to_string(),
    }
}

/// Returns a table of rigs, driven by all samples of all clips of their skeletons.
fn rig_table(rigs: &[RigReport]) -> String {
    if rigs.is_empty() {
        return String::new();
    }
    let rows = rigs.iter().map(|rig| {
        vec![
            one_line(&rig.path),
            rig.joints.to_string(),
            rig.clips.to_string(),
            units::count(rig.samples as u64),
            units::short(rig.tolerance),
            units::short(rig.max_error),
            units::short(rig.rms_error),
            units::short(rig.blend_error),
            if rig.ok { "ok" } else { "BROKEN" }.to_string(),
        ]
    });
    let head =
        ["rig of", "joints", "clips", "samples", "tolerance", "max error", "rms error", "blended", "<check"];
    table(&head, &rows.collect::<Vec<_>>())
}

/// Returns a table of LOD levels: their stated distance, and the measured one.
fn level_table<'a>(meshes: impl Iterator<Item = &'a meshreel_check::MeshReport>) -> String {
    let mut rows = Vec::new();
    for mesh in meshes {
        for (l, level) in mesh.lods.iter().enumerate() {
            rows.push(vec![
                if l == 0 { one_line(&mesh.path) } else { String::new() },
                (l + 1).to_string(),
                units::count(level.triangles as u64),
                units::short(level.error),
                units::short(level.max_error),
            ]);
        }
    }
    match rows.is_empty() {
        true => String::new(),
        false => table(&["mesh", "level", "triangles", "error", "found"], &rows),
    }
}

/// Returns a table of layers and tiers, and the error without them.
fn layer_table(clips: &[ClipReport]) -> String {
    let mut rows = Vec::new();
    for clip in clips {
        for layer in &clip.layers {
            for (t, tier) in layer.tiers.iter().enumerate() {
                let first = |text: String| if t == 0 { text } else { String::new() };
                let optional = |error: Option<f64>| error.map_or("–".into(), units::short);
                rows.push(vec![
                    first(one_line(&clip.name)),
                    first(one_line(&layer.name)),
                    first(layer.joints.to_string()),
                    first(units::count(layer.samples as u64)),
                    first(units::short(layer.max_error)),
                    first(units::short(layer.strip_error)),
                    first(units::short(layer.between)),
                    t.to_string(),
                    units::bytes(tier.bytes as u64),
                    optional(tier.max_error_without),
                    optional(tier.rms_error_without),
                ]);
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "clip",
        "<layer",
        "joints",
        "samples",
        "max error",
        "stripped",
        "between",
        "tier",
        "bytes",
        "error without",
        "rms without",
    ];
    table(&head, &rows)
}
