//! The player: files, instances of them, and a tick that reads, decodes and shows in fixed memory. See
//! [`Player`].

mod files;

use self::files::{FileEntry, FileState};
use crate::Error;
use crate::debug::impl_debug;
use crate::policy::DebugSwitches;
use crate::raw::CodedUnits;
use crate::reel::open_file::Reel;
use crate::stream::admission::{Admission, Instance};
use crate::stream::event::Event;
use crate::stream::heap::Heap;
use crate::stream::ids::{FileId, InstanceId};
use crate::stream::io::{PositionedSource, QueuedRead, ReadToken, SharedSource};
use crate::stream::jobs::{BuiltInPool, Job, JobContext};
use crate::stream::load::{self, OpenJob, OpenResult, OpenedFiles, WaitingOpens};
use crate::stream::options::Options;
use crate::stream::residency::{Horizons, Stream};
use crate::stream::scheduler::{Incident, Scheduler, URGENT_MICROSECONDS, tag_stream};
use crate::stream::sharing::MeshLibrary;
use crate::stream::statistics::{Statistics, StreamStatistics};
use crate::stream::trace::span;
use crate::stream::worker_threads::WorkerThreads;
use crate::time::clock::{Clock, Command};
use crate::time::demand::FrameDemand;
use crate::view::shown_frames::{ShownFrames, UpcomingFrame};
use meshreel_format::ReadAt;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of units and reads that can be in flight.
const MAX_IN_FLIGHT: usize = 4096;

/// The number of events that are kept until they are fetched; later ones are lost.
const MAX_EVENTS: usize = 256;

/// Per tick, the part of `decode_ahead` that is used shrinks by this factor if the heap had no room for it,
/// and else grows by `REACH_GROWTH`. So a heap that is too small for all of it is not contended for each
/// tick.
const REACH_DECAY: f32 = 0.9;
const REACH_GROWTH: f32 = 0.005;
const MIN_REACH: f32 = 0.2;

/// The longest tick that counts, in seconds; longer ones are cut to it.
const MAX_TICK_SECONDS: f64 = 3600.0;

/// Plays files: any number of instances, forwards or backwards, at any rate, in a heap of fixed size.
///
/// Call [`Player::tick`] once per frame, on one thread: it never waits and, once the files are open, never
/// allocates. Then ask [`Player::frame`] for what to draw. Threads of the player read and decode in the
/// background.
pub struct Player {
    scheduler: Scheduler,
    files: Vec<FileEntry>,
    /// Free places in `files`.
    free_files: Vec<u32>,
    instances: Vec<Option<Instance>>,
    /// Free places in `instances`.
    free_instances: Vec<u32>,
    admission: Admission,
    generations: u32,
    options: Options,
    switches: DebugSwitches,
    read_threads: Arc<WorkerThreads<QueuedRead>>,
    open_threads: WorkerThreads<OpenJob>,
    decode_threads: Option<Arc<BuiltInPool>>,
    inbox: OpenedFiles,
    waiting_opens: WaitingOpens,
    arrived: Vec<((u32, u32), OpenResult)>,
    closing: Arc<AtomicBool>,
    library: Arc<MeshLibrary>,
    events: VecDeque<Event>,
    resident_bytes: u64,
    /// `true` if a file was closed and its instances are not removed yet.
    has_closing_files: bool,
    ticks: u64,
    /// The part of `decode_ahead` for which the heap has room, up to 1.
    reach: f32,
}

impl_debug!("Player", Player, |player| {
    files: player.files.len() - player.free_files.len(),
    instances: player.instances.iter().flatten().count(),
    ticks: player.ticks,
});

