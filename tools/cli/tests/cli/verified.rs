//! Tests of the last step of a compile: the finished file is verified against its source, which is read
//! again, before it gets its name.

use super::common::{bundled, corpus, names, run};
use meshreel::{Limits, Reel};
use meshreel_commands::compile::{Inputs, compile};
use meshreel_commands::failure::Class;
use meshreel_compile::{Phase, Progress, Silent, Tightening, compile_unnamed};
use meshreel_inputs::{InputOptions, open};
use meshreel_options::Options;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";

/// Returns a folder with an .obj, its path and that of the .reel.
fn square() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["a.obj", "a.reel"].map(|name| folder.path().join(name));
    std::fs::write(&source, SQUARE).unwrap();
    (folder, source, target)
}

/// Changes the source for each of the first `times` verifications of a finished file.
struct ChangingSource<'a> {
    source: &'a Path,
    times: u32,
    /// The last phase reported, and the number of verifications.
    told: Mutex<(Phase, u32)>,
}

impl<'a> ChangingSource<'a> {
    fn new(source: &'a Path, times: u32) -> ChangingSource<'a> {
        ChangingSource { source, times, told: Mutex::new((Phase::Analyse, 0)) }
    }
}

impl Progress for ChangingSource<'_> {
    fn update(&self, phase: Phase, _: u64, _: u64) {
        let (last, looked) = &mut *self.told.lock().unwrap();
        if phase == Phase::Inspect && *last != phase {
            if *looked < self.times {
                let moved = SQUARE.replace("v 1 1 0", &format!("v 1 1 {}", 0.5 + f64::from(*looked)));
                std::fs::write(self.source, moved).unwrap();
            }
            *looked += 1;
        }
        *last = phase;
    }
}

#[test]
fn the_report_has_the_verification() {
    let (folder, ..) = square();
    let target = folder.path().join("flag.reel");
    let flag = bundled("a_flag_wind.abc");
    let line = ["compile", flag.to_str().unwrap(), "-o", target.to_str().unwrap(), "--effort", "1"];
    let done = run([&line[..], &["--json"]].concat()).expect(0).json();
    let verify = &done["verify"];
    assert_eq!((&verify["ok"], &verify["cured"]), (&true.into(), &serde_json::json!([])));
    let worst = verify["worst"].as_f64().unwrap();
    assert!(worst > 0.1 && worst <= 1.0 && verify["seconds"].as_f64().unwrap() > 0.0, "{verify}");
    assert!(verify["normal_max_deg"].is_number() && verify["between_worst"].is_null(), "{verify}");
    assert!(run(line).expect(0).stdout.contains("verified in "));
    assert_eq!(run([&line[..], &["--quiet"]].concat()).expect(0).stdout, "");
    let dry = run([&line[..], &["--dry-run", "--json"]].concat()).expect(0).json();
    assert!(dry["verify"].is_null() && dry["written"] == false);
    let left_out = run([&line[..], &["--no-verify"]].concat()).expect(0);
    assert!(left_out.stdout.contains("not verified (--no-verify)"), "{}", left_out.stdout);
}

#[test]
fn a_file_that_was_not_verified_says_so() {
    let (folder, source, target) = square();
    let clip = folder.path().join("clip.bvh");
    std::fs::write(&clip, meshreel_testkit::bvh(9, 0.0)).unwrap();
    for (source, said) in [(&source, false), (&source, true), (&clip, false), (&clip, true)] {
        let flag = if said { &["--no-verify"][..] } else { &[] };
        let [input, output] = [source, &target].map(|path| path.to_str().unwrap());
        let line = ["compile", input, "-o", output, "--json", "--changed-only"];
        let done = run([&line[..], flag].concat()).expect(0).json();
        assert_eq!(done["verify"].is_null(), said, "{done}");
        let info = run(["info", output, "--json"]).expect(0).json();
        assert_eq!(info["no_verify"], said);
        let text = run(["info", output]).expect(0).stdout;
        assert_eq!(text.contains("no: compiled with --no-verify"), said, "{text}");
        let made_of = std::fs::read_to_string(format!("{output}.made-of.json")).unwrap();
        let made_of: serde_json::Value = serde_json::from_str(&made_of).unwrap();
        assert_eq!(made_of["verified"], !said);
        run(["verify", input, output]).expect(0);
        // A verified file is not equivalent to an unverified one.
        let other = if said { &[][..] } else { &["--no-verify"] };
        assert_eq!(run([&line[..], flag].concat()).expect(0).json()["skipped"].as_array().unwrap().len(), 1);
        assert!(run([&line[..], other].concat()).expect(0).json()["skipped"].is_null());
    }
}

#[test]
fn what_breaks_its_promise_is_compiled_once_more() {
    let (folder, source, target) = square();
    let (paths, options) = ([source.clone()], InputOptions::default());
    let opened = open(&paths, &options).unwrap();
    let inputs = Inputs { paths: &paths, options: &options };
    // The source of the first file is missing during its verification; that of the second stays.
    let progress = ChangingSource::new(&source, 1);
    let done = compile(opened, inputs, &target, &Options::default(), &progress).unwrap();
    let verified = done.verified.unwrap();
    assert!(verified.ok && verified.worst <= 1.0);
    assert!(verified.cured[0].to_string().contains("vertex"), "{:?}", verified.cured);
    assert_eq!(names(folder.path()), ["a.obj", "a.reel"]);
    run([Path::new("verify"), &source, &target]).expect(0);
}

