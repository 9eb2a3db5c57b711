//! Tests of meshes that bones move: detection, tolerance, size, and damaged bytes.

use glam::{DAffine3, DMat4, DQuat, DVec3};
use meshreel::{FrameDecoder, Reel};
use meshreel_check::verify;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::mesh::skin::Skin;
use meshreel_codec::mesh::table_sets::TableSets;
use meshreel_codec::record::{ChunkLocation, Coding, Method};
use meshreel_codec::topology::grid::GridShape;
use meshreel_codec::topology::{compact, weld};
use meshreel_compile::{Report, Silent, compile};
use meshreel_options::{MethodChoice, Options, PartsChoice, Preset, Tolerance};
use meshreel_scene::{
    Attribute, Channel, FaceSet, Mesh, Node, NodeKind, Scene, Scope, Skin as Skinning, TimeSampling,
};
use meshreel_testkit::{bundled, opened, verified};
use std::sync::Arc;

const FRAMES: usize = 41;

fn compiled(scene: &Scene, options: &Options) -> (Reel, Report) {
    let (bytes, report) = meshreel_testkit::compiled(scene, options);
    (opened(bytes), report)
}

fn options(method: MethodChoice) -> Options {
    Options { method, effort: 3, tolerance: Tolerance::Relative(1e-4), ..Options::default() }
}

/// One mesh, made of pieces.
#[derive(Default)]
struct MeshBuilder {
    frames: Vec<Vec<[f32; 3]>>,
    faces: Vec<[i32; 4]>,
}

impl MeshBuilder {
    fn add(&mut self, points: &[DVec3], faces: &[[i32; 4]], at: impl Fn(usize, DVec3) -> DVec3) {
        self.frames.resize(FRAMES, Vec::new());
        let first = self.frames[0].len() as i32;
        self.faces.extend(faces.iter().map(|f| f.map(|v| v + first)));
        for (f, frame) in self.frames.iter_mut().enumerate() {
            frame.extend(points.iter().map(|&p| at(f, p).as_vec3().to_array()));
        }
    }

    /// Adds a cube that falls and rotates from its own time on.
    fn cube(&mut self, seed: usize) {
        let s = seed as f64;
        let middle = DVec3::new((seed % 5) as f64, (seed / 5) as f64, 0.3 * s.sin()) * 1.1;
        let points: Vec<DVec3> = (0..8)
            .map(|i| {
                let corner = [1, 2, 4].map(|bit| if i & bit == 0 { -0.5 } else { 0.5 });
                middle + DVec3::from_array(corner)
            })
            .collect();
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        self.add(&points, &faces, |f, p| {
            let t = (f as f64 - 4.0 - s % 9.0).max(0.0) / 24.0;
            let axis = DVec3::new((s * 1.7).sin(), (s * 2.3).cos(), 0.3).normalize();
            let turn = DQuat::from_axis_angle(axis, (1.0 + s % 3.0) * t);
            middle + turn * (p - middle) + DVec3::new(0.5 * t, 0.3 * s * t, -4.9 * t * t)
        });
    }

    /// Adds a sheet of `n`² points, moved by `at`.
    fn sheet(&mut self, n: usize, from: DVec3, at: impl Fn(usize, DVec3) -> DVec3) {
        let side = |i: usize| i as f64 / (n - 1) as f64 * 4.0;
        let points: Vec<DVec3> =
            (0..n * n).map(|i| from + DVec3::new(side(i % n), side(i / n), 0.0)).collect();
        let faces: Vec<[i32; 4]> = (0..(n - 1) * (n - 1))
            .map(|i| {
                let v = (i % (n - 1) + i / (n - 1) * n) as i32;
                [v, v + 1, v + 1 + n as i32, v + n as i32]
            })
            .collect();
        self.add(&points, &faces, at);
    }

    fn scene(self) -> Scene {
        let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
        let count = self.faces.len();
        Scene {
            nodes: vec![Node { mesh: Some(0), samples: FRAMES, ..Node::new("/pieces", NodeKind::PolyMesh) }],
            meshes: vec![Mesh::new(
                "/pieces",
                Channel::in_memory(times, self.frames),
                Channel::constant(vec![4; count]),
                Channel::constant(self.faces.as_flattened().to_vec()),
            )],
            ..Scene::default()
        }
    }
}

/// Returns twenty cubes, one of which stands still, and a waving sheet.
pub fn mixed() -> Scene {
    let mut pieces = MeshBuilder::default();
    (0..20).for_each(|seed| pieces.cube(seed));
    pieces.sheet(14, DVec3::new(0.0, -6.0, 0.0), |f, p| {
        let wave = (p.x * 2.0 + f as f64 * 0.3).sin() * (p.y + f as f64 * 0.1).cos();
        p + DVec3::new(0.05 * wave, 0.0, 0.4 * wave)
    });
    pieces.scene()
}