impl Player {
    /// Creates a player: allocates the heap and starts the threads. Returns an error if the system has no
    /// memory for the heap or cannot start the threads, or if an option is invalid.
    pub fn new(options: Options) -> Result<Player, Error> {
        options.check()?;
        let heap = Heap::new(options.heap, options.allocator.clone()).ok_or_else(|| {
            let bytes = options.heap;
            Error::misuse(format!(
                "a heap of {bytes} bytes cannot be had from this system: a smaller one (Options::heap) may do"
            ))
        })?;
        let work = JobContext::new(heap.memory().clone(), MAX_IN_FLIGHT);
        let threads = match &options.pool {
            Some(pool) => {
                work.set_pool(pool.clone());
                None
            }
            None => {
                let crew = WorkerThreads::new("meshreel decode", options.threads, MAX_IN_FLIGHT, Job::run)?;
                let threads = Arc::new(BuiltInPool(crew));
                work.set_pool(threads.clone());
                Some(threads)
            }
        };
        let reads =
            WorkerThreads::new("meshreel read", options.read_threads, MAX_IN_FLIGHT, QueuedRead::run)?;
        let loaders = usize::from(options.threads > 0);
        let loads = WorkerThreads::new("meshreel open", loaders, 16, OpenJob::run)?;
        Ok(Player {
            scheduler: Scheduler::new(heap, work, MAX_IN_FLIGHT, options.read_size.max(1)),
            files: Vec::new(),
            free_files: Vec::new(),
            instances: Vec::new(),
            free_instances: Vec::new(),
            admission: Admission::default(),
            generations: 0,
            switches: DebugSwitches::ON,
            read_threads: Arc::new(reads),
            open_threads: loads,
            decode_threads: threads,
            inbox: OpenedFiles::default(),
            waiting_opens: WaitingOpens::default(),
            arrived: Vec::new(),
            closing: Arc::new(AtomicBool::new(false)),
            library: Arc::default(),
            events: VecDeque::with_capacity(MAX_EVENTS),
            resident_bytes: 0,
            has_closing_files: false,
            ticks: 0,
            reach: 1.0,
            options,
        })
    }

    // Files and instances.

    /// Begins to open a file and returns at once. An [`Event`] tells whether it succeeded; instances can be
    /// made before that.
    pub fn open(&mut self, path: impl AsRef<Path>) -> FileId {
        self.add_file(path.as_ref().into(), None, None)
    }

    /// Opens a file that lies in memory, or any other bytes that a thread can read.
    pub fn open_bytes(&mut self, bytes: Arc<dyn ReadAt>) -> FileId {
        self.open_named_bytes("(memory)", bytes)
    }

    /// Opens a file like [`Player::open_bytes`]. Errors call it `name`.
    pub fn open_named_bytes(&mut self, name: impl AsRef<Path>, bytes: Arc<dyn ReadAt>) -> FileId {
        let source = PositionedSource { source: bytes, crew: self.read_threads.clone() };
        self.open_source(name, Arc::new(source))
    }

    /// Opens a source of the caller's own, such as an entry of a pack file. Errors call it `name`.
    pub fn open_source(&mut self, name: impl AsRef<Path>, source: SharedSource) -> FileId {
        self.add_file(name.as_ref().into(), Some(source), None)
    }

    /// Adds a file that was opened elsewhere. Its frames are read from `source`, its static data from what
    /// the reel was opened from. If that fails with [`std::io::ErrorKind::WouldBlock`], the bytes are not
    /// there yet: each tick asks again until they are or the file is closed. The limits are those that the
    /// reel was opened with. A reel that takes more memory than [`Options::file_limits`] allows is refused,
    /// as is a source of another length. The static data stays in memory as long as the player or anyone else
    /// holds the reel.
    pub fn open_reel(&mut self, reel: Reel, source: SharedSource) -> FileId {
        self.add_file(reel.path().into(), Some(source), Some(reel))
    }

    /// Closes a file: removes all its instances and releases its memory. Reads and decodes in flight end by
    /// themselves.
    pub fn close(&mut self, file: FileId) {
        let Some(number) = self.file_number(file) else {
            return;
        };
        self.files[number].state = FileState::Closing;
        self.scheduler.cancel_all(number as u32);
        // From now on its instances count as removed; the next tick removes them all at once.
        self.has_closing_files = true;
    }

