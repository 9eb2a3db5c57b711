//! Tests of the conformance set, `testdata/conformance`: what the runtime shows of it equals the numbers of
//! its sources, whether compiled now or when it was made.

use meshreel::clip::{self, Query};
use meshreel::time::FramePair;
use meshreel::{FrameDecoder, FrameView, Limits, MeshFrame, Pace, Reel, Transform};
use meshreel_testkit::python;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn committed() -> PathBuf {
    root().join("testdata/conformance")
}

/// Returns the frames that a time lies between.
fn pair(reel: &Reel, seconds: f64) -> FramePair {
    let after = (0..reel.frame_count()).find(|frame| reel.time(*frame) > seconds + 1e-6);
    let second = after.unwrap_or(reel.frame_count() - 1);
    let first = after.map_or(second, |after| after - 1);
    let step = reel.time(second) - reel.time(first);
    let blend = if step > 0.0 { ((seconds - reel.time(first)) / step) as f32 } else { 0.0 };
    FramePair { first: first as u32, second: second as u32, blend: if blend < 1e-5 { 0.0 } else { blend } }
}

/// Returns an attribute of a mesh, if it has it.
fn values<E>(
    mesh: &MeshFrame,
    components: usize,
    read: impl Fn(&mut [f32]) -> Result<(), E>,
) -> Option<Vec<f32>> {
    let mut out = vec![0.0; components * mesh.vertex_count()];
    read(&mut out).ok().map(|()| out)
}

fn node(view: &FrameView, number: usize) -> Option<Value> {
    let mesh = view.mesh(number)?;
    let materials: Vec<Value> = mesh
        .record()
        .materials
        .iter()
        .zip(mesh.materials())
        .map(|(material, range)| json!({"name": material.name, "count": range.count}))
        .collect();
    let points = mesh.indices().is_empty();
    Some(json!({
        "path": view.reel().description().nodes[number].path,
        "visible": view.visible(number),
        "world": view.world(number).concat(),
        "positions": values(&mesh, 3, |out| mesh.positions_into(out)),
        "normals": values(&mesh, 3, |out| mesh.normals_into(out)),
        "uvs": values(&mesh, 2, |out| mesh.uvs_into(0, out)),
        "colours": values(&mesh, 4, |out| mesh.colours_into(0, out)),
        "widths": values(&mesh, 1, |out| mesh.widths_into(out)).filter(|_| points),
        "indices": mesh.indices(),
        "levels": (0..mesh.lod_count()).map(|level| mesh.lod(level).indices.len() / 3).collect::<Vec<_>>(),
        "materials": materials,
    }))
}

fn cameras(view: &FrameView) -> Vec<Value> {
    let described = |camera: meshreel::Camera| {
        let world = view.world(camera.node());
        let column = |c: usize, sign: f64| [sign * world[0][c], sign * world[1][c], sign * world[2][c]];
        json!({
            "path": camera.path(), "right": column(0, 1.0), "up": column(1, 1.0), "forward": column(2, -1.0),
            "eye": column(3, 1.0), "focal_length": camera.lens(view.pair()).focal_length,
        })
    };
    view.reel().cameras().unwrap().into_iter().map(described).collect()
}

fn joints(reel: &Reel, seconds: f64) -> Vec<Value> {
    let clips = reel.clips().unwrap();
    let skeleton = clips[0].skeleton();
    let mut local = vec![Transform::IDENTITY; clips[0].joints()];
    clips[0].cursor().pose(&Query::new(seconds), &mut local[..]).unwrap();
    let mut object = vec![[[0.0; 4]; 3]; local.len()];
    clip::object_space(&skeleton.parents, &local, &mut object);
    let described = |(name, m): (&String, &[[f32; 4]; 3])| {
        let column = |c: usize| [m[0][c], m[1][c], m[2][c]];
        let axes = [column(0), column(1), column(2)].concat();
        json!({"name": name, "position": column(3), "axes": axes})
    };
    skeleton.names.iter().zip(&object).map(described).collect()
}

