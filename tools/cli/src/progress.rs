//! Prints progress on stderr: phase, frames, time left. Hidden with `--quiet`, `--json` or without a
//! terminal.

use crate::output::Output;
use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use meshreel_compile::{Phase, TimeLeft};
use meshreel_scene::Remark;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One bar for all phases of a task.
pub struct Progress {
    bar: ProgressBar,
    phase: Mutex<CurrentPhase>,
    output: Output,
}

/// Progress over many files: a bar that counts them, below the bar of the current file.
pub struct FileProgress {
    bars: MultiProgress,
    bar: ProgressBar,
    begun: AtomicU64,
    output: Output,
}

/// The current phase.
struct CurrentPhase {
    name: String,
    since: Instant,
    /// Total of the phase; 0 while it is unknown.
    total: u64,
    left: TimeLeft,
}

/// Bar templates for a phase of unknown length, and for one that counts things.
const SPINNER_TEMPLATE: &str = "{prefix} {msg} {spinner} {elapsed}";
const COUNT_TEMPLATE: &str = "{prefix} {msg} {wide_bar:.cyan/dim} {pos}/{len}, {left} left";
/// Template for a phase that counts work instead of things.
const PERCENT_TEMPLATE: &str = "{prefix} {msg} {wide_bar:.cyan/dim} {percent} %, {left} left";

const FILES_TEMPLATE: &str = "{prefix} {wide_bar:.cyan/dim} {pos}/{len}, {elapsed}, {eta} left";

/// The search for methods, settings, parts and bones.
const SEARCH: &str = "search";

fn target(output: Output) -> ProgressDrawTarget {
    match output.flags.quiet || output.flags.json {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸─")
}

impl Progress {
    /// Returns a bar for the task named `what`, such as a file name.
    pub fn new(output: Output, what: &str) -> Progress {
        Progress::with_bar(ProgressBar::with_draw_target(Some(0), target(output)), output, what)
    }

    fn with_bar(bar: ProgressBar, output: Output, what: &str) -> Progress {
        bar.set_prefix(crate::output::one_line(what));
        Progress {
            bar,
            phase: Mutex::new(CurrentPhase {
                name: String::new(),
                since: Instant::now(),
                total: 0,
                left: TimeLeft::counting(),
            }),
            output,
        }
    }

    /// Starts a phase of unknown length.
    pub fn start_phase(&self, name: &str) {
        self.step(name, 0, 0);
    }

    /// Sets the phase called `name` to `done` of `total`. A lower `done` than before is ignored: threads
    /// report out of order.
    pub fn step(&self, name: &str, done: u64, total: u64) {
        self.step_phase(name, None, done, total);
    }

    /// Like [`Progress::step`], with the compiler's phase if it is one.
    fn step_phase(&self, name: &str, of_compile: Option<Phase>, done: u64, total: u64) {
        let mut phase = self.phase.lock().unwrap_or_else(|e| e.into_inner());
        if phase.name != name {
            self.finish_phase(&phase);
            phase.name = name.to_string();
            phase.since = Instant::now();
            phase.total = 0;
            phase.left = match of_compile {
                Some(next) => phase.left.next_phase(next, done),
                None => TimeLeft::counting(),
            };
            self.bar.set_position(0);
            self.bar.set_message(name.to_string());
            self.bar.set_style(style(SPINNER_TEMPLATE));
        }
        if phase.total != total {
            phase.total = total;
            let counting = if name == SEARCH { PERCENT_TEMPLATE } else { COUNT_TEMPLATE };
            let left = phase.left.clone();
            let shown = style(counting).with_key("left", move |_: &ProgressState, out: &mut dyn Write| {
                let _ = match left.time_left() {
                    None => write!(out, "?"),
                    Some(left) => write!(out, "{:#}", HumanDuration(left)),
                };
            });
            self.bar.set_style(shown);
            self.bar.set_length(total);
        }
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
        if done > self.bar.position() {
            self.bar.set_position(done);
        }
        phase.left.report(done, total);
    }

    /// Prints with `--verbose` how long the phase took.
    fn finish_phase(&self, phase: &CurrentPhase) {
        if self.output.flags.verbose && !phase.name.is_empty() {
            let line =
                format!("{}: {} {:.2} s", self.bar.prefix(), phase.name, phase.since.elapsed().as_secs_f64());
            self.bar.suspend(|| crate::output::print_error_line(&line));
        }
    }
}

impl FileProgress {
    /// Returns a bar for this number of files.
    pub fn new(output: Output, count: usize) -> FileProgress {
        let bars = MultiProgress::with_draw_target(target(output));
        let bar = bars.add(ProgressBar::new(count as u64).with_style(style(FILES_TEMPLATE)));
        bar.set_prefix("files");
        bar.tick();
        FileProgress { bars, bar, begun: AtomicU64::new(0), output }
    }

    /// Starts the next file, and ends those before it.
    pub fn next_file(&self, what: &str) -> Progress {
        self.bar.set_position(self.begun.fetch_add(1, Ordering::Relaxed));
        let own = self.bars.insert(0, ProgressBar::new(0));
        Progress::with_bar(own, self.output, what)
    }

    /// Prints a line on stderr, above the bars.
    pub fn print_line(&self, line: &str) {
        self.bars.suspend(|| crate::output::print_error_line(line));
    }
}

impl Drop for FileProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Ok(phase) = self.phase.lock() {
            self.finish_phase(&phase);
        }
        self.bar.finish_and_clear();
    }
}

impl meshreel_compile::Progress for Progress {
    fn announce(&self, remark: &Remark) -> bool {
        let shows = !self.output.flags.json;
        if shows && !self.output.flags.quiet {
            self.bar.suspend(|| crate::output::print_error_line(&format!("remark: {remark}")));
        }
        shows
    }

    fn trying(&self, what: &str) {
        let phase = self.phase.lock().unwrap_or_else(|e| e.into_inner());
        if phase.name == SEARCH {
            self.bar.set_message(format!("{SEARCH}: {what}"));
        }
    }

    fn update(&self, phase: Phase, done: u64, total: u64) {
        let name = match phase {
            Phase::Analyse => "analyse",
            Phase::Search => SEARCH,
            Phase::Encode => "encode frames",
            Phase::Inspect => "verify",
        };
        self.step_phase(name, Some(phase), done, total);
    }
}
