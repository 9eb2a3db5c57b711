//! Tests of compiled files through the runtime: times, frames, nodes, streams.

use std::f32::consts::TAU;
use std::sync::Arc;

use crate::cli::common::run;
use glam::{DMat4, DVec3};
use meshreel::{FrameDecoder, FrameKind, Limits, Reel};
use meshreel_codec::record::{Method, Semantic, StreamRecord};
use meshreel_compile::{Silent, compile};
use meshreel_options::{BlockChoice, Options, Preset, Tolerance};
use meshreel_scene::{
    Attribute, Channel, Error, Mesh, Node, NodeKind, Scene, Scope, Source, TimeSampling, Topology, Transform,
};

/// Returns a sampling with sample i at i / rate.
fn rate(rate: f64) -> TimeSampling {
    TimeSampling::Uniform { start: 0.0, step: 1.0 / rate }
}

fn node(path: &str, parent: Option<usize>, mesh: Option<usize>) -> Node {
    Node {
        name: path.rsplit('/').next().unwrap().into(),
        parent,
        mesh,
        ..Node::new(
            path,
            match mesh {
                Some(_) => NodeKind::PolyMesh,
                None => NodeKind::Xform,
            },
        )
    }
}

fn moved(mut node: Node, matrix: Channel<DMat4>) -> Node {
    node.transform = Some(Transform { local: matrix.into(), inherits: None });
    node
}

fn shift(x: f64) -> DMat4 {
    DMat4::from_translation(DVec3::new(x, 0.0, 0.0))
}

/// Samples that the source identifies as equal.
struct Same<T>(usize, Vec<T>);

impl<T: Clone + Send + Sync> Source<T> for Same<T> {
    fn len(&self) -> usize {
        self.0
    }
    fn identity(&self, _: usize) -> u128 {
        0
    }
    fn read(&self, _: usize, out: &mut Vec<T>) -> Result<(), Error> {
        out.clone_from(&self.1);
        Ok(())
    }
}

/// Returns `frames` samples, all equal to `values`.
fn same<T: Clone + Send + Sync + 'static>(
    sampling: TimeSampling,
    frames: usize,
    values: Vec<T>,
) -> Channel<T> {
    Channel::new(Arc::new(sampling), Arc::new(Same(frames, values)))
}

/// Returns the points of a waving sheet of `side` × `side` points at `time`.
fn wave(side: usize, time: f32) -> Vec<[f32; 3]> {
    (0..side * side)
        .map(|i| {
            let (x, y) = ((i % side) as f32, (i / side) as f32);
            [x, y, (x * 0.5 + TAU * time).sin() + (y * 0.3).cos()]
        })
        .collect()
}

fn quads(side: usize) -> Vec<i32> {
    let corner = |x: usize, y: usize| (y * side + x) as i32;
    (0..side - 1)
        .flat_map(|y| (0..side - 1).map(move |x| (x, y)))
        .flat_map(|(x, y)| [corner(x, y), corner(x + 1, y), corner(x + 1, y + 1), corner(x, y + 1)])
        .collect()
}

fn mesh(path: &str, side: usize, positions: Channel<[f32; 3]>) -> Mesh {
    Mesh::new(
        path,
        positions,
        Channel::constant(vec![4; (side - 1) * (side - 1)]),
        Channel::constant(quads(side)),
    )
}

/// Returns a waving sheet with `frames` samples.
fn waving(path: &str, side: usize, sampling: TimeSampling, frames: usize) -> Mesh {
    let samples = (0..frames).map(|i| wave(side, sampling.time(i) as f32)).collect();
    mesh(path, side, Channel::in_memory(sampling, samples))
}

fn scene(nodes: Vec<Node>, meshes: Vec<Mesh>) -> Scene {
    Scene { nodes, meshes, ..Scene::default() }
}

fn bytes_of(scene: &Scene, options: &Options) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    compile(scene.clone(), Vec::new(), &path, options, &meshreel_check::reopen, &Silent).unwrap();
    std::fs::read(&path).unwrap()
}

fn compiled(scene: &Scene, options: &Options) -> Reel {
    Reel::from_source(Arc::new(bytes_of(scene, options)), &Limits::default()).unwrap()
}

