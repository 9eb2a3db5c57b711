//! Small scenes made from bytes: everything that a reader can hand over, well-formed or not. Shared with the
//! tests of the command line, which have no fuzzer.

use super::{Numbers, lively, shape};
use glam::{DMat4, DQuat, DVec3};
use meshreel_scene::{
    Attribute, Channel, FaceSet, Mesh, Node, NodeKind, Scene, Scope, TimeSampling, Topology, Transform,
    Winding,
};

/// Coordinates that are likely to meet, to collapse, or to leave a range.
const COORDINATES: [f32; 16] = [
    0.0,
    1.0,
    -1.0,
    2.0,
    0.5,
    0.25,
    3.0,
    -0.0,
    1e-6,
    1e6,
    1.000_000_1,
    -7.5,
    1e20,
    1e-38,
    f32::NAN,
    f32::INFINITY,
];

/// A plain scene with everything that a source may have besides.
pub fn scene(numbers: &mut Numbers) -> Scene {
    let mut scene = plain(numbers);
    lively::add(&mut scene, numbers);
    scene
}

/// A scene of up to three meshes in a tree of up to six nodes.
pub fn plain(numbers: &mut Numbers) -> Scene {
    let meshes: Vec<Mesh> = (0..1 + numbers.below(3)).map(|_| mesh(numbers)).collect();
    let mut scene = Scene { meshes, format: "fuzz", ..Scene::default() };
    let count = scene.meshes.len() + numbers.below(4);
    for id in 0..count {
        let own = (id < scene.meshes.len()).then_some(id);
        // The last node or the root: that keeps pre-order.
        let parent = if numbers.bit() { id.checked_sub(1) } else { None };
        // Only what stands before and has no child can be stood for without going in circles.
        let target = (own.is_none() && numbers.bit()).then(|| numbers.below(id.max(1))).filter(|&to| {
            to < id && scene.nodes[to].instance_of.is_none() && !is_above(&scene.nodes, to, parent)
        });
        let above = parent.map_or("", |parent| &scene.nodes[parent].path);
        scene.nodes.push(Node {
            parent,
            transform: (target.is_none() && numbers.bit()).then(|| transform(numbers)),
            visibility: (target.is_none() && numbers.below(4) == 0)
                .then(|| channel(numbers, |numbers| vec![numbers.below(3) as i8 - 1])),
            mesh: own,
            instance_of: target,
            ..Node::new(
                format!("{above}/n{id}"),
                match (own, target) {
                    (_, Some(to)) => scene.nodes[to].kind,
                    (Some(_), _) => NodeKind::PolyMesh,
                    _ => NodeKind::Xform,
                },
            )
        });
        if let Some(mesh) = own {
            scene.meshes[mesh].path = scene.nodes[id].path.clone();
        }
    }
    scene
}

fn is_above(nodes: &[Node], node: usize, mut at: Option<usize>) -> bool {
    while let Some(here) = at {
        if here == node {
            return true;
        }
        at = nodes[here].parent;
    }
    false
}

fn sampling(numbers: &mut Numbers, samples: usize) -> TimeSampling {
    let step = [1.0, 1.0 / 24.0, 1e-6, 0.5][numbers.below(4)];
    match numbers.below(6) {
        0..=3 => TimeSampling::Uniform { start: f64::from(numbers.i8()) / 8.0, step },
        4 => TimeSampling::Cyclic { times: vec![0.0, step / 4.0], period: step },
        _ => {
            let mut time = 0.0;
            let mut next = || {
                // Also twice the same.
                time += step * numbers.below(4) as f64;
                time
            };
            TimeSampling::Acyclic { times: (0..samples).map(|_| next()).collect() }
        }
    }
}

fn channel<T: Clone + Send + Sync + 'static>(
    numbers: &mut Numbers,
    mut sample: impl FnMut(&mut Numbers) -> Vec<T>,
) -> Channel<T> {
    let samples = if numbers.bit() { 1 } else { 1 + numbers.below(6) };
    if samples == 1 {
        return Channel::constant(sample(numbers));
    }
    let values = (0..samples).map(|_| sample(numbers)).collect();
    Channel::in_memory(sampling(numbers, samples), values)
}

