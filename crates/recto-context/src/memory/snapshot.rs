//! The memories that stand on a session's page from its first turn on.
//!
//! They stand in front of the history, so each change costs the whole prompt: they
//! stay as they are while their sources do and while they are of use. What a message
//! recalls beyond them comes as a pick, behind the history.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Memory;
use crate::counter::TokenCounter;
use crate::inputs::ContextLimits;
use crate::item::{IncludeMode, ItemId, Pick, Scores};
use crate::message::MessageId;
use crate::text::ContentHash;
use crate::tokens::Tokens;

/// The memories on a session's page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemorySnapshot {
    /// Best first: what does not fit leaves from the end.
    pub entries: Vec<PinnedMemory>,
    /// Of all that there was to choose from.
    source: ContentHash,
    /// What was remembered in this very session, with the message behind which that is
    /// said: it stands in the history.
    #[serde(default, rename = "own_by_message", skip_serializing_if = "BTreeMap::is_empty")]
    own: BTreeMap<Arc<str>, MessageId>,
    /// For how many turns in a row most of what was recalled was not in it.
    #[serde(default)]
    misses: u32,
    /// What was recalled in those turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missed: Vec<PinnedMemory>,
}

/// A memory of a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinnedMemory {
    /// The memory that is pinned, by its name.
    #[serde(flatten)]
    pub item: ItemId,
    /// Why it is on the page.
    pub why: PinReason,
    /// What search said of it when the snapshot was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
}

/// Why a memory is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinReason {
    /// There are so few that all are there.
    Few,
    /// It is marked as important.
    Important,
    /// It fits what was said when the snapshot was made.
    Fits,
    /// It is among the newest.
    Newest,
}

impl PinReason {
    /// The reason in words.
    pub fn describe(self) -> &'static str {
        match self {
            PinReason::Few => "there are few enough for all",
            PinReason::Important => "marked as important",
            PinReason::Fits => "fits what was said",
            PinReason::Newest => "among the newest",
        }
    }

    /// How a memory came in that is pinned for this reason.
    pub(crate) fn include(self) -> IncludeMode {
        match self {
            PinReason::Fits => IncludeMode::Agent,
            PinReason::Few | PinReason::Important | PinReason::Newest => IncludeMode::Always,
        }
    }
}

/// What a snapshot is made from.
#[derive(Debug, Clone, Copy)]
pub struct MemoryPool<'a> {
    /// All that the session may see, the newest first.
    pub memories: &'a [Memory],
    /// What tells that they are the same as before: their [`memory_fingerprint`].
    pub fingerprint: ContentHash,
    /// Those that search ranked for the message, best first; near-duplicates left out.
    pub ranked: &'a [Pick],
    /// Those of them that fit it.
    pub recalled: &'a [Pick],
    /// The first message that is still on the page.
    pub history_from: MessageId,
}

/// Turns of which most of what was recalled was missing, until a snapshot is made anew.
const TURNS: u32 = 3;

/// How many of the newest are in a snapshot whatever is said.
const NEWEST: usize = 5;

/// The snapshot for a turn: the one before, as long as it is good, or a new one.
pub fn choose_snapshot(
    before: Option<MemorySnapshot>,
    pool: &MemoryPool<'_>,
    limits: &ContextLimits,
    counter: &TokenCounter<'_>,
) -> MemorySnapshot {
    let Some(mut before) = before else {
        return make_snapshot(pool, &[], limits, counter);
    };
    // What has left the history stands nowhere any more, and counts like all others.
    // That it leaves is known only when the page is made, so this is a turn late.
    before.own.retain(|name, said| {
        *said >= pool.history_from && pool.memories.iter().any(|memory| memory.name == *name)
    });
    before.count(pool.recalled);
    let source = match before.own.is_empty() {
        true => pool.fingerprint,
        false => source(pool.memories, &before.own),
    };
    if before.source == source && before.misses < TURNS {
        return before;
    }
    make_snapshot(pool, &before.missed, limits, counter)
}

impl MemorySnapshot {
    /// Keeps what was remembered in this session behind messages that still stand.
    pub fn retain_own(&mut self, stands: impl Fn(MessageId) -> bool) {
        self.own.retain(|_, said| stands(*said));
    }

    /// The message behind which a memory was remembered in this very session, and in whose
    /// exchange it stands.
    pub fn own_message(&self, memory: &str) -> Option<MessageId> {
        self.own.get(memory).copied()
    }

    /// Takes in what was remembered in this session behind a message, which is no reason
    /// to change it.
    pub fn add_own(&mut self, names: impl IntoIterator<Item = Arc<str>>, message: MessageId) {
        self.own.extend(names.into_iter().map(|name| (name, message)));
    }

