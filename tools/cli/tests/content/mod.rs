//! Tests of invalid content that exporters nevertheless write: each case is compiled, verified against its
//! source, and decoded once more backwards.

pub mod build;
mod cameras;
mod locators;
mod separate_attributes;

use build::*;
use glam::{DMat4, DQuat, DVec3};
use meshreel_compile::Error;
use meshreel_options::{MethodChoice, Options, Preset, Tolerance};
use meshreel_scene::sample::TimeRange;
use meshreel_scene::{Attribute, Channel, FaceSet, Mesh, Scene, Scope, TimeSampling};

type Point = [f32; 3];

#[test]
fn positions_that_are_no_numbers() {
    let mut samples: Vec<Vec<Point>> = Vec::new();
    for f in 0..FRAMES {
        let mut points = Vec::new();
        sheet(5, FRAMES).positions.read(f, &mut points).unwrap();
        points[f % 7][f % 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30][f % 4];
        samples.push(points);
    }
    let bad = |samples: Vec<Vec<Point>>| Mesh { positions: channel(samples), ..with_uvs(sheet(5, 1)) };
    let out = default(&alone(bad(samples.clone())));
    assert!(out.remark("not finite"));
    // All points of the first, a middle and the last frame; all points of all frames.
    for at in [0, 10, FRAMES - 1] {
        let mut all = samples.clone();
        all[at].fill([f32::NAN; 3]);
        default(&alone(bad(all.clone())));
        let options = Options { method: MethodChoice::Fluid, ..Options::default() };
        holds(&alone(bad(all)), &options);
    }
    default(&alone(bad(vec![vec![[f32::NAN; 3]; 36]; 4])));
    // Far from the origin, where a replacement must not be zero.
    let far: Vec<Vec<Point>> = samples
        .iter()
        .enumerate()
        .map(|(f, s)| match f {
            3 => vec![[f32::NAN; 3]; s.len()],
            _ => s.iter().map(|p| p.map(|v| v + 1000.0)).collect(),
        })
        .collect();
    for method in [MethodChoice::Auto, MethodChoice::Fluid] {
        let options = Options { method, ..Options::default() };
        holds(&alone(bad(far.clone())), &options);
    }
}

#[test]
fn matrices_that_are_no_numbers() {
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let mut tree = Tree::default();
        let matrices = frames(|f| match f {
            3 | 9 => DMat4::from_translation(DVec3::new(bad, 0.0, 0.0)),
            _ => motion(f),
        });
        let parent = tree.xform(None, "group", matrices);
        tree.mesh(Some(parent), "cube", cube());
        match build(&tree.0, &Options::default()) {
            Ok(_) => drop(default(&tree.0)),
            Err(Error::Unsupported { what }) => assert!(what.contains("/group/cube"), "{what}"),
            Err(other) => panic!("{other}"),
        }
    }
    let mut tree = Tree::default();
    let parent = tree.xform(None, "group", vec![DMat4::NAN]);
    tree.mesh(Some(parent), "cube", cube());
    default(&tree.0);
}

#[test]
fn faces_that_are_none() {
    // Zero area, two corners, none, negative count, out of range, negative, repeated corner.
    let points: Vec<Point> = vec![
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
        [2.0, 0.0, 0.0],
        [2.0, 0.0, 0.0],
    ];
    let indices = vec![
        0, 1, 4, // on a line
        4, 5, 4, // one place
        0, 1, // two corners
        0, 1, 2, 3, // good
        0, 1, 99, // out of range
        0, -1, 2, // negative
        2, 2, 3, // repeated
        3, 2, 1, 0, 1, 2, // twice around
    ];
    let counts = vec![3, 3, 2, 0, 4, 3, 3, 3, 6, -5];
    let bad = mesh(vec![points.clone()], vec![counts.clone()], vec![indices.clone()]);
    let out = default(&alone(with_uvs(bad)));
    assert!(!out.report.remarks.is_empty());
    // More corners declared than there are, and fewer.
    let short = mesh(vec![points.clone()], vec![vec![4, 4, 4]], vec![vec![0, 1, 2, 3, 0]]);
    default(&alone(short));
    let long = mesh(vec![points.clone()], vec![vec![4]], vec![vec![0, 1, 2, 3, 0, 1, 2]]);
    default(&alone(long));
    let huge = mesh(vec![points.clone()], vec![vec![i32::MAX, i32::MAX]], vec![vec![0, 1, 2]]);
    default(&alone(huge));
    let none = mesh(vec![points], vec![vec![3]], vec![vec![7, 8, 9]]);
    default(&alone(none));
}

