//! `write_file`: creates or replaces a text file.
//!
//! The content goes to a new file beside the old one, which then takes its
//! name. So a reader, or whoever comes after a crash, finds the old file or the
//! new one and never a part; and a file that has a second name elsewhere keeps
//! its content there.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions, Permissions};
use recto_context::{Catalog, ContentHash, ItemId, ItemKind, ToolSpec, byte_words};
use rustix::fs::{Mode, OFlags};
use serde_json::json;
use similar::ChangeTag;

use super::guard;
use super::problem::{FileError, FileResult};
use super::walk::{LastLink, ResolvedPath, WorkspaceRoot};
use super::{FileAccess, FileContext, FileTool};
use crate::action::{ActionFields, DiffNote, FileChange, FileFields};
use crate::arguments::CallArguments;
use crate::blocking::Stop;
use crate::tool::{ApprovalNeed, Consent, ToolAction, ToolClass};

/// Names tried for a new file before giving up. They are taken only where
/// another process with the same id was killed.
const MAX_DRAFTS: usize = 1_000;

/// Makes the tool `write_file`.
pub(super) fn tool(files: Arc<FileAccess>) -> FileTool {
    let spec = ToolSpec::new(
        ItemId::new(ItemKind::Tool, "write_file"),
        "Create or replace a text file in the workspace.",
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"]
        }),
    );
    FileTool { spec, files, class: ToolClass::Writes, describe, run: write }
}

fn write(
    files: &FileAccess,
    arguments: &CallArguments,
    context: &FileContext<'_>,
    stop: &Stop,
) -> FileResult<String> {
    let target = WriteTarget::find(files, arguments, context.catalog)?;
    if target.needs == ApprovalNeed::Person && !matches!(context.consent, Consent::To(_)) {
        return Err(FileError::NeedsApproval { path: target.shown });
    }
    let failed = |cause| FileError::Io { path: target.shown.clone(), cause };
    if !target.missing.is_empty() {
        // What is refused leaves no folders behind.
        target.check(context.consent, None)?;
    }
    let folder = make_folders(&target.resolved, &target.missing).map_err(failed)?;
    let before = present(&folder, &target.name, &target.shown)?;
    target.check(context.consent, before.as_ref().map(|_| &folder))?;
    replace(&folder, &target.name, target.content, before.as_ref(), stop).map_err(failed)?;
    Ok(success_text(&target.shown, target.content, before.as_ref()))
}

/// What a person is shown before a file is written: what would change in it.
fn describe(files: &FileAccess, args: &CallArguments, catalog: &Catalog) -> FileResult<ToolAction> {
    let target = WriteTarget::find(files, args, catalog)?;
    let before = match target.missing.is_empty() {
        true => present(&target.resolved.folder, &target.name, &target.shown)?,
        false => None,
    };
    let old = before.map(|_| target.old_text(&target.resolved.folder)).transpose()?;
    let lines = ShownLines::new(old.as_ref(), target.content);
    let fields = FileFields {
        path: target.shown.clone(),
        change: if old.is_some() { FileChange::Replace } else { FileChange::Create },
        diff: diff(&target.shown, lines.before, target.content),
        diff_note: lines.note,
        bytes_before: old.as_ref().map(|old| old.length),
        bytes_after: target.content.len() as u64,
    };
    Ok(ToolAction::new(ActionFields::File(fields), target.needs, target.hash(old.as_ref())))
}

/// The file that a call would write, and the text for it.
struct WriteTarget<'a> {
    resolved: ResolvedPath,
    /// Folders on the way that are not there yet.
    missing: Vec<OsString>,
    name: OsString,
    shown: String,
    content: &'a str,
    needs: ApprovalNeed,
}

impl<'a> WriteTarget<'a> {
    fn find(files: &FileAccess, args: &'a CallArguments, catalog: &Catalog) -> FileResult<Self> {
        let path = args.text("path").unwrap_or_default();
        let content = args.text("content").unwrap_or_default();
        let root = files.open()?;
        let resolved = root.resolve(path, LastLink::Kept)?;
        let (name, missing) = resolved
            .below
            .split_last()
            .ok_or_else(|| FileError::Folder { path: path.to_owned() })?;
        if path.ends_with('/') {
            return Err(FileError::EndsAsFolder { path: path.to_owned() });
        }
        let names: Vec<OsString> = resolved.above.iter().chain(&resolved.below).cloned().collect();
        let needs = match guard::check_write(&root, &names, &files.protected, catalog) {
            Ok(()) => ApprovalNeed::Leave,
            Err(FileError::NeedsApproval { .. }) => ApprovalNeed::Person,
            Err(problem) => return Err(problem),
        };
        let (name, missing, shown) = (name.clone(), missing.to_vec(), resolved.path());
        Ok(WriteTarget { resolved, missing, name, shown, content, needs })
    }

