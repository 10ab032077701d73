//! Everything that is remembered about something: entries of files and messages of
//! past sessions, in one list.

use jiff::Timestamp;
use recto_context::{
    Audience, Memory, MessageBody, MessageId, Pick, Scores, SpeakerName, visible_text,
};
use recto_store::{MessageRole, Moment, SessionId};
use recto_workspace::Horizon;

use super::past_messages::{KnownMessages, PastMessage};
use super::{AgentMemories, DatedPick};
use crate::search::{RankingBasis, SearchPatience, search_message};

/// The least probability of what is given to somebody who asks. Lower than for what
/// comes unasked: whoever asks can tell.
const FLOOR: f32 = 0.1;

/// A question what is remembered about something.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct RecallQuery<'a> {
    /// Those who will see what is recalled.
    pub audience: &'a Audience,
    pub query: &'a str,
    /// How much is recalled at most.
    pub limit: usize,
    pub patience: SearchPatience,
    pub now: Timestamp,
    /// Messages that need not be recalled, because they are seen anyway.
    pub known: Option<KnownMessages>,
}

/// The answer to a question what is remembered.
#[derive(Debug)]
pub struct RecallOutcome {
    /// What fits, the best first.
    pub found: Vec<Recollection>,
    /// What the order rests on.
    pub how: RankingBasis,
}

/// Something that was recalled.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct Recollection {
    pub what: RecalledContent,
    /// What search said of it.
    pub scores: Scores,
}

/// Something that is remembered: an entry or a message.
#[derive(Debug)]
#[allow(missing_docs, reason = "the fields say it")]
pub enum RecalledContent {
    /// An entry of a memory file.
    Memory(Memory),
    /// A message of a session of that name.
    Message {
        session: SessionId,
        name: String,
        message: MessageId,
        role: MessageRole,
        /// Who said it, where several people talk.
        speaker: Option<SpeakerName>,
        at: Moment,
        text: String,
    },
}

impl AgentMemories {
    /// Recalls what fits a query. A store that can't be read has no past, and says
    /// nothing of it here: a turn could not run on it, either.
    pub async fn recall(&self, query: &RecallQuery<'_>) -> RecallOutcome {
        let RecallQuery { audience, query: text, limit, patience, now, .. } = *query;
        let entries = async {
            let view = self.files().read(audience, Horizon::All).await;
            let (ranked, how) = self.rank(&view, &search_message(text, None), now, patience).await;
            (view, ranked.best, how)
        };
        let messages = async {
            let past = self.0.past.as_ref()?;
            past.find(query).await.ok()
        };
        let ((view, entries, of_entries), messages) = tokio::join!(entries, messages);
        let (messages, of_messages) = messages.unwrap_or_else(|| (Vec::new(), RankingBasis::Dense));
        let memory = |pick: Pick| {
            let memory = view.memories.iter().find(|memory| memory.name == pick.item.name)?;
            let what = RecalledContent::Memory(memory.clone());
            Some(Recollection { what, scores: pick.scores })
        };
        let entries = entries.into_iter().filter_map(memory);
        let mut found: Vec<Recollection> =
            entries.chain(messages.into_iter().map(Recollection::from_message)).collect();
        let probability = |found: &Recollection| found.scores.probability.unwrap_or(0.0);
        found.retain(|found| probability(found) >= FLOOR);
        found.sort_by(|a, b| probability(b).total_cmp(&probability(a)));
        found.truncate(limit);
        let how = if of_entries.is_dense() { of_messages } else { of_entries };
        RecallOutcome { found, how }
    }
}

impl Recollection {
    fn from_message(DatedPick { pick, what, .. }: DatedPick<PastMessage>) -> Self {
        let PastMessage { session, name, stored } = what;
        let what = RecalledContent::Message {
            session,
            name,
            message: stored.message.id,
            role: MessageRole::from_message(&stored.message),
            speaker: match &stored.message.body {
                MessageBody::User(user) => user.speaker.clone(),
                _ => None,
            },
            at: stored.at,
            text: visible_text(stored.message.content()),
        };
        Recollection { what, scores: pick.scores }
    }
}
