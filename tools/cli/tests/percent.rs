//! Tests of the base of a percentage: the largest box of a mesh in any one frame in which it is visible. Its
//! travel does not count, nor its size while it is hidden.

use glam::{DMat4, DVec3};
use meshreel_check::verify;
use meshreel_options::{MethodChoice, Options, Preset, Tolerance};
use meshreel_scene::{Channel, Mesh, Node, NodeKind, Particles, Scene, TimeSampling, Transform};
use meshreel_testkit::{compiled, opened};

const SIDE: usize = 12;
const FRAMES: usize = 24;
/// The relative tolerance of all tests: large enough that f32 can keep it far away.
const RELATIVE_TOLERANCE: f64 = 1e-2;

/// Returns points of a cloth with waves, carried along x.
fn waves(frame: usize, carried: f32) -> Vec<[f32; 3]> {
    let t = frame as f32;
    let point = |i: usize| {
        let (x, y) = ((i % SIDE) as f32, (i / SIDE) as f32);
        [x + carried * t / (FRAMES - 1) as f32, y, (0.9 * x + 0.4 * t).sin() + 0.3 * (y - 0.7 * t).cos()]
    };
    (0..SIDE * SIDE).map(point).collect()
}

fn faces() -> (Vec<i32>, Vec<i32>) {
    let quad = |i: usize| {
        let a = (i / (SIDE - 1) * SIDE + i % (SIDE - 1)) as i32;
        [a, a + 1, a + 1 + SIDE as i32, a + SIDE as i32]
    };
    let count = (SIDE - 1) * (SIDE - 1);
    (vec![4; count], (0..count).flat_map(quad).collect())
}

fn channel<T: Clone + Send + Sync + 'static>(samples: Vec<Vec<T>>) -> Channel<T> {
    Channel::in_memory(TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 }, samples)
}

fn cloth(points: Vec<Vec<[f32; 3]>>) -> Mesh {
    let (counts, indices) = faces();
    Mesh::new("/cloth", channel(points), Channel::constant(counts), Channel::constant(indices))
}

/// Returns the largest diagonal of the boxes of these points.
fn largest<'a>(frames: impl Iterator<Item = &'a Vec<[f32; 3]>>) -> f64 {
    let diagonal = |points: &Vec<[f32; 3]>| {
        let side = |k: usize| {
            let all = || points.iter().map(|p| f64::from(p[k]));
            all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min)
        };
        (side(0).powi(2) + side(1).powi(2) + side(2).powi(2)).sqrt()
    };
    frames.map(diagonal).fold(0.0, f64::max)
}

fn options() -> Options {
    Options { tolerance: Tolerance::Relative(RELATIVE_TOLERANCE), effort: 1, ..Options::default() }
}

/// Compiles and verifies; returns the tolerance of the first mesh, on which both agree.
#[track_caller]
fn tolerance(scene: &Scene, options: &Options) -> f64 {
    let (bytes, report) = compiled(scene, options);
    let checked = verify(scene, &opened(bytes), &|_, _| ()).unwrap();
    assert!(checked.ok, "{checked:?}");
    let (made, allowed) = (report.meshes[0].tolerance, checked.meshes[0].tolerance);
    assert!((made - allowed).abs() <= 1e-9 * allowed, "{made} {allowed}");
    allowed
}

#[track_caller]
fn assert_near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-6 * wanted, "{found} is not {wanted}");
}

#[test]
fn i52_a_percentage_does_not_follow_the_path() {
    let frames: Vec<Vec<[f32; 3]>> = (0..FRAMES).map(|f| waves(f, 15_000.0)).collect();
    let wanted = RELATIVE_TOLERANCE * largest(frames.iter());
    assert!(wanted < 0.2, "a hundredth of a cloth of 12 by 12");
    let scene = Scene::from_meshes(vec![cloth(frames.clone())]);
    let methods = [MethodChoice::Auto, MethodChoice::Soft, MethodChoice::Skinned, MethodChoice::Fluid];
    for method in methods {
        assert_near(tolerance(&scene, &Options { method, ..options() }), wanted);
    }
    for preset in [Preset::Fast, Preset::Classic] {
        assert_near(tolerance(&scene, &Options { preset, ..options() }), wanted);
    }
    // A range of the path has the same cloth.
    let range = Some(meshreel_scene::sample::TimeRange::Frames(3, 9));
    let some = RELATIVE_TOLERANCE * largest(frames[3..=9].iter());
    assert_near(tolerance(&scene, &Options { range, ..options() }), some);
    // A scale counts, a translation does not.
    let mut scaled = scene.clone();
    let matrix = DMat4::from_translation(DVec3::new(3.0, 0.0, 0.0)) * DMat4::from_scale(DVec3::splat(2.0));
    scaled.nodes[0].transform =
        Some(Transform { local: Channel::constant(vec![matrix]).into(), inherits: None });
    assert_near(tolerance(&scaled, &options()), 2.0 * wanted);
}

