//! Tests of points without faces: particles that are born and die, identified by ids or by their index,
//! curves, and their attributes; velocities of meshes whose faces change. Each is compiled, verified,
//! evaluated between frames and extracted to an archive.

use crate::cli::common::run;
use meshreel::raw::record::{
    CODEC_CHAIN, CODEC_PACKED_CHAIN, CurveBasis as Basis, CurveEnds as Ends, Semantic,
};
use meshreel::{FrameDecoder, FrameView, Pace, Reel};
use meshreel_extract::BoneForm;
use meshreel_options::{MethodChoice, Options, Preset, Tolerance};
use meshreel_scene::{
    Attribute, Channel, CurveBasis, CurveEnds, Curves, CustomAttribute, LengthUnit, Mesh, Node, NodeKind,
    Particles, Scene, Scope, TimeSampling,
};
use meshreel_testkit::{bundled, corpus_if_thorough, verified};
use std::collections::BTreeMap;

fn sampling() -> TimeSampling {
    TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 }
}

fn channel<T: Clone + Send + Sync + 'static>(samples: Vec<Vec<T>>) -> Channel<T> {
    Channel::in_memory(sampling(), samples)
}

fn scene(kind: NodeKind, mesh: Mesh) -> Scene {
    let node = Node { mesh: Some(0), samples: mesh.positions.len(), ..Node::new(mesh.path.clone(), kind) };
    Scene { nodes: vec![node], meshes: vec![mesh], unit: Some(LengthUnit::Metre), ..Scene::default() }
}

/// Returns a pseudo-random value from 0 to 1.
fn chance(n: usize) -> f32 {
    let x = (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f32 / (1 << 24) as f32
}

/// Returns drops that are thrown, fall and vanish, in shuffled order; with velocities, widths, an age, an
/// integer and colours.
pub fn drops(frames: usize, ids: bool) -> Scene {
    let (mut all_ids, mut points, mut velocities) = (Vec::new(), Vec::new(), Vec::new());
    let (mut widths, mut ages, mut kinds, mut colours) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for frame in 0..frames {
        let (mut own, mut at, mut speeds) = (Vec::new(), Vec::new(), Vec::new());
        let (mut wide, mut age_of, mut kind, mut colour) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for k in 0..frames * 4 {
            // Not in the order of ids.
            let n = (k * 37) % (frames * 4);
            let life = 0.3 + 0.6 * chance(5 * n);
            let age = (frame as f32 - (n / 4) as f32) / 24.0;
            if ids && !(0.0..life).contains(&age) {
                continue;
            }
            let [a, b, c] = [1, 2, 3].map(|i| chance(5 * n + i));
            let velocity = [2.0 * a - 1.0, 3.0 + b - 9.81 * age, 2.0 * c - 1.0];
            own.push(1000 + 3 * n as u64);
            at.push([velocity[0] * age, (3.0 + b) * age - 4.905 * age * age, velocity[2] * age]);
            speeds.push(velocity);
            wide.push([0.01 + 0.02 * a]);
            age_of.push([age, 0.0, 0.0, 0.0]);
            kind.push((n % 5) as i64 - 2);
            colour.push([a, b, c, 1.0]);
        }
        all_ids.push(own);
        points.push(at);
        velocities.push(speeds);
        widths.push(wide);
        ages.push(age_of);
        kinds.push(kind);
        colours.push(colour);
    }
    fn attribute<T: Clone + Send + Sync + 'static>(name: &str, samples: Vec<Vec<T>>) -> Attribute<T> {
        Attribute { name: name.into(), scope: Scope::Vertex, values: channel(samples), indices: None }
    }
    let particles = Particles {
        ids: ids.then(|| channel(all_ids)),
        widths: Some(attribute("width", widths)),
        curves: None,
    };
    let mesh = Mesh {
        velocities: Some(channel(velocities)),
        colours: vec![attribute("Cd", colours)],
        custom_attributes: vec![CustomAttribute { components: 1, attribute: attribute("age", ages) }],
        integers: vec![attribute("kind", kinds)],
        ..Mesh::from_particles("/drops", channel(points), particles)
    };
    scene(NodeKind::Points, mesh)
}

