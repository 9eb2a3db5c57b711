//! Tests of `--remesh`: meshes with changing faces get fixed ones. The result is compared with the source by
//! the check, which knows nothing of how it was made, and by separate measures here.

use glam::{DQuat, DVec3};
use meshreel::{FrameDecoder, Reel};
use meshreel_check::{MatchMethod, verify};
use meshreel_compile::{Report, Silent, compile};
use meshreel_options::{MeshOverride, MethodChoice, Options, Preset, Tolerance};
use meshreel_scene::{Channel, FaceSet, Mesh, Node, NodeKind, Scene, TimeSampling};
use meshreel_testkit::{compiled, corpus_if_thorough, opened};
use std::collections::HashMap;
use std::path::Path;

/// A seeded generator of numbers from 0 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

#[derive(Default, Clone)]
struct Soup {
    points: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl Soup {
    fn append(&mut self, other: &Soup) {
        let first = self.points.len() as u32;
        self.points.extend(&other.points);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    }

    fn moved(mut self, place: impl Fn(DVec3) -> DVec3) -> Soup {
        self.points.iter_mut().for_each(|p| *p = place(*p));
        self
    }

    /// Shuffles the indices of points and the order of triangles.
    fn shuffled(self, random: &mut Random) -> Soup {
        let mut to: Vec<u32> = (0..self.points.len() as u32).collect();
        for i in (1..to.len()).rev() {
            to.swap(i, random.below(i + 1));
        }
        let mut out = self.clone();
        for (p, &v) in self.points.iter().zip(&to) {
            out.points[v as usize] = *p;
        }
        out.triangles.iter_mut().for_each(|t| *t = t.map(|v| to[v as usize]));
        for i in (1..out.triangles.len()).rev() {
            out.triangles.swap(i, random.below(i + 1));
        }
        out
    }
}

/// Returns a unit sphere from an icosahedron that was subdivided `levels` times and rotated at random, with
/// some of its edges split once more.
fn icosphere(levels: u32, random: &mut Random) -> Soup {
    let g = (1.0 + 5f64.sqrt()) / 2.0;
    let mut points = Vec::new();
    for (a, b) in [(1.0, g), (1.0, -g), (-1.0, g), (-1.0, -g)] {
        points.extend([DVec3::new(0.0, a, b), DVec3::new(a, b, 0.0), DVec3::new(b, 0.0, a)]);
    }
    let near = |a: DVec3, b: DVec3| (a.distance(b) - 2.0).abs() < 1e-9;
    let mut triangles = Vec::new();
    for a in 0..12u32 {
        for b in 0..12u32 {
            for c in 0..12u32 {
                let [p, q, r] = [a, b, c].map(|v| points[v as usize]);
                let first = a < b && a < c;
                if first && near(p, q) && near(q, r) && near(r, p) && (q - p).cross(r - p).dot(p) > 0.0 {
                    triangles.push([a, b, c]);
                }
            }
        }
    }
    assert_eq!(triangles.len(), 20);
    let halve = |points: &mut Vec<DVec3>, triangles: Vec<[u32; 3]>, which: &mut dyn FnMut() -> bool| {
        let mut middle: HashMap<[u32; 2], Option<u32>> = HashMap::new();
        let mut out = Vec::new();
        for [a, b, c] in triangles {
            let [ab, bc, ca] = [[a, b], [b, c], [c, a]].map(|[a, b]| {
                *middle.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                    which().then(|| {
                        points.push(points[a as usize] + points[b as usize]);
                        points.len() as u32 - 1
                    })
                })
            });
            match [ab, bc, ca] {
                [None, None, None] => out.push([a, b, c]),
                [Some(x), None, None] => out.extend([[a, x, c], [x, b, c]]),
                [None, Some(x), None] => out.extend([[a, b, x], [a, x, c]]),
                [None, None, Some(x)] => out.extend([[a, b, x], [x, b, c]]),
                [Some(x), Some(y), None] => out.extend([[a, x, c], [x, y, c], [x, b, y]]),
                [None, Some(y), Some(z)] => out.extend([[b, y, a], [y, z, a], [y, c, z]]),
                [Some(x), None, Some(z)] => out.extend([[c, z, b], [z, x, b], [z, a, x]]),
                [Some(x), Some(y), Some(z)] => {
                    out.extend([[a, x, z], [x, b, y], [z, y, c], [x, y, z]]);
                }
            }
        }
        out
    };
    for _ in 0..levels {
        triangles = halve(&mut points, triangles, &mut || true);
        points.iter_mut().for_each(|p| *p = p.normalize());
    }
    triangles = halve(&mut points, triangles, &mut || random.next() < 0.05);
    let turn =
        DQuat::from_euler(glam::EulerRot::XYZ, random.next() * 6.0, random.next() * 6.0, random.next() * 6.0);
    Soup { points, triangles }.moved(|p| (turn * p).normalize())
}

