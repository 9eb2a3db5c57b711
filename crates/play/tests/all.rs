//! Opening, decoding and playing. Tests that count allocations, seconds or threads are programs of their own.

mod admission;
mod clips;
mod common;
mod examples;
mod fault;
mod hostile;
mod opened_elsewhere;
mod order;
mod playback;
mod replaced;
mod rigs;
mod streaming;
mod view;
