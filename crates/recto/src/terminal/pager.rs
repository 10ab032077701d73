//! Long texts in a person's own pager: the one that `PAGER` names, or `less`.
//!
//! Only a terminal gets a pager, and only for what is longer than its screen. Where the pager
//! can't be started, or there is none, the text is printed as it is.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::process::Stdio;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};

use super::program::named_command;
use crate::failure::CliResult;
use crate::output::print_drawn;

/// Whether a person wants a pager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PagerChoice {
    /// Where the text is longer than the screen.
    Usual,
    Never,
}

/// Shows what is drawn for people, in a pager where it is longer than the screen.
pub(crate) fn show(drawing: &str, choice: PagerChoice) -> CliResult {
    if choice == PagerChoice::Usual && is_longer_than_screen(drawing) {
        let colours = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let text = if colours { drawing.to_owned() } else { strip_str(drawing).to_string() };
        if let Some(pager) = pager()
            && run(&pager, &text).is_ok()
        {
            return Ok(());
        }
    }
    print_drawn(drawing)
}

fn is_longer_than_screen(drawing: &str) -> bool {
    let is_seen = io::stdout().is_terminal() && io::stdin().is_terminal();
    let rows = crossterm::terminal::size().map_or(0, |(_, rows)| usize::from(rows));
    is_seen && drawing.lines().count() >= rows
}

/// The pager with its arguments; `None` where a person wants none.
fn pager() -> Option<OsString> {
    let named = env::var_os("PAGER").unwrap_or_else(|| "less -FRX".into());
    let is_none = matches!(named.to_string_lossy().split_whitespace().next(), None | Some("cat"));
    (!is_none).then_some(named)
}

/// Runs the pager until the person leaves it.
fn run(pager: &OsStr, text: &str) -> io::Result<()> {
    let mut command = named_command(pager)?;
    command.stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        // Colours, and what is short stays on the screen, whatever PAGER says of less.
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // Whoever leaves early has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().map(|_| ())
}
