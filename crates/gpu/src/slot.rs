//! The words of one frame of a mesh in a slot of the ring: decoded values, nothing computed.
//!
//! | section | words |
//! |---|---|
//! | ids | for particles with ids: their number, and two words each, low and high, ascending |
//! | positions of 16 bits | 2 words per point, x y z and one without meaning |
//! | positions of 32 bits | 4 words per point |
//! | positions as codes | 3 planes, one word per vertex |
//! | positions by bones | residuals, as points; none for points that the card decodes |
//! | heights | 16 bits: two points per word |
//! | matrices | 12 floats per bone, four columns, in units of positions |
//! | packed transforms | instead of matrices: 7 words, and 3 per part that moves, as in the file |
//! | normal codes | components × vertices, two in a word, planes |
//! | states, sparse | one word per group, x low, y high |
//! | turns, sparse | two vertices per word |
//! | rotations | 4 floats per bone, x y z w; none for packed transforms |
//! | uvs | 2 floats per vertex |
//! | colours | one word per vertex, 8 bits per component |
//! | values | the nonzero words of the sparse sections; only that many words have content |
//!
//! Most states are zero, so a sparse section has two words for every 32 of its words: a mask of the nonzero
//! ones, and the index of the first of these among the values, from the start of the mesh's part of the slot.

use crate::fixed::{FixedMeshData, colours};
use crate::shaders::{NormalSource, PositionSource};
use crate::words::pair;
use meshreel::raw::record::Semantic;
use meshreel::raw::{Matrix, PointBones, Points};
use meshreel::{Error, MeshView};
use std::ops::Range;

/// The words before the packed transforms of a frame.
const PACKED_HEADER_WORDS: usize = 7;

/// The number of words of a sparse section per mask.
const SPARSE_BLOCK_WORDS: usize = 32;

/// Writes a sparse section of words of two values each, and its nonzero words, which lie behind it; returns
/// where these end.
fn write_sparse(out: &mut [u32], heads: u32, numbers: &[i16], next: usize) -> usize {
    let (before, values) = out.split_at_mut(next);
    let (heads, _) = before[heads as usize..].as_chunks_mut::<2>();
    let (blocks, rest) = numbers.as_chunks::<{ 2 * SPARSE_BLOCK_WORDS }>();
    let mut last = [0; 2 * SPARSE_BLOCK_WORDS];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then_some(&last);
    let mut count = 0;
    for (head, block) in heads.iter_mut().zip(blocks.iter().chain(last)) {
        let first = (next + count) as u32;
        // Most blocks are zero: a whole block is checked without a branch.
        let mask = match block.iter().fold(0, |all, v| all | v) {
            0 => 0,
            _ => write_values(block, values, &mut count),
        };
        *head = [mask, first];
    }
    next + count
}

/// Writes the nonzero words of a block behind the first `count` values; returns their mask.
fn write_values(block: &[i16; 2 * SPARSE_BLOCK_WORDS], values: &mut [u32], count: &mut usize) -> u32 {
    let mut mask = 0;
    let words = block.as_chunks::<2>().0.iter().map(|[low, high]| pair(*low, *high));
    for (i, word) in words.enumerate().filter(|(_, word)| *word != 0) {
        mask |= 1 << i;
        values[*count] = word;
        *count += 1;
    }
    mask
}

/// Memory for writing frames, kept from one frame to the next.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SlotScratch {
    matrices: Vec<Matrix>,
    floats: Vec<f32>,
    /// The ranges of the slot written last that have content, in order.
    pub used: Vec<Range<usize>>,
}

/// Gaps of up to this many unused words are uploaded, to avoid another range.
const MAX_GAP_WORDS: usize = 256;

impl SlotScratch {
    pub(crate) fn mark_used(&mut self, words: Range<usize>) {
        match self.used.last_mut().filter(|last| words.start <= last.end + MAX_GAP_WORDS) {
            Some(last) => last.end = words.end,
            None => self.used.push(words),
        }
    }
}

