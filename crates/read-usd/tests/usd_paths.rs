//! Tests of the files and paths that a USD layer may name, and of where they lead.

use crate::usd::{evaluated_meshes, scene_of};
use meshreel_scene::{Error, Remark, Scene};
use std::path::Path;

const SHEET: &str = "int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 2] \
                     point3f[] points = [(0,0,0), (1,0,0), (0,1,0)] uniform token subdivisionScheme = \"none\"";

fn has_remark(remarks: &[Remark], node: &str, what: &str) -> bool {
    remarks.iter().any(|remark| remark.node == node && remark.what.contains(what))
}

/// Opens a layer in a folder `in`, with `outside.usda` beside the folder and `sub/own.usda` in it.
fn in_folder(place: &Path, text: &str) -> (Scene, Vec<Remark>) {
    let folder = place.join("in");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    let prim =
        |name: &str| format!("#usda 1.0\n( defaultPrim = \"{name}\" )\ndef Mesh \"{name}\" {{ {SHEET} }}\n");
    std::fs::write(place.join("outside.usda"), prim("Outside")).unwrap();
    std::fs::write(folder.join("sub/own.usda"), prim("Own")).unwrap();
    let path = folder.join("layer.usda");
    std::fs::write(&path, format!("#usda 1.0\n{text}")).unwrap();
    meshreel_read_usd::open(&path).unwrap()
}

#[test]
fn no_layer_outside_of_the_folder_is_read_however_it_is_said() {
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().join("outside.usda").display().to_string();
    let turned = whole.replace('/', "\\");
    let file = format!("file://{whole}");
    let spellings = [
        "../outside.usda",
        r"..\outside.usda",
        r".\..\outside.usda",
        r"sub\..\..\outside.usda",
        r"sub/..\../outside.usda",
        r"sub\../..\outside.usda",
        r"\..\outside.usda",
        &whole,
        &turned,
        &file,
        r"D:\outside.usda",
        r"\\server\outside.usda",
        ".. /outside.usda",
        "..%2foutside.usda",
        r"..%5coutside.usda",
    ];
    for said in spellings {
        let (scene, remarks) = in_folder(place.path(), &format!("( subLayers = [ @{said}@ ] )"));
        assert!(scene.meshes.is_empty() && !remarks.is_empty(), "{said}");
        for arc in ["references", "payload"] {
            let (scene, remarks) = in_folder(place.path(), &format!("def \"A\" ( {arc} = @{said}@ ) {{}}"));
            assert!(scene.meshes.is_empty() && !remarks.is_empty(), "{arc} {said}");
            assert!(scene.files.iter().all(|file| !file.ends_with("outside.usda")), "{arc} {said}");
        }
        let clips = format!(
            "def Mesh \"A\" ( clips = {{ dictionary default = {{ asset[] assetPaths = [@{said}@] \
             string primPath = \"/Outside\" double2[] active = [(0, 0)] double2[] times = [(0, 0)] }} }} ) {{}}"
        );
        let (_, remarks) = in_folder(place.path(), &clips);
        assert!(has_remark(&remarks, "/A", "value clip"), "{said}: {remarks:?}");
    }
    for said in ["sub/own.usda", r".\sub\own.usda", r"sub\..\sub\.\own.usda"] {
        let (scene, remarks) = in_folder(place.path(), &format!("def \"A\" ( references = @{said}@ ) {{}}"));
        assert_eq!((scene.meshes.len(), remarks), (1, Vec::new()), "{said}");
    }
}

/// Asserts that two texts give the same scene; the second one has no remarks.
fn assert_same(relative: &str, absolute: &str) {
    let ((a, remarks), (b, none)) = (scene_of(relative), scene_of(absolute));
    assert_eq!(none, [], "{absolute}");
    assert_eq!(remarks, [], "{relative}");
    for code in [0.0, 2.0, 5.0] {
        let [a, b] = [&a, &b].map(|scene| format!("{:?}", evaluated_meshes(scene, code / 24.0)));
        assert!(b.contains("points: "), "nothing is seen: {absolute}");
        assert_eq!(a, b, "{relative}");
    }
}

