//! Tests of lead-in and lead-out: nothing is stored or decoded for meshes that stand still there, and the
//! tolerance is kept.

use crate::replaced::replaced;
use meshreel::view::EndState;
use meshreel::{Command, FrameDecoder, Limits, Options as PlayerOptions, Player, Reel};
use meshreel_check::verify;
use meshreel_codec::record::{Coding, Method};
use meshreel_compile::Report;
use meshreel_options::{BlockChoice, MethodChoice, Options, Preset, Tolerance, TransformForm};
use meshreel_scene::{Attribute, Channel, Mesh, Node, NodeKind, Scene, Scope, TimeSampling};
use meshreel_testkit::{compiled, opened, python};
use std::path::Path;
use std::process;
use std::sync::Arc;

const FRAMES: usize = 333;

fn times() -> TimeSampling {
    TimeSampling::Uniform { start: 0.0, step: 1.0 / 30.0 }
}

fn options(preset: Preset) -> Options {
    Options { effort: 2, preset, tolerance: Tolerance::Relative(1e-4), ..Options::default() }
}

/// Returns the progress, 0 to 1, of a motion from frame `first` to frame `last`.
fn part(frame: usize, [first, last]: [usize; 2]) -> f32 {
    (frame.clamp(first, last) - first) as f32 / (last - first) as f32
}

fn mesh(path: &str, positions: Vec<Vec<[f32; 3]>>, faces: &[[i32; 4]]) -> Mesh {
    let indices: Vec<i32> = faces.as_flattened().to_vec();
    Mesh::new(
        path,
        Channel::in_memory(times(), positions),
        Channel::in_memory(times(), vec![vec![4; faces.len()]]),
        Channel::in_memory(times(), vec![indices]),
    )
}

/// Returns a sheet with waves while it moves.
fn sheet(path: &str, moves: [usize; 2]) -> Mesh {
    let n = 17;
    let at = |f: usize, i: usize| {
        let (x, y, t) = ((i % n) as f32 * 0.2, (i / n) as f32 * 0.2, 9.0 * part(f, moves));
        let wide = (t * 0.35).sin();
        [x + 0.1 * t, y, wide * (2.0 * x + t).sin() * (1.5 * y - t).cos()]
    };
    let positions = (0..FRAMES).map(|f| (0..n * n).map(|i| at(f, i)).collect()).collect();
    let faces: Vec<[i32; 4]> = (0..(n - 1) * (n - 1))
        .map(|i| {
            let v = (i % (n - 1) + i / (n - 1) * n) as i32;
            [v, v + 1, v + 1 + n as i32, v + n as i32]
        })
        .collect();
    mesh(path, positions, &faces)
}

/// Returns the same sheet with only its heights moving.
fn sea(path: &str, moves: [usize; 2]) -> Mesh {
    let mut mesh = sheet(path, moves);
    let (mut first, mut all) = (Vec::new(), vec![Vec::new(); FRAMES]);
    mesh.positions.read(0, &mut first).unwrap();
    for (f, points) in all.iter_mut().enumerate() {
        mesh.positions.read(f, points).unwrap();
        for (p, f) in points.iter_mut().zip(&first) {
            *p = [f[0], f[1], p[2]];
        }
    }
    mesh.positions = Channel::in_memory(times(), all);
    mesh
}

/// Returns boxes that fall and rotate.
fn boxes(path: &str, moves: [usize; 2]) -> Mesh {
    let at = |f: usize, b: usize, i: usize| {
        let (t, s) = (part(f, moves), b as f32);
        let (sin, cos) = (t * (1.0 + s)).sin_cos();
        let [x, y, z] = [1, 2, 4].map(|bit| if i & bit == 0 { -0.5f32 } else { 0.5 });
        [1.5 * s + cos * x - sin * y + t * s, sin * x + cos * y, z - 5.0 * t * t]
    };
    let positions = (0..FRAMES).map(|f| (0..12 * 8).map(|i| at(f, i / 8, i % 8)).collect()).collect();
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let faces: Vec<[i32; 4]> = (0..12).flat_map(|b| faces.map(|f| f.map(|v| v + 8 * b))).collect();
    mesh(path, positions, &faces)
}

