//! UsdSkel: meshes moved by a skeleton and blend shapes, evaluated to points.
//!
//! point = Σ weight · joint · inverse bind · geometry's bind · (point + Σ shape's weight · offset), in the
//! skeleton's space, and from there to the space of the mesh. Joints are interpolated linearly between
//! samples, their rotations by slerp; joints that are not animated are at rest.

use super::binding::{BindingProperty, SkinBinding};
use super::compose::{Prim, Stage};
use super::deform::{BlendShape, JointMatrices, ShapeOffsets, SkinnedMesh, SkinnedNormals};
use super::samples::{ChangeTimes, Decode, Timeline, f64s, floats, i32s, texts};
use super::skeleton::{SkelAnimation, TransformChain, UsdSkeleton};
use super::stack::abbreviated;
use super::xform;
use glam::{DMat4, DVec3};
use meshreel_scene::skinning::{BindNormals, Influences};
use meshreel_scene::uniform_times::UniformTimes;
use meshreel_scene::{
    Attribute, Channel, Clip, DrivenMesh, Error, Joint, LocalTransform, Mesh, Qvv, Scope, Skin, TimeSampling,
    Topology, Track, trs,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Upper limit for the joints of a skeleton.
const MAX_JOINTS: usize = 1 << 14;
/// Upper limit for the values of a clip: joints times samples.
const MAX_CLIP_VALUES: usize = 1 << 24;
/// Upper limit for the offsets of all blend shapes of a mesh.
const MAX_OFFSETS: usize = 1 << 27;
/// Upper limit for the keys of a blend shape: itself and its in-betweens.
const MAX_SHAPE_KEYS: usize = 256;
/// Upper limit for the blend shapes of a mesh.
const MAX_SHAPES: usize = 1 << 12;

const NO_JOINTS: &str = "its skeleton has no joints that can be used";
const NO_NORMALS: &str =
    "its normals are those of the bind pose, and neither of points nor of corners; left out";

/// The skin binding of a mesh.
pub struct MeshBinding<'a> {
    pub binding: &'a SkinBinding,
    /// The paths of the skeleton, and of its animation.
    pub skeleton: &'a Arc<str>,
    pub animation: Option<&'a Arc<str>>,
    /// `true` if joints and blend shapes may be missing without a remark.
    pub may_be_unbound: bool,
}

/// The skeletons and clips of a scene, made on first use.
#[derive(Default)]
pub struct SkeletonCache {
    pub skeletons: Vec<meshreel_scene::Skeleton>,
    pub clips: Vec<Clip>,
    /// The indices of skeleton and clip, by the skeleton's path; `None` if nothing moves it.
    known: HashMap<Arc<str>, Option<(usize, usize)>>,
    /// The path of the animation of each skeleton.
    animations: HashMap<Arc<str>, Option<Arc<str>>>,
}

impl SkeletonCache {
    /// Returns the path of the animation of the skeleton at a path: the one bound to it, or to the nearest
    /// prim above.
    pub fn animation(&mut self, stage: &mut Stage, path: &Arc<str>) -> Result<Option<Arc<str>>, Error> {
        if let Some(known) = self.animations.get(path) {
            return Ok(known.clone());
        }
        let (names, mut found) = (path_names(path), None);
        for end in (1..=names.len()).rev() {
            if let Some(prim) = stage.prim_at(&format!("/{}", names[..end].join("/")))? {
                found = stage.targets(&prim, "skel:animationSource")?.into_iter().next();
            }
            if found.is_some() {
                break;
            }
        }
        self.animations.insert(path.clone(), found.clone());
        Ok(found)
    }

