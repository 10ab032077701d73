//! What a model is sent, checked from the outside.

#![allow(clippy::unwrap_used)]

mod acceptance;
mod bad_input;
mod budget;
mod compare;
mod kept_picks;
mod minimal;
mod modes;
mod prefix;
mod presets;
mod support;
