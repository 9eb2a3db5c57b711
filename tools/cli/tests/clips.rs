//! Tests of clips with the program: compiled, verified against their source, extracted, and refused where
//! necessary.

use meshreel_testkit::{bvh, corpus};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshreel")).args(arguments).current_dir(folder).output().unwrap()
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    let output = run(arguments, folder);
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn there_and_back_within_the_tolerance() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(300, 0.0)).unwrap();
    for tolerance in ["0.001", "0.01", "1"] {
        let done = json(&["compile", "walk.bvh", "-o", "walk.reel", "--tolerance", tolerance, "--json"], at);
        let clip = &done["clips"][0];
        assert_eq!((clip["joints"].as_u64(), clip["samples"].as_u64()), (Some(3), Some(300)));
        assert_eq!(done["raw_bytes"].as_u64(), Some(40 * 3 * 300));
        let verified = json(&["verify", "walk.bvh", "walk.reel", "--json"], at);
        assert_eq!(verified["ok"], true);
        let error = verified["clips"][0]["max_error"].as_f64().unwrap();
        let promised: f64 = tolerance.parse().unwrap();
        assert!(error <= promised && error > promised / 100.0, "{error}");
        assert!(verified["clips"][0]["mid_error"].as_f64().unwrap() <= 2.5 * promised);
        let own = clip["max_error"].as_f64().unwrap();
        assert!((own - error).abs() < 1e-9, "{own} {error}");
        // The extracted clip equals the file's.
        assert!(run(&["extract", "walk.reel", "-o", "back.bvh"], at).status.success());
        let back = json(&["verify", "back.bvh", "walk.reel", "--json"], at);
        assert!(back["clips"][0]["max_error"].as_f64().unwrap() < 1e-5);
    }
    let text = String::from_utf8(run(&["info", "walk.reel"], at).stdout).unwrap();
    assert!(text.contains("walk") && text.contains("rotations"), "{text}");
    let text = String::from_utf8(run(&["info", "walk.bvh"], at).stdout).unwrap();
    assert!(text.contains("300"), "{text}");
    let info = json(&["info", "walk.reel", "--json"], at);
    assert_eq!(info["clips"][0]["rotations"]["animated"].as_u64(), Some(1));
    assert_eq!(info["clips"][0]["rotations"]["hinge"].as_u64(), Some(1));
    assert_eq!(info["clips"][0]["rotations"]["two_axes"].as_u64(), Some(1));
}

fn succeeds(arguments: &[&str], folder: &Path) {
    let output = run(arguments, folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn curves_in_files_hold_their_tolerance() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(300, 0.0)).unwrap();
    for tolerance in ["0.1", "1"] {
        let curve = [
            "compile",
            "walk.bvh",
            "-o",
            "walk.reel",
            "--codec",
            "curve",
            "--json",
            "--tolerance",
            tolerance,
        ];
        let done = json(&curve, at);
        let clip = &done["clips"][0];
        assert_eq!((&clip["codec"], &clip["rule"]), (&"curve".into(), &"guaranteed".into()));
        let keys = [&clip["keys_before"], &clip["keys"]].map(|k| k.as_u64().unwrap());
        assert!(0 < keys[1] && keys[1] < keys[0], "{keys:?}");
        let verified = json(&["verify", "walk.bvh", "walk.reel", "--json"], at);
        let checked = &verified["clips"][0];
        assert_eq!((&verified["ok"], &checked["codec"]), (&true.into(), &"curve".into()));
        let [error, worst, mid] = ["max_error", "worst", "mid_worst"].map(|k| checked[k].as_f64().unwrap());
        let promised: f64 = tolerance.parse().unwrap();
        assert!(error > promised / 10.0 && (error / promised - worst).abs() < 1e-9 && worst <= 1.0);
        assert!(mid <= 2.5, "{mid}");
        let info = json(&["info", "walk.reel", "--json"], at);
        let clip = &info["clips"][0];
        assert_eq!((&clip["codec"], &clip["keys"]["keys"]), (&"curve".into(), &keys[1].into()));
        assert_eq!(
            (&clip["keys"]["knots"], &clip["keys"]["rotation_bits"]),
            (&"centripetal".into(), &48.into())
        );
        succeeds(&["extract", "walk.reel", "-o", "back.bvh"], at);
        let back = json(&["verify", "back.bvh", "walk.reel", "--json"], at);
        assert!(back["clips"][0]["max_error"].as_f64().unwrap() < 1e-5);
    }
    // 48 bits cannot keep this tolerance; auto can.
    let fine = ["compile", "walk.bvh", "-o", "fine.reel", "--tolerance", "0.001", "--codec"];
    let output = run(&[&fine[..], &["curve"]].concat(), at);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--codec auto"));
    succeeds(&[&fine[..], &["auto"]].concat(), at);
}

