//! Tests of USD schemas: skins without joints, points that joints move, instances with velocities, operations
//! of transforms, and tetrahedra. Expected values follow OpenUSD's rules, computed by hand.

use crate::usd::{evaluated_meshes, scene_of};
use glam::DVec3;
use meshreel_scene::Remark;

const SHEET: &str = "int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 2] \
                     point3f[] points = [(0,0,0), (1,0,0), (0,1,0)] uniform token subdivisionScheme = \"none\"";
const UNIT: &str = "( (1,0,0,0), (0,1,0,0), (0,0,1,0), (0,0,0,1) )";
const BOUND: &str = "( prepend apiSchemas = [\"SkelBindingAPI\"] )";

/// Opens a text, and asserts the place of the last point of a mesh at time codes.
fn assert_last(text: &str, path: &str, places: &[(f64, [f64; 3])]) -> Vec<Remark> {
    let (scene, remarks) = scene_of(text);
    for (code, place) in places {
        let all = evaluated_meshes(&scene, code / 24.0);
        let own = all.get(path).unwrap_or_else(|| panic!("{path} is not there: {all:?}, {remarks:?}"));
        let off = own.last.distance(DVec3::from_array(*place));
        assert!(off < 1e-5, "{path} at {code}: {:?} instead of {place:?}: {remarks:?}", own.last);
    }
    remarks
}

#[test]
fn blend_shapes_need_no_joints() {
    let influences = "int[] primvars:skel:jointIndices = [0, 0, 0] ( elementSize = 1 interpolation = \"vertex\" ) \
                      float[] primvars:skel:jointWeights = [1, 1, 1] ( elementSize = 1 interpolation = \"vertex\" )";
    let text = |skeleton: &str, influences: &str| {
        format!(
            "def SkelRoot \"R\" {{ def Mesh \"M\" {BOUND} {{ {SHEET} {influences} rel skel:skeleton = </R/S> \
             uniform token[] skel:blendShapes = [\"up\"] rel skel:blendShapeTargets = </R/M/up> \
             def BlendShape \"up\" {{ uniform vector3f[] offsets = [(0, 0, 4)] uniform int[] pointIndices = [2] }} }} \
             def Skeleton \"S\" {BOUND} {{ {skeleton} rel skel:animationSource = </R/S/A> \
             def SkelAnimation \"A\" {{ uniform token[] blendShapes = [\"up\"] \
             float[] blendShapeWeights.timeSamples = {{ 0: [0], 10: [1] }} }} }} }}"
        )
    };
    let places = [(0.0, [0.0, 1.0, 0.0]), (5.0, [0.0, 1.0, 2.0]), (10.0, [0.0, 1.0, 4.0])];
    assert_eq!(assert_last(&text("", ""), "/R/M", &places), []);
    // Joints that the skeleton lacks, and those without a binding.
    let joints = "uniform token[] joints = [\"j\"]";
    for (skeleton, influences) in [("", influences), (joints, influences)] {
        let remarks = assert_last(&text(skeleton, influences), "/R/M", &places);
        let [remark] = &remarks[..] else { panic!("{remarks:?}") };
        assert!(remark.node == "/R/M" && remark.what.contains("blend shapes alone move it"), "{remark}");
    }
}

