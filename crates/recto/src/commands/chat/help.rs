//! What `/help` shows: the commands, and where keys are pressed, the keys.

use std::fmt::Write as _;

use recto_agent::{COMMANDS, SURFACE_COMMANDS, SurfaceCommand, SurfaceCommandHelp};
use unicode_width::UnicodeWidthStr;

use crate::draw::{PageWidth, wrap_words};
use crate::input;
use crate::terminal::quiet::has_screen;

const KEYS: [(&str, &str); 13] = [
    ("Enter", "send the message; while a reply is written: keep it for after that"),
    ("\\ Enter, Alt-Enter", "begin a new line in the message"),
    ("Ctrl-C", "stop the turn; again, after a second: leave"),
    ("Ctrl-D", "end the chat; in a turn: after it; again: now"),
    ("Ctrl-Z", "put Recto to sleep in a turn; `fg` in the shell wakes it"),
    ("Tab", "complete a command, what stands behind it, @rule:…, @file:…"),
    ("Up, Down", "earlier messages"),
    ("Ctrl-R", "search earlier messages"),
    ("Ctrl-A, Ctrl-E", "go to the beginning, to the end of the line"),
    ("Ctrl-U, Ctrl-W", "delete to the beginning of the line, the word before the cursor"),
    ("Ctrl-O, Ctrl-X Ctrl-E", "write the message in your own editor ($VISUAL or $EDITOR)"),
    ("y, s, n, Esc", "answer when a tool may not run unasked"),
    ("//", "at the start of a message: a slash that begins no command"),
];

/// The most of a line that the first column takes, as a part of it.
const MOST: usize = 2;

/// How wide the first column is where nothing says how wide a line can be.
const WIDE: usize = 47;

/// Whether keys do anything where the help is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HelpKeys {
    Shown,
    /// Whole lines are read: from a program, or from a terminal that can only print.
    Hidden,
}

impl HelpKeys {
    /// What holds for this process.
    pub(super) fn of_process() -> Self {
        match input::is_typed() && has_screen() {
            true => HelpKeys::Shown,
            false => HelpKeys::Hidden,
        }
    }
}

/// The commands, and where they are pressed the keys, in two columns.
pub(super) fn help(width: Option<usize>, keys: HelpKeys) -> String {
    let typed = |name: &str, arguments: &str| format!("{name} {arguments}").trim_end().to_owned();
    let shared = COMMANDS.iter().map(|help| (typed(help.name, help.arguments), help.about));
    // Where no keys are pressed, no editor is opened.
    let is_there = |own: &&SurfaceCommandHelp| {
        keys == HelpKeys::Shown || own.command != SurfaceCommand::Editor
    };
    let own = SURFACE_COMMANDS.iter().filter(is_there);
    let own = own.map(|own| (own.help.name.to_owned(), own.help.about));
    let commands: Vec<(String, &str)> = shared.chain(own).collect();
    let commands = columns(&commands, width);
    if keys == HelpKeys::Hidden {
        return commands;
    }
    let keys: Vec<(String, &str)> =
        KEYS.iter().map(|(key, about)| ((*key).to_owned(), *about)).collect();
    format!("{commands}\n{}", columns(&keys, width))
}

/// Two columns, of which the second is wrapped between words. What is too long for the first
/// has the second below it.
fn columns(rows: &[(String, &str)], width: Option<usize>) -> String {
    let longest = rows.iter().map(|(left, _)| left.width()).max().unwrap_or(0);
    let left = width.map_or(WIDE, |width| longest.min(width / MOST) + 2);
    let page =
        width.map_or(PageWidth::Unlimited, |width| PageWidth::Columns(width.saturating_sub(left)));
    let mut out = String::new();
    for (name, about) in rows {
        let below = format!("\n{:left$}", "");
        let about = wrap_words(about, 0, page).replace('\n', &below);
        let _ = match name.width() + 2 > left {
            true => writeln!(out, "{name}{below}{about}"),
            false => writeln!(out, "{name:<left$}{about}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_the_terminal_and_no_word_is_lost() {
        for width in [60, 80, 100, 120, 200] {
            let drawn = help(Some(width), HelpKeys::Shown);
            assert!(drawn.lines().all(|line| line.width() <= width), "{width}:\n{drawn}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            for (_, about) in KEYS {
                let all = words(&drawn).join(" ");
                assert!(all.contains(&words(about).join(" ")), "{width}: {about}");
            }
        }
    }

    /// What goes on below begins where it began.
    #[test]
    fn further_lines_stand_in_the_second_column() {
        let rows = [
            ("/a".to_owned(), "one two three four five six seven eight nine ten"),
            ("/longer <than the first column>".to_owned(), "one"),
        ];
        let drawn = columns(&rows, Some(40));
        let starts = drawn.lines().filter(|line| line.starts_with(' '));
        let starts: Vec<usize> = starts.map(|line| line.len() - line.trim_start().len()).collect();
        assert_eq!(drawn.lines().next().and_then(|line| line.find("one")), Some(22), "{drawn}");
        assert!(starts.len() > 2 && starts.iter().all(|start| *start == 22), "{drawn}");
    }

    /// A program that pipes messages in presses no keys.
    #[test]
    fn where_lines_are_read_there_are_no_keys_and_no_editor() {
        for width in [None, Some(80)] {
            let drawn = help(width, HelpKeys::Hidden);
            assert!(drawn.contains("/exit") && !drawn.contains("Ctrl-R"), "{drawn}");
            assert!(!drawn.contains("/editor"), "{drawn}");
        }
        assert!(help(None, HelpKeys::Shown).contains("Ctrl-R"));
    }
}
