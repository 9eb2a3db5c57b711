//! `memory`: bytes per vertex that compiling, decoding and playing a sheet take, by its size. Each figure is
//! measured in a process of its own.

use crate::machine::{self, PeakMemory};
use crate::sheet::{Sheet, SheetShape};
use anyhow::{Context, bail};
use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_compile::{Silent, compile};
use meshreel_options::{Options, Preset};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Numbers of vertices, rounded to squares.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 50_000, 100_000, 500_000])]
    vertices: Vec<u32>,
    /// Number of frames.
    #[arg(long, default_value_t = 24)]
    frames: usize,
    /// Allowed memory of the compiler, in MB.
    #[arg(long, default_value_t = 64)]
    memory: u64,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Measure one step of one row, and print its bytes.
    #[arg(long, hide = true, num_args = 3, value_names = ["STEP", "SHAPE", "PRESET"])]
    step: Option<Vec<String>>,
    /// The file of that row.
    #[arg(long, hide = true, requires = "step")]
    file: Option<PathBuf>,
}

/// Figures in bytes per vertex.
#[derive(Serialize)]
struct Row {
    vertices: u32,
    shape: &'static str,
    preset: String,
    /// The file, per vertex and frame.
    file_bytes: f64,
    compile_bytes: f64,
    /// [`Reel::memory`] when the file is opened.
    decoder_bytes_said: f64,
    decoder_bytes: f64,
    /// The smallest heap of a player.
    heap_bytes: f64,
}

/// Returns `true` if everything could be measured.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    if let Some(step) = &arguments.step {
        println!("{}", serde_json::to_string(&measure(arguments, step)?)?);
        return Ok(true);
    }
    let mut rows = Vec::new();
    for &vertices in &arguments.vertices {
        for shape in SheetShape::ALL {
            for preset in [Preset::Small, Preset::Fast] {
                rows.push(row(arguments, vertices, shape, preset)?);
                if !arguments.json {
                    print(rows.len() == 1, &rows[rows.len() - 1], arguments);
                }
            }
        }
    }
    if arguments.json {
        println!("{}", serde_json::json!({ "machine": machine::name(), "rows": rows }));
    }
    Ok(true)
}

fn print(first: bool, row: &Row, arguments: &Arguments) {
    if first {
        println!("{}, {} frames, --memory {}MB", machine::name(), arguments.frames, arguments.memory);
        println!("bytes per vertex          file/frame  compile  decoder: said  taken  player's heap");
    }
    println!(
        "{:>9} {:<10} {:<5} {:>9.2} {:>8.0} {:>14.0} {:>6.0} {:>14.0}",
        row.vertices,
        row.shape,
        row.preset,
        row.file_bytes,
        row.compile_bytes,
        row.decoder_bytes_said,
        row.decoder_bytes,
        row.heap_bytes
    );
}

fn row(arguments: &Arguments, vertices: u32, shape: SheetShape, preset: Preset) -> anyhow::Result<Row> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sheet.reel");
    let preset = preset.to_string();
    let step = |name: &str| -> anyhow::Result<Vec<u64>> {
        let done = Command::new(std::env::current_exe()?)
            .args(["memory", "--vertices", &vertices.to_string(), "--frames", &arguments.frames.to_string()])
            .args(["--memory", &arguments.memory.to_string(), "--file"])
            .arg(&file)
            .args(["--step", name, shape.name(), &preset])
            .output()?;
        if !done.status.success() {
            bail!("{name} of {vertices} vertices: {}", String::from_utf8_lossy(&done.stderr));
        }
        serde_json::from_slice(&done.stdout).context("the bytes of a step")
    };
    let (compiled, decoded) = (step("compile")?, step("decode")?);
    let count = Sheet::new(vertices, arguments.frames, shape).vertices();
    let each = |bytes: u64| bytes as f64 / f64::from(count);
    Ok(Row {
        vertices: count,
        shape: shape.name(),
        preset,
        file_bytes: each(std::fs::metadata(&file)?.len()) / arguments.frames.max(1) as f64,
        compile_bytes: each(compiled[0]),
        decoder_bytes_said: each(decoded[0]),
        decoder_bytes: each(decoded[1]),
        heap_bytes: each(decoded[2]),
    })
}

/// Returns the bytes of a step.
fn measure(arguments: &Arguments, step: &[String]) -> anyhow::Result<Vec<u64>> {
    let [step, shape, preset] = step else { bail!("a step, a shape and a preset") };
    let file = arguments.file.as_deref().context("the file of a step")?;
    match step.as_str() {
        "compile" => {
            let shape = SheetShape::ALL.into_iter().find(|known| known.name() == shape);
            let shape = shape.context("a shape of sheets")?;
            let preset = preset.parse::<Preset>().map_err(anyhow::Error::msg)?;
            let count = *arguments.vertices.first().context("a number of vertices")?;
            let options = Options { preset, memory: arguments.memory << 20, ..Options::default() };
            let scene = Sheet::new(count, arguments.frames, shape).scene();
            let (before, peak) = (now()?, PeakMemory::start());
            compile(scene, Vec::new(), file, &options, &meshreel_check::reopen, &Silent)?;
            Ok(vec![peak.finish().unwrap_or(0).saturating_sub(before)])
        }
        "decode" => decode(file),
        _ => bail!("unknown step {step}"),
    }
}

/// Returns the bytes that a decoder is said to take, those that it takes, and the smallest heap of a player.
fn decode(file: &Path) -> anyhow::Result<Vec<u64>> {
    let limits = Limits::default().with_max_memory(1 << 40);
    let reel = Reel::open(file, &limits)?;
    let said = reel.memory();
    let heap = meshreel::Options::default().least_heap(&reel, 1);
    let vertices = reel.description().meshes.iter().map(|mesh| mesh.vertices as usize).max().unwrap_or(0);
    // Touched, so that they are resident before.
    let (mut normals, mut tangents) = (vec![1.0; 3 * vertices], vec![1.0; 4 * vertices]);
    let (before, peak) = (now()?, PeakMemory::start());
    let mut decoder = FrameDecoder::new(&reel)?;
    for frame in 0..reel.frame_count() {
        decoder.decode(frame)?;
        let mesh = decoder.mesh(0);
        match mesh.has_tangents() {
            true => mesh.directions_into(&mut normals, &mut tangents)?,
            false => mesh.normals_into(&mut normals)?,
        }
    }
    Ok(vec![said, peak.finish().unwrap_or(0).saturating_sub(before), heap])
}

fn now() -> anyhow::Result<u64> {
    machine::anonymous_now().context("memory can only be measured on Linux")
}
