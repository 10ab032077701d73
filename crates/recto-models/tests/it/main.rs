//! The library against real files, real sockets on loopback and a pip that is a
//! script. The servers here send raw bytes, so that they can break off, hang and
//! lie wherever a test wants them to.

// A test helper may fail like a test.
#![allow(clippy::unwrap_used)]

mod at_once;
mod files;
mod full_disk;
mod hub;
mod library;
mod pip;
mod server;
mod support;
mod urls;
