//! The tools that a skill declares in its tools.json. Only what the model is
//! told about a tool is read here; who may run what, and how, is read where
//! tools are run.

use std::collections::{BTreeMap, BTreeSet};

use recto_context::{ContentSource, ItemId, ToolSpec};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::fields::FileReport;

/// The longest name that models' servers accept.
const NAME_LIMIT: usize = 64;

#[derive(Deserialize)]
struct ToolEntry {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
}

/// Something wrong, and on which line.
type Flaw = (usize, String);

/// Reads the tools, still without the skill in their identities.
pub(crate) fn read_tools(content: &str, report: &mut FileReport<'_>) -> Vec<ToolSpec> {
    let declared = match split_tools(content) {
        Ok(declared) => declared,
        Err((line, what)) => {
            report.refuse(line, what);
            return Vec::new();
        }
    };
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    let mut lines = LineCounter::new(content);
    for raw in declared {
        let line = lines.line_of(raw);
        match read_tool(raw, line) {
            Ok(tool) if names.insert(tool.id.name.clone()) => {
                tools.push(ToolSpec { source: ContentSource::File(report.path().clone()), ..tool });
            }
            Ok(tool) => report.refuse(line, format!("there are two tools `{}`", tool.id.name)),
            Err((line, what)) => report.refuse(line, what),
        }
    }
    tools
}

/// The text of each tool, unread, so that a bad one spoils none of the others
/// and can be pointed at.
fn split_tools(content: &str) -> Result<Vec<&str>, Flaw> {
    let parts: BTreeMap<String, &RawValue> = parse(content, 1)?;
    let Some(tools) = parts.get("tools") else {
        return Ok(Vec::new());
    };
    let line = LineCounter::new(content).line_of(tools.get());
    let tools: Vec<&RawValue> = parse(tools.get(), line)?;
    Ok(tools.into_iter().map(RawValue::get).collect())
}

fn read_tool(raw: &str, line: usize) -> Result<ToolSpec, Flaw> {
    // A list of values would do as well for serde, but not for a reader.
    if !raw.starts_with('{') {
        return Err((line, "a tool is not a JSON object".to_owned()));
    }
    let ToolEntry { name, description, parameters } = parse(raw, line)?;
    if !is_tool_name(&name) {
        let usual = format!("1 to {NAME_LIMIT} letters, digits, `_` and `-` are");
        return Err((line, format!("`{name}` is not a tool name: {usual}")));
    }
    let parameters = parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    if !parameters.is_object() {
        return Err((line, format!("the parameters of tool `{name}` are not a JSON object")));
    }
    let description = description.unwrap_or_default();
    Ok(ToolSpec::new(ItemId::tool(None, name), description.trim(), parameters))
}

/// Parses a part of the file that begins on `line`.
fn parse<'a, T: Deserialize<'a>>(part: &'a str, line: usize) -> Result<T, Flaw> {
    serde_json::from_str(part)
        .map_err(|error| (line + error.line().saturating_sub(1), message(&error)))
}

fn is_tool_name(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Tells on which line a part of a text begins. Counts on from the part before,
/// so that many parts, asked for in their order, cost one pass over the text.
struct LineCounter<'a> {
    content: &'a str,
    offset: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    fn new(content: &'a str) -> Self {
        LineCounter { content, offset: 0, line: 1 }
    }

    /// The line, from 1. `part` is a slice of the content.
    fn line_of(&mut self, part: &str) -> usize {
        let offset = part.as_ptr().addr().saturating_sub(self.content.as_ptr().addr());
        if let Some(passed) = self.content.as_bytes().get(self.offset..offset) {
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.offset = offset;
        }
        self.line
    }
}

/// The error without its place, which a problem shows in front.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(content: &str, expected: &Expect) {
        let path: Arc<Path> = Arc::from(Path::new("tools.json"));
        let mut report = FileReport::new(&path);
        let mut shown = String::new();
        for tool in read_tools(content, &mut report) {
            shown += &format!("{}\n", tool.schema);
        }
        for problem in report.problems {
            shown += &format!("{problem}\n");
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn tools_are_read_and_the_rest_is_ignored() {
        check(
            r#"{ "tools": [
                { "name": "search", "description": " Finds. ",
                  "parameters": {"type": "object", "properties": {"z": {}, "a": {}}} },
                { "name": "list", "extra": 1 }
              ], "allowlist": {"grep": ["x"]}, "execution": [{}] }"#,
            &expect![[r#"
                {"type":"function","function":{"name":"search","description":"Finds.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}
                {"type":"function","function":{"name":"list","parameters":{"type":"object","properties":{}}}}
            "#]],
        );
        check("{}", &expect![]);
    }

    #[test]
    fn a_bad_tool_is_named_with_its_line_and_the_others_stay() {
        check(
            "{\"tools\": [\n  {\"name\": \"a\"},\n  {\"name\": \"b c\"},\n  {\"name\": \"a\"},\n  \
             {\"name\": \"d\", \"parameters\": []},\n  {\n    \"description\": \"no name\"\n  },\n  \
             {\n    \"name\":\n      5\n  },\n  \"text\",\n  {\"name\": \"z\"}\n]}",
            &expect![[r#"
                {"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}}
                {"type":"function","function":{"name":"z","parameters":{"type":"object","properties":{}}}}
                tools.json:3: `b c` is not a tool name: 1 to 64 letters, digits, `_` and `-` are
                tools.json:4: there are two tools `a`
                tools.json:5: the parameters of tool `d` are not a JSON object
                tools.json:8: missing field `name`
                tools.json:11: invalid type: integer `5`, expected a string
                tools.json:13: a tool is not a JSON object
            "#]],
        );
    }

    #[test]
    fn lines_are_right_behind_thousands_of_tools() {
        let tool = |n| format!("{{\"name\": \"t{n}\", \"extra\": 1}},\n");
        let tools: String = (0..20_000).map(tool).collect();
        let content = format!("{{\"tools\": [\n{tools}5]}}");
        let path: Arc<Path> = Arc::from(Path::new("tools.json"));
        let mut report = FileReport::new(&path);
        assert_eq!(read_tools(&content, &mut report).len(), 20_000);
        let problem = report.problems[0].to_string();
        assert_eq!(problem, "tools.json:20002: a tool is not a JSON object");
    }

    #[test]
    fn broken_json_is_reported_with_its_line() {
        check(
            "{\n  \"tools\": [\n    {\"name\": }\n  ]\n}",
            &expect![[r#"
            tools.json:3: expected value
        "#]],
        );
        check(
            "",
            &expect![[r#"
            tools.json:1: EOF while parsing a value
        "#]],
        );
        check(
            "[]",
            &expect![[r#"
            tools.json:1: invalid type: sequence, expected a map
        "#]],
        );
        check(
            "{\"tools\": {}}",
            &expect![[r#"
            tools.json:1: invalid type: map, expected a sequence
        "#]],
        );
    }
}
