//! Tests of reading USD: the small files of `testdata/inputs/usd` against the library's evaluation, and
//! damaged ones.

use crate::walk::walk;
use glam::DVec3;
use meshreel_scene::sample::{Faces, World, faces_at, positions_at};
use meshreel_scene::{Error, LengthUnit, Mesh, NodeKind, Remark, Scene, Scope, Topology, Winding};
use serde_json::Value;
use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/usd")
}

fn open(path: &Path) -> (Scene, Vec<Remark>) {
    meshreel_read_usd::open(path).unwrap_or_else(|error| panic!("{error}"))
}

/// A mesh evaluated at a time.
#[derive(Debug)]
pub struct EvaluatedMesh {
    pub points: usize,
    sum: DVec3,
    pub last: DVec3,
    pub corners: usize,
    shown: bool,
    /// Normals of points, in the mesh's own space.
    normals: Vec<f64>,
}

/// Evaluates all meshes of a scene at a time, by path.
pub fn evaluated_meshes(scene: &Scene, time: f64) -> BTreeMap<String, EvaluatedMesh> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let (mut points, mut faces, mut out) = (Vec::new(), Faces::default(), BTreeMap::new());
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else {
            continue;
        };
        positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
        faces_at(&scene.meshes[mesh], time, &mut faces).unwrap();
        let at = |p: &[f32; 3]| world.matrix[i].transform_point3(DVec3::from_array(p.map(f64::from)));
        let seen = EvaluatedMesh {
            points: points.len(),
            sum: points.iter().map(at).sum(),
            last: points.last().map_or(DVec3::ZERO, at),
            corners: faces.indices.len(),
            shown: world.visible[i],
            normals: normals_at(&scene.meshes[mesh], time),
        };
        out.insert(place.path.clone(), seen);
    }
    out
}

fn normals_at(mesh: &meshreel_scene::Mesh, time: f64) -> Vec<f64> {
    let Some(own) =
        mesh.normals.as_ref().filter(|own| own.scope == Scope::Vertex && own.values.has_own_interpolation())
    else {
        return Vec::new();
    };
    let mut normals = Vec::new();
    own.values.read_between(time, &mut normals).unwrap();
    normals.iter().flatten().map(|v| f64::from(*v)).collect()
}

fn vector(value: &Value) -> DVec3 {
    DVec3::from_array(std::array::from_fn(|i| value[i].as_f64().unwrap()))
}

