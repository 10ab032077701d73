//! In which session a client's conversation goes on. A client of the front doors names none: it
//! sends all that was said, so the conversation is found by that.
//!
//! After each reply the conversation up to there is noted by its hash. A list that holds such a
//! conversation, from its beginning to one of our replies, goes on with it, wherever the client
//! then edits or branches. What was noted is in memory, within limits; after a restart the
//! transcripts of the latest sessions say the same.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use recto_agent::{AgentResult, ClientCall, SessionSettings};
use recto_context::{
    CallId, ClientMessage, ContentHash, ContentPart, Message, MessageBody, ToolCall,
    reconcile_history, visible_text,
};
use recto_store::{SessionId, Store, StoredSession};
use serde_json::{Value, json};

use super::DoorRequest;
use super::client_list::LastMessage;
use super::parked::{last_noticed_turn, without_notices};
use crate::gateway::can_reach;

/// How many conversations are known by hash: some megabytes.
const MOST_NOTED: usize = 16_384;

/// How many of the latest sessions are looked through for a conversation that is not known by
/// its hash.
const MOST_SEARCHED: usize = 32;

/// Which session holds which conversation. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConversationIndex(Arc<Mutex<NotedConversations>>);

#[derive(Debug, Default)]
struct NotedConversations {
    sessions: HashMap<ContentHash, SessionId>,
    /// Oldest first.
    order: VecDeque<ContentHash>,
}

impl ConversationIndex {
    /// The session that a request goes on with, if there is one.
    pub(crate) async fn find(
        &self,
        store: &Store,
        request: &DoorRequest,
    ) -> AgentResult<Option<SessionId>> {
        let replies = reply_hashes(request);
        if replies.is_empty() {
            return Ok(None);
        }
        if let Some(session) = find_noticed(store, request).await? {
            return Ok(Some(session));
        }
        let noted = {
            let noted = self.0.lock();
            replies.iter().rev().find_map(|hash| noted.sessions.get(hash)).copied()
        };
        match noted {
            // It may have been deleted, or put away, since.
            Some(session) if is_open(store, session, request).await? => Ok(Some(session)),
            _ => find_stored(store, request).await,
        }
    }

    /// Notes that a session holds a conversation.
    pub(crate) fn note(&self, conversation: ContentHash, session: SessionId) {
        let mut noted = self.0.lock();
        if noted.sessions.insert(conversation, session).is_none() {
            noted.order.push_back(conversation);
        }
        while noted.order.len() > MOST_NOTED {
            if let Some(oldest) = noted.order.pop_front() {
                noted.sessions.remove(&oldest);
            }
        }
    }
}

/// The conversation of a request as it stands before the reply.
pub(crate) fn asked_hash(request: &DoorRequest) -> ContentHash {
    let earlier = said(&request.list.earlier).fold(owner_hash(request), add_message);
    match &request.list.last {
        LastMessage::Said(content) => add(earlier, &content_json("user", content)),
        LastMessage::Results(results) => results.iter().fold(earlier, |hash, result| {
            add(hash, &content_json("tool", &[ContentPart::Text(result.text.clone())]))
        }),
    }
}

/// The same conversation with a reply.
pub(crate) fn replied_hash(asked: ContentHash, reply: &str, calls: &[ClientCall]) -> ContentHash {
    let call = |call: &ClientCall| ToolCall {
        id: CallId(call.id.as_str().into()),
        name: call.name.as_str().into(),
        arguments: call.arguments.as_str().into(),
    };
    let content = vec![ContentPart::Text(reply.into())];
    add_message(asked, &MessageBody::Assistant { content, calls: calls.iter().map(call).collect() })
}

/// The hashes of a conversation up to each of the model's replies, oldest first.
fn reply_hashes(request: &DoorRequest) -> Vec<ContentHash> {
    let mut hash = owner_hash(request);
    let mut replies = Vec::new();
    for body in said(&request.list.earlier) {
        hash = add_message(hash, body);
        if matches!(body, MessageBody::Assistant { .. }) {
            replies.push(hash);
        }
    }
    replies
}