    fn remove_closed_instances(&mut self) {
        if !std::mem::take(&mut self.has_closing_files) {
            return;
        }
        for (instance, place) in self.instances.iter_mut().zip(0..) {
            let closing = |i: &mut Instance| self.files[i.file as usize].state == FileState::Closing;
            if instance.take_if(closing).is_some() {
                self.free_instances.push(place);
            }
        }
        self.admission.mark_stale(self.instances.len());
    }

    /// Adds an instance of a file: visible, and stopped at the first frame. `None` if the file is closed.
    #[must_use]
    pub fn add_instance(&mut self, file: FileId) -> Option<InstanceId> {
        let number = self.file_number(file)?;
        self.generations += 1;
        let clock = self.files[number].timeline.as_ref().map(Clock::new);
        let instance = Instance::new(self.generations, number as u32, clock);
        let place = self.free_instances.pop().unwrap_or(self.instances.len() as u32);
        if place as usize == self.instances.len() {
            self.instances.push(None);
            // Reserves room, so that removing all of them in a tick does not allocate.
            self.free_instances.reserve(self.instances.len());
        }
        self.instances[place as usize] = Some(instance);
        self.admission.mark_stale(self.instances.len());
        Some(InstanceId(place, self.generations))
    }

    /// Removes an instance.
    pub fn remove(&mut self, instance: InstanceId) {
        if self.get(instance).is_some() {
            self.instances[instance.0 as usize] = None;
            self.free_instances.push(instance.0);
            self.admission.mark_stale(self.instances.len());
        }
    }

    /// Sets the priority of an instance; 0 unless set. If the heap has no room for all instances, those of
    /// higher priority are served first, then those that were served before, then the older ones.
    pub fn set_priority(&mut self, instance: InstanceId, priority: i32) {
        if let Some(instance) = self.get_mut(instance)
            && std::mem::replace(&mut instance.priority, priority) != priority
        {
            self.admission.mark_stale(self.instances.len());
        }
    }

    /// `true` if the heap has no room for an instance that wants to be shown or streamed, see
    /// [`Event::Refused`].
    pub fn is_refused(&self, instance: InstanceId) -> bool {
        self.get(instance).is_some_and(|i| i.shortage.is_some())
    }

    /// Sends a command to an instance's clock. It takes effect at the next tick; before the file is open,
    /// commands are kept until it is.
    pub fn command(&mut self, instance: InstanceId, command: Command) {
        if let Some(instance) = self.get_mut(instance) {
            match &mut instance.clock {
                Some(clock) => clock.command(command),
                None => instance.commands.push(command),
            }
        }
    }

    /// Shows or hides an instance. The time of a hidden instance goes on, but it asks for no frames. A file
    /// without a visible instance for [`Options::unload_after`] seconds releases its static data, and is
    /// opened again when one is shown.
    pub fn set_visible(&mut self, instance: InstanceId, visible: bool) {
        if let Some(instance) = self.get_mut(instance) {
            instance.visible = visible;
            if !visible {
                instance.shown = None;
            }
        }
    }

    /// Returns the clock of an instance; `None` before its file is open.
    pub fn clock(&self, instance: InstanceId) -> Option<&Clock> {
        self.get(instance)?.clock.as_ref()
    }

    /// Returns the open file; `None` if it is not open.
    pub fn reel(&self, file: FileId) -> Option<&Reel> {
        let stream = self.scheduler.streams[self.file_number(file)?].as_ref()?;
        Some(&stream.file.reel)
    }

    /// Returns the name of a file in errors: its path, or the name that it was opened under.
    pub fn name(&self, file: FileId) -> Option<&Path> {
        Some(&self.files[self.file_number(file)?].path)
    }

    /// Sets the kill switches, which stop the issuing of reads, the starting of jobs, or the handing out of
    /// frames.
    pub fn set_switches(&mut self, switches: DebugSwitches) {
        self.switches = switches;
        self.scheduler.reads_enabled = switches.reads;
        self.scheduler.jobs_enabled = switches.jobs;
    }

    /// Takes the oldest event that was not fetched yet.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    // The tick.

