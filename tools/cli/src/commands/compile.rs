//! `meshreel compile`: inputs into one `.reel`, or each into its own in a directory.

use super::compile_report::CompiledFile;
use crate::cli::CompileArgs;
use crate::guard::guarded;
use crate::memory::Watch;
use crate::output::{Class, Failure, Output, table};
use crate::progress::{Files, Progress};
use crate::targets::{self, Targets, reel_name};
use crate::units;
use crate::units::ratio;
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::OptionSet;
use meshreel_scene::Unit;
use serde_json::json;
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
            output.result(&done.json(), true, || done.text(job.output.flags.verbose))?;
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

/// The compiler's options of what the user said of files of a length unit.
pub fn compile_options(file: &OptionsFile, unit: Option<Unit>) -> Result<Options, Failure> {
    let content = &file.content;
    let mut options = Options { strict: content.strict, dry_run: content.dry_run, ..Options::default() };
    let tolerance_of = |tolerance| tolerance_of(tolerance, unit);
    if let Some(angle) = content.normal_tolerance {
        options.normal_tolerance = angle.0;
    }
    if let Some(ratio) = content.uv_tolerance {
        options.uv_tolerance = ratio.0;
    }
    if let Some(tolerance) = content.scalar_tolerance {
        options.scalar_tolerance = tolerance_of(tolerance)?;
    }
    if let Some(bits) = content.colour_bits {
        options.colour_bits = u32::from(bits);
    }
    if let Some(channels) = content.channels {
        options.channels = sample::Channels {
            normals: channels.normals,
            uvs: channels.uvs,
            colours: channels.colours,
            attributes: channels.attributes,
        };
    }
    if let Some(method) = content.method {
        options.method = method_of(method);
    }
    if let Some(cli::Form::Packed) = content.transforms {
        options.transforms = TransformForm::Packed;
    }
    if let Some(parts) = &content.parts {
        options.parts = parts_of(parts);
    }
    options.preset = match (content.preset, content.block) {
        (Some(cli::Preset::Classic), _) | (None, Some(_)) => Preset::Classic,
        (Some(cli::Preset::Small), _) | (None, None) => Preset::Small,
        (Some(cli::Preset::Fast), _) => Preset::Fast,
    };
    if let Some(block) = content.block {
        options.block = match block {
            Block::Store => Format::Store,
            Block::Deflate => Format::Deflate,
            Block::Lz4hc => Format::Lz4,
            Block::Zstd => Format::Zstd,
        };
    }
    if let Some(frames) = content.index_every {
        options.index_every = Some(frames as usize);
    }
    options.smooth_angle = content.smooth_angle.map(|angle| angle.0);
    options.cycle = content.cycle;
    options.remesh = content.remesh;
    options.remesh_blend = content.remesh_blend.map(|frames| frames as usize);
    options.clips_only = content.clips_only;
    options.lod = content.lod.map_or(0, u32::from);
    options.cull_hidden = content.cull_hidden;
    options.attributes_apart = content.attributes_apart;
    options.fps = content.fps.map(|rate| rate.0);
    if let Some(between) = content.between {
        options.between = between.0;
    }
    options.source_fps = content.source_fps.map(|rate| rate.0);
    options.animation.clone_from(&content.animation);
    options.rig = match content.rig {
        None | Some(cli::RigName::Bake) => RigChoice::Bake,
        Some(cli::RigName::Keep) => RigChoice::Keep,
        Some(cli::RigName::Only) => RigChoice::Only,
    };
    options.range = content.range.map(|range| match range {
        units::Range::Frames(first, last) => sample::Range::Frames(first, last),
        units::Range::Seconds(first, last) => sample::Range::Seconds(first, last),
    });
    options.include.clone_from(&content.include);
    options.exclude.clone_from(&content.exclude);
    options.unit = content.unit.map(unit_of);
    if let Some(effort) = content.effort {
        options.effort = u32::from(effort);
    }
    options.jobs = content.jobs.unwrap_or(0) as usize;
    if let Some(memory) = content.memory {
        options.memory = memory.0;
    }
    options.strip = content.strip;
    options.full_source_map = !content.short_source_map && !content.strip;
    options.meshes = (file.meshes.iter())
        .map(|section| {
            Ok(MeshOverride {
                glob: section.glob.clone(),
                tolerance: section.tolerance.map(tolerance_of).transpose()?,
                method: section.method.map(method_of),
                parts: section.parts.as_ref().map(parts_of),
                remesh: section.remesh,
            })
        })
        .collect::<Result<_, Failure>>()?;
    options.clips = clip_choice(file, unit)?;
    for wanted in &content.tolerance {
        match (&wanted.glob, tolerance_of(wanted.tolerance)?) {
            (None, tolerance) => options.tolerance = tolerance,
            (Some(glob), tolerance) if glob.starts_with('/') => options.meshes.push(MeshOverride {
                glob: glob.clone(),
                tolerance: Some(tolerance),
                method: None,
                parts: None,
                remesh: None,
            }),
            (Some(glob), Tolerance::Absolute(length)) => {
                options.clips.joints.push(JointOverride {
                    glob: glob.clone(),
                    tolerance: Some(length),
                    ..JointOverride::default()
                });
            }
            // Refused when it was read.
            (Some(_), Tolerance::Relative(_)) => {}
        }
    }
    Ok(options)
}

