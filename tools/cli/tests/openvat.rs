//! Tests of vertex animation textures with a reader that follows only OpenVAT's documentation and its
//! readers' shaders: a vertex of the proxy finds its texel by its second uvs, each frame is one row further
//! down, `Min` and `Max` of the JSON scale texels to offsets, up is z, and packed normals are half of the
//! height further down.

use crate::cli::common::{Run, bundled, run, run_line};
use meshreel_scene::{Channel, Mesh, Node, NodeKind, Scene, TimeSampling};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

type Vector = [f64; 3];

/// An exported folder as a reader loads it.
struct Vat {
    json: Value,
    positions: Vec<Vector>,
    normals: Vec<Vector>,
    uvs: Vec<[f64; 2]>,
    indices: Vec<Vec<u32>>,
    texture: Image,
    separate: Option<Image>,
}

struct Image {
    width: usize,
    height: usize,
    texels: Vec<Vector>,
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

impl Image {
    fn read(stem: &Path, kind: &str) -> Image {
        let path = stem.with_extension(kind);
        if kind == "exr" { Image::exr(&std::fs::read(path).unwrap()) } else { Image::png(&path) }
    }

    fn png(path: &Path) -> Image {
        let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Sixteen));
        let number = |b: &[u8]| f64::from(u16::from_be_bytes([b[0], b[1]])) / 65535.0;
        let texel = |b: &[u8]| [number(b), number(&b[2..]), number(&b[4..])];
        let texels = bytes.chunks_exact(6).map(texel).collect();
        Image { width: info.width as usize, height: info.height as usize, texels }
    }

    /// Reads uncompressed scan lines of floats, with any attributes in the header.
    fn exr(bytes: &[u8]) -> Image {
        assert_eq!((word(bytes, 0), word(bytes, 4)), (20_000_630, 2));
        let (mut at, mut size) = (8, (0, 0));
        let text = |at: &mut usize| {
            let end = *at + bytes[*at..].iter().position(|b| *b == 0).unwrap();
            let text = String::from_utf8(bytes[*at..end].to_vec()).unwrap();
            *at = end + 1;
            text
        };
        loop {
            let name = text(&mut at);
            if name.is_empty() {
                break;
            }
            let _kind = text(&mut at);
            let length = word(bytes, at);
            let value = &bytes[at + 4..at + 4 + length];
            match &name[..] {
                "compression" => assert_eq!(value, [0]),
                "dataWindow" => size = (word(value, 8) + 1, word(value, 12) + 1),
                "channels" => {
                    let names: Vec<u8> = value.chunks_exact(18).map(|c| c[0]).collect();
                    assert_eq!((&names[..], value.len()), (&b"BGR"[..], 3 * 18 + 1));
                    assert!(value.chunks_exact(18).all(|c| word(c, 2) == 2), "floats");
                }
                _ => {}
            }
            at += 4 + length;
        }
        let (width, height) = size;
        let mut texels = Vec::new();
        for y in 0..height {
            let line = word(bytes, at + 8 * y);
            assert_eq!((word(bytes, line), word(bytes, line + 4)), (y, 12 * width));
            let float = |channel: usize, x: usize| {
                f64::from(f32::from_bits(word(bytes, line + 8 + 4 * (channel * width + x)) as u32))
            };
            texels.extend((0..width).map(|x| [float(2, x), float(1, x), float(0, x)]));
        }
        assert_eq!(word(bytes, at + 8 * (height - 1)) + 8 + 12 * width, bytes.len());
        Image { width, height, texels }
    }

    /// Returns the texel at a place from 0 to 1 in both directions, (0, 0) at the upper left, without
    /// interpolation.
    fn sample(&self, [u, v]: [f64; 2]) -> Vector {
        let (x, y) = ((u * self.width as f64) as usize, (v * self.height as f64) as usize);
        self.texels[y * self.width + x]
    }
}

fn vectors<const N: usize>(json: &Value, binary: &[u8], accessor: &Value) -> Vec<[f64; N]> {
    let accessor = &json["accessors"][accessor.as_u64().unwrap() as usize];
    assert_eq!(accessor["componentType"], 5126);
    let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
    let start = view["byteOffset"].as_u64().unwrap_or(0) as usize;
    let count = accessor["count"].as_u64().unwrap() as usize;
    let float = |i: usize| f64::from(f32::from_bits(word(binary, start + 4 * i) as u32));
    (0..count).map(|i| std::array::from_fn(|k| float(N * i + k))).collect()
}

