//! A file on the card, and the creation of its outputs.

use crate::batches::Batches;
use crate::card::output::{CardOutput, OutputBatch, OutputMesh, ShownMoment};
use crate::card::points::{self, PointRing};
use crate::card::{
    BindingLayout, BufferUsage, CARD_NAME, CardTypes, CreatePipelines, CreateResources, FrameSource,
    RecordPasses, ShaderProgram, UpdateStatistics, WriteBuffers,
};
use crate::layout::VertexLayout;
use crate::params::PARAMS_BYTES;
use crate::plan::{CardMemory, MeshBlend, ReelPlan};
use crate::ring::{Ring, SlotRequest};
use crate::shaders::{self, Pass};
use crate::slot::SlotScratch;
use crate::{MeshPlan, WorkList};
use meshreel::{Error, InstanceId, MeshFrame, MeshView, Player, UpcomingFrame};
use std::ops::Range;
use std::path::Path;

/// The card memory that a file may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Budget {
    /// Bytes of its ring: at least two frames for each output. Default 64 MiB.
    pub ring: u64,
    /// Whether outputs keep the vertices of the moment before, for motion vectors. Default `false`.
    pub previous: bool,
}

impl Budget {
    /// Sets [`Budget::ring`].
    pub fn with_ring(self, ring: u64) -> Budget {
        Budget { ring, ..self }
    }

    /// Sets [`Budget::previous`].
    pub fn with_previous(self, previous: bool) -> Budget {
        Budget { previous, ..self }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget { ring: 64 << 20, previous: false }
    }
}

/// The buffers of a mesh that all outputs share.
struct MeshBuffers<T: CardTypes> {
    /// The indices of all LOD levels, one after the other, for a mesh whose triangles do not change.
    indices: Option<T::Buffer>,
    lods: Vec<Range<u32>>,
    /// The most indices of a frame.
    max_indices: u32,
    pipelines: Vec<(Pass, T::Pipeline)>,
    /// The nodes that show it.
    nodes: Vec<usize>,
}

/// A file on the card: its static data, a ring of frames, and a ring of points that the card decodes.
pub struct CardReel<T: CardTypes> {
    group: u32,
    plan: ReelPlan,
    batches: Batches,
    /// The fixed words of each batch.
    fixed: Vec<T::Buffer>,
    layout: VertexLayout,
    budget: Budget,
    frames: Ring,
    ring: T::Buffer,
    /// The ring of points, for a file that was opened without points.
    points: Option<PointRing<T>>,
    meshes: Vec<MeshBuffers<T>>,
    staging: Vec<u32>,
    room: SlotScratch,
}

