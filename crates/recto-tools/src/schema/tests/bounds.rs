//! No schema, from whomever, makes a check run on.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::*;

/// What a check says, if it says anything within a time in which thousands could be made.
#[track_caller]
fn in_time(parameters: Value, arguments: Value) -> String {
    let (told, tells) = mpsc::channel();
    thread::Builder::new()
        // As small as the threads are on which calls are checked.
        .stack_size(2 * 1024 * 1024)
        .spawn(move || told.send(check_text(parameters, &arguments.to_string())))
        .unwrap();
    tells.recv_timeout(Duration::from_secs(60)).expect("the check has ended")
}

/// A schema of `levels`, each of which tries the next one twice.
fn doubling(levels: usize, key: &str) -> Value {
    let mut defs = json!({});
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs[format!("l{level}")] = json!({key: [next, next]});
    }
    defs[format!("l{levels}")] = json!({"type": "integer"});
    json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": defs})
}

const TOO_MUCH: &str = "checking these arguments by the schema of its parameters takes more work";

/// Promise: `input-never-runs-on`
#[test]
fn doubling_schemas_are_given_up() {
    for key in ["anyOf", "oneOf"] {
        let text = in_time(doubling(60, key), json!({"a": "x"}));
        assert!(text.starts_with(TOO_MUCH), "{key}: {text}");
    }
    // All must fit, so the first that does not is enough.
    let text = in_time(doubling(60, "allOf"), json!({"a": "x"}));
    assert!(text.contains("the arguments don't fit"), "{text}");
    let text = in_time(doubling(60, "allOf"), json!({"a": 1}));
    assert!(text.starts_with(TOO_MUCH), "{text}");
    // Few levels are no harm.
    assert_eq!(in_time(doubling(10, "anyOf"), json!({"a": 1})), "fits");
}

#[test]
fn doubling_that_grows_with_the_arguments_is_given_up() {
    let below = json!({"properties": {"a": {"$ref": "#"}}});
    let tree = json!({"anyOf": [below, below], "type": "object", "properties": {"a": {}}});
    let deep = (0..100).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert!(in_time(tree, deep).starts_with(TOO_MUCH));
}

/// Promise: `input-never-runs-on`
#[test]
fn a_pattern_that_would_go_back_and_forth_takes_no_time() {
    let text = json!({"a": format!("{}!", "a".repeat(50_000))});
    for pattern in ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^([a-zA-Z]+)*$"] {
        let schema = json!({"properties": {"a": {"pattern": pattern}}});
        assert!(in_time(schema, text.clone()).contains("does not match"), "{pattern}");
        let schema = json!({"patternProperties": {pattern: {}}, "additionalProperties": false});
        let told = in_time(schema, json!({format!("{}!", "a".repeat(50_000)): 1}));
        assert!(told.contains("is not a parameter"), "{pattern}: {told}");
    }
}

/// Promise: `input-never-runs-on`
#[test]
fn long_texts_are_paid_for() {
    let long = "ab".repeat(500_000);
    // Many states for each byte of the text.
    let heavy = json!({"properties": {"a": {"pattern": "(a|b|ab){900}c"}}});
    assert!(in_time(heavy, json!({"a": long})).starts_with(TOO_MUCH));
    // Each of many schemas has its characters counted.
    let counted: Vec<Value> = (0..500).map(|n| json!({"maxLength": 2_000_000 + n})).collect();
    let schema = json!({"properties": {"a": {"allOf": counted}}});
    assert!(in_time(schema.clone(), json!({"a": long})).starts_with(TOO_MUCH));
    assert_eq!(in_time(schema, json!({"a": "ab"})), "fits");
}

#[test]
fn a_reference_is_found_however_it_is_written() {
    let args = json!({"properties": {"berth": {"type": "integer"}}});
    let schema = json!({"$ref": "#/$defs/my%20args", "$defs": {"my args": args}});
    assert_eq!(in_time(schema, json!({"berth": 4})), "fits");
}

