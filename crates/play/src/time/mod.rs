//! Time: the frame times of a file, the clock of an instance, its demand for frames, and sequences of clips.

pub(crate) mod clock;
pub(crate) mod demand;
pub mod sequencer;
pub(crate) mod timeline;

pub use clock::{Clock, ClockAdvance};
pub use demand::{FrameDemand, FramePair, MAX_SPANS, Span};
pub use timeline::Timeline;
