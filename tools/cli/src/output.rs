//! What is printed, and what went wrong: results on stdout, everything else on stderr, one JSON object with
//! `--json`.

use crate::cli::{Cli, OutputFlags};
use clap::CommandFactory;
use meshreel_compile::advice::Advice;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Why a verb did not do its work.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which class, as the libraries have them.
    pub class: Class,
    /// One line: what is wrong and what to do.
    pub what: String,
    /// The file, or the node in it, where that is known.
    pub at: Option<String>,
    /// Remarks, where they are the reason.
    pub remarks: Vec<meshreel_scene::Remark>,
}

/// Classes of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Class {
    Io,
    Malformed,
    Unsupported,
    Limit,
    Usage,
    /// Remarks under `--strict`.
    Strict,
    /// A check did not hold.
    Check,
    /// A defect of this program.
    Defect,
}

impl Failure {
    /// A failure at a file or node.
    pub fn new(class: Class, what: impl Into<String>, at: Option<String>) -> Failure {
        Failure { class, what: what.into(), at, remarks: Vec::new() }
    }
    /// Wrong usage.
    pub fn usage(what: impl Into<String>) -> Failure {
        Failure::new(Class::Usage, what, None)
    }
    /// An I/O error at `path`.
    pub fn io(path: &Path, error: &std::io::Error) -> Failure {
        use std::io::ErrorKind;
        let advice = match error.kind() {
            ErrorKind::NotFound => " (check the name)",
            ErrorKind::PermissionDenied => " (check the permissions of the file and its folder)",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => " (free some space)",
            _ => "",
        };
        let what = format!("{error}{advice}");
        Failure::new(Class::Io, what, Some(path.display().to_string()))
    }
    /// The same failure, at `path` unless it already says where.
    pub fn or_at(mut self, path: &Path) -> Failure {
        let path = path.display().to_string();
        if self.at.is_none() && !self.what.contains(&path) {
            self.at = Some(path);
        }
        self
    }
    /// One line for people.
    pub fn line(&self) -> String {
        match &self.at {
            Some(at) => one_line(&format!("{at}: {}", self.what)),
            None => one_line(&self.what),
        }
    }
    /// The value under the key `error`.
    pub fn json(&self) -> FailureJson {
        FailureJson {
            class: self.class,
            what: one_line(&self.what),
            at: self.at.clone(),
            remarks: remarks_json(&self.remarks),
        }
    }
    /// 2 for wrong usage, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self.class {
            Class::Usage => 2,
            _ => 1,
        }
    }
}

impl From<meshreel_scene::Error> for Failure {
    fn from(error: meshreel_scene::Error) -> Failure {
        use meshreel_scene::Error;
        let line = error.to_string();
        match error {
            Error::Io { path, source } => Failure::io(&path, &source),
            Error::Malformed { path, what, at } => Failure::new(
                Class::Malformed,
                format!("damaged or not of its kind: {what}, at {at}"),
                Some(path.display().to_string()),
            ),
            Error::Unsupported { path, what } => Failure::new(
                Class::Unsupported,
                format!("not supported: {what}"),
                Some(path.display().to_string()),
            ),
            Error::Limit { path, .. } => {
                let at = path.display().to_string();
                let what = line.strip_prefix(&format!("{at}: ")).unwrap_or(&line);
                Failure::new(Class::Limit, what, Some(at))
            }
            Error::Misuse { what } => Failure::usage(what),
            _ => Failure::new(Class::Malformed, line, None),
        }
    }
}

impl From<meshreel::Error> for Failure {
    fn from(error: meshreel::Error) -> Failure {
        use meshreel::Error;
        let line = error.to_string();
        let (class, path) = match error {
            Error::Io { path, .. } => (Class::Io, path),
            Error::Malformed { path, .. } => (Class::Malformed, path),
            Error::Unsupported { path, .. } => (Class::Unsupported, path),
            Error::Limit { path, .. } => (Class::Limit, path),
            Error::Misuse { .. } => return Failure::usage(line),
            _ => return Failure::new(Class::Malformed, line, None),
        };
        let at = path.display().to_string();
        let what = line.strip_prefix(&format!("{at}: ")).unwrap_or(&line);
        Failure::new(class, what, Some(at))
    }
}

impl From<meshreel_options::Error> for Failure {
    fn from(error: meshreel_options::Error) -> Failure {
        Failure::usage(error.to_string())
    }
}

impl From<meshreel_inputs::Error> for Failure {
    fn from(error: meshreel_inputs::Error) -> Failure {
        use meshreel_inputs::Error;
        let line = error.to_string();
        match error {
            Error::Io { path, source } => Failure::io(&path, &source),
            Error::Unsupported { path, what } => {
                Failure::new(Class::Unsupported, what, Some(path.display().to_string()))
            }
            Error::Misuse { what } => Failure::usage(what),
            Error::Scene { path: Some(path), source } => Failure::from(source).or_at(&path),
            Error::Scene { path: None, source } => source.into(),
            _ => Failure::new(Class::Malformed, line, None),
        }
    }
}

