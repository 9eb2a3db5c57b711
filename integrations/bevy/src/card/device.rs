//! Bevy's device, as `meshreel-gpu` asks for one: its buffers, bindings, pipelines and passes.

use bevy::platform::collections::HashMap;
use meshreel_gpu::card::{
    self, BindingKind, BindingLayout, BufferUsage, CardTypes, CreatePipelines, CreateResources, RecordPasses,
    ShaderProgram, WriteBuffers,
};
use meshreel_gpu::workgroups::DEFAULT_WORKGROUP_SIZE;

/// The types of Bevy's wgpu.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wgpu;

impl CardTypes for Wgpu {
    type Buffer = wgpu::Buffer;
    type Bindings = wgpu::BindGroup;
    type Pipeline = wgpu::ComputePipeline;
}

/// An entry point with the bits of its constants.
type PipelineKey = (ShaderProgram, &'static str, Vec<(&'static str, u64)>);

/// The shaders on a device, and the pipelines that were created from them.
#[derive(Debug, Default)]
pub(crate) struct Shaders {
    layouts: Vec<(BindingLayout, wgpu::BindGroupLayout)>,
    modules: HashMap<ShaderProgram, (wgpu::PipelineLayout, wgpu::ShaderModule)>,
    pipelines: HashMap<PipelineKey, wgpu::ComputePipeline>,
}

impl Shaders {
    fn layout(&mut self, device: &wgpu::Device, which: BindingLayout) -> wgpu::BindGroupLayout {
        if let Some((_, layout)) = self.layouts.iter().find(|(of, _)| *of == which) {
            return layout.clone();
        }
        let layout = binding_layout(device, which.kinds());
        self.layouts.push((which, layout.clone()));
        layout
    }
}

/// Returns a layout of bindings for compute shaders.
pub(crate) fn binding_layout(device: &wgpu::Device, kinds: &[BindingKind]) -> wgpu::BindGroupLayout {
    let entry = |(binding, kind): (u32, &BindingKind)| {
        let ty = match kind {
            BindingKind::Uniform => wgpu::BufferBindingType::Uniform,
            _ => wgpu::BufferBindingType::Storage { read_only: *kind != BindingKind::Written },
        };
        let has_dynamic_offset = matches!(kind, BindingKind::Uniform | BindingKind::ReadWithOffset);
        let ty = wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None };
        wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::COMPUTE, ty, count: None }
    };
    let entries: Vec<_> = (0..).zip(kinds).map(entry).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("meshreel"),
        entries: &entries,
    })
}

/// Binds buffers to a layout, in its order, each from an offset on with so many bytes; 0 for all.
pub(crate) fn bind(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: &[(&wgpu::Buffer, u64, u64)],
) -> wgpu::BindGroup {
    let mut entries = Vec::with_capacity(buffers.len());
    for (binding, &(buffer, offset, size)) in (0..).zip(buffers) {
        let resource = wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(size) };
        entries.push(wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Buffer(resource) });
    }
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("meshreel"),
        layout,
        entries: &entries,
    })
}

/// Returns the module of a text, and the layout of its pipelines.
pub(crate) fn module(
    device: &wgpu::Device,
    text: String,
    bindings: &wgpu::BindGroupLayout,
) -> (wgpu::PipelineLayout, wgpu::ShaderModule) {
    let source = wgpu::ShaderSource::Wgsl(text.into());
    let module =
        device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("meshreel"), source });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("meshreel"),
        bind_group_layouts: &[Some(bindings)],
        immediate_size: 0,
    });
    (layout, module)
}

/// The device and the encoder of a frame.
pub(crate) struct Access<'a> {
    pub device: &'a wgpu::Device,
    pub queue: &'a wgpu::Queue,
    pub shaders: &'a mut Shaders,
    pub encoder: &'a mut wgpu::CommandEncoder,
}

impl WriteBuffers<Wgpu> for Access<'_> {
    fn write(&mut self, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
        self.queue.write_buffer(buffer, offset, bytes);
    }
}

impl CreateResources<Wgpu> for Access<'_> {
    fn buffer(&mut self, label: &'static str, bytes: u64, usage: BufferUsage) -> wgpu::Buffer {
        use wgpu::BufferUsages as To;
        let to = match usage {
            BufferUsage::Uniform => To::UNIFORM,
            BufferUsage::Params => To::UNIFORM | To::STORAGE,
            BufferUsage::Storage | BufferUsage::Vertices | BufferUsage::Indices => To::STORAGE,
        };
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage: to | To::COPY_DST,
            mapped_at_creation: false,
        })
    }

    fn bind(&mut self, layout: BindingLayout, buffers: &[(&wgpu::Buffer, usize)]) -> wgpu::BindGroup {
        let layout = self.shaders.layout(self.device, layout);
        let whole: Vec<_> = buffers.iter().map(|(buffer, size)| (*buffer, 0, *size as u64)).collect();
        bind(self.device, &layout, &whole)
    }
}

impl CreatePipelines<Wgpu> for Access<'_> {
    fn max_binding_bytes(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    fn workgroup_size(&self) -> u32 {
        DEFAULT_WORKGROUP_SIZE
    }

    fn pipeline(
        &mut self,
        program: ShaderProgram,
        entry: &'static str,
        constants: &[(&'static str, f64)],
    ) -> wgpu::ComputePipeline {
        let bits = constants.iter().map(|(name, value)| (*name, value.to_bits())).collect();
        let key = (program, entry, bits);
        if let Some(made) = self.shaders.pipelines.get(&key) {
            return made.clone();
        }
        let bindings = self.shaders.layout(self.device, program.layout());
        let made = self.shaders.modules.entry(program);
        let (layout, module) = made.or_insert_with(|| module(self.device, program.wgsl(), &bindings));
        let made = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(layout),
            module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions { constants, ..Default::default() },
            cache: None,
        });
        self.shaders.pipelines.insert(key, made.clone());
        made
    }
}

impl RecordPasses<Wgpu> for Access<'_> {
    fn pass(&mut self, label: &'static str, fill: &mut dyn FnMut(&mut dyn card::ComputePass<Wgpu>)) {
        let described = wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes: None };
        fill(&mut Pass(self.encoder.begin_compute_pass(&described)));
    }
}

struct Pass<'a>(wgpu::ComputePass<'a>);

impl card::ComputePass<Wgpu> for Pass<'_> {
    fn dispatch(
        &mut self,
        pipeline: &wgpu::ComputePipeline,
        bindings: &wgpu::BindGroup,
        offsets: &[u32],
        [x, y]: [u32; 2],
    ) {
        self.0.set_pipeline(pipeline);
        self.0.set_bind_group(0, bindings, offsets);
        self.0.dispatch_workgroups(x, y, 1);
    }
}
