//! The recent events of a session, numbered and bounded. Knows no task, lock or
//! clock: `event_stream.rs` has those.
//!
//! Pieces of text that follow each other are one entry that grows. A listener that
//! is behind, or comes back in the middle of it, gets the rest in one event. When
//! the log is full, its oldest entries leave. What they tell of the turn that runs
//! is folded into a snapshot: that is what a listener gets whose place has left.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use recto_store::{SessionId, TurnId};

use crate::event::{EventKind, EventNumber, TurnEvent, TurnSnapshot};

/// Entries that are kept: several long turns. A turn has about two for each call of a
/// tool and three for each request, however long its texts are.
const MOST_ENTRIES: usize = 1_024;

/// Entries that are kept when a turn is over, for listeners that come back: some twenty short
/// turns. A session that goes on for days holds no more for them than one of an hour.
const MOST_FINISHED_ENTRIES: usize = 128;

/// Bytes that are kept, so that a thousand sessions at once stay within some hundred
/// megabytes. It holds a turn with a dozen large results. The newest entry stays also
/// where it alone is larger: it is held elsewhere in the turn, too.
const MOST_BYTES: usize = 512 << 10;

/// The recent events of a session.
#[derive(Debug)]
pub(crate) struct EventLog {
    session: SessionId,
    /// What the events that have left tell of the turn that ran behind the last of them.
    base: FoldedTurn,
    /// The number of the last event that has left, or where the numbers begin.
    kept_after: u64,
    /// The number of the newest event.
    last: u64,
    entries: VecDeque<LogEntry>,
    bytes: usize,
}

impl EventLog {
    /// A log whose first event has the number after this one.
    pub(crate) fn starting_after(number: EventNumber, session: SessionId) -> Self {
        EventLog {
            session,
            base: FoldedTurn::default(),
            kept_after: number.0,
            last: number.0,
            entries: VecDeque::new(),
            bytes: 0,
        }
    }

    /// The number of the newest event.
    pub(crate) fn last(&self) -> EventNumber {
        EventNumber(self.last)
    }

    /// An event before all of a turn's: right before its first, or, where that is kept no more,
    /// one for which a snapshot stands.
    pub(crate) fn before_turn(&self, turn: TurnId) -> EventNumber {
        let is_first = |entry: &&LogEntry| {
            let is_accepted = matches!(entry.content, EntryContent::Event(EventKind::Accepted));
            entry.turn == turn && is_accepted
        };
        let first = self.entries.iter().find(is_first);
        EventNumber(first.map_or(0, |entry| entry.first - 1))
    }

    /// Adds an event.
    pub(crate) fn push(&mut self, turn: TurnId, event: EventKind) {
        self.last += 1;
        let is_over = matches!(event, EventKind::Finished(_));
        let entry = LogEntry { first: self.last, turn, content: EntryContent::new(event) };
        let before = self.entries.back_mut().filter(|before| before.turn == turn);
        match (before.map(|before| &mut before.content), &entry.content) {
            (Some(EntryContent::Text(text)), EntryContent::Text(more))
                if text.kind == more.kind =>
            {
                self.bytes += text.append(&more.text);
            }
            _ => {
                self.bytes += entry.bytes();
                self.entries.push_back(entry);
            }
        }
        while self.entries.len() > 1 && self.is_over_bounds() {
            self.drop_oldest();
        }
        if is_over {
            self.drop_older_turns(turn);
        }
    }

    /// Lets go of turns before this one, which has just ended, as far as few of them are kept.
    fn drop_older_turns(&mut self, ended: TurnId) {
        let is_older = |entry: &LogEntry| entry.turn != ended;
        while self.entries.len() > MOST_FINISHED_ENTRIES
            && self.entries.front().is_some_and(is_older)
        {
            self.drop_oldest();
        }
    }

