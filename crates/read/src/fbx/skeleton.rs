//! Converts bones to skeletons, and all animations of the file to clips of them.
//!
//! FBX node transforms are translation, rotation and scale, so clips represent them fully.

use super::bind_pose::channels;
use super::moving::{MotionDetector, matrix, moves_weight};
use super::needed_frames::needed_frames;
use super::times::FrameTimes;
use super::tree::Tree;
use crate::joints::{Groups, NodeHierarchy};
use crate::parsed_mesh::stem;
use glam::{DMat4, DQuat, DVec3, DVec4};
use meshreel_scene::Qvv;
use meshreel_scene::clip::{Clip, Joint, MAX_JOINTS, ScalarTrack, Skeleton, SubTrack, Track};
use meshreel_scene::sample::MAX_FRAMES;
use meshreel_scene::uniform_times::UniformTimes;
use meshreel_scene::{Error, Remark, trs};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the animated values of all clips together: sub-tracks times samples.
const MAX_VALUES: usize = 1 << 25;
/// The same limit for a clip whose animation needs only few of its frames.
const MAX_SPARSE_VALUES: usize = 1 << 22;
/// Upper limit for the scalar tracks of a clip.
const MAX_SCALARS: usize = 1024;
/// The properties that move a node.
const TRANSFORM_PROPERTIES: [&str; 3] = ["Lcl Translation", "Lcl Rotation", "Lcl Scaling"];

/// The skeletons of a file, and the clips that move them.
pub(super) struct Rigs<'a> {
    pub skeletons: Vec<Skeleton>,
    pub clips: Vec<Clip>,
    /// The animation of each clip, and its effect on the skeleton.
    played: Vec<(FrameTimes<'a>, Arc<ClipMotion>)>,
    /// For each skeleton, the joint of each node that is one.
    node_joints: Vec<HashMap<usize, usize>>,
    /// The skeleton of each node with a skin.
    skin_skeletons: HashMap<usize, usize>,
    /// For each node, whether it is a joint.
    is_joint: Vec<bool>,
}

/// A clip, with the joint hierarchy of the skeleton that it moves.
pub(super) struct ClipMotion {
    parents: Vec<Option<usize>>,
    clip: Clip,
}

impl ClipMotion {
    /// Converts a time in seconds to samples after the first, clamped to the clip.
    pub fn sample_position(&self, time: f64) -> f64 {
        ((time - self.clip.start) * self.clip.fps).clamp(0.0, (self.clip.samples - 1) as f64)
    }

    /// Returns the world transforms of the joints, `at` samples after the first.
    pub fn world_transforms(&self, at: f64) -> Vec<DMat4> {
        let mut out: Vec<DMat4> = Vec::with_capacity(self.parents.len());
        for (joint, parent) in self.parents.iter().enumerate() {
            let local = DMat4::from(self.clip.interpolated(joint, at).matrix());
            out.push(parent.map_or(local, |parent| out[parent] * local));
        }
        out
    }
}

/// The input from which skeletons are made.
struct SkeletonReader<'a> {
    path: &'a Path,
    parsed: &'a ufbx::Scene,
    tree: &'a Tree,
    movers: MotionDetector,
}

