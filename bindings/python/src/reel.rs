//! Open files.

use crate::arguments::{constructor_arguments, list};
use crate::arrays::{Array, array, writable};
use crate::camera::PyCamera;
use crate::clip::PyClip;
use crate::errors::{from_runtime, misuse};
use crate::frame::{Channels, DecodedMoment, Frame, FrameRequest, NodeInfo};
use crate::moment::BlendPosition;
use crate::origin::Origin;
use crate::rig::Rig;
use crate::shared::SharedArrays;
use meshreel::raw::record::{MeshRecord, Method, Semantic, Visibility};
use meshreel::{Error, FrameDecoder, FrameView, MeshView, Reel};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex, PoisonError};

/// An open .reel, a sequence of frames. `meshreel.open` makes one; as a context manager it closes itself.
///
/// Threads may share it: each decodes with a decoder of its own.
#[pyclass(module = "meshreel", name = "Reel", frozen)]
pub struct PyReel {
    /// None once it is closed.
    reel: Mutex<Option<Reel>>,
    /// Those that no thread uses; the last one was used last.
    decoders: Mutex<Vec<FrameDecoder>>,
    nodes: Arc<[NodeInfo]>,
    /// The arrays that all frames share, by mesh.
    shared: Vec<SharedArrays>,
    origin: Origin,
}

/// What is said of a mesh without decoding a frame.
#[pyclass(module = "meshreel", frozen, get_all, new = "from_fields")]
pub struct MeshInfo {
    /// Path of the mesh in the source.
    path: String,
    /// Vertices; of a mesh whose faces change the most that any frame has.
    vertices: u32,
    /// Triangles; of a mesh whose faces change the most that any frame has.
    triangles: u32,
    /// Whether its faces, and the number of its vertices, change.
    faces_change: bool,
    /// What changes from frame to frame: some of "triangles", "positions", "normals", "tangents", "uvs",
    /// "colours".
    animated: Vec<String>,
    /// Levels of detail, the mesh itself being one.
    lods: usize,
    /// Names of its materials.
    materials: Vec<String>,
    /// "mesh", "particles" or "curves".
    kind: String,
}

/// Channels whose values are not the same in all frames.
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

/// What is written into the caller's array.
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

    /// A frame's number; negative ones count from the end.
    fn frame_number(reel: &Reel, frame: isize) -> PyResult<usize> {
        let count = reel.frame_count();
        let number = if frame < 0 { frame + count as isize } else { frame };
        let number = usize::try_from(number).ok().filter(|&number| number < count);
        number.ok_or_else(|| PyIndexError::new_err(format!("frame {frame} of {count}")))
    }

    /// One that shows a frame: the one that shows it already, else the one that was used last.
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

    /// For the next one; of a file that was closed meanwhile it goes.
    fn give_back(&self, decoder: FrameDecoder) {
        if self.reel.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            self.decoders.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        }
    }

    /// What is asked of a moment; decoders of the frames around it are taken and given back.
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
                let moment = DecodedMoment::from_view(&first, &view, at.time, &self.shared, asked)?;
                // What was used last is the one to go on with.
                self.give_back(first);
                self.give_back(second);
                moment
            } else {
                let moment = DecodedMoment::from_frame(&first, &self.shared, asked)?;
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

/// The meshes that are asked for.
fn mesh_numbers(reel: &Reel, asked: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<usize>> {
    let count = reel.description().meshes.len();
    let meshes = list("meshes", asked, "[0, 2]")?.unwrap_or_else(|| (0..count).collect());
    match meshes.iter().find(|&&mesh| mesh >= count) {
        Some(mesh) => Err(PyIndexError::new_err(format!("mesh {mesh} of {count}"))),
        None => Ok(meshes),
    }
}

/// Writes one channel into the caller's array; the number of vertices.
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
        let shared = reel.description().meshes.iter().map(SharedArrays::new).collect();
        Ok(PyReel { reel: Mutex::new(Some(reel)), decoders: Mutex::default(), nodes, shared, origin })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Option<u64>)> {
        self.reel(py)?;
        self.origin.arguments(py)
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

    /// The frame, decoded: nodes and meshes with arrays that no other frame changes.
    ///
    /// frame: its number; negative ones count from the end. IndexError where there is none. channels: names
    /// of what is decoded beside positions and triangles: some of "normals", "tangents", "uvs", "colours",
    /// "velocities"; all but velocities, which need a second frame, by default. Fewer take less time, normals
    /// above all. meshes: numbers of those in Reel.meshes that are wanted, in the order of Frame.meshes; all
    /// by default. lod: level of detail of the triangles; the coarsest where a mesh has fewer.
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

    /// The moment so many seconds into the timeline of Reel.times, between two frames interpolated.
    ///
    /// What is not there in both frames, and a mesh whose faces change, is as in the frame before. Named
    /// parts of the animation (Reel.ranges) lead nowhere. Beyond its ends the first or the last frame stands.
    /// channels, meshes, lod: as for `frame`. wrap: beyond its ends it starts over; the last frame of a
    /// closed cycle leads to the first.
    ///
    /// MisuseError where seconds is no finite number.
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
        self.write_channel(py, (frame, mesh), out, WritableChannel::Positions)
    }

    /// The same for unit normals. MisuseError where the mesh has none.
    fn normals_into(
        &self,
        py: Python<'_>,
        frame: isize,
        mesh: usize,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        self.write_channel(py, (frame, mesh), out, WritableChannel::Normals)
    }

    /// The file's path, or None where it was opened from bytes.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.reel(py).map(|_| self.origin.path())
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

    /// A list of Rig: meshes that any pose of their skeleton moves.
    #[getter]
    fn rigs(&self, py: Python<'_>) -> PyResult<Vec<Rig>> {
        Rig::all(py, &self.reel(py)?, &self.origin)
    }

    /// A list of Camera: what their lenses say in each frame.
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
