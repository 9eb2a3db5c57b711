//! Nodes without meshes: they are in the file by name, where the source has them in every frame, and come back.

use super::build::*;
use crate::cli::common::run;
use glam::{DMat4, DQuat, DVec3};
use meshreel::FrameDecoder;
use meshreel_compile::{Options, Preset, Tolerance};
use meshreel_scene::read::{ReadOptions, open};
use meshreel_scene::sample::World;
use meshreel_scene::{NodeKind, Scene, write};
use std::path::Path;

const PRESETS: [Preset; 3] = [Preset::Small, Preset::Fast, Preset::Classic];

fn at(x: f64, y: f64, z: f64) -> DMat4 {
    DMat4::from_translation(DVec3::new(x, y, z))
}

/// A gun that swings with its muzzle, a rig of locators, a camera, a place, and what says nothing.
fn armed() -> Tree {
    let mut tree = Tree::default();
    let gun = tree.xform(None, "gun", frames(motion));
    tree.mesh(Some(gun), "body", cube());
    let muzzle = DMat4::from_rotation_translation(DQuat::from_rotation_y(0.7), DVec3::Z * 2.0);
    tree.xform(Some(gun), "muzzle", vec![muzzle]);
    let rig = tree.xform(None, "rig", vec![at(5.0, 0.0, 0.0)]);
    let swing = tree.xform(Some(rig), "swing", frames(|f| motion(FRAMES - f)));
    let tip = tree.xform(
        Some(swing),
        "tip",
        frames(|f| motion(f) * at(0.0, 3.0, 0.0)),
    );
    tree.xform(Some(tip), "still", vec![at(1.0, 0.0, 0.0)]);
    let camera = tree.xform(None, "camera", frames(motion));
    tree.node(Some(camera), "lens", NodeKind::Camera);
    tree.xform(None, "spawn", vec![at(-4.0, 1.0, 2.0)]);
    tree.xform(None, "origin", vec![DMat4::IDENTITY]);
    tree.node(None, "empty", NodeKind::Xform);
    tree
}

const ARMED: [&str; 6] = [
    "/gun/muzzle",
    "/rig/swing",
    "/rig/swing/tip",
    "/rig/swing/tip/still",
    "/camera",
    "/spawn",
];

fn locators(out: &Outcome) -> Vec<String> {
    let nodes = out.reel.description().nodes.iter();
    let own = nodes.filter(|n| n.reach > 0.0).map(|n| n.path.clone());
    let own: Vec<String> = own.collect();
    let checked: Vec<String> = out.check.locators.iter().map(|l| l.path.clone()).collect();
    assert_eq!(own, checked);
    let last = out.reel.frame_count();
    assert!(out.check.locators.iter().all(|l| l.ok && l.frames == last));
    own
}

/// The farthest that any of `paths` is from where the first scene has it, over all frames of that.
fn apart(a: &Scene, b: &Scene, paths: &[&str]) -> f64 {
    let (left, right) = (a.expand().unwrap(), b.expand().unwrap());
    let (mut one, mut other) = (
        World::new(a, &left).unwrap(),
        World::new(b, &right).unwrap(),
    );
    let mut most = 0.0f64;
    for f in 0..FRAMES {
        let time = f as f64 / 24.0;
        one.evaluate(time).unwrap();
        other.evaluate(time).unwrap();
        for path in paths {
            let find = |all: &[meshreel_scene::Placed]| all.iter().position(|p| p.path == **path);
            let i = find(&left).unwrap_or_else(|| panic!("{path} is not there"));
            let j = find(&right).unwrap_or_else(|| panic!("{path} did not come back"));
            let off = one.matrix[i] - other.matrix[j];
            let off = off
                .to_cols_array()
                .into_iter()
                .fold(0.0f64, |m, v| m.max(v.abs()));
            most = most.max(off);
        }
    }
    most
}