#[test]
fn patterns_that_look_around_are_refused_where_nobody_else_checks_them() {
    for pattern in ["^(?!-)", "(a)\\1", "(?=(a+)+$)b", "(?<=a)b", &"[a-z]".repeat(1_000)] {
        let schema = json!({"properties": {"a": {"pattern": pattern}}});
        let text = check_text(schema.clone(), r#"{"a": "x"}"#);
        assert!(text.contains("can't be matched in bounded time"), "{pattern}: {text}");
        assert!(schema_flaw(&schema).is_some(), "{pattern}");
        // A server checks what it is given itself; the rest of the schema still holds.
        let of_server = ToolSpec {
            source: ContentSource::Server("server".into()),
            ..spec(json!({"properties": {"a": {"type": "string", "pattern": pattern}}}))
        };
        let check = |arguments: &str| {
            let arguments = CallArguments::parse(arguments).unwrap();
            SchemaCache::default().check(&of_server, &arguments, &Stop::default())
        };
        assert_eq!(check(r#"{"a": "x"}"#), Ok(()));
        assert!(check(r#"{"a": 1}"#).unwrap_err().contains("must be of type string"));
    }
}

#[test]
fn patterns_have_an_end() {
    let many: Value =
        (0..101).map(|n| (format!("p{n}"), json!({"pattern": n.to_string()}))).collect();
    let text = check_text(json!({"properties": many}), "{}");
    assert!(text.contains("more than 100 patterns"), "{text}");
    for pattern in ["\\p{L}{1000}{1000}", "((((a{99}){99}){99}){99}){99}", "(?:(?:){999}){999}"] {
        // Whether it is refused or matched, that takes no time.
        in_time(json!({"properties": {"a": {"pattern": pattern}}}), json!({"a": "x"}));
    }
}

#[test]
fn long_chains_of_references_need_no_deep_stack() {
    let defs: Value = (0..2_000)
        .map(|n| (format!("l{n}"), json!({"$ref": format!("#/$defs/l{}", n + 1)})))
        .chain([("l2000".to_owned(), json!({}))])
        .collect();
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": defs});
    assert!(in_time(schema, json!({"a": 1})).starts_with(TOO_MUCH));
    let tree = json!({"properties": {"a": {"allOf": [{"allOf": [{"$ref": "#"}]}]}}});
    let deep = (0..120).fold(json!({}), |inner, _| json!({ "a": inner }));
    in_time(tree, deep);
}

#[test]
fn large_deep_and_foreign_schemas_are_none() {
    let deep = (0..70).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    let large = json!({"description": "x".repeat(70_000)});
    let hidden = json!({
        "const": {"more": {"anyOf": [{"$ref": "#/const/more"}]}},
        "allOf": [{"$ref": "#/const/more"}],
    });
    for (schema, words) in [
        (deep, "nested more than 64 deep"),
        (large, "over 64 KB"),
        (hidden, "it refers to `#/const/more`, which is no schema inside it"),
        (json!({"$ref": "#/$defs/none"}), "it refers to `#/$defs/none`"),
        (json!({"$dynamicRef": "#a"}), "it uses `$dynamicRef`"),
        (json!({"properties": {"a": {"$id": "http://x/"}}}), "a name (`$id`) of its own"),
    ] {
        let text = check_text(schema, "{}");
        assert!(text.contains(words), "{words}: {text}");
    }
    let named = json!({"$id": "http://x/y", "properties": {"a": {"$ref": "#/$defs/b%20c"}},
        "$defs": {"b c": {"type": "string"}}});
    assert_eq!(check_text(named, r#"{"a": "x"}"#), "fits");
}

#[test]
fn a_check_that_nobody_waits_for_is_given_up() {
    let arguments = CallArguments::parse(r#"{"a": 1}"#).unwrap();
    let schema = spec(json!({"properties": {"a": {}}}));
    let checked = SchemaCache::default().check(&schema, &arguments, &Stop::raised());
    assert_eq!(checked, Err("nobody waits for it any more.".to_owned()));
}

#[test]
fn beside_a_reference_older_drafts_count_nothing() {
    let schema = |draft: &str| {
        json!({
            "$schema": draft,
            "properties": {"a": {"$ref": "#/definitions/text", "minLength": 3}},
            "definitions": {"text": {"type": "string"}},
        })
    };
    let older = "http://json-schema.org/draft-07/schema#";
    assert_eq!(check_text(schema(older), r#"{"a": "x"}"#), "fits");
    let newer = "https://json-schema.org/draft/2020-12/schema";
    assert!(check_text(schema(newer), r#"{"a": "x"}"#).contains("shorter than 3"));
}