impl<'a> Rigs<'a> {
    /// Makes one skeleton for the bones of all skins that share some. `skins` lists each node with a skin and
    /// the nodes of its bones. Nodes between and above bones are joints too, and so are nodes below them that
    /// show nothing, if an animation moves them. In a file without meshes all bones are one skeleton, if an
    /// animation moves it.
    pub fn read(
        path: &'a Path,
        parsed: &'a ufbx::Scene,
        tree: &'a Tree,
        skins: &[(usize, Vec<usize>)],
        remarks: &mut Vec<Remark>,
    ) -> Result<Rigs<'a>, Error> {
        let reader = SkeletonReader { path, parsed, tree, movers: MotionDetector::new(parsed) };
        let lists: Vec<&[usize]> = skins.iter().map(|(_, bones)| &bones[..]).collect();
        let groups = Groups::new(&lists, tree.parents.len());
        let mut joints: Vec<Vec<usize>> = vec![Vec::new(); groups.first_skins.len()];
        for (bones, group) in lists.iter().zip(&groups.skin_groups) {
            joints[*group].extend(*bones);
        }
        if joints.is_empty() && parsed.meshes.is_empty() {
            let bones = parsed.nodes.into_iter().enumerate().filter(|(_, node)| node.bone.is_some());
            let bones: Vec<usize> = bones.map(|(n, _)| n).collect();
            if reader.moves_any(&bones) {
                joints.push(bones);
            }
        }
        let of_skin =
            skins.iter().zip(&groups.skin_groups).map(|((node, _), group)| (*node, *group)).collect();
        let (skeletons, clips, played, places) = Default::default();
        let is_joint = vec![false; tree.parents.len()];
        let mut out =
            Rigs { skeletons, clips, played, node_joints: places, skin_skeletons: of_skin, is_joint };
        let order: Vec<usize> = (0..tree.parents.len()).collect();
        let nodes = NodeHierarchy { parents: &tree.parents, order: &order };
        let carries = nodes.propagate_up(reader.nodes_with_content(&groups.has_skin));
        let mut all = Vec::new();
        for joints in &joints {
            let below = reader.moves_any(joints).then_some(&carries[..]);
            let (own, place) = nodes.skeleton_nodes(joints, below, |node| reader.is_idle(node));
            if own.len() > MAX_JOINTS {
                return Err(Error::limit(path, "joints", own.len() as u64, MAX_JOINTS as u64));
            }
            own.iter().for_each(|node| out.is_joint[*node] = true);
            out.skeletons.push(reader.skeleton(&own, &place));
            out.node_joints.push(own.iter().enumerate().map(|(joint, node)| (*node, joint)).collect());
            all.push(own);
        }
        if let [only] = &mut out.skeletons[..] {
            only.name = stem(path);
        }
        out.make_clips(&reader, &all, skins, remarks)?;
        Ok(out)
    }

    /// Makes the clips. `nodes`: the nodes of each skeleton.
    fn make_clips(
        &mut self,
        reader: &SkeletonReader<'a>,
        nodes: &[Vec<usize>],
        skins: &[(usize, Vec<usize>)],
        remarks: &mut Vec<Remark>,
    ) -> Result<(), Error> {
        let mut left = MAX_VALUES;
        for stack in reader.parsed.anim_stacks.into_iter() {
            for (skeleton, nodes) in nodes.iter().enumerate() {
                let own = skins.iter().filter(|(node, _)| self.skin_skeletons[node] == skeleton);
                let weighed = reader.animated_channels(&stack.anim, own.map(|(node, _)| *node));
                let moves = nodes.iter().any(|node| reader.has_keys(&stack.anim, *node));
                if !moves && weighed.is_empty() {
                    continue;
                }
                let times = FrameTimes::single(reader.path, reader.parsed, stack)?;
                if reader.is_sparse(&times, nodes) {
                    let what = format!(
                        "{} samples at {} a second, of which few are needed: no clip was made of it; its first and last keys are far out",
                        times.count, times.rate
                    );
                    remarks.push(Remark::new(stack.element.name.to_string(), what));
                    continue;
                }
                let scalars = if weighed.len() > MAX_SCALARS { &[] } else { &weighed[..] };
                reader.spend(&times, nodes, scalars.len(), &mut left)?;
                let tracks = reader.tracks(&times, nodes)?;
                let name = stack.element.name.to_string();
                let name = match self.skeletons.len() {
                    1 => name,
                    _ => format!("{name} ({})", self.skeletons[skeleton].name),
                };
                let grid = UniformTimes { start: times.start, fps: times.rate, samples: times.count };
                let mut clip = Clip { skeleton, ..grid.clip_of_tracks(name, tracks) };
                if weighed.len() > MAX_SCALARS {
                    let what = format!("more than {MAX_SCALARS} weights; they are no scalar tracks");
                    remarks.push(Remark::new(&clip.name, what));
                }
                clip.scalars = scalars.iter().map(|channel| weight(channel, &times)).collect();
                let parents = self.skeletons[skeleton].joints.iter().map(|joint| joint.parent).collect();
                self.played.push((times, Arc::new(ClipMotion { parents, clip: clip.clone() })));
                self.clips.push(clip);
            }
        }
        Ok(())
    }

    /// Returns the skeleton of a node with a skin, and the joints for the nodes of its bones.
    pub fn skin_skeleton(&self, node: usize, bones: &[usize]) -> Option<(usize, Vec<usize>)> {
        let skeleton = *self.skin_skeletons.get(&node)?;
        let joints: Option<Vec<usize>> =
            bones.iter().map(|node| self.node_joints[skeleton].get(node).copied()).collect();
        Some((skeleton, joints?))
    }

    /// Returns the clips of a skeleton: number, times, and motion.
    pub fn skeleton_clips(
        &self,
        skeleton: usize,
    ) -> impl Iterator<Item = (usize, &FrameTimes<'a>, &Arc<ClipMotion>)> {
        let own = self.clips.iter().zip(&self.played).enumerate();
        let own = own.filter(move |(_, (clip, _))| clip.skeleton == skeleton);
        own.map(|(number, (_, (times, motion)))| (number, times, motion))
    }

    /// For each node, whether it becomes a node of the scene: joints that carry nothing are in skeletons
    /// only.
    pub fn scene_nodes(&self, parsed: &ufbx::Scene, tree: &Tree) -> Vec<bool> {
        let order: Vec<usize> = (0..tree.parents.len()).collect();
        let own = self
            .is_joint
            .iter()
            .zip(&parsed.nodes)
            .map(|(joint, node)| !joint || has_content(node))
            .collect();
        NodeHierarchy { parents: &tree.parents, order: &order }.propagate_up(own)
    }
}