#[test]
fn what_breaks_its_promise_twice_is_refused() {
    let (folder, source, target) = square();
    let (paths, options) = ([source.clone()], InputOptions::default());
    for old in [false, true] {
        if old {
            std::fs::write(&target, "old").unwrap();
        }
        let opened = open(&paths, &options).unwrap();
        let inputs = Inputs { paths: &paths, options: &options };
        let progress = ChangingSource::new(&source, 9);
        let failed = compile(opened, inputs, &target, &Options::default(), &progress).err().unwrap();
        assert_eq!(progress.told.lock().unwrap().1, 2);
        let line = failed.line();
        assert_eq!((failed.class, failed.exit_code()), (Class::Check, 1), "{line}");
        // The object, the frame and both numbers.
        for part in
            ["a.reel: ", "frame 0: ", "vertex", " off, ", "is allowed", "was not written", "--no-verify"]
        {
            assert!(line.contains(part), "{part:?} in {line}");
        }
        let left = if old { &["a.obj", "a.reel"][..] } else { &["a.obj"] };
        assert_eq!(names(folder.path()), left);
        assert!(!old || std::fs::read(&target).unwrap() == b"old");
        std::fs::write(&source, SQUARE).unwrap();
    }
    let opened = open(&paths, &options).unwrap();
    let inputs = Inputs { paths: &paths, options: &options };
    let trusting = Options { no_verify: true, ..Options::default() };
    assert!(compile(opened, inputs, &target, &trusting, &ChangingSource::new(&source, 9)).is_ok());
}

/// Compiled more precisely, an object has the same tolerance and half of the error.
#[test]
fn the_second_file_promises_the_same_and_is_closer() {
    let (folder, ..) = square();
    let options = Options { effort: 1, ..Options::default() };
    let (scene, _) = open(&[bundled("a_flag_wind.abc")], &InputOptions::default()).unwrap();
    let mut tighter = Tightening::default();
    let mut reports = Vec::new();
    for name in ["first", "second"] {
        let path = folder.path().join(name);
        let finished =
            compile_unnamed(scene.clone(), Vec::new(), &path, (&options, &tighter), &Silent).unwrap();
        finished.publish(&meshreel_check::reopen, &Silent).unwrap();
        let reel = Reel::open(&path, &Limits::default()).unwrap();
        let report = meshreel_check::verify(&scene, &reel, &|_, _| {}).unwrap();
        assert!(report.ok, "{:?}", report.failures);
        tighter.paths.insert(report.meshes[0].path.clone());
        tighter.normals = true;
        reports.push((report, reel.description().options.clone()));
    }
    let [(first, said), (second, again)] = &reports[..] else { unreachable!() };
    let (first, second) = (&first.meshes[0], &second.meshes[0]);
    assert_eq!((said, first.tolerance), (again, second.tolerance));
    assert!(first.max_error > 0.5 * first.tolerance && second.max_error <= 0.5 * second.tolerance);
    assert!(second.normal_max_deg < Some(0.5 * options.normal_tolerance + 0.01), "{second:?}");
}

#[test]
fn a_joined_file_is_verified_where_its_source_is_given() {
    let (folder, source, target) = square();
    let [source, target] = [source, target].map(|path| path.to_str().unwrap().to_owned());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    run(["plan", &source, "-o", &at("x.plan")]).expect(0);
    run(["part", &at("x.plan"), "1/1", "-o", &at("1.part")]).expect(0);
    let join = |more: &[&str]| run([&["join", &at("1.part"), "-o", &target, "--json"], more].concat());
    assert!(join(&[]).expect(0).json()["verify"].is_null());
    let bytes = std::fs::read(&target).unwrap();
    let done = join(&["--source", &source]).expect(0).json();
    assert_eq!(done["verify"]["ok"], true, "{done}");
    assert_eq!(std::fs::read(&target).unwrap(), bytes);
    std::fs::create_dir(at("other")).unwrap();
    std::fs::write(at("other/a.obj"), SQUARE.replace("1 1 0", "1 1 1")).unwrap();
    std::fs::remove_file(&target).unwrap();
    let refused = join(&["--source", &at("other/a.obj")]).expect(1);
    let error = &refused.json()["error"];
    assert_eq!(error["class"], "check", "{error}");
    assert!(error["what"].as_str().unwrap().contains("vertex"), "{error}");
    assert!(!Path::new(&target).exists());
    join(&["--source", &at("none.obj")]).expect(1);
    join(&["--points", &source]).expect(2);
}

/// Whatever the compiler gets wrong, it never reports success for a file that its own verification refuses.
#[test]
fn success_is_never_said_over_a_broken_promise() {
    let Some(cases) = corpus().map(|corpus| corpus.join("cases/promise")) else { return };
    let (folder, ..) = square();
    let target = folder.path().join("case.reel");
    for case in ["f7_min1191.usda", "f8_min1202.usda", "f9.usda", "f14.abc", "beam_1e19.glb"] {
        let source = cases.join(case);
        if !source.exists() {
            meshreel_testkit::report_skipped(case);
            continue;
        }
        let done = run([Path::new("compile"), &source, Path::new("-o"), &target]);
        match done.code {
            0 => drop(run([Path::new("verify"), &source, &target]).expect(0)),
            _ => {
                let line = done.expect(1);
                assert!(line.error_line().contains("breaks its promise"), "{case}: {}", line.stderr);
                assert!(!target.exists(), "{case}");
            }
        }
        let _ = std::fs::remove_file(&target);
    }
}
