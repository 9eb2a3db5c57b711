//! The player of all files: which files it has open and for how many instances, the settings and the keyed
//! time of each instance, and what there is to report of it.

use super::keyed::KeyedTime;
use super::settings::Settings;
use super::source::ReelSource;
use meshreel::time::Clock;
use meshreel::{Command, Error, Event, FileId, InstanceId, Options, Player, Reel, ShownFrames};
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// The project setting that says how large the heap is.
pub const HEAP_SETTING: &str = "meshreel/heap_mib";

/// Something that happened to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Something went wrong: the reason, with the file's name. The last good frame stays.
    Failed(String),
    /// A newer file has taken the place of the one before. What was taken from that must be taken anew.
    Replaced,
    /// It has played to the end, and does not repeat.
    Ended,
}

/// A file that is open, or is being opened.
#[derive(Debug)]
struct LibraryFile {
    id: FileId,
    source: ReelSource,
    instances: usize,
}

/// An instance of a file.
#[derive(Debug)]
struct LibraryInstance {
    file: FileId,
    settings: Settings,
    keyed: KeyedTime,
    /// The last frame of the engine in which its node was processed.
    seen: u64,
    /// `true` while its time does not pass, whatever its settings say.
    suspended: bool,
    ended: bool,
    reports: Vec<Report>,
}

impl LibraryInstance {
    /// Ends the following of a keyed time.
    fn release(&mut self, give: &mut dyn FnMut(Command)) {
        self.keyed.release(&self.settings, give);
        if self.suspended {
            give(Command::Rate(0.0));
        }
    }
}

/// Plays all files in one heap.
#[derive(Debug)]
pub struct Library {
    player: Player,
    files: Vec<LibraryFile>,
    instances: HashMap<InstanceId, LibraryInstance>,
    /// The number of the engine's frame that was passed last.
    frame: Option<u64>,
}

impl Library {
    /// Creates the player.
    pub fn new(options: Options) -> Result<Library, Error> {
        Ok(Library {
            player: Player::new(options)?,
            files: Vec::new(),
            instances: HashMap::new(),
            frame: None,
        })
    }

    /// Returns the player.
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// Returns the number of files that are open or being opened.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Adds an instance of a file, which is opened if it is not open.
    pub fn add_instance(&mut self, source: &ReelSource, settings: Settings) -> Option<InstanceId> {
        let known = self.files.iter().position(|file| file.source == *source);
        let number = known.unwrap_or_else(|| {
            let id = match source {
                ReelSource::Path(path) => self.player.open(path),
                ReelSource::Bytes { name, bytes } => {
                    self.player.open_named_bytes(name, Arc::new(bytes.clone()))
                }
            };
            self.files.push(LibraryFile { id, source: source.clone(), instances: 0 });
            self.files.len() - 1
        });
        let file = &mut self.files[number];
        let id = self.player.add_instance(file.id)?;
        file.instances += 1;
        for command in settings.commands() {
            self.player.command(id, command);
        }
        let instance = LibraryInstance {
            file: file.id,
            settings,
            keyed: KeyedTime::default(),
            seen: u64::MAX,
            suspended: false,
            ended: false,
            reports: Vec::new(),
        };
        self.instances.insert(id, instance);
        Some(id)
    }

    /// Removes an instance. The file is closed with its last one.
    pub fn remove_instance(&mut self, id: InstanceId) {
        self.player.remove(id);
        let Some(instance) = self.instances.remove(&id) else { return };
        let Some(number) = self.files.iter().position(|file| file.id == instance.file) else { return };
        self.files[number].instances -= 1;
        if self.files[number].instances == 0 {
            self.player.close(instance.file);
            self.files.swap_remove(number);
        }
    }

    /// Returns the open file of an instance; `None` before it is open.
    pub fn reel(&self, id: InstanceId) -> Option<&Reel> {
        self.player.reel(self.instances.get(&id)?.file)
    }

    /// Returns what an instance shows; `None` before its first frame.
    pub fn frame(&self, id: InstanceId) -> Option<ShownFrames> {
        self.player.frame(id)
    }

