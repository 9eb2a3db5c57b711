//! Cameras: all numbers of their lenses, frame by frame.

use crate::arrays::{Array, array};
use meshreel::time::FramePair;
use meshreel::{Camera, Lens};
use pyo3::prelude::*;

/// A camera. Where it is in a frame, the world transform of its node says: it looks along −z, with y upwards.
#[pyclass(module = "meshreel", name = "Camera", frozen)]
pub struct PyCamera {
    /// Path of the object in the source.
    #[pyo3(get)]
    path: String,
    /// Number of the node that it stands at, in Reel.nodes.
    #[pyo3(get)]
    node: usize,
    /// Whether anything of the lens changes.
    #[pyo3(get)]
    animated: bool,
    /// By frame.
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

    /// float32 (frames,): millimetres.
    #[getter]
    fn focal_length(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.focal_length)
    }

    /// float32 (frames, 2): width and height of the picture plane, millimetres; of an orthographic camera the
    /// size of what is seen, in tenths of the file's unit.
    #[getter]
    fn aperture(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.aperture)
    }

    /// float32 (frames, 2): where the middle of the picture plane is beside the axis, millimetres.
    #[getter]
    fn aperture_offset(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.aperture_offset)
    }

    /// float32 (frames,): how much wider a lens that squeezes shows the picture; 1 for none.
    #[getter]
    fn squeeze(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.squeeze)
    }

    /// float32 (frames, 4): how much more is drawn on the left, right, top and bottom, as parts of the
    /// picture.
    #[getter]
    fn overscan(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.overscan)
    }

    /// float32 (frames,): focal length over the diameter of the opening; 0 where all is sharp.
    #[getter]
    fn f_stop(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.f_stop)
    }

    /// float32 (frames,): where all is sharp, in the file's unit.
    #[getter]
    fn focus_distance(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, |lens| lens.focus_distance)
    }

    /// float32 (frames, 2): when the shutter opens and closes, seconds from the frame's time.
    #[getter]
    fn shutter(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.shutter)
    }

    /// float32 (frames, 2): the nearest and the farthest distance that is drawn, in the file's unit.
    #[getter]
    fn clipping(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_rows(py, |lens| lens.clipping)
    }

    /// bool (frames,): without perspective.
    #[getter]
    fn orthographic(&self, py: Python<'_>) -> PyResult<Array<bool>> {
        self.lens_values(py, |lens| lens.orthographic)
    }

    /// float32 (frames,): the angle of view upwards, radians; 0 where it is orthographic.
    #[getter]
    fn vertical_angle(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.lens_values(py, Lens::vertical_angle)
    }
}
