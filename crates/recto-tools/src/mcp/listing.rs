//! The tool list of a server, made fit to be told to models.
//!
//! A server's words come from outside. They are kept short, rid of what people
//! would not see, and marked as the server's. Keys that Recto gave to the server
//! are taken out. What can't be told is left out, with a problem that says why.

use std::collections::BTreeSet;

use recto_context::{Reveal, ToolSpec, first_chars, is_unseen, reveal};
use rmcp::model;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::envelope::UNUSABLE;
use super::log::Redactor;
use crate::schema::measure_extent;

/// Pages of a tool list that are read.
pub(super) const MAX_PAGES: usize = 100;

/// Tools of one server that are kept.
pub(super) const MAX_TOOLS: usize = 1_000;

/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 1_024;

/// The longest name of a tool, in bytes.
const MAX_NAME: usize = 256;

/// The most that a server may say of all its tools, in bytes of JSON.
const MAX_LISTED: usize = 32 * 1024 * 1024;

/// As much of a name as is told of one that is none, in characters.
const MAX_SHOWN_NAME: usize = 60;

/// The longest reason why a tool can't be used, in characters.
const MAX_REASON: usize = 200;

/// Problems that are told one by one.
const MAX_PROBLEMS: usize = 20;

/// The tools that a server offers, and why some were left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct ServerListing {
    /// By name, each name once. A server may tell them in another order each time,
    /// and what models read should not change with it.
    pub(super) tools: Vec<ListedTool>,
    /// What was left out, each in one sentence.
    pub(super) problems: Vec<String>,
}

/// A tool, as the server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ListedTool {
    /// The name by which the server knows it.
    pub(super) name: String,
    /// What it does, in the server's words, if it says so.
    pub(super) description: Option<String>,
    /// The JSON schema of its parameters.
    pub(super) parameters: Value,
}

/// A listing that is being read, page by page: what a server says comes to little more than what is
/// kept of it.
pub(super) struct ListingBuilder<'a> {
    redact: &'a Redactor,
    read: Vec<ReadTool>,
    /// What the server has said of its tools, in bytes.
    bytes: usize,
    /// Whether there were more pages than are read.
    has_more: bool,
}

/// A tool that was read, or why it is left out.
struct ReadTool {
    /// Its name, as far as it could be one.
    name: String,
    listed: Result<ListedTool, String>,
}

impl<'a> ListingBuilder<'a> {
    pub(super) fn new(redact: &'a Redactor) -> Self {
        ListingBuilder { redact, read: Vec::new(), bytes: 0, has_more: false }
    }

    /// Reads the tools of one page, as long as there is room.
    pub(super) fn add_page(&mut self, tools: Vec<model::Tool>) {
        for tool in tools {
            if self.bytes > MAX_LISTED {
                return;
            }
            let told = serde_json::to_string(&tool).map_or(usize::MAX, |text| text.len());
            self.bytes = self.bytes.saturating_add(told);
            if self.bytes <= MAX_LISTED {
                let name = first_chars(&tool.name, MAX_NAME);
                self.read.push(ReadTool { name, listed: ListedTool::new(&tool, self.redact) });
            }
        }
    }

    /// Whether no further page would add anything.
    pub(super) fn is_full(&self) -> bool {
        self.read.len() > MAX_TOOLS || self.bytes > MAX_LISTED
    }

    /// Notes that there are more pages than are read.
    pub(super) fn leave_pages(&mut self) {
        self.has_more = true;
    }

    /// Makes a listing of those tools that can be told to models.
    pub(super) fn finish(mut self) -> ServerListing {
        // Of two with one name, the one that the server told first stays first.
        self.read.sort_by(|one, other| one.name.cmp(&other.name));
        let mut listing = ServerListing::default();
        let (mut names, mut left_out) = (BTreeSet::new(), 0_usize);
        if self.bytes > MAX_LISTED {
            let most = MAX_LISTED / (1024 * 1024);
            let problem = format!("its tools come to more than {most} MiB; the rest is left out");
            listing.problems.push(problem);
        }
        if self.has_more {
            let problem = format!("its list has more than {MAX_PAGES} pages; the rest is left out");
            listing.problems.push(problem);
        }
        for ReadTool { name, listed } in self.read {
            let listed = match listed {
                _ if listing.tools.len() == MAX_TOOLS => {
                    Err(format!("there are more than {MAX_TOOLS} tools; the rest is left out"))
                }
                Ok(_) if names.contains(&name) => {
                    Err(format!("the tool `{name}` is listed twice; the first one is used"))
                }
                listed => listed,
            };
            match listed {
                Ok(listed) => {
                    names.insert(name);
                    listing.tools.push(listed);
                }
                Err(problem) if listing.problems.len() < MAX_PROBLEMS => {
                    if !listing.problems.contains(&problem) {
                        listing.problems.push(problem);
                    }
                }
                Err(_) => left_out += 1,
            }
        }
        if left_out > 0 {
            listing.problems.push(format!("{left_out} more tools are left out"));
        }
        listing
    }
}