#[test]
fn relative_paths_start_at_the_prim_that_says_them() {
    let moves = "double3 xformOp:translate.timeSamples = { 0: (0,0,0), 5: (0,5,0) } \
                 uniform token[] xformOpOrder = [\"xformOp:translate\"]";
    let class = format!("class Xform \"_c\" {{ def Mesh \"k\" {{ {SHEET} {moves} }} }}\n");
    let skin = "int[] primvars:skel:jointIndices = [0, 0, 0] (elementSize = 1 interpolation = \"vertex\") \
                float[] primvars:skel:jointWeights = [1, 1, 1] (elementSize = 1 interpolation = \"vertex\")";
    let unit = "( (1,0,0,0), (0,1,0,0), (0,0,1,0), (0,0,0,1) )";
    let joints = format!(
        "uniform token[] joints = [\"j\"] uniform matrix4d[] bindTransforms = [{unit}] \
         uniform matrix4d[] restTransforms = [{unit}]"
    );
    let motion = "uniform token[] joints = [\"j\"] quatf[] rotations = [(1,0,0,0)] half3[] scales = [(1,1,1)] \
                  float3[] translations.timeSamples = { 0: [(0,0,0)], 5: [(0,0,5)] }";
    for (text, pairs) in [
        // An arc of each kind, in a prim, in a variant, and from a prim below.
        (
            format!("{class}def Scope \"S\" {{ def Xform \"a\" ( inherits = <0> ) {{}} }}"),
            vec![("../../_c", "/_c")],
        ),
        (
            format!("{class}def Scope \"S\" {{ def Xform \"a\" ( prepend specializes = [<0>] ) {{}} }}"),
            vec![("../../_c", "/_c")],
        ),
        (
            format!("{class}def Scope \"S\" {{ def Xform \"a\" ( references = [<0>] ) {{}} }}"),
            vec![("../../_c", "/_c")],
        ),
        (
            format!(
                "{class}def Xform \"S\" ( variants = {{ string v = \"x\" }} prepend variantSets = \"v\" ) \
                 {{ variantSet \"v\" = {{ \"x\" ( inherits = <0> ) {{ def \"b\" ( payload = <1> ) {{}} }} }} }}"
            ),
            vec![("../_c", "/_c"), ("../../../_c", "/_c")],
        ),
        // Prototypes, also if an arc brings them in.
        (
            format!(
                "class Scope \"_p\" {{ def PointInstancer \"p\" {{ rel prototypes = [<0>, <1>] int[] protoIndices = [0, 1] \
                 point3f[] positions = [(10,0,0), (20,0,0)] def Mesh \"k\" {{ {SHEET} {moves} }} }} \
                 def Mesh \"far\" {{ {SHEET} }} }} def Scope \"S\" ( inherits = <2> ) {{}}"
            ),
            vec![("k", "/_p/p/k"), ("../far", "/_p/far"), ("../_p", "/_p")],
        ),
        // Skins.
        (
            format!(
                "def SkelRoot \"R\" {{ def Mesh \"m\" ( prepend apiSchemas = [\"SkelBindingAPI\"] ) \
                 {{ {SHEET} {skin} rel skel:skeleton = <0> }} \
                 def Skeleton \"s\" ( prepend apiSchemas = [\"SkelBindingAPI\"] ) {{ {joints} rel skel:animationSource = <1> \
                 def SkelAnimation \"a\" {{ {motion} }} }} }}"
            ),
            vec![("../s", "/R/s"), ("a", "/R/s/a")],
        ),
    ] {
        let with = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
            let mut out = text.clone();
            for (i, pair) in pairs.iter().enumerate() {
                out = out.replace(&format!("<{i}>"), &format!("<{}>", pick(pair)));
            }
            out
        };
        assert_same(&with(|pair| pair.0), &with(|pair| pair.1));
    }
}

