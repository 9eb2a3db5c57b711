//! Paths of the files that tests read, and a record of what was skipped.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of a small real file that comes with the repository.
pub fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs").join(name)
}

/// Returns the folder of the corpus of real files, if there is one: `MESHREEL_CORPUS`, else beside the
/// repository. A test that finds none is counted as skipped.
pub fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let place = std::env::var_os("MESHREEL_CORPUS").map_or_else(beside, PathBuf::from);
    let found = place.join("alembic/MANIFEST.tsv").is_file();
    if !found {
        report_skipped("no corpus");
    }
    found.then_some(place)
}

/// `true` if the whole corpus is tested (`./test.sh --all`), `false` if only a sample.
pub fn is_thorough() -> bool {
    std::env::var_os("MESHREEL_ALL").is_some()
}

/// Returns the corpus for tests that take minutes, if the whole corpus is tested.
pub fn corpus_if_thorough() -> Option<PathBuf> {
    if !is_thorough() {
        report_skipped("takes long: ./test.sh --all");
        return None;
    }
    corpus()
}

/// Reports that a test skipped something: prints it, and appends it to the file that `MESHREEL_SKIPPED`
/// names.
pub fn report_skipped(why: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    println!("skipped: {name}: {why}");
    let list = std::env::var_os("MESHREEL_SKIPPED");
    let list = list.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
    if let Some(mut list) = list {
        let _ = writeln!(list, "{name}: {why}");
    }
}

/// Returns the command of a Python 3, if there is one.
pub fn python() -> Option<&'static str> {
    let runs = |python: &&str| {
        let version = Command::new(python).arg("--version").output();
        version.is_ok_and(|version| version.status.success())
    };
    let found = ["python3", "python"].into_iter().find(runs);
    if found.is_none() {
        report_skipped("no Python");
    }
    found
}
