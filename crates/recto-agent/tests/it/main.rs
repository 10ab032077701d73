//! A whole agent in the test's own process: a real database, real files, and a
//! model server on loopback that does what the test wants.

#![allow(clippy::unwrap_used)]

mod agents;
mod approvals;
mod clients;
mod compaction;
mod delegation;
mod deliveries;
mod events;
mod memory;
mod notices;
mod order;
mod people;
mod recovery;
mod schedules;
mod selection;
mod sessions;
mod shutdown;
mod speakers;
mod stamps;
mod stop;
mod support;
mod take_back;
mod taken_up;
mod trouble;
mod truth;
mod usage;
mod views;
mod why;
