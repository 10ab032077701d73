//! What can be found: the whole text of an item, in the parts that search tells
//! apart.

mod day;

use std::sync::Arc;

use recto_context::{Catalog, CatalogDocument, ItemId, ItemKind, Memory, Skill, Text, ToolSpec};
use serde_json::Value;

/// An item that can be found, as search sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEntry {
    /// The identity of the item.
    pub item: ItemId,
    /// What it is about, in its author's words.
    pub description: Option<Arc<str>>,
    /// Its text: a document's body, a tool's parameters, what is remembered.
    pub text: Text,
    /// The conversation or file in which it stands. Entries of the same thread
    /// that follow each other speak of the same things.
    pub thread: Option<Arc<str>>,
    /// When it was said or noted, as people write days. It is found by these words, but
    /// it is not about them: no vector knows of it.
    pub when: Option<Arc<str>>,
}

impl SearchEntry {
    /// All items of a catalog. Its memories are searched by themselves.
    pub fn from_catalog(catalog: &Catalog) -> Vec<SearchEntry> {
        let rules = catalog.rules.iter().map(|rule| SearchEntry::document(ItemKind::Rule, rule));
        let references = &catalog.references;
        let references = references
            .iter()
            .map(|reference| SearchEntry::document(ItemKind::Reference, reference));
        let skills = catalog.skills.iter().map(SearchEntry::skill);
        let tools = catalog.all_tools().map(SearchEntry::tool);
        rules.chain(references).chain(skills).chain(tools).collect()
    }

    /// A rule or a reference.
    pub fn document(kind: ItemKind, document: &CatalogDocument) -> SearchEntry {
        let item = ItemId::new(kind, document.name.clone());
        SearchEntry::new(item, share_text(&document.description), document.text.clone())
    }

    /// A skill, with the whole of its SKILL.md.
    pub fn skill(skill: &Skill) -> SearchEntry {
        let item = ItemId::new(ItemKind::Skill, skill.name.clone());
        SearchEntry::new(item, share_text(&skill.description), skill.body.clone())
    }

    /// A tool, with the names and descriptions of its parameters.
    pub fn tool(tool: &ToolSpec) -> SearchEntry {
        let server = tool.id.server.as_ref().map(|server| format!("Server: {server}."));
        let parameters = parameters(&tool.parameters).map(|list| format!("Parameters: {list}"));
        let lines: Vec<String> = server.into_iter().chain(parameters).collect();
        SearchEntry::new(tool.id.clone(), tool.description.clone(), lines.join("\n").into())
    }

    /// Something remembered. Only those of a day's notes are a thread: what stands side by
    /// side in other files was put there by chance.
    pub fn memory(memory: &Memory) -> SearchEntry {
        let file = memory.name.rsplit_once('#').map_or(&*memory.name, |(file, _)| file);
        SearchEntry {
            thread: day::is_note(file).then(|| file.into()),
            when: day::spell_day(&memory.lead).or_else(|| day::spell_day(file)),
            ..SearchEntry::new(memory.id(), None, memory.text.clone())
        }
    }

    /// Something that was said in a conversation, perhaps on a known day (`YYYY-MM-DD`).
    /// Messages of a thread are expected in the order in which they were said.
    pub fn message(
        item: ItemId,
        speaker: &str,
        text: &str,
        thread: Arc<str>,
        day: Option<&str>,
    ) -> SearchEntry {
        SearchEntry {
            thread: Some(thread),
            when: day.and_then(day::spell_day),
            ..SearchEntry::new(item, None, format!("{speaker}: {text}").into())
        }
    }

    fn new(item: ItemId, description: Option<Arc<str>>, text: Text) -> SearchEntry {
        SearchEntry { item, description, text, thread: None, when: None }
    }
}

fn share_text(text: &Option<Text>) -> Option<Arc<str>> {
    text.as_deref().map(Arc::from)
}

/// `name: description; name: description`, or nothing where there are none.
fn parameters(schema: &Value) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let line = |(name, property): (&String, &Value)| match property["description"].as_str() {
        Some(description) => format!("{name}: {description}"),
        None => name.clone(),
    };
    let lines: Vec<String> = properties.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_found_by_its_parameters_and_its_server() {
        let schema = json!({"type": "object", "properties": {
            "city": {"type": "string", "description": "Where to look"},
            "days": {"type": "integer"},
        }});
        let tool = ToolSpec::new(ItemId::tool(Some("weather".into()), "forecast"), "", schema);
        let entry = SearchEntry::tool(&tool);
        assert_eq!(entry.description, None);
        assert_eq!(&*entry.text, "Server: weather.\nParameters: city: Where to look; days");
        let bare = ToolSpec::new(ItemId::tool(None, "now"), "The time", json!({"type": "object"}));
        assert_eq!(&*SearchEntry::tool(&bare).text, "");
    }

    #[test]
    fn only_notes_of_a_day_are_a_thread() {
        let thread = |file: &str| {
            SearchEntry::memory(&Memory::new(file, "Buy milk.", None))
                .thread
                .map(|name| name.to_string())
        };
        assert_eq!(thread("2026-03-01.md").as_deref(), Some("2026-03-01.md"));
        for file in ["MEMORY.md", "people/anna.md", "people/2026-03-01.md", "2026-13-01.md", ""] {
            assert_eq!(thread(file), None, "{file}");
        }
    }

    #[test]
    fn a_memory_is_found_by_its_day() {
        let when = |file: &str, day: Option<&str>| {
            let entry = SearchEntry::memory(&Memory::new(file, "Buy milk.", day));
            entry.when.map(|when| when.to_string())
        };
        let expected = Some("1 March 2026, 2026-03-01".to_owned());
        assert_eq!(when("MEMORY.md", Some("2026-03-01")), expected);
        assert_eq!(when("2026-03-01.md", None), expected);
        assert_eq!(when("MEMORY.md", None), None);
    }

    #[test]
    fn a_message_says_who_spoke_and_where() {
        let item = ItemId::new(ItemKind::Memory, "s1/4");
        let entry = SearchEntry::message(
            item.clone(),
            "Anna",
            "Rain again.",
            "s1".into(),
            Some("2026-03-01"),
        );
        let (thread, when) = (Some("s1".into()), Some("1 March 2026, 2026-03-01".into()));
        let text = "Anna: Rain again.".into();
        assert_eq!(entry, SearchEntry { item, description: None, text, thread, when });
    }
}
