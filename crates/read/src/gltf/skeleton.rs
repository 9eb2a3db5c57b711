//! Converts skins to skeletons, and animations to clips of them.

use super::animation::{self, Animation, Curve};
use super::document::{Document, SkinJson};
use super::tree::Tree;
use crate::joints::{Groups, NodeHierarchy};
use glam::DVec4;
use meshreel_scene::clip::{Clip, Joint, MAX_JOINTS, Marker, ScalarTrack, Skeleton, SubTrack, Track};
use meshreel_scene::uniform_times::UniformTimes;
use meshreel_scene::{Error, Remark};
use serde_json::Value;

/// Upper limit for the animated values of all clips together: sub-tracks times samples.
const MAX_VALUES: usize = 1 << 25;
/// Upper limit for the scalar tracks of a clip: meshes baked to morph targets have thousands.
const MAX_SCALARS: usize = 1024;

/// The skeletons of the file.
pub(super) struct Skeletons {
    /// The nodes of each skeleton, parents first.
    pub nodes: Vec<Vec<usize>>,
    /// The number of the skeleton of each skin.
    pub skin_skeletons: Vec<usize>,
    /// The skeleton of each node, and its joint number there.
    pub node_joints: Vec<Option<(usize, usize)>>,
    pub list: Vec<Skeleton>,
}

impl Skeletons {
    /// Makes one skeleton per skin; skins that share a joint share a skeleton. Nodes between and above joints
    /// are joints too, except those above all joints that do nothing; nodes below joints that show nothing
    /// are joints if there is a clip. Without skins, `all` makes one skeleton of all nodes.
    pub fn new(
        document: &Document,
        tree: &Tree,
        animations: &[Animation],
        all: bool,
        remarks: &mut Vec<Remark>,
    ) -> Result<Skeletons, Error> {
        let skins = &document.root.skins;
        let n = tree.parents.len();
        let Groups { has_skin, skin_groups: of_skin, first_skins: firsts } = grouped(document, n)?;
        let mut out = Skeletons {
            nodes: Vec::new(),
            skin_skeletons: of_skin,
            node_joints: vec![None; n],
            list: Vec::new(),
        };
        let mut groups: Vec<(Option<String>, Vec<usize>)> =
            firsts.iter().map(|&s| (skins[s].name.clone(), Vec::new())).collect();
        for (s, skin) in skins.iter().enumerate() {
            groups[out.skin_skeletons[s]].1.extend(&skin.joints);
        }
        if groups.is_empty() && all {
            // A camera at the end of a branch is no joint.
            let is_joint = |node: &usize| {
                let json = &document.root.nodes[*node];
                json.camera.is_none() || !json.children.is_empty()
            };
            groups.push((None, tree.order.iter().copied().filter(is_joint).collect()));
        }
        let file = NodeHierarchy { parents: &tree.parents, order: &tree.order };
        // Whether the node or one below it shows a mesh or is a joint of a skin.
        let shown =
            document.root.nodes.iter().zip(&has_skin).map(|(node, joint)| node.mesh.is_some() || *joint);
        let carries = file.propagate_up(shown.collect());
        let moves = |node: usize| animations.iter().any(|a| a.nodes.get(&node).is_some_and(|c| c.moves()));
        for (g, (name, joints)) in groups.into_iter().enumerate() {
            // Nodes below joints that show nothing (the socket of a weapon, the end of a finger) move with
            // them; without a clip they are ordinary nodes.
            let below = !skins.is_empty() && out.has_clips(document, g, &joints, animations);
            let below = below.then_some(&carries[..]);
            let idle = |node: usize| tree.is_identity(node) && !moves(node);
            let (nodes, place) = file.skeleton_nodes(&joints, below, idle);
            if nodes.len() > MAX_JOINTS {
                return Err(Error::limit(&document.path, "joints", nodes.len() as u64, MAX_JOINTS as u64));
            }
            let stem = document.path.file_stem().unwrap_or_default();
            let name = name.unwrap_or_else(|| stem.to_string_lossy().into_owned());
            let sheared = nodes.iter().filter(|&&node| tree.is_sheared(node)).count();
            if sheared > 0 {
                let what = format!("{sheared} joints are sheared at rest; that was left out");
                remarks.push(Remark::new(&name, what));
            }
            for (j, &node) in nodes.iter().enumerate() {
                out.node_joints[node].get_or_insert((g, j));
            }
            let parent = |node: usize| tree.parents[node].and_then(|p| place[p]);
            let joints = nodes.iter().map(|&node| joint(document, tree, node, parent(node)));
            out.list.push(Skeleton { name, joints: joints.collect() });
            out.nodes.push(nodes);
        }
        Ok(out)
    }

