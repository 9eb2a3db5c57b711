//! Admission: decides which instances the heap can serve: as many as fit, those of higher priority first.
//!
//! An instance is admitted if the least that it needs fits beside the needs of those before it. Room that
//! exists only at times (frames that instances of a file happen to share) does not count, so no admitted
//! instance starves. Among equal priorities, instances that were admitted already come first, then the older
//! ones: a new one does not interrupt one that plays. An instance that needs much can be refused while a
//! later one that needs less is admitted.
//!
//! A refused instance is not served. It shows what happens to be in memory, its ticks without a picture count
//! as missed, and it is admitted as soon as there is room (another one is removed, hidden or stopped, or the
//! priorities change).

use crate::stream::loaded::scratch_bytes;
use crate::stream::scheduler::Scheduler;
use crate::time::clock::{Clock, Command, Pace};
use crate::time::demand::{FrameDemand, FramePair};
use meshreel_codec::sort;

/// An instance of a file.
pub(crate) struct Instance {
    pub generation: u32,
    pub file: u32,
    pub clock: Option<Clock>,
    /// Commands that were given before the file was open.
    pub commands: Vec<Command>,
    pub visible: bool,
    /// `true` while it waits for its pre-roll.
    pub waiting: bool,
    pub demand: FrameDemand,
    pub pace: Pace,
    pub shown: Option<(FramePair, Pace)>,
    /// The jump whose first frame was shown.
    pub arrived: Option<u32>,
    /// The current jump, and the time from which its first frame is late.
    pub awaited: Option<(u32, u64)>,
    pub late: bool,
    pub missed: u64,
    pub seek_wait_ticks: u64,
    pub priority: i32,
    pub admitted: bool,
    /// Whether the last event about this instance was [`crate::Event::Refused`].
    pub refusal_reported: bool,
    /// For a refused instance the bytes that it needs, and those that were left.
    pub shortage: Option<(u64, u64)>,
}

impl Instance {
    /// Returns an instance that is stopped at the first frame.
    pub fn new(generation: u32, file: u32, clock: Option<Clock>) -> Instance {
        Instance {
            generation,
            file,
            clock,
            commands: Vec::new(),
            visible: true,
            waiting: false,
            demand: FrameDemand::default(),
            pace: Pace::default(),
            shown: None,
            arrived: None,
            awaited: None,
            late: false,
            missed: 0,
            seek_wait_ticks: 0,
            priority: 0,
            admitted: false,
            refusal_reported: false,
            shortage: None,
        }
    }

    fn wants_frames(&self) -> bool {
        self.demand.now.is_some() || self.demand.spans_used > 0
    }
}

/// Decides which instances the heap can serve.
#[derive(Default)]
pub(crate) struct Admission {
    /// The instances by priority, then age, as indices.
    order: Vec<u32>,
    /// `true` if instances were added or removed, or changed their priority.
    stale: bool,
    /// The number of instances that want to be served and are not.
    pub refused: usize,
}

impl Admission {
    /// Notes that instances were added or removed, or changed their priority; there are `places` places.
    pub fn mark_stale(&mut self, places: usize) {
        self.stale = true;
        self.order.clear();
        self.order.reserve(places);
    }

    /// Decides for this tick. `open` tells which files can be played.
    pub fn decide(
        &mut self,
        instances: &mut [Option<Instance>],
        scheduler: &mut Scheduler,
        open: impl Fn(u32) -> bool,
    ) {
        if std::mem::take(&mut self.stale) {
            self.sort(instances);
        }
        for stream in scheduler.streams.iter_mut().flatten() {
            stream.admitted_instances = 0;
        }
        self.refused = 0;
        let (room, least_block) = (scheduler.room_for_streams(), scheduler.min_block_bytes());
        // The scratch that exists counts already, or more if an admitted instance needs more.
        let (mut taken, mut scratch, mut least_scratch) = (0, scheduler.scratch_words(), 0);
        let mut rest = &self.order[..];
        let priority = |instances: &[Option<Instance>], place: u32| {
            instances[place as usize].as_ref().map(|i| i.priority)
        };
        while let Some(&first) = rest.first() {
            let own = priority(instances, first);
            let equal = rest.partition_point(|&place| priority(instances, place) >= own);
            let (run, behind) = rest.split_at(equal);
            rest = behind;
            for again in [true, false] {
                for &place in run {
                    let Some(instance) = instances[place as usize].as_mut() else {
                        continue;
                    };
                    if instance.admitted != again {
                        continue;
                    }
                    let benches = scheduler.workspace_count();
                    let stream = scheduler.streams[instance.file as usize].as_mut();
                    let Some(stream) = stream.filter(|_| instance.wants_frames() && open(instance.file))
                    else {
                        (instance.admitted, instance.shortage) = (false, None);
                        continue;
                    };
                    let words = scratch.max(stream.file.heap.scratch_words);
                    let least = |places| stream.file.heap.min_bytes(places, least_block);
                    let needed = least(stream.admitted_instances + 1) - least(stream.admitted_instances);
                    let left = room.saturating_sub(taken + scratch_bytes(benches, words));
                    instance.admitted = needed <= left;
                    if instance.admitted {
                        stream.admitted_instances += 1;
                        taken += needed;
                        scratch = words;
                        least_scratch = least_scratch.max(stream.file.heap.scratch_words);
                        instance.shortage = None;
                    } else {
                        instance.shortage = Some((needed, left));
                        self.refused += usize::from(!again);
                    }
                }
            }
        }
        // Scratch of a file that is gone becomes room for refused instances.
        scheduler.request_scratch(if self.refused > 0 { least_scratch } else { scratch });
        for stream in scheduler.streams.iter_mut().flatten() {
            stream.admitted = stream.admitted_instances > 0;
        }
    }

    fn sort(&mut self, instances: &[Option<Instance>]) {
        let there = instances.iter().zip(0..).filter(|(instance, _)| instance.is_some());
        self.order.clear();
        self.order.extend(there.map(|(_, place)| place));
        sort::unstable_by_key(&mut self.order, |&place| {
            let instance = instances[place as usize].as_ref();
            instance.map(|i| (std::cmp::Reverse(i.priority), i.generation))
        });
    }
}
