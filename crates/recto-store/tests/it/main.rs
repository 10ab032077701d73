//! The store from the outside, on real files and on a real server.

#![allow(clippy::unwrap_used)]

mod approvals;
mod broken;
mod channels;
mod compactions;
mod deletion;
mod deliveries;
mod embeddings;
mod feed;
mod garbage;
mod item_uses;
mod items;
mod migrations;
mod on_postgres;
mod owners;
mod reading;
mod records;
mod retractions;
mod salvage;
mod searching;
mod sessions;
mod size;
mod support;
mod tls;
mod tokens;
mod turns;
mod usage;
