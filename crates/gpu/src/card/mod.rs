//! A file on a graphics card, whatever library carries the steps out: which frames go up, which meshes are due, what is
//! dispatched. A library is three types and what makes them, writes to them and records passes over them: the traits of
//! this module.
//!
//! ```text
//! CardReel     a file: fixed words, a ring of frames, and one of points that the card decodes
//! CardOutput   a moment of it: parameters, work list, vertices and indices
//! ```
//!
//! What is written is seen by all that is submitted after it, and by nothing that was submitted before.

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

/// What limits are of, where no file is.
pub(crate) const CARD: &str = "graphics card";

/// What a library has on a card.
pub trait Types {
    #[allow(missing_docs)]
    type Buffer: Clone;
    /// Buffers that a shader sees, together.
    type Bindings: Clone;
    /// An entry point with its constants.
    type Pipeline: Clone + PartialEq;
}

/// Writes to buffers.
pub trait Write<T: Types> {
    /// Bytes from an offset on, both of multiples of 4.
    fn write(&mut self, buffer: &T::Buffer, offset: u64, bytes: &[u8]);
}

/// Makes buffers and bindings.
pub trait Make<T: Types> {
    /// A buffer, of zeros.
    fn buffer(&mut self, label: &'static str, bytes: u64, usage: Usage) -> T::Buffer;
    /// Buffers to a layout, in its order, and the bytes of each that are seen at a time; 0: all.
    fn bind(&mut self, layout: Layout, buffers: &[(&T::Buffer, usize)]) -> T::Bindings;
}

/// Makes pipelines.
pub trait Compile<T: Types>: Make<T> + Write<T> {
    /// Bytes of the largest binding.
    fn most(&self) -> u64;
    /// Invocations of a workgroup.
    fn group(&self) -> u32;
    /// The pipeline of an entry point with its constants: the same one for the same of them.
    fn pipeline(
        &mut self,
        program: Program,
        entry: &'static str,
        constants: &[(&'static str, f64)],
    ) -> T::Pipeline;
}

/// Records passes.
pub trait Record<T: Types>: Write<T> {
    /// A compute pass of what `fill` dispatches.
    fn pass(&mut self, label: &'static str, fill: &mut dyn FnMut(&mut dyn Dispatches<T>));
}

/// A compute pass.
pub trait Dispatches<T: Types> {
    /// Workgroups of a pipeline over bindings, seen from these offsets on.
    fn dispatch(&mut self, pipeline: &T::Pipeline, bindings: &T::Bindings, offsets: &[u32], groups: [u32; 2]);
}

/// What a buffer is for. All of them can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// Read as a uniform.
    Uniform,
    /// Storage.
    Storage,
    /// Both: parameters.
    Params,
    /// Storage whose vertices are drawn, or copied.
    Vertices,
    /// Indices that are drawn, copied, or read as storage.
    Indices,
}

/// What a binding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// With an offset.
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
    /// Parameters, ring, fixed words, what lies between passes, points, vertices, the work list.
    Passes,
    /// What a vertex shader sees that fetches vertices: the first five of that, of one mesh.
    Pulled,
    /// Parameters, words, fixed words, what lies between passes, points, the level.
    Units,
}

impl Layout {
    /// What its bindings are, in order.
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
