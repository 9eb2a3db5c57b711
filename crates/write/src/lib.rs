//! Writers, which convert a decoded file back to formats of content tools. Each writes to a temporary file
//! first.

pub mod alembic;
pub mod bvh;
mod clip_samples;
mod corners;
pub mod glb;
mod nodes;
pub mod obj;
pub mod openvat;
mod polygon;
mod skins;
mod temporary;
pub mod usd;
mod vertices;

pub(crate) use temporary::Temporary;