#[test]
fn the_random_access_form_in_files_holds_its_tolerance() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(300, 0.0)).unwrap();
    for tolerance in ["0.001", "0.01", "1"] {
        let head = ["compile", "walk.bvh", "-o", "walk.reel", "--codec", "random-access", "--json"];
        let done = json(&[&head[..], &["--tolerance", tolerance]].concat(), at);
        let clip = &done["clips"][0];
        assert_eq!((&clip["codec"], &clip["rule"]), (&"random-access".into(), &"guaranteed".into()));
        let verified = json(&["verify", "walk.bvh", "walk.reel", "--json"], at);
        let checked = &verified["clips"][0];
        assert_eq!(
            (&verified["ok"], &checked["codec"]),
            (&true.into(), &"random-access".into()),
            "{verified}"
        );
        let (error, promised): (f64, f64) =
            (checked["max_error"].as_f64().unwrap(), tolerance.parse().unwrap());
        assert!(error <= promised && error > promised / 100.0, "{error}");
        assert!((clip["max_error"].as_f64().unwrap() - error).abs() < 1e-9);
        let info = json(&["info", "walk.reel", "--json"], at);
        let told = &info["clips"][0];
        assert_eq!((&told["codec"], &told["bytes"]), (&"random-access".into(), &clip["bytes"]));
        assert!(told["restart"].is_null() && told["rotations"]["animated"].as_u64() == Some(1), "{told}");
        succeeds(&["extract", "walk.reel", "-o", "back.bvh"], at);
        let back = json(&["verify", "back.bvh", "walk.reel", "--json"], at);
        assert!(back["clips"][0]["max_error"].as_f64().unwrap() < 1e-5);
    }
    // Tolerances of single joints are kept, too; a remark tells what f32 cannot hold.
    std::fs::write(at.join("fine.toml"), "[[joint]]\nglob = \"*\"\ntolerance = 0.002\n").unwrap();
    let fine =
        ["compile", "walk.bvh", "-o", "fine.reel", "--codec", "random-access", "--options", "fine.toml"];
    succeeds(&fine, at);
    let verified = json(&["verify", "walk.bvh", "fine.reel", "--json"], at);
    assert_eq!(verified["ok"], true, "{verified}");
    assert!(verified["clips"][0]["max_error"].as_f64().unwrap() <= 0.002);
}

#[test]
fn auto_takes_the_smaller_codec_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(300, 0.0)).unwrap();
    // Keyed at both ends: one straight line.
    let mut slide = bvh(0, 0.0).replace("Frames: 0", "Frames: 200");
    for i in 0..200 {
        let _ = writeln!(slide, "{} 90 0 0 0 0 0 0 0 0 0 0", i as f64 * 0.5);
    }
    std::fs::write(at.join("slide.bvh"), slide).unwrap();
    for name in ["walk.bvh", "slide.bvh"] {
        let bytes = |codec: &str| {
            let done = json(
                &["compile", name, "-o", "a.reel", "--codec", codec, "--tolerance", "0.1", "--json"],
                at,
            );
            let clip = &done["clips"][0];
            assert_eq!(json(&["verify", name, "a.reel", "--json"], at)["ok"], true, "{name} {codec}");
            (clip["bytes"].as_u64().unwrap(), clip["codec"].as_str().unwrap().to_string())
        };
        let (auto, codec) = bytes("auto");
        let (sampled, curve) = (bytes("sampled").0, bytes("curve").0);
        assert_eq!(auto, sampled.min(curve), "{name}");
        assert_eq!(codec, if curve < sampled { "curve" } else { "sampled" }, "{name}");
    }
    let explained = json(&["compile", "walk.bvh", "-o", "a.reel", "--explain", "--json"], at);
    let tried = explained["clips"][0]["tried"].as_array().unwrap();
    assert_eq!((&tried[0]["codec"], &tried[1]["codec"]), (&"sampled".into(), &"curve".into()));
    let text =
        String::from_utf8(run(&["compile", "walk.bvh", "-o", "a.reel", "--explain"], at).stdout).unwrap();
    assert!(text.contains("choice") && text.contains("chosen"), "{text}");
}

