//! The scene: a *view* of a file. Nothing here holds samples; a [`Channel`] reads them on demand, so a file
//! of any size compiles in bounded memory. Terms are Alembic's (topology classes, attribute scopes, time
//! samplings).

use crate::dual_quaternion::{self, DualJoint};
use crate::lens::Lens;
use crate::{Clip, Error, LocalTransform, Skeleton};
use glam::{DMat4, DVec3};
use std::path::PathBuf;
use std::sync::Arc;

/// Index into [`Scene::nodes`].
pub type NodeId = usize;
/// Index into [`Scene::meshes`].
pub type MeshId = usize;

/// A file, or several merged by node path.
#[derive(Default, Clone)]
pub struct Scene {
    /// The tree in depth-first pre-order: a parent stands before its children.
    pub nodes: Vec<Node>,
    /// The meshes that nodes refer to.
    pub meshes: Vec<Mesh>,
    /// The skeletons that clips move.
    pub skeletons: Vec<Skeleton>,
    /// Clips; unlike meshes these are held in memory.
    pub clips: Vec<Clip>,
    /// The length unit the file names, if it does.
    pub unit: Option<LengthUnit>,
    /// Frames per second the file names, if it does (Alembic: `FramesPerTimeUnit`).
    pub fps: Option<f64>,
    /// Named ranges of the timeline, one after the other: animations that were concatenated. Nothing is
    /// interpolated from the end of one to the start of the next.
    pub ranges: Vec<NamedRange>,
    /// Metadata of the file (application, date, description …), as key and value.
    pub metadata: Vec<(String, String)>,
    /// File kind for `info`: "alembic-ogawa", "alembic-hdf5", "obj", "ply" …
    pub format: &'static str,
    /// Every file that the scene reads, now or when samples are asked for: all of a sequence, buffers of a
    /// glTF file, point caches. Empty if it was not read from files.
    pub files: Vec<PathBuf>,
    /// Counts that only the reader knows (face sets and instance objects are no nodes).
    pub counts: Counts,
}

impl Scene {
    /// Returns a scene of meshes, each at a node of its own at the mesh's path.
    pub fn from_meshes(meshes: Vec<Mesh>) -> Scene {
        let node = |(i, mesh): (usize, &Mesh)| Node {
            mesh: Some(i),
            samples: mesh.positions.len(),
            ..Node::new(&mesh.path, NodeKind::PolyMesh)
        };
        Scene { nodes: meshes.iter().enumerate().map(node).collect(), meshes, ..Scene::default() }
    }
}

/// A named range of the timeline, in seconds, from its first to its last frame.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct NamedRange {
    pub name: String,
    pub start: f64,
    pub end: f64,
}

/// Object counts as `info` prints them, with instances expanded. `instances` counts those of the objects,
/// face sets included, that exist only through an instance.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
    pub xforms: usize,
    pub meshes: usize,
    pub subds: usize,
    pub curves: usize,
    pub points: usize,
    pub nurbs: usize,
    pub cameras: usize,
    pub lights: usize,
    pub facesets: usize,
    pub instances: usize,
}

/// A length unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LengthUnit {
    Metre,
    Centimetre,
    Millimetre,
    Inch,
}

impl LengthUnit {
    /// Returns the unit's length in metres.
    pub fn metres(self) -> f64 {
        match self {
            LengthUnit::Metre => 1.0,
            LengthUnit::Centimetre => 0.01,
            LengthUnit::Millimetre => 0.001,
            LengthUnit::Inch => 0.0254,
        }
    }
}

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NodeKind {
    /// A transform, or a plain group.
    Xform,
    PolyMesh,
    /// A subdivision surface, kept as its control cage.
    SubD,
    Curves,
    Points,
    NuPatch,
    Camera,
    Light,
    Material,
    /// Anything else; its children are still visited.
    Other,
}

