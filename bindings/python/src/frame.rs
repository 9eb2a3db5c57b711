//! A decoded frame, or a moment between two frames, as arrays that own their memory.

use crate::arguments::{constructor_arguments, list};
use crate::arrays::{Array, array, row, rows};
use crate::clip::Pose;
use crate::constant::{ConstantArrays, Values};
use crate::errors::misuse;
use meshreel::raw::record::Semantic;
use meshreel::{Error, FrameDecoder, FrameView, MeshFrame, MeshView, Transform};
use numpy::{PyReadonlyArray1, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::array::from_fn;
use std::sync::Arc;

/// The vertex attributes to decode besides positions and triangles.
#[derive(Clone, Copy)]
pub struct Channels {
    normals: bool,
    tangents: bool,
    uvs: bool,
    colours: bool,
    pub velocities: bool,
}

impl Channels {
    /// Returns the channels with these names; without names all those that need only one frame.
    pub fn named(py: Python<'_>, names: Option<&Bound<'_, PyAny>>) -> PyResult<Channels> {
        let names: Option<Vec<String>> = list("channels", names, "['normals', 'uvs']")?;
        let all = names.is_none();
        let mut channels =
            Channels { normals: all, tangents: all, uvs: all, colours: all, velocities: false };
        for name in names.unwrap_or_default() {
            match &name[..] {
                "positions" => {}
                "normals" => channels.normals = true,
                "tangents" => channels.tangents = true,
                "uvs" => channels.uvs = true,
                "colours" => channels.colours = true,
                "velocities" => channels.velocities = true,
                _ => {
                    let what = format!(
                        "'{name}' is no channel: give some of positions, normals, tangents, uvs, colours, velocities"
                    );
                    return Err(misuse(py, what));
                }
            }
        }
        Ok(channels)
    }
}

/// The parts of a frame to decode.
pub struct FrameRequest {
    pub channels: Channels,
    /// Numbers of meshes, in the order of the result.
    pub meshes: Vec<usize>,
    /// The LOD level.
    pub level: usize,
}

/// A mesh in one frame, or between two.
#[derive(Clone, Copy)]
enum View<'a> {
    Frame(MeshView<'a>),
    Moment(MeshFrame<'a>),
}

/// Calls the method that both variants have.
macro_rules! of_view {
    ($view:expr, $mesh:ident => $value:expr) => {
        match $view {
            View::Frame($mesh) => $value,
            View::Moment($mesh) => $value,
        }
    };
}

/// The values of one mesh, before they are converted to Python objects.
struct DecodedMesh<'a> {
    path: String,
    positions: Vec<f32>,
    indices: Values<'a, u32>,
    normals: Option<Vec<f32>>,
    tangents: Option<Vec<f32>>,
    velocities: Option<Vec<f32>>,
    uvs: Vec<Values<'a, f32>>,
    colours: Vec<Values<'a, f32>>,
    ids: Option<Vec<u64>>,
    curves: Option<Vec<u32>>,
    widths: Option<Vec<f32>>,
    /// Name, number of components and values of each.
    attached: Vec<(String, usize, Vec<f32>)>,
    /// Name, first triangle, number of triangles.
    materials: Vec<(String, u32, u32)>,
    lod_error: f32,
}

impl<'a> DecodedMesh<'a> {
    /// Decodes `mesh`, from the frame that a decoder shows; `moment` is the same mesh between that frame and
    /// another. `constant` has the arrays of the mesh that frames share.
    fn new(
        mesh: MeshView<'_>,
        moment: Option<MeshFrame<'_>>,
        constant: &'a ConstantArrays,
        asked: &FrameRequest,
    ) -> Result<DecodedMesh<'a>, Error> {
        let (record, channels) = (mesh.record(), asked.channels);
        let count = mesh.vertex_count();
        let view = moment.map_or(View::Frame(mesh), View::Moment);
        let mut positions = vec![0.0; 3 * count];
        of_view!(view, m => m.positions_into(&mut positions))?;
        let mut normals = (channels.normals && mesh.has_normals()).then(|| vec![0.0; 3 * count]);
        let mut tangents = (channels.tangents && mesh.has_tangents()).then(|| vec![0.0; 4 * count]);
        match (&mut normals, &mut tangents) {
            (Some(normals), Some(tangents)) => of_view!(view, m => m.directions_into(normals, tangents))?,
            (Some(normals), None) => of_view!(view, m => m.normals_into(normals))?,
            (None, Some(tangents)) => of_view!(view, m => m.tangents_into(tangents))?,
            (None, None) => {}
        }
        // A mesh that no node shows has no velocity.
        let mut velocities = channels.velocities.then(|| vec![0.0; 3 * count]);
        if let (Some(velocities), Some(moment)) = (&mut velocities, moment) {
            moment.velocities_into(velocities)?;
        }
        let sets = |semantic: Semantic, wanted: bool| {
            let streams = record.streams.iter().enumerate();
            let streams = streams.filter(move |(_, s)| wanted && s.semantic == semantic);
            streams.map(|(number, s)| (s.set, constant.stream(number)))
        };
        let uvs = sets(Semantic::Uv, channels.uvs).map(|(set, place)| {
            Values::new(place, || {
                let mut values = vec![0.0; 2 * count];
                of_view!(view, m => m.uvs_into(set, &mut values)).map(|()| values)
            })
        });
        let colours = sets(Semantic::Colour, channels.colours).map(|(set, place)| {
            Values::new(place, || {
                let mut values = vec![0.0; 4 * count];
                of_view!(view, m => m.colours_into(set, &mut values)).map(|()| values)
            })
        });
        let particles = record.particles.unwrap_or_default();
        let mut widths =
            record.streams.iter().any(|s| s.semantic == Semantic::Width).then(|| vec![0.0; count]);
        if let Some(widths) = &mut widths {
            of_view!(view, m => m.widths_into(widths))?;
        }
        let custom = record.streams.iter().enumerate().filter(|(_, stream)| stream.semantic.is_custom());
        let attached = custom.map(|(number, stream)| {
            let components = stream.semantic.components();
            let mut values = vec![0.0; components * count];
            match view {
                View::Frame(mesh) => mesh.custom_into(number, &mut values),
                View::Moment(mesh) => mesh.custom_into(components as u8, stream.set, &mut values),
            }
            .map(|()| (stream.name.clone(), components, values))
        });
        let level = mesh.lod(asked.level);
        let triangles = constant.triangles(asked.level.min(mesh.lod_count() - 1));
        let materials = record.materials.iter().zip(level.materials);
        Ok(DecodedMesh {
            path: record.path.clone(),
            uvs: uvs.collect::<Result<_, _>>()?,
            colours: colours.collect::<Result<_, _>>()?,
            ids: particles.ids.then(|| mesh.ids().to_vec()),
            curves: particles.curves.map(|_| mesh.curves().to_vec()),
            widths,
            attached: attached.collect::<Result<_, _>>()?,
            positions,
            normals,
            tangents,
            velocities,
            indices: Values::new(triangles, || Ok(level.indices.to_vec()))?,
            materials: materials
                .map(|(m, range)| (m.name.clone(), range.first / 3, range.count / 3))
                .collect(),
            lod_error: level.error,
        })
    }

    /// Converts it to a Python object.
    fn into_mesh(self, py: Python<'_>) -> PyResult<Mesh> {
        let all = |sets: Vec<Values<'_, f32>>, columns: usize| -> PyResult<Py<PyList>> {
            let arrays = sets.into_iter().map(|values| values.into_rows(py, columns));
            let arrays: Vec<Array<f32>> = arrays.collect::<PyResult<_>>()?;
            Ok(PyList::new(py, arrays)?.unbind())
        };
        Ok(Mesh {
            path: self.path,
            positions: rows(py, self.positions, 3)?,
            triangles: self.indices.into_rows(py, 3)?,
            normals: self.normals.map(|values| rows(py, values, 3)).transpose()?,
            tangents: self.tangents.map(|values| rows(py, values, 4)).transpose()?,
            velocities: self.velocities.map(|values| rows(py, values, 3)).transpose()?,
            uvs: all(self.uvs, 2)?,
            colours: all(self.colours, 4)?,
            ids: self.ids.map(|values| row(py, values)).transpose()?,
            curves: self.curves.map(|values| row(py, values)).transpose()?,
            widths: self.widths.map(|values| row(py, values)).transpose()?,
            attached: {
                let out = PyDict::new(py);
                for (name, components, values) in self.attached {
                    out.set_item(name, rows(py, values, components)?)?;
                }
                out.unbind()
            },
            materials: PyList::new(py, self.materials)?.unbind(),
            lod_error: self.lod_error,
        })
    }
}