#[test]
fn joints_have_tolerances_and_shells_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(200, 0.0)).unwrap();
    std::fs::write(
        at.join("o.toml"),
        "[[joint]]\nglob = \"hips/**\"\nshell = 12\n[[joint]]\nglob = \"foot\"\ntolerance = 0.002\n",
    )
    .unwrap();
    for codec in ["sampled", "curve"] {
        let compile = |tail: &[&str]| {
            let head = ["compile", "walk.bvh", "-o", "a.reel", "--codec", codec, "--json"];
            json(&[&head[..], tail].concat(), at)["clips"][0]["bytes"].as_u64().unwrap()
        };
        let check = |joints: u64| {
            let verified = json(&["verify", "walk.bvh", "a.reel", "--json"], at);
            let clip = &verified["clips"][0];
            assert_eq!(
                (&verified["ok"], &clip["joint_tolerances"]),
                (&true.into(), &joints.into()),
                "{verified}"
            );
            let worst = clip["worst"].as_f64().unwrap();
            assert!(worst <= 1.0 && worst > 0.2, "{worst}");
            clip["max_error"].as_f64().unwrap()
        };
        let all = compile(&["--tolerance", "0.05"]);
        check(0);
        // One looser joint: smaller, and its error exceeds the general tolerance.
        let loose = compile(&["--tolerance", "0.05", "--tolerance", "foot=2"]);
        assert!(check(1) > 0.05 && loose < all, "{codec}: {loose} {all}");
        // One tighter joint: larger.
        let tight = compile(&["--tolerance", "0.05", "--tolerance", "f??t=0.02"]);
        check(1);
        assert!(all < tight, "{codec}: {all} {tight}");
        let far = compile(&["--tolerance", "0.05", "--shell", "30"]);
        check(0);
        assert!(far > all, "{codec}: {far} {all}");
    }
    // From a file, by path and by name; and the check does not rely on the file's own statement.
    let done = json(&["compile", "walk.bvh", "-o", "b.reel", "--options", "o.toml", "--json"], at);
    assert_eq!(done["remarks"].as_array().unwrap().len(), 0);
    let verified = json(&["verify", "walk.bvh", "b.reel", "--json"], at);
    assert_eq!((&verified["ok"], &verified["clips"][0]["joint_tolerances"]), (&true.into(), &1.into()));
    let none = json(&["compile", "walk.bvh", "-o", "b.reel", "--tolerance", "tail=1", "--json"], at);
    assert!(none["remarks"].to_string().contains("matches no joint"));
    for wrong in
        [&["--tolerance", "foot=1%"][..], &["--shell", "0"], &["--tolerance", "[=1"], &["--codec", "best"]]
    {
        let output = run(&[&["compile", "walk.bvh", "-o", "c.reel"], wrong].concat(), at);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn the_local_rule_is_checked_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(200, 0.0)).unwrap();
    let local = "codec = \"curve\"\ntolerance = 0.6\n[curve]\nrule = \"local\"\nadaptive = true\ntranslation-tolerance = 0.15\nknots = \"uniform\"\nrotation-bits = 32\n";
    std::fs::write(at.join("local.toml"), format!("{local}[[joint]]\nglob = \"foot\"\npinned = true\n"))
        .unwrap();
    let done = json(&["compile", "walk.bvh", "-o", "a.reel", "--options", "local.toml", "--json"], at);
    assert_eq!(done["clips"][0]["rule"], "local");
    let verified = json(&["verify", "walk.bvh", "a.reel", "--json"], at);
    let clip = &verified["clips"][0];
    assert_eq!((&verified["ok"], &clip["rule"]), (&true.into(), &"local".into()), "{verified}");
    let errors: Vec<f64> =
        clip["local_errors"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert!(errors[0] > 0.0 && errors[0] <= 0.6 && errors[1] <= 0.15, "{errors:?}");
    let text = String::from_utf8(run(&["verify", "walk.bvh", "a.reel"], at).stdout).unwrap();
    assert!(text.contains("nothing is promised of points in object space"), "{text}");
    let info = json(&["info", "a.reel", "--json"], at);
    assert_eq!(
        (&info["clips"][0]["rule"], &info["clips"][0]["keys"]["rotation_bits"]),
        (&"local".into(), &32.into())
    );
    // A wrong source is detected under this rule, too.
    std::fs::write(at.join("other.bvh"), bvh(200, 40.0)).unwrap();
    assert_eq!(json(&["verify", "other.bvh", "a.reel", "--json"], at)["ok"], false);
    // Refused where it makes no sense.
    for text in [
        "[curve]\nrule = \"local\"",
        "codec = \"curve\"\n[[joint]]\nglob = \"foot\"\npinned = true",
        &format!("{local}[[joint]]\nglob = \"foot\"\ntolerance = 1"),
    ] {
        std::fs::write(at.join("wrong.toml"), text).unwrap();
        let output = run(&["compile", "walk.bvh", "-o", "b.reel", "--options", "wrong.toml"], at);
        assert_eq!(output.status.code(), Some(2), "{text}");
    }
}

