//! The grammar of a call: nothing but one call of one of the tools, with
//! arguments that their schema allows.
//!
//! The frame around the arguments is fixed to the byte, in the form in which the
//! page shows calls later on. So a call reads back as the very tokens that were
//! generated, and the next request begins where this one ended.

mod lengths;

use llama_cpp_2::json_schema_to_grammar;
use serde_json::{Value, json};

use self::lengths::bound_lengths;

use crate::error::LlmError;
use crate::reply_rules::ReplyFormat;
use crate::wire::embedded::{CallRules, CallStyle, CallableTool};

/// How much of the schemas goes into the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrammarDetail {
    Schema,
    /// Only that arguments are an object.
    AnyObject,
}

/// Writes the grammar of one call, with `root` as its first rule. There must be something to call.
pub(super) fn call_grammar(calls: &CallRules, detail: GrammarDetail) -> String {
    let (before, between, after) = frame(calls.style);
    let names: Vec<String> = (0..calls.tools.len()).map(rule_of).collect();
    let mut grammar =
        format!("root ::= {} ({}) {}\n", literal(before), names.join(" | "), literal(after));
    for (index, tool) in calls.tools.iter().enumerate() {
        let name = format!("{}{between}", Value::from(tool.name.as_str()));
        let arguments = arguments(tool, index, detail);
        grammar.push_str(&format!(
            "{} ::= {} {}\n{}",
            rule_of(index),
            literal(&name),
            arguments.root,
            arguments.rules
        ));
    }
    grammar
}

/// The longest schema of a reply that a grammar is made of, in bytes, and the most names in it:
/// rules grow faster than what they are made of.
const LARGEST_SCHEMA: usize = 32 << 10;
const MOST_NAMES: usize = 2_000;

/// Writes the grammars of a reply in a form, the one to prefer first. The second has the lengths
/// bounded, for schemas whose own are more than a grammar counts.
pub(super) fn reply_grammars(format: &ReplyFormat) -> Result<Vec<String>, LlmError> {
    let refuse = |problem: &str| LlmError::ReplyFormat { problem: problem.to_owned() };
    let schema = match format {
        ReplyFormat::Json => json!({ "type": "object" }),
        ReplyFormat::Schema(schema) => Value::clone(&schema.schema),
    };
    if !schema.is_object() {
        return Err(refuse("its schema is no object"));
    }
    if schema.to_string().len() > LARGEST_SCHEMA || count_names(&schema) > MOST_NAMES {
        return Err(refuse("its schema is too large for an embedded model"));
    }
    let rules = [schema.to_string(), bound_lengths(&schema).to_string()];
    let rules = rules.iter().filter_map(|schema| json_schema_to_grammar(schema).ok());
    let rules: Vec<String> = rules.map(|rules| compact(&rules)).collect();
    if rules.is_empty() {
        return Err(refuse("its schema has something that no grammar can say"));
    }
    Ok(rules)
}

/// How many names and values of any object or list there are.
fn count_names(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.values().map(|value| 1 + count_names(value)).sum(),
        Value::Array(values) => values.iter().map(|value| 1 + count_names(value)).sum(),
        _ => 0,
    }
}

/// What stands before the name, between name and arguments, and behind them.
fn frame(style: CallStyle) -> (&'static str, &'static str, &'static str) {
    match style {
        CallStyle::Page => ("<tool_call>{\"name\": ", ", \"arguments\": ", "}</tool_call>"),
        CallStyle::Tagged => ("<tool_call>\n{\"name\": ", ", \"arguments\": ", "}\n</tool_call>"),
        CallStyle::Llama => ("{\"name\": ", ", \"parameters\": ", "}"),
    }
}

fn rule_of(index: usize) -> String {
    format!("tool-{index}")
}

/// The rules for a tool's arguments, and what to begin with.
struct ArgumentRules {
    root: String,
    rules: String,
}

