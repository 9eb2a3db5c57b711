//! `sequences`: bits per vertex and frame, compared with the table of published results.

use crate::baselines::{Baselines, SequenceBaseline};
use crate::{compare, machine};
use anyhow::{Context, bail};
use meshreel::{FrameKind, Limits, Reel};
use meshreel_compile::{Silent, compile};
use meshreel_options::{BlockChoice, MethodChoice, Options, Preset};
use meshreel_read::ReadOptions;
use meshreel_scene::sample::ChannelSelection;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders that hold the sequences as NAME.obj and NAME.pc2.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Only these sequences.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Presets: classic (with deflate and zstd), small, fast; if not given, all.
    #[arg(long, value_delimiter = ',')]
    preset: Vec<String>,
    /// Tolerances as fractions of the diagonal of the whole sequence.
    #[arg(long, value_delimiter = ',', default_value = "1e-3,1e-4")]
    tolerance: Vec<String>,
    /// Method of all meshes.
    #[arg(long, default_value_t = MethodChoice::Soft)]
    method: MethodChoice,
    /// Effort spent on size, 1 to 9.
    #[arg(long, default_value_t = 9)]
    effort: u32,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Append the results to bench/record/MACHINE/DATE.csv.
    #[arg(long)]
    record: bool,
}

/// One line of the table.
#[derive(Serialize)]
struct Row {
    sequence: String,
    tolerance: String,
    block: &'static str,
    /// Bits per vertex and frame that positions need.
    bpvf: f64,
    /// Bits per vertex and frame of the whole file without its source map: with connectivity, names and
    /// tables.
    file_bpvf: f64,
    /// Bits per vertex of an index frame, and of a B-frame.
    index_bits: f64,
    between_bits: f64,
    baseline_name: String,
    baseline: f64,
    /// Largest error divided by the diagonal.
    max_error: f64,
    megabytes_per_second: f64,
    ok: bool,
}

const HEADER: &str = "bench,sequence,tolerance,block,effort,bpvf,file_bpvf,baseline,max_error,mb_per_s";

/// Name of a row, preset, block compression.
const CONFIGURATIONS: [(&str, Preset, BlockChoice); 4] = [
    ("deflate", Preset::Classic, BlockChoice::Deflate),
    ("zstd", Preset::Classic, BlockChoice::Zstd),
    ("small", Preset::Small, BlockChoice::Zstd),
    ("fast", Preset::Fast, BlockChoice::Zstd),
];

/// Nothing but positions.
const POSITIONS: ChannelSelection =
    ChannelSelection { normals: false, uvs: false, colours: false, attributes: false };

/// Returns `false` if a size or an error exceeds its limit, or no sequence was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let table = Baselines::read()?;
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    let wanted = |s: &&SequenceBaseline| arguments.only.is_empty() || arguments.only.contains(&s.name);
    for sequence in table.sequence.iter().filter(wanted) {
        let Some(folder) = arguments.folders.iter().find(|f| {
            let there = |ending| f.join(format!("{}.{ending}", sequence.file())).is_file();
            there("obj") && there("pc2")
        }) else {
            missing.push(sequence.name.clone());
            continue;
        };
        for tolerance in &arguments.tolerance {
            let value: f64 = tolerance.parse().context("a tolerance is no number")?;
            for (block, preset, format) in CONFIGURATIONS {
                let all = arguments.preset.is_empty();
                if !(all || arguments.preset.iter().any(|p| p == preset.name())) {
                    continue;
                }
                let options = Options {
                    channels: POSITIONS,
                    method: arguments.method,
                    effort: arguments.effort,
                    preset,
                    block: format,
                    ..Options::default()
                };
                let path = folder.join(format!("{}.obj", sequence.file()));
                let mut row = measure(sequence, path, value, options)
                    .with_context(|| format!("{} at {tolerance} with {block}", sequence.name))?;
                let baseline = sequence.baseline(block, tolerance);
                // At other tolerances there is no baseline.
                row.baseline = baseline.unwrap_or(f64::INFINITY);
                row.baseline_name = table.rows.get(block).cloned().unwrap_or_default();
                row.ok = row.bpvf < row.baseline && row.max_error <= value;
                (row.tolerance, row.block) = (tolerance.clone(), block);
                if !arguments.json {
                    if rows.is_empty() {
                        print_head();
                    }
                    print_row(&row);
                }
                rows.push(row);
            }
        }
    }
    if !arguments.json && !rows.is_empty() {
        print_peers(&table, &rows);
    }
    for name in &missing {
        eprintln!("{name}: no {name} sequence in the folders given, left out");
    }
    if arguments.json {
        println!("{}", serde_json::json!({ "machine": machine::name(), "rows": rows }));
    }
    if arguments.record {
        let line = |r: &Row| {
            format!(
                "sequences,{},{},{},{},{:.4},{:.4},{},{:.4e},{:.1}",
                r.sequence,
                r.tolerance,
                r.block,
                arguments.effort,
                r.bpvf,
                r.file_bpvf,
                r.baseline,
                r.max_error,
                r.megabytes_per_second
            )
        };
        let path = machine::record(HEADER, &rows.iter().map(line).collect::<Vec<_>>())?;
        eprintln!("recorded in {}", path.display());
    }
    if rows.is_empty() {
        bail!("none of the sequences was found");
    }
    Ok(rows.iter().all(|r| r.ok))
}

