//! Tests of normals of meshes that bones and shapes move.

use super::{folder, open, target};
use glam::{DMat3, DQuat, DVec3};
use meshreel_scene::sample::{Faces, World, faces_at, pose_at};
use meshreel_scene::{Mesh, Scope};

/// Returns the normal of each corner of a mesh at a frame, in its own space, and the points of each face.
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

pub(super) fn points_of(mesh: &Mesh, frame: usize) -> Vec<DVec3> {
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
    // The bone of a point that has a single one.
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
            // Faces of a single bone do not bend: they stay as flat as at binding.
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
    // The library recomputes normals from the points that it has moved, so they are equal only where faces
    // stay flat, and similar elsewhere.
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

/// Returns a triangle as text: a shape of weight one half moves its points and its normals, and a bone that
/// is scaled along x, rotated about z and moved carries them.
pub(super) fn triangle(shape: &str, normals: &str) -> String {
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
        // With half of the shape: heights of points, horizontal parts of normals.
        let at = [DVec3::ZERO, DVec3::new(1.0, 0.0, 0.5), DVec3::new(0.0, 1.0, 1.0)][corner];
        let normal = [DVec3::Z, DVec3::new(0.5, 0.0, 1.0), DVec3::new(0.0, 1.0, 1.0)][corner];
        let (stretch, back) = (DVec3::new(3.0, 1.0, 1.0), DVec3::new(1.0 / 3.0, 1.0, 1.0));
        let at = turn * (stretch * at) + DVec3::new(5.0, 6.0, 7.0);
        let normal = (turn * (back * normal)).normalize();
        assert!(points[corner].distance(at) < 1e-6, "{}", points[corner]);
        assert!(found[corner].distance(normal) < 1e-6, "{} {normal}", found[corner]);
    }
    // Without normals of the shape they are the mesh's own; without those of the mesh there are none.
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
    // The tube without its shapes is upright and round: its normals point outwards and are level.
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
