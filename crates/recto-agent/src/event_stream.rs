//! One stream of events for each session, and the listeners that read it.
//!
//! A listener has a place in the stream and no queue of its own: it reads from the
//! log at its own pace, so that none can hold a turn up or make the agent hold more
//! than the log. A stream lives as long as somebody needs it, which is a task that
//! runs turns or a listener. So listeners outlive a task that was idle for long, and
//! nothing is held for a session that nobody talks in or watches.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use recto_context::MessageId;
use recto_store::{Moment, SessionId, TurnId};
use tokio::sync::watch;

use crate::event::{EventKind, EventNumber, TurnEvent, TurnSnapshot};
use crate::event_log::EventLog;
use crate::turn_counters::TurnCounters;

/// Where a listener begins to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventCursor {
    /// At the next event.
    Now,
    /// Behind an event that was seen, in this process or an earlier one. Where not
    /// everything since is kept, a snapshot stands for it.
    After(EventNumber),
}

/// A listener of a session's events.
#[derive(Debug)]
pub struct EventListener {
    stream: Arc<EventStream>,
    phase: watch::Receiver<StreamPhase>,
    seen: EventNumber,
}

impl EventListener {
    /// The next event; nothing once the agent has been shut down or the session is deleted. Text
    /// that has come since the last look is in one event. Nothing is lost when this is not waited
    /// for to its end.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        loop {
            // Marked as seen before the look, so that what comes after it wakes.
            let phase = *self.phase.borrow_and_update();
            if let Some(event) = self.stream.log.lock().next_after(self.seen) {
                self.seen = event.seq;
                return Some(event);
            }
            if phase != StreamPhase::Open || self.phase.changed().await.is_err() {
                return None;
            }
        }
    }

    /// Whether no more will come because the session was deleted.
    pub fn is_deleted(&self) -> bool {
        *self.phase.borrow() == StreamPhase::Deleted
    }

    /// The session that is listened to.
    pub fn session(&self) -> SessionId {
        self.stream.session()
    }

    /// The number of the last event that was heard.
    pub fn seen(&self) -> EventNumber {
        self.seen
    }
}

/// So many turns are remembered of which the end was told, and so many exchanges that were taken back.
const MOST_TOLD: usize = 256;

/// Who tells of the end of a turn in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnTeller {
    /// The task that has it, or finds out that it has it no more.
    Task,
    /// Nobody any more: it was told.
    Done,
    /// Nobody here.
    Nobody,
}

/// The events of a session.
#[derive(Debug)]
pub(crate) struct EventStream {
    session: SessionId,
    log: Mutex<EventLog>,
    /// The last turns of which the end was told.
    told: Mutex<VecDeque<TurnId>>,
    /// The first messages of the last exchanges that were told to be taken back.
    taken_back: Mutex<VecDeque<MessageId>>,
    /// Changes with every event.
    phase: watch::Sender<StreamPhase>,
    registry: Arc<Mutex<StreamRegistry>>,
}

/// Whether more events can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum StreamPhase {
    #[default]
    Open,
    /// The agent has been shut down.
    Closed,
    /// The session is no more.
    Deleted,
}

impl EventStream {
    /// Adds an event, for whoever listens or comes back.
    pub(crate) fn publish(&self, turn: TurnId, event: EventKind) {
        if matches!(event, EventKind::Requested { .. } | EventKind::Finished(_)) {
            self.registry.lock().counters.count(turn, &event);
        }
        self.relay(turn, event);
    }

    /// Adds an event of a turn that another process runs, and counts.
    pub(crate) fn relay(&self, turn: TurnId, event: EventKind) {
        match &event {
            EventKind::Finished(_) => remember(&mut self.told.lock(), turn),
            EventKind::TakenBack(taken) => {
                // Whoever took it back tells it, and so does whoever looks at the store.
                let mut told = self.taken_back.lock();
                if told.contains(&taken.first) {
                    return;
                }
                remember(&mut told, taken.first);
            }
            _ => {}
        }
        self.log.lock().push(turn, event);
        self.phase.send_modify(|_| {});
    }

    /// Ends it: the session was deleted.
    pub(crate) fn end_deleted(&self) {
        self.phase.send_replace(StreamPhase::Deleted);
    }

    /// Who tells of the end of a turn.
    pub(crate) fn teller(&self, turn: TurnId) -> TurnTeller {
        // In this order: it is told before it is let go.
        if self.registry.lock().held.contains_key(&turn) {
            return TurnTeller::Task;
        }
        match self.told.lock().contains(&turn) {
            true => TurnTeller::Done,
            false => TurnTeller::Nobody,
        }
    }

    /// Keeps others in this process from taking a turn for one that nobody here has.
    pub(crate) fn hold(&self, turn: TurnId) -> TurnHold {
        TurnHold::new(&self.registry, turn)
    }

    /// The session whose events they are.
    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// The turn that runs as it stands now, and the number of the last event that it is made of.
    pub(crate) fn running_turn(&self) -> (EventNumber, Option<TurnId>, TurnSnapshot) {
        let log = self.log.lock();
        let (turn, state) = log.running_turn();
        (log.last(), turn, state)
    }

    /// Begins to listen.
    pub(crate) fn listen(self: &Arc<Self>, cursor: EventCursor) -> EventListener {
        let seen = match cursor {
            EventCursor::Now => self.last(),
            EventCursor::After(seen) => seen,
        };
        EventListener { stream: self.clone(), phase: self.phase.subscribe(), seen }
    }

