//! UsdSkel: meshes that a skeleton and blend shapes move, evaluated to points.
//!
//! point = Σ weight · joint · inverse bind · geometry's bind · (point + Σ shape's weight · offset), in the
//! skeleton's space; from there into that of the mesh. Joints are linear between samples, their rotations
//! slerp, and what is not animated is at rest.

use super::compose::{Prim, Stage};
use super::instancer::at;
use super::instancer::turns_at;
use super::samples::{Timeline, f64s, floats, i32s, texts};
use super::xform;
use crate::grid::Grid;
use crate::{
    Channel, Clip, Driven, Error, Identity, Joint, Mesh, Qvv, Skin, Source, SubTrack, TimeSampling, Topology,
    Track, trs,
};
use glam::{DMat4, DQuat, DVec3};
use std::collections::HashMap;
use std::sync::Arc;

/// Most joints of a skeleton.
const MAX_JOINTS: usize = 1 << 14;
/// Most values of a clip: joints times samples.
const MAX_CLIP_VALUES: usize = 1 << 24;
/// Most blend shapes of a mesh.
const MAX_SHAPES: usize = 1 << 12;

/// What an animation says of joints and blend shapes, over time.
#[derive(Default)]
struct Animation {
    /// Number of each joint's values by its name.
    joints: HashMap<Arc<str>, usize>,
    translations: Option<Channel<[f32; 3]>>,
    rotations: Option<Channel<f64>>,
    scales: Option<Channel<[f32; 3]>>,
    shapes: HashMap<Arc<str>, usize>,
    weights: Option<Channel<f64>>,
}

/// A skeleton and what moves it.
struct Skeleton {
    joints: Vec<Arc<str>>,
    parents: Vec<Option<usize>>,
    rest: Vec<DMat4>,
    inverse_bind: Vec<DMat4>,
    animation: Animation,
}

/// Blend shapes: their weights' numbers in the animation, and offsets of points.
struct Shape {
    weight: usize,
    offsets: Vec<(u32, [f32; 3])>,
}

/// Transforms of prims below each other, the outermost first.
type Way = Vec<Channel<DMat4>>;

/// A mesh as its skeleton moves it.
struct Deformed {
    skeleton: Skeleton,
    /// From the geometry's space to the skeleton's when it was bound.
    bind: DMat4,
    /// Transforms from the skeleton to the common ancestor, outermost first, and from the mesh.
    to_skeleton: Way,
    to_mesh: Way,
    points: Arc<[[f32; 3]]>,
    influences: usize,
    /// Joints of the skeleton.
    joint: Arc<[u16]>,
    weight: Arc<[f32]>,
    shapes: Vec<Shape>,
    sampling: Arc<TimeSampling>,
    count: usize,
}

/// Paths of a skeleton, and of what animates it.
type Bound = (Arc<str>, Option<Arc<str>>);

/// Skeletons and clips of a scene, made when they are first asked for.
#[derive(Default)]
pub struct Rigs {
    pub skeletons: Vec<crate::Skeleton>,
    pub clips: Vec<Clip>,
    /// Numbers of skeleton and clip, by the paths of skeleton and animation; none where nothing moves.
    known: HashMap<Bound, Option<(usize, usize)>>,
}

impl Rigs {
    /// Makes the skeleton and the clip of the prim at a path, if an animation moves it.
    pub fn clip(
        &mut self,
        stage: &mut Stage,
        (path, animation): (&Arc<str>, Option<&Arc<str>>),
        timeline: &mut Timeline,
        fps: f64,
    ) -> Result<Option<(usize, usize)>, Error> {
        let own = match stage.prim_at(path)? {
            Some(prim) => stage.targets(&prim, "skel:animationSource")?.into_iter().next(),
            None => None,
        };
        let animation = own.as_ref().or(animation);
        let key = (path.clone(), animation.cloned());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let mut own = None;
        if let Some(mut skeleton) = (Reader { stage, timeline }).skeleton(path, animation)? {
            skeleton.animation.drop_empty();
            if let Some((joints, mut clip)) = skeleton.clip(stage, path, fps)? {
                clip.skeleton = self.skeletons.len();
                own = Some((self.skeletons.len(), self.clips.len()));
                self.skeletons.push(joints);
                self.clips.push(clip);
            }
        }
        self.known.insert(key, own);
        Ok(own)
    }
}