/// Returns hair that sways, and is cut once; with a width per curve.
pub fn hair(frames: usize) -> Scene {
    let (mut points, mut counts, mut widths) = (Vec::new(), Vec::new(), Vec::new());
    for frame in 0..frames {
        let lengths: Vec<i32> = (0..40).map(|c| if frame < frames / 2 { 6 + c % 3 } else { 4 }).collect();
        let mut own = Vec::new();
        for (c, &length) in lengths.iter().enumerate() {
            let root = [chance(2 * c), 0.0, chance(2 * c + 1)];
            for i in 0..length {
                let sway = (0.3 * frame as f32 + 5.0 * root[0]).sin() * (i * i) as f32 * 0.004;
                own.push([root[0] + sway, 0.1 * i as f32, root[2] + 0.5 * sway]);
            }
        }
        points.push(own);
        widths.push(lengths.iter().enumerate().map(|(c, _)| [0.001 + 0.0001 * c as f32]).collect());
        counts.push(lengths);
    }
    let particles = Particles {
        ids: None,
        widths: Some(Attribute {
            name: "width".into(),
            scope: Scope::Uniform,
            values: channel(widths),
            indices: None,
        }),
        curves: Some(Curves {
            counts: channel(counts),
            basis: CurveBasis::CatmullRom,
            curve_ends: CurveEnds::Open,
        }),
    };
    scene(NodeKind::Curves, Mesh::from_particles("/hair", channel(points), particles))
}

/// Returns the options to test: presets and tolerances.
fn several() -> Vec<Options> {
    let with = |preset, tolerance| Options {
        preset,
        tolerance: Tolerance::Relative(tolerance),
        effort: 3,
        ..Options::default()
    };
    vec![
        with(Preset::Small, 1e-3),
        with(Preset::Fast, 1e-4),
        with(Preset::Classic, 1e-3),
        with(Preset::Small, 1e-6),
    ]
}

#[test]
fn a_method_for_meshes_is_a_remark() {
    for (method, remarks) in [(MethodChoice::Soft, 1), (MethodChoice::Fluid, 1), (MethodChoice::Auto, 0)] {
        let options = Options { method, effort: 1, ..Options::default() };
        let (_, report) = verified(&drops(5, true), &options);
        let own = report.remarks.iter().filter(|remark| remark.what.contains("--method")).count();
        assert_eq!(own, remarks, "{method:?}: {:?}", report.remarks);
    }
}

#[test]
fn i10_particles_keep_what_they_promise() {
    for options in several() {
        for (scene, ids) in [(drops(40, true), true), (drops(20, false), false)] {
            let (reel, report) = verified(&scene, &options);
            // Without ids they are the same in all frames.
            let frames_of_their_own = ids || options.preset == Preset::Classic;
            assert!(!frames_of_their_own || report.meshes[0].method == "particles");
            let record = &reel.description().meshes[0];
            assert_eq!(record.particles.map(|particles| particles.ids), Some(ids));
            let semantics: Vec<Semantic> = record.streams.iter().map(|s| s.semantic).collect();
            let all = [
                Semantic::Position,
                Semantic::Colour,
                Semantic::Velocity,
                Semantic::Width,
                Semantic::Custom1,
                Semantic::Custom1,
            ];
            assert_eq!(semantics, all);
            // An integer is kept exactly.
            assert_eq!(record.streams[5].tolerance, 0.0);
        }
        let (reel, _) = verified(&hair(30), &options);
        let curves = reel.description().meshes[0].particles.unwrap().curves.unwrap();
        assert_eq!((curves.basis, curves.curve_ends, curves.max_curves), (Basis::CatmullRom, Ends::Open, 40));
    }
}

/// Returns pieces that wait, are thrown, bounce and come to rest.
pub fn rubble(frames: usize) -> Scene {
    let mut points = Vec::new();
    let start = |n: usize| [1, 2, 3].map(|k| chance(7 * n + k));
    let mut pieces: Vec<([f32; 3], [f32; 3])> = (0..200)
        .map(|n| (start(n), [2.0 * chance(7 * n + 4) - 1.0, 3.0 * chance(7 * n + 5), chance(7 * n + 6)]))
        .collect();
    for frame in 0..frames {
        points.push(pieces.iter().map(|(at, _)| *at).collect());
        for (n, (at, velocity)) in pieces.iter_mut().enumerate() {
            if frame < 5 + n % 20 || *velocity == [0.0; 3] {
                continue;
            }
            velocity[1] -= 9.81 / 24.0;
            (0..3).for_each(|k| at[k] += velocity[k] / 24.0);
            if at[1] < 0.0 {
                at[1] = 0.0;
                *velocity = [0.6 * velocity[0], -0.35 * velocity[1], 0.6 * velocity[2]];
                *velocity = if velocity[1] < 0.3 { [0.0; 3] } else { *velocity };
            }
        }
    }
    let ids = (0..frames).map(|_| (0..200).collect()).collect();
    let particles = Particles { ids: Some(channel(ids)), widths: None, curves: None };
    scene(NodeKind::Points, Mesh::from_particles("/rubble", channel(points), particles))
}

