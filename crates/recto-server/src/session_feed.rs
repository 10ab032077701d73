//! What changes in the list of sessions, whichever process changes it: turns that begin and end,
//! questions that are asked and answered, sessions that come, go and grow.
//!
//! Once a second the store is asked whether anything was written to it, for all who listen together,
//! and not at all while nobody does. Only then is the list read. What happens within a turn is told
//! by its session's own events.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recto_agent::{Actor, summary_json};
use recto_store::{
    ApprovalId, Moment, SessionFilter, SessionId, SessionSummary, Store, StoreError, StoreResult,
    StoredSession, TurnId, TurnStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::gateway::{Gateway, can_reach};

/// How often it is looked whether the store has changed.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often the list is read though nothing was written: questions expire by themselves.
const WHOLE_LOOK: Duration = Duration::from_secs(20);

/// Something that changed in the list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum FeedEvent {
    /// From here on, changes are told. Whoever reads the list now misses nothing.
    Ready,
    /// A session is new, or is not as it was.
    Session {
        /// The session as the list has it.
        #[schema(value_type = Object)]
        session: Value,
    },
    /// A session is deleted or in the archive.
    Gone {
        /// Its number.
        #[schema(value_type = i64, minimum = 1)]
        session: SessionId,
    },
    /// A turn runs.
    TurnStarted {
        /// The session that it runs in.
        #[schema(value_type = i64, minimum = 1)]
        session: SessionId,
        /// Its number.
        #[schema(value_type = i64, minimum = 1)]
        turn: TurnId,
    },
    /// A turn runs no more.
    TurnEnded {
        /// The session that it ran in.
        #[schema(value_type = i64, minimum = 1)]
        session: SessionId,
        /// Its number.
        #[schema(value_type = i64, minimum = 1)]
        turn: TurnId,
    },
    /// A person has to say whether a tool may run.
    Asked {
        /// The session of the question.
        #[schema(value_type = i64, minimum = 1)]
        session: SessionId,
        /// The number of the question.
        #[schema(value_type = i64, minimum = 1)]
        approval: ApprovalId,
    },
    /// The question is answered, or nobody need answer it any more.
    Answered {
        /// The session of the question.
        #[schema(value_type = i64, minimum = 1)]
        session: SessionId,
        /// The number of the question.
        #[schema(value_type = i64, minimum = 1)]
        approval: ApprovalId,
    },
}

/// The list of sessions as it was at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct FeedSnapshot {
    sessions: HashMap<SessionId, SessionSummary>,
    /// Those that are not in the list, and in which something is open: in the archive, and
    /// sub-agents' own.
    unlisted: HashMap<SessionId, StoredSession>,
    running: HashMap<SessionId, HashSet<TurnId>>,
    questions: HashMap<SessionId, HashSet<ApprovalId>>,
    /// Whether it is the last: nothing is looked at any more.
    is_last: bool,
}

/// The changes in the list of sessions, for all who listen.
#[derive(Debug, Default)]
pub(crate) struct SessionFeed {
    snapshots: Arc<watch::Sender<Option<Arc<FeedSnapshot>>>>,
    /// Whether somebody looks at the store.
    is_watched: Arc<Mutex<bool>>,
}

/// A listener of the feed, who is told of what they may see.
#[derive(Debug)]
pub(crate) struct FeedListener {
    actor: Actor,
    snapshots: watch::Receiver<Option<Arc<FeedSnapshot>>>,
    seen: Option<Arc<FeedSnapshot>>,
}

impl SessionFeed {
    /// Begins to listen. The store is looked at from now on, if it was not.
    pub(crate) fn listen(&self, gateway: &Gateway, actor: &Actor) -> FeedListener {
        let mut is_watched = self.is_watched.lock();
        let mut snapshots = self.snapshots.subscribe();
        if *is_watched {
            // What was last seen holds until something else is: nobody need wait for that.
            snapshots.mark_changed();
        } else {
            *is_watched = true;
            self.snapshots.send_replace(None);
            let feed = SessionFeed {
                snapshots: self.snapshots.clone(),
                is_watched: self.is_watched.clone(),
            };
            tokio::spawn(feed.watch_store(gateway.clone()));
        }
        FeedListener { actor: actor.clone(), snapshots, seen: None }
    }

    /// Looks at the store until nobody listens, or the agents are shut down.
    async fn watch_store(self, gateway: Gateway) {
        let mut changes = gateway.store().watch_changes();
        let mut looked: Option<Instant> = None;
        loop {
            let is_last = gateway.agents().iter().all(|agent| agent.is_shut_down());
            let is_due = looked.is_none_or(|at| at.elapsed() >= WHOLE_LOOK);
            let has_changed = changes.has_changed().await.unwrap_or(true);
            if is_last || is_due || has_changed {
                match FeedSnapshot::take(gateway.store()).await {
                    Ok(mut snapshot) => {
                        looked = Some(Instant::now());
                        snapshot.is_last = is_last;
                        self.snapshots.send_replace(Some(Arc::new(snapshot)));
                    }
                    Err(error) => self.keep_snapshot(&error, is_last),
                }
            }
            {
                let mut is_watched = self.is_watched.lock();
                if is_last || self.snapshots.receiver_count() == 0 {
                    *is_watched = false;
                    return;
                }
            }
            changes.wait(INTERVAL).await;
        }
    }
}

