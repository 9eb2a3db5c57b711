//! Writers, which convert a decoded file back to formats of content tools. Each writes to a temporary file
//! first.

pub mod alembic;
pub mod bvh;
mod corners;
pub mod glb;
pub mod obj;
pub mod openvat;
mod polygon;
mod temporary;
mod vertices;

pub(crate) use temporary::Temporary;