    /// `true` if a skeleton may have clips: not all its skins opt out.
    fn may_have_clips(&self, document: &Document, s: usize) -> bool {
        let skins = document.root.skins.iter().zip(&self.skin_skeletons);
        let mut own = skins.filter(|(_, of)| **of == s).map(|(skin, _)| skin);
        let told = |skin: &SkinJson| skin.extras.get("clip") == Some(&Value::Bool(false));
        !own.clone().all(told) || own.next().is_none()
    }

    /// `true` if some animation moves one of these joints, or weights of a mesh bound to them, so the
    /// skeleton has a clip.
    fn has_clips(&self, document: &Document, s: usize, joints: &[usize], animations: &[Animation]) -> bool {
        let moves = |animation: &Animation| {
            let joints = joints.iter().filter_map(|j| animation.nodes.get(j));
            let mut moved = joints.map(|curves| curves.transform_curves().next().is_some());
            let weighs = |(node, curves): (&usize, &animation::NodeCurves)| {
                let skin = document.root.nodes[*node].skin;
                curves.weights.is_some() && skin.and_then(|k| self.skin_skeletons.get(k)) == Some(&s)
            };
            moved.any(|moved| moved) || animation.nodes.iter().any(weighs)
        };
        self.may_have_clips(document, s) && animations.iter().any(moves)
    }

    /// Makes a clip for each animation and each skeleton that it moves; returns also the number of each
    /// clip's animation.
    pub fn clips(
        &self,
        document: &Document,
        tree: &Tree,
        animations: &[Animation],
        fps: f64,
        remarks: &mut Vec<Remark>,
    ) -> Result<(Vec<Clip>, Vec<usize>), Error> {
        let (mut clips, mut of) = (Vec::new(), Vec::new());
        let with_clips: Vec<bool> = (0..self.nodes.len()).map(|s| self.may_have_clips(document, s)).collect();
        let counted = with_clips.iter().filter(|c| **c).count();
        let mut left = MAX_VALUES;
        for (a, animation) in animations.iter().enumerate() {
            let Some((grid, exact)) = animation::grid(animation, fps, document)? else {
                continue;
            };
            let mut used = false;
            for (s, nodes) in self.nodes.iter().enumerate() {
                let curves = |node: &usize| animation.nodes.get(node);
                let moved =
                    |node: &&usize| curves(node).is_some_and(|c| c.transform_curves().next().is_some());
                // Faces are often animated by weights alone.
                let weighs = |(node, curves): (&usize, &animation::NodeCurves)| {
                    let skin = document.root.nodes[*node].skin;
                    let own = skin.and_then(|skin| self.skin_skeletons.get(skin)) == Some(&s);
                    own && curves.weights.is_some()
                };
                let own = nodes.iter().any(|node| moved(&node)) || animation.nodes.iter().any(weighs);
                if !with_clips[s] || !own {
                    continue;
                }
                let moving: usize = nodes
                    .iter()
                    .filter_map(curves)
                    .map(|c| c.transform_curves().filter(|c| !c.is_constant()).count())
                    .sum();
                let needed = moving.saturating_mul(grid.samples);
                left = left.checked_sub(needed).ok_or_else(|| {
                    let what = "animated values of clips";
                    Error::limit(&document.path, what, needed as u64, MAX_VALUES as u64)
                })?;
                used = true;
                let name = match counted {
                    1 => animation.name.clone(),
                    _ => format!("{} ({})", animation.name, self.list[s].name),
                };
                let tracks = nodes.iter().map(|&node| track(tree, node, animation, &grid)).collect();
                let mut clip = Clip { skeleton: s, ..grid.clip_of_tracks(name, tracks) };
                let extras = &document.root.animations[a].extras;
                self.weights(document, s, animation, &grid, &mut clip, remarks);
                scalars(extras, &mut clip, remarks);
                markers(extras, &mut clip, remarks);
                clips.push(clip);
                of.push(a);
            }
            if used && !exact {
                let what = format!(
                    "its keys are not at even times; it was sampled at {} frames per second",
                    grid.fps
                );
                remarks.push(Remark::new(&animation.name, what));
            }
        }
        Ok((clips, of))
    }