/// Frames between keys pay repeatedly for a bounce; chains of any length, with and without an early last key,
/// and with keys that all restart.
#[test]
fn i10_what_bounces_is_in_chains() {
    for (frames, index_every) in [(100, None), (65, None), (71, Some(32)), (40, Some(16))] {
        let options = Options { index_every, ..several()[0].clone() };
        let (reel, _) = verified(&rubble(frames), &options);
        if index_every.is_none() {
            assert_eq!(reel.description().meshes[0].codec, CODEC_CHAIN, "{frames} frames");
        }
        any_order(&reel, frames);
    }
}

/// With the preset fast all particles are in chains of packed bits, also those that no two frames have.
#[test]
fn i10_fast_particles_are_in_packed_chains() {
    let mut numbered = drops(40, true);
    numbered.meshes[0].particles.as_mut().unwrap().ids = None;
    for (source, frames, index_every) in [(drops(70, true), 70, Some(32)), (numbered, 40, None)] {
        let (reel, _) = verified(&source, &Options { index_every, ..several()[1].clone() });
        assert_eq!(reel.description().meshes[0].codec, CODEC_PACKED_CHAIN);
        any_order(&reel, frames);
    }
}

/// Returns points with ids, in another order in each frame, some of which stand still while others turn and
/// tremble: with colours and a number that do not change, and a whole number, velocities and a vector that
/// do.
pub fn cloud(frames: usize) -> Scene {
    const COUNT: usize = 150;
    let order = |frame: usize| (0..COUNT).map(move |k| (k * 7 + frame * 11) % COUNT);
    let start = |n: usize| [0, 1, 2].map(|k| chance(3 * n + k));
    let turned = |n: usize, frame: usize, from: [f32; 3]| {
        if n % 5 < 3 {
            return from;
        }
        let (sin, cos) = (0.02 * frame as f32).sin_cos();
        let [x, y, z] = [0, 1, 2].map(|k| 0.002 * chance(n + COUNT * (3 * frame + k)));
        [cos * from[0] - sin * from[1] + x, sin * from[0] + cos * from[1] + y, from[2] + z]
    };
    let of_frames = 0..frames;
    fn all<T>(
        frames: std::ops::Range<usize>,
        order: impl Fn(usize) -> Vec<usize>,
        value: impl Fn(usize, usize) -> T,
    ) -> Vec<Vec<T>> {
        frames.map(|frame| order(frame).into_iter().map(|n| value(n, frame)).collect()).collect()
    }
    let order = |frame: usize| order(frame).collect::<Vec<usize>>();
    fn attribute<T: Clone + Send + Sync + 'static>(name: &str, samples: Vec<Vec<T>>) -> Attribute<T> {
        Attribute { name: name.into(), scope: Scope::Vertex, values: channel(samples), indices: None }
    }
    let frames = || of_frames.clone();
    let number = attribute("age", all(frames(), order, |n, _| [chance(9 * n), 0.0, 0.0, 0.0]));
    let vector = attribute(
        "axis",
        all(frames(), order, |n, f| {
            let [x, y, z] = turned(n, f, start(n));
            [x, y, 10.0 * z, 0.0]
        }),
    );
    let ids = all(frames(), order, |n, _| 50 + (n as u64) * if n < 100 { 1 } else { 1 << 40 });
    let particles = Particles { ids: Some(channel(ids)), widths: None, curves: None };
    let mesh = Mesh {
        velocities: Some(channel(all(frames(), order, |n, f| turned(n, f + 3, start(n))))),
        colours: vec![attribute("Cd", all(frames(), order, |n, _| [chance(n), 0.5, 1.0, 1.0]))],
        custom_attributes: vec![
            CustomAttribute { components: 1, attribute: number },
            CustomAttribute { components: 3, attribute: vector },
        ],
        integers: vec![attribute("kind", all(frames(), order, |n, f| ((n + f / 10) % 7) as i64))],
        ..Mesh::from_particles(
            "/cloud",
            channel(all(frames(), order, |n, f| turned(n, f, start(n)))),
            particles,
        )
    };
    scene(NodeKind::Points, mesh)
}

