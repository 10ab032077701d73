//! The identities of calls in a client's list. Whoever wrote them, they go out to servers that
//! take only some characters and lengths, and each only once in a round.

use std::collections::HashSet;

use super::ClientMessage;
use crate::message::{CallId, MessageBody, ToolCall};
use crate::text::ContentHash;

/// The longest that servers take.
const MOST_CHARACTERS: usize = 40;

/// A client's list with identities that every server takes. A second call of the same identity
/// in one reply is left out, and so is a second result.
pub(super) fn with_safe_ids(list: &[ClientMessage]) -> Vec<ClientMessage> {
    let mut answered: HashSet<CallId> = HashSet::new();
    list.iter()
        .filter_map(|message| match message {
            ClientMessage::Said(MessageBody::Assistant { content, calls }) => {
                answered.clear();
                let (content, calls) = (content.clone(), unique_calls(calls));
                Some(ClientMessage::Said(MessageBody::Assistant { content, calls }))
            }
            ClientMessage::Said(MessageBody::Tool { call, name, content }) => {
                let (call, name, content) = (safe_id(call), name.clone(), content.clone());
                let is_first = answered.insert(call.clone());
                let result = MessageBody::Tool { call, name, content };
                is_first.then_some(ClientMessage::Said(result))
            }
            other => Some(other.clone()),
        })
        .collect()
}

fn unique_calls(calls: &[ToolCall]) -> Vec<ToolCall> {
    let mut seen = HashSet::new();
    let safe = calls.iter().map(|call| ToolCall { id: safe_id(&call.id), ..call.clone() });
    safe.filter(|call| seen.insert(call.id.clone())).collect()
}

/// The identity itself where servers take it, or else one that stands for it, always the same.
pub(super) fn safe_id(id: &CallId) -> CallId {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_safe = !id.0.is_empty() && id.0.len() <= MOST_CHARACTERS && id.0.bytes().all(is_taken);
    if is_safe {
        return id.clone();
    }
    let hash = ContentHash::of_bytes(id.0.as_bytes()).to_string();
    CallId(format!("call_{}", &hash[..16]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_that_servers_refuse_are_replaced_and_always_alike() {
        let safe = |id: &str| safe_id(&CallId(id.into())).0.to_string();
        for id in ["call_1", "toolu_01A-b", &"x".repeat(40)] {
            assert_eq!(safe(id), id);
        }
        for id in ["", "a b", "a.b", "ä", &"x".repeat(41)] {
            let replaced = safe(id);
            assert_ne!(replaced, id);
            assert_eq!((safe(&replaced), safe(id)), (replaced.clone(), replaced));
        }
        assert_ne!(safe("a b"), safe("a.b"));
    }
}
