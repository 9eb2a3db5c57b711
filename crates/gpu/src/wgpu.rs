//! The executor for wgpu: on the caller's device, in the caller's encoder, within WebGPU's default limits.
//!
//! ```text
//! Shaders      once a device: pipelines, made when a mesh first needs them
//! GpuReel      a file on the card: fixed words, a ring of frames, vertices and indices of each mesh
//! update       uploads what is new, and records the passes of all meshes that changed
//! ```
//!
//! What is written to the ring is ordered by the queue: nothing that was submitted before sees it.

use crate::layout::VertexLayout;
use crate::params::{SIZE, STRIDE};
use crate::plan::{Dispatch, GROUP, MeshPlan, Moment, ReelPlan, Sizes};
use crate::ring::{Place, Ring};
use crate::shaders::{self, Pass};
use crate::slot::Room;
use meshreel::{DecodedFrame, Error, FrameDecoder, FrameView, MeshFrame, MeshView, Shown};
use std::collections::HashMap;
use std::path::Path;
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// Where frames come from: what an instance shows, or two decoders.
pub trait Frames {
    /// Both frames as one view.
    fn view(&self) -> FrameView<'_>;
    /// A mesh in the first frame, or in the second.
    fn mesh(&self, second: bool, mesh: usize) -> MeshView<'_>;
}

impl Frames for Shown {
    fn view(&self) -> FrameView<'_> {
        Shown::view(self)
    }
    fn mesh(&self, second: bool, mesh: usize) -> MeshView<'_> {
        let frame: DecodedFrame<'_> = if second { self.second() } else { self.first() };
        frame.mesh(mesh)
    }
}

/// Two decoders of one file, and how far between their frames.
#[derive(Clone, Copy)]
pub struct Decoded<'a> {
    /// At blend 0.
    pub first: &'a FrameDecoder,
    /// At blend 1.
    pub second: &'a FrameDecoder,
    /// The view of both.
    pub view: FrameView<'a>,
}

impl Frames for Decoded<'_> {
    fn view(&self) -> FrameView<'_> {
        self.view
    }
    fn mesh(&self, second: bool, mesh: usize) -> MeshView<'_> {
        if second { self.second.mesh(mesh) } else { self.first.mesh(mesh) }
    }
}

/// What limits are of, where no file is.
const CARD: &str = "graphics card";

type PipelineKey = (Pass, Vec<(&'static str, u64)>);

/// The shader on a device, and the pipelines that were made of it.
pub struct Shaders {
    module: wgpu::ShaderModule,
    bindings: wgpu::BindGroupLayout,
    layout: wgpu::PipelineLayout,
    made: HashMap<PipelineKey, wgpu::ComputePipeline>,
    group: u32,
}

impl Shaders {
    /// With workgroups of as many invocations as WebGPU allows by default.
    pub fn new(device: &wgpu::Device) -> Shaders {
        Shaders::with_group(device, GROUP)
    }

    /// With workgroups of so many invocations: a power of two that the device allows.
    pub fn with_group(device: &wgpu::Device, group: u32) -> Shaders {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("meshreel"),
            source: wgpu::ShaderSource::Wgsl(shaders::wgsl().into()),
        });
        let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
        let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: binding == 0, min_binding_size: None },
            count: None,
        };
        let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("meshreel"),
            entries: &[
                entry(0, wgpu::BufferBindingType::Uniform),
                entry(1, storage(true)),
                entry(2, storage(true)),
                entry(3, storage(false)),
                entry(4, storage(false)),
            ],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("meshreel"),
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        Shaders { module, bindings, layout, made: HashMap::new(), group }
    }

    fn key(&self, pass: Pass, mesh: &MeshPlan, layout: &VertexLayout) -> PipelineKey {
        let constants = shaders::constants(mesh.variant(), layout, self.group);
        (pass, constants.into_iter().map(|(name, value)| (name, value.to_bits())).collect())
    }

    fn make(&mut self, device: &wgpu::Device, key: &PipelineKey) {
        if self.made.contains_key(key) {
            return;
        }
        let constants: Vec<(&str, f64)> =
            key.1.iter().map(|(name, bits)| (*name, f64::from_bits(*bits))).collect();
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(key.0.entry()),
            layout: Some(&self.layout),
            module: &self.module,
            entry_point: Some(key.0.entry()),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                ..Default::default()
            },
            cache: None,
        });
        self.made.insert(key.clone(), pipeline);
    }
}

/// What a file may take of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of its ring: at least two frames.
    pub ring: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { ring: 64 << 20 }
    }
}

/// A mesh on the card.
struct MeshBuffers {
    bindings: wgpu::BindGroup,
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
    index_count: u32,
    vertex_count: u32,
    pipelines: Vec<(Pass, PipelineKey)>,
    /// What its vertices show: the frames, and the bits of the blend.
    shown: Option<([u32; 2], u32)>,
    /// Nodes that have it.
    nodes: Vec<usize>,
}

