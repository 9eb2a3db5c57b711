//! The shaders on a device.

use crate::card::{BindingLayout, ShaderProgram};
use crate::wgpu::{CARD_NAME, layout, module, pipeline};
use crate::workgroups::DEFAULT_WORKGROUP_SIZE;
use meshreel::Error;
use std::collections::HashMap;
use std::path::Path;

/// A shader, an entry point, and the bits of its constants.
type PipelineKey = (ShaderProgram, &'static str, Vec<(&'static str, u64)>);

/// The shaders on a device, and the pipelines that were created from them.
#[derive(Debug)]
pub struct Shaders {
    bindings: wgpu::BindGroupLayout,
    /// The layout for vertex shaders that fetch vertices.
    pulled: wgpu::BindGroupLayout,
    units: wgpu::BindGroupLayout,
    /// Created for the first pipeline that needs them.
    modules: HashMap<ShaderProgram, (wgpu::PipelineLayout, wgpu::ShaderModule)>,
    pipelines: HashMap<PipelineKey, wgpu::ComputePipeline>,
    pub(super) group: u32,
}

impl Shaders {
    /// Creates shaders with as many invocations per workgroup as WebGPU allows by default.
    pub fn new(device: &wgpu::Device) -> Shaders {
        Shaders::create(device, DEFAULT_WORKGROUP_SIZE)
    }

    /// Creates shaders with `group` invocations per workgroup. A misuse error unless it is a power of two, a
    /// limit error if it is more than the device has.
    pub fn with_group(device: &wgpu::Device, group: u32) -> Result<Shaders, Error> {
        let limits = device.limits();
        let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        if !group.is_power_of_two() {
            return Err(Error::misuse(format!(
                "workgroups of {group} invocations: a power of two is needed"
            )));
        }
        if group > most {
            return Err(Error::limit(
                Path::new(CARD_NAME),
                "invocations of a workgroup",
                group.into(),
                most.into(),
            ));
        }
        Ok(Shaders::create(device, group))
    }

    fn create(device: &wgpu::Device, group: u32) -> Shaders {
        let compute = wgpu::ShaderStages::COMPUTE;
        Shaders {
            bindings: layout(device, compute, true, BindingLayout::Passes.kinds()),
            pulled: layout(device, wgpu::ShaderStages::VERTEX, true, BindingLayout::Pulled.kinds()),
            units: layout(device, compute, true, BindingLayout::Units.kinds()),
            modules: HashMap::new(),
            pipelines: HashMap::new(),
            group,
        }
    }

    pub(super) fn layout(&self, which: BindingLayout) -> &wgpu::BindGroupLayout {
        match which {
            BindingLayout::Passes => &self.bindings,
            BindingLayout::Pulled => &self.pulled,
            BindingLayout::Units => &self.units,
        }
    }

    /// Returns the layout of [`crate::wgpu::Output::pulled`], for the caller's pipelines.
    pub fn pulled_layout(&self) -> &wgpu::BindGroupLayout {
        &self.pulled
    }

    /// Returns the pipeline of an entry point, which is created the first time.
    pub(super) fn pipeline(
        &mut self,
        device: &wgpu::Device,
        program: ShaderProgram,
        entry: &'static str,
        constants: &[(&'static str, f64)],
    ) -> wgpu::ComputePipeline {
        let bits = constants.iter().map(|(name, value)| (*name, value.to_bits())).collect();
        let key = (program, entry, bits);
        if let Some(made) = self.pipelines.get(&key) {
            return made.clone();
        }
        let bindings = self.layout(program.layout()).clone();
        let made = self.modules.entry(program);
        let (layout, module) = made.or_insert_with(|| module(device, program.wgsl(), &bindings));
        let made = pipeline(device, (layout, module), entry, constants);
        self.pipelines.insert(key, made.clone());
        made
    }
}