/// Points that are the same in all frames are a mesh without triangles: all that they bring is kept, found by
/// id, blended, extracted, and decoded in any order.
#[test]
fn i10_points_that_persist_are_a_mesh() {
    // Small enough without most numbers.
    let mut alone = cloud(40);
    alone.meshes[0].integers.clear();
    alone.meshes[0].velocities = None;
    alone.meshes[0].custom_attributes.truncate(1);
    let (reel, _) = verified(&alone, &several()[0]);
    assert!(reel.description().meshes[0].method.deforms());
    any_order(&reel, 40);
    for options in several() {
        let (reel, report) = verified(&cloud(40), &options);
        let record = &reel.description().meshes[0];
        assert!(record.particles.is_some_and(|particles| particles.ids));
        if options.preset != Preset::Fast {
            // Frames of their own may be smaller; classic has no others.
            assert!(options.preset == Preset::Small || report.meshes[0].method == "particles");
            continue;
        }
        assert!(record.method.deforms() && record.indices == 0, "{:?}", record.method);
        let animated: Vec<bool> = record.streams.iter().map(|stream| stream.animated).collect();
        // Positions, colours, velocities, age, axis, kind.
        assert_eq!(animated, [true, false, true, false, true, true]);
        any_order(&reel, 40);
        let mut first = FrameDecoder::new(&reel).unwrap();
        first.decode(7).unwrap();
        let ids = first.mesh(0).ids().to_vec();
        assert!(ids.len() == 150 && ids[..100] == (50..150).collect::<Vec<u64>>() && ids.is_sorted());
        let mut second = FrameDecoder::new(&reel).unwrap();
        second.decode(8).unwrap();
        let view = FrameView::between(&first, &second, 0.5, Pace::new(1.0 / 24.0, 1.0)).unwrap();
        let mesh = view.mesh(0).unwrap();
        assert!(mesh.blends() && !mesh.is_fluid());
        let read = |out: &dyn Fn(&mut [f32])| {
            let mut values = vec![0.0; 450];
            out(&mut values);
            values
        };
        let from = read(&|out| first.mesh(0).positions_into(out).unwrap());
        let to = read(&|out| second.mesh(0).positions_into(out).unwrap());
        let between = read(&|out| mesh.positions_into(out).unwrap());
        let near = |i: usize| (between[i] - 0.5 * (from[i] + to[i])).abs() < 1e-5;
        assert!((0..450).all(near));
        let (back, _) = meshreel_extract::to_scene_with_bones(&reel, BoneForm::Points).unwrap();
        assert_eq!(back.nodes.iter().filter(|node| node.kind == NodeKind::Points).count(), 1);
        verified(&back, &Options { tolerance: Tolerance::Relative(1e-2), ..Options::default() });
    }
}

/// Points that do not move at all are static, and so are curves.
#[test]
fn i10_points_that_stand_still_are_static() {
    let still = |source: Scene| {
        let mesh = &source.meshes[0];
        let (mut points, mut ids) = (Vec::new(), Vec::new());
        mesh.positions.read(0, &mut points).unwrap();
        let own = mesh.particles.clone().unwrap();
        if let Some(all) = &own.ids {
            all.read(0, &mut ids).unwrap();
        }
        let curves = own.curves.map(|curves| {
            let mut counts = Vec::new();
            curves.counts.read(0, &mut counts).unwrap();
            Curves { counts: channel(vec![counts; 20]), ..curves }
        });
        let ids = own.ids.map(|_| channel(vec![ids; 20]));
        let particles = Particles { ids, curves, widths: None };
        let kind = if particles.curves.is_some() { NodeKind::Curves } else { NodeKind::Points };
        scene(kind, Mesh::from_particles("/still", channel(vec![points; 20]), particles))
    };
    for source in [still(cloud(3)), still(hair(3))] {
        for options in several().into_iter().filter(|options| options.preset != Preset::Classic) {
            let (reel, report) = verified(&source, &options);
            assert_eq!(report.meshes[0].method, "static");
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            decoder.decode(19).unwrap();
            let mesh = decoder.mesh(0);
            assert_eq!(mesh.ids().len() + mesh.curves().len(), if mesh.ids().is_empty() { 40 } else { 150 });
            assert_eq!(mesh.curves().iter().sum::<u32>() as usize % mesh.vertex_count(), 0);
        }
    }
}