impl<T: CardTypes> std::fmt::Debug for CardReel<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardReel")
            .field("meshes", &self.meshes.len())
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl<T: CardTypes> CardReel<T> {
    /// Creates the buffers that all outputs of a file share; `frames` may be any of it. A limit error if the
    /// ring is too small for two frames or a mesh too large for a binding of the device, a misuse error if
    /// the layout is not possible.
    pub fn create(
        card: &mut impl CreatePipelines<T>,
        frames: &dyn FrameSource,
        layout: VertexLayout,
        budget: Budget,
    ) -> Result<CardReel<T>, Error> {
        layout.check()?;
        let view = frames.view();
        let plan = ReelPlan::new(view.reel(), |mesh| frames.mesh(false, mesh))?;
        let (most, group) = (card.max_binding_bytes(), card.workgroup_size());
        let slot = (4 * plan.slot_words as u64).max(4);
        let still = 4 * plan.static_words as u64;
        let frame_count = view.reel().frame_count();
        let point_slots = || points::slot_count(&plan, (frame_count, slot), (budget.ring, most));
        let point_slots = plan.is_coded().then(point_slots).transpose()?;
        let ring_bytes = point_slots.map_or(budget.ring, |slots| slots as u64 * slot);
        let slots = (ring_bytes.min(most.saturating_sub(still)) / slot).min(256) as usize;
        if slots < 2 {
            let what = format!("two frames of {slot} bytes in the ring");
            return Err(Error::limit(Path::new(CARD_NAME), what, 2 * slot, budget.ring.min(most)));
        }
        let ring = card.buffer("meshreel ring", slots as u64 * slot + still, BufferUsage::Storage);
        let mut room = SlotScratch::default();
        if plan.static_words > 0 {
            let mut words = vec![0; plan.static_words];
            plan.write_static(|mesh| frames.mesh(false, mesh), &mut room, &mut words)?;
            card.write(&ring, slots as u64 * slot, bytemuck::cast_slice(&words));
        }
        let moments = 1 + usize::from(budget.previous);
        let mut meshes: Vec<MeshBuffers<T>> = Vec::with_capacity(plan.meshes.len());
        for (number, mesh) in plan.meshes.iter().enumerate() {
            let bytes = 4 * (moments * mesh.vertex_words(&layout)) as u64;
            let largest = bytes.max(4 * mesh.fixed.words.len() as u64).max(4 * mesh.scratch as u64);
            if largest > most {
                let what = format!("a binding for mesh {number}");
                return Err(Error::limit(Path::new(CARD_NAME), what, largest, most));
            }
            let passes = Pass::ALL.iter().copied().filter(|pass| mesh.variant().has(*pass));
            let passes = passes.filter(|pass| *pass != Pass::Vertices || !layout.is_pulled());
            let constants = shaders::constants(mesh.variant(), &layout, group);
            let mut made = |pass: Pass| card.pipeline(ShaderProgram::Passes, pass.entry(), &constants);
            let pipelines: Vec<_> = passes.map(|pass| (pass, made(pass))).collect();
            meshes.push(MeshBuffers::new(card, &frames.mesh(false, number), pipelines));
        }
        for (node, record) in view.reel().description().nodes.iter().enumerate() {
            if let Some(mesh) = record.mesh {
                meshes[mesh as usize].nodes.push(node);
            }
        }
        let batches = Batches::new(&plan, &layout, moments, most);
        let fixed_of = |batch| {
            let words = batches.fixed_words(&plan, batch);
            buffer_with(card, "meshreel fixed", BufferUsage::Storage, &words)
        };
        let fixed: Vec<_> = (0..batches.batches.len()).map(fixed_of).collect();
        let points = match point_slots {
            Some(slots) => {
                let fixed: Vec<_> = batches.placements.iter().map(|p| fixed[p.batch].clone()).collect();
                let mesh = |mesh| frames.mesh(false, mesh);
                Some(PointRing::new(card, &plan, &fixed, mesh, (slots, most))?)
            }
            None => None,
        };
        let staging = vec![0; plan.slot_words];
        let frames = Ring::new(slots);
        Ok(CardReel {
            group,
            plan,
            batches,
            fixed,
            layout,
            budget,
            frames,
            ring,
            points,
            meshes,
            staging,
            room,
        })
    }

    /// Creates the buffers for the vertices of a moment.
    pub fn output_on(&self, card: &mut impl CreateResources<T>) -> CardOutput<T> {
        let params = self.plan.meshes.iter().map(|mesh| mesh.fixed.params).collect::<Vec<_>>();
        let bytes = (params.len().max(1) * PARAMS_BYTES) as u64;
        let params_buffer = card.buffer("meshreel parameters", bytes, BufferUsage::Params);
        // No moment has more work than all meshes at their largest.
        let mut list = WorkList::default();
        self.batches.write_work_list(
            &self.plan,
            &self.layout,
            self.group,
            |mesh| params.get(mesh),
            &mut list,
        );
        let most = list.dispatches.iter().map(|dispatch| dispatch.groups[0] * dispatch.groups[1]).max();
        let seen = 8 * most.unwrap_or(1) as usize;
        let work = card.buffer("meshreel work", (8 * list.work.len() + seen) as u64, BufferUsage::Storage);
        let mut batches = Vec::with_capacity(self.batches.batches.len());
        for number in 0..self.batches.batches.len() {
            batches.push(self.output_batch(card, number, &params_buffer, (&work, seen)));
        }
        let mesh = |(number, (own, plan)): (usize, (&MeshBuffers<T>, &MeshPlan))| {
            let most = 4 * u64::from(own.max_indices);
            let indices = own.indices.clone();
            let indices =
                indices.unwrap_or_else(|| card.buffer("meshreel indices", most, BufferUsage::Indices));
            let place = self.batches.placements[number];
            let start = 4 * place.vertices as u64;
            let vertices = start..start + 4 * plan.vertex_words(&self.layout) as u64;
            let index_count = own.lods.first().map_or(0, |level| level.end);
            OutputMesh::new(place.batch, vertices, indices, index_count)
        };
        let meshes = self.meshes.iter().zip(&self.plan.meshes).enumerate().map(mesh).collect();
        CardOutput::new((params_buffer, params), (work, list), batches, meshes)
    }

    fn output_batch(
        &self,
        card: &mut impl CreateResources<T>,
        number: usize,
        params: &T::Buffer,
        (work, seen): (&T::Buffer, usize),
    ) -> OutputBatch<T> {
        let batch = &self.batches.batches[number];
        let moments = 1 + usize::from(self.budget.previous);
        let bytes = 4 * (moments * batch.vertices) as u64;
        let vertices = card.buffer("meshreel vertices", bytes, BufferUsage::Vertices);
        let scratch = card.buffer("meshreel scratch", 4 * batch.scratch as u64, BufferUsage::Storage);
        let decoded = self.points.as_ref().and_then(|points| points.decoded(batch.meshes[0]));
        // A batch without decoded points is bound to any buffer.
        let decoded = decoded.unwrap_or(&self.ring);
        let [a, b, c, d] = [&self.ring, &self.fixed[number], &scratch, decoded].map(|buffer| (buffer, 0));
        let all = [(params, 0), a, b, c, d, (&vertices, 0), (work, seen)];
        let bindings = card.bind(BindingLayout::Passes, &all);
        let pulled = self.layout.is_pulled();
        let pulled = pulled.then(|| card.bind(BindingLayout::Pulled, &[(params, PARAMS_BYTES), a, b, c, d]));
        OutputBatch {
            vertices,
            bindings,
            pulled,
            moment_count: moments,
            moment_bytes: bytes / moments as u64,
        }
    }

    /// Returns the card memory that the file uses with one output.
    pub fn sizes(&self) -> CardMemory {
        self.plan.card_memory(&self.layout)
    }

    /// Returns the range of an LOD level in the index buffer of a mesh; of the last one if `level` is too
    /// large. Level 0 is in the order of [`MeshFrame::visible_ranges`]. `None` for a mesh whose triangles
    /// change.
    pub fn lod_range(&self, mesh: usize, level: usize) -> Option<Range<u32>> {
        let levels = &self.meshes.get(mesh)?.lods;
        levels.get(level.min(levels.len().checked_sub(1)?)).cloned()
    }

    /// Decodes on the card the frames that an instance shows and then, within `most_bytes` of uploads, those
    /// that it will show next. Call it before [`CardReel::update_with`] for each instance of a file that was
    /// opened without points ([`meshreel::Limits::points`]). Does nothing for other files.
    pub fn decode_with(
        &mut self,
        card: &mut (impl CreateResources<T> + RecordPasses<T>),
        (player, instance): (&Player, InstanceId),
        most_bytes: u64,
    ) -> Result<UpdateStatistics, Error> {
        let mut out = UpdateStatistics::default();
        let Some((points, shown)) = self.points.as_mut().zip(player.frame(instance)) else { return Ok(out) };
        let Some(units) = player.coded_units(shown.file()) else { return Ok(out) };
        let pair = shown.pair();
        for frame in [pair.first, pair.second] {
            points.request(card, &self.plan, &units, (frame, true), &mut out);
        }
        for ahead in player.upcoming_frames(instance) {
            if out.bytes >= most_bytes
                || !points.request(card, &self.plan, &units, (ahead.number(), false), &mut out)
            {
                break;
            }
        }
        points.record(card, &mut out);
        Ok(out)
    }

    /// Uploads new frames for the moments of all outputs that are shown now, and records the passes that
    /// compute their vertices. A limit error if the ring cannot hold all of their frames at once.
    pub fn update_with(
        &mut self,
        card: &mut impl RecordPasses<T>,
        outputs: &mut [(&mut CardOutput<T>, &dyn FrameSource)],
    ) -> Result<UpdateStatistics, Error> {
        let mut out = UpdateStatistics::default();
        self.frames.begin();
        for (output, frames) in outputs.iter_mut() {
            let slots = self.upload(card, *frames, &mut out)?;
            self.update_params(output, (*frames, slots), card, &mut out);
            output.write(card, &mut out, |params, list| {
                self.batches.write_work_list(&self.plan, &self.layout, self.group, params, list);
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
        card.pass("meshreel", &mut |pass| {
            for &which in Pass::ALL {
                for (output, _) in outputs.iter() {
                    for dispatch in output.dispatches().iter().filter(|dispatch| dispatch.pass == which) {
                        let pipelines = &self.meshes[dispatch.mesh].pipelines;
                        let found = pipelines.iter().find(|(pass, _)| *pass == which);
                        let Some((_, pipeline)) = found else { continue };
                        let offsets = [8 * dispatch.first as u32];
                        pass.dispatch(pipeline, output.bindings(dispatch), &offsets, dispatch.groups);
                    }
                }
            }
        });
        Ok(out)
    }

    /// Uploads frames that will be shown, soonest first, while the card draws the current ones: at most
    /// `most_bytes`, and none that would replace a frame of the last [`CardReel::update_with`]. Returns the
    /// bytes.
    pub fn prepare_with(
        &mut self,
        card: &mut impl WriteBuffers<T>,
        frames: impl Iterator<Item = UpcomingFrame>,
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
            let SlotRequest::New(at) = self.frames.request(ahead.number() as usize) else { break };
            let frame = ahead.frame();
            self.plan.write_frame(|mesh| frame.mesh(mesh), &mut self.room, &mut self.staging)?;
            done += self.upload_slot(card, at);
        }
        Ok(done)
    }

    /// Uploads the words that were written last to a slot of the ring. Returns the bytes.
    fn upload_slot(&self, card: &mut impl WriteBuffers<T>, slot: usize) -> u64 {
        for used in &self.room.used {
            let at = slot * self.plan.slot_words + used.start;
            card.write(&self.ring, 4 * at as u64, bytemuck::cast_slice(&self.staging[used.clone()]));
        }
        4 * self.room.used.iter().map(|used| used.len() as u64).sum::<u64>()
    }

    /// Returns the first words of both frames in the ring; new frames are uploaded.
    fn upload(
        &mut self,
        card: &mut impl WriteBuffers<T>,
        frames: &dyn FrameSource,
        out: &mut UpdateStatistics,
    ) -> Result<[usize; 2], Error> {
        let pair = frames.view().pair();
        let mut slots = [0; 2];
        for (slot, second) in slots.iter_mut().zip([false, true]) {
            let frame = if second { pair.second } else { pair.first } as usize;
            let place = self.frames.request(frame);
            let (SlotRequest::Present(at) | SlotRequest::New(at)) = place else {
                let (bytes, has) = (self.plan.slot_words as u64 * 4, self.frames.slots() as u64);
                let what = "frames that are shown at once in the ring";
                return Err(Error::limit(Path::new(CARD_NAME), what, bytes * (has + 1), bytes * has));
            };
            *slot = at * self.plan.slot_words;
            if place == SlotRequest::New(at) {
                let mesh = |mesh| frames.mesh(second, mesh);
                self.plan.write_frame(mesh, &mut self.room, &mut self.staging)?;
                out.frames += 1;
                out.bytes += self.upload_slot(card, at);
            }
        }
        Ok(slots)
    }

    /// Sets the parameters of those meshes of an output that do not show their moment yet.
    fn update_params(
        &self,
        output: &mut CardOutput<T>,
        (frames, slots): (&dyn FrameSource, [usize; 2]),
        card: &mut impl WriteBuffers<T>,
        out: &mut UpdateStatistics,
    ) {
        let view = frames.view();
        let first_frame = view.pair().first;
        for number in 0..self.meshes.len() {
            // Nodes that are about to vanish do not blend; they follow other nodes that share the mesh.
            let visible = self.meshes[number].nodes.iter().filter(|node| view.visible(**node));
            let mut all = visible.filter_map(|node| view.mesh(*node));
            let Some(first) = all.next() else { continue };
            let mesh = if first.blends() { first } else { all.find(MeshFrame::blends).unwrap_or(first) };
            // A mesh that stays in one end state shows nothing new.
            let plan = &self.plan.meshes[number];
            let end =
                || Some((frames.mesh(false, number).end_state()?, frames.mesh(true, number).end_state()?));
            let moment = match end() {
                _ if plan.is_static => ShownMoment::Never,
                Some((first, second)) if first == second => ShownMoment::End(first),
                _ => ShownMoment::Between(mesh.frames(), mesh.blend().to_bits()),
            };
            if output.is_showing(number, moment) {
                out.unchanged += 1;
                continue;
            }
            let mut point_slots = [0; 2];
            if let Some(points) = self.points.as_ref().filter(|_| plan.fixed.coded.is_some()) {
                let [first, second] = mesh.frames().map(|frame| points.slot(frame));
                let Some((first, second)) = first.zip(second) else {
                    output.keep_moment(number);
                    out.late += 1;
                    continue;
                };
                point_slots = [first, second];
            }
            let first_word = output.begin_moment(number, moment, mesh.vertex_count() as u32);
            if mesh.is_fluid() {
                out.bytes += output.write_indices(card, number, mesh.indices());
            }
            let slot = |frame: u32| slots[usize::from(frame != first_frame)];
            let still = self.frames.slots() * self.plan.slot_words.max(1);
            let moment = MeshBlend { point_slots, ..MeshBlend::new(plan, &mesh, slot, still, first_word) };
            output.set_params(number, self.batches.params(&self.plan, number, &moment));
        }
    }
}

/// Creates a buffer with these words.
fn buffer_with<T: CardTypes>(
    card: &mut (impl CreateResources<T> + WriteBuffers<T>),
    label: &'static str,
    usage: BufferUsage,
    words: &[u32],
) -> T::Buffer {
    // A buffer is never empty.
    let buffer = card.buffer(label, (4 * words.len() as u64).max(4), usage);
    card.write(&buffer, 0, bytemuck::cast_slice(words));
    buffer
}

impl<T: CardTypes> MeshBuffers<T> {
    fn new(
        card: &mut (impl CreateResources<T> + WriteBuffers<T>),
        mesh: &MeshView<'_>,
        pipelines: Vec<(Pass, T::Pipeline)>,
    ) -> MeshBuffers<T> {
        let most = mesh.record().indices.max(1);
        let mut out =
            MeshBuffers { indices: None, lods: Vec::new(), max_indices: most, pipelines, nodes: vec![] };
        if !mesh.record().method.changes() {
            let mut indices = mesh.indices_by_visibility().to_vec();
            out.lods.push(0..indices.len() as u32);
            for level in 1..mesh.lod_count() {
                let first = indices.len() as u32;
                indices.extend_from_slice(mesh.lod(level).indices);
                out.lods.push(first..indices.len() as u32);
            }
            out.indices = Some(buffer_with(card, "meshreel indices", BufferUsage::Indices, &indices));
        }
        out
    }
}
