//! The ring of points: frames that the card decodes from the bytes of their units.

use crate::card::{
    BindingLayout, BufferUsage, CARD_NAME, CardTypes, CreatePipelines, CreateResources, RecordPasses,
    ShaderProgram, UpdateStatistics, WriteBuffers,
};
use crate::plan::ReelPlan;
use crate::ring::{Ring, SlotRequest};
use crate::units::{self, UNIT_STRIDE, UnitDispatch, UnitParams, UnitPass, UnitPlan};
use meshreel::raw::{CodedUnits, Points};
use meshreel::{Error, MeshView};
use std::path::Path;

/// The number of frames that must fit in the ring at once: a unit, its needs, and the shown frames.
const MIN_SLOTS: usize = 24;
/// The largest number of slots.
const MAX_SLOTS: usize = 256;
/// The largest number of hierarchy levels of a mesh, and the bytes from one level number to the next.
const MAX_LEVELS: usize = 128;
const LEVEL_STRIDE: usize = 256;
/// The number of units, and of words, that the staging buffers hold; they grow if that is not enough.
const STAGED_UNITS: usize = 64;
const STAGED_WORDS: usize = 64 << 10;
/// The most units that are decoded for one frame: all that it can wait for.
const MAX_UNITS_PER_FRAME: usize = 256;

/// The shader that decodes units.
struct UnitShaders<T: CardTypes> {
    /// Per pass the pipelines for points of 16 bits and of 32.
    pipelines: [[T::Pipeline; 2]; UnitPass::ALL.len()],
    level_numbers: T::Buffer,
    group: u32,
}

impl<T: CardTypes> UnitShaders<T> {
    fn new(card: &mut impl CreatePipelines<T>) -> UnitShaders<T> {
        let group = card.workgroup_size();
        let mut made = |pass: UnitPass, wide| {
            card.pipeline(ShaderProgram::Units, pass.entry(), &units::constants(wide, group))
        };
        let pipelines = std::array::from_fn(|at| [false, true].map(|wide| made(UnitPass::ALL[at], wide)));
        let mut words = vec![0u32; MAX_LEVELS * LEVEL_STRIDE / 4];
        (0..MAX_LEVELS).for_each(|level| words[level * LEVEL_STRIDE / 4] = level as u32);
        let levels = card.buffer("meshreel levels", (MAX_LEVELS * LEVEL_STRIDE) as u64, BufferUsage::Uniform);
        card.write(&levels, 0, bytemuck::cast_slice(&words));
        UnitShaders { pipelines, level_numbers: levels, group }
    }
}

/// The buffers of a mesh whose points the card decodes.
struct MeshPoints<T: CardTypes> {
    fixed: T::Buffer,
    decoded: T::Buffer,
    bindings: T::Bindings,
}

/// The buffers in which units are uploaded. Their content must stay until the passes that read it are
/// submitted.
struct Staging<T: CardTypes> {
    words: T::Buffer,
    params: T::Buffer,
    /// The numbers of words and units that they hold.
    word_count: usize,
    unit_count: usize,
    /// The words and units that are used since the last submission.
    words_used: usize,
    units_used: usize,
}

/// The decoded points of a file.
pub(super) struct PointRing<T: CardTypes> {
    shaders: UnitShaders<T>,
    /// Frame 0 is always in slot 0, others in those after it.
    frames: Ring,
    meshes: Vec<Option<MeshPoints<T>>>,
    scratch: T::Buffer,
    staging: Staging<T>,
    /// The frames that are shown.
    shown: Vec<u32>,
    room: Vec<u32>,
    waiting: Vec<u32>,
    steps: Vec<(usize, T::Bindings, u32, UnitDispatch)>,
}

/// Returns the number of slots of a file with `frames` frames in a ring of `ring` bytes; a slot takes `slot`
/// bytes besides the points. A limit error if these are too few, or if the points of a mesh exceed a binding
/// of `most` bytes.
pub(super) fn slot_count(
    plan: &ReelPlan,
    (frames, slot): (usize, u64),
    (ring, most): (u64, u64),
) -> Result<usize, Error> {
    let least = MIN_SLOTS.min(frames + 1) as u64;
    let refuse = |what: String, bytes: u64, has: u64| {
        Err(Error::limit(Path::new(CARD_NAME), what, least * bytes, has))
    };
    let points = || plan.meshes.iter().filter_map(|mesh| mesh.fixed.coded.as_ref()).map(point_bytes);
    let (all, largest) = (slot + points().sum::<u64>(), points().max().unwrap_or(0));
    if ring / all.max(1) < least {
        let what = format!(
            "{least} frames of {all} bytes in the ring, of units that the card decodes (Budget::ring)"
        );
        return refuse(what, all, ring);
    }
    if most / largest.max(1) < least {
        let what = format!(
            "a binding for {least} frames of the points of a mesh (open the file with Limits::points)"
        );
        return refuse(what, largest, most);
    }
    let most = (ring / all.max(1)).min(most / largest.max(1)).min(MAX_SLOTS.min(frames + 1) as u64);
    Ok(most as usize)
}

