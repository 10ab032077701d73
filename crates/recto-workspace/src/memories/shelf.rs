//! What is known of the files of memories between two calls, and how it is brought up
//! to date: only files of the audience are looked at, and only those that changed are
//! read again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::DirEntry;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::ToSpan;
use jiff::civil::Date;
use recto_context::{Audience, ContentHash, Memory, Scope, Source, may_see};

use super::check::{Finding, FindingKind, in_the_way};
use super::layout::{Layout, Place, note_day};
use super::load::{Content, LIMIT, Loaded, Reach, load, text};
use super::parse::{Entry, read_entries};
use crate::folder::{News, list_folder};
use crate::problem::{Problem, Severity};
use crate::stamp::{Seen, look};

/// For how many days a daily note counts as recent.
const RECENT_DAYS: i32 = 30;

/// How many views are kept. Each is for an audience on a day.
const VIEWS: usize = 64;

/// Which daily notes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Horizon {
    /// Those of the 30 days before this day, of this day, and of days to come.
    Recent(Date),
    /// The notes of all days.
    All,
}

/// The memories that an audience may see.
#[derive(Debug, Default)]
pub struct View {
    /// The newest first, undated ones last. Equal texts of one file are there once,
    /// as the newest of them.
    pub memories: Vec<Memory>,
    /// What is wrong with the files, as far as all that is in them is the audience's.
    pub problems: Vec<Problem>,
    /// All entries of all files that were read so far, by whomever, in a fixed order:
    /// what an index should hold.
    pub everything: Arc<[Memory]>,
}

impl View {
    /// Whether something can't be read, so that there may be more than is seen.
    pub fn has_gaps(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }
}

/// The files of memories as they were last read, and the views made of them.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    slots: BTreeMap<Arc<str>, Slot>,
    notes: Notes,
    everything: Arc<[Memory]>,
    /// `everything` does not show what is known.
    outdated: bool,
    /// The number of the last content that was new.
    version: u64,
    views: HashMap<(Audience, Horizon), Kept>,
}

/// A file and what was last read of it.
#[derive(Debug)]
struct Slot {
    place: Place,
    seen: Seen,
    at: SystemTime,
    hash: Option<ContentHash>,
    book: Book,
    version: u64,
}

/// The memories of one file, and what is wrong with it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Book {
    pub memories: Vec<Memory>,
    pub findings: Vec<Finding>,
}

/// The days that have a note.
#[derive(Debug, Default)]
struct Notes {
    last: Option<(Seen, SystemTime)>,
    days: Vec<Date>,
    /// What is wrong with the folder that they are in.
    problems: Vec<Problem>,
    version: u64,
}

#[derive(Debug)]
struct Kept {
    /// The versions of all that it is made of.
    versions: Vec<u64>,
    view: Arc<View>,
}

impl Shelf {
    /// Looks at the files of an audience and reads those that changed or may have.
    pub(crate) fn refresh(
        &mut self,
        layout: &Layout,
        audience: &Audience,
        horizon: Horizon,
    ) -> News {
        let before = self.version;
        self.look_for_notes(layout);
        for place in self.places(layout, audience, horizon) {
            self.look_at(place);
        }
        if self.version == before { News::Same } else { News::Changed }
    }

    /// What an audience may see of what is known: the same as before as long as
    /// nothing is new, neither for it nor for an index.
    pub(crate) fn view(
        &mut self,
        layout: &Layout,
        audience: &Audience,
        horizon: Horizon,
    ) -> Arc<View> {
        if std::mem::take(&mut self.outdated) {
            let all = self.slots.values().flat_map(|slot| &slot.book.memories);
            self.everything = all.cloned().collect();
        }
        let places = self.places(layout, audience, horizon);
        let slots: Vec<&Slot> =
            places.iter().filter_map(|place| self.slots.get(&place.label)).collect();
        let versions: Vec<u64> =
            slots.iter().map(|slot| slot.version).chain([self.notes.version]).collect();
        let key = (audience.clone(), horizon);
        if let Some(kept) = self.views.get(&key)
            && kept.versions == versions
            && Arc::ptr_eq(&kept.view.everything, &self.everything)
        {
            return kept.view.clone();
        }
        let view = Arc::new(self.make_view(&slots, audience));
        if self.views.len() >= VIEWS {
            self.views.clear();
        }
        self.views.insert(key, Kept { versions, view: view.clone() });
        view
    }

