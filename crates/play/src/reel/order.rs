//! The order in which frames can be decoded: units, the frames that each brings, and the frames that it
//! needs.
//!
//! Serial files (preset `classic`) have a unit per frame. A B-frame needs the frame before, the one before
//! that if it is of the same group, and the index frames around. Files in temporal layers (presets `small`
//! and `fast`) have the units of [`meshreel_codec::schedule`].

use meshreel_codec::schedule::{Schedule, Unit};

/// A short list of frame numbers, at most as many as a unit has or needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrameList {
    list: [u32; FrameList::MAX_LEN],
    count: usize,
}

impl FrameList {
    /// A layer of a group needs four key frames and the seven frames above it.
    pub(crate) const MAX_LEN: usize = 12;

    pub(crate) fn push(&mut self, frame: u32) {
        if self.count < FrameList::MAX_LEN && !self.contains(&frame) {
            self.list[self.count] = frame;
            self.count += 1;
        }
    }
}

impl std::ops::Deref for FrameList {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.list[..self.count]
    }
}

impl FromIterator<u32> for FrameList {
    fn from_iter<I: IntoIterator<Item = u32>>(frames: I) -> FrameList {
        let mut list = FrameList::default();
        frames.into_iter().for_each(|frame| list.push(frame));
        list
    }
}

/// The order in which the units of a file are decoded.
pub(crate) enum DecodeOrder {
    Serial {
        /// For each frame the index frames around it; an index frame is its own.
        groups: Vec<IndexFrames>,
    },
    Layered {
        schedule: Schedule,
        /// The units in the order of the file.
        units: Vec<Unit>,
        /// The place of each unit in the file, by [`Schedule::unit_number`].
        places: Vec<u32>,
        /// `true` if some mesh is coded in chains, whose links add dependencies between units.
        chains: bool,
    },
}

/// The index frames at or before and at or after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexFrames {
    pub before: u32,
    pub after: u32,
}

