//! The runtime as a WebAssembly module with plain exports: numbers go in and come out, bytes lie in one
//! buffer each way. It imports its memory alone, so that the page says how far that may grow. The JavaScript
//! beside it (`bindings/web/src`) fetches, ticks, and hands frames out.
//!
//! One thread, one `session::Session`: a player, its files and its instances. What lacks bytes says so and is
//! asked again. No number that comes in is trusted: what names nothing is a misuse.

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
