//! What was said in a session, as much of it as a page shows: read from the store, turn by turn.
//!
//! A long session is as quick to open as a short one: only its newest messages are read, and
//! those before them when somebody asks.

use futures_util::future::{try_join, try_join_all};
use recto_agent::{AgentResult, OpenTurnStanding, RequestPurpose, find_standing};
use recto_context::{ItemId, MessageId};
use recto_store::{
    ItemState, Moment, RequestRecord, SessionCursor, Store, StoredApproval, StoredDelegation,
    StoredMessage, StoredRetraction, StoredSession, StoredTurn, TurnEnding, TurnId, TurnStatus,
};

/// How many messages a page shows at first, and how many more at a time.
const PAGE_MESSAGES: u64 = 50;

/// How many turns are looked at for the last exchange that stands, and for messages that were not
/// sent.
const MOST_TAKEN_BACK: u32 = 20;

/// The most messages of an exchange that was put into a session from elsewhere.
const MOST_EXCHANGE: u64 = 20;

/// A stretch of a conversation.
#[derive(Debug)]
pub(crate) struct TalkPage {
    /// Its turns, oldest first.
    pub(crate) turns: Vec<TurnView>,
    /// The message before which there is more; nothing where there is none.
    pub(crate) older: Option<MessageId>,
    /// Where the stretch behind it ends, where that is not the newest one.
    pub(crate) later: Option<u64>,
    /// The items of the session, and those that a person removed.
    pub(crate) items: Vec<(ItemId, ItemState)>,
    /// How many turns the session has had.
    pub(crate) turn_count: u32,
}

/// A turn, or an exchange that was said elsewhere, with all that is shown of it.
#[derive(Debug)]
pub(crate) struct TurnView {
    /// The turn; what was imported, or brought by a client, has none.
    pub(crate) turn: Option<StoredTurn>,
    /// How it stands, while it has not ended.
    pub(crate) standing: Option<OpenTurnStanding>,
    pub(crate) messages: Vec<StoredMessage>,
    /// What was asked in it.
    pub(crate) approvals: Vec<StoredApproval>,
    /// The tasks that it gave to sub-agents.
    pub(crate) delegations: Vec<StoredDelegation>,
    /// The task that it does itself, where it is a sub-agent's.
    pub(crate) task: Option<StoredDelegation>,
    /// Its requests that show a page.
    pub(crate) pages: Vec<RequestRecord>,
    /// How many requests it made.
    pub(crate) request_count: usize,
    /// What took it back.
    pub(crate) retraction: Option<StoredRetraction>,
    /// Whether it is the last exchange, which can be taken back or sent again.
    pub(crate) is_last: bool,
}

impl TalkPage {
    /// The newest messages of a session.
    pub(crate) async fn load_newest(store: &Store, session: &StoredSession) -> AgentResult<Self> {
        let page = TalkPage::load_before(store, session, MessageId(u64::MAX)).await?;
        let mut turns = page.turns;
        let shown: Vec<TurnId> = turns.iter().filter_map(TurnView::id).collect();
        // One that waits, or was not sent, has nothing in the transcript.
        let mut others = store.open_turns().await?.turns;
        others.retain(|turn| turn.session == session.id);
        others.extend(unsent_turns(store, session).await?);
        for turn in others.into_iter().filter(|turn| !shown.contains(&turn.id)) {
            let is_later = |view: &TurnView| view.id().is_some_and(|shown| shown > turn.id);
            let place = turns.iter().position(is_later).unwrap_or(turns.len());
            turns.insert(place, TurnView::load(store, Some(turn), Vec::new(), &[]).await?);
        }
        if turns.iter().all(|view| view.standing.is_none()) {
            let may_be = |view: &TurnView| view.retraction.is_none() && !view.messages.is_empty();
            let last = turns.iter().rposition(may_be);
            if let Some(last) = last.and_then(|at| turns.get_mut(at)) {
                last.is_last = true;
            }
        }
        Ok(TalkPage { turns, ..page })
    }

