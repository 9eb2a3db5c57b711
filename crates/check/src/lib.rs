//! Proves a file against its source, and turns it back into a scene.

pub mod scene;
