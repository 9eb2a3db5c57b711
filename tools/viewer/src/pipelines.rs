//! Pipelines, textures and buffers of the renderer.

use crate::layout::{ATTRIBUTES, OVERLAY};
use wgpu::util::{BufferInitDescriptor, DeviceExt};

pub const COLOUR_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
const SAMPLES: u32 = 4;
/// Stride of draw uniforms in bytes.
pub const UNIFORM_STRIDE: u64 = 256;

/// Returns a pipeline with these entry points of the shader, for vertices and for fragments.
pub fn pipeline(
    device: &wgpu::Device,
    (module, layout): (&wgpu::ShaderModule, &wgpu::PipelineLayout),
    [vertex, fragment]: [&str; 2],
    bias: i32,
) -> wgpu::RenderPipeline {
    let vertices = crate::layout::layout();
    let buffers = [
        Some(wgpu::VertexBufferLayout {
            array_stride: vertices.stride as u64,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &ATTRIBUTES,
        }),
        Some(wgpu::VertexBufferLayout {
            array_stride: 4,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &OVERLAY,
        }),
    ];
    let topology = match fragment {
        "line" => wgpu::PrimitiveTopology::LineList,
        _ => wgpu::PrimitiveTopology::TriangleList,
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(fragment),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some(vertex),
            compilation_options: Default::default(),
            // The edge shader fetches vertices itself.
            buffers: if vertex == "edge" { &[] } else { &buffers },
        },
        primitive: wgpu::PrimitiveState { topology, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH_FORMAT,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::GreaterEqual),
            stencil: Default::default(),
            bias: wgpu::DepthBiasState { constant: bias, slope_scale: bias as f32 * 0.25, clamp: 0.0 },
        }),
        multisample: wgpu::MultisampleState { count: SAMPLES, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some(fragment),
            compilation_options: Default::default(),
            targets: &[Some(COLOUR_FORMAT.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// Returns the layout of the buffers that the edge shader reads: vertices and indices.
pub fn edge_bindings(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry = |binding| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::VERTEX,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only: true },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("edges"),
        entries: &[entry(0), entry(1)],
    })
}

/// Returns the edges of these triangles, limited to the largest buffer that can be bound.
pub fn edges(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    vertices: wgpu::BufferSlice<'_>,
    indices: &wgpu::Buffer,
) -> wgpu::BindGroup {
    let most = device.limits().max_storage_buffer_binding_size.min(indices.size()) / 4 * 4;
    let bind = |binding, buffer, offset, size| wgpu::BindGroupEntry {
        binding,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size }),
    };
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("edges"),
        layout,
        entries: &[
            bind(0, vertices.buffer(), vertices.offset(), wgpu::BufferSize::new(vertices.size())),
            bind(1, indices, 0, wgpu::BufferSize::new(most)),
        ],
    })
}

/// Returns a buffer of vertex colours.
pub fn overlay(device: &wgpu::Device, colours: &[[u8; 4]]) -> wgpu::Buffer {
    let (contents, usage) = (bytemuck::cast_slice(colours), wgpu::BufferUsages::VERTEX);
    device.create_buffer_init(&BufferInitDescriptor { label: Some("overlay"), contents, usage })
}

pub fn uniforms(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    room: u64,
    seen: u64,
) -> (wgpu::Buffer, wgpu::BindGroup) {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("draw"),
        size: room * UNIFORM_STRIDE,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let bound = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("draw"),
        layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &buffer,
                offset: 0,
                size: wgpu::BufferSize::new(seen),
            }),
        }],
    });
    (buffer, bound)
}

/// Returns a texture of this format, with this number of samples.
pub fn texture(
    device: &wgpu::Device,
    [width, height]: [u32; 2],
    (format, sample_count, usage): (wgpu::TextureFormat, u32, wgpu::TextureUsages),
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("picture"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

/// Returns the textures of a picture; `reads_samples` says whether shaders read its samples.
pub fn target(device: &wgpu::Device, size: [u32; 2], reads_samples: bool) -> Target {
    let texture = |format, samples, usage| texture(device, size, (format, samples, usage));
    let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
    let read = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_SRC;
    let samples = match reads_samples {
        true => attachment | wgpu::TextureUsages::TEXTURE_BINDING,
        false => attachment,
    };
    Target {
        size,
        colour: texture(COLOUR_FORMAT, 1, attachment | read),
        multi: texture(COLOUR_FORMAT, SAMPLES, samples).create_view(&Default::default()),
        depth: texture(DEPTH_FORMAT, SAMPLES, samples).create_view(&Default::default()),
    }
}

/// Returns another depth texture, for what is in front of everything.
pub fn front_depth(device: &wgpu::Device, size: [u32; 2]) -> wgpu::TextureView {
    let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
    texture(device, size, (DEPTH_FORMAT, SAMPLES, attachment)).create_view(&Default::default())
}

/// The textures that are rendered to.
pub struct Target {
    pub size: [u32; 2],
    pub colour: wgpu::Texture,
    pub multi: wgpu::TextureView,
    pub depth: wgpu::TextureView,
}

/// Returns a buffer with contents.
pub fn filled_buffer(device: &wgpu::Device, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer_init(&BufferInitDescriptor { label: Some("drawing"), contents, usage })
}
