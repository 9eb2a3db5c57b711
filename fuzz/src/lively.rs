//! What plain scenes of [`super::scene`] lack: points and transforms that go on curves between their samples,
//! particles that are born and die, strands, cameras, rigs, copies, and wild content in hidden frames. Zeros
//! add nothing, so that bytes that ended make the plain scene.

use super::{Numbers, shape};
use glam::{DAffine3, DMat4, DQuat, DVec3, EulerRot};
use meshreel_scene::{
    Attribute, Channel, Clip, CurveBasis, CurveEnds, Curves, DrivenMesh, Error, Identity, Joint, Lens,
    LocalTransform, Mesh, Node, NodeKind, Particles, Qvv, Scene, Scope, Skeleton, Skin, Source, SubTrack,
    TimeSampling, Topology, Track, Transform,
};
use std::sync::Arc;

/// Values as a function of time.
type Function<T> = Arc<dyn Fn(f64) -> Vec<T> + Send + Sync>;

/// A function that is sampled at some times; where it bends, it is known between them as well.
struct Sampled<T> {
    times: Vec<f64>,
    bends: bool,
    at: Function<T>,
}

impl<T: Send + Sync> Source<T> for Sampled<T> {
    fn len(&self) -> usize {
        self.times.len()
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
        *out = (self.at)(self.times[i]);
        Ok(())
    }
    fn has_own_interpolation(&self) -> bool {
        self.bends
    }
    fn read_between(&self, time: f64, out: &mut Vec<T>) -> Result<bool, Error> {
        if self.bends {
            *out = (self.at)(time);
        }
        Ok(self.bends)
    }
}

fn sampled<T: Clone + Send + Sync + 'static>(times: &[f64], bends: bool, at: Function<T>) -> Channel<T> {
    let source = Sampled { times: times.to_vec(), bends, at };
    Channel::new(Arc::new(TimeSampling::Acyclic { times: times.to_vec() }), Arc::new(source))
}

/// Adds to a scene.
pub fn add(scene: &mut Scene, numbers: &mut Numbers) {
    for node in 0..scene.nodes.len() {
        if scene.nodes[node].instance_of.is_some() {
            continue;
        }
        match numbers.below(8) {
            1 | 2 => scene.nodes[node].transform = Some(turning(numbers)),
            3 => scene.nodes[node].transform = Some(sheared(numbers)),
            _ => {}
        }
        let Some(mesh) = scene.nodes[node].mesh else { continue };
        let own = &mut scene.meshes[mesh];
        if numbers.below(3) == 1 && own.topology != Topology::Heterogeneous {
            bend(own, numbers);
        }
        if numbers.below(4) == 1 {
            scene.nodes[node].visibility = Some(hide(own, numbers));
        }
    }
    for _ in 0..numbers.below(8).saturating_sub(5) {
        particles(scene, numbers);
    }
    if numbers.below(6) == 1 {
        camera(scene, numbers);
    }
    if numbers.below(6) == 1 {
        rig(scene, numbers);
    }
    if numbers.below(6) == 1 {
        copies(scene, numbers);
    }
}

/// Sample times, evenly apart or with a gap.
fn times(numbers: &mut Numbers) -> Vec<f64> {
    let step = [1.0 / 24.0, 1.0 / 60.0, 0.5, 0.1][numbers.below(4)];
    let count = [2, 3, 5, 9, 17][numbers.below(5)];
    let gap = if numbers.below(3) == 1 { 1 + numbers.below(count) } else { count };
    let wide = [1.0, 7.0, 33.0][numbers.below(3)];
    let first = f64::from(numbers.i8()) / 64.0;
    (0..count).map(|i| first + step * (i as f64 + if i >= gap { wide } else { 0.0 })).collect()
}

/// Goes to the end of the list of nodes, below its last one or at the root.
fn push(scene: &mut Scene, name: &str, below: bool, node: Node) -> usize {
    let parent = scene.nodes.len().checked_sub(1).filter(|_| below);
    let above = parent.map_or("", |parent| &scene.nodes[parent].path);
    let path = format!("{above}/{name}{}", scene.nodes.len());
    let made = Node::new(path, node.kind);
    scene.nodes.push(Node { parent, name: made.name, path: made.path, ..node });
    scene.nodes.len() - 1
}

