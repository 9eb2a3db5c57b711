//! FBX read: the small files of `testdata/inputs/fbx` against where Blender has their vertices, and against what the
//! library makes of them itself; damaged ones.

use crate::maker::walk;
use glam::{DMat3, DMat4, DQuat, DVec3};
use meshreel_scene::read::{self, ReadOptions};
use meshreel_scene::sample::{Faces, World, faces_at, pose_at, positions_at};
use meshreel_scene::{Clip, Error, Lens, Mesh, NodeKind, Remark, Scene, Scope, Unit};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/fbx")
}

fn open(path: &Path) -> (Scene, Vec<Remark>) {
    read::open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Points of all meshes in the world at a frame, in metres, by the name of the node above.
fn world(scene: &Scene, frame: usize) -> BTreeMap<String, Vec<DVec3>> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    let first = scene.meshes.iter().map(|m| m.positions.time(0)).fold(f64::INFINITY, f64::min);
    let start =
        scene.nodes.iter().filter_map(|n| Some(n.transform.as_ref()?.matrix.time(0))).fold(first, f64::max);
    let time = start + frame as f64 / 24.0;
    world.evaluate(time).unwrap();
    let metres = scene.unit.map_or(1.0, Unit::metres);
    let (mut points, mut out) = (Vec::new(), BTreeMap::new());
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else { continue };
        positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
        let at =
            |p: &[f32; 3]| metres * world.matrix[i].transform_point3(DVec3::from_array(p.map(f64::from)));
        let name = place.path.split('/').rev().nth(1).unwrap_or_default().to_string();
        out.insert(name, points.iter().map(at).collect());
    }
    out
}

#[test]
fn vertices_are_where_blender_has_them() {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (name, meshes) in expected.as_object().unwrap() {
        let (scene, remarks) = open(&folder().join(format!("{name}.fbx")));
        assert_eq!(scene.fps, Some(24.0), "{name}: {remarks:?}");
        assert_eq!(scene.unit, Some(Unit::Centimetre), "{name}");
        for frame in 0..12 {
            let found = world(&scene, frame);
            for (mesh, frames) in meshes.as_object().unwrap() {
                let points =
                    found.get(mesh).unwrap_or_else(|| panic!("{name}: {mesh} of {:?}", found.keys()));
                let truth = frames[frame].as_array().unwrap();
                assert_eq!(points.len(), truth.len(), "{name}, {mesh}");
                for (point, truth) in points.iter().zip(truth) {
                    let truth = DVec3::from_array(std::array::from_fn(|i| truth[i].as_f64().unwrap()));
                    // Digits of the list, and FBX's of its own: keys and bind poses are floats.
                    let off = point.distance(truth);
                    assert!(off < 2e-5, "{name}, {mesh}, frame {frame}: {off}: {point} {truth}");
                }
            }
        }
    }
}

/// How the library turns what it reads to the axes that we have.
fn target() -> ufbx::LoadOpts<'static> {
    ufbx::LoadOpts {
        target_axes: ufbx::axes_right_handed_y_up(),
        space_conversion: ufbx::SpaceConversion::AdjustTransforms,
        ..Default::default()
    }
}

/// Points of a mesh in the world, as the library evaluates the whole file.
fn evaluated(path: &Path, time: f64) -> BTreeMap<String, Vec<DVec3>> {
    let bytes = std::fs::read(path).unwrap();
    let scene = ufbx::load_memory(&bytes, target()).unwrap();
    let options = ufbx::EvaluateOpts { evaluate_skinning: true, ..Default::default() };
    let moment = ufbx::evaluate_scene(&scene, &scene.anim, time, options).unwrap();
    let metres = scene.settings.unit_meters;
    let mut out = BTreeMap::new();
    for node in &moment.nodes {
        let Some(mesh) = &node.mesh else { continue };
        let place = |p: &ufbx::Vec3| {
            let p = match mesh.skinned_is_local {
                true => ufbx::transform_position(&node.geometry_to_world, *p),
                false => *p,
            };
            metres * DVec3::new(p.x, p.y, p.z)
        };
        let points = mesh.skinned_position.values.iter().map(place).collect();
        out.insert(node.element.name.to_string(), points);
    }
    out
}

