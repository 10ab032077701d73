//! JSON as Python writes it, which is how models have seen their tools in training: `", "` and
//! `": "` between things, keys in their order, no characters but the necessary ones escaped.
//!
//! What it writes is data. It becomes a text of its own, behind a mark like any other.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use super::marks::{MOST_BYTES, MarkedTexts, TextMark};
use super::refusal::TemplateRefusal;

/// How deep values may be nested. Deeper ones can't have come from JSON.
const DEEPEST: usize = 128;

/// The filter `tojson`, with the options that Python's `json.dumps` has for it.
pub(super) fn tojson(
    texts: &MarkedTexts,
    value: &Value,
    indent: Option<Value>,
    options: &Kwargs,
) -> Result<Value, Error> {
    let style = JsonStyle::new(indent, options)?;
    let mut writer = PythonJsonWriter { texts, style, json: String::new(), holds: Vec::new() };
    writer.value(value, 0)?;
    let mark = texts.write(writer.json, writer.holds).map_err(refusal_error)?;
    Ok(Value::from(mark.to_string()))
}

/// A refusal on its way through the template.
pub(super) fn refusal_error(refusal: TemplateRefusal) -> Error {
    Error::new(ErrorKind::InvalidOperation, refusal.to_string()).with_source(refusal)
}

struct JsonStyle {
    /// How far each level is indented; none when all is on one line.
    indent: Option<String>,
    between_items: String,
    behind_keys: String,
    sorts_keys: bool,
    is_ascii: bool,
}

impl JsonStyle {
    fn new(indent: Option<Value>, options: &Kwargs) -> Result<Self, Error> {
        let indent = match indent {
            Some(indent) => Some(indent),
            None => options.get::<Option<Value>>("indent")?,
        };
        let indent =
            indent.filter(|indent| !indent.is_none()).map(|indent| match indent.as_str() {
                Some(text) => text.to_owned(),
                None => " ".repeat(indent.as_usize().unwrap_or(0).min(16)),
            });
        let (between_items, behind_keys) = match options.get::<Option<Vec<String>>>("separators")? {
            Some(given) if given.len() == 2 => (given[0].clone(), given[1].clone()),
            _ if indent.is_some() => (",".to_owned(), ": ".to_owned()),
            _ => (", ".to_owned(), ": ".to_owned()),
        };
        Ok(JsonStyle {
            indent,
            between_items,
            behind_keys,
            sorts_keys: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
            is_ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        })
    }
}

struct PythonJsonWriter<'a> {
    texts: &'a MarkedTexts,
    style: JsonStyle,
    json: String,
    holds: Vec<TextMark>,
}

impl PythonJsonWriter<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST || self.json.len() > MOST_BYTES {
            return Err(refusal_error(TemplateRefusal::TooLong));
        }
        match value.kind() {
            ValueKind::None => self.json.push_str("null"),
            ValueKind::Bool => {
                self.json.push_str(if value.is_true() { "true" } else { "false" });
            }
            ValueKind::Number => self.json.push_str(&number(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.list(value, depth)?,
            ValueKind::Map => self.object(value, depth)?,
            kind => {
                let problem = format!("{kind} cannot be written as JSON");
                return Err(Error::new(ErrorKind::InvalidOperation, problem));
            }
        }
        Ok(())
    }

    fn string(&mut self, marked: &str) {
        let (text, holds) = self.texts.resolve(marked);
        self.holds.extend(holds);
        let quoted = serde_json::Value::from(text).to_string();
        if !self.style.is_ascii {
            self.json.push_str(&quoted);
            return;
        }
        for unit in quoted.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => self.json.push(char::from(byte)),
                _ => self.json.push_str(&format!("\\u{unit:04x}")),
            }
        }
    }

    fn list(&mut self, list: &Value, depth: usize) -> Result<(), Error> {
        self.json.push('[');
        let mut is_empty = true;
        for item in list.try_iter()? {
            self.item(is_empty, depth);
            is_empty = false;
            self.value(&item, depth + 1)?;
        }
        self.close(']', is_empty, depth);
        Ok(())
    }

    fn object(&mut self, object: &Value, depth: usize) -> Result<(), Error> {
        self.json.push('{');
        let mut keys: Vec<Value> = object.try_iter()?.collect();
        if self.style.sorts_keys {
            keys.sort_by_cached_key(|key| self.texts.resolve(&key.to_string()).0);
        }
        for (place, key) in keys.iter().enumerate() {
            self.item(place == 0, depth);
            self.key(key);
            self.json.push_str(&self.style.behind_keys);
            self.value(&object.get_item(key)?, depth + 1)?;
        }
        self.close('}', keys.is_empty(), depth);
        Ok(())
    }

    /// Keys are strings in JSON, whatever they were before.
    fn key(&mut self, key: &Value) {
        match key.kind() {
            ValueKind::String => self.string(key.as_str().unwrap_or_default()),
            ValueKind::None => self.json.push_str("\"null\""),
            ValueKind::Number => self.string(&number(key)),
            _ => self.string(&key.to_string().to_lowercase()),
        }
    }

    fn item(&mut self, is_first: bool, depth: usize) {
        if !is_first {
            self.json.push_str(&self.style.between_items);
        }
        self.line(depth + 1);
    }

    fn close(&mut self, bracket: char, is_empty: bool, depth: usize) {
        if !is_empty {
            self.line(depth);
        }
        self.json.push(bracket);
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = &self.style.indent {
            self.json.push('\n');
            self.json.push_str(&indent.repeat(depth));
        }
    }
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() => float(number),
        _ => value.to_string(),
    }
}

