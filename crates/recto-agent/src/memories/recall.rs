//! Everything that is remembered about something: entries of files and messages of
//! past sessions, in one list.

use jiff::Timestamp;
use recto_context::{Audience, Memory, MessageId, Scores};
use recto_store::{Moment, Role, SessionId};
use recto_workspace::Horizon;

use super::past::{Besides, Said};
use super::{Dated, Memories};
use crate::search::{How, Patience};
use crate::turn::visible_text;

/// The least probability of what is given to somebody who asks. Lower than for what
/// comes unasked: whoever asks can tell.
const FLOOR: f32 = 0.1;

/// What is to be recalled.
#[derive(Debug, Clone, Copy)]
pub struct Recall<'a> {
    /// For whom.
    pub audience: &'a Audience,
    /// What it is about.
    pub query: &'a str,
    /// How much at most.
    pub limit: usize,
    /// How long a search may take.
    pub patience: Patience,
    /// What the time is.
    pub now: Timestamp,
    /// What is known anyway.
    pub besides: Option<Besides>,
}

/// What was recalled, best first.
#[derive(Debug)]
pub struct Recalled {
    /// Best first.
    pub found: Vec<Recollection>,
    /// What the order rests on.
    pub how: How,
}

/// Something that was recalled.
#[derive(Debug)]
pub struct Recollection {
    /// What it is.
    pub what: Remembered,
    /// What search said of it.
    pub scores: Scores,
}

/// Something that is remembered.
#[derive(Debug)]
pub enum Remembered {
    /// An entry of a file.
    Memory(Memory),
    /// A message of a session.
    Message {
        /// The session.
        session: SessionId,
        /// What it is called.
        name: String,
        /// The message.
        message: MessageId,
        /// Who said it.
        role: Role,
        /// When.
        at: Moment,
        /// What was said.
        text: String,
    },
}

impl Memories {
    /// Recalls what fits a query. A store that can't be read has no past, and says
    /// nothing of it here: a turn could not run on it, either.
    pub async fn recall(&self, wish: &Recall<'_>) -> Recalled {
        let Recall { audience, query, limit, patience, now, besides } = *wish;
        let entries = async {
            let view = self.files().read(audience, Horizon::All).await;
            let (ranked, how) = self.rank(&view, query, now, patience).await;
            (view, ranked.best, how)
        };
        let said = async {
            let past = self.0.past.as_ref()?;
            past.find(audience, besides, query, limit, now, patience).await.ok()
        };
        let ((view, entries, of_entries), said) = tokio::join!(entries, said);
        let (said, of_messages) = said.unwrap_or_else(|| (Vec::new(), How::Dense));
        let memory = |pick: recto_context::Pick| {
            let memory = view.memories.iter().find(|memory| memory.name == pick.item.name)?;
            let what = Remembered::Memory(memory.clone());
            Some(Recollection { what, scores: pick.scores })
        };
        let entries = entries.into_iter().filter_map(memory);
        let mut found: Vec<Recollection> =
            entries.chain(said.into_iter().map(Recollection::said)).collect();
        let probability = |found: &Recollection| found.scores.probability.unwrap_or(0.0);
        found.retain(|found| probability(found) >= FLOOR);
        found.sort_by(|a, b| probability(b).total_cmp(&probability(a)));
        found.truncate(limit);
        let how = if of_entries == How::Dense { of_messages } else { of_entries };
        Recalled { found, how }
    }
}

impl Recollection {
    fn said(Dated { pick, what, .. }: Dated<Said>) -> Self {
        let Said { session, name, stored } = what;
        let what = Remembered::Message {
            session,
            name,
            message: stored.message.id,
            role: Role::of(&stored.message),
            at: stored.at,
            text: visible_text(stored.message.content()),
        };
        Recollection { what, scores: pick.scores }
    }
}
