//! The node tree of the file being written: its nodes, their transforms and their animations.

use super::buffer::AccessorUse;
use super::mesh::{MeshWriter, Run};
use crate::skins::is_rig;
use glam::{DMat3, DQuat};
use gltf_json::accessor::Accessor;
use gltf_json::animation::{Channel, Interpolation, Property, Sampler, Target};
use gltf_json::extras::{Extras, RawValue};
use gltf_json::scene::UnitQuaternion;
use gltf_json::validation::Checked::Valid;
use gltf_json::{Animation, Index, Node};
use meshreel_scene::{Error, LengthUnit, LocalTransform, Mesh, MeshId, Remark, Skin, trs};
use serde_json::Value;
use std::sync::Arc;

/// A mesh that waits for the nodes of its joints.
pub(super) struct PendingSkin {
    pub node: Index<Node>,
    pub skin: Arc<Skin>,
    /// `true` if joint 0 is one that never moves.
    pub has_fixed_joint: bool,
    pub name: String,
}

/// Remarks, and the largest position error of each mesh of a compressed file.
pub type WriteOutcome = (Vec<Remark>, Vec<(MeshId, f64)>);

/// The node tree while it is written.
pub(super) struct Tree<'a> {
    pub meshes: MeshWriter<'a>,
    pub channels: Vec<Channel>,
    pub samplers: Vec<Sampler>,
    pub animations: Vec<Animation>,
    /// Key times of all frames.
    pub all_key_times: Option<Index<Accessor>>,
    /// Meshes on skeletons, whose nodes are added later.
    pub pending_skins: Vec<PendingSkin>,
}