/// A mesh in one frame. Its arrays own their memory: decoding other frames does not change them. Triangles,
/// uvs and colours that are the same in all frames are one array, which all frames share and which is
/// read-only.
#[pyclass(module = "meshreel", frozen, get_all, new = "from_fields")]
pub struct Mesh {
    /// Path of the mesh in the source.
    path: String,
    /// float32 (vertices, 3): x, y, z in the mesh's own space, in the file's length unit (Reel.unit).
    positions: Array<f32>,
    /// uint32 (triangles, 3): the vertices of each triangle, counter-clockwise seen from outside.
    triangles: Array<u32>,
    /// float32 (vertices, 3): unit normals; None if the mesh has none, or if they were not requested.
    normals: Option<Array<f32>>,
    /// float32 (vertices, 4): unit tangents, and the sign of the bitangent cross(normal, tangent) * w; None
    /// if the mesh has none, or if they were not requested.
    tangents: Option<Array<f32>>,
    /// float32 (vertices, 3): velocities in the mesh's own space, in length units per second; None if they
    /// were not requested. For particles and meshes whose faces change, the velocities of the source, or 0 if
    /// it has none; otherwise the difference of the frames.
    velocities: Option<Array<f32>>,
    /// A list with one float32 array (vertices, 2) for each set.
    uvs: Py<PyList>,
    /// A list with one float32 array (vertices, 4) for each set: red, green, blue, alpha.
    colours: Py<PyList>,
    /// uint64 (vertices): ids of particles, ascending; None if they have no ids.
    ids: Option<Array<u64>>,
    /// uint32 (curves): the number of vertices of each curve; the vertices of one curve follow those of the
    /// one before. None if there are no curves.
    curves: Option<Array<u32>>,
    /// float32 (vertices): diameters of particles or curves; None if the source has none.
    widths: Option<Array<f32>>,
    /// A dict of float32 arrays (vertices, 1 to 4): custom values of particles or curves by name.
    attached: Py<PyDict>,
    /// A list of (name, first triangle, number of triangles), one for each material.
    materials: Py<PyList>,
    /// The largest distance between the triangles of this LOD level and those of the mesh itself, in its own
    /// space; 0 for level 0.
    lod_error: f32,
}

