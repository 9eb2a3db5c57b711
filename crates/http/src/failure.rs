//! The reason for which a request failed, in a form that several waiting threads can be given, and that
//! contains neither credentials nor queries.

use meshreel::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// The kinds of failures, by what another attempt would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureClass {
    /// Another attempt may succeed.
    Temporary(ErrorKind),
    /// Another attempt would fail in the same way.
    Final(ErrorKind),
    /// The server does something that this crate does not accept.
    Unsupported,
    /// The file needs more memory than the options allow.
    Limit { asked: u64, allowed: u64 },
    /// Nobody waits for the result any more.
    Cancelled,
}

/// A failed request.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub class: FailureClass,
    pub what: String,
    /// The time after which the server wants to be asked again.
    pub retry_after: Option<Duration>,
}

impl Failure {
    pub fn new(class: FailureClass, what: impl Into<String>) -> Failure {
        Failure { class, what: what.into(), retry_after: None }
    }

    pub fn temporary(kind: ErrorKind, what: impl Into<String>) -> Failure {
        Failure::new(FailureClass::Temporary(kind), what)
    }

    /// A failure that another attempt would repeat.
    pub fn permanent(kind: ErrorKind, what: impl Into<String>) -> Failure {
        Failure::new(FailureClass::Final(kind), what)
    }

    pub fn unsupported(what: impl Into<String>) -> Failure {
        Failure::new(FailureClass::Unsupported, what)
    }

    /// The answer breaks the rules of HTTP or contradicts what was asked for.
    pub fn wrong_answer(what: impl Into<String>) -> Failure {
        Failure::temporary(ErrorKind::InvalidData, what)
    }

    pub fn cancelled() -> Failure {
        Failure::new(FailureClass::Cancelled, "it is no longer wanted")
    }

    pub fn is_temporary(&self) -> bool {
        matches!(self.class, FailureClass::Temporary(_))
    }

    pub fn is_cancelled(&self) -> bool {
        self.class == FailureClass::Cancelled
    }

    /// Returns it as the error of a read.
    pub fn to_io(&self) -> io::Error {
        let (kind, what) = match self.class {
            FailureClass::Temporary(kind) | FailureClass::Final(kind) => (kind, self.what.clone()),
            FailureClass::Unsupported => (ErrorKind::Unsupported, self.what.clone()),
            FailureClass::Limit { asked, allowed } => {
                (ErrorKind::Unsupported, format!("{}: {asked} asked, {allowed} allowed", self.what))
            }
            FailureClass::Cancelled => (ErrorKind::Interrupted, self.what.clone()),
        };
        io::Error::new(kind, what)
    }

    /// Returns it as an error for the file `name`.
    pub fn to_error(&self, name: &str) -> Error {
        let path = name.as_ref();
        match self.class {
            FailureClass::Unsupported => Error::unsupported(path, self.what.clone()),
            FailureClass::Limit { asked, allowed } => Error::limit(path, self.what.clone(), asked, allowed),
            _ => Error::Io { path: path.into(), what: "could not be read".into(), source: self.to_io() },
        }
    }
}
