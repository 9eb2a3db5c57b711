//! Tests of USD layers that are damaged or of another kind, nested packages, and arcs between layers.

use crate::usd::evaluated_meshes;
use meshreel_scene::{Error, Remark, Scene};
use std::path::Path;

const SHEET: &str = "int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 2] \
                     point3f[] points = [(0,0,0), (1,0,0), (0,1,0)] uniform token subdivisionScheme = \"none\"";

fn open(path: &Path) -> Result<(Scene, Vec<Remark>), Error> {
    meshreel_read_usd::open(path)
}

/// Writes a layer with this text.
fn layer(path: &Path, text: &str) {
    std::fs::write(path, format!("#usda 1.0\n{text}")).unwrap();
}

/// Returns a package of these entries, stored uncompressed.
fn package(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, bytes) in entries {
        let size = (bytes.len() as u32).to_le_bytes();
        let length = (name.len() as u16).to_le_bytes();
        let sizes = [&[0; 4], &size[..], &size, &length, &[0, 0]].concat();
        list.extend([b"PK\x01\x02\x0A\x00", &[0; 10][..], &sizes, &[0; 10]].concat());
        list.extend((out.len() as u32).to_le_bytes());
        list.extend(name.bytes());
        out.extend([b"PK\x03\x04\x0A\x00", &[0; 8][..], &sizes, name.as_bytes(), bytes].concat());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let [start, size] = [out.len(), list.len()].map(|n| (n as u32).to_le_bytes());
    out.extend([&list[..], b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0, 0]].concat());
    out
}

#[test]
fn what_refers_to_a_layer_of_another_kind_is_read_without_it() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    std::fs::write(at("look.mtlx"), "<?xml version=\"1.0\"?>\n<materialx version=\"1.38\"></materialx>\n")
        .unwrap();
    std::fs::write(at("empty.usd"), "").unwrap();
    std::fs::write(at("cut.usdz"), b"PK\x03\x04 and nothing more").unwrap();
    // A binary layer that ends in its header, and a text without a closing brace.
    std::fs::write(at("cut.usdc"), b"PXR-USDC\0\x08\0\0").unwrap();
    layer(&at("cut.usda"), &format!("def Mesh \"Lost\" {{ {SHEET}"));
    layer(&at("below.usda"), "( subLayers = [ @cut.usda@ ] defaultPrim = \"X\" )\ndef \"X\" {}");
    for name in ["look.mtlx", "empty.usd", "cut.usdz", "cut.usdc", "cut.usda"] {
        for (text, node) in [
            (format!("def Mesh \"A\" ( references = @{name}@</M> ) {{ {SHEET} }}"), "/A"),
            (format!("def Mesh \"A\" ( payload = @{name}@ ) {{ {SHEET} }}"), "/A"),
            (format!("( subLayers = [ @{name}@ ] )\ndef Mesh \"A\" {{ {SHEET} }}"), "root.usda"),
        ] {
            layer(&at("root.usda"), &text);
            let (scene, remarks) = open(&at("root.usda")).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(evaluated_meshes(&scene, 0.0)["/A"].points, 3, "{name}");
            let [remark] = &remarks[..] else { panic!("{name}: {remarks:?}") };
            assert_eq!(remark.node, node, "{name}");
            assert!(
                remark.what.contains(name) && remark.what.contains("damaged or not of its kind ("),
                "{remark}"
            );
        }
        // For the opened file itself it is an error.
        if !name.ends_with(".mtlx") {
            assert!(matches!(open(&at(name)), Err(Error::Malformed { .. })), "{name}");
        }
    }
    // The layer below a referenced layer, twice.
    layer(
        &at("root.usda"),
        &format!(
            "def Mesh \"A\" ( references = @below.usda@ ) {{ {SHEET} }} def \"B\" ( references = @below.usda@ ) {{}}"
        ),
    );
    let (scene, remarks) = open(&at("root.usda")).unwrap();
    assert_eq!(scene.meshes.len(), 1);
    assert!(remarks.iter().any(|remark| remark.node == "below.usda"), "{remarks:?}");
}

