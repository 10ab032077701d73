//! What items say of themselves, for the record: a turn of last year is shown with the
//! descriptions of last year, also of items that it left out.

use std::collections::HashSet;

use crate::context::RequestContext;
use crate::inputs::AssemblyInputs;
use crate::item::{ItemId, ItemKind};
use crate::page::Part;
use crate::text::{Text, first_chars, one_line};

/// How much of a memory stands behind its name, in characters.
const MEMORY_WORDS: usize = 48;

/// What an item said of itself when a request was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemDescription {
    /// The identity of the item.
    pub item: ItemId,
    /// Its description; of a memory its whole text.
    pub text: Text,
}

impl RequestContext {
    /// What an item said of itself: its description, or of a memory its text. Items that are
    /// neither on the page nor ranked by search have none.
    pub fn description(&self, id: &ItemId) -> Option<&str> {
        let of_tool = || self.tools.iter().find(|tool| tool.spec.id == *id);
        let recorded = self.descriptions.iter().find(|entry| entry.item == *id);
        recorded
            .map(|entry| entry.text.as_str())
            .or_else(|| of_tool().and_then(|tool| tool.spec.description.as_deref()))
            .or_else(|| self.memory_text(id))
            .filter(|text| !text.is_empty())
    }

    /// An item as people call it. The name of a memory says nothing, so its first words stand
    /// behind it.
    pub fn describe_item(&self, id: &ItemId) -> String {
        self.describe_item_within(id, MEMORY_WORDS)
    }

    /// The same with all words of a memory.
    pub fn describe_item_whole(&self, id: &ItemId) -> String {
        self.describe_item_within(id, usize::MAX)
    }

    fn describe_item_within(&self, id: &ItemId, most: usize) -> String {
        let words = self.description(id).filter(|_| id.kind == ItemKind::Memory);
        match words.map(|words| first_chars(&one_line(words), most)) {
            Some(words) => format!("{id}: {words}"),
            None => id.to_string(),
        }
    }

    /// The text of a memory that stands on the page.
    fn memory_text(&self, id: &ItemId) -> Option<&str> {
        let shows = |part: &&Part| part.item.as_ref().is_some_and(|item| item.id == *id);
        let is_memory = id.kind == ItemKind::Memory;
        is_memory.then(|| self.parts.iter().find(shows)).flatten().map(Part::text)
    }
}

/// The descriptions of what is on the page or was ranked, in the order of the catalog. Offered
/// tools have theirs in their schemas, and memories on the page stand there in full.
pub(crate) fn collect_descriptions(
    inputs: &AssemblyInputs<'_>,
    parts: &[Part],
) -> Vec<ItemDescription> {
    let on_page = parts.iter().filter_map(|part| Some(&part.item.as_ref()?.id));
    let on_page = on_page.filter(|id| !matches!(id.kind, ItemKind::Tool | ItemKind::Memory));
    let ranked = inputs.picks.iter().chain(inputs.candidates).map(|pick| &pick.item);
    let ranked = ranked.chain(inputs.alike.iter().map(|alike| &alike.item));
    let wanted: HashSet<&ItemId> = on_page.chain(ranked.clone()).collect();
    let ranks = |kind| ranked.clone().any(|id| id.kind == kind);
    let catalog = inputs.catalog;
    let mut found = Vec::with_capacity(wanted.len());
    let mut add = |item: ItemId, text: Option<Text>| {
        found.extend(text.map(|text| ItemDescription { item, text }));
    };
    for (id, document) in catalog.documents().filter(|(id, _)| wanted.contains(id)) {
        add(id, document.description.clone());
    }
    for skill in &catalog.skills {
        let id = ItemId::new(ItemKind::Skill, skill.name.clone());
        if wanted.contains(&id) {
            add(id, skill.description.clone());
        }
    }
    if ranks(ItemKind::Tool) {
        for tool in catalog.all_tools().filter(|tool| wanted.contains(&tool.id)) {
            add(tool.id.clone(), tool.description.as_deref().map(Text::from));
        }
    }
    if ranks(ItemKind::Memory) {
        for memory in &catalog.memories {
            let id = memory.id();
            if wanted.contains(&id) {
                add(id, Some(memory.shown()));
            }
        }
    }
    found
}
