//! The entry point of the library, for the engine.
#![allow(unsafe_code)]

use crate::project::add_project_settings;
use crate::runtime::ReelRuntime;
use godot::prelude::*;

/// The library that the engine loads.
struct MeshreelExtension;

// The engine calls this through a function of C, whose name is in `meshreel.gdextension`.
#[gdextension]
unsafe impl ExtensionLibrary for MeshreelExtension {
    fn on_stage_init(stage: InitStage) {
        if stage == InitStage::Scene {
            add_project_settings();
            ReelRuntime::singleton().bind_mut().add_loader();
        }
    }

    fn on_stage_deinit(stage: InitStage) {
        if stage == InitStage::Scene {
            ReelRuntime::singleton().bind_mut().close();
        }
    }
}
