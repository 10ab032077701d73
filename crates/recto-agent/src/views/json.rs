//! What is stored in the form that programs read, one function for each kind of thing.

use recto_context::{CachedPrefix, ChangeCause, ItemId, ServedTokens, Tokens, visible_text};
use recto_store::{
    ApprovalExtent, ItemState, MessageHit, NewCompaction, RequestRecord, SessionSummary, Store,
    StoredApproval, StoredCompaction, StoredMessage, StoredRetraction, StoredSession, StoredTurn,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::AgentResult;
use crate::event::ApprovalQuestion;
use crate::open_turns::find_standing;
use crate::preview::RequestPreview;
use crate::record::{RequestPurpose, recorded_notices, restore_request};

/// A session, without what was said in it.
pub fn session_json(session: &StoredSession) -> Value {
    json!({
        "id": session.id,
        "name": session.label(),
        "agent": session.agent,
        "surface": session.surface,
        "created": session.created,
        "archived": session.archived,
        "settings": session.settings,
    })
}

/// A session as a list shows it.
pub fn summary_json(summary: &SessionSummary) -> Value {
    let mut json = session_json(&summary.session);
    json["messages"] = summary.messages.into();
    json["turns"] = summary.turns.into();
    json["last"] = json!(summary.last);
    json["opening"] = json!(summary.opening);
    json
}

/// An item that is in a session, or that somebody took out of it.
pub fn session_item_json((item, state): &(ItemId, ItemState)) -> Value {
    let joined = match state {
        ItemState::In(origin) => json!(origin),
        ItemState::Removed => Value::Null,
    };
    json!({
        "kind": item.kind,
        "name": item.key(),
        "state": if joined.is_null() { "removed" } else { "in" },
        "joined": joined,
    })
}

/// A question that waits for an answer, with its turn.
pub fn question_json(approval: &StoredApproval) -> Value {
    let mut json = json!(ApprovalQuestion::from_approval(approval));
    json["turn"] = json!(approval.turn);
    json
}

/// A question and its answer, if it has one.
pub fn approval_json(approval: &StoredApproval, session: Option<&StoredSession>) -> Value {
    let question = &approval.question;
    let decision = approval.answer.as_ref();
    json!({
        "id": approval.id,
        "session": approval.session,
        "session_name": session.map(StoredSession::label),
        "agent": session.map(|session| &session.agent),
        "turn": approval.turn,
        "tool": question.tool.key(),
        "title": question.title,
        "detail": question.detail,
        "action": question.fields,
        "only_once": question.extent == ApprovalExtent::Call,
        "asked": question.asked,
        "expires": question.expires,
        "answer": decision.map(|decision| decision.answer),
        "answered": decision.map(|decision| decision.at),
        "answered_by": decision.and_then(|decision| decision.by.as_ref()),
    })
}

/// A message in the form of a history file, with its time and turn.
pub fn message_json(stored: &StoredMessage) -> Value {
    let mut json = serde_json::to_value(&*stored.message).unwrap_or_default();
    json["at"] = json!(stored.at);
    if let Some(turn) = stored.turn {
        json["turn"] = json!(turn);
    }
    if let Some(turn) = stored.brought_by {
        json["brought_by"] = json!(turn);
    }
    json
}

/// The messages of a session, those that were taken back marked.
pub fn transcript_json(messages: &[StoredMessage], retractions: &[StoredRetraction]) -> Vec<Value> {
    let marked = messages.iter().map(|stored| {
        let mut json = message_json(stored);
        let of_message =
            |retraction: &&StoredRetraction| retraction.range().contains(&stored.message.id);
        if let Some(retraction) = retractions.iter().find(of_message) {
            json["taken_back"] = json!({
                "reason": retraction.reason,
                "at": retraction.at,
                "first": retraction.first,
                "replaced_by": retraction.replaced_by,
            });
        }
        json
    });
    marked.collect()
}

/// A place where words were found, and what stands around them.
pub fn message_hit_json(hit: &MessageHit) -> Value {
    let name = hit.name.as_ref().map_or_else(|| hit.session.to_string(), ToString::to_string);
    let mut json = json!({
        "session": hit.session,
        "name": name,
        "message": hit.message,
        "role": hit.role,
        "at": hit.at,
        "snippet": hit.snippet,
        "match": {"start": hit.found.start, "end": hit.found.end},
    });
    if let Some(reason) = hit.taken_back {
        json["taken_back"] = json!(reason);
    }
    json
}

/// A summary that stands for messages, or did.
pub fn compaction_json(compaction: &StoredCompaction) -> Value {
    let StoredCompaction { summary, model, tokens_before, tokens_after, made, .. } = compaction;
    json!({
        "id": compaction.id,
        "parent": compaction.parent,
        "first": summary.first,
        "last": summary.last,
        "messages": summary.messages,
        "how": summary.how,
        "model": model,
        "text": summary.text.as_str(),
        "tokens_before": tokens_before,
        "tokens_after": tokens_after,
        "made": made,
        "undone": compaction.undone,
    })
}

/// A turn, with the question of it that is open.
pub fn turn_json(turn: &StoredTurn, question: Option<&StoredApproval>) -> Value {
    json!({
        "id": turn.id,
        "session": turn.session,
        "number": turn.number,
        "status": turn.status,
        // How it stands while it is open.
        "standing": find_standing(turn, question),
        // The turn whose calls a client has run for this one to go on.
        "continues": turn.continues,
        "message": turn.first_message,
        // What never came into the transcript, or has not yet.
        "inbound": turn.inbound.as_deref().map(visible_text),
        "actor": turn.actor,
        "accepted": turn.accepted,
        "started": turn.started,
        "ended": turn.ended,
        "detail": turn.detail,
    })
}

/// All that is known of a request, with its body in the form that the reader wants.
pub async fn request_json(
    store: &Store,
    request: &RequestRecord,
    body: Value,
) -> AgentResult<Value> {
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
        "notices": recorded_notices(request),
        "context": context.report_cached(&cached_prefix(request)),
        "body": body,
        "answer": request.answer,
        "redacted": request.redacted,
    }))
}

/// The request that a model would be sent, with how far it begins as the one before it.
pub fn preview_json(preview: &RequestPreview) -> Value {
    let agreed_bytes = preview.comparison.as_ref().map(|comparison| comparison.agreed_bytes);
    let mut report = preview.request.report_cached(&CachedPrefix { agreed_bytes, served: None });
    report["prefix"] = json!(preview.comparison);
    if let Some(NewCompaction { summary, tokens_before, tokens_after, .. }) = &preview.compaction {
        report["compaction"] = json!({
            "first": summary.first,
            "last": summary.last,
            "tokens_before": tokens_before,
            "tokens_after": tokens_after,
            // What is shown is an extract all the same: no model is asked for a preview.
            "by": preview.summary_by,
        });
    }
    report
}

/// Why a request does not go on as the one before it, as far as that was recorded.
pub fn recorded_cause(request: &RequestRecord) -> Option<ChangeCause> {
    ChangeCause::deserialize(&request.notes["prefix"]["cause"]).ok()
}

/// What is known of the server's cache: by the request before, and by its own count.
pub fn cached_prefix(request: &RequestRecord) -> CachedPrefix {
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