#[test]
fn rates_ranges_and_selection() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(100, 0.0)).unwrap();
    for (options, samples) in [
        (&["--fps", "60"][..], 199),
        (&["--fps", "10"], 34),
        (&["--range", "10:19"], 10),
        (&["--range", "1s:2s"], 31),
        (&["--fps", "60", "--range", "0:59"], 60),
        (&["--include", "/walk"], 100),
        (&["--index-every", "16"], 100),
    ] {
        let head = ["compile", "walk.bvh", "-o", "a.reel", "--json"];
        let done = json(&[&head[..], options].concat(), at);
        assert_eq!(done["clips"][0]["samples"].as_u64(), Some(samples), "{options:?}");
        let verified = json(&["verify", "walk.bvh", "a.reel", "--json"], at);
        assert_eq!(verified["ok"], true, "{options:?}: {verified}");
    }
    let restart = json(&["info", "a.reel", "--json"], at)["clips"][0]["restart"].as_u64();
    assert_eq!(restart, Some(16));
    for (wrong, code) in [
        (&["--range", "100:120"][..], 2),
        (&["--range", "9:3"], 2),
        (&["--range", "50s:60s"], 2),
        (&["--fps", "0"], 2),
        (&["--exclude", "/walk"], 1),
        (&["--include", "/run*"], 1),
    ] {
        let output = run(&[&["compile", "walk.bvh", "-o", "b.reel"], wrong].concat(), at);
        assert_eq!(output.status.code(), Some(code), "{wrong:?}");
        assert!(!at.join("b.reel").exists());
    }
    succeeds(&["compile", "walk.bvh", "--dry-run", "-o", "b.reel"], at);
    assert!(!at.join("b.reel").exists());
}

#[test]
fn plots_show_source_and_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(120, 0.0)).unwrap();
    for codec in ["sampled", "curve"] {
        succeeds(
            &[
                "compile",
                "walk.bvh",
                "-o",
                "walk.reel",
                "--tolerance",
                "0.1",
                "--codec",
                codec,
                "--fps",
                "60",
                "--range",
                "10:99",
            ],
            at,
        );
        let plot = json(
            &["plot", "walk.reel", "--joint", "foot", "--source", "walk.bvh", "-o", "foot.png", "--json"],
            at,
        );
        assert_eq!(plot["samples"], 90);
        // The error equals that of verification, for this joint alone.
        let verified = json(&["verify", "walk.bvh", "walk.reel", "--json"], at);
        let worst = verified["clips"][0]["max_error"].as_f64().unwrap();
        let error = plot["max_error"].as_f64().unwrap();
        assert!(error > worst / 10.0 && error <= worst * 1.000_001, "{codec}: {error} {worst}");
        let picture = std::fs::read(at.join("foot.png")).unwrap();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000, "{}", picture.len());
    }
    succeeds(&["plot", "walk.reel", "--joint", "hips"], at);
    assert!(at.join("walk.png").exists());
    for wrong in [
        &["--joint", "tail"][..],
        &["--joint", "hips", "--clip", "run"],
        &["--vertex", "3"],
        &["--joint", "hips", "-o", "hips.jpg"],
        &["--joint", "hips", "--vertex", "3"],
    ] {
        let output = run(&[&["plot", "walk.reel"], wrong].concat(), at);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    let missing = run(&["plot", "none.reel", "--joint", "hips"], at);
    assert_eq!(missing.status.code(), Some(1));
}

