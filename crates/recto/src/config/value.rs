//! What a setting's value is, and the checks that its kind asks for.
//!
//! The same checks serve every layer: the file, where values have types, and
//! variables and flags, where all is text. Here nothing is known about places.

use std::fmt;
use std::path::PathBuf;

use recto_context::nearest_name;
use recto_store::{PostgresUrl, PostgresUrlError};

use super::keys::{KeyKind, camel_case};
use super::problem::{ValueMismatch, quoted};

/// A value that fits its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SettingValue {
    /// A string, a path as written, or a choice by its own name.
    Text(String),
    /// A path once it is resolved.
    Path(PathBuf),
    Bool(bool),
    Integer(u32),
    Float(f64),
    List(Vec<String>),
    /// Paths once they are resolved.
    Paths(Vec<PathBuf>),
}

/// A value that was checked against its kind.
pub(super) type ValueResult = Result<SettingValue, ValueMismatch>;

/// The value as it would be written in TOML.
impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let text = |text: &String| basic_string(text);
        let path = |path: &PathBuf| basic_string(&path.to_string_lossy());
        f.write_str(&match self {
            SettingValue::Text(value) => text(value),
            SettingValue::Path(value) => path(value),
            SettingValue::Bool(value) => value.to_string(),
            SettingValue::Integer(value) => value.to_string(),
            SettingValue::Float(value) => format!("{value:?}"),
            SettingValue::List(items) => list(items.iter().map(text).collect()),
            SettingValue::Paths(paths) => list(paths.iter().map(path).collect()),
        })
    }
}

/// Reads a value that is text already: a variable, a flag, a default.
pub(super) fn from_text(kind: KeyKind, text: &str) -> ValueResult {
    let refused = || refuse(kind, &quoted(&text));
    match kind {
        KeyKind::Bool => text.parse().map(SettingValue::Bool).map_err(|_| refused()),
        KeyKind::Integer { .. } => integer(kind, text.parse().ok(), &quoted(&text)),
        KeyKind::Float { .. } => float(kind, text.parse().ok(), &quoted(&text)),
        KeyKind::TextList => Ok(SettingValue::List(split_names(text))),
        KeyKind::PathList => split_paths(text).map(SettingValue::List),
        KeyKind::Variables => list(kind, split_names(text)),
        _ => string(kind, text),
    }
}

/// Checks a string against a kind that takes one.
pub(super) fn string(kind: KeyKind, text: &str) -> ValueResult {
    match kind {
        KeyKind::Choice(names) => choice(kind, names, text),
        KeyKind::Address => address(kind, text.trim_end_matches('/')),
        KeyKind::Endpoint => endpoint(kind, text),
        KeyKind::Database => database(text),
        KeyKind::Variable => variable(kind, text),
        KeyKind::Text | KeyKind::Program | KeyKind::Path => match text.trim() {
            "" => Err(refuse(kind, "empty")),
            _ => Ok(SettingValue::Text(text.to_owned())),
        },
        _ => Err(refuse(kind, "a string")),
    }
}

/// Checks a list of strings. Where they are to name variables, each does.
pub(super) fn list(kind: KeyKind, items: Vec<String>) -> ValueResult {
    let bad = |item: &String| kind == KeyKind::Variables && !is_variable(item);
    match items.iter().position(bad) {
        // What was given is not repeated: it may be what the variable should hold.
        Some(index) => {
            let what = format!("must be {kind}; entry {} is none", index + 1);
            Err(ValueMismatch::new(what).hint(VARIABLE_HINT))
        }
        None => Ok(SettingValue::List(items)),
    }
}

/// Checks a whole number; `None` stands for one that no type of ours can hold.
pub(super) fn integer(kind: KeyKind, number: Option<i64>, shown: &str) -> ValueResult {
    match (kind, number.and_then(|number| u32::try_from(number).ok())) {
        (KeyKind::Integer { min, max }, Some(number)) if (min..=max).contains(&number) => {
            Ok(SettingValue::Integer(number))
        }
        _ => Err(refuse(kind, shown)),
    }
}

/// Checks a number. Infinity and "not a number" are in no range.
pub(super) fn float(kind: KeyKind, number: Option<f64>, shown: &str) -> ValueResult {
    match (kind, number) {
        (KeyKind::Float { min, max }, Some(number)) if (min..=max).contains(&number) => {
            Ok(SettingValue::Float(number))
        }
        _ => Err(refuse(kind, shown)),
    }
}

/// The value is not what its kind asks for.
pub(super) fn refuse(kind: KeyKind, instead: &str) -> ValueMismatch {
    ValueMismatch::new(format!("must be {kind}, not {instead}"))
}

/// Words that are accepted for a choice besides its own.
const OTHER_WORDS: &[(&str, &str)] = &[("tool", "per_tool")];

