//! Tests of views between two frames of compiled files, of every preset: at a frame they equal the plain
//! decode, in between they are interpolated linearly.

use meshreel::{FrameDecoder, FrameView, Limits, Pace, Reel};
use std::path::Path;
use std::process::Command;

fn compiled(directory: &Path, name: &str, preset: &str) -> Reel {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs").join(name);
    let reel = directory.join(format!("{preset}.reel"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshreel"));
    command.arg("compile").arg(source).arg("-o").arg(&reel);
    let done = command.args(["--quiet", "--effort", "1", "--preset", preset]).status();
    assert!(done.unwrap().success(), "{name} {preset}");
    Reel::open(&reel, &Limits::default()).unwrap()
}

/// All values of the mesh of each node, as floats.
type Floats = Vec<Vec<f32>>;

fn decoder_floats(reel: &Reel, frame: usize) -> Floats {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    decoder.decode(frame).unwrap();
    let nodes = reel.description().nodes.iter();
    nodes
        .filter_map(|node| node.mesh)
        .map(|mesh| {
            let mesh = decoder.mesh(mesh as usize);
            let mut out = vec![0.0; 3 * mesh.vertex_count()];
            mesh.positions_into(&mut out).unwrap();
            let mut normals = vec![0.0; out.len()];
            if mesh.has_normals() {
                mesh.normals_into(&mut normals).unwrap();
            }
            let mut uvs = vec![0.0; 2 * mesh.vertex_count()];
            let _ = mesh.uvs_into(0, &mut uvs);
            [out, normals, uvs].concat()
        })
        .collect()
}

fn view_floats(view: &FrameView<'_>) -> Floats {
    (0..view.reel().description().nodes.len())
        .filter_map(|node| view.mesh(node))
        .map(|mesh| {
            let mut out = vec![0.0; 3 * mesh.vertex_count()];
            mesh.positions_into(&mut out).unwrap();
            let mut normals = vec![0.0; out.len()];
            let _ = mesh.normals_into(&mut normals);
            let mut uvs = vec![0.0; 2 * mesh.vertex_count()];
            let _ = mesh.uvs_into(0, &mut uvs);
            [out, normals, uvs].concat()
        })
        .collect()
}

#[test]
fn a_view_of_every_preset() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a_flag_wind.abc", "g_scene_attributes.abc"] {
        for preset in ["small", "classic"] {
            let reel = compiled(directory.path(), name, preset);
            let last = reel.frame_count() - 1;
            for frame in [0, 1.min(last), last / 2, last] {
                let decoders = [frame, (frame + 1).min(last)].map(|frame| {
                    let mut decoder = FrameDecoder::new(&reel).unwrap();
                    decoder.decode(frame).unwrap();
                    decoder
                });
                let at = |blend| {
                    let pace = Pace::default();
                    FrameView::between(&decoders[0], &decoders[1], blend, pace).unwrap()
                };
                let plain = decoder_floats(&reel, frame);
                assert_eq!(view_floats(&at(0.0)), plain, "{name} {preset} frame {frame}");
                let to = decoder_floats(&reel, (frame + 1).min(last));
                let between = view_floats(&at(0.5));
                for node in 0..between.len() {
                    let view = at(0.5);
                    let mesh =
                        (0..reel.description().nodes.len()).filter_map(|n| view.mesh(n)).nth(node).unwrap();
                    let positions = 0..3 * mesh.vertex_count();
                    for i in positions.filter(|_| mesh.blends()) {
                        let want = plain[node][i] + (to[node][i] - plain[node][i]) * 0.5;
                        assert_eq!(between[node][i], want, "{name} {preset} frame {frame}");
                    }
                }
            }
        }
    }
}
