//! Plays meshes of `.reel` files on a graphics card: decoded frames are uploaded as they lie in the player's
//! heap, as integers, and three compute passes blend them, compute their normals and tangents, and write the
//! vertices in the caller's layout.
//!
//! Everything is data: WGSL text, byte layouts and lists of steps, which any library with WebGPU's model can
//! execute. [`card`] plays a file through a few traits that a graphics library implements; the feature `wgpu`
//! contains an executor.
//!
//! ```text
//! before a file   heuristics::limits         what the CPU need not decode
//! once a file     ReelPlan                   fixed words of each mesh
//! per new frame   ReelPlan::write_frame      words of a slot of the ring
//! per new unit    UnitPlan::write            its words, where the card decodes (preset fast)
//! per moment      Batches::params, write_work_list      parameters of each mesh that is shown, a work list and dispatches
//! ```

#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod batches;
pub mod card;
pub mod fixed;
pub mod heuristics;
pub mod instances;
pub mod layout;
pub mod packed;
pub mod params;
pub mod plan;
pub mod ring;
pub mod shaders;
pub mod slot;
pub mod twin;
pub mod units;
#[cfg(feature = "wgpu")]
pub mod wgpu;
mod words;
pub mod workgroups;

pub use batches::{Batches, WorkList};
pub use layout::VertexLayout;
pub use plan::{CardMemory, MeshBlend, MeshPlan, ReelPlan};
pub use ring::Ring;
pub use shaders::Pass;
pub use slot::SlotScratch;
