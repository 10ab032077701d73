//! What is known of the files of memories between two calls, and how it is brought up
//! to date: only files of the audience are looked at, and only those that changed are
//! read again.
//!
//! Looks that are wanted while another one is under way are taken together, on one thread: each is a
//! few calls of the system, and less work than the way to a thread of its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::DirEntry;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::ToSpan;
use jiff::civil::Date;
use parking_lot::Mutex;
use recto_context::{Audience, ContentHash, ContentSource, Memory, MemoryScope, may_see};
use recto_fs::blocking;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::check::{FindingKind, MemoryFinding, blocked_files};
use super::layout::{MemoryFile, MemoryLayout, note_day};
use super::load::{LIMIT, LoadReach, LoadedContent, LoadedFile, load, text};
use super::parse::{MemoryEntry, read_entries};
use crate::folder::{Refresh, list_folder};
use crate::problem::{Severity, WorkspaceProblem};
use crate::stamp::{PathState, stat_path};

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
pub struct MemoryView {
    /// The newest first, undated ones last. Equal texts of one file are there once,
    /// as the newest of them.
    pub memories: Vec<Memory>,
    /// What is wrong with the files, as far as all that is in them is the audience's.
    pub problems: Vec<WorkspaceProblem>,
    /// All entries of all files that were read so far, by whomever, in a fixed order:
    /// what an index should hold.
    pub everything: Arc<[Memory]>,
}

impl MemoryView {
    /// Whether something can't be read, so that there may be more than is seen.
    pub fn has_gaps(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }
}

/// The files of memories as they were last read, and the views made of them.
#[derive(Debug, Default)]
pub(crate) struct MemoryCache {
    slots: BTreeMap<Arc<str>, CachedFile>,
    notes: NoteIndex,
    everything: Arc<[Memory]>,
    /// `everything` does not show what is known.
    outdated: bool,
    /// The number of the last content that was new.
    version: u64,
    views: HashMap<(Audience, Horizon), CachedView>,
}

/// A file and what was last read of it.
#[derive(Debug)]
struct CachedFile {
    file: MemoryFile,
    seen: PathState,
    at: SystemTime,
    hash: Option<ContentHash>,
    parsed: FileMemories,
    version: u64,
}

/// The memories of one file, and what is wrong with it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct FileMemories {
    pub memories: Vec<Memory>,
    pub findings: Vec<MemoryFinding>,
}

/// The days that have a note.
#[derive(Debug, Default)]
struct NoteIndex {
    last: Option<(PathState, SystemTime)>,
    days: Vec<Date>,
    /// What is wrong with the folder that they are in.
    problems: Vec<WorkspaceProblem>,
    version: u64,
}

#[derive(Debug)]
struct CachedView {
    /// The versions of all that it is made of.
    versions: Vec<u64>,
    view: Arc<MemoryView>,
}

/// What is known of the files, and who waits for a look at them.
#[derive(Debug, Default)]
pub(crate) struct SharedCache {
    cache: Mutex<MemoryCache>,
    /// The looks that nobody has begun. The first of them has called a thread for all.
    wanted: Mutex<Vec<WantedLook>>,
}

/// A look at the files of an audience, and who waits for it.
#[derive(Debug)]
struct WantedLook {
    audience: Audience,
    horizon: Horizon,
    reply: oneshot::Sender<LookOutcome>,
}

/// Whether something was new, and what the audience sees now.
type LookOutcome = (Refresh, Arc<MemoryView>);

impl SharedCache {
    /// Looks at the files of an audience, and gives what it may see.
    ///
    /// Must be called within a tokio runtime.
    pub(crate) async fn look(
        shared: &Arc<Self>,
        layout: &MemoryLayout,
        audience: &Audience,
        horizon: Horizon,
    ) -> LookOutcome {
        let (reply, outcome) = oneshot::channel();
        let look = WantedLook { audience: audience.clone(), horizon, reply };
        let is_first = {
            let mut wanted = shared.wanted.lock();
            wanted.push(look);
            wanted.len() == 1
        };
        if is_first {
            let looker = Looker { shared: shared.clone(), has_begun: false };
            let layout = layout.clone();
            // Nobody waits for it here: who gives up must not take it from the others.
            spawn_blocking(move || looker.look_for_all(&layout));
        }
        match outcome.await {
            Ok(outcome) => outcome,
            // One of them panicked, or the runtime is ending.
            Err(_) => {
                let (shared, layout) = (shared.clone(), layout.clone());
                let audience = audience.clone();
                blocking(move || shared.cache.lock().look(&layout, &audience, horizon)).await
            }
        }
    }
}

/// The thread that was called for all who wait for a look.
struct Looker {
    shared: Arc<SharedCache>,
    has_begun: bool,
}

