//! The store from the outside, on real files.

#![allow(clippy::unwrap_used)]

mod approvals;
mod broken;
mod embeddings;
mod items;
mod owners;
mod reading;
mod records;
mod searching;
mod sessions;
mod size;
mod support;
mod turns;