/// Returns a sheet bent by four bones in a row.
fn bent() -> Scene {
    let mut pieces = MeshBuilder::default();
    pieces.sheet(24, DVec3::ZERO, bend);
    pieces.scene()
}

/// Returns the place of a point of the sheet in a frame.
fn bend(f: usize, p: DVec3) -> DVec3 {
    let bone = |b: usize| {
        let mut m = DAffine3::IDENTITY;
        for k in 1..=b {
            let pivot = DVec3::new(k as f64, 0.0, 0.0);
            let angle = 0.6 * (f as f64 * 0.2 + k as f64).sin() - 0.6 * (k as f64).sin();
            let turn = DQuat::from_axis_angle(DVec3::new(0.1 * k as f64, 1.0, 0.2).normalize(), angle);
            m = m
                * DAffine3::from_translation(pivot)
                * DAffine3::from_quat(turn)
                * DAffine3::from_translation(-pivot);
        }
        m
    };
    let weight = |b: usize| (1.0 - (p.x - b as f64 - 0.5).abs()).max(0.0).powi(2);
    let total: f64 = (0..4).map(weight).sum();
    (0..4).map(|b| bone(b).transform_point3(p) * (weight(b) / total)).sum()
}

/// Returns the same beside flying stones, in one mesh.
fn bent_among_stones() -> Scene {
    let mut pieces = MeshBuilder::default();
    (0..40).for_each(|seed| pieces.cube(seed));
    pieces.sheet(24, DVec3::new(0.0, -6.0, 0.0), |f, p| {
        let down = DVec3::new(0.0, 6.0, 0.0);
        bend(f, p + down) - down
    });
    pieces.scene()
}

/// Returns the sheet with another mesh's rig, whose bones never move.
fn bent_with_a_wrong_rig() -> Scene {
    let mut scene = bent();
    let pose = vec![vec![DMat4::IDENTITY; 2]; FRAMES];
    skin(&mut scene.meshes[0], |i, _| vec![((i % 2) as u16, 1.0)], pose);
    scene
}

/// Skins a mesh to two joints: joints and weights of each point by its index and place, and matrices by
/// frame.
fn skin(mesh: &mut Mesh, of: impl Fn(usize, DVec3) -> Vec<(u16, f32)>, pose: Vec<Vec<DMat4>>) {
    let mut points = Vec::new();
    mesh.positions.read(0, &mut points).unwrap();
    let of_point = |(i, p): (usize, &[f32; 3])| of(i, DVec3::from_array(p.map(f64::from)));
    let pairs: Vec<Vec<(u16, f32)>> = points.iter().enumerate().map(of_point).collect();
    mesh.skin = Some(Arc::new(Skinning {
        skeleton: Some(0),
        joints: vec![0, 1],
        inverse_bind: vec![DMat4::IDENTITY; 2],
        influences: pairs[0].len(),
        joint: pairs.iter().flatten().map(|(joint, _)| *joint).collect(),
        weight: pairs.iter().flatten().map(|(_, weight)| *weight).collect(),
        dual_fraction: Arc::new([]),
        pose: Channel::in_memory(mesh.positions.sampling().as_ref().clone(), pose),
        bind_positions: points.into(),
        driven: Vec::new(),
    }));
}

/// Returns a sheet on two bones, one of which has one point alone and a small influence on all others.
fn pulled() -> Scene {
    let joint = |f: usize| {
        let turn = DQuat::from_axis_angle(DVec3::new(0.2, 0.3, 1.0).normalize(), f as f64 * 0.05);
        DAffine3::from_rotation_translation(turn, DVec3::new(0.02 * f as f64, 0.0, 0.0))
    };
    let weight = |p: DVec3| if p == DVec3::ZERO { 1.0 } else { 0.02 };
    let mut pieces = MeshBuilder::default();
    pieces.sheet(24, DVec3::ZERO, |f, p| p * (1.0 - weight(p)) + joint(f).transform_point3(p) * weight(p));
    let mut scene = pieces.scene();
    let of = |_, p| {
        let w = weight(p) as f32;
        vec![(0, 1.0 - w), (1, w)]
    };
    let pose = (0..FRAMES).map(|f| vec![DMat4::IDENTITY, DMat4::from(joint(f))]);
    skin(&mut scene.meshes[0], of, pose.collect());
    scene
}

#[test]
fn e05_a_bone_of_one_point_does_not_throw_others() {
    for preset in [Preset::Small, Preset::Fast] {
        let [skinned, auto] = [MethodChoice::Skinned, MethodChoice::Auto].map(|method| {
            let mut wanted = options(method);
            wanted.preset = preset;
            let (reel, report) = compiled(&pulled(), &wanted);
            holds(&pulled(), &reel);
            (report.meshes[0].method.to_owned(), report.file_bytes)
        });
        // Points alone may take fewer bytes than bones, but auto may not take more.
        assert!(skinned.0 == "skinned" && auto.1 <= skinned.1, "{auto:?} {skinned:?}");
    }
}

