//! Shortens results in the middle, always in the same way, so that a shortened
//! result stays as it was sent.

use crate::message::{ContentPart, Message, MessageBody};
use crate::text::Text;

/// Bytes that a shortened result keeps at each end.
const KEPT_END: usize = 200;

/// A result with its middle left out and a note of how much; `None` when it is
/// short already. Always the same for the same result, so that a shortened
/// result stays as it was sent.
pub(crate) fn shorten(message: &Message) -> Option<Message> {
    let MessageBody::Tool { call, name, content } = &message.body else { return None };
    let short = |part: &ContentPart| part.as_text().and_then(|text| shorten_text(text));
    let shorts: Vec<Option<Text>> = content.iter().map(short).collect();
    if shorts.iter().all(Option::is_none) {
        return None;
    }
    let parts = content.iter().zip(shorts);
    let content =
        parts.map(|(part, short)| short.map_or(part.clone(), ContentPart::Text)).collect();
    let body = MessageBody::Tool { call: call.clone(), name: name.clone(), content };
    Some(Message { id: message.id, body })
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