/// One object of the tree.
#[derive(Clone)]
pub struct Node {
    /// Name, unique among its siblings.
    pub name: String,
    /// Absolute path, `/a/b`.
    pub path: String,
    /// The parent; `None` for children of the file's root.
    pub parent: Option<NodeId>,
    /// Type of the node.
    pub kind: NodeKind,
    /// Local transform; `None` means identity.
    pub transform: Option<Transform>,
    /// Visibility: −1 inherited, 0 hidden, 1 visible (Alembic `visible`), or [`ABSENT`]. `None` means −1.
    /// Held, never interpolated.
    pub visibility: Option<Channel<i8>>,
    /// The mesh, if `kind` is `PolyMesh` or `SubD`; one without faces, if it is `Points` or `Curves`.
    pub mesh: Option<MeshId>,
    /// The node that this one stands for, with its whole subtree (Alembic instance). Readers guarantee that
    /// the target exists and that instances form no cycle. Such a node has the target's `kind` and nothing
    /// else of its own; see [`Scene::expand`].
    pub instance_of: Option<NodeId>,
    /// The largest number of samples of any property of this object (its schema's, not its children's); 1 if
    /// nothing is animated, 0 if its schema has no sample.
    pub samples: usize,
    /// The lens, one value per sample, if `kind` is `Camera`. The camera looks along −z.
    pub camera: Option<Channel<Lens>>,
    /// User properties, only shown by `info`: name and a short description of type and value.
    pub user_properties: Vec<(String, String)>,
}

/// The visibility of a node at a time at which it does not exist. It is not hidden, so it cannot be shown
/// either ([`crate::hidden`]).
pub const ABSENT: i8 = i8::MIN;

impl Node {
    /// Returns a node at the root of the tree, named by the last part of its path, without transform and
    /// mesh.
    pub fn new(path: impl Into<String>, kind: NodeKind) -> Node {
        let path = path.into();
        Node {
            name: path.rsplit('/').next().unwrap_or_default().into(),
            path,
            parent: None,
            kind,
            transform: None,
            visibility: None,
            mesh: None,
            instance_of: None,
            samples: 1,
            camera: None,
            user_properties: Vec::new(),
        }
    }
}

/// A local transform over time.
#[derive(Clone)]
pub struct Transform {
    /// The transform as the file has it.
    pub local: Channel<LocalTransform>,
    /// `false` at a sample if the parents' transforms are ignored there. `None` means `true`. Held, never
    /// interpolated.
    pub inherits: Option<Channel<bool>>,
}

/// Alembic's classes of topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Neither positions nor faces change.
    Constant,
    /// Positions change, faces do not.
    Homogeneous,
    /// Faces or the number of points change.
    Heterogeneous,
}

/// The orientation of faces, by the order of their corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winding {
    /// Clockwise seen from outside: Alembic's.
    Clockwise,
    /// Counter-clockwise seen from outside: glTF's, OBJ's, and that of all files this project writes except
    /// Alembic.
    CounterClockwise,
}

/// The elements of a mesh that carry the values of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One value for the mesh.
    Constant,
    /// One per face.
    Uniform,
    /// One per point.
    Varying,
    /// One per point.
    Vertex,
    /// One per face corner.
    FaceVarying,
}

/// A polygon mesh over time.
#[derive(Clone)]
pub struct Mesh {
    /// Path of the node that owns it.
    pub path: String,
    /// Positions of the points, in the node's space.
    pub positions: Channel<[f32; 3]>,
    /// Number of corners of each face. Values below 3 (also negative ones) can occur and make no triangle.
    pub face_counts: Channel<i32>,
    /// Point index of each corner, in the file's winding. Can be out of range in bad files.
    pub face_indices: Channel<i32>,
    /// The file's winding.
    pub winding: Winding,
    /// Topology class, derived from the samples' identities, not from flags in the file.
    pub topology: Topology,
    /// Normals, if the file has them.
    pub normals: Option<Attribute<[f32; 3]>>,
    /// UV sets, the default one first.
    pub uvs: Vec<Attribute<[f32; 2]>>,
    /// Colour sets, RGBA; alpha is 1 if the file has none.
    pub colours: Vec<Attribute<[f32; 4]>>,
    /// Velocities, units per second, one per point.
    pub velocities: Option<Channel<[f32; 3]>>,
    /// Named sets of faces: materials or groups.
    pub face_sets: Vec<FaceSet>,
    /// Attributes that are kept for `info` only: name and description ("float32 x3, vertex").
    pub other_attributes: Vec<(String, String)>,
    /// `true` for the control cage of a subdivision surface.
    pub is_subd: bool,
    /// Attributes of one integer per element: ids of parts, of materials. Not stored in the output; they tell
    /// which elements belong together.
    pub integers: Vec<Attribute<i64>>,
    /// Custom attributes: temperature, viscosity, age.
    pub custom_attributes: Vec<CustomAttribute>,
    /// Attributes of one string per element: names of parts, of materials. Not stored in the output; they
    /// tell which elements belong together.
    pub names: Vec<Attribute<Arc<str>>>,
    /// The skin that moves the points, if the file has one; `positions` and `normals` already have it
    /// applied.
    pub skin: Option<Arc<Skin>>,
    /// Set if the mesh has no faces: its points are particles, or those of curves.
    pub particles: Option<Particles>,
}

