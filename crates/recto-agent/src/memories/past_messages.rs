//! What was said in past sessions, so that it can be found by meaning and by words.
//!
//! Messages only ever come in addition, so the index follows the store by the place of
//! the last one that it has. It is made at the first need: an agent that nobody asks
//! for the past keeps none of it in memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use recto_context::mode::words;
use recto_context::{
    Audience, ItemId, ItemKind, Message, MessageBody, MessageId, Pick, may_recall, visible_text,
};
use recto_search::{SearchEntry, SearchIndex, SearchQuery};
use recto_store::{MessagePosition, SessionId, Store, StoreResult, StoredMessage};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::recall::RecallQuery;
use super::{DatedPick, RANKED, drop_duplicates, sort_by_age};
use crate::options::SessionSettings;
use crate::search::{
    IndexContent, IsCandidate, RankingBasis, SearchPatience, SearchScope, Searcher,
    WordsOnlyReason, is_dense, search_message,
};
use crate::session_cache::is_within;

/// How many messages are read at once.
const BATCH: usize = 2_000;

/// How much of a message is searched. What is longer was pasted, and its beginning
/// says what it is.
const MOST_TEXT: usize = 8_000;

/// How long an answer waits until what was said since is indexed.
const INDEX_WAIT: Duration = Duration::from_secs(3);

/// What was said in the sessions of an agent.
pub(super) struct PastMessages {
    agent: Arc<str>,
    store: Store,
    searcher: Searcher,
    /// Up to where the index has them. Held while more is indexed.
    read: Arc<Mutex<Option<MessagePosition>>>,
}

/// Messages that a model sees anyway: those of a session from one on.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct KnownMessages {
    pub session: SessionId,
    /// The first message of it that is seen.
    pub from: MessageId,
}

/// A message that was found.
pub(super) struct PastMessage {
    pub(super) session: SessionId,
    pub(super) name: String,
    pub(super) stored: StoredMessage,
}

impl PastMessages {
    pub(super) fn new(agent: &Arc<str>, store: Store, searcher: Searcher) -> Self {
        PastMessages { agent: agent.clone(), store, searcher, read: Arc::default() }
    }

