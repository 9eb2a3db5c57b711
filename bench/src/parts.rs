//! `parts`: the bytes of compiled files by part: what is stored once, by kind, and frames.

use crate::clips;
use anyhow::{Context, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Inputs, or folders of them; NAME.obj is moved by NAME.pc2 beside it.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Only the smallest files, this many; inputs that do not compile are left out.
    #[arg(long)]
    smallest: Option<usize>,
    /// The program; by default the one beside this one.
    #[arg(long)]
    meshreel: Option<PathBuf>,
    /// Arguments of `meshreel compile`, as one text.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    options: String,
}

/// Parts of a file, in the order of [`Row::parts`].
const PARTS: [&str; 10] = [
    "description",
    "tables",
    "triangles",
    "positions",
    "normals",
    "uvs",
    "other values",
    "source map",
    "frames",
    "clips, rigs",
];
const ENDINGS: [&str; 9] = ["abc", "obj", "glb", "gltf", "fbx", "usd", "usda", "usdc", "usdz"];

/// The bytes of a file.
struct Row {
    name: String,
    bytes: u64,
    parts: [u64; PARTS.len()],
}

/// Returns `true` if all compiled, or only the smallest are wanted.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let beside = std::env::current_exe()?.with_file_name("meshreel");
    let program = arguments.meshreel.as_ref().unwrap_or(&beside);
    let mut rows = Vec::new();
    for path in clips::files_with_extensions(&arguments.inputs, &ENDINGS)? {
        match (row(program, &path, &arguments.options), arguments.smallest) {
            (Ok(row), _) => rows.push(row),
            (Err(_), Some(_)) => {}
            (Err(error), None) => return Err(error),
        }
    }
    if let Some(count) = arguments.smallest {
        rows.sort_by_key(|row| row.bytes);
        rows.truncate(count);
    }
    print!("{:<28} {:>9}", "bytes", "file");
    println!("{}", PARTS.map(|part| format!("{part:>14}")).concat());
    for row in &rows {
        print!("{:<28} {:>9}", row.name, row.bytes);
        println!("{}", row.parts.map(|bytes| format!("{bytes:>14}")).concat());
    }
    Ok(true)
}

fn row(program: &Path, input: &Path, options: &str) -> anyhow::Result<Row> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("out.reel");
    let mut compile = Command::new(program);
    compile.args(["compile", "--quiet", "-o"]).arg(&file).arg(input).args(options.split_whitespace());
    let cache = input.with_extension("pc2");
    if input.extension().is_some_and(|e| e == "obj") && cache.exists() {
        compile.arg("--points").arg(cache);
    }
    output(&mut compile)?;
    let info = output(Command::new(program).args(["info", "--json", "--streams"]).arg(&file))?;
    let info: Value = serde_json::from_slice(&info)?;
    let section = |name: &str| info["bytes"][name].as_u64().unwrap_or(0);
    let [mut positions, mut normals, mut uvs] = [0; 3];
    let streams = info["meshes"].as_array().into_iter().flatten().filter_map(|m| m["streams"].as_array());
    for stream in streams.flatten() {
        let bytes = stream["static_bytes"].as_u64().unwrap_or(0);
        match stream["what"].as_str().unwrap_or_default() {
            "positions" => positions += bytes,
            "uvs" => uvs += bytes,
            what if what.starts_with("normals") || what.starts_with("tangent") => normals += bytes,
            _ => {}
        }
    }
    Ok(Row {
        name: input.file_name().unwrap_or_default().to_string_lossy().into(),
        bytes: info["file_bytes"].as_u64().context("no size of the file")?,
        parts: [
            section("description"),
            section("tables"),
            section("connectivity"),
            positions,
            normals,
            uvs,
            section("values").saturating_sub(positions + normals + uvs),
            section("source_map"),
            section("frames") + section("attributes"),
            section("clips") + section("rigs") + section("levels") + section("hidden") + section("numbers"),
        ],
    })
}

fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let done = command.output().with_context(|| format!("running {}", command.get_program().display()))?;
    if !done.status.success() {
        // The program's own message, of which this program prints the beginning again.
        let message = String::from_utf8_lossy(&done.stderr);
        bail!("{}", message.trim().trim_start_matches("error: "));
    }
    Ok(done.stdout)
}
