//! The plan of a file on the card: its fixed words, the words of a frame, and per moment parameters.

use crate::fixed::FixedMeshData;
use crate::layout::VertexLayout;
use crate::params::Params;
use crate::shaders::{Pass, ShaderVariant};
use crate::slot::SlotScratch;
use meshreel::{Error, MeshFrame, MeshView, Reel, VertexChannel};

/// The vertices of a mesh begin at a multiple of this many words: WebGPU's alignment of a binding, so that
/// they can be one.
const VERTEX_ALIGNMENT: usize = 64;

/// The plan of a mesh.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MeshPlan {
    /// The static data.
    pub fixed: FixedMeshData,
    /// The offset of its part of a slot and its number of words; for a static mesh in the words of static
    /// meshes.
    pub slot: (usize, usize),
    /// `true` if nothing of it is animated, so that it has no part in slots.
    pub is_static: bool,
    /// The number of scratch words between the passes.
    pub scratch: usize,
}

/// The plan of a file: one slot of the ring holds a frame of all its meshes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReelPlan {
    /// The meshes by number.
    pub meshes: Vec<MeshPlan>,
    /// The words of a slot.
    pub slot_words: usize,
    /// The words of meshes without animation, which lie behind all slots.
    pub static_words: usize,
}

/// Bytes on the card.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CardMemory {
    /// Once per file: fixed words and scratch between passes.
    pub fixed: u64,
    /// A frame of all meshes, uploaded when it is new.
    pub slot: u64,
    /// The points of a frame that the card decodes, which are in a ring of their own and never uploaded.
    pub points: u64,
    /// The vertices of all meshes.
    pub vertices: u64,
}

/// The two decoded frames that a mesh is blended from, the blend weight, and the change per second.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MeshBlend {
    /// The first word of the slot of each frame in the ring.
    pub slots: [usize; 2],
    /// The slot of each frame in the ring of points, for a mesh whose units the card decodes.
    pub point_slots: [usize; 2],
    /// The blend weight, 0 … 1.
    pub blend: f32,
    /// The factor from the difference of the frames to the change per second.
    pub per_second: f32,
    /// The number of vertices of the frame, for a mesh that brings its own topology.
    pub vertices: Option<usize>,
    /// The first word of its vertices in the output.
    pub out: usize,
}

impl MeshBlend {
    /// Returns the moment of a mesh as a view shows it; `slot` returns the first word of a frame in the ring,
    /// `static_start` is that of the words behind all slots.
    pub fn new(
        plan: &MeshPlan,
        mesh: &MeshFrame<'_>,
        slot: impl Fn(u32) -> usize,
        static_start: usize,
        out: usize,
    ) -> MeshBlend {
        if plan.is_static {
            return MeshBlend {
                slots: [static_start; 2],
                point_slots: [0; 2],
                blend: 0.0,
                per_second: 0.0,
                vertices: None,
                out,
            };
        }
        let [first, second] = mesh.frames();
        MeshBlend {
            slots: [slot(first), slot(second)],
            point_slots: [0; 2],
            blend: mesh.blend(),
            per_second: mesh.per_second(),
            vertices: mesh.is_fluid().then(|| mesh.vertex_count()),
            out,
        }
    }
}