/// Euler angles that go evenly, or a way on a curve, which jumps at samples now and then.
fn turning(numbers: &mut Numbers) -> Transform {
    let times = times(numbers);
    let speed = shape::vector(numbers) * [1.0, 10.0, 60.0][numbers.below(3)];
    let start = shape::vector(numbers) * 3.0;
    let way = shape::vector(numbers) * [0.0, 1.0, 50.0][numbers.below(3)];
    let mut scale = DVec3::ONE + shape::vector(numbers) * [0.0, 0.9][numbers.below(2)];
    if numbers.below(4) == 1 {
        scale.x = -scale.x;
    }
    let wave = f64::from(numbers.u8()) / 16.0;
    let (held, wild) = (numbers.below(6) == 1, numbers.below(6) == 1);
    let keys = times.clone();
    let at = move |time: f64| {
        let key = keys.partition_point(|t| *t <= time + 1e-7).saturating_sub(1);
        let t = if held { keys[key] } else { time } - keys[0];
        let angles = start + speed * t;
        let grown = if wild && 2 * key >= keys.len() { scale * 100.0 } else { scale };
        vec![LocalTransform::from(Qvv {
            rotation: DQuat::from_euler(EulerRot::XYZ, angles.x, angles.y, angles.z),
            translation: way * (wave * t).sin(),
            scale: grown,
        })]
    };
    // What grows at once does not go on a curve.
    Transform { local: sampled(&times, !wild && numbers.below(4) != 1, Arc::new(at)), inherits: None }
}

/// A matrix with shear, which moves or not.
fn sheared(numbers: &mut Numbers) -> Transform {
    let times = if numbers.bit() { times(numbers) } else { vec![0.0] };
    let [x, y, z, at] = std::array::from_fn(|_| shape::vector(numbers) * 2.0);
    let turn = shape::vector(numbers) * 2.0;
    let first = times[0];
    let matrix = move |time: f64| {
        let own = DMat4::from_cols(x.extend(0.0), y.extend(0.0), z.extend(0.0), at.extend(1.0));
        vec![LocalTransform::from(DMat4::from_quat(DQuat::from_scaled_axis(turn * (time - first))) * own)]
    };
    Transform { local: sampled(&times, numbers.bit(), Arc::new(matrix)), inherits: None }
}

/// Lets points go on curves: around an axis, to a shape and one in between, in waves.
fn bend(mesh: &mut Mesh, numbers: &mut Numbers) {
    let mut base = Vec::new();
    if mesh.positions.is_empty() || mesh.positions.read(0, &mut base).is_err() {
        return;
    }
    let times = times(numbers);
    let axis = shape::vector(numbers).normalize_or(DVec3::Z);
    let speed = [0.0, 1.0, 10.0, 40.0][numbers.below(4)];
    let target = shape::vector(numbers) * [0.0, 0.5, 3.0][numbers.below(3)];
    let wave = f64::from(numbers.u8()) / 8.0;
    let damage = match numbers.below(8) {
        1 => Some((
            [f32::NAN, 1e19, 1e30, 3e18][numbers.below(4)],
            numbers.below(base.len().clamp(1, 256)),
            false,
        )),
        2 => Some((1e19, numbers.below(base.len().clamp(1, 256)), true)),
        _ => None,
    };
    let first = times[0];
    let at = move |time: f64| {
        let t = time - first;
        let turned = DQuat::from_axis_angle(axis, speed * t);
        // A shape with one in between: straight from one to the other, as weights go beyond both.
        let weight = (wave * t).sin() * 1.5;
        let own = |(i, p): (usize, &[f32; 3])| {
            let p = DVec3::from_array(p.map(f64::from));
            let offset = target * (i % 5) as f64 * if weight < 0.5 { 2.0 * weight } else { 1.5 - weight };
            let mut out = (turned * (p + offset)).as_vec3().to_array();
            if let Some((value, which, comes)) = damage
                && i == which
            {
                out[1] = if comes { (f64::from(value) * (3.0 * t).sin()) as f32 } else { value };
            }
            out
        };
        base.iter().enumerate().map(own).collect()
    };
    mesh.positions = sampled(&times, numbers.below(4) != 1, Arc::new(at));
    mesh.topology = Topology::Homogeneous;
}

