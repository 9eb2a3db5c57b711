//! Tests of bones as skeletons, and of animations as their clips.

use super::normals::{points_of, triangle};
use super::{folder, open, target, world};
use glam::{DMat4, DQuat, DVec3};
use meshreel_read::ReadOptions;
use meshreel_scene::clip::MAX_JOINTS;
use meshreel_scene::{Clip, Error, Scene};
use serde_json::Value;
use std::path::Path;

/// Returns the joints' transforms in world space at a sample of a clip.
pub(super) fn world_transforms(scene: &Scene, clip: &Clip, sample: usize) -> Vec<DMat4> {
    let mut out: Vec<DMat4> = Vec::new();
    for (joint, track) in scene.skeletons[clip.skeleton].joints.iter().zip(&clip.tracks) {
        let local = DMat4::from(track.transform(sample).matrix());
        out.push(joint.parent.map_or(local, |parent| out[parent] * local));
    }
    out
}

/// `true` if all elements are equal, relative to the largest.
fn is_near(a: &DMat4, b: &DMat4) -> bool {
    let (a, b) = (a.to_cols_array(), b.to_cols_array());
    let size = b.iter().fold(1.0f64, |most, v| most.max(v.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * size)
}

/// Converts a matrix to column vectors.
fn matrix(m: &ufbx::Matrix) -> DMat4 {
    DMat4::from_cols_array_2d(&[
        [m.m00, m.m10, m.m20, 0.0],
        [m.m01, m.m11, m.m21, 0.0],
        [m.m02, m.m12, m.m22, 0.0],
        [m.m03, m.m13, m.m23, 1.0],
    ])
}

/// In all clips the joints agree with the library's nodes of the same names.
fn check_clips(path: &Path, scene: &Scene) {
    let file = ufbx::load_memory(&std::fs::read(path).unwrap(), target()).unwrap();
    for clip in &scene.clips {
        let stack = file.anim_stacks.into_iter().find(|stack| *stack.element.name == *clip.name).unwrap();
        assert_eq!(clip.fps, 24.0);
        assert!((clip.start - stack.time_begin).abs() < 1e-9);
        assert!((clip.duration() - (stack.time_end - stack.time_begin)).abs() < 1e-6, "{}", clip.name);
        for sample in 0..clip.samples {
            let time = clip.start + sample as f64 / clip.fps;
            let moment =
                ufbx::evaluate_scene(&file, &stack.anim, time, ufbx::EvaluateOpts::default()).unwrap();
            let found = world_transforms(scene, clip, sample);
            for (joint, found) in scene.skeletons[clip.skeleton].joints.iter().zip(&found) {
                let node = moment.nodes.into_iter().find(|node| *node.element.name == *joint.name).unwrap();
                let truth = matrix(&node.node_to_world);
                assert!(is_near(found, &truth), "{}, {}, {sample}: {found} {truth}", clip.name, joint.name);
            }
        }
    }
}

#[test]
fn bones_of_skins_are_a_skeleton_and_animations_its_clips() {
    let path = folder().join("skinned.fbx");
    let (scene, remarks) = open(&path);
    let [skeleton] = &scene.skeletons[..] else { panic!("{remarks:?}") };
    let names: Vec<&str> = skeleton.joints.iter().map(|joint| &joint.name[..]).collect();
    assert_eq!((&skeleton.name[..], &names[..]), ("skinned", &["Rig", "bone0", "bone1", "bone2"][..]));
    assert_eq!((scene.clips.len(), scene.clips[0].samples), (1, 12));
    check_clips(&path, &scene);
    // Bones carry no mesh, so they are not nodes as well.
    let nodes: Vec<&str> = scene.nodes.iter().map(|node| &node.name[..]).collect();
    assert_eq!(nodes, ["Tube", "TubeMesh"]);
    let (mesh, clip) = (&scene.meshes[0], &scene.clips[0]);
    let skin = mesh.skin.as_ref().unwrap();
    let bind: Vec<DVec3> = skin.bind_positions.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect();
    let blended = |object: &[DMat4], point: usize| -> DVec3 {
        let own = point * skin.influences..(point + 1) * skin.influences;
        own.map(|i| {
            let bone = usize::from(skin.joint[i]);
            let at = object[skin.joints[bone]] * skin.inverse_bind[bone];
            at.transform_point3(bind[point]) * f64::from(skin.weight[i])
        })
        .sum()
    };
    let [(0, driven)] = &skin.driven[..] else { panic!("{} clips", skin.driven.len()) };
    let mut points = Vec::new();
    for frame in 0..12 {
        let time = clip.start + frame as f64 / clip.fps;
        driven.points(time, &mut points).unwrap();
        let truth = points_of(mesh, frame);
        let object = world_transforms(&scene, clip, frame);
        assert_eq!(points.len(), truth.len());
        for (number, truth) in truth.iter().enumerate() {
            let off = DVec3::from_array(points[number].map(f64::from)).distance(*truth);
            assert!(off < 1e-4, "point {number}, frame {frame}: {off}");
            let off = blended(&object, number).distance(*truth);
            assert!(off < 1e-4, "point {number}, frame {frame}: {off}");
        }
    }
    // They also agree between two samples.
    let between = |time: f64| {
        let mut points = Vec::new();
        driven.points(time, &mut points).unwrap();
        DVec3::from_array(points[points.len() - 1].map(f64::from))
    };
    let [a, middle, b] = [8.0, 8.5, 9.0].map(|frame| between(clip.start + frame / clip.fps));
    assert!(middle.distance((a + b) / 2.0) < 0.1 * a.distance(b) && a.distance(b) > 0.1);
    // At rest the skeleton is in its bind pose, and the tube upright as in Blender: on the ground, 2 m high.
    let file = ufbx::load_memory(&std::fs::read(&path).unwrap(), target()).unwrap();
    let mut rest: Vec<DMat4> = Vec::new();
    for joint in &skeleton.joints {
        let local = DMat4::from(joint.rest.matrix());
        rest.push(joint.parent.map_or(local, |parent| rest[parent] * local));
    }
    for cluster in &file.skin_clusters {
        let bone = cluster.bone_node.as_ref().unwrap();
        let joint = names.iter().position(|name| *name == &*bone.element.name).unwrap();
        let (own, truth) = (rest[joint], matrix(&cluster.bind_to_world));
        assert!(own.abs_diff_eq(truth, 1e-3), "{} {truth}", rest[joint]);
    }
    let heights = (0..bind.len()).map(|point| blended(&rest, point).y);
    let (low, high) = heights.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));
    assert!(low.abs() < 1e-2 && (high - 200.0).abs() < 1e-2, "{low} {high}");
}