#[test]
fn f17_a_rig_of_another_motion_is_remarked_upon_and_bones_are_sought() {
    let scene = bent_with_a_wrong_rig();
    let wanted = options(MethodChoice::Skinned);
    let (_, report) = verified(&scene, &wanted);
    let from: Vec<&str> = report.meshes[0].tried.iter().map(|t| &t.from[..]).collect();
    assert_eq!(from, ["motion"]);
    let said = report.remarks.iter().map(|r| r.to_string());
    assert!(said.collect::<String>().contains("bones are sought in its motion"));
    let target = tempfile::tempdir().unwrap();
    let strict = Options { strict: true, ..wanted };
    let path = target.path().join("a.reel");
    let failed = compile(scene.clone(), Vec::new(), &path, &strict, &meshreel_check::reopen, &Silent);
    assert!(matches!(failed, Err(meshreel_compile::Error::Strict { .. })));
    assert!(!path.exists());
}

fn frame_values(decoder: &FrameDecoder) -> Vec<u32> {
    let mesh = decoder.mesh(0);
    let mut out = vec![0.0; 3 * mesh.vertex_count()];
    mesh.positions_into(&mut out).unwrap();
    out.iter().map(|v| v.to_bits()).collect()
}

/// Frames decoded in any order equal those decoded forward.
fn any_order(reel: &Reel) {
    let frames = reel.frame_count();
    let mut decoder = FrameDecoder::new(reel).unwrap();
    let mut forward = Vec::new();
    for frame in 0..frames {
        decoder.decode(frame).unwrap();
        forward.push(frame_values(&decoder));
    }
    for step in [frames - 1, 7, 23] {
        for i in 0..frames {
            let frame = i * step % frames;
            decoder.decode(frame).unwrap();
            assert!(frame_values(&decoder) == forward[frame], "{step}: {frame}");
        }
    }
}

fn holds(scene: &Scene, reel: &Reel) {
    let found = verify(scene, reel, &|_, _| ()).unwrap();
    assert!(found.ok, "{:#?}", found.failures);
}

#[test]
fn e12_f06_every_piece_of_a_wall_is_found_and_holds() {
    let input = bundled("c_wall_fracture_onemesh.abc");
    let (scene, _) = meshreel_read::open(&input, &meshreel_read::ReadOptions::default()).unwrap();
    let (_, report) = verified(&scene, &options(MethodChoice::Auto));
    let mesh = &report.meshes[0];
    assert_eq!((&mesh.method[..], mesh.parts, mesh.bones), ("rigid", 350, 0));
    let (_, soft) = compiled(&scene, &options(MethodChoice::Soft));
    let (own, other) = (mesh.position_bytes, soft.meshes[0].position_bytes);
    println!("{own} bytes of positions, soft {other}");
    assert!(2 * own < other);
}

#[test]
fn e01_pieces_and_what_is_soft_share_a_mesh() {
    let scene = mixed();
    for preset in [Preset::Small, Preset::Fast] {
        let options = Options { preset, ..options(MethodChoice::Auto) };
        let (reel, report) = verified(&scene, &options);
        let mesh = &report.meshes[0];
        assert_eq!((&mesh.method[..], mesh.parts, mesh.bones), ("rigid", 20, 0));
        let stream = &reel.description().meshes[0].streams[0];
        // The sheet has residuals, and hardly anything else.
        assert!((196..200).contains(&stream.bones.coded), "{stream:?}");
        assert_eq!(stream.coding, Coding::Bones);
        any_order(&reel);
        let soft = Options { method: MethodChoice::Soft, ..options };
        let (_, soft) = compiled(&scene, &soft);
        assert!(mesh.position_bytes < soft.meshes[0].position_bytes);
    }
}

#[test]
fn e05_f17_bones_are_found_and_hold() {
    let scene = bent();
    let (reel, report) = verified(&scene, &options(MethodChoice::Skinned));
    let mesh = &report.meshes[0];
    assert_eq!(mesh.method, "skinned");
    assert!(mesh.bones > 0, "{mesh:?}");
    assert_eq!(reel.description().meshes[0].method, Method::Skinned);
    any_order(&reel);
}

#[test]
fn e01_stones_and_a_skin_share_a_mesh() {
    let scene = bent_among_stones();
    let options = Options { effort: 4, ..options(MethodChoice::Auto) };
    let (reel, report) = verified(&scene, &options);
    let mesh = &report.meshes[0];
    assert_eq!(mesh.method, "skinned", "{mesh:?}");
    assert!(mesh.parts >= 39 && mesh.bones > 0, "{mesh:?}");
    let taken: Vec<_> = mesh.tried.iter().filter(|t| t.chosen).collect();
    assert_eq!(taken.len(), 1);
    assert!(mesh.tried.iter().all(|t| t.bytes >= taken[0].bytes));
    any_order(&reel);
}