    /// The messages of a session before one of them.
    pub(crate) async fn load_before(
        store: &Store,
        session: &StoredSession,
        before: MessageId,
    ) -> AgentResult<Self> {
        // Everything but the messages.
        let cursor = SessionCursor { messages_up_to: Some(MessageId(u64::MAX >> 1)), items: None };
        let state = store.load(session.id, cursor).await?;
        let last = state.last_message.unwrap_or_default().0.min(before.0.saturating_sub(1));
        let first = last.saturating_sub(PAGE_MESSAGES - 1);
        let range = MessageId(first)..=MessageId(last);
        let messages = store.messages_within(session.id, range).await?;
        let messages = with_whole_first_turn(store, session, messages).await?;
        let older = messages.first().map(|stored| stored.message.id).filter(|id| id.0 > 1);
        let retractions = &state.retractions;
        let newest = state.last_message;
        let groups = group_by_turn(messages);
        let ids = groups.iter().filter_map(|group| group.first()?.turn).collect();
        // Their records are kept against each other: read together, each is worked out once.
        let mut requests = store.requests_of_turns(ids).await?;
        // All else is read by itself, and so all of them at once.
        let turns = groups.into_iter().map(|group| {
            let is_newest = group.last().map(|stored| stored.message.id) >= newest;
            let of_turn = group.first().and_then(|stored| requests.remove(&stored.turn?));
            let known = of_turn.filter(|_| !is_newest);
            TurnView::load_group(store, group, is_newest, retractions, known)
        });
        let turns = try_join_all(turns).await?;
        let turn_count = state.last_turn.map_or(0, |number| number.0);
        let later = Some(last + 1 + PAGE_MESSAGES).filter(|end| Some(MessageId(*end)) <= newest);
        Ok(TalkPage { turns, older, later, items: state.items.unwrap_or_default(), turn_count })
    }

    /// The message before which a stretch ends that has this one in its middle.
    pub(crate) fn end_around(message: MessageId) -> u64 {
        message.0 + PAGE_MESSAGES / 2
    }
}

