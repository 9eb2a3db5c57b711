//! A file on the card, and what is made of it for a moment.

use crate::layout::VertexLayout;
use crate::params::{SIZE, STRIDE};
use crate::plan::{Dispatch, Moment, ReelPlan, Sizes};
use crate::ring::{Place, Ring};
use crate::shaders::Pass;
use crate::slot::Room;
use crate::wgpu::units::{self, PointRing};
use crate::wgpu::{CARD, Frames, Shaders, Update, bind, buffer};
use meshreel::record::Method;
use meshreel::{Ahead, EndState, Error, InstanceId, MeshFrame, MeshView, Player};
use std::ops::Range;
use std::path::Path;
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// What a file may take of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of its ring: at least two frames for each output.
    pub ring: u64,
    /// Outputs keep the vertices of the moment before, for motion vectors.
    pub previous: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { ring: 64 << 20, previous: false }
    }
}

/// What of a mesh all outputs share.
struct MeshBuffers {
    fixed: wgpu::Buffer,
    /// Of a mesh whose triangles do not change: those of each level of detail, one behind the other.
    indices: Option<wgpu::Buffer>,
    levels: Vec<Range<u32>>,
    /// The most indices of a frame.
    most_indices: u32,
    pipelines: Vec<(Pass, wgpu::ComputePipeline)>,
    /// Nodes that have it.
    nodes: Vec<usize>,
}

/// A file on the card: what no frame changes, a ring of frames, and one of points that the card decodes.
pub struct GpuReel {
    plan: ReelPlan,
    layout: VertexLayout,
    budget: Budget,
    frames: Ring,
    ring: wgpu::Buffer,
    /// Of a file that was opened without points.
    points: Option<PointRing>,
    meshes: Vec<MeshBuffers>,
    staging: Vec<u32>,
    room: Room,
    dispatches: Vec<(usize, usize, Dispatch)>,
}

/// A mesh of an output.
struct OutputMesh {
    /// Those of now and, if they are kept, of the moment before; each with its bindings.
    vertices: Vec<(wgpu::Buffer, wgpu::BindGroup)>,
    /// Which of them is of now.
    now: usize,
    /// Whether the other one is of the moment before; else nothing has moved.
    moved: bool,
    pulled: Option<wgpu::BindGroup>,
    indices: wgpu::Buffer,
    index_count: u32,
    vertex_count: u32,
    /// What its vertices show.
    shown: Option<Moved>,
}

/// What vertices show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// They do not move.
    Never,
    /// What they show at one end, in all frames there.
    End(EndState),
    /// Two frames, and the bits of the blend.
    Between([u32; 2], u32),
}

/// The vertices of a file at a moment. All instances that show the same one share it.
pub struct Output {
    params: wgpu::Buffer,
    meshes: Vec<OutputMesh>,
}

