//! Tests of output names and summaries: names, globs, merging, units, the sum of sizes.

use super::common::{bundled, names, run, run_line};
use serde_json::Value;
use std::path::Path;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/// Returns a folder with these files, each a triangle.
fn triangles(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        std::fs::write(folder.path().join(file), TRIANGLE).unwrap();
    }
    folder
}

#[test]
fn outputs_have_names_of_their_own() {
    let folder = triangles(&["a.obj", "b.obj"]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    run(["compile", &at("a.obj")]).expect(0);
    assert_eq!(names(folder.path()), ["a.obj", "a.reel", "b.obj"]);
    // Several: each beside its input, or all into one, and never guessed.
    run(["compile", &at("a.obj"), &at("b.obj")]).expect(0);
    assert_eq!(names(folder.path()), ["a.obj", "a.reel", "b.obj", "b.reel"]);
    for output in ["out", "out.reel"] {
        let wrong = run(["compile", &at("a.obj"), &at("b.obj"), "-o", &at(output)]).expect(2);
        let line = wrong.error_line();
        assert!(line.contains("--merge") && line.contains("out/"), "{line}");
    }
    let merged = ["compile", &at("a.obj"), &at("b.obj"), "--merge", "-o", &at("out.reel")];
    run(merged).expect(0);
    let info = run(["info", &at("out.reel"), "--json"]).expect(0).json();
    assert_eq!(info["nodes"].as_array().unwrap().len(), 2);
    run(["compile", &at("a.obj"), &at("b.obj"), "--merge"]).expect(2);
    run(["compile", &at("a.obj"), "--merge", "-o", &at("")]).expect(2);
}

#[test]
fn quoted_globs_are_expanded() {
    let folder = triangles(&["a.obj", "b.obj", "c[1].obj"]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let all = run(["compile", &at("?.obj"), "-o", &at("out/"), "--json"]).expect(0);
    assert_eq!(all.json()["compiled"], 2);
    assert_eq!(names(Path::new(&at("out"))), ["a.reel", "b.reel"]);
    // A file with exactly that name is no pattern.
    run(["compile", &at("c[1].obj")]).expect(0);
    assert!(Path::new(&at("c[1].reel")).exists());
    // Without a match nothing is written.
    for nothing in ["nothing*.obj", "nothing.obj"] {
        let failed = run(["compile", &at(nothing), "-o", &at("none/")]).expect(1);
        assert!(failed.error_line().contains("(check the name)"));
        assert!(!Path::new(&at("none")).exists());
    }
}

#[test]
fn tolerances_have_units() {
    let folder = triangles(&["a.obj"]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let tolerance = |unit: &str| {
        let line = ["compile", &at("a.obj"), "--tolerance", "5mm", "--unit", unit, "--json"];
        run(line).expect(0).json()["meshes"][0]["tolerance"].as_f64().unwrap()
    };
    assert!((tolerance("cm") - 0.5).abs() < 1e-9 && (tolerance("m") - 0.005).abs() < 1e-9);
    let untold = run(["compile", &at("a.obj"), "--tolerance", "5mm"]).expect(2);
    assert!(untold.error_line().contains("--unit"), "{}", untold.stderr);
    run(["compile", &at("a.obj"), "--tolerance", "101%"]).expect(2);
}

#[test]
fn options_files_say_how_it_runs_too() {
    let folder = triangles(&["a.obj"]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("o.toml"), "dry-run = true\nexplain = true\nstrict = true\n").unwrap();
    let line = ["compile", &at("a.obj"), "--options", &at("o.toml"), "--json"];
    let done = run(line).expect(0).json();
    assert_eq!(done["written"], false);
    assert!(done["passes"].is_array());
    assert_eq!(names(folder.path()), ["a.obj", "o.toml"]);
}

#[test]
fn what_is_said_of_a_file_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let reel = folder.path().join("a.reel");
    for (input, more) in [
        ("prism.glb", ""),
        ("n_robot_bone_parented.abc", "--preset fast"),
        ("m_scale_shear.abc", "--preset classic"),
        ("prism.glb", "--clips-only --codec curve"),
    ] {
        let line = format!("compile $IN -o $REEL --json {more}");
        let all = [("$IN", bundled(input)), ("$REEL", reel.clone())];
        let all: Vec<(&str, &Path)> = all.iter().map(|(name, path)| (*name, path.as_path())).collect();
        let done = run_line(&line, &all).expect(0).json();
        let info = run_line("info $REEL --json --frames", &all).expect(0).json();
        let clips = |value: &Value| -> Vec<(String, u64, String)> {
            let all = value["clips"].as_array().unwrap().iter();
            let mut all: Vec<_> = all
                .map(|clip| {
                    let name = clip["name"].as_str().unwrap().to_owned();
                    let ratio = format!("{:.2}", clip["ratio"].as_f64().unwrap());
                    (name, clip["bytes"].as_u64().unwrap(), ratio)
                })
                .collect();
            all.sort();
            all
        };
        assert_eq!(clips(&done), clips(&info), "{input} {more}");
        // All verbs report the same tolerance, and no error exceeds it.
        let verified = run_line("verify $IN $REEL --json", &all).expect(0).json();
        let told = |value: &Value, list: &str| -> Vec<f64> {
            let all = value[list].as_array().unwrap().iter();
            let own = all.filter(|one| !one["tolerance"].is_null());
            own.map(|one| one["tolerance"].as_f64().unwrap()).collect()
        };
        let (mut by_verify, mut by_info) = (told(&verified, "meshes"), told(&info, "nodes"));
        by_verify.sort_by(f64::total_cmp);
        by_info.sort_by(f64::total_cmp);
        assert_eq!(by_verify, by_info);
        // For a mesh in several places, that of the one nearest to its tolerance.
        assert!(told(&done, "meshes").iter().all(|t| by_info.contains(t)), "{input} {more}");
        for clip in done["clips"].as_array().unwrap() {
            let [error, limit] = ["max_error", "tolerance"].map(|key| clip[key].as_f64().unwrap());
            assert!(error <= limit, "{clip}");
        }
        // The sizes of frames add up to the total.
        let frames = info["frame_table"].as_array().unwrap().iter();
        let sum: u64 = frames.map(|frame| frame["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum, info["bytes"]["frames"].as_u64().unwrap(), "{input} {more}");
        let bytes = done["source_bytes"].as_f64().unwrap();
        let counted = done["file_bytes"].as_f64().unwrap() - done["source_map_bytes"].as_f64().unwrap();
        assert!((done["source_ratio"].as_f64().unwrap() - bytes / counted).abs() < 1e-9);
    }
    // A file of clips alone has samples, and no frames.
    let text = run_line("info $REEL --tree", &[("$REEL", &reel)]).expect(0).stdout;
    assert!(!text.contains("0 frames") && text.contains(" samples, "), "{text}");
    assert!(text.contains("tolerance 0.01 %,"), "{text}");
    assert!(text.contains("skeleton ") && text.contains(" 3 joints"), "{text}");
    let clip =
        run_line("compile $IN -o $REEL --clips-only", &[("$IN", &bundled("prism.glb")), ("$REEL", &reel)]);
    assert!(!clip.expect(0).stdout.contains("0 frames"));
}

#[test]
fn a_plot_of_nothing_named_shows_what_moves() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (reel, picture, input) = (at("a.reel"), at("a.png"), bundled("prism.glb"));
    for (more, title) in [("", "point"), ("--clips-only", "bend: ")] {
        let all: [(&str, &Path); 3] = [("$IN", &input), ("$REEL", &reel), ("$PNG", &picture)];
        run_line(&format!("compile $IN -o $REEL {more}"), &all).expect(0);
        let plot = run_line("plot $REEL -o $PNG --json", &all).expect(0).json();
        assert!(plot["title"].as_str().unwrap().contains(title), "{plot}");
        assert!(plot["samples"].as_u64().unwrap() > 40);
    }
}

#[test]
fn mistakes_name_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let robot = bundled("n_robot_bone_parented.abc");
    let all: [(&str, &Path); 2] = [("$IN", &robot), ("$OUT", &folder.path().join("x"))];
    for line in ["bench $IN", "play $IN", "plot $IN", "extract $IN -o $OUT.abc"] {
        let error = run_line(line, &all).expect(1);
        assert!(error.error_line().contains("'meshreel compile'"), "{line}: {}", error.stderr);
    }
    let nothing = run([""; 0]).expect(2);
    for verb in ["compile", "info", "verify", "extract", "demo", "play", "bench", "plot"] {
        assert!(nothing.error_line().contains(verb), "{}", nothing.stderr);
    }
    let version = run(["--version", "--json"]).expect(0).json();
    assert_eq!(
        (&version["name"], &version["version"]),
        (&"meshreel".into(), &env!("CARGO_PKG_VERSION").into())
    );
}

#[test]
fn globs_that_match_nothing_are_remarked_upon() {
    let folder = triangles(&["a.obj"]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let section = "[[mesh]]\nglob = \"/nothing/**\"\nmethod = \"soft\"\n";
    std::fs::write(at("o.toml"), section).unwrap();
    for more in [["--tolerance", "/nothing*=1%"], ["--exclude", "/nothing*"], ["--options", &at("o.toml")]] {
        let line = ["compile", &at("a.obj"), more[0], more[1]];
        let ran = run(line).expect(0);
        assert!(ran.stderr.contains("remark: /nothing"), "{more:?}: {}", ran.stderr);
        run(line.iter().chain(&["--strict"])).expect(1);
    }
    let known = run(["compile", &at("a.obj"), "--tolerance", "/a*=1%"]).expect(0);
    assert_eq!(known.stderr, "");
}

#[test]
fn where_f32_is_the_limit_the_tolerance_is_raised_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Joints so far apart that their accumulated rounding exceeds that of the largest coordinate.
    let channels = "CHANNELS 3 Zrotation Xrotation Yrotation";
    let mut text = String::from("HIERARCHY\n");
    for joint in 0..3 {
        let kind = if joint == 0 { "ROOT" } else { "JOINT" };
        text += &format!("{kind} j{joint}\n{{\nOFFSET 1e8 0 0\n{channels}\n");
    }
    text += "End Site\n{\nOFFSET 1e8 0 0\n}\n}\n}\n}\nMOTION\nFrames: 40\nFrame Time: 0.04\n";
    for frame in 0..40 {
        let of = |k: i32| 20.0 * (0.2 * f64::from(frame) + f64::from(k)).sin();
        let row: Vec<String> = (0..9).map(|k| format!("{:.6}", of(k))).collect();
        text += &(row.join(" ") + "\n");
    }
    std::fs::write(at.join("far.bvh"), text).unwrap();
    let [bvh, reel] = ["far.bvh", "far.reel"].map(|name| at.join(name).to_str().unwrap().to_owned());
    for more in ["0.01", "1e-9"] {
        let ran = run(["compile", &bvh, "-o", &reel, "--tolerance", more]).expect(0);
        assert!(ran.stderr.contains("the tolerance was raised to"), "{}", ran.stderr);
        run(["verify", &bvh, &reel]).expect(0);
        run(["compile", &bvh, "-o", &reel, "--tolerance", more, "--strict"]).expect(1);
    }
}
