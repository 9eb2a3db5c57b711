//! A file on the card, and the creation of its outputs.

use crate::batches::Batches;
use crate::card::output::{CardOutput, Moved, OutputBatch, OutputMesh};
use crate::card::points::{self, PointRing};
use crate::card::{CARD, Compile, Frames, Layout, Make, Program, Record, Types, Update, Usage, Write};
use crate::layout::VertexLayout;
use crate::params::SIZE;
use crate::plan::{Moment, ReelPlan, Sizes};
use crate::ring::{Place, Ring};
use crate::shaders::{self, Pass};
use crate::slot::Room;
use crate::{MeshPlan, WorkList};
use meshreel::{Ahead, Error, InstanceId, MeshFrame, MeshView, Player};
use std::ops::Range;
use std::path::Path;

/// The card memory that a file may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of its ring: at least two frames for each output.
    pub ring: u64,
    /// Whether outputs keep the vertices of the moment before, for motion vectors.
    pub previous: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { ring: 64 << 20, previous: false }
    }
}

/// The buffers of a mesh that all outputs share.
struct MeshBuffers<T: Types> {
    /// The indices of all LOD levels, one after the other, for a mesh whose triangles do not change.
    indices: Option<T::Buffer>,
    levels: Vec<Range<u32>>,
    /// The most indices of a frame.
    most_indices: u32,
    pipelines: Vec<(Pass, T::Pipeline)>,
    /// The nodes that show it.
    nodes: Vec<usize>,
}

/// A file on the card: its static data, a ring of frames, and a ring of points that the card decodes.
pub struct CardReel<T: Types> {
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
    room: Room,
}