impl GpuReel {
    /// Makes what all outputs of a file share; `frames` are any of it. Limit where the ring is too small for two
    /// frames or a mesh too large for a binding of the device, misuse where the layout is not possible.
    pub fn new(
        (device, queue): (&wgpu::Device, &wgpu::Queue),
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
        let still = 4 * plan.still_words as u64;
        let frame_count = view.reel().frame_count();
        let point_slots = || units::slots(&plan, (frame_count, slot), (budget.ring, most));
        let point_slots = plan.is_coded().then(point_slots).transpose()?;
        let ring_bytes = point_slots.map_or(budget.ring, |slots| slots as u64 * slot);
        let slots = (ring_bytes.min(most.saturating_sub(still)) / slot).min(256) as usize;
        if slots < 2 {
            let what = format!("two frames of {slot} bytes in the ring");
            return Err(Error::limit(Path::new(CARD), what, 2 * slot, budget.ring.min(most)));
        }
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let ring = buffer(device, "meshreel ring", slots as u64 * slot + still, storage);
        let mut room = Room::default();
        if plan.still_words > 0 {
            let mut words = vec![0; plan.still_words];
            plan.write_still(|mesh| frames.mesh(false, mesh), &mut room, &mut words)?;
            queue.write_buffer(&ring, slots as u64 * slot, bytemuck::cast_slice(&words));
        }
        let mut meshes: Vec<MeshBuffers> = Vec::with_capacity(plan.meshes.len());
        for (number, mesh) in plan.meshes.iter().enumerate() {
            let bytes = 4 * (mesh.fixed.vertices * layout.words()) as u64;
            let largest = bytes.max(4 * mesh.fixed.words.len() as u64).max(4 * mesh.scratch as u64);
            if largest > most {
                let what = format!("a binding for mesh {number}");
                return Err(Error::limit(Path::new(CARD), what, largest, most));
            }
            let passes = Pass::ALL.into_iter().filter(|pass| mesh.variant().has(*pass));
            let passes = passes.filter(|pass| *pass != Pass::Vertices || !layout.is_pulled());
            let pipelines: Vec<_> =
                passes.map(|pass| (pass, shaders.pipeline(device, pass, mesh, &layout))).collect();
            meshes.push(MeshBuffers::new(device, &mesh.fixed.words, &frames.mesh(false, number), pipelines));
        }
        for (node, record) in view.reel().description().nodes.iter().enumerate() {
            if let Some(mesh) = record.mesh {
                meshes[mesh as usize].nodes.push(node);
            }
        }
        let points = match point_slots {
            Some(slots) => {
                let fixed: Vec<_> = meshes.iter().map(|mesh| mesh.fixed.clone()).collect();
                let mesh = |mesh| frames.mesh(false, mesh);
                let units = shaders.make_units(device);
                Some(PointRing::new((device, queue), units, &plan, &fixed, mesh, (slots, most))?)
            }
            None => None,
        };
        let staging = vec![0; plan.slot_words];
        let (frames, dispatches) = (Ring::new(slots), Vec::new());
        Ok(GpuReel { plan, layout, budget, frames, ring, points, meshes, staging, room, dispatches })
    }

    /// Room for the vertices of a moment.
    pub fn output(&self, device: &wgpu::Device, shaders: &Shaders) -> Output {
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let count = self.meshes.len().max(1);
        let params = buffer(device, "meshreel parameters", (count * STRIDE) as u64, uniform);
        let storage = wgpu::BufferUsages::STORAGE;
        let copied = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let mesh = |(number, (own, plan)): (usize, (&MeshBuffers, &crate::MeshPlan))| {
            let decoded = self.points.as_ref().and_then(|points| points.decoded(number));
            let scratch = buffer(device, "meshreel scratch", 4 * plan.scratch as u64, storage);
            let bytes = (4 * (plan.fixed.vertices * self.layout.words()) as u64).max(4);
            // One that has none sees anything there.
            let decoded = decoded.unwrap_or(&self.ring);
            let shared = [(&params, SIZE), (&self.ring, 0), (&own.fixed, 0), (&scratch, 0), (decoded, 0)];
            let one = || {
                let usage = wgpu::BufferUsages::VERTEX | storage | copied;
                let vertices = buffer(device, "meshreel vertices", bytes, usage);
                let [a, b, c, d, e] = shared;
                let bindings = bind(device, &shaders.bindings, &[a, b, c, d, e, (&vertices, 0)]);
                (vertices, bindings)
            };
            let pulled = || bind(device, &shaders.pulled, &shared);
            let usage = wgpu::BufferUsages::INDEX | copied;
            let most = 4 * u64::from(own.most_indices);
            let indices = own.indices.clone();
            OutputMesh {
                vertices: (0..1 + usize::from(self.budget.previous)).map(|_| one()).collect(),
                now: 0,
                moved: false,
                pulled: self.layout.is_pulled().then(pulled),
                indices: indices.unwrap_or_else(|| buffer(device, "meshreel indices", most, usage)),
                index_count: own.levels.first().map_or(0, |level| level.end),
                vertex_count: 0,
                shown: None,
            }
        };
        Output { meshes: self.meshes.iter().zip(&self.plan.meshes).enumerate().map(mesh).collect(), params }
    }