impl Mesh {
    /// Returns a mesh of these points and faces only, with counter-clockwise faces and the topology class
    /// that follows from the channels.
    pub fn new(
        path: impl Into<String>,
        positions: Channel<[f32; 3]>,
        face_counts: Channel<i32>,
        face_indices: Channel<i32>,
    ) -> Mesh {
        let topology = match face_counts.is_constant() && face_indices.is_constant() {
            false => Topology::Heterogeneous,
            true if positions.is_constant() => Topology::Constant,
            true => Topology::Homogeneous,
        };
        Mesh {
            path: path.into(),
            positions,
            face_counts,
            face_indices,
            winding: Winding::CounterClockwise,
            topology,
            normals: None,
            uvs: Vec::new(),
            colours: Vec::new(),
            velocities: None,
            face_sets: Vec::new(),
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin: None,
            particles: None,
        }
    }

    /// Returns a mesh without faces whose points are particles or those of curves.
    pub fn from_particles(
        path: impl Into<String>,
        positions: Channel<[f32; 3]>,
        particles: Particles,
    ) -> Mesh {
        let none = || Channel::constant(Vec::new());
        let topology = Topology::Heterogeneous;
        let particles = Some(particles);
        Mesh { particles, topology, ..Mesh::new(path, positions, none(), none()) }
    }
}

/// The point data of a mesh without faces. Points of different samples are the same if they have the same id,
/// or, without ids, the same index, unless the topology differs.
#[derive(Clone, Default)]
pub struct Particles {
    /// Id of each point. If two are equal, the compiler drops the later one.
    pub ids: Option<Channel<u64>>,
    /// Diameters, in the node's space.
    pub widths: Option<Attribute<[f32; 1]>>,
    /// The curves that the points belong to, if they do.
    pub curves: Option<Curves>,
}

/// Curves, each through consecutive points.
#[derive(Clone)]
pub struct Curves {
    /// Number of points of each curve. Can be negative, or exceed the points there are, in bad files.
    pub counts: Channel<i32>,
    /// Interpolation between points.
    pub basis: CurveBasis,
    /// Treatment of the ends.
    pub curve_ends: CurveEnds,
}

/// The basis of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CurveBasis {
    Linear,
    Bezier,
    BSpline,
    CatmullRom,
}

/// The ends of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveEnds {
    /// The curve ends where its basis ends.
    Open,
    /// The last point is connected to the first.
    Closed,
    /// The curve reaches its first and last point, whatever its basis.
    Pinned,
}

