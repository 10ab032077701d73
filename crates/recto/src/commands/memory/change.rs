//! `recto memory add`, `edit` and `forget`: what a person changes. The files are
//! written by `recto-workspace`, as they are when a model remembers something.

use std::process::ExitCode;

use jiff::Zoned;
use recto_context::{Audience, Marks, Memory, Scope};
use recto_workspace::{MemoryFiles, NewMemory, TextMarks};

use super::{editor, failed};
use crate::failure::Failure;
use crate::input;
use crate::output::{print, tame, tell};

/// Remembers a text.
pub(super) async fn add(
    files: &MemoryFiles,
    text: &str,
    marks: Marks,
    scope: Scope,
) -> Result<ExitCode, Failure> {
    let text = input::message(text)?;
    let marks_in_text = TextMarks::Taken;
    let new = NewMemory { text, scope, marks, marks_in_text, at: Zoned::now() };
    let added = files.add(new).await.map_err(|error| failed(&error))?;
    let place = tame(&added.memory.source.to_string());
    match added.was_there {
        true => tell(&format_args!("it was there already, in {place}")),
        false => tell(&format_args!("remembered in {place}")),
    }
    print_id(&added.memory)?;
    Ok(ExitCode::SUCCESS)
}

/// Gives a memory another text.
pub(super) async fn edit(
    files: &MemoryFiles,
    id: &str,
    text: Option<&str>,
    audience: &Audience,
) -> Result<ExitCode, Failure> {
    let text = match text {
        Some(text) => input::message(text)?,
        None => {
            let old = files.find(id, audience).await.map_err(|error| failed(&error))?;
            match editor::edited(&old.text)? {
                Some(text) => text,
                None => {
                    tell(&"nothing was changed");
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
    };
    let edited = files.edit(id, &text, audience).await.map_err(|error| failed(&error))?;
    tell(&format_args!("changed in {}", tame(&edited.source.to_string())));
    print_id(&edited)?;
    Ok(ExitCode::SUCCESS)
}

/// Takes memories out. What can't be is told, and the others go all the same.
pub(super) async fn forget(
    files: &MemoryFiles,
    ids: &[String],
    audience: &Audience,
) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    for id in ids {
        match files.forget(id, audience).await {
            Ok(forgotten) => {
                tell(&format_args!("it is kept in {}", tame(&forgotten.archive.to_string_lossy())));
                print_id(&forgotten.memory)?;
            }
            Err(error) => {
                tell(&failed(&error));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn print_id(memory: &Memory) -> Result<(), Failure> {
    print(&format!("{}\n", tame(&memory.name)))
}
