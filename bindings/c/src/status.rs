//! The result of every function: a status, and an error message for each thread.

use meshreel::Error;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call. After a failure, handles that the call should have created are null, and lists and
/// texts are not written; their counts may be. `mr_last_error` says what is wrong and what to do.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_status {
    /// The call succeeded.
    Ok = 0,
    /// The system, or a source of the caller, could not read.
    Io = 1,
    /// The bytes break the rules of the format.
    Malformed = 2,
    /// The file is valid, but from a newer version; or a structure has members that this library does not
    /// know.
    Unsupported = 3,
    /// A limit was exceeded.
    Limit = 4,
    /// A mistake of the caller: a null pointer, a number that does not exist, a buffer that is too small.
    Misuse = 5,
    /// An error of this library, caught at the interface. The object of the call can only be freed.
    Panic = 6,
}

/// The version of this header: 65,536 · major + 256 · minor + patch.
pub const MR_VERSION: u32 = 0x0000_0100;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps a text for `mr_last_error`, up to its first zero byte.
fn set_last_error(text: &str) {
    let text = text.split('\0').next().unwrap_or_default();
    let text = CString::new(text).unwrap_or_default();
    // Fails only while the thread ends, when nobody can ask for the text any more.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = text);
}

/// Returns the class of an error.
pub(crate) fn status_of(error: &Error) -> mr_status {
    match error {
        Error::Io { .. } => mr_status::Io,
        Error::Malformed { .. } => mr_status::Malformed,
        Error::Limit { .. } => mr_status::Limit,
        Error::Misuse { .. } => mr_status::Misuse,
        _ => mr_status::Unsupported,
    }
}

/// Runs a function of the interface; an error or a panic becomes a status and a text.
pub(crate) fn guard(call: impl FnOnce() -> Result<(), Error>) -> mr_status {
    // A panic may leave the caller's object half changed; from then on it can only be freed.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => mr_status::Ok,
        Ok(Err(error)) => {
            set_last_error(&error.to_string());
            status_of(&error)
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let text = text.unwrap_or("no reason given");
            set_last_error(&format!(
                "meshreel failed: {text}; this is an error of the library, please report it"
            ));
            mr_status::Panic
        }
    }
}

/// Returns the message of the last failed call of this thread, in UTF-8; empty if no call has failed. The
/// pointer is valid until the next failure in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn mr_last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the version of the library, encoded as `MR_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn mr_version() -> u32 {
    MR_VERSION
}

/// Checks that the library fits the header that the caller was compiled with. Call it first, as
/// `mr_check_version(MR_VERSION)`. Returns `MR_STATUS_UNSUPPORTED` if the library is older, has another major
/// version or, below 1.0, another minor version.
#[unsafe(no_mangle)]
pub extern "C" fn mr_check_version(header: u32) -> mr_status {
    guard(|| {
        let parts = |version: u32| (version >> 16, version >> 8 & 255, version & 255);
        let (own, asked) = (parts(MR_VERSION), parts(header));
        let minor = if own.0 == 0 { own.1 == asked.1 } else { own.1 >= asked.1 };
        if own.0 == asked.0 && minor && (own.1 > asked.1 || own.2 >= asked.2) {
            return Ok(());
        }
        let text = |(a, b, c): (u32, u32, u32)| format!("{a}.{b}.{c}");
        let what = format!(
            "the library is version {}, the program was compiled for {}: install that one, or compile it again",
            text(own),
            text(asked)
        );
        Err(Error::Unsupported { path: "meshreel".into(), what })
    })
}

/// Returns the name of a status, for messages: a static text, never null.
#[unsafe(no_mangle)]
pub extern "C" fn mr_status_name(status: u32) -> *const c_char {
    const NAMES: [&CStr; 7] = [c"ok", c"io", c"malformed", c"unsupported", c"limit", c"misuse", c"panic"];
    NAMES.get(status as usize).copied().unwrap_or(c"unknown").as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: the text ends with a zero, and no other call comes in between.
        unsafe { CStr::from_ptr(mr_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guard(|| panic!("of {}", 7)), mr_status::Panic);
        assert!(last().contains("of 7"), "{}", last());
        assert_eq!(guard(|| panic!("plain")), mr_status::Panic);
        assert!(last().contains("plain"));
        assert_eq!(guard(|| Err(Error::misuse("a\0b"))), mr_status::Misuse);
        assert_eq!(last(), "a");
        assert_eq!(guard(|| Ok(())), mr_status::Ok);
        assert_eq!(last(), "a", "what went well says nothing");
    }

    #[test]
    fn versions_fit_or_not() {
        let mut parts = env!("CARGO_PKG_VERSION").split('.').map(|v| v.parse::<u32>().unwrap());
        let mut next = || parts.next().unwrap();
        assert_eq!(MR_VERSION, next() << 16 | next() << 8 | next());
        assert_eq!(mr_check_version(MR_VERSION), mr_status::Ok);
        for other in [MR_VERSION + 1, MR_VERSION + 256, MR_VERSION - 256, MR_VERSION + 65_536] {
            assert_eq!(mr_check_version(other), mr_status::Unsupported);
        }
    }
}
