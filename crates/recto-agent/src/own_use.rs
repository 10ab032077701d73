//! What people used before, as evidence for what they ask now.
//!
//! It is read from the store: which items a turn used, who sent its message, and what that said.
//! A person's own record speaks for them alone, and only where the same people read along: what
//! the owner asked in private is no evidence in a group, and a guest's record is none for anybody
//! else. What was deleted or taken back is not there.
//!
//! No failure in here fails a turn: then nothing was used before.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_context::{CivilDay, ItemId, MessageId, TurnNumber, visible_text};
use recto_search::{
    MessageLikeness, MessageWords, PastUse, SaidBefore, SearchEntry, SearchIndex, SearchMessage,
    SearchQuery, UseEvidence, asks_by_itself,
};
use recto_store::{
    Moment, SessionHolder, SessionId, Store, StoreResult, StoredMessage, TurnId, UsedTurn,
    UsesRevision,
};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::actor::{Actor, ActorRole};
use crate::items::without_mentions;
use crate::search::{IndexContent, SearchPatience, SearchScope, Searcher, search_message};

/// How many of the last uses count: what is further back is a habit no more, or one that shows
/// among these, too.
const MOST_USES: u32 = 2_000;

/// How long a turn waits for the vectors of earlier messages; until they are there, words decide.
const WAIT: Duration = Duration::from_millis(200);

/// The record of what was used for which messages of an agent.
pub struct UseRecord {
    agent: Arc<str>,
    store: Store,
    searcher: Searcher,
    known: Mutex<Option<(UsesRevision, Arc<KnownUses>)>>,
}

/// All uses that count, as of one state of the store.
#[derive(Default)]
struct KnownUses {
    /// By their turns, so that they are always weighed in the same order.
    uses: BTreeMap<TurnId, Option<PersonUse>>,
    /// The messages as search sees them, named by their turns.
    entries: Arc<[SearchEntry]>,
}

/// What one person used for one message.
#[derive(Clone)]
struct PersonUse {
    actor: Actor,
    holder: SessionHolder,
    past: PastUse,
}

impl fmt::Debug for UseRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UseRecord").field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl UseRecord {
    /// The record of an agent in a store.
    pub fn new(agent: &Arc<str>, store: Store, searcher: &Searcher) -> Self {
        let searcher = searcher.whole_sibling("uses");
        UseRecord { agent: agent.clone(), store, searcher, known: Mutex::default() }
    }

    /// What somebody used before in messages like this one, among the same people.
    pub(crate) async fn weigh(
        &self,
        actor: &Actor,
        holder: &SessionHolder,
        message: &SearchMessage,
        patience: SearchPatience,
    ) -> UseEvidence {
        let is_person = actor.role != ActorRole::Schedule;
        if !self.searcher.options().own_use || !is_person || !asks_by_itself(message) {
            return UseEvidence::default();
        }
        let Ok(known) = self.read().await else { return UseEvidence::default() };
        let is_own = |one: &&PersonUse| one.holder == *holder && one.actor.is_same_person(actor);
        let own: Vec<&PastUse> =
            known.uses.values().flatten().filter(is_own).map(|one| &one.past).collect();
        if own.is_empty() {
            return UseEvidence::default();
        }
        let cosines = self.cosines(&known, message, patience).await;
        let words = MessageWords::new(message.whole());
        let likeness = |past: &PastUse| MessageLikeness {
            cosine: cosines.as_ref().map(|cosines| cosines.get(&past.id()).copied().unwrap_or(0.0)),
            words: past.word_likeness(&words),
        };
        UseEvidence::weigh(&words, own.into_iter().map(|past| (past, likeness(past))))
    }

    /// Does the same for whoever asks outside of all sessions.
    pub async fn weigh_query(
        &self,
        actor: &Actor,
        query: &SearchMessage,
        patience: SearchPatience,
    ) -> UseEvidence {
        self.weigh(actor, &actor.as_holder(), query, patience).await
    }

    /// How near a message is to each earlier one; nothing where words have to do.
    async fn cosines(
        &self,
        known: &KnownUses,
        message: &SearchMessage,
        patience: SearchPatience,
    ) -> Option<HashMap<ItemId, f32>> {
        let content = IndexContent::Exactly(known.entries.clone());
        // Messages are compared as they were typed, whatever words others have used.
        let scope = SearchScope { embedded: Arc::new(|_| true), read_by: None };
        let judge =
            |index: &SearchIndex, query: &SearchQuery<'_>| (index.message_cosines(query), true);
        let compared = self.searcher.query_index(content, message, scope, patience, judge);
        let (cosines, _) = match patience {
            SearchPatience::UntilDone => compared.await,
            // What is not ready goes on, and the next message finds it done.
            SearchPatience::OneSecond => timeout(WAIT, compared).await.ok()?,
        };
        Some(cosines?.into_iter().collect())
    }

    /// All uses that count; those that are known already while the store has no others.
    async fn read(&self) -> StoreResult<Arc<KnownUses>> {
        let revision = self.store.uses_revision().await?;
        let mut known = self.known.lock().await;
        let before = match &*known {
            Some((at, uses)) if *at == revision => return Ok(uses.clone()),
            Some((_, uses)) => uses.clone(),
            None => Arc::default(),
        };
        let turns = self.store.used_turns(&self.agent, MOST_USES).await?;
        let new = turns.iter().filter(|turn| !before.uses.contains_key(&turn.turn));
        let places = new.map(|turn| (turn.session, turn.message)).collect();
        let texts: HashMap<(SessionId, MessageId), String> =
            self.store.messages_at(places).await?.into_iter().map(place_and_text).collect();
        let uses = turns.into_iter().map(|turn| {
            let text = texts.get(&(turn.session, turn.message));
            (
                turn.turn,
                match before.uses.get(&turn.turn) {
                    Some(known) => known.clone().map(|known| known.with_items(turn.items)),
                    None => text.and_then(|text| PersonUse::new(turn, text)),
                },
            )
        });
        let uses = Arc::new(KnownUses::new(uses.collect()));
        *known = Some((revision, uses.clone()));
        Ok(uses)
    }
}

impl KnownUses {
    fn new(uses: BTreeMap<TurnId, Option<PersonUse>>) -> Self {
        let entries = uses.values().flatten().map(|one| one.past.entry());
        KnownUses { entries: entries.collect(), uses }
    }
}

impl PersonUse {
    /// Nothing where the message asks for nothing by itself.
    fn new(turn: UsedTurn, text: &str) -> Option<PersonUse> {
        let UsedTurn { turn, number, holder, actor, at, items, .. } = turn;
        let text = without_mentions(text);
        // The first message of a session has nothing to lean on.
        let before = (number > TurnNumber(1)).then(|| SaidBefore {
            text: text.to_string(),
            since: None,
            place: 1,
        });
        let message = search_message(&text, before.as_ref());
        let past = PastUse::new(turn.get(), day_of(at), &message, items)?;
        Some(PersonUse { actor: Actor::from_store(&actor), holder, past })
    }

    /// The same with what was used by now: a turn may have gone on with it.
    fn with_items(mut self, items: Vec<ItemId>) -> PersonUse {
        self.past.items = items;
        self
    }
}

fn place_and_text(
    (session, stored): (SessionId, StoredMessage),
) -> ((SessionId, MessageId), String) {
    ((session, stored.message.id), visible_text(stored.message.content()))
}

/// The day of a moment where the person is.
fn day_of(at: Moment) -> CivilDay {
    let day: Date = at.timestamp().to_zoned(TimeZone::system()).date();
    CivilDay::new(day.year(), day.month().unsigned_abs(), day.day().unsigned_abs())
}
