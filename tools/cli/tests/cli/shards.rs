//! Tests of compiling many files on many machines, and only those that have changed.

use super::common::{Run, bundled, names, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/// Returns a folder with five files, each a triangle.
fn five() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["e", "b", "d", "a", "c"] {
        std::fs::write(folder.path().join(name).with_extension("obj"), TRIANGLE).unwrap();
    }
    folder
}

fn names_in<'a>(value: &'a Value, list: &str, key: &str) -> Vec<&'a str> {
    let all = value[list].as_array().unwrap().iter();
    all.map(|one| one[key].as_str().unwrap().rsplit('/').next().unwrap()).collect()
}

#[test]
fn shares_of_many_files_are_all_of_them_and_each_once() {
    let folder = five();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut seen = BTreeSet::new();
    for (k, expected) in [(1, &["a.obj", "d.obj"][..]), (2, &["b.obj", "e.obj"]), (3, &["c.obj"])] {
        let shard = format!("{k}/3");
        // In any order, and one of them twice.
        let inputs = [at("e.obj"), at("*.obj"), at("a.obj")];
        let line = [&["compile", &inputs[0], &inputs[1], &inputs[2]][..], &["-o", &at("out/"), "--json"]];
        let done = run([&line.concat()[..], &["--shard", &shard]].concat()).expect(0).json();
        assert_eq!(names_in(&done, "files", "input"), expected);
        assert_eq!(done["shard"], serde_json::json!({"number": k, "count": 3, "inputs": 5}));
        assert_eq!(done["skipped"], serde_json::json!([]));
        for name in names_in(&done, "files", "output") {
            assert!(seen.insert(name.to_owned()), "{name} twice");
        }
    }
    assert_eq!(names(Path::new(&at("out"))), ["a.reel", "b.reel", "c.reel", "d.reel", "e.reel"]);
    // With more shares than files, some have nothing to do.
    let none = run(["compile", &at("*.obj"), "--shard", "6/6", "-o", &at("out/"), "--json"]).expect(0).json();
    assert_eq!((&none["compiled"], &none["failed"]), (&0.into(), &0.into()));
    let text = run(["compile", &at("*.obj"), "--shard", "2/3", "-o", &at("out/")]).expect(0).stdout;
    assert!(text.contains("share 2 of 3 of 5 files"), "{text}");
    for wrong in ["0/3", "4/3", "2", "a/b"] {
        run(["compile", &at("*.obj"), "--shard", wrong]).expect(2);
    }
    run(["compile", &at("*.obj"), "--shard", "1/2", "-o", &at("all.reel")]).expect(2);
    run(["compile", &at("*.obj"), "--shard", "1/2", "-o", &at("all.reel"), "--merge"]).expect(2);
}