#[test]
fn bones_alone_are_a_skeleton_with_all_animations_as_clips() {
    let path = folder().join("bones.fbx");
    let text = std::fs::read_to_string(folder().join("bones.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for animation in [None, Some("1"), Some("all")] {
        let options = ReadOptions { animation: animation.map(str::to_owned), ..ReadOptions::default() };
        let (scene, _) = meshreel_read::open(&path, &options).unwrap();
        assert_eq!((scene.skeletons.len(), scene.clips.len(), scene.nodes.len()), (1, 2, 0));
        check_clips(&path, &scene);
        for clip in &scene.clips {
            let frames = &expected[clip.name.rsplit('|').next().unwrap()];
            let frames = frames.as_array().unwrap_or_else(|| panic!("{}", clip.name));
            assert_eq!(clip.samples, frames.len(), "{}", clip.name);
            for (sample, truth) in frames.iter().enumerate() {
                let found = world_transforms(&scene, clip, sample);
                for (joint, found) in scene.skeletons[0].joints.iter().zip(&found) {
                    let Some(truth) = truth.get(&joint.name) else {
                        assert_eq!(joint.name, "Rig");
                        continue;
                    };
                    let truth = DVec3::from_array(std::array::from_fn(|i| truth[i].as_f64().unwrap()));
                    let at = 0.01 * found.w_axis.truncate();
                    assert!(
                        at.distance(truth) < 2e-5,
                        "{}, {sample}, {}: {at} {truth}",
                        clip.name,
                        joint.name
                    );
                }
            }
        }
    }
}

/// Returns as FBX text a curve from one value to another, in this number of seconds.
fn curve(number: u32, from: f64, to: f64, seconds: u64) -> String {
    let end = seconds * 46_186_158_000;
    format!(
        r#"
    AnimationCurve: {number}, "AnimCurve::", "" {{
        KeyVer: 4008
        KeyTime: *2 {{ a: 0,{end} }}
        KeyValueFloat: *2 {{ a: {from},{to} }}
        KeyAttrFlags: *1 {{ a: 4 }}
        KeyAttrDataFloat: *4 {{ a: 0,0,0,0 }}
        KeyAttrRefCount: *1 {{ a: 2 }}
    }}"#
    )
}

/// Returns as FBX text an animation, and its layer, which has the next number.
pub(super) fn stack(number: u32, name: &str, times: &str) -> String {
    format!(
        r#"
    AnimationStack: {number}, "AnimStack::{name}", "" {{
        Properties70: {{
            {times}
        }}
    }}
    AnimationLayer: {}, "AnimLayer::Base", "" {{
    }}"#,
        number + 1
    )
}

/// Returns as FBX text the node that connects the curves of a property.
pub(super) fn node(number: u32) -> String {
    format!(
        r#"
    AnimationCurveNode: {number}, "AnimCurveNode::Own", "" {{
    }}"#
    )
}

/// Text between the objects and the connections.
pub(super) const END_OF_OBJECTS: &str = "\n}\nConnections:  {";

/// Returns the triangle with two animations: one rotates the bone and fades the shape in, the other fades it
/// out.
pub(super) fn animated() -> String {
    // One has explicit start and stop times, the other's follow from its keys.
    let times = r#"P: "LocalStart", "KTime", "Time", "",0
            P: "LocalStop", "KTime", "Time", "",46186158000"#;
    let objects = [
        stack(20, "Wave", times),
        node(22),
        curve(23, 0.0, 100.0, 1),
        node(24),
        curve(25, 30.0, 120.0, 1),
        stack(30, "Fade", ""),
        node(32),
        curve(33, 100.0, 0.0, 2),
    ];
    let links = r#"
    C: "OO", 21, 20
    C: "OO", 22, 21
    C: "OP", 22, 6, "DeformPercent"
    C: "OP", 23, 22, "d|DeformPercent"
    C: "OO", 24, 21
    C: "OP", 24, 4, "Lcl Rotation"
    C: "OP", 25, 24, "d|Z"
    C: "OO", 31, 30
    C: "OO", 32, 31
    C: "OP", 32, 6, "DeformPercent"
    C: "OP", 33, 32, "d|DeformPercent""#;
    let still = triangle("Normals: *6 { a: 1,0,0,0,2,0 }", "*9 { a: 0,0,1,0,0,1,0,0,1 }");
    let text = still.replace(END_OF_OBJECTS, &format!("{}{END_OF_OBJECTS}{links}", objects.concat()));
    assert!(text.len() > still.len() + 1000);
    text
}

#[test]
fn clips_move_points_by_their_own_shapes_and_bones() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("triangle.fbx");
    std::fs::write(&file, animated()).unwrap();
    // The place of the third corner, for this weight of the shape and angle of the bone.
    let corner = |weight: f64, angle: f64| {
        let turn = DQuat::from_rotation_z(angle.to_radians());
        turn * DVec3::new(0.0, 1.0, 2.0 * weight) + DVec3::new(5.0, 6.0, 7.0)
    };
    for animation in [None, Some("Fade")] {
        let options = ReadOptions { animation: animation.map(str::to_owned), ..ReadOptions::default() };
        let (scene, _) = meshreel_read::open(&file, &options).unwrap();
        let mesh = &scene.meshes[0];
        let skin = mesh.skin.as_ref().unwrap();
        let names: Vec<&str> = scene.clips.iter().map(|clip| &clip.name[..]).collect();
        assert_eq!((&names[..], skin.driven.len()), (&["Wave", "Fade"][..], 2));
        let joints: Vec<&str> = scene.skeletons[0].joints.iter().map(|joint| &joint.name[..]).collect();
        assert_eq!(joints, ["Bone"]);
        let mut points = Vec::new();
        for (clip, driven) in &skin.driven {
            let clip = &scene.clips[*clip];
            let (length, played) =
                if clip.name == "Wave" { (24, animation.is_none()) } else { (48, animation.is_some()) };
            assert_eq!((clip.samples, clip.scalars.len()), (length + 1, 1));
            for half in 0..=2 * length {
                let part = half as f64 / (2 * length) as f64;
                let (weight, angle) =
                    if length == 24 { (part, 30.0 + 90.0 * part) } else { (1.0 - part, 30.0) };
                let truth = corner(weight, angle);
                driven.points(clip.start + half as f64 / 48.0, &mut points).unwrap();
                let at = DVec3::from_array(points[2].map(f64::from));
                // Half samples are interpolated from one to the next.
                assert!(at.distance(truth) < 1e-5, "{}, {half}: {at} {truth}", clip.name);
                if half % 2 == 0 {
                    let scalar = clip.scalars[0].values.sample(half / 2).x;
                    assert!((scalar - weight).abs() < 1e-6, "{scalar} {weight}");
                }
                if half % 2 == 0 && played {
                    assert!(points_of(mesh, half / 2)[2].distance(truth) < 1e-5);
                }
            }
        }
    }
}

