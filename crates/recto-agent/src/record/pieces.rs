//! A request's body in pieces, so that the record can keep each piece once.
//!
//! A session's requests repeat nearly all of the one before. Cut at the elements
//! of their lists (messages, tools, system blocks), what repeats is a piece that
//! is there already. Within an element, what the record or the transcript has anyway
//! (a file, an item, what somebody said) is named and not kept again.

use std::sync::Arc;

use memchr::memmem;
use recto_context::{ContentPart, Message, MessageId, Part, PartContent, RequestContext, Text};
use recto_store::RequestBody;
use serde_json::Value;

/// Shorter texts of messages are not named: what names them takes room, too.
const SHORTEST_SAID: usize = 24;

/// The same for other texts, of which the record itself has the short ones.
const SHORTEST_TEXT: usize = 64;

/// So many texts are looked for at a place before it is taken to have none. They stand in the order
/// of the page, so the next one is nearly always the one.
const LOOK_AHEAD: usize = 4;

/// Cuts a request's body into pieces, which together are its compact JSON, byte for byte. `is_kept`
/// says whether the transcript has a message as the page shows it.
pub(crate) fn cut_body(
    body: &Value,
    request: &RequestContext,
    is_kept: impl Fn(&Arc<Message>) -> bool,
) -> RequestBody {
    let texts = request.parts.iter().filter_map(|part| NamedText::find(part, &is_kept)).collect();
    let mut cutter = BodyCutter { body: RequestBody::default(), texts, next: 0 };
    cutter.cut(body);
    cutter.body
}

/// A text that stands on the page, and elsewhere in the store.
struct NamedText {
    /// As JSON writes it within quotes.
    written: String,
    name: TextName,
}

enum TextName {
    Text(Text),
    Message(MessageId),
}

impl NamedText {
    fn find(part: &Part, is_kept: impl Fn(&Arc<Message>) -> bool) -> Option<Self> {
        match &part.content {
            PartContent::Text(text) if text.len() >= SHORTEST_TEXT => {
                Some(NamedText { written: quote(text), name: TextName::Text(text.clone()) })
            }
            PartContent::Message(message) => {
                let text = message.content().first().and_then(ContentPart::as_text)?;
                let is_named = text.len() >= SHORTEST_SAID && is_kept(message);
                is_named.then(|| NamedText {
                    written: quote(text),
                    name: TextName::Message(message.id),
                })
            }
            PartContent::Text(_) => None,
        }
    }
}

/// A text as JSON writes it, without the quotes around it.
fn quote(text: &str) -> String {
    // A text can always be written.
    let mut quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.pop();
    if !quoted.is_empty() {
        quoted.remove(0);
    }
    quoted
}

/// Writes a body piece by piece.
struct BodyCutter {
    body: RequestBody,
    /// What may stand in it, in the order of the page.
    texts: Vec<NamedText>,
    /// The first of them that has not been found yet.
    next: usize,
}

impl BodyCutter {
    fn cut(&mut self, body: &Value) {
        let Value::Object(fields) = body else { return self.body.push(&body.to_string()) };
        let mut open = String::from("{");
        for (index, (key, value)) in fields.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            open.push_str(&format!("{comma}{}:", Value::from(key.as_str())));
            match value {
                Value::Array(elements) if !elements.is_empty() => {
                    open.push('[');
                    self.body.push(&std::mem::take(&mut open));
                    for (index, element) in elements.iter().enumerate() {
                        self.cut_element(index, element);
                    }
                    open.push(']');
                }
                other => open.push_str(&other.to_string()),
            }
        }
        open.push('}');
        self.body.push(&open);
    }

    fn cut_element(&mut self, index: usize, value: &Value) {
        let mut written = String::from(if index == 0 { "" } else { "," });
        // Not by way of `Display`, which takes longer. A value is plain data: writing it can't fail.
        written.push_str(&serde_json::to_string(value).unwrap_or_default());
        let mut rest = written.as_str();
        while let Some((at, index)) = self.find_next(rest) {
            let NamedText { written, name } = &self.texts[index];
            self.body.push(&rest[..at]);
            match name {
                TextName::Text(text) => self.body.push_text(text, written),
                TextName::Message(id) => self.body.push_message(*id, written),
            }
            rest = &rest[at + written.len()..];
            self.next = index + 1;
        }
        self.body.push(rest);
    }

    /// Where the next of the texts stands, and which one it is.
    fn find_next(&self, rest: &str) -> Option<(usize, usize)> {
        let ahead = self.texts.iter().enumerate().skip(self.next).take(LOOK_AHEAD);
        let fits = ahead.filter(|(_, text)| text.written.len() <= rest.len());
        fits.filter_map(|(index, text)| Some((find_text(rest, &text.written)?, index))).next()
    }
}

/// Where a text stands in another. The search of the standard library first makes itself a table of
/// what it looks for, which for texts of this size takes longer than to look.
fn find_text(rest: &str, text: &str) -> Option<usize> {
    memmem::find(rest.as_bytes(), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The body, with a bar between its pieces.
    fn pieces(body: &Value, texts: &[&str]) -> String {
        let named = |(id, text): (usize, &&str)| NamedText {
            written: quote(text),
            name: match id % 2 {
                0 => TextName::Text((*text).into()),
                _ => TextName::Message(MessageId(id as u64)),
            },
        };
        let texts = texts.iter().enumerate().map(named).collect();
        let mut cutter = BodyCutter { body: RequestBody::default(), texts, next: 0 };
        cutter.cut(body);
        assert_eq!(cutter.body.as_str(), body.to_string());
        cutter.body.pieces().collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lists_are_cut_at_their_elements() {
        let body = json!({"model": "m", "messages": [{"a": 1}, {"b": [2]}], "tools": [], "x": {}});
        let expected = r#"{"model":"m","messages":[|{"a":1}|,{"b":[2]}|],"tools":[],"x":{}}"#;
        assert_eq!(pieces(&body, &[]), expected);
    }

    #[test]
    fn what_is_appended_leaves_the_pieces_before_it_alone() {
        let before = pieces(&json!({"messages": ["a", "b"], "stream": true}), &[]);
        let after = pieces(&json!({"messages": ["a", "b", "c"], "stream": true}), &[]);
        assert_eq!(after.find("|,\"c\""), before.find("|],"));
    }

    #[test]
    fn what_stands_elsewhere_is_a_piece_wherever_it_stands() {
        let body = json!({"messages": ["a", "[skill]\nLook \"up\".\n[end]", "say it"]});
        let expected = r#"{"messages":[|"a"|,"[skill]\n|Look \"up\".|\n[end]"|,"|say it|"|]}"#;
        assert_eq!(pieces(&body, &["Look \"up\".", "say it"]), expected);
        // One that is not there keeps none of the others from being found.
        assert_eq!(pieces(&body, &["Look \"up\".", "nowhere", "say it"]), expected);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map(".{0,6}", inner, 0..5)
                    .prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn pieces_together_are_the_body(
            body in any_json(),
            texts in prop::collection::vec("[a-c]{1,3}", 0..3),
        ) {
            pieces(&body, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