#[test]
fn e07_no_method_that_could_be_asked_for_is_smaller() {
    use MethodChoice::{Auto, Rigid, Skinned, Soft};
    for (scene, asked) in [
        (mixed(), &[Soft, Rigid][..]),
        (bent(), &[Soft, Skinned]),
        (bent_among_stones(), &[Soft, Rigid, Skinned]),
    ] {
        let size = |method| {
            let options = Options { effort: 4, ..options(method) };
            compiled(&scene, &options).1.meshes[0].position_bytes
        };
        let auto = size(Auto);
        for &method in asked {
            let own = size(method);
            let limit = if method == Soft { own } else { own * 103 / 100 };
            assert!(auto <= limit, "{auto} but {method:?} {own}");
        }
    }
}

#[test]
fn tolerances_from_coarse_to_fine_hold() {
    let scene = mixed();
    for tolerance in [1e-2, 1e-3, 1e-5, 1e-6] {
        let options = Options { tolerance: Tolerance::Relative(tolerance), ..options(MethodChoice::Rigid) };
        let (_, _) = verified(&scene, &options);
    }
}

#[test]
fn the_bytes_do_not_depend_on_threads() {
    let of = |jobs: usize, scene: &Scene, method| {
        let options = Options { jobs, ..options(method) };
        let (reel, _) = compiled(scene, &options);
        let mut all = Vec::new();
        for chunk in 0..reel.reader().chunks().len() {
            let mut bytes = Vec::new();
            reel.reader().read_chunk(chunk, &mut bytes).unwrap();
            all.extend(bytes);
        }
        all
    };
    for (scene, method) in [(mixed(), MethodChoice::Auto), (bent(), MethodChoice::Skinned)] {
        assert!(of(1, &scene, method) == of(3, &scene, method));
    }
}

#[test]
fn no_static_part_breaks_the_decoder() {
    for (scene, method) in [(mixed(), MethodChoice::Rigid), (bent(), MethodChoice::Skinned)] {
        let (reel, _) = compiled(&scene, &options(method));
        let mesh = &reel.description().meshes[0];
        let located = |at: ChunkLocation| {
            let mut packed = Vec::new();
            reel.reader().read_chunk(at.chunk as usize, &mut packed).unwrap();
            let mut content = vec![0; Decompressor::raw_size(&packed).unwrap()];
            Decompressor::new().decompress(&packed, &mut content).unwrap();
            content[at.offset as usize..][..at.size as usize].to_vec()
        };
        let (connectivity, values) = (located(mesh.connectivity), located(mesh.values));
        let ranges: Vec<[u32; 2]> = mesh.materials.iter().map(|m| [m.first, m.count]).collect();
        let (mut points, mut indices) = (vec![0; mesh.vertices as usize], vec![0; mesh.indices as usize]);
        let compact = compact::decode(&connectivity, mesh.vertices, &ranges, &mut indices);
        let used = if compact.is_ok() { 0 } else { weld::decode(&values, mesh.points, &mut points).unwrap() };
        points = compact.unwrap_or(points);
        let (bytes, _) = meshreel_codec::take_length_prefixed(&values[used..]).unwrap();
        let triangles: Vec<u32> = reel.indices(0).unwrap().iter().map(|&v| points[v as usize]).collect();
        let shape = reel.grid(0).unwrap().map(|[width, height]| GridShape {
            width,
            height,
            closed: false,
            reversed: false,
        });
        let levels = hierarchy::build_with_grid(shape.as_ref(), mesh.points, &triangles);
        let stream = &mesh.streams[0];
        let read = |bytes: &[u8]| {
            let wide = stream.word == 4;
            let sets = &mut TableSets::default();
            Skin::decode(bytes, stream.bones, wide, &levels, &triangles, sets).is_ok()
        };
        assert!(read(bytes));
        let step = (bytes.len() / 300).max(1);
        for cut in (0..bytes.len()).step_by(step) {
            // Some parts end in zeros that need not be written.
            read(&bytes[..cut]);
            let mut other = bytes.to_vec();
            other[cut] ^= 1 << (cut % 8);
            read(&other);
        }
        assert!(!read(&bytes[..bytes.len() / 2]));
    }
}

/// Returns cubes that move for ten frames each, one after the other, and one that shrinks to nothing.
fn arriving(count: usize) -> Scene {
    let mut pieces = MeshBuilder::default();
    for n in 0..count {
        let s = n as f64;
        let middle = DVec3::new((n % 9) as f64, (n / 9) as f64, 0.0) * 1.5;
        let points: Vec<DVec3> = (0..8)
            .map(|i| {
                let corner = [1, 2, 4].map(|bit| if i & bit == 0 { -0.5 } else { 0.5 });
                middle + DVec3::from_array(corner)
            })
            .collect();
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        pieces.add(&points, &faces, |f, p| {
            let t = (f as f64 - 3.0 - (n % 20) as f64).clamp(0.0, 10.0) / 10.0;
            let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.8 * s.cos(), 0.8 * s.sin()), 2.0 * t);
            let size = if n == 7 { 1.0 - t } else { 1.0 };
            middle + turn * (p - middle) * size + DVec3::new(0.2, 0.4, -1.0) * t
        });
    }
    pieces.scene()
}

