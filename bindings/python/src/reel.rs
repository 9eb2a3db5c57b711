//! Open files.

use crate::arrays::{Array, array, writable};
use crate::clip::PyClip;
use crate::errors::{misuse, of_runtime};
use crate::frame::{Channels, Decoded, Frame};
use meshreel::{Error, FrameDecoder, Limits, MeshView, Reel};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// An open .reel, a sequence of frames. `meshreel.open` makes one; as a context manager it closes itself.
///
/// Threads may share it: each decodes with a decoder of its own.
#[pyclass(module = "meshreel", name = "Reel", frozen)]
pub struct PyReel {
    /// None once it is closed.
    reel: Mutex<Option<Reel>>,
    /// Those that no thread uses; the last one was used last.
    decoders: Mutex<Vec<FrameDecoder>>,
}

/// What is said of a mesh without decoding a frame.
#[pyclass(module = "meshreel", frozen)]
pub struct MeshInfo {
    /// Path of the mesh in the source.
    #[pyo3(get)]
    path: String,
    /// Vertices; of a mesh whose faces change the most that any frame has.
    #[pyo3(get)]
    vertices: u32,
    /// Triangles; of a mesh whose faces change the most that any frame has.
    #[pyo3(get)]
    triangles: u32,
    /// Whether its faces, and the number of its vertices, change.
    #[pyo3(get)]
    faces_change: bool,
    /// Names of its materials.
    #[pyo3(get)]
    materials: Vec<String>,
}

#[pymethods]
impl MeshInfo {
    fn __repr__(&self) -> String {
        format!("<meshreel.MeshInfo {} with {} vertices>", self.path, self.vertices)
    }
}

/// What is written into the caller's array.
#[derive(Clone, Copy)]
enum Written {
    Positions,
    Normals,
}

impl PyReel {
    fn reel(&self, py: Python<'_>) -> PyResult<Reel> {
        let reel = self.reel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        reel.ok_or_else(|| misuse(py, "the reel is closed"))
    }

    /// A frame's number; negative ones count from the end.
    fn number(reel: &Reel, frame: isize) -> PyResult<usize> {
        let count = reel.frame_count();
        let number = if frame < 0 { frame + count as isize } else { frame };
        let number = usize::try_from(number).ok().filter(|&number| number < count);
        number.ok_or_else(|| PyIndexError::new_err(format!("frame {frame} of {count}")))
    }

    fn decoder(&self, reel: &Reel) -> Result<FrameDecoder, Error> {
        let free = self.decoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(|| FrameDecoder::new(reel), Ok)
    }

    /// For the next one; of a file that was closed meanwhile it goes.
    fn give_back(&self, decoder: FrameDecoder) {
        if self.reel.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            self.decoders.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        }
    }

    fn write(
        &self,
        py: Python<'_>,
        (frame, mesh): (isize, usize),
        out: &Bound<'_, PyAny>,
        what: Written,
    ) -> PyResult<usize> {
        let reel = self.reel(py)?;
        let frame = Self::number(&reel, frame)?;
        let meshes = reel.description().meshes.len();
        if mesh >= meshes {
            return Err(PyIndexError::new_err(format!("mesh {mesh} of {meshes}")));
        }
        let decoder = py.detach(|| {
            let mut decoder = self.decoder(&reel)?;
            decoder.decode(frame).map(|()| decoder)
        });
        let decoder = decoder.map_err(|error| of_runtime(py, error))?;
        let written = write_into(decoder.mesh(mesh), out, what);
        self.give_back(decoder);
        written
    }
}

/// Writes one channel into the caller's array; the number of vertices.
fn write_into(view: MeshView<'_>, out: &Bound<'_, PyAny>, what: Written) -> PyResult<usize> {
    let (py, count) = (out.py(), view.vertex_count());
    let mut array = writable(out, count, 3)?;
    let all = array.as_slice_mut().map_err(|e| misuse(py, format!("out: {e}")))?;
    let values = &mut all[..3 * count];
    let done = match what {
        Written::Positions => view.positions_into(values),
        Written::Normals => view.normals_into(values),
    };
    done.map_err(|error| of_runtime(py, error))?;
    Ok(count)
}

#[pymethods]
impl PyReel {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<PyReel> {
        let reel = py.detach(|| Reel::open(&path, &Limits::default()));
        let reel = reel.map_err(|error| of_runtime(py, error))?;
        Ok(PyReel { reel: Mutex::new(Some(reel)), decoders: Mutex::default() })
    }

