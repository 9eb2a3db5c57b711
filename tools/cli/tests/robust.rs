//! Tests of damaged inputs, unwritable targets, and killed processes: a message of one line, bounded time and
//! memory, and never an incomplete file that opens.
#![cfg(unix)]

use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_testkit::{bundled, corpus, report_skipped};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Address space in kilobytes for a run on a small file. Threads and their arenas take most of it.
const ADDRESS_SPACE: u64 = 1 << 20;
/// Time limit for a run on a small file, enough for a busy machine. Unbounded work would never end.
const TIMEOUT: Duration = Duration::from_secs(120);

struct Ended {
    /// Exit code; `None` if a signal ended it.
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the binary with bounded memory, and kills it if it runs too long.
fn bounded(arguments: &[&dyn AsRef<Path>]) -> Ended {
    let paths: Vec<&Path> = arguments.iter().map(|a| (*a).as_ref()).collect();
    let folder = tempfile::tempdir().unwrap();
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let limit = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &limit, env!("CARGO_BIN_EXE_meshreel")])
        .args(&paths)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(std::fs::File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if started.elapsed() > TIMEOUT => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("no end: {paths:?}");
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    Ended {
        code: status.code(),
        stdout: std::fs::read_to_string(out).unwrap(),
        stderr: std::fs::read_to_string(err).unwrap(),
    }
}

impl Ended {
    /// `true` on success; otherwise asserts that the error is one line and no internal defect.
    #[track_caller]
    fn sound(&self, what: &dyn std::fmt::Debug) -> bool {
        let text = &self.stderr;
        let errors = text.lines().filter(|l| l.starts_with("error: ")).count();
        assert!(!text.contains("defect"), "{what:?}: {text}");
        match self.code {
            Some(0) => assert_eq!(errors, 0, "{what:?}: {text}"),
            Some(1) => assert_eq!(errors, 1, "{what:?}: {text}"),
            other => panic!("{what:?}: {other:?} {text}"),
        }
        self.code == Some(0)
    }
    /// Asserts a failure with these words.
    #[track_caller]
    fn fails_with(&self, words: &str) {
        // 2: the target is unusable, judged by its name and the existing files.
        assert!(matches!(self.code, Some(1 | 2)), "{}", self.stderr);
        let errors = self.stderr.lines().filter(|l| l.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{}", self.stderr);
        assert!(self.stderr.contains(words), "{}", self.stderr);
        assert!(!self.stderr.contains("defect"), "{}", self.stderr);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entry = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string();
    let mut names: Vec<String> = (std::fs::read_dir(folder).unwrap()).map(|e| entry(e).unwrap()).collect();
    names.sort();
    names
}

/// Compiles a possibly damaged file and checks the output; `true` if there was one.
fn survives(input: &Path, folder: &Path) -> bool {
    let target = folder.join("out.reel");
    let _ = std::fs::remove_file(&target);
    bounded(&[&"info", &input]).sound(&input);
    bounded(&[&"info", &"--tree", &"--streams", &"--frames", &"--json", &input]).sound(&input);
    let compiled = bounded(&[&"compile", &input, &"-o", &target]).sound(&input);
    assert_eq!(compiled, target.exists(), "{input:?}");
    if compiled {
        let verified = bounded(&[&"verify", &input, &target]);
        assert!(verified.sound(&input), "{input:?}: {}", verified.stderr);
        let reel = Reel::open(&target, &Limits::default()).unwrap();
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        for frame in (0..reel.frame_count()).rev() {
            decoder.decode(frame).unwrap();
        }
    }
    compiled
}

#[test]
fn known_malformed_files() {
    let Some(corpus) = corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fuzz = corpus.join("alembic/fuzz");
    let files = names(&fuzz);
    assert_eq!(files.len(), 30);
    for file in files {
        let compiled = survives(&fuzz.join(&file), folder.path());
        println!("{file}: {}", if compiled { "compiled" } else { "refused" });
    }
}

/// xorshift64*: the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n.max(1)
    }
}

/// Returns how often each file is damaged in each way; `MESHREEL_DAMAGE` for long runs.
fn rounds() -> usize {
    std::env::var("MESHREEL_DAMAGE").map_or(6, |n| n.parse().unwrap())
}