/// Returns the bytes of a mesh's points in a frame.
fn point_bytes(units: &UnitPlan) -> u64 {
    4 * (units.points * units.point_words()) as u64
}

/// Returns the slot of a frame that is in the ring; frame 0 always is.
fn slot_of(frames: &Ring, frame: u32) -> Option<usize> {
    if frame == 0 { Some(0) } else { Some(1 + frames.find(frame as usize)?) }
}

impl<T: CardTypes> PointRing<T> {
    /// Creates the ring of a file; `mesh` returns its meshes in any frame. A limit error if a mesh is too
    /// large for a binding of `most` bytes.
    pub fn new<'a>(
        card: &mut impl CreatePipelines<T>,
        plan: &ReelPlan,
        fixed: &[T::Buffer],
        mesh: impl Fn(usize) -> MeshView<'a>,
        (slots, most): (usize, u64),
    ) -> Result<PointRing<T>, Error> {
        let coded = || plan.meshes.iter().filter_map(|mesh| mesh.fixed.coded.as_ref());
        let scratch = 4 * coded().map(|units| units.scratch_words()).max().unwrap_or(0).max(1) as u64;
        if scratch > most {
            let what = "a binding for the units of a mesh (open the file with Limits::points)";
            return Err(Error::limit(Path::new(CARD_NAME), what, scratch, most));
        }
        let shaders = UnitShaders::new(card);
        let scratch = card.buffer("meshreel units", scratch, BufferUsage::Storage);
        let staging = Staging::new(card, STAGED_WORDS, STAGED_UNITS);
        let mut meshes = Vec::with_capacity(plan.meshes.len());
        for (number, own) in plan.meshes.iter().enumerate() {
            let Some(units) = &own.fixed.coded else {
                meshes.push(None);
                continue;
            };
            let bytes = point_bytes(units);
            let decoded = card.buffer("meshreel points", (slots as u64 * bytes).max(4), BufferUsage::Storage);
            let positions = mesh(number).fixed_point_positions();
            match positions.and_then(|positions| positions.coded).map(|coded| coded.first_frame()) {
                Some(Points::Narrow(first)) => card.write(&decoded, 0, bytemuck::cast_slice(first)),
                Some(Points::Wide(first)) => card.write(&decoded, 0, bytemuck::cast_slice(first)),
                None => {}
            }
            let fixed = fixed[number].clone();
            let bindings = staging.bind(card, &shaders, [&fixed, &scratch, &decoded]);
            meshes.push(Some(MeshPoints { fixed, decoded, bindings }));
        }
        Ok(PointRing {
            shaders,
            frames: Ring::new(slots - 1),
            meshes,
            scratch,
            staging,
            shown: Vec::new(),
            room: Vec::new(),
            waiting: Vec::new(),
            steps: Vec::new(),
        })
    }

    /// Returns the points of a mesh, if the card decodes them.
    pub fn decoded(&self, mesh: usize) -> Option<&T::Buffer> {
        Some(&self.meshes[mesh].as_ref()?.decoded)
    }

    /// Returns the slot of a frame that is in the ring.
    pub fn slot(&self, frame: u32) -> Option<usize> {
        slot_of(&self.frames, frame)
    }

    /// Notes that everything recorded is submitted before anything else is written; other frames may be shown
    /// then.
    pub fn submitted(&mut self) {
        self.staging.words_used = 0;
        self.staging.units_used = 0;
        self.shown.clear();
    }

    /// Decodes a frame that is or will be `shown`, with all frames that it needs. Returns whether it is in
    /// the ring: it is not if bytes of it are not in memory, or if the ring is full of shown frames.
    pub fn request(
        &mut self,
        card: &mut (impl CreateResources<T> + WriteBuffers<T>),
        plan: &ReelPlan,
        units: &CodedUnits<'_>,
        (frame, shown): (u32, bool),
        out: &mut UpdateStatistics,
    ) -> bool {
        if shown {
            self.shown.push(frame);
        }
        self.waiting.clear();
        self.waiting.push(frame);
        for _ in 0..MAX_UNITS_PER_FRAME {
            let Some(&frame) = self.waiting.last() else { return true };
            if self.slot(frame).is_some() {
                self.waiting.pop();
                continue;
            }
            let unit = units.unit_of(frame);
            let needs = units.dependencies(unit);
            let before = self.waiting.len();
            self.waiting.extend(needs.iter().filter(|need| slot_of(&self.frames, **need).is_none()));
            if self.waiting.len() > before {
                continue;
            }
            // Frames that are shown or that the unit needs keep their slots.
            self.frames.begin();
            for frame in self.shown.iter().chain(needs.iter()).filter(|frame| **frame > 0) {
                self.frames.keep(*frame as usize);
            }
            let own = units.frames(unit);
            let there = own.iter().all(|frame| self.frames.request(*frame as usize) != SlotRequest::Full);
            if !there || !self.decode(card, plan, units, unit, out) {
                own.iter().for_each(|frame| self.frames.remove(*frame as usize));
                return false;
            }
        }
        false
    }

    /// Records the passes of a unit; `false` if it is not in memory.
    fn decode(
        &mut self,
        card: &mut (impl CreateResources<T> + WriteBuffers<T>),
        plan: &ReelPlan,
        units: &CodedUnits<'_>,
        unit: usize,
        out: &mut UpdateStatistics,
    ) -> bool {
        let recorded = self.steps.len();
        for (number, own) in plan.meshes.iter().enumerate() {
            let Some(coded) = &own.fixed.coded else { continue };
            self.room.clear();
            let each = (coded.points * coded.point_words()) as u32;
            let slot = |frame| Some(slot_of(&self.frames, frame)? as u32 * each);
            let Some(params) = coded.write(units, (unit, number), slot, &mut self.room) else {
                self.steps.truncate(recorded);
                return false;
            };
            self.make_room(card, self.room.len());
            let params = params.offset_by(self.staging.words_used as u32);
            card.write(
                &self.staging.words,
                4 * self.staging.words_used as u64,
                bytemuck::cast_slice(&self.room),
            );
            let at = self.staging.units_used * UNIT_STRIDE;
            card.write(&self.staging.params, at as u64, bytemuck::bytes_of(&params));
            self.staging.words_used += self.room.len();
            self.staging.units_used += 1;
            out.bytes += (4 * self.room.len() + size_of::<UnitParams>()) as u64;
            let Some(mesh) = &self.meshes[number] else { continue };
            let dispatches = coded.dispatches(&params, self.shaders.group);
            let wide = usize::from(coded.wide);
            self.steps.extend(dispatches.map(|d| (wide, mesh.bindings.clone(), at as u32, d)));
        }
        out.frames += units.frames(unit).len() as u32;
        true
    }

    /// Replaces the buffers by larger ones if `words` more words do not fit. Recorded passes keep the old
    /// ones.
    fn make_room(&mut self, card: &mut impl CreateResources<T>, words: usize) {
        let (has, units) = (self.staging.word_count, self.staging.unit_count);
        if self.staging.words_used + words <= has && self.staging.units_used < units {
            return;
        }
        self.staging = Staging::new(card, (2 * has).max(words), 2 * units);
        for mesh in self.meshes.iter_mut().flatten() {
            let buffers = [&mesh.fixed, &self.scratch, &mesh.decoded];
            mesh.bindings = self.staging.bind(card, &self.shaders, buffers);
        }
    }

    /// Records the passes of the frames that were wanted.
    pub fn record(&mut self, card: &mut impl RecordPasses<T>, out: &mut UpdateStatistics) {
        if self.steps.is_empty() {
            return;
        }
        out.dispatches += self.steps.len() as u32;
        let (steps, pipelines) = (&mut self.steps, &self.shaders.pipelines);
        card.pass("meshreel units", &mut |pass| {
            for (wide, bindings, params, dispatch) in steps.drain(..) {
                let pipeline = &pipelines[dispatch.pass as usize][wide];
                let offsets = [params, dispatch.level * LEVEL_STRIDE as u32];
                pass.dispatch(pipeline, &bindings, &offsets, dispatch.groups);
            }
        });
    }
}

impl<T: CardTypes> Staging<T> {
    fn new(card: &mut impl CreateResources<T>, words: usize, units: usize) -> Staging<T> {
        Staging {
            words: card.buffer("meshreel unit words", 4 * words as u64, BufferUsage::Storage),
            params: card.buffer(
                "meshreel unit parameters",
                (units * UNIT_STRIDE) as u64,
                BufferUsage::Uniform,
            ),
            word_count: words,
            unit_count: units,
            words_used: 0,
            units_used: 0,
        }
    }

    fn bind(
        &self,
        card: &mut impl CreateResources<T>,
        shaders: &UnitShaders<T>,
        [fixed, scratch, decoded]: [&T::Buffer; 3],
    ) -> T::Bindings {
        let params = (&self.params, size_of::<UnitParams>());
        let level = (&shaders.level_numbers, 4);
        let whole = [&self.words, fixed, scratch, decoded].map(|buffer| (buffer, 0));
        let [words, fixed, scratch, decoded] = whole;
        card.bind(BindingLayout::Units, &[params, words, fixed, scratch, decoded, level])
    }
}