    /// Closes the file and frees what decoding needs; frames that were decoded stay as they are.
    fn close(&self) {
        *self.reel.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.decoders.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close();
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.reel(py)?.frame_count())
    }

    fn __getitem__(&self, py: Python<'_>, frame: isize) -> PyResult<Frame> {
        self.frame(py, frame, None)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.reel(py) {
            Ok(reel) => {
                format!("<meshreel.Reel {} with {} frames>", reel.path().display(), reel.frame_count())
            }
            Err(_) => "<meshreel.Reel, closed>".into(),
        }
    }

    /// The frame, decoded: nodes and meshes with arrays of their own, which no other frame changes.
    ///
    /// frame: its number; negative ones count from the end. IndexError where there is none.
    /// channels: names of what is decoded beside positions and triangles: some of "normals", "tangents", "uvs",
    /// "colours"; all that there is by default. Fewer take less time, normals above all.
    #[pyo3(signature = (frame, channels = None))]
    fn frame(&self, py: Python<'_>, frame: isize, channels: Option<Vec<String>>) -> PyResult<Frame> {
        let reel = self.reel(py)?;
        let frame = Self::number(&reel, frame)?;
        let channels = Channels::named(py, channels)?;
        let decoded = py.detach(|| -> Result<(FrameDecoder, Vec<Decoded>), Error> {
            let mut decoder = self.decoder(&reel)?;
            decoder.decode(frame)?;
            let meshes = 0..reel.description().meshes.len();
            let meshes = meshes.map(|mesh| Decoded::new(decoder.mesh(mesh), channels));
            let meshes = meshes.collect::<Result<_, _>>()?;
            Ok((decoder, meshes))
        });
        let (decoder, meshes) = decoded.map_err(|error| of_runtime(py, error))?;
        let made = Frame::new(py, &decoder, frame, meshes);
        self.give_back(decoder);
        made
    }

    /// Writes the positions of a mesh into the caller's array and returns how many there are.
    ///
    /// frame: its number; negative ones count from the end. mesh: its number in Reel.meshes.
    /// out: writable C-contiguous float32 array of shape (vertices or more, 3); rows beyond stay as they are.
    /// In the mesh's own space, in the file's length unit. MisuseError for another array.
    fn positions_into(
        &self,
        py: Python<'_>,
        frame: isize,
        mesh: usize,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        self.write(py, (frame, mesh), out, Written::Positions)
    }

    /// The same for unit normals. MisuseError where the mesh has none.
    fn normals_into(
        &self,
        py: Python<'_>,
        frame: isize,
        mesh: usize,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        self.write(py, (frame, mesh), out, Written::Normals)
    }

    /// The file's path.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.reel(py)?.path().display().to_string())
    }

    /// float64 (frames,): seconds of each frame.
    #[getter]
    fn times(&self, py: Python<'_>) -> PyResult<Array<f64>> {
        let reel = self.reel(py)?;
        let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
        let count = times.len();
        array(py, times, &[count])
    }

    /// Frames per second that the source names, or None.
    #[getter]
    fn fps(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let fps = self.reel(py)?.description().fps;
        Ok((fps > 0.0).then_some(fps))
    }

    /// Length unit: "m", "cm", "mm", "in", or None where it is not known.
    #[getter]
    fn unit(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(unit(self.reel(py)?.description().unit))
    }

    /// Bytes of the file.
    #[getter]
    fn file_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.reel(py)?.file_bytes())
    }

    /// Options that it was compiled with, one `key = value` a line.
    #[getter]
    fn options(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.reel(py)?.description().options.clone())
    }

    /// (name, first frame, number of frames) of each named part of the animation.
    #[getter]
    fn ranges(&self, py: Python<'_>) -> PyResult<Vec<(String, u32, u32)>> {
        let reel = self.reel(py)?;
        Ok(reel.ranges().iter().map(|range| (range.name.clone(), range.first, range.frames)).collect())
    }

    /// A list of MeshInfo, in the order of Frame.meshes.
    #[getter]
    fn meshes(&self, py: Python<'_>) -> PyResult<Vec<MeshInfo>> {
        let reel = self.reel(py)?;
        let meshes = reel.description().meshes.iter().map(|mesh| MeshInfo {
            path: mesh.path.clone(),
            vertices: mesh.vertices,
            triangles: mesh.indices / 3,
            faces_change: mesh.method == meshreel::record::Method::Fluid,
            materials: mesh.materials.iter().map(|material| material.name.clone()).collect(),
        });
        Ok(meshes.collect())
    }

    /// A list of Clip: skeletal animations.
    #[getter]
    fn clips(&self, py: Python<'_>) -> PyResult<Vec<PyClip>> {
        let reel = self.reel(py)?;
        let clips = py.detach(|| reel.clips()).map_err(|error| of_runtime(py, error))?;
        Ok(clips.into_iter().map(PyClip::new).collect())
    }
}

/// A length unit as files number it.
pub fn unit(number: u8) -> Option<&'static str> {
    match number {
        1 => Some("m"),
        2 => Some("cm"),
        3 => Some("mm"),
        4 => Some("in"),
        _ => None,
    }
}