    fn make_view(&self, slots: &[&Slot], audience: &Audience) -> View {
        let is_seen = |memory: &&Memory| may_see(audience, &memory.scope, memory.marks.shared);
        let memories = slots.iter().flat_map(|slot| &slot.book.memories).filter(is_seen);
        let mut memories: Vec<Memory> = memories.cloned().collect();
        // Stable: of one moment, the order of the files stays.
        memories.sort_by_key(|memory| Reverse(memory.added));
        // Of files that only have something for it in them, it learns nothing else.
        let is_its_own = |scope: &Scope| may_see(audience, scope, false);
        let of_folder = self.notes.problems.iter().filter(|_| is_its_own(&Scope::Global));
        let own = slots.iter().filter(|slot| is_its_own(&slot.place.scope));
        let of_files = own.flat_map(|slot| &slot.book.findings);
        let of_files = of_files.map(|finding| &finding.problem);
        let problems = of_folder.chain(of_files).cloned().collect();
        View { memories, problems, everything: self.everything.clone() }
    }

    /// The files that an audience may see something of.
    fn places(&self, layout: &Layout, audience: &Audience, horizon: Horizon) -> Vec<Place> {
        let of = |id: &Option<Arc<str>>, scope: fn(Arc<str>) -> Scope| id.clone().map(scope);
        let mut scopes = vec![Scope::Global];
        scopes.extend(of(&audience.person, Scope::Person));
        scopes.extend(of(&audience.conversation, Scope::Conversation));
        scopes.extend(of(&audience.agent, Scope::Agent));
        scopes.retain(|scope| may_see(audience, scope, true));
        let has_notes = scopes.contains(&Scope::Global);
        let mut places: Vec<Place> = scopes.iter().map(|scope| layout.place(scope)).collect();
        if has_notes {
            let days = self.notes.days.iter().rev().filter(|day| horizon.has(**day));
            places.extend(days.map(|day| layout.note(*day)));
        }
        places
    }

    /// Lists the folder again, unless it surely is as it was.
    fn look_for_notes(&mut self, layout: &Layout) {
        let seen = look(layout.memory());
        let is_same = |(last, at): &(Seen, SystemTime)| *last == seen && !seen.is_racy(*at);
        if self.notes.last.as_ref().is_some_and(is_same) {
            return;
        }
        let at = SystemTime::now();
        let (days, problems) = list_notes(layout, &seen);
        self.notes.last = Some((seen, at));
        if days == self.notes.days && problems == self.notes.problems && self.notes.version > 0 {
            return;
        }
        self.version += 1;
        self.notes =
            Notes { days, problems, version: self.version, ..std::mem::take(&mut self.notes) };
        // Notes that are gone are known no longer.
        let days = &self.notes.days;
        let before = self.slots.len();
        self.slots.retain(|_, slot| slot.place.day.is_none_or(|day| days.contains(&day)));
        self.outdated |= self.slots.len() != before;
    }

    /// Reads a file again, unless it surely is as it was.
    fn look_at(&mut self, place: Place) {
        let known = self.slots.get(&place.label);
        let seen = look(&place.path);
        if known.is_some_and(|slot| slot.seen == seen && !seen.is_racy(slot.at)) {
            return;
        }
        let at = SystemTime::now();
        let Loaded { seen, content } = load(&place.path, Reach::End);
        let hash = match &content {
            Content::Bytes { bytes, .. } => Some(ContentHash::of(bytes)),
            Content::Missing | Content::Unusable(_) => None,
        };
        if let Some(slot) = self.slots.get_mut(&place.label) {
            let is_same = hash.is_some() && slot.hash == hash && slot.seen.size() == seen.size();
            let book = if is_same { None } else { Some(read_book(&place, content)) };
            (slot.seen, slot.at, slot.hash) = (seen, at, hash);
            if let Some(book) = book.filter(|book| *book != slot.book) {
                self.version += 1;
                (slot.book, slot.version) = (book, self.version);
                self.outdated = true;
            }
            return;
        }
        self.version += 1;
        self.outdated = true;
        let book = read_book(&place, content);
        let slot = Slot { seen, at, hash, book, version: self.version, place: place.clone() };
        self.slots.insert(place.label, slot);
    }
}