#[test]
fn value_clips_that_are_no_layers_have_no_values() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let moved = SHEET.replace("points", "points.timeSamples = { 0:").replace("(0,1,0)]", "(0,1,0)] }");
    layer(&at("a.usda"), &format!("def Mesh \"M\" {{ {moved} }}"));
    std::fs::write(at("b.usda"), "no layer").unwrap();
    for (manifest, said) in
        [("", "b.usda' is damaged"), ("asset manifestAssetPath = @b.usda@", "manifest 'b.usda'")]
    {
        let clips = format!(
            "dictionary default = {{ {manifest} asset[] assetPaths = [@a.usda@, @b.usda@] string primPath = \"/M\" \
             double2[] active = [(0, 0), (5, 1)] double2[] times = [(0, 0), (10, 10)] }}"
        );
        layer(&at("root.usda"), &format!("def Mesh \"A\" ( clips = {{ {clips} }} ) {{ {SHEET} }}"));
        let (scene, remarks) = open(&at("root.usda")).unwrap();
        assert_eq!(evaluated_meshes(&scene, 0.0)["/A"].points, 3);
        let about = remarks.iter().find(|remark| remark.what.contains(said));
        assert!(about.is_some_and(|remark| remark.node == "/A"), "{remarks:?}");
    }
}

#[test]
fn packages_in_packages_are_read() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let mesh =
        |name: &str| format!("#usda 1.0\n( defaultPrim = \"{name}\" )\ndef Mesh \"{name}\" {{ {SHEET} }}\n");
    // The first layer of the inner package references a second one beside it.
    let first = "#usda 1.0\n( defaultPrim = \"R\" )\ndef \"R\" ( references = @sub/own.usda@ ) {}\n";
    let inner = package(&[("first.usda", first.into()), ("sub/own.usda", mesh("M").into())]);
    let outer = "#usda 1.0\ndef \"A\" ( references = @in/inner.usdz@ ) {}\n\
                 def \"B\" ( references = @in/inner.usdz[sub/own.usda]@ ) {}\n\
                 def \"C\" ( references = @in/inner.usdz[none.usda]@ ) {}\n\
                 def \"D\" ( references = @in/inner.usdz[../outer.usda]@ ) {}\n";
    std::fs::write(at("a.usdz"), package(&[("outer.usda", outer.into()), ("in/inner.usdz", inner.clone())]))
        .unwrap();
    let (scene, remarks) = open(&at("a.usdz")).unwrap();
    let seen_there = evaluated_meshes(&scene, 0.0);
    assert_eq!(seen_there.keys().collect::<Vec<_>>(), ["/A", "/B"], "{remarks:?}");
    let about = |node: &str, what: &str| remarks.iter().any(|r| r.node == node && r.what.contains(what));
    assert!(about("/C", "not there") && about("/D", "lies outside") && remarks.len() == 2, "{remarks:?}");
    // A package that contains only another one, also referenced from a layer beside it.
    std::fs::write(at("b.usdz"), package(&[("inner.usdz", inner)])).unwrap();
    layer(
        &at("root.usda"),
        "def \"A\" ( references = @b.usdz@ ) {}\ndef \"B\" ( references = @b.usdz[inner.usdz[sub/own.usda]]@ ) {}",
    );
    for (name, paths) in [("b.usdz", vec!["/R"]), ("root.usda", vec!["/A", "/B"])] {
        let (scene, remarks) = open(&at(name)).unwrap();
        assert_eq!(evaluated_meshes(&scene, 0.0).keys().collect::<Vec<_>>(), paths, "{name}");
        assert_eq!(remarks, [], "{name}");
    }
    // A compressed entry is reported if it is asked for by itself.
    let mut bytes = package(&[
        ("a.usda", "#usda 1.0\ndef \"A\" ( references = @b.usda@ ) {}".into()),
        ("b.usda", mesh("M").into()),
    ]);
    let list = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    bytes[list + 46 + 6 + 10] = 8;
    std::fs::write(at("packed.usdz"), &bytes).unwrap();
    let (_, remarks) = open(&at("packed.usdz")).unwrap();
    assert!(remarks.iter().any(|r| r.node == "/A" && r.what.contains("compressed")), "{remarks:?}");
    bytes[list + 10] = 8;
    std::fs::write(at("packed.usdz"), &bytes).unwrap();
    assert!(matches!(open(&at("packed.usdz")), Err(Error::Unsupported { .. })));
    // Too many nested packages, and overlapping entries.
    let mut deep = mesh("M").into_bytes();
    let mut name = "m.usda";
    for depth in 1..=9 {
        (deep, name) = (package(&[(name, deep)]), "p.usdz");
        std::fs::write(at("deep.usdz"), &deep).unwrap();
        let opened = open(&at("deep.usdz"));
        assert!(
            if depth <= 8 { opened.is_ok() } else { matches!(opened, Err(Error::Unsupported { .. })) },
            "{depth}"
        );
    }
    let big = format!("{}{}", mesh("M"), " ".repeat(4096));
    let root = "#usda 1.0\ndef \"A\" ( references = @b.usda@ ) {} def \"B\" ( references = @c.usda@ ) {}";
    let mut over = package(&[("a.usda", root.into()), ("b.usda", big.into()), ("c.usda", Vec::new())]);
    // The third entry claims the place of the second one.
    let list = over.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let [second, third] = [1, 2].map(|number| list + number * (46 + 6));
    over.copy_within(second + 20..second + 46, third + 20);
    std::fs::write(at("over.usdz"), over).unwrap();
    let (scene, remarks) = open(&at("over.usdz")).unwrap();
    assert_eq!(scene.meshes.len(), 1);
    assert!(remarks.iter().any(|r| r.node == "/B" && r.what.contains("lie over each other")), "{remarks:?}");
}

