//! Whether a message is meant for Recto, by the word behind its slash.
//!
//! A word that is near a command is never taken for a message: what follows a mistyped
//! `/remember` is nothing that a model was meant to read. What commands do with the rest of
//! their line is not known here.

use recto_context::{fold_name, nearest_within};

use super::{COMMANDS, CommandHelp, help};

/// A command of those surfaces that a person sits at. They know what it does; everywhere else
/// it is no message either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurfaceCommand {
    /// Write the message in the person's own editor.
    Editor,
    /// End the chat.
    Exit,
}

/// How a command of a surface is typed, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the types say it")]
pub struct SurfaceCommandHelp {
    pub command: SurfaceCommand,
    pub help: CommandHelp,
    /// Another name that it goes by.
    pub also: Option<&'static str>,
}

/// All commands of surfaces, in the order in which `/help` lists them.
pub const SURFACE_COMMANDS: &[SurfaceCommandHelp] = &[
    SurfaceCommandHelp {
        command: SurfaceCommand::Editor,
        help: help("/editor", "", "write the message in your own editor ($VISUAL or $EDITOR)"),
        also: None,
    },
    SurfaceCommandHelp {
        command: SurfaceCommand::Exit,
        help: help("/exit", "", "end the chat (also /quit)"),
        also: Some("/quit"),
    },
];

impl SurfaceCommand {
    /// The command that a line is, if it is one and nothing else.
    pub fn read(line: &str) -> Option<Self> {
        let typed = line.trim_end();
        let is_typed = |entry: &&SurfaceCommandHelp| {
            entry.names().any(|name| name.eq_ignore_ascii_case(typed))
        };
        SURFACE_COMMANDS.iter().find(is_typed).map(|entry| entry.command)
    }
}

impl SurfaceCommandHelp {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        [self.help.name].into_iter().chain(self.also)
    }
}

/// Words that are commands in other chats and none here, with the one that is meant. What
/// follows them was no more meant for a model than behind a mistyped command.
const FOREIGN_COMMANDS: [(&str, Option<&str>); 18] = [
    ("forget", None),
    ("memory", Some("/remember")),
    ("memories", Some("/remember")),
    ("save", Some("/remember")),
    ("clear", Some("/new")),
    ("reset", Some("/new")),
    ("restart", Some("/new")),
    ("settings", Some("/set")),
    ("config", Some("/set")),
    ("usage", Some("/stats")),
    ("cost", Some("/stats")),
    ("tokens", Some("/context")),
    ("redo", Some("/retry")),
    ("regenerate", Some("/retry")),
    ("cancel", Some("/stop")),
    ("abort", Some("/stop")),
    ("allow", Some("/approve")),
    ("bye", Some("/exit")),
];

/// What can stand right behind a command, where a space was meant.
const BEHIND: [char; 5] = [':', '=', ',', ';', '!'];

/// A prefix of a command that is shorter than this is no sign of one.
const SHORTEST_PREFIX: usize = 2;

/// What a message is by the word that it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlashReading<'a> {
    /// A message, as it is to be sent.
    Message(&'a str),
    /// A command, with what follows it.
    Command(&'static CommandHelp, &'a str),
    /// A command of some surfaces, with what follows it.
    OfSurface(&'static str, &'a str),
    /// A word that is no command and may have been meant as this one.
    Unknown(&'a str, Option<&'static str>),
}

impl<'a> SlashReading<'a> {
    pub(super) fn read(message: &'a str) -> Self {
        let line = message.trim_end();
        if !line.starts_with('/') {
            return SlashReading::Message(message);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = &word[1..];
        if let Some(escaped) = name.strip_prefix('/') {
            // `//help` is sent as `/help`; a comment of code, `// as here`, is left alone.
            let is_word = escaped.starts_with(|c: char| c.is_ascii_alphabetic());
            return SlashReading::Message(if is_word { &message[1..] } else { message });
        }
        let rest = rest.trim();
        if let Some(help) = COMMANDS.iter().find(|help| help.name.eq_ignore_ascii_case(word)) {
            return SlashReading::Command(help, rest);
        }
        if let Some(known) = surface_names().find(|name| name.eq_ignore_ascii_case(word)) {
            return SlashReading::OfSurface(known, rest);
        }
        // `/remember:milk` has no space where one was meant.
        let (stem, typed) = match word.find(BEHIND) {
            Some(at) => (&word[1..at], &word[..=at]),
            None => (name, word),
        };
        // `/` and `/ help`: a command was begun.
        let behind = rest.split_whitespace().next().and_then(nearest_command);
        if name.is_empty() && (rest.is_empty() || behind.is_some()) {
            return SlashReading::Unknown(word, behind);
        }
        // A path, such as `/usr/bin/env`.
        if stem.is_empty() || stem.contains('/') {
            return SlashReading::Message(message);
        }
        // A word alone that looks like a command was meant as one.
        let is_lone = rest.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        let foreign = FOREIGN_COMMANDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(stem));
        match (foreign, nearest_command(stem)) {
            (Some((_, meant)), _) => SlashReading::Unknown(typed, *meant),
            (None, Some(nearest)) => SlashReading::Unknown(typed, Some(nearest)),
            (None, None) if is_lone => SlashReading::Unknown(word, None),
            (None, None) => SlashReading::Message(message),
        }
    }
}

fn surface_names() -> impl Iterator<Item = &'static str> {
    SURFACE_COMMANDS.iter().flat_map(SurfaceCommandHelp::names)
}

/// The command that a word was probably meant to be: a slip away from it, or its beginning.
fn nearest_command(word: &str) -> Option<&'static str> {
    let names = || COMMANDS.iter().map(|help| help.name).chain(surface_names());
    let bare = names().map(|name| &name[1..]);
    let begins = fold_name(word);
    let is_begun =
        |name: &&str| begins.len() >= SHORTEST_PREFIX && name[1..].starts_with(begins.as_str());
    // Two slips in a short word make another one of it, such as a folder's name.
    let near = nearest_within(word, bare, |letters| if letters > 5 { 2 } else { 1 });
    near.and_then(|near| names().find(|name| &name[1..] == near)).or_else(|| names().find(is_begun))
}
