//! The exports: plain functions of numbers. A negative result is an error; the output then has its class and
//! message. Other results are described at each function. `src/wasm.js` calls them.

#![allow(unsafe_code)]

use crate::memory;
use crate::session::{CallResult, Session, write_error};
use crate::writer::Writer;
use meshreel::Error;
use std::cell::RefCell;

/// Bytes of the file are missing.
const MISSING_BYTES_CODE: i32 = -2;
const FAILED: i32 = -1;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
    /// The error that kept the session from starting.
    static START_ERROR: RefCell<Writer> = const { RefCell::new(Writer(Vec::new())) };
}

/// Calls a function with the session, after clearing the output.
fn with_session(call: impl FnOnce(&mut Session) -> CallResult) -> i32 {
    SESSION.with_borrow_mut(|door| {
        let Some(door) = door else {
            return fail(&Error::misuse("the module was not started"));
        };
        door.output.0.clear();
        match call(door) {
            CallResult::Done(number) => number as i32,
            CallResult::MissingBytes => MISSING_BYTES_CODE,
            CallResult::Failed(error) => {
                door.output.0.clear();
                write_error(&error, &mut door.output);
                FAILED
            }
        }
    })
}

fn fail(error: &Error) -> i32 {
    START_ERROR.with_borrow_mut(|out| {
        out.0.clear();
        write_error(error, out);
    });
    FAILED
}

/// Returns something of the output, or of the error if there is no session.
fn output<T>(read: impl FnOnce(&[u8]) -> T) -> T {
    SESSION.with_borrow(|door| match door {
        Some(door) => read(&door.output.0),
        None => START_ERROR.with_borrow(|out| read(&out.0)),
    })
}

/// Starts a new session within `memory` bytes: `heap` of them for frames, `resident` of these for files that
/// are decoded once and kept, `read` for one read.
#[unsafe(no_mangle)]
extern "C" fn meshreel_start(memory: f64, heap: f64, resident: f64, read: f64) -> i32 {
    SESSION.with_borrow_mut(|door| *door = None);
    match Session::new(memory as u64, heap as u64, resident as u64, read as u64) {
        Ok(new) => {
            SESSION.with_borrow_mut(|door| *door = Some(new));
            0
        }
        Err(error) => fail(&error),
    }
}

/// Reserves `size` bytes for the input, and returns their address; 0 if the module was not started.
#[unsafe(no_mangle)]
extern "C" fn meshreel_input(size: usize) -> usize {
    SESSION.with_borrow_mut(|door| match door {
        Some(door) => {
            door.input.clear();
            door.input.resize(size, 0);
            door.input.as_ptr() as usize
        }
        None => 0,
    })
}

/// Returns the address of the output of the last call.
#[unsafe(no_mangle)]
extern "C" fn meshreel_output() -> usize {
    output(|bytes| bytes.as_ptr() as usize)
}

/// Returns the size of the output in bytes.
#[unsafe(no_mangle)]
extern "C" fn meshreel_output_size() -> usize {
    output(<[u8]>::len)
}

/// Returns the size of the allocation that failed, if the module stopped for lack of memory.
#[unsafe(no_mangle)]
extern "C" fn meshreel_missing_memory() -> usize {
    memory::missing_bytes()
}

/// Adds a file of `size` bytes, whose name is the input; returns its number.
#[unsafe(no_mangle)]
extern "C" fn meshreel_add(size: f64, exact: u32) -> i32 {
    with_session(|door| CallResult::Done(door.add(size as u64, exact != 0)))
}

/// Opens a file; the output describes it.
#[unsafe(no_mangle)]
extern "C" fn meshreel_open(file: u32) -> i32 {
    with_session(|door| door.open(file))
}

/// Provides bytes of a file from `offset` on: the input.
#[unsafe(no_mangle)]
extern "C" fn meshreel_provide(file: u32, offset: f64) -> i32 {
    with_session(|door| door.provide(file, offset as u64).into())
}

