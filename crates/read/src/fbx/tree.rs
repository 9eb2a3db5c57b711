//! Nodes: their transforms and their visibility in every frame.

use super::camera;
use super::moving::{MotionDetector, VISIBILITY, is_shown, may_change};
use super::times::{FrameTimes, each_frame};
use glam::{DAffine3, DMat4, DQuat, DVec3};
use meshreel_scene::{
    Channel, Error, LocalTransform, Node, NodeKind, Qvv, Scene, TimeSampling, Transform, trs,
};
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the matrices of moving nodes, over all frames.
const MAX_MATRICES: u64 = 1 << 24;

/// The transforms of all nodes, the root first, parents before their children.
pub(super) struct Tree {
    pub parents: Vec<Option<usize>>,
    /// Local transforms: one for all frames, or one per frame.
    local: Vec<Vec<Qvv>>,
    /// Visibility: one value for all frames, or one per frame.
    visibility: Vec<Vec<i8>>,
    /// The rotations of cameras and lights, whose axes differ from those of the scene model.
    axis_rotations: Vec<Option<DMat4>>,
    pub frames: usize,
}

fn to_qvv(t: &ufbx::Transform) -> Qvv {
    let vector = |v: &ufbx::Vec3| DVec3::new(v.x, v.y, v.z);
    let rotation = DQuat::from_xyzw(t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w);
    Qvv { rotation, translation: vector(&t.translation), scale: vector(&t.scale) }
}

/// Converts a rotation matrix to parts, if possible.
fn to_local_transform(turn: &DMat4) -> LocalTransform {
    trs::decompose(turn).map_or(LocalTransform::Matrix(*turn), LocalTransform::Components)
}

impl Tree {
    pub fn read(path: &Path, parsed: &ufbx::Scene, times: &FrameTimes<'_>) -> Result<Tree, Error> {
        let movers = MotionDetector::new(parsed);
        let moves = |node: &ufbx::Node| times.anims().any(|anim| movers.may_move(anim, node));
        let moving = parsed.nodes.into_iter().filter(|node| moves(node)).count();
        // The number of frames is also limited when nothing moves.
        let asked = (moving.max(1) as u64).saturating_mul(times.count as u64);
        if asked > MAX_MATRICES {
            let what = "transforms of nodes that move, over all frames of an FBX file; export it in parts";
            return Err(Error::limit(path, what, asked, MAX_MATRICES));
        }
        let mut tree = Tree {
            parents: Vec::new(),
            local: Vec::new(),
            visibility: Vec::new(),
            axis_rotations: parsed.nodes.into_iter().map(camera::axis_rotation).collect(),
            frames: times.count,
        };
        for (n, node) in parsed.nodes.into_iter().enumerate() {
            let parent = node.parent.as_ref().map(|p| p.element.typed_id as usize);
            if parent.is_some_and(|p| p >= n) {
                return Err(Error::malformed(path, "a node comes before the one above it", "nodes"));
            }
            tree.parents.push(parent);
            let at = |frame: usize| {
                let (anim, time) = times.animation_at(frame);
                let transform = ufbx::evaluate_transform(anim, node, time);
                to_qvv(&transform)
            };
            let first = at(0);
            let mut local = vec![first];
            if moves(node) {
                local.extend((1..times.count).map(at));
            }
            if local.iter().any(|own| !own.matrix().is_finite()) {
                return Err(Error::malformed(
                    path,
                    "a transform that is no finite numbers",
                    node.element.name.to_string(),
                ));
            }
            if local.iter().all(|own| *own == first) {
                local.truncate(1);
            }
            tree.local.push(local);
            tree.visibility.push(visibility_samples(node, times));
        }
        Ok(tree)
    }

    /// Returns the world matrices of all nodes.
    pub fn world(&self, frame: usize) -> Vec<DMat4> {
        let mut world: Vec<DMat4> = Vec::with_capacity(self.local.len());
        for (local, parent) in self.local.iter().zip(&self.parents) {
            let own = local[frame.min(local.len() - 1)];
            let above = parent.map_or(DMat4::IDENTITY, |p| world[p]);
            world.push(above * DMat4::from(own.matrix()));
        }
        world
    }

    /// `true` if the node's local transform is always the identity.
    pub fn is_identity(&self, node: usize) -> bool {
        matches!(self.local[node][..], [only] if only.matrix() == DAffine3::IDENTITY)
    }

    /// `true` if a node, or one above it, moves.
    pub fn moves(&self, node: usize) -> bool {
        std::iter::successors(Some(node), |&n| self.parents[n]).any(|n| self.local[n].len() > 1)
    }

    /// Returns the inverse of the node's camera or light rotation, to be applied to its children.
    pub fn inverse_axis_rotation(&self, node: usize) -> Option<DMat4> {
        self.axis_rotations[node].map(|turn| turn.transpose())
    }

    /// Makes the node of the scene; children of the root include the root's own transform.
    pub fn node(
        &self,
        n: usize,
        name: &str,
        parent: Option<usize>,
        scene: &Scene,
        sampling: &Arc<TimeSampling>,
    ) -> Node {
        let above = parent.map_or("", |p| &scene.nodes[p].path);
        let mut out = Node::new(format!("{above}/{name}"), NodeKind::Xform);
        (out.name, out.parent) = (name.into(), parent);
        let above = match (parent, self.parents[n]) {
            (Some(_), Some(parent)) => self
                .inverse_axis_rotation(parent)
                .map_or(LocalTransform::IDENTITY, |back| to_local_transform(&back)),
            _ => self.local[0][0].into(),
        };
        let turn = self.axis_rotations[n].map_or(LocalTransform::IDENTITY, |turn| to_local_transform(&turn));
        let own = |own: &Qvv| vec![above.compose(&(*own).into()).compose(&turn)];
        let local: Vec<Vec<LocalTransform>> = self.local[n].iter().map(own).collect();
        out.samples = local.len();
        let local = match &local[..] {
            [only] => Channel::constant(only.clone()),
            _ => each_frame(sampling, local),
        };
        out.transform = Some(Transform { local, inherits: None });
        out.visibility = match &self.visibility[n][..] {
            [-1] => None,
            [only] => Some(Channel::constant(vec![*only])),
            all => Some(each_frame(sampling, all.iter().map(|own| vec![*own]).collect())),
        };
        out
    }
}

/// Returns the visibility of a node and all below it, once or per frame: hidden (0), inherited from the
/// parent (-1), or visible regardless of it (1).
fn visibility_samples(node: &ufbx::Node, times: &FrameTimes<'_>) -> Vec<i8> {
    let element = &node.element;
    let inherits = ufbx::find_prop(&element.props, "Visibility Inheritance");
    let shown = if inherits.is_some_and(|inherits| inherits.value_int == 0) { 1 } else { -1 };
    let at = |frame| {
        let (anim, time) = times.animation_at(frame);
        if is_shown(anim, node, time) { shown } else { 0 }
    };
    let moves = times.anims().any(|anim| may_change(anim, element, VISIBILITY));
    let all: Vec<i8> = (0..if moves { times.count } else { 1 }).map(at).collect();
    if all.iter().all(|s| *s == all[0]) { vec![all[0]] } else { all }
}
