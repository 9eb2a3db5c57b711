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

mod frame_source;
mod output;
mod points;
mod reel;
mod update;

pub use frame_source::{DecoderPair, FrameSource};
pub use output::{BufferRange, CardOutput};
pub use reel::{Budget, CardReel};
pub use update::UpdateStatistics;

use crate::{shaders, units};

/// The place that errors name if no file is involved.
pub(crate) const CARD_NAME: &str = "graphics card";

/// The types of a library.
pub trait CardTypes {
    #[allow(missing_docs)]
    type Buffer: Clone;
    /// The bound buffers of a shader.
    type Bindings: Clone;
    /// An entry point with its constants.
    type Pipeline: Clone + PartialEq;
}

/// Writes to buffers.
pub trait WriteBuffers<T: CardTypes> {
    /// Writes bytes from an offset on; offset and length are multiples of 4.
    fn write(&mut self, buffer: &T::Buffer, offset: u64, bytes: &[u8]);
}

/// Creates buffers and bindings.
pub trait CreateResources<T: CardTypes> {
    /// Creates a buffer filled with zeros.
    fn buffer(&mut self, label: &'static str, bytes: u64, usage: BufferUsage) -> T::Buffer;
    /// Binds buffers to a layout, in its order, each with the number of bytes that are visible at a time; 0
    /// for all.
    fn bind(&mut self, layout: BindingLayout, buffers: &[(&T::Buffer, usize)]) -> T::Bindings;
}

/// Creates pipelines.
pub trait CreatePipelines<T: CardTypes>: CreateResources<T> + WriteBuffers<T> {
    /// Returns the bytes of the largest binding.
    fn max_binding_bytes(&self) -> u64;
    /// Returns the number of invocations of a workgroup.
    fn workgroup_size(&self) -> u32;
    /// Returns the pipeline of an entry point with its constants; equal arguments return the same pipeline.
    fn pipeline(
        &mut self,
        program: ShaderProgram,
        entry: &'static str,
        constants: &[(&'static str, f64)],
    ) -> T::Pipeline;
}

/// Records passes.
pub trait RecordPasses<T: CardTypes>: WriteBuffers<T> {
    /// Records a compute pass with the dispatches of `fill`.
    fn pass(&mut self, label: &'static str, fill: &mut dyn FnMut(&mut dyn ComputePass<T>));
}

/// A compute pass.
pub trait ComputePass<T: CardTypes> {
    /// Dispatches workgroups of a pipeline over bindings, with these offsets.
    fn dispatch(&mut self, pipeline: &T::Pipeline, bindings: &T::Bindings, offsets: &[u32], groups: [u32; 2]);
}

/// The use of a buffer. All can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferUsage {
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
pub enum BindingKind {
    /// A uniform with an offset.
    Uniform,
    #[allow(missing_docs)]
    Read,
    #[allow(missing_docs)]
    Written,
    /// Read, with an offset.
    ReadWithOffset,
}

/// The bindings of group 0 of a shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingLayout {
    /// Parameters, ring, fixed words, scratch between passes, points, vertices, work list.
    Passes,
    /// The bindings of a vertex shader that fetches vertices: the first five of `Passes`, for one mesh.
    Pulled,
    /// Parameters, words, fixed words, scratch between passes, points, level.
    Units,
}

impl BindingLayout {
    /// Returns the kinds of its bindings, in order.
    #[must_use]
    pub fn kinds(self) -> &'static [BindingKind] {
        use BindingKind::{Read, ReadWithOffset, Uniform, Written};
        match self {
            BindingLayout::Passes => &[Read, Read, Read, Written, Read, Written, ReadWithOffset],
            BindingLayout::Pulled => &[Uniform, Read, Read, Read, Read],
            BindingLayout::Units => &[Uniform, Read, Read, Written, Written, Uniform],
        }
    }
}

/// A shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShaderProgram {
    /// [`shaders::wgsl`].
    Passes,
    /// [`units::wgsl`].
    Units,
}

impl ShaderProgram {
    #[allow(missing_docs)]
    #[must_use]
    pub fn wgsl(self) -> String {
        match self {
            ShaderProgram::Passes => shaders::wgsl(),
            ShaderProgram::Units => units::wgsl(),
        }
    }

    #[allow(missing_docs)]
    #[must_use]
    pub fn layout(self) -> BindingLayout {
        match self {
            ShaderProgram::Passes => BindingLayout::Passes,
            ShaderProgram::Units => BindingLayout::Units,
        }
    }
}
