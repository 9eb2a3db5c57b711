//! Tests of the guarantee, from both sides: a compiled file verifies against its source, and against no
//! other. Each case of the second half changes one thing in the source after compiling, and the check has to
//! find and name it.

use glam::{DMat4, DQuat, DVec3};
use meshreel::{Limits, Reel};
use meshreel_check::{MatchMethod, Report, verify};
use meshreel_compile::{Silent, compile};
use meshreel_options::{Options, Preset};
use meshreel_scene::{
    Attribute, Channel, FaceSet, Mesh, Node, NodeKind, Scene, Scope, TimeSampling, Transform, Winding,
};

/// A scene as plain data, easy to change in one place.
#[derive(Clone)]
struct Plan {
    times: TimeSampling,
    /// Translation of the group along x per frame; empty: no transform samples at all.
    group: Vec<f64>,
    group_matrix: DMat4,
    cloth: Sheet,
    /// Visibility per frame: −1, 0, 1.
    cloth_visible: Vec<i8>,
    box_points: Vec<[f32; 3]>,
    with_box: bool,
    with_instance: bool,
}

/// A waving sheet of quads with all attributes.
#[derive(Clone)]
struct Sheet {
    points: Vec<Vec<[f32; 3]>>,
    counts: Vec<Vec<i32>>,
    indices: Vec<Vec<i32>>,
    uvs: Vec<[f32; 2]>,
    colours: Vec<[f32; 4]>,
    normals: Option<Vec<Vec<[f32; 3]>>>,
    set: Vec<i32>,
}

const N: usize = 9;
const FRAMES: usize = 40;

fn sheet() -> Sheet {
    let mut sheet = Sheet {
        points: Vec::new(),
        counts: vec![vec![4; (N - 1) * (N - 1)]],
        indices: vec![Vec::new()],
        uvs: Vec::new(),
        colours: Vec::new(),
        normals: None,
        set: (0..20).collect(),
    };
    for f in 0..FRAMES {
        let point = |i: usize| {
            let (x, y) = ((i % N) as f32, (i / N) as f32);
            [x, y, (x * 0.7 + f as f32 * 0.2).sin() + 0.3 * (y * 0.5).cos()]
        };
        let mut points: Vec<[f32; 3]> = (0..N * N).map(point).collect();
        // Two coinciding loose points, and one more that no face uses.
        points.extend([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [f as f32 * 0.1, 0.0, 0.0]]);
        sheet.points.push(points);
    }
    for y in 0..N - 1 {
        for x in 0..N - 1 {
            let a = (y * N + x) as i32;
            // Clockwise, as in Alembic.
            let quad = [a, a + N as i32, a + N as i32 + 1, a + 1];
            sheet.indices[0].extend(quad);
            for p in quad {
                let (u, v) = ((p as usize % N) as f32 / 8.0, (p as usize / N) as f32 / 8.0);
                // A seam in the middle, with repeating and negative values.
                sheet.uvs.push(if x < 4 { [u, v] } else { [3.0 - u, v - 2.0] });
                sheet.colours.push([u, v, if x < 4 { 0.25 } else { 0.75 }, 1.0]);
            }
        }
    }
    sheet
}

fn plan() -> Plan {
    Plan {
        times: TimeSampling::Uniform { start: 0.5, step: 1.0 / 24.0 },
        group: (0..FRAMES).map(|f| (f as f64 * 0.1).cos() * 3.0).collect(),
        group_matrix: DMat4::from_scale_rotation_translation(
            DVec3::new(-2.0, 1.0, 0.5),
            DQuat::from_rotation_z(0.4),
            DVec3::new(0.0, 7.0, 0.0),
        ),
        cloth: sheet(),
        cloth_visible: (0..FRAMES).map(|f| if (5..9).contains(&f) { 0 } else { -1 }).collect(),
        box_points: (0..8).map(|i| [0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.5 } else { -0.5 })).collect(),
        with_box: true,
        with_instance: true,
    }
}

