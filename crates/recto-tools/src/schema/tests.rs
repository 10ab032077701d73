//! What models are told when arguments don't fit.

use expect_test::{Expect, expect};
use recto_context::{ItemId, ItemKind};
use serde_json::json;

use super::*;

mod agreement;
mod bounds;

fn spec(parameters: Value) -> ToolSpec {
    ToolSpec::new(ItemId::new(ItemKind::Tool, "find"), "Finds things.", parameters)
}

fn check_text(parameters: Value, arguments: &str) -> String {
    let arguments = CallArguments::parse(arguments).unwrap();
    match SchemaCache::default().check(&spec(parameters), &arguments, &Stop::default()) {
        Ok(()) => "fits".to_owned(),
        Err(text) => text,
    }
}

fn check(parameters: Value, arguments: &str, expected: &Expect) {
    expected.assert_eq(&check_text(parameters, arguments));
}

fn find() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1},
            "order": {"enum": ["newest", "oldest", "best", "worst"]},
            "where": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"field": {"type": "string"}},
                    "required": ["field"],
                    "additionalProperties": false
                }
            },
            "exact": {"type": ["boolean", "null"]}
        },
        "required": ["query"]
    })
}

#[test]
fn arguments_that_fit() {
    assert_eq!(check_text(find(), r#"{"query": "a"}"#), "fits");
    let all = r#"{"query": "a", "limit": 2.0, "order": "best", "exact": null, "where": []}"#;
    assert_eq!(check_text(find(), all), "fits");
    assert_eq!(check_text(json!({"type": "object"}), "{}"), "fits");
    assert_eq!(check_text(json!({}), ""), "fits");
}

#[test]
fn what_is_missing_wrong_or_unknown() {
    check(
        find(),
        r#"{"limt": "3", "limit": "3"}"#,
        &expect![[r#"
            the arguments don't fit.
            - `limit` must be of type integer, not a string
            - `limt` is not a parameter; did you mean `limit`?
            - `query` is missing
            Parameters: query (string, required), limit (integer), order, where (array), exact"#]],
    );
}

#[test]
fn values_out_of_bounds() {
    check(
        find(),
        r#"{"query": "", "limit": 0, "order": "bset", "exact": 1}"#,
        &expect![[r#"
            the arguments don't fit.
            - `exact` must be of type boolean or null, not a number
            - `limit`: it is less than the minimum of 1
            - `order` must be one of "newest", "oldest", "best", "worst"
            - `query`: it is shorter than 1 character
            Parameters: query (string, required), limit (integer), order, where (array), exact"#]],
    );
}

#[test]
fn places_inside() {
    check(
        find(),
        r#"{"query": "a", "where": [{"field": "a"}, {"feld": "b"}, 3]}"#,
        &expect![[r#"
            the arguments don't fit.
            - `where/1` lacks `field`
            - `where/1` must not have `feld`
            - `where/2` must be of type object, not a number
            Parameters: query (string, required), limit (integer), order, where (array), exact"#]],
    );
}

#[test]
fn many_and_long_problems_are_told_in_part() {
    let many: Vec<String> = (0..100).map(|number| format!("\"extra{number}\": 1")).collect();
    let text = check_text(find(), &format!("{{\"query\": \"a\", {}}}", many.join(", ")));
    assert!(text.contains("- and 95 more\n"), "{text}");
    let long = json!({"query": ["x".repeat(1_000_000)], "y".repeat(1_000_000): 1}).to_string();
    let text = check_text(find(), &long);
    assert!(text.len() < 1_000, "{}", text.len());
}

#[test]
fn a_tool_without_parameters() {
    check(
        json!({"type": "object", "properties": {}}),
        r#"{"query": "a"}"#,
        &expect![[r#"
            the arguments don't fit.
            - `query` is not a parameter
            It takes no parameters."#]],
    );
}

#[test]
fn a_schema_may_leave_others_open() {
    for open in [
        json!({"properties": {"a": {}}, "additionalProperties": true}),
        json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}),
        json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
    ] {
        assert_eq!(check_text(open, r#"{"a": 1, "x1": 2}"#), "fits");
    }
    let numbers = json!({"additionalProperties": {"type": "integer"}});
    assert!(check_text(numbers, r#"{"x": "y"}"#).contains("`x` must be of type integer"));
    let pattern = json!({"patternProperties": {"^x": {}}, "additionalProperties": false});
    assert_eq!(check_text(pattern.clone(), r#"{"x": 1}"#), "fits");
    assert!(check_text(pattern, r#"{"y": 1}"#).contains("`y` is not a parameter"));
}

#[test]
fn parameters_are_found_in_schemas_made_of_schemas() {
    let parts = json!({
        "allOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/more"}],
        "oneOf": [{"properties": {"c": {}}, "required": ["c"]}, {"properties": {"d": {}}}],
        "$defs": {"more": {"properties": {"b": {"type": "integer"}}}}
    });
    assert_eq!(check_text(parts.clone(), r#"{"a": 1, "b": 2, "d": 3}"#), "fits");
    check(
        parts,
        r#"{"b": "2", "e": 3}"#,
        &expect![[r#"
            the arguments don't fit.
            - `b` must be of type integer, not a string
            - `e` is not a parameter
            Parameters: a, b (integer), c (required), d"#]],
    );
}

#[test]
fn what_one_part_forbids_is_forbidden_although_another_is_open() {
    let mixed = json!({
        "allOf": [{"properties": {"a": {}}, "additionalProperties": false}],
        "patternProperties": {"^x": {}}
    });
    assert!(check_text(mixed, r#"{"y": 1}"#).contains("`y` is not a parameter"));
    let unevaluated = json!({"properties": {"a": {}}, "unevaluatedProperties": false});
    assert!(check_text(unevaluated, r#"{"b": 1}"#).contains("- `b` is not a parameter\n"));
}

#[test]
fn a_schema_that_is_none() {
    check(
        json!({"type": "strnig"}),
        "{}",
        &expect![[r#"
            the schema of its parameters is not valid; only a person can mend that.
            - `type`: it is not valid under any of the schemas listed in the 'anyOf' keyword"#]],
    );
    check(
        json!({"properties": {"a": {"pattern": "("}}}),
        "{}",
        &expect![[r#"
            the schema of its parameters is not valid; only a person can mend that.
            - `(` is no pattern"#]],
    );
    check(
        json!([]),
        "{}",
        &expect![[r#"
            the schema of its parameters is not valid; only a person can mend that.
            - the object: it is not of types "boolean", "object""#]],
    );
    assert_eq!(check_text(json!(true), "{}"), "fits");
}

#[test]
fn nothing_is_fetched() {
    for address in ["http://127.0.0.1:9/schema.json", "file:///etc/passwd", "other.json"] {
        let text = check_text(json!({"$ref": address}), "{}");
        assert!(text.starts_with("the schema of its parameters is not valid"), "{text}");
    }
}

/// Promise: `input-never-runs-on`
#[test]
fn circles_come_to_an_end() {
    let two = json!({"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}});
    let circles = [
        json!({"$ref": "#", "properties": {"a": {"$ref": "#"}}}),
        json!({"$ref": "#/$defs/a", "$defs": two, "properties": {"a": {}}}),
        json!({"allOf": vec![json!({"$ref": "#"}); 30], "properties": {"a": {}}}),
        json!({"anyOf": [{"$ref": "#"}], "properties": {"a": {}}}),
    ];
    for circle in circles {
        assert_eq!(check_text(circle.clone(), r#"{"a": {"a": {}}}"#), "fits", "{circle}");
        assert!(check_text(circle, r#"{"b": 1}"#).contains("`b` is not a parameter"));
    }
    let tree = json!({"properties": {"a": {"$ref": "#"}}, "additionalProperties": false});
    assert_eq!(check_text(tree, r#"{"a": {"a": {}}}"#), "fits");
}

#[test]
fn schemas_are_made_ready_once() {
    let schemas = SchemaCache::default();
    let first = schemas.schema_of(&spec(find()));
    assert!(Arc::ptr_eq(&first, &schemas.schema_of(&spec(find()))));
    assert!(!Arc::ptr_eq(&first, &schemas.schema_of(&spec(json!({})))));
    for number in 0..2 * MAX_KEPT {
        schemas.schema_of(&spec(json!({"minProperties": number})));
    }
    assert!(schemas.ready.lock().len() <= MAX_KEPT);
}