/// Returns a point of a body without any fixed point that bulges, bends and drifts.
fn body(p: DVec3, t: f64) -> DVec3 {
    let bulge = 1.0 + 0.25 * (3.0 * p.x + 2.0 * t).sin() * (1.0 - p.z * p.z) + 0.2 * (2.0 * p.y - t).sin();
    let q = DVec3::new(p.x, p.y, 1.5 * p.z) * bulge;
    let turn = DQuat::from_rotation_y(0.35 * q.z * (0.7 * t).sin());
    turn * q + DVec3::new(0.4 * t, 0.1 * (2.0 * t).sin(), 0.0)
}

/// Returns a square sheet of random points, a different number in each frame; its border and corners stay.
fn sheet(random: &mut Random) -> Soup {
    let n = 22 + random.below(5);
    let mut points = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            let mut at = |k: usize| match k {
                0 => 0.0,
                k if k == n => 1.0,
                k => (k as f64 + 0.5 * (random.next() - 0.5)) / n as f64,
            };
            points.push(DVec3::new(at(i), at(j), 0.0));
        }
    }
    let mut triangles = Vec::new();
    for j in 0..n {
        for i in 0..n {
            let a = (j * (n + 1) + i) as u32;
            let (b, c, d) = (a + 1, a + n as u32 + 2, a + n as u32 + 1);
            match random.next() < 0.5 {
                true => triangles.extend([[a, b, c], [a, c, d]]),
                false => triangles.extend([[a, b, d], [b, c, d]]),
            }
        }
    }
    Soup { points, triangles }
}

fn cloth(p: DVec3, t: f64) -> DVec3 {
    let z = 0.12 * (4.0 * p.x + 2.5 * t).sin() * p.x + 0.06 * (5.0 * p.y - 2.0 * t).cos();
    DVec3::new(p.x * (1.0 - 0.05 * (2.0 * t).sin()), p.y, z)
}

fn scene(frames: Vec<Soup>) -> Scene {
    let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    let points = |s: &Soup| s.points.iter().map(|p| p.to_array().map(|v| v as f32)).collect();
    let counts = |s: &Soup| vec![3; s.triangles.len()];
    let indices = |s: &Soup| s.triangles.iter().flatten().map(|&v| v as i32).collect();
    Scene {
        nodes: vec![Node { mesh: Some(0), samples: frames.len(), ..Node::new("/water", NodeKind::PolyMesh) }],
        meshes: vec![Mesh::new(
            "/water",
            Channel::in_memory(sampling.clone(), frames.iter().map(points).collect()),
            Channel::in_memory(sampling.clone(), frames.iter().map(counts).collect()),
            Channel::in_memory(sampling, frames.iter().map(indices).collect()),
        )],
        ..Scene::default()
    }
}

/// Returns a body that is meshed anew for each frame.
fn remeshed_body(frames: usize) -> Scene {
    let mut random = Random(7);
    scene(
        (0..frames)
            .map(|f| {
                let t = f as f64 / 24.0;
                icosphere(4, &mut random).moved(|p| body(p, t)).shuffled(&mut random)
            })
            .collect(),
    )
}

fn options() -> Options {
    Options { tolerance: Tolerance::Relative(5e-3), remesh: true, ..Options::default() }
}

