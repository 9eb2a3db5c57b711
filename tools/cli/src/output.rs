//! Prints results on stdout and everything else on stderr, one JSON object with `--json`.

use crate::cli::{Cli, OutputFlags};
use crate::units;
use clap::CommandFactory;
use meshreel_commands::text;
use meshreel_compile::advice::Advice;
use serde::Serialize;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub use meshreel_commands::failure::{Class, Failure, FailureJson, RemarkJson, remarks_json};
pub use meshreel_commands::text::{display_path, one_line, short_line};

/// The output of `--json` if a verb failed.
#[derive(Debug, Serialize)]
struct FailedJson {
    error: FailureJson,
}

/// Returns advice as lines under a heading; empty without advice.
pub fn advice_text(advice: &[Advice]) -> String {
    if advice.is_empty() {
        return String::new();
    }
    let lines = advice.iter().map(|a| format!("  {}\n", one_line(&a.line())));
    format!("advice\n{}", lines.collect::<String>())
}

/// Returns the length of a file: its frames, or, if it holds clips alone, theirs.
pub fn length_text(frames: usize, clip_samples: impl ExactSizeIterator<Item = usize>) -> String {
    match (frames, clip_samples.len()) {
        (0, 1) => format!("{} samples", units::count(clip_samples.sum::<usize>() as u64)),
        (0, clips @ 2..) => format!("{clips} clips"),
        _ => format!("{} frames", units::count(frames as u64)),
    }
}

/// Largest number of remarks printed one by one without `--verbose`.
const MAX_SHOWN_REMARKS: usize = 12;

/// The destination of results and messages.
#[derive(Clone, Copy, Default)]
pub struct Output {
    /// The user's output flags.
    pub flags: OutputFlags,
}

impl Output {
    /// Prints a result: the value with `--json`, else the text. `--quiet` drops the text if `may_be_quiet`.
    pub fn result(
        &self,
        value: &impl Serialize,
        may_be_quiet: bool,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let out = if self.flags.json {
            let line =
                serde_json::to_string(value).map_err(|e| Failure::new(Class::Defect, e.to_string(), None))?;
            text::escape_json(&line) + "\n"
        } else if self.flags.quiet && may_be_quiet {
            return Ok(());
        } else {
            let mut text = text();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text::escape_lines(&text)
        };
        print(&out)
    }

    /// Prints a line on stderr with `--verbose`.
    pub fn print_verbose(&self, text: &str) {
        if self.flags.verbose {
            print_error_line(text);
        }
    }

    /// Prints remarks on stderr, grouped if many nodes have the same.
    pub fn remarks(&self, remarks: &[meshreel_scene::Remark]) {
        if self.flags.quiet {
            return;
        }
        if self.flags.verbose {
            for remark in remarks {
                print_error_line(&format!("remark: {}", short_line(&remark.to_string())));
            }
            return;
        }
        let mut groups: Vec<(&meshreel_scene::Remark, usize)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for remark in remarks {
            let at = *known.entry(&remark.what).or_insert(groups.len());
            match groups.get_mut(at) {
                Some((_, count)) => *count += 1,
                None => groups.push((remark, 1)),
            }
        }
        for (remark, count) in groups.iter().take(MAX_SHOWN_REMARKS) {
            let more = match count {
                1 => String::new(),
                n => format!(" (and {} more nodes)", n - 1),
            };
            print_error_line(&format!("remark: {}{more}", short_line(&remark.to_string())));
        }
        if groups.len() > MAX_SHOWN_REMARKS {
            print_error_line(&format!(
                "remark: {} more kinds of remarks; --verbose prints all",
                groups.len() - MAX_SHOWN_REMARKS
            ));
        }
    }

    /// Prints a failure and returns the exit code.
    pub fn failure(&self, failure: &Failure) -> ExitCode {
        if self.flags.json {
            let _ = self.result(&FailedJson { error: failure.json() }, true, String::new);
        }
        print_error_line(&format!("error: {}", failure.line()));
        ExitCode::from(failure.exit_code())
    }
}

/// Prints a line on stderr; a closed stderr is no error.
pub fn print_error_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text::escape_lines(text));
}

/// Prints text on stdout. A closed pipe is no error: the reader has seen enough.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::io(Path::new("stdout"), &error))
        }
        _ => Ok(()),
    }
}

/// Returns aligned columns, separated by two blanks: the first and those whose header begins with `<` to the
/// left, others to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let left: Vec<bool> = (0..header.len()).map(|i| i == 0 || header[i].starts_with('<')).collect();
    let header: Vec<String> = header.iter().map(|text| text.trim_start_matches('<').to_string()).collect();
    let width = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = header.iter().map(|text| width(text)).collect();
    // A row of one cell spans all columns and widens none.
    for row in rows.iter().filter(|row| row.len() > 1) {
        for (slot, cell) in widths.iter_mut().zip(row) {
            *slot = (*slot).max(width(cell));
        }
    }
    let mut out = String::new();
    for cells in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (i, cell) in cells.iter().enumerate().take(header.len()) {
            let pad = " ".repeat(widths[i].saturating_sub(width(cell)));
            let gap = if i == 0 { "" } else { "  " };
            line.push_str(gap);
            match left[i] {
                true => line.extend([cell.as_str(), &pad]),
                false => line.extend([pad.as_str(), cell]),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Returns clap's error in one line.
pub fn usage_failure(error: &clap::Error) -> Failure {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let verbs: Vec<String> =
            (Cli::command().get_subcommands()).map(|verb| verb.get_name().to_string()).collect();
        return Failure::usage(format!("no verb: give one of {}; see --help", verbs.join(", ")));
    }
    let text = error.render().to_string();
    let mut parts: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if !line.is_empty() {
            parts.push(line);
        }
    }
    Failure::usage(format!("{}; see --help", parts.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let text = table(
            &["mesh", "bytes"],
            &[vec!["/a".into(), "7".into()], vec!["/long/näme".into(), "1 234".into()]],
        );
        assert_eq!(text, "mesh        bytes\n/a              7\n/long/näme  1 234\n");
    }
}