impl TurnView {
    /// What was put into a session from elsewhere, beginning with this message; nothing where a
    /// turn has it.
    pub(crate) async fn load_exchange(
        store: &Store,
        session: &StoredSession,
        first: MessageId,
    ) -> AgentResult<Option<Self>> {
        let last = MessageId(first.0.saturating_add(MOST_EXCHANGE));
        let messages = store.messages_within(session.id, first..=last).await?;
        let group = group_by_turn(messages).into_iter().next().unwrap_or_default();
        match group.first() {
            Some(stored) if stored.turn.is_none() => {
                TurnView::load(store, None, group, &[]).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Where the newest exchange begins that was put into a session from elsewhere, if nothing was
    /// said behind it.
    pub(crate) async fn find_newest_exchange(
        store: &Store,
        session: &StoredSession,
    ) -> AgentResult<Option<MessageId>> {
        let cursor = SessionCursor { messages_up_to: Some(MessageId(u64::MAX >> 1)), items: None };
        let last = store.load(session.id, cursor).await?.last_message.unwrap_or_default();
        let range = MessageId(last.0.saturating_sub(MOST_EXCHANGE))..=last;
        let messages = store.messages_within(session.id, range).await?;
        let newest = group_by_turn(messages).pop().unwrap_or_default();
        let first = newest.first().filter(|stored| stored.turn.is_none());
        Ok(first.map(|stored| stored.message.id))
    }

    /// One turn of a session.
    pub(crate) async fn load_turn(store: &Store, turn: StoredTurn) -> AgentResult<Self> {
        let messages = store.messages_of_turn(&turn).await?;
        let taken_back = store.retractions_of_turn(turn.id).await?.taken_back;
        let retractions: Vec<StoredRetraction> = taken_back.into_iter().collect();
        let is_last = is_last_exchange(store, &turn).await?;
        let mut view = TurnView::load(store, Some(turn), messages, &retractions).await?;
        view.is_last = is_last && view.standing.is_none();
        Ok(view)
    }

    /// How one turn of a session stands, without what was said in it.
    pub(crate) async fn load_state(store: &Store, turn: StoredTurn) -> AgentResult<Self> {
        let requests = Vec::new();
        TurnView::with_requests(store, Some(turn), Vec::new(), &[], requests).await
    }

    /// The turn of a group of messages. The newest one may have gone on since they were read, and
    /// a turn that is shown as ended must have its reply: its messages are read behind its status.
    async fn load_group(
        store: &Store,
        group: Vec<StoredMessage>,
        is_newest: bool,
        retractions: &[StoredRetraction],
        requests: Option<Vec<RequestRecord>>,
    ) -> AgentResult<Self> {
        let turn = match group.first().and_then(|stored| stored.turn) {
            Some(id) => store.turn(id).await?,
            None => None,
        };
        let messages = match &turn {
            Some(turn) if is_newest => store.messages_of_turn(turn).await?,
            _ => group,
        };
        let requests = match (requests, &turn) {
            (Some(requests), _) => requests,
            (None, Some(turn)) => store.requests(turn.id).await?,
            (None, None) => Vec::new(),
        };
        TurnView::with_requests(store, turn, messages, retractions, requests).await
    }

    async fn load(
        store: &Store,
        turn: Option<StoredTurn>,
        messages: Vec<StoredMessage>,
        retractions: &[StoredRetraction],
    ) -> AgentResult<Self> {
        let requests = match &turn {
            Some(turn) => store.requests(turn.id).await?,
            None => Vec::new(),
        };
        TurnView::with_requests(store, turn, messages, retractions, requests).await
    }

    async fn with_requests(
        store: &Store,
        turn: Option<StoredTurn>,
        messages: Vec<StoredMessage>,
        retractions: &[StoredRetraction],
        requests: Vec<RequestRecord>,
    ) -> AgentResult<Self> {
        let approvals = match &turn {
            Some(turn) => store.approvals_of(turn.id).await?,
            None => Vec::new(),
        };
        let (delegations, task) = match &turn {
            Some(turn) => {
                let given = store.delegations_of(turn.id);
                try_join(given, store.delegation_in(turn.session)).await?
            }
            None => (Vec::new(), None),
        };
        let request_count = requests.len();
        let is_page =
            |record: &RequestRecord| RequestPurpose::from_record(record) == RequestPurpose::Page;
        let pages = requests.into_iter().filter(is_page).collect();
        let now = Moment::now();
        let open = approvals.iter().find(|approval| is_open(approval, now));
        let standing = turn.as_ref().and_then(|turn| find_standing(turn, open));
        let first = messages.first().map(|stored| stored.message.id);
        let of_turn = |retraction: &&StoredRetraction| {
            first.is_some_and(|id| retraction.range().contains(&id))
        };
        let retraction = retractions.iter().find(of_turn).cloned();
        let is_last = false;
        Ok(TurnView {
            turn,
            standing,
            messages,
            approvals,
            delegations,
            task,
            pages,
            request_count,
            retraction,
            is_last,
        })
    }

    /// The number of the turn.
    pub(crate) fn id(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// The message with which its exchange begins, as what replaces it names it.
    pub(crate) fn said(&self) -> Option<u64> {
        let mut messages = self.messages.iter().rev().map(|stored| &stored.message);
        messages.find(|message| message.is_user()).map(|message| message.id.0)
    }

    /// The questions of the turn that nobody has answered.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &StoredApproval> {
        let now = Moment::now();
        self.approvals.iter().filter(move |approval| is_open(approval, now))
    }
}

/// The newest turns of a session whose messages were withdrawn before the model saw them.
async fn unsent_turns(store: &Store, session: &StoredSession) -> AgentResult<Vec<StoredTurn>> {
    let mut turns = store.last_turns(session.id, None, MOST_TAKEN_BACK).await?;
    turns.retain(is_unsent);
    Ok(turns)
}

fn is_unsent(turn: &StoredTurn) -> bool {
    let ended = matches!(turn.status, TurnStatus::Ended(TurnEnding::Stopped));
    ended && turn.first_message.is_none() && turn.inbound.is_some()
}

/// Whether a page shows a turn that it has room for: one that ended without a word does not stand
/// there.
pub(crate) fn has_article(turn: &StoredTurn) -> bool {
    let is_open = !matches!(turn.status, TurnStatus::Ended(_));
    is_open || turn.first_message.is_some() || is_unsent(turn)
}

/// Whether a turn is the last of its session that was not taken back, and none is open.
async fn is_last_exchange(store: &Store, turn: &StoredTurn) -> AgentResult<bool> {
    let open = store.open_turns().await?.turns;
    if open.iter().any(|open| open.session == turn.session) {
        return Ok(false);
    }
    let newest = store.last_turns(turn.session, None, MOST_TAKEN_BACK).await?;
    for newer in newest.iter().rev().filter(|turn| turn.first_message.is_some()) {
        if store.retractions_of_turn(newer.id).await?.taken_back.is_none() {
            return Ok(newer.id == turn.id);
        }
    }
    Ok(false)
}

fn is_open(approval: &StoredApproval, now: Moment) -> bool {
    approval.answer.is_none() && approval.question.expires > now
}

/// The messages, with those of the first one's turn that stand before them.
async fn with_whole_first_turn(
    store: &Store,
    session: &StoredSession,
    messages: Vec<StoredMessage>,
) -> AgentResult<Vec<StoredMessage>> {
    let Some(first) = messages.first() else { return Ok(messages) };
    let turn = match first.turn {
        Some(turn) => store.turn(turn).await?,
        None => None,
    };
    match turn.and_then(|turn| turn.first_message) {
        Some(begin) if begin < first.message.id => {
            let missing = begin..=MessageId(first.message.id.0 - 1);
            let mut whole = store.messages_within(session.id, missing).await?;
            whole.extend(messages);
            Ok(whole)
        }
        _ => Ok(messages),
    }
}

/// Messages in groups: those of a turn; of what was said elsewhere, those of an exchange.
fn group_by_turn(messages: Vec<StoredMessage>) -> Vec<Vec<StoredMessage>> {
    let mut groups: Vec<Vec<StoredMessage>> = Vec::new();
    for stored in messages {
        match groups.last_mut() {
            Some(group) if belongs_to(&stored, group) => group.push(stored),
            _ => groups.push(vec![stored]),
        }
    }
    groups
}

fn belongs_to(stored: &StoredMessage, group: &[StoredMessage]) -> bool {
    group.first().is_some_and(|first| {
        first.turn == stored.turn && (stored.turn.is_some() || !stored.message.is_user())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use recto_context::{ContentPart, Message};
    use recto_store::{
        BindingKey, NewMessage, NewSession, NewTurn, SessionHolder, SettingsMap, StoreOptions,
        TurnCommit, TurnOutcome,
    };

    use super::*;

    fn stored(message: Message, turn: Option<&str>) -> StoredMessage {
        StoredMessage {
            message: message.into(),
            at: Moment::now(),
            turn: turn.and_then(|turn| turn.parse().ok()),
            brought_by: None,
        }
    }

    #[test]
    fn what_was_said_elsewhere_is_grouped_by_exchanges() {
        let messages = vec![
            stored(Message::user(1, "a"), None),
            stored(Message::assistant(2, "b"), None),
            stored(Message::user(3, "c"), None),
            stored(Message::user(4, "d"), Some("7")),
            stored(Message::assistant(5, "e"), Some("7")),
            stored(Message::user(6, "f"), Some("8")),
        ];
        let groups: Vec<usize> = group_by_turn(messages).iter().map(Vec::len).collect();
        assert_eq!(groups, [2, 1, 2, 1]);
    }

    fn commit(message: Message, ending: Option<TurnEnding>) -> TurnCommit {
        let messages = vec![NewMessage { message: Arc::new(message), at: Moment::now() }];
        let outcome = ending.map(|ending| TurnOutcome { ending, detail: None, at: Moment::now() });
        TurnCommit { messages, outcome, ..TurnCommit::default() }
    }

    #[tokio::test]
    async fn a_turn_that_ends_while_the_page_is_read_has_its_reply() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreOptions::new(folder.path().join("recto.db"))).unwrap();
        let session = NewSession {
            agent: "main".into(),
            name: None,
            surface: "web".into(),
            at: Moment::now(),
            settings: SettingsMap::default(),
        };
        let key = BindingKey {
            agent: "main".into(),
            surface: "web".into(),
            account: "local".into(),
            conversation: "1".into(),
            user: None,
            holder: SessionHolder::owner(),
        };
        let session = store.bind(key, session).await.unwrap();
        let new = NewTurn {
            session: session.id,
            at: Moment::now(),
            content: vec![ContentPart::Text("hi".into())],
            actor: serde_json::json!({"id": "owner"}),
            settings: SettingsMap::default(),
            delivery: None,
            client: None,
            retraction: None,
        };
        let turn = store.begin(new, commit(Message::user(1, "hi"), None)).await.unwrap().turn;
        let all = MessageId(1)..=MessageId(9);
        let read_before = store.messages_within(session.id, all).await.unwrap();
        let end = commit(Message::assistant(2, "hello"), Some(TurnEnding::Done));
        store.advance(turn, end).await.unwrap();
        let view = TurnView::load_group(&store, read_before, true, &[], None).await.unwrap();
        assert!(view.standing.is_none());
        assert_eq!(view.messages.len(), 2);
    }
}
