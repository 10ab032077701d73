//! Turns that run in other processes, told to those who listen in this one.
//!
//! A session's listeners hear of all of its turns, wherever they run: a page on one node shows a
//! turn of another one, and a client whose node was silent for so long that another one took its
//! turn still hears the end of it. While anybody listens, the store is asked whether something was
//! written to it (`ChangeWatch`), and only then which turns there are. A turn that runs elsewhere is
//! followed: its process keeps a snapshot of it (`turn_relay.rs`), of which what is new is told here. Its
//! end is read from the store, and so is what was taken back.
//!
//! What a turn does in this process is told by this process, and not here.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use recto_context::{MessageBody, visible_text};
use recto_store::{
    ChangeWatch, OwnedTurn, RetractionId, SessionId, Store, StoreResult, StoredMessage, StoredTurn,
    TurnEnding, TurnId, TurnOwner, TurnStatus,
};
use tokio::task::JoinHandle;

use crate::event::{ClientCall, EventKind, FinishedTurn, TurnError, TurnSnapshot};
use crate::event_stream::{EventStream, TurnTeller};
use crate::shared::AgentShared;
use crate::step::TurnState;
use crate::take_back::TakenBackEvent;
use crate::turn_usage::UsageTotals;

/// How often it is looked whether something was written, and how often how followed turns stand.
const LOOK: Duration = Duration::from_millis(500);
const FOLLOWING_LOOK: Duration = Duration::from_millis(250);

/// Starts to tell of turns elsewhere, unless that is done already. It ends with the agent, or when
/// nobody listens.
pub(crate) fn tell_of_turns_elsewhere(shared: &Arc<AgentShared>) {
    if !shared.elsewhere.is_on.swap(true, Ordering::SeqCst) {
        let changes = shared.parts.store.watch_changes();
        let task = tokio::spawn(watch(Arc::downgrade(shared), ElsewhereTurns::new(changes)));
        *shared.elsewhere.task.lock() = Some(task);
    }
}

/// The task that tells of turns elsewhere, while there is one.
#[derive(Debug, Default)]
pub(crate) struct ElsewhereWatch {
    is_on: AtomicBool,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl ElsewhereWatch {
    /// Ends it. It has a connection of its own, and a database that somebody still reads is not
    /// put in order by whoever closes it.
    pub(crate) async fn end(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.abort();
            let _ = task.await;
        }
    }
}

async fn watch(shared: Weak<AgentShared>, mut turns: ElsewhereTurns) {
    loop {
        {
            let Some(shared) = shared.upgrade() else { return };
            let streams = shared.streams.listened();
            if streams.is_empty() || shared.closing.is_requested() {
                shared.elsewhere.is_on.store(false, Ordering::SeqCst);
                turns.let_go(&shared.parts.store, |_| true).await;
                // Somebody may have come just now, and found it done already.
                if shared.streams.listened().is_empty() || shared.closing.is_requested() {
                    return;
                }
                if shared.elsewhere.is_on.swap(true, Ordering::SeqCst) {
                    return;
                }
                continue;
            }
            // What the store does not give now, it may give the next time.
            if let Err(error) = turns.look(&shared.parts.store, &streams).await {
                tracing::debug!(%error, "turns of other processes could not be looked at");
            }
        }
        turns.wait().await;
    }
}

/// What is known of turns in sessions that somebody listens to.
struct ElsewhereTurns {
    changes: ChangeWatch,
    /// The newest turn at the last look, if there was any then. All later ones are new.
    mark: Option<Option<TurnId>>,
    /// What was taken back last at the last look, in the same way.
    taken_back: Option<Option<RetractionId>>,
    /// Turns whose end is to be told, unless it is here.
    open: HashMap<TurnId, SessionId>,
    followed: HashMap<TurnId, FollowedTurn>,
    /// Whether a task is about to tell of a turn, or to find out that another process has it.
    looks_again: bool,
}

/// What was told of a turn that runs elsewhere.
#[derive(Debug, Default)]
struct FollowedTurn {
    version: i64,
    state: Option<TurnSnapshot>,
}

impl ElsewhereTurns {
    fn new(changes: ChangeWatch) -> Self {
        ElsewhereTurns {
            changes,
            mark: None,
            taken_back: None,
            open: HashMap::new(),
            followed: HashMap::new(),
            looks_again: false,
        }
    }

