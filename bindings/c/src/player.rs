//! The player: files, instances of them, and a tick that neither waits nor calls back.

use crate::command::{command_of, mr_command};
use crate::frame::{FrameContent, mr_frame};
use crate::host::{HostMemory, Jobs, mr_allocator, mr_jobs};
use crate::pointers::{fill_text, free, list, make, name_of_bytes, shared, text, unique, write_out};
use crate::prefixed::{self, Prefixed};
use crate::reel::{mr_limits, mr_reel};
use crate::source::{Callbacks, mr_source};
use crate::status::{guard, mr_status};
use meshreel::policy::DebugSwitches;
use meshreel::stream::Statistics;
use meshreel::{Error, FileId, InstanceId, Options, Player};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Plays any number of files in a heap of fixed size. One thread at a time uses it; the frames that it gives
/// can be used by others.
pub struct mr_player {
    pub(crate) player: Player,
    /// Used again by each call.
    pub(crate) statistics: Statistics,
}

/// Settings of a player. `mr_player_options_init` writes the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_player_options {
    /// Bytes of this structure.
    pub size: usize,
    /// Bytes of the heap, in which everything of size lies that is read and decoded: 128 MiB.
    pub heap: u64,
    /// Files whose frames, decoded, take no more bytes than this are decoded once and kept: 16 MiB.
    pub resident: u64,
    /// Bytes that one read has, if as much is wanted: 1 MiB.
    pub read_size: u64,
    /// Bytes beside the heap that a file may take; 0: four times the heap and 16 MiB.
    pub file_memory: u64,
    /// Limits of the files that are opened; null: the defaults. Read when the player is made.
    pub limits: *const mr_limits,
    /// The caller's threads for jobs; null: the player's own. Read when the player is made.
    pub jobs: *const mr_jobs,
    /// Where the heap comes from; null: the system. Read when the player is made.
    pub allocator: *const mr_allocator,
    /// Threads that decode; 0: the tick does it, and opens files. As many as there are cores, less one.
    pub threads: u32,
    /// Threads that read files; 0: the tick does it. 2.
    pub read_threads: u32,
    /// Seconds before they are shown that frames are decoded: 0.4.
    pub decode_ahead: f32,
    /// A read is issued as soon as something is missing so many seconds ahead: 1.
    pub least_read_ahead: f32,
    /// Seconds ahead for which reads are made at most: 4.
    pub most_read_ahead: f32,
    /// Seconds without a visible instance after which a file's static data is given up too: 5.
    pub unload_after: f32,
}

// SAFETY: `repr(C)`, a size first; numbers, and pointers that are checked when they are followed.
unsafe impl Prefixed for mr_player_options {}

impl mr_player_options {
    fn new(of: &Options) -> mr_player_options {
        mr_player_options {
            size: size_of::<mr_player_options>(),
            heap: of.heap as u64,
            resident: of.resident,
            read_size: of.read_size,
            file_memory: of.file_memory,
            limits: std::ptr::null(),
            jobs: std::ptr::null(),
            allocator: std::ptr::null(),
            threads: of.threads as u32,
            read_threads: of.read_threads as u32,
            decode_ahead: of.decode_ahead,
            least_read_ahead: of.least_read_ahead,
            most_read_ahead: of.most_read_ahead,
            unload_after: of.unload_after,
        }
    }