#[test]
fn vertices_are_where_the_library_has_them() {
    for name in ["skinned", "shapes", "moves", "cameras"] {
        let path = folder().join(format!("{name}.fbx"));
        let (scene, _) = open(&path);
        for frame in 0..12 {
            let found = world(&scene, frame);
            // The exporter's first key is that of the first frame.
            let first = scene.nodes.iter().filter_map(|n| Some(n.transform.as_ref()?.matrix.time(0)));
            let meshes = scene.meshes.iter().map(|m| m.positions.time(0));
            let start = first.chain(meshes).fold(0.0, f64::max);
            let truth = evaluated(&path, start + frame as f64 / 24.0);
            for (mesh, points) in &found {
                let most = points.iter().zip(&truth[mesh]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                assert_eq!(points.len(), truth[mesh].len());
                assert!(most < 1e-6, "{name}, {mesh}, frame {frame}: {most}");
            }
        }
    }
}

/// Points of all meshes of a node, in its own space, as the library reads their caches.
fn cached(path: &Path, time: f64) -> BTreeMap<String, Vec<DVec3>> {
    let options =
        ufbx::LoadOpts { load_external_files: true, ignore_missing_external_files: true, ..target() };
    let scene = ufbx::load_file(path.to_str().unwrap(), options).unwrap();
    let options = ufbx::EvaluateOpts {
        load_external_files: true,
        evaluate_skinning: true,
        evaluate_caches: true,
        ..Default::default()
    };
    let moment = ufbx::evaluate_scene(&scene, &scene.anim, time, options).unwrap();
    let point = |p: &ufbx::Vec3| DVec3::new(p.x, p.y, p.z);
    let meshes = moment.nodes.into_iter().filter_map(|node| Some((node, node.mesh.as_ref()?)));
    meshes
        .map(|(node, mesh)| {
            let points = mesh.skinned_position.values.iter().map(point).collect();
            (node.element.name.to_string(), points)
        })
        .collect()
}

/// The normal of each corner of a mesh, and of each face its points, at a frame; in the mesh's own space.
fn normals(mesh: &Mesh, frame: usize) -> (Vec<DVec3>, Vec<Vec<usize>>) {
    let own = mesh.normals.as_ref().unwrap();
    assert_eq!(own.scope, Scope::FaceVarying);
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    own.values.read(frame.min(own.values.len() - 1), &mut values).unwrap();
    own.indices.as_ref().unwrap().read(0, &mut indices).unwrap();
    let of_corners = indices.iter().map(|i| DVec3::from_array(values[*i as usize].map(f64::from))).collect();
    let mut all = Faces::default();
    faces_at(mesh, 0.0, &mut all).unwrap();
    let mut points = all.indices.iter().map(|i| *i as usize);
    let faces = all.counts.iter().map(|count| points.by_ref().take(*count as usize).collect()).collect();
    (of_corners, faces)
}

fn points_of(mesh: &Mesh, frame: usize) -> Vec<DVec3> {
    let mut points = Vec::new();
    mesh.positions.read(frame, &mut points).unwrap();
    points.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect()
}

#[test]
fn normals_go_where_bones_take_their_points() {
    let path = folder().join("skinned.fbx");
    let (scene, remarks) = open(&path);
    assert!(!remarks.iter().any(|r| r.what.contains("normals")), "{remarks:?}");
    let mesh = &scene.meshes[0];
    assert_eq!(mesh.normals.as_ref().unwrap().values.len(), 12);
    let skin = mesh.skin.as_ref().unwrap();
    // Bones of a point that has one alone.
    let alone = |point: usize| {
        let own = &skin.weight[point * skin.influences..(point + 1) * skin.influences];
        let whole = own.iter().position(|weight| *weight == 1.0)?;
        Some(skin.joint[point * skin.influences + whole])
    };
    let bind: Vec<DVec3> = skin.bind_positions.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect();
    let (mut rigid, mut pose) = (0, Vec::new());
    for frame in 0..12 {
        pose_at(mesh, mesh.positions.time(frame), &mut pose).unwrap();
        let points = points_of(mesh, frame);
        let (normals, faces) = normals(mesh, frame);
        let mut of_face = normals.chunks_exact(4);
        for face in &faces {
            let own = of_face.next().unwrap();
            assert!(own.iter().all(|normal| (normal.length() - 1.0).abs() < 1e-6));
            let flat = |points: &[DVec3]| {
                let at = |corner: usize| points[face[corner]];
                (at(2) - at(0)).cross(at(3) - at(1)).normalize()
            };
            // What one bone has is not bent: as flat as it was bound.
            let bones: Vec<_> = face.iter().map(|point| alone(*point)).collect();
            let is_rigid = bones[0].is_some() && bones.iter().all(|bone| *bone == bones[0]);
            rigid += usize::from(is_rigid);
            for (normal, point) in own.iter().zip(face) {
                let influences = point * skin.influences..(point + 1) * skin.influences;
                let blended = influences.fold(DMat3::ZERO, |sum, i| {
                    sum + DMat3::from_mat4(pose[usize::from(skin.joint[i])]) * f64::from(skin.weight[i])
                });
                let turned = (blended.inverse().transpose() * flat(&bind)).normalize();
                assert!(normal.distance(turned) < 1e-5, "frame {frame}: {normal} {turned}");
                let flat = flat(&points);
                assert!(!is_rigid || normal.distance(flat) < 1e-5, "frame {frame}: {normal} {flat}");
            }
        }
    }
    assert!(rigid >= 12 * 12, "{rigid}");
    // The library makes normals anew from the points that it has moved, so that they are the same only where
    // faces stay flat, and near them elsewhere.
    let bytes = std::fs::read(&path).unwrap();
    let file = ufbx::load_memory(&bytes, target()).unwrap();
    for frame in [0, 5, 11] {
        let options = ufbx::EvaluateOpts { evaluate_skinning: true, ..Default::default() };
        let time = mesh.positions.time(frame);
        let moment = ufbx::evaluate_scene(&file, &file.anim, time, options).unwrap();
        let (normals, _) = normals(mesh, frame);
        let placed = scene.expand().unwrap();
        let mut world = World::new(&scene, &placed).unwrap();
        world.evaluate(time).unwrap();
        let own = placed.iter().position(|place| scene.nodes[place.node].mesh.is_some()).unwrap();
        let turn = DMat3::from_mat4(world.matrix[own]).inverse().transpose();
        let truth = &moment.meshes[0].skinned_normal;
        let mut sum = 0.0;
        for (normal, index) in normals.iter().zip(&truth.indices) {
            let truth = &truth.values[*index as usize];
            let off = (turn * *normal).normalize().distance(DVec3::new(truth.x, truth.y, truth.z));
            assert!(off < 0.5, "frame {frame}: {off}");
            sum += off;
        }
        assert!(sum / (normals.len() as f64) < 0.12, "frame {frame}: {}", sum / normals.len() as f64);
    }
}

/// A triangle in text: a shape that is there by half moves its points and its normals, a bone that is scaled along
/// x, turned about z and moved has them.
fn triangle(shape: &str, normals: &str) -> String {
    format!(
        r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {{
    FBXVersion: 7400
}}
GlobalSettings:  {{
    Version: 1000
    Properties70:  {{
        P: "UpAxis", "int", "Integer", "",1
        P: "FrontAxis", "int", "Integer", "",2
        P: "CoordAxis", "int", "Integer", "",0
        P: "TimeMode", "enum", "", "",11
    }}
}}
Objects:  {{
    Geometry: 1, "Geometry::Own", "Mesh" {{
        Vertices: *9 {{ a: 0,0,0,1,0,0,0,1,0 }}
        PolygonVertexIndex: *3 {{ a: 0,1,-3 }}
        LayerElementNormal: 0 {{
            MappingInformationType: "ByPolygonVertex"
            ReferenceInformationType: "Direct"
            Normals: {normals}
        }}
        Layer: 0 {{
            LayerElement:  {{
                Type: "LayerElementNormal"
                TypedIndex: 0
            }}
        }}
    }}
    Geometry: 2, "Geometry::Shape", "Shape" {{
        Indexes: *2 {{ a: 1,2 }}
        Vertices: *6 {{ a: 0,0,1,0,0,2 }}
        {shape}
    }}
    Model: 3, "Model::Own", "Mesh" {{
        Version: 232
    }}
    Model: 4, "Model::Bone", "LimbNode" {{
        Version: 232
        Properties70: {{
            P: "Lcl Translation", "Lcl Translation", "", "A", 5, 6, 7
            P: "Lcl Rotation", "Lcl Rotation", "", "A", 0, 0, 30
            P: "Lcl Scaling", "Lcl Scaling", "", "A", 3, 1, 1
        }}
    }}
    Deformer: 5, "Deformer::Shapes", "BlendShape" {{
    }}
    Deformer: 6, "SubDeformer::Channel", "BlendShapeChannel" {{
        DeformPercent: 50
        FullWeights: *1 {{ a: 100 }}
    }}
    Deformer: 7, "Deformer::Skin", "Skin" {{
    }}
    Deformer: 8, "SubDeformer::Cluster", "Cluster" {{
        Indexes: *3 {{ a: 0,1,2 }}
        Weights: *3 {{ a: 1,1,1 }}
        Transform: *16 {{ a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 }}
        TransformLink: *16 {{ a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 }}
    }}
}}
Connections:  {{
    C: "OO", 1, 3
    C: "OO", 3, 0
    C: "OO", 4, 0
    C: "OO", 5, 1
    C: "OO", 6, 5
    C: "OO", 2, 6
    C: "OO", 7, 1
    C: "OO", 8, 7
    C: "OO", 4, 8
}}
"#
    )
}

#[test]
fn shapes_turn_normals_before_bones_do() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("triangle.fbx");
    let up = "*9 { a: 0,0,1,0,0,1,0,0,1 }";
    std::fs::write(&file, triangle("Normals: *6 { a: 1,0,0,0,2,0 }", up)).unwrap();
    let (scene, remarks) = open(&file);
    assert!(!remarks.iter().any(|r| r.what.contains("normals")), "{remarks:?}");
    let mesh = &scene.meshes[0];
    let (found, _) = normals(mesh, 0);
    let points = points_of(mesh, 0);
    let turn = DQuat::from_rotation_z(30f64.to_radians());
    for corner in 0..3 {
        // Of the shape by half: heights of points, sides of normals.
        let at = [DVec3::ZERO, DVec3::new(1.0, 0.0, 0.5), DVec3::new(0.0, 1.0, 1.0)][corner];
        let normal = [DVec3::Z, DVec3::new(0.5, 0.0, 1.0), DVec3::new(0.0, 1.0, 1.0)][corner];
        let (stretch, back) = (DVec3::new(3.0, 1.0, 1.0), DVec3::new(1.0 / 3.0, 1.0, 1.0));
        let at = turn * (stretch * at) + DVec3::new(5.0, 6.0, 7.0);
        let normal = (turn * (back * normal)).normalize();
        assert!(points[corner].distance(at) < 1e-6, "{}", points[corner]);
        assert!(found[corner].distance(normal) < 1e-6, "{} {normal}", found[corner]);
    }
    // Without normals of the shape they are the mesh's own, and with none of the mesh there are none.
    std::fs::write(&file, triangle("", up)).unwrap();
    let (scene, remarks) = open(&file);
    assert!(remarks.iter().any(|r| r.what.contains("say nothing of normals")), "{remarks:?}");
    assert!(normals(&scene.meshes[0], 0).0.iter().all(|normal| normal.distance(DVec3::Z) < 1e-6));
    std::fs::write(&file, triangle("", "*0 { a: }")).unwrap();
    let (scene, _) = open(&file);
    assert!(scene.meshes[0].normals.is_none());
}

