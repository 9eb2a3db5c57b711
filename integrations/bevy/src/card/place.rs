//! The last pass: vertices that were computed are placed in the buffers from which Bevy draws.

use crate::card::device::{bind, binding_layout, module};
use bevy::mesh::{Mesh, MeshVertexAttributeId, VertexBufferLayout};
use bevy::render::mesh::RenderMesh;
use bevy::render::mesh::allocator::MeshBufferSlice;
use meshreel::{VertexChannel, VertexFormat};
use meshreel_gpu::VertexLayout;
use meshreel_gpu::card::{BindingKind, BufferRange};
use std::ops::Range;

/// The invocations of a workgroup, as in the shader.
const GROUP: u32 = 64;
/// The most workgroups along an axis.
const MAX_GROUPS: u32 = 65_535;
/// The bytes from the parameters of a dispatch to those of the next: the least that all devices allow.
const PLACE_BYTES: usize = 256;
/// The alignment of bindings that all devices allow.
const BINDING_ALIGNMENT: u64 = 256;
/// The number for an attribute that a mesh does not have.
const ABSENT: u32 = u32::MAX;

/// Returns the layout of computed vertices: position, normal, tangent.
pub(crate) fn computed_layout() -> VertexLayout {
    VertexLayout::new(&[
        (VertexChannel::Position, VertexFormat::F32x3),
        (VertexChannel::Normal, VertexFormat::F32x3),
        (VertexChannel::Tangent, VertexFormat::F32x4),
    ])
}

/// The bytes of a computed vertex.
const COMPUTED_BYTES: u64 = 40;

/// The pipeline that places vertices, and the parameters of a frame.
#[derive(Debug)]
pub(crate) struct Placer {
    bindings: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
    params: Vec<u8>,
    buffer: Option<wgpu::Buffer>,
    jobs: Vec<Job>,
}

/// The dispatch of a part of a mesh.
#[derive(Debug)]
struct Job {
    from: wgpu::Buffer,
    from_bytes: Range<u64>,
    to: wgpu::Buffer,
    to_bytes: Range<u64>,
    groups: [u32; 2],
}

impl Placer {
    pub fn new(device: &wgpu::Device) -> Placer {
        let bindings =
            binding_layout(device, &[BindingKind::Uniform, BindingKind::Read, BindingKind::Written]);
        let (layout, module) = module(device, include_str!("place.wgsl").into(), &bindings);
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("meshreel place"),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("place_vertices"),
            compilation_options: Default::default(),
            cache: None,
        });
        Placer { bindings, pipeline, params: Vec::new(), buffer: None, jobs: Vec::new() }
    }

    /// Adds a part of a mesh: its vertices among those of the mesh, which lie at `from`, go to the mesh of
    /// Bevy at `to`. Does nothing if the two do not fit, as when the mesh of Bevy is another by now.
    pub fn add(
        &mut self,
        (from, vertices): (BufferRange<&wgpu::Buffer>, &Range<u32>),
        (to, mesh): (&MeshBufferSlice<'_>, &RenderMesh),
    ) {
        let layout = mesh.layout.0.layout();
        let ids = mesh.layout.0.attribute_ids();
        let (size, count) = (layout.array_stride, vertices.len() as u32);
        let at = |id: MeshVertexAttributeId| offset_of(layout, ids, id).unwrap_or(ABSENT);
        let position = at(Mesh::ATTRIBUTE_POSITION.id);
        let start = u64::from(to.range.start) * size;
        let bytes = start / BINDING_ALIGNMENT * BINDING_ALIGNMENT..start + u64::from(count) * size;
        let fits = from.bytes.end - from.bytes.start >= u64::from(vertices.end) * COMPUTED_BYTES;
        if !fits || position == ABSENT || to.range.len() < vertices.len() || count == 0 {
            return;
        }
        let words = [
            vertices.start * (COMPUTED_BYTES / 4) as u32,
            (COMPUTED_BYTES / 4) as u32,
            ((start - bytes.start) / 4) as u32,
            (size / 4) as u32,
            count,
            position,
            at(Mesh::ATTRIBUTE_NORMAL.id),
            at(Mesh::ATTRIBUTE_TANGENT.id),
        ];
        self.params.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.params.resize(self.params.len().next_multiple_of(PLACE_BYTES), 0);
        let groups = count.div_ceil(GROUP);
        let rows = groups.div_ceil(MAX_GROUPS);
        let (from_bytes, from) = (from.bytes, from.buffer.clone());
        let to = wgpu::Buffer::clone(to.buffer);
        self.jobs.push(Job { from, from_bytes, to, to_bytes: bytes, groups: [groups.div_ceil(rows), rows] });
    }

    /// Records what was added.
    pub fn record(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, encoder: &mut wgpu::CommandEncoder) {
        if self.jobs.is_empty() {
            return;
        }
        let buffer = self.buffer.take().filter(|buffer| buffer.size() >= self.params.len() as u64);
        let buffer = buffer.unwrap_or_else(|| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("meshreel places"),
                size: self.params.len().next_power_of_two() as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        queue.write_buffer(&buffer, 0, &self.params);
        let described = wgpu::ComputePassDescriptor { label: Some("meshreel place"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&described);
        pass.set_pipeline(&self.pipeline);
        for (number, job) in self.jobs.drain(..).enumerate() {
            let size = |bytes: &Range<u64>| bytes.end - bytes.start;
            let all = [
                (&buffer, 0, PLACE_BYTES as u64),
                (&job.from, job.from_bytes.start, size(&job.from_bytes)),
                (&job.to, job.to_bytes.start, size(&job.to_bytes)),
            ];
            let bindings = bind(device, &self.bindings, &all);
            pass.set_bind_group(0, &bindings, &[(number * PLACE_BYTES) as u32]);
            pass.dispatch_workgroups(job.groups[0], job.groups[1], 1);
        }
        drop(pass);
        self.params.clear();
        self.buffer = Some(buffer);
    }
}

/// Returns the words from the start of a vertex to an attribute.
fn offset_of(
    layout: &VertexBufferLayout,
    ids: &[MeshVertexAttributeId],
    id: MeshVertexAttributeId,
) -> Option<u32> {
    let number = ids.iter().position(|other| *other == id)?;
    Some((layout.attributes.get(number)?.offset / 4) as u32)
}
