//! `meshreel compile`: inputs into one `.reel`, or each into its own in a directory.

use super::compile_report::CompiledFile;
use crate::cli::CompileArgs;
use crate::guard::guarded;
use crate::memory::Watch;
use crate::output::{Class, Failure, FailureJson, Output, table};
use crate::progress::{Files, Progress};
use crate::targets::{self, Targets, reel_name};
use crate::units;
use crate::units::ratio;
use meshreel_commands::compile::check_target;
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::OptionSet;
use meshreel_scene::Unit;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Most rows of the table of files without `--verbose`.
const SHOWN_FILES: usize = 40;

/// Runs the verb.
pub fn run(arguments: CompileArgs, output: Output) -> Result<ExitCode, Failure> {
    let mut wanted = match &arguments.options {
        Some(path) => inputs::read_options(path)?,
        None => OptionSet::default(),
    };
    wanted.general = arguments.content.0.over(wanted.general);
    // What is wrong whatever the inputs are, before any is opened.
    let options = wanted.resolve(Some(Unit::Metre))?;
    options.check()?;
    let job = Job {
        input: InputOptions {
            points: arguments.points,
            source_fps: wanted.general.source_fps,
            animation: wanted.general.animation.clone(),
        },
        wanted,
        output,
    };
    let inputs = inputs::expand(&arguments.inputs)?;
    match Targets::new(&inputs, arguments.output.as_deref(), arguments.merge)? {
        Targets::Each(directory) => each_for_itself(&job, &inputs, directory.as_deref()),
        Targets::One(target) => {
            check_target(&target, &inputs)?;
            let done = job.compile(&inputs, &target)?;
            output.result(&done.json()?, true, || done.text(job.output.flags.verbose))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What is the same for all files of a run.
pub struct Job {
    /// How inputs are opened.
    pub input: InputOptions,
    /// What the user said of contents and promises.
    pub wanted: OptionSet,
    /// Where messages go.
    pub output: Output,
}

impl Job {
    /// Compiles `inputs` into `target`.
    pub fn compile(&self, inputs: &[PathBuf], target: &Path) -> Result<CompiledFile, Failure> {
        self.compile_one(inputs, target, None)
    }

    /// The same, as one of many.
    fn compile_one(
        &self,
        inputs: &[PathBuf],
        target: &Path,
        files: Option<&Files>,
    ) -> Result<CompiledFile, Failure> {
        let start = Instant::now();
        let watch = Watch::start();
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let progress = match files {
            Some(files) => files.next(&name),
            None => Progress::new(self.output, &name),
        };
        progress.wait("open");
        let (scene, remarks) = inputs::open(inputs, &self.input)?;
        let seconds = start.elapsed().as_secs_f64();
        self.output.detail(&format!("{name}: opened in {seconds:.2} s, {} nodes", scene.nodes.len()));
        let unit = self.wanted.general.unit.map(Unit::from).or(scene.unit);
        let options = self.wanted.resolve(unit)?;
        if let (Some(folder), true, false) = (target.parent(), files.is_some(), options.dry_run) {
            meshreel_files::create_folder(folder).map_err(|e| Failure::io(folder, &e))?;
        }
        progress.wait("analyse");
        let report =
            meshreel_compile::compile(&scene, remarks, target, &options, &meshreel_check::reopen, &progress)
                .map_err(|error| {
                    let failure = Failure::from(error);
                    self.output.remarks(&failure.remarks);
                    failure.or_at(&inputs[0])
                })?;
        drop(progress);
        self.output.remarks(&report.remarks);
        Ok(CompiledFile {
            target: target.to_path_buf(),
            seconds: start.elapsed().as_secs_f64(),
            source_bytes: inputs::file_bytes(inputs),
            peak_anon_bytes: watch.stop(),
            report,
            explain: options.explain,
            dry_run: options.dry_run,
        })
    }
}

/// The file that each input becomes: no two the same.
fn targets_of(inputs: &[PathBuf], directory: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let target_of = |input: &PathBuf| match directory {
        Some(directory) => directory.join(reel_name(input)),
        None => targets::beside(input),
    };
    let targets: Vec<PathBuf> = inputs.iter().map(target_of).collect();
    let mut first: HashMap<&Path, &Path> = HashMap::with_capacity(inputs.len());
    for (input, target) in inputs.iter().zip(&targets) {
        if let Some(other) = first.insert(target, input) {
            return Err(Failure::usage(format!(
                "{} and {} would both become {}; compile them into different directories",
                other.display(),
                input.display(),
                target.display()
            )));
        }
    }
    Ok(targets)
}

/// What `--json` prints of several files.
#[derive(Serialize)]
struct FilesResult {
    files: Vec<FileResult>,
    compiled: usize,
    failed: usize,
    raw_bytes: u64,
    bytes: u64,
    ratio: f64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureJson>,
}

/// One of them.
#[derive(Serialize)]
#[serde(untagged)]
enum FileResult {
    Compiled {
        input: String,
        #[serde(flatten)]
        file: Value,
    },
    Failed {
        input: String,
        error: FailureJson,
    },
}

/// Compiles every input into `directory`; a failure is said and the next one is tried.
fn each_for_itself(job: &Job, inputs: &[PathBuf], directory: Option<&Path>) -> Result<ExitCode, Failure> {
    let targets = targets_of(inputs, directory)?;
    let files = Files::new(job.output, inputs.len());
    let start = Instant::now();
    let (mut results, mut rows) = (Vec::new(), Vec::new());
    let (mut failed, mut raw, mut packed) = (0usize, 0u64, 0u64);
    for (input, target) in inputs.iter().zip(&targets) {
        let one = [input.clone()];
        let outcome = guarded(|| {
            check_target(target, &one)?;
            job.compile_one(&one, target, Some(&files))
        });
        match outcome {
            Ok(done) => {
                raw += done.report.raw_bytes;
                packed += done.counted_bytes();
                rows.push(vec![
                    input.display().to_string(),
                    units::count(done.report.frames as u64),
                    units::bytes(done.source_bytes),
                    units::bytes(done.counted_bytes()),
                    format!("{}:1", units::short(ratio(done.report.raw_bytes, done.counted_bytes()))),
                    format!("{:.2} s", done.seconds),
                ]);
                let input = input.display().to_string();
                results.push(FileResult::Compiled { input, file: done.json()? });
            }
            Err(failure) => {
                failed += 1;
                let failure = failure.or_at(input);
                files.say(&format!("error: {}", failure.line()));
                rows.push(vec![input.display().to_string(), "failed".into()]);
                let input = input.display().to_string();
                results.push(FileResult::Failed { input, error: failure.json() });
            }
        }
    }
    drop(files);
    let seconds = start.elapsed().as_secs_f64();
    let failure = (failed > 0).then(|| {
        Failure::new(
            Class::Check,
            format!("{failed} of {} files failed", inputs.len()),
            directory.map(|directory| directory.display().to_string()),
        )
    });
    let all = FilesResult {
        files: results,
        compiled: inputs.len() - failed,
        failed,
        raw_bytes: raw,
        bytes: packed,
        ratio: ratio(raw, packed),
        seconds,
        error: failure.map(|failure| failure.json()),
    };
    job.output.result(&all, true, || {
        if rows.len() > SHOWN_FILES && !job.output.flags.verbose {
            // Failures have been said one by one.
            rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
            rows.truncate(SHOWN_FILES);
            rows.push(vec!["… --verbose shows all".into()]);
        }
        let mut text = table(&["file", "frames", "source", "reel", "ratio", "time"], &rows);
        text.push_str(&format!(
            "{} of {} files compiled, {} in {seconds:.2} s\n",
            inputs.len() - failed,
            inputs.len(),
            units::bytes(packed)
        ));
        text
    })?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}
