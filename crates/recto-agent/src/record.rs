//! The record of a request: into the store, and back out of it.
//!
//! A document holds the list of parts and everything that is not text; texts are
//! kept once each, by their hash, and messages stand in the transcript. Out of
//! these alone a request is made whole again ([`restore_request`]), and its body written
//! anew ([`verify_body`]); the stored body is only what it is compared with.

mod notices;
mod pieces;
mod purpose;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use recto_context::{
    ContextRecord, Message, MessageId, MessageRef, RecordBundle, RecordContents, RecordOutline,
    RequestContext, Text,
};
use recto_llm::{CallOptions, Wire};
use recto_store::{RequestId, RequestRecord, SessionId, Store};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{AgentError, AgentResult};

pub use notices::recorded_notices;
pub(crate) use notices::{finish_notice, keep_answer_notices, keep_notices};
pub(crate) use pieces::cut_body;
pub use purpose::RequestPurpose;

/// A request's record in the form in which the store keeps it.
pub(crate) struct RecordDocument {
    pub(crate) json: String,
    pub(crate) texts: Vec<Text>,
}

#[derive(Deserialize)]
struct StoredRecord<'a> {
    /// The record as it was written: the core looks at its version before it reads it.
    #[serde(borrow)]
    record: &'a RawValue,
    /// Messages that were sent in another form than the transcript has:
    /// shortened, or without their calls.
    #[serde(default)]
    forms: Vec<Arc<Message>>,
}

impl RecordDocument {
    pub(crate) fn from_bundle(
        bundle: RecordBundle,
        transcript: &HashMap<MessageId, &Arc<Message>>,
    ) -> RecordDocument {
        let RecordBundle { record, texts, messages } = bundle;
        let is_there = |message: &Arc<Message>| {
            transcript.get(&message.id).is_some_and(|known| is_same(known, message))
        };
        let forms: Vec<_> = messages.into_iter().filter(|message| !is_there(message)).collect();
        let mut json = format!("{{\"record\":{}", record.to_json());
        if !forms.is_empty() {
            // Messages are plain data: writing them down can't fail.
            json.push_str(",\n\"forms\":");
            json.push_str(&serde_json::to_string(&forms).unwrap_or_default());
        }
        json.push('}');
        RecordDocument { json, texts }
    }
}

/// Whether two messages say the same. Most are the very same, and need not be hashed for that.
pub(crate) fn is_same(one: &Arc<Message>, other: &Arc<Message>) -> bool {
    Arc::ptr_eq(one, other) || one.hash() == other.hash()
}

/// Makes a recorded request whole again.
pub async fn restore_request(
    store: &Store,
    request: &RequestRecord,
) -> AgentResult<RequestContext> {
    let stored: StoredRecord<'_> =
        serde_json::from_str(&request.context).map_err(damaged(request.id))?;
    let record =
        ContextRecord::from_json(stored.record.get().as_bytes()).map_err(damaged(request.id))?;
    let texts = store.contents(record.text_hashes().into_iter().collect()).await?;
    let wanted = record.message_refs();
    let transcript = match (wanted.first(), wanted.last()) {
        (Some(first), Some(last)) => {
            store.messages_within(request.session, first.id..=last.id).await?
        }
        _ => Vec::new(),
    };
    let messages = transcript.into_iter().map(|message| message.message).chain(stored.forms);
    let contents = RecordContents { texts, messages: by_reference(&wanted, messages) };
    record.restore(&contents).map_err(damaged(request.id))
}

/// What a recorded request says without its texts, which are not read for it.
pub fn outline_request(request: &RequestRecord) -> AgentResult<RecordOutline> {
    let stored: StoredRecord<'_> =
        serde_json::from_str(&request.context).map_err(damaged(request.id))?;
    let record = ContextRecord::from_json(stored.record.get().as_bytes());
    Ok(record.map_err(damaged(request.id))?.outline())
}

/// The messages that a record names. One whose hash is another than it should be
/// stands where the right one is missing, so that the record can say that it was
/// changed.
fn by_reference(
    wanted: &BTreeSet<MessageRef>,
    messages: impl Iterator<Item = Arc<Message>>,
) -> HashMap<MessageRef, Arc<Message>> {
    let mut found: HashMap<MessageRef, Arc<Message>> = HashMap::new();
    for message in messages {
        let reference = MessageRef::to_message(&message);
        if wanted.contains(&reference) {
            found.insert(reference, message);
            continue;
        }
        for asked in wanted.iter().filter(|asked| asked.id == message.id) {
            found.entry(*asked).or_insert_with(|| message.clone());
        }
    }
    found
}

/// The last page that a session sent. A request for a summary is none.
pub(crate) async fn last_page(
    store: &Store,
    session: SessionId,
) -> AgentResult<Option<RequestRecord>> {
    let mut last = store.last_request(session).await?;
    while let Some(request) = &last
        && RequestPurpose::from_record(request) != RequestPurpose::Page
    {
        last = store.request_before(request).await?;
    }
    Ok(last)
}

/// The last page of a session, if there is one, made whole again.
pub(crate) async fn restore_last(
    store: &Store,
    session: SessionId,
) -> AgentResult<Option<RequestContext>> {
    match last_page(store, session).await? {
        Some(request) => restore_request(store, &request).await.map(Some),
        None => Ok(None),
    }
}

fn damaged<E: Display>(request: RequestId) -> impl FnOnce(E) -> AgentError {
    move |error| AgentError::Record { request, problem: error.to_string() }
}

/// Writes a recorded request's body anew, from its parts and options.
pub async fn rebuild_body(store: &Store, request: &RequestRecord) -> AgentResult<String> {
    let context = restore_request(store, request).await?;
    let wire: Wire =
        serde_json::from_value(request.wire.as_str().into()).map_err(damaged(request.id))?;
    let options: CallOptions =
        serde_json::from_value(request.options.clone()).map_err(damaged(request.id))?;
    Ok(recto_llm::encode(wire, &options, &context).to_string())
}

/// Whether a body written anew is the one that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say it")]
pub enum ReplayVerdict {
    /// They agree byte for byte.
    Identical { bytes: usize },
    /// They part at this byte.
    Different { at: usize },
}

/// Writes a recorded request's body anew and compares it with the one sent.
pub async fn verify_body(store: &Store, request: &RequestRecord) -> AgentResult<ReplayVerdict> {
    let rebuilt = rebuild_body(store, request).await?;
    let sent = store.body(request.id).await?;
    if rebuilt.as_bytes() == sent {
        return Ok(ReplayVerdict::Identical { bytes: sent.len() });
    }
    let at = rebuilt.bytes().zip(&sent).take_while(|(a, b)| a == *b).count();
    Ok(ReplayVerdict::Different { at })
}