impl Skeleton {
    /// The skeleton and the clip that its animation is, at the uniform rate that its samples lie on; none where
    /// nothing moves.
    fn clip(
        &self,
        stage: &mut Stage,
        path: &str,
        fps: f64,
    ) -> Result<Option<(crate::Skeleton, Clip)>, Error> {
        let (sampling, count) = sampling(&self.animation, [].into_iter());
        if count < 2 {
            return Ok(None);
        }
        let keys = (0..count).map(|i| sampling.time(i)).collect();
        let Some((grid, exact)) = Grid::of(keys, fps, &stage.root().root().name, path)? else {
            return Ok(None);
        };
        if grid.samples.saturating_mul(self.joints.len()) > MAX_CLIP_VALUES {
            let (asked, allowed) = (grid.samples.saturating_mul(self.joints.len()), MAX_CLIP_VALUES);
            let name = &stage.root().root().name;
            return Err(Error::limit(name, "joints times samples of a clip", asked as u64, allowed as u64));
        }
        if !exact {
            let what = format!("its samples are at no uniform rate; the clip has {} a second", grid.fps);
            stage.remark(path, what);
        }
        let mut sheared = false;
        let mut plain = |matrix: &DMat4| {
            trs::plain(matrix).unwrap_or_else(|| {
                sheared = true;
                trs::nearest_plain(matrix)
            })
        };
        let mut values: Vec<Vec<Qvv>> = vec![Vec::with_capacity(grid.samples); self.joints.len()];
        for sample in 0..grid.samples {
            for (values, local) in values.iter_mut().zip(self.locals_at(grid.time(sample))?) {
                if !local.is_finite() {
                    return Err(Error::malformed(
                        &stage.root().root().name,
                        "a joint's transform is no finite numbers",
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
            tracks.push(track(&values));
        }
        if sheared {
            stage.remark(path, "has joints that are sheared, which a clip cannot hold; that was left out");
        }
        let name: String = path.rsplit('/').next().unwrap_or_default().into();
        let clip = Clip {
            name: name.clone(),
            skeleton: 0,
            start: grid.start,
            fps: grid.fps,
            samples: grid.samples,
            tracks,
            scalars: Vec::new(),
            markers: Vec::new(),
        };
        Ok(Some((crate::Skeleton { name, joints }, clip)))
    }
}

fn track(values: &[Qvv]) -> Track {
    let first = values.first().copied().unwrap_or_default();
    let vector = |of: fn(&Qvv) -> DVec3| {
        SubTrack::new(values.iter().map(of).collect()).unwrap_or(SubTrack::constant(of(&first)))
    };
    let rotation = SubTrack::new(values.iter().map(|value| value.rotation).collect());
    Track {
        rotation: rotation.unwrap_or(SubTrack::constant(first.rotation)),
        translation: vector(|value| value.translation),
        scale: vector(|value| value.scale),
    }
}

/// Takes the skin of a mesh, if it has one, into its points. `skeleton` and `animation`: paths that were said
/// above. A sentence says why it is not followed.
pub fn deform(
    stage: &mut Stage,
    prim: &Prim,
    (skeleton, animation): (&Arc<str>, Option<&Arc<str>>),
    timeline: &mut Timeline,
    (mesh, rig): (&mut Mesh, Option<(usize, usize)>),
) -> Result<Option<String>, Error> {
    let mut reader = Reader { stage, timeline };
    let (Some(joint), Some(weight)) = (
        reader.stage.attribute(prim, "primvars:skel:jointIndices")?,
        reader.stage.attribute(prim, "primvars:skel:jointWeights")?,
    ) else {
        return Ok(Some("has a skeleton but neither joints nor weights".into()));
    };
    let Some(mut own) = reader.skeleton(skeleton, animation)? else {
        return Ok(Some(format!(
            "its skeleton '{}' is not there, or is none",
            super::stack::shown(skeleton)
        )));
    };
    if mesh.topology == Topology::Heterogeneous || !mesh.positions.is_constant() || mesh.positions.is_empty()
    {
        return Ok(Some("its points move by themselves as well".into()));
    }
    let mut points = Vec::new();
    mesh.positions.read(0, &mut points)?;
    let (mut joints, mut weights) = (Vec::new(), Vec::new());
    reader.timeline.channel(&joint, i32s()).read(0, &mut joints)?;
    reader.timeline.channel(&weight, f64s()).read(0, &mut weights)?;
    let subset = reader.names(prim, "skel:joints")?;
    let Some((influences, joint, weight)) = influences(&own, &subset, (&joints, &weights), points.len())
    else {
        return Ok(Some("its joints and weights do not fit its points".into()));
    };
    let shapes = reader.shapes(prim, &own.animation)?;
    let bind = reader.matrices(prim, "primvars:skel:geomBindTransform")?.first().copied();
    let (to_skeleton, to_mesh) = reader.ways(skeleton, &prim.path)?;
    own.animation.drop_empty();
    let (sampling, count) = sampling(&own.animation, to_skeleton.iter().chain(&to_mesh));
    let deformed = Arc::new(Deformed {
        skeleton: own,
        bind: bind.unwrap_or(DMat4::IDENTITY),
        to_skeleton,
        to_mesh,
        points: points.into(),
        influences,
        joint,
        weight,
        shapes,
        sampling: sampling.clone(),
        count,
    });
    mesh.positions = Channel::new(sampling.clone(), deformed.clone());
    mesh.topology = if count > 1 { Topology::Homogeneous } else { Topology::Constant };
    // Those of the bind pose would be wrong in all others.
    mesh.normals = None;
    mesh.velocities = None;
    // A clip has joints in the skeleton's space: that must be the mesh's.
    let rig = rig.filter(|_| deformed.to_skeleton.is_empty() && deformed.to_mesh.is_empty());
    mesh.skin = Some(Arc::new(Skin {
        skeleton: rig.map(|(skeleton, _)| skeleton),
        joints: (0..deformed.skeleton.joints.len()).collect(),
        inverse_bind: deformed.skeleton.inverse_bind.iter().map(|m| *m * deformed.bind).collect(),
        bind_positions: deformed.points.clone(),
        influences,
        joint: deformed.joint.clone(),
        weight: deformed.weight.clone(),
        pose: Channel::new(sampling, Arc::new(Pose(deformed.clone()))),
        driven: rig.map(|(_, clip)| (clip, deformed as Arc<dyn Driven>)).into_iter().collect(),
    }));
    Ok(None)
}

/// Influences per point; joints of the skeleton and weights, as many for each.
type Influences = (usize, Arc<[u16]>, Arc<[f32]>);

/// Joints of the skeleton, and weights that sum up to 1.
fn influences(
    skeleton: &Skeleton,
    subset: &[Arc<str>],
    (joints, weights): (&[i32], &[f64]),
    points: usize,
) -> Option<Influences> {
    let count = joints.len();
    if points == 0 || count == 0 || count != weights.len() {
        return None;
    }
    // One list for all points, or one for each.
    let (influences, rigid) = match count % points == 0 && count >= points {
        true => (count / points, false),
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
    Some((influences, joint.into(), weight.into()))
}

impl Animation {
    fn drop_empty(&mut self) {
        self.translations = self.translations.take().filter(|c| !c.is_empty());
        self.rotations = self.rotations.take().filter(|c| !c.is_empty());
        self.scales = self.scales.take().filter(|c| !c.is_empty());
        self.weights = self.weights.take().filter(|c| !c.is_empty());
    }
}

/// All times at which something changes.
fn sampling<'a>(
    animation: &Animation,
    ways: impl Iterator<Item = &'a Channel<DMat4>>,
) -> (Arc<TimeSampling>, usize) {
    let mut found: Vec<(Arc<TimeSampling>, usize)> = Vec::new();
    let mut add = |sampling: &Arc<TimeSampling>, count: usize, constant: bool| {
        if !constant && !found.iter().any(|(own, _)| own == sampling) {
            found.push((sampling.clone(), count));
        }
    };
    if let Some(c) = &animation.translations {
        add(c.sampling(), c.len(), c.is_constant());
    }
    if let Some(c) = &animation.rotations {
        add(c.sampling(), c.len(), c.is_constant());
    }
    if let Some(c) = &animation.scales {
        add(c.sampling(), c.len(), c.is_constant());
    }
    if let Some(c) = &animation.weights {
        add(c.sampling(), c.len(), c.is_constant());
    }
    for c in ways {
        add(c.sampling(), c.len(), c.is_constant());
    }
    match &found[..] {
        [] => (Arc::new(TimeSampling::Uniform { start: 0.0, step: 1.0 }), 1),
        [(sampling, count)] => (sampling.clone(), *count),
        several => {
            let times = |(sampling, count): &(Arc<TimeSampling>, usize)| -> Vec<f64> {
                (0..*count).map(|i| sampling.time(i)).collect()
            };
            let mut times: Vec<f64> = several.iter().flat_map(times).collect();
            times.sort_by(f64::total_cmp);
            times.dedup_by(|b, a| *b - *a < crate::SAME_TIME);
            let count = times.len();
            (Arc::new(TimeSampling::Acyclic { times }), count)
        }
    }
}

struct Reader<'a> {
    stage: &'a mut Stage,
    timeline: &'a mut Timeline,
}

impl Reader<'_> {
    fn names(&mut self, prim: &Prim, name: &str) -> Result<Vec<Arc<str>>, Error> {
        let mut out = Vec::new();
        if let Some(own) = self.stage.attribute(prim, name)? {
            self.timeline.channel(&own, texts()).read(0, &mut out)?;
        }
        Ok(out)
    }

    fn matrices(&mut self, prim: &Prim, name: &str) -> Result<Vec<DMat4>, Error> {
        let mut numbers = Vec::new();
        if let Some(own) = self.stage.attribute(prim, name)? {
            self.timeline.channel(&own, f64s()).read(0, &mut numbers)?;
        }
        Ok(numbers.as_chunks::<16>().0.iter().map(DMat4::from_cols_array).collect())
    }

    fn skeleton(&mut self, path: &str, animation: Option<&Arc<str>>) -> Result<Option<Skeleton>, Error> {
        let Some(prim) = self.stage.prim_at(path)? else {
            return Ok(None);
        };
        let joints = self.names(&prim, "joints")?;
        let mut rest = self.matrices(&prim, "restTransforms")?;
        let bind = self.matrices(&prim, "bindTransforms")?;
        if joints.is_empty() || joints.len() > MAX_JOINTS || bind.len() != joints.len() {
            return Ok(None);
        }
        let numbers: HashMap<&str, usize> = joints.iter().map(|name| &**name).zip(0..).collect();
        let mut parents = Vec::with_capacity(joints.len());
        for (number, name) in joints.iter().enumerate() {
            // The nearest joint above; parents stand before their children.
            let mut above: &str = name;
            let mut parent = None;
            while let Some((next, _)) = above.rsplit_once('/') {
                if let Some(found) = numbers.get(next) {
                    parent = Some(*found);
                    break;
                }
                above = next;
            }
            if parent.is_some_and(|parent| parent >= number) {
                return Ok(None);
            }
            parents.push(parent);
        }
        let invert = |m: &DMat4| if m.determinant() == 0.0 { DMat4::IDENTITY } else { m.inverse() };
        let inverse_bind: Vec<DMat4> = bind.iter().map(invert).collect();
        if rest.len() != joints.len() {
            let local = |(i, own): (usize, &DMat4)| parents[i].map_or(*own, |p| inverse_bind[p] * *own);
            rest = bind.iter().enumerate().map(local).collect();
        }
        let own = self.stage.targets(&prim, "skel:animationSource")?.into_iter().next();
        let animation = match own.as_ref().or(animation) {
            Some(path) => self.animation(path)?,
            None => Animation::default(),
        };
        Ok(Some(Skeleton { joints, parents, rest, inverse_bind, animation }))
    }

    fn animation(&mut self, path: &str) -> Result<Animation, Error> {
        let Some(prim) = self.stage.prim_at(path)? else {
            self.stage.remark(path, "is an animation that is not there; its skeletons are at rest");
            return Ok(Animation::default());
        };
        let joints = self.names(&prim, "joints")?.into_iter().zip(0..).collect();
        let shapes = self.names(&prim, "blendShapes")?.into_iter().zip(0..).collect();
        let attribute = |name: &str| self.stage.attribute(&prim, name);
        let (translations, rotations) = (attribute("translations")?, attribute("rotations")?);
        let (scales, weights) = (attribute("scales")?, attribute("blendShapeWeights")?);
        Ok(Animation {
            joints,
            shapes,
            translations: translations.map(|own| self.timeline.channel(&own, floats::<3>(0.0))),
            rotations: rotations.map(|own| self.timeline.channel(&own, f64s())),
            scales: scales.map(|own| self.timeline.channel(&own, floats::<3>(1.0))),
            weights: weights.map(|own| self.timeline.channel(&own, f64s())),
        })
    }

    fn shapes(&mut self, prim: &Prim, animation: &Animation) -> Result<Vec<Shape>, Error> {
        let names = self.names(prim, "skel:blendShapes")?;
        let targets = self.stage.targets(prim, "skel:blendShapeTargets")?;
        let mut out = Vec::new();
        for (name, path) in names.iter().zip(&targets).take(MAX_SHAPES) {
            let Some(&weight) = animation.shapes.get(name) else {
                continue;
            };
            let Some(shape) = self.stage.prim_at(path)? else {
                self.stage.remark(&prim.path, format!("its blend shape '{name}' is not there; left out"));
                continue;
            };
            if self.stage.property_names(&shape)?.iter().any(|name| name.starts_with("inbetweens:")) {
                self.stage.remark(&shape.path, "has shapes in between, which are left out");
            }
            let (mut offsets, mut numbers) = (Vec::new(), Vec::new());
            if let Some(own) = self.stage.attribute(&shape, "offsets")? {
                self.timeline.channel(&own, floats::<3>(0.0)).read(0, &mut offsets)?;
            }
            if let Some(own) = self.stage.attribute(&shape, "pointIndices")? {
                self.timeline.channel(&own, i32s()).read(0, &mut numbers)?;
            }
            let number = |i: usize| match numbers.is_empty() {
                true => Some(i as u32),
                false => u32::try_from(*numbers.get(i)?).ok(),
            };
            let offsets = offsets.into_iter().enumerate();
            let offsets = offsets.filter_map(|(i, offset)| Some((number(i)?, offset))).collect();
            out.push(Shape { weight, offsets });
        }
        Ok(out)
    }

    /// Transforms of all prims from below the common ancestor to the skeleton, and to the mesh.
    fn ways(&mut self, skeleton: &str, mesh: &str) -> Result<(Way, Way), Error> {
        let (a, b) = (parts(skeleton), parts(mesh));
        let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        Ok((self.way(&a, common)?, self.way(&b, common)?))
    }

    fn way(&mut self, names: &[&str], common: usize) -> Result<Way, Error> {
        let mut out = Vec::new();
        for end in common + 1..=names.len() {
            let path = format!("/{}", names[..end].join("/"));
            let Some(prim) = self.stage.prim_at(&path)? else {
                continue;
            };
            let transform = xform::read(self.stage, &prim, self.timeline, None, end == 1)?;
            if let Some(transform) = transform {
                out.push(transform.matrix);
            }
        }
        Ok(out)
    }
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

impl Skeleton {
    /// Joints' transforms, each relative to its parent.
    fn locals_at(&self, time: f64) -> Result<Vec<DMat4>, Error> {
        let own = &self.animation;
        let wide = |v: &[f32; 3]| DVec3::from_array(v.map(f64::from));
        let mix = |a: DVec3, b: DVec3, f: f64| a + (b - a) * f;
        let vectors = |channel: &Option<Channel<[f32; 3]>>| -> Result<Vec<DVec3>, Error> {
            channel.as_ref().map_or(Ok(Vec::new()), |channel| at(channel, time, wide, mix))
        };
        let (translations, scales) = (vectors(&own.translations)?, vectors(&own.scales)?);
        let turns = own.rotations.as_ref().map_or(Ok(Vec::new()), |turns| turns_at(turns, time))?;
        let local = |(number, name): (usize, &Arc<str>)| {
            let values = own.joints.get(name).and_then(|i| Some((translations.get(*i)?, turns.get(*i)?, i)));
            let Some((translation, turn, i)) = values else {
                return self.rest[number];
            };
            let scale = scales.get(*i).copied().unwrap_or(DVec3::ONE);
            let turn = if turn.length_squared() > 0.0 { turn.normalize() } else { DQuat::IDENTITY };
            DMat4::from_scale_rotation_translation(scale, turn, *translation)
        };
        Ok(self.joints.iter().enumerate().map(|(number, name)| local((number, name))).collect())
    }

    /// Joints' transforms in the skeleton's space.
    fn joints_at(&self, time: f64) -> Result<Vec<DMat4>, Error> {
        let mut out = self.locals_at(time)?;
        for number in 0..out.len() {
            if let Some(parent) = self.parents[number] {
                out[number] = out[parent] * out[number];
            }
        }
        Ok(out)
    }
}

impl Deformed {
    /// The matrix of each joint, from the geometry as it was bound to the mesh's space.
    fn matrices(&self, time: f64) -> Result<Vec<DMat4>, Error> {
        let product = |way: &[Channel<DMat4>]| -> Result<DMat4, Error> {
            let mut out = DMat4::IDENTITY;
            for channel in way {
                out *= xform::at(channel, time)?;
            }
            Ok(out)
        };
        let (skeleton, mesh) = (product(&self.to_skeleton)?, product(&self.to_mesh)?);
        let into = if mesh.determinant() == 0.0 { skeleton } else { mesh.inverse() * skeleton };
        let mut joints = self.skeleton.joints_at(time)?;
        for (joint, inverse) in joints.iter_mut().zip(&self.skeleton.inverse_bind) {
            *joint = into * *joint * *inverse * self.bind;
        }
        Ok(joints)
    }

    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        let matrices = self.matrices(time)?;
        let mut points: Vec<DVec3> =
            self.points.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect();
        if let Some(weights) = self.skeleton.animation.weights.as_ref().filter(|_| !self.shapes.is_empty()) {
            let weights = at(weights, time, |w| *w, |a, b, f| a + (b - a) * f)?;
            for shape in &self.shapes {
                let weight = weights.get(shape.weight).copied().unwrap_or(0.0);
                for (number, offset) in &shape.offsets {
                    if let Some(point) = points.get_mut(*number as usize) {
                        *point += DVec3::from_array(offset.map(f64::from)) * weight;
                    }
                }
            }
        }
        out.clear();
        let joints = self.joint.chunks_exact(self.influences);
        let weights = self.weight.chunks_exact(self.influences);
        out.extend(points.iter().zip(joints.zip(weights)).map(|(point, (joints, weights))| {
            let mut sum = DVec3::ZERO;
            let mut total = 0.0;
            for (joint, weight) in joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                let moved = matrices.get(usize::from(*joint)).map(|m| m.transform_point3(*point));
                sum += moved.unwrap_or(*point) * f64::from(*weight);
                total += f64::from(*weight);
            }
            let own = if total > 0.0 { sum } else { *point };
            own.to_array().map(|v| v as f32)
        }));
        Ok(())
    }
}

impl Source<[f32; 3]> for Deformed {
    fn len(&self) -> usize {
        self.count
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.points(self.sampling.time(i), out)
    }

    fn bends(&self) -> bool {
        self.count > 1
    }

    fn between(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<bool, Error> {
        self.points(time, out).map(|()| true)
    }
}

impl Driven for Deformed {
    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        Deformed::points(self, time, out)
    }
}

/// The joints of a mesh over time.
struct Pose(Arc<Deformed>);

impl Source<DMat4> for Pose {
    fn len(&self) -> usize {
        self.0.count
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        *out = self.0.matrices(self.0.sampling.time(i))?;
        Ok(())
    }

    fn bends(&self) -> bool {
        self.0.count > 1
    }

    fn between(&self, time: f64, out: &mut Vec<DMat4>) -> Result<bool, Error> {
        *out = self.0.matrices(time)?;
        Ok(true)
    }
}
