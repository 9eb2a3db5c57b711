//! Tests of USD value clips: unsupported ones, and the number of open files; `usd.rs` compares the values
//! themselves.

use crate::walk::walk;
use meshreel_scene::sample::positions_at;
use meshreel_scene::{Error, Remark, Scene};
use std::path::Path;

/// Returns a mesh of one point with clips, whose set has `fields`; in the folder, a clip `NAME.usda` for each
/// number, whose point is at x = 10 · number + time.
fn scene_of(folder: &Path, fields: &str, clips: usize) -> Result<(Scene, Vec<Remark>), Error> {
    for number in 0..clips {
        let samples: String = (0..3).map(|i| format!("{i}: [({}, 0, 0)], ", 10 * number + i)).collect();
        let text = format!("#usda 1.0\ndef \"C\" {{ point3f[] points.timeSamples = {{ {samples} }} }}");
        std::fs::write(folder.join(format!("{number}.usda")), text).unwrap();
    }
    let text = format!(
        "#usda 1.0\ndef Mesh \"M\" ( clips = {{ dictionary default = {{ {fields} }} }} ) \
         {{ int[] faceVertexCounts = [1] int[] faceVertexIndices = [0] }}"
    );
    std::fs::write(folder.join("a.usda"), text).unwrap();
    meshreel_read_usd::open(&folder.join("a.usda"))
}

fn x_at(scene: &Scene, code: f64) -> Option<f32> {
    let mut points = Vec::new();
    positions_at(&scene.meshes[0], code / 24.0, &mut points).unwrap();
    points.first().map(|point| point[0])
}

const FILES: &str = r#"asset[] assetPaths = [@0.usda@, @./1.usda@] string primPath = "/C""#;

#[test]
fn clips_that_cannot_be_followed_are_said() {
    let place = tempfile::tempdir().unwrap();
    for (fields, what) in [
        ("asset[] assetPaths = [@0.usda@] double2[] active = [(0, 0)]", "primPath"),
        (r#"asset[] assetPaths = [@0.usda@] string primPath = "C" double2[] active = [(0, 0)]"#, "primPath"),
        (FILES, "active"),
        (&format!("{FILES} double2[] active = [(0, 2)]"), "none of their files'"),
        (&format!("{FILES} double2[] active = [(0, -1)]"), "none of their files'"),
        (&format!("{FILES} double2[] active = [(0, 0), (0, 1)]"), "active at one time"),
        (
            &format!("{FILES} double2[] active = [(0, 0)] double2[] times = [(1, 1), (1, 2), (1, 3)]"),
            "more than two",
        ),
        (&format!("{FILES} double2[] active = [(0, 0)] asset manifestAssetPath = @../m.usda@"), "outside"),
        (r#"string templateAssetPath = "a.###.usda" string primPath = "/C""#, "start, end or stride"),
        (&template("a.usda", 1.0, 0.0, 5.0), "###"),
        (&template("a.#.usda", 0.0, 0.0, 5.0), "fit to nothing"),
        (&template("a.#.usda", 1.0, 6.0, 5.0), "fit to nothing"),
        (&template("../a.#.usda", 1.0, 0.0, 5.0), "outside"),
        (&template("a.#.usda", 1.0, 0.0, 5.0), "no file is there"),
        (
            r#"asset[] assetPaths = [@9.usda@] string primPath = "/C" double2[] active = [(0, 0)]"#,
            "not there",
        ),
        (r#"asset[] assetPaths = [@@] string primPath = "/C" double2[] active = [(0, 0)]"#, "no name"),
        (r#"asset[] assetPaths = [@/etc/a@] string primPath = "/C" double2[] active = [(0, 0)]"#, "outside"),
        (
            r#"asset[] assetPaths = [@http://a/b@] string primPath = "/C" double2[] active = [(0, 0)]"#,
            "beside",
        ),
    ] {
        let (scene, remarks) = scene_of(place.path(), fields, 2).unwrap_or_else(|e| panic!("{fields}: {e}"));
        assert!(remarks.iter().any(|r| r.node == "/M" && r.what.contains(what)), "{fields}: {remarks:?}");
        assert_eq!(x_at(&scene, 1.0), None, "{fields}");
    }
    // An empty list is how a stronger layer removes clips.
    let none = r#"asset[] assetPaths = [] string primPath = "/C" double2[] active = []"#;
    let (_, remarks) = scene_of(place.path(), none, 0).unwrap();
    assert!(remarks.iter().all(|r| !r.what.contains("clips")), "{remarks:?}");
}

fn template(pattern: &str, stride: f64, start: f64, end: f64) -> String {
    format!(
        r#"string templateAssetPath = "{pattern}" string primPath = "/C" double templateStride = {stride:.1}
        double templateStartTime = {start:.1} double templateEndTime = {end:.1}"#
    )
}

#[test]
fn what_multiplies_is_limited() {
    let place = tempfile::tempdir().unwrap();
    for stride in [1e-7, 1e-300] {
        let fields =
            template("a.#.usda", 1.0, 0.0, 5.0).replace("Stride = 1.0", &format!("Stride = {stride:e}"));
        let opened = scene_of(place.path(), &fields, 0);
        assert!(matches!(opened, Err(Error::Limit { .. })), "{:?}", opened.err());
    }
    // A clip that is the file itself, and one whose clips are clips: neither is followed.
    let own = r#"asset[] assetPaths = [@a.usda@] string primPath = "/M" double2[] active = [(0, 0)]"#;
    let (scene, _) = scene_of(place.path(), own, 0).unwrap();
    assert_eq!(x_at(&scene, 0.0), None);
}

#[test]
fn few_of_many_clips_are_open_at_once() {
    let place = tempfile::tempdir().unwrap();
    let count = 100;
    let names: String = (0..count).map(|i| format!("@{i}.usda@, ")).collect();
    let active: String = (0..count).map(|i| format!("({}, {i}), ", 3 * i)).collect();
    let times: String = (0..count).map(|i| format!("({}, 0), ({}, 3), ", 3 * i, 3 * i + 3)).collect();
    let fields = format!(
        "asset[] assetPaths = [{names}] string primPath = \"/C\" double2[] active = [{active}] double2[] times = [{times}]"
    );
    let (scene, _) = scene_of(place.path(), &fields, count).unwrap();
    assert_eq!(scene.files.len(), count, "{:?}", scene.files);
    for number in 0..count {
        let code = 3.0 * number as f64;
        assert_eq!(x_at(&scene, code + 1.5), Some(10.0 * number as f32 + 1.5));
        // Held until the jump.
        assert_eq!(x_at(&scene, code + 2.5), Some(10.0 * number as f32 + 2.0));
    }
    #[cfg(target_os = "linux")]
    {
        let folder = place.path().canonicalize().unwrap();
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let of_clips =
            |file: &std::fs::DirEntry| std::fs::read_link(file.path()).is_ok_and(|f| f.starts_with(&folder));
        let open = open.filter(of_clips).count();
        assert!((1..=20).contains(&open), "{open} files are open");
    }
    walk(&scene).unwrap();
}

#[test]
fn a_broken_clip_is_named() {
    let place = tempfile::tempdir().unwrap();
    let fields = format!("{FILES} double2[] active = [(0, 0), (3, 1)]");
    scene_of(place.path(), &fields, 2).unwrap();
    std::fs::write(place.path().join("1.usda"), "PXR-USDC").unwrap();
    let (_, remarks) = scene_of(place.path(), &fields, 1).unwrap();
    let named = |remark: &Remark| remark.node == "/M" && remark.what.contains("1.usda' is damaged");
    assert!(remarks.iter().any(named), "{remarks:?}");
}
