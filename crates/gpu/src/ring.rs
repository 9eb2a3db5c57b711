//! Which frame lies in which slot of the ring: each is uploaded once, what is shown stays, the one that was shown
//! longest ago makes room.

/// Slots of one file, all of the same size.
#[derive(Debug, Clone, Default)]
pub struct Ring {
    /// The frame in each slot, and when it was last asked for.
    slots: Vec<Option<(usize, u64)>>,
    now: u64,
}

/// Where a frame lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is there.
    There(usize),
    /// It is to be put there; what was there is gone.
    New(usize),
    /// All slots hold what is shown now.
    Full,
}

impl Ring {
    /// With so many slots; two are needed for one moment.
    pub fn new(slots: usize) -> Ring {
        Ring { slots: vec![None; slots], now: 0 }
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// A new moment: frames that are asked for from now on stay until the next one.
    pub fn begin(&mut self) {
        self.now += 1;
    }

    /// Whether a frame is there.
    pub fn holds(&self, frame: usize) -> bool {
        self.find(frame).is_some()
    }

    /// Where a frame is.
    pub fn find(&self, frame: usize) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|s| s.0 == frame))
    }

    /// A frame stays until the next moment, if it is there.
    pub fn keep(&mut self, frame: usize) {
        let now = self.now;
        let found = self.slots.iter_mut().flatten().find(|slot| slot.0 == frame);
        found.into_iter().for_each(|slot| slot.1 = now);
    }

    /// A frame is not there after all.
    pub fn forget(&mut self, frame: usize) {
        let found = self.slots.iter_mut().find(|slot| slot.is_some_and(|s| s.0 == frame));
        found.into_iter().for_each(|slot| *slot = None);
    }

    /// Looks for a frame, and makes room for it where it is not there.
    pub fn ask(&mut self, frame: usize) -> Place {
        let now = self.now;
        let there = self.slots.iter_mut().enumerate().find(|(_, slot)| slot.is_some_and(|s| s.0 == frame));
        if let Some((at, slot)) = there {
            *slot = Some((frame, now));
            return Place::There(at);
        }
        let oldest = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_none_or(|s| s.1 < now));
        let Some((at, _)) = oldest.min_by_key(|(_, slot)| slot.map_or(0, |s| s.1 + 1)) else {
            return Place::Full;
        };
        self.slots[at] = Some((frame, now));
        Place::New(at)
    }

    /// Forgets everything: the file changed, or the device is another one.
    pub fn clear(&mut self) {
        self.slots.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e18_each_frame_goes_up_once_and_what_is_shown_stays() {
        let mut ring = Ring::new(3);
        ring.begin();
        assert_eq!([ring.ask(4), ring.ask(5), ring.ask(4)], [Place::New(0), Place::New(1), Place::There(0)]);
        ring.begin();
        assert_eq!([ring.ask(5), ring.ask(6)], [Place::There(1), Place::New(2)]);
        ring.begin();
        // Frame 4 is the oldest.
        assert_eq!([ring.ask(6), ring.ask(7)], [Place::There(2), Place::New(0)]);
        assert_eq!([ring.ask(8), ring.ask(9)], [Place::New(1), Place::Full]);
        ring.clear();
        ring.begin();
        assert_eq!(ring.ask(7), Place::New(0));
    }
}