/// A frame does not depend on the frames decoded before it.
#[test]
fn i10_any_frame_can_be_decoded_first() {
    let (reel, _) = verified(&drops(60, true), &Options::default());
    any_order(&reel, 60);
}

fn any_order(reel: &Reel, count: usize) {
    let read = |decoder: &mut FrameDecoder, frame: usize| {
        decoder.decode(frame).unwrap();
        let mesh = decoder.mesh(0);
        let mut positions = vec![0.0; 3 * mesh.vertex_count()];
        mesh.positions_into(&mut positions).unwrap();
        (mesh.ids().to_vec(), positions)
    };
    let mut forward = FrameDecoder::new(reel).unwrap();
    let all: Vec<_> = (0..count).map(|frame| read(&mut forward, frame)).collect();
    let mut other = FrameDecoder::new(reel).unwrap();
    let jumps = [count - 1, 3, 17, 30, 0, count - 2, 16];
    let strides = (0..count).map(|n| n * 37 % count);
    for frame in jumps.into_iter().chain(strides).chain((0..count).rev()) {
        assert!(read(&mut other, frame) == all[frame], "frame {frame}");
    }
}

/// Between two frames, particles of both are interpolated linearly, the others stay, and velocities are the
/// source's.
#[test]
fn i10_moments_between_frames_match_by_id() {
    let source = drops(40, true);
    let (reel, _) = verified(&source, &Options::default());
    let [mut first, mut second] = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
    first.decode(20).unwrap();
    second.decode(21).unwrap();
    let places = |decoder: &FrameDecoder| {
        let mesh = decoder.mesh(0);
        let mut positions = vec![0.0; 3 * mesh.vertex_count()];
        mesh.positions_into(&mut positions).unwrap();
        let places = positions.as_chunks::<3>().0.to_vec();
        mesh.ids().iter().copied().zip(places).collect::<BTreeMap<u64, [f32; 3]>>()
    };
    let (from, to) = (places(&first), places(&second));
    assert!(from.keys().any(|id| !to.contains_key(id)) && to.keys().any(|id| !from.contains_key(id)));
    let pace = Pace::new(1.0 / 24.0, 0.5);
    let view = FrameView::between(&first, &second, 0.25, pace).unwrap();
    let mesh = view.mesh(0).unwrap();
    assert!(mesh.blends() && mesh.ids().len() == from.len());
    let mut positions = vec![0.0; 3 * mesh.vertex_count()];
    mesh.positions_into(&mut positions).unwrap();
    for (id, at) in mesh.ids().iter().zip(positions.as_chunks::<3>().0) {
        let a = from[id];
        let b = to.get(id).copied().unwrap_or(a);
        let between: [f32; 3] = std::array::from_fn(|k| a[k] + (b[k] - a[k]) * 0.25);
        assert_eq!(*at, between, "particle {id}");
    }
    // At half the speed, half of the source's velocities.
    let mut velocities = vec![0.0; 3 * mesh.vertex_count()];
    mesh.velocities_into(&mut velocities).unwrap();
    let fall = velocities.as_chunks::<3>().0.iter().map(|v| v[1]).fold(0.0, f32::min);
    assert!(fall < -1.0 && fall > -4.0, "{fall}");
    // The second frame's own.
    let view = FrameView::between(&second, &first, 0.0, pace).unwrap();
    assert_eq!(view.mesh(0).unwrap().ids().len(), to.len());
}

