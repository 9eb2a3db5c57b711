//! Tests of help, wrong usage, exit codes, and the form of errors.

use super::common::{binary, bundled, run, run_line};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

#[test]
fn help_of_every_verb() {
    let general = run(["--help"]).expect(0);
    for verb in ["compile", "info", "verify", "extract", "demo", "play", "bench"] {
        assert!(general.stdout.contains(verb), "{verb}");
        let help = run([verb, "--help"]).expect(0);
        assert!(help.stdout.contains("Usage: meshreel"), "{verb}");
        for flag in ["--json", "--quiet", "--verbose"] {
            assert!(help.stdout.contains(flag), "{verb} {flag}");
        }
    }
    assert!(run(["--version"]).expect(0).stdout.starts_with("meshreel "));
}

#[test]
fn help_lists_nothing_that_is_not_built() {
    let general = run(["--help"]).expect(0).stdout;
    assert!(!general.contains("not built"));
    let help = run(["extract", "--help"]).expect(0).stdout;
    assert!(help.contains(".usdc") && !help.contains(".gltf"));
}

#[test]
fn wrong_usage_is_exit_2_and_one_line() {
    let flag = bundled("a_flag_wind.abc");
    let lines = [
        "",
        "bogus",
        "compile",
        "compile -o x.reel",
        "compile $IN -o x.reel --bogus",
        "compile $IN -o x.reel --tolerance",
        "compile $IN -o x.reel --tolerance much",
        "compile $IN -o x.reel --tolerance -1",
        "compile $IN -o x.reel --tolerance 0",
        "compile $IN -o x.reel --tolerance nan%",
        "compile $IN -o x.reel --parts",
        "compile $IN -o x.reel --parts pieces",
        "compile $IN -o x.reel --parts attribute:",
        "compile $IN -o x.reel --parts attribute",
        "compile $IN -o x.reel --normal-tolerance 0deg",
        "compile $IN -o x.reel --normal-tolerance 200deg",
        "compile $IN -o x.reel --uv-tolerance 1/0",
        "compile $IN -o x.reel --colour-bits 0",
        "compile $IN -o x.reel --lod",
        "compile $IN -o x.reel --lod 0",
        "compile $IN -o x.reel --lod 8",
        "compile $IN -o x.reel --lod 2 --clips-only",
        "compile $IN -o x.reel --colour-bits 17",
        "compile $IN -o x.reel --channels weights",
        "compile $IN -o x.reel --block zip",
        "compile $IN -o x.reel --index-every 0",
        "compile $IN -o x.reel --index-every 65",
        "compile $IN -o x.reel --effort 10",
        "compile $IN -o x.reel --fps 0",
        "compile $IN -o x.reel --source-fps x",
        "compile $IN -o x.reel --range 9:3",
        "compile $IN -o x.reel --range 5",
        "compile $IN -o x.reel --range 1:2s",
        "compile $IN -o x.reel --range 500:600",
        "compile $IN -o x.reel --range 500s:600s",
        "compile $IN -o x.reel --unit parsec",
        "compile $IN -o x.reel --method stiff",
        "compile $IN -o x.reel --method rigid --preset classic",
        "compile $IN -o x.reel --smooth-angle 181deg",
        "compile $IN -o x.reel --memory lots",
        "compile $IN -o x.reel --jobs 0",
        "compile $IN -o x.reel --include [",
        "compile $IN -o x.reel --quiet --verbose",
        "compile $IN -o x.abc",
        "compile $IN -o $IN",
        "compile $IN $IN -o no_such_directory/",
        "compile $IN $IN -o x.reel",
        "compile $IN $IN --merge",
        "info",
        "info a b",
        "verify",
        "verify $IN",
        "verify $IN $IN",
        "extract $IN",
        "extract x.reel -o out.xyz",
        "extract x.reel -o out",
        "demo extra",
        "demo --tolerance 0",
    ];
    for line in lines {
        let run = run_line(line, &[("$IN", &flag)]);
        assert_eq!(run.code, 2, "{line}: {:?}", run.stderr);
        assert_eq!(run.stdout, "", "{line}");
        run.error_line();
        assert_eq!(run.stderr.lines().count(), 1, "{line}: {:?}", run.stderr);

        let run = run_line(&format!("{line} --json"), &[("$IN", &flag)]);
        assert_eq!(run.code, 2, "{line} --json");
        let error = &run.json()["error"];
        assert_eq!(error["class"], "usage", "{line}: {error}");
        assert!(error["what"].as_str().is_some_and(|what| what.len() > 5), "{line}: {error}");
    }
    assert!(!Path::new("x.reel").exists() && !Path::new("no_such_directory").exists());
}

