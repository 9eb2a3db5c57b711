//! Views between two frames: blended if the frames allow it, and in the layouts that engines upload.

use crate::common::{Sample, golden, open, sample};
use meshreel::raw::record::{Coding, NodeRecord, Semantic, Visibility};
use meshreel::time::{Clock, Timeline};
use meshreel::{
    Command, Error, FrameDecoder, FrameKind, FrameView, Pace, Reel, Repeat, Transform, VertexAttribute,
    VertexChannel, VertexFormat,
};
use meshreel_codec::quantize::{octahedral, qtangent};
use meshreel_codec::transform;
use proptest::prelude::*;
use std::sync::LazyLock;

const FRAMES: usize = 8;
static SAMPLE: LazyLock<Sample> = LazyLock::new(|| sample(FRAMES, true));
static REEL: LazyLock<Reel> = LazyLock::new(|| open(SAMPLE.parts.write()).unwrap());

// Nodes of the sample with a mesh.
const CLOTH: usize = 1;
const HAND: usize = 3;
const ROCK: usize = 4;
const WATER: usize = 6;

/// One second from frame to frame, forward.
const PACE: Pace = Pace::new(1.0, 1.0);

fn decoded(reel: &Reel, frame: usize) -> FrameDecoder {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    decoder.decode(frame).unwrap();
    decoder
}