    /// Makes the skeleton and the clip for the prim at a path, if an animation moves it.
    pub fn clip(
        &mut self,
        stage: &mut Stage,
        path: &Arc<str>,
        timeline: &mut Timeline,
        fps: f64,
    ) -> Result<Option<(usize, usize)>, Error> {
        if let Some(known) = self.known.get(path) {
            return Ok(*known);
        }
        let animation = self.animation(stage, path)?;
        let mut own = None;
        if let Some(mut skeleton) = (SkelReader { stage, timeline }).skeleton(path, animation.as_ref())? {
            skeleton.animation.drop_empty();
            if let Some((joints, mut clip)) = skeleton.clip(stage, path, fps)? {
                clip.skeleton = self.skeletons.len();
                own = Some((self.skeletons.len(), self.clips.len()));
                self.skeletons.push(joints);
                self.clips.push(clip);
            }
        }
        self.known.insert(path.clone(), own);
        Ok(own)
    }
}

impl UsdSkeleton {
    /// Returns the skeleton and the clip of its animation, at the uniform rate that contains its samples;
    /// `None` if nothing moves.
    fn clip(
        &self,
        stage: &mut Stage,
        path: &str,
        fps: f64,
    ) -> Result<Option<(meshreel_scene::Skeleton, Clip)>, Error> {
        let (sampling, count) = sampling(&self.animation, [].into_iter());
        if count < 2 || self.joints.is_empty() {
            return Ok(None);
        }
        let keys = (0..count).map(|i| sampling.time(i)).collect();
        let Some((grid, exact)) =
            UniformTimes::from_keys(keys, fps, &stage.root_stack().root_layer().name, path)?
        else {
            return Ok(None);
        };
        if grid.samples.saturating_mul(self.joints.len()) > MAX_CLIP_VALUES {
            let (asked, allowed) = (grid.samples.saturating_mul(self.joints.len()), MAX_CLIP_VALUES);
            let name = &stage.root_stack().root_layer().name;
            return Err(Error::limit(
                name,
                "joints times samples of a clip; export it in parts",
                asked as u64,
                allowed as u64,
            ));
        }
        if !exact {
            let what = format!("its samples are at no uniform rate; the clip has {} a second", grid.fps);
            stage.remark(path, what);
        }
        let mut sheared = false;
        let mut plain = |matrix: &DMat4| {
            trs::decompose(matrix).unwrap_or_else(|| {
                sheared = true;
                trs::nearest_without_shear(matrix)
            })
        };
        let mut values: Vec<Vec<Qvv>> = vec![Vec::with_capacity(grid.samples); self.joints.len()];
        for sample in 0..grid.samples {
            for (values, local) in values.iter_mut().zip(self.local_transforms(grid.time(sample), true)?) {
                if !local.is_finite() {
                    return Err(Error::malformed(
                        &stage.root_stack().root_layer().name,
                        "a joint's transform is no finite numbers; mend its animation, or export it anew",
                        path,
                    ));
                }
                values.push(plain(&local));
            }
        }
        let mut joints = Vec::with_capacity(self.joints.len());
        let mut tracks = Vec::with_capacity(self.joints.len());
        for (number, values) in values.into_iter().enumerate() {
            let name = self.joints[number].rsplit('/').next().unwrap_or_default().to_owned();
            let rest = if self.rest[number].is_finite() { plain(&self.rest[number]) } else { Qvv::IDENTITY };
            joints.push(Joint { name, parent: self.parents[number], rest, ..Joint::default() });
            tracks.push(Track::from_samples(&values));
        }
        if sheared {
            stage.remark(path, "has joints that are sheared, which a clip cannot hold; that was left out");
        }
        let name: String = path.rsplit('/').next().unwrap_or_default().into();
        let clip = grid.clip_of_tracks(name.clone(), tracks);
        Ok(Some((meshreel_scene::Skeleton { name, joints }, clip)))
    }
}

