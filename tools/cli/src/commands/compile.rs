//! `meshreel compile`: inputs into one `.reel`, or each into its own in a directory.

use super::{clip, lod, rigs};
use crate::cli::CompileArgs;
use crate::guard::guarded;
use crate::memory::Watch;
use crate::output::{Class, Failure, Output, one_line, remarks_json, table};
use crate::progress::{Files, Progress};
use crate::targets::{self, Targets, reel_name};
use crate::units::ratio;
use crate::{advice, units};
use meshreel_compile::{Between, MeshReport, Report, Tried};
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::OptionSet;
use meshreel_scene::Unit;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Most rows of the table of meshes without `--verbose`.
const SHOWN_MESHES: usize = 12;

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
            output.result(&done.json(), true, || done.text(&job))?;
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

/// A file that was compiled.
pub struct Done {
    /// The file.
    pub target: PathBuf,
    /// What the compiler says of it.
    pub report: Report,
    /// Wall time, reading included.
    pub seconds: f64,
    source_bytes: u64,
    peak_anon_bytes: Option<u64>,
    explain: bool,
    dry_run: bool,
}

impl Job {
    /// Compiles `inputs` into `target`.
    pub fn compile(&self, inputs: &[PathBuf], target: &Path) -> Result<Done, Failure> {
        self.compile_one(inputs, target, None)
    }

