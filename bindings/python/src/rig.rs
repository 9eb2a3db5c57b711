//! Rigs: what moves a mesh in any pose of its skeleton.

use crate::arrays::{Array, array};
use crate::clip::Pose;
use crate::errors::from_runtime;
use crate::origin::Origin;
use meshreel::clip::object_space;
use meshreel::{MeshRig, Reel};
use pyo3::prelude::*;

/// Bind pose and weights of a mesh that was compiled with rig=True: any pose of the skeleton moves it.
#[pyclass(module = "meshreel", frozen)]
pub struct Rig {
    rig: MeshRig,
    /// Of the skeleton.
    parents: Vec<u32>,
    /// The largest number of joints that move one vertex.
    most: usize,
    /// The file, and the number of the rig in it.
    origin: (Origin, usize),
}

impl Rig {
    /// Reads all rigs of a file.
    pub fn all(py: Python<'_>, reel: &Reel, origin: &Origin) -> PyResult<Vec<Rig>> {
        let read = py.detach(|| Ok((reel.rigs()?, reel.skeletons()?)));
        let (rigs, skeletons) = read.map_err(|error| from_runtime(py, error))?;
        let rigs = rigs.into_iter().enumerate().map(|(number, rig)| {
            let parents = skeletons.get(rig.skeleton()).map(|skeleton| skeleton.parents.clone());
            let most = (0..rig.vertex_count()).map(|vertex| rig.influences(vertex).count()).max();
            let origin = (origin.clone(), number);
            Rig { rig, parents: parents.unwrap_or_default(), most: most.unwrap_or(0), origin }
        });
        Ok(rigs.collect())
    }

    /// One number for each influence of each vertex, 0 where there are fewer.
    fn per_influence<T: numpy::Element + Copy + Default>(
        &self,
        py: Python<'_>,
        value: impl Fn((usize, f32)) -> T,
    ) -> PyResult<Array<T>> {
        let mut values = vec![T::default(); self.rig.vertex_count() * self.most];
        // There may be no influence at all, and no chunk of 0.
        for (vertex, row) in values.chunks_mut(self.most.max(1)).enumerate() {
            for (out, influence) in row.iter_mut().zip(self.rig.influences(vertex)) {
                *out = value(influence);
            }
        }
        array(py, values, &[self.rig.vertex_count(), self.most])
    }
}

#[pymethods]
impl Rig {
    #[new]
    fn reopen(source: &Bound<'_, PyAny>, max_memory: Option<u64>, number: usize) -> PyResult<Rig> {
        let (py, origin) = (source.py(), Origin::new(source, max_memory)?);
        origin.item(py, number, |reel| Rig::all(py, reel, &origin))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Option<u64>, usize)> {
        let (origin, number) = &self.origin;
        let (source, max_memory) = origin.arguments(py)?;
        Ok((source, max_memory, *number))
    }

    fn __repr__(&self) -> String {
        format!("<meshreel.Rig of mesh {}, {} joints>", self.rig.mesh(), self.rig.joints().len())
    }

    /// Number of its mesh in Reel.meshes.
    #[getter]
    fn mesh(&self) -> usize {
        self.rig.mesh()
    }

    /// Number of the skeleton: clips with the same Clip.skeleton move the mesh.
    #[getter]
    fn skeleton(&self) -> usize {
        self.rig.skeleton()
    }

    /// int32 (joints of the rig,): their numbers in Clip.joints.
    #[getter]
    fn joints(&self, py: Python<'_>) -> PyResult<Array<i32>> {
        let joints: Vec<i32> = self.rig.joints().iter().map(|&joint| joint as i32).collect();
        let count = joints.len();
        array(py, joints, &[count])
    }

    /// float32 (joints of the rig, 4, 4): from the bind pose to each joint's space.
    #[getter]
    fn inverse_bind(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        let matrices = self.rig.inverse_bind();
        let values =
            matrices.iter().flat_map(|m| m.concat().into_iter().chain([0.0, 0.0, 0.0, 1.0])).collect();
        array(py, values, &[matrices.len(), 4, 4])
    }

    /// float32 (vertices, 3): the mesh in the bind pose, in the skeleton's space.
    #[getter]
    fn bind_positions(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        let count = self.rig.vertex_count();
        array(py, (0..count).flat_map(|vertex| self.rig.bind_position(vertex)).collect(), &[count, 3])
    }

    /// int32 (vertices, most influences): joints of the rig that move each vertex; their weights are in
    /// `weights`.
    #[getter]
    fn influences(&self, py: Python<'_>) -> PyResult<Array<i32>> {
        self.per_influence(py, |(joint, _)| joint as i32)
    }

    /// float32 (vertices, most influences): with a sum of 1, or all 0 where a vertex stays as it was bound.
    #[getter]
    fn weights(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        self.per_influence(py, |(_, weight)| weight)
    }

    /// float32 (vertices,): the part, 0 to 1, of how joints move each vertex that dual quaternions blend, the
    /// rest being linear.
    #[getter]
    fn dual(&self, py: Python<'_>) -> PyResult<Array<f32>> {
        let count = self.rig.vertex_count();
        array(py, (0..count).map(|vertex| self.rig.dual_quaternion_weight(vertex)).collect(), &[count])
    }

    /// Promised: the largest distance of any vertex from where the source's rig puts it, in the file's length
    /// unit.
    #[getter]
    fn tolerance(&self) -> f64 {
        self.rig.tolerance()
    }

    /// float32 (vertices, 3): the mesh as a pose of the skeleton moves it, in the skeleton's space.
    ///
    /// MisuseError for a pose of another number of joints.
    fn positions(&self, py: Python<'_>, pose: &Pose) -> PyResult<Array<f32>> {
        let local = pose.transforms(py, self.parents.len())?;
        let positions = py.detach(|| {
            let mut object = vec![Default::default(); local.len()];
            object_space(&self.parents, &local, &mut object);
            let mut matrices = vec![Default::default(); self.rig.joints().len()];
            self.rig.matrices(&object, &mut matrices);
            let mut out = vec![[0.0; 3]; self.rig.vertex_count()];
            self.rig.positions(&matrices, &mut out);
            out
        });
        array(py, positions.concat(), &[positions.len(), 3])
    }
}
