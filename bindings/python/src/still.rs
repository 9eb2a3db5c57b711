//! Arrays that are the same in all frames of a mesh: made once, shared by frames, and not to be written to.

use crate::arrays::{Array, read_only, rows};
use meshreel::Error;
use meshreel::raw::record::MeshRecord;
use numpy::Element;
use pyo3::prelude::*;
use std::iter::repeat_with;
use std::sync::OnceLock;

/// A mesh and the most levels of detail that one can have.
const MAX_LEVELS: usize = 8;

/// The arrays of a mesh that frames share, as far as a frame was asked for them.
pub struct StillArrays {
    /// By level of detail; none where faces change.
    triangles: Vec<OnceLock<Array<u32>>>,
    /// By stream; `None` of those that change.
    streams: Vec<Option<OnceLock<Array<f32>>>>,
}

impl StillArrays {
    pub fn new(mesh: &MeshRecord) -> StillArrays {
        let changes = mesh.method.changes();
        let levels = if changes { 0 } else { MAX_LEVELS };
        let streams = mesh.streams.iter().map(|s| (!changes && !s.animated).then(OnceLock::new));
        StillArrays {
            triangles: repeat_with(OnceLock::new).take(levels).collect(),
            streams: streams.collect(),
        }
    }

    pub fn triangles(&self, level: usize) -> Option<&OnceLock<Array<u32>>> {
        self.triangles.get(level)
    }

    pub fn stream(&self, number: usize) -> Option<&OnceLock<Array<f32>>> {
        self.streams.get(number)?.as_ref()
    }
}

/// Values of a mesh in a frame, not yet Python's.
pub enum Values<'a, T> {
    /// Of this frame alone.
    Own(Vec<T>),
    /// Of all frames, for the first that is asked for them.
    First(&'a OnceLock<Array<T>>, Vec<T>),
    /// Of all frames.
    Shared(&'a Array<T>),
}

impl<'a, T: Element> Values<'a, T> {
    /// Reads values, unless they are in their place already.
    pub fn new(
        place: Option<&'a OnceLock<Array<T>>>,
        read: impl FnOnce() -> Result<Vec<T>, Error>,
    ) -> Result<Values<'a, T>, Error> {
        Ok(match place.map(|place| (place, place.get())) {
            None => Values::Own(read()?),
            Some((place, None)) => Values::First(place, read()?),
            Some((_, Some(array))) => Values::Shared(array),
        })
    }

    /// Rows of `columns` numbers.
    pub fn into_rows(self, py: Python<'_>, columns: usize) -> PyResult<Array<T>> {
        Ok(match self {
            Values::Own(values) => rows(py, values, columns)?,
            Values::First(place, values) => {
                let array = read_only(py, rows(py, values, columns)?);
                place.get_or_init(|| array).clone_ref(py)
            }
            Values::Shared(array) => array.clone_ref(py),
        })
    }
}