/// Makes the points of a mesh follow its skin, if it has one. The returned sentence says why the skin is left
/// out.
pub fn deform(
    stage: &mut Stage,
    prim: &Prim,
    of: MeshBinding<'_>,
    timeline: &mut Timeline,
    (mesh, rig): (&mut Mesh, Option<(usize, usize)>),
) -> Result<Option<String>, Error> {
    let mut reader = SkelReader { stage, timeline };
    let mut bound = reader.joints_and_weights(of.binding)?;
    let has_shapes = reader.has_shapes(prim)?;
    if bound.is_none() && !has_shapes {
        return Ok((!of.may_be_unbound).then(|| "has a skeleton but neither joints nor weights".into()));
    }
    let skeleton = of.skeleton;
    let Some(mut own) = reader.skeleton(skeleton, of.animation)? else {
        return Ok(Some(format!("its skeleton '{}' is not there, or is none", abbreviated(skeleton))));
    };
    let is_one = mesh.particles.is_some() || mesh.topology != Topology::Heterogeneous;
    if !is_one || !mesh.positions.is_constant() || mesh.positions.is_empty() {
        return Ok(Some("its points move by themselves as well".into()));
    }
    let mut points = Vec::new();
    mesh.positions.read(0, &mut points)?;
    if own.joints.is_empty() && bound.take().is_some() {
        if !has_shapes {
            return Ok(Some(NO_JOINTS.into()));
        }
        reader.stage.remark(&prim.path, format!("{NO_JOINTS}: blend shapes alone move it"));
    }
    let is_dual = match is_dual(of.binding)? {
        Ok(is_dual) => is_dual && bound.is_some(),
        Err(what) => return Ok(Some(what)),
    };
    let is_skinned = bound.is_some();
    // Blend shapes alone: a single joint with weight 0 for all points.
    let (joints, weights, rigid) = bound.unwrap_or_else(|| (vec![0], vec![0.0], Some(true)));
    let subset = reader.read(of.binding.property(BindingProperty::Joints), texts())?;
    let all = (points.len(), is_dual);
    let Some(influences) = influences(&own, &subset, (&joints, &weights, rigid), all) else {
        return Ok(Some("its joints and weights do not fit its points".into()));
    };
    let shapes = reader.shapes(prim, &own.animation)?;
    let normals = normals(mesh, points.len())?;
    if mesh.normals.is_some() && normals.is_none() {
        reader.stage.remark(&prim.path, NO_NORMALS);
    }
    let bind = reader.read(of.binding.property(BindingProperty::GeomBindTransform), f64s())?;
    let bind = bind.first_chunk().map(DMat4::from_cols_array);
    let (to_skeleton, to_mesh) = reader.transform_chains(skeleton, &prim.path)?;
    own.animation.drop_empty();
    let (sampling, count) = sampling(&own.animation, to_skeleton.iter().chain(&to_mesh));
    let deformed = Arc::new(SkinnedMesh {
        skeleton: own,
        bind: bind.unwrap_or(DMat4::IDENTITY),
        to_skeleton,
        to_mesh,
        points: points.into(),
        influences,
        shapes,
        normals,
        sampling: sampling.clone(),
        count,
    });
    mesh.positions = Channel::new(sampling.clone(), deformed.clone());
    if mesh.particles.is_none() {
        mesh.topology = if count > 1 { Topology::Homogeneous } else { Topology::Constant };
    }
    let name = mesh.normals.take().map_or_else(String::new, |normals| normals.name);
    mesh.normals = deformed.normals.as_ref().map(|(scope, _)| Attribute {
        name,
        scope: *scope,
        values: Channel::new(sampling.clone(), Arc::new(SkinnedNormals(deformed.clone()))),
        indices: None,
    });
    mesh.velocities = None;
    // Points without faces are stored frame by frame.
    mesh.skin = (is_skinned && mesh.particles.is_none()).then(|| Arc::new(skin(deformed, rig)));
    Ok(None)
}

/// `true` for dual quaternion skinning; the inner error says that the method is unknown.
fn is_dual(binding: &SkinBinding) -> Result<Result<bool, String>, Error> {
    let method =
        binding.property(BindingProperty::SkinningMethod).map(|own| own.first_small()).transpose()?;
    let method = method.flatten().and_then(|value| value.text().cloned());
    Ok(match method.as_deref() {
        None | Some("classicLinear") => Ok(false),
        Some("dualQuaternion") => Ok(true),
        Some(other) => Err(format!("its skinning method '{}' is not known", abbreviated(other))),
    })
}

