//! Open files.

use crate::arguments::{constructor_arguments, list};
use crate::arrays::{Array, array, writable};
use crate::camera::PyCamera;
use crate::clip::PyClip;
use crate::constant::ConstantArrays;
use crate::errors::{from_runtime, misuse};
use crate::frame::{Channels, DecodedMoment, Frame, FrameRequest, NodeInfo};
use crate::moment::BlendPosition;
use crate::origin::Origin;
use crate::rig::Rig;
use meshreel::raw::record::{MeshRecord, Method, Semantic, Visibility};
use meshreel::{Error, FrameDecoder, FrameView, MeshView, Reel};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex, PoisonError};

/// An open .reel file, a sequence of frames. Created by `meshreel.open`; as a context manager it closes
/// itself.
///
/// Several threads may share it: each decodes with a decoder of its own.
#[pyclass(module = "meshreel", name = "Reel", frozen)]
pub struct PyReel {
    /// `None` after it is closed.
    reel: Mutex<Option<Reel>>,
    /// Decoders that no thread uses; the most recently used one is the last.
    decoders: Mutex<Vec<FrameDecoder>>,
    nodes: Arc<[NodeInfo]>,
    /// The arrays that frames share, for each mesh.
    constant: Vec<ConstantArrays>,
    origin: Origin,
}

/// Properties of a mesh, available without decoding a frame.
#[pyclass(module = "meshreel", frozen, get_all, new = "from_fields")]
pub struct MeshInfo {
    /// Path of the mesh in the source.
    path: String,
    /// Number of vertices; if the faces change, the largest of all frames.
    vertices: u32,
    /// Number of triangles; if the faces change, the largest of all frames.
    triangles: u32,
    /// True if the faces and the number of vertices change from frame to frame.
    faces_change: bool,
    /// The names of what changes from frame to frame: some of "triangles", "positions", "normals",
    /// "tangents", "uvs", "colours", "velocities", "widths".
    animated: Vec<String>,
    /// Number of LOD levels, including the mesh itself.
    lods: usize,
    /// Names of its materials.
    materials: Vec<String>,
    /// "mesh", "particles" or "curves".
    kind: String,
}

/// Returns the channels whose values change from frame to frame.
fn animated(mesh: &MeshRecord) -> Vec<String> {
    let fluid = mesh.method.changes();
    let any = |semantic: Semantic| {
        let mut streams = mesh.streams.iter().filter(|stream| stream.semantic == semantic);
        streams.any(|stream| stream.animated || fluid)
    };
    let tangents = any(Semantic::QTangent);
    let channels = [
        ("triangles", mesh.method == Method::Fluid),
        ("positions", any(Semantic::Position)),
        ("normals", tangents || any(Semantic::Normal)),
        ("tangents", tangents),
        ("uvs", any(Semantic::Uv)),
        ("colours", any(Semantic::Colour)),
        ("velocities", any(Semantic::Velocity)),
        ("widths", any(Semantic::Width)),
    ];
    channels.iter().filter(|(_, changes)| *changes).map(|(name, _)| (*name).into()).collect()
}

#[pymethods]
impl MeshInfo {
    fn __repr__(&self) -> String {
        format!("<meshreel.MeshInfo {} with {} vertices>", self.path, self.vertices)
    }

    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        constructor_arguments(slf, "path vertices triangles faces_change animated lods materials kind")
    }
}

/// The channel that is written into the caller's array.
#[derive(Clone, Copy)]
enum WritableChannel {
    Positions,
    Normals,
}

impl PyReel {
    fn reel(&self, py: Python<'_>) -> PyResult<Reel> {
        let reel = self.reel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        reel.ok_or_else(|| misuse(py, "the reel is closed"))
    }

    /// Returns the number of a frame; negative ones count from the end.
    fn frame_number(reel: &Reel, frame: isize) -> PyResult<usize> {
        let count = reel.frame_count();
        let number = if frame < 0 { frame + count as isize } else { frame };
        let number = usize::try_from(number).ok().filter(|&number| number < count);
        number.ok_or_else(|| PyIndexError::new_err(format!("frame {frame} of {count}")))
    }

