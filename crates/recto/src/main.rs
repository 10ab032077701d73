//! The program `recto`. Everything is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: a program that a tool runs waits behind it.
    if let Some(code) = recto_tools::launch_if_asked() {
        return code;
    }
    recto::run()
}
