//! Source maps, as far as they are kept.

use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::NormalOrigin;
use crate::method::mesh_coder::MeshCoder;
use meshreel_codec::record::source_map::SourceMap;

/// Returns the source map of a mesh; that of a mesh whose faces change has no vertices.
pub fn mesh_source_map(plan: &MeshPlan) -> SourceMap {
    let made_normals = plan.prepared.normals == NormalOrigin::Generated;
    let Some(fixed) = &plan.prepared.fixed else {
        return SourceMap { computed_normals: made_normals, ..SourceMap::default() };
    };
    SourceMap {
        computed_normals: made_normals,
        face_starts: fixed.face_starts.clone(),
        other_faces: fixed.undetermined_faces.clone(),
        points: plan.prepared.points as u32,
        corners: fixed.faces.corner_point.len() as u32,
        faces: fixed.face_count as u32,
        vertex_point: fixed.vertex_point.clone(),
        vertex_corner: fixed.vertex_corner.clone(),
        triangle_face: fixed.triangle_face.clone(),
        ..SourceMap::default()
    }
}

/// Returns the source map of a mesh whose faces change, once all of its frames have been coded; `None` if it
/// is empty.
pub fn changing_source_map(plan: &MeshPlan, coder: Option<&MeshCoder>) -> Option<SourceMap> {
    if plan.prepared.fixed.is_some() {
        return None;
    }
    let mut map = mesh_source_map(plan);
    if let Some(coder) = coder {
        (map.run_maps, map.frame_runs) = coder.source_runs();
    }
    Some(map).filter(|map| *map != SourceMap::default())
}