#[test]
fn points_that_no_bone_has_go_with_the_node() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("triangle.fbx");
    let text = triangle("", "*0 { a: }").replace(
        "Indexes: *3 { a: 0,1,2 }\n        Weights: *3 { a: 1,1,1 }",
        "Indexes: *2 { a: 0,1 }\n        Weights: *2 { a: 1,1 }",
    );
    let placed = r#""Model::Own", "Mesh" {
        Properties70: {
            P: "Lcl Translation", "Lcl Translation", "", "A", 0, 0, 40
        }"#;
    let text = text.replace(r#""Model::Own", "Mesh" {"#, placed);
    std::fs::write(&file, text).unwrap();
    let (scene, _) = open(&file);
    let skin = scene.meshes[0].skin.as_ref().unwrap();
    assert_eq!((scene.skeletons.len(), scene.clips.len(), skin.joints.len()), (1, 0, 2));
    // The bone carried the whole mesh at binding, wherever its node went.
    let points = points_of(&scene.meshes[0], 0);
    assert!(points[0].distance(DVec3::new(5.0, 6.0, 7.0)) < 1e-6, "{}", points[0]);
    assert!(points[2].distance(DVec3::new(0.0, 1.0, 41.0)) < 1e-6, "{}", points[2]);
    // It is in world space, and drawn there.
    let found = world(&scene, 0);
    assert!(found["Own"][2].distance(DVec3::new(0.0, 1.0, 41.0) * 0.01) < 1e-6, "{found:?}");
}