#[pymethods]
impl Mesh {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let count = self.positions.bind(py).len()?;
        Ok(format!("<meshreel.Mesh {} with {count} vertices>", self.path))
    }

    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        constructor_arguments(
            slf,
            "path positions triangles normals tangents velocities uvs colours ids curves widths \
             attached materials lod_error",
        )
    }
}

/// Properties of a node, available without decoding a frame.
#[pyclass(module = "meshreel", frozen, get_all, new = "from_fields", from_py_object)]
#[derive(Clone)]
pub struct NodeInfo {
    /// Path of the object in the source.
    pub path: String,
    /// Number of the parent in Reel.nodes, or None; parents stand before their children.
    pub parent: Option<u32>,
    /// Number of its mesh in Reel.meshes, or None.
    pub mesh: Option<u32>,
    /// True if the node moves relative to its parent.
    pub moves: bool,
    /// True if its mesh is shown in some frames and not in others.
    pub visibility_changes: bool,
}

#[pymethods]
impl NodeInfo {
    fn __repr__(&self) -> String {
        format!("<meshreel.NodeInfo {}>", self.path)
    }

    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        constructor_arguments(slf, "path parent mesh moves visibility_changes")
    }
}

/// The transforms of a node in a frame, and whether it is visible.
#[derive(Clone, Copy)]
struct NodeState {
    visible: bool,
    local: Transform,
    world: [[f64; 4]; 3],
}

impl NodeState {
    fn world(&self) -> Vec<f64> {
        let mut world: Vec<f64> = self.world.concat();
        world.extend([0.0, 0.0, 0.0, 1.0]);
        world
    }
}

/// A node in one frame.
#[pyclass(module = "meshreel", frozen, get_all, new = "from_fields")]
pub struct Node {
    /// Path of the object in the source.
    path: String,
    /// Number of the parent in Frame.nodes, or None; parents stand before their children.
    parent: Option<u32>,
    /// Number of its mesh in Reel.meshes, or None.
    mesh: Option<u32>,
    /// True if its mesh, if it has one, is shown in this frame.
    visible: bool,
    /// float64 (4, 4): the matrix from the mesh's space to the world; its columns are the axes, and the last
    /// one is the position of the origin.
    world: Array<f64>,
    /// (x, y, z, w): the rotation relative to the parent, a quaternion.
    rotation: (f32, f32, f32, f32),
    /// (x, y, z): the translation relative to the parent, in the file's length unit.
    translation: (f32, f32, f32),
    /// (x, y, z): the scale relative to the parent.
    scale: (f32, f32, f32),
}

