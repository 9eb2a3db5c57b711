//! Alembic: two containers behind one [`core`] model, and the schemas on top of it.

pub mod core;
#[cfg(feature = "hdf5")]
pub mod hdf5;
pub(crate) mod murmur;