/// A skin as the file has it. Linear blend: point = Σ weight · joint's object transform · inverse bind · bind
/// position. Points can be blended by dual quaternions instead, or by a mix of both
/// ([`Skin::dual_fraction`]).
#[derive(Clone)]
pub struct Skin {
    /// Index into [`Scene::skeletons`]; `None` if the joints are the mesh's own, in its space, and known only
    /// by `pose`.
    pub skeleton: Option<usize>,
    /// Joints of the skeleton that influence the mesh; 0, 1, 2, … for joints of the mesh's own.
    pub joints: Vec<usize>,
    /// Matrix from the mesh's bind space to the space of each joint, in the order of `joints`.
    pub inverse_bind: Vec<DMat4>,
    /// Positions in the bind pose. Morph targets, if there are any, move them before the joints do.
    pub bind_positions: Arc<[[f32; 3]]>,
    /// Influences per point; those of weight 0 are unused.
    pub influences: usize,
    /// `influences` per point: index into `joints`.
    pub joint: Arc<[u16]>,
    /// `influences` per point, not negative, with sum 1 (or all 0: such points do not move).
    pub weight: Arc<[f32]>,
    /// The fraction, 0 to 1, of each point's motion that dual quaternions blend ([`crate::dual_quaternion`]);
    /// the rest is linear. Empty if all is linear.
    pub dual_fraction: Arc<[f32]>,
    /// The matrices that take `bind_positions` to [`Mesh::positions`]: one for each of `joints`, at each
    /// sample of the positions.
    pub pose: Channel<DMat4>,
    /// Index of each clip of the skeleton, and the mesh as that clip moves it.
    pub driven: Vec<(usize, Arc<dyn DrivenMesh>)>,
}

/// A skin posed by matrices that map from its bind pose, one per joint.
pub struct PosedSkin<'a> {
    skin: &'a Skin,
    matrices: &'a [DMat4],
    joints: Vec<DualJoint>,
}

impl Skin {
    /// Poses the skin by these matrices, one for each joint.
    pub fn posed<'a>(&'a self, matrices: &'a [DMat4]) -> PosedSkin<'a> {
        let joints =
            matrices.iter().filter(|_| !self.dual_fraction.is_empty()).map(DualJoint::from_matrix).collect();
        PosedSkin { skin: self, matrices, joints }
    }
}

impl PosedSkin<'_> {
    /// Returns the position of a point: its bind position, if no joint moves it.
    pub fn point(&self, point: usize) -> DVec3 {
        let skin = self.skin;
        let bind = DVec3::from_array(skin.bind_positions[point].map(f64::from));
        let own = point * skin.influences..(point + 1) * skin.influences;
        let pairs =
            skin.joint[own.clone()].iter().zip(&skin.weight[own]).filter(|(_, weight)| **weight > 0.0);
        let pairs = pairs.map(|(joint, weight)| (usize::from(*joint), f64::from(*weight)));
        let (mut linear, mut any) = (DVec3::ZERO, false);
        for (joint, weight) in pairs.clone() {
            if let Some(matrix) = self.matrices.get(joint) {
                linear += matrix.transform_point3(bind) * weight;
                any = true;
            }
        }
        let linear = if any { linear } else { bind };
        let part = skin.dual_fraction.get(point).copied().unwrap_or(0.0);
        match dual_quaternion::blended(&self.joints, pairs).filter(|_| part > 0.0) {
            Some(moved) => linear.lerp(moved.transform_point3(bind), f64::from(part)),
            None => linear,
        }
    }
}

/// A mesh moved by a clip of its skeleton, at any time of the clip.
pub trait DrivenMesh: Send + Sync {
    /// Writes all points, in the order and space of [`Mesh::positions`].
    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error>;
}

/// Per-element values of a mesh, plain or indexed.
#[derive(Clone)]
pub struct Attribute<T> {
    /// Name (for a uv set its own name, if the file has one).
    pub name: String,
    /// The elements that carry the values.
    pub scope: Scope,
    /// The values, or the palette that `indices` refer to.
    pub values: Channel<T>,
    /// One index per element of the scope, into `values`.
    pub indices: Option<Channel<u32>>,
}

/// A custom attribute: one to four numbers per element.
#[derive(Clone)]
pub struct CustomAttribute {
    /// Components per value, 1 to 4; the others are 0.
    pub components: usize,
    /// Name, scope and values.
    pub attribute: Attribute<[f32; 4]>,
}

/// A named set of faces.
#[derive(Clone)]
pub struct FaceSet {
    /// Name of the material or group.
    pub name: String,
    /// Face indices; can be out of range in bad files.
    pub faces: Channel<i32>,
}