    /// Waits until it may be worth to look.
    async fn wait(&mut self) {
        self.changes.wait(if self.followed.is_empty() { LOOK } else { FOLLOWING_LOOK }).await;
    }

    /// Looks what has become of turns, and tells those who listen.
    async fn look(&mut self, store: &Store, streams: &[Arc<EventStream>]) -> StoreResult<()> {
        let of = |session| streams.iter().find(|stream| stream.session() == session);
        let looks_again = std::mem::take(&mut self.looks_again);
        if self.changes.has_changed().await? || looks_again {
            let since = match self.mark {
                Some(mark) => store.turns_after(mark).await?,
                None => Vec::new(),
            };
            self.mark = match (since.last(), self.mark) {
                (Some((newest, _)), _) => Some(Some(*newest)),
                (None, None) => Some(store.newest_turn().await?),
                (None, mark) => mark,
            };
            let running = store.open_turn_owners().await?;
            let opened = running.iter().map(|turn| (turn.turn, turn.session));
            self.open.extend(since.into_iter().chain(opened));
            self.open.retain(|_, session| of(*session).is_some());
            self.tell_ends(store, streams, &running).await?;
            self.tell_taken_back(store, streams).await?;
            end_deleted(store, streams).await?;
            self.follow_running(store, &running).await?;
        }
        for (turn, followed) in &mut self.followed {
            let stream = self.open.get(turn).copied().and_then(of);
            if let (Some(stream), Some(relayed)) =
                (stream, store.relayed_snapshot(*turn, followed.version).await?)
            {
                followed.version = relayed.version;
                if let Ok(state) = serde_json::from_value(relayed.state) {
                    followed.tell(stream, *turn, state);
                }
            }
        }
        Ok(())
    }

    /// Tells of turns that are open no more, and that nobody in this process has told of.
    async fn tell_ends(
        &mut self,
        store: &Store,
        streams: &[Arc<EventStream>],
        running: &[OwnedTurn],
    ) -> StoreResult<()> {
        let running: HashSet<TurnId> = running.iter().map(|turn| turn.turn).collect();
        let mut ended: Vec<(TurnId, SessionId)> = self
            .open
            .iter()
            .filter(|(turn, _)| !running.contains(turn))
            .map(|(t, s)| (*t, *s))
            .collect();
        ended.sort_unstable_by_key(|(turn, _)| *turn);
        for (turn, session) in ended {
            let Some(stream) = streams.iter().find(|stream| stream.session() == session) else {
                continue;
            };
            match stream.teller(turn) {
                TurnTeller::Task => {
                    self.looks_again = true;
                    continue;
                }
                TurnTeller::Done => {}
                TurnTeller::Nobody => {
                    let finished = find_finished(store, turn).await?.map(EventKind::Finished);
                    finished.into_iter().for_each(|event| stream.relay(turn, event));
                }
            }
            self.open.remove(&turn);
        }
        Ok(())
    }

    /// Tells what was taken back since the last look: by the turn that stands in its place, or by
    /// the one that it was. Who took it back here has told it.
    async fn tell_taken_back(
        &mut self,
        store: &Store,
        streams: &[Arc<EventStream>],
    ) -> StoreResult<()> {
        let Some(mark) = self.taken_back else {
            self.taken_back = Some(store.newest_retraction().await?);
            return Ok(());
        };
        let taken_back = store.retractions_after(mark).await?;
        if taken_back.is_empty() {
            // Numbers of what was deleted with its session are given again.
            self.taken_back = Some(store.newest_retraction().await?);
        }
        for stored in taken_back {
            let stream = streams.iter().find(|stream| stream.session() == stored.session);
            if let (Some(stream), Some(turn)) = (stream, stored.replaced_by.or(stored.turn)) {
                let event = EventKind::TakenBack(TakenBackEvent::from_stored(&stored));
                stream.relay(turn, event);
            }
            self.taken_back = Some(Some(stored.id));
        }
        Ok(())
    }