    /// Moves the player on by `dt` seconds: takes in what was read and decoded, moves all clocks, and starts
    /// the reads and decodes that they will need. Never waits; allocates only if files have just been opened.
    pub fn tick(&mut self, dt: f64) {
        span!("tick");
        let dt = if dt.is_nan() { 0.0 } else { dt.clamp(0.0, MAX_TICK_SECONDS) };
        self.ticks += 1;
        self.scheduler.now += (dt * 1e6) as u64;
        self.remove_closed_instances();
        self.collect_opened();
        self.watch_files();
        self.scheduler.collect();
        self.move_clocks(dt);
        let open = |file: u32| self.files[file as usize].state == FileState::Open;
        (self.admission).decide(&mut self.instances, &mut self.scheduler, open);
        self.plan();
        self.scheduler.resize_scratch();
        let ahead = (self.options.least_read_ahead.max(0.0) * 1e6) as u64;
        self.scheduler.issue_reads(ahead);
        // A unit that waits for a read is started when that is issued.
        self.scheduler.start_decodes();
        self.reach = match self.scheduler.starved {
            true => (self.reach * REACH_DECAY).max(MIN_REACH),
            false => (self.reach + REACH_GROWTH).min(1.0),
        };
        self.run_jobs();
        self.scheduler.collect();
        self.report_events();
        self.finish_closing();
        self.choose_frames();
    }

    /// Runs all jobs within the tick, for a player without threads.
    fn run_jobs(&mut self) {
        loop {
            let read = self.read_threads.run_all();
            let decoded = (self.decode_threads.as_ref()).is_some_and(|threads| threads.0.run_all());
            if !read && !decoded {
                return;
            }
        }
    }

    fn move_clocks(&mut self, dt: f64) {
        let mut reopen = None;
        // An instance that waits comes after those that play, and so looks less far ahead.
        let ahead = self.options.decode_ahead * self.reach;
        let (behind, most) = (ahead / 4.0, f64::from(ahead) * 0.7);
        for instance in self.instances.iter_mut().flatten() {
            let number = instance.file as usize;
            if instance.visible {
                self.files[number].last_visible = self.scheduler.now;
                let file = &self.files[number];
                if file.state == FileState::Unloaded
                    && file.reopen_at.is_none_or(|at| at <= self.scheduler.now)
                {
                    reopen = Some(number);
                }
            }
            let stream = self.scheduler.streams[number].as_ref();
            let Some(clock) = &mut instance.clock else {
                continue;
            };
            clock.update_pre_roll(most, |frame| stream.is_some_and(|s| s.is_decoded(frame)));
            clock.advance(dt);
            instance.demand = if instance.visible { clock.demand() } else { FrameDemand::default() };
            instance.waiting = clock.waiting();
            if instance.waiting {
                let spans = &mut instance.demand.spans;
                spans.iter_mut().for_each(|span| span.in_seconds += behind);
            }
            instance.pace = clock.pace();
            if instance.demand.now.is_none() {
                instance.shown = None;
                instance.late = false;
            }
        }
        // At most one file per tick, as opening is work.
        if let Some(number) = reopen {
            self.reload(number);
        }
    }

    fn plan(&mut self) {
        span!("plan");
        let Scheduler { heap, streams, jobs: work, now, .. } = &mut self.scheduler;
        let now = *now;
        let micros = |seconds: f32| (seconds.max(0.0) * 1e6) as u64;
        let horizons = Horizons {
            decode: micros(self.options.decode_ahead * self.reach),
            read: micros(self.options.most_read_ahead.max(self.options.least_read_ahead)),
        };
        for stream in streams.iter_mut().flatten() {
            stream.begin_plan();
        }
        // First the frames that instances show now, then those ahead, as the plan may become too long.
        let mut each = |plan: &mut dyn FnMut(&mut Stream, &mut Heap, &Instance)| {
            for instance in self.instances.iter().flatten().filter(|i| i.admitted) {
                if let Some(stream) = streams[instance.file as usize].as_mut() {
                    plan(stream, heap, instance);
                }
            }
        };
        each(&mut |stream, heap, instance| {
            let due = now + if instance.waiting { URGENT_MICROSECONDS } else { 0 };
            stream.plan_now(heap, now, due, &instance.demand, instance.shown);
        });
        each(&mut |stream, heap, instance| {
            stream.plan_next(heap, now, &instance.demand, horizons.decode);
        });
        each(&mut |stream, _, instance| stream.plan_reads(now, &instance.demand, horizons));
        for stream in streams.iter_mut().flatten() {
            stream.plan_resident(heap, now);
            let source = stream.source.clone();
            stream.end_plan(heap, |node, token| {
                work.graph.cancel(node);
                if let Some(token) = token {
                    source.cancel(ReadToken(token));
                }
            });
        }
    }

