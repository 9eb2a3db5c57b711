//! What is made of a file for a moment.

use crate::card::{CardOutput, Slice};
use crate::wgpu::Wgpu;

/// The vertices of a file at a moment. All instances that show the same one share it.
pub type Output = CardOutput<Wgpu>;

impl Output {
    /// The vertices of a mesh, in the layout; they begin at a multiple of 256 bytes of their buffer. Panics where there is no such mesh.
    pub fn vertices(&self, mesh: usize) -> wgpu::BufferSlice<'_> {
        slice(self.vertices_of(mesh))
    }

    /// Those of the update before, vertex by vertex ([`crate::wgpu::Budget::previous`]); those of now where it has not moved since,
    /// or has other vertices. Panics where there is no such mesh.
    pub fn previous_vertices(&self, mesh: usize) -> wgpu::BufferSlice<'_> {
        slice(self.previous_vertices_of(mesh))
    }
}

fn slice(of: Slice<&wgpu::Buffer>) -> wgpu::BufferSlice<'_> {
    of.buffer.slice(of.bytes)
}