#[test]
fn almost_nothing() {
    let empty = mesh(vec![Vec::new()], vec![Vec::new()], vec![Vec::new()]);
    default(&alone(empty.clone()));
    let still_empty = mesh(vec![Vec::new(); 5], vec![Vec::new()], vec![Vec::new()]);
    default(&alone(still_empty));
    // Without samples: left out, and alone an error.
    let none = mesh(Vec::new(), Vec::new(), Vec::new());
    match build(&alone(none.clone()), &Options::default()) {
        Err(Error::Unsupported { .. }) => {}
        other => panic!("{:?}", other.map(|o| o.0)),
    }
    let mut tree = Tree::default();
    tree.mesh(None, "none", none);
    tree.mesh(None, "empty", empty);
    tree.mesh(None, "cube", cube());
    let out = default(&tree.0);
    assert!(out.remark("no samples"));
    // Positions only.
    let bare = mesh(cube_points(3), Vec::new(), Vec::new());
    default(&alone(bare));
    // Transform and visibility channels without samples.
    let mut tree = Tree::default();
    let parent = tree.xform(None, "group", Vec::new());
    tree.inherits(parent, Vec::new());
    tree.visible(parent, Vec::new());
    tree.mesh(Some(parent), "cube", cube());
    default(&tree.0);
    // No object at all.
    assert!(build(&Scene::default(), &Options::default()).is_err());
}

fn cube_points(n: usize) -> Vec<Vec<Point>> {
    let mut points = Vec::new();
    cube().positions.read(0, &mut points).unwrap();
    (0..n).map(|f| points.iter().map(|p| p.map(|v| v + f as f32)).collect()).collect()
}

#[test]
fn one_vertex_one_frame() {
    for method in [MethodChoice::Auto, MethodChoice::Fluid] {
        let options = Options { method, ..Options::default() };
        let one = |at: Vec<Point>| mesh(at.into_iter().map(|p| vec![p]).collect(), vec![], vec![]);
        holds(&alone(one(vec![[1000.0, -2000.5, 3.0]])), &options);
        holds(&alone(one(vec![[0.0; 3]; 4])), &options);
        holds(&alone(one(vec![[1.0, 2.0, 3.0], [1.0, 2.5, 3.0], [7.0, 2.0, 3.0]])), &options);
        for scale in [1.0, 1000.0, 1e-4] {
            let mut tree = Tree::default();
            let matrices = frames(|f| DMat4::from_scale(DVec3::splat(scale)) * motion(f));
            let parent = tree.xform(None, "group", matrices);
            tree.mesh(Some(parent), "one", one(vec![[1000.0, -2000.5, 3.0]]));
            holds(&tree.0, &options);
        }
        holds(&alone(sheet(4, 1)), &options);
        let mut scene = alone(sheet(4, 1));
        scene.meshes[0].positions =
            Channel::in_memory(TimeSampling::Acyclic { times: vec![7.5] }, vec![vec![[0.5; 3]; 25]]);
        let out = holds(&scene, &options);
        assert_eq!(out.reel.frame_count(), 1);
        assert_eq!(out.reel.time(0), 7.5);
    }
}