fn times(reel: &Reel) -> Vec<f64> {
    reel.frames().iter().map(|f| f.time).collect()
}

fn stream(reel: &Reel, mesh: usize, semantic: Semantic) -> &StreamRecord {
    let streams = &reel.description().meshes[mesh].streams;
    streams.iter().find(|s| s.semantic == semantic).unwrap()
}

/// A finished file that cannot be reopened never replaces anything, and no file is left behind.
#[test]
fn a_finished_file_is_opened_before_it_gets_its_name() {
    let scene = scene(vec![node("/a", None, Some(0))], vec![waving("/a", 4, rate(24.0), 7)]);
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("a.reel");
    std::fs::write(&target, "older").unwrap();
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    let with = |inspect: meshreel_compile::Inspect<'_>, dry_run: bool| {
        let options = Options { dry_run, ..Options::default() };
        compile(scene.clone(), Vec::new(), &target, &options, inspect, &Silent)
    };
    let refused = with(
        &|path| {
            let reel = Reel::open(path, &Limits::default())?;
            assert_eq!(reel.frame_count(), 7);
            assert_eq!((path.parent(), files()), (Some(dir.path()), 2));
            Err("no")?
        },
        false,
    );
    let line = refused.unwrap_err().to_string();
    assert!(line.contains("refused") && line.ends_with("a.reel is as it was: no"), "{line}");
    assert_eq!((files(), &std::fs::read(&target).unwrap()[..]), (1, &b"older"[..]));
    // There is nothing to open.
    with(&|_| Err("no")?, true).unwrap();
    with(&meshreel_check::reopen, false).unwrap();
    assert_eq!(files(), 1);
    Reel::open(&target, &Limits::default()).unwrap();
}

/// Reopening refuses a file that does not decode.
#[test]
fn reopening_decodes_everything() {
    let options = Options { preset: Preset::Fast, ..Options::default() };
    let scene = scene(vec![node("/a", None, Some(0))], vec![waving("/a", 8, rate(24.0), 70)]);
    let bytes = bytes_of(&scene, &options);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.reel");
    std::fs::write(&path, &bytes).unwrap();
    meshreel_check::reopen(&path).unwrap();
    let chunks = Reel::open(&path, &Limits::default()).unwrap().chunks().to_vec();
    for chunk in chunks {
        let mut broken = bytes.clone();
        broken[(chunk.offset + u64::from(chunk.size) / 2) as usize] ^= 1;
        std::fs::write(&path, &broken).unwrap();
        let error = meshreel_check::reopen(&path).unwrap_err();
        let error = error.downcast::<meshreel::Error>().unwrap();
        assert!(matches!(*error, meshreel::Error::Malformed { .. }), "{error}");
    }
}

/// Times of two rates are merged, each once; a channel with equal samples adds none.
#[test]
fn frames_are_at_all_times_at_which_something_changes() {
    let mut still = node("/still", None, None);
    still.visibility = Some(same(rate(60.0), 60, vec![1]));
    let still = moved(still, same(rate(29.97), 30, vec![shift(1.0)]));
    // Slightly later than the others, but within the same time.
    let late = TimeSampling::Uniform { start: 4e-6, step: 1.0 / 24.0 };
    let shifts = (0..7).map(|i| vec![shift(f64::from(i))]).collect();
    let scene = scene(
        vec![
            still,
            node("/still/a", Some(0), Some(0)),
            moved(node("/b", None, None), Channel::in_memory(late, shifts)),
            node("/b/b", Some(2), Some(1)),
        ],
        vec![waving("/still/a", 4, rate(24.0), 7), waving("/b/b", 4, rate(20.0), 6)],
    );
    let reel = compiled(&scene, &Options::default());
    let mut expected: Vec<f64> = (0..7).map(|i| f64::from(i) / 24.0).collect();
    expected.extend([1, 2, 3, 4].map(|i| f64::from(i) / 20.0));
    // 5 / 20 equals 6 / 24.
    expected.sort_by(f64::total_cmp);
    let times = times(&reel);
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (time, expected) in times.iter().zip(&expected) {
        assert!((time - expected).abs() <= 1e-5, "{times:?}");
    }
}

