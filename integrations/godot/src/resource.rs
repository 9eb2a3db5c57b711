//! The resource that names a file and says what is in it.

use crate::model::facts::{self, ReelFacts};
use crate::model::source::{ReelSource, START_BYTES, begins_with};
use crate::project::limits;
use godot::classes::file_access::ModeFlags;
use godot::classes::{FileAccess, IResource, ProjectSettings, Resource};
use godot::prelude::*;
use meshreel::Reel;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was read of a file, as somebody has asked for it.
#[derive(Default)]
struct KnownFile {
    source: Option<ReelSource>,
    /// The facts; none of them if they could not be read, which was reported.
    facts: Option<ReelFacts>,
}

/// A `.reel` file: its frames, meshes, materials, cameras and clips.
///
/// `load("res://flag.reel")` returns one. A file of the system, as in the editor, is streamed where it lies;
/// one that is in a package (`.pck`, `.apk`) is read into memory, once for all nodes.
#[derive(GodotClass)]
#[class(tool, init, base = Resource)]
pub struct ReelResource {
    /// The path of the file: `res://`, `user://`, or a path of the system.
    #[export(file = "*.reel")]
    #[var(set = set_file)]
    file: GString,
    #[var(get = get_frame_count, no_set, usage_flags = [EDITOR, READ_ONLY])]
    frame_count: PhantomVar<i64>,
    #[var(get = get_duration, no_set, usage_flags = [EDITOR, READ_ONLY])]
    duration: PhantomVar<f64>,
    #[var(get = get_frame_rate, no_set, usage_flags = [EDITOR, READ_ONLY])]
    frame_rate: PhantomVar<f64>,
    #[var(get = get_mesh_names, no_set, usage_flags = [EDITOR, READ_ONLY])]
    mesh_names: PhantomVar<PackedStringArray>,
    #[var(get = get_material_names, no_set, usage_flags = [EDITOR, READ_ONLY])]
    material_names: PhantomVar<PackedStringArray>,
    #[var(get = get_clip_names, no_set, usage_flags = [EDITOR, READ_ONLY])]
    clip_names: PhantomVar<PackedStringArray>,
    /// Counts the changes of `file`.
    revision: u64,
    /// What was read of the file. Resources are loaded on any thread.
    known: Mutex<KnownFile>,
    base: Base<Resource>,
}

#[godot_api]
impl IResource for ReelResource {
    fn to_string(&self) -> GString {
        GString::from(&format!("ReelResource({})", self.file))
    }
}

#[godot_api]
impl ReelResource {
    #[func]
    fn set_file(&mut self, file: GString) {
        if self.file == file {
            return;
        }
        self.file = file;
        self.known = Mutex::default();
        self.revision += 1;
        self.base_mut().emit_changed();
    }

    /// Returns the number of frames; 0 for a file of clips.
    #[func]
    fn get_frame_count(&self) -> i64 {
        self.with_facts(|facts| facts.frames as i64)
    }

    /// Returns the seconds from the first to the last frame.
    #[func]
    fn get_duration(&self) -> f64 {
        self.with_facts(|facts| facts.duration)
    }

    /// Returns the frames per second that the source states, or else the mean.
    #[func]
    fn get_frame_rate(&self) -> f64 {
        self.with_facts(|facts| facts.frame_rate)
    }

    /// Returns the metres of the file's unit of length; 1 if it names none.
    #[func]
    fn get_unit_metres(&self) -> f64 {
        self.with_facts(|facts| f64::from(facts.unit_metres))
    }

    /// Returns the paths of the meshes in the source.
    #[func]
    fn get_mesh_names(&self) -> PackedStringArray {
        self.with_facts(|facts| strings(facts.meshes.iter()))
    }

    /// Returns the names of the materials, the keys of [member ReelInstance3D.materials].
    #[func]
    fn get_material_names(&self) -> PackedStringArray {
        self.with_facts(|facts| strings(facts.materials.iter()))
    }

    /// Returns the paths of the cameras in the source.
    #[func]
    fn get_camera_names(&self) -> PackedStringArray {
        self.with_facts(|facts| strings(facts.cameras.iter()))
    }