/// Outputs offset and size of each missing range of a file; returns their number.
#[unsafe(no_mangle)]
extern "C" fn meshreel_wanted(file: u32) -> i32 {
    with_session(|door| door.wanted(file).into())
}

/// Closes a file.
#[unsafe(no_mangle)]
extern "C" fn meshreel_close(file: u32) -> i32 {
    with_session(|door| door.close(file).into())
}

/// Adds an instance of a file; returns its number.
#[unsafe(no_mangle)]
extern "C" fn meshreel_instance(file: u32) -> i32 {
    with_session(|door| door.instance(file).into())
}

/// Ends an instance.
#[unsafe(no_mangle)]
extern "C" fn meshreel_remove(instance: u32) -> i32 {
    with_session(|door| door.remove(instance).into())
}

/// Gives an instance a command.
#[unsafe(no_mangle)]
extern "C" fn meshreel_command(instance: u32, command: u32, a: f64, b: f64) -> i32 {
    with_session(|door| door.command(instance, command, a, b).into())
}

/// Advances the player by `dt` seconds.
#[unsafe(no_mangle)]
extern "C" fn meshreel_tick(dt: f64) -> i32 {
    with_session(|door| {
        door.tick(dt);
        CallResult::Done(0)
    })
}

/// Outputs the events since the last call; returns their number.
#[unsafe(no_mangle)]
extern "C" fn meshreel_events() -> i32 {
    with_session(|door| CallResult::Done(door.events()))
}

/// Outputs the reads to start and the reads to cancel.
#[unsafe(no_mangle)]
extern "C" fn meshreel_reads() -> i32 {
    with_session(|door| {
        door.reads();
        CallResult::Done(0)
    })
}

/// Completes a read, with the bytes of the input if it succeeded. Returns 1 if the read was still wanted.
#[unsafe(no_mangle)]
extern "C" fn meshreel_end_read(file: u32, read: u32, well: u32) -> i32 {
    with_session(|door| door.end_read(file, read, well != 0).into())
}

/// Outputs what an instance shows, and returns 1; returns 0 if it shows nothing yet.
#[unsafe(no_mangle)]
extern "C" fn meshreel_frame(instance: u32, all: u32) -> i32 {
    with_session(|door| door.frame(instance, all != 0).into())
}

/// Outputs skeletons, clips and rigs.
#[unsafe(no_mangle)]
extern "C" fn meshreel_clips(file: u32) -> i32 {
    with_session(|door| door.clips(file))
}

/// Outputs cameras with their lenses.
#[unsafe(no_mangle)]
extern "C" fn meshreel_cameras(file: u32) -> i32 {
    with_session(|door| door.cameras(file))
}

/// Outputs a pose of a clip.
#[unsafe(no_mangle)]
extern "C" fn meshreel_pose(file: u32, clip: u32, seconds: f64, wraps: u32) -> i32 {
    with_session(|door| door.pose(file, clip, seconds, wraps != 0).into())
}

/// Makes a file's vertices on a card, which binds at most `most` bytes and runs `group` invocations per
/// workgroup; the input has the options.
#[cfg(feature = "gpu")]
#[unsafe(no_mangle)]
extern "C" fn meshreel_card(file: u32, most: f64, group: u32) -> i32 {
    with_session(|door| door.card(file, most as u64, group).into())
}

/// Moves a file to another device.
#[cfg(feature = "gpu")]
#[unsafe(no_mangle)]
extern "C" fn meshreel_renew_card(file: u32, most: f64, group: u32) -> i32 {
    with_session(|door| door.renew_card(file, most as u64, group).into())
}

/// Outputs steps for the device; returns the number of meshes that keep showing an older frame.
#[cfg(feature = "gpu")]
#[unsafe(no_mangle)]
extern "C" fn meshreel_update_card(file: u32) -> i32 {
    with_session(|door| door.update_card(file).into())
}