impl Book {
    fn find(&mut self, kind: FindingKind, problem: Problem) {
        self.findings.push(Finding { kind, problem });
    }
}

impl Horizon {
    fn has(self, day: Date) -> bool {
        match self {
            Horizon::Recent(today) => day >= today.saturating_sub(RECENT_DAYS.days()),
            Horizon::All => true,
        }
    }
}

/// The days that have a note, in order, and what is wrong with the folder.
fn list_notes(layout: &Layout, seen: &Seen) -> (Vec<Date>, Vec<Problem>) {
    let folder = layout.memory();
    let entries = match list_folder(folder, seen, "memories") {
        Ok(entries) => entries,
        Err(what) => return (Vec::new(), vec![Problem::error(&folder.into(), what)]),
    };
    let names = entries.iter().map(DirEntry::file_name);
    let mut days: Vec<Date> = names.filter_map(|name| note_day(name.to_str()?)).collect();
    days.sort_unstable();
    (days, in_the_way(layout))
}

/// The memories of a file, the newest first.
pub(crate) fn read_book(place: &Place, content: Content) -> Book {
    let mut book = Book::default();
    let (bytes, skipped) = match content {
        Content::Missing => return book,
        Content::Unusable(what) => {
            book.find(FindingKind::Unreadable, Problem::error(&place.path, what));
            return book;
        }
        Content::Bytes { bytes, skipped } => (bytes, skipped),
    };
    let content = match text(&bytes) {
        Ok(content) => content,
        Err(what) => {
            let hint = "save it as UTF-8; until then, what is in it is not used";
            book.find(FindingKind::Unreadable, Problem::error(&place.path, what).hint(hint));
            return book;
        }
    };
    if skipped > 0 {
        let what = format!(
            "is too large: only the last {} MB are read, and {skipped} bytes before them are not",
            LIMIT >> 20
        );
        let hint = "move what is old to another file";
        book.find(FindingKind::TooLarge, Problem::warning(&place.path, what).hint(hint));
    }
    let mut entries = read_entries(content, place.day);
    let count = entries.len();
    // Cached: to read a time is dearer than to compare it.
    entries.sort_by_cached_key(|entry| Reverse((entry.added(), entry.line)));
    book.memories = memories(place, &entries);
    let doubles = count - book.memories.len();
    if doubles > 0 {
        let what = format!("has {doubles} entries that repeat others word by word");
        let problem = Problem::warning(&place.path, what).hint("they count once");
        book.find(FindingKind::Repeated, problem);
    }
    book
}

/// The memories that entries are, each text once.
fn memories(place: &Place, entries: &[Entry]) -> Vec<Memory> {
    let (mut texts, mut names) = (HashSet::new(), HashSet::new());
    let mut memories = Vec::new();
    for entry in entries {
        let mut memory = memory_of(place, entry);
        if !texts.insert(memory.text.hash()) {
            continue;
        }
        if !names.insert(memory.name.clone()) {
            // Two texts whose hashes begin alike: one of them needs a longer name.
            memory.name = format!("{}#{:.16}", place.label, memory.text.hash().to_string()).into();
        }
        memories.push(memory);
    }
    memories
}

/// The memory that an entry of a file is.
pub(crate) fn memory_of(place: &Place, entry: &Entry) -> Memory {
    let day = entry.day.map(|day| day.to_string());
    Memory {
        scope: place.scope.clone(),
        marks: entry.marks,
        added: entry.added(),
        source: Source::File(place.path.clone()),
        ..Memory::new(&place.label, entry.text.as_str(), day.as_deref())
    }
}
