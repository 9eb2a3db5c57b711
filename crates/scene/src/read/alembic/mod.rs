//! Alembic: two containers behind one [`core`] model, and the schemas on top of it.

pub mod core;