/// Makes the skin of a mesh from its joints and weights.
fn skin(deformed: Arc<SkinnedMesh>, rig: Option<(usize, usize)>) -> Skin {
    // Clip joints are in the skeleton's space, so that must also be the mesh's space.
    let rig = rig.filter(|_| deformed.to_skeleton.is_empty() && deformed.to_mesh.is_empty());
    let bind_positions = match deformed.influences.dual.is_empty() {
        true => deformed.points.clone(),
        false => {
            let at = |p: &[f32; 3]| deformed.bind.transform_point3(DVec3::from_array(p.map(f64::from)));
            deformed.points.iter().map(|p| at(p).as_vec3().to_array()).collect()
        }
    };
    Skin {
        skeleton: rig.map(|(skeleton, _)| skeleton),
        joints: (0..deformed.skeleton.joints.len()).collect(),
        inverse_bind: deformed.skeleton.inverse_bind.iter().map(|m| *m * deformed.skin_bind()).collect(),
        bind_positions,
        influences: deformed.influences.per_point,
        joint: deformed.influences.joint.clone(),
        weight: deformed.influences.weight.clone(),
        dual_fraction: deformed.influences.dual.clone(),
        pose: Channel::new(deformed.sampling.clone(), Arc::new(JointMatrices(deformed.clone()))),
        driven: rig.map(|(_, clip)| (clip, deformed as Arc<dyn DrivenMesh>)).into_iter().collect(),
    }
}

/// Returns the normals of a mesh with constant faces, and their scope; `None` if there are none, if they
/// change, or if they are neither per point nor per corner.
fn normals(mesh: &Mesh, points: usize) -> Result<Option<(Scope, BindNormals)>, Error> {
    let Some(own) = &mesh.normals else {
        return Ok(None);
    };
    let still = own.values.is_constant() && own.indices.as_ref().is_none_or(Channel::is_constant);
    let scope = match own.scope {
        Scope::Vertex | Scope::Varying => Scope::Vertex,
        Scope::FaceVarying if mesh.face_indices.is_constant() => Scope::FaceVarying,
        _ => return Ok(None),
    };
    if !still {
        return Ok(None);
    }
    let point: Vec<u32> = match scope {
        Scope::Vertex => (0..points as u32).collect(),
        _ => {
            let mut corners = Vec::new();
            mesh.face_indices.read(0, &mut corners)?;
            corners.into_iter().map(|point| u32::try_from(point).unwrap_or(u32::MAX)).collect()
        }
    };
    let mut values = Vec::new();
    own.values.read(0, &mut values)?;
    if let Some(indices) = &own.indices {
        let mut list = Vec::new();
        indices.read(0, &mut list)?;
        let value = |i: u32| values.get(i as usize).copied().unwrap_or_default();
        values = list.into_iter().map(value).collect();
    }
    Ok((values.len() == point.len()).then_some((scope, BindNormals { values, point })))
}

/// Joint indices and weights, the same number of each, and whether they are one list for all points, if
/// stated.
type JointsAndWeights = (Vec<i32>, Vec<f64>, Option<bool>);

