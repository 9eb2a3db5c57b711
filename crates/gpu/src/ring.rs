//! The ring: assigns frames to slots. Each frame is uploaded once, shown frames stay, and the one that was
//! shown longest ago is replaced.

/// The slots of one file, all of the same size.
#[derive(Debug, Clone, Default)]
pub struct Ring {
    /// The frame in each slot, and the moment at which it was last requested.
    slots: Vec<Option<(usize, u64)>>,
    now: u64,
}

/// The slot of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum SlotRequest {
    /// The frame is in this slot.
    Present(usize),
    /// The frame must be written to this slot, whose frame was removed.
    New(usize),
    /// All slots hold frames that are shown now.
    Full,
}

impl Ring {
    /// Creates a ring with `slots` slots; one moment needs two.
    #[must_use]
    pub fn new(slots: usize) -> Ring {
        Ring { slots: vec![None; slots], now: 0 }
    }

    /// Returns the number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Begins a new moment: frames that are requested from now on stay until the next one.
    pub fn begin(&mut self) {
        self.now += 1;
    }

    /// `true` if a frame is in the ring.
    #[must_use]
    pub fn holds(&self, frame: usize) -> bool {
        self.find(frame).is_some()
    }

    /// Returns the slot of a frame.
    #[must_use]
    pub fn find(&self, frame: usize) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|s| s.0 == frame))
    }

    /// Keeps a frame until the next moment, if it is in the ring.
    pub fn keep(&mut self, frame: usize) {
        let now = self.now;
        let found = self.slots.iter_mut().flatten().find(|slot| slot.0 == frame);
        found.into_iter().for_each(|slot| slot.1 = now);
    }

    /// Removes a frame that was not written after all.
    pub fn remove(&mut self, frame: usize) {
        let found = self.slots.iter_mut().find(|slot| slot.is_some_and(|s| s.0 == frame));
        found.into_iter().for_each(|slot| *slot = None);
    }

    /// Finds a frame, or makes room for it.
    pub fn request(&mut self, frame: usize) -> SlotRequest {
        let now = self.now;
        let there = self.slots.iter_mut().enumerate().find(|(_, slot)| slot.is_some_and(|s| s.0 == frame));
        if let Some((at, slot)) = there {
            *slot = Some((frame, now));
            return SlotRequest::Present(at);
        }
        let oldest = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_none_or(|s| s.1 < now));
        let Some((at, _)) = oldest.min_by_key(|(_, slot)| slot.map_or(0, |s| s.1 + 1)) else {
            return SlotRequest::Full;
        };
        self.slots[at] = Some((frame, now));
        SlotRequest::New(at)
    }

    /// Removes everything, as the file changed, or the device.
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
        assert_eq!(
            [ring.request(4), ring.request(5), ring.request(4)],
            [SlotRequest::New(0), SlotRequest::New(1), SlotRequest::Present(0)]
        );
        ring.begin();
        assert_eq!([ring.request(5), ring.request(6)], [SlotRequest::Present(1), SlotRequest::New(2)]);
        ring.begin();
        // Frame 4 is the oldest.
        assert_eq!([ring.request(6), ring.request(7)], [SlotRequest::Present(2), SlotRequest::New(0)]);
        assert_eq!([ring.request(8), ring.request(9)], [SlotRequest::New(1), SlotRequest::Full]);
        ring.clear();
        ring.begin();
        assert_eq!(ring.request(7), SlotRequest::New(0));
    }
}