fn unit_of(name: UnitName) -> Unit {
    match name {
        UnitName::Metre => Unit::Metre,
        UnitName::Centimetre => Unit::Centimetre,
        UnitName::Millimetre => Unit::Millimetre,
        UnitName::Inch => Unit::Inch,
    }
}

fn clip_choice(file: &OptionsFile, unit: Option<Unit>) -> Result<ClipChoice, Failure> {
    let curve = &file.curve;
    let local = LocalRule {
        tolerances: [curve.rotation_tolerance, curve.translation_tolerance, curve.scale_tolerance]
            .map(|t| t.map(|t| t.0)),
        adaptive: curve.adaptive.unwrap_or(false),
    };
    Ok(ClipChoice {
        codec: match file.content.codec {
            None | Some(cli::Codec::Auto) => CodecChoice::Auto,
            Some(cli::Codec::Sampled) => CodecChoice::Sampled,
            Some(cli::Codec::Curve) => CodecChoice::Curve,
        },
        shell: file.content.shell.map(|shell| shell.0),
        joints: (file.joints.iter())
            .map(|section| JointOverride {
                glob: section.glob.clone(),
                tolerance: section.tolerance.map(|t| t.0),
                shell: section.shell.map(|shell| shell.0),
                pinned: section.pinned,
                layer: section.layer.clone(),
                bias: section.bias,
                stepped: section.stepped,
            })
            .collect(),
        layers: (file.layers.iter())
            .map(|section| {
                let strip = section.strip.map(|strip| tolerance_of(strip, unit));
                Ok(LayerChoice {
                    name: section.name.clone(),
                    joints: section.joints.clone(),
                    below: section.below,
                    share: section.share,
                    rate: section.rate,
                    strip: match strip.transpose()? {
                        None => Strip::None,
                        Some(Tolerance::Absolute(length)) => Strip::Error(length),
                        Some(Tolerance::Relative(part)) => Strip::Share(part),
                    },
                    tiers: section.tiers.unwrap_or(1),
                })
            })
            .collect::<Result<_, Failure>>()?,
        curve: CurveChoice {
            knots: match curve.knots {
                None | Some(cli::Spacing::Centripetal) => Knots::Centripetal,
                Some(cli::Spacing::Uniform) => Knots::Uniform,
                Some(cli::Spacing::Chordal) => Knots::Chordal,
            },
            short: curve.rotation_bits == Some(32),
            plain: curve.keys == Some(cli::Keys::Inserted),
            local: (curve.rule == Some(cli::Rule::Local)).then_some(local),
        },
    })
}

/// A tolerance in the unit of the file.
fn tolerance_of(tolerance: units::Tolerance, unit: Option<Unit>) -> Result<Tolerance, Failure> {
    Ok(match (tolerance, unit) {
        (units::Tolerance::Absolute(length), _) => Tolerance::Absolute(length),
        (units::Tolerance::Percent(percent), _) => Tolerance::Relative(percent / 100.0),
        (units::Tolerance::Metres(length), Some(unit)) => Tolerance::Absolute(length / unit.metres()),
        (units::Tolerance::Metres(_), None) => {
            return Err(Failure::usage(format!(
                "a tolerance of {tolerance} needs a unit to be told in, and the input names none: give it with --unit, or a tolerance in percent"
            )));
        }
    })
}

fn parts_of(parts: &Parts) -> PartsChoice {
    match parts {
        Parts::Auto => PartsChoice::Auto,
        Parts::Attribute(name) => PartsChoice::Attribute(name.clone()),
        Parts::Connected => PartsChoice::Connected,
        Parts::Analyse => PartsChoice::Analyse,
    }
}

fn method_of(method: Method) -> MethodChoice {
    match method {
        Method::Auto => MethodChoice::Auto,
        Method::Static => MethodChoice::Static,
        Method::Rigid => MethodChoice::Rigid,
        Method::Skinned => MethodChoice::Skinned,
        Method::Soft => MethodChoice::Soft,
        Method::Fluid => MethodChoice::Fluid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_means_the_compilers_defaults() {
        let options = compile_options(&OptionsFile::default(), None).unwrap();
        assert_eq!(options, Options::default());
    }

    #[test]
    fn percent_is_a_fraction_inside() {
        let mut file = OptionsFile::default();
        for text in ["0.1%", "/a/*=2", "Hand*=0.5"] {
            file.content.tolerance.push(text.parse().unwrap());
        }
        let options = compile_options(&file, None).unwrap();
        assert_eq!(options.tolerance, Tolerance::Relative(0.1 / 100.0));
        assert_eq!(options.meshes[0].glob, "/a/*");
        assert_eq!(options.clips.joints[0].tolerance, Some(0.5));
    }

    #[test]
    fn lengths_with_a_unit_are_told_in_the_files() {
        let mut file = OptionsFile::default();
        file.content.tolerance.push("5mm".parse().unwrap());
        let of = |unit| Ok::<_, Failure>(compile_options(&file, unit)?.tolerance);
        assert_eq!(of(Some(Unit::Centimetre)).unwrap(), Tolerance::Absolute(0.5));
        assert_eq!(of(Some(Unit::Metre)).unwrap(), Tolerance::Absolute(0.005));
        assert!(of(None).unwrap_err().what.contains("--unit"));
    }
}
