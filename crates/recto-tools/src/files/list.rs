//! `list_files`: what is in a folder.
//!
//! Nearer entries come before deeper ones when there is not room for all, and
//! nothing is left out without saying so. Links are shown, never followed.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use recto_context::{AudienceKind, ItemId, ItemKind, ToolSpec, byte_words};
use serde_json::json;

use super::problem::{FileError, FileResult};
use super::walk::{LastLink, ResolvedPath, WorkspaceRoot, display_path};
use super::write::is_draft;
use super::{FileAccess, FileContext, FileTool, describe_look, is_private, private_places};
use crate::arguments::CallArguments;
use crate::blocking::Stop;
use crate::tool::ToolClass;

/// More would help no model.
const MAX_ENTRIES: usize = 1_000;

/// Folders that could not be listed and are named.
const MAX_UNLISTED: usize = 3;

/// Makes the tool `list_files`.
pub(super) fn tool(files: Arc<FileAccess>) -> FileTool {
    let spec = ToolSpec::new(
        ItemId::new(ItemKind::Tool, "list_files"),
        "List a folder in the workspace.",
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "depth": {"type": "integer", "minimum": 1, "description": "default 1"}
            }
        }),
    );
    FileTool { spec, files, class: ToolClass::Reads, describe: describe_look, run: list }
}

fn list(
    files: &FileAccess,
    arguments: &CallArguments,
    context: &FileContext<'_>,
    stop: &Stop,
) -> FileResult<String> {
    let path = arguments.text("path").unwrap_or_default();
    let depth = arguments.whole_number("depth").unwrap_or(1);
    let root = files.open()?;
    let resolved = root.resolve(path, LastLink::Followed)?;
    if !resolved.below.is_empty() {
        return Err(no_folder(&resolved, path));
    }
    let (room, who, hidden) = (files.room, context.who, hidden_places(&root, context.who));
    let mut listing = FolderListing { room, who, hidden, ..FolderListing::default() };
    let failed = |cause| FileError::Io { path: path.to_owned(), cause };
    listing.add(&resolved.folder, &resolved.above, stop).map_err(failed)?;
    listing.go_deeper(&root, resolved.above.len(), depth, stop);
    Ok(listing.show())
}

fn no_folder(resolved: &ResolvedPath, path: &str) -> FileError {
    let path = path.to_owned();
    match resolved.below.as_slice() {
        [name] if resolved.folder.symlink_metadata(name).is_ok() => FileError::NotFolder { path },
        _ => FileError::Missing { path },
    }
}

/// The places that links in what is remembered lead to, as far as it is not named before these, by
/// their paths from the workspace on.
fn hidden_places(root: &WorkspaceRoot, who: AudienceKind) -> Vec<PathBuf> {
    if who == AudienceKind::Owner {
        return Vec::new();
    }
    let places = private_places(root.real_path()).into_iter();
    let inside = |place: PathBuf| place.strip_prefix(root.real_path()).map(Path::to_owned).ok();
    places.filter_map(inside).collect()
}

/// A listing in the making: the entries found so far, and the room that is left.
#[derive(Debug, Default)]
struct FolderListing {
    /// Each with the names that lead to it, and its line.
    entries: Vec<(Vec<OsString>, String)>,
    /// Folders to be listed, nearest first.
    waiting: VecDeque<Vec<OsString>>,
    /// Folders that could not be listed, and why.
    unlisted: Vec<String>,
    /// Before whom it is made: what they may not see is not named, either.
    who: AudienceKind,
    hidden: Vec<PathBuf>,
    /// Bytes that are left.
    room: usize,
    /// Entries that were seen and not taken.
    left_out: usize,
    /// Folders that were taken, but not what is in them.
    unopened: usize,
}

