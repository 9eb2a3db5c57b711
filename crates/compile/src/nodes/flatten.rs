//! Hierarchy flattening: multiplies transforms together wherever that keeps the motion exact.
//!
//! An object without a mesh is removed, and its transform multiplied into its children's, if that adds no
//! animated transform to the file: it stands still, or has one child, or all its children move anyway. It
//! stays where the product could shear (non-uniform scale above a rotation), because two
//! translation–rotation–scale nodes can represent what one cannot. A locator is a node in its own right, and
//! stays like an object with a mesh.

use crate::nodes::motion::{Inheritance, LocalMotion, Motion};
use meshreel_scene::sample::World;
use meshreel_scene::{LocalTransform, PlacedObject};
use std::fmt::Write;

/// A node of the flattened tree.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatNode {
    /// Index of the parent in the flattened tree; less than the node's own.
    pub parent: Option<usize>,
    /// Objects whose local matrices are multiplied, from the top down; the node is named after the last one.
    /// Empty for a baked mesh.
    pub chain: Vec<usize>,
    /// The object whose mesh is shown.
    pub mesh: Option<usize>,
    /// `true` if its matrix changes.
    pub animated: bool,
    /// `true` if the world matrix of the chain's last object is used (its parents apply only at times).
    pub world: bool,
    /// `true` if its matrix is the identity and its vertices are in world space.
    pub baked: bool,
    /// The object it is named after.
    pub named: usize,
    /// Half-size of its cube along its axes, if it is a locator.
    pub half_size: Option<f32>,
}

struct UnmergedNode {
    parent: Option<usize>,
    children: Vec<usize>,
    chain: Vec<usize>,
    state: LocalMotion,
    world: bool,
    gone: bool,
}

/// Flattens the tree. `selected`: objects whose mesh is compiled; `locators`: half-sizes of the objects that
/// are locators; `baked`: objects of both kinds that stand in world space, by their vertices or by their own
/// matrix.
pub fn flatten(
    placed: &[PlacedObject],
    selected: &[bool],
    locators: &[Option<f32>],
    baked: &[bool],
    motion: &Motion,
) -> Vec<FlatNode> {
    let n = placed.len();
    let kept = |i: usize| (selected[i] || locators[i].is_some()) && !baked[i];
    let mut needed: Vec<bool> = (0..n).map(kept).collect();
    for i in (0..n).rev() {
        if let (true, Some(parent)) = (needed[i], placed[i].parent) {
            needed[parent] |= motion.local[i].inherits == Inheritance::Always;
        }
    }
    let mut work = unmerged(placed, &needed, motion);
    // Static objects first, so that the children of a moving one are known when it is examined.
    for only_still in [true, false] {
        for i in 0..n {
            let node = &work[i];
            if node.gone || kept(i) || only_still && node.state.animated {
                continue;
            }
            let children = children_left(&work, i);
            let costs_nothing = !node.state.animated
                || children.len() == 1
                || children.iter().all(|&c| work[c].state.animated);
            if costs_nothing && children.iter().all(|&c| mergeable(node, &work[c])) {
                merge_into(&mut work, i, &children);
            }
        }
    }
    let mut nodes: Vec<FlatNode> = Vec::new();
    let mut number = vec![usize::MAX; n];
    for i in 0..n {
        if baked[i] && (selected[i] || locators[i].is_some()) {
            let shown = selected[i];
            nodes.push(FlatNode {
                parent: None,
                chain: if shown { Vec::new() } else { vec![i] },
                mesh: shown.then_some(i),
                animated: !shown && moves_in_world(placed, motion, i),
                world: !shown,
                baked: shown,
                named: i,
                half_size: locators[i].filter(|_| !shown),
            });
        }
        if work[i].gone {
            continue;
        }
        number[i] = nodes.len();
        nodes.push(FlatNode {
            parent: work[i].parent.map(|p| number[p]),
            chain: std::mem::take(&mut work[i].chain),
            mesh: selected[i].then_some(i).filter(|_| !baked[i]),
            animated: work[i].state.animated,
            world: work[i].world,
            baked: false,
            named: i,
            half_size: locators[i].filter(|_| kept(i)),
        });
    }
    nodes
}

/// Returns all objects, with those that are not needed removed.
fn unmerged(placed: &[PlacedObject], needed: &[bool], motion: &Motion) -> Vec<UnmergedNode> {
    let n = placed.len();
    let mut work: Vec<UnmergedNode> = (0..n)
        .map(|i| UnmergedNode {
            parent: placed[i].parent.filter(|_| motion.local[i].inherits == Inheritance::Always),
            children: Vec::new(),
            chain: vec![i],
            state: motion.local[i],
            world: motion.local[i].inherits == Inheritance::Mixed,
            gone: !needed[i],
        })
        .collect();
    for i in 0..n {
        if motion.local[i].inherits == Inheritance::Mixed {
            // Its world matrix moves if anything above it does; the scan covers local matrices only.
            work[i].state.animated = true;
        }
        if let (true, Some(parent)) = (needed[i], work[i].parent) {
            work[parent].children.push(i);
        }
    }
    work
}