impl Plan {
    fn channel<T: Clone + Send + Sync + 'static>(&self, samples: Vec<Vec<T>>) -> Channel<T> {
        match samples.len() {
            1 => Channel::constant(samples.into_iter().next().unwrap()),
            _ => Channel::in_memory(self.times.clone(), samples),
        }
    }

    fn scene(&self) -> Scene {
        let node = |name: &str, path: &str, parent, kind| Node {
            name: name.into(),
            parent,
            ..Node::new(path, kind)
        };
        let mut scene = Scene::default();
        let matrices = self
            .group
            .iter()
            .map(|x| vec![DMat4::from_translation(DVec3::new(*x, 0.0, 0.0)) * self.group_matrix]);
        let mut group = node("group", "/group", None, NodeKind::Xform);
        group.transform = Some(Transform { local: self.channel(matrices.collect()).into(), inherits: None });
        let mut cloth = node("cloth", "/group/cloth", Some(0), NodeKind::PolyMesh);
        cloth.mesh = Some(0);
        cloth.visibility = Some(self.channel(self.cloth_visible.iter().map(|v| vec![*v]).collect()));
        scene.nodes = vec![group, cloth];
        scene.meshes.push(self.cloth_mesh());
        if self.with_box {
            let mut cube = node("box", "/box", None, NodeKind::PolyMesh);
            cube.mesh = Some(1);
            scene.nodes.push(cube);
            scene.meshes.push(self.box_mesh());
            if self.with_instance {
                let mut other = node("other", "/other", None, NodeKind::Xform);
                let matrix = DMat4::from_scale(DVec3::splat(100.0));
                other.transform =
                    Some(Transform { local: Channel::constant(vec![matrix]).into(), inherits: None });
                let mut instance = node("again", "/other/again", Some(3), NodeKind::PolyMesh);
                instance.instance_of = Some(2);
                scene.nodes.extend([other, instance]);
            }
        }
        scene
    }

    fn cloth_mesh(&self) -> Mesh {
        let attribute = |name: &str, scope| (name.to_string(), scope);
        let sheet = &self.cloth;
        let per_point = sheet.colours.len() == N * N + 3;
        let uv = attribute("st", Scope::FaceVarying);
        let colour = attribute("Cd", if per_point { Scope::Vertex } else { Scope::FaceVarying });
        Mesh {
            winding: Winding::Clockwise,
            normals: sheet.normals.as_ref().map(|n| Attribute {
                name: "N".into(),
                scope: Scope::Vertex,
                values: self.channel(n.clone()),
                indices: None,
            }),
            uvs: vec![Attribute {
                name: uv.0,
                scope: uv.1,
                values: self.channel(vec![sheet.uvs.clone()]),
                indices: None,
            }],
            colours: vec![Attribute {
                name: colour.0,
                scope: colour.1,
                values: self.channel(vec![sheet.colours.clone()]),
                indices: None,
            }],
            face_sets: vec![FaceSet { name: "mtl_7".into(), faces: Channel::constant(sheet.set.clone()) }],
            ..Mesh::new(
                "/group/cloth",
                self.channel(sheet.points.clone()),
                self.channel(sheet.counts.clone()),
                self.channel(sheet.indices.clone()),
            )
        }
    }

    fn box_mesh(&self) -> Mesh {
        let indices = vec![0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5];
        Mesh::new(
            "/box",
            Channel::constant(self.box_points.clone()),
            Channel::constant(vec![4; 6]),
            Channel::constant(indices),
        )
    }

    /// Makes the faces change halfway: the last row of quads vanishes.
    fn with_changing_faces(mut self) -> Plan {
        let sheet = &mut self.cloth;
        let (counts, indices) = (sheet.counts[0].clone(), sheet.indices[0].clone());
        sheet.counts = Vec::new();
        sheet.indices = Vec::new();
        let points = N * N + 3;
        for f in 0..FRAMES {
            let faces = if f < FRAMES / 2 { counts.len() } else { counts.len() - 8 };
            sheet.counts.push(counts[..faces].to_vec());
            sheet.indices.push(indices[..4 * faces].to_vec());
        }
        // Per point, as values per corner would not fit all frames.
        sheet.uvs.clear();
        sheet.colours = (0..points).map(|p| [p as f32 / points as f32, 0.5, 0.0, 1.0]).collect();
        self
    }
}

fn compiled(plan: &Plan, options: &Options) -> Reel {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.reel");
    compile(plan.scene().clone(), Vec::new(), &path, options, &meshreel_check::reopen, &Silent).unwrap();
    let bytes: std::sync::Arc<[u8]> = std::fs::read(&path).unwrap().into();
    Reel::from_source(std::sync::Arc::new(bytes), &Limits::default()).unwrap()
}

fn check(plan: &Plan, reel: &Reel) -> Report {
    verify(&plan.scene(), reel, &|_, _| ()).unwrap()
}

fn holds(report: &Report) {
    assert!(report.ok, "{:#?}", report.failures);
    assert!(report.failures.is_empty());
    for mesh in &report.meshes {
        assert!(mesh.ok && mesh.max_error <= mesh.tolerance && mesh.rms_error <= mesh.max_error, "{mesh:?}");
    }
}

