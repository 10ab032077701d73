//! A text in a person's own editor.
//!
//! The editor is the one that `VISUAL` or `EDITOR` names; none is guessed. The text
//! lies in a file that only its owner can read, and that is gone afterwards.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use recto_fs::private_options;
use tempfile::TempPath;

use super::program::named_command;
use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::tame;

/// What is edited, in what is told of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftKind<'a> {
    /// What it is, as its file is called.
    pub(crate) name: &'static str,
    /// The folder of the file.
    pub(crate) folder: &'a Path,
    /// What can be done without an editor.
    pub(crate) instead: &'static str,
    /// What holds after an editor that failed.
    pub(crate) unchanged: &'static str,
}

impl DraftKind<'_> {
    /// Lets a person edit a text, and returns what they made of it; `None` where that is the same.
    pub(crate) fn edit(&self, text: &str) -> CliResult<Option<String>> {
        let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
            env::var_os(name).filter(|value| !value.to_string_lossy().trim().is_empty())
        });
        let Some(editor) = editor else {
            let hint = format!("set EDITOR, or {}", self.instead);
            return Err(CliFailure::new("no editor is set").hint(hint));
        };
        let draft = self.write(text).map_err(|error| {
            CliFailure::new("cannot write a file for the editor").because(&error)
        })?;
        self.open(&editor, &draft)?;
        let new = File::open(&draft).and_then(input::read_text).map_err(|error| {
            CliFailure::new("cannot read what the editor has written").because(&error)
        })?;
        let new = new.trim_end().to_owned();
        Ok((new != text.trim_end()).then_some(new))
    }

    /// Puts a text where its writer finds it again: what was typed is not lost because it
    /// could not be used.
    pub(crate) fn keep(&self, text: &str) -> Option<PathBuf> {
        self.write(text).ok()?.keep().ok()
    }

    /// Runs the editor until it ends.
    fn open(&self, editor: &OsString, file: &Path) -> CliResult {
        let shown = tame(&editor.to_string_lossy());
        let status = named_command(editor).and_then(|mut command| command.arg(file).status());
        let status = status.map_err(|error| {
            CliFailure::new(format!("cannot start the editor `{shown}`"))
                .because(&error)
                .hint("VISUAL and EDITOR name it")
        })?;
        match status.success() {
            true => Ok(()),
            false => Err(CliFailure::new(format!("the editor `{shown}` failed: {status}"))
                .hint(self.unchanged)),
        }
    }

    /// A file of this text, gone when nobody needs it any more.
    fn write(&self, text: &str) -> io::Result<TempPath> {
        let prefix = format!("recto-{}-", self.name);
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(&prefix).suffix(".md");
        // Never one that somebody else has put there.
        let create = |path: &Path| private_options().write(true).create_new(true).open(path);
        let draft = builder.make_in(self.folder, create)?;
        writeln!(draft.as_file(), "{text}")?;
        Ok(draft.into_temp_path())
    }
}