    /// The same, as one of many.
    fn compile_one(&self, inputs: &[PathBuf], target: &Path, files: Option<&Files>) -> Result<Done, Failure> {
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
            std::fs::create_dir_all(folder).map_err(|e| Failure::io(folder, &e))?;
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
        Ok(Done {
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

impl Done {
    /// Bytes that count: all but the source map.
    pub fn counted_bytes(&self) -> u64 {
        self.report.file_bytes.saturating_sub(self.report.source_map_bytes)
    }

    /// The object of PROMISE.md §5.
    pub fn json(&self) -> Value {
        let report = &self.report;
        let meshes: Vec<Value> = report
            .meshes
            .iter()
            .map(|mesh| {
                let mut value = json!({
                    "path": mesh.path, "method": mesh.method, "vertices": mesh.vertices,
                    "source_points": mesh.source_points, "frames": mesh.frames, "parts": mesh.bones[0], "bones": mesh.bones[1],
                    "tolerance": mesh.tolerance, "max_error": mesh.max_error, "bytes": mesh.bytes,
                    "position_bytes": mesh.position_bytes,
                    "bits_per_vertex_frame": mesh.bits_per_vertex_frame, "grid": mesh.grid,
                    "moves": mesh.moves,
                });
                if let Some(n) = &mesh.normals_decide {
                    value["normals_decide"] = json!({
                        "finer": n.finer, "normal_tolerance": n.degrees, "larger": n.larger,
                        "bytes_then": n.part.map(|part| (part * mesh.bytes as f64).round()),
                    });
                }
                if let Some(r) = &mesh.remeshed {
                    value["remeshed"] = json!({
                        "runs": r.runs, "frames": r.frames, "own": r.own, "points": r.points, "blended": r.blended,
                    });
                }
                if let Some([first, last, all]) = mesh.hidden {
                    value["hidden_triangles"] = json!({ "first_frame": first, "last_frame": last, "all_frames": all });
                    value["hidden_bytes"] = json!(mesh.hidden_bytes);
                }
                if !mesh.attributes.is_empty() {
                    let one = |(name, components, groups): &(String, usize, usize)| json!({ "name": name, "components": components, "groups": groups });
                    value["attributes"] = mesh.attributes.iter().map(one).collect();
                    value["attribute_bytes"] = json!(mesh.attribute_bytes);
                }
                if !mesh.details.is_empty() {
                    value["levels"] = lod::json(&lod::compiled(mesh));
                    value["level_bytes"] = json!(mesh.detail_bytes);
                }
                if self.explain {
                    let tried = |t: &Tried| {
                        json!({
                            "method": t.method, "from": t.from, "parts": t.bones[0], "bones": t.bones[1],
                            "points_with_residual": t.residual, "bytes": t.bytes, "chosen": t.taken,
                            "seconds": t.seconds,
                        })
                    };
                    value["tried"] = mesh.tried.iter().map(tried).collect();
                }
                value
            })
            .collect();
        let mut value = json!({
            "output": self.target.display().to_string(),
            "written": !self.dry_run,
            "source_bytes": self.source_bytes,
            "file_bytes": report.file_bytes,
            "source_map_bytes": report.source_map_bytes,
            "raw_bytes": report.raw_bytes,
            "ratio": ratio(report.raw_bytes, self.counted_bytes()),
            "source_ratio": ratio(self.source_bytes, self.counted_bytes()),
            "frames": report.frames,
            "seconds": self.seconds,
            "peak_anon_bytes": self.peak_anon_bytes,
            "remarks": remarks_json(&report.remarks),
            "meshes": meshes,
            "rigs": report.rigs.iter().map(rigs::compiled).collect::<Vec<_>>(),
            "clips": report.clips.iter().map(|clip| clip::compiled(clip, self.explain)).collect::<Vec<_>>(),
        });
        if let Some(between) = &report.between {
            value["added_frames"] = json!(between.added);
            value["between_worst"] = json!(between.after);
        }
        if self.explain {
            value["passes"] =
                report.passes.iter().map(|(pass, what)| json!({ "pass": pass, "what": what })).collect();
            value["tree"] = json!(report.tree);
            value["advice"] = json!(advice::of_report(report));
        }
        value
    }

    fn text(&self, job: &Job) -> String {
        let report = &self.report;
        let mut out = if self.explain { self.explanation() } else { String::new() };
        out.push_str(&self.summary());
        if let Some(between) = report.between.as_ref().filter(|between| between.added > 0) {
            out.push_str(&added(between, report.frames));
        }
        let most = if job.output.flags.verbose { usize::MAX } else { SHOWN_MESHES };
        // The largest first: that is where a smaller file can come from.
        let mut meshes: Vec<_> = report.meshes.iter().collect();
        meshes.sort_by_key(|mesh| std::cmp::Reverse(mesh.bytes));
        out.push_str(&mesh_table(&meshes, most));
        out.push_str(&normals_decide(&report.meshes));
        let culled = (meshes.iter()).filter_map(|m| Some((&m.path[..], m.triangles, m.hidden?)));
        out.push_str(&lod::hidden_table(culled.take(most)));
        let detailed = meshes.iter().filter(|mesh| !mesh.details.is_empty());
        let detailed = detailed.map(|mesh| (&mesh.path[..], lod::compiled(mesh)));
        out.push_str(&lod::table(detailed.take(most)));
        out.push_str(&rigs::compiled_table(&report.rigs));
        out.push_str(&clip::compiled_table(&report.clips, most));
        out
    }

    /// What `--explain` adds: passes, the tree, and what was chosen for what reason.
    fn explanation(&self) -> String {
        let report = &self.report;
        let width = report.passes.iter().map(|(pass, _)| pass.len()).max().unwrap_or(0);
        let mut out = String::from("passes\n");
        for (pass, what) in &report.passes {
            out.push_str(&format!("  {pass:<width$}  {}\n", one_line(what)));
        }
        out.push_str("tree\n");
        for line in report.tree.lines() {
            out.push_str(&format!("  {line}\n"));
        }
        for mesh in &report.meshes {
            if let Some([width, height]) = mesh.grid {
                out.push_str(&format!(
                    "{}: implicit grid, {width} × {height}: its triangles are not stored\n",
                    one_line(&mesh.path)
                ));
            }
        }
        for mesh in &report.meshes {
            if let Some([first, last]) = mesh.moves {
                out.push_str(&format!(
                    "{}: moves from frame {first} to {last} and stands still before and after\n",
                    one_line(&mesh.path)
                ));
            }
        }
        out.push_str(&methods_table(&report.meshes));
        out.push_str(&advice::text(&advice::of_report(report)));
        if !report.clips.is_empty() {
            out.push_str(&clip::tried_table(&report.clips));
        }
        out.push('\n');
        out
    }

    /// The file in one line: its size, and how that compares.
    fn summary(&self) -> String {
        let report = &self.report;
        let verb = if self.dry_run { "would be" } else { "is" };
        let map = match report.source_map_bytes {
            0 => String::new(),
            bytes => format!(" + {} source map", units::bytes(bytes)),
        };
        // A file of clips alone has no frames.
        let samples = report.clips.iter().map(|clip| clip.samples).max();
        let length = match (report.frames, &report.clips[..], samples) {
            (0, [_], Some(samples)) => format!("{} samples", units::count(samples as u64)),
            (0, clips @ [_, ..], _) => format!("{} clips", clips.len()),
            (frames, ..) => format!("{} frames", units::count(frames as u64)),
        };
        let of = |bytes| units::short(ratio(bytes, self.counted_bytes()));
        format!(
            "{} {verb} {}{map}: {length}, raw {}, ratio {}:1 ({}:1 of the source's {}), {:.2} s\n",
            self.target.display(),
            units::bytes(self.counted_bytes()),
            units::bytes(report.raw_bytes),
            of(report.raw_bytes),
            of(self.source_bytes),
            units::bytes(self.source_bytes),
            self.seconds,
        )
    }
}

/// The first `most` of these meshes, one in each line.
fn mesh_table(meshes: &[&MeshReport], most: usize) -> String {
    let row = |mesh: &&MeshReport| {
        vec![
            one_line(&mesh.path),
            mesh.method.clone(),
            units::count(mesh.vertices as u64),
            units::short(mesh.tolerance),
            units::short(mesh.max_error),
            units::bytes(mesh.bytes),
            format!("{:.2}", mesh.bits_per_vertex_frame),
        ]
    };
    let mut rows: Vec<Vec<String>> = meshes.iter().take(most).map(row).collect();
    if meshes.len() > most {
        rows.push(vec![format!("… and {} more; --verbose shows all", meshes.len() - most)]);
    }
    match rows.is_empty() {
        true => String::new(),
        false => table(
            &["mesh", "<method", "vertices", "tolerance", "max error", "bytes", "bits/point/frame"],
            &rows,
        ),
    }
}

/// What is said of frames that the source does not have.
fn added(between: &Between, frames: usize) -> String {
    let Between { added, before, after, .. } = between;
    let own = frames.saturating_sub(*added);
    format!(
        "{added} frames added to the source's {own}: without them players would be up to {} tolerances off between frames, now up to {} (--between off leaves them out)\n",
        units::short(*before),
        units::short(*after),
    )
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
                let mut value = done.json();
                value["input"] = json!(input.display().to_string());
                results.push(value);
            }
            Err(failure) => {
                failed += 1;
                let failure = failure.or_at(input);
                files.say(&format!("error: {}", failure.line()));
                rows.push(vec![input.display().to_string(), "failed".into()]);
                results.push(json!({ "input": input.display().to_string(), "error": failure.json() }));
            }
        }
    }
    drop(files);
    let seconds = start.elapsed().as_secs_f64();
    let mut value = json!({
        "files": results, "compiled": inputs.len() - failed, "failed": failed,
        "raw_bytes": raw, "bytes": packed, "ratio": ratio(raw, packed), "seconds": seconds,
    });
    if failed > 0 {
        let failure = Failure::new(
            Class::Check,
            format!("{failed} of {} files failed", inputs.len()),
            directory.map(|directory| directory.display().to_string()),
        );
        value["error"] = json!(failure.json());
    }
    job.output.result(&value, true, || {
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

/// Refuses to write over an input, or under the name of one.
fn check_target(target: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    let extension = target.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if inputs::EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()) {
        return Err(Failure::usage(format!(
            "{}: the output is a .reel; to convert a .reel back use 'meshreel extract'",
            target.display()
        )));
    }
    let Ok(real) = target.canonicalize() else {
        return Ok(());
    };
    match inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == real)) {
        true => Err(Failure::usage(format!("{}: is an input and the output", target.display()))),
        false => Ok(()),
    }
}

/// Says of which meshes it is not the tolerance that decides how fine positions are.
fn normals_decide(meshes: &[MeshReport]) -> String {
    let decided = || meshes.iter().filter_map(|m| Some((m, m.normals_decide?)));
    let Some((first, how)) = decided().max_by(|a, b| a.1.finer.total_cmp(&b.1.finer)) else {
        return String::new();
    };
    let which = match decided().count() {
        1 => one_line(&first.path),
        count => format!("{count} meshes up to"),
    };
    let tried = || decided().filter_map(|(mesh, n)| Some((mesh.bytes, n.part?)));
    let bytes: u64 = tried().map(|t| t.0).sum();
    let then: f64 = tried().map(|(bytes, part)| part * bytes as f64).sum();
    let larger = match bytes {
        0 => "lets them be coarser".into(),
        _ => format!("makes about {} of these {}", units::bytes(then.round() as u64), units::bytes(bytes)),
    };
    format!(
        "normals within {}° keep positions of {which} {} × finer than the tolerance asks, as takes the fewest bytes; --normal-tolerance {} {larger}\n",
        how.degrees,
        units::short(how.finer),
        how.larger,
    )
}

/// The methods that were tried, for `--explain`.
fn methods_table(meshes: &[MeshReport]) -> String {
    let mut rows = Vec::new();
    for mesh in meshes {
        for t in &mesh.tried {
            let choice = match (t.taken, t.bytes) {
                (true, _) => "chosen",
                (_, Some(_)) => "larger",
                (_, None) => "cannot hold the tolerance",
            };
            rows.push(vec![
                one_line(&mesh.path),
                t.method.into(),
                t.from.clone(),
                units::count(t.bones[0] as u64),
                units::count(t.bones[1] as u64),
                units::count(t.residual as u64),
                t.bytes.map_or("–".into(), units::bytes),
                format!("{:.2} s", t.seconds),
                choice.into(),
            ]);
        }
    }
    let head =
        ["mesh", "<method", "<from", "parts", "bones", "points with residual", "about", "time", "<choice"];
    match rows.is_empty() {
        true => String::new(),
        false => table(&head, &rows),
    }
}