#[test]
fn e08_e12_e17_e18_packed_transforms_are_read_as_they_are() {
    use meshreel::view::packed::{GROUP_PARTS, PackedRig, PackedSequence};
    let scene = arriving(150);
    let options = Options {
        transforms: meshreel_options::TransformForm::Packed,
        tolerance: Tolerance::Relative(1e-3),
        ..options(MethodChoice::Rigid)
    };
    let (reel, report) = verified(&scene, &options);
    let tolerance = report.meshes[0].tolerance;
    let stream = &reel.description().meshes[0].streams[0];
    assert!(stream.bones.packed() && stream.bones.rigid == 150, "{:?}", stream.bones);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(0).unwrap();
    let rig = PackedRig::new(&decoder.mesh(0)).unwrap();
    assert_eq!(rig.inexact_points, 0);
    assert!(rig.groups.len() >= 3 && rig.groups.iter().all(|g| g.parts as usize <= GROUP_PARTS));
    let drawn: u32 = rig.groups.iter().map(|g| g.indices).sum();
    assert_eq!(drawn, reel.description().meshes[0].indices);
    let sequence = PackedSequence::read(&mut decoder, 0).unwrap();
    let (mut edges, mut places) = (Vec::new(), vec![[0.0; 3]; rig.vertices.len()]);
    let mut positions = vec![0.0; 3 * reel.description().meshes[0].vertices as usize];
    for frame in 0..FRAMES {
        let packed = sequence.frame(frame).unwrap();
        edges.push([packed.left, packed.right]);
        rig.pose(&packed, &mut places);
        decoder.decode(frame).unwrap();
        decoder.mesh(0).positions_into(&mut positions).unwrap();
        for (place, &source) in places.iter().zip(&rig.sources) {
            let decoded = &positions[3 * source as usize..][..3];
            let off = (0..3).map(|k| (place[k] - decoded[k]).powi(2)).sum::<f32>().sqrt();
            // The fixed-point unit of the decoded frame is an eighth of the tolerance.
            assert!(f64::from(off) < 0.125 * tolerance, "frame {frame}: {off}");
        }
    }
    // Parts exist while they move, and the edges only increase.
    assert_eq!(edges[..3], [[0, 0]; 3]);
    assert_eq!(edges[FRAMES - 1], [150, 150]);
    assert!(edges.windows(2).all(|e| e[0][0] <= e[1][0] && e[0][1] <= e[1][1]), "{edges:?}");
    let most = edges.iter().map(|e| e[1] - e[0]).max();
    assert!(most < Some(100), "{edges:?}");
    assert!(sequence.transforms.len() < 150 * FRAMES / 3);
    // The cube that shrank has a null end state.
    let gone = rig.end_transforms.iter().filter(|end| end[2] >> 16 == 0).count();
    assert_eq!(gone, 1);
    // The usual form has no packed rig, and the error says so.
    let (usual, _) = compiled(&arriving(9), &self::options(MethodChoice::Rigid));
    let mut decoder = FrameDecoder::new(&usual).unwrap();
    decoder.decode(0).unwrap();
    let error = PackedRig::new(&decoder.mesh(0)).unwrap_err();
    assert!(error.to_string().contains("--transforms packed"));
}

/// Returns twenty cubes, numbered on their points, one of which is joined to the next by a face.
fn numbered(ids: Attribute<i64>) -> Scene {
    let mut pieces = MeshBuilder::default();
    (0..20).for_each(|seed| pieces.cube(seed));
    pieces.faces.push([0, 1, 9, 8]);
    let mut scene = pieces.scene();
    scene.meshes[0].integers = vec![ids];
    scene
}

fn ids(scope: Scope, values: Vec<Vec<i64>>) -> Attribute<i64> {
    let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    Attribute { name: "piece".into(), scope, values: Channel::in_memory(times, values), indices: None }
}

fn by_point(of: impl Fn(i64) -> i64) -> Vec<i64> {
    (0..160).map(|p| of(p / 8)).collect()
}

/// Compiles with these parts; returns their origin, their number, and the remarks.
fn parts_of(scene: &Scene, parts: PartsChoice) -> (String, usize, String) {
    let wanted = Options { parts, ..options(MethodChoice::Rigid) };
    let (reel, report) = compiled(scene, &wanted);
    holds(scene, &reel);
    let mesh = &report.meshes[0];
    assert_eq!(mesh.tried.len(), 1);
    let remarks = report.remarks.iter().map(|r| r.to_string());
    (mesh.tried[0].from.clone(), mesh.parts, remarks.collect::<Vec<_>>().join("; "))
}