    /// Follows what runs elsewhere, and no longer what does not.
    async fn follow_running(&mut self, store: &Store, running: &[OwnedTurn]) -> StoreResult<()> {
        let elsewhere: HashSet<TurnId> = running
            .iter()
            .filter(|turn| turn.owner == TurnOwner::Elsewhere && self.open.contains_key(&turn.turn))
            .map(|turn| turn.turn)
            .collect();
        self.let_go(store, |turn| !elsewhere.contains(&turn)).await;
        for turn in elsewhere {
            if let Entry::Vacant(unfollowed) = self.followed.entry(turn) {
                store.follow_turn(turn).await?;
                unfollowed.insert(FollowedTurn::default());
            }
        }
        Ok(())
    }

    /// Follows some turns no longer.
    async fn let_go(&mut self, store: &Store, is_over: impl Fn(TurnId) -> bool) {
        let over: Vec<TurnId> =
            self.followed.keys().copied().filter(|turn| is_over(*turn)).collect();
        for turn in over {
            self.followed.remove(&turn);
            // A row that stays is in nobody's way once its turn is over.
            let _ = store.unfollow_turn(turn).await;
        }
    }
}

/// Ends the streams of sessions that were deleted, wherever that was done.
async fn end_deleted(store: &Store, streams: &[Arc<EventStream>]) -> StoreResult<()> {
    for stream in streams {
        if store.session(stream.session()).await?.is_none() {
            stream.end_deleted();
        }
    }
    Ok(())
}

impl FollowedTurn {
    /// Tells what is new: more text as such, and all else by a snapshot.
    fn tell(&mut self, stream: &EventStream, turn: TurnId, state: TurnSnapshot) {
        let before = self.state.replace(state.clone());
        let event = match before {
            Some(before) if before.differs_in_text_alone(&state) => {
                match state.text.strip_prefix(&*before.text) {
                    Some("") => return,
                    Some(more) => EventKind::Text { text: more.to_owned() },
                    None => EventKind::Snapshot(state),
                }
            }
            _ => EventKind::Snapshot(state),
        };
        stream.relay(turn, event);
    }
}

impl TurnSnapshot {
    fn differs_in_text_alone(&self, other: &TurnSnapshot) -> bool {
        let TurnSnapshot { text: _, thinking, calls, questions } = self;
        *thinking == other.thinking && *calls == other.calls && *questions == other.questions
    }
}

/// How a turn ended, as the store has it. Nothing of one that has not, or is deleted.
async fn find_finished(store: &Store, turn: TurnId) -> StoreResult<Option<FinishedTurn>> {
    let Some(turn) = store.turn(turn).await? else { return Ok(None) };
    let TurnStatus::Ended(status) = turn.status else { return Ok(None) };
    let messages = store.messages_of_turn(&turn).await?;
    let usage = UsageTotals::read(store, turn.id).await?;
    let (reply, calls) = (last_words(&messages), handed_calls(&turn, &messages));
    Ok(Some(FinishedTurn { status, reply, error: find_error(&turn, status), usage, calls }))
}

/// What the model said last.
fn last_words(messages: &[StoredMessage]) -> Option<String> {
    let said = messages.iter().rev().find_map(|stored| match &stored.message.body {
        MessageBody::Assistant { content, .. } => Some(visible_text(content)),
        _ => None,
    });
    said.filter(|text| !text.trim().is_empty())
}

/// What people are told of a turn that got no reply.
fn find_error(turn: &StoredTurn, status: TurnEnding) -> Option<TurnError> {
    let is_answered = matches!(status, TurnEnding::Done | TurnEnding::HandedOut);
    let message =
        turn.detail.clone().unwrap_or_else(|| format!("turn {} is {}", turn.id, status.name()));
    let code = Cow::Borrowed(status.name());
    let error = TurnError { code, message, hint: None, remedy: None, retry_after: None };
    (!is_answered).then_some(error)
}

/// The calls that a turn handed to its client. A tool goes by the name that the model knows it by.
fn handed_calls(turn: &StoredTurn, messages: &[StoredMessage]) -> Vec<ClientCall> {
    let state = turn.state.as_ref().and_then(TurnState::read);
    let handed = state.as_ref().map_or(&[][..], TurnState::handed);
    let calls = messages.iter().flat_map(|stored| stored.message.calls());
    calls
        .filter(|call| handed.iter().any(|handed| *handed.id == *call.id.0))
        .map(|call| ClientCall {
            id: call.id.0.to_string(),
            name: call.name.to_string(),
            arguments: call.arguments.to_string(),
        })
        .collect()
}