impl Vat {
    fn read(folder: &Path, name: &str, kind: &str) -> Vat {
        let file = |end: &str| folder.join(format!("{name}{end}"));
        let glb = std::fs::read(file(".glb")).unwrap();
        let length = word(&glb, 12);
        let json: Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
        let binary = &glb[28 + length..];
        // One node without a transform, so that its own space is the world.
        assert_eq!(json["nodes"].as_array().unwrap().len(), 1);
        assert!(json["nodes"][0].get("matrix").is_none() && json["nodes"][0].get("scale").is_none());
        let primitives = json["meshes"][0]["primitives"].as_array().unwrap();
        let attributes = &primitives[0]["attributes"];
        let indices = primitives.iter().map(|p| {
            let accessor = &json["accessors"][p["indices"].as_u64().unwrap() as usize];
            let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
            let start = view["byteOffset"].as_u64().unwrap_or(0) as usize;
            let count = accessor["count"].as_u64().unwrap() as usize;
            let wide = accessor["componentType"] == 5125;
            let index = |i: usize| match wide {
                true => word(binary, start + 4 * i) as u32,
                false => u32::from(binary[start + 2 * i]) | u32::from(binary[start + 2 * i + 1]) << 8,
            };
            (0..count).map(index).collect()
        });
        let indices = indices.collect();
        let separate = file("_vnrm").with_extension(kind).exists();
        Vat {
            positions: vectors(&json, binary, &attributes["POSITION"]),
            normals: vectors(&json, binary, &attributes["NORMAL"]),
            uvs: vectors(&json, binary, &attributes["TEXCOORD_1"]),
            indices,
            texture: Image::read(&file("_vat"), kind),
            separate: separate.then(|| Image::read(&file("_vnrm"), kind)),
            json: serde_json::from_slice(&std::fs::read(file("-remap_info.json")).unwrap()).unwrap(),
        }
    }

    fn frames(&self) -> usize {
        self.json["os-remap"]["Frames"].as_u64().unwrap() as usize
    }

    fn remap(&self, end: &str) -> Vector {
        let values = self.json["os-remap"][end].as_array().unwrap();
        assert_eq!(values.len(), 3);
        std::array::from_fn(|i| values[i].as_f64().unwrap())
    }

    fn texel_place(&self, vertex: usize, frame: usize) -> [f64; 2] {
        let [u, v] = self.uvs[vertex];
        [u, v + frame as f64 / self.texture.height as f64]
    }

    fn position(&self, vertex: usize, frame: usize) -> Vector {
        let (low, high) = (self.remap("Min"), self.remap("Max"));
        let texel = self.texture.sample(self.texel_place(vertex, frame));
        let offset: Vector = std::array::from_fn(|i| low[i] + texel[i] * (high[i] - low[i]));
        let base = self.positions[vertex];
        [base[0] + offset[0], base[1] + offset[2], base[2] - offset[1]]
    }

    fn normal(&self, vertex: usize, frame: usize) -> Vector {
        let [u, v] = self.texel_place(vertex, frame);
        let texel = match &self.separate {
            Some(separate) => separate.sample([u, v]),
            None => self.texture.sample([u, v + 0.5]),
        };
        let n = texel.map(|v| 2.0 * v - 1.0);
        [n[0], n[2], -n[1]]
    }
}

fn distance(a: Vector, b: Vector) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

/// Returns the angle between two vectors in degrees.
fn angle(a: Vector, b: Vector) -> f64 {
    let dot = (0..3).map(|i| a[i] * b[i]).sum::<f64>();
    let length = |v: Vector| distance(v, [0.0; 3]);
    (dot / (length(a) * length(b))).clamp(-1.0, 1.0).acos().to_degrees()
}

/// The points of an OBJ, and the normals of their corners.
struct Obj {
    points: Vec<Vector>,
    normals: Vec<Vec<Vector>>,
}

