//! Access to the static data of an open file's meshes, which is read when it is first asked for.

use crate::Error;
use crate::decode::mesh::MeshView;
use crate::reel::chunk_content::slice;
use crate::reel::lod::LodTriangles;
use crate::reel::open_file::Reel;
use crate::reel::statics::Statics;
use meshreel_codec::topology::grid;
use meshreel_format::kind;
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
        if self.chunks_of(kind::VISIBILITY).next().is_none() {
            return Ok(None);
        }
        let statics = self.statics()?;
        let frames = self.frame_count() as u32;
        let visibility = statics.meshes[mesh].visibility.as_ref();
        Ok(visibility.map(|visibility| visibility.hidden_counts(frames)))
    }

    /// Returns the number of LOD levels of a mesh, including the mesh itself.
    pub fn lod_count(&self, mesh: usize) -> Result<usize, Error> {
        self.mesh_record(mesh)?;
        if self.chunks_of(kind::LOD).next().is_none() {
            return Ok(1);
        }
        Ok(1 + self.statics()?.meshes[mesh].lods.len())
    }

    /// Returns the vertices per row and the rows of a mesh whose triangles are not stored because they form a
    /// regular grid.
    pub fn grid(&self, mesh: usize) -> Result<Option<[u32; 2]>, Error> {
        self.mesh_record(mesh)?;
        Ok(self.grids_or(|| self.read_grids())?[mesh])
    }

    /// Reads the sizes of all grids, not all static data, of which they are a small part.
    fn read_grids(&self) -> Result<Vec<Option<[u32; 2]>>, Error> {
        let records = &self.description().meshes;
        let mut all = vec![None; records.len()];
        let stored = |m: &usize| {
            let record = &records[*m];
            !record.method.changes() && record.particles.is_none() && record.connectivity.size > 0
        };
        let wanted = (0..records.len()).filter(stored).map(|m| (Some(records[m].connectivity.chunk), m));
        self.each_chunk(wanted.collect(), |content, m| {
            let at = || format!("indices of mesh {}", records[m].path);
            let shape = grid::read_shape(slice(self.path(), content, records[m].connectivity, at)?);
            all[m] = shape.map(|shape| [shape.width, shape.height]);
            Ok(())
        })?;
        Ok(all)
    }

    /// Returns the static data of all meshes, which is read at the first call and shared afterwards.
    pub(crate) fn statics(&self) -> Result<Arc<Statics>, Error> {
        self.statics_or(|| Statics::load(self))
    }
}
