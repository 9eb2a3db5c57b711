//! `curves`: keys, memory and error of skeletal clips in codec `curve`, one row each, under the local rule
//! (after Riot) and under the guarantee. Memory is compared with 16 bytes per rotation and 12 per vector, of
//! the animated sub-tracks only.

use crate::clips::files;
use anyhow::Context;
use meshreel_codec::clip::curve::KnotSpacing;
use meshreel_compile::clip::{CurveOptions, CurveRule, compress_curves};
use meshreel_read::ReadOptions;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// BVH files, or folders of them.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Tolerance in centimetres.
    #[arg(long, default_value_t = 0.1)]
    tolerance: f64,
    /// Meaning of the tolerance: every sub-track by itself, or every point of the metric.
    #[arg(long, value_enum, default_value_t = Meaning::Local)]
    rule: Meaning,
    /// Under the local rule the tolerance shrinks up the hierarchy: 1, 1/2, 1/3.
    #[arg(long)]
    adaptive: bool,
    /// Spacing of knots.
    #[arg(long, value_enum, default_value_t = Spacing::Centripetal)]
    knots: Spacing,
    /// Store rotations in 32 bits.
    #[arg(long)]
    short: bool,
    /// Only insert keys, never move or leave out any.
    #[arg(long)]
    plain: bool,
    /// Only every N-th file.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Meaning {
    Local,
    Guaranteed,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Spacing {
    Uniform,
    Chordal,
    Centripetal,
}

struct Row {
    name: String,
    samples: usize,
    keys: usize,
    raw: usize,
    bytes: usize,
    error: f64,
    holds: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let options = CurveOptions {
        tolerance: arguments.tolerance,
        rule: match arguments.rule {
            Meaning::Guaranteed => CurveRule::Guaranteed,
            Meaning::Local => {
                CurveRule::Local { parts: [1.0; 3], adaptive: arguments.adaptive, pinned: Vec::new() }
            }
        },
        knots: match arguments.knots {
            Spacing::Uniform => KnotSpacing::Uniform,
            Spacing::Chordal => KnotSpacing::Chordal,
            Spacing::Centripetal => KnotSpacing::Centripetal,
        },
        short_rotations: arguments.short,
        insert_only: arguments.plain,
        ..CurveOptions::default()
    };
    let files = files(&arguments.inputs)?;
    let some: Vec<&PathBuf> = files.iter().step_by(arguments.every.max(1)).collect();
    let rows = some.iter().map(|file| -> anyhow::Result<Row> {
        let (scene, _) = meshreel_read::open(file, &ReadOptions::default())?;
        let clip = scene.clips.first().context("no clip")?;
        let done = compress_curves(&scene.skeletons[clip.skeleton], clip, &options)?;
        Ok(Row {
            name: file.file_stem().unwrap_or_default().to_string_lossy().into(),
            samples: done.samples,
            keys: done.keys,
            raw: done.raw_bytes,
            bytes: done.bytes.len(),
            error: done.max_error,
            holds: done.holds,
        })
    });
    let rows = rows.collect::<anyhow::Result<Vec<Row>>>()?;
    let sum = |of: fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
    let (samples, keys) = (sum(|r| r.samples), sum(|r| r.keys));
    let (raw, bytes) = (sum(|r| r.raw), sum(|r| r.bytes));
    let percent = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
    let held = rows.iter().filter(|r| r.holds).count();
    if arguments.json {
        let clips: Vec<_> = (rows.iter())
            .map(|r| {
                serde_json::json!({ "name": r.name, "samples": r.samples, "keys": r.keys, "raw_bytes": r.raw,
                    "bytes": r.bytes, "max_error": r.error, "holds": r.holds })
            })
            .collect();
        let all = serde_json::json!({ "samples": samples, "keys": keys, "raw_bytes": raw, "bytes": bytes,
            "memory_percent": percent(bytes, raw), "held": held, "clips": clips });
        println!("{all}");
        return Ok(true);
    }
    println!("clip                             samples    keys  kept    bytes   memory  error");
    for r in &rows {
        println!(
            "{:32} {:7} {:7} {:4.1}% {:8} {:6.1} % {:7.4}{}",
            r.name,
            r.samples,
            r.keys,
            percent(r.keys, r.samples),
            r.bytes,
            percent(r.bytes, r.raw),
            r.error,
            if r.holds { "" } else { "  not held: too few bits" },
        );
    }
    println!(
        "{} clips: {keys} of {samples} samples kept, {:.1} %; {bytes} bytes, {:.1} % of memory; {held} hold",
        rows.len(),
        percent(keys, samples),
        percent(bytes, raw)
    );
    Ok(true)
}