fn scene(meshes: Vec<Mesh>) -> Scene {
    let nodes = meshes.iter().enumerate().map(|(m, mesh)| Node {
        name: mesh.path[1..].into(),
        mesh: Some(m),
        samples: FRAMES,
        ..Node::new(mesh.path.clone(), NodeKind::PolyMesh)
    });
    Scene { nodes: nodes.collect(), meshes, ..Scene::default() }
}

/// Changes the points of a mesh in some frames.
fn changed(mut mesh: Mesh, change: impl Fn(usize, &mut [[f32; 3]])) -> Mesh {
    let mut all = vec![Vec::new(); FRAMES];
    for (f, points) in all.iter_mut().enumerate() {
        let sample = f.min(mesh.positions.len() - 1);
        mesh.positions.read(sample, points).unwrap();
        change(f, points);
    }
    mesh.positions = Channel::in_memory(times(), all);
    mesh
}

/// Returns a sheet that does not move at all.
fn flat(path: &str) -> Mesh {
    let mut mesh = sheet(path, [0, 9]);
    let mut first = Vec::new();
    mesh.positions.read(0, &mut first).unwrap();
    mesh.positions = Channel::in_memory(times(), vec![first; FRAMES]);
    mesh
}

/// Compiles, measures every vertex of every frame, and decodes in any order.
fn holds(scene: &Scene, options: &Options) -> (Reel, Report) {
    let (bytes, report) = compiled(scene, options);
    let reel = opened(bytes);
    let found = verify(scene, &reel, &|_, _| ()).unwrap();
    assert!(found.ok, "{:#?}", found.failures);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let forward: Vec<_> = (0..FRAMES).map(|f| frame_bits(&mut decoder, f)).collect();
    for step in [FRAMES - 1, 64, 100] {
        for i in 0..FRAMES {
            let frame = (i * step + 20) % FRAMES;
            assert!(frame_bits(&mut decoder, frame) == forward[frame], "{step}: {frame}");
        }
    }
    (reel, report)
}

/// Returns the bits of positions and normals of all meshes.
fn frame_bits(decoder: &mut FrameDecoder, frame: usize) -> Vec<u32> {
    decoder.decode(frame).unwrap();
    let mut all = Vec::new();
    for m in 0..decoder.reel().description().meshes.len() {
        let mesh = decoder.mesh(m);
        let mut out = vec![0.0; 3 * mesh.vertex_count()];
        mesh.positions_into(&mut out).unwrap();
        all.extend(out.iter().map(|v| v.to_bits()));
        if mesh.has_normals() {
            mesh.normals_into(&mut out).unwrap();
            all.extend(out.iter().map(|v| v.to_bits()));
        }
    }
    all
}

/// Returns a mesh of each kind, moving at different times, and one that always moves.
fn all_kinds() -> Scene {
    let mut normals = sheet("/normals", [140, 180]);
    let mut of_frame = Vec::new();
    for f in 0..FRAMES {
        let angle = 0.7 * part(f, [150, 170]);
        let toward = [angle.sin(), 0.0, angle.cos()];
        of_frame.push(vec![toward; 17 * 17]);
    }
    normals.normals = Some(Attribute {
        name: "N".into(),
        scope: Scope::Vertex,
        values: Channel::in_memory(times(), of_frame),
        indices: None,
    });
    scene(vec![
        sheet("/late", [200, 331]),
        sheet("/early", [0, 50]),
        normals,
        boxes("/boxes", [70, 120]),
        sheet("/always", [0, FRAMES - 1]),
        sheet("/hardly", [1, FRAMES - 1]),
        sea("/sea", [90, 100]),
    ])
}

