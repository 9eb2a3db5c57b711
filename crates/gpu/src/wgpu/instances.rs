//! Instances on the card.

use crate::instances::{self, DRAW_WORDS, InstancePass, InstanceView, Palette, PaletteDraw};
use crate::wgpu::{BindingKind, CARD_NAME, bind, buffer, layout, module, pipeline};
use crate::workgroups::{DEFAULT_WORKGROUP_SIZE, workgroups_for};
use meshreel::Error;
use std::path::Path;
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// The bytes from the number of one draw to the next: WebGPU's largest alignment.
const DRAW_STRIDE: usize = 256;

/// A palette of models on a cloud of transforms.
#[derive(Debug)]
pub struct Instances {
    draws: Vec<PaletteDraw>,
    /// The largest number of instances.
    max_instances: usize,
    count: u32,
    group: u32,
    passes: Vec<(InstancePass, wgpu::ComputePipeline)>,
    bindings: wgpu::BindGroup,
    view: wgpu::Buffer,
    transforms: wgpu::Buffer,
    models: wgpu::Buffer,
    arguments: wgpu::Buffer,
    visible: wgpu::Buffer,
    pulled_layout: wgpu::BindGroupLayout,
    pulled: wgpu::BindGroup,
}

impl Instances {
    /// Allocates room for `most` instances of a palette. A misuse error for an invalid palette, a limit error
    /// if they exceed a binding of the device.
    pub fn new(device: &wgpu::Device, palette: &Palette, most: usize) -> Result<Instances, Error> {
        palette.check()?;
        let storage = wgpu::BufferUsages::STORAGE;
        let draws: Vec<PaletteDraw> = palette.draws().collect();
        let words = |words: usize| 4 * words.max(1) as u64;
        let limit = device.limits().max_storage_buffer_binding_size;
        if words(12 * most) > limit {
            let what = format!("transforms of {most} instances");
            return Err(Error::limit(Path::new(CARD_NAME), what, words(12 * most), limit));
        }
        let init = |contents: &[u32], usage| {
            let contents = bytemuck::cast_slice(contents);
            device.create_buffer_init(&BufferInitDescriptor {
                label: Some("meshreel draws"),
                contents,
                usage,
            })
        };
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let view = buffer(device, "meshreel view", size_of::<InstanceView>() as u64, uniform);
        let copied = storage | wgpu::BufferUsages::COPY_DST;
        let read = storage | wgpu::BufferUsages::COPY_SRC;
        let transforms = buffer(device, "meshreel transforms", words(12 * most), copied);
        let models = buffer(device, "meshreel models", words(most), copied);
        let arguments = init(&palette.draw_words(), read | wgpu::BufferUsages::INDIRECT);
        let starts = buffer(device, "meshreel starts", words(2 * draws.len()), read);
        let chosen = buffer(device, "meshreel chosen", words(most), storage);
        let visible = buffer(device, "meshreel visible", words(most), read);
        let palette = init(&palette.words(), storage);
        let kinds = [
            [BindingKind::Uniform, BindingKind::Read, BindingKind::Read, BindingKind::Read],
            [BindingKind::Written; 4],
        ]
        .concat();
        let bindings = layout(device, wgpu::ShaderStages::COMPUTE, false, &kinds);
        let (pipelines, text) = module(device, instances::wgsl().into(), &bindings);
        let pass = |pass: InstancePass| {
            let constants = [("GROUP", f64::from(DEFAULT_WORKGROUP_SIZE))];
            (pass, pipeline(device, (&pipelines, &text), pass.entry(), &constants))
        };
        let buffers = [&view, &palette, &transforms, &models, &arguments, &starts, &chosen, &visible];
        let mut numbers = vec![0u32; draws.len() * DRAW_STRIDE / 4];
        numbers.chunks_mut(DRAW_STRIDE / 4).zip(0..).for_each(|(words, draw)| words[0] = draw);
        let numbers = init(&numbers, wgpu::BufferUsages::UNIFORM);
        let kinds = [BindingKind::Uniform, BindingKind::Read, BindingKind::Read, BindingKind::Read];
        let pulled_layout = layout(device, wgpu::ShaderStages::VERTEX, true, &kinds);
        let pulled =
            bind(device, &pulled_layout, &[(&numbers, 16), (&starts, 0), (&visible, 0), (&transforms, 0)]);
        Ok(Instances {
            max_instances: most,
            count: 0,
            group: DEFAULT_WORKGROUP_SIZE,
            passes: InstancePass::ALL.iter().copied().map(pass).collect(),
            bindings: bind(device, &bindings, &buffers.map(|buffer| (buffer, 0))),
            view,
            transforms,
            models,
            arguments,
            visible,
            pulled_layout,
            pulled,
            draws,
        })
    }