/// Returns the joints of the skeleton for each point, and weights that sum to 1.
fn influences(
    skeleton: &UsdSkeleton,
    subset: &[Arc<str>],
    (joints, weights, said_rigid): (&[i32], &[f64], Option<bool>),
    (points, is_dual): (usize, bool),
) -> Option<Influences> {
    let count = joints.len();
    if points == 0 || count == 0 || count != weights.len() {
        return None;
    }
    // Either one list for all points, or one for each point.
    let (influences, rigid) = match count % points == 0 && said_rigid != Some(true) {
        true => (count / points, false),
        false if said_rigid == Some(false) => return None,
        false => (count, true),
    };
    if influences > 256 {
        return None;
    }
    let of_subset: Vec<Option<usize>> =
        subset.iter().map(|name| skeleton.joints.iter().position(|own| own == name)).collect();
    let number = |joint: i32| -> Option<u16> {
        let joint = usize::try_from(joint).ok()?;
        let joint = if subset.is_empty() { Some(joint) } else { *of_subset.get(joint)? };
        joint.filter(|joint| *joint < skeleton.joints.len())?.try_into().ok()
    };
    let (mut joint, mut weight) = (Vec::new(), Vec::new());
    for point in 0..points {
        let start = if rigid { 0 } else { point * influences };
        let own = weights.get(start..start + influences)?;
        let usable = |w: f64| if w.is_finite() && w > 0.0 { w } else { 0.0 };
        let sum: f64 = own.iter().map(|w| usable(*w)).sum();
        for (j, w) in joints.get(start..start + influences)?.iter().zip(own) {
            let w = if sum > 0.0 { usable(*w) / sum } else { 0.0 };
            joint.push(if w > 0.0 { number(*j)? } else { 0 });
            weight.push(w as f32);
        }
    }
    let dual = vec![1.0; if is_dual { points } else { 0 }].into();
    Some(Influences { per_point: influences, joint: joint.into(), weight: weight.into(), dual })
}

/// Returns all times at which something changes.
fn sampling<'a>(
    animation: &SkelAnimation,
    ways: impl Iterator<Item = &'a Channel<LocalTransform>>,
) -> (Arc<TimeSampling>, usize) {
    let mut changes = ChangeTimes::default();
    animation.translations.iter().for_each(|own| changes.add(own));
    animation.rotations.iter().for_each(|own| changes.add(own));
    animation.scales.iter().for_each(|own| changes.add(own));
    animation.weights.iter().for_each(|own| changes.add(own));
    ways.for_each(|own| changes.add(own));
    changes.sampling()
}

struct SkelReader<'a> {
    stage: &'a mut Stage,
    timeline: &'a mut Timeline,
}

