//! Tests of cameras: their direction and their lenses.

use super::{folder, open, target};
use glam::DVec3;
use meshreel_scene::Lens;
use meshreel_scene::sample::World;
use serde_json::Value;

#[test]
fn cameras_look_and_zoom_as_blender_has_them() {
    let path = folder().join("cameras.fbx");
    let (scene, remarks) = open(&path);
    assert!(!remarks.iter().any(|r| r.what.contains("camera")), "{remarks:?}");
    let text = std::fs::read_to_string(folder().join("cameras.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let placed = scene.expand().unwrap();
    let mut world = World::new(&scene, &placed).unwrap();
    let file = ufbx::load_memory(&std::fs::read(&path).unwrap(), target()).unwrap();
    for frame in 0..12 {
        let time = (frame as f64 + 1.0) / 24.0;
        world.evaluate(time).unwrap();
        let moment = ufbx::evaluate_scene(&file, &file.anim, time, ufbx::EvaluateOpts::default()).unwrap();
        for (name, frames) in expected.as_object().unwrap() {
            let own = |key: &str| &frames[frame][key];
            let vector =
                |key: &str| DVec3::from_array(std::array::from_fn(|i| own(key)[i].as_f64().unwrap()));
            let at = placed.iter().position(|place| place.path.ends_with(&format!("/{name}"))).unwrap();
            let node = &scene.nodes[placed[at].node];
            let matrix = world.matrix[at];
            let place = 0.01 * matrix.w_axis.truncate();
            assert!(place.distance(vector("place")) < 1e-5, "{name}, frame {frame}: {place}");
            for (key, axis) in [("along", DVec3::NEG_Z), ("up", DVec3::Y)] {
                let axis = matrix.transform_vector3(axis).normalize();
                assert!(axis.distance(vector(key)) < 1e-5, "{name}, frame {frame}, {key}: {axis}");
            }
            let Some(camera) = &node.camera else {
                assert_eq!(name, "Lamp");
                continue;
            };
            let mut lens = Vec::new();
            camera.read(frame.min(camera.len() - 1), &mut lens).unwrap();
            let lens = lens[0];
            // The library has the same camera, by its own properties.
            let truth = moment.nodes.into_iter().find(|node| *node.element.name == **name).unwrap();
            let truth = truth.camera.as_ref().unwrap();
            assert_eq!(lens.clipping, [truth.near_plane, truth.far_plane]);
            let is_near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs();
            if lens.orthographic {
                assert_eq!(name, "Flat");
                let size = [truth.orthographic_size.x, truth.orthographic_size.y];
                assert!((0..2).all(|i| is_near(lens.aperture[i], 10.0 * size[i])), "{lens:?}");
                continue;
            }
            assert!(is_near(lens.focal_length, own("focal_length").as_f64().unwrap()), "{lens:?}");
            assert!(is_near(lens.aperture[0], 32.0) && is_near(lens.aperture[1], 18.0), "{lens:?}");
            assert!(is_near(lens.aperture_offset[0], 4.0) && lens.aperture_offset[1] < 0.0, "{lens:?}");
            assert!(is_near(lens.focus_distance, 325.0), "{lens:?}");
            assert_eq!((lens.clipping, lens.squeeze, lens.f_stop), ([25.0, 40_000.0], 1.0, 0.0));
            let wide = lens.aperture.map(|length| length / 2.0 / lens.focal_length);
            let truth = truth.field_of_view_tan;
            assert!(is_near(wide[0], truth.x) && is_near(wide[1], truth.y), "{lens:?}");
        }
    }
    let cameras = scene.nodes.iter().filter(|node| node.camera.is_some());
    assert_eq!(cameras.clone().map(|node| node.camera.as_ref().unwrap().len()).max(), Some(12));
    assert_eq!((cameras.count(), scene.counts.cameras, scene.counts.lights), (2, 2, 1));
}

/// Returns a camera with these properties as FBX text.
fn camera(properties: &str) -> String {
    format!(
        r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {{
    FBXVersion: 7400
}}
Objects:  {{
    NodeAttribute: 1, "NodeAttribute::Own", "Camera" {{
        Properties70: {{
            {properties}
        }}
        TypeFlags: "Camera"
    }}
    Model: 2, "Model::Own", "Camera" {{
        Version: 232
    }}
}}
Connections:  {{
    C: "OO", 1, 2
    C: "OO", 2, 0
}}
"#
    )
}

#[test]
fn lenses_follow_the_way_in_which_a_camera_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("camera.fbx");
    let lens = |properties: &[(&str, f64)]| -> Option<Lens> {
        let property =
            |(name, value): &(&str, f64)| format!(r#"P: "{name}", "double", "Number", "",{value}"#);
        let lines: Vec<String> = properties.iter().map(property).collect();
        std::fs::write(&file, camera(&lines.join("\n            "))).unwrap();
        let (scene, remarks) = open(&file);
        let own = scene.nodes[0].camera.as_ref();
        assert_eq!(own.is_none(), remarks.iter().any(|r| r.what.contains("shows nothing")), "{remarks:?}");
        let mut out = Vec::new();
        own?.read(0, &mut out).unwrap();
        Some(out[0])
    };
    let film = [("FilmWidth", 2.0), ("FilmHeight", 1.0), ("AspectWidth", 300.0), ("AspectHeight", 100.0)];
    let with = |more: &[(&'static str, f64)]| lens(&[&film[..], more].concat());
    let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4 * b.abs());
    let (focal, angle) = (("FocalLength", 30.0), ("FieldOfView", 90.0));
    // Width and height of the film back and focal length in millimetres, with the picture fitted to the film.
    for (mode, fit, expected) in [
        (3.0, 0.0, [50.8, 25.4, 30.0]),
        (3.0, 1.0, [76.2, 25.4, 30.0]),
        (3.0, 2.0, [50.8, 50.8 / 3.0, 30.0]),
        // 3 : 1 is wider than the film: it fills it, or contains all of it.
        (3.0, 3.0, [50.8, 50.8 / 3.0, 30.0]),
        (3.0, 4.0, [76.2, 25.4, 30.0]),
        // A right angle horizontally, or vertically.
        (1.0, 0.0, [50.8, 50.8 / 3.0, 25.4]),
        (2.0, 0.0, [76.2, 25.4, 12.7]),
    ] {
        let found = with(&[("ApertureMode", mode), ("GateFit", fit), focal, angle]).unwrap();
        let all = [found.aperture[0], found.aperture[1], found.focal_length];
        assert!(close(all, expected), "mode {mode}, fit {fit}: {all:?}");
    }
    let both = with(&[("ApertureMode", 0.0), ("FieldOfViewX", 90.0), ("FieldOfViewY", 60.0)]).unwrap();
    assert!(close(
        [both.aperture[0], both.aperture[1], both.focal_length],
        [50.8, 50.8 * 30f64.to_radians().tan(), 25.4]
    ));
    let squeezed =
        with(&[("ApertureMode", 3.0), ("GateFit", 2.0), focal, ("FilmSqueezeRatio", 1.5)]).unwrap();
    assert!(close([squeezed.squeeze, squeezed.aperture[0], squeezed.aperture[1]], [1.5, 50.8, 25.4]));
    let sharp = [focal, ("ApertureMode", 3.0), ("FStop", 2.8), ("FocusDistance", 120.0)];
    let blurred = [&sharp[..], &[("UseDepthOfField", 1.0), ("NearPlane", 3.0), ("FarPlane", 2.0)]].concat();
    let (sharp, blurred) = (with(&sharp).unwrap(), with(&blurred).unwrap());
    assert_eq!((sharp.f_stop, sharp.clipping, blurred.f_stop), (0.0, [10.0, 4000.0], 2.8));
    assert_eq!((blurred.focus_distance, blurred.clipping), (120.0, Lens::default().clipping));
    let flat = with(&[("CameraProjectionType", 1.0), ("OrthoZoom", 2.0), ("GateFit", 2.0)]).unwrap();
    assert!(flat.orthographic && close([flat.aperture[0], flat.aperture[1], 1.0], [600.0, 200.0, 1.0]));
    for nothing in [&[("FocalLength", 0.0), ("ApertureMode", 3.0)][..], &[("ApertureMode", 1.0)]] {
        assert_eq!(with(nothing), None);
    }
}
