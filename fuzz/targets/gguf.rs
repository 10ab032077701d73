//! What `recto_llm::fuzzing::check_gguf` says.
#![no_main]

recto_fuzz::target!(|data| recto_llm::fuzzing::check_gguf(data));
