//! The shader on a device.

use crate::layout::VertexLayout;
use crate::plan::{GROUP, MeshPlan};
use crate::shaders::{self, Pass};
use crate::wgpu::{layout, module, pipeline};
use std::collections::HashMap;

/// An entry point, and the bits of its constants.
pub(super) type PipelineKey = (Pass, Vec<(&'static str, u64)>);

/// The shader on a device, and the pipelines that were made of it.
pub struct Shaders {
    module: (wgpu::PipelineLayout, wgpu::ShaderModule),
    pub(super) bindings: wgpu::BindGroupLayout,
    /// What a vertex shader sees that fetches vertices.
    pub(super) pulled: wgpu::BindGroupLayout,
    made: HashMap<PipelineKey, wgpu::ComputePipeline>,
    pub(super) group: u32,
}

impl Shaders {
    /// With workgroups of as many invocations as WebGPU allows by default.
    pub fn new(device: &wgpu::Device) -> Shaders {
        Shaders::with_group(device, GROUP)
    }

    /// With workgroups of so many invocations: a power of two that the device allows.
    pub fn with_group(device: &wgpu::Device, group: u32) -> Shaders {
        let compute = wgpu::ShaderStages::COMPUTE;
        let bindings = layout(device, compute, true, &[false, false, true, true]);
        let pulled = layout(device, wgpu::ShaderStages::VERTEX, true, &[false; 3]);
        let module = module(device, shaders::wgsl(), &bindings);
        Shaders { module, bindings, pulled, made: HashMap::new(), group }
    }

    /// The layout of [`crate::wgpu::GpuReel::pulled`], for the caller's pipelines.
    pub fn pulled_layout(&self) -> &wgpu::BindGroupLayout {
        &self.pulled
    }

    pub(super) fn key(&self, pass: Pass, mesh: &MeshPlan, layout: &VertexLayout) -> PipelineKey {
        let constants = shaders::constants(mesh.variant(), layout, self.group);
        (pass, constants.into_iter().map(|(name, value)| (name, value.to_bits())).collect())
    }

    pub(super) fn make(&mut self, device: &wgpu::Device, key: &PipelineKey) {
        if self.made.contains_key(key) {
            return;
        }
        let constants: Vec<(&str, f64)> =
            key.1.iter().map(|(name, bits)| (*name, f64::from_bits(*bits))).collect();
        let (layout, module) = &self.module;
        self.made.insert(key.clone(), pipeline(device, (layout, module), key.0.entry(), &constants));
    }

    pub(super) fn find(&self, key: &PipelineKey) -> Option<&wgpu::ComputePipeline> {
        self.made.get(key)
    }
}
