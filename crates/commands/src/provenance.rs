//! Provenance of a `.reel`, in a small file beside it, which tells whether compiling again would change
//! anything.

use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use meshreel_options::Options;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The largest size in bytes at which a file is read as provenance.
const MAX_PROVENANCE_BYTES: u64 = 64 << 20;

/// The provenance of a `.reel`: program version, options, source files, and the fingerprint of the `.reel`
/// itself. Only contents are compared: no times, no folders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Version of the program, and of the format that it writes.
    meshreel: String,
    /// All options of the compiler.
    options: String,
    /// The options of the readers.
    reading: String,
    /// The file was verified before it got its name.
    verified: bool,
    /// Fingerprints of all files that were read.
    sources: Vec<Fingerprint>,
    /// Fingerprint of the `.reel`; `None` before it exists.
    reel: Option<Fingerprint>,
}

impl Provenance {
    /// Creates the provenance of a file about to be compiled. `sources` are hashed before the sources are
    /// read, so that a change in the meantime leads to another compile the next time. `reading`: the further
    /// options of the readers.
    pub fn new(options: &Options, reading: String, sources: Vec<Fingerprint>) -> Provenance {
        // These options do not change the file's bytes; `strict` stays, since it may refuse the input.
        let options = Options { jobs: 0, explain: false, dry_run: false, ..options.clone() };
        Provenance {
            meshreel: format!("{}, format {}", env!("CARGO_PKG_VERSION"), meshreel::raw::format::VERSION),
            options: format!("{options:?}"),
            reading,
            verified: !options.no_verify,
            sources,
            reel: None,
        }
    }

    /// `true` if `target` has this provenance and is unchanged since. `false` if the provenance file cannot
    /// be read or is something else.
    pub fn is_current(&self, target: &Path) -> bool {
        let Some(written) = read(&provenance_path(target)) else {
            return false;
        };
        let Ok(own) = Fingerprint::from_file(target) else {
            return false;
        };
        let expected = Provenance { reel: Some(own), ..self.clone() };
        written == expected
    }

    /// Writes the provenance beside `target`, which must exist by now.
    pub fn write(self, target: &Path) -> Result<(), Failure> {
        let path = provenance_path(target);
        let failed = |error: std::io::Error| Failure::io(&path, &error);
        let all = Provenance { reel: Some(Fingerprint::from_file(target)?), ..self };
        let mut text = serde_json::to_string_pretty(&all).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let temporary = meshreel_files::Temporary::create(&path).map_err(failed)?;
        temporary.file().write_all(text.as_bytes()).map_err(failed)?;
        temporary.publish().map(|_| ()).map_err(failed)
    }
}

/// Returns the path of the provenance file of `target`: `flag.reel` → `flag.reel.made-of.json`.
pub fn provenance_path(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(".made-of.json");
    target.with_file_name(name)
}

fn read(path: &Path) -> Option<Provenance> {
    let file = meshreel_files::open(path).ok()?;
    let mut text = String::new();
    file.take(MAX_PROVENANCE_BYTES).read_to_string(&mut text).ok()?;
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
            let sources = vec![Fingerprint::from_file(&source).unwrap()];
            Provenance::new(options, "30".into(), sources)
        };
        let options = Options::default();
        assert!(!new(&options).is_current(&target));
        std::fs::write(&target, "reel").unwrap();
        assert!(!new(&options).is_current(&target));
        new(&options).write(&target).unwrap();
        assert!(new(&options).is_current(&target));
        // Options that do not change the file are ignored, others count.
        assert!(new(&Options { jobs: 3, explain: true, ..options.clone() }).is_current(&target));
        assert!(!new(&Options { effort: 6, ..options.clone() }).is_current(&target));
        let unverified = new(&Options { no_verify: true, ..options.clone() });
        assert!(!unverified.is_current(&target) && !unverified.verified);
        assert!(!Provenance { reading: "24".into(), ..new(&options) }.is_current(&target));
        std::fs::write(&source, "2").unwrap();
        assert!(!new(&options).is_current(&target));
        std::fs::write(&source, "1").unwrap();
        assert!(new(&options).is_current(&target));
        // A target written by something else does not match.
        std::fs::write(&target, "else").unwrap();
        assert!(!new(&options).is_current(&target));
        std::fs::write(&target, "reel").unwrap();
        for damaged in ["", "{}", "[1]"] {
            std::fs::write(provenance_path(&target), damaged).unwrap();
            assert!(!new(&options).is_current(&target));
        }
    }
}
