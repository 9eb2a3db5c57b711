//! A player with its files and their instances, by number. Each call has a result, an input buffer and an
//! output buffer.

use crate::blocks::Blocks;
use crate::cameras;
#[cfg(feature = "gpu")]
use crate::card::{CardFile, CardOptions};
use crate::clips::Clips;
use crate::describe::describe;
use crate::frame::{self, FrameOptions, WrittenPair};
use crate::reads::Reads;
use crate::writer::Writer;
use meshreel::{Command, Error, Event, FileId, InstanceId, Limits, Options, Player, Reel, Repeat};
use std::io;
use std::sync::Arc;

/// Bytes besides the heap and files: for the module itself, its input and output.
const MODULE_BYTES: u64 = 16 << 20;

/// The result of a call.
pub(crate) enum CallResult {
    /// Success, with a number that the call defines.
    Done(u32),
    /// Bytes of the file are missing, see [`Session::wanted`].
    MissingBytes,
    Failed(Error),
}

impl From<Result<u32, Error>> for CallResult {
    fn from(result: Result<u32, Error>) -> CallResult {
        match result {
            Ok(number) => CallResult::Done(number),
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::WouldBlock => {
                CallResult::MissingBytes
            }
            Err(error) => CallResult::Failed(error),
        }
    }
}

/// The whole state of the module.
pub(crate) struct Session {
    player: Player,
    limits: Limits,
    files: Vec<Option<File>>,
    instances: Vec<Option<Instance>>,
    pub input: Vec<u8>,
    pub output: Writer,
}

struct File {
    name: String,
    exact: bool,
    blocks: Arc<Blocks>,
    reads: Arc<Reads>,
    reel: Option<Reel>,
    id: Option<FileId>,
    clips: Option<Clips>,
    #[cfg(feature = "gpu")]
    card: Option<CardFile>,
}

impl File {
    /// Whether vertices, and whether indices, are output as values; they may be on a card instead.
    fn emits_values(&self) -> (bool, bool) {
        #[cfg(feature = "gpu")]
        if let Some(card) = &self.card {
            return (false, card.gives_indices());
        }
        (true, true)
    }

    /// Opens the file as far as its bytes are present.
    fn open(&self, limits: &Limits) -> Result<Reel, Error> {
        let open = |limits: &Limits| Reel::from_named_source(self.blocks.clone(), &self.name, limits);
        let reel = open(limits)?;
        #[cfg(feature = "gpu")]
        if let Some(card) = &self.card {
            return open(&card.limits(reel.description(), limits.clone()));
        }
        Ok(reel)
    }
}

#[derive(Clone, Copy)]
struct Instance {
    file: usize,
    id: InstanceId,
    last: Option<WrittenPair>,
}

/// Inserts an item at the first free position of a list, or at its end; returns the position.
fn insert_in_gap<T>(list: &mut Vec<Option<T>>, item: T) -> u32 {
    let at = list.iter().position(Option::is_none).unwrap_or(list.len());
    if at == list.len() {
        list.push(None);
    }
    list[at] = Some(item);
    at as u32
}

fn no_file(file: u32) -> Error {
    Error::misuse(format!("file {file} is not there: it was closed, or never opened"))
}

/// Returns the class of an error as a number, from 1 on.
fn class(error: &Error) -> usize {
    match error {
        Error::Io { .. } => 1,
        Error::Malformed { .. } => 2,
        Error::Unsupported { .. } => 3,
        Error::Limit { .. } => 4,
        _ => 5,
    }
}

/// Writes class and message of an error.
pub(crate) fn write_error(error: &Error, out: &mut Writer) {
    out.u32(class(error));
    out.text(&error.to_string());
}

impl Session {
    /// Creates a session within `memory` bytes, `heap` of them for frames. Files whose frames take at most
    /// `resident` bytes are decoded once and kept. `read` is the number of bytes of one read.
    pub fn new(memory: u64, heap: u64, resident: u64, read: u64) -> Result<Session, Error> {
        let least = heap.saturating_add(MODULE_BYTES);
        if memory <= least {
            return Err(Error::misuse(format!(
                "{memory} bytes of memory are too little for {heap} bytes of frames: more than {least} are needed"
            )));
        }
        let options = Options::default()
            .with_heap(heap as usize)
            .with_resident(resident)
            .with_read_size(read)
            .with_threads(0)
            .with_read_threads(0)
            .with_file_memory(memory - least);
        let limits = options.file_limits();
        Ok(Session {
            player: Player::new(options)?,
            limits,
            files: Vec::new(),
            instances: Vec::new(),
            input: Vec::new(),
            output: Writer::default(),
        })
    }

