//! Tests of all animations of a glTF file one after the other: each equals the animation alone.

use crate::glb_builder::{GlbBuilder, animated};
use glam::DVec3;
use meshreel_read::ReadOptions;
use meshreel_scene::sample::{FrameOptions, World, frame_ranges, frame_times, positions_at};
use meshreel_scene::{NamedRange, Scene};
use serde_json::json;
use std::path::Path;

/// Returns all points of all meshes in world space.
fn points(scene: &Scene, time: f64) -> Vec<DVec3> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let (mut own, mut out) = (Vec::new(), Vec::new());
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else {
            continue;
        };
        positions_at(&scene.meshes[mesh], time, &mut own).unwrap();
        let matrix = &world.matrix[i];
        out.extend((own.iter()).map(|p| matrix.transform_point3(DVec3::from(p.map(f64::from)))));
    }
    out
}

fn open(path: &Path, animation: &str) -> Scene {
    let options = ReadOptions { animation: Some(animation.into()), ..ReadOptions::default() };
    meshreel_read::open(path, &options).unwrap().0
}

/// Compares each range of a file, at frames and between them, with the animation of that number alone;
/// returns the ranges.
fn each_as_alone(path: &Path, parts: usize) -> Vec<NamedRange> {
    let all = open(path, ReadOptions::ALL_ANIMATIONS);
    for (a, range) in all.ranges.iter().enumerate() {
        let alone = open(path, &a.to_string());
        let clip = alone.clips.iter().find(|clip| clip.name == range.name);
        // The start of the animation on its own clock.
        let start = match clip {
            Some(clip) => clip.start,
            None => {
                let placed = alone.expand().unwrap();
                let options = FrameOptions::default();
                frame_times(&alone, &placed, &vec![true; placed.len()], &options).unwrap()[0]
            }
        };
        for part in 0..=parts {
            let on = (range.end - range.start) * part as f64 / parts as f64;
            let (got, wanted) = (points(&all, range.start + on), points(&alone, start + on));
            assert_eq!(got.len(), wanted.len());
            for (got, wanted) in got.iter().zip(&wanted) {
                let off = got.distance(*wanted);
                assert!(off < 1e-6 * (1.0 + wanted.length()), "{}: {part}: {got} {wanted}", range.name);
            }
        }
    }
    all.ranges
}