#[test]
fn large_and_small_coordinates() {
    let scaled = |factor: f32, offset: f32| {
        let base = sheet(4, 3);
        let mut samples = Vec::new();
        for f in 0..3 {
            let mut points = Vec::new();
            base.positions.read(f, &mut points).unwrap();
            points.iter_mut().for_each(|p| *p = p.map(|v| v * factor + offset));
            samples.push(points);
        }
        alone(Mesh { positions: channel(samples), ..with_uvs(sheet(4, 1)) })
    };
    let mut raised = 0;
    for (factor, offset) in [
        (1e9, 0.0),
        (1.0, 1e9),
        (1e-9, 0.0),
        (1e-30, 0.0),
        (1e-38, 0.0),
        (1e-42, 0.0),
        (1e-9, 1.0),
        (1e17, 0.0),
        (1e-3, -1e6),
    ] {
        for tolerance in [1e-5, 1e-4, 1e-2, 10.0] {
            let options = Options { tolerance: Tolerance::Relative(tolerance), ..Options::default() };
            let out = holds(&scaled(factor, offset), &options);
            raised += usize::from(out.remark("float32 holds no less"));
        }
    }
    assert!(raised > 4);
}

/// Tolerances down to the precision of float32, where quantized values need all 24 bits, with transforms
/// taking part of them.
#[test]
fn tight_tolerances() {
    let mut bits = 0;
    for tolerance in [1e-6, 1e-7, 1e-8, 1e-12] {
        for reach in [0.51f32, 0.75, 0.999_999, 1.0, 1.3, 1.999_999] {
            let options = Options { tolerance: Tolerance::Absolute(tolerance), ..Options::default() };
            let mut points = cube_points(1);
            points[0].iter_mut().for_each(|p| *p = p.map(|v| v * reach));
            points[0].push([reach * 0.1234, reach * 0.777, 0.0]);
            let tight = || mesh(points.clone(), vec![vec![4]], vec![vec![0, 1, 3, 2]]);
            holds(&alone(tight()), &options);
            for scale in [1.0, 1.5, 1.99, 2.5, 0.3] {
                let mut tree = Tree::default();
                let turn = |f: usize| DQuat::from_rotation_y(0.05 * f as f64);
                let parent = tree.xform(
                    None,
                    "group",
                    frames(|f| {
                        DMat4::from_scale_rotation_translation(DVec3::splat(scale), turn(f), DVec3::ZERO)
                    }),
                );
                tree.mesh(Some(parent), "tight", tight());
                let still = DMat4::from_scale(DVec3::splat(scale));
                let second = tree.xform(None, "still", vec![still]);
                tree.mesh(Some(second), "tight", tight());
                let out = holds(&tree.0, &options);
                let streams = out.reel.description().meshes.iter();
                bits = streams.fold(bits, |b, m| b.max(m.streams[0].bits));
            }
        }
    }
    assert!(bits > 16, "{bits}");
}

#[test]
fn tolerance_larger_than_the_mesh() {
    for tolerance in [1.0, 100.0, 1e30, 1e300] {
        let options = Options { tolerance: Tolerance::Absolute(tolerance), ..Options::default() };
        holds(&alone(with_uvs(sheet(5, 4))), &options);
        let options = Options { tolerance: Tolerance::Relative(tolerance), ..Options::default() };
        holds(&alone(sheet(5, 4)), &options);
    }
}

#[test]
fn huge_faces_and_loose_points() {
    let n = 30_000;
    let ring: Vec<Point> = (0..n)
        .map(|i| {
            let a = i as f32 / n as f32 * std::f32::consts::TAU;
            // Concave all around.
            let r = if i % 2 == 0 { 10.0 } else { 9.0 };
            [r * a.cos(), r * a.sin(), 0.0]
        })
        .collect();
    let polygon = mesh(vec![ring.clone()], vec![vec![n]], vec![(0..n).collect()]);
    let out = default(&alone(polygon));
    assert_eq!(out.reel.description().meshes[0].indices as i32, 3 * (n - 2));
    // The same points without faces, and some of them with.
    default(&alone(mesh(vec![ring.clone()], vec![], vec![])));
    let few = mesh(vec![ring[..100].to_vec()], vec![vec![3, 3]], vec![vec![0, 50, 99, 5, 6, 7]]);
    default(&alone(with_uvs(few)));
}

