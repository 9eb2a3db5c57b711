//! The nodes as a tree, and their transforms at a time.

use super::animation::{Animation, is_unusable, unit};
use super::document::Document;
use super::takes::Takes;
use glam::{DAffine3, DMat4, DVec3};
use meshreel_scene::{Error, LocalTransform, Qvv, Remark, trs};

/// The node tree of the file.
pub(super) struct Tree {
    pub parents: Vec<Option<usize>>,
    /// All nodes, parents before children, depth first.
    pub order: Vec<usize>,
    /// The local transforms at rest, without animation.
    rest: Vec<RestTransform>,
}

struct RestTransform {
    qvv: Qvv,
    /// The matrix at rest, if it is more than rotation, translation and scale.
    matrix: Option<DMat4>,
}

impl Tree {
    pub fn new(document: &Document, remarks: &mut Vec<Remark>) -> Result<Tree, Error> {
        let nodes = &document.root.nodes;
        let at = |node: usize| format!("node {node}");
        let mut parents = vec![None; nodes.len()];
        for (n, node) in nodes.iter().enumerate() {
            for &child in &node.children {
                match parents.get_mut(child) {
                    None => {
                        return Err(document.malformed(format!("child {child} is not there"), at(n)));
                    }
                    Some(Some(_)) => return Err(document.malformed("has two parents", at(child))),
                    Some(parent) => *parent = Some(n),
                }
            }
        }
        let mut stack: Vec<usize> = (0..nodes.len()).filter(|&n| parents[n].is_none()).collect();
        stack.reverse();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(n) = stack.pop() {
            order.push(n);
            stack.extend(nodes[n].children.iter().rev());
        }
        if order.len() < nodes.len() {
            return Err(document.malformed("nodes are their own ancestors", "the nodes"));
        }
        let mut zero = 0;
        let mut rest = Vec::with_capacity(nodes.len());
        for (n, node) in nodes.iter().enumerate() {
            let numbers = (node.matrix.iter().flatten())
                .chain(node.translation.iter().flatten())
                .chain(node.rotation.iter().flatten())
                .chain(node.scale.iter().flatten());
            if let Some(bad) = numbers.into_iter().find(|v| is_unusable(**v)) {
                return Err(document.malformed(format!("{bad} in its transform"), at(n)));
            }
            rest.push(match &node.matrix {
                None => {
                    zero += usize::from(node.rotation == Some([0.0; 4]));
                    let qvv = Qvv {
                        rotation: node.rotation.map_or(glam::DQuat::IDENTITY, unit),
                        translation: node.translation.map_or(DVec3::ZERO, DVec3::from_array),
                        scale: node.scale.map_or(DVec3::ONE, DVec3::from_array),
                    };
                    RestTransform { qvv, matrix: None }
                }
                Some(matrix) => {
                    let mut matrix = DMat4::from_cols_array(matrix);
                    for i in 0..4 {
                        matrix.col_mut(i).w = if i == 3 { 1.0 } else { 0.0 };
                    }
                    match trs::decompose(&matrix) {
                        Some(qvv) => RestTransform { qvv, matrix: None },
                        None => {
                            RestTransform { qvv: trs::nearest_without_shear(&matrix), matrix: Some(matrix) }
                        }
                    }
                }
            });
        }
        if zero > 0 {
            let what = format!("{zero} rotations are all zero; no rotation stands for them");
            remarks.push(Remark::new(document.path.display().to_string(), what));
        }
        Ok(Tree { parents, order, rest })
    }

    /// Makes a node a root.
    pub fn detach(&mut self, node: usize) {
        self.parents[node] = None;
    }

    /// Returns the local transform at rest, or the nearest one without shear.
    pub fn rest(&self, node: usize) -> Qvv {
        self.rest[node].qvv
    }