/// `true` if the node has a mesh, camera or light.
fn has_content(node: &ufbx::Node) -> bool {
    node.mesh.is_some() || node.camera.is_some() || node.light.is_some()
}

/// Returns the weight of a blend shape over a clip.
fn weight(channel: &ufbx::BlendChannel, times: &FrameTimes<'_>) -> ScalarTrack {
    let at = |frame: usize| {
        let (anim, time) = times.animation_at(frame);
        DVec4::new(ufbx::evaluate_blend_weight(anim, channel, time), 0.0, 0.0, 0.0)
    };
    let values = SubTrack::new((0..times.count).map(at).collect());
    ScalarTrack {
        name: channel.element.name.to_string(),
        components: 1,
        values: values.unwrap_or(SubTrack::constant(DVec4::ZERO)),
    }
}

impl<'a> SkeletonReader<'a> {
    /// `true` if an animation has keys for the node's transform.
    fn has_keys(&self, anim: &ufbx::Anim, node: usize) -> bool {
        let element = &self.parsed.nodes[node].element;
        let by = |layer: &ufbx::AnimLayer| {
            TRANSFORM_PROPERTIES.iter().any(|name| ufbx::find_anim_prop(layer, element, name).is_some())
        };
        anim.layers.into_iter().any(by)
    }

    /// `true` if any animation moves one of these nodes.
    fn moves_any(&self, nodes: &[usize]) -> bool {
        let by = |stack: &ufbx::AnimStack| nodes.iter().any(|node| self.has_keys(&stack.anim, *node));
        self.parsed.anim_stacks.into_iter().any(by)
    }