#[test]
fn clips_play_without_allocating_and_are_timed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(90, 0.0)).unwrap();
    for codec in ["sampled", "curve", "random-access"] {
        succeeds(&["compile", "walk.bvh", "-o", "walk.reel", "--tolerance", "0.1", "--codec", codec], at);
        for more in
            [&["--seconds", "0.4"][..], &["--rate", "-1", "--loop", "--seconds", "0.4", "--copies", "3"]]
        {
            let head = ["play", "walk.reel", "--check", "--fps", "120", "--json"];
            let played = json(&[&head[..], more].concat(), at);
            let ticks = played["ticks"].as_u64().unwrap();
            let clips = played["clips"].as_array().unwrap();
            assert!(ticks > 10 && clips[0]["poses"].as_u64() == Some(ticks), "{played}");
            assert_eq!(clips[0]["codec"], codec);
            assert_eq!(
                (&played["wrong_poses"], &played["allocations_after_warmup"]),
                (&0.into(), &0.into()),
                "{played}"
            );
            assert_eq!(played["checked_poses"].as_u64(), Some(ticks * clips.len() as u64));
        }
        let timed = json(&["bench", "walk.reel", "--seconds", "0.02", "--json"], at);
        let clip = &timed["clips"][0];
        for name in ["forward_ns", "backward_ns", "random_ns", "resident_ns", "joint_ns"] {
            assert!(clip[name].as_f64().unwrap() > 0.0, "{name}: {timed}");
        }
    }
    let text = String::from_utf8(run(&["bench", "walk.reel", "--seconds", "0.02"], at).stdout).unwrap();
    assert!(text.contains("nanoseconds per pose") && text.contains("one joint"), "{text}");
}

#[test]
fn many_files_each_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut arguments = vec!["compile".to_string()];
    for i in 0..40 {
        let name = format!("take{i}.bvh");
        std::fs::write(at.join(&name), bvh(5 + i, f64::from(i as u32))).unwrap();
        arguments.push(name);
    }
    std::fs::write(at.join("broken.bvh"), "HIERARCHY\nROOT").unwrap();
    arguments.extend(["broken.bvh", "-o", "out/", "--json"].map(String::from));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = run(&arguments, at);
    assert_eq!(output.status.code(), Some(1));
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["compiled"], &done["failed"]), (&40.into(), &1.into()));
    assert_eq!(done["files"].as_array().unwrap().len(), 41);
    assert!(done["files"][7]["clips"][0]["codec"].is_string());
    assert_eq!(std::fs::read_dir(at.join("out")).unwrap().count(), 40);
}

#[test]
fn another_source_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(40, 0.0)).unwrap();
    std::fs::write(at.join("b.bvh"), bvh(40, 1.0)).unwrap();
    std::fs::write(at.join("c.bvh"), bvh(41, 0.0)).unwrap();
    assert!(run(&["compile", "a.bvh", "-o", "a.reel"], at).status.success());
    for other in ["b.bvh", "c.bvh"] {
        let output = run(&["verify", other, "a.reel"], at);
        assert_eq!(output.status.code(), Some(1), "{other}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("BROKEN"));
    }
}

#[test]
fn a_percentage_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(4, 0.0)).unwrap();
    let output = run(&["compile", "a.bvh", "-o", "a.reel", "--tolerance", "1%"], at);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a percentage"));
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(600, 0.0)).unwrap();
    let bytes = |jobs: &str| {
        assert!(run(&["compile", "a.bvh", "-o", "a.reel", "--jobs", jobs], at).status.success());
        std::fs::read(at.join("a.reel")).unwrap()
    };
    assert_eq!(bytes("1"), bytes("3"));
}

#[test]
fn damaged_files_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(30, 0.0)).unwrap();
    assert!(run(&["compile", "a.bvh", "-o", "a.reel"], at).status.success());
    let whole = std::fs::read(at.join("a.reel")).unwrap();
    for i in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[i] ^= 0x10;
        std::fs::write(at.join("b.reel"), &bytes).unwrap();
        let output = run(&["verify", "a.bvh", "b.reel"], at);
        assert_eq!(output.status.code(), Some(1), "byte {i}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("defect"), "byte {i}");
    }
    std::fs::write(at.join("bad.bvh"), "HIERARCHY\nROOT a\n{\nOFFSET 0 nan 0").unwrap();
    let output = run(&["compile", "bad.bvh", "-o", "bad.reel"], at);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 4"));
}