    fn file(&mut self, file: u32) -> Result<&mut File, Error> {
        self.files.get_mut(file as usize).and_then(Option::as_mut).ok_or_else(|| no_file(file))
    }

    fn instance_slot(&self, instance: u32) -> Result<&Instance, Error> {
        let found = self.instances.get(instance as usize).and_then(Option::as_ref);
        found.ok_or_else(|| Error::misuse(format!("instance {instance} is not there: it was removed")))
    }

    // Files.

    /// Adds a file of `size` bytes, whose name is the input.
    pub fn add(&mut self, size: u64, exact: bool) -> u32 {
        let blocks = Arc::new(Blocks::new(size));
        let file = File {
            name: String::from_utf8_lossy(&self.input).into_owned(),
            exact,
            reads: Arc::new(Reads::new(blocks.clone(), size)),
            blocks,
            reel: None,
            id: None,
            clips: None,
            #[cfg(feature = "gpu")]
            card: None,
        };
        insert_in_gap(&mut self.files, file)
    }

    /// Opens a file as far as its bytes are present, and describes it when it is open.
    pub fn open(&mut self, file: u32) -> CallResult {
        self.try_open(file).into()
    }

    fn try_open(&mut self, number: u32) -> Result<u32, Error> {
        let limits = self.limits.clone();
        let file = self.file(number)?;
        let reel = match &file.reel {
            Some(reel) => reel.clone(),
            None => file.open(&limits)?,
        };
        if file.id.is_none() {
            file.reel = Some(reel.clone());
            let reads = file.reads.clone();
            let id = self.player.open_reel(reel.clone(), reads);
            self.file(number)?.id = Some(id);
        }
        let exact = self.file(number)?.exact;
        describe(&reel, exact, &mut self.output);
        Ok(number)
    }

    /// Provides bytes of a file from `offset` on: the input.
    pub fn provide(&mut self, file: u32, offset: u64) -> Result<u32, Error> {
        let input = std::mem::take(&mut self.input);
        let done = self.file(file).map(|file| file.blocks.provide(offset, &input));
        self.input = input;
        done.map(|()| 0)
    }

    /// Writes the missing ranges of a file, as offset and size; returns their number.
    pub fn wanted(&mut self, file: u32) -> Result<u32, Error> {
        let ranges = self.file(file)?.blocks.take_wanted();
        for (offset, size) in &ranges {
            self.output.f64(*offset as f64);
            self.output.f64(*size as f64);
        }
        Ok(ranges.len() as u32)
    }

    /// Closes a file and ends its instances.
    pub fn close(&mut self, file: u32) -> Result<u32, Error> {
        self.file(file)?;
        if let Some(file) = self.files[file as usize].take() {
            file.id.into_iter().for_each(|id| self.player.close(id));
            file.reads.clear();
        }
        for instance in &mut self.instances {
            instance.take_if(|instance| instance.file == file as usize);
        }
        Ok(0)
    }

    // Instances.

    /// Adds an instance of a file.
    pub fn instance(&mut self, file: u32) -> Result<u32, Error> {
        let id = self.file(file)?.id;
        let id = id.and_then(|id| self.player.add_instance(id)).ok_or_else(|| no_file(file))?;
        Ok(insert_in_gap(&mut self.instances, Instance { file: file as usize, id, last: None }))
    }

    pub fn remove(&mut self, instance: u32) -> Result<u32, Error> {
        let id = self.instance_slot(instance)?.id;
        self.player.remove(id);
        self.instances[instance as usize] = None;
        Ok(0)
    }

