//! What a person at a terminal gets beyond plain lines: Markdown that is drawn
//! while it streams, a line editor, a line that says what goes on, and what is typed meanwhile.
//!
//! Nothing here knows of sessions, models or turns. Texts come in, texts and
//! typed lines go out.

pub(crate) mod choose;
pub(crate) mod completion;
pub(crate) mod draft;
pub(crate) mod editor;
pub(crate) mod history;
pub(crate) mod keys;
pub(crate) mod markdown;
mod open_row;
pub(crate) mod pager;
mod program;
pub(crate) mod quiet;
pub(crate) mod status;
pub(crate) mod type_ahead;

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};

/// Whether text is drawn for a person or handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStyle {
    /// A person reads it on a terminal.
    Yes,
    /// A person reads it on a terminal without colours: the same lines, and no more.
    Colourless,
    /// A program or a file gets it: byte for byte.
    No,
}

impl OutputStyle {
    /// What standard output asks for.
    pub(crate) fn on_stdout() -> Self {
        let stdout = io::stdout();
        match AutoStream::choice(&stdout) {
            _ if !stdout.is_terminal() => OutputStyle::No,
            ColorChoice::Never => OutputStyle::Colourless,
            _ => OutputStyle::Yes,
        }
    }
}

/// How many columns there are where a stream goes, if that is a terminal.
pub(crate) fn width_of(stream: &impl IsTerminal) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let (columns, _) = crossterm::terminal::size().ok()?;
    (columns > 0).then_some(columns.into())
}
