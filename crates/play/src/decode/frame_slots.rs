//! The slots of a decoder: which frames it holds, which unit it decodes next to reach a frame, and which
//! frames it evicts for that. Bookkeeping over the [`DecodeOrder`] of a file, without the frames' bytes.

use crate::reel::order::{DecodeOrder, FrameList};

/// The slots of a decoder. All memory is allocated when it is created.
pub(crate) struct FrameSlots {
    /// The frame that each slot holds.
    frames: Vec<Option<usize>>,
    /// The need for the frame in each slot.
    needed: Vec<Need>,
    /// The units that are still to be decoded, the next one last: each waits for the one behind it.
    plan: Vec<usize>,
}

/// The need for a held frame, in the order in which slots are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// Nothing in the plan needs it, as far as is known.
    None,
    /// The unit after the next one needs it.
    Later,
    /// The unit that is decoded now needs it.
    Now,
}

/// The next step on the way to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The frame is held already, in this slot.
    Held(usize),
    /// This unit must be decoded; all that it needs is held.
    Decode(usize),
}

impl FrameSlots {
    /// Returns empty slots for a file.
    pub fn new(order: &DecodeOrder) -> FrameSlots {
        let slots = order.held_frames() as usize;
        FrameSlots {
            frames: vec![None; slots],
            needed: vec![Need::None; slots],
            // A jump to the end of a group waits for all of it.
            plan: Vec::with_capacity(order.max_wait_units()),
        }
    }

    /// Returns the slot that holds a frame.
    pub fn slot(&self, frame: usize) -> Option<usize> {
        self.frames.iter().position(|held| *held == Some(frame))
    }

    /// Discards the plan, as another frame is wanted.
    pub fn discard_plan(&mut self) {
        self.plan.clear();
    }

    /// Returns the next step to reach `target`: from its unit down to one whose needs are held, and back up.
    /// After [`Step::Decode`] call [`FrameSlots::reserve`] and, if decoding succeeded,
    /// [`FrameSlots::commit`].
    pub fn next_step(&mut self, order: &DecodeOrder, target: usize) -> Step {
        loop {
            if let Some(slot) = self.slot(target) {
                return Step::Held(slot);
            }
            let unit = match self.plan.last() {
                Some(&unit) => unit,
                None => {
                    let unit = order.unit_of(target);
                    self.plan.push(unit);
                    unit
                }
            };
            let needs = order.dependencies(unit);
            match needs.iter().find(|&&n| self.slot(n as usize).is_none()) {
                Some(&missing) => self.plan.push(order.unit_of(missing as usize)),
                None => return Step::Decode(unit),
            }
        }
    }

    /// Takes slots for the frames of `unit`, the last of the plan for `target`. These are empty from now on.
    ///
    /// Slots that the unit itself needs are not taken; among the others, those that the first two units of
    /// the plan need are taken last. There are always enough ([`DecodeOrder::held_frames`]):
    ///
    /// * Serial: a B-frame needs four slots and takes one, of five. An index frame needs none, and is decoded
    ///   only while the unit that was asked for lacks it: at most three others wait for that.
    /// * Temporal layers: a group needs four key frames and, for its last layer, the seven frames above that;
    ///   the last layer takes eight more: 19. A key frame needs at most three key frames and takes one, so of
    ///   19 slots those that the first two units need, at most 11, are never taken.
    pub fn reserve(
        &mut self,
        order: &DecodeOrder,
        unit: usize,
        target: usize,
    ) -> [usize; FrameList::MAX_LEN] {
        let frames = order.frames(unit);
        // Frames of the unit that are still held are decoded again, in their places.
        for held in &mut self.frames {
            *held = held.filter(|f| !frames.contains(&(*f as u32)));
        }
        self.needed.fill(Need::None);
        for i in 0..self.plan.len().min(2) {
            self.mark(order.dependencies(self.plan[i]), Need::Later);
        }
        self.mark(order.dependencies(unit), Need::Now);
        let mut taken = [usize::MAX; FrameList::MAX_LEN];
        for i in 0..frames.len() {
            let slot = self.free_slot(target, &taken[..i]);
            self.frames[slot] = None;
            taken[i] = slot;
        }
        taken
    }

    /// Records that the unit of the last step is decoded: its frames are in the slots that were taken for
    /// them.
    pub fn commit(&mut self, frames: FrameList, taken: &[usize]) {
        for (&frame, &slot) in frames.iter().zip(taken) {
            self.frames[slot] = Some(frame as usize);
        }
        self.plan.pop();
    }