#[test]
fn a_channel_that_stands_still_is_stored_once() {
    let side = 6;
    let mut moving = waving("/a", side, rate(24.0), 10);
    let corners = 4 * (side - 1) * (side - 1);
    let per_frame =
        |f: usize| -> Vec<[f32; 4]> { (0..corners).map(|_| [f as f32 / 10.0, 0.5, 0.25, 1.0]).collect() };
    moving.uvs = vec![Attribute {
        name: "st".into(),
        scope: Scope::FaceVarying,
        // Ten samples, all equal.
        values: Channel::in_memory(rate(24.0), vec![vec![[0.25, 0.75]; corners]; 10]),
        indices: None,
    }];
    moving.colours = vec![Attribute {
        name: "Cd".into(),
        scope: Scope::FaceVarying,
        values: Channel::in_memory(rate(24.0), (0..10).map(per_frame).collect()),
        indices: None,
    }];
    let still = mesh("/b", side, Channel::in_memory(rate(24.0), vec![wave(side, 0.0); 10]));
    let scene = scene(vec![node("/a", None, Some(0)), node("/b", None, Some(1))], vec![moving, still]);
    let reel = compiled(&scene, &Options::default());
    let [a, b] = &reel.description().meshes[..] else { panic!() };
    assert!(a.method.deforms() && b.method == Method::Static);
    assert!(stream(&reel, 0, Semantic::Position).animated);
    assert!(stream(&reel, 0, Semantic::Colour).animated);
    assert!(!stream(&reel, 0, Semantic::Uv).animated);
    assert!(b.streams.iter().all(|s| !s.animated));
}

#[test]
fn transforms_that_can_be_merged_are() {
    let still = |path: &str, parent, x| moved(node(path, parent, None), Channel::constant(vec![shift(x)]));
    let shifts = (0..10).map(|i| vec![shift(f64::from(i))]).collect();
    let scene = scene(
        vec![
            still("/a", None, 1.0),
            still("/a/b", Some(0), 10.0),
            node("/a/b/mesh", Some(1), Some(0)),
            still("/a/empty", Some(0), 5.0),
            moved(node("/a/moving", Some(0), None), Channel::in_memory(rate(24.0), shifts)),
            still("/a/moving/c", Some(4), 100.0),
            node("/a/moving/c/mesh", Some(5), Some(1)),
        ],
        vec![waving("/a/b/mesh", 4, rate(24.0), 10), waving("/a/moving/c/mesh", 5, rate(24.0), 10)],
    );
    let reel = compiled(&scene, &Options::default());
    let nodes = &reel.description().nodes;
    assert!(nodes.len() <= 4, "{nodes:#?}");
    assert_eq!(nodes.iter().filter(|n| n.animated).count(), 1);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for frame in [0, 7] {
        decoder.decode(frame).unwrap();
        for (n, node) in nodes.iter().enumerate() {
            let x = match node.mesh {
                Some(0) => 11.0,
                Some(_) => 101.0 + frame as f64,
                None => continue,
            };
            assert!((decoder.world(n)[0][3] - x).abs() < 1e-4, "{}", node.path);
        }
    }
}

#[test]
fn equal_meshes_are_stored_once() {
    let sheet = |path: &str| waving(path, 8, rate(24.0), 5);
    let alone = scene(vec![node("/a", None, Some(0))], vec![sheet("/a")]);
    let twice =
        scene(vec![node("/a", None, Some(0)), node("/b", None, Some(1))], vec![sheet("/a"), sheet("/b")]);
    let mut other = sheet("/b");
    let mut samples: Vec<_> = (0..5).map(|i| wave(8, i as f32 / 24.0)).collect();
    samples[4][63][2] += 0.5;
    other.positions = Channel::in_memory(rate(24.0), samples);
    let different =
        scene(vec![node("/a", None, Some(0)), node("/b", None, Some(1))], vec![sheet("/a"), other]);
    let options = Options::default();
    let meshes = |scene: &Scene| compiled(scene, &options).description().meshes.len();
    assert_eq!(meshes(&alone), 1);
    assert_eq!(meshes(&twice), 1);
    assert_eq!(meshes(&different), 2, "one point in the last frame differs");
}