/// Compiles, and compares the decoded file with the scene.
fn holds(scene: &Scene, options: &Options) -> (Reel, Report) {
    let (bytes, report) = compiled(scene, options);
    let reel = opened(bytes);
    let checked = verify(scene, &reel, &|_, _| ()).unwrap();
    assert!(checked.ok, "{checked:?}\n{:?}", report.remarks);
    if let Some(remeshed) = &report.meshes[0].remeshed {
        let mesh = &checked.meshes[0];
        assert_eq!(mesh.matched, MatchMethod::Surface);
        assert_eq!(mesh.blended, remeshed.blended as usize);
        assert_eq!(mesh.frames, reel.frame_count() - mesh.blended);
        assert!(mesh.max_error > 0.0 && mesh.max_error <= mesh.tolerance);
    }
    (reel, report)
}

/// Returns the positions of all frames.
fn decoded(reel: &Reel) -> Vec<Vec<DVec3>> {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    (0..reel.frame_count())
        .map(|frame| {
            decoder.decode(frame).unwrap();
            let mesh = decoder.mesh(0);
            let mut positions = vec![[0.0f32; 3]; mesh.vertex_count()];
            mesh.positions_into(positions.as_flattened_mut()).unwrap();
            positions.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect()
        })
        .collect()
}

/// Returns the number of remarks that contain a text.
fn remark_count(report: &Report, what: &str) -> usize {
    report.remarks.iter().filter(|r| r.to_string().contains(what)).count()
}

#[test]
fn f15_a_body_meshed_anew_in_each_frame_is_soft() {
    let scene = remeshed_body(24);
    let (reel, report) = holds(&scene, &options());
    let mesh = &report.meshes[0];
    let remeshed = mesh.remeshed.as_ref().unwrap();
    assert_eq!(mesh.method, "soft", "{:?}", report.remarks);
    assert_eq!((remeshed.runs, remeshed.frames, remeshed.own_face_frames), (1, 24, 0));
    assert!(report.remarks.is_empty(), "{:?}", report.remarks);
    assert!(report.passes.iter().any(|p| p.pass == "remesh"));
    assert_eq!(reel.description().meshes[0].remeshed_blend_frames, Some(0));
    assert_eq!(reel.description().meshes[0].source_map.size, 0);
    // Triangles keep their shape: none is flipped or strongly stretched.
    let indices = reel.indices(0).unwrap();
    let frames = decoded(&reel);
    for (f, points) in frames.iter().enumerate() {
        let t = f as f64 / 24.0;
        let middle = body(DVec3::ZERO, t);
        for t in indices.as_chunks::<3>().0 {
            let corners = |points: &Vec<DVec3>| t.map(|v| points[v as usize]);
            let [a, b, c] = corners(points);
            let normal = (b - a).cross(c - a);
            assert!(normal.dot((a + b + c) / 3.0 - middle) > 0.0, "frame {f}: turned over");
            let [p, q, r] = corners(&frames[0]);
            for (now, then) in [(a - b, p - q), (b - c, q - r), (c - a, r - p)] {
                assert!(now.length() < 4.0 * then.length() + 1e-3, "frame {f}: drawn out");
            }
        }
    }
    // Less than a third of the size with changing faces.
    let without = compiled(&scene, &Options { remesh: false, ..options() }).1;
    assert_eq!(without.meshes[0].method, "fluid");
    assert!(3 * report.file_bytes < without.file_bytes, "{} {}", report.file_bytes, without.file_bytes);
}

#[test]
fn f15_presets_threads_and_coarser_meshes() {
    let scene = remeshed_body(9);
    let base = holds(&scene, &options()).1;
    let one = compiled(&scene, &Options { jobs: 1, ..options() }).0;
    let three = compiled(&scene, &Options { jobs: 3, ..options() }).0;
    assert_eq!(one, three);
    for preset in [Preset::Fast, Preset::Classic] {
        let report = holds(&scene, &Options { preset, ..options() }).1;
        assert_eq!(report.meshes[0].method, "soft");
    }
    // If the faces of a frame are too coarse to follow those of the others, they are refined.
    let fine = Options { tolerance: Tolerance::Relative(2e-3), effort: 7, ..options() };
    let report = holds(&scene, &fine).1;
    let points = |r: &Report| r.meshes[0].remeshed.as_ref().unwrap().points;
    assert!(points(&report) > points(&base), "{} {}", points(&report), points(&base));
}

