//! `frames`: speed of one core, in GB/s, from a file on disk to positions, whatever the methods of its
//! meshes: frame after frame through the player's decoder, with the share of writing positions. For moving
//! nodes, nanoseconds of decoding per transform.

use crate::machine;
use anyhow::Context;
use meshreel::raw::record::Method;
use meshreel::{FrameDecoder, Limits, Reel};
use serde::Serialize;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// .reel files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Passes over each file; for each frame, the fastest counts.
    #[arg(long, default_value_t = 20)]
    repeat: usize,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Gigabytes of f32 positions per second.
#[derive(Serialize)]
struct Row {
    name: String,
    methods: String,
    megabytes: f64,
    /// From the file to decoded frames.
    decode: f64,
    /// From decoded frames to f32 positions of every vertex.
    write: f64,
    /// Both, one after the other.
    both: f64,
    /// A copy of as many bytes.
    memcpy: f64,
    /// Nanoseconds of decoding per moving node and frame, if there are any; the whole frame counts.
    transform: Option<f64>,
}

/// Returns `true` if everything decodes: there is no limit for speed.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let rows = (arguments.files.iter())
        .map(|file| {
            measure(file, arguments.repeat.max(1)).with_context(|| format!("decoding {}", file.display()))
        })
        .collect::<anyhow::Result<Vec<Row>>>()?;
    if arguments.json {
        println!("{}", serde_json::json!({ "machine": machine::name(), "rows": rows }));
        return Ok(true);
    }
    println!("{}, GB/s of f32 positions", machine::name());
    let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(0).max(4);
    println!(
        "{:<width$} {:<16} {:>8} | {:>6} {:>6} {:>6} | {:>6} | {:>12}",
        "file", "methods", "MB", "decode", "write", "both", "memcpy", "ns/transform"
    );
    for r in &rows {
        println!(
            "{:<width$} {:<16} {:>8.1} | {:>6.2} {:>6.2} {:>6.2} | {:>6.1} | {:>12}",
            r.name,
            r.methods,
            r.megabytes,
            r.decode,
            r.write,
            r.both,
            r.memcpy,
            r.transform.map_or(String::new(), |ns| format!("{ns:.1}"))
        );
    }
    Ok(true)
}

fn measure(path: &Path, repeat: usize) -> anyhow::Result<Row> {
    let reel = Reel::open(path, &Limits::default())?;
    let mut decoder = FrameDecoder::new(&reel)?;
    let meshes = &reel.description().meshes;
    let count = meshes.iter().map(|m| m.vertices as usize).max();
    let mut out = vec![0f32; 3 * count.unwrap_or(0)];
    let mut from = out.clone();
    let frames = reel.frame_count();
    // The fastest time of each frame counts, since a frame is decoded together with others of its unit.
    let mut fastest = vec![[f64::INFINITY; 3]; frames];
    let mut vertices = 0;
    for _ in 0..repeat {
        vertices = 0;
        for (frame, fastest) in fastest.iter_mut().enumerate() {
            let start = Instant::now();
            decoder.decode(frame)?;
            let decoded = Instant::now();
            for mesh in 0..meshes.len() {
                let view = decoder.mesh(mesh);
                view.positions_into(&mut out[..3 * view.vertex_count()])?;
                black_box(&mut out);
            }
            let written = Instant::now();
            for mesh in 0..meshes.len() {
                let own = 3 * decoder.mesh(mesh).vertex_count();
                out[..own].copy_from_slice(&from[..own]);
                black_box((&mut out, &mut from));
                vertices += own / 3;
            }
            let copied = Instant::now();
            let times = [decoded - start, written - decoded, copied - written];
            for (fastest, time) in fastest.iter_mut().zip(times) {
                *fastest = fastest.min(time.as_secs_f64());
            }
        }
    }
    let sum = |k: usize| fastest.iter().map(|f| f[k]).sum::<f64>();
    let rate = |seconds: f64| vertices as f64 * 12e-9 / seconds;
    let mut methods: Vec<String> = (meshes.iter())
        .filter(|m| m.method != Method::Static)
        .map(|m| format!("{:?}", m.method).to_lowercase())
        .collect();
    methods.sort();
    methods.dedup();
    let moving = reel.moving_nodes()?.map(|nodes| nodes.count * frames).filter(|count| *count > 0);
    Ok(Row {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        methods: methods.join(", "),
        megabytes: vertices as f64 * 12e-6,
        decode: rate(sum(0)),
        write: rate(sum(1)),
        both: rate(sum(0) + sum(1)),
        memcpy: rate(sum(2)),
        transform: moving.map(|count| sum(0) * 1e9 / count as f64),
    })
}
