//! What a model can load by its name (`read_item`), and what it has loaded.
//!
//! A model may read what the session has, and what comes to it by itself: nothing that a person
//! took out, nothing that only a person brings. Memories are those of the catalog, which holds
//! none that the session may not see. A tool that was asked for is offered from then on; which
//! ones were, the results of the turn say.

use std::collections::HashSet;
use std::fmt;

use crate::catalog::{Catalog, OffReason, Skill, ToolSpec};
use crate::item::{IncludeMode, ItemId, ItemKind, SessionItem};
use crate::item_list::listed_name;
use crate::memory::{Memory, TypedMemory};
use crate::message::{Message, MessageBody, visible_text};
use crate::nearest::nearest_name;
use crate::skill_texts::{READ_ITEM, READ_SKILL};
use crate::text::Text;

/// The items that a model may load in a turn.
#[derive(Debug, Clone, Copy)]
pub struct ReadableItems<'a> {
    /// All that the agent has, with the memories that may be seen.
    pub catalog: &'a Catalog,
    /// What the session has.
    pub session: &'a [SessionItem],
    /// What a person took out of it.
    pub removed: &'a [ItemId],
}

/// An item that a model may load.
#[derive(Debug, Clone)]
pub enum ReadableItem<'a> {
    /// A rule, reference, skill or memory, by its text.
    Text {
        /// The identity of the item.
        item: ItemId,
        /// All of it.
        text: Text,
    },
    /// A tool, which can be called from then on.
    Tool(&'a ToolSpec),
}

/// The reason why an item can't be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadRefusal {
    /// There is none of this name.
    Unknown {
        /// The name that was asked for.
        asked: String,
        /// The nearest one that could be loaded.
        nearest: Option<String>,
    },
    /// Several have this name.
    Several(Vec<String>),
    /// A person took it, or the skill that it comes with, out of the session.
    Removed(ItemId),
    /// Only a person brings it, and nobody did.
    ByHand(ItemId),
    /// It is switched off.
    Off(ItemId, OffReason),
}

impl fmt::Display for ReadRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadRefusal::Unknown { asked, nearest } => {
                write!(f, "there is no item `{asked}`; ")?;
                match nearest {
                    Some(name) => write!(f, "did you mean `{name}`?"),
                    None => f.write_str("use a name from the list"),
                }
            }
            ReadRefusal::Several(names) => {
                write!(f, "several items have this name: {}", names.join(", "))
            }
            ReadRefusal::Removed(item) => write!(f, "{item} was removed from this session"),
            ReadRefusal::ByHand(item) => {
                write!(f, "{item} is only there where a person adds it to the session")
            }
            ReadRefusal::Off(item, why) => write!(f, "{item} is {}", why.describe()),
        }
    }
}

impl<'a> ReadableItems<'a> {
    /// Finds the item of a name, as a list or a person writes it.
    pub fn find(&self, asked: &str) -> Result<ReadableItem<'a>, ReadRefusal> {
        let heads = line_heads(asked);
        let names = [asked.trim(), without_marks(asked)].into_iter().chain(heads.iter().copied());
        let mut found = names.map(|name| self.named(&AskedName::parse(name)));
        let found = found.find(|found| !found.is_empty()).unwrap_or_default();
        let mut refusal = None;
        let mut readable = Vec::new();
        for (item, read) in found {
            match self.check(&item) {
                Ok(()) => readable.push((item, read)),
                Err(why) => refusal = refusal.or(Some(why)),
            }
        }
        match (readable.len(), readable.pop()) {
            (1, Some((_, read))) => Ok(read),
            (_, Some((last, _))) => {
                let names = readable.iter().map(|(item, _)| item).chain([&last]);
                Err(ReadRefusal::Several(names.map(listed_name).collect()))
            }
            (_, None) => Err(refusal.unwrap_or_else(|| {
                // Of a line that was copied, its name was meant and not what it tells.
                let meant = heads.last().copied().unwrap_or_else(|| asked.trim());
                self.refuse_unknown(&AskedName::parse(meant))
            })),
        }
    }

    /// All items that a name can mean, whether they may be loaded or not.
    fn named(&self, name: &AskedName<'_>) -> Vec<(ItemId, ReadableItem<'a>)> {
        let catalog = self.catalog;
        let text = |item: ItemId, text: &Text| {
            (item.clone(), ReadableItem::Text { item, text: text.clone() })
        };
        let documents = catalog.documents().filter(|(id, _)| name.means(id));
        let mut found: Vec<_> = documents.map(|(id, document)| text(id, &document.text)).collect();
        let skills = catalog.skills.iter().map(|skill| (skill_item(skill), skill));
        let skills = skills.filter(|(id, _)| name.means(id));
        found.extend(skills.map(|(id, skill)| text(id, &skill.body)));
        let tools = catalog.all_tools().filter(|tool| name.means_tool(tool));
        found.extend(tools.map(|tool| (tool.id.clone(), ReadableItem::Tool(tool))));
        let memories = name.memories(&catalog.memories).into_iter();
        found.extend(memories.map(|memory| text(memory.id(), &memory.shown())));
        found
    }

    /// Whether an item that is there may be loaded.
    pub fn check(&self, item: &ItemId) -> Result<(), ReadRefusal> {
        let skill = item.server.as_ref().map(|name| ItemId::new(ItemKind::Skill, name.clone()));
        let skill = skill.filter(|_| item.kind == ItemKind::Tool);
        if [Some(item), skill.as_ref()].into_iter().flatten().any(|id| self.removed.contains(id)) {
            return Err(ReadRefusal::Removed(item.clone()));
        }
        let is_here = self.session.iter().any(|here| here.item == *item);
        let include = self.catalog.items().find(|(id, _)| id == item).map(|(_, include)| include);
        match include {
            Some(IncludeMode::Manual) if !is_here => Err(ReadRefusal::ByHand(item.clone())),
            _ => Ok(()),
        }
    }

    fn refuse_unknown(&self, name: &AskedName<'_>) -> ReadRefusal {
        let off = self.catalog.off_tools.iter().find(|off| name.means(&off.item));
        if let Some(off) = off {
            return ReadRefusal::Off(off.item.clone(), off.why);
        }
        let readable = self.catalog.items().map(|(id, _)| id);
        let readable = readable.filter(|id| name.kind.is_none_or(|kind| kind == id.kind));
        let readable: Vec<ItemId> = readable.filter(|id| self.check(id).is_ok()).collect();
        let keys: Vec<String> = readable.iter().map(ItemId::key).collect();
        let nearest = nearest_name(name.bare, keys.iter().map(String::as_str));
        let nearest = nearest.and_then(|near| keys.iter().position(|key| key == near));
        let nearest = nearest.and_then(|at| readable.get(at)).map(listed_name);
        ReadRefusal::Unknown { asked: name.whole.to_owned(), nearest }
    }
}

