//! The arguments of a call: a JSON object, read from what the model wrote.

use serde_json::{Map, Value};

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
            Ok(value @ Value::Object(_)) => Ok(CallArguments(value)),
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
    fn whole_numbers_may_be_written_as_floats() {
        let arguments =
            CallArguments::parse(r#"{"a": 2, "b": 2.0, "c": 2.5, "d": -1, "e": 1e300, "f": "2"}"#);
        let arguments = arguments.unwrap();
        let numbers = ["a", "b", "c", "d", "e", "f"].map(|name| arguments.whole_number(name));
        assert_eq!(numbers, [Some(2), Some(2), None, None, Some(u64::MAX), None]);
    }
}
