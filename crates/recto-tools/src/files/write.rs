//! `write_file`: creates or replaces a text file.
//!
//! The content goes to a new file beside the old one, which then takes its
//! name. So a reader, or whoever comes after a crash, finds the old file or the
//! new one and never a part; and a file that has a second name elsewhere keeps
//! its content there.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use recto_context::{Catalog, ItemId, ItemKind, ToolSpec};
use serde_json::json;

use super::guard;
use super::problem::FileProblem;
use super::walk::{LastLink, Place};
use super::{Effect, FileTool, Files};
use crate::arguments::Arguments;
use crate::blocking::Stop;

/// Names tried for a new file before giving up. They are taken only where
/// another process with the same id was killed.
const MAX_DRAFTS: usize = 1_000;

/// Creates or replaces a text file.
pub(super) fn tool(files: Arc<Files>) -> FileTool {
    let spec = ToolSpec::new(
        ItemId::new(ItemKind::Tool, "write_file"),
        "Create or replace a text file in the workspace.",
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"]
        }),
    );
    FileTool { spec, files, effect: Effect::Writes, run: write }
}

fn write(
    files: &Files,
    arguments: &Arguments,
    catalog: &Catalog,
    stop: &Stop,
) -> Result<String, FileProblem> {
    let path = arguments.text("path").unwrap_or_default();
    let content = arguments.text("content").unwrap_or_default();
    let root = files.open()?;
    let place = root.find(path, LastLink::Kept)?;
    let shown = place.path();
    let Some((name, missing)) = place.below.split_last() else {
        return Err(FileProblem::Folder { path: path.to_owned() });
    };
    if path.ends_with('/') {
        return Err(FileProblem::Folder { path: path.to_owned() });
    }
    let names: Vec<OsString> = place.above.iter().chain(&place.below).cloned().collect();
    guard::check(&root, &names, &files.protected, catalog)?;
    let failed = |cause| FileProblem::Io { path: shown.clone(), cause };
    let folder = make_folders(&place, missing).map_err(failed)?;
    let before = present(&folder, name, &shown)?;
    replace(&folder, name, content, before.as_ref(), stop).map_err(failed)?;
    Ok(describe(&shown, content, before.as_ref()))
}

fn describe(path: &str, content: &str, before: Option<&Metadata>) -> String {
    let bytes = content.len();
    match before {
        None => format!("created `{path}` ({bytes} bytes)"),
        Some(before) => {
            format!("replaced `{path}` ({bytes} bytes instead of {})", before.len())
        }
    }
}

/// Makes the folders that are missing on the way. Where another call has just
/// made one, that one is taken; a link in its place is not.
fn make_folders(place: &Place, missing: &[OsString]) -> io::Result<Dir> {
    let mut folder = place.folder.try_clone()?;
    for name in missing {
        match folder.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => folder = folder.open_dir_nofollow(name)?,
        }
    }
    Ok(folder)
}

/// The file that is there now, if it may be replaced.
fn present(folder: &Dir, name: &OsStr, path: &str) -> Result<Option<Metadata>, FileProblem> {
    let path = path.to_owned();
    match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(FileProblem::Io { path, cause }),
        Ok(found) if found.is_symlink() => Err(FileProblem::Link { path }),
        Ok(found) if found.is_dir() => Err(FileProblem::Folder { path }),
        Ok(found) if !found.is_file() => Err(FileProblem::Special { path }),
        // A new file could take its name all the same, but a person said no.
        Ok(found) if found.permissions().readonly() => Err(FileProblem::ReadOnly { path }),
        Ok(found) => Ok(Some(found)),
    }
}

/// Writes a new file and lets it take the name, unless the call was stopped.
fn replace(
    folder: &Dir,
    name: &OsStr,
    content: &str,
    before: Option<&Metadata>,
    stop: &Stop,
) -> io::Result<()> {
    let mut draft = Draft::new(folder)?;
    if let Some(before) = before {
        // While it is still empty, so that nobody reads what they could not read before.
        draft.file.set_permissions(before.permissions())?;
    }
    draft.file.write_all(content.as_bytes())?;
    draft.file.sync_all()?;
    if stop.is_raised() {
        return Ok(());
    }
    draft.take_name(name)
}

/// A new file under a name of its own, removed unless it takes another.
struct Draft<'a> {
    folder: &'a Dir,
    name: String,
    file: File,
    fate: Fate,
}

#[derive(PartialEq, Eq)]
enum Fate {
    Removed,
    Kept,
}

impl<'a> Draft<'a> {
    fn new(folder: &'a Dir) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut result = Err(io::ErrorKind::AlreadyExists.into());
        for _ in 0..MAX_DRAFTS {
            let name = draft_name();
            result = folder.open_with(&name, &options).map(|file| (name, file));
            match &result {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                _ => break,
            }
        }
        result.map(|(name, file)| Draft { folder, name, file, fate: Fate::Removed })
    }

    fn take_name(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.fate = Fate::Kept;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.fate == Fate::Removed {
            // There is nobody to tell, and nothing else to do about it.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// A name that no other draft has. It is not made from the file's own, which
/// may be as long as a name can be.
fn draft_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{DRAFT_START}{}-{number}{DRAFT_END}", std::process::id())
}

/// How the names of drafts begin and end.
const DRAFT_START: &str = ".recto-";
const DRAFT_END: &str = ".tmp";

/// Whether a name is that of a draft: a file on its way, which is no file yet.
pub(super) fn is_draft(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(DRAFT_START) && name.ends_with(DRAFT_END))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::options::ToolOptions;

    use super::*;

    fn write_with(stop: &Stop) -> Vec<(OsString, String)> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "old").unwrap();
        let files = Files::new(ToolOptions::new(folder.path()));
        let arguments = Arguments::parse(r#"{"path": "a", "content": "new"}"#).unwrap();
        write(&files, &arguments, &Catalog::default(), stop).unwrap();
        let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
        let read = |path| fs::read_to_string(path).unwrap();
        entries.map(|entry| (entry.file_name(), read(entry.path()))).collect()
    }

    #[test]
    fn a_call_that_was_stopped_changes_nothing() {
        assert_eq!(write_with(&Stop::raised()), [("a".into(), "old".to_owned())]);
        assert_eq!(write_with(&Stop::default()), [("a".into(), "new".to_owned())]);
    }
}