fn parts_by_attribute() -> PartsChoice {
    PartsChoice::Attribute("piece".into())
}

#[test]
fn e15_ids_on_points_faces_and_corners_tell_parts() {
    // The face between two cubes has neither one's id.
    let faces = (0..120).map(|f| 5 * (f / 6) - 50).chain([-1]).collect();
    let mut corners: Vec<i64> = (0..480).map(|c| c / 24).collect();
    corners.extend([0, 0, 1, 1]);
    let all =
        [(Scope::Vertex, by_point(|i| i64::MAX - i)), (Scope::Uniform, faces), (Scope::FaceVarying, corners)];
    for (scope, values) in all {
        let scene = numbered(ids(scope, vec![values]));
        for parts in [parts_by_attribute(), PartsChoice::Auto] {
            let (from, count, remarks) = parts_of(&scene, parts);
            assert_eq!((&from[..], count), ("attribute 'piece'", 20), "{scope:?}");
            assert_eq!(remarks, "");
        }
    }
    // From the motion alone, and from the faces: two joined cubes do not move as one piece.
    let scene = numbered(ids(Scope::Vertex, vec![by_point(|i| i)]));
    let (from, count, _) = parts_of(&scene, PartsChoice::Analyse);
    assert_eq!((&from[..], count), ("motion", 20));
    let (from, count, _) = parts_of(&scene, PartsChoice::Connected);
    assert_eq!((&from[..], count), ("connected pieces", 18));
}

#[test]
fn e15_ids_in_an_index_list_tell_parts() {
    let mut indexed = ids(Scope::Vertex, vec![(0..20).map(|i| 3 * i).collect()]);
    indexed.indices = Some(Channel::constant((0..160).map(|p| p / 8).collect()));
    let scene = numbered(indexed.clone());
    assert_eq!(parts_of(&scene, parts_by_attribute()).0, "attribute 'piece'");
    indexed.indices = Some(Channel::constant(vec![20; 160]));
    let (from, count, remarks) = parts_of(&numbered(indexed), parts_by_attribute());
    assert_eq!((&from[..], count), ("motion", 20));
    assert!(remarks.contains("indices beyond its values"), "{remarks}");
}

#[test]
fn f06_sets_of_faces_tell_parts() {
    let mut scene = numbered(ids(Scope::Vertex, vec![vec![0; 160]]));
    scene.meshes[0].face_sets = (0..20)
        .map(|i| FaceSet {
            name: format!("brick {i}"),
            faces: Channel::constant((6 * i..6 * i + 6).chain([-1, 7000]).collect()),
        })
        .collect();
    let (from, count, remarks) = parts_of(&scene, PartsChoice::Auto);
    assert_eq!((&from[..], count), ("sets of faces", 20));
    assert!(!remarks.contains("do not move"), "{remarks}");
}

#[test]
fn f06_ids_that_change_over_time_are_remarked_upon_and_analysed() {
    let values = (0..FRAMES as i64).map(|f| by_point(|i| (i + f) % 20));
    let scene = numbered(ids(Scope::Vertex, values.collect()));
    let (from, count, remarks) = parts_of(&scene, parts_by_attribute());
    assert_eq!((&from[..], count), ("motion", 20));
    assert!(remarks.contains("changes over time"), "{remarks}");
    // Equal values in every sample count as constant.
    let scene = numbered(ids(Scope::Vertex, vec![by_point(|i| i); FRAMES]));
    assert_eq!(parts_of(&scene, parts_by_attribute()).0, "attribute 'piece'");
    // Not requested.
    let values = (0..FRAMES as i64).map(|f| by_point(|i| i + f));
    let scene = numbered(ids(Scope::Vertex, values.collect()));
    assert_eq!(parts_of(&scene, PartsChoice::Auto).2, "");
}

#[test]
fn e15_ids_that_swap_or_disagree_with_the_motion_are_remarked_upon_and_analysed() {
    // Every other point of two cubes has the id of the other.
    let mut swapped = by_point(|i| i);
    for p in (0..16).step_by(2) {
        swapped[p] = 1 - swapped[p];
    }
    let scene = numbered(ids(Scope::Vertex, vec![swapped]));
    let (from, count, remarks) = parts_of(&scene, parts_by_attribute());
    assert_eq!((&from[..], count), ("attribute 'piece'", 20));
    assert!(remarks.contains("2 of 20 parts of attribute 'piece' do not move as one"), "{remarks}");
    let scene = numbered(ids(Scope::Vertex, vec![(0..160).map(|p| p % 7).collect()]));
    let (from, count, remarks) = parts_of(&scene, parts_by_attribute());
    assert_eq!((&from[..], count), ("motion", 20));
    assert!(remarks.contains("most of the 7 parts"), "{remarks}");
    assert_eq!(parts_of(&scene, PartsChoice::Auto).2, "");
    // Too few values, or one for all.
    for (scope, values) in [(Scope::Vertex, vec![1; 159]), (Scope::Constant, vec![1])] {
        let scene = numbered(ids(scope, vec![values]));
        let (from, count, remarks) = parts_of(&scene, parts_by_attribute());
        assert_eq!((&from[..], count), ("motion", 20));
        assert!(remarks.contains("has "), "{remarks}");
    }
}