/// Hides a mesh in some of its samples, whose points and velocities become wild.
fn hide(mesh: &mut Mesh, numbers: &mut Numbers) -> Channel<i8> {
    let positions = &mesh.positions;
    if positions.is_empty() {
        return Channel::constant(vec![-1]);
    }
    let times: Vec<f64> = (0..positions.len()).map(|i| positions.time(i)).collect();
    let from = numbers.below(times.len().min(256));
    let [late, wild] = [numbers.bit(), numbers.below(4) != 1];
    let factor = [100.0, 1e6, 1e-6, f32::NAN, 1e25][numbers.below(5)];
    let hidden = move |i: usize| (i >= from) == late;
    let flags = (0..times.len()).map(|i| vec![if hidden(i) { 0 } else { -1 }]).collect();
    let sampling = TimeSampling::Acyclic { times };
    if wild && !positions.has_own_interpolation() && positions.len() > 1 {
        let all = |channel: &Channel<[f32; 3]>| {
            let sample = |i: usize| {
                let mut values = Vec::new();
                channel.read(i, &mut values).unwrap_or_default();
                if hidden(i) {
                    values.iter_mut().flatten().for_each(|v| *v *= factor);
                }
                values
            };
            Channel::in_memory(sampling.clone(), (0..channel.len()).map(sample).collect())
        };
        if let Some(velocities) = mesh.velocities.as_ref().filter(|v| v.len() == positions.len()) {
            mesh.velocities = Some(all(velocities));
        }
        mesh.positions = all(&mesh.positions);
    }
    Channel::in_memory(sampling, flags)
}

/// Points with ids that are born and die, points by number, or strands; with velocities and widths, below a
/// transform or hidden now and then.
fn particles(scene: &mut Scene, numbers: &mut Numbers) {
    let times = times(numbers);
    let kind = numbers.below(3);
    let count = 1 + numbers.below(12);
    let size = [1.0, 1e-3, 1e4][numbers.below(3)];
    let lives: Vec<[usize; 2]> = (0..count)
        .map(|_| {
            let born = numbers.below(times.len());
            if numbers.bit() { [0, times.len()] } else { [born, born + 1 + numbers.below(times.len())] }
        })
        .collect();
    let ways: Vec<[DVec3; 2]> =
        (0..count).map(|_| [shape::vector(numbers), shape::vector(numbers)]).collect();
    let reversed = numbers.bit();
    let alive = |s: usize| -> Vec<usize> {
        let all = (0..count).filter(|i| kind == 2 || lives[*i][0] <= s && s < lives[*i][1]);
        if reversed { all.rev().collect() } else { all.collect() }
    };
    let points = |s: usize| {
        let at = |i: usize| (ways[i][0] + ways[i][1] * (times[s] - times[0])) * size;
        alive(s).into_iter().map(|i| at(i).as_vec3().to_array()).collect::<Vec<_>>()
    };
    let fast =
        |s: usize| alive(s).into_iter().map(|i| (ways[i][1] * size).as_vec3().to_array()).collect::<Vec<_>>();
    let samples = 0..times.len();
    let sampling = TimeSampling::Acyclic { times: times.clone() };
    let channel = |of: &dyn Fn(usize) -> Vec<[f32; 3]>| {
        Channel::in_memory(sampling.clone(), samples.clone().map(of).collect())
    };
    let counts = match count {
        1..=3 => vec![count as i32],
        _ => vec![2, count as i32 - 2],
    };
    let width = |s: usize| -> Vec<[f32; 1]> {
        alive(s).into_iter().map(|i| [0.01 * size as f32 * (i + 1) as f32]).collect()
    };
    let own = Particles {
        ids: (kind == 0).then(|| {
            let ids = |s| -> Vec<u64> { alive(s).into_iter().map(|i| 7 * i as u64).collect() };
            Channel::in_memory(sampling.clone(), samples.clone().map(ids).collect())
        }),
        widths: numbers.bit().then(|| Attribute {
            name: "widths".into(),
            scope: Scope::Vertex,
            values: Channel::in_memory(sampling.clone(), samples.clone().map(width).collect()),
            indices: None,
        }),
        curves: (kind == 2).then(|| Curves {
            counts: Channel::constant(counts),
            basis: CurveBasis::Linear,
            curve_ends: CurveEnds::Open,
        }),
    };
    let mut mesh = Mesh::from_particles("", channel(&points), own);
    mesh.velocities = (numbers.bit()).then(|| channel(&fast));
    let visibility = numbers.bit().then(|| hide(&mut mesh, numbers));
    let transform = match numbers.below(4) {
        1 => Some(turning(numbers)),
        2 => Some(sheared(numbers)),
        _ => None,
    };
    let kind = if kind == 2 { NodeKind::Curves } else { NodeKind::Points };
    let below = numbers.bit() && scene.nodes.last().is_some_and(|n| n.instance_of.is_none());
    let node = Node { transform, visibility, mesh: Some(scene.meshes.len()), ..Node::new("", kind) };
    let id = push(scene, "points", below, node);
    mesh.path = scene.nodes[id].path.clone();
    scene.meshes.push(mesh);
}

