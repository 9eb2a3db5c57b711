//! Cameras, with the values of their lenses in each frame.

use crate::arguments::constructor_arguments;
use crate::arrays::{Array, row, rows};
use meshreel::time::FramePair;
use meshreel::{Camera, Lens};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A camera. It has the world transform of its node in each frame, and looks along −z, with y up.
#[pyclass(module = "meshreel", name = "Camera", frozen, get_all, new = "from_fields")]
pub struct PyCamera {
    /// Path of the object in the source.
    path: String,
    /// Number of its node in Reel.nodes.
    node: usize,
    /// True if any value of the lens is animated.
    animated: bool,
    /// float32 (frames,): focal length in millimetres.
    focal_length: Array<f32>,
    /// float32 (frames, 2): width and height of the picture plane in millimetres; for an orthographic camera
    /// the size of the visible area, in tenths of the file's unit.
    aperture: Array<f32>,
    /// float32 (frames, 2): offset of the picture's centre from the optical axis in millimetres.
    aperture_offset: Array<f32>,
    /// float32 (frames,): the factor by which an anamorphic lens widens the picture; 1 for none.
    squeeze: Array<f32>,
    /// float32 (frames, 4): the additional area on the left, right, top and bottom, as fractions of the
    /// picture.
    overscan: Array<f32>,
    /// float32 (frames,): focal length over the diameter of the aperture; 0 if everything is in focus.
    f_stop: Array<f32>,
    /// float32 (frames,): the distance that is in focus, in the file's unit.
    focus_distance: Array<f32>,
    /// float32 (frames, 2): opening and closing of the shutter, in seconds from the frame's time.
    shutter: Array<f32>,
    /// float32 (frames, 2): the near and far clipping distances, in the file's unit.
    clipping: Array<f32>,
    /// bool (frames,): True for an orthographic camera.
    orthographic: Array<bool>,
    /// float32 (frames,): the vertical angle of view in radians; 0 for an orthographic camera.
    vertical_angle: Array<f32>,
}

impl PyCamera {
    pub fn new(py: Python<'_>, camera: &Camera, frames: usize) -> PyResult<PyCamera> {
        let lenses = (0..frames).map(|frame| camera.lens(FramePair::single(frame as u32)));
        let lenses: Vec<Lens> = lenses.collect();
        Ok(PyCamera {
            path: camera.path().to_owned(),
            node: camera.node(),
            animated: camera.is_animated(),
            focal_length: row(py, lenses.iter().map(|lens| lens.focal_length).collect())?,
            aperture: rows(py, lenses.iter().flat_map(|lens| lens.aperture).collect(), 2)?,
            aperture_offset: rows(py, lenses.iter().flat_map(|lens| lens.aperture_offset).collect(), 2)?,
            squeeze: row(py, lenses.iter().map(|lens| lens.squeeze).collect())?,
            overscan: rows(py, lenses.iter().flat_map(|lens| lens.overscan).collect(), 4)?,
            f_stop: row(py, lenses.iter().map(|lens| lens.f_stop).collect())?,
            focus_distance: row(py, lenses.iter().map(|lens| lens.focus_distance).collect())?,
            shutter: rows(py, lenses.iter().flat_map(|lens| lens.shutter).collect(), 2)?,
            clipping: rows(py, lenses.iter().flat_map(|lens| lens.clipping).collect(), 2)?,
            orthographic: row(py, lenses.iter().map(|lens| lens.orthographic).collect())?,
            vertical_angle: row(py, lenses.iter().map(Lens::vertical_angle).collect())?,
        })
    }
}

#[pymethods]
impl PyCamera {
    fn __repr__(&self) -> String {
        format!("<meshreel.Camera {}>", self.path)
    }

    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        constructor_arguments(
            slf,
            "path node animated focal_length aperture aperture_offset squeeze overscan f_stop \
             focus_distance shutter clipping orthographic vertical_angle",
        )
    }
}