fn measure(
    sequence: &SequenceBaseline,
    obj: PathBuf,
    tolerance: f64,
    options: Options,
) -> anyhow::Result<Row> {
    let read_options = ReadOptions { points: Some(obj.with_extension("pc2")), ..ReadOptions::default() };
    let (scene, remarks) = meshreel_read::open(&obj, &read_options)?;
    let options = compare::with_relative_tolerance(options, &scene, tolerance)?;
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("sequence.reel");
    let start = Instant::now();
    let report = compile(scene.clone(), remarks, &target, &options, &meshreel_check::reopen, &Silent)?;
    let seconds = start.elapsed().as_secs_f64();
    let [mesh] = &report.meshes[..] else {
        bail!("{} meshes instead of one", report.meshes.len());
    };
    if (mesh.source_points, report.frames) != (sequence.vertices, sequence.frames) {
        bail!(
            "{} points × {} frames, but the table's figures are of {} × {}",
            mesh.source_points,
            report.frames,
            sequence.vertices,
            sequence.frames
        );
    }
    let values = (sequence.vertices * sequence.frames) as f64;
    let errors = compare::compare(&scene, &target)?;
    let reel = Reel::open(&target, &Limits::default())?;
    let bits = |kind: FrameKind| {
        let frames = (0..reel.frame_count()).filter(|&f| reel.frame_kind(f) == kind);
        let bytes: u64 = frames.clone().map(|f| u64::from(reel.frame_chunk(f).size)).sum();
        8.0 * bytes as f64 / (sequence.vertices * frames.count().max(1)) as f64
    };
    Ok(Row {
        sequence: sequence.name.clone(),
        tolerance: String::new(),
        block: "",
        bpvf: 8.0 * mesh.position_bytes as f64 / values,
        file_bpvf: 8.0 * (report.file_bytes - report.source_map_bytes) as f64 / values,
        index_bits: bits(FrameKind::Index),
        between_bits: bits(FrameKind::Predicted),
        baseline_name: String::new(),
        baseline: 0.0,
        max_error: errors.max / errors.diagonal,
        megabytes_per_second: 12e-6 * values / seconds,
        ok: false,
    })
}

/// Prints all other systems, and this one below: bits per vertex and frame at 1e-3 / 1e-4 by sequence, and
/// MB/s at 1e-4.
fn print_peers(table: &Baselines, rows: &[Row]) {
    let cell = |coarse: Option<f64>, fine: Option<f64>| {
        let number = |n: Option<f64>| n.map_or("–".to_string(), |n| format!("{n:.3}"));
        format!("{:>15}", format!("{} / {}", number(coarse), number(fine)))
    };
    let line = |name: &str, cells: Vec<String>, encode: &str, decode: &str| {
        println!("{name:<42}{} {encode:>12} {decode:>13}", cells.concat());
    };
    let names = table.sequence.iter().map(|s| format!("{:>15}", s.name));
    println!();
    line("bits at 1e-3 / 1e-4, MB/s at 1e-4", names.collect(), "encode", "decode");
    for p in &table.peer {
        let cells = p.coarse.iter().zip(p.fine);
        let cells = cells.map(|(&a, b)| cell(Some(a), Some(b))).collect();
        line(&p.name, cells, &p.encode, &p.decode);
    }
    for (block, _, _) in CONFIGURATIONS {
        let find = |name: &str, tolerance: &str| {
            let of = |r: &&Row| r.block == block && r.sequence == name && r.tolerance == tolerance;
            rows.iter().find(of)
        };
        let bits = |s: &SequenceBaseline, tolerance| find(&s.name, tolerance).map(|r| r.bpvf);
        let cells = table.sequence.iter();
        let cells = cells.map(|s| cell(bits(s, "1e-3"), bits(s, "1e-4"))).collect();
        let speeds = table.sequence.iter();
        let speeds: Vec<f64> =
            speeds.filter_map(|s| Some(find(&s.name, "1e-4")?.megabytes_per_second)).collect();
        if rows.iter().any(|r| r.block == block) {
            let least = speeds.iter().fold(f64::INFINITY, |a, &b| a.min(b));
            let most = speeds.iter().fold(0.0f64, |a, &b| a.max(b));
            let encode = format!("{least:.0}-{most:.0} all");
            line(&format!("ours: {block}"), cells, &encode, "`soft`");
        }
    }
}

fn print_head() {
    println!(
        "{:<9} {:>5} {:<8} {:>7} {:>7} {:>7} {:>7} {:>9} {:>7} {:>9} {:>7}",
        "sequence",
        "eps",
        "block",
        "bpvf",
        "file",
        "index",
        "between",
        "baseline",
        "of it",
        "max err",
        "MB/s"
    );
}

fn print_row(row: &Row) {
    println!(
        "{:<9} {:>5} {:<8} {:>7.3} {:>7.3} {:>7.2} {:>7.2} {:>9.2} {:>6.1}% {:>9.2e} {:>7.1}{}",
        row.sequence,
        row.tolerance,
        row.block,
        row.bpvf,
        row.file_bpvf,
        row.index_bits,
        row.between_bits,
        row.baseline,
        100.0 * row.bpvf / row.baseline,
        row.max_error,
        row.megabytes_per_second,
        if row.ok { "" } else { "   NOT MET" }
    );
}
