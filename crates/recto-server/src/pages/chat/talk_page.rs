//! What was said in a session, as much of it as a page shows: read from the store, turn by turn.
//!
//! A long session is as quick to open as a short one: only its newest messages are read, and
//! those before them when somebody asks.

use recto_agent::{AgentResult, OpenTurnStanding, RequestPurpose, find_standing};
use recto_context::{ItemId, MessageId};
use recto_store::{
    ItemState, Moment, RequestRecord, SessionCursor, Store, StoredApproval, StoredMessage,
    StoredRetraction, StoredSession, StoredTurn, TurnId,
};

/// How many messages a page shows at first, and how many more at a time.
const PAGE_MESSAGES: u64 = 50;

/// A stretch of a conversation.
#[derive(Debug)]
pub(crate) struct TalkPage {
    /// Its turns, oldest first.
    pub(crate) turns: Vec<TurnView>,
    /// The message before which there is more; nothing where there is none.
    pub(crate) older: Option<MessageId>,
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
        for turn in store.open_turns().await?.turns {
            // One that waits has nothing in the transcript yet.
            if turn.session == session.id && !shown.contains(&turn.id) {
                turns.push(TurnView::load(store, Some(turn), Vec::new(), &[]).await?);
            }
        }
        let last = turns.iter().rposition(|view| view.retraction.is_none());
        if let Some(last) = last.and_then(|at| turns.get_mut(at)) {
            last.is_last = last.standing.is_none();
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
        let mut turns = Vec::new();
        for group in group_by_turn(messages) {
            let turn = match group.first().and_then(|stored| stored.turn) {
                Some(id) => store.turn(id).await?,
                None => None,
            };
            turns.push(TurnView::load(store, turn, group, &state.retractions).await?);
        }
        let turn_count = state.last_turn.map_or(0, |number| number.0);
        Ok(TalkPage { turns, older, items: state.items.unwrap_or_default(), turn_count })
    }
}

impl TurnView {
    /// One turn of a session.
    pub(crate) async fn load_turn(store: &Store, turn: StoredTurn) -> AgentResult<Self> {
        let messages = store.messages_of_turn(&turn).await?;
        let taken_back = store.retractions_of_turn(turn.id).await?.taken_back;
        let retractions: Vec<StoredRetraction> = taken_back.into_iter().collect();
        let newest = store.last_turn(Some(turn.session)).await?;
        let is_newest = newest.is_some_and(|newest| newest.id == turn.id);
        let mut view = TurnView::load(store, Some(turn), messages, &retractions).await?;
        view.is_last = is_newest && view.standing.is_none() && view.retraction.is_none();
        Ok(view)
    }

    /// How one turn of a session stands, without what was said in it.
    pub(crate) async fn load_state(store: &Store, turn: StoredTurn) -> AgentResult<Self> {
        TurnView::load(store, Some(turn), Vec::new(), &[]).await
    }

    async fn load(
        store: &Store,
        turn: Option<StoredTurn>,
        messages: Vec<StoredMessage>,
        retractions: &[StoredRetraction],
    ) -> AgentResult<Self> {
        let (approvals, requests) = match &turn {
            Some(turn) => (store.approvals_of(turn.id).await?, store.requests(turn.id).await?),
            None => (Vec::new(), Vec::new()),
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

    /// The questions of the turn that nobody has answered.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &StoredApproval> {
        let now = Moment::now();
        self.approvals.iter().filter(move |approval| is_open(approval, now))
    }
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
    use recto_context::Message;

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
}
