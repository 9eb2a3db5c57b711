//! The blocks in the order of addresses, and the list that each is in: unused slots, gaps by size class,
//! spare blocks by rank.

use super::super::sizes::{SUBCLASSES, size_class};
use super::{BlockEntry, BlockList, BlockState, CANDIDATES, Heap, HeapEnd, NO_SLOT};

impl Heap {
    // The order of addresses.

    pub(super) fn link_neighbours(&mut self, before: u32, after: u32) {
        if before != NO_SLOT {
            self.entries[before as usize].after = after;
        }
        if after != NO_SLOT {
            self.entries[after as usize].before = before;
        }
    }

    /// Merges two neighbours: `lower` takes the space of `upper`, whose slot is returned.
    pub(super) fn merge(&mut self, lower: u32, upper: u32) {
        let BlockEntry { granules, after, .. } = self.entries[upper as usize];
        self.entries[lower as usize].granules += granules;
        self.link_neighbours(lower, after);
        if self.cursor == upper {
            self.cursor = lower;
        }
        self.drop_slot(upper);
    }

    /// Cuts `granules` off a gap that is in no list; `rest` is an unused slot. Returns the part that was cut
    /// off.
    pub(super) fn split(&mut self, gap: u32, rest: u32, granules: u32, end: HeapEnd) -> u32 {
        let BlockEntry { start, granules: size, after, .. } = self.entries[gap as usize];
        let low = if end == HeapEnd::Low { granules } else { size - granules };
        self.entries[gap as usize].granules = low;
        self.entries[rest as usize].start = start + low;
        self.entries[rest as usize].granules = size - low;
        self.link_neighbours(gap, rest);
        self.link_neighbours(rest, after);
        let (block, left) = if end == HeapEnd::Low { (gap, rest) } else { (rest, gap) };
        self.add_free(left);
        block
    }

    pub(super) fn take_slot(&mut self) -> Option<u32> {
        let slot = self.unused;
        let entry = self.entries.get_mut(slot as usize)?;
        self.unused = entry.next;
        *entry = BlockEntry {
            before: NO_SLOT,
            after: NO_SLOT,
            previous: NO_SLOT,
            next: NO_SLOT,
            state: BlockState::Free,
            holds: 0,
            ..*entry
        };
        Some(slot)
    }

    pub(super) fn drop_slot(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.state = BlockState::Unused;
        entry.next = self.unused;
        self.unused = slot;
    }

    // Free space by size.

    pub(super) fn add_free(&mut self, at: u32) {
        let class = size_class(self.entries[at as usize].granules);
        self.entries[at as usize].state = BlockState::Free;
        self.append(at, |heap| &mut heap.free[class]);
        self.filled[class / SUBCLASSES] |= 1 << (class % SUBCLASSES);
    }

    pub(super) fn remove_free(&mut self, at: u32) {
        let class = size_class(self.entries[at as usize].granules);
        self.unlink(at, |heap| &mut heap.free[class]);
        if self.free[class].first == NO_SLOT {
            self.filled[class / SUBCLASSES] &= !(1 << (class % SUBCLASSES));
        }
    }

    /// Returns a gap of at least `granules`.
    pub(super) fn find_free(&self, granules: u32) -> Option<u32> {
        let class = size_class(granules);
        // Some gaps of the same class are large enough.
        let mut at = self.free[class].first;
        for _ in 0..CANDIDATES {
            if at == NO_SLOT {
                break;
            }
            if self.entries[at as usize].granules >= granules {
                return Some(at);
            }
            at = self.entries[at as usize].next;
        }
        // All gaps of higher classes are.
        let (mut first, mut mask) = (class / SUBCLASSES, !0u32 << (class % SUBCLASSES + 1));
        while first < self.filled.len() {
            let filled = u32::from(self.filled[first]) & mask;
            if filled != 0 {
                return Some(self.free[first * SUBCLASSES + filled.trailing_zeros() as usize].first);
            }
            (first, mask) = (first + 1, !0);
        }
        None
    }

    // Lists.

    pub(super) fn append(&mut self, at: u32, list: impl Fn(&mut Heap) -> &mut BlockList) {
        let last = list(self).last;
        self.entries[at as usize].previous = last;
        self.entries[at as usize].next = NO_SLOT;
        if last == NO_SLOT {
            list(self).first = at;
        } else {
            self.entries[last as usize].next = at;
        }
        list(self).last = at;
    }

    pub(super) fn unlink(&mut self, at: u32, list: impl Fn(&mut Heap) -> &mut BlockList) {
        let BlockEntry { previous, next, .. } = self.entries[at as usize];
        if previous == NO_SLOT {
            list(self).first = next;
        } else {
            self.entries[previous as usize].next = next;
        }
        if next == NO_SLOT {
            list(self).last = previous;
        } else {
            self.entries[next as usize].previous = previous;
        }
    }
}

#[cfg(test)]
impl Heap {
    /// Checks every invariant of the lists.
    pub fn assert_sound(&self) {
        use super::super::sizes::GRANULE;
        use super::super::sync::Ordering;
        use super::CLOSED;
        let (mut at, mut start, mut before, mut used, mut held) = (self.lowest, 0, NO_SLOT, 0, 0);
        let mut last_was_free = false;
        let mut count = 0;
        while at != NO_SLOT {
            let entry = &self.entries[at as usize];
            assert_eq!((entry.start, entry.before), (start, before));
            assert!(entry.granules > 0);
            let free = entry.state == BlockState::Free;
            assert!(!(free && last_was_free), "gaps that touch are one");
            last_was_free = free;
            let lock = self.memory.0.slots[at as usize].lock.load(Ordering::Relaxed);
            assert_eq!((lock >> 32) as u32, entry.generation);
            assert_eq!(free, lock as u32 == CLOSED);
            used += if free { 0 } else { u64::from(entry.granules) };
            held += if entry.state == BlockState::Held { u64::from(entry.granules) } else { 0 };
            start += entry.granules;
            (before, at) = (at, entry.after);
            count += 1;
        }
        assert_eq!(start as usize * GRANULE, self.memory.0.words);
        assert_eq!((self.used_granules, self.held_granules), (used, held));
        let mut unused = 0;
        let mut at = self.unused;
        while at != NO_SLOT {
            assert_eq!(self.entries[at as usize].state, BlockState::Unused);
            at = self.entries[at as usize].next;
            unused += 1;
        }
        assert_eq!(count + unused, self.entries.len(), "no slot is lost");
        let mut free = 0;
        for (class, list) in self.free.iter().enumerate() {
            let filled = self.filled[class / SUBCLASSES] >> (class % SUBCLASSES) & 1 == 1;
            assert_eq!(filled, list.first != NO_SLOT);
            let mut at = list.first;
            while at != NO_SLOT {
                assert_eq!(self.entries[at as usize].state, BlockState::Free);
                assert_eq!(size_class(self.entries[at as usize].granules), class);
                at = self.entries[at as usize].next;
                free += 1;
            }
        }
        let all = self.entries.iter().filter(|e| e.state == BlockState::Free).count();
        assert_eq!(free, all);
    }
}