    /// The next event for a listener that has seen this one: all text that has come
    /// since in one piece, or a snapshot where not everything since is kept. A number
    /// that was never given counts as one that is not kept.
    pub(crate) fn next_after(&self, seen: EventNumber) -> Option<TurnEvent> {
        let EventNumber(seen) = seen;
        if !(self.kept_after..=self.last).contains(&seen) {
            return Some(self.snapshot());
        }
        let behind = self.entries.partition_point(|entry| entry.last() <= seen);
        let entry = self.entries.get(behind)?;
        let (number, event) = entry.event_after(seen);
        let (session, turn) = (self.session, Some(entry.turn));
        Some(TurnEvent { session, turn, seq: EventNumber(number), event })
    }

    /// The turn that runs as it stands now.
    pub(crate) fn running_turn(&self) -> (Option<TurnId>, TurnSnapshot) {
        let mut folded = self.base.clone();
        self.entries.iter().for_each(|entry| folded.absorb(entry.clone()));
        (folded.turn, folded.state)
    }

    /// Lets go of what is only kept for listeners that are far behind in a turn that is
    /// over: a long reply would stay in memory for nobody.
    pub(crate) fn forget_finished(&mut self) {
        while self.base.turn.is_some() && !self.entries.is_empty() {
            self.drop_oldest();
        }
    }

    fn is_over_bounds(&self) -> bool {
        self.entries.len() > MOST_ENTRIES || self.bytes > MOST_BYTES
    }

    fn drop_oldest(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        self.bytes -= entry.bytes();
        self.kept_after = entry.last();
        self.base.absorb(entry);
    }

    fn snapshot(&self) -> TurnEvent {
        let FoldedTurn { turn, state } = self.base.clone();
        let seq = EventNumber(self.kept_after);
        TurnEvent { session: self.session, turn, seq, event: EventKind::Snapshot(state) }
    }
}

/// An event of a turn, or a text of it that came in several.
#[derive(Debug, Clone)]
struct LogEntry {
    /// The number of its first event.
    first: u64,
    turn: TurnId,
    content: EntryContent,
}

#[derive(Debug, Clone)]
enum EntryContent {
    Event(EventKind),
    Text(GrowingText),
}

impl EntryContent {
    fn new(event: EventKind) -> Self {
        match event {
            EventKind::Text { text } => EntryContent::Text(GrowingText::new(TextKind::Reply, text)),
            EventKind::Thinking { text } => {
                EntryContent::Text(GrowingText::new(TextKind::Thinking, text))
            }
            other => EntryContent::Event(other),
        }
    }
}

impl LogEntry {
    /// The number of its last event.
    fn last(&self) -> u64 {
        match &self.content {
            EntryContent::Event(_) => self.first,
            EntryContent::Text(text) => self.first + text.ends.len() as u64 - 1,
        }
    }

    /// What of it comes after this number, which is below its last.
    fn event_after(&self, seen: u64) -> (u64, EventKind) {
        let event = match &self.content {
            EntryContent::Event(event) => event.clone(),
            EntryContent::Text(text) => {
                let pieces = (seen + 1).saturating_sub(self.first);
                text.kind.to_event(text.behind(pieces).to_owned())
            }
        };
        (self.last(), event)
    }

    fn bytes(&self) -> usize {
        let heap = match &self.content {
            EntryContent::Event(event) => event_bytes(event),
            EntryContent::Text(text) => text.text.len() + text.ends.len() * size_of::<usize>(),
        };
        size_of::<LogEntry>() + heap
    }
}

/// A text that comes in pieces.
#[derive(Debug, Clone)]
struct GrowingText {
    kind: TextKind,
    text: String,
    /// Where in the text each piece ends. There is one at least.
    ends: Vec<usize>,
}

impl GrowingText {
    /// A text whose first piece this is.
    fn new(kind: TextKind, text: String) -> Self {
        GrowingText { kind, ends: vec![text.len()], text }
    }

    /// Adds a piece, and gives by how many bytes that makes it larger.
    fn append(&mut self, piece: &str) -> usize {
        self.text.push_str(piece);
        self.ends.push(self.text.len());
        piece.len() + size_of::<usize>()
    }