#[test]
fn f08_levels_on_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let (flag, reel) = (bundled("a_flag_wind.abc"), directory.path().join("f.reel"));
    let (out, png) = (directory.path().join("f.glb"), directory.path().join("f.png"));
    let all: [(&str, &Path); 4] = [("$IN", &flag), ("$REEL", &reel), ("$OUT", &out), ("$PNG", &png)];
    let short = "compile $IN -o $REEL --range 0:5 --effort 1";
    run_line(short, &all).expect(0);
    for line in ["extract $REEL -o $OUT --lod 1", "plot $REEL --levels -o $PNG"] {
        let run = run_line(line, &all).expect(2);
        assert!(run.error_line().contains("no levels of detail"), "{}", run.stderr);
    }
    let compiled = run_line(&format!("{short} --lod 3 --explain --json"), &all).expect(0).json();
    let levels = compiled["meshes"][0]["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 4);
    assert!(compiled["meshes"][0]["level_bytes"].as_u64().unwrap() > 0);
    assert!(compiled["passes"].to_string().contains("3 levels of detail"));
    let info = run_line("info $REEL --json", &all).expect(0).json();
    assert_eq!(info["meshes"][0]["levels"], compiled["meshes"][0]["levels"]);
    assert!(info["bytes"]["levels"].as_u64().unwrap() > 0);
    assert!(run_line("info $REEL", &all).expect(0).stdout.contains("error in any frame"));
    let verified = run_line("verify $IN $REEL --json", &all).expect(0).json();
    assert_eq!(verified["meshes"][0]["levels"].as_array().unwrap().len(), 3);
    run_line("extract $REEL -o $OUT --lod 2", &all).expect(0);
    let back = run_line("info $OUT --json", &all).expect(0).json();
    assert_eq!(back["meshes"][0]["faces"], levels[2]["triangles"]);
    let far = run_line("extract $REEL -o $OUT --lod 4", &all).expect(2);
    assert!(far.error_line().contains("coarsest level of detail in the file is 3"));
    run_line("plot $REEL --levels -o $PNG", &all).expect(0);
    assert!(png.metadata().unwrap().len() > 10_000);
}

#[test]
fn formats_that_are_not_written_name_the_one_that_is() {
    let flag = bundled("a_flag_wind.abc");
    for (output, instead) in [("x.gltf", ".glb"), ("x.usdz", ".usdc"), ("x.fbx", ".usdc")] {
        let run = run_line(&format!("extract x.reel -o {output}"), &[("$IN", &flag)]).expect(2);
        assert!(run.error_line().contains(instead), "{output}: {}", run.stderr);
    }
}

#[test]
fn failed_work_is_exit_1_and_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("empty.abc"), b"").unwrap();
    std::fs::write(at("text.abc"), b"this is not an archive, whatever its name says").unwrap();
    std::fs::write(at("text.reel"), b"this is not a reel, whatever its name says").unwrap();
    std::fs::write(at("text.xyz"), b"unknown").unwrap();
    std::fs::create_dir(at("folder.abc")).unwrap();
    for (line, input, class) in [
        ("info $IN", "missing.abc", "io"),
        ("info $IN", "folder.abc", "io"),
        ("info $IN", "empty.abc", "malformed"),
        ("info $IN", "text.abc", "malformed"),
        ("info $IN", "text.reel", "malformed"),
        ("info $IN", "missing.reel", "io"),
        ("info $IN", "text.xyz", "unsupported"),
        ("compile $IN -o $OUT", "missing.abc", "io"),
        ("compile $IN -o $OUT", "text.abc", "malformed"),
        ("compile $IN -o $OUT", "missing.####.obj", "io"),
        ("verify $FLAG $IN", "text.reel", "malformed"),
        ("extract $IN -o $ABC", "text.reel", "malformed"),
        ("extract $IN -o $ABC", "text.abc", "malformed"),
        ("extract $IN -o $ABC", "missing.reel", "io"),
    ] {
        let (path, out, abc, flag) = (at(input), at("out.reel"), at("out.abc"), bundled("a_flag_wind.abc"));
        let paths = [
            ("$IN", path.as_path()),
            ("$OUT", out.as_path()),
            ("$ABC", abc.as_path()),
            ("$FLAG", flag.as_path()),
        ];
        let run = run_line(line, &paths).expect(1);
        assert!(run.error_line().contains(input), "{line} {input}: {}", run.stderr);
        assert_eq!(run.stdout, "");
        let run = run_line(&format!("{line} --json"), &paths).expect(1);
        let json = run.json();
        assert_eq!(json["error"]["class"], class, "{line} {input}: {json}");
        assert!(!out.exists() && !abc.exists());
    }
}

#[test]
fn nobody_reading_the_result_is_no_error() {
    let mut child = binary()
        .args(["info", "--json"])
        .arg(bundled("j_visibility_particles.abc"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    assert!(!stderr.contains("panic"), "{stderr}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = binary().arg("info").arg(bundled("a_flag_wind.abc")).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: stdout: "));
}