#[test]
fn f15_a_sheet_keeps_its_border_and_corners() {
    let mut random = Random(5);
    let frames = (0..16).map(|f| sheet(&mut random).moved(|p| cloth(p, f as f64 / 24.0)));
    let scene = scene(frames.collect());
    let (reel, report) = holds(&scene, &options());
    assert_eq!(report.meshes[0].method, "soft", "{:?}", report.remarks);
    let tolerance = report.meshes[0].tolerance;
    for (f, points) in decoded(&reel).iter().enumerate() {
        for corner in [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y] {
            let corner = cloth(corner, f as f64 / 24.0);
            let near = points.iter().map(|p| p.distance(corner)).fold(f64::INFINITY, f64::min);
            assert!(near <= tolerance, "frame {f}: a corner is {near} off, {tolerance} is allowed");
        }
    }
}

/// Returns one body that splits in two at frame 10, and becomes a ring at frame 20.
fn tearing() -> Scene {
    let mut random = Random(3);
    let frame = |f: usize, random: &mut Random| {
        let t = f as f64 / 24.0;
        match f {
            0..10 => icosphere(3, random).moved(|p| body(p, t)),
            10..20 => {
                let mut two = icosphere(3, random).moved(|p| 0.5 * p - DVec3::X * (1.0 + t));
                two.append(&icosphere(3, random).moved(|p| 0.6 * p + DVec3::X * (1.0 + t)));
                two
            }
            _ => {
                let (n, m) = (40 + random.below(4), 16 + random.below(3));
                let at = |i: usize, j: usize| ((i % n) * m + j % m) as u32;
                let quads = (0..n * m).map(|q| (q / m, q % m));
                let triangles = quads.flat_map(|(i, j)| {
                    let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                    [[a, b, c], [a, c, d]]
                });
                let place = |q: usize| {
                    let u = (q / m) as f64 / n as f64 * std::f64::consts::TAU;
                    let v = (q % m) as f64 / m as f64 * std::f64::consts::TAU;
                    let r = 1.0 + 0.4 * v.cos() * (1.0 + 0.2 * (u + 3.0 * t).sin());
                    DVec3::new(r * u.cos(), r * u.sin(), 0.4 * v.sin())
                };
                Soup { triangles: triangles.collect(), points: (0..n * m).map(place).collect() }
            }
        }
    };
    scene((0..30).map(|f| frame(f, &mut random).shuffled(&mut random)).collect())
}

#[test]
fn f15_what_tears_gets_faces_for_each_stretch() {
    let (reel, report) = holds(&tearing(), &Options { tolerance: Tolerance::Relative(1e-2), ..options() });
    let remeshed = report.meshes[0].remeshed.as_ref().unwrap();
    assert_eq!(
        (remeshed.runs, remeshed.frames, remeshed.own_face_frames),
        (3, 30, 0),
        "{:?}",
        report.remarks
    );
    assert_eq!(report.meshes[0].method, "fluid");
    assert_eq!(
        remark_count(&report, "frames 0–9, 10–19, 20–29 have 3 sets of fixed faces"),
        1,
        "{:?}",
        report.remarks
    );
    let counts: Vec<usize> = decoded(&reel).iter().map(Vec::len).collect();
    for stretch in counts.chunks(10) {
        assert!(stretch.iter().all(|n| *n == stretch[0]), "{counts:?}");
    }
}

