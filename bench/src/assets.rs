//! `assets`: whole assets with all their channels: their size in the presets small and fast, and the speed at
//! which one core turns the bytes of a file into shader inputs.

use crate::machine;
use anyhow::Context;
use meshreel::{FrameDecoder, FrameView, Limits, Pace, Reel};
use meshreel_codec::simd::isa::Isa;
use meshreel_compile::{Silent, compile};
use meshreel_options::{Options, Preset};
use meshreel_read::ReadOptions;
use meshreel_scene::{Remark, Scene};
use serde::Serialize;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Any inputs that compile; .obj with a .pc2 of the same name beside them, .reel as they are.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Presets for inputs that are compiled; if not given, fast and small.
    #[arg(long, value_delimiter = ',')]
    preset: Vec<String>,
    /// Threads of the compiler; 0 = all.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Passes over a file; the fastest counts.
    #[arg(long, default_value_t = 10)]
    repeat: usize,
    /// Append the results to bench/record/MACHINE/DATE.csv.
    #[arg(long)]
    record: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// One line of the table. Vertices are those of the output, after splits, in one frame.
#[derive(Serialize)]
struct Row {
    name: String,
    preset: String,
    bytes: u64,
    vertices: u64,
    frames: usize,
    /// Speed in MB of raw positions, 12 bytes per source point, per second.
    mb_per_s: f64,
    /// Nanoseconds per vertex: decoding units and writing positions, normals and tangents as f32; then units
    /// alone, positions alone, and everything written half-way between two frames.
    shown: f64,
    decoded: f64,
    positions: f64,
    between: f64,
}

const PRESETS: [Preset; 2] = [Preset::Fast, Preset::Small];

const HEADER: &str =
    "bench,name,preset,bytes,vertices,frames,mb_per_s,shown_ns,decoded_ns,positions_ns,between_ns";

/// Returns `true` if everything compiled and decoded: there is no limit for speed.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    let mut rows = Vec::new();
    if !arguments.json {
        println!("{:?}, {}", Isa::get(), machine::name());
        print_head();
    }
    for file in &arguments.files {
        let is_reel = file.extension().is_some_and(|e| e == "reel");
        let wanted =
            |p: &Preset| arguments.preset.is_empty() || arguments.preset.iter().any(|n| n == p.name());
        let presets = if is_reel { &PRESETS[..1] } else { &PRESETS[..] };
        for preset in presets.iter().filter(|p| is_reel || wanted(p)) {
            let compiled = folder.path().join("asset.reel");
            let path = if is_reel {
                file
            } else {
                make(file, &compiled, *preset, arguments.jobs)
                    .with_context(|| format!("compiling {}", file.display()))?;
                &compiled
            };
            let mut row = measure(path, arguments.repeat.max(1))
                .with_context(|| format!("decoding {}", file.display()))?;
            row.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            row.preset = if is_reel { "file".into() } else { preset.name().into() };
            if !arguments.json {
                print_row(&row);
            }
            rows.push(row);
        }
    }
    if arguments.json {
        println!("{}", serde_json::json!({ "machine": machine::name(), "rows": rows }));
    }
    if arguments.record {
        let line = |r: &Row| {
            format!(
                "assets,{},{},{},{},{},{:.0},{:.2},{:.2},{:.2},{:.2}",
                r.name,
                r.preset,
                r.bytes,
                r.vertices,
                r.frames,
                r.mb_per_s,
                r.shown,
                r.decoded,
                r.positions,
                r.between
            )
        };
        let path = machine::record(HEADER, &rows.iter().map(line).collect::<Vec<_>>())?;
        eprintln!("recorded in {}", path.display());
    }
    Ok(true)
}

fn make(input: &Path, target: &Path, preset: Preset, jobs: usize) -> anyhow::Result<()> {
    let options = Options { preset, jobs, ..Options::default() };
    let (scene, remarks) = open(input)?;
    compile(scene, remarks, target, &options, &meshreel_check::reopen, &Silent)?;
    Ok(())
}

/// Reads an input; an .obj with the .pc2 of the same name beside it.
pub fn open(input: &Path) -> anyhow::Result<(Scene, Vec<Remark>)> {
    let points = input.with_extension("pc2");
    let read_options = ReadOptions { points: points.is_file().then_some(points), ..ReadOptions::default() };
    Ok(meshreel_read::open(input, &read_options)?)
}

/// The shader inputs, as floats.
pub struct Buffers {
    positions: Vec<f32>,
    normals: Vec<f32>,
    tangents: Vec<f32>,
}

impl Buffers {
    /// Returns buffers for this many vertices.
    pub fn new(vertices: usize) -> Buffers {
        Buffers {
            positions: vec![0.0; 3 * vertices],
            normals: vec![0.0; 3 * vertices],
            tangents: vec![0.0; 4 * vertices],
        }
    }
}