#[test]
fn i52_of_what_changes_its_faces_and_is_meshed_anew_too() {
    let frames: Vec<Vec<[f32; 3]>> = (0..FRAMES).map(|f| waves(f, 2000.0)).collect();
    let wanted = RELATIVE_TOLERANCE * largest(frames.iter());
    let (counts, indices) = faces();
    // In every second frame the faces start at another corner.
    let turned: Vec<i32> = indices.chunks(4).flat_map(|q| [q[1], q[2], q[3], q[0]]).collect();
    let by_frame = |f: usize| if f.is_multiple_of(2) { indices.clone() } else { turned.clone() };
    let indices = channel((0..FRAMES).map(by_frame).collect());
    let mesh = Mesh::new("/cloth", channel(frames), Channel::constant(counts), indices);
    let scene = Scene::from_meshes(vec![mesh]);
    assert_near(tolerance(&scene, &options()), wanted);
    assert_near(tolerance(&scene, &Options { remesh: true, ..options() }), wanted);
}

#[test]
fn i52_of_points_too() {
    let frames: Vec<Vec<[f32; 3]>> = (0..FRAMES).map(|f| waves(f, 2000.0)).collect();
    let wanted = RELATIVE_TOLERANCE * largest(frames.iter());
    let mesh = Mesh::from_particles("/cloth", channel(frames), Particles::default());
    let mut scene = Scene::from_meshes(vec![mesh]);
    scene.nodes[0].kind = NodeKind::Points;
    assert_near(tolerance(&scene, &options()), wanted);
}

#[test]
fn i52_frames_that_nobody_sees_do_not_count() {
    let wild = |f: usize| (5..9).contains(&f);
    let of = |f: usize| {
        let size = if wild(f) { 100.0 } else { 1.0 };
        waves(f, 0.0).into_iter().map(|p| p.map(|v| size * v)).collect::<Vec<_>>()
    };
    let frames: Vec<Vec<[f32; 3]>> = (0..FRAMES).map(of).collect();
    let seen = |f: &usize| !wild(*f);
    let wanted = RELATIVE_TOLERANCE * largest((0..FRAMES).filter(seen).map(|f| &frames[f]));
    let mut scene = Scene::from_meshes(vec![cloth(frames.clone())]);
    let shown = |f: usize| vec![if wild(f) { 0 } else { -1 }];
    scene.nodes[0].visibility = Some(channel((0..FRAMES).map(shown).collect()));
    assert_near(tolerance(&scene, &options()), wanted);
    // One mesh in two places: one of them shows it while it is large.
    scene.nodes.push(Node {
        visibility: Some(channel((0..FRAMES).map(|f| vec![if wild(f) { -1 } else { 0 }]).collect())),
        samples: FRAMES,
        mesh: Some(0),
        ..Node::new("/other", NodeKind::PolyMesh)
    });
    let (bytes, _) = compiled(&scene, &options());
    let checked = verify(&scene, &opened(bytes), &|_, _| ()).unwrap();
    assert!(checked.ok, "{checked:?}");
    let found: Vec<f64> = checked.meshes.iter().map(|mesh| mesh.tolerance).collect();
    assert_near(found[0], wanted);
    assert_near(found[1], RELATIVE_TOLERANCE * largest(frames[5..9].iter()));
    // A mesh that is never visible has a size nonetheless.
    for node in &mut scene.nodes {
        node.visibility = Some(Channel::constant(vec![0]));
    }
    let (bytes, _) = compiled(&scene, &options());
    let checked = verify(&scene, &opened(bytes), &|_, _| ()).unwrap();
    assert!(checked.ok && checked.nothing_visible, "{checked:?}");
}

#[test]
fn i52_what_is_attached_to_a_traveller_is_as_exact_as_it() {
    let of = |carried: f32| {
        let frames: Vec<Vec<[f32; 3]>> = (0..FRAMES).map(|f| waves(f, carried)).collect();
        let size = largest(frames.iter());
        let mut scene = Scene::from_meshes(vec![cloth(frames)]);
        let place = |f: usize| vec![DMat4::from_translation(DVec3::new(f as f64, 1.0, 2.0))];
        scene.nodes.push(Node {
            transform: Some(Transform {
                local: channel((0..FRAMES).map(place).collect()).into(),
                inherits: None,
            }),
            samples: FRAMES,
            ..Node::new("/muzzle", NodeKind::Xform)
        });
        let (bytes, _) = compiled(&scene, &options());
        let checked = verify(&scene, &opened(bytes), &|_, _| ()).unwrap();
        assert!(checked.ok, "{checked:?}");
        assert_near(checked.locators[0].tolerance, RELATIVE_TOLERANCE * size);
    };
    of(0.0);
    of(15_000.0);
}