    /// # Safety
    /// Null, or options that have the size that they say, and whose pointers are null or to what they should
    /// be.
    unsafe fn read(options: *const mr_player_options) -> Result<Options, Error> {
        let default = Options::default();
        let own = mr_player_options::new(&default);
        // SAFETY: the caller's promise.
        let own = unsafe { prefixed::read(options, own, "the options") }?;
        let heap = usize::try_from(own.heap).map_err(|_| {
            Error::misuse(format!("a heap of {} bytes is more than this machine has", own.heap))
        })?;
        // SAFETY: the caller's promise.
        let limits = unsafe { mr_limits::read(own.limits) }?;
        let mut options = default
            .with_heap(heap)
            .with_resident(own.resident)
            .with_read_size(own.read_size)
            .with_file_memory(own.file_memory)
            .with_limits(limits)
            .with_threads(own.threads as usize)
            .with_read_threads(own.read_threads as usize)
            .with_decode_ahead(own.decode_ahead)
            .with_least_read_ahead(own.least_read_ahead)
            .with_most_read_ahead(own.most_read_ahead)
            .with_unload_after(own.unload_after);
        if !own.jobs.is_null() {
            // SAFETY: the caller's promise.
            options.pool = Some(Arc::new(unsafe { Jobs::read(own.jobs) }?));
        }
        if !own.allocator.is_null() {
            // SAFETY: the caller's promise.
            options.allocator = Some(Arc::new(unsafe { HostMemory::read(own.allocator) }?));
        }
        Ok(options)
    }
}

/// Writes the default settings.
///
/// # Safety
/// `out` has `size` bytes, which is its sizeof.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_options_init(out: *mut mr_player_options, size: usize) -> mr_status {
    guard(|| {
        let default = mr_player_options::new(&Options::default());
        // SAFETY: the caller's promise.
        unsafe { prefixed::init(out, size, default, "the options") }
    })
}

/// Makes a player: allocates its heap and starts its threads. `options` may be null.
///
/// # Safety
/// `options` is null, or has the size that it says and pointers that are null or to what they should be;
/// `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_new(
    options: *const mr_player_options,
    out: *mut *mut mr_player,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let options = unsafe { mr_player_options::read(options) }?;
        let new = || {
            let player = Player::new(options)?;
            Ok(mr_player { player, statistics: Statistics::default() })
        };
        // SAFETY: as above.
        unsafe { make(out, new) }
    })
}

/// Frees a player. Frames that it gave live on. Threads in a slow read end when that does. Null is nothing.
///
/// # Safety
/// `player` is null, or was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_free(player: *mut mr_player) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(player) })
}

/// # Safety
/// Null, or a player that nobody else uses meanwhile.
pub(crate) unsafe fn player_of<'a>(player: *mut mr_player) -> Result<&'a mut mr_player, Error> {
    // SAFETY: the caller's promise.
    unsafe { unique(player, "the player") }
}

/// # Safety
/// Null, or a player that nobody changes meanwhile.
unsafe fn player_ref<'a>(player: *const mr_player) -> Result<&'a Player, Error> {
    // SAFETY: the caller's promise.
    Ok(&unsafe { shared(player, "the player") }?.player)
}

fn file_of(player: &Player, file: u64) -> Result<FileId, Error> {
    let id = FileId::from_bits(file);
    let known = player.name(id).is_some();
    known.then_some(id).ok_or_else(|| Error::misuse(format!("file {file:#x} is not open in this player")))
}

pub(crate) fn instance_of(player: &Player, instance: u64) -> Result<InstanceId, Error> {
    let id = InstanceId::from_bits(instance);
    let known = player.late_ticks(id).is_some();
    known.then_some(id).ok_or_else(|| Error::misuse(format!("instance {instance:#x} is not in this player")))
}

// Files and instances.

/// Begins to open a file; `out` is its name from now on. Whether that goes well, an event tells. Instances
/// can be made at once.
///
/// # Safety
/// `player` is a player; `path` is UTF-8 and ends with a zero; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_open(
    player: *mut mr_player,
    path: *const c_char,
    out: *mut u64,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (player, path) = unsafe { (player_of(player)?, text(path, "the path")?) };
        // SAFETY: as above.
        unsafe { write_out(out, 0, "the place for the file") }?;
        let file = player.player.open(path);
        // SAFETY: as above.
        unsafe { write_out(out, file.to_bits(), "the place for the file") }
    })
}

