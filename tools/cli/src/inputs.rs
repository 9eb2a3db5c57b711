//! Opening inputs: which files are what, several merged into one scene, those of later versions refused by
//! name.

use crate::cli::{NOT_BUILT, Rate};
use crate::output::{Class, Failure};
use meshreel_scene::read::{self, ReadOptions};
use meshreel_scene::{Remark, Scene};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Kinds of inputs that a later version reads.
const LATER: [&str; 4] = ["usd", "usda", "usdc", "usdz"];

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
pub fn open(paths: &[PathBuf], options: &InputOptions) -> Result<(Scene, Vec<Remark>), Failure> {
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
        refuse_later(path)?;
        let (scene, more) = read::open(path, &read_options).map_err(|e| Failure::from(e).or_at(path))?;
        scenes.push(scene);
        remarks.extend(more);
    }
    if scenes.len() == 1 {
        return Ok((scenes.remove(0), remarks));
    }
    let (scene, more) = meshreel_scene::merge::merge(scenes)?;
    remarks.extend(more);
    Ok((scene, remarks))
}

/// A point cache among the inputs is the same as `--points`.
fn take_points<'a>(paths: &'a [PathBuf], options: &mut ReadOptions) -> Result<Vec<&'a PathBuf>, Failure> {
    let (caches, others): (Vec<_>, Vec<_>) =
        paths.iter().partition(|path| has_extension(path, &["pc2", "mdd"]));
    if let Some(cache) = caches.first() {
        let meshes = others.iter().filter(|path| has_extension(path, &["obj"])).count();
        if caches.len() + usize::from(options.points.is_some()) > 1 || meshes != 1 {
            return Err(Failure::usage(format!(
                "{}: a point cache goes with one .obj, as in 'body.obj --points body.pc2'",
                cache.display()
            )));
        }
        options.points = Some(cache.to_path_buf());
    }
    Ok(others)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Readers tell kinds by name; a file that is not there shall not be called one of the wrong kind.
fn refuse_missing(path: &Path) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(Failure::new(
            Class::Io,
            "is a directory; name a file, or a sequence such as 'frame.####.obj'",
            Some(path.display().to_string()),
        )),
        Err(_) if read::sequence::is_pattern(path) => Ok(()),
        Err(error) => Err(Failure::io(path, &error)),
        Ok(_) => Ok(()),
    }
}

fn refuse_later(path: &Path) -> Result<(), Failure> {
    if has_extension(path, &LATER) {
        return Err(Failure::new(
            Class::Unsupported,
            format!(
                "this kind of file is {NOT_BUILT}; export Alembic (.abc), glTF (.glb) or an .obj sequence instead"
            ),
            Some(path.display().to_string()),
        ));
    }
    Ok(())
}

/// Whether `path` is one of our own files, by its first bytes (or by its name where it cannot be read).
pub fn is_reel(path: &Path) -> bool {
    let magic = meshreel::format::MAGIC;
    let mut first = [0u8; 8];
    let read = meshreel_files::open(path).and_then(|mut file| file.read_exact(&mut first));
    match read {
        Ok(()) => first == magic || has_reel_name(path),
        Err(_) => has_reel_name(path),
    }
}

/// Refuses what is not one of our own files, before it is opened as one.
pub fn expect_reel(path: &Path) -> Result<(), Failure> {
    match path.exists() {
        true if is_reel(path) => Ok(()),
        true => Err(Failure::new(
            Class::Malformed,
            "not a .reel; 'meshreel compile' makes one of a source file",
            Some(path.display().to_string()),
        )),
        false => Err(Failure::io(path, &std::io::ErrorKind::NotFound.into())),
    }
}

fn has_reel_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("reel"))
}

/// Bytes of the files behind `paths` that exist; a sequence pattern counts as what its first file has.
pub fn file_bytes(paths: &[PathBuf]) -> u64 {
    paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|metadata| metadata.len()).sum()
}
