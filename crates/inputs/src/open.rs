//! Opening inputs: recognizes their kinds and merges several into one scene.

use crate::extensions::{has_extension, is_point_cache};
use crate::{Error, folder};
use meshreel_options::{MergeAt, Options, PartialOptions, Rate};
use meshreel_read::{ReadOptions, sequence};
use meshreel_scene::{Remark, Scene};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Options for opening inputs.
#[derive(Clone, Default)]
pub struct InputOptions {
    /// Point cache with the positions of an OBJ over time.
    pub points: Option<PathBuf>,
    /// Frame rate of inputs that carry none.
    pub source_fps: Option<Rate>,
    /// Name or number of the animation that moves the meshes.
    pub animation: Option<String>,
    /// Start of each numbered sequence that is merged.
    pub merge_at: MergeAt,
}

impl InputOptions {
    /// Takes the options for inputs from those that the user gave.
    pub fn new(points: Option<PathBuf>, said: &PartialOptions) -> InputOptions {
        InputOptions {
            points,
            source_fps: said.source_fps,
            animation: said.animation.clone(),
            merge_at: said.merge_at.unwrap_or_default(),
        }
    }

    /// Sets the options with which a file was compiled; a rate that is given here takes precedence.
    pub fn with_compiled_options(self, stored: &Options) -> InputOptions {
        InputOptions {
            points: self.points,
            source_fps: self.source_fps.or(stored.source_fps.map(Rate)),
            animation: stored.animation.clone(),
            merge_at: stored.merge_at,
        }
    }
}

/// Opens all `paths` and merges them by node path. `-` (standard input) is not supported.
pub fn open(paths: &[PathBuf], options: &InputOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let mut read_options = ReadOptions::default();
    read_options.points.clone_from(&options.points);
    read_options.animation.clone_from(&options.animation);
    if let Some(Rate(fps)) = options.source_fps {
        read_options.source_fps = fps;
    }
    let mut remarks = Vec::new();
    let mut scenes = Vec::with_capacity(paths.len());
    let paths = take_point_cache(paths, &mut read_options)?;
    paths.iter().try_for_each(|path| refuse_missing(path))?;
    if options.merge_at == MergeAt::Frame {
        read_options.shot_numbers = shot_numbers(&paths, &mut remarks)?;
    }
    for path in paths {
        let (scene, more) = meshreel_read::open(path, &read_options)
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

/// Treats a point cache among the inputs like `--points`.
fn take_point_cache<'a>(paths: &'a [PathBuf], options: &mut ReadOptions) -> Result<Vec<&'a PathBuf>, Error> {
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

/// Refuses missing files. Readers recognize kinds by name and would report a missing file as one of the wrong
/// kind.
fn refuse_missing(path: &Path) -> Result<(), Error> {
    match meshreel_files::length(path) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            let what = folder::folder_refusal(path);
            Err(Error::io(path, std::io::Error::new(ErrorKind::IsADirectory, what)))
        }
        Err(_) if meshreel_read::sequence::is_pattern(path) => Ok(()),
        Err(error) => Err(Error::io(path, error)),
        Ok(_) => Ok(()),
    }
}

/// Returns the frame numbers of all sequences, if there are several: they are frames of one clock.
fn shot_numbers(paths: &[&PathBuf], remarks: &mut Vec<Remark>) -> Result<Vec<i64>, Error> {
    let sequences: Vec<&PathBuf> =
        paths.iter().copied().filter(|path| meshreel_read::is_sequence(path)).collect();
    if sequences.len() < 2 {
        return Ok(Vec::new());
    }
    let numbers = |path: &&PathBuf| {
        let scene = |source| Error::Scene { path: Some(path.to_path_buf()), source };
        sequence::numbers(path).map_err(scene)
    };
    let all: Vec<Vec<i64>> = sequences.iter().map(numbers).collect::<Result<_, _>>()?;
    let ends = |numbers: &[i64]| numbers.first().copied().zip(numbers.last().copied());
    let meet = |a: &[i64], b: &[i64]| ends(a).zip(ends(b)).is_some_and(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
    for (i, path) in sequences.iter().enumerate() {
        let alone = all.iter().enumerate().all(|(j, other)| i == j || !meet(&all[i], other));
        if let (true, Some((first, last))) = (alone, ends(&all[i])) {
            let what = format!(
                "its numbers, {first} to {last}, are before or after those of all other sequences, so nothing is shown together with it; --merge-at zero starts all at once"
            );
            remarks.push(Remark::new(path.display().to_string(), what));
        }
    }
    let all: BTreeSet<i64> = all.into_iter().flatten().collect();
    Ok(all.into_iter().collect())
}

/// Returns the total size, in bytes, of the files that a scene is read from.
pub fn source_bytes(scene: &Scene) -> u64 {
    let files: BTreeSet<&PathBuf> = scene.files.iter().collect();
    files.into_iter().filter_map(|path| meshreel_files::length(path).ok()).sum()
}