#[test]
fn they_are_in_the_file_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let tree = armed();
    write::alembic::write(Path::new(&file("a.abc")), &tree.0, &mut |_, _| {}).unwrap();
    let source = open(Path::new(&file("a.abc")), &ReadOptions::default())
        .unwrap()
        .0;
    for (n, preset) in PRESETS.into_iter().enumerate() {
        let out = holds(
            &source,
            &Options {
                preset,
                ..Options::default()
            },
        );
        assert_eq!(locators(&out), ARMED);
        if n > 0 {
            continue;
        }
        std::fs::write(file("a.reel"), &out.bytes).unwrap();
        // Through the runtime, by name.
        let nodes = &out.reel.description().nodes;
        let tip = nodes.iter().position(|n| n.path == ARMED[2]).unwrap();
        let mut decoder = FrameDecoder::new(&out.reel).unwrap();
        let mut at = |frame: usize| {
            decoder.decode(frame).unwrap();
            DVec3::from_array(decoder.world(tip).map(|row| row[3]))
        };
        assert!((at(0) - at(9)).length() > 1.0);
    }
    run(["verify".into(), file("a.abc"), file("a.reel")]).expect(0);
    let info = run(["info".into(), "--json".into(), file("a.reel")])
        .expect(0)
        .json();
    let named = info["nodes"].as_array().unwrap().iter();
    let named = named.filter(|n| n["kind"] == "locator" && n["tolerance"].as_f64() > Some(0.0));
    assert_eq!(named.count(), ARMED.len());
    let tree = run(["info".into(), "--tree".into(), file("a.reel")]).expect(0);
    assert!(
        tree.stdout.contains("/rig/swing/tip  locator"),
        "{}",
        tree.stdout
    );
    for name in ["back.abc", "back.glb"] {
        run(["extract".into(), file("a.reel"), "-o".into(), file(name)]).expect(0);
        let back = open(Path::new(&file(name)), &ReadOptions::default())
            .unwrap()
            .0;
        let off = apart(&source, &back, &ARMED);
        assert!(off < 1e-3, "{name}: {off}");
    }
}

#[test]
fn they_are_chosen_by_path() {
    let tree = armed();
    let options = |include: &[&str], exclude: &[&str]| Options {
        include: include.iter().map(|s| s.to_string()).collect(),
        exclude: exclude.iter().map(|s| s.to_string()).collect(),
        ..Options::default()
    };
    let out = holds(&tree.0, &options(&[], &["/rig", "/camera"]));
    assert_eq!(locators(&out), ["/gun/muzzle", "/spawn"]);
    let out = holds(&tree.0, &options(&["/gun", "/camera"], &[]));
    assert_eq!(locators(&out), ["/gun/muzzle", "/camera"]);
    assert!(out.report.remarks.is_empty(), "{:?}", out.report.remarks);
    // Without any the file is the one of a scene that has none.
    let out = holds(&tree.0, &options(&["/gun/body"], &[]));
    let mut alone = Tree::default();
    let gun = alone.xform(None, "gun", frames(motion));
    alone.mesh(Some(gun), "body", cube());
    let other = holds(&alone.0, &options(&["/gun/body"], &[]));
    assert!(locators(&out).is_empty() && out.bytes == other.bytes);
}

#[test]
fn each_keeps_its_tolerance() {
    let mut tree = armed();
    // A small thing beside a large one: what is near it is as exact as it.
    let far = tree.xform(None, "far", vec![at(100.0, 0.0, 0.0)]);
    let small = tree.xform(
        Some(far),
        "small",
        vec![DMat4::from_scale(DVec3::splat(0.01))],
    );
    tree.mesh(Some(small), "body", cube());
    tree.xform(Some(far), "mark", frames(motion));
    let mut last = usize::MAX;
    for tolerance in [1e-5, 1e-4, 1e-2] {
        for preset in PRESETS {
            let options = Options {
                preset,
                tolerance: Tolerance::Relative(tolerance),
                ..Options::default()
            };
            let out = holds(&tree.0, &options);
            let of = |path: &str| out.check.locators.iter().find(|l| l.path == path).unwrap();
            let size = 12f64.sqrt();
            let (mark, spawn) = (of("/far/mark"), of("/spawn"));
            assert!((mark.tolerance / (tolerance * size * 0.01)).max(1.0) < 100.0);
            assert!(
                spawn.max_error <= spawn.tolerance
                    && mark.tolerance < 0.02 * of("/gun/muzzle").tolerance.max(1e-3)
            );
            if preset == Preset::Small {
                assert!(out.bytes.len() <= last, "{tolerance}");
                last = out.bytes.len();
            }
        }
    }
    let absolute = Options {
        tolerance: Tolerance::Absolute(0.05),
        ..Options::default()
    };
    let out = holds(&tree.0, &absolute);
    assert!(out.check.locators.iter().all(|l| l.tolerance == 0.05));
}

