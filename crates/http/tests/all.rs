//! Files over HTTP, from servers that do what they should and from servers that do not. No test measures
//! time: where a server stalls, timeouts are short, and everywhere else so long that a busy machine does not
//! matter.

#[path = "http/cache.rs"]
mod cache;
#[path = "http/client.rs"]
mod client;
#[path = "http/faults.rs"]
mod faults;
#[cfg(feature = "https")]
#[path = "http/https.rs"]
mod https;
#[path = "http/playing.rs"]
mod playing;
#[path = "http/server.rs"]
mod server;
