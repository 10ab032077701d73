//! What of a client's list of messages is stored already.
//!
//! A client sends its whole conversation each time, and a transcript only grows. So the longest
//! beginning of its list that the transcript repeats, in order, stands for the stored messages:
//! they go out as they went out before, and the prefix stays put. What follows in the list is
//! new, or was edited, and is to be stored behind everything else.
//!
//! Only what was said counts for that: not the stamp, nor who said it, nor the names of tools,
//! nor white space around a text. A client gets the texts of a turn in one piece or only the
//! last, and never hears of calls that Recto runs: it is understood either way, and those calls
//! stay with their turn. A reply that the client could not wait for is the one that its turn ended
//! with in the end.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use super::call_ids::{safe_id, with_safe_ids};
use super::{ClientMessage, safe_name};
use crate::catalog::ToolSpec;
use crate::message::{CallId, ContentPart, Image, Message, MessageBody, ToolCall, UserMessage};
use crate::text::Text;

/// A client's list of messages, held against a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReconciledHistory {
    /// Stored messages that the list repeats, oldest first, with the calls and results between
    /// them that the client was not shown.
    pub known: Vec<Arc<Message>>,
    /// The rest of the list, which is not stored.
    pub new: Vec<MessageBody>,
}

/// Finds out what of a client's list the transcript has. `tools` are the client's, for the
/// names by which models know them.
pub fn reconcile_history(
    list: &[ClientMessage],
    transcript: &[Arc<Message>],
    tools: &[ToolSpec],
) -> ReconciledHistory {
    let list = with_safe_ids(list);
    let mut said: Vec<SaidByClient<'_>> = list.iter().filter_map(said).collect();
    let visible: Vec<&Arc<Message>> =
        transcript.iter().filter(|message| message.is_for_models()).collect();
    let mut known = known_length(&said, &visible);
    // A turn that ended without a reply leaves nothing where the client heard nothing.
    while said.get(known).is_some_and(|said| said.to_keep().is_none()) {
        said.remove(known);
        known = known_length(&said, &visible);
    }
    let places = latest_places(&said, &visible, known);
    let rest: Vec<&MessageBody> =
        said[places.len()..].iter().filter_map(|said| said.to_keep()).collect();
    let known = with_unseen_rounds(&visible, &places, &rest, tools);
    let new = to_store(&rest, &known, tools);
    ReconciledHistory { known, new }
}

/// What a model may see of a client's message.
#[derive(Debug, Clone, Copy)]
enum SaidByClient<'a> {
    Whole(&'a MessageBody),
    Unfinished(&'a MessageBody),
}

impl<'a> SaidByClient<'a> {
    /// What is left of it where the transcript has nothing in its place.
    fn to_keep(self) -> Option<&'a MessageBody> {
        match self {
            SaidByClient::Whole(body) => Some(body),
            SaidByClient::Unfinished(body) => Some(body).filter(|body| !is_blank(body)),
        }
    }
}

/// What a model may see of a client's message, if it holds anything.
fn said(message: &ClientMessage) -> Option<SaidByClient<'_>> {
    let body = match message {
        ClientMessage::System(_) => return None,
        ClientMessage::Unfinished(body) => return Some(SaidByClient::Unfinished(body)),
        ClientMessage::Said(body) => body,
    };
    match body {
        MessageBody::User(_) if is_blank(body) => None,
        MessageBody::Assistant { calls, .. } if calls.is_empty() && is_blank(body) => None,
        MessageBody::Error(_) | MessageBody::Approval(_) => None,
        said => Some(SaidByClient::Whole(said)),
    }
}

fn is_blank(body: &MessageBody) -> bool {
    body.content().iter().all(|part| part.as_text().is_some_and(|text| text.trim().is_empty()))
}

