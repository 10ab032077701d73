//! What has to hold of what people bring, for fuzzing and for tests. Built for these alone.

pub use crate::commands::sessions::fuzzing::check_session_import;
