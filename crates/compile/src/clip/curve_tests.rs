//! Tests of curves on synthetic clips. Test names begin with the tested feature.

use super::curve::{CompressedCurves, CurveOptions, CurveRule, compress_curves};
use super::fit::{TrackFitter, TrackKeys};
use super::reference::{ObjectTransform, widen};
use super::tests::{clip, skeleton, swing};
use glam::{DQuat, DVec3};
use meshreel_codec::clip::curve::{CurveClip, KnotSpacing, Playhead, TransformPart};
use meshreel_codec::transform::Transform;
use meshreel_scene::{Clip, Qvv, Skeleton};

fn local(adaptive: bool, pinned: &[usize]) -> CurveRule {
    CurveRule::Local { parts: [1.0; 3], adaptive, pinned: pinned.to_vec() }
}

fn compressed(s: &Skeleton, c: &Clip, rule: CurveRule, tolerance: f64) -> CompressedCurves {
    let options = CurveOptions { tolerance, rule, ..CurveOptions::default() };
    compress_curves(s, c, &options).unwrap()
}

fn plain_track(values: &[[f32; 4]], plain: bool) -> (TrackKeys, bool) {
    let off = |i: usize, v: [f32; 4]| f64::from((v[0] - values[i][0]).abs()) / 0.05;
    let track = TrackFitter {
        values,
        rotation: false,
        knots: KnotSpacing::Centripetal,
        round_trip: &|v| v,
        error: &off,
        max_keys: usize::MAX,
    };
    track.fit(plain)
}

/// Returns a curve with calm and busy stretches.
fn wave(samples: usize) -> Vec<[f32; 4]> {
    let value = |i: usize| {
        let t = i as f32 * 0.02;
        (t * t).sin() * 2.0 + t
    };
    (0..samples).map(|i| [value(i), 0.0, 0.0, 0.0]).collect()
}

/// Returns the origins of all joints at a sample.
fn origins(s: &Skeleton, done: &CompressedCurves, sample: usize) -> Vec<DVec3> {
    let skeleton = done.joints.skeleton();
    let curves = CurveClip::decode(&done.bytes, &skeleton).unwrap();
    let mut pose = vec![Transform::IDENTITY; s.joints.len()];
    Playhead::new(&curves).pose(&curves, &skeleton, sample as f32, &mut pose);
    let mut objects: Vec<ObjectTransform> = Vec::new();
    for (j, local) in pose.iter().enumerate() {
        let above = skeleton.parent(j).map_or(ObjectTransform::IDENTITY, |p| objects[p]);
        objects.push(above.child(&widen(local), true));
    }
    objects.iter().map(|o| o.origin).collect()
}

fn true_origins(s: &Skeleton, c: &Clip, sample: usize) -> Vec<DVec3> {
    let mut objects: Vec<ObjectTransform> = Vec::new();
    for (joint, track) in s.joints.iter().zip(&c.tracks) {
        let above = joint.parent.map_or(ObjectTransform::IDENTITY, |p| objects[p]);
        objects.push(above.child(&track.transform(sample), true));
    }
    objects.iter().map(|o| o.origin).collect()
}

#[test]
fn d05_keys_are_inserted_where_it_is_worst_until_every_span_holds() {
    let values = wave(400);
    let (keys, holds) = plain_track(&values, true);
    assert!(holds);
    assert_eq!((keys[0].0, keys[keys.len() - 1].0), (0, 399));
    assert!(keys.len() < 130, "{} keys", keys.len());
    // Busy stretches get more keys.
    let within = |from: u16, to: u16| keys.iter().filter(|k| (from..to).contains(&k.0)).count();
    assert!(within(300, 400) > 2 * within(0, 100));
    // A straight line needs only its ends.
    let line: Vec<[f32; 4]> = (0..100).map(|i| [i as f32, 0.0, 0.0, 0.0]).collect();
    assert_eq!(plain_track(&line, true).0.len(), 2);
}

#[test]
fn d15_d16_moved_keys_are_fewer() {
    let values = wave(400);
    let (inserted, _) = plain_track(&values, true);
    let (moved, holds) = plain_track(&values, false);
    assert!(holds);
    assert!(10 * moved.len() <= 8 * inserted.len(), "{} of {}", moved.len(), inserted.len());
    // Values of keys need not be those of samples.
    let off = |key: &(u16, [f32; 4])| (key.1[0] - values[usize::from(key.0)][0]).abs();
    assert!(moved.iter().any(|key| off(key) > 1e-4));
}