#[test]
fn index_frames_stand_at_both_ends_and_not_too_far_apart() {
    let scene = scene(vec![node("/a", None, Some(0))], vec![waving("/a", 8, rate(24.0), 24)]);
    for every in [1, 5, 16, 64] {
        let options = Options { preset: Preset::Classic, index_every: Some(every), ..Options::default() };
        let reel = compiled(&scene, &options);
        let kinds: Vec<FrameKind> = (0..reel.frame_count()).map(|f| reel.frame_kind(f)).collect();
        let at: Vec<usize> = (0..24).filter(|&i| kinds[i] == FrameKind::Index).collect();
        assert_eq!((at[0], at[at.len() - 1]), (0, 23));
        assert!(at.windows(2).all(|w| w[1] - w[0] <= every), "{at:?}");
        assert_eq!(at.len() == 24, every == 1, "{at:?}");
    }
}

/// Bounds are stored in 255ths of the file's box: never too small, and hardly too large.
#[test]
fn boxes_hold_what_is_shown() {
    let frames = 9;
    let away = (0..frames).map(|i| vec![shift(i as f64 * 3.7)]).collect();
    let nodes = vec![
        moved(node("/a", None, Some(0)), Channel::in_memory(rate(24.0), away)),
        node("/b", None, Some(1)),
    ];
    let meshes = vec![waving("/a", 5, rate(24.0), frames), waving("/b", 8, rate(24.0), frames)];
    let reel = compiled(&scene(nodes, meshes), &Options::default());
    let all = reel.reader().header().bounds;
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for frame in 0..reel.frame_count() {
        decoder.decode(frame).unwrap();
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for (n, record) in reel.description().nodes.iter().enumerate() {
            let Some(mesh) = record.mesh else {
                continue;
            };
            let mesh = decoder.mesh(mesh as usize);
            let mut positions = vec![0.0; 3 * mesh.vertex_count()];
            mesh.positions_into(&mut positions).unwrap();
            let world = decoder.world(n);
            for p in positions.as_chunks::<3>().0 {
                let [x, y, z] = p.map(f64::from);
                for (k, row) in world.iter().enumerate() {
                    let side = row[0] * x + row[1] * y + row[2] * z + row[3];
                    low[k] = low[k].min(side);
                    high[k] = high[k].max(side);
                }
            }
        }
        let bounds = reel.frame_bounds(frame).map(f64::from);
        for k in 0..3 {
            let grain = f64::from(all[k + 3] - all[k]) / 254.0;
            assert!(bounds[k] <= low[k] && low[k] - bounds[k] < grain);
            assert!(bounds[k + 3] >= high[k] && bounds[k + 3] - high[k] < grain);
        }
    }
}

/// Nor do they depend on the memory limit.
#[test]
fn bytes_do_not_depend_on_threads() {
    let mut water = waving("/c", 6, rate(24.0), 12);
    let sides = |i: usize| if i.is_multiple_of(2) { 6 } else { 5 };
    water.topology = Topology::Heterogeneous;
    water.positions = Channel::in_memory(rate(24.0), (0..12).map(|i| wave(sides(i), i as f32)).collect());
    water.face_indices = Channel::in_memory(rate(24.0), (0..12).map(|i| quads(sides(i))).collect());
    let counts = |i: usize| vec![4; (sides(i) - 1) * (sides(i) - 1)];
    water.face_counts = Channel::in_memory(rate(24.0), (0..12).map(counts).collect());
    let scene = scene(
        vec![node("/a", None, Some(0)), node("/b", None, Some(1)), node("/c", None, Some(2))],
        vec![waving("/a", 20, rate(24.0), 12), waving("/b", 7, rate(30.0), 15), water],
    );
    let bytes = |jobs, memory| {
        let options = Options { jobs, memory, ..Options::default() };
        bytes_of(&scene, &options)
    };
    let one = bytes(1, 512 << 20);
    for jobs in [1, 2, 5] {
        assert!(bytes(jobs, 512 << 20) == one, "{jobs} threads");
    }
    assert!(bytes(3, 1 << 20) == one, "little memory");
}

