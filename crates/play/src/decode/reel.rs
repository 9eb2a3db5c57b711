//! What an open file says of the static data of its meshes, which is read when it is asked for.

use crate::Error;
use crate::decode::mesh::MeshView;
use crate::reel::lod::LodTriangles;
use crate::reel::open_file::Reel;
use crate::reel::statics::Statics;
use meshreel_codec::topology::grid;
use std::sync::Arc;

impl Reel {
    /// Triangle indices of a mesh with fixed topology (empty for others: theirs come with each frame).
    pub fn indices(&self, mesh: usize) -> Result<Vec<u32>, Error> {
        self.mesh_record(mesh)?;
        Ok(self.statics()?.meshes[mesh].indices.clone())
    }

    /// The triangles of a level of detail, of a mesh with fixed topology that has so many levels; 0 is the
    /// mesh itself.
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

    /// Triangles of a mesh that are left out in the first frame, in the last, and in all; none where all are
    /// always drawn.
    pub fn hidden_triangles(&self, mesh: usize) -> Result<Option<[usize; 3]>, Error> {
        self.mesh_record(mesh)?;
        let statics = self.statics()?;
        let frames = self.frame_count() as u32;
        let visibility = statics.meshes[mesh].visibility.as_ref();
        Ok(visibility.map(|visibility| visibility.hidden(frames)))
    }

    /// Levels of detail of a mesh, the mesh itself being one.
    pub fn lods(&self, mesh: usize) -> Result<usize, Error> {
        self.mesh_record(mesh)?;
        Ok(1 + self.statics()?.meshes[mesh].lods.len())
    }

    /// Vertices of a row and rows of a mesh whose triangles are not stored, because they are those of a
    /// regular grid.
    pub fn grid(&self, mesh: usize) -> Result<Option<[u32; 2]>, Error> {
        let record = self.mesh_record(mesh)?;
        if record.method.changes() || record.connectivity.size == 0 {
            return Ok(None);
        }
        let statics = self.statics()?;
        let shape = grid::shape(&statics.meshes[mesh].made_of.connectivity);
        Ok(shape.map(|shape| [shape.width, shape.height]))
    }

    /// Static data of all meshes: read at the first call, shared afterwards.
    pub(crate) fn statics(&self) -> Result<Arc<Statics>, Error> {
        self.statics_or(|| Statics::load(self))
    }
}
