//! The runtime of meshreel: opens `.reel` files and decodes their frames.
//!
//! A game uses a [`Player`], which streams any number of files through a heap of fixed size. [`Player::tick`]
//! neither waits nor allocates. [`Player::frame`] returns what an instance shows; the [`FrameView`] of it
//! writes vertex buffers and transforms, interpolated, in the layouts that engines upload. [`policy`] and
//! [`time::sequencer`] decide what is played, as plain data.
//!
//! ```no_run
//! use meshreel::{Command, Options, Player};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let mut player = Player::new(Options::default())?;
//! let file = player.open("flag.reel");
//! let flag = player.add_instance(file).expect("it is open or being opened");
//! player.command(flag, Command::Play);
//! loop {
//!     player.tick(1.0 / 60.0);
//!     if let Some(shown) = player.frame(flag) {
//!         let view = shown.view();
//!         // draw(view.mesh(node), view.world(node));
//!         # let _ = view;
//!     }
//! }
//! # }
//! ```
//!
//! A tool uses a [`Reel`], an open file, and a [`FrameDecoder`], which decodes the frames in any order into
//! memory that it allocates once. A [`MeshView`] writes the values as floats into the caller's buffers, or
//! lends the quantized values. Any bytes can be opened: damage is reported as an [`Error`] and never panics,
//! and [`Limits`] bound the memory that a file may ask for.
//!
//! ```no_run
//! use meshreel::{FrameDecoder, Limits, Reel};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let reel = Reel::open("flag.reel", &Limits::default())?;
//! let mut decoder = FrameDecoder::new(&reel)?;
//! let mut positions = Vec::new();
//! for frame in 0..reel.frame_count() {
//!     decoder.decode(frame)?;
//!     for (node, record) in reel.description().nodes.iter().enumerate() {
//!         let Some(mesh) = record.mesh.filter(|_| decoder.visible(node)) else {
//!             continue;
//!         };
//!         let mesh = decoder.mesh(mesh as usize);
//!         positions.resize(3 * mesh.vertex_count(), 0.0);
//!         mesh.positions_into(&mut positions)?;
//!         let world = decoder.world(node);
//!         // draw(reel.time(frame), world, mesh.indices(), &positions);
//!         # let _ = world;
//!     }
//! }
//! # Ok(())
//! # }
//! ```

#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod debug;
mod decode;
mod error;
mod player;
mod reel;
mod setters;

pub mod clip;
pub mod policy;
pub mod raw;
pub mod stream;
pub mod time;
pub mod view;

pub use decode::decoder::FrameDecoder;
pub use decode::mesh::MeshView;
pub use meshreel_codec::record::source_map::SourceMap;
pub use meshreel_codec::transform::Transform;
pub use meshreel_format::Error;
pub use player::Player;
pub use reel::limits::Limits;
pub use reel::open_file::{FrameKind, Reel};
pub use stream::event::Event;
pub use stream::ids::{FileId, InstanceId};
pub use stream::options::Options;
pub use time::clock::{Command, Pace, Repeat};
pub use view::cameras::{Camera, Lens};
pub use view::frame_view::{FrameView, MeshFrame};
pub use view::rig::MeshRig;
pub use view::shown_frames::{DecodedFrame, ShownFrames, UpcomingFrame};
pub use view::vertex::{VertexAttribute, VertexChannel, VertexFormat};
