//! What `recto_llm::fuzzing::check_wire` says.
#![no_main]

recto_fuzz::target!(|data| recto_llm::fuzzing::check_wire(data));