    /// Changes the settings of an instance. Only what differs is given to its clock.
    pub fn change_settings(&mut self, id: InstanceId, settings: Settings) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let before = std::mem::replace(&mut instance.settings, settings);
        let mut give = |command| self.player.command(id, command);
        if before.playing != settings.playing {
            instance.release(&mut give);
            give(settings.play_command());
        }
        if before.repeat != settings.repeat && !instance.keyed.follows() {
            give(Command::Repeat(settings.repeat));
        }
        if before.rate != settings.rate && !instance.keyed.follows() && !instance.suspended {
            give(Command::Rate(settings.rate));
        }
        if before.range != settings.range {
            give(settings.range_command());
        }
        if before.interpolate != settings.interpolate {
            give(Command::Interpolate(settings.interpolate));
        }
        if before.start != settings.start {
            give(settings.start_command());
        }
    }

    /// Gives a command to the clock of an instance. It takes effect at the next tick, or once the file is
    /// open.
    pub fn command(&mut self, id: InstanceId, command: Command) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        instance.release(&mut |command| self.player.command(id, command));
        self.player.command(id, command);
    }

    /// Keys the time of an instance, in seconds from the first frame. Keyed once, it is a jump; keyed in each
    /// frame, the clock follows it.
    pub fn key_time(&mut self, id: InstanceId, seconds: f64) {
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.keyed.set(seconds);
        }
    }

    /// Returns the time of an instance, in seconds from the first frame; 0 before its file is open.
    pub fn time(&self, id: InstanceId) -> f64 {
        let keyed = self.instances.get(&id).and_then(|instance| instance.keyed.pending());
        keyed.or_else(|| Some(self.player.clock(id)?.position())).unwrap_or(0.0)
    }

    /// Returns the number of the frame that an instance shows, or the earlier of two that are blended; `None`
    /// before its first frame.
    pub fn frame_number(&self, id: InstanceId) -> Option<usize> {
        self.frame(id).map(|shown| shown.pair().first as usize)
    }

    /// Says that the node of an instance is processed in this frame of the engine. The time of one that is
    /// not, because the game is paused, does not pass.
    pub fn see(&mut self, id: InstanceId, frame: u64) {
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.seen = frame;
        }
    }

    /// `true` if an instance is stopped, and so not shown.
    pub fn is_stopped(&self, id: InstanceId) -> bool {
        self.player.clock(id).is_some_and(Clock::stopped)
    }

    /// `true` if an instance has played to its end, and does not repeat.
    pub fn has_ended(&self, id: InstanceId) -> bool {
        self.instances.get(&id).is_some_and(|instance| instance.ended)
    }

    /// Sets the priority of an instance: if the heap has no room for all, those of higher priority come
    /// first.
    pub fn set_priority(&mut self, id: InstanceId, priority: i32) {
        self.player.set_priority(id, priority);
    }

    /// Shows or hides an instance. The time of a hidden one passes, but none of its frames are decoded.
    pub fn set_visible(&mut self, id: InstanceId, visible: bool) {
        self.player.set_visible(id, visible);
    }

    /// Moves all instances on by `dt` seconds, unless that was done in this frame of the engine already.
    pub fn tick(&mut self, frame: u64, dt: f64) {
        let before = self.frame.replace(frame);
        if before == Some(frame) {
            return;
        }
        self.suspend_unseen(before.unwrap_or(0));
        let mut given = Vec::new();
        for (id, instance) in self.instances.iter_mut().filter(|(_, instance)| !instance.suspended) {
            if let Some(clock) = self.player.clock(*id) {
                let mut give = |command| given.push((*id, command));
                instance.keyed.tick(clock, dt, &instance.settings, &mut give);
            }
        }
        for (id, command) in given {
            self.player.command(id, command);
        }
        self.player.tick(dt);
        while let Some(event) = self.player.next_event() {
            self.report(event);
        }
        for (id, instance) in &mut self.instances {
            let clock = self.player.clock(*id);
            let ended = clock.is_some_and(|clock| clock.ended() && clock.playing());
            let ended = ended && !instance.keyed.follows();
            if ended && !instance.ended {
                instance.reports.push(Report::Ended);
            }
            instance.ended = ended;
        }
    }

    /// Stops the time of the instances that were not seen since a frame, and lets that of the others pass.
    fn suspend_unseen(&mut self, frame: u64) {
        for (id, instance) in &mut self.instances {
            let suspended = instance.seen < frame;
            if std::mem::replace(&mut instance.suspended, suspended) != suspended {
                let rate = if suspended { 0.0 } else { instance.settings.rate };
                self.player.command(*id, Command::Rate(rate));
            }
        }
    }

    /// Takes the reports about an instance, oldest first.
    pub fn take_reports(&mut self, id: InstanceId) -> Vec<Report> {
        self.instances.get_mut(&id).map(|instance| std::mem::take(&mut instance.reports)).unwrap_or_default()
    }

    fn report(&mut self, event: Event) {
        match event {
            Event::OpenFailed(file, error @ Error::Limit { .. }) => {
                self.fail(file, &format!("{error} (project setting {HEAP_SETTING})"));
            }
            Event::OpenFailed(file, error) | Event::Damaged(file, error) => self.fail(file, &error),
            Event::ReadFailed(file, error) => {
                let text = format!("{}: reading: {error}", self.file_name(file));
                self.fail(file, &text);
            }
            Event::NoFrames(file) => {
                let name = self.file_name(file);
                self.fail(file, &format!("{name}: it has no frames, only clips: use a ReelClipPlayer"));
            }
            Event::Refused { instance, needed, left } => {
                let Some(refused) = self.instances.get(&instance) else { return };
                let name = self.file_name(refused.file);
                let text = format!(
                    "{name}: the heap has no room for an instance: it needs {needed} bytes, {left} are left \
                     (project setting {HEAP_SETTING})"
                );
                if let Some(refused) = self.instances.get_mut(&instance) {
                    refused.reports.push(Report::Failed(text));
                }
            }
            Event::Replaced(file) => self.report_all(file, &Report::Replaced),
            _ => {}
        }
    }

    fn file_name(&self, file: FileId) -> String {
        self.player.name(file).unwrap_or(Path::new("(closed)")).display().to_string()
    }

    fn fail(&mut self, file: FileId, error: &dyn Display) {
        self.report_all(file, &Report::Failed(error.to_string()));
    }

    fn report_all(&mut self, file: FileId, report: &Report) {
        for instance in self.instances.values_mut().filter(|instance| instance.file == file) {
            instance.reports.push(report.clone());
        }
    }
}