impl FixedMeshData {
    /// Lays out the sections of a slot: sets the offsets in the parameters, and returns the words of a slot.
    pub(crate) fn layout_slot(&mut self) -> usize {
        let (mut next, mut sparse) = (0, 0);
        let mut take = |words: usize| {
            let at = next;
            next += words as u32;
            at
        };
        let (vertices, groups) = (self.vertices, self.params.groups as usize);
        let variant = &self.variant;
        let p = &mut self.params;
        take(if variant.ids { 1 + 2 * vertices } else { 0 });
        p.positions = take(match variant.positions {
            _ if variant.coded => 0,
            PositionSource::Narrow => 2 * self.points,
            PositionSource::Wide => 4 * self.points,
            PositionSource::Codes => 3 * vertices,
            PositionSource::Heights(_) => self.points.div_ceil(2),
            PositionSource::Bones(bones) if bones.wide => 4 * self.residuals,
            PositionSource::Bones(_) => 2 * self.residuals,
        });
        let packed = matches!(variant.positions, PositionSource::Bones(bones) if bones.packed);
        p.matrices =
            take(if packed { PACKED_HEADER_WORDS + 3 * p.packed_parts as usize } else { 12 * self.matrices });
        match variant.normals {
            NormalSource::None => {}
            NormalSource::Octahedral => p.normal_codes = take(vertices),
            NormalSource::Frames => p.normal_codes = take(2 * vertices),
            NormalSource::Summed(_) | NormalSource::Turned => {
                let turns = if p.classes > 0 { vertices.div_ceil(2) } else { 0 };
                sparse = groups + turns;
                p.states = take(2 * groups.div_ceil(SPARSE_BLOCK_WORDS));
                p.turns = take(2 * turns.div_ceil(SPARSE_BLOCK_WORDS));
                p.rotations = take(if packed { 0 } else { 4 * self.bones });
            }
        }
        p.slot_uvs = take(if variant.moving_uvs { 2 * vertices } else { 0 });
        p.slot_colours = take(if variant.moving_colours { vertices } else { 0 });
        self.values = take(sparse) as usize;
        next as usize
    }

    /// Writes transforms of bones, packed or as matrices.
    fn write_bones(&self, bones: &PointBones<'_>, room: &mut SlotScratch, out: &mut [u32]) {
        let packed = match self.variant.positions {
            PositionSource::Bones(own) if own.packed => bones.packed(),
            _ => None,
        };
        if let Some(packed) = packed {
            // The words behind the part at the right edge have no meaning.
            let live = packed.words.first().map_or(0, |edges| (edges >> 16).saturating_sub(edges & 0xFFFF));
            let used = (PACKED_HEADER_WORDS + 3 * live as usize).min(packed.words.len());
            let words = &mut out[..PACKED_HEADER_WORDS + 3 * self.params.packed_parts as usize];
            words[0] = 0;
            words[..used].copy_from_slice(&packed.words[..used]);
            return;
        }
        room.matrices.resize(self.matrices, Matrix::default());
        bones.matrices_into(&mut room.matrices);
        let columns = room.matrices.iter().flatten().flat_map(|column| &column[..3]);
        out[..12 * self.matrices].iter_mut().zip(columns).for_each(|(word, v)| *word = v.to_bits());
    }

