//! Clips on bones: poses are the cursor's, and fades are blends.

use crate::{compiled, golden, open};
use meshreel::Transform;
use meshreel::clip::{Query, blend};
use meshreel_godot::model::clips::{ClipMixer, match_bones};

/// Returns the pose of a clip at a time.
fn pose(name: &str, seconds: f64, repeats: bool) -> Vec<Transform> {
    let clips = open(&golden(FILE)).clips().unwrap();
    let clip = clips.iter().find(|clip| clip.name() == name).unwrap();
    let mut out = vec![Transform::IDENTITY; clip.joints()];
    let query = Query::new(seconds);
    let query = if repeats { query.wrapped() } else { query };
    clip.cursor().pose(&query, &mut out[..]).unwrap();
    out
}

/// A file with two clips of one skeleton.
const FILE: &str = "clips/layers.reel";

#[test]
fn poses_are_those_of_the_clip() {
    let mut mixer = ClipMixer::new(&open(&golden(FILE)), "walk").unwrap();
    assert_eq!(mixer.pose(), pose("walk", 0.0, true));
    for k in 1..=5 {
        assert!(!mixer.tick(0.1).unwrap());
        assert_eq!(mixer.pose(), pose("walk", 0.1 * f64::from(k), true));
    }
    mixer.rate = -2.0;
    mixer.tick(0.2).unwrap();
    assert!((mixer.seconds() - 0.1).abs() < 1e-12);
    mixer.playing = false;
    mixer.tick(0.2).unwrap();
    assert!((mixer.seconds() - 0.1).abs() < 1e-12);
}

#[test]
fn a_clip_that_repeats_goes_on_at_the_other_end() {
    let mut mixer = ClipMixer::new(&open(&golden(FILE)), "").unwrap();
    let length = mixer.duration();
    mixer.seek(length - 0.05);
    mixer.tick(0.1).unwrap();
    assert!((mixer.seconds() - (length - 0.05)).abs() < 1e-9, "it is shown where it was set");
    assert!(!mixer.tick(0.1).unwrap());
    assert!((mixer.seconds() - 0.05).abs() < 1e-9);
    assert_eq!(mixer.pose(), pose("walk", length + 0.05, true));
}

#[test]
fn a_clip_that_does_not_repeat_ends_once() {
    let mut mixer = ClipMixer::new(&open(&golden(FILE)), "").unwrap();
    mixer.repeats = false;
    mixer.seek(mixer.duration() - 0.05);
    let ends: Vec<bool> = (0..4).map(|_| mixer.tick(0.1).unwrap()).collect();
    assert_eq!(ends, [false, true, false, false]);
    assert_eq!(mixer.seconds(), mixer.duration());
    mixer.rate = -1.0;
    mixer.seek(0.05);
    let ends: Vec<bool> = (0..4).map(|_| mixer.tick(0.1).unwrap()).collect();
    assert_eq!(ends, [false, true, false, false]);
    assert_eq!(mixer.pose(), pose("walk", 0.0, false));
}

#[test]
fn a_fade_is_a_blend() {
    let mut mixer = ClipMixer::new(&open(&golden(FILE)), "walk").unwrap();
    mixer.seek(2.0);
    mixer.tick(0.0).unwrap();
    mixer.play("run", 0.4).unwrap();
    assert!(mixer.fades());
    mixer.tick(0.1).unwrap();
    // The clip before goes on; the new one is at its beginning in the tick in which it starts.
    let (before, now) = (pose("walk", 2.1, true), pose("run", 0.0, true));
    let mut wanted = now.clone();
    blend(&before, &now, 0.25, &mut wanted);
    assert_eq!(mixer.pose(), wanted);
    assert_ne!(before, now);
    mixer.tick(0.1).unwrap();
    // Another fade begins with the pose that is shown, so that nothing jumps.
    let shown = mixer.pose().to_vec();
    mixer.play("walk", 1.0).unwrap();
    mixer.tick(0.0).unwrap();
    assert_eq!(mixer.pose(), shown);
    (0..4).for_each(|_| assert!(!mixer.tick(0.25).unwrap()));
    assert!(!mixer.fades());
    assert_eq!((mixer.clip_name(), mixer.seconds()), ("walk", 1.0));
    assert_eq!(mixer.pose(), pose("walk", 1.0, true));
}

#[test]
fn a_clip_that_is_not_there_leaves_the_one_before() {
    let reel = open(&golden(FILE));
    let error = ClipMixer::new(&reel, "swim").unwrap_err().to_string();
    assert!(error.contains("layers.reel") && error.contains("swim") && error.contains("walk"), "{error}");
    let mut mixer = ClipMixer::new(&reel, "").unwrap();
    mixer.tick(0.5).unwrap();
    assert!(mixer.play("swim", 0.2).is_err());
    assert_eq!((mixer.clip_name(), mixer.fades()), ("walk", false));
    assert!((mixer.seconds() - 0.5).abs() < 1e-12);
}

#[test]
fn a_file_without_clips_is_an_error() {
    let error = ClipMixer::new(&open(&golden("v0/square.reel")), "").unwrap_err().to_string();
    assert!(error.contains("square.reel"), "{error}");
}

#[test]
fn joints_are_bones_by_name() {
    let mixer = ClipMixer::new(&open(&golden(FILE)), "").unwrap();
    let names = &mixer.skeleton().names;
    let bones = match_bones(names, &mut |name| names.iter().position(|own| own == name));
    assert_eq!(bones, (0..names.len()).map(Some).collect::<Vec<_>>());
}

#[test]
fn the_clip_of_a_character_has_its_joints() {
    let Some(path) = compiled("beam.reel") else { return };
    let mut mixer = ClipMixer::new(&open(&path), "").unwrap();
    assert!(mixer.duration() > 0.0 && mixer.skeleton().names.len() > 1);
    let before = mixer.pose().to_vec();
    mixer.tick(mixer.duration() / 2.0).unwrap();
    assert_ne!(mixer.pose(), before);
}
