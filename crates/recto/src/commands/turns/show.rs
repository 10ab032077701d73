//! `recto show`: a turn's request by layer, its exact bytes, or all as JSON.

use std::fmt::Write as _;

use recto_agent::{Actor, ActorRole, RequestPurpose, restore_request};
use recto_context::{CachedPrefix, MessageId, ServedTokens, Tokens};
use recto_store::{RequestRecord, Store, StoredTurn};
use serde_json::{Value, json};

use super::{find, request_of};
use crate::cli::ShowArgs;
use crate::commands::approvals::{answer_text, approval_json};
use crate::commands::sessions::{local, message_json, turn_json};
use crate::draw;
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{print, print_bytes, print_json, tame};
use crate::setup;

pub(crate) fn run(home: &RectoHome, args: &ShowArgs) -> CliResult {
    let settings = setup::load(home, Vec::new())?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store(&settings).await?;
        let turn = find(&store, &args.turn).await?;
        if args.json {
            return print_json(&record_json(&store, &turn, None).await?);
        }
        let request = request_of(&store, &turn, args.request).await?;
        if args.body {
            return print_bytes(&store.body(request.id).await?);
        }
        let context = restore_request(&store, &request).await?;
        let mut out = heading(&turn, &request);
        out.push_str(&approvals(&store, &turn).await?);
        out.push_str(&draw::request(&context));
        out.push_str(&reply(&store, &turn, &request).await?);
        print(&out)
    })
}

fn heading(turn: &StoredTurn, request: &RequestRecord) -> String {
    let mut out = format!(
        "turn    {} of session {}, {}, {}\nrequest {} ({}), {} bytes by the {} wire\n",
        turn.id,
        turn.session,
        turn.status,
        local(turn.accepted),
        request.number,
        local(request.at),
        request.body_length,
        request.wire,
    );
    let Actor { name, role, .. } = Actor::from_store(&turn.actor);
    if role != ActorRole::Owner {
        let _ = writeln!(out, "from    {} ({role})", tame(name.as_str()));
    }
    if let Some(detail) = &turn.detail {
        let _ = writeln!(out, "ended   {}", tame(detail));
    }
    if let Some(before) = turn.continues {
        let _ = writeln!(out, "goes on with turn {before}, with what its client brought");
    }
    if RequestPurpose::from_record(request) == RequestPurpose::Summary {
        out.push_str("purpose a summary of messages that leave the page\n");
    }
    if let Some(chosen) = request.notes["chosen"].as_str().filter(|chosen| !chosen.is_empty()) {
        let _ = writeln!(out, "chosen  {}", tame(chosen));
    }
    let prefix = &request.notes["prefix"];
    if let Some(agreed) = prefix["agreed_tokens"].as_u64() {
        let fresh = prefix["fresh_tokens"].as_u64().unwrap_or_default();
        let cause = prefix["cause"].as_str();
        let cause =
            cause.map_or_else(String::new, |cause| format!("; then: {}", cause.replace('_', " ")));
        let _ = writeln!(
            out,
            "prefix  {agreed} tokens agree with the request before, {fresh} are fresh{cause}"
        );
    }
    out
}

/// Draws what was asked in the turn, with the answers.
async fn approvals(store: &Store, turn: &StoredTurn) -> CliResult<String> {
    let mut out = String::new();
    for approval in store.approvals_of(turn.id).await? {
        let (tool, title) = (approval.question.tool.key(), &approval.question.title);
        let answer = answer_text(&approval);
        let _ = writeln!(out, "asked   {}: {}: {answer}", tame(&tool), tame(title));
    }
    Ok(out)
}

