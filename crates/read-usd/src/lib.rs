//! USD: layers in binary and text form and in packages, composed to prims, and the geometry schemas on top of
//! them. Values are read one sample at a time, whatever the size of the file.

mod arcs;
mod assets;
mod attribute;
mod binary;
mod binding;
mod bytes;
mod camera;
mod clip_sets;
mod clips;
mod compose;
mod deform;
mod inherited;
mod instancer;
mod instances;
mod layer;
mod mesh;
mod motion;
mod package;
mod parameters;
mod particles;
mod primitives;
mod rotation;
mod samples;
mod scene;
mod schema;
mod site;
mod skel;
mod skeleton;
mod specs;
mod spline;
mod spline_samples;
mod stack;
mod tetrahedra;
mod text;
mod value;
mod xform;

pub use scene::open;
