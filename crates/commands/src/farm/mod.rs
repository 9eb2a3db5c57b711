//! Compiles one input on many machines: a plan, its parts, and the file that is joined from them. Their
//! contents are defined by [`meshreel_compile::farm`]; this module reads and writes the files, and checks
//! that they belong together and that nothing has changed in the meantime.
//!
//! ```text
//! X.plan   HEAD what to open and how, and what that holds · DECISIONS · NODE number and bytes, for each unit · ASSEMBLY
//! K.part   HEAD of which plan which part · UNIT number and bytes, for each of its units · TAIL · ASSEMBLY in part 1
//! ```

mod container;
mod join;
mod part;
mod plan;
mod sections;

pub use container::ContentHash;
pub use join::{Joined, join};
pub use part::{MadePart, part};
pub use plan::{Plan, PlanRequest, Planned, plan};