#[test]
fn normals_stay_where_shapes_say_nothing_of_them() {
    let (scene, _) = open(&folder().join("shapes.fbx"));
    let mesh = &scene.meshes[0];
    assert_eq!((mesh.positions.len(), mesh.normals.as_ref().unwrap().values.len()), (12, 1));
    // The tube without its shapes is upright and round: outwards, and level.
    let (normals, faces) = normals(mesh, 0);
    let points = points_of(mesh, 0);
    for (own, face) in normals.chunks_exact(4).zip(&faces) {
        let middle: DVec3 = face.iter().map(|point| points[*point]).sum::<DVec3>() / 4.0;
        let out = DVec3::new(middle.x, middle.y, 0.0);
        for normal in own {
            assert!(normal.z.abs() < 1e-4 && normal.dot(out) > 0.0, "{normal} at {middle}");
        }
    }
}

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
            // The library has the same camera, as its own properties say it.
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

/// A camera in text with these properties.
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
    // Width and height of film and focal length: as the picture is fit on the film, in millimetres.
    for (mode, fit, expected) in [
        (3.0, 0.0, [50.8, 25.4, 30.0]),
        (3.0, 1.0, [76.2, 25.4, 30.0]),
        (3.0, 2.0, [50.8, 50.8 / 3.0, 30.0]),
        // 3 : 1 is wider than the film: full or with all of it.
        (3.0, 3.0, [50.8, 50.8 / 3.0, 30.0]),
        (3.0, 4.0, [76.2, 25.4, 30.0]),
        // A right angle from side to side, or from top to bottom.
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

/// Joints' transforms in the world at a sample of a clip.
fn object(scene: &Scene, clip: &Clip, sample: usize) -> Vec<DMat4> {
    let mut out: Vec<DMat4> = Vec::new();
    for (joint, track) in scene.skeletons[clip.skeleton].joints.iter().zip(&clip.tracks) {
        let local = DMat4::from(track.at(sample).matrix());
        out.push(joint.parent.map_or(local, |parent| out[parent] * local));
    }
    out
}

/// Whether all numbers are near, beside the largest.
fn is_near(a: &DMat4, b: &DMat4) -> bool {
    let (a, b) = (a.to_cols_array(), b.to_cols_array());
    let size = b.iter().fold(1.0f64, |most, v| most.max(v.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * size)
}

/// Column vectors.
fn matrix(m: &ufbx::Matrix) -> DMat4 {
    DMat4::from_cols_array_2d(&[
        [m.m00, m.m10, m.m20, 0.0],
        [m.m01, m.m11, m.m21, 0.0],
        [m.m02, m.m12, m.m22, 0.0],
        [m.m03, m.m13, m.m23, 1.0],
    ])
}

/// All clips have joints where the library has the nodes of their names.
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
            let found = object(scene, clip, sample);
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
    // Bones carry nothing: they are no nodes besides.
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
        let object = object(&scene, clip, frame);
        assert_eq!(points.len(), truth.len());
        for (number, truth) in truth.iter().enumerate() {
            let off = DVec3::from_array(points[number].map(f64::from)).distance(*truth);
            assert!(off < 1e-4, "point {number}, frame {frame}: {off}");
            let off = blended(&object, number).distance(*truth);
            assert!(off < 1e-4, "point {number}, frame {frame}: {off}");
        }
    }
    // Between two samples they are, too.
    let between = |time: f64| {
        let mut points = Vec::new();
        driven.points(time, &mut points).unwrap();
        DVec3::from_array(points[points.len() - 1].map(f64::from))
    };
    let [a, middle, b] = [8.0, 8.5, 9.0].map(|frame| between(clip.start + frame / clip.fps));
    assert!(middle.distance((a + b) / 2.0) < 0.1 * a.distance(b) && a.distance(b) > 0.1);
    // At rest the skeleton is as it was bound, and the tube upright where Blender has it: on the ground, 2 m high.
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
        let (scene, _) = read::open(&path, &options).unwrap();
        assert_eq!((scene.skeletons.len(), scene.clips.len(), scene.nodes.len()), (1, 2, 0));
        check_clips(&path, &scene);
        for clip in &scene.clips {
            let frames = &expected[clip.name.rsplit('|').next().unwrap()];
            let frames = frames.as_array().unwrap_or_else(|| panic!("{}", clip.name));
            assert_eq!(clip.samples, frames.len(), "{}", clip.name);
            for (sample, truth) in frames.iter().enumerate() {
                let found = object(&scene, clip, sample);
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

/// The triangle with two animations: one turns the bone and brings the shape in, the other takes the shape away.
fn animated() -> String {
    let curve = |number: u32, from: f64, to: f64, seconds: u64| {
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
    };
    let stack = |number: u32, name: &str, times: &str| {
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
    };
    // One says when it is, of the other keys do.
    let times = r#"P: "LocalStart", "KTime", "Time", "",0
            P: "LocalStop", "KTime", "Time", "",46186158000"#;
    let node = |number: u32| {
        format!(
            r#"
    AnimationCurveNode: {number}, "AnimCurveNode::Own", "" {{
    }}"#
        )
    };
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
    let text =
        still.replace("\n}\nConnections:  {", &format!("{}\n}}\nConnections:  {{{links}", objects.concat()));
    assert!(text.len() > still.len() + 1000);
    text
}

#[test]
fn clips_move_points_by_their_own_shapes_and_bones() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("triangle.fbx");
    std::fs::write(&file, animated()).unwrap();
    // Where the third corner is, with so much of the shape and the bone turned so far.
    let corner = |weight: f64, angle: f64| {
        let turn = DQuat::from_rotation_z(angle.to_radians());
        turn * DVec3::new(0.0, 1.0, 2.0 * weight) + DVec3::new(5.0, 6.0, 7.0)
    };
    for animation in [None, Some("Fade")] {
        let options = ReadOptions { animation: animation.map(str::to_owned), ..ReadOptions::default() };
        let (scene, _) = read::open(&file, &options).unwrap();
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
                // Halves of samples are on the way from one to the other.
                assert!(at.distance(truth) < 1e-5, "{}, {half}: {at} {truth}", clip.name);
                if half % 2 == 0 {
                    let scalar = clip.scalars[0].values.at(half / 2).x;
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
    // The bone had all of the mesh where it was bound, wherever its node went.
    let points = points_of(&scene.meshes[0], 0);
    assert!(points[0].distance(DVec3::new(5.0, 6.0, 7.0)) < 1e-6, "{}", points[0]);
    assert!(points[2].distance(DVec3::new(0.0, 1.0, 41.0)) < 1e-6, "{}", points[2]);
    // It is in the world, and drawn there.
    let found = world(&scene, 0);
    assert!(found["Own"][2].distance(DVec3::new(0.0, 1.0, 41.0) * 0.01) < 1e-6, "{found:?}");
}

#[test]
fn geometry_caches_move_points() {
    let path = folder().join("cached.fbx");
    let (scene, remarks) = open(&path);
    let mesh_of = |name: &str| {
        let node = scene.nodes.iter().find(|node| node.path.starts_with(&format!("/{name}/"))).unwrap();
        &scene.meshes[node.mesh.unwrap()]
    };
    let mut points = Vec::new();
    for tenth in -3..90 {
        let time = f64::from(tenth) / 240.0;
        let truth = cached(&path, time);
        for (name, amount) in [("Sheet", 0.5), ("Left", 1.0), ("Right", 2.0), ("Apart", 3.0)] {
            positions_at(mesh_of(name), time, &mut points).unwrap();
            assert_eq!(points.len(), 12);
            // What wrote the caches made them so, at whole frames.
            let frame = (time * 24.0).clamp(0.0, 7.0);
            let wave = |frame: f64, x: f64, y: f64| amount * (x + 0.7 * frame).sin() + 0.1 * y * frame;
            for (number, own) in points.iter().enumerate() {
                let own = DVec3::from_array(own.map(f64::from));
                let (x, y) = ((number % 4) as f64, (number / 4) as f64);
                let (low, part) = (frame.floor(), frame.fract());
                let z = wave(low, x, y) * (1.0 - part) + wave(low + 1.0, x, y) * part;
                assert!(own.distance(DVec3::new(x, y, z)) < 1e-5, "{name} at {time}: {own} {z}");
                // The library looks for caches nowhere else.
                if name != "Apart" {
                    let truth = truth[name][number];
                    assert!(own.distance(truth) < 1e-5, "{name} at {time}: {own} {truth}");
                }
            }
        }
    }
    assert_eq!(mesh_of("Left").positions.len(), 8);
    for name in ["Lost", "Outside"] {
        assert!(mesh_of(name).positions.is_constant());
        let about = |r: &Remark| r.node.starts_with(&format!("/{name}/")) && r.what.contains("put it there");
        assert!(remarks.iter().any(about), "{remarks:?}");
    }
    let files: Vec<_> = scene.files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    for file in ["sheet.pc2", "both.xml", "both.mc", "apart.xml", "apartFrame7.mc"] {
        assert!(files.contains(&file), "{file}: {files:?}");
    }
}

#[test]
fn damaged_caches_are_left_out_or_errors() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("caches")).unwrap();
    let names = ["cached.fbx", "caches/sheet.pc2", "caches/both.xml", "caches/both.mc"];
    let whole = names.map(|name| std::fs::read(folder().join(name)).unwrap());
    let restore = || {
        names.iter().zip(&whole).for_each(|(name, own)| std::fs::write(place.path().join(name), own).unwrap())
    };
    for (name, bytes) in names.iter().zip(&whole).skip(1) {
        restore();
        for cut in (0..bytes.len()).step_by(37) {
            std::fs::write(place.path().join(name), &bytes[..cut]).unwrap();
            let (scene, _) = open(&place.path().join("cached.fbx"));
            walk(&scene).unwrap();
            let mut other = bytes.clone();
            other[cut] ^= 1 << (cut % 8);
            std::fs::write(place.path().join(name), &other).unwrap();
            let (scene, _) = open(&place.path().join("cached.fbx"));
            walk(&scene).unwrap();
        }
    }
    // One that is cut short behind our back is told.
    restore();
    let (scene, _) = open(&place.path().join("cached.fbx"));
    std::fs::write(place.path().join("caches/sheet.pc2"), &whole[1][..100]).unwrap();
    let error = walk(&scene).unwrap_err();
    assert!(error.to_string().contains("sheet.pc2"), "{error}");
}

#[test]
fn animations_are_played_as_they_are_asked_for() {
    let path = folder().join("takes.fbx");
    let text = std::fs::read_to_string(folder().join("takes.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let played = |animation: Option<&str>| {
        let options = ReadOptions { animation: animation.map(str::to_owned), ..ReadOptions::default() };
        read::open(&path, &options)
    };
    let name_of = |name: &str| format!("Prop|{name}");
    let (first, remarks) = played(None).unwrap();
    assert!(remarks.iter().any(|r| r.what.contains("--animation")), "{remarks:?}");
    let check = |scene: &Scene, name: &str, start: f64| {
        let frames = expected[name].as_array().unwrap();
        let placed = scene.expand().unwrap();
        let mut world = World::new(scene, &placed).unwrap();
        for (frame, truth) in frames.iter().enumerate() {
            let time = start + frame as f64 / 24.0;
            world.evaluate(time).unwrap();
            let at = placed.iter().position(|place| scene.nodes[place.node].mesh.is_some()).unwrap();
            let mut points = Vec::new();
            positions_at(&scene.meshes[0], time, &mut points).unwrap();
            for (own, truth) in points.iter().zip(truth.as_array().unwrap()) {
                let own = 0.01 * world.matrix[at].transform_point3(DVec3::from_array(own.map(f64::from)));
                let truth = DVec3::from_array(std::array::from_fn(|i| truth[i].as_f64().unwrap()));
                assert!(own.distance(truth) < 2e-5, "{name}, frame {frame}: {own} {truth}");
            }
        }
    };
    let start_of = |scene: &Scene| {
        scene.nodes.iter().filter_map(|n| Some(n.transform.as_ref()?.matrix.time(0))).fold(0.0, f64::max)
    };
    for (name, number) in [("Lift", "0"), ("Slide", "1")] {
        for wanted in [&*name_of(name), number] {
            let (scene, remarks) = played(Some(wanted)).unwrap();
            assert!(scene.ranges.is_empty() && !remarks.iter().any(|r| r.what.contains("--animation")));
            check(&scene, name, start_of(&scene));
        }
    }
    check(&first, "Lift", start_of(&first));
    let (all, _) = played(Some("all")).unwrap();
    let frame = |time: f64| (time * 24.0).round() as i32;
    let ranges = all.ranges.iter().map(|range| (&*range.name, frame(range.start), frame(range.end)));
    assert_eq!(ranges.collect::<Vec<_>>(), [("Prop|Lift", 0, 5), ("Prop|Slide", 6, 14)]);
    check(&all, "Lift", 0.0);
    check(&all, "Slide", 0.25);
    let error = played(Some("Jump")).err().unwrap();
    assert!(matches!(error, Error::Misuse { .. }) && error.to_string().contains("'Prop|Slide'"), "{error}");
}

#[test]
fn attributes_materials_and_skins() {
    let (scene, remarks) = open(&folder().join("shapes.fbx"));
    let mesh = &scene.meshes[0];
    assert_eq!((mesh.uvs.len(), mesh.colours.len(), mesh.skin.is_some()), (1, 1, false));
    let sets: Vec<&str> = mesh.face_sets.iter().map(|set| &set.name[..]).collect();
    assert_eq!(sets, ["red", "blue"]);
    let mut faces = Vec::new();
    mesh.face_sets[1].faces.read(0, &mut faces).unwrap();
    assert!(faces.len() == 16 && faces.iter().all(|face| face % 2 == 1), "{faces:?}");
    let mut all = Faces::default();
    faces_at(mesh, 0.0, &mut all).unwrap();
    assert!(all.counts.iter().all(|count| *count == 4));
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    mesh.uvs[0].values.read(0, &mut values).unwrap();
    mesh.uvs[0].indices.as_ref().unwrap().read(0, &mut indices).unwrap();
    for (corner, point) in indices.iter().zip(&all.indices) {
        let [u, v] = values[*corner as usize];
        assert_eq!((u, v), ((point % 8) as f32 / 8.0, (point / 8) as f32 / 4.0));
    }
    assert!(remarks.iter().any(|r| r.what.contains("normals")), "{remarks:?}");

    // The bones and the bind pose give the points.
    let (scene, _) = open(&folder().join("skinned.fbx"));
    let mesh = &scene.meshes[0];
    let skin = mesh.skin.as_ref().unwrap();
    assert_eq!((skin.skeleton, skin.joints.len(), skin.pose.len()), (Some(0), 3, 12));
    let (mut points, mut pose) = (Vec::new(), Vec::new());
    for frame in 0..12 {
        let time = mesh.positions.time(frame);
        positions_at(mesh, time, &mut points).unwrap();
        pose_at(mesh, time, &mut pose).unwrap();
        for (i, point) in points.iter().enumerate() {
            let own = i * skin.influences..(i + 1) * skin.influences;
            let bind = DVec3::from_array(skin.bind_positions[i].map(f64::from));
            let moved: DVec3 = (skin.joint[own.clone()].iter().zip(&skin.weight[own]))
                .map(|(joint, weight)| f64::from(*weight) * pose[usize::from(*joint)].transform_point3(bind))
                .sum();
            assert!(moved.distance(DVec3::from_array(point.map(f64::from))) < 1e-4);
        }
    }
    let (scene, _) = open(&folder().join("moves.fbx"));
    let paths: Vec<&str> =
        scene.nodes.iter().filter(|n| n.kind == NodeKind::PolyMesh).map(|n| &n.path[..]).collect();
    assert!(paths.contains(&"/Group/Upper/Lower/LowerMesh"), "{paths:?}");
}

#[test]
fn damaged_files_are_errors_or_other_scenes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.fbx");
    // All that there is to read, and what clips do.
    let walk = |scene: &Scene| -> Result<(), Error> {
        walk(scene)?;
        let mut points = Vec::new();
        for driven in scene.meshes.iter().filter_map(|mesh| mesh.skin.as_ref()).flat_map(|skin| &skin.driven)
        {
            driven.1.points(0.1, &mut points)?;
        }
        for clip in &scene.clips {
            assert!(object(scene, clip, clip.samples - 1).iter().all(|m| !m.is_nan()));
        }
        let mut lens = Vec::new();
        scene.nodes.iter().filter_map(|node| node.camera.as_ref()).try_for_each(|own| own.read(0, &mut lens))
    };
    for name in ["skinned", "shapes", "moves", "cameras", "bones"] {
        let whole = std::fs::read(folder().join(format!("{name}.fbx"))).unwrap();
        for cut in (0..whole.len()).step_by(331) {
            std::fs::write(&file, &whole[..cut]).unwrap();
            match read::open(&file, &ReadOptions::default()) {
                Ok((scene, _)) => drop(walk(&scene)),
                Err(error) => assert!(!matches!(error, Error::Misuse { .. }), "{error}"),
            }
        }
        for at in (0..whole.len()).step_by(101) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&file, &bytes).unwrap();
            if let Ok((scene, _)) = read::open(&file, &ReadOptions::default()) {
                let _ = walk(&scene);
            }
        }
    }
    std::fs::write(&file, b"Kaydara FBX Binary  \0\x1a\0").unwrap();
    assert!(matches!(read::open(&file, &ReadOptions::default()), Err(Error::Malformed { .. })));
}