    /// Adds the weights of morph targets of meshes on this skeleton as scalar tracks.
    fn weights(
        &self,
        document: &Document,
        skeleton: usize,
        animation: &Animation,
        grid: &UniformTimes,
        clip: &mut Clip,
        remarks: &mut Vec<Remark>,
    ) {
        let root = &document.root;
        for (&node, curves) in &animation.nodes {
            let Some(curve) = &curves.weights else {
                continue;
            };
            let json = &root.nodes[node];
            let own = (json.skin).and_then(|skin| self.skin_skeletons.get(skin)) == Some(&skeleton);
            if !own {
                continue;
            }
            if clip.scalars.len() + curve.width() > MAX_SCALARS {
                let what = format!("more than {MAX_SCALARS} weights; they are no scalar tracks");
                remarks.push(Remark::new(&clip.name, what));
                continue;
            }
            let mesh = json.mesh.and_then(|mesh| root.meshes.get(mesh));
            let names = mesh.and_then(|mesh| mesh.extras.get("targetNames"));
            for i in 0..curve.width() {
                let name = names.and_then(|names| names.get(i)).and_then(Value::as_str);
                clip.scalars.push(ScalarTrack {
                    name: name.map_or(format!("weight {i}"), str::to_owned),
                    components: 1,
                    values: weight(curve, i, grid),
                });
            }
        }
    }
}

fn weight(curve: &Curve, i: usize, grid: &UniformTimes) -> SubTrack<DVec4> {
    let mut all = Vec::new();
    let mut value = |sample: usize| {
        curve.fill(grid.time(sample), &mut all);
        DVec4::new(all.get(i).copied().unwrap_or(0.0), 0.0, 0.0, 0.0)
    };
    let first = value(0);
    let constant = curve.is_constant();
    let rest = (1..if constant { 1 } else { grid.samples }).map(value);
    SubTrack::new([first].into_iter().chain(rest).collect()).unwrap_or(SubTrack::constant(first))
}

/// Groups skins that share joints, after checking that all joints exist.
fn grouped(document: &Document, nodes: usize) -> Result<Groups, Error> {
    for (s, skin) in document.root.skins.iter().enumerate() {
        if skin.joints.is_empty() {
            return Err(document.malformed("has no joints", format!("skin {s}")));
        }
        if let Some(joint) = skin.joints.iter().find(|&&joint| joint >= nodes) {
            let what = format!("joint {joint} is not there");
            return Err(document.malformed(what, format!("skin {s}")));
        }
    }
    let joints: Vec<&[usize]> = document.root.skins.iter().map(|skin| &skin.joints[..]).collect();
    Ok(Groups::new(&joints, nodes))
}