#[test]
fn attributes_of_the_wrong_size() {
    let sizes = [0, 1, 24, 25, 26, 63, 64, 65, 100];
    for scope in [Scope::Constant, Scope::Uniform, Scope::Varying, Scope::Vertex, Scope::FaceVarying] {
        for size in sizes {
            let mut bad = sheet(4, 3);
            bad.normals = Some(attribute("N", scope, vec![vec![[0.0, 0.6, 0.8]; size]]));
            bad.uvs = vec![attribute("st", scope, vec![vec![[0.25, 0.5]; size]])];
            bad.colours = vec![attribute("Cd", scope, vec![vec![[0.5; 4]; size]])];
            default(&alone(bad));
        }
    }
    // Bad indices, and a size that is right only at first.
    let mut bad = sheet(4, 3);
    bad.uvs = vec![Attribute {
        indices: Some(Channel::constant(
            (0..64).map(|i| if i % 5 == 0 { u32::MAX } else { i % 3 }).collect(),
        )),
        ..attribute("st", Scope::FaceVarying, vec![vec![[0.1, 0.2], [0.3, 0.4]]])
    }];
    bad.colours = vec![attribute(
        "Cd",
        Scope::Vertex,
        vec![vec![[0.1; 4]; 25], vec![[0.1; 4]; 24], vec![[0.3; 4]; 25]],
    )];
    let out = default(&alone(bad));
    assert!(out.remark("left out"));
    // Values that are not finite.
    let mut bad = with_uvs(sheet(4, 3));
    let strange = [f32::NAN, f32::INFINITY, 0.0, 1e-40, 3e38];
    bad.normals = Some(attribute(
        "N",
        Scope::Vertex,
        vec![(0..25).map(|i| [strange[i % 5], strange[i / 5], 0.0]).collect()],
    ));
    default(&alone(bad.clone()));
    bad.normals = None;
    bad.uvs[0] =
        attribute("st", Scope::Vertex, vec![(0..25).map(|i| [strange[i % 4], strange[i / 5 % 4]]).collect()]);
    bad.colours = vec![attribute("Cd", Scope::Vertex, vec![(0..25).map(|i| [strange[i % 4]; 4]).collect()])];
    default(&alone(bad));
}

#[test]
fn seams_do_not_open() {
    // Every face has points of its own; the tolerance demands that they stay together.
    let base = sheet(6, FRAMES);
    let mut corners = Vec::new();
    base.face_indices.read(0, &mut corners).unwrap();
    let samples = frames(|f| {
        let mut points = Vec::new();
        base.positions.read(f, &mut points).unwrap();
        let mut own: Vec<Point> = corners.iter().map(|&c| points[c as usize]).collect();
        // −0 equals 0.
        own.iter_mut()
            .enumerate()
            .flat_map(|(i, p)| p.iter_mut().map(move |v| (i, v)))
            .filter(|(i, v)| i % 2 == 0 && **v == 0.0)
            .for_each(|(_, v)| *v = -0.0);
        own
    });
    let n = corners.len() as i32;
    let soup = mesh(samples, vec![vec![4; 36]], vec![(0..n).collect()]);
    default(&alone(with_uvs(soup.clone())));
    let mut tree = Tree::default();
    let shear = DMat4::from_cols_array(&[
        1.0, 0.0, 0.0, 0.0, 0.7, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
    ]);
    let parent = tree.xform(None, "shear", frames(|f| motion(f) * shear));
    tree.mesh(Some(parent), "soup", soup);
    let out = default(&tree.0);
    assert!(out.remark("shear"));
}