impl SessionFeed {
    /// Goes on with what was last seen, where the store gives nothing: it may the next time. Those
    /// who listen are told that there is no next time.
    fn keep_snapshot(&self, error: &StoreError, is_last: bool) {
        tracing::warn!(%error, "the list of sessions could not be read");
        if is_last {
            let seen = self.snapshots.borrow().as_deref().cloned().unwrap_or_default();
            self.snapshots.send_replace(Some(Arc::new(FeedSnapshot { is_last, ..seen })));
        }
    }
}

impl FeedSnapshot {
    async fn take(store: &Store) -> StoreResult<Self> {
        let mut snapshot = FeedSnapshot::default();
        for summary in store.sessions(SessionFilter::Open).await? {
            snapshot.sessions.insert(summary.session.id, summary);
        }
        for turn in store.open_turns().await?.turns {
            if turn.status == TurnStatus::Running {
                snapshot.running.entry(turn.session).or_default().insert(turn.id);
            }
        }
        for approval in store.open_approvals(Moment::now()).await? {
            snapshot.questions.entry(approval.session).or_default().insert(approval.id);
        }
        for id in snapshot.busy_sessions() {
            if !snapshot.sessions.contains_key(&id)
                && let Some(session) = store.session(id).await?
            {
                snapshot.unlisted.insert(id, session);
            }
        }
        Ok(snapshot)
    }

    /// The sessions in which a turn runs or a question waits.
    fn busy_sessions(&self) -> BTreeSet<SessionId> {
        self.running.keys().chain(self.questions.keys()).copied().collect()
    }

    fn find_session(&self, id: SessionId) -> Option<&StoredSession> {
        let listed = self.sessions.get(&id).map(|summary| &summary.session);
        listed.or_else(|| self.unlisted.get(&id))
    }

    /// What has changed since another one, as this actor may know of it.
    fn changes_since(&self, before: &FeedSnapshot, actor: &Actor) -> Vec<FeedEvent> {
        let mut events = Vec::new();
        for (id, summary) in &self.sessions {
            if !can_reach(actor, &summary.session) {
                continue;
            }
            if before.sessions.get(id) != Some(summary) {
                events.push(FeedEvent::Session { session: summary_json(summary) });
            }
        }
        for id in self.busy_sessions().union(&before.busy_sessions()) {
            let session = self.find_session(*id).or_else(|| before.find_session(*id));
            if session.is_some_and(|session| can_reach(actor, session)) {
                self.add_turns(before, *id, &mut events);
            }
        }
        for (id, summary) in &before.sessions {
            if !self.sessions.contains_key(id) && can_reach(actor, &summary.session) {
                events.push(FeedEvent::Gone { session: *id });
            }
        }
        events
    }

    /// Adds what changed in the turns and questions of a session.
    fn add_turns(&self, before: &FeedSnapshot, session: SessionId, events: &mut Vec<FeedEvent>) {
        let (gone, new) = differences(before.running.get(&session), self.running.get(&session));
        events.extend(new.into_iter().map(|turn| FeedEvent::TurnStarted { session, turn }));
        let ended = gone.into_iter().map(|turn| FeedEvent::TurnEnded { session, turn });
        let (answered, asked) =
            differences(before.questions.get(&session), self.questions.get(&session));
        let answered =
            answered.into_iter().map(|approval| FeedEvent::Answered { session, approval });
        let asked = asked.into_iter().map(|approval| FeedEvent::Asked { session, approval });
        events.extend(answered.chain(asked).chain(ended));
    }
}

/// What is in the first alone, and what in the second alone, in order.
fn differences<T: Copy + Ord + std::hash::Hash>(
    before: Option<&HashSet<T>>,
    after: Option<&HashSet<T>>,
) -> (Vec<T>, Vec<T>) {
    let only = |one: Option<&HashSet<T>>, other: Option<&HashSet<T>>| {
        let is_only = |id: &T| !other.is_some_and(|other| other.contains(id));
        let mut ids: Vec<T> = one.into_iter().flatten().copied().filter(is_only).collect();
        ids.sort_unstable();
        ids
    };
    (only(before, after), only(after, before))
}

impl FeedListener {
    /// The next changes, in order; nothing once no more will come.
    pub(crate) async fn next(&mut self) -> Option<Vec<FeedEvent>> {
        loop {
            if self.seen.as_ref().is_some_and(|seen| seen.is_last) {
                return None;
            }
            self.snapshots.changed().await.ok()?;
            let Some(now) = self.snapshots.borrow_and_update().clone() else { continue };
            let events = match &self.seen {
                None => vec![FeedEvent::Ready],
                Some(before) => now.changes_since(before, &self.actor),
            };
            self.seen = Some(now);
            if !events.is_empty() {
                return Some(events);
            }
        }
    }
}