    /// The number of the newest event.
    pub(crate) fn last(&self) -> EventNumber {
        self.log.lock().last()
    }

    /// An event before all of a turn's that are kept.
    pub(crate) fn before_turn(&self, turn: TurnId) -> EventNumber {
        self.log.lock().before_turn(turn)
    }

    /// Whether somebody listens now.
    pub(crate) fn is_anybody_there(&self) -> bool {
        self.phase.receiver_count() > 0
    }

    /// Lets go of what is kept of turns that are over, as far as it is much. Called
    /// when the session has been idle for long.
    pub(crate) fn forget_finished(&self) {
        self.log.lock().forget_finished();
    }
}

/// Adds what was told to the last of its kind.
fn remember<T>(told: &mut VecDeque<T>, new: T) {
    told.push_back(new);
    if told.len() > MOST_TOLD {
        told.pop_front();
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let last = self.last();
        let mut registry = self.registry.lock();
        registry.highest = registry.highest.max(last);
        let streams = &mut registry.streams;
        // Another may have taken its place by now.
        if streams.get(&self.session).is_some_and(|stream| stream.strong_count() == 0) {
            streams.remove(&self.session);
        }
    }
}

/// The streams of all sessions that somebody talks in or watches.
#[derive(Debug, Default)]
pub(crate) struct EventStreams(Arc<Mutex<StreamRegistry>>);

#[derive(Debug, Default)]
struct StreamRegistry {
    streams: HashMap<SessionId, Weak<EventStream>>,
    /// The highest number of all streams that are gone.
    highest: EventNumber,
    phase: StreamPhase,
    counters: TurnCounters,
    /// The turns that tasks of this process have, and how many places hold each.
    held: HashMap<TurnId, usize>,
}

/// Stands for a turn that a task of this process has, whether it runs or waits.
#[derive(Debug)]
pub(crate) struct TurnHold {
    registry: Arc<Mutex<StreamRegistry>>,
    turn: TurnId,
}

impl TurnHold {
    fn new(registry: &Arc<Mutex<StreamRegistry>>, turn: TurnId) -> Self {
        *registry.lock().held.entry(turn).or_default() += 1;
        TurnHold { registry: registry.clone(), turn }
    }

    /// The turn that it stands for.
    pub(crate) fn turn(&self) -> TurnId {
        self.turn
    }
}

impl Drop for TurnHold {
    fn drop(&mut self) {
        let mut registry = self.registry.lock();
        if let Some(places) = registry.held.get_mut(&self.turn) {
            *places -= 1;
            if *places == 0 {
                registry.held.remove(&self.turn);
            }
        }
    }
}

impl EventStreams {
    /// The stream of a session, made if need be.
    pub(crate) fn of_session(&self, session: SessionId) -> Arc<EventStream> {
        let mut registry = self.0.lock();
        if let Some(stream) = registry.streams.get(&session).and_then(Weak::upgrade) {
            return stream;
        }
        let stream = Arc::new(EventStream {
            session,
            log: Mutex::new(EventLog::starting_after(registry.first_number(), session)),
            told: Mutex::default(),
            taken_back: Mutex::default(),
            phase: watch::Sender::new(registry.phase),
            registry: self.0.clone(),
        });
        registry.streams.insert(session, Arc::downgrade(&stream));
        stream
    }

    /// Keeps others in this process from taking a turn for one that nobody here has.
    pub(crate) fn hold(&self, turn: TurnId) -> TurnHold {
        TurnHold::new(&self.0, turn)
    }

    /// Whether a task of this process has a turn.
    pub(crate) fn is_held(&self, turn: TurnId) -> bool {
        self.0.lock().held.contains_key(&turn)
    }

    /// The streams that somebody listens to.
    pub(crate) fn listened(&self) -> Vec<Arc<EventStream>> {
        // What is upgraded must not be dropped under the lock, which its end takes.
        let streams: Vec<_> = self.0.lock().streams.values().filter_map(Weak::upgrade).collect();
        streams.into_iter().filter(|stream| stream.is_anybody_there()).collect()
    }

    /// What the turns of all sessions came to so far.
    pub(crate) fn counters(&self) -> TurnCounters {
        self.0.lock().counters.clone()
    }

    /// Whether they have ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.lock().phase == StreamPhase::Closed
    }

    /// Ends all streams: their listeners read what is there, and no more will come.
    pub(crate) fn close(&self) {
        let open: Vec<_> = {
            let mut registry = self.0.lock();
            registry.phase = StreamPhase::Closed;
            registry.streams.values().filter_map(Weak::upgrade).collect()
        };
        for stream in open {
            stream.phase.send_replace(StreamPhase::Closed);
        }
    }

    /// How many sessions have a stream.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.0.lock().streams.len()
    }
}

impl Drop for EventStreams {
    fn drop(&mut self) {
        self.close();
    }
}

impl StreamRegistry {
    /// Where the numbers of a new stream begin: at the microsecond, which is more than
    /// any earlier stream has reached by one event after the other. So a number of a
    /// stream that is gone is an older one, whichever process it was of. It stays below
    /// 2^53, which every reader of JSON takes, for two centuries more.
    fn first_number(&self) -> EventNumber {
        let now = Moment::now().timestamp().as_microsecond();
        // A clock may be set back.
        EventNumber(u64::try_from(now).unwrap_or(0)).max(self.highest)
    }
}