#[test]
fn scales_of_every_kind() {
    let turn = DQuat::from_axis_angle(DVec3::new(0.3, 1.0, 0.2).normalize(), 0.8);
    let cases: Vec<(&str, Vec<DMat4>)> = vec![
        ("through zero", frames(|f| DMat4::from_scale(DVec3::splat(1.0 - 0.1 * f as f64)))),
        ("one axis through zero", frames(|f| DMat4::from_scale(DVec3::new(1.0 - 0.1 * f as f64, 1.0, 2.0)))),
        ("zero", vec![DMat4::ZERO]),
        ("flat", vec![DMat4::from_scale(DVec3::new(1.0, 0.0, 1.0)) * DMat4::from_quat(turn)]),
        ("mirrored", frames(|f| DMat4::from_scale(DVec3::new(-1.0, 1.0, 1.0)) * motion(f))),
        ("all negative", frames(|f| motion(f) * DMat4::from_scale(DVec3::new(-2.0, -3.0, -0.5)))),
        ("not uniform", frames(|f| motion(f) * DMat4::from_scale(DVec3::new(2.0, 30.0, 0.05)))),
        ("sheared", frames(|f| DMat4::from_scale(DVec3::new(2.0, 30.0, 0.05)) * motion(f))),
        ("large and sheared", frames(|f| DMat4::from_scale(DVec3::new(200.0, 300.0, 50.0)) * motion(f))),
        ("huge", vec![DMat4::from_scale(DVec3::splat(1e7))]),
        ("tiny", vec![DMat4::from_scale(DVec3::splat(1e-7))]),
        ("far", frames(|f| DMat4::from_translation(DVec3::new(1e7, 1e6, 0.0)) * motion(f))),
        ("fast", frames(|f| DMat4::from_rotation_z(2.9 * f as f64))),
        (
            "projective",
            vec![DMat4::from_cols_array(&[
                1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0,
            ])],
        ),
    ];
    for (name, matrices) in &cases {
        for tolerance in [Tolerance::Relative(1e-4), Tolerance::Relative(1e-6), Tolerance::Absolute(1e-9)] {
            for deep in [false, true] {
                let mut tree = Tree::default();
                let mut parent = tree.xform(None, "group", matrices.clone());
                if deep {
                    parent = tree.xform(Some(parent), "turned", vec![DMat4::from_quat(turn)]);
                    tree.mesh(Some(parent), "cube", with_uvs(cube()));
                    parent = tree.xform(Some(parent), "again", matrices.clone());
                }
                tree.mesh(Some(parent), "sheet", with_uvs(sheet(3, FRAMES)));
                let options = Options { tolerance, ..Options::default() };
                println!("{name} {tolerance:?} {deep}");
                holds(&tree.0, &options);
            }
        }
    }
}

#[test]
fn parents_that_do_not_count() {
    for flags in [vec![false], frames(|f| f % 5 < 3), frames(|f| f > 10), vec![true]] {
        for shear in [false, true] {
            let mut tree = Tree::default();
            let top = match shear {
                true => DVec3::new(1.0, 5.0, 1.0),
                false => DVec3::ONE,
            };
            let root = tree.xform(None, "root", frames(|f| DMat4::from_scale(top) * motion(f)));
            let middle = tree.xform(Some(root), "middle", vec![motion(4)]);
            tree.inherits(middle, flags.clone());
            tree.mesh(Some(middle), "cube", cube());
            let inner = tree.xform(Some(middle), "inner", frames(motion));
            tree.mesh(Some(inner), "sheet", sheet(3, 1));
            tree.mesh(Some(root), "other", cube());
            default(&tree.0);
        }
    }
}

#[test]
fn visibility_that_changes() {
    let mut tree = Tree::default();
    let root = tree.xform(None, "root", frames(motion));
    tree.visible(root, frames(|f| i8::from(f < 10)));
    let inherits = tree.mesh(Some(root), "inherits", cube());
    let shown = tree.mesh(Some(root), "shown", sheet(3, FRAMES));
    tree.visible(shown, vec![1]);
    let hidden = tree.mesh(Some(root), "hidden", sheet(4, 1));
    tree.visible(hidden, vec![0]);
    let own = tree.mesh(Some(root), "own", sheet(5, FRAMES));
    tree.visible(own, frames(|f| [0, -1, 1][f % 3]));
    let _ = (inherits, own);
    let out = default(&tree.0);
    assert_eq!(out.shown_in("/root/inherits"), (0..10).collect::<Vec<_>>());
    assert_eq!(out.shown_in("/root/shown").len(), FRAMES);
    assert_eq!(
        out.shown_in("/root/own"),
        (0..FRAMES).filter(|f| f % 3 == 2 || f % 3 == 1 && *f < 10).collect::<Vec<_>>()
    );
    assert!(out.check.meshes.iter().all(|m| m.ok));
    // Nothing is ever visible.
    let mut tree = Tree::default();
    let only = tree.mesh(None, "only", sheet(3, 4));
    tree.visible(only, vec![0]);
    default(&tree.0);
    let fluid = Options { method: MethodChoice::Fluid, ..Options::default() };
    holds(&tree.0, &fluid);
    tree.visible(only, vec![0, 1, 0, 0]);
    default(&tree.0);
    holds(&tree.0, &fluid);
}

