//! Imports sources of animation as `.reel` files, with the program `meshreel`.

use crate::loader::EXTENSION;
use crate::model::compiler::CompileOptions;
use crate::project::{PROGRAM, setting};
use godot::classes::{EditorImportPlugin, IEditorImportPlugin, ProjectSettings};
use godot::global::Error;
use godot::prelude::*;
use godot::register::info::PropertyHint;
use std::path::{Path, PathBuf};

/// The extensions of sources.
const SOURCES: [&str; 8] = ["abc", "usd", "usda", "usdc", "usdz", "bvh", "glb", "gltf"];

/// Imports Alembic, USD, BVH and, if it is chosen in the Import dock, glTF as `.reel` files.
#[derive(GodotClass)]
#[class(tool, init, base = EditorImportPlugin)]
pub struct ReelImporter {
    base: Base<EditorImportPlugin>,
}

#[godot_api]
impl IEditorImportPlugin for ReelImporter {
    fn get_importer_name(&self) -> GString {
        GString::from("meshreel")
    }

    fn get_visible_name(&self) -> GString {
        GString::from("Reel (meshreel)")
    }

    fn get_recognized_extensions(&self) -> PackedStringArray {
        SOURCES.into_iter().map(GString::from).collect()
    }

    fn get_save_extension(&self) -> GString {
        GString::from(EXTENSION)
    }

    fn get_resource_type(&self) -> GString {
        GString::from("ReelResource")
    }

    // Less than that of scenes, so that glTF files are scenes by default.
    fn get_priority(&self) -> f32 {
        0.5
    }

    fn get_import_order(&self) -> i32 {
        0
    }

    fn get_format_version(&self) -> i32 {
        0
    }

    fn can_import_threaded(&self) -> bool {
        false
    }

    fn get_preset_count(&self) -> i32 {
        1
    }

    fn get_preset_name(&self, _preset_index: i32) -> GString {
        GString::from("Default")
    }

    fn get_import_options(&self, _path: GString, _preset_index: i32) -> Array<AnyDictionary> {
        let option = |name: &str, value: Variant, hint: PropertyHint, hint_string: &str| {
            let mut out = VarDictionary::new();
            out.set("name", name);
            out.set("default_value", &value);
            out.set("property_hint", hint);
            out.set("hint_string", hint_string);
            out.upcast_any_dictionary()
        };
        [
            option("tolerance", "0.01%".to_variant(), PropertyHint::NONE, ""),
            option("preset", "small".to_variant(), PropertyHint::ENUM, "small,fast,classic"),
            option("unit", "".to_variant(), PropertyHint::ENUM_SUGGESTION, "m,cm,mm,in"),
            option("lods", 0.to_variant(), PropertyHint::RANGE, "0,7,1"),
            option("cycle", false.to_variant(), PropertyHint::NONE, ""),
            option("clips_only", false.to_variant(), PropertyHint::NONE, ""),
            option("arguments", PackedStringArray::new().to_variant(), PropertyHint::NONE, ""),
        ]
        .into_iter()
        .collect()
    }

    fn get_option_visibility(&self, _path: GString, _option: StringName, _options: VarDictionary) -> bool {
        true
    }

    fn import(
        &mut self,
        source_file: GString,
        save_path: GString,
        options: VarDictionary,
        _platform_variants: Array<GString>,
        _gen_files: Array<GString>,
    ) -> Error {
        let output = GString::from(&format!("{save_path}.{EXTENSION}"));
        let options = compile_options(&options);
        let done = options.compile(&program(), &system_path(&source_file), &system_path(&output));
        match done {
            Ok(remarks) => {
                if !remarks.is_empty() {
                    godot_print!("{source_file}: {remarks}");
                }
                Error::OK
            }
            Err(error) => {
                godot_error!("{error}");
                Error::FAILED
            }
        }
    }
}

/// Returns the program that compiles sources.
fn program() -> String {
    let named = setting(PROGRAM).try_to::<GString>().unwrap_or_default().to_string();
    if named.trim().is_empty() { "meshreel".to_owned() } else { named }
}

fn system_path(path: &GString) -> PathBuf {
    Path::new(&ProjectSettings::singleton().globalize_path(path).to_string()).to_owned()
}

fn compile_options(options: &VarDictionary) -> CompileOptions {
    let value = |name: &str| options.get(name).unwrap_or_default();
    let text = |name: &str| value(name).try_to::<GString>().unwrap_or_default().to_string();
    let flag = |name: &str| value(name).try_to::<bool>().unwrap_or(false);
    let lods = value("lods").try_to::<i64>().unwrap_or(0).clamp(0, 7);
    let arguments = value("arguments").try_to::<PackedStringArray>().unwrap_or_default();
    CompileOptions {
        tolerance: text("tolerance"),
        preset: text("preset"),
        unit: text("unit"),
        lods: lods as u32,
        clips_only: flag("clips_only"),
        cycle: flag("cycle"),
        arguments: arguments.as_slice().iter().map(GString::to_string).collect(),
    }
}
