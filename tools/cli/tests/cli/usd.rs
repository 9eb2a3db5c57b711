//! Tests of USD files with the program.

use super::common::run_line;
use std::path::{Path, PathBuf};

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/usd").join(name)
}

#[test]
fn i01_usd_is_compiled_and_holds() {
    let directory = tempfile::tempdir().unwrap();
    for (name, meshes, frames) in [
        ("cloth.usdc", 1, 8),
        ("cloth.usda", 1, 8),
        ("moves.usdc", 5, 8),
        ("changing.usdc", 1, 6),
        ("figure.usdc", 2, 7),
        ("tube.usdc", 1, 25),
        ("set.usda", 7, 5),
        ("set.usdz", 7, 5),
        ("crowds.usdc", 10, 6),
        ("skins.usda", 20, 2),
    ] {
        let (input, out) = (input(name), directory.path().join(name).with_extension("reel"));
        let paths = [("$IN", &*input), ("$OUT", &*out)];
        let info = run_line("info $IN --json", &paths).expect(0).json();
        assert_eq!(info["kind"], "usd", "{name}");
        run_line("compile $IN -o $OUT --effort 1", &paths).expect(0);
        let report = run_line("verify $IN $OUT --json", &paths).expect(0).json();
        assert_eq!(report["ok"], true, "{name}: {report}");
        let info = run_line("info $OUT --json", &paths).expect(0).json();
        // A mesh that is shown several times is stored once.
        let shown =
            info["nodes"].as_array().map_or(0, |nodes| nodes.iter().filter(|n| n["kind"] == "mesh").count());
        assert!(shown >= meshes, "{name}: {info}");
        let count = info["frames"].as_u64().unwrap();
        assert!(count >= frames, "{name}: {count} frames");
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn i03_a_skeleton_is_a_rig() {
    let directory = tempfile::tempdir().unwrap();
    let (input, out) = (input("tube.usdc"), directory.path().join("tube.reel"));
    let paths = [("$IN", &*input), ("$OUT", &*out)];
    let run = run_line("compile $IN -o $OUT --rig keep --effort 1 --json", &paths).expect(0);
    assert!(!run.stderr.contains("rig is left out"), "{}", run.stderr);
    run_line("verify $IN $OUT", &paths).expect(0);
    let info = run_line("info $OUT --json", &paths).expect(0).json();
    assert_eq!(info["clips"].as_array().map(Vec::len), Some(1), "{info}");
}

#[test]
fn i01_what_is_no_usd_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in
        [("a.usda", &b"content"[..]), ("b.usdc", b"PXR-USDC"), ("c.usdz", b"PK\x03\x04"), ("d.usd", b"")]
    {
        let input = directory.path().join(name);
        std::fs::write(&input, bytes).unwrap();
        let run = run_line("info $IN", &[("$IN", &input)]).expect(1);
        assert!(run.error_line().contains(name), "{name}: {}", run.stderr);
    }
    let strict =
        run_line("compile $IN -o $OUT --strict", &[("$IN", &input("set.usda")), ("$OUT", directory.path())]);
    assert!(strict.expect(1).stderr.contains("outside.usda"));
}

/// If nothing is left of a file, the omissions are printed before the error, and are in its JSON.
#[test]
fn i02_what_was_left_out_is_said_where_nothing_remains() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("shot.usda");
    std::fs::write(&input, "#usda 1.0\n( subLayers = [@../elsewhere.usda@] )\n").unwrap();
    let [out, plan] = ["out.reel", "out.plan"].map(|name| directory.path().join(name));
    let paths = [("$IN", &*input), ("$OUT", &*out), ("$PLAN", &*plan)];
    for line in ["compile $IN -o $OUT", "plan $IN -o $PLAN"] {
        let run = run_line(line, &paths).expect(1);
        let [remark, error] = run.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", run.stderr) };
        assert!(remark.contains("'../elsewhere.usda' lies outside of the folder"), "{remark}");
        assert!(error.starts_with("error: ") && error.contains("nothing to compile"), "{error}");
        let run = run_line(&format!("{line} --json"), &paths).expect(1);
        assert_eq!(run.json()["error"]["remarks"].as_array().map(Vec::len), Some(1), "{}", run.stdout);
        assert!(!out.exists() && !plan.exists());
    }
}