#[pymethods]
impl Node {
    fn __repr__(&self) -> String {
        format!("<meshreel.Node {}>", self.path)
    }

    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        constructor_arguments(slf, "path parent mesh visible world rotation translation scale")
    }
}

impl Node {
    fn new(py: Python<'_>, info: &NodeInfo, place: &NodeState) -> PyResult<Node> {
        let local = place.local;
        let ([x, y, z, w], [tx, ty, tz], [sx, sy, sz]) = (local.rotation, local.translation, local.scale);
        Ok(Node {
            path: info.path.clone(),
            parent: info.parent,
            mesh: info.mesh,
            visible: place.visible,
            world: array(py, place.world(), &[4, 4])?,
            rotation: (x, y, z, w),
            translation: (tx, ty, tz),
            scale: (sx, sy, sz),
        })
    }
}

/// The requested parts of a frame, before they are converted to Python objects.
pub struct DecodedMoment<'a> {
    index: usize,
    time: f64,
    blend: f32,
    bounds: [f32; 6],
    node_states: Vec<NodeState>,
    meshes: Vec<DecodedMesh<'a>>,
}

impl<'a> DecodedMoment<'a> {
    /// Decodes the frame that the decoder shows. `constant` has the shared arrays of each mesh.
    pub fn from_frame(
        decoder: &FrameDecoder,
        constant: &'a [ConstantArrays],
        asked: &FrameRequest,
    ) -> Result<DecodedMoment<'a>, Error> {
        let (reel, index) = (decoder.reel(), decoder.frame().unwrap_or(0));
        let place = |node| NodeState {
            visible: decoder.visible(node),
            local: decoder.transform(node),
            world: decoder.world(node),
        };
        let meshes = asked.meshes.iter();
        let meshes = meshes.map(|&mesh| DecodedMesh::new(decoder.mesh(mesh), None, &constant[mesh], asked));
        Ok(DecodedMoment {
            index,
            time: reel.time(index),
            blend: 0.0,
            bounds: reel.frame_bounds(index),
            node_states: (0..reel.description().nodes.len()).map(place).collect(),
            meshes: meshes.collect::<Result<_, _>>()?,
        })
    }

    /// Decodes the moment that `view` shows; its first frame is that of `decoder`. `time` is in seconds.
    pub fn from_view(
        decoder: &FrameDecoder,
        view: &FrameView<'_>,
        time: f64,
        constant: &'a [ConstantArrays],
        asked: &FrameRequest,
    ) -> Result<DecodedMoment<'a>, Error> {
        let nodes = &view.reel().description().nodes;
        let mut worlds = vec![Default::default(); nodes.len()];
        view.worlds_into(&mut worlds)?;
        let places = worlds.into_iter().enumerate();
        let places = places
            .map(|(node, world)| NodeState { visible: view.visible(node), local: view.local(node), world })
            .collect();
        let meshes = asked.meshes.iter().map(|&mesh| {
            // Nodes that share a mesh show it alike, except a node that appears or vanishes between the two
            // frames. Prefers a node that does not.
            let mut shown = nodes.iter().enumerate().filter(|(_, node)| node.mesh == Some(mesh as u32));
            let first = shown.clone().next();
            let moves = |node: &usize| view.mesh(*node).is_some_and(|m| m.frames()[0] != m.frames()[1]);
            let node = shown.find(|(node, _)| moves(node)).or(first);
            let moment = node.and_then(|(node, _)| view.mesh(node));
            DecodedMesh::new(decoder.mesh(mesh), moment, &constant[mesh], asked)
        });
        Ok(DecodedMoment {
            index: view.pair().first as usize,
            time,
            blend: view.pair().blend,
            bounds: view.bounds(),
            meshes: meshes.collect::<Result<_, _>>()?,
            node_states: places,
        })
    }
}