fn arguments(tool: &CallableTool, index: usize, detail: GrammarDetail) -> ArgumentRules {
    let (any, bounded) = (json!({"type": "object"}), bound_lengths(&tool.parameters));
    let schemas = match detail {
        _ if takes_nothing(&tool.parameters) => &[][..],
        GrammarDetail::Schema => &[&bounded, &any],
        GrammarDetail::AnyObject => &[&any],
    };
    let rules = schemas.iter().find_map(|schema| json_schema_to_grammar(&schema.to_string()).ok());
    match rules.map(|rules| compact(&rules)) {
        Some(rules) => {
            let prefix = format!("args-{index}-");
            ArgumentRules { root: format!("{prefix}root"), rules: prefixed(&rules, &prefix) }
        }
        None => ArgumentRules { root: literal("{}"), rules: String::new() },
    }
}

/// Whether a schema leaves nothing to be said.
fn takes_nothing(schema: &Value) -> bool {
    let is_empty = |key: &str| schema[key].as_object().is_none_or(serde_json::Map::is_empty);
    let more = ["anyOf", "oneOf", "allOf", "$ref", "additionalProperties", "patternProperties"];
    is_empty("properties")
        && more.iter().all(|key| schema.get(*key).is_none_or(|value| *value == json!(false)))
}

/// Rules that leave no room for line breaks and indents: a small model can fill
/// all of its room with them.
fn compact(rules: &str) -> String {
    let line = |line: &str| match line.starts_with("space ::=") {
        true => "space ::= \" \"?\n".to_owned(),
        false => format!("{line}\n"),
    };
    rules.lines().map(line).collect()
}

/// A text as a grammar writes it: quoted as in JSON. What JSON writes with `\u` can't
/// occur, because names are JSON already.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Rules with `prefix` in front of every name, so that those of two tools don't
/// meet.
fn prefixed(rules: &str, prefix: &str) -> String {
    let mut written = String::with_capacity(rules.len() * 2);
    let mut within = GrammarContext::Rule;
    let mut is_escaped = false;
    let mut in_name = false;
    for c in rules.chars() {
        let begins_name = within == GrammarContext::Rule && !in_name && c.is_ascii_alphabetic();
        in_name = within == GrammarContext::Rule && (begins_name || (in_name && is_of_name(c)));
        if begins_name {
            written.push_str(prefix);
        }
        written.push(c);
        within = match (within, c) {
            (_, _) if is_escaped => within,
            (GrammarContext::Rule, '"') => GrammarContext::Text,
            (GrammarContext::Rule, '[') => GrammarContext::Set,
            (GrammarContext::Text, '"') | (GrammarContext::Set, ']') => GrammarContext::Rule,
            _ => within,
        };
        is_escaped = !is_escaped && c == '\\' && within != GrammarContext::Rule;
    }
    if !written.ends_with('\n') {
        written.push('\n');
    }
    written
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Where in a grammar a character stands: in a rule, between quotes or between brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GrammarContext {
    Rule,
    Text,
    Set,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_a_prefix_and_texts_do_not() {
        let rules = "root ::= \"a \\\"root\\\" b\" space [^\"\\]a-z] char{0,20} | (other)?\n";
        let expected =
            "x-root ::= \"a \\\"root\\\" b\" x-space [^\"\\]a-z] x-char{0,20} | (x-other)?\n";
        assert_eq!(prefixed(rules, "x-"), expected);
    }

    #[test]
    fn a_call_is_framed_as_the_page_shows_it() {
        let tool = CallableTool { name: "now".to_owned(), parameters: json!({"type": "object"}) };
        let calls = CallRules { style: CallStyle::Page, must: true, tools: vec![tool] };
        let expected = concat!(
            "root ::= \"<tool_call>{\\\"name\\\": \" (tool-0) \"}</tool_call>\"\n",
            "tool-0 ::= \"\\\"now\\\", \\\"arguments\\\": \" \"{}\"\n",
        );
        assert_eq!(call_grammar(&calls, GrammarDetail::Schema), expected);
    }
}