#[test]
fn instances_of_instances() {
    let mut tree = Tree::default();
    let source = tree.xform(None, "source", frames(motion));
    tree.mesh(Some(source), "cube", with_uvs(cube()));
    let inner = tree.xform(Some(source), "inner", vec![motion(3)]);
    tree.mesh(Some(inner), "sheet", sheet(3, FRAMES));
    let pair = tree.xform(None, "pair", vec![motion(2)]);
    tree.instance(Some(pair), "left", source);
    let right = tree.xform(Some(pair), "right", frames(|f| motion(f + 5)));
    tree.instance(Some(right), "again", source);
    let all = tree.xform(None, "all", vec![DMat4::from_scale(DVec3::splat(40.0))]);
    tree.instance(Some(all), "one", pair);
    tree.instance(Some(all), "two", pair);
    let out = default(&tree.0);
    assert_eq!(out.check.meshes.len(), 14);
    assert_eq!(out.report.meshes.len(), 2);
    // One of them cannot be described by its transforms and is baked.
    let turn = DMat4::from_rotation_z(0.5);
    let shear = turn.transpose() * DMat4::from_scale(DVec3::new(1.0, 9.0, 1.0)) * turn * turn;
    let bent = tree.xform(None, "bent", vec![shear]);
    tree.instance(Some(bent), "one", pair);
    let out = default(&tree.0);
    assert!(out.report.meshes.len() > 2 && out.remark("shear"));
}

#[test]
fn identical_meshes() {
    let mut tree = Tree::default();
    for i in 0..10 {
        let group = tree.xform(None, &format!("g{i}"), frames(|f| motion(f + i)));
        tree.mesh(Some(group), "cube", with_uvs(cube()));
    }
    // Equal except for one bit, one name, one face set.
    let mut other = with_uvs(cube());
    let mut points = cube_points(1);
    points[0][5][1] = 1.000_000_1;
    other.positions = channel(points);
    tree.mesh(None, "bit", other);
    let mut other = with_uvs(cube());
    other.uvs[0].name = "map1".into();
    tree.mesh(None, "name", other);
    let mut other = with_uvs(cube());
    other.face_sets = vec![FaceSet { name: "red".into(), faces: Channel::constant(vec![1]) }];
    tree.mesh(None, "set", other);
    let out = default(&tree.0);
    assert_eq!(out.report.meshes.len(), 4);
    assert_eq!(out.check.meshes.len(), 13);
}

#[test]
fn three_hundred_materials() {
    let mut many = with_uvs(sheet(20, 3));
    many.face_sets = (0..300)
        .map(|i| FaceSet {
            name: format!("shader{}", 1000 - i),
            faces: Channel::constant(vec![i, i + 7, -3, 5000]),
        })
        .collect();
    let out = default(&alone(many.clone()));
    assert!(out.reel.description().meshes[0].materials.len() >= 300);
    let fluid = Options { method: MethodChoice::Fluid, ..Options::default() };
    holds(&alone(many), &fluid);
}

