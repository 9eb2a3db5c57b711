//! Tests of the writer: misuse, targets that cannot be written, full disks, and processes that are killed
//! while writing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use meshreel_format::*;

const BOX: [f32; 6] = [0.0; 6];
const SUMMARY: Summary = Summary { bounds: BOX, raw_bytes: 0, flags: 0 };

/// Writes `parts` chunks of `size` bytes each, all equal to `fill`.
fn write(path: &Path, parts: u32, size: usize, fill: u8) -> Result<u64, Error> {
    let mut writer = Writer::create(path)?;
    for i in 0..parts {
        let bytes = vec![fill; size];
        writer.add_chunk(5, size as u32, &bytes)?;
        writer.add_frame(f64::from(i), BOX)?;
    }
    writer.finish(SUMMARY)
}

/// Returns the byte that fills every chunk, after checking that the file is complete and valid.
fn read_fill(path: &Path) -> u8 {
    let reader = Reader::open_path(path, &Limits::default()).unwrap();
    let mut fill = None;
    let mut bytes = Vec::new();
    for i in 0..reader.chunks().len() {
        reader.read_chunk(i, &mut bytes).unwrap();
        assert!(bytes.iter().all(|b| b == fill.get_or_insert(*b)));
    }
    fill.unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    write(&path, 3, 10, 1).unwrap();
    let mut writer = Writer::create(&path).unwrap();
    writer.add_chunk(1, 0, &[2; 1000]).unwrap();
    assert_eq!(names_in(dir.path()).len(), 2);
    drop(writer);
    assert_eq!(names_in(dir.path()), ["a.reel"]);
    assert_eq!(read_fill(&path), 1);
}

#[test]
fn the_target_changes_only_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    write(&path, 3, 10, 1).unwrap();
    let mut writer = Writer::create(&path).unwrap();
    for i in 0..100 {
        let bytes = vec![2; 5000];
        writer.add_chunk(5, 0, &bytes).unwrap();
        writer.add_frame(f64::from(i), BOX).unwrap();
        assert_eq!(read_fill(&path), 1);
    }
    writer.finish(SUMMARY).unwrap();
    assert_eq!(read_fill(&path), 2);
    assert_eq!(names_in(dir.path()), ["a.reel"]);
}

#[test]
fn what_is_being_written_does_not_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&dir.path().join("a.reel")).unwrap();
    writer.add_chunk(1, 0, &vec![7; 1 << 20]).unwrap();
    let temporary = dir.path().join(&names_in(dir.path())[0]);
    let error = Reader::open_path(&temporary, &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("never finished"), "{error}");
}

#[test]
fn two_writers_of_one_target_do_not_meet() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    let mut first = Writer::create(&path).unwrap();
    let mut second = Writer::create(&path).unwrap();
    for (writer, fill) in [(&mut first, 1), (&mut second, 2)] {
        writer.add_chunk(5, 0, &[fill; 9]).unwrap();
    }
    second.finish(SUMMARY).unwrap();
    assert_eq!(read_fill(&path), 2);
    first.finish(SUMMARY).unwrap();
    assert_eq!(read_fill(&path), 1);
}

/// A file left behind by a dead process is never written to, even if that process had the id of this one, and
/// is removed. A file left by a writer of another target stays.
#[test]
fn leftovers_are_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    let leftovers: Vec<PathBuf> =
        (0..200).map(|n| dir.path().join(format!(".a.reel.{}-{n}.tmp", std::process::id()))).collect();
    for leftover in &leftovers {
        std::fs::write(leftover, "left").unwrap();
    }
    let other = dir.path().join(".b.reel.1-0.tmp");
    std::fs::write(&other, "left").unwrap();
    write(&path, 1, 10, 3).unwrap();
    assert_eq!(read_fill(&path), 3);
    for leftover in &leftovers {
        assert_eq!(leftover.exists(), !cfg!(unix), "{}", leftover.display());
    }
    assert_eq!(std::fs::read(&other).unwrap(), b"left");
}

#[test]
fn wrong_use_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    let begin = || Writer::create(&path).unwrap();
    let misuse = |result: Result<(), Error>, words: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Misuse { .. }));
        assert!(error.to_string().contains(words), "{error}");
    };
    for time in [f64::NAN, f64::INFINITY] {
        misuse(begin().add_frame(time, BOX), "time");
    }
    let mut writer = begin();
    writer.add_frame(1.0, BOX).unwrap();
    misuse(writer.add_frame(1.0, BOX), "time");
    misuse(writer.add_frame(2.0, [f32::NAN; 6]), "box");
    // Bounds of frames are stored as parts of the file's.
    writer.add_frame(2.0, EMPTY_BOUNDS).unwrap();
    let outside = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    writer.add_frame(3.0, outside).unwrap();
    misuse(writer.finish(SUMMARY).map(drop), "frame 2: its box");
    let flags = Summary { flags: 1 << 31, ..SUMMARY };
    misuse(begin().finish(flags).map(drop), "flag");
    let bounds = Summary { bounds: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], ..SUMMARY };
    misuse(begin().finish(bounds).map(drop), "box");
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn impossible_targets_are_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let check = |path: &Path, words: &str| {
        let text = Writer::create(path).unwrap_err().to_string();
        assert!(text.contains(&*path.to_string_lossy()), "{text}");
        assert!(text.contains(words), "{text:?} does not say {words:?}");
        assert!(!text.contains('\n'), "{text}");
    };
    check(&dir.path().join("missing/a.reel"), "create it first");
    check(&file.join("a.reel"), "is not a folder");
    check(&folder, "it is a folder");
    check(&folder.join(".."), "not the name of a file");
    let mut readonly = std::fs::metadata(&file).unwrap().permissions();
    readonly.set_readonly(true);
    std::fs::set_permissions(&file, readonly).unwrap();
    check(&file, "read-only");
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    if cfg!(unix) {
        check(Path::new("/dev/null"), "not an ordinary file");
    }
    assert_eq!(names_in(dir.path()), ["file", "folder"]);
}