impl SkelReader<'_> {
    fn names(&mut self, prim: &Prim, name: &str) -> Result<Vec<Arc<str>>, Error> {
        let own = self.stage.attribute(prim, name)?;
        self.read(own.as_ref(), texts())
    }

    fn matrices(&mut self, prim: &Prim, name: &str) -> Result<Vec<DMat4>, Error> {
        let own = self.stage.attribute(prim, name)?;
        let numbers = self.read(own.as_ref(), f64s())?;
        Ok(numbers.as_chunks::<16>().0.iter().map(DMat4::from_cols_array).collect())
    }

    fn skeleton(&mut self, path: &str, animation: Option<&Arc<str>>) -> Result<Option<UsdSkeleton>, Error> {
        let Some(prim) = self.stage.prim_at(path)? else {
            return Ok(None);
        };
        let mut joints = self.names(&prim, "joints")?;
        let mut rest = self.matrices(&prim, "restTransforms")?;
        let bind = self.matrices(&prim, "bindTransforms")?;
        let is_skeleton = self.stage.text(&prim, "typeName")?.as_deref() == Some("Skeleton");
        if joints.is_empty() || joints.len() > MAX_JOINTS || bind.len() != joints.len() {
            joints.clear();
        }
        let numbers: HashMap<&str, usize> = joints.iter().map(|name| &**name).zip(0..).collect();
        let mut parents = Vec::with_capacity(joints.len());
        for name in &joints {
            // Finds the nearest joint above; parents come before their children.
            let mut above: &str = name;
            let mut parent = None;
            while let Some((next, _)) = above.rsplit_once('/') {
                if let Some(found) = numbers.get(next) {
                    parent = Some(*found);
                    break;
                }
                above = next;
            }
            parents.push(parent);
        }
        if (0..).zip(&parents).any(|(number, parent)| parent.is_some_and(|parent| parent >= number)) {
            (joints, parents) = (Vec::new(), Vec::new());
        }
        if joints.is_empty() && !is_skeleton {
            return Ok(None);
        }
        let invert = |m: &DMat4| if m.determinant() == 0.0 { DMat4::IDENTITY } else { m.inverse() };
        let bind = &bind[..joints.len().min(bind.len())];
        let inverse_bind: Vec<DMat4> = bind.iter().map(invert).collect();
        if rest.len() != joints.len() {
            let local = |(i, own): (usize, &DMat4)| parents[i].map_or(*own, |p| inverse_bind[p] * *own);
            rest = bind.iter().enumerate().map(local).collect();
        }
        let animation = match animation {
            Some(path) => self.animation(path)?,
            None => SkelAnimation::default(),
        };
        Ok(Some(UsdSkeleton { joints, parents, rest, inverse_bind, animation }))
    }

    fn animation(&mut self, path: &str) -> Result<SkelAnimation, Error> {
        let Some(prim) = self.stage.prim_at(path)? else {
            self.stage.remark(path, "is an animation that is not there; its skeletons are at rest");
            return Ok(SkelAnimation::default());
        };
        let joints = self.names(&prim, "joints")?.into_iter().zip(0..).collect();
        let shapes = self.names(&prim, "blendShapes")?.into_iter().zip(0..).collect();
        let attribute = |name: &str| self.stage.attribute(&prim, name);
        let (translations, rotations) = (attribute("translations")?, attribute("rotations")?);
        let (scales, weights) = (attribute("scales")?, attribute("blendShapeWeights")?);
        Ok(SkelAnimation {
            joints,
            shapes,
            translations: translations.map(|own| self.timeline.channel(&own, floats::<3>(0.0))),
            rotations: rotations.map(|own| self.timeline.channel(&own, f64s())),
            scales: scales.map(|own| self.timeline.channel(&own, floats::<3>(1.0))),
            weights: weights.map(|own| self.timeline.channel(&own, f64s())),
        })
    }

    fn shapes(&mut self, prim: &Prim, animation: &SkelAnimation) -> Result<Vec<BlendShape>, Error> {
        let names = self.names(prim, "skel:blendShapes")?;
        let targets = self.stage.targets(prim, "skel:blendShapeTargets")?;
        let (mut out, mut offsets) = (Vec::new(), 0);
        for (name, path) in names.iter().zip(&targets).take(MAX_SHAPES) {
            let Some(&weight) = animation.shapes.get(name) else {
                continue;
            };
            let Some(shape) = self.stage.prim_at(path)? else {
                self.stage.remark(&prim.path, format!("its blend shape '{name}' is not there; left out"));
                continue;
            };
            let shape = self.shape(&shape, weight)?;
            offsets += shape.keys.iter().map(|key| key.points.len() + key.normals.len()).sum::<usize>();
            if offsets > MAX_OFFSETS {
                let name = &self.stage.root_stack().root_layer().name;
                return Err(Error::limit(
                    name,
                    "offsets of blend shapes; export it with fewer",
                    offsets as u64,
                    MAX_OFFSETS as u64,
                ));
            }
            out.push(shape);
        }
        Ok(out)
    }

    /// Returns the first value of an attribute, or nothing without an attribute.
    fn read<T: Clone + Send + Sync + 'static>(
        &mut self,
        own: Option<&super::attribute::UsdAttribute>,
        decode: Decode<T>,
    ) -> Result<Vec<T>, Error> {
        let mut out = Vec::new();
        if let Some(own) = own {
            self.timeline.channel(own, decode).read(0, &mut out)?;
        }
        Ok(out)
    }

    /// Returns the joints and weights of a mesh as stored; `None` if either is missing.
    fn joints_and_weights(&mut self, binding: &SkinBinding) -> Result<Option<JointsAndWeights>, Error> {
        let (joints, weights) = (
            binding.property(BindingProperty::JointIndices),
            binding.property(BindingProperty::JointWeights),
        );
        if joints.is_none() || weights.is_none() {
            return Ok(None);
        }
        let said = joints.and_then(|own| own.interpolation.as_deref());
        let rigid = match said {
            Some("constant") => Some(true),
            Some("vertex" | "varying") => Some(false),
            _ => None,
        };
        Ok(Some((self.read(joints, i32s())?, self.read(weights, f64s())?, rigid)))
    }

    fn has_shapes(&mut self, prim: &Prim) -> Result<bool, Error> {
        Ok(!self.stage.targets(prim, "skel:blendShapeTargets")?.is_empty())
    }

    /// Reads a blend shape with its in-betweens, each at its own weight.
    fn shape(&mut self, prim: &Prim, weight: usize) -> Result<BlendShape, Error> {
        let mut numbers = Vec::new();
        if let Some(own) = self.stage.attribute(prim, "pointIndices")? {
            self.timeline.channel(&own, i32s()).read(0, &mut numbers)?;
        }
        let key = self.key(prim, ("offsets", "normalOffsets"), &numbers)?;
        let mut out = BlendShape { weight, targets: vec![1.0], keys: vec![key] };
        for name in self.stage.property_names(prim)? {
            let short = name.strip_prefix("inbetweens:");
            if short.is_none_or(|short| short.contains(':')) {
                continue;
            }
            let target = self.stage.attribute(prim, &name)?.and_then(|own| own.weight);
            let target = target.filter(|target| target.is_finite());
            let Some(target) = target.filter(|target| *target != 0.0 && !out.targets.contains(target)) else {
                let what = format!(
                    "its shape in between '{}' has no weight of its own; left out",
                    abbreviated(&name)
                );
                self.stage.remark(&prim.path, what);
                continue;
            };
            if out.keys.len() >= MAX_SHAPE_KEYS {
                self.stage.remark(&prim.path, "has too many shapes in between; the last ones are left out");
                break;
            }
            out.targets.push(target);
            out.keys.push(self.key(prim, (&name, &format!("{name}:normalOffsets")), &numbers)?);
        }
        Ok(out)
    }

    /// Reads the offsets in two attributes, for the points that `numbers` lists, or for all.
    fn key(&mut self, prim: &Prim, names: (&str, &str), numbers: &[i32]) -> Result<ShapeOffsets, Error> {
        let mut read = |name: &str| -> Result<Vec<(u32, [f32; 3])>, Error> {
            let mut offsets = Vec::new();
            if let Some(own) = self.stage.attribute(prim, name)? {
                self.timeline.channel(&own, floats::<3>(0.0)).read(0, &mut offsets)?;
            }
            let number = |i: usize| match numbers.is_empty() {
                true => Some(i as u32),
                false => u32::try_from(*numbers.get(i)?).ok(),
            };
            let offsets = offsets.into_iter().enumerate();
            Ok(offsets.filter_map(|(i, offset)| Some((number(i)?, offset))).collect())
        };
        Ok(ShapeOffsets { points: read(names.0)?, normals: read(names.1)? })
    }

    /// Returns the transforms of all prims from below the common ancestor to the skeleton, and to the mesh;
    /// or from the world, if one of them resets its transform to world space.
    fn transform_chains(
        &mut self,
        skeleton: &str,
        mesh: &str,
    ) -> Result<(TransformChain, TransformChain), Error> {
        let (a, b) = (path_names(skeleton), path_names(mesh));
        let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let ((to_skeleton, one), (to_mesh, other)) =
            (self.transform_chain(&a, common)?, self.transform_chain(&b, common)?);
        if one || other {
            return Ok((self.transform_chain(&a, 0)?.0, self.transform_chain(&b, 0)?.0));
        }
        Ok((to_skeleton, to_mesh))
    }

    /// Returns the transforms, and whether one of them ignores the transforms above it.
    fn transform_chain(&mut self, names: &[&str], common: usize) -> Result<(TransformChain, bool), Error> {
        let (mut out, mut in_world) = (Vec::new(), false);
        for end in common + 1..=names.len() {
            let path = format!("/{}", names[..end].join("/"));
            let Some(prim) = self.stage.prim_at(&path)? else {
                continue;
            };
            let transform = xform::read(self.stage, &prim, self.timeline, None, end == 1)?;
            if let Some(transform) = transform {
                if transform.inherits.is_some() {
                    out.clear();
                    in_world = true;
                }
                out.push(transform.local);
            }
        }
        Ok((out, in_world))
    }
}

fn path_names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}
