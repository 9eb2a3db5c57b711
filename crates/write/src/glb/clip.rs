//! Skeletons as nodes and a skin, clips as animations with LINEAR samplers, or STEP ones for held values:
//! sub-tracks only if they leave the rest pose in any clip of the skeleton; layers and biases of joints,
//! scalar tracks and markers as extras.

use super::buffer::AccessorUse;
use super::tree::{Tree, extras, metres};
use glam::{DQuat, DVec3};
use gltf_json::accessor::Accessor;
use gltf_json::animation::{Interpolation, Property};
use gltf_json::scene::UnitQuaternion;
use gltf_json::{Index, Node, Skin};
use meshreel_scene::{Clip, Error, Qvv, Remark, Scene, Track};
use serde_json::{Value, json};

fn vector(v: DVec3) -> [f32; 3] {
    v.to_array().map(|v| v as f32)
}

/// Returns the interpolation between samples: STEP for held values, else LINEAR.
fn interpolation(held: bool) -> Interpolation {
    match held {
        true => Interpolation::Step,
        false => Interpolation::Linear,
    }
}

/// Returns whether the rotation, translation and scale of each joint of each skeleton leave the rest pose in
/// any of its clips. If one does, all clips animate it: a program that switches animations leaves unchanged
/// what the next one does not animate.
pub(super) fn animated_parts(scene: &Scene) -> Vec<Vec<[bool; 3]>> {
    let mut animated: Vec<_> =
        scene.skeletons.iter().map(|skeleton| vec![[false; 3]; skeleton.joints.len()]).collect();
    for clip in &scene.clips {
        let joints = &scene.skeletons[clip.skeleton].joints;
        for ((track, joint), animated) in clip.tracks.iter().zip(joints).zip(&mut animated[clip.skeleton]) {
            let (r, t, s) = (&track.rotation, &track.translation, &track.scale);
            animated[0] |= !r.is_constant() || r.sample(0) != joint.rest.rotation;
            animated[1] |= !t.is_constant() || t.sample(0) != joint.rest.translation;
            animated[2] |= !s.is_constant() || s.sample(0) != joint.rest.scale;
        }
    }
    animated
}