/// Changing faces are accepted, and each frame has its own.
#[test]
fn topology_may_change() {
    let sides = [4, 7, 5];
    let mut water = waving("/w", 4, rate(24.0), 3);
    water.topology = Topology::Heterogeneous;
    water.positions = Channel::in_memory(rate(24.0), sides.map(|s| wave(s, 0.1)).into());
    water.face_indices = Channel::in_memory(rate(24.0), sides.map(quads).into());
    let counts = sides.map(|s| vec![4; (s - 1) * (s - 1)]);
    water.face_counts = Channel::in_memory(rate(24.0), counts.into());
    let scene = scene(vec![node("/w", None, Some(0))], vec![water]);
    let reel = compiled(&scene, &Options::default());
    assert_eq!(reel.description().meshes[0].method, Method::Fluid);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for frame in [2, 0, 1, 0] {
        decoder.decode(frame).unwrap();
        let view = decoder.mesh(0);
        let side = sides[frame];
        assert_eq!(view.vertex_count(), side * side);
        assert_eq!(view.indices().len(), 6 * (side - 1) * (side - 1));
    }
}

/// A component takes one byte, and its error is at most half a quantization step.
#[test]
fn colours_take_a_byte_for_each_component() {
    let side = 5;
    let mut sheet = waving("/a", side, rate(24.0), 3);
    let colours: Vec<[f32; 4]> = (0..side * side)
        .map(|i| {
            let t = i as f32 / 24.0;
            [t, 1.0 - t, t * t, 1.0]
        })
        .collect();
    sheet.colours = vec![Attribute {
        name: "Cd".into(),
        scope: Scope::Vertex,
        values: Channel::constant(colours.clone()),
        indices: None,
    }];
    let scene = scene(vec![node("/a", None, Some(0))], vec![sheet]);
    let reel = compiled(&scene, &Options::default());
    let record = stream(&reel, 0, Semantic::Colour);
    assert_eq!((record.word, record.axes.len()), (1, 4));
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(1).unwrap();
    let map = reel.source_map(0).unwrap().unwrap();
    let mut out = vec![0.0; 4 * map.vertex_point.len()];
    decoder.mesh(0).colours_into(0, &mut out).unwrap();
    for (decoded, &point) in out.as_chunks::<4>().0.iter().zip(&map.vertex_point) {
        for (a, b) in decoded.iter().zip(colours[point as usize]) {
            assert!((a - b).abs() <= 0.5 / 255.0 + 1e-6, "{a} and {b}");
        }
    }
}

/// Negative and repeating texture coordinates keep their bound; nothing wraps.
#[test]
fn texture_coordinates_reach_as_far_as_they_like() {
    let side = 5;
    let mut sheet = waving("/a", side, rate(24.0), 3);
    let uvs: Vec<[f32; 2]> = (0..side * side).map(|i| [i as f32 * 7.77 - 100.0, -0.001 * i as f32]).collect();
    sheet.uvs = vec![Attribute {
        name: "st".into(),
        scope: Scope::Vertex,
        values: Channel::constant(uvs.clone()),
        indices: None,
    }];
    let scene = scene(vec![node("/a", None, Some(0))], vec![sheet]);
    for bound in [1e-2, 1.0 / 4096.0, 1e-4] {
        let options = Options { uv_tolerance: bound, ..Options::default() };
        let reel = compiled(&scene, &options);
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        decoder.decode(2).unwrap();
        let map = reel.source_map(0).unwrap().unwrap();
        let mut out = vec![0.0; 2 * map.vertex_point.len()];
        decoder.mesh(0).uvs_into(0, &mut out).unwrap();
        for (decoded, &point) in out.as_chunks::<2>().0.iter().zip(&map.vertex_point) {
            let [u, v] = uvs[point as usize];
            let error = f64::from(decoded[0] - u).hypot(f64::from(decoded[1] - v));
            assert!(error <= bound, "{error} at {u} {v}");
        }
    }
}