#[test]
fn f15_frames_that_nothing_holds_keep_their_faces() {
    // Between two stretches each frame is somewhere else.
    let mut random = Random(9);
    let mut frames = Vec::new();
    for f in 0..20 {
        let t = f as f64 / 24.0;
        let soup = match f {
            8 => {
                let mut many = Soup::default();
                for k in 0..5 {
                    many.append(&icosphere(2, &mut random).moved(|p| 0.3 * p + DVec3::Y * f64::from(k)));
                }
                many
            }
            _ => icosphere(3, &mut random).moved(|p| body(p, t)),
        };
        frames.push(soup.shuffled(&mut random));
    }
    let scene = scene(frames);
    let (_, report) = holds(&scene, &Options { tolerance: Tolerance::Relative(1e-2), ..options() });
    let remeshed = report.meshes[0].remeshed.as_ref().unwrap();
    assert_eq!(
        (remeshed.runs, remeshed.frames, remeshed.own_face_frames),
        (2, 19, 1),
        "{:?}",
        report.remarks
    );
    assert_eq!(remark_count(&report, "1 of 20 frames keep their own faces"), 1, "{:?}", report.remarks);
    // A tolerance far below the size of the triangles: no mesh is re-meshed.
    let tight = Options { tolerance: Tolerance::Relative(1e-6), ..options() };
    let (reel, report) = holds(&scene, &tight);
    assert!(report.meshes[0].remeshed.is_none());
    assert_eq!(reel.description().meshes[0].remeshed_blend_frames, None);
    assert_eq!(remark_count(&report, "is not re-meshed"), 1, "{:?}", report.remarks);
}

#[test]
fn f15_the_end_of_a_loop_leads_into_its_start() {
    let scene = remeshed_body(24);
    let looped = Options { cycle: true, remesh_blend: Some(6), ..options() };
    let (reel, report) = holds(&scene, &looped);
    assert_eq!(reel.description().meshes[0].remeshed_blend_frames, Some(6));
    assert_eq!(
        remark_count(&report, "frames 18 to 23 are blended into the start"),
        1,
        "{:?}",
        report.remarks
    );
    assert!((reel.description().period - 1.0).abs() < 1e-9);
    let step =
        |a: &Vec<DVec3>, b: &Vec<DVec3>| (a.iter().zip(b).map(|(a, b)| a.distance(*b))).fold(0.0, f64::max);
    let frames = decoded(&reel);
    let seam = step(&frames[23], &frames[0]);
    let jump = {
        let frames = decoded(&holds(&scene, &options()).0);
        step(&frames[23], &frames[0])
    };
    let usual = (1..18).map(|f| step(&frames[f - 1], &frames[f])).fold(0.0, f64::max);
    assert!(seam < 2.0 * usual && jump > 4.0 * usual, "{seam} {jump} {usual}");
    // An eighth by default.
    let usual = Options { remesh_blend: None, ..looped };
    assert_eq!(holds(&scene, &usual).0.description().meshes[0].remeshed_blend_frames, Some(3));
}

#[test]
fn f15_the_checker_is_not_talked_round() {
    let scene = remeshed_body(6);
    let (bytes, _) = compiled(&scene, &options());
    let not_ok = |scene: &Scene, bytes: &[u8], what: &str| {
        let checked = verify(scene, &opened(bytes.to_vec()), &|_, _| ()).unwrap();
        let found = checked.failures.iter().any(|f| f.to_string().contains(what));
        assert!(!checked.ok && found, "{what}: {:?}", checked.failures);
    };
    // Another body.
    let mut other = remeshed_body(6);
    let sampling = other.meshes[0].positions.sampling().clone();
    let moved = (0..6).map(|f| {
        let mut points: Vec<[f32; 3]> = Vec::new();
        other.meshes[0].positions.read(f, &mut points).unwrap();
        points.iter_mut().filter(|p| p[2] > 1.2).for_each(|p| p[2] += 0.05);
        points
    });
    let moved = Channel::in_memory((*sampling).clone(), moved.collect());
    other.meshes[0].positions = moved;
    not_ok(&other, &bytes, "from the other surface");
    // One with an additional piece.
    let mut random = Random(1);
    let more = (0..6).map(|f| {
        let mut soup = icosphere(4, &mut random).moved(|p| body(p, f as f64 / 24.0));
        soup.append(&icosphere(1, &mut random).moved(|p| 0.1 * p));
        soup
    });
    not_ok(&self::scene(more.collect()), &bytes, "point or triangle of the source");
    // One whose faces never change.
    let soup = icosphere(4, &mut Random(7));
    let fixed = (0..6).map(|f| soup.clone().moved(|p| body(p, f as f64 / 24.0)));
    not_ok(&self::scene(fixed.collect()), &bytes, "the source's do not change");
}