#[test]
fn joints_move_points_curves_and_shapes() {
    let joints = format!(
        "uniform token[] joints = [\"a\", \"b\"] uniform matrix4d[] bindTransforms = [{UNIT}, {UNIT}] \
         uniform matrix4d[] restTransforms = [{UNIT}, {UNIT}] rel skel:animationSource = </R/S/A> \
         def SkelAnimation \"A\" {{ uniform token[] joints = [\"a\", \"b\"] quatf[] rotations = [(1,0,0,0), (1,0,0,0)] \
         half3[] scales = [(1,1,1), (1,1,1)] \
         float3[] translations.timeSamples = {{ 0: [(0,0,0), (0,0,0)], 10: [(8,0,0), (0,4,0)] }} }}"
    );
    let each = "int[] primvars:skel:jointIndices = [0, 0, 1] ( elementSize = 1 interpolation = \"vertex\" ) \
                float[] primvars:skel:jointWeights = [1, 1, 1] ( elementSize = 1 interpolation = \"vertex\" )";
    // Three joints, the same for all three points.
    let all = "int[] primvars:skel:jointIndices = [0, 1, 1] ( elementSize = 3 interpolation = \"constant\" ) \
               float[] primvars:skel:jointWeights = [0.5, 0.25, 0.25] ( elementSize = 3 interpolation = \"constant\" )";
    let three = "point3f[] points = [(0,0,0), (1,0,0), (0,1,0)]";
    let curves = format!("{three} int[] curveVertexCounts = [3] uniform token type = \"linear\"");
    for (kind, own) in [("Points", three), ("BasisCurves", &*curves), ("Mesh", SHEET)] {
        for (skin, end) in [(each, [0.0, 5.0, 0.0]), (all, [4.0, 3.0, 0.0]), ("", [0.0, 1.0, 0.0])] {
            let text = format!(
                "def SkelRoot \"R\" {BOUND} {{ rel skel:skeleton = </R/S> \
                 def {kind} \"P\" {BOUND} {{ {own} {skin} }} def Skeleton \"S\" {BOUND} {{ {joints} }} }}"
            );
            let middle = [end[0] / 2.0, (end[1] + 1.0) / 2.0, 0.0];
            let places = [(0.0, [0.0, 1.0, 0.0]), (5.0, middle), (10.0, end)];
            let remarks = assert_last(&text, "/R/P", &places);
            assert_eq!(remarks.is_empty(), kind != "Mesh" || !skin.is_empty(), "{kind}: {remarks:?}");
        }
    }
    let text = format!(
        "def SkelRoot \"R\" {BOUND} {{ rel skel:skeleton = </R/S> def Cube \"P\" {BOUND} {{ double size = 2 {all} }} \
         def Skeleton \"S\" {BOUND} {{ {joints} }} }}"
    );
    let (scene, _) = scene_of(&text);
    let [from, to] = [0.0, 10.0].map(|code| evaluated_meshes(&scene, code / 24.0)["/R/P"].last);
    assert!((to - from).distance(DVec3::new(4.0, 2.0, 0.0)) < 1e-5, "{from} {to}");
}