impl Looker {
    fn look_for_all(mut self, layout: &MemoryLayout) {
        // In this order: whoever comes while this waits is looked for, too.
        let shared = self.shared.clone();
        let mut cache = shared.cache.lock();
        let wanted = std::mem::take(&mut *shared.wanted.lock());
        self.has_begun = true;
        for WantedLook { audience, horizon, reply } in wanted {
            // Whoever asked may have stopped waiting.
            if !reply.is_closed() {
                let _ = reply.send(cache.look(layout, &audience, horizon));
            }
        }
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        // The runtime is ending. Whoever comes next, in another one, has to call a thread anew.
        if !self.has_begun {
            self.shared.wanted.lock().clear();
        }
    }
}

impl MemoryCache {
    fn look(
        &mut self,
        layout: &MemoryLayout,
        audience: &Audience,
        horizon: Horizon,
    ) -> LookOutcome {
        let outcome = self.refresh(layout, audience, horizon);
        (outcome, self.view(layout, audience, horizon))
    }

    /// Looks at the files of an audience and reads those that changed or may have.
    fn refresh(&mut self, layout: &MemoryLayout, audience: &Audience, horizon: Horizon) -> Refresh {
        let before = self.version;
        self.look_for_notes(layout);
        for file in self.files(layout, audience, horizon) {
            self.look_at(file);
        }
        if self.version == before { Refresh::Same } else { Refresh::Changed }
    }

    /// What an audience may see of what is known: the same as before as long as
    /// nothing is new, neither for it nor for an index.
    fn view(
        &mut self,
        layout: &MemoryLayout,
        audience: &Audience,
        horizon: Horizon,
    ) -> Arc<MemoryView> {
        if std::mem::take(&mut self.outdated) {
            let all = self.slots.values().flat_map(|slot| &slot.parsed.memories);
            self.everything = all.cloned().collect();
        }
        let files = self.files(layout, audience, horizon);
        let slots: Vec<&CachedFile> =
            files.iter().filter_map(|file| self.slots.get(&file.label)).collect();
        let versions: Vec<u64> =
            slots.iter().map(|slot| slot.version).chain([self.notes.version]).collect();
        let key = (audience.clone(), horizon);
        if let Some(cached) = self.views.get(&key)
            && cached.versions == versions
            && Arc::ptr_eq(&cached.view.everything, &self.everything)
        {
            return cached.view.clone();
        }
        let view = Arc::new(self.make_view(&slots, audience));
        if self.views.len() >= VIEWS {
            self.views.clear();
        }
        self.views.insert(key, CachedView { versions, view: view.clone() });
        view
    }

    fn make_view(&self, slots: &[&CachedFile], audience: &Audience) -> MemoryView {
        let is_seen = |memory: &&Memory| may_see(audience, &memory.scope, memory.marks.shared);
        let memories = slots.iter().flat_map(|slot| &slot.parsed.memories).filter(is_seen);
        let mut memories: Vec<Memory> = memories.cloned().collect();
        // Stable: of one moment, the order of the files stays.
        memories.sort_by_key(|memory| Reverse(memory.added));
        // Of files that only have something for it in them, it learns nothing else.
        let is_its_own = |scope: &MemoryScope| may_see(audience, scope, false);
        let of_folder = self.notes.problems.iter().filter(|_| is_its_own(&MemoryScope::Global));
        let own = slots.iter().filter(|slot| is_its_own(&slot.file.scope));
        let of_files = own.flat_map(|slot| &slot.parsed.findings);
        let of_files = of_files.map(|finding| &finding.problem);
        let problems = of_folder.chain(of_files).cloned().collect();
        MemoryView { memories, problems, everything: self.everything.clone() }
    }

    /// The files that an audience may see something of.
    fn files(&self, layout: &MemoryLayout, who: &Audience, horizon: Horizon) -> Vec<MemoryFile> {
        let of = |id: &Option<Arc<str>>, scope: fn(Arc<str>) -> MemoryScope| id.clone().map(scope);
        let mut scopes = vec![MemoryScope::Global];
        scopes.extend(of(&who.person, MemoryScope::Person));
        scopes.extend(of(&who.conversation, MemoryScope::Conversation));
        scopes.extend(of(&who.agent, MemoryScope::Agent));
        scopes.retain(|scope| may_see(who, scope, true));
        let has_notes = scopes.contains(&MemoryScope::Global);
        let mut files: Vec<MemoryFile> =
            scopes.iter().map(|scope| layout.scope_file(scope)).collect();
        if has_notes {
            let days = self.notes.days.iter().rev().filter(|day| horizon.has(**day));
            files.extend(days.map(|day| layout.note_file(*day)));
        }
        files
    }

    /// Lists the folder again, unless it surely is as it was.
    fn look_for_notes(&mut self, layout: &MemoryLayout) {
        let seen = stat_path(layout.memory());
        let is_same = |(last, at): &(PathState, SystemTime)| *last == seen && !seen.is_racy(*at);
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
            NoteIndex { days, problems, version: self.version, ..std::mem::take(&mut self.notes) };
        // Notes that are gone are known no longer.
        let days = &self.notes.days;
        let before = self.slots.len();
        self.slots.retain(|_, slot| slot.file.day.is_none_or(|day| days.contains(&day)));
        self.outdated |= self.slots.len() != before;
    }

