//! Locators: nodes without a mesh that are kept by name, such as empties, nulls, cameras and lights. What is
//! attached to them (an effect, a sound, a camera of the game) asks for their transform by name.
//!
//! * A transform that moves is a locator wherever it stands, so no motion is lost.
//! * A transform that stands still is one if it is the last of its branch and defines a place: it or
//!   something above it has a transform. It may move in the world, below something that moves; one that never
//!   moves (a spawn point, the muzzle of a fixed gun) costs one name and one transform.
//! * Groups only hold others together: they are merged into the nodes below, as above meshes. Empty groups at
//!   the origin are dropped, and with them the groups of curves, points or NURBS that are left out.
//! * A camera is represented by the transform right above it, or by itself if there is none.
//! * A node above a mesh is no locator: it belongs to the mesh, whether the mesh is selected or not.

use crate::{NodeKind, PlacedObject, Scene, Transform};
use glam::DMat4;
use std::collections::HashSet;

/// Returns for each placed object whether it is a locator. The compiler and the check both call this, so that
/// they agree. `selected` says by path what is compiled. If several objects have the same path, the first one
/// counts.
pub fn find(scene: &Scene, placed: &[PlacedObject], selected: &dyn Fn(&str) -> bool) -> Vec<bool> {
    let node = |i: usize| &scene.nodes[placed[i].node];
    let is_xform = |i: usize| node(i).kind == NodeKind::Xform;
    // For each object, whether there is a mesh, another transform, or something left out below it.
    let (mut mesh, mut xform, mut lost) =
        (vec![false; placed.len()], vec![false; placed.len()], vec![false; placed.len()]);
    for i in (0..placed.len()).rev() {
        let kind = node(i).kind;
        mesh[i] |= node(i).mesh.is_some() || matches!(kind, NodeKind::PolyMesh | NodeKind::SubD);
        let shapes = matches!(kind, NodeKind::Curves | NodeKind::Points);
        let left_out =
            shapes && node(i).mesh.is_none() || matches!(kind, NodeKind::NuPatch | NodeKind::Material);
        if let Some(parent) = placed[i].parent {
            mesh[parent] |= mesh[i];
            xform[parent] |= xform[i] || is_xform(i);
            lost[parent] |= lost[i] || left_out;
        }
    }
    let mut somewhere = vec![false; placed.len()];
    let mut paths = HashSet::new();
    let mut found = vec![false; placed.len()];
    let place_above = |i: usize, found: &[bool]| placed[i].parent.is_some_and(|parent| found[parent]);
    for (i, place) in placed.iter().enumerate() {
        let transform = node(i).transform.as_ref();
        let moves = transform.is_some_and(moves);
        let above = place.parent.is_some_and(|parent| somewhere[parent]);
        somewhere[i] = above || moves || transform.is_some_and(|t| !is_identity(t));
        let last = !xform[i] && !lost[i] && somewhere[i];
        let own = is_xform(i) && !mesh[i] && (moves || last);
        // A camera's place is that of the transform above it, or its own.
        let above = place_above(i, &found);
        let camera = node(i).camera.is_some() && (transform.is_some() || !above);
        found[i] = (own || camera) && selected(&place.path) && paths.insert(&place.path[..]);
    }
    found
}

/// Returns for each placed object the smallest value of `of` among the placed objects nearest to it in the
/// tree: those below the same parent, or below the nearest ancestor that has any. `None` if there are no
/// values at all.
pub fn nearest_values(placed: &[PlacedObject], of: &[Option<f64>]) -> Vec<Option<f64>> {
    let least = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let mut out = of.to_vec();
    let mut all = None;
    for i in (0..placed.len()).rev() {
        match placed[i].parent {
            Some(parent) => out[parent] = least(out[parent], out[i]),
            None => all = least(all, out[i]),
        }
    }
    for i in 0..placed.len() {
        if out[i].is_none() {
            out[i] = placed[i].parent.map_or(all, |parent| out[parent]);
        }
    }
    out
}

fn moves(transform: &Transform) -> bool {
    let inherits = transform.inherits.as_ref();
    !transform.local.is_constant() || inherits.is_some_and(|channel| !channel.is_constant())
}

