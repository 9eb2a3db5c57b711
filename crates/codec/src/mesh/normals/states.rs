//! States and turns of a frame, range coded: blocks in which something differs from the reference, then the
//! items of these. The bytes are those of [`super`]. Lossless.

use crate::entropy::range::Bits;
use crate::mesh::normals::Normals;
use crate::mesh::normals::contexts::{BLOCK_ITEMS, Blocks, Contexts, moved, strides};
use crate::mesh::normals::model::BlockNear;
use std::ops::Range;

/// Items in order, of which blocks are coded where one of them differs.
trait Items<B: Bits> {
    /// The chance that a block differs, or a chunk of them.
    fn chance(&mut self, level: usize, class: usize, before: bool, items: Range<usize>) -> &mut B::Context;
    /// Whether one of these differs, where that is known.
    fn differ(&self, items: Range<usize>) -> bool;
    /// Codes an item; whether it differs is not coded where `sure`. Returns whether it does.
    fn code(&mut self, bits: &mut B, item: usize, sure: bool) -> bool;
    /// Makes items what they are expected to be.
    fn pass(&mut self, items: Range<usize>);
}

fn code_blocks<B: Bits>(bits: &mut B, blocks: &Blocks, items: &mut impl Items<B>) {
    let mut before = [false; 2];
    for chunk in 0..blocks.chunks() {
        let all = blocks.of(chunk);
        let own = blocks.items(all.clone());
        // What follows the last correction of a unit is not looked at.
        let only_zeros = bits.only_zeros();
        if !only_zeros {
            let wanted = B::KNOWN && items.differ(own.clone());
            let chance = items.chance(0, blocks.class(all.clone()), before[0], own.clone());
            before[0] = bits.bit(chance, wanted);
        }
        if only_zeros || !before[0] {
            items.pass(own);
            continue;
        }
        let mut any = false;
        for block in all.clone() {
            let own = blocks.items(block..block + 1);
            // Where none of the others does, the last one does.
            before[1] = (!any && block + 1 == all.end) || {
                let wanted = B::KNOWN && items.differ(own.clone());
                let chance = items.chance(1, blocks.class(block..block + 1), before[1], own.clone());
                bits.bit(chance, wanted)
            };
            any |= before[1];
            if !before[1] {
                items.pass(own);
                continue;
            }
            let mut one = false;
            for item in own.clone() {
                one |= items.code(bits, item, !one && item + 1 == own.end);
            }
        }
    }
}

struct States<'a, C> {
    normals: &'a Normals,
    chances: &'a mut Contexts<C>,
    base: &'a [[i16; 2]],
    before: &'a [[i16; 2]],
    /// Whether the reference is a frame.
    frame: bool,
    states: &'a mut [[i16; 2]],
}

impl<B: Bits> Items<B> for States<'_, B::Context> {
    fn chance(&mut self, level: usize, class: usize, before: bool, _: Range<usize>) -> &mut B::Context {
        &mut self.chances.normal_blocks[level][class][usize::from(before)]
    }

    fn differ(&self, items: Range<usize>) -> bool {
        self.states[items.clone()] != self.before[items]
    }

    #[inline(always)]
    fn code(&mut self, bits: &mut B, g: usize, sure: bool) -> bool {
        let (states, before) = (&mut *self.states, self.before);
        let other = |n: &u32| {
            let n = *n as usize;
            usize::from(n < g && states[n] != before[n])
        };
        let count = self.normals.near_groups[g].iter().map(other).sum::<usize>();
        let class = usize::from(self.normals.classes[g]);
        let past = past(self.frame, before[g] != self.base[g]);
        let chance = &mut self.chances.normal[class][count.min(2)][past];
        let old = before[g];
        let differs = sure || bits.bit(chance, states[g] != old);
        if differs {
            let x = self.chances.states.code(bits, 0, strides(old[0], states[g][0]));
            let context = 1 + usize::from(x == 0);
            let y = self.chances.states.code(bits, context, strides(old[1], states[g][1]));
            states[g] = [moved(old[0], x), moved(old[1], y)];
        }
        differs
    }

    fn pass(&mut self, _: Range<usize>) {}
}

struct Turns<'a, C> {
    normals: &'a Normals,
    chances: &'a mut Contexts<C>,
    base: &'a [i16],
    old: &'a [i16],
    frame: bool,
    /// Which states differ, where any does.
    states: Option<[&'a [[i16; 2]]; 2]>,
    /// Whether a turn did.
    any: bool,
    turns: &'a mut [i16],
}

impl<C> Turns<'_, C> {
    #[inline(always)]
    fn group_differs(&self, v: usize) -> bool {
        let g = self.normals.group[v] as usize;
        self.states.is_some_and(|[states, before]| states[g] != before[g])
    }

    /// The same of any of some blocks' vertices: mostly told by comparing what lies between two groups.
    fn groups_differ(&self, mut vertices: Range<usize>) -> bool {
        let Some([states, before]) = self.states else { return false };
        let near = |near: &BlockNear| {
            let groups = near.groups[0] as usize..near.groups[1] as usize;
            states[groups.clone()].as_flattened() != before[groups].as_flattened()
        };
        let blocks = vertices.start / BLOCK_ITEMS..vertices.end.div_ceil(BLOCK_ITEMS);
        self.normals.turn_near[blocks].iter().any(near) && vertices.any(|v| self.group_differs(v))
    }
}