#[test]
fn e15_wrong_uses_of_parts_are_named() {
    let scene = numbered(ids(Scope::Vertex, vec![by_point(|i| i)]));
    let fails = |options: Options| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.reel");
        match compile(scene.clone(), Vec::new(), &path, &options, &meshreel_check::reopen, &Silent) {
            Err(meshreel_compile::Error::Misuse { what }) => what,
            other => panic!("{other:?}"),
        }
    };
    let said = fails(Options { parts: PartsChoice::Attribute("peace".into()), ..Options::default() });
    assert!(said.contains("attribute:peace") && said.contains("there are piece"), "{said}");
    let said = fails(Options { parts: parts_by_attribute(), ..options(MethodChoice::Soft) });
    assert!(said.contains("--method soft has no parts"), "{said}");
    let said =
        fails(Options { parts: PartsChoice::Connected, preset: Preset::Classic, ..Options::default() });
    assert!(said.contains("--preset classic has no parts"), "{said}");
}

#[test]
fn e12_more_parts_than_a_mesh_can_have_are_said_and_the_smallest_are_soft() {
    const PARTS: usize = 65_537;
    const SHORT: usize = 3;
    let mut frames = vec![Vec::new(); SHORT];
    for part in 0..PARTS {
        let middle = DVec3::new((part % 256) as f64, (part / 256) as f64, 0.0) * 2.0;
        for (f, frame) in frames.iter_mut().enumerate() {
            let s = part as f64;
            let turn = DQuat::from_rotation_z(f as f64 * (s * 0.37).sin());
            let shift = DVec3::new((s * 0.7).sin(), (s * 1.3).cos(), s.sin()) * f as f64 * 3.0;
            let corners = [DVec3::X * 0.6, DVec3::Y * 0.8, DVec3::NEG_X * 0.5];
            frame.extend(corners.map(|c| (middle + shift + turn * c).as_vec3().to_array()));
        }
    }
    let mut scene = MeshBuilder::default().scene();
    let mesh = &mut scene.meshes[0];
    let times = mesh.positions.sampling().as_ref().clone();
    mesh.positions = Channel::in_memory(times, frames);
    mesh.face_counts = Channel::constant(vec![3; PARTS]);
    mesh.face_indices = Channel::constant((0..3 * PARTS as i32).collect());
    mesh.integers = vec![ids(Scope::Uniform, vec![(0..PARTS as i64).collect()])];
    let (from, count, remarks) = parts_of(&scene, parts_by_attribute());
    assert_eq!((&from[..], count), ("attribute 'piece'", 65_535));
    assert!(remarks.contains("65535 at most in one mesh"), "{remarks}");
}

#[test]
fn f09_what_parts_cost_and_could_save_is_measured() {
    let mut pieces = MeshBuilder::default();
    // Nineteen cubes that slide for a second and stay, and one that shakes all the time.
    for seed in 0..20usize {
        let s = seed as f64;
        let corners: Vec<DVec3> = (0..8)
            .map(|i| {
                let side = |bit: usize| if i & bit == 0 { -0.5 } else { 0.5 };
                DVec3::new(2.0 * s + side(1), side(2), side(4))
            })
            .collect();
        pieces.add(&corners, &[[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1]], |f, p| match seed {
            13 => {
                let t = f as f64;
                let shake = DVec3::new((t * 7.7).sin(), (t * 9.1).cos(), (t * 5.3).sin());
                let middle = DVec3::new(2.0 * s, 0.0, 0.0);
                middle + DQuat::from_rotation_y(shake.x) * (p - middle) + 0.5 * shake
            }
            _ => p + DVec3::Y * (s + 1.0) * 0.1 * (f as f64 / 24.0).min(1.0),
        });
    }
    let scene = pieces.scene();
    let (_, report) = compiled(&scene, &options(MethodChoice::Rigid));
    let measures = report.meshes[0].measures;
    let heaviest = measures.heaviest.unwrap();
    assert!(heaviest.fraction > 0.5, "{heaviest:?}");
    assert_eq!(heaviest.point / 8, 13);
    let rest = measures.rest.unwrap();
    assert_eq!((rest.parts, rest.moving_parts, rest.frame), (19, 20, 24));
    assert!((rest.time - 1.0).abs() < 1e-6 && rest.fraction > 0.35, "{rest:?}");
    assert_eq!(measures.residual, None);
    assert_eq!(report.meshes[0].triangles, 120);
}

