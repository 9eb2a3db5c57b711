//! Merges several files into one scene by node path: geometry from one export and transforms from another
//! meet where their paths are equal. For each property of a node the first file that has it wins; for
//! transforms and visibility, the first in which they move.

use crate::{Channel, Error, MeshId, Node, NodeId, NodeKind, Remark, Scene, Transform};
use std::collections::HashMap;
use std::sync::Arc;

/// Merges `scenes`: nodes in the order of the first scene, then of the next ones.
pub fn merge(scenes: Vec<Scene>) -> Result<(Scene, Vec<Remark>), Error> {
    let mut remarks = Vec::new();
    let mut merged = Scene::default();
    let mut by_path: HashMap<String, NodeId> = HashMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    let mut children: Vec<Vec<NodeId>> = Vec::new();
    let mut roots: Vec<NodeId> = Vec::new();

    for scene in scenes {
        merge_metadata(&mut merged, &scene, &mut remarks);
        let first_mesh: MeshId = merged.meshes.len();
        // Index in `nodes` of each node of this scene.
        let mut numbers: Vec<NodeId> = Vec::with_capacity(scene.nodes.len());
        let mut instances: Vec<(NodeId, NodeId)> = Vec::new();
        for node in &scene.nodes {
            let mut node = node.clone();
            node.mesh = node.mesh.map(|mesh| first_mesh + mesh);
            node.parent = node.parent.map(|parent| numbers[parent]);
            let target = node.instance_of.take();
            if let Some(&known) = by_path.get(&node.path) {
                numbers.push(known);
                match target {
                    None => merge_node(&mut nodes[known], node, &mut remarks),
                    Some(_) => remarks.push(Remark::new(
                        &nodes[known].path,
                        "an instance in a later file; the earlier file's object is kept",
                    )),
                }
                continue;
            }
            let number = nodes.len();
            numbers.push(number);
            by_path.insert(node.path.clone(), number);
            match node.parent {
                Some(parent) => children[parent].push(number),
                None => roots.push(number),
            }
            if let Some(target) = target {
                instances.push((number, target));
            }
            children.push(Vec::new());
            nodes.push(node);
        }
        for (number, target) in instances {
            nodes[number].instance_of = numbers.get(target).copied();
        }
        // Skeletons and clips have no paths that could meet: all are kept.
        let first_skeleton = merged.skeletons.len();
        let first_clip = merged.clips.len();
        merged.meshes.extend(scene.meshes.into_iter().map(|mut mesh| {
            if let Some(skin) = &mut mesh.skin
                && let Some(skeleton) = skin.skeleton
            {
                let skin = Arc::make_mut(skin);
                skin.skeleton = Some(skeleton + first_skeleton);
                skin.driven.iter_mut().for_each(|(c, _)| *c += first_clip);
            }
            mesh
        }));
        merged.skeletons.extend(scene.skeletons);
        merged.clips.extend(scene.clips.into_iter().map(|mut clip| {
            clip.skeleton += first_skeleton;
            clip
        }));
    }
    refuse_instance_cycles(&nodes, &children)?;
    merged.nodes = in_tree_order(nodes, &children, &roots);
    drop_unused_meshes(&mut merged);
    merged.counts = merged.count()?;
    Ok((merged, remarks))
}

/// Merges format, unit, rate and metadata; the first file that has one decides.
fn merge_metadata(merged: &mut Scene, scene: &Scene, remarks: &mut Vec<Remark>) {
    if merged.format.is_empty() {
        merged.format = scene.format;
    }
    match (merged.unit, scene.unit) {
        (None, unit) => merged.unit = unit,
        (Some(first), Some(other)) if first != other => remarks.push(Remark::new(
            "/",
            format!("the inputs name different length units ({first:?}, {other:?}); nothing is scaled, the first is kept"),
        )),
        _ => {}
    }
    match (merged.fps, scene.fps) {
        (None, fps) => merged.fps = fps,
        (Some(first), Some(other)) if (first - other).abs() > 1e-3 => remarks.push(Remark::new(
            "/",
            format!(
                "the inputs name different rates ({first}, {other}); their sample times are kept as they are"
            ),
        )),
        _ => {}
    }
    match (&merged.ranges[..], &scene.ranges[..]) {
        ([], ranges) => merged.ranges = ranges.to_vec(),
        (_, []) => {}
        (first, other) if first != other => remarks.push(Remark::new(
            "/",
            "the inputs have different named ranges of time; those of the first are kept",
        )),
        _ => {}
    }
    merged.files.extend_from_slice(&scene.files);
    for (key, value) in &scene.metadata {
        if !merged.metadata.iter().any(|(known, _)| known == key) {
            merged.metadata.push((key.clone(), value.clone()));
        }
    }
}

