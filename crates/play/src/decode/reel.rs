//! Access to the static data of an open file's meshes, which is read when it is first asked for.

use crate::Error;
use crate::decode::mesh::MeshView;
use crate::reel::lod::LodTriangles;
use crate::reel::open_file::Reel;
use crate::reel::statics::Statics;
use meshreel_codec::topology::grid;
use std::sync::Arc;

impl Reel {
    /// Returns the triangle indices of a mesh with fixed topology; empty for other meshes, whose indices come
    /// with each frame.
    pub fn indices(&self, mesh: usize) -> Result<Vec<u32>, Error> {
        self.mesh_record(mesh)?;
        Ok(self.statics()?.meshes[mesh].indices.clone())
    }

    /// Returns the triangles of an LOD level of a mesh with fixed topology; 0 is the mesh itself. `None` if
    /// there is no such level.
    pub fn lod(&self, mesh: usize, level: usize) -> Result<Option<LodTriangles>, Error> {
        let record = self.mesh_record(mesh)?;
        let statics = self.statics()?;
        let own = &statics.meshes[mesh];
        if record.method.changes() || level > own.lods.len() {
            return Ok(None);
        }
        let view = MeshView::new(self, &statics, mesh, None);
        Ok(Some(LodTriangles::from(view.lod(level))))
    }

    /// Returns the numbers of a mesh's triangles that are left out in the first frame, in the last, and in
    /// all; `None` if all are always visible.
    pub fn hidden_triangles(&self, mesh: usize) -> Result<Option<[usize; 3]>, Error> {
        self.mesh_record(mesh)?;
        let statics = self.statics()?;
        let frames = self.frame_count() as u32;
        let visibility = statics.meshes[mesh].visibility.as_ref();
        Ok(visibility.map(|visibility| visibility.hidden_counts(frames)))
    }

    /// Returns the number of LOD levels of a mesh, including the mesh itself.
    pub fn lod_count(&self, mesh: usize) -> Result<usize, Error> {
        self.mesh_record(mesh)?;
        Ok(1 + self.statics()?.meshes[mesh].lods.len())
    }

    /// Returns the vertices per row and the rows of a mesh whose triangles are not stored because they form a
    /// regular grid.
    pub fn grid(&self, mesh: usize) -> Result<Option<[u32; 2]>, Error> {
        let record = self.mesh_record(mesh)?;
        if record.method.changes() || record.connectivity.size == 0 {
            return Ok(None);
        }
        let statics = self.statics()?;
        let shape = grid::read_shape(&statics.meshes[mesh].key.connectivity);
        Ok(shape.map(|shape| [shape.width, shape.height]))
    }

    /// Returns the static data of all meshes, which is read at the first call and shared afterwards.
    pub(crate) fn statics(&self) -> Result<Arc<Statics>, Error> {
        self.statics_or(|| Statics::load(self))
    }
}
