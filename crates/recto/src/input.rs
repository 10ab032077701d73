//! What comes in through standard input.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::failure::{CliFailure, CliResult};
use crate::output::tell;

/// The most that is read of a message or a history: more than any window holds,
/// and not all of a device that never ends.
const MOST_BYTES: u64 = 256 << 20;

/// How long nothing may come in beside a message before a person is told what is waited for.
const QUIET: Duration = Duration::from_secs(1);

/// How much longer it is waited for: a pipe that somebody left open must not hold up a message
/// for ever.
const PATIENCE: Duration = Duration::from_secs(4);

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

/// Reads what is piped in beside a message, up to `most` bytes; `None` where a person could type
/// and where there is nothing to see in it. An open pipe that stays empty is left alone.
pub(crate) fn piped(most: u64) -> CliResult<Option<Vec<u8>>> {
    if is_typed() {
        return Ok(None);
    }
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        // The first bytes, or the end.
        let begun = input.fill_buf().map(|_| ());
        let mut bytes = Vec::new();
        let read = begun.map(|()| sender.send(None)).and_then(|_| {
            input.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        // Nobody listens any more where nothing came for too long.
        let _ = sender.send(Some(read));
    });
    let mut first = receiver.recv_timeout(QUIET);
    if let Err(RecvTimeoutError::Timeout) = first {
        tell(&"waiting for what is piped in (`< /dev/null` says that there is nothing)");
        first = receiver.recv_timeout(PATIENCE);
    }
    let read = match first {
        Err(RecvTimeoutError::Timeout) => {
            tell(&"warning: nothing came in through the pipe; the message goes without it");
            return Ok(None);
        }
        Ok(None) => receiver.recv().ok().flatten(),
        Ok(read @ Some(_)) => read,
        Err(RecvTimeoutError::Disconnected) => None,
    };
    let bytes = read
        .transpose()
        .map_err(|error| CliFailure::new("cannot read what is piped in").because(&error))?;
    Ok(bytes.filter(|bytes| !bytes.trim_ascii().is_empty()))
}

/// Whether a person could type.
pub(crate) fn is_typed() -> bool {
    io::stdin().is_terminal()
}

/// Whether a person sits there who reads what they are asked.
pub(crate) fn can_ask() -> bool {
    is_typed() && io::stderr().is_terminal()
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