/// As `mr_player_open`, of bytes of which it keeps a copy. Errors name them `name`; null: "(memory)".
///
/// # Safety
/// `player` is a player; `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `out` is a
/// place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_open_memory(
    player: *mut mr_player,
    name: *const c_char,
    data: *const c_void,
    bytes: usize,
    out: *mut u64,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (player, name) = unsafe { (player_of(player)?, name_of_bytes(name)?) };
        // SAFETY: as above.
        let data = unsafe { list(data.cast::<u8>(), bytes, "the bytes of the file") }?;
        // SAFETY: as above.
        unsafe { write_out(out, 0, "the place for the file") }?;
        let file = player.player.open_named_bytes(name, Arc::new(data.to_vec()));
        // SAFETY: as above.
        unsafe { write_out(out, file.to_bits(), "the place for the file") }
    })
}

/// As `mr_player_open`, of what a source reads: with its function `start`, which blocks nobody, where it has
/// one, else with `read`, on the threads that read. Errors name it `name`; null: "(memory)".
///
/// # Safety
/// `player` is a player; `name` is null, or UTF-8 and ends with a zero; `source` has the size that it says,
/// and keeps what it promises; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_open_source(
    player: *mut mr_player,
    name: *const c_char,
    source: *const mr_source,
    out: *mut u64,
) -> mr_status {
    guard(|| {
        // First, so that it is released whatever comes.
        // SAFETY: the caller's promise.
        let source = unsafe { Callbacks::read(source) }?;
        // SAFETY: as above.
        let (player, name) = unsafe { (player_of(player)?, name_of_bytes(name)?) };
        // SAFETY: as above.
        unsafe { write_out(out, 0, "the place for the file") }?;
        let file = match (source.has_start(), source.has_read()) {
            (true, _) => player.player.open_source(name, Arc::new(source)),
            (false, true) => player.player.open_named_bytes(name, Arc::new(source)),
            (false, false) => return Err(Error::misuse("the source has neither `start` nor `read`")),
        };
        // SAFETY: as above.
        unsafe { write_out(out, file.to_bits(), "the place for the file") }
    })
}

/// Ends all instances of a file and gives up what it has.
///
/// # Safety
/// `player` is a player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_close(player: *mut mr_player, file: u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        player.close(file_of(player, file)?);
        Ok(())
    })
}

/// The reel of a file, to be freed by the caller; null while it is not open.
///
/// # Safety
/// `player` is a player; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_reel(
    player: *const mr_player,
    file: u64,
    out: *mut *mut mr_reel,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = unsafe { player_ref(player) }?;
        match player.reel(file_of(player, file)?) {
            // SAFETY: as above.
            Some(reel) => unsafe { make(out, || Ok(mr_reel(reel.clone()))) },
            // SAFETY: as above.
            None => unsafe { write_out(out, std::ptr::null_mut(), "the place for the reel") },
        }
    })
}

/// The name by which errors call a file.
///
/// # Safety
/// `player` is a player; `out` is null or has room for `capacity` bytes; `length` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_name(
    player: *const mr_player,
    file: u64,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = unsafe { player_ref(player) }?;
        let name = player.name(file_of(player, file)?).map(|name| name.to_string_lossy());
        // SAFETY: as above.
        unsafe { fill_text(&name.unwrap_or_default(), out, capacity, length) }
    })
}

/// One more instance of a file: visible, and stopped at the first frame.
///
/// # Safety
/// `player` is a player; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_instance(player: *mut mr_player, file: u64, out: *mut u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        // SAFETY: as above.
        unsafe { write_out(out, 0, "the place for the instance") }?;
        let instance = player.add_instance(file_of(player, file)?);
        // SAFETY: as above.
        unsafe { write_out(out, instance.map_or(0, InstanceId::to_bits), "the place for the instance") }
    })
}

/// Ends an instance.
///
/// # Safety
/// `player` is a player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_remove(player: *mut mr_player, instance: u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        player.remove(instance_of(player, instance)?);
        Ok(())
    })
}

/// Shows or hides an instance: a hidden one asks for nothing, its time passes.
///
/// # Safety
/// `player` is a player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_show(player: *mut mr_player, instance: u64, visible: u32) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        player.set_visible(instance_of(player, instance)?, visible != 0);
        Ok(())
    })
}

