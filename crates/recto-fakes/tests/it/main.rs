//! The fakes, asked over loopback by a client that knows nothing but HTTP.

#![allow(clippy::unwrap_used)]

mod answers;
mod ollama;
mod openai;
mod server;
mod support;
