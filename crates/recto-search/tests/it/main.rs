//! Search with real files and the real model.

// A test helper may fail like a test.
#![allow(clippy::unwrap_used)]

mod directions;
mod encoder;
mod models;
mod respell;
mod variants;