fn with_view(frames: [usize; 2], blend: f32, pace: Pace, look: impl FnOnce(&FrameView<'_>)) {
    let [first, second] = frames.map(|frame| decoded(&REEL, frame));
    look(&FrameView::between(&first, &second, blend, pace).unwrap());
}

fn positions(view: &FrameView<'_>, node: usize) -> Vec<f32> {
    let mesh = view.mesh(node).unwrap();
    let mut out = vec![f32::NAN; 3 * mesh.vertex_count()];
    mesh.positions_into(&mut out).unwrap();
    out
}

/// Returns `count` floats, written by `write`.
fn floats(count: usize, write: impl FnOnce(&mut [f32]) -> Result<(), Error>) -> Vec<f32> {
    let mut out = vec![f32::NAN; count];
    write(&mut out).unwrap();
    out
}

fn at_frame(node: usize, frame: usize) -> Vec<f32> {
    let decoder = decoded(&REEL, frame);
    let mesh = REEL.description().nodes[node].mesh.unwrap();
    let mesh = decoder.mesh(mesh as usize);
    floats(3 * mesh.vertex_count(), |out| mesh.positions_into(out))
}

fn is_misuse(result: Result<(), Error>, what: &str) {
    match result {
        Err(Error::Misuse { what: said }) => assert!(said.contains(what), "{said}"),
        other => panic!("{other:?} instead of a misuse with {what:?}"),
    }
}

#[test]
fn at_blend_0_it_is_the_plain_decode() {
    for frame in 0..FRAMES {
        let decoder = decoded(&REEL, frame);
        with_view([frame, (frame + 1) % FRAMES], 0.0, PACE, |view| {
            let mut worlds = vec![[[0.0; 4]; 3]; REEL.description().nodes.len()];
            view.worlds_into(&mut worlds).unwrap();
            for node in 0..worlds.len() {
                assert_eq!(view.visible(node), decoder.visible(node));
                assert_eq!(view.local(node), decoder.transform(node));
                assert_eq!(view.world(node), decoder.world(node));
                assert_eq!(worlds[node], decoder.world(node));
                let Some(mesh) = view.mesh(node) else {
                    continue;
                };
                let plain = decoder.mesh(mesh.number());
                let count = plain.vertex_count();
                assert!(!mesh.blends());
                assert_eq!(mesh.indices(), plain.indices());
                assert_eq!(mesh.vertex_count(), count);
                let same = |want: Vec<f32>, is: Vec<f32>| assert_eq!(want, is, "node {node}");
                same(
                    floats(3 * count, |o| plain.positions_into(o)),
                    floats(3 * count, |o| mesh.positions_into(o)),
                );
                same(
                    floats(3 * count, |o| plain.normals_into(o)),
                    floats(3 * count, |o| mesh.normals_into(o)),
                );
                if plain.has_tangents() {
                    same(
                        floats(4 * count, |o| plain.tangents_into(o)),
                        floats(4 * count, |o| mesh.tangents_into(o)),
                    );
                    for set in [0, 1] {
                        same(
                            floats(2 * count, |o| plain.uvs_into(set, o)),
                            floats(2 * count, |o| mesh.uvs_into(set, o)),
                        );
                    }
                    same(
                        floats(4 * count, |o| plain.colours_into(0, o)),
                        floats(4 * count, |o| mesh.colours_into(0, o)),
                    );
                }
                for stream in 0..mesh.record().streams.len() {
                    assert_eq!(mesh.quantized(stream), (plain.quantized(stream), None), "lent, not copied");
                }
            }
        });
    }
}

/// Normals that are computed from the positions are the same one by one, in one pass, and in parts of a
/// vertex buffer; near the end of a pair they are those of the second frame.
#[test]
fn predicted_normals_are_the_same_in_all_ways_and_meet_the_frames() {
    for name in ["v0/flag_small.reel", "v0/flag_fast.reel"] {
        let reel = open(golden(name)).unwrap();
        let frames = [3, 4].map(|frame| decoded(&reel, frame));
        let node = reel.description().nodes.iter().position(|n| n.mesh.is_some()).unwrap();
        let plain = frames[1].mesh(0);
        assert!(plain.record().streams.iter().any(|s| s.coding == Coding::Predicted));
        let count = plain.vertex_count();
        let last =
            [floats(3 * count, |o| plain.normals_into(o)), floats(4 * count, |o| plain.tangents_into(o))];
        for blend in [0.0, 0.5, 0.999_999] {
            let view = FrameView::between(&frames[0], &frames[1], blend, PACE).unwrap();
            let mesh = view.mesh(node).unwrap();
            let normals = floats(3 * count, |o| mesh.normals_into(o));
            let tangents = floats(4 * count, |o| mesh.tangents_into(o));
            let mut both = (vec![0.0; 3 * count], vec![0.0; 4 * count]);
            mesh.directions_into(&mut both.0, &mut both.1).unwrap();
            assert_eq!(both, (normals.clone(), tangents.clone()));
            let attributes = [
                VertexAttribute { channel: VertexChannel::Tangent, format: VertexFormat::F32x4, offset: 0 },
                VertexAttribute { channel: VertexChannel::Normal, format: VertexFormat::F32x3, offset: 16 },
                VertexAttribute {
                    channel: VertexChannel::TangentFrame,
                    format: VertexFormat::I16x4,
                    offset: 28,
                },
            ];
            let mut bytes = vec![0; 36 * (count - 7)];
            mesh.write(&attributes, 36, 7..count, &mut bytes).unwrap();
            for (v, bytes) in (7..count).zip(bytes.chunks(36)) {
                let own: Vec<f32> =
                    bytes[..28].as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
                assert_eq!(own[..4], tangents[4 * v..4 * v + 4]);
                assert_eq!(own[4..], normals[3 * v..3 * v + 3]);
            }
            if blend == 0.0 {
                let plain = frames[0].mesh(0);
                assert_eq!(normals, floats(3 * count, |o| plain.normals_into(o)));
                assert_eq!(tangents, floats(4 * count, |o| plain.tangents_into(o)));
            } else if blend > 0.9 {
                for (near, last) in [normals, tangents].iter().zip(&last) {
                    assert!(near.iter().zip(last).all(|(a, b)| (*a - *b).abs() < 1e-3));
                }
            } else {
                let unit = |n: &[f32; 3]| (n.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5;
                assert!(normals.as_chunks::<3>().0.iter().all(unit));
            }
        }
    }
}

#[test]
fn between_frames_values_lie_on_straight_lines() {
    with_view([2, 3], 0.25, PACE, |view| {
        for node in [CLOTH, HAND] {
            let (a, b) = (at_frame(node, 2), at_frame(node, 3));
            let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + (b - a) * 0.25).collect();
            assert_eq!(positions(view, node), want);
            assert!(view.mesh(node).unwrap().blends());
            assert!(view.mesh(node).unwrap().quantized(0).1.is_some());
        }
        assert_eq!(positions(view, ROCK), at_frame(ROCK, 2), "no frame changes it");
        let mesh = view.mesh(CLOTH).unwrap();
        let count = mesh.vertex_count();
        let [from, to] = [2, 3].map(|f| decoded(&REEL, f));
        for (set, components) in [(0, 2), (1, 2)] {
            let of = |d: &FrameDecoder| floats(components * count, |o| d.mesh(0).uvs_into(set, o));
            let between = floats(components * count, |o| mesh.uvs_into(set, o));
            for ((a, b), is) in of(&from).iter().zip(of(&to)).zip(between) {
                assert_eq!(is, a + (b - a) * 0.25);
            }
        }
        let root = view.local(0);
        let (a, b) = (&SAMPLE.expected[2].transforms[0], &SAMPLE.expected[3].transforms[0]);
        assert_eq!(root.translation[0], a.translation[0] + (b.translation[0] - a.translation[0]) * 0.25);
    });
}

#[test]
fn directions_between_frames_are_unit_and_in_between() {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for frame in [2, 5] {
        let [from, to] = [frame, frame + 1].map(|f| decoded(&REEL, f));
        with_view([frame, frame + 1], 0.5, PACE, |view| {
            for node in [CLOTH, HAND] {
                let mesh = view.mesh(node).unwrap();
                let count = mesh.vertex_count();
                let of = |d: &FrameDecoder| floats(3 * count, |o| d.mesh(mesh.number()).normals_into(o));
                let (a, b) = (of(&from), of(&to));
                let normals = floats(3 * count, |o| mesh.normals_into(o));
                for v in 0..count {
                    let [n, a, b] = [&normals, &a, &b].map(|list| &list[3 * v..][..3]);
                    assert!((dot(n, n) - 1.0).abs() < 1e-5);
                    assert!(dot(n, a) >= dot(a, b) - 1e-4 && dot(n, b) >= dot(a, b) - 1e-4);
                }
            }
            let mesh = view.mesh(CLOTH).unwrap();
            let count = mesh.vertex_count();
            let tangents = floats(4 * count, |o| mesh.tangents_into(o));
            let first = floats(4 * count, |o| from.mesh(0).tangents_into(o));
            let normals = floats(3 * count, |o| mesh.normals_into(o));
            for v in 0..count {
                assert_eq!(tangents[4 * v + 3], first[4 * v + 3], "the reflection is the first's");
                assert!(dot(&tangents[4 * v..][..3], &normals[3 * v..][..3]).abs() < 1e-5);
            }
        });
    }
}

#[test]
fn what_is_hidden_in_one_frame_is_not_blended() {
    // The hand is hidden in frames 1, 4 and 7.
    for (frames, shown) in [([0, 1], true), ([1, 2], false), ([3, 4], true), ([4, 5], false)] {
        with_view(frames, 0.5, PACE, |view| {
            assert_eq!(view.visible(HAND), shown, "the earlier frame's");
            let mesh = view.mesh(HAND).unwrap();
            assert!(!mesh.blends());
            assert_eq!(positions(view, HAND), at_frame(HAND, frames[0]));
            let still = floats(3 * mesh.vertex_count(), |o| mesh.velocities_into(o));
            assert!(still.iter().all(|&v| v == 0.0));
            assert_eq!(view.world_velocity(HAND), [[0.0; 4]; 3]);
            assert_eq!(view.local(HAND), decoded(&REEL, frames[0]).transform(HAND));
            assert!(view.mesh(CLOTH).unwrap().blends(), "others are");
            // The arm above it has no mesh to hide, and moves on.
            assert_ne!(view.local(2), decoded(&REEL, frames[0]).transform(2));
        });
    }
}

#[test]
fn a_fluid_is_never_blended() {
    for frame in 0..FRAMES - 1 {
        with_view([frame, frame + 1], 0.5, PACE, |view| {
            let mesh = view.mesh(WATER).unwrap();
            assert!(mesh.is_fluid() && !mesh.blends());
            assert_eq!(positions(view, WATER), at_frame(WATER, frame));
            assert_eq!(view.visible(WATER), SAMPLE.expected[frame].visible[WATER]);
        });
    }
}

#[test]
fn velocities_follow_rate_direction_and_seam() {
    let velocity = |frames, pace| {
        let mut out = Vec::new();
        with_view(frames, 0.5, pace, |view| {
            let mesh = view.mesh(CLOTH).unwrap();
            out = floats(3 * mesh.vertex_count(), |o| mesh.velocities_into(o));
        });
        out
    };
    let pace = |span, speed| Pace::new(span, speed);
    let (a, b) = (at_frame(CLOTH, 2), at_frame(CLOTH, 3));
    let by = |factor: f32| -> Vec<f32> { a.iter().zip(&b).map(|(a, b)| (b - a) * factor).collect() };
    assert_eq!(velocity([2, 3], pace(0.5, 1.0)), by(2.0));
    assert_eq!(velocity([2, 3], pace(0.5, -3.0)), by(-6.0), "backwards");
    assert_eq!(velocity([2, 3], pace(0.5, 0.0)), by(0.0), "nothing moves");
    assert_eq!(velocity([3, 2], pace(-0.5, -1.0)), by(2.0).iter().map(|v| -v).collect::<Vec<_>>());
    // Across a closed seam, from the last frame to the first.
    let (last, first) = (at_frame(CLOTH, 7), at_frame(CLOTH, 0));
    let want: Vec<f32> = last.iter().zip(&first).map(|(a, b)| (b - a) * 4.0).collect();
    assert_eq!(velocity([7, 0], pace(0.25, 1.0)), want);
}

#[test]
fn velocity_is_what_the_picture_does() {
    // Positions a moment later, by the clock, for every way of playing.
    let timeline = Timeline::new((0..FRAMES).map(|f| f as f64 / 8.0), 1.0);
    for (repeat, rate, at) in [
        (Repeat::Once, 1.0, 0.55),
        (Repeat::Once, -0.5, 0.3),
        (Repeat::Loop, 1.0, 0.94),
        (Repeat::Loop, -2.0, 0.9),
        (Repeat::PingPong, 0.7, 0.55),
        (Repeat::PingPong, -0.7, 0.55),
        (Repeat::Once, 0.37, 0.625),
    ] {
        let mut clock = Clock::new(&timeline);
        for command in [Command::Play, Command::Repeat(repeat), Command::Rate(rate), Command::GoTo(at)] {
            clock.command(command);
        }
        clock.advance(0.0);
        let see = |clock: &Clock| {
            let (mut positions_now, mut velocity, mut world, mut change) =
                (Vec::new(), Vec::new(), [[0.0; 4]; 3], [[0.0; 4]; 3]);
            let pair = clock.demand().now.unwrap();
            let frames = [pair.first as usize, pair.second as usize];
            with_view(frames, pair.blend, clock.pace(), |view| {
                let mesh = view.mesh(CLOTH).unwrap();
                positions_now = positions(view, CLOTH);
                velocity = floats(3 * mesh.vertex_count(), |o| mesh.velocities_into(o));
                world = view.world(CLOTH);
                change = view.world_velocity(CLOTH);
            });
            (positions_now, velocity, world, change)
        };
        let (now, velocity, world, change) = see(&clock);
        let moment = 0.01;
        clock.advance(moment);
        let (then, _, world_then, _) = see(&clock);
        for ((now, then), velocity) in now.iter().zip(then).zip(&velocity) {
            let moved = (then - now) / moment as f32;
            assert!((moved - velocity).abs() < 2e-3, "{repeat:?} {rate}: {moved} {velocity}");
        }
        assert!(velocity.iter().any(|v| v.abs() > 0.1));
        // A rotation is not a straight motion, so this is near, not equal.
        for r in 0..3 {
            let moved = (world_then[r][3] - world[r][3]) / moment;
            assert!(
                (moved - change[r][3]).abs() < 0.1 * (1.0 + moved.abs()),
                "{repeat:?} {rate} {moved} {change:?}"
            );
        }
    }
}

#[test]
fn worlds_at_once_are_worlds_one_by_one() {
    let mut sample = sample(FRAMES, true);
    let nodes = &mut sample.parts.description.nodes;
    // Children of the hand, which is hidden at times, and a chain deeper than `MAX_STACKED_ANCESTORS`.
    let mut parent = HAND as u32;
    for link in 0..150 {
        nodes.push(NodeRecord {
            path: format!("/chain/{link}"),
            parent: Some(parent),
            mesh: None,
            animated: false,
            visibility: Visibility::Always,
            rest: Transform { translation: [0.1, 0.2, 0.0], scale: [1.0, 1.01, 1.0], ..Transform::IDENTITY },
            tolerance: 0.0,
            baked: false,
            reach: 0.0,
        });
        parent = nodes.len() as u32 - 1;
    }
    let reel = open(sample.parts.write()).unwrap();
    for frame in 0..FRAMES - 1 {
        let [first, second] = [frame, frame + 1].map(|f| decoded(&reel, f));
        let view = FrameView::between(&first, &second, 0.3, PACE).unwrap();
        let mut worlds = vec![[[0.0; 4]; 3]; reel.description().nodes.len()];
        view.worlds_into(&mut worlds).unwrap();
        for (node, world) in worlds.iter().enumerate() {
            let alone = view.world(node);
            for (a, b) in world.iter().flatten().zip(alone.iter().flatten()) {
                assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "node {node}");
            }
        }
    }
}

