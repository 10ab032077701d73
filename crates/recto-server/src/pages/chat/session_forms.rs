//! What people change about a session beside the conversation: its items, its settings, its name, and
//! whether it is in the archive.

use std::collections::BTreeMap;

use axum::extract::State;
use recto_agent::ChatCommand;
use recto_store::{SessionId, SettingsMap, StoredSession};
use serde::Deserialize;
use serde_json::Value;

use super::actions::{ActionOutcome, ActionResult, FormSender, perform, stay};
use crate::access::Caller;
use crate::extract::{PageFields, PagePath};
use crate::gateway::Gateway;
use crate::problem::ApiProblem;

/// An item to be added to a session, or taken out of it.
#[derive(Debug, Deserialize)]
pub(crate) struct ItemChangeForm {
    add: Option<String>,
    remove: Option<String>,
}

/// Adds an item to a session, or takes one out, whatever its include mode.
pub(crate) async fn change_items(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    sender: FormSender,
    PageFields(form): PageFields<ItemChangeForm>,
) -> ActionResult {
    let named = |name: Option<String>| name.filter(|name| !name.trim().is_empty());
    let command = match (named(form.remove), named(form.add)) {
        (Some(name), _) => ChatCommand::Remove(name),
        (None, Some(name)) => ChatCommand::Add(name),
        (None, None) => return sender.answer(&gateway, &actor, stay(session)).await,
    };
    let changed = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        perform(agent, &actor, &session, command).await
    };
    let outcome = changed.await.map_err(|problem| sender.refuse(problem))?;
    // The panel shows it; without a script the page does.
    sender.answer(&gateway, &actor, ActionOutcome { answer: None, ..outcome }).await
}

/// Changes settings of a session: those fields that say something else than holds.
pub(crate) async fn change_settings(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    sender: FormSender,
    PageFields(fields): PageFields<BTreeMap<String, String>>,
) -> ActionResult {
    let changed = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        let changes = changed_settings(&session, &fields);
        if !changes.is_empty() {
            agent.change_settings(&actor, session.id, &changes).await?;
        }
        Ok::<_, ApiProblem>(stay(session.id))
    };
    let outcome = changed.await.map_err(|problem| sender.refuse(problem))?;
    sender.answer(&gateway, &actor, outcome).await
}

/// The fields that say something else than the session has, as its settings take them.
fn changed_settings(session: &StoredSession, fields: &BTreeMap<String, String>) -> SettingsMap {
    let of_session = |name: &str| match session.settings.get(name) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
    let changed = fields.iter().filter_map(|(name, typed)| {
        let wanted = Some(typed.trim()).filter(|typed| !typed.is_empty() && *typed != "default");
        let is_new = wanted != of_session(name).as_deref();
        is_new.then(|| (name.clone(), wanted.map_or(Value::Null, Value::from)))
    });
    changed.collect()
}

/// The new name of a session.
#[derive(Debug, Deserialize)]
pub(crate) struct RenameForm {
    name: String,
}

/// Gives a session another name.
pub(crate) async fn rename_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    sender: FormSender,
    PageFields(form): PageFields<RenameForm>,
) -> ActionResult {
    let renamed = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        agent.rename_session(&actor, session.id, form.name.trim()).await?;
        Ok::<_, ApiProblem>(stay(session.id))
    };
    let outcome = renamed.await.map_err(|problem| sender.refuse(problem))?;
    sender.answer(&gateway, &actor, ActionOutcome { moves: true, ..outcome }).await
}

/// Puts a session into the archive. Its page stays, and has the way out.
pub(crate) async fn archive_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    sender: FormSender,
) -> ActionResult {
    let archived = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        agent.archive_session(&actor, session.id).await?;
        Ok::<_, ApiProblem>(ActionOutcome { moves: true, ..stay(session.id) })
    };
    let outcome = archived.await.map_err(|problem| sender.refuse(problem))?;
    sender.answer(&gateway, &actor, outcome).await
}

/// Takes a session out of the archive, and shows it.
pub(crate) async fn unarchive_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    sender: FormSender,
) -> ActionResult {
    let taken_out = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        agent.unarchive_session(&actor, session.id).await?;
        Ok::<_, ApiProblem>(ActionOutcome { moves: true, ..stay(session.id) })
    };
    let outcome = taken_out.await.map_err(|problem| sender.refuse(problem))?;
    sender.answer(&gateway, &actor, outcome).await
}