    /// The text behind its first pieces.
    fn behind(&self, pieces: u64) -> &str {
        let before = usize::try_from(pieces).ok().and_then(|count| count.checked_sub(1));
        let start = before.and_then(|index| self.ends.get(index)).copied().unwrap_or(0);
        &self.text[start..]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Reply,
    Thinking,
}

impl TextKind {
    fn to_event(self, text: String) -> EventKind {
        match self {
            TextKind::Reply => EventKind::Text { text },
            TextKind::Thinking => EventKind::Thinking { text },
        }
    }
}

/// What some events tell of the turn that runs behind the last of them.
#[derive(Debug, Clone, Default)]
struct FoldedTurn {
    turn: Option<TurnId>,
    state: TurnSnapshot,
}

impl FoldedTurn {
    fn absorb(&mut self, entry: LogEntry) {
        let event = match entry.content {
            EntryContent::Text(text) => text.kind.to_event(text.text),
            EntryContent::Event(event) => event,
        };
        match event {
            // These come also of turns that only wait.
            EventKind::Accepted | EventKind::TakenBack(_) | EventKind::Notice { .. } => {}
            EventKind::Retrying { .. } | EventKind::Delivered { .. } => {}
            // Told of a turn that another process runs.
            EventKind::Snapshot(state) => {
                *self = FoldedTurn { turn: Some(entry.turn), state };
            }
            EventKind::Finished(_) if self.turn == Some(entry.turn) => {
                *self = FoldedTurn::default();
            }
            EventKind::Finished(_) => {}
            event => self.switch_to(entry.turn).absorb(event),
        }
    }

    /// The state of a turn; a new one where another was known.
    fn switch_to(&mut self, turn: TurnId) -> &mut TurnSnapshot {
        if self.turn != Some(turn) {
            *self = FoldedTurn { turn: Some(turn), state: TurnSnapshot::default() };
        }
        &mut self.state
    }
}

impl TurnSnapshot {
    /// Takes in an event of the turn that runs.
    fn absorb(&mut self, event: EventKind) {
        match event {
            EventKind::Requested { .. } => {
                self.text.clear();
                self.thinking.clear();
            }
            EventKind::Text { text } => self.text.push_str(&text),
            EventKind::Thinking { text } => self.thinking.push_str(&text),
            EventKind::Asked(question) => self.questions.push(question),
            EventKind::Decided { approval, .. } => {
                self.questions.retain(|question| question.approval != approval);
            }
            EventKind::Call(call) => self.calls.push(call),
            EventKind::Result { id, .. } => self.calls.retain(|call| call.id != id),
            EventKind::Accepted
            | EventKind::TakenBack(_)
            | EventKind::Delivered { .. }
            | EventKind::Notice { .. }
            | EventKind::Retrying { .. }
            | EventKind::Finished(_)
            | EventKind::Snapshot(_) => {}
        }
    }
}

/// About how much an event holds besides its own size.
fn event_bytes(event: &EventKind) -> usize {
    match event {
        EventKind::Accepted | EventKind::Decided { .. } => 0,
        EventKind::Requested { model, .. } => model.len(),
        EventKind::Delivered { schedule, .. } => schedule.len(),
        EventKind::Retrying { error: text, .. }
        | EventKind::Text { text }
        | EventKind::Thinking { text } => text.len(),
        EventKind::Notice(_) | EventKind::Asked(_) | EventKind::TakenBack(_) => json_bytes(event),
        EventKind::Call(call) => call.id.len() + call.name.len() + call.arguments.len(),
        EventKind::Result { id, name, text, .. } => id.len() + name.len() + text.len(),
        EventKind::Finished(finished) => {
            let error = finished.error.as_ref();
            let error = error.map_or(0, |error| error.message.len());
            let calls = finished.calls.iter().map(|call| call.arguments.len());
            finished.reply.as_ref().map_or(0, String::len) + error + calls.sum::<usize>()
        }
        EventKind::Snapshot(snapshot) => snapshot.text.len() + snapshot.thinking.len(),
    }
}

/// The size of what has many fields, and comes seldom: that of its JSON.
fn json_bytes(event: &EventKind) -> usize {
    serde_json::to_string(event).map_or(0, |json| json.len())
}