    /// `true` if the node mirrors its contents at rest: it and the nodes above it mirror an odd number of
    /// times.
    pub fn is_mirrored(&self, node: usize) -> bool {
        let above = std::iter::successors(Some(node), |&n| self.parents[n]);
        let mirrors = |&n: &usize| match &self.rest[n].matrix {
            Some(matrix) => matrix.determinant() < 0.0,
            None => self.rest[n].qvv.scale.element_product() < 0.0,
        };
        above.filter(mirrors).count() % 2 == 1
    }

    /// `true` if the node's transform has shear, which a joint cannot have.
    pub fn is_sheared(&self, node: usize) -> bool {
        self.rest[node].matrix.is_some()
    }

    /// `true` if the node's transform at rest is the identity.
    pub fn is_identity(&self, node: usize) -> bool {
        self.rest[node].matrix.is_none() && self.rest[node].qvv == Qvv::IDENTITY
    }

    /// Returns the local transform at `time` as rotation, translation and scale.
    pub fn local(&self, node: usize, animation: &Animation, time: f64) -> Qvv {
        let mut out = self.rest[node].qvv;
        if let Some(curves) = animation.nodes.get(&node) {
            if let Some(curve) = &curves.translation {
                out.translation = DVec3::from_array(curve.value(time));
            }
            if let Some(curve) = &curves.rotation {
                out.rotation = curve.rotation(time);
            }
            if let Some(curve) = &curves.scale {
                out.scale = DVec3::from_array(curve.value(time));
            }
        }
        out
    }

    /// Returns the local transform of a node at a time, including shear.
    pub fn transform(&self, node: usize, animation: &Animation, time: f64) -> LocalTransform {
        match &self.rest[node].matrix {
            Some(matrix) if !self.moves(node, animation) => LocalTransform::Matrix(*matrix),
            _ => LocalTransform::Components(self.local(node, animation, time)),
        }
    }

    /// `true` if `animation` has curves for the node's transform.
    fn moves(&self, node: usize, animation: &Animation) -> bool {
        let curves = animation.nodes.get(&node);
        curves.is_some_and(|curves| curves.transform_curves().next().is_some())
    }
}

/// Computes world transforms of some nodes; holds these and their ancestors, parents first.
pub(super) struct PoseEvaluator {
    /// Each node, and the index of its parent in this list.
    nodes: Vec<(usize, Option<usize>)>,
}

impl PoseEvaluator {
    /// Makes the list for `wanted` nodes, and returns the index of each of them in it.
    pub fn new(tree: &Tree, wanted: &[usize]) -> (PoseEvaluator, Vec<usize>) {
        let mut needed = vec![false; tree.parents.len()];
        for &node in wanted {
            let mut at = Some(node);
            while let Some(n) = at.filter(|&n| !needed[n]) {
                needed[n] = true;
                at = tree.parents[n];
            }
        }
        let mut place = vec![0; tree.parents.len()];
        let mut nodes = Vec::new();
        for &n in tree.order.iter().filter(|&&n| needed[n]) {
            place[n] = nodes.len();
            // Parents come first, so their index is known.
            nodes.push((n, tree.parents[n].map(|p| place[p])));
        }
        let places = wanted.iter().map(|&n| place[n]).collect();
        (PoseEvaluator { nodes }, places)
    }

    /// Fills `out` with the world transform of each node of the list.
    pub fn world(&self, tree: &Tree, animation: &Animation, time: f64, out: &mut Vec<DAffine3>) {
        out.clear();
        for &(node, parent) in &self.nodes {
            let local = match tree.transform(node, animation, time) {
                LocalTransform::Components(parts) => parts.matrix(),
                LocalTransform::Matrix(matrix) => DAffine3::from_mat4(matrix),
            };
            let world = match parent {
                Some(parent) => out[parent] * local,
                None => local,
            };
            out.push(world);
        }
    }

    /// `true` if any of the nodes moves.
    pub fn moves(&self, takes: &Takes) -> bool {
        self.nodes.iter().any(|(node, _)| takes.moves(*node))
    }
}
