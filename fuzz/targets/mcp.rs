//! What `recto_tools::fuzzing::check_mcp` says.
#![no_main]

recto_fuzz::target!(|data| recto_tools::fuzzing::check_mcp(data));