    /// Chooses the frames that each instance shows from now on.
    fn choose_frames(&mut self) {
        for instance in self.instances.iter_mut().flatten() {
            let (Some(pair), jump) = (instance.demand.now, instance.demand.jump) else {
                continue;
            };
            let stream = self.scheduler.streams[instance.file as usize].as_mut();
            if let Some(stream) = &stream
                && stream.has_pair(pair)
            {
                instance.shown = Some((pair, instance.pace));
                instance.arrived = Some(jump);
                instance.late = false;
                if !instance.waiting {
                    continue;
                }
            } else {
                instance.late = true;
            }
            // The first frame after a jump may take as long as the clock waits for a pre-roll.
            let now = self.scheduler.now;
            let until = match instance.awaited {
                Some((of, until)) if of == jump => until,
                _ => {
                    let patience = instance.clock.as_ref().map_or(0.0, Clock::jump_timeout);
                    now.saturating_add((patience * 1e6) as u64)
                }
            };
            instance.awaited = Some((jump, until));
            let waiting = !instance.late || (instance.arrived != Some(jump) && now < until);
            let count = if waiting { &mut instance.seek_wait_ticks } else { &mut instance.missed };
            *count += 1;
            if let Some(stream) = stream {
                let counters = &mut stream.counters;
                let count = if waiting { &mut counters.seek_wait_ticks } else { &mut counters.missed };
                *count += 1;
            }
        }
    }

    fn report_events(&mut self) {
        while let Some(incident) = self.scheduler.incidents.pop() {
            let id = |number: u32| FileId(number, self.files[number as usize].generation);
            let event = match incident {
                Incident::Read(file, error) => Event::ReadFailed(id(file), error),
                Incident::Damaged(file, error) => Event::Damaged(id(file), error),
                Incident::Recovered(file) => Event::Recovered(id(file)),
            };
            self.push_event(event);
        }
        // An event that finds no room is sent in the next tick.
        for (instance, place) in self.instances.iter_mut().zip(0..) {
            let Some(instance) = instance.as_mut().filter(|_| self.events.len() < MAX_EVENTS) else {
                continue;
            };
            let id = InstanceId(place, instance.generation);
            match instance.shortage {
                Some((needed, left)) if !instance.refusal_reported => {
                    instance.refusal_reported = true;
                    self.events.push_back(Event::Refused { instance: id, needed, left });
                }
                None if instance.refusal_reported && instance.admitted => {
                    instance.refusal_reported = false;
                    self.events.push_back(Event::Admitted(id));
                }
                _ => {}
            }
        }
    }

