//! From a line to a command.

use recto_store::{ApprovalId, ParseIdError};
use serde_json::Value;

use crate::stats::{ParseSpanError, UsageSpan};

use super::{ApprovalScope, COMMANDS, ChatCommand, SettingChange};

/// A line that is meant as a command, and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of a variant says what its fields hold")]
pub enum CommandProblem {
    /// There is no such command.
    #[error("there is no command `{typed}`")]
    Unknown { typed: String },
    /// The command is there, but not with this argument.
    #[error("`{command}` can't be used with `{argument}`: {problem}")]
    Argument { command: &'static str, argument: String, problem: String },
}

impl CommandProblem {
    /// What a person can do about it.
    pub fn hint(&self) -> String {
        match self {
            CommandProblem::Unknown { .. } => {
                "type /help for the commands; put a space in front to send it as a message"
                    .to_owned()
            }
            CommandProblem::Argument { command, .. } => {
                let known = COMMANDS.iter().find(|help| help.name == *command);
                let arguments = known.map_or("", |help| help.arguments);
                format!("type {command} {arguments}")
            }
        }
    }
}

impl ChatCommand {
    /// The command that a message has the form of; `None` when it is a message for the model.
    /// Whether its sender can mean it as one, [`Inbound::read_command`](crate::Inbound) knows.
    pub(crate) fn parse(message: &str) -> Result<Option<ChatCommand>, CommandProblem> {
        let line = message.trim_end();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        // What is to be remembered may have several lines.
        let is_one_line = !line.contains('\n') || word == "/remember";
        if !looks_like_command(word) || !is_one_line {
            return Ok(None);
        }
        let known = COMMANDS.iter().find(|help| help.name == word);
        match known {
            // A word alone that looks like a command was meant as one.
            None if rest.is_empty() => Err(CommandProblem::Unknown { typed: word.to_owned() }),
            None => Ok(None),
            // "/new york" is no command.
            Some(help) if help.arguments.is_empty() && !rest.is_empty() => Ok(None),
            Some(help) => match read(help.name, rest) {
                Ok(command) => Ok(Some(command)),
                Err(problem) => {
                    let (command, argument) = (help.name, rest.to_owned());
                    Err(CommandProblem::Argument { command, argument, problem })
                }
            },
        }
    }
}

/// A slash and letters: `/help`, but not `/usr/bin` or `/ `.
fn looks_like_command(word: &str) -> bool {
    word.strip_prefix('/')
        .is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Reads a command of that name with what follows it.
fn read(name: &str, rest: &str) -> Result<ChatCommand, String> {
    let item = || required(rest, "it takes the name of an item");
    Ok(match name {
        "/new" => ChatCommand::New,
        "/context" => ChatCommand::Context,
        "/sessions" => ChatCommand::Sessions,
        "/stop" => ChatCommand::Stop((!rest.is_empty()).then(|| rest.to_owned())),
        "/model" => ChatCommand::Model(optional(rest, |name| read_setting("model", name))?),
        "/mode" => ChatCommand::Mode(optional(rest, |mode| read_setting("context_mode", mode))?),
        "/set" => ChatCommand::Set(optional(rest, read_change)?),
        "/add" => ChatCommand::Add(item()?),
        "/remove" => ChatCommand::Remove(item()?),
        "/why" => ChatCommand::Why(item()?),
        "/stats" => ChatCommand::Stats(optional(rest, read_span)?.unwrap_or_default()),
        "/remember" => ChatCommand::Remember(required(rest, "it takes what is to be remembered")?),
        "/approve" => approve(rest)?,
        "/deny" => ChatCommand::Deny(optional(rest, read_number)?),
        _ => ChatCommand::Help,
    })
}

fn required(rest: &str, problem: &str) -> Result<String, String> {
    if rest.is_empty() { Err(problem.to_owned()) } else { Ok(rest.to_owned()) }
}

fn optional<T>(
    rest: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    (!rest.is_empty()).then(|| read(rest)).transpose()
}

fn approve(rest: &str) -> Result<ChatCommand, String> {
    let (mut id, mut scope) = (None, ApprovalScope::Once);
    for word in rest.split_whitespace() {
        match word {
            "session" => scope = ApprovalScope::Session,
            "once" => scope = ApprovalScope::Once,
            number => id = Some(read_number(number)?),
        }
    }
    Ok(ChatCommand::Approve(id, scope))
}

fn read_span(text: &str) -> Result<UsageSpan, String> {
    text.parse().map_err(|error: ParseSpanError| error.to_string())
}

fn read_number(text: &str) -> Result<ApprovalId, String> {
    text.parse().map_err(|error: ParseIdError| error.to_string())
}

/// The values that a setting takes, beside `default`.
enum SettingKind {
    Name,
    Number(f64, f64),
    Count(u32, Option<u32>),
    /// One of these words, and what is said to any other.
    Word(&'static [&'static str], &'static str),
}

/// The most candidates that search can be told to look at, as in the config.
const MOST_CANDIDATES: Option<u32> = Some(1_000);

/// The settings that a session has, as `/set` names them and the store keeps them.
const SETTINGS: [(&str, SettingKind); 13] = [
    ("model", SettingKind::Name),
    ("temperature", SettingKind::Number(0.0, 2.0)),
    ("top_p", SettingKind::Number(0.0, 1.0)),
    ("max_output_tokens", SettingKind::Count(1, None)),
    ("max_rounds", SettingKind::Count(1, None)),
    (
        "context_mode",
        SettingKind::Word(
            &["full", "minimal", "auto"],
            "the modes are full, minimal, auto and default",
        ),
    ),
    (
        "search",
        SettingKind::Word(
            &["off", "conservative", "normal", "aggressive"],
            "it takes off, conservative, normal, aggressive or default",
        ),
    ),
    ("top_k", SettingKind::Count(1, MOST_CANDIDATES)),
    ("top_n", SettingKind::Count(0, MOST_CANDIDATES)),
    ("include_score", SettingKind::Number(0.0, 1.0)),
    ("floor", SettingKind::Number(0.0, 1.0)),
    (
        "approval",
        SettingKind::Word(
            &["always", "never", "per_tool", "tool"],
            "it takes always, never, per_tool or default",
        ),
    ),
    (
        "compaction",
        SettingKind::Word(
            &["off", "extract", "summary"],
            "it takes off, extract, summary or default",
        ),
    ),
];

/// The names of the settings that a session has, as `/set` takes them and the store keeps them.
pub fn session_setting_names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|(name, _)| *name)
}