    /// Messages that fit a query, best first, of the sessions that an audience may
    /// recall.
    pub(super) async fn find(
        &self,
        query: &RecallQuery<'_>,
    ) -> StoreResult<(Vec<DatedPick<PastMessage>>, RankingBasis)> {
        let RecallQuery { audience, query, limit, patience, now, known } = *query;
        let sessions = self.sessions(audience).await?;
        let indexed = match patience {
            SearchPatience::UntilDone => Ok(self.index_new_messages().await?),
            // It goes on by itself, and the next one finds it done.
            SearchPatience::OneSecond => {
                timeout(INDEX_WAIT, self.index_new_messages()).await.map(drop)
            }
        };
        if indexed.is_err() {
            let why = WordsOnlyReason::NotReady { done: 0, total: 0 };
            return Ok((Vec::new(), RankingBasis::Words(why)));
        }
        let taken_back = self.store.all_retractions().await?;
        let is_taken_back = move |pick: &Pick| {
            place_of(&pick.item).is_some_and(|(session, message)| {
                taken_back.get(&session).is_some_and(|ranges| is_within(ranges, message))
            })
        };
        let may: Arc<HashSet<String>> =
            Arc::new(sessions.keys().map(ToString::to_string).collect());
        let readable = may.clone();
        let is_seen = move |pick: &Pick| {
            let place = place_of(&pick.item).zip(known);
            place.is_some_and(|((session, message), known)| {
                known.session == session && message >= known.from
            })
        };
        let judge = move |index: &SearchIndex, query: &SearchQuery<'_>| {
            let mut ranked = index.rank_threads(query, |session| may.contains(session), RANKED);
            let dense = ranked.first().is_none_or(is_dense);
            ranked.retain(|pick| !is_seen(pick) && !is_taken_back(pick));
            (drop_duplicates(index, ranked).0, dense)
        };
        // Whoever may recall them: each is embedded once.
        let embedded: IsCandidate = Arc::new(|_| true);
        let read_by: IsCandidate = Arc::new(move |id| {
            id.name.split_once('/').is_some_and(|(session, _)| readable.contains(session))
        });
        let scope = SearchScope { embedded, read_by: Some(read_by) };
        let content = IndexContent::Also(Vec::new());
        let query = search_message(query, None);
        let (ranked, how) =
            self.searcher.query_index(content, &query, scope, patience, judge).await;
        let best = ranked.into_iter().take(limit.saturating_mul(2));
        let mut found = self.look_up(best, &sessions).await?;
        sort_by_age(&mut found, now);
        Ok((found, how))
    }

    /// The sessions that an audience may recall, with what they are called.
    async fn sessions(&self, audience: &Audience) -> StoreResult<HashMap<SessionId, String>> {
        let all = self.store.sessions_brief().await?;
        let of_agent = all.into_iter().filter(|session| *session.agent == *self.agent);
        let may = of_agent.filter(|session| {
            may_recall(audience, &SessionSettings::from_store(&session.settings).audience())
        });
        Ok(may.map(|session| (session.id, session.label())).collect())
    }

    /// Indexes what was said since. Whoever gives up waiting does not stop it: the
    /// index and the place up to which it goes change together.
    async fn index_new_messages(&self) -> StoreResult<()> {
        let mut read = self.read.clone().lock_owned().await;
        let (store, searcher) = (self.store.clone(), self.searcher.clone());
        let agent = self.agent.clone();
        let indexing = tokio::spawn(async move {
            loop {
                let new = store.messages_after(*read, BATCH).await?;
                let Some((last, ..)) = new.last() else { return Ok(()) };
                let last = *last;
                // Read behind the messages, so that no session of theirs is missing.
                let own = own_sessions(&store, &agent).await?;
                let of_agent = new.iter().filter(|(_, session, _)| own.contains(session));
                let entries = of_agent.filter_map(|(_, session, stored)| entry(*session, stored));
                if searcher.extend(entries.collect()).await.is_none() {
                    return Ok(());
                }
                *read = Some(last);
            }
        });
        indexing.await.unwrap_or(Ok(()))
    }

    /// The messages that were found, but for those that are damaged.
    async fn look_up(
        &self,
        picks: impl Iterator<Item = Pick>,
        sessions: &HashMap<SessionId, String>,
    ) -> StoreResult<Vec<DatedPick<PastMessage>>> {
        let picks: Vec<_> = picks.filter_map(|pick| Some((place_of(&pick.item)?, pick))).collect();
        let places = picks.iter().map(|(place, _)| *place).collect();
        let stored = self.store.messages_at(places).await?.into_iter();
        let mut stored: HashMap<(SessionId, MessageId), StoredMessage> =
            stored.map(|(session, stored)| ((session, stored.message.id), stored)).collect();
        let found = |(place, pick): (_, Pick)| {
            let stored = stored.remove(&place)?;
            let session = place.0;
            let name = sessions.get(&session).cloned().unwrap_or_default();
            let since = Some(stored.at.timestamp().as_second());
            Some(DatedPick { pick, since, what: PastMessage { session, name, stored } })
        };
        Ok(picks.into_iter().filter_map(found).collect())
    }
}

/// The sessions of an agent.
async fn own_sessions(store: &Store, agent: &str) -> StoreResult<HashSet<SessionId>> {
    let all = store.sessions_brief().await?;
    Ok(all.into_iter().filter(|session| session.agent == agent).map(|session| session.id).collect())
}

/// A message as search sees it; nothing where nobody spoke.
fn entry(session: SessionId, stored: &StoredMessage) -> Option<SearchEntry> {
    let speaker = speaker(&stored.message)?;
    let text = visible_text(stored.message.content());
    let text = text.trim();
    // Nobody looks for a nod, and being short it would be near to much.
    if words::names_nothing(text) {
        return None;
    }
    let text = &text[..text.floor_char_boundary(MOST_TEXT)];
    let name = format!("{session}/{}", stored.message.id.0);
    let item = ItemId::new(ItemKind::Memory, name);
    let day = stored.at.timestamp().to_zoned(TimeZone::system()).date().to_string();
    Some(SearchEntry::message(item, speaker, text, session.to_string().into(), Some(&day)))
}

/// Who spoke: a person or the model. What tools gave back is not what was said.
fn speaker(message: &Message) -> Option<&'static str> {
    if !message.is_for_models() {
        return None;
    }
    match &message.body {
        MessageBody::User(_) => Some("User"),
        MessageBody::Assistant { .. } => Some("Assistant"),
        MessageBody::Tool { .. } | MessageBody::Error(_) | MessageBody::Approval(_) => None,
    }
}

/// The session and the message that an entry stands for.
fn place_of(id: &ItemId) -> Option<(SessionId, MessageId)> {
    let (session, message) = id.name.split_once('/')?;
    Some((session.parse().ok()?, MessageId(message.parse().ok()?)))
}
