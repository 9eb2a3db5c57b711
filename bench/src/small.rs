//! `small`: the cost of a small mesh in a scene of very many: bytes in the file, memory while it is open, and
//! nanoseconds per frame; and the memory for compiling and extracting. The meshes are triangles that bend.

use crate::machine::{self, PeakMemory};
use crate::sheet::add_mesh;
use anyhow::Context;
use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_compile::{Silent, compile};
use meshreel_options::Preset;
use meshreel_scene::{Channel, Scene, TimeSampling};
use serde::Serialize;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of meshes.
    #[arg(long, default_value_t = 1000)]
    count: usize,
    /// Number of frames.
    #[arg(long, default_value_t = 48)]
    frames: usize,
    /// Number of triangles of each mesh.
    #[arg(long, default_value_t = 1)]
    triangles: usize,
    /// Allowed memory of the compiler, in MB.
    #[arg(long, default_value_t = 2048)]
    memory: u64,
    /// Keep small.abc and small.reel in this folder; an existing small.reel is read.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    meshes: usize,
    frames: usize,
    triangles: usize,
    /// Bytes of the file per mesh.
    file_bytes: f64,
    /// Size by [`Reel::memory`] in bytes, per mesh.
    memory_bytes: f64,
    /// Increase of the anonymous memory when the file is open and all frames were decoded once, in bytes per
    /// mesh.
    resident_bytes: Option<f64>,
    /// Nanoseconds of decoding per mesh and frame.
    decode_ns: f64,
    write_ns: f64,
    /// Peak of the anonymous memory in MB; `None` if the file already existed.
    compile_mb: Option<f64>,
    compile_seconds: Option<f64>,
    extract_mb: Option<f64>,
    extract_seconds: f64,
}

/// Returns `true` if everything decodes.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let row = measure(arguments)?;
    if arguments.json {
        println!("{}", serde_json::json!({ "machine": machine::name(), "row": row }));
        return Ok(true);
    }
    println!("{}", machine::name());
    println!(
        "{} meshes of {} triangles, {} frames\n\
         per mesh        {:.1} bytes in the file, {:.0} bytes of memory (resident {})\n\
         mesh and frame  {:.0} ns to decode, {:.0} ns to write positions\n\
         compile         {} MB, {} s\n\
         extract         {} MB, {:.1} s",
        row.meshes,
        row.triangles,
        row.frames,
        row.file_bytes,
        row.memory_bytes,
        number(row.resident_bytes),
        row.decode_ns,
        row.write_ns,
        number(row.compile_mb),
        number(row.compile_seconds),
        number(row.extract_mb),
        row.extract_seconds,
    );
    Ok(true)
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{v:.0}"))
}

fn measure(arguments: &Arguments) -> anyhow::Result<Row> {
    let temporary = tempfile::tempdir()?;
    let folder = arguments.folder.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let target = folder.join("small.reel");
    let (mut compile_mb, mut compile_seconds) = (None, None);
    if !target.exists() {
        let scene = scene(arguments.count, arguments.frames, arguments.triangles);
        if arguments.folder.is_some() {
            meshreel_write::alembic::write(&folder.join("small.abc"), &scene, &mut |_, _| {})?;
        }
        let options = meshreel_options::Options {
            preset: Preset::Small,
            memory: arguments.memory << 20,
            ..Default::default()
        };
        let (peak, start) = (PeakMemory::start(), Instant::now());
        compile(scene, Vec::new(), &target, &options, &meshreel_check::reopen, &Silent)?;
        compile_seconds = Some(start.elapsed().as_secs_f64());
        compile_mb = megabytes(peak);
    }
    let before = machine::anonymous_now();
    let reel = Reel::open(&target, &Limits::default())?;
    let mut decoder = FrameDecoder::new(&reel)?;
    let (meshes, frames) = (reel.description().meshes.len(), reel.frame_count());
    let mut times = [f64::INFINITY; 2];
    for _ in 0..3 {
        let mut own = [0.0; 2];
        for frame in 0..frames {
            let start = Instant::now();
            decoder.decode(frame)?;
            own[0] += start.elapsed().as_secs_f64();
            let start = Instant::now();
            for mesh in 0..meshes {
                let view = decoder.mesh(mesh);
                let mut out = [0.0; 3 * 64];
                let count = 3 * view.vertex_count();
                if let Some(out) = out.get_mut(..count) {
                    view.positions_into(out)?;
                }
                black_box(&mut out);
            }
            own[1] += start.elapsed().as_secs_f64();
        }
        times = [times[0].min(own[0]), times[1].min(own[1])];
    }
    let after = machine::anonymous_now();
    let memory_bytes = reel.memory() as f64;
    drop(decoder);
    let (peak, start) = (PeakMemory::start(), Instant::now());
    let made = meshreel_extract::to_scene(&reel)?;
    meshreel_write::alembic::write(&folder.join("back.abc"), &made, &mut |_, _| {})?;
    let extract_seconds = start.elapsed().as_secs_f64();
    let _ = std::fs::remove_file(folder.join("back.abc"));
    let each = meshes.max(1) as f64;
    let samples = each * frames.max(1) as f64;
    Ok(Row {
        meshes,
        frames,
        triangles: arguments.triangles,
        file_bytes: reel.file_bytes() as f64 / each,
        memory_bytes: memory_bytes / each,
        resident_bytes: before.zip(after).map(|(b, a)| a.saturating_sub(b) as f64 / each),
        decode_ns: times[0] * 1e9 / samples,
        write_ns: times[1] * 1e9 / samples,
        compile_mb,
        compile_seconds,
        extract_mb: megabytes(peak),
        extract_seconds,
    })
}

fn megabytes(peak: PeakMemory) -> Option<f64> {
    peak.finish().map(|bytes| bytes as f64 / f64::from(1 << 20))
}

/// Strips of triangles in a square, each waving in its own way.
fn scene(count: usize, frames: usize, triangles: usize) -> Scene {
    let mut scene = Scene::default();
    let rate = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    let side = (count as f64).sqrt().ceil().max(1.0) as usize;
    for i in 0..count {
        let at = [(i % side) as f32 * 3.0, (i / side) as f32 * 3.0];
        let point = move |frame: usize, v: usize| {
            let phase = i as f32 * 0.37 + v as f32 * 1.3;
            let wave = (frame as f32 * 0.21 + phase).sin();
            let (x, y) = ((v / 2) as f32 * 0.5, (v % 2) as f32);
            [at[0] + x, at[1] + y + 0.1 * wave, 0.4 * wave]
        };
        let points = |frame| (0..triangles + 2).map(|v| point(frame, v)).collect();
        let corners = (0..triangles as i32).flat_map(|t| match t % 2 {
            0 => [t, t + 1, t + 2],
            _ => [t + 1, t, t + 2],
        });
        let path = format!("/piece_{i:05}");
        let positions = Channel::in_memory(rate.clone(), (0..frames).map(points).collect());
        add_mesh(&mut scene, path, positions, corners.collect());
    }
    scene
}