fn moves_in_world(placed: &[PlacedObject], motion: &Motion, i: usize) -> bool {
    let mut at = Some(i);
    while let Some(j) = at {
        let local = &motion.local[j];
        if local.animated || local.inherits == Inheritance::Mixed {
            return true;
        }
        at = placed[j].parent;
    }
    false
}

fn mergeable(parent: &UnmergedNode, child: &UnmergedNode) -> bool {
    // The product of a changing scale and a moving transform does not interpolate linearly.
    !(child.world || parent.state.scales && child.state.animated)
        && parent.state.pure
        && child.state.pure
        && (parent.state.uniform || child.state.unrotated)
}

/// Returns the children of `i`; the children of a merged one stand in its place.
fn children_left(work: &[UnmergedNode], i: usize) -> Vec<usize> {
    let mut stack: Vec<usize> = work[i].children.iter().rev().copied().collect();
    let mut left = Vec::new();
    while let Some(c) = stack.pop() {
        match work[c].gone {
            true => stack.extend(work[c].children.iter().rev()),
            false => left.push(c),
        }
    }
    left
}

fn merge_into(work: &mut [UnmergedNode], i: usize, children: &[usize]) {
    let (parent, chain, state, world) = (work[i].parent, work[i].chain.clone(), work[i].state, work[i].world);
    work[i].gone = true;
    for &child in children {
        let child = &mut work[child];
        child.parent = parent;
        child.chain.splice(0..0, chain.iter().copied());
        child.world |= world;
        child.state.animated |= state.animated;
        child.state.uniform &= state.uniform;
        child.state.unrotated &= state.unrotated;
        child.state.scales |= state.scales;
    }
}

impl FlatNode {
    /// Returns the object whose visibility and tolerance the node has: the one with its mesh, or the locator
    /// itself.
    pub fn visible_object(&self) -> Option<usize> {
        self.mesh.or(self.half_size.map(|_| self.named))
    }

    /// Returns its transform relative to its parent, at the time that `world` was evaluated for.
    pub fn local_transform(&self, world: &World<'_>) -> LocalTransform {
        match (self.world, self.chain.last()) {
            (true, Some(&last)) => world.matrix[last].into(),
            _ => {
                self.chain.iter().fold(LocalTransform::IDENTITY, |above, &i| above.compose(&world.local[i].0))
            }
        }
    }
}