impl<B: Bits> Items<B> for Turns<'_, B::Context> {
    fn chance(&mut self, level: usize, class: usize, before: bool, items: Range<usize>) -> &mut B::Context {
        let groups = self.groups_differ(items);
        &mut self.chances.turn_blocks[level][class][usize::from(groups)][usize::from(before)]
    }

    fn differ(&self, mut items: Range<usize>) -> bool {
        items.any(|v| self.turns[v] != self.normals.expected(v, self.turns, self.old))
    }

    #[inline(always)]
    fn code(&mut self, bits: &mut B, v: usize, sure: bool) -> bool {
        let (turns, old) = (&*self.turns, self.old);
        let other = |n: &u32| {
            let n = *n as usize;
            usize::from(n < v && turns[n] != old[n])
        };
        let count = self.normals.near_vertices[v].iter().map(other).sum::<usize>();
        let count = count + usize::from(self.group_differs(v));
        let class = usize::from(self.normals.classes[self.normals.groups() + v]);
        let expected = self.normals.expected(v, turns, old);
        let chance = &mut self.chances.turn[class][count][past(self.frame, old[v] != self.base[v])];
        let wanted = turns[v];
        let differs = sure || bits.bit(chance, wanted != expected);
        self.turns[v] = match differs {
            true => moved(expected, self.chances.turns.code(bits, 0, strides(expected, wanted))),
            false => expected,
        };
        self.any |= differs;
        differs
    }

    fn pass(&mut self, items: Range<usize>) {
        if !self.any {
            return;
        }
        // Mates move by the same: mostly by nothing.
        let blocks = items.start / BLOCK_ITEMS..items.end.div_ceil(BLOCK_ITEMS);
        let moved = |near: &BlockNear| {
            let mates = near.mates[0] as usize..near.mates[1] as usize;
            self.turns[mates.clone()] != self.old[mates]
        };
        if !self.normals.turn_near[blocks].iter().any(moved) {
            return;
        }
        for v in items {
            self.turns[v] = self.normals.expected(v, self.turns, self.old);
        }
    }
}

/// The range in which some numbers lie; empty without any.
fn around(numbers: impl Iterator<Item = u32>) -> [u32; 2] {
    let range = numbers.fold([u32::MAX, 0], |[low, high], n| [low.min(n), high.max(n + 1)]);
    if range[0] > range[1] { [0; 2] } else { range }
}

fn past(frame: bool, moved: bool) -> usize {
    if frame { usize::from(moved) } else { 2 }
}

impl Normals {
    /// Codes the states of a frame; those that are there on entry in an encoder.
    pub(in crate::mesh) fn frame<B: Bits>(
        &self,
        bits: &mut B,
        chances: &mut Contexts<B::Context>,
        from: Option<&[i16]>,
        state: &mut [i16],
    ) {
        let groups = self.groups();
        let before = from.unwrap_or(&self.base);
        if !B::KNOWN {
            state.copy_from_slice(before);
        }
        let (states, turns) = state.split_at_mut(2 * groups);
        let (before, old) = before.split_at(2 * groups);
        let (base, turn_base) = self.base.split_at(2 * groups);
        let (states, before) = (states.as_chunks_mut::<2>().0, before.as_chunks::<2>().0);
        let frame = from.is_some();
        let base = base.as_chunks().0;
        let mut items =
            States { normals: self, chances: &mut *chances, base, before, frame, states: &mut *states };
        code_blocks(bits, &self.group_blocks, &mut items);
        let states = &*states;
        let states = (states != before).then_some([states, before]);
        let base = turn_base;
        let mut items = Turns { normals: self, chances, base, old, frame, states, any: false, turns };
        code_blocks(bits, &self.turn_blocks, &mut items);
    }

    /// The blocks of groups and of vertices, whose classes are known.
    pub(super) fn find_blocks(&mut self) {
        let (groups, vertices) = self.classes.split_at(self.groups());
        (self.group_blocks, self.turn_blocks) = (Blocks::new(groups), Blocks::new(vertices));
        let near = |start: usize| {
            let items = start..(start + BLOCK_ITEMS).min(self.mates.len());
            let own = items.clone().filter(|&v| !self.packed && (self.mates[v] as usize) < v);
            BlockNear {
                groups: around(items.map(|v| self.group[v])),
                mates: around(own.map(|v| self.mates[v])),
            }
        };
        self.turn_near = (0..self.mates.len()).step_by(BLOCK_ITEMS).map(near).collect();
    }

    /// The turn that is expected of a vertex: the reference's, moved like that of an earlier vertex that
    /// touches it and has its normal.
    #[inline]
    pub(in crate::mesh) fn expected(&self, v: usize, turns: &[i16], old: &[i16]) -> i16 {
        match self.mates[v] as usize {
            mate if mate < v && !self.packed => old[v].wrapping_add(turns[mate].wrapping_sub(old[mate])),
            _ => old[v],
        }
    }
}