/// A camera, some samples of whose lens are damaged.
fn camera(scene: &mut Scene, numbers: &mut Numbers) {
    let times = times(numbers);
    let damage = numbers.below(4);
    let which = numbers.below(times.len());
    let lens = |i: usize| {
        let lens = Lens { focal_length: 20.0 + i as f64, focus_distance: 3.0 * i as f64, ..Lens::default() };
        match damage {
            1 if i == which => Vec::new(),
            2 if i >= which => vec![Lens { focal_length: f64::NAN, ..lens }],
            3 => Vec::new(),
            _ => vec![lens],
        }
    };
    let samples = (0..times.len()).map(lens).collect();
    let camera = Some(Channel::in_memory(TimeSampling::Acyclic { times }, samples));
    let transform = numbers.bit().then(|| turning(numbers));
    push(scene, "camera", false, Node { camera, transform, ..Node::new("", NodeKind::Camera) });
}

/// A transform that places another node once more.
fn copies(scene: &mut Scene, numbers: &mut Numbers) {
    let to = numbers.below(scene.nodes.len());
    if scene.nodes[to].instance_of.is_some() {
        return;
    }
    let kind = scene.nodes[to].kind;
    for _ in 0..1 + numbers.below(3) {
        let transform = if numbers.bit() { turning(numbers) } else { sheared(numbers) };
        let visibility = (numbers.below(4) == 1).then(|| {
            let shown = (0..4).map(|i| vec![if i % 2 == 0 { -1 } else { 0 }]).collect();
            Channel::in_memory(TimeSampling::Uniform { start: 0.0, step: 0.2 }, shown)
        });
        let above = Node { transform: Some(transform), visibility, ..Node::new("", NodeKind::Xform) };
        push(scene, "place", false, above);
        push(scene, "copy", true, Node { instance_of: Some(to), ..Node::new("", kind) });
    }
}

/// A clip that moves a skin.
struct ClipDriven {
    clip: Clip,
    inverse_bind: Vec<DMat4>,
    bind: Arc<[[f32; 3]]>,
    /// Part of the second joint by point.
    weights: Vec<f64>,
}

impl ClipDriven {
    /// Joints in the space of the mesh.
    fn pose(&self, time: f64) -> Vec<DMat4> {
        let at = ((time - self.clip.start) * self.clip.fps).clamp(0.0, (self.clip.samples - 1) as f64);
        let mut out: Vec<DAffine3> = Vec::new();
        for joint in 0..self.clip.tracks.len() {
            let own = self.clip.interpolated(joint, at).matrix();
            out.push(out.last().map_or(own, |above| *above * own));
        }
        out.into_iter().map(DMat4::from).collect()
    }

    fn positions(&self, time: f64) -> Vec<[f32; 3]> {
        let pose = self.pose(time);
        let joints: Vec<DMat4> =
            pose.iter().zip(&self.inverse_bind).map(|(m, inverse)| *m * *inverse).collect();
        let place = |(p, weight): (&[f32; 3], &f64)| {
            let p = DVec3::from_array(p.map(f64::from));
            let far = joints[joints.len() - 1].transform_point3(p);
            joints[0].transform_point3(p).lerp(far, *weight).as_vec3().to_array()
        };
        self.bind.iter().zip(&self.weights).map(place).collect()
    }
}

impl DrivenMesh for ClipDriven {
    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        *out = self.positions(time);
        Ok(())
    }
}

/// Where a joint of the chain rests.
fn rest(joint: usize) -> Qvv {
    Qvv { translation: if joint > 0 { DVec3::Y } else { DVec3::ZERO }, ..Qvv::IDENTITY }
}

