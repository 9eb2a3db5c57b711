//! Clips: poses at any time, and all samples as arrays.

use crate::arguments::constructor_arguments;
use crate::arrays::{Array, array};
use crate::errors::{from_runtime, misuse};
use crate::origin::Origin;
use meshreel::clip::{Clip, Query};
use meshreel::{Reel, Transform};
use numpy::{PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::iter::repeat_with;

/// Transforms of all joints, each relative to its parent; of one moment, or of all samples of a clip.
#[pyclass(module = "meshreel", frozen, get_all, new = "from_fields")]
pub struct Pose {
    /// float32 (joints, 4), of all samples (samples, joints, 4): quaternions x, y, z, w.
    rotations: Array<f32>,
    /// float32 (…, joints, 3): in the file's length unit.
    translations: Array<f32>,
    /// float32 (…, joints, 3).
    scales: Array<f32>,
}

impl Pose {
    /// Of transforms joint by joint, which are `shape` poses.
    pub fn new(py: Python<'_>, transforms: &[Transform], shape: &[usize]) -> PyResult<Pose> {
        let of = |columns: usize, values: Vec<f32>| array(py, values, &[shape, &[columns]].concat());
        Ok(Pose {
            rotations: of(4, transforms.iter().flat_map(|t| t.rotation).collect())?,
            translations: of(3, transforms.iter().flat_map(|t| t.translation).collect())?,
            scales: of(3, transforms.iter().flat_map(|t| t.scale).collect())?,
        })
    }

    /// Its transforms, if it is one pose of so many joints.
    pub fn transforms(&self, py: Python<'_>, joints: usize) -> PyResult<Vec<Transform>> {
        let all = |values: &Array<f32>, columns: usize| -> PyResult<Vec<f32>> {
            let array = values.bind(py).try_readonly().map_err(|e| misuse(py, format!("pose: {e}")))?;
            match array.shape() == [joints, columns] {
                true => Ok(array.as_array().iter().copied().collect()),
                false => {
                    let what =
                        format!("the pose is of shape {:?}, one of {joints} joints is wanted", array.shape());
                    Err(misuse(py, what))
                }
            }
        };
        let rotations = all(&self.rotations, 4)?;
        let (translations, scales) = (all(&self.translations, 3)?, all(&self.scales, 3)?);
        let rows = rotations.as_chunks::<4>().0.iter();
        let rows = rows.zip(translations.as_chunks::<3>().0).zip(scales.as_chunks::<3>().0);
        let rows = rows.map(|((&rotation, &translation), &scale)| Transform { rotation, translation, scale });
        Ok(rows.collect())
    }
}

#[pymethods]
impl Pose {
    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        constructor_arguments(slf, "rotations translations scales")
    }
}

/// A skeletal animation.
#[pyclass(module = "meshreel", name = "Clip", frozen)]
pub struct PyClip {
    clip: Clip,
    /// The file, and the number of the clip in it.
    origin: (Origin, usize),
}

impl PyClip {
    /// Reads all clips of a file.
    pub fn all(py: Python<'_>, reel: &Reel, origin: &Origin) -> PyResult<Vec<PyClip>> {
        let clips = py.detach(|| reel.clips()).map_err(|error| from_runtime(py, error))?;
        let clips = clips.into_iter().enumerate();
        Ok(clips.map(|(number, clip)| PyClip { clip, origin: (origin.clone(), number) }).collect())
    }

    fn blank(&self) -> Vec<Transform> {
        repeat_with(|| Transform::IDENTITY).take(self.clip.joints()).collect()
    }
}

#[pymethods]
impl PyClip {
    #[new]
    fn reopen(source: &Bound<'_, PyAny>, max_memory: Option<u64>, number: usize) -> PyResult<PyClip> {
        let (py, origin) = (source.py(), Origin::new(source, max_memory)?);
        origin.item(py, number, |reel| PyClip::all(py, reel, &origin))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Option<u64>, usize)> {
        let (origin, number) = &self.origin;
        let (source, max_memory) = origin.arguments(py)?;
        Ok((source, max_memory, *number))
    }