    /// Returns a decoder that shows a frame: one that shows it already, otherwise the most recently used one,
    /// otherwise a new one.
    fn decoder(&self, reel: &Reel, frame: usize) -> Result<FrameDecoder, Error> {
        let free = {
            let mut free = self.decoders.lock().unwrap_or_else(PoisonError::into_inner);
            let shows = free.iter().position(|decoder| decoder.frame() == Some(frame));
            shows.map(|i| free.remove(i)).or_else(|| free.pop())
        };
        let mut decoder = free.map_or_else(|| FrameDecoder::new(reel), Ok)?;
        decoder.decode(frame)?;
        Ok(decoder)
    }

    /// Keeps a decoder for the next call; drops it if the file has been closed meanwhile.
    fn give_back(&self, decoder: FrameDecoder) {
        if self.reel.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            self.decoders.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        }
    }

    /// Decodes the requested parts of a moment.
    fn moment(
        &self,
        py: Python<'_>,
        reel: &Reel,
        at: BlendPosition,
        asked: &FrameRequest,
    ) -> PyResult<Frame> {
        let moment = py.detach(|| -> Result<DecodedMoment<'_>, Error> {
            let first = self.decoder(reel, at.first)?;
            let both = at.second != at.first && (at.blend > 0.0 || asked.channels.velocities);
            let moment = if both {
                let second = self.decoder(reel, at.second)?;
                let view = FrameView::between(&first, &second, at.blend, at.pace())?;
                let moment = DecodedMoment::from_view(&first, &view, at.time, &self.constant, asked)?;
                // The one that is given back last is the first to be used again.
                self.give_back(first);
                self.give_back(second);
                moment
            } else {
                let moment = DecodedMoment::from_frame(&first, &self.constant, asked)?;
                self.give_back(first);
                moment
            };
            Ok(moment)
        });
        Frame::new(py, self.nodes.clone(), moment.map_err(|error| from_runtime(py, error))?)
    }

    fn write_channel(
        &self,
        py: Python<'_>,
        (frame, mesh): (isize, usize),
        out: &Bound<'_, PyAny>,
        what: WritableChannel,
    ) -> PyResult<usize> {
        let reel = self.reel(py)?;
        let frame = Self::frame_number(&reel, frame)?;
        let meshes = reel.description().meshes.len();
        if mesh >= meshes {
            return Err(PyIndexError::new_err(format!("mesh {mesh} of {meshes}")));
        }
        let decoder = py.detach(|| self.decoder(&reel, frame));
        let decoder = decoder.map_err(|error| from_runtime(py, error))?;
        let written = write_into(decoder.mesh(mesh), out, what);
        self.give_back(decoder);
        written
    }
}

