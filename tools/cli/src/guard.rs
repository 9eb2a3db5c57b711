//! Turns panics into failures that ask for a report.

use crate::output::{Class, Failure};
use std::sync::Mutex;

/// Stores place and message of the last panic, instead of printing them.
pub fn record_panics() {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = info.to_string();
        }
    }));
}

/// Place and message of the last panic, for the message that replaces it.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs `work`; a panic becomes a failure that asks for a report.
pub fn catch_panics<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let what = LAST_PANIC.lock().map(|last| last.clone()).unwrap_or_default();
        Err(Failure::new(
            Class::Defect,
            format!("this is a defect of meshreel, please report it with the file: {what}"),
            None,
        ))
    })
}