/// A frame, or a moment between two frames: nodes and meshes, with arrays that own their memory.
#[pyclass(module = "meshreel", frozen)]
pub struct Frame {
    /// Number of the frame, from 0; between two frames, of the first.
    #[pyo3(get)]
    index: usize,
    /// Weight of the second frame, 0 … 1.
    #[pyo3(get)]
    blend: f32,
    /// Time in seconds.
    #[pyo3(get)]
    time: f64,
    /// float32 (2, 3): the smallest and the largest corner, in world space, of everything that is shown.
    #[pyo3(get)]
    bounds: Array<f32>,
    /// A list of Mesh: all, or those that were requested.
    #[pyo3(get)]
    meshes: Py<PyList>,
    infos: Arc<[NodeInfo]>,
    places: Vec<NodeState>,
    nodes: PyOnceLock<Py<PyList>>,
}

#[pymethods]
impl Frame {
    #[new]
    fn from_arrays(
        moment: (usize, f32, f64),
        bounds: Array<f32>,
        meshes: Py<PyList>,
        infos: Vec<NodeInfo>,
        visible: PyReadonlyArray1<'_, bool>,
        worlds: PyReadonlyArray3<'_, f64>,
        pose: &Bound<'_, Pose>,
    ) -> PyResult<Frame> {
        let py = pose.py();
        let local = pose.get().transforms(py, infos.len())?;
        let (visible, worlds) = (visible.as_array(), worlds.as_array());
        if visible.len() != local.len() || worlds.shape() != [local.len(), 4, 4] {
            return Err(misuse(py, format!("visible and worlds must be of {} nodes", local.len())));
        }
        let places = local.into_iter().enumerate().map(|(node, local)| NodeState {
            visible: visible[node],
            local,
            world: from_fn(|row| from_fn(|column| worlds[[node, row, column]])),
        });
        let (index, blend, time) = moment;
        let (places, nodes) = (places.collect(), PyOnceLock::new());
        Ok(Frame { index, blend, time, bounds, meshes, infos: infos.into(), places, nodes })
    }

    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, frame) = (slf.py(), slf.get());
        let moment = (frame.index, frame.blend, frame.time).into_pyobject(py)?.into_any();
        let infos = frame.infos.to_vec().into_pyobject(py)?;
        let [bounds, meshes] = ["bounds", "meshes"].map(|name| slf.getattr(name));
        let [visible, worlds, pose] = ["visible", "worlds", "pose"].map(|name| slf.getattr(name));
        PyTuple::new(py, [moment, bounds?, meshes?, infos, visible?, worlds?, pose?])
    }

    fn __repr__(&self) -> String {
        format!("<meshreel.Frame {} at {} s>", self.index, self.time)
    }

    /// A list of Node.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        let make = || {
            let nodes = self.infos.iter().zip(&self.places).map(|(info, place)| Node::new(py, info, place));
            Ok(PyList::new(py, nodes.collect::<PyResult<Vec<Node>>>()?)?.unbind())
        };
        self.nodes.get_or_try_init(py, make).map(|nodes| nodes.clone_ref(py))
    }

    /// bool (nodes,): True if the mesh of the node, if it has one, is shown.
    #[getter]
    fn visible(&self, py: Python<'_>) -> PyResult<Array<bool>> {
        array(py, self.places.iter().map(|place| place.visible).collect(), &[self.places.len()])
    }

    /// float64 (nodes, 4, 4): the matrices from each node's space to the world, as Node.world.
    #[getter]
    fn worlds(&self, py: Python<'_>) -> PyResult<Array<f64>> {
        array(py, self.places.iter().flat_map(NodeState::world).collect(), &[self.places.len(), 4, 4])
    }

    /// The transforms of the nodes, each relative to its parent.
    #[getter]
    fn pose(&self, py: Python<'_>) -> PyResult<Pose> {
        let local: Vec<Transform> = self.places.iter().map(|place| place.local).collect();
        Pose::new(py, &local, &[local.len()])
    }
}

impl Frame {
    pub fn new(py: Python<'_>, infos: Arc<[NodeInfo]>, moment: DecodedMoment<'_>) -> PyResult<Frame> {
        let meshes = moment.meshes.into_iter().map(|mesh| mesh.into_mesh(py));
        let meshes: Vec<Mesh> = meshes.collect::<PyResult<_>>()?;
        Ok(Frame {
            index: moment.index,
            blend: moment.blend,
            time: moment.time,
            bounds: array(py, moment.bounds.to_vec(), &[2, 3])?,
            meshes: PyList::new(py, meshes)?.unbind(),
            infos,
            places: moment.node_states,
            nodes: PyOnceLock::new(),
        })
    }
}
