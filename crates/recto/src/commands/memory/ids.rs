//! Which memory an id means, among those of everybody.
//!
//! Whoever sits at the terminal may look into every file, so an id needs nobody's name
//! beside it.

use std::fmt::Write as _;

use recto_context::{Audience, Memory, MemoryScope, TypedMemory, nearest_name};
use recto_workspace::{Horizon, MemoryFiles};

use super::one_line;
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::output::tame;
use crate::setup;

/// The number of digits that leaves no doubt, also where two names begin alike.
const SURE_DIGITS: usize = 16;

/// The mark in the names of files whose ids are too long to be spelled out.
const CUT: &str = "%-";

/// The most memories that are shown of those that an id can mean.
const SHOWN: usize = 10;

/// The memories that can be read, and whether there are others.
pub(super) struct ReadableMemories {
    pub(super) memories: Vec<Memory>,
    /// Whether something is there that can't be read.
    has_gaps: bool,
}

/// Reads all memories in the files of a scope, or in those of everybody.
pub(super) async fn read_memories(
    files: &MemoryFiles,
    settings: &Settings,
    scope: Option<&MemoryScope>,
) -> ReadableMemories {
    let Some(scope) = scope else {
        let found = files.read_everything(&setup::owner(settings)).await;
        return ReadableMemories { memories: found.memories.to_vec(), has_gaps: found.has_gaps };
    };
    let view = files.read(&owner_of(settings, scope), Horizon::All).await;
    let of_scope = view.memories.iter().filter(|memory| memory.scope == *scope);
    ReadableMemories { memories: of_scope.cloned().collect(), has_gaps: view.has_gaps() }
}

/// Reads all that was forgotten, of a scope or of everybody.
pub(super) async fn read_forgotten(
    files: &MemoryFiles,
    scope: Option<&MemoryScope>,
) -> ReadableMemories {
    let found = files.read_forgotten().await;
    let of_scope = |memory: &&Memory| scope.is_none_or(|scope| memory.scope == *scope);
    let memories = found.memories.iter().filter(of_scope).cloned().collect();
    ReadableMemories { memories, has_gaps: found.has_gaps }
}

/// The owner, where memories of this scope can be changed.
pub(super) fn owner_of(settings: &Settings, scope: &MemoryScope) -> Audience {
    let owner = setup::owner(settings);
    match scope {
        MemoryScope::Global => owner,
        MemoryScope::Person(id) => Audience { person: Some(id.clone()), ..owner },
        MemoryScope::Conversation(key) => Audience { conversation: Some(key.clone()), ..owner },
        MemoryScope::Agent(id) => Audience { agent: Some(id.clone()), ..owner },
    }
}

/// Finds the one memory that an id means.
pub(super) fn find_memory<'a>(id: &str, known: &'a ReadableMemories) -> CliResult<&'a Memory> {
    let typed = TypedMemory::new(id);
    match *typed.among(&known.memories) {
        [memory] => Ok(memory),
        [] if typed.is_too_short() => Err(too_short(id)),
        [] => Err(unknown(id, known)),
        ref several => Err(ambiguous(id, several)),
    }
}

fn unknown(id: &str, known: &ReadableMemories) -> CliFailure {
    let typed = TypedMemory::new(id);
    let failure = CliFailure::no_such("memory", id);
    if known.has_gaps {
        failure.hint("not every file of memories can be read: `recto memory check` names them")
    } else if typed.file().is_some_and(|file| file.contains(CUT)) {
        failure.hint(
            "the name of this file does not say whose it is: add --person, --conversation or \
             --agent",
        )
    } else if let Some(nearest) = nearest_to(typed, &known.memories) {
        failure.hint(format!("did you mean `{}`? `recto memory list` shows all", tame(nearest)))
    } else {
        failure.hint("`recto memory list` shows what there is, with `--forgotten` what there was")
    }
}

/// The name that was probably meant: one with the same digits in another file, or with
/// nearly the same. Files say little, because most memories share them.
fn nearest_to<'a>(typed: TypedMemory<'_>, memories: &'a [Memory]) -> Option<&'a str> {
    let digits = |memory: &'a Memory| TypedMemory::new(&memory.name).digits();
    let nearest = nearest_name(typed.digits(), memories.iter().map(digits))?;
    let memory = memories.iter().find(|memory| digits(memory) == nearest)?;
    Some(&memory.name)
}

/// The name of a memory that no other has, whatever its own begins with.
pub(super) fn sure_name(memory: &Memory) -> String {
    let file = TypedMemory::new(&memory.name).file().unwrap_or_default();
    format!("{file}#{:.SURE_DIGITS$}", memory.text.hash().to_string())
}

fn too_short(id: &str) -> CliFailure {
    let what = format!("`{}` is too short for the id of a memory", tame(id));
    let (needed, count) = (TypedMemory::FEWEST_DIGITS, TypedMemory::new(id).digits().len());
    CliFailure::new(what).hint(format!(
        "at least {needed} of the digits behind the `#` are needed, and there are {count}"
    ))
}

fn ambiguous(id: &str, several: &[&Memory]) -> CliFailure {
    let names: Vec<String> =
        several.iter().take(SHOWN).map(|memory| tame(&sure_enough(memory, several))).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut hint = "name one of them:".to_owned();
    for (name, memory) in names.iter().zip(several) {
        // Writing into a string cannot fail.
        let _ = write!(hint, "\n  {name:width$}  {}", tame(&one_line(&memory.text)));
    }
    if several.len() > SHOWN {
        let _ = write!(hint, "\n  and {} more", several.len() - SHOWN);
    }
    CliFailure::new(format!("`{}` can mean {} memories", tame(id), several.len())).hint(hint)
}

/// A memory's name; a longer one where others share it.
fn sure_enough(memory: &Memory, several: &[&Memory]) -> String {
    let shares = several.iter().filter(|other| other.name == memory.name).count() > 1;
    if shares { sure_name(memory) } else { memory.name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memories(texts: &[(&str, &str)]) -> Vec<Memory> {
        texts.iter().map(|(file, text)| Memory::new(file, *text, None)).collect()
    }

    #[test]
    fn a_slip_is_told_by_its_digits() {
        let all = memories(&[("MEMORY.md", "a"), ("people/anna.md", "b")]);
        let (name, digits) = (&*all[1].name, TypedMemory::new(&all[1].name).digits());
        let nearest_to = |id: &str| nearest_to(TypedMemory::new(id), &all).map(str::to_owned);
        let name = Some(name.to_owned());
        assert_eq!(nearest_to(&format!("memory/MEMORY.md#{digits}")), name);
        assert_eq!(nearest_to(&digits.replacen(&digits[2..3], "z", 1)), name);
        for far in ["MEMORY.md#00000000", "MEMORY.md", "MEMORY.md#zz", ""] {
            assert_eq!(nearest_to(far), None, "{far}");
        }
    }
}