fn unorm(bytes: &[u8]) -> f32 {
    f32::from(u16::from_le_bytes([bytes[0], bytes[1]])) / 65535.0
}
fn snorm(bytes: &[u8]) -> f32 {
    f32::from(i16::from_le_bytes([bytes[0], bytes[1]])) / 32767.0
}
fn unfold(u: f32, v: f32) -> [f32; 3] {
    let z = 1.0 - u.abs() - v.abs();
    let (x, y) = if z < 0.0 { ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v)) } else { (u, v) };
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}
fn near(a: &[f32], b: &[f32], by: f32) {
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= by), "{a:?} {b:?}");
}

#[test]
fn packed_vertices_mean_the_same() {
    let layout = |what, format, offset| VertexAttribute { channel: what, format, offset };
    let attributes = [
        layout(VertexChannel::Position, VertexFormat::U16x4, 4),
        layout(VertexChannel::Normal, VertexFormat::I8x2, 12),
        layout(VertexChannel::Normal, VertexFormat::I16x2, 16),
        layout(VertexChannel::Tangent, VertexFormat::I8x4, 20),
        layout(VertexChannel::Tangent, VertexFormat::I16x4, 24),
        layout(VertexChannel::TangentFrame, VertexFormat::I16x4, 32),
        layout(VertexChannel::Uv(0), VertexFormat::U16x2, 40),
        layout(VertexChannel::Uv(1), VertexFormat::F16x2, 44),
        layout(VertexChannel::Colour(0), VertexFormat::U8x4, 48),
        layout(VertexChannel::Velocity, VertexFormat::F16x4, 52),
        layout(VertexChannel::Position, VertexFormat::F32x4, 60),
    ];
    const STRIDE: usize = 77;
    for blend in [0.0, 0.4] {
        with_view([2, 3], blend, PACE, |view| {
            let mesh = view.mesh(CLOTH).unwrap();
            let count = mesh.vertex_count();
            let mut bytes = vec![0xA5; STRIDE * count];
            mesh.write(&attributes, STRIDE, 0..count, &mut bytes).unwrap();
            let position = positions(view, CLOTH);
            let normal = floats(3 * count, |o| mesh.normals_into(o));
            let tangent = floats(4 * count, |o| mesh.tangents_into(o));
            let uv = [0, 1].map(|set| floats(2 * count, |o| mesh.uvs_into(set, o)));
            let colour = floats(4 * count, |o| mesh.colours_into(0, o));
            let bounds = mesh.bounds();
            let range = mesh.uv_range(0).unwrap();
            for (v, vertex) in bytes.chunks(STRIDE).enumerate() {
                let p: [f32; 3] = std::array::from_fn(|k| {
                    bounds[k] + unorm(&vertex[4 + 2 * k..]) * (bounds[k + 3] - bounds[k])
                });
                near(&p, &position[3 * v..], 3.0 / 65535.0);
                assert_eq!(unorm(&vertex[10..]), 1.0);
                let n = &normal[3 * v..][..3];
                let byte = |at: usize| f32::from(vertex[at] as i8) / 127.0;
                near(&unfold(byte(12), byte(13)), n, 0.02);
                near(&unfold(snorm(&vertex[16..]), snorm(&vertex[18..])), n, 1e-4);
                let (t, sign) = (&tangent[4 * v..][..3], tangent[4 * v + 3]);
                near(&unfold(byte(20), byte(21)), t, 0.02);
                near(&[byte(22), byte(23)], &[sign, 0.0], 0.0);
                near(&unfold(snorm(&vertex[24..]), snorm(&vertex[26..])), t, 1e-4);
                near(&[snorm(&vertex[28..]), snorm(&vertex[30..])], &[sign, 0.0], 0.0);
                let q: [f32; 4] = std::array::from_fn(|k| snorm(&vertex[32 + 2 * k..]));
                assert_eq!(q[3] < 0.0, sign < 0.0);
                let frame = qtangent::frame(q, sign);
                near(&frame.normal, n, 3e-4);
                near(&frame.tangent, t, 3e-4);
                let w: [f32; 2] =
                    std::array::from_fn(|k| range[k] + unorm(&vertex[40 + 2 * k..]) * range[k + 2]);
                near(&w, &uv[0][2 * v..], 3.0 / 65535.0);
                let h: [f32; 2] = std::array::from_fn(|k| half(&vertex[44 + 2 * k..]));
                near(&h, &uv[1][2 * v..], 1.0 / 1024.0);
                let c: [f32; 4] = std::array::from_fn(|k| f32::from(vertex[48 + k]) / 255.0);
                let clamped: [f32; 4] = std::array::from_fn(|k| colour[4 * v + k].clamp(0.0, 1.0));
                near(&c, &clamped, 0.002);
                let x = f32::from_le_bytes(vertex[60..64].try_into().unwrap());
                assert_eq!(x, position[3 * v]);
                assert_eq!(f32::from_le_bytes(vertex[72..76].try_into().unwrap()), 1.0);
                assert!(
                    vertex[..4].iter().chain(&vertex[14..16]).chain(&vertex[76..]).all(|&b| b == 0xA5),
                    "gaps stay"
                );
            }
        });
    }
}