    /// Whether what is about to happen is what a person said yes to: `folder`
    /// holds the file that is replaced, if there is one.
    fn check(&self, consent: Consent, folder: Option<&Dir>) -> FileResult<()> {
        let Consent::To(hash) = consent else { return Ok(()) };
        let old = folder.map(|folder| self.old_text(folder)).transpose()?;
        match self.hash(old.as_ref()) == hash {
            true => Ok(()),
            false => Err(FileError::Changed { path: self.shown.clone() }),
        }
    }

    /// The hash of all that a person is shown of the call.
    fn hash(&self, old: Option<&OldContent>) -> ContentHash {
        let old = old.map(|old| (ContentHash::of_bytes(&old.bytes).to_string(), old.length));
        ContentHash::of_bytes(json!([self.shown, old, self.content]).to_string().as_bytes())
    }

    fn old_text(&self, folder: &Dir) -> FileResult<OldContent> {
        let failed = |cause| FileError::Io { path: self.shown.clone(), cause };
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = folder.open_with(&self.name, &options).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut bytes = Vec::new();
        // Whether anything would change is known of all of it.
        let most = MOST_COMPARED.max(self.content.len() as u64);
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        Ok(OldContent { bytes, length })
    }
}

/// Longer text is not compared line by line: nobody reads such a diff.
const MOST_COMPARED: u64 = 1024 * 1024;

/// The content of a file before it is replaced.
struct OldContent {
    /// Its first bytes: at least as many as are compared, and as the new content has.
    bytes: Vec<u8>,
    length: u64,
}

/// What a person is shown of a file before it is written.
struct ShownLines<'a> {
    /// The text of which the lines that go are shown.
    before: &'a str,
    /// What the lines don't tell.
    note: Option<DiffNote>,
}

impl<'a> ShownLines<'a> {
    fn new(old: Option<&'a OldContent>, new: &'a str) -> Self {
        let without = |note| ShownLines { before: "", note: Some(note) };
        match old {
            None if new.is_empty() => without(DiffNote::Empty),
            None => ShownLines { before: "", note: None },
            Some(old) if old.is(new) => ShownLines { before: new, note: Some(DiffNote::Unchanged) },
            Some(old) if old.length > MOST_COMPARED => without(DiffNote::TooLong),
            Some(old) => match std::str::from_utf8(&old.bytes) {
                Ok(before) => ShownLines { before, note: None },
                Err(_) => without(DiffNote::NotUtf8),
            },
        }
    }
}

impl OldContent {
    /// Whether the file has just these bytes.
    fn is(&self, new: &str) -> bool {
        self.length == new.len() as u64 && self.bytes == new.as_bytes()
    }
}

/// The most lines of two texts that are compared one by one. Comparing calls itself for each part
/// that it splits off: with many short lines that takes long, and ends at the end of a stack.
const MOST_COMPARED_LINES: usize = 10_000;

/// So long two texts are compared; what is left by then counts as replaced.
const COMPARING_TIME: Duration = Duration::from_secs(1);

/// How many lines that stay are shown around those that change.
const LINES_AROUND: usize = 3;

/// The lines that would change, with a few around them.
fn diff(path: &str, old: &str, new: &str) -> String {
    // A lone carriage return ends no line: behind one, a line could pass for a part of another.
    let [before, after] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let [gone, come] = changed_lines(&before, &after);
    let is_one_sided = gone.is_empty() || come.is_empty();
    if !is_one_sided && gone.len() + come.len() > MOST_COMPARED_LINES {
        let count = |lines: &[&str], text: &str| {
            format!("{} lines ({})", lines.len(), byte_words(text.len() as u64))
        };
        let (from, to) = (count(&before, old), count(&after, new));
        let block = replaced_block(path, [&before, &after], [gone, come]);
        return format!(
            "the change is too large to be compared line by line: {from} would become {to}\n{block}"
        );
    }
    let compared =
        similar::TextDiff::configure().timeout(COMPARING_TIME).diff_slices(&before, &after);
    let mut text = String::new();
    for hunk in compared.unified_diff().context_radius(LINES_AROUND).iter_hunks() {
        text += &format!("{}\n", hunk.header());
        hunk.iter_changes().for_each(|change| push_line(&mut text, change.tag(), change.value()));
    }
    if text.is_empty() { text } else { diff_heading(path) + &text }
}

/// The lines of each text between those that both begin with and those that both end with.
fn changed_lines(before: &[&str], after: &[&str]) -> [Range<usize>; 2] {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let rest = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = rest.take_while(|(old, new)| old == new).count();
    [head..before.len() - tail, head..after.len() - tail]
}