    /// Counts whether most of what a message recalled was missing.
    fn count(&mut self, recalled: &[Pick]) {
        let here: HashSet<&ItemId> = self.entries.iter().map(|entry| &entry.item).collect();
        let own = |item: &ItemId| self.own.contains_key(&item.name);
        let is_missing = |pick: &&Pick| !here.contains(&pick.item) && !own(&pick.item);
        let missing: Vec<PinnedMemory> =
            recalled.iter().filter(is_missing).map(PinnedMemory::fitting).collect();
        if recalled.is_empty() {
            // A turn that recalls nothing says nothing against it.
            return;
        }
        if missing.len() * 2 <= recalled.len() {
            self.misses = 0;
            self.missed.clear();
            return;
        }
        self.misses += 1;
        for entry in missing {
            if self.missed.iter().all(|known| known.item != entry.item) {
                self.missed.push(entry);
            }
        }
    }
}

impl PinnedMemory {
    fn fitting(pick: &Pick) -> Self {
        PinnedMemory { item: pick.item.clone(), why: PinReason::Fits, scores: Some(pick.scores) }
    }
}

/// Makes a snapshot: everything, where that is little; otherwise what is important,
/// what fits, and a few of the newest.
fn make_snapshot(
    pool: &MemoryPool<'_>,
    missed: &[PinnedMemory],
    limits: &ContextLimits,
    counter: &TokenCounter<'_>,
) -> MemorySnapshot {
    let ranked: HashMap<&ItemId, (usize, Scores)> = pool
        .ranked
        .iter()
        .enumerate()
        .map(|(rank, pick)| (&pick.item, (rank, pick.scores)))
        .collect();
    let pinned = |memory: &Memory, why| {
        let item = memory.id();
        let scores = ranked.get(&item).map(|(_, scores)| *scores);
        PinnedMemory { item, why, scores }
    };
    let mut important: Vec<&Memory> =
        pool.memories.iter().filter(|memory| memory.marks.important).collect();
    // Stable: those that search did not rank stay newest first.
    important.sort_by_key(|memory| ranked.get(&memory.id()).map_or(usize::MAX, |(rank, _)| *rank));
    let important = important.into_iter().map(|memory| pinned(memory, PinReason::Important));
    let fitting = pool.recalled.iter().map(PinnedMemory::fitting).chain(missed.iter().cloned());
    let everything = memories_fit(pool.memories, limits, counter);
    let rest: Vec<PinnedMemory> = if everything {
        pool.memories.iter().map(|memory| pinned(memory, PinReason::Few)).collect()
    } else {
        let newest = pool.memories.iter().take(NEWEST);
        fitting.chain(newest.map(|memory| pinned(memory, PinReason::Newest))).collect()
    };
    MemorySnapshot {
        entries: take_within(important.chain(rest), pool.memories, limits, counter),
        source: pool.fingerprint,
        own: BTreeMap::new(),
        misses: 0,
        missed: Vec::new(),
    }
}

/// Whether all of these have room on the page.
pub fn memories_fit(
    memories: &[Memory],
    limits: &ContextLimits,
    counter: &TokenCounter<'_>,
) -> bool {
    let tokens = || -> Tokens {
        memories.iter().map(|memory| counter.line(&memory.lead, &memory.text)).sum()
    };
    memories.len() <= limits.memory_entries && tokens() <= limits.memory_tokens
}

/// Those that the limits let in, each once.
fn take_within(
    entries: impl Iterator<Item = PinnedMemory>,
    memories: &[Memory],
    limits: &ContextLimits,
    counter: &TokenCounter<'_>,
) -> Vec<PinnedMemory> {
    let by_name: HashMap<&str, &Memory> =
        memories.iter().map(|memory| (&*memory.name, memory)).collect();
    let (mut taken, mut used) = (Vec::<PinnedMemory>::new(), Tokens::ZERO);
    for entry in entries {
        let Some(memory) = by_name.get(&*entry.item.name) else { continue };
        let tokens = counter.line(&memory.lead, &memory.text);
        let fits = taken.len() < limits.memory_entries && used + tokens <= limits.memory_tokens;
        if fits && taken.iter().all(|known| known.item != entry.item) {
            used += tokens;
            taken.push(entry);
        }
    }
    taken
}

/// Stands for all that there is to choose from. It takes a part of a millisecond for a
/// thousand, so it is kept with them.
pub fn memory_fingerprint(memories: &[Memory]) -> ContentHash {
    source(memories, &BTreeMap::new())
}

/// Stands for all that there is to choose from, but for what this session added.
fn source(memories: &[Memory], own: &BTreeMap<Arc<str>, MessageId>) -> ContentHash {
    let others = memories.iter().filter(|memory| !own.contains_key(&memory.name));
    let mut shown: Vec<_> = others
        .map(|memory| (&*memory.name, memory.marks.important, memory.lead.as_str()))
        .collect();
    shown.sort_unstable();
    let mut lines = String::new();
    for (name, important, lead) in shown {
        // Writing to a string can't fail.
        let _ = writeln!(lines, "{name} {important} {lead}");
    }
    ContentHash::of_bytes(lines.as_bytes())
}