impl ServerListing {
    /// Whether a tool is told as in this spec.
    pub(super) fn tells(&self, server: &str, spec: &ToolSpec) -> bool {
        let listed = self.tools.iter().find(|tool| *tool.name == *spec.id.name);
        listed.is_some_and(|tool| {
            tool.told_description(server).as_str()
                == spec.description.as_deref().unwrap_or_default()
                && tool.parameters == *spec.parameters
        })
    }
}

impl ListedTool {
    /// The description as models and people are told it: whose words they are stands in front.
    pub(super) fn told_description(&self, server: &str) -> String {
        let words = self.description.as_deref();
        words.map(|words| format!("[server {server}] {words}")).unwrap_or_default()
    }

    fn new(tool: &model::Tool, redact: &Redactor) -> Result<Self, String> {
        let name = tool.name.to_string();
        if let Some(why) = tool.meta.as_ref().and_then(|meta| meta.0.get(UNUSABLE)?.as_str()) {
            let shown = shown_name(&name, MAX_SHOWN_NAME, redact);
            let which =
                if shown.is_empty() { "a tool".into() } else { format!("the tool `{shown}`") };
            return Err(format!("{which} is left out: {}", fit_words(why, MAX_REASON, redact)));
        }
        // A call names the tool as the server does, so no name is told without its key.
        let is_told = redact.apply(&name) == name && !name.chars().any(is_unseen);
        if name.is_empty() || name.len() > MAX_NAME || !is_told {
            let shown = shown_name(&name, MAX_SHOWN_NAME, redact);
            return Err(format!("a tool is left out: `{shown}` is no name for one"));
        }
        let mut parameters = Value::Object(Map::clone(&tool.input_schema));
        measure_extent(&parameters)
            .map_err(|problem| format!("the tool `{name}` is left out: {problem}"))?;
        clean_words(&mut parameters);
        redact.apply_within(&mut parameters);
        if let Some(schema) = parameters.as_object_mut()
            && !schema.contains_key("type")
        {
            schema.insert("type".to_owned(), json!("object"));
        }
        let texts = [tool.description.as_deref(), tool.title.as_deref()].into_iter().flatten();
        let description =
            texts.map(|text| fit_words(text, MAX_DESCRIPTION, redact)).find(|it| !it.is_empty());
        Ok(ListedTool { name, description, parameters })
    }
}

/// A server's words as they are told: without what people would not see and the keys that may stand
/// in them, and not longer than that. A key is looked for once nothing unseen divides it.
pub(super) fn fit_words(text: &str, limit: usize, redact: &Redactor) -> String {
    first_chars(&redact.apply(&cleaned(text)), limit)
}

/// A name as people are told it: with all written out that they would not see, and not longer than
/// that. One that holds a key, also with such characters in between, is rid of both.
pub(super) fn shown_name(name: &str, limit: usize, redact: &Redactor) -> String {
    let cleaned = cleaned(name);
    let told = redact.apply(&cleaned);
    let shown = match told == cleaned {
        true => reveal(name, Reveal::EveryCharacterOfLine),
        false => told,
    };
    first_chars(&shown, limit)
}

/// The text without what people would not see, and trimmed: instructions could be written in
/// such characters.
fn cleaned(text: &str) -> String {
    let seen = |c: &char| matches!(c, '\n' | '\t') || !is_unseen(*c);
    text.chars().filter(seen).collect::<String>().trim().to_owned()
}