#[test]
fn arcs_and_targets_that_lead_nowhere_are_said() {
    for (prim, what) in [
        ("\"A\" ( inherits = <../_none> ) {}", "inherits '/_none', which is not there"),
        ("\"A\" ( specializes = </_none> ) {}", "specializes '/_none', which is not there"),
        ("\"A\" ( inherits = <../../_none> ) {}", "inherits '../../_none', which is not there"),
        ("\"A\" ( references = </None> ) {}", "'/None'"),
        ("\"A\" ( payload = <../None> ) {}", "'/None'"),
        (
            "Mesh \"A\" { rel material:binding = <None> }",
            "'material:binding' leads to '/A/None', which is not there",
        ),
        ("SkelRoot \"A\" { rel skel:skeleton = <../None> }", "'skel:skeleton' leads to '/None'"),
        ("Skeleton \"A\" { rel skel:animationSource = <None> }", "'skel:animationSource' leads to '/A/None'"),
        (
            "PointInstancer \"A\" { rel prototypes = [<B>] int[] protoIndices = [] point3f[] positions = [] }",
            "'prototypes' leads to '/A/B'",
        ),
    ] {
        let (_, remarks) = scene_of(&format!("def {prim}"));
        assert!(has_remark(&remarks, "/A", what), "{prim}: {remarks:?}");
    }
    let (_, remarks) = scene_of(
        "def Scope \"A\" { rel material:binding = <../M> } def Material \"M\" {} def Scope \"B\" { rel material:binding = </M> }",
    );
    assert_eq!(remarks, []);
}

#[test]
fn layer_offsets_in_which_time_does_not_go_forwards_are_left_out() {
    let place = tempfile::tempdir().unwrap();
    let moves = "double3 xformOp:translate.timeSamples = { 0: (0,0,0), 10: (10,0,0) } \
                 uniform token[] xformOpOrder = [\"xformOp:translate\"]";
    let wave = format!("#usda 1.0\n( defaultPrim = \"A\" )\ndef Mesh \"A\" {{ {SHEET} {moves} }}\n");
    std::fs::write(place.path().join("wave.usda"), wave).unwrap();
    let path = place.path().join("a.usda");
    for (offset, x) in [
        ("offset = 5", 0.0),
        ("offset = 5; scale = -1", 5.0),
        ("offset = 5; scale = 0", 5.0),
        ("scale = inf", 5.0),
    ] {
        for text in [
            format!("def \"A\" ( references = @wave.usda@ ({offset}) ) {{}}"),
            format!("def \"A\" ( payload = @wave.usda@ ({offset}) ) {{}}"),
            format!("( subLayers = [ @wave.usda@ ({offset}) ] )"),
        ] {
            std::fs::write(&path, format!("#usda 1.0\n{text}")).unwrap();
            let (scene, remarks) = meshreel_read_usd::open(&path).unwrap();
            assert_eq!(remarks.iter().any(|remark| remark.what.contains("layer offset")), x != 0.0, "{text}");
            let last = evaluated_meshes(&scene, 5.0 / 24.0)["/A"].last.x;
            assert!((last - x).abs() < 1e-5, "{text}: {last}, not {x}");
        }
    }
}

fn open_text(place: &Path, text: &str) -> Result<(Scene, Vec<Remark>), Error> {
    let path = place.join("a.usda");
    std::fs::write(&path, format!("#usda 1.0\n{text}")).unwrap();
    meshreel_read_usd::open(&path)
}