#[test]
fn instances_go_by_velocities_between_samples() {
    let text = |own: &str| {
        format!(
            "( startTimeCode = 0 endTimeCode = 24 timeCodesPerSecond = 24 )\n\
             def PointInstancer \"I\" {{ rel prototypes = </I/P> int[] protoIndices = [0] {own} \
             def Mesh \"P\" {{ {SHEET} }} }}"
        )
    };
    // The last point is (0, 1, 0) from the instance; it moves 24 or −24 units a second.
    let positions = "point3f[] positions.timeSamples = { 0: [(0,0,0)], 12: [(6,0,0)] }";
    let velocities = "vector3f[] velocities.timeSamples = { 0: [(24,0,0)], 12: [(-24,0,0)] }";
    let places =
        [(0.0, [0.0, 1.0, 0.0]), (6.0, [6.0, 1.0, 0.0]), (12.0, [6.0, 1.0, 0.0]), (24.0, [-6.0, 1.0, 0.0])];
    assert_eq!(assert_last(&text(&format!("{positions} {velocities}")), "/I/0/P", &places), []);
    // All samples are the same.
    let same = "point3f[] positions.timeSamples = { 0: [(1,0,0)], 12: [(1,0,0)], 24: [(1,0,0)] } \
                vector3f[] velocities.timeSamples = { 0: [(24,0,0)], 12: [(24,0,0)], 24: [(24,0,0)] }";
    let places =
        [(0.0, [1.0, 1.0, 0.0]), (6.0, [7.0, 1.0, 0.0]), (12.0, [1.0, 1.0, 0.0]), (21.0, [10.0, 1.0, 0.0])];
    assert_last(&text(same), "/I/0/P", &places);
    // 6 · ¼ s · ¼ s: half of 192 · 1/16.
    let more = "vector3f[] accelerations.timeSamples = { 0: [(0,0,192)], 12: [(0,0,0)] }";
    let places = [(6.0, [6.0, 1.0, 6.0]), (12.0, [6.0, 1.0, 0.0])];
    assert_last(&text(&format!("{positions} {velocities} {more}")), "/I/0/P", &places);
    // Velocities at other times, in another number, or for positions without samples, are ignored.
    let linear = [(6.0, [3.0, 1.0, 0.0]), (12.0, [6.0, 1.0, 0.0]), (24.0, [6.0, 1.0, 0.0])];
    for none in [
        "vector3f[] velocities.timeSamples = { 0: [(24,0,0)], 13: [(24,0,0)] }",
        "vector3f[] velocities.timeSamples = { 0: [(24,0,0), (24,0,0)], 12: [] }",
        "vector3f[] velocities = [(24,0,0)]",
    ] {
        assert_last(&text(&format!("{positions} {none}")), "/I/0/P", &linear);
    }
    let still = "point3f[] positions = [(0,0,0)]";
    assert_last(&text(&format!("{still} {velocities}")), "/I/0/P", &[(6.0, [0.0, 1.0, 0.0])]);
    // 360° a second about z: a quarter turn in 6 codes; everything else is held.
    let turning = "quath[] orientations.timeSamples = { 0: [(1,0,0,0)], 12: [(1,0,0,0)] } \
                   vector3f[] angularVelocities.timeSamples = { 0: [(0,0,360)], 12: [(0,0,0)] } \
                   float3[] scales.timeSamples = { 0: [(2,2,2)], 12: [(4,4,4)] }";
    let places = [(0.0, [0.0, 2.0, 0.0]), (6.0, [-2.0, 0.0, 0.0]), (12.0, [6.0, 4.0, 0.0])];
    assert_last(&text(&format!("{positions} {turning}")), "/I/0/P", &places);
}

#[test]
fn what_goes_on_beyond_its_samples_does_so_as_long_as_anything_moves() {
    let other = "def Mesh \"O\" { float3 xformOp:translate.timeSamples = { -10: (0,0,0), 100: (1,0,0) } \
                 uniform token[] xformOpOrder = [\"xformOp:translate\"] }";
    let mesh = |spline: &str| {
        format!(
            "def Mesh \"M\" {{ {SHEET} double xformOp:translateX.spline = {{ {spline}, 0: 0; post linear, 10: 5, }} \
             uniform token[] xformOpOrder = [\"xformOp:translateX\"] }}"
        )
    };
    let instances = format!(
        "def PointInstancer \"I\" {{ rel prototypes = </I/P> int[] protoIndices = [0] \
         point3f[] positions.timeSamples = {{ 0: [(0,0,0)], 24: [(24,0,0)] }} \
         vector3f[] velocities.timeSamples = {{ 0: [(24,0,0)], 24: [(-12,0,0)] }} \
         def Mesh \"P\" {{ {SHEET} }} }}"
    );
    for head in ["", "( startTimeCode = 0 endTimeCode = 20 )"] {
        for (spline, before, after) in [
            ("bezier, pre: sloped(2), post: sloped(-1)", -20.0, -85.0),
            ("bezier, post: linear", 0.0, 50.0),
            ("hermite, pre: loop repeat, post: held", -5.0, 5.0),
        ] {
            let text = format!("{head}\n{} {other}", mesh(spline));
            assert_last(&text, "/M", &[(-10.0, [before, 1.0, 0.0]), (100.0, [after, 1.0, 0.0])]);
        }
        let text = format!("{head}\n{instances} {other}");
        let places = [(0.0, 0.0), (12.0, 12.0), (24.0, 24.0), (72.0, 0.0), (100.0, -14.0), (-10.0, -10.0)];
        assert_last(&text, "/I/0/P", &places.map(|(code, x)| (code, [x, 1.0, 0.0])));
    }
    // Where that would be too many samples, it is held there, with a remark.
    let far = other.replace("100:", "1e9:");
    let remarks =
        assert_last(&format!("{} {far}", mesh("bezier, post: loop reset")), "/M", &[(7.0, [3.5, 1.0, 0.0])]);
    assert!(
        remarks.iter().any(|remark| remark.what.contains("is held before time code -10 or after")),
        "{remarks:?}"
    );
}

