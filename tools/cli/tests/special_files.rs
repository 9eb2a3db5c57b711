//! Tests of special files, and of termination signals: nothing hangs, and no unfinished file is left behind.
#![cfg(unix)]

use crate::cli::common::{Run, binary, bundled, run};
use meshreel_testkit::report_skipped;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the program with a time limit.
fn run_with_timeout(arguments: &[&Path]) -> Run {
    let output = Command::new("timeout")
        .args(["--kill-after=1", "60"])
        .arg(env!("CARGO_BIN_EXE_meshreel"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

#[test]
fn pipes_sockets_devices_and_folders_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let own = |name: &str| folder.path().join(name);
    let (good, reel) = (own("good.obj"), own("good.reel"));
    fs::write(&good, TRIANGLE).unwrap();
    run([Path::new("compile"), &good, Path::new("-o"), &reel]).expect(0);
    let extensions = ["abc", "obj", "ply", "pc2", "mdd", "bvh", "gltf", "glb", "reel", "toml"];
    let mut listeners = Vec::new();
    for extension in extensions {
        let [pipe, socket, device, inside] =
            ["pipe", "socket", "device", "folder"].map(|kind| own(&format!("{kind}.{extension}")));
        fifo(&pipe);
        listeners.push(UnixListener::bind(&socket).unwrap());
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        fs::create_dir(&inside).unwrap();
    }
    let (out, png) = (own("out.reel"), own("out.png"));
    let (glb, pattern) = (own("out.glb"), own("pipe.###.obj"));
    fifo(&own("pipe.001.obj"));
    let word = Path::new;
    for kind in ["pipe", "socket", "device", "folder"] {
        let of = |extension: &str| own(&format!("{kind}.{extension}"));
        let mut lines: Vec<Vec<PathBuf>> = Vec::new();
        let mut line = |words: &[&Path]| lines.push(words.iter().map(|w| w.into()).collect());
        for extension in ["abc", "obj", "ply", "bvh", "gltf", "glb"] {
            line(&[word("compile"), &of(extension), word("-o"), &out]);
            line(&[word("info"), &of(extension)]);
            line(&[word("verify"), &of(extension), &reel]);
        }
        for extension in ["pc2", "mdd"] {
            let points = of(extension);
            line(&[word("compile"), &good, word("--points"), &points, word("-o"), &out]);
            line(&[word("compile"), &good, &points, word("-o"), &out]);
        }
        line(&[word("compile"), &good, word("--options"), &of("toml"), word("-o"), &out]);
        line(&[word("info"), &of("reel")]);
        line(&[word("verify"), &good, &of("reel")]);
        line(&[word("extract"), &of("reel"), word("-o"), &glb]);
        line(&[word("plot"), &of("reel"), word("--vertex"), word("0"), word("-o"), &png]);
        line(&[word("play"), &of("reel"), word("--seconds"), word("0.1")]);
        line(&[word("bench"), &of("reel")]);
        line(&[word("compile"), &pattern, word("-o"), &out]);
        for line in lines {
            let words: Vec<&Path> = line.iter().map(|word| &**word).collect();
            let ran = run_with_timeout(&words);
            assert!([1, 2].contains(&ran.code), "{words:?}: {} {}", ran.code, ran.stderr);
            let error = ran.error_line();
            let expected = match kind {
                _ if error.contains("pipe.001.obj") => "named pipe",
                "pipe" => "named pipe",
                "folder" if error.contains("director") => "director",
                kind => kind,
            };
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }
    assert!(![&out, &png, &glb].iter().any(|path| path.exists()));
    // Nor is a special file replaced by a file.
    let (pipe, reel_pipe) = (own("pipe.glb"), own("pipe.reel"));
    run_with_timeout(&[word("extract"), &reel, word("-o"), &pipe]).expect(1);
    let ran = run_with_timeout(&[word("compile"), &good, word("-o"), &reel_pipe]);
    assert_ne!(ran.code, 0);
    for path in [pipe, reel_pipe] {
        assert!(!fs::metadata(path).unwrap().is_file());
    }
}

/// A program in the middle of writing: it has a temporary file beside the target, and is stopped.
struct UnfinishedCompile {
    child: std::process::Child,
    temporary: String,
}

/// Compiles until there is a temporary file.
fn begin(input: &Path, target: &Path) -> UnfinishedCompile {
    let jobs = Path::new("--jobs=1");
    begin_to(&[Path::new("compile"), input, jobs], target)
}

/// Runs the program until there is a temporary file beside its target, which it has locked.
fn begin_to(arguments: &[&Path], target: &Path) -> UnfinishedCompile {
    let folder = target.parent().unwrap();
    let before = names(folder);
    let mut child = binary()
        .args(arguments)
        .args([Path::new("--quiet"), Path::new("-o"), target])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut temporary = None;
    while temporary.is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
        let mut new = names(folder).into_iter();
        temporary = new.find(|n| n.ends_with(".tmp") && !before.contains(n));
    }
    let temporary = temporary.unwrap();
    stop(child.id());
    // A temporary file that is not locked yet would be a leftover.
    while File::open(folder.join(&temporary)).unwrap().try_lock().is_ok() {
        signal("CONT", child.id());
        std::thread::yield_now();
        stop(child.id());
    }
    UnfinishedCompile { child, temporary }
}

/// Stops a process, and waits until it is stopped, if the system shows that.
fn stop(process: u32) {
    signal("STOP", process);
    let state = || {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    while matches!(state(), Some('R' | 'S' | 'D')) {
        std::thread::yield_now();
    }
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// `true` if the tests were started with a signal ignored, as by `nohup`, so that the program ignores it too.
fn ignored(number: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).is_some_and(|m| m >> (number - 1) & 1 == 1)
}

/// Returns an input that takes a while to write.
fn slow_input() -> PathBuf {
    bundled("d_snake_skinned.abc")
}

#[test]
fn told_to_stop_it_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.reel");
    let input = slow_input();
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        if ignored(number) {
            continue;
        }
        fs::write(&target, "old").unwrap();
        let mut writing = begin(&input, &target);
        assert!(names(folder.path()).contains(&writing.temporary));
        signal(name, writing.child.id());
        signal("CONT", writing.child.id());
        let status = writing.child.wait().unwrap();
        assert_eq!(status.code(), Some(128 + number), "{name}");
        assert_eq!(names(folder.path()), ["out.reel"], "{name}");
        assert_eq!(fs::read(&target).unwrap(), b"old");
    }
}

#[test]
fn told_to_stop_extract_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let own = |name: &str| folder.path().join(name);
    let (source, reel) = (own("grid.obj"), own("grid.reel"));
    // Large enough that writing it takes a while.
    let side = 700;
    let mut text = String::new();
    for point in 0..side * side {
        let (x, y) = (point % side, point / side);
        text += &format!("v {x} {y} {}\n", x * y % 7);
    }
    for quad in (0..side * (side - 1)).filter(|q| q % side + 1 < side) {
        let corners = [quad + 1, quad + 2, quad + side + 2, quad + side + 1];
        let [a, b, c, d] = corners;
        text += &format!("f {a} {b} {c} {d}\n");
    }
    fs::write(&source, text).unwrap();
    run([Path::new("compile"), &source, Path::new("-o"), &reel]).expect(0);
    for name in ["out.abc", "out.glb"] {
        let target = own(name);
        fs::write(&target, "old").unwrap();
        let mut writing = begin_to(&[Path::new("extract"), &reel], &target);
        signal("TERM", writing.child.id());
        signal("CONT", writing.child.id());
        assert_eq!(writing.child.wait().unwrap().code(), Some(128 + 15), "{name}");
        assert_eq!(fs::read(&target).unwrap(), b"old");
        fs::remove_file(&target).unwrap();
        assert_eq!(names(folder.path()), ["grid.obj", "grid.reel"], "{name}");
    }
}

