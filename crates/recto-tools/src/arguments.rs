//! The arguments of a call: a JSON object, read from what the model wrote.

use recto_context::first_chars;
use serde_json::{Map, Value};

use crate::json_text::text_length;

/// Digits of a decimal fraction that a number of 64 bits always keeps, or that are there because a
/// program wrote such a number.
const KEPT_DIGITS: usize = 17;

/// Characters of a number that are told.
const MOST_DIGITS_SHOWN: usize = 40;

/// The arguments of a call. Always a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct CallArguments(Value);

impl CallArguments {
    /// Reads what a model wrote. Nothing at all stands for no arguments. An
    /// error is written for the model.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(CallArguments(Value::Object(Map::new())));
        }
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => match inexact_number(text) {
                Some(number) => Err(format!(
                    "the number {} in the arguments has more digits than can be passed on; if the \
                     tool takes a text there, write it in quotes",
                    first_chars(number, MOST_DIGITS_SHOWN)
                )),
                None => Ok(CallArguments(value)),
            },
            Ok(it) => Err(format!("the arguments must be a JSON object, not {}", kind_of(&it))),
            Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
        }
    }

    /// All of them as JSON.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Their names, in the order in which the model wrote them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.as_object().into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// A text by its name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Whether something is so, by its name.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    /// A whole number by its name. For JSON schema, and so here, `2.0` is one;
    /// a number that is too large counts as the largest.
    pub fn whole_number(&self, name: &str) -> Option<u64> {
        let number = self.0.get(name)?;
        let float = || number.as_f64().filter(|float| *float >= 0.0 && float.fract() == 0.0);
        number.as_u64().or_else(|| float().map(|float| float as u64))
    }
}

/// A number of a JSON text that would lose digits when it is read: what a person was asked about
/// and what a program gets would be another one than was written.
fn inexact_number(json: &str) -> Option<&str> {
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let length = match rest.as_bytes()[at] {
            b'"' => text_length(&rest.as_bytes()[at..]),
            _ => {
                let number = &rest[at..];
                let is_end = |c: char| !c.is_ascii_digit() && !"+-.eE".contains(c);
                let number = &number[..number.find(is_end).unwrap_or(number.len())];
                if loses_digits(number) {
                    return Some(number);
                }
                number.len()
            }
        };
        rest = &rest[at + length..];
    }
    None
}

fn loses_digits(number: &str) -> bool {
    if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return number.parse::<i64>().is_err() && number.parse::<u64>().is_err();
    }
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len() > KEPT_DIGITS
}

/// What a value is, with its article.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_needed_and_nothing_will_do() {
        assert_eq!(CallArguments::parse(" \n").unwrap().as_value(), &Value::Object(Map::new()));
        assert_eq!(
            CallArguments::parse("[]").unwrap_err(),
            "the arguments must be a JSON object, not an array"
        );
        assert_eq!(
            CallArguments::parse("null").unwrap_err(),
            "the arguments must be a JSON object, not null"
        );
        assert!(
            CallArguments::parse("{\"a\": ")
                .unwrap_err()
                .starts_with("the arguments are not valid JSON: EOF")
        );
        assert!(CallArguments::parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_number_that_would_lose_digits_is_refused() {
        let read = |text: &str| CallArguments::parse(text);
        for lost in [
            "12345678901234567890123",
            "-9223372036854775809",
            "18446744073709551616",
            "3.14159265358979323846",
            "123456789012345678.5e2",
        ] {
            for json in [format!(r#"{{"n": {lost}}}"#), format!(r#"{{"a\"1": [{{"b":{lost}}}]}}"#)]
            {
                let error = read(&json).unwrap_err();
                assert!(error.starts_with(&format!("the number {lost} in the arg")), "{error}");
            }
        }
        let kept = r#"{"a": 18446744073709551615, "b": -9223372036854775808, "c": 1e300, "d": 0.1,
                       "e": 0.30000000000000004, "f": "12345678901234567890123 \\", "g": 10.00}"#;
        assert!(read(kept).is_ok(), "{:?}", read(kept));
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let arguments =
            CallArguments::parse(r#"{"a": 2, "b": 2.0, "c": 2.5, "d": -1, "e": 1e300, "f": "2"}"#);
        let arguments = arguments.unwrap();
        let numbers = ["a", "b", "c", "d", "e", "f"].map(|name| arguments.whole_number(name));
        assert_eq!(numbers, [Some(2), Some(2), None, None, Some(u64::MAX), None]);
    }
}