#[test]
fn few_bytes_that_say_much_are_refused_before_memory_is_full() {
    let place = tempfile::tempdir().unwrap();
    let values: String = (0..8).map(|i| format!("float primvars:v{i} = {i} ")).collect();
    let leaf = format!("def Mesh \"Own\" {{ {SHEET} }}");
    // Each level doubles: references, inherits and payloads, prims with meshes, values, or remarks.
    for (arc, said) in [
        ("references", leaf.as_str()),
        ("inherits", leaf.as_str()),
        ("payload", values.as_str()),
        ("references", "rel material:binding = </None>"),
    ] {
        let level = |i: usize| {
            let above = i - 1;
            let child = |name: &str| format!("def Mesh \"{name}\" ({arc} = </L{above}>) {{ {values} }}\n");
            format!("class \"L{i}\" {{ {}{} }}\n", child("c0"), child("c1"))
        };
        let levels: String = (1..60).map(level).collect();
        let text = format!("class \"L0\" {{ {said} }}\n{levels}def \"Top\" ({arc} = </L59>) {{}}");
        let error = open_text(place.path(), &text).err().unwrap_or_else(|| panic!("{arc} is read"));
        assert!(matches!(&error, Error::Limit { what, .. } if what.contains("bytes of memory")), "{error}");
    }
}

#[test]
fn instances_of_instances_are_refused_before_memory_is_full() {
    let place = tempfile::tempdir().unwrap();
    let level = |i: usize| {
        let above = i - 1;
        let child =
            |name: &str| format!("def \"{name}\" (instanceable = true references = </L{above}>) {{}}\n");
        format!("class \"L{i}\" {{ {}{} }}\n", child("c0"), child("c1"))
    };
    let levels: String = (1..60).map(level).collect();
    let text = format!(
        "class \"L0\" {{ def Mesh \"Own\" {{ {SHEET} }} }}\n{levels}def \"Top\" (references = </L59>) {{}}"
    );
    let (scene, _) = open_text(place.path(), &text).unwrap();
    let error = scene.expand().unwrap_err();
    assert!(
        matches!(error, Error::Limit { allowed, .. } if allowed <= Scene::MAX_PLACED_BYTES as u64),
        "{error}"
    );
}

#[test]
fn types_by_their_old_names() {
    let mesh = |points: &str, floats: &str, colour: &str, matrix: &str| {
        format!(
            "def Mesh \"A\" {{ int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 2] \
             uniform token subdivisionScheme = \"none\" {points} points = [(0,0,0), (1,0,0), (0,1,0)] {floats} primvars:st = [(0,0), (1,0), (0,1)] \
             ( interpolation = \"vertex\" ) {colour} primvars:displayColor = [(1,0,0)] \
             {matrix} xformOp:transform.timeSamples = {{ 0: ((1,0,0,0), (0,1,0,0), (0,0,1,0), (0,0,0,1)), \
             5: ((1,0,0,0), (0,1,0,0), (0,0,1,0), (2,3,4,1)) }} uniform token[] xformOpOrder = [\"xformOp:transform\"] }}"
        )
    };
    let now = mesh("point3f[]", "float2[]", "color3f[]", "matrix4d");
    for old in [
        mesh("PointFloat[]", "Vec2f[]", "ColorFloat[]", "Matrix4d"),
        mesh("Point[]", "Vec2d[]", "Color[]", "Transform"),
        mesh("Vec3f[]", "Vec2h[]", "ColorFloat[]", "Frame"),
        mesh("Vec3d[]", "Vec2f[]", "Color[]", "Matrix4d"),
    ] {
        assert_same(&old, &now);
        let (scene, _) = scene_of(&old);
        assert_eq!((scene.meshes[0].uvs.len(), scene.meshes[0].colours.len()), (1, 1), "{old}");
    }
}

#[test]
fn opacity_of_points_is_said() {
    let text = |interpolation: &str| {
        format!(
            "def Mesh \"A\" {{ {SHEET} float[] primvars:displayOpacity = [1, 0.5, 0] ( interpolation = \"{interpolation}\" ) }}"
        )
    };
    let (_, remarks) = scene_of(&text("vertex"));
    assert!(has_remark(&remarks, "/A", "displayOpacity"), "{remarks:?}");
    assert_eq!(scene_of(&text("constant")).1, []);
}