fn half(bytes: &[u8]) -> f32 {
    let bits = u32::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (bits >> 10 & 31, (bits & 1023) as f32);
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 => f32::NAN,
        e => sign * (1.0 + fraction / 1024.0) * 2f32.powi(e as i32 - 15),
    }
}

#[test]
fn ranges_are_partial_updates() {
    let position =
        [VertexAttribute { channel: VertexChannel::Position, format: VertexFormat::F32x3, offset: 2 }];
    with_view([2, 3], 0.7, PACE, |view| {
        let mesh = view.mesh(CLOTH).unwrap();
        let count = mesh.vertex_count();
        let mut whole = vec![7; 16 * count];
        mesh.write(&position, 16, 0..count, &mut whole).unwrap();
        for range in [0..0, 0..1, 17..60, count - 1..count, count..count] {
            let mut part = vec![7; 16 * range.len()];
            mesh.write(&position, 16, range.clone(), &mut part).unwrap();
            assert_eq!(part, whole[16 * range.start..16 * range.end]);
        }
        assert!(mesh.is_animated(Semantic::Position, 0) && mesh.is_animated(Semantic::Uv, 1));
        assert!(!mesh.is_animated(Semantic::Uv, 0) && !mesh.is_animated(Semantic::Normal, 0));
        assert!(view.mesh(WATER).unwrap().is_animated(Semantic::Normal, 0));
    });
}