/// `true` if a constant transform is the identity. An unreadable transform is none; the next reader of it
/// reports the error.
fn is_identity(transform: &Transform) -> bool {
    let mut local = Vec::new();
    let channel = &transform.local;
    channel.is_empty()
        || channel
            .read(0, &mut local)
            .is_ok_and(|()| local.first().is_none_or(|own| own.matrix() == DMat4::IDENTITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, Node, TimeSampling};

    struct Tree(Scene);

    impl Tree {
        fn add(&mut self, parent: Option<usize>, kind: NodeKind, xs: &[f64]) -> usize {
            let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
            let matrix = |x: &f64| vec![DMat4::from_translation(glam::DVec3::new(*x, 0.0, 0.0))];
            let id = self.0.nodes.len();
            self.0.nodes.push(Node {
                name: format!("n{id}"),
                path: String::new(),
                parent,
                kind,
                transform: (!xs.is_empty()).then(|| Transform {
                    local: Channel::in_memory(sampling, xs.iter().map(matrix).collect()).into(),
                    inherits: None,
                }),
                visibility: None,
                mesh: None,
                instance_of: None,
                samples: 1,
                camera: None,
                user_properties: Vec::new(),
            });
            id
        }

        fn found(&self) -> Vec<usize> {
            let placed = self.0.expand().unwrap();
            let found = find(&self.0, &placed, &|_| true);
            (0..found.len()).filter(|&i| found[i]).collect()
        }
    }

    #[test]
    fn what_moves_and_what_ends_a_branch() {
        use NodeKind::{Camera, Curves, Other, PolyMesh, Xform};
        let mut tree = Tree(Scene::default());
        // A node that moves, which carries one with a transform, and one without.
        let rig = tree.add(None, Xform, &[0.0, 1.0]);
        let still = tree.add(Some(rig), Xform, &[5.0]);
        let bare = tree.add(Some(rig), Xform, &[]);
        // A fixed place in the world, a camera, and groups without meaning.
        let spawn = tree.add(None, Xform, &[3.0]);
        let group = tree.add(None, Xform, &[4.0]);
        let camera = tree.add(Some(group), Xform, &[]);
        tree.add(Some(camera), Camera, &[]);
        tree.add(None, Xform, &[]);
        tree.add(None, Xform, &[0.0]);
        tree.add(None, Other, &[]);
        // Groups above a mesh, and above curves.
        let car = tree.add(None, Xform, &[0.0, 1.0]);
        tree.add(Some(car), PolyMesh, &[]);
        let fur = tree.add(None, Xform, &[1.0]);
        tree.add(Some(fur), Curves, &[]);
        let blown = tree.add(None, Xform, &[1.0, 2.0]);
        tree.add(Some(blown), Curves, &[]);
        assert_eq!(tree.found(), [rig, still, bare, spawn, camera, blown]);
        let placed = tree.0.expand().unwrap();
        let found = find(&tree.0, &placed, &|path| path == "/n0");
        assert_eq!(found.iter().filter(|f| **f).count(), 1);
    }

    #[test]
    fn the_nearest_are_siblings_then_those_above() {
        let mut tree = Tree(Scene::default());
        let mut add = |parent| tree.add(parent, NodeKind::Xform, &[]);
        let a = add(None);
        let [near, far] = [add(Some(a)), add(Some(a))];
        let inner = add(Some(near));
        let other = add(None);
        let placed = tree.0.expand().unwrap();
        let at = |id: usize| placed.iter().position(|p| p.node == id).unwrap();
        let mut of = vec![None; placed.len()];
        (of[at(far)], of[at(other)]) = (Some(2.0), Some(1.0));
        let all = nearest_values(&placed, &of);
        assert_eq!(all[at(inner)], Some(2.0));
        assert_eq!((all[at(a)], all[at(other)]), (Some(2.0), Some(1.0)));
        of[at(far)] = None;
        assert_eq!(nearest_values(&placed, &of)[at(inner)], Some(1.0));
        assert_eq!(nearest_values(&placed, &vec![None; placed.len()])[at(a)], None);
    }
}
