//! What is known of a workspace between two calls, and how it is brought up to
//! date, in three steps:
//!
//! 1. [`WorkspaceState::survey`] looks at folders and files and names those to read;
//! 2. whoever holds the state reads them;
//! 3. [`WorkspaceState::settle`] takes in what was read, and gives the snapshot.
//!
//! A stamp is stored only together with what was read under it, so a call that
//! is given up between two steps leaves nothing behind but work to do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use recto_context::{ContentHash, Remedy};

use crate::folder::{Folder, Refresh};
use crate::options::WorkspaceOptions;
use crate::problem::WorkspaceProblem;
use crate::programs::is_on_path;
use crate::read::{ParsedFile, ParsedValue, ReadJob, ReadOutcome, ReadResult};
use crate::skill::ParsedSkill;
use crate::snapshot::WorkspaceSnapshot;
use crate::source_files::{self, SourceFile, fixed_files, project_file};
use crate::stamp::{PathKind, PathState, stat_path};

/// The files of a workspace as they were last read, and the snapshot made of them.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceState {
    root: RootStatus,
    /// Those of the workspace are not among them while it is unusable.
    folders: Vec<Folder>,
    slots: Vec<FileSlot>,
    snapshot: Option<Arc<WorkspaceSnapshot>>,
    /// The options that the snapshot was made with.
    made_with: Option<Arc<WorkspaceOptions>>,
    /// The snapshot does not show what is known.
    outdated: bool,
    /// The number of the last look that came to its end.
    last_look: u64,
}

/// Whether the workspace folder itself can be used.
#[derive(Debug, Default, PartialEq, Eq)]
enum RootStatus {
    #[default]
    Unknown,
    There,
    Unusable(WorkspaceProblem),
}

/// One file and what was last read of it.
#[derive(Debug)]
pub(crate) struct FileSlot {
    pub file: SourceFile,
    last: Option<LastRead>,
}

#[derive(Debug)]
struct LastRead {
    seen: PathState,
    at: SystemTime,
    content: SlotContent,
}

/// What a file holds.
#[derive(Debug)]
pub(crate) enum SlotContent {
    Missing,
    Unusable(WorkspaceProblem),
    Parsed(ParsedFile),
}

impl WorkspaceState {
    /// Whether the files were read once.
    pub(crate) fn has_read(&self) -> bool {
        self.snapshot.is_some()
    }

    /// The number of the last look whose results are known.
    pub(crate) fn last_look(&self) -> u64 {
        self.last_look
    }

    /// Notes that all is read that a look found.
    pub(crate) fn finish_look(&mut self, number: u64) {
        self.last_look = number;
    }

    /// The file at a path, if it is one of those that are read.
    pub(crate) fn source_file(&self, path: &Path) -> Option<SourceFile> {
        self.slots.iter().map(|slot| &slot.file).find(|file| *file.path == *path).cloned()
    }

    /// Looks at the workspace, its folders and its files, and gives the files
    /// that changed or may have.
    pub(crate) fn survey(&mut self, options: &WorkspaceOptions) -> Vec<ReadJob> {
        self.look_at_root(options);
        if self.look_at_folders() == Refresh::Changed {
            self.make_slots(options);
        }
        let path = options.search_path.as_deref();
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(index, slot)| slot.read_job(index, path))
            .collect()
    }

    /// A workspace that comes or goes takes its folders along; those shared by
    /// all agents stay. New folders are news at the next look.
    fn look_at_root(&mut self, options: &WorkspaceOptions) {
        let root = RootStatus::from_path(&options.workspace);
        if root == self.root {
            return;
        }
        self.root = root;
        let folders = source_files::item_folders(options, self.workspace(options));
        self.folders = folders.iter().map(|(path, kind)| Folder::new(path, *kind)).collect();
    }

    /// The workspace, if it is there.
    fn workspace<'a>(&self, options: &'a WorkspaceOptions) -> Option<&'a Path> {
        (self.root == RootStatus::There).then_some(&*options.workspace)
    }

    /// Lists the folders again that changed or may have.
    fn look_at_folders(&mut self) -> Refresh {
        let outcome = self.folders.iter_mut().map(Folder::refresh);
        // All of them, also behind one that changed.
        outcome.fold(Refresh::Same, |all, one| if one == Refresh::Changed { one } else { all })
    }

    /// Takes in what was read, and gives the snapshot: the last one as long as
    /// it shows all that is known, with these options.
    pub(crate) fn settle(
        &mut self,
        results: Vec<ReadResult>,
        options: &Arc<WorkspaceOptions>,
    ) -> Arc<WorkspaceSnapshot> {
        if !self.made_with.as_ref().is_some_and(|known| Arc::ptr_eq(known, options)) {
            self.made_with = Some(options.clone());
            self.outdated = true;
        }
        for result in results {
            let slot = result.slot;
            if self.slots[slot].accept(result) == Refresh::Changed {
                self.outdated = true;
            }
        }
        let snapshot = match self.snapshot.take() {
            Some(snapshot) if !self.outdated => snapshot,
            _ => Arc::new(self.build(options)),
        };
        self.outdated = false;
        self.snapshot.insert(snapshot).clone()
    }

    /// Makes a slot for every file; what is known of one stays known.
    fn make_slots(&mut self, options: &WorkspaceOptions) {
        let known = std::mem::take(&mut self.slots);
        let mut known: BTreeMap<_, _> =
            known.into_iter().map(|slot| (slot.file, slot.last)).collect();
        let listed = self.folders.iter().flat_map(Folder::files);
        let fixed = self.workspace(options).into_iter().flat_map(fixed_files);
        let of_project = options.project.as_deref().map(project_file);
        self.slots = fixed
            .chain(of_project)
            .chain(listed)
            .map(|file| FileSlot { last: known.remove(&file).flatten(), file })
            .collect();
        self.outdated = true;
    }

    fn build(&self, options: &WorkspaceOptions) -> WorkspaceSnapshot {
        let of_folders = self.folders.iter().flat_map(Folder::problems);
        let problems = self.root.problem().into_iter().chain(of_folders);
        WorkspaceSnapshot::build(options, &self.slots, problems)
    }
}

