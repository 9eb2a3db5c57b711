//! UsdSkel: skeletons, their animations, and the skins of meshes.
//!
//! point = Σ weight · joint · inverse of the joint's bind transform · bind position, in the skeleton's space.
//! A skeleton has one bind transform per joint, so meshes that were bound to a skeleton in different poses
//! get skeletons of their own, with one animation.

use super::layer::{Layer, PrimId, Samples, UniqueNames, vectors};
use super::value::{Element, Value};
use crate::clip_samples::clip_samples;
use crate::skins::{influences, is_rig, to_bind_pose};
use glam::{DAffine3, DMat4};
use half::f16;
use meshreel_scene::{Clip, Error, Identity, Mesh, Qvv, Remark, Scene, Scope, Skeleton, Skin};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Bind transforms whose elements differ by no more, relative to the largest, are equal.
const BIND_TOLERANCE: f64 = 1e-6;

/// The skeletons of a layer.
pub(super) struct Skeletons {
    top: Option<PrimId>,
    /// Paths of the joints of each skeleton of the scene.
    joints: Vec<Vec<String>>,
    /// The first animation of each skeleton of the scene.
    animations: Vec<Option<PrimId>>,
    bound: Vec<BoundSkeleton>,
}

/// A skeleton prim.
struct BoundSkeleton {
    /// Its number in the scene.
    skeleton: usize,
    prim: PrimId,
    /// Bind transforms of the joints that a skin has.
    bind: Vec<Option<DMat4>>,
}

/// Returns the skin of a mesh, if a layer can hold it.
pub(super) fn skin(mesh: &Mesh) -> Option<&Skin> {
    let skin = mesh.skin.as_deref().filter(|skin| is_rig(skin))?;
    let points = skin.bind_positions.len() as u32;
    let is_dual = |part: &f32| *part >= 1.0;
    let one_way = skin.dual_fraction.iter().all(is_dual) || !skin.dual_fraction.iter().any(is_dual);
    // A point that no joint moves would be drawn at the origin.
    (one_way && (0..points).all(|point| influences(skin, point).next().is_some())).then_some(skin)
}

/// Adds remarks on contents of clips and skins that a layer cannot hold.
pub(super) fn remarks_on_left_out(scene: &Scene, remarks: &mut BTreeSet<Remark>) {
    for clip in &scene.clips {
        if !clip.scalars.is_empty() || !clip.markers.is_empty() {
            let what = "USD holds neither markers nor numbers beside joints; they were left out";
            remarks.insert(Remark::new(&clip.name, what));
        }
        let exact = |value: f64| f64::from(f16::from_f64(value)) == value;
        let scales = |i: usize| clip.tracks.iter().map(move |track| track.transform(i).scale.to_array());
        if (0..clip.samples).any(|i| scales(i).flatten().any(|scale| !exact(scale))) {
            let what = "USD holds scales of joints in 16 bits: they are up to 0.05 % off";
            remarks.insert(Remark::new(&clip.name, what));
        }
    }
    for mesh in &scene.meshes {
        if mesh.skin.as_deref().is_some_and(is_rig) && skin(mesh).is_none() {
            let what = "its skin has points that no joint moves, or mixes linear and dual quaternion blending, \
                        which USD does not hold; its points are written";
            remarks.insert(Remark::new(&mesh.path, what));
        }
    }
}