fn obj(path: &Path) -> Obj {
    let text = std::fs::read_to_string(path).unwrap();
    let numbers = |line: &str| -> Vector {
        let mut values = line.split_whitespace().skip(1).map(|v| v.parse().unwrap());
        std::array::from_fn(|_| values.next().unwrap())
    };
    let points: Vec<Vector> = text.lines().filter(|l| l.starts_with("v ")).map(numbers).collect();
    let all: Vec<Vector> = text.lines().filter(|l| l.starts_with("vn ")).map(numbers).collect();
    let mut normals = vec![Vec::new(); points.len()];
    for corner in text.lines().filter(|l| l.starts_with("f ")).flat_map(|l| l.split_whitespace().skip(1)) {
        let mut words = corner.split('/');
        let point: usize = words.next().unwrap().parse().unwrap();
        if let Some(normal) = words.nth(1) {
            normals[point - 1].push(all[normal.parse::<usize>().unwrap() - 1]);
        }
    }
    Obj { points, normals }
}

/// The difference between extracted frames and a folder of textures.
struct Compared {
    /// The largest distance of a vertex from its point, in metres.
    position: f64,
    /// The largest angle between a normal and the nearest one at that point, in degrees.
    normal: f64,
}

/// Compares a folder with frames. Each vertex of the proxy belongs to the point at its place in the first
/// frame that stays nearest to it in all frames; each point must have a vertex.
fn compare(vat: &Vat, frames: &Path, metres: f64) -> Compared {
    let mut files: Vec<_> = std::fs::read_dir(frames).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), vat.frames());
    let objs: Vec<Obj> = files.iter().map(|path| obj(path)).collect();
    let far = vat.positions.iter().flatten().fold(0.0, |most: f64, v| most.max(v.abs()));
    let cell = (1e-6 * far).max(1e-4);
    let key = |p: Vector| p.map(|v| (v / cell).round() as i64);
    let mut at: HashMap<[i64; 3], Vec<usize>> = HashMap::new();
    for (i, p) in objs[0].points.iter().enumerate() {
        let [x, y, z] = key(p.map(|v| v * metres));
        let near = (0..27).map(|k| [x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1]);
        near.for_each(|key| at.entry(key).or_default().push(i));
    }
    let mut worst = Compared { position: 0.0, normal: 0.0 };
    let mut taken = vec![false; objs[0].points.len()];
    let has_normals = objs[0].normals.iter().any(|n| !n.is_empty());
    for vertex in 0..vat.positions.len() {
        let track: Vec<Vector> = (0..objs.len()).map(|f| vat.position(vertex, f)).collect();
        let off = |point: usize| {
            let of = |(f, obj): (usize, &Obj)| distance(track[f], obj.points[point].map(|v| v * metres));
            objs.iter().enumerate().map(of).fold(0.0, f64::max)
        };
        let near = at.get(&key(vat.positions[vertex])).expect("a point of the first frame");
        let offs = near.iter().map(|&point| (off(point), point));
        let (off, point) = offs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        near.iter()
            .filter(|p| distance(objs[0].points[**p], objs[0].points[point]) == 0.0)
            .for_each(|&p| taken[p] = true);
        worst.position = worst.position.max(off);
        for (f, obj) in objs.iter().enumerate().filter(|_| has_normals) {
            let n = vat.normal(vertex, f);
            let nearest = obj.normals[point].iter().map(|&other| angle(n, other)).fold(180.0, f64::min);
            worst.normal = worst.normal.max(nearest);
        }
    }
    let used = taken.iter().filter(|t| **t).count();
    let in_faces = objs[0].normals.iter().filter(|n| !n.is_empty()).count();
    assert!(!has_normals || used >= in_faces, "{used} of {in_faces}");
    worst
}

/// Compiles a bundled input, extracts frames and textures, and compares them.
fn round_trip(input: &str, more: &str, metres: f64) -> (Vat, Compared, Value) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let reel = folder.join("a.reel");
    run_line("compile $IN -o $OUT", &[("$IN", &bundled(input)), ("$OUT", &reel)]).expect(0);
    let (vat, frames) = (folder.join("thing_vat"), folder.join("frames"));
    let slash = |path: &Path| format!("{}/", path.display());
    run([&"extract".into(), &reel.display().to_string(), &"-o".into(), &slash(&frames)]).expect(0);
    let words = ["extract", &reel.display().to_string(), "-o", &slash(&vat), "--format", "openvat", "--json"];
    let done = run(words.into_iter().chain(more.split_whitespace())).expect(0).json();
    run([&"verify".into(), &"--extracted".into(), &slash(&vat), &reel.display().to_string()]).expect(0);
    let kind = if more.contains("exr") { "exr" } else { "png" };
    let read = Vat::read(&vat, "thing", kind);
    let compared = compare(&read, &frames, metres);
    (read, compared, done)
}

