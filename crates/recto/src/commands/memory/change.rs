//! `recto memory add`, `edit`, `forget` and `restore`: what a person changes. The files are
//! written by `recto-workspace`, as they are when a model remembers something.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use jiff::Zoned;
use recto_agent::memory_json;
use recto_context::{Memory, MemoryMarks, MemoryScope};
use recto_workspace::{MemoryError, MemoryFiles, NewMemory, TextMarks};
use serde_json::{Value, json};

use super::ids::{
    ReadableMemories, find_memory, owner_of, read_forgotten, read_memories, sure_name,
};
use crate::cli::MarkArgs;
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::{print, print_as, print_json, tame, tell};
use crate::terminal::draft::DraftKind;

const UNCHANGED: &str = "nothing was changed";

/// Remembers a text, and prints the id that it got.
pub(super) async fn add(
    files: &MemoryFiles,
    text: &str,
    marks: MemoryMarks,
    scope: MemoryScope,
    as_json: bool,
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
    let json = || json!({"memory": memory_json(&added.memory), "was_there": added.was_there});
    print_as(as_json, json, || id_line(&added.memory))
}

/// A memory that is to be changed, and how.
pub(super) struct TypedMemoryEdit<'a> {
    pub(super) id: &'a str,
    /// Without a text and marks, an editor is asked for one.
    pub(super) text: Option<&'a str>,
    pub(super) marks: &'a MarkArgs,
    pub(super) scope: Option<&'a MemoryScope>,
}

/// Gives a memory another text, other marks, or both.
pub(super) async fn edit(
    files: &MemoryFiles,
    settings: &Settings,
    &TypedMemoryEdit { id, text, marks: wanted, scope }: &TypedMemoryEdit<'_>,
    as_json: bool,
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
                return match as_json {
                    true => print_json(&json!({"memory": memory_json(old), "changed": false})),
                    false => Ok(()),
                };
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
    let is_changed = (&edited.text, edited.marks) != (&old.text, old.marks);
    if is_changed {
        tell(&format_args!("changed in {}", tame(&edited.source.to_string())));
    } else {
        tell(&UNCHANGED);
    }
    let json = || json!({"memory": memory_json(&edited), "changed": is_changed});
    print_as(as_json, json, || id_line(&edited))
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
    as_json: bool,
) -> CliResult<ExitCode> {
    let mut done = ChangedMemories::new(as_json);
    let mut known = read_memories(files, settings, scope).await;
    for id in ids {
        let forgotten = forget_one(files, settings, id, &known).await;
        if let Ok(memory) = &forgotten {
            // Whoever names it twice is told that it is gone.
            known.memories.retain(|other| other.name != memory.name);
        }
        done.add(id, forgotten)?;
    }
    done.finish()
}

/// What became of several memories that were to be changed.
struct ChangedMemories {
    as_json: bool,
    memories: Vec<Value>,
    failed: Vec<Value>,
}

impl ChangedMemories {
    fn new(as_json: bool) -> Self {
        ChangedMemories { as_json, memories: Vec::new(), failed: Vec::new() }
    }

    /// Prints the id of a memory at once, or tells why it stays as it is.
    fn add(&mut self, id: &str, changed: CliResult<Memory>) -> CliResult {
        match changed {
            Ok(memory) => {
                self.memories.push(memory_json(&memory));
                if !self.as_json {
                    print(&id_line(&memory))?;
                }
            }
            Err(failure) => {
                self.failed.push(json!({"id": id, "error": failure.fields()}));
                tell(&failure);
            }
        }
        Ok(())
    }

    fn finish(self) -> CliResult<ExitCode> {
        let is_ok = self.failed.is_empty();
        if self.as_json {
            let (memories, failed) = (self.memories, self.failed);
            print_json(&json!({"memories": memories, "failed": failed, "ok": is_ok}))?;
        }
        Ok(if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
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
    as_json: bool,
) -> CliResult<ExitCode> {
    let mut done = ChangedMemories::new(as_json);
    let forgotten = read_forgotten(files, scope).await;
    for id in ids {
        done.add(id, restore_one(files, id, &forgotten).await)?;
    }
    done.finish()
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

fn id_line(memory: &Memory) -> String {
    format!("{}\n", tame(&memory.name))
}