/// The times of a property's samples.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeSampling {
    /// Sample `i` is at `start + i·step`.
    Uniform {
        /// Time of sample 0.
        start: f64,
        /// Seconds between samples, > 0.
        step: f64,
    },
    /// Sample `i` is at `times[i mod n] + period·(i div n)`.
    Cyclic {
        /// Times of the first cycle, ascending.
        times: Vec<f64>,
        /// Seconds per cycle, > 0.
        period: f64,
    },
    /// Sample `i` is at `times[i]`; later ones are at the last time.
    Acyclic {
        /// Times, ascending.
        times: Vec<f64>,
    },
}

impl TimeSampling {
    /// Returns the time of sample `i` in seconds.
    pub fn time(&self, i: usize) -> f64 {
        match self {
            TimeSampling::Uniform { start, step } => start + i as f64 * step,
            TimeSampling::Cyclic { times, period } => {
                let n = times.len().max(1);
                times.get(i % n).copied().unwrap_or(0.0) + (i / n) as f64 * period
            }
            TimeSampling::Acyclic { times } => times.get(i).or(times.last()).copied().unwrap_or(0.0),
        }
    }
}

/// An identity of a sample, known without reading it: equal identities in one channel mean equal data.
pub type Identity = u128;

/// The samples of a channel, read on demand.
pub trait Source<T>: Send + Sync {
    /// Returns the number of samples.
    fn len(&self) -> usize;
    /// `true` if there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the identity of sample `i`, cheaply.
    fn identity(&self, i: usize) -> Identity;
    /// `true` if all samples are equal.
    fn is_constant(&self) -> bool {
        let first = (!self.is_empty()).then(|| self.identity(0));
        (1..self.len()).all(|i| Some(self.identity(i)) == first)
    }
    /// Reads sample `i` into `out`, which is cleared first.
    fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error>;
    /// `true` if the file defines values between samples that differ from the usual interpolation: points on
    /// curves instead of lines, rotations that turn evenly.
    fn has_own_interpolation(&self) -> bool {
        false
    }
    /// Writes the value at a time between two samples, if the file defines an interpolation of its own.
    /// Returns `false` if the usual one ([`crate::sample`]) applies.
    fn read_between(&self, _time: f64, _out: &mut Vec<T>) -> Result<bool, Error> {
        Ok(false)
    }
}

/// A property over time. Each sample is an array of `T`, whose length may differ from sample to sample.
#[derive(Clone)]
pub struct Channel<T> {
    sampling: Arc<TimeSampling>,
    source: Arc<dyn Source<T>>,
}