/// Compiles as parts in both presets, and with the smallest method.
fn holds_as_parts(scene: &Scene) -> Vec<Report> {
    let all = [
        (Preset::Small, MethodChoice::Rigid),
        (Preset::Fast, MethodChoice::Rigid),
        (Preset::Small, MethodChoice::Auto),
    ];
    let mut out = Vec::new();
    for (preset, method) in all {
        let wanted = Options { preset, ..options(method) };
        let (reel, report) = compiled(scene, &wanted);
        holds(scene, &reel);
        out.push(report);
    }
    out
}

#[test]
fn degenerate_parts_are_kept_as_they_are() {
    let mut pieces = MeshBuilder::default();
    (0..6).for_each(|seed| pieces.cube(seed));
    let fall = |s: f64| {
        move |f: usize, p: DVec3| {
            let t = f as f64 / 24.0;
            let turn = DQuat::from_axis_angle(DVec3::new(0.3, 1.0, s).normalize(), s * t);
            turn * p + DVec3::new(s, -t * t, 0.2 * t) * 3.0
        }
    };
    let line = |n: usize| -> Vec<DVec3> { (0..n).map(|i| DVec3::X * i as f64 * 0.4).collect() };
    // Without a face, one point as a face, two, a line of five, and points that all coincide.
    pieces.add(&[DVec3::Y], &[], fall(1.0));
    pieces.add(&[DVec3::Y], &[[0, 0, 0, 0]], fall(1.3));
    pieces.add(&line(2), &[[0, 1, 0, 1]], fall(1.7));
    pieces.add(&line(5), &[[0, 1, 2, 1], [2, 3, 4, 3]], fall(2.1));
    pieces.add(&[DVec3::Z; 4], &[[0, 1, 2, 3]], fall(2.9));
    let scene = pieces.scene();
    for report in holds_as_parts(&scene) {
        assert!(report.meshes[0].parts >= 6, "{:?}", report.meshes[0]);
    }
}

#[test]
fn e08_mirrored_scaling_and_vanishing_parts_are_parts() {
    let mut pieces = MeshBuilder::default();
    (0..4).for_each(|seed| pieces.cube(seed));
    let corners: Vec<DVec3> = (0..8)
        .map(|i| DVec3::from_array([1, 2, 4].map(|bit| if i & bit == 0 { -0.5 } else { 0.7 })))
        .collect();
    let faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6]];
    let changes: [fn(f64) -> DVec3; 4] = [
        // Mirrored suddenly, growing, vanishing, and scaled along one axis: the last is no similarity.
        |t| {
            if t < 20.0 { DVec3::ONE } else { DVec3::new(-1.0, 1.0, 1.0) }
        },
        |t| DVec3::splat(1.0 + 0.02 * t),
        |t| DVec3::splat((1.0 - t / 30.0).max(0.0)),
        |t| DVec3::new(1.0, 1.0 + 0.02 * t, 1.0),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        pieces.add(&corners, &faces, |f, p| {
            let t = f as f64;
            let turn = DQuat::from_rotation_z(0.07 * t);
            turn * (p * change(t)) + DVec3::new(3.0 * i as f64, 8.0 + 0.1 * t, 0.0)
        });
    }
    let scene = pieces.scene();
    for report in &holds_as_parts(&scene)[..2] {
        let mesh = &report.meshes[0];
        // Four cubes, three of the others, and the two ends of the last; a mirrored one may split into
        // several.
        assert!(mesh.parts >= 8, "{} {:?}", mesh.parts, mesh.tried);
    }
}

#[test]
fn frames_that_are_no_numbers_are_replaced_in_parts_too() {
    for damage in [f32::NAN, f32::INFINITY] {
        let mut pieces = MeshBuilder::default();
        (0..8).for_each(|seed| pieces.cube(seed));
        pieces.frames[9].iter_mut().for_each(|p| *p = [damage; 3]);
        pieces.frames[20][11][1] = damage;
        let scene = pieces.scene();
        for report in holds_as_parts(&scene) {
            let said = report.remarks.iter().map(|r| r.to_string());
            assert!(said.collect::<String>().contains("65 positions"), "{:?}", report.remarks);
        }
    }
}

#[test]
fn a_single_frame_has_no_parts() {
    for count in [1, 2] {
        let mut scene = numbered(ids(Scope::Vertex, vec![by_point(|i| i)]));
        let mesh = &mut scene.meshes[0];
        let times = mesh.positions.sampling().as_ref().clone();
        let mut frames = Vec::new();
        for i in 0..count {
            let mut points = Vec::new();
            mesh.positions.read(20 * i, &mut points).unwrap();
            frames.push(points);
        }
        mesh.positions = Channel::in_memory(times, frames);
        let wanted = Options { parts: parts_by_attribute(), ..options(MethodChoice::Auto) };
        let (_, report) = verified(&scene, &wanted);
        assert_eq!(report.meshes[0].method, ["static", "soft"][count - 1]);
    }
}
