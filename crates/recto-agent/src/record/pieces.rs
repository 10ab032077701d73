//! A request's body in pieces, so that the record can keep each piece once.
//!
//! A session's requests repeat nearly all of the one before. Cut at the elements
//! of their lists (messages, tools, system blocks), what repeats is a piece that
//! is there already. What search brought stands in one message with what is new in
//! the turn, and comes again with others: so it is cut out of its message.

use recto_context::{Layer, Part, PartContent, PartReason, RequestContext};
use serde_json::Value;

/// Shorter texts are not cut out: what refers to a piece takes room, too.
const SHORTEST_CUT: usize = 256;

/// The pieces of a request's body. Put together they are its compact JSON, byte for byte.
pub(crate) fn pieces(body: &Value, request: &RequestContext) -> Vec<String> {
    let brought = request.parts.iter().filter(|part| is_brought(part));
    let brought: Vec<String> = brought.filter_map(long_text).collect();
    let elements = elements(body);
    elements.into_iter().flat_map(|element| cut_out(element, &brought)).collect()
}

/// Whether search brought a part, for this message or for an earlier one.
fn is_brought(part: &Part) -> bool {
    part.layer == Layer::Picks || matches!(part.reason, PartReason::KeptSince(_))
}

/// The text of a part as JSON writes it, if it is long.
fn long_text(part: &Part) -> Option<String> {
    let PartContent::Text(text) = &part.content else { return None };
    let quoted = Value::from(text.as_str()).to_string();
    let written = quoted.strip_prefix('"')?.strip_suffix('"')?;
    (written.len() >= SHORTEST_CUT).then(|| written.to_owned())
}

/// A piece with each of the texts that stand in it as a piece of its own.
fn cut_out(piece: String, texts: &[String]) -> Vec<String> {
    let found = texts.iter().find_map(|text| Some((piece.find(text.as_str())?, text)));
    let Some((at, text)) = found else { return vec![piece] };
    let (before, rest) = piece.split_at(at);
    let (text, after) = rest.split_at(text.len());
    let before = cut_out(before.to_owned(), texts);
    before.into_iter().chain([text.to_owned()]).chain(cut_out(after.to_owned(), texts)).collect()
}

/// A body, cut at the elements of its lists.
fn elements(body: &Value) -> Vec<String> {
    let Value::Object(fields) = body else { return vec![body.to_string()] };
    let mut pieces = Vec::new();
    let mut open = String::from("{");
    for (index, (key, value)) in fields.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        open.push_str(&format!("{comma}{}:", Value::from(key.as_str())));
        match value {
            Value::Array(elements) if !elements.is_empty() => {
                open.push('[');
                pieces.push(std::mem::take(&mut open));
                pieces.extend(elements.iter().enumerate().map(element));
                open.push(']');
            }
            other => open.push_str(&other.to_string()),
        }
    }
    open.push('}');
    pieces.push(open);
    pieces
}

fn element((index, value): (usize, &Value)) -> String {
    // Not by way of `Display`, which takes longer. A value is plain data: writing it can't fail.
    let written = serde_json::to_string(value).unwrap_or_default();
    if index == 0 { written } else { [",", &written].concat() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_cut_at_their_elements() {
        let body = json!({"model": "m", "messages": [{"a": 1}, {"b": [2]}], "tools": [], "x": {}});
        let expected = [
            r#"{"model":"m","messages":["#,
            r#"{"a":1}"#,
            r#",{"b":[2]}"#,
            r#"],"tools":[],"x":{}}"#,
        ];
        assert_eq!(elements(&body), expected);
    }

    #[test]
    fn what_is_appended_leaves_the_pieces_before_it_alone() {
        let before = elements(&json!({"messages": ["a", "b"], "stream": true}));
        let after = elements(&json!({"messages": ["a", "b", "c"], "stream": true}));
        assert_eq!(before[..3], after[..3]);
    }

    #[test]
    fn what_search_brought_is_a_piece_wherever_it_stands() {
        let skill = "Look it up.\n".repeat(30);
        let written = Value::from(&*skill).to_string();
        let written = written.trim_matches('"');
        let body = json!({"messages": ["a", format!("[skill]\n{skill}\n[end]"), "b"]});
        let cut: Vec<String> = elements(&body)
            .into_iter()
            .flat_map(|element| cut_out(element, &[written.to_owned()]))
            .collect();
        let expected = [
            r#"{"messages":["#,
            r#""a""#,
            r#","[skill]\n"#,
            written,
            r#"\n[end]""#,
            r#","b""#,
            "]}",
        ];
        assert_eq!(cut, expected);
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
            let cut = elements(&body).into_iter().flat_map(|element| cut_out(element, &texts));
            prop_assert_eq!(cut.collect::<String>(), body.to_string());
        }
    }
}