/// Merges `other` into `node`, which has the same path.
fn merge_node(node: &mut Node, other: Node, remarks: &mut Vec<Remark>) {
    if node.instance_of.is_some() {
        remarks.push(Remark::new(
            &node.path,
            "an instance in an earlier file; what a later file has at this path is left out",
        ));
        return;
    }
    match (node.mesh, other.mesh) {
        (None, Some(mesh)) => {
            node.mesh = Some(mesh);
            node.kind = other.kind;
        }
        (Some(_), Some(_)) => {
            remarks.push(Remark::new(&node.path, "a mesh in more than one input; the first input's is kept"))
        }
        (None, None) if node.kind == NodeKind::Other => node.kind = other.kind,
        (None, None) if node.kind == NodeKind::Xform && other.kind != NodeKind::Other => {
            node.kind = other.kind;
        }
        _ => {}
    }
    let moves = |transform: &Transform| {
        !transform.local.is_constant()
            || transform.inherits.as_ref().is_some_and(|flags| !flags.is_constant())
    };
    node.transform = match (node.transform.take(), other.transform) {
        (Some(first), Some(later)) if !moves(&first) && moves(&later) => Some(later),
        (first, later) => first.or(later),
    };
    let blinks = |channel: &Channel<i8>| !channel.is_constant();
    node.visibility = match (node.visibility.take(), other.visibility) {
        (Some(first), Some(later)) if !blinks(&first) && blinks(&later) => Some(later),
        (first, later) => first.or(later),
    };
    node.camera = node.camera.take().or(other.camera);
    node.samples = node.samples.max(other.samples);
    for (name, value) in other.user_properties {
        if !node.user_properties.iter().any(|(known, _)| *known == name) {
            node.user_properties.push((name, value));
        }
    }
}

