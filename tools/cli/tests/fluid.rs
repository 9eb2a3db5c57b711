//! Tests of triangles. Changing faces: frames decode in any order, and runs of equal faces are predicted from
//! each other. Regular grids: they are detected, and their triangles are not stored.

use meshreel::FrameDecoder;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::mesh::height;
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::mesh::table_sets::TableSets;
use meshreel_codec::record::Coding;
use meshreel_codec::take_length_prefixed;
use meshreel_codec::topology::grid::GridShape;
use meshreel_codec::topology::weld;
use meshreel_options::{MethodChoice, Options, Preset, Tolerance};
use meshreel_scene::{Attribute, Channel, Mesh, Node, NodeKind, Scene, Scope, TimeSampling, Topology};
use meshreel_testkit::{compiled, corpus_if_thorough, opened, verified};
use meshreel_write::alembic;

fn options() -> Options {
    Options { effort: 3, tolerance: Tolerance::Relative(1e-4), ..Options::default() }
}

/// Returns a tube whose rings have `sides(frame)` sides; quads, and triangles at its closed ends.
fn tube(frames: usize, sides: impl Fn(usize) -> usize) -> Scene {
    let (mut positions, mut counts, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for f in 0..frames {
        let n = sides(f);
        let (rings, time) = (2 * n, f as f32 * 0.1);
        let mut points = vec![[0.0, 0.0, -0.2], [0.0, 0.0, 2.2]];
        for r in 0..rings {
            let along = 2.0 * r as f32 / (rings - 1) as f32;
            for s in 0..n {
                let angle = s as f32 / n as f32 * std::f32::consts::TAU;
                let wide = 0.5 + 0.2 * (3.0 * along + time).sin() + 0.1 * (2.0 * angle + time).cos();
                points.push([wide * angle.cos(), wide * angle.sin(), along]);
            }
        }
        let at = |r: usize, s: usize| (2 + r * n + s % n) as i32;
        let (mut count, mut index) = (Vec::new(), Vec::new());
        for s in 0..n {
            for r in 1..rings {
                count.push(4);
                index.extend([at(r - 1, s), at(r - 1, s + 1), at(r, s + 1), at(r, s)]);
            }
            count.extend([3, 3]);
            index.extend([0, at(0, s + 1), at(0, s), 1, at(rings - 1, s), at(rings - 1, s + 1)]);
        }
        positions.push(points);
        counts.push(count);
        indices.push(index);
    }
    scene(positions, counts, indices)
}

fn scene(positions: Vec<Vec<[f32; 3]>>, counts: Vec<Vec<i32>>, indices: Vec<Vec<i32>>) -> Scene {
    let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    Scene {
        nodes: vec![Node {
            mesh: Some(0),
            samples: positions.len(),
            ..Node::new("/water", NodeKind::PolyMesh)
        }],
        meshes: vec![Mesh::new(
            "/water",
            Channel::in_memory(times.clone(), positions),
            Channel::in_memory(times.clone(), counts),
            Channel::in_memory(times, indices),
        )],
        ..Scene::default()
    }
}

/// Returns the indices and positions of a decoded frame.
fn decoded(decoder: &mut FrameDecoder, frame: usize) -> (Vec<u32>, Vec<[f32; 3]>) {
    decoder.decode(frame).unwrap();
    let mesh = decoder.mesh(0);
    let mut positions = vec![[0.0; 3]; mesh.vertex_count()];
    mesh.positions_into(positions.as_flattened_mut()).unwrap();
    (mesh.indices().to_vec(), positions)
}

#[test]
fn e02_faces_that_change_hold_in_any_order() {
    for (preset, sides) in [(Preset::Small, 7), (Preset::Fast, 5), (Preset::Classic, 4)] {
        let scene = tube(37, |f| sides + f * f % 5);
        let wanted = Options { preset, ..options() };
        let (reel, report) = verified(&scene, &wanted);
        assert_eq!(report.meshes[0].method, "fluid");
        let mut forward = FrameDecoder::new(&reel).unwrap();
        let all: Vec<_> = (0..37).map(|f| decoded(&mut forward, f)).collect();
        let mut other = FrameDecoder::new(&reel).unwrap();
        for frame in [36, 0, 17, 16, 15, 33, 1, 32, 8, 9, 24, 3] {
            assert!(decoded(&mut other, frame) == all[frame], "{frame}");
        }
    }
}

#[test]
fn e02_runs_of_equal_faces_are_smaller() {
    let bytes = |run: usize| {
        let scene = tube(48, |f| 12 + f / run % 3);
        verified(&scene, &options()).1.meshes[0].bytes
    };
    let (alone, five, twenty) = (bytes(1), bytes(5), bytes(20));
    assert!(five < alone * 7 / 10 && twenty < alone * 4 / 10, "{alone} {five} {twenty}");
    // Fixed faces, forced.
    let scene = tube(48, |_| 12);
    let forced = Options { method: MethodChoice::Fluid, ..options() };
    let (_, report) = verified(&scene, &forced);
    let soft = verified(&scene, &options()).1;
    assert_eq!((&*report.meshes[0].method, &*soft.meshes[0].method), ("fluid", "soft"));
    println!("forced fluid {} soft {}", report.meshes[0].bytes, soft.meshes[0].bytes);
}

#[test]
fn e02_smaller_than_frames_alone() {
    let scene = tube(24, |f| 16 + f % 4);
    let classic = Options { preset: Preset::Classic, ..options() };
    let (small, classic) = (verified(&scene, &options()).1, verified(&scene, &classic).1);
    let (small, classic) = (small.meshes[0].bytes, classic.meshes[0].bytes);
    assert!(small < classic * 6 / 10, "{small} {classic}");
}

#[test]
fn e02_frames_without_faces_or_points() {
    let (mut positions, mut counts, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for f in 0..20 {
        let n = if f % 4 == 1 { 0 } else { f % 7 };
        positions.push((0..n).map(|i| [i as f32, f as f32 * 0.1, 0.0]).collect::<Vec<_>>());
        let faces = n / 3;
        counts.push(vec![3; faces]);
        indices.push((0..3 * faces as i32).collect());
    }
    verified(&scene(positions, counts, indices), &options());
}

#[test]
fn e02_points_that_coincide_stay_together() {
    // Two halves whose seam is two rows of coinciding points, in runs of four frames.
    let (mut positions, mut counts, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for f in 0..24 {
        let n = 6 + f / 4 % 2;
        let mut points = Vec::new();
        for half in 0..2 {
            for i in 0..n * n {
                let (x, y) = ((i % n) as f32 / (n - 1) as f32, (i / n) as f32 / (n - 1) as f32);
                let x = x + half as f32;
                points.push([x, y, 0.1 * (7.0 * x + 5.0 * y + f as f32).sin()]);
            }
        }
        let mut index = Vec::new();
        for half in 0..2 {
            for i in (0..n * n).filter(|i| i % n < n - 1 && i / n < n - 1) {
                let v = half * n * n + i;
                index.extend([v, v + 1, v + 1 + n, v + n]);
            }
        }
        counts.push(vec![4; index.len() / 4]);
        positions.push(points);
        indices.push(index);
    }
    let scene = scene(positions.clone(), counts, indices);
    let (reel, _) = verified(&scene, &options());
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for (f, source) in positions.iter().enumerate() {
        let (_, got) = decoded(&mut decoder, f);
        let n = 6 + f / 4 % 2;
        let near = |p: [f32; 3]| {
            let far = |q: &&[f32; 3]| (0..3).map(|k| (q[k] - p[k]).powi(2)).sum::<f32>();
            let least = got.iter().map(|q| far(&q)).fold(f32::INFINITY, f32::min);
            let all = got.iter().filter(|q| far(q) < least + 1e-6);
            all.map(|q| q.map(f32::to_bits)).collect::<std::collections::BTreeSet<_>>()
        };
        for row in 0..n {
            assert_eq!(near(source[row * n + n - 1]).len(), 1);
        }
    }
}

#[test]
fn e02_corpus_holds() {
    let Some(corpus) = corpus_if_thorough() else { return };
    for name in ["e_metaballs", "e_sph_liquid", "e_boolean_build"] {
        let path = corpus.join(format!("alembic/gen/{name}.abc"));
        let scene = meshreel_read::open(&path, &meshreel_read::ReadOptions::default()).unwrap().0;
        let (_, report) = verified(&scene, &options());
        println!("{name}: {} bytes", report.file_bytes);
    }
}

/// Returns quads of a waving sheet of `n` × `m` points, with the same faces in each frame.
fn waves(n: usize, m: usize, closed: bool) -> Scene {
    let place = |i: usize, f: usize| {
        let (x, y) = ((i % n) as f32 / n as f32, (i / n) as f32 / m as f32);
        let high = 0.1 * (9.0 * x + 0.2 * f as f32).sin() * (7.0 * y - 0.1 * f as f32).cos();
        match closed {
            true => {
                let (sin, cos) = (std::f32::consts::TAU * x).sin_cos();
                [(1.0 + high) * cos, (1.0 + high) * sin, y]
            }
            false => [x, y, high],
        }
    };
    let frames: Vec<_> = (0..20).map(|f| (0..n * m).map(|i| place(i, f)).collect::<Vec<_>>()).collect();
    let columns = n - usize::from(!closed);
    let mut faces: Vec<[i32; 4]> = (0..columns * (m - 1))
        .map(|i| {
            let (x, y) = (i % columns, i / columns);
            let at = |x: usize, y: usize| (x % n + y * n) as i32;
            [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]
        })
        .collect();
    // In any order of faces.
    let count = faces.len();
    (0..count).for_each(|i| faces.swap(i, i * 37 % count));
    let indices = faces.as_flattened().to_vec();
    let mut scene = scene(frames, vec![vec![4; count]; 20], vec![indices.clone(); 20]);
    let mesh = &mut scene.meshes[0];
    mesh.topology = Topology::Constant;
    mesh.face_counts = Channel::constant(vec![4; count]);
    mesh.face_indices = Channel::constant(indices);
    scene
}

#[test]
fn e13_grids_are_found_and_hold() {
    for preset in [Preset::Small, Preset::Fast] {
        for (n, m, closed) in [(40, 23, false), (31, 12, true), (2, 2, false)] {
            let wanted = Options { preset, ..options() };
            let (reel, report) = verified(&waves(n, m, closed), &wanted);
            assert_eq!(reel.grid(0).unwrap(), Some([n as u32, m as u32]));
            assert_eq!(report.meshes[0].grid, Some([n as u32, m as u32]));
            let record = &reel.description().meshes[0];
            assert!(record.connectivity.size < 20 + record.indices / 24);
        }
    }
}

/// Returns heights over a sloping plane along an axis; the point in the middle moves aside by `aside` in
/// frame 20.
fn field(axis: usize, aside: f32) -> Scene {
    let (n, m) = (24, 17);
    let mut scene = waves(n, m, false);
    let turned = |f: usize, i: usize| {
        let (x, y) = ((i % n) as f32 * 0.1 - 7.0, (i / n) as f32 * 0.15 + 3.0);
        let wave = 0.3 * (3.0 * x + 0.4 * f as f32).sin() * (2.0 * y).cos();
        let (x, y) = (x + 0.2 * y, y - 0.1 * x);
        let mut p = [0.0; 3];
        (p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3]) = (wave + 0.1 * y, x, y);
        if (f, i) == (20, n * m / 2) {
            p[(axis + 1) % 3] += aside;
        }
        p
    };
    let positions = (0..41).map(|f| (0..n * m).map(|i| turned(f, i)).collect()).collect();
    let times = (**scene.meshes[0].positions.sampling()).clone();
    scene.meshes[0].positions = Channel::in_memory(times, positions);
    scene
}

#[test]
fn e13_of_height_fields_one_coordinate_is_kept() {
    for preset in [Preset::Small, Preset::Fast] {
        for axis in 0..3 {
            for tolerance in [1e-2, 1e-4, 1e-5] {
                let mut wanted = Options { preset, tolerance: Tolerance::Relative(tolerance), ..options() };
                // With normals, positions may be finer, in the two meshes by different factors.
                wanted.channels.normals = false;
                let (reel, report) = verified(&field(axis, 0.0), &wanted);
                let stream = &reel.description().meshes[0].streams[0];
                assert_eq!(stream.coding, Coding::Heights, "{axis} {tolerance}");
                // Sideways motion needs all three coordinates.
                let (reel, other) = verified(&field(axis, 0.4), &wanted);
                let stream = &reel.description().meshes[0].streams[0];
                assert_eq!(stream.coding, Coding::FixedPoint);
                assert!(report.meshes[0].position_bytes < other.meshes[0].position_bytes);
            }
        }
    }
}

#[test]
fn e13_damaged_heights_are_refused() {
    let scene = field(2, 0.0);
    let (bytes, _) = compiled(&scene, &options());
    let reel = opened(bytes);
    let mesh = &reel.description().meshes[0];
    let (mut packed, at) = (Vec::new(), mesh.values);
    reel.reader().read_chunk(at.chunk as usize, &mut packed).unwrap();
    let mut content = vec![0; Decompressor::raw_size(&packed).unwrap()];
    Decompressor::new().decompress(&packed, &mut content).unwrap();
    let values = &content[at.offset as usize..][..at.size as usize];
    let mut points = vec![0; mesh.vertices as usize];
    let used = weld::decode(values, mesh.points, &mut points).unwrap();
    let (bytes, _) = take_length_prefixed(&values[used..]).unwrap();
    let indices = reel.indices(0).unwrap();
    let mut shape = GridShape { width: 24, height: 17, closed: false, reversed: false };
    let levels = hierarchy::build_with_grid(Some(&shape), mesh.points, &indices);
    let read = |bytes: &[u8], shape: &GridShape| {
        height::decode(bytes, levels.clone(), shape, &mut TableSets::default()).is_ok()
    };
    assert!(read(bytes, &shape));
    for cut in 0..bytes.len() {
        let mut other = bytes.to_vec();
        other[cut] ^= 1 << (cut % 8);
        read(&other, &shape);
        if cut < 40 {
            assert!(!read(&bytes[..cut], &shape));
        }
    }
    let with = |at: usize, number: f32| {
        let mut other = bytes.to_vec();
        other[at..at + 4].copy_from_slice(&number.to_le_bytes());
        other
    };
    for number in [f32::NAN, f32::INFINITY, 1e30, -1e9] {
        assert!(!read(&with(1, number), &shape));
        assert!(!read(&with(5, number), &shape));
    }
    assert!(!read(&[&[3], &bytes[1..]].concat(), &shape));
    shape.height += 1;
    assert!(!read(bytes, &shape));
}

#[test]
fn e13_a_grid_with_a_hole_is_none() {
    let mut scene = waves(20, 9, false);
    let mut indices = Vec::new();
    scene.meshes[0].face_indices.read(0, &mut indices).unwrap();
    indices.truncate(indices.len() - 4);
    scene.meshes[0].face_counts = Channel::constant(vec![4; indices.len() / 4]);
    scene.meshes[0].face_indices = Channel::constant(indices);
    let (reel, report) = verified(&scene, &options());
    assert_eq!((reel.grid(0).unwrap(), report.meshes[0].grid), (None, None));
}

#[test]
fn e13_corpus_grids_are_found() {
    let Some(corpus) = corpus_if_thorough() else { return };
    for (name, grid) in [("f_ocean_height", [82, 82]), ("f_ocean_choppy", [65, 65])] {
        let path = corpus.join(format!("alembic/gen/{name}.abc"));
        let scene = meshreel_read::open(&path, &meshreel_read::ReadOptions::default()).unwrap().0;
        let (reel, report) = verified(&scene, &options());
        assert_eq!(reel.grid(0).unwrap(), Some(grid));
        let coding = reel.description().meshes[0].streams[0].coding;
        assert_eq!(coding == Coding::Heights, name == "f_ocean_height");
        println!("{name}: {} bytes", report.meshes[0].bytes);
    }
}

/// Returns samples of uvs, one value per corner, for these frames of a mesh, which an exporter declares to be
/// a second apart.
fn uvs_by_second(mesh: &Mesh, frames: impl Iterator<Item = usize>) -> Attribute<[f32; 2]> {
    let mut corners = Vec::new();
    let of = |frame: usize| {
        mesh.face_indices.read(frame, &mut corners).unwrap();
        let value = |&p: &i32| [(p % 7) as f32 / 7.0, (frame % 3) as f32 / 3.0];
        corners.iter().map(value).collect()
    };
    let second = TimeSampling::Uniform { start: 0.0, step: 1.0 };
    Attribute {
        name: "uv".into(),
        scope: Scope::FaceVarying,
        values: Channel::in_memory(second, frames.map(of).collect()),
        indices: None,
    }
}

#[test]
fn frames_of_nothing_cost_no_uvs_and_no_time() {
    // Two frames are empty, and the exporter has written no uvs for them.
    let mut scene = tube(8, |frame| 5 + frame % 3);
    let empty = |frame: usize| frame == 2 || frame == 5;
    let mesh = &mut scene.meshes[0];
    mesh.uvs = vec![uvs_by_second(mesh, (0..8).filter(|&f| !empty(f)))];
    fn without<T: Clone + Send + Sync + 'static>(
        channel: &Channel<T>,
        empty: impl Fn(usize) -> bool,
    ) -> Channel<T> {
        let sample = |frame: usize| {
            let mut out = Vec::new();
            if !empty(frame) {
                channel.read(frame, &mut out).unwrap();
            }
            out
        };
        let samples = (0..channel.len()).map(sample).collect();
        Channel::in_memory((**channel.sampling()).clone(), samples)
    }
    mesh.positions = without(&mesh.positions, empty);
    mesh.face_counts = without(&mesh.face_counts, empty);
    mesh.face_indices = without(&mesh.face_indices, empty);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.abc");
    alembic::write(&path, &scene, &mut |_, _| ()).unwrap();
    let (scene, _) = meshreel_read::open(&path, &meshreel_read::ReadOptions::default()).unwrap();
    assert_eq!(scene.meshes[0].uvs.len(), 1);
    for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
        let (reel, report) = verified(&scene, &Options { preset, ..options() });
        assert_eq!(reel.frame_count(), 8);
        assert!(report.remarks.is_empty(), "{:?}", report.remarks);
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        for frame in (0..8).filter(|&f| !empty(f)) {
            decoder.decode(frame).unwrap();
            let mut uvs = vec![9.0; 2 * decoder.mesh(0).vertex_count()];
            decoder.mesh(0).uvs_into(0, &mut uvs).unwrap();
            let shift = (frame % 3) as f32 / 3.0;
            assert!(uvs.chunks(2).all(|uv| (uv[1] - shift).abs() < 1e-3), "{frame}: {uvs:?}");
        }
    }
}

