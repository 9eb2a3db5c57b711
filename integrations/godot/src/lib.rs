//! Plays `.reel` files in Godot 4.
pub mod model;
