//! Tests of triangle visibility by phase: triangles between standing bricks are left out, in flight all are
//! drawn, and those on the ground are left out afterwards; visible ones never are.

use crate::flying::{Bricks, one_mesh};
use crate::replaced::replaced;
use meshreel::raw::format::kind;
use meshreel::view::IndexRange;
use meshreel::{FrameDecoder, FrameView, Limits, Pace, Reel};
use meshreel_codec::entropy::block::Decompressor;
use meshreel_options::{Options, Preset, Tolerance};
use meshreel_scene::Scene;
use meshreel_testkit::verified;
use std::sync::Arc;

const STANDS: usize = Bricks::STANDS;
const LANDS: usize = Bricks::STANDS - 1 + Bricks::FLIES;
/// Triangles of one side of a brick.
const SIDE: usize = 8;

fn options() -> Options {
    Options {
        effort: 2,
        cull_hidden: true,
        // Decoding opens gaps that one can look into; they must be smaller than the test resolves.
        tolerance: Tolerance::Relative(1e-6),
        ..Options::default()
    }
}

/// Returns the bricks, and a ground below them.
fn on_ground(bricks: Bricks) -> Scene {
    let mut scene = bricks.scene();
    let corners = [[-20.0, 0.0, -20.0], [-20.0, 0.0, 60.0], [40.0, 0.0, 60.0], [40.0, 0.0, -20.0]];
    let mut ground = one_mesh(vec![corners.to_vec()], vec![4], vec![0, 1, 2, 3]);
    let (mut node, mut mesh) = (ground.nodes.remove(0), ground.meshes.remove(0));
    (node.name, node.path, node.mesh) = ("ground".into(), "/ground".into(), Some(1));
    mesh.path = "/ground".into();
    scene.nodes.push(node);
    scene.meshes.push(mesh);
    scene
}

/// Returns the index of the mesh of bricks.
fn bricks_of(reel: &Reel) -> usize {
    let meshes = &reel.description().meshes;
    meshes.iter().position(|m| m.path == "/mesh").unwrap()
}

fn visible_ranges(decoder: &FrameDecoder, mesh: usize, frames: [u32; 2]) -> Vec<IndexRange> {
    decoder.mesh(mesh).visible_ranges(frames, None).collect()
}

fn triangles(ranges: &[IndexRange]) -> usize {
    ranges.iter().map(|r| r.count as usize / 3).sum()
}

