//! Errors as the Python exceptions of `meshreel.errors`, one for each class.

use meshreel_commands::failure::{Class, Failure};
use pyo3::prelude::*;
use std::io::ErrorKind;

/// The exception classes, which are defined in Python.
mod classes {
    use pyo3::import_exception;
    import_exception!(meshreel.errors, Error);
    import_exception!(meshreel.errors, IoError);
    import_exception!(meshreel.errors, MalformedError);
    import_exception!(meshreel.errors, UnsupportedError);
    import_exception!(meshreel.errors, LimitError);
    import_exception!(meshreel.errors, MisuseError);
    import_exception!(meshreel.errors, Cancelled);
}

/// Converts a failure to the exception of its class.
pub fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    let line = failure.line();
    let error = match failure.class {
        Class::Io => classes::IoError::new_err(line),
        Class::Malformed => classes::MalformedError::new_err(line),
        Class::Unsupported => classes::UnsupportedError::new_err(line),
        Class::Limit => classes::LimitError::new_err(line),
        Class::Usage => classes::MisuseError::new_err(line),
        Class::Cancelled => classes::Cancelled::new_err(line),
        Class::Strict | Class::Check | Class::Defect => classes::Error::new_err(line),
    };
    match set_attributes(py, error.value(py), failure) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Sets `remarks` and `path`; for an I/O error also the attributes of an OSError: `filename`, `strerror`, and
/// `errno` if it is known.
fn set_attributes(py: Python<'_>, error: &Bound<'_, PyAny>, failure: &Failure) -> PyResult<()> {
    let remarks: Vec<(&str, &str)> = failure.remarks.iter().map(|r| (&r.node[..], &r.what[..])).collect();
    error.setattr("remarks", remarks)?;
    error.setattr("path", failure.at.as_deref())?;
    if failure.class == Class::Io {
        error.setattr("filename", failure.at.as_deref())?;
        error.setattr("strerror", &failure.what)?;
        if let Some(name) = failure.io.and_then(errno_name) {
            error.setattr("errno", py.import("errno")?.getattr(name)?)?;
        }
    }
    Ok(())
}

/// Returns the name of the constant in Python's module `errno` for a kind of I/O error, if it is known.
fn errno_name(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::AlreadyExists => "EEXIST",
        ErrorKind::NotADirectory => "ENOTDIR",
        ErrorKind::IsADirectory => "EISDIR",
        ErrorKind::DirectoryNotEmpty => "ENOTEMPTY",
        ErrorKind::ReadOnlyFilesystem => "EROFS",
        ErrorKind::StorageFull => "ENOSPC",
        ErrorKind::InvalidFilename => "ENAMETOOLONG",
        _ => return None,
    })
}

/// Converts an error of the runtime to an exception.
pub fn from_runtime(py: Python<'_>, error: meshreel::Error) -> PyErr {
    exception(py, &Failure::from(error))
}

/// Returns the exception for a wrong call.
pub fn misuse(py: Python<'_>, what: impl Into<String>) -> PyErr {
    exception(py, &Failure::usage(what))
}
