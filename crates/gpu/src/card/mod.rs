//! A file on a graphics card, independent of the graphics library: which frames are uploaded, which meshes
//! are due, what is dispatched. A library provides three types, and implements the traits of this module to
//! create them, write to them and record passes over them.
//!
//! ```text
//! CardReel     a file: fixed words, a ring of frames, and one of points that the card decodes
//! CardOutput   a moment of it: parameters, work list, vertices and indices
//! ```
//!
//! Written data is seen by everything that is submitted after it, and by nothing that was submitted before.

mod frames;
mod output;
mod points;
mod reel;
mod update;

pub use frames::{Decoded, Frames};
pub use output::{CardOutput, Slice};
pub use reel::{Budget, CardReel};
pub use update::Update;

use crate::{shaders, units};

/// The place that errors name if no file is involved.
pub(crate) const CARD: &str = "graphics card";

/// The types of a library.
pub trait Types {
    #[allow(missing_docs)]
    type Buffer: Clone;
    /// The bound buffers of a shader.
    type Bindings: Clone;
    /// An entry point with its constants.
    type Pipeline: Clone + PartialEq;
}

/// Writes to buffers.
pub trait Write<T: Types> {
    /// Writes bytes from an offset on; offset and length are multiples of 4.
    fn write(&mut self, buffer: &T::Buffer, offset: u64, bytes: &[u8]);
}

/// Creates buffers and bindings.
pub trait Make<T: Types> {
    /// Creates a buffer filled with zeros.
    fn buffer(&mut self, label: &'static str, bytes: u64, usage: Usage) -> T::Buffer;
    /// Binds buffers to a layout, in its order, each with the number of bytes that are visible at a time; 0
    /// for all.
    fn bind(&mut self, layout: Layout, buffers: &[(&T::Buffer, usize)]) -> T::Bindings;
}

/// Creates pipelines.
pub trait Compile<T: Types>: Make<T> + Write<T> {
    /// Returns the bytes of the largest binding.
    fn most(&self) -> u64;
    /// Returns the number of invocations of a workgroup.
    fn group(&self) -> u32;
    /// Returns the pipeline of an entry point with its constants; equal arguments return the same pipeline.
    fn pipeline(
        &mut self,
        program: Program,
        entry: &'static str,
        constants: &[(&'static str, f64)],
    ) -> T::Pipeline;
}

/// Records passes.
pub trait Record<T: Types>: Write<T> {
    /// Records a compute pass with the dispatches of `fill`.
    fn pass(&mut self, label: &'static str, fill: &mut dyn FnMut(&mut dyn Dispatches<T>));
}

/// A compute pass.
pub trait Dispatches<T: Types> {
    /// Dispatches workgroups of a pipeline over bindings, with these offsets.
    fn dispatch(&mut self, pipeline: &T::Pipeline, bindings: &T::Bindings, offsets: &[u32], groups: [u32; 2]);
}

/// The use of a buffer. All can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// Uniform.
    Uniform,
    /// Storage.
    Storage,
    /// Uniform and storage: parameters.
    Params,
    /// Storage whose vertices are drawn, or copied.
    Vertices,
    /// Indices that are drawn, copied, or read as storage.
    Indices,
}

/// The kind of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A uniform with an offset.
    Uniform,
    #[allow(missing_docs)]
    Read,
    #[allow(missing_docs)]
    Written,
    /// Read, with an offset.
    ReadFrom,
}

/// The bindings of group 0 of a shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Parameters, ring, fixed words, scratch between passes, points, vertices, work list.
    Passes,
    /// The bindings of a vertex shader that fetches vertices: the first five of `Passes`, for one mesh.
    Pulled,
    /// Parameters, words, fixed words, scratch between passes, points, level.
    Units,
}

impl Layout {
    /// Returns the kinds of its bindings, in order.
    pub fn kinds(self) -> &'static [Kind] {
        use Kind::{Read, ReadFrom, Uniform, Written};
        match self {
            Layout::Passes => &[Read, Read, Read, Written, Read, Written, ReadFrom],
            Layout::Pulled => &[Uniform, Read, Read, Read, Read],
            Layout::Units => &[Uniform, Read, Read, Written, Written, Uniform],
        }
    }
}

/// A shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// [`shaders::wgsl`].
    Passes,
    /// [`units::wgsl`].
    Units,
}

impl Program {
    #[allow(missing_docs)]
    pub fn wgsl(self) -> String {
        match self {
            Program::Passes => shaders::wgsl(),
            Program::Units => units::wgsl(),
        }
    }

    #[allow(missing_docs)]
    pub fn layout(self) -> Layout {
        match self {
            Program::Passes => Layout::Passes,
            Program::Units => Layout::Units,
        }
    }
}