/// How many messages of the list the transcript repeats in order.
fn known_length(said: &[SaidByClient<'_>], visible: &[&Arc<Message>]) -> usize {
    let mut from = 0;
    let is_there = |said: &&SaidByClient<'_>| {
        let place = match said {
            SaidByClient::Whole(body) => {
                (from..visible.len()).find(|&at| repeats(body, visible, at))
            }
            // Of the turn that the message before it began.
            SaidByClient::Unfinished(_) => {
                let next = visible[from..].iter().position(|message| message.is_user());
                let end = next.map_or(visible.len(), |next| from + next);
                (from..end).find(|&at| ends_turn(visible, at))
            }
        };
        place.inspect(|at| from = at + 1).is_some()
    };
    said.iter().take_while(is_there).count()
}

/// Whether the message at this place is what its turn ended with.
fn ends_turn(visible: &[&Arc<Message>], at: usize) -> bool {
    let is_reply =
        matches!(&visible[at].body, MessageBody::Assistant { calls, .. } if calls.is_empty());
    is_reply && visible.get(at + 1).is_none_or(|next| next.is_user())
}

/// Where the first `known` messages of the list stand. Of several places the latest, since
/// what was said again was last sent from there.
fn latest_places(said: &[SaidByClient<'_>], visible: &[&Arc<Message>], known: usize) -> Vec<usize> {
    let stands_at = |said: &SaidByClient<'_>, at: usize| match said {
        SaidByClient::Whole(body) => repeats(body, visible, at),
        SaidByClient::Unfinished(_) => ends_turn(visible, at),
    };
    let mut before = visible.len();
    let mut places = Vec::with_capacity(known);
    for said in said[..known].iter().rev() {
        let Some(at) = (0..before).rev().find(|&at| stands_at(said, at)) else { break };
        places.push(at);
        before = at;
    }
    places.reverse();
    places
}

/// Whether a client's message says what the stored one at this place does.
fn repeats(body: &MessageBody, visible: &[&Arc<Message>], at: usize) -> bool {
    let stored = visible[at];
    match (body, &stored.body) {
        (MessageBody::User(a), MessageBody::User(b)) => same_content(&a.content, &b.content),
        (MessageBody::Tool { call, content, .. }, MessageBody::Tool { call: of, .. }) => {
            same_id(call, of) && same_content(content, stored.content())
        }
        (
            MessageBody::Assistant { content, calls },
            MessageBody::Assistant { calls: stored, .. },
        ) => {
            calls.is_empty() == stored.is_empty()
                && calls.iter().all(|call| stored.iter().any(|other| same_call(call, other)))
                && repeats_reply(content, visible, at)
        }
        _ => false,
    }
}

/// Whether a reply is the stored one, or all that was said in its turn up to it.
fn repeats_reply(content: &[ContentPart], visible: &[&Arc<Message>], at: usize) -> bool {
    if same_content(content, visible[at].content()) {
        return true;
    }
    let whole: String = texts(content).collect();
    let mut rest = whole.trim();
    for message in visible[..=at].iter().rev() {
        match &message.body {
            MessageBody::User(_) => break,
            MessageBody::Assistant { content, .. } => {
                let text: String = texts(content).collect();
                match rest.trim_end().strip_suffix(text.trim()) {
                    Some(before) => rest = before,
                    None => return false,
                }
            }
            _ => {}
        }
        if rest.trim().is_empty() {
            return true;
        }
    }
    false
}

fn same_call(a: &ToolCall, b: &ToolCall) -> bool {
    let value = |call: &ToolCall| serde_json::from_str::<serde_json::Value>(&call.arguments).ok();
    same_id(&a.id, &b.id)
        && (a.arguments == b.arguments || value(a).is_some_and(|a| Some(a) == value(b)))
}

/// Whether a client's identity is the stored one, which may be one that servers would not take.
fn same_id(of_client: &CallId, stored: &CallId) -> bool {
    of_client == stored || *of_client == safe_id(stored)
}