    /// Sets the transforms of the instances, as rows of 3 × 4 matrices, and the model of each. A misuse error
    /// if there are more than there is room for, or if the two numbers differ.
    pub fn set_instances(
        &mut self,
        queue: &wgpu::Queue,
        worlds: &[[[f32; 4]; 3]],
        models: &[u32],
    ) -> Result<(), Error> {
        if worlds.len() > self.max_instances || models.len() != worlds.len() {
            let (worlds, models, most) = (worlds.len(), models.len(), self.max_instances);
            return Err(Error::misuse(format!(
                "{worlds} transforms and {models} models of {most} instances"
            )));
        }
        queue.write_buffer(&self.transforms, 0, bytemuck::cast_slice(worlds));
        queue.write_buffer(&self.models, 0, bytemuck::cast_slice(models));
        self.count = worlds.len() as u32;
        Ok(())
    }

    /// Records the passes that determine which instances are visible, and how they are drawn.
    pub fn update(&self, queue: &wgpu::Queue, encoder: &mut wgpu::CommandEncoder, view: &InstanceView) {
        let view = InstanceView { instances: self.count, draws: self.draws.len() as u32, ..*view };
        queue.write_buffer(&self.view, 0, bytemuck::bytes_of(&view));
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("meshreel instances"),
            timestamp_writes: None,
        });
        pass.set_bind_group(0, &self.bindings, &[]);
        for (which, pipeline) in &self.passes {
            let threads = which.threads(&view);
            if let Some([x, y]) = workgroups_for(threads, if threads == 1 { 1 } else { self.group }) {
                pass.set_pipeline(pipeline);
                pass.dispatch_workgroups(x, y, 1);
            }
        }
    }

    /// Returns the draws, in their order; the caller binds the vertices and indices of each one's model.
    pub fn draws(&self) -> &[PaletteDraw] {
        &self.draws
    }

    /// Returns the buffer of arguments of indirect draws, and the offset in bytes of a draw's arguments.
    pub fn arguments(&self, draw: usize) -> (&wgpu::Buffer, u64) {
        (&self.arguments, (4 * DRAW_WORDS * draw) as u64)
    }

    /// Returns the numbers of the instances that are drawn, draw by draw.
    pub fn visible_instances(&self) -> &wgpu::Buffer {
        &self.visible
    }

    /// Returns the layout of [`Instances::pulled`], for the caller's pipelines.
    pub fn pulled_layout(&self) -> &wgpu::BindGroupLayout {
        &self.pulled_layout
    }

    /// Returns the bindings that [`instances::pull_wgsl`] reads in the caller's vertex shader, and the offset
    /// for a draw.
    pub fn pulled(&self, draw: usize) -> (&wgpu::BindGroup, u32) {
        (&self.pulled, (DRAW_STRIDE * draw) as u32)
    }

    /// Draws the visible instances of a draw. The caller has set the pipeline and, unless it is a sprite,
    /// vertices and indices. `group` is the bind group index of [`Instances::pulled`].
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, group: u32, draw: usize) {
        let (arguments, at) = self.arguments(draw);
        let (bindings, offset) = self.pulled(draw);
        pass.set_bind_group(group, bindings, &[offset]);
        match self.draws[draw].level {
            Some(_) => pass.draw_indexed_indirect(arguments, at),
            None => pass.draw_indirect(arguments, at),
        }
    }
}
