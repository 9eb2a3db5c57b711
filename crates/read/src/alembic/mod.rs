//! Alembic: two containers behind one [`core`] model, and the schemas on top of it.

mod attributes;
mod camera;
mod channel;
pub mod core;
#[cfg(feature = "hdf5")]
pub mod hdf5;
mod instance;
mod mesh;
pub mod ogawa;
mod particles;
pub mod schema;
#[cfg(test)]
mod tests;
mod xform;
