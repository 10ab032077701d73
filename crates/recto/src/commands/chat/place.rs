//! Whom a chat is with: which agent, and in which session.
//!
//! Whoever names an agent gets it. Whoever names a session gets the agent whose
//! session it is, and is told when that is not the one that the config binds to such
//! a session. Everybody else gets the one that it binds.

use recto_store::{Store, StoredSession};

use crate::cli::ChatArgs;
use crate::commands::sessions::{ambiguous, not_of};
use crate::config::{LoadedConfig, Settings};
use crate::failure::CliResult;
use crate::output::{tame, tell};
use crate::setup;

/// The session of those who name none. Each agent has its own.
const DEFAULT_SESSION: &str = "default";

/// The name of the session to talk in.
pub(super) fn session_name(args: &ChatArgs) -> &str {
    args.session.as_deref().unwrap_or(DEFAULT_SESSION)
}

/// The settings of the agent to talk to.
pub(super) async fn choose_agent<'c>(
    config: &'c LoadedConfig,
    store: Option<&Store>,
    args: &ChatArgs,
) -> CliResult<&'c Settings> {
    let bound = setup::terminal_agent(config, session_name(args));
    let asked = args.agent.agent.as_ref();
    let agent = setup::named_settings(config, asked.unwrap_or(&bound))?;
    let (Some(store), Some(name)) = (store, &args.session) else { return Ok(agent) };
    let Some(session) = find_elsewhere(store, &agent.agent.name, name).await? else {
        return Ok(agent);
    };
    match asked {
        // A name is free for each agent; a number is one session's.
        Some(_) if name.trim() != session.id.to_string() => Ok(agent),
        Some(asked) => Err(not_of(&session, asked)),
        None => {
            let settings = setup::session_settings(config, &session)?;
            let (label, owner) = (tame(&session.label()), tame(&session.agent));
            tell(&format_args!("session {label} belongs to the agent `{owner}`, who answers"));
            Ok(settings)
        }
    }
}

/// The session of another agent that is meant by a name or number, unless this agent
/// has one of that name itself.
async fn find_elsewhere(
    store: &Store,
    agent: &str,
    name: &str,
) -> CliResult<Option<StoredSession>> {
    if let Some(session) = store.find_session(agent, name).await? {
        return Ok(Some(session).filter(|session| session.agent != agent));
    }
    let mut named = store.sessions_named(name).await?;
    named.retain(|session| session.archived.is_none());
    match named.len() {
        0 | 1 => Ok(named.pop()),
        _ => Err(ambiguous(name, &named)),
    }
}
