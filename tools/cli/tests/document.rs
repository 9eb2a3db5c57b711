//! Tests that `docs/FORMAT/` suffices to write a decoder: its worked examples equal the output of our code,
//! and a second decoder, in Python and written from these documents alone, agrees with the runtime on files
//! with all features.

use meshreel_testkit::python;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::sample::{rich, small};
use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_codec::entropy::block::BlockFormat;
use meshreel_codec::mesh::decode::{CodedUnit, FirstFrame, StaticPart, decode_unit_with, scratch_len};
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::simd::isa::Isa;
use meshreel_compile::{Silent, compile};
use meshreel_format::EMPTY_BOUNDS;
use meshreel_options::{BlockChoice, CodecChoice, LayerChoice, Options, Preset, Tolerance, TransformForm};
use meshreel_scene::sample::TimeRange;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The bytes of a block ` ```hex NAME
/// ` of `docs/FORMAT/mesh.md`: on each line an offset, bytes in hex, and a remark after `;`.
fn documented(name: &str) -> Vec<u8> {
    let document = std::fs::read_to_string(root().join("docs/FORMAT/mesh.md")).unwrap();
    let title = format!("```hex {name}");
    document
        .lines()
        .skip_while(|line| *line != title)
        .skip(1)
        .take_while(|line| *line != "```")
        .flat_map(|line| {
            let (_, hex) = line.split(';').next().unwrap().split_once("  ").unwrap();
            hex.split_whitespace()
        })
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

/// Returns the small file in the document's form, for changes of the format.
fn dump(bytes: &[u8], parts: &[(&str, Vec<u8>)]) -> String {
    let tables = bytes.len() - 128 - parts.iter().map(|p| p.1.len()).sum::<usize>();
    let mut sizes = vec![("header", 128)];
    sizes.extend(parts.iter().map(|(name, part)| (*name, part.len())));
    sizes.push(("frame table, chunk table", tables));
    let (mut out, mut at) = (String::new(), 0);
    for (name, size) in sizes {
        for (i, line) in bytes[at..at + size].chunks(16).enumerate() {
            let hex: Vec<String> = line.iter().map(|b| format!("{b:02x}")).collect();
            let name = if i == 0 { name } else { "…" };
            out += &format!("{:04x}  {:<47}  ; {name}\n", at + 16 * i, hex.join(" "));
        }
        at += size;
    }
    out
}

#[test]
fn worked_example() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, parts) = small(dir.path().join("small.reel"));
    assert!(bytes == documented("content"), "it should be:\n{}", dump(&bytes, &parts));
    let reel = Reel::from_source(Arc::new(bytes), &Limits::default()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(1).unwrap();
    let mut positions = [0.0; 12];
    decoder.mesh(0).positions_into(&mut positions).unwrap();
    let step = 2.0f32 / 63.0;
    assert_eq!(positions[..3], [5.0 * step - 1.0, 0.0, 1.0]);
    assert_eq!(positions[9..], [25.0 * step - 1.0, 20.0 * step, step + 1.0]);
    assert_eq!(decoder.mesh(0).indices(), [0, 1, 2, 2, 1, 3]);
}

