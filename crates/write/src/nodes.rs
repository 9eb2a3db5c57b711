//! Nodes that formats with a tree hold.

use meshreel_scene::{NodeId, NodeKind, Scene};

/// Returns for each node whether it is written: transforms, meshes, points, curves and cameras, instances of
/// these, and all nodes above them.
pub(crate) fn written_nodes(scene: &Scene) -> Vec<bool> {
    let nodes = &scene.nodes;
    let is_content = |id: NodeId| match nodes[id].kind {
        NodeKind::Xform | NodeKind::PolyMesh | NodeKind::SubD => true,
        NodeKind::Points | NodeKind::Curves => nodes[id].mesh.is_some(),
        NodeKind::Camera => nodes[id].camera.is_some(),
        _ => false,
    };
    let mut written: Vec<bool> =
        (0..nodes.len()).map(|id| nodes[id].instance_of.is_none() && is_content(id)).collect();
    // First the ancestors of content, then instances of it and their ancestors.
    for instances in [false, true] {
        for id in (0..nodes.len()).rev() {
            if instances && nodes[id].instance_of.is_some() {
                let mut target = id;
                for _ in 0..nodes.len() {
                    match nodes[target].instance_of {
                        Some(next) => target = next,
                        None => break,
                    }
                }
                written[id] = written[target];
            }
            if let (true, Some(parent)) = (written[id], nodes[id].parent) {
                written[parent] = true;
            }
        }
    }
    written
}
