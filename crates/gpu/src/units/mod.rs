//! Decodes units of the preset `fast` on the card: the static data of a mesh, the words that are uploaded for
//! a unit, parameters and dispatches. The bytes are those of the file; the CPU has checked them and computed
//! the start of every 32 blocks ([`meshreel::raw::CodedUnits`]).
//!
//! ```text
//! offsets   a workgroup for 32 blocks     where the fields of each block lie: three sums over those before
//! coarse    one workgroup                 the first levels, one after the other
//! fine      a thread a point and frame    one level: each dispatch needs the one before
//! frames    a thread a point              what is predicted from other frames, all frames of the unit in their order
//! ```

pub mod twin;

use crate::params::uniform;
use crate::words::{WordBuffer, pair};
use crate::workgroups::workgroups_for;
use meshreel::raw::{CodedPoints, CodedUnits};

/// The most points of the levels that one workgroup decodes together.
const MAX_COARSE_POINTS: usize = 2048;
/// The threads that process the blocks of a start, and the first levels.
const UNIT_WORKGROUP_SIZE: u32 = 256;
/// The words of a point in the fixed words: four neighbours, four weights.
const NEIGHBOUR_WORDS: usize = 6;
/// The words of a level in the fixed words: its first point, its points, its first block.
const LEVEL_WORDS: usize = 3;
/// The most frames of a unit.
const MAX_UNIT_FRAMES: usize = 8;
/// The words of a frame behind those of a unit: its slot, and those of its references.
const FRAME_SLOT_WORDS: usize = 5;

uniform! {
    /// The parameters of a unit of a mesh. Bits and words count from the start of the buffer of units; fixed
    /// words and scratch count from the start of their buffers.
    UnitParams {
        /// The number of frames, whether there are residuals, the blocks of a frame, the points.
        frames: u32,
        residuals: u32,
        blocks: u32,
        points: u32,
        /// Offsets in bits.
        flags: u32,
        codes: u32,
        masks: u32,
        fields: u32,
        /// Offsets in words of heads, and the words of each; of starts; of slots.
        heads: u32,
        head_words: u32,
        starts: u32,
        slots: u32,
        /// Fixed words: levels, the number of coarse ones, neighbours, points of blocks.
        hierarchy_levels: u32,
        coarse: u32,
        near: u32,
        counts: u32,
        /// Scratch between passes: the offsets of the fields of blocks, the innovations of each point in each
        /// frame.
        table: u32,
        innovations: u32,
        spare_0: u32,
        spare_1: u32,
    }
}

impl UnitParams {
    /// Returns the parameters of a unit whose words lie `words` words behind the start of the buffer.
    #[must_use]
    pub fn offset_by(mut self, words: u32) -> UnitParams {
        for bit in [&mut self.flags, &mut self.codes, &mut self.masks, &mut self.fields] {
            *bit += 32 * words;
        }
        for word in [&mut self.heads, &mut self.starts, &mut self.slots] {
            *word += words;
        }
        self
    }
}

/// The bytes from the parameters of one unit to those of the next.
pub const UNIT_STRIDE: usize = size_of::<UnitParams>().next_multiple_of(256);

/// An entry point of the shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnitPass {
    /// Computes the offsets of the fields of blocks.
    Offsets,
    /// Decodes the first levels.
    Coarse,
    /// Decodes one more level.
    Fine,
    /// Adds the predictions from other frames.
    Frames,
}

impl UnitPass {
    /// All entry points, in order.
    pub const ALL: &[UnitPass] = &[UnitPass::Offsets, UnitPass::Coarse, UnitPass::Fine, UnitPass::Frames];

    /// Returns the name of the entry point.
    #[must_use]
    pub fn entry(self) -> &'static str {
        match self {
            UnitPass::Offsets => "offsets",
            UnitPass::Coarse => "coarse",
            UnitPass::Fine => "fine",
            UnitPass::Frames => "frames",
        }
    }
}

/// A dispatch of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnitDispatch {
    /// The entry point.
    pub pass: UnitPass,
    /// The level, for [`UnitPass::Fine`].
    pub level: u32,
    /// The number of workgroups in x and y.
    pub groups: [u32; 2],
}

/// The data of a mesh that is the same for all units.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct UnitPlan {
    /// `true` if points have 32 bits.
    pub wide: bool,
    /// The number of points.
    pub points: usize,
    /// The number of points of each level.
    level_points: Vec<u32>,
    /// The parameters that are the same for all units.
    params: UnitParams,
}