/// Whose conversation it is: what one client says is not another's.
fn owner_hash(request: &DoorRequest) -> ContentHash {
    let place = request.conversation("").scope();
    let owner = json!([request.agent.name(), place, &*request.actor.id]);
    ContentHash::of_bytes(owner.to_string().as_bytes())
}

/// What a model may see of a client's list.
fn said(list: &[ClientMessage]) -> impl Iterator<Item = &MessageBody> {
    list.iter().filter_map(|message| match message {
        ClientMessage::Said(body) | ClientMessage::Unfinished(body) => Some(body),
        ClientMessage::System(_) => None,
    })
}

/// A conversation's hash with one message more. Only what was said counts: clients rewrite ids,
/// and the white space around texts and within arguments.
fn add_message(hash: ContentHash, body: &MessageBody) -> ContentHash {
    let value = match body {
        MessageBody::User(user) => content_json("user", &user.content),
        MessageBody::Tool { content, .. } => content_json("tool", content),
        MessageBody::Assistant { content, calls } => {
            let calls = calls
                .iter()
                .map(|call| [&*call.name, &canonical_arguments(&call.arguments)].join("\n"));
            let calls: Vec<String> = calls.collect();
            json!([content_json("assistant", content), calls])
        }
        MessageBody::Error(_) | MessageBody::Approval(_) => return hash,
    };
    add(hash, &value)
}

fn add(hash: ContentHash, value: &Value) -> ContentHash {
    let bytes = [hash.as_bytes().as_slice(), value.to_string().as_bytes()].concat();
    ContentHash::of_bytes(&bytes)
}

fn content_json(role: &str, content: &[ContentPart]) -> Value {
    let images = content.iter().filter_map(|part| match part {
        ContentPart::Image(image) => Some(image.data.as_str()),
        _ => None,
    });
    json!([role, visible_text(content).trim(), images.collect::<Vec<_>>()])
}

/// The arguments of a call in one form, however they were written.
pub(crate) fn canonical_arguments(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => sorted(value).to_string(),
        Err(_) => arguments.trim().to_owned(),
    }
}

/// A value with its keys in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> =
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        value => value,
    }
}

/// The session of the turn that the list's last notice is of: nothing else need be known of it.
async fn find_noticed(store: &Store, request: &DoorRequest) -> AgentResult<Option<SessionId>> {
    let Some(turn) = last_noticed_turn(&request.list.earlier) else { return Ok(None) };
    let session = store.turn(turn).await?.map(|turn| turn.session);
    match session {
        Some(session) if is_open(store, session, request).await? => Ok(Some(session)),
        _ => Ok(None),
    }
}

async fn is_open(store: &Store, id: SessionId, request: &DoorRequest) -> AgentResult<bool> {
    let session = store.session(id).await?;
    Ok(session.is_some_and(|session| is_of_client(&session, request)))
}

/// Whether a session is one of those that this client talks in.
fn is_of_client(session: &StoredSession, request: &DoorRequest) -> bool {
    let audience = SessionSettings::from_store(&session.settings).audience.unwrap_or_default();
    let place = request.conversation("").scope();
    session.archived.is_none()
        && session.agent == request.agent.name()
        && audience.conversation.is_some_and(|scope| scope.starts_with(&place))
        && can_reach(&request.actor, session)
}

/// Looks through the transcripts of the client's latest sessions for one that holds its
/// conversation, at least from the beginning to a reply.
async fn find_stored(store: &Store, request: &DoorRequest) -> AgentResult<Option<SessionId>> {
    let sessions = store.sessions_brief().await?;
    let own = sessions.iter().rev().filter(|session| is_of_client(session, request));
    let mut best = None;
    for session in own.take(MOST_SEARCHED) {
        let stored = store.messages(session.id, None).await?;
        let transcript: Vec<Arc<Message>> =
            stored.into_iter().map(|stored| stored.message).collect();
        let mut list = request.list.clone();
        list.earlier = without_notices(list.earlier);
        list.adopt_ids(&transcript);
        let known = reconcile_history(&list.earlier, &transcript, &[]);
        let has_reply = known.known.iter().any(|message| !message.is_user());
        let left = known.new.len();
        if has_reply && best.is_none_or(|(_, fewest)| left < fewest) {
            best = Some((session.id, left));
        }
    }
    Ok(best.map(|(session, _)| session))
}
