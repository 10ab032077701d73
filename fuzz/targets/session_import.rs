//! What `recto::fuzzing::check_session_import` says.
#![no_main]

recto_fuzz::target!(|data| recto::fuzzing::check_session_import(data));