#[test]
fn meshes_and_transforms_are_the_librarys() {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let (mut compared, mut normals_compared) = (0, 0);
    for (name, moments) in expected.as_object().unwrap() {
        // The same file in another form or version.
        let moments = moments.as_str().map_or(moments, |same| &expected[same]);
        let (scene, _) = open(&folder().join(name));
        // Where a curve is vertical, the library's own roots of its equation are this inexact.
        let close = if name.starts_with("eased") { 5e-4 } else { 1e-5 };
        for moment in moments.as_array().unwrap() {
            let time = moment["time"].as_f64().unwrap();
            let (ours, theirs) = (evaluated_meshes(&scene, time), moment["meshes"].as_object().unwrap());
            assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{name}");
            for (path, theirs) in theirs {
                let ours = &ours[path];
                let what = format!("{name}, {path} at {time}: {ours:?}, not {theirs}");
                assert_eq!(ours.points as u64, theirs["points"].as_u64().unwrap(), "{what}");
                assert_eq!(ours.corners as u64, theirs["corners"].as_u64().unwrap(), "{what}");
                assert_eq!(ours.shown, theirs["shown"].as_bool().unwrap(), "{what}");
                let near = close * ours.points.max(1) as f64;
                assert!(ours.sum.distance(vector(&theirs["sum"])) < near, "{what}");
                assert!(ours.last.distance(vector(&theirs["last"])) < close, "{what}");
                if let Some(normals) = theirs.get("normals").and_then(Value::as_array) {
                    assert_eq!(ours.normals.len(), normals.len(), "{what}");
                    for (own, theirs) in ours.normals.iter().zip(normals) {
                        assert!((own - theirs.as_f64().unwrap()).abs() < 2e-5, "{what}");
                    }
                    normals_compared += 1;
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 1500 && normals_compared == 40, "{compared}, {normals_compared}");
}

/// Returns the points in world space of all meshes visible at a time.
fn visible(scene: &Scene, time: f64) -> Vec<Vec<DVec3>> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let (mut points, mut out) = (Vec::new(), Vec::new());
    for (i, place) in placed.iter().enumerate().filter(|(i, _)| world.visible[*i]) {
        if let Some(mesh) = scene.nodes[place.node].mesh {
            positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
            let at = |p: &[f32; 3]| world.matrix[i].transform_point3(DVec3::from_array(p.map(f64::from)));
            out.push(points.iter().map(at).collect());
        }
    }
    out
}

/// The node of a remark, and its text.
type ExpectedRemark<'a> = (&'a str, &'a str);

/// Compares the visible meshes of a file in both forms at all times with the library's.
fn compare_visible(name: &str, said: &[ExpectedRemark<'_>]) {
    let text = std::fs::read_to_string(folder().join("visible.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for extension in ["usda", "usdc"] {
        let (scene, remarks) = open(&folder().join(name).with_extension(extension));
        for moment in expected[name].as_array().unwrap() {
            let time = moment["time"].as_f64().unwrap();
            let (mut ours, theirs) = (visible(&scene, time), moment["meshes"].as_array().unwrap());
            let what = format!("{name} as {extension} at time code {}", time * 24.0);
            for theirs in theirs {
                let theirs: Vec<DVec3> = theirs.as_array().unwrap().iter().map(vector).collect();
                let near = |own: &Vec<DVec3>| {
                    own.len() == theirs.len() && own.iter().zip(&theirs).all(|(a, b)| a.distance(*b) < 5e-5)
                };
                let found = ours.iter().position(near);
                let found = found.unwrap_or_else(|| panic!("{what}: {theirs:?} is not there: {ours:?}"));
                ours.swap_remove(found);
            }
            assert!(ours.is_empty(), "{what}: {ours:?} is there as well");
        }
        let own = remarks.iter().map(|own| (&*own.node, &*own.what));
        let own: Vec<ExpectedRemark<'_>> = own.filter(|(_, what)| !what.starts_with("subdivision")).collect();
        assert_eq!(own, said, "{name}");
    }
}

#[test]
fn instances_come_go_hide_and_change_as_the_library_has_them() {
    let never = "has instances that are invisible at all times; left out";
    let unequal = "has not as many positions as protoIndices at some times; then it shows nothing";
    compare_visible("crowds.usda", &[("/Unequal", unequal), ("/Invisible", never)]);
}

#[test]
fn skins_are_where_the_library_bakes_them() {
    let no_root = "it is not below a SkelRoot: it is shown as it was bound";
    let method = "its skinning method 'fancy' is not known: it is shown as it was bound";
    compare_visible("skins.usda", &[("/NoRoot/Skin", no_root), ("/Unknown/Skin", method)]);
}

#[test]
fn figures_that_move_alike_share_their_meshes() {
    let (scene, _) = open(&folder().join("skins.usda"));
    let of = |path: &str| {
        let node = scene.nodes.iter().find(|node| node.path == path).unwrap();
        scene.nodes[node.instance_of.unwrap_or(0)].path.clone()
    };
    assert_eq!(of("/Crowd/C/Skin"), "/Crowd/A/Skin");
    for own in ["/Crowd/A/Skin", "/Crowd/B/Skin", "/Crowd/D/Skin", "/Dressed/Two/Shirt"] {
        assert!(scene.nodes.iter().any(|node| node.path == own && node.mesh.is_some()), "{own}");
    }
}

#[test]
fn an_instance_is_a_node_by_its_id() {
    let (scene, _) = open(&folder().join("crowds.usda"));
    let of = |above: &str| -> Vec<&str> {
        let above = scene.nodes.iter().position(|node| node.path == above);
        let below = scene.nodes.iter().filter(|node| node.parent == above && above.is_some());
        below.map(|node| node.name.as_str()).collect()
    };
    // One becomes another prototype.
    assert_eq!(of("/Sparks"), ["10", "11", "12", "13", "13_2"]);
    assert_eq!(of("/Masked"), ["100", "200", "300"]);
    assert_eq!(of("/Numbers"), ["0", "1", "2", "1_2", "0_2"]);
    assert_eq!(of("/Empty"), [""; 0]);
}

#[test]
fn attributes_and_materials() {
    for name in ["cloth.usdc", "cloth.usda"] {
        attributes_of(name);
    }
}

fn attributes_of(name: &str) {
    let (scene, remarks) = open(&folder().join(name));
    assert_eq!((scene.unit, scene.fps, scene.format), (Some(LengthUnit::Metre), Some(24.0), "usd"));
    let [mesh] = &scene.meshes[..] else { panic!("{} meshes", scene.meshes.len()) };
    assert_eq!((mesh.topology, mesh.winding), (Topology::Homogeneous, Winding::CounterClockwise));
    assert!(!mesh.is_subd);
    assert_eq!(mesh.positions.len(), 8);
    assert!((mesh.positions.time(0) - 1.0 / 24.0).abs() < 1e-12);
    let normals = mesh.normals.as_ref().unwrap();
    assert_eq!((normals.scope, normals.values.len()), (Scope::Vertex, 2));
    let uvs: Vec<_> = mesh.uvs.iter().map(|uv| (&*uv.name, uv.scope, uv.indices.is_some())).collect();
    assert_eq!(uvs, [("st", Scope::FaceVarying, true), ("atlas", Scope::Vertex, false)]);
    let mut indices = Vec::new();
    mesh.uvs[0].indices.as_ref().unwrap().read(0, &mut indices).unwrap();
    assert_eq!((indices.len(), &indices[..5]), (144, &[0, 1, 2, 3, 0][..]));
    let mut colours = Vec::new();
    mesh.colours[0].values.read(0, &mut colours).unwrap();
    assert_eq!((&*mesh.colours[0].name, colours[18]), ("displayColor", [0.5, 0.5, 1.0, 1.0]));
    let mut pieces = Vec::new();
    mesh.integers[0].values.read(0, &mut pieces).unwrap();
    assert_eq!((&*mesh.integers[0].name, pieces[17], pieces[18]), ("piece", 0, 1));
    let custom: Vec<_> = mesh.custom_attributes.iter().map(|c| (&*c.attribute.name, c.components)).collect();
    let names = ["heat", "table", "thin", "weights"];
    let mut sorted = custom.clone();
    sorted.sort();
    assert_eq!(sorted, names.map(|name| (name, 1)));
    let value = |name: &str, i: usize| {
        let own = mesh.custom_attributes.iter().find(|own| own.attribute.name == name).unwrap();
        let mut values = Vec::new();
        own.attribute.values.read(0, &mut values).unwrap();
        values[i][0]
    };
    assert_eq!(
        (value("heat", 0), value("table", 47), value("thin", 4), value("weights", 48)),
        (0.25, 0.2, -1.0, 3.0)
    );
    assert!(mesh.velocities.is_some());
    let sets: Vec<_> = mesh.face_sets.iter().map(|set| &*set.name).collect();
    assert_eq!(sets, ["Seam", "Linen"]);
    let (mut edge, mut rest) = (Vec::new(), Vec::new());
    mesh.face_sets[0].faces.read(0, &mut edge).unwrap();
    mesh.face_sets[1].faces.read(0, &mut rest).unwrap();
    assert_eq!((edge, rest), ((0..6).collect(), (6..36).collect()));
    let about = |what: &str| remarks.iter().any(|remark| remark.what.contains(what));
    assert!(about("attribute odd"), "{remarks:?}");
    assert!(!about("weights"), "{remarks:?}");
}

#[test]
fn what_is_left_out_is_said() {
    let (scene, remarks) = open(&folder().join("moves.usdc"));
    assert_eq!(scene.unit, Some(LengthUnit::Centimetre));
    let about = |path: &str, what: &str| remarks.iter().any(|r| r.node == path && r.what.contains(what));
    assert!(about("/Arm/Guide", "guide"), "{remarks:?}");
    assert!(about("/Nothing", "not there"), "{remarks:?}");
    assert!(scene.nodes.iter().all(|node| !["Guide", "Off", "Kind", "Nothing"].contains(&&*node.name)));
    let loose = scene.nodes.iter().find(|node| node.path == "/Arm/Loose").unwrap();
    let mut inherits = Vec::new();
    loose.transform.as_ref().unwrap().inherits.as_ref().unwrap().read(0, &mut inherits).unwrap();
    assert_eq!((inherits, loose.kind), (vec![false], NodeKind::Xform));
    let (scene, _) = open(&folder().join("changing.usdc"));
    assert_eq!(scene.meshes[0].topology, Topology::Heterogeneous);
    assert_eq!(scene.meshes[0].winding, Winding::Clockwise);
}

#[test]
fn layers_are_composed() {
    for name in ["set.usda", "set.usd", "set.usdz"] {
        let (scene, remarks) = open(&folder().join(name));
        let about = |path: &str, what: &str| remarks.iter().any(|r| r.node == path && r.what.contains(what));
        assert!(about("/Set/Bad", "outside.usda"), "{name}: {remarks:?}");
        assert!(about("/Set/Lost", "none.usda"), "{name}: {remarks:?}");
        let node = |path: &str| scene.nodes.iter().position(|node| node.path == path).unwrap();
        assert_eq!(scene.nodes[node("/Set/Post2/Board")].instance_of, Some(node("/Set/Post1/Board")));
        assert_eq!(scene.nodes[node("/Set/Post0/Board")].instance_of, None);
        assert_eq!(scene.nodes[node("/Set/Crowd/2/Low")].instance_of, Some(node("/Set/Crowd/0/Low")));
        let board = scene.nodes[node("/Set/Post1/Board")].mesh.unwrap();
        assert_eq!(scene.meshes[board].face_sets[0].name, "Wood");
    }
    let (scene, _) = open(&folder().join("set.usda"));
    let files: Vec<_> = scene.files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    for file in ["below.usdc", "post.usda", "swing.usdc"] {
        assert_eq!(files.iter().filter(|own| **own == file).count(), 1, "{file}: {files:?}");
    }
}

/// Reads a text layer on its own.
pub fn scene_of(text: &str) -> (Scene, Vec<Remark>) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.usda");
    std::fs::write(&path, format!("#usda 1.0\n{text}")).unwrap();
    open(&path)
}

#[test]
fn circles_are_cut() {
    for text in [
        r#"(subLayers = [@a.usda@]) def "A" {}"#,
        r#"def "A" (references = </A>) {}"#,
        r#"def "A" { def "B" (references = </A>) {} }"#,
        r#"def "A" (references = @a.usda@</B>) {} def "B" (references = @./a.usda@</A>) { def "C" {} }"#,
        r#"def "A" (inherits = </B>) {} class "B" (specializes = </A>) {}"#,
        r#"def PointInstancer "A" { rel prototypes = </A> int[] protoIndices = [0] point3f[] positions = [(0,0,0)] }"#,
    ] {
        let (scene, remarks) = scene_of(text);
        assert!((1..10).contains(&scene.nodes.len()), "{text}: {} nodes", scene.nodes.len());
        assert!(
            remarks.iter().any(|r| r.what.contains("itself") || r.what.contains("contains it")),
            "{text}"
        );
    }
    // Two instancers that instance each other.
    let one = |name: &str, other: &str| {
        format!(
            "def PointInstancer \"{name}\" {{ rel prototypes = </{other}> int[] protoIndices = [0, 0] point3f[] positions = [(0,0,0), (1,0,0)] }}"
        )
    };
    let (scene, remarks) = scene_of(&(one("A", "B") + &one("B", "A")));
    assert!(scene.expand().unwrap().len() < 100);
    assert!(remarks.iter().any(|r| r.what.contains("contains it")), "{remarks:?}");
}

#[test]
fn what_multiplies_is_limited() {
    // Each prim references the next one twice: 2^40 instances.
    let prim = |i: usize| {
        let next = i + 1;
        format!(
            "def \"P{i}\" {{ def \"a\" (references = </P{next}>) {{}} def \"b\" (references = </P{next}>) {{}} }}\n"
        )
    };
    let text: String = (0..40).map(prim).chain(["def \"P40\" {}".to_string()]).collect();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.usda");
    std::fs::write(&path, format!("#usda 1.0\n{text}")).unwrap();
    assert!(matches!(meshreel_read_usd::open(&path), Err(Error::Limit { .. })));
    let deep: String =
        (0..300).map(|i| format!("def \"p{i}\" {{")).chain((0..300).map(|_| "}".into())).collect();
    std::fs::write(&path, format!("#usda 1.0\n{deep}")).unwrap();
    assert!(matches!(meshreel_read_usd::open(&path), Err(Error::Malformed { .. })));
}

#[test]
fn text_says_more_than_the_library_writes() {
    let (scene, remarks) = scene_of(
        r#"( "a comment" upAxis = "Y"; metersPerUnit = 0.5
            customLayerData = { string who = "x" } )
        /* a remark */ def Mesh "M" ( doc = """long
            text"""; add apiSchemas = ["MaterialBindingAPI"] ) { // another
            custom double userProperties:mass = 2 ( doc = "kg" )
            uniform token subdivisionScheme = "none"; int[] faceVertexCounts = [3,]
            int[] faceVertexIndices = [0, 1, 2]
            point3f[] points = None
            point3f[] points.timeSamples = { 2: [(0,0,0), (1e0,0,0), (0,1,0)], 1: None, }
            rel material:binding = </Looks/Red> ( bindMaterialAs = "strongerThanDescendants" )
            float xformOp:rotateX.spline = { bezier, 1: 2; pre (1) }
            reorder properties = ["points"]
            asset file = @@@a@b.png@@@
            color3f[] primvars:displayColor = [(1, 0, 0)] ( interpolation = "constant" )
            token visibility = 'invisible'
        }"#,
    );
    let mesh = &scene.meshes[0];
    let mut points = vec![[9.0; 3]];
    assert_eq!((mesh.positions.len(), mesh.positions.time(1)), (2, 2.0 / 24.0));
    mesh.positions.read(0, &mut points).unwrap();
    assert!(points.is_empty());
    mesh.positions.read(1, &mut points).unwrap();
    assert_eq!(points[1], [1.0, 0.0, 0.0]);
    assert_eq!((mesh.face_sets[0].name.as_str(), mesh.colours.len()), ("Red", 1));
    assert_eq!(scene.nodes[0].user_properties, [("mass".to_string(), "double".to_string())]);
    assert_eq!(scene.unit, None);
    assert!(remarks.iter().any(|r| r.what.contains("0.5 m")));
}

/// Opens bytes and reads all; errors are of the classes that a file can cause.
fn read_all(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    let walked = meshreel_read_usd::open(path).and_then(|(scene, _)| walk(&scene));
    match walked {
        Ok(()) => {}
        // The message names the fault, its place, and the remedy.
        Err(Error::Malformed { path: named, what, at }) => {
            assert!(
                named.starts_with(path) || named.display().to_string().contains(".usd"),
                "{named:?}: {what}"
            );
            assert!(what.contains("; ") && !at.is_empty(), "{what}, at {at}");
        }
        Err(Error::Unsupported { what, .. } | Error::Limit { what, .. }) => {
            assert!(what.contains("; "), "{what}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn damaged_files_are_errors_or_other_scenes() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    for name in ["changing.usdc", "moves.usda", "set.usdz"] {
        let path = path.join(name);
        let bytes = std::fs::read(folder().join(name)).unwrap();
        for end in 0..bytes.len() {
            read_all(&path, &bytes[..end]);
        }
        for at in 0..bytes.len() {
            for value in [bytes[at] ^ 1 << (at % 8), 0xFF] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                read_all(&path, &bytes);
            }
        }
    }
}

#[test]
fn skeletons_and_blend_shapes_move_points() {
    for name in ["figure.usdc", "figure.usda"] {
        let (scene, remarks) = open(&folder().join(name));
        let mesh = scene.meshes.iter().find(|mesh| mesh.path == "/Figure/Body/Skin").unwrap();
        assert_eq!((mesh.topology, mesh.positions.len()), (Topology::Homogeneous, 7), "{remarks:?}");
        assert!(mesh.positions.has_own_interpolation());
        let skin = mesh.skin.as_ref().unwrap();
        assert_eq!((skin.influences, skin.joints.len(), skin.bind_positions.len()), (2, 3, 49));
        // Without the blend shapes, joints alone explain a point's position.
        let shoe = scene.meshes.iter().find(|mesh| mesh.path == "/Figure/Body/Shoe").unwrap();
        let skin = shoe.skin.as_ref().unwrap();
        let (mut pose, mut points) = (Vec::new(), Vec::new());
        for sample in 0..7 {
            skin.pose.read(sample, &mut pose).unwrap();
            shoe.positions.read(sample, &mut points).unwrap();
            let bound = DVec3::from_array(skin.bind_positions[3].map(f64::from));
            let own = pose[usize::from(skin.joint[3])].transform_point3(bound);
            assert!(own.distance(DVec3::from_array(points[3].map(f64::from))) < 1e-6);
        }
    }
    let broken = r#"def SkelRoot "A" { rel skel:skeleton = </None>
        def Mesh "M" { point3f[] points = [(0,0,0)] int[] primvars:skel:jointIndices = [7] float[] primvars:skel:jointWeights = [1] } }"#;
    let (scene, remarks) = scene_of(broken);
    assert!(scene.meshes[0].skin.is_none());
    assert!(remarks.iter().any(|r| r.what.contains("as it was bound")), "{remarks:?}");
}

#[test]
fn a_rig_in_one_space_is_a_clip() {
    let (scene, remarks) = open(&folder().join("tube.usdc"));
    assert_eq!((scene.skeletons.len(), scene.clips.len()), (1, 1), "{remarks:?}");
    let clip = &scene.clips[0];
    assert_eq!((clip.fps, clip.samples, clip.start), (24.0, 25, 0.0));
    assert_eq!(scene.skeletons[0].path(1), "root/tip");
    let tip = clip.tracks[1].transform(24);
    assert!(
        tip.translation.distance(DVec3::Y) < 1e-6
            && (tip.rotation.to_axis_angle().1.to_degrees() - 72.0).abs() < 1e-3
    );
    let mesh = &scene.meshes[0];
    let skin = mesh.skin.as_ref().unwrap();
    assert_eq!((skin.skeleton, skin.driven.len(), skin.driven[0].0), (Some(0), 1, 0));
    let (mut driven, mut points) = (Vec::new(), Vec::new());
    skin.driven[0].1.points(0.5, &mut driven).unwrap();
    positions_at(mesh, 0.5, &mut points).unwrap();
    assert_eq!(driven, points);
    // A mesh that is not in the skeleton's space is moved, but is no rig.
    let (scene, _) = open(&folder().join("figure.usda"));
    assert_eq!((scene.skeletons.len(), scene.clips.len()), (1, 1));
    assert!(scene.meshes.iter().all(|mesh| mesh.skin.as_ref().is_some_and(|skin| skin.skeleton.is_none())));
}

#[test]
fn primvars_of_prims_above_are_inherited() {
    let text = std::fs::read_to_string(folder().join("primvars.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let (scene, remarks) = open(&folder().join("tint.usda"));
    let placed = scene.expand().unwrap();
    for (path, theirs) in expected.as_object().unwrap() {
        let place = placed.iter().find(|place| place.path == *path).unwrap();
        let mesh = &scene.meshes[scene.nodes[place.node].mesh.unwrap()];
        let mut ours = BTreeMap::new();
        for (sample, time) in [0.0, 5.0, 10.0].into_iter().enumerate() {
            for own in &mesh.colours {
                add_primvar(&mut ours, own, sample, time, |v| {
                    v[..3].iter().map(|v| Value::from(f64::from(*v))).collect()
                });
            }
            for own in &mesh.integers {
                add_primvar(&mut ours, own, sample, time, |v| Value::from(*v));
            }
            for own in &mesh.names {
                add_primvar(&mut ours, own, sample, time, |v| Value::from(&**v));
            }
            for own in &mesh.custom_attributes {
                add_primvar(&mut ours, &own.attribute, sample, time, |v| Value::from(f64::from(v[0])));
            }
        }
        let theirs: BTreeMap<String, Value> =
            theirs.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        assert_eq!(ours, theirs, "{path}: {remarks:?}");
    }
    // Two copies inherit the same list only if its content is the same.
    let shared = |path: &str| scene.nodes.iter().any(|n| n.path == path && n.instance_of.is_some());
    assert!(!shared("/Copies2/Copy/Part"));
}

/// A shape, its attributes, its extent, and its volume.
type Case = (&'static str, &'static str, [f64; 3], Option<f64>);

/// Spheres and similar shapes are closed, face outwards, have the specified size and axis, and follow
/// animated sizes.
#[test]
fn shapes_without_points_are_meshes() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("shapes.usda");
    let shapes = [
        ("Cube", "double size = 3", [3.0, 3.0, 3.0], Some(27.0)),
        ("Sphere", "double radius = 2", [4.0, 4.0, 4.0], Some(4.0 / 3.0 * PI * 8.0)),
        ("Sphere", "", [2.0, 2.0, 2.0], Some(4.0 / 3.0 * PI)),
        ("Cylinder", "double height = 5 token axis = \"X\"", [5.0, 2.0, 2.0], Some(5.0 * PI)),
        (
            "Cylinder_1",
            "double radiusBottom = 2 double radiusTop = 1",
            [4.0, 4.0, 2.0],
            Some(14.0 / 3.0 * PI),
        ),
        ("Cone", "double height = 3 token axis = \"Y\"", [2.0, 3.0, 2.0], Some(PI)),
        ("Capsule", "double height = 2 double radius = 1", [2.0, 2.0, 4.0], Some(10.0 / 3.0 * PI)),
        ("Capsule_1", "double radiusTop = 0.25 token axis = \"X\"", [1.75, 1.0, 1.0], None),
        ("Plane", "double width = 3 double length = 5", [3.0, 5.0, 0.0], None),
        ("Plane", "double width = 3 double length = 5 token axis = \"X\"", [0.0, 5.0, 3.0], None),
        ("Plane", "double width = 3 double length = 5 token axis = \"Y\"", [3.0, 0.0, 5.0], None),
        ("Sphere", "double radius.timeSamples = { 0: 1, 24: 3 }", [2.0, 2.0, 2.0], Some(4.0 / 3.0 * PI)),
    ];
    let prim = |(i, (kind, what, ..)): (usize, &Case)| {
        format!("def {kind} \"S{i}\" {{ {what} color3f[] primvars:displayColor = [(1, 0, 0)] }}\n")
    };
    let text: String = shapes.iter().enumerate().map(prim).collect();
    std::fs::write(&path, format!("#usda 1.0\n{text}")).unwrap();
    let (scene, remarks) = open(&path);
    assert_eq!(scene.meshes.len(), shapes.len());
    assert_eq!(remarks.iter().filter(|r| r.what.contains("taken as a mesh of")).count(), 8, "{remarks:?}");
    for (mesh, (kind, what, size, volume)) in scene.meshes.iter().zip(shapes) {
        let (mut points, mut counts, mut corners, mut normals) = (vec![], vec![], vec![], vec![]);
        mesh.positions.read(0, &mut points).unwrap();
        mesh.face_counts.read(0, &mut counts).unwrap();
        mesh.face_indices.read(0, &mut corners).unwrap();
        mesh.normals.as_ref().unwrap().values.read(0, &mut normals).unwrap();
        assert_eq!((normals.len(), mesh.colours.len()), (corners.len(), 1), "{kind}");
        let at = |i: usize| DVec3::from_array(points[corners[i] as usize].map(f64::from));
        let all = || points.iter().map(|p| DVec3::from_array(p.map(f64::from)));
        let extent = all().reduce(DVec3::max).unwrap() - all().reduce(DVec3::min).unwrap();
        assert!(extent.distance(DVec3::from_array(size)) < 1e-5, "{kind} {what}: {extent}");
        let (mut found, mut first, mut sides) = (0.0, 0, std::collections::HashMap::new());
        for count in counts.iter().map(|count| *count as usize) {
            let area = (1..count - 1)
                .map(|k| (at(first + k) - at(first)).cross(at(first + k + 1) - at(first)))
                .sum::<DVec3>();
            found += at(first).dot(area) / 6.0;
            for k in 0..count {
                let normal = DVec3::from_array(normals[first + k].map(f64::from));
                assert!((normal.length() - 1.0).abs() < 1e-6);
                assert!(area.normalize().dot(normal) > 0.95, "{kind} {what}: {normal} of {area}");
                let (a, b) = (corners[first + k], corners[first + (k + 1) % count]);
                *sides.entry((a.min(b), a.max(b))).or_insert(0) += if a < b { 1 } else { -1 };
            }
            first += count;
        }
        if let Some(volume) = volume {
            assert!((found / volume - 1.0).abs() < 0.02, "{kind} {what}: {found}, not {volume}");
        }
        // Each edge belongs to two faces, once in each direction.
        assert!(kind == "Plane" || sides.values().all(|both| *both == 0), "{kind} is not closed");
    }
    let grown = evaluated_meshes(&scene, 0.5);
    assert!((grown["/S11"].sum.length()) < 1e-3);
    let last = scene.meshes.last().unwrap();
    let mut points = Vec::new();
    positions_at(last, 0.5, &mut points).unwrap();
    assert!(points.iter().all(|p| (DVec3::from_array(p.map(f64::from)).length() - 2.0).abs() < 1e-5));
    assert_eq!(last.topology, Topology::Homogeneous);
}

/// An error in one mesh does not affect the others.
#[test]
fn points_that_are_no_vectors_are_left_out() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("types.usda");
    let faces = "int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 2]";
    let three = "[(0,0,0), (1,0,0), (0,1,0)]";
    let text = format!(
        "#usda 1.0\ndef Mesh \"A\" {{ {faces} color3d[] points = {three} }}\n\
         def Mesh \"B\" {{ {faces} int[] points = [1, 2, 3] }}\ndef Points \"C\" {{ float2[] points = [(1, 2)] }}\n"
    );
    std::fs::write(&path, text).unwrap();
    let (scene, remarks) = open(&path);
    let length = |mesh: &Mesh| {
        let mut points = Vec::new();
        mesh.positions.read(0, &mut points).unwrap();
        points.len()
    };
    let lengths: Vec<usize> = scene.meshes.iter().map(length).collect();
    assert_eq!(lengths, [3, 0], "{remarks:?}");
    for (node, named) in [("/B", "int[]"), ("/C", "float2[]")] {
        assert!(remarks.iter().any(|r| r.node == node && r.what.contains(named)), "{remarks:?}");
    }
}

/// Copies with different time offsets of their file are no instances of each other.
#[test]
fn instances_go_by_the_times_of_their_references() {
    let place = tempfile::tempdir().unwrap();
    let mesh = "int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 2]";
    let points =
        "point3f[] points.timeSamples = { 0: [(0,0,0), (1,0,0), (0,1,0)], 10: [(5,0,0), (6,0,0), (5,1,0)] }";
    let wave = format!("#usda 1.0\ndef Xform \"Wave\" {{ def Mesh \"Sheet\" {{ {mesh} {points} }} }}\n");
    std::fs::write(place.path().join("wave.usda"), wave).unwrap();
    let copies = [("A", ""), ("B", ""), ("Late", " (offset = 10)"), ("Slow", " (scale = 2)")];
    let copy = |(name, times): &(&str, &str)| {
        format!("def \"{name}\" (instanceable = true references = @wave.usda@</Wave>{times}) {{ }}\n")
    };
    let text: String = copies.iter().map(copy).collect();
    let path = place.path().join("copies.usda");
    std::fs::write(&path, format!("#usda 1.0\n{text}")).unwrap();
    let (scene, remarks) = open(&path);
    for (code, places) in [(0.0, [0.0, 0.0, 0.0, 0.0]), (10.0, [5.0, 5.0, 0.0, 2.5]), (20.0, [5.0; 4])] {
        let found = evaluated_meshes(&scene, code / 24.0);
        for ((name, _), x) in copies.iter().zip(places) {
            let at = found[&format!("/{name}/Sheet")].last.x;
            assert!((at - x).abs() < 1e-5, "{name} at {code}: {at}, not {x}: {remarks:?}");
        }
    }
    assert_eq!(scene.meshes.len(), 3);
}

/// Adds a primvar at a time, linear between samples, in the form of the list.
fn add_primvar<T: Clone + Send + Sync + 'static>(
    out: &mut BTreeMap<String, Value>,
    own: &meshreel_scene::Attribute<T>,
    sample: usize,
    time: f64,
    value: impl Fn(&T) -> Value,
) {
    let (at, fraction) = own.values.locate(time / 24.0);
    let read = |at: usize| {
        let (mut values, mut indices) = (Vec::new(), Vec::new());
        own.values.read(at, &mut values).unwrap();
        if let Some(own) = &own.indices {
            own.read(0, &mut indices).unwrap();
            values = indices.iter().map(|i| values[*i as usize].clone()).collect();
        }
        values.iter().map(&value).collect::<Vec<_>>()
    };
    let mut values = read(at);
    if fraction > 0.0 {
        let next = read(at + 1);
        let mix = |(a, b): (&Value, &Value)| {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            Value::from(a + (b - a) * fraction)
        };
        values = values.iter().zip(&next).map(mix).collect();
    }
    let scope = format!("{:?}", own.scope).to_lowercase();
    let entry = out.entry(own.name.clone()).or_insert_with(|| serde_json::json!([scope, [null, null, null]]));
    entry[1][sample] = Value::from(values);
}