impl From<meshreel_compile::Error> for Failure {
    fn from(error: meshreel_compile::Error) -> Failure {
        use meshreel_compile::Error;
        let line = error.to_string();
        match error {
            Error::Scene(error) => error.into(),
            Error::Format(error) => error.into(),
            Error::Unsupported { .. } => Failure::new(Class::Unsupported, line, None),
            Error::Limit { .. } => Failure::new(Class::Limit, line, None),
            Error::Strict { remarks } => Failure { remarks, ..Failure::new(Class::Strict, line, None) },
            Error::Promise { .. } => Failure::new(Class::Defect, line, None),
            Error::Refused { source, target } => match source.downcast::<meshreel::Error>() {
                // Larger than what players take, or the disk.
                Ok(error) if matches!(*error, meshreel::Error::Limit { .. } | meshreel::Error::Io { .. }) => {
                    Failure { at: Some(target.display().to_string()), ..Failure::from(*error) }
                }
                _ => Failure::new(Class::Defect, line, None),
            },
            Error::Misuse { .. } => Failure::usage(line),
            _ => Failure::new(Class::Defect, line, None),
        }
    }
}

/// A failure as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct FailureJson {
    class: Class,
    what: String,
    #[serde(rename = "where")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<RemarkJson>,
}

/// What `--json` prints where a verb did not do its work.
#[derive(Debug, Serialize)]
struct FailedJson {
    error: FailureJson,
}

/// A remark as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct RemarkJson {
    node: String,
    what: String,
}

/// Remarks as JSON.
pub fn remarks_json(remarks: &[meshreel_scene::Remark]) -> Vec<RemarkJson> {
    let one =
        |remark: &meshreel_scene::Remark| RemarkJson { node: remark.node.clone(), what: remark.what.clone() };
    remarks.iter().map(one).collect()
}

/// Advice as lines under a heading; nothing without any.
pub fn advice_text(advice: &[Advice]) -> String {
    if advice.is_empty() {
        return String::new();
    }
    let lines = advice.iter().map(|a| format!("  {}\n", one_line(&a.line())));
    format!("advice\n{}", lines.collect::<String>())
}

/// `text` with line breaks and other control characters replaced: names in files can hold anything.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Largest number of remarks printed one by one without `--verbose`.
const SHOWN_REMARKS: usize = 12;

/// Where results and messages go.
#[derive(Clone, Copy, Default)]
pub struct Output {
    /// What the user asked for.
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
            let mut line =
                serde_json::to_string(value).map_err(|e| Failure::new(Class::Defect, e.to_string(), None))?;
            line.push('\n');
            line
        } else if self.flags.quiet && may_be_quiet {
            return Ok(());
        } else {
            let mut text = text();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text
        };
        print(&out)
    }

    /// A line on stderr with `--verbose`.
    pub fn detail(&self, text: &str) {
        if self.flags.verbose {
            say(text);
        }
    }

    /// Remarks on stderr, grouped where many nodes have the same.
    pub fn remarks(&self, remarks: &[meshreel_scene::Remark]) {
        if self.flags.quiet {
            return;
        }
        if self.flags.verbose {
            for remark in remarks {
                say(&format!("remark: {}", one_line(&remark.to_string())));
            }
            return;
        }
        let mut groups: Vec<(&meshreel_scene::Remark, usize)> = Vec::new();
        for remark in remarks {
            match groups.iter_mut().find(|(first, _)| first.what == remark.what) {
                Some((_, count)) => *count += 1,
                None => groups.push((remark, 1)),
            }
        }
        for (remark, count) in groups.iter().take(SHOWN_REMARKS) {
            let more = match count {
                1 => String::new(),
                n => format!(" (and {} more nodes)", n - 1),
            };
            say(&format!("remark: {}{more}", one_line(&remark.to_string())));
        }
        if groups.len() > SHOWN_REMARKS {
            say(&format!(
                "remark: {} more kinds of remarks; --verbose prints all",
                groups.len() - SHOWN_REMARKS
            ));
        }
    }

    /// Prints what went wrong and gives the exit code.
    pub fn failure(&self, failure: &Failure) -> ExitCode {
        if self.flags.json {
            let _ = self.result(&FailedJson { error: failure.json() }, true, String::new);
        }
        say(&format!("error: {}", failure.line()));
        ExitCode::from(failure.exit_code())
    }
}

/// A line on stderr; nobody listening is no error.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Text on stdout. A closed pipe is no error: whoever reads has seen enough.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::io(Path::new("stdout"), &error))
        }
        _ => Ok(()),
    }
}

/// Aligned columns, two blanks between: the first and those whose header begins with `<` to the left, others
/// to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let left: Vec<bool> = (0..header.len()).map(|i| i == 0 || header[i].starts_with('<')).collect();
    let header: Vec<String> = header.iter().map(|text| text.trim_start_matches('<').to_string()).collect();
    let width = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = header.iter().map(|text| width(text)).collect();
    // A row of one cell runs across and widens no column.
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

/// The failure that clap found, in one line.
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

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(one_line("a\nb\u{1b}[31m"), "a b\\u{1b}[31m");
    }
}