#[test]
fn each_animation_is_what_it_is_alone() {
    // A skin, a morph target and their animation; then others, at other rates and times, that leave some of
    // it unanimated.
    let mut maker = animated();
    let first = maker.json["animations"][0]["name"].as_str().map(str::to_owned);
    let moved = maker.triangle(&[]);
    let node = maker.node(None, json!({"name": "prop", "mesh": moved, "translation": [0, 0, 5]}));
    let begin = |maker: &mut GlbBuilder, name: &str| {
        maker.push("animations", json!({"name": name, "channels": [], "samplers": []}));
    };
    begin(&mut maker, "half turn");
    let turns = [[0f32, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1e-9]];
    maker.channel(node, "rotation", "LINEAR", &[1.0, 2.0], &turns);
    begin(&mut maker, "jump");
    let places = [[0f32, 0.0, 0.0], [9.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    maker.channel(node, "translation", "STEP", &[0.0, 0.375, 0.5], &places);
    begin(&mut maker, "nothing");
    begin(&mut maker, "still");
    maker.channel(node, "scale", "LINEAR", &[0.25], &[[2f32, 2.0, 2.0]]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    std::fs::write(&path, maker.glb()).unwrap();
    // An animation without keys has no duration.
    maker.json["animations"].as_array_mut().unwrap().remove(3);
    std::fs::write(&path, maker.glb()).unwrap();
    let ranges = each_as_alone(&path, 24);
    let names: Vec<&str> = ranges.iter().map(|r| &r.name[..]).collect();
    assert_eq!(names[1..], ["half turn", "jump", "still"]);
    assert_eq!(first.as_deref().unwrap_or("animation 0"), names[0]);
    assert_eq!(ranges[0].start, 0.0);
    assert!(ranges.windows(2).all(|w| w[0].end < w[1].start));
    assert!((ranges[1].end - ranges[1].start - 1.0).abs() < 1e-9);
    assert_eq!(ranges[3].start, ranges[3].end);
}

#[test]
fn a_file_without_animations_has_no_ranges() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    maker.node(None, json!({"mesh": mesh}));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    std::fs::write(&path, maker.glb()).unwrap();
    assert!(open(&path, "all").ranges.is_empty());
}

/// Rate and time range apply within each range; no frame lies between two.
#[test]
fn frames_of_ranges() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let node = maker.node(None, json!({"mesh": mesh}));
    for (name, end) in [("a", 1.0), ("b", 0.5)] {
        maker.push("animations", json!({"name": name, "channels": [], "samplers": []}));
        maker.channel(node, "translation", "LINEAR", &[0.0, end], &[[0f32; 3], [1.0, 0.0, 0.0]]);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    std::fs::write(&path, maker.glb()).unwrap();
    let scene = open(&path, "all");
    let placed = scene.expand().unwrap();
    let times = |fps, range| {
        let options = FrameOptions { fps, range, ..FrameOptions::default() };
        frame_times(&scene, &placed, &vec![true; placed.len()], &options).unwrap()
    };
    // 31 samples at 30 a second, then 16; straight lines need only their ends.
    let all = times(None, None);
    assert_eq!(all, [0.0, 1.0, 31.0 / 30.0, 46.0 / 30.0]);
    let named = |times: &[f64]| -> Vec<(String, usize, usize)> { frame_ranges(&scene.ranges, times) };
    assert_eq!(named(&all), [("a".into(), 0, 2), ("b".into(), 2, 2)]);
    let finer = times(Some(8.0), None);
    assert_eq!(named(&finer), [("a".into(), 0, 9), ("b".into(), 9, 5)]);
    assert!(finer.iter().all(|t| *t <= 1.0 + 1e-9 || *t >= 31.0 / 30.0 - 1e-9));
    let late = times(Some(8.0), Some(meshreel_scene::sample::TimeRange::Frames(9, 11)));
    assert_eq!(named(&late), [("b".into(), 0, 3)]);
}

/// Tests two real characters with several animations.
#[test]
fn real_characters_one_animation_after_the_other() {
    for (file, count) in [("gltf/Fox.glb", 3)] {
        let Some(path) = crate::corpus::corpus_path(file) else { continue };
        assert_eq!(each_as_alone(&path, 3).len(), count);
    }
}

/// Weights of morph targets in later animations: a remark if nothing keeps them, a clip if there is a
/// skeleton.
#[test]
fn weights_of_later_animations_do_not_vanish() {
    let begin = |maker: &mut GlbBuilder, name: &str| {
        maker.push("animations", json!({"name": name, "channels": [], "samplers": []}));
    };
    let swells = |maker: &mut GlbBuilder| {
        let mesh = maker.triangle(&[]);
        let deltas = maker.floats(&[[0f32, 0.0, 1.0]; 3]);
        maker.json["meshes"][mesh]["primitives"][0]["targets"] = json!([{"POSITION": deltas}]);
        mesh
    };
    let mut maker = GlbBuilder::new();
    let mesh = swells(&mut maker);
    let node = maker.node(None, json!({"mesh": mesh}));
    for (name, to) in [("smile", 1.0), ("frown", -1.0)] {
        begin(&mut maker, name);
        maker.channel(node, "weights", "LINEAR", &[0.0, 1.0], &[[0f32], [to]]);
    }
    let (scene, remarks) = maker.open().unwrap();
    assert_eq!(scene.meshes[0].positions.len(), 2);
    let said = remarks[0].to_string();
    let all = ["0 'smile', 1 'frown'", "follows 'smile'", "--animation all"];
    assert!(all.iter().all(|part| said.contains(part)), "{said}");
    // Only weights move, on a skin: a clip with a scalar track.
    let mut maker = animated();
    let skinned = (maker.json["nodes"].as_array().unwrap().iter()).position(|n| n["skin"].is_u64());
    let mesh = maker.json["nodes"][skinned.unwrap()]["mesh"].as_u64().unwrap() as usize;
    let targets = &maker.json["meshes"][mesh]["primitives"][0]["targets"];
    let count = targets.as_array().map_or(0, Vec::len);
    assert!(count > 0);
    begin(&mut maker, "face");
    let keys: Vec<[f32; 1]> = (0..2 * count).map(|k| [k as f32]).collect();
    maker.channel(skinned.unwrap(), "weights", "LINEAR", &[0.0, 1.0], &keys);
    let (scene, _) = maker.open().unwrap();
    let face = scene.clips.iter().find(|clip| clip.name == "face").unwrap();
    assert_eq!(face.scalars.len(), count);
    assert!(!face.scalars[0].values.is_constant());
}