/// Draws what came back for a request.
async fn reply(store: &Store, turn: &StoredTurn, request: &RequestRecord) -> CliResult<String> {
    let bold = anstyle::Style::new().bold();
    let mut out = String::new();
    let Some(answer) = &request.answer else {
        return Ok("\nnothing came back\n".to_owned());
    };
    let _ = write!(out, "\n{bold}reply{bold:#}");
    for (count, what) in [
        (answer.usage.prompt, "tokens read"),
        (answer.usage.cached, "of them cached"),
        (answer.usage.completion, "written"),
    ] {
        if let Some(count) = count {
            let _ = write!(out, ", {count} {what}");
        }
    }
    if answer.usage.prompt.is_some() && answer.usage.cached.is_none() {
        out.push_str(", cached unknown");
    }
    out.push('\n');
    if let Some(error) = answer.result["error"]["message"].as_str() {
        let _ = writeln!(out, "error: {}", tame(error));
    }
    if let Some(id) = answer.reply
        && let Some(text) = message_text(store, turn, id).await?
    {
        out.push_str(&text);
    }
    Ok(out)
}

async fn message_text(
    store: &Store,
    turn: &StoredTurn,
    id: MessageId,
) -> CliResult<Option<String>> {
    let messages = store.messages_within(turn.session, id..=id).await?;
    Ok(messages.first().map(|stored| crate::commands::sessions::body_text(&stored.message)))
}

/// The record of a turn: of all its requests, or of one of them.
pub(crate) async fn record(store: &Store, turn: &str, request: Option<u32>) -> CliResult<Value> {
    let turn = find(store, turn).await?;
    let only = match request {
        Some(_) => Some(request_of(store, &turn, request).await?),
        None => None,
    };
    record_json(store, &turn, only).await
}

/// The bytes that one of a turn's requests, the last page unless another is named, sent.
pub(crate) async fn body(store: &Store, turn: &str, request: Option<u32>) -> CliResult<Vec<u8>> {
    let turn = find(store, turn).await?;
    let request = request_of(store, &turn, request).await?;
    Ok(store.body(request.id).await?)
}

/// Collects all that is known of a turn, or of one of its requests.
async fn record_json(
    store: &Store,
    turn: &StoredTurn,
    only: Option<RequestRecord>,
) -> CliResult<Value> {
    let made = match only {
        Some(request) => vec![request],
        None => store.requests(turn.id).await?,
    };
    let mut requests = Vec::new();
    for request in made {
        let body = store.body(request.id).await?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        requests.push(request_json(store, &request, body).await?);
    }
    let messages = match turn.first_message {
        Some(first) => store.messages(turn.session, Some(first)).await?,
        None => Vec::new(),
    };
    let own = messages.iter().filter(|stored| stored.turn == Some(turn.id));
    let approvals = store.approvals_of(turn.id).await?;
    let session = store.session(turn.session).await?;
    let approvals = approvals.iter().map(|approval| approval_json(approval, session.as_ref()));
    Ok(json!({
        "turn": turn_json(turn),
        "approvals": approvals.collect::<Vec<_>>(),
        "messages": own.map(message_json).collect::<Vec<_>>(),
        "requests": requests,
    }))
}

/// What is known of the server's cache: by the request before, and by its own count.
fn cached_prefix(request: &RequestRecord) -> CachedPrefix {
    let agreed = request.notes["prefix"]["agreed_bytes"].as_u64();
    let usage = request.answer.as_ref().map(|answer| &answer.usage);
    let served = usage.and_then(|usage| Some((usage.prompt?, usage.cached?)));
    CachedPrefix {
        agreed_bytes: agreed.and_then(|bytes| usize::try_from(bytes).ok()),
        served: served.map(|(prompt, cached)| ServedTokens {
            prompt: Tokens::new(prompt),
            cached: Tokens::new(cached),
        }),
    }
}

/// All that is known of a request, with its body in the form that the reader wants.
pub(crate) async fn request_json(
    store: &Store,
    request: &RequestRecord,
    body: Value,
) -> CliResult<Value> {
    let context = restore_request(store, request).await?;
    Ok(json!({
        "id": request.id,
        "number": request.number,
        "at": request.at,
        "model": request.model,
        "wire": request.wire,
        "options": request.options,
        "fidelity": request.fidelity,
        "purpose": RequestPurpose::from_record(request).name(),
        "chosen": request.notes["chosen"],
        "prefix": request.notes["prefix"],
        "search": request.notes["search"],
        "context": context.report_cached(&cached_prefix(request)),
        "body": body,
        "answer": request.answer,
    }))
}