#[test]
fn wrong_buffers_are_misuse() {
    with_view([2, 3], 0.5, PACE, |view| {
        let mesh = view.mesh(CLOTH).unwrap();
        let count = mesh.vertex_count();
        is_misuse(mesh.positions_into(&mut [0.0; 5]), "not a buffer of 20");
        is_misuse(mesh.uvs_into(7, &mut []), "no uvs 7");
        is_misuse(view.mesh(HAND).unwrap().tangents_into(&mut []), "no tangents");
        let write = |what, format, offset, stride, range: std::ops::Range<usize>, bytes: usize| {
            let attribute = VertexAttribute { channel: what, format, offset };
            mesh.write(&[attribute], stride, range, &mut vec![0; bytes])
        };
        let (position, triple) = (VertexChannel::Position, VertexFormat::F32x3);
        is_misuse(write(position, triple, 5, 16, 0..1, 16), "does not fit into a vertex");
        is_misuse(write(position, triple, usize::MAX, 16, 0..1, 16), "does not fit");
        is_misuse(write(position, VertexFormat::I8x2, 0, 16, 0..1, 16), "cannot be written as I8x2");
        // The formats that can be written are those of `formats`, and an error lists them.
        use VertexFormat::*;
        let all = [F32x2, F32x3, F32x4, F16x2, F16x4, U8x4, U16x2, U16x4, I8x2, I8x4, I16x2, I16x4];
        let whats = [
            VertexChannel::Position,
            VertexChannel::Normal,
            VertexChannel::Tangent,
            VertexChannel::TangentFrame,
            VertexChannel::Uv(0),
            VertexChannel::Colour(0),
            VertexChannel::Velocity,
        ];
        for what in whats {
            for format in all {
                let done = write(what, format, 0, 16, 0..1, 16);
                match what.formats().contains(&format) {
                    true => done.unwrap(),
                    false => is_misuse(
                        done,
                        &format!("{what:?} cannot be written as {format:?}, but as {:?}", what.formats()[0]),
                    ),
                }
            }
        }
        is_misuse(write(position, triple, 0, 12, 0..count + 1, 12), "which has");
        is_misuse(write(position, triple, 0, 12, 0..2, 12), "12 bytes each");
        is_misuse(write(position, triple, 0, usize::MAX, 0..2, 12), "bytes each");
        #[allow(clippy::reversed_empty_ranges)]
        is_misuse(write(position, triple, 0, 12, 2..1, 0), "vertices 2..1");
        is_misuse(view.worlds_into(&mut []), "do not fit");
        is_misuse(mesh.material_indices(9).map(|_| ()), "material 9");
        is_misuse(mesh.material_indices_u16_into(0, &mut []), "indices, the buffer 0");
    });
    let (one, two) = (decoded(&REEL, 1), decoded(&open(SAMPLE.parts.write()).unwrap(), 1));
    let between = |a, b, blend| FrameView::between(a, b, blend, PACE).map(|_| ());
    is_misuse(between(&one, &two, 0.0), "one open file");
    is_misuse(between(&one, &one, 1.0), "less than 1");
    is_misuse(between(&one, &one, f32::NAN), "less than 1");
    let fresh = FrameDecoder::new(&REEL).unwrap();
    is_misuse(between(&one, &fresh, 0.0), "decoded a frame");
}

