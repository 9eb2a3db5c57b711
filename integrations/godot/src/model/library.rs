//! The player of all files, which files it has open and for how many instances, and what it reports of each
//! instance.

use super::source::ReelSource;
use meshreel::{Error, Event, FileId, InstanceId, Options, Player};
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// Something that happened to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Something went wrong: the reason, with the file's name. The last good frame stays.
    Failed(String),
    /// A newer file has taken the place of the one before. What was taken from that must be taken anew.
    Replaced,
}

/// A file that is open, or is being opened.
#[derive(Debug)]
struct LibraryFile {
    id: FileId,
    source: ReelSource,
    instances: usize,
}

/// Plays all files in one heap.
#[derive(Debug)]
pub struct Library {
    player: Player,
    files: Vec<LibraryFile>,
    instances: HashMap<InstanceId, FileId>,
    reports: HashMap<InstanceId, Vec<Report>>,
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
            reports: HashMap::new(),
            frame: None,
        })
    }

    /// Returns the player.
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// See [`Library::player`].
    pub fn player_mut(&mut self) -> &mut Player {
        &mut self.player
    }

    /// Returns the number of files that are open or being opened.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Adds an instance of a file, which is opened if it is not open. `None` only if the player is full.
    pub fn add_instance(&mut self, source: &ReelSource) -> Option<InstanceId> {
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
        let instance = self.player.add_instance(file.id)?;
        file.instances += 1;
        self.instances.insert(instance, file.id);
        Some(instance)
    }

    /// Removes an instance. The file is closed with its last one.
    pub fn remove_instance(&mut self, instance: InstanceId) {
        self.player.remove(instance);
        self.reports.remove(&instance);
        let Some(id) = self.instances.remove(&instance) else { return };
        let Some(number) = self.files.iter().position(|file| file.id == id) else { return };
        self.files[number].instances -= 1;
        if self.files[number].instances == 0 {
            self.player.close(id);
            self.files.swap_remove(number);
        }
    }

    /// Returns the open file of an instance.
    pub fn reel(&self, instance: InstanceId) -> Option<&meshreel::Reel> {
        self.player.reel(*self.instances.get(&instance)?)
    }

    /// Moves all instances on by `dt` seconds, unless that was done in this frame of the engine already.
    pub fn tick(&mut self, frame: u64, dt: f64) {
        if self.frame.replace(frame) == Some(frame) {
            return;
        }
        self.player.tick(dt);
        while let Some(event) = self.player.next_event() {
            self.report(event);
        }
    }

    /// Takes the reports about an instance, oldest first.
    pub fn take_reports(&mut self, instance: InstanceId) -> Vec<Report> {
        self.reports.remove(&instance).unwrap_or_default()
    }

    fn report(&mut self, event: Event) {
        match event {
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
                let name = self.instances.get(&instance).map(|file| self.file_name(*file));
                let name = name.unwrap_or_default();
                let text = format!(
                    "{name}: the heap has no room for an instance: it needs {needed} bytes, {left} are left \
                     (project setting meshreel/heap_mib)"
                );
                self.reports.entry(instance).or_default().push(Report::Failed(text));
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
        for (instance, _) in self.instances.iter().filter(|(_, other)| **other == file) {
            self.reports.entry(*instance).or_default().push(report.clone());
        }
    }
}