#[test]
fn i20_positions_and_normals_are_those_of_the_frames() {
    // The metres of each file's unit; none names its unit.
    for (input, more) in [
        ("a_flag_wind.abc", ""),
        ("a_flag_wind.abc", "--normals separate"),
        ("n_robot_bone_parented.abc", ""),
        ("n_robot_bone_parented.abc", "--image exr"),
        ("m_scale_shear.abc", "--normals separate --image exr"),
    ] {
        let (vat, compared, done) = round_trip(input, more, 1.0);
        let told = &done["openvat"];
        let error = told["error"].as_f64().unwrap();
        let size: f64 = (0..3).map(|i| vat.remap("Max")[i] - vat.remap("Min")[i]).fold(0.0, f64::max);
        // The reported error is the actual one, up to the digits of an .obj.
        let far = vat.positions.iter().flatten().fold(size, |most: f64, v| most.max(v.abs()));
        assert!(
            (compared.position - error).abs() < 4e-7 * far,
            "{input} {more}: {} {error}",
            compared.position
        );
        let steps = if more.contains("exr") { 1e-7 } else { 0.5 * 3f64.sqrt() / 65535.0 };
        assert!(error <= steps * size + 1e-7 * far, "{input} {more}: {error} of {size}");
        assert!(compared.normal < 0.02, "{input} {more}: {} degrees", compared.normal);
        assert!(told["normal_error"].as_f64().unwrap() < 0.01);
        assert_eq!(vat.separate.is_some(), more.contains("separate"));
        let kinds = if more.contains("separate") { 1 } else { 2 };
        let size = (vat.positions.len(), kinds * vat.frames());
        assert_eq!((vat.texture.width, vat.texture.height), size, "a frame is a row");
        let clips = vat.json["animations"].as_object().unwrap();
        assert_eq!(clips["thing"]["endFrame"], vat.frames());
        // Triangles face the direction of their normals.
        let turned = vat.indices.iter().flat_map(|part| part.chunks_exact(3)).filter(|t| {
            let [a, b, c] = [0, 1, 2].map(|k| vat.positions[t[k] as usize]);
            let (d, e): (Vector, Vector) =
                (std::array::from_fn(|i| b[i] - a[i]), std::array::from_fn(|i| c[i] - a[i]));
            let normal = [d[1] * e[2] - d[2] * e[1], d[2] * e[0] - d[0] * e[2], d[0] * e[1] - d[1] * e[0]];
            distance(normal, [0.0; 3]) > 1e-9 && angle(normal, vat.normals[t[0] as usize]) > 90.0
        });
        let (turned, all) = (turned.count(), vat.indices.iter().map(|part| part.len() / 3).sum::<usize>());
        assert!(20 * turned <= all, "{input}: {turned} of {all}");
    }
}

#[test]
fn i20_more_vertices_than_a_row_holds_wrap() {
    let (vat, compared, done) = round_trip("c_wall_fracture_onemesh.abc", "--normals separate", 1.0);
    assert!(vat.positions.len() > 8192);
    let (width, height) = (vat.texture.width, vat.texture.height);
    assert!(width.is_power_of_two() && height.is_power_of_two());
    assert_eq!(done["openvat"]["wraps"], vat.positions.len().div_ceil(width));
    let error = done["openvat"]["error"].as_f64().unwrap();
    assert!((compared.position - error).abs() < 1e-5, "{} {error}", compared.position);
}

fn extract(folder: &Path, words: &str) -> Run {
    let named = |word: &str| {
        word.ends_with('/') || [".reel", ".glb", ".abc", ".obj"].iter().any(|e| word.ends_with(e))
    };
    // `join` keeps the slash at the end.
    let place = |word: &str| if named(word) { folder.join(word).display().to_string() } else { word.into() };
    run(["extract".to_string()].into_iter().chain(words.split_whitespace().map(place)))
}

