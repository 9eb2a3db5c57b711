//! Source maps: the origin of the vertices of an open file's meshes.

use crate::reel::chunk_content::slice;
use crate::reel::open_file::Reel;
use crate::{Error, error};
use meshreel_codec::record::source_map;
use meshreel_codec::record::source_map::SourceMap;

impl Reel {
    /// Reads the source map of a mesh: from its vertices and triangles to the source's points and faces.
    /// `None` if it was stripped, or if vertices come with each frame.
    pub fn source_map(&self, mesh: usize) -> Result<Option<SourceMap>, Error> {
        match self.mesh_record(mesh)?.method {
            method if method.changes() => Ok(None),
            _ => self.full_source_map(mesh),
        }
    }

    /// Reads whether the normals of a mesh were generated because the source had none; `false` if the file
    /// does not say (stripped).
    pub fn has_generated_normals(&self, mesh: usize) -> Result<bool, Error> {
        let map = self.full_source_map(mesh)?;
        Ok(map.is_some_and(|map| map.computed_normals))
    }

    /// Reads the source map of any mesh; `None` if it was stripped. That of a fluid mesh maps vertices only
    /// by frame ([`SourceMap::frame_map`]).
    pub fn full_source_map(&self, mesh: usize) -> Result<Option<SourceMap>, Error> {
        let record = self.mesh_record(mesh)?;
        if record.source_map.size == 0 {
            return Ok(None);
        }
        let at = || format!("source map of {}", record.path);
        let chunk = self.source_map_chunk(record.source_map.chunk)?;
        let bytes = slice(self.path(), &chunk, record.source_map, at)?;
        let (map, used) = source_map::decode(bytes).map_err(|c| error::corrupt(self.path(), c, at()))?;
        let [points, vertices, indices] = match record.method {
            method if method.changes() => [0; 3],
            _ => [record.source_points, record.vertices, record.indices],
        };
        let fits = used == bytes.len()
            && map.points == points
            && map.vertex_point.len() == vertices as usize
            && map.triangle_face.len() == indices as usize / 3
            && map.vertex_point.iter().all(|&p| p < map.points)
            && map.triangle_face.iter().all(|&f| f < map.faces);
        if !fits {
            return Err(Error::malformed(self.path(), "the map does not fit its mesh", at()));
        }
        Ok(Some(map))
    }
}
