//! Plays `.reel` files in Godot 4: baked animation of any size, streamed from the disk in fixed memory.

pub mod model;

mod clip_player;
mod copies;
mod extension;
mod importer;
mod instance;
mod loader;
mod materials;
mod mesh;
mod nodes;
mod project;
mod resource;
mod runtime;
