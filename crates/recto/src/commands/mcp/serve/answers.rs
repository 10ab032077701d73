//! What the tools answer: JSON as the commands of the same names print it.

use std::time::Duration;

use jiff::Timestamp;
use recto_agent::{
    AgentError, Inbound, ItemSearch, ItemSearchRow, MemoryShelf, PageForm, RecallQuery,
    RecalledContent, RecordReader, SearchPatience, SessionSettings, preview_json, search_items,
    search_message, tool_text, without_mentions,
};
use recto_context::{Catalog, ContentPart, ItemId, ItemKind, MessageId};
use recto_store::{SessionId, TurnId};
use recto_tools::shorten;
use serde_json::json;
use tokio::time::timeout;

use super::arguments::OfferArguments;
use super::handler::{CallHandler, ServeState};
use super::offer::OfferedCall;
use crate::cli::SamplingArgs;
use crate::commands::context;
use crate::commands::memory::recollection_json;
use crate::commands::sessions;
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::output::tame;
use crate::setup;

/// The longest that an answer waits for vectors. Clients give up after a minute, mostly;
/// words decide before, and the embedding goes on.
const FOR_VECTORS: Duration = Duration::from_secs(20);

/// The most bytes of an item's text, and of a message's.
const MOST_OF_ITEM: usize = 32 << 10;
const MOST_OF_MESSAGE: usize = 4 << 10;

/// The number of things to recall where the call names none.
const RECALLED: u32 = 10;

pub(super) async fn answer(
    handler: &CallHandler,
    offer: OfferedCall,
    arguments: &OfferArguments,
) -> CliResult<String> {
    match offer {
        OfferedCall::Search => search(handler, arguments).await,
        OfferedCall::Recall => recall(handler, arguments).await,
        OfferedCall::Context => context(handler, arguments).await,
        OfferedCall::Show => show(handler, arguments).await,
    }
}

async fn search(handler: &CallHandler, arguments: &OfferArguments) -> CliResult<String> {
    let state = handler.state().await?;
    let catalog = handler.catalog(&state).await?;
    let query = arguments.text("query").unwrap_or_default();
    let (settings, store) = (&state.settings, state.store.clone());
    let message = &search_message(&without_mentions(query), None);
    let asked = ItemSearch {
        query,
        kind: arguments.text("kind").and_then(kind),
        limit: arguments.whole("limit").map(|limit| limit as usize),
        uses: &setup::earlier_uses(settings, &state.searcher, store, message).await,
        remembered: MemoryShelf {
            memories: &state.memories,
            view: &handler.remembered(&state).await,
        },
        page: &PageForm::from(&setup::page_model(settings)?),
    };
    let found = in_time(|patience| search_items(&state.searcher, &catalog, &asked, patience)).await;
    let mut answer = found.json(query);
    if arguments.flag("text") {
        let text = |row: &ItemSearchRow| {
            let mut row_json = row.json();
            row_json["text"] = json!(text_of(&catalog, &row.pick.item));
            row_json
        };
        answer["results"] = found.rows.iter().map(text).collect();
    }
    Ok(answer.to_string())
}

/// The kind that a name stands for, one of [`KINDS`](super::offer::KINDS).
fn kind(name: &str) -> Option<ItemKind> {
    serde_json::from_value(name.into()).ok()
}

/// Searches with vectors, or by words where those take too long.
async fn in_time<F: Future>(search: impl Fn(SearchPatience) -> F) -> F::Output {
    match timeout(FOR_VECTORS, search(SearchPatience::UntilDone)).await {
        Ok(found) => found,
        Err(_) => search(SearchPatience::OneSecond).await,
    }
}

/// An item's text as a model would read it.
fn text_of(catalog: &Catalog, item: &ItemId) -> Option<String> {
    let named = |name: &str| *name == *item.name;
    let text = match item.kind {
        ItemKind::Rule => catalog.rules.iter().find(|rule| named(&rule.name))?.text.to_string(),
        ItemKind::Reference => {
            catalog.references.iter().find(|document| named(&document.name))?.text.to_string()
        }
        ItemKind::Skill => catalog.skills.iter().find(|skill| named(&skill.name))?.body.to_string(),
        ItemKind::Tool => {
            let tool = catalog.all_tools().find(|tool| tool.id == *item)?;
            tool_text(tool)
        }
        ItemKind::Memory => {
            catalog.memories.iter().find(|memory| named(&memory.name))?.text.to_string()
        }
    };
    Some(shorten(text, MOST_OF_ITEM))
}