#[test]
fn what_kill_left_goes_with_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.reel");
    let input = slow_input();
    let mut killed = begin(&input, &target);
    killed.child.kill().unwrap();
    assert_eq!(killed.child.wait().unwrap().signal(), Some(9));
    let mut running = begin(&input, &target);
    let still = names(folder.path());
    assert!(!still.contains(&killed.temporary), "{still:?}");
    // Another run to the same target, which ends before the first: the first one's file is left alone.
    let quick = folder.path().join("quick.obj");
    fs::write(&quick, TRIANGLE).unwrap();
    run([Path::new("compile"), &quick, Path::new("-o"), &target]).expect(0);
    assert!(names(folder.path()).contains(&running.temporary));
    let second = fs::read(&target).unwrap();
    signal("CONT", running.child.id());
    assert!(running.child.wait().unwrap().success());
    assert_eq!(names(folder.path()), ["out.reel", "quick.obj"]);
    assert_ne!(fs::read(&target).unwrap(), second);
    run([Path::new("verify"), &input, &target]).expect(0);
}

/// A signal that was ignored from the start, as by `nohup`, stays ignored.
#[test]
fn ignored_signals_stay_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.reel");
    let input = slow_input();
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_meshreel"), "compile"])
        .args([&input, Path::new("-o"), &target])
        .arg("--quiet")
        .spawn()
        .unwrap();
    while !names(folder.path()).iter().any(|name| name.ends_with(".tmp")) {
        std::thread::yield_now();
    }
    signal("HUP", child.id());
    assert!(child.wait().unwrap().success());
    assert_eq!(names(folder.path()), ["out.reel"]);
}

