//! A decoded frame as arrays of its own.

use crate::arrays::{Array, array, rows};
use crate::errors::misuse;
use meshreel::record::Semantic;
use meshreel::{Error, FrameDecoder, MeshView};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// What a frame is asked for beside positions and triangles.
#[derive(Clone, Copy)]
pub struct Channels {
    normals: bool,
    tangents: bool,
    uvs: bool,
    colours: bool,
}

impl Channels {
    /// By name; all where there are no names.
    pub fn named(py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Channels> {
        let Some(names) = names else {
            return Ok(Channels { normals: true, tangents: true, uvs: true, colours: true });
        };
        let mut channels = Channels { normals: false, tangents: false, uvs: false, colours: false };
        for name in names {
            match &name[..] {
                "positions" => {}
                "normals" => channels.normals = true,
                "tangents" => channels.tangents = true,
                "uvs" => channels.uvs = true,
                "colours" => channels.colours = true,
                _ => {
                    let what = format!(
                        "'{name}' is no channel: give some of positions, normals, tangents, uvs, colours"
                    );
                    return Err(misuse(py, what));
                }
            }
        }
        Ok(channels)
    }
}

/// Numbers of one mesh, not yet Python's.
pub struct Decoded {
    path: String,
    positions: Vec<f32>,
    indices: Vec<u32>,
    normals: Option<Vec<f32>>,
    tangents: Option<Vec<f32>>,
    uvs: Vec<Vec<f32>>,
    colours: Vec<Vec<f32>>,
    /// Name, first triangle, number of triangles.
    materials: Vec<(String, u32, u32)>,
}

impl Decoded {
    /// Of the frame that the decoder shows.
    pub fn new(mesh: MeshView<'_>, channels: Channels) -> Result<Decoded, Error> {
        let record = mesh.record();
        let count = mesh.vertex_count();
        let mut positions = vec![0.0; 3 * count];
        mesh.positions_into(&mut positions)?;
        let mut normals = (channels.normals && mesh.has_normals()).then(|| vec![0.0; 3 * count]);
        let mut tangents = (channels.tangents && mesh.has_tangents()).then(|| vec![0.0; 4 * count]);
        match (&mut normals, &mut tangents) {
            (Some(normals), Some(tangents)) => mesh.directions_into(normals, tangents)?,
            (Some(normals), None) => mesh.normals_into(normals)?,
            (None, Some(tangents)) => mesh.tangents_into(tangents)?,
            (None, None) => {}
        }
        let sets = |semantic: Semantic, wanted: bool| {
            let streams = record.streams.iter().filter(move |s| wanted && s.semantic == semantic);
            streams.map(|s| s.set)
        };
        let uvs = sets(Semantic::Uv, channels.uvs).map(|set| {
            let mut values = vec![0.0; 2 * count];
            mesh.uvs_into(set, &mut values).map(|()| values)
        });
        let colours = sets(Semantic::Colour, channels.colours).map(|set| {
            let mut values = vec![0.0; 4 * count];
            mesh.colours_into(set, &mut values).map(|()| values)
        });
        let materials = record.materials.iter().zip(mesh.materials());
        Ok(Decoded {
            path: record.path.clone(),
            uvs: uvs.collect::<Result<_, _>>()?,
            colours: colours.collect::<Result<_, _>>()?,
            positions,
            normals,
            tangents,
            indices: mesh.indices().to_vec(),
            materials: materials
                .map(|(m, range)| (m.name.clone(), range.first / 3, range.count / 3))
                .collect(),
        })
    }

    /// As Python has it.
    fn bound(self, py: Python<'_>) -> PyResult<Mesh> {
        let all = |sets: Vec<Vec<f32>>, columns: usize| -> PyResult<Py<PyList>> {
            let arrays: Vec<Array<f32>> =
                sets.into_iter().map(|values| rows(py, values, columns)).collect::<PyResult<_>>()?;
            Ok(PyList::new(py, arrays)?.unbind())
        };
        Ok(Mesh {
            path: self.path,
            positions: rows(py, self.positions, 3)?,
            triangles: rows(py, self.indices, 3)?,
            normals: self.normals.map(|values| rows(py, values, 3)).transpose()?,
            tangents: self.tangents.map(|values| rows(py, values, 4)).transpose()?,
            uvs: all(self.uvs, 2)?,
            colours: all(self.colours, 4)?,
            materials: PyList::new(py, self.materials)?.unbind(),
        })
    }
}

/// A mesh of one frame. Its arrays belong to whoever has them: no other frame changes them.
#[pyclass(module = "meshreel", frozen)]
pub struct Mesh {
    /// Path of the mesh in the source.
    #[pyo3(get)]
    path: String,
    /// float32 (vertices, 3): x, y, z in the mesh's own space, in the file's length unit (Reel.unit).
    #[pyo3(get)]
    positions: Array<f32>,
    /// uint32 (triangles, 3): vertices of each triangle, counter-clockwise seen from outside.
    #[pyo3(get)]
    triangles: Array<u32>,
    /// float32 (vertices, 3): unit normals; None where there are none, or they were not asked for.
    #[pyo3(get)]
    normals: Option<Array<f32>>,
    /// float32 (vertices, 4): unit tangents, and the sign of the bitangent cross(normal, tangent) * w; or None.
    #[pyo3(get)]
    tangents: Option<Array<f32>>,
    /// A list with a float32 array (vertices, 2) for each set.
    #[pyo3(get)]
    uvs: Py<PyList>,
    /// A list with a float32 array (vertices, 4), red, green, blue, alpha, for each set.
    #[pyo3(get)]
    colours: Py<PyList>,
    /// (name, first triangle, number of triangles) of each material.
    #[pyo3(get)]
    materials: Py<PyList>,
}

#[pymethods]
impl Mesh {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let count = self.positions.bind(py).len()?;
        Ok(format!("<meshreel.Mesh {} with {count} vertices>", self.path))
    }
}

