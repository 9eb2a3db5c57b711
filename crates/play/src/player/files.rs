//! The files of a player: they are opened, unloaded while hidden, replaced by newer ones, and closed.

use super::Player;
use crate::reel::open_file::Reel;
use crate::stream::event::Event;
use crate::stream::heap::Heap;
use crate::stream::ids::FileId;
use crate::stream::io::SharedSource;
use crate::stream::load::{OpenJob, OpenMode, OpenedFile, open_ready};
use crate::stream::residency::Stream;
use crate::stream::watch::{FileStamp, Watch};
use crate::time::clock::Clock;
use crate::time::timeline::Timeline;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// Microseconds between attempts to open a file again that was unloaded.
const REOPEN_MICROSECONDS: u64 = 2_000_000;

/// A file and its state.
pub(super) struct FileEntry {
    pub generation: u32,
    pub path: PathBuf,
    pub source: Option<SharedSource>,
    /// The reel, if it was opened elsewhere.
    pub reel: Option<Reel>,
    pub state: FileState,
    pub timeline: Option<Timeline>,
    /// Time in microseconds at which one of its instances was last visible.
    pub last_visible: u64,
    /// Time at which opening is tried again, for a file that was open before and could not be opened again.
    pub reopen_at: Option<u64>,
    /// Identifies the file that was opened last at the path.
    stamp: Option<FileStamp>,
    /// The file's watch, if it is watched. A job that opens the file holds it, too.
    watch: Option<Arc<Watch>>,
    /// The opened file that takes its place as soon as nothing is in flight.
    replacement: Option<OpenedFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    Loading,
    Open,
    Failed,
    /// A newer file is open, and takes its place as soon as nothing is in flight.
    Replacing,
    /// Hidden for long; it is unloaded as soon as nothing is in flight.
    Unloading,
    Unloaded,
    Closing,
    Closed,
}

impl FileState {
    /// `true` if a file that has just been opened is wanted: for the first time, again, or as a newer one.
    fn takes_opened(self) -> bool {
        matches!(self, FileState::Loading | FileState::Open | FileState::Failed)
    }
}

impl Player {
    pub(super) fn add_file(
        &mut self,
        path: PathBuf,
        source: Option<SharedSource>,
        reel: Option<Reel>,
    ) -> FileId {
        self.generations += 1;
        let watched = self.options.watch && source.is_none();
        let file = FileEntry {
            generation: self.generations,
            path,
            source,
            reel,
            state: FileState::Loading,
            timeline: None,
            last_visible: self.scheduler.now,
            reopen_at: None,
            stamp: None,
            watch: watched.then(Arc::default),
            replacement: None,
        };
        let closed = self.free_files.pop().map(|number| number as usize);
        let number = closed.unwrap_or(self.files.len());
        if number == self.files.len() {
            self.files.push(file);
            // Reserves room, so that closing all of them in a tick does not allocate.
            self.free_files.reserve(self.files.len());
            self.scheduler.streams.push(None);
            self.scheduler.reserve(self.files.len());
        } else {
            self.files[number] = file;
        }
        self.load(number, false);
        FileId(number as u32, self.generations)
    }

    /// Opens a file, or only if another one stands at its path than the one that was opened last.
    fn load(&mut self, number: usize, if_replaced: bool) {
        let file = &self.files[number];
        let mode = if self.options.threads > 0 { OpenMode::Blocking } else { OpenMode::Polling(None) };
        let load = OpenJob {
            file: number as u32,
            generation: file.generation,
            path: file.path.clone(),
            source: file.source.clone().ok_or_else(|| self.read_threads.clone()),
            reel: file.reel.clone(),
            stamp: None,
            watch: file.watch.clone(),
            if_replaced,
            limits: self.options.file_limits(),
            closing: self.closing.clone(),
            library: self.library.clone(),
            inbox: self.inbox.clone(),
            waiting: self.waiting_opens.clone(),
            mode,
        };
        self.open_threads.push(0, load);
    }

    /// Opens a file again that was unloaded while it was hidden.
    pub(super) fn reload(&mut self, number: usize) {
        self.files[number].state = FileState::Loading;
        self.load(number, false);
    }

    /// Checks whether another file stands at the path of a watched one: one file per tick.
    pub(super) fn watch_files(&mut self) {
        if !self.options.watch || self.files.is_empty() {
            return;
        }
        let number = self.ticks as usize % self.files.len();
        let file = &self.files[number];
        let watch = file.watch.as_ref().filter(|_| matches!(file.state, FileState::Open | FileState::Failed));
        if watch.is_some_and(|watch| Arc::strong_count(watch) == 1 && watch.is_due()) {
            self.load(number, true);
        }
    }

