//! Arrays that are the same in all frames of a mesh: made once, shared by frames, and not to be written to.

use crate::arrays::{Array, read_only, rows};
use meshreel::Error;
use meshreel::raw::record::MeshRecord;
use numpy::Element;
use pyo3::prelude::*;
use std::iter::repeat_with;
use std::sync::OnceLock;

/// Upper limit of the levels of detail of a mesh, itself included; beyond, arrays are not shared.
const MAX_LEVELS: usize = 8;

/// The arrays that all frames of a mesh share; each is made when a frame is first asked for it.
pub struct SharedArrays {
    /// Triangles by level of detail; empty where faces change.
    triangles: Vec<OnceLock<Array<u32>>>,
    /// Values by stream; `None` where they change.
    streams: Vec<Option<OnceLock<Array<f32>>>>,
}

impl SharedArrays {
    pub fn new(mesh: &MeshRecord) -> SharedArrays {
        let changes = mesh.method.changes();
        let levels = if changes { 0 } else { MAX_LEVELS };
        let streams = mesh.streams.iter().map(|s| (!changes && !s.animated).then(OnceLock::new));
        SharedArrays {
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
    /// Values of this frame alone.
    Own(Vec<T>),
    /// Values that all frames share, read for the first time, and their place.
    First(&'a OnceLock<Array<T>>, Vec<T>),
    /// The array that all frames share.
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
