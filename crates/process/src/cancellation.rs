//! Cancellation of work: the caller sets a flag once, and the workers check it between two units of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A token that cancels work. All copies share one flag.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Option<Arc<AtomicBool>>);

/// The work was cancelled; its results so far must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Cancellation {
    /// Creates a token that can be cancelled.
    pub fn new() -> Cancellation {
        Cancellation(Some(Arc::default()))
    }

    /// Creates a token for work that always runs to its end; cancelling it does nothing.
    pub const fn never() -> Cancellation {
        Cancellation(None)
    }

    /// Cancels the work, which ends soon after on its threads.
    pub fn cancel(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Returns `true` after [`Cancellation::cancel`].
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Returns an error if the work is cancelled.
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