fn read_change(text: &str) -> Result<SettingChange, String> {
    let (key, value) = text
        .split_once(|c: char| c.is_whitespace() || c == '=')
        .map(|(key, value)| (key, value.trim().trim_start_matches('=').trim()))
        .filter(|(_, value)| !value.is_empty())
        .ok_or_else(|| format!("it takes a key and a value; {}", keys()))?;
    read_setting(key, value)
}

fn keys() -> String {
    format!("the keys are {}", session_setting_names().collect::<Vec<_>>().join(", "))
}

fn read_setting(key: &str, text: &str) -> Result<SettingChange, String> {
    let (key, takes) = SETTINGS.iter().find(|(known, _)| *known == key).ok_or_else(keys)?;
    let value = if text == "default" { None } else { Some(takes.read(text)?) };
    Ok(SettingChange { key, value })
}

impl SettingKind {
    fn read(&self, text: &str) -> Result<Value, String> {
        let (value, problem) = match *self {
            SettingKind::Name => return Ok(text.into()),
            SettingKind::Number(least, most) => {
                let number = text.parse().ok().filter(|value| (least..=most).contains(value));
                (number.map(Value::from), format!("it takes a number from {least} to {most}"))
            }
            SettingKind::Count(least, most) => {
                let range = least..=most.unwrap_or(u32::MAX);
                let count = text.parse().ok().filter(|value| range.contains(value));
                let to = most.map(|most| format!(" to {most}")).unwrap_or_default();
                (count.map(Value::from), format!("it takes a whole number from {least}{to}"))
            }
            SettingKind::Word(words, problem) => {
                (words.contains(&text).then(|| text.into()), problem.to_owned())
            }
        };
        value.ok_or(problem)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::options::SessionSettings;

    fn command(text: &str) -> Option<ChatCommand> {
        ChatCommand::parse(text).unwrap()
    }

    /// Promise: `commands-are-exact`
    #[test]
    fn commands_are_exact() {
        assert_eq!(command("/new"), Some(ChatCommand::New));
        assert_eq!(command("/new\n"), Some(ChatCommand::New));
        for message in [
            "How do I reset my router?",
            "How do I /new?",
            " /new",
            "/new york is large",
            "/usr/bin/env is missing",
            "/etc",
            "//new",
            "/",
            "/New",
            "new",
            "/model\nis a command",
            "/tmp is full",
        ] {
            let parsed = ChatCommand::parse(message);
            assert!(!matches!(parsed, Ok(Some(_))), "{message:?} is {parsed:?}");
        }
    }

    /// Promise: `mistyped-command-is-told`
    #[test]
    fn a_lone_word_behind_a_slash_was_meant_as_a_command() {
        let problem = ChatCommand::parse("/contxt").unwrap_err();
        assert_eq!(problem.to_string(), "there is no command `/contxt`");
    }

    #[test]
    fn settings_are_read_and_checked() {
        let to = |value: f64| {
            Some(ChatCommand::Set(Some(SettingChange {
                key: "temperature",
                value: Some(value.into()),
            })))
        };
        assert_eq!(command("/set temperature 0.5"), to(0.5));
        assert_eq!(command("/set temperature=0.5"), to(0.5));
        assert_eq!(command("/set temperature = 0.5"), to(0.5));
        let unset = ChatCommand::Set(Some(SettingChange { key: "max_rounds", value: None }));
        assert_eq!(command("/set max_rounds default"), Some(unset));
        assert_eq!(command("/set"), Some(ChatCommand::Set(None)));
        let auto = SettingChange { key: "context_mode", value: Some(json!("auto")) };
        assert_eq!(command("/mode auto"), Some(ChatCommand::Mode(Some(auto))));
        let since = UsageSpan::From("2026-05-01".parse().unwrap());
        assert_eq!(command("/stats"), Some(ChatCommand::Stats(UsageSpan::Days(30))));
        assert_eq!(command("/stats 7d"), Some(ChatCommand::Stats(UsageSpan::Days(7))));
        assert_eq!(command("/stats 2026-05-01"), Some(ChatCommand::Stats(since)));
        assert_eq!(command("/stats all"), Some(ChatCommand::Stats(UsageSpan::All)));
        for bad in [
            "/set temperature hot",
            "/set temperature 3",
            "/set temperature NaN",
            "/set max_rounds 0",
            "/set nonsense 1",
            "/set temperature",
            "/set search sometimes",
            "/set floor 1.5",
            "/add",
            "/why ",
            "/mode sideways",
            "/stats sometimes",
            "/stats 0d",
        ] {
            assert!(ChatCommand::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_setting_is_one_that_a_session_keeps() {
        for (key, takes) in &SETTINGS {
            let values = match *takes {
                SettingKind::Name => vec!["x"],
                SettingKind::Number(..) | SettingKind::Count(..) => vec!["1"],
                SettingKind::Word(words, _) => words.to_vec(),
            };
            for value in values {
                let changed = SessionSettings::default().changed(read_setting(key, value).unwrap());
                assert!(changed.to_store().contains_key(*key), "{key} {value}");
                let unset = changed.changed(read_setting(key, "default").unwrap());
                assert_eq!(unset, SessionSettings::default());
            }
        }
    }

    #[test]
    fn every_command_of_the_list_can_be_typed() {
        for help in COMMANDS {
            let typed = match help.arguments.starts_with(char::is_uppercase) {
                true => format!("{} x", help.name),
                false => help.name.to_owned(),
            };
            assert!(matches!(ChatCommand::parse(&typed), Ok(Some(_))), "{typed}");
        }
    }
}