impl RootStatus {
    fn from_path(path: &Path) -> Self {
        let what = match stat_path(path) {
            PathState::Present(stamp) if stamp.kind == PathKind::Folder => {
                return RootStatus::There;
            }
            PathState::Present(_) => "the workspace is not a folder".to_owned(),
            PathState::Missing => "the workspace does not exist".to_owned(),
            PathState::DeadLink => "the workspace is a link to nothing".to_owned(),
            PathState::Unreachable(failure) => format!("the workspace cannot be read: {failure}"),
        };
        let problem = WorkspaceProblem::error(&path.into(), what)
            .hint("make a workspace, or set the path of one")
            .with_remedy(Remedy::InitWorkspace);
        RootStatus::Unusable(problem)
    }

    fn problem(&self) -> Option<&WorkspaceProblem> {
        match self {
            RootStatus::Unusable(problem) => Some(problem),
            RootStatus::Unknown | RootStatus::There => None,
        }
    }
}

impl FileSlot {
    /// What the file holds, once it was read.
    pub(crate) fn content(&self) -> &SlotContent {
        self.last.as_ref().map_or(&SlotContent::Missing, |last| &last.content)
    }

    fn read_job(&self, slot: usize, search_path: Option<&OsStr>) -> Option<ReadJob> {
        let seen = stat_path(&self.file.path);
        let last = self.last.as_ref();
        let installed = last.is_some_and(|last| last.content.lacks_nothing_any_more(search_path));
        let same = last.is_some_and(|last| last.seen == seen && !seen.is_racy(last.at));
        if same && !installed {
            return None;
        }
        // The same bytes mean something else once a program is there.
        let known = last.and_then(|last| last.content.hash()).filter(|_| !installed);
        Some(ReadJob { slot, file: self.file.clone(), known })
    }

    fn accept(&mut self, result: ReadResult) -> Refresh {
        let before = self.last.take().map(|last| last.content);
        let (content, outcome) = merge(before, result.outcome);
        self.last = Some(LastRead { seen: result.seen, at: result.at, content });
        outcome
    }
}

/// The content after a reading, and whether it differs from the one before.
fn merge(before: Option<SlotContent>, outcome: ReadOutcome) -> (SlotContent, Refresh) {
    match (before, outcome) {
        (Some(content), ReadOutcome::Unchanged) => (content, Refresh::Same),
        (None, ReadOutcome::Unchanged | ReadOutcome::Missing) => {
            (SlotContent::Missing, Refresh::Changed)
        }
        (Some(SlotContent::Missing), ReadOutcome::Missing) => (SlotContent::Missing, Refresh::Same),
        (Some(_), ReadOutcome::Missing) => (SlotContent::Missing, Refresh::Changed),
        (Some(SlotContent::Unusable(old)), ReadOutcome::Unusable(new)) if old == new => {
            (SlotContent::Unusable(old), Refresh::Same)
        }
        (_, ReadOutcome::Unusable(problem)) => (SlotContent::Unusable(problem), Refresh::Changed),
        (_, ReadOutcome::Parsed(parsed)) => (SlotContent::Parsed(parsed), Refresh::Changed),
    }
}

impl SlotContent {
    /// Whether the programs have come that a skill was left out for.
    fn lacks_nothing_any_more(&self, search_path: Option<&OsStr>) -> bool {
        match self {
            SlotContent::Parsed(ParsedFile {
                value: ParsedValue::Skill(ParsedSkill::Lacks { programs, .. }),
                ..
            }) => programs.iter().all(|program| is_on_path(search_path, program)),
            _ => false,
        }
    }

    fn hash(&self) -> Option<ContentHash> {
        match self {
            SlotContent::Parsed(parsed) => Some(parsed.hash),
            SlotContent::Missing | SlotContent::Unusable(_) => None,
        }
    }
}
