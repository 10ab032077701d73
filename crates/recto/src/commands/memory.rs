//! `recto memory`: what the agent remembers, as its owner looks at it and changes it.
//!
//! Who may see what is decided where memories are read, never here: `--as` only says
//! for whom that is asked.

mod change;
mod check;
mod ids;
mod list;
mod search;

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_context::{Audience, AudienceKind, Memory, MemoryMarks, MemoryScope};
use recto_workspace::MemoryError;
use serde_json::{Value, json};

use crate::cli::{AudienceArgs, MemoryArgs, MemoryCommand, ScopeArgs, WhoArg};
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::remedy_words::hint_with_command;
use crate::setup;

pub(crate) use search::recollection_json;

/// The most characters of a memory that are shown on its line.
const SHOWN: usize = 160;

pub(crate) fn run(home: &RectoHome, args: &MemoryArgs) -> CliResult<ExitCode> {
    let settings = setup::load_agent(home, Vec::new(), &args.agent)?;
    let files = setup::memory_files(&settings);
    setup::runtime()?.block_on(async {
        match &args.command {
            MemoryCommand::List { forgotten: true, json, .. } => {
                list::forgotten(&files, json.json).await?;
            }
            MemoryCommand::List { audience, all, json, .. } => {
                let audience = audience_of(&settings, audience);
                list::run(&files, &settings, &audience, *all, json.json).await?;
            }
            MemoryCommand::Add { text, important, shared, scope } => {
                let marks = MemoryMarks { important: *important, shared: *shared };
                let scope = scope_of(scope).unwrap_or(MemoryScope::Global);
                change::add(&files, text, marks, scope).await?;
            }
            MemoryCommand::Search { query, limit, audience, json } => {
                let audience = audience_of(&settings, audience);
                search::run(home, &settings, &audience, query, *limit, json.json).await?;
            }
            MemoryCommand::Edit { id, text, marks, scope } => {
                let scope = scope_of(scope);
                change::edit(&files, &settings, id, text.as_deref(), marks, scope.as_ref()).await?;
            }
            MemoryCommand::Forget { ids, scope } => {
                let scope = scope_of(scope);
                return change::forget(&files, &settings, ids, scope.as_ref()).await;
            }
            MemoryCommand::Restore { ids, scope } => {
                return change::restore(&files, ids, scope_of(scope).as_ref()).await;
            }
            MemoryCommand::Check(format) => return check::run(&files, format.json).await,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The audience that memories are looked at for.
fn audience_of(settings: &Settings, args: &AudienceArgs) -> Audience {
    let owner = setup::owner(settings);
    let own = owner.person.clone().filter(|_| args.who == WhoArg::Owner);
    Audience {
        who: args.who.into(),
        person: args.person.as_deref().map(Into::into).or(own),
        conversation: args.conversation.as_deref().map(Into::into),
        agent: args.sub_agent.as_deref().map(Into::into).or(owner.agent),
    }
}

/// The scope that the arguments name, if they name one.
fn scope_of(args: &ScopeArgs) -> Option<MemoryScope> {
    let ScopeArgs { person, conversation, sub_agent } = args;
    let person = || Some(MemoryScope::Person(person.as_deref()?.into()));
    let conversation = || Some(MemoryScope::Conversation(conversation.as_deref()?.into()));
    let agent = || Some(MemoryScope::Agent(sub_agent.as_deref()?.into()));
    person().or_else(conversation).or_else(agent)
}

/// Says in words who an audience is.
fn who(audience: &Audience) -> &'static str {
    match audience.who {
        AudienceKind::Owner => "the owner",
        AudienceKind::Guest => "a guest",
        AudienceKind::Group => "a group",
        AudienceKind::SubAgent => "a sub-agent",
    }
}

impl From<MemoryError> for CliFailure {
    fn from(error: MemoryError) -> Self {
        let hint = hint_with_command(error.hint(), error.remedy().as_ref());
        CliFailure::from_error(&error).hint_if(hint)
    }
}

/// A memory as data for programs.
pub(crate) fn memory_json(memory: &Memory) -> Value {
    json!({
        "name": memory.name,
        "text": memory.text.as_str(),
        "scope": scope_json(&memory.scope),
        "important": memory.marks.important,
        "shared": memory.marks.shared,
        "day": Some(day(memory.added)).filter(|day| !day.is_empty()),
        "added": memory.added.and_then(|at| Timestamp::from_second(at).ok()),
        "source": memory.source.to_string(),
    })
}

fn scope_json(scope: &MemoryScope) -> Value {
    match scope_parts(scope) {
        (kind, None) => json!({"kind": kind}),
        (kind, Some(id)) => json!({"kind": kind, "id": id}),
    }
}

/// Says in a word or two to whom a memory belongs.
fn scope_text(scope: &MemoryScope) -> String {
    match scope_parts(scope) {
        (kind, None) => kind.to_owned(),
        (kind, Some(id)) => format!("{kind} {id}"),
    }
}

fn scope_parts(scope: &MemoryScope) -> (&'static str, Option<&str>) {
    match scope {
        MemoryScope::Global => ("global", None),
        MemoryScope::Person(id) => ("person", Some(id)),
        MemoryScope::Conversation(key) => ("conversation", Some(key)),
        MemoryScope::Agent(id) => ("agent", Some(id)),
    }
}

/// The marks of a memory as people write them.
fn marks_text(memory: &Memory) -> String {
    let marks = [(memory.marks.important, "important"), (memory.marks.shared, "shared")];
    let set = marks.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name);
    set.collect::<Vec<_>>().join(", ")
}

/// The day on which something was added; empty for what nobody dated.
fn day(added: Option<i64>) -> String {
    const DAY: i64 = 24 * 60 * 60;
    let Some(at) = added.and_then(|at| Timestamp::from_second(at).ok()) else {
        return String::new();
    };
    // Where only the day is known, its beginning stands for it, wherever one is.
    let zone = if at.as_second() % DAY == 0 { TimeZone::UTC } else { TimeZone::system() };
    at.to_zoned(zone).strftime("%Y-%m-%d").to_string()
}

/// The beginning of a memory's text, on one line.
pub(crate) fn one_line(text: &str) -> String {
    crate::output::one_line(text, SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_on_one_line_and_cut() {
        assert_eq!(one_line(" a\n\n  b\tc "), "a b c");
        let long = one_line(&"ü ".repeat(1_000));
        assert_eq!(long.chars().count(), SHOWN);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_day_stays_the_same_wherever_one_is() {
        // The beginning of 2026-03-01 stands for a day whose hour nobody knows.
        assert_eq!(day(Some(1_772_323_200)), "2026-03-01");
        assert_eq!(day(None), "");
        assert_eq!(day(Some(i64::MAX)), "");
    }
}
