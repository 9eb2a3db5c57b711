//! From a scene to a file, and back.

use meshreel::{Limits, Reel};
use meshreel_check::verify;
use meshreel_compile::{Report, Silent, compile};
use meshreel_options::Options;
use meshreel_scene::Scene;
use std::sync::Arc;

/// The file that a scene is compiled to, and the report.
pub fn compiled(scene: &Scene, options: &Options) -> (Vec<u8>, Report) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    let report = compile(scene, Vec::new(), &path, options, &meshreel_check::reopen, &Silent).unwrap();
    (std::fs::read(&path).unwrap(), report)
}

/// A file in memory, opened.
pub fn opened(bytes: Vec<u8>) -> Reel {
    Reel::from_source(Arc::new(bytes), &Limits::default()).unwrap()
}

/// A scene compiled, opened, and held against its source: every promise holds.
pub fn verified(scene: &Scene, options: &Options) -> (Reel, Report) {
    let (bytes, report) = compiled(scene, options);
    let reel = opened(bytes);
    let checked = verify(scene, &reel, &|_, _| ()).unwrap();
    assert!(checked.ok, "{checked:?}");
    (reel, report)
}