    /// Returns the names of the clips, for [ReelClipPlayer].
    #[func]
    fn get_clip_names(&self) -> PackedStringArray {
        self.with_facts(|facts| strings(facts.clips.iter().map(|clip| &clip.name)))
    }

    /// Returns the seconds of a clip; 0 if there is no such clip.
    #[func]
    fn get_clip_duration(&self, clip: GString) -> f64 {
        let clip = clip.to_string();
        let duration = |facts: &ReelFacts| Some(facts.clips.iter().find(|own| own.name == clip)?.duration);
        self.with_facts(duration).unwrap_or(0.0)
    }

    /// Returns the names of the ranges of frames, for [method ReelInstance3D.play_range].
    #[func]
    fn get_range_names(&self) -> PackedStringArray {
        self.with_facts(|facts| strings(facts.ranges.iter().map(|range| &range.name)))
    }
}

impl ReelResource {
    /// Creates the resource of a file.
    pub(crate) fn for_file(file: &GString) -> Gd<ReelResource> {
        let resource = ReelResource::new_gd();
        let mut out = resource.clone();
        out.bind_mut().file = file.clone();
        resource
    }

    /// Returns the number of times that it has named another file.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &GString {
        &self.file
    }

    /// Returns the place of the file's bytes. A file in a package is read into memory.
    pub(crate) fn source(&self) -> Result<ReelSource, String> {
        let mut known = self.known();
        if let Some(source) = &known.source {
            return Ok(source.clone());
        }
        let source = find_source(&self.file)?;
        known.source = Some(source.clone());
        Ok(source)
    }

    /// Opens the file for its tables.
    pub(crate) fn open(&self) -> Result<Reel, String> {
        let source = self.source()?;
        facts::open(&source, &limits()).map_err(|error| error.to_string())
    }

    /// Returns a named range of frames, in seconds.
    pub(crate) fn range(&self, name: &str) -> Option<[f64; 2]> {
        self.with_facts(|facts| Some(facts.ranges.iter().find(|range| range.name == name)?.seconds))
    }

    /// Forgets what it has read of the file, after that was replaced.
    pub(crate) fn forget_facts(&self) {
        self.known().facts = None;
    }

    fn known(&self) -> MutexGuard<'_, KnownFile> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a function with what the file says about itself; nothing if that cannot be read, which is
    /// reported.
    fn with_facts<R>(&self, f: impl FnOnce(&ReelFacts) -> R) -> R {
        if let Some(facts) = &self.known().facts {
            return f(facts);
        }
        let read = |reel: Reel| ReelFacts::read(&reel).map_err(|error| error.to_string());
        let facts = match self.file.is_empty() {
            true => Ok(ReelFacts::default()),
            false => self.open().and_then(read),
        };
        let facts = facts.unwrap_or_else(|error| {
            godot_error!("{error}");
            ReelFacts::default()
        });
        f(self.known().facts.insert(facts))
    }
}

fn strings<'a>(names: impl Iterator<Item = &'a String>) -> PackedStringArray {
    names.map(GString::from).collect()
}

/// Returns the place of a file's bytes: a file of the system, if that begins as the engine's file system
/// reads it, or else all bytes.
fn find_source(file: &GString) -> Result<ReelSource, String> {
    let Some(mut access) = FileAccess::open(file, ModeFlags::READ) else {
        return Err(format!("{file}: it cannot be opened ({:?})", FileAccess::get_open_error()));
    };
    let start = access.get_buffer(START_BYTES as i64);
    let path = PathBuf::from(ProjectSettings::singleton().globalize_path(file).to_string());
    if path.is_absolute() && begins_with(&path, start.as_slice()) {
        return Ok(ReelSource::Path(path));
    }
    let length = access.get_length();
    access.seek(0);
    let bytes = access.get_buffer(length as i64);
    if bytes.len() as u64 != length {
        return Err(format!("{file}: {} of {length} bytes could be read", bytes.len()));
    }
    Ok(ReelSource::Bytes { name: file.to_string(), bytes: Arc::from(bytes.as_slice()) })
}
