//! Writers, for taking a decoded file back to a content tool.

pub mod alembic;
mod temporary;

pub(crate) use temporary::Temporary;