fn transform(numbers: &mut Numbers) -> Transform {
    if numbers.bit() {
        return flight(numbers);
    }
    let kind = numbers.below(4);
    let matrix = channel(numbers, |numbers| {
        let mut v = || f64::from(numbers.i8()) / 16.0;
        vec![match kind {
            0 => DMat4::from_translation(DVec3::new(v(), v(), v())),
            1 => DMat4::from_scale_rotation_translation(
                DVec3::new(1.0 + v(), 1.0, 1.0),
                DQuat::from_rotation_y(v()) * DQuat::from_rotation_x(v()),
                DVec3::new(v(), v(), v()),
            ),
            // Shear, mirrors, rank below three.
            2 => DMat4::from_cols_array(&std::array::from_fn(|i| {
                if i % 4 == 3 { f64::from(i == 15) } else { v() }
            })),
            _ => DMat4::from_scale(DVec3::splat([1.0, 0.0, 1e-12, 1e12, -1.0, f64::NAN][numbers.below(6)])),
        }]
    });
    let inherits = (numbers.below(4) == 0).then(|| channel(numbers, |numbers| vec![numbers.bit()]));
    Transform { local: matrix.into(), inherits }
}

/// A node that goes its way: turns, moves, grows, is mirrored, vanishes and jumps.
fn flight(numbers: &mut Numbers) -> Transform {
    let frames = [1, 3, 17, 24, 40][numbers.below(5)];
    let axis = shape::vector(numbers).normalize_or(DVec3::Z);
    let [turn, pulse] = [numbers.bit(), numbers.below(4) == 0].map(|on| if on { 0.1 } else { 0.0 });
    let way = shape::vector(numbers) * [0.0, 0.1, 10.0, 1e6][numbers.below(4)];
    let size = [1.0, 1.0, 1.0, -1.0, 1e-6, 1e6][numbers.below(6)];
    let gone = match numbers.below(6) {
        0 => numbers.below(frames)..frames,
        _ => 0..0,
    };
    let jump = match numbers.below(4) {
        0 => numbers.below(frames),
        _ => frames,
    };
    let still = numbers.below(4 * frames);
    let matrix = |frame: usize| {
        let t = frame.saturating_sub(still.min(frames)) as f64;
        let grown = size * (1.0 + pulse * (t * 0.3).sin());
        let scale = match gone.contains(&frame) {
            true => DVec3::ZERO,
            false => DVec3::new(grown, grown, size.abs() * (1.0 + pulse * (t * 0.3).sin())),
        };
        let far = if frame >= jump { axis * 100.0 } else { DVec3::ZERO };
        vec![DMat4::from_scale_rotation_translation(
            scale,
            DQuat::from_axis_angle(axis, turn * t),
            way * (t * 0.2).sin() + far,
        )]
    };
    let mut samples: Vec<Vec<DMat4>> = (0..frames).map(matrix).collect();
    let matrix = match frames {
        1 => Channel::constant(samples.remove(0)),
        _ => Channel::in_memory(sampling(numbers, frames), samples),
    };
    Transform { local: matrix.into(), inherits: None }
}

fn coordinate(numbers: &mut Numbers, wild: bool) -> f32 {
    let choice = numbers.u8();
    if choice & 1 == 0 {
        f32::from(choice as i8) / 8.0
    } else {
        COORDINATES[usize::from(choice / 2) % if wild { 16 } else { 12 }]
    }
}

fn vector<const N: usize>(numbers: &mut Numbers, wild: bool) -> [f32; N] {
    std::array::from_fn(|_| coordinate(numbers, wild))
}

/// Samples of faces (one where they stay) and of points.
struct SampledFrames {
    counts: Vec<Vec<i32>>,
    indices: Vec<Vec<i32>>,
    positions: Vec<Vec<[f32; 3]>>,
}

/// Shapes that somebody may have made.
fn artist_frames(numbers: &mut Numbers) -> SampledFrames {
    let frames = [1, 2, 5, 16, 17, 18, 33, 40][numbers.below(8)];
    let own = shape::shape(numbers);
    let mut positions = shape::motion(&own, frames, numbers);
    let split = |faces: &[Vec<i32>]| {
        let counts: Vec<i32> = faces.iter().map(|f| f.len() as i32).collect();
        (counts, faces.concat())
    };
    let (counts, indices) = match numbers.below(6) {
        // Faces come and go, for some frames each, and points with them or not.
        0 => {
            let (hold, points_too) = (1 + numbers.below(20), numbers.bit());
            let part = |frame: usize| 1 + frame / hold % 4;
            if points_too {
                for (frame, list) in positions.iter_mut().enumerate() {
                    list.truncate(list.len() * part(frame) / 4);
                }
            }
            let of = |frame: usize| split(&own.faces[..own.faces.len() * part(frame) / 4]);
            (0..frames).map(of).unzip()
        }
        _ => {
            let (counts, indices) = split(&own.faces);
            (vec![counts], vec![indices])
        }
    };
    SampledFrames { counts, indices, positions }
}