/// Tests a skeleton with fingers, a face and a cape, if the corpus is there.
#[test]
fn characters_of_the_corpus() {
    let Some(corpus) = corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for name in ["hero.bvh", "snake.bvh"] {
        let source = corpus.join("characters").join(name);
        let source = source.to_str().unwrap();
        let done = json(&["compile", source, "-o", "a.reel", "--json"], at);
        assert!(done["clips"][0]["ratio"].as_f64().unwrap() > 20.0, "{done}");
        assert_eq!(json(&["verify", source, "a.reel", "--json"], at)["ok"], true);
    }
}

/// Returns a prism that two joints bend, as a `.gltf` with embedded data; the tip turns further in sample 5
/// by `shift`.
fn gltf(shift: f32) -> String {
    let samples = 24;
    let (mut numbers, mut views): (Vec<f32>, Vec<(usize, usize, &str)>) = Default::default();
    let mut put = |values: &[f32], width: usize, kind: &'static str| {
        views.push((numbers.len(), values.len() / width, kind));
        numbers.extend_from_slice(values);
        views.len() - 1
    };
    let rings = 9;
    let (mut points, mut weights, mut corners) = (Vec::new(), Vec::new(), Vec::new());
    for ring in 0..rings {
        let part = ring as f32 / (rings - 1) as f32;
        for side in 0..3 {
            let a = side as f32 * 2.1;
            points.extend([0.1 * a.cos(), 2.0 * part, 0.1 * a.sin()]);
            weights.extend([1.0 - part, part, 0.0, 0.0]);
            let (here, next) = (ring * 3 + side, ring * 3 + (side + 1) % 3);
            if ring + 1 < rings {
                corners.extend([here, next, here + 3, next, next + 3, here + 3]);
            }
        }
    }
    let positions = put(&points, 3, "VEC3");
    let weights = put(&weights, 4, "VEC4");
    // Joints 0 and 1 for all: as the floats with the bits of these integers.
    let bits = |word: u32| f32::from_bits(word);
    let joints = put(&[bits(0x0001_0000), 0.0].repeat(points.len() / 3), 2, "VEC4");
    let corners: Vec<f32> = corners.iter().map(|c| bits(*c as u32)).collect();
    let indices = put(&corners, 1, "SCALAR");
    let keys: Vec<f32> = (0..samples).map(|i| i as f32 / 30.0).collect();
    let keys = put(&keys, 1, "SCALAR");
    let turn = |i: usize| {
        let a = (i as f32 * 0.2).sin() * 0.5 + if i == 5 { shift } else { 0.0 };
        [0.0, 0.0, a.sin(), a.cos()]
    };
    let turns = put(&(0..samples).flat_map(turn).collect::<Vec<_>>(), 4, "VEC4");
    let mut inverse = [0f32; 32];
    for i in [0, 5, 10, 15] {
        (inverse[i], inverse[16 + i]) = (1.0, 1.0);
    }
    inverse[16 + 13] = -1.0;
    let bind = put(&inverse, 16, "MAT4");
    let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().chain(&[0, 0]).take(3).fold(0usize, |all, b| all << 8 | usize::from(*b));
        for k in 0..=chunk.len() {
            text.push(char::from(alphabet[bits >> (18 - 6 * k) & 63]));
        }
    }
    let accessor = |(i, (_, count, kind)): (usize, &(usize, usize, &str))| {
        let component = if i == joints {
            5123
        } else if i == indices {
            5125
        } else {
            5126
        };
        serde_json::json!({"bufferView": i, "componentType": component, "type": kind, "count": count})
    };
    let ends = views.iter().skip(1).map(|v| v.0).chain([numbers.len()]);
    let view = |(view, end): (&(usize, usize, &str), usize)| serde_json::json!({"buffer": 0, "byteOffset": 4 * view.0, "byteLength": 4 * (end - view.0)});
    let accessors: Vec<Value> = views.iter().enumerate().map(accessor).collect();
    serde_json::json!({
        "asset": {"version": "2.0"}, "scenes": [{"nodes": [0, 2]}],
        "nodes": [
            {"name": "root", "children": [1]}, {"name": "tip", "translation": [0, 1, 0]},
            {"name": "body", "mesh": 0, "skin": 0},
        ],
        "meshes": [{"name": "prism", "primitives": [{
            "attributes": {"POSITION": positions, "JOINTS_0": joints, "WEIGHTS_0": weights}, "indices": indices,
        }]}],
        "skins": [{"name": "rig", "joints": [0, 1], "inverseBindMatrices": bind}],
        "animations": [{"name": "bend",
            "channels": [{"sampler": 0, "target": {"node": 1, "path": "rotation"}}],
            "samplers": [{"input": keys, "output": turns}]}],
        "accessors": accessors, "bufferViews": views.iter().zip(ends).map(view).collect::<Vec<_>>(),
        "buffers": [{"byteLength": bytes.len(), "uri": format!("data:application/octet-stream;base64,{text}")}],
    })
    .to_string()
}

