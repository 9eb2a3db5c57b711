//! The vertex layout of the viewer, which the compute passes write and the renderer reads.

use meshreel::{VertexChannel, VertexFormat};
use meshreel_gpu::VertexLayout;

/// Returns the layout of the vertices that the compute passes write.
pub fn layout() -> VertexLayout {
    VertexLayout::new(&[
        (VertexChannel::Position, VertexFormat::F32x3),
        (VertexChannel::Normal, VertexFormat::I16x2),
        (VertexChannel::Uv(0), VertexFormat::F16x2),
        (VertexChannel::Colour(0), VertexFormat::U8x4),
        (VertexChannel::Velocity, VertexFormat::F32x3),
    ])
}

/// The overlay colour of each vertex, computed by the viewer: see [`crate::looks`].
pub const OVERLAY: [wgpu::VertexAttribute; 1] =
    [wgpu::VertexAttribute { format: wgpu::VertexFormat::Unorm8x4, offset: 0, shader_location: 5 }];

/// The same layout for render pipelines.
pub const ATTRIBUTES: [wgpu::VertexAttribute; 5] = [
    wgpu::VertexAttribute { format: wgpu::VertexFormat::Float32x3, offset: 0, shader_location: 0 },
    wgpu::VertexAttribute { format: wgpu::VertexFormat::Snorm16x2, offset: 12, shader_location: 1 },
    wgpu::VertexAttribute { format: wgpu::VertexFormat::Float16x2, offset: 16, shader_location: 2 },
    wgpu::VertexAttribute { format: wgpu::VertexFormat::Unorm8x4, offset: 20, shader_location: 3 },
    wgpu::VertexAttribute { format: wgpu::VertexFormat::Float32x3, offset: 24, shader_location: 4 },
];
