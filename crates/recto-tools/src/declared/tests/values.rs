//! For any declaration and any values: none becomes a flag, and nothing is in the
//! command line that neither the author nor the model wrote.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::home::{Home, execution_of};
use crate::arguments::CallArguments;

/// Values that a hostile model might give.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("--".to_owned()),
        Just("-".to_owned()),
        "-{1,2}[a-z=]{0,6}",
        "[-a-z =$;|&*'\"`\\\\\n]{0,8}",
        any::<String>(),
    ];
    let scalar = prop_oneof![
        4 => text.prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    prop_oneof![
        4 => scalar.clone(),
        1 => prop::collection::vec(scalar, 0..3).prop_map(Value::from),
    ]
}

/// Arguments of an execution, by what they are called in [`arg`].
fn args() -> impl Strategy<Value = Vec<&'static str>> {
    let kinds = ["positional", "long", "short", "glued", "switch", "literal", "own flag", "marker"];
    prop::collection::vec(prop::sample::select(kinds.to_vec()), 0..6)
}

/// The argument at this place. Its parameter is called `p` and the place.
fn arg(kind: &str, at: usize) -> Value {
    let param = format!("p{at}");
    match kind {
        "positional" => json!({"param": param, "optional": true}),
        "long" => json!({"kind": "flag", "flag": "--long", "param": param}),
        "short" => json!({"kind": "flag", "flag": "-s", "param": param}),
        "glued" => json!({"kind": "flag", "flag": "--glued=", "param": param}),
        "switch" => json!({"kind": "flagifboolean", "flagIfTrue": "-y", "param": param}),
        "literal" => json!({"kind": "literal", "flag": "plain"}),
        "own flag" => json!({"kind": "literal", "flag": "-o"}),
        _ => json!({"kind": "literal", "flag": "--"}),
    }
}

/// The author's texts that begin with `-`.
const FLAGS: [&str; 5] = ["--long", "-s", "-y", "-o", "--"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Promise: `value-is-no-flag`
    #[test]
    fn no_value_becomes_a_flag(
        kinds in args(),
        values in prop::collection::vec(value(), 6),
        program in prop::sample::select(vec!["grep", "git"]),
    ) {
        // A flag after `--` is a flaw, so there is none.
        let end = kinds.iter().position(|kind| *kind == "marker").unwrap_or(kinds.len());
        let after = |kind: &&str| matches!(*kind, "positional" | "literal");
        let kinds: Vec<&str> = kinds.iter().enumerate()
            .filter(|(at, kind)| *at <= end || after(kind)).map(|(_, kind)| *kind).collect();
        let args: Vec<Value> = kinds.iter().enumerate().map(|(at, kind)| arg(kind, at)).collect();
        let execution = execution_of(&format!("\"binary\": \"{program}\", \"args\": {}", json!(args)));
        let given: serde_json::Map<String, Value> =
            values.iter().enumerate().map(|(at, value)| (format!("p{at}"), value.clone())).collect();
        let arguments = CallArguments::parse(&Value::from(given).to_string()).unwrap();
        thread_local!(static HOME: Home = Home::new());
        let argv = HOME.with(|home| {
            let prepared = home.prepare(&execution, &arguments)?;
            home.finish(prepared, &[])
        });
        let Ok(argv) = argv.map(|invocation| invocation.arguments) else { return Ok(()) };

        let end = argv.iter().position(|argument| argument == "--").unwrap_or(argv.len());
        for argument in argv[..end].iter().filter(|argument| argument.starts_with('-')) {
            let bound = argument.starts_with("--long=") || argument.starts_with("--glued=");
            prop_assert!(bound || FLAGS.contains(&argument.as_str()), "{argument} in {argv:?}");
        }
        // What is a flag's value is never `--` itself, nor what stands after a flag.
        if end < argv.len() && end > 0 && !kinds.contains(&"marker") {
            prop_assert!(!matches!(argv[end - 1].as_str(), "--long" | "-s" | "-o"), "{argv:?}");
        }
        let texts: Vec<String> = values.iter().flat_map(|value| match value {
            Value::Array(all) => all.clone(),
            other => vec![other.clone()],
        }).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
        for argument in &argv {
            prop_assert!(!argument.chars().any(char::is_control));
            let own = FLAGS.contains(&argument.as_str()) || argument == "plain";
            let bound = argument.strip_prefix("--long=").or(argument.strip_prefix("--glued="));
            let is_value = |text: &str| texts.iter().any(|value| value == text);
            prop_assert!(own || is_value(argument) || bound.is_some_and(is_value), "{argument}");
        }
    }

    #[test]
    fn nothing_makes_the_check_panic(text in any::<String>(), at in 0_usize..900, cut in 0_usize..9) {
        crate::declared::check_declaration(&text);
        let whole = include_str!("../../../../recto/templates/workspace/skills/clock/tools.json");
        let at = whole.floor_char_boundary(at.min(whole.len()));
        let after = whole.ceil_char_boundary((at + cut).min(whole.len()));
        crate::declared::check_declaration(&format!("{}{text}{}", &whole[..at], &whole[after..]));
    }
}