impl Tree<'_> {
    pub fn node(&mut self, name: &str) -> Index<Node> {
        let node = Node { name: Some(name.into()), ..Node::default() };
        Index::push(&mut self.meshes.document.root.nodes, node)
    }

    pub fn node_mut(&mut self, node: Index<Node>) -> &mut Node {
        &mut self.meshes.document.root.nodes[node.value()]
    }

    pub fn attach(&mut self, parent: Option<Index<Node>>, child: Index<Node>, roots: &mut Vec<Index<Node>>) {
        match parent {
            Some(parent) => self.node_mut(parent).children.get_or_insert_default().push(child),
            None => roots.push(child),
        }
    }

    /// Adds a root node that scales to metres, if the scene has another unit.
    pub fn unit_node(
        &mut self,
        unit: Option<LengthUnit>,
        roots: &mut Vec<Index<Node>>,
    ) -> Option<Index<Node>> {
        let (name, scale) = match unit? {
            LengthUnit::Metre => return None,
            LengthUnit::Centimetre => ("centimetres", 0.01),
            LengthUnit::Millimetre => ("millimetres", 0.001),
            LengthUnit::Inch => ("inches", 0.0254),
        };
        let node = self.node(name);
        self.node_mut(node).scale = Some([scale; 3]);
        roots.push(node);
        Some(node)
    }

    /// Sets the transform of `node`, one per frame or one for all; returns the node to attach children to.
    pub fn transform(
        &mut self,
        node: Index<Node>,
        locals: &[LocalTransform],
        path: &str,
    ) -> Result<Index<Node>, Error> {
        let mut clean: Vec<LocalTransform> = Vec::with_capacity(locals.len());
        for local in locals {
            if local.matrix().is_finite() {
                clean.push(*local);
            } else {
                self.meshes
                    .remarks
                    .insert(Remark::new(path, "a transform that is no finite numbers was left out"));
                clean.push(clean.last().copied().unwrap_or(LocalTransform::IDENTITY));
            }
        }
        let apart = |local: &LocalTransform| match local {
            LocalTransform::Components(parts) => Some(*parts),
            LocalTransform::Matrix(matrix) => trs::decompose(matrix),
        };
        let plain: Option<Vec<_>> = clean.iter().map(apart).collect();
        let (outer, inner) = match plain {
            Some(outer) => (outer, None),
            None => {
                let mut near = DMat3::IDENTITY;
                let both = clean.iter().map(|local| {
                    let (outer, inner, v) = trs::split_shear(&local.matrix(), near);
                    near = v;
                    (outer, inner)
                });
                let (outer, inner): (Vec<_>, Vec<_>) = both.unzip();
                (outer, Some(inner))
            }
        };
        let vector = |v: glam::DVec3| [v.x as f32, v.y as f32, v.z as f32];
        let translations: Vec<_> = outer.iter().map(|t| vector(t.translation)).collect();
        let scales: Vec<_> = outer.iter().map(|t| vector(t.scale)).collect();
        if translations[0] != [0.0; 3] || translations.len() > 1 {
            self.node_mut(node).translation = Some(translations[0]);
        }
        if scales[0] != [1.0; 3] || scales.len() > 1 {
            self.node_mut(node).scale = Some(scales[0]);
        }
        self.animate(node, Property::Translation, &translations)?;
        self.animate(node, Property::Scale, &scales)?;
        self.rotate(node, outer.iter().map(|t| t.rotation))?;
        let Some(inner) = inner else { return Ok(node) };
        self.meshes
            .remarks
            .insert(Remark::new(path, "its transform is sheared, which glTF holds only as two nodes"));
        let holder = self.node("shear");
        self.attach(Some(node), holder, &mut Vec::new());
        self.rotate(holder, inner.into_iter())?;
        Ok(holder)
    }

    pub fn rotate(&mut self, node: Index<Node>, rotations: impl Iterator<Item = DQuat>) -> Result<(), Error> {
        let mut last = DQuat::IDENTITY;
        let aligned: Vec<[f32; 4]> = rotations
            .map(|r| {
                last = if last.dot(r) < 0.0 { -r } else { r };
                last.to_array().map(|v| v as f32)
            })
            .collect();
        if aligned[0] != [0.0, 0.0, 0.0, 1.0] || aligned.len() > 1 {
            self.node_mut(node).rotation = Some(UnitQuaternion(aligned[0]));
        }
        self.animate(node, Property::Rotation, &aligned)
    }

    /// Animates a property with one value per frame, unless they are all the same.
    pub fn animate<const N: usize>(
        &mut self,
        node: Index<Node>,
        property: Property,
        values: &[[f32; N]],
    ) -> Result<(), Error> {
        if values.iter().all(|v| *v == values[0]) {
            return Ok(());
        }
        let output = self.meshes.document.floats(values, AccessorUse::Animation, false)?;
        let input = match self.all_key_times {
            Some(input) => input,
            None => self.meshes.key_time_accessor(0, self.meshes.keys.len())?,
        };
        self.all_key_times = Some(input);
        self.channel(node, property, Interpolation::Linear, input, output);
        Ok(())
    }

    pub fn channel(
        &mut self,
        node: Index<Node>,
        property: Property,
        how: Interpolation,
        input: Index<Accessor>,
        output: Index<Accessor>,
    ) {
        let sampler = Sampler {
            extensions: None,
            extras: Default::default(),
            input,
            interpolation: Valid(how),
            output,
        };
        let sampler = Index::push(&mut self.samplers, sampler);
        let target = Target { extensions: None, extras: Default::default(), node, path: Valid(property) };
        self.channels.push(Channel { sampler, target, extensions: None, extras: Default::default() });
    }

    /// Attaches a mesh to `holder`: to the node itself if it has one run and is always visible, else to a
    /// node per run.
    pub fn attach_runs(
        &mut self,
        holder: Index<Node>,
        name: &str,
        runs: &[Run],
        shown: &[(usize, bool)],
        source: Option<&Mesh>,
    ) -> Result<(), Error> {
        let direct = runs.len() == 1 && *shown == [(0, true)];
        for run in runs {
            let Some(mesh) = run.mesh else { continue };
            let node = if direct {
                holder
            } else {
                let name =
                    if runs.len() == 1 { name.to_string() } else { format!("{name}.{:04}", run.first + 1) };
                let node = self.node(&name);
                self.attach(Some(holder), node, &mut Vec::new());
                self.animate_visibility(node, run, shown)?;
                node
            };
            let node = self.on_lattice(node, name, run);
            self.node_mut(node).mesh = Some(mesh);
            if let (Some((skin, has_fixed_joint)), Some(source)) = (&run.skin, source) {
                match is_rig(skin) {
                    true => self.pending_skins.push(PendingSkin {
                        node,
                        skin: skin.clone(),
                        has_fixed_joint: *has_fixed_joint,
                        name: name.to_string(),
                    }),
                    false => self.own_joints(source, node, skin, *has_fixed_joint)?,
                }
            }
            if let Some((input, output)) = run.weights {
                self.channel(node, Property::MorphTargetWeights, Interpolation::Linear, input, output);
            }
        }
        Ok(())
    }

    /// Returns the node that a run's mesh is attached to: for integer positions, one that scales them to
    /// their places.
    fn on_lattice(&mut self, node: Index<Node>, name: &str, run: &Run) -> Index<Node> {
        let Some(grid) = run.lattice else { return node };
        let own = self.node(name);
        self.attach(Some(node), own, &mut Vec::new());
        self.node_mut(own).translation = Some(grid.origin);
        self.node_mut(own).scale = Some([grid.step; 3]);
        own
    }

    /// Animates scale: 1 in the frames of the run in which the object is visible, else 0.
    pub fn animate_visibility(
        &mut self,
        node: Index<Node>,
        run: &Run,
        shown: &[(usize, bool)],
    ) -> Result<(), Error> {
        let frames = self.meshes.keys.len();
        let visible = |frame: usize| {
            let i = shown.partition_point(|s| s.0 <= frame);
            i > 0 && shown[i - 1].1 && (run.first..run.end).contains(&frame)
        };
        let mut at: Vec<usize> =
            shown.iter().map(|s| s.0).chain([0, run.first, run.end]).filter(|f| *f < frames).collect();
        at.sort_unstable();
        at.dedup();
        at.dedup_by(|b, a| visible(*b) == visible(*a));
        let scale = |frame: usize| [if visible(frame) { 1.0 } else { 0.0 }; 3];
        if scale(0) != [1.0; 3] || at.len() > 1 {
            self.node_mut(node).scale = Some(scale(0));
        }
        if at.len() > 1 {
            let keys: Vec<[f32; 1]> = at.iter().map(|&f| [self.meshes.keys[f]]).collect();
            let values: Vec<_> = at.iter().map(|&f| scale(f)).collect();
            let input = self.meshes.document.floats(&keys, AccessorUse::Animation, true)?;
            let output = self.meshes.document.floats(&values, AccessorUse::Animation, false)?;
            self.channel(node, Property::Scale, Interpolation::Step, input, output);
        }
        Ok(())
    }

    /// Makes an animation of the channels added since the last one.
    pub fn close_animation(&mut self, name: &str, extras: gltf_json::Extras) {
        if !self.channels.is_empty() {
            self.animations.push(Animation {
                extensions: None,
                extras,
                channels: std::mem::take(&mut self.channels),
                name: Some(name.into()),
                samplers: std::mem::take(&mut self.samplers),
            });
        }
    }

    /// Returns the remarks, and the position errors of compressed meshes.
    pub fn finish(
        mut self,
        roots: Vec<Index<Node>>,
        mut remarks: Vec<Remark>,
    ) -> Result<WriteOutcome, Error> {
        let root = &mut self.meshes.document.root;
        root.asset.generator = Some(format!("meshreel {}", env!("CARGO_PKG_VERSION")));
        root.animations = self.animations;
        let scene =
            gltf_json::Scene { extensions: None, extras: Default::default(), name: None, nodes: roots };
        root.scene = Some(Index::push(&mut root.scenes, scene));
        remarks.extend(self.meshes.remarks);
        self.meshes.document.finish()?;
        Ok((remarks, self.meshes.errors))
    }
}

/// Returns the metres of a unit; 1 for a file without one.
pub(crate) fn metres(unit: Option<LengthUnit>) -> f64 {
    match unit {
        Some(LengthUnit::Metre) | None => 1.0,
        Some(LengthUnit::Centimetre) => 0.01,
        Some(LengthUnit::Millimetre) => 0.001,
        Some(LengthUnit::Inch) => 0.0254,
    }
}

/// Returns the JSON text of `extras`; `None` for an empty object.
pub(super) fn extras(value: Value) -> Extras {
    match value.as_object().is_some_and(|map| !map.is_empty()) {
        true => RawValue::from_string(value.to_string()).ok(),
        false => None,
    }
}
