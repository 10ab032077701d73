//! The real binary, used the way a person uses it.

#![allow(clippy::unwrap_used)]

mod agents;
mod approvals;
mod bad_input;
mod bad_sessions;
mod bench;
mod browser;
mod chat;
mod config;
mod context;
mod databases;
mod discord;
mod doctor;
#[cfg(feature = "embedded")]
mod embedded;
#[cfg(target_os = "linux")]
mod escape;
mod files;
mod finding;
mod include;
mod init;
mod items;
mod json_shapes;
mod kill;
mod mcp_client;
mod mcp_serve;
mod memory;
#[cfg(target_os = "linux")]
mod picture;
mod pty;
mod pull;
mod readme;
mod real_clients;
mod real_server;
mod record;
mod running;
mod sampling;
mod schedules;
mod screen;
mod search;
mod servers;
mod serving;
mod sessions;
mod skills_run;
mod stats;
mod storage;
mod sub_agents;
mod support;
mod taken_up;
mod telegram;
mod telemetry;
#[cfg(target_os = "linux")]
mod templates;
mod terminal;
mod tokens;
mod tools;
mod transfer;
mod web_pages;
mod why;
#[cfg(target_os = "linux")]
mod widths;
