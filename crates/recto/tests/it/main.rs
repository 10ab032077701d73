//! The real binary, used the way a person uses it.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod config;
mod context;
mod init;
mod items;
mod support;
