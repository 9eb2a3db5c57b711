//! Progress on stderr: phase, frames, time left. Invisible with `--quiet`, `--json` or without a terminal.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use meshreel_compile::Phase;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// One bar that goes through phases.
pub struct Progress {
    bar: ProgressBar,
    phase: Mutex<Current>,
    output: Output,
}

/// The phase that is shown.
struct Current {
    name: String,
    since: Instant,
}

impl Progress {
    /// A bar for the work named `what`, such as a file name.
    pub fn new(output: Output, what: &str) -> Progress {
        let hidden = output.flags.quiet || output.flags.json;
        let bar = ProgressBar::with_draw_target(
            Some(0),
            match hidden {
                true => ProgressDrawTarget::hidden(),
                false => ProgressDrawTarget::stderr(),
            },
        );
        if let Ok(style) = ProgressStyle::with_template(
            "{prefix} {msg:<8} {wide_bar:.cyan/dim} {pos}/{len} frames, {eta} left",
        ) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.set_prefix(what.to_string());
        Progress {
            bar,
            phase: Mutex::new(Current {
                name: String::new(),
                since: Instant::now(),
            }),
            output,
        }
    }

    /// `done` of `total` of the phase called `name`. A lower `done` than before is ignored: threads report out of order.
    pub fn step(&self, name: &str, done: u64, total: u64) {
        let mut phase = self.phase.lock().unwrap_or_else(|e| e.into_inner());
        if phase.name != name {
            self.finish_phase(&phase);
            phase.name = name.to_string();
            phase.since = Instant::now();
            self.bar.set_length(total);
            self.bar.set_message(name.to_string());
            self.bar.set_position(0);
            self.bar.reset_eta();
            if !self.bar.is_hidden() {
                self.bar.enable_steady_tick(Duration::from_millis(200));
            }
        }
        if done > self.bar.position() {
            self.bar.set_position(done);
        }
    }

    /// Prints with `--verbose` how long the phase took.
    fn finish_phase(&self, phase: &Current) {
        if self.output.flags.verbose && !phase.name.is_empty() {
            let line = format!(
                "{}: {} {:.2} s",
                self.bar.prefix(),
                phase.name,
                phase.since.elapsed().as_secs_f64()
            );
            self.bar.suspend(|| crate::output::say(&line));
        }
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
    fn update(&self, phase: Phase, done: u64, total: u64) {
        let name = match phase {
            Phase::Analyse => "analyse",
            Phase::Encode => "encode",
        };
        self.step(name, done, total);
    }
}
