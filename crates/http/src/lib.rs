//! Plays `.reel` files over HTTP: a source for [`meshreel::Player`] that reads ranges of a file as they are
//! needed, with timeouts, retries, and a cache of bounded size.
//!
//! ```no_run
//! use meshreel::{Command, Options, Player};
//! use meshreel_http::{HttpClient, HttpOptions};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let client = HttpClient::new(HttpOptions::default())?;
//! let mut player = Player::new(Options::default())?;
//! let file = client.open(&mut player, "https://example.com/flag.reel")?; // returns at once
//! let flag = player.add_instance(file).expect("it is open or being opened");
//! player.command(flag, Command::Play);
//! loop {
//!     player.tick(1.0 / 60.0); // never waits for the network
//!     if let Some(shown) = player.frame(flag) {
//!         // draw(shown.view())
//!         # let _ = shown;
//!     }
//! }
//! # }
//! ```
//!
//! A tool reads the same source directly; that waits for the network:
//!
//! ```no_run
//! use meshreel::{Limits, Reel};
//! use meshreel_http::{HttpClient, HttpOptions};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let client = HttpClient::new(HttpOptions::default())?;
//! let source = client.source("https://example.com/flag.reel")?;
//! source.connect()?; // an error that names the address
//! let reel = Reel::from_source(source, &Limits::default())?;
//! println!("{} frames", reel.frame_count());
//! # Ok(())
//! # }
//! ```
//!
//! Nothing that a server sends is trusted: lengths and ranges are compared with what was asked for, redirects
//! and headers are bounded, and an answer that is too slow counts as a failure. Errors and `Debug` show
//! neither headers nor queries of addresses.

#![warn(missing_debug_implementations)]

mod address;
mod answer;
mod cache;
mod client;
mod delay;
mod encryption;
mod failure;
mod options;
mod remote_file;
mod request_threads;
mod requester;
mod statistics;

pub use client::{HttpClient, HttpSource};
pub use options::HttpOptions;
pub use statistics::HttpStatistics;