#[test]
fn indices_by_material() {
    with_view([2, 3], 0.5, PACE, |view| {
        for node in [CLOTH, WATER] {
            let mesh = view.mesh(node).unwrap();
            let mut all: Vec<u32> = Vec::new();
            for material in 0..mesh.materials().len() {
                let indices = mesh.material_indices(material).unwrap();
                let mut short = vec![0; indices.len()];
                mesh.material_indices_u16_into(material, &mut short).unwrap();
                assert!(short.iter().map(|&i| u32::from(i)).eq(indices.iter().copied()));
                all.extend(indices);
            }
            assert_eq!(all, mesh.indices());
        }
    });
}

#[test]
fn collision_is_made_just_in_time() {
    with_view([2, 3], 0.5, PACE, |view| {
        for node in [CLOTH, HAND, ROCK, WATER] {
            let (vertices, indices) = view.collision_size(node);
            let mut at = vec![0.0; 3 * vertices];
            let mut triangles = vec![0; indices];
            view.collision_into(node, &mut at, &mut triangles).unwrap();
            assert_eq!(triangles, view.mesh(node).unwrap().indices());
            let bounds = view.node_bounds(node).unwrap();
            let world = view.world(node);
            for (at, p) in at.chunks(3).zip(positions(view, node).chunks(3)) {
                for k in 0..3 {
                    let row = world[k];
                    let sum = (0..3).map(|c| row[c] * f64::from(p[c])).sum::<f64>() + row[3];
                    assert!((f64::from(at[k]) - sum).abs() < 1e-5);
                    assert!(bounds[k] <= at[k] && at[k] <= bounds[k + 3]);
                }
            }
            is_misuse(view.collision_into(node, &mut at, &mut []), "indices, the buffer 0");
            is_misuse(view.collision_into(node, &mut [], &mut triangles), "not a buffer of 0");
        }
        assert_eq!(view.collision_size(0), (0, 0));
        is_misuse(view.collision_into(0, &mut [], &mut []), "no mesh to collide");
        assert!(view.node_bounds(0).is_none());
    });
}