/// A name by which a model asks for an item: `rule:tone`, `rule tone`, `tone`.
struct AskedName<'a> {
    whole: &'a str,
    kind: Option<ItemKind>,
    bare: &'a str,
}

impl<'a> AskedName<'a> {
    fn parse(asked: &'a str) -> Self {
        let whole = asked;
        let kind_of = |(kind, name): (&str, &'a str)| Some((named_kind(kind)?, name.trim()));
        let parted = whole.split_once(':').and_then(kind_of);
        let parted = parted.or_else(|| whole.split_once(char::is_whitespace).and_then(kind_of));
        match parted {
            Some((kind, bare)) => AskedName { whole, kind: Some(kind), bare },
            None => AskedName { whole, kind: None, bare: whole },
        }
    }

    /// Whether an item other than a memory is meant.
    fn means(&self, id: &ItemId) -> bool {
        let is_kind = self.kind.is_none_or(|kind| kind == id.kind);
        is_kind && (*id.name == *self.bare || id.key() == self.bare)
    }

    /// The same of a tool, which models know by another name, too.
    fn means_tool(&self, tool: &ToolSpec) -> bool {
        let is_called =
            self.kind.is_none_or(|kind| kind == ItemKind::Tool) && *tool.called == *self.bare;
        is_called || self.means(&tool.id)
    }

    fn memories<'m>(&self, memories: &'m [Memory]) -> Vec<&'m Memory> {
        match self.kind {
            None | Some(ItemKind::Memory) => TypedMemory::new(self.bare).among(memories),
            Some(_) => Vec::new(),
        }
    }
}

/// A name without what a model may have copied along with it.
fn without_marks(asked: &str) -> &str {
    asked.trim_matches(|c: char| c.is_whitespace() || "`\"'*@[]:-".contains(c))
}

/// What can be the name in a line of a list that was copied with its description, the longest
/// first: a name may have a colon of its own.
fn line_heads(asked: &str) -> Vec<&str> {
    let line = asked.trim().lines().next().unwrap_or_default();
    let heads = line.rmatch_indices(": ").map(|(end, _)| without_marks(&line[..end]));
    // What stands before the first may be the kind alone.
    heads.filter(|head| !head.is_empty() && named_kind(head).is_none()).collect()
}

fn named_kind(word: &str) -> Option<ItemKind> {
    let word = if word.eq_ignore_ascii_case("ref") { "reference" } else { word };
    ItemKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word))
}

fn skill_item(skill: &Skill) -> ItemId {
    ItemId::new(ItemKind::Skill, skill.name.clone())
}

/// What stands above an item that was loaded, as above one that search brought.
pub fn item_label(item: &ItemId) -> String {
    format!("[{}: {}]", item.kind, item.key())
}

/// An item that a model has loaded, by its kind and its key.
pub type LoadedKey = (ItemKind, String);

/// The item that a message loads: the result of a `read_item` or `read_skill` that found one.
pub fn loaded_item(message: &MessageBody) -> Option<LoadedKey> {
    Some(loaded_text(message)?.0)
}

/// The same, with the text that the model was shown of it.
pub(crate) fn loaded_text(message: &MessageBody) -> Option<(LoadedKey, String)> {
    let MessageBody::Tool { name, content, .. } = message else { return None };
    if ![&READ_ITEM, &READ_SKILL].iter().any(|reader| *name == reader.called) {
        return None;
    }
    let shown = visible_text(content);
    let (label, text) = shown.split_once('\n').unwrap_or((&shown, ""));
    let (kind, key) = label.strip_prefix('[')?.strip_suffix(']')?.split_once(": ")?;
    Some(((named_kind(kind)?, key.to_owned()), text.to_owned()))
}

/// The items that a conversation has loaded. The results say so and not the calls: one that was
/// refused has loaded nothing.
pub(crate) fn loaded_items<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
) -> HashSet<LoadedKey> {
    messages.into_iter().filter_map(|message| loaded_item(&message.body)).collect()
}

/// A skill's name as `read_skill` is given it, without what a list writes in front of it and behind.
pub fn bare_skill_name(asked: &str) -> &str {
    let asked = without_marks(asked);
    let bare = asked.strip_prefix("skill:").unwrap_or(asked);
    bare.trim_start().split(": ").next().map_or(bare, without_marks)
}
