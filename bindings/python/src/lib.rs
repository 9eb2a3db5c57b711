//! The native part of the Python package `meshreel`: frames, poses, compiling, checking, taking back. What
//! users call and read of is in `python/meshreel`; functions here take plain values and give reports as JSON.

mod arguments;
mod arrays;
mod camera;
mod clip;
mod commands;
mod errors;
mod frame;
mod info;
mod moment;
mod origin;
mod reel;
mod rig;
mod shared;
mod waiting;

use pyo3::prelude::*;

/// The module `meshreel._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<reel::PyReel>()?;
    module.add_class::<reel::MeshInfo>()?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<frame::Mesh>()?;
    module.add_class::<frame::Node>()?;
    module.add_class::<frame::NodeInfo>()?;
    module.add_class::<clip::PyClip>()?;
    module.add_class::<clip::Pose>()?;
    module.add_class::<rig::Rig>()?;
    module.add_class::<camera::PyCamera>()?;
    module.add_function(wrap_pyfunction!(commands::compile, module)?)?;
    module.add_function(wrap_pyfunction!(commands::verify, module)?)?;
    module.add_function(wrap_pyfunction!(commands::extract, module)?)?;
    module.add_function(wrap_pyfunction!(info::info, module)?)?;
    module.add_function(wrap_pyfunction!(commands::run, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