    pub(super) fn collect_opened(&mut self) {
        open_ready(&self.open_threads, &self.waiting_opens, |file, generation| {
            let file = &self.files[file as usize];
            file.generation == generation && file.state.takes_opened()
        });
        {
            let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *inbox, &mut self.arrived);
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        for ((number, generation), opened) in arrived.drain(..) {
            let number = number as usize;
            let file = &mut self.files[number];
            if file.generation != generation || !file.state.takes_opened() {
                continue;
            }
            let id = FileId(number as u32, generation);
            let again = file.timeline.is_some();
            let opened = opened.and_then(|opened| self.scheduler.check_heap(&opened.loaded).map(|()| opened));
            let event = match opened {
                Ok(opened) if file.state == FileState::Open => {
                    if opened.stamp != file.stamp {
                        file.state = FileState::Replacing;
                        file.replacement = Some(opened);
                        self.scheduler.cancel_all(number as u32);
                    }
                    continue;
                }
                Ok(opened) => {
                    let failed = file.reopen_at.take().is_some();
                    let empty = opened.loaded.reel.frame_count() == 0;
                    let replaced = opened.stamp != file.stamp;
                    self.file_opened(number, opened);
                    match (again, failed) {
                        (false, _) if empty => {
                            self.push_event(Event::Opened(id));
                            Event::NoFrames(id)
                        }
                        (false, _) => Event::Opened(id),
                        (true, _) if replaced => Event::Replaced(id),
                        (true, true) => Event::Recovered(id),
                        (true, false) => continue,
                    }
                }
                Err(error) if file.state == FileState::Open => Event::OpenFailed(id, error),
                Err(error) if again => {
                    // Hidden, and meanwhile the file is gone; it may come back.
                    file.state = FileState::Unloaded;
                    let told = file.reopen_at.replace(self.scheduler.now + REOPEN_MICROSECONDS).is_some();
                    if told {
                        continue;
                    }
                    Event::OpenFailed(id, error)
                }
                Err(error) => {
                    file.state = FileState::Failed;
                    Event::OpenFailed(id, error)
                }
            };
            self.push_event(event);
        }
        self.arrived = arrived;
    }

    fn file_opened(&mut self, number: usize, opened: OpenedFile) {
        let OpenedFile { loaded, source, stamp } = opened;
        let frames = loaded.reel.frame_count() as u64;
        let bytes = frames * Heap::block_bytes(loaded.reel.frame_words());
        // Half of the heap is left for streaming.
        let resident =
            bytes <= self.options.resident && self.resident_bytes + bytes <= self.options.heap as u64 / 2;
        self.resident_bytes += if resident { bytes } else { 0 };
        let timeline = Timeline::from_reel(&loaded.reel);
        self.scheduler.streams[number] = Some(Stream::new(loaded, source, number as u32, resident));
        for instance in self.instances.iter_mut().flatten().filter(|i| i.file == number as u32) {
            match &mut instance.clock {
                Some(clock) => clock.set_timeline(&timeline),
                None => {
                    let mut clock = Clock::new(&timeline);
                    for command in instance.commands.drain(..) {
                        clock.command(command);
                    }
                    instance.clock = Some(clock);
                }
            }
        }
        let file = &mut self.files[number];
        file.timeline = Some(timeline);
        file.stamp = stamp;
        file.state = FileState::Open;
        file.last_visible = self.scheduler.now;
    }

    /// Closes, unloads or replaces the files that are marked for it, as soon as nothing is in flight for
    /// them.
    pub(super) fn finish_closing(&mut self) {
        let patience = (self.options.unload_after.max(0.0) * 1e6) as u64;
        for number in 0..self.files.len() {
            let file = &mut self.files[number];
            if file.state == FileState::Open && self.scheduler.now - file.last_visible > patience {
                file.state = FileState::Unloading;
                self.scheduler.cancel_all(number as u32);
            }
            let next = match file.state {
                FileState::Unloading => FileState::Unloaded,
                FileState::Closing => FileState::Closed,
                FileState::Replacing => FileState::Open,
                _ => continue,
            };
            if !self.scheduler.is_quiet(number as u32) {
                continue;
            }
            if let Some(mut stream) = self.scheduler.streams[number].take() {
                stream.clear(&mut self.scheduler.heap);
                if stream.planned_resident {
                    let bytes =
                        stream.frames.len() as u64 * Heap::block_bytes(stream.file.reel.frame_words());
                    self.resident_bytes -= bytes;
                }
            }
            let file = &mut self.files[number];
            file.state = next;
            let replacement = file.replacement.take();
            match next {
                FileState::Open => {
                    if let Some(opened) = replacement {
                        let id = FileId(number as u32, file.generation);
                        self.file_opened(number, opened);
                        self.push_event(Event::Replaced(id));
                    }
                }
                FileState::Closed => {
                    file.source = None;
                    file.reel = None;
                    file.watch = None;
                    file.generation = 0;
                    self.free_files.push(number as u32);
                }
                _ => {}
            }
        }
    }
}