#[test]
fn f15_sections_of_an_options_file_and_sets_of_faces() {
    let mut scene = remeshed_body(6);
    let sampling = scene.meshes[0].positions.sampling().clone();
    // The upper half, by triangles.
    let upper: Vec<Vec<i32>> = (0..6)
        .map(|f| {
            let (mut points, mut indices) = (Vec::new(), Vec::new());
            scene.meshes[0].positions.read(f, &mut points).unwrap();
            scene.meshes[0].face_indices.read(f, &mut indices).unwrap();
            let up = |t: &[i32; 3]| t.iter().all(|&v| points[v as usize][2] > 0.0);
            let list = indices.as_chunks::<3>().0.iter().enumerate();
            list.filter(|(_, t)| up(t)).map(|(i, _)| i as i32).collect()
        })
        .collect();
    scene.meshes[0]
        .face_sets
        .push(FaceSet { name: "upper".into(), faces: Channel::in_memory((*sampling).clone(), upper) });
    let section = |remesh| MeshOverride {
        glob: "/wat*".into(),
        tolerance: None,
        method: None,
        parts: None,
        remesh: Some(remesh),
    };
    let on = Options { remesh: false, meshes: vec![section(true)], ..options() };
    let (reel, report) = holds(&scene, &on);
    assert_eq!(report.meshes[0].method, "soft", "{:?}", report.remarks);
    let mesh = &reel.description().meshes[0];
    let upper = mesh.materials.iter().find(|m| m.name == "upper").unwrap();
    let share = f64::from(upper.count) / f64::from(mesh.indices);
    assert!((0.3..0.6).contains(&share), "{share}");
    let off = Options { meshes: vec![section(false)], ..options() };
    assert!(holds(&scene, &off).1.meshes[0].remeshed.is_none());
}

#[test]
fn f15_wrong_uses_are_named() {
    for (change, what) in [
        ((|o| o.method = MethodChoice::Fluid) as fn(&mut Options), "--method fluid"),
        (|o| o.remesh_blend = Some(3), "--cycle"),
        (|o| (o.remesh, o.cycle, o.remesh_blend) = (false, true, Some(3)), "add --remesh"),
    ] {
        let mut wanted = options();
        change(&mut wanted);
        let error = wanted.check().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    // Tearing faces cannot be soft, re-meshed or not.
    let soft = Options { method: MethodChoice::Soft, tolerance: Tolerance::Relative(1e-2), ..options() };
    let error = compile(
        tearing().clone(),
        Vec::new(),
        Path::new("/no/such.reel"),
        &soft,
        &meshreel_check::reopen,
        &Silent,
    )
    .unwrap_err();
    assert!(error.to_string().contains("larger --tolerance"), "{error}");
    // If there is nothing to do, a remark tells so.
    let soup = icosphere(2, &mut Random(7));
    let fixed = (0..6).map(|f| soup.clone().moved(|p| body(p, f as f64 / 24.0)));
    let report = compiled(&scene(fixed.collect()), &options()).1;
    assert_eq!(remark_count(&report, "--remesh changes nothing"), 1, "{:?}", report.remarks);
}

#[test]
fn f15_the_corpus_holds() {
    let Some(corpus) = corpus_if_thorough() else { return };
    // A ring that another body cuts can be re-meshed in stretches; balls that merge and part all the time
    // cannot, and are left alone.
    for (name, tolerance, least) in [("e_boolean_build", 1e-2, 24), ("e_metaballs", 1e-2, 0)] {
        let file = corpus.join(format!("alembic/gen/{name}.abc"));
        let scene = meshreel_read::open(&file, &meshreel_read::ReadOptions::default()).unwrap().0;
        let wanted = Options { tolerance: Tolerance::Relative(tolerance), ..options() };
        let (_, report) = holds(&scene, &wanted);
        let frames: usize = report.meshes.iter().flat_map(|m| &m.remeshed).map(|r| r.frames).sum();
        assert!(frames >= least, "{name}: {frames}");
    }
}