/// Formats the tree for `--explain`, one line per node.
pub fn format_tree(nodes: &[FlatNode], placed: &[PlacedObject]) -> String {
    let mut text = String::new();
    let mut depth = vec![0usize; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        depth[i] = node.parent.map_or(0, |p| depth[p] + 1);
        let kind = match (node.mesh.is_some(), node.animated, node.baked) {
            (false, true, _) if node.half_size.is_some() => "locator, moving",
            (false, false, _) if node.half_size.is_some() => "locator",
            (true, _, true) => "mesh, baked to world space",
            (true, true, _) => "mesh, moving",
            (true, false, _) => "mesh",
            (false, true, _) => "transform, moving",
            (false, false, _) => "transform",
        };
        let merged = node.chain.len().saturating_sub(1);
        let note = if merged > 0 { format!(", {merged} merged into it") } else { String::new() };
        let _ =
            writeln!(text, "{:indent$}{} ({kind}{note})", "", placed[node.named].path, indent = 2 * depth[i]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Content;
    use crate::context::{RequestedOptions, Tightening};
    use crate::nodes::motion::scan_transforms;
    use glam::{DMat4, DQuat, DVec3};
    use meshreel_options::Options;
    use meshreel_process::Cancellation;
    use meshreel_scene::{Channel, Node, NodeKind, Scene, TimeSampling, Transform};
    use std::sync::Arc;

    /// Objects, added with a parent, matrices, and whether they show a mesh.
    struct Tree(Scene, Vec<bool>);

    impl Tree {
        fn new() -> Tree {
            Tree(Scene::default(), Vec::new())
        }
        fn add(&mut self, parent: Option<usize>, matrices: &[DMat4], mesh: bool) -> usize {
            let id = self.0.nodes.len();
            let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
            let samples = matrices.iter().map(|m| vec![*m]).collect();
            self.0.nodes.push(Node {
                name: format!("n{id}"),
                path: String::new(),
                parent,
                kind: NodeKind::Xform,
                transform: (!matrices.is_empty()).then(|| Transform {
                    local: Channel::in_memory(sampling, samples).into(),
                    inherits: None,
                }),
                visibility: None,
                mesh: None,
                instance_of: None,
                samples: 1,
                camera: None,
                user_properties: Vec::new(),
            });
            self.1.push(mesh);
            id
        }
        fn inherits(&mut self, id: usize, flags: &[bool]) {
            let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
            let samples = flags.iter().map(|f| vec![*f]).collect();
            if let Some(transform) = &mut self.0.nodes[id].transform {
                transform.inherits = Some(Channel::in_memory(sampling, samples));
            }
        }
        /// Flattens, and checks that every mesh keeps its place in every frame.
        fn flat(&self, baked: &[usize]) -> Vec<FlatNode> {
            self.flat_with(&[], baked)
        }
        fn flat_with(&self, locators: &[usize], baked: &[usize]) -> Vec<FlatNode> {
            let Tree(scene, selected) = self;
            let placed = scene.expand().unwrap();
            let baked: Vec<bool> = (0..placed.len()).map(|i| baked.contains(&i)).collect();
            let reach = |i: usize| locators.contains(&i).then_some(0.5);
            let locators: Vec<Option<f32>> = (0..placed.len()).map(reach).collect();
            let times = [0.0, 1.0, 2.0];
            let asked = RequestedOptions::new(&Options::default(), &Tightening::default());
            let content = Content::new(Arc::new(scene.clone()), &asked, &Cancellation::never()).unwrap();
            let content = Content { times: times.into(), ..content };
            let motion = scan_transforms(&content, selected).unwrap();
            let nodes = flatten(&placed, selected, &locators, &baked, &motion);
            let there = |i: usize| nodes.iter().filter(move |n| n.half_size.is_some() && n.named == i);
            assert!((0..placed.len()).all(|i| there(i).count() == usize::from(locators[i].is_some())));
            let mut world = World::new(scene, &placed).unwrap();
            for time in times {
                world.evaluate(time).unwrap();
                let mut matrices: Vec<DMat4> = Vec::new();
                for (n, node) in nodes.iter().enumerate() {
                    assert!(node.parent.is_none_or(|p| p < n), "parents come first");
                    let own = node.local_transform(&world).matrix();
                    matrices.push(node.parent.map_or(own, |p| matrices[p] * own));
                    if node.half_size.is_some() {
                        let right = world.matrix[node.named];
                        assert!(matrices[n].abs_diff_eq(right, 1e-6), "locator at {time}");
                    }
                    if let Some(i) = node.mesh {
                        let right = match node.baked {
                            true => DMat4::IDENTITY,
                            false => world.matrix[i],
                        };
                        assert!(matrices[n].abs_diff_eq(right, 1e-6), "object {i} at {time}");
                    }
                }
            }
            let shown = nodes.iter().filter_map(|n| n.mesh).count();
            assert_eq!(shown, selected.iter().filter(|s| **s).count());
            nodes
        }
    }

    fn turn(angle: f64) -> DMat4 {
        DMat4::from_rotation_translation(
            DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 0.5).normalize(), angle),
            DVec3::new(angle, 0.0, 1.0),
        )
    }

    fn stretch() -> DMat4 {
        DMat4::from_scale(DVec3::new(1.0, 5.0, 0.5))
    }

    fn moving() -> Vec<DMat4> {
        (0..3).map(|f| turn(0.3 * f as f64)).collect()
    }

    #[test]
    fn constant_parents_go() {
        let mut tree = Tree::new();
        let a = tree.add(None, &[turn(1.0)], false);
        let b = tree.add(Some(a), &[], false);
        tree.add(Some(b), &[turn(2.0)], true);
        tree.add(Some(b), &moving(), true);
        let nodes = tree.flat(&[]);
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[0].chain, [0, 1, 2]);
        assert_eq!((nodes[0].animated, nodes[1].animated), (false, true));
        assert_eq!((nodes[0].parent, nodes[1].parent), (None, None));
    }

    #[test]
    fn a_moving_parent_goes_where_that_adds_no_motion() {
        // One child.
        let mut tree = Tree::new();
        let a = tree.add(None, &moving(), false);
        tree.add(Some(a), &[turn(2.0)], true);
        assert_eq!(tree.flat(&[]).len(), 1);
        // Several that are static relative to it: it stays, and alone is animated.
        tree.add(Some(a), &[turn(1.0)], true);
        let nodes = tree.flat(&[]);
        assert_eq!(nodes.len(), 3);
        assert_eq!(nodes.iter().filter(|n| n.animated).count(), 1);
        // Several that move anyway.
        let mut tree = Tree::new();
        let a = tree.add(None, &moving(), false);
        let still = tree.add(Some(a), &[turn(0.5)], false);
        tree.add(Some(still), &moving(), true);
        tree.add(Some(a), &moving(), true);
        assert_eq!(tree.flat(&[]).len(), 2);
    }

    #[test]
    fn what_would_shear_stays_two_nodes() {
        let mut tree = Tree::new();
        let a = tree.add(None, &[stretch()], false);
        tree.add(Some(a), &[turn(2.0)], true);
        let nodes = tree.flat(&[]);
        assert_eq!((nodes.len(), nodes[1].parent), (2, Some(0)));
        // No merge if nothing rotates below, even with one node in between.
        let mut tree = Tree::new();
        let a = tree.add(None, &[stretch()], false);
        let b = tree.add(Some(a), &[DMat4::from_translation(DVec3::X)], false);
        tree.add(Some(b), &[stretch()], true);
        assert_eq!(tree.flat(&[]).len(), 1);
        // A stretch is still known after it was merged.
        let c = tree.add(Some(b), &[turn(0.1)], false);
        tree.add(Some(c), &[turn(0.2)], true);
        let nodes = tree.flat(&[]);
        assert_eq!(nodes.len(), 3);
        // A sheared matrix is not merged into anything.
        let mut tree = Tree::new();
        let a = tree.add(None, &[stretch() * turn(1.0)], false);
        tree.add(Some(a), &[turn(1.0)], true);
        assert_eq!(tree.flat(&[]).len(), 2);
    }

    #[test]
    fn a_mesh_with_children_stays() {
        let mut tree = Tree::new();
        let a = tree.add(None, &[turn(1.0)], true);
        tree.add(Some(a), &[turn(2.0)], true);
        let nodes = tree.flat(&[]);
        assert_eq!((nodes.len(), nodes[1].parent), (2, Some(0)));
        // A baked object is only a transform for its children.
        let nodes = tree.flat(&[0]);
        assert_eq!(nodes.len(), 2);
        assert!(nodes[0].baked && nodes[0].chain.is_empty());
        assert_eq!(nodes[1].chain, [0, 1]);
        assert!(tree.flat(&[0, 1]).iter().all(|n| n.baked));
    }

    #[test]
    fn locators_stay_with_their_names() {
        let mut tree = Tree::new();
        let still = tree.add(None, &[turn(1.0)], false);
        let a = tree.add(Some(still), &moving(), false);
        let tip = tree.add(Some(a), &[turn(2.0)], false);
        tree.add(Some(a), &[turn(0.3)], true);
        // A moving locator is not merged into its children.
        let nodes = tree.flat_with(&[a, tip], &[]);
        assert_eq!((nodes.len(), nodes[0].chain.len()), (3, 2));
        let moving_nodes = |nodes: &[FlatNode]| nodes.iter().filter(|n| n.animated).count();
        assert_eq!(moving_nodes(&nodes), 1);
        // Baked by itself; its children still follow it.
        let nodes = tree.flat_with(&[a, tip], &[a]);
        assert!(nodes[0].world && nodes[0].parent.is_none() && nodes[0].half_size.is_some());
        assert_eq!(moving_nodes(&nodes), 2);
        tree.flat_with(&[a, tip], &[a, tip]);
        tree.inherits(tip, &[true, false, true]);
        for baked in [&[][..], &[a], &[tip], &[a, tip]] {
            tree.flat_with(&[a, tip], baked);
        }
    }

    #[test]
    fn objects_without_parents_of_their_own() {
        for flags in [&[false][..], &[true, false, true], &[true]] {
            let mut tree = Tree::new();
            let a = tree.add(None, &moving(), false);
            let b = tree.add(Some(a), &[turn(2.0)], false);
            tree.inherits(b, flags);
            tree.add(Some(b), &[turn(0.4)], true);
            let c = tree.add(Some(b), &moving(), true);
            tree.add(Some(c), &moving(), true);
            tree.add(Some(a), &moving(), true);
            tree.flat(&[]);
        }
    }

    #[test]
    fn wide_and_deep_trees_are_quick() {
        let started = std::time::Instant::now();
        let mut tree = Tree::new();
        let root = tree.add(None, &moving(), false);
        for _ in 0..50_000 {
            let group = tree.add(Some(root), &[turn(1.0)], false);
            tree.add(Some(group), &[turn(2.0)], true);
        }
        assert_eq!(tree.flat(&[]).len(), 50_001);
        let mut tree = Tree::new();
        let mut last = None;
        for i in 0..3_000 {
            last = Some(tree.add(last, &[turn((i % 7) as f64 * 0.1)], i % 50 == 0));
        }
        assert_eq!(tree.flat(&[]).len(), 60);
        // Quadratic work would take minutes.
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    }
}