impl<T: Clone + Send + Sync + 'static> Channel<T> {
    /// Returns a channel over `source`, which must have at least one sample for anything but `len` to be
    /// called.
    pub fn new(sampling: Arc<TimeSampling>, source: Arc<dyn Source<T>>) -> Channel<T> {
        Channel { sampling, source }
    }
    /// Returns a channel of one sample that never changes, held in memory.
    pub fn constant(values: Vec<T>) -> Channel<T> {
        Channel::in_memory(TimeSampling::Uniform { start: 0.0, step: 1.0 }, vec![values])
    }
    /// Returns a channel of samples held in memory (tests, small files). Their identities are their indices.
    pub fn in_memory(sampling: TimeSampling, samples: Vec<Vec<T>>) -> Channel<T> {
        struct Memory<T>(Vec<Vec<T>>);
        impl<T: Clone + Send + Sync> Source<T> for Memory<T> {
            fn len(&self) -> usize {
                self.0.len()
            }
            fn identity(&self, i: usize) -> Identity {
                i as Identity
            }
            fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
                out.clear();
                out.extend_from_slice(self.0.get(i).map(Vec::as_slice).unwrap_or(&[]));
                Ok(())
            }
        }
        Channel { sampling: Arc::new(sampling), source: Arc::new(Memory(samples)) }
    }
    /// Returns a channel of the same samples at other times.
    pub fn with_sampling(&self, sampling: Arc<TimeSampling>) -> Channel<T> {
        Channel { sampling, source: self.source.clone() }
    }
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.source.len()
    }
    /// `true` if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }
    /// Returns the time of sample `i`, in seconds.
    pub fn time(&self, i: usize) -> f64 {
        self.sampling.time(i)
    }
    /// Returns the time sampling.
    pub fn sampling(&self) -> &Arc<TimeSampling> {
        &self.sampling
    }
    /// Returns the identity of sample `i`.
    pub fn identity(&self, i: usize) -> Identity {
        self.source.identity(i)
    }
    /// `true` if all samples are equal.
    pub fn is_constant(&self) -> bool {
        self.source.is_constant()
    }
    /// Reads sample `i`.
    pub fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
        self.source.read(i, out)
    }
    /// See [`Source::has_own_interpolation`].
    pub fn has_own_interpolation(&self) -> bool {
        self.source.has_own_interpolation()
    }
    /// See [`Source::read_between`].
    pub fn read_between(&self, time: f64, out: &mut Vec<T>) -> Result<bool, Error> {
        self.source.read_between(time, out)
    }
    /// Returns the sample at or before `time` and the fraction of the way to the next one, both clamped to
    /// the samples. A time within [`TIME_TOLERANCE`] of a sample is that sample.
    pub fn locate(&self, time: f64) -> (usize, f64) {
        let n = self.len();
        if n <= 1 || time <= self.time(0) + TIME_TOLERANCE {
            return (0, 0.0);
        }
        if time >= self.time(n - 1) - TIME_TOLERANCE {
            return (n - 1, 0.0);
        }
        // Invariant: time(low) <= time < time(high), up to TIME_TOLERANCE.
        let (mut low, mut high) = (0, n - 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.time(middle) <= time + TIME_TOLERANCE { low = middle } else { high = middle }
        }
        let (a, b) = (self.time(low), self.time(high));
        if time - a <= TIME_TOLERANCE || b <= a {
            (low, 0.0)
        } else {
            (low, ((time - a) / (b - a)).clamp(0.0, 1.0))
        }
    }
}

impl From<Channel<DMat4>> for Channel<LocalTransform> {
    /// Wraps transforms that the file has as matrices.
    fn from(matrices: Channel<DMat4>) -> Channel<LocalTransform> {
        struct Matrices(Channel<DMat4>);
        impl Source<LocalTransform> for Matrices {
            fn len(&self) -> usize {
                self.0.len()
            }
            fn identity(&self, i: usize) -> Identity {
                self.0.identity(i)
            }
            fn is_constant(&self) -> bool {
                self.0.is_constant()
            }
            fn read(&self, i: usize, out: &mut Vec<LocalTransform>) -> Result<(), Error> {
                let mut matrices = Vec::with_capacity(1);
                self.0.read(i, &mut matrices)?;
                out.clear();
                out.extend(matrices.into_iter().map(LocalTransform::from));
                Ok(())
            }
            fn has_own_interpolation(&self) -> bool {
                self.0.has_own_interpolation()
            }
            fn read_between(&self, time: f64, out: &mut Vec<LocalTransform>) -> Result<bool, Error> {
                let mut matrices = Vec::with_capacity(1);
                let own = self.0.read_between(time, &mut matrices)?;
                out.clear();
                out.extend(matrices.into_iter().map(LocalTransform::from));
                Ok(own)
            }
        }
        Channel::new(matrices.sampling().clone(), Arc::new(Matrices(matrices)))
    }
}

/// Times closer than this are equal (PROMISE.md §4): 10 µs.
pub const TIME_TOLERANCE: f64 = 1e-5;

/// The time, in seconds, by which the old value is written before a step in linearly interpolated samples:
/// more than a key may be moved to a uniform time.
pub const BEFORE_STEP: f64 = 5.0 * TIME_TOLERANCE;

/// An object of the tree with instances expanded: an instance's subtree appears under it again.
#[derive(Clone, Debug)]
pub struct PlacedObject {
    /// Path in the expanded tree.
    pub path: String,
    /// Index of the parent in the expanded list.
    pub parent: Option<usize>,
    /// The node whose data it uses (for an instance, its target).
    pub node: NodeId,
}

