//! What is shown when: the times of a file, the clock of an instance, what that demands, and sequences of clips.

pub(crate) mod clock;
pub(crate) mod demand;
pub mod sequencer;
pub(crate) mod timeline;