/// Returns what is shown of the files in a folder, as `testdata/conformance/README.md` asks for it.
fn shown(folder: &Path) -> Value {
    let mut files = Map::new();
    for line in std::fs::read_to_string(folder.join("moments.txt")).unwrap().lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let reel = Reel::open(folder.join(name), &Limits::default()).unwrap();
        let moments = words.map(|word| {
            let seconds: f64 = word.parse().unwrap();
            if reel.frame_count() == 0 {
                return json!({"seconds": seconds, "joints": joints(&reel, seconds)});
            }
            let FramePair { first, second, blend } = pair(&reel, seconds);
            let decoders = [first, second].map(|frame| {
                let mut decoder = FrameDecoder::new(&reel).unwrap();
                decoder.decode(frame as usize).unwrap();
                decoder
            });
            let view = FrameView::between(&decoders[0], &decoders[1], blend, Pace::default()).unwrap();
            let count = reel.description().nodes.len();
            let nodes: Vec<Value> = (0..count).filter_map(|number| node(&view, number)).collect();
            json!({"seconds": seconds, "nodes": nodes, "cameras": cameras(&view)})
        });
        let metres = if matches!(name, "clip.reel" | "hierarchy.reel") { 0.01 } else { 1.0 };
        files.insert(name.into(), json!({"metres": metres, "moments": moments.collect::<Vec<_>>()}));
    }
    json!({"engine": "meshreel", "files": files})
}

/// Runs the comparison, and returns whether there are no differences, and its output.
fn compare(python: &str, shown: &Value) -> (bool, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), shown.to_string()).unwrap();
    let script = root().join("tools/conformance/check.py");
    let done = Command::new(python).arg(script).arg(file.path()).output().unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    (done.status.success(), String::from_utf8_lossy(&done.stdout).into())
}

#[test]
fn the_runtime_shows_the_numbers_of_the_sources() {
    let Some(python) = python() else { return };
    let (same, output) = compare(python, &shown(&committed()));
    assert!(same, "{output}");
}

#[test]
fn the_set_is_that_of_its_script() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut make = Command::new(python);
    make.arg(root().join("tools/conformance/make.py")).arg(env!("CARGO_BIN_EXE_meshreel")).arg(folder.path());
    assert!(make.status().unwrap().success());
    for name in ["expected.json", "moments.txt"] {
        let [made, own] =
            [folder.path(), &committed()].map(|at| std::fs::read_to_string(at.join(name)).unwrap());
        assert!(made == own, "{name} would be written in another way: run tools/conformance/make.py");
    }
    let (same, output) = compare(python, &shown(folder.path()));
    assert!(same, "{output}");
}

/// Changes a list of numbers of each node.
fn change(shown: &mut Value, name: &str, by: impl Fn(&mut Vec<Value>)) {
    for (_, file) in shown["files"].as_object_mut().unwrap() {
        for moment in file["moments"].as_array_mut().unwrap() {
            for node in moment.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(list) = node.get_mut(name).and_then(Value::as_array_mut) {
                    by(list);
                }
            }
        }
    }
}

fn negate(value: &mut Value) {
    *value = json!(-value.as_f64().unwrap());
}

#[test]
fn differences_are_found() {
    let Some(python) = python() else { return };
    let right = shown(&committed());
    let wrong = |name: &str, by: &dyn Fn(&mut Vec<Value>), expected: &str| {
        let mut changed = right.clone();
        change(&mut changed, name, by);
        let (same, output) = compare(python, &changed);
        assert!(!same && output.contains(expected), "{name}: {output:.400}");
    };
    wrong("positions", &|list| list.iter_mut().step_by(3).for_each(negate), "from the nearest vertex");
    wrong("world", &|list| list.iter_mut().take(4).for_each(negate), "from the nearest vertex");
    wrong("normals", &|list| list.iter_mut().for_each(negate), "face against their normals");
    wrong("indices", &|list| list.chunks_mut(3).for_each(|t| t.swap(1, 2)), "triangles are turned");
    wrong("indices", &|list| list.truncate(list.len().saturating_sub(3)), "triangles, not");
    wrong("uvs", &|list| list.chunks_mut(2).for_each(|uv| uv.swap(0, 1)), "uv (");
    wrong("colours", &|list| list.chunks_mut(4).for_each(|c| c.swap(0, 2)), "colour [");
    wrong("widths", &|list| list.iter_mut().for_each(negate), "width ");
    wrong("levels", &|list| list.truncate(2), "levels of");
    wrong("materials", &|list| list.clear(), "material letters");
    let mut late = right.clone();
    let moments = &mut late["files"]["soft.reel"]["moments"];
    moments[2]["nodes"] = moments[1]["nodes"].clone();
    assert!(!compare(python, &late).0, "a time between two frames");
}