#[test]
fn operations_go_their_own_way_also_through_nothing() {
    let mesh = |ops: &str| format!("def Mesh \"M\" {{ {SHEET} {ops} }}");
    let flat = "float3 xformOp:scale.timeSamples = { 0: (1,1,1), 10: (1,-1,1) } float xformOp:rotateZ = 90 \
                uniform token[] xformOpOrder = [\"xformOp:rotateZ\", \"xformOp:scale\"]";
    // (0, 1, 0) scaled, then y to −x.
    let places = [(0.0, [-1.0, 0.0, 0.0]), (5.0, [0.0; 3]), (7.5, [0.5, 0.0, 0.0]), (10.0, [1.0, 0.0, 0.0])];
    assert_last(&mesh(flat), "/M", &places);
    // The real part gives the angle, the rest the axis: cos 60° is a rotation by 120°, whatever the length.
    let order = "uniform token[] xformOpOrder = [\"xformOp:orient\"]";
    let (sin, cos) = 120f64.to_radians().sin_cos();
    for turn in ["(0.5, 0, 0, 3)", "(0.5, 0, 0, 0.1)"] {
        assert_last(
            &mesh(&format!("quatd xformOp:orient = {turn} {order}")),
            "/M",
            &[(0.0, [-sin, cos, 0.0])],
        );
    }
    for none in ["(0.5, 0, 0, 0)", "(2, 0, 0, 1)"] {
        assert_last(
            &mesh(&format!("quatd xformOp:orient = {none} {order}")),
            "/M",
            &[(0.0, [0.0, 1.0, 0.0])],
        );
    }
}

#[test]
fn what_has_no_transform_is_not_moved() {
    for (kind, x) in [("Xform", 5.0), ("Scope", 0.0), ("", 0.0)] {
        let text = format!(
            "def {kind} \"A\" {{ double3 xformOp:translate = (5, 0, 0) \
             uniform token[] xformOpOrder = [\"xformOp:translate\"] def Mesh \"M\" {{ {SHEET} }} }}"
        );
        let remarks = assert_last(&text, "/A/M", &[(0.0, [x, 1.0, 0.0])]);
        assert_eq!(
            remarks.iter().any(|r| r.node == "/A" && r.what.contains("which its type has not")),
            x == 0.0
        );
    }
}

#[test]
fn tetrahedra_are_their_surface() {
    let points = "point3f[] points = [(0,0,0), (1,0,0), (0,1,0), (0,0,1), (1,1,1)] uniform token orientation = \"rightHanded\"";
    let solid = "int4[] tetVertexIndices = [(0, 1, 2, 3), (1, 4, 2, 3)]";
    let said = "int3[] surfaceFaceVertexIndices = [(0, 2, 1), (0, 1, 3)]";
    for (own, corners) in [(format!("{solid} {said}"), 6), (solid.into(), 18)] {
        let (scene, remarks) = scene_of(&format!("def TetMesh \"T\" {{ {points} {own} }}"));
        let seen = &evaluated_meshes(&scene, 0.0)["/T"];
        assert_eq!((seen.points, seen.corners, remarks), (5, corners, vec![]), "{own}");
    }
    let (_, remarks) = scene_of(&format!("def TetMesh \"T\" {{ {points} }}"));
    assert!(remarks.iter().any(|remark| remark.what.contains("has no faces")), "{remarks:?}");
}