fn measure(path: &Path, repeat: usize) -> anyhow::Result<Row> {
    let bytes = std::fs::read(path)?;
    let size = bytes.len() as u64;
    let reel = Reel::from_source(std::sync::Arc::new(bytes), &Limits::default())?;
    let frames = reel.frame_count();
    let meshes = reel.description().meshes.len();
    let mut decoder = FrameDecoder::new(&reel)?;
    let (mut vertices, mut points, mut most) = (0, 0, 0);
    for frame in 0..frames {
        decoder.decode(frame)?;
        for mesh in (0..meshes).map(|m| decoder.mesh(m)) {
            vertices += mesh.vertex_count() as u64;
            points += u64::from(mesh.source_points());
            most = most.max(mesh.vertex_count());
        }
    }
    let mut out = Buffers::new(most);
    let [mut shown, mut decoded, mut positions, mut between] = [f64::INFINITY; 4];
    for _ in 0..repeat {
        decoded = decoded.min(timed(|| (0..frames).try_for_each(|f| decoder.decode(f)))?);
        shown = shown.min(timed(|| pass(&mut decoder, frames, &mut out, true))?);
        positions = positions.min(timed(|| pass(&mut decoder, frames, &mut out, false))?);
        between = between.min(midpoint_seconds(&reel, &mut out)?);
    }
    let each = |seconds: f64| 1e9 * seconds / vertices.max(1) as f64;
    Ok(Row {
        name: String::new(),
        preset: String::new(),
        bytes: size,
        vertices,
        frames,
        mb_per_s: 12e-6 * points as f64 / shown,
        shown: each(shown),
        decoded: each(decoded),
        positions: each(positions),
        between: each(between),
    })
}

fn timed(work: impl FnOnce() -> Result<(), meshreel::Error>) -> Result<f64, meshreel::Error> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Decodes and writes all frames.
pub fn pass(
    decoder: &mut FrameDecoder,
    frames: usize,
    out: &mut Buffers,
    directions: bool,
) -> Result<(), meshreel::Error> {
    for frame in 0..frames {
        decoder.decode(frame)?;
        for m in 0..decoder.reel().description().meshes.len() {
            let mesh = decoder.mesh(m);
            let count = mesh.vertex_count();
            mesh.positions_into(&mut out.positions[..3 * count])?;
            if directions && mesh.has_tangents() {
                mesh.directions_into(&mut out.normals[..3 * count], &mut out.tangents[..4 * count])?;
            } else if directions && mesh.has_normals() {
                mesh.normals_into(&mut out.normals[..3 * count])?;
            }
        }
        black_box(&mut *out);
    }
    Ok(())
}

/// Returns the seconds to write all meshes half-way between consecutive frames, which are decoded before.
fn midpoint_seconds(reel: &Reel, out: &mut Buffers) -> Result<f64, meshreel::Error> {
    let (mut first, mut second) = (FrameDecoder::new(reel)?, FrameDecoder::new(reel)?);
    let mut seconds = 0.0;
    for frame in 0..reel.frame_count() {
        first.decode(frame)?;
        second.decode((frame + 1).min(reel.frame_count() - 1))?;
        let view = FrameView::between(&first, &second, 0.5, Pace::default())?;
        seconds += timed(|| {
            for node in 0..reel.description().nodes.len() {
                let Some(mesh) = view.mesh(node) else { continue };
                let (count, view) = (mesh.vertex_count(), &reel.description().meshes[mesh.number()]);
                mesh.positions_into(&mut out.positions[..3 * count])?;
                let has = |semantic| view.streams.iter().any(|s| s.semantic == semantic);
                if has(meshreel::raw::record::Semantic::QTangent) {
                    mesh.directions_into(&mut out.normals[..3 * count], &mut out.tangents[..4 * count])?;
                } else if has(meshreel::raw::record::Semantic::Normal) {
                    mesh.normals_into(&mut out.normals[..3 * count])?;
                }
            }
            black_box(&mut *out);
            Ok(())
        })?;
    }
    Ok(seconds)
}

fn print_head() {
    println!(
        "{:<28} {:<6} {:>10} {:>10} | {:>7} {:>7} {:>8} | {:>8} {:>10} {:>8}",
        "asset", "preset", "bytes", "vertices", "M/s", "ns", "MB/s raw", "decoded", "+positions", "between"
    );
}

fn print_row(r: &Row) {
    println!(
        "{:<28} {:<6} {:>10} {:>10} | {:>7.1} {:>7.2} {:>8.0} | {:>8.2} {:>10.2} {:>8.2}",
        r.name,
        r.preset,
        r.bytes,
        r.vertices,
        1e3 / r.shown,
        r.shown,
        r.mb_per_s,
        r.decoded,
        r.positions,
        r.between
    );
}