/// Small tolerances take more bits than 16, wide ones fewer than 8, and each axis as many as it needs.
#[test]
fn bits_follow_from_tolerance_and_size() {
    let stretched = |i: usize| -> Vec<[f32; 3]> {
        (wave(6, i as f32 / 24.0).into_iter()).map(|[x, y, z]| [1000.0 * x, y, 0.001 * z]).collect()
    };
    let mut sheet = waving("/a", 6, rate(24.0), 3);
    sheet.positions = Channel::in_memory(rate(24.0), (0..3).map(stretched).collect());
    let scene = scene(vec![node("/a", None, Some(0))], vec![sheet]);
    let axes = |tolerance: f64| {
        let options = Options {
            preset: Preset::Classic,
            tolerance: Tolerance::Absolute(tolerance),
            ..Options::default()
        };
        let reel = compiled(&scene, &options);
        let record = stream(&reel, 0, Semantic::Position).clone();
        (record.axes.iter().map(|a| a.bits()).collect::<Vec<_>>(), record.word)
    };
    let (fine, word) = axes(0.005);
    assert!(fine[0] > 16 && fine[0] > fine[1] && fine[1] > fine[2], "{fine:?}");
    assert_eq!(word, 4);
    let (coarse, word) = axes(100.0);
    assert!(coarse.iter().all(|&bits| bits <= 8), "{coarse:?}");
    assert_eq!(word, 1);
}

/// Still nodes, and still components of moving ones, cost nearly nothing in a frame.
#[test]
fn transforms_cost_only_what_moves() {
    let count = 50;
    let size = |moving: usize| {
        let nodes = (0..count).flat_map(|n| {
            // All move in the first two frames, then only the first `moving` ones.
            let samples = (0..40).map(|f: usize| {
                let f = if n < moving { f } else { f.min(1) };
                vec![shift((n * 10 + f) as f64)]
            });
            let path = format!("/n{n}");
            let parent = moved(node(&path, None, None), Channel::in_memory(rate(24.0), samples.collect()));
            [parent, node(&format!("{path}/m"), Some(2 * n), Some(n))]
        });
        let meshes =
            (0..count).map(|n| mesh(&format!("/n{n}/m"), 3, Channel::constant(wave(3, 0.0)))).collect();
        let options = Options { preset: Preset::Classic, block: BlockChoice::Store, ..Options::default() };
        compiled(&scene(nodes.collect(), meshes), &options).frame_bytes()
    };
    let raw = 40 * count as u64 * 40;
    let (all, one) = (size(count), size(1));
    assert!(all < raw / 5, "one of ten components moves: {all} of {raw}");
    assert!(one < all / 3, "one of {count} nodes moves: {one} of {all}");
}

#[test]
fn what_is_coarser_is_not_larger() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs");
    for name in ["a_flag_wind.abc", "d_snake_skinned.abc"] {
        let input = folder.join(name);
        let (scene, _) = meshreel_read::open(&input, &Default::default()).unwrap();
        let size = |percent: f64| {
            let options = Options {
                tolerance: Tolerance::Relative(percent / 100.0),
                effort: 1,
                range: Some(meshreel_scene::sample::TimeRange::Frames(0, 20)),
                ..Options::default()
            };
            bytes_of(&scene, &options).len()
        };
        // Normals are predicted from positions, which must not be coarser than normals allow.
        let [coarse, fine] = [1.0, 0.01].map(size);
        assert!(coarse as f64 <= 1.1 * fine as f64, "{name}: {coarse} {fine}");
    }
}

#[test]
fn info_tells_what_each_stream_takes() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/v0");
    for name in ["flag_fast", "flag_small", "flag_apart", "wall_fast"] {
        let info = run(["info", "--json", &format!("{golden}/{name}.reel")]).expect(0).json();
        let mesh = &info["meshes"][0];
        let sizes: Vec<u64> =
            mesh["streams"].as_array().unwrap().iter().filter_map(|s| s["frame_bytes"].as_u64()).collect();
        let [positions, tangents] = sizes[..] else { panic!("{name}: two streams move: {sizes:?}") };
        assert!(tangents > 1000 && positions > tangents, "{name}: {sizes:?}");
        // The rest of the mesh is static.
        let all = mesh["bytes"].as_u64().unwrap();
        assert!(positions + tangents < all, "{name}: {sizes:?} of {all}");
    }
}
