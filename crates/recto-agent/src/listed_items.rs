//! Items of a catalog in the form that all kinds share, for lists of them.

use std::borrow::Cow;
use std::collections::HashMap;

use recto_context::{
    Catalog, CatalogDocument, ContentSource, IncludeMode, ItemId, ItemKind, Priority, Skill,
    TokenCounter, Tokens, ToolSpec,
};
use serde_json::{Value, json};

/// One item in the form that all kinds share, for lists and pages.
pub struct ListedItem<'a> {
    /// The identity of the item.
    pub id: ItemId,
    /// What it says of itself.
    pub description: Option<&'a str>,
    /// The mode that holds: a skill's tools come no sooner than the skill.
    pub include: IncludeMode,
    /// Its place among others, for rules and references.
    pub priority: Option<Priority>,
    /// What it costs on the page, as estimated.
    pub tokens: Tokens,
    /// All that a model reads of it.
    pub text: Cow<'a, str>,
    /// Where it comes from.
    pub source: &'a ContentSource,
    /// The names of the tools that travel with a skill.
    pub tools: Vec<&'a str>,
}

impl ListedItem<'_> {
    /// The name in `[items.<kind>.<name>]`: a skill's tool has both names.
    pub fn key(&self) -> String {
        self.id.key()
    }

    /// The item as data for programs.
    pub fn json(&self) -> Value {
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
pub fn list_items(catalog: &Catalog, kind: ItemKind) -> Vec<ListedItem<'_>> {
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
    ListedItem {
        id: ItemId::new(ItemKind::Skill, skill.name.clone()),
        description: skill.description.as_deref(),
        include: skill.include,
        priority: None,
        tokens: TokenCounter::estimated().skill(skill),
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
        tokens: TokenCounter::estimated().document(kind, document),
        text: Cow::Borrowed(&document.text),
        source: &document.source,
        tools: Vec::new(),
    }
}

/// What a tool says of itself: its description, and the schema of its parameters.
pub fn tool_text(tool: &ToolSpec) -> String {
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
        tokens: TokenCounter::estimated().tool_beside_others(tool),
        text: Cow::Owned(tool_text(tool)),
        source: &tool.source,
        tools: Vec::new(),
    }
}