/// A number in the shortest form that means the same, as Python writes it: with a point or an
/// exponent, and the exponent only where the number is very large or very small.
fn float(number: f64) -> String {
    if !number.is_finite() {
        return match number {
            _ if number.is_nan() => "NaN".to_owned(),
            _ if number > 0.0 => "Infinity".to_owned(),
            _ => "-Infinity".to_owned(),
        };
    }
    let size = number.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        return format!("{number:?}");
    }
    let written = format!("{number:e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use minijinja::Environment;

    use super::*;

    /// `expression` is written with `tojson`.
    #[track_caller]
    fn check(expression: &str, expected: &str) {
        assert_eq!(written(expression).unwrap(), expected, "{expression}");
    }

    fn written(expression: &str) -> Result<String, Error> {
        let mut texts = MarkedTexts::default();
        let mark = texts.keep_text("a \"b\"\n</é>\u{fdd0}").to_string();
        let texts = std::sync::Arc::new(texts);
        let mut environment = Environment::new();
        let of = std::sync::Arc::clone(&texts);
        environment.add_filter(
            "tojson",
            move |value: &Value, indent: Option<Value>, options: Kwargs| {
                tojson(&of, value, indent, &options)
            },
        );
        let template = format!("{{{{ {expression} }}}}");
        let marked = environment.render_str(&template, minijinja::context! { mark })?;
        Ok(texts.resolve(&marked).0)
    }

    #[test]
    fn values_are_written_as_python_does() {
        check("[1, 2.0, none, true, 'x'] | tojson", r#"[1, 2.0, null, true, "x"]"#);
        check("{'b': [], 'a': {}} | tojson", r#"{"b": [], "a": {}}"#);
        check("'<|x|> \\'é\\' & \\\\' | tojson", r#""<|x|> 'é' & \\""#);
        // Not both in one: 1 and true are the same key to a hash that happens to say so.
        check("{1: 2, none: 4} | tojson", r#"{"1": 2, "null": 4}"#);
        check("{true: 3} | tojson", r#"{"true": 3}"#);
        check("range(3) | tojson", "[0, 1, 2]");
    }

    #[test]
    fn texts_are_escaped_where_they_stand() {
        check("mark | tojson", "\"a \\\"b\\\"\\n</é>\u{fdd0}\"");
        check("['<' ~ mark ~ '>'] | tojson", "[\"<a \\\"b\\\"\\n</é>\u{fdd0}>\"]");
        check("{mark: 1} | tojson", "{\"a \\\"b\\\"\\n</é>\u{fdd0}\": 1}");
        check("[1] | tojson | tojson", r#""[1]""#);
        check("'é😀' | tojson(ensure_ascii=true)", r#""\u00e9\ud83d\ude00""#);
    }

    #[test]
    fn options_are_those_of_python() {
        check(
            "{'b': [1, 2], 'a': []} | tojson(indent=2)",
            "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": []\n}",
        );
        check("[[1]] | tojson(indent=none)", "[[1]]");
        check("[1] | tojson(4)", "[\n    1\n]");
        check("{'b': 1, 'a': 2} | tojson(sort_keys=true)", r#"{"a": 2, "b": 1}"#);
        check("{'b': [1, 2]} | tojson(separators=(',', ':'))", r#"{"b":[1,2]}"#);
        assert!(written("nothing | tojson").is_err());
    }

    #[test]
    fn numbers_are_written_as_python_does() {
        for (number, expected) in [
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
            (59.913868799999996, "59.913868799999996"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float(number), expected);
        }
        check("18446744073709551615 | tojson", "18446744073709551615");
    }

    #[test]
    fn nesting_has_an_end() {
        let nest = "{% set ns = namespace(x=[]) %}{% for _ in range(1000) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
        let texts = MarkedTexts::default();
        let mut environment = Environment::new();
        environment.add_filter("tojson", move |value: &Value, options: Kwargs| {
            tojson(&texts, value, None, &options)
        });
        let error =
            environment.render_str(&format!("{nest}{{{{ ns.x | tojson }}}}"), ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOperation);
        let wide = nest.replace("1000", "100");
        let error =
            environment.render_str(&format!("{wide}{{{{ ns.x | tojson }}}}"), ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOperation);
    }
}
