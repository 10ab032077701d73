//! From a line to a command.

use recto_context::ContextMode;
use recto_search::Preset;
use recto_store::{ApprovalId, ParseIdError};

use super::{COMMANDS, Change, Command, Scope, Setting};
use crate::options::{ApprovalSetting, CompactionSetting};
use crate::selection::SearchSetting;

/// A line that is meant as a command, and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandProblem {
    /// There is no such command.
    #[error("there is no command `{typed}`")]
    Unknown {
        /// What was typed.
        typed: String,
    },
    /// The command is there, but not with this argument.
    #[error("`{command}` can't be used with `{argument}`: {problem}")]
    Argument {
        /// The command.
        command: &'static str,
        /// What followed it.
        argument: String,
        /// What is wrong with that.
        problem: String,
    },
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

impl Command {
    /// The command that a message is; `None` when it is a message for the model.
    pub fn parse(message: &str) -> Result<Option<Command>, CommandProblem> {
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
            Some(help) => read(help.name, rest).map(Some),
        }
    }
}

/// A slash and letters: `/help`, but not `/usr/bin` or `/ `.
fn looks_like_command(word: &str) -> bool {
    word.strip_prefix('/')
        .is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()))
}

fn read(name: &'static str, rest: &str) -> Result<Command, CommandProblem> {
    let argument = |problem: String| CommandProblem::Argument {
        command: name,
        argument: rest.to_owned(),
        problem,
    };
    let some = |rest: &str| (!rest.is_empty()).then(|| rest.to_owned());
    Ok(match name {
        "/new" => Command::New,
        "/context" => Command::Context,
        "/sessions" => Command::Sessions,
        "/stop" => Command::Stop,
        "/model" => Command::Model(some(rest).map(name_or_default)),
        "/mode" => Command::Mode(
            some(rest).map(|mode| mode_or_default(&mode)).transpose().map_err(argument)?,
        ),
        "/add" => Command::Add(named(rest).map_err(argument)?),
        "/remove" => Command::Remove(named(rest).map_err(argument)?),
        "/why" => Command::Why(named(rest).map_err(argument)?),
        "/remember" => Command::Remember(remembered(rest).map_err(argument)?),
        "/approve" => approve(rest).map_err(argument)?,
        "/deny" => {
            Command::Deny(some(rest).map(|id| number_of(&id)).transpose().map_err(argument)?)
        }
        "/set" => Command::Set(
            some(rest).map(|change| read_change(&change)).transpose().map_err(argument)?,
        ),
        _ => Command::Help,
    })
}

fn named(rest: &str) -> Result<String, String> {
    match rest {
        "" => Err("it takes the name of an item".to_owned()),
        name => Ok(name.to_owned()),
    }
}

fn remembered(rest: &str) -> Result<String, String> {
    match rest {
        "" => Err("it takes what is to be remembered".to_owned()),
        text => Ok(text.to_owned()),
    }
}

fn approve(rest: &str) -> Result<Command, String> {
    let (mut id, mut scope) = (None, Scope::Once);
    for word in rest.split_whitespace() {
        match word {
            "session" => scope = Scope::Session,
            "once" => scope = Scope::Once,
            number => id = Some(number_of(number)?),
        }
    }
    Ok(Command::Approve(id, scope))
}

fn number_of(text: &str) -> Result<ApprovalId, String> {
    text.parse().map_err(|error: ParseIdError| error.to_string())
}

fn name_or_default(name: String) -> Setting<String> {
    if name == "default" { Setting::Default } else { Setting::To(name) }
}

fn mode_or_default(mode: &str) -> Result<Setting<ContextMode>, String> {
    match mode {
        "default" => Ok(Setting::Default),
        "full" => Ok(Setting::To(ContextMode::Full)),
        "minimal" => Ok(Setting::To(ContextMode::Minimal)),
        "auto" => Ok(Setting::To(ContextMode::Auto)),
        _ => Err("the modes are full, minimal, auto and default".to_owned()),
    }
}

fn search_or_default(text: &str) -> Result<Setting<SearchSetting>, String> {
    Ok(Setting::To(match text {
        "default" => return Ok(Setting::Default),
        "off" => SearchSetting::Off,
        "conservative" => SearchSetting::Preset(Preset::Conservative),
        "normal" => SearchSetting::Preset(Preset::Normal),
        "aggressive" => SearchSetting::Preset(Preset::Aggressive),
        _ => return Err("it takes off, conservative, normal, aggressive or default".to_owned()),
    }))
}

fn approval_or_default(text: &str) -> Result<Setting<ApprovalSetting>, String> {
    Ok(Setting::To(match text {
        "default" => return Ok(Setting::Default),
        "always" => ApprovalSetting::Always,
        "never" => ApprovalSetting::Never,
        "per_tool" | "tool" => ApprovalSetting::PerTool,
        _ => return Err("it takes always, never, per_tool or default".to_owned()),
    }))
}

