//! What `recto_context::fuzzing::check_history` says.
#![no_main]

recto_fuzz::target!(|data| recto_context::fuzzing::check_history(data));