/// Every unit of the example of fixed-point positions decodes to the documented values, with every kernel.
#[test]
fn worked_example_of_fixed_point_positions() {
    let hierarchy = hierarchy::build(4, &[0, 1, 2, 2, 1, 3]);
    assert_eq!(hierarchy.order, [1, 2, 0, 3]);
    assert_eq!(hierarchy.starts, [0, 1, 2, 4]);
    assert_eq!(hierarchy.ring, [0, 0, 1, 1, 0]);
    let coded = StaticPart::decode(&documented("fixed-point static"), hierarchy, None).unwrap();
    assert_eq!(coded.grid.position([144, 144, -64])[0], 144.0 * coded.grid.unit + 2.0);
    let half = [2048, 2048, 0, 0];
    let weights = [0, 1, 2, 3].map(|v| coded.weighted_neighbours(v).1);
    assert_eq!(weights, [[0; 4], [4096, 0, 0, 0], half, half]);
    let first = |z: [i16; 4], size: [i16; 4]| {
        let at = [[144, -144], [-144, 144], [-144, -144], [144, 144]];
        [0, 1, 2, 3].map(|v| [at[v][0], at[v][1], z[v], size[v]])
    };
    let frames = [
        first([-144, -144, -128, -64], [27, 36, 19, 23]),
        first([-32, -48, -56, 72], [0, 0, 0, 2]),
        first([80, 48, 16, 144], [14, 2, 4, 0]),
    ];
    assert_eq!(coded.first, FirstFrame::Narrow(frames[0].to_vec()));
    let schedule = Schedule::new(3, 4);
    let units = [
        (Unit::Key(1), "fixed-point key", 2),
        (Unit::TopLayer(0), "fixed-point top layer", 1),
        (Unit::TopLayer(0), "fixed-point packed", 1),
    ];
    for (unit, name, frame) in units {
        assert_eq!(schedule.frames_of(unit)[..], [frame as u32]);
        for isa in Isa::all() {
            let mut out = vec![[0; 4]; 4];
            let mut scratch = vec![[0; 4]; scratch_len(4)];
            let reference = |f: u32| Some(&frames[f as usize][..]);
            let (bytes, out_of) = (documented(name), &mut [&mut out[..]]);
            let unit = CodedUnit { schedule: &schedule, unit, bytes: &bytes };
            decode_unit_with(isa, &coded, unit, &reference, out_of, &mut scratch).unwrap();
            assert_eq!(out, frames[frame], "{name}");
        }
    }
}

/// Compiles a layered file of the first frames of an input.
fn compiled(name: &str, (preset, apart): (Preset, bool), last: usize, path: &Path) -> Vec<u8> {
    let input = root().join("testdata/inputs").join(name);
    let scene = meshreel_read::open(&input, &meshreel_read::ReadOptions::default()).unwrap().0;
    let options = Options {
        preset,
        block: BlockChoice::Deflate,
        range: Some(TimeRange::Frames(0, last)),
        attributes_apart: apart,
        ..Options::default()
    };
    compile(scene.clone(), Vec::new(), path, &options, &meshreel_check::reopen, &Silent).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn a_decoder_made_from_the_document_agrees() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.reel");
    let mut files = vec![
        small(path.clone()).0,
        rich(path.clone(), BlockFormat::Store, 10),
        rich(path.clone(), BlockFormat::Deflate, 12),
        rich(path.clone(), BlockFormat::Lz4, 1),
        rich(path.clone(), BlockFormat::Lz4, 6),
    ];
    // Soft: uvs and predicted tangents, predicted normals; visibility and changing topology; transforms.
    for (name, preset, last) in [
        ("a_flag_wind.abc", (Preset::Small, false), 4),
        ("d_snake_skinned.abc", (Preset::Fast, false), 3),
        ("d_snake_skinned.abc", (Preset::Small, true), 3),
        ("j_visibility_particles.abc", (Preset::Small, false), 40),
        ("n_robot_bone_parented.abc", (Preset::Fast, false), 70),
        // Particles frame by frame.
        ("j_visibility_particles.abc", (Preset::Classic, false), 20),
    ] {
        files.push(compiled(name, preset, last, &path));
    }
    // Bones of all kinds, with tangents; rigid ones, which rotate normals, also packed.
    for preset in [Preset::Small, Preset::Fast] {
        files.push(compiled("prism.glb", (preset, false), 30, &path));
        files.push(compiled("beam.glb", (preset, false), 30, &path));
    }
    for transforms in [TransformForm::Clip, TransformForm::Packed] {
        let options = Options { block: BlockChoice::Deflate, transforms, ..Options::default() };
        let scene = crate::methods::mixed();
        compile(scene.clone(), Vec::new(), &path, &options, &meshreel_check::reopen, &Silent).unwrap();
        files.push(std::fs::read(&path).unwrap());
    }
    // Curves, and points with and without ids, in all forms.
    let scenes = || {
        [crate::particles::hair(20), crate::particles::drops(20, false), crate::particles::drops(30, true)]
    };
    for (preset, scene) in
        [Preset::Small, Preset::Fast].into_iter().flat_map(|preset| scenes().map(|scene| (preset, scene)))
    {
        let options = Options { preset, block: BlockChoice::Deflate, ..Options::default() };
        compile(scene.clone(), Vec::new(), &path, &options, &meshreel_check::reopen, &Silent).unwrap();
        files.push(std::fs::read(&path).unwrap());
    }
    for bytes in files {
        std::fs::write(&path, &bytes).unwrap();
        assert_decoded_alike(python, &path);
    }
}

