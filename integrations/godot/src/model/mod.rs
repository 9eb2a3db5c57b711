//! Everything that does not need the engine: the player of all files, settings and keyed time, the hierarchy,
//! vertices in Godot's surface formats, clips on bones, and the program that compiles sources. No type of the
//! crate `godot` appears here, so that tests run without the engine.

pub mod clips;
pub mod compiler;
pub mod facts;
pub mod format;
pub mod keyed;
pub mod lens;
pub mod library;
pub mod settings;
pub mod source;
pub mod surface;
pub mod tree;
pub mod vertices;