#[test]
fn attributes_of_types_that_there_are_not_are_left_out() {
    let (scene, remarks) =
        scene_of(&format!("def Mesh \"M\" {{ {SHEET} flaot[] primvars:a = [1, 2] flaot b = 1 }}"));
    assert_eq!(evaluated_meshes(&scene, 0.0)["/M"].points, 3);
    let [remark] = &remarks[..] else { panic!("{remarks:?}") };
    assert!(remark.node == "/M" && remark.what.contains("'primvars:a' is of the type"), "{remark}");
}

#[test]
fn an_attribute_of_a_type_that_its_schema_does_not_allow_is_a_remark() {
    let skinned = format!(
        "rel skel:skeleton = </R/S> \
         int[] primvars:skel:jointIndices = [0, 0, 0] ( elementSize = 1 interpolation = \"vertex\" ) \
         float[] primvars:skel:jointWeights = [1, 1, 1] ( elementSize = 1 interpolation = \"vertex\" ) {SHEET}"
    );
    let skeleton = format!(
        "uniform token[] joints = [\"j\"] uniform matrix4d[] bindTransforms = [{UNIT}] \
         uniform matrix4d[] restTransforms = [{UNIT}] rel skel:animationSource = </R/S/A>"
    );
    for (name, prim) in [
        ("visibility", "def Xform \"X\" { bool visibility = true }".to_owned()),
        ("visibility", "def Xform \"X\" { bool visibility.timeSamples = { 1: true, 2: false } }".into()),
        (
            "xformOp:translate",
            "def Xform \"X\" { string xformOp:translate = \"a\" \
             uniform token[] xformOpOrder = [\"xformOp:translate\"] }"
                .into(),
        ),
        ("radius", "def Sphere \"X\" { string radius = \"x\" }".into()),
        ("focalLength", "def Camera \"X\" { string focalLength = \"x\" }".into()),
        ("ids", "def Points \"X\" { point3f[] points = [(0,0,0)] string ids = \"a\" }".into()),
        ("widths", "def Points \"X\" { point3f[] points = [(0,0,0)] string[] widths = [\"a\"] }".into()),
        (
            "curveVertexCounts",
            "def BasisCurves \"X\" { point3f[] points = [(0,0,0), (1,1,1)] float[] curveVertexCounts = [2] }"
                .into(),
        ),
        ("faceVertexCounts", format!("def Mesh \"X\" {{ {} }}", SHEET.replacen("int[]", "float[]", 1))),
        (
            "protoIndices",
            "def PointInstancer \"X\" { point3f[] positions = [(0,0,0)] float[] protoIndices = [0] \
             rel prototypes = </M> }"
                .into(),
        ),
        (
            "orientations",
            "def PointInstancer \"X\" { point3f[] positions = [(0,0,0)] int[] protoIndices = [0] \
             string orientations = \"x\" rel prototypes = </M> }"
                .into(),
        ),
        ("indices", format!("def Mesh \"X\" {{ {SHEET} def GeomSubset \"g\" {{ float[] indices = [0] }} }}")),
        (
            "joints",
            format!(
                "def SkelRoot \"R\" {{ def Skeleton \"S\" {{ int joints = 3 }} def Mesh \"X\" {{ {skinned} }} }}"
            ),
        ),
        (
            "rotations",
            format!(
                "def SkelRoot \"R\" {{ def Skeleton \"S\" {{ {skeleton} def SkelAnimation \"A\" {{ \
                 uniform token[] joints = [\"j\"] string rotations = \"x\" float3[] translations = [(1, 2, 3)] \
                 half3[] scales = [(1, 1, 1)] }} }} def Mesh \"X\" {{ {skinned} }} }}"
            ),
        ),
    ] {
        let (scene, remarks) = scene_of(&format!("def Mesh \"M\" {{ {SHEET} }} {prim}"));
        assert!(evaluated_meshes(&scene, 0.0).contains_key("/M"), "{name}");
        let what = format!("its attribute '{name}' is of the type '");
        assert!(remarks.iter().any(|remark| remark.what.starts_with(&what)), "{name}: {remarks:?}");
    }
}
