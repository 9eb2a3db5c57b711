//! The engine singleton that plays all files.

use crate::loader::ReelLoader;
use crate::model::library::{HEAP_SETTING, Library};
use crate::model::vertices::Vertices;
use godot::classes::{Engine, ProjectSettings, ResourceLoader};
use godot::prelude::*;
use godot::register::info::PropertyHint;
use meshreel::{Limits, Options};

const THREADS: &str = "meshreel/threads";
const WATCH_FILES: &str = "meshreel/watch_files";
/// The project setting that names the program for imports.
pub(crate) const PROGRAM: &str = "meshreel/program";

/// Plays all files of a project, in one heap of fixed size.
///
/// The size of the heap, the number of threads, and whether files are watched for changes are project
/// settings (`meshreel/…`), which are read when the first file is opened.
#[derive(GodotClass)]
#[class(init, singleton, base = Object)]
pub struct ReelRuntime {
    library: Option<Library>,
    /// `true` if the player could not be created, which was reported.
    has_failed: bool,
    loader: Option<Gd<ReelLoader>>,
    /// The vertices of the mesh that was decoded last, on the way into surfaces.
    vertices: Vertices,
    base: Base<Object>,
}

#[godot_api]
impl ReelRuntime {
    /// Returns numbers about all files: `heap_bytes`, `heap_used_bytes`, `files`, `instances`, `refused` (the
    /// instances that the heap has no room for), `decode_seconds`. Empty before the first file is opened.
    #[func]
    fn get_statistics(&self) -> VarDictionary {
        let mut out = VarDictionary::new();
        let Some(library) = &self.library else { return out };
        let mut statistics = meshreel::stream::Statistics::default();
        library.player().statistics(&mut statistics);
        out.set("heap_bytes", statistics.heap_bytes as i64);
        out.set("heap_used_bytes", statistics.heap_used as i64);
        out.set("files", library.file_count() as i64);
        out.set("instances", statistics.instances as i64);
        out.set("refused", statistics.refused as i64);
        out.set("decode_seconds", statistics.decode_seconds);
        out
    }
}

impl ReelRuntime {
    /// Returns the player of all files, which is created if there is none. `None` if it could not be created.
    pub(crate) fn library(&mut self) -> Option<&mut Library> {
        if self.library.is_none() && !self.has_failed {
            match Library::new(options()) {
                Ok(library) => self.library = Some(library),
                Err(error) => {
                    self.has_failed = true;
                    godot_error!("no .reel file can be played: {error}");
                }
            }
        }
        self.library.as_mut()
    }

    /// Runs a function with the player of all files. The function must not call anything that emits signals.
    pub(crate) fn with_library<R>(f: impl FnOnce(&mut Library) -> R) -> Option<R> {
        let mut runtime = ReelRuntime::singleton();
        let mut runtime = runtime.bind_mut();
        runtime.library().map(f)
    }

    /// Takes the memory for vertices, which all nodes use one after the other.
    pub(crate) fn take_vertices() -> Vertices {
        std::mem::take(&mut ReelRuntime::singleton().bind_mut().vertices)
    }

    /// Gives the memory for vertices back.
    pub(crate) fn give_vertices(vertices: Vertices) {
        ReelRuntime::singleton().bind_mut().vertices = vertices;
    }

    /// Adds the loader of `.reel` files.
    pub(crate) fn add_loader(&mut self) {
        let loader = ReelLoader::new_gd();
        ResourceLoader::singleton().add_resource_format_loader(&loader);
        self.loader = Some(loader);
    }

    /// Removes the loader, and closes all files.
    pub(crate) fn close(&mut self) {
        if let Some(loader) = self.loader.take() {
            ResourceLoader::singleton().remove_resource_format_loader(&loader);
        }
        self.library = None;
    }
}

/// Returns the limits that files are opened with.
pub(crate) fn limits() -> Limits {
    options().file_limits()
}

/// Returns the number of the engine's frame.
pub(crate) fn frame_number() -> u64 {
    Engine::singleton().get_process_frames()
}

fn options() -> Options {
    let number = |name: &str| setting(name).try_to::<i64>().unwrap_or(0).max(0) as usize;
    let mut options = Options::default();
    let (heap, threads) = (number(HEAP_SETTING), number(THREADS));
    if heap > 0 {
        options = options.with_heap(heap.saturating_mul(1 << 20));
    }
    if threads > 0 {
        options = options.with_threads(threads);
    }
    let watched = setting(WATCH_FILES).try_to::<i64>().unwrap_or(0);
    options.with_watch(watched == 2 || (watched == 0 && Engine::singleton().is_editor_hint()))
}

/// Returns the value of a project setting; nil if there is none.
pub(crate) fn setting(name: &str) -> Variant {
    let settings = ProjectSettings::singleton();
    if settings.has_setting(name) { settings.get_setting_with_override(name) } else { Variant::nil() }
}

/// Adds the project settings, with their defaults.
pub(crate) fn add_project_settings() {
    let add = |name: &str, value: Variant, hint: PropertyHint, hint_string: &str| {
        let mut settings = ProjectSettings::singleton();
        if !settings.has_setting(name) {
            settings.set_setting(name, &value);
        }
        settings.set_initial_value(name, &value);
        let mut info = VarDictionary::new();
        info.set("name", name);
        info.set("type", value.get_type());
        info.set("hint", hint);
        info.set("hint_string", hint_string);
        settings.add_property_info(&info);
        settings.set_as_basic(name, true);
    };
    add(HEAP_SETTING, 128.to_variant(), PropertyHint::RANGE, "1,65536,1,suffix:MiB");
    add(THREADS, 0.to_variant(), PropertyHint::RANGE, "0,64,1");
    add(WATCH_FILES, 0.to_variant(), PropertyHint::ENUM, "In the Editor,Never,Always");
    add(PROGRAM, "meshreel".to_variant(), PropertyHint::GLOBAL_FILE, "");
}