/// Returns the numbers of the requested meshes; all without a request.
fn mesh_numbers(reel: &Reel, asked: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<usize>> {
    let count = reel.description().meshes.len();
    let meshes = list("meshes", asked, "[0, 2]")?.unwrap_or_else(|| (0..count).collect());
    match meshes.iter().find(|&&mesh| mesh >= count) {
        Some(mesh) => Err(PyIndexError::new_err(format!("mesh {mesh} of {count}"))),
        None => Ok(meshes),
    }
}

/// Writes one channel into the caller's array, and returns the number of vertices.
fn write_into(view: MeshView<'_>, out: &Bound<'_, PyAny>, what: WritableChannel) -> PyResult<usize> {
    let (py, count) = (out.py(), view.vertex_count());
    let mut array = writable(out, count, 3)?;
    let all = array.as_slice_mut().map_err(|e| misuse(py, format!("out: {e}")))?;
    let values = &mut all[..3 * count];
    let done = match what {
        WritableChannel::Positions => view.positions_into(values),
        WritableChannel::Normals => view.normals_into(values),
    };
    done.map_err(|error| from_runtime(py, error))?;
    Ok(count)
}

#[pymethods]
impl PyReel {
    #[new]
    #[pyo3(signature = (source, max_memory = None))]
    fn new(source: &Bound<'_, PyAny>, max_memory: Option<u64>) -> PyResult<PyReel> {
        let (py, origin) = (source.py(), Origin::new(source, max_memory)?);
        let reel = py.detach(|| origin.open()).map_err(|error| from_runtime(py, error))?;
        let nodes = reel.description().nodes.iter().map(|node| NodeInfo {
            path: node.path.clone(),
            parent: node.parent,
            mesh: node.mesh,
            moves: node.animated,
            visibility_changes: node.visibility == Visibility::Animated,
        });
        let nodes = nodes.collect();
        let constant = reel.description().meshes.iter().map(ConstantArrays::new).collect();
        Ok(PyReel { reel: Mutex::new(Some(reel)), decoders: Mutex::default(), nodes, constant, origin })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Option<u64>)> {
        self.reel(py)?;
        self.origin.arguments(py)
    }

    /// Closes the file and frees the memory for decoding; frames that were decoded remain valid.
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
        self.frame(py, frame, None, None, 0)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.reel(py) {
            Ok(reel) => {
                let path = self.origin.path();
                let path = path.as_deref().unwrap_or("in memory");
                format!("<meshreel.Reel {path} with {} frames>", reel.frame_count())
            }
            Err(_) => "<meshreel.Reel, closed>".into(),
        }
    }

    /// Decodes a frame: nodes and meshes with arrays that decoding other frames does not change.
    ///
    /// frame: its number; negative ones count from the end. IndexError if it does not exist. channels: the
    /// names of what to decode besides positions and triangles: some of "normals", "tangents", "uvs",
    /// "colours", "velocities". By default all except velocities, which need a second frame. Fewer channels
    /// take less time, above all without normals. meshes: the numbers of the meshes in Reel.meshes to decode,
    /// in the order of Frame.meshes; by default all. lod: the LOD level of the triangles; a mesh with fewer
    /// levels has its coarsest.
    #[pyo3(signature = (frame, channels = None, *, meshes = None, lod = 0))]
    fn frame(
        &self,
        py: Python<'_>,
        frame: isize,
        channels: Option<&Bound<'_, PyAny>>,
        meshes: Option<&Bound<'_, PyAny>>,
        lod: usize,
    ) -> PyResult<Frame> {
        let reel = self.reel(py)?;
        let at = BlendPosition::from_frame(&reel, Self::frame_number(&reel, frame)?);
        let channels = Channels::named(py, channels)?;
        self.moment(
            py,
            &reel,
            at,
            &FrameRequest { channels, meshes: mesh_numbers(&reel, meshes)?, level: lod },
        )
    }

    /// Decodes the moment at a time of the timeline of Reel.times, in seconds; between two frames it is
    /// interpolated.
    ///
    /// A mesh that is not shown in both frames, or whose faces change, is as in the earlier frame. The
    /// animation is not interpolated from one named range (Reel.ranges) to the next. Beyond the ends the
    /// first or the last frame is returned. channels, meshes, lod: as for `frame`. wrap: if True, the file
    /// repeats beyond its ends, and the last frame of a closed cycle is blended into the first.
    ///
    /// MisuseError if seconds is not finite.
    #[pyo3(signature = (seconds, channels = None, *, meshes = None, lod = 0, wrap = false))]
    fn at(
        &self,
        py: Python<'_>,
        seconds: f64,
        channels: Option<&Bound<'_, PyAny>>,
        meshes: Option<&Bound<'_, PyAny>>,
        lod: usize,
        wrap: bool,
    ) -> PyResult<Frame> {
        let reel = self.reel(py)?;
        if !seconds.is_finite() {
            return Err(misuse(py, format!("seconds must be a finite number, not {seconds}")));
        }
        if reel.frame_count() == 0 {
            return Err(misuse(py, "the file has no frames"));
        }
        let channels = Channels::named(py, channels)?;
        let asked = FrameRequest { channels, meshes: mesh_numbers(&reel, meshes)?, level: lod };
        self.moment(py, &reel, BlendPosition::from_time(&reel, seconds, wrap), &asked)
    }

    /// Writes the positions of a mesh into the caller's array, and returns their number.
    ///
    /// frame: its number; negative ones count from the end. mesh: its number in Reel.meshes. out: a writable
    /// C-contiguous float32 array of shape (vertices or more, 3); further rows are not changed. Positions are
    /// in the mesh's own space, in the file's length unit. MisuseError for any other array.
    fn positions_into(
        &self,
        py: Python<'_>,
        frame: isize,
        mesh: usize,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        self.write_channel(py, (frame, mesh), out, WritableChannel::Positions)
    }

    /// Writes the unit normals of a mesh, as `positions_into`. MisuseError if the mesh has none.
    fn normals_into(
        &self,
        py: Python<'_>,
        frame: isize,
        mesh: usize,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        self.write_channel(py, (frame, mesh), out, WritableChannel::Normals)
    }

    /// Path of the file; None if it was opened from bytes.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.reel(py).map(|_| self.origin.path())
    }

    /// float64 (frames,): the time of each frame in seconds.
    #[getter]
    fn times(&self, py: Python<'_>) -> PyResult<Array<f64>> {
        let reel = self.reel(py)?;
        let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
        let count = times.len();
        array(py, times, &[count])
    }

    /// Frames per second as the source states them, or None.
    #[getter]
    fn fps(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let fps = self.reel(py)?.description().fps;
        Ok((fps > 0.0).then_some(fps))
    }

    /// Length unit: "m", "cm", "mm", "in", or None if it is not known.
    #[getter]
    fn unit(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(unit(self.reel(py)?.description().unit))
    }

    /// Size of the file in bytes.
    #[getter]
    fn file_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.reel(py)?.file_bytes())
    }

    /// The options that the file was compiled with, one `key = value` per line.
    #[getter]
    fn options(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.reel(py)?.description().options.clone())
    }

    /// A list of (name, first frame, number of frames), one for each named range.
    #[getter]
    fn ranges(&self, py: Python<'_>) -> PyResult<Vec<(String, u32, u32)>> {
        let reel = self.reel(py)?;
        Ok(reel.ranges().iter().map(|range| (range.name.clone(), range.first, range.frames)).collect())
    }

    /// A list of MeshInfo, in the order of Frame.meshes.
    #[getter]
    fn meshes(&self, py: Python<'_>) -> PyResult<Vec<MeshInfo>> {
        let reel = self.reel(py)?;
        let records = reel.description().meshes.iter().enumerate();
        let meshes = records.map(|(number, mesh)| {
            Ok(MeshInfo {
                path: mesh.path.clone(),
                vertices: mesh.vertices,
                triangles: mesh.indices / 3,
                faces_change: mesh.method == Method::Fluid,
                animated: animated(mesh),
                lods: reel.lod_count(number)?,
                materials: mesh.materials.iter().map(|material| material.name.clone()).collect(),
                kind: match mesh.particles.map(|particles| particles.curves.is_some()) {
                    None => "mesh".into(),
                    Some(false) => "particles".into(),
                    Some(true) => "curves".into(),
                },
            })
        });
        let meshes: Result<_, Error> = py.detach(|| meshes.collect());
        meshes.map_err(|error| from_runtime(py, error))
    }

    /// A list of NodeInfo, in the order of Frame.nodes.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<NodeInfo>> {
        self.reel(py).map(|_| self.nodes.to_vec())
    }

    /// A list of Rig: rigs of meshes, which any pose of their skeleton moves.
    #[getter]
    fn rigs(&self, py: Python<'_>) -> PyResult<Vec<Rig>> {
        Rig::all(py, &self.reel(py)?, &self.origin)
    }

    /// A list of Camera, with the values of their lenses in each frame.
    #[getter]
    fn cameras(&self, py: Python<'_>) -> PyResult<Vec<PyCamera>> {
        let reel = self.reel(py)?;
        let cameras = py.detach(|| reel.cameras()).map_err(|error| from_runtime(py, error))?;
        cameras.iter().map(|camera| PyCamera::new(py, camera, reel.frame_count())).collect()
    }

    /// A list of Clip: skeletal animations.
    #[getter]
    fn clips(&self, py: Python<'_>) -> PyResult<Vec<PyClip>> {
        PyClip::all(py, &self.reel(py)?, &self.origin)
    }
}

/// Returns the name of a length unit from its number in files.
pub fn unit(number: u8) -> Option<&'static str> {
    match number {
        1 => Some("m"),
        2 => Some("cm"),
        3 => Some("mm"),
        4 => Some("in"),
        _ => None,
    }
}
