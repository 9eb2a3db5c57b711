//! Instances: objects that stand for another object with its whole subtree. Paths are resolved to nodes; an
//! instance whose path leads nowhere or back to itself becomes a plain node.

use meshreel_scene::{Node, NodeId, NodeKind, Remark};
use std::collections::HashMap;

/// Sets [`Node::instance_of`] for each of `wanted` (node, path of its target). Afterwards, following children
/// and instances terminates from every node, and no instance refers to another instance.
pub fn resolve(nodes: &mut [Node], wanted: Vec<(NodeId, String)>, remarks: &mut Vec<Remark>) {
    if wanted.is_empty() {
        return;
    }
    let mut by_path = HashMap::with_capacity(nodes.len());
    for (id, node) in nodes.iter().enumerate() {
        by_path.entry(node.path.as_str()).or_insert(id);
    }
    let mut target: Vec<Option<NodeId>> = vec![None; nodes.len()];
    for (id, path) in &wanted {
        match by_path.get(path.as_str()) {
            Some(found) => target[*id] = Some(*found),
            None => {
                let what = format!("stands for {path:?}, which does not exist; an empty node now");
                remarks.push(Remark::new(&nodes[*id].path, what));
            }
        }
    }
    let component = components(nodes, &target);
    for (id, _) in &wanted {
        // An edge within a component lies on a cycle, and every cycle has such an edge from an instance.
        let circular = target[*id].filter(|to| component[*to] == component[*id]);
        if circular.is_some() {
            target[*id] = None;
            let what = "stands for something that contains it; an empty node now";
            remarks.push(Remark::new(&nodes[*id].path, what));
        }
    }
    // Chains of instances are now free of cycles; each is followed once.
    let mut chain = Vec::new();
    for (id, _) in &wanted {
        let mut at = *id;
        while let Some(next) = target[at] {
            chain.push(at);
            at = next;
        }
        for link in chain.drain(..) {
            target[link] = Some(at);
        }
    }
    for (id, _) in &wanted {
        nodes[*id].instance_of = target[*id];
        nodes[*id].kind = target[*id].map_or(NodeKind::Other, |to| nodes[to].kind);
    }
}

/// Returns the strongly connected component of each node, over edges to children and to instance targets
/// (Tarjan, "Depth-first search and linear graph algorithms", 1972; with an explicit stack).
fn components(nodes: &[Node], target: &[Option<NodeId>]) -> Vec<usize> {
    const UNVISITED: usize = usize::MAX;
    let mut first_child = vec![UNVISITED; nodes.len()];
    let mut next_sibling = vec![UNVISITED; nodes.len()];
    for (id, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            next_sibling[id] = std::mem::replace(&mut first_child[parent], id);
        }
    }
    let mut order = vec![UNVISITED; nodes.len()];
    let mut low = vec![UNVISITED; nodes.len()];
    let mut component = vec![UNVISITED; nodes.len()];
    let (mut visited, mut closed) = (0, 0);
    let mut open = Vec::new();
    // Node, its edge to the target if not yet followed, next child to follow.
    let mut path: Vec<(NodeId, Option<NodeId>, NodeId)> = Vec::new();
    for root in 0..nodes.len() {
        if order[root] != UNVISITED {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(id) = enter.take() {
                order[id] = visited;
                low[id] = visited;
                visited += 1;
                open.push(id);
                path.push((id, target[id], first_child[id]));
            }
            let Some((id, to, child)) = path.last_mut() else {
                break;
            };
            let id = *id;
            let next = to.take().or_else(|| {
                (*child != UNVISITED).then(|| {
                    let this = *child;
                    *child = next_sibling[this];
                    this
                })
            });
            match next {
                Some(next) if order[next] == UNVISITED => enter = Some(next),
                Some(next) if component[next] == UNVISITED => low[id] = low[id].min(order[next]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((above, _, _)) = path.last() {
                        low[*above] = low[*above].min(low[id]);
                    }
                    if low[id] == order[id] {
                        while let Some(member) = open.pop() {
                            component[member] = closed;
                            if member == id {
                                break;
                            }
                        }
                        closed += 1;
                    }
                }
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::Scene;

    /// Makes nodes from paths, parents first; instances are (path, target).
    fn scene(paths: &[&str], instances: &[(&str, &str)]) -> (Scene, Vec<Remark>) {
        let mut scene = Scene::default();
        let mut remarks = Vec::new();
        for path in paths {
            let (parent, name) = path.rsplit_once('/').unwrap();
            scene.nodes.push(Node {
                name: name.into(),
                path: path.to_string(),
                parent: scene.nodes.iter().position(|n| n.path == parent),
                kind: NodeKind::Xform,
                transform: None,
                visibility: None,
                mesh: None,
                instance_of: None,
                samples: 1,
                camera: None,
                user_properties: Vec::new(),
            });
        }
        let at = |path: &str| paths.iter().position(|p| *p == path).unwrap();
        let wanted = instances.iter().map(|(from, to)| (at(from), to.to_string()));
        resolve(&mut scene.nodes, wanted.collect(), &mut remarks);
        (scene, remarks)
    }

    #[test]
    fn shared_subtrees_expand() {
        let (scene, remarks) =
            scene(&["/a", "/a/b", "/c", "/d", "/e"], &[("/c", "/a"), ("/d", "/c"), ("/e", "/a/b")]);
        assert!(remarks.is_empty());
        assert_eq!(scene.nodes[3].instance_of, Some(0), "chains are shortened");
        let placed = scene.expand().unwrap();
        let paths: Vec<&str> = placed.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/a/b", "/c", "/c/b", "/d", "/d/b", "/e"]);
    }

    #[test]
    fn circles_and_dead_ends_become_plain_nodes() {
        let paths = ["/a", "/a/b", "/a/c", "/d", "/d/e", "/f"];
        let (s, remarks) = scene(&paths, &[("/a/b", "/a"), ("/f", "/nowhere")]);
        assert_eq!(remarks.len(), 2);
        assert!(s.nodes.iter().all(|n| n.instance_of.is_none()));
        // Two subtrees that contain instances of each other: both are cut.
        let (s, remarks) = scene(&paths, &[("/a/b", "/d"), ("/d/e", "/a"), ("/f", "/a")]);
        assert_eq!(remarks.len(), 2);
        assert_eq!(s.nodes[5].instance_of, Some(0));
        assert_eq!(s.expand().unwrap().len(), 8);
        // Instances of each other and of themselves.
        let (s, remarks) = scene(&["/a", "/b", "/c"], &[("/a", "/b"), ("/b", "/a"), ("/c", "/c")]);
        assert_eq!((remarks.len(), s.expand().unwrap().len()), (3, 3));
    }

    #[test]
    fn multiplying_instances_are_stopped() {
        // Each level contains the previous one twice: 2^40 objects.
        let mut paths = vec!["/l0".to_string()];
        let mut instances = Vec::new();
        for level in 1..40 {
            paths.push(format!("/l{level}"));
            for copy in ["x", "y"] {
                paths.push(format!("/l{level}/{copy}"));
                instances.push((format!("/l{level}/{copy}"), format!("/l{}", level - 1)));
            }
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let instances: Vec<(&str, &str)> = instances.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let (scene, remarks) = scene(&paths, &instances);
        assert!(remarks.is_empty() && scene.expand().is_err());
    }
}