impl MeshBuffers {
    /// `shared` are the parameters and the ring, `sizes` bytes of vertices and indices.
    fn new(
        device: &wgpu::Device,
        layout: &wgpu::BindGroupLayout,
        [params, ring]: [&wgpu::Buffer; 2],
        mesh: &MeshPlan,
        sizes: [u64; 2],
        pipelines: Vec<(Pass, PipelineKey)>,
    ) -> MeshBuffers {
        let copied = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let storage = wgpu::BufferUsages::STORAGE;
        let fixed = device.create_buffer_init(&BufferInitDescriptor {
            label: Some("meshreel fixed"),
            contents: bytemuck::cast_slice(&mesh.fixed.words),
            usage: storage,
        });
        let scratch = buffer(device, "meshreel scratch", 4 * mesh.scratch as u64, storage);
        let drawn = wgpu::BufferUsages::VERTEX | storage | copied;
        let vertices = buffer(device, "meshreel vertices", sizes[0], drawn);
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("meshreel"),
            layout,
            entries: &[
                bind(0, params),
                bind(1, ring),
                bind(2, &fixed),
                bind(3, &scratch),
                bind(4, &vertices),
            ],
        });
        let indices = buffer(device, "meshreel indices", sizes[1], wgpu::BufferUsages::INDEX | copied);
        MeshBuffers {
            bindings,
            vertices,
            indices,
            index_count: 0,
            vertex_count: 0,
            pipelines,
            shown: None,
            nodes: Vec::new(),
        }
    }
}

/// What an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Update {
    /// Frames that were uploaded, and bytes in all.
    pub frames: u32,
    /// Bytes that went to the card.
    pub bytes: u64,
    /// Dispatches that were recorded.
    pub dispatches: u32,
    /// Meshes that needed no work: they show what they showed.
    pub unchanged: u32,
}

/// A file on the card.
pub struct GpuReel {
    plan: ReelPlan,
    layout: VertexLayout,
    frames: Ring,
    ring: wgpu::Buffer,
    params: wgpu::Buffer,
    meshes: Vec<MeshBuffers>,
    staging: Vec<u32>,
    room: Room,
    dispatches: Vec<(usize, Dispatch)>,
}

impl GpuReel {
    /// Makes the buffers of a file, of which `frames` are any. Limit where the ring is too small for two frames or
    /// a mesh too large for a binding of the device, misuse where the layout is not possible.
    pub fn new(
        device: &wgpu::Device,
        shaders: &mut Shaders,
        frames: &dyn Frames,
        layout: VertexLayout,
        budget: Budget,
    ) -> Result<GpuReel, Error> {
        layout.check()?;
        let view = frames.view();
        let plan = ReelPlan::new(view.reel(), |mesh| frames.mesh(false, mesh))?;
        let limits = device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let slot = (4 * plan.slot_words as u64).max(4);
        let slots = (budget.ring.min(most) / slot).min(256) as usize;
        if slots < 2 {
            let what = format!("two frames of {slot} bytes in the ring");
            return Err(Error::limit(Path::new(CARD), what, 2 * slot, budget.ring.min(most)));
        }
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let ring = buffer(device, "meshreel ring", slots as u64 * slot, storage);
        let count = plan.meshes.len().max(1);
        let params = buffer(device, "meshreel parameters", (count * STRIDE) as u64, uniform);
        let mut meshes: Vec<MeshBuffers> = Vec::with_capacity(plan.meshes.len());
        for (number, mesh) in plan.meshes.iter().enumerate() {
            let bytes = 4 * (mesh.fixed.vertices * layout.words()) as u64;
            let largest = bytes.max(4 * mesh.fixed.words.len() as u64);
            if largest > most {
                let what = format!("a binding for mesh {number}");
                return Err(Error::limit(Path::new(CARD), what, largest, most));
            }
            let first = frames.mesh(false, number);
            let indices = first.record().indices.max(first.indices().len() as u32).max(1);
            let sizes = [bytes.max(4), 4 * u64::from(indices)];
            let passes = Pass::ALL.into_iter().filter(|pass| mesh.variant().has(*pass));
            let pipelines: Vec<_> = passes.map(|pass| (pass, shaders.key(pass, mesh, &layout))).collect();
            pipelines.iter().for_each(|(_, key)| shaders.make(device, key));
            meshes.push(MeshBuffers::new(
                device,
                &shaders.bindings,
                [&params, &ring],
                mesh,
                sizes,
                pipelines,
            ));
        }
        for (node, record) in view.reel().description().nodes.iter().enumerate() {
            if let Some(mesh) = record.mesh {
                meshes[mesh as usize].nodes.push(node);
            }
        }
        let staging = vec![0; plan.slot_words];
        let (frames, dispatches) = (Ring::new(slots), Vec::new());
        Ok(GpuReel { plan, layout, frames, ring, params, meshes, staging, room: Room::default(), dispatches })
    }

