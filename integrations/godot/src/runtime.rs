//! The engine singleton that plays all files.

use crate::loader::ReelLoader;
use crate::model::library::Library;
use crate::model::vertices::Vertices;
use crate::project::options;
use godot::classes::{Engine, ResourceLoader};
use godot::prelude::*;

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

/// Returns the number of the engine's frame.
pub(crate) fn frame_number() -> u64 {
    Engine::singleton().get_process_frames()
}
