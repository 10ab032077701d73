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

use recto_agent::memory_scope_parts;
use recto_context::{Audience, AudienceKind, Memory, MemoryMarks, MemoryScope};
use recto_workspace::MemoryError;

use crate::cli::{AudienceArgs, MemoryArgs, MemoryCommand, ScopeArgs, WhoArg};
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::remedy_words::hint_with_command;
use crate::setup;

use change::TypedMemoryEdit;
pub(crate) use search::recollection_json;

/// The most characters of a memory that are shown on its line.
const SHOWN: usize = 160;

pub(crate) fn run(home: &RectoHome, args: &MemoryArgs) -> CliResult<ExitCode> {
    let settings = setup::load_agent(home, Vec::new(), &args.agent)?;
    let files = setup::memory_files(&settings);
    setup::runtime()?.block_on(async {
        match &args.command {
            MemoryCommand::List { forgotten: true, json, .. } => {
                list::forgotten(&files, &settings, json.json).await?;
            }
            MemoryCommand::List { audience, all, json, .. } => {
                let audience = audience_of(&settings, audience);
                list::run(&files, &settings, &audience, *all, json.json).await?;
            }
            MemoryCommand::Add { text, important, shared, scope, json } => {
                let marks = MemoryMarks { important: *important, shared: *shared };
                let scope = scope_of(scope).unwrap_or(MemoryScope::Global);
                change::add(&files, text, marks, scope, json.json).await?;
            }
            MemoryCommand::Search { query, limit, audience, json } => {
                let audience = audience_of(&settings, audience);
                search::run(home, &settings, &audience, query, *limit, json.json).await?;
            }
            MemoryCommand::Edit { id, text, marks, scope, json } => {
                let scope = scope_of(scope);
                let wanted =
                    TypedMemoryEdit { id, text: text.as_deref(), marks, scope: scope.as_ref() };
                change::edit(&files, &settings, &wanted, json.json).await?;
            }
            MemoryCommand::Forget { ids, scope, json } => {
                let scope = scope_of(scope);
                return change::forget(&files, &settings, ids, scope.as_ref(), json.json).await;
            }
            MemoryCommand::Restore { ids, scope, json } => {
                return change::restore(&files, ids, scope_of(scope).as_ref(), json.json).await;
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

/// Says in a word or two to whom a memory belongs.
fn scope_text(scope: &MemoryScope) -> String {
    match memory_scope_parts(scope) {
        (kind, None) => kind.to_owned(),
        (kind, Some(id)) => format!("{kind} {id}"),
    }
}

/// The marks of a memory as people write them.
fn marks_text(memory: &Memory) -> String {
    let marks = [(memory.marks.important, "important"), (memory.marks.shared, "shared")];
    let set = marks.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name);
    set.collect::<Vec<_>>().join(", ")
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
}
