//! `meshreel demo`: compiles, verifies and extracts bundled real files, prints a table and draws contact
//! sheets.

use super::compile::CompileSettings;
use super::compile_report::CompiledFile;
use super::frame;
use super::verify;
use crate::cli::DemoArgs;
use crate::guard::catch_panics;
use crate::output::{Class, Failure, FailureJson, Output, display_path, one_line, print_error_line, table};
use crate::picture::animation;
use crate::picture::font;
use crate::picture::frames::{self, MappedDecoder};
use crate::picture::image::Image;
use crate::picture::render::guess_up;
use crate::picture::sheet::{Column, INK, PAPER, Sheet, compose};
use crate::progress::Progress;
use crate::units;
use meshreel::Reel;
use meshreel_check::machine_limits;
use meshreel_commands::extract::OutputKind;
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_options::OptionSet;
use meshreel_scene::sample::World;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Number of frames on a sheet.
const SHEET_FRAMES: usize = 5;

/// The picture of all files: its name, number of pictures, their duration in seconds, columns, and the width
/// and height of a tile, of the text below it and of the gap beside it in pixels.
const OVERVIEW: &str = "overview";
const OVERVIEW_PICTURES: usize = 48;
const OVERVIEW_SECONDS: f64 = 1.0 / 16.0;
const OVERVIEW_COLUMNS: usize = 4;
const TILE: [usize; 2] = [210, 150];
const TILE_TEXT: usize = 38;
const TILE_GAP: usize = 6;

/// A scene that is part of the program.
macro_rules! bundled {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("../../scenes/", $name, ".zst")))),*]
    };
}

/// Names and Zstandard frames of the bundled scenes, those of `testdata/inputs`.
const BUNDLED: [(&str, &[u8]); 7] = bundled![
    "a_flag_wind.abc",
    "d_snake_skinned.abc",
    "e_metaballs.abc",
    "g_scene_attributes.abc",
    "j_visibility_particles.abc",
    "m_scale_shear.abc",
    "n_robot_bone_parented.abc"
];

