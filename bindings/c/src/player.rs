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

/// Plays any number of files in a heap of fixed size. One thread at a time uses it; the frames that it
/// returns may be used by other threads.
pub struct mr_player {
    pub(crate) player: Player,
    /// Reused by each call.
    pub(crate) statistics: Statistics,
}

/// Options of a player. `mr_player_options_init` writes the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_player_options {
    /// The size of this structure in bytes.
    pub size: usize,
    /// Bytes of the heap, which holds all large data that is read and decoded. Default 128 MiB.
    pub heap: u64,
    /// Files whose decoded frames take at most this many bytes are decoded once and kept. Default 16 MiB.
    pub resident: u64,
    /// Bytes of one read, if that much is wanted. Default 1 MiB.
    pub read_size: u64,
    /// Bytes besides the heap that a file may take. 0, the default: four times the heap plus 16 MiB.
    pub file_memory: u64,
    /// The limits of the files that are opened; null: the defaults. Read when the player is created.
    pub limits: *const mr_limits,
    /// The caller's threads for jobs; null: the player's own. Read when the player is created.
    pub jobs: *const mr_jobs,
    /// The source of the heap's memory; null: the system. Read when the player is created.
    pub allocator: *const mr_allocator,
    /// The number of threads that decode. With 0 the tick decodes and opens files. Default: the number of
    /// cores less one.
    pub threads: u32,
    /// The number of threads that read files. With 0 the tick reads. Default 2.
    pub read_threads: u32,
    /// Seconds that frames are decoded before they are shown. Default 0.4.
    pub decode_ahead: f32,
    /// A read is issued as soon as something is missing within this many seconds ahead. Default 1.
    pub least_read_ahead: f32,
    /// The most seconds ahead for which a read fetches data. Default 4.
    pub most_read_ahead: f32,
    /// Seconds without a visible instance after which a file's static data is released as well. Default 5.
    pub unload_after: f32,
    /// Not 0 to watch the files that are opened by their path: one that is replaced on the disk takes the
    /// place of the older one, and `MR_EVENT_KIND_REPLACED` says so. For tools and games in development.
    /// Default 0.
    pub watch: u32,
    /// Always 0.
    pub reserved: u32,
}

// SAFETY: `repr(C)`, begins with its size; contains numbers, and pointers that are checked before use.
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
            watch: of.watch.into(),
            reserved: 0,
        }
    }

    /// # Safety
    /// Null, or options that are as large as their `size` says, and whose pointers are null or valid.
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
            .with_unload_after(own.unload_after)
            .with_watch(own.watch != 0);
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

/// Writes the default options.
///
/// # Safety
/// `out` has room for `size` bytes; `size` is `sizeof(mr_player_options)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_options_init(out: *mut mr_player_options, size: usize) -> mr_status {
    guard(|| {
        let default = mr_player_options::new(&Options::default());
        // SAFETY: the caller's promise.
        unsafe { prefixed::init(out, size, default, "the options") }
    })
}

/// Creates a player: allocates its heap and starts its threads. `options` may be null.
///
/// # Safety
/// `options` is null, or as large as its `size` says, with pointers that are null or valid; `out` is valid
/// for one write.
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

/// Frees a player. Frames that it returned remain valid. A thread in a slow read ends when the read does.
/// Null is allowed.
///
/// # Safety
/// `player` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_free(player: *mut mr_player) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(player) })
}

/// # Safety
/// Null, or a player that no other thread uses meanwhile.
pub(crate) unsafe fn player_of<'a>(player: *mut mr_player) -> Result<&'a mut mr_player, Error> {
    // SAFETY: the caller's promise.
    unsafe { unique(player, "the player") }
}

/// # Safety
/// Null, or a player that is not changed meanwhile.
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

/// Starts to open a file and writes its number. An event reports whether opening succeeded. Instances can be
/// created at once.
///
/// # Safety
/// `player` is a valid player; `path` is UTF-8 and ends with a zero; `out` is valid for one write.
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

/// As `mr_player_open`, for the bytes of a file, of which the player keeps a copy. Errors name the file
/// `name`; if that is null, "(memory)".
///
/// # Safety
/// `player` is a valid player; `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `out`
/// is valid for one write.
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

