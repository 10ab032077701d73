//! What comes in through standard input.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};

use tokio::sync::mpsc;

use crate::failure::{CliFailure, CliResult};

/// The most that is read of a message or a history: more than any window holds,
/// and not all of a device that never ends.
const MOST_BYTES: u64 = 256 << 20;

/// The message that was typed behind a flag; `-` stands for all of standard input.
pub(crate) fn message(typed: &str) -> CliResult<String> {
    if typed == "-" { all() } else { Ok(typed.to_owned()) }
}

/// Reads standard input to its end, byte for byte.
pub(crate) fn all() -> CliResult<String> {
    read_text(io::stdin().lock()).map_err(|error| {
        CliFailure::new("cannot read the message from standard input").because(&error)
    })
}

/// Whether a person could type.
pub(crate) fn is_typed() -> bool {
    io::stdin().is_terminal()
}

/// Reads a source to its end, as text.
pub(crate) fn read_text(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    source.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(too_large());
    }
    Ok(text)
}

fn too_large() -> io::Error {
    let what = format!("it is larger than {} MiB", MOST_BYTES >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, what)
}

/// The lines of standard input, read on a thread of their own, one ahead. Ends
/// with the input, or with what went wrong.
pub(crate) fn lines() -> mpsc::Receiver<CliResult<String>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = BufReader::new(io::stdin().lock());
        while let Some(line) = next_line(&mut input).transpose() {
            let line = line.map_err(|error| {
                CliFailure::new("cannot read a message from standard input").because(&error)
            });
            let is_last = line.is_err();
            if sender.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.take(MOST_BYTES + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() as u64 > MOST_BYTES {
        return Err(too_large());
    }
    if line.ends_with(b"\n") {
        line.pop();
        line.pop_if(|byte| *byte == b'\r');
    }
    let text = String::from_utf8(line)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))?;
    Ok(Some(text))
}
