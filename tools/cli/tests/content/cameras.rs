//! Tests of cameras: every value of a lens in every frame, with meshes and alone, and back through Alembic
//! and glTF.

use super::build::*;
use crate::cli::common::run;
use glam::DMat4;
use meshreel::Reel;
use meshreel::time::FramePair;
use meshreel_options::{Options, Preset};
use meshreel_read::{ReadOptions, open};
use meshreel_scene::{Lens, NodeKind, Scene, sample};
use std::path::Path;

const PATH: &str = "/shot/lens";

/// Returns a lens of a dolly zoom; none of its values is the default.
fn zoom(frame: usize) -> Lens {
    let t = frame as f64;
    Lens {
        focal_length: 35.0 + 1.7 * t,
        aperture: [25.4, 14.2],
        aperture_offset: [0.31, -0.17 * t],
        squeeze: 1.3,
        overscan: [0.01, 0.02, 0.03, 0.04],
        f_stop: 2.8,
        focus_distance: 7.0 - 0.11 * t,
        shutter: [-0.004, 0.0171],
        clipping: [0.03, 4321.0],
        orthographic: false,
    }
}

/// Returns a camera that zooms, and moves by `motion`, beside `others`.
fn shot(mut others: Tree, motion: Vec<DMat4>) -> Scene {
    let place = others.xform(None, "shot", motion);
    let lens = others.node(Some(place), "lens", NodeKind::Camera);
    others.0.nodes[lens].camera = Some(channel(frames(|f| vec![zoom(f)])));
    others.0
}

fn lens_of(scene: &Scene, frame: usize) -> Lens {
    let camera = scene.nodes.iter().find_map(|node| node.camera.as_ref()).expect("a camera");
    sample::lens_at(camera, frame as f64 / 24.0).unwrap().unwrap()
}

fn is_near(a: &Lens, b: &Lens) -> bool {
    let both = a.tracks().into_iter().flatten().zip(b.tracks().into_iter().flatten());
    let largest = 4321.0f64.max(a.clipping[1]);
    both.into_iter().all(|(a, b)| (a - b).abs() <= 1e-6 * a.abs().max(1e-3 * largest))
}

fn lens_in(reel: &Reel, frame: usize) -> meshreel::Lens {
    let cameras = reel.cameras().unwrap();
    assert_eq!(cameras.len(), 1);
    cameras[0].lens(FramePair::single(frame as u32))
}

#[test]
fn i12_cameras_come_back_beside_meshes_and_alone() {
    let mut body = Tree::default();
    body.mesh(None, "body", cube());
    let [moving, alone, still] = [frames(motion), frames(motion), vec![motion(3)]];
    let all = [shot(body, moving), shot(Tree::default(), alone), shot(Tree::default(), still)];
    for source in all {
        for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
            let out = holds(&source, &Options { preset, ..Options::default() });
            assert_eq!(out.check.cameras.len(), 1);
            let report = &out.check.cameras[0];
            assert_eq!((&report.path[..], report.frames, report.ok), (PATH, FRAMES, true));
            for frame in [0, 7, FRAMES - 1] {
                let (got, right) = (lens_in(&out.reel, frame), zoom(frame));
                assert!((f64::from(got.focal_length) - right.focal_length).abs() < 1e-4);
                assert!((f64::from(got.aperture_offset[1]) - right.aperture_offset[1]).abs() < 1e-4);
                assert!(!got.orthographic);
            }
        }
        let none = Options {
            channels: sample::ChannelSelection { attributes: false, ..Default::default() },
            ..Options::default()
        };
        assert!(holds(&source, &none).reel.cameras().unwrap().is_empty());
    }
}

#[test]
fn i12_a_camera_of_an_archive_alone_through_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    meshreel_write::alembic::write(
        Path::new(&file("a.abc")),
        &shot(Tree::default(), frames(motion)),
        &mut |_, _| {},
    )
    .unwrap();
    run(["compile".into(), file("a.abc"), "-o".into(), file("a.reel")]).expect(0);
    let said = run(["verify".into(), file("a.abc"), file("a.reel"), "--json".into()]).expect(0).json();
    assert_eq!(said["cameras"][0]["path"], PATH);
    let info = run(["info".into(), "--json".into(), file("a.reel")]).expect(0).json();
    assert_eq!(info["cameras"][0]["path"], PATH);
    // Back to Alembic with all of it, and to glTF with the part that it supports.
    for name in ["back.abc", "back.glb"] {
        let back = file(name);
        run(["extract".into(), file("a.reel"), "-o".into(), back.clone()]).expect(0);
        let back = open(Path::new(&back), &ReadOptions::default()).unwrap().0;
        for frame in [0, FRAMES - 1] {
            let (got, right) = (lens_of(&back, frame), zoom(frame));
            match name {
                "back.abc" => assert!(is_near(&got, &right), "{got:?}"),
                // Height of a picture at distance 1, and its aspect ratio, in the first frame.
                _ => {
                    let (angle, first) = (got.aperture[1] / got.focal_length, zoom(0));
                    assert!((angle - first.aperture[1] / first.focal_length).abs() < 1e-6);
                    let wide = first.squeeze * first.aperture[0] / first.aperture[1];
                    assert!((got.aperture[0] / got.aperture[1] - wide).abs() < 1e-6);
                    assert!((got.clipping[1] - right.clipping[1]).abs() < 1e-3);
                }
            }
        }
    }
    // A lens that differs from the compiled one is detected.
    let mut other = shot(Tree::default(), frames(motion));
    let changed = |f: usize| vec![Lens { focus_distance: 7.2, ..zoom(f) }];
    other.nodes[1].camera = Some(channel(frames(changed)));
    meshreel_write::alembic::write(Path::new(&file("b.abc")), &other, &mut |_, _| {}).unwrap();
    let said = run(["verify".into(), file("b.abc"), file("a.reel")]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(format!("{}{}", said.stdout, said.stderr).contains("focus_distance"));
    // Without it there is nothing left.
    run(["compile".into(), file("a.abc"), "-o".into(), file("c.reel"), "--exclude".into(), "/shot".into()])
        .expect(1);
    assert!(!Path::new(&file("c.reel")).exists());
}
