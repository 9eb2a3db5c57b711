//! `decode`: speed of one core, in MB of raw positions per second, from compressed bytes in memory to
//! quantized values; the share of each stage; and, for comparison, memory copies and plain block
//! decompression.

use crate::stages::{Row, measure};
use crate::{compare, machine};
use anyhow::Context;
use meshreel_codec::simd::isa::Isa;
use meshreel_compile::{Silent, compile};
use meshreel_options::{BlockChoice, MethodChoice, Options, Preset};
use meshreel_read::ReadOptions;
use meshreel_scene::sample::ChannelSelection;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Files: .reel as they are; .obj, with a .pc2 of the same name beside them, are compiled first.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Block compressions for an .obj.
    #[arg(long, value_delimiter = ',', default_values_t = [BlockChoice::Store, BlockChoice::Lz4hc, BlockChoice::Zstd])]
    block: Vec<BlockChoice>,
    /// Promised error as a fraction of the diagonal of the whole sequence, for an .obj.
    #[arg(long, default_value_t = 1e-4)]
    tolerance: f64,
    /// Effort spent on size, 1 to 9, for an .obj.
    #[arg(long, default_value_t = Options::default().effort)]
    effort: u32,
    /// Number of decodes; the fastest counts.
    #[arg(long, default_value_t = 40)]
    repeat: usize,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Append the results to bench/record/MACHINE/DATE.csv.
    #[arg(long)]
    record: bool,
}

const HEADER: &str = "bench,name,block,bits,decode_mb_per_s,block_stage,residual_stage,spatial_stage,motion_stage,plain,of_plain,dequantize,memcpy";

/// Returns `true` if everything decoded as the player does: there is no limit for speed.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    let mut rows = Vec::new();
    if !arguments.json {
        println!("{:?}, {}", Isa::get(), machine::name());
        print_head();
    }
    for file in &arguments.files {
        let is_reel = file.extension().is_some_and(|e| e == "reel");
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let blocks = if is_reel { &[BlockChoice::Store][..] } else { &arguments.block[..] };
        for block in blocks {
            let compiled = folder.path().join("decode.reel");
            let path = if is_reel {
                file
            } else {
                make(file, &compiled, *block, arguments)?;
                &compiled
            };
            let mut row = measure(path, arguments.repeat.max(1))
                .with_context(|| format!("decoding {}", file.display()))?;
            row.name = name.to_string();
            row.block = if is_reel { "file".into() } else { block.to_string() };
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
                "decode,{},{},{:.3},{:.0},{:.0},{:.0},{:.0},{:.0},{:.0},{:.3},{:.0},{:.0}",
                r.name,
                r.block,
                r.bits,
                r.decode,
                r.block_stage,
                r.residual_stage,
                r.spatial_stage,
                r.motion_stage,
                r.plain,
                r.of_plain,
                r.dequantize,
                r.memcpy
            )
        };
        let path = machine::record(HEADER, &rows.iter().map(line).collect::<Vec<_>>())?;
        eprintln!("recorded in {}", path.display());
    }
    Ok(true)
}

fn make(obj: &Path, target: &Path, block: BlockChoice, arguments: &Arguments) -> anyhow::Result<()> {
    let options = Options {
        channels: ChannelSelection { normals: false, uvs: false, colours: false, attributes: false },
        method: MethodChoice::Soft,
        effort: arguments.effort,
        block,
        preset: Preset::Classic,
        ..Options::default()
    };
    let read_options = ReadOptions { points: Some(obj.with_extension("pc2")), ..ReadOptions::default() };
    let (scene, remarks) = meshreel_read::open(obj, &read_options)?;
    let options = compare::with_relative_tolerance(options, &scene, arguments.tolerance)?;
    compile(scene, remarks, target, &options, &meshreel_check::reopen, &Silent)?;
    Ok(())
}

fn print_head() {
    println!(
        "{:<9} {:<7} {:>6} {:>7} | {:>7} {:>8} {:>7} {:>7} | {:>7} {:>5} | {:>8} {:>7} | layouts",
        "sequence",
        "block",
        "bits",
        "decode",
        "block",
        "residual",
        "spatial",
        "motion",
        "plain",
        "of it",
        "to f32",
        "memcpy"
    );
}

fn print_row(r: &Row) {
    println!(
        "{:<9} {:<7} {:>6.2} {:>7.0} | {:>7.0} {:>8.0} {:>7.0} {:>7.0} | {:>7.0} {:>5.2} | {:>8.0} {:>7.0} | {:?} spatial {:.2}",
        r.name,
        r.block,
        r.bits,
        r.decode,
        r.block_stage,
        r.residual_stage,
        r.spatial_stage,
        r.motion_stage,
        r.plain,
        r.of_plain,
        r.dequantize,
        r.memcpy,
        r.layouts,
        r.spatial_share
    );
}
