//! From a line to a command.

use recto_context::nearest_name;
use recto_store::{ApprovalId, ParseIdError, SessionName};
use serde_json::Value;

use crate::stats::{ParseSpanError, UsageSpan};

use super::slash::SlashReading;
use super::{ApprovalScope, COMMANDS, ChatCommand, CommandHelp, SettingChange};

/// A line that is meant as a command, and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of a variant says what its fields hold")]
pub enum CommandProblem {
    /// There is no such command; the nearest is the one that was probably meant.
    #[error("there is no command `{typed}`{}", did_you_mean(*.nearest))]
    Unknown { typed: String, nearest: Option<&'static str> },
    /// The command is there, but not with this argument.
    #[error("`{command}` can't be used with `{argument}`: {problem}")]
    Argument { command: &'static str, argument: String, problem: String },
    /// The command needs what did not follow it.
    #[error("`{command}` needs more: {problem}")]
    Missing { command: &'static str, problem: String },
    /// Something else came with a command, such as an image.
    #[error("a command takes no files or images along")]
    Attachment,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// How much of an argument an error quotes: it may be a whole message.
const MOST_QUOTED: usize = 60;

impl CommandProblem {
    fn new(command: &'static str, argument: &str, problem: String) -> Self {
        if argument.is_empty() {
            return CommandProblem::Missing { command, problem };
        }
        let line = argument.lines().next().unwrap_or_default();
        let short: String = line.chars().take(MOST_QUOTED).collect();
        let more = if short.len() < argument.len() { "…" } else { "" };
        CommandProblem::Argument { command, argument: short + more, problem }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> String {
        match self {
            CommandProblem::Unknown { typed, .. } => {
                format!("type /help for the commands; `/{typed} …` sends it with a slash in front")
            }
            CommandProblem::Argument { command, .. } | CommandProblem::Missing { command, .. } => {
                let known = COMMANDS.iter().find(|help| help.name == *command);
                let usage = known.map_or((*command).to_owned(), CommandHelp::usage);
                format!("type {usage}; `/{command} …` sends it with a slash in front")
            }
            CommandProblem::Attachment => {
                "send the command by itself; `//…` sends a message that begins with a slash"
                    .to_owned()
            }
        }
    }
}

/// What a text is to its reader.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ParsedInput<'a> {
    /// Something that Recto is to do.
    Command(ChatCommand),
    /// A message for the model, as it is to be sent.
    Message(&'a str),
}

impl ChatCommand {
    /// What a text has the form of: a command, or a message for the model. Whether its sender
    /// can mean it as a command, [`Inbound::read_command`](crate::Inbound) knows.
    pub(crate) fn parse(message: &str) -> Result<ParsedInput<'_>, CommandProblem> {
        match SlashReading::read(message) {
            SlashReading::Message(text) => Ok(ParsedInput::Message(text)),
            SlashReading::Unknown(word, nearest) => {
                Err(CommandProblem::Unknown { typed: word.to_owned(), nearest })
            }
            SlashReading::OfSurface(word, "") => {
                Err(CommandProblem::Unknown { typed: word.to_owned(), nearest: None })
            }
            SlashReading::OfSurface(word, rest) => {
                Err(CommandProblem::new(word, rest, TAKES_NOTHING.to_owned()))
            }
            SlashReading::Command(help, rest) => match read_checked(help, rest) {
                Ok(command) => Ok(ParsedInput::Command(command)),
                Err(problem) => Err(CommandProblem::new(help.name, rest, problem)),
            },
        }
    }
}

const TAKES_NOTHING: &str = "it takes nothing behind it";

/// Reads a command with what follows it, in one line where it takes no text.
fn read_checked(help: &CommandHelp, rest: &str) -> Result<ChatCommand, String> {
    if rest.contains('\n') && !help.takes_text() {
        return Err("it takes one line".to_owned());
    }
    if !rest.is_empty() && help.arguments.is_empty() && help.name != "/help" {
        return Err(TAKES_NOTHING.to_owned());
    }
    read(help.name, rest)
}

/// Reads a command of that name with what follows it.
fn read(name: &str, rest: &str) -> Result<ChatCommand, String> {
    let item = || required(rest, "it takes the name of an item");
    Ok(match name {
        "/new" => ChatCommand::New(optional(rest, read_session_name)?),
        "/undo" => ChatCommand::Undo,
        "/retry" => ChatCommand::Retry,
        "/edit" => ChatCommand::Edit(optional(rest, |text| Ok(text.to_owned()))?),
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
        // Whoever asks for help with something gets it.
        _ => ChatCommand::Help,
    })
}

fn read_session_name(text: &str) -> Result<SessionName, String> {
    if text.contains(char::is_whitespace) {
        return Err("it takes one word, the name of the new session".to_owned());
    }
    SessionName::new(text).map_err(|error| error.to_string())
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
    Count(u32, u32),
    /// One of these words, and what is said to any other.
    Word(&'static [&'static str], &'static str),
}

/// The most candidates that search can be told to look at, and the most rounds of calls, as in the
/// config.
const MOST_CANDIDATES: u32 = 1_000;
const MOST_ROUNDS: u32 = 1_000;
/// The most tokens that a reply can be told to have: what programs in other languages count to.
const MOST_TOKENS: u32 = i32::MAX.cast_unsigned();

/// The settings that a session has, as `/set` names them and the store keeps them.
const SETTINGS: [(&str, SettingKind); 13] = [
    ("model", SettingKind::Name),
    ("temperature", SettingKind::Number(0.0, 2.0)),
    ("top_p", SettingKind::Number(0.0, 1.0)),
    ("max_output_tokens", SettingKind::Count(1, MOST_TOKENS)),
    ("max_rounds", SettingKind::Count(1, MOST_ROUNDS)),
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

/// The words that a setting takes, where it takes words alone.
pub fn session_setting_words(name: &str) -> &'static [&'static str] {
    match SETTINGS.iter().find(|(setting, _)| *setting == name) {
        Some((_, SettingKind::Word(words, _))) => words,
        _ => &[],
    }
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

pub(crate) fn read_setting(key: &str, text: &str) -> Result<SettingChange, String> {
    let (key, takes) = find_setting(key)?;
    let value = if text == "default" { None } else { Some(takes.read(text)?) };
    Ok(SettingChange { key, value })
}

/// Reads a value of a session's setting, within its range; otherwise says what it takes.
pub fn read_setting_value(name: &str, text: &str) -> Result<Value, String> {
    find_setting(name)?.1.read(text)
}

fn find_setting(name: &str) -> Result<&'static (&'static str, SettingKind), String> {
    let known = SETTINGS.iter().find(|(known, _)| *known == name);
    known.ok_or_else(|| match nearest_name(name, session_setting_names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => keys(),
    })
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
                let count = text.parse().ok().filter(|value| (least..=most).contains(value));
                (count.map(Value::from), format!("it takes a whole number from {least} to {most}"))
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::options::SessionSettings;

    fn command(text: &str) -> Option<ChatCommand> {
        match ChatCommand::parse(text).unwrap() {
            ParsedInput::Command(command) => Some(command),
            ParsedInput::Message(_) => None,
        }
    }

    /// Promise: `commands-are-exact`
    #[test]
    fn commands_are_exact() {
        assert_eq!(command("/new"), Some(ChatCommand::New(None)));
        assert_eq!(command("/new\n"), Some(ChatCommand::New(None)));
        let work = SessionName::new("work").unwrap();
        assert_eq!(command("/new work"), Some(ChatCommand::New(Some(work))));
        assert_eq!(command("/Help"), Some(ChatCommand::Help));
        assert_eq!(command("/help me"), Some(ChatCommand::Help));
        let milk = || "milk\nand tea".to_owned();
        assert_eq!(command("/Remember milk\nand tea"), Some(ChatCommand::Remember(milk())));
        assert_eq!(command("/edit milk\nand tea"), Some(ChatCommand::Edit(Some(milk()))));
        for message in [
            "How do I reset my router?",
            "How do I /new?",
            " /new",
            "/usr/bin/env is missing",
            "/etc/hosts",
            "/etc is a folder",
            "/home is full",
            "/tmp is full",
            "// a comment",
            "/ is the root of all folders",
            "/2 is a half",
            "/dev:null is no path",
            "/home, sweet home",
            "new",
        ] {
            assert_eq!(ChatCommand::parse(message), Ok(ParsedInput::Message(message)));
        }
    }

    /// Promise: `mistyped-command-is-told`
    #[test]
    fn what_is_near_a_command_is_told_and_never_a_message() {
        let told = |text: &str| ChatCommand::parse(text).unwrap_err().to_string();
        assert_eq!(told("/contxt"), "there is no command `/contxt`; did you mean `/context`?");
        assert_eq!(told("/ help"), "there is no command `/`; did you mean `/help`?");
        assert_eq!(told("/"), "there is no command `/`");
        assert_eq!(
            told("/rember my door code is 4711"),
            "there is no command `/rember`; did you mean `/remember`?"
        );
        assert_eq!(told("/REM milk"), "there is no command `/REM`; did you mean `/remove`?");
        assert_eq!(told("/ect"), "there is no command `/ect`");
        assert_eq!(
            told("/new york is large"),
            "`/new` can't be used with `york is large`: it takes one word, the name of the new \
             session"
        );
        assert_eq!(
            told("/model x\nis what I use"),
            "`/model` can't be used with `x…`: it takes one line"
        );
        assert_eq!(
            told("/sessions of parliament"),
            "`/sessions` can't be used with `of parliament`: it takes nothing behind it"
        );
        assert_eq!(
            told("/exit now"),
            "`/exit` can't be used with `now`: it takes nothing behind it"
        );
        assert_eq!(told("/exti"), "there is no command `/exti`; did you mean `/exit`?");
        assert_eq!(
            told("/remember:my code is 4711"),
            "there is no command `/remember:`; did you mean `/remember`?"
        );
        assert_eq!(
            told("/Rember:4711"),
            "there is no command `/Rember:`; did you mean `/remember`?"
        );
        assert_eq!(told("/exit!"), "there is no command `/exit!`; did you mean `/exit`?");
        assert_eq!(told("/forget my code 4711"), "there is no command `/forget`");
        assert_eq!(told("/forget:4711"), "there is no command `/forget:`");
        assert_eq!(told("/Clear all of it"), "there is no command `/Clear`; did you mean `/new`?");
        assert_eq!(told("/remember"), "`/remember` needs more: it takes what is to be remembered");
        let problem = ChatCommand::parse("/rember milk").unwrap_err();
        assert_eq!(
            problem.hint(),
            "type /help for the commands; `//rember …` sends it with a slash in front"
        );
        let problem = ChatCommand::parse("/mode sideways").unwrap_err();
        assert_eq!(
            problem.hint(),
            "type /mode [full | minimal | auto | default]; `//mode …` sends it with a slash in front"
        );
    }

    #[test]
    fn two_slashes_send_one() {
        for (typed, sent) in
            [("//help", "/help"), ("//rember it\n", "/rember it\n"), ("//usr/bin", "/usr/bin")]
        {
            assert_eq!(ChatCommand::parse(typed), Ok(ParsedInput::Message(sent)));
        }
        for code in ["// TODO", "///", "/// docs", "//"] {
            assert_eq!(ChatCommand::parse(code), Ok(ParsedInput::Message(code)));
        }
    }

    proptest! {
        /// Promise: `mistyped-command-is-told`
        #[test]
        fn no_slip_in_a_command_is_sent(
            which in 0..COMMANDS.len(),
            at in 0..12_usize,
            slip in 0..4_u8,
            letter in "[a-zA-Z]",
            rest in "( [a-z ]{0,20})?",
        ) {
            let name = &COMMANDS[which].name[1..];
            let mut typed: Vec<char> = name.chars().collect();
            let at = at % typed.len();
            match slip {
                0 => drop(typed.remove(at)),
                1 => typed.insert(at, letter.chars().next().unwrap()),
                2 => typed[at] = letter.chars().next().unwrap(),
                _ => typed.swap(at.max(1) - 1, at.max(1)),
            }
            let typed: String = typed.into_iter().collect();
            let line = format!("/{typed}{rest}");
            let parsed = ChatCommand::parse(&line);
            prop_assert!(!matches!(parsed, Ok(ParsedInput::Message(_))), "{line}");
            // A slash more makes a message of it.
            let escaped = format!("/{line}");
            prop_assert_eq!(ChatCommand::parse(&escaped), Ok(ParsedInput::Message(&line)));
        }

        #[test]
        fn whatever_is_typed_is_read(text in "/{0,3}(?s).{0,40}|/[a-z]{1,8}[ \n/].{0,10}") {
            if let Ok(ParsedInput::Message(sent)) = ChatCommand::parse(&text) {
                let with_slash = format!("/{sent}");
                prop_assert!(sent == text || with_slash == text);
            }
        }
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
            let parsed = ChatCommand::parse(&typed);
            assert!(matches!(parsed, Ok(ParsedInput::Command(_))), "{typed}");
            assert_eq!(ChatCommand::parse(&typed.to_uppercase().replace('X', "x")), parsed);
        }
    }
}
