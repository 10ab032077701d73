//! A folder whose entries are items, and its listing. The listing is sorted,
//! so that the order in which a directory gives its entries never shows. Files
//! in it are not opened here.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::problem::WorkspaceProblem;
use crate::source_files::{FolderKind, SourceFile};
use crate::stamp::{self, IoFailure, PathKind, PathState, stat_path};

/// A folder and what was last seen of it.
#[derive(Debug)]
pub(crate) struct Folder {
    path: Arc<Path>,
    kind: FolderKind,
    last: Option<FolderScan>,
}

/// What a look at a folder found.
#[derive(Debug)]
struct FolderScan {
    seen: PathState,
    at: SystemTime,
    listing: ItemListing,
}

/// The names of the entries that may be items, and what is wrong with others.
#[derive(Debug, Default, PartialEq, Eq)]
struct ItemListing {
    names: Vec<String>,
    problems: Vec<WorkspaceProblem>,
}

/// Whether a look found something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    Same,
    Changed,
}

impl Folder {
    pub(crate) fn new(path: &Path, kind: FolderKind) -> Self {
        Folder { path: path.into(), kind, last: None }
    }

    /// Lists the folder again, unless it surely is as it was.
    pub(crate) fn refresh(&mut self) -> Refresh {
        let seen = stat_path(&self.path);
        if self.last.as_ref().is_some_and(|last| last.seen == seen && !seen.is_racy(last.at)) {
            return Refresh::Same;
        }
        let at = SystemTime::now();
        let listing = self.list(&seen);
        let outcome = match &self.last {
            Some(last) if last.listing == listing => Refresh::Same,
            _ => Refresh::Changed,
        };
        self.last = Some(FolderScan { seen, at, listing });
        outcome
    }

    /// The files of its items, in order.
    pub(crate) fn files(&self) -> impl Iterator<Item = SourceFile> + '_ {
        let names = self.last.iter().flat_map(|last| &last.listing.names);
        names.flat_map(|name| self.kind.item_files(&self.path, name))
    }

    /// What is wrong with the folder itself.
    pub(crate) fn problems(&self) -> &[WorkspaceProblem] {
        self.last.as_ref().map_or(&[], |last| &last.listing.problems)
    }

    fn list(&self, seen: &PathState) -> ItemListing {
        let mut listing = ItemListing::default();
        let entries = list_folder(&self.path, seen, self.kind.describe()).unwrap_or_else(|what| {
            listing.problems.push(WorkspaceProblem::error(&self.path, what));
            Vec::new()
        });
        for entry in entries.iter().filter(|entry| self.is_candidate(entry)) {
            match entry.file_name().into_string() {
                Ok(name) => listing.names.push(name),
                Err(_) => listing.problems.push(WorkspaceProblem::error(
                    &entry.path().into(),
                    "has a name that is not UTF-8",
                )),
            }
        }
        listing.names.sort_unstable();
        listing.problems.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        listing
    }

    /// Skills and sub-agents are folders; rules and references are Markdown files. What an
    /// editor or a version control hides behind a dot is none of them.
    fn is_candidate(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            return false;
        }
        match self.kind {
            // Links are followed; a broken one is kept, to be reported.
            FolderKind::Skills | FolderKind::SubAgents => {
                fs::metadata(entry.path()).map_or(true, |target| target.is_dir())
            }
            FolderKind::Rules | FolderKind::References => is_markdown(&name),
        }
    }
}

/// The entries of a folder that looked as `seen`, none where there is no such folder,
/// or what is wrong with it; `kind` says what it should hold.
pub(crate) fn list_folder(
    path: &Path,
    seen: &PathState,
    kind: &str,
) -> Result<Vec<DirEntry>, String> {
    match seen.stamp()? {
        None => Ok(Vec::new()),
        Some(stamp) if stamp.kind != PathKind::Folder => Err(format!("is not a folder of {kind}")),
        Some(_) => match fs::read_dir(path).and_then(Iterator::collect) {
            Err(error) if stamp::is_missing(&error) => Ok(Vec::new()),
            all => all.map_err(|e| format!("cannot be listed: {}", IoFailure::from_error(&e))),
        },
    }
}

fn is_markdown(name: &OsStr) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("mdc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_changed_a_moment_ago_is_listed_again() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a.md"), "text").unwrap();
        let mut folder = Folder::new(home.path(), FolderKind::Rules);
        assert_eq!(folder.refresh(), Refresh::Changed);
        assert_eq!(folder.refresh(), Refresh::Same);
        // As if the file had come within the same tick of the clock.
        folder.last.as_mut().unwrap().listing = ItemListing::default();
        assert_eq!(folder.refresh(), Refresh::Changed);
        assert_eq!(folder.files().count(), 1);
    }
}
