//! What a `.reel` was made of, in a small file beside it: whether making it again would change anything.

use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use meshreel_options::Options;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Largest file that is taken for one of these.
const LARGEST: u64 = 64 << 20;

/// What a `.reel` was made of: by which version, with which options, of which files, and what it was itself.
/// Nothing but contents decides: no times, no folders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Version of this program, and of the format that it writes.
    meshreel: String,
    /// Everything that was asked of the compiler.
    options: String,
    /// What readers were told.
    reading: String,
    /// Whether the file was verified before it got its name.
    verified: bool,
    /// All files that were read.
    sources: Vec<Fingerprint>,
    /// The `.reel`; none before it is there.
    reel: Option<Fingerprint>,
}

impl Provenance {
    /// Of a file that is about to be made. `sources` are hashed before anything that counts is read of them: what
    /// changes meanwhile is then made again the next time. `reading`: what readers are told besides.
    pub fn new(options: &Options, reading: String, sources: Vec<Fingerprint>) -> Provenance {
        // How a run goes and what it prints changes no byte; `strict` stays, since it may refuse.
        let options = Options { jobs: 0, explain: false, dry_run: false, ..options.clone() };
        Provenance {
            meshreel: format!("{}, format {}", env!("CARGO_PKG_VERSION"), meshreel::format::VERSION),
            options: format!("{options:?}"),
            reading,
            verified: !options.no_verify,
            sources,
            reel: None,
        }
    }

    /// Whether `target` was made of just this, and is as it was then. A file beside it that cannot be read, or
    /// is something else, means no.
    pub fn holds(&self, target: &Path) -> bool {
        let Some(written) = read(&beside(target)) else {
            return false;
        };
        let Ok(own) = Fingerprint::of_file(target) else {
            return false;
        };
        let expected = Provenance { reel: Some(own), ..self.clone() };
        written == expected
    }

    /// Writes it beside `target`, which is there by now.
    pub fn write(self, target: &Path) -> Result<(), Failure> {
        let path = beside(target);
        let failed = |error: std::io::Error| Failure::io(&path, &error);
        let all = Provenance { reel: Some(Fingerprint::of_file(target)?), ..self };
        let mut text = serde_json::to_string_pretty(&all).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let temporary = meshreel_files::Temporary::create(&path).map_err(failed)?;
        temporary.file().write_all(text.as_bytes()).map_err(failed)?;
        temporary.publish().map(|_| ()).map_err(failed)
    }
}

/// The file beside `target` that says what it was made of: `flag.reel` → `flag.reel.made-of.json`.
pub fn beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(".made-of.json");
    target.with_file_name(name)
}

fn read(path: &Path) -> Option<Provenance> {
    let file = meshreel_files::open(path).ok()?;
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_difference_counts() {
        let folder = tempfile::tempdir().unwrap();
        let [source, target] = ["a.obj", "a.reel"].map(|name| folder.path().join(name));
        std::fs::write(&source, "1").unwrap();
        let new = |options: &Options| {
            let sources = vec![Fingerprint::of_file(&source).unwrap()];
            Provenance::new(options, "30".into(), sources)
        };
        let options = Options::default();
        assert!(!new(&options).holds(&target));
        std::fs::write(&target, "reel").unwrap();
        assert!(!new(&options).holds(&target));
        new(&options).write(&target).unwrap();
        assert!(new(&options).holds(&target));
        // How it runs does not count, what it makes does.
        assert!(new(&Options { jobs: 3, explain: true, ..options.clone() }).holds(&target));
        assert!(!new(&Options { effort: 6, ..options.clone() }).holds(&target));
        let unverified = new(&Options { no_verify: true, ..options.clone() });
        assert!(!unverified.holds(&target) && !unverified.verified);
        assert!(!Provenance { reading: "24".into(), ..new(&options) }.holds(&target));
        std::fs::write(&source, "2").unwrap();
        assert!(!new(&options).holds(&target));
        std::fs::write(&source, "1").unwrap();
        assert!(new(&options).holds(&target));
        // A target that something else wrote is not what was made.
        std::fs::write(&target, "else").unwrap();
        assert!(!new(&options).holds(&target));
        std::fs::write(&target, "reel").unwrap();
        for damaged in ["", "{}", "[1]"] {
            std::fs::write(beside(&target), damaged).unwrap();
            assert!(!new(&options).holds(&target));
        }
    }
}
