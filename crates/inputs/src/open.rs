//! Opening inputs: which files are what, several merged into one scene.

use crate::Error;
use meshreel_options::Rate;
use meshreel_scene::read::{self, ReadOptions};
use meshreel_scene::{Remark, Scene};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Extensions of inputs; nothing that is compiled is written under such a name.
pub const EXTENSIONS: [&str; 13] =
    ["abc", "usd", "usda", "usdc", "usdz", "fbx", "obj", "ply", "pc2", "mdd", "glb", "gltf", "bvh"];

/// Extensions of point caches.
const POINT_CACHES: [&str; 2] = ["pc2", "mdd"];

/// How inputs are opened.
#[derive(Clone, Default)]
pub struct InputOptions {
    /// Positions of an OBJ over time.
    pub points: Option<PathBuf>,
    /// Rate of inputs that carry none.
    pub source_fps: Option<Rate>,
    /// The animation that moves the meshes.
    pub animation: Option<String>,
}

/// Opens all `paths` and merges them by node path. `-` is not a file.
pub fn open(paths: &[PathBuf], options: &InputOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let mut read_options = ReadOptions::default();
    read_options.points.clone_from(&options.points);
    read_options.animation.clone_from(&options.animation);
    if let Some(Rate(fps)) = options.source_fps {
        read_options.source_fps = fps;
    }
    let mut remarks = Vec::new();
    let mut scenes = Vec::with_capacity(paths.len());
    let paths = take_points(paths, &mut read_options)?;
    for path in paths {
        refuse_missing(path)?;
        let (scene, more) = read::open(path, &read_options)
            .map_err(|source| Error::Scene { path: Some(path.clone()), source })?;
        scenes.push(scene);
        remarks.extend(more);
    }
    if scenes.len() == 1 {
        return Ok((scenes.remove(0), remarks));
    }
    let (scene, more) =
        meshreel_scene::merge::merge(scenes).map_err(|source| Error::Scene { path: None, source })?;
    remarks.extend(more);
    Ok((scene, remarks))
}

/// A point cache among the inputs is the same as `--points`.
fn take_points<'a>(paths: &'a [PathBuf], options: &mut ReadOptions) -> Result<Vec<&'a PathBuf>, Error> {
    let (caches, others): (Vec<_>, Vec<_>) = paths.iter().partition(|path| is_point_cache(path));
    if let Some(cache) = caches.first() {
        let meshes = others.iter().filter(|path| has_extension(path, &["obj"])).count();
        if caches.len() + usize::from(options.points.is_some()) > 1 || meshes != 1 {
            return Err(Error::misuse(format!(
                "{}: a point cache goes with one .obj, as in 'body.obj --points body.pc2'",
                cache.display()
            )));
        }
        options.points = Some(cache.to_path_buf());
    }
    Ok(others)
}

/// Whether a path names positions of a mesh over time, which go with that mesh.
pub fn is_point_cache(path: &Path) -> bool {
    has_extension(path, &POINT_CACHES)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Readers tell kinds by name; a file that is not there shall not be called one of the wrong kind.
fn refuse_missing(path: &Path) -> Result<(), Error> {
    match meshreel_files::length(path) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            let what = "is a directory; name a file, or a sequence such as 'frame.####.obj'";
            Err(Error::io(path, std::io::Error::new(ErrorKind::IsADirectory, what)))
        }
        Err(_) if read::sequence::is_pattern(path) => Ok(()),
        Err(error) => Err(Error::io(path, error)),
        Ok(_) => Ok(()),
    }
}

/// Bytes of the files behind `paths` that exist; a sequence pattern counts as what its first file has.
pub fn file_bytes(paths: &[PathBuf]) -> u64 {
    paths.iter().filter_map(|path| meshreel_files::length(path).ok()).sum()
}