#[test]
fn i20_what_textures_cannot_hold_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let compile = |input: &str, to: &str| {
        let (input, to) = (bundled(input), folder.join(to));
        run_line("compile $IN -o $OUT", &[("$IN", &input), ("$OUT", &to)]).expect(0);
    };
    compile("e_metaballs.abc", "blob.reel");
    let done = extract(folder, "blob.reel -o out/ --format openvat").expect(1);
    let line = done.error_line();
    assert!(line.contains("faces of") && line.contains("--remesh"), "{line}");
    assert!(!folder.join("out").exists());

    // An error that 16 bits cannot keep, but floats can.
    compile("n_robot_bone_parented.abc", "robot.reel");
    let done = extract(folder, "robot.reel -o out/ --format openvat --tolerance 1e-7").expect(1);
    let line = done.error_line();
    assert!(line.contains("16 bits hold these motions to") && line.contains("--image exr"), "{line}");
    assert!(!folder.join("out").exists(), "nothing is left");
    let told = line.split("give --tolerance ").nth(1).unwrap().split(' ').next().unwrap();
    extract(folder, &format!("robot.reel -o out/ --format openvat --tolerance {told}")).expect(0);
    extract(folder, "robot.reel -o far/ --format openvat --image exr --tolerance 1e-6").expect(0);
    extract(folder, "robot.reel -o part/ --format openvat --tolerance 1%").expect(0);

    // Options that have no meaning there.
    for (words, part) in [
        ("robot.reel -o a.glb --format openvat", "--format says what a directory gets"),
        ("robot.reel -o a.abc --normals none", "--normals is about textures"),
        ("robot.reel -o frames/ --image exr", "--image is about textures"),
        ("robot.reel -o a.obj --tolerance 1", "--tolerance is about --format openvat"),
        ("robot.reel -o a.abc --compress meshopt", "only a .glb is compressed"),
        ("robot.reel -o a.glb --compress meshopt --tolerance 1%", "it is a length"),
        ("robot.reel -o a.glb --compress draco", "give one of: meshopt, khr-meshopt"),
        ("robot.reel -o a/ --format vat", "give one of: obj, openvat"),
        ("robot.reel -o a/ --format openvat --image jpg", "give one of: png, exr"),
    ] {
        let done = extract(folder, words).expect(2);
        assert!(done.stderr.contains(part), "{words}: {}", done.stderr);
    }
}

#[test]
fn i20_hidden_meshes_lie_in_one_point() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    let corners = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]];
    let frame = |f: usize| corners.map(|[x, y]| [x + f as f32, y, 0.1 * f as f32]).to_vec();
    let positions = Channel::in_memory(sampling.clone(), (0..8).map(frame).collect());
    let mesh =
        Mesh::new("/sheet", positions, Channel::constant(vec![4]), Channel::constant(vec![0, 1, 2, 3]));
    let shown = (0..8).map(|f| vec![i8::from(!(3..5).contains(&f))]).collect();
    let node = Node {
        mesh: Some(0),
        samples: 8,
        visibility: Some(Channel::in_memory(sampling, shown)),
        ..Node::new("/sheet", NodeKind::PolyMesh)
    };
    let scene = Scene { nodes: vec![node], meshes: vec![mesh], ..Scene::default() };
    meshreel_write::alembic::write(&folder.join("a.abc"), &scene, &mut |_, _| {}).unwrap();
    run_line("compile $IN -o $OUT", &[("$IN", &folder.join("a.abc")), ("$OUT", &folder.join("a.reel"))])
        .expect(0);
    let done = extract(folder, "a.reel -o thing_vat/ --format openvat").expect(0);
    assert!(done.stderr.contains("hidden at times"), "{}", done.stderr);
    let vat = Vat::read(&folder.join("thing_vat"), "thing", "png");
    for f in 0..8 {
        let points: Vec<Vector> = (0..4).map(|v| vat.position(v, f)).collect();
        let size = points.iter().map(|p| distance(*p, points[0])).fold(0.0, f64::max);
        match (3..5).contains(&f) {
            // The middle of the sheet in the first frame.
            true => {
                assert!(size < 1e-3 && distance(points[0], [1.0, 0.5, 0.0]) < 1e-3, "frame {f}: {points:?}")
            }
            false => assert!((size - 5f64.sqrt()).abs() < 1e-3, "frame {f}: {points:?}"),
        }
    }
}