/// Compares all frames of a file between the runtime and the other decoder.
pub(crate) fn assert_decoded_alike(python: &str, path: &Path) {
    let output = Command::new(python).arg(root().join("tools/decode.py")).arg(path).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reel = Reel::open(path, &Limits::default()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let shown = shown.as_array().unwrap();
    assert_eq!(shown.len(), reel.frame_count());
    for (f, shown) in shown.iter().enumerate() {
        decoder.decode(f).unwrap();
        assert_near("time", &numbers(&shown["time"]), &[reel.time(f)], 1e-12);
        let bounds = reel.frame_bounds(f).map(f64::from);
        match &shown["box"] {
            Value::Null => assert_eq!(reel.frame_bounds(f), EMPTY_BOUNDS),
            shown => assert_near("bounds", &numbers(shown), &bounds, 1e-12),
        }
        compare(&decoder, shown);
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}

fn assert_near(what: &str, a: &[f64], b: &[f64], bound: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        // The other decoder's text is read with an error of one f64 ulp, which is irrelevant for an f32.
        let equal = *a as f32 == *b as f32 || (a - b).abs() <= bound;
        assert!(equal, "{what}: {a} and {b}");
    }
}

/// Poses of clips in every form, at samples and in between, are bit-identical in both decoders.
#[test]
fn a_decoder_made_from_the_document_poses_clips() {
    use meshreel::clip::Query;
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("walk.bvh");
    std::fs::write(&source, meshreel_testkit::bvh(50, 0.0)).unwrap();
    let scene = meshreel_read::open(&source, &meshreel_read::ReadOptions::default()).unwrap().0;
    for (name, codec, form) in [
        ("one", CodecChoice::RandomAccess, "random-access"),
        ("layers", CodecChoice::RandomAccess, "random-access"),
        ("streamed", CodecChoice::Sampled, "sampled"),
        ("layers and tiers", CodecChoice::Sampled, "sampled"),
        ("curve", CodecChoice::Curve, "curve"),
    ] {
        let path = dir.path().join(name);
        let mut options = Options { block: BlockChoice::Deflate, codec, ..Options::default() };
        if form == "curve" {
            options.tolerance = Tolerance::Absolute(0.5);
        }
        if name.starts_with("layers") {
            let layer = |name: &str, share| LayerChoice {
                name: name.into(),
                fraction: share,
                ..LayerChoice::default()
            };
            options.clips.layers = vec![layer("base", None), layer("cosmetic", Some(0.4))];
        }
        if name.ends_with("tiers") {
            options.clips.layers[0].tiers = 3;
            options.clips.layers[1].tiers = 2;
            options.clips.layers[1].rate = Some(7.0);
        }
        compile(scene.clone(), Vec::new(), &path, &options, &meshreel_check::reopen, &Silent).unwrap();
        let decoder = root().join("tools/decode.py");
        let output = Command::new(python).arg(decoder).arg("--clips").arg(&path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        let clips = Reel::open(&path, &Limits::default()).unwrap().clips().unwrap();
        assert_eq!(shown.as_array().unwrap().len(), clips.len());
        for (clip, shown) in clips.iter().zip(shown.as_array().unwrap()) {
            assert_eq!((&shown["name"], &shown["codec"]), (&clip.name().into(), &form.into()));
            let poses = shown["poses"].as_array().unwrap();
            assert_eq!(poses.len(), 2 * clip.samples());
            let mut cursor = clip.cursor();
            for (i, theirs) in poses.iter().enumerate() {
                let at = (i / 2) as f64 + if i % 2 == 0 { 0.0 } else { 0.3 };
                let mut pose = vec![meshreel::Transform::IDENTITY; clip.joints()];
                cursor.pose(&Query::new(at / clip.fps()), &mut pose[..]).unwrap();
                let ours = pose
                    .iter()
                    .flat_map(|t| t.rotation.into_iter().chain(t.translation).chain(t.scale).map(f64::from));
                // A time in seconds is 0.3 of the way between two samples except for rounding.
                let bound = if i % 2 == 1 { 1e-5 } else { 0.0 };
                assert_near(&format!("{name} at {at}"), &numbers(theirs), &ours.collect::<Vec<f64>>(), bound);
            }
        }
    }
}

/// Compares a frame of the runtime with the other decoder's output. Positions, uvs and colours are
/// bit-identical; directions use other square roots.
fn compare(decoder: &FrameDecoder, shown: &Value) {
    let nodes = shown["nodes"].as_array().unwrap();
    for (n, node) in nodes.iter().enumerate() {
        assert_eq!(node["visible"].as_bool(), Some(decoder.visible(n)));
        let world = decoder.world(n).concat();
        assert_near("world", &numbers(&node["world"]), &world, 1e-9);
    }
    for (m, mesh) in shown["meshes"].as_array().unwrap().iter().enumerate() {
        let view = decoder.mesh(m);
        let indices: Vec<f64> = view.indices().iter().map(|&i| f64::from(i)).collect();
        assert_eq!(numbers(&mesh["indices"]), indices);
        let n = view.vertex_count();
        if view.record().particles.is_some() {
            let all = |key: &str| mesh[key].as_array().unwrap().iter().map(|v| v.as_u64().unwrap());
            assert!(all("ids").eq(view.ids().iter().copied()));
            assert!(all("curves").eq(view.curves().iter().map(|&count| u64::from(count))));
        }
        for (s, stream) in mesh["streams"].as_array().unwrap().iter().enumerate() {
            let theirs = numbers(&stream["values"]);
            let mut ours = vec![0.0f32; theirs.len()];
            let mut bound = 0.0;
            let set = view.record().streams[s].set;
            match stream["semantic"].as_u64().unwrap() {
                0 => view.positions_into(&mut ours).unwrap(),
                1 => {
                    bound = 1e-5;
                    view.normals_into(&mut ours).unwrap();
                }
                2 => {
                    bound = 1e-5;
                    let (mut normals, mut tangents) = (vec![0.0; 3 * n], vec![0.0; 4 * n]);
                    view.normals_into(&mut normals).unwrap();
                    view.tangents_into(&mut tangents).unwrap();
                    for v in 0..n {
                        ours[7 * v..7 * v + 3].copy_from_slice(&normals[3 * v..3 * v + 3]);
                        ours[7 * v + 3..7 * v + 7].copy_from_slice(&tangents[4 * v..4 * v + 4]);
                    }
                }
                3 => view.uvs_into(set, &mut ours).unwrap(),
                4 => view.colours_into(set, &mut ours).unwrap(),
                5 => view.velocities_into(&mut ours).unwrap(),
                6 => view.widths_into(&mut ours).unwrap(),
                _ => view.custom_into(s, &mut ours).unwrap(),
            }
            let ours: Vec<f64> = ours.into_iter().map(f64::from).collect();
            assert_near("values", &theirs, &ours, bound);
        }
    }
}