/// Damages a file; returns how many versions of it, the original included, still compiled.
fn damaged(file: &Path) -> usize {
    let good = std::fs::read(file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.abc");
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ good.len() as u64);
    let mut compiled = 0;
    let mut check = |bytes: &[u8]| {
        std::fs::write(&input, bytes).unwrap();
        compiled += usize::from(survives(&input, folder.path()));
    };
    check(&good);
    for _ in 0..rounds() {
        check(&good[..random.below(good.len())]);
    }
    for round in 0..2 * rounds() {
        let mut bytes = good.clone();
        // Structure stands at both ends of an archive, samples in between.
        let edge = bytes.len().min(16 << 10);
        for _ in 0..1 + random.below(4) {
            let at = match round % 3 {
                0 => random.below(bytes.len()),
                1 => bytes.len() - 1 - random.below(edge),
                _ => random.below(edge),
            };
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ 1 << random.below(8),
                1 => 0xff,
                _ => random.below(256) as u8,
            };
        }
        check(&bytes);
    }
    println!("{file:?}: {compiled} of {} compiled", 1 + 3 * rounds());
    compiled
}

#[test]
fn damaged_ogawa() {
    assert!(damaged(&bundled("m_scale_shear.abc")) > 0);
}

#[test]
fn damaged_ogawa_with_attributes() {
    assert!(damaged(&bundled("g_scene_attributes.abc")) > 0);
}

#[test]
fn damaged_ogawa_with_visibility() {
    assert!(damaged(&bundled("j_visibility_particles.abc")) > 0);
}

#[test]
fn damaged_hdf5() {
    // Transforms only, compressed: nothing to compile, but much to read.
    damaged(&bundled("scale_gzip_hdf5.abc"));
    if let Some(corpus) = corpus() {
        assert!(damaged(&corpus.join("alembic/gen_hdf5/m_scale_shear_hdf5.abc")) > 0);
    }
}

#[test]
fn inputs_that_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let (none, target) = (folder.path().join("none.abc"), folder.path().join("out.reel"));
    bounded(&[&"compile", &none, &"-o", &target]).fails_with("none.abc");
    let inside = folder.path().join("inside.abc");
    std::fs::create_dir(&inside).unwrap();
    bounded(&[&"compile", &inside, &"-o", &target]).fails_with("inside.abc");
    bounded(&[&"compile", &"/dev/null", &"-o", &target]).fails_with("/dev/null");
    let empty = folder.path().join("empty.abc");
    std::fs::write(&empty, b"").unwrap();
    bounded(&[&"compile", &empty, &"-o", &target]).fails_with("empty.abc");
    assert_eq!(names(folder.path()), ["empty.abc", "inside.abc"]);
}

#[test]
fn targets_that_cannot_be() {
    let input = bundled("m_scale_shear.abc");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    bounded(&[&"compile", &input, &"-o", &at("no/such/out.reel")]).fails_with("no folder");
    std::fs::write(at("file"), b"x").unwrap();
    bounded(&[&"compile", &input, &"-o", &at("file/out.reel")]).fails_with("out.reel");
    bounded(&[&"compile", &input, &"-o", &"/dev/full"]).fails_with("/dev/full");
    if cfg!(target_os = "linux") {
        // Not even root can create files there.
        bounded(&[&"compile", &input, &"-o", &"/proc/out.reel"]).fails_with("/proc/out.reel");
    }
    // For a folder, the file is named after the input.
    std::fs::create_dir(at("dir.reel")).unwrap();
    assert!(bounded(&[&"compile", &input, &"-o", &at("dir.reel")]).sound(&"folder"));
    assert_eq!(names(&at("dir.reel")), ["m_scale_shear.reel"]);
    // A file that must not be replaced.
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(at("kept.reel"), b"kept").unwrap();
    std::fs::set_permissions(at("kept.reel"), PermissionsExt::from_mode(0o444)).unwrap();
    bounded(&[&"compile", &input, &"-o", &at("kept.reel")]).fails_with("read-only");
    assert_eq!(std::fs::read(at("kept.reel")).unwrap(), b"kept");
    // The input itself is no target.
    let own = at("own.abc");
    std::fs::copy(&input, &own).unwrap();
    let before = std::fs::read(&own).unwrap();
    bounded(&[&"compile", &own, &"-o", &own]);
    assert_eq!(std::fs::read(&own).unwrap(), before, "the source was overwritten");
}

#[test]
fn the_target_is_replaced_only_by_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.reel");
    let good = bundled("m_scale_shear.abc");
    assert!(bounded(&[&"compile", &good, &"-o", &target]).sound(&"first"));
    let first = std::fs::read(&target).unwrap();
    // Failures of every kind leave it unchanged.
    let bad = folder.path().join("bad.abc");
    std::fs::write(&bad, &std::fs::read(&good).unwrap()[..20_000]).unwrap();
    bounded(&[&"compile", &bad, &"-o", &target]).fails_with("bad.abc");
    bounded(&[&"compile", &good, &"-o", &target, &"--include", &"/none"]).fails_with("include");
    assert_eq!(std::fs::read(&target).unwrap(), first);
    // Another file replaces it completely, also through a link.
    let other = bundled("n_robot_bone_parented.abc");
    assert!(bounded(&[&"compile", &other, &"-o", &target]).sound(&"second"));
    let second = std::fs::read(&target).unwrap();
    assert_ne!(first, second);
    assert!(Reel::open(&target, &Limits::default()).is_ok());
    // The old file stays intact for readers that have it open.
    let open = Reel::open(&target, &Limits::default()).unwrap();
    assert!(bounded(&[&"compile", &good, &"-o", &target]).sound(&"third"));
    let mut decoder = FrameDecoder::new(&open).unwrap();
    (0..open.frame_count()).for_each(|f| decoder.decode(f).unwrap());
    assert_eq!(std::fs::read(&target).unwrap(), first);
    assert_eq!(names(folder.path()), ["bad.abc", "out.reel"]);
}

