//! The program `recto`. Everything is in the library, where tests reach it.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A turn takes thousands of small pieces of memory, on whichever thread it is run, and gives many of
/// them back on another: the system's allocator spent a sixth of a turn on that.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Before anything else: a program that a tool runs waits behind it.
    if let Some(code) = recto_tools::launch_if_asked() {
        return code;
    }
    if let Some(code) = recto_llm::render_if_asked() {
        return code;
    }
    recto_llm::render_apart(recto_tools::own_executable());
    recto::run()
}
