//! Whether a message is meant for Recto, by the word behind its slash.
//!
//! A word that is near a command is never taken for a message: what follows a mistyped
//! `/remember` is nothing that a model was meant to read. What commands do with the rest of
//! their line is not known here.

use recto_context::{fold_name, nearest_within};

use super::{COMMANDS, CommandHelp};

/// The commands of those surfaces that can be left. Only they know them; everywhere else
/// they are no message either.
const SURFACE_COMMANDS: [&str; 2] = ["/exit", "/quit"];

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
        if let Some(known) =
            SURFACE_COMMANDS.into_iter().find(|name| name.eq_ignore_ascii_case(word))
        {
            return SlashReading::OfSurface(known, rest);
        }
        // A path, such as `/usr/bin/env`.
        if name.is_empty() || name.contains('/') {
            return SlashReading::Message(message);
        }
        let nearest = nearest_command(name);
        // A word alone that looks like a command was meant as one.
        let is_lone = rest.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        match nearest.is_some() || is_lone {
            true => SlashReading::Unknown(word, nearest),
            false => SlashReading::Message(message),
        }
    }
}

/// The command that a word was probably meant to be: a slip away from it, or its beginning.
fn nearest_command(word: &str) -> Option<&'static str> {
    let of_surface = SURFACE_COMMANDS.into_iter();
    let names = || COMMANDS.iter().map(|help| help.name).chain(of_surface.clone());
    let bare = names().map(|name| &name[1..]);
    let begins = fold_name(word);
    let is_begun =
        |name: &&str| begins.len() >= SHORTEST_PREFIX && name[1..].starts_with(begins.as_str());
    // Two slips in a short word make another one of it, such as a folder's name.
    let near = nearest_within(word, bare, |letters| if letters > 5 { 2 } else { 1 });
    near.and_then(|near| names().find(|name| &name[1..] == near)).or_else(|| names().find(is_begun))
}