/// Choices are accepted in camelCase as well, and kept by their own name.
fn choice(kind: KeyKind, names: &[&str], text: &str) -> ValueResult {
    let is_meant = |name: &&&str| {
        **name == text || camel_case(name) == text || OTHER_WORDS.contains(&(text, **name))
    };
    if let Some(name) = names.iter().find(is_meant) {
        return Ok(SettingValue::Text((*name).to_owned()));
    }
    let mismatch = refuse(kind, &quoted(&text));
    Err(match nearest_name(text, names.iter().copied()) {
        Some(name) => mismatch.hint(format!("did you mean `{name}`?")),
        None => mismatch,
    })
}

/// An address is shown by `config show` and by errors, so it must not carry
/// what opens a door: no password in front of the host, no key behind a `?`.
/// What was given is not repeated for the same reason.
fn address(kind: KeyKind, text: &str) -> ValueResult {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        return Err(ValueMismatch::new(format!("must be {kind}")));
    };
    if rest.contains(['@', '?', '#']) {
        let mismatch = ValueMismatch::new("must not hold a user name, a password or a query");
        return Err(mismatch.hint(super::raw::SECRET_HINT));
    }
    if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(ValueMismatch::new("must not hold spaces"));
    }
    Ok(SettingValue::Text(text.to_owned()))
}

/// An address with a query, as long as nothing in it is called a secret. Where the address of a
/// server is shown, its query is not.
fn endpoint(kind: KeyKind, text: &str) -> ValueResult {
    let (place, query) = text.split_once('?').unwrap_or((text, ""));
    address(kind, place)?;
    let mismatch = |what: &str| Err(ValueMismatch::new(what));
    if query.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return mismatch("must not hold spaces");
    }
    if query.contains('#') {
        return mismatch("must not hold a part behind `#`, which no server is told");
    }
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    if names.into_iter().any(super::raw::names_secret) {
        let mismatch = ValueMismatch::new("must not hold a key in its query");
        return Err(mismatch.hint(super::raw::SECRET_HINT));
    }
    Ok(SettingValue::Text(text.to_owned()))
}

/// The address of a database is shown, too, and what was given is not repeated.
fn database(text: &str) -> ValueResult {
    let refused = |error: PostgresUrlError| ValueMismatch::new(format!("can't be used: {error}"));
    let url: PostgresUrl = text.parse().map_err(refused)?;
    if url.has_password() {
        let mismatch = ValueMismatch::new("must not hold a password");
        let hint = super::raw::SECRET_HINT.replace("api_key_env", "store.password_env");
        return Err(mismatch.hint(hint.replace("the key", "it")));
    }
    Ok(SettingValue::Text(text.to_owned()))
}

