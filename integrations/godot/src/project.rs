//! The settings of a project.

use crate::model::library::HEAP_SETTING;
use godot::classes::{Engine, ProjectSettings};
use godot::prelude::*;
use godot::register::info::PropertyHint;
use meshreel::{Limits, Options};

const THREADS: &str = "meshreel/threads";
const WATCH_FILES: &str = "meshreel/watch_files";
/// The project setting that names the program for imports.
pub(crate) const PROGRAM: &str = "meshreel/program";

/// Returns the limits that files are opened with.
pub(crate) fn limits() -> Limits {
    options().file_limits()
}

/// Returns the options of the player of all files.
pub(crate) fn options() -> Options {
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
