//! Plays `.reel` files in [Bevy](https://bevy.org): baked animation of any size, streamed from the disk in
//! fixed memory.
//!
//! ```no_run
//! use bevy::prelude::*;
//! use bevy_meshreel::{MeshreelPlugin, ReelPlayer};
//!
//! fn main() {
//!     App::new().add_plugins((DefaultPlugins, MeshreelPlugin::default())).add_systems(Startup, setup).run();
//! }
//!
//! fn setup(mut commands: Commands, assets: Res<AssetServer>) {
//!     commands.spawn(ReelPlayer::new(assets.load("flag.reel")).playing().looping());
//!     commands.spawn((Camera3d::default(), Transform::from_xyz(0.0, 1.0, 5.0)));
//!     commands.spawn((DirectionalLight::default(), Transform::IDENTITY.looking_to(Vec3::NEG_ONE, Vec3::Y)));
//! }
//! ```
//!
//! An entity with a [`ReelPlayer`] becomes the root of the file's nodes, as soon as its first frame is
//! decoded:
//!
//! ```text
//! ReelPlayer                     yours: transform, visibility
//! └ scale to metres              if the file names a unit
//!   └ ReelNode …                 a node of the file, with its name; moves each frame
//!     ├ ReelSurface              a mesh, or the part of one that has one material: Mesh3d, MeshMaterial3d
//!     └ ReelCamera               a camera, without Camera3d: insert one to look through it
//! ```
//!
//! A [`ReelCopy`] has the same entities, for crowds. A [`ReelSequence`] spawns players when they are due. A
//! [`ReelClipPlayer`] moves the joints of a skeleton. Materials are found by name in [`ReelMaterials`];
//! levels of detail, fewer frames and stand-ins are chosen by distance, as [`ReelPolicy`] says.
//! [`ReelReady`], [`ReelEnded`], [`ReelReplaced`] and [`ReelFailed`] are triggered on the entity.

#![warn(missing_debug_implementations)]

mod asset;
mod camera;
mod card;
mod clips;
mod diagnostics;
mod distance;
mod event;
mod hierarchy;
mod materials;
mod player;
mod plugin;
mod runtime;
mod sequence;
mod show;
mod surface;

pub use asset::{Reel, ReelLoader};
pub use camera::ReelCamera;
pub use clips::{ReelClipPlayer, ReelJoint};
pub use diagnostics::ReelDiagnosticsPlugin;
pub use distance::ReelPolicy;
pub use event::{ReelEnded, ReelFailed, ReelReady, ReelReplaced};
pub use hierarchy::{ReelCopy, ReelInstance, ReelNode, ReelSurface};
pub use materials::{DefaultReelMaterials, ReelMaterials};
pub use meshreel;
pub use player::ReelPlayer;
pub use plugin::{MeshreelPlugin, ReelSystems};
pub use runtime::ReelRuntime;
pub use sequence::{ReelSequence, ReelSequenceAction};