fn compaction_or_default(text: &str) -> Result<Setting<CompactionSetting>, String> {
    Ok(Setting::To(match text {
        "default" => return Ok(Setting::Default),
        "off" => CompactionSetting::Off,
        "extract" => CompactionSetting::Extract,
        "summary" => CompactionSetting::Summary,
        _ => return Err("it takes off, extract, summary or default".to_owned()),
    }))
}

/// The settings that a session has, as `/set` names them.
const KEYS: &str = "model, temperature, top_p, max_output_tokens, max_rounds, context_mode, \
                    search, top_k, top_n, include_score, floor, approval, compaction";

fn read_change(text: &str) -> Result<Change, String> {
    let (key, value) = text
        .split_once(|c: char| c.is_whitespace() || c == '=')
        .map(|(key, value)| (key, value.trim().trim_start_matches('=').trim()))
        .filter(|(_, value)| !value.is_empty())
        .ok_or_else(|| format!("it takes a key and a value; the keys are {KEYS}"))?;
    Ok(match key {
        "model" => Change::Model(name_or_default(value.to_owned())),
        "temperature" => Change::Temperature(number(value, 0.0, 2.0)?),
        "top_p" => Change::TopP(number(value, 0.0, 1.0)?),
        "max_output_tokens" => Change::MaxOutputTokens(count(value)?),
        "max_rounds" => Change::MaxRounds(count(value)?),
        "context_mode" => Change::ContextMode(mode_or_default(value)?),
        "search" => Change::Search(search_or_default(value)?),
        "top_k" => Change::TopK(count_up_to(value, 1, MOST_CANDIDATES)?),
        "top_n" => Change::TopN(count_up_to(value, 0, MOST_CANDIDATES)?),
        "include_score" => Change::IncludeScore(number(value, 0.0, 1.0)?),
        "floor" => Change::Floor(number(value, 0.0, 1.0)?),
        "approval" => Change::Approval(approval_or_default(value)?),
        "compaction" => Change::Compaction(compaction_or_default(value)?),
        _ => return Err(format!("the keys are {KEYS}")),
    })
}

fn number(text: &str, least: f64, most: f64) -> Result<Setting<f64>, String> {
    if text == "default" {
        return Ok(Setting::Default);
    }
    let value = text.parse().ok().filter(|value| (least..=most).contains(value));
    value.map(Setting::To).ok_or_else(|| format!("it takes a number from {least} to {most}"))
}

fn count(text: &str) -> Result<Setting<u32>, String> {
    if text == "default" {
        return Ok(Setting::Default);
    }
    let value = text.parse().ok().filter(|value| *value > 0);
    value.map(Setting::To).ok_or_else(|| "it takes a whole number from 1".to_owned())
}

/// The most candidates that search can be told to look at, as in the config.
const MOST_CANDIDATES: u32 = 1_000;

fn count_up_to(text: &str, least: u32, most: u32) -> Result<Setting<u32>, String> {
    if text == "default" {
        return Ok(Setting::Default);
    }
    let value = text.parse().ok().filter(|value| (least..=most).contains(value));
    value.map(Setting::To).ok_or_else(|| format!("it takes a whole number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Option<Command> {
        Command::parse(text).unwrap()
    }

    /// Promise: `commands-are-exact`
    #[test]
    fn commands_are_exact() {
        assert_eq!(command("/new"), Some(Command::New));
        assert_eq!(command("/new\n"), Some(Command::New));
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
            let parsed = Command::parse(message);
            assert!(!matches!(parsed, Ok(Some(_))), "{message:?} is {parsed:?}");
        }
    }

    /// Promise: `mistyped-command-is-told`
    #[test]
    fn a_lone_word_behind_a_slash_was_meant_as_a_command() {
        let problem = Command::parse("/contxt").unwrap_err();
        assert_eq!(problem.to_string(), "there is no command `/contxt`");
    }

    #[test]
    fn settings_are_read_and_checked() {
        let to = |value| Some(Command::Set(Some(Change::Temperature(Setting::To(value)))));
        assert_eq!(command("/set temperature 0.5"), to(0.5));
        assert_eq!(command("/set temperature=0.5"), to(0.5));
        assert_eq!(command("/set temperature = 0.5"), to(0.5));
        let unset = Command::Set(Some(Change::MaxRounds(Setting::Default)));
        assert_eq!(command("/set max_rounds default"), Some(unset));
        assert_eq!(command("/set"), Some(Command::Set(None)));
        assert_eq!(
            command("/mode auto"),
            Some(Command::Mode(Some(Setting::To(ContextMode::Auto))))
        );
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
        ] {
            assert!(Command::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_command_of_the_list_can_be_typed() {
        for help in COMMANDS {
            let typed = match help.arguments.starts_with(char::is_uppercase) {
                true => format!("{} x", help.name),
                false => help.name.to_owned(),
            };
            assert!(matches!(Command::parse(&typed), Ok(Some(_))), "{typed}");
        }
    }
}