impl DecodeOrder {
    /// Returns the order of a file with these numbers of frames and units, or what is wrong with it. `index`
    /// tells which units need no others.
    pub fn new(
        frames: usize,
        units: usize,
        restart: u32,
        index: impl Fn(usize) -> bool,
    ) -> Result<DecodeOrder, &'static str> {
        const WRONG_UNIT_COUNT: &str = "another number of units than its frames need";
        if restart > 0 {
            let count = u32::try_from(frames).map_err(|_| "too many frames for layers")?;
            let schedule = Schedule::new(count, restart);
            // Every frame is in a unit, and a unit has at most eight.
            if units < frames / 8 || units > frames {
                return Err(WRONG_UNIT_COUNT);
            }
            if schedule.units_in_file_order().count() != units {
                return Err(WRONG_UNIT_COUNT);
            }
            return Ok(DecodeOrder::layered(schedule));
        }
        if frames != units {
            return Err(WRONG_UNIT_COUNT);
        }
        if frames > 0 && !(index(0) && index(frames - 1)) {
            return Err("the first or the last frame is not an index frame");
        }
        let mut before = 0;
        let mut groups: Vec<IndexFrames> = (0..frames)
            .map(|i| {
                if index(i) {
                    before = i as u32;
                }
                IndexFrames { before, after: 0 }
            })
            .collect();
        let mut after = 0;
        for (i, group) in groups.iter_mut().enumerate().rev() {
            if index(i) {
                after = i as u32;
            }
            group.after = after;
        }
        Ok(DecodeOrder::Serial { groups })
    }

    /// Returns the order of all units of a schedule.
    pub fn layered(schedule: Schedule) -> DecodeOrder {
        let units: Vec<Unit> = schedule.units_in_file_order().collect();
        let mut places = vec![u32::MAX; schedule.units() as usize];
        for (place, unit) in (0..).zip(&units) {
            places[schedule.unit_number(*unit) as usize] = place;
        }
        DecodeOrder::Layered { schedule, units, places, chains: false }
    }

    /// Sets whether some mesh of the file is coded in chains.
    pub fn with_chains(mut self, any: bool) -> DecodeOrder {
        if let DecodeOrder::Layered { chains, .. } = &mut self {
            *chains = any;
        }
        self
    }

    /// `true` if a unit has links of a chain that other units read as well.
    pub fn has_links(&self, unit: usize) -> bool {
        match self {
            DecodeOrder::Layered { schedule, units, chains: true, .. } => {
                schedule.has_chain_frames(units[unit])
            }
            _ => false,
        }
    }

    /// Returns the unit that brings a frame.
    pub fn unit_of(&self, frame: usize) -> usize {
        match self {
            DecodeOrder::Serial { .. } => frame,
            DecodeOrder::Layered { schedule, places, .. } => {
                places[schedule.unit_number(schedule.unit_of(frame as u32)) as usize] as usize
            }
        }
    }

    /// Returns the frames of a unit, in the order in which they are decoded.
    pub fn frames(&self, unit: usize) -> FrameList {
        match self {
            DecodeOrder::Serial { .. } => [unit as u32].into_iter().collect(),
            DecodeOrder::Layered { schedule, units, .. } => {
                schedule.frames_of(units[unit]).iter().copied().collect()
            }
        }
    }

    /// Returns the frames from which a frame's transforms and quantized values are predicted: the frame
    /// before or the nearest one on the left, the one before that (serial), and the frames on both sides.
    /// None for frames that need no others.
    pub fn references(&self, frame: u32) -> ReferenceFrames {
        match self {
            DecodeOrder::Serial { groups } => {
                let group = groups[frame as usize];
                if group.before == frame {
                    return ReferenceFrames::default();
                }
                ReferenceFrames {
                    previous: Some(frame - 1),
                    before_previous: (frame - 1 > group.before).then(|| frame - 2),
                    index_before: Some(group.before),
                    index_after: Some(group.after),
                }
            }
            DecodeOrder::Layered { schedule, .. } => {
                let key = schedule.key_of(frame).is_some();
                let all = schedule.references(frame);
                // The prediction of a key frame from the first frame uses the static data.
                let mut list = all.iter().copied().filter(|&r| !(key && r == 0));
                let previous = list.next();
                ReferenceFrames {
                    previous,
                    before_previous: None,
                    index_before: previous,
                    index_after: list.next().or(previous),
                }
            }
        }
    }

    /// Returns all frames from which values of a frame in temporal layers are predicted; for a key frame
    /// without the first frame.
    pub fn layered_references(&self, frame: u32) -> FrameList {
        match self {
            DecodeOrder::Serial { .. } => FrameList::default(),
            DecodeOrder::Layered { schedule, .. } => {
                let key = schedule.key_of(frame).is_some();
                let all = schedule.references(frame);
                all.iter().copied().filter(|&r| !(key && r == 0)).collect()
            }
        }
    }

    /// Returns the frames from which a frame's fixed-point positions are predicted; missing ones are replaced
    /// by the first of them. `None` for frame 0, and for serial files.
    pub fn coded_references(&self, frame: u32) -> Option<[u32; 4]> {
        let DecodeOrder::Layered { schedule, .. } = self else { return None };
        let list = schedule.references(frame);
        let first = *list.first()?;
        Some([0, 1, 2, 3].map(|k| list.get(k).copied().unwrap_or(first)))
    }

    /// Returns the number of frames that a decoder elsewhere has to hold at once: those around what is shown
    /// and what comes next, and the key frames on the way to them.
    pub fn held_coded_frames(&self) -> u64 {
        match self {
            DecodeOrder::Serial { .. } => 0,
            DecodeOrder::Layered { schedule, .. } => 2 * 15 + 6 + u64::from(schedule.restart()),
        }
    }

    /// Returns the frames of other units that must be decoded before a unit.
    pub fn dependencies(&self, unit: usize) -> FrameList {
        match self {
            DecodeOrder::Serial { .. } => {
                let r = self.references(unit as u32);
                let list = [r.index_before, r.index_after, r.previous, r.before_previous];
                list.into_iter().flatten().collect()
            }
            DecodeOrder::Layered { schedule, units, chains, .. } => {
                let unit = units[unit];
                let key = matches!(unit, Unit::Key(_));
                let needs = schedule.dependencies(unit);
                let chained = if *chains { schedule.chain_dependencies(unit) } else { Default::default() };
                let needs = needs.iter().copied().filter(|&f| !(key && f == 0));
                needs.chain(chained.iter().copied()).collect()
            }
        }
    }

    /// Returns the most units that one frame can wait for, its own included.
    pub fn max_wait_units(&self) -> usize {
        match self {
            DecodeOrder::Serial { groups } => {
                let longest = groups.iter().map(|g| (g.after - g.before) as usize);
                2 + longest.max().unwrap_or(0)
            }
            DecodeOrder::Layered { schedule, .. } => schedule.restart().min(schedule.keys()) as usize + 8,
        }
    }

    /// Returns the number of frames that a decoder has to hold at once.
    pub fn held_frames(&self) -> u64 {
        match self {
            // Two index frames and three B-frames.
            DecodeOrder::Serial { .. } => 5,
            // Four key frames and a group.
            DecodeOrder::Layered { .. } => 4 + 15,
        }
    }
}

/// The frames that a frame is predicted from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReferenceFrames {
    pub previous: Option<u32>,
    pub before_previous: Option<u32>,
    pub index_before: Option<u32>,
    pub index_after: Option<u32>,
}