#[test]
fn attributes_that_only_repeat_add_no_frames_and_others_are_remarked_upon() {
    let mut scene = tube(8, |_| 5);
    let mesh = &mut scene.meshes[0];
    // A second apart, of 20 samples: the first two differ, then nothing changes; or all differ.
    let other = |samples: &[usize]| uvs_by_second(mesh, samples.iter().copied());
    let mut still = vec![0; 20];
    still[0] = 1;
    let (still, changing) = (other(&still), other(&(0..20).map(|i| i % 8).collect::<Vec<_>>()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.abc");
    // A file tells which samples are equal.
    let frames = |scene: &Scene| {
        alembic::write(&path, scene, &mut |_, _| ()).unwrap();
        let (scene, _) = meshreel_read::open(&path, &meshreel_read::ReadOptions::default()).unwrap();
        let (reel, report) = verified(&scene, &options());
        let remarks: Vec<String> = report.remarks.iter().map(ToString::to_string).collect();
        (reel.frame_count(), remarks.join("\n"))
    };
    scene.meshes[0].uvs = vec![still];
    let (count, remarks) = frames(&scene);
    // One more, at the second in which they have changed.
    assert_eq!(count, 9, "{remarks}");
    scene.meshes[0].uvs = vec![changing];
    let (count, remarks) = frames(&scene);
    assert!(count > 20 && remarks.contains("--range 0s:"), "{count} {remarks}");
}