    /// Gives an instance a command; the numbers of commands are those of `src/protocol.js`.
    pub fn command(&mut self, instance: u32, command: u32, a: f64, b: f64) -> Result<u32, Error> {
        let id = self.instance_slot(instance)?.id;
        let command = match command {
            0 => Command::Play,
            1 => Command::Pause,
            2 => Command::Stop,
            3 => Command::GoTo(a),
            4 => Command::GoToFrame(a as usize),
            5 => Command::Rate(a),
            6 => Command::Repeat(match a as u32 {
                0 => Repeat::Once,
                1 => Repeat::Loop,
                2 => Repeat::PingPong,
                _ => Repeat::Cycle,
            }),
            7 => Command::Range(a, b),
            8 => Command::Frames(a as usize, b as usize),
            9 => Command::Interpolate(a != 0.0),
            10 => Command::FrameStep(a as u32),
            11 => Command::PreRoll(a),
            12 => {
                self.player.set_visible(id, a != 0.0);
                return Ok(0);
            }
            other => return Err(Error::misuse(format!("there is no command {other}"))),
        };
        self.player.command(id, command);
        Ok(0)
    }

    // Time.

    /// Advances the player by `dt` seconds.
    pub fn tick(&mut self, dt: f64) {
        self.player.tick(dt);
    }

    /// Writes all events: kind, file or instance, and an error if there is one. Returns their number.
    pub fn events(&mut self) -> u32 {
        let mut count = 0;
        while let Some(event) = self.player.next_event() {
            count += u32::from(self.write_event(event));
        }
        count
    }

    fn write_event(&mut self, event: Event) -> bool {
        let find = |id: FileId| self.files.iter().position(|f| f.as_ref().is_some_and(|f| f.id == Some(id)));
        let named =
            |id: FileId| find(id).map(|file| (file, self.files[file].as_ref().map_or("", |f| &f.name)));
        let (kind, id, error) = match event {
            Event::Opened(id) => (0, id, None),
            Event::NoFrames(id) => (1, id, None),
            Event::OpenFailed(id, error) => (2, id, Some(error)),
            Event::ReadFailed(id, source) => {
                let what = "frames could not be read, which is tried again".into();
                let path = named(id).map_or("", |named| named.1).into();
                (3, id, Some(Error::Io { path, what, source }))
            }
            Event::Damaged(id, error) => (4, id, Some(error)),
            Event::Recovered(id) => (5, id, None),
            Event::Refused { instance, needed, left } => {
                let here = |i: &Option<Instance>| i.as_ref().is_some_and(|i| i.id == instance);
                let Some(at) = self.instances.iter().position(here) else {
                    return false;
                };
                let file = self.instances[at].as_ref().map_or(0, |i| i.file);
                let name = self.files[file].as_ref().map_or("", |f| &f.name).to_owned();
                let error = Error::limit(name.as_ref(), "bytes of the heap to play one more", needed, left);
                self.output.u32(6);
                self.output.u32(file);
                write_error(&error, &mut self.output);
                return true;
            }
            _ => return false,
        };
        let Some(file) = find(id) else {
            return false;
        };
        if kind == 0
            && let Some(file) = &self.files[file]
        {
            file.blocks.shrink();
        }
        self.output.u32(kind);
        self.output.u32(file);
        match error {
            Some(error) => write_error(&error, &mut self.output),
            None => {
                self.output.u32(0);
                self.output.text("");
            }
        }
        true
    }

