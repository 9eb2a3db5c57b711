//! Work that nobody wants any more: whoever asked for it says so once, and all who work ask between one unit
//! of work and the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends work early. Copies are one and the same: what cancels one cancels all.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Option<Arc<AtomicBool>>);

/// Work ended early because it was cancelled; what it gave so far is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Cancellation {
    /// One that can be cancelled.
    pub fn new() -> Cancellation {
        Cancellation(Some(Arc::default()))
    }

    /// For work that always goes on to its end; cancelling it does nothing.
    pub const fn never() -> Cancellation {
        Cancellation(None)
    }

    /// Says that the work is not wanted any more. It ends soon after, on the threads that do it.
    pub fn cancel(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was said.
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Goes on, or ends with an error.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_one() {
        let (first, other) = (Cancellation::new(), Cancellation::new());
        let copy = first.clone();
        assert_eq!(copy.check(), Ok(()));
        first.cancel();
        assert_eq!(copy.check(), Err(Cancelled));
        assert!(!other.is_cancelled());
        let never = Cancellation::never();
        never.cancel();
        assert!(!never.is_cancelled());
    }
}