async fn recall(handler: &CallHandler, arguments: &OfferArguments) -> CliResult<String> {
    let state = handler.state().await?;
    let query = arguments.text("query").unwrap_or_default();
    let limit = arguments.whole("limit").unwrap_or(RECALLED) as usize;
    let memories = &state.memories;
    // For what is to be told of the files.
    handler.remembered(&state).await;
    let audience = memories.owner();
    let recalled = in_time(|patience| {
        let now = Timestamp::now();
        let query = RecallQuery { audience: &audience, query, limit, patience, now, known: None };
        async move { memories.recall(&query).await }
    })
    .await;
    let (mut messages, mut entries) = (Vec::new(), Vec::new());
    for found in &recalled.found {
        let mut value = recollection_json(found);
        match &found.what {
            RecalledContent::Memory(_) => entries.push(value),
            RecalledContent::Message { session, message, text, .. } => {
                value["turn"] = json!(turn_of(&state, *session, *message).await);
                value["text"] = shorten(text.clone(), MOST_OF_MESSAGE).into();
                messages.push(value);
            }
        }
    }
    let how = recalled.how;
    Ok(json!({"query": query, "how": how, "messages": messages, "memories": entries}).to_string())
}

/// The turn that `show` shows for a message.
async fn turn_of(state: &ServeState, session: SessionId, message: MessageId) -> Option<TurnId> {
    let stored = state.store.as_ref()?.messages_within(session, message..=message).await.ok()?;
    stored.first()?.turn
}

async fn context(handler: &CallHandler, arguments: &OfferArguments) -> CliResult<String> {
    let state = handler.state().await?;
    let message = arguments.text("message").unwrap_or_default();
    let model = arguments.text("model");
    let mut settings = state.settings.clone();
    if let Some(name) = model {
        check_model(&settings, name)?;
        settings.model = Some(name.to_owned());
    }
    let asked_for = settings.model.clone();
    let choice = setup::find(&mut settings, None).await;
    let session = arguments.text("session");
    if choice.entry.is_none() && (asked_for.is_some() || session.is_some()) {
        return Err(choice.failure(asked_for.as_deref(), &settings));
    }
    let content = vec![ContentPart::Text(message.into())];
    let (model, request, report) = match session {
        Some(name) => {
            let store = state.store.as_ref().ok_or_else(nothing_yet)?;
            let session = sessions::find(store, &settings.agent.name, &handler.asked, name).await?;
            setup::enter_folder(handler.home(), &mut settings, &session)?;
            let agent = handler.agent(&state, store, settings).await?;
            let model = model.map(str::to_owned);
            let settings = SessionSettings { model, ..SessionSettings::default() };
            let inbound = Inbound { content, settings, ..Inbound::text(&setup::actor(), "") };
            let (model, preview) = context::preview(&agent, session.id, inbound).await?;
            let report = preview_json(&preview);
            (model, preview.request, report)
        }
        None => {
            let catalog = handler.catalog(&state).await?;
            let remembered = handler.remembered(&state).await;
            let from = context::ContextSource {
                catalog: &catalog,
                searcher: &state.searcher,
                memories: &state.memories,
                store: state.store.as_ref(),
                remembered: &remembered,
                settings: &settings,
                choice: &choice,
                sampling: &SamplingArgs::default(),
            };
            let (model, request) = context::assemble(&from, &content, &[], None).await?;
            let report = request.report();
            (model, request, report)
        }
    };
    Ok(match arguments.flag("raw") {
        true => recto_llm::encode(model.client.wire(), &model.call, &request).to_string(),
        false => report.to_string(),
    })
}

/// Checks that the config has this model, if it has any.
fn check_model(settings: &Settings, name: &str) -> CliResult {
    let names: Vec<&str> = settings.models.iter().map(|model| model.name.as_str()).collect();
    if names.is_empty() || names.contains(&name) {
        return Ok(());
    }
    let known = names.iter().map(|name| format!("`{}`", tame(name))).collect::<Vec<_>>();
    Err(CliFailure::no_such("model", name).hint(format!("the config has {}", known.join(", "))))
}

async fn show(handler: &CallHandler, arguments: &OfferArguments) -> CliResult<String> {
    let state = handler.state().await?;
    let store = state.store.as_ref().ok_or_else(nothing_yet)?;
    let actor = setup::actor();
    let reader = RecordReader::new(store, &actor);
    let turn = match arguments.whole("turn") {
        Some(number) => {
            reader.find_turn(&number.to_string()).await.map_err(|error| match error {
                AgentError::NoSuchTurn { .. } => CliFailure::from(error).hint(
                    "`recall` tells the turns of what it finds; without `turn` it is the last one",
                ),
                error => error.into(),
            })?
        }
        None => reader.last_turn().await?,
    };
    let request = arguments.whole("request");
    if arguments.flag("body") {
        let body = turn.body(request).await?;
        return Ok(String::from_utf8_lossy(&body).into_owned());
    }
    Ok(turn.json(request).await?.to_string())
}

/// The failure of a call that needs a session or a turn while there is none.
fn nothing_yet() -> CliFailure {
    CliFailure::new("there are no sessions and no turns yet").hint("`recto chat` begins one")
}
