//! The runtime as a WebAssembly module with plain exports: arguments and results are numbers, bytes are
//! passed in an input and an output buffer. Memory is its only import, so that the page limits its growth.
//! The JavaScript beside it (`bindings/web/src`) fetches, ticks, and delivers frames.
//!
//! There is one thread and one `session::Session`: a player with its files and instances. A call that lacks
//! bytes of a file says so, and is repeated later. Arguments are not trusted: a number that does not exist is
//! misuse.

mod blocks;
mod cameras;
#[cfg(feature = "gpu")]
mod card;
mod clips;
mod describe;
mod exports;
mod frame;
mod memory;
mod reads;
mod session;
#[cfg(feature = "gpu")]
mod steps;
mod writer;
