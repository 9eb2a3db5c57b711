//! The parts of a device that a call has access to.

use crate::card::{self, BindingLayout, BufferUsage, ShaderProgram};
use crate::wgpu::{Shaders, bind, buffer};
use std::borrow::Borrow;

/// The types of wgpu.
#[derive(Debug, Clone, Copy)]
pub struct Wgpu;

impl card::CardTypes for Wgpu {
    type Buffer = wgpu::Buffer;
    type Bindings = wgpu::BindGroup;
    type Pipeline = wgpu::ComputePipeline;
}

/// The device, queue, shaders and encoder of a call; `()` for those that it does not have.
pub(super) struct Access<D, Q, S, E> {
    pub device: D,
    pub queue: Q,
    pub shaders: S,
    pub encoder: E,
}

impl<D, S, E> card::WriteBuffers<Wgpu> for Access<D, &wgpu::Queue, S, E> {
    fn write(&mut self, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
        self.queue.write_buffer(buffer, offset, bytes);
    }
}

impl<Q, S: Borrow<Shaders>, E> card::CreateResources<Wgpu> for Access<&wgpu::Device, Q, S, E> {
    fn buffer(&mut self, label: &'static str, bytes: u64, usage: BufferUsage) -> wgpu::Buffer {
        use wgpu::BufferUsages as To;
        let to = match usage {
            BufferUsage::Uniform => To::UNIFORM,
            BufferUsage::Storage => To::STORAGE,
            BufferUsage::Params => To::UNIFORM | To::STORAGE,
            BufferUsage::Vertices => To::VERTEX | To::STORAGE | To::COPY_SRC,
            BufferUsage::Indices => To::INDEX | To::STORAGE | To::COPY_SRC,
        };
        buffer(self.device, label, bytes, to | To::COPY_DST)
    }

    fn bind(&mut self, layout: BindingLayout, buffers: &[(&wgpu::Buffer, usize)]) -> wgpu::BindGroup {
        bind(self.device, self.shaders.borrow().layout(layout), buffers)
    }
}

impl<E> card::CreatePipelines<Wgpu> for Access<&wgpu::Device, &wgpu::Queue, &mut Shaders, E> {
    fn max_binding_bytes(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    fn workgroup_size(&self) -> u32 {
        self.shaders.group
    }

    fn pipeline(
        &mut self,
        program: ShaderProgram,
        entry: &'static str,
        constants: &[(&'static str, f64)],
    ) -> wgpu::ComputePipeline {
        self.shaders.pipeline(self.device, program, entry, constants)
    }
}

impl<D, S> card::RecordPasses<Wgpu> for Access<D, &wgpu::Queue, S, &mut wgpu::CommandEncoder> {
    fn pass(&mut self, label: &'static str, fill: &mut dyn FnMut(&mut dyn card::ComputePass<Wgpu>)) {
        let described = wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes: None };
        fill(&mut WgpuPass { pass: self.encoder.begin_compute_pass(&described), last: None });
    }
}

struct WgpuPass<'a> {
    pass: wgpu::ComputePass<'a>,
    last: Option<wgpu::ComputePipeline>,
}

impl card::ComputePass<Wgpu> for WgpuPass<'_> {
    fn dispatch(
        &mut self,
        pipeline: &wgpu::ComputePipeline,
        bindings: &wgpu::BindGroup,
        offsets: &[u32],
        [x, y]: [u32; 2],
    ) {
        if self.last.as_ref() != Some(pipeline) {
            self.pass.set_pipeline(pipeline);
            self.last = Some(pipeline.clone());
        }
        self.pass.set_bind_group(0, bindings, offsets);
        self.pass.dispatch_workgroups(x, y, 1);
    }
}