/// An archive extracted from a file has the file's particles.
#[test]
fn i10_they_come_back_as_alembic() {
    let folder = tempfile::tempdir().unwrap();
    for (scene, kind) in [(drops(30, true), NodeKind::Points), (hair(30), NodeKind::Curves)] {
        let (reel, _) = verified(&scene, &Options::default());
        let (back, _) = meshreel_extract::to_scene_with_bones(&reel, BoneForm::Points).unwrap();
        let path = folder.path().join("back.abc");
        meshreel_write::alembic::write(&path, &back, &mut |_, _| {}).unwrap();
        let (again, remarks) = meshreel_read::open(&path, &meshreel_read::ReadOptions::default()).unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        let node = again.nodes.iter().find(|node| node.mesh.is_some()).unwrap();
        assert_eq!(node.kind, kind);
        let (own, there) = (&back.meshes[0], &again.meshes[0]);
        assert_eq!(own.positions.len(), there.positions.len());
        let particles = |mesh: &Mesh| mesh.particles.clone().unwrap();
        for i in 0..own.positions.len() {
            let read = |mesh: &Mesh| {
                let (mut points, mut ids, mut curves) = (Vec::new(), Vec::new(), Vec::new());
                mesh.positions.read(i, &mut points).unwrap();
                if let Some(channel) = particles(mesh).ids {
                    channel.read(i, &mut ids).unwrap();
                }
                if let Some(of) = particles(mesh).curves {
                    of.counts.read(i, &mut curves).unwrap();
                }
                (points, ids, curves)
            };
            assert!(read(own) == read(there), "sample {i}");
        }
        assert_eq!(own.velocities.is_some(), there.velocities.is_some());
        assert_eq!(particles(own).widths.is_some(), particles(there).widths.is_some());
        // It compiles to the same file again.
        verified(&again, &Options::default());
    }
}

/// Tests non-finite points, duplicate ids, too few ids, curves with more points than there are.
#[test]
fn i10_messy_particles_are_kept_as_far_as_they_go() {
    let positions = channel(vec![
        vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [f32::NAN, 0.0, 0.0], [3.0, 1.0, 0.0]],
        vec![[0.0, 0.5, 0.0], [1.0, 0.5, 0.0], [2.0, 0.5, 0.0], [3.0, 1.5, 0.0]],
    ]);
    let with = |ids: Option<Vec<Vec<u64>>>, counts: Option<Vec<Vec<i32>>>| {
        let particles = Particles {
            ids: ids.map(channel),
            widths: None,
            curves: counts.map(|counts| Curves {
                counts: channel(counts),
                basis: CurveBasis::Linear,
                curve_ends: CurveEnds::Closed,
            }),
        };
        let kind = if particles.curves.is_some() { NodeKind::Curves } else { NodeKind::Points };
        scene(kind, Mesh::from_particles("/mess", positions.clone(), particles))
    };
    let points = |scene: &Scene| {
        let (reel, report) = verified(scene, &Options::default());
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        let count = |frame: usize, decoder: &mut FrameDecoder| {
            decoder.decode(frame).unwrap();
            decoder.mesh(0).vertex_count()
        };
        ([count(0, &mut decoder), count(1, &mut decoder)], report.remarks.len())
    };
    // One is not finite; of two with the same id the first stays.
    assert_eq!(points(&with(Some(vec![vec![4, 9, 2, 7], vec![4, 9, 9, 7]]), None)), ([3, 3], 1));
    // Too few or invalid ids are ignored, and a non-finite point is replaced.
    assert_eq!(points(&with(Some(vec![vec![4, 9], vec![4, 9]]), None)), ([4, 4], 2));
    assert_eq!(points(&with(Some(vec![vec![u64::MAX; 4]; 2]), None)), ([4, 4], 2));
    // One curve is truncated, and points without a curve are left out.
    assert_eq!(points(&with(None, Some(vec![vec![2, 9], vec![2, -3, 1]]))), ([4, 3], 2));
}