/// Changes the source and expects a failure with this text, for `path` alone (all others still pass).
fn finds(reel: &Reel, original: &Plan, what: &str, path: &str, change: impl FnOnce(&mut Plan)) {
    let mut other = original.clone();
    change(&mut other);
    let report = check(&other, reel);
    assert!(!report.ok, "{what}: nothing found");
    let sentences: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert!(sentences.iter().any(|s| s.contains(what)), "{what}: {sentences:#?}");
    if !path.is_empty() {
        assert!(report.failures.iter().all(|f| f.path == path), "{what}: {sentences:#?}");
        assert!(report.meshes.iter().all(|m| m.ok == (m.path != path)), "{what}: {:#?}", report.meshes);
    }
}

#[test]
fn what_is_compiled_holds() {
    let plan = plan();
    for tolerance in [1e-5, 1e-4, 1e-2] {
        let options =
            Options { tolerance: meshreel_options::Tolerance::Relative(tolerance), ..Options::default() };
        let report = check(&plan, &compiled(&plan, &options));
        holds(&report);
        assert_eq!(report.frames, FRAMES);
        let paths: Vec<&str> = report.meshes.iter().map(|m| m.path.as_str()).collect();
        assert_eq!(paths, ["/group/cloth", "/box", "/other/again"]);
        let [cloth, cube, again] = &report.meshes[..] else { panic!() };
        assert!(["soft", "rigid"].contains(&cloth.method) && cube.method == "static");
        assert_eq!((cloth.frames, cube.frames), (FRAMES - 4, FRAMES));
        assert!(report.meshes.iter().all(|m| m.matched == MatchMethod::Map));
        assert!(
            cloth.max_error > 0.0 && cloth.normal_max_deg.unwrap() > 0.0 && cloth.uv_max_error.unwrap() > 0.0
        );
        assert!(cloth.colour_max_error.is_some() && cube.uv_max_error.is_none());
        // Each placement has its own tolerance.
        assert!((again.tolerance / cube.tolerance - 100.0).abs() < 1e-6);
    }
}

#[test]
fn every_option_holds() {
    use meshreel_options::{MeshOverride, MethodChoice, Tolerance};
    use meshreel_scene::sample::{ChannelSelection, TimeRange};
    let plan = plan();
    let base = Options::default();
    let all = [
        Options { fps: Some(60.0), ..base.clone() },
        Options { fps: Some(10.0), range: Some(TimeRange::Frames(2, 9)), ..base.clone() },
        Options { range: Some(TimeRange::Seconds(0.7, 1.1)), ..base.clone() },
        Options { smooth_angle: Some(20.0), ..base.clone() },
        Options { colour_bits: 4, normal_tolerance: 0.1, uv_tolerance: 1e-5, ..base.clone() },
        Options { exclude: vec!["/oth*".into()], tolerance: Tolerance::Absolute(0.25), ..base.clone() },
        Options { include: vec!["/group".into()], index_every: Some(3), ..base.clone() },
        Options {
            channels: ChannelSelection { normals: false, uvs: false, colours: false, attributes: false },
            ..base.clone()
        },
        Options { method: MethodChoice::Fluid, ..base.clone() },
        Options { strip: true, ..base.clone() },
        Options {
            meshes: vec![MeshOverride {
                glob: "/bo*".into(),
                tolerance: Some(Tolerance::Absolute(0.01)),
                method: Some(MethodChoice::Fluid),
                parts: None,
                remesh: None,
            }],
            ..base
        },
    ];
    for options in all {
        for preset in [Preset::Classic, Preset::Small, Preset::Fast] {
            let layered = preset != Preset::Classic;
            let options =
                Options { preset, index_every: options.index_every.filter(|_| !layered), ..options.clone() };
            let report = check(&plan, &compiled(&plan, &options));
            if !report.ok {
                panic!("{options:?}: {:#?}", report.failures);
            }
            holds(&report);
        }
    }
}

#[test]
fn a_sheared_world_is_baked_and_holds() {
    for mirrored in [1.0, -1.0] {
        let mut plan = plan();
        plan.group_matrix.y_axis.x += 0.8;
        plan.group_matrix.x_axis *= mirrored;
        let reel = compiled(&plan, &Options::default());
        assert!(reel.description().nodes.iter().any(|n| n.baked));
        holds(&check(&plan, &reel));
        finds(&reel, &plan, "faces", "/group/cloth", |p| p.cloth.indices[0].swap(4, 6));
        finds(&reel, &plan, "off", "/group/cloth", |p| p.cloth.points[30][5][2] += 0.05);
    }
}