fn joint(document: &Document, tree: &Tree, node: usize, parent: Option<usize>) -> Joint {
    let json = &document.root.nodes[node];
    let extra = |key: &str| json.extras.get(key);
    let number = |key: &str| extra(key).and_then(Value::as_f64);
    Joint {
        name: json.name.clone().unwrap_or(format!("node {node}")),
        parent,
        rest: tree.rest(node),
        shell: number("shell").filter(|s| *s > 0.0 && *s < 1e15),
        rotation_order: None,
        end_sites: Vec::new(),
        layer: extra("layer").and_then(Value::as_str).map(str::to_owned),
        bias: number("bias"),
    }
}

fn track(tree: &Tree, node: usize, animation: &Animation, grid: &UniformTimes) -> Track {
    let first = tree.local(node, animation, grid.start);
    let mut out = Track::constant(first);
    let Some(curves) = animation.nodes.get(&node) else {
        return out;
    };
    let times = || (0..grid.samples).map(|i| grid.time(i));
    let vector = |curve: &Option<Curve>| {
        let curve = curve.as_ref().filter(|curve| !curve.is_constant())?;
        let values = SubTrack::new(times().map(|t| curve.value(t).into()).collect());
        values.map(|values| values.hold(curve.is_step()))
    };
    if let Some(translation) = vector(&curves.translation) {
        out.translation = translation;
    }
    if let Some(scale) = vector(&curves.scale) {
        out.scale = scale;
    }
    let rotation = curves.rotation.as_ref().filter(|c| !c.is_constant());
    if let Some(curve) = rotation
        && let Some(rotation) = SubTrack::new(times().map(|t| curve.rotation(t)).collect())
    {
        out.rotation = rotation.hold(curve.is_step());
    }
    out
}

/// Reads the extras `scalars`: `[{"name": …, "components": 1 … 4, "values": [components × samples numbers, or
/// components]}]`.
fn scalars(extras: &Value, clip: &mut Clip, remarks: &mut Vec<Remark>) {
    let Some(list) = extras.get("scalars").and_then(Value::as_array) else {
        return;
    };
    for entry in list {
        let track = || -> Option<ScalarTrack> {
            let components = entry.get("components").map_or(Some(1), Value::as_u64)?;
            let components = usize::try_from(components).ok()?;
            let numbers = entry.get("values")?.as_array()?;
            if !(1..=4).contains(&components)
                || (numbers.len() != components && numbers.len() != components * clip.samples)
            {
                return None;
            }
            let mut values = Vec::with_capacity(numbers.len() / components);
            for chunk in numbers.chunks(components) {
                let mut value = DVec4::ZERO;
                for (k, number) in chunk.iter().enumerate() {
                    value[k] = number.as_f64()?;
                }
                values.push(value);
            }
            Some(ScalarTrack {
                name: entry.get("name")?.as_str()?.into(),
                components,
                values: SubTrack::new(values)?,
            })
        };
        match track() {
            Some(track) if clip.scalars.len() < MAX_SCALARS => clip.scalars.push(track),
            _ => {
                let what = "a scalar track in its extras makes no sense and was left out";
                remarks.push(Remark::new(&clip.name, what));
            }
        }
    }
}

/// Reads the extras `events`: `[{"name": …, "time": seconds}]`.
fn markers(extras: &Value, clip: &mut Clip, remarks: &mut Vec<Remark>) {
    let Some(list) = extras.get("events").and_then(Value::as_array) else {
        return;
    };
    for entry in list {
        let name = entry.get("name").and_then(Value::as_str);
        let time = entry.get("time").and_then(Value::as_f64);
        match (name, time) {
            (Some(name), Some(time)) => clip.markers.push(Marker { name: name.into(), time }),
            _ => {
                let what = "an event in its extras has no name or time and was left out";
                remarks.push(Remark::new(&clip.name, what));
            }
        }
    }
    clip.markers.sort_by(|a, b| a.time.total_cmp(&b.time));
}
