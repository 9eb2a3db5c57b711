//! One file from several machines. [`plan`] decides all that needs the whole source, [`part`] codes a share
//! of the units, and [`join`] puts units into a file, byte for byte the one that [`crate::compile`] makes.
//!
//! ```text
//! plan   scene, options → decisions · what nodes have in each unit · keys · assembly: everything of the file but its units
//! part   scene, options, decisions, nodes, keys → its units · tail: what is known of a mesh when its frames are coded
//! join   assembly, tails, all units → the file; the source is not needed
//! ```
//!
//! All of these are bytes that only this version of the crate reads. The caller stores them and keeps track
//! of which belong together; damaged or forged bytes give an error.

mod decide;
mod join;
mod part;
mod record;

pub use decide::{FarmPlan, plan};
pub use join::{JoinInput, Joined, join};
pub use part::{PlannedUnits, TakeUnit, empty_tail, part};
