//! What a person should know of the files of memories: all of them, whoever they
//! belong to. Changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use recto_context::MemoryScope;

use super::cache::read_memories;
use super::compose::LONGEST;
use super::journal::Journal;
use super::layout::{MemoryFile, MemoryLayout, decoded, is_file_name, note_day};
use super::leftover::LEFTOVER;
use super::load::{LoadReach, LoadedContent, load, text};
use super::lock;
use super::open::{LINK, is_link};
use super::parse::{MemoryEntry, read_entries};
use super::secrets::find_secret;
use crate::problem::WorkspaceProblem;
use crate::stamp::{PathState, stat_path};

/// Something about a file of memories that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFinding {
    /// What sort of thing it is.
    pub kind: FindingKind,
    /// Where, and what to do about it.
    pub problem: WorkspaceProblem,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// The file is not used at all.
    Unreadable,
    /// A part of the file is not used, or an entry is longer than `remember` takes.
    TooLarge,
    /// Entries repeat others word by word.
    Repeated,
    /// An entry gives a secret away.
    Secret,
    /// A date that is yet to come.
    Future,
    /// A file that is nobody's memory.
    Nobodys,
    /// A version of a file that was left by a Recto that was killed.
    Leftover,
}

/// A day: clocks differ, and so do time zones.
const TOLERANCE: i64 = 24 * 60 * 60;

/// Looks through all files of memories, and gives what there is to say about them.
pub(crate) fn check(layout: &MemoryLayout) -> Vec<MemoryFinding> {
    let unreadable = |problem| MemoryFinding { kind: FindingKind::Unreadable, problem };
    let mut findings: Vec<MemoryFinding> =
        blocked_files(layout).into_iter().map(unreadable).collect();
    let mut files = Vec::new();
    let memory = layout.memory();
    for name in names(memory, &mut findings) {
        match note_day(&name) {
            _ if name == "MEMORY.md" => files.push(layout.scope_file(&MemoryScope::Global)),
            Some(day) => files.push(layout.note_file(day)),
            None if ["people", "conversations", "archive"].contains(&&*name) => {}
            None => findings.extend(unexpected(&memory.join(name))),
        }
    }
    for (folder, scope) in SCOPED {
        let folder_path = memory.join(folder);
        for name in names(&folder_path, &mut findings) {
            match name.strip_suffix(".md").filter(|id| is_file_name(id)) {
                Some(id) => {
                    let label = format!("{folder}/{name}");
                    let id = decoded(id).unwrap_or_else(|| id.to_owned());
                    files.push(layout.file(label, scope(id.into()), None));
                }
                None => findings.extend(unexpected(&folder_path.join(name))),
            }
        }
    }
    let agents = layout.workspace().join("agents");
    for name in names(&agents, &mut findings) {
        if agents.join(&name).join("memory.md").symlink_metadata().is_ok() {
            let label = format!("agents/{name}/memory.md");
            files.push(layout.file(label, MemoryScope::Agent(name.into()), None));
        }
    }
    let now = Timestamp::now().as_second();
    findings.extend(files.iter().flat_map(|file| check_file(file, now)));
    findings
        .sort_by(|a, b| (&a.problem.path, a.problem.line).cmp(&(&b.problem.path, b.problem.line)));
    findings
}

/// What stands where Recto's own files should, so that nothing can be written.
pub(crate) fn blocked_files(layout: &MemoryLayout) -> Vec<WorkspaceProblem> {
    let files = [lock::path(layout), Journal::in_layout(layout).path().to_owned()];
    let problem = |path: &PathBuf| {
        let what = match stat_path(path) {
            _ if is_link(path) => LINK,
            PathState::Present(stamp) => stamp.kind.why_no_file()?,
            _ => return None,
        };
        let hint = "move it out of the way; until then, nothing can be remembered";
        Some(WorkspaceProblem::error(&path.as_path().into(), what).hint(hint))
    };
    files.iter().filter_map(problem).collect()
}

/// Makes a scope of an id.
type MakeScope = fn(Arc<str>) -> MemoryScope;

/// The folders of those who have a file each.
const SCOPED: [(&str, MakeScope); 2] =
    [("people", MemoryScope::Person), ("conversations", MemoryScope::Conversation)];

/// The names in a folder, if there is one. What cannot be listed is found, too.
fn names(folder: &Path, findings: &mut Vec<MemoryFinding>) -> Vec<String> {
    let mut names = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return names,
        Err(error) => {
            let problem =
                WorkspaceProblem::error(&folder.into(), format!("cannot be listed: {error}"));
            findings.push(MemoryFinding { kind: FindingKind::Unreadable, problem });
            return names;
        }
    };
    for entry in entries.flatten() {
        match entry.file_name().into_string() {
            Ok(name) => names.push(name),
            Err(_) => findings.extend(unexpected(&entry.path())),
        }
    }
    names.sort_unstable();
    names
}

/// What is to be said of a file that has no place here. What is hidden is somebody
/// else's, unless Recto left it.
fn unexpected(path: &Path) -> Option<MemoryFinding> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') {
        let problem =
            WorkspaceProblem::warning(&path.into(), "was left by a Recto that was ended too early")
                .hint("compare it with the file it is named after, and remove it");
        return name
            .contains(LEFTOVER)
            .then_some(MemoryFinding { kind: FindingKind::Leftover, problem });
    }
    let problem = WorkspaceProblem::warning(&path.into(), "is read by nobody")
        .hint("daily notes are named YYYY-MM-DD.md, files of people by their id")
        .left_out();
    Some(MemoryFinding { kind: FindingKind::Nobodys, problem })
}

fn check_file(file: &MemoryFile, now: i64) -> Vec<MemoryFinding> {
    let content = load(&file.path, LoadReach::End).content;
    let entries = match &content {
        LoadedContent::Bytes { bytes, skipped } => {
            let content = text(bytes).unwrap_or_default();
            // Where a part is left out, nobody knows the number of a line.
            let is_whole = *skipped == 0;
            read_entries(content, file.day)
                .into_iter()
                .map(|entry| (is_whole.then_some(entry.line), entry))
                .collect()
        }
        LoadedContent::Missing | LoadedContent::Unusable(_) => Vec::new(),
    };
    let of_entries = entries.iter().flat_map(|(line, entry)| check_entry(file, *line, entry, now));
    read_memories(file, content).findings.into_iter().chain(of_entries).collect()
}

fn check_entry(
    file: &MemoryFile,
    line: Option<usize>,
    entry: &MemoryEntry,
    now: i64,
) -> Vec<MemoryFinding> {
    let mut findings = Vec::new();
    let mut find = |kind, what: String, hint: &str| {
        let problem = WorkspaceProblem::warning(&file.path, what).at_line(line).hint(hint);
        findings.push(MemoryFinding { kind, problem });
    };
    if let Some(secret) = find_secret(&entry.text) {
        let hint = "take it out; models read this, and so does whoever reads the file";
        find(FindingKind::Secret, format!("looks like {}", secret.what), hint);
    }
    if entry.added().is_some_and(|added| added > now + TOLERANCE) {
        let day = entry.day.map_or_else(String::new, |day| format!(", {day},"));
        find(FindingKind::Future, format!("its date{day} is yet to come"), "correct the date");
    }
    let length = entry.text.chars().count();
    if length > LONGEST {
        let what = format!("has {length} characters, which is long for a memory");
        find(FindingKind::TooLarge, what, "write it into a reference");
    }
    findings
}
