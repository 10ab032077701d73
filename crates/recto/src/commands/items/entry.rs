//! One item, whatever its kind, and which one a person means.

use std::borrow::Cow;
use std::collections::HashMap;

use recto_context::{
    Catalog, Counter, Document, Include, ItemId, ItemKind, Priority, Skill, Source, Tokens,
    ToolSpec,
};
use serde_json::{Value, json};

/// One item in the form that all kinds share, for lists and pages.
pub(in crate::commands) struct Entry<'a> {
    pub(in crate::commands) id: ItemId,
    pub(in crate::commands) description: Option<&'a str>,
    /// The mode that holds: a skill's tools come no sooner than the skill.
    pub(in crate::commands) include: Include,
    pub(in crate::commands) priority: Option<Priority>,
    pub(in crate::commands) tokens: Tokens,
    pub(in crate::commands) text: Cow<'a, str>,
    pub(in crate::commands) source: &'a Source,
    /// The names of the tools that travel with a skill.
    pub(in crate::commands) tools: Vec<&'a str>,
}

impl Entry<'_> {
    /// The name in `[items.<kind>.<name>]`: a skill's tool has both names.
    pub(in crate::commands) fn key(&self) -> String {
        self.id.key()
    }

    pub(in crate::commands) fn json(&self) -> Value {
        let mut value = json!({
            "name": &*self.id.name,
            "description": self.description,
            "include": self.include,
            "priority": self.priority,
            "tokens": self.tokens,
            "tools": self.tools,
            "source": self.source.to_string(),
        });
        if self.id.kind == ItemKind::Tool {
            value["server"] = json!(self.id.server);
        }
        value
    }
}

/// All items of a kind: skills, rules and references by name, tools as they are
/// offered. Memories have a command of their own.
pub(in crate::commands) fn all(catalog: &Catalog, kind: ItemKind) -> Vec<Entry<'_>> {
    match kind {
        ItemKind::Skill => {
            let mut skills: Vec<&Skill> = catalog.skills.iter().collect();
            skills.sort_by(|a, b| a.name.cmp(&b.name));
            skills.into_iter().map(of_skill).collect()
        }
        ItemKind::Rule => catalog.rules.iter().map(|rule| of_document(kind, rule)).collect(),
        ItemKind::Reference => {
            catalog.references.iter().map(|document| of_document(kind, document)).collect()
        }
        ItemKind::Tool => {
            let includes: HashMap<ItemId, Include> = catalog.items().collect();
            catalog.all_tools().map(|tool| of_tool(tool, &includes)).collect()
        }
        ItemKind::Memory => Vec::new(),
    }
}

fn of_skill(skill: &Skill) -> Entry<'_> {
    let counter = Counter::estimated();
    Entry {
        id: ItemId::new(ItemKind::Skill, skill.name.clone()),
        description: skill.description.as_deref(),
        include: skill.include,
        priority: None,
        tokens: counter.text(&skill.heading) + counter.text(&skill.body),
        text: Cow::Borrowed(&skill.body),
        source: &skill.source,
        tools: skill.tools.iter().map(|tool| &*tool.id.name).collect(),
    }
}

fn of_document(kind: ItemKind, document: &Document) -> Entry<'_> {
    Entry {
        id: ItemId::new(kind, document.name.clone()),
        description: document.description.as_deref(),
        include: document.include,
        priority: Some(document.priority),
        tokens: Counter::estimated().text(&document.text),
        text: Cow::Borrowed(&document.text),
        source: &document.source,
        tools: Vec::new(),
    }
}

/// The entry of a tool, which costs what its schema costs: a model sees no more of it.
fn of_tool<'a>(tool: &'a ToolSpec, includes: &HashMap<ItemId, Include>) -> Entry<'a> {
    Entry {
        id: tool.id.clone(),
        description: Some(&*tool.description),
        include: includes.get(&tool.id).copied().unwrap_or(tool.include),
        priority: None,
        tokens: Counter::estimated().text(&tool.schema),
        text: Cow::Owned(format!("{}\n\n{:#}", tool.description, tool.parameters)),
        source: &tool.source,
        tools: Vec::new(),
    }
}

/// The item that a name means, if it is only one.
pub(in crate::commands) enum Found<'e, 'a> {
    One(&'e Entry<'a>),
    /// Tools of several skills; these names tell them apart.
    Several(Vec<String>),
    None,
}

/// The item of that name. A skill's tool can be meant by its own name as long as
/// no other tool has it.
pub(in crate::commands) fn find<'e, 'a>(entries: &'e [Entry<'a>], name: &str) -> Found<'e, 'a> {
    let of_key = entries.iter().filter(|entry| entry.key() == name);
    let of_name = entries.iter().filter(|entry| *entry.id.name == *name);
    let mut found: Vec<&Entry<'_>> = of_key.collect();
    if found.is_empty() {
        found = of_name.collect();
    }
    match found[..] {
        [] => Found::None,
        [entry] => Found::One(entry),
        _ => Found::Several(found.iter().map(|entry| entry.key()).collect()),
    }
}

/// All names that items can be meant by.
pub(in crate::commands) fn names(entries: &[Entry<'_>]) -> Vec<String> {
    let both = |entry: &Entry<'_>| [entry.id.name.to_string(), entry.key()];
    entries.iter().flat_map(both).collect()
}
