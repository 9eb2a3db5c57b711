//! Failures in one line, with a class: the errors of all libraries as the command line and Python report
//! them.

use crate::text::short_line;
use serde::Serialize;
use std::io::ErrorKind;
use std::path::Path;

/// The reason for which a command failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The class of the error.
    pub class: Class,
    /// The problem and its remedy, in one line.
    pub what: String,
    /// The file, or the node in it, if known.
    pub at: Option<String>,
    /// The remarks that are the reason, if they are.
    pub remarks: Vec<meshreel_scene::Remark>,
    /// The kind of the system's error, if that is the reason.
    pub io: Option<ErrorKind>,
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
    /// The work was cancelled by its caller.
    Cancelled,
    /// A defect of this program.
    Defect,
}

impl Failure {
    /// Creates a failure at a file or node.
    pub fn new(class: Class, what: impl Into<String>, at: Option<String>) -> Failure {
        Failure { class, what: what.into(), at, remarks: Vec::new(), io: None }
    }
    /// Creates a failure for wrong usage.
    pub fn usage(what: impl Into<String>) -> Failure {
        Failure::new(Class::Usage, what, None)
    }
    /// Creates a failure for an I/O error at `path`.
    pub fn io(path: &Path, error: &std::io::Error) -> Failure {
        let advice = match error.kind() {
            ErrorKind::NotFound => " (check the name)",
            ErrorKind::PermissionDenied => " (check the permissions of the file and its folder)",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => " (free some space)",
            _ => "",
        };
        let what = format!("{error}{advice}");
        let at = Some(path.display().to_string());
        Failure { io: Some(error.kind()), ..Failure::new(Class::Io, what, at) }
    }
    /// Sets the place to `path` unless it is known.
    pub fn or_at(mut self, path: &Path) -> Failure {
        let path = path.display().to_string();
        if self.at.is_none() && !self.what.contains(&path) {
            self.at = Some(path);
        }
        self
    }
    /// Adds the remarks of the input's reader if nothing was found in it: they may give the reason.
    pub fn with_reader_remarks(mut self, remarks: Vec<meshreel_scene::Remark>) -> Failure {
        if self.class == Class::Unsupported && self.remarks.is_empty() {
            self.remarks = remarks;
        }
        self
    }
    /// Returns the failure as one line for people.
    pub fn line(&self) -> String {
        match &self.at {
            Some(at) => format!("{}: {}", short_line(at), short_line(&self.what)),
            None => short_line(&self.what),
        }
    }
    /// Returns the value of the JSON key `error`.
    pub fn json(&self) -> FailureJson {
        FailureJson {
            class: self.class,
            what: short_line(&self.what),
            at: self.at.clone(),
            remarks: remarks_json(&self.remarks),
        }
    }
    /// Returns the exit code: 2 for wrong usage, 1 for everything else.
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
        let mut io = None;
        let (class, path) = match error {
            Error::Io { path, source, .. } => {
                io = Some(source.kind());
                (Class::Io, path)
            }
            Error::Malformed { path, .. } => (Class::Malformed, path),
            Error::Unsupported { path, .. } => (Class::Unsupported, path),
            Error::Limit { path, .. } => (Class::Limit, path),
            Error::Misuse { .. } => return Failure::usage(line),
            _ => return Failure::new(Class::Malformed, line, None),
        };
        let at = path.display().to_string();
        let what = line.strip_prefix(&format!("{at}: ")).unwrap_or(&line);
        Failure { io, ..Failure::new(class, what, Some(at)) }
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
            Error::Malformed { .. } => Failure::new(Class::Malformed, line, None),
            Error::Limit { .. } => Failure::new(Class::Limit, line, None),
            Error::Strict { remarks } => Failure { remarks, ..Failure::new(Class::Strict, line, None) },
            Error::Promise { .. } => Failure::new(Class::Defect, line, None),
            Error::Refused { source, target } => match source.downcast::<meshreel::Error>() {
                // The file exceeds the limits of players, or writing it failed.
                Ok(error) if matches!(*error, meshreel::Error::Limit { .. } | meshreel::Error::Io { .. }) => {
                    Failure { at: Some(target.display().to_string()), ..Failure::from(*error) }
                }
                _ => Failure::new(Class::Defect, line, None),
            },
            Error::Misuse { .. } => Failure::usage(line),
            Error::Cancelled => Failure::new(Class::Cancelled, line, None),
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

/// A remark as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct RemarkJson {
    node: String,
    what: String,
}

/// Converts remarks to JSON.
pub fn remarks_json(remarks: &[meshreel_scene::Remark]) -> Vec<RemarkJson> {
    let one =
        |remark: &meshreel_scene::Remark| RemarkJson { node: remark.node.clone(), what: remark.what.clone() };
    remarks.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut() {
        let long = format!("a{}: mend it", "\u{e9}".repeat(10_000));
        let failure = Failure::new(Class::Malformed, long.as_str(), Some(long.clone()));
        let line = failure.line();
        assert!(line.chars().count() < 1000, "{line}");
        assert!(line.starts_with('a') && line.ends_with(": mend it") && line.contains("..."), "{line}");
        assert!(failure.json().what.len() < 1000);
    }
}
