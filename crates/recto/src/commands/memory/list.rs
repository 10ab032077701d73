//! `recto memory list`: what an audience would see, newest first.

use std::process::ExitCode;

use jiff::Zoned;
use recto_context::{Audience, Who};
use recto_workspace::{Horizon, MemoryFiles, View};

use super::{day, marks_text, memory_json, one_line, scope_text, who};
use crate::commands::items::severity;
use crate::draw::Table;
use crate::failure::Failure;
use crate::output::{print, print_json, tell};

pub(super) async fn run(
    files: &MemoryFiles,
    audience: &Audience,
    all: bool,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let horizon = if all { Horizon::All } else { Horizon::Recent(Zoned::now().date()) };
    let view = files.read(audience, horizon).await;
    for problem in &view.problems {
        tell(&format_args!("{}: {problem}", severity(problem)));
    }
    if as_json {
        print_json(&view.memories.iter().map(memory_json).collect())?;
    } else if view.memories.is_empty() {
        tell(&nothing(&view, audience));
    } else {
        print(&table(&view).to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(view: &View) -> Table {
    let mut table = Table::new(["id", "added", "marks", "scope", "text"]);
    for memory in &view.memories {
        table.row([
            memory.name.to_string(),
            day(memory.added),
            marks_text(memory),
            scope_text(&memory.scope),
            one_line(&memory.text),
        ]);
    }
    table
}

fn nothing(view: &View, audience: &Audience) -> String {
    match audience.who {
        Who::Owner if view.has_gaps() => "nothing that is remembered can be read".to_owned(),
        Who::Owner => "nothing is remembered yet; `recto memory add` begins".to_owned(),
        _ => format!("{} sees nothing of what is remembered", who(audience)),
    }
}