/// Returns the points of the only mesh in world space, as the library moves them in an animation, in metres.
fn moved(file: &ufbx::Scene, anim: &ufbx::Anim, time: f64) -> Vec<DVec3> {
    let options = ufbx::EvaluateOpts { evaluate_skinning: true, ..Default::default() };
    let moment = ufbx::evaluate_scene(file, anim, time, options).unwrap();
    let points = moment.meshes[0].skinned_position.values.iter();
    points.map(|p| DVec3::new(p.x, p.y, p.z)).collect()
}

#[test]
fn bones_inherit_scale_in_clips_as_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("triangle.fbx");
    let tip = |inherits: u32| {
        format!(
            r#"
    Model: 9, "Model::Tip", "LimbNode" {{
        Version: 232
        Properties70: {{
            P: "InheritType", "enum", "", "",{inherits}
            P: "Lcl Translation", "Lcl Translation", "", "A", 0, 2, 0
            P: "Lcl Rotation", "Lcl Rotation", "", "A", 10, 20, 40
            P: "Lcl Scaling", "Lcl Scaling", "", "A", 1, 2, 1
        }}
    }}
    Deformer: 10, "SubDeformer::Other", "Cluster" {{
        Indexes: *1 {{ a: 1 }}
        Weights: *1 {{ a: 1 }}
        Transform: *16 {{ a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 }}
        TransformLink: *16 {{ a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 }}
    }}
}}
Connections:  {{
    C: "OO", 9, 4
    C: "OO", 10, 7
    C: "OO", 9, 10"#
        )
    };
    let mut seen = Vec::new();
    for inherits in 0..3 {
        let text = animated().replace(
            "Indexes: *3 { a: 0,1,2 }\n        Weights: *3 { a: 1,1,1 }",
            "Indexes: *2 { a: 0,2 }\n        Weights: *2 { a: 1,1 }",
        );
        std::fs::write(&file, text.replace(END_OF_OBJECTS, &tip(inherits))).unwrap();
        let (scene, _) = open(&file);
        let truth = ufbx::load_memory(&std::fs::read(&file).unwrap(), target()).unwrap();
        let skin = scene.meshes[0].skin.as_ref().unwrap();
        assert_eq!((scene.skeletons.len(), skin.driven.len(), skin.joints.len()), (1, 2, 2));
        let mut points = Vec::new();
        for (number, driven) in &skin.driven {
            let clip = &scene.clips[*number];
            let stack =
                truth.anim_stacks.into_iter().find(|stack| *stack.element.name == *clip.name).unwrap();
            for sample in 0..clip.samples {
                let time = clip.start + sample as f64 / clip.fps;
                driven.points(time, &mut points).unwrap();
                for (own, truth) in points.iter().zip(moved(&truth, &stack.anim, time)) {
                    let own = DVec3::from_array(own.map(f64::from));
                    assert!(own.distance(truth) < 1e-4, "{inherits}, {}, {sample}: {own} {truth}", clip.name);
                }
            }
        }
        seen.push(points[1]);
    }
    // All three results differ.
    assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2], "{seen:?}");
}

