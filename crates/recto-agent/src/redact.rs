//! Takes a text out of all that was said and sent, and leaves a mark where it stood.
//!
//! A request that has the text is made whole again from its record, redacted, and recorded anew:
//! with the texts and messages as they are now, and with the body that its page gives now. So what
//! `show` draws, what a diff compares and what a body is verified by go on to agree; that the body is
//! not the one that was sent is noted with the request. What the model answered, what it cost and
//! when it was sent stay as they were.

use std::collections::HashMap;
use std::sync::Arc;

use recto_context::{Message, MessageId, Redaction, RequestContext};
use recto_llm::{CallOptions, Wire};
use recto_store::{
    Moment, NewRequest, RedactedSession, RedactionCounts, RequestBody, RequestId, RequestRecord,
    SessionId, Store,
};

use crate::error::AgentResult;
use crate::record::{RecordDocument, cut_body, is_same, restore_request};

/// What became of a redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionReport {
    /// How much had the text.
    pub counts: RedactionCounts,
    /// Requests whose records can't be read, so that nobody can say what they have.
    pub unreadable: Vec<RequestId>,
    /// Whether its bytes are gone from the files, too.
    pub is_wiped: bool,
}

/// How much of a store has a text.
pub async fn count_redaction(store: &Store, redaction: &Redaction) -> AgentResult<RedactionCounts> {
    let mut counts = RedactionCounts::default();
    for session in store.session_ids().await? {
        let found = SessionFindings::read(store, session, redaction).await?;
        counts.messages += found.redacted.messages.len() as u64;
        counts.requests += found.redacted.requests.len() as u64;
    }
    Ok(counts)
}

/// Takes a text out of everything in a store that no other process has open. Refused while a turn
/// of a session that has it is open.
pub async fn redact_store(
    store: &Store,
    redaction: &Redaction,
    at: Moment,
) -> AgentResult<RedactionReport> {
    store.must_be_alone().await?;
    store.begin_redaction(at).await?;
    let mut report = RedactionReport {
        counts: RedactionCounts::default(),
        unreadable: Vec::new(),
        is_wiped: false,
    };
    for session in store.session_ids().await? {
        let SessionFindings { redacted, unreadable } =
            SessionFindings::read(store, session, redaction).await?;
        report.unreadable.extend(unreadable);
        report.counts.messages += redacted.messages.len() as u64;
        report.counts.requests += redacted.requests.len() as u64;
        if !redacted.messages.is_empty() || !redacted.requests.is_empty() {
            store.redact_session(session, redacted, at).await?;
        }
    }
    report.counts.others = store.redact_free_texts(redaction.clone()).await?;
    // Texts that only the records of before had.
    store.drop_unused_parts().await?;
    report.is_wiped = store.finish_redaction(report.counts, at).await?;
    Ok(report)
}

/// What of a session has a text, in the form in which it has it no longer.
struct SessionFindings {
    redacted: RedactedSession,
    unreadable: Vec<RequestId>,
}

impl SessionFindings {
    async fn read(store: &Store, session: SessionId, redaction: &Redaction) -> AgentResult<Self> {
        let mut redacted = RedactedSession::default();
        let mut transcript: HashMap<MessageId, Arc<Message>> = HashMap::new();
        for stored in store.messages(session, None).await? {
            let message = match redaction.message(&stored.message) {
                Some(message) => {
                    redacted.messages.push(message.clone());
                    Arc::new(message)
                }
                None => stored.message,
            };
            transcript.insert(message.id, message);
        }
        let mut unreadable = Vec::new();
        for id in store.session_requests(session).await? {
            match redact_request(store, id, redaction, &transcript).await {
                Ok(Some(request)) => drop(redacted.requests.insert(id, request)),
                Ok(None) => {}
                Err(_) => unreadable.push(id),
            }
        }
        Ok(SessionFindings { redacted, unreadable })
    }
}

/// A request without the text; nothing where it is not there.
async fn redact_request(
    store: &Store,
    id: RequestId,
    redaction: &Redaction,
    transcript: &HashMap<MessageId, Arc<Message>>,
) -> AgentResult<Option<NewRequest>> {
    let Some(record) = store.request(id).await? else { return Ok(None) };
    let sent = String::from_utf8_lossy(&store.body(id).await?).into_owned();
    let context = restore_request(store, &record).await?;
    let redacted = redaction.request(&context);
    let header = [&record.options, &record.notes].map(|value| redaction.json(value));
    if redacted.is_none() && header.iter().all(Option::is_none) && !redaction.is_in(&sent) {
        return Ok(None);
    }
    let redacted = redacted.unwrap_or_else(|| context.clone());
    let known: HashMap<MessageId, &Arc<Message>> =
        transcript.iter().map(|(id, message)| (*id, message)).collect();
    let document = RecordDocument::from_bundle(redacted.record(), &known);
    let [options, notes] = header;
    let options = options.unwrap_or_else(|| record.options.clone());
    let body = match (encode(&record, &context), encode(&record, &redacted)) {
        // Where its page gives the body that was sent, the new page gives the new body.
        (Some(before), Some(now)) if before == sent => {
            let is_kept = |message: &Arc<Message>| {
                known.get(&message.id).is_some_and(|kept| is_same(kept, message))
            };
            cut_body(&now, &redacted, is_kept)
        }
        _ => [redaction.text(&sent).unwrap_or(sent)].iter().collect::<RequestBody>(),
    };
    Ok(Some(NewRequest {
        number: record.number,
        at: record.at,
        model: record.model,
        wire: record.wire,
        options,
        fidelity: record.fidelity,
        context: document.json,
        contents: document.texts,
        body,
        notes: notes.unwrap_or(record.notes),
    }))
}

/// The body that a page gives, where the record says how it is written.
fn encode(record: &RequestRecord, context: &RequestContext) -> Option<serde_json::Value> {
    let wire: Wire = serde_json::from_value(record.wire.as_str().into()).ok()?;
    let options: CallOptions = serde_json::from_value(record.options.clone()).ok()?;
    Some(recto_llm::encode(wire, &options, context))
}
