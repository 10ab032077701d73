//! A request's body in pieces, so that the record can keep each piece once.
//!
//! A session's requests repeat nearly all of the one before. Cut at the elements
//! of their lists (messages, tools, system blocks), what repeats is a piece that
//! is there already.

use serde_json::Value;

/// The pieces of a body. Put together they are its compact JSON, byte for byte.
pub(crate) fn pieces(body: &Value) -> Vec<String> {
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
    if index == 0 { value.to_string() } else { format!(",{value}") }
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
        assert_eq!(pieces(&body), expected);
    }

    #[test]
    fn what_is_appended_leaves_the_pieces_before_it_alone() {
        let before = pieces(&json!({"messages": ["a", "b"], "stream": true}));
        let after = pieces(&json!({"messages": ["a", "b", "c"], "stream": true}));
        assert_eq!(before[..3], after[..3]);
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
        fn pieces_together_are_the_body(body in any_json()) {
            prop_assert_eq!(pieces(&body).concat(), body.to_string());
        }
    }
}