/// Damaged points and the sign of zero are no motion.
#[test]
fn e06_what_only_seems_to_move_stands_still() {
    type Change = fn(usize, &mut [[f32; 3]]);
    let changes: [(Change, &str); 6] = [
        (|f, p| p[0][0] = if f % 2 == 0 { 0.0 } else { -0.0 }, "zero"),
        (
            |f, p| {
                if f > 100 {
                    p[3][1] = f32::NAN
                }
            },
            "nan",
        ),
        (
            |f, p| {
                if (40..90).contains(&f) {
                    p[3][1] = f32::INFINITY
                }
            },
            "inf",
        ),
        (
            |f, p| {
                if f < 200 {
                    p[7] = [1e30; 3]
                }
            },
            "far",
        ),
        (
            |f, p| {
                if f == 20 {
                    p.fill([f32::NAN; 3])
                }
            },
            "all",
        ),
        (
            |f, p| {
                if f + 1 == FRAMES {
                    p[5][2] = f32::NAN
                }
            },
            "last",
        ),
    ];
    for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
        let mut meshes = vec![sheet("/moves", [90, 140])];
        for (change, name) in changes {
            meshes.push(changed(flat(&format!("/{name}")), change));
            // Damaged before it moves, and afterwards.
            meshes.push(changed(sheet(&format!("/{name}_moving"), [110, 190]), change));
        }
        let (reel, _) = holds(&scene(meshes), &options(preset));
        let description = reel.description();
        for (m, mesh) in description.meshes.iter().enumerate() {
            let layered = preset != Preset::Classic;
            match mesh.path.ends_with("mov") || mesh.path.ends_with("moving") || m == 0 {
                true if layered => assert!(reel.motion_frames(m) != [0, 0], "{}", mesh.path),
                true => {}
                // A point that is missing in the first frames has another place then.
                false if mesh.path == "/far" => {}
                false => assert_eq!(mesh.method, Method::Static, "{}", mesh.path),
            }
        }
    }
}

#[test]
fn e06_what_stands_still_before_and_after_holds() {
    for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
        let (reel, report) = holds(&all_kinds(), &options(preset));
        let layered = preset != Preset::Classic;
        let last = FRAMES as u32 - 1;
        let moves: Vec<[u32; 2]> = (0..7).map(|m| reel.motion_frames(m)).collect();
        let whole = [0, last];
        match layered {
            true => {
                assert_eq!(moves, [[200, 331], [0, 50], [140, 180], [70, 120], whole, [1, last], [90, 100]])
            }
            false => assert_eq!(moves, [whole; 7]),
        }
        if layered {
            let of: Vec<_> = report.meshes.iter().map(|m| m.moves).collect();
            let said: Vec<_> = reel.description().meshes.iter().map(|m| m.moving_frames).collect();
            assert_eq!(of, said);
            assert_eq!(of[4], None);
        }
        // Whole segments only.
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        let mut at = |frame: usize, mesh: usize| {
            decoder.decode(frame).unwrap();
            decoder.mesh(mesh).end_state()
        };
        for m in 0..7 {
            let [first, end] = moves[m].map(|f| f as usize);
            let start = first / 64 * 64;
            let end = end.div_ceil(64) * 64;
            for frame in (0..FRAMES).rev() {
                let expected = match frame {
                    f if f <= start && start > 0 => Some(EndState::Start),
                    f if f >= end => Some(EndState::End),
                    _ => None,
                };
                assert_eq!(at(frame, m), expected.filter(|_| layered), "mesh {m}, frame {frame}");
            }
        }
    }
}

#[test]
fn e06_what_stands_still_takes_no_bytes() {
    for (mesh, method) in [
        (sheet("/a", [130, 180]), MethodChoice::Soft),
        (boxes("/a", [130, 180]), MethodChoice::Rigid),
        (boxes("/a", [130, 180]), MethodChoice::Skinned),
    ] {
        let options = Options { method, ..options(Preset::Small) };
        let (reel, _) = holds(&scene(vec![mesh]), &options);
        for frame in 0..FRAMES {
            let empty = reel.frame_chunk(frame).raw_size == 0;
            assert_eq!(empty, !(129..192).contains(&frame), "{method:?}: {frame}");
        }
    }
}

#[test]
fn e06_packed_transforms_have_end_states_too() {
    let options =
        Options { method: MethodChoice::Rigid, transforms: TransformForm::Packed, ..options(Preset::Small) };
    let (reel, _) = holds(&scene(vec![boxes("/a", [130, 180])]), &options);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for frame in [0, 150, FRAMES - 1] {
        decoder.decode(frame).unwrap();
        assert!(decoder.mesh(0).packed().is_some());
    }
}