/// Whatever a damaged file may hold.
fn damaged_frames(numbers: &mut Numbers) -> SampledFrames {
    let wild = numbers.below(8) == 0;
    let points = numbers.below(20);
    let fluid = numbers.below(4) == 0;
    let faces = numbers.below(12);
    let frames = if numbers.bit() { 1 } else { 1 + numbers.below(20) };
    let regular = numbers.bit();

    let mut counts: Vec<Vec<i32>> = Vec::new();
    let mut indices: Vec<Vec<i32>> = Vec::new();
    let mut positions: Vec<Vec<[f32; 3]>> = Vec::new();
    for frame in 0..frames {
        if frame == 0 || fluid {
            let own: Vec<i32> = (0..faces)
                .map(|_| if regular { 3 } else { [3, 4, 5, 8, 2, 0, -1, 13][numbers.below(8)] })
                .collect();
            let corners: i32 = own.iter().map(|&n| n.max(0)).sum();
            // Now and then a corner too few or a point that is not there.
            let corners = corners - i32::from(numbers.below(16) == 0);
            let most = points + usize::from(numbers.below(16) == 0);
            indices.push((0..corners.max(0)).map(|_| numbers.below(most.max(1)) as i32).collect());
            counts.push(own);
            let points = if fluid { numbers.below(points + 1) } else { points };
            positions.push((0..points).map(|_| vector(numbers, wild)).collect());
        } else {
            let moved = numbers.below(4);
            let mut next = positions[frame - 1].clone();
            for point in &mut next {
                match moved {
                    0 => {}
                    1 => point[0] += 0.125,
                    2 => *point = vector(numbers, wild),
                    _ => point[2] += f32::from(numbers.i8()) / 1024.0,
                }
            }
            positions.push(next);
        }
    }
    SampledFrames { counts, indices, positions }
}

fn mesh(numbers: &mut Numbers) -> Mesh {
    let SampledFrames { counts, indices, mut positions } = match numbers.below(4) {
        0 => damaged_frames(numbers),
        _ => artist_frames(numbers),
    };
    let (frames, faces) = (positions.len(), counts[0].len());
    let times = sampling(numbers, frames);
    let fluid = counts.len() > 1;
    let sizes = [1, counts[0].len(), positions[0].len(), positions[0].len(), indices[0].len()];
    let _topology = match (frames, fluid) {
        (1, _) => Topology::Constant,
        (_, false) => Topology::Homogeneous,
        (_, true) => Topology::Heterogeneous,
    };
    let held = |samples: Vec<Vec<i32>>| match samples.len() {
        1 => Channel::constant(samples.into_iter().next().unwrap_or_default()),
        _ => Channel::in_memory(times.clone(), samples),
    };
    let face_counts = held(counts);
    let face_indices = held(indices);
    Mesh {
        winding: if numbers.bit() { Winding::Clockwise } else { Winding::CounterClockwise },
        normals: (numbers.below(3) == 0).then(|| attribute(numbers, "N", sizes)),
        uvs: (0..numbers.below(3)).map(|_| attribute(numbers, "uv", sizes)).collect(),
        colours: (0..numbers.below(2)).map(|_| attribute(numbers, "Cd", sizes)).collect(),
        face_sets: (0..numbers.below(3))
            .map(|set| FaceSet {
                name: format!("set{set}"),
                faces: channel(numbers, |numbers| {
                    (0..numbers.below(6)).map(|_| numbers.below(faces.min(255) + 1) as i32).collect()
                }),
            })
            .collect(),
        ..Mesh::new(
            String::new(),
            match frames {
                1 => Channel::constant(positions.remove(0)),
                _ => Channel::in_memory(times.clone(), positions),
            },
            face_counts,
            face_indices,
        )
    }
}

/// Mostly of the right length; `sizes` by scope.
fn attribute<const N: usize>(numbers: &mut Numbers, name: &str, sizes: [usize; 5]) -> Attribute<[f32; N]> {
    const SCOPES: [Scope; 5] =
        [Scope::Constant, Scope::Uniform, Scope::Varying, Scope::Vertex, Scope::FaceVarying];
    let scope = numbers.below(5);
    let size = sizes[scope] + usize::from(numbers.below(16) == 0);
    let palette = (numbers.below(3) == 0).then(|| 1 + numbers.below(5));
    let wild = numbers.below(8) == 0;
    let values =
        channel(numbers, |numbers| (0..palette.unwrap_or(size)).map(|_| vector(numbers, wild)).collect());
    let indices = palette.map(|palette| {
        channel(numbers, |numbers| {
            let most = palette + usize::from(numbers.below(16) == 0);
            (0..size).map(|_| numbers.below(most) as u32).collect()
        })
    });
    Attribute { name: name.into(), scope: SCOPES[scope], values, indices }
}