/// A diff that compares nothing: some lines go, and others come in their place.
fn replaced_block(path: &str, texts: [&[&str]; 2], changed: [Range<usize>; 2]) -> String {
    let ([before, after], [gone, come]) = (texts, changed);
    let first = gone.start.saturating_sub(LINES_AROUND);
    let behind = gone.end..(gone.end + LINES_AROUND).min(before.len());
    let (old, new) = (behind.end - first, come.end + behind.len() - first);
    let from = first + 1;
    let mut text = diff_heading(path) + &format!("@@ -{from},{old} +{from},{new} @@\n");
    let parts = [
        (ChangeTag::Equal, &before[first..gone.start]),
        (ChangeTag::Delete, &before[gone]),
        (ChangeTag::Insert, &after[come]),
        (ChangeTag::Equal, &before[behind]),
    ];
    for (tag, lines) in parts {
        lines.iter().for_each(|line| push_line(&mut text, tag, line));
    }
    text
}

fn diff_heading(path: &str) -> String {
    format!("--- {path}\n+++ {path}\n")
}

fn push_line(text: &mut String, tag: ChangeTag, line: &str) {
    let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
    *text += &format!("{tag}{line}{end}");
}

/// What the model is told of a file that was written.
fn success_text(path: &str, content: &str, before: Option<&Metadata>) -> String {
    let bytes = byte_words(content.len() as u64);
    match before {
        None => format!("created `{path}` ({bytes})"),
        Some(before) => {
            format!("replaced `{path}` ({bytes} instead of {})", before.len())
        }
    }
}

/// An empty file that was made, by the folder that it is in. Wherever that folder
/// is moved, and whatever takes its place, it is still the same one.
#[derive(Debug)]
pub(crate) struct CreatedFile {
    folder: Dir,
    name: OsString,
}

impl CreatedFile {
    /// Removes the file if it is still empty.
    pub(crate) fn remove_if_empty(&self) {
        let found = self.folder.symlink_metadata(&self.name);
        if found.is_ok_and(|file| file.is_file() && file.len() == 0) {
            // There is nobody to tell, and an empty file does no harm.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Makes an empty file at a path without links; `None` if there is something
/// already. The way there is gone from folder to folder, so that nobody can put a
/// link into it meanwhile.
pub(crate) fn create_empty(workspace: &Path, path: &Path) -> io::Result<Option<CreatedFile>> {
    let (above, name) = path.parent().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
    let root = WorkspaceRoot::open(workspace).map_err(io::Error::other)?;
    let folder = match above.strip_prefix(root.real_path()) {
        Ok(below) => {
            let names: Vec<OsString> = below.iter().map(OsStr::to_owned).collect();
            root.folder(&names)?
        }
        Err(_) => open_without_links(above)?,
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // As the program itself would make it: nobody else writes it, whatever the umask.
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o644);
    match folder.open_with(name, &options) {
        Ok(_) => Ok(Some(CreatedFile { folder, name: name.to_owned() })),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a folder by its absolute path, none of whose names may be a link.
fn open_without_links(path: &Path) -> io::Result<Dir> {
    // Folders on the way may be ones that one can pass but not list.
    #[cfg(target_os = "linux")]
    const PASS: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const PASS: OFlags = OFlags::RDONLY;
    let flags = PASS.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
    let mut folder = rustix::fs::open("/", flags, Mode::empty())?;
    for component in path.components() {
        folder = match component {
            Component::RootDir => continue,
            Component::Normal(name) => rustix::fs::openat(&folder, name, flags, Mode::empty())?,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
    }
    Ok(Dir::from_std_file(folder.into()))
}

/// Makes the folders that are missing on the way. Where another call has just
/// made one, that one is taken; a link in its place is not.
fn make_folders(resolved: &ResolvedPath, missing: &[OsString]) -> io::Result<Dir> {
    let mut folder = resolved.folder.try_clone()?;
    for name in missing {
        match folder.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => folder = folder.open_dir_nofollow(name)?,
        }
    }
    Ok(folder)
}

/// The file that is there now, if it may be replaced.
fn present(folder: &Dir, name: &OsStr, path: &str) -> FileResult<Option<Metadata>> {
    let path = path.to_owned();
    match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(FileError::Io { path, cause }),
        Ok(found) if found.is_symlink() => Err(FileError::Link { path }),
        Ok(found) if found.is_dir() => Err(FileError::Folder { path }),
        Ok(found) if !found.is_file() => Err(FileError::Special { path }),
        // A new file could take its name all the same, but a person said no.
        Ok(found) if found.permissions().readonly() => Err(FileError::ReadOnly { path }),
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
        draft.file.set_permissions(kept_permissions(before))?;
    }
    draft.file.write_all(content.as_bytes())?;
    draft.file.sync_all()?;
    if stop.is_raised() {
        return Ok(());
    }
    draft.take_name(name)
}

/// The permissions of a file without running as its owner or its group, which was meant for what
/// it was.
fn kept_permissions(before: &Metadata) -> Permissions {
    let permissions = before.permissions();
    #[cfg(unix)]
    let permissions = {
        use cap_std::fs::PermissionsExt as _;
        Permissions::from_mode(permissions.mode() & 0o1777)
    };
    permissions
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
mod tests;