type P = [f64; 3];
fn minus(a: P, b: P) -> P {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}
fn dot(a: P, b: P) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
fn cross(a: P, b: P) -> P {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// `true` if a triangle that faces the eye blocks the ray before its end.
fn blocks([a, b, c]: [P; 3], eye: P, way: P) -> bool {
    let (u, v) = (minus(b, a), minus(c, a));
    let n = cross(u, v);
    let toward = dot(n, way);
    if toward >= 0.0 {
        return false;
    }
    let t = dot(n, minus(a, eye)) / toward;
    let p: P = std::array::from_fn(|k| eye[k] + t * way[k]);
    // A ray through an edge must hit at least one of the triangles.
    let edge = -1e-9 * dot(n, n);
    let inside = |a: P, b: P| dot(cross(minus(b, a), minus(p, a)), n) >= edge;
    // Decoded points may be slightly off.
    let hair = 0.008 / dot(way, way).sqrt();
    (0.0..1.0 - hair).contains(&t) && inside(a, b) && inside(b, c) && inside(c, a)
}

/// Views the hidden triangles of a frame from all around: none of them may be visible. Returns their number.
fn nothing_seen_is_missing(reel: &Reel, frame: usize) -> usize {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    decoder.decode(frame).unwrap();
    let (mut shown, mut hidden) = (Vec::new(), Vec::new());
    for (node, record) in reel.description().nodes.iter().enumerate() {
        let Some(m) = record.mesh else { continue };
        let mesh = decoder.mesh(m as usize);
        let mut at = vec![[0.0f32; 3]; mesh.vertex_count()];
        mesh.positions_into(at.as_flattened_mut()).unwrap();
        let world = decoder.world(node);
        let place = |v: u32| -> P {
            let p = at[v as usize].map(f64::from);
            world.map(|[a, b, c, d]| a * p[0] + b * p[1] + c * p[2] + d)
        };
        let ranges: Vec<IndexRange> = mesh.visible_ranges([frame as u32; 2], None).collect();
        for (i, t) in (0..).zip(mesh.indices_by_visibility().as_chunks::<3>().0) {
            let inside = |r: &IndexRange| (r.first..r.first + r.count).contains(&(3 * i));
            let t = t.map(place);
            match ranges.iter().any(inside) {
                true => shown.push(t),
                false => hidden.push(t),
            }
        }
    }
    let mut seen = 0;
    for &[a, b, c] in &hidden {
        let n = cross(minus(b, a), minus(c, a));
        for weights in [[1.0, 1.0, 1.0], [0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]] {
            let sum: f64 = weights.iter().sum();
            let p: P =
                std::array::from_fn(|k| (weights[0] * a[k] + weights[1] * b[k] + weights[2] * c[k]) / sum);
            for eye in 0..60 {
                // Above the ground, near and far.
                let (turn, high) = (eye as f64 * 2.4, (eye % 7) as f64 / 7.0 * 1.5);
                let far = [7.0, 25.0][eye % 2];
                let eye = [
                    3.0 + far * turn.cos() * high.cos(),
                    0.05 + far * high.sin(),
                    far * turn.sin() * high.cos() + p[2],
                ];
                // Bricks are decoded separately: a joint may open by twice the tolerance, and a ray may
                // happen to pass through it. A ray beside it does not.
                let sees = |aside: f64| {
                    let eye = [eye[0] + aside, eye[1] + aside.abs(), eye[2] - aside];
                    let way = minus(p, eye);
                    dot(n, way) < 0.0 && !shown.iter().any(|&t| blocks(t, eye, way))
                };
                seen += usize::from(sees(0.0) && sees(0.03) && sees(-0.03));
            }
        }
    }
    assert_eq!(seen, 0, "frame {frame}");
    hidden.len()
}

#[test]
fn f14_a_wall_stands_bursts_and_lies() {
    for preset in [Preset::Small, Preset::Classic] {
        let (wide, high) = (3, 2);
        let wanted = Options { preset, ..options() };
        let (reel, report) = verified(&on_ground(Bricks::wall(wide, high)), &wanted);
        let bricks = bricks_of(&reel);
        let all = 6 * SIDE * wide * high;
        // Both sides where bricks touch are hidden, and all faces on the ground.
        let between = 2 * SIDE * ((wide - 1) * high + wide * (high - 1));
        let hidden = report.meshes[bricks].hidden.unwrap().triangles;
        let hidden = [hidden.first_frame, hidden.last_frame, hidden.all_frames];
        assert_eq!(hidden, [between + SIDE * wide, SIDE * wide * high, 0]);
        let decoder = FrameDecoder::new(&reel).unwrap();
        let count =
            |a: usize, b: usize| all - triangles(&visible_ranges(&decoder, bricks, [a as u32, b as u32]));
        for f in 0..STANDS {
            assert_eq!(count(f, f), hidden[0], "{f}");
        }
        for f in STANDS..LANDS {
            assert_eq!(count(f, f), 0, "{f}");
        }
        for f in LANDS..reel.frame_count() {
            assert_eq!(count(f, f), hidden[1], "{f}");
        }
        // Between frames, moving bricks are drawn, and in the seam of a loop everything.
        let last = reel.frame_count() - 1;
        let pairs = [(STANDS - 2, hidden[0]), (STANDS - 1, 0), (LANDS - 1, 0), (LANDS, hidden[1])];
        for (f, hidden) in pairs {
            assert_eq!(count(f, f + 1), hidden, "{f}");
        }
        assert_eq!(count(last, 0), 0);
        // A wall at rest takes one or two draws.
        for f in [0, STANDS + 3, last] {
            assert!(visible_ranges(&decoder, bricks, [f as u32; 2]).len() <= 2);
        }
        assert_eq!(nothing_seen_is_missing(&reel, 0), hidden[0]);
        assert_eq!(nothing_seen_is_missing(&reel, STANDS + 2), 0);
        assert_eq!(nothing_seen_is_missing(&reel, last), hidden[1]);
    }
}

#[test]
fn f14_what_a_neighbour_uncovers_is_drawn_from_then_on() {
    // The middle brick of the lower row leaves first, then the others one by one.
    let starts = [9, 4, 7, 8, 6, 10];
    let (reel, _) = verified(&on_ground(Bricks::wall_from(3, 2, |b| starts[b])), &options());
    let bricks = bricks_of(&reel);
    let decoder = FrameDecoder::new(&reel).unwrap();
    let mut before = 0;
    for frame in 0..reel.frame_count().min(LANDS - 8) {
        let hidden = nothing_seen_is_missing(&reel, frame);
        let now = triangles(&visible_ranges(&decoder, bricks, [frame as u32; 2]));
        assert!(now >= before, "{frame}");
        before = now;
        assert_eq!(hidden, 6 * 6 * SIDE - now);
    }
    // Few ranges, although every brick has its own frames.
    for frame in 0..reel.frame_count() as u32 {
        assert!(visible_ranges(&decoder, bricks, [frame; 2]).len() <= 4, "{frame}");
    }
}

#[test]
fn f14_what_can_be_seen_between_is_drawn() {
    // Joints of a tenth, which one can look into.
    let mut apart = Bricks::wall(3, 2);
    for frame in &mut apart.frames {
        for (i, p) in frame.iter_mut().enumerate() {
            let brick = i / Bricks::POINTS as usize;
            p[0] += 0.1 * (brick % 3) as f32;
            p[1] += 0.1 * (1 + brick / 3) as f32;
        }
    }
    let (reel, report) = verified(&on_ground(apart), &options());
    nothing_seen_is_missing(&reel, 0);
    assert_eq!(report.meshes[bricks_of(&reel)].hidden, None);
    // Two sheets back to back are no solid: each is visible from its side.
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let frame = |f: usize| {
        let far = if f < 5 { 0.0 } else { f as f32 };
        let moved = points.map(|[x, y, z]| [x, y, z - far]);
        [points, moved].concat()
    };
    let sheets = one_mesh((0..12).map(frame).collect(), vec![4, 4], vec![0, 1, 2, 3, 7, 6, 5, 4]);
    assert_eq!(verified(&sheets, &options()).1.meshes[0].hidden, None);
}

#[test]
fn f14_without_the_option_all_is_drawn() {
    let scene = on_ground(Bricks::wall(2, 2));
    let plain = Options { cull_hidden: false, ..options() };
    let (reel, report) = verified(&scene, &plain);
    assert!(reel.chunks().iter().all(|c| c.kind != kind::VISIBILITY));
    assert_eq!(report.meshes[0].hidden, None);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(0).unwrap();
    let mesh = decoder.mesh(bricks_of(&reel));
    let whole: Vec<IndexRange> = mesh.visible_ranges([0, 0], None).collect();
    let count = mesh.indices().len() as u32;
    assert_eq!(whole, [IndexRange { first: 0, count }]);
    assert_eq!(mesh.indices_by_visibility(), mesh.indices());
    // With the option the mesh is the same, for any number of threads.
    let (culled, _) = verified(&scene, &options());
    assert_eq!(culled.indices(0).unwrap(), reel.indices(0).unwrap());
    let mut own: Vec<[u32; 3]> = mesh.indices().as_chunks::<3>().0.to_vec();
    let other = FrameDecoder::new(&culled).unwrap();
    let view = other.mesh(bricks_of(&culled));
    let mut there: Vec<[u32; 3]> = view.indices_by_visibility().as_chunks::<3>().0.to_vec();
    own.sort_unstable();
    there.sort_unstable();
    assert_eq!(own, there);
    // A player between two frames needs the triangles of both.
    let mut decoders = [0, 1].map(|i| {
        let mut decoder = FrameDecoder::new(&culled).unwrap();
        decoder.decode(STANDS - 1 + i).unwrap();
        decoder
    });
    let pace = Pace::new(1.0, 1.0);
    let node =
        (culled.description().nodes.iter()).position(|n| n.mesh == Some(bricks_of(&culled) as u32)).unwrap();
    let between = FrameView::between(&decoders[0], &decoders[1], 0.5, pace).unwrap();
    let mesh = between.mesh(node).unwrap();
    let all: Vec<IndexRange> = mesh.visible_ranges(None).collect();
    assert_eq!(triangles(&all) * 3, mesh.indices_by_visibility().len());
    decoders[1].decode(STANDS - 2).unwrap();
    let still = FrameView::between(&decoders[1], &decoders[0], 0.5, pace).unwrap();
    let fewer: Vec<IndexRange> = still.mesh(node).unwrap().visible_ranges(None).collect();
    assert!(triangles(&fewer) < triangles(&all));
    let of_material: Vec<IndexRange> = still.mesh(node).unwrap().visible_ranges(Some(0)).collect();
    assert_eq!(of_material, fewer);
}

#[test]
fn f14_damage_is_refused_or_draws_triangles() {
    let (reel, _) = verified(&on_ground(Bricks::wall(2, 2)), &options());
    let chunk = reel.chunks().iter().position(|c| c.kind == kind::VISIBILITY).unwrap();
    let mut packed = Vec::new();
    reel.reader().read_chunk(chunk, &mut packed).unwrap();
    let mut content = vec![0; Decompressor::raw_size(&packed).unwrap()];
    Decompressor::new().decompress(&packed, &mut content).unwrap();
    let check = |content: &[u8]| {
        let damaged = Reel::from_source(Arc::new(with_visibility_chunk(&reel, content)), &Limits::default());
        match FrameDecoder::new(&damaged.unwrap()) {
            Err(error) => assert!(matches!(error, meshreel::Error::Malformed { .. }), "{error}"),
            Ok(decoder) => {
                let mesh = decoder.mesh(bricks_of(&reel));
                for frame in 0..reel.frame_count() as u32 {
                    for range in mesh.visible_ranges([frame; 2], None) {
                        let end = (range.first + range.count) as usize;
                        assert!(end <= mesh.indices_by_visibility().len() && range.count % 3 == 0);
                    }
                }
            }
        }
    };
    for cut in 0..content.len() {
        check(&content[..cut]);
    }
    for at in 0..content.len() {
        for bit in [0, 4, 7] {
            let mut bad = content.clone();
            bad[at] ^= 1 << bit;
            check(&bad);
        }
    }
    check(&[&content[..], &content].concat());
}

/// Returns the file with another chunk of triangle visibility.
fn with_visibility_chunk(reel: &Reel, content: &[u8]) -> Vec<u8> {
    replaced(reel, kind::VISIBILITY, &|old| *old = content.to_vec())
}

#[test]
fn f14_what_rests_for_long_has_end_states_and_hidden_triangles() {
    let mut bricks = Bricks::wall(2, 2);
    let (first, last) = (bricks.frames[0].clone(), bricks.frames.last().unwrap().clone());
    let flight = std::mem::take(&mut bricks.frames);
    bricks.frames.extend(vec![first; 80]);
    bricks.frames.extend(flight);
    bricks.frames.extend(vec![last; 120]);
    let all = bricks.faces.len() * 2;
    let wanted = Options { lod: 2, ..options() };
    let (reel, _) = verified(&on_ground(bricks), &wanted);
    let mesh = bricks_of(&reel);
    let [from, to] = reel.motion_frames(mesh).map(|f| f as usize);
    assert!(from >= 80 && to <= 80 + LANDS + 1, "{from} {to}");
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let mut seen = |frame: usize| {
        decoder.decode(frame).unwrap();
        let view = decoder.mesh(mesh);
        let count = triangles(&visible_ranges(&decoder, mesh, [frame as u32; 2]));
        (view.end_state().is_some(), count)
    };
    let (start, end) = (seen(0), seen(reel.frame_count() - 1));
    assert!(start.0 && start.1 < all, "{start:?}");
    assert!(end.0 && end.1 < all, "{end:?}");
    assert_eq!(seen((from + to) / 2), (false, all));
    assert!(nothing_seen_is_missing(&reel, 0) > 0);
}

/// Points alone, and meshes without usable faces, have nothing to hide.
#[test]
fn f14_without_triangles_nothing_is_hidden() {
    for (counts, indices) in [(vec![], vec![]), (vec![3], vec![0, 0, 0]), (vec![2], vec![0, 1])] {
        let frame = |f: usize| vec![[f as f32, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 2.0]];
        let frames = (0..20).map(frame).collect();
        let mut scene = one_mesh(frames, counts, indices);
        let still = one_mesh(vec![frame(3)], vec![], vec![]);
        for (mut node, mut mesh) in still.nodes.into_iter().zip(still.meshes) {
            (node.name, node.path, node.mesh) = ("still".into(), "/still".into(), Some(1));
            mesh.path = "/still".into();
            scene.nodes.push(node);
            scene.meshes.push(mesh);
        }
        for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
            for lod in [0, 2] {
                let (reel, _) = verified(&scene, &Options { preset, lod, ..options() });
                assert_eq!(reel.chunk_bytes(kind::VISIBILITY), 0);
            }
        }
    }
}