    /// What the file takes of the card with one output.
    pub fn sizes(&self) -> Sizes {
        self.plan.needs(&self.layout)
    }

    /// Indices of a level of detail in the index buffer of a mesh; of the last one where `level` is beyond it. Of
    /// level 0 in the order of [`MeshFrame::visible_ranges`]. None of a mesh whose triangles change.
    pub fn level(&self, mesh: usize, level: usize) -> Option<Range<u32>> {
        let levels = &self.meshes.get(mesh)?.levels;
        levels.get(level.min(levels.len().checked_sub(1)?)).cloned()
    }

    /// Decodes on the card what an instance shows, then, within so many bytes that go up, what it will show next: of a
    /// file that was opened without points ([`meshreel::Limits::points`]), for each of its instances, before
    /// [`GpuReel::update`]. Does nothing of other files. Misuse of other shaders than those it was made with.
    pub fn decode(
        &mut self,
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        shaders: &Shaders,
        encoder: &mut wgpu::CommandEncoder,
        (player, instance): (&Player, InstanceId),
        most_bytes: u64,
    ) -> Result<Update, Error> {
        let mut out = Update::default();
        let Some((points, shown)) = self.points.as_mut().zip(player.frame(instance)) else { return Ok(out) };
        let Some(units) = player.coded_units(shown.file()) else { return Ok(out) };
        let shaders = shaders.units()?;
        let card = (device, queue, shaders);
        let pair = shown.pair();
        for frame in [pair.first, pair.second] {
            points.want(card, &self.plan, &units, (frame, true), &mut out);
        }
        for ahead in player.ahead(instance) {
            if out.bytes >= most_bytes
                || !points.want(card, &self.plan, &units, (ahead.number(), false), &mut out)
            {
                break;
            }
        }
        points.record(shaders, encoder, &mut out);
        Ok(out)
    }