#[test]
fn what_has_not_changed_is_left_alone() {
    let folder = five();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let again = |more: &[&str]| {
        let line = ["compile", &at("*.obj"), "-o", &at("out/"), "--json", "--changed-only"];
        let done = run([&line[..], more].concat()).expect(0).json();
        let lists = [("files", "input"), ("skipped", "input")];
        lists.map(|(list, key)| names_in(&done, list, key).into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let all = ["a.obj", "b.obj", "c.obj", "d.obj", "e.obj"];
    let none: [&str; 0] = [];
    assert_eq!(again(&[]), [&all[..], &none]);
    let reels = |names: &[&str]| -> Vec<Vec<u8>> {
        names.iter().map(|name| std::fs::read(at(&format!("out/{name}.reel"))).unwrap()).collect()
    };
    let first = reels(&["a", "b"]);
    assert_eq!(again(&[]), [&none[..], &all]);
    // Options that only affect the run make no difference.
    assert_eq!(again(&["--jobs", "1"]), [&none[..], &all]);
    // A newer time alone is no change, new content with the old time is one.
    let time = std::fs::metadata(at("b.obj")).unwrap().modified().unwrap();
    std::fs::write(at("a.obj"), TRIANGLE).unwrap();
    std::fs::write(at("b.obj"), TRIANGLE.replace("v 1 0", "v 2 0")).unwrap();
    std::fs::File::options().write(true).open(at("b.obj")).unwrap().set_modified(time).unwrap();
    assert_eq!(again(&[]), [&["b.obj"][..], &["a.obj", "c.obj", "d.obj", "e.obj"]]);
    let second = reels(&["a", "b"]);
    assert!(first[0] == second[0] && first[1] != second[1]);
    // A missing file, and one that somebody else wrote, are made again.
    std::fs::remove_file(at("out/c.reel")).unwrap();
    std::fs::copy(at("out/b.reel"), at("out/d.reel")).unwrap();
    std::fs::write(at("out/e.reel.made-of.json"), "{}").unwrap();
    assert_eq!(again(&[]), [&["c.obj", "d.obj", "e.obj"][..], &["a.obj", "b.obj"]]);
    assert_eq!(again(&["--tolerance", "0.5"]), [&all[..], &none]);
    assert_eq!(again(&["--tolerance", "0.5", "--source-fps", "24"]), [&all[..], &none]);
    // Without the flag everything is made, and a record that does not fit is not trusted.
    run(["compile", &at("*.obj"), "-o", &at("out/"), "--strip"]).expect(0);
    assert_eq!(again(&["--tolerance", "0.5", "--source-fps", "24"]), [&all[..], &none]);
    // A dry run writes nothing.
    let dry = run(["compile", &at("a.obj"), "--changed-only", "--dry-run"]).expect(0);
    assert!(dry.stdout.contains("would be"), "{}", dry.stdout);
    assert!(!Path::new(&at("a.reel.made-of.json")).exists());
}

#[test]
fn everything_that_is_read_counts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let is_skipped = |run: Run| {
        let done = run.expect(0).json();
        done["skipped"].as_array().is_some_and(|skipped| skipped.len() == 1)
    };
    // A sequence depends on each of its files, and on their number.
    for frame in 1..=3 {
        let points = TRIANGLE.replace("v 0 0 0", &format!("v 0 0 {frame}"));
        std::fs::write(at(&format!("s.{frame}.obj")), points).unwrap();
    }
    let sequence = || run(["compile", &at("s.#.obj"), "--changed-only", "--json"]);
    assert!(!is_skipped(sequence()) && is_skipped(sequence()));
    std::fs::write(at("s.2.obj"), TRIANGLE.replace("v 0 0 0", "v 0 0 7")).unwrap();
    assert!(!is_skipped(sequence()) && is_skipped(sequence()));
    std::fs::write(at("s.4.obj"), TRIANGLE.replace("v 0 0 0", "v 0 0 4")).unwrap();
    assert!(!is_skipped(sequence()) && is_skipped(sequence()));
    // A .gltf depends on its buffers.
    let glb = std::fs::read(bundled("prism.glb")).unwrap();
    let length = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().unwrap()) as usize;
    let json = &glb[20..20 + length(12)];
    let buffer = &glb[20 + length(12) + 8..];
    let mut document: Value = serde_json::from_slice(json).unwrap();
    document["buffers"][0]["uri"] = "prism.bin".into();
    std::fs::write(at("prism.gltf"), document.to_string()).unwrap();
    std::fs::write(at("prism.bin"), buffer).unwrap();
    let document = || run(["compile", &at("prism.gltf"), "--changed-only", "--json"]);
    assert!(!is_skipped(document()) && is_skipped(document()));
    // Beyond the bytes that the document uses.
    std::fs::write(at("prism.bin"), [buffer, &[0; 4]].concat()).unwrap();
    assert!(!is_skipped(document()) && is_skipped(document()));
    // A single file reports it.
    let text = run(["compile", &at("prism.gltf"), "--changed-only"]).expect(0).stdout;
    assert!(text.contains("prism.reel is as it would be"), "{text}");
}
