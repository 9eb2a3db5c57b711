//! Tests of scenes against the programs that wrote them: weighted points of shapes, hidden nodes, skinned
//! meshes whose nodes stand elsewhere than at binding, keys far out, and cages of subdivision surfaces.

use super::normals::{points_of, triangle};
use super::skeletons::{END_OF_OBJECTS, animated, node, stack};
use super::{open, target};
use glam::{DMat4, DVec3};
use meshreel_scene::sample::{FrameOptions, World, frame_times, positions_at};
use meshreel_scene::{NodeKind, Remark, Scene};
use std::path::Path;

/// Returns the points of each placed mesh in world space at a time, by path; `None` if it is hidden.
pub(super) fn visible_points(scene: &Scene, time: f64) -> Vec<(String, Option<Vec<DVec3>>)> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let mut out = Vec::new();
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else { continue };
        let mut points = Vec::new();
        positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
        let at = |p: &[f32; 3]| world.matrix[i].transform_point3(DVec3::from_array(p.map(f64::from)));
        out.push((place.path.clone(), world.visible[i].then(|| points.iter().map(at).collect())));
    }
    out
}

/// Reads a scene from FBX text.
fn read(text: &str) -> (Scene, Vec<Remark>) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("scene.fbx");
    std::fs::write(&file, text).unwrap();
    open(&file)
}

/// Returns the points of the groups of an OBJ, in file order.
fn groups(path: &Path) -> Vec<Vec<DVec3>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut out: Vec<Vec<DVec3>> = Vec::new();
    let mut is_new = true;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
                if is_new {
                    out.push(Vec::new());
                }
                is_new = false;
                out.last_mut().unwrap().push(DVec3::from_slice(&numbers));
            }
            Some("f") => is_new = true,
            _ => {}
        }
    }
    out
}

/// Compares frames with those that the writing program stored beside the file.
fn check_frames(name: &str, file: &str, frames: &[u32], near: f64) {
    let Some(folder) = crate::corpus::corpus_path("cases/fbx") else { return };
    let (scene, _) = open(&folder.join(file));
    for frame in frames {
        let found = visible_points(&scene, f64::from(*frame) / 24.0);
        let truth = groups(&folder.join(format!("{name}_{frame}.obj")));
        assert_eq!(found.len(), truth.len());
        for ((path, points), truth) in found.iter().zip(&truth) {
            let points = points.as_ref().unwrap_or_else(|| panic!("{path} is hidden"));
            assert_eq!(points.len(), truth.len(), "{path}");
            for (own, truth) in points.iter().zip(truth) {
                assert!(own.distance(*truth) < near, "{path}, frame {frame}: {own} {truth}");
            }
        }
    }
}

/// A shape with weights per point.
const WEIGHED: &str = r#"FBXHeaderExtension:  {
    Creator: "Blender (stable FBX IO) - 4.4.0 - 5.12.0"
"#;

#[test]
fn shapes_move_points_by_weights_of_their_own() {
    let up = "*9 { a: 0,0,1,0,0,1,0,0,1 }";
    let text = triangle("Normals: *6 { a: 1,0,0,0,2,0 }", up);
    let text = text.replace("FBXHeaderExtension:  {\n", WEIGHED);
    let own = text.replace("FullWeights: *1 { a: 100 }", "FullWeights: *2 { a: 25,75 }");
    assert!(own.len() > text.len());
    // The second point moves half of 1, with a weight of a quarter, the third half of 2, with three quarters.
    for (text, parts) in [(&text, [1.0, 1.0]), (&own, [0.25, 0.75])] {
        let (scene, _) = read(text);
        let points = points_of(&scene.meshes[0], 0);
        let heights = points.iter().map(|point| point.z - 7.0);
        for (height, truth) in heights.zip([0.0, 0.5 * parts[0], parts[1]]) {
            assert!((height - truth).abs() < 1e-6, "{height} {truth}");
        }
    }
    check_frames(
        "blender440_shape_weight_anim",
        "blender440_shape_weight_anim_7400_binary.fbx",
        &[5, 15, 25],
        1e-5,
    );
}

