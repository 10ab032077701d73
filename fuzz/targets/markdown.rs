//! What `recto_context::fuzzing::check_markdown` says.
#![no_main]

recto_fuzz::target!(|data| recto_context::fuzzing::check_markdown(data));
