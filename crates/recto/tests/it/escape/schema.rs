//! Arguments that do not fit are refused before anything is run, in words that a
//! model can act on.

use super::*;

/// A tool that writes a file for every call, so that one can see whether it ran.
fn place() -> Place {
    let place = Place::new("touch", &json!({ "args": [] }), "");
    place.declare(&json!({
        "tools": [{
            "name": "act",
            "description": "Acts.",
            "parameters": {
                "type": "object",
                "properties": {
                    "name": { "type": "string" },
                    "often": { "type": "integer" },
                    "more": { "type": "object" }
                },
                "required": ["name"]
            }
        }],
        "allowlist": { "tee": [""] },
        "execution": [{
            "tool": "act",
            "binary": "tee",
            "args": [
                { "kind": "literal", "flag": "notes/ran" },
                { "kind": "flag", "param": "often", "flag": "--often" },
                { "kind": "flag", "param": "more", "flag": "--more" },
                { "kind": "stdin", "param": "name" }
            ]
        }]
    }));
    place.trust();
    place
}

/// What is told, and whether the program was run.
fn call(place: &Place, arguments: &str) -> (Option<i32>, String, bool) {
    let run = place.home.run_with(&["tools", "run", "act", "--args", "-"], arguments, &[]);
    (Some(run.code), said(&run), place.path("WORKSPACE/notes/ran").exists())
}

#[track_caller]
fn is_refused(arguments: &str, words: &[&str]) {
    let place = place();
    let (code, text, ran) = call(&place, arguments);
    let start: String = arguments.chars().take(80).collect();
    assert!(!ran && code != Some(0), "{start}: {code:?} {text}");
    for words in words {
        assert!(text.contains(words), "{start}: {text}");
    }
    assert!(text.len() < 2000, "a model is not told its own megabyte: {}", text.len());
}

#[test]
fn what_fits_is_run() {
    let (code, text, ran) = call(&place(), r#"{"name": "x"}"#);
    assert!(ran && code == Some(0), "{text}");
}

#[test]
fn a_parameter_that_is_not_declared_is_refused() {
    is_refused(r#"{"name": "x", "output": "/etc/passwd"}"#, &["`output`"]);
    is_refused(r#"{"name": "x", "Name": "y"}"#, &["`Name`", "name"]);
    is_refused(r#"{"name": "x", "__proto__": {}}"#, &["`__proto__`"]);
}

#[test]
fn a_wrong_type_is_refused() {
    is_refused(r#"{"name": 3}"#, &["name", "must be of type string, not a number"]);
    is_refused(r#"{"name": ["x"]}"#, &["name", "must be of type string, not an array"]);
    is_refused(r#"{"name": "x", "often": "3"}"#, &["often", "must be of type integer"]);
    is_refused(r#"{"name": null}"#, &["name", "must be of type string, not null"]);
}

#[test]
fn a_missing_parameter_is_refused() {
    is_refused("{}", &["`name` is missing"]);
    is_refused(r#"{"often": 3}"#, &["`name` is missing"]);
}

#[test]
fn what_is_no_object_is_refused() {
    is_refused("[]", &["must be a JSON object, not an array"]);
    is_refused("\"name\"", &["must be a JSON object, not a string"]);
    is_refused(r#"{"name": "x""#, &["not valid JSON"]);
}

#[test]
fn an_object_is_no_argument() {
    is_refused(r#"{"name": "x", "more": {"a": 1}}"#, &["`more`: an object can't be used"]);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |depth: usize| {
        format!(
            r#"{{"name": "x", "more": {}{}}}"#,
            "{\"a\":".repeat(depth),
            "1".to_owned() + &"}".repeat(depth)
        )
    };
    is_refused(&deep(100), &["`more`"]);
    is_refused(&deep(100_000), &["not valid JSON"]);
    is_refused(&"[".repeat(1_000_000), &["JSON"]);
}

#[test]
fn a_megabyte_of_arguments_is_refused() {
    let place = Place::new("echo", &json!({ "args": [{ "param": "x" }] }), "");
    for given in [
        json!({ "x": "v".repeat(200_000) }),
        json!({ "x": "v".repeat(1 << 20) }),
        json!({ "x": vec!["v".repeat(100_000); 11] }),
    ] {
        let run =
            place.home.run_with(&["tools", "run", "act", "--args", "-"], given.to_string(), &[]);
        let text = said(&run);
        assert_ne!(run.code, 0, "{}", text.len());
        assert!(text.contains("bytes") && text.contains("at most") && text.len() < 2000, "{text}");
    }
    let name = "n".repeat(1 << 20);
    is_refused(&format!(r#"{{"name": "x", "{name}": 1}}"#), &["name"]);
}
