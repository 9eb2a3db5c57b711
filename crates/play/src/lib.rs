//! The runtime of meshreel: opens `.reel` files and gives their frames.
//!
//! A game has a [`Player`]: it streams any number of files in a heap of fixed size. [`Player::tick`] neither
//! waits nor allocates; [`Player::frame`] gives what an instance shows, and its [`FrameView`] writes vertex
//! buffers and transforms, interpolated, in the layouts that engines upload. [`rules`] and [`sequencer`]
//! decide what plays, as plain data.
//!
//! ```no_run
//! use meshreel::{Command, Options, Player};
//!
//! let mut player = Player::new(Options::default());
//! let file = player.open("flag.reel");
//! let flag = player.instance(file).expect("it is open or being opened");
//! player.command(flag, Command::Play);
//! loop {
//!     player.tick(1.0 / 60.0);
//!     if let Some(shown) = player.frame(flag) {
//!         let view = shown.view();
//!         // draw(view.mesh(node), view.world(node));
//!         # let _ = view;
//!     }
//! }
//! ```
//!
//! A tool has a [`Reel`], an open file, and a [`FrameDecoder`], which decodes its frames in any order into
//! memory it allocated once; [`MeshView`] writes them as floats into the caller's buffers or lends the
//! quantized levels. Any bytes can be opened: what is wrong with them is an [`Error`] and never a panic, and
//! [`Limits`] bound what they may ask for.
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

mod admission;
mod attributes;
mod bones;
mod cells;
mod chunks;
pub mod clip;
mod clock;
mod decode;
mod demand;
mod detail;
mod drawn;
mod error;
mod flow;
mod fluid;
mod frame;
mod graph;
#[cfg(test)]
mod graph_tests;
mod heap;
#[cfg(test)]
mod heap_tests;
mod hold;
mod interpolate;
mod io;
mod jobs;
mod layout;
mod load;
mod matrix;
mod memory;
mod mesh;
mod nodes;
mod normals;
mod open;
mod options;
mod order;
pub mod packed;
mod player;
mod regions;
mod rig;
pub mod rules;
pub mod sequencer;
mod sharing;
mod sizes;
mod statics;
mod statistics;
mod still;
mod stream;
mod sync;
mod timeline;
mod trace;
mod unit;
mod vertex;
mod view;
mod words;
mod work;

pub use attributes::{NodeAttributes, PartAttribute};
pub use bones::{BoneMatrix, BonesView};
pub use clock::{Clock, Command, Moved, Pace, Repeat};
pub use decode::FrameDecoder;
pub use demand::{Demand, Pair, SPANS, Span};
pub use detail::{Lod, LodTriangles};
pub use drawn::Drawn;
pub use error::Error;
pub use io::{Read, Source, Token};
pub use jobs::{Job, Pool};
pub use mesh::{MeshView, Range};
pub use meshreel_codec::ranges::FrameRange;
pub use meshreel_codec::record;
pub use meshreel_codec::source_faces;
pub use meshreel_codec::source_map::SourceMap;
pub use meshreel_codec::transform::Transform;
pub use meshreel_format as format;
pub use nodes::MovingNodes;
pub use open::{FrameKind, Limits, Reel, kind};
pub use options::Options;
pub use player::{Event, FileId, InstanceId, Player, Shown, Still};
pub use regions::{HeapCounters, Region, RegionState};
pub use rig::MeshRig;
pub use statistics::{Statistics, StreamStatistics};
pub use still::RestState;
pub use stream::StreamCounters;
pub use timeline::Timeline;
pub use vertex::{Attribute, Format, What};
pub use view::{FrameView, MeshFrame};
pub use words::Levels;