/// Returns two triangles, each with a bone of its own, both rotated by one animation, and a third, unused
/// bone.
fn twins() -> String {
    let one = triangle("", "*0 { a: }");
    let (head, rest) = one.split_once("Objects:  {\n").unwrap();
    let (objects, links) = rest.split_once(END_OF_OBJECTS).unwrap();
    let links = links.strip_suffix("}\n").unwrap();
    let mut twin = objects.replace("::Bone\"", "::Other\"").replace("Model::Own", "Model::Twin");
    for number in 1..=8 {
        twin = twin.replace(&format!(": {number}, \""), &format!(": 10{number}, \""));
    }
    let linked = |line: &str| {
        let [kind, from, to] = line.split(", ").collect::<Vec<_>>().try_into().unwrap();
        let to = if to == "0" { "0".into() } else { format!("10{to}") };
        format!("{kind}, 10{from}, {to}\n")
    };
    let other: String = links.lines().filter(|line| line.contains("OO")).map(linked).collect();
    let alone = r#"
    Model: 200, "Model::Alone", "LimbNode" {
        Version: 232
    }"#;
    let moves = [stack(20, "Turn", ""), node(22), curve(23, 0.0, 90.0, 1), node(24), curve(25, 0.0, 45.0, 1)];
    let played = r#"    C: "OO", 200, 0
    C: "OO", 21, 20
    C: "OO", 22, 21
    C: "OP", 22, 4, "Lcl Rotation"
    C: "OP", 23, 22, "d|Z"
    C: "OO", 24, 21
    C: "OP", 24, 104, "Lcl Rotation"
    C: "OP", 25, 24, "d|Z"
}
"#;
    let moves = moves.concat();
    format!("{head}Objects:  {{\n{objects}\n{twin}{alone}{moves}{END_OF_OBJECTS}{links}{other}{played}")
}