/// Returns a reel of rocks that come and go: `shown[part][frame]`, deleted by hiding or by a scale of zero.
/// They move by 1 each frame.
fn rocks(shown: &[Vec<bool>], by_scale: bool) -> Reel {
    let mut parts = sample(2, false).parts;
    let frames = shown[0].len();
    let rock = parts.description.meshes[2].clone();
    parts.description.meshes = vec![rock];
    let node = |p: usize| NodeRecord {
        path: format!("/rock{p}"),
        parent: None,
        mesh: Some(0),
        animated: true,
        visibility: if by_scale { Visibility::Always } else { Visibility::Animated },
        rest: Transform::IDENTITY,
        tolerance: 0.01,
        baked: false,
        reach: 0.0,
    };
    parts.description.nodes = (0..shown.len()).map(node).collect();
    parts.frames = (0..frames)
        .map(|f| {
            let mut raw = Vec::new();
            if !by_scale {
                let bits = (0..shown.len()).filter(|&p| shown[p][f]);
                raw.push(bits.fold(0u8, |all, p| all | 1 << p));
            }
            let at = |p: usize| Transform {
                translation: if shown[p][f] { [f as f32, p as f32, 0.0] } else { [0.0; 3] },
                scale: if by_scale && !shown[p][f] { [0.0; 3] } else { [1.0; 3] },
                ..Transform::IDENTITY
            };
            let transforms: Vec<Transform> = (0..shown.len()).map(at).collect();
            transform::encode(&transforms, None, &mut raw);
            (f as f64 / 10.0, FrameKind::Index, raw)
        })
        .collect();
    open(parts.write()).unwrap()
}