/// Returns the x of `/A`, or of `path`, for layers in a folder, `root.usda` among them.
fn x_of(layers: &[(&str, String)], path: &str) -> (f64, Vec<Remark>) {
    let place = tempfile::tempdir().unwrap();
    layers.iter().for_each(|(name, text)| layer(&place.path().join(name), text));
    let (scene, remarks) = open(&place.path().join("root.usda")).unwrap();
    let all = evaluated_meshes(&scene, 0.0);
    (all.get(path).unwrap_or_else(|| panic!("{path}: {all:?}, {remarks:?}")).last.x, remarks)
}

#[test]
fn classes_are_changed_where_a_layer_is_referred_to() {
    let at = |x: i32| {
        format!(
            "double3 xformOp:translate = ({x}, 0, 0) uniform token[] xformOpOrder = [\"xformOp:translate\"]"
        )
    };
    let sheet = |own: &str| format!("def Mesh \"M\" {{ {SHEET} {own} }}");
    let model = "( defaultPrim = \"Model\" )\n";
    let refer = |name: &str, own: &str| format!("def Xform \"A\" ( references = @{name}@ ) {{ {own} }}");
    // A class beside the model, inherited by it and by a prim below it; an opinion of the root is stronger
    // than all of the model's, and weaker than the root's on the prim itself.
    let beside = |own: &str| {
        format!(
            "{model}class \"_c\" {{ {} }} def Xform \"Model\" ( inherits = </_c> ) {{ {} }}",
            at(1),
            sheet(own)
        )
    };
    let root = |own: &str| format!("{} class \"_c\" {{ {own} }}", refer("b.usda", ""));
    let b = || ("b.usda", beside(""));
    assert_eq!(x_of(&[("root.usda", root("")), b()], "/A/M"), (1.0, vec![]));
    assert_eq!(x_of(&[("root.usda", root(&at(5))), b()], "/A/M"), (5.0, vec![]));
    let own = format!("{} class \"_c\" {{ {} }}", refer("b.usda", &at(7)), at(5));
    assert_eq!(x_of(&[("root.usda", own), b()], "/A/M"), (7.0, vec![]));
    let model_says =
        beside("").replace("( inherits = </_c> ) {", &format!("( inherits = </_c> ) {{ {}", at(3)));
    assert_eq!(x_of(&[("root.usda", root("")), ("b.usda", model_says.clone())], "/A/M").0, 3.0);
    assert_eq!(x_of(&[("root.usda", root(&at(5))), ("b.usda", model_says)], "/A/M").0, 5.0);
    // Through two references, and through a payload: the outermost opinion counts.
    let middle =
        format!("{model}def Xform \"Model\" ( payload = @b.usda@ ) {{}} class \"_c\" {{ {} }}", at(5));
    let outer = |own: &str| format!("{} class \"_c\" {{ {own} }}", refer("c.usda", ""));
    for (own, x) in [("", 5.0), (&*at(9), 9.0)] {
        assert_eq!(x_of(&[("root.usda", outer(own)), ("c.usda", middle.clone()), b()], "/A/M").0, x);
    }
    // A class that only the root has; one that does not exist.
    let inherits = format!("{model}def Xform \"Model\" ( inherits = </_c> ) {{ {} }}", sheet(""));
    assert_eq!(x_of(&[("root.usda", root(&at(5))), ("b.usda", inherits.clone())], "/A/M"), (5.0, vec![]));
    let (x, remarks) = x_of(&[("root.usda", refer("b.usda", "")), ("b.usda", inherits)], "/A/M");
    assert!(x == 0.0 && remarks.len() == 1 && remarks[0].what.contains("inherits '/_c'"), "{remarks:?}");
    // A prim below the model, by a class that inherits another one; and a class below the model.
    let chain = format!(
        "{model}class \"_d\" {{ {} }} class \"_c\" ( inherits = </_d> ) {{}} def Xform \"Model\" {{ class \"_l\" {{ {} }} \
         def Mesh \"M\" ( inherits = </_c> ) {{ {SHEET} }} def Mesh \"N\" ( inherits = </Model/_l> ) {{ {SHEET} }} }}",
        at(1),
        at(2)
    );
    let root =
        format!("{} class \"_d\" {{ {} }}", refer("b.usda", &format!("class \"_l\" {{ {} }}", at(6))), at(5));
    for (path, x) in [("/A/M", 5.0), ("/A/N", 6.0)] {
        assert_eq!(x_of(&[("root.usda", root.clone()), ("b.usda", chain.clone())], path).0, x);
    }
    // Specialized opinions are weaker than all others, even than those of later references.
    let special = |own: &str| beside(own).replace("inherits", "specializes");
    let over = |own: &str| format!("{} class \"_c\" {{ {own} }}", refer("b.usda", ""));
    let says =
        special("").replace("( specializes = </_c> ) {", &format!("( specializes = </_c> ) {{ {}", at(3)));
    assert_eq!(x_of(&[("root.usda", over(&at(5))), ("b.usda", special(""))], "/A/M"), (5.0, vec![]));
    assert_eq!(x_of(&[("root.usda", over(&at(5))), ("b.usda", says)], "/A/M"), (3.0, vec![]));
    let two =
        format!("def Xform \"A\" ( references = [@b.usda@, @c.usda@] ) {{}} class \"_c\" {{ {} }}", at(5));
    let c = format!("{model}def Xform \"Model\" {{ {} }}", at(4));
    assert_eq!(x_of(&[("root.usda", two), ("b.usda", special("")), ("c.usda", c)], "/A/M"), (4.0, vec![]));
    let own = format!(
        "def Xform \"A\" ( references = @b.usda@ specializes = </_t> ) {{}} class \"_t\" {{ {} }}",
        at(8)
    );
    assert_eq!(x_of(&[("root.usda", own), ("b.usda", special(""))], "/A/M"), (1.0, vec![]));
    // Cyclic arcs.
    let round = format!("{} class \"_c\" ( references = @b.usda@ ) {{ {} }}", refer("b.usda", ""), at(5));
    assert_eq!(x_of(&[("root.usda", round), b()], "/A/M").0, 5.0);
}
