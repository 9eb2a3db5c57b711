//! Source maps, as far as they are kept.

use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::Normals;
use crate::method::mesh_coder::MeshCoder;
use meshreel_codec::record::source_map::SourceMap;

/// Returns the source map of a mesh; that of a mesh whose faces change has no vertices.
pub fn of_mesh(plan: &MeshPlan<'_>) -> SourceMap {
    let made_normals = plan.prepared.normals == Normals::Made;
    let Some(fixed) = &plan.prepared.fixed else {
        return SourceMap { made_normals, ..SourceMap::default() };
    };
    SourceMap {
        made_normals,
        starts: fixed.starts.clone(),
        others: fixed.others.clone(),
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
pub fn of_changing(plan: &MeshPlan<'_>, coder: Option<&MeshCoder<'_>>) -> Option<SourceMap> {
    if plan.prepared.fixed.is_some() {
        return None;
    }
    let mut map = of_mesh(plan);
    if let Some(coder) = coder {
        (map.runs, map.run_of) = coder.source_runs();
    }
    Some(map).filter(|map| *map != SourceMap::default())
}