impl Scene {
    /// Largest number of objects that [`Scene::expand`] produces.
    pub const MAX_PLACED_OBJECTS: usize = 4_000_000;
    /// Largest size in bytes of the result of [`Scene::expand`].
    pub const MAX_PLACED_BYTES: usize = 256 << 20;

    /// Returns the tree with every instance replaced by its target, in depth-first pre-order. Fails with a
    /// limit error if nested instances multiply beyond [`Scene::MAX_PLACED_OBJECTS`] or
    /// [`Scene::MAX_PLACED_BYTES`].
    pub fn expand(&self) -> Result<Vec<PlacedObject>, Error> {
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        let mut stack = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            match node.parent {
                Some(parent) => children[parent].push(id),
                None => stack.push((id, None)),
            }
        }
        stack.reverse();
        let mut placed: Vec<PlacedObject> = Vec::new();
        let mut bytes = 0;
        while let Some((id, parent)) = stack.pop() {
            let above = parent.map_or("", |parent: usize| placed[parent].path.as_str());
            // Allocated at exact size: there are many.
            let path = [above, &self.nodes[id].name].join("/");
            bytes += size_of::<PlacedObject>() + path.len();
            let objects = placed.len() + 1;
            for (what, asked, allowed) in [
                ("objects after expanding instances", objects, Self::MAX_PLACED_OBJECTS),
                ("bytes of objects after expanding instances", bytes, Self::MAX_PLACED_BYTES),
            ] {
                if asked > allowed {
                    let (path, what) = (above.into(), format!("{what}; export it in parts"));
                    return Err(Error::Limit { path, what, asked: asked as u64, allowed: allowed as u64 });
                }
            }
            let target = self.instance_target(id);
            let own = placed.len();
            stack.extend(children[target].iter().rev().map(|child| (*child, Some(own))));
            placed.push(PlacedObject { path, parent, node: target });
        }
        Ok(placed)
    }

    /// Returns the node whose data `id` uses: itself, or for an instance its target.
    fn instance_target(&self, id: NodeId) -> NodeId {
        let mut target = id;
        // Readers refuse cycles; the bound only keeps a hand-made scene from looping for ever.
        for _ in 0..=self.nodes.len() {
            match self.nodes[target].instance_of {
                Some(next) => target = next,
                None => break,
            }
        }
        target
    }

    /// Counts the objects of [`Scene::expand`] without building them.
    pub fn count(&self) -> Result<Counts, Error> {
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        let mut stack = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            match node.parent {
                Some(parent) => children[parent].push(id),
                None => stack.push((id, false)),
            }
        }
        let mut counts = Counts::default();
        let mut objects = 0;
        while let Some((id, by_instance)) = stack.pop() {
            objects += 1;
            if objects > Self::MAX_PLACED_OBJECTS {
                return Err(Error::Limit {
                    path: self.nodes[id].path.as_str().into(),
                    what: "objects after expanding instances".into(),
                    asked: objects as u64,
                    allowed: Self::MAX_PLACED_OBJECTS as u64,
                });
            }
            let by_instance = by_instance || self.nodes[id].instance_of.is_some();
            let id = self.instance_target(id);
            stack.extend(children[id].iter().map(|child| (*child, by_instance)));
            let node = &self.nodes[id];
            let face_sets = node.mesh.map_or(0, |m| self.meshes[m].face_sets.len());
            counts.facesets += face_sets;
            counts.instances += if by_instance { 1 + face_sets } else { 0 };
            match node.kind {
                NodeKind::Xform => counts.xforms += 1,
                NodeKind::PolyMesh => counts.meshes += 1,
                NodeKind::SubD => counts.subds += 1,
                NodeKind::Curves => counts.curves += 1,
                NodeKind::Points => counts.points += 1,
                NodeKind::NuPatch => counts.nurbs += 1,
                NodeKind::Camera => counts.cameras += 1,
                NodeKind::Light => counts.lights += 1,
                NodeKind::Material | NodeKind::Other => {}
            }
        }
        Ok(counts)
    }
}
