//! `recto memory list`: what an audience would see, newest first.

use jiff::Zoned;
use recto_agent::{memory_day, memory_json};
use recto_context::{Audience, AudienceKind, ItemId, ItemKind, Memory};
use recto_workspace::{Horizon, MemoryFiles, MemoryView};
use serde_json::Value;

use super::{SHOWN, marks_text, scope_text, who};
use crate::commands::items::usage::UsageTable;
use crate::config::Settings;
use crate::draw::{PageWidth, TextTable};
use crate::failure::CliResult;
use crate::output::{print_list, shown_line};
use crate::setup;

pub(super) async fn run(
    files: &MemoryFiles,
    settings: &Settings,
    audience: &Audience,
    all: bool,
    as_json: bool,
) -> CliResult {
    let horizon = if all { Horizon::All } else { Horizon::Recent(Zoned::now().date()) };
    let view = files.read(audience, horizon).await;
    setup::tell_problems(&view.problems);
    let usage = UsageTable::read(settings).await;
    let json = |memory: &Memory| usage_json(memory, &usage);
    let draw = || table(&view.memories).draw(PageWidth::of_stdout());
    print_list(as_json, "memories", &view.memories, json, draw, &nothing(&view, audience))
}

/// Lists what was forgotten, of everybody.
pub(super) async fn forgotten(
    files: &MemoryFiles,
    settings: &Settings,
    as_json: bool,
) -> CliResult {
    let found = files.read_forgotten().await;
    let usage = UsageTable::read(settings).await;
    let json = |memory: &Memory| usage_json(memory, &usage);
    let draw = || table(&found.memories).draw(PageWidth::of_stdout());
    print_list(as_json, "memories", &found.memories, json, draw, &"nothing was forgotten")
}

/// A memory as JSON, with what was counted of it.
fn usage_json(memory: &Memory, usage: &UsageTable) -> Value {
    let item = ItemId::new(ItemKind::Memory, memory.name.clone());
    usage.extend_json(&item, memory_json(memory))
}

fn table(memories: &[Memory]) -> TextTable {
    let mut table = TextTable::new(["id", "added", "marks", "scope", "text"]);
    for memory in memories {
        table.row([
            memory.name.to_string(),
            memory_day(memory.added),
            marks_text(memory),
            scope_text(&memory.scope),
            shown_line(&memory.text, SHOWN),
        ]);
    }
    table
}

fn nothing(view: &MemoryView, audience: &Audience) -> String {
    match audience.who {
        AudienceKind::Owner if view.has_gaps() => {
            "nothing that is remembered can be read".to_owned()
        }
        AudienceKind::Owner => "nothing is remembered yet; `recto memory add` begins".to_owned(),
        _ => format!("{} sees nothing of what is remembered", who(audience)),
    }
}