    /// Uploads what is new of the moments of all outputs that are shown now, and records what makes their vertices.
    /// Limit where the ring does not hold all of their frames at once.
    pub fn update(
        &mut self,
        shaders: &Shaders,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        outputs: &mut [(&mut Output, &dyn Frames)],
    ) -> Result<Update, Error> {
        let mut out = Update::default();
        self.frames.begin();
        self.dispatches.clear();
        for (at, (output, frames)) in outputs.iter_mut().enumerate() {
            let slots = self.upload(queue, *frames, &mut out)?;
            self.moment(at, output, (*frames, slots), (shaders, queue), &mut out);
        }
        if let Some(points) = &mut self.points {
            points.submitted();
        }
        if self.dispatches.is_empty() {
            return Ok(out);
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("meshreel"),
            timestamp_writes: None,
        });
        for which in Pass::ALL {
            let mut last = None;
            for (at, mesh, dispatch) in self.dispatches.iter().filter(|(.., d)| d.pass == which) {
                let own = &outputs[*at].0.meshes[*mesh];
                let pipelines = &self.meshes[*mesh].pipelines;
                let Some((_, pipeline)) = pipelines.iter().find(|(pass, _)| *pass == which) else { continue };
                if last != Some(pipeline) {
                    pass.set_pipeline(pipeline);
                    last = Some(pipeline);
                }
                pass.set_bind_group(0, &own.vertices[own.now].1, &[(mesh * STRIDE) as u32]);
                pass.dispatch_workgroups(dispatch.groups[0], dispatch.groups[1], 1);
                out.dispatches += 1;
            }
        }
        Ok(out)
    }

    /// Uploads frames that will be shown, soonest first, while the card draws those of now: at most so many bytes, and
    /// none that would take the place of what was asked for in the last [`GpuReel::update`]. Returns the bytes.
    pub fn prepare(
        &mut self,
        queue: &wgpu::Queue,
        frames: impl Iterator<Item = Ahead>,
        most_bytes: u64,
    ) -> Result<u64, Error> {
        let (slot, mut done) = (4 * self.plan.slot_words as u64, 0);
        for ahead in frames {
            if self.frames.holds(ahead.number() as usize) {
                continue;
            }
            if done + slot > most_bytes {
                break;
            }
            let Place::New(at) = self.frames.ask(ahead.number() as usize) else { break };
            let frame = ahead.frame();
            self.plan.write_frame(|mesh| frame.mesh(mesh), &mut self.room, &mut self.staging)?;
            queue.write_buffer(&self.ring, at as u64 * slot, bytemuck::cast_slice(&self.staging));
            done += slot;
        }
        Ok(done)
    }

    /// First words of both frames in the ring, uploaded where they are new.
    fn upload(
        &mut self,
        queue: &wgpu::Queue,
        frames: &dyn Frames,
        out: &mut Update,
    ) -> Result<[usize; 2], Error> {
        let pair = frames.view().pair();
        let mut slots = [0; 2];
        for (slot, second) in slots.iter_mut().zip([false, true]) {
            let frame = if second { pair.second } else { pair.first } as usize;
            let place = self.frames.ask(frame);
            let (Place::There(at) | Place::New(at)) = place else {
                let (bytes, has) = (self.plan.slot_words as u64 * 4, self.frames.slots() as u64);
                let what = "frames that are shown at once in the ring";
                return Err(Error::limit(Path::new(CARD), what, bytes * (has + 1), bytes * has));
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
        Ok(slots)
    }

    /// Parameters and dispatches of the meshes of an output that do not show their moment yet.
    fn moment(
        &mut self,
        at: usize,
        output: &mut Output,
        (frames, slots): (&dyn Frames, [usize; 2]),
        (shaders, queue): (&Shaders, &wgpu::Queue),
        out: &mut Update,
    ) {
        let view = frames.view();
        let first_frame = view.pair().first;
        for (number, own) in output.meshes.iter_mut().enumerate() {
            // Of nodes that share it those that are about to vanish do not blend; they follow the others.
            let visible = self.meshes[number].nodes.iter().filter(|node| view.visible(**node));
            let mut all = visible.filter_map(|node| view.mesh(*node));
            let Some(first) = all.next() else { continue };
            let mesh = if first.blends() { first } else { all.find(MeshFrame::blends).unwrap_or(first) };
            // What stands still as it does at one end shows nothing new.
            let plan = &self.plan.meshes[number];
            let end =
                || Some((frames.mesh(false, number).end_state()?, frames.mesh(true, number).end_state()?));
            let moment = match end() {
                _ if plan.still => Moved::Never,
                Some((first, second)) if first == second => Moved::End(first),
                _ => Moved::Between(mesh.frames(), mesh.blend().to_bits()),
            };
            let count = mesh.vertex_count() as u32;
            if own.shown == Some(moment) {
                own.moved = false;
                out.unchanged += 1;
                continue;
            }
            let mut point_slots = [0; 2];
            if let Some(points) = self.points.as_ref().filter(|_| plan.fixed.coded.is_some()) {
                let [first, second] = mesh.frames().map(|frame| points.slot(frame));
                let Some((first, second)) = first.zip(second) else {
                    own.moved = false;
                    out.late += 1;
                    continue;
                };
                point_slots = [first, second];
            }
            own.moved = own.vertices.len() > 1 && own.shown.is_some() && own.vertex_count == count;
            own.now = (own.now + 1) % own.vertices.len();
            own.shown = Some(moment);
            own.vertex_count = count;
            if mesh.is_fluid() {
                let indices = bytemuck::cast_slice(mesh.indices());
                queue.write_buffer(&own.indices, 0, indices);
                own.index_count = mesh.indices().len() as u32;
                out.bytes += indices.len() as u64;
            }
            let slot = |frame: u32| slots[usize::from(frame != first_frame)];
            let still = self.frames.slots() * self.plan.slot_words.max(1);
            let moment = Moment { point_slots, ..Moment::new(plan, &mesh, slot, still, 0) };
            let params = plan.params(&moment);
            queue.write_buffer(&output.params, (number * STRIDE) as u64, bytemuck::bytes_of(&params));
            out.bytes += SIZE as u64;
            let dispatches = plan.dispatches(&params, &self.layout, shaders.group);
            self.dispatches.extend(dispatches.map(|dispatch| (at, number, dispatch)));
        }
    }
}

impl MeshBuffers {
    fn new(
        device: &wgpu::Device,
        fixed: &[u32],
        mesh: &MeshView<'_>,
        pipelines: Vec<(Pass, wgpu::ComputePipeline)>,
    ) -> MeshBuffers {
        let usage = wgpu::BufferUsages::STORAGE;
        let contents = bytemuck::cast_slice(fixed);
        let fixed = device.create_buffer_init(&BufferInitDescriptor {
            label: Some("meshreel fixed"),
            contents,
            usage,
        });
        let most = mesh.record().indices.max(1);
        let mut out = MeshBuffers {
            fixed,
            indices: None,
            levels: Vec::new(),
            most_indices: most,
            pipelines,
            nodes: vec![],
        };
        if mesh.record().method != Method::Fluid {
            let mut indices = mesh.indices_by_visibility().to_vec();
            out.levels.push(0..indices.len() as u32);
            for level in 1..mesh.lods() {
                let first = indices.len() as u32;
                indices.extend_from_slice(mesh.lod(level).indices);
                out.levels.push(first..indices.len() as u32);
            }
            // A buffer is never empty.
            indices.resize(indices.len().max(1), 0);
            let usage = wgpu::BufferUsages::INDEX | wgpu::BufferUsages::COPY_SRC;
            let contents = bytemuck::cast_slice(&indices);
            let label = Some("meshreel indices");
            out.indices = Some(device.create_buffer_init(&BufferInitDescriptor { label, contents, usage }));
        }
        out
    }
}

impl Output {
    /// The vertices of a mesh, in the layout. Panics where there is no such mesh.
    pub fn vertices(&self, mesh: usize) -> &wgpu::Buffer {
        let own = &self.meshes[mesh];
        &own.vertices[own.now].0
    }

    /// Those of the update before, vertex by vertex ([`Budget::previous`]); those of now where it has not moved since,
    /// or has other vertices. Panics where there is no such mesh.
    pub fn previous_vertices(&self, mesh: usize) -> &wgpu::Buffer {
        let own = &self.meshes[mesh];
        let at = own.now + usize::from(own.moved);
        &own.vertices[at % own.vertices.len()].0
    }

    /// What the caller's vertex shader fetches the vertices of a mesh from, and the offset of its parameters; none
    /// unless the layout is [`VertexLayout::pulled`].
    pub fn pulled(&self, mesh: usize) -> Option<(&wgpu::BindGroup, u32)> {
        Some((self.meshes.get(mesh)?.pulled.as_ref()?, (mesh * STRIDE) as u32))
    }

    /// Whether its vertices were made.
    pub fn is_shown(&self, mesh: usize) -> bool {
        self.meshes[mesh].shown.is_some()
    }

    /// The frames that its vertices are between, and how far; none of a mesh that stands still.
    pub fn between(&self, mesh: usize) -> Option<([u32; 2], f32)> {
        match self.meshes[mesh].shown {
            Some(Moved::Between(frames, blend)) => Some((frames, f32::from_bits(blend))),
            _ => None,
        }
    }

    /// Number of vertices that it has now.
    pub fn vertex_count(&self, mesh: usize) -> u32 {
        self.meshes[mesh].vertex_count
    }

    /// Its indices, u32, three per triangle: [`Output::index_count`] of the finest level, then, of a mesh whose
    /// triangles do not change, those of the others ([`GpuReel::level`]).
    pub fn indices(&self, mesh: usize) -> &wgpu::Buffer {
        &self.meshes[mesh].indices
    }

    /// See [`Output::indices`].
    pub fn index_count(&self, mesh: usize) -> u32 {
        self.meshes[mesh].index_count
    }
}
