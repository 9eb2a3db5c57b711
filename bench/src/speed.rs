//! `compile-speed`: speed in MB of raw positions per second, and peak memory.

use crate::machine::{self, PeakMemory};
use anyhow::bail;
use clap::ValueEnum;
use meshreel_compile::{Silent, compile};
use meshreel_options::{BlockChoice, MethodChoice, Options, Tolerance};
use meshreel_read::ReadOptions;
use meshreel_scene::sample::ChannelSelection;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Any input that compiles.
    input: PathBuf,
    /// Point cache (PC2 or MDD) of an OBJ input.
    #[arg(long)]
    points: Option<PathBuf>,
    /// Channels to compile: positions, or everything.
    #[arg(long, value_enum, default_value_t = VertexChannel::Positions)]
    channels: VertexChannel,
    /// Block compression.
    #[arg(long, default_value_t = BlockChoice::Zstd)]
    block: BlockChoice,
    /// Method for all meshes.
    #[arg(long, default_value_t = MethodChoice::Auto)]
    method: MethodChoice,
    /// Promised error as a fraction of each mesh's size in any one frame.
    #[arg(long, default_value_t = 1e-4)]
    tolerance: f64,
    /// Effort spent on size, 1 to 9.
    #[arg(long, default_value_t = 5)]
    effort: u32,
    /// Target for working memory, in MB.
    #[arg(long, default_value_t = 256)]
    memory: u64,
    /// Threads; 0 = all.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Number of compiles; the fastest counts.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Append the results to bench/record/MACHINE/DATE.csv.
    #[arg(long)]
    record: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum VertexChannel {
    Positions,
    All,
}

const HEADER: &str =
    "bench,input,channels,block,effort,memory_mb,jobs,raw_mb,file_mb,seconds,mb_per_s,peak_anon_mb";

/// Returns `true` if the compile worked: there is no limit for speed.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let all = arguments.channels == VertexChannel::All;
    let options = Options {
        tolerance: Tolerance::Relative(arguments.tolerance),
        channels: ChannelSelection { normals: all, uvs: all, colours: all, attributes: all },
        method: arguments.method,
        block: arguments.block,
        effort: arguments.effort,
        memory: arguments.memory << 20,
        jobs: arguments.jobs,
        ..Options::default()
    };
    let read_options = ReadOptions { points: arguments.points.clone(), ..ReadOptions::default() };
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("speed.reel");
    let mut runs = Vec::new();
    let mut last = None;
    let memory = PeakMemory::start();
    for _ in 0..arguments.repeat.max(1) {
        // Opening counts, since a user waits for that, too.
        let start = Instant::now();
        let (scene, remarks) = meshreel_read::open(&arguments.input, &read_options)?;
        let report = compile(scene, remarks, &target, &options, &meshreel_check::reopen, &Silent)?;
        runs.push(start.elapsed().as_secs_f64());
        last = Some(report);
    }
    let peak = memory.finish();
    let Some(report) = last else {
        bail!("nothing was compiled");
    };
    let seconds = runs.iter().copied().fold(f64::INFINITY, f64::min);
    let values: usize = (report.meshes.iter()).map(|m| m.source_points * m.frames).sum();
    let raw = 12e-6 * values as f64;
    let file = 1e-6 * report.file_bytes as f64;
    let peak = peak.map(|bytes| 1e-6 * bytes as f64);
    let name = |v: Option<clap::builder::PossibleValue>| v.map(|v| v.get_name().to_owned());
    let channels = name(arguments.channels.to_possible_value()).unwrap_or_default();
    let block = arguments.block.name();
    let input = arguments.input.file_stem().unwrap_or_default().to_string_lossy();
    if arguments.json {
        let object = serde_json::json!({
            "machine": machine::name(), "input": input, "channels": channels, "block": block,
            "effort": arguments.effort, "raw_mb": raw, "file_mb": file, "seconds": seconds,
            "all_seconds": runs, "mb_per_s": raw / seconds, "peak_anon_mb": peak,
            "frames": report.frames, "raw_bytes": report.raw_bytes,
        });
        println!("{object}");
    } else {
        let total = 1e-6 * report.raw_bytes as f64;
        println!("{input}: {channels}, {block}, effort {}", arguments.effort);
        println!("  raw positions    {raw:10.2} MB   (with transforms {total:.2} MB)");
        println!("  file             {file:10.2} MB");
        println!("  time             {seconds:10.3} s    (best of {})", runs.len());
        println!("  speed            {:10.1} MB/s of raw positions", raw / seconds);
        match peak {
            Some(peak) => println!("  peak memory      {peak:10.1} MB anonymous"),
            None => println!("  peak memory      unknown on this system"),
        }
    }
    if arguments.record {
        let line = format!(
            "compile-speed,{input},{channels},{block},{},{},{},{raw:.2},{file:.3},{seconds:.3},{:.1},{:.1}",
            arguments.effort,
            arguments.memory,
            arguments.jobs,
            raw / seconds,
            peak.unwrap_or(f64::NAN)
        );
        let path = machine::record(HEADER, &[line])?;
        eprintln!("recorded in {}", path.display());
    }
    Ok(true)
}