#[test]
fn a_skinned_gltf_is_a_mesh_and_a_clip() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("prism.gltf"), gltf(0.0)).unwrap();
    std::fs::write(at.join("other.gltf"), gltf(0.1)).unwrap();
    let compile = |more: &[&str]| {
        let line = [&["compile", "prism.gltf", "-o", "a.reel", "--json"], more].concat();
        json(&line, at)
    };
    let verify = |source: &str| json(&["verify", source, "a.reel", "--json"], at);
    let both = compile(&["--tolerance", "0.1%"]);
    assert_eq!((both["meshes"].as_array().unwrap().len(), both["clips"].as_array().unwrap().len()), (1, 1));
    assert_eq!((&both["frames"], &both["clips"][0]["samples"]), (&24.into(), &24.into()));
    let good = verify("prism.gltf");
    assert_eq!(good["ok"], true, "{good}");
    assert_eq!(good["meshes"][0]["frames"], 24);
    // A wrong source fails both the mesh and the clip.
    let bad = verify("other.gltf");
    assert_eq!(
        (&bad["ok"], &bad["meshes"][0]["ok"], &bad["clips"][0]["ok"]),
        (&false.into(), &false.into(), &false.into())
    );
    // The clip alone, with a tolerance of its own.
    let clip = compile(&["--clips-only", "--tolerance", "0.0005"]);
    assert_eq!((clip["meshes"].as_array().unwrap().len(), &clip["clips"][0]["joints"]), (0, &2.into()));
    let good = verify("prism.gltf");
    assert_eq!((&good["ok"], &good["clips"][0]["tolerance"]), (&true.into(), &0.0005.into()), "{good}");
    assert_eq!(verify("other.gltf")["ok"], false);
    // Extracted again, it is a clip within the tolerance of the source.
    for target in ["back.glb", "back.bvh"] {
        let output = run(&["extract", "a.reel", "-o", target], at);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let again = json(&["compile", "back.glb", "-o", "b.reel", "--tolerance", "0.0001", "--json"], at);
    assert_eq!((&again["clips"][0]["samples"], &again["clips"][0]["joints"]), (&24.into(), &2.into()));
    // A percentage is wrong usage for a clip.
    let output = run(&["compile", "prism.gltf", "-o", "c.reel", "--clips-only", "--tolerance", "1%"], at);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn transforms_of_a_scene_as_a_clip() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/n_robot_bone_parented.abc");
    let input = input.to_str().unwrap();
    let done =
        json(&["compile", input, "-o", "a.reel", "--clips-only", "--tolerance", "0.001", "--json"], at);
    assert!(done["clips"][0]["joints"].as_u64().unwrap() > 3, "{done}");
    let good = json(&["verify", input, "a.reel", "--json"], at);
    assert_eq!((&good["ok"], good["meshes"].as_array().unwrap().len()), (&true.into(), 0), "{good}");
    let output = run(&["extract", "a.reel", "-o", "back.glb"], at);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let still =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/j_visibility_particles.abc");
    let output = run(
        &["compile", still.to_str().unwrap(), "-o", "b.reel", "--clips-only", "--include", "/nothing"],
        at,
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("transform that moves"));
}

#[test]
fn a_player_says_that_a_file_has_nothing_to_show() {
    use meshreel::{Event, Options, Player};
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(30, 0.0)).unwrap();
    succeeds(&["compile", "walk.bvh"], at);
    let mut player = Player::new(Options::default().with_threads(0).with_read_threads(0)).unwrap();
    let file = player.open(at.join("walk.reel"));
    let mut seen = Vec::new();
    while seen.len() < 2 {
        player.tick(0.0);
        while let Some(event) = player.next_event() {
            match event {
                Event::Opened(of) => seen.push((of == file, "opened")),
                Event::NoFrames(of) => seen.push((of == file, "no frames")),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(seen, [(true, "opened"), (true, "no frames")]);
    assert_eq!(player.reel(file).unwrap().clips().unwrap().len(), 1);
}