/// As `mr_player_open`, for a file that a source reads: with its function `start`, which blocks no thread, if
/// it has one, otherwise with `read`, on the reading threads. Errors name the file `name`; if that is null,
/// "(memory)".
///
/// # Safety
/// `player` is a valid player; `name` is null, or UTF-8 and ends with a zero; `source` is as large as its
/// `size` says, and fulfils the contract of `mr_source`; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_open_source(
    player: *mut mr_player,
    name: *const c_char,
    source: *const mr_source,
    out: *mut u64,
) -> mr_status {
    guard(|| {
        // First, so that the source is released in any case.
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

/// Ends all instances of a file and releases its memory.
///
/// # Safety
/// `player` is a valid player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_close(player: *mut mr_player, file: u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        player.close(file_of(player, file)?);
        Ok(())
    })
}

/// Creates a handle of the reel of a file, which the caller must free; null while the file is not open.
///
/// # Safety
/// `player` is a valid player; `out` is valid for one write.
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

/// Writes the name of a file as error messages give it.
///
/// # Safety
/// `player` is a valid player; `out` is null or has room for `capacity` bytes; `length` is null or valid for
/// one write.
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

/// Adds an instance of a file: visible, and stopped at the first frame.
///
/// # Safety
/// `player` is a valid player; `out` is valid for one write.
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
/// `player` is a valid player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_remove(player: *mut mr_player, instance: u64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        player.remove(instance_of(player, instance)?);
        Ok(())
    })
}

/// Shows or hides an instance. The time of a hidden instance goes on, but nothing is read or decoded for it.
///
/// # Safety
/// `player` is a valid player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_show(player: *mut mr_player, instance: u64, visible: u32) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let player = &mut unsafe { player_of(player) }?.player;
        player.set_visible(instance_of(player, instance)?, visible != 0);
        Ok(())
    })
}

/// Sets the priority of an instance: if the heap has no room for all, those of higher priority are served
/// first. The default is 0.
///
/// # Safety
/// `player` is a valid player.
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

/// Gives an instance a command, which takes effect at the next tick.
///
/// # Safety
/// `player` is a valid player; `command` is valid for one read.
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

/// The clock and state of an instance.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_clock {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The position in seconds from the first frame.
    pub position: f64,
    /// The duration of all frames in seconds.
    pub duration: f64,
    /// The requested rate in seconds of animation per second.
    pub rate: f64,
    /// The number of ticks without the frame that should have been shown.
    pub missed: u64,
    /// The number of ticks between a start or jump and its first frame.
    pub seek_wait_ticks: u64,
    /// 1 if the file is open; otherwise the numbers above have no meaning.
    pub open: u32,
    /// 1 if neither stopped nor paused.
    pub playing: u32,
    /// 1 if stopped: neither shown nor streamed.
    pub stopped: u32,
    /// 1 if it would play, but the data that the pre-roll asks for are not in memory yet.
    pub waiting: u32,
    /// 1 if it has played to the end and does not repeat.
    pub ended: u32,
    /// 1 if the heap has no room for it.
    pub refused: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_clock {}

/// Writes the clock and state of an instance.
///
/// # Safety
/// `player` is a valid player; `out` is as large as its `size` says.
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

/// Turns parts of the player off, to measure what each costs: with 0 for `reads` no read starts, for `jobs`
/// no job starts, for `drawing` no frame is returned. Work that has begun is finished.
///
/// # Safety
/// `player` is a valid player.
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

/// Advances the player by `seconds`; call it once per frame of the game. Never blocks. If the player has its
/// own threads and no source with `start`, it calls none of the caller's functions.
///
/// # Safety
/// `player` is a valid player that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_tick(player: *mut mr_player, seconds: f64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { player_of(player) }?.player.tick(seconds);
        Ok(())
    })
}

/// Creates a handle of what an instance shows, which the caller must free; null if none of it is in memory
/// yet.
///
/// # Safety
/// `player` is a valid player; `out` is valid for one write.
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