impl UnitPlan {
    /// Creates the plan of a mesh, in a file that was opened without points; its fixed words are appended to
    /// `words`. Allocates.
    pub(crate) fn new(coded: &CodedPoints<'_>, wide: bool, words: &mut WordBuffer) -> UnitPlan {
        let ranges: Vec<_> = (0..coded.level_count()).map(|level| coded.level_points(level)).collect();
        let points = ranges.last().map_or(0, |range| range.end);
        let mut params = UnitParams { points: points as u32, ..UnitParams::default() };
        params.hierarchy_levels = words.next_offset();
        let mut counts = Vec::new();
        for range in &ranges {
            words.append([range.start as u32, range.len() as u32, counts.len() as u32]);
            counts.extend(
                range
                    .clone()
                    .step_by(CodedUnits::BLOCK_POINTS)
                    .map(|v| (range.end - v).min(CodedUnits::BLOCK_POINTS) as u8),
            );
            params.coarse += u32::from(range.end <= MAX_COARSE_POINTS);
        }
        params.blocks = counts.len() as u32;
        params.head_words = 3 + ranges.len().div_ceil(8) as u32;
        params.near = words.next_offset();
        words.0.reserve(NEIGHBOUR_WORDS * points);
        for v in 0..points {
            let (near, weights) = coded.neighbours(v);
            words.append(near);
            words.append([pair(weights[0], weights[1]), pair(weights[2], weights[3])]);
        }
        let four = |four: &[u8]| four.iter().rev().fold(0, |word, count| word << 8 | u32::from(*count));
        params.counts = words.append(counts.chunks(4).map(four));
        params.innovations = 2 * (MAX_UNIT_FRAMES * counts.len()) as u32;
        UnitPlan {
            wide,
            points,
            level_points: ranges.iter().map(|range| range.len() as u32).collect(),
            params,
        }
    }

    /// Returns the words of a point in the ring of points.
    #[must_use]
    pub fn point_words(&self) -> usize {
        if self.wide { 4 } else { 2 }
    }

    /// Returns the scratch words between the passes.
    #[must_use]
    pub fn scratch_words(&self) -> usize {
        self.params.innovations as usize + MAX_UNIT_FRAMES * self.points * if self.wide { 3 } else { 2 }
    }

    /// Appends the words of a unit to `out`, and returns its parameters. `slot` returns the first word of a
    /// frame in the ring of points. `None` for key frame 0, and if the unit, or a frame that it needs, is not
    /// available; `out` may hold a part then.
    pub fn write(
        &self,
        units: &CodedUnits<'_>,
        (unit, mesh): (usize, usize),
        slot: impl Fn(u32) -> Option<u32>,
        out: &mut Vec<u32>,
    ) -> Option<UnitParams> {
        let start = out.len() as u32;
        if !units.words_into(unit, mesh, out) {
            return None;
        }
        // Key frame 0 has no words: it is frame 0, which is in the ring from the start.
        let &[_, kind, flags, codes, masks, fields, ..] = &out[start as usize..] else { return None };
        let frames = units.frames(unit);
        let mut p = UnitParams { frames: frames.len() as u32, ..self.params };
        p.residuals = u32::from(kind & CodedUnits::HAS_RESIDUALS != 0);
        p.heads = start + CodedUnits::HEADER_WORDS as u32;
        p.starts = p.heads + p.frames * p.head_words;
        let bytes = p.starts + 3 * p.blocks.div_ceil(CodedUnits::BLOCKS_PER_START as u32);
        [p.flags, p.codes, p.masks, p.fields] = [flags, codes, masks, fields].map(|bit| 32 * bytes + bit);
        p.slots = out.len() as u32;
        for &frame in frames.iter() {
            out.push(slot(frame)?);
            for reference in units.references(frame)? {
                out.push(slot(reference)?);
            }
        }
        Some(p)
    }

    /// Returns the dispatches of a unit in their order, in workgroups of `group` threads.
    pub fn dispatches(&self, params: &UnitParams, group: u32) -> impl Iterator<Item = UnitDispatch> + '_ {
        let (frames, residuals, coarse) = (params.frames, params.residuals, params.coarse);
        let starts = params.blocks.div_ceil(CodedUnits::BLOCKS_PER_START as u32);
        let made = |pass, level, items, group| {
            Some(UnitDispatch { pass, level, groups: workgroups_for(items, group)? })
        };
        let offsets =
            made(UnitPass::Offsets, 0, residuals * starts * UNIT_WORKGROUP_SIZE, UNIT_WORKGROUP_SIZE);
        let first = made(UnitPass::Coarse, 0, coarse.min(1), 1);
        let fine = (coarse..self.level_points.len() as u32).filter_map(move |level| {
            made(UnitPass::Fine, level, self.level_points[level as usize] * frames, group)
        });
        let last = made(UnitPass::Frames, 0, params.points, group);
        offsets.into_iter().chain(first).chain(fine).chain(last)
    }
}

/// Returns the text of the shader.
///
/// | binding of group 0 | type | content |
/// |---|---|---|
/// | 0 | uniform, with an offset | [`UnitParams`] |
/// | 1 | storage, read | words of units |
/// | 2 | storage, read | fixed words of the mesh |
/// | 3 | storage | between the passes |
/// | 4 | storage | ring of points |
/// | 5 | uniform, with an offset | the level of [`UnitDispatch`], a word |
#[must_use]
pub fn wgsl() -> String {
    let bindings = [
        "var<uniform> p: UnitParams",
        "var<storage, read> unit: array<u32>",
        "var<storage, read> fixed: array<u32>",
        "var<storage, read_write> scratch: array<u32>",
        "var<storage, read_write> decoded: array<u32>",
        "var<uniform> which: Which",
    ];
    let line = |(at, what)| format!("@group(0) @binding({at}) {what};\n");
    let bindings: String = (0..).zip(bindings).map(line).collect();
    let level = "struct Which { level: u32 }\n";
    [UnitParams::WGSL, level, &bindings, include_str!("../shaders/units.wgsl")].concat()
}

/// Returns the override constants of the pipelines of a mesh.
#[must_use]
pub fn constants(wide: bool, group: u32) -> [(&'static str, f64); 2] {
    [("GROUP", f64::from(group)), ("WIDE", f64::from(u8::from(wide)))]
}