    /// Reads a file again, unless it surely is as it was.
    fn look_at(&mut self, file: MemoryFile) {
        let known = self.slots.get(&file.label);
        let seen = stat_path(&file.path);
        if known.is_some_and(|slot| slot.seen == seen && !seen.is_racy(slot.at)) {
            return;
        }
        let at = SystemTime::now();
        let LoadedFile { seen, content } = load(&file.path, LoadReach::End);
        let hash = match &content {
            LoadedContent::Bytes { bytes, .. } => Some(ContentHash::of_bytes(bytes)),
            LoadedContent::Missing | LoadedContent::Unusable(_) => None,
        };
        if let Some(slot) = self.slots.get_mut(&file.label) {
            let is_same = hash.is_some() && slot.hash == hash && slot.seen.size() == seen.size();
            let parsed = if is_same { None } else { Some(read_memories(&file, content)) };
            (slot.seen, slot.at, slot.hash) = (seen, at, hash);
            if let Some(parsed) = parsed.filter(|parsed| *parsed != slot.parsed) {
                self.version += 1;
                (slot.parsed, slot.version) = (parsed, self.version);
                self.outdated = true;
            }
            return;
        }
        self.version += 1;
        self.outdated = true;
        let parsed = read_memories(&file, content);
        let slot = CachedFile { seen, at, hash, parsed, version: self.version, file: file.clone() };
        self.slots.insert(file.label, slot);
    }
}

impl FileMemories {
    fn report(&mut self, kind: FindingKind, problem: WorkspaceProblem) {
        self.findings.push(MemoryFinding { kind, problem });
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
fn list_notes(layout: &MemoryLayout, seen: &PathState) -> (Vec<Date>, Vec<WorkspaceProblem>) {
    let folder = layout.memory();
    let entries = match list_folder(folder, seen, "memories") {
        Ok(entries) => entries,
        Err(what) => return (Vec::new(), vec![WorkspaceProblem::error(&folder.into(), what)]),
    };
    let names = entries.iter().map(DirEntry::file_name);
    let mut days: Vec<Date> = names.filter_map(|name| note_day(name.to_str()?)).collect();
    days.sort_unstable();
    (days, blocked_files(layout))
}

/// The memories of a file, the newest first.
pub(crate) fn read_memories(file: &MemoryFile, content: LoadedContent) -> FileMemories {
    let mut parsed = FileMemories::default();
    let (bytes, skipped) = match content {
        LoadedContent::Missing => return parsed,
        LoadedContent::Unusable(what) => {
            parsed.report(FindingKind::Unreadable, WorkspaceProblem::error(&file.path, what));
            return parsed;
        }
        LoadedContent::Bytes { bytes, skipped } => (bytes, skipped),
    };
    let content = match text(&bytes) {
        Ok(content) => content,
        Err(what) => {
            let hint = "save it as UTF-8; until then, what is in it is not used";
            let problem = WorkspaceProblem::error(&file.path, what).hint(hint);
            parsed.report(FindingKind::Unreadable, problem);
            return parsed;
        }
    };
    if skipped > 0 {
        let what = format!(
            "is too large: only the last {} MB are read, and {skipped} bytes before them are not",
            LIMIT >> 20
        );
        let hint = "move what is old to another file";
        parsed
            .report(FindingKind::TooLarge, WorkspaceProblem::warning(&file.path, what).hint(hint));
    }
    let mut entries = read_entries(content, file.day);
    let count = entries.len();
    // Cached: to read a time is dearer than to compare it.
    entries.sort_by_cached_key(|entry| Reverse((entry.added(), entry.line)));
    parsed.memories = memories(file, &entries);
    let doubles = count - parsed.memories.len();
    if doubles > 0 {
        let what = format!("has {doubles} entries that repeat others word by word");
        let problem = WorkspaceProblem::warning(&file.path, what).hint("they count once");
        parsed.report(FindingKind::Repeated, problem);
    }
    parsed
}

/// The memories that entries are, each text once.
fn memories(file: &MemoryFile, entries: &[MemoryEntry]) -> Vec<Memory> {
    let (mut texts, mut names) = (HashSet::new(), HashSet::new());
    let mut memories = Vec::new();
    for entry in entries {
        let mut memory = memory_of(file, entry);
        if !texts.insert(memory.text.hash()) {
            continue;
        }
        if !names.insert(memory.name.clone()) {
            // Two texts whose hashes begin alike: one of them needs a longer name.
            memory.name = format!("{}#{:.16}", file.label, memory.text.hash().to_string()).into();
        }
        memories.push(memory);
    }
    memories
}

/// The memory that an entry of a file is.
pub(crate) fn memory_of(file: &MemoryFile, entry: &MemoryEntry) -> Memory {
    let day = entry.day.map(|day| day.to_string());
    Memory {
        scope: file.scope.clone(),
        marks: entry.marks,
        added: entry.added(),
        source: ContentSource::File(file.path.clone()),
        ..Memory::new(&file.label, entry.text.as_str(), day.as_deref())
    }
}
