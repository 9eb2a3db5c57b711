//! Plays `.reel` files in Godot 4: baked animation of any size, streamed from the disk in fixed memory.

pub mod model;

mod extension;
mod instance;
mod loader;
mod materials;
mod mesh;
mod nodes;
mod resource;
mod runtime;
