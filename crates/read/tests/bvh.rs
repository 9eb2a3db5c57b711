//! Tests of reading and writing BVH: real files, hand-made ones with known poses, and every kind of damage.

use glam::{DAffine3, DQuat, DVec3};
use meshreel_read::{ReadOptions, bvh};
use meshreel_scene::{Clip, Error, Remark, Scene};
use std::path::Path;

const SMALL: &str = "HIERARCHY
ROOT hips
{
  OFFSET 0 100 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT left leg {
    OFFSET 10 0 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 -40 0
    }
  }
  JOINT still
  {
    OFFSET 0 5 0
    CHANNELS 0
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
1 2 3 90 0 0 10 20 30
4 5 6 0 0 0 0 0 0
";

fn parse(text: &[u8]) -> Result<(Scene, Vec<Remark>), Error> {
    bvh::parse(Path::new("a.bvh"), text, &ReadOptions::default())
}

fn malformed(text: &str) -> String {
    match parse(text.as_bytes()) {
        Err(Error::Malformed { what, at, .. }) => format!("{what} at {at}"),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("was read:\n{text}"),
    }
}

fn object_space(scene: &Scene, clip: &Clip, sample: usize) -> Vec<DAffine3> {
    let mut pose = Vec::new();
    clip.pose(sample, &mut pose);
    let mut out: Vec<DAffine3> = Vec::new();
    for (joint, local) in scene.skeletons[clip.skeleton].joints.iter().zip(&pose) {
        let parent = joint.parent.map_or(DAffine3::IDENTITY, |p| out[p]);
        out.push(parent * local.matrix());
    }
    out
}

#[test]
fn a_small_file_has_the_known_poses() {
    let (scene, remarks) = parse(SMALL.as_bytes()).unwrap();
    assert_eq!(remarks, []);
    let joints = &scene.skeletons[0].joints;
    let names: Vec<&str> = joints.iter().map(|j| &*j.name).collect();
    assert_eq!(names, ["hips", "left leg", "still"]);
    assert_eq!([joints[1].parent, joints[2].parent], [Some(0), Some(0)]);
    assert_eq!(joints[1].end_sites, [DVec3::new(0.0, -40.0, 0.0)]);
    let clip = &scene.clips[0];
    assert_eq!((clip.samples, clip.fps, clip.raw_bytes()), (2, 30.0, 240));
    // Position channels replace the offset; the rotation about z takes the leg from x to y.
    assert_eq!(clip.tracks[0].transform(0).translation, DVec3::new(1.0, 2.0, 3.0));
    let world = object_space(&scene, clip, 0);
    let leg = world[1].translation;
    assert!(leg.distance(DVec3::new(1.0, 12.0, 3.0)) < 1e-12, "{leg}");
    // Channels multiply in their order.
    let turn = |axis, degrees: f64| DQuat::from_axis_angle(axis, degrees.to_radians());
    let want = turn(DVec3::Z, 10.0) * turn(DVec3::Y, 20.0) * turn(DVec3::X, 30.0);
    assert!(clip.tracks[1].transform(0).rotation.dot(want).abs() > 1.0 - 1e-15);
    assert!(clip.tracks[2].rotation.is_constant());
}

#[test]
fn rates_are_what_was_meant() {
    let fps = |time: &str| {
        let text = SMALL.replace("0.0333333", time);
        let (scene, remarks) = parse(text.as_bytes()).unwrap();
        (scene.clips[0].fps, remarks.len())
    };
    assert_eq!(fps("0.033333"), (30.0, 0));
    assert_eq!(fps(".0083333"), (120.0, 0));
    assert_eq!(fps("0.0416667"), (24.0, 0));
    let (odd, _) = fps("0.0333667");
    assert!((odd - 29.97).abs() < 1e-3, "{odd}");
    // Without a valid frame rate the reader uses its default and adds a remark.
    for bad in ["0", "-1", "1e-320"] {
        assert_eq!(fps(bad), (30.0, 1), "{bad}");
    }
}

#[test]
fn damage_is_said_and_where() {
    let replaced = |from: &str, to: &str| {
        assert!(SMALL.contains(from));
        malformed(&SMALL.replace(from, to))
    };
    assert!(replaced("1 2 3", "1 nan 3").contains("line 23"));
    assert!(replaced("1 2 3", "1 inf 3").contains("joint hips"));
    assert!(replaced("1 2 3", "1 x 3").contains("'x'"));
    assert!(replaced("4 5 6", "4 5").contains("ends before"));
    assert!(replaced("Frames: 2", "Frames: 0").contains("at least one"));
    assert!(replaced("Frames: 2", "Frames: 1e14").contains("cut short"));
    assert!(replaced("CHANNELS 6", "CHANNELS 1000000").contains("channels"));
    assert!(replaced("Xposition", "Wposition").contains("no channel"));
    assert!(replaced("Yposition", "Xposition").contains("twice"));
    assert!(replaced("HIERARCHY", "HIERARCHIE").contains("in place of HIERARCHY"));
    assert!(replaced("MOTION", "}").contains("does not belong here"));
    malformed("");
    malformed("HIERARCHY\nMOTION\nFrames: 1\nFrame Time: 1\n");
}

#[test]
fn several_roots_one_sample_and_no_channels_are_right() {
    let text = "HIERARCHY ROOT a\n{ OFFSET 1 0 0 CHANNELS 0 }\nROOT b\n{ OFFSET 2 0 0 CHANNELS 1 Zrotation JOINT c\n{ OFFSET 0 3 0 } }
        MOTION Frames: 1 Frame Time: 0.04 90";
    let (scene, remarks) = parse(text.as_bytes()).unwrap();
    assert_eq!(remarks, []);
    let clip = &scene.clips[0];
    assert_eq!((clip.samples, clip.duration()), (1, 0.0));
    let world = object_space(&scene, clip, 0);
    assert_eq!(world[0].translation, DVec3::X);
    assert!(world[2].translation.distance(DVec3::new(-1.0, 0.0, 0.0)) < 1e-12);
    // A frame count without rows must not be allocated.
    let text = "HIERARCHY ROOT a\n{ OFFSET 1 0 0 } MOTION Frames: 1000000000 Frame Time: 0.04";
    let (scene, remarks) = parse(text.as_bytes()).unwrap();
    assert_eq!((scene.clips[0].samples, remarks.len()), (1, 1));
}

#[test]
fn joints_have_a_limit() {
    let chain = |n: usize| {
        let mut text = String::from("HIERARCHY\n");
        for i in 0..n {
            let kind = if i == 0 { "ROOT" } else { "JOINT" };
            text.push_str(&format!("{kind} j{i}\n{{ OFFSET 0 1 0 CHANNELS 1 Xrotation\n"));
        }
        text.push_str(&"}".repeat(n).replace('}', "}\n"));
        text.push_str("MOTION\nFrames: 1\nFrame Time: 0.1\n");
        text.push_str(&"0 ".repeat(n));
        text
    };
    let (scene, _) = parse(chain(16_384).as_bytes()).unwrap();
    assert_eq!(scene.skeletons[0].joints.len(), 16_384);
    let error = parse(chain(16_385).as_bytes()).err();
    assert!(matches!(error, Some(Error::Limit { allowed: 16_384, .. })), "{error:?}");
}

#[test]
fn every_truncation_and_every_flip_ends_well() {
    for end in 0..SMALL.trim_end().len() - 1 {
        // Only the last number can be cut off a file without being noticed.
        assert!(parse(&SMALL.as_bytes()[..end]).is_err(), "{end}");
    }
    for at in 0..SMALL.len() {
        for bit in 0..8 {
            let mut bytes = SMALL.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            let _ = parse(&bytes);
        }
    }
}

fn assert_equal(a: &Scene, b: &Scene) {
    let (a_clip, b_clip) = (&a.clips[0], &b.clips[0]);
    assert_eq!((a_clip.samples, a_clip.fps), (b_clip.samples, b_clip.fps));
    let joints = |scene: &Scene| -> Vec<_> {
        let joints = &scene.skeletons[0].joints;
        joints.iter().map(|j| (j.name.clone(), j.parent)).collect()
    };
    assert_eq!(joints(a), joints(b));
    for i in 0..a_clip.samples {
        for (p, q) in object_space(a, a_clip, i).iter().zip(object_space(b, b_clip, i)) {
            for point in [DVec3::ZERO, DVec3::X * 3.0, DVec3::Y * 3.0, DVec3::Z * 3.0] {
                let distance = p.transform_point3(point).distance(q.transform_point3(point));
                assert!(distance < 2e-6, "sample {i}: {distance}");
            }
        }
    }
}

#[test]
fn what_is_written_reads_back() {
    let (scene, _) = parse(SMALL.as_bytes()).unwrap();
    let mut remarks = Vec::new();
    let text = meshreel_write::bvh::text(&scene.skeletons[0], &scene.clips[0], &mut remarks);
    assert_eq!(remarks, []);
    let (again, _) = parse(text.as_bytes()).unwrap();
    assert_equal(&scene, &again);
    assert_eq!(scene.skeletons[0].joints[1].end_sites, again.skeletons[0].joints[1].end_sites);
}

#[test]
fn gimbal_poses_are_written_right() {
    for y in ["90", "-90", "89.9999999", "270"] {
        let text = SMALL.replace("10 20 30", &format!("10 {y} 30"));
        let (scene, _) = parse(text.as_bytes()).unwrap();
        let text = meshreel_write::bvh::text(&scene.skeletons[0], &scene.clips[0], &mut Vec::new());
        assert_equal(&scene, &parse(text.as_bytes()).unwrap().0);
    }
}

/// Joints, frames and rates of the corpus equal those of its list.
#[test]
fn clips_of_the_corpus_are_those_of_the_list() {
    let Some(folder) = crate::corpus::corpus_path("clips") else {
        return;
    };
    let list = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut raw = 0;
    for line in list.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let path = folder.join(columns[0]);
        let (scene, remarks) = bvh::open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(remarks, [], "{}", columns[0]);
        let clip = &scene.clips[0];
        assert_eq!(clip.tracks.len().to_string(), columns[1], "{}", columns[0]);
        assert_eq!(clip.samples.to_string(), columns[2], "{}", columns[0]);
        assert_eq!(clip.fps.to_string(), columns[3], "{}", columns[0]);
        raw += clip.raw_bytes();
    }
    assert_eq!(raw, 30_593_160);
}

#[test]
fn characters_of_the_corpus_write_and_read_back() {
    let Some(folder) = crate::corpus::corpus_path("characters") else {
        return;
    };
    for name in ["hero.bvh", "snake.bvh"] {
        let (scene, remarks) = bvh::open(&folder.join(name), &ReadOptions::default()).unwrap();
        assert_eq!(remarks, []);
        let text = meshreel_write::bvh::text(&scene.skeletons[0], &scene.clips[0], &mut Vec::new());
        assert_equal(&scene, &parse(text.as_bytes()).unwrap().0);
    }
}
