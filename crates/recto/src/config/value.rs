//! What a setting's value is, and the checks that its kind asks for.
//!
//! The same checks serve every layer: the file, where values have types, and
//! variables and flags, where all is text. Here nothing is known about places.

use std::fmt;

use recto_context::nearest;

use super::keys::{Kind, camel_case};
use super::problem::{Mismatch, quoted};

/// A value that fits its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A string, a path as written, or a choice by its own name.
    Text(String),
    Bool(bool),
    Integer(u32),
    Float(f64),
    List(Vec<String>),
}

/// As it would be written in TOML.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(&basic_string(text)),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| basic_string(item)).collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

/// Reads a value that is text already: a variable, a flag, a default.
pub(super) fn from_text(kind: Kind, text: &str) -> Result<Value, Mismatch> {
    let refused = || refuse(kind, &quoted(&text));
    match kind {
        Kind::Bool => text.parse().map(Value::Bool).map_err(|_| refused()),
        Kind::Integer { .. } => integer(kind, text.parse().ok(), &quoted(&text)),
        Kind::Float { .. } => float(kind, text.parse().ok(), &quoted(&text)),
        Kind::TextList => Ok(Value::List(split_names(text))),
        Kind::PathList => split_paths(text).map(Value::List),
        Kind::Variables => list(kind, split_names(text)),
        Kind::Text
        | Kind::Path
        | Kind::Choice(_)
        | Kind::Address
        | Kind::Endpoint
        | Kind::Variable => string(kind, text),
    }
}

/// Checks a string.
pub(super) fn string(kind: Kind, text: &str) -> Result<Value, Mismatch> {
    match kind {
        Kind::Choice(names) => choice(kind, names, text),
        Kind::Address => address(kind, text.trim_end_matches('/')),
        Kind::Endpoint => address(kind, text),
        Kind::Variable => variable(kind, text),
        Kind::Text | Kind::Path if text.trim().is_empty() => Err(refuse(kind, "empty")),
        Kind::Text | Kind::Path => Ok(Value::Text(text.to_owned())),
        _ => Err(refuse(kind, "a string")),
    }
}

/// Checks a list of strings, none of which is blank.
pub(super) fn list(kind: Kind, items: Vec<String>) -> Result<Value, Mismatch> {
    let bad = |item: &String| kind == Kind::Variables && !is_variable(item);
    match items.iter().position(bad) {
        // What was given is not repeated: it may be what the variable should hold.
        Some(index) => {
            let what = format!("must be {kind}; entry {} is none", index + 1);
            Err(Mismatch::new(what).hint(VARIABLE_HINT))
        }
        None => Ok(Value::List(items)),
    }
}

/// Checks a whole number; `None` stands for one that no type of ours can hold.
pub(super) fn integer(kind: Kind, number: Option<i64>, shown: &str) -> Result<Value, Mismatch> {
    match (kind, number) {
        (Kind::Integer { min, max }, Some(number)) => match u32::try_from(number) {
            Ok(number) if (min..=max).contains(&number) => Ok(Value::Integer(number)),
            _ => Err(refuse(kind, shown)),
        },
        _ => Err(refuse(kind, shown)),
    }
}

/// Checks a number. Infinity and "not a number" are in no range.
pub(super) fn float(kind: Kind, number: Option<f64>, shown: &str) -> Result<Value, Mismatch> {
    match (kind, number) {
        (Kind::Float { min, max }, Some(number)) if (min..=max).contains(&number) => {
            Ok(Value::Float(number))
        }
        _ => Err(refuse(kind, shown)),
    }
}

/// The value is not what its kind asks for.
pub(super) fn refuse(kind: Kind, instead: &str) -> Mismatch {
    Mismatch::new(format!("must be {kind}, not {instead}"))
}

/// Words that are accepted for a choice besides its own.
const OTHER_WORDS: &[(&str, &str)] = &[("tool", "per_tool")];

/// Choices are accepted in camelCase as well, and kept by their own name.
fn choice(kind: Kind, names: &[&str], text: &str) -> Result<Value, Mismatch> {
    let is_meant = |name: &&&str| {
        **name == text || camel_case(name) == text || OTHER_WORDS.contains(&(text, **name))
    };
    if let Some(name) = names.iter().find(is_meant) {
        return Ok(Value::Text((*name).to_owned()));
    }
    let mismatch = refuse(kind, &quoted(&text));
    Err(match nearest(text, names.iter().copied()) {
        Some(name) => mismatch.hint(format!("did you mean `{name}`?")),
        None => mismatch,
    })
}

/// An address is shown by `config show` and by errors, so it must not carry
/// what opens a door: no password in front of the host, no key behind a `?`.
/// What was given is not repeated for the same reason.
fn address(kind: Kind, text: &str) -> Result<Value, Mismatch> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        return Err(Mismatch::new(format!("must be {kind}")));
    };
    if rest.contains(['@', '?', '#']) {
        let mismatch = Mismatch::new("must not hold a user name, a password or a query");
        return Err(mismatch.hint(super::raw::SECRET_HINT));
    }
    if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Mismatch::new("must not hold spaces"));
    }
    Ok(Value::Text(text.to_owned()))
}