    /// Returns the blend shape channels, of meshes on these nodes, that an animation moves.
    fn animated_channels(
        &self,
        anim: &ufbx::Anim,
        nodes: impl Iterator<Item = usize>,
    ) -> Vec<&'a ufbx::BlendChannel> {
        let mut known = HashSet::new();
        let meshes = nodes.filter_map(|node| self.parsed.nodes[node].mesh.as_ref());
        let own = meshes.flat_map(|mesh| channels(mesh)).filter(|channel| moves_weight(anim, channel));
        own.filter(|channel| known.insert(channel.element.typed_id)).collect()
    }

    /// For each node, whether it shows something or is a bone of a skin.
    fn nodes_with_content(&self, has_skin: &[bool]) -> Vec<bool> {
        self.parsed.nodes.into_iter().zip(has_skin).map(|(node, bone)| *bone || has_content(node)).collect()
    }

    /// `true` if a node is nothing but a name.
    fn is_idle(&self, node: usize) -> bool {
        self.tree.is_identity(node) && !self.moves_any(&[node])
    }

    /// Makes the joints of these nodes, in the bind pose; `place`: the joint of each node of the file.
    fn skeleton(&self, nodes: &[usize], place: &[Option<usize>]) -> Skeleton {
        let bind = self.bind();
        let mut world: Vec<DMat4> = Vec::with_capacity(nodes.len());
        let mut joints = Vec::with_capacity(nodes.len());
        for &n in nodes {
            let node = &self.parsed.nodes[n];
            let parent = self.tree.parents[n].and_then(|parent| place[parent]);
            let above = parent.map_or(DMat4::IDENTITY, |parent| world[parent]);
            let own = matrix(&node.node_to_parent);
            world.push(bind.get(&n).copied().unwrap_or(above * own));
            let rest = above.inverse() * world[joints.len()];
            let rest = if rest.is_finite() { rest } else { own };
            let plain = trs::decompose(&rest).unwrap_or_else(|| trs::nearest_without_shear(&rest));
            let name = node.element.name.to_string();
            let name = if name.is_empty() { format!("node {n}") } else { name };
            joints.push(Joint { name, parent, rest: plain, ..Joint::default() });
        }
        let name = joints.first().map_or(String::new(), |joint| joint.name.clone());
        Skeleton { name, joints }
    }

    /// Returns the world transforms of nodes at the time skins were bound to them, or else in the file's bind
    /// pose.
    fn bind(&self) -> HashMap<usize, DMat4> {
        let poses = self.parsed.poses.into_iter().filter(|pose| pose.is_bind_pose);
        let posed = poses.flat_map(|pose| &pose.bone_poses);
        let posed = posed.map(|bone| (bone.bone_node.element.typed_id, &bone.bone_to_world));
        let clusters = self.parsed.skin_clusters.into_iter();
        let bound =
            clusters.filter_map(|own| Some((own.bone_node.as_ref()?.element.typed_id, &own.bind_to_world)));
        let mut out = HashMap::new();
        for (node, to_world) in bound.chain(posed) {
            let to_world = matrix(to_world);
            let size = to_world.determinant();
            if to_world.is_finite() && size.is_finite() && size != 0.0 {
                out.entry(node as usize).or_insert(to_world);
            }
        }
        out
    }

    /// `true` if a node's transform may change in a clip.
    fn may_move(&self, times: &FrameTimes<'_>, node: usize) -> bool {
        self.movers.may_move(times.animation_at(0).0, &self.parsed.nodes[node])
    }

    /// `true` if a clip of these nodes is large only because its keys are far apart and little moves between
    /// them: clips store all samples.
    fn is_sparse(&self, times: &FrameTimes<'_>, nodes: &[usize]) -> bool {
        let moving = nodes.iter().filter(|node| self.may_move(times, **node)).count();
        let (anim, start) = times.animation_at(0);
        moving.max(1).saturating_mul(times.count) > MAX_SPARSE_VALUES / 3
            && needed_frames(self.parsed, anim, (start, times.rate, times.count)).is_some()
    }

    /// Subtracts the values needed by a clip of these nodes and `scalars` scalar tracks from `left`; fails if
    /// too few remain.
    fn spend(
        &self,
        times: &FrameTimes<'_>,
        nodes: &[usize],
        scalars: usize,
        left: &mut usize,
    ) -> Result<(), Error> {
        if times.count > MAX_FRAMES {
            let what = "frames of an animation of an FBX file";
            return Err(Error::limit(self.path, what, times.count as u64, MAX_FRAMES as u64));
        }
        let moving = nodes.iter().filter(|node| self.may_move(times, **node)).count();
        let needed = (3 * moving + scalars).saturating_mul(times.count).saturating_add(3 * nodes.len());
        *left = left.checked_sub(needed).ok_or_else(|| {
            let what = "animated values of clips";
            Error::limit(self.path, what, needed as u64, MAX_VALUES as u64)
        })?;
        Ok(())
    }

    /// Returns one track per node.
    fn tracks(&self, times: &FrameTimes<'_>, nodes: &[usize]) -> Result<Vec<Track>, Error> {
        let mut out = Vec::with_capacity(nodes.len());
        for n in nodes {
            let node = &self.parsed.nodes[*n];
            let samples = if self.may_move(times, *n) { times.count } else { 1 };
            let mut values = Vec::with_capacity(samples);
            for frame in 0..samples {
                let (anim, time) = times.animation_at(frame);
                let value = local(&ufbx::evaluate_transform(anim, node, time));
                values.push(value.ok_or_else(|| {
                    let what = "a transform that is no finite numbers";
                    Error::malformed(self.path, what, node.element.name.to_string())
                })?);
            }
            out.push(Track::from_samples(&values));
        }
        Ok(out)
    }
}

/// Converts a local transform; `None` if it is not finite.
fn local(own: &ufbx::Transform) -> Option<Qvv> {
    let (t, r, s) = (&own.translation, &own.rotation, &own.scale);
    let rotation = DQuat::from_xyzw(r.x, r.y, r.z, r.w).normalize();
    let (translation, scale) = (DVec3::new(t.x, t.y, t.z), DVec3::new(s.x, s.y, s.z));
    let sound = rotation.is_finite() && translation.is_finite() && scale.is_finite();
    sound.then_some(Qvv { rotation, translation, scale })
}
