//! What is known of a workspace between two calls, and how it is brought up to
//! date, in three steps:
//!
//! 1. [`State::survey`] looks at folders and files and names those to read;
//! 2. whoever holds the state reads them;
//! 3. [`State::settle`] takes in what was read, and gives the snapshot.
//!
//! A stamp is stored only together with what was read under it, so a call that
//! is given up between two steps leaves nothing behind but work to do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use recto_context::ContentHash;

use crate::folder::{Folder, News};
use crate::options::Options;
use crate::place::{self, Place, fixed_places};
use crate::problem::Problem;
use crate::programs::is_on;
use crate::read::{Errand, Outcome, Parsed, Reading, Value};
use crate::skill::Found;
use crate::snapshot::Snapshot;
use crate::stamp::{Kind, Seen, look};

/// The files of a workspace as they were last read, and the snapshot made of them.
#[derive(Debug, Default)]
pub(crate) struct State {
    root: Root,
    /// Those of the workspace are not among them while it is unusable.
    folders: Vec<Folder>,
    slots: Vec<Slot>,
    snapshot: Option<Arc<Snapshot>>,
    /// The snapshot does not show what is known.
    outdated: bool,
}

/// Whether the workspace folder itself can be used.
#[derive(Debug, Default, PartialEq, Eq)]
enum Root {
    #[default]
    Unknown,
    There,
    Unusable(Problem),
}

/// One file and what was last read of it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub place: Place,
    last: Option<Known>,
}

#[derive(Debug)]
struct Known {
    seen: Seen,
    at: SystemTime,
    content: Content,
}

/// What a file holds.
#[derive(Debug)]
pub(crate) enum Content {
    Missing,
    Unusable(Problem),
    Parsed(Parsed),
}

impl State {
    /// The last snapshot, if there is one.
    pub(crate) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.clone()
    }

    /// Looks at the workspace, its folders and its files, and gives the files
    /// that changed or may have.
    pub(crate) fn survey(&mut self, options: &Options) -> Vec<Errand> {
        self.look_at_root(options);
        if self.look_at_folders() == News::Changed {
            self.make_slots(options);
        }
        let path = options.search_path.as_deref();
        self.slots.iter().enumerate().filter_map(|(index, slot)| slot.errand(index, path)).collect()
    }

    /// A workspace that comes or goes takes its folders along; those shared by
    /// all agents stay. New folders are news at the next look.
    fn look_at_root(&mut self, options: &Options) {
        let root = Root::look(&options.workspace);
        if root == self.root {
            return;
        }
        self.root = root;
        let shelves = place::shelves(options, self.workspace(options));
        self.folders = shelves.iter().map(|(path, shelf)| Folder::new(path, *shelf)).collect();
    }

    /// The workspace, if it is there.
    fn workspace<'a>(&self, options: &'a Options) -> Option<&'a Path> {
        (self.root == Root::There).then_some(&*options.workspace)
    }

    /// Lists the folders again that changed or may have.
    fn look_at_folders(&mut self) -> News {
        let news = self.folders.iter_mut().map(Folder::refresh);
        // All of them, also behind one that changed.
        news.fold(News::Same, |all, one| if one == News::Changed { one } else { all })
    }

    /// Takes in what was read, and gives the snapshot: the last one as long as
    /// it shows all that is known.
    pub(crate) fn settle(&mut self, readings: Vec<Reading>, options: &Options) -> Arc<Snapshot> {
        for reading in readings {
            let slot = reading.slot;
            if self.slots[slot].accept(reading) == News::Changed {
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
    fn make_slots(&mut self, options: &Options) {
        let known = std::mem::take(&mut self.slots);
        let mut known: BTreeMap<_, _> =
            known.into_iter().map(|slot| (slot.place, slot.last)).collect();
        let listed = self.folders.iter().flat_map(Folder::places);
        let fixed = self.workspace(options).into_iter().flat_map(fixed_places);
        self.slots = fixed
            .chain(listed)
            .map(|place| Slot { last: known.remove(&place).flatten(), place })
            .collect();
        self.outdated = true;
    }

    fn build(&self, options: &Options) -> Snapshot {
        let folder_problems = self.folders.iter().flat_map(Folder::problems);
        Snapshot::build(
            options,
            &self.slots,
            self.root.problem().into_iter().chain(folder_problems),
        )
    }
}

impl Root {
    fn look(path: &Path) -> Self {
        let what = match look(path) {
            Seen::Present(stamp) if stamp.kind == Kind::Folder => return Root::There,
            Seen::Present(_) => "the workspace is not a folder".to_owned(),
            Seen::Missing => "the workspace does not exist".to_owned(),
            Seen::DeadLink => "the workspace is a link to nothing".to_owned(),
            Seen::Unreachable(failure) => format!("the workspace cannot be read: {failure}"),
        };
        let hint = "run `recto init`, or set the path of the workspace";
        Root::Unusable(Problem::error(&path.into(), what).hint(hint))
    }

    fn problem(&self) -> Option<&Problem> {
        match self {
            Root::Unusable(problem) => Some(problem),
            Root::Unknown | Root::There => None,
        }
    }
}

impl Slot {
    /// What the file holds, once it was read.
    pub(crate) fn content(&self) -> &Content {
        self.last.as_ref().map_or(&Content::Missing, |last| &last.content)
    }

    fn errand(&self, slot: usize, search_path: Option<&OsStr>) -> Option<Errand> {
        let seen = look(&self.place.path);
        let last = self.last.as_ref();
        let installed = last.is_some_and(|last| last.content.lacks_nothing_any_more(search_path));
        let same = last.is_some_and(|last| last.seen == seen && !seen.is_racy(last.at));
        if same && !installed {
            return None;
        }
        // The same bytes mean something else once a program is there.
        let known = last.and_then(|last| last.content.hash()).filter(|_| !installed);
        Some(Errand { slot, place: self.place.clone(), known })
    }

    fn accept(&mut self, reading: Reading) -> News {
        let before = self.last.take().map(|last| last.content);
        let (content, news) = merge(before, reading.outcome);
        self.last = Some(Known { seen: reading.seen, at: reading.at, content });
        news
    }
}

/// The content after a reading, and whether it differs from the one before.
fn merge(before: Option<Content>, outcome: Outcome) -> (Content, News) {
    match (before, outcome) {
        (Some(content), Outcome::Unchanged) => (content, News::Same),
        (None, Outcome::Unchanged | Outcome::Missing) => (Content::Missing, News::Changed),
        (Some(Content::Missing), Outcome::Missing) => (Content::Missing, News::Same),
        (Some(_), Outcome::Missing) => (Content::Missing, News::Changed),
        (Some(Content::Unusable(old)), Outcome::Unusable(new)) if old == new => {
            (Content::Unusable(old), News::Same)
        }
        (_, Outcome::Unusable(problem)) => (Content::Unusable(problem), News::Changed),
        (_, Outcome::Parsed(parsed)) => (Content::Parsed(parsed), News::Changed),
    }
}

impl Content {
    /// Whether the programs have come that a skill was left out for.
    fn lacks_nothing_any_more(&self, search_path: Option<&OsStr>) -> bool {
        match self {
            Content::Parsed(Parsed {
                value: Value::Skill(Found::Lacks { programs, .. }), ..
            }) => programs.iter().all(|program| is_on(search_path, program)),
            _ => false,
        }
    }

    fn hash(&self) -> Option<ContentHash> {
        match self {
            Content::Parsed(parsed) => Some(parsed.hash),
            Content::Missing | Content::Unusable(_) => None,
        }
    }
}