    /// Writes the words of a frame, as many as a slot has; returns how many of them, from the first on, have
    /// content.
    pub(crate) fn write_slot(
        &self,
        mesh: &MeshView<'_>,
        room: &mut SlotScratch,
        out: &mut [u32],
    ) -> Result<usize, Error> {
        let p = &self.params;
        let positions = mesh.fixed_point_positions();
        let bones = positions.as_ref().and_then(|positions| positions.bones);
        let packed = matches!(self.variant.positions, PositionSource::Bones(bones) if bones.packed);
        if let Some(bones) = &bones {
            self.write_bones(bones, room, &mut out[p.matrices as usize..]);
        }
        let mut put = |at: u32, words: &mut dyn Iterator<Item = u32>| {
            for (out, word) in out[at as usize..].iter_mut().zip(words) {
                *out = word;
            }
        };
        if self.variant.ids {
            let ids = mesh.ids().iter().flat_map(|id| [*id as u32, (*id >> 32) as u32]);
            put(0, &mut std::iter::once(mesh.ids().len() as u32).chain(ids));
        }
        let points = match &bones {
            Some(bones) => bones.residuals(),
            None => positions.as_ref().and_then(|positions| positions.points),
        };
        match points {
            Some(Points::Narrow(points)) if let PositionSource::Heights(axis) = self.variant.positions => {
                let two = |two: &[[i16; 4]]| pair(two[0][axis], two.get(1).map_or(0, |point| point[axis]));
                put(p.positions, &mut points.chunks(2).map(two));
            }
            Some(Points::Narrow(points)) => {
                put(p.positions, &mut points.iter().flat_map(|p| [pair(p[0], p[1]), pair(p[2], 0)]));
            }
            Some(Points::Wide(points)) => {
                put(p.positions, &mut points.as_flattened().iter().map(|v| *v as u32));
            }
            None if bones.is_some() || self.variant.coded => {}
            None => {
                let stream = mesh.find_stream(Semantic::Position, 0).unwrap_or_default();
                let codes = mesh.quantized(stream);
                put(p.positions, &mut (0..codes.len()).map(|i| codes.get(i).unwrap_or(0)));
            }
        }
        if let NormalSource::Octahedral | NormalSource::Frames = self.variant.normals
            && let Some(stream) = mesh.direction_stream()
        {
            let codes = mesh.quantized(stream);
            let code = |i: usize| codes.get(i).unwrap_or(0) & 0xFFFF;
            let words = (0..codes.len()).step_by(2).map(|i| code(i) | code(i + 1) << 16);
            put(p.normal_codes, &mut { words });
        }
        let states = mesh.normal_states();
        if let Some(normals) = &states {
            let rotation =
                |bone: usize| normals.transforms.get(bone).map_or([0.0, 0.0, 0.0, 1.0], |t| t.rotation);
            if !packed {
                put(p.rotations, &mut (0..self.bones).flat_map(rotation).map(f32::to_bits));
            }
        }
        if self.variant.moving_uvs {
            room.floats.resize(2 * mesh.vertex_count(), 0.0);
            mesh.uvs_into(0, &mut room.floats)?;
            put(p.slot_uvs, &mut room.floats.iter().map(|v| v.to_bits()));
        }
        if self.variant.moving_colours {
            put(p.slot_colours, &mut colours(mesh, &mut room.floats)?);
        }
        let Some(normals) = states else { return Ok(self.values) };
        let (states, turns) = normals.states.split_at(2 * p.groups as usize);
        let next = write_sparse(out, p.states, states, self.values);
        Ok(if p.classes > 0 { write_sparse(out, p.turns, turns, next) } else { next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_not_zero_follow_each_other_and_masks_say_where_they_belong() {
        for count in [0, 1, 2, 63, 64, 65, 128, 200] {
            for every in [1, 3, 7, 50, 64, 300] {
                let number = |i: usize| if i % every == every - 1 { -(i as i16) - 1 } else { 0 };
                let numbers: Vec<i16> = (0..count).map(number).collect();
                let blocks = count.div_ceil(2 * SPARSE_BLOCK_WORDS);
                let (heads, values) = (3, 3 + 2 * blocks + 5);
                let mut out = vec![u32::MAX; values + count.div_ceil(2)];
                let end = write_sparse(&mut out, heads as u32, &numbers, values);
                let mut next = values;
                for block in 0..blocks {
                    let [mask, first] = [0, 1].map(|k| out[heads + 2 * block + k]);
                    assert_eq!(first as usize, next);
                    for i in 0..SPARSE_BLOCK_WORDS {
                        let at = 2 * (SPARSE_BLOCK_WORDS * block + i);
                        let own = [at, at + 1].map(|at| numbers.get(at).copied().unwrap_or(0));
                        let word = if mask >> i & 1 == 0 { 0 } else { out[next] };
                        next += (mask >> i & 1) as usize;
                        assert_eq!(word, pair(own[0], own[1]));
                        assert_eq!(mask >> i & 1 != 0, own != [0; 2]);
                    }
                }
                assert_eq!(end, next);
                assert!(out[..heads].iter().chain(&out[end..]).all(|word| *word == u32::MAX));
            }
        }
    }
}