/// Only upper-case names pass, since a key pasted here by mistake nearly always
/// has other characters. What was given is not repeated for the same reason.
fn variable(kind: Kind, text: &str) -> Result<Value, Mismatch> {
    if is_variable(text) {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(Mismatch::new(format!("must be {kind}")).hint(VARIABLE_HINT))
}

const VARIABLE_HINT: &str =
    "write the variable's name, such as `OPENAI_API_KEY`, never the key itself";

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn split_names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn split_paths(text: &str) -> Result<Vec<String>, Mismatch> {
    std::env::split_paths(text)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| path.into_os_string().into_string())
        .collect::<Result<_, _>>()
        .map_err(|_| Mismatch::new("must be text in UTF-8"))
}

/// A TOML string on one line.
pub(super) fn basic_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Kind = Kind::Integer { min: 1, max: 50 };

    fn refused(kind: Kind, text: &str) -> String {
        from_text(kind, text).unwrap_err().what
    }

    #[test]
    fn numbers_are_checked_against_their_range() {
        assert_eq!(from_text(RANGE, "50").unwrap(), Value::Integer(50));
        for text in ["0", "51", "-1", "1.5", "x", "99999999999999999999"] {
            let expected = format!("must be a whole number from 1 to 50, not `{text}`");
            assert_eq!(refused(RANGE, text), expected);
        }
        let heat = Kind::Float { min: 0.0, max: 2.0 };
        assert_eq!(from_text(heat, "1").unwrap(), Value::Float(1.0));
        for text in ["NaN", "inf", "-0.1", "2.01", ""] {
            assert_eq!(refused(heat, text), format!("must be a number from 0 to 2, not `{text}`"));
        }
    }

    #[test]
    fn choices_are_accepted_in_camel_case() {
        let kind = Kind::Choice(&["full", "read_on_demand"]);
        let expected = Value::Text("read_on_demand".to_owned());
        assert_eq!(from_text(kind, "readOnDemand").unwrap(), expected);
        assert_eq!(from_text(kind, "read_on_demand").unwrap(), expected);
        let mismatch = from_text(kind, "ful").unwrap_err();
        assert_eq!(mismatch.hint.as_deref(), Some("did you mean `full`?"));
    }

    #[test]
    fn addresses_hold_no_secrets() {
        let good = from_text(Kind::Address, "http://127.0.0.1:11434/").unwrap();
        assert_eq!(good, Value::Text("http://127.0.0.1:11434".to_owned()));
        for text in ["", "localhost:11434", "http://", "https:///x", "http://me:hunter2@host"] {
            assert!(!refused(Kind::Address, text).contains("hunter2"), "{text}");
        }
        assert!(!refused(Kind::Address, "https://host/v1?key=hunter2").contains("hunter2"));
    }

    #[test]
    fn a_key_in_place_of_a_variable_is_refused_unseen() {
        assert!(from_text(Kind::Variable, "OPENAI_API_KEY").is_ok());
        for text in ["sk-live-123", "hf_AbCdEf", "", "$KEY", "9A"] {
            assert_eq!(
                refused(Kind::Variable, text),
                "must be the name of an environment variable"
            );
        }
    }

    #[test]
    fn an_endpoint_keeps_its_last_slash() {
        let kept = from_text(Kind::Endpoint, "http://127.0.0.1:1/mcp/").unwrap();
        assert_eq!(kept, Value::Text("http://127.0.0.1:1/mcp/".to_owned()));
        for text in ["", "http://", "http:///", "ftp://h/x", "http://h/x?key=hunter2"] {
            assert!(!refused(Kind::Endpoint, text).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_key_in_a_list_of_variables_is_refused_unseen() {
        let names = Value::List(vec!["A_TOKEN".to_owned(), "_B2".to_owned()]);
        assert_eq!(from_text(Kind::Variables, "A_TOKEN, _B2").unwrap(), names);
        for text in ["A, sk-live-123", "A, hf_AbCdEf", "A, $KEY", "A, B=hunter2"] {
            assert_eq!(
                refused(Kind::Variables, text),
                "must be a list of names of environment variables; entry 2 is none"
            );
        }
    }

    #[test]
    fn another_word_for_a_choice_counts_only_there() {
        let kind = Kind::Choice(&["always", "per_tool"]);
        for text in ["tool", "per_tool", "perTool"] {
            assert_eq!(from_text(kind, text).unwrap(), Value::Text("per_tool".to_owned()));
        }
        assert!(from_text(Kind::Choice(&["always", "never"]), "tool").is_err());
    }

    #[test]
    fn lists_are_split_by_commas_or_as_paths() {
        let list = |items: &[&str]| Value::List(items.iter().map(|s| (*s).to_owned()).collect());
        assert_eq!(from_text(Kind::TextList, "a, b,,c").unwrap(), list(&["a", "b", "c"]));
        let paths = std::env::join_paths(["/a", "b c"]).unwrap().into_string().unwrap();
        assert_eq!(from_text(Kind::PathList, &paths).unwrap(), list(&["/a", "b c"]));
        assert_eq!(from_text(Kind::PathList, "").unwrap(), list(&[]));
    }

    #[test]
    fn values_are_shown_as_toml() {
        let text = Value::Text("a\"b\\c\nd\u{7f}".to_owned());
        assert_eq!(text.to_string(), r#""a\"b\\c\u000Ad\u007F""#);
        let parsed: toml::Table = toml::from_str(&format!("x = {text}")).unwrap();
        assert_eq!(parsed["x"].as_str(), Some("a\"b\\c\nd\u{7f}"));
        assert_eq!(Value::Float(1.0).to_string(), "1.0");
    }
}