/// A folder may appear in the target's place while the file is written.
#[test]
fn target_becomes_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    let writer = Writer::create(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = writer.finish(SUMMARY).unwrap_err();
    assert!(error.to_string().contains("it is a folder"), "{error}");
    assert_eq!(names_in(dir.path()), ["a.reel"]);
}

#[test]
fn a_name_as_long_as_the_disk_allows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("{}.reel", "n".repeat(250)));
    write(&path, 1, 10, 4).unwrap();
    assert_eq!(read_fill(&path), 4);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real.reel");
    let link = dir.path().join("link.reel");
    std::fs::write(&real, "old").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.reel", &link).unwrap();
    write(&link, 1, 10, 5).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read_fill(&real), 5);
    let mode = std::fs::metadata(&real).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

// Full disks. The first is a real one if this process may mount it; the second is a limit that every process
// may set for itself.

/// Writes more than fits over an old file, and checks that the old file remains, and nothing else.
fn check_full(folder: &Path, words: &str) {
    let path = folder.join("a.reel");
    write(&path, 2, 10_000, 1).unwrap();
    let text = write(&path, 64, 100_000, 2).unwrap_err().to_string();
    assert!(text.contains(words), "{text}");
    assert!(text.contains(&*path.to_string_lossy()), "{text}");
    assert_eq!(names_in(folder), ["a.reel"]);
    assert_eq!(read_fill(&path), 1);
    // Writing works again afterwards.
    write(&path, 3, 10_000, 3).unwrap();
    assert_eq!(read_fill(&path), 3);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
        .arg(dir.path())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        skipped("may not mount a small disk");
        return;
    }
    let result = std::panic::catch_unwind(|| check_full(dir.path(), "free some space"));
    let unmounted = Command::new("umount").arg(dir.path()).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    result.unwrap();
}

#[cfg(unix)]
#[test]
fn full_quota() {
    let dir = tempfile::tempdir().unwrap();
    // Files of at most 1 MiB (2048 blocks of 512 bytes); the signal that would end the process is ignored, so
    // writing fails.
    let test = child("quota_child", dir.path());
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\""])
        .arg(test.get_program())
        .args(test.get_args())
        .env(FOLDER, dir.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(read_fill(&dir.path().join("a.reel")), 3);
}

#[test]
#[ignore = "run by full_quota"]
fn quota_child() {
    let folder = std::env::var_os(FOLDER).expect("run by full_quota");
    check_full(Path::new(&folder), "choose another disk");
}

// Killed while writing.

const FOLDER: &str = "MESHREEL_TEST_FOLDER";

/// Returns the command that runs one ignored test of this program.
fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture"]).env(FOLDER, folder).stdout(Stdio::null());
    command
}

#[test]
fn killed_at_any_moment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    let mut seed = 12345u64;
    let (mut absent, mut whole, mut left) = (0, 0, 0);
    for round in 0..40 {
        if round % 8 == 0 {
            let _ = std::fs::remove_file(&path);
        }
        let before = path.exists();
        let mut child = child("killed_child", dir.path()).spawn().unwrap();
        let begin = names_in(dir.path());
        while names_in(dir.path()) == begin && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        if path.exists() {
            read_fill(&path);
            whole += 1;
        } else {
            assert!(!before, "a file that was there has gone");
            absent += 1;
        }
        for name in names_in(dir.path()) {
            let name = dir.path().join(name);
            if name == path {
                continue;
            }
            // A leftover file is refused, unless the process was killed between its last sync and its rename:
            // then it is complete.
            match Reader::open_path(&name, &Limits::default()) {
                Ok(_) => drop(read_fill(&name)),
                Err(error) => assert!(matches!(error, Error::Malformed { .. }), "{error}"),
            }
            std::fs::remove_file(name).unwrap();
            left += 1;
        }
    }
    println!("absent {absent}, whole {whole}, leftovers {left}");
    assert!(left > 0);
}

#[test]
#[ignore = "run by killed_at_any_moment"]
fn killed_child() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("run by killed_at_any_moment"));
    for fill in 0.. {
        write(&folder.join("a.reel"), 100, 40_000, fill as u8).unwrap();
    }
}

/// Reports, and counts in the file that `MESHREEL_SKIPPED` names, a check that was skipped.
fn skipped(why: &str) {
    println!("skipped: {why}");
    if let Some(path) = std::env::var_os("MESHREEL_SKIPPED") {
        let list = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = list.and_then(|mut list| writeln!(list, "disk: {why}"));
    }
}
