//! Hierarchy flattening (A17): every transform that can be merged is merged, and the rest keeps its shape.
//!
//! An object that shows no mesh goes, its transform multiplied into its children's, when that adds no animated
//! transform to the file: it stands still, or has one child, or all its children move anyway. It stays where the
//! product could shear (non-uniform scale above a rotation), because two translation–rotation–scale nodes can say what
//! one cannot.

use crate::motion::{Inherits, Local, Motion};
use glam::DMat4;
use meshreel_scene::{Placed, sample::World};
use std::fmt::Write;

/// A node that is left.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatNode {
    /// Parent among the nodes that are left; before this one.
    pub parent: Option<usize>,
    /// Objects whose local matrices are multiplied, from the top down; the last one gives the name. Empty for a baked mesh.
    pub chain: Vec<usize>,
    /// The object whose mesh is shown.
    pub mesh: Option<usize>,
    /// Its matrix changes.
    pub animated: bool,
    /// The world matrix of the chain's last object is taken (its parents apply only at times).
    pub world: bool,
    /// Identity: vertices are in world space.
    pub baked: bool,
    /// The object it is named after.
    pub named: usize,
}

struct Work {
    parent: Option<usize>,
    children: Vec<usize>,
    chain: Vec<usize>,
    state: Local,
    world: bool,
    gone: bool,
}

/// Flattens. `selected`: objects whose mesh is compiled; `baked`: those of them whose vertices are in world space.
pub fn flatten(
    placed: &[Placed],
    selected: &[bool],
    baked: &[bool],
    motion: &Motion,
) -> Vec<FlatNode> {
    let n = placed.len();
    let mut needed: Vec<bool> = (0..n).map(|i| selected[i] && !baked[i]).collect();
    for i in (0..n).rev() {
        if let (true, Some(parent)) = (needed[i], placed[i].parent) {
            needed[parent] |= motion.local[i].inherits == Inherits::Always;
        }
    }
    let mut work: Vec<Work> = (0..n)
        .map(|i| Work {
            parent: placed[i]
                .parent
                .filter(|_| motion.local[i].inherits == Inherits::Always),
            children: Vec::new(),
            chain: vec![i],
            state: motion.local[i],
            world: motion.local[i].inherits == Inherits::Mixed,
            gone: !needed[i],
        })
        .collect();
    for i in 0..n {
        if motion.local[i].inherits == Inherits::Mixed {
            // Its world matrix moves if anything above it does; the scan of locals alone cannot tell.
            work[i].state.animated = true;
        }
        if let (true, Some(parent)) = (needed[i], work[i].parent) {
            work[parent].children.push(i);
        }
    }
    // Still objects first, so that the children of what moves are known when it is looked at.
    for only_still in [true, false] {
        for i in 0..n {
            let node = &work[i];
            if node.gone || selected[i] && !baked[i] || only_still && node.state.animated {
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
        if selected[i] && baked[i] {
            nodes.push(FlatNode {
                parent: None,
                chain: Vec::new(),
                mesh: Some(i),
                animated: false,
                world: false,
                baked: true,
                named: i,
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
        });
    }
    nodes
}

fn mergeable(parent: &Work, child: &Work) -> bool {
    !child.world
        && parent.state.pure
        && child.state.pure
        && (parent.state.uniform || child.state.unrotated)
}

/// Children of `i`, those of merged ones in their place.
fn children_left(work: &[Work], i: usize) -> Vec<usize> {
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

fn merge_into(work: &mut [Work], i: usize, children: &[usize]) {
    let (parent, chain, state, world) = (
        work[i].parent,
        work[i].chain.clone(),
        work[i].state,
        work[i].world,
    );
    work[i].gone = true;
    for &child in children {
        let child = &mut work[child];
        child.parent = parent;
        child.chain.splice(0..0, chain.iter().copied());
        child.world |= world;
        child.state.animated |= state.animated;
        child.state.uniform &= state.uniform;
        child.state.unrotated &= state.unrotated;
    }
}

impl FlatNode {
    /// Its matrix relative to its parent, at the time that `world` was evaluated for.
    pub fn matrix(&self, world: &World<'_>) -> DMat4 {
        match (self.world, self.chain.last()) {
            (true, Some(&last)) => world.matrix[last],
            _ => self
                .chain
                .iter()
                .fold(DMat4::IDENTITY, |product, &i| product * world.local[i].0),
        }
    }
}

/// The tree for `--explain`, one line per node.
pub fn print(nodes: &[FlatNode], placed: &[Placed]) -> String {
    let mut text = String::new();
    let mut depth = vec![0usize; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        depth[i] = node.parent.map_or(0, |p| depth[p] + 1);
        let kind = match (node.mesh.is_some(), node.animated, node.baked) {
            (true, _, true) => "mesh, baked to world space",
            (true, true, _) => "mesh, moving",
            (true, false, _) => "mesh",
            (false, true, _) => "transform, moving",
            (false, false, _) => "transform",
        };
        let merged = node.chain.len().saturating_sub(1);
        let note = if merged > 0 {
            format!(", {merged} merged into it")
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "{:indent$}{} ({kind}{note})",
            "",
            placed[node.named].path,
            indent = 2 * depth[i]
        );
    }
    text
}