fn same_content(a: &[ContentPart], b: &[ContentPart]) -> bool {
    let text = |content: &[ContentPart]| match content {
        // By far the most frequent, and known by its hash.
        [ContentPart::Text(text)] => text.clone(),
        content => texts(content).collect::<String>().into(),
    };
    let (left, right) = (text(a), text(b));
    (left == right || left.trim() == right.trim()) && images(a).eq(images(b))
}

fn texts(content: &[ContentPart]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|part| part.as_text().map(Text::as_str))
}

fn images(content: &[ContentPart]) -> impl Iterator<Item = &Image> {
    content.iter().filter_map(|part| match part {
        ContentPart::Image(image) => Some(image),
        _ => None,
    })
}

/// The messages at these places, with what stands between them and the client can't know of:
/// calls that Recto ran, and results of the calls that are shown, unless the rest of the list
/// brings others.
fn with_unseen_rounds(
    visible: &[&Arc<Message>],
    places: &[usize],
    rest: &[&MessageBody],
    tools: &[ToolSpec],
) -> Vec<Arc<Message>> {
    let brought: HashSet<&CallId> = rest.iter().filter_map(|body| body.answered_call()).collect();
    let is_client_call = |call: &ToolCall| tools.iter().any(|tool| tool.called == call.name);
    let mut known: Vec<Arc<Message>> = Vec::with_capacity(places.len());
    for (index, &at) in places.iter().enumerate() {
        known.push(visible[at].clone());
        let next = places.get(index + 1).copied();
        let behind = &visible[at + 1..next.unwrap_or(visible.len())];
        let of_turn = behind.iter().take_while(|message| !message.is_user());
        if next.is_some() && of_turn.clone().count() < behind.len() {
            // The client has left out whole exchanges, and what belongs to them.
            continue;
        }
        let mut open: HashSet<&CallId> = visible[at].calls().iter().map(|call| &call.id).collect();
        for message in of_turn {
            let calls = message.calls();
            let is_result = message
                .answered_call()
                .is_some_and(|call| open.remove(call) && !brought.contains(call));
            let is_own_round =
                next.is_some() && !calls.is_empty() && !calls.iter().any(is_client_call);
            if is_own_round {
                open.extend(calls.iter().map(|call| &call.id));
            }
            if is_result || is_own_round {
                known.push((*message).clone());
            }
        }
    }
    known
}

/// The messages as they are stored: with nothing around them, and tools by the names that
/// models know.
fn to_store(rest: &[&MessageBody], known: &[Arc<Message>], tools: &[ToolSpec]) -> Vec<MessageBody> {
    let called = |name: &str| -> Arc<str> {
        match tools.iter().find(|tool| *tool.id.name == *name) {
            Some(tool) => tool.called.clone(),
            None => safe_name(name).into(),
        }
    };
    let stored_calls = known.iter().flat_map(|message| message.calls());
    let mut names: std::collections::HashMap<&CallId, Arc<str>> =
        stored_calls.map(|call| (&call.id, call.name.clone())).collect();
    let mut stored = Vec::with_capacity(rest.len());
    for body in rest {
        stored.push(match body {
            MessageBody::User(user) => MessageBody::User(UserMessage {
                content: user.content.clone(),
                ..Default::default()
            }),
            MessageBody::Assistant { content, calls } => {
                let calls: Vec<ToolCall> = calls
                    .iter()
                    .map(|call| ToolCall { name: called(&call.name), ..call.clone() })
                    .collect();
                MessageBody::Assistant { content: content.clone(), calls }
            }
            MessageBody::Tool { call, name, content } => {
                let name = names.get(call).cloned().unwrap_or_else(|| called(name));
                MessageBody::Tool { call: call.clone(), name, content: content.clone() }
            }
            MessageBody::Error(_) | MessageBody::Approval(_) => continue,
        });
        names.extend(body.calls().iter().map(|call| (&call.id, called(&call.name))));
    }
    stored
}