    fn __repr__(&self) -> String {
        let clip = &self.clip;
        format!("<meshreel.Clip {:?}, {} joints, {} samples>", clip.name(), clip.joints(), clip.samples())
    }

    /// Name; empty where none was given.
    #[getter]
    fn name(&self) -> &str {
        self.clip.name()
    }

    /// Number of samples, at least 1.
    #[getter]
    fn samples(&self) -> usize {
        self.clip.samples()
    }

    /// Samples per second.
    #[getter]
    fn fps(&self) -> f64 {
        self.clip.fps()
    }

    /// Seconds from the first sample to the last.
    #[getter]
    fn duration(&self) -> f64 {
        self.clip.duration()
    }

    /// Seconds at which the first sample stands in the source; times of a clip count from it.
    #[getter]
    fn start(&self) -> f64 {
        self.clip.start()
    }

    /// The promised tolerance, in the file's length unit.
    #[getter]
    fn tolerance(&self) -> f64 {
        self.clip.record().tolerance
    }

    /// Names of the joints.
    #[getter]
    fn joints(&self) -> Vec<String> {
        self.clip.skeleton().names.clone()
    }

    /// Number of the skeleton; clips with the same one have the same joints.
    #[getter]
    fn skeleton(&self) -> u32 {
        self.clip.record().skeleton
    }

    /// int32 (joints,): number of each joint's parent, -1 for a root; parents stand before children.
    #[getter]
    fn parents(&self, py: Python<'_>) -> PyResult<Array<i32>> {
        let parents = &self.clip.skeleton().parents;
        let values = parents.iter().map(|&parent| i32::try_from(parent).unwrap_or(-1)).collect();
        array(py, values, &[parents.len()])
    }

    /// The pose of the skeleton at rest.
    #[getter]
    fn rest(&self, py: Python<'_>) -> PyResult<Pose> {
        let rest = &self.clip.skeleton().rest;
        Pose::new(py, rest, &[rest.len()])
    }

    /// (name, seconds after the first sample) of each event, in the order of time.
    #[getter]
    fn markers(&self) -> Vec<(String, f64)> {
        self.clip.markers().iter().map(|marker| (marker.name.clone(), marker.time)).collect()
    }

    /// Scalar tracks by name: float32 (samples, components).
    #[getter]
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (out, samples) = (PyDict::new(py), self.clip.samples());
        for track in self.clip.scalar_tracks() {
            let components = track.components.len();
            let values = (0..samples).flat_map(|i| track.values(i).into_iter().take(components)).collect();
            out.set_item(&track.name, array::<f32>(py, values, &[samples, components])?)?;
        }
        Ok(out)
    }

    /// The pose so many seconds after the first sample, between samples interpolated.
    ///
    /// wrap: beyond its end the clip starts over; else the first or the last sample stands.
    ///
    /// MisuseError where seconds is no finite number.
    #[pyo3(signature = (seconds, *, wrap = false))]
    fn pose(&self, py: Python<'_>, seconds: f64, wrap: bool) -> PyResult<Pose> {
        if !seconds.is_finite() {
            return Err(misuse(py, format!("seconds must be a finite number, not {seconds}")));
        }
        let mut pose = self.blank();
        let query = Query::new(seconds);
        let query = if wrap { query.wrapped() } else { query };
        let done = py.detach(|| self.clip.cursor().pose(&query, &mut pose[..]));
        done.map_err(|error| from_runtime(py, error))?;
        Pose::new(py, &pose, &[pose.len()])
    }

    /// All samples, as the tolerance is promised for them.
    fn poses(&self, py: Python<'_>) -> PyResult<Pose> {
        let (samples, joints) = (self.clip.samples(), self.clip.joints());
        let all = py.detach(|| -> Result<Vec<Transform>, meshreel::Error> {
            let (mut cursor, mut pose) = (self.clip.cursor(), self.blank());
            let mut all = Vec::new();
            for sample in 0..samples {
                cursor.sample(sample, &mut pose)?;
                all.extend_from_slice(&pose);
            }
            Ok(all)
        });
        Pose::new(py, &all.map_err(|error| from_runtime(py, error))?, &[samples, joints])
    }
}
