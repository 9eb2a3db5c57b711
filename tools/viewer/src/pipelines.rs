//! Pipelines, textures and buffers of the renderer.

use crate::layout::{ATTRIBUTES, OVERLAY};
use wgpu::util::{BufferInitDescriptor, DeviceExt};

pub const COLOUR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
const SAMPLES: u32 = 4;
/// Bytes from the uniform of one draw to the next.
pub const STEP: u64 = 256;

/// A pipeline that draws with an entry point of the shader for fragments.
pub fn pipeline(
    device: &wgpu::Device,
    (module, layout): (&wgpu::ShaderModule, &wgpu::PipelineLayout),
    entry: &str,
    topology: wgpu::PrimitiveTopology,
    bias: i32,
) -> wgpu::RenderPipeline {
    let vertices = crate::layout::layout();
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(entry),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some("seen"),
            compilation_options: Default::default(),
            buffers: &[
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
            ],
        },
        primitive: wgpu::PrimitiveState { topology, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::GreaterEqual),
            stencil: Default::default(),
            bias: wgpu::DepthBiasState { constant: bias, slope_scale: bias as f32 * 0.25, clamp: 0.0 },
        }),
        multisample: wgpu::MultisampleState { count: SAMPLES, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            targets: &[Some(COLOUR.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// Colours of vertices.
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
        size: room * STEP,
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

pub fn target(device: &wgpu::Device, size: [u32; 2]) -> Target {
    let texture = |format, samples, usage| {
        device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: samples,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        })
    };
    let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
    let read = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_SRC;
    Target {
        size,
        colour: texture(COLOUR, 1, attachment | read),
        multi: texture(COLOUR, SAMPLES, attachment).create_view(&Default::default()),
        depth: texture(DEPTH, SAMPLES, attachment).create_view(&Default::default()),
    }
}

/// What is drawn into.
pub struct Target {
    pub size: [u32; 2],
    pub colour: wgpu::Texture,
    pub multi: wgpu::TextureView,
    pub depth: wgpu::TextureView,
}

/// A buffer with contents.
pub fn filled(device: &wgpu::Device, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer_init(&BufferInitDescriptor { label: Some("drawing"), contents, usage })
}