/// Returns the triangle without a skin, below a node.
fn below(parent: &str, own: &str) -> String {
    let text = triangle("", "*0 { a: }");
    let text = text.replace("    C: \"OO\", 7, 1\n", "").replace(r#"C: "OO", 3, 0"#, r#"C: "OO", 3, 4"#);
    let text = text.replace(
        "Properties70: {\n            P: \"Lcl Translation\"",
        &format!("Properties70: {{\n            {parent}\n            P: \"Lcl Translation\""),
    );
    text.replace(
        r#""Model::Own", "Mesh" {"#,
        &format!("\"Model::Own\", \"Mesh\" {{\n        Properties70: {{\n            {own}\n        }}"),
    )
}

#[test]
fn nodes_are_hidden_as_animations_and_inheritance_say() {
    const HIDDEN: &str = r#"P: "Visibility", "Visibility", "", "A",0"#;
    const ALONE: &str = r#"P: "Visibility Inheritance", "Visibility Inheritance", "", "",0"#;
    let is_shown = |text: &str, time: f64| visible_points(&read(text).0, time)[0].1.is_some();
    assert!(is_shown(&below("", ""), 0.0));
    assert!(!is_shown(&below("", HIDDEN), 0.0));
    assert!(!is_shown(&below(HIDDEN, ""), 0.0));
    assert!(is_shown(&below(HIDDEN, ALONE), 0.0));
    assert!(!is_shown(&below("", &format!("{HIDDEN}\n{ALONE}")), 0.0));
    // Visible for the second half of a second, whatever the node's unanimated value is.
    let blinks = r#"
    AnimationCurve: 23, "AnimCurve::", "" {
        KeyVer: 4008
        KeyTime: *3 { a: 0,23093079000,46186158000 }
        KeyValueFloat: *3 { a: 0,1,1 }
        KeyAttrFlags: *1 { a: 2 }
        KeyAttrDataFloat: *4 { a: 0,0,0,0 }
        KeyAttrRefCount: *1 { a: 3 }
    }"#;
    let objects = [stack(20, "Blink", ""), node(22), blinks.into()].concat();
    for model in [3, 4] {
        let links = format!(
            r#"
    C: "OO", 21, 20
    C: "OO", 22, 21
    C: "OP", 22, {model}, "Visibility"
    C: "OP", 23, 22, "d|Visibility""#
        );
        let text =
            below(HIDDEN, HIDDEN).replace(END_OF_OBJECTS, &format!("{objects}{END_OF_OBJECTS}{links}"));
        let other = if model == 3 { "Lcl Translation" } else { "\n        }" };
        // Only the animated node is hidden.
        let text = match model {
            3 => text.replacen(&format!("{HIDDEN}\n            P: \"{other}"), &format!("P: \"{other}"), 1),
            _ => text.replacen(&format!("{HIDDEN}{other}"), other, 1),
        };
        assert_eq!(text.matches(HIDDEN).count(), 1, "{text}");
        for frame in 0..=24 {
            assert_eq!(is_shown(&text, f64::from(frame) / 24.0), frame >= 12, "{model}, frame {frame}");
        }
    }
    let Some(folder) = crate::corpus::corpus_path("cases/fbx") else { return };
    let (scene, _) = open(&folder.join("max7_skin_5000_binary.fbx"));
    for frame in 0..=20 {
        assert!(visible_points(&scene, f64::from(frame) / 30.0)[0].1.is_some(), "frame {frame}");
    }
}

/// Returns the triangle, with a skin bound a unit along x, on a node at y = 10 and on another one at y = 20.
fn bound_on_two_nodes(program: &str) -> String {
    let text = triangle("", "*0 { a: }");
    let text = text.replace(
        "FBXHeaderExtension:  {\n",
        &format!(
            r#"FBXHeaderExtension:  {{
    SceneInfo: "SceneInfo::GlobalInfo", "UserData" {{
        Properties70: {{
            P: "LastSaved", "Compound", "", ""
            P: "LastSaved|ApplicationName", "KString", "", "", "{program}"
        }}
    }}
"#
        ),
    );
    let at = |y: u32| {
        format!(
            "\n        Properties70: {{\n            P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\", 0, {y}, 0\n        }}"
        )
    };
    let text = text.replace(r#""Model::Own", "Mesh" {"#, &format!(r#""Model::Own", "Mesh" {{{}"#, at(10)));
    // At binding the mesh stood at x = 1, and the bone at the origin.
    let text = text.replace(
        "Transform: *16 { a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 }",
        "Transform: *16 { a: 1,0,0,0,0,1,0,0,0,0,1,0,1,0,0,1 }",
    );
    let other = format!("\n    Model: 9, \"Model::Other\", \"Mesh\" {{{}\n    }}", at(20));
    text.replace(
        END_OF_OBJECTS,
        &format!("{other}{END_OF_OBJECTS}\n    C: \"OO\", 1, 9\n    C: \"OO\", 9, 0"),
    )
}

#[test]
fn nodes_carry_skins_on_where_the_program_does() {
    // The place to which the bone moves the triangle's first point, bound a unit along x.
    let bone = DMat4::from_translation(DVec3::new(5.0, 6.0, 7.0))
        * DMat4::from_rotation_z(30f64.to_radians())
        * DMat4::from_scale(DVec3::new(3.0, 1.0, 1.0));
    let put = bone.transform_point3(DVec3::X);
    for (program, remark) in [("Maya", None), ("Blender", Some("several nodes")), ("", Some("several nodes"))]
    {
        let (scene, remarks) = read(&bound_on_two_nodes(program));
        let found = visible_points(&scene, 0.0);
        assert_eq!((found.len(), scene.meshes.len()), (2, 1), "{program}");
        for ((path, points), y) in found.iter().zip([10.0, 20.0]) {
            let truth = if program == "Maya" { put + DVec3::new(-1.0, y, 0.0) } else { put };
            let own = points.as_ref().unwrap()[0];
            assert!(own.distance(truth) < 1e-5, "{program}, {path}: {own} {truth}");
        }
        let about = remarks.iter().filter(|r| r.what.contains("skin") && r.what.contains("node")).count();
        let said = remark.map_or(0, |what| remarks.iter().filter(|r| r.what.contains(what)).count());
        assert_eq!((about, said), if remark.is_some() { (2, 2) } else { (0, 0) }, "{program}: {remarks:?}");
    }
    // On a single node it is a remark if the program's behaviour is unknown.
    let alone = |program: &str| bound_on_two_nodes(program).replace("\n    C: \"OO\", 1, 9", "");
    for (program, count) in [("Maya", 0), ("MotionBuilder", 0), ("Unheard of", 1)] {
        let (_, remarks) = read(&alone(program));
        let about = remarks.iter().filter(|r| r.what.contains("where its skin was bound")).count();
        assert_eq!(about, count, "{program}: {remarks:?}");
    }
    check_frames("maya_instanced_skin", "maya_instanced_skin_7700_binary.fbx", &[0, 4, 8], 1e-4);
}

#[test]
fn cages_of_subdivision_surfaces_are_a_remark() {
    let text = triangle("", "*0 { a: }");
    // Displayed as its hull, it is a plain mesh.
    for (smoothness, is_cage) in [(0, false), (1, false), (2, true), (3, true)] {
        let own = format!("\"Geometry::Own\", \"Mesh\" {{\n        Smoothness: {smoothness}");
        let (scene, remarks) = read(&text.replace(r#""Geometry::Own", "Mesh" {"#, &own));
        let kinds = scene.nodes.iter().filter(|node| node.kind == NodeKind::SubD).count();
        let about = remarks.iter().filter(|r| r.what.contains("control cage")).count();
        assert_eq!(
            (kinds == 1, about == 1, scene.meshes[0].is_subd),
            (is_cage, is_cage, is_cage),
            "{smoothness}"
        );
    }
}

/// Returns the frame times that a scene needs.
fn frames(scene: &Scene) -> Vec<f64> {
    let placed = scene.expand().unwrap();
    frame_times(scene, &placed, &vec![true; placed.len()], &FrameOptions::default()).unwrap()
}

#[test]
fn keys_far_out_cost_nothing() {
    // The bone turns for a second, and shapes fade in; before and after that nothing moves for 100,000
    // seconds. Keys are linear, or held until the next one.
    let second = 46_186_158_000i64;
    let far = 100_000 * second;
    let text = animated()
        .replace(r#"P: "LocalStart", "KTime", "Time", "",0"#, "")
        .replace(&format!(r#"P: "LocalStop", "KTime", "Time", "",{second}"#), "");
    for flags in [4, 2] {
        let text = text.replace(
            &format!("KeyTime: *2 {{ a: 0,{second} }}\n        KeyValueFloat: *2 {{ a: 30,120 }}"),
            &format!(
                "KeyTime: *4 {{ a: {},0,{second},{far} }}\n        KeyValueFloat: *4 {{ a: 30,30,120,120 }}",
                -far
            ),
        );
        assert!(text.contains(&far.to_string()));
        // One entry of flags applies to as many keys as it says.
        let (left, right) = text.split_once("30,30,120,120").unwrap();
        let right =
            right.replacen("KeyAttrFlags: *1 { a: 4 }", &format!("KeyAttrFlags: *1 {{ a: {flags} }}"), 1);
        let right = right.replacen("KeyAttrRefCount: *1 { a: 2 }", "KeyAttrRefCount: *1 { a: 4 }", 1);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("far.fbx");
        std::fs::write(&file, format!("{left}30,30,120,120{right}")).unwrap();
        let (scene, remarks) = open(&file);
        let times = frames(&scene);
        assert!(times.len() < 64, "{} frames, {flags}", times.len());
        assert_eq!((times[0], times[times.len() - 1]), (-100_000.0, 100_000.0));
        // It agrees with the library in all frames of the file, including those that were left out.
        let parsed = ufbx::load_memory(&std::fs::read(&file).unwrap(), target()).unwrap();
        let frame = |number: i32| f64::from(number) / 24.0;
        for time in [-100_000.0, -77_777.0, -1.0, frame(-1), 0.0, frame(8), frame(23), 1.0, 2.0, 54_321.0] {
            let options = ufbx::EvaluateOpts { evaluate_skinning: true, ..Default::default() };
            let moment = ufbx::evaluate_scene(&parsed, &parsed.anim, time, options).unwrap();
            let found = visible_points(&scene, time)[0].1.clone().unwrap();
            for (own, truth) in found.iter().zip(moment.meshes[0].skinned_position.values.iter()) {
                let truth = DVec3::new(truth.x, truth.y, truth.z);
                assert!(own.distance(truth) < 1e-5, "{flags}, at {time}: {own} {truth}");
            }
        }
        // A clip has all samples, which are too many here.
        let is_clip = scene.clips.iter().any(|clip| clip.name == "Wave");
        assert!(!is_clip && remarks.iter().any(|r| r.node == "Wave"), "{remarks:?}");
    }
}

#[test]
fn frames_of_slow_curves_are_as_many_as_they_bend() {
    let Some(folder) = crate::corpus::corpus_path("cases/fbx") else { return };
    let path = folder.join("maya_long_keyframes_7700_binary.fbx");
    let (scene, _) = open(&path);
    let times = frames(&scene);
    assert!(times.len() < 60_000, "{} of 10,000,001 frames", times.len());
    let file = ufbx::load_memory(&std::fs::read(&path).unwrap(), target()).unwrap();
    let cube = file.nodes.into_iter().find(|node| node.mesh.is_some()).unwrap();
    let first = &cube.mesh.as_ref().unwrap().vertices[0];
    // A subset of all frames, and those around keys.
    let far = (0..1000).map(|i| -5_000_000 + 10_007 * i);
    for frame in far.chain(-400..400).chain(-2_925_280..-2_925_250) {
        let time = f64::from(frame) / 30.0;
        let place = ufbx::transform_to_matrix(&ufbx::evaluate_transform(&file.anim, cube, time));
        let truth = ufbx::transform_position(&place, *first);
        let own = visible_points(&scene, time)[0].1.clone().unwrap()[0];
        assert!(own.distance(DVec3::new(truth.x, truth.y, truth.z)) < 1e-5, "frame {frame}: {own}");
    }
}