    fn push_event(&mut self, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push_back(event);
        }
    }

    // Output.

    /// Returns the two decoded frames around an instance's time. They can be kept over ticks and sent to
    /// other threads; their memory is not reused while they live. `None` while none of its frames is in
    /// memory yet.
    #[must_use]
    pub fn frame(&self, instance: InstanceId) -> Option<ShownFrames> {
        let instance = self.get(instance).filter(|_| self.switches.drawing)?;
        let (pair, pace) = instance.shown?;
        let stream = self.scheduler.streams[instance.file as usize].as_ref()?;
        let read = |frame: u32| {
            let frame = stream.frames.get(frame as usize).filter(|_| stream.is_decoded(frame))?;
            self.scheduler.jobs.memory.read(frame.block?)
        };
        Some(ShownFrames {
            id: FileId(instance.file, self.files[instance.file as usize].generation),
            first: read(pair.first)?,
            second: read(pair.second)?,
            file: stream.file.clone(),
            pair,
            pace,
            late: instance.late,
        })
    }

    /// Returns the decoded frames that an instance will show after the current ones, soonest first. Does not
    /// allocate.
    pub fn upcoming_frames(&self, instance: InstanceId) -> impl Iterator<Item = UpcomingFrame> + '_ {
        let found = self.get(instance).and_then(|instance| {
            Some((self.scheduler.streams[instance.file as usize].as_ref()?, &instance.demand))
        });
        found.into_iter().flat_map(|(stream, demand)| {
            stream.decoded_ahead(demand).filter_map(|frame| {
                let block = stream.frames.get(frame as usize)?.block?;
                let words = self.scheduler.jobs.memory.read(block)?;
                Some(UpcomingFrame { file: stream.file.clone(), words, frame })
            })
        })
    }

    /// Returns the coded units of a file that was opened without points ([`crate::Limits::points`]). `None`
    /// if it has none or is not open.
    pub fn coded_units(&self, file: FileId) -> Option<CodedUnits<'_>> {
        let stream = self.scheduler.streams[self.file_number(file)?].as_ref()?;
        CodedUnits::new(stream, &self.scheduler.jobs.memory)
    }

    /// Returns two counters of an instance: the ticks in which it lacked the frame that it should have shown,
    /// and the ticks between a start or jump and its first frame.
    pub fn late_ticks(&self, instance: InstanceId) -> Option<(u64, u64)> {
        let instance = self.get(instance)?;
        Some((instance.missed, instance.seek_wait_ticks))
    }

    /// Writes the statistics of the player, as for an overlay. The lists of `out` are reused.
    pub fn statistics(&self, out: &mut Statistics) {
        out.ticks = self.ticks;
        out.instances = self.instances.len() - self.free_instances.len();
        out.refused = self.admission.refused;
        out.heap_bytes = self.scheduler.heap.bytes();
        out.heap_used = self.scheduler.heap.used_bytes();
        out.heap_held = self.scheduler.heap.held_bytes();
        out.heap = self.scheduler.heap.counters();
        out.in_flight = self.scheduler.in_flight;
        out.decode_seconds = self.scheduler.jobs.busy_nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9;
        self.scheduler.heap.list_regions(&mut out.regions, tag_stream);
        let streams = self.scheduler.streams.iter().flatten();
        out.streams.resize_with(streams.clone().count(), StreamStatistics::default);
        for (stream, out) in streams.zip(&mut out.streams) {
            let generation = self.files[stream.number as usize].generation;
            out.fill(FileId(stream.number, generation), stream);
        }
    }

    fn file_number(&self, file: FileId) -> Option<usize> {
        let found = self.files.get(file.0 as usize)?;
        let there =
            found.generation == file.1 && !matches!(found.state, FileState::Closing | FileState::Closed);
        there.then_some(file.0 as usize)
    }

    fn get(&self, instance: InstanceId) -> Option<&Instance> {
        let found = self.instances.get(instance.0 as usize)?.as_ref();
        found.filter(|i| i.generation == instance.1 && self.is_live(i.file))
    }

    fn get_mut(&mut self, instance: InstanceId) -> Option<&mut Instance> {
        self.get(instance)?;
        self.instances.get_mut(instance.0 as usize)?.as_mut()
    }

    /// `true` unless the file is being closed.
    fn is_live(&self, file: u32) -> bool {
        self.files[file as usize].state != FileState::Closing
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        for number in 0..self.files.len() {
            self.scheduler.cancel_all(number as u32);
        }
        // A thread that is in a slow read or opens a file ends after that, and its buffer lives as long. Jobs
        // are short.
        self.open_threads.close(false);
        self.read_threads.close(false);
        // Files that wait for a read hold the list that they wait in.
        load::drop_waiting(&self.waiting_opens);
        if let Some(threads) = &self.decode_threads {
            threads.0.close(true);
        }
    }
}