/// Refuses cycles of instances: each file is free of them, but several files together can close one.
fn refuse_instance_cycles(nodes: &[Node], children: &[Vec<NodeId>]) -> Result<(), Error> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; nodes.len()];
    let mut stack: Vec<(NodeId, usize)> = Vec::new();
    for start in 0..nodes.len() {
        if state[start] == NEW {
            state[start] = OPEN;
            stack.push((start, 0));
        }
        while let Some((node, next)) = stack.last_mut() {
            let ways = children[*node].len();
            let way = match *next {
                i if i < ways => Some(children[*node][i]),
                i if i == ways => nodes[*node].instance_of,
                _ => {
                    state[*node] = DONE;
                    stack.pop();
                    continue;
                }
            };
            *next += 1;
            match way {
                Some(to) if state[to] == OPEN => {
                    return Err(Error::misuse(format!(
                        "{}: instances of the inputs refer to each other in a circle; compile them one by one",
                        nodes[to].path
                    )));
                }
                Some(to) if state[to] == NEW => {
                    state[to] = OPEN;
                    stack.push((to, 0));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Sorts nodes into depth-first pre-order, and renumbers parents and instances.
fn in_tree_order(nodes: Vec<Node>, children: &[Vec<NodeId>], roots: &[NodeId]) -> Vec<Node> {
    let mut order = Vec::with_capacity(nodes.len());
    let mut stack: Vec<NodeId> = roots.iter().rev().copied().collect();
    while let Some(node) = stack.pop() {
        order.push(node);
        stack.extend(children[node].iter().rev());
    }
    let mut place = vec![0; nodes.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new;
    }
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    order
        .iter()
        .filter_map(|&old| {
            let mut node = nodes[old].take()?;
            node.parent = node.parent.map(|parent| place[parent]);
            node.instance_of = node.instance_of.map(|target| place[target]);
            Some(node)
        })
        .collect()
}

/// Removes meshes whose node took another file's.
fn drop_unused_meshes(scene: &mut Scene) {
    let mut place: Vec<Option<MeshId>> = vec![None; scene.meshes.len()];
    for mesh in scene.nodes.iter().filter_map(|node| node.mesh) {
        place[mesh] = Some(0);
    }
    for (next, slot) in place.iter_mut().flatten().enumerate() {
        *slot = next;
    }
    let mut number = 0;
    scene.meshes.retain(|_| {
        number += 1;
        place[number - 1].is_some()
    });
    for node in &mut scene.nodes {
        node.mesh = node.mesh.and_then(|mesh| place[mesh]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalTransform;
    use crate::{Mesh, TimeSampling, Topology, Winding};

    fn node(path: &str, parent: Option<NodeId>, kind: NodeKind) -> Node {
        Node {
            name: path.rsplit('/').next().unwrap_or_default().into(),
            path: path.into(),
            parent,
            kind,
            transform: None,
            visibility: None,
            mesh: None,
            instance_of: None,
            samples: 1,
            camera: None,
            user_properties: Vec::new(),
        }
    }

    fn mesh(path: &str) -> Mesh {
        Mesh {
            path: path.into(),
            positions: Channel::constant(vec![[0.0; 3]]),
            face_counts: Channel::constant(vec![]),
            face_indices: Channel::constant(vec![]),
            winding: Winding::Clockwise,
            topology: Topology::Constant,
            normals: None,
            uvs: vec![],
            colours: vec![],
            velocities: None,
            face_sets: vec![],
            other_attributes: vec![],
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin: None,
            particles: None,
        }
    }

    fn geometry() -> Scene {
        let mut scene = Scene {
            nodes: vec![node("/a", None, NodeKind::Xform), node("/a/shape", Some(0), NodeKind::PolyMesh)],
            meshes: vec![mesh("/a/shape")],
            ..Scene::default()
        };
        scene.nodes[1].mesh = Some(0);
        scene.nodes[0].transform =
            Some(Transform { local: Channel::constant(vec![LocalTransform::IDENTITY]), inherits: None });
        scene
    }

    #[test]
    fn geometry_and_transforms_from_two_files() {
        let mut moving = Scene {
            nodes: vec![node("/b", None, NodeKind::Xform), node("/a", None, NodeKind::Xform)],
            ..Scene::default()
        };
        let sampling = TimeSampling::Uniform { start: 0.0, step: 0.5 };
        moving.nodes[1].transform = Some(Transform {
            local: Channel::in_memory(sampling, vec![vec![LocalTransform::IDENTITY]; 3]),
            inherits: None,
        });
        let (scene, remarks) = merge(vec![geometry(), moving]).unwrap();
        assert!(remarks.is_empty());
        let paths: Vec<&str> = scene.nodes.iter().map(|n| n.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/a/shape", "/b"]);
        assert_eq!(scene.nodes[0].transform.as_ref().unwrap().local.len(), 3);
        assert_eq!(scene.nodes[1].mesh, Some(0));
        assert_eq!((scene.counts.xforms, scene.counts.meshes), (2, 1));
    }

    #[test]
    fn the_first_mesh_wins_and_it_is_said() {
        let (scene, remarks) = merge(vec![geometry(), geometry()]).unwrap();
        assert_eq!((scene.meshes.len(), scene.nodes.len()), (1, 2));
        assert_eq!(remarks.len(), 1);
    }

    #[test]
    fn circles_across_files_are_refused() {
        let first = Scene {
            nodes: vec![
                node("/a", None, NodeKind::Xform),
                Node { instance_of: Some(2), ..node("/a/x", Some(0), NodeKind::Xform) },
                node("/b", None, NodeKind::Xform),
            ],
            ..Scene::default()
        };
        let second = Scene {
            nodes: vec![
                node("/a", None, NodeKind::Xform),
                node("/b", None, NodeKind::Xform),
                Node { instance_of: Some(0), ..node("/b/y", Some(1), NodeKind::Xform) },
            ],
            ..Scene::default()
        };
        assert!(merge(vec![first.clone(), second]).is_err());
        assert!(merge(vec![first]).is_ok());
    }
}
