//! How long the strings of a call may be: as long as their schema says, and where it says nothing,
//! as long as strings of their name usually are.
//!
//! This is for the grammar alone. What a tool's server declares stays as it is on the page and in
//! the check of a call, and no call is refused for what is decided here.

use serde_json::{Map, Value};

/// The longest string, in characters, of a parameter that holds a name, a path or a question.
const SHORT_TEXT: u64 = 400;

/// The longest limit that the grammar counts. It writes a rule for each character, and gives up
/// not far beyond this. What may be longer ends with the room of the reply.
const MOST_COUNTED: u64 = 1_500;

/// Parameters that hold whole texts, which may be as long as a reply.
const LONG_TEXTS: [&str; 24] = [
    "body",
    "code",
    "command",
    "content",
    "contents",
    "data",
    "description",
    "diff",
    "html",
    "input",
    "instructions",
    "json",
    "markdown",
    "message",
    "notes",
    "patch",
    "prompt",
    "query",
    "script",
    "source",
    "sql",
    "summary",
    "task",
    "text",
];

/// A schema in which every string that can be counted has a limit.
pub(super) fn bound_lengths(schema: &Value) -> Value {
    bound(schema, "")
}

/// `name` is that of the parameter that the schema is for.
fn bound(schema: &Value, name: &str) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let mut bounded: Map<String, Value> =
        object.iter().map(|(key, value)| (key.clone(), bound_keyword(key, value, name))).collect();
    if is_free_string(object) {
        match object.get("maxLength").and_then(Value::as_u64) {
            Some(limit) if limit > MOST_COUNTED => drop(bounded.remove("maxLength")),
            Some(_) => {}
            None if is_long(object, name) => {}
            None => drop(bounded.insert("maxLength".to_owned(), SHORT_TEXT.into())),
        }
    }
    bounded.into()
}

/// What stands under a key of a schema, where that is a schema again, or several.
fn bound_keyword(key: &str, value: &Value, name: &str) -> Value {
    match (key, value) {
        ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
            named.iter().map(|(name, each)| (name.clone(), bound(each, name))).collect()
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(several)) => {
            several.iter().map(|each| bound(each, name)).collect()
        }
        ("items" | "additionalProperties", Value::Object(_)) => bound(value, name),
        _ => value.clone(),
    }
}

/// Whether any text will do. What has a form of its own has its own end.
fn is_free_string(schema: &Map<String, Value>) -> bool {
    let has_form =
        ["enum", "const", "pattern", "format"].iter().any(|key| schema.contains_key(*key));
    schema.get("type").is_some_and(|kind| *kind == "string") && !has_form
}

fn is_long(schema: &Map<String, Value>, name: &str) -> bool {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    // `file_content` and `newText` end in what they hold.
    let name = name.to_ascii_lowercase();
    least > SHORT_TEXT || LONG_TEXTS.iter().any(|long| name.ends_with(long))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(name: &str, schema: &Value, expected: &Value) {
        let object = |schema: &Value| json!({"type": "object", "properties": {name: schema}});
        assert_eq!(bound_lengths(&object(schema)), object(expected));
    }

    #[test]
    fn a_limit_of_the_schema_holds_where_it_can_be_counted() {
        let of = |limit: u64| json!({"type": "string", "maxLength": limit});
        check("text", &of(300), &of(300));
        check("path", &of(MOST_COUNTED), &of(MOST_COUNTED));
        check("path", &of(4_000), &json!({"type": "string"}));
    }

    #[test]
    fn other_strings_get_one_by_what_they_hold() {
        let free = json!({"type": "string", "description": "Whatever."});
        let mut bounded = free.clone();
        bounded["maxLength"] = SHORT_TEXT.into();
        check("path", &free, &bounded);
        check("to", &free, &bounded);
        check("content", &free, &free);
        check("fileContent", &free, &free);
        let long = json!({"type": "string", "minLength": 1_000});
        check("path", &long, &long);
    }

    #[test]
    fn strings_are_found_wherever_they_stand_and_forms_are_left_alone() {
        let bounded = json!({"type": "string", "maxLength": SHORT_TEXT});
        let free = json!({"type": "string"});
        check(
            "names",
            &json!({"type": "array", "items": {"anyOf": [free, {"type": "integer"}]}}),
            &json!({"type": "array", "items": {"anyOf": [bounded, {"type": "integer"}]}}),
        );
        for own in [
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": "string", "format": "date"}),
            json!({"type": "string", "pattern": "^a$"}),
            json!({"type": "integer"}),
            json!(true),
        ] {
            check("path", &own, &own);
        }
    }
}
