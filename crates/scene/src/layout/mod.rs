//! Layouts of files that both readers and writers use.

pub mod alembic;
pub mod usd;
