//! `recto memory add`, `edit`, `forget` and `restore`: what a person changes. The files are
//! written by `recto-workspace`, as they are when a model remembers something.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use jiff::Zoned;
use recto_context::{Memory, MemoryMarks, MemoryScope};
use recto_workspace::{MemoryError, MemoryFiles, NewMemory, TextMarks};

use super::ids::{
    ReadableMemories, find_memory, owner_of, read_forgotten, read_memories, sure_name,
};
use crate::cli::MarkArgs;
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::{print, tame, tell};
use crate::terminal::draft::DraftKind;

const UNCHANGED: &str = "nothing was changed";

/// Remembers a text, and prints the id that it got.
pub(super) async fn add(
    files: &MemoryFiles,
    text: &str,
    marks: MemoryMarks,
    scope: MemoryScope,
) -> CliResult {
    let text = input::message(text)?;
    let marks_in_text = TextMarks::Taken;
    let new = NewMemory { text, scope, marks, marks_in_text, at: Zoned::now() };
    let added = files.add(new).await?;
    let place = tame(&added.memory.source.to_string());
    match added.was_there {
        true => tell(&format_args!("it was there already, in {place}")),
        false => tell(&format_args!("remembered in {place}")),
    }
    print_id(&added.memory)
}

/// Gives a memory another text, other marks, or both.
pub(super) async fn edit(
    files: &MemoryFiles,
    settings: &Settings,
    id: &str,
    text: Option<&str>,
    wanted: &MarkArgs,
    scope: Option<&MemoryScope>,
) -> CliResult {
    let known = read_memories(files, settings, scope).await;
    let old = find_memory(id, &known)?;
    let is_typed_here = text.is_none();
    let text = match text {
        Some(text) => Some(input::message(text)?),
        // Whoever only wants other marks is not asked for a text.
        None if wanted.is_some() => None,
        None => match draft_kind(&env::temp_dir()).edit(&old.text)? {
            Some(text) => Some(text),
            None => {
                tell(&UNCHANGED);
                return Ok(());
            }
        },
    };
    let audience = owner_of(settings, &old.scope);
    let marks = wanted.changes();
    let edited = files.edit(&sure_name(old), text.as_deref(), marks, &audience).await;
    let edited = edited.map_err(|error| match error {
        MemoryError::Empty => CliFailure::from(error).hint(format!(
            "`recto memory forget {}` takes it out; flags such as --important change its marks \
             alone",
            tame(&old.name)
        )),
        error => error.into(),
    });
    let edited = edited.inspect_err(|_| {
        let kept = text.as_deref().filter(|_| is_typed_here);
        let kept = kept.and_then(|text| draft_kind(&env::temp_dir()).keep(text));
        if let Some(path) = kept {
            tell(&format_args!("what you wrote is in {}", tame(&path.to_string_lossy())));
        }
    })?;
    if (&edited.text, edited.marks) == (&old.text, old.marks) {
        tell(&UNCHANGED);
    } else {
        tell(&format_args!("changed in {}", tame(&edited.source.to_string())));
    }
    print_id(&edited)
}

/// A memory in a person's editor.
fn draft_kind(folder: &Path) -> DraftKind<'_> {
    DraftKind {
        name: "memory",
        folder,
        instead: "type the new text behind the id",
        unchanged: "the memory is as it was",
    }
}

impl MarkArgs {
    /// Whether a mark is to be set or taken off.
    fn is_some(self) -> bool {
        self.important || self.not_important || self.shared || self.not_shared
    }

    /// The change that turns the marks of a memory into those that are wanted.
    fn changes(self) -> impl Fn(MemoryMarks) -> MemoryMarks {
        move |old| MemoryMarks {
            important: (old.important || self.important) && !self.not_important,
            shared: (old.shared || self.shared) && !self.not_shared,
        }
    }
}

/// Takes memories out. What can't be is told, and the others go all the same.
pub(super) async fn forget(
    files: &MemoryFiles,
    settings: &Settings,
    ids: &[String],
    scope: Option<&MemoryScope>,
) -> CliResult<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let mut known = read_memories(files, settings, scope).await;
    for id in ids {
        match forget_one(files, settings, id, &known).await {
            Ok(memory) => {
                print_id(&memory)?;
                // Whoever names it twice is told that it is gone.
                known.memories.retain(|other| other.name != memory.name);
            }
            Err(failure) => {
                tell(&failure);
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

async fn forget_one(
    files: &MemoryFiles,
    settings: &Settings,
    id: &str,
    known: &ReadableMemories,
) -> CliResult<Memory> {
    let memory = find_memory(id, known)?;
    let audience = owner_of(settings, &memory.scope);
    let forgotten = files.forget(&sure_name(memory), &audience).await?;
    let id = tame(&sure_name(memory));
    tell(&format_args!(
        "forgotten: \"{}\"; `recto memory restore {id}` brings it back from {}",
        tame(&forgotten.memory.text),
        tame(&forgotten.archive.to_string_lossy())
    ));
    Ok(forgotten.memory)
}

/// Brings forgotten memories back. What can't be is told, and the others come all the same.
pub(super) async fn restore(
    files: &MemoryFiles,
    ids: &[String],
    scope: Option<&MemoryScope>,
) -> CliResult<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let forgotten = read_forgotten(files, scope).await;
    for id in ids {
        match restore_one(files, id, &forgotten).await {
            Ok(memory) => print_id(&memory)?,
            Err(failure) => {
                tell(&failure);
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

async fn restore_one(
    files: &MemoryFiles,
    id: &str,
    forgotten: &ReadableMemories,
) -> CliResult<Memory> {
    let memory = find_memory(id, forgotten)?;
    let restored = files.restore(memory).await?.memory;
    tell(&format_args!("it is back in {}", tame(&restored.source.to_string())));
    Ok(restored)
}

fn print_id(memory: &Memory) -> CliResult {
    print(&format!("{}\n", tame(&memory.name)))
}
