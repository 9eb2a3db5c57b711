//! The output of a file for a moment.

use crate::card::{BufferRange, CardOutput};
use crate::wgpu::Wgpu;

/// The vertices of a file at a moment. All instances that show the same moment share it.
pub type Output = CardOutput<Wgpu>;

impl Output {
    /// Returns the vertices of a mesh, in the layout. They begin at a multiple of 256 bytes of their buffer.
    /// Panics if there is no such mesh.
    pub fn vertices(&self, mesh: usize) -> wgpu::BufferSlice<'_> {
        slice(self.vertices_of(mesh))
    }

    /// Returns the vertices of the update before, in the same order ([`crate::wgpu::Budget::previous`]); the
    /// current ones if the mesh has not moved since, or has other vertices. Panics if there is no such mesh.
    pub fn previous_vertices(&self, mesh: usize) -> wgpu::BufferSlice<'_> {
        slice(self.previous_vertices_of(mesh))
    }
}

fn slice(of: BufferRange<&wgpu::Buffer>) -> wgpu::BufferSlice<'_> {
    of.buffer.slice(of.bytes)
}
