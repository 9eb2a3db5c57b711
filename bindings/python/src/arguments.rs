//! Arguments of Python: lists that callers give, and those with which a constructor makes a thing again.

use crate::errors::misuse;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// The list that a caller gives. `example`: one, for the message where it is none.
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

/// Attributes of a thing, named in the order in which its constructor takes them: pickle and copy ask for
/// these.
pub fn constructor_arguments<'py, T>(of: &Bound<'py, T>, names: &str) -> PyResult<Bound<'py, PyTuple>> {
    let values = names.split_whitespace().map(|name| of.as_any().getattr(name));
    PyTuple::new(of.py(), values.collect::<PyResult<Vec<_>>>()?)
}
