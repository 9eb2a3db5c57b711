//! Opening, decoding and playing. What counts allocations, seconds or threads has a program of its own.

mod admission;
mod clips;
mod common;
mod examples;
mod fault;
mod hostile;
mod opened_elsewhere;
mod order;
mod playback;
mod rigs;
mod streaming;
mod view;
