//! `compiles`: processor time and output size of one compiler, or of several in turn, for a list of inputs.

use crate::clips;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Inputs with meshes, or folders of them; NAME.obj is moved by NAME.pc2 beside it.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// The compiler; by default the one beside this program. If several are given they run in turn, and the
    /// others are compared with the first.
    #[arg(long)]
    meshreel: Vec<PathBuf>,
    /// Number of compiles with each; the fastest counts.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Arguments of `meshreel compile`, as one text.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    options: String,
}

/// The cost of a compile.
#[derive(Clone, Copy)]
struct CompileCost {
    seconds: f64,
    bytes: u64,
    /// Size of the raw positions of the source.
    raw: f64,
}

/// Returns `true` if all compiled: there is no limit for speed.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let beside = std::env::current_exe()?.with_file_name("meshreel");
    let programs = match &arguments.meshreel[..] {
        [] => vec![beside],
        named => named.to_vec(),
    };
    println!(
        "compile --jobs 1 {}: seconds of one core, the least of {}",
        arguments.options, arguments.repeat
    );
    let mut sums = vec![(0.0, 0); programs.len()];
    for path in clips::files_with_extensions(&arguments.inputs, &["abc", "obj", "glb", "gltf"])? {
        let mut least: Vec<Option<CompileCost>> = vec![None; programs.len()];
        for _ in 0..arguments.repeat.max(1) {
            for (program, least) in programs.iter().zip(&mut least) {
                let taken = compile(program, &path, &arguments.options)?;
                *least = Some(match *least {
                    Some(before) if before.seconds <= taken.seconds => before,
                    _ => taken,
                });
            }
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut line = format!("{name:<32}");
        let first = least[0];
        for (taken, sum) in least.iter().flatten().zip(&mut sums) {
            (sum.0, sum.1) = (sum.0 + taken.seconds, sum.1 + taken.bytes);
            line += &format!(
                "{:>9.2} s {:>7.1} MB/s {:>10}",
                taken.seconds,
                taken.raw / taken.seconds,
                taken.bytes
            );
        }
        for taken in least.iter().skip(1).flatten() {
            line += &compared(first.map(|t| (t.seconds, t.bytes)), (taken.seconds, taken.bytes));
        }
        println!("{line}");
    }
    let mut line = format!("{:<32}", "sum");
    for (seconds, bytes) in &sums {
        line += &format!("{seconds:>9.2} s {:>12} {bytes:>10}", "");
    }
    for &sum in sums.iter().skip(1) {
        line += &compared(sums.first().copied(), sum);
    }
    println!("{line}");
    Ok(true)
}

/// Returns how much faster and larger than the first one.
fn compared(first: Option<(f64, u64)>, (seconds, bytes): (f64, u64)) -> String {
    let (before, size) = first.unwrap_or((seconds, bytes));
    format!("{:>7.2} × {:>+7.2} %", before / seconds, 100.0 * (bytes as f64 / size as f64 - 1.0))
}

fn compile(program: &Path, input: &Path, options: &str) -> anyhow::Result<CompileCost> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command
        .arg("compile")
        .args(["--json", "--jobs", "1", "-o"])
        .arg(folder.path().join("out.reel"))
        .arg(input);
    let cache = input.with_extension("pc2");
    if input.extension().is_some_and(|e| e == "obj") && cache.exists() {
        command.arg("--points").arg(cache);
    }
    command.args(options.split_whitespace());
    let before = seconds_of_children()?;
    let done = command.output().with_context(|| format!("running {}", program.display()))?;
    let seconds = seconds_of_children()? - before;
    if !done.status.success() {
        bail!("{}: {}", input.display(), String::from_utf8_lossy(&done.stderr));
    }
    let report: serde_json::Value = serde_json::from_slice(&done.stdout)?;
    let number = |name: &str| report[name].as_u64().with_context(|| format!("no {name} in the report"));
    Ok(CompileCost {
        seconds: seconds.max(0.01),
        bytes: number("file_bytes")?,
        raw: 1e-6 * number("raw_bytes")? as f64,
    })
}

/// Returns the processor time in seconds of all child processes so far; /proc has it in hundredths.
fn seconds_of_children() -> anyhow::Result<f64> {
    let line = std::fs::read_to_string("/proc/self/stat").context("this system does not tell")?;
    let fields = line.rsplit(')').next().unwrap_or_default();
    let user = fields.split_whitespace().nth(13).and_then(|field| field.parse::<f64>().ok());
    user.map(|hundredths| 0.01 * hundredths).context("this system does not tell")
}
