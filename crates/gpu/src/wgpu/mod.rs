//! The executor for wgpu: on the caller's device, in the caller's encoder, within WebGPU's default limits.
//!
//! ```text
//! Shaders      once a device: pipelines, made when a mesh first needs them
//! GpuReel      a file on the card: fixed words, a ring of frames, vertices and indices of each mesh
//! update       uploads what is new, and records the passes of all meshes that changed
//! Instances    a palette of models on a cloud of transforms: what is seen of it, as indirect draws
//! ```
//!
//! Writes to the ring are ordered by the queue: nothing that was submitted before sees them. If a device is
//! lost, all of these are lost with it; they are created again on the next one from the same decoded frames.

mod access;
mod instances;
mod output;
mod reel;
mod shaders;

pub use access::Wgpu;
pub use instances::Instances;
pub use output::Output;
pub use reel::GpuReel;
pub use shaders::Shaders;

use crate::card::{BindingKind, CARD_NAME};
pub use crate::card::{Budget, DecoderPair, FrameSource, UpdateStatistics};

fn buffer(device: &wgpu::Device, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage,
        mapped_at_creation: false,
    })
}

/// Returns a layout of bindings for compute shaders or, read only, for vertex shaders; `offsets` tells
/// whether uniforms have an offset.
fn layout(
    device: &wgpu::Device,
    visibility: wgpu::ShaderStages,
    offsets: bool,
    kinds: &[BindingKind],
) -> wgpu::BindGroupLayout {
    let entry = |(binding, kind): (u32, &BindingKind)| {
        let ty = match kind {
            BindingKind::Uniform => wgpu::BufferBindingType::Uniform,
            _ => wgpu::BufferBindingType::Storage { read_only: *kind != BindingKind::Written },
        };
        let has_dynamic_offset =
            offsets && *kind == BindingKind::Uniform || *kind == BindingKind::ReadWithOffset;
        let ty = wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None };
        wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
    };
    let entries: Vec<_> = (0..).zip(kinds).map(entry).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("meshreel"),
        entries: &entries,
    })
}

/// Binds buffers to that layout, each with the number of bytes that are visible at a time; 0 for all.
fn bind(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: &[(&wgpu::Buffer, usize)],
) -> wgpu::BindGroup {
    let entry = |(binding, (buffer, size))| wgpu::BindGroupEntry {
        binding,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: 0,
            size: wgpu::BufferSize::new(size as u64),
        }),
    };
    let entries: Vec<_> = (0..).zip(buffers.iter().copied()).map(entry).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("meshreel"),
        layout,
        entries: &entries,
    })
}

/// Returns a pipeline of an entry point with its constants.
fn pipeline(
    device: &wgpu::Device,
    (layout, module): (&wgpu::PipelineLayout, &wgpu::ShaderModule),
    entry: &str,
    constants: &[(&str, f64)],
) -> wgpu::ComputePipeline {
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(entry),
        layout: Some(layout),
        module,
        entry_point: Some(entry),
        compilation_options: wgpu::PipelineCompilationOptions { constants, ..Default::default() },
        cache: None,
    })
}

/// Returns the module of a text, and the layout of its pipelines.
fn module(
    device: &wgpu::Device,
    text: String,
    bindings: &wgpu::BindGroupLayout,
) -> (wgpu::PipelineLayout, wgpu::ShaderModule) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("meshreel"),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("meshreel"),
        bind_group_layouts: &[Some(bindings)],
        immediate_size: 0,
    });
    (layout, module)
}