/// Runs a script with the binary as `$BIN`, a folder as `$DIR` and an input as `$IN`.
fn script(text: &str, folder: &Path, input: &Path) -> Ended {
    let output = Command::new("sh")
        .args(["-c", text])
        .env("BIN", env!("CARGO_BIN_EXE_meshreel"))
        .env("DIR", folder)
        .env("IN", input)
        .output()
        .unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let input = bundled("a_flag_wind.abc");
    // A private file system that vanishes with the script.
    let inside = "mount -t tmpfs -o size=48k none \"$DIR\" || exit 77
        echo old > \"$DIR/out.reel\"
        \"$BIN\" compile \"$IN\" -o \"$DIR/out.reel\"; echo \"code $?\"
        ls -A \"$DIR\"; cat \"$DIR/out.reel\"";
    let run = script(&format!("unshare -rm sh -c '{inside}' || exit 77"), folder.path(), &input);
    if run.code == Some(77) {
        report_skipped(&format!("no file system can be mounted here: {}", run.stderr.trim()));
    } else {
        assert_eq!(run.stdout, "code 1\nout.reel\nold\n", "{}", run.stderr);
        assert!(run.stderr.contains("out.reel") && !run.stderr.contains("defect"));
        println!("full disk: {}", run.stderr.trim());
    }
}

#[test]
fn a_quota() {
    let folder = tempfile::tempdir().unwrap();
    // Blocks of 512 bytes; with the signal ignored, exceeding the limit is an error like a full disk.
    let run = script(
        "trap '' XFSZ; ulimit -f 64; \"$BIN\" compile \"$IN\" -o \"$DIR/out.reel\"; echo \"code $?\"; ls -A \"$DIR\"",
        folder.path(),
        &bundled("a_flag_wind.abc"),
    );
    assert_eq!(run.stdout, "code 1\n", "{}", run.stderr);
    assert!(run.stderr.contains("out.reel") && !run.stderr.contains("defect"));
}

#[test]
fn killed_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.reel");
    let input = bundled("n_robot_bone_parented.abc");
    let arguments = |target: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_meshreel"));
        command.arg("compile").arg(&input).arg("-o").arg(target);
        command.arg("-q").arg("--tolerance=1e-3%");
        command
    };
    let started = Instant::now();
    assert!(arguments(&target).status().unwrap().success());
    let whole = started.elapsed();
    let new = std::fs::read(&target).unwrap();
    let other = bundled("m_scale_shear.abc");
    let mut random = Random(77);
    let (mut kills, mut finished, mut leftovers) = (0, 0, 0);
    for round in 0..40 {
        // Every second time there is no old file.
        let old = (round % 2 == 0).then(|| {
            assert!(bounded(&[&"compile", &other, &"-o", &target]).sound(&"old"));
            std::fs::read(&target).unwrap()
        });
        if old.is_none() {
            std::fs::remove_file(&target).unwrap_or_default();
        }
        let mut child = arguments(&target).spawn().unwrap();
        let share = random.below(1200) as u32;
        std::thread::sleep(whole * share / 1000);
        child.kill().unwrap();
        match child.wait().unwrap().success() {
            true => finished += 1,
            false => kills += 1,
        }
        for name in names(folder.path()) {
            let path = folder.path().join(&name);
            let bytes = std::fs::read(&path).unwrap();
            match Reel::open(&path, &Limits::default()) {
                Ok(_) => assert!(bytes == new || old.as_ref() == Some(&bytes), "{name}"),
                Err(e) => {
                    assert_ne!(name, "out.reel", "{e}");
                    assert!(name.ends_with(".tmp"), "{name}");
                    leftovers += 1;
                }
            }
        }
        if let Some(old) = old {
            let now = std::fs::read(&target).unwrap();
            assert!(now == old || now == new);
        }
    }
    println!("{kills} killed, {finished} finished before, {leftovers} leftovers looked at");
    assert!(kills > 10);
    // Leftovers do no harm.
    assert!(arguments(&target).status().unwrap().success());
    assert!(std::fs::read(&target).unwrap() == new);
}