impl FolderListing {
    /// Adds the entries of a folder, in order of their names.
    fn add(&mut self, folder: &Dir, above: &[OsString], stop: &Stop) -> io::Result<()> {
        let most = MAX_ENTRIES.saturating_sub(self.entries.len());
        // Never more names in memory than can be taken, however full the folder is.
        let mut names = BTreeSet::new();
        for entry in folder.entries()? {
            if stop.is_raised() {
                return Ok(());
            }
            let name = entry?.file_name();
            if is_draft(&name) || is_private(&name, self.who) || self.is_hidden(above, &name) {
                continue;
            }
            names.insert(name);
            if names.len() > most {
                names.pop_last();
                self.left_out += 1;
            }
        }
        names.into_iter().for_each(|name| self.take(folder, above, name));
        Ok(())
    }

    fn is_hidden(&self, above: &[OsString], name: &OsStr) -> bool {
        let is_it = |place: &PathBuf| place.iter().eq(above.iter().map(|it| &**it).chain([name]));
        self.hidden.iter().any(is_it)
    }

    fn take(&mut self, folder: &Dir, above: &[OsString], name: OsString) {
        let found = folder.symlink_metadata(&name);
        let is_folder = found.as_ref().is_ok_and(Metadata::is_dir);
        let names = [above, &[name]].concat();
        let line = describe(folder, &names, found);
        if line.len() >= self.room {
            // Nor does a shorter one slip in behind it.
            self.room = 0;
            self.left_out += 1;
            return;
        }
        self.room -= line.len() + 1;
        if is_folder {
            self.waiting.push_back(names.clone());
        }
        self.entries.push((names, line));
    }

    fn is_full(&self) -> bool {
        self.room == 0 || self.entries.len() >= MAX_ENTRIES
    }

    /// Lists the folders found, those in them, and so on.
    fn go_deeper(&mut self, root: &WorkspaceRoot, start: usize, depth: u64, stop: &Stop) {
        let is_wanted = |names: &Vec<OsString>| ((names.len() - start) as u64) < depth;
        while let Some(names) = self.waiting.pop_front().filter(is_wanted) {
            if stop.is_raised() {
                return;
            }
            if self.is_full() {
                self.unopened = 1 + self.waiting.iter().filter(|names| is_wanted(names)).count();
                return;
            }
            let folder = root.folder(&names);
            if let Err(error) = folder.and_then(|folder| self.add(&folder, &names, stop)) {
                self.unlisted.push(format!("`{}` can't be listed: {error}", display_path(&names)));
            }
        }
    }

    fn show(mut self) -> String {
        self.entries.sort();
        let mut lines: Vec<String> = self.entries.into_iter().map(|(_, line)| line).collect();
        if lines.is_empty() && self.left_out == 0 {
            lines.push("[the folder is empty]".to_owned());
        }
        if self.left_out + self.unopened > 0 {
            lines.push(format!(
                "[{} entries shown; left out: {} more, and what is in {} folders]",
                lines.len(),
                self.left_out,
                self.unopened
            ));
        }
        let more = self.unlisted.len().saturating_sub(MAX_UNLISTED);
        self.unlisted.truncate(MAX_UNLISTED);
        lines.extend(self.unlisted.into_iter().map(|what| format!("[{what}]")));
        lines.extend((more > 0).then(|| format!("[{more} more folders can't be listed]")));
        lines.join("\n")
    }
}

/// An entry's line: its path, and what it is.
fn describe(folder: &Dir, names: &[OsString], found: io::Result<Metadata>) -> String {
    let path = display_path(names);
    match found {
        Ok(found) if found.is_dir() => format!("{path}/"),
        Ok(found) if found.is_symlink() => {
            let target = names.last().and_then(|name| folder.read_link_contents(name).ok());
            format!("{path} -> {}", display_path([&target.unwrap_or_default().into_os_string()]))
        }
        Ok(found) if found.is_file() => format!("{path} ({})", byte_words(found.len())),
        Ok(_) => format!("{path} (not a regular file)"),
        Err(_) => format!("{path} (can't be looked at)"),
    }
}
