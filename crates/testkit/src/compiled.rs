//! Compiles scenes and opens the files.

use meshreel::{Limits, Reel};
use meshreel_check::verify;
use meshreel_compile::{Report, Silent, compile};
use meshreel_options::Options;
use meshreel_scene::Scene;
use std::sync::Arc;

/// Compiles a scene; returns the file and the report.
pub fn compiled(scene: &Scene, options: &Options) -> (Vec<u8>, Report) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    let report =
        compile(scene.clone(), Vec::new(), &path, options, &meshreel_check::reopen, &Silent).unwrap();
    (std::fs::read(&path).unwrap(), report)
}

/// Opens a file in memory.
pub fn opened(bytes: Vec<u8>) -> Reel {
    Reel::from_source(Arc::new(bytes), &Limits::default()).unwrap()
}

/// Compiles a scene, opens the file and verifies it against the scene: every promise must hold.
pub fn verified(scene: &Scene, options: &Options) -> (Reel, Report) {
    let (bytes, report) = compiled(scene, options);
    let reel = opened(bytes);
    let checked = verify(scene, &reel, &|_, _| ()).unwrap();
    assert!(checked.ok, "{checked:?}");
    (reel, report)
}
