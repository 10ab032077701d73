//! A text in a person's own editor.
//!
//! The editor is the one that `VISUAL` or `EDITOR` names; none is guessed. The text
//! lies in a file that only its owner can read, and that is gone afterwards.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::input;
use crate::output::tame;

/// What a person made of a text; `None` where that is the same.
pub(super) fn edited(text: &str) -> Result<Option<String>, Failure> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        env::var_os(name).filter(|value| !value.to_string_lossy().trim().is_empty())
    });
    let Some(editor) = editor else {
        return Err(
            Failure::new("no editor is set").hint("set EDITOR, or type the new text behind the id")
        );
    };
    let draft = Draft::new(text)
        .map_err(|error| Failure::new("cannot write a file for the editor").because(&error))?;
    open(&editor, &draft.path)?;
    let read = || input::read_text(File::open(&draft.path)?);
    let new = read()
        .map_err(|error| Failure::new("cannot read what the editor has written").because(&error))?;
    let new = new.trim_end().to_owned();
    Ok((new != text.trim_end()).then_some(new))
}

/// Puts a text where its writer finds it again: what was typed is not lost because it
/// could not be used.
pub(super) fn keep(text: &str) -> Option<PathBuf> {
    let draft = Draft::new(text).ok()?;
    let path = draft.path.clone();
    std::mem::forget(draft);
    Some(path)
}

/// Runs the editor until it ends.
fn open(editor: &OsString, file: &Path) -> Result<(), Failure> {
    let (program, arguments) = command(editor);
    let shown = tame(&editor.to_string_lossy());
    let status = Command::new(&program).args(&arguments).arg(file).status().map_err(|error| {
        Failure::new(format!("cannot start the editor `{shown}`"))
            .because(&error)
            .hint("VISUAL and EDITOR name it")
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("the editor `{shown}` failed: {status}"))
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

/// A file that goes away when nobody needs it any more.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn new(text: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Never one that somebody else has put there.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut number = 0;
        loop {
            let name = format!("recto-memory-{}-{number}.md", std::process::id());
            let path = env::temp_dir().join(name);
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                    number += 1;
                }
                opened => {
                    let mut file = opened?;
                    let draft = Draft { path };
                    file.write_all(text.as_bytes())?;
                    file.write_all(b"\n")?;
                    return Ok(draft);
                }
            }
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // A file in the folder for what is temporary goes away sooner or later.
        let _ = fs::remove_file(&self.path);
    }
}