impl<T: Types> CardReel<T> {
    /// Creates the buffers that all outputs of a file share; `frames` may be any of it. A limit error if the
    /// ring is too small for two frames or a mesh too large for a binding of the device, a misuse error if
    /// the layout is not possible.
    pub fn make(
        card: &mut impl Compile<T>,
        frames: &dyn Frames,
        layout: VertexLayout,
        budget: Budget,
    ) -> Result<CardReel<T>, Error> {
        layout.check()?;
        let view = frames.view();
        let plan = ReelPlan::new(view.reel(), |mesh| frames.mesh(false, mesh))?;
        let (most, group) = (card.most(), card.group());
        let slot = (4 * plan.slot_words as u64).max(4);
        let still = 4 * plan.still_words as u64;
        let frame_count = view.reel().frame_count();
        let point_slots = || points::slots(&plan, (frame_count, slot), (budget.ring, most));
        let point_slots = plan.is_coded().then(point_slots).transpose()?;
        let ring_bytes = point_slots.map_or(budget.ring, |slots| slots as u64 * slot);
        let slots = (ring_bytes.min(most.saturating_sub(still)) / slot).min(256) as usize;
        if slots < 2 {
            let what = format!("two frames of {slot} bytes in the ring");
            return Err(Error::limit(Path::new(CARD), what, 2 * slot, budget.ring.min(most)));
        }
        let ring = card.buffer("meshreel ring", slots as u64 * slot + still, Usage::Storage);
        let mut room = Room::default();
        if plan.still_words > 0 {
            let mut words = vec![0; plan.still_words];
            plan.write_still(|mesh| frames.mesh(false, mesh), &mut room, &mut words)?;
            card.write(&ring, slots as u64 * slot, bytemuck::cast_slice(&words));
        }
        let moments = 1 + usize::from(budget.previous);
        let mut meshes: Vec<MeshBuffers<T>> = Vec::with_capacity(plan.meshes.len());
        for (number, mesh) in plan.meshes.iter().enumerate() {
            let bytes = 4 * (moments * mesh.vertex_words(&layout)) as u64;
            let largest = bytes.max(4 * mesh.fixed.words.len() as u64).max(4 * mesh.scratch as u64);
            if largest > most {
                let what = format!("a binding for mesh {number}");
                return Err(Error::limit(Path::new(CARD), what, largest, most));
            }
            let passes = Pass::ALL.into_iter().filter(|pass| mesh.variant().has(*pass));
            let passes = passes.filter(|pass| *pass != Pass::Vertices || !layout.is_pulled());
            let constants = shaders::constants(mesh.variant(), &layout, group);
            let mut made = |pass: Pass| card.pipeline(Program::Passes, pass.entry(), &constants);
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
            filled(card, "meshreel fixed", Usage::Storage, &words)
        };
        let fixed: Vec<_> = (0..batches.all.len()).map(fixed_of).collect();
        let points = match point_slots {
            Some(slots) => {
                let fixed: Vec<_> = batches.places.iter().map(|place| fixed[place.batch].clone()).collect();
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
    pub fn output_on(&self, card: &mut impl Make<T>) -> CardOutput<T> {
        let params = self.plan.meshes.iter().map(|mesh| mesh.fixed.params).collect::<Vec<_>>();
        let bytes = (params.len().max(1) * SIZE) as u64;
        let params_buffer = card.buffer("meshreel parameters", bytes, Usage::Params);
        // No moment has more work than all meshes at their largest.
        let mut list = WorkList::default();
        self.batches.list(&self.plan, &self.layout, self.group, |mesh| params.get(mesh), &mut list);
        let most = list.dispatches.iter().map(|dispatch| dispatch.groups[0] * dispatch.groups[1]).max();
        let seen = 8 * most.unwrap_or(1) as usize;
        let work = card.buffer("meshreel work", (8 * list.work.len() + seen) as u64, Usage::Storage);
        let mut batches = Vec::with_capacity(self.batches.all.len());
        for number in 0..self.batches.all.len() {
            batches.push(self.output_batch(card, number, &params_buffer, (&work, seen)));
        }
        let mesh = |(number, (own, plan)): (usize, (&MeshBuffers<T>, &MeshPlan))| {
            let most = 4 * u64::from(own.most_indices);
            let indices = own.indices.clone();
            let indices = indices.unwrap_or_else(|| card.buffer("meshreel indices", most, Usage::Indices));
            let place = self.batches.places[number];
            let start = 4 * place.vertices as u64;
            let vertices = start..start + 4 * plan.vertex_words(&self.layout) as u64;
            let index_count = own.levels.first().map_or(0, |level| level.end);
            OutputMesh::new(place.batch, vertices, indices, index_count)
        };
        let meshes = self.meshes.iter().zip(&self.plan.meshes).enumerate().map(mesh).collect();
        CardOutput::new((params_buffer, params), (work, list), batches, meshes)
    }

    fn output_batch(
        &self,
        card: &mut impl Make<T>,
        number: usize,
        params: &T::Buffer,
        (work, seen): (&T::Buffer, usize),
    ) -> OutputBatch<T> {
        let batch = &self.batches.all[number];
        let moments = 1 + usize::from(self.budget.previous);
        let bytes = 4 * (moments * batch.vertices) as u64;
        let vertices = card.buffer("meshreel vertices", bytes, Usage::Vertices);
        let scratch = card.buffer("meshreel scratch", 4 * batch.scratch as u64, Usage::Storage);
        let decoded = self.points.as_ref().and_then(|points| points.decoded(batch.meshes[0]));
        // A batch without decoded points is bound to any buffer.
        let decoded = decoded.unwrap_or(&self.ring);
        let [a, b, c, d] = [&self.ring, &self.fixed[number], &scratch, decoded].map(|buffer| (buffer, 0));
        let all = [(params, 0), a, b, c, d, (&vertices, 0), (work, seen)];
        let bindings = card.bind(Layout::Passes, &all);
        let pulled = self.layout.is_pulled();
        let pulled = pulled.then(|| card.bind(Layout::Pulled, &[(params, SIZE), a, b, c, d]));
        OutputBatch { vertices, bindings, pulled, moments, moment: bytes / moments as u64 }
    }

    /// Returns the card memory that the file uses with one output.
    pub fn sizes(&self) -> Sizes {
        self.plan.needs(&self.layout)
    }

    /// Returns the range of an LOD level in the index buffer of a mesh; of the last one if `level` is too
    /// large. Level 0 is in the order of [`MeshFrame::visible_ranges`]. `None` for a mesh whose triangles
    /// change.
    pub fn level(&self, mesh: usize, level: usize) -> Option<Range<u32>> {
        let levels = &self.meshes.get(mesh)?.levels;
        levels.get(level.min(levels.len().checked_sub(1)?)).cloned()
    }

    /// Decodes on the card the frames that an instance shows and then, within `most_bytes` of uploads, those
    /// that it will show next. Call it before [`CardReel::update_with`] for each instance of a file that was
    /// opened without points ([`meshreel::Limits::points`]). Does nothing for other files.
    pub fn decode_with(
        &mut self,
        card: &mut (impl Make<T> + Record<T>),
        (player, instance): (&Player, InstanceId),
        most_bytes: u64,
    ) -> Result<Update, Error> {
        let mut out = Update::default();
        let Some((points, shown)) = self.points.as_mut().zip(player.frame(instance)) else { return Ok(out) };
        let Some(units) = player.coded_units(shown.file()) else { return Ok(out) };
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
        points.record(card, &mut out);
        Ok(out)
    }

    /// Uploads new frames for the moments of all outputs that are shown now, and records the passes that
    /// compute their vertices. A limit error if the ring cannot hold all of their frames at once.
    pub fn update_with(
        &mut self,
        card: &mut impl Record<T>,
        outputs: &mut [(&mut CardOutput<T>, &dyn Frames)],
    ) -> Result<Update, Error> {
        let mut out = Update::default();
        self.frames.begin();
        for (output, frames) in outputs.iter_mut() {
            let slots = self.upload(card, *frames, &mut out)?;
            self.moment(output, (*frames, slots), card, &mut out);
            output.write(card, &mut out, |params, list| {
                self.batches.list(&self.plan, &self.layout, self.group, params, list);
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
            for which in Pass::ALL {
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
        card: &mut impl Write<T>,
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
            done += self.send(card, at);
        }
        Ok(done)
    }

    /// Uploads the words that were written last to a slot of the ring. Returns the bytes.
    fn send(&self, card: &mut impl Write<T>, slot: usize) -> u64 {
        for used in &self.room.used {
            let at = slot * self.plan.slot_words + used.start;
            card.write(&self.ring, 4 * at as u64, bytemuck::cast_slice(&self.staging[used.clone()]));
        }
        4 * self.room.used.iter().map(|used| used.len() as u64).sum::<u64>()
    }

    /// Returns the first words of both frames in the ring; new frames are uploaded.
    fn upload(
        &mut self,
        card: &mut impl Write<T>,
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
                out.bytes += self.send(card, at);
            }
        }
        Ok(slots)
    }

    /// Sets the parameters of those meshes of an output that do not show their moment yet.
    fn moment(
        &self,
        output: &mut CardOutput<T>,
        (frames, slots): (&dyn Frames, [usize; 2]),
        card: &mut impl Write<T>,
        out: &mut Update,
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
                out.bytes += output.write_indices(card, number, mesh.indices());
            }
            let slot = |frame: u32| slots[usize::from(frame != first_frame)];
            let still = self.frames.slots() * self.plan.slot_words.max(1);
            let moment = Moment { point_slots, ..Moment::new(plan, &mesh, slot, still, first_word) };
            output.set(number, self.batches.params(&self.plan, number, &moment));
        }
    }
}

/// Creates a buffer with these words.
fn filled<T: Types>(
    card: &mut (impl Make<T> + Write<T>),
    label: &'static str,
    usage: Usage,
    words: &[u32],
) -> T::Buffer {
    // A buffer is never empty.
    let buffer = card.buffer(label, (4 * words.len() as u64).max(4), usage);
    card.write(&buffer, 0, bytemuck::cast_slice(words));
    buffer
}

impl<T: Types> MeshBuffers<T> {
    fn new(
        card: &mut (impl Make<T> + Write<T>),
        mesh: &MeshView<'_>,
        pipelines: Vec<(Pass, T::Pipeline)>,
    ) -> MeshBuffers<T> {
        let most = mesh.record().indices.max(1);
        let mut out =
            MeshBuffers { indices: None, levels: Vec::new(), most_indices: most, pipelines, nodes: vec![] };
        if !mesh.record().method.changes() {
            let mut indices = mesh.indices_by_visibility().to_vec();
            out.levels.push(0..indices.len() as u32);
            for level in 1..mesh.lods() {
                let first = indices.len() as u32;
                indices.extend_from_slice(mesh.lod(level).indices);
                out.levels.push(first..indices.len() as u32);
            }
            out.indices = Some(filled(card, "meshreel indices", Usage::Indices, &indices));
        }
        out
    }
}