/// Cleans the titles and descriptions within a schema; all else decides what a
/// call may hold, and stays.
fn clean_words(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Value::String(text) if key == "description" || key == "title" => {
                        *text = cleaned(text);
                    }
                    value => clean_words(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(clean_words),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(value: Value) -> model::Tool {
        serde_json::from_value(value).unwrap()
    }

    fn list_tools(tools: Vec<model::Tool>) -> ServerListing {
        let redact = Redactor::for_key("s3cr3t-token");
        let mut builder = ListingBuilder::new(&redact);
        builder.add_page(tools);
        builder.finish()
    }

    fn named(name: &str) -> model::Tool {
        tool(json!({"name": name, "description": "Does it.", "inputSchema": {}}))
    }

    #[test]
    fn a_tool_is_told_as_the_server_has_it() {
        let listing = list_tools(vec![named("a")]);
        assert_eq!(listing.problems, Vec::<String>::new());
        let expected = ListedTool {
            name: "a".to_owned(),
            description: Some("Does it.".to_owned()),
            parameters: json!({"type": "object"}),
        };
        assert_eq!(listing.tools, [expected]);
    }

    #[test]
    fn words_are_cleaned_and_cut() {
        let words = format!("  a\u{7}b\u{202e}c\u{e0041}\nd {} ", "x".repeat(2_000));
        let listing = list_tools(vec![tool(json!({
            "name": "a",
            "description": words,
            "inputSchema": {"properties": {"p": {"description": "q\u{200b}r", "enum": ["\u{200b}"]}}},
        }))]);
        let listed = &listing.tools[0];
        let description = listed.description.as_deref().unwrap();
        assert!(description.starts_with("abc\nd x"), "{description}");
        assert_eq!(description.chars().count(), MAX_DESCRIPTION + 1);
        assert_eq!(listed.parameters["properties"]["p"]["description"], "qr");
        assert_eq!(listed.parameters["properties"]["p"]["enum"][0], "\u{200b}");
        let untold = tool(json!({"name": "b", "title": "The b", "inputSchema": {}}));
        assert_eq!(list_tools(vec![untold]).tools[0].description.as_deref(), Some("The b"));
        let silent = tool(json!({"name": "c", "description": " ", "inputSchema": {}}));
        assert_eq!(list_tools(vec![silent]).tools[0].description, None);
    }

    #[test]
    fn a_key_is_in_nothing_that_is_told() {
        let key = "s3cr3t-token";
        let long = format!("{}{key}", "x".repeat(MAX_DESCRIPTION - 5));
        let schema = json!({
            "description": "for s3cr3t\u{200b}-token",
            "properties": {key: {"enum": [key, 1], "default": {"a": [key]}}},
        });
        let listing = list_tools(vec![
            tool(json!({"name": "a", "description": long, "inputSchema": schema})),
            tool(json!({"name": "b", "title": "s3cr3t\u{202e}-token", "inputSchema": {}})),
            named("for-s3cr3t-token"),
        ]);
        let told = serde_json::to_string(&listing).unwrap();
        assert!(!told.contains("s3cr3"), "{told}");
        let expected = json!({
            "type": "object",
            "description": "for …",
            "properties": {"…": {"enum": ["…", 1], "default": {"a": ["…"]}}},
        });
        assert_eq!(listing.tools[0].parameters, expected);
        assert_eq!(listing.tools[1].description.as_deref(), Some("…"));
        assert_eq!(listing.problems, ["a tool is left out: `for-…` is no name for one"]);
    }

    #[test]
    fn what_can_not_be_told_is_left_out() {
        let deep = (0..65).fold(json!({}), |inner, _| json!({ "a": inner }));
        let large = json!({"description": "x".repeat(70_000)});
        let listing = list_tools(vec![
            named("a"),
            named("a"),
            named(""),
            named("b\u{1b}[2J"),
            named("g\u{200b}o"),
            named("s3cr3t\u{200b}-token"),
            tool(json!({"name": "deep", "inputSchema": deep})),
            tool(json!({"name": "large", "inputSchema": large})),
            named("z"),
        ]);
        let names: Vec<_> = listing.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["a", "z"]);
        assert_eq!(
            listing.problems,
            [
                "a tool is left out: `` is no name for one",
                "the tool `a` is listed twice; the first one is used",
                r"a tool is left out: `b\u{1b}[2J` is no name for one",
                "the tool `deep` is left out: its schema is nested more than 64 deep",
                r"a tool is left out: `g\u{200b}o` is no name for one",
                "the tool `large` is left out: its schema is over 64 KB",
                "a tool is left out: `…` is no name for one",
            ]
        );
    }

    #[test]
    fn the_order_of_a_server_does_not_matter() {
        let all = ["b", "a-b", "c", "a", "B", "a_b", "bad\n", "worse\n"].map(named);
        let mut turned = all.to_vec();
        turned.reverse();
        let listing = list_tools(all.to_vec());
        assert_eq!(listing, list_tools(turned));
        let names: Vec<_> = listing.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["B", "a", "a-b", "a_b", "b", "c"]);

        let other = tool(json!({"name": "a", "description": "Another.", "inputSchema": {}}));
        let listing = list_tools(vec![named("b"), named("a"), other]);
        assert_eq!(
            listing.tools[0].description.as_deref(),
            Some("Does it."),
            "the first one is used"
        );
    }

    #[test]
    fn there_is_an_end_to_tools_and_problems() {
        let many = list_tools((0..1_100).map(|n| named(&format!("t{n}"))).collect());
        assert_eq!(many.tools.len(), MAX_TOOLS);
        assert_eq!(many.problems, ["there are more than 1000 tools; the rest is left out"]);
        let bad = list_tools((0..100).map(|n| named(&format!("t{n}\n"))).collect());
        assert_eq!(bad.problems.len(), MAX_PROBLEMS + 1);
        assert_eq!(bad.problems[MAX_PROBLEMS], "80 more tools are left out");
    }

    #[test]
    fn what_a_server_says_of_its_tools_has_an_end() {
        let redact = Redactor::default();
        let mut builder = ListingBuilder::new(&redact);
        // What is kept of it is short, and counts all the same.
        let long = |page: usize| {
            let words = "x".repeat(MAX_LISTED / 4);
            tool(json!({"name": format!("t{page}"), "description": words, "inputSchema": {}}))
        };
        for page in 0..3 {
            builder.add_page(vec![long(page)]);
            assert!(!builder.is_full(), "{page}");
        }
        builder.add_page(vec![long(3), named("behind")]);
        assert!(builder.is_full());
        let listing = builder.finish();
        let names: Vec<_> = listing.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["t0", "t1", "t2"]);
        assert_eq!(listing.problems, ["its tools come to more than 32 MiB; the rest is left out"]);
    }
}