/// Velocities of a mesh with changing faces are kept; those of other meshes follow from the frames.
#[test]
fn i11_velocities_of_changing_meshes() {
    let frames = 12;
    let grid = |frame: usize| 3 + frame % 4;
    let (mut points, mut counts, mut indices, mut speeds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for frame in 0..frames {
        let n = grid(frame);
        let place = |i: usize| [(i % n) as f32, (i / n) as f32, 0.1 * frame as f32];
        points.push((0..n * n).map(place).collect::<Vec<[f32; 3]>>());
        speeds.push((0..n * n).map(|i| [0.0, chance(i), 2.4]).collect::<Vec<[f32; 3]>>());
        let mut index = Vec::new();
        for i in 0..(n - 1) * (n - 1) {
            let a = (i / (n - 1) * n + i % (n - 1)) as i32;
            index.extend([a, a + 1, a + 1 + n as i32, a + n as i32]);
        }
        counts.push(vec![4; index.len() / 4]);
        indices.push(index);
    }
    let mesh = Mesh {
        velocities: Some(channel(speeds)),
        ..Mesh::new("/liquid", channel(points), channel(counts), channel(indices))
    };
    let source = scene(NodeKind::PolyMesh, mesh);
    for options in several() {
        let (reel, _) = verified(&source, &options);
        let record = &reel.description().meshes[0];
        assert!(record.streams.iter().any(|s| s.semantic == Semantic::Velocity));
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        decoder.decode(5).unwrap();
        let mut velocities = vec![0.0; 3 * decoder.mesh(0).vertex_count()];
        decoder.mesh(0).velocities_into(&mut velocities).unwrap();
        assert!(velocities.as_chunks::<3>().0.iter().all(|v| (v[2] - 2.4).abs() < 0.1));
    }
    let none = Options {
        channels: meshreel_scene::sample::ChannelSelection { attributes: false, ..Default::default() },
        ..Options::default()
    };
    let (reel, _) = verified(&source, &none);
    assert!(!reel.description().meshes[0].streams.iter().any(|s| s.semantic == Semantic::Velocity));
}

/// Plots one particle by its id against its source, and all of them in a picture of a frame.
#[test]
fn i10_plots_of_particles() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    meshreel_write::alembic::write(&folder.path().join("a.abc"), &drops(30, true), &mut |_, _| {}).unwrap();
    run(["compile".into(), file("a.abc"), "-o".into(), file("a.reel")]).expect(0);
    let plot = |more: &[&str]| {
        let (reel, png) = (file("a.reel"), file("a.png"));
        let words = ["plot", &reel, "-o", &png, "--json"].into_iter().chain(more.iter().copied());
        run(words.map(str::to_owned))
    };
    let source = file("a.abc");
    for more in [&["--vertex", "1009", "--source", &source][..], &["--source", &source]] {
        let told = plot(more).expect(0).json();
        assert!(told["title"].as_str().unwrap().contains("/drops: id 1"), "{told}");
        // It is born and dies.
        let samples = told["samples"].as_u64().unwrap();
        assert!((2..30).contains(&samples), "{told}");
        let (error, limit) = (told["max_error"].as_f64().unwrap(), told["tolerance"].as_f64().unwrap());
        assert!(error > 0.0 && error <= limit, "{told}");
    }
    assert!(plot(&["--vertex", "1001"]).expect(2).error_line().contains("no such id"));
    // In the last frame there are drops of all colours.
    plot(&["--frame", "29", "--size", "320x240"]).expect(0);
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file("a.png")).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    let coloured = |p: &&[u8; 3]| p.iter().max().unwrap() - p.iter().min().unwrap() > 60;
    assert!(pixels.as_chunks::<3>().0.iter().filter(coloured).count() > 200);
}

/// A transform that cannot be kept is applied to particles, their velocities and widths.
#[test]
fn i10_particles_in_world_space() {
    let mut source = drops(30, true);
    let shear = |i: usize| {
        let mut m = glam::DMat4::from_rotation_z(0.1 * i as f64);
        m.y_axis.x += 0.4;
        m.w_axis.y = 0.2 * i as f64;
        m
    };
    let matrices = (0..30).map(|i| vec![shear(i)]).collect();
    source.nodes[0].transform =
        Some(meshreel_scene::Transform { local: channel(matrices).into(), inherits: None });
    for options in several() {
        let (reel, _) = verified(&source, &options);
        assert!(reel.description().nodes.iter().any(|node| node.baked));
    }
}

/// Tests particles and curves of content tools.
#[test]
fn i10_of_the_corpus() {
    let mut files = vec![bundled("j_visibility_particles.abc")];
    if let Some(corpus) = corpus_if_thorough() {
        for name in [
            "gen/k_curves_points_cameras.abc",
            "gen_hdf5/k_curves_points_cameras_hdf5.abc",
            "third_imageengine/widthTest_dee7f7.abc",
            "third_imageengine/curves_1ecb58.abc",
            "third_imageengine/points_384d5c.abc",
            "third_imageengine/varyingPoints_4d0161.abc",
            "third_alembic/curves1_e4a48b.abc",
        ] {
            files.push(corpus.join("alembic").join(name));
        }
    }
    for file in files {
        let (scene, _) = meshreel_read::open(&file, &meshreel_read::ReadOptions::default()).unwrap();
        for options in several().into_iter().take(3) {
            let (_, report) = verified(&scene, &options);
            assert!(report.meshes.iter().any(|mesh| mesh.method == "particles"), "{}", file.display());
        }
    }
}
