//! What `recto_workspace::fuzzing::check_memories` says.
#![no_main]

recto_fuzz::target!(|data| recto_workspace::fuzzing::check_memories(data));
