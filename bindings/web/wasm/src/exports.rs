//! The exports: plain functions of numbers. Less than 0: an error, whose class and text stand in the output;
//! else what each says. `src/wasm.js` calls them.

#![allow(unsafe_code)]

use crate::memory;
use crate::session::{CallResult, Session, write_error};
use crate::writer::Writer;
use meshreel::Error;
use std::cell::RefCell;

/// Bytes are missing.
const MISSING_BYTES_CODE: i32 = -2;
const FAILED: i32 = -1;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
    /// Why there is no session.
    static START_ERROR: RefCell<Writer> = const { RefCell::new(Writer(Vec::new())) };
}

/// Does something with the session, from an empty output on.
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

/// Where the output is, or what says why there is none.
fn output<T>(read: impl FnOnce(&[u8]) -> T) -> T {
    SESSION.with_borrow(|door| match door {
        Some(door) => read(&door.output.0),
        None => START_ERROR.with_borrow(|out| read(&out.0)),
    })
}

/// Begins anew, within so many bytes of memory, of which frames have `heap`, those that are kept `resident`,
/// and one read `read`.
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

/// Makes room for `size` bytes of input, and says where. 0: the module was not started.
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

/// Where the output of the last call is.
#[unsafe(no_mangle)]
extern "C" fn meshreel_output() -> usize {
    output(|bytes| bytes.as_ptr() as usize)
}

/// How many bytes it has.
#[unsafe(no_mangle)]
extern "C" fn meshreel_output_size() -> usize {
    output(<[u8]>::len)
}

/// Bytes that memory had no room for, where the module stopped because of that.
#[unsafe(no_mangle)]
extern "C" fn meshreel_missing_memory() -> usize {
    memory::missing_bytes()
}

/// A file of so many bytes; its name is the input. Its number.
#[unsafe(no_mangle)]
extern "C" fn meshreel_add(size: f64, exact: u32) -> i32 {
    with_session(|door| CallResult::Done(door.add(size as u64, exact != 0)))
}

/// Opens it; the output describes it.
#[unsafe(no_mangle)]
extern "C" fn meshreel_open(file: u32) -> i32 {
    with_session(|door| door.open(file))
}

/// Bytes of it, which are the input.
#[unsafe(no_mangle)]
extern "C" fn meshreel_provide(file: u32, offset: f64) -> i32 {
    with_session(|door| door.provide(file, offset as u64).into())
}

/// How many ranges of it are missing; offset and size of each.
#[unsafe(no_mangle)]
extern "C" fn meshreel_wanted(file: u32) -> i32 {
    with_session(|door| door.wanted(file).into())
}

/// Gives it up.
#[unsafe(no_mangle)]
extern "C" fn meshreel_close(file: u32) -> i32 {
    with_session(|door| door.close(file).into())
}

/// One more showing of a file. Its number.
#[unsafe(no_mangle)]
extern "C" fn meshreel_instance(file: u32) -> i32 {
    with_session(|door| door.instance(file).into())
}

/// Ends an instance.
#[unsafe(no_mangle)]
extern "C" fn meshreel_remove(instance: u32) -> i32 {
    with_session(|door| door.remove(instance).into())
}

/// Tells an instance something.
#[unsafe(no_mangle)]
extern "C" fn meshreel_command(instance: u32, command: u32, a: f64, b: f64) -> i32 {
    with_session(|door| door.command(instance, command, a, b).into())
}

/// Seconds have passed.
#[unsafe(no_mangle)]
extern "C" fn meshreel_tick(dt: f64) -> i32 {
    with_session(|door| {
        door.tick(dt);
        CallResult::Done(0)
    })
}

/// How many things have happened; the output has them.
#[unsafe(no_mangle)]
extern "C" fn meshreel_events() -> i32 {
    with_session(|door| CallResult::Done(door.events()))
}

/// The output has reads to begin, and reads to end.
#[unsafe(no_mangle)]
extern "C" fn meshreel_reads() -> i32 {
    with_session(|door| {
        door.reads();
        CallResult::Done(0)
    })
}

/// Ends a read, with the bytes of the input if it went well. 1 if somebody waited for it.
#[unsafe(no_mangle)]
extern "C" fn meshreel_end_read(file: u32, read: u32, well: u32) -> i32 {
    with_session(|door| door.end_read(file, read, well != 0).into())
}

/// 1 and what an instance shows, or 0.
#[unsafe(no_mangle)]
extern "C" fn meshreel_frame(instance: u32, all: u32) -> i32 {
    with_session(|door| door.frame(instance, all != 0).into())
}

/// Skeletons, clips, rigs.
#[unsafe(no_mangle)]
extern "C" fn meshreel_clips(file: u32) -> i32 {
    with_session(|door| door.clips(file))
}

/// Cameras with their lenses.
#[unsafe(no_mangle)]
extern "C" fn meshreel_cameras(file: u32) -> i32 {
    with_session(|door| door.cameras(file))
}

/// The pose of a clip.
#[unsafe(no_mangle)]
extern "C" fn meshreel_pose(file: u32, clip: u32, seconds: f64, wraps: u32) -> i32 {
    with_session(|door| door.pose(file, clip, seconds, wraps != 0).into())
}

/// A file is for a card, of which a binding has so many bytes and a workgroup so many invocations;
/// the input says how.
#[cfg(feature = "gpu")]
#[unsafe(no_mangle)]
extern "C" fn meshreel_card(file: u32, most: f64, group: u32) -> i32 {
    with_session(|door| door.card(file, most as u64, group).into())
}

/// It is for another device from now on.
#[cfg(feature = "gpu")]
#[unsafe(no_mangle)]
extern "C" fn meshreel_renew_card(file: u32, most: f64, group: u32) -> i32 {
    with_session(|door| door.renew_card(file, most as u64, group).into())
}

/// Steps for the device. How many meshes are late.
#[cfg(feature = "gpu")]
#[unsafe(no_mangle)]
extern "C" fn meshreel_update_card(file: u32) -> i32 {
    with_session(|door| door.update_card(file).into())
}