#[test]
fn d07_each_kind_of_sub_track_has_its_tolerance() {
    let s = skeleton(6);
    let c = clip(&s, 200, |j, i| Qvv {
        translation: s.joints[j].rest.translation + DVec3::X * (i * 0.31 + j as f64).sin(),
        ..swing(&s, j, i)
    });
    let keys = |parts| {
        let rule = CurveRule::Local { parts, adaptive: false, pinned: Vec::new() };
        let done = compressed(&s, &c, rule, 0.01);
        let curves = CurveClip::decode(&done.bytes, &done.joints.skeleton()).unwrap();
        let count = |part| curves.keys().iter().filter(|k| k.part == part).count();
        [count(TransformPart::Rotation), count(TransformPart::Translation)]
    };
    let ([r, t], [r10, t10]) = (keys([1.0; 3]), keys([1.0, 10.0, 1.0]));
    assert!(r == r10 && t10 < t, "{r} {t} {r10} {t10}");
    let [fewer, same] = keys([10.0, 1.0, 1.0]);
    assert!(fewer < r && same == t);
}

#[test]
fn d09_the_tolerance_shrinks_up_the_hierarchy() {
    let s = skeleton(10);
    let c = clip(&s, 300, |j, i| swing(&s, j, i));
    let [alike, adaptive] = [false, true].map(|a| compressed(&s, &c, local(a, &[]), 0.2));
    // Joints with many descendants are kept more precise, so that the ends are precise.
    assert!(adaptive.max_error < alike.max_error);
    assert!(adaptive.keys > alike.keys);
    let of_root = |done: &CompressedCurves| {
        let curves = CurveClip::decode(&done.bytes, &done.joints.skeleton()).unwrap();
        curves.keys().iter().filter(|k| k.joint == 0).count()
    };
    assert!(of_root(&adaptive) > of_root(&alike));
}

#[test]
fn d10_a_pinned_joint_stays_where_it_is() {
    let s = skeleton(10);
    let c = clip(&s, 200, |j, i| swing(&s, j, i));
    let foot = 9;
    let free = compressed(&s, &c, local(false, &[]), 0.3);
    let pinned = compressed(&s, &c, local(false, &[foot]), 0.3);
    let slide = |done: &CompressedCurves| {
        (0..200).fold(0.0f64, |worst, i| {
            let off = origins(&s, done, i)[foot] - true_origins(&s, &c, i)[foot];
            worst.max(off.length())
        })
    };
    let (before, after) = (slide(&free), slide(&pinned));
    assert!(after <= 0.3 && after < before / 2.0, "{before} {after}");
}

#[test]
fn the_guarantee_holds_in_object_space() {
    let s = skeleton(12);
    let c = clip(&s, 250, |j, i| Qvv {
        translation: s.joints[j].rest.translation
            + if j == 0 { DVec3::new(i * 0.5, (i * 0.2).sin(), 0.0) } else { DVec3::ZERO },
        scale: DVec3::splat(if j == 4 { 1.0 + 0.2 * (i * 0.1).sin() } else { 1.0 }),
        ..swing(&s, j, i)
    });
    for tolerance in [0.1, 1.0] {
        let done = compressed(&s, &c, CurveRule::Guaranteed, tolerance);
        assert!(done.holds && done.max_error <= tolerance, "{}", done.max_error);
        assert!(done.keys < done.samples);
    }
    // 15 bits cannot hold this, and `holds` is false.
    assert!(!compressed(&s, &c, CurveRule::Guaranteed, 1e-6).holds);
}

#[test]
fn d13_a_quarter_of_the_memory() {
    let s = skeleton(12);
    let c = clip(&s, 600, |j, i| swing(&s, j, i * 0.5));
    let done = compressed(&s, &c, local(false, &[]), 0.1);
    assert_eq!(done.raw_bytes, 16 * done.samples);
    assert!(4 * done.bytes.len() <= done.raw_bytes, "{} of {}", done.bytes.len(), done.raw_bytes);
}

#[test]
fn any_number_of_samples_and_odd_rotations() {
    let s = skeleton(4);
    for samples in [1, 2, 3, 4, 5, 17] {
        let c = clip(&s, samples, |j, i| swing(&s, j, i * 3.0));
        for rule in [CurveRule::Guaranteed, local(true, &[3])] {
            let done = compressed(&s, &c, rule, 0.5);
            assert!(done.holds, "{samples}");
        }
    }
    let flips = clip(&s, 60, |j, i| Qvv {
        rotation: match (i as usize + j) % 3 {
            0 => DQuat::IDENTITY,
            1 => -DQuat::from_rotation_x(3.0),
            _ => DQuat::from_rotation_z(2.0),
        },
        ..s.joints[j].rest
    });
    let done = compressed(&s, &flips, CurveRule::Guaranteed, 0.5);
    assert!(done.holds && done.max_error <= 0.5);
    let long = clip(&s, 65_537, |j, _| s.joints[j].rest);
    assert!(compress_curves(&s, &long, &CurveOptions::default()).is_err());
}