#[test]
fn a_broken_promise_is_one_line_even_when_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let (source, other) = (folder.path().join("a.obj"), folder.path().join("b.obj"));
    let reel = folder.path().join("a.reel");
    fs::write(&source, TRIANGLE).unwrap();
    write!(File::create(&other).unwrap(), "{}", TRIANGLE.replace("1 0 0", "9 0 0")).unwrap();
    run([Path::new("compile"), &source, Path::new("-o"), &reel]).expect(0);
    let quiet = [Path::new("verify"), Path::new("-q")];
    let good = run([quiet[0], quiet[1], &source, &reel]).expect(0);
    assert_eq!((good.stdout.as_str(), good.stderr.as_str()), ("", ""));
    let broken = run([quiet[0], quiet[1], &other, &reel]).expect(1);
    assert_eq!(broken.stdout, "");
    assert_eq!(broken.stderr.lines().count(), 1, "{}", broken.stderr);
    assert!(broken.error_line().contains("a.reel"), "{}", broken.stderr);
    // One JSON object reports everything.
    let json = run([quiet[0], quiet[1], Path::new("--json"), &other, &reel]).expect(1);
    assert_eq!(json.json()["ok"], false);
}

/// With write but no read permission for a folder the file is still written, with a remark.
#[test]
fn a_folder_that_cannot_be_synced_is_remarked_upon() {
    let folder = tempfile::tempdir().unwrap();
    let (source, inside) = (folder.path().join("a.obj"), folder.path().join("inside"));
    fs::write(&source, TRIANGLE).unwrap();
    fs::create_dir(&inside).unwrap();
    let mode = |bits| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&inside, fs::Permissions::from_mode(bits)).unwrap();
    };
    mode(0o300);
    if File::open(&inside).is_ok() {
        // The administrator may do everything.
        report_skipped("permissions do not bind this user");
        return mode(0o700);
    }
    let target = inside.join("out.reel");
    let ran = run([Path::new("compile"), &source, Path::new("-o"), &target]);
    mode(0o700);
    let ran = ran.expect(0);
    assert!(ran.stderr.contains("complete and in its place"), "{}", ran.stderr);
    run([Path::new("verify"), &source, &target]).expect(0);
    assert_eq!(names(&inside), ["out.reel"]);
}
