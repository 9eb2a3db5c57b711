//! Cameras, with the values of their lenses in each frame.

use crate::arrays::{Array, array};
use meshreel::time::FramePair;
use meshreel::{Camera, Lens};
use pyo3::prelude::*;

/// A camera. It has the world transform of its node in each frame, and looks along −z, with y up.
#[pyclass(module = "meshreel", name = "Camera", frozen)]
pub struct PyCamera {
    /// Path of the object in the source.
    #[pyo3(get)]
    path: String,
    /// Number of its node in Reel.nodes.
    #[pyo3(get)]
    node: usize,
    /// True if any value of the lens is animated.
    #[pyo3(get)]
    animated: bool,
    /// One lens for each frame.
    lenses: Vec<Lens>,
}

impl PyCamera {
    pub fn new(camera: &Camera, frames: usize) -> PyCamera {
        PyCamera {
            path: camera.path().to_owned(),
            node: camera.node(),
            animated: camera.is_animated(),
            lenses: (0..frames).map(|frame| camera.lens(FramePair::single(frame as u32))).collect(),
        }
    }

    fn lens_values<T: numpy::Element>(&self, py: Python<'_>, of: impl Fn(&Lens) -> T) -> PyResult<Array<T>> {
        array(py, self.lenses.iter().map(of).collect(), &[self.lenses.len()])
    }

    fn lens_rows<const N: usize>(
        &self,
        py: Python<'_>,
        of: impl Fn(&Lens) -> [f32; N],
    ) -> PyResult<Array<f32>> {
        array(py, self.lenses.iter().flat_map(of).collect(), &[self.lenses.len(), N])
    }
}

#[pymethods]
impl PyCamera {
    fn __repr__(&self) -> String {
        format!("<meshreel.Camera {}>", self.path)
    }

    /// float32 (frames,): focal length in millimetres.
    #[getter]
    fn focal_length(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.focal_length)
    }

    /// float32 (frames, 2): width and height of the picture plane in millimetres; for an orthographic camera
    /// the size of the visible area, in tenths of the file's unit.
    #[getter]
    fn aperture(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.aperture)
    }

    /// float32 (frames, 2): offset of the picture's centre from the optical axis in millimetres.
    #[getter]
    fn aperture_offset(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.aperture_offset)
    }

    /// float32 (frames,): the factor by which an anamorphic lens widens the picture; 1 for none.
    #[getter]
    fn squeeze(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.squeeze)
    }

    /// float32 (frames, 4): the additional area on the left, right, top and bottom, as fractions of the
    /// picture.
    #[getter]
    fn overscan(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.overscan)
    }

    /// float32 (frames,): focal length over the diameter of the aperture; 0 if everything is in focus.
    #[getter]
    fn f_stop(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.f_stop)
    }

    /// float32 (frames,): the distance that is in focus, in the file's unit.
    #[getter]
    fn focus_distance(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.focus_distance)
    }

    /// float32 (frames, 2): opening and closing of the shutter, in seconds from the frame's time.
    #[getter]
    fn shutter(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.shutter)
    }

    /// float32 (frames, 2): the near and far clipping distances, in the file's unit.
    #[getter]
    fn clipping(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.clipping)
    }

    /// bool (frames,): True for an orthographic camera.
    #[getter]
    fn orthographic(&self, py: Python<'_>) -> PyResult<Array<bool>> {
        self.lens_values(py, |lens| lens.orthographic)
    }

    /// float32 (frames,): the vertical angle of view in radians; 0 for an orthographic camera.
    #[getter]
    fn vertical_angle(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, Lens::vertical_angle)
    }
}