    /// Writes new reads (file, number, offset, size, due), and then the numbers of reads that are no longer
    /// wanted.
    pub fn reads(&mut self) {
        let mut all = Vec::new();
        let mut cancelled = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let Some(file) = file else {
                continue;
            };
            let (new, gone) = file.reads.take_changes();
            all.extend(new.into_iter().map(|read| (number, read)));
            cancelled.extend(gone);
        }
        self.output.list(&all, |out, (file, (number, offset, size, due))| {
            out.u32(*file);
            out.u32(*number as usize);
            out.f64(*offset as f64);
            out.f64(*size as f64);
            out.f64(*due as f64);
        });
        self.output.list(&cancelled, |out, number| out.u32(*number as usize));
    }

    /// Completes a read with the bytes of the input or, if `well` is `false`, with an error.
    pub fn end_read(&mut self, file: u32, read: u32, well: bool) -> Result<u32, Error> {
        let input = std::mem::take(&mut self.input);
        let bytes = match well {
            true => Ok(&input[..]),
            false => Err(io::ErrorKind::ConnectionReset.into()),
        };
        let done = self.file(file).map(|file| file.reads.complete(read, bytes));
        self.input = input;
        done.map(u32::from)
    }

    // Output.

    /// Writes what an instance shows; returns 0 if it shows nothing yet.
    pub fn frame(&mut self, instance: u32, all: bool) -> Result<u32, Error> {
        let Instance { file, id, last } = *self.instance_slot(instance)?;
        let own = self.file(file as u32)?;
        let (vertices, indices) = own.emits_values();
        let form = FrameOptions { all, exact: own.exact, vertices, indices };
        let Some(shown) = self.player.frame(id) else {
            return Ok(0);
        };
        let put = frame::write_frame(&shown, self.player.clock(id), form, last, &mut self.output)?;
        if let Some(instance) = &mut self.instances[instance as usize] {
            instance.last = Some(put);
        }
        Ok(1)
    }

    /// Writes the skeletons, clips and rigs of a file.
    pub fn clips(&mut self, file: u32) -> CallResult {
        let mut output = std::mem::take(&mut self.output);
        let read = self.file(file).and_then(|file| {
            let reel = file.reel.as_ref().ok_or_else(|| Error::misuse("the file is not open yet"))?;
            file.clips = Some(Clips::read(reel, &mut output)?);
            file.blocks.shrink();
            Ok(0)
        });
        self.output = output;
        read.into()
    }

    /// Writes the cameras of a file.
    pub fn cameras(&mut self, file: u32) -> CallResult {
        let mut output = std::mem::take(&mut self.output);
        let read = self.file(file).and_then(|file| {
            let reel = file.reel.as_ref().ok_or_else(|| Error::misuse("the file is not open yet"))?;
            cameras::write_cameras(reel, &mut output)?;
            file.blocks.shrink();
            Ok(0)
        });
        self.output = output;
        read.into()
    }

    /// Writes the local transforms of a clip's joints.
    pub fn pose(&mut self, file: u32, clip: u32, seconds: f64, wraps: bool) -> Result<u32, Error> {
        let mut output = std::mem::take(&mut self.output);
        let done = self.file(file).and_then(|file| {
            let clips = file.clips.as_mut().ok_or_else(|| Error::misuse("the file's clips were not read"))?;
            clips.pose(clip as usize, seconds, wraps, &mut output)
        });
        self.output = output;
        done.map(|()| 0)
    }

    // On a card.

    /// Makes the vertices of a file on a card, with the options in the input ([`CardOptions::read`]). Called
    /// before the file is opened; it may be called again with other options before the first update.
    #[cfg(feature = "gpu")]
    pub fn card(&mut self, file: u32, most: u64, group: u32) -> Result<u32, Error> {
        let wanted = CardOptions::read(&self.input)?;
        self.file(file)?.card = Some(CardFile::new(wanted, most, group));
        Ok(0)
    }

    /// Makes the vertices on another device from now on.
    #[cfg(feature = "gpu")]
    pub fn renew_card(&mut self, file: u32, most: u64, group: u32) -> Result<u32, Error> {
        let card = self.file(file)?.card.as_mut().ok_or_else(no_card)?;
        card.renew(most, group);
        Ok(0)
    }

    /// Writes the steps for the card to show the current frames of all instances of a file. Returns the
    /// number of their meshes that keep showing an older frame.
    #[cfg(feature = "gpu")]
    pub fn update_card(&mut self, file: u32) -> Result<u32, Error> {
        self.file(file)?;
        let of_file = |(number, instance): (usize, &Option<Instance>)| {
            instance.as_ref().filter(|own| own.file == file as usize).map(|own| (number, own.id))
        };
        let instances: Vec<_> = self.instances.iter().enumerate().filter_map(of_file).collect();
        let card = self.files[file as usize].as_mut().and_then(|file| file.card.as_mut());
        let card = card.ok_or_else(no_card)?;
        let late = card.update(&self.player, &instances)?;
        self.output.0.extend_from_slice(card.steps());
        Ok(late)
    }
}

#[cfg(feature = "gpu")]
fn no_card() -> Error {
    Error::misuse("the file was not opened for a card")
}
