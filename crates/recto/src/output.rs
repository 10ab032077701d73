//! Where text goes: data to standard output, everything else to standard error.
//! Colours only where a person looks, and a closed pipe is no failure.

use std::fmt::Display;
use std::io::{self, Write};

use crate::failure::Failure;

/// Prints data. Colours in it are taken out unless a terminal shows them.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new("cannot write to standard output").because(&error)),
        Ok(()) => Ok(()),
    }
}

/// Prints data for programs.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Tells a person something that is not data.
pub(crate) fn tell(what: &dyn Display) {
    // Nobody is left to be told when standard error is gone.
    let _ = writeln!(anstream::stderr(), "{what}");
}
