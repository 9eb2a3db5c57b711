//! Conversions between numbers and numpy arrays: new arrays own their memory, and the caller's arrays are
//! checked.

use crate::errors::misuse;
use numpy::ndarray::{ArrayD, IxDyn};
use numpy::{
    Element, PyArray2, PyArrayDyn, PyArrayMethods, PyReadwriteArray2, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

/// An array with any number of dimensions.
pub type Array<T> = Py<PyArrayDyn<T>>;

/// Returns an array of `shape` with these values, in row-major order.
pub fn array<T: Element>(py: Python<'_>, values: Vec<T>, shape: &[usize]) -> PyResult<Array<T>> {
    let array = ArrayD::from_shape_vec(IxDyn(shape), values);
    let array = array.map_err(|e| misuse(py, format!("values of another shape than {shape:?}: {e}")))?;
    Ok(PyArrayDyn::from_owned_array(py, array).unbind())
}

/// Returns an array with one dimension.
pub fn row<T: Element>(py: Python<'_>, values: Vec<T>) -> PyResult<Array<T>> {
    let count = values.len();
    array(py, values, &[count])
}

/// Returns a two-dimensional array with `columns` columns.
pub fn rows<T: Element>(py: Python<'_>, values: Vec<T>, columns: usize) -> PyResult<Array<T>> {
    let rows = values.len() / columns;
    array(py, values, &[rows, columns])
}

/// Makes an array read-only, and returns it.
pub fn read_only<T: Element>(py: Python<'_>, array: Array<T>) -> Array<T> {
    array.bind(py).readwrite().make_nonwriteable();
    array
}

/// Checks the caller's array: float32, at least `rows` × `columns`, writable and C-contiguous.
pub fn writable<'py>(
    out: &Bound<'py, PyAny>,
    rows: usize,
    columns: usize,
) -> PyResult<PyReadwriteArray2<'py, f32>> {
    let py = out.py();
    let given = match out.cast::<PyUntypedArray>() {
        Ok(array) => format!("an array of {} of shape {:?}", array.dtype(), array.shape()),
        Err(_) => format!("a {}", out.get_type().name()?),
    };
    let wrong = |why: &str| {
        let wanted =
            format!("out must be a writable C-contiguous float32 array of shape ({rows} or more, {columns})");
        misuse(py, format!("{wanted}, not {given}{why}"))
    };
    let array = out.cast::<PyArray2<f32>>().map_err(|_| wrong(""))?;
    if array.shape()[0] < rows || array.shape()[1] != columns {
        return Err(wrong(""));
    }
    if !array.is_c_contiguous() {
        return Err(wrong(" with gaps or another order"));
    }
    array.try_readwrite().map_err(|e| wrong(&format!(" ({e})")))
}