#[test]
fn odd_transforms() {
    let mut tree = armed();
    // Sheared, mirrored, scaled through nothing, no numbers, far away, and free of its parents at times.
    let shear = |f: usize| {
        let mut m = motion(f);
        m.y_axis += m.x_axis * 0.3;
        m
    };
    let odd = tree.xform(None, "odd", frames(shear));
    tree.xform(Some(odd), "below", vec![at(1.0, 2.0, 3.0)]);
    tree.xform(
        None,
        "mirrored",
        frames(|f| motion(f) * DMat4::from_scale(DVec3::new(-1.0, 2.0, 1.0))),
    );
    tree.xform(
        None,
        "gone",
        frames(|f| motion(f) * DMat4::from_scale(DVec3::splat(f as f64 - 10.0))),
    );
    let broken = frames(|f| if f % 5 == 2 { DMat4::NAN } else { motion(f) });
    let broken = tree.xform(None, "broken", broken);
    tree.xform(Some(broken), "below", frames(motion));
    tree.xform(None, "distant", frames(|f| at(1e7 + f as f64, 0.0, 0.0)));
    let free = tree.xform(Some(odd), "free", frames(motion));
    tree.inherits(free, frames(|f| f % 3 == 0));
    tree.xform(Some(free), "below", frames(motion));
    let never = tree.xform(Some(odd), "never", frames(motion));
    tree.inherits(never, vec![false]);
    tree.visible(never, frames(|f| (f % 2) as i8));
    for preset in PRESETS {
        let out = holds(
            &tree.0,
            &Options {
                preset,
                ..Options::default()
            },
        );
        assert_eq!(locators_of(&out).len(), ARMED.len() + 10);
        assert!(out.remark("/odd: ") && out.remark("shear") && out.remark("not finite"));
        assert_eq!(out.shown_in("/odd/never").len(), FRAMES / 2);
    }
    // What moves by itself comes back where it was.
    let out = default(&tree.0);
    let back = meshreel_check::to_scene(&out.reel).unwrap();
    let paths: Vec<String> = back.nodes.iter().map(|n| n.path.clone()).collect();
    for name in ["free", "never", "below"] {
        assert!(paths.iter().any(|p| p.ends_with(name)), "{paths:?}");
    }
}

fn locators_of(out: &Outcome) -> Vec<String> {
    assert!(out.check.locators.iter().all(|l| l.ok));
    out.check.locators.iter().map(|l| l.path.clone()).collect()
}

#[test]
fn a_file_that_lost_one_is_found_out() {
    let tree = armed();
    let out = default(&tree.0);
    let mut other = armed();
    let spare = other.xform(None, "spare", frames(motion));
    let check = meshreel_check::verify(&other.0, &out.reel, &|_, _| {}).unwrap();
    assert!(!check.ok && check.failures.iter().any(|f| f.path == "/spare"));
    other.0.nodes.truncate(spare);
    other.0.nodes[5].transform = None;
    let check = meshreel_check::verify(&other.0, &out.reel, &|_, _| {}).unwrap();
    assert!(!check.ok && check.failures.iter().any(|f| f.path == "/rig/swing/tip"));
}

#[test]
fn very_many_are_cheap() {
    let mut tree = Tree::default();
    let top = tree.xform(None, "top", vec![at(1.0, 0.0, 0.0)]);
    tree.mesh(Some(top), "body", cube());
    let none = default(&tree.0).bytes.len();
    for g in 0..40 {
        let group = tree.xform(
            Some(top),
            &format!("group{g}"),
            vec![at(0.0, f64::from(g), 0.0)],
        );
        for i in 0..50 {
            tree.xform(
                Some(group),
                &format!("place{i}"),
                vec![at(f64::from(i), 0.0, 0.0)],
            );
        }
    }
    let out = default(&tree.0);
    assert_eq!(
        (locators(&out).len(), out.reel.description().nodes.len()),
        (2000, 2001)
    );
    let each = (out.bytes.len() - none) / 2000;
    assert!(each < 20, "{each} bytes each");
}
