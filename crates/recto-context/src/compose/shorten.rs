//! Shortens results in the middle, always in the same way, so that a shortened
//! result stays as it was sent.

use crate::message::{Body, ContentPart, Message};
use crate::text::Text;

/// Bytes that a shortened result keeps at each end.
const KEPT_END: usize = 200;

/// Whether shortening a result would leave out enough to be worth it.
pub(crate) fn can_shorten(message: &Message) -> bool {
    matches!(message.body, Body::Tool { .. }) && shorten(message).is_some()
}

/// A result with its middle left out and a note of how much; `None` when it is
/// short already. Always the same for the same result, so that a shortened
/// result stays as it was sent.
pub(crate) fn shorten(message: &Message) -> Option<Message> {
    let Body::Tool { call, name, content } = &message.body else { return None };
    let mut changed = false;
    let mut short = |part: &ContentPart| match part.as_text().and_then(|text| shorten_text(text)) {
        Some(text) => {
            changed = true;
            ContentPart::Text(text)
        }
        None => part.clone(),
    };
    let content = content.iter().map(&mut short).collect();
    let body = Body::Tool { call: call.clone(), name: name.clone(), content };
    changed.then_some(Message { id: message.id, body })
}

fn shorten_text(text: &str) -> Option<Text> {
    if text.len() <= 3 * KEPT_END {
        return None;
    }
    let head = text.floor_char_boundary(KEPT_END);
    let tail = text.ceil_char_boundary(text.len() - KEPT_END);
    let left_out = text[head..tail].chars().count();
    let (head, tail) = (&text[..head], &text[tail..]);
    Some(format!("{head}\n[… {left_out} characters left out …]\n{tail}").into())
}
