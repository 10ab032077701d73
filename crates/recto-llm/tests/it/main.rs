//! The client against real sockets on loopback. The servers here send raw bytes,
//! so that they can break off, hang and lie wherever a test wants them to.

// A test helper may fail like a test.
#![allow(clippy::unwrap_used)]

mod calls;
#[cfg(feature = "embedded")]
mod embedded;
mod failures;
mod fakes;
mod probes;
mod scripted;
mod secrets;
mod server;