#[test]
fn e06_the_player_shows_end_states() {
    let (bytes, _) = compiled(&all_kinds(), &options(Preset::Small));
    let reel = opened(bytes.clone());
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    std::fs::write(&path, bytes).unwrap();
    let mut player = Player::new(PlayerOptions::default().with_resident(0)).unwrap();
    let file = player.open(&path);
    let instance = player.add_instance(file).unwrap();
    player.command(instance, Command::Play);
    let mut seen = 0;
    for tick in 0..4000 {
        player.tick(1.0 / 30.0);
        std::thread::sleep(std::time::Duration::from_millis(1));
        let Some(shown) = player.frame(instance) else {
            continue;
        };
        let view = shown.first();
        let frame = shown.pair().first as usize;
        decoder.decode(frame).unwrap();
        for m in 0..7 {
            assert_eq!(view.mesh(m).end_state(), decoder.mesh(m).end_state());
        }
        seen += 1;
        if frame + 2 > FRAMES || tick > 3000 {
            break;
        }
    }
    assert!(seen > 10);
}

#[test]
fn e06_damaged_end_states_are_refused() {
    let scene = scene(vec![sheet("/a", [130, 180]), boxes("/b", [130, 180])]);
    let (bytes, _) = compiled(&scene, &options(Preset::Small));
    let reel = opened(bytes);
    let kind = meshreel::raw::format::kind::END_STATES;
    let size = (reel.chunks().iter()).find(|c| c.kind == kind).unwrap().raw_size as usize;
    let decodes = |bytes: Vec<u8>| -> bool {
        let Ok(reel) = Reel::from_source(Arc::new(bytes), &Limits::default()) else {
            return false;
        };
        let Ok(mut decoder) = FrameDecoder::new(&reel) else {
            return false;
        };
        (0..FRAMES).step_by(37).all(|f| decoder.decode(f).is_ok())
    };
    assert!(decodes(replaced(&reel, kind, &|_| ())));
    for at in (0..size).step_by((size / 60).max(1)) {
        assert!(!decodes(replaced(&reel, kind, &|c| c.truncate(at))), "{at}");
        decodes(replaced(&reel, kind, &|c| c[at] ^= 1 << (at % 8)));
    }
    // The statement in the description.
    let record = |change: &dyn Fn(&mut meshreel::raw::record::MeshRecord)| {
        decodes(replaced(&reel, meshreel::raw::format::kind::DESCRIPTION, &|content| {
            let mut description = meshreel::raw::record::decode(content).unwrap();
            change(&mut description.meshes[0]);
            content.clear();
            meshreel::raw::record::encode(&description, content);
        }))
    };
    assert!(record(&|_| ()));
    assert!(!record(&|m| m.moving_frames = None));
    assert!(!record(&|m| m.moving_frames = Some([130, FRAMES as u32])));
    assert!(!record(&|m| m.moving_frames = Some([10, FRAMES as u32 - 1])));
    assert!(!record(&|m| m.moving_frames = Some([10, 180])));
    assert!(!record(&|m| m.end_states.size -= 1));
    assert!(!record(&|m| m.end_states.size = 0));
    assert!(!record(&|m| m.end_states.chunk = 0));
}

#[test]
fn e06_a_decoder_made_from_the_document_agrees() {
    let Some(python) = python() else { return };
    let options = Options { block: BlockChoice::Deflate, ..options(Preset::Small) };
    let meshes = vec![sheet("/a", [130, 180]), sheet("/b", [0, 50]), sea("/c", [130, 180])];
    let (bytes, _) = compiled(&scene(meshes), &options);
    let coding = opened(bytes.clone()).description().meshes[2].streams[0].coding;
    assert_eq!(coding, Coding::Heights);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    std::fs::write(&path, &bytes).unwrap();
    let frames = [0, 1, 128, 129, 150, 191, 192, 300];
    let output = process::Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../decode.py"))
        .arg(&path)
        .args(frames.map(|f: usize| f.to_string()))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut decoder = FrameDecoder::new(&opened(bytes)).unwrap();
    for (&frame, shown) in frames.iter().zip(shown.as_array().unwrap()) {
        decoder.decode(frame).unwrap();
        for m in 0..3 {
            let mesh = decoder.mesh(m);
            let mut ours = vec![0.0f32; 3 * mesh.vertex_count()];
            mesh.positions_into(&mut ours).unwrap();
            let theirs = shown["meshes"][m]["streams"][0]["values"].as_array().unwrap();
            let theirs = theirs.iter().flat_map(|v| match v {
                serde_json::Value::Array(list) => list.clone(),
                one => vec![one.clone()],
            });
            let theirs: Vec<f32> = theirs.map(|v| v.as_f64().unwrap() as f32).collect();
            assert!(theirs == ours, "mesh {m}, frame {frame}");
        }
    }
}