#[test]
fn skins_that_share_no_bone_have_skeletons_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("twins.fbx");
    std::fs::write(&file, twins()).unwrap();
    let (scene, _) = open(&file);
    let names: Vec<&str> = scene.skeletons.iter().map(|skeleton| &skeleton.name[..]).collect();
    assert_eq!(names, ["Bone", "Other"]);
    let clips: Vec<(&str, usize)> = scene.clips.iter().map(|clip| (&clip.name[..], clip.skeleton)).collect();
    assert_eq!(clips, [("Turn (Bone)", 0), ("Turn (Other)", 1)]);
    let mut nodes: Vec<&str> = scene.nodes.iter().map(|node| &node.path[..]).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["/Alone", "/Own", "/Own/Own", "/Twin", "/Twin/Own"]);
    for (number, mesh) in scene.meshes.iter().enumerate() {
        let skin = mesh.skin.as_ref().unwrap();
        let [(clip, driven)] = &skin.driven[..] else { panic!("{} clips", skin.driven.len()) };
        assert_eq!((skin.skeleton, *clip), (Some(number), number));
        let mut points = Vec::new();
        driven.points(1.0, &mut points).unwrap();
        assert!(points_of(mesh, 24)[1].distance(DVec3::from_array(points[1].map(f64::from))) < 1e-6);
        let turned = DQuat::from_rotation_z([90f64, 45.0][number].to_radians()) * DVec3::new(3.0, 0.0, 0.5);
        let at = DVec3::from_array(points[1].map(f64::from));
        assert!(at.distance(turned + DVec3::new(5.0, 6.0, 7.0)) < 1e-5, "{number}: {at}");
    }
}

/// Nodes that no animation moves are evaluated once, so long animations of large scenes hit no limit.
#[test]
fn nodes_that_stand_still_are_worked_out_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("long.fbx");
    const STOP: u64 = 46_186_158_000;
    let still: String =
        (1000..1100).map(|n| format!("\n    Model: {n}, \"Model::B{n}\", \"Null\" {{\n    }}")).collect();
    let links: String = (1000..1100).map(|n| format!("\n    C: \"OO\", {n}, 0")).collect();
    let long = animated().replace(END_OF_OBJECTS, &format!("{still}{END_OF_OBJECTS}{links}"));
    let long = long.replace(&format!(",{STOP}\n        }}"), &format!(",{}\n        }}", 10_000 * STOP));
    // With this number of keys of the bone all frames are needed.
    let keys = || (0..60_000).map(|key| key * STOP / 6);
    let list = |numbers: &mut dyn Iterator<Item = u64>| {
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
    };
    let (times, values) = (list(&mut keys()), list(&mut keys().map(|time| 30 + time / STOP % 2)));
    let few = format!("KeyTime: *2 {{ a: 0,{STOP} }}\n        KeyValueFloat: *2 {{ a: 30,120 }}");
    let many = format!("KeyTime: *60000 {{ a: {times} }}\n        KeyValueFloat: *60000 {{ a: {values} }}");
    let (before, after) = long.split_once(&few).unwrap();
    let after = after.replacen("KeyAttrRefCount: *1 { a: 2 }", "KeyAttrRefCount: *1 { a: 60000 }", 1);
    let long = format!("{before}{many}{after}");
    std::fs::write(&file, long).unwrap();
    let (scene, _) = meshreel_read::open(&file, &ReadOptions::default()).unwrap();
    assert_eq!(scene.meshes[0].positions.len(), 240_001);
    let transforms = scene.nodes.iter().filter_map(|node| node.transform.as_ref());
    assert!(transforms.clone().count() > 100 && transforms.clone().all(|t| t.local.len() == 1));
}

#[test]
fn more_joints_than_a_skeleton_may_have_are_a_limit() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("many.fbx");
    let bones = |count: usize| {
        let numbers = || 1000..1000 + count;
        let bone = |n: usize| format!("\n    Model: {n}, \"Model::B{n}\", \"LimbNode\" {{\n    }}");
        let objects: String = numbers().map(bone).collect();
        let links: String = numbers().map(|n| format!("\n    C: \"OO\", {n}, 4")).collect();
        std::fs::write(
            &file,
            animated().replace(END_OF_OBJECTS, &format!("{objects}{END_OF_OBJECTS}{links}")),
        )
        .unwrap();
        meshreel_read::open(&file, &ReadOptions::default())
    };
    // A node without a mesh below a joint is a joint.
    let (scene, _) = bones(300).unwrap();
    assert_eq!(scene.skeletons[0].joints.len(), 301);
    let error = bones(MAX_JOINTS).err().unwrap();
    assert!(matches!(error, Error::Limit { .. }) && error.to_string().contains("joints"), "{error}");
}