/// A clip that turns a chain of joints and stretches them.
fn clip(joints: usize, skeleton: usize, numbers: &mut Numbers) -> Clip {
    let (samples, fps) = (2 + numbers.below(8), [24.0, 10.0, 2.0][numbers.below(3)]);
    let turn = shape::vector(numbers) * [0.2, 2.0, 6.0][numbers.below(3)];
    let grow = [0.0, 0.5][numbers.below(2)];
    let track = |j: usize| {
        let rotation = |s: usize| DQuat::from_scaled_axis(turn * (s as f64 / fps) * (j + 1) as f64);
        let scale = |s: usize| DVec3::ONE + DVec3::X * (grow * (s as f64).sin());
        let rotations = SubTrack::new((0..samples).map(rotation).collect());
        let scales = SubTrack::new((0..samples).map(scale).collect());
        Track {
            rotation: rotations.unwrap_or_else(|| SubTrack::constant(DQuat::IDENTITY)),
            translation: SubTrack::constant(rest(j).translation),
            scale: scales.unwrap_or_else(|| SubTrack::constant(DVec3::ONE)),
        }
    };
    Clip {
        name: "turn".into(),
        skeleton,
        start: 0.0,
        fps,
        samples,
        tracks: (0..joints).map(track).collect(),
        scalars: Vec::new(),
        markers: Vec::new(),
    }
}

/// A bar on a chain of joints that a clip turns.
fn rig(scene: &mut Scene, numbers: &mut Numbers) {
    let joints = 2 + numbers.below(2);
    let clip = clip(joints, scene.skeletons.len(), numbers);
    let ring = |i: usize| {
        let (y, x) = (i as f64 * std::f64::consts::FRAC_PI_2).sin_cos();
        DVec3::new(0.3 * x, i as f64 / 8.0, 0.3 * y).as_vec3().to_array()
    };
    let bind: Arc<[[f32; 3]]> = (0..16).map(ring).collect();
    let weights: Vec<f64> = bind.iter().map(|p| f64::from(p[1]).clamp(0.0, 1.0)).collect();
    let weight = |w: &f64| [1.0 - *w as f32, *w as f32];
    let inverse_bind: Vec<DMat4> =
        (0..joints).map(|j| DMat4::from_translation(DVec3::Y * -(j as f64))).collect();
    let times: Vec<f64> = (0..clip.samples).map(|s| s as f64 / clip.fps).collect();
    let last = joints as u16 - 1;
    let weight: Arc<[f32]> = weights.iter().flat_map(weight).collect();
    let moved = Arc::new(ClipDriven {
        clip: clip.clone(),
        inverse_bind: inverse_bind.clone(),
        bind: bind.clone(),
        weights,
    });
    let driven: Arc<dyn DrivenMesh> = moved.clone();
    let (points, pose) = (moved.clone(), moved);
    let skin = Skin {
        skeleton: Some(scene.skeletons.len()),
        joints: (0..joints).collect(),
        inverse_bind,
        influences: 2,
        joint: bind.iter().flat_map(|_| [0, last]).collect(),
        weight,
        dual_fraction: Arc::new([]),
        pose: sampled(&times, true, Arc::new(move |time| pose.pose(time))),
        driven: vec![(scene.clips.len(), driven)],
        bind_positions: bind,
    };
    let positions = sampled(&times, true, Arc::new(move |time| points.positions(time)));
    let node = Node { mesh: Some(scene.meshes.len()), ..Node::new("", NodeKind::PolyMesh) };
    let id = push(scene, "bar", false, node);
    let quads = (0..12).flat_map(|i| [i, i + 1, i + 4, i + 3]).collect();
    let counts = Channel::constant(vec![4; 12]);
    let mesh = Mesh::new(scene.nodes[id].path.clone(), positions, counts, Channel::constant(quads));
    scene.meshes.push(Mesh { skin: Some(Arc::new(skin)), ..mesh });
    let joint = |j: usize| Joint {
        name: format!("joint{j}"),
        parent: j.checked_sub(1),
        rest: rest(j),
        ..Joint::default()
    };
    scene.skeletons.push(Skeleton { name: "chain".into(), joints: (0..joints).map(joint).collect() });
    scene.clips.push(clip);
}