/// Where the heap has no room for all instances, those of higher priority are served first. 0 unless it is
/// set.
///
/// # Safety
/// `player` is a player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_priority(
    player: *mut mr_player,
    instance: u64,
    priority: i32,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        player.set_priority(instance_of(player, instance)?, priority);
        Ok(())
    })
}

/// Tells an instance something; it takes effect at the next tick.
///
/// # Safety
/// `player` is a player; `command` is a command.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_command(
    player: *mut mr_player,
    instance: u64,
    command: *const mr_command,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        // SAFETY: as above.
        let command = command_of(unsafe { shared(command, "the command") }?)?;
        player.command(instance_of(player, instance)?, command);
        Ok(())
    })
}

/// The clock of an instance.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_clock {
    /// Bytes of this structure.
    pub size: usize,
    /// Seconds from the first frame.
    pub position: f64,
    /// Seconds of all frames.
    pub duration: f64,
    /// Seconds of animation per second that were asked for.
    pub rate: f64,
    /// Ticks without the frame that should have been shown.
    pub missed: u64,
    /// Ticks between a start or jump and its first frame.
    pub seek_wait_ticks: u64,
    /// 1: the file is open, and the numbers before mean something.
    pub open: u32,
    /// 1: neither stopped nor paused.
    pub playing: u32,
    /// 1: neither shown nor streamed.
    pub stopped: u32,
    /// 1: it would play, but what the pre-roll asks for is not there yet.
    pub waiting: u32,
    /// 1: played to the end, and not to be repeated.
    pub ended: u32,
    /// 1: the heap has no room for it.
    pub refused: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_clock {}

/// Where an instance is.
///
/// # Safety
/// `player` is a player; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_clock(
    player: *const mr_player,
    instance: u64,
    out: *mut mr_clock,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = unsafe { player_ref(player) }?;
        let id = instance_of(player, instance)?;
        let clock = player.clock(id);
        let (missed, seek_wait_ticks) = player.late_ticks(id).unwrap_or_default();
        let is = |what: fn(&meshreel::time::Clock) -> bool| u32::from(clock.is_some_and(what));
        let info = mr_clock {
            size: 0,
            position: clock.map_or(0.0, |clock| clock.position()),
            duration: clock.map_or(0.0, |clock| clock.timeline().duration()),
            rate: clock.map_or(0.0, |clock| clock.rate()),
            missed,
            seek_wait_ticks,
            open: u32::from(clock.is_some()),
            playing: is(|clock| clock.playing()),
            stopped: is(|clock| clock.stopped()),
            waiting: is(|clock| clock.waiting()),
            ended: is(|clock| clock.ended()),
            refused: u32::from(player.is_refused(id)),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the clock") }
    })
}

/// Kill switches: with 0 reads are not issued, jobs not started, nothing handed out.
///
/// # Safety
/// `player` is a player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_switch(
    player: *mut mr_player,
    reads: u32,
    jobs: u32,
    drawing: u32,
) -> mr_status {
    guard(|| {
        let switches =
            DebugSwitches::ON.with_reads(reads != 0).with_jobs(jobs != 0).with_drawing(drawing != 0);
        // SAFETY: the caller's promise.
        unsafe { player_of(player) }?.player.set_switches(switches);
        Ok(())
    })
}

/// `seconds` have passed: once per frame of the game. Never waits. Where the player has threads of its own
/// and no source with `start`, it calls nothing of the caller's.
///
/// # Safety
/// `player` is a player that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_tick(player: *mut mr_player, seconds: f64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { player_of(player) }?.player.tick(seconds);
        Ok(())
    })
}

/// What an instance shows, to be freed by the caller; null where nothing of it is there yet.
///
/// # Safety
/// `player` is a player; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_frame(
    player: *const mr_player,
    instance: u64,
    out: *mut *mut mr_frame,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = unsafe { player_ref(player) }?;
        match player.frame(instance_of(player, instance)?) {
            // SAFETY: as above.
            Some(shown) => unsafe { make(out, || Ok(mr_frame(FrameContent::Shown(shown)))) },
            // SAFETY: as above.
            None => unsafe { write_out(out, std::ptr::null_mut(), "the place for the frame") },
        }
    })
}
