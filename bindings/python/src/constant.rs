//! Arrays that are the same in all frames of a mesh: created once, shared by the frames, and read-only.

use crate::arrays::{Array, read_only, rows};
use meshreel::Error;
use meshreel::raw::record::MeshRecord;
use numpy::Element;
use pyo3::prelude::*;
use std::iter::repeat_with;
use std::sync::OnceLock;

/// The largest number of LOD levels of a mesh, including the mesh itself.
const MAX_LEVELS: usize = 8;

/// The arrays of a mesh that frames share. Each is created when it is requested for the first time.
pub struct ConstantArrays {
    /// One array for each LOD level; empty if the faces change.
    triangles: Vec<OnceLock<Array<u32>>>,
    /// One array for each stream; `None` for those that change.
    streams: Vec<Option<OnceLock<Array<f32>>>>,
}

impl ConstantArrays {
    pub fn new(mesh: &MeshRecord) -> ConstantArrays {
        let changes = mesh.method.changes();
        let levels = if changes { 0 } else { MAX_LEVELS };
        let streams = mesh.streams.iter().map(|s| (!changes && !s.animated).then(OnceLock::new));
        ConstantArrays {
            triangles: repeat_with(OnceLock::new).take(levels).collect(),
            streams: streams.collect(),
        }
    }

    /// Returns the place of the triangles of an LOD level; `None` if the faces change.
    pub fn triangles(&self, level: usize) -> Option<&OnceLock<Array<u32>>> {
        self.triangles.get(level)
    }

    /// Returns the place of a stream's values; `None` if they change.
    pub fn stream(&self, number: usize) -> Option<&OnceLock<Array<f32>>> {
        self.streams.get(number)?.as_ref()
    }
}

/// Values of a mesh in a frame, before they are converted to a Python object.
pub enum Values<'a, T> {
    /// Values of this frame only.
    Own(Vec<T>),
    /// Values of all frames, requested for the first time, and the place for their array.
    First(&'a OnceLock<Array<T>>, Vec<T>),
    /// The array of all frames, which exists already.
    Shared(&'a Array<T>),
}

impl<'a, T: Element> Values<'a, T> {
    /// Reads the values, unless `place` has their array already; without a place they are of one frame only.
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

    /// Returns a two-dimensional array with `columns` columns, which is read-only if frames share it.
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
