//! A whole agent in the test's own process: a real database, real files, and a
//! model server on loopback that does what the test wants.

#![allow(clippy::unwrap_used)]

mod approvals;
mod compaction;
mod events;
mod memory;
mod notices;
mod order;
mod recovery;
mod selection;
mod sessions;
mod shutdown;
mod stop;
mod support;
mod trouble;
mod why;
