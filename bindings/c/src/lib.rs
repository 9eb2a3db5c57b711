//! The C interface of meshreel: files, frames, a player, clips, and the work of a graphics card, behind
//! opaque handles. `include/meshreel.h` is generated from this crate, including its documentation, and begins
//! with the rules that hold for all functions; `docs/ENGINES.md` begins with a first program.
//!
//! No panic crosses the interface: every function catches it, and returns [`status::mr_status::Panic`].
#![allow(unsafe_code)] // It is made of the caller's pointers.
#![allow(non_camel_case_types)] // Names of C.

pub mod camera;
pub mod clip;
pub mod command;
pub mod decoder;
pub mod events;
pub mod frame;
pub mod gpu;
pub mod host;
pub mod lod;
pub mod part_attributes;
pub mod player;
pub mod pointers;
pub mod pose;
pub mod prefixed;
pub mod reel;
pub mod rig;
pub mod sequencer;
pub mod source;
pub mod status;
pub mod types;
pub mod vertex;