/// Plays them by the clock: whenever a part is there it moves, and it is never anywhere else.
fn check_rocks(shown: &[Vec<bool>], rate: f64) {
    for by_scale in [false, true] {
        let reel = rocks(shown, by_scale);
        let mut clock = Clock::new(&Timeline::from_reel(&reel));
        clock.command(Command::Rate(rate));
        clock.command(Command::Play);
        let mut seen = 0;
        while !clock.ended() {
            clock.advance(0.013);
            let pair = clock.demand().now.unwrap();
            let (first, second) = (pair.first as usize, pair.second as usize);
            let decoders = [first, second].map(|f| decoded(&reel, f));
            let view = FrameView::between(&decoders[0], &decoders[1], pair.blend, clock.pace()).unwrap();
            for (part, shown) in shown.iter().enumerate() {
                let world = view.world(part);
                let there = view.visible(part) && world[0][0] != 0.0;
                assert_eq!(there, shown[first], "part {part} in frame {first}");
                if !there {
                    continue;
                }
                let goes_on = shown[second];
                let x = first as f64 + if goes_on { f64::from(pair.blend) } else { 0.0 };
                assert!((world[0][3] - x).abs() < 1e-5, "{} instead of {x}", world[0][3]);
                assert!((world[1][3] - part as f64).abs() < 1e-9 && world[0][0] == 1.0);
                let speed = if goes_on && !clock.ended() && first != second { rate * 10.0 } else { 0.0 };
                assert!((view.world_velocity(part)[0][3] - speed).abs() < 1e-6);
                seen += 1;
            }
        }
        assert!(seen > 10);
    }
}

fn spans(spans: &[[usize; 2]]) -> Vec<Vec<bool>> {
    let shown = |&[from, to]: &[usize; 2]| (0..10).map(|f| (from..to).contains(&f)).collect();
    spans.iter().map(shown).collect()
}

#[test]
fn created_and_deleted_in_order() {
    check_rocks(&spans(&[[0, 6], [2, 8], [4, 10]]), 1.0);
    check_rocks(&spans(&[[0, 6], [2, 8], [4, 10]]), -1.0);
}

#[test]
fn created_and_deleted_out_of_order() {
    check_rocks(&spans(&[[4, 6], [0, 9], [2, 7]]), 1.0);
    check_rocks(&spans(&[[4, 6], [0, 9], [2, 7]]), -0.7);
}

#[test]
fn created_deleted_created_deleted() {
    let blinks: Vec<Vec<bool>> =
        (0..3).map(|p| (0..10).map(|f| (f / (p + 1)) % 2 == p % 2).collect()).collect();
    check_rocks(&blinks, 1.0);
    check_rocks(&blinks, -1.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_births_and_deaths(
        shown in prop::collection::vec(prop::collection::vec(any::<bool>(), 10), 1..4),
        rate in prop_oneof![0.3f64..2.0, -2.0f64..-0.3],
    ) {
        prop_assume!(shown.iter().flatten().filter(|s| **s).count() > 8);
        check_rocks(&shown, rate);
    }

    #[test]
    fn octahedral_bytes_are_near(x in -1.0f32..1.0, y in -1.0f32..1.0, z in -1.0f32..1.0) {
        prop_assume!(x * x + y * y + z * z > 0.01);
        let [u, v] = octahedral::encode([x, y, z], 8);
        let n = octahedral::decode([u, v], 8);
        let length = (x * x + y * y + z * z).sqrt();
        prop_assert!((n[0] * x + n[1] * y + n[2] * z) / length > 0.999);
    }
}