/// A texture of other motions, a proxy without texels, files cut short and sizes beyond the limits are
/// failures or errors.
#[test]
fn textures_that_were_changed_fail() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (input, name) in [("a_flag_wind.abc", "a"), ("n_robot_bone_parented.abc", "b")] {
        let (reel, vat) = (folder.join(format!("{name}.reel")), folder.join(format!("{name}_vat/")));
        run_line("compile $IN -o $OUT", &[("$IN", &bundled(input)), ("$OUT", &reel)]).expect(0);
        for image in ["png", "exr"] {
            let line = format!("extract $REEL -o $VAT --format openvat --image {image}");
            run_line(&line, &[("$REEL", &reel), ("$VAT", &vat)]).expect(0);
        }
    }
    let verify = |vat: &str, reel: &str| {
        let (vat, reel) = (folder.join(vat), folder.join(reel));
        run_line("verify --extracted $VAT $REEL", &[("$VAT", &vat), ("$REEL", &reel)])
    };
    // The PNG is taken where both are there.
    verify("a_vat", "a.reel").expect(0);
    verify("a_vat", "b.reel").expect(1);
    let png = folder.join("a_vat/a_vat.png");
    let whole = std::fs::read(&png).unwrap();
    std::fs::write(&png, &whole[..whole.len() / 2]).unwrap();
    verify("a_vat", "a.reel").expect(1);
    std::fs::remove_file(&png).unwrap();
    verify("a_vat", "a.reel").expect(0);
    let exr = folder.join("a_vat/a_vat.exr");
    let whole = std::fs::read(&exr).unwrap();
    for cut in [3, 20, 200, 400, whole.len() - 1] {
        std::fs::write(&exr, &whole[..cut]).unwrap();
        verify("a_vat", "a.reel").expect(1);
    }
    let window = whole.windows(10).position(|b| b == b"dataWindow").unwrap() + 21;
    for (at, bytes) in [(window + 8, [255; 4]), (window + 12, [0, 0, 1, 0])] {
        let mut other = whole.clone();
        other[at..at + 4].copy_from_slice(&bytes);
        std::fs::write(&exr, &other).unwrap();
        verify("a_vat", "a.reel").expect(1);
    }
    // Some offsets of a frame in the first quarter: these vertices move.
    let mut moved = whole.clone();
    let quarter = moved.len() / 4;
    // 0.19, and no number.
    for byte in [0x3e, 0xff] {
        moved[quarter..quarter + 512].fill(byte);
        std::fs::write(&exr, &moved).unwrap();
        verify("a_vat", "a.reel").expect(1);
    }
    std::fs::write(&exr, &whole).unwrap();
    let info = folder.join("a_vat/a-remap_info.json");
    let text = std::fs::read_to_string(&info).unwrap();
    for (old, new) in [("\"Frames\": ", "\"Frames\": 9"), ("\"Max\"", "\"Most\""), ("{", "")] {
        std::fs::write(&info, text.replacen(old, new, 1)).unwrap();
        verify("a_vat", "a.reel").expect(1);
    }
    std::fs::write(&info, text).unwrap();
    // Places far outside of the texture, and none.
    let proxy = folder.join("a_vat/a.glb");
    let whole = std::fs::read(&proxy).unwrap();
    let places = {
        let length = word(&whole, 12);
        let json: Value = serde_json::from_slice(&whole[20..20 + length]).unwrap();
        let accessor = &json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_1"];
        let accessor = &json["accessors"][accessor.as_u64().unwrap() as usize];
        let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let start = 28 + length + view["byteOffset"].as_u64().unwrap_or(0) as usize;
        [start, start + 4]
    };
    for value in [-1e30f32, 1e30, -0.5, 1.5, f32::NAN, f32::INFINITY] {
        for at in places {
            let mut other = whole.clone();
            other[at..at + 4].copy_from_slice(&value.to_le_bytes());
            std::fs::write(&proxy, &other).unwrap();
            verify("a_vat", "a.reel").expect(1);
        }
    }
    std::fs::remove_file(folder.join("b_vat/b.glb")).unwrap();
    verify("b_vat", "b.reel").expect(1);
}