impl Skeletons {
    /// Adds a prim for each skeleton and each clip.
    pub fn new<'a>(layer: &mut Layer<'a>, scene: &'a Scene, top: Option<PrimId>) -> Skeletons {
        let mut out = Skeletons { top, joints: Vec::new(), animations: Vec::new(), bound: Vec::new() };
        for (number, skeleton) in scene.skeletons.iter().enumerate() {
            out.joints.push(joint_paths(skeleton));
            let prim = out.add(layer, number, &skeleton.name, skeleton);
            let mut first = None;
            for clip in scene.clips.iter().filter(|clip| clip.skeleton == number) {
                let animation = layer.animation(prim, clip, &out.joints[number]);
                first.get_or_insert(animation);
            }
            out.animations.push(first);
        }
        out
    }

    fn add(&mut self, layer: &mut Layer, number: usize, name: &str, skeleton: &Skeleton) -> PrimId {
        let prim = layer.prim(self.top, name, "Skeleton");
        layer.prims[prim].schemas.push("SkelBindingAPI");
        layer.uniform(prim, "joints", "token[]", Value::Tokens(self.joints[number].clone()));
        let names = skeleton.joints.iter().map(|joint| joint.name.clone()).collect();
        layer.uniform(prim, "jointNames", "token[]", Value::Tokens(names));
        let rest = Value::matrices(skeleton.joints.iter().map(|joint| joint.rest.matrix().into()));
        layer.uniform(prim, "restTransforms", "matrix4d[]", rest);
        let bind = vec![None; skeleton.joints.len()];
        self.bound.push(BoundSkeleton { skeleton: number, prim, bind });
        prim
    }

    /// Binds a mesh to its skeleton.
    pub fn bind(&mut self, layer: &mut Layer, scene: &Scene, prim: PrimId, skin: &Skin) -> Result<(), Error> {
        let Some((number, skeleton)) = skin.skeleton.and_then(|s| Some((s, scene.skeletons.get(s)?))) else {
            return Ok(());
        };
        if skin.joints.iter().any(|joint| *joint >= skeleton.joints.len()) {
            return Err(Error::misuse(format!("a skin has a joint that skeleton {} has not", skeleton.name)));
        }
        let own = skin.joints.iter().copied().zip(skin.inverse_bind.iter().map(|m| m.inverse()));
        let own: Vec<(usize, DMat4)> = own.filter(|(_, bind)| bind.is_finite()).collect();
        let fits = |bound: &BoundSkeleton| {
            let equal =
                |(joint, bind): &(usize, DMat4)| bound.bind[*joint].is_none_or(|known| is_near(&known, bind));
            bound.skeleton == number && own.iter().all(equal)
        };
        let at = match self.bound.iter().position(fits) {
            Some(at) => at,
            None => {
                self.add(layer, number, &skeleton.name, skeleton);
                self.bound.len() - 1
            }
        };
        for (joint, bind) in own {
            self.bound[at].bind[joint] = Some(bind);
        }
        layer.prims[prim].schemas.push("SkelBindingAPI");
        layer.prims[prim].relationships.push(("skel:skeleton", self.bound[at].prim));
        let paths = skin.joints.iter().map(|joint| self.joints[number][*joint].clone()).collect();
        layer.uniform(prim, "skel:joints", "token[]", Value::Tokens(paths));
        if !skin.dual_fraction.is_empty() && skin.dual_fraction.iter().all(|part| *part >= 1.0) {
            layer.uniform(prim, "skel:skinningMethod", "token", Value::token("dualQuaternion"));
        }
        let joints = skin.joint.iter().map(|joint| i32::from(*joint).to_le_bytes());
        let weights = skin.weight.iter().map(|weight| weight.to_le_bytes());
        for (name, type_name, value) in [
            ("primvars:skel:jointIndices", "int[]", Value::array(Element::I32, joints)),
            ("primvars:skel:jointWeights", "float[]", Value::array(Element::F32, weights)),
        ] {
            let fields = &mut layer.constant(prim, name, type_name, value).fields;
            fields.push(("interpolation", Value::token("vertex")));
            fields.push(("elementSize", Value::i32(skin.influences as i32)));
        }
        Ok(())
    }

    /// Adds bind transforms and animations, when all meshes are bound.
    pub fn finish(self, layer: &mut Layer, scene: &Scene) {
        for bound in &self.bound {
            let skeleton = &scene.skeletons[bound.skeleton];
            let mut rest: Vec<DAffine3> = Vec::with_capacity(skeleton.joints.len());
            for joint in &skeleton.joints {
                let parent = joint.parent.and_then(|parent| rest.get(parent)).copied();
                rest.push(parent.unwrap_or(DAffine3::IDENTITY) * joint.rest.matrix());
            }
            let bind = bound.bind.iter().zip(rest).map(|(bind, rest)| bind.unwrap_or(rest.into()));
            layer.uniform(bound.prim, "bindTransforms", "matrix4d[]", Value::matrices(bind));
            if let Some(animation) = self.animations[bound.skeleton] {
                layer.prims[bound.prim].relationships.push(("skel:animationSource", animation));
            }
        }
    }
}

