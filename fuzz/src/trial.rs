//! Scenes by chance, each compiled and verified: for the tests of the command line and for the benchmark
//! `random`. A seed and a number say which scene it is.

use super::{Numbers, options, scene};
use meshreel::{Limits, Reel};
use meshreel_check::{reopen, verify};
use meshreel_compile::{Error, Silent, compile};
use meshreel_options::Options;
use meshreel_scene::{Channel, Scene, Scope};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Bytes that scenes are made of: more than any takes.
const BYTES: usize = 1 << 15;

/// What became of a scene.
pub enum Outcome {
    /// It was compiled, and every promise holds.
    Holds,
    /// It was not compiled, for a reason that is the scene's or the options'.
    Refused(String),
    /// It was compiled and does not open or verify, or something panics.
    Broken(String),
}

fn bytes(seed: u64, number: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = state;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    (0..BYTES / 8).flat_map(|_| next().to_le_bytes()).collect()
}

/// The plain scene of a number, and options for it.
pub fn plain(seed: u64, number: u64) -> (Scene, Options) {
    let bytes = bytes(seed, number);
    let mut numbers = Numbers(&bytes);
    let options = options::options(&mut numbers);
    (scene::plain(&mut numbers), options)
}

/// The scene of a number, and options for it. Two thirds of them are compiled with little effort.
pub fn made(seed: u64, number: u64) -> (Scene, Options) {
    let bytes = bytes(seed, number);
    let mut numbers = Numbers(&bytes);
    let options = options::options(&mut numbers);
    let scene = scene::scene(&mut numbers);
    let mut options = options::more(options, &mut numbers);
    if numbers.below(3) > 0 {
        options.effort = options.effort.min(2);
    }
    (scene, options)
}

/// Compiles and verifies a scene.
pub fn outcome(scene: &Scene, options: &Options) -> Outcome {
    outcome_and(scene, options, &|_, _| Ok(()))
}

/// What else must hold of a file; the folder is for files beside it.
pub type Also<'a> = &'a dyn Fn(&Reel, &Path) -> Result<(), String>;

/// Compiles and verifies a scene, and asks what `also` must hold of the file.
pub fn outcome_and(scene: &Scene, options: &Options, also: Also<'_>) -> Outcome {
    let tried = catch_unwind(AssertUnwindSafe(|| tried(scene, options, also)));
    tried.unwrap_or_else(|_| Outcome::Broken("panics".into()))
}

fn tried(scene: &Scene, options: &Options, also: Also<'_>) -> Outcome {
    let Ok(folder) = tempfile::tempdir() else {
        return Outcome::Refused("no temporary folder".into());
    };
    let path = folder.path().join("scene.reel");
    match compile(scene.clone(), Vec::new(), &path, options, &reopen, &Silent) {
        Ok(_) => {}
        Err(error @ (Error::Promise { .. } | Error::Refused { .. })) => {
            return Outcome::Broken(error.to_string());
        }
        Err(error) => return Outcome::Refused(error.to_string()),
    }
    let reel = match Reel::open(&path, &Limits::default()) {
        Ok(reel) => reel,
        Err(error) => return Outcome::Broken(format!("does not open: {error}")),
    };
    match verify(scene, &reel, &|_, _| ()) {
        Ok(report) if report.ok => match also(&reel, folder.path()) {
            Ok(()) => Outcome::Holds,
            Err(what) => Outcome::Broken(what),
        },
        Ok(report) => {
            let more = (report.failures.len() as u64 + report.more_failures).saturating_sub(1);
            match report.failures.first() {
                Some(first) => Outcome::Broken(format!("{first}, and {more} more")),
                None => Outcome::Broken("is not as promised, and nothing says why".into()),
            }
        }
        Err(error) => Outcome::Broken(format!("cannot be verified: {error}")),
    }
}

/// Values in the first sample.
fn first<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) -> usize {
    let mut out = Vec::new();
    if !channel.is_empty() && channel.read(0, &mut out).is_err() {
        return 0;
    }
    out.len()
}

/// What is in a scene, for whoever looks for what broke.
pub fn contents(scene: &Scene) -> String {
    let mut out = String::new();
    for node in &scene.nodes {
        let transform = node.transform.as_ref().map_or(0, |t| t.local.len());
        let bends = node.transform.as_ref().is_some_and(|t| t.local.has_own_interpolation());
        let shown = node.visibility.as_ref().map_or(0, Channel::len);
        let copy = node.instance_of.map(|to| format!(", as {}", scene.nodes[to].path)).unwrap_or_default();
        let camera = node.camera.as_ref().map_or(0, Channel::len);
        let way = if bends { ", bends" } else { "" };
        out += &format!(
            "{} {:?}: {transform} matrices{way}, {shown} visibilities, {camera} lenses{copy}\n",
            node.path, node.kind
        );
    }
    for mesh in &scene.meshes {
        out += &format!(
            "{}: {:?}, {} samples{}, {} points, {} faces, {} corners",
            mesh.path,
            mesh.topology,
            mesh.positions.len(),
            if mesh.positions.has_own_interpolation() { ", bends" } else { "" },
            first(&mesh.positions),
            first(&mesh.face_counts),
            first(&mesh.face_indices),
        );
        let mut attribute = |name: &str, scope: Scope, samples: usize, indexed: bool| {
            out += &format!(", {name} {scope:?} x{samples}{}", if indexed { " indexed" } else { "" });
        };
        if let Some(a) = &mesh.normals {
            attribute(&a.name, a.scope, a.values.len(), a.indices.is_some());
        }
        for a in &mesh.uvs {
            attribute(&a.name, a.scope, a.values.len(), a.indices.is_some());
        }
        for a in &mesh.colours {
            attribute(&a.name, a.scope, a.values.len(), a.indices.is_some());
        }
        out += &format!(", {} sets\n", mesh.face_sets.len());
    }
    out
}
