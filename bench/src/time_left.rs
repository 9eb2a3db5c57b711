//! `time-left`: accuracy of the remaining time that a compile displays.

use crate::clips;
use meshreel_compile::{Phase, Progress, TimeLeft, compile};
use meshreel_options::{Options, Preset};
use meshreel_read::ReadOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// Inputs with meshes, or folders of them; NAME.obj is moved by NAME.pc2 beside it.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Effort spent on size, 1 to 9.
    #[arg(long, default_value_t = 5)]
    effort: u32,
    /// Preset of the compiler.
    #[arg(long, default_value = "small")]
    preset: Preset,
    /// Threads; 0 = all.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Also print the displayed times at 40 moments.
    #[arg(long)]
    curve: bool,
}

/// The part of a compile that is evaluated: before it nothing is known, after it nothing is left.
const EVALUATED_RANGE: std::ops::Range<f64> = 0.1..0.9;
/// A displayed time counts as right within this fraction of the actual one.
const ACCEPTED_ERROR: f64 = 0.3;
/// Shorter compiles, in seconds, have no bar that anybody reads.
const MIN_SECONDS: f64 = 20.0;
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// The state of the progress bar.
struct Bar(Mutex<(Option<Phase>, TimeLeft)>);

impl Bar {
    fn left(&self) -> (Option<Phase>, Option<f64>) {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (now.0, now.1.time_left().map(|left| left.as_secs_f64()))
    }
}

impl Progress for Bar {
    fn update(&self, phase: Phase, done: u64, total: u64) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 != Some(phase) {
            *now = (Some(phase), now.1.next_phase(phase, done));
        }
        now.1.report(done, total);
    }
}

/// The displayed time at a moment, in seconds.
struct DisplayedTime {
    seconds: f64,
    phase: Option<Phase>,
    left: Option<f64>,
}

/// Returns `true` if all compiled: the displayed time is only an estimate.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    println!(
        "time left, between {:.0} % and {:.0} % of a compile: part of it within {:.0} %, and shown ÷ left",
        100.0 * EVALUATED_RANGE.start,
        100.0 * EVALUATED_RANGE.end,
        100.0 * ACCEPTED_ERROR
    );
    println!(
        "{:<28}{:>9}{:>9}{:>9}{:>8}{:>8}  worst in",
        "", "seconds", "within", "unknown", "least", "most"
    );
    for path in clips::files_with_extensions(&arguments.inputs, &["abc", "obj", "glb", "gltf"])? {
        let (seconds, shown) = watched(&path, arguments)?;
        let inside: Vec<&DisplayedTime> =
            shown.iter().filter(|s| EVALUATED_RANGE.contains(&(s.seconds / seconds))).collect();
        let ratio = |s: &DisplayedTime| s.left.map(|left| left / (seconds - s.seconds));
        let known: Vec<(f64, Option<Phase>)> =
            inside.iter().filter_map(|s| ratio(s).map(|r| (r, s.phase))).collect();
        let near = known.iter().filter(|(r, _)| (r - 1.0).abs() <= ACCEPTED_ERROR).count();
        let part = |n: usize| 100.0 * n as f64 / inside.len().max(1) as f64;
        let (least, most) =
            known.iter().fold((f64::INFINITY, 0.0f64), |(l, m), &(r, _)| (l.min(r), m.max(r)));
        let far = |r: f64| r.ln().abs();
        let worst = known.iter().max_by(|a, b| far(a.0).total_cmp(&far(b.0))).and_then(|w| w.1);
        println!(
            "{:<28}{seconds:>9.1}{:>7.0} %{:>7.0} %{least:>8.2}{most:>8.2}  {}{}",
            path.file_name().unwrap_or_default().to_string_lossy(),
            part(near),
            part(inside.len() - known.len()),
            worst.map_or("-".into(), |phase| format!("{phase:?}").to_lowercase()),
            if seconds < MIN_SECONDS { " (short)" } else { "" }
        );
        if arguments.curve {
            let every = shown.len().div_ceil(40).max(1);
            for s in shown.iter().step_by(every) {
                let phase = s.phase.map_or("-".into(), |phase| format!("{phase:?}").to_lowercase());
                let left = s.left.map_or("-".into(), |left| format!("{left:.1}"));
                println!(
                    "    at {:>6.1} s {phase:<8} shown {left:>6} left {:>6.1}",
                    s.seconds,
                    seconds - s.seconds
                );
            }
        }
    }
    Ok(true)
}

/// Returns the seconds of a compile, and the times displayed meanwhile.
fn watched(path: &Path, arguments: &Arguments) -> anyhow::Result<(f64, Vec<DisplayedTime>)> {
    let cache = path.with_extension("pc2");
    let moved = path.extension().is_some_and(|e| e == "obj") && cache.exists();
    let read_options = ReadOptions { points: moved.then_some(cache), ..ReadOptions::default() };
    let Arguments { effort, preset, jobs, .. } = *arguments;
    let options = Options { effort, preset, jobs, ..Options::default() };
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("out.reel");
    let bar = Bar(Mutex::new((None, TimeLeft::counting())));
    let done = AtomicBool::new(false);
    let start = Instant::now();
    let (result, shown) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut shown = Vec::new();
            while !done.load(Relaxed) {
                let (phase, left) = bar.left();
                shown.push(DisplayedTime { seconds: start.elapsed().as_secs_f64(), phase, left });
                std::thread::sleep(SAMPLE_INTERVAL);
            }
            shown
        });
        let compiled = || -> anyhow::Result<()> {
            let (scene, remarks) = meshreel_read::open(path, &read_options)?;
            compile(scene, remarks, &target, &options, &meshreel_check::reopen, &bar)?;
            Ok(())
        };
        let result = compiled().map(|()| start.elapsed().as_secs_f64());
        done.store(true, Relaxed);
        (result, watcher.join().unwrap_or_default())
    });
    Ok((result?, shown))
}
