//! `meshreel compile`: compiles inputs into one `.reel`, or each into its own.

use super::compile_report::CompiledFile;
use crate::cli::CompileArgs;
use crate::guard::catch_panics;
use crate::memory::PeakMemory;
use crate::output::{Class, Failure, FailureJson, Output, display_path, one_line, table};
use crate::progress::{FileProgress, Progress};
use crate::targets::{self, Targets, reel_name};
use crate::units;
use crate::units::ratio;
use meshreel_commands::compile::{Compiled, Inputs, check_target, compile};
use meshreel_commands::fingerprint::Fingerprint;
use meshreel_commands::input_changes::report_input_changes;
use meshreel_commands::provenance::Provenance;
use meshreel_commands::shard::Shard;
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::OptionSet;
use meshreel_scene::LengthUnit;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Largest number of rows of the table of files without `--verbose`.
const MAX_SHOWN_FILES: usize = 40;

/// Runs the verb.
pub fn run(arguments: CompileArgs, output: Output) -> Result<ExitCode, Failure> {
    let mut wanted = match &arguments.options {
        Some(path) => inputs::read_options(path)?,
        None => OptionSet::default(),
    };
    wanted.general = arguments.content.options.over(wanted.general);
    // Errors that do not depend on the inputs are reported before any is opened.
    let options = wanted.resolve(Some(LengthUnit::Metre))?;
    options.check()?;
    let job = CompileSettings {
        input: InputOptions::new(arguments.points, &wanted.general),
        option_set: wanted,
        output,
        changed_only: arguments.changed_only,
    };
    let inputs = inputs::expand(&arguments.inputs)?;
    let output_path = arguments.output.as_deref();
    let targets = match arguments.shard {
        Some(_) => Targets::for_shard(output_path)?,
        None => Targets::new(&inputs, output_path, arguments.merge)?,
    };
    match targets {
        Targets::Each(directory) => compile_separately(&job, inputs, directory.as_deref(), arguments.shard),
        Targets::One(target) => {
            check_target(&target, &inputs)?;
            match job.compile_one(&inputs, &target, None)? {
                FileOutcome::Compiled(done) => {
                    output.result(&done.json()?, true, || done.text(job.output.flags.verbose))?;
                }
                FileOutcome::Skipped => {
                    let skipped = vec![SkippedFile::new(&inputs[0], &target)];
                    let line = || format!("{} is as it would be\n", display_path(&target));
                    output.result(&SkippedResult { skipped }, true, line)?;
                }
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The outcome for one or more inputs of a target.
enum FileOutcome {
    Compiled(Box<CompiledFile>),
    /// Nothing has changed, with `--changed-only`.
    Skipped,
}

/// A file that is skipped.
#[derive(Serialize)]
struct SkippedFile {
    input: String,
    output: String,
}

impl SkippedFile {
    fn new(input: &Path, target: &Path) -> SkippedFile {
        SkippedFile { input: input.display().to_string(), output: target.display().to_string() }
    }
}

/// The output of `--json` if the only file is skipped.
#[derive(Serialize)]
struct SkippedResult {
    skipped: Vec<SkippedFile>,
}

/// The settings of all files of a run.
pub struct CompileSettings {
    /// Options for opening inputs.
    pub input: InputOptions,
    /// The user's options for contents and tolerances.
    pub option_set: OptionSet,
    /// The output for messages.
    pub output: Output,
    /// Skips files that have not changed.
    pub changed_only: bool,
}

impl CompileSettings {
    /// Compiles `inputs` into `target`.
    pub fn compile(&self, inputs: &[PathBuf], target: &Path) -> Result<CompiledFile, Failure> {
        report_input_changes(inputs, || self.compile_always(inputs, target, None))
    }

    /// Compiles `inputs` as one of many files, unless nothing has changed.
    fn compile_one(
        &self,
        inputs: &[PathBuf],
        target: &Path,
        files: Option<&FileProgress>,
    ) -> Result<FileOutcome, Failure> {
        let compile = || report_input_changes(inputs, || self.compile_always(inputs, target, files));
        if !self.changed_only {
            return Ok(FileOutcome::Compiled(Box::new(compile()?)));
        }
        let provenance = self.provenance(inputs)?;
        if provenance.is_current(target) {
            return Ok(FileOutcome::Skipped);
        }
        // Opened again, so that nothing read before hashing is used.
        let done = compile()?;
        if !done.dry_run {
            provenance.write(target)?;
        }
        Ok(FileOutcome::Compiled(Box::new(done)))
    }

    /// Returns the provenance that a `.reel` of `inputs` would have.
    fn provenance(&self, inputs: &[PathBuf]) -> Result<Provenance, Failure> {
        let (scene, _) = inputs::open(inputs, &self.input)?;
        let unit = self.option_set.general.unit.map(LengthUnit::from).or(scene.unit);
        let reading = format!("{:?}", (self.input.source_fps, &self.input.animation));
        Ok(Provenance::new(&self.option_set.resolve(unit)?, reading, Fingerprint::from_scene_files(&scene)?))
    }

    fn compile_always(
        &self,
        inputs: &[PathBuf],
        target: &Path,
        files: Option<&FileProgress>,
    ) -> Result<CompiledFile, Failure> {
        let start = Instant::now();
        let watch = PeakMemory::start();
        let name = one_line(&target.file_name().unwrap_or_default().to_string_lossy());
        let progress = match files {
            Some(files) => files.next_file(&name),
            None => Progress::new(self.output, &name),
        };
        progress.start_phase("open");
        let (scene, remarks) = inputs::open(inputs, &self.input)?;
        let source_bytes = inputs::source_bytes(&scene);
        let seconds = start.elapsed().as_secs_f64();
        self.output.print_verbose(&format!("{name}: opened in {seconds:.2} s, {} nodes", scene.nodes.len()));
        let unit = self.option_set.general.unit.map(LengthUnit::from).or(scene.unit);
        let options = self.option_set.resolve(unit)?;
        if let (Some(folder), true, false) = (target.parent(), files.is_some(), options.dry_run) {
            meshreel_files::create_folder(folder).map_err(|e| Failure::io(folder, &e))?;
        }
        progress.start_phase("analyse");
        let again = Inputs { paths: inputs, options: &self.input };
        let compiled = compile((scene, remarks), again, target, &options, &progress);
        let Compiled { report, verified } = compiled.map_err(|failure| {
            self.output.remarks(&failure.remarks);
            failure.or_at(&inputs[0])
        })?;
        drop(progress);
        self.output.remarks(&report.remarks);
        Ok(CompiledFile {
            target: target.to_path_buf(),
            seconds: start.elapsed().as_secs_f64(),
            source_bytes,
            peak_anon_bytes: watch.stop(),
            report,
            verified,
            explain: options.explain,
            dry_run: options.dry_run,
        })
    }
}

/// Returns a distinct target for each input.
fn targets_of(inputs: &[PathBuf], directory: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let target_of = |input: &PathBuf| match directory {
        Some(directory) => directory.join(reel_name(input)),
        None => targets::default_target(input),
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

/// The output of `--json` for several files.
#[derive(Serialize)]
struct FilesResult {
    files: Vec<FileResult>,
    /// The share of the inputs that was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<ShardResult>,
    /// The files that were skipped.
    skipped: Vec<SkippedFile>,
    compiled: usize,
    failed: usize,
    raw_bytes: u64,
    bytes: u64,
    ratio: f64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureJson>,
}

/// A share of the inputs.
#[derive(Serialize)]
struct ShardResult {
    number: u32,
    count: u32,
    /// Number of inputs of all shares.
    inputs: usize,
}

/// The outcome of one file.
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

/// Compiles every input, or every one of a share, into `directory`; after a failure, which is printed, the
/// next one is compiled.
fn compile_separately(
    job: &CompileSettings,
    mut inputs: Vec<PathBuf>,
    directory: Option<&Path>,
    share: Option<Shard>,
) -> Result<ExitCode, Failure> {
    if share.is_some() {
        // The order and repetition of arguments do not matter.
        inputs.sort();
        inputs.dedup();
    }
    let targets = targets_of(&inputs, directory)?;
    let all: Vec<(&PathBuf, &PathBuf)> = inputs.iter().zip(&targets).collect();
    let own = all.iter().enumerate().filter(|(place, _)| share.is_none_or(|share| share.contains(*place)));
    let own: Vec<(&PathBuf, &PathBuf)> = own.map(|(_, pair)| *pair).collect();
    let files = FileProgress::new(job.output, own.len());
    let start = Instant::now();
    let mut sum = RunSummary::default();
    for (input, target) in &own {
        let one = [input.to_path_buf()];
        let outcome = catch_panics(|| {
            check_target(target, &one)?;
            if directory.is_some() {
                meshreel_files::refuse_link(target).map_err(|e| Failure::io(target, &e))?;
            }
            job.compile_one(&one, target, Some(&files))
        });
        match outcome {
            Ok(FileOutcome::Compiled(done)) => sum.add_compiled(input, &done)?,
            Ok(FileOutcome::Skipped) => {
                sum.rows.push(vec![display_path(input), "unchanged".into()]);
                sum.skipped.push(SkippedFile::new(input, target));
            }
            Err(failure) => {
                let failure = failure.or_at(input);
                files.print_line(&format!("error: {}", failure.line()));
                sum.add_failed(input, &failure);
            }
        }
    }
    drop(files);
    let failed = sum.failed;
    let failure = (failed > 0).then(|| {
        Failure::new(
            Class::Check,
            format!("{failed} of {} files failed", own.len()),
            directory.map(|directory| directory.display().to_string()),
        )
    });
    let shard =
        share.map(|share| ShardResult { number: share.number(), count: share.count(), inputs: inputs.len() });
    sum.print(job, shard, start.elapsed().as_secs_f64(), failure.map(|failure| failure.json()))?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// The outcomes of several files.
#[derive(Default)]
struct RunSummary {
    results: Vec<FileResult>,
    rows: Vec<Vec<String>>,
    skipped: Vec<SkippedFile>,
    compiled: usize,
    failed: usize,
    raw: u64,
    packed: u64,
}

impl RunSummary {
    fn add_compiled(&mut self, input: &Path, done: &CompiledFile) -> Result<(), Failure> {
        self.compiled += 1;
        self.raw += done.report.raw_bytes;
        self.packed += done.counted_bytes();
        let input = input.display().to_string();
        self.rows.push(vec![
            one_line(&input),
            units::count(done.report.frames as u64),
            units::bytes(done.source_bytes),
            units::bytes(done.counted_bytes()),
            format!("{}:1", units::short(ratio(done.report.raw_bytes, done.counted_bytes()))),
            format!("{:.2} s", done.seconds),
        ]);
        self.results.push(FileResult::Compiled { input, file: done.json()? });
        Ok(())
    }

    fn add_failed(&mut self, input: &Path, failure: &Failure) {
        self.failed += 1;
        let input = input.display().to_string();
        self.rows.push(vec![one_line(&input), "failed".into()]);
        self.results.push(FileResult::Failed { input, error: failure.json() });
    }

    fn print(
        self,
        job: &CompileSettings,
        shard: Option<ShardResult>,
        seconds: f64,
        error: Option<FailureJson>,
    ) -> Result<(), Failure> {
        let RunSummary { results, mut rows, skipped, compiled, failed, raw, packed } = self;
        let ratio = ratio(raw, packed);
        let all = FilesResult {
            files: results,
            shard,
            skipped,
            compiled,
            failed,
            raw_bytes: raw,
            bytes: packed,
            ratio,
            seconds,
            error,
        };
        job.output.result(&all, true, || {
            let count = rows.len();
            if count > MAX_SHOWN_FILES && !job.output.flags.verbose {
                // Failures have already been printed one by one.
                rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
                rows.truncate(MAX_SHOWN_FILES);
                rows.push(vec!["… --verbose shows all".into()]);
            }
            let mut text = match rows.is_empty() {
                true => String::new(),
                false => table(&["file", "frames", "source", "reel", "ratio", "time"], &rows),
            };
            if let Some(ShardResult { number, count, inputs }) = &all.shard {
                text.push_str(&format!("share {number} of {count} of {inputs} files\n"));
            }
            let unchanged = match all.skipped.len() {
                0 => String::new(),
                n => format!(", {n} unchanged"),
            };
            text.push_str(&format!(
                "{compiled} of {count} files compiled{unchanged}, {} in {seconds:.2} s\n",
                units::bytes(packed)
            ));
            text
        })
    }
}
