//! USD: layers in their binary form, composed to prims, and the schemas of geometry on top of it. Values are
//! read one sample at a time, whatever the size of the file.

mod assets;
mod binary;
mod bytes;
mod compose;
mod layer;
mod mesh;
mod samples;
mod scene;
mod specs;
mod stack;
mod value;
mod xform;

pub use scene::open;