/// Runs the verb.
pub fn run(arguments: &DemoArgs, output: Output) -> Result<ExitCode, Failure> {
    let directory = &arguments.output;
    let files = match &arguments.inputs {
        Some(inputs) => find_inputs(inputs)?,
        None => write_bundled(&directory.join("scenes"))?,
    };
    std::fs::create_dir_all(directory).map_err(|e| Failure::io(directory, &e))?;
    let (mut results, mut rows, mut failed) = (Vec::new(), Vec::new(), 0);
    for file in &files {
        output.print_verbose(&display_path(file));
        match catch_panics(|| process_file(file, arguments, output)) {
            Ok(shown) => {
                failed += usize::from(!shown.ok);
                rows.push(shown.row);
                results.push(DemoFileResult::Done(shown.json));
            }
            Err(failure) => {
                failed += 1;
                let failure = failure.or_at(file);
                print_error_line(&format!("error: {}", failure.line()));
                rows.push(vec![one_line(&file_name(file)), "failed".into()]);
                let input = file.display().to_string();
                results.push(DemoFileResult::Failed { input, error: failure.json() });
            }
        }
    }
    let overview = draw_overview(&results, arguments, output)?;
    let value = DemoResult {
        output: directory.display().to_string(),
        ok: failed == 0,
        overview: overview.map(|path| path.display().to_string()),
        files: results,
        error: (failed > 0).then(|| {
            let what = format!("{failed} of {} files failed", files.len());
            Failure::new(Class::Check, what, Some(directory.display().to_string())).json()
        }),
    };
    output.result(&value, true, || {
        let header = [
            "file", "frames", "source", "raw", "reel", "ratio", "tolerance", "max error", "<check", "seconds",
        ];
        let mut text = table(&header, &rows);
        text.push_str(&format!(
            "\nsource: the .abc; raw: 12 bytes per point and frame, 40 per transform and sample; reel: without the \
             source map.\ntolerance and max error: of the mesh that comes nearest to its limit, in scene units.\n\
             {0}/*.png: source, decoded and error; *.reel: compiled; *.abc: extracted again\n\
             {0}/{OVERVIEW}.png: all of them in motion\n",
            display_path(directory)
        ));
        text
    })?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// The result of all files, as `--json` prints it.
#[derive(Serialize)]
struct DemoResult {
    output: String,
    ok: bool,
    /// The animated picture of all files.
    #[serde(skip_serializing_if = "Option::is_none")]
    overview: Option<String>,
    files: Vec<DemoFileResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureJson>,
}

/// The result of one file, as `--json` prints it.
#[derive(Serialize)]
#[serde(untagged)]
enum DemoFileResult {
    Done(DemoFileReport),
    Failed { input: String, error: FailureJson },
}

/// Names, sizes and errors of one file.
#[derive(Serialize)]
struct DemoFileReport {
    input: String,
    reel: String,
    extracted: String,
    sheet: String,
    source_bytes: u64,
    raw_bytes: u64,
    reel_bytes: u64,
    source_map_bytes: u64,
    ratio: f64,
    frames: usize,
    tolerance: f64,
    max_error: f64,
    ok: bool,
    seconds: f64,
}

/// The result of one file: a row of the table, and its report.
struct DemoRow {
    ok: bool,
    row: Vec<String>,
    json: DemoFileReport,
}

/// Compiles, verifies, extracts and draws one file.
fn process_file(file: &Path, arguments: &DemoArgs, output: Output) -> Result<DemoRow, Failure> {
    let name = file_name(file);
    let at = |extension: &str| arguments.output.join(format!("{name}.{extension}"));
    let (reel_path, extracted, sheet) = (at("reel"), at("abc"), at("png"));
    let mut wanted = OptionSet::default();
    wanted.general.tolerance.push(arguments.tolerance.into());
    let quiet = Output {
        flags: crate::cli::OutputFlags {
            // Remarks on bundled files are known; only --verbose prints them.
            quiet: !output.flags.verbose,
            ..output.flags
        },
    };
    let job = CompileSettings {
        input: InputOptions::default(),
        option_set: wanted,
        output: quiet,
        changed_only: false,
    };
    let paths = [file.to_path_buf()];
    let done = job.compile(&paths, &reel_path)?;
    let progress = Progress::new(output, &name);
    let verified = verify::check(&paths, &reel_path, &job.input, &progress)?;

    let reel = Reel::open(&reel_path, &machine_limits())?;
    let scene = meshreel_extract::to_scene(&reel)?;
    let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    let step = |phase: &str, done, total| progress.step(phase, done, total);
    OutputKind::Alembic.write(&extracted, &scene, &times, &step)?;

    draw_sheet(file, arguments, &done, &reel, &verified, &progress)?.write_png(&sheet)?;
    drop(progress);

    let (tolerance, max_error) = verified.worst();
    let report = &done.report;
    let ratio = crate::units::ratio(report.raw_bytes, done.counted_bytes());
    Ok(DemoRow {
        ok: verified.ok(),
        row: vec![
            name,
            report.frames.to_string(),
            units::bytes(done.source_bytes),
            units::bytes(report.raw_bytes),
            units::bytes(done.counted_bytes()),
            format!("{}:1", units::short(ratio)),
            units::short(tolerance),
            units::short(max_error),
            if verified.ok() { "ok" } else { "BROKEN" }.to_string(),
            format!("{:.2}", done.seconds),
        ],
        json: DemoFileReport {
            input: file.display().to_string(),
            reel: reel_path.display().to_string(),
            extracted: extracted.display().to_string(),
            sheet: sheet.display().to_string(),
            source_bytes: done.source_bytes,
            raw_bytes: report.raw_bytes,
            reel_bytes: done.counted_bytes(),
            source_map_bytes: report.source_map_bytes,
            ratio,
            frames: report.frames,
            tolerance,
            max_error,
            ok: verified.ok(),
            seconds: done.seconds,
        },
    })
}

/// Draws source and decoded frames together.
fn draw_sheet(
    file: &Path,
    arguments: &DemoArgs,
    done: &CompiledFile,
    reel: &Reel,
    verified: &verify::Verification,
    progress: &Progress,
) -> Result<Image, Failure> {
    let (scene, _) = inputs::open(&[file.to_path_buf()], &InputOptions::default())?;
    let placed = scene.expand()?;
    let mut world = World::new(&scene, &placed)?;
    let mut decoded = MappedDecoder::new(reel)?;
    let chosen = spread(reel.frame_count(), SHEET_FRAMES);
    let mut columns = Vec::with_capacity(chosen.len());
    for (i, &frame) in chosen.iter().enumerate() {
        let time = reel.time(frame);
        let source = frames::source_meshes(&scene, &placed, &mut world, time)?;
        let shown = decoded.frame(frame, &source)?;
        columns.push(Column {
            title: format!("frame {frame} · {} s", units::short(time)),
            note: match shown.worst <= 1.0 {
                true => format!("max {:.0}% of tolerance", 100.0 * shown.worst),
                false => format!("BEYOND: {} × tolerance", units::short(shown.worst.into())),
            },
            source: source.into_iter().map(|mesh| mesh.surface).collect(),
            decoded: shown.surfaces,
            errors: shown.errors,
        });
        progress.step("draw", i as u64 + 1, chosen.len() as u64);
    }
    let points: Vec<glam::DVec3> = columns
        .iter()
        .flat_map(|column| &column.source)
        .flat_map(|surface| surface.positions.iter().copied())
        .collect();
    let report = &done.report;
    let (_, max_error) = verified.worst();
    let triangles: u64 = reel.description().meshes.iter().map(|m| u64::from(m.indices) / 3).sum();
    Ok(compose(Sheet {
        title: file_name(file),
        subtitle: format!(
            "{} frames · {} {}, {} triangles · source {} → reel {} · raw {}, ratio {}:1 · max error {}",
            report.frames,
            units::count(report.meshes.len() as u64),
            if report.meshes.len() == 1 { "mesh" } else { "meshes" },
            units::count(triangles),
            units::bytes(done.source_bytes),
            units::bytes(done.counted_bytes()),
            units::bytes(report.raw_bytes),
            units::short(crate::units::ratio(report.raw_bytes, done.counted_bytes())),
            units::short(max_error),
        ),
        columns,
        scale: format!("the tolerance of each mesh ({})", arguments.tolerance),
        rows: ["source", "decoded", "error"],
        up: guess_up(scene.format, &points),
    }))
}

/// Draws all files that were compiled side by side as an animation. `None` if there are none with frames, or
/// a file has the name of this picture.
fn draw_overview(
    results: &[DemoFileResult],
    arguments: &DemoArgs,
    output: Output,
) -> Result<Option<PathBuf>, Failure> {
    let done: Vec<&DemoFileReport> = (results.iter())
        .filter_map(|result| match result {
            DemoFileResult::Done(report) if report.frames > 0 => Some(report),
            _ => None,
        })
        .collect();
    let taken = done.iter().any(|report| file_name(Path::new(&report.reel)) == OVERVIEW);
    if done.is_empty() || taken {
        return Ok(None);
    }
    let progress = Progress::new(output, OVERVIEW);
    let columns = done.len().min(OVERVIEW_COLUMNS);
    let size = [columns * TILE[0], done.len().div_ceil(columns) * (TILE[1] + TILE_TEXT)];
    let mut pictures = vec![Image::new(size[0], size[1], PAPER); OVERVIEW_PICTURES];
    let corner = |i: usize| [i % columns * TILE[0], i / columns * (TILE[1] + TILE_TEXT)];
    let sizes = |source, reel| format!("{} → {}", units::bytes(source), units::bytes(reel));
    for (i, report) in done.iter().enumerate() {
        let [x, y] = corner(i);
        let text = [file_name(Path::new(&report.reel)), sizes(report.source_bytes, report.reel_bytes)];
        let tile =
            frame::draw_tile(Path::new(&report.reel), [TILE[0] - TILE_GAP, TILE[1]], OVERVIEW_PICTURES)?;
        for (picture, tile) in pictures.iter_mut().zip(tile) {
            picture.paste(&tile, x, y);
            for (line, text) in text.iter().enumerate() {
                let top = (y + TILE[1] + 4 + 15 * line) as f32;
                font::draw(picture, text, x as f32 + 2.0, top, 9.0, INK);
            }
        }
        progress.step("draw", i as u64 + 1, done.len() as u64);
    }
    // The sums stand in the cell after the last file, if its row has one.
    if !done.len().is_multiple_of(columns) {
        let [x, y] = corner(done.len());
        let sum = |bytes: fn(&DemoFileReport) -> u64| done.iter().map(|report| bytes(report)).sum();
        let lines = [
            (20.0, 50, format!("{} scenes", done.len())),
            (11.0, 84, sizes(sum(|report| report.source_bytes), sum(|report| report.reel_bytes))),
            (10.0, 104, format!("largest error {}", arguments.tolerance)),
        ];
        for picture in &mut pictures {
            for (size, down, text) in &lines {
                font::draw(picture, text, x as f32 + 12.0, (y + down) as f32, *size, INK);
            }
        }
    }
    let path = arguments.output.join(format!("{OVERVIEW}.png"));
    let seconds = [OVERVIEW_SECONDS; OVERVIEW_PICTURES];
    animation::write(&path, size, &seconds, |i| Ok(pictures[i].clone()), |_| ())?;
    Ok(Some(path))
}

/// Returns `count` frames from the first to the last, evenly spaced.
fn spread(frames: usize, count: usize) -> Vec<usize> {
    let count = count.min(frames);
    (0..count)
        .map(|i| match count {
            1 => 0,
            _ => i * (frames - 1) / (count - 1),
        })
        .collect()
}

fn file_name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes the bundled scenes, and returns their names.
fn write_bundled(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    std::fs::create_dir_all(directory).map_err(|e| Failure::io(directory, &e))?;
    let write = |(name, compressed): (&str, &[u8])| {
        let file = directory.join(name);
        let bytes = zstd::decode_all(compressed).and_then(|bytes| std::fs::write(&file, bytes));
        bytes.map_err(|e| Failure::io(&file, &e))?;
        Ok(file)
    };
    BUNDLED.into_iter().map(write).collect()
}

/// Returns the `.abc` files of a directory.
fn find_inputs(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(directory).map_err(|e| Failure::io(directory, &e))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("abc")))
        .collect();
    files.sort();
    match files.is_empty() {
        true => Err(Failure::usage(format!("{}: has no .abc files", directory.display()))),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundled_scenes_are_those_of_the_tests() {
        let directory = tempfile::tempdir().unwrap();
        for file in write_bundled(directory.path()).unwrap() {
            let source = meshreel_testkit::bundled(&file.file_name().unwrap().to_string_lossy());
            assert!(std::fs::read(&file).unwrap() == std::fs::read(source).unwrap(), "{}", file.display());
        }
    }

    #[test]
    fn frames_of_a_sheet() {
        assert_eq!(spread(60, 5), [0, 14, 29, 44, 59]);
        assert_eq!(spread(3, 5), [0, 1, 2]);
        assert_eq!(spread(1, 5), [0]);
        assert!(spread(0, 5).is_empty());
    }
}
