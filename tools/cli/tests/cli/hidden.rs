//! Tests of meshes that are never visible, and of `--show-hidden`.

use super::common::{names, run_line};
use serde_json::json;
use std::path::Path;

/// Returns a group that is hidden in all frames, with a moving cube; and optionally a visible cube.
fn scene(with_other: bool) -> String {
    let cube = |name: &str| {
        format!(
            "def Cube \"{name}\"\n{{\ndouble3 xformOp:translate.timeSamples = {{ 0: (0,0,0), 5: (0,5,0) }}\n\
             uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}}\n"
        )
    };
    let hidden = format!("def Xform \"rig\"\n{{\ntoken visibility = \"invisible\"\n{}}}\n", cube("body"));
    let other = if with_other { cube("seen") } else { String::new() };
    format!("#usda 1.0\n(\nmetersPerUnit = 1\ntimeCodesPerSecond = 5\n)\n{hidden}{other}")
}

#[test]
fn i50_what_is_hidden_in_every_frame_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (source, reel, archive, again) = (at("a.usda"), at("a.reel"), at("a.abc"), at("b.reel"));
    let paths: [(&str, &Path); 4] =
        [("$IN", &source), ("$OUT", &reel), ("$ABC", &archive), ("$AGAIN", &again)];
    std::fs::write(&source, scene(false)).unwrap();
    let compiled = run_line("compile $IN -o $OUT", &paths).expect(0);
    for part in ["/rig/body: is hidden in every frame", "--show-hidden", "nothing is ever seen"] {
        assert!(compiled.stderr.contains(part), "{part}: {}", compiled.stderr);
    }
    let text = run_line("verify $IN $OUT", &paths).expect(0).stdout;
    assert!(text.contains("nothing was visible") && !text.contains("every promise holds"), "{text}");
    let json = run_line("verify $IN $OUT --json", &paths).expect(0).json();
    assert_eq!((&json["ok"], &json["nothing_visible"]), (&true.into(), &true.into()));
    // With another reader.
    run_line("extract $OUT -o $ABC", &paths).expect(0);
    let compiled = run_line("compile $ABC -o $AGAIN", &paths).expect(0);
    assert!(compiled.stderr.contains("nothing is ever seen"), "{}", compiled.stderr);
    // One of two is hidden.
    std::fs::write(&source, scene(true)).unwrap();
    let compiled = run_line("compile $IN -o $OUT", &paths).expect(0);
    assert!(compiled.stderr.contains("/rig/body: is hidden"), "{}", compiled.stderr);
    for part in ["/seen", "nothing is ever seen"] {
        assert!(!compiled.stderr.contains(part), "{part}: {}", compiled.stderr);
    }
    let text = run_line("verify $IN $OUT", &paths).expect(0).stdout;
    assert!(text.contains("every promise holds"), "{text}");
}

#[test]
fn i50_strict_refuses_a_file_in_which_nothing_is_ever_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (source, reel) = (folder.path().join("a.usda"), folder.path().join("a.reel"));
    let paths: [(&str, &Path); 2] = [("$IN", &source), ("$OUT", &reel)];
    std::fs::write(&source, scene(false)).unwrap();
    let refused = run_line("compile $IN -o $OUT --strict", &paths).expect(1);
    assert!(refused.stderr.contains("nothing is ever seen"), "{}", refused.stderr);
    assert_eq!(names(folder.path()), ["a.usda"]);
    run_line("compile $IN -o $OUT --strict --show-hidden", &paths).expect(0);
}

#[test]
fn i50_show_hidden_compiles_and_checks_what_is_hidden_as_if_it_were_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (source, reel, file) = (at("a.usda"), at("a.reel"), at("o.toml"));
    let (plan, part, joined) = (at("a.plan"), at("a.part"), at("b.reel"));
    let paths: [(&str, &Path); 6] = [
        ("$IN", &source),
        ("$OUT", &reel),
        ("$FILE", &file),
        ("$PLAN", &plan),
        ("$PART", &part),
        ("$JOINED", &joined),
    ];
    std::fs::write(&source, scene(false)).unwrap();
    std::fs::write(&file, "show-hidden = true\n").unwrap();
    for more in ["--show-hidden", "--options $FILE"] {
        let compiled = run_line(&format!("compile $IN -o $OUT {more}"), &paths).expect(0);
        assert!(!compiled.stderr.contains("hidden"), "{}", compiled.stderr);
        let info = run_line("info $OUT --json", &paths).expect(0).json();
        assert!(info["options"].as_array().unwrap().contains(&json!(["show-hidden", "true"])), "{info}");
        let verified = run_line("verify $IN $OUT --json", &paths).expect(0).json();
        assert_eq!((&verified["ok"], &verified["nothing_visible"]), (&true.into(), &false.into()));
        assert!(verified["meshes"][0]["frames"].as_u64() >= Some(2), "{verified}");
    }
    run_line("plan $IN -o $PLAN --show-hidden", &paths).expect(0);
    run_line("part $PLAN 1/1 -o $PART", &paths).expect(0);
    run_line("join $PART -o $JOINED", &paths).expect(0);
    assert_eq!(std::fs::read(&joined).unwrap(), std::fs::read(&reel).unwrap());
    let planned = run_line("plan $IN -o $PLAN", &paths).expect(0);
    assert!(planned.stderr.contains("--show-hidden"), "{}", planned.stderr);
}
