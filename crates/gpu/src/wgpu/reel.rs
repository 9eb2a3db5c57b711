//! A file on the card, and what is made of it for a moment.

use crate::batches::Batches;
use crate::layout::VertexLayout;
use crate::params::SIZE;
use crate::plan::{Moment, ReelPlan, Sizes};
use crate::ring::{Place, Ring};
use crate::shaders::Pass;
use crate::slot::Room;
use crate::wgpu::output::{Moved, Output, OutputBatch, OutputMesh};
use crate::wgpu::units::{self, PointRing};
use crate::wgpu::{CARD, Frames, Shaders, Update, bind, buffer};
use crate::{MeshPlan, WorkList};
use meshreel::record::Method;
use meshreel::{Ahead, Error, InstanceId, MeshFrame, MeshView, Player};
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

/// What indices are used for.
const INDICES: wgpu::BufferUsages =
    wgpu::BufferUsages::INDEX.union(wgpu::BufferUsages::STORAGE).union(wgpu::BufferUsages::COPY_SRC);

/// What of a mesh all outputs share.
struct MeshBuffers {
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
    batches: Batches,
    /// Fixed words of each batch.
    fixed: Vec<wgpu::Buffer>,
    layout: VertexLayout,
    budget: Budget,
    frames: Ring,
    ring: wgpu::Buffer,
    /// Of a file that was opened without points.
    points: Option<PointRing>,
    meshes: Vec<MeshBuffers>,
    staging: Vec<u32>,
    room: Room,
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
        let moments = 1 + usize::from(budget.previous);
        let mut meshes: Vec<MeshBuffers> = Vec::with_capacity(plan.meshes.len());
        for (number, mesh) in plan.meshes.iter().enumerate() {
            let bytes = 4 * (moments * mesh.vertex_words(&layout)) as u64;
            let largest = bytes.max(4 * mesh.fixed.words.len() as u64).max(4 * mesh.scratch as u64);
            if largest > most {
                let what = format!("a binding for mesh {number}");
                return Err(Error::limit(Path::new(CARD), what, largest, most));
            }
            let passes = Pass::ALL.into_iter().filter(|pass| mesh.variant().has(*pass));
            let passes = passes.filter(|pass| *pass != Pass::Vertices || !layout.is_pulled());
            let pipelines: Vec<_> =
                passes.map(|pass| (pass, shaders.pipeline(device, pass, mesh, &layout))).collect();
            meshes.push(MeshBuffers::new(device, &frames.mesh(false, number), pipelines));
        }
        for (node, record) in view.reel().description().nodes.iter().enumerate() {
            if let Some(mesh) = record.mesh {
                meshes[mesh as usize].nodes.push(node);
            }
        }
        let batches = Batches::new(&plan, &layout, moments, most);
        let fixed_of = |batch| {
            let words = batches.fixed_words(&plan, batch);
            let (label, contents) = (Some("meshreel fixed"), bytemuck::cast_slice(&words));
            let usage = wgpu::BufferUsages::STORAGE;
            device.create_buffer_init(&BufferInitDescriptor { label, contents, usage })
        };
        let fixed: Vec<_> = (0..batches.all.len()).map(fixed_of).collect();
        let points = match point_slots {
            Some(slots) => {
                let fixed: Vec<_> = batches.places.iter().map(|place| fixed[place.batch].clone()).collect();
                let mesh = |mesh| frames.mesh(false, mesh);
                let units = shaders.make_units(device);
                Some(PointRing::new((device, queue), units, &plan, &fixed, mesh, (slots, most))?)
            }
            None => None,
        };
        let staging = vec![0; plan.slot_words];
        let frames = Ring::new(slots);
        Ok(GpuReel { plan, batches, fixed, layout, budget, frames, ring, points, meshes, staging, room })
    }

    /// Room for the vertices of a moment.
    pub fn output(&self, device: &wgpu::Device, shaders: &Shaders) -> Output {
        let params = self.plan.meshes.iter().map(|mesh| mesh.fixed.params).collect::<Vec<_>>();
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let bytes = (params.len().max(1) * SIZE) as u64;
        let params_buffer = buffer(device, "meshreel parameters", bytes, usage);
        // No moment has more work than all meshes with all that they may have.
        let mut list = WorkList::default();
        self.batches.list(&self.plan, &self.layout, shaders.group, |mesh| params.get(mesh), &mut list);
        let most = list.dispatches.iter().map(|dispatch| dispatch.groups[0] * dispatch.groups[1]).max();
        let seen = 8 * most.unwrap_or(1) as usize;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let work = buffer(device, "meshreel work", (8 * list.work.len() + seen) as u64, usage);
        let batch = |number| self.output_batch(device, shaders, number, &params_buffer, (&work, seen));
        let batches = (0..self.batches.all.len()).map(batch).collect();
        let mesh = |(number, (own, plan)): (usize, (&MeshBuffers, &MeshPlan))| {
            let usage = INDICES | wgpu::BufferUsages::COPY_DST;
            let most = 4 * u64::from(own.most_indices);
            let indices = own.indices.clone();
            let indices = indices.unwrap_or_else(|| buffer(device, "meshreel indices", most, usage));
            let place = self.batches.places[number];
            let start = 4 * place.vertices as u64;
            let vertices = start..start + 4 * plan.vertex_words(&self.layout) as u64;
            let index_count = own.levels.first().map_or(0, |level| level.end);
            OutputMesh::new(place.batch, vertices, indices, index_count)
        };
        let meshes = self.meshes.iter().zip(&self.plan.meshes).enumerate().map(mesh).collect();
        Output::new((params_buffer, params), (work, list), batches, meshes)
    }

    fn output_batch(
        &self,
        device: &wgpu::Device,
        shaders: &Shaders,
        number: usize,
        params: &wgpu::Buffer,
        (work, seen): (&wgpu::Buffer, usize),
    ) -> OutputBatch {
        let storage = wgpu::BufferUsages::STORAGE;
        let batch = &self.batches.all[number];
        let moments = 1 + usize::from(self.budget.previous);
        let bytes = 4 * (moments * batch.vertices) as u64;
        let usage = wgpu::BufferUsages::VERTEX
            | storage
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST;
        let vertices = buffer(device, "meshreel vertices", bytes, usage);
        let scratch = buffer(device, "meshreel scratch", 4 * batch.scratch as u64, storage);
        let decoded = self.points.as_ref().and_then(|points| points.decoded(batch.meshes[0]));
        // One that has none sees anything there.
        let decoded = decoded.unwrap_or(&self.ring);
        let [a, b, c, d] = [&self.ring, &self.fixed[number], &scratch, decoded].map(|buffer| (buffer, 0));
        let all = [(params, 0), a, b, c, d, (&vertices, 0), (work, seen)];
        let bindings = bind(device, &shaders.bindings, &all);
        let pulled = || bind(device, &shaders.pulled, &[(params, SIZE), a, b, c, d]);
        let pulled = self.layout.is_pulled().then(pulled);
        OutputBatch { vertices, bindings, pulled, moments, moment: bytes / moments as u64 }
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
        for (output, frames) in outputs.iter_mut() {
            let slots = self.upload(queue, *frames, &mut out)?;
            self.moment(output, (*frames, slots), queue, &mut out);
            output.write(queue, &mut out, |params, list| {
                self.batches.list(&self.plan, &self.layout, shaders.group, params, list);
            });
        }
        if let Some(points) = &mut self.points {
            points.submitted();
        }
        let dispatches = outputs.iter().map(|(output, _)| output.dispatches().len()).sum::<usize>();
        if dispatches == 0 {
            return Ok(out);
        }
        out.dispatches += dispatches as u32;
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("meshreel"),
            timestamp_writes: None,
        });
        for which in Pass::ALL {
            let mut last = None;
            for (output, _) in outputs.iter() {
                for dispatch in output.dispatches().iter().filter(|dispatch| dispatch.pass == which) {
                    let pipelines = &self.meshes[dispatch.mesh].pipelines;
                    let Some((_, pipeline)) = pipelines.iter().find(|(pass, _)| *pass == which) else {
                        continue;
                    };
                    if last != Some(pipeline) {
                        pass.set_pipeline(pipeline);
                        last = Some(pipeline);
                    }
                    pass.set_bind_group(0, output.bindings(dispatch), &[8 * dispatch.first as u32]);
                    pass.dispatch_workgroups(dispatch.groups[0], dispatch.groups[1], 1);
                }
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
            done += self.send(queue, at);
        }
        Ok(done)
    }

    /// Sends what was written last to a slot of the ring. Its bytes.
    fn send(&self, queue: &wgpu::Queue, slot: usize) -> u64 {
        for used in &self.room.used {
            let at = slot * self.plan.slot_words + used.start;
            queue.write_buffer(&self.ring, 4 * at as u64, bytemuck::cast_slice(&self.staging[used.clone()]));
        }
        4 * self.room.used.iter().map(|used| used.len() as u64).sum::<u64>()
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
                out.frames += 1;
                out.bytes += self.send(queue, at);
            }
        }
        Ok(slots)
    }

    /// Parameters of the meshes of an output that do not show their moment yet.
    fn moment(
        &self,
        output: &mut Output,
        (frames, slots): (&dyn Frames, [usize; 2]),
        queue: &wgpu::Queue,
        out: &mut Update,
    ) {
        let view = frames.view();
        let first_frame = view.pair().first;
        for number in 0..self.meshes.len() {
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
            if output.shows(number, moment) {
                out.unchanged += 1;
                continue;
            }
            let mut point_slots = [0; 2];
            if let Some(points) = self.points.as_ref().filter(|_| plan.fixed.coded.is_some()) {
                let [first, second] = mesh.frames().map(|frame| points.slot(frame));
                let Some((first, second)) = first.zip(second) else {
                    output.stays(number);
                    out.late += 1;
                    continue;
                };
                point_slots = [first, second];
            }
            let first_word = output.show(number, moment, mesh.vertex_count() as u32);
            if mesh.is_fluid() {
                out.bytes += output.write_indices(queue, number, mesh.indices());
            }
            let slot = |frame: u32| slots[usize::from(frame != first_frame)];
            let still = self.frames.slots() * self.plan.slot_words.max(1);
            let moment = Moment { point_slots, ..Moment::new(plan, &mesh, slot, still, first_word) };
            output.set(number, self.batches.params(&self.plan, number, &moment));
        }
    }
}

impl MeshBuffers {
    fn new(
        device: &wgpu::Device,
        mesh: &MeshView<'_>,
        pipelines: Vec<(Pass, wgpu::ComputePipeline)>,
    ) -> MeshBuffers {
        let most = mesh.record().indices.max(1);
        let mut out =
            MeshBuffers { indices: None, levels: Vec::new(), most_indices: most, pipelines, nodes: vec![] };
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
            let contents = bytemuck::cast_slice(&indices);
            let (label, usage) = (Some("meshreel indices"), INDICES);
            out.indices = Some(device.create_buffer_init(&BufferInitDescriptor { label, contents, usage }));
        }
        out
    }
}