#[test]
fn every_change_is_found() {
    let plan = plan();
    let reel = compiled(&plan, &Options::default());
    let cloth = "/group/cloth";
    finds(&reel, &plan, "point 40 of the source", cloth, |p| p.cloth.points[20][40][1] += 0.02);
    finds(&reel, &plan, "frame 39: vertex", cloth, |p| p.cloth.points[39][3][0] -= 0.02);
    finds(&reel, &plan, "/other/again: frame 0: vertex", "", |p| p.box_points[3][0] += 0.002);
    finds(&reel, &plan, "frame 7: is hidden, but visible", cloth, |p| p.cloth_visible[7] = 1);
    finds(&reel, &plan, "frame 20: is shown, but hidden", cloth, |p| p.cloth_visible[20] = 0);
    finds(&reel, &plan, "frame 3: vertex", cloth, |p| p.group[3] += 0.02);
    finds(&reel, &plan, "promises", cloth, |p| {
        p.cloth.points.iter_mut().flatten().for_each(|v| *v = v.map(|x| x * 0.5));
    });
    // Faces: reversed, another point, one missing, one more corner.
    finds(&reel, &plan, "first face 1", cloth, |p| p.cloth.indices[0].swap(4, 6));
    finds(&reel, &plan, "1 faces", cloth, |p| p.cloth.indices[0][9] = 60);
    finds(&reel, &plan, "the source has 63", cloth, |p| {
        p.cloth.counts[0].pop();
    });
    finds(&reel, &plan, "points, the source has 85", cloth, |p| {
        p.cloth.points.iter_mut().for_each(|list| list.push([0.5, 0.5, 0.5]));
    });
    // Attributes of one corner.
    finds(&reel, &plan, "uv of vertex", cloth, |p| p.cloth.uvs[33][0] += 0.01);
    finds(&reel, &plan, "colour of vertex", cloth, |p| p.cloth.colours[17][2] += 0.02);
    finds(&reel, &plan, "material", cloth, |p| p.cloth.set.push(30));
    finds(&reel, &plan, "normal of vertex", cloth, |p| {
        p.cloth.normals = Some(vec![vec![[0.0, 0.3, 1.0]; N * N + 3]]);
    });
    // Coinciding points must stay together.
    finds(&reel, &plan, "left points they belong to", cloth, |p| {
        // As far apart as the tolerance permits: neighbours in the lattice.
        for points in &mut p.cloth.points {
            points[82] = points[40];
        }
    });
    // The tree, and time.
    finds(&reel, &plan, "nothing like it", "", |p| p.with_box = false);
    finds(&reel, &plan, "nothing like it", "", |p| p.with_instance = false);
    finds(&reel, &plan, "is missing", "", |p| {
        p.cloth.points.push(p.cloth.points[0].clone());
        p.group.push(0.0);
        p.cloth_visible.push(-1);
    });
    finds(&reel, &plan, "no frame at its time", "", |p| {
        p.cloth.points.pop();
        p.group.pop();
        p.cloth_visible.pop();
    });
    finds(&reel, &plan, "is missing", "", |p| {
        p.times = TimeSampling::Uniform { start: 0.5, step: 1.0 / 25.0 }
    });
    let without = {
        let mut p = plan.clone();
        p.with_box = false;
        p
    };
    finds(&compiled(&without, &Options::default()), &without, "is not in the file", "", |p| {
        p.with_box = true
    });
}

#[test]
fn without_a_map_every_change_is_found_too() {
    let still = plan();
    let stripped = Options { strip: true, ..Options::default() };
    for (plan, options) in [(still.clone(), stripped), (still.with_changing_faces(), Options::default())] {
        let reel = compiled(&plan, &options);
        let report = check(&plan, &reel);
        holds(&report);
        assert_eq!(report.meshes[0].matched, MatchMethod::Nearest);
        let cloth = "/group/cloth";
        finds(&reel, &plan, "from the nearest", cloth, |p| p.cloth.points[20][40][1] += 0.02);
        finds(&reel, &plan, "frame 7: is hidden, but visible", cloth, |p| p.cloth_visible[7] = 1);
        finds(&reel, &plan, "match no face", cloth, |p| p.cloth.indices[0].swap(4, 6));
        finds(&reel, &plan, "colour of vertex", cloth, |p| p.cloth.colours[17][2] += 0.02);
        if !plan.cloth.uvs.is_empty() {
            finds(&reel, &plan, "uv of vertex", cloth, |p| p.cloth.uvs[33][0] += 0.01);
        }
        finds(&reel, &plan, "triangles", cloth, |p| {
            p.cloth.counts[0].pop();
        });
    }
}

#[test]
fn the_verdict_does_not_depend_on_threads() {
    let plan = plan();
    let reel = compiled(&plan, &Options::default());
    let mut other = plan.clone();
    other.cloth.points.iter_mut().for_each(|p| p[12][0] += 0.5);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| check(&other, &reel))
    };
    assert_eq!(run(1), run(4));
}
