//! Loads `.reel` files as resources, without an import: they are exported and streamed as they are.

use crate::resource::ReelResource;
use godot::classes::{IResourceFormatLoader, ResourceFormatLoader};
use godot::global::Error;
use godot::prelude::*;

/// The extension of files.
pub(crate) const EXTENSION: &str = "reel";

/// Loads `.reel` files.
#[derive(GodotClass)]
#[class(tool, init, base = ResourceFormatLoader)]
pub struct ReelLoader {
    base: Base<ResourceFormatLoader>,
}

#[godot_api]
impl IResourceFormatLoader for ReelLoader {
    fn get_recognized_extensions(&self) -> PackedStringArray {
        [GString::from(EXTENSION)].into_iter().collect()
    }

    fn handles_type(&self, class: StringName) -> bool {
        class == "ReelResource" || class == "Resource"
    }

    fn get_resource_type(&self, path: GString) -> GString {
        let is_reel = path.get_extension().to_lower() == EXTENSION;
        if is_reel { GString::from("ReelResource") } else { GString::new() }
    }

    fn load(
        &self,
        path: GString,
        _original_path: GString,
        _use_sub_threads: bool,
        _cache_mode: i32,
    ) -> Variant {
        let resource = ReelResource::for_file(&path);
        let opened = resource.bind().open();
        match opened {
            Ok(_) => resource.to_variant(),
            Err(error) => {
                godot_error!("{error}");
                Error::ERR_FILE_CORRUPT.to_variant()
            }
        }
    }
}
