//! What a model is sent, checked from the outside.

#![allow(clippy::unwrap_used, clippy::field_reassign_with_default)]

mod acceptance;
mod bad_input;
mod budget;
mod compaction;
mod compare;
mod counting;
mod item_lists;
mod kept_picks;
mod minimal;
mod modes;
mod order;
mod origins;
mod places;
mod play;
mod prefix;
mod presets;
mod profile;
mod record;
mod skill_lists;
mod speakers;
mod summary;
mod support;
