//! Arguments from Python: lists that callers pass in, and the constructor arguments of objects for pickle and
//! copy.

use crate::errors::misuse;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// Converts the caller's list for the argument `name`; `None` if there is none. MisuseError if it is a string
/// or not iterable, or if an item has the wrong type; the message shows `example`, a valid list.
pub fn list<'py, T>(name: &str, given: Option<&Bound<'py, PyAny>>, example: &str) -> PyResult<Option<Vec<T>>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(None);
    };
    let items = given.try_iter().and_then(|items| {
        items.map(|item| -> PyResult<T> { item?.extract().map_err(Into::into) }).collect::<PyResult<Vec<T>>>()
    });
    match items {
        Ok(items) if !given.is_instance_of::<PyString>() => Ok(Some(items)),
        _ => {
            let what = format!("{name} is a list, such as {example}, not {}", given.repr()?);
            Err(misuse(given.py(), what))
        }
    }
}

/// Returns the constructor arguments of an object, which pickle and copy ask for: its attributes with these
/// names, which stand in the order of the constructor's parameters, separated by spaces.
pub fn constructor_arguments<'py, T>(of: &Bound<'py, T>, names: &str) -> PyResult<Bound<'py, PyTuple>> {
    let values = names.split_whitespace().map(|name| of.as_any().getattr(name));
    PyTuple::new(of.py(), values.collect::<PyResult<Vec<_>>>()?)
}
