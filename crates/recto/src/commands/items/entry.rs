//! One item, whatever its kind, and which one a person means.

use std::borrow::Cow;
use std::collections::HashMap;

use recto_agent::name_means_item;
use recto_context::{
    Catalog, CatalogDocument, ContentSource, IncludeMode, ItemId, ItemKind, Priority, Skill,
    TokenCounter, Tokens, ToolSpec,
};
use serde_json::{Value, json};

/// One item in the form that all kinds share, for lists and pages.
pub(in crate::commands) struct ListedItem<'a> {
    pub(in crate::commands) id: ItemId,
    pub(in crate::commands) description: Option<&'a str>,
    /// The mode that holds: a skill's tools come no sooner than the skill.
    pub(in crate::commands) include: IncludeMode,
    pub(in crate::commands) priority: Option<Priority>,
    pub(in crate::commands) tokens: Tokens,
    pub(in crate::commands) text: Cow<'a, str>,
    pub(in crate::commands) source: &'a ContentSource,
    /// The names of the tools that travel with a skill.
    pub(in crate::commands) tools: Vec<&'a str>,
}

impl ListedItem<'_> {
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
pub(in crate::commands) fn list_items(catalog: &Catalog, kind: ItemKind) -> Vec<ListedItem<'_>> {
    match kind {
        ItemKind::Skill => {
            let mut skills: Vec<&Skill> = catalog.skills.iter().collect();
            skills.sort_by(|a, b| a.name.cmp(&b.name));
            skills.into_iter().map(skill_item).collect()
        }
        ItemKind::Rule => catalog.rules.iter().map(|rule| document_item(kind, rule)).collect(),
        ItemKind::Reference => {
            catalog.references.iter().map(|document| document_item(kind, document)).collect()
        }
        ItemKind::Tool => {
            let includes: HashMap<ItemId, IncludeMode> = catalog.items().collect();
            catalog.all_tools().map(|tool| tool_item(tool, &includes)).collect()
        }
        ItemKind::Memory => Vec::new(),
    }
}

fn skill_item(skill: &Skill) -> ListedItem<'_> {
    let counter = TokenCounter::estimated();
    ListedItem {
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

fn document_item(kind: ItemKind, document: &CatalogDocument) -> ListedItem<'_> {
    ListedItem {
        id: ItemId::new(kind, document.name.clone()),
        description: document.description.as_deref(),
        include: document.include,
        priority: Some(document.priority),
        tokens: TokenCounter::estimated().text(&document.text),
        text: Cow::Borrowed(&document.text),
        source: &document.source,
        tools: Vec::new(),
    }
}

/// What a tool says of itself: its description, and the schema of its parameters.
pub(crate) fn tool_text(tool: &ToolSpec) -> String {
    match &tool.description {
        Some(description) => format!("{description}\n\n{:#}", tool.parameters),
        None => format!("{:#}", tool.parameters),
    }
}

/// The entry of a tool, which costs what its schema costs: a model sees no more of it.
fn tool_item<'a>(tool: &'a ToolSpec, includes: &HashMap<ItemId, IncludeMode>) -> ListedItem<'a> {
    ListedItem {
        id: tool.id.clone(),
        description: tool.description.as_deref(),
        include: includes.get(&tool.id).copied().unwrap_or(tool.include),
        priority: None,
        tokens: TokenCounter::estimated().text(&tool.schema),
        text: Cow::Owned(tool_text(tool)),
        source: &tool.source,
        tools: Vec::new(),
    }
}

/// The item that a name means, if it is only one.
pub(in crate::commands) enum ItemMatch<'e, 'a> {
    One(&'e ListedItem<'a>),
    /// Tools of several skills; these names tell them apart.
    Several(Vec<String>),
    None,
}

/// The item of that name, which may have its kind in front: `units`, `rule:units`. A skill's tool
/// can be meant by its own name as long as no other tool has it.
pub(in crate::commands) fn find<'e, 'a>(
    entries: &'e [ListedItem<'a>],
    name: &str,
) -> ItemMatch<'e, 'a> {
    let of_key = entries.iter().filter(|entry| entry.key() == name);
    let of_name = entries.iter().filter(|entry| *entry.id.name == *name);
    let mut found: Vec<&ListedItem<'_>> = of_key.collect();
    if found.is_empty() {
        found = of_name.collect();
    }
    if found.is_empty() {
        found = entries.iter().filter(|entry| name_means_item(name, &entry.id)).collect();
    }
    match found[..] {
        [] => ItemMatch::None,
        [entry] => ItemMatch::One(entry),
        _ => ItemMatch::Several(found.iter().map(|entry| entry.key()).collect()),
    }
}

/// All names that items can be meant by.
pub(in crate::commands) fn names(entries: &[ListedItem<'_>]) -> Vec<String> {
    let both = |entry: &ListedItem<'_>| [entry.id.name.to_string(), entry.key()];
    entries.iter().flat_map(both).collect()
}