/// A node of one frame.
#[pyclass(module = "meshreel", frozen)]
pub struct Node {
    /// Path of the object in the source.
    #[pyo3(get)]
    path: String,
    /// Number of the parent in Frame.nodes, or None; parents stand before children.
    #[pyo3(get)]
    parent: Option<u32>,
    /// Number of its mesh in Frame.meshes, or None.
    #[pyo3(get)]
    mesh: Option<u32>,
    /// Whether its mesh, if it has one, is shown in this frame.
    #[pyo3(get)]
    visible: bool,
    /// float64 (4, 4): from the mesh's space to the world; columns are the axes, the last one is where the origin lies.
    #[pyo3(get)]
    world: Array<f64>,
    /// (x, y, z, w): rotation relative to the parent.
    #[pyo3(get)]
    rotation: (f32, f32, f32, f32),
    /// (x, y, z) relative to the parent, in the file's length unit.
    #[pyo3(get)]
    translation: (f32, f32, f32),
    /// (x, y, z) relative to the parent.
    #[pyo3(get)]
    scale: (f32, f32, f32),
}

#[pymethods]
impl Node {
    fn __repr__(&self) -> String {
        format!("<meshreel.Node {}>", self.path)
    }
}

impl Node {
    fn new(py: Python<'_>, decoder: &FrameDecoder, node: usize) -> PyResult<Node> {
        let record = &decoder.reel().description().nodes[node];
        let local = decoder.transform(node);
        let mut world: Vec<f64> = decoder.world(node).concat();
        world.extend([0.0, 0.0, 0.0, 1.0]);
        let ([x, y, z, w], [tx, ty, tz], [sx, sy, sz]) = (local.rotation, local.translation, local.scale);
        Ok(Node {
            path: record.path.clone(),
            parent: record.parent,
            mesh: record.mesh,
            visible: decoder.visible(node),
            world: array(py, world, &[4, 4])?,
            rotation: (x, y, z, w),
            translation: (tx, ty, tz),
            scale: (sx, sy, sz),
        })
    }
}

/// What a frame shows: nodes and meshes, with arrays of its own.
#[pyclass(module = "meshreel", frozen)]
pub struct Frame {
    /// Number of the frame, from 0.
    #[pyo3(get)]
    index: usize,
    /// Seconds.
    #[pyo3(get)]
    time: f64,
    /// float32 (2, 3): the least and the largest corner, in world space, of all that is shown.
    #[pyo3(get)]
    bounds: Array<f32>,
    /// A list of Node.
    #[pyo3(get)]
    nodes: Py<PyList>,
    /// A list of Mesh.
    #[pyo3(get)]
    meshes: Py<PyList>,
}

#[pymethods]
impl Frame {
    fn __repr__(&self) -> String {
        format!("<meshreel.Frame {} at {} s>", self.index, self.time)
    }
}

impl Frame {
    /// The frame that a decoder shows, whose meshes were decoded to `meshes`.
    pub fn new(
        py: Python<'_>,
        decoder: &FrameDecoder,
        index: usize,
        meshes: Vec<Decoded>,
    ) -> PyResult<Frame> {
        let reel = decoder.reel();
        let nodes = 0..reel.description().nodes.len();
        let nodes: Vec<Node> = nodes.map(|node| Node::new(py, decoder, node)).collect::<PyResult<_>>()?;
        let meshes: Vec<Mesh> = meshes.into_iter().map(|mesh| mesh.bound(py)).collect::<PyResult<_>>()?;
        Ok(Frame {
            index,
            time: reel.time(index),
            bounds: array(py, reel.frame_bounds(index).to_vec(), &[2, 3])?,
            nodes: PyList::new(py, nodes)?.unbind(),
            meshes: PyList::new(py, meshes)?.unbind(),
        })
    }
}