    fn mark(&mut self, frames: FrameList, need: Need) {
        for &frame in frames.iter() {
            if let Some(slot) = self.slot(frame as usize) {
                self.needed[slot] = need;
            }
        }
    }

    /// Returns an empty slot, or else the least needed one and, among these, the one farthest from `target`.
    fn free_slot(&self, target: usize, taken: &[usize]) -> usize {
        let distance = |slot: usize| match self.frames[slot] {
            None => usize::MAX,
            Some(held) => held.abs_diff(target),
        };
        let free =
            (0..self.frames.len()).filter(|slot| !taken.contains(slot) && self.needed[*slot] != Need::Now);
        // There is one, see `reserve`; an empty one is not needed by anything.
        let least = free.max_by_key(|&slot| (std::cmp::Reverse(self.needed[slot]), distance(slot)));
        least.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_codec::schedule::Schedule;
    use proptest::prelude::*;

    /// Goes to a frame; returns the number of units that were decoded.
    fn go_to(holding: &mut FrameSlots, order: &DecodeOrder, target: usize) -> usize {
        holding.discard_plan();
        for decoded in 0.. {
            let unit = match holding.next_step(order, target) {
                Step::Held(slot) => {
                    assert_eq!(holding.frames[slot], Some(target));
                    return decoded;
                }
                Step::Decode(unit) => unit,
            };
            let needs = order.dependencies(unit);
            let there = |holding: &FrameSlots| needs.iter().all(|&f| holding.slot(f as usize).is_some());
            assert!(there(holding));
            let taken = holding.reserve(order, unit, target);
            assert!(there(holding), "what unit {unit} needs makes room for it");
            let frames = order.frames(unit);
            let taken = &taken[..frames.len()];
            let distinct = |i: usize| !taken[..i].contains(&taken[i]);
            assert!((0..taken.len()).all(distinct) && taken.iter().all(|&s| s < holding.frames.len()));
            holding.commit(frames, taken);
            assert!(decoded <= order.max_wait_units(), "no unit twice on the way to {target}");
            assert!(holding.plan.len() <= order.max_wait_units());
        }
        unreachable!()
    }

    fn walks(order: &DecodeOrder, frames: usize, steps: &[(u8, u16)]) {
        let mut holding = FrameSlots::new(order);
        let (mut at, mut forward) = (0, true);
        for &(kind, value) in steps {
            let value = usize::from(value);
            match kind {
                0 => forward = !forward,
                1 => at = value % frames,
                2 => at = (at + value % 41).saturating_sub(20),
                _ => at = if forward { at + 1 } else { at.saturating_sub(1) },
            }
            at = at.min(frames - 1);
            go_to(&mut holding, order, at);
        }
    }

    fn steps() -> impl Strategy<Value = Vec<(u8, u16)>> {
        prop::collection::vec((0u8..7, any::<u16>()), 600)
    }

    proptest! {
        #[test]
        fn every_serial_walk_arrives(
            frames in 1usize..140,
            gap in 1usize..70,
            odd in prop::collection::vec(0usize..140, 0..4),
            steps in steps(),
        ) {
            let index = |f: usize| f.is_multiple_of(gap) || f + 1 == frames || odd.contains(&f);
            let order = DecodeOrder::new(frames, frames, 0, index).unwrap();
            walks(&order, frames, &steps);
        }

        #[test]
        fn every_layered_walk_arrives(frames in 1u32..1500, restart in 1u32..70, steps in steps()) {
            let order = DecodeOrder::layered(Schedule::new(frames, restart));
            walks(&order, frames as usize, &steps);
        }
    }

    #[test]
    fn stepping_decodes_a_unit_a_call() {
        let order = DecodeOrder::new(100, 100, 0, |f| f.is_multiple_of(9)).unwrap();
        let mut holding = FrameSlots::new(&order);
        let forward: usize = (0..100).map(|f| go_to(&mut holding, &order, f)).sum();
        assert_eq!(forward, 100);
        let order = DecodeOrder::layered(Schedule::new(129, 4));
        let mut holding = FrameSlots::new(&order);
        let forward: usize = (0..129).map(|f| go_to(&mut holding, &order, f)).sum();
        assert_eq!(forward, 9 + 2 * 8);
    }
}
