//! Texts about skills and other items that are only named, and the tools that load one.

use std::sync::LazyLock;

use serde_json::json;

use crate::catalog::ToolSpec;
use crate::item::{ItemId, ItemKind};
use crate::text::Text;

/// Stands before skills that are shown with their bodies.
pub(crate) static FULL_INTRO: LazyLock<Text> = LazyLock::new(|| {
    Text::from("You have access to the following skills. Use them when relevant.")
});

/// Stands before skills that the model reads when it needs them.
pub(crate) static ON_DEMAND_INTRO: LazyLock<Text> = LazyLock::new(|| {
    Text::from(
        "You have access to the following skills. Use the read_skill tool to load a skill's full \
         documentation when it clearly applies to the user's request.",
    )
});

/// Heads the list of skills behind an introduction.
pub(crate) static LIST_HEADING: LazyLock<Text> =
    LazyLock::new(|| Text::from("## Available skills"));

/// Heads a list of skills of which the model can load one, where nothing said so before.
pub(crate) static READABLE_HEADING: LazyLock<Text> =
    LazyLock::new(|| Text::from("Available skills (read_skill loads one):"));

/// The same, where every item can be loaded in one way.
pub(crate) static READABLE_AS_ITEM_HEADING: LazyLock<Text> =
    LazyLock::new(|| Text::from("Available skills (read_item loads one):"));

/// Heads the list of items that may fit the message.
pub static POSSIBLE_HEADING: LazyLock<Text> =
    LazyLock::new(|| Text::from("May fit (read_item loads one):"));

/// The same with skills among them, where these are read in a way of their own.
pub(crate) static POSSIBLE_SKILLS_HEADING: LazyLock<Text> =
    LazyLock::new(|| Text::from("May fit (read_item loads one, read_skill a skill):"));

/// The tool `read_item`, which is offered first where items are listed that may fit.
pub(crate) static READ_ITEM: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new(
        ItemId::new(ItemKind::Tool, "read_item"),
        "Load an item of a list: all of its text; a tool can be called from then on.",
        json!({
            "type": "object",
            "properties": {
                "item": {
                    "type": "string",
                    "description": "Its name in the list, such as rule:refunds."
                }
            },
            "required": ["item"]
        }),
    )
});

/// The tool `read_skill`, which is offered first where skills are listed that it can load.
pub(crate) static READ_SKILL: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec::new(
        ItemId::new(ItemKind::Tool, "read_skill"),
        "Load the full documentation of a skill before using it.",
        json!({
            "type": "object",
            "properties": {
                "skill_name": {
                    "type": "string",
                    "description": "The name of the skill, as the list of skills has it."
                }
            },
            "required": ["skill_name"]
        }),
    )
});

/// The tools that load what a page only names. They are offered with its lists, and stand in no
/// catalog.
pub fn reading_tools() -> [&'static ToolSpec; 2] {
    [&READ_ITEM, &READ_SKILL]
}
