//! Re-meshing of a scene (`--remesh`): passes the compiled content on to `process`.

use crate::Error;
use crate::context::Content;
use crate::nodes::motion::Motion;
use crate::report::Log;
use meshreel_options::Tolerance;
use meshreel_process::remesh;
use std::sync::Arc;

/// Returns the content with constant faces instead of changing ones, where that is requested and possible.
pub fn remesh_faces(
    content: Content,
    selected: &[bool],
    motion: &Motion,
    log: &mut Log,
) -> Result<Content, Error> {
    let options = &*content.options;
    let given = remesh::RemeshRequest {
        scene: &content.scene,
        placed: &content.placed,
        selected,
        times: &content.times,
        visible: &motion.visible,
        largest_scale: &motion.largest_scale,
        broken: &motion.broken,
        tolerance: &|path, diagonal| match content.by_path.tolerance(path) {
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(part) => part * diagonal,
        },
        asked: &|path| content.by_path.remesh(path),
        settings: remesh::RemeshSettings {
            effort: options.effort,
            memory: options.memory,
            cycle: options.cycle,
            blend: options.remesh_blend,
            channels: options.channels,
        },
        cancellation: &content.cancellation,
    };
    let mut remarks = Vec::new();
    let outcome = remesh::remesh(&given, &mut remarks)?;
    log.remarks.append(&mut remarks);
    let Some(outcome) = outcome else { return Ok(content) };
    outcome.sentences().for_each(|what| log.pass("remesh", what));
    let remeshed = outcome.meshes.into_iter().map(|mesh| mesh.map(Arc::new)).collect();
    Ok(Content { scene: Arc::new(outcome.scene), remeshed, ..content })
}