impl Tree<'_> {
    /// Adds the nodes of the joints of each skeleton, at rest, with lengths in metres, the unit of glTF.
    pub(super) fn skeletons(&mut self, scene: &Scene, roots: &mut Vec<Index<Node>>) -> Vec<Vec<Index<Node>>> {
        let unit = metres(scene.unit);
        let ridden = self.skeletons_with_skins(scene);
        let mut out = Vec::with_capacity(scene.skeletons.len());
        for (skeleton, ridden) in scene.skeletons.iter().zip(ridden) {
            let mut nodes: Vec<Index<Node>> = Vec::with_capacity(skeleton.joints.len());
            // The joints of a skin need a common root.
            let several = skeleton.joints.iter().filter(|j| j.parent.is_none()).count() > 1;
            let top = several.then(|| {
                let top = self.node(&skeleton.name);
                roots.push(top);
                top
            });
            for joint in &skeleton.joints {
                let node = self.node(&joint.name);
                self.attach(joint.parent.map(|p| nodes[p]).or(top), node, roots);
                let mut more = serde_json::Map::new();
                if let Some(layer) = &joint.layer {
                    more.insert("layer".into(), json!(layer));
                }
                if let Some(bias) = joint.bias {
                    more.insert("bias".into(), json!(bias));
                }
                if let Some(shell) = joint.shell {
                    more.insert("shell".into(), json!(shell * unit));
                }
                let Qvv { rotation, translation, scale } = joint.rest;
                let json = self.node_mut(node);
                json.translation = Some(vector(translation * unit));
                json.rotation = Some(UnitQuaternion(rotation.to_array().map(|v| v as f32)));
                json.scale = Some(vector(scale));
                json.extras = extras(Value::Object(more));
                nodes.push(node);
            }
            let skin = Skin {
                extensions: None,
                extras: None,
                inverse_bind_matrices: None,
                joints: nodes.clone(),
                name: Some(skeleton.name.clone()),
                skeleton: None,
            };
            // Skins of meshes on the skeleton name all of its joints.
            if !nodes.is_empty() && !ridden {
                self.meshes.document.root.skins.push(skin);
            }
            out.push(nodes);
        }
        out
    }

    /// Adds an animation of `nodes`, the joints of its skeleton. `start`: the time that becomes 0;
    /// `animated`: the components that it animates, from [`animated_parts`].
    pub(super) fn clip(
        &mut self,
        scene: &Scene,
        clip: &Clip,
        start: f64,
        nodes: &[Index<Node>],
        animated: &[[bool; 3]],
    ) -> Result<(), Error> {
        if start < 0.0 {
            let what = format!("glTF's time begins at 0: it was moved by {} seconds", -start);
            self.meshes.remarks.insert(Remark::new(&clip.name, what));
        }
        let time = |i: usize| [(clip.start - start + i as f64 / clip.fps) as f32];
        let keys: Vec<[f32; 1]> = (0..clip.samples).map(time).collect();
        if keys.windows(2).any(|w| w[1] <= w[0]) {
            return Err(Error::unsupported(
                self.meshes.document.target(),
                format!("clip {}: its times are equal in 32 bits", clip.name),
            ));
        }
        // Key times of all samples, and a single one for constant tracks.
        let whole = self.meshes.document.floats(&keys, AccessorUse::Animation, true)?;
        let mut first = None;
        let is_constant = clip.tracks.iter().all(|track| {
            track.rotation.is_constant() && track.translation.is_constant() && track.scale.is_constant()
        });
        for (j, (track, &node)) in clip.tracks.iter().zip(nodes).enumerate() {
            let mut samples = |constant: bool, part: usize| -> Result<_, Error> {
                Ok(match (constant, !animated[j][part]) {
                    (false, _) => Some((whole, clip.samples)),
                    (true, true) => None,
                    (true, false) => {
                        let one = match first {
                            Some(one) => one,
                            None => self.meshes.document.floats(&keys[..1], AccessorUse::Animation, true)?,
                        };
                        first = Some(one);
                        Some((one, 1))
                    }
                })
            };
            // If nothing moves, one constant track still defines the duration.
            let idle = is_constant && j == 0;
            let rotation = samples(track.rotation.is_constant(), 0)?;
            let translation = samples(track.translation.is_constant() && !idle, 1)?;
            let scale = samples(track.scale.is_constant(), 2)?;
            self.track(node, track, metres(scene.unit), [rotation, translation, scale])?;
        }
        self.close_clip(scene, clip, extras(Value::Object(markers_and_scalars(clip, start))));
        Ok(())
    }

    /// Adds the channels of a node. `samples`: for rotation, translation and scale the accessor of key times
    /// and the number of samples; `None` if the node itself has the value. `unit`: metres per length unit.
    fn track(
        &mut self,
        node: Index<Node>,
        track: &Track,
        unit: f64,
        samples: [Option<(Index<Accessor>, usize)>; 3],
    ) -> Result<(), Error> {
        let (r, t, s) = (&track.rotation, &track.translation, &track.scale);
        let [rotation, translation, scale] = samples;
        if let Some((input, n)) = translation {
            let values: Vec<_> = (0..n).map(|i| vector(t.sample(i) * unit)).collect();
            self.add_values_channel(node, Property::Translation, input, &values, interpolation(t.is_held()))?;
        }
        if let Some((input, n)) = rotation {
            let mut last = DQuat::IDENTITY;
            let values: Vec<_> = (0..n)
                .map(|i| {
                    let q = r.sample(i);
                    last = if last.dot(q) < 0.0 { -q } else { q };
                    last.to_array().map(|v| v as f32)
                })
                .collect();
            self.add_values_channel(node, Property::Rotation, input, &values, interpolation(r.is_held()))?;
        }
        if let Some((input, n)) = scale {
            let values: Vec<_> = (0..n).map(|i| vector(s.sample(i))).collect();
            self.add_values_channel(node, Property::Scale, input, &values, interpolation(s.is_held()))?;
        }
        Ok(())
    }

    fn add_values_channel<const N: usize>(
        &mut self,
        node: Index<Node>,
        property: Property,
        input: Index<Accessor>,
        values: &[[f32; N]],
        how: Interpolation,
    ) -> Result<(), Error> {
        let output = self.meshes.document.floats(values, AccessorUse::Animation, false)?;
        self.channel(node, property, how, input, output);
        Ok(())
    }
}

/// Returns the extras of an animation: markers as `events`, scalar tracks as `scalars`. `start`: the time
/// that becomes 0.
fn markers_and_scalars(clip: &Clip, start: f64) -> serde_json::Map<String, Value> {
    let mut out = serde_json::Map::new();
    if !clip.markers.is_empty() {
        let markers = clip.markers.iter();
        let markers = markers.map(|m| json!({"name": m.name, "time": m.time - start}));
        out.insert("events".into(), markers.collect());
    }
    if !clip.scalars.is_empty() {
        let scalars = clip.scalars.iter().map(|track| {
            let n = if track.values.is_constant() { 1 } else { clip.samples };
            let values = (0..n).flat_map(|i| {
                let value = track.values.sample(i).to_array();
                value.into_iter().take(track.components)
            });
            let values: Vec<f64> = values.collect();
            json!({"name": track.name, "components": track.components, "values": values})
        });
        out.insert("scalars".into(), scalars.collect());
    }
    out
}
