//! Tests the schemas on hand-made archives: content that no exporter at hand writes, and malformed content.

use super::core::*;
use super::schema;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::*;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A property to be created.
enum TestProperty {
    Compound(&'static str, &'static str, Vec<TestProperty>),
    /// Name, kind, type, extent, metadata, payload of each sample.
    Simple(&'static str, PropertyKind, Pod, usize, &'static str, Vec<Vec<u8>>),
    /// A compound that cannot be read.
    Broken(&'static str),
}

struct Object {
    name: &'static str,
    meta: &'static str,
    properties: Vec<TestProperty>,
    children: Vec<Object>,
}

fn object(name: &'static str, meta: &'static str, properties: Vec<TestProperty>) -> Object {
    Object { name, meta, properties, children: Vec::new() }
}

impl Object {
    fn with(mut self, children: Vec<Object>) -> Object {
        self.children = children;
        self
    }
}

fn scalar(name: &'static str, pod: Pod, extent: usize, samples: Vec<Vec<u8>>) -> TestProperty {
    TestProperty::Simple(name, PropertyKind::Scalar, pod, extent, "", samples)
}

fn array(
    name: &'static str,
    pod: Pod,
    extent: usize,
    meta: &'static str,
    samples: Vec<Vec<u8>>,
) -> TestProperty {
    TestProperty::Simple(name, PropertyKind::Array, pod, extent, meta, samples)
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// An archive in memory. Handles of compounds and properties are indices; `u64::MAX` is the broken compound.
#[derive(Default)]
struct MemoryArchive {
    meta: MetaData,
    objects: Vec<(Vec<ObjectHeader>, u64)>,
    compounds: Vec<Vec<PropertyHeader>>,
    samples: Vec<Vec<Vec<u8>>>,
    /// Property and sample of each payload read so far.
    payloads: Arc<Mutex<Vec<(u64, usize)>>>,
}

impl MemoryArchive {
    fn add_object(&mut self, object: Object) -> ObjectHeader {
        let compound = self.add_compound(object.properties);
        let children = object.children.into_iter().map(|c| self.add_object(c)).collect();
        self.objects.push((children, compound));
        ObjectHeader {
            name: object.name.into(),
            meta: MetaData(object.meta.into()),
            id: self.objects.len() as u64 - 1,
        }
    }

    fn add_compound(&mut self, properties: Vec<TestProperty>) -> u64 {
        let list = properties.into_iter().map(|p| self.add_property(p)).collect();
        self.compounds.push(list);
        self.compounds.len() as u64 - 1
    }

    fn add_property(&mut self, property: TestProperty) -> PropertyHeader {
        let (name, kind, pod, extent, meta, samples, id) = match property {
            TestProperty::Compound(name, meta, list) => {
                let id = self.add_compound(list);
                (name, PropertyKind::Compound, Pod::Bool, 1, meta, 0, id)
            }
            TestProperty::Broken(name) => (name, PropertyKind::Compound, Pod::Bool, 1, "", 0, u64::MAX),
            TestProperty::Simple(name, kind, pod, extent, meta, samples) => {
                let n = samples.len();
                self.samples.push(samples);
                (name, kind, pod, extent, meta, n, self.samples.len() as u64 - 1)
            }
        };
        PropertyHeader {
            name: name.into(),
            kind,
            pod,
            extent,
            meta: MetaData(meta.into()),
            samples,
            changed: if samples > 1 { (1, samples - 1) } else { (0, 0) },
            sampling: Arc::new(TimeSampling::Uniform { start: 0.0, step: 0.5 }),
            id,
        }
    }
}

impl Archive for MemoryArchive {
    fn path(&self) -> &Path {
        Path::new("memory.abc")
    }
    fn format(&self) -> &'static str {
        "memory"
    }
    fn meta(&self) -> &MetaData {
        &self.meta
    }
    fn top(&self) -> u64 {
        self.objects.len() as u64 - 1
    }
    fn children(&self, object: u64) -> Result<Vec<ObjectHeader>, Error> {
        Ok(self.objects[object as usize].0.clone())
    }
    fn properties_of(&self, object: u64) -> Result<u64, Error> {
        Ok(self.objects[object as usize].1)
    }
    fn properties(&self, compound: u64) -> Result<Vec<PropertyHeader>, Error> {
        let list = self.compounds.get(compound as usize).cloned();
        list.ok_or_else(|| Error::malformed(self.path(), "a broken compound", "here"))
    }
    fn identity(&self, property: u64, sample: usize) -> Result<Identity, Error> {
        let samples = &self.samples[property as usize];
        let same = samples.iter().position(|s| *s == samples[sample]);
        Ok(same.unwrap_or(sample) as Identity)
    }
    fn size(&self, property: u64, sample: usize) -> Result<usize, Error> {
        Ok(self.samples[property as usize][sample].len())
    }
    fn read(&self, property: u64, sample: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        self.payloads.lock().unwrap().push((property, sample));
        out.clear();
        out.extend_from_slice(&self.samples[property as usize][sample]);
        Ok(())
    }
}

fn read(meta: &str, objects: Vec<Object>) -> (Scene, Vec<String>) {
    let mut memory = MemoryArchive { meta: MetaData(meta.into()), ..MemoryArchive::default() };
    memory.add_object(object("ABC", "", vec![]).with(objects));
    let (scene, remarks) = schema::read(Arc::new(memory)).unwrap();
    (scene, remarks.iter().map(Remark::to_string).collect())
}

const XFORM: &str = "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform";
const MESH: &str = "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1";

fn xform(properties: Vec<TestProperty>) -> Object {
    object("x", XFORM, vec![TestProperty::Compound(".xform", "", properties)])
}

fn matrices(scene: &Scene) -> Vec<glam::DMat4> {
    let channel = &scene.nodes[0].transform.as_ref().unwrap().local;
    let mut all = Vec::new();
    let mut one = Vec::new();
    for i in 0..channel.len() {
        channel.read(i, &mut one).unwrap();
        all.extend(one.iter().map(meshreel_scene::LocalTransform::matrix));
    }
    all
}

#[test]
fn transforms_from_arrays_floats_and_nothing() {
    let ops = || scalar(".ops", Pod::U8, 2, vec![vec![0x13, 0x60]]);
    // An array property of f32 instead of a scalar of f64.
    let values = vec![f32s(&[1.0, 2.0, 3.0, 90.0]), f32s(&[1.0, 2.0, 3.0, 180.0])];
    let inherits = scalar(".inherits", Pod::Bool, 1, vec![vec![1], vec![0]]);
    let (scene, remarks) = read(
        "FramesPerTimeUnit= 29.97 ;_ai_Application=Hand",
        vec![xform(vec![ops(), inherits, array(".vals", Pod::F32, 1, "", values)])],
    );
    assert!(remarks.is_empty(), "{remarks:?}");
    assert_eq!((scene.fps, scene.counts.xforms), (Some(29.97), 1));
    assert_eq!(scene.nodes[0].samples, 2);
    let moved: Vec<glam::DVec3> =
        matrices(&scene).iter().map(|m| m.transform_point3(glam::DVec3::X).round()).collect();
    assert_eq!(moved, [glam::DVec3::new(1.0, 3.0, 3.0), glam::DVec3::new(0.0, 2.0, 3.0)]);
    let transform = scene.nodes[0].transform.as_ref().unwrap();
    let mut flag = Vec::new();
    transform.inherits.as_ref().unwrap().read(1, &mut flag).unwrap();
    assert_eq!((flag, transform.local.time(1)), (vec![false], 0.5));

    // No operations, no samples or no properties give the identity, without a remark.
    let empty = scalar(".inherits", Pod::Bool, 1, vec![]);
    for properties in [vec![], vec![empty]] {
        let (scene, remarks) = read("", vec![xform(properties)]);
        assert!(scene.nodes[0].transform.is_none() && remarks.is_empty());
        assert_eq!((scene.nodes[0].kind, scene.nodes[0].samples), (NodeKind::Xform, 0));
    }
    // Malformed transforms give the identity, with a remark.
    let unknown = scalar(".ops", Pod::U8, 1, vec![vec![0x90]]);
    let short = scalar(".vals", Pod::F64, 3, vec![f64s(&[1.0, 2.0, 3.0])]);
    let text = scalar(".vals", Pod::String, 1, vec![b"x\0".to_vec()]);
    let again = || scalar(".vals", Pod::F64, 3, vec![f64s(&[1.0, 2.0, 3.0])]);
    for (properties, word) in [
        (vec![unknown, again()], "unknown kind"),
        (vec![ops(), short], "fewer values"),
        (vec![ops(), text], "not numbers"),
        (vec![ops()], "no values"),
    ] {
        let (scene, remarks) = read("", vec![xform(properties)]);
        assert!(remarks[0].contains(word), "{remarks:?}");
        assert!(scene.nodes[0].transform.is_none());
    }
}

/// Makes a square of two triangles with further properties.
fn square(more: Vec<TestProperty>) -> Object {
    let points: Vec<f64> = vec![0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.];
    let mut properties = vec![
        array("P", Pod::F64, 3, "", vec![f64s(&points)]),
        array(".faceIndices", Pod::I32, 1, "", vec![i32s(&[0, 1, 2, 0, 2, 3])]),
        array(".faceCounts", Pod::I32, 1, "", vec![i32s(&[3, 3])]),
    ];
    properties.extend(more);
    object("m", MESH, vec![TestProperty::Compound(".geom", "", properties)])
}

#[test]
fn f02_only_the_property_and_frame_that_are_asked_for_are_read() {
    let points = |z: f32| f32s(&[0.0, 0.0, z, 1.0, 0.0, z, 0.0, 1.0, z]);
    let properties = vec![
        array("P", Pod::F32, 3, "", (0..9).map(|i| points(i as f32)).collect()),
        array(".faceIndices", Pod::I32, 1, "", vec![i32s(&[0, 1, 2])]),
        array(".faceCounts", Pod::I32, 1, "", vec![i32s(&[3])]),
        array("N", Pod::F32, 3, "geoScope=vtx", (0..9).map(|i| points(-(i as f32))).collect()),
    ];
    let mut memory = MemoryArchive::default();
    let mesh = object("m", MESH, vec![TestProperty::Compound(".geom", "", properties)]);
    memory.add_object(object("ABC", "", vec![]).with(vec![mesh]));
    let payloads = memory.payloads.clone();
    let (scene, _) = schema::read(Arc::new(memory)).unwrap();
    assert_eq!(*payloads.lock().unwrap(), [], "nothing when it is opened");
    let mut out = Vec::new();
    sample::positions_at(&scene.meshes[0], 2.5, &mut out).unwrap();
    assert_eq!((out[0][2], out.len()), (5.0, 3));
    // Points are property 0, with samples half a second apart.
    assert_eq!(*payloads.lock().unwrap(), [(0, 5)]);
    sample::positions_at(&scene.meshes[0], 2.75, &mut out).unwrap();
    assert_eq!(*payloads.lock().unwrap(), [(0, 5), (0, 5), (0, 6)]);
}

#[test]
fn f01_attributes_of_all_kinds() {
    let indexed = TestProperty::Compound(
        "uv",
        "geoScope=fvr;sourceName=UVMap",
        vec![
            array(".vals", Pod::F32, 2, "", vec![f32s(&[0.0, 0.5, 1.0, -3.0])]),
            array(".indices", Pod::U32, 1, "", vec![i32s(&[0, 1, 0, 0, 0, 1])]),
        ],
    );
    let more = vec![
        array("Cd", Pod::U8, 4, "geoScope=vtx;interpretation=rgba", vec![vec![51; 16]]),
        array("tint", Pod::F16, 3, "geoScope=uni;interpretation=rgb", vec![[0, 0x3C].repeat(6)]),
        array("second", Pod::F32, 2, "geoScope=vtx;interpretation=vector", vec![f32s(&[0.5; 8])]),
        array("Pref", Pod::F32, 3, "geoScope=vtx", vec![f32s(&[0.0; 12])]),
        array("piece", Pod::I32, 1, "geoScope=vtx", vec![i32s(&[7, -7, 7, 0])]),
        array("short", Pod::I32, 1, "geoScope=vtx", vec![i32s(&[7, -7])]),
        array("pair", Pod::I32, 2, "geoScope=vtx", vec![i32s(&[1; 8])]),
        array("heat", Pod::F64, 1, "geoScope=uni", vec![f64s(&[3.5, 4.5])]),
        array("flow", Pod::F32, 4, "geoScope=con", vec![f32s(&[1.0, 2.0, 3.0, 4.0])]),
        array("name", Pod::String, 1, "geoScope=vtx", vec![b"a\0a\0\xFFb\0\0".to_vec()]),
        TestProperty::Compound(
            "shop_materialpath",
            "geoScope=uni",
            vec![
                array(".vals", Pod::String, 1, "", vec![b"/mat/red\0/mat/blue\0".to_vec()]),
                array(".indices", Pod::U32, 1, "", vec![i32s(&[1, 0])]),
            ],
        ),
        array("shortname", Pod::String, 1, "geoScope=vtx", vec![b"a\0b".to_vec()]),
        array("bad", Pod::F32, 3, "geoScope=fvr;interpretation=rgb", vec![f32s(&[0.0; 15])]),
        TestProperty::Broken("worse"),
    ];
    let (scene, remarks) = read(
        "",
        vec![square(vec![
            indexed,
            // Declared constant, but with one value per point.
            array("N", Pod::F64, 3, "geoScope=con", vec![f64s(&[1.0; 12])]),
            array(".velocities", Pod::F32, 3, "", vec![f32s(&[2.0; 12])]),
            TestProperty::Compound(".arbGeomParams", "", more),
            TestProperty::Compound(
                ".userProperties",
                "",
                vec![
                    scalar("answer", Pod::I32, 1, vec![i32s(&[42])]),
                    scalar("author", Pod::String, 1, vec![b"nobody\0".to_vec()]),
                    scalar("scale", Pod::F32, 3, vec![f32s(&[0.1, 2.0, 3.0])]),
                    scalar("age", Pod::F64, 1, vec![f64s(&[1.0]), f64s(&[2.0])]),
                    scalar("heat", Pod::F32, 1, vec![f32s(&[9.0])]),
                ],
            ),
        ])],
    );
    let mesh = &scene.meshes[0];
    assert_eq!(mesh.topology, Topology::Constant);
    assert_eq!(mesh.winding, Winding::Clockwise);
    let mut points = Vec::new();
    mesh.positions.read(0, &mut points).unwrap();
    assert_eq!(points[2], [1.0, 1.0, 0.0], "read from f64");
    let uvs: Vec<(&str, Scope, bool)> =
        mesh.uvs.iter().map(|uv| (uv.name.as_str(), uv.scope, uv.indices.is_some())).collect();
    assert_eq!(uvs, [("UVMap", Scope::FaceVarying, true), ("second", Scope::Vertex, false)]);
    assert_eq!(mesh.normals.as_ref().unwrap().scope, Scope::Vertex);
    assert!(mesh.velocities.is_some());
    let colours: Vec<(&str, Scope, [f32; 4])> = mesh
        .colours
        .iter()
        .map(|c| {
            let mut values = Vec::new();
            c.values.read(0, &mut values).unwrap();
            (c.name.as_str(), c.scope, values[0])
        })
        .collect();
    assert_eq!(colours, [("Cd", Scope::Vertex, [0.2; 4]), ("tint", Scope::Uniform, [1.0; 4])]);
    let others: Vec<&str> = mesh.other_attributes.iter().map(|o| &o.0[..]).collect();
    let unused = ["heat", "flow", "name", "shop_materialpath", "shortname"];
    assert_eq!(others[..4], ["Pref", "piece", "short", "pair"]);
    assert_eq!(others[4..], unused);
    assert_eq!(mesh.other_attributes[0].1, "float32 x3, vertex");
    // Integer attributes of one value per element that fit the mesh.
    let [piece] = &mesh.integers[..] else {
        panic!("{} attributes of whole numbers", mesh.integers.len());
    };
    assert_eq!((&piece.name[..], piece.scope), ("piece", Scope::Vertex));
    let mut pieces = Vec::new();
    piece.values.read(0, &mut pieces).unwrap();
    assert_eq!(pieces, [7, -7, 7, 0]);
    // Other numbers, also those of the whole object; attributes take precedence over user properties.
    let numbers: Vec<(&str, Scope, usize, usize, [f32; 4])> = (mesh.custom_attributes.iter())
        .map(|n| {
            let (attribute, mut values) = (&n.attribute, Vec::new());
            let last = attribute.values.len() - 1;
            attribute.values.read(last, &mut values).unwrap();
            let last = *values.last().unwrap();
            (&attribute.name[..], attribute.scope, n.components, values.len(), last)
        })
        .collect();
    assert_eq!(
        numbers,
        [
            ("Pref", Scope::Vertex, 3, 4, [0.0; 4]),
            ("heat", Scope::Uniform, 1, 2, [4.5, 0.0, 0.0, 0.0]),
            ("flow", Scope::Constant, 4, 1, [1.0, 2.0, 3.0, 4.0]),
            ("scale", Scope::Constant, 3, 1, [0.1, 2.0, 3.0, 0.0]),
            ("age", Scope::Constant, 1, 1, [2.0, 0.0, 0.0, 0.0]),
        ]
    );
    // Strings, one per element; those that name materials become face sets.
    let names: Vec<&str> = mesh.names.iter().map(|n| &n.name[..]).collect();
    assert_eq!(names, ["name", "shop_materialpath"]);
    let mut texts = Vec::new();
    mesh.names[0].values.read(0, &mut texts).unwrap();
    let texts: Vec<&str> = texts.iter().map(|t| &t[..]).collect();
    assert_eq!(texts, ["a", "a", "\u{FFFD}b", ""]);
    let sets: Vec<(&str, Vec<i32>)> = (mesh.face_sets.iter())
        .map(|set| {
            let mut faces = Vec::new();
            set.faces.read(0, &mut faces).unwrap();
            (&set.name[..], faces)
        })
        .collect();
    assert_eq!(sets, [("/mat/blue", vec![0]), ("/mat/red", vec![1])]);
    let user: Vec<&str> = scene.nodes[0].user_properties.iter().map(|p| p.1.as_str()).collect();
    assert_eq!(
        user,
        ["int32 = 42", "string = \"nobody\"", "float32 x3 = 0.1 2 3", "float64 = 1", "float32 = 9"]
    );
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    for (remark, word) in remarks.iter().zip(["N: it has 4", "bad: it has 5", "worse: a broken"]) {
        assert!(remark.contains(word), "{remarks:?}");
    }
}

#[test]
fn topology_is_told_from_the_data() {
    let mesh = |points: &[usize], counts: Vec<Vec<u8>>| {
        let samples = points.iter().enumerate();
        let samples = samples.map(|(i, n)| f32s(&vec![i as f32; n * 3])).collect();
        let properties = vec![
            array("P", Pod::F32, 3, "", samples),
            array(".faceCounts", Pod::I32, 1, "", counts),
            array(".faceIndices", Pod::I32, 1, "", vec![i32s(&[0, 1, 2])]),
        ];
        let geometry = TestProperty::Compound(".geom", "schema=AbcGeom_SubD_v1", properties);
        // Only the compound names the schema.
        let (scene, remarks) = read("", vec![object("m", "", vec![geometry])]);
        assert_eq!((scene.nodes[0].kind, scene.counts.subds), (NodeKind::SubD, 1));
        assert!(remarks[0].contains("control cage"), "{remarks:?}");
        scene.meshes[0].topology
    };
    let three = || i32s(&[3]);
    assert_eq!(mesh(&[3], vec![three()]), Topology::Constant);
    assert_eq!(mesh(&[3, 3], vec![three(), three()]), Topology::Homogeneous);
    assert_eq!(mesh(&[3, 4], vec![three()]), Topology::Heterogeneous);
    assert_eq!(mesh(&[3, 3], vec![three(), i32s(&[2, 1])]), Topology::Heterogeneous);
}

#[test]
fn an_attribute_that_fits_later_is_kept() {
    // Four points, then three; six corners throughout. The colour has three values in both samples.
    let properties = vec![
        array("P", Pod::F32, 3, "", vec![f32s(&[0.0; 12]), f32s(&[1.0; 9])]),
        array(".faceCounts", Pod::I32, 1, "", vec![i32s(&[3, 3])]),
        array(".faceIndices", Pod::I32, 1, "", vec![i32s(&[0, 1, 2, 0, 2, 1])]),
        TestProperty::Compound(
            ".arbGeomParams",
            "",
            vec![array(
                "Cd",
                Pod::F32,
                3,
                "geoScope=vtx;interpretation=rgb",
                vec![f32s(&[0.0; 9]), f32s(&[1.0; 9])],
            )],
        ),
    ];
    let mesh = object("m", MESH, vec![TestProperty::Compound(".geom", "", properties)]);
    let (scene, remarks) = read("", vec![mesh]);
    assert_eq!(scene.meshes[0].colours.len(), 1);
    assert!(remarks[0].contains("first sample"), "{remarks:?}");
}

#[test]
fn the_rest_of_a_file_survives() {
    let face_set = |name, faces: &[i32]| {
        let faces = array(".faces", Pod::I32, 1, "", vec![i32s(faces)]);
        object(name, "schema=AbcGeom_FaceSet_v1", vec![TestProperty::Compound(".faceset", "", vec![faces])])
    };
    let visible = |values: &[i8]| {
        let samples = values.iter().map(|v| vec![*v as u8]).collect();
        scalar("visible", Pod::I8, 1, samples)
    };
    let (scene, remarks) = read(
        "",
        vec![
            object("broken", MESH, vec![TestProperty::Broken(".geom"), visible(&[-1, 0, 7])])
                .with(vec![square(vec![]).with(vec![face_set("02_wood", &[1])])]),
            object("hollow", MESH, vec![]),
            object("empty", MESH, vec![TestProperty::Compound(".geom", "", vec![])]),
            object("hair", "schema=AbcGeom_Curve_v2", vec![TestProperty::Compound(".geom", "", vec![])]),
            object("stray", "schema=Somebody_Elses_v9", vec![]).with(vec![face_set("lost", &[])]),
            object(
                "again",
                "isInstance=1",
                vec![scalar(".instanceSource", Pod::String, 1, vec![b"/broken/m\0".to_vec()])],
            ),
        ],
    );
    let nodes: Vec<(&str, NodeKind)> = scene.nodes.iter().map(|n| (n.path.as_str(), n.kind)).collect();
    assert_eq!(
        nodes,
        [
            ("/broken", NodeKind::Other),
            ("/broken/m", NodeKind::PolyMesh),
            ("/hollow", NodeKind::Other),
            ("/empty", NodeKind::PolyMesh),
            ("/hair", NodeKind::Curves),
            ("/stray", NodeKind::Other),
            ("/again", NodeKind::PolyMesh),
        ]
    );
    let visibility = scene.nodes[0].visibility.as_ref().unwrap();
    let held: Vec<i8> = (0..3)
        .flat_map(|i| {
            let mut one = Vec::new();
            visibility.read(i, &mut one).unwrap();
            one
        })
        .collect();
    assert_eq!(held, [-1, 0, 1]);
    assert_eq!(scene.meshes[0].face_sets[0].name, "02_wood");
    // The mesh counts twice with its face set, and the empty one once.
    let counts = scene.counts;
    assert_eq!((counts.meshes, counts.facesets, counts.instances), (3, 2, 2));
    let mut points = vec![[0.0; 3]];
    scene.meshes[1].positions.read(0, &mut points).unwrap();
    assert!(points.is_empty(), "an empty mesh has one empty sample");
    let words = ["a broken compound", "no geometry", "no samples", "no points", "without a mesh"];
    assert_eq!(remarks.len(), words.len(), "{remarks:?}");
    for (remark, word) in remarks.iter().zip(words) {
        assert!(remark.contains(word), "{remark} / {word}");
    }
}