impl<'a> Layer<'a> {
    /// Adds a clip below a skeleton.
    fn animation(&mut self, skeleton: PrimId, clip: &'a Clip, joints: &[String]) -> PrimId {
        let prim = self.prim(Some(skeleton), &clip.name, "SkelAnimation");
        self.uniform(prim, "joints", "token[]", Value::Tokens(joints.to_vec()));
        let samples = Rc::new(clip_samples(&clip.tracks, clip));
        let codes = match samples.len() {
            1 => Rc::default(),
            _ => self.codes(samples.iter().map(|sample| sample.time(clip))),
        };
        let mut add = |name: &str, type_name, value: fn(Vec<Qvv>) -> Value| {
            let samples = samples.clone();
            let read = move |i: usize| {
                Ok(value(clip.tracks.iter().map(|track| samples[i].local(track, clip.fps)).collect()))
            };
            let identity = Box::new(|i| i as Identity);
            self.attribute(
                prim,
                name,
                type_name,
                Samples { codes: codes.clone(), read: Box::new(read), identity },
            );
        };
        add("translations", "float3[]", |joints| {
            let values: Vec<[f32; 3]> = joints.iter().map(|j| j.translation.as_vec3().to_array()).collect();
            vectors(3, &values)
        });
        add("rotations", "quatf[]", |joints| {
            let numbers = joints.iter().flat_map(|joint| joint.rotation.as_quat().to_array());
            Value::array(Element::QuatF32, numbers.map(f32::to_le_bytes))
        });
        add("scales", "half3[]", |joints| {
            let numbers = joints.iter().flat_map(|joint| joint.scale.to_array());
            Value::array(Element::F16x3, numbers.map(|scale| f16::from_f64(scale).to_le_bytes()))
        });
        prim
    }

    /// Adds points and normals of a mesh in its bind pose. Normals of faces are left out, as joints do not
    /// turn them.
    pub fn bind_pose(&mut self, prim: PrimId, mesh: &Mesh, skin: &Skin) -> Result<(), Error> {
        self.constant(prim, "points", "point3f[]", vectors(3, &skin.bind_positions));
        let Some(normals) = mesh.normals.as_ref().filter(|own| !own.values.is_empty()) else { return Ok(()) };
        let (mut points, interpolation) = (
            Vec::new(),
            match normals.scope {
                Scope::Vertex | Scope::Varying => "vertex",
                Scope::FaceVarying => "faceVarying",
                Scope::Constant | Scope::Uniform => return Ok(()),
            },
        );
        match normals.scope {
            Scope::FaceVarying => {
                let mut corners = Vec::new();
                mesh.face_indices.read(0, &mut corners)?;
                points.extend(corners.iter().map(|point| u32::try_from(*point).unwrap_or(u32::MAX)));
            }
            _ => points.extend(0..skin.bind_positions.len() as u32),
        }
        let mut values = Vec::new();
        normals.values.read(0, &mut values)?;
        if let Some(indices) = normals.indices.as_ref().filter(|indices| !indices.is_empty()) {
            let mut list = Vec::new();
            indices.read(0, &mut list)?;
            values = list.iter().map(|i| values.get(*i as usize).copied().unwrap_or_default()).collect();
        }
        if values.len() == points.len() && !skin.pose.is_empty() {
            to_bind_pose(mesh, skin, mesh.positions.time(0), &points, &mut values)?;
            let own = self.constant(prim, "normals", "normal3f[]", vectors(3, &values));
            own.fields.push(("interpolation", Value::token(interpolation)));
        }
        Ok(())
    }
}

/// Returns the names from the root to each joint, joined by slashes; siblings have different names.
fn joint_paths(skeleton: &Skeleton) -> Vec<String> {
    let mut siblings: std::collections::HashMap<Option<usize>, UniqueNames> = Default::default();
    let mut paths: Vec<String> = Vec::with_capacity(skeleton.joints.len());
    for joint in &skeleton.joints {
        let name = siblings.entry(joint.parent).or_default().insert(&joint.name);
        paths.push(joint.parent.map_or_else(|| name.clone(), |parent| format!("{}/{name}", paths[parent])));
    }
    paths
}

fn is_near(a: &DMat4, b: &DMat4) -> bool {
    let size = a.to_cols_array().into_iter().fold(1.0, |most: f64, v| most.max(v.abs()));
    a.abs_diff_eq(*b, BIND_TOLERANCE * size)
}
