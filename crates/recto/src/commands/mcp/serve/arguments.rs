//! The arguments of a call, checked against what the tool takes. What is wrong is
//! said so that a model can put it right.

use recto_context::nearest_name;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::offer::{OfferParameter, OfferedCall, ParameterForm};
use crate::output::tame;

/// The most characters of a wrong value that are repeated.
const REPEATED: usize = 40;

/// The arguments of a call, which fit what its tool takes.
#[derive(Debug)]
pub(super) struct OfferArguments(JsonObject);

impl OfferArguments {
    /// Checks what a client sent. `null` stands for an argument that is left out.
    pub(super) fn read(offer: OfferedCall, mut sent: JsonObject) -> Result<OfferArguments, String> {
        sent.retain(|_, value| !value.is_null());
        let parameters = offer.parameters();
        let is_known = |name: &str| parameters.iter().any(|known| known.name == name);
        if let Some(name) = sent.keys().find(|name| !is_known(name)) {
            return Err(unknown(offer, &parameters, name));
        }
        for parameter in &parameters {
            match sent.get(parameter.name) {
                Some(value) => parameter.check(value)?,
                None if parameter.is_required => {
                    let OfferParameter { name, about, .. } = parameter;
                    return Err(format!("`{name}` is missing. {about}"));
                }
                None => {}
            }
        }
        Ok(OfferArguments(sent))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(super) fn whole(&self, name: &str) -> Option<u32> {
        whole(self.0.get(name)?)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

fn unknown(offer: OfferedCall, parameters: &[OfferParameter], name: &str) -> String {
    let names: Vec<&str> = parameters.iter().map(|known| known.name).collect();
    let meant = nearest_name(name, names.iter().copied());
    let meant = meant.map_or_else(String::new, |meant| format!(" Did you mean `{meant}`?"));
    let (name, tool, names) = (repeated(name), offer.name(), names.join(", "));
    format!("there is no parameter `{name}`: `{tool}` takes {names}.{meant}")
}

impl OfferParameter {
    fn check(&self, value: &Value) -> Result<(), String> {
        let name = self.name;
        let must_be = |what: &str| Err(format!("`{name}` must be {what}, not {}", shown(value)));
        match (&self.form, value) {
            (ParameterForm::Text, Value::String(text)) if text.trim().is_empty() => {
                Err(format!("`{name}` is empty. {}", self.about))
            }
            (ParameterForm::Text, Value::String(_)) | (ParameterForm::Flag, Value::Bool(_)) => {
                Ok(())
            }
            (ParameterForm::Text, _) => must_be("a string"),
            (ParameterForm::Flag, _) => must_be("true or false"),
            (ParameterForm::OneOf(names), value) => {
                let is_one = value.as_str().is_some_and(|text| names.contains(&text));
                if is_one { Ok(()) } else { must_be(&format!("one of {}", names.join(", "))) }
            }
            (ParameterForm::Whole(range), value) => match whole(value) {
                Some(number) if range.contains(&number) => Ok(()),
                _ if *range.end() == u32::MAX => {
                    must_be(&format!("a whole number from {} on", range.start()))
                }
                _ => must_be(&format!("a whole number from {} to {}", range.start(), range.end())),
            },
        }
    }
}

/// A whole number. For JSON schema, `2.0` is one.
fn whole(value: &Value) -> Option<u32> {
    let float = || value.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as u64);
    let number = value.as_u64().or_else(|| value.as_f64().filter(|f| *f >= 0.0).and(float()))?;
    u32::try_from(number).ok()
}

/// Shows a value that is not what it should be.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", repeated(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        plain => plain.to_string(),
    }
}

fn repeated(text: &str) -> String {
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => tame(&text[..end]) + "…",
        None => tame(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(offer: OfferedCall, sent: Value) -> Result<OfferArguments, String> {
        let Value::Object(sent) = sent else { panic!("no object") };
        OfferArguments::read(offer, sent)
    }

    #[track_caller]
    fn refused(offer: OfferedCall, sent: Value, expected: &str) {
        assert_eq!(read(offer, sent).unwrap_err(), expected);
    }

    #[test]
    fn what_fits_is_read() {
        let sent = json!({"query": "a", "kind": "rule", "limit": 2.0, "text": true});
        let arguments = read(OfferedCall::Search, sent).unwrap();
        assert_eq!((arguments.text("query"), arguments.text("kind")), (Some("a"), Some("rule")));
        assert_eq!((arguments.whole("limit"), arguments.flag("text")), (Some(2), true));
        let arguments = read(OfferedCall::Show, json!({"turn": null})).unwrap();
        assert_eq!((arguments.whole("turn"), arguments.flag("body")), (None, false));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        refused(
            OfferedCall::Search,
            json!({}),
            "`query` is missing. What to search for, such as `write a commit message`.",
        );
        refused(OfferedCall::Search, json!({"query": 7}), "`query` must be a string, not 7");
        refused(
            OfferedCall::Recall,
            json!({"query": " \n"}),
            "`query` is empty. What to look for, such as `what was said about tea`.",
        );
        refused(
            OfferedCall::Search,
            json!({"query": "a", "kind": "rules"}),
            "`kind` must be one of rule, reference, skill, tool, memory, not `rules`",
        );
        refused(
            OfferedCall::Search,
            json!({"query": "a", "limits": 3}),
            "there is no parameter `limits`: `search` takes query, kind, limit, text. Did you \
             mean `limit`?",
        );
        for limit in [json!(0), json!(101), json!(-1), json!(1.5), json!(1e300)] {
            let expected = format!("`limit` must be a whole number from 1 to 100, not {limit}");
            refused(OfferedCall::Recall, json!({"query": "a", "limit": limit}), &expected);
        }
        refused(
            OfferedCall::Show,
            json!({"turn": "last"}),
            "`turn` must be a whole number from 1 on, not `last`",
        );
        refused(
            OfferedCall::Show,
            json!({"body": "yes"}),
            "`body` must be true or false, not `yes`",
        );
        refused(
            OfferedCall::Show,
            json!({"body": {"a": [1]}}),
            "`body` must be true or false, not an object",
        );
        let long = read(OfferedCall::Show, json!({"x".repeat(1_000_000): 1})).unwrap_err();
        assert!(long.len() < 200, "{long}");
    }

    proptest! {
        #[test]
        fn a_number_is_whole_or_it_is_none(number: f64) {
            if let Some(found) = whole(&json!(number)) {
                prop_assert_eq!(f64::from(found), number);
            }
        }
    }
}