#[test]
fn parts_and_rates() {
    let mut tree = Tree::default();
    let group = tree.xform(None, "group", frames(motion));
    let sheet = tree.mesh(Some(group), "sheet", with_uvs(sheet(4, FRAMES)));
    tree.visible(sheet, frames(|f| i8::from(f % 6 != 1)));
    tree.mesh(None, "cube", cube());
    let set = |change: &dyn Fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        holds(&tree.0, &options).reel.frame_count()
    };
    assert_eq!(set(&|o| o.range = Some(TimeRange::Frames(5, 5))), 1);
    assert_eq!(set(&|o| o.range = Some(TimeRange::Frames(1, 1))), 1);
    assert_eq!(set(&|o| o.range = Some(TimeRange::Frames(3, 1_000_000))), FRAMES - 3);
    assert_eq!(set(&|o| o.range = Some(TimeRange::Frames(0, usize::MAX))), FRAMES);
    assert_eq!(set(&|o| o.range = Some(TimeRange::Seconds(0.0, 0.26))), 7);
    assert_eq!(set(&|o| o.fps = Some(29.97)), 25);
    assert_eq!(set(&|o| o.fps = Some(5.0)), 5);
    assert_eq!(set(&|o| o.fps = Some(0.001)), 1);
    assert_eq!(set(&|o| o.fps = Some(240.0)), 201);
    let both = set(&|o| (o.fps, o.range) = (Some(60.0), Some(TimeRange::Frames(10, 20))));
    assert_eq!(both, 11);
    for every in [1, 2, 3, 20, 21, 64] {
        let classic = |o: &mut Options| (o.preset, o.index_every) = (Preset::Classic, Some(every));
        assert_eq!(set(&classic), FRAMES);
    }
    for wrong in [
        Options { range: Some(TimeRange::Frames(9, 3)), ..Options::default() },
        Options { range: Some(TimeRange::Frames(FRAMES, FRAMES)), ..Options::default() },
        Options { range: Some(TimeRange::Seconds(5.0, 9.0)), ..Options::default() },
        Options { range: Some(TimeRange::Seconds(f64::NAN, 1.0)), ..Options::default() },
        Options { fps: Some(1e300), ..Options::default() },
        Options { fps: Some(f64::NAN), ..Options::default() },
        Options { include: vec!["[".into()], ..Options::default() },
        Options { include: vec!["/nothing".into()], ..Options::default() },
        Options { exclude: vec!["**".into()], ..Options::default() },
        Options { index_every: Some(0), ..Options::default() },
        Options { tolerance: Tolerance::Absolute(0.0), ..Options::default() },
        Options { tolerance: Tolerance::Relative(f64::NAN), ..Options::default() },
    ] {
        assert!(build(&tree.0, &wrong).is_err(), "{wrong:?}");
    }
    let only = |include: &[&str], exclude: &[&str]| {
        let list = |l: &[&str]| l.iter().map(|s| s.to_string()).collect();
        let options = Options { include: list(include), exclude: list(exclude), ..Options::default() };
        let out = holds(&tree.0, &options);
        let meshes = out.check.meshes.iter();
        meshes.map(|m| m.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(only(&["/group"], &[]), ["/group/sheet"]);
    assert_eq!(only(&["**/cube"], &[]), ["/cube"]);
    assert_eq!(only(&[], &["/gr*"]), ["/cube"]);
}

/// Returns a sheet that grows, with faces per frame, and optionally an empty frame.
fn growing(with_nothing: bool) -> Mesh {
    let (mut points, mut counts, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for f in 0..12 {
        let n = if with_nothing && f % 4 == 2 { 0 } else { 2 + f % 5 };
        let part = sheet(n, f + 1);
        let (mut p, mut c, mut i) = (Vec::new(), Vec::new(), Vec::new());
        if n > 0 {
            part.positions.read(f, &mut p).unwrap();
            part.face_counts.read(0, &mut c).unwrap();
            part.face_indices.read(0, &mut i).unwrap();
        }
        points.push(p);
        counts.push(c);
        indices.push(i);
    }
    mesh(points, counts, indices)
}

#[test]
fn faces_that_change() {
    for nothing in [false, true] {
        let out = default(&alone(growing(nothing)));
        assert_eq!(out.report.meshes[0].method, "fluid");
        // UVs for the first frame only, normals for all, colours of one value.
        let mut odd = with_uvs(growing(nothing));
        odd.colours = vec![attribute("Cd", Scope::Constant, vec![vec![[0.2, 0.4, 0.6, 1.0]]])];
        let out = default(&alone(odd));
        assert!(out.remark("left out"));
        for fps in [10.0, 60.0] {
            let options = Options { fps: Some(fps), ..Options::default() };
            holds(&alone(growing(nothing)), &options);
        }
        for method in [MethodChoice::Static, MethodChoice::Soft] {
            let options = Options { method, ..Options::default() };
            assert!(matches!(build(&alone(growing(nothing)), &options), Err(Error::Unsupported { .. })));
        }
        // Hidden where it is empty, moved and mirrored, and sheared.
        for scale in [DVec3::new(-1.0, 1.0, 1.0), DVec3::new(3.0, 1.0, 0.1)] {
            let mut tree = Tree::default();
            let matrices = frames(|f| DMat4::from_scale(scale) * motion(f));
            let group = tree.xform(None, "group", matrices);
            let id = tree.mesh(Some(group), "growing", with_uvs(growing(nothing)));
            tree.visible(id, frames(|f| i8::from(f % 4 != 2)));
            default(&tree.0);
        }
    }
    // The number of points changes, the faces do not; the faces change, the points do not.
    let points = |n: usize| (0..n).map(|i| [i as f32, (i * i) as f32, 1.0]).collect();
    let more = mesh(vec![points(4), points(6), points(9)], vec![vec![4]], vec![vec![0, 1, 2, 3]]);
    assert_eq!(default(&alone(more)).report.meshes[0].method, "fluid");
    let turned = mesh(
        vec![points(4); 3],
        vec![vec![3, 3]; 3],
        vec![vec![0, 1, 2, 0, 2, 3], vec![0, 1, 3, 1, 2, 3], vec![0, 1, 2, 0, 2, 3]],
    );
    assert_eq!(default(&alone(turned)).report.meshes[0].method, "fluid");
    // Faces written repeatedly, but equal: no change.
    let same = mesh(vec![points(4), points(4)], vec![vec![4]; 2], vec![vec![0, 1, 2, 3]; 2]);
    assert_ne!(default(&alone(same)).report.meshes[0].method, "fluid");
}

#[test]
fn face_sets_that_change() {
    let set = |name: &str, samples: Vec<Vec<i32>>| FaceSet { name: name.into(), faces: channel(samples) };
    let mut still = sheet(4, 3);
    still.face_sets = vec![
        set("red1", vec![vec![0, 1], vec![2, 3], vec![0]]),
        set("red1", vec![vec![4, 5]]),
        set("", vec![vec![6]]),
        set("none", Vec::new()),
    ];
    default(&alone(still.clone()));
    let mut fluid = growing(true);
    fluid.face_sets = still.face_sets;
    default(&alone(fluid));
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let mut tree = Tree::default();
    let long = |value: &dyn Fn(usize) -> DMat4| (0..150).map(value).collect::<Vec<_>>();
    for i in 0..12 {
        let matrices = match i % 4 {
            0 => long(&|f| motion(f + i)),
            1 => long(&|f| DMat4::from_scale(DVec3::new(1.0 - 0.02 * f as f64, 1.0, 1.0)) * motion(i)),
            2 => long(&|f| motion(f) * DMat4::from_scale(DVec3::new(-1.0, -2.0, 0.3))),
            _ => vec![motion(i)],
        };
        let group = tree.xform(None, &format!("g{i}"), matrices);
        let id = tree.mesh(
            Some(group),
            "m",
            match i % 3 {
                0 => with_uvs(sheet(5 + i, 150)),
                1 => with_uvs(cube()),
                _ => growing(true),
            },
        );
        tree.visible(id, (0..150).map(|f| i8::from((f + i) % 7 != 0)).collect());
    }
    for tolerance in [Tolerance::Relative(1e-4), Tolerance::Absolute(1e-9)] {
        let bytes = |jobs: usize, memory: u64| {
            let options = Options { jobs, memory, tolerance, effort: 2, ..Options::default() };
            build(&tree.0, &options).unwrap().1
        };
        let first = bytes(1, 512 << 20);
        assert!(first == bytes(2, 512 << 20), "two threads");
        assert!(first == bytes(5, 512 << 20), "five threads");
        assert!(first == bytes(3, 64 << 20), "less memory");
        let options = Options { tolerance, effort: 2, ..Options::default() };
        assert!(first == holds(&tree.0, &options).bytes, "default");
        // A small memory limit may mean shorter groups, never another tolerance.
        let little = Options { memory: 1 << 20, ..options };
        holds(&tree.0, &little);
    }
}