    /// What it takes of the card.
    pub fn sizes(&self) -> Sizes {
        self.plan.needs(&self.layout)
    }

    /// Uploads what is new of a moment and records what makes its vertices. All instances that show the same moment
    /// share them.
    pub fn update(
        &mut self,
        shaders: &Shaders,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        frames: &dyn Frames,
    ) -> Result<Update, Error> {
        let mut out = Update::default();
        let view = frames.view();
        let pair = view.pair();
        self.frames.begin();
        let mut slots = [0; 2];
        for (slot, second) in slots.iter_mut().zip([false, true]) {
            let frame = if second { pair.second } else { pair.first } as usize;
            let place = self.frames.ask(frame);
            let (Place::There(at) | Place::New(at)) = place else {
                return Err(Error::misuse("a ring on a graphics card without room for two frames"));
            };
            *slot = at * self.plan.slot_words;
            if place == Place::New(at) {
                let mesh = |mesh| frames.mesh(second, mesh);
                self.plan.write_frame(mesh, &mut self.room, &mut self.staging)?;
                queue.write_buffer(&self.ring, 4 * *slot as u64, bytemuck::cast_slice(&self.staging));
                out.frames += 1;
                out.bytes += 4 * self.staging.len() as u64;
            }
        }
        self.dispatches.clear();
        for number in 0..self.meshes.len() {
            let own = &mut self.meshes[number];
            // Of nodes that share it those that are about to vanish do not blend; they follow the others.
            let visible = own.nodes.iter().filter(|node| view.visible(**node));
            let mut all = visible.filter_map(|node| view.mesh(*node));
            let Some(first) = all.next() else { continue };
            let mesh = if first.blends() { first } else { all.find(MeshFrame::blends).unwrap_or(first) };
            let moment = (mesh.frames(), mesh.blend().to_bits());
            if own.shown == Some(moment) {
                out.unchanged += 1;
                continue;
            }
            let new = own.shown.is_none();
            own.shown = Some(moment);
            if new || mesh.is_fluid() {
                let indices = bytemuck::cast_slice(mesh.indices());
                queue.write_buffer(&own.indices, 0, indices);
                own.index_count = mesh.indices().len() as u32;
                out.bytes += indices.len() as u64;
            }
            own.vertex_count = mesh.vertex_count() as u32;
            let slot = |frame: u32| slots[usize::from(frame != pair.first)];
            let plan = &self.plan.meshes[number];
            let params = plan.params(&Moment::new(&mesh, slot, 0));
            queue.write_buffer(&self.params, (number * STRIDE) as u64, bytemuck::bytes_of(&params));
            out.bytes += SIZE as u64;
            self.dispatches
                .extend(plan.dispatches(&params, &self.layout, shaders.group).map(|d| (number, d)));
        }
        if self.dispatches.is_empty() {
            return Ok(out);
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("meshreel"),
            timestamp_writes: None,
        });
        for which in Pass::ALL {
            for (mesh, dispatch) in self.dispatches.iter().filter(|(_, d)| d.pass == which) {
                let own = &self.meshes[*mesh];
                let key = own.pipelines.iter().find(|(pass, _)| *pass == which);
                let Some(pipeline) = key.and_then(|(_, key)| shaders.made.get(key)) else { continue };
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, &own.bindings, &[(mesh * STRIDE) as u32]);
                pass.dispatch_workgroups(dispatch.groups[0], dispatch.groups[1], 1);
                out.dispatches += 1;
            }
        }
        Ok(out)
    }

    /// The vertices of a mesh, in the layout. Panics where there is no such mesh.
    pub fn vertices(&self, mesh: usize) -> &wgpu::Buffer {
        &self.meshes[mesh].vertices
    }

    /// The frames that its vertices are between, and how far; none before it is first shown.
    pub fn shown(&self, mesh: usize) -> Option<([u32; 2], f32)> {
        self.meshes[mesh].shown.map(|(frames, blend)| (frames, f32::from_bits(blend)))
    }

    /// Number of vertices that it has now.
    pub fn vertex_count(&self, mesh: usize) -> u32 {
        self.meshes[mesh].vertex_count
    }

    /// Its indices, u32, three per triangle; their number is [`GpuReel::index_count`].
    pub fn indices(&self, mesh: usize) -> &wgpu::Buffer {
        &self.meshes[mesh].indices
    }

    /// See [`GpuReel::indices`].
    pub fn index_count(&self, mesh: usize) -> u32 {
        self.meshes[mesh].index_count
    }
}

fn bind(binding: u32, buffer: &wgpu::Buffer) -> wgpu::BindGroupEntry<'_> {
    // Of parameters one dispatch's at a time.
    let size = (binding == 0).then(|| wgpu::BufferSize::new(SIZE as u64)).flatten();
    let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size });
    wgpu::BindGroupEntry { binding, resource }
}

fn buffer(device: &wgpu::Device, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage,
        mapped_at_creation: false,
    })
}
