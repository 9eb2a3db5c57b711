//! The shader on a device.

use crate::layout::VertexLayout;
use crate::plan::MeshPlan;
use crate::shaders::{self, Pass};
use crate::wgpu::units::UnitShaders;
use crate::wgpu::{CARD, Kind, layout, module, pipeline};
use crate::workgroups::GROUP;
use meshreel::Error;
use std::collections::HashMap;
use std::path::Path;

/// An entry point, and the bits of its constants.
type PipelineKey = (Pass, Vec<(&'static str, u64)>);

/// The shader on a device, and the pipelines that were made of it.
pub struct Shaders {
    module: (wgpu::PipelineLayout, wgpu::ShaderModule),
    pub(super) bindings: wgpu::BindGroupLayout,
    /// What a vertex shader sees that fetches vertices.
    pub(super) pulled: wgpu::BindGroupLayout,
    made: HashMap<PipelineKey, wgpu::ComputePipeline>,
    pub(super) group: u32,
    units: Option<UnitShaders>,
}

/// What a pass sees: parameters, ring, fixed words, what lies between passes, points, vertices.
const BINDINGS: [Kind; 6] = [Kind::Uniform, Kind::Read, Kind::Read, Kind::Written, Kind::Read, Kind::Written];
/// What a vertex shader sees of that.
const PULLED: [Kind; 5] = [Kind::Uniform, Kind::Read, Kind::Read, Kind::Read, Kind::Read];

impl Shaders {
    /// With workgroups of as many invocations as WebGPU allows by default.
    pub fn new(device: &wgpu::Device) -> Shaders {
        Shaders::made(device, GROUP)
    }

    /// With workgroups of so many invocations. Misuse of what is no power of two, limit of more than the device has.
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
                Path::new(CARD),
                "invocations of a workgroup",
                group.into(),
                most.into(),
            ));
        }
        Ok(Shaders::made(device, group))
    }

    fn made(device: &wgpu::Device, group: u32) -> Shaders {
        let compute = wgpu::ShaderStages::COMPUTE;
        let bindings = layout(device, compute, true, &BINDINGS);
        let pulled = layout(device, wgpu::ShaderStages::VERTEX, true, &PULLED);
        let module = module(device, shaders::wgsl(), &bindings);
        Shaders { module, bindings, pulled, made: HashMap::new(), group, units: None }
    }

    /// The layout of [`crate::wgpu::Output::pulled`], for the caller's pipelines.
    pub fn pulled_layout(&self) -> &wgpu::BindGroupLayout {
        &self.pulled
    }

    /// The shader of units, made where a file is the first that has such.
    pub(super) fn make_units(&mut self, device: &wgpu::Device) -> &UnitShaders {
        let group = self.group;
        self.units.get_or_insert_with(|| UnitShaders::new(device, group))
    }

    /// The shader of units, where it was made.
    pub(super) fn units(&self) -> Result<&UnitShaders, Error> {
        self.units.as_ref().ok_or_else(|| Error::misuse("shaders that a file on the card was not made with"))
    }

    /// The pipeline of a pass over a mesh, made where it is the first.
    pub(super) fn pipeline(
        &mut self,
        device: &wgpu::Device,
        pass: Pass,
        mesh: &MeshPlan,
        layout: &VertexLayout,
    ) -> wgpu::ComputePipeline {
        let constants = shaders::constants(mesh.variant(), layout, self.group);
        let key = (pass, constants.iter().map(|(name, value)| (*name, value.to_bits())).collect());
        let (pipelines, module) = &self.module;
        let made = || pipeline(device, (pipelines, module), pass.entry(), &constants);
        self.made.entry(key).or_insert_with(made).clone()
    }
}
