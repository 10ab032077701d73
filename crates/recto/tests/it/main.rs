//! The real binary, used the way a person uses it.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod bad_sessions;
mod bench;
mod chat;
mod config;
mod context;
mod doctor;
#[cfg(feature = "embedded")]
mod embedded;
mod finding;
mod include;
mod init;
mod items;
mod kill;
mod pull;
mod real_server;
mod record;
mod running;
mod search;
mod servers;
mod sessions;
mod storage;
mod support;
mod why;
