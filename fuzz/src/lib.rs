//! What the fuzz targets share: a file that is written anew for each input, a walk through a scene, and ways
//! past checksums.

pub mod drive;
pub mod farm;
pub mod forge;
pub mod hdf5;
mod lively;
pub mod meter;
mod numbers;
pub mod options;
pub mod reel;
pub mod scene;
mod shape;

pub use numbers::Numbers;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use meshreel_scene::{Attribute, Channel, Scene};

/// Readers take paths: `data` as a file called `name` in a folder of this process, in memory where the system
/// has such a place.
pub fn file(name: &str, data: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() { shared.to_path_buf() } else { std::env::temp_dir() };
        let folder = base.join(format!("meshreel-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        folder
    });
    let path = folder.join(name);
    fs::write(&path, data).expect("a temporary file");
    path
}

/// Does what a compiler would do with a scene, on a few samples of everything. Errors are fine, panics are
/// not.
pub fn walk(scene: &Scene) {
    let _ = scene.expand();
    for node in scene.nodes.iter().take(1000) {
        if let Some(transform) = &node.transform {
            channel(&transform.local);
            transform.inherits.as_ref().map(channel);
        }
        node.visibility.as_ref().map(channel);
        node.camera.as_ref().map(channel);
    }
    for mesh in scene.meshes.iter().take(200) {
        channel(&mesh.positions);
        channel(&mesh.face_counts);
        channel(&mesh.face_indices);
        mesh.normals.as_ref().map(attribute);
        mesh.uvs.iter().for_each(attribute);
        mesh.colours.iter().for_each(attribute);
        mesh.velocities.as_ref().map(channel);
        mesh.face_sets.iter().for_each(|set| channel(&set.faces));
        if let Some(skin) = &mesh.skin {
            channel(&skin.pose);
            let mut points = Vec::new();
            for (_, driven) in skin.driven.iter().take(4) {
                let _ = driven.points(0.1, &mut points);
            }
        }
    }
}

fn attribute<T: Clone + Send + Sync + 'static>(attribute: &Attribute<T>) {
    channel(&attribute.values);
    attribute.indices.as_ref().map(channel);
}

fn channel<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) {
    let n = channel.len();
    if n == 0 {
        return;
    }
    let mut out = Vec::new();
    for i in [0, 1, n / 2, n - 1] {
        if i < n {
            let _ = channel.identity(i);
            let _ = channel.read(i, &mut out);
        }
    }
    for time in [-1e9, 0.0, 0.5, channel.time(n - 1), f64::MAX] {
        let (at, _) = channel.locate(time);
        assert!(at < n);
    }
}
