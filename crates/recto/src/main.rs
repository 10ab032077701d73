//! The program `recto`. Everything is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    recto::run()
}