impl ReelPlan {
    /// Creates the plan of a file; `mesh` returns its meshes in any frame. A misuse error for meshes without
    /// positions. Allocates.
    pub fn new<'a>(reel: &Reel, mesh: impl Fn(usize) -> MeshView<'a>) -> Result<ReelPlan, Error> {
        let mut out = ReelPlan { meshes: Vec::new(), slot_words: 0, static_words: 0 };
        for number in 0..reel.description().meshes.len() {
            let mut fixed = FixedMeshData::new(&mesh(number))?;
            let words = fixed.layout_slot();
            let p = &mut fixed.params;
            p.scratch_tangents = 3 * p.groups;
            p.scratch_points = 3 * (p.groups + p.classes);
            let points = if fixed.variant.has(Pass::Points) { 6 * fixed.points } else { 0 };
            let scratch = (p.scratch_points as usize + points).max(1);
            let record = &reel.description().meshes[number];
            let still = !record.method.changes() && !record.streams.iter().any(|s| s.animated);
            let all = if still { &mut out.static_words } else { &mut out.slot_words };
            out.meshes.push(MeshPlan { fixed, slot: (*all, words), is_static: still, scratch });
            *all += words;
        }
        if out.is_coded() {
            // Slots without content must still differ.
            out.slot_words = out.slot_words.max(1);
        }
        Ok(out)
    }

    /// `true` if the card decodes units of the file.
    #[must_use]
    pub fn is_coded(&self) -> bool {
        self.meshes.iter().any(|mesh| mesh.fixed.coded.is_some())
    }

    /// Returns the card memory that it needs.
    #[must_use]
    pub fn card_memory(&self, layout: &VertexLayout) -> CardMemory {
        let words = |of: &dyn Fn(&MeshPlan) -> usize| 4 * self.meshes.iter().map(of).sum::<usize>() as u64;
        let coded = || self.meshes.iter().filter_map(|mesh| mesh.fixed.coded.as_ref());
        let scratch = coded().map(|units| 4 * units.scratch_words() as u64).max().unwrap_or(0);
        let fixed = words(&|mesh| mesh.fixed.words.len() + mesh.scratch);
        CardMemory {
            fixed: fixed + 4 * self.static_words as u64 + scratch,
            points: coded().map(|units| 4 * (units.points * units.point_words()) as u64).sum(),
            slot: 4 * self.slot_words as u64,
            vertices: words(&|mesh| mesh.vertex_words(layout)),
        }
    }

    /// Writes the words of a frame, [`ReelPlan::slot_words`] of them, for a slot of the ring. Only those in
    /// [`SlotScratch::used`] have content and must be uploaded.
    pub fn write_frame<'a>(
        &self,
        mesh: impl Fn(usize) -> MeshView<'a>,
        room: &mut SlotScratch,
        words: &mut [u32],
    ) -> Result<(), Error> {
        if words.len() != self.slot_words {
            return Err(Error::misuse(format!("a slot has {} words, not {}", self.slot_words, words.len())));
        }
        self.write(mesh, false, room, words)
    }

    /// Writes the words of meshes without animation, [`ReelPlan::static_words`] of them, once per file.
    pub fn write_static<'a>(
        &self,
        mesh: impl Fn(usize) -> MeshView<'a>,
        room: &mut SlotScratch,
        words: &mut [u32],
    ) -> Result<(), Error> {
        if words.len() != self.static_words {
            return Err(Error::misuse(format!("{} words are still, not {}", self.static_words, words.len())));
        }
        self.write(mesh, true, room, words)
    }

    fn write<'a>(
        &self,
        mesh: impl Fn(usize) -> MeshView<'a>,
        is_static: bool,
        room: &mut SlotScratch,
        words: &mut [u32],
    ) -> Result<(), Error> {
        room.used.clear();
        for (number, plan) in self.meshes.iter().enumerate().filter(|(_, plan)| plan.is_static == is_static) {
            let (at, len) = plan.slot;
            let used = plan.fixed.write_slot(&mesh(number), room, &mut words[at..at + len])?;
            room.mark_used(at..at + used);
        }
        Ok(())
    }
}

impl MeshPlan {
    /// Returns the variant of its shaders.
    #[must_use]
    pub fn variant(&self) -> &ShaderVariant {
        &self.fixed.variant
    }

    /// Returns the parameters of a moment.
    #[must_use]
    pub fn params(&self, moment: &MeshBlend) -> Params {
        let [first, second] = moment.slots.map(|slot| (slot + self.slot.0) as u32);
        let words = self.fixed.coded.as_ref().map_or(0, |units| units.points * units.point_words());
        let [first_points, second_points] = moment.point_slots.map(|slot| (slot * words) as u32);
        Params {
            vertices: moment.vertices.map_or(self.fixed.params.vertices, |count| count as u32),
            first,
            second,
            first_points,
            second_points,
            blend: moment.blend,
            per_second: moment.per_second,
            out: moment.out as u32,
            ..self.fixed.params
        }
    }

    /// Returns the words of its vertices.
    pub(crate) fn vertex_words(&self, layout: &VertexLayout) -> usize {
        (self.fixed.vertices * layout.words()).max(1).next_multiple_of(VERTEX_ALIGNMENT)
    }

    /// Returns the items of a pass, one thread each: 0 for a pass that it does not need, or whose results are
    /// not read.
    #[must_use]
    pub fn items(&self, pass: Pass, params: &Params, layout: &VertexLayout) -> u32 {
        let asked = |what| layout.offset_and_format(what).is_some();
        let tangents = asked(VertexChannel::Tangent);
        let (wanted, items) = match pass {
            Pass::Points => (true, params.points),
            Pass::Normals => (tangents || asked(VertexChannel::Normal), params.groups),
            Pass::Tangents => (tangents, params.classes),
            Pass::Vertices => (!layout.is_pulled(), params.vertices),
        };
        if wanted && self.variant().has(pass) { items } else { 0 }
    }
}