/// Only upper-case names pass, since a key pasted here by mistake nearly always
/// has other characters. What was given is not repeated for the same reason.
fn variable(kind: KeyKind, text: &str) -> ValueResult {
    if is_variable(text) {
        return Ok(SettingValue::Text(text.to_owned()));
    }
    Err(ValueMismatch::new(format!("must be {kind}")).hint(VARIABLE_HINT))
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

fn split_paths(text: &str) -> Result<Vec<String>, ValueMismatch> {
    std::env::split_paths(text)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| path.into_os_string().into_string())
        .collect::<Result<_, _>>()
        .map_err(|_| ValueMismatch::new("must be text in UTF-8"))
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

    const RANGE: KeyKind = KeyKind::Integer { min: 1, max: 50 };

    fn refused(kind: KeyKind, text: &str) -> String {
        from_text(kind, text).unwrap_err().what
    }

    #[test]
    fn numbers_are_checked_against_their_range() {
        assert_eq!(from_text(RANGE, "50").unwrap(), SettingValue::Integer(50));
        for text in ["0", "51", "-1", "1.5", "x", "99999999999999999999"] {
            let expected = format!("must be a whole number from 1 to 50, not `{text}`");
            assert_eq!(refused(RANGE, text), expected);
        }
        let heat = KeyKind::Float { min: 0.0, max: 2.0 };
        assert_eq!(from_text(heat, "1").unwrap(), SettingValue::Float(1.0));
        for text in ["NaN", "inf", "-0.1", "2.01", ""] {
            assert_eq!(refused(heat, text), format!("must be a number from 0 to 2, not `{text}`"));
        }
    }

    #[test]
    fn choices_are_accepted_in_camel_case() {
        let kind = KeyKind::Choice(&["full", "read_on_demand"]);
        let expected = SettingValue::Text("read_on_demand".to_owned());
        assert_eq!(from_text(kind, "readOnDemand").unwrap(), expected);
        assert_eq!(from_text(kind, "read_on_demand").unwrap(), expected);
        let mismatch = from_text(kind, "ful").unwrap_err();
        assert_eq!(mismatch.hint.as_deref(), Some("did you mean `full`?"));
    }

    #[test]
    fn addresses_of_databases_hold_no_passwords() {
        let text = "postgres://ada@db.example.org/recto";
        let same = SettingValue::Text(text.to_owned());
        assert_eq!(from_text(KeyKind::Database, text).unwrap(), same);
        for text in [
            "postgres://ada:hunter2@db.example.org/recto",
            "postgres://db.example.org/recto?password=hunter2",
            "postgres://ada:hunter2@db.example.org:x/recto",
            "hunter2",
        ] {
            assert!(!refused(KeyKind::Database, text).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn addresses_hold_no_secrets() {
        let good = from_text(KeyKind::Address, "http://127.0.0.1:11434/").unwrap();
        assert_eq!(good, SettingValue::Text("http://127.0.0.1:11434".to_owned()));
        for text in ["", "localhost:11434", "http://", "https:///x", "http://me:hunter2@host"] {
            assert!(!refused(KeyKind::Address, text).contains("hunter2"), "{text}");
        }
        assert!(!refused(KeyKind::Address, "https://host/v1?key=hunter2").contains("hunter2"));
    }

    #[test]
    fn an_endpoint_may_have_a_query_without_a_key() {
        for text in ["http://h/mcp/", "http://h/mcp?profile=dev&x=a%20b", "https://h?flag"] {
            let same = SettingValue::Text(text.to_owned());
            assert_eq!(from_text(KeyKind::Endpoint, text).unwrap(), same);
        }
        let refusals = [
            "https://h/?api_key=hunter2",
            "https://h/?a=1&Access-Token=hunter2",
            "https://h/?password=hunter2",
            "https://me:hunter2@h/?a=1",
            "https://h/?a=hunter2#b",
            "https://h/?a= hunter2",
        ];
        for text in refusals {
            assert!(!refused(KeyKind::Endpoint, text).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_key_in_place_of_a_variable_is_refused_unseen() {
        assert!(from_text(KeyKind::Variable, "OPENAI_API_KEY").is_ok());
        for text in ["sk-live-123", "hf_AbCdEf", "", "$KEY", "9A"] {
            assert_eq!(
                refused(KeyKind::Variable, text),
                "must be the name of an environment variable"
            );
        }
    }

    #[test]
    fn an_endpoint_keeps_its_last_slash() {
        let kept = from_text(KeyKind::Endpoint, "http://127.0.0.1:1/mcp/").unwrap();
        assert_eq!(kept, SettingValue::Text("http://127.0.0.1:1/mcp/".to_owned()));
        for text in ["", "http://", "http:///", "ftp://h/x", "http://h/x?key=hunter2"] {
            assert!(!refused(KeyKind::Endpoint, text).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_key_in_a_list_of_variables_is_refused_unseen() {
        let names = SettingValue::List(vec!["A_TOKEN".to_owned(), "_B2".to_owned()]);
        assert_eq!(from_text(KeyKind::Variables, "A_TOKEN, _B2").unwrap(), names);
        for text in ["A, sk-live-123", "A, hf_AbCdEf", "A, $KEY", "A, B=hunter2"] {
            assert_eq!(
                refused(KeyKind::Variables, text),
                "must be a list of names of environment variables; entry 2 is none"
            );
        }
    }

    #[test]
    fn another_word_for_a_choice_counts_only_there() {
        let kind = KeyKind::Choice(&["always", "per_tool"]);
        for text in ["tool", "per_tool", "perTool"] {
            assert_eq!(from_text(kind, text).unwrap(), SettingValue::Text("per_tool".to_owned()));
        }
        assert!(from_text(KeyKind::Choice(&["always", "never"]), "tool").is_err());
    }

    #[test]
    fn lists_are_split_by_commas_or_as_paths() {
        let list =
            |items: &[&str]| SettingValue::List(items.iter().map(|s| (*s).to_owned()).collect());
        assert_eq!(from_text(KeyKind::TextList, "a, b,,c").unwrap(), list(&["a", "b", "c"]));
        let paths = std::env::join_paths(["/a", "b c"]).unwrap().into_string().unwrap();
        assert_eq!(from_text(KeyKind::PathList, &paths).unwrap(), list(&["/a", "b c"]));
        assert_eq!(from_text(KeyKind::PathList, "").unwrap(), list(&[]));
    }

    #[test]
    fn values_are_shown_as_toml() {
        let text = SettingValue::Text("a\"b\\c\nd\u{7f}".to_owned());
        assert_eq!(text.to_string(), r#""a\"b\\c\u000Ad\u007F""#);
        let parsed: toml::Table = toml::from_str(&format!("x = {text}")).unwrap();
        assert_eq!(parsed["x"].as_str(), Some("a\"b\\c\nd\u{7f}"));
        assert_eq!(SettingValue::Float(1.0).to_string(), "1.0");
    }
}
