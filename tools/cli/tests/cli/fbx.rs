//! FBX files through the program, where it was built with the feature `fbx`.

use super::common::run_line;
use std::path::{Path, PathBuf};

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/fbx").join(name)
}

#[test]
fn i22_fbx_is_compiled_holds_and_is_extracted() {
    let directory = tempfile::tempdir().unwrap();
    for (name, meshes, frames, more) in [
        ("skinned.fbx", 1, 12, ""),
        ("shapes.fbx", 1, 12, ""),
        ("moves.fbx", 3, 12, ""),
        ("cached.fbx", 6, 8, ""),
        ("takes.fbx", 1, 6, ""),
        ("takes.fbx", 1, 9, " --animation 1"),
        ("takes.fbx", 1, 15, " --animation all"),
    ] {
        let (input, out) = (input(name), directory.path().join("out.reel"));
        let back = directory.path().join("back.abc");
        let paths = [("$IN", &*input), ("$OUT", &*out), ("$BACK", &*back)];
        let info = run_line("info $IN --json", &paths).expect(0).json();
        assert_eq!(info["kind"], "fbx", "{name}");
        run_line(&format!("compile $IN -o $OUT --effort 1{more}"), &paths).expect(0);
        let report = run_line("verify $IN $OUT --json", &paths).expect(0).json();
        assert_eq!(report["ok"], true, "{name}{more}: {report}");
        let info = run_line("info $OUT --json", &paths).expect(0).json();
        let nodes = info["nodes"].as_array().unwrap();
        assert_eq!(
            nodes.iter().filter(|node| node["kind"] == "mesh").count(),
            meshes,
            "{name}{more}: {info}"
        );
        assert_eq!(info["frames"], frames, "{name}{more}");
        run_line("extract $OUT -o $BACK", &paths).expect(0);
        let info = run_line("info $BACK --json", &paths).expect(0).json();
        assert_eq!(info["kind"], "alembic-ogawa", "{name}: {info}");
        for file in [&out, &back] {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn i22_what_is_no_fbx_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("a.fbx");
    std::fs::write(&input, b"content").unwrap();
    let run = run_line("info $IN", &[("$IN", &input)]).expect(1);
    assert!(run.error_line().contains("a.fbx"), "{}", run.stderr);
}
