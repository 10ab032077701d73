//! A text in a person's own editor.
//!
//! The editor is the one that `VISUAL` or `EDITOR` names; none is guessed. The text
//! lies in a file that only its owner can read, and that is gone afterwards.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use recto_fs::private_options;
use tempfile::TempPath;

use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::tame;

/// Lets a person edit a text, and returns what they made of it; `None` where that is the same.
pub(super) fn edited(text: &str) -> CliResult<Option<String>> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        env::var_os(name).filter(|value| !value.to_string_lossy().trim().is_empty())
    });
    let Some(editor) = editor else {
        return Err(CliFailure::new("no editor is set")
            .hint("set EDITOR, or type the new text behind the id"));
    };
    let draft = draft(text)
        .map_err(|error| CliFailure::new("cannot write a file for the editor").because(&error))?;
    open(&editor, &draft)?;
    let new = File::open(&draft).and_then(input::read_text).map_err(|error| {
        CliFailure::new("cannot read what the editor has written").because(&error)
    })?;
    let new = new.trim_end().to_owned();
    Ok((new != text.trim_end()).then_some(new))
}

/// Puts a text where its writer finds it again: what was typed is not lost because it
/// could not be used.
pub(super) fn keep(text: &str) -> Option<PathBuf> {
    draft(text).ok()?.keep().ok()
}

/// Runs the editor until it ends.
fn open(editor: &OsString, file: &Path) -> CliResult {
    let (program, arguments) = command(editor);
    let shown = tame(&editor.to_string_lossy());
    let status = Command::new(&program).args(&arguments).arg(file).status().map_err(|error| {
        CliFailure::new(format!("cannot start the editor `{shown}`"))
            .because(&error)
            .hint("VISUAL and EDITOR name it")
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(CliFailure::new(format!("the editor `{shown}` failed: {status}"))
            .hint("the memory is as it was")),
    }
}

/// The program and its arguments: `code --wait` has one, `/opt/My Editor/bin` none.
fn command(editor: &OsString) -> (OsString, Vec<OsString>) {
    let whole = || (editor.clone(), Vec::new());
    if Path::new(editor).is_file() {
        return whole();
    }
    let Some(text) = editor.to_str() else { return whole() };
    let mut words = text.split_whitespace().map(OsString::from);
    match words.next() {
        Some(program) => (program, words.collect()),
        None => whole(),
    }
}

/// A file of this text, gone when nobody needs it any more.
fn draft(text: &str) -> io::Result<TempPath> {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("recto-memory-").suffix(".md");
    // Never one that somebody else has put there.
    let draft = builder.make(|path| private_options().write(true).create_new(true).open(path))?;
    writeln!(draft.as_file(), "{text}")?;
    Ok(draft.into_temp_path())
}
