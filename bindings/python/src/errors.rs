//! Errors as Python exceptions, one for each class.

use meshreel_commands::failure::{Class, Failure};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};

create_exception!(
    meshreel,
    Error,
    PyException,
    "What meshreel raises: an error of one of the classes below, remarks under strict=True, or a defect.\n\n\
     Attributes: path, the file or the node in it, where known, else None; remarks, pairs of a node and what is\n\
     remarkable about it, where these are the reason."
);
create_exception!(meshreel, IoError, Error, "The system could not read or write a file.");
create_exception!(meshreel, MalformedError, Error, "A file is damaged, or not of its kind.");
create_exception!(meshreel, UnsupportedError, Error, "Valid, but something that this version does not do.");
create_exception!(meshreel, LimitError, Error, "More than the limits allow.");
create_exception!(
    meshreel,
    MisuseError,
    Error,
    "The call is wrong, not the file; the message says what to do."
);
create_exception!(meshreel, Cancelled, Error, "A progress callback returned False; no file was written.");

/// Adds the exceptions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", Error::type_object(py))?;
    module.add("IoError", IoError::type_object(py))?;
    module.add("MalformedError", MalformedError::type_object(py))?;
    module.add("UnsupportedError", UnsupportedError::type_object(py))?;
    module.add("LimitError", LimitError::type_object(py))?;
    module.add("MisuseError", MisuseError::type_object(py))?;
    module.add("Cancelled", Cancelled::type_object(py))
}

/// Converts a failure to the exception of its class.
pub fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    let line = failure.line();
    let error = match failure.class {
        Class::Io => IoError::new_err(line),
        Class::Malformed => MalformedError::new_err(line),
        Class::Unsupported => UnsupportedError::new_err(line),
        Class::Limit => LimitError::new_err(line),
        Class::Usage => MisuseError::new_err(line),
        Class::Cancelled => Cancelled::new_err(line),
        Class::Strict | Class::Check | Class::Defect => Error::new_err(line),
    };
    let remarks: Vec<(&str, &str)> = failure.remarks.iter().map(|r| (&r.node[..], &r.what[..])).collect();
    let value = error.value(py);
    let told = value.setattr("path", failure.at.as_deref());
    match told.and_then(|()| value.setattr("remarks", remarks)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Converts an error of the runtime to an exception.
pub fn from_runtime(py: Python<'_>, error: meshreel::Error) -> PyErr {
    exception(py, &Failure::from(error))
}

/// Returns the exception for a wrong call.
pub fn misuse(py: Python<'_>, what: impl Into<String>) -> PyErr {
    exception(py, &Failure::usage(what))
}
