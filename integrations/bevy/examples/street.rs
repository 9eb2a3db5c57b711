//! A street of things that move: `cargo run --release --example street -- assets/flag.reel assets/wall.reel`.
//! Each file given is placed a few times along the street, each copy a little later than the one before.

use bevy::prelude::*;
use bevy_meshreel::{MeshreelPlugin, ReelPlayer, ReelReady, ReelSurface};

/// The number of copies of each file.
const COPIES: usize = 4;
/// The distance from one thing to the next, in metres.
const DISTANCE: f32 = 6.0;

fn main() {
    App::new()
        .add_plugins((DefaultPlugins, MeshreelPlugin::default()))
        .add_systems(Startup, setup)
        .add_systems(Update, walk)
        .add_observer(paint)
        .run();
}
