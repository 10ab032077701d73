//! Messages of before for the benchmark: what each needed counts as used for it, as a person's
//! own record would have it.

use std::collections::{BTreeMap, HashMap};

use recto_context::{CivilDay, ItemId};
use recto_search::{
    Encoder, MessageLikeness, MessageWords, PastUse, SearchIndex, SearchMessage, SearchQuery,
    UseEvidence, asks_by_itself,
};
use serde::Deserialize;

use super::embed;

/// The grade of what a message can't do without.
const NEEDED: u8 = 2;

/// No message of the benchmark was sent on any day.
const NO_DAY: CivilDay = CivilDay::new(1970, 1, 1);

/// A message with what it needs, in the form of the queries.
#[derive(Deserialize)]
pub(super) struct UseLine {
    pub(super) id: String,
    query: String,
    #[serde(default)]
    before: Option<String>,
    #[serde(default)]
    relevant: Vec<String>,
    #[serde(default)]
    grade: BTreeMap<String, u8>,
}

impl UseLine {
    /// What was used for it: all that it needs, or where nobody graded that, all that fits.
    fn used(&self) -> impl Iterator<Item = &String> {
        let needed = self.grade.iter().filter(|(_, grade)| **grade >= NEEDED).map(|(id, _)| id);
        let all = self.relevant.iter().filter(|_| self.grade.is_empty());
        needed.chain(all)
    }
}

/// All messages of before, ready to be compared with.
pub(super) struct BenchUses {
    index: SearchIndex,
    /// With the ids of their messages.
    uses: Vec<(String, PastUse)>,
}

impl BenchUses {
    pub(super) fn index_messages(
        lines: Vec<(usize, UseLine)>,
        items: &HashMap<&str, &ItemId>,
        encoder: Option<&Encoder>,
    ) -> Self {
        let past = |(line, message): (usize, UseLine)| {
            let used = message.used().filter_map(|id| items.get(id.as_str()));
            let used = used.map(|item| (*item).clone()).collect();
            let asked = SearchMessage::new(&message.query, message.before.as_deref());
            let past = PastUse::new(line as i64, NO_DAY, &asked, used)?;
            Some((message.id, past))
        };
        let uses: Vec<(String, PastUse)> = lines.into_iter().filter_map(past).collect();
        let mut index = SearchIndex::default();
        index.update(uses.iter().map(|(_, past)| past.entry()).collect());
        if let Some(encoder) = encoder {
            index.set_space(encoder.space().clone());
            embed(&mut index, encoder);
        }
        BenchUses { index, uses }
    }

    /// What speaks for items in a message. It is no evidence for itself.
    pub(super) fn weigh(
        &self,
        id: &str,
        message: &SearchMessage,
        query: &SearchQuery<'_>,
    ) -> UseEvidence {
        if !asks_by_itself(message) {
            return UseEvidence::default();
        }
        let cosines: Option<HashMap<ItemId, f32>> =
            self.index.message_cosines(query).map(|cosines| cosines.into_iter().collect());
        let words = MessageWords::new(message.whole());
        let others = self.uses.iter().filter(|(of, _)| of != id);
        let uses = others.map(|(_, past)| {
            let cosine = cosines.as_ref().and_then(|cosines| cosines.get(&past.id()).copied());
            (past, MessageLikeness { cosine, words: past.word_likeness(&words) })
        });
        UseEvidence::weigh(&words, uses)
    }
}
